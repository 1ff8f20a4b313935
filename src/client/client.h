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
 * The surprising thing: the work of a public call is done at the next tick, unless the call is made
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
    MCP__CLIENT_IDLE = 0, /* not started; what is asked waits */
    MCP__CLIENT_STARTING,
    MCP__CLIENT_READY,
    MCP__CLIENT_FAILED, /* the start failed; the connection is there */
    MCP__CLIENT_LOST,   /* the connection was there and is gone */
} mcp__client_state;

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

struct mcp_client {
    const mcp_allocator *allocator;
    mcp_allocator own_allocator;
    mcp_client_options options; /* texts only while it is made */
    mcp_channel *channel;       /* NULL: not connected */
    mcp__client_state state;
    bool attention; /* something waits for the next tick */

    const mcp__revision *revision; /* what was found out; NULL: nothing yet */
    mcp_json_doc *about;           /* the DiscoverResult or InitializeResult */

    /* What requests say of this client, made of the options once. */
    struct {
        mcp__buf info;      /* clientInfo, JSON text; its first part is for old revisions */
        size_t short_info;  /* how long that is, without the closing brace */
        size_t oldest_info; /* the same, without the title */
        mcp__buf extensions, experimental;
        const char *log_level; /* static storage; NULL: none was asked for */
    } self;

    /* The transport below, and what is known of the present connection. */
    struct {
        mcp_transport_options transport;
        void (*send)(mcp_channel *channel, mcp_exchange exchange, mcp_str message, void *user);
        char *principal; /* whom the authorization is for; NULL: there is none */
        bool deaf;       /* a legacy server has no stream for notices */
        bool misbehaved; /* a request of a modern server was reported */
        mcp_error
            unread; /* why the last message could not be read that answered nothing; or empty */
    } connection;

    /* The message that is being handed to the transport. */
    struct {
        const mcp__sending *sending; /* NULL: none is */
        mcp_client_output output;    /* what mcp_client_sending() gives out */
        mcp__buf header;             /* of mcp_client_header() */
    } out;

    /* The failure that is being handled; borrowed from the code that reports it. */
    struct {
        const char *why;
        const mcp_exchange_end *end; /* when an exchange ended without an answer */
        int status;                  /* the HTTP status of a JSON-RPC error; 0: none */
    } failure;

    /* The way from mcp_client_start() to a revision that both sides speak. */
    struct {
        bool wanted; /* mcp_client_start() was called */
        mcp_result_fn *fn;
        void *user;
        const mcp__revision *only;   /* the one to speak; NULL: find out */
        const mcp__revision *trying; /* of the request that was sent last */
        int64_t probe;               /* the id of a server/discover that is out; 0: none */
        int64_t handshake;           /* the same of initialize */
        int64_t began;
        int64_t fall_back_at; /* initialize is sent although the probe is out; INT64_MAX: never */
        bool handshake_only;  /* the server is known to be of the legacy era */
        bool fell_back;       /* the transport went on to that of 2024-11-05 */
        unsigned probes;
        bool probe_repeated; /* its event stream broke off */
        int rc;              /* how the last start ended */
        mcp_error error;
    } start;

    /* The calls that are not over. */
    struct {
        mcp_call_id last_handle;
        mcp__link queue, sent, parked, kept; /* mcp__call */
        size_t cancelled;                    /* of them, not yet told */
        bool waiting;                        /* in mcp_client_wait() */
        bool held;                           /* no time-outs: a legacy server's question is open */
    } calls;

    /* What the server asks. */
    struct {
        mcp__link list; /* mcp_question */
        size_t open;
        mcp__token_bucket bucket;
        char *completing[64]; /* elicitation ids that were accepted, oldest overwritten */
        size_t n_completing;
    } questions;

    /* The folders that the server may know of. */
    struct {
        mcp__buf json; /* an array; empty: never set */
        bool changed;
        bool declared; /* in the handshake */
    } roots;

    /* What the program wants to hear of. */
    struct {
        mcp__link list;   /* mcp_subscription */
        size_t telling;   /* in callbacks of them */
        bool resync;      /* what is wanted changed */
        mcp__map watched; /* legacy: see watch.c */
    } subscriptions;
    mcp__listen listen; /* modern */

    /* Whether a legacy server is still there. */
    struct {
        int64_t due; /* when the next one is sent; INT64_MAX: one is out, or none are wanted */
        int64_t id;  /* of the one that is out; 0: none is */
        int64_t sent_at;
        int64_t unanswered_since; /* INT64_MAX: the last one was answered */
    } ping;

    /* What earlier answers tell. */
    mcp__cache cache;
    struct {
        uint64_t changes; /* counts what made results stale */
        mcp__map tools;   /* mcp__tool */
    } learnt;
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

/* ---- ping.c ---------------------------------------------------------------------------------- */

/* A session begins, and ends. */
void mcp__ping_begin(mcp_client *client);
void mcp__ping_end(mcp_client *client);
/* Sends one when it is due. Only while the channel is being called. */
void mcp__ping_tick(mcp_client *client);
int64_t mcp__ping_due(const mcp_client *client);

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

#endif
