/* client.h: the internals of a client, shared by its files. Its calls, questions, subscriptions and
 * cache have headers of their own.
 *
 *     client.c         its life cycle and its channel
 *     capabilities.c   its options, as the JSON text that goes into every request
 *     start.c          detection of the era, the handshake; versions.c chooses the revision
 *     call.c           the life cycle of a call; params.c creates it, answer.c handles its answer
 *     shapes.c         whether an answer has the shape of its revision
 *     typed.c          one function for each method; pages.c lists; wait.c blocking calls
 *     send.c           sends one request; exchanges.c the interface to transports with exchanges
 *     notifications.c  notifications of the server
 *     question.c       questions of the server and their answers; question_request.c in a request, rounds.c in a
 *                  result; form_answer.c completes and validates a form
 *     subscriptions.c  subscriptions; listen_request.c with modern servers, watch.c with legacy
 *                      ones
 *     cache.c          cached results; tools.c tool parameters in headers
 *     task_poll.c      a tool call that becomes a task
 *     reissue.c        a call whose event stream broke off
 *     ping.c           whether a legacy server is still alive
 *
 * The work of a public call is done at the next tick, which mcp__client_attend() requests. Only a
 * call from within a call of the channel may be carried out at once, because only then is the
 * current time known.
 */
#ifndef MCP_SRC_CLIENT_H
#define MCP_SRC_CLIENT_H

#include <mcp/client.h>
#include <mcp/sys/client.h>

#include "channel/channel.h"
#include "client/call.h"
#include "client/learnt.h"
#include "client/question.h"
#include "client/subscriptions.h"
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
    mcp_str params; /* JSON text; the mirror reads the values of headers from it */
    const mcp__mirror *mirror;
    bool handshake, long_lived, once;
    uint64_t timeout_ms;
} mcp__sending;

struct mcp_client {
    const mcp_allocator *allocator;
    mcp_allocator own_allocator;
    mcp_client_options options; /* its borrowed strings are set to NULL after creation */
    mcp_channel *channel;       /* NULL if not connected */
    mcp__client_state state;
    bool attention; /* a tick has been requested */

    const mcp__revision *revision; /* the revision in use; NULL if not known yet */
    mcp_json_doc *about;           /* the DiscoverResult or InitializeResult */

    /* What each request tells the server about this client. It is rendered once, from the
     * options. */
    struct {
        mcp__buf info;      /* clientInfo as JSON text, without the closing brace */
        size_t short_info;  /* length of the prefix for older revisions */
        size_t oldest_info; /* length of the prefix for revisions without a title */
        mcp__buf extensions, experimental;
        const char *log_level; /* static storage; NULL if none was requested */
    } self;

    /* The transport, and the state of the current connection. */
    struct {
        mcp_transport_options transport;
        void (*send)(mcp_channel *channel, mcp_exchange exchange, mcp_str message, void *user);
        char *principal;     /* identifies the authorization; NULL if there is none */
        bool no_stream;      /* the legacy server has no stream for notifications */
        bool misbehaved;     /* a forbidden request of the server has been reported */
        mcp_error malformed; /* why the last message that answers no request was malformed */
        mcp_exchange heard;  /* of the message that is being received */
        mcp_call_id noted;   /* the call that the current notification belongs to, or 0 */
    } connection;

    /* The message that is being passed to the transport. */
    struct {
        const mcp__sending *sending; /* NULL if none */
        mcp_client_output output;    /* the result of mcp_client_sending() */
        mcp__buf header;             /* for mcp_client_header() */
    } out;

    /* The failure that is being handled; borrowed from the code that reports it. */
    struct {
        const char *why;
        const mcp_exchange_end *end; /* set if an exchange ended without an answer */
        int status;                  /* the HTTP status of a JSON-RPC error; 0 if none */
    } failure;

    /* The start: from mcp_client_start() to a revision that both sides support. */
    struct {
        bool requested; /* mcp_client_start() was called */
        mcp_result_fn *fn;
        void *user;
        const mcp__revision *only;   /* the only allowed revision; NULL to detect the revision */
        const mcp__revision *trying; /* the revision of the start's last request */
        int64_t probe;               /* id of the server/discover in flight; 0 if none */
        int64_t handshake;           /* id of the initialize in flight; 0 if none */
        int64_t began;
        int64_t fall_back_at; /* when to send initialize despite the probe; INT64_MAX if never */
        bool handshake_only;  /* the server is known to be of the legacy era */
        bool fell_back;       /* the transport changed to that of 2024-11-05 */
        unsigned probes;
        bool probe_repeated; /* the probe was repeated, because its event stream broke off */
        int rc;              /* how the last start ended */
        mcp_error error;
    } start;

    /* The unfinished calls. */
    struct {
        mcp_call_id last_handle;
        mcp__link queue, sent, parked, finished; /* mcp__call */
        size_t cancelled;                        /* cancelled calls that are still in a list */
        bool waiting;                            /* mcp_client_wait() is running the transport */
        bool suspended;                          /* time-outs are suspended while a user answers */
    } calls;

    /* Input requests of the server. */
    struct {
        mcp__link list; /* mcp_question */
        size_t open;
        mcp__token_bucket bucket;
        char *completing[64]; /* ids of accepted elicitations; a new one replaces the oldest */
        size_t n_completing;
    } questions;

    /* The roots that the client gives to the server. */
    struct {
        mcp__buf json; /* an array; empty if never set */
        bool changed;
        bool declared; /* the handshake declared roots */
    } roots;

    /* The program's subscriptions. */
    struct {
        mcp__link list;   /* mcp_subscription */
        size_t callbacks; /* nesting depth of running callbacks */
        bool resync;      /* the set of subscriptions changed */
        mcp__map watched; /* for legacy servers; see watch.c */
    } subscriptions;
    mcp__listen listen; /* for modern servers */

    /* Checks that a legacy server is alive. */
    struct {
        int64_t due; /* when to send the next ping; INT64_MAX if in flight, or if pings are off */
        int64_t id;  /* of the ping in flight; 0 if none */
        int64_t sent_at;
        int64_t unanswered_since; /* INT64_MAX if the last ping was answered */
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
/* Copies a value into a new document, which the caller owns. */
int mcp__client_copy(const mcp_client *client, const mcp_json *value, mcp_json_doc **ret);

/* ---- capabilities.c -------------------------------------------------------------------------- */

/* Checks client->options, sets their defaults and renders client->self. */
int mcp__client_read_options(mcp_client *client, mcp_error *error);
/* Returns the time-out of server/discover, in milliseconds. */
uint64_t mcp__client_probe_ms(const mcp_client *client);
/* Returns the name of the log level in static storage, or NULL if there is no such level. */
const char *mcp__client_log_level(const char *name);
/* Append clientInfo or capabilities in the form of revision r. */
void mcp__client_put_info(const mcp_client *client, const mcp__revision *r, mcp__buf *b);
void mcp__client_put_capabilities(const mcp_client *client, const mcp__revision *r, mcp__buf *b);
/* Appends the members of _meta that revision r requires in every request, without braces. */
void mcp__client_put_meta(const mcp_client *client, const mcp__revision *r, mcp__buf *b);
/* Does the same with these capabilities, unless they are empty. With `tasks` false, the extension
 * for tasks is not declared. */
void mcp__client_put_meta_with(const mcp_client *client, const mcp__revision *r,
                               mcp_str capabilities, bool tasks, mcp__buf *b);

/* ---- start.c --------------------------------------------------------------------------------- */

/* Starts if a start is requested and possible. Must be called only during a call of the channel. */
void mcp__client_begin(mcp_client *client);
/* Does the work of a start that is due at a tick. */
void mcp__client_start_tick(mcp_client *client);
/* Ends an unfinished start. */
void mcp__client_start_failed(mcp_client *client, int rc, const mcp_json *result,
                              const mcp_error *error);
/* Starts a new session after the old one was lost, unless a start is in progress. */
void mcp__client_renew(mcp_client *client);

/* ---- versions.c ------------------------------------------------------------------------------ */

/* Returns the newest modern revision in `list` that this client may use, or NULL. */
const mcp__revision *mcp__version_choose(const mcp_client *client, const mcp_json *list);
/* Returns whether `list` has only legacy revisions that this client may use. */
bool mcp__version_is_legacy_only(const mcp_client *client, const mcp_json *list);
/* Sets *error to the reason that the server supports no revision that this client may use. Returns
 * MCP_EPROTOCOL. */
int mcp__version_none_in_common(const mcp_client *client, const mcp_json *list, mcp_error *error);
/* Reads the revision of an InitializeResult. Returns MCP_EPROTOCOL if this client may not use
 * it. */
int mcp__version_agreed(const mcp_client *client, const mcp_json *result, const mcp__revision **ret,
                        mcp_error *error);
/* Returns the revision that initialize requests. */
const mcp__revision *mcp__version_first_legacy(const mcp_client *client);

/* ---- send.c ---------------------------------------------------------------------------------- */

/* Sends a request. s->revision and s->method must be set. Must be called only during a call of the
 * channel. */
int mcp__client_send(mcp_client *client, const mcp__sending *s, mcp_str params, mcp__answer_fn *fn,
                     void *user, int64_t *id);
/* Sends a notification. */
int mcp__client_notify(mcp_client *client, mcp_str method, mcp_str params);
/* Notifies the server and the transport that the answer to this request is no longer needed. */
void mcp__client_give_up(mcp_client *client, int64_t id, const char *reason);

/* ---- ping.c ---------------------------------------------------------------------------------- */

/* Start and stop the pings of a session. */
void mcp__ping_begin(mcp_client *client);
void mcp__ping_end(mcp_client *client);
/* Sends a ping when it is due. Must be called only during a call of the channel. */
void mcp__ping_tick(mcp_client *client);
/* Returns when mcp__ping_tick() must be called next, or INT64_MAX if never. */
int64_t mcp__ping_due(const mcp_client *client);

/* ---- typed.c --------------------------------------------------------------------------------- */

/* Sets the log level of a legacy server. */
int mcp__client_send_level(mcp_client *client);

/* ---- exchanges.c ----------------------------------------------------------------------------- */

/* Returns whether an exchange without a JSON-RPC error ended with an HTTP status that may mean that
 * the server does not know the request. `end` may be NULL. */
bool mcp__end_is_foreign(const mcp_exchange_end *end);
/* Returns whether the end of an exchange means that the session named in the request does not exist
 * any more. `end` may be NULL. */
bool mcp__end_lost_session(const mcp_exchange_end *end);

/* ---- notifications.c ------------------------------------------------------------------------- */

/* Handles a notification of the server. */
void mcp__client_notified(mcp_channel *channel, const mcp__message *message);

#endif
