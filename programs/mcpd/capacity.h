/* capacity.h: raises the limit of descriptors for many connections, and returns unused memory to
 * the system. */
#ifndef MCPD_CAPACITY_H
#define MCPD_CAPACITY_H

#include <mcp/provider.h>

#include "options.h"

/* Defaults of the libraries: mcp_http_options.max_connections, and in bytes
 * mcp_http_budget_options.max_memory and mcp_server_options.max_work_memory. */
#define CAPACITY_CONNECTIONS 20000
#define CAPACITY_SESSIONS    10000 /* of each worker */
#define CAPACITY_MEMORY      ((uint64_t)512 << 20)
#define CAPACITY_WORK_MEMORY ((uint64_t)128 << 20)

/* The default of --max-source-processes. */
enum { CAPACITY_SOURCE_PROCESSES = 64 };

/* The defaults of --max-upstream-calls, --max-upstream-sessions, --max-upstream-sessions-in-all and
 * --max-upstream-bytes. */
enum {
    CAPACITY_UPSTREAM_CALLS = 1024,
    CAPACITY_UPSTREAM_SESSIONS = 256,
    CAPACITY_UPSTREAM_SESSIONS_IN_ALL = 1024,
};
#define CAPACITY_UPSTREAM_BYTES ((uint64_t)64 << 20)

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
