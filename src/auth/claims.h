/* claims.h: the claims of access tokens, and the rules for those of one issuer. The claims are in a
 * JWT (token.h) or in an answer of the issuer's introspection endpoint (introspect.h). */
#ifndef MCP_SRC_AUTH_CLAIMS_H
#define MCP_SRC_AUTH_CLAIMS_H

#include "auth/refusal.h"
#include "json/json.h"

/* The rules for the access tokens of one issuer. All strings are borrowed. */
typedef struct mcp__token_rules {
    mcp_str issuer;           /* compared byte for byte */
    const mcp_str *audiences; /* one of them must be an audience of the token */
    size_t n_audiences;
    /* A type (`typ`) that is accepted in addition to at+jwt; empty if there is none. "JWT" also
     * accepts a header without a type. If `type` is set, `mark` is required, because ID tokens of
     * the issuer may have the same type. */
    mcp_str type;
    mcp_str mark;       /* a claim that access tokens of that type have and ID tokens lack */
    mcp_str mark_value; /* the string that the claim must be; empty if any value will do */
} mcp__token_rules;

/* The difference between clocks that is tolerated, in seconds. */
#define MCP__TOKEN_SKEW 60

/* Returns MCP_OK, or MCP_EINVAL with a text for an administrator. */
int mcp__token_rules_check(const mcp__token_rules *rules, mcp_error *error);

/* The claims of a token. The strings belong to the JSON document. */
typedef struct mcp__claims {
    mcp_str issuer;  /* empty if introspection returned no `iss` */
    mcp_str subject; /* empty if there is none */
    int64_t expires; /* in seconds since 1970; INT64_MAX if introspection returned no `exp` */
    mcp_str jkt;     /* the thumbprint of the key that the token is bound to; empty if it is not */
    mcp__buf scopes; /* separated by spaces */
} mcp__claims;

/* Where claims come from. `iss` and `exp` are required only in signed claims. */
typedef enum mcp__claims_from {
    MCP__CLAIMS_SIGNED,
    MCP__CLAIMS_INTROSPECTED,
} mcp__claims_from;

/* Checks the claims, in this order: iss, aud, exp, nbf, iat, cnf, scope or scp. `now` is in seconds
 * since 1970. Call mcp__claims_init() before; free with mcp__claims_clear(). */
void mcp__claims_init(mcp__claims *claims, const mcp_allocator *allocator);
void mcp__claims_clear(mcp__claims *claims);
mcp__refused mcp__claims_check(mcp__claims *claims, const mcp_json *object,
                               const mcp__token_rules *rules, mcp__claims_from from, int64_t now);

/* Reads a NumericDate (RFC 7519 section 2), rounded down, or up if `up` is set. Returns false if
 * the value is not a number from 0 to 2^53. */
bool mcp__claims_time(const mcp_json *value, bool up, int64_t *ret);

#endif
