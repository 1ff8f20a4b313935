/* identity.h: the internal side of mcp/identity.h. */
#ifndef MCP_SRC_PROTOCOL_IDENTITY_H
#define MCP_SRC_PROTOCOL_IDENTITY_H

#include <mcp/identity.h>

#include "base/base.h"

/* Returns the memory that was allocated for an identity, including the heap's own part of each
 * block. For caches with a limit. */
MCP__SHARED size_t mcp__identity_memory(const mcp_identity *identity);

#endif
