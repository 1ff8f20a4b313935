/* mcp/io.h: ready-made transports on libuv: stdio, Streamable HTTP, child processes; fetches of
 * documents; logins in a file. Part of libmcp-io.
 *
 * The simplest servers call mcp_serve_stdio() or mcp_serve_http(). For more control make a
 * mcp_loop, pass its host (timers, file watching, worker threads) to the server, and run it.
 */
#ifndef MCP_IO_H
#define MCP_IO_H

#include <mcp/auth.h>
#include <mcp/base.h>
#include <mcp/client.h>
#include <mcp/fetch.h>
#include <mcp/http.h>
#include <mcp/oauth.h>
#include <mcp/provider.h>
#include <mcp/server.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- loop ------------------------------------------------------------------------------------ */

/* An event loop (a uv_loop_t) with an mcp_host. A loop, and all objects made with it, must be used
 * on the thread that runs the loop. Loops cannot be nested: of the functions below only
 * mcp_loop_stop(), _now(), _host() and _uv() may be called from a callback of the same loop. */
typedef struct mcp_loop mcp_loop;

/* Makes a loop. If any of the descriptors 0 to 2 is closed, it is first opened on /dev/null, so
 * that no other file gets its number. Returns MCP_OK, MCP_ENOMEM, MCP_EIO or MCP_EINVAL (no
 * ret). */
MCP_API int mcp_loop_new(const mcp_allocator *allocator, mcp_loop **ret, mcp_error *error);
/* Sets the limits of the host's `work` and `work_long`: at most `threads` worker threads (default
 * 256, maximum 4096) and at most `waiting` queued jobs (default 4096). 0 selects the default. When
 * the queue is full, queuing a job fails with MCP_ELIMIT. Threads are started when needed and end
 * when idle. They have a stack of 1 MiB and block signals. One thread in eight is never used for
 * `work_long`. Returns MCP_OK, or MCP_EINVAL for too many threads. */
MCP_API int mcp_loop_set_workers(mcp_loop *loop, size_t threads, size_t waiting);
/* Runs posted functions and ends the work on worker threads. Jobs that have not begun never run,
 * but their `done` is called. Waits for running jobs, and for the requests of
 * mcp_http_client_leave(), for at most ms milliseconds. Call mcp_loop_drain() after closing the
 * last channel of the loop's servers and before freeing the servers, because `done` needs its
 * server: see mcp_loop_free().
 *
 * Returns MCP_OK, MCP_EINVAL, or MCP_ETIMEOUT if a job still runs, for example on a file system
 * that hangs. After MCP_ETIMEOUT neither the servers nor the loop may be freed: try again, or leave
 * them and end the process with _exit(), because exit() may destroy objects that the thread
 * uses. */
MCP_API int mcp_loop_drain(mcp_loop *loop, uint64_t ms);
/* Stops all remaining activity on the loop and frees it. NULL is allowed. Shut down in this order:
 *   1. close the channels (mcp_listener_close(); mcp_loop_serve_stdio() closes its own);
 *   2. mcp_server_cancel_tasks() if calls run as tasks;
 *   3. mcp_loop_drain();
 *   4. mcp_server_free(), because providers stop their timers through the host;
 *   5. mcp_loop_free().
 *
 * mcp_loop_free() waits for jobs that were queued without a server. Before the call, the program's
 * own threads must have stopped posting functions. */
MCP_API void mcp_loop_free(mcp_loop *loop);
/* Runs the loop until mcp_loop_stop(), or until it has nothing left to wait for. */
MCP_API int mcp_loop_run(mcp_loop *loop);
/* Ends the current mcp_loop_run(), _step() or _serve_stdio(), or the next one if none is running.
 * This is the only call that may be made from a signal handler or another thread. */
MCP_API void mcp_loop_stop(mcp_loop *loop);
/* Handles the events that are ready, after waiting for at most ms milliseconds (0 means without
 * waiting). Returns MCP_OK, or MCP_ECANCELLED after mcp_loop_stop(). */
MCP_API int mcp_loop_step(mcp_loop *loop, uint64_t ms);
/* Returns the time of the loop, in milliseconds of a monotonic clock. */
MCP_API int64_t mcp_loop_now(const mcp_loop *loop);
/* Returns the host for mcp_server_set_host(). It lives as long as the loop. */
MCP_API const mcp_host *mcp_loop_host(mcp_loop *loop);
/* Sets the lowest level of lines that the host's log() writes to stderr: "debug", "info", "warning"
 * or "error"; NULL, the default, means that no lines are written. Logging never blocks. Lines that
 * stderr does not accept are dropped, and their number is reported later. Returns MCP_OK or
 * MCP_EINVAL. */
MCP_API int mcp_loop_set_log_level(mcp_loop *loop, const char *level);
/* Returns the underlying uv_loop_t, for programs that use libuv directly. */
MCP_API void *mcp_loop_uv(mcp_loop *loop);

/* ---- stdio server ---------------------------------------------------------------------------- */

typedef struct mcp_stdio_options {
    size_t size;
    int input; /* descriptors; if both are 0, stdin and stdout are used */
    int output;
    bool keep_stdout;    /* do not redirect descriptor 1 of the program to stderr */
    bool no_signals;     /* do not end on SIGTERM, SIGINT and SIGHUP, or with the parent process */
    bool trusted_parent; /* as in mcp_channel_options */
    const char *principal;
    size_t max_message; /* as in mcp_channel_options */
    size_t max_output;  /* unsent bytes at which reading stops; default 1 MiB */
    uint64_t drain_ms;  /* how long answers may take after the end of input; default 2000 */
    /* The identity of the peer, instead of `principal`, for example in a view. Must live until the
     * call returns. */
    mcp_identity *identity;
} mcp_stdio_options;

/* Serves one peer on stdin and stdout (2026-07-28, basic/transports/stdio) until the end of input,
 * the end of the parent process (Linux 5.3), a signal (SIGTERM, SIGINT, SIGHUP) or mcp_loop_stop().
 * A server without a host gets the loop's.
 *
 * Unless keep_stdout is set, descriptor 1 is first duplicated to another number and then replaced
 * by stderr, so that a stray printf() cannot reach the peer. It stays replaced after the call,
 * because the C library may flush the buffers of its streams later. SIGPIPE is ignored while
 * serving. Signals that are already ignored (nohup) stay ignored. If SIGHUP is ignored, the end of
 * the parent process is ignored too. While the peer does not read what the server sends, the server
 * reads nothing from the peer.
 *
 * At the end the call drains the work (mcp_loop_drain() for at most drain_ms), unless a listener is
 * or was open on this loop. Returns MCP_OK at a regular end, which includes a signal and a peer
 * that disconnected. Also returns MCP_EIO, MCP_ENOMEM, MCP_EINVAL, MCP_ELIMIT (the peer does not
 * read the answers that it requested) or MCP_ETIMEOUT (as from mcp_loop_drain(): server and loop
 * must not be freed). */
MCP_API int mcp_loop_serve_stdio(mcp_loop *loop, mcp_server *server,
                                 const mcp_stdio_options *options, mcp_error *error);

/* Makes a loop, gives its host to the server until this call returns, and serves stdio. For
 * providers that keep timers use mcp_loop_serve_stdio() instead and free the server before the
 * loop. Returns the codes of mcp_loop_serve_stdio(). After MCP_ETIMEOUT a job still runs: do not
 * free the server. */
MCP_API int mcp_serve_stdio(mcp_server *server, mcp_error *error);

/* ---- HTTP server ----------------------------------------------------------------------------- */

typedef struct mcp_listener mcp_listener;

typedef struct mcp_listen_options {
    size_t size;
    /* The address, for example "127.0.0.1:8642" (the default), "[::1]:0", "localhost:8642" or
     * ":8642" (both mean 127.0.0.1), "0.0.0.0:8642", "[::]:8642" (includes IPv4) or "unix:PATH".
     * Port 0 selects any free port. Names other than localhost are not resolved. If the address is
     * not loopback and `authenticate` is not set, the server's host logs a warning. An address that
     * is neither loopback nor a wildcard is added to the allowed hosts. */
    const char *address;
    unsigned socket_mode; /* file mode of a Unix socket; default 0600 */
    /* PEM files for TLS 1.2 or newer (OpenSSL 3), which are loaded by mcp_loop_listen(). NULL means
     * no TLS. */
    const char *tls_cert, *tls_key;
    const mcp_http_options *http; /* `random`, `date`, `clock` and `allocator` may be NULL */
    /* The number of the process's descriptors (RLIMIT_NOFILE) that connections leave free for other
     * purposes, such as reading files. When connections have used all other descriptors, idle
     * connections are closed, beginning with those without a token, and new connections get 503.
     * The default is a quarter of the limit, at most 512. */
    size_t keep_files;
    /* A socket that listens already and is not blocking, such as one that was inherited
     * (mcp_socket_listen() in mcp/sys/io.h). 0 means that mcp_loop_listen() opens one. `address` then only says what
     * it is. The listener owns the socket if the call succeeds. Other processes may accept
     * connections from the same socket; therefore each takes few at a time. */
    int socket;
    /* With `socket`: the file of a Unix socket is not removed when the listener is closed or drained,
     * because it belongs to another process. */
    bool keep_file;
    /* Accept connections for the endpoint of this other listener of the same loop and server, instead
     * of a new one: they have the same sessions, limits and counters. `http` is ignored. Close this
     * listener before the other one. */
    mcp_listener *endpoint;
    /* A PEM file of the certificates with which the https:// addresses of other instances are verified
     * (mcp_http_options.instance_address). NULL means those of the system. Copied. */
    const char *instance_ca;
} mcp_listen_options;

/* Opens an endpoint at an address. It is served while the loop runs. A stale file of a Unix socket
 * is replaced. A server without a host gets that of the loop. Close the listener before freeing the
 * server and the loop. Returns MCP_OK, MCP_EINVAL (including a certificate or key that cannot be
 * used), MCP_EEXIST (the address is in use), MCP_EACCESS, MCP_EUNSUPPORTED (no OpenSSL 3), MCP_EIO
 * or MCP_ENOMEM. */
MCP_API int mcp_loop_listen(mcp_loop *loop, mcp_server *server, const mcp_listen_options *options,
                            mcp_listener **ret, mcp_error *error);
/* Returns the address at which the listener listens, with the actual port, for example
 * "127.0.0.1:8642", "[::1]:40123" or "unix:/run/mcp.sock". The string lives as long as the
 * listener. */
MCP_API const char *mcp_listener_address(const mcp_listener *listener);
/* Stops accepting connections and closes the open ones gracefully: listen streams get their result,
 * requests are still answered, idle connections are closed. mcp_listener_connections() returns the
 * number of connections that are still open. */
MCP_API void mcp_listener_drain(mcp_listener *listener);
/* Reads the certificate and key again, from the same paths, for new connections; open ones keep
 * theirs. Does nothing without TLS. Returns MCP_OK, MCP_EINVAL (a file cannot be read or is not a
 * certificate, or the key does not belong to it) or MCP_ENOMEM. After a failure the old certificate
 * stays in use. */
MCP_API int mcp_listener_reload_tls(mcp_listener *listener, mcp_error *error);
/* Returns when the certificate in use expires, in seconds since 1970, or 0 without TLS. */
MCP_API int64_t mcp_listener_tls_expiry(const mcp_listener *listener);
/* Ends draining: every request that is still in flight gets an error that says that the server is
 * stopping, and every connection is closed after its error was sent. Returns the number of such
 * requests. */
MCP_API size_t mcp_listener_cut(mcp_listener *listener);
/* Returns the number of open connections. */
MCP_API size_t mcp_listener_connections(const mcp_listener *listener);
/* Ends all sessions, streams and requests in flight of a principal (NULL means anonymous). Use it
 * after a token was withdrawn. A client that still has access can connect again and is
 * authenticated again. */
MCP_API void mcp_listener_revoke(mcp_listener *listener, const char *principal);
/* Ends the streams that were opened with this token (mcp_identity_options.token), as if its
 * identity had expired. Use it when one of several tokens of a principal was revoked. Returns the
 * number of streams that it ended. */
MCP_API size_t mcp_listener_end_token(mcp_listener *listener, const char *token);
/* Closes all connections at once and frees the listener. Must not be called from a callback of its
 * server. NULL is allowed. */
MCP_API void mcp_listener_close(mcp_listener *listener);

typedef struct mcp_serve_options {
    size_t size;
    bool no_signals;   /* do not end on SIGTERM and SIGINT */
    bool drain_now;    /* begin to drain at once */
    uint64_t drain_ms; /* how long draining may take; default 10,000 */
    /* Called on the loop's thread when the end begins, before anything is closed and before delay_ms. May
     * be NULL. */
    void (*draining)(void *user);
    void *user;
    /* How long to serve on before draining, for load balancers that go on sending requests for a while.
     * Meanwhile GET /readyz is answered with 503. A further signal ends this time. Default 0. */
    uint64_t delay_ms;
    /* How long draining leaves idle connections open, at most for drain_ms: a proxy may be sending a request on a
     * connection that looks idle. Their next answer has "Connection: close". Default 0. */
    uint64_t linger_ms;
} mcp_serve_options;

/* Runs the loop until SIGTERM, SIGINT or mcp_loop_stop(), then drains all of its listeners, after
 * delay_ms. A further signal ends the draining at once. Requests that are not answered within drain_ms get an
 * error (mcp_listener_cut()). Signals that are already ignored stay ignored. Afterwards close the
 * listeners, then call mcp_loop_drain(). Returns MCP_OK, MCP_ECANCELLED (requests got an error
 * instead of their answer; *error says how many), MCP_ESTATE (no listener is open) or
 * MCP_EINVAL. */
MCP_API int mcp_loop_serve_http(mcp_loop *loop, const mcp_serve_options *options, mcp_error *error);

/* Makes a loop, gives its host to the server until this call returns, opens one listener and serves
 * it. options may be NULL. After MCP_ETIMEOUT a job still runs: do not free the server. For
 * providers that keep timers use the calls above instead and free the server before the loop. */
MCP_API int mcp_serve_http(mcp_server *server, const char *address, const mcp_http_options *options,
                           mcp_error *error);

/* ---- child process client -------------------------------------------------------------------- */

typedef struct mcp_child_options {
    size_t size;
    const char *const *argv; /* NULL-terminated; argv[0] is looked up in PATH; no shell is used */
    /* NULL-terminated; each is "NAME=value"; NULL inherits the environment */
    const char *const *env;
    const char *cwd; /* working directory; NULL inherits it */
    /* Gets the bytes that the child writes to stderr, in pieces as they arrive. If this is NULL,
     * they are discarded except for the last 4 KiB, which mcp_child_stderr() returns. */
    void (*on_stderr)(mcp_str bytes, void *user);
    /* Called when the child has ended and the client's pending calls have failed. `status` is the
     * exit status, or 128 + signal. */
    void (*on_exit)(int status, void *user);
    void *user;
    /* The time from closing the child's stdin to SIGTERM. SIGKILL follows after twice that time.
     * The default is 2000. */
    uint64_t kill_ms;
} mcp_child_options;

typedef struct mcp_child mcp_child;

/* Starts a server in its own session and process group and connects the client to its stdin and
 * stdout (2026-07-28, basic/transports/stdio). When the server ends or closes its stdout, the
 * client is disconnected, with the exit status and the last line of stderr as the reason. SIGPIPE
 * is set to be ignored if it has its default action. Returns MCP_OK, MCP_ENOTFOUND (no such
 * program), MCP_EACCESS (it may not be executed), MCP_EINVAL, MCP_EIO, MCP_ENOMEM or MCP_ESTATE
 * (the client is connected already). */
MCP_API int mcp_child_spawn(mcp_loop *loop, mcp_client *client, const mcp_child_options *options,
                            mcp_child **ret, mcp_error *error);
/* Returns the last 4 KiB that the child wrote to stderr, borrowed until the loop runs again. */
MCP_API mcp_str mcp_child_stderr(const mcp_child *child);
/* Ends the child (closes its stdin, then sends SIGTERM, then SIGKILL to its whole group), reaps it
 * and frees the object. Runs the loop meanwhile, so it must not be called from a callback. Call it
 * before freeing the client. Returns the status that on_exit gets. NULL is allowed. */
MCP_API int mcp_child_close(mcp_child *child);

/* ---- HTTP client ----------------------------------------------------------------------------- */

/* Connects to a server by Streamable HTTP of every revision. Falls back to HTTP+SSE of 2024-11-05
 * (2026-07-28, basic/transports/streamable-http, "Backward Compatibility"). libcurl is loaded by
 * the first mcp_http_client_connect() or mcp_loop_fetch() of the process.
 *
 * Each message of the client is a POST of its own; connections are reused. For unsolicited messages
 * of a legacy server, the client opens a GET stream. A stream that breaks off is resumed with
 * Last-Event-ID, after the pause that the server sets (`retry`). Repeated failures make the pause
 * longer. Redirects are followed within the origin of the URL, and from http to https on the
 * default ports. Certificates are verified. Cookies of the server (RFC 6265) are sent back to its
 * origin, because a balancer may recognize a session by them. They are kept in memory, for each
 * client its own. If a header Cookie is set here, only that one is sent. */
typedef struct mcp_http_client mcp_http_client;

typedef int mcp_http_add_fn(const char *name, const char *value, void *arg);

typedef struct mcp_http_challenge {
    size_t size;      /* set by the library */
    int status;       /* 401 or 403 */
    unsigned attempt; /* how many times this message was rejected, from 1 */
    const char *method, *url;
    mcp_str www_authenticate; /* several values are joined by ", "; empty if none */
    mcp_str body;             /* at most the first 64 KiB */
} mcp_http_challenge;

typedef struct mcp_http_client_options {
    size_t size;
    /* "https://example.com/mcp", or "unix:PATH" for HTTP at a Unix socket, where the endpoint is
     * /mcp. Must not have a user, a password or a fragment. Required; everything is copied. */
    const char *url;
    /* path of a Unix socket to connect to, whatever host the URL (http) names */
    const char *unix_socket;
    /* Headers for every request, "Name: value", NULL-terminated. Headers of HTTP itself and of MCP
     * cannot be set. The given headers are sent only to the origin of the URL, and never appear in
     * errors or logs. */
    const char *const *headers;
    const char *principal; /* owner of the authorization: see mcp_client_set_authorization() */
    /* The proxy, for example "http://proxy:3128". "" means no proxy. If this is NULL, libcurl reads
     * the proxy from the environment (https_proxy, http_proxy, no_proxy), except for the
     * loopback. */
    const char *proxy;
    /* PEM file of certificates that are trusted instead of the system's. NULL means the file that the
     * environment variable SSL_CERT_FILE names, or else the system's. */
    const char *ca_file;

    /* Adds headers to one request before it is sent, by calling add() any number of times. add()
     * returns MCP_OK, MCP_EINVAL (this header is not allowed), MCP_ELIMIT or MCP_ENOMEM. If this
     * function returns a negative code, the request fails. Must not call the client. */
    int (*request_headers)(const char *method, const char *url, mcp_http_add_fn *add, void *arg,
                           void *user);
    /* Called when the server requires authorization (401) or other permissions (403). If it returns
     * MCP_OK, the message is sent again at once, with new headers from request_headers. If it
     * returns MCP_PENDING, the message is sent again when mcp_http_client_authorized() is called;
     * this function is also called for messages that are rejected meanwhile. If it returns a
     * negative code, or is NULL, the call fails with MCP_EACCESS. Called at most 4 times for one
     * message. */
    int (*challenge)(const mcp_http_challenge *challenge, void *user);
    /* Called when the connection has ended (HTTP+SSE only, because Streamable HTTP has no lasting
     * connection). The client is disconnected already, and can be connected again after
     * mcp_http_client_close(). `why` is the reason, for people. */
    void (*on_end)(const char *why, void *user);
    void *user;

    bool no_stream;      /* no GET stream for unsolicited messages of a legacy server */
    bool no_http_sse;    /* do not fall back to HTTP+SSE */
    uint64_t connect_ms; /* time-out of connecting; default 10,000 */
    /* time-out of messages that have none of their own (notifications and answers); default
     * 30,000 */
    uint64_t answer_ms;
    /* time-out of the last messages, and again of ending the session; default 1,000 */
    uint64_t close_ms;
    /* pause before a stream is resumed, unless the server sets it; default 1,000 */
    uint64_t retry_ms;
    uint64_t max_retry_ms; /* the longest pause after failures; default 60,000 */
    /* maximum of concurrent requests, and of notifications and answers; default 64 each */
    size_t max_exchanges;
    /* Authorizes the requests (mcp/oauth.h). Its `server` must be `url`. It answers 401 and 403, and
     * `challenge` is called only for those that it cannot answer. It must outlive this transport.
     * The header Authorization must not be set in another way. */
    mcp_oauth_client *oauth;
    /* How many messages of all event streams of this client are read in a second, on average, at most
     * 1,000,000; each 4 KiB count as a further message. Those of one second may arrive at once. After
     * that, streams are read more slowly, so that the server has to wait. 0 means no limit. */
    size_t messages_per_second;
    /* Called when the server has to wait because of messages_per_second, at most once in ten seconds.
     * Must not call the client. May be NULL. */
    void (*slowed)(void *user);
    /* Called when a message will be sent again in `ms` milliseconds, because the server refused it for
     * now: with HTTP status 429 or 503 and Retry-After. This happens at most 3 times for a message and
     * 60 s in all, and not beyond its time-out. Must not call the client. May be NULL. */
    void (*waits)(int status, uint64_t ms, void *user);
} mcp_http_client_options;

/* Connects a client. Nothing is sent before the client starts. SIGPIPE is set to be ignored if it
 * has its default action. Returns MCP_OK, MCP_EINVAL (the URL or a header is invalid),
 * MCP_EUNSUPPORTED (libcurl 7.85 or newer is not installed), MCP_ESTATE (the client is connected
 * already), MCP_EIO or MCP_ENOMEM. */
MCP_API int mcp_http_client_connect(mcp_loop *loop, mcp_client *client,
                                    const mcp_http_client_options *options, mcp_http_client **ret,
                                    mcp_error *error);
/* Continues after `challenge` returned MCP_PENDING. If rc is MCP_OK, the waiting messages are sent
 * again; if it is a negative code, they fail. Must not be called from within `challenge` or
 * request_headers. */
MCP_API void mcp_http_client_authorized(mcp_http_client *http, int rc);
/* Closes open streams, sends the remaining notifications and answers (for at most close_ms), ends
 * the session (DELETE, at most close_ms), disconnects the client and frees the object. Runs the
 * loop meanwhile, so it must not be called from a callback. Call it before freeing the client. NULL
 * is allowed. */
MCP_API void mcp_http_client_close(mcp_http_client *http);

/* Disconnects at once, without ending the session: open exchanges are aborted, and the remaining
 * messages are discarded. May be called from callbacks other than those of the client. The object
 * is freed when the loop next runs, or when the loop itself is freed. */
MCP_API void mcp_http_client_free(mcp_http_client *http);
/* Like mcp_http_client_free(), but also ends the session with a DELETE request. The request is sent
 * when the loop next runs and may take at most close_ms. Its answer is ignored. mcp_loop_drain()
 * waits for its end. */
MCP_API void mcp_http_client_leave(mcp_http_client *http);

/* ---- fetching -------------------------------------------------------------------------------- */

/* Begins a fetch (mcp/fetch.h). At most 5 redirects are followed, to http and https only, never
 * from https to http, and none if the request has a secret. No cookies are sent. ret may be NULL;
 * *ret is valid until `done` is called. mcp_loop_free() calls `done` with MCP_ECANCELLED. Returns
 * MCP_OK, MCP_EINVAL (the URL or `authorization` is invalid), MCP_EACCESS (the URL names this
 * machine or a private network), MCP_EUNSUPPORTED (no libcurl), MCP_EIO or MCP_ENOMEM. */
MCP_API int mcp_loop_fetch(mcp_loop *loop, const mcp_fetch_options *options, mcp_fetch **ret,
                           mcp_error *error);
/* Cancels a fetch: `done` is not called. */
MCP_API void mcp_fetch_cancel(mcp_fetch *fetch);
/* Fills in the functions that a resource server (mcp/auth.h) or a client (mcp/oauth.h) needs, for a
 * loop: clock, timers, worker threads, fetches and log. Set `size` before the call. The loop must
 * outlive the resource server and the client. */
MCP_API void mcp_loop_auth_host(mcp_loop *loop, mcp_auth_host *ret);

/* ---- logins in a file ------------------------------------------------------------------------- */

/* A store of OAuth clients (mcp_oauth_store in mcp/oauth.h): a file with the records of all logins of
 * a user, which several processes may use at the same time. The file contains secrets. It is only
 * replaced as a whole, so after a failure it has the old or the new records. */
typedef struct mcp_oauth_file_store mcp_oauth_file_store;

typedef struct mcp_oauth_file_options {
    size_t size;
    /* The path of the file, for example "/home/me/.local/state/mcp/auth.json". Required; copied. The
     * file and its folder are made when the first record is stored, with the modes 0600 and 0700.
     * Beside it there is a file with the same name and ".lock". The file must not be accessible to
     * others, and it, its folder and a link at its path must belong to the user. Others must not be
     * able to write to the folder. */
    const char *path;
    /* How long a client waits for the lock of a record, which another one has while it renews a
     * token; default 60,000. */
    uint64_t lock_ms;
} mcp_oauth_file_options;

/* Makes a store. Nothing is read or written yet. Returns MCP_OK, MCP_EINVAL, MCP_EACCESS (a link of
 * another user), MCP_EIO or MCP_ENOMEM. */
MCP_API int mcp_oauth_file_store_new(mcp_loop *loop, const mcp_oauth_file_options *options,
                                     mcp_oauth_file_store **ret, mcp_error *error);
/* Frees a store, after the clients that use it and before the loop. NULL is allowed. */
MCP_API void mcp_oauth_file_store_free(mcp_oauth_file_store *store);
/* Returns the functions for mcp_oauth_client_options.store. They are valid as long as the store. In
 * addition to the codes of mcp_oauth_store they return MCP_EACCESS (the file is not private),
 * MCP_EPARSE (it is damaged; it is never replaced then), MCP_EUNSUPPORTED (it was written by a later
 * version), MCP_ELIMIT (larger than 16 MiB, or a record larger than 1 MiB), MCP_ETIMEOUT, MCP_EIO or
 * MCP_ENOMEM. `load` and `save` access the disk. `save` waits while another process replaces the
 * file, for at most 10 seconds. */
MCP_API const mcp_oauth_store *mcp_oauth_file_store_get(const mcp_oauth_file_store *store);
/* Calls each() for all records, in no particular order; the strings are borrowed until it returns.
 * Returns MCP_OK, also if there is no file, or the codes of `load`. */
MCP_API int mcp_oauth_file_store_list(const mcp_oauth_file_store *store,
                                      void (*each)(void *arg, mcp_str key, mcp_str record),
                                      void *arg, mcp_error *error);

#ifdef __cplusplus
}
#endif
#endif
