/* approve.h: mcpd --approve, and what --doctor says about approvals. */
#ifndef MCPD_APPROVE_H
#define MCPD_APPROVE_H

#include "offer.h"

/* Reads the tools of all sources that are other MCP servers, prints how they differ from the approved
 * ones, and replaces the file of approvals. Returns the exit code: 1 if a server could not be asked
 * or the file could not be written. */
int approve_tools(const settings *now, offer *o);

/* Compares the tools of the server of one source. Returns what offer_try() returns, and calls
 * each(line, user) for each tool that is new or has changed. */
int approve_compare(offer *o, const source *s, void (*each)(const char *line, void *user),
                    void *user, mcp_error *error);

#endif
