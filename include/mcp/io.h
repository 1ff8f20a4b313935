/* mcp/io.h: ready-made transports on libuv: stdio, Streamable HTTP, child processes; and plain HTTP
 * GETs. Part of libmcp-io.
 *
 * The simplest servers call mcp_serve_stdio() or mcp_serve_http(). For more control make a
 * mcp_loop, pass its host (timers, file watching, worker threads) to the server, and run it.
 */
#ifndef MCP_IO_H
#define MCP_IO_H

#include <mcp/base.h>
#include <mcp/client.h>
#include <mcp/http.h>
#include <mcp/provider.h>
#include <mcp/server.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- loop ------------------------------------------------------------------------------------ */

/* An event loop (a uv_loop_t) with a mcp_host. Everything that uses it belongs to the thread that
 * runs it. A loop cannot be nested: of these calls only mcp_loop_stop(), _now(), _host() and _uv()
 * may be made from a callback of the same loop. */
typedef struct mcp_loop mcp_loop;

/* Makes a loop. If any of the descriptors 0 to 2 is closed, it is first opened on /dev/null, so
 * that nothing else takes its place. MCP_ENOMEM, MCP_EIO, MCP_EINVAL (no ret). */
MCP_API int mcp_loop_new(const mcp_allocator *allocator, mcp_loop **ret, mcp_error *error);
/* Sets the limits of the host's `work` and `work_long`: at most `threads` worker threads (256; more
 * than 4096 is MCP_EINVAL) and at most `waiting` queued jobs (4096); beyond that, queuing a job
 * fails with MCP_ELIMIT. 0 selects the default. Threads are started when needed and end when idle.
 * They have a stack of 1 MiB and block signals. One in eight is never used for `work_long`.
 * MCP_OK. */
MCP_API int mcp_loop_set_workers(mcp_loop *loop, size_t threads, size_t waiting);
/* Runs posted functions and ends the work on worker threads. Jobs that have not begun never run,
 * but their `done` is called; running jobs are waited for, for at most ms milliseconds. Call it
 * after closing the last channel of the loop's servers and before freeing the servers, because
 * `done` needs its server: see mcp_loop_free(). MCP_OK, MCP_EINVAL; MCP_ETIMEOUT: a job still runs,
 * for example on a file system that hangs. Then neither the servers nor the loop may be freed: try
 * again, or leave them and end the process with _exit() (exit() may destroy what the thread
 * uses). */
MCP_API int mcp_loop_drain(mcp_loop *loop, uint64_t ms);
/* Stops what is left on the loop and frees it. NULL is allowed. Tear down in this order:
 *   1. close the channels (mcp_loop_serve_stdio() does it; mcp_listener_close());
 *   2. mcp_server_cancel_tasks() if calls run as tasks;
 *   3. mcp_loop_drain();
 *   4. mcp_server_free(), because providers stop their timers through the host;
 *   5. mcp_loop_free().
 *
 * Jobs that were queued without a server are waited for. The program's own threads must have
 * stopped posting. */
MCP_API void mcp_loop_free(mcp_loop *loop);
/* Runs the loop until mcp_loop_stop() or until nothing is left to wait for. */
MCP_API int mcp_loop_run(mcp_loop *loop);
/* Ends the current mcp_loop_run(), _step() or _serve_stdio(), or the next one if none is running.
 * This is the only call that may be made from a signal handler or another thread. */
MCP_API void mcp_loop_stop(mcp_loop *loop);
/* Handles the events that are ready, after waiting for at most ms milliseconds (0: not at all).
 * MCP_OK; MCP_ECANCELLED after mcp_loop_stop(). */
MCP_API int mcp_loop_step(mcp_loop *loop, uint64_t ms);
MCP_API int64_t mcp_loop_now(const mcp_loop *loop);
/* For mcp_server_set_host(); lives as long as the loop. */
MCP_API const mcp_host *mcp_loop_host(mcp_loop *loop);
/* The loop of a host that mcp_loop_host() returned, or of a copy of it; NULL: it is another one. */
MCP_API mcp_loop *mcp_host_loop(const mcp_host *host);
/* Sets the lowest level of lines that the host's log() writes to stderr: "debug", "info", "warning"
 * or "error"; NULL, the default: none. Logging never blocks: lines that stderr does not take are
 * dropped and counted, and the count is reported later. MCP_OK or MCP_EINVAL. */
MCP_API int mcp_loop_set_log_level(mcp_loop *loop, const char *level);
/* The underlying uv_loop_t, for programs that use libuv directly. */
MCP_API void *mcp_loop_uv(mcp_loop *loop);

/* ---- stdio server ---------------------------------------------------------------------------- */

typedef struct mcp_stdio_options {
    size_t size;
    int input; /* descriptors; both 0: stdin and stdout */
    int output;
    bool keep_stdout; /* do not redirect descriptor 1 of the program to stderr */
    bool no_signals;  /* do not end on SIGTERM, SIGINT and SIGHUP, nor with the parent process */
    const char *principal;
    size_t max_message; /* as mcp_channel_options */
    size_t max_output;  /* unsent bytes at which reading stops; 1 MiB */
    uint64_t drain_ms;  /* how long answers may take after the end of input; 2000 */
} mcp_stdio_options;

/* Serves one peer on stdin and stdout (2026-07-28, basic/transports/stdio) until the end of input,
 * the end of the parent process (Linux 5.3), a signal (SIGTERM, SIGINT, SIGHUP) or mcp_loop_stop().
 * A server without a host gets the loop's.
 *
 * Unless keep_stdout is set, descriptor 1 is moved first and replaced by stderr, so that a stray
 * printf() cannot reach the peer. It stays replaced, because the buffers of the C library's stdio
 * are flushed later. SIGPIPE is ignored while serving. Signals that are already ignored (nohup)
 * stay ignored; if SIGHUP is ignored, so is the end of the parent. While the peer does not read,
 * nothing is read from it.
 *
 * At the end the work is drained (mcp_loop_drain(), at most drain_ms), unless a listener is or was
 * open on this loop. MCP_OK at a regular end, which includes a signal and a peer that is gone;
 * MCP_EIO, MCP_ENOMEM, MCP_EINVAL, MCP_ELIMIT (the peer does not read what it requested),
 * MCP_ETIMEOUT (as mcp_loop_drain(): server and loop must not be freed). */
MCP_API int mcp_loop_serve_stdio(mcp_loop *loop, mcp_server *server,
                                 const mcp_stdio_options *options, mcp_error *error);

/* All in one call: makes a loop, lends its host to the server until it returns, and serves stdio.
 * For providers that keep timers use mcp_loop_serve_stdio() instead and free the server before the
 * loop. After MCP_ETIMEOUT a job still runs: do not free the server. */
MCP_API int mcp_serve_stdio(mcp_server *server, mcp_error *error);

/* ---- HTTP server ----------------------------------------------------------------------------- */

typedef struct mcp_listener mcp_listener;

typedef struct mcp_listen_options {
    size_t size;
    /* "127.0.0.1:8642", which is the default; "[::1]:0" (port 0: any free port), "localhost:8642"
     * and ":8642" (both 127.0.0.1), "0.0.0.0:8642", "[::]:8642" (IPv4 too), "unix:PATH". Other
     * names are not resolved. An address that is not loopback is warned about through the server's
     * host unless `authenticate` is set. An address that is neither loopback nor a wildcard is
     * added to the allowed hosts. */
    const char *address;
    unsigned socket_mode;           /* of a Unix socket's file; 0600 */
    const char *tls_cert, *tls_key; /* PEM files: TLS 1.2 or newer, by OpenSSL 3, loaded now */
    const mcp_http_options *http;   /* `random`, `date`, `clock` and `allocator` may be NULL */
    /* The number of the process's descriptors (RLIMIT_NOFILE) that connections leave free for other
     * purposes, such as reading files. When no more are left, idle connections are closed, those
     * without a token first, and new ones get 503. 0: a quarter of the limit, at most 512. */
    size_t keep_files;
} mcp_listen_options;

/* Opens an endpoint at an address, which is served while the loop runs. A stale file of a Unix
 * socket is replaced. A server without a host gets the loop's. Close the listener before freeing
 * the server and the loop. MCP_EINVAL (also: certificate or key cannot be used), MCP_EEXIST (the
 * address is in use), MCP_EACCESS, MCP_EUNSUPPORTED (no OpenSSL 3), MCP_EIO, MCP_ENOMEM. */
MCP_API int mcp_loop_listen(mcp_loop *loop, mcp_server *server, const mcp_listen_options *options,
                            mcp_listener **ret, mcp_error *error);
/* The address at which it listens, with the actual port: "127.0.0.1:8642", "[::1]:40123",
 * "unix:/run/mcp.sock". Lives as long as the listener. */
MCP_API const char *mcp_listener_address(const mcp_listener *listener);
/* Its endpoint, for mcp_http_connections() and similar calls; owned by the listener. */
MCP_API mcp_http *mcp_listener_http(mcp_listener *listener);
/* Stops accepting connections and closes the open ones gracefully: listen streams get their result,
 * requests are still answered, idle connections are closed. mcp_listener_connections() returns how
 * many are left. */
MCP_API void mcp_listener_drain(mcp_listener *listener);
/* Reads the certificate and key again, from the same paths, for new connections; open ones keep
 * theirs. Does nothing without TLS. After a failure the old certificate stays in use: MCP_EINVAL (a
 * file cannot be read, is not a certificate, or the key does not belong to it), MCP_ENOMEM. */
MCP_API int mcp_listener_reload_tls(mcp_listener *listener, mcp_error *error);
/* Ends draining, as mcp_http_cut(). */
MCP_API size_t mcp_listener_cut(mcp_listener *listener);
MCP_API size_t mcp_listener_connections(const mcp_listener *listener);
/* As mcp_http_revoke(). */
MCP_API void mcp_listener_revoke(mcp_listener *listener, const char *principal);
/* Closes all connections at once and frees the listener. Must not be called from a callback of its
 * server. NULL is allowed. */
MCP_API void mcp_listener_close(mcp_listener *listener);

typedef struct mcp_serve_options {
    size_t size;
    bool no_signals;   /* do not end on SIGTERM and SIGINT */
    bool drain_now;    /* begin to drain at once */
    uint64_t drain_ms; /* how long draining may take; 10,000 */
} mcp_serve_options;

/* Runs the loop until SIGTERM, SIGINT or mcp_loop_stop(), then drains all of its listeners; a
 * second signal ends it at once. Requests that are not answered by then get an error
 * (mcp_listener_cut()). Signals that are already ignored stay ignored. Afterwards close the
 * listeners, then call mcp_loop_drain(). MCP_OK; MCP_ECANCELLED (requests were cut off: error says
 * how many); MCP_ESTATE (no listener is open), MCP_EINVAL. */
MCP_API int mcp_loop_serve_http(mcp_loop *loop, const mcp_serve_options *options, mcp_error *error);

/* All in one call: makes a loop, lends its host to the server until it returns, and opens one
 * listener. options may be NULL. MCP_ETIMEOUT as mcp_serve_stdio(). For providers that keep timers
 * use the calls above instead and free the server before the loop. */
MCP_API int mcp_serve_http(mcp_server *server, const char *address, const mcp_http_options *options,
                           mcp_error *error);

/* ---- child process client -------------------------------------------------------------------- */

typedef struct mcp_child_options {
    size_t size;
    const char *const *argv; /* NULL-terminated; argv[0] is looked up in PATH; never a shell */
    const char *const *env;  /* NULL-terminated "NAME=value"; NULL: inherited */
    const char *cwd;         /* NULL: inherited */
    /* Gets what the child writes to stderr, in pieces as they arrive. NULL: it is read and
     * discarded except for the last 4 KiB, which mcp_child_stderr() returns. */
    void (*on_stderr)(mcp_str bytes, void *user);
    /* The child ended (exit status, or 128 + signal); the client's pending calls have failed. */
    void (*on_exit)(int status, void *user);
    void *user;
    /* Time from closing its stdin to SIGTERM; SIGKILL follows after twice that time. 2000. */
    uint64_t kill_ms;
} mcp_child_options;

typedef struct mcp_child mcp_child;

/* Starts a server in its own session and process group and connects the client to its stdin and
 * stdout (2026-07-28, basic/transports/stdio). When the server ends or closes its stdout, the
 * client is disconnected, with the exit status and the last line of stderr as the reason. SIGPIPE
 * is set to be ignored if it has its default action. MCP_ENOTFOUND (no such program), MCP_EACCESS
 * (it may not be executed), MCP_EINVAL, MCP_EIO, MCP_ENOMEM, MCP_ESTATE (the client is connected
 * already). */
MCP_API int mcp_child_spawn(mcp_loop *loop, mcp_client *client, const mcp_child_options *options,
                            mcp_child **ret, mcp_error *error);
/* The end of what the child wrote to stderr; borrowed until the loop runs again. */
MCP_API mcp_str mcp_child_stderr(const mcp_child *child);
/* Ends the child (closes its stdin, then sends SIGTERM, then SIGKILL to its whole group), reaps it
 * and frees the object. Runs the loop meanwhile, so it must not be called from a callback. Call it
 * before freeing the client. Returns the child's status as on_exit gets it. NULL is allowed. */
MCP_API int mcp_child_close(mcp_child *child);

/* ---- HTTP client ----------------------------------------------------------------------------- */

/* Reaches a server by Streamable HTTP of every revision, or by HTTP+SSE of 2024-11-05, which the
 * client falls back to (2026-07-28, basic/transports/streamable-http; "Backward Compatibility"
 * there). libcurl is loaded by the first mcp_http_client_connect() or mcp_loop_fetch() of the
 * process.
 *
 * Each message of the client is a POST of its own; connections are reused. For unsolicited messages
 * of a legacy server the client opens a GET stream. Streams that break off are resumed with
 * Last-Event-ID after the time that the server sets (`retry`), with longer waits after repeated
 * failures. Redirects are followed within the origin of the URL, and from http to https on the
 * default ports. There are no cookies, and certificates are verified. */
typedef struct mcp_http_client mcp_http_client;

typedef int mcp_http_add_fn(const char *name, const char *value, void *arg);

typedef struct mcp_http_challenge {
    size_t size;      /* set by the library */
    int status;       /* 401 or 403 */
    unsigned attempt; /* how often this message was refused, from 1 */
    const char *method, *url;
    mcp_str www_authenticate; /* several are joined by ", "; empty: none */
    mcp_str body;             /* as far as it was read: 64 KiB */
} mcp_http_challenge;

typedef struct mcp_http_client_options {
    size_t size;
    /* "https://example.com/mcp", or "unix:PATH" for HTTP at a Unix socket, where the endpoint is
     * /mcp. Must not have a user, a password or a fragment. Required; everything is copied. */
    const char *url;
    const char *unix_socket; /* path: connect to it, whatever host the URL (http) names */
    /* Headers for every request, "Name: value", NULL-terminated. Headers of HTTP itself and of MCP
     * cannot be set. They are sent to the URL's origin only and never appear in errors or logs. */
    const char *const *headers;
    const char *principal; /* the owner of the authorization: see mcp_client_set_authorization() */
    /* The proxy, "http://proxy:3128"; "": none. NULL: libcurl takes it from the environment
     * (https_proxy, http_proxy, no_proxy), except for the loopback. */
    const char *proxy;
    const char *ca_file; /* PEM: trust these instead of the system's */

    /* Adds headers to one request that is about to be sent: calls add() any number of times, which
     * returns MCP_OK, MCP_EINVAL (not allowed there), MCP_ELIMIT or MCP_ENOMEM. If this function
     * returns a negative code, the request fails. Must not call the client. */
    int (*request_headers)(const char *method, const char *url, mcp_http_add_fn *add, void *arg,
                           void *user);
    /* The server requires authorization (401) or other permissions (403). MCP_OK: send the message
     * again now, with new headers from request_headers. MCP_PENDING: send it again at
     * mcp_http_client_authorized(); this function is also called for messages that are refused
     * meanwhile. A negative code: the call fails with MCP_EACCESS, as it does if this function is
     * NULL. Called at most 4 times for one message. */
    int (*challenge)(const mcp_http_challenge *challenge, void *user);
    /* The connection is over (HTTP+SSE only: Streamable HTTP has no lasting connection). The client
     * is disconnected already, and can be connected again after mcp_http_client_close(). why is for
     * a person. */
    void (*on_end)(const char *why, void *user);
    void *user;

    bool no_stream;        /* no GET stream for unsolicited messages of a legacy server */
    bool no_http_sse;      /* do not fall back to HTTP+SSE */
    uint64_t connect_ms;   /* for a connection; 10,000 */
    uint64_t answer_ms;    /* for messages without a time-out: notifications, answers; 30,000 */
    uint64_t close_ms;     /* for last messages and for the end of a session, each; 1,000 */
    uint64_t retry_ms;     /* before a stream is resumed, unless the server sets it; 1,000 */
    uint64_t max_retry_ms; /* the longest wait after failures; 60,000 */
    size_t max_exchanges;  /* concurrent requests, and as many notifications and answers; 64 */
} mcp_http_client_options;

/* Connects a client; nothing is sent before its start. SIGPIPE is set to be ignored if it has its
 * default action. MCP_EINVAL (the URL, a header), MCP_EUNSUPPORTED (libcurl 7.85 or newer is not
 * installed), MCP_ESTATE (the client is connected already), MCP_EIO, MCP_ENOMEM. */
MCP_API int mcp_http_client_connect(mcp_loop *loop, mcp_client *client,
                                    const mcp_http_client_options *options, mcp_http_client **ret,
                                    mcp_error *error);
/* Continues after `challenge` returned MCP_PENDING: with MCP_OK the waiting messages are sent
 * again, with a negative code they fail. Must not be called from within `challenge` or
 * request_headers. */
MCP_API void mcp_http_client_authorized(mcp_http_client *http, int rc);
/* Closes open streams, sends the remaining notifications and answers (for at most close_ms), ends
 * the session (DELETE, at most close_ms), disconnects the client and frees the object. Runs the
 * loop meanwhile, so it must not be called from a callback. Call it before freeing the client. NULL
 * is allowed. */
MCP_API void mcp_http_client_close(mcp_http_client *http);

/* The same at once and without a farewell: open exchanges are broken off, and the session is not
 * ended. May be called from callbacks other than those of the client. The object is freed when the
 * loop runs the next time, or is freed. */
MCP_API void mcp_http_client_free(mcp_http_client *http);

/* ---- fetching -------------------------------------------------------------------------------- */

/* A plain GET, for resources with https:// URIs, which a client may read directly (2026-07-28,
 * server/resources, "Common URI Schemes"). Such URIs are untrusted: unless allow_private is set, no
 * request goes to this machine or to private networks, whatever a name resolves to. */
typedef struct mcp_fetch mcp_fetch;

typedef struct mcp_fetched {
    size_t size;            /* set by the library */
    int status;             /* HTTP */
    const char *media_type; /* of Content-Type, without parameters; empty: none */
    mcp_str body;
} mcp_fetched;

/* The outcome. rc is MCP_OK for any HTTP status. Otherwise fetched is NULL: MCP_ECLOSED (not
 * reached, or broken off), MCP_ETIMEOUT, MCP_ELIMIT (max_bytes), MCP_EACCESS (a forbidden address,
 * certificate or redirect), MCP_EPROTOCOL, MCP_ENOMEM. Everything is borrowed until the function
 * returns. */
typedef void mcp_fetch_fn(int rc, const mcp_fetched *fetched, const mcp_error *error, void *user);

typedef struct mcp_fetch_options {
    size_t size;
    const char *url;     /* http or https; required; copied */
    const char *accept;  /* NULL: anything */
    size_t max_bytes;    /* of the body, decompressed; 16 MiB */
    uint64_t timeout_ms; /* for all of it; 60,000 */
    bool allow_private;  /* allow this machine and private networks */
    const char *proxy;   /* NULL: none. A proxy resolves the names itself */
    const char *ca_file;
    mcp_fetch_fn *done; /* required; called once, not from within mcp_loop_fetch() */
    void *user;
} mcp_fetch_options;

/* Begins a fetch. It follows at most 5 redirects, to http and https only, never from https to http,
 * and sends no cookies. ret may be NULL; what it gets is valid until `done`, which mcp_loop_free()
 * calls with MCP_ECANCELLED. MCP_OK; MCP_EINVAL (the URL), MCP_EACCESS (it names this machine or a
 * private network), MCP_EUNSUPPORTED (no libcurl), MCP_EIO, MCP_ENOMEM. */
MCP_API int mcp_loop_fetch(mcp_loop *loop, const mcp_fetch_options *options, mcp_fetch **ret,
                           mcp_error *error);
/* Cancels a fetch: `done` is not called. */
MCP_API void mcp_fetch_cancel(mcp_fetch *fetch);

#ifdef __cplusplus
}
#endif
#endif
