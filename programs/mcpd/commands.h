/* commands.h: the configuration's "tools", as tools. */
#ifndef MCPD_COMMANDS_H
#define MCPD_COMMANDS_H

#include <mcp/server.h>

#include "config.h"

/* Registers them. `c` may be NULL. MCP_OK; a negative code after telling what is wrong, or with
 * *error. */
int commands_add(config *c, mcp_server *server, mcp_error *error);
/* Where in a tool of the configuration something is that keeps it from running as things are now:
 * its program, or its folder; *error says what. NULL: nothing. */
const char *commands_lacks(config *c, const mcp_json *one, mcp_error *error);
/* Tells that of all of them: as what is `wrong` with the configuration, or as a warning of the log,
 * because a program may come later. Whether there was anything. `c` may be NULL. */
bool commands_look(config *c, bool wrong);

#endif
