/* mirrored.h: compares headers with the parts of a message that they repeat. */
#ifndef MCP_SRC_SERVER_MIRROR_H
#define MCP_SRC_SERVER_MIRROR_H

#include "protocol/mirror.h"
#include "server/core/server.h"

/* Compare the headers of a modern request with its message, if the transport has headers. Return
 * MCP_OK, or a negative code after mcp_reply_fail(). mcp__mirror_check_revision() is called before
 * the revision is known to be supported. */
int mcp__mirror_check_revision(mcp_request *req);
int mcp__mirror_check_method(mcp_request *req);
int mcp__mirror_check_tool(mcp_request *req, const mcp__mirror *mirror, const mcp_json *arguments);

#endif
