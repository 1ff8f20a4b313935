/* mcp/auth.h: an OAuth 2.1 resource server, which authenticates HTTP requests by their access
 * tokens (2026-07-28, basic/authorization). Part of libmcp-io.
 *
 * Access tokens are only validated. They are never issued, stored or passed to other servers. A
 * token is either a JWT (RFC 9068), which is checked with the keys of its issuer, or an opaque
 * string, which is checked by a request to its issuer (token introspection, RFC 7662). A token may
 * be bound to a key of the client (DPoP, RFC 9449). A program makes a resource server and passes it
 * to its endpoints:
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
 * An identity (mcp/identity.h) has the issuer, the claims and the expiry of the token, its scopes
 * together with the scopes that they imply, and an identifier of the token for
 * mcp_listener_end_token(). The principal consists of the issuer and a claim; see mcp_auth_principal().
 * Check groups with mcp_resource_server_has_group(), and scopes with mcp_identity_has_scopes().
 *
 * All calls must be made on the server's thread. Signatures are verified and documents are parsed
 * on worker threads of the host. mcp_resource_server_new() loads OpenSSL 3.
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
struct mcp_host_timer; /* mcp/provider.h */

typedef struct mcp_resource_server mcp_resource_server;

/* The functions that a resource server, or a client (mcp/oauth.h), needs from the program. mcp_loop_auth_host() (mcp/io.h)
 * fills in this struct for a loop. All functions get `user`, and are called on the server's thread. The
 * `done` functions that are passed to `work` and to `fetch` must be called on that thread too,
 * and only after `work` or `fetch` has returned. */
typedef struct mcp_auth_host {
    size_t size;
    void *user;
    int64_t (*now)(void *user);  /* milliseconds of a monotonic clock; required */
    int64_t (*wall)(void *user); /* milliseconds since 1970; required */
    /* Fills bytes with cryptographic randomness. Returns MCP_OK or a negative code. Required. */
    int (*random)(void *bytes, size_t len, void *user);
    /* As in mcp_host (mcp/provider.h). If this is NULL, signatures are verified on the server's
     * thread. */
    int (*work)(void (*work)(void *arg), void (*done)(void *arg), void *arg, void *user);
    /* Like mcp_loop_fetch() and mcp_fetch_cancel(). These may be NULL if the options contain the
     * keys of all issuers. */
    int (*fetch)(const mcp_fetch_options *options, mcp_fetch **ret, mcp_error *error, void *user);
    void (*fetch_cancel)(mcp_fetch *fetch, void *user);
    /* As in mcp_host. No line contains any part of a token or of its claims. May be NULL. */
    void (*log)(const char *level, const char *line, void *user);
    /* As in mcp_host. Required by clients (mcp/oauth.h). Without them, a resource server answers
     * tokens with unknown keys at once; see mcp_auth_issuer.jwks. */
    struct mcp_host_timer *(*timer_start)(uint64_t ms, void (*fn)(void *arg), void *arg,
                                          void *user);
    void (*timer_stop)(struct mcp_host_timer *timer, void *user);
} mcp_auth_host;

/* An authorization server whose tokens are accepted. All strings are copied. */
typedef struct mcp_auth_issuer {
    size_t size;
    /* The issuer as in tokens and metadata, for example "https://id.example". It is compared byte
     * for byte. Required. http is allowed only for this machine, or if allow_private is set. */
    const char *issuer;
    /* A token must be for one of these audiences. At least one is required. The audience is often
     * the URL of the resource (RFC 8707); at some authorization servers it is a client or an
     * application. */
    const char *const *audiences;
    size_t n_audiences;

    /* The keys: a JWK set (RFC 7517) as JSON text, or the URL of one. If both are NULL, the URL is
     * taken from the metadata of the issuer (RFC 8414, then OpenID Connect Discovery), whose
     * `issuer` must be equal byte for byte.
     *
     * Metadata and keys are fetched when a token first needs them. Redirects are not followed. The
     * keys are cached for 5 minutes to 24 hours, according to Cache-Control, and longer while they
     * cannot be fetched. A token that names an unknown key causes another fetch. Such fetches are
     * limited to 4 in a row and one in 30 seconds on average. Above this limit, up to 64 requests
     * with unknown keys wait, if the next fetch is allowed within five seconds. Others get 503 with
     * Retry-After, because the key may be new. */
    const char *jwks, *jwks_url;

    /* The introspection endpoint (RFC 7662), and this server's credentials for it, which are sent
     * as HTTP Basic. If the URL is set, all tokens of this issuer are introspected, and so are
     * tokens that name no issuer. At most one issuer may have such an endpoint. */
    const char *introspection_url;
    const char *client_id, *client_secret;

    /* JWTs must be of the type at+jwt. If the authorization server uses another type, set
     * token_type to it, for example "JWT", and token_claim to a claim that only its access tokens
     * have; otherwise ID tokens would be accepted. token_value is the string that this claim must
     * be; NULL means any value. A JWT without a type counts as "JWT". */
    const char *token_type, *token_claim, *token_value;

    /* A template for the name of a caller within this issuer: printable ASCII, with the names of
     * claims in braces. The default is "{sub}". The claims must be strings. A name that begins with
     * a slash is a JSON pointer (RFC 6901), for example "{/resource_access/account/name}". Between
     * two claims there must be one of the characters / ; #. Tokens that lack a claim are
     * refused. */
    const char *principal;
    /* The claim with the groups of the caller, which is an array of strings. It is named in the
     * same way, without braces. NULL means that the issuer has no groups. */
    const char *groups;

    /* Allow an issuer on this machine or in a private network. This is not needed if the URL itself
     * names this machine. */
    bool allow_private;
    /* PEM file of certificates that are trusted instead of the system's. NULL means the file that the
     * environment variable SSL_CERT_FILE names, or else the system's. */
    const char *ca_file;
    const char *proxy; /* as in mcp_fetch_options */
} mcp_auth_issuer;

/* A token with the scope `scope` also has the scopes `implies`, which are separated by spaces. */
typedef struct mcp_auth_scope {
    size_t size;
    const char *scope;
    const char *implies;
} mcp_auth_scope;

/* Says whether access tokens may or must be bound to a key of the client (RFC 9449). A bound token
 * is never accepted without a proof. */
typedef enum mcp_dpop_mode {
    MCP_DPOP_ALLOWED = 0,
    MCP_DPOP_REQUIRED, /* unbound tokens are refused */
    MCP_DPOP_OFF,      /* bound tokens are refused */
} mcp_dpop_mode;

enum { MCP_AUTH_KEY_BYTES = 32 };

/* All strings are copied. */
typedef struct mcp_resource_server_options {
    size_t size;
    /* The URL of the endpoint as clients use it, for example "https://mcp.example.com/mcp".
     * Required. Metadata and challenges contain it, and no request can change it. */
    const char *resource;
    const mcp_auth_issuer *issuers; /* 1 to 16 */
    size_t n_issuers;

    /* The scopes that every request needs, separated by spaces. Requests that lack one get 403. */
    const char *required_scopes;
    /* The scopes that the metadata lists. NULL means required_scopes. "offline_access" is left out
     * of metadata and challenges. */
    const char *scopes_supported;
    const mcp_auth_scope *scopes; /* scopes that imply others; implications may be chained */
    size_t n_scopes;
    const char *name, *documentation; /* of the resource, for people; may be NULL */

    mcp_dpop_mode dpop;
    /* Proofs must contain a nonce of this server (RFC 9449 section 9). A nonce is a time that is
     * authenticated with nonce_key. All instances of the server must have the same key, of
     * MCP_AUTH_KEY_BYTES bytes; NULL means a random key. Nonces that were made with
     * nonce_key_before are accepted too, if it is set. */
    bool dpop_nonce;
    const unsigned char *nonce_key, *nonce_key_before;

    /* Limits. 0 means the default. */
    size_t max_token_bytes; /* size of the cache of checked tokens; default 11 MiB */
    size_t max_proofs;      /* number of used DPoP proofs that are recorded, 24 bytes each; default
                             * 65,536 */
    /* Memory for tokens that are being checked; default 32 MiB. Above this limit, requests get
     * 503. */
    size_t max_pending_bytes;
    size_t max_verifying;             /* signatures that are verified at once; default 16 */
    size_t max_verifying_per_address; /* the same for one client address; default 4 */
    size_t max_introspecting;         /* introspection requests in flight; default 32 */
    /* The limit for invalid tokens and proofs of one client address. After `failures_burst` of them
     * (default 60), only `failures_per_minute` (default 60) are checked, and further requests get
     * 429. Requests with tokens that are in the cache as valid are not affected, unless they need a
     * proof. If both are 0, clients on this machine have no limit, because they may be a proxy.
     * UINT32_MAX as `failures_burst` means no limit. */
    uint32_t failures_burst, failures_per_minute;
    uint64_t fetch_ms; /* time-out of each fetch and introspection request; default 5,000 */

    const mcp_auth_host *host;      /* required; copied */
    const mcp_allocator *allocator; /* copied; also called on worker threads */
} mcp_resource_server_options;

/* Makes a resource server. Nothing is fetched before the first token arrives. Returns MCP_OK,
 * MCP_EINVAL (*error has a text for an administrator), MCP_EUNSUPPORTED (OpenSSL 3 is not
 * installed) or MCP_ENOMEM. */
MCP_API int mcp_resource_server_new(const mcp_resource_server_options *options,
                                    mcp_resource_server **ret, mcp_error *error);
/* Frees a resource server. Free the endpoints that use it first. If jobs still run on worker
 * threads, the rest of the memory is freed when they have ended. The host must therefore still run
 * their `done` functions (mcp_loop_drain()). NULL is allowed. */
MCP_API void mcp_resource_server_free(mcp_resource_server *server);

/* A view of the server (mcp_http_options.has_view), which is a resource of its own: the endpoint serves
 * its metadata, and challenges there name them. Its issuers, keys and limits are those of the server.
 * All strings are copied. */
typedef struct mcp_auth_view {
    size_t size;
    const char *name; /* required */
    /* The URL of the view as clients use it. NULL means that of the server, a slash and the name. */
    const char *resource;
    /* A token must be for one of these audiences in this view, whatever those of its issuer are. NULL
     * means those of its issuer; and, if one of them is the resource of the server, that of the view
     * beside them, because a client asks for a token for the resource that it knows (RFC 8707). */
    const char *const *audiences;
    size_t n_audiences;
} mcp_auth_view;

/* Sets the views, in place of those that were set before. A request in any other view is authenticated
 * as one without a view, and such a view has no metadata. Nothing that is remembered of a token for
 * one view, or for the server, counts for another, or for a view that was set again. Returns MCP_OK,
 * MCP_EINVAL (a wrong name, URL or audience, or a name twice) or MCP_ENOMEM; after an error
 * nothing has changed. */
MCP_API int mcp_resource_server_set_views(mcp_resource_server *server, const mcp_auth_view *views,
                                          size_t n, mcp_error *error);

/* Answers a login, now or later. `server` is an mcp_resource_server. An endpoint calls this itself
 * if its option resource_server is set and `authenticate` is not. A program that also accepts other
 * tokens sets both options, and calls this for the logins that it does not answer itself.
 *
 * A request without a valid token gets 401. If the token lacks a required scope, it gets 403. If
 * the header Authorization is malformed, it gets 400. If its address has sent too many invalid
 * tokens, it gets 429. If the keys or the introspection endpoint of the issuer are needed and
 * cannot be reached, it gets 503 with Retry-After (RFC 6750 section 3, RFC 9449 section 7).
 *
 * A proof must be for the URL that mcp_http_login_url() returns. If the endpoint has no public_url,
 * it must be for the URL of the resource. In a view that was set (mcp_resource_server_set_views()) it
 * must be for the resource of the view. */
MCP_API void mcp_resource_server_authenticate(struct mcp_http_login *login, void *server);

/* Writes the principal of the caller whose name at an issuer is `value`: the issuer, "#", and the
 * value. Bytes of the value that are not printable ASCII, and the characters % / ; #, are written
 * as %XX, so no two callers have the same principal. Every principal contains "://", so names
 * without it are free for a program's own callers. If `principal` of the issuer is not a single
 * claim, `value` is one of its claims, and the program itself adds the rest.
 *
 * *ret_len gets the length without the NUL. Returns MCP_OK, MCP_EINVAL (the issuer or the value is
 * empty, or the issuer contains "#") or MCP_ELIMIT (more than `room` bytes with the NUL). */
MCP_API int mcp_auth_principal(const char *issuer, mcp_str value, char *to, size_t room,
                               size_t *ret_len);

/* Checks whether the caller is in a group of an issuer. Returns MCP_OK if the caller is in the
 * group, and MCP_EACCESS if not, or if the token is of another issuer. Returns MCP_ENOTFOUND if
 * this is unknown, because the token has no groups or they are not an array of strings; a rule that
 * excludes a group must refuse such a caller. Returns MCP_EINVAL if an argument other than
 * `identity` is NULL. */
MCP_API int mcp_resource_server_has_group(const mcp_resource_server *server,
                                          const mcp_identity *identity, const char *issuer,
                                          const char *group);

/* Empties the cache of checked tokens, so that each token is checked again. Call this after tokens
 * were revoked. Results of checks that are still running are not cached either. */
MCP_API void mcp_resource_server_forget(mcp_resource_server *server);

/* Counters since the start (uint64_t), and current sizes. Set `size` before the call. */
typedef struct mcp_resource_server_usage {
    size_t size;
    size_t tokens, token_bytes; /* number of tokens in the cache, and their bytes */
    size_t pending;             /* tokens that are being checked */
    uint64_t known;             /* requests whose token was in the cache */
    uint64_t verified;          /* verifications of signatures, of tokens and proofs */
    uint64_t introspected;      /* introspection requests */
    uint64_t refused;        /* requests that got 400, 401 or 403, except those without a token */
    uint64_t throttled;      /* requests that got 429 */
    uint64_t unavailable;    /* requests that got 503 */
    uint64_t fetches;        /* fetches of metadata and keys */
    uint64_t fetches_failed; /* those that failed, and introspection requests that failed */
} mcp_resource_server_usage;

/* Writes the current counters and sizes to *ret. */
MCP_API void mcp_resource_server_get_usage(const mcp_resource_server *server,
                                           mcp_resource_server_usage *ret);

#ifdef __cplusplus
}
#endif
#endif
