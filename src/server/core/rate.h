/* rate.h: rate limits; see rate.c. */
#ifndef MCP_SRC_SERVER_RATE_H
#define MCP_SRC_SERVER_RATE_H

#include <mcp/server.h>

#include "base/base.h"

typedef enum mcp__rate {
    MCP__RATE_CALLS = 0,
    MCP__RATE_COMPLETIONS,
    MCP__RATE_POLLS, /* polls of tasks */
    MCP__RATES
} mcp__rate;

typedef struct mcp__rate_limit {
    uint32_t per_second, burst;
    bool for_local; /* set by the program, so it applies to local callers too */
} mcp__rate_limit;

/* Buckets by caller, the least recently used first. */
typedef struct mcp__buckets {
    mcp__link recent;
    mcp__map by_name;
    size_t most;
} mcp__buckets;

typedef struct mcp__callers {
    mcp__rate_limit limits[MCP__RATES];
    mcp__buckets buckets;
    mcp__buckets named;               /* those of mcp_request_take(), by caller and name */
    uint64_t refused[MCP__RATES + 1]; /* by limit; the last is of mcp_request_take() */
    mcp__link untold; /* buckets whose requests the other instances were not told of yet */
} mcp__callers;

void mcp__rate_init(mcp_server *server, const mcp_server_options *o);
void mcp__rate_free(mcp_server *server);
/* Counts a request. Returns MCP_OK, MCP_EREMOTE after mcp_reply_fail_data() if the limit is
 * exceeded, or MCP_ENOMEM. */
int mcp__rate_take(mcp_request *req, mcp__rate which);

/* Asks the function of mcp_server_set_rates_hook(), if it counts such a request. Returns what it returned. */
int mcp__rate_ask(mcp_request *req);

/* ---- limits that instances share (share/share.h) --------------------------------------------- */

/* Appends items about requests that the other instances were not told of, as far as they fit. */
void mcp__rate_tell(mcp_server *server, mcp__buf *entry, size_t limit);
bool mcp__rate_has_untold(const mcp_server *server);
/* Forgets them. */
void mcp__rate_forget(mcp_server *server);
/* Handles the text of such an item of another instance. */
void mcp__rate_told(mcp_server *server, mcp_str text);

#endif
