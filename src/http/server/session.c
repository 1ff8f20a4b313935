/* session.c: legacy sessions, from initialize to DELETE, time-out or eviction.
 *
 * A session that a connection is using cannot be evicted. When there is no room for a new session,
 * the one that has been idle longest is evicted. A client that initializes repeatedly therefore
 * soon evicts its own sessions. The open stream of an HTTP+SSE session counts as use only after
 * initialize.
 */
#include "http/server/session.h"

static void set_busy(mcp__http_session *s, bool busy)
{
    mcp_http *http = s->http;
    s->busy = busy;
    mcp__list_remove(&s->link);
    mcp__list_append(busy ? &http->busy_sessions : &http->idle_sessions, &s->link);
    if (busy)
        return;
    s->idle_since = http->now;
    uint64_t idle = http->options.session_idle_ms;
    if (idle < (uint64_t)(INT64_MAX - http->now))
        mcp__http_timer_hasten(&http->timers, &s->peer->timer, http->now + (int64_t)idle);
}

void mcp__http_session_use(mcp__http_session *s)
{
    bool used = s->attached > 0 && (!s->duplex || s->revision);
    if (used != s->busy)
        set_busy(s, used);
}

static int make_room(mcp_http *http)
{
    if (http->n_sessions < http->options.max_sessions)
        return MCP_OK;
    if (mcp__list_empty(&http->idle_sessions))
        return MCP_ELIMIT;
    http->metrics.sessions_evicted++;
    mcp__http_session_free(mcp__container(http->idle_sessions.next, mcp__http_session, link));
    return MCP_OK;
}

static int set_id(mcp__http_session *s)
{
    static const char digits[] = "0123456789abcdef";
    unsigned char bytes[16];
    const mcp_http_options *o = &s->http->options;
    int rc = o->random(bytes, sizeof(bytes), o->user);
    for (size_t i = 0; i < sizeof(bytes) && rc >= 0; i++) {
        s->id[2 * i] = digits[bytes[i] >> 4];
        s->id[2 * i + 1] = digits[bytes[i] & 15];
    }
    return rc < 0 ? rc : MCP_OK;
}

/* Returns MCP_OK, MCP_ELIMIT, MCP_ENOMEM, or the code of random(). */
static int session_new(mcp_http *http, const mcp_http_connection *c,
                       const mcp_channel_options *options, mcp__http_session **ret)
{
    int rc = make_room(http);
    if (rc != MCP_OK)
        return rc;
    mcp__http_session *s = mcp__zalloc(http->allocator, sizeof(*s));
    if (!s)
        return MCP_ENOMEM;
    s->http = http;
    mcp__list_init(&s->link);
    mcp__list_init(&s->streams);
    mcp__list_init(&s->getters);
    mcp__list_init(&s->general.link);
    s->general.session = s;
    rc = set_id(s);
    if (rc == MCP_OK)
        rc = mcp__http_peer_new(http, options, c, &s->peer);
    if (rc == MCP_OK) {
        s->peer->session = s;
        rc = mcp__map_add(&http->sessions, (mcp_str){s->id, 32}, s);
    }
    if (rc != MCP_OK) {
        mcp__http_peer_free(s->peer);
        mcp__release(http->allocator, s);
        return rc;
    }
    http->n_sessions++;
    /* Without a GET stream, change notifications have no destination. The channel holds them back
     * and merges them. */
    mcp_channel_set_writable(s->peer->channel, false, http->now);
    s->busy = true;
    mcp__list_append(&http->busy_sessions, &s->link);
    *ret = s;
    return MCP_OK;
}

mcp__http_refusal mcp__http_session_begin(const mcp_http_connection *c,
                                          const mcp_channel_options *options,
                                          mcp__http_session **ret)
{
    if (c->http->draining)
        return MCP__HTTP_DRAINING;
    switch (session_new(c->http, c, options, ret)) {
    case MCP_OK: return MCP__HTTP_FINE;
    case MCP_ELIMIT: return MCP__HTTP_MANY_SESSIONS;
    case MCP_ENOMEM: return MCP__HTTP_NO_MEMORY;
    default: return MCP__HTTP_NO_RANDOM;
    }
}

/* Ends the stream or the request of a connection whose session is being freed. */
static void dismiss(mcp_http_connection *c)
{
    mcp__http_session_detach(c);
    if (c->phase == MCP__HTTP_STREAMING)
        mcp__http_sse_end(c, 0);
    else if (c->phase == MCP__HTTP_WAITING)
        mcp__http_refuse(c, MCP__HTTP_NO_SESSION);
}

void mcp__http_session_free(mcp__http_session *s)
{
    mcp_http *http = s->http;
    mcp__map_remove(&http->sessions, (mcp_str){s->id, 32});
    http->n_sessions--;
    while (!mcp__list_empty(&s->getters))
        dismiss(mcp__container(s->getters.next, mcp_http_connection, in_getters));
    while (!mcp__list_empty(&s->streams)) {
        mcp__http_stream *stream = mcp__container(s->streams.next, mcp__http_stream, link);
        if (stream->connection)
            dismiss(stream->connection);
        mcp__http_stream_free(stream);
    }
    mcp__http_peer_free(s->peer);
    mcp__list_remove(&s->link);
    if (s->stored && http->event_store.forget)
        http->event_store.forget((mcp_str){s->id, 32}, http->event_store.user);
    mcp__release(http->allocator, s);
}

mcp__http_session *mcp__http_session_find(mcp_http_connection *c)
{
    mcp_str id = mcp__http_header(&c->head, MCP__HTTP_SESSION);
    mcp__http_session *s = id.ptr ? mcp__map_get(&c->http->sessions, id) : NULL;
    if (!s || !s->revision || s->duplex)
        return NULL;
    /* The session of another principal is treated as missing. */
    return mcp__http_same_principal(mcp__channel_principal(s->peer->channel), c->principal) ? s
                                                                                            : NULL;
}

void mcp__http_session_attach(mcp__http_session *s, mcp_http_connection *c)
{
    c->session = s;
    s->attached++;
    mcp__http_session_use(s);
}

void mcp__http_session_detach(mcp_http_connection *c)
{
    mcp__http_session *s = c->session;
    if (!s)
        return;
    c->session = NULL;
    if (c->stream && c->stream->connection == c)
        c->stream->connection = NULL;
    c->stream = NULL;
    if (c->counted)
        s->n_streams--;
    c->counted = false;
    if (!mcp__list_empty(&c->in_getters)) {
        mcp__list_remove(&c->in_getters);
        mcp__http_session_writable(s);
    }
    s->attached--;
    mcp__http_session_use(s);
    if (s->duplex) {
        s->ended = true;
        mcp__http_wake(s->http, &s->peer->timer);
    }
}

void mcp__http_session_writable(mcp__http_session *s)
{
    bool writable = false;
    if (!mcp__list_empty(&s->getters)) {
        const mcp_http_connection *c =
            mcp__container(s->getters.prev, mcp_http_connection, in_getters);
        writable = !c->congested;
    }
    /* A writable channel may send notifications, which would call it again. That is not allowed
     * while the channel is in use. */
    if (writable && mcp__channel_is_in_use(s->peer->channel))
        return;
    mcp_channel_set_writable(s->peer->channel, writable, s->http->now);
    mcp__http_peer_arm(s->peer);
}

void mcp__http_session_due(mcp__http_session *s)
{
    if (s->duplex && mcp__http_duplex_due(s))
        return;
    mcp_http *http = s->http;
    uint64_t idle = http->options.session_idle_ms;
    int64_t due = INT64_MAX;
    if (!s->busy && idle < (uint64_t)(INT64_MAX - s->idle_since))
        due = s->idle_since + (int64_t)idle;
    if (due <= http->now && mcp_channel_in_flight(s->peer->channel) == 0) {
        http->metrics.sessions_expired++;
        mcp__http_session_free(s);
        return;
    }
    mcp__http_stream_reap(s);
    if (due <= http->now) { /* requests are still in progress, so the session stays */
        s->idle_since = http->now;
        due = http->now + (int64_t)idle;
    }
    mcp__http_peer_arm(s->peer);
    if (due != INT64_MAX)
        mcp__http_timer_hasten(&http->timers, &s->peer->timer, due);
}
