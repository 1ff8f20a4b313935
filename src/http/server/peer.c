/* peer.c: the channel of a session, or of a connection for requests without a session, with its
 * timer.
 *
 * The requests of a connection use the same channel, one after the other, as long as they come from
 * the same caller. A subscription ends with its stream.
 */
#include <stdio.h>

#include "http/server/http_session.h"

#include <mcp/sys/server.h>

/* ---- life ------------------------------------------------------------------------------------ */

static void wake(mcp_channel *channel, void *user)
{
    (void)channel;
    mcp__http_peer *peer = user;
    mcp__http_wake(peer->http, &peer->timer);
}

/* The beginning of the id of a session is enough to tell sessions apart, and too little to guess the
 * rest. */
static void describe(mcp_channel *channel, mcp_exchange exchange, mcp_exchange_about *to,
                     void *user)
{
    enum { SHOWN = 8 };
    const mcp__http_peer *peer = user;
    const mcp_http_connection *c = peer->connection;
    (void)channel;
    _Static_assert(sizeof(to->caller) >= MCP__HTTP_IP_TEXT, "the address fits");
    _Static_assert(sizeof(to->traceparent) >= sizeof(c->traceparent), "the trace fits");
    if (peer->session)
        memcpy(to->session, peer->session->id, SHOWN);
    if (!c || c->exchange != exchange)
        return;
    mcp__http_client_text(c, to->caller);
    memcpy(to->traceparent, c->traceparent, sizeof(c->traceparent));
}

int mcp__http_peer_new(mcp_http *http, const mcp_channel_options *how, const mcp_http_connection *c,
                       mcp__http_peer **ret)
{
    mcp__http_peer *peer = mcp__zalloc(http->allocator, sizeof(*peer));
    if (!peer)
        return MCP_ENOMEM;
    mcp_channel_options options = *how;
    options.wake = wake;
    options.describe = describe;
    options.user = peer;
    options.identity = mcp__http_identity(c);
    options.caller = mcp__http_caller(c);
    options.local = mcp__http_is_local(c);
    options.max_message = http->options.max_body;
    options.max_reply = http->options.max_reply;
    peer->http = http;
    peer->timer.of_peer = true;
    mcp__list_init(&peer->link);
    if (mcp_server_connect(http->server, &options, &peer->channel, NULL) != MCP_OK) {
        mcp__release(http->allocator, peer);
        return MCP_ENOMEM;
    }
    mcp__channel_share_spare(peer->channel, &http->spare);
    *ret = peer;
    return MCP_OK;
}

void mcp__http_peer_free(mcp__http_peer *peer)
{
    if (!peer)
        return;
    mcp_http *http = peer->http;
    peer->connection = NULL;
    peer->session = NULL;
    mcp_channel_free(peer->channel);
    mcp__list_remove(&peer->link);
    mcp__http_timer_stop(&http->timers, &peer->timer);
    mcp__http_charge_end(http->budget, &peer->charge);
    mcp__release(http->allocator, peer);
}

void mcp__http_peer_due(mcp__http_peer *peer)
{
    if (peer->done) {
        mcp__http_peer_free(peer);
        return;
    }
    int64_t now = peer->http->now;
    if (mcp_channel_deadline(peer->channel) <= now)
        mcp_channel_tick(peer->channel, now);
    if (peer->session) {
        mcp__http_session_due(peer->session); /* this may free the session */
        return;
    }
    mcp__http_peer_arm(peer);
}

/* ---- changing the caller --------------------------------------------------------------------- */

/* Detaches a channel from its connection. In legacy revisions, disconnecting does not cancel a
 * request, so the requests of a legacy client continue without the connection. */
static void leave(mcp__http_peer *peer, const mcp_http_connection *c)
{
    if (peer && peer->legacy && mcp_channel_in_flight(peer->channel)) {
        peer->connection = NULL;
        mcp__http_charge_like(peer->http->budget, &peer->charge, &c->charge, c->message);
        mcp__list_append(&peer->http->orphans, &peer->link);
    } else {
        mcp__http_peer_free(peer);
    }
}

mcp__http_peer *mcp__http_peer_replace(mcp_http_connection *c, const mcp__revision *legacy,
                                       const mcp_channel_options *how)
{
    mcp__http_peer *peer = c->peer;
    c->peer = NULL;
    leave(peer, c);
    if (mcp__http_peer_new(c->http, how, c, &peer) != MCP_OK)
        return NULL;
    peer->connection = c;
    peer->legacy = legacy;
    if (legacy)
        mcp__channel_assume(peer->channel, legacy);
    if (c->congested)
        mcp_channel_set_writable(peer->channel, false, c->http->now);
    c->peer = peer;
    return peer;
}

bool mcp__http_exchange_alive(const mcp_http_connection *c)
{
    if (!mcp__list_empty(&c->in_getters) || mcp__relay_of(c))
        return true;
    const mcp__http_peer *peer = c->session ? c->session->peer : c->peer;
    return peer && mcp__channel_request_of(peer->channel, c->exchange);
}

bool mcp__http_may_stream(const mcp_http_connection *c)
{
    if (c->session && c->session->n_streams >= c->http->options.max_streams)
        return false;
    return c->head.accepts & MCP__HTTP_SSE;
}

void mcp__http_end_silently(mcp_http_connection *c)
{
    if (c->stream)
        mcp__http_stream_free(c->stream);
    if (c->phase == MCP__HTTP_WAITING && !(c->head.accepts & MCP__HTTP_SSE)) {
        mcp__http_refuse(c, MCP__HTTP_NO_ANSWER);
        return;
    }
    if (c->phase == MCP__HTTP_WAITING)
        mcp__http_sse_begin(c);
    mcp__http_sse_end(c, 0);
}

void mcp__http_exchange_end(mcp_http_connection *c)
{
    mcp_exchange exchange = c->exchange;
    c->exchange = 0;
    if (c->session) {
        mcp__http_session_detach(c);
    } else if (c->peer && c->peer->legacy) {
        leave(c->peer, c);
        c->peer = NULL;
    } else if (c->peer && exchange) {
        mcp_channel_exchange_gone(c->peer->channel, exchange, c->http->now);
        mcp__http_peer_arm(c->peer);
    }
}
