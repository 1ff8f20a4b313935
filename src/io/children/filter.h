/* filter.h: restricts the system calls of a process in the sandbox. */
#ifndef MCP_SRC_IO_FILTER_H
#define MCP_SRC_IO_FILTER_H

#include "base/base.h"

typedef struct mcp__filter_kind {
    unsigned who; /* MCP__FOR_* */
    bool broker;  /* calls that a broker makes are sent to a listener instead of refused */
} mcp__filter_kind;

/* Returns whether the kernel supports seccomp filters and libseccomp 2.5 is installed. Loads the
 * library. */
bool mcp__filter_available(void);
/* Installs the filter for the calling thread, for the threads and processes that it starts later, and
 * for the programs that they run. The filter cannot be removed. With `broker`, writes the listener's
 * descriptor to *listener, which belongs to the caller. Returns MCP_OK, MCP_EUNSUPPORTED, MCP_EIO or
 * MCP_ENOMEM. */
int mcp__filter_enter(mcp__filter_kind kind, int *listener, mcp_error *error);
/* Writes the filter for an architecture (AUDIT_ARCH_*, or 0 for this one) to a file instead, for
 * tests. */
int mcp__filter_export(mcp__filter_kind kind, uint32_t architecture, int fd, mcp_error *error);

#endif
