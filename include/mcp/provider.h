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

#include <mcp/access.h>
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

    /* ---- a provider that has more than resources, such as another server ---- */

    /* What it offers besides resources: 1u << MCP_ITEM_TOOL and so on, ORed; templates too if it
     * lists them itself. It is declared as long as the provider is mounted. */
    unsigned items;
    /* What the names of its tools and prompts begin with; copied. NULL: "", all names that are not
     * registered. The longest one that fits decides who is asked. */
    const char *names;
    /* The URIs below its prefix are opaque: read as they are, without being parsed, and no template
     * is matched with them. */
    bool opaque;
    /* As `list`, for the items of these lists. Only mcp_reply_raw_page() adds to them. */
    int (*list_items)(mcp_request *req, mcp_item item, mcp_str cursor, size_t max, void *user);
    /* Answers tools/call and prompts/get: the name is one that begins with `names`. MCP_ENOTFOUND:
     * there is none with this name. The engine does not know the arguments' schema. */
    int (*run)(mcp_request *req, mcp_item item, mcp_str name, void *user);
    /* Answers completion/complete for a prompt by its name, or for a template or resource below the
     * prefix. */
    int (*complete)(mcp_request *req, mcp_item item, mcp_str name, void *user);
    /* Answers a method that the engine does not know (mcp_request_method()). Providers are asked in
     * the order of mounting. MCP_ENOTFOUND: not one of its own. */
    int (*other)(mcp_request *req, void *user);
    /* As watch and unwatch, which are then not called: for a provider where each caller has a
     * session of its own. The first subscriber of a principal (NULL: anonymous) to a canonical URI
     * arrived; the last one left. See mcp_server_updated_for(). */
    int (*watch_for)(const char *canonical, const char *principal, void *user);
    void (*unwatch_for)(const char *canonical, const char *principal, void *user);
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

/* ---- passing on what another server says ----------------------------------------------------- */

/* Room for a name of a tool or prompt, with the NUL. */
#define MCP_NAME_ROOM 1024

/* A JSON object of another server, for the calls below. What the specification defines for it is
 * put into the form of the peer's revision; members that nobody knows are passed on, and all digits
 * of numbers. The protocol's own members (resultType, ttlMs, cacheScope, nextCursor, serverInfo in
 * _meta) are made anew. With access rules, what the caller may not see is left out: an entry, a
 * link, an embedded resource. */
typedef struct mcp_raw {
    size_t size;
    mcp_str json; /* its text; required */
    /* What the text was parsed to, if the caller has it (mcp_client_result_text()); NULL: it is
     * parsed now. An object with a key that occurs twice is refused. */
    const mcp_json *value;
    /* What is put in front of every URI and URI template; NULL: nothing. */
    const char *uri_prefix;
    /* Writes the name by which the peer knows a tool or prompt. MCP_OK; MCP_ENOTFOUND: it is left
     * out. NULL: the same name. */
    int (*name)(mcp_item item, mcp_str name, char to[MCP_NAME_ROOM], void *user);
    void *user;
} mcp_raw;

/* Replies with a whole result, whose _meta is added to that of the reply. Nothing else may be
 * added. In resources/list and the other lists use mcp_reply_raw_page(). MCP_OK, or the first
 * failure of this reply: MCP_EINVAL, MCP_EPARSE, MCP_EPROTOCOL (not an object), MCP_ENOTFOUND (the
 * caller may not see it), MCP_ELIMIT (max_reply), MCP_ENOMEM, MCP_ESTATE. */
MCP_API int mcp_reply_raw(mcp_request *req, const mcp_raw *result);
/* For `list` and `list_items`: adds the entries of a whole page, even more than `max`, and its
 * nextCursor as if by mcp_reply_next(), with a "=" in front of it. The same codes. */
MCP_API int mcp_reply_raw_page(mcp_request *req, const mcp_raw *page);
/* Makes the reply an error of another server: `error` is a JSON-RPC error object. An unknown
 * resource gets the code of the peer's revision, and errors that concern the hop to the other
 * server become internal ones. Returns a negative code; the handler must return it. */
MCP_API int mcp_reply_raw_error(mcp_request *req, const mcp_raw *error);

/* The text of the request's params as the peer sent it: numbers with all their digits, members that
 * the engine does not know. It may contain newlines. Call it before the handler returns for the
 * first time; the text is borrowed until then. ptr NULL: there are none, or out of memory. */
MCP_API mcp_str mcp_request_params_text(mcp_request *req);

/* Announces a change of the list of resources (or of templates), prompts or tools. */
MCP_API void mcp_server_list_changed(mcp_server *server, mcp_item item);
/* The same to one principal only (NULL: anonymous). */
MCP_API void mcp_server_list_changed_for(mcp_server *server, mcp_item item, const char *principal);
/* As mcp_server_resource_updated(), for what watch_for() watches for this principal. */
MCP_API void mcp_server_updated_for(mcp_server *server, const char *uri, const char *principal);

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
    /* Returns the milliseconds of a monotonic clock, the one whose time channels get. */
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
    /* As poll_start, while fd is writable; ended by poll_stop too. A descriptor may be polled either
     * for reading or for writing: duplicate it for both. NULL member: not supported. */
    mcp_host_poll *(*poll_start_write)(int fd, void (*fn)(void *arg), void *arg, void *user);
} mcp_host;

/* The host of the server; NULL: none. mcp_server_set_host() copies the struct; call it before the
 * first channel is made. */
MCP_API const mcp_host *mcp_server_host(const mcp_server *server);
MCP_API void mcp_server_set_host(mcp_server *server, const mcp_host *host);

#ifdef __cplusplus
}
#endif
#endif
