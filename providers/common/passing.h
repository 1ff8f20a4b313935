/* passing.h: the params of a request on their way to another server: as they came, but for what
 * belongs to one hop. */
#ifndef COMMON_PASSING_H
#define COMMON_PASSING_H

#include <mcp/provider.h>

/* What is changed on the way. */
typedef struct common_passing {
    mcp_str cursor; /* ptr NULL: without one */
    mcp_str name, uri;
    bool ref;       /* name or uri are those of `ref` */
    mcp_str caller; /* JSON text of MCP_META_CALLER; ptr NULL: without one */
} common_passing;

/* The params as the other server gets them, NUL-terminated, to be released by the caller. MCP_OK,
 * MCP_ENOMEM, … */
int common_passing_params(mcp_request *req, const common_passing *change,
                          const mcp_allocator *alloc, char **ret);

#endif
