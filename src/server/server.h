/* server.h: the server role's own structures.
 *
 *   mcp_server     what is offered: the registry, the mounts, the hub
 *   mcp__session   the server's side of one channel: what a legacy peer's session remembers
 *   mcp_request    one request being answered, and the reply as it is being written
 *
 * deadline.c time-outs, rate.c limits per caller, hold.c memory of work, post.c other threads.
 *
 * server.c life and options, registry.c what is registered, session.c the role of a channel and the
 * handshakes, dispatch.c the table of methods, list.c read.c prompt.c tool.c complete.c listen.c the methods,
 * reply.c, request.c and notice.c what handlers call, input.c, deliver.c, elicit.c and sample.c what they ask
 * the client, seal.c what it keeps for us meanwhile, hub.c subscriptions and notices, task*.c calls that go on
 * after their answer, build.c everything anew, usage.c how often what is used.
 */
#ifndef MCP_SRC_SERVER_H
#define MCP_SRC_SERVER_H

#include <stdatomic.h>

#include <mcp/access.h>
#include <mcp/provider.h>
#include <mcp/schema.h>
#include <mcp/server.h>

#include "base/base.h"
#include "channel/channel.h"
#include "json/json.h"
#include "protocol/object.h"
#include "protocol/revision.h"
#include "server/usage.h"

enum { MCP__REVISIONS = 5 };

/* ---- registry.c ----------------------------------------------------------------------------------- */

typedef enum mcp__kind {
    MCP__RESOURCES = 0,
    MCP__TEMPLATES,
    MCP__PROMPTS,
    MCP__TOOLS,
    MCP__KINDS,
} mcp__kind;

/* One registered thing. Its list entry is rendered once per revision, at registration; revisions that
 * look the same share the text. */
typedef struct mcp__entry {
    mcp__kind kind;
    unsigned refs; /* the registry, and requests that are being answered by it */
    bool built;    /* within mcp_server_rebuild() */
    uint64_t sequence;
    mcp_str key; /* URI, template, name; NUL-terminated */
    mcp_str rendered[MCP__REVISIONS];
    void *user;
    mcp_read_fn *read; /* resources, templates */
    mcp_complete_fn *complete;
    mcp_prompt_fn *get;
    mcp_call_fn *call;
    bool (*offered)(const mcp_request *req, void *user); /* tools; NULL: to everybody */
    char *mime_type;                                     /* resources, templates */
    char *text;                                          /* resources with fixed contents */
    mcp_uri_template *tmpl;                              /* templates */
    char **arguments;                                    /* prompts: names */
    bool *required;                                      /* prompts: of the arguments */
    uint64_t timeout_ms;                                 /* tools; 0: as the server's */
    struct mcp__mirror *mirror; /* tools: parameters repeated in headers; NULL: none */
    size_t n_arguments;
    mcp__meter *meter;             /* tools */
    mcp_schema *input;             /* tools: of the arguments */
    mcp_schema *output;            /* tools: of the structured content; NULL: none was given */
    mcp_task_support task_support; /* tools */
    const mcp_allocator *allocator;
} mcp__entry;

/* All of one kind, in order of registration. */
typedef struct mcp__registry {
    mcp__entry **items;
    size_t count, cap;
    mcp__map by_key;
} mcp__registry;

void mcp__entry_unref(mcp__entry *entry);
static inline mcp__entry *mcp__entry_ref(mcp__entry *entry)
{
    entry->refs++;
    return entry;
}
/* Whether it is listed for the client of the request. */
static inline bool mcp__entry_offered(const mcp__entry *entry, const mcp_request *req)
{
    return !entry->offered || entry->offered(req, entry->user);
}
mcp__entry *mcp__registry_find(const mcp_server *server, mcp__kind kind, mcp_str key);
/* The first entry registered after `sequence`. */
size_t mcp__registry_after(const mcp__registry *registry, uint64_t sequence);
void mcp__registry_free(mcp_server *server);
/* Gives up its entries, its memory and its map. */
void mcp__registry_release(const mcp_allocator *allocator, mcp__registry *registry);
/* Has an entry of a registry that was put aside in the present one too. */
int mcp__registry_keep(mcp_server *server, mcp__entry *entry);
/* The most specific template that matches; *match is the caller's. MCP_OK, MCP_ENOTFOUND, MCP_ENOMEM. */
int mcp__registry_match(const mcp_server *server, mcp_str uri, mcp__entry **entry,
                        mcp_uri_match **match);

/* ---- mounted providers ------------------------------------------------------------------------------ */

typedef struct mcp__mount {
    char *prefix;
    size_t scheme_len; /* of the prefix, with the colon */
    mcp_provider provider;
    void *user;
    mcp__meter *meter;
    bool built; /* within mcp_server_rebuild() */
} mcp__mount;

/* Has the provider watch its list; what it cannot is in the log, and its changes are not announced. */
void mcp__mount_watch_list(mcp_server *server, const mcp__mount *mount);
/* The mount with the longest prefix that the URI begins with, or NULL. */
mcp__mount *mcp__mount_find(const mcp_server *server, mcp_str uri);

void mcp__mount_free(mcp_server *server, mcp__mount *mount);
int mcp__mount_keep(mcp_server *server, mcp__mount *mount);

/* ---- build.c: everything anew -------------------------------------------------------------------------------- */

/* What is released with a build, or with the server. */
typedef struct mcp__closer {
    struct mcp__closer *next;
    void (*release)(void *user);
    void *user;
} mcp__closer;

/* What one mcp_server_rebuild() made, and who still needs it: the server while it is the present one, and
 * requests. */
typedef struct mcp__build {
    mcp_server *server;
    unsigned refs;
    bool retired;
    mcp__link link;      /* in server->retired, when nobody but itself is left */
    mcp__mount **mounts; /* its own, when it is the present one no more */
    size_t n_mounts;
    mcp__closer *closers;
    mcp_host_timer *timer;
} mcp__build;

void mcp__build_take(mcp_request *req);
void mcp__build_give(mcp_request *req);
/* The timers are the host's. */
void mcp__build_leave_host(mcp_server *server);
void mcp__build_enter_host(mcp_server *server);
/* The present one, and those that are about to be released. */
void mcp__build_free_all(mcp_server *server);
void mcp__closers_run(mcp_server *server, mcp__closer **closers);

/* ---- rate.c: how often a caller may ask ------------------------------------------------------------------- */

typedef enum mcp__rate {
    MCP__RATE_CALLS = 0,
    MCP__RATE_COMPLETIONS,
    MCP__RATE_POLLS, /* of tasks */
    MCP__RATES
} mcp__rate;

typedef struct mcp__rate_limit {
    uint32_t per_second, burst;
    bool for_local; /* the program set it: it holds for callers on this machine too */
} mcp__rate_limit;

typedef struct mcp__callers {
    mcp__rate_limit limits[MCP__RATES];
    mcp__link recent;
    mcp__map by_name;
} mcp__callers;

void mcp__rate_init(mcp_server *server, const mcp_server_options *o);
void mcp__rate_free(mcp_server *server);
/* MCP_OK; a negative code, mostly after mcp_reply_fail(): not now. */
int mcp__rate_take(mcp_request *req, mcp__rate which);

/* ---- hold.c: memory that work makes ------------------------------------------------------------------------- */

typedef struct mcp__hold mcp__hold;

typedef struct mcp__holds {
    size_t limit, used, most;
    mcp__link turns;   /* callers with requests that wait, who is next first */
    mcp__link waiting; /* mcp__hold, of all callers */
    size_t n_waiting;
    mcp__map by_name; /* callers */
    uint64_t waited, refused;
    mcp_host_timer *timer;
    bool soon; /* what the timer is for: there is room */
} mcp__holds;

void mcp__hold_init(mcp_server *server, size_t limit);
void mcp__hold_free(mcp_server *server);
void mcp__hold_leave_host(mcp_server *server);
/* Whether the work of a request has not begun because there is no room. */
bool mcp__hold_waits(const mcp_request *req);
/* Of one that waits: its handler is called without the work. */
void mcp__hold_cancel(mcp_request *req);
/* Gives back what a request holds. */
void mcp__hold_end(mcp_request *req);

/* ---- the server ----------------------------------------------------------------------------------------- */

struct mcp_server {
    mcp_allocator allocator;
    mcp_server_options options; /* the numbers and switches; texts are below */
    char *instructions;
    const char *(*make_instructions)(mcp_request *req, void *user); /* NULL: those above */
    void *instructions_user;
    mcp__callers callers;
    mcp__holds holds;
    mcp_json_doc *no_arguments;   /* {}: what a call without arguments is checked as */
    mcp_str info[MCP__REVISIONS]; /* the Implementation object, rendered */
    mcp__buf info_text;           /* what `info` points into */
    mcp_host host;
    bool has_host;
    struct mcp__seal *seal; /* NULL: not needed yet */
    mcp_access access;      /* may NULL: everybody may see everything */

    mcp__registry registry[MCP__KINDS];
    mcp__entry **by_specificity; /* the templates, most specific first */
    uint64_t next_sequence;
    mcp__mount **mounts; /* each in a block of its own: providers may mount while they are asked */
    size_t n_mounts;

    struct mcp__build *build; /* NULL: there was none yet */
    mcp__link retired;        /* builds that were */
    bool building;
    mcp__closer *closers;
    void (*resource_hook)(mcp_resource *resource, void *user);
    void *resource_hook_user;

    mcp__link sessions;
    mcp__map topics;          /* canonical URI to mcp__topic */
    size_t n_list_streams;    /* streams that want changes of the list of resources */
    struct mcp__tasks *tasks; /* NULL: none are offered */
    mcp__meters meters[MCP_USAGE_KINDS];
    size_t no_files;      /* answers that failed for want of a descriptor, not yet logged */
    int64_t files_logged; /* when that was last logged; 0: never */
};

bool mcp__server_offers(const mcp_server *server, mcp__kind kind);
bool mcp__server_completes(const mcp_server *server);
/* {"resources":{…},…} for the client of a request, in the form of its revision. */
void mcp__put_capabilities(mcp__buf *b, const mcp_request *req);
void mcp__server_log(const mcp_server *server, const char *level, const char *format, ...)
    MCP_PRINTF(3, 4);

/* ---- hub.c: who is told of what -------------------------------------------------------------------------- */

typedef struct mcp__session mcp__session;

/* A stream of notices: a legacy session (listen is NULL), or one subscriptions/listen. */
typedef struct mcp__stream {
    mcp__link link; /* in session->streams */
    mcp__session *session;
    mcp_request *listen;
    unsigned lists;       /* 1 << mcp__kind: which lists' changes it is told */
    unsigned dirty_lists; /* which of them changed */
    mcp__link subscriptions;
    mcp__map by_uri; /* the same, by their spelling */
    mcp__link tasks; /* mcp__task_watch */
} mcp__stream;

void mcp__stream_init(mcp__stream *stream, mcp__session *session, mcp_request *listen);
void mcp__stream_clear(mcp__stream *stream);
/* Which lists' changes this server announces at all. */
unsigned mcp__hub_lists(const mcp_server *server);
void mcp__stream_set_lists(mcp__stream *stream, unsigned lists);
/* MCP_OK (also when it is subscribed already), MCP_ENOTFOUND: never to be served; MCP_ELIMIT, …. */
int mcp__stream_subscribe(mcp__stream *stream, mcp_str uri);
void mcp__stream_unsubscribe(mcp__stream *stream, mcp_str uri);

/* entry: what came or went, which only who may see it is told of; NULL: nobody knows. */
void mcp__hub_list_changed(mcp_server *server, mcp__kind kind, const mcp__entry *entry);
/* Has the present mounts watch what is subscribed to. */
void mcp__hub_watch_anew(mcp_server *server);
/* There is something to tell. */
void mcp__hub_arm(mcp__session *session);
void mcp__hub_tick(mcp__session *session, int64_t now);
int64_t mcp__hub_deadline(const mcp__session *session);
void mcp__hub_free(mcp_server *server);

/* ---- session.c ---------------------------------------------------------------------------------------------- */

struct mcp__session {
    mcp__link link; /* in server->sessions */
    mcp_server *server;
    mcp_channel *channel;

    /* legacy only */
    const mcp__revision *revision; /* NULL before initialize */
    bool initialized;              /* the notification came */
    int log_level;                 /* logging/setLevel */
    mcp_json_doc *initialize;      /* the params of initialize: capabilities, clientInfo */
    mcp__link elicitations;        /* in URL mode, not complete */
    size_t n_elicitations;
    mcp__stream legacy;

    mcp__link streams;
    mcp__link dirty;       /* mcp__subscription whose resource changed */
    mcp__link dirty_tasks; /* mcp__task_watch whose task changed */
    bool lists_dirty;
    int64_t
        due; /* when to tell: INT64_MAX nothing to tell, INT64_MIN as soon as the time is known */
    size_t n_subscriptions;
    size_t n_listens; /* open subscriptions/listen */
    mcp_request *deadlines;
};

/* ---- deadline.c: handlers that take too long ----------------------------------------------------------------- */

/* In a request: its place in its session's heap of deadlines. */
typedef struct mcp__deadline {
    mcp__session *session; /* NULL: it is in none */
    mcp_request *first, *before, *after;
    int64_t due;
    uint64_t ms;
    bool alive; /* it reported progress since it was put where it is */
} mcp__deadline;

/* Its handler will answer later: from now on its time runs, or runs anew. */
void mcp__deadline_start(mcp_request *req);
/* To be called before a request moves, goes or leaves its channel while that goes on. */
void mcp__deadline_stop(mcp_request *req);
void mcp__deadline_stop_all(mcp__session *session);
int64_t mcp__deadline_next(const mcp__session *session);
void mcp__deadline_tick(mcp__session *session, int64_t now);

/* ---- request.c, reply.c --------------------------------------------------------------------------------------- */

typedef struct mcp__method mcp__method;

typedef enum mcp__request_state {
    MCP__REQUEST_RUNNING = 0, /* its handler is on the stack */
    MCP__REQUEST_PENDING,     /* mcp_reply_finish() is to come */
    MCP__REQUEST_WAITING, /* for the client's answers to what it was asked, or for the end of a task */
    MCP__REQUEST_LISTENING, /* an open subscription */
} mcp__request_state;

/* How many notices of a kind a request sent in the second that began at `since`. */
typedef struct mcp__notice_rate {
    int64_t since;
    unsigned count;
} mcp__notice_rate;

typedef struct mcp__member mcp__member; /* a name in _meta; reply.c */

struct mcp_request {
    mcp__incoming in; /* first */
    mcp_server *server;
    const mcp__revision *revision;
    const mcp__method *method;
    mcp__request_state state;
    atomic_bool cancelled; /* handlers ask from other threads too */
    bool finished;         /* mcp_reply_finish() came while the handler was still running */
    int outcome;           /* its argument */
    void (*on_cancel)(mcp_request *req, void *user);
    void *on_cancel_user;
    mcp__hold *hold; /* memory for its work; NULL: none is counted */
    mcp__deadline deadline;
    mcp__arena arena;

    struct mcp__build *build; /* whose handlers may be at work; NULL: none, or it was not needed */
    mcp__used used;           /* tools/call, resources/read */

    /* what is asked for */
    mcp__entry *entry;
    mcp_str uri; /* resources/read */
    mcp_uri_match *match;

    /* the reply so far */
    mcp__buf out;
    bool begun;
    int failed;   /* the first failure of a builder */
    size_t count; /* entries of the method's array */
    int error_code;
    mcp_str error_message, error_data; /* in the arena */
    mcp_str refusal;                   /* what a client said that did not answer a question */
    bool is_error;                     /* tools/call */
    mcp_str structured;                /* tools/call, JSON in the arena */
    bool has_structured;               /* it was given, whatever the revision made of it */
    bool structured_as_text;           /* the revision cannot carry it otherwise */
    mcp_str description;               /* prompts/get, in the arena */
    mcp__buf meta;                     /* members for _meta, each with a leading comma */
    mcp__member *members;              /* their names */
    bool has_cache, cache_public;
    uint64_t ttl_ms;

    /* a list */
    uint32_t part;
    mcp_str position; /* where the part goes on */
    size_t room;      /* entries that may still be added */
    bool has_next;
    mcp_str next; /* in the arena */

    /* completion/complete */
    uint64_t total;
    bool has_total;

    /* notices */
    bool progress_begun;
    double progress_last;
    mcp__notice_rate progress_rate, log_rate;

    mcp__stream *stream;    /* subscriptions/listen */
    struct mcp__task *task; /* what it became: then it has no channel any more */
    mcp__link waiter;       /* tasks/result: in the task's waiters; .prev NULL: it does not wait */

    struct mcp__input *input; /* what it asks its client; NULL: nothing */
};

static inline unsigned mcp__revision_index(const mcp__revision *r)
{
    return (unsigned)(r - mcp__revisions);
}
static inline mcp_str mcp__request_id(const mcp_request *req)
{
    return mcp__incoming_id(&req->in);
}
mcp_str mcp__request_principal_str(const mcp_request *req);
/* The session that it came by, of a task of 2025-11-25 while that is there; else NULL. */
mcp__session *mcp__request_session(const mcp_request *req);
/* Its channel; NULL: there is none any more. */
mcp_channel *mcp__request_channel(const mcp_request *req);

/* Ends a request with what a handler returned. */
void mcp__request_finish(mcp_request *req, int outcome);
/* Tells its handler that it is cancelled, which it is marked as already. True: that finished it, and it is gone. */
bool mcp__request_stop(mcp_request *req);
/* Ends a request with a whole message, whose buffer came from the channel and is given back. */
void mcp__request_send(mcp_request *req, mcp__buf *message);
/* Gives back what the request holds besides mcp__incoming. */
void mcp__request_clear(mcp_request *req);
/* The reply's buffer, after its head and the beginning of its array have been written. */
mcp__buf *mcp__reply_begin(mcp_request *req);
/* A copy in the arena; sets req->failed when there is no memory. */
mcp_str mcp__request_copy(mcp_request *req, mcp_str s);
/* mcp_reply_meta() for names that are the library's own. */
int mcp__reply_meta(mcp_request *req, const char *key, mcp_str json);

/* For "%.*s" in a message: how much of a peer's text is repeated to it, at a character's end. */
static inline int mcp__shown(mcp_str s)
{
    return (int)mcp__utf8_cut(s.ptr, s.len < 100 ? s.len : 100);
}

/* Reads a string parameter; NULL .ptr after mcp_reply_fail() said what is wrong. */
mcp_str mcp__param_string(mcp_request *req, const char *name);

/* ---- dispatch.c: the methods ---------------------------------------------------------------------------------- */

struct mcp__method {
    const char *name;
    unsigned revisions; /* MCP__IN_* */
    int needs;          /* an mcp__kind that has to be offered, or MCP__NEEDS_* */
    const char *within; /* what stands before the array; NULL: the brace of the result */
    const char *array;  /* the result's one array, or NULL */
    bool cacheable;
    bool is_list; /* cached for list_ttl_ms, else read_ttl_ms */
    bool slow;    /* its handlers may well wait for something else */
    bool limited; /* only so often, by `rate` */
    mcp__rate rate;
    int (*run)(mcp_request *req);
    /* Runs the handler once more, from its start, with the client's answers; NULL: it may not ask. */
    int (*again)(mcp_request *req);
    /* Goes on after a part of it was answered later; NULL: nothing more to do. */
    int (*resume)(mcp_request *req);
    /* Has the last word before a result is sent: MCP_OK, or what a handler would return. NULL: nothing. */
    int (*check)(mcp_request *req);
    /* Writes the members after the array, each with a leading comma. NULL: none. */
    void (*tail)(mcp_request *req, mcp__buf *b);
};
enum {
    MCP__NEEDS_NOTHING = -1,
    MCP__NEEDS_SUBSCRIBE = -2,
    MCP__NEEDS_COMPLETION = -3,
    MCP__NEEDS_LOGGING = -4,
    MCP__NEEDS_TASKS = -5,
};

/* Runs a request whose revision is known. */
void mcp__dispatch(mcp_request *req);

/* era.c: the revision that a request is to be understood by; NULL after the error was set. req->revision is set either
 * way: it says what form the error has. */
const mcp__revision *mcp__era_find(mcp_request *req);
/* Whether a client describes itself as the schema demands (Implementation); `where` names the member in the error. */
int mcp__era_check_info(mcp_request *req, const mcp_json *info, const char *where);

/* session.c */
int mcp__run_initialize(mcp_request *req);
int mcp__run_discover(mcp_request *req);
int mcp__run_ping(mcp_request *req);
int mcp__run_subscribe(mcp_request *req);
int mcp__run_unsubscribe(mcp_request *req);
int mcp__run_listen(mcp_request *req);
/* list.c */
int mcp__run_list(mcp_request *req);
int mcp__resume_list(mcp_request *req);
void mcp__list_tail(mcp_request *req, mcp__buf *b);
/* read.c, prompt.c, tool.c, complete.c */
int mcp__run_read(mcp_request *req);
int mcp__again_read(mcp_request *req);
int mcp__run_prompt(mcp_request *req);
int mcp__again_prompt(mcp_request *req);
void mcp__prompt_tail(mcp_request *req, mcp__buf *b);
int mcp__run_tool(mcp_request *req);
int mcp__again_tool(mcp_request *req);
int mcp__tool_check(mcp_request *req);
/* What a tool's schemas say is checked in every call: compiled at registration. error names the schema. */
int mcp__tool_compile(mcp__entry *entry, const mcp_tool *tool, mcp_error *error);
/* Whether structured content conforms; MCP_OK, or a negative code after mcp_reply_fail(). */
int mcp__tool_check_output(mcp_request *req, const mcp_json *value);
void mcp__tool_tail(mcp_request *req, mcp__buf *b);
int mcp__run_complete(mcp_request *req);
void mcp__complete_tail(mcp_request *req, mcp__buf *b);
/* notice.c */
int mcp__run_set_level(mcp_request *req);
/* debug is 0; negative: no such level. */
int mcp__log_level(mcp_str name);

/* ---- task*.c: calls that go on after their answer; see task.h --------------------------------------------- */

int mcp__run_task_get(mcp_request *req);
int mcp__run_task_update(mcp_request *req);
int mcp__run_task_cancel(mcp_request *req);
int mcp__run_task_result(mcp_request *req);
int mcp__run_task_list(mcp_request *req);
void mcp__task_tail(mcp_request *req, mcp__buf *b);
void mcp__task_list_tail(mcp_request *req, mcp__buf *b);
/* For tools/call, once the tool is known: whether it can be called so; makes the task that the peer asked for. */
int mcp__task_begin(mcp_request *req);
/* The end of a request that is a task. error: the error object; else req->out is the result. The request is
 * gone then. */
void mcp__task_complete(mcp_request *req);
void mcp__task_fail(mcp_request *req, int code, mcp_str message, mcp_str data);
/* An empty buffer for its result. */
void mcp__task_take_buf(const struct mcp__task *task, mcp__buf *b);
/* The handler of a task asks its client. */
void mcp__task_park(mcp_request *req);
/* What a task's result needs in its _meta. */
int mcp__task_add_meta(mcp_request *req);
/* The request of a task is being cleared. */
void mcp__task_release(struct mcp__task *task);
const char *mcp__task_principal(const struct mcp__task *task);
mcp_str mcp__task_id(const struct mcp__task *task);
/* The session of 2025-11-25 that made the task, while it is there. */
mcp__session *mcp__task_session(const struct mcp__task *task);

/* Whether tasks can be listed for who is on this channel: he is known, or is the only one. */
bool mcp__tasks_listed(const mcp_channel *channel);
/* What an object of capabilities says of them. */
void mcp__task_capabilities(mcp__object *o, const mcp_channel *channel);
void mcp__tasks_forget(mcp_server *server, const mcp__session *session);
/* What is over goes, and INT64_MAX or a time of the channel's clock when to look again. */
void mcp__tasks_tick(mcp_server *server);
int64_t mcp__tasks_deadline(const mcp_channel *channel);
/* The host changes: their timer goes with it. */
void mcp__tasks_leave_host(mcp_server *server, bool for_good);
void mcp__tasks_enter_host(mcp_server *server);
void mcp__tasks_free(mcp_server *server);

/* subscriptions/listen: checks what is wanted (MCP_OK, or a negative code after mcp_reply_fail()), subscribes
 * to what can be and names it in the acknowledgement. */
int mcp__task_listen_check(mcp_request *req, const mcp_json *filter);
int mcp__task_listen(mcp_request *req, const mcp_json *filter, mcp__object *honoured);
void mcp__task_stream_clear(mcp__stream *stream);
/* True: everything was told. */
bool mcp__task_tell(mcp__session *session);

/* listen.c */
int mcp__listen_open(mcp_request *req);
void mcp__listen_end(mcp_request *req);   /* the peer cancelled it */
void mcp__listen_close(mcp_request *req); /* we end it, with its result */
/* Moves an acknowledged subscription out of the block that holds its message; `req` is gone then. */
void mcp__listen_shrink(mcp_request *req);

extern const mcp__role mcp__server_role;

#endif
