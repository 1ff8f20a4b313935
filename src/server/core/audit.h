/* audit.h: records of requests that ended; see audit.c. */
#ifndef MCP_SRC_AUDIT_H
#define MCP_SRC_AUDIT_H

#include "server/core/request.h"

/* Must be called only if server->audit.ended is set. mcp__audit_begin() keeps what the transport
 * knows, because the channel may be freed before the handler finishes. mcp__audit_end() records a request once: with
 * the outcome in req->used, or for a subscription that was opened, as successful. */
void mcp__audit_begin(mcp_request *req);
/* Keeps the reason of a cancellation. */
void mcp__audit_cancelled(mcp_request *req, mcp_str reason);
void mcp__audit_end(mcp_request *req);

#endif
