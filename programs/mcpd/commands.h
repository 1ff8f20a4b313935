/* commands.h: the configuration's "tools", as tools. */
#ifndef MCPD_COMMANDS_H
#define MCPD_COMMANDS_H

#include <mcp/server.h>

#include "config.h"

/* Registers them. `c` may be NULL. MCP_OK; a negative code after telling what is wrong, or with *error. */
int commands_add(config *c, mcp_server *server, mcp_error *error);

#endif
