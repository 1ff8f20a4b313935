/* mcp/http.h: Streamable HTTP without sockets: HTTP/1.1, server-sent events and the rules of every
 * revision as a state machine. Part of libmcp-io; mcp/io.h has listeners on top of it (mcp_loop_listen()).
 *
 * An mcp_http is one endpoint of one server on one loop: sessions, limits, counters. A connection is fed
 * with the bytes that arrive and hands out the bytes to send:
 *
 *     on a connection:   mcp_http_accept(http, options, &connection, &error);
 *     on bytes:          mcp_http_receive(connection, bytes, now);
 *     on end of input:   mcp_http_receive_end(connection, now);
 *     when time passes:  mcp_http_tick(http, now), at mcp_http_deadline(http) at the latest
 *     when it is closed: mcp_http_connection_free(connection, now);
 *
 * Everything belongs to one thread. Times are milliseconds of a monotonic clock.
 *
 * Also answered: GET /healthz ("ok"), whatever its Host, Origin and Authorization, and GET /metrics (Prometheus
 * text), to whom the endpoint would answer, unless switched off. /metrics has what mcp_server_usage() tells the
 * principal that asks.
 */
#ifndef MCP_HTTP_H
#define MCP_HTTP_H

#include <mcp/base.h>
#include <mcp/server.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mcp_http mcp_http;
typedef struct mcp_http_connection mcp_http_connection;

/* Where the events of legacy streams are kept for Last-Event-ID (2025-11-25, basic/transports,
 * "Resumability and Redelivery"). The default keeps them in memory within replay_bytes per session. */
typedef struct mcp_event_store {
    size_t size;
    void *user;
    /* Keeps one event (a message; empty: the priming event) of a session's stream. `event` grows by one
     * within a stream. MCP_OK or a negative code, and then it cannot be replayed. */
    int (*append)(mcp_str session, uint64_t stream, uint64_t event, mcp_str message, void *user);
    /* Calls fn with each kept event of that stream after `event`, in order. MCP_OK, or MCP_ENOTFOUND:
     * nothing is known of the stream, or the event is too old. */
    int (*replay)(mcp_str session, uint64_t stream, uint64_t event,
                  int (*fn)(uint64_t event, mcp_str message, void *arg), void *arg, void *user);
    /* The session ended. */
    void (*forget)(mcp_str session, void *user);
} mcp_event_store;

/* One request that was answered (or refused), for a log; borrowed until the call returns. */
typedef struct mcp_http_record {
    size_t size;           /* set by the library */
    const char *peer;      /* the connection's */
    const char *principal; /* NULL: nobody in particular */
    mcp_str http_method;
    mcp_str path;
    int status;          /* 0: the client went before there was an answer */
    mcp_str method;      /* of the JSON-RPC request; empty: none */
    int code;            /* of its error; 0: none */
    int64_t duration_ms; /* from the last byte of the request to the last of the answer */
    uint64_t bytes_in, bytes_out;
    mcp_str traceparent; /* from _meta or the header; empty: none */
    /* The client's address without a port, which is not the peer's behind a trusted proxy; empty: not known. */
    const char *client;
    /* What the request is about, of a tool, a prompt, a task its name, of a resource its URI; the first 256 bytes as
     * the client wrote them, which may be any but NUL. Empty: none. */
    mcp_str name;
} mcp_http_record;

/* How much memory peers may make endpoints hold: bodies on their way in, requests that are being answered,
 * answers that wait for their reader, events that are kept. One budget may serve any number of endpoints of one
 * thread. Each caller, a principal, or without one an address, has a share of it.
 *
 * What is nearly spent slows down before it refuses: beyond a half of the budget (or of a share) bodies of more
 * than 16 KiB are not read, beyond three quarters requests wait, and for all of that peers have 5 seconds. Who waited
 * for hold_ms, and an answer that does not fit, gets 503 with Retry-After and a JSON-RPC error that names the
 * limit. */
typedef struct mcp_http_budget mcp_http_budget;

typedef struct mcp_http_budget_options {
    size_t size;
    size_t max_memory; /* bytes; 512 MiB */
    size_t max_share;  /* bytes for one caller; a quarter of max_memory */
    uint64_t hold_ms;  /* how long who has to wait waits; 5,000 */
    /* At least 32 MiB, and a half of what was held, were given back to the allocator, perhaps not yet all of it: for
     * a program that calls malloc_trim() soon. Not to call the endpoint. May be NULL. */
    void (*released)(size_t bytes, void *user);
    void *user;
    const mcp_allocator *allocator;
} mcp_http_budget_options;

/* options may be NULL. MCP_ENOMEM, MCP_EINVAL (no ret). */
MCP_API int mcp_http_budget_new(const mcp_http_budget_options *options, mcp_http_budget **ret,
                                mcp_error *error);
/* After its endpoints. NULL is allowed. */
MCP_API void mcp_http_budget_free(mcp_http_budget *budget);
/* Bytes held now. */
MCP_API size_t mcp_http_budget_used(const mcp_http_budget *budget);

typedef struct mcp_http_options {
    size_t size;
    const char *path; /* of the endpoint; "/mcp" */

    /* Host names that requests may be for, without port, besides localhost, 127.0.0.1 and [::1]; "*": any.
     * Origins that browsers may come from, "https://app.example", besides those of the loopback; "*":
     * any. Everything else gets 403. Copied. */
    const char *const *allow_hosts;
    size_t n_allow_hosts;
    const char *const *allow_origins;
    size_t n_allow_origins;
    bool cors; /* answer preflights of, and tell browsers about, the allowed origins */

    /* Who is it? Gets the value of the Authorization header (empty: none) and writes the principal,
     * NUL-terminated. MCP_OK; MCP_EACCESS: 401 with `challenge` in WWW-Authenticate. NULL: everybody is
     * nobody in particular. */
    int (*authenticate)(mcp_str authorization, char *principal, size_t room, void *user);
    const char *challenge; /* "Bearer" */

    /* Fills bytes with cryptographic randomness, for session ids; required. MCP_OK or a negative code. */
    int (*random)(void *bytes, size_t len, void *user);
    /* One answered request. May be NULL. */
    void (*log)(const mcp_http_record *record, void *user);
    /* The time as in the Date header ("Sun, 06 Nov 1994 08:49:37 GMT"), valid until the next call; should be
     * cheap: it is asked for each answer. NULL: answers carry no Date, as of a server without a clock. */
    mcp_str (*date)(void *user);
    /* The monotonic clock, for how long answers took that were given between calls. NULL: the time of the
     * last call. */
    int64_t (*clock)(void *user);
    /* Lines of the program's own for /metrics: calls add() any number of times. May be NULL. */
    void (*metrics)(void (*add)(mcp_str text, void *arg), void *arg, void *user);
    void *user; /* of the functions above */

    const mcp_event_store *event_store; /* NULL: in memory */

    size_t max_header_bytes; /* 16 KiB */
    size_t max_headers;      /* 100 */
    size_t max_body;         /* 4 MiB */
    size_t max_reply;        /* 64 MiB */
    size_t max_connections;  /* 20,000 */
    /* Connections from one address, which for IPv6 is its /64; 1,000. Those of this machine (127.0.0.0/8, ::1, Unix
     * sockets) count only where it is given. SIZE_MAX: no limit of its own. */
    size_t max_per_address;
    size_t max_sessions; /* 10,000: the longest idle one goes first */
    size_t max_streams;  /* event streams of one session; 16 */
    size_t max_output;   /* bytes that wait for a slow reader before it is not read from: 1 MiB */
    size_t replay_bytes; /* 256 KiB per session */
    uint64_t header_ms;  /* for all headers of a request; 10,000 */
    uint64_t body_ms;    /* for its body; 30,000 */
    uint64_t idle_ms;    /* between requests; 75,000 */
    uint64_t stall_ms;   /* a reader that takes nothing is dropped; 60,000 */
    uint64_t session_idle_ms; /* 1,800,000 */
    uint64_t heartbeat_ms;    /* comment on a quiet event stream; 15,000 */
    uint64_t retry_ms; /* what legacy clients are told to wait before they reconnect; 1,000 */
    bool no_healthz, no_metrics;
    const mcp_allocator *allocator;
    /* For the handshake of a connection whose transport has one (TLS), from its beginning; 10,000. */
    uint64_t handshake_ms;
    /* How the program calls one of these options, for the texts of refusals: "--max-body" for "max_body". NULL, or
     * NULL returned: by the name that it has here. The text is static or lives as long as the endpoint. */
    const char *(*option_name)(const char *member, void *user);
    /* Where HTTP+SSE, the transport of 2024-11-05, is served too ("/sse"), for clients that know nothing else: GET opens
     * a stream, whose first event names the path with a session id to POST to; what the server says goes on the
     * stream, and the session ends with it. Whatever limits sessions and protects the endpoint does here too.
     * MCP_EINVAL of mcp_http_new(): not a path, or that of the endpoint. NULL: nowhere. */
    const char *sse_path;
    mcp_http_budget
        *budget; /* outlives the endpoint; NULL: one of its own, with max_memory and max_share */
    size_t max_memory; /* as mcp_http_budget_options */
    size_t max_share;
    /* Proxies whose X-Forwarded-For counts: "192.0.2.1", "192.0.2.0/24", "2001:db8::/32", "unix" (whoever connects
     * to a Unix socket). Copied. A request that comes from one is its client's: the rightmost address of the list
     * that is no trusted proxy's, or the leftmost where all are. If what stands there is no address, or there
     * is no such header, the request is the proxy's own. max_per_address, shares of memory, limits per caller and
     * the log go by that address. The connections of a proxy itself are not limited by max_per_address; each counts
     * for the address of the client while a request of that client lasts. From all others the header is ignored.
     * MCP_EINVAL of mcp_http_new(): one of them is no address. */
    const char *const *trusted_proxies;
    size_t n_trusted_proxies;
} mcp_http_options;

/* MCP_EINVAL (no random; sse_path), MCP_ENOMEM. The server outlives it. */
MCP_API int mcp_http_new(mcp_server *server, const mcp_http_options *options, mcp_http **ret,
                         mcp_error *error);
/* Connections have to be freed before. NULL is allowed. */
MCP_API void mcp_http_free(mcp_http *http);

/* Something is due earlier than mcp_http_deadline() said; not to be called back from within. */
MCP_API void mcp_http_on_wake(mcp_http *http, void (*wake)(mcp_http *http, void *user), void *user);
/* The `date` and `clock` of whoever brings the bytes, for options that have none. Before the first
 * connection. */
MCP_API void mcp_http_set_clock_source(mcp_http *http, mcp_str (*date)(void *user),
                                       int64_t (*clock)(void *user), void *user);
/* Where lines go that a person should see: which limit was met, and how often, for each at most one line in ten
 * seconds. NULL, the default: nowhere. */
MCP_API void mcp_http_lend_log(mcp_http *http, void (*warn)(const char *line, void *user),
                               void *user);
MCP_API void mcp_http_tick(mcp_http *http, int64_t now);
MCP_API int64_t mcp_http_deadline(const mcp_http *http);

/* Begins to drain: listen streams end with their result, idle connections are closed, later requests are
 * answered with "Connection: close", new sessions with 503. mcp_http_busy() says how many connections are
 * left that still have something to do. */
MCP_API void mcp_http_drain(mcp_http *http, int64_t now);
MCP_API size_t mcp_http_busy(const mcp_http *http);
/* The end of draining: what is not answered by now gets an error that says so (503, or the last event of its
 * stream), and every connection is closed when that was sent. How many requests there were. */
MCP_API size_t mcp_http_cut(mcp_http *http, int64_t now);
/* What a principal (NULL: nobody in particular) was let in for ends: its sessions, its streams, its requests that
 * are being answered. For when a token is not good any more; whoever may still come comes again, and is asked
 * who it is. */
MCP_API void mcp_http_revoke(mcp_http *http, const char *principal, int64_t now);
MCP_API size_t mcp_http_connections(const mcp_http *http);
/* Closes up to n connections that are between requests, or in the head of one, the oldest first: for when
 * descriptors run short. `strangers`: only those no request of which `authenticate` let in; without it all are.
 * How many are being closed. */
MCP_API size_t mcp_http_shed(mcp_http *http, size_t n, bool strangers, int64_t now);

/* How a connection is to be closed. */
typedef enum mcp_http_close {
    /* Send what is left, then end our direction only (shutdown()): the peer may still be sending, and would
     * lose our answer if its bytes met a closed socket. What arrives is handed in as before. Another call
     * with MCP_HTTP_CLOSE or _ABORT follows, soon. */
    MCP_HTTP_SHUTDOWN = 0,
    MCP_HTTP_CLOSE, /* send what is left, then close */
    MCP_HTTP_ABORT, /* close at once: the peer does not read, or memory ran out */
} mcp_http_close;

typedef struct mcp_http_connection_options {
    size_t size;
    /* Bytes to send, borrowed until the call returns; the transport keeps what the socket does not take
     * and then says mcp_http_set_pending(). Required. */
    void (*write)(mcp_http_connection *connection, mcp_str bytes, void *user);
    /* Close it; mcp_http_connection_free() follows later, not from within. Required. */
    void (*close)(mcp_http_connection *connection, mcp_http_close how, void *user);
    void *user;
    const char *peer; /* "127.0.0.1:4711", "[::1]:4711", for logs and for trusted_proxies; copied */
    /* Without the port, for max_per_address and limits per caller; copied. One of the loopback, as trusted_host,
     * means that the caller is on this machine (mcp_channel_options.local). */
    const char *address;
    bool trusted_host; /* a Unix socket: no browser gets here, Host and Origin are not looked at */
    /* The transport shakes hands first, and says mcp_http_handshake_done(). */
    bool handshake;
    bool no_files; /* descriptors run short: it is refused with 503 */
    /* mcp_http_wants_input() is true again, without a call of the transport's. NULL: what does not fit into the
     * budget is refused at once instead of read later. */
    void (*resume)(mcp_http_connection *connection, void *user);
} mcp_http_connection_options;

/* MCP_ELIMIT: too many connections (a 503 was written and close called for; *ret is written, free it as
 * usual). MCP_EINVAL (no write, no close), MCP_ENOMEM: there is no connection. */
MCP_API int mcp_http_accept(mcp_http *http, const mcp_http_connection_options *options, int64_t now,
                            mcp_http_connection **ret, mcp_error *error);
/* The handshake that the options announced is through: idle_ms counts from now on, not handshake_ms. Bytes that
 * are received say so too. */
MCP_API void mcp_http_handshake_done(mcp_http_connection *connection, int64_t now);
/* Bytes arrived. MCP_OK; MCP_PENDING: do not read any more until mcp_http_wants_input(). */
MCP_API int mcp_http_receive(mcp_http_connection *connection, mcp_str bytes, int64_t now);
/* Whether the transport should read now: false while the peer does not read what it was sent. Asked after
 * every call. */
MCP_API bool mcp_http_wants_input(const mcp_http_connection *connection);
/* The peer will send nothing more. Whether it still reads cannot be known: complete requests are still
 * answered, but a modern request that is answered with a stream is cancelled at once, and another one when
 * it takes longer than a second: a client that loses interest closes, and that is all one sees of it. */
MCP_API void mcp_http_receive_end(mcp_http_connection *connection, int64_t now);
/* How many bytes the transport still holds for the peer; to be told whenever it changes but to and from
 * zero within one call, and after every `write` of 16 KiB or more, before the next tick. */
MCP_API void mcp_http_set_pending(mcp_http_connection *connection, size_t bytes, int64_t now);
/* The connection is gone: what was going on on it is cancelled (modern) or goes on (legacy). Not from
 * within a callback. NULL is allowed. */
MCP_API void mcp_http_connection_free(mcp_http_connection *connection, int64_t now);
MCP_API void *mcp_http_connection_user(const mcp_http_connection *connection);

#ifdef __cplusplus
}
#endif
#endif
