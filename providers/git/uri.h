/* uri.h: parses and builds git:// URIs and checks the names of references. It does not access a
 * repository.
 *
 *     git://NAME/                                  the repository
 *     git://NAME/REV/PATH?offset=N&length=N        a file, or a folder (?after=ENTRY&limit=N)
 *     git://NAME/-/branches?after=REF&limit=N      and tags
 *     git://NAME/-/commit/REV
 *     git://NAME/-/log/REV[/PATH]?from=ID.ID&limit=N
 *     git://NAME/-/diff/REV/REV[/PATH], or with a range in one segment: git://NAME/-/diff/REV..REV[/PATH]
 *     git://NAME/-/blame/REV/PATH?line=N&lines=N
 *     git://NAME/-/status                          of the working tree
 *     git://NAME/-/staged[/PATH]                   and unstaged: the differences
 *     git://NAME/-/search/REV?text=TEXT&path=PATH&limit=N, or regex=; ?after=LINE:PATH
 *
 * All of them accept format=json or format=text.
 *
 * REV is one segment (what it may be is in expr.h), in which the slashes of a reference are spelled
 * %2F: that is what the template {rev} makes of them, and so it is always clear where the path
 * begins. "-" is no REV, because no reference begins with it. The segments of a path are names: a
 * "%2F" in one is refused, and so are ".", ".." and the empty one.
 */
#ifndef REPO_URI_H
#define REPO_URI_H

#include <mcp/base.h>

/* Bytes of a path, and its parts: what is longer or deeper is not spelled. */
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
    REPO_PARAM_FORMAT,
    REPO_PARAM_FROM,
    REPO_PARAM_LENGTH,
    REPO_PARAM_LIMIT,
    REPO_PARAM_LINE,
    REPO_PARAM_LINES,
    REPO_PARAM_OFFSET,
    REPO_PARAM_PATH,
    REPO_PARAM_REGEX,
    REPO_PARAM_TEXT,
    REPO_PARAM_COUNT,
} repo_param;

/* All texts are decoded and NUL-terminated, without NUL inside. */
typedef struct repo_target {
    repo_kind kind;
    mcp_str rev, other;              /* `other`: of a diff, the second */
    mcp_str path;                    /* "": the top */
    mcp_str param[REPO_PARAM_COUNT]; /* ptr NULL: absent */
} repo_target;

/* Takes apart what stands behind "git://NAME/". `room` holds at least rest.len + REPO_URI_ROOM
 * bytes and keeps the texts. MCP_OK; MCP_ENOTFOUND: nothing of ours is spelled so. */
enum { REPO_URI_ROOM = 32 };
int repo_uri_parse(mcp_str rest, char *room, repo_target *ret);

/* The way back: the one canonical spelling. `to` has room for REPO_URI_SIZE of the texts' lengths.
 * Returns the length; NUL-terminates. */
size_t repo_uri_put(char *to, const repo_target *target);
size_t repo_uri_room(const repo_target *target);

/* Encodes one segment, so that only unreserved characters stay; with `slashes` "/" stays too. Three
 * bytes of room for each. Returns the length. */
size_t repo_uri_encode(char *to, mcp_str text, bool slashes);

/* NULL: it can be the name of a reference (or of a part of one), or the beginning of an id. Else
 * why not. */
const char *repo_rev_refused(mcp_str rev);

/* Whether it is a whole id of 40 hexadecimal digits in lower case. */
bool repo_rev_is_id(mcp_str rev);

#endif
