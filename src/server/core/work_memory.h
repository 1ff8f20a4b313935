/* work_memory.h: limits the memory of work in progress; see work_memory.c. */
#ifndef MCP_SRC_SERVER_HOLD_H
#define MCP_SRC_SERVER_HOLD_H

#include <mcp/provider.h>

#include "base/base.h"

typedef struct mcp__hold mcp__hold;

typedef struct mcp__holds {
    size_t limit, used, most; /* in bytes; `most` is the maximum that was ever used */
    mcp__link turns;          /* callers with waiting requests, in the order of their turns */
    mcp__link waiting;        /* mcp__hold, of all callers */
    size_t n_waiting;
    mcp__map by_name; /* callers */
    uint64_t waited, refused;
    mcp_host_timer *timer;
    bool immediate; /* the timer was started because memory was released */
} mcp__holds;

void mcp__hold_init(mcp_server *server, size_t limit);
void mcp__hold_free(mcp_server *server);
void mcp__hold_leave_host(mcp_server *server);
/* Returns whether the work of a request waits for memory. */
bool mcp__hold_waits(const mcp_request *req);
/* Ends the wait of a request, and calls its `done` without doing the work. */
void mcp__hold_cancel(mcp_request *req);
/* Releases the reservation of a request, or ends its wait. */
void mcp__hold_end(mcp_request *req);

#endif
