/* mcp/io.h: ready-made transports on libuv: stdio, Streamable HTTP, child processes; and plain HTTP GETs.
 * Part of libmcp-io.
 *
 * The simplest servers are mcp_serve_stdio() and mcp_serve_http(). For more control make a mcp_loop,
 * give its host to the server (timers, watching, worker threads), and run it.
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

/* An event loop (a uv_loop_t) with a mcp_host on it. Everything that uses it belongs to the thread that
 * runs it. It does not run within itself: none of these calls but mcp_loop_stop(), _now(), _host() and
 * _uv() may come from a callback of the same loop. */
typedef struct mcp_loop mcp_loop;

/* Descriptors 0 to 2 that are closed are opened on /dev/null first, so that nothing else takes their
 * place. MCP_ENOMEM, MCP_EIO, MCP_EINVAL (no ret). */
MCP_API int mcp_loop_new(const mcp_allocator *allocator, mcp_loop **ret, mcp_error *error);
/* Worker threads of the host's `work` and `work_long`: at most `threads` (256; at most 4096, else
 * MCP_EINVAL) that run and `waiting` (4096) that wait for one; more work than that is MCP_ELIMIT. 0 is the
 * default. Threads are started when they are needed, end when they are not, have a stack of 1 MiB and
 * block signals; one in eight is not used for `work_long`. MCP_OK. */
MCP_API int mcp_loop_set_workers(mcp_loop *loop, size_t threads, size_t waiting);
/* Runs what was posted, and ends the work on worker threads that nobody waits for any more: what has not
 * begun never runs (its `done` is called all the same), what runs is waited for, ms at the most. To be called between closing
 * the last channel of the loop's servers and freeing those, because `done` needs its server: see
 * mcp_loop_free(). MCP_OK; MCP_ETIMEOUT: some still runs, on a file system that hangs, say; then neither
 * the servers nor the loop may be freed: try again, or leave them to the end of the process, by _exit()
 * (exit() may take away what the thread uses). MCP_EINVAL. */
MCP_API int mcp_loop_drain(mcp_loop *loop, uint64_t ms);
/* Stops what is left on it and frees it. NULL is allowed. The end of everything goes: close the channels
 * (mcp_loop_serve_stdio() does; mcp_listener_close()), mcp_server_cancel_tasks() where calls run as tasks,
 * mcp_loop_drain(), mcp_server_free(), because providers stop their timers through the host, then this.
 * Work that was queued without a server is waited for. Threads of your own must not post any more by then. */
MCP_API void mcp_loop_free(mcp_loop *loop);
/* Runs until mcp_loop_stop() or until nothing is left to wait for. */
MCP_API int mcp_loop_run(mcp_loop *loop);
/* Ends the present mcp_loop_run(), _step() or _serve_stdio(), or the next one when there is none. The
 * one call that may come from a signal handler or another thread. */
MCP_API void mcp_loop_stop(mcp_loop *loop);
/* Runs what is ready, waiting for at most ms milliseconds (0: not at all). MCP_OK; MCP_ECANCELLED after
 * mcp_loop_stop(). */
MCP_API int mcp_loop_step(mcp_loop *loop, uint64_t ms);
MCP_API int64_t mcp_loop_now(const mcp_loop *loop);
/* For mcp_server_set_host(); lives as long as the loop. */
MCP_API const mcp_host *mcp_loop_host(mcp_loop *loop);
/* What the host's log() passes to stderr: "debug", "info", "warning" or "error" and what is above it;
 * NULL, the default: nothing. It never waits for who reads stderr: lines that do not get through are
 * counted, and the count is told later. MCP_OK or MCP_EINVAL. */
MCP_API int mcp_loop_set_log_level(mcp_loop *loop, const char *level);
/* The uv_loop_t behind it, for who uses libuv himself. */
MCP_API void *mcp_loop_uv(mcp_loop *loop);

/* ---- stdio server ---------------------------------------------------------------------------- */

typedef struct mcp_stdio_options {
    size_t size;
    int input; /* descriptors; with both 0 stdin and stdout */
    int output;
    bool keep_stdout; /* do not take descriptor 1 away from the rest of the program */
    bool no_signals;  /* do not end on SIGTERM, SIGINT and SIGHUP, nor with the parent process */
    const char *principal;
    size_t max_message; /* as mcp_channel_options */
    size_t max_output;  /* bytes waiting for the reader before reading stops; 1 MiB */
    uint64_t drain_ms;  /* how long answers may take after the end of input; 2000 */
} mcp_stdio_options;

/* Serves one peer on stdin and stdout (2026-07-28, basic/transports/stdio) until the end of input, the
 * end of the process that started this one (Linux 5.3), a signal (SIGTERM, SIGINT, SIGHUP) or mcp_loop_stop(). Unless told otherwise descriptor 1 is moved away
 * first and replaced by stderr, so that a stray printf() cannot reach the peer (it stays so: what stdio
 * has in its buffers is flushed later), and SIGPIPE is ignored for the time being. Signals that are
 * ignored already (nohup) stay ignored; with SIGHUP the parent's end is. A peer that does not read is not read from. A server without a
 * host gets the loop's. At the end work is drained (mcp_loop_drain(), at most drain_ms), unless something
 * listens or listened on this loop. MCP_OK at a regular end (also by signal, or when the peer is gone);
 * MCP_EIO, MCP_ENOMEM, MCP_EINVAL, MCP_ELIMIT (the peer does not read what it asked for), MCP_ETIMEOUT (as
 * mcp_loop_drain(): server and loop must not be freed). */
MCP_API int mcp_loop_serve_stdio(mcp_loop *loop, mcp_server *server,
                                 const mcp_stdio_options *options, mcp_error *error);

/* All of it in one call: a loop of its own, its host (until it returns), stdio. With providers that keep
 * timers use mcp_loop_serve_stdio() and free the server before the loop. After MCP_ETIMEOUT work still runs:
 * leave the server as it is. */
MCP_API int mcp_serve_stdio(mcp_server *server, mcp_error *error);

/* ---- HTTP server ----------------------------------------------------------------------------- */

typedef struct mcp_listener mcp_listener;

typedef struct mcp_listen_options {
    size_t size;
    /* "127.0.0.1:8642", which is the default; "[::1]:0" (port 0 is one that is free), "localhost:8642" and
     * ":8642" (both 127.0.0.1), "0.0.0.0:8642", "[::]:8642" (IPv4 too), "unix:PATH". Other names are not
     * looked up. What is not loopback gets a warning through the server's host unless somebody
     * authenticates. An address that is neither loopback nor a wildcard is one of the allowed hosts. */
    const char *address;
    unsigned socket_mode;           /* of a Unix socket's file; 0600 */
    const char *tls_cert, *tls_key; /* PEM files: TLS 1.2 or newer, by OpenSSL 3, loaded now */
    const mcp_http_options *http;   /* `random`, `date`, `clock`, `allocator` need not be there */
    /* Descriptors, of those that the process may have (RLIMIT_NOFILE), that connections leave to everything else, such
     * as files that are read: when no more are left, idle connections are closed, those without a token first, and
     * new ones get 503. 0: a quarter of the limit, 512 at the most. */
    size_t keep_files;
} mcp_listen_options;

/* Opens an endpoint at an address. It works while the loop runs. A Unix socket's file that nobody listens
 * at any more is replaced. A server without a host gets the loop's. MCP_EINVAL (also: certificate or key
 * cannot be used), MCP_EEXIST (somebody listens there), MCP_EACCESS, MCP_EUNSUPPORTED (no OpenSSL 3),
 * MCP_EIO, MCP_ENOMEM. Close it before the server and the loop are freed. */
MCP_API int mcp_loop_listen(mcp_loop *loop, mcp_server *server, const mcp_listen_options *options,
                            mcp_listener **ret, mcp_error *error);
/* Where it listens, with the real port: "127.0.0.1:8642", "[::1]:40123", "unix:/run/mcp.sock"; lives as
 * long as the listener. */
MCP_API const char *mcp_listener_address(const mcp_listener *listener);
/* Its endpoint, for mcp_http_connections() and its like; the listener's. */
MCP_API mcp_http *mcp_listener_http(mcp_listener *listener);
/* Accepts no more and ends gracefully what is open: listen streams get their result, requests are still
 * answered, idle connections are closed. mcp_listener_connections() says how many are left. */
MCP_API void mcp_listener_drain(mcp_listener *listener);
/* Reads its certificate and key again, from the same names, for connections from now on; those that are open keep
 * theirs. Without TLS there is nothing to do. After a failure what was in force stays: MCP_EINVAL (a file cannot be
 * read, is not a certificate, or not its key), MCP_ENOMEM. */
MCP_API int mcp_listener_reload_tls(mcp_listener *listener, mcp_error *error);
/* As mcp_http_cut(), for the end of draining. */
MCP_API size_t mcp_listener_cut(mcp_listener *listener);
MCP_API size_t mcp_listener_connections(const mcp_listener *listener);
/* As mcp_http_revoke(). */
MCP_API void mcp_listener_revoke(mcp_listener *listener, const char *principal);
/* Closes everything at once and frees it. Not from a callback of its server. NULL is allowed. */
MCP_API void mcp_listener_close(mcp_listener *listener);

typedef struct mcp_serve_options {
    size_t size;
    bool no_signals;   /* do not end on SIGTERM and SIGINT */
    bool drain_now;    /* begin with the end */
    uint64_t drain_ms; /* how long the end may take; 10,000 */
} mcp_serve_options;

/* Runs the loop until SIGTERM, SIGINT or mcp_loop_stop(), then drains all of its listeners; a second
 * signal ends it at once. Signals that are ignored already stay ignored. Afterwards close the listeners, then
 * mcp_loop_drain(). What is not answered by then gets an error (mcp_listener_cut()). MCP_OK; MCP_ECANCELLED (there was
 * such, error says how much); MCP_ESTATE (nothing listens), MCP_EINVAL. */
MCP_API int mcp_loop_serve_http(mcp_loop *loop, const mcp_serve_options *options, mcp_error *error);

/* All of it in one call: a loop of its own, its host (until it returns), one listener; options may be
 * NULL. MCP_ETIMEOUT as mcp_serve_stdio(). With providers that keep timers use the calls above and free the server before the loop. */
MCP_API int mcp_serve_http(mcp_server *server, const char *address, const mcp_http_options *options,
                           mcp_error *error);

/* ---- child process client -------------------------------------------------------------------- */

typedef struct mcp_child_options {
    size_t size;
    const char *const *argv; /* NULL-terminated; argv[0] is looked up in PATH; never a shell */
    const char *const *env;  /* NULL-terminated "NAME=value"; NULL: ours */
    const char *cwd;         /* NULL: ours */
    /* What the child writes to stderr, in pieces as they come; NULL: it is drained and thrown away,
     * but for the last 4 KiB, which mcp_child_stderr() shows. */
    void (*on_stderr)(mcp_str bytes, void *user);
    /* The child ended (exit status, or 128 + signal); the client's pending calls have failed. */
    void (*on_exit)(int status, void *user);
    void *user;
    uint64_t
        kill_ms; /* after closing its stdin: SIGTERM after this time, SIGKILL after twice; 2000 */
} mcp_child_options;

typedef struct mcp_child mcp_child;

/* Starts a server in a session and process group of its own and connects the client to its stdin and
 * stdout (2026-07-28, basic/transports/stdio). When the server ends or closes its stdout the client is
 * disconnected, with the exit status and the last line of stderr as the reason. Sets SIGPIPE to be
 * ignored where it has its default action. MCP_ENOTFOUND (no such program), MCP_EACCESS (it may not be
 * executed), MCP_EINVAL, MCP_EIO, MCP_ENOMEM, MCP_ESTATE (the client is connected already). */
MCP_API int mcp_child_spawn(mcp_loop *loop, mcp_client *client, const mcp_child_options *options,
                            mcp_child **ret, mcp_error *error);
/* The last of what the child wrote to stderr; borrowed until the loop runs again. */
MCP_API mcp_str mcp_child_stderr(const mcp_child *child);
/* Ends the child (stdin closed, then SIGTERM, then SIGKILL to its whole group), reaps it and frees the
 * object; runs the loop meanwhile, so it may not come from a callback. To be called before the client
 * is freed. Returns its status as on_exit has it. NULL is allowed. */
MCP_API int mcp_child_close(mcp_child *child);

/* ---- HTTP client ----------------------------------------------------------------------------- */

/* Reaches a server by Streamable HTTP of every revision, or by HTTP+SSE of 2024-11-05, which the client falls
 * back to (2026-07-28, basic/transports/streamable-http; "Backward Compatibility" there). libcurl is loaded
 * by the first mcp_http_client_connect() or mcp_loop_fetch() of the process.
 *
 * Each message of ours is a POST of its own; connections are reused. Legacy servers get a GET for what they
 * have to say unasked, streams that break off are resumed with Last-Event-ID after the time that the server
 * says (`retry`), failures in between wait longer each time. Redirects are followed within the origin of the
 * URL, and from http to https on the default ports; no cookies; certificates are checked. */
typedef struct mcp_http_client mcp_http_client;

typedef int mcp_http_add_fn(const char *name, const char *value, void *arg);

typedef struct mcp_http_challenge {
    size_t size;      /* set by the library */
    int status;       /* 401 or 403 */
    unsigned attempt; /* how often this message was refused, from 1 */
    const char *method, *url;
    mcp_str www_authenticate; /* several joined by ", "; empty: none */
    mcp_str body;             /* as far as it was read: 64 KiB */
} mcp_http_challenge;

typedef struct mcp_http_client_options {
    size_t size;
    /* "https://example.com/mcp", or "unix:PATH": HTTP at a Unix socket, the endpoint is /mcp. Without a user,
     * a password and a fragment. Required; everything is copied. */
    const char *url;
    const char *unix_socket; /* path: go there, whatever host the URL (http) names */
    /* Headers for every request, "Name: value", NULL-terminated. Those of HTTP's own and of MCP cannot be
     * set. They go to the URL's origin only, and appear in no text of ours. */
    const char *const *headers;
    const char *principal; /* whose authorization that is: see mcp_client_set_authorization() */
    /* The proxy, "http://proxy:3128"; "": none. NULL: as libcurl finds it in the environment (https_proxy,
     * http_proxy, no_proxy), but to the loopback directly. */
    const char *proxy;
    const char *ca_file; /* PEM: trust these instead of the system's */

    /* Headers for one request that is about to be sent: calls add() any number of times, which returns
     * MCP_OK, MCP_EINVAL (cannot stand there), MCP_ELIMIT or MCP_ENOMEM. A negative code fails the request. Not to
     * call the client. */
    int (*request_headers)(const char *method, const char *url, mcp_http_add_fn *add, void *arg,
                           void *user);
    /* The server wants authorization (401), or other rights (403). MCP_OK: send the message again now, with
     * what request_headers then gives. MCP_PENDING: later, at mcp_http_client_authorized(); what is
     * refused meanwhile is asked about too. A negative code: no, the call fails with MCP_EACCESS. Asked at
     * most 4 times for one message. NULL: no. */
    int (*challenge)(const mcp_http_challenge *challenge, void *user);
    /* The connection is over (HTTP+SSE only: Streamable HTTP has none that could end); the client was told,
     * and can be connected anew after mcp_http_client_close(). why is for a person. */
    void (*on_end)(const char *why, void *user);
    void *user;

    bool no_stream;        /* no GET for what a legacy server says unasked */
    bool no_http_sse;      /* do not fall back to HTTP+SSE */
    uint64_t connect_ms;   /* for a connection; 10,000 */
    uint64_t answer_ms;    /* for what has no time-out of its own: notifications, answers; 30,000 */
    uint64_t close_ms;     /* for last messages and for the end of a session, each; 1,000 */
    uint64_t retry_ms;     /* before a stream is resumed when the server does not say; 1,000 */
    uint64_t max_retry_ms; /* the longest wait after failures; 60,000 */
    size_t max_exchanges;  /* requests at one time, and as many notifications and answers; 64 */
} mcp_http_client_options;

/* Connects a client; nothing is sent before its start. Sets SIGPIPE to be ignored where it has its default
 * action. MCP_EINVAL (the URL, a header), MCP_EUNSUPPORTED (no libcurl 7.85 or newer here), MCP_ESTATE (the
 * client is connected already), MCP_EIO, MCP_ENOMEM. */
MCP_API int mcp_http_client_connect(mcp_loop *loop, mcp_client *client,
                                    const mcp_http_client_options *options, mcp_http_client **ret,
                                    mcp_error *error);
/* After MCP_PENDING of `challenge`: MCP_OK sends again what waits for it, a negative code fails that. Not
 * from within `challenge` and request_headers. */
MCP_API void mcp_http_client_authorized(mcp_http_client *http, int rc);
/* Closes what is open, sends what the server is still to know (notifications and answers, at most close_ms), ends the
 * session (DELETE, at most close_ms), tells the client and frees the object; runs the loop meanwhile, so it may not come from a callback. To be called before the client is freed.
 * NULL is allowed. */
MCP_API void mcp_http_client_close(mcp_http_client *http);

/* ---- fetching -------------------------------------------------------------------------------- */

/* A plain GET, for resources with https:// URIs, which a client may read by itself (2026-07-28,
 * server/resources, "Common URI Schemes"). Such URIs come from strangers: unless it is allowed, nothing is
 * asked of this machine and of private networks, whatever a name resolves to. */
typedef struct mcp_fetch mcp_fetch;

typedef struct mcp_fetched {
    size_t size;            /* set by the library */
    int status;             /* HTTP */
    const char *media_type; /* of Content-Type, without parameters; empty: none */
    mcp_str body;
} mcp_fetched;

/* rc: MCP_OK, with any status; MCP_ECLOSED (not reached, or broken off), MCP_ETIMEOUT, MCP_ELIMIT (max_bytes),
 * MCP_EACCESS (an address, a certificate, a redirect), MCP_EPROTOCOL, MCP_ENOMEM: then fetched is NULL.
 * Everything is borrowed until it returns. */
typedef void mcp_fetch_fn(int rc, const mcp_fetched *fetched, const mcp_error *error, void *user);

typedef struct mcp_fetch_options {
    size_t size;
    const char *url;     /* http or https; required; copied */
    const char *accept;  /* NULL: anything */
    size_t max_bytes;    /* of the body, decompressed; 16 MiB */
    uint64_t timeout_ms; /* for all of it; 60,000 */
    bool allow_private;  /* this machine and private networks too */
    const char *proxy;   /* NULL: none. With one it decides which address a name has */
    const char *ca_file;
    mcp_fetch_fn *done; /* required; called once, not from within mcp_loop_fetch() */
    void *user;
} mcp_fetch_options;

/* MCP_OK; MCP_EINVAL (the URL), MCP_EACCESS (it names this machine or a private network), MCP_EUNSUPPORTED
 * (no libcurl), MCP_EIO, MCP_ENOMEM. ret may be NULL; else what it gets is valid until `done`, which gets
 * MCP_ECANCELLED from mcp_loop_free(). At most 5 redirects, to http and https only, never from https to
 * http. No headers of the program's, no cookies. */
MCP_API int mcp_loop_fetch(mcp_loop *loop, const mcp_fetch_options *options, mcp_fetch **ret,
                           mcp_error *error);
/* `done` is not called any more. */
MCP_API void mcp_fetch_cancel(mcp_fetch *fetch);

#ifdef __cplusplus
}
#endif
#endif
