/* exchange.h: the message in a POST and its answer (exchange.c), and the channels that process it
 * (peer.c). */
#ifndef MCP_SRC_HTTP_SERVER_EXCHANGE_H
#define MCP_SRC_HTTP_SERVER_EXCHANGE_H

#include "channel/channel.h"
#include "http/server/connection.h"
#include "protocol/identity.h"
#include "protocol/method.h"
#include "protocol/revision.h"

void mcp__http_post(mcp_http_connection *c);

/* A parsed body and the properties of it that the HTTP layer needs. */
typedef struct mcp__http_message {
    mcp__received in;
    mcp__method_id method;
    bool has_request; /* the sender expects an answer */
    bool has_response, has_invalid;
    bool keeps; /* subscribes, or sets a log level */
} mcp__http_message;

/* Parses the body. Returns false if the request was refused. Otherwise the caller frees
 * m->in.doc. */
bool mcp__http_read_message(mcp_http_connection *c, mcp__http_message *m);

/* Passes the message to a channel, which takes ownership of the document. Answers the request if
 * the channel does not. Returns the result of mcp__channel_receive_read(). */
int mcp__http_hand_over(mcp_http_connection *c, mcp__http_peer *peer, mcp__http_message *m);

/* Returns the HTTP status for a JSON-RPC message. */
int mcp__http_status_of(mcp_output_info info, bool modern);

/* ---- peer.c ---------------------------------------------------------------------------------------- */

/* A channel, with its timer. */
struct mcp__http_peer {
    mcp_http *http;
    mcp_channel *channel;
    mcp__http_timer timer;
    mcp__link link; /* in http->orphans, if its connection has ended; otherwise unused */
    /* The connection whose requests this channel serves, or NULL if that connection is closed. The
     * peer of a session has a connection only while it receives a message. */
    mcp_http_connection *connection;
    mcp__http_session *session;
    const mcp__revision *legacy; /* revision of legacy requests without a session, or NULL */
    mcp__http_charge charge;     /* the memory of an orphan's request */
    bool done; /* an orphan whose request has been answered: the next tick frees it */
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

/* Returns whether the channel is of the sender of the current request, in the same view. */
static inline bool mcp__http_is_of(const mcp_channel *channel, const mcp_http_connection *c)
{
    const mcp_identity *identity = mcp__http_identity(c);
    return channel->options.identity == identity ||
           mcp__same_binding(mcp_identity_binding(channel->options.identity),
                             mcp_identity_binding(identity));
}

/* Returns whether this channel can process the current request of the connection. `legacy` is its
 * revision, or NULL if it is modern. A connection of a proxy carries requests of several clients,
 * so the client is compared too. */
static inline bool mcp__http_peer_serves(const mcp__http_peer *peer, const mcp_http_connection *c,
                                         const mcp__revision *legacy)
{
    const mcp_channel *channel = peer->channel;
    if (peer->legacy != legacy || mcp__channel_is_closed(channel) || !mcp__http_is_of(channel, c))
        return false;
    return !c->proxy ||
           (mcp__http_same_principal(mcp__channel_caller(channel), mcp__http_caller(c)) &&
            mcp__channel_is_local(channel) == mcp__http_is_local(c));
}
/* Replaces the connection's channel. `legacy` is the revision of the request, or NULL if it is
 * modern. Returns NULL if out of memory. */
mcp__http_peer *mcp__http_peer_replace(mcp_http_connection *c, const mcp__revision *legacy,
                                       const mcp_channel_options *how);
/* Detaches the current request from its connection, which has ended. Cancels a modern request. */
void mcp__http_exchange_end(mcp_http_connection *c);
/* Ends an answer that will not be completed, because the request was cancelled or memory ran
 * out. */
void mcp__http_end_silently(mcp_http_connection *c);
/* Returns whether the request of c is still being processed. */
bool mcp__http_exchange_alive(const mcp_http_connection *c);
/* Returns whether the answer may be an event stream: the client accepts one, and its session has
 * not reached max_streams. */
bool mcp__http_may_stream(const mcp_http_connection *c);

#endif
