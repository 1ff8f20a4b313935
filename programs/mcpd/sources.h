/* sources.h: the sources of the settings, mounted into a server that is being built. */
#ifndef MCPD_SOURCES_H
#define MCPD_SOURCES_H

#include "offer.h"

/* Those that are there; o->coming has the others. MCP_OK; a negative code after telling, or with
 * *error. */
int sources_mount(offer *o, mcp_server *server, mcp_error *error);

#endif
