/* search.h: a search over resources, its results so far, and the interface for providers that can
 * search their own resources faster than by listing and reading them one by one.
 *
 * The tools are in providers/bridge; this header is shared with providers.
 */
#ifndef MCP_SEARCH_H
#define MCP_SEARCH_H

#include <mcp/mcp.h>

#include "buffer.h"
#include "needle.h"

enum {
    SEARCH_FOLDERS = 1,
    SEARCH_FILES = 2,  /* resources with a file: URI */
    SEARCH_OTHERS = 4, /* neither folders nor files */
};

/* Strings are borrowed. */
typedef struct search_query {
    unsigned kinds; /* SEARCH_* flags of the kinds to find */
    mcp_str under;  /* only URIs that begin with this; empty for all */
    mcp_str glob;   /* only paths that match, see search_path_fits(); empty for all */
    mcp_str part;   /* only entries whose name, or whose path if this contains a slash, contains
                     * this; in lower case */
    search_needle *needle; /* expression to search contents for; NULL to match names only */
    size_t limit;          /* limit of entries, or of lines */
    size_t per_item;       /* limit of lines per resource */
    size_t most;           /* limit of bytes of the answer; 0 for none */
} search_query;

/* Returns whether a path, relative to its source, matches a glob, as in a .gitignore: a glob
 * without a slash is compared with the name, any other with the path. An empty glob matches
 * everything. */
bool search_path_fits(mcp_str glob, mcp_str name, mcp_str path);
/* Returns whether the string contains `part`, which is in lower case. The case of ASCII
 * letters is ignored. */
bool search_contains(mcp_str text, mcp_str part);

/* ---- results.c: results, as text for a model and as JSON for a program ----------------------- */

/* Why the contents of a resource were skipped. */
typedef enum search_skip {
    SEARCH_BINARY = 0,
    SEARCH_LARGE,
    SEARCH_SLOW, /* the expression took too long */
    SEARCH_UNREADABLE,
    SEARCH_SKIPS,
} search_skip;

/* The JSON writer is inside an array; the text consists of whole lines. May be used by one thread
 * at a time. */
typedef struct search_results {
    mcp_allocator alloc;
    common_buffer text;
    common_buffer
        links; /* for contents: URI, name and MIME type of each resource with matches, each
                * followed by NUL */
    mcp_json_writer *json;
    common_buffer more; /* for contents: URIs of the resources that have more matches than are
                         * shown, each followed by NUL */
    size_t count;       /* number of entries, or of lines */
    size_t bytes;       /* of the answer: text, JSON and links, estimated */
    bool structured;    /* only the JSON is shown, and counts */
    size_t searched, skipped[SEARCH_SKIPS];
    size_t values; /* long values in rows, of which the rows have only the URI */
    size_t odd;    /* lines that are not text, in large files that are */
    uint64_t until,
        of; /* how far the last file is searched, and its size; 0 if it is searched whole */
    common_buffer ends; /* where the search of a resource ended before its end: the URIs of the
                          * parts that would be next, each followed by NUL */
} search_results;

/* Returns MCP_OK or MCP_ENOMEM. */
int search_results_init(search_results *r, const mcp_allocator *alloc);
void search_results_free(search_results *r);
/* Returns whether the results have as much as the query allows. */
bool search_is_full(const search_results *r, const search_query *q);

/* An entry found by its name. */
typedef struct search_entry {
    unsigned kind; /* one SEARCH_* flag */
    mcp_str uri;
    bool has_size;
    uint64_t size;
    mcp_str name, title, description, mime_type; /* empty if unknown */
} search_entry;

int search_put_entry(search_results *r, const search_entry *entry);

/* The text of a resource in which to search for lines, and its description. */
typedef struct search_text {
    mcp_str uri, name, mime_type; /* mime_type may be empty */
    mcp_str text;                 /* valid UTF-8 without NUL */
    bool (*stop)(void *user);     /* may be NULL */
    void *user;
} search_text;

/* Adds the matching lines to the results. Returns the errors of search_needle_find() except
 * MCP_ENOTFOUND. Matches before an error are kept. */
int search_put_lines(search_results *r, const search_query *query, const search_text *text);

/* A resource whose text comes in blocks, from its beginning or from anywhere in it. Zero-initialized, it
 * has no block yet. */
typedef struct search_item {
    uint64_t lines; /* before the text of the next block */
    size_t
        at; /* of the last block: where the next one begins, its length unless there was no room */
    size_t found; /* lines in the results */
    bool matched; /* the last block has a match in its last line */
    bool more;    /* there is a match without room in the results */
} search_item;

/* Adds the matching lines of the next block. The caller adds its line feeds to item->lines, unless
 * item->more is set. The last line of a block may be the beginning of one. Returns the errors of search_put_lines(). */
int search_put_block(search_results *r, const search_query *query, const search_text *text,
                     search_item *item);
/* Ends the item. `more` says that lines are left out that no cursor leads to. */
int search_end_item(search_results *r, mcp_str uri, const search_item *item, bool more);

/* Adds the lines, all of which are known to match, maybe in what they do not show. `rest` says that
 * there are more after them; *shown is the number of lines of the resource in the results. Returns
 * the errors of search_put_lines(). */
int search_put_found(search_results *r, const search_query *query, const search_text *text,
                     bool rest, size_t *shown);

/* ---- sources --------------------------------------------------------------------------------- */

/* The search of one call in one source. */
typedef struct search_turn {
    mcp_request *req;
    const search_query *query;
    search_results *results; /* until the turn ends, only the source uses it, on any thread */
    mcp_str from;            /* position in this source; empty for the beginning */
    int64_t began;           /* start of the call, in nanoseconds of CLOCK_MONOTONIC */
    size_t seen;             /* number of entries examined, including earlier turns; for progress */
    /* Called once on the server's thread when the turn has ended, if run() returned MCP_PENDING. */
    void (*later)(void *user);
    void *user;

    /* Outcome. */
    int rc;    /* MCP_OK, MCP_EINVAL if `from` is not a valid position, or another code */
    bool more; /* the source has more after `next`, which reveals nothing hidden from the caller */
    common_buffer next; /* freed by the creator of the turn */
} search_turn;

/* Time limit of a call in nanoseconds, once it has a result. */
#define SEARCH_CALL_NS (10 * 1000000000LL)
int64_t search_now(void);

typedef struct search_source {
    const char *prefix; /* where the source is mounted; replaces listing this mount */
    /* Adds matching entries that the caller may see, up to the limits of results and time. Returns
     * MCP_OK if the turn has ended, or MCP_PENDING if it will end later. */
    int (*run)(search_turn *turn, void *user);
    /* Returns whether the source has this resource now. Rules of access are not asked. May be NULL.
     */
    bool (*has)(mcp_str uri, void *user);
    void *user;
} search_source;

#endif
