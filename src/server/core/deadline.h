/* deadline.h: handlers that take too long; see deadline.c. */
#ifndef MCP_SRC_SERVER_DEADLINE_H
#define MCP_SRC_SERVER_DEADLINE_H

#include <mcp/server.h>

#include "server/core/hub.h"

/* In a request: its place in its session's heap of deadlines. */
typedef struct mcp__deadline {
    mcp__session *session; /* NULL: it is in none */
    mcp_request *first, *before, *after;
    int64_t due;
    uint64_t ms;
    bool alive; /* it reported progress since it was put where it is */
} mcp__deadline;

/* Its handler will answer later: from now on its time runs, or runs anew. */
void mcp__deadline_start(mcp_request *req);
/* To be called before a request with a session here moves, goes or leaves its channel. */
void mcp__deadline_stop(mcp_request *req);
void mcp__deadline_stop_all(mcp__session *session);
void mcp__deadline_tick(mcp__session *session, int64_t now);

#endif
