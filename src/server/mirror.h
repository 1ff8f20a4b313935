/* mirror.h: the parts of a message that a transport repeats in metadata of its own, as HTTP headers
 * (2026-07-28, basic/transports/streamable-http, "Request Metadata").
 */
#ifndef MCP_SRC_MIRROR_H
#define MCP_SRC_MIRROR_H

#include "server/server.h"

/* One parameter of a tool that is repeated in the header Mcp-Param-<name>. */
typedef struct mcp__mirrored {
    char *header; /* the whole header's name */
    char **path;  /* the property's name, from the arguments downwards */
    size_t depth;
} mcp__mirrored;

typedef struct mcp__mirror {
    mcp__mirrored *items;
    size_t count;
} mcp__mirror;

/* Collects the "x-mcp-header" of an input schema, and refuses those that the specification forbids:
 * MCP_EINVAL. *ret is to be freed in every case. */
int mcp__mirror_compile(const mcp_allocator *allocator, const mcp_json *schema, mcp__mirror *ret,
                        mcp_error *error);
void mcp__mirror_free(const mcp_allocator *allocator, mcp__mirror *mirror);

/* Compares the headers of a modern request with its message. MCP_OK, or a negative code after
 * mcp_reply_fail(). The first is called before the revision is looked at. */
int mcp__mirror_check_revision(mcp_request *req);
int mcp__mirror_check_method(mcp_request *req);
int mcp__mirror_check_tool(mcp_request *req, const mcp__mirror *mirror, const mcp_json *arguments);

#endif
