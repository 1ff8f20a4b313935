/* mcp/server.h: the server side: register resources, prompts and tools.
 *
 *     static int greet(mcp_request *req, const mcp_json *arguments, void *user) { … }
 *     static const mcp_tool greet_tool = {.size = sizeof(mcp_tool), .name = "greet", .call = greet, …};
 *
 *     mcp_server *server;
 *     mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "hello", .version = "1.0"), &server, &err);
 *     mcp_server_add_tool(server, &greet_tool, NULL, &err);
 *     mcp_serve_stdio(server, &err);            // mcp/io.h
 *
 * Registration makes a deep copy of the descriptor and keeps the handlers and `user` pointers. The
 * server declares the capabilities for what is registered. A registration or removal is announced
 * (list_changed) to connected peers that subscribed to such changes. A server and its channels
 * belong to one thread; other threads use mcp_server_post() and mcp_request_post().
 */
#ifndef MCP_SERVER_H
#define MCP_SERVER_H

#include <mcp/base.h>
#include <mcp/json.h>
#include <mcp/request.h>
#include <mcp/uri.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mcp_server mcp_server;
struct mcp_host; /* mcp/provider.h */

#define MCP_TTL_NONE UINT64_MAX

typedef struct mcp_server_options {
    size_t size;
    const char *name;    /* required; all strings of this struct are copied */
    const char *version; /* required */
    const char *title;
    const char *description;
    const char *website_url;
    const mcp_icon *icons;
    size_t n_icons;
    const char *instructions; /* guidance for the model; mcp_server_set_instructions() changes it */

    size_t page_size;     /* entries in one page of a list; default 1000 */
    uint64_t list_ttl_ms; /* how long lists may be cached; default 5000; MCP_TTL_NONE forbids it */
    /* how long resources may be cached; the default 0 means that they must be read each time */
    uint64_t read_ttl_ms;
    /* Send cacheScope "public" instead of "private". Set it only if no result depends on the
     * caller. */
    bool cache_public;
    /* Changes within this time become one notification. The default is 100, and the maximum
     * 3,600,000 (an hour). */
    uint64_t coalesce_ms;

    bool no_subscribe;    /* do not offer subscriptions to single resources */
    bool no_list_changed; /* do not announce changes to lists */
    /* Declare a capability before anything is registered for it. */
    bool declare_resources, declare_prompts, declare_tools;
    /* Declare that handlers send log messages to the peer (mcp_request_log()). */
    bool logging;

    /* How long a client may take to answer an input request (mcp/input.h) that is sent as a request
     * (before 2026-07-28). The default is 10 minutes. */
    uint64_t input_timeout_ms;
    /* `random` fills bytes with cryptographic randomness and returns MCP_OK or a negative code.
     * `clock` returns milliseconds since 1970. NULL selects the functions of the system. */
    int (*random)(void *bytes, size_t len, void *user);
    int64_t (*clock)(void *user);
    void *user; /* for `random`, `clock` and `option_name` */

    const struct mcp_host *host; /* provides worker threads and timers; may be set later */
    const mcp_allocator *allocator;

    /* How long a pending request may go without mcp_request_progress(). After that time it is
     * cancelled, and the peer gets an error that names the time-out. The default is 600,000;
     * UINT64_MAX means no limit. */
    uint64_t handler_timeout_ms;
    /* Rate limits per caller for tool calls (500 per second, bursts of 2000) and completions (200
     * per second, bursts of 1000). Requests that exceed a limit get an error with
     * data.retryAfterMs. All requests of one principal count as one caller. Anonymous callers are
     * distinguished by mcp_channel_options.caller; those without it count as one caller. Default
     * limits do not apply to callers on this machine (mcp_channel_options.local). If only the rate
     * is set, the burst is four times the rate. */
    uint32_t calls_per_second, calls_burst;
    uint32_t completions_per_second, completions_burst;
    bool no_rate_limits;
    /* The rate limit for tasks/get, tasks/result and tasks/list together: 500 per second, bursts of
     * 2000. */
    uint32_t polls_per_second, polls_burst;
    /* Returns the program's name of one of these options for error texts: "--calls-per-second" for
     * "calls_per_second". If this is NULL, or returns NULL, error texts use the name of the member.
     * The string must live as long as the server. */
    const char *(*option_name)(const char *member, void *user);
    /* Bytes that mcp_request_work_sized() may reserve at the same time, for all callers together.
     * The default is 128 MiB; SIZE_MAX means no limit. */
    size_t max_work_memory;
    /* How long a list waits for one provider (mcp/provider.h), in milliseconds; the default is 10,000.
     * A provider that fails, or does not answer in this time, is left out: the list contains what can
     * be listed, may not be cached, and resources/list has one entry with the prefix of the provider
     * instead. The result's _meta has an array "libmcp/left-out" with the prefixes of those that the
     * caller may see. The host's log says why. With timers of the host the provider is asked again, and when
     * it can be listed, list_changed is sent. */
    uint64_t list_ms;
} mcp_server_options;

/* The bytes that mcp_request_work_sized() reserved and the requests that waited for them. Set
 * `size` before the call. */
typedef struct mcp_work_memory {
    size_t size;
    size_t held, limit;
    size_t most;      /* the highest value of `held` so far */
    size_t n_waiting; /* requests that are waiting */
    uint64_t waited, refused;
} mcp_work_memory;

/* Makes a server. Free it after its channels. Returns MCP_OK, MCP_EINVAL (a required field is
 * missing, a string is not UTF-8) or MCP_ENOMEM. */
MCP_API int mcp_server_new(const mcp_server_options *options, mcp_server **ret, mcp_error *error);
/* Frees the server and releases its providers. NULL is allowed. */
MCP_API void mcp_server_free(mcp_server *server);
/* Writes the current state to *ret. Call it on the server's thread. */
MCP_API void mcp_server_get_work_memory(const mcp_server *server, mcp_work_memory *ret);

typedef enum mcp_item {
    MCP_ITEM_RESOURCE = 0, /* by URI */
    MCP_ITEM_TEMPLATE,     /* by URI template */
    MCP_ITEM_PROMPT,       /* by name */
    MCP_ITEM_TOOL,         /* by name */
} mcp_item;

/* ---- resources ------------------------------------------------------------------------------- */

/* Answers resources/read. `uri` is the requested URI as the peer spelled it, NUL-terminated.
 * `match` holds the variables of the template that matched; it is NULL for a resource registered by
 * its URI. Reply with mcp_reply_text() or a similar call. Return MCP_ENOTFOUND if there is no such
 * resource. */
typedef int mcp_read_fn(mcp_request *req, mcp_str uri, const mcp_uri_match *match, void *user);

/* A resource: registered with mcp_server_add_resource(), or an entry of a provider's list. Strings
 * are UTF-8 and NUL-terminated. See 2026-07-28, server/resources, "Resource". */
typedef struct mcp_resource {
    size_t size;
    const char *uri;  /* required, RFC 3986 with a scheme */
    const char *name; /* required */
    const char *title;
    const char *description;
    const char *mime_type;
    bool has_size; /* whether resource_size is set */
    uint64_t resource_size;
    const mcp_annotations *annotations;
    const mcp_icon *icons;
    size_t n_icons;
    const char *meta; /* JSON text of an object for _meta */

    mcp_read_fn *read; /* required for registration; not used in a provider's list */
    const char *text;  /* the contents, instead of read; copied */
} mcp_resource;

/* Registers a resource. Returns MCP_OK, MCP_EEXIST (the URI is registered already), MCP_EINVAL
 * (*error says what is invalid) or MCP_ENOMEM. */
MCP_API int mcp_server_add_resource(mcp_server *server, const mcp_resource *resource, void *user,
                                    mcp_error *error);
/* Removes a resource. Requests for it that are in flight continue. Returns MCP_OK or
 * MCP_ENOTFOUND. */
MCP_API int mcp_server_remove_resource(mcp_server *server, const char *uri);

/* Answers completion/complete. Adds the possible values of the variable `name` that begin with
 * `value`, the best first. `context` is an object of strings with the variables whose values are
 * known already, or NULL. */
typedef int mcp_complete_fn(mcp_request *req, mcp_str name, mcp_str value, const mcp_json *context,
                            void *user);

/* A template for resources (RFC 6570, all levels). The server tries templates if no registered URI
 * is equal to the requested one, and uses the most specific template that matches
 * (mcp_uri_template_compare()). Registering a template whose match would be ambiguous fails with
 * MCP_EUNSUPPORTED. See 2026-07-28, server/resources, "Resource Templates". */
typedef struct mcp_resource_template {
    size_t size;
    const char *uri_template; /* required */
    const char *name;         /* required */
    const char *title;
    const char *description;
    const char *mime_type;
    const mcp_annotations *annotations;
    const mcp_icon *icons;
    size_t n_icons;
    const char *meta;

    mcp_read_fn *read; /* required */
    mcp_complete_fn *complete;
} mcp_resource_template;

/* Registers or removes a template, like mcp_server_add_resource() and
 * mcp_server_remove_resource(). */
MCP_API int mcp_server_add_template(mcp_server *server, const mcp_resource_template *tmpl,
                                    void *user, mcp_error *error);
MCP_API int mcp_server_remove_template(mcp_server *server, const char *uri_template);

/* ---- prompts --------------------------------------------------------------------------------- */

typedef struct mcp_prompt_argument {
    size_t size;
    bool required;    /* if it is missing, prompts/get is rejected before the handler runs */
    const char *name; /* required */
    const char *title;
    const char *description;
} mcp_prompt_argument;

/* Answers prompts/get with mcp_reply_content() or a similar call. `arguments` is an object of
 * strings or NULL. */
typedef int mcp_prompt_fn(mcp_request *req, const mcp_json *arguments, void *user);

typedef struct mcp_prompt {
    size_t size;
    const char *name; /* required */
    const char *title;
    const char *description;
    const mcp_prompt_argument *arguments;
    size_t n_arguments;
    const mcp_icon *icons;
    size_t n_icons;
    const char *meta;

    mcp_prompt_fn *get; /* required */
    mcp_complete_fn *complete;
} mcp_prompt;

/* Registers or removes a prompt, like mcp_server_add_resource() and mcp_server_remove_resource(). */
MCP_API int mcp_server_add_prompt(mcp_server *server, const mcp_prompt *prompt, void *user,
                                  mcp_error *error);
MCP_API int mcp_server_remove_prompt(mcp_server *server, const char *name);

/* ---- tools ----------------------------------------------------------------------------------- */

/* The values of a tool's hints, which are for people. See 2026-07-28, schema, ToolAnnotations. */
typedef enum mcp_hint { MCP_HINT_UNSET = 0, MCP_HINT_NO, MCP_HINT_YES } mcp_hint;

/* Answers tools/call. `arguments` is an object that conforms to the input schema, or NULL if there
 * are none. Report a problem that the model can correct with mcp_reply_tool_error(), not with a
 * negative code. */
typedef int mcp_call_fn(mcp_request *req, const mcp_json *arguments, void *user);

/* Says whether calls may become tasks; see mcp/task.h. */
typedef enum mcp_task_support {
    MCP_TASK_FORBIDDEN = 0,
    MCP_TASK_OPTIONAL,
    MCP_TASK_REQUIRED, /* a peer without support for tasks is rejected before the handler runs */
} mcp_task_support;

typedef struct mcp_tool {
    size_t size;
    const char *name; /* required; 1 to 128 of A-Z a-z 0-9 _ - . */
    const char *title;
    const char *description;
    /* JSON text of a schema with "type":"object" (mcp/schema.h documents what is supported). NULL
     * permits any object. Arguments that do not conform never reach the handler; the peer gets an
     * error that says where and why. */
    const char *input_schema;
    /* JSON text of a schema of the structured content. If it is set, the handler must add
     * structured content, and a result that does not conform is reported as an internal error. The
     * schema is not sent to peers whose revision does not allow it. */
    const char *output_schema;
    mcp_hint read_only, destructive, idempotent, open_world;
    const mcp_icon *icons;
    size_t n_icons;
    const char *meta;

    mcp_call_fn *call; /* required */
    mcp_task_support task_support;
    /* If not 0, replaces the server's handler_timeout_ms. UINT64_MAX means no limit. */
    uint64_t timeout_ms;
    /* Returns whether the tool is listed for the client of this request
     * (mcp_request_client_info()). `user` is that of mcp_server_add_tool(). If this is NULL, the
     * tool is listed for every client. This is not access control (mcp/access.h): a client can
     * still call a tool that is not listed. If this is set, lists of tools are not cached across
     * clients. The function must return the same result for the same client, and should be fast. */
    bool (*offered)(const mcp_request *req, void *user);
    /* Tables from which the schemas are generated (mcp/fields.h), instead of input_schema and
     * output_schema. */
    const mcp_field *fields;
    size_t n_fields;
    const mcp_field *result_fields;
    size_t n_result_fields;
} mcp_tool;

/* Registers a tool. Returns MCP_OK, MCP_EINVAL, MCP_EEXIST (the name is registered already) or
 * MCP_ENOMEM. MCP_EINVAL includes a schema that cannot be compiled, and an x-mcp-header in it that
 * is not allowed (2026-07-28, basic/transports/streamable-http); *error says which and where. */
MCP_API int mcp_server_add_tool(mcp_server *server, const mcp_tool *tool, void *user,
                                mcp_error *error);
/* Removes a tool. Calls in flight continue. Returns MCP_OK or MCP_ENOTFOUND. */
MCP_API int mcp_server_remove_tool(mcp_server *server, const char *name);

/* ---- rebuilding, instructions, hooks --------------------------------------------------------- */

/* Calls build(server, user, error) and atomically replaces all registrations and mounts of the
 * previous build with those of this build. Use it when a configuration is read again. Registrations
 * that were made outside of a build stay. If `build` returns a negative code, or memory runs out
 * (MCP_ENOMEM), nothing changes and the registrations of the new build are released. After a
 * successful build each list is announced as changed, once. Subscriptions stay.
 *
 * Requests in flight are answered by the build that was current when they began. The providers of
 * that build are released by a timer of the host, after the last of these requests. A provider's
 * threads must have ended when its release() returns. Must not be called from a handler or from
 * within a build (MCP_ESTATE). Returns what `build` returned. */
MCP_API int mcp_server_rebuild(mcp_server *server,
                               int (*build)(mcp_server *server, void *user, mcp_error *error),
                               void *user, mcp_error *error);

/* Registers a release hook: release(user) is called when the current registrations are no longer
 * needed. A hook that was registered within a build is called when that build is replaced; any
 * other hook is called when the server is freed. Use it to free the `user` of tools and other
 * registrations that belong to no provider. Hooks are called in reverse order. Returns MCP_OK,
 * MCP_ENOMEM or MCP_EINVAL; after a failure the hook will not be called. */
MCP_API int mcp_server_on_release(mcp_server *server, void (*release)(void *user), void *user);

/* Sets the instructions that clients get from now on. Legacy clients get instructions only when
 * they connect. NULL means no instructions. The string is copied. Returns MCP_OK, MCP_EINVAL (not
 * UTF-8) or MCP_ENOMEM; after a failure the old instructions stay. */
MCP_API int mcp_server_set_instructions(mcp_server *server, const char *instructions);

/* Sets a function that makes the instructions for each client. Use it if instructions name items
 * that not every caller may see (mcp_request_may()). It returns a string that lives as long as the
 * request (mcp_request_strdup()), or NULL for none; a string that is not UTF-8 is not sent. If
 * `make` is NULL, all clients get the instructions of mcp_server_set_instructions() again. */
MCP_API void mcp_server_set_instructions_hook(mcp_server *server,
                                              const char *(*make)(mcp_request *req, void *user),
                                              void *user);

/* Sets a function that is called for each resource before it is listed, including the entries of
 * providers, but not for resources that were registered before this call. The function may change
 * every member but the URI. Memory to which it makes a member point must stay valid until its next
 * call. NULL removes the function. */
MCP_API void mcp_server_set_resource_hook(mcp_server *server,
                                          void (*change)(mcp_resource *resource, void *user),
                                          void *user);

/* ---- usage counters -------------------------------------------------------------------------- */

typedef enum mcp_usage_kind {
    MCP_USAGE_TOOL = 0, /* tools/call, by the tool's name */
    MCP_USAGE_SOURCE,   /* resources/read, by the prefix of the mount to which the URI belongs */
    MCP_USAGE_KINDS
} mcp_usage_kind;

#define MCP_USAGE_BUCKETS 16
#define MCP_USAGE_NAMES   1000 /* tools or sources that have counters of their own */

/* Returns the inclusive upper bounds of the MCP_USAGE_BUCKETS first buckets of all histograms of
 * durations, in microseconds, from 0.5 ms to a minute; static storage. */
MCP_API const uint64_t *mcp_usage_bounds(void);
/* Passes a name to add(), in pieces, as the value of a label in the text format of Prometheus, without
 * quotes: backslashes, quotes and line ends are escaped, bytes that are not UTF-8 become U+FFFD. */
MCP_API void mcp_metric_label(mcp_str text, void (*add)(mcp_str piece, void *arg), void *arg);

/* The outcomes of the requests for one tool or source, over all channels, since it was first
 * registered or mounted. All values but `in_flight` are running totals, so the values of several
 * processes can be added. Each request that ended is counted in exactly one of `ok` to `gone`, and
 * in one bucket. A call that became a task ends with the task. Calls that exceed a rate limit are
 * rejected before their tool is looked up, and are not counted. */
typedef struct mcp_usage {
    size_t size;
    mcp_usage_kind kind;
    /* "other" collects requests that no current tool or mount answers (an unknown name, a removed
     * tool, a resource that was registered individually) and those that the principal may not see.
     * A tool with the name "other" is counted there too. */
    mcp_str name;
    uint64_t ok;
    uint64_t tool_errors; /* results with isError */
    uint64_t not_found;   /* only for sources: "Resource not found" */
    uint64_t errors;      /* all other protocol errors, including time-outs */
    uint64_t questions;   /* rounds that ended with an input request (MCP_INPUT_REQUIRED) */
    uint64_t gone;        /* cancelled, or the client disconnected */
    uint64_t in_flight;   /* not ended yet */
    /* Only for sources: size of the contents in `ok` answers, before they are encoded as JSON or
     * Base64. */
    uint64_t bytes;
    /* Total duration of all requests that ended, each until its answer was passed to the channel, in
     * microseconds. */
    uint64_t duration_us;
    /* The inclusive upper bounds of all buckets but the last, in microseconds, from 0.5 ms to a
     * minute; static storage. */
    const uint64_t *bounds_us;
    uint64_t buckets[MCP_USAGE_BUCKETS + 1]; /* number of durations between two bounds */
    /* Only for sources: pages of lists without its entries, because it could not be listed. */
    uint64_t left_out;
    /* Only for tools that a mounted provider runs: the name of its source, or .ptr NULL. "other" with a
     * source collects calls of tools that this source has not listed yet and that have not succeeded
     * either, so names that clients made up are among them. */
    mcp_str source;
} mcp_usage;

/* Calls each(usage, user) for each tool or source that was used, in order of registration, and last
 * for "other". `usage` is valid during the call, which must not change the server. The metrics of
 * items that access rules (mcp/access.h) hide from `identity` (NULL if anonymous) are added to
 * "other". Access to a tool is checked by its name, and to a mount by its prefix; a prefix that is
 * only a scheme without "+" is never hidden. The number of names never exceeds the number of tools and mounts
 * that are registered, listed by mounted providers, or still have requests in flight, whatever peers
 * send. At most MCP_USAGE_NAMES tools and as many sources have counters of their own, from their first use
 * as long as they are offered; further ones are counted as "other". Durations are measured
 * with the host's clock (mcp_host.now_us, or else now). Without a host they are measured with the times that are passed to the
 * channels, so a handler that answers at once takes no time. */
MCP_API void mcp_server_usage(const mcp_server *server, const mcp_identity *identity,
                              mcp_usage_kind kind, void (*each)(const mcp_usage *usage, void *user),
                              void *user);
/* Like mcp_server_usage(), for the program itself: nothing is hidden. */
MCP_API void mcp_server_usage_all(const mcp_server *server, mcp_usage_kind kind,
                                  void (*each)(const mcp_usage *usage, void *user), void *user);

/* Sets a function that is called before each tools/call, prompts/get and resources/read, with the name or the
 * URI as the caller wrote it: there need not be such an item, nor need the caller be allowed to use it.
 * Each round of a call counts (mcp/input.h). It takes from the rates of the program (mcp_request_take()),
 * and a request for which it does not return MCP_OK ends with what it returned. Requests that the
 * program sends itself for a caller (mcp_channel_options.inner) do not count. NULL removes it. */
MCP_API void mcp_server_set_rates_hook(mcp_server *server,
                                       int (*take)(mcp_request *req, mcp_item item, mcp_str name,
                                                   void *user),
                                       void *user);

/* Returns the name of the i-th rate: a member of mcp_server_options, or "rates" for all those of
 * mcp_request_take() together; NULL past the last. *count is how many requests it has refused. */
MCP_API const char *mcp_server_rate_refusals(const mcp_server *server, size_t i, uint64_t *count);

/* How many requests that change something, or would, have ended with one result. All texts are static. */
typedef struct mcp_change_count {
    size_t size; /* set by the library */
    /* What mcp_request_note_change() (mcp/audit.h) said: "create", "change", "move", "delete", "commit",
     * "write" or, for every other word, "other". */
    const char *operation;
    /* "ok", "dry_run" (it was only asked what would be changed), "tool_error", "input_required",
     * "not_found", "denied", "insufficient_scope", "limited", "error" or "gone", as in mcp/audit.h. */
    const char *result;
    uint64_t count;
} mcp_change_count;

/* Calls each(count, user) for every operation and result of which there was one. `count` is valid during
 * the call, which must not change the server. It tells no names, so it is the same for everybody. */
MCP_API void mcp_server_change_counts(const mcp_server *server,
                                      void (*each)(const mcp_change_count *count, void *user),
                                      void *user);

/* ---- other threads --------------------------------------------------------------------------- */

/* Runs fn(server, user) on the server's thread soon, in the order of the calls. Only
 * mcp_server_post() and mcp_request_post() may be called from any thread. To announce a change or
 * to register an item from another thread, do so in fn.
 *
 *     static void changed(mcp_server *server, void *user) { mcp_server_resource_updated(server, user); }
 *     …
 *     mcp_server_post(server, changed, "mem:x");     // in another thread
 *
 * It requires a host with `post` (mcp/io.h has one), which the server must keep for the whole
 * lifetime of such a thread. mcp_loop_drain() runs the functions that are still posted at the end.
 * Returns MCP_OK, or a negative code, in which case fn is not called: MCP_EUNSUPPORTED (no such
 * host), MCP_ENOMEM or MCP_EINVAL. */
MCP_API int mcp_server_post(mcp_server *server, void (*fn)(mcp_server *server, void *user),
                            void *user);

/* ---- changes --------------------------------------------------------------------------------- */

/* Reports that the contents of a resource changed. Its subscribers get one notification for all
 * changes within coalesce_ms. For a provider's resource pass the provider's canonical URI; that of a
 * template may have any spelling, and its parameters ({?...}, {&...}, {;...}) do not matter. This is
 * fast if there are no subscribers. */
MCP_API void mcp_server_resource_updated(mcp_server *server, const char *uri);

/* Reports that the set of resources changed in a way that the server cannot detect, such as a
 * change of a provider's resources. */
MCP_API void mcp_server_resources_changed(mcp_server *server);
/* Reports that one resource was added or removed. Peers that may not read it are not notified. */
MCP_API void mcp_server_resources_changed_by(mcp_server *server, const char *uri);

#ifdef __cplusplus
}
#endif
#endif
