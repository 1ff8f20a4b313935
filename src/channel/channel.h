/* channel.h: the internal side of mcp/channel.h: the basis of the server role and the client role.
 *
 * The channel parses, frames, keeps the table of requests in flight in both directions, and
 * enforces the limits. The role, a table of functions, implements the methods.
 */
#ifndef MCP_SRC_CHANNEL_H
#define MCP_SRC_CHANNEL_H

#include <mcp/channel.h>

#include "base/base.h"
#include "json/json.h"
#include "jsonrpc/envelope.h"
#include "protocol/revision.h"

typedef struct mcp__batch mcp__batch;

/* A request of the peer that is being answered. The role's own request struct begins with it. */
typedef struct mcp__incoming {
    mcp__link link;       /* in channel->in_flight */
    mcp_channel *channel; /* NULL: freed while a handler still has the request */
    const mcp_allocator *allocator;
    mcp_json_doc *doc; /* NULL in a batch, which owns it */
    mcp__message message;
    mcp_str key; /* the exchange's eight bytes, then the id as JSON text */
    mcp_exchange exchange;
    mcp__batch *batch;
    size_t bytes;    /* of its message, included in channel->bytes_in_flight */
    bool long_lived; /* not counted as in flight: a subscription */
    bool modern;     /* the request is of the modern era */
    bool malformed;  /* see mcp_output_info */
    bool abandoned;  /* answered already, but its handler has not finished */
    char *long_key;  /* holds the key if it does not fit into short_key */
    char short_key[48];
} mcp__incoming;

static inline mcp_str mcp__incoming_id(const mcp__incoming *in)
{
    return mcp__str_sub(in->key, sizeof(mcp_exchange));
}

/* The functions of a role. All are required unless marked as optional. */
typedef struct mcp__role {
    size_t request_size; /* of the role's request struct; all but mcp__incoming is zeroed */
    /* A request. The role answers with mcp__incoming_reply(), now or later. */
    void (*request)(mcp__incoming *in);
    /* The peer cancelled the request, its exchange ended or the channel was closed. The role stops
     * the work and has to call mcp__incoming_drop(), now or later. */
    void (*cancel)(mcp__incoming *in);
    void (*notification)(mcp_channel *channel, const mcp__message *message);
    void (*tick)(mcp_channel *channel, int64_t now);
    /* Called only if channel->timed is set. */
    int64_t (*deadline)(const mcp_channel *channel);
    /* Graceful close: sends the role's last messages. Requests still in flight are cancelled
     * afterwards. */
    void (*close)(mcp_channel *channel);
    /* Frees the role's state. */
    void (*release)(mcp_channel *channel);
    /* `batches`: whether the peer may send arrays now. `no_id`: how an error without an id is
     * written to it. */
    bool (*batches)(const mcp_channel *channel);
    /* The legacy session's revision, for mcp_channel_revision(). May be NULL. */
    const char *(*revision)(const mcp_channel *channel);
    /* Messages that follow are to be read in this revision without a handshake (legacy HTTP without
     * a session). Returns false if the revision is not supported. */
    bool (*assume)(mcp_channel *channel, mcp_str revision);
    mcp__no_id (*no_id)(const mcp_channel *channel);
    /* Optional: a message could not be read. `id` is the JSON text of the id if the message seems
     * to be an answer, else empty. rc is MCP_ELIMIT or MCP_EPROTOCOL. A role with this function
     * sends no error for such a message: a client does not answer a server's answers. */
    void (*malformed)(mcp_channel *channel, mcp_str id, int rc, mcp_str why);
    /* Optional: called for every message that arrives. */
    void (*heard)(mcp_channel *channel, mcp_exchange exchange, mcp_str message);
} mcp__role;

/* Receives the answer to an outgoing request. rc: MCP_OK (result), MCP_EREMOTE (result is the error
 * object), MCP_ETIMEOUT, MCP_ECLOSED. */
typedef void mcp__answer_fn(mcp_channel *channel, int rc, const mcp_json *result, void *user);

struct mcp_channel {
    const mcp__role *role;
    void *state;                    /* owned by the role */
    const mcp_allocator *allocator; /* of the server or client; outlives the channel's requests */
    mcp_channel_options options;    /* principal and caller are our copies */

    mcp__link in_flight; /* mcp__incoming */
    mcp__map in_flight_by_key;
    size_t n_in_flight, bytes_in_flight;
    size_t n_abandoned; /* requests in flight that are abandoned */

    mcp__link outgoing; /* outgoing requests, oldest first */
    int64_t next_id;
    uint64_t stray_answers; /* dropped answers that match no outgoing request */

    mcp_str text;   /* what is being received, as it came; ptr NULL: not known, or nothing is */
    size_t element; /* of the batch that is being received, counted from 1; 0: no batch */

    mcp__buf spare;         /* kept between messages so that building one needs no allocation */
    mcp_output_info output; /* of the message being sent */
    int64_t now;            /* time of the last call */
    bool writable, closed, in_use;
    bool timed; /* the role may have a deadline */
};

/* ---- channel.c ---------------------------------------------------------------------------------- */

/* `options` are those that the caller passed. The allocator must outlive the channel and its
 * requests. */
int mcp__channel_new(const mcp__role *role, void *state, const mcp_channel_options *options,
                     const mcp_allocator *allocator, mcp_channel **ret, mcp_error *error);

/* Passes a whole message to the transport. */
void mcp__channel_send(mcp_channel *channel, mcp_exchange exchange, mcp_str message,
                       mcp_output_info info);

/* A message that the transport has parsed itself, to know where to route it. */
typedef struct mcp__received {
    mcp_str text;         /* as it came; ptr NULL: not known */
    mcp_json_doc *doc;    /* parsed within the channel's limits with the channel's allocator */
    mcp__message message; /* of a single message */
    bool batch;
    bool modern; /* mcp__is_modern() of a single message */
} mcp__received;
/* Like mcp_channel_receive(). Takes ownership of the document. */
MCP__SHARED int mcp__channel_receive_read(mcp_channel *channel, mcp_exchange exchange,
                                          const mcp__received *received, int64_t now);

/* Returns the era of a message. The code that reads the message calls this once. A message is
 * modern if its _meta names a revision; if it names none, the MCP-Protocol-Version of the
 * transport's metadata, which may be empty, decides. */
static inline bool mcp__is_modern(const mcp__message *message, mcp_str named)
{
    const mcp_json *meta = mcp_json_get(message->params, "_meta");
    if (mcp_json_get(meta, MCP__META_REVISION))
        return true;
    const mcp__revision *r = named.len ? mcp__revision_find(named) : NULL;
    return r && r->modern;
}

/* Requests a call of mcp_channel_tick() from the transport. From now on the channel asks the role
 * for its deadline. */
void mcp__channel_wake(mcp_channel *channel);

/* Sends an error that answers no particular request. */
void mcp__channel_refuse(mcp_channel *channel, mcp_exchange exchange, int code, mcp_str why);

/* Takes an empty buffer for one message, with the limit max_reply. Give it back with
 * mcp__channel_give_buf(). Several may be in use at once. */
mcp__buf mcp__channel_take_buf(mcp_channel *channel);
void mcp__channel_give_buf(mcp_channel *channel, mcp__buf *buf);

/* Ends a request and frees it: with a whole message (its answer; code: the code of an error, else
 * 0), or without one. */
void mcp__incoming_reply(mcp__incoming *in, mcp_str message, int code);
void mcp__incoming_drop(mcp__incoming *in);
/* Answers a request that outlives its channel, as if its channel had been freed. The request must
 * not be in a batch. */
void mcp__incoming_answer(mcp__incoming *in, mcp_str message);
/* Ends a request with an error. */
void mcp__incoming_error(mcp__incoming *in, int code, mcp_str message, mcp_str data);
/* Answers a request with an error before its handler has finished. The handler still ends it with
 * mcp__incoming_drop(). Its id can be reused at once; its memory and its place among the requests
 * in flight are released only then. */
void mcp__incoming_abandon(mcp__incoming *in, int code, mcp_str message, mcp_str data);
/* Stops counting the request as in flight and releases its message, because it may stay for
 * days. */
void mcp__incoming_set_long_lived(mcp__incoming *in);
/* Frees the part of the block that held the message of a long-lived request. Returns the new
 * address of the request; the role updates its own references. */
mcp__incoming *mcp__incoming_shrink(mcp__incoming *in);
/* Frees the memory that is kept between messages. Call it when the peer is idle. */
MCP__SHARED void mcp__channel_trim(mcp_channel *channel);
/* Returns the request in flight with that id (JSON value), in any exchange, or NULL. */
mcp__incoming *mcp__channel_find(mcp_channel *channel, const mcp_json *id);

/* ---- for transports ------------------------------------------------------------------------- */

static inline const char *mcp__channel_principal(const mcp_channel *channel)
{
    return channel->options.principal;
}
static inline const char *mcp__channel_caller(const mcp_channel *channel)
{
    return channel->options.caller;
}
static inline bool mcp__channel_is_local(const mcp_channel *channel)
{
    return channel->options.local;
}
static inline bool mcp__channel_is_closed(const mcp_channel *channel)
{
    return channel->closed;
}
/* Whether a call into the channel is running, during which it must not be called again. */
static inline bool mcp__channel_is_in_use(const mcp_channel *channel)
{
    return channel->in_use;
}
/* Makes the channel read its messages in a legacy revision, without initialize. */
static inline void mcp__channel_assume(mcp_channel *channel, const mcp__revision *legacy)
{
    channel->role->assume(channel, mcp_str_from(legacy->name));
}
/* Returns the request in flight after `in` (NULL: the first one), or NULL at the end. */
static inline const mcp__incoming *mcp__channel_next_request(const mcp_channel *channel,
                                                             const mcp__incoming *in)
{
    mcp__link *next = in ? in->link.next : channel->in_flight.next;
    return next == &channel->in_flight ? NULL : mcp__container(next, mcp__incoming, link);
}
/* Returns the request in flight of that exchange, or NULL. */
static inline const mcp__incoming *mcp__channel_request_of(const mcp_channel *channel,
                                                           mcp_exchange exchange)
{
    const mcp__incoming *in = mcp__channel_next_request(channel, NULL);
    while (in && in->exchange != exchange)
        in = mcp__channel_next_request(channel, in);
    return in;
}

/* ---- text.c: the message that is being received, as it came ---- */

/* The text of a member of it, by the key with its quotes. ptr NULL: there is none, or it is not
 * known. Borrowed until the channel's function that received it returns. */
mcp_str mcp__channel_text_of(const mcp_channel *channel, mcp_str quoted_key);
static inline void mcp__channel_forget_text(mcp_channel *channel)
{
    channel->text = (mcp_str){NULL, 0};
    channel->element = 0;
}

/* ---- outgoing.c --------------------------------------------------------------------------------- */

/* Sends a request; params is the JSON text of an object. fn is called exactly once, and never
 * before this call returns. timeout_ms 0: no time-out. On MCP_ECLOSED, MCP_ENOMEM and MCP_ELIMIT fn
 * is not called. */
int mcp__channel_request(mcp_channel *channel, mcp_exchange exchange, mcp_str method,
                         mcp_str params, uint64_t timeout_ms, mcp__answer_fn *fn, void *user,
                         int64_t *ret_id);
/* Sends a notification; params is the JSON text of an object. */
int mcp__channel_notify(mcp_channel *channel, mcp_exchange exchange, mcp_str method,
                        mcp_str params);
/* Forgets an outgoing request: its fn is not called any more. Returns false if there is none. */
bool mcp__channel_forget(mcp_channel *channel, int64_t id);
/* Whether an outgoing request is not yet answered. */
bool mcp__channel_awaits(const mcp_channel *channel, int64_t id);
/* Ends an outgoing request with a local code, as if it were the answer. Returns false if there is
 * none. */
bool mcp__channel_fail(mcp_channel *channel, int64_t id, int rc, const mcp_json *result);
/* Sets the time-out of an outgoing request; INT64_MAX: none. Returns false if there is none. */
bool mcp__channel_set_timeout(mcp_channel *channel, int64_t id, int64_t at);

/* For channel.c. */
void mcp__outgoing_answer(mcp_channel *channel, const mcp__message *message);
void mcp__outgoing_tick(mcp_channel *channel);
int64_t mcp__outgoing_deadline(const mcp_channel *channel);
void mcp__outgoing_fail_all(mcp_channel *channel, int rc);

#endif
