/* method.h: a row of the table of methods; see dispatch.c. */
#ifndef MCP_SRC_SERVER_METHOD_H
#define MCP_SRC_SERVER_METHOD_H

#include "server/core/rate.h"
#include "server/core/request.h"

struct mcp__method {
    const char *name;
    unsigned revisions; /* MCP__IN_* */
    int needs;          /* an mcp__kind that has to be offered, or MCP__NEEDS_* */
    const char *within; /* what stands before the array; NULL: the brace of the result */
    const char *array;  /* the result's one array, or NULL */
    bool cacheable;
    bool is_list; /* cached for list_ttl_ms, else read_ttl_ms */
    bool slow;    /* its handlers may well wait for something else */
    bool limited; /* only so often, by `rate` */
    mcp__rate rate;
    int (*run)(mcp_request *req);
    /* Runs the handler once more, from its start, with the client's answers; NULL: it may not ask. */
    int (*again)(mcp_request *req);
    /* Goes on after a part of it was answered later; NULL: nothing more to do. */
    int (*resume)(mcp_request *req);
    /* Has the last word before a result is sent: MCP_OK, or what a handler would return. NULL: nothing. */
    int (*check)(mcp_request *req);
    /* Writes the members after the array, each with a leading comma. NULL: none. */
    void (*tail)(mcp_request *req, mcp__buf *b);
};
enum {
    MCP__NEEDS_NOTHING = -1,
    MCP__NEEDS_SUBSCRIBE = -2,
    MCP__NEEDS_COMPLETION = -3,
    MCP__NEEDS_LOGGING = -4,
    MCP__NEEDS_TASKS = -5,
};

/* Runs a request whose revision is known. */
void mcp__dispatch(mcp_request *req);

#endif
