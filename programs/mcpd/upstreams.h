/* upstreams.h: other MCP servers as sources. */
#ifndef MCPD_UPSTREAMS_H
#define MCPD_UPSTREAMS_H

#include <stdio.h>

#include <mcp/mcp.h>
#include <upstream.h>

/* Returns a text for people: what the last check of a source "mcp:…" found out about its server.
 * The text is empty if the check failed. */
const char *upstreams_summary(void);
/* Makes sources that are mounted from now on compare their tools with the file `path`, or with none if
 * it is NULL. Returns MCP_OK or the errors of mcp_approvals_open(). */
int upstreams_use_approvals(const char *path, bool withhold, mcp_error *error);
/* Makes sources that are mounted from now on remember what their servers said, in the file `path`, or in
 * none if it is NULL (remember_use()). */
int upstreams_use_memory(const char *path, mcp_error *error);
/* Sets what one caller may use of all servers together, from now on (mcp_upstream_group). */
void upstreams_use_limits(uint64_t calls, uint64_t sessions, uint64_t sessions_in_all,
                          uint64_t bytes);
/* Returns the approvals in force, or NULL. */
const mcp_approvals *upstreams_approvals(void);
/* Makes the checks of these sources (offer_try()) visit their tools, until `fn` is NULL again. */
void upstreams_visit_tools(mcp_upstream_tool_fn *fn, void *user);
/* Writes what the servers that the caller may see say about themselves, with a heading for each. Every
 * line of theirs begins with "> ", so that none can be taken for a heading. Writes nothing if tools that
 * are not approved are withheld: nobody has reviewed these texts. */
void upstreams_introduce(const mcp_request *req, FILE *to);
/* Returns whether there are such sources. */
bool upstreams_any(void);
/* Calls add() with the metrics of these sources, as Prometheus text with all names. */
void upstreams_metrics(void (*add)(mcp_str text, void *arg), void *arg);

#endif
