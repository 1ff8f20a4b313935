/* exchange.h: the message in a POST and its answer (exchange.c), and the channels that take it (peer.c). */
#ifndef MCP_SRC_HTTP_SERVER_EXCHANGE_H
#define MCP_SRC_HTTP_SERVER_EXCHANGE_H

#include "channel/channel.h"
#include "http/server/connection.h"
#include "protocol/revision.h"

void mcp__http_post(mcp_http_connection *c);

/* A body and the properties that HTTP needs. */
typedef struct mcp__http_message {
    mcp__received in;
    unsigned method;  /* of a single request or notification, see mcp__http_method_of() */
    bool has_request; /* an answer is expected */
    bool has_response, has_invalid;
} mcp__http_message;

/* Reads the body. Returns false if it was refused. The caller frees the document. */
bool mcp__http_read_message(mcp_http_connection *c, mcp__http_message *m);

/* Passes the message to a channel, and answers if the channel does not. */
int mcp__http_hand_over(mcp_http_connection *c, mcp__http_peer *peer, mcp__http_message *m);

/* Returns the HTTP status of an answer. */
int mcp__http_status_of(mcp_output_info info, bool modern);

/* ---- peer.c ---------------------------------------------------------------------------------------- */

/* A channel, with its timer. */
struct mcp__http_peer {
    mcp_http *http;
    mcp_channel *channel;
    mcp__http_timer timer;
    mcp__link link; /* in http->orphans, else alone */
    /* The connection whose requests it serves; NULL: closed. For a session: set while it receives a
     * message. */
    mcp_http_connection *connection;
    mcp__http_session *session;
    const mcp__revision *legacy; /* legacy without a session: its revision; else NULL */
    mcp__http_charge charge;     /* of an orphan's request */
    bool done;                   /* an orphan that has been answered */
};

/* Creates a channel for the caller of this connection's request. Returns MCP_OK or MCP_ENOMEM. */
int mcp__http_peer_new(mcp_http *http, const mcp_channel_options *how, const mcp_http_connection *c,
                       mcp__http_peer **ret);
void mcp__http_peer_free(mcp__http_peer *peer);
void mcp__http_peer_due(mcp__http_peer *peer);
static inline void mcp__http_peer_arm(mcp__http_peer *peer)
{
    int64_t due = mcp_channel_deadline(peer->channel);
    if (due != INT64_MAX)
        mcp__http_timer_hasten(&peer->http->timers, &peer->timer, due);
}

/* Whether the connection's channel can take this request of its current caller. Behind a proxy, one
 * connection carries requests of several clients. */
static inline bool mcp__http_peer_serves(const mcp__http_peer *peer, const mcp_http_connection *c,
                                         const mcp__revision *legacy)
{
    const mcp_channel *channel = peer->channel;
    if (peer->legacy != legacy || mcp__channel_is_closed(channel) ||
        !mcp__http_same_principal(mcp__channel_principal(channel), c->principal))
        return false;
    return !c->proxy ||
           (mcp__http_same_principal(mcp__channel_caller(channel), mcp__http_caller(c)) &&
            mcp__channel_is_local(channel) == mcp__http_is_local(c));
}
/* Replaces the connection's channel. Returns NULL if out of memory. legacy NULL: modern. */
mcp__http_peer *mcp__http_peer_replace(mcp_http_connection *c, const mcp__revision *legacy,
                                       const mcp_channel_options *how);
/* The connection or its answer has ended. */
void mcp__http_exchange_end(mcp_http_connection *c);
/* Ends an answer that will not be completed: the request was cancelled, or memory ran out. */
void mcp__http_end_silently(mcp_http_connection *c);
/* Whether the request of c is still being answered. */
bool mcp__http_exchange_alive(const mcp_http_connection *c);
/* Whether the answer may be an event stream. */
bool mcp__http_may_stream(const mcp_http_connection *c);

#endif
