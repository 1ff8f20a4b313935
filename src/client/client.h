/* client.h: the inside of a client, shared by its files.
 *
 *     client.c     its life, its channel
 *     options.c    what it was made with: texts that go into every request
 *     start.c      which era the server is of, the handshake; versions.c chooses the revision
 *     call.c       a call on its way to its outcome; params.c makes it, answer.c judges what came back
 *     typed.c      calls with a name of their own; pages.c lists; wait.c the blocking form
 *     send.c       one request on its way; exchange.c what transports with exchanges tell and ask
 *     notice.c     notifications of the server
 *     question.c   what the server asks, and the answers; asked.c in a request, rounds.c in a result;
 *                  form.c fills in and checks a form
 *     subscribe.c  who wants to hear what; listen.c how modern servers, watch.c how legacy ones tell
 *     cache.c      results that are still fresh; tools.c what tools want in headers
 *     task.c       a tool call that goes on as a task
 *     repeat.c     a call whose event stream broke off
 *     ping.c       whether a legacy server is still there
 *
 * The surprising thing: what a public call wants done is done at the next tick, unless the
 * channel is being called just then, because only then the time is known. mcp__client_attend()
 * asks for it.
 */
#ifndef MCP_SRC_CLIENT_H
#define MCP_SRC_CLIENT_H

#include <mcp/client.h>

#include "channel/channel.h"
#include "protocol/mirror.h"
#include "protocol/revision.h"

typedef enum mcp__client_state {
    MCP__CLIENT_IDLE = 0, /* not started; what is asked waits */
    MCP__CLIENT_STARTING,
    MCP__CLIENT_READY,
    MCP__CLIENT_FAILED, /* the start failed; the connection is there */
    MCP__CLIENT_LOST,   /* the connection was there and is gone */
} mcp__client_state;

/* ---- calls ----------------------------------------------------------------------------------- */

typedef enum mcp__call_phase {
    MCP__CALL_QUEUED = 0, /* in client->queue */
    MCP__CALL_SENT,       /* in client->sent */
    MCP__CALL_PARKED,     /* in client->parked: questions are being answered, or the tools listed */
    MCP__CALL_KEPT,       /* in client->kept: its outcome waits for mcp_client_wait() */
} mcp__call_phase;

typedef struct mcp__pages mcp__pages;
typedef struct mcp__call_task mcp__call_task;

typedef struct mcp__call {
    mcp__link link;
    mcp_client *client;
    mcp_call_id handle;
    mcp__call_phase phase;

    mcp_str method; /* behind the struct, ends with NUL */
    mcp_str name;   /* what Mcp-Name repeats; the same */
    /* JSON members, without braces: those of params but _meta, then the caller's _meta. */
    mcp__buf params;
    size_t members; /* how much of it is the former */
    mcp__buf input; /* the members inputResponses and requestState of this round */
    mcp_call_options options;
    const char *log_level; /* static storage */
    bool has_level;        /* its own _meta says one */
    bool notification;     /* in the queue for the order's sake */
    bool ping;             /* the method depends on the era */
    bool no_store;         /* the result rests on more than the params */

    int64_t id; /* of the request that is out */
    int64_t sent_at;
    int64_t began_at; /* the same of the first try */
    int64_t deadline; /* of all tries, once there was a second one */
    unsigned repeats; /* after event streams that broke off */
    int64_t due;      /* queued: not before; parked: to go on at the latest */
    double progress;
    bool progressed;
    uint64_t changes; /* client->changes when it was sent */

    unsigned rounds;      /* of questions */
    bool awaits_urls;     /* the user is at the addresses that the server named */
    bool relisted;        /* the tools were listed for it once more */
    bool renewed;         /* it was made again in a new session */
    mcp__pages *pages;    /* the pages of a list that came so far */
    bool own_task;        /* the caller's params have a `task` */
    bool as_task;         /* it was sent with one of ours */
    mcp__call_task *task; /* what it became; NULL: nothing */

    bool cancelled;
    char *reason;

    bool keep;
    int rc;                /* of a kept outcome */
    mcp_json_doc *outcome; /* the same; of a parked call the error that named addresses */
    mcp_error *error;
} mcp__call;

/* ---- other things ---------------------------------------------------------------------------- */

/* The message that is being handed to the transport; for mcp_client_sending(). */
typedef struct mcp__sending {
    const mcp__revision *revision;
    mcp_str method;
    mcp_str name;
    mcp_str params; /* JSON text: where the values of headers are; only with a mirror */
    const mcp__mirror *mirror;
    bool handshake, long_lived;
    uint64_t timeout_ms;
} mcp__sending;

typedef struct mcp__token_bucket {
    size_t per_minute;
    uint64_t credit; /* in 60,000ths of a question */
    int64_t filled;
} mcp__token_bucket;

/* One subscriptions/listen that is out. */
typedef struct mcp__stream {
    mcp_client *client;
    int64_t id;
} mcp__stream;

/* What a modern server is asked to tell of. */
typedef struct mcp__listen {
    mcp__stream *stream;   /* NULL: none is out */
    mcp__stream *replaced; /* the one before, which goes on until the new one is acknowledged */
    int64_t since;         /* when it was acknowledged */
    int64_t ack_by;        /* INT64_MAX: it was, or none is out */
    int64_t retry_at;
    unsigned failures;
    mcp_json_doc *honoured; /* the filter of the acknowledgement; NULL: none */
} mcp__listen;

typedef struct mcp__cache {
    mcp__map entries;
    mcp__link recent; /* the one used last is the last */
    size_t bytes, limit;
} mcp__cache;

struct mcp_client {
    const mcp_allocator *allocator;
    mcp_allocator own_allocator;
    mcp_client_options options; /* texts only while it is made */
    const mcp__revision *only;  /* the one to speak; NULL: find out */
    mcp__buf info;              /* clientInfo, JSON text; its first part is for old revisions */
    size_t short_info;          /* how long that is, without the closing brace */
    size_t oldest_info;         /* the same, without the title */
    mcp__buf extensions, experimental;
    const char *log_level; /* static storage; NULL: none was asked for */

    mcp_channel *channel; /* NULL: not connected */
    mcp_transport_options transport;
    void (*send)(mcp_channel *channel, mcp_exchange exchange, mcp_str message, void *user);
    const mcp__sending *sending;
    mcp_client_output output; /* what mcp_client_sending() gives out */
    mcp__buf header;          /* of mcp_client_header() */
    const char *why;          /* of what is failing right now; borrowed */
    mcp_error unread; /* why the last message could not be read that answered nothing; or empty */
    const mcp_exchange_end *end; /* the same, when an exchange ended without an answer */
    int refused_with; /* the HTTP status of the JSON-RPC error that is being handled; 0: none */
    bool misbehaved;  /* a request of a modern server was reported */
    struct {
        int64_t due; /* when the next one is sent; INT64_MAX: one is out, or none are wanted */
        int64_t id;  /* of the one that is out; 0: none is */
        int64_t sent_at;
        int64_t unanswered_since; /* INT64_MAX: the last one was answered */
    } ping;
    bool deaf; /* a legacy server has no stream for notices */
    char *who; /* authorization; NULL: nobody in particular */
    bool fell_back;
    bool attention; /* something waits for the next tick */

    mcp__client_state state;
    mcp_call_id last_handle;
    mcp__link queue, sent, parked, kept; /* mcp__call */
    size_t cancelled;                    /* of them, not yet told */
    bool waiting;                        /* in mcp_client_wait() */

    bool wanted; /* mcp_client_start() was called */
    mcp_result_fn *start_fn;
    void *start_user;
    const mcp__revision *trying; /* of the request that was sent last */
    int64_t probe,
        handshake; /* the ids of server/discover and initialize that are out; 0: none is */
    int64_t start_began;
    int64_t fall_back_at; /* when initialize is sent although the probe is out; INT64_MAX: never */
    bool handshake_only;  /* the server is known to be of the legacy era */
    unsigned probes;
    bool probe_repeated; /* its event stream broke off */
    int start_rc;        /* how the last start ended */
    mcp_error start_error;

    const mcp__revision *revision; /* what was found out; NULL: nothing yet */
    mcp_json_doc *about;           /* the DiscoverResult or InitializeResult */

    mcp__link questions; /* mcp_question */
    size_t open_questions;
    bool held; /* the calls' time-outs, while a legacy server's question is open */
    mcp__token_bucket bucket;
    mcp__buf roots; /* JSON array; empty: never set */
    bool roots_changed;
    bool roots_declared;  /* in the handshake */
    char *completing[64]; /* elicitation ids that were accepted, oldest overwritten */
    size_t n_completing;

    mcp__link subscriptions; /* mcp_subscription */
    size_t telling;          /* in callbacks of subscriptions */
    bool resync;             /* what is wanted changed */
    mcp__listen listen;
    mcp__map watched; /* legacy: see watch.c */

    mcp__cache cache;
    uint64_t changes; /* counts what made results stale */
    mcp__map tools;   /* mcp__tool */
};

/* ---- client.c -------------------------------------------------------------------------------- */

/* The transport should let us have our turn. */
void mcp__client_attend(mcp_client *client);
static inline int64_t mcp__client_now(const mcp_client *client)
{
    return client->channel ? client->channel->now : 0;
}
static inline bool mcp__client_is_ready(const mcp_client *client)
{
    return client->state == MCP__CLIENT_READY && client->channel;
}
/* A copy of a value as a document of its own. */
int mcp__client_copy(const mcp_client *client, const mcp_json *value, mcp_json_doc **ret);

/* ---- options.c ------------------------------------------------------------------------------- */

int mcp__client_read_options(mcp_client *client, mcp_error *error);
/* How long server/discover may take. */
uint64_t mcp__client_probe_ms(const mcp_client *client);
/* The level's name in static storage, or NULL. */
const char *mcp__client_log_level(const char *name);
void mcp__client_put_info(const mcp_client *client, const mcp__revision *r, mcp__buf *b);
void mcp__client_put_capabilities(const mcp_client *client, const mcp__revision *r, mcp__buf *b);
/* Appends the members of _meta that revision r wants in every request, without braces. */
void mcp__client_put_meta(const mcp_client *client, const mcp__revision *r, mcp__buf *b);

/* ---- start.c --------------------------------------------------------------------------------- */

/* Starts when that is wanted and possible. Only while the channel is being called. */
void mcp__client_begin(mcp_client *client);
/* Time has passed during a start. */
void mcp__client_start_tick(mcp_client *client);
/* Ends a start that is not through. */
void mcp__client_start_failed(mcp_client *client, int rc, const mcp_json *result,
                              const mcp_error *error);
/* The session is gone: a new one, unless that is on its way already. */
void mcp__client_renew(mcp_client *client);

/* ---- versions.c ------------------------------------------------------------------------------ */

/* The newest modern revision in `list` that we may speak, or NULL. */
const mcp__revision *mcp__version_choose(const mcp_client *client, const mcp_json *list);
/* Whether `list` has only revisions of the legacy era that we may speak. */
bool mcp__version_is_legacy_only(const mcp_client *client, const mcp_json *list);
/* MCP_EPROTOCOL: the server names no revision that we may speak. */
int mcp__version_none_in_common(const mcp_client *client, const mcp_json *list, mcp_error *error);
/* The revision of an InitializeResult. MCP_EPROTOCOL: it is not one that we may speak. */
int mcp__version_agreed(const mcp_client *client, const mcp_json *result, const mcp__revision **ret,
                        mcp_error *error);
/* The revision that initialize asks for. */
const mcp__revision *mcp__version_first_legacy(const mcp_client *client);

/* ---- send.c ---------------------------------------------------------------------------------- */

/* Sends a request; s->revision and s->method are set. Only while the channel is being called. */
int mcp__client_send(mcp_client *client, const mcp__sending *s, mcp_str params, mcp__answer_fn *fn,
                     void *user, int64_t *id);
int mcp__client_say(mcp_client *client, mcp_str method, mcp_str params);
/* Tells the server and the transport that nobody waits for this request any more. */
void mcp__client_give_up(mcp_client *client, int64_t id, const char *reason);

/* ---- call.c ---------------------------------------------------------------------------------- */

void mcp__call_move(mcp__call *call, mcp__call_phase phase);
/* Makes it be sent (again); members, input and so on are up to date. */
void mcp__call_again(mcp__call *call, int64_t due);
/* Tells the outcome and frees it, or keeps it. */
void mcp__call_finish(mcp__call *call, int rc, const mcp_json *result, const mcp_error *error);
void mcp__call_fail(mcp__call *call, int rc);
/* The one with this handle that is not over, or NULL. */
mcp__call *mcp__call_find(mcp_client *client, mcp_call_id handle);
mcp__call *mcp__call_kept(mcp_client *client, mcp_call_id handle);
void mcp__call_free(mcp__call *call);
/* Sends it, or leaves it in the queue. It is gone when that fails. */
int mcp__call_begin(mcp__call *call, mcp_call_id *ret);
/* Sends what waits. Only while the channel is being called. */
void mcp__client_flush(mcp_client *client);
/* Ends what was cancelled, and what has parked too long. */
void mcp__client_sweep(mcp_client *client);
/* Ends all that waits with this. */
void mcp__client_fail_waiting(mcp_client *client, int rc, const mcp_json *result,
                              const mcp_error *error);
/* When the earliest of the waiting calls is due. */
int64_t mcp__client_calls_due(const mcp_client *client);

/* ---- params.c -------------------------------------------------------------------------------- */

/* A call that is nowhere yet. */
int mcp__call_new(mcp_client *client, mcp_str method, mcp_str params,
                  const mcp_call_options *options, mcp__call **ret);
/* Appends its params as they are to be sent now. */
void mcp__call_put_params(const mcp__call *call, mcp__buf *b);

/* ---- answer.c -------------------------------------------------------------------------------- */

/* What an answer of the channel means, by the rules of revision r: returns the code for the
 * callback, or MCP_INPUT_REQUIRED, and fills error when it is negative. ms: the time that it
 * had. */
int mcp__client_judge(const mcp_client *client, const mcp__revision *r, uint64_t ms, int rc,
                      const mcp_json *result, mcp_error *error);
void mcp__call_answered(mcp_channel *channel, int rc, const mcp_json *result, void *user);
/* A good result, of the server or from what was kept. */
void mcp__call_succeeded(mcp__call *call, const mcp_json *result);
/* A JSON-RPC error's code. */
int64_t mcp__error_code(const mcp_json *error);

/* ---- repeat.c -------------------------------------------------------------------------------- */

/* Makes a call again that failed because its event stream broke off. False: it does not, and the error says why when that
 * was the failure. */
bool mcp__call_repeat(mcp__call *call, mcp_error *error);
/* How long the request may take that is sent for it now. */
uint64_t mcp__call_time(const mcp__call *call);

/* ---- ping.c ---------------------------------------------------------------------------------- */

/* A session begins, and ends. */
void mcp__ping_begin(mcp_client *client);
void mcp__ping_end(mcp_client *client);
/* Sends one when it is due. Only while the channel is being called. */
void mcp__ping_tick(mcp_client *client);
int64_t mcp__ping_due(const mcp_client *client);

/* ---- pages.c --------------------------------------------------------------------------------- */

/* Takes a page: the call goes on with the next one, or is over. */
void mcp__pages_take(mcp__call *call, const mcp_json *result);
/* The server does not know the cursor that it gave out any more: the list is read once more from its first page, unless a
 * program has taken pages already. False: nothing was done. */
bool mcp__pages_restart(mcp__call *call, int64_t code);
void mcp__pages_free(mcp__pages *pages);

/* ---- typed.c --------------------------------------------------------------------------------- */

/* Tells a legacy server which log messages it shall send. */
int mcp__client_say_level(mcp_client *client);

/* ---- exchange.c ------------------------------------------------------------------------------ */

/* Whether a request failed because this kind of server has no idea of it: an HTTP status that
 * may mean so, and no JSON-RPC. */
bool mcp__end_is_foreign(const mcp_exchange_end *end);
/* Whether it says that the session is gone which the request named; `end` may be NULL. */
bool mcp__end_lost_session(const mcp_exchange_end *end);

/* ---- notice.c -------------------------------------------------------------------------------- */

void mcp__client_notified(mcp_channel *channel, const mcp__message *message);

/* ---- asked.c, question.c, rounds.c, form.c --------------------------------------------------- */

typedef struct mcp__asked {
    mcp__incoming in;
    mcp_question *question;
} mcp__asked;

struct mcp_question {
    mcp__link link; /* in client->questions */
    mcp_client *client;
    mcp_question_kind kind;
    mcp_json_doc *doc;  /* its params */
    mcp__asked *asked;  /* the request that it came in; NULL: none */
    mcp__call *call;    /* that waits for it; NULL: none */
    mcp_call_id handle; /* with a request: the call that it is about; 0: unknown */
    char *key;          /* of inputRequests */
    size_t key_len;
    void (*on_cancel)(mcp_question *question, void *user);
    void *on_cancel_user;
    bool told;      /* the program has or had it */
    bool answered;  /* it has given it back */
    bool withdrawn; /* nobody waits for it */
    bool accepted;
    bool completed;  /* what the user went to is over */
    int code;        /* no answer, but an error; 0: an answer */
    mcp__buf answer; /* JSON text, or the error's message */
};

/* A request of the server. */
void mcp__client_asked(mcp__incoming *in);
void mcp__client_asked_cancelled(mcp__incoming *in);

/* Makes a question of a method and its params. MCP_EUNSUPPORTED, MCP_EPROTOCOL (params),
 * MCP_ELIMIT, MCP_ENOMEM; *retry_ms is when it may be asked again. */
int mcp__question_new(mcp_client *client, mcp_str method, const mcp_json *params,
                      mcp_question **ret, uint64_t *retry_ms, mcp_error *error);
/* Hands it to the program. */
void mcp__question_ask(mcp_question *question);
void mcp__question_withdraw(mcp_question *question);
void mcp__question_free(mcp_question *question);
/* Sends the answers that were given. */
void mcp__client_answer(mcp_client *client);

/* An InputRequiredResult, or error -32042: parks the call and asks. */
int mcp__round_begin(mcp__call *call, const mcp_json *result, mcp_error *error);
bool mcp__round_begin_urls(mcp__call *call, const mcp_json *error_object);
/* Goes on with calls whose questions were all answered. */
void mcp__rounds_end(mcp_client *client);
/* Withdraws what a call still asks. */
void mcp__round_drop(mcp__call *call);
/* What a task asks: parks the call. MCP_ENOTFOUND: all of it was answered before. */
int mcp__round_begin_task(mcp__call *call, const mcp_json *requests, mcp_error *error);
/* A parked call's time has come. */
void mcp__round_overdue(mcp__call *call);
/* The user goes to an address; and the interaction behind it is over. */
void mcp__client_expect(mcp_client *client, mcp_str elicitation_id);
void mcp__round_completed(mcp_client *client, mcp_str elicitation_id);

/* Appends content, with the schema's defaults for what it lacks; MCP_EINVAL when that does not
 * conform. */
int mcp__form_fill(const mcp_json *schema, const mcp_json *content, const mcp_allocator *a,
                   mcp__buf *b, mcp_error *error);

int mcp__put_roots(mcp__buf *b, const mcp_root *roots, size_t n, mcp_error *error);

/* ---- subscribe.c, listen.c, watch.c ---------------------------------------------------------- */

struct mcp_subscription {
    mcp__link link;
    mcp_client *client;
    mcp_subscription_options options;
    char **uris; /* ours */
    size_t n_uris;
    bool dead; /* ended while callbacks run */
    bool told; /* its state is known to the program */
    mcp_subscription_state state;
};

static inline mcp_subscription *mcp__subscription_of(mcp__link *l)
{
    return mcp__container(l, mcp_subscription, link);
}
/* Whether it is about such changes of lists. */
bool mcp__subscription_wants(const mcp_subscription *s, mcp_change change);
/* Whether the server tells of anything that it wants. */
bool mcp__subscription_is_served(const mcp_subscription *s);
/* Callbacks run between these two: what ends meanwhile is freed afterwards. */
void mcp__subscriptions_hold(mcp_client *client);
void mcp__subscriptions_release(mcp_client *client);
void mcp__subscription_tell(mcp_subscription *s, mcp_subscription_state state,
                            const mcp_error *error);
/* Tells all of them that they are lost, or refused. */
void mcp__subscriptions_tell(mcp_client *client, mcp_subscription_state state,
                             const mcp_error *error);
void mcp__subscriptions_changed(mcp_client *client, mcp_change change, mcp_str uri);
/* Does what a change of the set, a new session or a time makes necessary. */
void mcp__client_resync(mcp_client *client);

void mcp__listen_resync(mcp_client *client);
int64_t mcp__listen_due(const mcp_client *client);
void mcp__listen_acknowledged(mcp_client *client, const mcp_json *params);
void mcp__listen_cancelled(mcp_client *client, const mcp_json *params);
bool mcp__listen_honours(const mcp_client *client, mcp_change change, mcp_str uri);
/* The connection is gone. */
void mcp__listen_forget(mcp_client *client);

void mcp__watch_resync(mcp_client *client);
bool mcp__watch_honours(const mcp_client *client, mcp_change change, mcp_str uri);
/* The connection or the session is gone. */
void mcp__watch_forget(mcp_client *client);

/* ---- cache.c --------------------------------------------------------------------------------- */

void mcp__cache_init(mcp_client *client, size_t limit);
void mcp__cache_free(mcp_client *client);
bool mcp__cache_has(const mcp__call *call);
/* The result that was kept for this call, or NULL. */
mcp_json_doc *mcp__cache_get(mcp__call *call);
void mcp__cache_put(mcp__call *call, const mcp_json *result);
/* What a change makes stale; a method: its results. */
void mcp__cache_changed(mcp_client *client, mcp_change change, mcp_str uri);
void mcp__cache_drop(mcp_client *client, mcp_str method);

/* ---- tools.c --------------------------------------------------------------------------------- */

/* What a tool of the list wants in headers, or why it was refused. */
typedef struct mcp__tool {
    mcp__mirror mirror;
    char *refused; /* NULL: it was not */
    char *name;
    bool needs_task; /* execution.taskSupport is "required" */
    bool repeatable; /* its annotations say that a second call does no more than one */
} mcp__tool;

/* Whether the transport has headers and the revision says what is in them. */
bool mcp__client_mirrors(const mcp_client *client);
/* Learns the tools of a page; *ret is a copy of the page without those that are refused, NULL
 * when none is. */
int mcp__tools_learn(mcp_client *client, const mcp_json *result, mcp_json_doc **ret);
const mcp__tool *mcp__tools_find(const mcp_client *client, mcp_str name);
/* Checks a tools/call before it is sent. */
int mcp__tools_check(mcp__call *call, mcp_error *error);
/* Lists the tools for a call whose headers were refused; it is parked. */
int mcp__tools_relist(mcp__call *call);
void mcp__tools_free(mcp_client *client);

/* ---- task.c ---------------------------------------------------------------------------------- */

/* Whether the server of 2025-11-25 takes calls of tools as tasks, and the program wants them. */
bool mcp__tasks_are_asked(const mcp_client *client);
/* Whether this call has to be sent with a `task`. */
bool mcp__call_task_is_wanted(const mcp__call *call);
/* Whether this result is a task that was made for the call. */
bool mcp__call_task_begins(const mcp__call *call, const mcp_json *result);
/* The call goes on as that task, or is over. */
void mcp__call_task_begin(mcp__call *call, const mcp_json *result);
/* An answer to one of its requests. */
void mcp__call_task_answered(mcp__call *call, const mcp_json *result);
/* The same, a failure. True: it goes on, or is over. */
bool mcp__call_task_failed(mcp__call *call, int rc);
/* The call is to be over with *rc and *error: true when it first asks the server to cancel the task. Otherwise both may
 * have changed; *error is the caller's, and nothing of it belongs to the task. */
bool mcp__call_task_end(mcp__call *call, int *rc, mcp_error *error);
bool mcp__call_task_has_answered(const mcp__call *call, mcp_str key);
int mcp__call_task_note_answer(mcp__call *call, mcp_str key);
/* Sends the answers in call->input. */
void mcp__call_task_update(mcp__call *call);
void mcp__call_task_free(mcp__call *call);

#endif
