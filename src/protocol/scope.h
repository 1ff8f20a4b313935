/* scope.h: lists of scopes (RFC 6749 section 3.3), as texts with spaces between. */
#ifndef MCP_SRC_PROTOCOL_SCOPE_H
#define MCP_SRC_PROTOCOL_SCOPE_H

#include "base/base.h"

/* Removes the next scope from *rest. Returns false at the end. */
MCP__SHARED bool mcp__scope_next(mcp_str *rest, mcp_str *ret);
/* Returns whether the text can be one scope. */
MCP__SHARED bool mcp__scope_valid(mcp_str scope);
/* Returns whether the list has only valid scopes. */
MCP__SHARED bool mcp__scopes_valid(mcp_str list);
/* Returns whether the scope asks for a refresh token, which is no matter of a resource server: such
 * a scope never stands in a challenge or in metadata. */
MCP__SHARED bool mcp__scope_is_offline(mcp_str scope);

/* A scope that counts as another one too. */
typedef struct mcp__scope_implies {
    mcp_str scope, implied;
} mcp__scope_implies;

/* Returns whether all scopes of `needed` are in `granted`, or are implied by one that is, directly
 * or over others. */
MCP__SHARED bool mcp__scopes_cover(mcp_str granted, mcp_str needed,
                                   const mcp__scope_implies *implies, size_t n);

#endif
