/* identity.h: the internal side of mcp/identity.h. */
#ifndef MCP_SRC_PROTOCOL_IDENTITY_H
#define MCP_SRC_PROTOCOL_IDENTITY_H

#include <mcp/identity.h>

#include "base/base.h"

/* Returns the identity of the same caller in a view. All callers of this function for one identity and
 * view get the same object, so it can be compared by its address, like the identity itself; it takes
 * no reference, and exists as long as the identity does. May be called on any thread. The number of
 * views is up to the program, not to peers. Returns MCP_OK, MCP_EINVAL (no name of a view) or
 * MCP_ENOMEM. */
MCP__SHARED int mcp__identity_in_view(mcp_identity *identity, mcp_str view, mcp_identity **ret);
/* Makes the identity of an anonymous caller, for mcp__identity_in_view() only. Returns NULL if out of
 * memory. */
MCP__SHARED mcp_identity *mcp__identity_nobody(const mcp_allocator *allocator);
MCP__SHARED bool mcp__is_view(mcp_str name);
/* Compares two bindings (mcp_identity_binding()). NULL equals only NULL. */
static inline bool mcp__same_binding(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

/* Returns the memory that was allocated for an identity, including the heap's own part of each
 * block, and without those of the same caller in views. For caches with a limit. */
MCP__SHARED size_t mcp__identity_memory(const mcp_identity *identity);

#endif
