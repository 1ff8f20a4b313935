/* uri.h: parses and builds git:// URIs and checks the names of references. It does not access a
 * repository.
 *
 *     git://NAME/                                  the repository
 *     git://NAME/REV/PATH?offset=N&length=N        a file, or a folder (?after=ENTRY&limit=N)
 *     git://NAME/-/branches?after=REF&limit=N      the same for tags: git://NAME/-/tags
 *     git://NAME/-/commit/REV
 *     git://NAME/-/log/REV[/PATH]?files=N&from=ID.ID&limit=N, and ?author=, text=, since=, until=
 *     git://NAME/-/diff/REV/REV[/PATH]?path=PATH
 *     git://NAME/-/diff/REV..REV[/PATH]            the same with a range in one segment
 *     git://NAME/-/blame/REV/PATH?line=N&lines=N
 *     git://NAME/-/status                          the status of the working tree
 *     git://NAME/-/staged[/PATH]?path=PATH         the staged changes; likewise -/unstaged
 *     git://NAME/-/search/REV?text=TEXT&path=PATH&limit=N, or regex=; ?after=LINE:PATH
 *
 * All of them accept format=json or format=text.
 *
 * REV is one segment (see expr.h for its syntax). The slashes of a reference are encoded as %2F, as
 * in an expansion of the template variable {rev}, so the beginning of the path is unambiguous. "-"
 * is not a REV, because references cannot begin with it. The segments of a path are names: ".",
 * "..", the empty segment and a segment that contains "%2F" are rejected.
 */
#ifndef REPO_URI_H
#define REPO_URI_H

#include <mcp/base.h>

/* Limits of the bytes and segments of a path. Longer or deeper paths have no URI. */
enum { REPO_PATH_MAX = 4096, REPO_DEPTH_MAX = 256 };

typedef enum repo_kind {
    REPO_KIND_REPOSITORY,
    REPO_KIND_FILE,
    REPO_KIND_BRANCHES,
    REPO_KIND_TAGS,
    REPO_KIND_COMMIT,
    REPO_KIND_LOG,
    REPO_KIND_DIFF,
    REPO_KIND_BLAME,
    REPO_KIND_SEARCH,
    REPO_KIND_STATUS,
    REPO_KIND_STAGED,
    REPO_KIND_UNSTAGED,
} repo_kind;

typedef enum repo_param {
    REPO_PARAM_AFTER,
    REPO_PARAM_AUTHOR,
    REPO_PARAM_FILES,
    REPO_PARAM_FORMAT,
    REPO_PARAM_FROM,
    REPO_PARAM_LENGTH,
    REPO_PARAM_LIMIT,
    REPO_PARAM_LINE,
    REPO_PARAM_LINES,
    REPO_PARAM_OFFSET,
    REPO_PARAM_PATH,
    REPO_PARAM_REGEX,
    REPO_PARAM_SINCE,
    REPO_PARAM_TEXT,
    REPO_PARAM_UNTIL,
    REPO_PARAM_COUNT,
} repo_param;

const char *repo_param_name(repo_param param);

/* All strings are decoded, NUL-terminated, and without other NULs. */
typedef struct repo_target {
    repo_kind kind;
    mcp_str rev, other;              /* `other` is the second revision of a diff */
    mcp_str path;                    /* "" for the top folder */
    mcp_str param[REPO_PARAM_COUNT]; /* ptr is NULL if absent */
} repo_target;

/* Parses the part after "git://NAME/". `room` has at least rest.len + REPO_URI_ROOM bytes,
 * in which the strings are stored. Returns MCP_OK, or MCP_ENOTFOUND if it is not a valid URI
 * of this provider. */
enum { REPO_URI_ROOM = 32 };
int repo_uri_parse(mcp_str rest, char *room, repo_target *ret);

/* Builds the canonical URI, NUL-terminated. `to` has at least repo_uri_room() bytes.
 * Returns the length. */
size_t repo_uri_put(char *to, const repo_target *target);
size_t repo_uri_room(const repo_target *target);

/* Percent-encodes one segment except for unreserved characters and, if `slashes`, "/". `to` needs
 * three bytes for each byte. Returns the length. */
size_t repo_uri_encode(char *to, mcp_str text, bool slashes);

/* Returns NULL if `rev` can be the name of a reference, a part of one, or the beginning of an id;
 * otherwise the reason why not. */
const char *repo_rev_refused(mcp_str rev);

/* Returns whether `rev` is a complete id: 40 hexadecimal digits in lower case. */
bool repo_rev_is_id(mcp_str rev);

#endif
