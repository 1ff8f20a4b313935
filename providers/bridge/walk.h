/* walk.h: how list_resources, find_resources and search_resources iterate over all resources: first
 * the sources with their own search (search.h), one after the other, then the pages of the lists,
 * then the templates.
 *
 * A step completes immediately or later. A call ends when nothing is left, when it has enough
 * results, or when it takes too long. Its cursor is exactly the position where it stopped: a
 * position in a source, or a cursor of the server's own lists. So the pages of a tool together have
 * the same entries as the lists, even if resources change between the calls.
 */
#ifndef BRIDGE_WALK_H
#define BRIDGE_WALK_H

#include "tools.h"

enum {
    BRIDGE_LINES = 1000, /* most lines of a search */
    BRIDGE_FILTERS = 64, /* most templates of resources that look through their contents */
};

typedef enum bridge_tool { BRIDGE_LIST = 0, BRIDGE_FIND, BRIDGE_SEARCH } bridge_tool;

typedef enum bridge_step {
    BRIDGE_AT_SOURCE = 0,
    BRIDGE_AT_PAGE,      /* waiting for a page of resources/list */
    BRIDGE_AT_FILTERS,   /* waiting for the templates, see filter.h */
    BRIDGE_AT_ENTRY,     /* reading one of its entries */
    BRIDGE_AT_AGAIN,     /* reading it without a filter */
    BRIDGE_AT_NAMES,     /* asking it for names, see filter.h */
    BRIDGE_AT_LINES,     /* searching the contents on a worker */
    BRIDGE_AT_PLACE,     /* getting the cursor for a position within a page */
    BRIDGE_AT_REST,      /* enough results: checking whether the lists continue */
    BRIDGE_AT_TEMPLATES, /* waiting for a page of resources/templates/list */
    BRIDGE_AT_END,
} bridge_step;

typedef struct bridge_walk {
    bridge_tools *all;
    mcp_request *req;
    bridge_tool tool;
    search_query query;
    bool first;          /* the call had no cursor */
    bool by_sources;     /* mounts with a source are searched by it and not listed */
    bool only_templates; /* only for BRIDGE_LIST: templates are paged separately */
    mcp_str asked;       /* the text to search for, and its two flags */
    bool regex, ignore_case;
    bool structured; /* the client shows its model the structured content alone */
    search_results results;

    bridge_step step;
    int rc;
    int64_t began;
    size_t source; /* the current source */
    size_t seen;
    search_turn turn;

    bool has_token;
    common_buffer token; /* cursor of the current page */
    common_ask page, one;
    bool barren;   /* no entry of the page so far is wanted, so that the next one may be large */
    int64_t slice; /* when other requests last got a turn */
    common_buffer scratch, twin; /* reused for each entry */
    mcp_json_iter entries;
    const mcp_json *entry; /* borrowed from `page` */
    size_t at;             /* number of processed entries of the page */
    int found;             /* result of BRIDGE_AT_LINES */
    /* A resource that names the part after it (rows of a table, a log) is searched part by part. */
    common_buffer lines; /* of its current part, if this is a JSON object */
    common_buffer part;  /* URI of the current part; empty for the first one */
    common_buffer after; /* URI of the part after it; empty if there is none */
    size_t parts;
    int64_t part_began; /* when the first part was searched */
    /* Resources that look through their contents themselves; see filter.h. */
    bool filters_known;
    mcp_uri_template *filters[BRIDGE_FILTERS];
    size_t n_filters;
    common_buffer filter; /* URI of what contains the text; empty if the entry is searched here */
    size_t shown;         /* lines of the entry that were found by it */
    common_buffer why;    /* why a resource could not look through its contents, the first reason */

    size_t twins; /* entries that are left out, because a folder has them */
    size_t n_templates;
    bool more_templates;
    common_buffer templates; /* templates that were not searched, for search_resources */
    common_buffer searches;  /* templates that offer a search themselves */
    common_buffer left_out;  /* sources that could not be listed */
    common_buffer names;     /* where there are more names of columns */
    common_buffer notes;     /* what is to be said about the results */

    common_buffer cursor; /* empty if nothing is left */
} bridge_walk;

/* Runs until the reply is complete or a step has to wait. Returns what a handler returns. */
int bridge_walk_run(bridge_walk *w);
/* Continues after the result of the current step has arrived. */
void bridge_walk_later(void *way);

/* reply.c */
int bridge_walk_reply(bridge_walk *w);
int bridge_put_template(bridge_walk *w, const mcp_json *tmpl);
/* Keeps the URI of names of columns that are not in the results. */
int bridge_note_names(bridge_walk *w, mcp_str uri);
/* Keeps the names of the sources that a page of a list is without. */
int bridge_take_left_out(bridge_walk *w, const mcp_json *page);

#endif
