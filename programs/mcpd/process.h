/* process.h: resource usage of the process, for /metrics. */
#ifndef MCPD_PROCESS_H
#define MCPD_PROCESS_H

#include <mcp/base.h>

/* Calls add() with lines of Prometheus text: process_* as in Prometheus' client libraries, and
 * mcp_build_info. Values that /proc does not provide are left out. */
void process_metrics(void (*add)(mcp_str text, void *arg), void *arg);

#endif
