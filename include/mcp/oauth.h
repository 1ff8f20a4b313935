/* mcp/oauth.h: an OAuth 2.1 client, which gets access tokens for one MCP server over HTTP
 * (2026-07-28, basic/authorization). Part of libmcp-io.
 *
 * A program makes one object for each server (and account), and passes it to the transport:
 *
 *     mcp_auth_host host = {.size = sizeof(host)};
 *     mcp_loop_auth_host(loop, &host);                          // mcp/io.h
 *     mcp_oauth_client_new(MCP_OPTIONS(mcp_oauth_client_options, .server = url, .host = &host,
 *                                      .client_name = "Hello",
 *                                      .redirect_uri = "http://127.0.0.1:8123/callback",
 *                                      .visit = open_browser, .store = &store),
 *                          &oauth, &error);
 *     http_options.oauth = oauth;                               // mcp_http_client_options
 *     …
 *     mcp_http_client_close(http);
 *     mcp_oauth_client_free(oauth);
 *
 * The object adds the access token to the requests of the transport. When the server answers 401 or
 * 403, it finds the authorization server, registers, gets, renews or extends the token, and then the
 * transport sends the request again. All requests of all transports that use the object wait for the
 * same authorization. The rules of 2026-07-28 apply to servers of every revision, because the
 * revision is unknown before the first token; see legacy_endpoints for the exception.
 *
 * Whatever the object remembers belongs to one server, one issuer and one client id. A token is sent
 * to its server alone. A client secret or refresh token is sent to the token endpoint with which it
 * was first used, and to the endpoints for revocation and devices only if these have the same origin.
 * For client_secret, and for the JWT of MCP_OAUTH_ASSERTION, the option `issuer` says which
 * authorization server gets them. Without it, the record remembers the first one, even after a
 * logout, and another one fails with MCP_ESTATE. Identifiers and URLs are never normalized. Requests
 * for metadata follow redirects within their origin, others follow none. They are sent to https URLs, or to http URLs of this machine if the server is
 * on this machine too.
 *
 * All calls must be made on the thread of the host, and all functions of the program are called on
 * it. Errors never contain secrets. OpenSSL 3 is loaded by mcp_oauth_client_new().
 */
#ifndef MCP_OAUTH_H
#define MCP_OAUTH_H

#include <mcp/auth.h>
#include <mcp/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mcp_oauth_client mcp_oauth_client;

/* How the client is authorized. */
typedef enum mcp_oauth_grant {
    /* A person allows access in a browser: authorization code with PKCE. */
    MCP_OAUTH_CODE = 0,
    /* A person allows access in a browser on any machine (RFC 8628). */
    MCP_OAUTH_DEVICE,
    /* The client itself is allowed access (io.modelcontextprotocol/oauth-client-credentials). Needs
     * client_id, and client_secret or client_key. */
    MCP_OAUTH_CLIENT_CREDENTIALS,
    /* The identity provider of an enterprise allows access
     * (io.modelcontextprotocol/enterprise-managed-authorization). `assertion` gives the ID token. */
    MCP_OAUTH_ENTERPRISE,
    /* The platform on which the client runs vouches for it (RFC 7523, section 2.1). `assertion` gives
     * the JWT of the platform. */
    MCP_OAUTH_ASSERTION,
} mcp_oauth_grant;

/* ---- functions of the program ---------------------------------------------------------------- */

/* What a person has to do in a browser. Borrowed until `visit` returns. */
typedef struct mcp_oauth_visit {
    size_t size; /* set by the library */
    /* The page to open: an https URL, or an http URL of this machine, in printable ASCII. Start the
     * browser without a shell. */
    const char *url;
    /* The URL to which the browser is sent at the end. NULL with MCP_OAUTH_DEVICE. */
    const char *redirect_uri;
    /* The code to be entered at `url`, and the page that has the code filled in already, which may be
     * NULL. Both are NULL without MCP_OAUTH_DEVICE. */
    const char *user_code, *complete_url;
    const char *issuer; /* the authorization server, for display */
    const char *scope;  /* the scopes that are requested, separated by spaces; "" if none */
    uint64_t valid_ms;  /* how long the answer is awaited */
} mcp_oauth_visit;

/* Where records are kept. A record is a JSON text, with secrets. `key` is the name of the record: the
 * URL of the server and, if there is an account, a space and the account. All functions are required
 * and get `user`. */
typedef struct mcp_oauth_store {
    size_t size;
    void *user;
    /* Locks the record against other processes. Returns MCP_OK, MCP_PENDING if
     * mcp_oauth_client_locked() will be called later, or a negative code. The lock is held while a
     * token is renewed, so that a refresh token is never used twice. It must not block. After
     * a negative code, from here or to mcp_oauth_client_locked(), the client does not call unlock():
     * the store has to end the attempt before. */
    int (*lock)(mcp_oauth_client *client, const char *key, void *user);
    /* Releases the lock, or ends an attempt to get it that is in progress. */
    void (*unlock)(mcp_oauth_client *client, const char *key, void *user);
    /* Calls give(arg, record) once if the record exists. Returns MCP_OK, MCP_ENOTFOUND or another
     * negative code. Also called without the lock. */
    int (*load)(const char *key, void (*give)(void *arg, mcp_str record), void *arg, void *user,
                mcp_error *error);
    /* Replaces the record, or removes it if record.ptr is NULL. Called only with the lock. */
    int (*save)(const char *key, mcp_str record, void *user, mcp_error *error);
} mcp_oauth_store;

/* A step of an authorization, for people. Borrowed until `trace` returns. Codes, tokens, secrets,
 * assertions and proofs are replaced by "***". */
typedef struct mcp_oauth_step {
    size_t size; /* set by the library */
    /* "resource metadata", "server metadata", "registration", "authorization", "redirect", "token",
     * "device", "exchange", "revocation", "store" or "challenge" */
    const char *what;
    const char *method, *url; /* of a request; NULL if there is none */
    int status;               /* of the answer; 0 if there is none */
    const char *text;         /* what was sent, received or decided; one line */
} mcp_oauth_step;

/* ---- options --------------------------------------------------------------------------------- */

/* All strings are copied. NULL or zero selects the default. */
typedef struct mcp_oauth_client_options {
    size_t size;
    const char *server;  /* the URL of the MCP endpoint, as the transport uses it; required */
    const char *account; /* distinguishes several logins at one server; default "" */
    mcp_oauth_grant grant;

    /* The client. Without client_id, the client is client_metadata_url if the authorization server
     * supports such clients, else the one that got the stored token (with its secret, which the record
     * keeps with the tokens if a person has logged in, for this token endpoint), else it registers itself
     * (RFC 7591), else the authorization fails with MCP_ENOTFOUND. */
    const char *client_name, *client_uri; /* shown to the person who is asked for permission */
    const char *client_id;                /* from a registration by hand */
    const char *client_secret;
    const char *client_key; /* a private key, as PEM (PKCS #8) or JWK, instead of a secret */
    const char *client_metadata_url; /* https URL of the client id metadata document */

    /* The issuer that client_id belongs to. If it is set, no other authorization server is used. Set it
     * with client_secret and with MCP_OAUTH_ASSERTION: otherwise the server chooses who gets the secret
     * or the JWT the first time. */
    const char *issuer;
    /* The scopes that are requested, separated by spaces, together with those that the server names in
     * its challenge. If neither names any, the scopes of its metadata are requested. */
    const char *scope;
    /* Where the browser is sent: an http URL of this machine, or https. Required for MCP_OAUTH_CODE if
     * `visit` is set. The program must receive requests there before `visit` returns. A client that has
     * registered itself with another one registers again (mcp_oauth_state.redirect_uri). */
    const char *redirect_uri;

    /* For MCP_OAUTH_ENTERPRISE: the token endpoint of the identity provider, and the client there. */
    const char *idp_token_endpoint, *idp_client_id, *idp_client_secret;
    /* Calls give(arg, jwt) once with the ID token or the JWT of the platform. Returns MCP_OK or a
     * negative code. Called each time that one is needed. */
    int (*assertion)(mcp_oauth_client *client, void (*give)(void *arg, mcp_str jwt), void *arg,
                     void *user, mcp_error *error);

    /* Binds tokens to a key (RFC 9449) if the authorization server supports it. A server whose
     * challenge has the scheme DPoP gets bound tokens in any case. */
    bool dpop;

    /* Deviations from the specification, which some servers need. The error of an authorization that
     * fails for lack of one names it. */
    bool omit_resource; /* do not send the parameter `resource` (RFC 8707) */
    bool assume_pkce; /* the authorization server supports PKCE, but its metadata does not say so */
    /* The server is of revision 2025-03-26: it is its own authorization server, and if it has no
     * metadata, its endpoints are /authorize, /token and /register. */
    bool legacy_endpoints;
    /* Allows an authorization server on this machine or in a private network. This is not needed if
     * the URL of the server itself names this machine. */
    bool allow_private;
    /* An issuer that the metadata of the authorization server may name instead of the one that was
     * asked for, such as the same with a slash at its end. */
    const char *trusted_issuer;

    /* PEM file of certificates that are trusted instead of the system's. NULL means the file that the
     * environment variable SSL_CERT_FILE names, or else the system's. */
    const char *ca_file;
    const char *proxy; /* as in mcp_fetch_options */
    uint64_t fetch_ms; /* time-out of each request; default 10,000 */
    uint64_t visit_ms; /* how long a person may take; default 600,000 */

    /* Asks a person to open a page. Returns MCP_OK if mcp_oauth_client_redirected() or
     * mcp_oauth_client_declined() will be called, with MCP_OAUTH_DEVICE only the latter. A negative
     * code ends the authorization. NULL means that there is no person: an authorization that needs
     * one fails with MCP_EACCESS. */
    int (*visit)(mcp_oauth_client *client, const mcp_oauth_visit *visit, void *user);
    /* The answer is no longer awaited. May be NULL. */
    void (*visit_end)(mcp_oauth_client *client, void *user);
    /* Reports each step of an authorization. May be NULL. */
    void (*trace)(mcp_oauth_client *client, const mcp_oauth_step *step, void *user);
    void *user;

    const mcp_oauth_store *store; /* copied; NULL keeps the record in memory */
    const mcp_auth_host *host;    /* copied; required, with `fetch` and timers */
    const mcp_allocator *allocator;

    /* Asks whether a person may be asked now, before the client registers itself for a login. Only
     * `issuer` and `scope` of *visit are set. A negative code ends the authorization, as if there were
     * no person. NULL means that a person may be asked whenever it is necessary. */
    int (*may_visit)(mcp_oauth_client *client, const mcp_oauth_visit *visit, void *user);
} mcp_oauth_client_options;

/* Makes a client. Nothing is sent or loaded before it is used. Returns MCP_OK, MCP_EINVAL (*error has
 * a text for the user), MCP_EUNSUPPORTED (OpenSSL 3 is not installed) or MCP_ENOMEM. */
MCP_API int mcp_oauth_client_new(const mcp_oauth_client_options *options, mcp_oauth_client **ret,
                                 mcp_error *error);
/* Frees a client. An authorization in progress ends without a call of `done`. Close the transports
 * that use the client first. Must not be called from a function of the program that the client has
 * called. NULL is allowed. */
MCP_API void mcp_oauth_client_free(mcp_oauth_client *client);

/* ---- authorizations -------------------------------------------------------------------------- */

/* rc is MCP_OK, or a negative code with *error set: MCP_EACCESS (declined, or no person can be
 * asked), MCP_ENOTFOUND (a client id must be configured), MCP_EPROTOCOL (an answer breaks a rule),
 * MCP_EREMOTE (the authorization server refused), MCP_ECLOSED and others of mcp_fetch_fn,
 * MCP_ETIMEOUT, MCP_ECANCELLED, MCP_ESTATE (another store or issuer), MCP_EIO or MCP_ENOMEM. */
typedef void mcp_oauth_done_fn(mcp_oauth_client *client, int rc, const mcp_error *error,
                               void *user);

/* Begins an authorization without waiting for a 401 of the transport, even if there is a token
 * already. If an authorization for more scopes (403) failed before, their scopes are requested too.
 * If one is in progress, this one ends with it. `done` is called once, not from within this
 * call. Returns MCP_OK, MCP_EINVAL or MCP_ENOMEM. */
MCP_API int mcp_oauth_client_login(mcp_oauth_client *client, mcp_oauth_done_fn *done, void *user);
/* Revokes the tokens, if the authorization server supports it (RFC 7009), and removes the record, with
 * the client that has registered itself, apart from where client_secret was sent. An
 * authorization in progress ends with MCP_ECANCELLED. `done` is called once, not from within this
 * call. If the tokens could not be revoked, the record is removed nevertheless, and rc says why.
 * Returns MCP_OK, MCP_EINVAL or MCP_ENOMEM. */
MCP_API int mcp_oauth_client_logout(mcp_oauth_client *client, mcp_oauth_done_fn *done, void *user);

/* Continues after `visit`, with the URL to which the browser was sent. May be called from within
 * `visit`. Returns MCP_OK (the result is reported later), MCP_ESTATE (no visit is in progress) or
 * MCP_EPARSE (this is not the answer to this visit; the visit continues). */
MCP_API int mcp_oauth_client_redirected(mcp_oauth_client *client, mcp_str url, mcp_error *error);
/* Ends a visit without an answer. rc is a negative code, for example MCP_EACCESS; text says why, and
 * may be NULL. */
MCP_API void mcp_oauth_client_declined(mcp_oauth_client *client, int rc, const char *text);
/* Continues after mcp_oauth_store.lock returned MCP_PENDING. rc is MCP_OK, or a negative code if the
 * lock could not be got: then the client does not call mcp_oauth_store.unlock. */
MCP_API void mcp_oauth_client_locked(mcp_oauth_client *client, int rc);

/* What is known. Strings are borrowed until the client is used again or the loop runs; they are ""
 * if there is nothing. No token is among them. Set `size` before the call. */
typedef struct mcp_oauth_state {
    size_t size;
    const char *issuer, *client_id, *resource; /* the first two also if there is only a client that
                                                * has registered itself */
    const char *scope;                         /* granted, separated by spaces */
    int64_t expires;     /* milliseconds since 1970; 0 if unknown or if there is no token */
    const char *why;     /* why the last authorization failed; "" if it did not */
    int failed;          /* its code, or MCP_OK */
    uint8_t has_token;   /* there is an access token, which may have expired; 0 or 1 */
    uint8_t can_refresh; /* the token can be renewed without a person */
    uint8_t is_bound;    /* the token is bound to a key (DPoP) */
    uint8_t in_progress; /* an authorization is in progress */
    /* The redirect URI with which the client has registered itself, or else that of the login. A login
     * with another one registers the client again, or is refused, so a program that listens on any port
     * uses this one if it is free. */
    const char *redirect_uri;
} mcp_oauth_state;

/* Loads the record if that was not done before. Returns MCP_OK, MCP_EINVAL, or the code with which
 * loading failed. */
MCP_API int mcp_oauth_client_get_state(mcp_oauth_client *client, mcp_oauth_state *ret,
                                       mcp_error *error);

#ifdef __cplusplus
}
#endif
#endif
