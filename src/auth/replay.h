/* replay.h: a table of fixed size that records the DPoP proofs that were used.
 *
 * A proof has to be recorded for as long as its `iat` is acceptable. If more proofs arrive in that
 * time than the table has room for, the oldest ones are evicted. A copy of such a proof is then
 * limited only by the window of `iat`, by the nonce and by `ath`. Only one thread at a time may use
 * a table.
 */
#ifndef MCP_SRC_AUTH_REPLAY_H
#define MCP_SRC_AUTH_REPLAY_H

#include "auth/dpop.h"

typedef struct mcp__replay mcp__replay;

/* Makes a table for about `proofs` proofs, which takes 24 bytes for each. The seed should be
 * random. Returns MCP_OK, MCP_ELIMIT (too many) or MCP_ENOMEM. */
int mcp__replay_new(size_t proofs, uint64_t seed, const mcp_allocator *allocator,
                    mcp__replay **ret);
void mcp__replay_free(mcp__replay *replay); /* NULL is allowed */
/* Returns whether the proof was used before, and records it. `now` is in seconds since 1970. */
bool mcp__replay_used(mcp__replay *replay, const mcp__dpop_proof *proof, int64_t now);

#endif
