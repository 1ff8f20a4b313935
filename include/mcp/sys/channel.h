/* mcp/sys/channel.h: one stream of messages with one peer; the sans-I/O core of libmcp.
 *
 * A channel is a pure function of its inputs. It takes whole messages (one JSON text each, without
 * a framing newline) and passes whole messages to `send`. It has no file descriptor, no thread and
 * no clock: the transport passes the current time with each call and asks for the next deadline.
 * mcp/io.h has ready-made transports; use this header to write your own:
 *
 *     on a message:    mcp_channel_receive(channel, exchange, text, now);
 *     as time passes:  mcp_channel_tick(channel, now), no later than mcp_channel_deadline()
 *     at the end:      mcp_channel_close(channel, now); mcp_channel_free(channel);
 *
 * mcp_server_connect() or mcp_client_connect() makes a channel, which takes its memory from that
 * server or client. All calls on a channel, and on the requests that came through it, belong to one
 * thread.
 *
 * Times are milliseconds of any monotonic clock, the same one in all calls.
 *
 * Like all headers of mcp/sys it may change in any minor version until 1.0
 * (docs/api-stability.md).
 */
#ifndef MCP_SYS_CHANNEL_H
#define MCP_SYS_CHANNEL_H

#include <mcp/base.h>
#include <mcp/identity.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mcp_channel mcp_channel;

/* The transport decides what an exchange is, for example an HTTP request. Messages that answer or
 * accompany a request carry the exchange number of that request. Messages that belong to no request
 * have exchange 0. On stdio all messages have exchange 0. */
typedef uint64_t mcp_exchange;

#define MCP_WAIT_ADDRESS_ROOM 512

/* What a transport knows about an exchange, for the records of mcp/audit.h. A text that is empty is
 * unknown. */
typedef struct mcp_exchange_about {
    size_t size;          /* set by the library */
    char caller[64];      /* as in mcp_channel_options, but of this exchange */
    char session[24];     /* tells sessions apart; must not be what gives access to one */
    char traceparent[64]; /* the trace that the request belongs to, unless its _meta names one */
} mcp_exchange_about;

typedef struct mcp_channel_options {
    size_t size;

    /* Sends one message; required. `message` is one line of JSON text without a newline, borrowed
     * until the function returns. Called from within mcp_channel_receive(), _tick(), _close() and
     * mcp_reply_finish(). It must not call the channel. */
    void (*send)(mcp_channel *channel, mcp_exchange exchange, mcp_str message, void *user);
    /* Called when the deadline has become earlier than the last value that mcp_channel_deadline()
     * returned. The transport must call mcp_channel_tick() soon, but not from within this function.
     * May be NULL for a transport that ticks regularly. */
    void (*wake)(mcp_channel *channel, void *user);
    void *user;

    /* For a transport that mirrors parts of a message in metadata of its own, as HTTP headers do
     * (2026-07-28, basic/transports/streamable-http, "Request Metadata"): looks up the metadata
     * `name` (ignoring case) of the exchange whose message is being received, or whose request
     * has not been answered yet. Returns false if there is none. If the name occurs more than once, the function must return a string that
     * contains a line feed: it matches nothing, because an intermediary may have acted on either
     * value. If this function is set, the server requires and compares the metadata as that section
     * says. If it is NULL, the transport has no such metadata. */
    bool (*header)(mcp_channel *channel, mcp_exchange exchange, const char *name, mcp_str *value,
                   void *user);

    /* Called when a handler wants to end the stream of an exchange before the answer is ready: see
     * mcp_request_end_stream(). Called from within the handler. If this is NULL, such a stream
     * stays open. */
    void (*end_stream)(mcp_channel *channel, mcp_exchange exchange, void *user);

    /* The authenticated identity of the peer; copied. NULL means anonymous. State that is kept for
     * a peer (cursors, subscriptions) is bound to it. */
    const char *principal;

    /* All exchanges share one stream, as on stdio. The end of a subscription is then also announced
     * by notifications/cancelled (2026-07-28, basic/patterns/cancellation). */
    bool shared_stream;

    size_t max_message;   /* bytes of one received message; default 4 MiB */
    size_t max_reply;     /* bytes of one sent message; default 64 MiB */
    size_t max_depth;     /* nesting of arrays and objects; default 64 */
    size_t max_in_flight; /* requests of the peer in flight; default 1024 */
    /* Total bytes of the messages of requests in flight; default 64 MiB. A single request is always
     * accepted, whatever its size. */
    size_t max_in_flight_bytes;
    /* maximum of subscribed URIs, and of open listen streams; default 4096 each */
    size_t max_subscriptions;
    size_t max_batch; /* messages in one batch (2025-03-26 only); default 256 */

    /* What identifies a caller without authentication, such as an address; copied. NULL means
     * unknown. It is used for limits only; no state is bound to it. */
    const char *caller;
    /* The caller is on this machine: a limit per caller applies to it only if the program set that
     * limit explicitly. */
    bool local;

    /* The peer of this server is a program that forwards requests of its own callers and checks
     * access again, such as the process that started this one. The caller of a request is then
     * described by the object MCP_META_CALLER in the request's _meta, and not by these options. All
     * of its members are optional: "revision" (the revision in which the answer is written),
     * "principal", "view" and "token" (of its identity, which has no scopes and claims), "clientInfo",
     * "restricted" (false if no access rules apply to the caller), and "pageSize" (the maximum
     * number of entries in a page of a list, at most the server's page_size). Cursors are then not encrypted, because the peer encloses them in its own
     * cursors. Never set it unless the peer is trusted to name any principal. */
    bool trusted_parent;

    /* For a program that queries its own server: marks the records of its requests (mcp/audit.h). */
    bool inner;

    /* For a program that queries its own server: the maximum number of entries in a page of a list.
     * 0, or a value above the server's page_size, means the server's page_size. */
    size_t page_size;
    /* Also for such a program: returns whether resources/list includes the mount at `prefix`
     * (mcp_server_mount()). `user` is the channel's. The result must be the same for all pages. If
     * this is NULL, all mounts are included. */
    bool (*list_mount)(const char *prefix, void *user);

    /* The authenticated identity of the peer, with scopes and claims. The channel adds a reference.
     * If this is set, `principal` is ignored. If it is NULL, the channel makes an identity from
     * `principal`. */
    mcp_identity *identity;

    /* For a transport of which the server has several instances: writes a text of up to
     * MCP_WAIT_ADDRESS_ROOM bytes, of A-Z, a-z, 0-9, "-" and "_", by which the transport of any instance
     * finds this one. It follows the requestState of a request for which mcp_request_stay() was
     * called, after ".". Returns its length; 0 means that there is none. May be NULL. */
    size_t (*wait_address)(mcp_channel *channel, mcp_exchange exchange,
                           char to[MCP_WAIT_ADDRESS_ROOM], void *user);

    /* Describes an exchange whose request is being received; *to has empty texts. Called only if the
     * program wants records (mcp_server_set_audit()). May be NULL. */
    void (*describe)(mcp_channel *channel, mcp_exchange exchange, mcp_exchange_about *to,
                     void *user);
} mcp_channel_options;

#define MCP_META_CALLER "libmcp/caller"

/* The kind of message that is passed to `send`. */
typedef enum mcp_output_kind {
    MCP_OUTPUT_NOTIFICATION = 0,
    MCP_OUTPUT_REQUEST,
    MCP_OUTPUT_RESPONSE, /* the last message of its exchange if an exchange is one request */
} mcp_output_kind;

typedef struct mcp_output_info {
    size_t size; /* set by the library */
    mcp_output_kind kind;
    int code; /* of an error response; 0 for other messages */
    /* The request was rejected because of its envelope, before its method was read. */
    bool malformed;
    /* Of an error response: after how many seconds the request may be sent again, because a rate was
     * exceeded; otherwise 0. */
    int retry_after_s;
    /* The scopes that the request needs, separated by spaces, if it was refused because the caller
     * lacks one of them (mcp_request_need_scopes()); otherwise NULL. */
    const char *scopes;
} mcp_output_info;

/* Describes the message that `send` is being called with. May be called only within `send`. */
MCP_API const mcp_output_info *mcp_channel_output_info(const mcp_channel *channel);

/* Processes one message from the peer. An invalid message is answered with an error as the
 * specification says, and the channel stays usable. `message` is borrowed for the call. Returns
 * MCP_OK, MCP_ECLOSED after mcp_channel_close(), or MCP_ENOMEM if not even an error could be
 * sent. */
MCP_API int mcp_channel_receive(mcp_channel *channel, mcp_exchange exchange, mcp_str message,
                                int64_t now);

/* Reports a message longer than max_message, part of which the transport discarded. The peer gets
 * error -32600, which names the limit. `head` and `tail` are what the transport kept of the
 * message's beginning and end, a few hundred bytes each; either may be empty, and they may overlap.
 * If one of them contains the id of the request, the error has that id, and the peer need not wait
 * for its time-out. Returns MCP_OK or MCP_ECLOSED. */
MCP_API int mcp_channel_receive_oversized(mcp_channel *channel, mcp_exchange exchange, mcp_str head,
                                          mcp_str tail, int64_t now);

/* Returns the limit that the transport should enforce before it buffers a message, in bytes. */
MCP_API size_t mcp_channel_max_message(const mcp_channel *channel);

/* Reports back-pressure: whether the transport can accept more output. While it cannot, change
 * notifications are coalesced in constant space, and are sent when the transport is writable again.
 * Responses are still produced, so a transport should stop reading input while its output is
 * congested. */
MCP_API void mcp_channel_set_writable(mcp_channel *channel, bool writable, int64_t now);

/* Handles the time-outs and sends the coalesced notifications that are due. */
MCP_API void mcp_channel_tick(mcp_channel *channel, int64_t now);
/* Returns the latest time at which mcp_channel_tick() must be called, or INT64_MAX if there is
 * none. */
MCP_API int64_t mcp_channel_deadline(const mcp_channel *channel);

/* Reports that the peer abandoned an exchange, for example by closing an HTTP stream. Cancels the
 * requests of the exchange without answering them. */
MCP_API void mcp_channel_exchange_gone(mcp_channel *channel, mcp_exchange exchange, int64_t now);

/* Returns the number of the peer's requests in flight. Open subscriptions are not counted. A
 * request that timed out is not counted either, although its handler may still be running. */
MCP_API size_t mcp_channel_in_flight(const mcp_channel *channel);

/* Closes the channel gracefully: ends subscriptions with their result, cancels requests in flight
 * and refuses later messages. Further calls have no effect. */
MCP_API void mcp_channel_close(mcp_channel *channel, int64_t now);

/* Frees the channel. If it was not closed, closes it first without sending anything. NULL is
 * allowed. Must not be called from within `send` or a handler of this channel. */
MCP_API void mcp_channel_free(mcp_channel *channel);

/* Returns the revision of the legacy session, for example "2025-11-25", or NULL if there is no
 * session (a modern peer never has one). The string has static storage. */
MCP_API const char *mcp_channel_revision(const mcp_channel *channel);

#ifdef __cplusplus
}
#endif
#endif
