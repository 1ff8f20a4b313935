/* authorize.h: the authorization code flow as a client sees it (OAuth 2.1, RFC 7636, 8707, 9207):
 * PKCE, the URL that a browser opens, and the URL that it is sent back to. */
#ifndef MCP_SRC_AUTH_AUTHORIZE_H
#define MCP_SRC_AUTH_AUTHORIZE_H

#include "auth/crypto.h"
#include "auth/fault.h"

/* ---- pkce.c ---------------------------------------------------------------------------------- */

enum {
    MCP__RANDOM = 32,               /* random bytes of a verifier, and of a state */
    MCP__RANDOM_TEXT = 43 + 1,      /* the same in base64url, with a NUL */
    MCP__REDIRECT_BYTES = 16 << 10, /* the longest redirect */
};

typedef struct mcp__pkce {
    char verifier[MCP__RANDOM_TEXT];
    char challenge[MCP__RANDOM_TEXT]; /* S256 */
} mcp__pkce;

/* Makes a verifier of random bytes. Returns false if libcrypto fails. */
bool mcp__pkce_make(const mcp__crypto *crypto, const unsigned char random[MCP__RANDOM],
                    mcp__pkce *ret);
/* Computes the challenge of a verifier (RFC 7636 section 4.2). */
bool mcp__pkce_challenge(const mcp__crypto *crypto, mcp_str verifier, char to[MCP__RANDOM_TEXT]);
/* Writes random bytes as text, for a state. */
void mcp__random_text(const unsigned char random[MCP__RANDOM], char to[MCP__RANDOM_TEXT]);

/* ---- authorize.c ----------------------------------------------------------------------------- */

/* The parameters of an authorization request. Empty ones are left out. */
typedef struct mcp__authorize {
    mcp_str endpoint; /* may have a query */
    mcp_str client_id, redirect_uri, state, challenge;
    mcp_str scope;
    mcp_str resource; /* empty if the option omit_resource is set */
    mcp_str dpop_jkt; /* the thumbprint of the key that the code is to be bound to */
} mcp__authorize;

/* Appends the URL. With the scope offline_access it has prompt=consent (OpenID Connect Core section
 * 11). Returns MCP_OK or MCP_ENOMEM. */
int mcp__authorize_put(mcp__buf *to, const mcp__authorize *request);

/* ---- redirect.c ------------------------------------------------------------------------------ */

/* The parameters of a redirect; ptr is NULL if there is no such parameter. */
typedef struct mcp__redirect {
    mcp_str code, state, issuer, error, description;
    char *text; /* owns the strings */
    mcp_allocator allocator;
} mcp__redirect;

/* What a redirect must agree with. */
typedef struct mcp__redirect_rules {
    mcp_str redirect_uri; /* what comes before the query must be equal */
    mcp_str state;
    mcp_str issuer;    /* of the authorization server metadata */
    bool names_itself; /* mcp__issuer.names_itself */
} mcp__redirect_rules;

/* Reads a redirect, and checks it in this order: the redirect URI, `state`, no parameter twice,
 * `iss` (RFC 9207 section 2.4), `error`, `code`. A URL with another state may be from any web page;
 * it is no answer to this request. *ret has a code only if the result is MCP__OAUTH_OK. If the
 * issuer or the state is wrong, nothing of the redirect is in the error. An error of the
 * authorization server has its own fault, such as MCP__OAUTH_ACCESS_DENIED. Whatever the result is,
 * free *ret with mcp__redirect_clear(). */
mcp__oauth_fault mcp__redirect_read(mcp__redirect *ret, mcp_str url,
                                    const mcp__redirect_rules *rules,
                                    const mcp_allocator *allocator, mcp_error *error);
void mcp__redirect_clear(mcp__redirect *redirect);

#endif
