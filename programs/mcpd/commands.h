/* commands.h: the tools in the section "tools" of the configuration. */
#ifndef MCPD_COMMANDS_H
#define MCPD_COMMANDS_H

#include <mcp/server.h>

#include "config.h"

/* Registers the tools. `c` may be NULL. MCP_OK, or a negative code after reporting the error, or
 * with *error set. */
int commands_add(config *c, mcp_server *server, mcp_error *error);
/* Checks whether a tool of the configuration can run now. Returns the name of the member that is at
 * fault (its program or its folder), with *error set. NULL: it can. */
const char *commands_lacks(config *c, const mcp_json *one, mcp_error *error);
/* Reports the result for all tools: as errors of the configuration if `wrong`, otherwise as
 * warnings in the log, because a program may be installed later. Returns whether anything was
 * reported. `c` may be NULL. */
bool commands_look(config *c, bool wrong);

#endif
