/* upstream.h: mounts another MCP server. Its resources, templates, tools and prompts are offered as
 * this server's own, to peers of every revision.
 *
 *     mcp_upstream_mount(server, MCP_OPTIONS(mcp_upstream_options, .name = "docs",
 *                                            .argv = argv), &error);
 *
 * URIs of the other server get the prefix "mcp+NAME:", its tools and prompts get "NAME_". Results
 * are forwarded as JSON text (mcp_reply_raw()). Each principal has its own session with the other
 * server, which is opened by the first request and ended when idle. docs/upstream.md lists what is
 * not forwarded.
 */
#ifndef MCP_UPSTREAM_H
#define MCP_UPSTREAM_H

#include <mcp/io.h>
#include <mcp/module.h>
#include <mcp/mcp.h>

/* The definitions of tools that a person has approved, from a file (approval.h). The file is read
 * again when it has changed. */
typedef struct mcp_approvals mcp_approvals;

/* Opens the file. Returns MCP_OK, MCP_ENOTFOUND, MCP_EIO, MCP_ELIMIT (more than 16 MiB), MCP_EPARSE,
 * MCP_EINVAL (it is another kind of file) or MCP_ENOMEM; error->text then names the file and says
 * why. Release *ret with mcp_approvals_release(). */
int mcp_approvals_open(const char *path, const mcp_allocator *allocator, mcp_approvals **ret,
                       mcp_error *error);
/* Adds a holder, and returns `approvals`. Each holder calls mcp_approvals_release(); the last one
 * frees them. NULL is allowed. */
mcp_approvals *mcp_approvals_hold(mcp_approvals *approvals);
void mcp_approvals_release(mcp_approvals *approvals);
/* Returns the approved tools of a server, an object with their definitions by name, or NULL if there
 * are none; and the object with all servers. Both are valid until a mounted server reads a list. */
const mcp_json *mcp_approvals_tools(const mcp_approvals *approvals, const char *server);
const mcp_json *mcp_approvals_servers(const mcp_approvals *approvals);

/* Returns whether a member of an entry of tools/list belongs to the definition that is approved: all
 * except "name" and "_meta". */
bool mcp_tool_has(mcp_str member);
/* Returns whether two definitions of a tool differ, and writes the names of the members that do to
 * `what`, separated by ", ". */
bool mcp_tool_differs(const mcp_json *before, const mcp_json *after, char *what, size_t room);

/* The list of mounted servers. The program owns it and initializes it with zeros. */
typedef struct mcp_upstream_group {
    struct upstream *first;
    /* For mcp_upstream_mount_json(), as in mcp_upstream_options. The program is a holder, and may
     * change them between the calls. */
    mcp_approvals *approvals;
    bool withhold_changed;
    /* What one principal (all anonymous callers are one) may use at all servers together; 0 means no
     * limit: requests in flight; open sessions, of which shared ones do not count; and bytes of requests
     * in flight and of answers that are kept for the caller. Requests beyond that fail with an error that
     * names the limit. */
    size_t max_calls, max_sessions, max_bytes;
    /* Open sessions of all callers at all servers together; 0 means no limit. A further one replaces an
     * idle one of the principal that has most, or fails. */
    size_t max_sessions_in_all;
    /* What mcp_upstream_remember() of an earlier process has written, or NULL. Each server that is
     * mounted takes what concerns it. */
    const mcp_json *remembered;
    /* Called when a server has said something about itself, at the beginning of each session, so that
     * the program can call mcp_upstream_remember(). It must not call the server. May be NULL. */
    void (*introduced)(void *user);
    void *user;
    /* Returns what a text costs a model, for mcp_upstream_state.definitions. NULL: nothing. */
    uint64_t (*cost)(mcp_str text);
} mcp_upstream_group;

/* Writes what the servers of the group said about themselves, to each principal, as a value: their
 * titles, versions, instructions and kinds of items. What belongs to servers that are not mounted is not
 * written. Failures are those of the writer. */
void mcp_upstream_remember(const mcp_upstream_group *group, mcp_json_writer *w);

/* How sessions log in at an HTTP endpoint (mcp/oauth.h). */
typedef struct mcp_upstream_login {
    /* "login": a person has logged in with mcpctl, and the session renews the token. "client-credentials":
     * the session gets a token for the client itself. "enterprise": the session exchanges an ID token of
     * the caller for an ID-JAG at the identity provider, and that for a token. NULL: there is no login. */
    const char *oauth;
    /* Which login: that of `mcpctl login URL --for ACCOUNT`. "{principal}" is replaced by the principal of
     * the session. NULL: that of `mcpctl login URL`. */
    const char *account;
    const char *client_id, *client_secret_file, *client_key_file; /* except for "login" */
    const char *issuer; /* the only authorization server that is used; needed with a secret */
    const char *scope;
    const char *login_file; /* default: mcp/auth.json in $XDG_STATE_HOME, as that of mcpctl */
    /* "enterprise": the token endpoint of the identity provider, the client there, and the file with the ID
     * token, which is read each time that one is needed. "{principal}" in its path is replaced by the
     * principal of the session, whose bytes except A-Z, a-z, 0-9, "_" and "-" are percent-encoded. */
    const char *idp_token_endpoint, *idp_client_id, *idp_client_secret_file, *id_token_file;
} mcp_upstream_login;

/* What replaces the texts of a tool or prompt of the other server. */
typedef struct mcp_upstream_change {
    mcp_item item;        /* MCP_ITEM_TOOL or MCP_ITEM_PROMPT */
    const char *original; /* its name at the other server; required */
    /* It is called NAME_ and this name, or NULL. The characters are A-Z, a-z, 0-9, "_" and "-". */
    const char *name;
    const char *title, *description; /* in lists; NULL means those of the other server */
    uint64_t call_ms;                /* of a tool: replaces that of the options, unless it is 0 */
} mcp_upstream_change;

/* A limit on the rate of the requests of each principal (mcp_request_take()). */
typedef struct mcp_upstream_rate {
    /* The tools whose calls count together, as in only_tools. NULL means all requests except lists and
     * completions. */
    const char *const *tools;
    uint32_t per_minute, burst; /* burst: 0 means per_minute */
} mcp_upstream_rate;

/* What a program sees of a session (mcp_upstream_options.trace). */
typedef enum mcp_upstream_trace {
    MCP_UPSTREAM_SENT,     /* a message to the other server */
    MCP_UPSTREAM_RECEIVED, /* a message of the other server */
    MCP_UPSTREAM_STDERR,   /* a line that its program wrote to stderr */
} mcp_upstream_trace;

typedef struct mcp_upstream_options {
    size_t size;
    /* a-z, 0-9 and "-", at most 24 characters, beginning with a letter; required. All strings are
     * copied. */
    const char *name;

    /* Exactly one of `argv`, `url` and `connect` is required. `argv` is the command line of a
     * program that speaks MCP on stdin and stdout. `url` is the URL of an HTTP endpoint, or
     * "unix:PATH". */
    const char *const *argv;
    const char *url;
    /* Connects the client of a session (mcp_client_connect_transport()). *ret is passed to
     * `disconnect`, which ends the transport. `disconnect` may be called from callbacks of the
     * loop, but not from callbacks of the client. */
    int (*connect)(mcp_client *client, const char *principal, void **ret, void *user,
                   mcp_error *error);
    void (*disconnect)(void *link, void *user);
    void *user;

    /* The environment of the program, as "NAME=value". If this is NULL, the program inherits PATH,
     * HOME, LANG, TMPDIR and USER. */
    const char *const *env;
    /* Variables that are added to that environment. They replace those with the same names; of
     * equal names, the last one is used. */
    const char *const *env_add;
    const char *cwd;            /* working directory of the program */
    const char *const *headers; /* of HTTP requests, "Name: value" */

    /* The only revision to use, for example "2025-06-18"; NULL means that each session finds out
     * which one the other server supports (mcp_client_options). */
    const char *revision;
    /* The most sessions that are open at once; default 64. A further one replaces an idle one of the
     * principal that has most, or the request fails. */
    size_t max_sessions;
    uint64_t idle_ms; /* a session ends after being idle this long; default 300,000 */
    uint64_t
        timeout_ms; /* time-out of all requests except tool calls (call_ms), and of those of the
                          * handshake; default 60,000 */
    /* A list waits this long for the other server. Its last list is sent then, and callers are
     * notified if it has changed (default 1,000). first_list_ms is the time for a list that the
     * other server has not answered yet (default 10,000). */
    uint64_t list_ms, first_list_ms;
    /* The most requests in flight, of one principal (default 256) and of all (default 1,024). Calls
     * that wait for an answer to a question, and requests of lists that nobody waits for, count. */
    size_t max_calls, max_calls_in_all;
    /* What a message of the other server may have: bytes (default 16 MiB), JSON values (default
     * 262,144) and, in a page of a list, entries (default 10,000). They bound for how long a message
     * occupies the thread of the server. */
    size_t max_answer, max_values, max_entries;
    const mcp_allocator *allocator;
    mcp_upstream_group *group; /* the list that contains the server while it is mounted, or NULL */

    /* Questions of the other server (forms, URLs, roots, sampling) are passed to the caller of the call that
     * caused them, unless the caller is anonymous. The call waits for the answer for question_ms
     * (default 900,000), and is then cancelled. With no_questions, the other server cannot ask. */
    uint64_t question_ms;
    /* The most calls that wait, of one principal (default 64) and of all (default 1,024); further
     * questions are refused. */
    size_t max_parked, max_parked_in_all;
    bool no_questions;

    /* The tools that are offered, by their names at the other server, and those of them that are not.
     * "*" in a name matches any text. NULL for only_tools means all. The others can be neither listed
     * nor called. The same for prompts, and for resources and templates by their URIs at the other
     * server; URIs of others can be neither read nor watched, and links to them are left out. */
    const char *const *only_tools, *const *hide_tools;
    mcp_upstream_login login;
    /* URIs and names stay as they are. The server must then be the only mount. */
    bool transparent;
    /* All callers use the same sessions, as callers without a principal do. The other server cannot tell
     * them apart. It may ask the caller of a call, if it says which one or if there is only one, but not for
     * roots. Limits for each principal still hold. */
    bool shared;
    /* If this is set, each tool whose definition is not that in the approvals is logged and, with
     * withhold_changed, neither listed nor called. The mounted server becomes a holder. */
    mcp_approvals *approvals;
    bool withhold_changed;

    const char *const *only_prompts, *const *hide_prompts; /* as only_tools and hide_tools */
    const char *const *only_resources, *const *hide_resources;
    /* Other names and texts for tools and prompts. An item that the other server calls like the new
     * name of another one gets a name with a hash, as described in names.h. With `transparent`, names
     * cannot be changed. */
    const mcp_upstream_change *changes;
    size_t n_changes;
    /* Limits on the requests of each principal. All that concern a request must allow it. */
    const mcp_upstream_rate *rates;
    size_t n_rates;
    /* Called for each message between a session and the other server, and for each line that its
     * program writes to stderr (as mcp_service_options.log says), which are not logged then. `name`
     * is that of the mount, and `text` is borrowed. It must not call the server. May be NULL. */
    void (*trace)(const char *name, mcp_upstream_trace what, mcp_str text, void *user);
    const char *client_name; /* the name of this program, for the other server; default "mcpd" */
    /* How many messages of a session are read in a second, as mcp_http_client_options and
     * mcp_service_options say; default 10,000. It does not concern `connect`. */
    size_t messages_per_second;
    /* The most open sessions of one principal, which has one for each set of capabilities that its clients
     * declare; of a shared server, of all callers together. Default 8. A further one replaces the idle one
     * of this principal that was not used for the longest time, or the request fails. */
    size_t max_sessions_each;
    /* How long the call of a tool may take; default 600,000. Progress begins this time again. The call
     * then fails and is cancelled. While a call is in flight, mcp_server_options.handler_timeout_ms does
     * not end it if it is at least 10,000. If a request of a session is beyond its time, its program gets pings;
     * when one of them is not answered for ping_ms (default 30,000), the program is ended, and started
     * again for the next request, unless an earlier request is within its time. This holds for `connect`,
     * too: the link is disconnected. */
    uint64_t call_ms, ping_ms;
} mcp_upstream_options;

/* Mounts the other server. Before the first request, the server needs a host with timers; unless
 * `connect` is given, the host must be that of an mcp_loop. Returns MCP_OK, MCP_EINVAL, MCP_EEXIST
 * (the name is taken) or MCP_ENOMEM. */
int mcp_upstream_mount(mcp_server *server, const mcp_upstream_options *options, mcp_error *error);

/* Opens a session of a principal (NULL: anonymous) with each server of the group before the first
 * request, which then need not wait for the connection. `can` has the capabilities that requests of the
 * principal will declare, as names for mcp_request_can(), and ends with NULL; calls of a principal that
 * declares others get another session. Where a suitable session is open, nothing is done. If a server
 * cannot be reached, this is logged, and the first request tries again. Call it from the thread of the
 * server. */
void mcp_upstream_begin(const mcp_upstream_group *group, const char *principal,
                        const char *const *can);

/* Why a session ended. */
typedef enum mcp_upstream_end {
    MCP_UPSTREAM_IDLE,   /* it was idle for idle_ms, or was ended because of max_sessions */
    MCP_UPSTREAM_LOST,   /* the connection was lost */
    MCP_UPSTREAM_CLOSED, /* the server was unmounted */
    MCP_UPSTREAM_ENDS,
} mcp_upstream_end;

/* How a request ended. */
typedef enum mcp_upstream_outcome {
    MCP_UPSTREAM_ANSWERED,
    MCP_UPSTREAM_ERROR,       /* the other server answered with an error */
    MCP_UPSTREAM_UNREACHABLE, /* there was no answer */
    MCP_UPSTREAM_CANCELLED,
    MCP_UPSTREAM_LIMITED, /* it exceeded one of the rates, and was not forwarded */
    MCP_UPSTREAM_OUTCOMES,
} mcp_upstream_outcome;

/* What was listed when there was no answer in time. */
typedef enum mcp_upstream_list {
    MCP_UPSTREAM_LAST,    /* the entries that were listed last */
    MCP_UPSTREAM_WITHOUT, /* no entries of this server */
    MCP_UPSTREAM_LISTS,
} mcp_upstream_list;

/* A limit that a request or a session would have exceeded. */
typedef enum mcp_upstream_limit {
    MCP_UPSTREAM_MAX_CALLS,
    MCP_UPSTREAM_MAX_CALLS_IN_ALL,
    MCP_UPSTREAM_MAX_SESSIONS,
    MCP_UPSTREAM_MAX_SESSIONS_EACH,
    MCP_UPSTREAM_GROUP_CALLS, /* max_calls of the group, and so on */
    MCP_UPSTREAM_GROUP_SESSIONS,
    MCP_UPSTREAM_GROUP_BYTES,
    MCP_UPSTREAM_GROUP_SESSIONS_IN_ALL,
    MCP_UPSTREAM_LIMITS,
} mcp_upstream_limit;

/* The state of a mounted server. Members of the type uint64_t, except `memory` and `definitions`, are totals since
 * the server was mounted first; mounting it again with the same options of its connection does not end them. */
typedef struct mcp_upstream_state {
    size_t size; /* set by the library */
    const char *name;
    const char *prefix;   /* of its URIs, "mcp+NAME:"; NAME if it has none (transparent) */
    bool program;         /* the server is a program, not an HTTP endpoint */
    size_t sessions;      /* number of open sessions */
    size_t subscriptions; /* number of resources that all sessions watch */
    size_t in_flight;     /* number of requests in flight */
    /* sessions that were opened, that a limit prevented, and that ended, by cause */
    uint64_t opened, refused, ends[MCP_UPSTREAM_ENDS];
    uint64_t requests[MCP_UPSTREAM_OUTCOMES]; /* requests that ended, by outcome */
    /* How long these took, from the message to the other server to its answer or time-out: between the
     * bounds of mcp_usage_bounds(), and in all. Requests in which it asked something are not in it, because
     * they contain the time of a person. */
    uint64_t buckets[MCP_USAGE_BUCKETS + 1], duration_us;
    uint64_t logs, logs_dropped; /* log messages that were forwarded, and that were left out */
    uint64_t lists[MCP_UPSTREAM_LISTS];    /* lists that did not wait for an answer */
    uint64_t limited[MCP_UPSTREAM_LIMITS]; /* what was refused, by limit */
    uint64_t slowed; /* how often a session has to wait (messages_per_second), at most every 10 s */
    uint64_t unreadable; /* messages that are not JSON and end no call */
    uint64_t malformed; /* pages of lists with malformed entries, and requests that are forbidden */
    /* The rest is 0 unless the server is a program. */
    size_t processes; /* number of processes that are running */
    /* the private memory of these processes in bytes, the number of processes that were started, and
     * of those that ended by themselves or did not start */
    uint64_t memory, starts, failures;
    uint64_t hung; /* programs that were ended because they did not answer (call_ms, ping_ms) */
    /* The cost (mcp_upstream_group.cost) of the names, descriptions and input schemas of its tools that are offered, by its
     * last list; if callers got different ones, by the largest. 0 before the first list. */
    uint64_t definitions;
} mcp_upstream_state;

/* Calls each(state, user) for each server of the group. */
void mcp_upstream_each(const mcp_upstream_group *group,
                       void (*each)(const mcp_upstream_state *state, void *user), void *user);
/* What the other server said about itself when its last session with a principal began. The texts are
 * not checked: they may have several lines, and an open session has them as long as they were sent. */
typedef struct mcp_upstream_about {
    size_t size;
    const char *name;   /* that of the source */
    const char *prefix; /* of its URIs */
    bool transparent;   /* as in the options */
    mcp_str title;      /* or its name; all of these may be empty */
    mcp_str version;
    mcp_str instructions;
} mcp_upstream_about;

/* Calls each(about, user) for each server of the group that the principal (NULL: anonymous) has had a
 * session with. `about` is valid during the call. */
void mcp_upstream_introduce(const mcp_upstream_group *group, const char *principal,
                            void (*each)(const mcp_upstream_about *about, void *user), void *user);
/* The words for these enums in metrics ("idle", "answered", "last", …), or NULL past the last one. */
const char *mcp_upstream_end_name(size_t end);
const char *mcp_upstream_outcome_name(size_t outcome);
const char *mcp_upstream_list_name(size_t list);
const char *mcp_upstream_limit_name(size_t limit);

/* The first word of the command line with which a source with the option "sandbox" starts the program
 * that contains this provider again. mcpd then runs confine_run(). */
#define MCP_UPSTREAM_CONFINED "--run-confined"

/* Mounts a source of mcpd: "COMMAND ARG…", "https://…" or "unix:PATH". `options` must conform to
 * mcp_upstream_schema. If `name` is NULL, it is derived from the source. `group` may be NULL.
 * Returns the errors of mcp_upstream_mount(). */
int mcp_upstream_mount_json(mcp_server *server, const char *source, const mcp_json *options,
                            const char *name, mcp_upstream_group *group,
                            const mcp_allocator *allocator, mcp_error *error);
/* Describes what mcp_upstream_mount_json() would offer, for mcp_module.describe. */
int mcp_upstream_describe_json(const char *source, const mcp_json *options, const char *name,
                               const mcp_description *to, const mcp_allocator *allocator,
                               mcp_error *error);
/* A tool of a server, for mcp_upstream_try_json(). `name` is NULL before the first tool. */
typedef void mcp_upstream_tool_fn(const char *server, const char *name, const mcp_json *tool,
                                  void *user);

/* Connects to the server, which may take at most 20 seconds, and ends the connection again. Writes
 * a text for people to `summary`: how long connecting took, and the server's name, revision and
 * capabilities. With `each`, the server is also asked for all of its tools, and each(server, name, tool,
 * user) is called for each entry of the list, with the name of the source as `server`, and once before
 * them without an entry. Returns MCP_OK, or a negative code with the reason in *error. */
int mcp_upstream_try_json(const char *source, const mcp_json *options, const char *name,
                          char *summary, size_t room, mcp_upstream_tool_fn *each, void *user,
                          mcp_error *error);
extern const char mcp_upstream_schema[];

#endif
