/* asking.h: what a source's process says and asks on descriptor 4 (isolated.h describes the lines).
 */
#ifndef MCPD_ASKING_H
#define MCPD_ASKING_H

#include <mcp/mcp.h>

/* The principal of what the process that started this one asks for itself. It may see everything.
 * No token has such a name. */
#define ASKING_PARENT "\x01parent"

/* Says what is mounted. False: nobody reads it. */
bool asking_mounted(const mcp_server *server);
/* Says why nothing is. */
void asking_failed(int code, const char *text);

/* mcp_host.log: the line is logged by the process that started this one. */
void asking_log(const char *level, const char *line, void *user);

/* Sets access rules that are asked. Without an answer nothing is allowed. */
int asking_set(mcp_server *server, mcp_error *error);

#endif
