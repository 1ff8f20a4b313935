/* refusal.h: why a token, a proof or an answer of an authorization server was refused.
 *
 * The texts are constant, so no part of a token gets into an answer or a log. */
#ifndef MCP_SRC_AUTH_REFUSAL_H
#define MCP_SRC_AUTH_REFUSAL_H

#include "base/base.h"

/* The columns: the name after MCP__REFUSED_, the error code of RFC 6750 section 3.1 or RFC 9449
 * section 7.1 (empty if none fits), and the text. */
#define MCP__REFUSALS(X)                                                                           \
    X(NONE, "", "not refused")                                                                     \
    X(NO_MEMORY, "", "out of memory")                                                              \
    X(SIZE, "invalid_token", "the access token is longer than 8192 bytes")                         \
    X(FORM, "invalid_token", "the access token is not a JWS in compact form")                      \
    X(HEADER, "invalid_token", "the header of the access token is not a valid JSON object")        \
    X(CRITICAL, "invalid_token", "the header of the access token has critical extensions")         \
    X(FOREIGN_KEY, "invalid_token", "the header of the access token names a key of its own")       \
    X(ALGORITHM, "invalid_token", "the access token is signed with an unsupported algorithm")      \
    X(TYPE, "invalid_token", "the JWT is not of a type that is accepted as an access token")       \
    X(MARK, "invalid_token", "the JWT lacks the claim that marks access tokens of its issuer")     \
    X(KEY, "invalid_token", "the access token is signed with a key that its issuer does not have") \
    X(SIGNATURE, "invalid_token", "the signature of the access token is wrong")                    \
    X(CLAIMS, "invalid_token", "the claims of the access token are not a valid JSON object")       \
    X(ISSUER, "invalid_token", "the access token was not issued by a trusted issuer")              \
    X(AUDIENCE, "invalid_token", "the access token is for another audience")                       \
    X(NO_EXPIRY, "invalid_token", "the access token has no valid expiry")                          \
    X(EXPIRED, "invalid_token", "the access token has expired")                                    \
    X(NOT_YET, "invalid_token", "the access token is not valid yet")                               \
    X(ISSUED, "invalid_token", "the access token was issued in the future")                        \
    X(SCOPES, "invalid_token", "the scopes of the access token are malformed")                     \
    X(BINDING, "invalid_token", "the access token is bound in a way that is not supported")        \
    X(INACTIVE, "invalid_token", "the access token is not active")                                 \
    X(BOUND, "invalid_token", "the access token is bound to a key: it needs the DPoP scheme")      \
    X(UNBOUND, "invalid_token",                                                                    \
      "the access token is not bound to a key: it needs the Bearer "                               \
      "scheme")                                                                                    \
    X(OTHER_KEY, "invalid_token", "the access token is bound to another key than the DPoP proof")  \
    X(PROOF_COUNT, "invalid_dpop_proof", "the request must have exactly one DPoP proof")           \
    X(PROOF_SIZE, "invalid_dpop_proof", "the DPoP proof is longer than 8192 bytes")                \
    X(PROOF_FORM, "invalid_dpop_proof", "the DPoP proof is not a well-formed JWT")                 \
    X(PROOF_TYPE, "invalid_dpop_proof", "the type of the DPoP proof is not dpop+jwt")              \
    X(PROOF_ALGORITHM, "invalid_dpop_proof", "the algorithm of the DPoP proof is not supported")   \
    X(PROOF_KEY, "invalid_dpop_proof", "the key in the DPoP proof is not a valid public key")      \
    X(PROOF_SIGNATURE, "invalid_dpop_proof", "the signature of the DPoP proof is wrong")           \
    X(PROOF_CLAIMS, "invalid_dpop_proof", "the DPoP proof lacks a valid jti, htm, htu or iat")     \
    X(PROOF_METHOD, "invalid_dpop_proof", "the DPoP proof is for another method")                  \
    X(PROOF_URL, "invalid_dpop_proof", "the DPoP proof is for another URL")                        \
    X(PROOF_TIME, "invalid_dpop_proof", "the DPoP proof is too old or was made in the future")     \
    X(PROOF_TOKEN, "invalid_dpop_proof", "the DPoP proof is for another access token")             \
    X(PROOF_REPLAY, "invalid_dpop_proof", "the DPoP proof was used before")                        \
    X(NONCE, "use_dpop_nonce", "the DPoP proof must contain the nonce of this response")           \
    X(SCOPE, "insufficient_scope", "the access token lacks a scope")                               \
    X(NO_TOKEN, "", "the request has no access token")                                             \
    X(SCHEME, "invalid_request", "the Authorization header is malformed")                          \
    X(AWAY, "", "the authorization server cannot be asked about the access token now")             \
    X(PRINCIPAL, "invalid_token", "the access token does not say who its principal is")            \
    X(NOT_BOUND, "invalid_token", "access tokens must be bound to a key (DPoP)")                   \
    X(THROTTLED, "", "too many wrong access tokens came from this address")                        \
    X(BUSY, "", "too many access tokens are being checked")

typedef enum mcp__refused {
#define MCP__REFUSAL_ENUM(name, code, text) MCP__REFUSED_##name,
    MCP__REFUSALS(MCP__REFUSAL_ENUM)
#undef MCP__REFUSAL_ENUM
        MCP__REFUSALS_COUNT,
    MCP__ACCEPTED = MCP__REFUSED_NONE,
} mcp__refused;

/* Return constant strings. */
const char *mcp__refusal_code(mcp__refused why);
const char *mcp__refusal_name(mcp__refused why); /* for logs: "EXPIRED" */
const char *mcp__refusal_text(mcp__refused why);
/* Returns the status of the HTTP answer: 400, 401, 403, 429, 500 or 503; 200 if nothing was refused. */
int mcp__refusal_status(mcp__refused why);

#endif
