/* upstreams.h: other MCP servers as sources. */
#ifndef MCPD_UPSTREAMS_H
#define MCPD_UPSTREAMS_H

#include <mcp/mcp.h>

/* Returns a text for people: what the last check of a source "mcp:…" found out about its server.
 * The text is empty if the check failed. */
const char *upstreams_said(void);
/* Calls add() with the metrics of these sources, as Prometheus text. If `numbers` is set, the
 * sources are labelled with numbers instead of names. */
void upstreams_metrics(bool numbers, void (*add)(mcp_str text, void *arg), void *arg);

#endif
