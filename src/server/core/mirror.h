/* mirror.h: compares what headers repeat of a message with it. */
#ifndef MCP_SRC_SERVER_MIRROR_H
#define MCP_SRC_SERVER_MIRROR_H

#include "protocol/mirror.h"
#include "server/core/server.h"

/* Compares the headers of a modern request with its message, where the transport has headers. MCP_OK, or a negative
 * code after mcp_reply_fail(). The first is called before the revision is looked at. */
int mcp__mirror_check_revision(mcp_request *req);
int mcp__mirror_check_method(mcp_request *req);
int mcp__mirror_check_tool(mcp_request *req, const mcp__mirror *mirror, const mcp_json *arguments);

#endif
