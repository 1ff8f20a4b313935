/* mcp/sys/http.h: an endpoint of mcp/http.h without sockets, for a transport that has them. The
 * transport passes the bytes that arrive to a connection, and the connection passes the bytes to
 * send to the function `write` of its options:
 *
 *     on a connection:   mcp_http_accept(http, options, &connection, &error);
 *     on bytes:          mcp_http_receive(connection, bytes, now);
 *     on end of input:   mcp_http_receive_end(connection, now);
 *     as time passes:    mcp_http_tick(http, now), no later than mcp_http_deadline(http)
 *     when it is closed: mcp_http_connection_free(connection, now);
 *
 * All calls must be made on one thread. Times are milliseconds of a monotonic clock. Part of
 * libmcp-io.
 *
 * Like all headers of mcp/sys it may change in any minor version until 1.0
 * (docs/api-stability.md).
 */
#ifndef MCP_SYS_HTTP_H
#define MCP_SYS_HTTP_H

#include <mcp/base.h>
#include <mcp/http.h>
#include <mcp/server.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mcp_http_connection mcp_http_connection;

/* ---- endpoints ------------------------------------------------------------------------------ */

/* Makes an endpoint. The server must outlive it. Returns MCP_OK, MCP_EINVAL (no `random`, or a
 * malformed sse_path, trusted_proxies or proxy_header) or MCP_ENOMEM. */
MCP_API int mcp_http_new(mcp_server *server, const mcp_http_options *options, mcp_http **ret,
                         mcp_error *error);
/* Frees an endpoint. Free its connections first. NULL is allowed. */
MCP_API void mcp_http_free(mcp_http *http);

/* Sets a function that is called when the deadline is earlier than mcp_http_deadline() last
 * returned. It must not call the endpoint. */
MCP_API void mcp_http_on_wake(mcp_http *http, void (*wake)(mcp_http *http, void *user), void *user);
/* Sets the transport's `date`, `clock` and `wall`. Each of them is used if the option of the same
 * name is NULL, and may itself be NULL. Call this before the first connection is made. */
MCP_API void mcp_http_set_clock_source(mcp_http *http, mcp_str (*date)(void *user),
                                       int64_t (*clock)(void *user), int64_t (*wall)(void *user),
                                       void *user);
/* Sets a function that gets warnings for the operator: which limit was reached and how often, at
 * most one line in ten seconds for each limit. NULL, the default, discards them. */
MCP_API void mcp_http_set_log(mcp_http *http, void (*warn)(const char *line, void *user),
                              void *user);
/* Handles the time-outs that are due. */
MCP_API void mcp_http_tick(mcp_http *http, int64_t now);
/* Returns the latest time at which mcp_http_tick() must be called, or INT64_MAX if none is due. */
MCP_API int64_t mcp_http_deadline(const mcp_http *http);

/* Says that the endpoint is going to be drained: from now on GET /readyz is answered with 503, so that a load
 * balancer sends no more requests. Everything else is served as before. */
MCP_API void mcp_http_retire(mcp_http *http);
/* Begins to drain the endpoint: ends listen streams with their result, closes idle connections
 * (see mcp_http_set_linger()), and adds "Connection: close" to later answers. Streams that are opened later end at once. A
 * session begins only if options.sharing() says that other instances hear of it, so that it goes on there, or if another
 * process takes over (mcp_http_set_linger()); otherwise initialize is answered with 503. mcp_http_busy() returns the number
 * of connections that are still busy. */
MCP_API void mcp_http_drain(mcp_http *http, int64_t now);
/* Sets how long draining leaves idle connections open, which is 0 at first; those that become idle later, with
 * an answer without "Connection: close", as long from then on. A client may be sending a
 * request on a connection that looks idle; it would lose the answer. Use it when another process
 * takes over, so that no request fails. Call it before mcp_http_drain(). */
MCP_API void mcp_http_set_linger(mcp_http *http, uint64_t ms);
/* The same, if no other process takes over: GET /readyz and the beginning of sessions are not changed by it. Use it when
 * a proxy may go on sending requests for a while on the connections that it has. */
MCP_API void mcp_http_set_idle_linger(mcp_http *http, uint64_t ms);
MCP_API size_t mcp_http_busy(const mcp_http *http);
/* Ends draining: every request that is still in flight gets an error (503, or the last event of its
 * stream) that says that the server is stopping, and every connection is closed after its error was
 * sent. Returns the number of such requests. */
MCP_API size_t mcp_http_cut(mcp_http *http, int64_t now);
/* Does what mcp_listener_revoke() does (mcp/io.h). */
MCP_API void mcp_http_revoke(mcp_http *http, const char *principal, int64_t now);
/* Does what mcp_listener_end_token() does. */
MCP_API size_t mcp_http_end_token(mcp_http *http, const char *token, int64_t now);
/* Passes the text of /metrics to add(), with the names of all tools and sources, and without
 * merge_metrics of the options. Returns MCP_OK or MCP_ENOMEM. */
MCP_API int mcp_http_get_metrics(mcp_http *http, void (*add)(mcp_str text, void *arg), void *arg);
/* Calls each() once for every legacy session, with the identity of its last message, or NULL if that was anonymous.
 * each() must not call the endpoint. */
MCP_API void mcp_http_each_session(const mcp_http *http,
                                   void (*each)(const mcp_identity *identity, void *user),
                                   void *user);
/* Returns the number of connections. */
MCP_API size_t mcp_http_connections(const mcp_http *http);
/* Closes up to n connections that are between requests or have sent only part of a request's head,
 * the oldest first. Use it when few descriptors are left. If `strangers` is true, only connections
 * without an authenticated request so far are closed; without `authenticate` those are all
 * connections. Returns the number of connections that are being closed. */
MCP_API size_t mcp_http_shed(mcp_http *http, size_t n, bool strangers, int64_t now);

/* How a connection is to be closed. */
typedef enum mcp_http_close {
    /* Send the remaining bytes, then shut down the sending direction only (shutdown()). The peer
     * may still be sending; if its bytes arrived at a closed socket, it would lose the answer.
     * Continue to pass on the bytes that arrive. A call with MCP_HTTP_CLOSE or MCP_HTTP_ABORT
     * follows soon. */
    MCP_HTTP_SHUTDOWN = 0,
    MCP_HTTP_CLOSE, /* send the remaining bytes, then close */
    MCP_HTTP_ABORT, /* close at once, because the peer does not read or memory ran out */
} mcp_http_close;

/* ---- sessions of several instances ---------------------------------------------------------- */

/* Legacy sessions (before 2026-07-28) have state, but a load balancer may send their requests to any
 * instance. With instance_address, each instance can handle each of them:
 *
 * - The session id contains the revision, the client's capabilities, name and version, the instance and
 *   its address. It is sealed (mcp_server_seal()) for the principal, expires after session_life_ms,
 *   and consists of at most 1,024 visible ASCII characters. All instances need the same key
 *   (mcp_server_set_seal()) and server name.
 * - A request whose session is at another instance is forwarded to it, and the answer is passed back.
 *   The transport does this (mcp_http_set_relays()); mcp_loop_listen() has it. The other instance
 *   authenticates the request as usual. In addition, a sealed header names the sender, the receiver
 *   and the principal, and has a digest of the request, a number that is accepted once, and an expiry
 *   (five minutes, which is also how much the calendar clocks may differ).
 * - If that instance is gone, a session without subscriptions and log level is made anew from its id.
 *   It requires `share` and `sharing`: this instance must have heard of the session's beginning, and of
 *   everything since. Its client gets the change of each list. Any other session has ended: 404.
 *
 * A session that is deleted or expires at its instance has ended everywhere.
 *
 * Requests about tasks of any revision are forwarded in the same way to the instance that their task
 * names (mcp/sys/server.h, "tasks of several instances"); those in a session without the session. */

/* Processes a message of another instance's `share`. */
MCP_API void mcp_http_shared(mcp_http *http, mcp_str message, int64_t now);
/* Messages of other instances may have been lost. */
MCP_API void mcp_http_share_lost(mcp_http *http);

/* A request that is being forwarded. It ends with mcp_http_relay_end(), or when `cancel` is called. */
typedef struct mcp_http_relay mcp_http_relay;

/* Borrowed until the relay ends. */
typedef struct mcp_http_relay_request {
    size_t size;                /* set by the library */
    const char *address;        /* instance_address of the other instance */
    const char *method;         /* "POST", "GET" or "DELETE" */
    const char *path;           /* of the endpoint */
    const char *const *headers; /* "Name: value" */
    size_t n_headers;
    mcp_str body; /* of POST */
} mcp_http_relay_request;

/* The functions of a transport that forwards requests. */
typedef struct mcp_http_relays {
    size_t size;
    /* Begins to send the request; it must not be sent twice. Sets *handle for `cancel`. Calls the
     * functions below later, not before it returns. Returns MCP_OK or a negative code, in which case
     * the relay has ended. */
    int (*send)(mcp_http_relay *relay, const mcp_http_relay_request *request, void **handle,
                void *user);
    /* Gives up a request. The relay must not be used from now on. May be called from within the
     * functions below. */
    void (*cancel)(void *handle, void *user);
    void *user;
} mcp_http_relays;

/* Sets the functions; copied. Call this before the first connection is made. */
MCP_API void mcp_http_set_relays(mcp_http *http, const mcp_http_relays *relays);

typedef enum mcp_http_relay_outcome {
    MCP_HTTP_RELAY_DONE = 0, /* the answer is complete */
    MCP_HTTP_RELAY_UNSENT,   /* nothing was sent, because there was no connection */
    MCP_HTTP_RELAY_BROKEN,   /* the request may have arrived, but there is no complete answer */
} mcp_http_relay_outcome;

/* Report the answer: its status and Content-Type, then parts of its body, then its end. The first two
 * return false if the relay ended, because the client is gone or does not read; `cancel` was called
 * then. */
MCP_API bool mcp_http_relay_head(mcp_http_relay *relay, int status, mcp_str type, int64_t now);
MCP_API bool mcp_http_relay_bytes(mcp_http_relay *relay, mcp_str bytes, int64_t now);
MCP_API void mcp_http_relay_end(mcp_http_relay *relay, mcp_http_relay_outcome outcome, int64_t now);

/* ---- connections ---------------------------------------------------------------------------- */

typedef struct mcp_http_connection_options {
    size_t size;
    /* Sends bytes, borrowed until the call returns. The transport buffers the bytes that the socket
     * does not accept, and reports their number with mcp_http_set_pending(). Required. */
    void (*write)(mcp_http_connection *connection, mcp_str bytes, void *user);
    /* Closes the connection. The transport calls mcp_http_connection_free() later, not from within
     * this function. Required. */
    void (*close)(mcp_http_connection *connection, mcp_http_close how, void *user);
    void *user;
    /* "127.0.0.1:4711" or "[::1]:4711", for logs and for trusted_proxies; copied */
    const char *peer;
    /* The address without the port, for max_per_address and limits per caller; copied. A loopback
     * address, like trusted_host, means that the caller is on this machine
     * (mcp_channel_options.local). */
    const char *address;
    /* Do not check Host and Origin: the peer uses a Unix socket, which browsers cannot reach. */
    bool trusted_host;
    /* The transport performs a handshake first and then calls mcp_http_handshake_done(). */
    bool handshake;
    bool no_files; /* few descriptors are left: answer with 503 */
    /* Called when mcp_http_wants_input() becomes true again between two calls of the transport. If
     * this is NULL, a request that does not fit into the budget is rejected at once instead of
     * being read later. */
    void (*resume)(mcp_http_connection *connection, void *user);
} mcp_http_connection_options;

/* Begins a connection. Returns MCP_OK. Returns MCP_ELIMIT if there are too many connections; a 503
 * was then written, `close` was called, and *ret must be freed as usual. Returns MCP_EINVAL (no
 * `write` or `close`) or MCP_ENOMEM if no connection was made. */
MCP_API int mcp_http_accept(mcp_http *http, const mcp_http_connection_options *options, int64_t now,
                            mcp_http_connection **ret, mcp_error *error);
/* Reports that the handshake that the options announced is complete. From now on idle_ms applies
 * instead of handshake_ms. A call of mcp_http_receive() reports the same. */
MCP_API void mcp_http_handshake_done(mcp_http_connection *connection, int64_t now);
/* Processes bytes that arrived. Returns MCP_OK, or MCP_PENDING if the transport must stop reading
 * until mcp_http_wants_input() returns true. */
MCP_API int mcp_http_receive(mcp_http_connection *connection, mcp_str bytes, int64_t now);
/* Returns whether the transport should read now. The result is false, for example, while the peer
 * does not read its answers. Check it after every call. */
MCP_API bool mcp_http_wants_input(const mcp_http_connection *connection);
/* Reports that the peer will send nothing more. The peer may have closed only its sending direction
 * or the whole connection; the transport cannot distinguish these cases. Complete requests are
 * still answered, but a modern request that is answered with a stream is cancelled at once, and any
 * other modern request after one second. */
MCP_API void mcp_http_receive_end(mcp_http_connection *connection, int64_t now);
/* Reports how many bytes the transport still holds for the peer. Call it before the next tick
 * whenever the number changed, and after every `write` of 16 KiB or more. If the number rises from
 * zero and returns to zero within one call, it need not be reported. */
MCP_API void mcp_http_set_pending(mcp_http_connection *connection, size_t bytes, int64_t now);
/* Frees a connection that was lost or closed. Its requests are cancelled (modern) or continue
 * (legacy). Must not be called from within a callback. NULL is allowed. */
MCP_API void mcp_http_connection_free(mcp_http_connection *connection, int64_t now);

#ifdef __cplusplus
}
#endif
#endif
