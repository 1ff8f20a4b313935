/* mcp/http.h: what a program says about its endpoints of Streamable HTTP: options, memory, who may
 * send requests, pages. Part of libmcp-io; mcp_loop_listen() (mcp/io.h) opens an endpoint.
 *
 * An endpoint belongs to one server on one loop, and has its own sessions, limits and counters. All
 * calls must be made on its thread.
 *
 * The endpoint also answers GET /healthz ("ok"), GET /readyz ("ready", or with status 503 "draining" or the word of
 * the option not_ready) and GET /metrics (Prometheus text), unless the options no_healthz, which is for the first two, and
 * no_metrics are set. Host, Origin and Authorization are not checked for /healthz and /readyz. For /metrics they are checked as for MCP requests. /metrics contains what
 * mcp_server_usage() reports to the requesting principal.
 */
#ifndef MCP_HTTP_H
#define MCP_HTTP_H

#include <mcp/base.h>
#include <mcp/identity.h>
#include <mcp/server.h>

#ifdef __cplusplus
extern "C" {
#endif

struct mcp_resource_server; /* mcp/auth.h */

typedef struct mcp_http mcp_http;

/* Stores the events of legacy streams for Last-Event-ID (2025-11-25, basic/transports,
 * "Resumability and Redelivery"). The default store keeps them in memory, up to replay_bytes per
 * session. */
typedef struct mcp_event_store {
    size_t size;
    void *user;
    /* Stores one event of a session's stream. `message` is empty for the priming event. `event`
     * increases by one within a stream. Returns MCP_OK, or a negative code, after which the event
     * cannot be replayed. */
    int (*append)(mcp_str session, uint64_t stream, uint64_t event, mcp_str message, void *user);
    /* Calls fn with each stored event of that stream after `event`, in order. Returns MCP_OK, or
     * MCP_ENOTFOUND if the stream is unknown or the event is too old. */
    int (*replay)(mcp_str session, uint64_t stream, uint64_t event,
                  int (*fn)(uint64_t event, mcp_str message, void *arg), void *arg, void *user);
    /* Called when a session has ended: discards its events. */
    void (*forget)(mcp_str session, void *user);
} mcp_event_store;

/* One request that was answered or rejected, for a log. Borrowed until the callback returns. */
typedef struct mcp_http_record {
    size_t size;           /* set by the library */
    const char *peer;      /* its address with the port */
    const char *principal; /* NULL if anonymous */
    mcp_str http_method;
    mcp_str path;
    int status;          /* HTTP status; 0 if the client disconnected before the answer */
    mcp_str method;      /* of the JSON-RPC request; empty if none */
    int code;            /* code of the JSON-RPC error; 0 if none */
    bool refused;        /* authentication refused the request, so its message was not read */
    int64_t duration_ms; /* from the last byte of the request to the last byte of the answer */
    uint64_t bytes_in, bytes_out;
    mcp_str traceparent; /* from _meta or the header; empty if none */
    /* The client's address without a port; empty if unknown. Behind a trusted proxy it differs from
     * the address of the peer. */
    const char *client;
    /* The target of the request: the name of a tool, prompt or task, or the URI of a resource;
     * empty if none. It holds at most the first 256 bytes as the client sent them, which may be any
     * bytes but NUL. */
    mcp_str name;
    /* `reason` is empty unless the endpoint refused the request. With `refused` it is what
     * mcp_http_login_refuse() said, if anything, otherwise the name of the refusal, such as BAD_HOST or
     * LONG_BODY. The other three are what mcp_http_login_refuse() said. `denied_key` may be any bytes
     * but NUL, because it is from the header of a token that was not verified. */
    mcp_str reason, denied_issuer, denied_key, denied_principal;
} mcp_http_record;

/* A limit for the memory that endpoints use on behalf of peers: incoming bodies, requests in
 * flight, answers that the peer has not read yet, stored events. Any number of endpoints of one
 * thread may share one budget. Each caller (a principal, or an address if anonymous) has a quota of
 * the budget.
 *
 * A budget that is nearly used up delays requests before it rejects them. When more than half of
 * the budget (or of a quota) is used, bodies of more than 16 KiB are not read; when more than three
 * quarters are used, requests wait. A request that waited for hold_ms, or whose answer does not
 * fit, gets 503 with Retry-After and a JSON-RPC error that names the limit. */
typedef struct mcp_http_budget mcp_http_budget;

typedef struct mcp_http_budget_options {
    size_t size;
    size_t max_memory; /* in bytes; default 512 MiB */
    size_t max_share;  /* quota of one caller, in bytes; default a quarter of max_memory */
    uint64_t hold_ms;  /* how long a request may wait; default 5,000 */
    /* Called when the memory in use has fallen from its peak by at least 32 MiB and by at least
     * half. A program can then call malloc_trim(). Must not call the endpoint. May be NULL. */
    void (*released)(size_t bytes, void *user);
    void *user;
    const mcp_allocator *allocator;
} mcp_http_budget_options;

/* Makes a budget. options may be NULL. Returns MCP_OK, MCP_ENOMEM or MCP_EINVAL (no ret). */
MCP_API int mcp_http_budget_new(const mcp_http_budget_options *options, mcp_http_budget **ret,
                                mcp_error *error);
/* Frees a budget. Free its endpoints first. NULL is allowed. */
MCP_API void mcp_http_budget_free(mcp_http_budget *budget);
/* Returns the number of bytes in use now. */
MCP_API size_t mcp_http_budget_used(const mcp_http_budget *budget);

/* ---- authentication ------------------------------------------------------------------------- */

/* A request whose sender has to be authenticated, which the endpoint passes to `authenticate` of
 * the options. The login is open until it is cancelled, or until the program calls
 * mcp_http_login_accept() or mcp_http_login_refuse(), within `authenticate` or later on the
 * server's thread. After that it must not be used.
 *
 * While the login is open, its connection handles nothing else and reads at most max_header_bytes
 * of the request's body. After login_ms the request is answered with 503. Each request is
 * authenticated, even if several are sent over one connection. */
typedef struct mcp_http_login mcp_http_login;

/* Return parts of the request. The strings are borrowed until the login is answered or cancelled.
 *
 * The URL consists of public_url of the options and the path of the request without its query. It
 * does not depend on any header, and is NULL if public_url is not set. The client is an address
 * without a port, or NULL if it is unknown; see mcp_http_record.client. mcp_http_login_header()
 * finds Authorization and the headers that the options list in login_headers. The case of names is
 * ignored. Returns false if there is no such header. If the header occurs more than once, *value is
 * a line feed, which no header can contain. */
MCP_API const char *mcp_http_login_method(const mcp_http_login *login);
MCP_API const char *mcp_http_login_url(const mcp_http_login *login);
MCP_API const char *mcp_http_login_client(const mcp_http_login *login);
MCP_API bool mcp_http_login_header(const mcp_http_login *login, const char *name, mcp_str *value);

/* Sets a function that is called if the connection is closed or login_ms passes before the login is
 * answered. It must not call the endpoint. NULL removes it. */
MCP_API void mcp_http_login_on_cancel(mcp_http_login *login,
                                      void (*fn)(mcp_http_login *login, void *user), void *user);
/* Sets the header DPoP-Nonce of the answer to this request, whether it is accepted or refused (RFC
 * 9449 section 8). Call this before answering the login. Returns MCP_OK, MCP_EINVAL (a nonce cannot
 * contain one of the characters) or MCP_ENOMEM. */
MCP_API int mcp_http_login_set_nonce(mcp_http_login *login, const char *nonce);

/* Accepts the request as sent by this identity, to which the endpoint adds a reference. NULL means
 * an anonymous client. A request of an identity that has expired is refused with 401.
 *
 * When the identity expires, the streams that were opened with it end: listen streams (which get
 * their result), GET streams and streams of HTTP+SSE. Pending change notifications are sent first.
 * A request in flight is still answered. Sessions remain, because they belong to the principal. */
MCP_API void mcp_http_login_accept(mcp_http_login *login, mcp_identity *identity);

/* The answer to a request that is refused. Everything is copied. Strings that contain control
 * characters are left out. */
typedef struct mcp_http_denial {
    size_t size;
    int status; /* 400, 401, 403, 429 or 503; any other value means 401 */
    /* Values of WWW-Authenticate, each of which is sent as a separate header. If there are none, an
     * answer with 401 has `challenge` of the options as its value. */
    const char *const *challenges;
    size_t n_challenges;
    /* The value of Retry-After, in seconds. If it is 0, the statuses 429 and 503 have 1, and
     * others no such header. */
    unsigned retry_after_s;
    const char *message; /* of the JSON-RPC error; NULL means a text that depends on the status */
    /* For the log (mcp_http_record), not for the client. NULL if unknown. Never put a token, or a part
     * that only its owner knows, into them. */
    const char *reason, *issuer, *key, *principal;
} mcp_http_denial;

/* Refuses the request. If `denial` is NULL, each member has its default. */
MCP_API void mcp_http_login_refuse(mcp_http_login *login, const mcp_http_denial *denial);

/* ---- pages ---------------------------------------------------------------------------------- */

/* A request for a path that is not one of the endpoint, borrowed until `page` of the options returns. */
typedef struct mcp_http_page {
    size_t size;    /* set by the library */
    mcp_str method; /* GET, HEAD or POST */
    mcp_str path;   /* without the query */
    mcp_str body;   /* of POST; its Content-Type is application/json */
} mcp_http_page;

/* Returns a header of the request: Host, Origin, Authorization, and those that the options list in
 * login_headers. It behaves like mcp_http_login_header(). */
MCP_API bool mcp_http_page_header(const mcp_http_page *page, const char *name, mcp_str *value);

/* The answer. The strings are copied when `page` returns. */
typedef struct mcp_http_page_answer {
    size_t size;         /* set by the library */
    int status;          /* 200 (the default), 204, 304, 400, 401, 403, 404, 405, 413, 429 or 503 */
    const char *type;    /* Content-Type; NULL if there is no body */
    mcp_str body;        /* is not sent to HEAD */
    const char *headers; /* more headers, each as "Name: value\r\n"; NULL means none */
} mcp_http_page_answer;

/* ---- endpoints ------------------------------------------------------------------------------ */

typedef struct mcp_http_options {
    size_t size;
    const char *path; /* of the endpoint; default "/mcp"; see also has_view */

    /* `allow_hosts` lists the host names that requests may address, without port, in addition to
     * localhost, 127.0.0.1 and [::1]. `allow_origins` lists the origins of browser pages that may
     * send requests, such as "https://app.example", in addition to those of the loopback. "*"
     * allows any. Requests for other hosts or from other origins get 403. Copied. */
    const char *const *allow_hosts;
    size_t n_allow_hosts;
    const char *const *allow_origins;
    size_t n_allow_origins;
    bool cors; /* answer CORS preflights and send CORS headers for the allowed origins */

    /* Finds out who sent a request, and answers the login now or later. Called when the head of the
     * request is complete and before its body is read. Not called for /healthz, /readyz and CORS preflights.
     * If this is NULL, all clients are anonymous. */
    void (*authenticate)(mcp_http_login *login, void *user);
    const char *challenge; /* see mcp_http_denial.challenges; default "Bearer" */

    /* Fills bytes with cryptographic randomness, for session ids. Returns MCP_OK or a negative
     * code. Required. */
    int (*random)(void *bytes, size_t len, void *user);
    /* Logs one answered request. May be NULL. */
    void (*log)(const mcp_http_record *record, void *user);
    /* Returns the time for the Date header ("Sun, 06 Nov 1994 08:49:37 GMT"), valid until the next
     * call. Called for each answer, so it should be cheap. If this is NULL, answers have no Date
     * header, as from a server without a clock. */
    mcp_str (*date)(void *user);
    /* Returns the time of the monotonic clock. It is used to measure the duration of requests that
     * are answered between two calls of the transport. If this is NULL, the time of the last call
     * is used. */
    int64_t (*clock)(void *user);
    /* Adds the program's own lines to /metrics, by calling add() any number of times. May be
     * NULL. */
    void (*metrics)(void (*add)(mcp_str text, void *arg), void *arg, void *user);
    void *user; /* passed to the functions above */

    const mcp_event_store *event_store; /* NULL stores events in memory */

    size_t max_header_bytes; /* default 16 KiB, at most 1 GiB */
    size_t max_headers;      /* default 100 */
    size_t max_body;         /* default 4 MiB */
    size_t max_reply;        /* default 64 MiB */
    size_t max_connections;  /* default 20,000 */
    /* Connections from one address (for IPv6, from one /64). The default is 1,000, but connections
     * from this machine (127.0.0.0/8, ::1, Unix sockets) are limited only if this is set. SIZE_MAX
     * means no limit per address. */
    size_t max_per_address;
    /* Legacy sessions; default 10,000. If there are as many, an idle session of the client that has most
     * is ended for a new one; see max_sessions_each. */
    size_t max_sessions;
    size_t max_streams; /* event streams of one session; default 16 */
    /* unsent bytes at which reading from a connection stops; default 1 MiB */
    size_t max_output;
    size_t replay_bytes; /* stored events of one session; default 256 KiB */
    uint64_t header_ms;  /* limit for all headers of a request; default 10,000 */
    uint64_t body_ms;    /* limit for the body of a request; default 30,000 */
    uint64_t idle_ms;    /* limit between two requests; default 75,000 */
    /* a peer that reads nothing for this long is disconnected; default 60,000 */
    uint64_t stall_ms;
    uint64_t session_idle_ms; /* default 1,800,000 */
    uint64_t heartbeat_ms;    /* interval of comments on an idle event stream; default 15,000 */
    uint64_t retry_ms;        /* reconnection time that legacy clients get; default 1,000 */
    bool no_healthz, no_metrics;
    const mcp_allocator *allocator;
    /* Time limit of the transport's handshake (TLS), if it has one. Default 10,000. */
    uint64_t handshake_ms;
    /* Returns the name that the program uses for one of these options: "--max-body" for
     * "max_body". If this is NULL, or returns NULL, error texts use the name of the member. The
     * string must live as long as the endpoint. */
    const char *(*option_name)(const char *member, void *user);
    /* The path at which HTTP+SSE, the transport of 2024-11-05, is served too, for example "/sse",
     * for clients that support nothing else. If this is NULL, HTTP+SSE is not served. GET opens a
     * stream; its first event names the path, with a session id, to which the client must POST. All
     * messages of the server are sent on the stream, and the session ends with it. All limits on
     * sessions and checks of the endpoint apply here too. mcp_http_new() returns MCP_EINVAL if this
     * is not a path or is that of the endpoint. */
    const char *sse_path;
    /* Must outlive the endpoint. If this is NULL, the endpoint has a budget of its own, with
     * max_memory and max_share. */
    mcp_http_budget *budget;
    size_t max_memory; /* as in mcp_http_budget_options */
    size_t max_share;
    /* Proxies whose X-Forwarded-For (see proxy_header) is trusted: "192.0.2.1", "192.0.2.0/24", "2001:db8::/32",
     * "unix" (any peer of a Unix socket). Copied. In requests of all other peers the header is
     * ignored.
     *
     * The client of a request from a trusted proxy is the rightmost entry in the header that is
     * not a trusted proxy, or the leftmost entry if all are trusted proxies. If that entry is not
     * an address, or there is no such header, the client is the proxy itself. max_per_address,
     * memory quotas, limits per caller and the log use the client's address. A proxy's connections
     * are not limited by max_per_address; each counts towards the client's address while a request
     * of that client is in flight.
     *
     * mcp_http_new() returns MCP_EINVAL if an entry is not an address. */
    const char *const *trusted_proxies;
    size_t n_trusted_proxies;
    /* The maximum number of connections that carry a request or a stream of one principal. It
     * prevents a token that is used from many addresses from occupying all connections. The default
     * is 5,000, but like that of max_per_address it does not apply to connections from this
     * machine. SIZE_MAX means no limit per principal. */
    size_t max_per_principal;
    /* Headers that mcp_http_login_header() can find, in addition to Authorization, for example
     * "DPoP". Copied. */
    const char *const *login_headers;
    size_t n_login_headers;
    uint64_t login_ms; /* how long a login may be open; default 10,000 */
    /* The URL with which clients reach the path "/" of this endpoint, without a slash at its end,
     * for example "https://mcp.example.com". If a proxy removes a prefix of paths, the URL ends
     * with that prefix. Needed only for mcp_http_login_url(). Copied. */
    const char *public_url;
    /* The URL of the protected resource metadata (RFC 9728). The challenge for a request with
     * insufficient scopes contains it; see mcp_request_need_scopes(). Copied. NULL means none. */
    const char *resource_metadata;
    /* Returns the time in milliseconds since 1970, which is compared with the expiry of identities.
     * If this is NULL, the function of the transport is used, which those of mcp/io.h have. If
     * there is none either, requests of identities that have an expiry are refused with 503. */
    int64_t (*wall)(void *user);
    /* An OAuth 2.1 resource server (mcp/auth.h), which must outlive the endpoint, or NULL. If
     * `authenticate` is NULL, the resource server answers all logins. Otherwise `authenticate` may
     * pass logins to mcp_resource_server_authenticate().
     *
     * The endpoint serves the protected resource metadata of the resource server, without a login
     * and to pages of any origin. Its paths are "/.well-known/oauth-protected-resource", and that
     * path followed by the path of the resource. If resource_metadata is NULL, the endpoint sets
     * it. It adds DPoP to login_headers. */
    struct mcp_resource_server *resource_server;
    /* Answers requests for paths that are not of the endpoint, with GET, HEAD or POST, such as the files of
     * a web page. Host, Origin and, for POST, Content-Type are checked before, as for MCP requests, but
     * `authenticate` is not called. Returns false if there is nothing at the path; the answer is then
     * 404. It must not call the endpoint. NULL means that there are no pages. */
    bool (*page)(const mcp_http_page *page, mcp_http_page_answer *answer, void *user);
    /* Where the other instances of the server reach this endpoint: "unix:PATH", "https://HOST:PORT" or
     * "http://HOST:PORT", of at most 200 bytes. Copied. If this is NULL, sessions belong to this
     * endpoint alone. See "sessions of several instances" in
     * mcp/sys/http.h. */
    const char *instance_address;
    uint64_t session_life_ms; /* how long such a session may last in all; default 24 hours */
    /* Sends a message to all other instances, which pass it to mcp_http_shared() (mcp/sys/http.h); in a server that
     * shares its changes by mcp_server_share_send() (mcp/bus.h). It must not call the endpoint. NULL
     * means that nothing is shared.
     *
     * A message consists of a letter, the 32 characters of the name of a session, and more that only
     * mcp_http_shared() reads. 'A' says where the session is, 'S' that no other instance can take it, 'E'
     * that it has ended. So a program can also tell an instance that starts later what was said
     * before: for each session that has not ended the last 'A', and then 'S' if there was one. */
    void (*share)(mcp_str message, void *user);
    /* Returns whether messages of the other instances arrive now (mcp_share_usage.state). NULL means
     * never. */
    bool (*sharing)(void *user);
    /* Replaces the answer to /metrics, for example by sums over several processes. `text` is what the
     * endpoint would answer to the caller, whose identity is NULL if it is anonymous. What is passed to
     * add(), any number of times, is sent instead. It must not answer or close anything. May be NULL. */
    void (*merge_metrics)(mcp_http *http, const mcp_identity *identity, mcp_str text,
                          void (*add)(mcp_str text, void *arg), void *arg, void *user);
    /* Returns whether a caller may see /metrics, which is answered with 404 otherwise. `identity` is NULL
     * for an anonymous one. NULL means that all may who are authenticated. */
    bool (*may_see_metrics)(const mcp_identity *identity, void *user);
    /* The header in which trusted proxies name the client: "X-Forwarded-For" (also if this is NULL) or
     * "Forwarded" (RFC 7239). The other one is ignored, because a proxy that sets one may pass on the
     * other as the client wrote it. An element of Forwarded counts as not an address if it has no
     * "for", "unknown" or a hidden name; of a malformed one, with the rest of its field, the same is
     * true. mcp_http_new() returns MCP_EINVAL for other names. */
    const char *proxy_header;
    /* Legacy sessions of one client: of a principal or, if it is anonymous, of an address (for IPv6, of
     * one /64). A client that has as many loses the one that it has not used for longest, or gets 503
     * if it uses all of them. The default is a quarter of max_sessions, but clients on this machine and
     * those without an address are limited only if this is set. SIZE_MAX means no limit per client.
     *
     * When there are max_sessions, the client that has most loses one, but only to a client that will
     * still have fewer; any other loses one of its own. A client that has none gets one: if nobody has
     * more than one, the session ends that was not used for longest. Sessions fill at most a quarter of
     * max_memory, and those of one client a quarter of max_share; beyond, the same happens. */
    size_t max_sessions_each;
    /* Returns the time of a monotonic clock in microseconds, by which the durations in /metrics are
     * measured. If this is NULL, they are measured with `clock`. */
    int64_t (*clock_us)(void *user);
    /* Returns whether the server has a view of this name (mcp/identity.h). It is reached at the path of
     * the endpoint, a slash and the name: "/mcp/NAME". The name was checked: it has at most 64
     * characters of A-Z, a-z, 0-9, ".", "_", "-". Requests there have an identity with the view
     * (mcp_identity_view()), also if their caller is anonymous, and everything that is kept for a
     * caller is kept for each view of its own: a session id, cursor, task or requestState of one view
     * means nothing in another. The access rules of the program decide what a view has. Every other
     * path below that of the endpoint is answered with 404. Called for each request, so a view may
     * come and go. NULL means that there are no views. */
    bool (*has_view)(mcp_str name, void *user);
    /* Returns the word with which GET /readyz is answered, with status 503, because requests should not be sent here now;
     * or NULL if they should. The word has at most 64 bytes and is used until the next call. It must not call the
     * endpoint. An endpoint that will be drained does not ask. NULL means that requests may always be sent here. */
    const char *(*not_ready)(void *user);
} mcp_http_options;

#ifdef __cplusplus
}
#endif
#endif
