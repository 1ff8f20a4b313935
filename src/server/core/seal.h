/* seal.h: encrypts and authenticates texts that a peer keeps for the server; see seal.c. */
#ifndef MCP_SRC_SEAL_H
#define MCP_SRC_SEAL_H

#include <mcp/input.h>

#include "server/core/server.h"

/* Largest size of a text, and of the text to which it is bound, in bytes. */
#define MCP__SEAL_MAX (16 << 20)

typedef struct mcp__seal mcp__seal;

/* Appends a token that contains `plain`, encrypted, and that can be opened only with the same
 * `bound`. Returns MCP_ENOMEM, MCP_ELIMIT, MCP_EUNSUPPORTED or MCP_EIO on failure. */
int mcp__seal_text(mcp_server *server, mcp_str bound, mcp_str plain, mcp__buf *to,
                   mcp_error *error);
/* Appends the text that a token contains. Returns MCP_EINVAL if the token was not made by this
 * server, or is bound to another text. */
int mcp__seal_open(mcp_server *server, mcp_str bound, mcp_str token, mcp__buf *plain,
                   mcp_error *error);
uint64_t mcp__seal_lifetime(const mcp_server *server);
void mcp__seal_free(mcp_server *server);

/* Provide cryptographically secure random bytes, and the time in milliseconds since 1970, from the
 * program's functions or from the system. mcp__server_random() returns MCP_OK or MCP_EIO. */
int mcp__server_random(const mcp_server *server, void *bytes, size_t len);
int64_t mcp__server_clock(const mcp_server *server);

#endif
