/* token.h: access tokens that are JWTs (RFC 9068), checked in this order: size, header, type, key,
 * signature, marking claim, then the claims (claims.h).
 *
 * mcp__token_read() needs no key. The caller then finds the keys of the issuer.
 * mcp__token_check() verifies a signature, which takes time, and may run on another thread.
 */
#ifndef MCP_SRC_AUTH_TOKEN_H
#define MCP_SRC_AUTH_TOKEN_H

#include "auth/claims.h"
#include "auth/jws.h"

enum {
    MCP__TOKEN_BYTES = 8192, /* the longest token, and the longest proof */
    MCP__TOKEN_TRIES = 4,    /* the most keys that are tried for a token that names no key */
};

typedef struct mcp__token {
    mcp__jws jws;
    mcp_json_doc *doc; /* the claims */
    mcp__claims claims;
} mcp__token;

/* Reads a token. Its claims are not verified yet. `text` must outlive the token. Whatever the
 * result is, free the token with mcp__token_clear(). */
mcp__refused mcp__token_read(mcp__token *token, mcp_str text, const mcp_allocator *allocator);
void mcp__token_clear(mcp__token *token);

/* Returns the rules of the issuer that the token names, or NULL if there are none. If `n` is 1,
 * always returns these rules: mcp__token_check() then refuses a token of another issuer. */
const mcp__token_rules *mcp__token_rules_for(const mcp__token *token, const mcp__token_rules *rules,
                                             size_t n);

/* Checks a token with the keys of the issuer of `rules`. `now` is in seconds since 1970. */
mcp__refused mcp__token_check(mcp__token *token, const mcp__token_rules *rules,
                              const mcp__jwk_set *keys, int64_t now);

#endif
