/* channel.h: the internal side of mcp/channel.h: what the server role and the client role build on.
 *
 * The channel parses, frames, keeps the table of requests in flight in both directions, and enforces the
 * limits. What a method means is the role's business: a table of functions.
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
    mcp_channel *channel; /* NULL once the channel is gone: a handler still has the request */
    const mcp_allocator *allocator;
    mcp_json_doc *doc; /* NULL in a batch, which owns it */
    mcp__message message;
    mcp_str key; /* the exchange's eight bytes, then the id as JSON text */
    mcp_exchange exchange;
    mcp__batch *batch;
    size_t bytes;    /* of its message, counted in channel->bytes_in_flight */
    bool long_lived; /* not counted as in flight: a subscription */
    bool modern;     /* a request's era */
    bool malformed;  /* see mcp_output_info */
    bool abandoned;  /* answered already: only its handler still has it */
    char *long_key;  /* where the key is when it does not fit here */
    char short_key[48];
} mcp__incoming;

static inline mcp_str mcp__incoming_id(const mcp__incoming *in)
{
    return mcp__str_sub(in->key, sizeof(mcp_exchange));
}

/* What a role does. All are required but where it says so. */
typedef struct mcp__role {
    size_t request_size; /* of the role's request struct; it comes zeroed but for mcp__incoming */
    /* Answers with mcp__incoming_reply(), now or later. */
    void (*request)(mcp__incoming *in);
    /* The peer cancelled it, its exchange is gone or the channel is closed: the role stops the work; it
     * has to call mcp__incoming_drop(), now or later. */
    void (*cancel)(mcp__incoming *in);
    void (*notification)(mcp_channel *channel, const mcp__message *message);
    void (*tick)(mcp_channel *channel, int64_t now);
    /* Asked where channel->timed is set. */
    int64_t (*deadline)(const mcp_channel *channel);
    /* Graceful end: what the role has to say at last. Requests still in flight are cancelled after it. */
    void (*close)(mcp_channel *channel);
    /* The role's state goes. */
    void (*release)(mcp_channel *channel);
    /* Whether the peer may send arrays now, and how an error without an id is written to it. */
    bool (*batches)(const mcp_channel *channel);
    /* The legacy session's revision, for mcp_channel_revision(). May be NULL. */
    const char *(*revision)(const mcp_channel *channel);
    /* A message is about to be understood by this revision without a handshake (legacy HTTP without a
     * session). False: not one of ours. */
    bool (*assume)(mcp_channel *channel, mcp_str revision);
    mcp__no_id (*no_id)(const mcp_channel *channel);
    /* Optional: a message could not be read. `id` is that of the answer which it seems to be, JSON text,
     * empty where there is none; rc is MCP_ELIMIT or MCP_EPROTOCOL. With it nothing is answered: a
     * client does not answer a server's answers. */
    void (*malformed)(mcp_channel *channel, mcp_str id, int rc, mcp_str why);
    /* Optional: a message came, whatever it is. */
    void (*heard)(mcp_channel *channel, mcp_exchange exchange, mcp_str message);
} mcp__role;

/* The answer to a request of ours. rc: MCP_OK (result), MCP_EREMOTE (result is the error object),
 * MCP_ETIMEOUT, MCP_ECLOSED. */
typedef void mcp__answer_fn(mcp_channel *channel, int rc, const mcp_json *result, void *user);

struct mcp_channel {
    const mcp__role *role;
    void *state;                    /* the role's */
    const mcp_allocator *allocator; /* the server's or client's: outlives the channel's requests */
    mcp_channel_options options;    /* principal and caller are our copies */

    mcp__link in_flight; /* mcp__incoming */
    mcp__map in_flight_by_key;
    size_t n_in_flight, bytes_in_flight;
    size_t n_abandoned; /* of those in flight */

    mcp__link outgoing; /* our requests, oldest first */
    int64_t next_id;
    uint64_t stray_answers; /* dropped: to no request of ours */

    mcp__buf spare;         /* kept between messages so that building one needs no allocation */
    mcp_output_info output; /* of the message being sent */
    int64_t now;            /* of the last call */
    bool writable, closed, in_use;
    bool
        timed; /* the role may have a deadline: it woke the channel once, or it says so from the beginning */
};

/* ---- channel.c ---------------------------------------------------------------------------------- */

/* `options` as the caller gave them; the allocator must outlive the channel and its requests. */
int mcp__channel_new(const mcp__role *role, void *state, const mcp_channel_options *options,
                     const mcp_allocator *allocator, mcp_channel **ret, mcp_error *error);

/* Hands a whole message to the transport. */
void mcp__channel_send(mcp_channel *channel, mcp_exchange exchange, mcp_str message,
                       mcp_output_info info);

/* A message that its transport had to read itself, to know where it goes. */
typedef struct mcp__received {
    mcp_json_doc *doc;    /* parsed within the channel's limits with the channel's allocator */
    mcp__message message; /* of a single message */
    bool batch;
    bool modern; /* mcp__is_modern() of a single message */
} mcp__received;
/* As mcp_channel_receive(). Takes the document over. */
MCP__SHARED int mcp__channel_receive_read(mcp_channel *channel, mcp_exchange exchange,
                                          const mcp__received *received, int64_t now);

/* The era of a message, decided once by whoever reads it: modern is what names a revision in its _meta, and else what
 * the transport's metadata MCP-Protocol-Version, which may be empty, says. */
static inline bool mcp__is_modern(const mcp__message *message, mcp_str named)
{
    const mcp_json *meta = mcp_json_get(message->params, "_meta");
    if (mcp_json_get(meta, MCP__META_REVISION))
        return true;
    const mcp__revision *r = named.len ? mcp__revision_find(named) : NULL;
    return r && r->modern;
}

/* The transport should call mcp_channel_tick() soon. From now on the role is asked for its deadline. */
void mcp__channel_wake(mcp_channel *channel);

/* Sends an error to no request in particular. */
void mcp__channel_refuse(mcp_channel *channel, mcp_exchange exchange, int code, mcp_str why);

/* A buffer for one message, empty, with the limit max_reply; give it back. Nested use is allowed. */
mcp__buf mcp__channel_take_buf(mcp_channel *channel);
void mcp__channel_give_buf(mcp_channel *channel, mcp__buf *buf);

/* Ends a request with a whole message (its answer; code: of an error, else 0), or without one, and frees
 * it. */
void mcp__incoming_reply(mcp__incoming *in, mcp_str message, int code);
void mcp__incoming_drop(mcp__incoming *in);
/* Answers a request that is in no batch, which goes on without its channel, as one whose channel is gone. */
void mcp__incoming_answer(mcp__incoming *in, mcp_str message);
/* Ends a request with an error. */
void mcp__incoming_error(mcp__incoming *in, int code, mcp_str message, mcp_str data);
/* Answers a request with an error before its handler is through, which then ends it with
 * mcp__incoming_drop(): its id is free again; its memory and its place among those in flight are not. */
void mcp__incoming_abandon(mcp__incoming *in, int code, mcp_str message, mcp_str data);
/* Makes it one that is not counted as in flight, and forgets its message: it may stay for days. */
void mcp__incoming_set_long_lived(mcp__incoming *in);
/* Gives back the part of its block that held the message; returns where the request is now. For a
 * long-lived one. The role moves its own references. */
mcp__incoming *mcp__incoming_shrink(mcp__incoming *in);
/* Gives back the memory that is kept between messages: the peer is idle. */
MCP__SHARED void mcp__channel_trim(mcp_channel *channel);
/* The request in flight with that id (JSON value), in whatever exchange; NULL: none. */
mcp__incoming *mcp__channel_find(mcp_channel *channel, const mcp_json *id);

/* ---- what a transport may ask --------------------------------------------------------------------------- */

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
/* Whether it is being called: it must not be called from within. */
static inline bool mcp__channel_is_in_use(const mcp_channel *channel)
{
    return channel->in_use;
}
/* Its messages are to be understood by a legacy revision, without initialize. */
static inline void mcp__channel_assume(mcp_channel *channel, const mcp__revision *legacy)
{
    channel->role->assume(channel, mcp_str_from(legacy->name));
}
/* The request in flight behind that one, NULL: the first; NULL when there is none. */
static inline const mcp__incoming *mcp__channel_next_request(const mcp_channel *channel,
                                                             const mcp__incoming *in)
{
    mcp__link *next = in ? in->link.next : channel->in_flight.next;
    return next == &channel->in_flight ? NULL : mcp__container(next, mcp__incoming, link);
}
/* The request in flight of that exchange, NULL: there is none. */
static inline const mcp__incoming *mcp__channel_request_of(const mcp_channel *channel,
                                                           mcp_exchange exchange)
{
    const mcp__incoming *in = mcp__channel_next_request(channel, NULL);
    while (in && in->exchange != exchange)
        in = mcp__channel_next_request(channel, in);
    return in;
}

/* ---- outgoing.c --------------------------------------------------------------------------------- */

/* Sends a request; params is the JSON text of an object. fn is called exactly once, never from within;
 * timeout_ms 0: no time-out. MCP_ECLOSED, MCP_ENOMEM, MCP_ELIMIT: fn is not called. */
int mcp__channel_request(mcp_channel *channel, mcp_exchange exchange, mcp_str method,
                         mcp_str params, uint64_t timeout_ms, mcp__answer_fn *fn, void *user,
                         int64_t *ret_id);
/* Sends a notification; params is the JSON text of an object. */
int mcp__channel_notify(mcp_channel *channel, mcp_exchange exchange, mcp_str method,
                        mcp_str params);
/* Forgets a request of ours: its fn is not called any more. False: there is none. */
bool mcp__channel_forget(mcp_channel *channel, int64_t id);
/* Whether one is still without its answer. */
bool mcp__channel_awaits(const mcp_channel *channel, int64_t id);
/* Ends one with a code of our own, as if it were the answer. False: there is none. */
bool mcp__channel_fail(mcp_channel *channel, int64_t id, int rc, const mcp_json *result);
/* Moves the time-out of one; INT64_MAX: none. False: there is none. */
bool mcp__channel_set_timeout(mcp_channel *channel, int64_t id, int64_t at);

/* For channel.c. */
void mcp__outgoing_answer(mcp_channel *channel, const mcp__message *message);
void mcp__outgoing_tick(mcp_channel *channel);
int64_t mcp__outgoing_deadline(const mcp_channel *channel);
void mcp__outgoing_fail_all(mcp_channel *channel, int rc);

#endif
