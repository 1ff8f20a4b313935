/* sources.h: mounts the sources of the settings into a server that is being built. */
#ifndef MCPD_SOURCES_H
#define MCPD_SOURCES_H

#include "offer.h"

/* Mounts the sources that exist and adds the others to o->coming. Returns MCP_OK, or a negative
 * code after reporting the error, or with *error set. */
int sources_mount(offer *o, mcp_server *server, mcp_error *error);

/* Checks the options and names of all sources of modules without opening them, and reports every
 * error. Returns true if there is none. Sources whose module cannot describe them are skipped. */
bool sources_check(offer *o);

#endif
