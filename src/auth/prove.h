/* prove.h: what a client signs: proofs of possession (RFC 9449 section 4.2) and assertions that
 * authenticate it (RFC 7523 section 3); and the keys for these. */
#ifndef MCP_SRC_AUTH_PROVE_H
#define MCP_SRC_AUTH_PROVE_H

#include "auth/jws.h"

enum {
    MCP__RANDOM_ID = 16,          /* random bytes of a `jti` */
    MCP__ASSERTION_SECONDS = 300, /* how long an assertion is valid */
    MCP__PEM_BYTES = 64 << 10,
};

/* ---- jwk_put.c ------------------------------------------------------------------------------- */

/* Appends a private key as a JWK: RSA, EC (P-256, P-384, P-521) or Ed25519. Returns MCP_OK,
 * MCP_EUNSUPPORTED (another kind), MCP_EIO or MCP_ENOMEM. */
int mcp__jwk_put(const mcp__crypto *crypto, EVP_PKEY *pkey, mcp__buf *to);
/* Makes a new key for ES256 with the random generator of libcrypto, and appends it as a JWK. */
int mcp__jwk_make(const mcp__crypto *crypto, mcp__buf *to);

/* ---- pem.c ----------------------------------------------------------------------------------- */

/* Reads a private key that signs: a JWK, or PEM (PKCS#8, or the older forms for RSA and EC).
 * Returns MCP_OK, MCP_EINVAL, MCP_EUNSUPPORTED, MCP_ELIMIT, MCP_EPARSE or MCP_ENOMEM. The text of
 * the error contains no part of the key. */
int mcp__signing_key_read(const mcp__crypto *crypto, mcp_str text, const mcp_allocator *allocator,
                          mcp__jwk **ret, mcp_error *error);

/* ---- prove.c: proofs ------------------------------------------------------------------------- */

/* A key for proofs, with the header that its proofs have. */
typedef struct mcp__prover {
    mcp__jwk *key;
    mcp__buf header; /* members of the header, for mcp__jws_sign() */
} mcp__prover;

/* Reads a private JWK (ES256). Whatever the result is, free *ret with mcp__prover_clear(). */
int mcp__prover_read(mcp__prover *ret, const mcp__crypto *crypto, mcp_str jwk,
                     const mcp_allocator *allocator, mcp_error *error);
void mcp__prover_clear(mcp__prover *prover);

/* A request that is proved. All strings are borrowed. */
typedef struct mcp__proof {
    mcp_str method;
    mcp_str url;                 /* its query and fragment are left out of the proof */
    mcp_str token;               /* the access token that is sent; empty at a token endpoint */
    mcp_str nonce;               /* empty if the server gave none */
    int64_t now;                 /* in seconds since 1970 */
    const unsigned char *random; /* MCP__RANDOM_ID bytes, new for each proof */
} mcp__proof;

/* Appends a proof. Returns MCP_OK, MCP_EINVAL (the URL or the nonce is not UTF-8), MCP_EIO or
 * MCP_ENOMEM. */
int mcp__proof_put(mcp__buf *to, const mcp__prover *prover, const mcp__proof *proof);

/* ---- assertions ------------------------------------------------------------------------------ */

/* Appends a client assertion. `audience` is the issuer of the authorization server, `now` is in
 * seconds since 1970, `random` has MCP__RANDOM_ID bytes. Returns the same as mcp__proof_put(). */
int mcp__assertion_put(mcp__buf *to, const mcp__jwk *key, mcp_str client_id, mcp_str audience,
                       int64_t now, const unsigned char *random);

#endif
