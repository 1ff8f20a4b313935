/* broker.h: changes modes, owners and times of files for a program in the sandbox. */
#ifndef MCP_SRC_IO_BROKER_H
#define MCP_SRC_IO_BROKER_H

#include "base/base.h"

/* Starts a new process, and returns in it, with a socket in *ret. The calling process becomes the
 * broker of the new one and of all processes below that one. It does not return, and exits as the new
 * process does. It changes only the files in `write` (NULL-terminated) and below them. Call it while
 * there is no other thread. Returns MCP_OK or MCP_EIO. */
int mcp__broker_start(const char *const *write, int *ret, mcp_error *error);
/* Gives the broker the listener of the filter, and closes both descriptors. Returns MCP_OK or
 * MCP_EIO. */
int mcp__broker_connect(int broker, int listener, mcp_error *error);

#endif
