/* mcp/auth.h: an OAuth 2.1 resource server: finds out who sent an HTTP request by its access token
 * (2026-07-28, basic/authorization). Part of libmcp-io.
 *
 * Access tokens are only validated: they are never issued, stored or passed to other servers. A
 * token is a JWT (RFC 9068), which is checked with the keys of its issuer, or an opaque text, about
 * which the issuer is asked (token introspection, RFC 7662). It may be bound to a key of the client
 * (DPoP, RFC 9449). A program makes a resource server and passes it to its endpoints:
 *
 *     mcp_auth_host host = {.size = sizeof(host)};
 *     mcp_loop_auth_host(loop, &host);                      // mcp/io.h
 *     mcp_resource_server_new(
 *         MCP_OPTIONS(mcp_resource_server_options, .resource = "https://mcp.example.com/mcp",
 *                     .issuers = issuers, .n_issuers = 1, .host = &host),
 *         &auth, &error);
 *     http_options.resource_server = auth;                  // mcp_http_options
 *     …
 *     mcp_listener_close(listener);
 *     mcp_resource_server_free(auth);
 *     mcp_loop_drain(loop, ms);
 *
 * The identities (mcp/identity.h) have the issuer and the claims of the token, its scopes with those
 * that they imply, its expiry, and a name of the token for mcp_http_end_token(). The principal
 * consists of the issuer and a claim; see mcp_auth_principal(). Groups are compared with
 * mcp_resource_server_has_group(), scopes with mcp_identity_has_scopes().
 *
 * All calls must be made on the server's thread. Signatures are verified and documents are parsed on
 * worker threads of the host. mcp_resource_server_new() loads OpenSSL 3.
 */
#ifndef MCP_AUTH_H
#define MCP_AUTH_H

#include <mcp/base.h>
#include <mcp/fetch.h>
#include <mcp/identity.h>

#ifdef __cplusplus
extern "C" {
#endif

struct mcp_http_login; /* mcp/http.h */

typedef struct mcp_resource_server mcp_resource_server;

/* What a resource server needs from the program. mcp_loop_auth_host() (mcp/io.h) fills it in for a
 * loop. All functions get `user`. They are called on the server's thread. The functions that are
 * passed to `work` (as `done`) and to `fetch` must be called on that thread too, and only after
 * `work` or `fetch` has returned. */
typedef struct mcp_auth_host {
    size_t size;
    void *user;
    int64_t (*now)(void *user);  /* milliseconds of a monotonic clock; required */
    int64_t (*wall)(void *user); /* milliseconds since 1970; required */
    /* Fills bytes with cryptographic randomness. Returns MCP_OK or a negative code. Required. */
    int (*random)(void *bytes, size_t len, void *user);
    /* As in mcp_host (mcp/provider.h). If it is NULL, signatures are verified on the server's
     * thread. */
    int (*work)(void (*work)(void *arg), void (*done)(void *arg), void *arg, void *user);
    /* As mcp_loop_fetch() and mcp_fetch_cancel(). They may be NULL if the keys of all issuers are in
     * the options. */
    int (*fetch)(const mcp_fetch_options *options, mcp_fetch **ret, mcp_error *error, void *user);
    void (*fetch_cancel)(mcp_fetch *fetch, void *user);
    /* As in mcp_host. Lines contain nothing of a token or of its claims. May be NULL. */
    void (*log)(const char *level, const char *line, void *user);
} mcp_auth_host;

/* An authorization server whose tokens are accepted. All strings are copied. */
typedef struct mcp_auth_issuer {
    size_t size;
    /* The issuer as it stands in tokens and metadata, compared byte for byte: "https://id.example".
     * Required. http is allowed only for this machine, or if allow_private is set. */
    const char *issuer;
    /* A token must be for one of these audiences; at least one. It is often the URL of the resource
     * (RFC 8707), but a client or an application at some authorization servers. */
    const char *const *audiences;
    size_t n_audiences;

    /* Where the keys are: in a JWK set (RFC 7517) that is part of the configuration, as JSON text,
     * or at a URL. If both are NULL, the URL is found in the metadata of the issuer (RFC 8414, then
     * OpenID Connect Discovery), whose `issuer` must be the same byte for byte.
     *
     * Metadata and keys are fetched when a token first needs them, without redirects. They are kept
     * for 5 minutes to 24 hours, as Cache-Control says, and longer while the source is down. A token
     * that names an unknown key causes another fetch. Such fetches are limited to 4 at once and one
     * in 30 seconds on average; above this limit, tokens with unknown keys get 503, because the key
     * may be new. */
    const char *jwks, *jwks_url;

    /* The introspection endpoint (RFC 7662), and this server's credentials there, which are sent as
     * HTTP Basic. If it is set, the endpoint is asked about every token of this issuer, and about
     * tokens that do not name an issuer. At most one issuer may have it. */
    const char *introspection_url;
    const char *client_id, *client_secret;

    /* JWTs must be of the type at+jwt. If an authorization server uses another one, "JWT" for
     * example, token_type names it, and token_claim a claim that only its access tokens have, with
     * the text token_value; NULL means any value. Otherwise ID tokens would be accepted. A JWT
     * without a type counts as "JWT". */
    const char *token_type, *token_claim, *token_value;

    /* The principal within this issuer: text of printable ASCII with claims in braces, default
     * "{sub}". A claim is a member of the token that is a text. A name that begins with a slash is a
     * JSON pointer (RFC 6901): "{/resource_access/account/name}". Between two claims there must be
     * one of the characters / ; #. Tokens without one of the claims are refused. */
    const char *principal;
    /* The claim with the groups of the caller, an array of texts, named in the same way. NULL means
     * that the issuer has no groups. */
    const char *groups;

    /* The issuer may be on this machine or in a private network. An issuer whose URL names this
     * machine may be there anyway. */
    bool allow_private;
    const char *ca_file; /* PEM file of certificates that are trusted instead of the system's */
    const char *proxy;   /* as in mcp_fetch_options */
} mcp_auth_issuer;

/* A token with the scope `scope` also has the scopes `implies`, which are separated by spaces. */
typedef struct mcp_auth_scope {
    size_t size;
    const char *scope;
    const char *implies;
} mcp_auth_scope;

/* Whether access tokens are bound to a key of the client (RFC 9449). A bound token is never accepted
 * without a proof. */
typedef enum mcp_dpop_mode {
    MCP_DPOP_ALLOWED = 0,
    MCP_DPOP_REQUIRED, /* unbound tokens are refused */
    MCP_DPOP_OFF,      /* bound tokens are refused */
} mcp_dpop_mode;

enum { MCP_AUTH_KEY_BYTES = 32 };

/* All strings are copied. */
typedef struct mcp_resource_server_options {
    size_t size;
    /* The URL of the endpoint as clients use it, for example "https://mcp.example.com/mcp";
     * required. It stands in metadata and challenges; nothing in a request changes it. */
    const char *resource;
    const mcp_auth_issuer *issuers; /* 1 to 16 */
    size_t n_issuers;

    /* Scopes that every request needs, separated by spaces. Requests without them get 403. */
    const char *required_scopes;
    /* Scopes that the metadata lists. NULL means the required ones. "offline_access" is left out of
     * metadata and challenges. */
    const char *scopes_supported;
    const mcp_auth_scope *scopes; /* scopes that imply others, directly or over others */
    size_t n_scopes;
    const char *name, *documentation; /* of the resource, for people; may be NULL */

    mcp_dpop_mode dpop;
    /* Proofs need a nonce of this server (RFC 9449, 9). A nonce is a time that is authenticated with
     * nonce_key, MCP_AUTH_KEY_BYTES bytes that all instances of the server share; NULL means a
     * random key. A nonce of nonce_key_before, if it is set, is accepted too. */
    bool dpop_nonce;
    const unsigned char *nonce_key, *nonce_key_before;

    /* Limits. 0 means the default. */
    size_t max_token_bytes; /* memory for what is known of tokens; default 14 MiB */
    size_t max_proofs;      /* DPoP proofs that are remembered, 24 bytes each; default 65,536 */
    /* Memory for tokens that are being checked; default 32 MiB. Above it requests get 503. */
    size_t max_pending_bytes;
    size_t max_verifying;             /* signatures verified at a time; default 16 */
    size_t max_verifying_per_address; /* the same for one client address; default 4 */
    size_t max_introspecting;         /* questions to an introspection endpoint; default 32 */
    /* Wrong tokens and proofs of one client address: after `failures_burst` of them (default 60), only
     * `failures_per_minute` (default 60) are checked, and further ones get 429. Tokens that were
     * found good before are not affected. If both are 0, clients on this machine have no limit,
     * because they may be a proxy. UINT32_MAX as `failures_burst` means no limit. */
    uint32_t failures_burst, failures_per_minute;
    uint64_t fetch_ms; /* time-out of each fetch and each question to an endpoint; default 5,000 */

    const mcp_auth_host *host;      /* required; copied */
    const mcp_allocator *allocator; /* copied; also called on worker threads */
} mcp_resource_server_options;

/* Makes a resource server. Nothing is fetched before the first token arrives. Returns MCP_OK,
 * MCP_EINVAL (with a text for an administrator), MCP_EUNSUPPORTED (OpenSSL 3 is not installed) or
 * MCP_ENOMEM. */
MCP_API int mcp_resource_server_new(const mcp_resource_server_options *options,
                                    mcp_resource_server **ret, mcp_error *error);
/* Frees a resource server. Free the endpoints that use it first. Jobs that still run on worker
 * threads release the rest of the memory when they have ended, so the host must still run their
 * `done` functions afterwards (mcp_loop_drain()). NULL is allowed. */
MCP_API void mcp_resource_server_free(mcp_resource_server *server);

/* Answers a login, now or later. `server` is an mcp_resource_server. An endpoint calls this itself if
 * its option resource_server is set and `authenticate` is not. A program with other tokens of its own
 * sets both, and calls this for the logins that it does not answer.
 *
 * A request without a token, or with a bad one, gets 401; without a required scope 403; with a
 * malformed header Authorization 400; from an address with too many bad tokens 429. While the keys
 * or the introspection endpoint of the issuer are needed but cannot be reached, it gets 503 with
 * Retry-After (RFC 6750, 3; RFC 9449, 7). */
MCP_API void mcp_resource_server_authenticate(struct mcp_http_login *login, void *server);

/* Return the protected resource metadata (RFC 9728) and its URL, which stands in challenges. They
 * live as long as the server. */
MCP_API const char *mcp_resource_server_metadata(const mcp_resource_server *server);
MCP_API const char *mcp_resource_server_metadata_url(const mcp_resource_server *server);

/* Writes the principal of the caller that an issuer names `value`: the issuer, "#", and the value.
 * Bytes of the value that are not printable ASCII, and the characters % / ; #, are written as %XX,
 * so no two callers have the same principal. A text without "://" is never one, and a program should
 * give its own callers such names. For an issuer with several claims in its `principal`, `value` is
 * one of them, and the program adds the text between them itself.
 *
 * *ret_len gets the length without the NUL. Returns MCP_OK, MCP_EINVAL (the issuer or the value is
 * empty, or the issuer contains "#") or MCP_ELIMIT (more than `room` bytes with the NUL). */
MCP_API int mcp_auth_principal(const char *issuer, mcp_str value, char *to, size_t room,
                               size_t *ret_len);

/* Returns whether the caller is in a group of an issuer: MCP_OK if so, MCP_EACCESS if not, also if
 * the token is of another issuer, and MCP_ENOTFOUND if that is unknown, because the token has no
 * groups or they are not an array of texts. A rule that excludes a group must refuse a caller whose
 * groups are unknown. MCP_EINVAL: an argument other than `identity` is NULL. */
MCP_API int mcp_resource_server_has_group(const mcp_resource_server *server,
                                          const mcp_identity *identity, const char *issuer,
                                          const char *group);

/* Forgets all tokens that were checked, so that each is checked again. Call it after tokens were
 * withdrawn. */
MCP_API void mcp_resource_server_forget(mcp_resource_server *server);

/* Counters since the start, and sizes of the moment. Set `size` before the call. */
typedef struct mcp_resource_server_usage {
    size_t size;
    size_t tokens, token_bytes; /* what is known of tokens */
    size_t pending;             /* tokens that are being checked */
    uint64_t known;             /* requests with a token that was known */
    uint64_t verified;          /* signatures of tokens and of proofs that were verified */
    uint64_t introspected;      /* questions to introspection endpoints */
    uint64_t refused;        /* requests that got 400, 401 or 403, except those without a token */
    uint64_t throttled;      /* requests that got 429 */
    uint64_t unavailable;    /* requests that got 503 */
    uint64_t fetches;        /* of metadata and keys */
    uint64_t fetches_failed; /* of these, and of questions to introspection endpoints */
} mcp_resource_server_usage;

MCP_API void mcp_resource_server_get_usage(const mcp_resource_server *server,
                                           mcp_resource_server_usage *ret);

#ifdef __cplusplus
}
#endif
#endif
