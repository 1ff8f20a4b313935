/* capacity.h: raises the limit of descriptors for many connections, and returns unused memory to
 * the system. */
#ifndef MCPD_CAPACITY_H
#define MCPD_CAPACITY_H

#include <mcp/provider.h>

#include "options.h"

/* Returns the settings with the default of each limit that is not set, for those who divide, show or
 * use limits here. The settings themselves keep 0, which tells the libraries that nothing is set. */
settings capacity_settings(const settings *s);

/* Returns the number of descriptors that the listeners and everything else may need. */
uint64_t capacity_files(const settings *s);

/* Raises the soft limit of open files to that number, as far as the hard limit allows. The limit is
 * not raised further, because child processes inherit it, and some of them close every descriptor
 * up to the limit. */
void capacity_raise_files(const settings *s);

/* Keeps the C library from raising its threshold for large blocks. Otherwise the memory of a burst
 * of large answers would never be returned to the system. Call it before any thread is started. */
void capacity_set_allocator(void);

/* Schedules the return of memory to the system soon after much of it became free. Must be
 * zero-initialized. */
typedef struct trimming {
    const mcp_host *host;
    mcp_host_timer *timer;
} trimming;

/* A function for mcp_http_budget_options.released, with the trimming as its `user`. */
void capacity_released(size_t bytes, void *trimming);
void capacity_trim_stop(trimming *t);

#endif
