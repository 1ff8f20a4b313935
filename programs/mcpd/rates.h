/* rates.h: the rates of the configuration ("rates"): how often callers may call tools, read and get prompts, by
 * view, principal and group. They are in addition to the limits that options set, and to those of other servers.
 */
#ifndef MCPD_RATES_H
#define MCPD_RATES_H

#include <mcp/server.h>

#include "views.h"

typedef struct rates rates;

/* Reads the section; *ret is NULL if there is none. The views must exist as long as the rates. Returns MCP_OK,
 * or a negative code after reporting the error. */
int rates_read(config *c, const views *all, rates **ret);
/* NULL is allowed. */
void rates_free(rates *all);

/* Returns the callers that the rate with this index selects, or NULL after the last rate. `all` may be NULL. */
const struct access_rule *rates_callers(const rates *all, size_t index);

/* For mcp_server_set_rates_hook(); `user` is a rates. */
int rates_take(mcp_request *req, mcp_item item, mcp_str name, void *user);

#endif
