/* fault.h: why an OAuth client refused an answer, or cannot go on.
 *
 * The text of a fault says what happened. mcp__oauth_fail() appends what was found, where it was
 * found, and which option of the client accepts or mends it. Tokens, codes and secrets never get
 * into such a text.
 */
#ifndef MCP_SRC_AUTH_FAULT_H
#define MCP_SRC_AUTH_FAULT_H

#include "base/base.h"

/* The columns: the name after MCP__OAUTH_, the error code of the library, the error code of an
 * authorization server (empty if the fault is not such an error), the text, and how to mend it
 * (empty if no option does). */
#define MCP__OAUTH_FAULTS(X)                                                                       \
    X(OK, OK, "", "no fault", "")                                                                  \
    X(NO_MEMORY, ENOMEM, "", "out of memory", "")                                                  \
    X(CRYPTO, EIO, "", "libcrypto failed", "")                                                     \
    /* protected resource metadata (RFC 9728) */                                                   \
    X(RESOURCE_SIZE, ELIMIT, "", "the protected resource metadata is too long", "")                \
    X(RESOURCE_JSON, EPROTOCOL, "", "the protected resource metadata is not a JSON object", "")    \
    X(RESOURCE_FORM, EPROTOCOL, "",                                                                \
      "a member of the protected resource metadata is missing or malformed", "")                   \
    X(RESOURCE_OTHER, EACCESS, "", "the protected resource metadata is of another resource",       \
      "use the URL that it names as the server, if you trust it")                                  \
    X(RESOURCE_PLACE, EACCESS, "",                                                                 \
      "the protected resource metadata of this resource are not at its well-known URL", "")        \
    X(RESOURCE_SERVERS, EPROTOCOL, "",                                                             \
      "the protected resource metadata names no authorization server",                             \
      "the option issuer names one")                                                               \
    X(ISSUER_UNLISTED, EACCESS, "",                                                                \
      "the configured issuer is not an authorization server of this resource",                     \
      "change or omit the option issuer")                                                          \
    /* authorization server metadata (RFC 8414, OpenID Connect Discovery) */                       \
    X(ISSUER_URL, EPROTOCOL, "", "the issuer is not an https URL without query and fragment", "")  \
    X(METADATA_SIZE, ELIMIT, "", "the authorization server metadata is too long", "")              \
    X(METADATA_JSON, EPROTOCOL, "", "the authorization server metadata is not a JSON object", "")  \
    X(METADATA_FORM, EPROTOCOL, "",                                                                \
      "a member of the authorization server metadata is missing or malformed", "")                 \
    X(METADATA_ISSUER, EACCESS, "",                                                                \
      "the authorization server metadata is of another issuer (compared byte for byte)",           \
      "the option trusted-issuer accepts that issuer")                                             \
    X(METADATA_URL, EACCESS, "", "an endpoint of the authorization server is not an https URL",    \
      "")                                                                                          \
    X(METADATA_CODE, EUNSUPPORTED, "",                                                             \
      "the authorization server does not support the authorization code flow", "")                 \
    X(METADATA_PKCE, EACCESS, "",                                                                  \
      "the authorization server does not say that it supports PKCE "                               \
      "(code_challenge_methods_supported)",                                                        \
      "the option assume-pkce goes on nevertheless")                                               \
    X(METADATA_S256, EACCESS, "",                                                                  \
      "the authorization server does not support PKCE with the method S256", "")                   \
    X(METADATA_DEVICE, EUNSUPPORTED, "",                                                           \
      "the authorization server does not support the device flow", "")                             \
    X(METADATA_GRANT, EUNSUPPORTED, "", "the authorization server does not support the grant", "") \
    /* clients */                                                                                  \
    X(REGISTER_NONE, EACCESS, "",                                                                  \
      "the authorization server does not let clients register themselves",                         \
      "register a client there and set client-id")                                                 \
    X(REGISTER_FORM, EPROTOCOL, "", "the answer to the client registration is malformed",          \
      "register a client by hand and set client-id")                                               \
    X(REGISTER_REFUSED, EACCESS, "", "the authorization server refused the client registration",   \
      "register a client by hand and set client-id")                                               \
    X(METHOD_UNKNOWN, EUNSUPPORTED, "", "the method of client authentication is not supported",    \
      "")                                                                                          \
    X(METHOD_SECRET, EACCESS, "", "the method of client authentication needs a client secret",     \
      "set client-secret")                                                                         \
    X(METHOD_KEY, EACCESS, "", "the method of client authentication needs a private key",          \
      "set client-key")                                                                            \
    X(KEY, EINVAL, "", "the private key cannot be used", "")                                       \
    /* redirects */                                                                                \
    X(REDIRECT_FORM, EINVAL, "", "this is not the URL that the browser was sent back to", "")      \
    X(REDIRECT_ELSEWHERE, EINVAL, "", "the URL does not begin with the redirect URI", "")          \
    X(REDIRECT_TWICE, EACCESS, "", "the redirect has a parameter twice", "")                       \
    X(REDIRECT_NO_ISSUER, EACCESS, "",                                                             \
      "the redirect does not name its issuer, although the authorization server says that it "     \
      "does",                                                                                      \
      "")                                                                                          \
    X(REDIRECT_ISSUER, EACCESS, "",                                                                \
      "the redirect is from another issuer (compared byte for byte)", "")                          \
    X(REDIRECT_STATE, EACCESS, "", "the redirect does not belong to this login (state)", "")       \
    X(REDIRECT_NO_CODE, EPROTOCOL, "", "the redirect has neither a code nor an error", "")         \
    /* answers of token, registration, device and other endpoints */                               \
    X(ANSWER_SIZE, ELIMIT, "", "the answer of the authorization server is too long", "")           \
    X(ANSWER_STATUS, EREMOTE, "", "the authorization server answered with an error", "")           \
    X(ANSWER_JSON, EPROTOCOL, "", "the answer of the authorization server is not a JSON object",   \
      "")                                                                                          \
    X(ANSWER_FORM, EPROTOCOL, "",                                                                  \
      "a member of the answer of the authorization server is missing or malformed", "")            \
    X(TOKEN_TYPE, EUNSUPPORTED, "", "the authorization server issued a token of another type", "") \
    /* the stored record */                                                                        \
    X(RECORD_SIZE, ELIMIT, "", "the stored login is too long", "")                                 \
    X(RECORD_FORM, EPARSE, "", "the stored login is malformed", "log out and log in again")        \
    X(RECORD_VERSION, EUNSUPPORTED, "", "the stored login is of a newer version of this library",  \
      "")                                                                                          \
    /* errors of authorization servers: RFC 6749, 7009, 7591, 8628, 8707, 9449 */                  \
    X(INVALID_REQUEST, EREMOTE, "invalid_request", "the authorization server refused the request", \
      "")                                                                                          \
    X(INVALID_CLIENT, EACCESS, "invalid_client",                                                   \
      "the authorization server does not accept the client", "check client-id and client-secret")  \
    X(INVALID_GRANT, EACCESS, "invalid_grant",                                                     \
      "the authorization server does not accept the code, assertion or refresh token", "")         \
    X(UNAUTHORIZED_CLIENT, EACCESS, "unauthorized_client", "the client may not use this grant",    \
      "")                                                                                          \
    X(UNSUPPORTED_GRANT, EUNSUPPORTED, "unsupported_grant_type",                                   \
      "the authorization server does not support the grant", "")                                   \
    X(UNSUPPORTED_RESPONSE, EUNSUPPORTED, "unsupported_response_type",                             \
      "the authorization server does not support authorization codes", "")                         \
    X(INVALID_SCOPE, EACCESS, "invalid_scope",                                                     \
      "the authorization server does not accept the scopes", "the option scope sets them")         \
    X(INVALID_TARGET, EACCESS, "invalid_target",                                                   \
      "the authorization server does not accept the resource",                                     \
      "the option omit-resource leaves it out")                                                    \
    X(ACCESS_DENIED, EACCESS, "access_denied", "access was denied", "")                            \
    X(SERVER_ERROR, EREMOTE, "server_error", "the authorization server failed", "")                \
    X(UNAVAILABLE, EREMOTE, "temporarily_unavailable",                                             \
      "the authorization server is not available now", "")                                         \
    X(INTERACTION_REQUIRED, EACCESS, "interaction_required",                                       \
      "the authorization server wants a login by a person", "")                                    \
    X(LOGIN_REQUIRED, EACCESS, "login_required",                                                   \
      "the authorization server wants a login by a person", "")                                    \
    X(CONSENT_REQUIRED, EACCESS, "consent_required",                                               \
      "the authorization server wants the consent of a person", "")                                \
    X(PENDING, EACCESS, "authorization_pending", "the login has not been confirmed yet", "")       \
    X(SLOW_DOWN, EACCESS, "slow_down", "the authorization server was asked too often", "")         \
    X(EXPIRED, ETIMEOUT, "expired_token", "the code of the device flow has expired", "")           \
    X(USE_NONCE, EACCESS, "use_dpop_nonce",                                                        \
      "the authorization server wants its nonce in the DPoP proof", "")                            \
    X(INVALID_PROOF, EACCESS, "invalid_dpop_proof",                                                \
      "the authorization server does not accept the DPoP proof", "")                               \
    X(INVALID_REDIRECT, EACCESS, "invalid_redirect_uri",                                           \
      "the authorization server does not accept the redirect URI",                                 \
      "the option callback-url sets it")                                                           \
    X(INVALID_METADATA, EACCESS, "invalid_client_metadata",                                        \
      "the authorization server does not accept the description of the client", "")                \
    X(OTHER_ERROR, EREMOTE, "", "the authorization server answered with an error", "")

typedef enum mcp__oauth_fault {
#define MCP__OAUTH_ENUM(name, code, error, text, mend) MCP__OAUTH_##name,
    MCP__OAUTH_FAULTS(MCP__OAUTH_ENUM)
#undef MCP__OAUTH_ENUM
        MCP__OAUTH_FAULTS_COUNT,
} mcp__oauth_fault;

/* Returns the MCP_E* code of a fault, or MCP_OK. */
int mcp__oauth_fault_code(mcp__oauth_fault fault);
/* Return constant strings. */
const char *mcp__oauth_fault_text(mcp__oauth_fault fault);
const char *mcp__oauth_fault_mend(mcp__oauth_fault fault);
/* Returns the fault for the error code of an authorization server: MCP__OAUTH_OTHER_ERROR for an
 * unknown one. */
mcp__oauth_fault mcp__oauth_fault_find(mcp_str error);

/* Fills *error, which may be NULL, and returns `fault`. The text is "TEXT: WHAT (WHERE); MEND"
 * without the parts that are empty. `what` and `where` may come from a peer: they are cut, and
 * bytes that are not printable ASCII are replaced. */
mcp__oauth_fault mcp__oauth_fail(mcp_error *error, mcp__oauth_fault fault, mcp_str what,
                                 mcp_str where);
/* Does the same for something that has a name: the text has "NAME DETAIL" as what was found. */
mcp__oauth_fault mcp__oauth_fail_named(mcp_error *error, mcp__oauth_fault fault, mcp_str name,
                                       mcp_str detail, mcp_str where);
/* Fills *error with the error code of an authorization server and its description, and returns the
 * fault for that code. */
mcp__oauth_fault mcp__oauth_fail_error(mcp_error *error, mcp_str code, mcp_str description,
                                       mcp_str where);
/* Returns whether the fault is an error that an authorization server has answered with. */
static inline bool mcp__oauth_is_error(mcp__oauth_fault fault)
{
    return fault >= MCP__OAUTH_INVALID_REQUEST;
}
/* The fault of a buffer or a call that failed with the code `rc`: NO_MEMORY for MCP_ENOMEM, OK for
 * MCP_OK, else CRYPTO. */
mcp__oauth_fault mcp__oauth_failed(mcp_error *error, int rc);

#endif
