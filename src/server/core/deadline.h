/* deadline.h: deadlines of handlers; see deadline.c. */
#ifndef MCP_SRC_SERVER_DEADLINE_H
#define MCP_SRC_SERVER_DEADLINE_H

#include <mcp/server.h>

#include "server/core/hub.h"

/* A request's place in its session's heap of deadlines. */
typedef struct mcp__deadline {
    mcp__session *session; /* NULL if not in a heap */
    mcp_request *first;    /* child */
    mcp_request *before;   /* left sibling; of a first child, its parent */
    mcp_request *after;    /* right sibling */
    int64_t due;           /* by the clock of the channel, in milliseconds */
    uint64_t ms;           /* the handler's time-out */
    bool progressed;       /* progress has been reported since the request was added */
} mcp__deadline;

/* Starts or restarts the deadline of a handler that will answer later. */
void mcp__deadline_start(mcp_request *req);
/* Removes a request from its heap. Must be called before a request in a heap moves, is freed or
 * leaves its channel. */
void mcp__deadline_stop(mcp_request *req);
void mcp__deadline_stop_all(mcp__session *session);
/* Ends the requests whose deadline has been reached. */
void mcp__deadline_tick(mcp__session *session, int64_t now);

#endif
