/* remember.h: what other MCP servers said about themselves, in a file, for the next process
 * (--remember). */
#ifndef MCPD_REMEMBER_H
#define MCPD_REMEMBER_H

#include <upstream.h>

/* Reads the file, which may be missing or empty, for the servers that are mounted from now on, and writes
 * it each time when one of them has said something new. NULL ends that. If the path is the one that is
 * in use, nothing happens. Returns MCP_OK, MCP_EIO, MCP_ELIMIT, MCP_EINVAL (it is another kind of file)
 * or MCP_ENOMEM, with a text that names the file; nothing has changed then. */
int remember_use(const char *path, mcp_upstream_group *group, mcp_error *error);

#endif
