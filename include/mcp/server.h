/* mcp/server.h: declare what is offered.
 *
 *     static int greet(mcp_request *req, const mcp_json *arguments, void *user) { … }
 *     static const mcp_tool greet_tool = {.size = sizeof(mcp_tool), .name = "greet", .call = greet, …};
 *
 *     mcp_server *server;
 *     mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "hello", .version = "1.0"), &server, &err);
 *     mcp_server_add_tool(server, &greet_tool, NULL, &err);
 *     mcp_serve_stdio(server, &err);            // mcp/io.h
 *
 * Descriptors are copied at registration, deeply; handlers and `user` pointers are kept. Capabilities
 * follow from what is registered. Registering or removing something while peers are connected announces
 * it (list_changed) to those who asked. A server and its channels belong to one thread; others come in
 * through mcp_server_post() and mcp_request_post().
 */
#ifndef MCP_SERVER_H
#define MCP_SERVER_H

#include <mcp/base.h>
#include <mcp/channel.h>
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
    const char *name;    /* required; everything is copied */
    const char *version; /* required */
    const char *title;
    const char *description;
    const char *website_url;
    const mcp_icon *icons;
    size_t n_icons;
    const char *instructions; /* guidance for the model; mcp_server_set_instructions() changes it */

    size_t page_size;     /* entries in one page of a list; 1000 */
    uint64_t list_ttl_ms; /* how long lists may be cached; default 5000; MCP_TTL_NONE: not at all */
    uint64_t read_ttl_ms; /* the same for resources; default 0: always fresh */
    bool cache_public;    /* cacheScope "public": nothing depends on who asks. Default: private */
    uint64_t coalesce_ms; /* changes within this time become one notification; 100, at
                             most an hour */

    bool no_subscribe;    /* do not offer subscriptions to single resources */
    bool no_list_changed; /* do not announce changes of lists */
    /* Declare a capability although nothing is registered yet, because it will be. */
    bool declare_resources, declare_prompts, declare_tools;
    /* Declare that handlers send log messages to the peer, with mcp_request_log(). */
    bool logging;

    /* How long a client may take to answer what it is asked (mcp/input.h), where it is asked by requests
     * (before 2026-07-28); 10 minutes. */
    uint64_t input_timeout_ms;
    /* Fills bytes with cryptographic randomness (MCP_OK or a negative code), and milliseconds since 1970;
     * NULL: the system's. */
    int (*random)(void *bytes, size_t len, void *user);
    int64_t (*clock)(void *user);
    void *user; /* for these two, and option_name */

    const struct mcp_host *host; /* lends worker threads and timers; may be set later */
    const mcp_allocator *allocator;

    /* How long a handler that answers later may take, or may go without mcp_request_progress(), before it is
     * cancelled and the peer gets an error that says so; 600,000. UINT64_MAX: for ever. */
    uint64_t handler_timeout_ms;
    /* How often one caller may call tools (500 a second, 2000 at once) and ask for completions (200 a second,
     * 1000 at once); what is more gets an error with data.retryAfterMs. A caller is a principal; where nobody
     * authenticates, what the transport takes for one (mcp_channel_options.caller); else all together. A limit
     * that is not set here does not hold for callers on this machine (mcp_channel_options.local). Without a
     * burst what may come at once is four seconds' worth of what is set. */
    uint32_t calls_per_second, calls_burst;
    uint32_t completions_per_second, completions_burst;
    bool no_rate_limits;
    /* The same for tasks/get, tasks/result and tasks/list: 500 a second, 2000 at once. */
    uint32_t polls_per_second, polls_burst;
    /* How the program calls one of these options, for the texts of errors: "--calls-per-second" for
     * "calls_per_second". NULL, or NULL returned: by the name that it has here. The text is static or lives as
     * long as the server. */
    const char *(*option_name)(const char *member, void *user);
    /* How many bytes what was announced with mcp_request_work_sized() may take at the same time, of all callers
     * together; 128 MiB. SIZE_MAX: any number. */
    size_t max_work_memory;
} mcp_server_options;

/* What mcp_request_work_sized() reserved, in bytes, and the requests that it made wait. Set `size` before. */
typedef struct mcp_work_memory {
    size_t size;
    size_t held, limit;
    size_t most;      /* that was ever held at the same time */
    size_t n_waiting; /* requests, now */
    uint64_t waited, refused;
} mcp_work_memory;

/* MCP_OK; MCP_EINVAL (a required field is missing, a text is not UTF-8), MCP_ENOMEM. The server is
 * yours: free it after its channels. */
MCP_API int mcp_server_new(const mcp_server_options *options, mcp_server **ret, mcp_error *error);
/* Frees the providers too. NULL is allowed. */
MCP_API void mcp_server_free(mcp_server *server);
/* The present state. On the server's thread. */
MCP_API void mcp_server_get_work_memory(const mcp_server *server, mcp_work_memory *ret);

/* Makes the channel of one peer. The channel is yours: mcp_channel_free() it before the server.
 * MCP_EINVAL (no `send`), MCP_ENOMEM. */
MCP_API int mcp_server_connect(mcp_server *server, const mcp_channel_options *options,
                               mcp_channel **ret, mcp_error *error);

/* ---- resources ------------------------------------------------------------------------------- */

/* Answers resources/read. `uri` is what was asked for, NUL-terminated, as it was spelled. `match` holds
 * the variables of the template that matched, NULL for a resource registered by its URI. Reply with
 * mcp_reply_text() and its like; MCP_ENOTFOUND: there is no such resource. */
typedef int mcp_read_fn(mcp_request *req, mcp_str uri, const mcp_uri_match *match, void *user);

/* A resource: registered with mcp_server_add_resource(), or an entry of a provider's list. Strings are
 * UTF-8 and NUL-terminated. 2026-07-28, server/resources, "Resource". */
typedef struct mcp_resource {
    size_t size;
    const char *uri;  /* required, RFC 3986 with a scheme */
    const char *name; /* required */
    const char *title;
    const char *description;
    const char *mime_type;
    bool has_size; /* whether resource_size is said */
    uint64_t resource_size;
    const mcp_annotations *annotations;
    const mcp_icon *icons;
    size_t n_icons;
    const char *meta; /* JSON text of an object for _meta */

    mcp_read_fn *read; /* required to register; not used in a provider's list */
    const char *text;  /* instead of read: the contents themselves, copied */
} mcp_resource;

/* MCP_EEXIST: the URI is taken; MCP_EINVAL (error says what), MCP_ENOMEM. */
MCP_API int mcp_server_add_resource(mcp_server *server, const mcp_resource *resource, void *user,
                                    mcp_error *error);
/* MCP_OK or MCP_ENOTFOUND. Requests that are being answered go on. */
MCP_API int mcp_server_remove_resource(mcp_server *server, const char *uri);

/* Answers completion/complete: adds values for variable `name` that begin with `value`, best first.
 * `context` holds the other variables that are known already (an object of strings), or NULL. */
typedef int mcp_complete_fn(mcp_request *req, mcp_str name, mcp_str value, const mcp_json *context,
                            void *user);

/* A template for resources (RFC 6570, all levels). It is matched when no registered URI is the same:
 * the most specific template that matches wins (mcp_uri_template_compare()). A template that cannot be
 * matched without guessing is refused with MCP_EUNSUPPORTED. 2026-07-28, server/resources, "Resource
 * Templates". */
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

MCP_API int mcp_server_add_template(mcp_server *server, const mcp_resource_template *tmpl,
                                    void *user, mcp_error *error);
MCP_API int mcp_server_remove_template(mcp_server *server, const char *uri_template);

/* ---- prompts --------------------------------------------------------------------------------- */

typedef struct mcp_prompt_argument {
    size_t size;
    bool required;    /* a prompts/get without it is refused before the handler runs */
    const char *name; /* required */
    const char *title;
    const char *description;
} mcp_prompt_argument;

/* Answers prompts/get with mcp_reply_content() and its like. `arguments` is an object of strings or
 * NULL. */
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

MCP_API int mcp_server_add_prompt(mcp_server *server, const mcp_prompt *prompt, void *user,
                                  mcp_error *error);
MCP_API int mcp_server_remove_prompt(mcp_server *server, const char *name);

/* ---- tools ----------------------------------------------------------------------------------- */

/* Hints for people; three states each. 2026-07-28, schema, ToolAnnotations. */
typedef enum mcp_hint { MCP_HINT_UNSET = 0, MCP_HINT_NO, MCP_HINT_YES } mcp_hint;

/* Answers tools/call. `arguments` is an object that conforms to the input schema, or NULL when there are
 * none. A problem that the model can mend is mcp_reply_tool_error(), not a negative code. */
typedef int mcp_call_fn(mcp_request *req, const mcp_json *arguments, void *user);

/* Whether calls may go on as tasks: see mcp/task.h. */
typedef enum mcp_task_support {
    MCP_TASK_FORBIDDEN = 0,
    MCP_TASK_OPTIONAL,
    MCP_TASK_REQUIRED, /* a peer that cannot have tasks is refused before the handler runs */
} mcp_task_support;

typedef struct mcp_tool {
    size_t size;
    const char *name; /* required; 1 to 128 of A-Z a-z 0-9 _ - . */
    const char *title;
    const char *description;
    /* JSON text of a schema with "type":"object" (mcp/schema.h says what is supported); NULL: any object.
     * Arguments that fail it do not reach the handler: the peer is told where and why. */
    const char *input_schema;
    /* JSON text of a schema of the structured content, which the handler then has to give; a result that
     * does not conform is an internal error. Not told to revisions that do not allow it. */
    const char *output_schema;
    mcp_hint read_only, destructive, idempotent, open_world;
    const mcp_icon *icons;
    size_t n_icons;
    const char *meta;

    mcp_call_fn *call; /* required */
    mcp_task_support task_support;
    /* Instead of the server's handler_timeout_ms; UINT64_MAX: for ever. */
    uint64_t timeout_ms;
    /* Whether the tool is listed for the client of this request, which mcp_request_client_info() names; `user` is the
     * tool's. NULL: for every client. A matter of taste and not of access (mcp/access.h): a client that calls the tool
     * all the same is answered. Lists of tools are then cached for each client alone. It must give the same answer for
     * the same client, and be quick. */
    bool (*offered)(const mcp_request *req, void *user);
} mcp_tool;

/* MCP_EINVAL: also when a schema cannot be compiled or an x-mcp-header in it is not allowed
 * (2026-07-28, basic/transports/streamable-http); error says which and where. MCP_EEXIST, MCP_ENOMEM. */
MCP_API int mcp_server_add_tool(mcp_server *server, const mcp_tool *tool, void *user,
                                mcp_error *error);
MCP_API int mcp_server_remove_tool(mcp_server *server, const char *name);

/* ---- all at once, and anew ------------------------------------------------------------------- */

/* Calls build(server, user), and what that registers and mounts takes the place of what the build before it did,
 * at once: for a configuration that is read again. What was registered outside of a build stays. A build that
 * returns a negative code, or that cannot be had (MCP_ENOMEM), leaves everything as it was; its own is
 * released. Afterwards each list that is offered is announced as changed, once; who is subscribed stays so.
 * Requests that are under way are answered by what they began with: its providers are released when the last
 * of them ended, from the host's timer, so a provider's threads have to be done by the end of its release().
 * Not from a handler, nor from within a build (MCP_ESTATE). Returns what `build` did. */
MCP_API int mcp_server_rebuild(mcp_server *server,
                               int (*build)(mcp_server *server, void *user, mcp_error *error),
                               void *user, mcp_error *error);

/* Calls release(user) when what is registered now is not needed any more: outside of a build when the server is
 * freed, within one when that is replaced. For the `user` of tools and the like, which belongs to no provider.
 * The last one is called first. MCP_OK; MCP_ENOMEM, MCP_EINVAL: it is not called. */
MCP_API int mcp_server_on_release(mcp_server *server, void (*release)(void *user), void *user);

/* What clients are told from now on that ask (legacy ones ask once, when they connect); NULL: nothing. Copied.
 * MCP_EINVAL (not UTF-8), MCP_ENOMEM: it stays as it was. */
MCP_API int mcp_server_set_instructions(mcp_server *server, const char *instructions);

/* Calls make(request, user) for each client that asks, and sends what it returns instead: a text that lives as long as the
 * request (mcp_request_strdup()), or NULL, which is nothing, as what is not UTF-8 is. For instructions that name what not
 * everybody may see (mcp_request_may()). NULL: all get those of mcp_server_set_instructions() again. */
MCP_API void mcp_server_set_instructions_hook(mcp_server *server,
                                              const char *(*make)(mcp_request *req, void *user),
                                              void *user);

/* Calls change(resource, user) for each resource before it is listed, a provider's entries included (what was
 * registered before the call is not): what is said about it may be changed, but not its URI. What it then points
 * to has to live until the next such call. NULL: nothing is changed. */
MCP_API void mcp_server_set_resource_hook(mcp_server *server,
                                          void (*change)(mcp_resource *resource, void *user),
                                          void *user);

/* ---- how it is used -------------------------------------------------------------------------- */

typedef enum mcp_usage_kind {
    MCP_USAGE_TOOL = 0, /* tools/call, by the tool's name */
    MCP_USAGE_SOURCE,   /* resources/read, by the prefix of the mount that the URI is below */
    MCP_USAGE_KINDS
} mcp_usage_kind;

#define MCP_USAGE_BUCKETS 5

/* What requests of one tool or source came to, of all channels, since it was first registered or mounted. Everything is
 * a sum but `in_flight`, so what several processes count can be added up. Each request that ended is counted in exactly
 * one of `ok` to `gone`, and in one bucket. A call that became a task ends with the task. Calls that are refused before
 * their tool is looked up, by a limit for callers, are not counted. */
typedef struct mcp_usage {
    size_t size;
    mcp_usage_kind kind;
    /* "other": what is answered by no tool or mount that there is (a name that nobody knows, a tool that was removed, a
     * resource that was registered by itself), and what a principal may not know of. A tool of that name is counted
     * there. */
    mcp_str name;
    uint64_t ok;
    uint64_t tool_errors; /* results with isError */
    uint64_t not_found;   /* of sources: "Resource not found" */
    uint64_t errors;      /* all other errors of the protocol, time-outs too */
    uint64_t questions;   /* rounds that ended with a question to the client (MCP_INPUT_REQUIRED) */
    uint64_t gone;        /* cancelled, or the client left */
    uint64_t in_flight;   /* not ended yet */
    uint64_t
        bytes; /* of sources: contents in what is `ok`, before they were written as JSON or Base64 */
    uint64_t duration_ms; /* of all that ended, until the answer was handed to the channel */
    const uint64_t *
        bounds_ms; /* the upper bounds, inclusive, of all buckets but the last; lives as long as libmcp */
    uint64_t buckets[MCP_USAGE_BUCKETS + 1]; /* durations between two bounds */
} mcp_usage;

/* Calls each(user, usage) for each tool or source that was used, in order of registration, and at last for "other".
 * `usage` is valid during the call, which must change nothing of the server. What access rules (mcp/access.h) hide from
 * `principal` (NULL: nobody in particular) is added to "other": a tool by its name, a mount by its prefix, which counts
 * as readable where it is a scheme alone. There are never more names than tools and mounts that are registered or still
 * answering, whatever peers ask for. Durations are by the host's clock; without a host by what the channels were told,
 * so that a handler that answers at once takes no time. */
MCP_API void mcp_server_usage(const mcp_server *server, const char *principal, mcp_usage_kind kind,
                              void (*each)(const mcp_usage *usage, void *user), void *user);

/* ---- other threads --------------------------------------------------------------------------- */

/* Runs fn(server, user) on the server's thread, soon, in the order of the calls. This and mcp_request_post()
 * are the two calls that may come from any thread: a change is told, and a registry changed, from within fn.
 *
 *     static void changed(mcp_server *server, void *user) { mcp_server_resource_updated(server, user); }
 *     …
 *     mcp_server_post(server, changed, "mem:x");     // in a thread of your own
 *
 * It needs a host with `post` (mcp/io.h has one), which has to be the server's before such a thread begins and
 * until it ended. What was posted runs until the end of the loop: mcp_loop_drain() does it. MCP_OK;
 * MCP_EUNSUPPORTED (no such host), MCP_ENOMEM, MCP_EINVAL: fn is not called. */
MCP_API int mcp_server_post(mcp_server *server, void (*fn)(mcp_server *server, void *user),
                            void *user);

/* ---- changes --------------------------------------------------------------------------------- */

/* The contents of a resource changed: tells those who are subscribed to it, coalesced. For a provider's
 * resource the URI is the provider's canonical one. Cheap when nobody is. */
MCP_API void mcp_server_resource_updated(mcp_server *server, const char *uri);

/* The set of resources changed in a way that the server does not know by itself (a provider's). */
MCP_API void mcp_server_resources_changed(mcp_server *server);
/* The same when it is known that this one resource was added or taken away: who may not read it is not told. */
MCP_API void mcp_server_resources_changed_by(mcp_server *server, const char *uri);

#ifdef __cplusplus
}
#endif
#endif
