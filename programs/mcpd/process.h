/* process.h: resource usage of the process, for /metrics. */
#ifndef MCPD_PROCESS_H
#define MCPD_PROCESS_H

#include <mcp/base.h>

/* Calls add() with lines of Prometheus text under the names that its client libraries use
 * (process_*), and mcp_build_info. What /proc does not say is left out. */
void process_metrics(void (*add)(mcp_str text, void *arg), void *arg);

#endif
