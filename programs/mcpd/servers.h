/* servers.h: the servers in the configuration files of MCP hosts (mcpd --servers), which become sources of
 * the module mcp. */
#ifndef MCPD_SERVERS_H
#define MCPD_SERVERS_H

#include "config.h"

/* Adds a source for each server of the files in s->servers, after the other sources. What the
 * sources borrow is freed by options_clear(). Servers that are disabled are left
 * out, and so are, after reporting why to `tell`, this mcpd itself and servers that cannot be used; with `strict` the
 * latter are errors.
 * Returns MCP_OK, or a negative code after reporting the errors. */
int servers_add(settings *s, bool strict, config_tell *tell);

/* Frees what the sources borrow. NULL is allowed. */
void servers_free(struct servers *servers);

#endif
