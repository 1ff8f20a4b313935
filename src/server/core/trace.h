/* trace.h: the parts of a request that is traced; see trace.c. */
#ifndef MCP_SRC_SERVER_TRACE_H
#define MCP_SRC_SERVER_TRACE_H

#include <mcp/trace.h>

#include "server/core/request.h"

/* Decides whether the request is traced. Must be called only if server->trace.ended is set, after mcp__audit_begin(). */
void mcp__trace_begin(mcp_request *req);
/* The provider of this mount has the request from now on, instead of the one before. */
void mcp__trace_source(mcp_request *req, const mcp__mount *mount);
/* Ends a part that began and ended at these times of the host, in microseconds. */
void mcp__trace_timed(mcp_request *req, mcp_span *span, int64_t begin, int64_t end);
/* Passes the spans of a request that has some to the program. */
void mcp__trace_end(mcp_request *req, const mcp_audit_record *record);

#endif
