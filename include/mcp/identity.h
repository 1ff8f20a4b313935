/* mcp/identity.h: the identity of a caller, which a transport determines when it authenticates the
 * caller.
 *
 * An identity is immutable and has a reference count, so that all requests with the same token can
 * share it. It may be used on any thread.
 *
 * State that the library keeps for a caller (sessions, tasks, sealed state, cursors, subscriptions)
 * is bound to the principal and the view, not to the identity. A client that renews its token
 * therefore keeps this state, and nothing of it is found from another view. Scopes and claims are
 * always those of the token with which the current request was sent.
 *
 * A view is a part of a server under a name of its own, such as a path (mcp_http_options.has_view).
 * The library only carries its name; the access rules of the program decide what the view has
 * (mcp/access.h).
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
    /* The name of the caller, at most 1,023 bytes; required, unless there is a view. Requests with
     * the same principal are treated as sent by the same caller, so a program with several sources
     * of identities must make sure that their principals differ. It does not begin with U+0001 U+0002. */
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
    /* The view in which the caller is: at most 64 characters of A-Z, a-z, 0-9, ".", "_", "-", of
     * which the first is a letter or a digit. NULL means none. The identity of an anonymous caller
     * in a view has no principal. */
    const char *view;
} mcp_identity_options;

/* Makes an identity, to be released with mcp_identity_unref(). Returns MCP_OK, MCP_EINVAL (no
 * principal, or a scope, a view or a principal with a character that is not allowed), MCP_ELIMIT
 * (too long), MCP_EPARSE or MCP_EPROTOCOL (the claims are not a JSON object) or MCP_ENOMEM. */
MCP_API int mcp_identity_new(const mcp_identity_options *options, mcp_identity **ret,
                             mcp_error *error);
/* Adds a reference, and returns the identity. NULL is allowed. */
MCP_API mcp_identity *mcp_identity_ref(mcp_identity *identity);
/* Releases a reference. The last one frees the identity. NULL is allowed. */
MCP_API void mcp_identity_unref(mcp_identity *identity);

/* These functions return a member of the options. They return NULL or 0 if the member was not set,
 * or if `identity` is NULL, which means an anonymous caller in no view. The results are valid as
 * long as the identity exists. */
MCP_API const char *mcp_identity_principal(const mcp_identity *identity);
MCP_API const char *mcp_identity_scopes(const mcp_identity *identity);
MCP_API const mcp_json *mcp_identity_claims(const mcp_identity *identity);
MCP_API const char *mcp_identity_issuer(const mcp_identity *identity);
MCP_API const char *mcp_identity_token(const mcp_identity *identity);
MCP_API int64_t mcp_identity_expires_ms(const mcp_identity *identity);
MCP_API const char *mcp_identity_view(const mcp_identity *identity);

/* Returns the text to which everything is bound that is kept for the caller: the principal or, in a
 * view, a text that stands for the principal and the view and is no principal. Programs that keep
 * something for callers compare it. NULL means an anonymous caller in no view. */
MCP_API const char *mcp_identity_binding(const mcp_identity *identity);

/* Returns whether all of these scopes, separated by spaces, were granted. Scopes are
 * case-sensitive. "offline_access" is ignored, because it concerns only the client and its
 * authorization server. */
MCP_API bool mcp_identity_has_scopes(const mcp_identity *identity, const char *scopes);

#ifdef __cplusplus
}
#endif
#endif
