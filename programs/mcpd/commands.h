/* commands.h: the tools in the section "tools" of the configuration. */
#ifndef MCPD_COMMANDS_H
#define MCPD_COMMANDS_H

#include <mcp/server.h>

#include "config.h"

/* Registers the tools. `c` may be NULL. Returns MCP_OK, or a negative code after reporting the
 * error, or with *error set. */
int commands_add(config *c, mcp_server *server, mcp_error *error);
/* Checks whether a tool of the configuration can run now. If not, sets *error and returns the name
 * of the member that causes this: its program or its folder. Returns NULL if the tool can run. */
const char *commands_lacks(config *c, const mcp_json *one, mcp_error *error);
/* Reports the tools that cannot run: as errors of the configuration if `wrong` is set, otherwise as
 * warnings in the log, because a program may be installed later. Returns whether anything was
 * reported. `c` may be NULL. */
bool commands_look(config *c, bool wrong);

#endif
