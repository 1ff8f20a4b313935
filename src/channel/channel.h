/* channel.h: the internal side of mcp/sys/channel.h: the basis of the server role and the client role.
 *
 * The channel parses and frames messages, keeps the requests in flight in both directions, and
 * enforces the limits. A role, which is a table of functions, implements the methods.
 */
#ifndef MCP_SRC_CHANNEL_H
#define MCP_SRC_CHANNEL_H

#include <mcp/sys/channel.h>

#include "base/base.h"
#include "json/json.h"
#include "jsonrpc/envelope.h"
#include "protocol/revision.h"

typedef struct mcp__batch mcp__batch;

/* A request of the peer that is being answered. The request struct of the role begins with this
 * struct. */
typedef struct mcp__incoming {
    mcp__link link;       /* in channel->in_flight */
    mcp_channel *channel; /* NULL if the channel was freed while a handler still had the request */
    const mcp_allocator *allocator;
    mcp_json_doc *doc; /* NULL for a request of a batch: the batch owns the document */
    mcp__message message;
    mcp_str key; /* the eight bytes of the exchange, followed by the id as JSON text */
    mcp_exchange exchange;
    mcp__batch *batch;
    size_t bytes;       /* size of its message, included in channel->bytes_in_flight */
    bool long_lived;    /* a subscription, which is not counted as in flight */
    bool modern;        /* the request is of the modern era */
    bool malformed;     /* see mcp_output_info */
    bool abandoned;     /* answered already, but its handler has not finished */
    bool shrunk;        /* the block has only the beginning of the role's struct */
    int retry_after_s;  /* see mcp_output_info */
    const char *scopes; /* see mcp_output_info; valid until the answer was sent */
    char *long_key;     /* holds the key if it does not fit into short_key */
    char short_key[48];
} mcp__incoming;

static inline mcp_str mcp__incoming_id(const mcp__incoming *in)
{
    return mcp__str_sub(in->key, sizeof(mcp_exchange));
}

/* The functions of a role. All are required unless marked as optional. */
typedef struct mcp__role {
    /* size of the role's request struct, which is zeroed except for mcp__incoming */
    size_t request_size;
    /* Handles a request. The role answers with mcp__incoming_reply(), within this function or
     * later. */
    void (*request)(mcp__incoming *in);
    /* Called when the peer cancelled the request, its exchange ended or the channel was closed. The
     * role stops the work and must call mcp__incoming_drop(), within this function or later. */
    void (*cancel)(mcp__incoming *in);
    void (*notification)(mcp_channel *channel, const mcp__message *message);
    void (*tick)(mcp_channel *channel, int64_t now);
    /* Called only if channel->timed is set. */
    int64_t (*deadline)(const mcp_channel *channel);
    /* Called when the channel is closed: sends the role's last messages. Requests still in flight
     * are cancelled afterwards. */
    void (*close)(mcp_channel *channel);
    /* Optional: sends messages that the role has delayed, such as coalesced notifications. */
    void (*flush)(mcp_channel *channel);
    /* Frees the role's state. */
    void (*release)(mcp_channel *channel);
    /* Returns whether the peer may send batches (arrays of messages) now. */
    bool (*batches)(const mcp_channel *channel);
    /* Returns the revision of the legacy session, for mcp_channel_revision(). Optional. */
    const char *(*revision)(const mcp_channel *channel);
    /* Makes the role read the following messages in this revision without a handshake (legacy HTTP
     * without a session). Returns false if the revision is not supported. */
    bool (*assume)(mcp_channel *channel, mcp_str revision);
    /* Returns how an error without an id is written to the peer. */
    mcp__no_id (*no_id)(const mcp_channel *channel);
    /* Optional: called when a message could not be read. `id` is the JSON text of the id if the
     * message seems to be an answer, else empty. rc is MCP_ELIMIT or MCP_EPROTOCOL. If a role has
     * this function, no error is sent for such a message, because a client must not answer the
     * answers of a server. */
    void (*malformed)(mcp_channel *channel, mcp_str id, int rc, mcp_str why);
    /* Optional: returns whether the session has subscriptions or a log level, which another instance
     * does not know. */
    bool (*keeps)(const mcp_channel *channel);
    /* Optional: the session was begun at another instance, and its client may have missed changes. */
    void (*resumed)(mcp_channel *channel);
    /* Optional: returns how many bytes the role keeps that depend on what the peer sent. */
    size_t (*memory)(const mcp_channel *channel);
    /* Optional: called for every message that arrives. */
    void (*heard)(mcp_channel *channel, mcp_exchange exchange, mcp_str message);
} mcp__role;

/* Receives the answer to an outgoing request. rc is MCP_OK, MCP_EREMOTE (`result` is the error
 * object), MCP_ETIMEOUT or MCP_ECLOSED. */
typedef void mcp__answer_fn(mcp_channel *channel, int rc, const mcp_json *result, void *user);

struct mcp_channel {
    const mcp__role *role;
    void *state;                    /* owned by the role */
    const mcp_allocator *allocator; /* of the server or client; outlives the channel's requests */
    /* `caller` is a copy, which the channel owns. `identity` is that of the message that is being
     * received and of the following ones; the channel has a reference to it. It is NULL if the peer
     * is anonymous; otherwise it owns `principal`. */
    mcp_channel_options options;

    mcp__link in_flight; /* mcp__incoming */
    mcp__map in_flight_by_key;
    /* The request whose handler was called last and has not returned yet. It is in in_flight, but
     * not in the table by key yet, which has room for it. NULL if none. */
    mcp__incoming *running;
    size_t n_in_flight, bytes_in_flight;
    size_t n_abandoned; /* requests in flight that are abandoned */

    mcp__link outgoing; /* outgoing requests, oldest first */
    int64_t next_id;
    uint64_t stray_answers; /* number of dropped answers, which match no outgoing request */

    /* The unchanged text of the message that is being received. ptr is NULL if the text is not
     * known or if no message is being received. */
    mcp_str text;
    size_t members; /* number of members of that message, if it is an object; 0 if unknown */
    /* The number of the element of the batch that is being received, counted from 1; 0 outside a
     * batch. */
    size_t element;

    mcp__buf *spare;        /* a buffer for the next message, which saves an allocation */
    mcp__buf own_spare;     /* unless the channel shares one */
    mcp_output_info output; /* of the message being sent */
    int64_t now;            /* time of the last call */
    bool writable, closed, in_use;
    bool timed;        /* the role may have a deadline */
    size_t max_values; /* the most JSON values in a received message; 0 means no limit */
};

/* ---- channel.c ------------------------------------------------------------------------------- */

/* Makes a channel. `options` are the options that the program passed. The allocator must outlive
 * the channel and its requests. */
int mcp__channel_new(const mcp__role *role, void *state, const mcp_channel_options *options,
                     const mcp_allocator *allocator, mcp_channel **ret, mcp_error *error);

/* Passes a whole message to the transport. */
void mcp__channel_send(mcp_channel *channel, mcp_exchange exchange, mcp_str message,
                       mcp_output_info info);

/* A message that the transport has parsed already in order to find its channel. */
typedef struct mcp__received {
    mcp_str text;         /* the unchanged text; ptr is NULL if it is not known */
    mcp_json_doc *doc;    /* parsed within the channel's limits with the channel's allocator */
    mcp__message message; /* the parsed envelope, if not a batch */
    bool batch;
    bool modern; /* the result of mcp__is_modern(), if not a batch */
} mcp__received;
/* Like mcp_channel_receive(). Takes ownership of the document. */
MCP__SHARED int mcp__channel_receive_read(mcp_channel *channel, mcp_exchange exchange,
                                          const mcp__received *received, int64_t now);

/* A long message, which is parsed on another thread before the channel receives it. */
typedef struct mcp__parsing {
    mcp_str text; /* must stay until the message was received */
    mcp_json_limits limits;
    mcp_allocator allocator;
    mcp_json_doc *doc; /* NULL if *error says why */
    mcp_error error;
} mcp__parsing;
MCP__SHARED void mcp__parsing_begin(mcp__parsing *p, const mcp_channel *channel, mcp_str text);
/* Parses the message, on any thread. */
MCP__SHARED void mcp__parsing_run(mcp__parsing *p);
/* Like mcp_channel_receive(). Takes the document. */
MCP__SHARED int mcp__channel_receive_parsed(mcp_channel *channel, mcp_exchange exchange,
                                            mcp__parsing *p, int64_t now);

/* Returns whether a message is of the modern era. A message is modern if its _meta names a
 * revision. Otherwise `named` decides. It is the MCP-Protocol-Version in the transport's metadata,
 * and may be empty. */
static inline bool mcp__is_modern(const mcp__message *message, mcp_str named)
{
    if (mcp__json_member(message->meta, MCP__META_REVISION))
        return true;
    const mcp__revision *r = named.len ? mcp__revision_find(named) : NULL;
    return r && r->modern;
}

/* Requests a call of mcp_channel_tick() from the transport. From now on the channel asks the role
 * for its deadline. */
void mcp__channel_wake(mcp_channel *channel);

/* Sends an error that answers no particular request. */
void mcp__channel_refuse(mcp_channel *channel, mcp_exchange exchange, int code, mcp_str why);

/* Returns an empty buffer for one message, with the limit max_reply. The caller must give it back
 * with mcp__channel_give_buf(). Several buffers may be in use at once. */
mcp__buf mcp__channel_take_buf(mcp_channel *channel);
void mcp__channel_give_buf(mcp_channel *channel, mcp__buf *buf);

/* ---- key.c ----------------------------------------------------------------------------------- */

/* Makes the key of a request, whose handler is then called. Returns MCP_OK, MCP_EEXIST if it is in
 * use, MCP_ELIMIT if the id is longer than 4096 bytes, or MCP_ENOMEM. */
int mcp__incoming_take_key(mcp__incoming *in);
/* Enters the request in channel->running, if any, in the table. Never allocates. */
void mcp__channel_enter_running(mcp_channel *channel);
/* Remove a request from the table, or replace it there by its copy. Never allocate. */
void mcp__incoming_forget_key(mcp__incoming *in);
void mcp__incoming_moved(mcp__incoming *from, mcp__incoming *to);

/* ---- channel.c, incoming.c ------------------------------------------------------------------- */

/* End a request and free it. mcp__incoming_reply() sends `message`, which is the whole answer;
 * `code` is the code of an error, else 0. mcp__incoming_drop() sends nothing. */
void mcp__incoming_reply(mcp__incoming *in, mcp_str message, int code);
void mcp__incoming_drop(mcp__incoming *in);
/* Answers a request and detaches it from the channel, but does not free it. Afterwards the request
 * is in the same state as if its channel had been freed. It must not be in a batch. */
void mcp__incoming_answer(mcp__incoming *in, mcp_str message);
/* Ends a request with an error. */
void mcp__incoming_error(mcp__incoming *in, int code, mcp_str message, mcp_str data);
/* Answers a request with an error before its handler has finished. The handler must still end the
 * request with mcp__incoming_drop(). The peer can reuse the id at once. Until mcp__incoming_drop()
 * the request uses memory and counts as in flight. */
void mcp__incoming_abandon(mcp__incoming *in, int code, mcp_str message, mcp_str data);
/* Does the same with `message`, the whole answer; `code` is the code of an error, else 0. Nothing is
 * sent if .ptr is NULL. */
void mcp__incoming_answer_early(mcp__incoming *in, mcp_str message, int code);
/* Stops counting the request as in flight and frees its message, because the request may stay open
 * for days. */
void mcp__incoming_set_long_lived(mcp__incoming *in);
/* Moves a long-lived request to a block without its message, which has only the first `size` bytes of
 * the role's struct. Returns the new address of the request; the role must update its own references.
 * The request stays where it is if it belongs to a batch or if memory runs out: see `shrunk`. */
mcp__incoming *mcp__incoming_shrink(mcp__incoming *in, size_t size);
/* Moves a request that was shrunk to `size` to a block for the whole struct, whose other members are
 * zero. Returns NULL if out of memory. */
mcp__incoming *mcp__incoming_grow(mcp__incoming *in, size_t size);
/* Makes a new channel store its buffer for the next message there, where all channels of a transport share it, and peers
 * that are idle hold none. All of them have the same allocator. The caller frees the buffer after the channels. */
MCP__SHARED void mcp__channel_share_spare(mcp_channel *channel, mcp__buf *spare);
/* Sends messages that the role has delayed. Does nothing if the channel is not writable or is in
 * use. */
MCP__SHARED void mcp__channel_flush(mcp_channel *channel, int64_t now);
/* Returns the request in flight with that id (JSON value), in any exchange, or NULL. */
mcp__incoming *mcp__channel_find(mcp_channel *channel, const mcp_json *id);

/* ---- for transports -------------------------------------------------------------------------- */

static inline const char *mcp__channel_principal(const mcp_channel *channel)
{
    return channel->options.principal;
}
MCP__SHARED void mcp__channel_replace_identity(mcp_channel *channel, mcp_identity *identity);
/* Sets the identity with which the following messages were sent. Its principal is that of the
 * channel. */
static inline void mcp__channel_set_identity(mcp_channel *channel, mcp_identity *identity)
{
    if (channel->options.identity != identity)
        mcp__channel_replace_identity(channel, identity);
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
/* Returns whether a call into the channel is running, during which the channel must not be called
 * again. */
static inline bool mcp__channel_is_in_use(const mcp_channel *channel)
{
    return channel->in_use;
}
/* Makes the channel read its messages in a legacy revision, without initialize. */
static inline void mcp__channel_assume(mcp_channel *channel, const mcp__revision *legacy)
{
    channel->role->assume(channel, mcp_str_from(legacy->name));
}
/* Returns the request in flight after `in`, or the first one if `in` is NULL. Returns NULL at the
 * end. */
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

/* ---- member_text.c: the unchanged text of the message that is being received ----------------- */

/* Returns the text of a member of the message. The key includes its quotes. ptr is NULL if there is
 * no such member or if the text of the message is not known. The result is borrowed until the
 * function of the channel that received the message returns. */
mcp_str mcp__channel_text_of(const mcp_channel *channel, mcp_str quoted_key);
static inline void mcp__channel_forget_text(mcp_channel *channel)
{
    channel->text = (mcp_str){NULL, 0};
    channel->members = 0;
    channel->element = 0;
}

/* ---- outgoing.c ------------------------------------------------------------------------------ */

/* Sends a request; params is the JSON text of an object. fn is called exactly once, and never
 * before this call returns. timeout_ms 0 means no time-out. Returns MCP_OK, or MCP_ECLOSED,
 * MCP_ENOMEM or MCP_ELIMIT, in which case fn is not called. */
int mcp__channel_request(mcp_channel *channel, mcp_exchange exchange, mcp_str method,
                         mcp_str params, uint64_t timeout_ms, mcp__answer_fn *fn, void *user,
                         int64_t *ret_id);
/* Sends a notification; params is the JSON text of an object. */
int mcp__channel_notify(mcp_channel *channel, mcp_exchange exchange, mcp_str method,
                        mcp_str params);
/* Removes an outgoing request: its fn will not be called. Returns false if there is no such
 * request. */
bool mcp__channel_forget(mcp_channel *channel, int64_t id);
/* Returns whether an outgoing request is not answered yet. */
bool mcp__channel_awaits(const mcp_channel *channel, int64_t id);
/* Ends an outgoing request with a local code instead of an answer. Returns false if there is no
 * such request. */
bool mcp__channel_fail(mcp_channel *channel, int64_t id, int rc, const mcp_json *result);
/* Sets the time at which an outgoing request times out; INT64_MAX means never. Returns false if
 * there is no such request. */
bool mcp__channel_set_timeout(mcp_channel *channel, int64_t id, int64_t at);

/* These functions are called only by channel.c. */
void mcp__outgoing_answer(mcp_channel *channel, const mcp__message *message);
void mcp__outgoing_tick(mcp_channel *channel);
int64_t mcp__outgoing_deadline(const mcp_channel *channel);
void mcp__outgoing_fail_all(mcp_channel *channel, int rc);

#endif
