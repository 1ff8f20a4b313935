/* scope.h: lists of scopes (RFC 6749 section 3.3): strings in which spaces separate the scopes. */
#ifndef MCP_SRC_PROTOCOL_SCOPE_H
#define MCP_SRC_PROTOCOL_SCOPE_H

#include "base/base.h"

/* Removes the next scope from *rest and writes it to *ret. Returns false at the end of the list. */
MCP__SHARED bool mcp__scope_next(mcp_str *rest, mcp_str *ret);
/* Returns whether the string is a valid scope. */
MCP__SHARED bool mcp__scope_valid(mcp_str scope);
/* Returns whether all scopes of the list are valid. */
MCP__SHARED bool mcp__scopes_valid(mcp_str list);
/* Returns whether the scope requests a refresh token. Such a scope does not concern a resource
 * server, so challenges and metadata never contain it. */
MCP__SHARED bool mcp__scope_is_offline(mcp_str scope);

/* A caller with the scope `scope` also has the scope `implied`. */
typedef struct mcp__scope_implies {
    mcp_str scope, implied;
} mcp__scope_implies;

/* Returns whether `granted` contains all scopes of `needed`, or scopes that imply them directly or
 * through at most 7 other scopes. */
MCP__SHARED bool mcp__scopes_cover(mcp_str granted, mcp_str needed,
                                   const mcp__scope_implies *implies, size_t n);

#endif
