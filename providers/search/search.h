/* search.h: a search over resources, its results so far, and the interface for providers that can
 * search their own resources faster than by listing and reading them one by one.
 *
 * The tools themselves are in providers/bridge; this is what they share with providers.
 */
#ifndef MCP_SEARCH_H
#define MCP_SEARCH_H

#include <mcp/mcp.h>

#include "buffer.h"
#include "needle.h"

enum {
    SEARCH_FOLDERS = 1,
    SEARCH_FILES = 2,  /* of the scheme file: */
    SEARCH_OTHERS = 4, /* what is neither */
};

/* Borrowed, except by the tool. */
typedef struct search_query {
    unsigned kinds; /* kinds of entries to find; SEARCH_* */
    mcp_str under;  /* only URIs that begin with this; empty: all */
    mcp_str glob;   /* only paths that match, see search_path_fits(); empty: all */
    mcp_str part;   /* only entries whose name contains this, in lower case; if it has a slash,
                     * whose path does */
    search_needle *needle; /* expression to search contents for; NULL: only names are searched */
    size_t limit;          /* limit of all entries, or lines */
    size_t per_item;       /* limit of lines per resource */
} search_query;

/* Whether a path, relative to its source, matches a glob, as in a .gitignore: a glob without a
 * slash is compared with the name, otherwise with the path. An empty glob matches everything. */
bool search_path_fits(mcp_str glob, mcp_str name, mcp_str path);
/* Whether the text contains `part`, which is in lower case; ASCII letters are compared ignoring
 * case. */
bool search_contains(mcp_str text, mcp_str part);

/* ---- results.c: what was found, as text for a model and as JSON for a program ---------------- */

/* Why the contents of a resource were skipped. */
typedef enum search_skip {
    SEARCH_BINARY = 0,
    SEARCH_LARGE,
    SEARCH_SLOW, /* the expression took too long */
    SEARCH_UNREADABLE,
    SEARCH_SKIPS,
} search_skip;

/* The JSON is inside an array; the text consists of whole lines. Used by one thread at a time. */
typedef struct search_results {
    mcp_allocator alloc;
    common_buffer text;
    common_buffer
        links; /* for contents: URI, name and MIME type of resources with matches, each followed by
                * a NUL */
    mcp_json_writer *json;
    size_t count; /* entries, or lines */
    size_t searched, skipped[SEARCH_SKIPS];
} search_results;

/* MCP_ENOMEM. */
int search_results_init(search_results *r, const mcp_allocator *alloc);
void search_results_free(search_results *r);

/* An entry found by its name. */
typedef struct search_entry {
    unsigned kind; /* one of SEARCH_* */
    mcp_str uri;
    bool has_size;
    uint64_t size;
    mcp_str name, title, description, mime_type; /* empty: not said */
} search_entry;

int search_put_entry(search_results *r, const search_entry *entry);

/* The complete text of a resource to search for lines with matches, and its description. Returns
 * codes as search_needle_find() except MCP_ENOTFOUND; matches before an error are kept. */
typedef struct search_text {
    mcp_str uri, name, mime_type; /* mime_type may be empty */
    mcp_str text;                 /* valid UTF-8 without NUL */
    bool (*stop)(void *user);     /* may be NULL */
    void *user;
} search_text;

int search_put_lines(search_results *r, const search_query *query, const search_text *text);

/* ---- a provider's part ----------------------------------------------------------------------- */

/* One call's search in one source. */
typedef struct search_turn {
    mcp_request *req;
    const search_query *query;
    search_results *results; /* used only by the source until the turn is over, on any thread */
    mcp_str from;            /* a position of this source; empty: the beginning */
    int64_t began;           /* start of the call, in nanoseconds of CLOCK_MONOTONIC */
    size_t seen; /* number of entries examined, for progress; continues from turn to turn */
    /* Called once on the server's thread when the turn is over, if run() returned MCP_PENDING. */
    void (*later)(void *user);
    void *user;

    /* Outcome. */
    int rc;    /* MCP_OK; MCP_EINVAL: `from` is not a valid position; another code */
    bool more; /* there is more after `next`, which names nothing that the caller may not see */
    common_buffer next; /* freed by the creator of the turn */
} search_turn;

/* Time limit of a call, once it has a result. */
#define SEARCH_CALL_NS (10 * 1000000000LL)
int64_t search_now(void);

typedef struct search_source {
    const char *prefix; /* where the source is mounted; its search replaces listing this mount */
    /* Adds matching entries to the results, up to their limit and the time limit, and nothing that
     * the caller may not see. MCP_OK: the turn is over; MCP_PENDING: it will end later. */
    int (*run)(search_turn *turn, void *user);
    void *user;
} search_source;

#endif
