/* mcp/provider.h: mount a whole space of resources under a URI scheme or prefix.
 *
 * A provider lists lazily and may answer later: a million files cost one page at a time, and a slow
 * disk or database delays no other request. The engine asks it for URIs that no registered resource
 * or template matches. A provider registers its templates like any others
 * (mcp_server_add_template()).
 *
 * All functions are called on the server's thread, one at a time; `user` is the argument of
 * mcp_server_mount().
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

    /* Adds at most `max` entries of the list with mcp_reply_resource(), in a fixed order, beginning
     * after `cursor` (empty: at the start). If there may be more, it then calls mcp_reply_next()
     * with a cursor of its own; even a short or empty page may have one. MCP_OK, MCP_PENDING or a
     * negative code; MCP_EINVAL: the cursor is invalid. NULL: nothing is listed. */
    int (*list)(mcp_request *req, mcp_str cursor, size_t max, void *user);

    /* Answers resources/read, as mcp_read_fn. NULL: templates answer for all that is listed. */
    int (*read)(mcp_request *req, mcp_str uri, void *user);

    /* Answers resources/read from a cache, for a URI in exactly the spelling of an earlier request.
     * It is called before templates are matched, so it must only answer what `read` or a template
     * of this provider answered before. MCP_OK, or MCP_ENOTFOUND: not in the cache, continue as
     * usual. NULL: no cache. */
    int (*read_cached)(mcp_request *req, mcp_str uri, void *user);

    /* Returns whether the URI may belong to this provider, now or later (a file that does not exist
     * yet), and writes its canonical spelling to `canonical` (of `room` bytes including the NUL).
     * mcp_server_resource_updated() uses this spelling. The URI of a template counts too if its
     * resource can be watched. MCP_OK, MCP_ENOTFOUND, MCP_ELIMIT (no room). NULL: nothing can be
     * watched.
     *
     * Access rules use this spelling too: with access rules, a URI that is refused here does not
     * exist. So all spellings that `read` or a template of this provider answers with the same
     * resource must resolve to the same canonical spelling. For access rules the engine removes the
     * query first: the part after "?" holds parameters that select a part or a form, and must not
     * give access to anything else. Without `resolve` the normal form is used, also without its
     * query. */
    int (*resolve)(mcp_str uri, char *canonical, size_t room, void *user);

    /* The first subscriber to a canonical URI arrived; the last one left. MCP_OK, or a negative
     * code, which refuses the subscription. */
    int (*watch)(const char *canonical, void *user);
    void (*unwatch)(const char *canonical, void *user);

    /* The first subscriber to list changes arrived; the last one left. */
    int (*watch_list)(void *user);
    void (*unwatch_list)(void *user);

    /* The provider is no longer needed: the server is being freed, a rebuild replaced the mount, or
     * mcp_server_mount() failed. */
    void (*release)(void *user);
} mcp_provider;

/* Mounts a provider for every URI that begins with `prefix` (case is ignored in the scheme only;
 * the longest prefix wins). The struct is copied. MCP_EEXIST: the prefix is taken; MCP_EINVAL,
 * MCP_ENOMEM: the provider is released. */
MCP_API int mcp_server_mount(mcp_server *server, const char *prefix, const mcp_provider *provider,
                             void *user, mcp_error *error);

/* The prefix of the mount with this index, from 0 in the order of mounting; within
 * mcp_server_rebuild(), of the mounts of the new build. NULL: no more mounts. It lives as long as
 * the mount. */
MCP_API const char *mcp_server_mount_prefix(const mcp_server *server, size_t index);

/* For `list`: adds one entry. MCP_OK, MCP_ELIMIT (the page already has `max` entries), or as
 * mcp_reply_content(). */
MCP_API int mcp_reply_resource(mcp_request *req, const mcp_resource *resource);
/* For `list`: there may be more entries after this position. The cursor is any 1 byte (MCP_EINVAL)
 * to 16 KiB (MCP_ELIMIT); the engine encloses it, with a checksum, in the cursor that the peer
 * gets. */
MCP_API int mcp_reply_next(mcp_request *req, mcp_str cursor);

/* ---- the host: what the program provides for the server -------------------------------------- */

typedef struct mcp_host_timer mcp_host_timer;
typedef struct mcp_host_poll mcp_host_poll;

/* Timers, descriptor polling and worker threads, so that providers need no event loop of their own.
 * mcp/io.h has a host on libuv (mcp_loop_host()); to embed libmcp in another event loop, implement
 * this struct on it. Callbacks must come on the server's thread. `user` is passed to each
 * function. */
typedef struct mcp_host {
    size_t size;
    void *user;
    /* Returns the milliseconds of a monotonic clock. */
    int64_t (*now)(void *user);
    /* Calls fn(arg) once after ms milliseconds. The host owns the timer; timer_stop must be called
     * even after it fired. NULL: out of memory. */
    mcp_host_timer *(*timer_start)(uint64_t ms, void (*fn)(void *arg), void *arg, void *user);
    void (*timer_stop)(mcp_host_timer *timer, void *user);
    /* Calls fn(arg) whenever fd is readable, until poll_stop. NULL: out of memory, or fd cannot be
     * polled. */
    mcp_host_poll *(*poll_start)(int fd, void (*fn)(void *arg), void *arg, void *user);
    void (*poll_stop)(mcp_host_poll *poll, void *user);
    /* Runs work(arg) on a worker thread, then done(arg) on the server's thread; once all channels
     * are gone, done(arg) alone is enough. MCP_OK, or a negative code if neither will be called
     * (MCP_ELIMIT: too many jobs are queued). NULL member: there are no worker threads. */
    int (*work)(void (*work)(void *arg), void (*done)(void *arg), void *arg, void *user);
    /* Logs one line for the operator, without a newline. level is one of "debug", "info",
     * "warning", "error". NULL member: no log. */
    void (*log)(const char *level, const char *line, void *user);
    /* As `work`, for jobs that may take long (a tool that waits for another service). However many
     * there are, they do not delay jobs of `work`. NULL member: `work` is used. */
    int (*work_long)(void (*work)(void *arg), void (*done)(void *arg), void *arg, void *user);
    /* Runs fn(arg) on the server's thread soon, in the order of the calls; called from any thread.
     * MCP_OK, or a negative code if fn will not be called. NULL member: not supported. */
    int (*post)(void (*fn)(void *arg), void *arg, void *user);
} mcp_host;

/* The host of the server; NULL: none. mcp_server_set_host() copies the struct; call it before the
 * first channel is made. */
MCP_API const mcp_host *mcp_server_host(const mcp_server *server);
MCP_API void mcp_server_set_host(mcp_server *server, const mcp_host *host);

#ifdef __cplusplus
}
#endif
#endif
