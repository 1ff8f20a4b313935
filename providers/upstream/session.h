/* session.h: the sessions with the other server, one for each principal, and their requests. */
#ifndef UPSTREAM_SESSION_H
#define UPSTREAM_SESSION_H

#include "forward.h"
#include "names.h"
#include "upstream.h"

enum { UPSTREAM_PREFIX_ROOM = UPSTREAM_SOURCE_MAX + 12 };

typedef struct upstream_session upstream_session;
typedef struct upstream_ask upstream_ask;
typedef struct upstream_question upstream_question;
typedef struct upstream_listing upstream_listing;   /* listing.h */
typedef struct upstream_headers upstream_headers;   /* headers.c */
typedef struct upstream_snapshot upstream_snapshot; /* snapshot.h */

/* What the client of a session declares, as bits: what the other server may ask, and extensions. */
enum {
    UPSTREAM_ASKS_FORM = 1,
    UPSTREAM_ASKS_URL = 2,
    UPSTREAM_ASKS_ROOTS = 4,
    UPSTREAM_ASKS_SAMPLE = 8,
    UPSTREAM_ASKS_TOOLS = 16, /* sampling with tools */
    UPSTREAM_SHOWS_APPS = 32, /* the extension io.modelcontextprotocol/ui */
};

/* The session that a request needs. */
typedef struct upstream_wanted {
    const char *principal; /* NULL if anonymous */
    unsigned declared;     /* UPSTREAM_ASKS_*, UPSTREAM_SHOWS_APPS */
    unsigned matters;      /* those of these bits in which an open session must not differ */
} upstream_wanted;

/* A principal whose session ended while lists were watched. Its next session reports that the lists
 * may have changed. */
typedef struct upstream_past {
    struct upstream_past *next;
    bool named; /* false for the anonymous principal */
    char principal[];
} upstream_past;

/* The verdicts on the approved tools (approval.c): an upstream_verdict for each, in the order of their
 * names. */
typedef struct upstream_verdicts {
    unsigned char *of;
    size_t n;
    unsigned edition; /* of the approvals */
} upstream_verdicts;

/* What was logged about tools that are not approved. */
typedef struct upstream_told {
    uint64_t hash[100]; /* of the name and the verdict */
    size_t n;
    unsigned edition;
} upstream_told;

/* One mounted server. */
typedef struct upstream {
    struct upstream *next, **at; /* in options.group */
    mcp_server *server;
    mcp_upstream_options options; /* strings are owned */
    int64_t quiet_until;          /* time until which failures of requests are not logged */
    int64_t lists_quiet_until;    /* time until which it is not logged that lists lack answers */
    mcp_allocator alloc;
    char prefix[UPSTREAM_PREFIX_ROOM];      /* "mcp+NAME:" */
    char name_prefix[UPSTREAM_PREFIX_ROOM]; /* "NAME_" */
    char ui_prefix[UPSTREAM_PREFIX_ROOM];   /* "ui://mcp+NAME/", for "ui://" */
    upstream_names names;
    upstream_verdicts page; /* of the page that is being written; n is 0 if there is none */
    upstream_told told;
    uint64_t odd[16]; /* hashes of the URIs that tell_odd() in ask.c has logged */
    size_t n_odd;
    upstream_session *sessions;
    size_t n_sessions;
    bool listening;        /* lists are being watched */
    upstream_past *past;   /* principals whose sessions ended while lists were watched */
    size_t n_past;         /* number of entries in `past` */
    bool forgot;           /* a principal is missing in `past`, so each counts as contained */
    mcp_host_timer *timer; /* ends idle sessions, and reopens those that watch resources */
    mcp_host_timer *soon;  /* asks callers the questions that have arrived */
    size_t stored;         /* bytes of answers that are kept for callers */
    upstream_snapshot *snapshots; /* what is known of the other server */
    size_t snapshot_bytes;
    mcp_upstream_state totals; /* the counters, except those of processes of open sessions */
    mcp_upstream_state
        passed; /* those of `totals` that a later mount of the same server has taken */
} upstream;

typedef struct upstream_login upstream_login;

/* What makes it doubtful that the program of a session still works (hung.c). */
typedef struct upstream_doubt {
    uint64_t order;    /* of the first request that got no answer in time; 0 if there is no doubt */
    int64_t due;       /* when its time is over, and pings begin */
    int64_t pinged_at; /* when the last ping was sent */
    bool pinging;      /* a ping is in flight; */
    bool is_old;       /* it was sent for an earlier doubt */
    char what[160];    /* the request, for the log */
} upstream_doubt;

struct upstream_session {
    upstream_session *next;
    upstream *up;
    char *principal;   /* NULL if anonymous */
    unsigned declared; /* UPSTREAM_ASKS_*, UPSTREAM_SHOWS_APPS */
    mcp_client *client;
    void *link;           /* set by options.connect */
    mcp_service *service; /* if the other server is a program */
    mcp_http_client *http;
    upstream_login *login; /* of `http`; NULL if there is none */
    upstream_verdicts verdicts;
    upstream_headers *headers; /* of tools whose calls need headers */
    size_t n_headers, room_headers;
    bool knows_tools; /* other tools need none, as far as the lists said */
    upstream_ask *asks;
    size_t n_asks, bytes; /* bytes: what the requests and the answers that are kept for them hold */
    int64_t last_use;
    bool noted;              /* upstream_snapshot_note() has told the program */
    bool failed;             /* the session is about to end; the next request opens a new one */
    bool lost;               /* the reason is that the connection was lost */
    bool hung;               /* the other server does not answer, so its requests are ended, too */
    bool closing;            /* the session is being freed */
    bool cancelled;          /* a call was cancelled; see likely_ask() in question.c */
    bool unreadable;         /* a message could not be read, and the log says so */
    bool unattributed;       /* a question did not name its call */
    upstream_question *left; /* questions that were withdrawn or have lost their request */

    mcp_subscription *subscription;
    /* The watched URIs, as the other server names them, once for each identity that watches them, and
     * these identities (NULL if anonymous, or if sessions are shared). */
    char **uris;
    mcp_identity **watchers;
    size_t n_uris, cap_uris;
    mcp_service_use watching; /* keeps the process running while URIs are watched */
    bool watches;             /* `watching` is in use */
    mcp_service_use prestart; /* starts the process before the first request */
    unsigned n_misbehaved;    /* number of messages that violated the protocol */
    unsigned n_refused;       /* number of tools that were left out because of their x-mcp-header */
    struct {
        int64_t since, told; /* when the current second began; when the callers were last told */
        unsigned count;      /* number of messages in this second, and their bytes */
        size_t bytes;
        uint64_t dropped; /* messages that the callers have not been told of, */
        int worst;        /* and the most severe level of them */
        bool is_set;      /* a level was set: */
        int level;
    } logs;
    bool missed;     /* the subscription was interrupted, so changes may have been missed */
    uint64_t n_sent; /* number of requests that were sent */
    upstream_doubt doubt;
};

/* A question of the other server that is not answered yet. */
struct upstream_question {
    upstream_question *next;
    upstream_ask *ask; /* NULL in upstream_session.left */
    upstream_session *session;
    mcp_question *question;
    char key[12];       /* identifies it for the caller */
    bool sent;          /* the caller was asked */
    unsigned n_invalid; /* number of answers that do not fit it */
};

/* A request for which the other server has asked. */
typedef struct upstream_parked {
    char id[33]; /* mcp_request_series() of the caller's request */
    upstream_question *questions;
    unsigned n_keys;
    int64_t due; /* when the call is cancelled, unless the caller has come back */
    bool ended;  /* the other server has answered: */
    int rc;
    mcp_str text; /* owned */
    mcp_error error;
    struct upstream_waiting *waiting; /* a request of a legacy caller, or NULL */
} upstream_parked;

/* A forwarded request. */
struct upstream_ask {
    common_forward f; /* f.req is NULL while it is parked, too */
    upstream_ask *next;
    upstream_session *session;
    bool cancelled;        /* the answer of the other server is no longer needed */
    upstream_parked *park; /* NULL until the other server asks */
    size_t size;           /* bytes of f.params when the request began */
    char *caller;          /* `shared`: the principal of the caller, or NULL if it is anonymous */
    /* lists: the request is for a page of a list; goes_on: that page is not the first one */
    bool lists, goes_on;
    upstream_listing *listing; /* lists; owned */
    bool is_task;              /* the other server has made the call a task */
    bool learns;   /* the list of names has to be read first, to find the original of `name` */
    bool compares; /* learns: also to find out which headers the call needs */
    mcp_item item;
    char *name;      /* set if `learns` is, or was */
    int64_t sent_us; /* when it was sent, without the list of names; 0 if it was not */
    uint64_t order;  /* its number among the requests of the session, when it was sent */
    int64_t due;     /* when the time for its answer is over, unless the caller is asked */
    upstream_verdicts verdicts; /* of the list that is read */
};

/* The lists that the provider serves itself. */
enum { UPSTREAM_ITEMS = 1 << MCP_ITEM_TEMPLATE | 1 << MCP_ITEM_PROMPT | 1 << MCP_ITEM_TOOL };

/* Writes the prefixes that URIs and names of the server `name` get. */
void upstream_put_prefixes(const char *name, char prefix[UPSTREAM_PREFIX_ROOM],
                           char names[UPSTREAM_PREFIX_ROOM]);
/* Checks the options as mcp_upstream_mount() does. Returns MCP_OK, MCP_EINVAL or MCP_ENOMEM. */
int upstream_check(const mcp_upstream_options *o, mcp_error *error);

/* ---- session.c ------------------------------------------------------------------------------- */

/* Finds a session, or opens one. Returns MCP_OK, MCP_ELIMIT (max_sessions), MCP_ENOMEM or the
 * errors of upstream_link_open(). */
int upstream_session_get(upstream *up, const upstream_wanted *wanted, upstream_session **ret,
                         mcp_error *error);
/* Returns an open session, or NULL. */
upstream_session *upstream_session_find(const upstream *up, const upstream_wanted *wanted);
/* Starts the timer that ends idle sessions, unless it is running. */
void upstream_session_timer(upstream *up);
/* Returns the time of the host. */
int64_t upstream_now(const upstream *up);
/* Writes a line to the log of the server. */
void upstream_say(const upstream *up, const char *level, const char *text);
/* Logs a warning, at most once a minute. `quiet_until` is the time until which nothing is logged. */
void upstream_say_rarely(const upstream *up, int64_t *quiet_until, const char *text);
/* Returns the principal of a caller's session: that of the caller, or NULL if sessions are shared. */
const char *upstream_principal(const upstream *up, const char *of_caller);
/* Notifies the callers who use the session. */
void upstream_list_changed(const upstream_session *s, mcp_item item);
/* Returns whether two texts, which may be NULL, are the same. */
bool upstream_is_same(const char *a, const char *b);
/* Returns whether the session belongs to the principal. */
bool upstream_session_is_of(const upstream_session *s, const char *principal);
/* Returns the principal of the caller of a request, or NULL if it is anonymous. */
const char *upstream_caller(const upstream_ask *a);
/* Returns whether the caller is this principal. */
bool upstream_is_of(const upstream_ask *a, const char *principal);
/* Marks a session whose connection has ended. The timer then frees the session. */
void upstream_session_lost(upstream_session *s);
/* Ends all sessions. */
void upstream_sessions_close(upstream *up);

/* ---- limits.c ------------------------------------------------------------------------------- */

/* Returns MCP_OK, or MCP_ELIMIT with the reason in *error if there is no room for one more request of
 * this principal, which holds `size` bytes. */
int upstream_limit_call(upstream *up, const char *principal, size_t size, mcp_error *error);
/* Returns whether there is room for so many more bytes that a request holds. */
bool upstream_limit_bytes(const upstream_ask *a, size_t size);
/* Makes room for one more session of this principal, if necessary by marking an idle session to be ended.
 * Returns MCP_OK, or MCP_ELIMIT with the reason in *error. */
int upstream_limit_session(upstream *up, const char *principal, mcp_error *error);

/* ---- hung.c ---------------------------------------------------------------------------------- */

/* Returns how long the answer to a request may take, and begins this time, again after progress. */
uint64_t upstream_time(const upstream_ask *a);
void upstream_time_begin(upstream_ask *a);
/* Holds off the time-out of the server (handler_timeout_ms) for requests that have one here. */
void upstream_time_keep(const upstream_session *s);
/* A request that was sent will get no answer any more: its time is over or, with `in_time`, it is
 * being cancelled. If the program of its session does not answer pings either, it will be ended. */
void upstream_doubt_begin(upstream_ask *a, bool in_time);
/* The program has answered, or has ended. */
void upstream_doubt_end(upstream_session *s);
/* Sends the pings that are due. */
void upstream_doubt_tick(upstream_session *s);

/* ---- try.c ----------------------------------------------------------------------------------- */

/* See mcp_upstream_try_json(). */
int upstream_try(const mcp_upstream_options *options, char *summary, size_t room,
                 mcp_upstream_tool_fn *each, void *user, mcp_error *error);

/* ---- state.c --------------------------------------------------------------------------------- */

void upstream_group_add(upstream *up);
void upstream_group_remove(upstream *up);
/* Returns whether the same name was mounted again. The old mount stays until its requests have
 * ended. */
bool upstream_is_replaced(const upstream *up);
/* Adds the metrics of a process to the totals, before its service is freed. */
void upstream_count_process(upstream *up, const mcp_service *service);

/* ---- snapshot.c ------------------------------------------------------------------------------ */

/* Takes what the other server said about itself in this session. */
void upstream_snapshot_take(upstream_session *s);
/* Tells the program once, when the other server has said something in this session. */
void upstream_snapshot_note(upstream_session *s);
/* mcp_provider.declares: as the other server was last seen by the caller. */
bool upstream_declares(const mcp_request *req, mcp_item item, void *user);
/* Takes over what is known from an earlier mount of the same server. */
void upstream_snapshots_adopt(upstream *up, upstream *from);
void upstream_snapshots_clear(upstream *up);

/* ---- remember.c ----------------------------------------------------------------------------- */

/* Takes what mcp_upstream_group.remembered has about this server. */
void upstream_remember_take(upstream *up);

/* ---- link.c ---------------------------------------------------------------------------------- */

/* Connects the client of a session, or prepares the connection. Returns MCP_OK, or a negative code
 * with the reason in *error. */
int upstream_link_open(upstream_session *s, mcp_error *error);
void upstream_link_close(upstream_session *s);

/* ---- login.c --------------------------------------------------------------------------------- */

/* Checks the options of the login. Returns MCP_OK or MCP_EINVAL. */
int upstream_login_check(const mcp_upstream_options *o, mcp_error *error);
/* Makes the login of a session, if the options have one. Returns MCP_OK, MCP_EACCESS, MCP_ENOMEM, or the
 * codes of mcp_oauth_client_new() and mcp_oauth_file_store_new(). */
int upstream_login_open(upstream_session *s, mcp_loop *loop, mcp_error *error);
/* Returns what an operator has to do after MCP_EACCESS, or an empty text. */
const char *upstream_login_advice(const upstream *up, const char *principal, char *to, size_t room);
/* Returns the client, or NULL if there is no login. */
struct mcp_oauth_client *upstream_login_client(const upstream_session *s);
/* Called after the transport was closed. */
void upstream_login_close(upstream_session *s);

/* ---- provider.c ------------------------------------------------------------------------------ */

/* The members of the options that are single strings. */
enum { UPSTREAM_TEXTS = 17 };
const char **upstream_text(mcp_upstream_options *o, size_t i);

/* Returns whether the options allow an item of the other server. */
bool upstream_offers(const upstream *up, mcp_item item, mcp_str original);
/* Counts a request in all rates that concern it. Returns MCP_OK, or what the handler must return. */
int upstream_take_rates(upstream *up, mcp_request *req, mcp_item item, mcp_str original);

/* ---- ask.c ----------------------------------------------------------------------------------- */

/* Makes a->f.params, and begins a->f.span. Returns the code of common_forward_params(). */
int upstream_ask_params(upstream *up, mcp_request *req, const common_forward_change *change,
                        upstream_ask *a);
/* Forwards a request. The new upstream_ask is a copy of `like`; takes ownership of like->f.params,
 * like->name and like->listing. If like->learns is set, like->name is a tool or prompt whose original
 * name has to be looked up first. Returns MCP_PENDING, or another code that the handler must
 * return. */
int upstream_ask_begin(upstream *up, mcp_request *req, const upstream_ask *like);
/* Does the same, but does not reply if the request cannot be sent: then returns a negative code with
 * the reason in *error. */
int upstream_ask_try(upstream *up, mcp_request *req, const upstream_ask *like, mcp_error *error);
/* Replies with the outcome of a call, and counts it. Returns what the handler must return. */
int upstream_ask_outcome(const upstream_ask *a, int rc, const mcp_json *result, mcp_str text,
                         const mcp_error *error);
void upstream_count(const upstream_ask *a, int rc);
/* Replies with the text of a page of a list. */
int upstream_reply_page(upstream *up, mcp_request *req, mcp_item item, mcp_str text);
/* Fails because the other server cannot be reached. Returns what the handler must return. */
int upstream_refuse(upstream *up, mcp_request *req, int rc, const mcp_error *error);
const char *upstream_reason(int rc, const mcp_error *error);
void upstream_ask_free(upstream_ask *a);
/* Cancels the call of a request that has no caller any more. May free the upstream_ask. */
void upstream_ask_cancel(upstream_ask *a, const char *why);
/* Answers `req` with the answer that was stored by upstream_park_outcome(), and frees the
 * upstream_ask. Returns what the handler must return. */
int upstream_ask_answer_stored(upstream_ask *a, mcp_request *req);
/* Answers the requests that still wait for the process of a session that is ending. */
void upstream_asks_fail(upstream_session *s, int rc, const mcp_error *error);

/* ---- question.c ------------------------------------------------------------------------------ */

/* Returns what a session declares for the caller of a request: what the caller declared, except for
 * UPSTREAM_ASKS_* if it cannot be asked. */
unsigned upstream_declared_by(const upstream *up, const mcp_request *req);
/* Does the same for a principal whose requests will declare these capabilities; the list ends with NULL. */
unsigned upstream_declared_as(const upstream *up, const char *principal, const char *const *can);
/* Returns whether the other server may ask while it answers this request. */
bool upstream_may_ask(const upstream_ask *a);
/* A mcp_question_fn whose `user` is the session. */
void upstream_on_question(mcp_client *client, mcp_question *question, void *user);
/* mcp_client_options.elicitation_complete, whose `user` is the session. */
void upstream_on_complete(mcp_client *client, mcp_str elicitation_id, void *user);
/* Asks the caller all questions of a request, and gives the other server the answers that have
 * arrived. Returns MCP_OK (no question is left), MCP_INPUT_REQUIRED or a negative code. */
int upstream_questions_ask(upstream_ask *a, mcp_request *req);
/* Answers all questions of a request without the caller. */
void upstream_questions_drop(upstream_ask *a);
/* Answers the questions in `left`. */
void upstream_questions_settle(upstream_session *s);
/* Forgets all questions of a session before its client is freed. */
void upstream_questions_forget(upstream_session *s);

/* ---- park.c ---------------------------------------------------------------------------------- */

/* Prepares a request for a question. Returns MCP_OK, MCP_ELIMIT or MCP_ENOMEM. */
int upstream_park(upstream_ask *a);
void upstream_park_free(upstream_ask *a);
/* The end of the caller's request no longer matters. */
void upstream_waiting_end(upstream_ask *a);
/* Asks callers within a few milliseconds. */
void upstream_soon(upstream *up);
void upstream_soon_stop(upstream *up);
/* Stores the outcome of a call whose caller has not come back. */
void upstream_park_outcome(upstream_ask *a, int rc, const mcp_json *result, const mcp_error *error);
/* Returns whether a request continues a call that is parked. */
bool upstream_is_resumed(const mcp_request *req);
/* Continues it. Returns what the handler must return. */
int upstream_resume(upstream *up, mcp_request *req);
/* Returns the call of this caller with this id, or NULL. */
upstream_ask *upstream_parked_find(const upstream *up, const char *principal, const char *id);
/* Cancels the calls whose callers did not come back in time. */
void upstream_parked_expire(upstream *up, int64_t now);

/* ---- cost.c ---------------------------------------------------------------------------------- */

/* Returns the cost of the definitions of the tools that are offered, in the list of the caller that gets most; 0 if none is
 * known. */
uint64_t upstream_definitions_cost(const upstream *up);
/* Lets them be measured again, because other tools may be offered now. */
void upstream_definitions_forget(upstream *up);

/* ---- reload.c -------------------------------------------------------------------------------- */

/* Moves a session from an earlier mount of the same server. Returns whether there was one. */
bool upstream_take_session(upstream *up, const upstream_wanted *wanted);
/* Finds a call that is parked at an earlier mount, and moves its session. Returns NULL if there is
 * none. */
upstream_ask *upstream_take_parked(upstream *up, const char *principal, const char *id);
/* Takes what earlier mounts of the same server know. */
void upstream_take_snapshots(upstream *up);
/* Adds the counters of a mount to those of the next one of the same server, so that they go on. */
void upstream_pass_totals(const upstream *up, upstream *heir);
/* Returns the last mount of the same server before `than`, or NULL. */
upstream *upstream_older(upstream *up, const upstream *than);
/* Moves all sessions to the next mount of the same server, if there is one. */
void upstream_hand_over(upstream *up);

/* ---- tasks.c --------------------------------------------------------------------------------- */

/* Sets the members of the options that concern tasks. */
void upstream_task_options(const upstream_ask *a, mcp_call_options *o);

/* ---- headers.c ------------------------------------------------------------------------------- */

/* Takes the definitions on a page of tools/list. */
void upstream_headers_learn(upstream_session *s, const mcp_json *page);
/* Does the same for a list of the caller, if its calls have headers. */
void upstream_headers_page(const upstream_ask *a, const mcp_json *page);
/* Compares the headers of a call with its arguments. Returns MCP_OK, MCP_ENOTFOUND (the definition of
 * the tool is not known), or another negative code, which the handler must return. */
int upstream_headers_check(const upstream *up, mcp_request *req, mcp_str tool);
void upstream_headers_clear(upstream_session *s);

/* ---- logs.c ---------------------------------------------------------------------------------- */

/* mcp_client_options.notification, whose `user` is the session. */
void upstream_on_notification(mcp_client *client, mcp_str method, const mcp_json *params,
                              void *user);
/* Tells the callers how many messages were left out, at most once in a second. */
void upstream_logs_tell(upstream_session *s);
/* Sets the level of the session before a request that wants a lower one. */
void upstream_logs_raise(upstream_session *s, const mcp_request *req);
/* Sets the level of the session to that of its callers. */
void upstream_logs_tick(upstream_session *s);
/* Returns the name of a level, or NULL if the level is negative. */
const char *upstream_log_name(int level);

/* ---- watch.c --------------------------------------------------------------------------------- */

int upstream_watch(const char *canonical, mcp_identity *identity, void *user);
void upstream_unwatch(const char *canonical, mcp_identity *identity, void *user);
int upstream_watch_shared(const char *canonical, void *user);
void upstream_unwatch_shared(const char *canonical, void *user);
int upstream_watch_list(void *user);
void upstream_unwatch_list(void *user);
/* Subscribes if lists or URIs are watched and no subscription exists. */
void upstream_watch_begin(upstream_session *s);
/* Keeps the session's process running while URIs are watched. */
void upstream_watch_keep(upstream_session *s);
void upstream_watch_free(upstream_session *s);
/* Forgets the watched URIs. */
void upstream_watch_clear(upstream_session *s);
/* Takes over the watched URIs of a failed session of the same principal. */
void upstream_watch_adopt(upstream_session *s);
/* Records that the session's principal may miss changes to lists from now on. */
void upstream_past_add(const upstream_session *s);
/* Returns whether the principal may have missed changes to lists, and removes its record. */
bool upstream_past_take(upstream *up, const char *principal);
void upstream_past_clear(upstream *up);
/* Announces that all lists and all watched URIs may have changed. */
void upstream_watch_announce(upstream_session *s);

#endif
