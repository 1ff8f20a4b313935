/* mcp/identity.h: the identity of a caller, which a transport determines when it authenticates the
 * caller.
 *
 * An identity is immutable and has a reference count, so that all requests with the same token can
 * share it. It may be used on any thread.
 *
 * State that the library keeps for a caller (sessions, tasks, sealed state, cursors, subscriptions)
 * is bound to the principal, not to the identity. A client that renews its token therefore keeps
 * this state. Scopes and claims are always those of the token with which the current request was
 * sent.
 */
#ifndef MCP_IDENTITY_H
#define MCP_IDENTITY_H

#include <mcp/base.h>
#include <mcp/json.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mcp_identity mcp_identity;

/* All strings are copied. */
typedef struct mcp_identity_options {
    size_t size;
    /* The name of the caller, at most 1,023 bytes; required. Requests with the same principal are
     * treated as sent by the same caller, so a program with several sources of identities must make
     * sure that their principals differ. */
    const char *principal;
    /* The scopes that were granted, separated by spaces, at most 16 KiB. Each scope consists of
     * printable ASCII characters other than quotation marks and backslashes (RFC 6749 section 3.3).
     * NULL means none. */
    const char *scopes;
    /* JSON text of an object, at most 64 KiB, for example the claims of a token. NULL means
     * none. */
    const char *claims;
    const char *issuer; /* the issuer of the token, at most 1,023 bytes; NULL if there is none */
    /* An identifier of the token for mcp_listener_end_token(), at most 1,023 bytes. It should not be
     * the token itself. NULL if there is none. */
    const char *token;
    /* The time at which the identity expires, in milliseconds since 1970. 0 means that it does not
     * expire. Add the tolerance for differences between clocks, because the library adds none. */
    int64_t expires_ms;
    const mcp_allocator *allocator; /* may be called on any thread that uses the identity */
} mcp_identity_options;

/* Makes an identity, to be released with mcp_identity_unref(). Returns MCP_OK, MCP_EINVAL (no
 * principal, or a scope with a character that is not allowed), MCP_ELIMIT (too long), MCP_EPARSE or
 * MCP_EPROTOCOL (the claims are not a JSON object) or MCP_ENOMEM. */
MCP_API int mcp_identity_new(const mcp_identity_options *options, mcp_identity **ret,
                             mcp_error *error);
/* Adds a reference, and returns the identity. NULL is allowed. */
MCP_API mcp_identity *mcp_identity_ref(mcp_identity *identity);
/* Releases a reference. The last one frees the identity. NULL is allowed. */
MCP_API void mcp_identity_unref(mcp_identity *identity);

/* These functions return a member of the options. They return NULL or 0 if the member was not set,
 * or if `identity` is NULL, which means an anonymous caller. The results are valid as long as the
 * identity exists. */
MCP_API const char *mcp_identity_principal(const mcp_identity *identity);
MCP_API const char *mcp_identity_scopes(const mcp_identity *identity);
MCP_API const mcp_json *mcp_identity_claims(const mcp_identity *identity);
MCP_API const char *mcp_identity_issuer(const mcp_identity *identity);
MCP_API const char *mcp_identity_token(const mcp_identity *identity);
MCP_API int64_t mcp_identity_expires_ms(const mcp_identity *identity);

/* Returns whether all of these scopes, separated by spaces, were granted. Scopes are
 * case-sensitive. "offline_access" is ignored, because it concerns only the client and its
 * authorization server. */
MCP_API bool mcp_identity_has_scopes(const mcp_identity *identity, const char *scopes);

#ifdef __cplusplus
}
#endif
#endif
