/* exchange.h: a message in a POST and its answer (post.c), and channels without a session (modern.c). */
#ifndef MCP_SRC_HTTP_SERVER_EXCHANGE_H
#define MCP_SRC_HTTP_SERVER_EXCHANGE_H

#include "channel/channel.h"
#include "http/server/connection.h"
#include "protocol/revision.h"

void mcp__http_post(mcp_http_connection *c);

/* What a body is, as far as HTTP has to know. */
typedef struct mcp__http_message {
    mcp_json_doc *doc;
    mcp_str method;   /* of a single request or notification */
    bool has_request; /* an answer is to come */
    bool batch, modern, initialize, listen, response, invalid;
} mcp__http_message;

/* Reads the body; false: it was refused. The document is the caller's. */
bool mcp__http_read_message(mcp_http_connection *c, mcp__http_message *m);

/* ---- modern.c: exchanges without a session ------------------------------------------------------------------------- */

/* A channel that is looked after. */
struct mcp__http_peer {
    mcp_http *http;
    mcp_channel *channel;
    mcp__http_timer timer;
    mcp__link link;                  /* in http->orphans, else alone */
    mcp_http_connection *connection; /* whose requests these are; NULL: it went */
    mcp__http_session *session;
    const mcp__revision *legacy; /* a legacy channel without a session */
    mcp__http_charge charge;     /* of an orphan's request */
    bool done;                   /* an orphan that was answered */
};

/* For who makes this connection's request. MCP_OK, MCP_ENOMEM. */
int mcp__http_peer_new(mcp_http *http, const mcp_channel_options *how, const mcp_http_connection *c,
                       mcp__http_peer **ret);
void mcp__http_peer_free(mcp__http_peer *peer);
void mcp__http_peer_arm(mcp__http_peer *peer);
void mcp__http_peer_due(mcp__http_peer *peer);

/* Takes the document over. legacy: NULL is modern. */
void mcp__http_exchange(mcp_http_connection *c, mcp__http_message *m, const mcp__revision *legacy);
/* Gives the message to a channel, and answers what it says nothing to. */
int mcp__http_hand_over(mcp_http_connection *c, mcp__http_peer *peer, mcp__http_message *m);
/* The connection or its answer ended. */
void mcp__http_exchange_end(mcp_http_connection *c);
int mcp__http_status(mcp_output_info info, bool modern);
/* Ends an answer that will not come: the request was cancelled, or memory ran out. */
void mcp__http_end_silently(mcp_http_connection *c);
bool mcp__http_in_flight(mcp_channel *channel, mcp_exchange exchange);
/* Whether the request of c is still being answered. */
bool mcp__http_exchange_alive(const mcp_http_connection *c);
/* Whether an event stream may be the answer. */
bool mcp__http_may_stream(const mcp_http_connection *c);

#endif
