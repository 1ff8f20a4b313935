/* mcp/identity.h: who sent a request: what a transport found out when it authenticated the caller.
 *
 * An identity never changes and is counted by reference, so that all requests that are sent with
 * one token share it. It may be used on any thread.
 *
 * State that the library remembers for a caller (sessions, tasks, sealed state, cursors,
 * subscriptions) is bound to the principal, not to the identity: a client that renews its token
 * keeps its state. Scopes and claims are always those of the token with which the current request
 * was sent.
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
    /* The name of the caller, at most 1,023 bytes; required. Two callers with the same principal
     * are the same caller, so a program with several sources of identities must keep their
     * principals apart. */
    const char *principal;
    /* The scopes that were granted, separated by spaces, at most 16 KiB. Each consists of printable
     * ASCII characters without quotation marks and backslashes (RFC 6749, 3.3). NULL means none. */
    const char *scopes;
    /* JSON text of an object, at most 64 KiB, for example the claims of a token. NULL means none. */
    const char *claims;
    const char *issuer; /* who vouches for the caller, at most 1,023 bytes; NULL if nobody */
    /* A name of the token that does not reveal it, at most 1,023 bytes: for mcp_http_end_token().
     * NULL if there is none. */
    const char *token;
    /* The time from which on the identity is no longer valid, in milliseconds since 1970. 0 means
     * that it does not expire. It includes the difference between clocks that the program
     * tolerates. */
    int64_t expires_ms;
    const mcp_allocator *allocator; /* called on each thread that uses the identity */
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

/* These functions return a member of the options, or NULL or 0 if it is missing or if `identity`,
 * which means an anonymous caller, is NULL. The results live as long as the identity. */
MCP_API const char *mcp_identity_principal(const mcp_identity *identity);
MCP_API const char *mcp_identity_scopes(const mcp_identity *identity);
MCP_API const mcp_json *mcp_identity_claims(const mcp_identity *identity);
MCP_API const char *mcp_identity_issuer(const mcp_identity *identity);
MCP_API const char *mcp_identity_token(const mcp_identity *identity);
MCP_API int64_t mcp_identity_expires_ms(const mcp_identity *identity);

/* Returns whether all of these scopes, separated by spaces, were granted. Upper and lower case
 * differ. "offline_access", which only concerns the client and its authorization server, is
 * ignored. */
MCP_API bool mcp_identity_has_scopes(const mcp_identity *identity, const char *scopes);

#ifdef __cplusplus
}
#endif
#endif
