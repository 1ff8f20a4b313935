/* filter.h: which system calls a process in the sandbox may make. */
#ifndef MCP_SRC_IO_FILTER_H
#define MCP_SRC_IO_FILTER_H

#include "base/base.h"

/* Whether the kernel filters, and libseccomp 2 can be loaded, which this does. */
bool mcp__filter_available(void);
/* From now on for this thread and those that it starts. `writes`: it may change files. MCP_EUNSUPPORTED,
 * MCP_EIO, MCP_ENOMEM. */
int mcp__filter_enter(bool writes, mcp_error *error);

#endif
