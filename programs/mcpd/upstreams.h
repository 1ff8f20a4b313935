/* upstreams.h: other MCP servers as sources. */
#ifndef MCPD_UPSTREAMS_H
#define MCPD_UPSTREAMS_H

#include <mcp/mcp.h>

/* Returns what the last check of a source "mcp:…" found out about its server, for people; empty if
 * it did not work. */
const char *upstreams_said(void);
/* Calls add() with the metrics of these sources, as Prometheus text. If `numbers` is set, they are
 * labelled by number. */
void upstreams_metrics(bool numbers, void (*add)(mcp_str text, void *arg), void *arg);

#endif
