/* passing.h: creates the params of a request that is forwarded to another server. They are copied
 * unchanged, except for the members that belong to a single hop. */
#ifndef COMMON_PASSING_H
#define COMMON_PASSING_H

#include <mcp/provider.h>

/* The members to change. A string whose ptr is NULL is not set. */
typedef struct common_passing {
    mcp_str cursor; /* the other server's cursor; if not set, params have no cursor */
    mcp_str name, uri;
    bool ref; /* `name` and `uri` replace members of "ref", not of params */
} common_passing;

/* Gets the params for the other server as NUL-terminated text, which the caller releases. Returns
 * MCP_OK, MCP_ENOMEM, or another error of mcp_json_writer_finish(). */
int common_passing_params(mcp_request *req, const common_passing *change,
                          const mcp_allocator *alloc, char **ret);

/* Returns whether a member of params is not forwarded. Tasks and answers to input requests are made
 * anew. The cursor is replaced by that of the other server. */
bool common_passing_leaves_out(mcp_str key);
/* Returns whether a member of `_meta` is not forwarded, because it belongs to the connection with
 * the peer. */
bool common_passing_is_of_hop(mcp_str key);

#endif
