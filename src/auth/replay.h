/* replay.h: a table of the DPoP proofs that were used, of fixed size.
 *
 * A proof needs to be remembered as long as its `iat` would be accepted. If more proofs arrive in
 * that time than the table has room for, old ones are forgotten first: the window of `iat`, the
 * nonce and `ath` still limit what a copied proof is good for. One thread at a time.
 */
#ifndef MCP_SRC_AUTH_REPLAY_H
#define MCP_SRC_AUTH_REPLAY_H

#include "auth/dpop.h"

typedef struct mcp__replay mcp__replay;

/* Makes a table for about `proofs` proofs, at 24 bytes each. The seed should be random. */
int mcp__replay_new(size_t proofs, uint64_t seed, const mcp_allocator *allocator,
                    mcp__replay **ret);
void mcp__replay_free(mcp__replay *replay); /* NULL is allowed */
/* Returns whether the proof was used before, and remembers it. `now` is in seconds since 1970. */
bool mcp__replay_used(mcp__replay *replay, const mcp__dpop_proof *proof, int64_t now);

#endif
