/* approval.h: the definitions of tools that a person has approved, in a file.
 *
 * Descriptions and schemas of tools are read by models, so a server that changes them after it was
 * approved can change what a model does. The file contains the approved definitions:
 *
 *     {"servers": {"NAME": {"tools": {"search": {"description": "…", "inputSchema": {…}}}}}}
 *
 * A definition is an entry of tools/list without "name" and "_meta". Two definitions are equal if
 * their values are; the order of members does not matter.
 */
#ifndef UPSTREAM_APPROVAL_H
#define UPSTREAM_APPROVAL_H

#include "session.h"

/* What the last lists of a server have shown, apart from tools as they were approved. */
typedef enum upstream_verdict {
    UPSTREAM_APPROVED,
    UPSTREAM_NEW,
    UPSTREAM_CHANGED,
} upstream_verdict;

/* Compares the tools of a result of tools/list with the approved ones, and logs each tool that is
 * new or has changed, once. Does nothing without approvals. */
void upstream_approval_look(upstream *up, const mcp_json *result);
/* Returns whether a tool must be withheld: it is not approved as it was last listed. */
bool upstream_withholds(const upstream *up, mcp_str tool);
/* Returns whether tools are withheld, and the list has to be read before this one is called. */
bool upstream_approval_needs_list(upstream *up, mcp_str tool);
/* Replies to a call of a tool that is not offered. Returns what the handler must return. */
int upstream_approval_refuse(const upstream *up, mcp_request *req, mcp_str tool);
void upstream_approval_free(upstream *up);

#endif
