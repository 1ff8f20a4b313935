/* dpop.h: proofs of possession (RFC 9449), as a resource server checks them (section 4.3).
 *
 * A nonce contains the time at which it was made, authenticated with a key that all instances
 * share. So no instance has to remember it. Used proofs can be recorded in a table of fixed size;
 * see replay.h.
 */
#ifndef MCP_SRC_AUTH_DPOP_H
#define MCP_SRC_AUTH_DPOP_H

#include "auth/refusal.h"
#include "auth/token.h"

enum {
    MCP__DPOP_WINDOW = 300,    /* how far `iat` and nonces may be from the present, in seconds */
    MCP__DPOP_JTI_BYTES = 256, /* the longest `jti` */
    MCP__NONCE_BYTES = 48,     /* the size of a nonce as text, with a NUL */
};

/* The request that a proof must be for. All strings are borrowed. */
typedef struct mcp__dpop_request {
    mcp_str method;
    /* The URL of the resource. It comes from the configuration and not from a header. Its query and
     * fragment are ignored. */
    mcp_str url;
    mcp_str token;
    mcp_str jkt; /* the thumbprint of the key that the token is bound to; empty if it is not */
    int64_t now; /* in seconds since 1970 */
    /* The keys with which nonces may have been made, the current one first. If there are none,
     * proofs need no nonce. */
    const unsigned char (*nonce_keys)[MCP__SHA256];
    size_t n_nonce_keys;
} mcp__dpop_request;

/* Identifies a valid proof in the table of used proofs. */
typedef struct mcp__dpop_proof {
    unsigned char id[MCP__SHA256]; /* a digest of its key and its `jti` */
    int64_t issued;                /* its `iat` */
} mcp__dpop_proof;

/* Checks the proof of a request. `proofs` are the values of its DPoP headers, of which there must
 * be exactly one. The token must be bound to the key of the proof. *proof is written on success. */
mcp__refused mcp__dpop_check(const mcp__crypto *crypto, const mcp__dpop_request *request,
                             const mcp_str *proofs, size_t n_proofs, const mcp_allocator *allocator,
                             mcp__dpop_proof *proof);

/* The scheme of an Authorization header. */
typedef enum mcp__auth_scheme {
    MCP__SCHEME_BEARER,
    MCP__SCHEME_DPOP,
} mcp__auth_scheme;

/* Splits the value of an Authorization header. Returns MCP__REFUSED_NO_TOKEN for an empty value or
 * another scheme, and MCP__REFUSED_SCHEME for a value that RFC 6750 section 2.1 does not allow. */
mcp__refused mcp__auth_header(mcp_str value, mcp__auth_scheme *scheme, mcp_str *token);
/* The two steps of it: the scheme, and whether the rest can be a token. A token that is known from an
 * earlier request need not be checked again. */
mcp__refused mcp__auth_split(mcp_str value, mcp__auth_scheme *scheme, mcp_str *token);
bool mcp__auth_is_token(mcp_str text);

/* Checks that a token was sent with the right scheme: DPoP if it is bound to a key, else Bearer. */
mcp__refused mcp__auth_check_scheme(mcp__auth_scheme scheme, const mcp__claims *claims);

/* ---- url.c ----------------------------------------------------------------------------------- */

/* Compares two http or https URLs without query and fragment, after the
 * normalization of RFC 3986 sections 6.2.2 and 6.2.3. Writes the result to *same. Returns MCP_OK,
 * MCP_EPARSE (one of them is not such a URL, or has user information) or MCP_ENOMEM. */
int mcp__dpop_same_url(mcp_str a, mcp_str b, const mcp_allocator *allocator, bool *same);

/* ---- nonce.c --------------------------------------------------------------------------------- */

/* Writes a NUL-terminated nonce. Returns false if libcrypto failed. */
bool mcp__nonce_make(const mcp__crypto *crypto, const unsigned char key[MCP__SHA256], int64_t now,
                     char to[MCP__NONCE_BYTES]);
/* Returns whether the nonce was made with one of the keys in the last MCP__DPOP_WINDOW seconds. */
bool mcp__nonce_check(const mcp__crypto *crypto, const unsigned char (*keys)[MCP__SHA256],
                      size_t n_keys, mcp_str nonce, int64_t now);

#endif
