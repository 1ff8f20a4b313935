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
    SEARCH_FILES = 2,  /* of the file: scheme */
    SEARCH_OTHERS = 4, /* what is neither */
};

/* Borrowed by everybody but the tool. */
typedef struct search_query {
    unsigned kinds; /* of what is wanted; SEARCH_* */
    mcp_str under;  /* only URIs that begin with this; empty: all */
    mcp_str glob;   /* only paths that match, see search_path_fits(); empty: all */
    mcp_str part;   /* only what has this in its name, in lower case; with a slash, in its path */
    search_needle *needle; /* what to look for in contents; NULL: names are all */
    size_t limit;          /* entries, or lines, in all */
    size_t per_item;       /* lines of one resource */
} search_query;

/* Whether a path, relative to its source, is wanted by a glob as a line of a .gitignore has it:
 * without a slash the name counts, else the path. An empty glob wants all. */
bool search_path_fits(mcp_str glob, mcp_str name, mcp_str path);
/* Whether `part`, which is in lower case, is somewhere in the text, whatever that one's case (of
 * ASCII). */
bool search_contains(mcp_str text, mcp_str part);

/* ---- results.c: what was found, as text for a model and as JSON for a program ---------------- */

/* Why the contents of a resource were passed over. */
typedef enum search_skip {
    SEARCH_BINARY = 0,
    SEARCH_LARGE,
    SEARCH_SLOW, /* the expression took too long */
    SEARCH_UNREADABLE,
    SEARCH_SKIPS,
} search_skip;

/* The JSON is within an array; the text are whole lines. On one thread at a time. */
typedef struct search_results {
    mcp_allocator alloc;
    common_buffer text;
    common_buffer
        links; /* with contents: URI, name, MIME type of what has matches, each with a NUL */
    mcp_json_writer *json;
    size_t count; /* entries, or lines */
    size_t searched, skipped[SEARCH_SKIPS];
} search_results;

/* MCP_ENOMEM. */
int search_results_init(search_results *r, const mcp_allocator *alloc);
void search_results_free(search_results *r);

/* One entry that was found by its name. */
typedef struct search_entry {
    unsigned kind; /* one of SEARCH_* */
    mcp_str uri;
    bool has_size;
    uint64_t size;
    mcp_str name, title, description, mime_type; /* empty: not said */
} search_entry;

int search_put_entry(search_results *r, const search_entry *entry);

/* The lines of a resource that hold a match: all of its text, and what it is. The same codes as
 * search_needle_find(), but for MCP_ENOTFOUND: what was found until the search ended is kept. */
typedef struct search_text {
    mcp_str uri, name, mime_type; /* mime_type may be empty */
    mcp_str text;                 /* valid UTF-8 without NUL */
    bool (*stop)(void *user);     /* may be NULL */
    void *user;
} search_text;

int search_put_lines(search_results *r, const search_query *query, const search_text *text);

/* ---- a provider's part ----------------------------------------------------------------------- */

/* One call's way through one source. */
typedef struct search_turn {
    mcp_request *req;
    const search_query *query;
    search_results *results; /* the source's alone until its turn is over, on any thread */
    mcp_str from;            /* a position of the source's own; empty: at the start */
    int64_t began;           /* when the call began: nanoseconds of CLOCK_MONOTONIC */
    size_t seen; /* how much was looked at, for the progress; goes on from turn to turn */
    /* Where run() returned MCP_PENDING, called once on the server's thread when the turn is
     * over. */
    void (*later)(void *user);
    void *user;

    /* Outcome. */
    int rc;    /* MCP_OK; MCP_EINVAL: `from` is none of its positions; another code */
    bool more; /* there is more behind `next`, which names nothing that the caller may not see */
    common_buffer next; /* given back by who made the turn */
} search_turn;

/* A call takes this long at the most, if something came of it. */
#define SEARCH_CALL_NS (10 * 1000000000LL)
int64_t search_now(void);

typedef struct search_source {
    const char *prefix; /* where it is mounted: whatever is there is found by it */
    /* Adds what is wanted to the results, as far as their limit and the time allow, and nothing
     * that the caller may not see. MCP_OK: the turn is over; MCP_PENDING: it will be. */
    int (*run)(search_turn *turn, void *user);
    void *user;
} search_source;

#endif
