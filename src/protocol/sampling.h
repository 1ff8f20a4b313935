/* sampling.h: what the messages of a sampling request must keep to where tools are used (2025-11-25
 * and 2026-07-28, client/sampling, "Message Content Constraints"). */
#ifndef MCP_SRC_SAMPLING_H
#define MCP_SRC_SAMPLING_H

#include "base/base.h"

#include <mcp/json.h>

typedef struct mcp__sampling {
    const char *problem; /* NULL: none */
    size_t message;      /* which has it, from 1 */
    bool has_tools;      /* there is a tool_use or a tool_result */
} mcp__sampling;

/* Takes time in proportion to the messages. Returns MCP_OK or MCP_ENOMEM. */
int mcp__sampling_check(const mcp_json *messages, const mcp_allocator *allocator,
                        mcp__sampling *ret);

#endif
