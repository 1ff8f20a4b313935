/* filter.h: restricts the system calls of a process in the sandbox. */
#ifndef MCP_SRC_IO_FILTER_H
#define MCP_SRC_IO_FILTER_H

#include "base/base.h"

/* Returns whether the kernel supports seccomp filters and libseccomp 2 is installed. Loads the
 * library. */
bool mcp__filter_available(void);
/* Installs the filter for the calling thread and for the threads that it starts later. The filter
 * cannot be removed. It allows changes to files only if `writes` is set. Returns MCP_OK,
 * MCP_EUNSUPPORTED, MCP_EIO or MCP_ENOMEM. */
int mcp__filter_enter(bool writes, mcp_error *error);
/* Installs a filter for a program that this process is going to run, and for all processes below it.
 * Without `network` it can open no sockets. Returns the same codes. */
int mcp__filter_enter_program(bool network, mcp_error *error);

#endif
