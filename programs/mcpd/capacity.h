/* capacity.h: raises the limit of descriptors for many connections, and returns unused memory to
 * the system. */
#ifndef MCPD_CAPACITY_H
#define MCPD_CAPACITY_H

#include <mcp/provider.h>

#include "options.h"

/* Raises the soft limit of open files to what the listeners and the rest may need, as far as the
 * hard limit allows. No further: programs that are started inherit it, and some close every
 * descriptor that they might have. */
void capacity_raise_files(const settings *s);

/* Keeps the C library from holding large blocks for later, as it does by and by: what a burst of
 * large answers took would stay. Where there are threads, before. */
void capacity_set_allocator(void);

/* Gives memory back to the system soon after much of it became free. Zero-initialized. */
typedef struct trimming {
    const mcp_host *host;
    mcp_host_timer *timer;
} trimming;

/* For mcp_http_budget_options.released, with the trimming as its user. */
void capacity_released(size_t bytes, void *trimming);
void capacity_trim_stop(trimming *t);

#endif
