/* jws.h: signatures in the compact form of JWS (RFC 7515): header "." payload "." signature.
 *
 * mcp__jws_read() parses the text and checks everything that needs no key. Then the caller chooses
 * the key, and mcp__jws_verify() checks the signature.
 */
#ifndef MCP_SRC_AUTH_JWS_H
#define MCP_SRC_AUTH_JWS_H

#include "auth/jwk.h"

enum {
    MCP__JWS_DEPTH = 32,                         /* the deepest nesting in the header and claims */
    MCP__JWS_SIGNATURE = MCP__JWK_MOST_BITS / 8, /* the longest signature, in bytes */
};

typedef enum mcp__jws_fault {
    MCP__JWS_OK = 0,
    MCP__JWS_NO_MEMORY,
    MCP__JWS_FORM,      /* not three parts of canonical base64url */
    MCP__JWS_HEADER,    /* not a JSON object with unique names, or a member has the wrong type */
    MCP__JWS_CRITICAL,  /* "crit": no extension is supported */
    MCP__JWS_KEY,       /* "jku", "x5u", "x5c" or "jwk": the sender names the key */
    MCP__JWS_ALGORITHM, /* "alg" is missing or not in the table: "none", HS256, … */
} mcp__jws_fault;

typedef struct mcp__jws {
    mcp_str signing_input; /* the part of the text that is signed; borrowed */
    mcp_json_doc *header;
    const mcp__jws_alg *alg;
    mcp_str kid;         /* empty if there is none */
    mcp_str typ;         /* empty if there is none */
    const mcp_json *jwk; /* the key in the header, if the caller allowed one; else NULL */
    mcp__buf payload;    /* the decoded payload */
    unsigned char signature[MCP__JWS_SIGNATURE];
    size_t signature_len;
} mcp__jws;

/* Reads `text`, which must outlive *jws. If `embedded` is set, the header may contain "jwk".
 * Whatever the result is, free *jws with mcp__jws_clear(). */
mcp__jws_fault mcp__jws_read(mcp__jws *jws, mcp_str text, bool embedded,
                             const mcp_allocator *allocator);
void mcp__jws_clear(mcp__jws *jws);

/* Parses the payload as a JSON object with unique member names. Returns MCP_OK, MCP_EPARSE or
 * MCP_ENOMEM. */
int mcp__jws_claims(const mcp__jws *jws, mcp_json_doc **ret);

/* Returns whether the key allows the algorithm and made the signature. */
bool mcp__jws_verify(const mcp__jws *jws, const mcp__jwk *key);

/* Returns whether `typ`, from a header, means `type`. `type` is in lower case and without
 * "application/"; `typ` may have that prefix and capitals (RFC 7515 section 4.1.9). */
bool mcp__jws_is_type(mcp_str typ, mcp_str type);

/* Appends a JWS. `header` contains the members of the header except "alg", as JSON text without
 * braces, for example "\"typ\":\"dpop+jwt\""; it may be empty. The algorithm is that of the key, or
 * RS256 for an RSA key without "alg". Returns MCP_OK, MCP_EINVAL (not a signing key), MCP_EIO,
 * MCP_ELIMIT or MCP_ENOMEM. */
int mcp__jws_sign(const mcp__jwk *key, mcp_str header, mcp_str payload, mcp__buf *to);

#endif
