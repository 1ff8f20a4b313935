/* audit.h: records of requests that ended; see audit.c. */
#ifndef MCP_SRC_AUDIT_H
#define MCP_SRC_AUDIT_H

#include "server/core/request.h"

/* Whether the program wants records: for an audit log, or of traced requests. */
static inline bool mcp__audit_wanted(const mcp_server *server)
{
    return server->audit.ended || server->trace.ended;
}
/* Must be called only if records are wanted. mcp__audit_begin() keeps what the transport
 * knows, because the channel may be freed before the handler finishes. mcp__audit_end() records a request once: with
 * the outcome in req->used, or for a subscription that was opened, as successful. */
void mcp__audit_begin(mcp_request *req);
/* Returns the trace that the request belongs to, as its caller says: from _meta, or from the transport, which fills
 * *about, where the text may be. Empty if there is none or it does not have the form of one. */
mcp_str mcp__audit_traceparent(const mcp_request *req, mcp_exchange_about *about);
/* Whether a request of this method (NULL if it is none of the table) must get an error, because records are missing. */
bool mcp__audit_fails(const mcp_server *server, const mcp__method *method);
void mcp__audit_end(mcp_request *req);
/* How the request has ended, from req->used. */
mcp_audit_outcome mcp__audit_outcome(const mcp_request *req);

/* Remembers which change is to be counted at the end of the request, instead of one that was noted before. */
void mcp__change_note(mcp_request *req, const mcp_audit_change *change);
/* Counts the end of a request that has noted one (req->used.operation). */
void mcp__change_count(mcp_request *req);

#endif
