/* rate.h: how often a caller may ask; see rate.c. */
#ifndef MCP_SRC_SERVER_RATE_H
#define MCP_SRC_SERVER_RATE_H

#include <mcp/server.h>

#include "base/base.h"

typedef enum mcp__rate {
    MCP__RATE_CALLS = 0,
    MCP__RATE_COMPLETIONS,
    MCP__RATE_POLLS, /* of tasks */
    MCP__RATES
} mcp__rate;

typedef struct mcp__rate_limit {
    uint32_t per_second, burst;
    bool for_local; /* the program set it: it holds for callers on this machine too */
} mcp__rate_limit;

typedef struct mcp__callers {
    mcp__rate_limit limits[MCP__RATES];
    mcp__link recent;
    mcp__map by_name;
} mcp__callers;

void mcp__rate_init(mcp_server *server, const mcp_server_options *o);
void mcp__rate_free(mcp_server *server);
/* MCP_OK; a negative code, mostly after mcp_reply_fail(): not now. */
int mcp__rate_take(mcp_request *req, mcp__rate which);

#endif
