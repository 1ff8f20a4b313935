/* mcp/channel.h: one stream of messages with one peer; the sans-I/O heart of libmcp.
 *
 * A channel is a pure function of its inputs. It takes whole messages (one JSON text each, without a
 * framing newline) and hands out whole messages through `send`. It has no file descriptor, no thread,
 * no clock: the time is given with each call, the next deadline is asked for. mcp/io.h has ready-made
 * transports; use this header to write your own:
 *
 *     on a message:      mcp_channel_receive(channel, exchange, text, now);
 *     when time passes:  mcp_channel_tick(channel, now), at mcp_channel_deadline() at the latest
 *     at the end:        mcp_channel_close(channel, now); mcp_channel_free(channel);
 *
 * A channel is made by mcp_server_connect() or mcp_client_connect(), and takes its memory from that server
 * or client. All calls on a channel, and on the requests that came through it, belong to one thread.
 *
 * Times are milliseconds of any monotonic clock, the same one in all calls.
 */
#ifndef MCP_CHANNEL_H
#define MCP_CHANNEL_H

#include <mcp/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mcp_channel mcp_channel;

/* What an exchange is, is the transport's business: an HTTP request, say. Messages that answer or
 * accompany a request carry the number that came with it. 0 is "the stream itself", the only one that
 * stdio has. */
typedef uint64_t mcp_exchange;

typedef struct mcp_channel_options {
    size_t size;

    /* Takes one message; required. `message` is one line of JSON text without a newline, borrowed
     * until the call returns. Called from within mcp_channel_receive(), _tick(), _close() and
     * mcp_reply_finish(); it must not call the channel back. */
    void (*send)(mcp_channel *channel, mcp_exchange exchange, mcp_str message, void *user);
    /* Something is due earlier than the last mcp_channel_deadline() said: call mcp_channel_tick() soon,
     * but not from within this call. May be NULL for a transport that ticks regularly. */
    void (*wake)(mcp_channel *channel, void *user);
    void *user;

    /* For a transport that mirrors parts of a message into metadata of its own, as HTTP headers do
     * (2026-07-28, basic/transports/streamable-http, "Request Metadata"): looks up the metadata `name`
     * (compared without case) of the exchange whose message is being received. False: there is none. One
     * that came more than once is a text with a line feed, which matches nothing: neither of its values may
     * be what others have acted on. With it set the server requires and compares what that section says. NULL: no such metadata. */
    bool (*header)(mcp_channel *channel, mcp_exchange exchange, const char *name, mcp_str *value,
                   void *user);

    /* A handler wants the stream of an exchange ended before its answer is there, see mcp_request_end_stream().
     * NULL: the transport cannot. Called from within a handler. */
    void (*end_stream)(mcp_channel *channel, mcp_exchange exchange, void *user);

    /* Who the peer is, where the transport knows it; copied. NULL: nobody in particular. What is
     * remembered for a peer (cursors, subscriptions) is bound to it. */
    const char *principal;

    /* All exchanges share one stream, as on stdio: the end of a subscription is then announced by
     * notifications/cancelled too (2026-07-28, basic/patterns/cancellation). */
    bool shared_stream;

    size_t max_message;         /* bytes of one message that we take; 4 MiB */
    size_t max_reply;           /* bytes of one message that we make; 64 MiB */
    size_t max_depth;           /* arrays and objects inside each other; 64 */
    size_t max_in_flight;       /* requests of the peer being answered; 1024 */
    size_t max_in_flight_bytes; /* of their messages together; 64 MiB. One alone is always taken */
    size_t max_subscriptions;   /* URIs subscribed to, streams listened on; 4096 of each */
    size_t max_batch;           /* messages in one batch (2025-03-26 only); 256 */

    /* What counts as one caller where nobody authenticates: an address, say; copied. NULL: not known. Only for
     * limits: nothing is bound to it. */
    const char *caller;
    /* The caller is on this machine: only the limits per caller that the program set hold for it. */
    bool local;

    /* For a program that looks into its own server: entries in one page of a list at the most; 0, or more than the
     * server's page_size: that. */
    size_t page_size;
    /* The same: whether resources/list goes through what is mounted at `prefix` (mcp_server_mount()); `user` is the
     * channel's. The same answer for all pages. NULL: through all. */
    bool (*list_mount)(const char *prefix, void *user);
} mcp_channel_options;

/* What `send` is being called with. */
typedef enum mcp_output_kind {
    MCP_OUTPUT_NOTIFICATION = 0,
    MCP_OUTPUT_REQUEST,
    MCP_OUTPUT_RESPONSE, /* the last message of its exchange, where an exchange is one request */
} mcp_output_kind;

typedef struct mcp_output_info {
    size_t size; /* set by the library */
    mcp_output_kind kind;
    int code;       /* of a response that is an error, else 0 */
    bool malformed; /* the request was refused for its envelope, before its method was looked at */
    int reserved;
} mcp_output_info;

/* Valid only within `send`. */
MCP_API const mcp_output_info *mcp_channel_output_info(const mcp_channel *channel);

/* Takes one message. Whatever is wrong with it is answered to the peer as the specification says; the
 * channel can go on. MCP_OK; MCP_ECLOSED after mcp_channel_close(); MCP_ENOMEM when not even an error
 * could be sent. The text is copied as far as it is needed. */
MCP_API int mcp_channel_receive(mcp_channel *channel, mcp_exchange exchange, mcp_str message,
                                int64_t now);

/* A message was longer than max_message and the transport threw a part of it away: answers -32600 that names the
 * limit. The answer has the request's id when `head` or `tail` shows it, so that the peer does not wait for its time-out:
 * what was kept of the message's beginning and of its end, some hundred bytes each. Either may be empty; they may
 * overlap. MCP_OK, MCP_ECLOSED. */
MCP_API int mcp_channel_receive_oversized(mcp_channel *channel, mcp_exchange exchange, mcp_str head,
                                          mcp_str tail, int64_t now);

/* The limit that the transport should enforce before it buffers. */
MCP_API size_t mcp_channel_max_message(const mcp_channel *channel);

/* The transport's own output is congested (or no longer): while it is, change notifications are not
 * made; what changed is remembered in constant space and told once when the peer reads again. Requests
 * are still answered: a transport should stop reading while it is congested. */
MCP_API void mcp_channel_set_writable(mcp_channel *channel, bool writable, int64_t now);

/* Does what is due: time-outs, coalesced notifications. */
MCP_API void mcp_channel_tick(mcp_channel *channel, int64_t now);
/* When mcp_channel_tick() must be called at the latest; INT64_MAX: no need. */
MCP_API int64_t mcp_channel_deadline(const mcp_channel *channel);

/* The peer abandoned an exchange (an HTTP stream was closed): cancels its requests, without answers. */
MCP_API void mcp_channel_exchange_gone(mcp_channel *channel, mcp_exchange exchange, int64_t now);

/* How many of the peer's requests are being answered, open subscriptions not counted. A request that took too
 * long was answered, though its handler may still be at work. */
MCP_API size_t mcp_channel_in_flight(const mcp_channel *channel);

/* Ends gracefully: subscriptions are ended with their result, requests that are still being answered
 * are cancelled, later messages are refused. Idempotent. */
MCP_API void mcp_channel_close(mcp_channel *channel, int64_t now);

/* Closes (without sending anything more when it was not closed) and frees. NULL is allowed. Not from
 * within `send` or a handler of this channel. */
MCP_API void mcp_channel_free(mcp_channel *channel);

/* The revision of the legacy session ("2025-11-25"), or NULL while there is none (a modern peer never
 * has one). Static storage. */
MCP_API const char *mcp_channel_revision(const mcp_channel *channel);

MCP_API void *mcp_channel_user(const mcp_channel *channel);

#ifdef __cplusplus
}
#endif
#endif
