/* way.h: how list_resources, find_resources and search_resources iterate over all resources: first
 * the sources with their own search (search.h), one after the other, then the pages of the lists,
 * then the templates.
 *
 * Each step completes at once or later. A call ends when there is nothing more, when it has enough
 * results, or when it takes too long. Its cursor is exactly the place where it stopped: the
 * position of a source, or a cursor of the server's own lists. So the pages of a tool together
 * equal the lists, whatever changes meanwhile.
 */
#ifndef BRIDGE_WAY_H
#define BRIDGE_WAY_H

#include "tools.h"

typedef enum bridge_tool { BRIDGE_LIST = 0, BRIDGE_FIND, BRIDGE_SEARCH } bridge_tool;

typedef enum bridge_step {
    BRIDGE_AT_SOURCE = 0,
    BRIDGE_AT_PAGE,      /* a page of resources/list is asked for */
    BRIDGE_AT_ENTRY,     /* one of its entries is read */
    BRIDGE_AT_LINES,     /* what was read is searched, on a worker */
    BRIDGE_AT_PLACE,     /* the cursor of the middle of a page */
    BRIDGE_AT_REST,      /* whether the lists have anything: there is enough already */
    BRIDGE_AT_TEMPLATES, /* a page of resources/templates/list */
    BRIDGE_AT_END,
} bridge_step;

typedef struct bridge_way {
    bridge_tools *all;
    mcp_request *req;
    bridge_tool tool;
    search_query query;
    bool first;          /* there was no cursor */
    bool by_sources;     /* what has a source is searched by it, not listed */
    bool only_templates; /* BRIDGE_LIST: they have pages of their own */
    search_results results;

    bridge_step step;
    int rc;
    int64_t began;
    size_t source; /* whose turn it is */
    size_t seen;
    search_turn turn;

    bool has_token;
    common_buffer token; /* the cursor of the page */
    common_ask page, one;
    int64_t slice;         /* when other requests had their turn */
    common_buffer scratch; /* reused from entry to entry */
    mcp_json_iter entries;
    const mcp_json *entry; /* that is being looked at */
    size_t at;             /* how many of the page were */
    int found;             /* what came of BRIDGE_AT_LINES */

    size_t n_templates;
    bool more_templates;
    common_buffer templates; /* search_resources: those that were not searched; */
    common_buffer searches;  /* those that search by themselves */

    common_buffer cursor; /* empty: there is no more */
} bridge_way;

/* Replies, and as a handler returns. */
int bridge_way_run(bridge_way *w);
/* What the present step waited for is there. */
void bridge_way_later(void *way);

/* reply.c */
int bridge_way_reply(bridge_way *w);
int bridge_put_template(bridge_way *w, const mcp_json *tmpl);

/* arguments.c. Where something is wrong, *told is true and the reply is made. */
int bridge_way_arguments(bridge_way *w, const mcp_json *arguments, bool *told);

#endif
