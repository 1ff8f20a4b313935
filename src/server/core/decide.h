/* decide.h: the decision of the program before a handler runs; see decide.c. */
#ifndef MCP_SRC_DECIDE_H
#define MCP_SRC_DECIDE_H

#include "server/core/request.h"

/* What a method returns after the program has written the whole result: a code that is no failure. */
enum { MCP__ANSWERED = 1000 };

/* Ask the program, if it wants to be asked. Return MCP_OK if the request goes on; otherwise the
 * method returns the code. mcp__decide() is about one item, mcp__decide_all() about each resource of
 * a list of URIs, and mcp__decide_other() about no item. */
int mcp__decide_about(mcp_request *req, mcp_operation operation, mcp_item item, mcp_str name);
int mcp__decide_uris(mcp_request *req, const mcp_json *uris);
int mcp__decide_nothing(mcp_request *req, mcp_operation operation);

static inline bool mcp__decides(const mcp_request *req)
{
    return req->server->decide.fn != NULL;
}
static inline int mcp__decide(mcp_request *req, mcp_operation operation, mcp_item item,
                              mcp_str name)
{
    return mcp__decides(req) ? mcp__decide_about(req, operation, item, name) : MCP_OK;
}
static inline int mcp__decide_all(mcp_request *req, const mcp_json *uris)
{
    return mcp__decides(req) ? mcp__decide_uris(req, uris) : MCP_OK;
}
static inline int mcp__decide_other(mcp_request *req, mcp_operation operation)
{
    return mcp__decides(req) ? mcp__decide_nothing(req, operation) : MCP_OK;
}

#endif
