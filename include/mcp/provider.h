/* mcp/provider.h: mount a whole space of resources under a URI scheme or prefix.
 *
 * A provider lists lazily and may answer later, so that a million files cost one page at a time and a
 * slow disk or database delays nobody else. The engine asks it for URIs that no registered resource or
 * template answers. Its templates are registered like any others (mcp_server_add_template()).
 *
 * Calls come on the server's thread, one at a time; `user` is what mcp_server_mount() got.
 */
#ifndef MCP_PROVIDER_H
#define MCP_PROVIDER_H

#include <mcp/server.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mcp_provider {
    size_t size;
    const char *name; /* for messages; required */

    /* Adds at most `max` entries of the list with mcp_reply_resource(), in the provider's one key order,
     * beginning after `cursor` (empty: at the start), then mcp_reply_next() with its own cursor when
     * there may be more; a page may be short or empty and still have one. MCP_OK, MCP_PENDING, a
     * negative code; MCP_EINVAL: the cursor is not one of ours. NULL: nothing is listed. */
    int (*list)(mcp_request *req, mcp_str cursor, size_t max, void *user);

    /* Answers resources/read, as mcp_read_fn. Required. */
    int (*read)(mcp_request *req, mcp_str uri, void *user);

    /* Answers resources/read from what is at hand, by the URI exactly as it was spelled before; asked before
     * templates are matched, so it must not answer what `read` or a template of this provider's own did not
     * answer. MCP_OK, or MCP_ENOTFOUND when nothing is at hand and the usual way is to be gone. NULL: there is
     * never anything. */
    int (*recall)(mcp_request *req, mcp_str uri, void *user);

    /* Whether the URI could be one of this provider's, now or later (a file that does not exist yet);
     * and its one canonical spelling, written to `canonical` (room for `room` bytes with the NUL), under
     * which mcp_server_resource_updated() will speak of it. A URI of a template whose resource it can
     * watch counts too. MCP_OK, MCP_ENOTFOUND, MCP_ELIMIT (no room). NULL: nothing can be watched.
     *
     * Access rules are asked about this spelling, and what is refused here is not there where rules exist. So all
     * spellings that `read` or a template of this provider answers alike have to come out as one. For this question the
     * engine takes the query off beforehand: what stands behind "?" are parameters that choose a part or a form, and never
     * show anything but what the URI without them names. Without `resolve` the normal form counts, also without its
     * query. */
    int (*resolve)(mcp_str uri, char *canonical, size_t room, void *user);

    /* The first subscriber to a canonical URI came; the last one went. MCP_OK or a negative code, which
     * refuses the subscription. */
    int (*watch)(const char *canonical, void *user);
    void (*unwatch)(const char *canonical, void *user);

    /* The first who would be told of list changes came; the last one went. */
    int (*watch_list)(void *user);
    void (*unwatch_list)(void *user);

    /* The server is being freed, or mcp_server_mount() failed after taking the provider over. */
    void (*release)(void *user);
} mcp_provider;

/* Mounts a provider for every URI that begins with `prefix` (its scheme is compared without case, the
 * rest byte for byte; the longest prefix wins). The struct is copied. MCP_EEXIST: the prefix is taken;
 * MCP_EINVAL, MCP_ENOMEM: the provider is released. */
MCP_API int mcp_server_mount(mcp_server *server, const char *prefix, const mcp_provider *provider,
                             void *user, mcp_error *error);

/* The prefix of what was mounted as the index-th, from 0; within a mcp_server_rebuild() of what it has mounted so far. NULL:
 * there are no more. It lives as long as the mount. */
MCP_API const char *mcp_server_mount_prefix(const mcp_server *server, size_t index);

/* For `list`: one entry. MCP_OK, MCP_ELIMIT (the page has `max` entries), or as mcp_reply_content(). */
MCP_API int mcp_reply_resource(mcp_request *req, const mcp_resource *resource);
/* For `list`: there may be more after this position; 1 byte to 16 KiB (MCP_EINVAL, MCP_ELIMIT), bytes of the provider's own, which
 * the engine seals into the cursor that the peer sees. */
MCP_API int mcp_reply_next(mcp_request *req, mcp_str cursor);

/* ---- the host: what the program around the server lends it ----------------------------------- */

typedef struct mcp_host_timer mcp_host_timer;
typedef struct mcp_host_poll mcp_host_poll;

/* Timers, descriptors and worker threads, so that providers need no event loop of their own. mcp/io.h
 * has one on libuv (mcp_loop_host()); implement it over your own loop to embed. Callbacks come on the
 * server's thread. `user` is passed to each function. */
typedef struct mcp_host {
    size_t size;
    void *user;
    /* Milliseconds of a monotonic clock. */
    int64_t (*now)(void *user);
    /* Calls fn(arg) once after ms milliseconds. The timer is the host's; stop it with timer_stop, also
     * after it fired. NULL: no memory. */
    mcp_host_timer *(*timer_start)(uint64_t ms, void (*fn)(void *arg), void *arg, void *user);
    void (*timer_stop)(mcp_host_timer *timer, void *user);
    /* Calls fn(arg) whenever fd is readable, until poll_stop. NULL: no memory or fd cannot be polled. */
    mcp_host_poll *(*poll_start)(int fd, void (*fn)(void *arg), void *arg, void *user);
    void (*poll_stop)(mcp_host_poll *poll, void *user);
    /* Runs work(arg) on a worker thread, then done(arg) on the server's thread; once all channels are
     * gone, done(arg) alone will do. MCP_OK or a negative code (MCP_ELIMIT: too much is waiting already),
     * and then neither is called. NULL member: there are no workers. */
    int (*work)(void (*work)(void *arg), void (*done)(void *arg), void *arg, void *user);
    /* One line for the operator's log, without a newline; NULL member: nobody listens. level is one of
     * "debug", "info", "warning", "error". */
    void (*log)(const char *level, const char *line, void *user);
    /* As `work`, for what may take long (a tool that waits for another service): however much of it there
     * is, what `work` got is not held up by it. NULL member: `work` does. */
    int (*work_long)(void (*work)(void *arg), void (*done)(void *arg), void *arg, void *user);
    /* From any thread: runs fn(arg) on the server's thread, soon, in the order of the calls. MCP_OK or a
     * negative code, and then it is not called. NULL member: other threads cannot come in. */
    int (*post)(void (*fn)(void *arg), void *arg, void *user);
} mcp_host;

/* The host of the server, NULL when it has none. mcp_server_set_host() copies the struct; call it before
 * the first channel. */
MCP_API const mcp_host *mcp_server_host(const mcp_server *server);
MCP_API void mcp_server_set_host(mcp_server *server, const mcp_host *host);

#ifdef __cplusplus
}
#endif
#endif
