/* passing.h: creates the params of a request that is forwarded to another server. They are copied
 * unchanged, except for the members that belong to a single hop. */
#ifndef COMMON_PASSING_H
#define COMMON_PASSING_H

#include <mcp/provider.h>

/* The members to change. A string whose ptr is NULL is not set. */
typedef struct common_passing {
    mcp_str cursor; /* the other server's cursor; if not set, params have no cursor */
    mcp_str name, uri;
    bool ref;     /* `name` and `uri` replace members of "ref", not of params */
    mcp_str meta; /* further members of _meta, as JSON text without braces */
} common_passing;

/* Params for the other server, in one block of memory that begins at `members`, which the caller
 * releases. The strings are NUL-terminated. */
typedef struct common_params {
    char *members;    /* those of params except _meta, as JSON text without braces or line ends */
    const char *meta; /* those of _meta; see mcp_call_options.meta */
    const char
        *name; /* `name` or, if it is not set, `uri`; NULL if neither replaces a member of params */
    size_t len; /* bytes of `members` and `meta` */
} common_params;

/* Makes the params. They are copied as text. Returns MCP_OK, MCP_ENOMEM, or MCP_EINVAL if _meta is not
 * an object. */
int common_passing_params(mcp_request *req, const common_passing *change,
                          const mcp_allocator *alloc, common_params *ret);

/* Returns whether a member of params is not forwarded. Tasks and answers to input requests are made
 * anew. The cursor is replaced by that of the other server. */
bool common_passing_leaves_out(mcp_str key);
/* Returns whether a member of `_meta` is not forwarded, because it belongs to the connection with
 * the peer. */
bool common_passing_is_of_hop(mcp_str key);

#endif
