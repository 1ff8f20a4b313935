/* seal.h: see seal.c. */
#ifndef MCP_SRC_SEAL_H
#define MCP_SRC_SEAL_H

#include <mcp/input.h>

#include "server/core/server.h"

/* Bytes of one text, and of what it is bound to. */
#define MCP__SEAL_MAX (16 << 20)

typedef struct mcp__seal mcp__seal;

/* Appends a token of `plain` that opens only with the same `bound`. MCP_ENOMEM, MCP_ELIMIT, MCP_EUNSUPPORTED,
 * MCP_EIO. */
int mcp__seal_text(mcp_server *server, mcp_str bound, mcp_str plain, mcp__buf *to,
                   mcp_error *error);
/* Appends what was sealed. MCP_EINVAL: the token is not one of ours, or bound to something else. */
int mcp__seal_open(mcp_server *server, mcp_str bound, mcp_str token, mcp__buf *plain,
                   mcp_error *error);
uint64_t mcp__seal_lifetime(const mcp_server *server);
void mcp__seal_free(mcp_server *server);

/* Cryptographic randomness, and milliseconds since 1970: the program's, or the system's. MCP_OK or MCP_EIO. */
int mcp__server_random(const mcp_server *server, void *bytes, size_t len);
int64_t mcp__server_clock(const mcp_server *server);

#endif
