/* asking.h: how the process of a source sends reports, log lines and access questions to its parent
 * on descriptor 4. isolated.h describes the lines. */
#ifndef MCPD_ASKING_H
#define MCPD_ASKING_H

#include <mcp/mcp.h>

/* The principal of requests that the parent process makes for itself. It may see everything. No
 * token can have this name. */
#define ASKING_PARENT "\x01parent"

/* Reports the prefixes of all mounts. Returns false if the report cannot be sent. */
bool asking_mounted(const mcp_server *server);
/* Reports why nothing could be mounted. */
void asking_failed(int code, const char *text);

/* A callback for mcp_host.log. It sends the line to the parent process, which logs it. */
void asking_log(const char *level, const char *line, void *user);

/* Sets an access callback that asks the parent process. If no answer arrives, access is denied.
 * Returns the errors of mcp_server_set_access(). */
int asking_set(mcp_server *server, mcp_error *error);

#endif
