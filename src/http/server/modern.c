/* modern.c: exchanges that need no session: a request in a POST, its answer on the same.
 *
 * The requests of a connection share a channel, one after the other, as long as the same principal makes
 * them; what was subscribed to goes with its stream. The answer is JSON when it is the first thing that the
 * server says, an event stream when notices come before it.
 */
#include "http/server/session.h"

/* ---- channels ------------------------------------------------------------------------------------------ */

static void wake(mcp_channel *channel, void *user)
{
    (void)channel;
    mcp__http_peer *peer = user;
    mcp__http_wake(peer->http, &peer->timer);
}

int mcp__http_peer_new(mcp_http *http, const mcp_channel_options *how, const mcp_http_connection *c,
                       mcp__http_peer **ret)
{
    mcp__http_peer *peer = mcp__zalloc(http->allocator, sizeof(*peer));
    if (!peer)
        return MCP_ENOMEM;
    mcp_channel_options options = *how;
    options.wake = wake;
    options.user = peer;
    options.principal = c->principal;
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

void mcp__http_peer_arm(mcp__http_peer *peer)
{
    int64_t due = mcp_channel_deadline(peer->channel);
    if (due != INT64_MAX)
        mcp__http_timer_hasten(&peer->http->timers, &peer->timer, due);
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
        mcp__http_session_due(peer->session); /* which may end it */
        return;
    }
    if (peer->connection && peer->connection->stream_only)
        mcp__channel_trim(peer->channel); /* it is quiet for long */
    mcp__http_peer_arm(peer);
}

/* ---- output ----------------------------------------------------------------------------------------------- */

int mcp__http_status(mcp_output_info info, bool modern)
{
    if (info.code == 0)
        return 200;
    if (info.malformed && info.code == MCP__INTERNAL_ERROR)
        return modern ? 503 : 429; /* out of memory, or too many requests in flight */
    if (info.malformed && !(modern && info.code == MCP__METHOD_NOT_FOUND))
        return 400;
    if (!modern)
        return 200;
    switch (info.code) {
    case MCP__HEADER_MISMATCH:
    case MCP__MISSING_CAPABILITY:
    case MCP__UNSUPPORTED_REVISION: return 400;
    case MCP__METHOD_NOT_FOUND: return 404;
    default: return 200;
    }
}

bool mcp__http_may_stream(const mcp_http_connection *c)
{
    if (c->session && c->session->n_streams >= c->http->options.max_streams)
        return false;
    return c->head.accepts & MCP__HTTP_SSE;
}

/* An answer that nobody waits for any more. */
static void unheard(mcp__http_peer *peer, mcp_output_info info)
{
    if (peer->connection || info.kind != MCP_OUTPUT_RESPONSE)
        return;
    peer->done = true;
    mcp__http_wake(peer->http, &peer->timer);
}

static void send(mcp_channel *channel, mcp_exchange exchange, mcp_str message, void *user)
{
    mcp__http_peer *peer = user;
    mcp_http_connection *c = peer->connection;
    mcp_output_info info = *mcp_channel_output_info(channel);
    bool last = info.kind == MCP_OUTPUT_RESPONSE;
    mcp__http_touch(peer->http);
    if (!c || exchange == 0 || c->exchange != exchange) {
        unheard(peer, info);
        return;
    }
    if (c->phase == MCP__HTTP_WAITING && last) {
        mcp__http_reply(c, mcp__http_status(info, !peer->legacy), info.code, message);
        return;
    }
    if (c->phase == MCP__HTTP_WAITING && mcp__http_may_stream(c))
        mcp__http_sse_begin(c);
    if (c->phase != MCP__HTTP_STREAMING)
        return; /* a notice that cannot be told */
    if (!last && ((c->congested && !c->stream_only) || !mcp__http_has_room(c, message)))
        return; /* the next one will tell more */
    mcp__buf instead;
    mcp__http_sse_message(c, mcp__http_fitting(c, message, &instead, &info.code));
    mcp__buf_free(&instead);
    if (last)
        mcp__http_sse_end(c, info.code);
    else
        mcp__http_flush(c);
}

static bool header(mcp_channel *channel, mcp_exchange exchange, const char *name, mcp_str *value,
                   void *user)
{
    (void)channel, (void)exchange;
    const mcp__http_peer *peer = user;
    const mcp_http_connection *c = peer->http->receiving;
    return c && mcp__http_find(&c->head, name, value);
}

/* ---- exchanges --------------------------------------------------------------------------------------------- */

bool mcp__http_in_flight(mcp_channel *channel, mcp_exchange exchange)
{
    for (mcp__link *l = channel->in_flight.next; l != &channel->in_flight; l = l->next) {
        if (mcp__container(l, mcp__incoming, link)->exchange == exchange)
            return true;
    }
    return false;
}

bool mcp__http_exchange_alive(const mcp_http_connection *c)
{
    if (!mcp__list_empty(&c->in_getters))
        return true;
    const mcp__http_peer *peer = c->session ? c->session->peer : c->peer;
    return peer && mcp__http_in_flight(peer->channel, c->exchange);
}

/* Lets go of a channel whose connection goes on without it. A legacy client that is away has not
 * cancelled, so its requests are let run. */
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

/* A proxy sends requests of several clients on one connection. */
static bool same_caller(const mcp__http_peer *peer, const mcp_http_connection *c)
{
    const mcp_channel_options *o = &peer->channel->options;
    return mcp__http_same_principal(o->caller, mcp__http_caller(c)) &&
           o->local == mcp__http_is_local(c);
}

/* The connection's channel for such a request; NULL: no memory. */
static mcp__http_peer *suitable(mcp_http_connection *c, const mcp__revision *legacy)
{
    mcp__http_peer *peer = c->peer;
    if (peer && (peer->legacy != legacy ||
                 !mcp__http_same_principal(peer->channel->options.principal, c->principal) ||
                 !same_caller(peer, c) || peer->channel->closed)) {
        c->peer = NULL;
        leave(peer, c);
    }
    if (c->peer)
        return c->peer;
    mcp_channel_options options = {.size = sizeof(options), .send = send};
    if (!legacy)
        options.header = header;
    if (mcp__http_peer_new(c->http, &options, c, &peer) != MCP_OK)
        return NULL;
    peer->connection = c;
    peer->legacy = legacy;
    if (legacy)
        peer->channel->role->assume(peer->channel, mcp_str_from(legacy->name));
    if (c->congested)
        mcp_channel_set_writable(peer->channel, false, c->http->now);
    c->peer = peer;
    return peer;
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

/* What to say when the channel took the message and said nothing. */
static void settle(mcp_http_connection *c, const mcp__http_message *m, int rc)
{
    static const mcp__http_answer accepted = {.status = 202};
    if (rc != MCP_OK || (m->has_request && !mcp__http_exchange_alive(c))) {
        if (c->stream)
            mcp__http_stream_free(c->stream);
        mcp__http_refuse(c, MCP__HTTP_NO_MEMORY);
    } else if (!m->has_request && m->invalid) {
        mcp__http_refuse(c, MCP__HTTP_BAD_MESSAGE);
    } else if (!m->has_request) {
        mcp__http_respond(c, &accepted);
    }
}

int mcp__http_hand_over(mcp_http_connection *c, mcp__http_peer *peer, mcp__http_message *m)
{
    mcp_http *http = c->http;
    mcp_exchange exchange = c->exchange;
    http->receiving = c;
    int rc = mcp__channel_receive_doc(peer->channel, exchange, m->doc, http->now);
    http->receiving = NULL;
    mcp__http_peer_arm(peer);
    if (c->exchange == exchange && c->phase == MCP__HTTP_WAITING)
        settle(c, m, rc);
    return rc;
}

void mcp__http_exchange(mcp_http_connection *c, mcp__http_message *m, const mcp__revision *legacy)
{
    mcp__http_peer *peer = suitable(c, legacy);
    if (!peer) {
        mcp_json_free(m->doc);
        mcp__http_refuse(c, MCP__HTTP_NO_MEMORY);
        return;
    }
    c->exchange = ++c->http->exchanges;
    c->message = mcp__json_doc_memory(m->doc);
    mcp__http_connection_charge(c);
    mcp__http_hand_over(c, peer, m);
    if (c->phase == MCP__HTTP_STREAMING && mcp_channel_in_flight(peer->channel) == 0) {
        c->stream_only = true;
        mcp__http_slim(c);
    }
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
