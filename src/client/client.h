/* client.h: the internals of a client, shared by its files. Its calls, questions, subscriptions and
 * cache have headers of their own.
 *
 *     client.c     its life, its channel
 *     options.c    its options, as texts that go into every request
 *     start.c      detection of the era, the handshake; versions.c chooses the revision
 *     call.c       the life of a call; params.c makes it, answer.c handles the answer
 *     typed.c      calls with a name of their own; pages.c lists; wait.c the blocking form
 *     send.c       sends one request; exchange.c the interface to transports with exchanges
 *     notice.c     notifications of the server
 *     question.c   questions of the server and their answers; asked.c in a request, rounds.c in a
 *                  result; form.c fills in and checks a form
 *     subscribe.c  subscriptions; listen.c with modern servers, watch.c with legacy ones
 *     cache.c      cached results; tools.c tool parameters in headers
 *     task.c       a tool call that becomes a task
 *     repeat.c     a call whose event stream broke off
 *     ping.c       whether a legacy server is still alive
 *
 * What may surprise: the work of a public call is done at the next tick, unless the call is made
 * from within a call of the channel, because only then is the time known. mcp__client_attend()
 * requests that tick.
 */
#ifndef MCP_SRC_CLIENT_H
#define MCP_SRC_CLIENT_H

#include <mcp/client.h>

#include "channel/channel.h"
#include "client/call.h"
#include "client/learnt.h"
#include "client/question.h"
#include "client/subscribe.h"
#include "protocol/mirror.h"
#include "protocol/revision.h"

typedef enum mcp__client_state {
    MCP__CLIENT_IDLE = 0, /* not started; calls wait */
    MCP__CLIENT_STARTING,
    MCP__CLIENT_READY,
    MCP__CLIENT_FAILED, /* the start failed, but the connection exists */
    MCP__CLIENT_LOST,   /* the connection was lost */
} mcp__client_state;

/* The message that is being passed to the transport; for mcp_client_sending(). */
typedef struct mcp__sending {
    const mcp__revision *revision;
    mcp_str method;
    mcp_str name;
    mcp_str params; /* JSON text with the values of headers; set only with a mirror */
    const mcp__mirror *mirror;
    bool handshake, long_lived;
    uint64_t timeout_ms;
} mcp__sending;

struct mcp_client {
    const mcp_allocator *allocator;
    mcp_allocator own_allocator;
    mcp_client_options options; /* texts are valid only while the client is created */
    mcp_channel *channel;       /* NULL: not connected */
    mcp__client_state state;
    bool attention; /* a tick has been requested */

    const mcp__revision *revision; /* the revision in use; NULL: not known yet */
    mcp_json_doc *about;           /* the DiscoverResult or InitializeResult */

    /* What requests say about this client, made from the options once. */
    struct {
        mcp__buf info;      /* clientInfo as JSON text; older revisions get its first part */
        size_t short_info;  /* length of that part, without the closing brace */
        size_t oldest_info; /* the same, without the title */
        mcp__buf extensions, experimental;
        const char *log_level; /* static storage; NULL: none was requested */
    } self;

    /* The transport, and the state of the current connection. */
    struct {
        mcp_transport_options transport;
        void (*send)(mcp_channel *channel, mcp_exchange exchange, mcp_str message, void *user);
        char *principal; /* of the authorization; NULL: none */
        bool deaf;       /* a legacy server has no stream for notices */
        bool misbehaved; /* a forbidden request of the server was reported */
        mcp_error
            unread; /* why the last message could not be read, if it answered nothing; else empty */
    } connection;

    /* The message that is being passed to the transport. */
    struct {
        const mcp__sending *sending; /* NULL: none */
        mcp_client_output output;    /* the result of mcp_client_sending() */
        mcp__buf header;             /* for mcp_client_header() */
    } out;

    /* The failure that is being handled; borrowed from the code that reports it. */
    struct {
        const char *why;
        const mcp_exchange_end *end; /* set if an exchange ended without an answer */
        int status;                  /* the HTTP status of a JSON-RPC error; 0: none */
    } failure;

    /* The start: from mcp_client_start() to a revision that both sides support. */
    struct {
        bool wanted; /* mcp_client_start() was called */
        mcp_result_fn *fn;
        void *user;
        const mcp__revision *only;   /* the only allowed revision; NULL: detect it */
        const mcp__revision *trying; /* of the last request of the start */
        int64_t probe;               /* id of the server/discover in flight; 0: none */
        int64_t handshake;           /* id of the initialize in flight; 0: none */
        int64_t began;
        int64_t fall_back_at; /* when initialize is sent in spite of it; INT64_MAX: never */
        bool handshake_only;  /* the server is known to be of the legacy era */
        bool fell_back;       /* the transport changed to that of 2024-11-05 */
        unsigned probes;
        bool probe_repeated; /* because its event stream broke off */
        int rc;              /* how the last start ended */
        mcp_error error;
    } start;

    /* The unfinished calls. */
    struct {
        mcp_call_id last_handle;
        mcp__link queue, sent, parked, kept; /* mcp__call */
        size_t cancelled;                    /* cancelled calls that are still in a list */
        bool waiting;                        /* in mcp_client_wait() */
        bool held;                           /* time-outs are suspended while a user answers */
    } calls;

    /* Input requests of the server. */
    struct {
        mcp__link list; /* mcp_question */
        size_t open;
        mcp__token_bucket bucket;
        char *completing[64]; /* ids of accepted elicitations, oldest overwritten */
        size_t n_completing;
    } questions;

    /* The roots that the client gives to the server. */
    struct {
        mcp__buf json; /* an array; empty: never set */
        bool changed;
        bool declared; /* in the handshake */
    } roots;

    /* The program's subscriptions. */
    struct {
        mcp__link list;   /* mcp_subscription */
        size_t telling;   /* number of callers that are running callbacks */
        bool resync;      /* the set of subscriptions changed */
        mcp__map watched; /* legacy: see watch.c */
    } subscriptions;
    mcp__listen listen; /* modern */

    /* Checks that a legacy server is alive. */
    struct {
        int64_t due; /* when the next ping is sent; INT64_MAX: one is in flight, or pings are off */
        int64_t id;  /* of the ping in flight; 0: none */
        int64_t sent_at;
        int64_t unanswered_since; /* INT64_MAX: the last ping was answered */
    } ping;

    /* Facts learned from earlier answers. */
    mcp__cache cache;
    struct {
        uint64_t changes; /* counts the changes that made results stale */
        mcp__map tools;   /* mcp__tool */
    } learnt;
};

/* ---- client.c -------------------------------------------------------------------------------- */

/* Requests a tick from the transport. */
void mcp__client_attend(mcp_client *client);
static inline int64_t mcp__client_now(const mcp_client *client)
{
    return client->channel ? client->channel->now : 0;
}
static inline bool mcp__client_is_ready(const mcp_client *client)
{
    return client->state == MCP__CLIENT_READY && client->channel;
}
/* Copies a value into a document of its own. */
int mcp__client_copy(const mcp_client *client, const mcp_json *value, mcp_json_doc **ret);

/* ---- options.c ------------------------------------------------------------------------------- */

int mcp__client_read_options(mcp_client *client, mcp_error *error);
/* Returns the time-out of server/discover. */
uint64_t mcp__client_probe_ms(const mcp_client *client);
/* Returns the level's name in static storage, or NULL. */
const char *mcp__client_log_level(const char *name);
void mcp__client_put_info(const mcp_client *client, const mcp__revision *r, mcp__buf *b);
void mcp__client_put_capabilities(const mcp_client *client, const mcp__revision *r, mcp__buf *b);
/* Appends the members of _meta that revision r requires in every request, without braces. */
void mcp__client_put_meta(const mcp_client *client, const mcp__revision *r, mcp__buf *b);

/* ---- start.c --------------------------------------------------------------------------------- */

/* Starts if a start is requested and possible. Only during a call of the channel. */
void mcp__client_begin(mcp_client *client);
/* The tick of a start. */
void mcp__client_start_tick(mcp_client *client);
/* Ends an unfinished start. */
void mcp__client_start_failed(mcp_client *client, int rc, const mcp_json *result,
                              const mcp_error *error);
/* Starts a new session after the old one was lost, unless a start is in progress. */
void mcp__client_renew(mcp_client *client);

/* ---- versions.c ------------------------------------------------------------------------------ */

/* Returns the newest modern revision in `list` that this client may use, or NULL. */
const mcp__revision *mcp__version_choose(const mcp_client *client, const mcp_json *list);
/* Whether `list` has only legacy revisions that this client may use. */
bool mcp__version_is_legacy_only(const mcp_client *client, const mcp_json *list);
/* Fails with MCP_EPROTOCOL: the server supports no revision that this client may use. */
int mcp__version_none_in_common(const mcp_client *client, const mcp_json *list, mcp_error *error);
/* Reads the revision of an InitializeResult. Returns MCP_EPROTOCOL if this client may not use
 * it. */
int mcp__version_agreed(const mcp_client *client, const mcp_json *result, const mcp__revision **ret,
                        mcp_error *error);
/* Returns the revision that initialize requests. */
const mcp__revision *mcp__version_first_legacy(const mcp_client *client);

/* ---- send.c ---------------------------------------------------------------------------------- */

/* Sends a request; s->revision and s->method must be set. Only during a call of the channel. */
int mcp__client_send(mcp_client *client, const mcp__sending *s, mcp_str params, mcp__answer_fn *fn,
                     void *user, int64_t *id);
int mcp__client_notify(mcp_client *client, mcp_str method, mcp_str params);
/* Notifies the server and the transport that the answer to this request is not needed any more. */
void mcp__client_give_up(mcp_client *client, int64_t id, const char *reason);

/* ---- ping.c ---------------------------------------------------------------------------------- */

/* The beginning and the end of a session. */
void mcp__ping_begin(mcp_client *client);
void mcp__ping_end(mcp_client *client);
/* Sends a ping when it is due. Only during a call of the channel. */
void mcp__ping_tick(mcp_client *client);
int64_t mcp__ping_due(const mcp_client *client);

/* ---- typed.c --------------------------------------------------------------------------------- */

/* Sets the log level of a legacy server. */
int mcp__client_send_level(mcp_client *client);

/* ---- exchange.c ------------------------------------------------------------------------------ */

/* Whether a request failed because this kind of server does not know it: an HTTP status that may
 * mean so, without a JSON-RPC error. */
bool mcp__end_is_foreign(const mcp_exchange_end *end);
/* Whether it means that the session named in the request does not exist any more. `end` may be
 * NULL. */
bool mcp__end_lost_session(const mcp_exchange_end *end);

/* ---- notice.c -------------------------------------------------------------------------------- */

void mcp__client_notified(mcp_channel *channel, const mcp__message *message);

#endif
