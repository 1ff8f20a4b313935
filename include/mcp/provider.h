/* mcp/provider.h: mount all resources under a URI scheme or prefix.
 *
 * A provider lists its resources page by page and may answer later. So a provider of a million
 * files needs memory for one page, and a slow disk or database delays no other request. The engine
 * calls a provider for URIs that no registered resource or template matches. A provider registers
 * its templates with mcp_server_add_template(), as a program does.
 *
 * All functions are called on the server's thread, one at a time; `user` is the argument of
 * mcp_server_mount().
 */
#ifndef MCP_PROVIDER_H
#define MCP_PROVIDER_H

#include <mcp/access.h>
#include <mcp/server.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mcp_provider {
    size_t size;
    const char *name; /* for messages; required */

    /* Adds at most `max` entries of the list with mcp_reply_resource(), in a fixed order, beginning
     * after the position that `cursor` describes, or at the start if `cursor` is empty. If there
     * may be more entries, the function then calls mcp_reply_next() with a cursor of its own; even
     * a short or empty page may have one. Returns MCP_OK, MCP_PENDING or a negative code;
     * MCP_EINVAL means that the cursor is invalid. If this is NULL, nothing is listed. */
    int (*list)(mcp_request *req, mcp_str cursor, size_t max, void *user);

    /* Answers resources/read, like mcp_read_fn. May be NULL if templates match all URIs that are
     * listed. */
    int (*read)(mcp_request *req, mcp_str uri, void *user);

    /* Answers resources/read from a cache, for a URI in exactly the spelling of an earlier request.
     * It is called before templates are matched, so it must only answer what `read` or a template
     * of this provider answered before. Returns MCP_OK, or MCP_ENOTFOUND if the URI is not in the
     * cache, after which the engine continues as usual. If this is NULL, the provider has no
     * cache. */
    int (*read_cached)(mcp_request *req, mcp_str uri, void *user);

    /* Returns whether the URI may belong to this provider, now or later (a file that does not exist
     * yet; a URI that matches a template, if its resource can be watched). Writes the canonical
     * spelling, which mcp_server_resource_updated() uses, to `canonical` (of `room` bytes including
     * the NUL). Returns MCP_OK, MCP_ENOTFOUND or MCP_ELIMIT (no room). If
     * this is NULL, no resource can be watched.
     *
     * Access rules use this spelling too. While access rules are set, a URI for which this function
     * fails is treated as one that does not exist. So if `read` or a template of this provider
     * returns the same resource for several spellings, all of them must resolve to one canonical
     * spelling. For access rules the engine removes the query first (see also mcp_access.queries): the query holds parameters
     * that select a part or a form of the resource, and must not give access to anything else. If
     * `resolve` is NULL, access rules use the normal form of the URI, also without its query. */
    int (*resolve)(mcp_str uri, char *canonical, size_t room, void *user);

    /* Called when the first subscriber to a canonical URI arrives, and when the last one leaves.
     * `watch` returns MCP_OK, or a negative code to reject the subscription. */
    int (*watch)(const char *canonical, void *user);
    void (*unwatch)(const char *canonical, void *user);

    /* Called when the first subscriber to list changes arrives, and when the last one leaves. */
    int (*watch_list)(void *user);
    void (*unwatch_list)(void *user);

    /* Called when the provider is no longer needed: the server is being freed, a rebuild replaced
     * the mount, or mcp_server_mount() failed. */
    void (*release)(void *user);

    /* ---- a provider that has more than resources, such as another server ---- */

    /* The kinds of items that it has besides resources, as bits: 1u << MCP_ITEM_TOOL and so on,
     * combined with |. Templates are included only if the provider lists them itself. The server
     * declares the capabilities for these kinds while the provider is mounted. */
    unsigned items;
    /* The prefix of the names of its tools and prompts; copied. NULL means "", which covers all
     * names that are not registered. If the prefixes of several providers match a name, the longest
     * one is used. */
    const char *names;
    /* The URIs below its prefix are opaque: they are passed to `read` without being parsed, and are
     * not matched against templates. */
    bool opaque;
    /* Like `list`, for the lists of other kinds of items. Entries can be added only with
     * mcp_reply_raw_page(). */
    int (*list_items)(mcp_request *req, mcp_item item, mcp_str cursor, size_t max, void *user);
    /* Answers tools/call and prompts/get for a name that begins with `names`. Returns MCP_ENOTFOUND
     * if there is no such tool or prompt. The engine does not know the schema of the arguments, so
     * it does not validate them. */
    int (*run)(mcp_request *req, mcp_item item, mcp_str name, void *user);
    /* Answers completion/complete for a prompt by its name, or for a template or resource below the
     * prefix. */
    int (*complete)(mcp_request *req, mcp_item item, mcp_str name, void *user);
    /* Answers a method that the engine does not know (mcp_request_method()). Providers are called
     * in the order of mounting. Returns MCP_ENOTFOUND if the provider does not know the method
     * either. */
    int (*other)(mcp_request *req, void *user);
    /* Called instead of the functions above, for a provider whose changes concern only some
     * callers, depending on their identity (NULL if anonymous). `watch_as` is called when the first
     * subscriber with this identity to a canonical URI arrives, and `watch_list_as` for each stream
     * of notifications that list changes are sent on. `identity` is valid until the matching call
     * of unwatch_as() or unwatch_list_as(). The provider announces a change with
     * mcp_server_updated_as() and mcp_server_list_changed_as(). If a legacy session gets a request with another identity, its subscriptions are
     * watched as this identity from then on. */
    int (*watch_as)(const char *canonical, mcp_identity *identity, void *user);
    void (*unwatch_as)(const char *canonical, mcp_identity *identity, void *user);
    int (*watch_list_as)(mcp_identity *identity, void *user);
    void (*unwatch_list_as)(mcp_identity *identity, void *user);
    /* The provider may forward log messages (mcp_server_log_raw()). The server declares the
     * capability `logging` while it is mounted. */
    bool logs;
    /* Its tools can be called as tasks (mcp_request_task(), mcp_request_task_asked()). The server
     * declares support for tasks from its mounting on. */
    bool tasks;
    /* A second prefix, of further URIs that belong to the provider, or NULL; copied. `resolve` should
     * give them a canonical spelling below the first prefix, so that access rules for that prefix
     * apply. */
    const char *alias;

    /* For a provider that waits for something else, such as another server. If a page of a list may
     * contain entries of several providers, `list_begin` is called for each of them before the first
     * one is asked, so that they work at the same time. `list` or `list_items` may be called for the
     * same request afterwards, from the start of the list; `list_end` is called in any case, at the
     * latest when the request ends. `list_begin` must not answer the request or set its cancel
     * function. If one of them is NULL, neither is called. */
    void (*list_begin)(mcp_request *req, mcp_item item, void *user);
    void (*list_end)(mcp_request *req, void *user);
    /* The positions of mcp_reply_next() must not be read or made by callers, because the provider
     * cannot tell whose they are, for example in a session with another server that all callers
     * share. Their cursors are then sealed (mcp_server_set_seal()) for the caller and this mount. A
     * cursor of another caller, or one that was not sealed, gets error -32602. Without a key of the
     * program, a restart of the server ends these lists. */
    bool seals_cursors;
    /* Returns whether the provider probably has items of this kind (MCP_ITEM_RESOURCE stands for
     * templates, too) for the caller of `req`, which asks for the capabilities of the server. If no
     * provider has any, and none is registered, the capability is not declared to this caller; its
     * requests are answered as before. If this is NULL, the provider has what `items` says, and
     * resources. */
    bool (*declares)(const mcp_request *req, mcp_item item, void *user);
} mcp_provider;

/* Mounts a provider for every URI that begins with `prefix` (case is ignored in the scheme only;
 * the longest prefix wins). A provider with the prefix "" has all URIs that are not registered, and
 * must be the only one. The struct is copied. Returns MCP_OK, MCP_EEXIST (the prefix is mounted
 * already, or one of two providers has the prefix ""), MCP_EINVAL or MCP_ENOMEM. After a failure the
 * provider is released. */
MCP_API int mcp_server_mount(mcp_server *server, const char *prefix, const mcp_provider *provider,
                             void *user, mcp_error *error);

/* Returns the prefix of the mount with this index, from 0 in the order of mounting, or NULL past
 * the last mount. Within mcp_server_rebuild() the indexes refer to the mounts of the new build
 * only. The string lives as long as the mount. */
MCP_API const char *mcp_server_mount_prefix(const mcp_server *server, size_t index);

/* For `list`: adds one entry. Returns MCP_ELIMIT if the page already has `max` entries, and
 * otherwise the codes of mcp_reply_content(). */
MCP_API int mcp_reply_resource(mcp_request *req, const mcp_resource *resource);
/* For `list`: reports that there may be more entries after this position. The cursor may be any
 * bytes, but not empty (MCP_EINVAL) and not longer than 16 KiB (MCP_ELIMIT). The engine encloses
 * it, with a checksum, in the cursor that the peer gets. */
MCP_API int mcp_reply_next(mcp_request *req, mcp_str cursor);
/* For `list`: the list is without a part of the provider, such as one of several folders, which
 * cannot be listed now. The result says so as if the part were a provider with the prefix `uri` that
 * has failed (mcp_server_options.list_ms): by an entry with this URI and this name, whose read
 * should say what is wrong, and in "libmcp/left-out"; it may not be cached. The provider logs the
 * reason, and announces when the part is there again. The entry counts as one of the page. Returns
 * the codes of mcp_reply_resource(). */
MCP_API int mcp_reply_without(mcp_request *req, const char *uri, const char *name);

/* ---- changes --------------------------------------------------------------------------------- */

/* Announces a change of the list of resources (or of templates), prompts or tools. */
MCP_API void mcp_server_list_changed(mcp_server *server, mcp_item item);
/* Announce a change to one identity, which is compared by its address; for watch_as() and
 * watch_list_as(). Nothing is announced to an identity that has expired. */
MCP_API void mcp_server_updated_as(mcp_server *server, const char *uri,
                                   const mcp_identity *identity);
MCP_API void mcp_server_list_changed_as(mcp_server *server, mcp_item item,
                                        const mcp_identity *identity);

/* For a request that has changed something itself: sends the notifications about announced changes to its caller now,
 * if the caller has subscribed to them on the connection of the request. They arrive before the answer, instead of
 * some milliseconds later. */
MCP_API void mcp_request_send_changes(mcp_request *req);

/* ---- the host: what the program provides for the server -------------------------------------- */

typedef struct mcp_host_timer mcp_host_timer;
typedef struct mcp_host_poll mcp_host_poll;

/* Timers, descriptor polling and worker threads, so that providers need no event loop of their own.
 * mcp/io.h has a host on libuv (mcp_loop_host()); to embed libmcp in another event loop, implement
 * this struct on it. The host must call callbacks on the server's thread. `user` is passed to each
 * function. */
typedef struct mcp_host {
    size_t size;
    void *user;
    /* Returns the time in milliseconds of the same monotonic clock that the channels use. */
    int64_t (*now)(void *user);
    /* Calls fn(arg) once after ms milliseconds. The host owns the timer; timer_stop must be called
     * even after it fired. Returns NULL if out of memory. */
    mcp_host_timer *(*timer_start)(uint64_t ms, void (*fn)(void *arg), void *arg, void *user);
    void (*timer_stop)(mcp_host_timer *timer, void *user);
    /* Calls fn(arg) whenever fd is readable, until poll_stop. Returns NULL if out of memory or if
     * fd cannot be polled. */
    mcp_host_poll *(*poll_start)(int fd, void (*fn)(void *arg), void *arg, void *user);
    void (*poll_stop)(mcp_host_poll *poll, void *user);
    /* Runs work(arg) on a worker thread, then done(arg) on the server's thread. After all channels
     * were freed, the host may call done(arg) without work(arg). Returns MCP_OK, or a negative code
     * if neither will be called (MCP_ELIMIT if too many jobs are queued). If this is NULL, there
     * are no worker threads. */
    int (*work)(void (*work)(void *arg), void (*done)(void *arg), void *arg, void *user);
    /* Logs one line for the operator, without a newline. level is one of "debug", "info",
     * "warning", "error". If this is NULL, nothing is logged. */
    void (*log)(const char *level, const char *line, void *user);
    /* Like `work`, for jobs that may take long, such as a tool that waits for another service.
     * However many of them run, they must not delay jobs of `work`. If this is NULL, `work` is
     * used. */
    int (*work_long)(void (*work)(void *arg), void (*done)(void *arg), void *arg, void *user);
    /* Runs fn(arg) on the server's thread soon, in the order of the calls; may be called from any
     * thread. Returns MCP_OK, or a negative code if fn will not be called. If this is NULL, posting
     * is not supported. */
    int (*post)(void (*fn)(void *arg), void *arg, void *user);
    /* Like poll_start, but calls fn(arg) while fd is writable. poll_stop ends this polling too. A
     * descriptor may be polled either for reading or for writing; duplicate it to poll for both. If
     * this is NULL, polling for writing is not supported. */
    mcp_host_poll *(*poll_start_write)(int fd, void (*fn)(void *arg), void *arg, void *user);
    /* Returns the time of a monotonic clock in microseconds, by which durations are measured
     * (mcp_server_usage(), mcp/audit.h, the metrics of mcp/http.h). If this is NULL, they are
     * measured in milliseconds. For traced requests (mcp/trace.h) also called on worker threads. */
    int64_t (*now_us)(void *user);
} mcp_host;

/* mcp_server_host() returns the host of the server, or NULL if it has none. mcp_server_set_host()
 * copies the struct. Call it before the first channel is made. */
MCP_API const mcp_host *mcp_server_host(const mcp_server *server);
MCP_API void mcp_server_set_host(mcp_server *server, const mcp_host *host);

#ifdef __cplusplus
}
#endif
#endif
