/* token.h: access tokens that are JWTs (RFC 9068), checked in this order: size, header, type, key,
 * signature, marking claim, then the claims (claims.h).
 *
 * mcp__token_read() needs no key and runs where the token arrives; the caller then finds the keys of
 * the issuer. mcp__token_check() costs a signature and may run on another thread.
 */
#ifndef MCP_SRC_AUTH_TOKEN_H
#define MCP_SRC_AUTH_TOKEN_H

#include "auth/claims.h"
#include "auth/jws.h"

enum {
    MCP__TOKEN_BYTES = 8192, /* the longest token, and the longest proof */
    MCP__TOKEN_TRIES = 4,    /* keys that are tried for a token that names none */
};

typedef struct mcp__token {
    mcp__jws jws;
    mcp_json_doc *doc; /* the claims */
    mcp__claims claims;
} mcp__token;

/* Reads a token; `text` must outlive it. Nothing that it says is proven afterwards. Free it with
 * mcp__token_clear() whatever the result was. */
mcp__refused mcp__token_read(mcp__token *token, mcp_str text, const mcp_allocator *allocator);
void mcp__token_clear(mcp__token *token);

/* Returns the rules of the issuer that the token names; NULL if there are none. If there is only
 * one issuer, its rules are returned whatever the token names: the check refuses the token. */
const mcp__token_rules *mcp__token_rules_for(const mcp__token *token, const mcp__token_rules *rules,
                                             size_t n);

/* Checks a token with the keys of the issuer of `rules`. `now` is in seconds since 1970. */
mcp__refused mcp__token_check(mcp__token *token, const mcp__token_rules *rules,
                              const mcp__jwk_set *keys, int64_t now);

#endif
