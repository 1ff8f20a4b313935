/* mcp/sys/client.h: what a transport of a client needs, and a gateway that forwards the messages of
 * the client's server.
 *
 * Like all headers of mcp/sys it may change in any minor version until 1.0
 * (docs/api-stability.md).
 */
#ifndef MCP_SYS_CLIENT_H
#define MCP_SYS_CLIENT_H

#include <mcp/base.h>
#include <mcp/client.h>
#include <mcp/json.h>
#include <mcp/sys/channel.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the transport's side -------------------------------------------------------------------- */

/* What a transport for clients provides in addition to mcp_channel_options. `user` of its functions
 * is that of the channel options. Unless noted, they must not call the client or the channel. */
typedef struct mcp_transport_options {
    size_t size;

    /* Each request of the client is an exchange of its own, like a POST of HTTP. `send` gets the
     * number of the exchange, which is not 0 and is never reused. The transport passes everything
     * that the server sends on that exchange to mcp_channel_receive() with that number, until the
     * answer, or until it calls mcp_client_exchange_ended() because the exchange ended without one.
     * For a notification `send` gets 0, and for an answer to a request of the server, the exchange
     * of that request. The server answers neither of them. If this is false, all messages share one
     * stream, as on stdio. */
    bool exchanges;
    /* Called when the client no longer needs an exchange, because a call was cancelled or timed
     * out, or a subscription ended. The transport closes the exchange, which a modern server treats
     * as a cancellation. This function is never called for an exchange whose answer was received.
     * The transport need not call mcp_client_exchange_ended() afterwards. Required with
     * `exchanges`. */
    void (*abandon)(mcp_channel *channel, mcp_exchange exchange, void *user);
    /* Called when the server accepts neither server/discover nor initialize by POST. Returns
     * whether the transport can fall back to HTTP+SSE (2024-11-05, basic/transports, "HTTP with
     * SSE"). If it returns true, all later messages use HTTP+SSE, beginning with an initialize that
     * is sent soon. The transport queues them until it knows the endpoint, and passes on everything
     * that the server sends with exchange 0. Called once per connection. If this is NULL, the
     * transport cannot fall back. */
    bool (*fall_back)(mcp_channel *channel, void *user);
    /* For mcp_client_wait(): runs the transport until an event occurs, for at most ms milliseconds.
     * Returns MCP_OK, MCP_ECANCELLED (its loop was stopped) or another failure. If this is NULL,
     * mcp_client_wait() is not supported. This function may call the channel and
     * mcp_client_disconnected(). */
    int (*step)(uint64_t ms, void *user);
} mcp_transport_options;

/* Makes the client's channel. Nothing is sent from within this call. If messages are queued, the
 * channel's deadline has already passed, so the transport should call mcp_channel_tick() as soon as
 * it can send, and soon after each call of `wake`. The channel belongs to the client: the transport
 * does not free it, but reports the end of the connection with mcp_client_disconnected().
 * `principal` of the options is the authorization to which cached results belong: see
 * mcp_client_set_authorization(). Returns MCP_OK, MCP_ESTATE (the client has a channel), MCP_EINVAL
 * or MCP_ENOMEM. */
MCP_API int mcp_client_connect_transport(mcp_client *client, const mcp_channel_options *options,
                                         const mcp_transport_options *transport, mcp_channel **ret,
                                         mcp_error *error);
/* Like mcp_client_connect_transport(), but with default transport options. */
MCP_API int mcp_client_connect(mcp_client *client, const mcp_channel_options *options,
                               mcp_channel **ret, mcp_error *error);
/* Reports that the connection was lost. Frees the channel; every pending call fails with
 * MCP_ECLOSED and the text `why`, or a general text if `why` is NULL. Must not be called from
 * within `send` or while the channel is being called. Afterwards, but not from within a callback of
 * this call, the client can be connected again to the same server; it is then started again and its
 * subscriptions are renewed. Cached results are kept, so use a new client for another server. */
MCP_API void mcp_client_disconnected(mcp_client *client, const char *why);

/* Describes the message that `send` is being called with. */
typedef struct mcp_client_output {
    size_t size; /* set by the library */
    mcp_output_kind kind;
    bool modern;     /* the server's revision is stateless: no session, no GET, no DELETE */
    bool handshake;  /* initialize: sent without a session id; its answer may contain one */
    bool long_lived; /* the answer may take days: subscriptions/listen */
    /* The message may have side effects (tools/call, or any call with the option `once`). It must
     * not be sent again if the server may have received it. */
    bool once;
    mcp_str method; /* empty for an answer */
    /* The time after which the client abandons the message, for which the transport needs no timer;
     * 0 means never. */
    uint64_t timeout_ms;
} mcp_client_output;
MCP_API const mcp_client_output *mcp_client_sending(mcp_client *client);
/* Returns the headers of that message one by one, from index 0 until it returns false:
 * MCP-Protocol-Version, Mcp-Method, Mcp-Name, Mcp-Param-…, as the revision and the message require.
 * Values are encoded already: send them unchanged, even an empty one. Both strings are
 * NUL-terminated and borrowed until the next call. May be called only within `send`. */
MCP_API bool mcp_client_header(mcp_client *client, size_t index, mcp_str *name, mcp_str *value);
/* Returns the value of MCP-Protocol-Version for the transport's own requests (GET and DELETE of a
 * session), or NULL if the revision has no such header. The string has static storage. */
MCP_API const char *mcp_client_version_header(const mcp_client *client);

/* Describes how an exchange ended, if it had no answer to pass to mcp_channel_receive(). */
typedef struct mcp_exchange_end {
    size_t size;
    int status; /* HTTP status; 0 if the server was not reached or closed the connection */
    /* The reason for people, such as "Connection refused" or "404 Not Found". NULL selects a
     * general text. */
    const char *text;
    /* The body of an answer that is not 2xx, as far as it was read (64 KiB are enough). If it holds
     * a JSON-RPC error, that becomes the answer. */
    mcp_str body;
    /* The request contained a session id. Status 404 then means that the session has ended: the
     * client begins a new session and repeats the call once. Many servers send status 400 with a
     * body about the session instead, which the client treats in the same way. */
    bool session;
    /* The answer had begun as an event stream, which broke off. A modern server cannot resume it;
     * the call may be repeated (see mcp_client_request()). */
    bool broke_off;
    /* The Retry-After of the server (429, 503), or 0 if there is none. No subscription is renewed
     * earlier. */
    uint64_t retry_after_ms;
} mcp_exchange_end;

/* Reports the end of an exchange, once per exchange. The client then reacts: it fails the call,
 * tries the next era (2026-07-28, basic/transports/streamable-http, "Backward Compatibility"),
 * begins a new session, or renews a subscription later. An event stream that ended without the
 * answer has status 200 (legacy: after the transport has tried to resume it). Unknown exchange
 * numbers are ignored, so a transport may report every end.
 *
 * Exchange 0 is a stream that belongs to no call. If its session has ended (`session` is set, and
 * the status is 404 or 400), the client begins a new one. Any other refusal (405) means that a
 * legacy server has no such stream, and subscriptions change to MCP_SUBSCRIPTION_REFUSED.
 *
 * This call may change the deadline of the channel: call mcp_channel_deadline() afterwards. */
MCP_API void mcp_client_exchange_ended(mcp_client *client, mcp_exchange exchange,
                                       const mcp_exchange_end *end, int64_t now);

/* Returns whether a request of that exchange is still unanswered. Must not be called from
 * `send`. */
MCP_API bool mcp_client_awaits(const mcp_client *client, mcp_exchange exchange);

/* Sets the owner of the authorization that requests have from now on. `who` is a name for the owner
 * of the token, not the token itself. NULL means anonymous. Cached results of another owner are no
 * longer used unless they are public. The initial value is the channel's principal. Returns MCP_OK,
 * or MCP_ENOMEM, after which nothing is cached any more. */
MCP_API int mcp_client_set_authorization(mcp_client *client, const char *who);
/* Declares an extension without settings, in addition to those of mcp_client_options.extensions,
 * unless it is declared already. Transports call this before the client starts. Returns MCP_OK,
 * MCP_EINVAL (not UTF-8) or MCP_ENOMEM. */
MCP_API int mcp_client_declare_extension(mcp_client *client, const char *extension);

/* ---- forwarding ------------------------------------------------------------------------------ */

/* Returns the text of `result` as the server sent it, with all the digits of its numbers. It may
 * contain newlines. May be called only within `done` of a call that has a result. ptr is NULL if
 * the result was cached or collected from several pages. The text is borrowed until `done`
 * returns. */
MCP_API mcp_str mcp_client_result_text(const mcp_client *client);
/* Returns the text of the params of notifications/progress in the same way. May be called only
 * within the `progress` function of a call; the text is borrowed until that function returns. */
MCP_API mcp_str mcp_client_progress_text(const mcp_client *client);
/* Returns the text of the params of any notification in the same way. May be called only within
 * `notification` and `log` of the client's options. ptr is NULL without params. */
MCP_API mcp_str mcp_client_notification_text(const mcp_client *client);
/* Returns the call to which a notification belongs: the one on whose event stream it arrived (HTTP).
 * Returns 0 if it does not belong to a call, or if the transport does not tell. May be called only
 * within `notification` and `log` of the client's options. */
MCP_API mcp_call_id mcp_client_notification_call(const mcp_client *client);

/* For a program that forwards the answer of another client: answers a question of any kind with the
 * JSON text of a result, an object. The result is not validated, and keeps unknown members and all
 * digits. Only members that concern the other connection are left out, and for a server whose
 * revision allows one content in a CreateMessageResult, an array of contents becomes its only
 * element or one text of its texts. */
MCP_API int mcp_question_answer_text(mcp_question *question, mcp_str result, mcp_error *error);
/* Does the same with the JSON-RPC error object that the other client sent, with its code, message and
 * data. Otherwise like mcp_question_fail(). */
MCP_API int mcp_question_fail_text(mcp_question *question, mcp_str object, mcp_error *error);

#ifdef __cplusplus
}
#endif
#endif
