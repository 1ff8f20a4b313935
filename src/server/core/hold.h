/* hold.h: memory that work makes; see hold.c. */
#ifndef MCP_SRC_SERVER_HOLD_H
#define MCP_SRC_SERVER_HOLD_H

#include <mcp/provider.h>

#include "base/base.h"

typedef struct mcp__hold mcp__hold;

typedef struct mcp__holds {
    size_t limit, used, most;
    mcp__link turns;   /* callers with requests that wait, who is next first */
    mcp__link waiting; /* mcp__hold, of all callers */
    size_t n_waiting;
    mcp__map by_name; /* callers */
    uint64_t waited, refused;
    mcp_host_timer *timer;
    bool soon; /* what the timer is for: there is room */
} mcp__holds;

void mcp__hold_init(mcp_server *server, size_t limit);
void mcp__hold_free(mcp_server *server);
void mcp__hold_leave_host(mcp_server *server);
/* Whether the work of a request has not begun because there is no room. */
bool mcp__hold_waits(const mcp_request *req);
/* Of one that waits: its handler is called without the work. */
void mcp__hold_cancel(mcp_request *req);
/* Gives back what a request holds. */
void mcp__hold_end(mcp_request *req);

#endif
