/* http_session.c: legacy sessions, from initialize to DELETE, time-out or eviction.
 *
 * When there is no room for a new session, an idle one is evicted (base/shares.h): a caller that has
 * its share loses its own, and otherwise the caller that has most. Callers are told apart as in the
 * budget: by principal or, if anonymous, by address. A session that a connection is using cannot be
 * evicted. The open stream of an HTTP+SSE session counts as use only after initialize.
 */
#include "http/server/http_session.h"

/* ---- room ------------------------------------------------------------------------------------ */

/* The memory of a session without what its client sent, about: its struct and its channel, and places
 * in tables. */
enum { SESSION_BYTES = 1500 };

static void charge(mcp__http_session *s, size_t bytes)
{
    size_t more = bytes - s->charge.bytes;
    if (!more)
        return;
    s->http->session_bytes += more;
    if (s->charge.share)
        s->charge.share->in_sessions += more;
    mcp__http_charge_set(s->http->budget, &s->charge, bytes);
}

void mcp__http_session_charge(mcp__http_session *s)
{
    const mcp_channel *channel = s->peer->channel;
    charge(s, SESSION_BYTES + channel->role->memory(channel) + (s->sealed ? s->name.len : 0));
}

static void set_busy(mcp__http_session *s, bool busy)
{
    mcp_http *http = s->http;
    s->busy = busy;
    if (busy)
        mcp__shares_hold(&http->session_shares, &s->owned);
    else
        mcp__shares_release(&http->session_shares, &s->owned);
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

/* Returns who owns the sessions that the sender of this request begins. It is empty if the sender has
 * neither a principal nor an address. */
static mcp_str owner_of(const mcp_http_connection *c)
{
    const mcp__http_share *share = c->charge.share;
    return share ? (mcp_str){share->text, share->len} : (mcp_str){NULL, 0};
}

size_t mcp__http_sessions_each(const mcp_http *http)
{
    size_t each = http->options.max_sessions_each;
    return each ? each : MCP__MAX(http->options.max_sessions / 4, (size_t)1);
}

static bool has_each(const mcp_http_connection *c)
{
    mcp_http *http = c->http;
    bool limited = http->options.max_sessions_each || (c->charge.share && !mcp__http_is_local(c));
    return limited &&
           mcp__shares_of(&http->session_shares, owner_of(c)) >= mcp__http_sessions_each(http);
}

/* Returns the limit that leaves no room for one more session of this caller, or MCP__HTTP_FINE.
 * Sessions may fill a quarter of the budget and of a share, so that they leave room for requests. */
static mcp__http_refusal full(const mcp_http_connection *c)
{
    const mcp_http *http = c->http;
    const mcp_http_budget *b = http->budget;
    const mcp__http_share *share = c->charge.share;
    if (has_each(c))
        return MCP__HTTP_MANY_SESSIONS_EACH;
    if (share && share->in_sessions + SESSION_BYTES > b->max_share / 4)
        return MCP__HTTP_NO_SHARE;
    if (http->session_shares.count >= http->options.max_sessions)
        return MCP__HTTP_MANY_SESSIONS;
    if (http->session_bytes + SESSION_BYTES > b->max_memory / 4)
        return MCP__HTTP_NO_ROOM;
    return MCP__HTTP_FINE;
}

static void evict(mcp__http_session *s, bool own, mcp__http_refusal why)
{
    mcp_http *http = s->http;
    http->metrics.sessions_evicted++;
    http->metrics.sessions_evicted_own += own;
    mcp__http_complain_of(http, &http->evictions, why);
    mcp__http_session_free(s);
}

/* Evicts sessions until there is room for one more of this caller. Returns MCP__HTTP_FINE, or the
 * reason to refuse it. */
static mcp__http_refusal make_room(mcp_http_connection *c)
{
    mcp__shares *all = &c->http->session_shares;
    for (mcp__http_refusal why; (why = full(c)) != MCP__HTTP_FINE;) {
        bool own = why == MCP__HTTP_MANY_SESSIONS_EACH || why == MCP__HTTP_NO_SHARE;
        mcp__owned *loser = mcp__shares_loser(all, owner_of(c), own);
        if (!loser)
            return why == MCP__HTTP_NO_SHARE || why == MCP__HTTP_NO_ROOM
                       ? mcp__http_no_room(c, SESSION_BYTES)
                       : why;
        evict(mcp__container(loser, mcp__http_session, owned), own, why);
    }
    return MCP__HTTP_FINE;
}

/* ---- life ------------------------------------------------------------------------------------ */

static int set_id(mcp__http_session *s)
{
    unsigned char bytes[16];
    const mcp_http_options *o = &s->http->options;
    int rc = o->random(bytes, sizeof(bytes), o->user);
    if (rc >= 0)
        mcp__hex_encode(s->id, bytes, sizeof(bytes));
    return rc < 0 ? rc : MCP_OK;
}

/* Makes the id with which other instances can find this one, or make the session anew. */
static int seal_id(mcp__http_session *s, const mcp_http_connection *c, const mcp_json *params)
{
    mcp_http *http = s->http;
    const mcp_http_options *o = &http->options;
    mcp__session_id t = {.address = mcp_str_from(o->instance_address)};
    mcp__buf client, id;
    mcp__buf_init(&client, http->allocator, 0);
    mcp__buf_init(&id, http->allocator, 0);
    mcp__session_id_put_params(&client, params);
    memcpy(t.unique, s->id, sizeof(t.unique));
    memcpy(t.instance, http->fleet->instance, sizeof(t.instance));
    t.params = mcp__buf_view(&client);
    int rc = client.failed;
    if (rc == MCP_OK)
        rc = mcp__session_id_seal(http->server, mcp__http_binding(c), o->session_life_ms, &t, &id);
    if (rc == MCP_OK && !(s->sealed = mcp__strdup(http->allocator, mcp__buf_view(&id))))
        rc = MCP_ENOMEM;
    mcp__buf_free(&client);
    mcp__buf_free(&id);
    s->dies_at = mcp__http_after(http->now, o->session_life_ms);
    return rc;
}

/* Takes the id of a session that began at another instance. */
static int copy_id(mcp__http_session *s, const mcp__session_id *session_id, mcp_str id)
{
    memcpy(s->id, session_id->unique, sizeof(s->id));
    s->sealed = mcp__strdup(s->http->allocator, id);
    s->dies_at = mcp__http_after(s->http->now, session_id->left_ms);
    return s->sealed ? MCP_OK : MCP_ENOMEM;
}

/* How a session gets its id. */
typedef struct origin {
    const mcp_json *params;            /* of initialize, if its id is to be sealed */
    const mcp__session_id *session_id; /* of a session that began at another instance; else NULL */
    mcp_str id;                        /* the text of the session id */
} origin;

static int make_id(mcp__http_session *s, const mcp_http_connection *c, const origin *from)
{
    int rc = from->session_id ? copy_id(s, from->session_id, from->id) : set_id(s);
    if (rc == MCP_OK && from->params && s->http->fleet)
        rc = seal_id(s, c, from->params);
    s->name = s->sealed ? mcp_str_from(s->sealed) : (mcp_str){s->id, MCP__UNIQUE};
    return rc;
}

/* Enters the session into the tables. */
static int enter(mcp__http_session *s, mcp_str owner)
{
    mcp_http *http = s->http;
    int rc = mcp__shares_add(&http->session_shares, &s->owned, owner);
    if (rc != MCP_OK)
        return rc;
    rc = mcp__map_add(&http->sessions, s->name, s);
    if (rc == MCP_OK && s->sealed) {
        rc = mcp__map_add(&http->fleet->own, (mcp_str){s->id, MCP__UNIQUE}, s);
        if (rc != MCP_OK)
            mcp__map_remove(&http->sessions, s->name);
    }
    if (rc != MCP_OK)
        mcp__shares_remove(&http->session_shares, &s->owned);
    return rc;
}

/* Returns MCP_OK, MCP_ENOMEM, or the code of random(). */
static int session_new(const mcp_http_connection *c, const mcp_channel_options *options,
                       const origin *from, mcp__http_session **ret)
{
    mcp_http *http = c->http;
    mcp__http_session *s = mcp__zalloc(http->allocator, sizeof(*s));
    if (!s)
        return MCP_ENOMEM;
    s->http = http;
    mcp__list_init(&s->streams);
    mcp__list_init(&s->getters);
    mcp__list_init(&s->general.link);
    s->general.session = s;
    s->dies_at = INT64_MAX;
    int rc = make_id(s, c, from);
    if (rc == MCP_OK)
        rc = mcp__http_peer_new(http, options, c, &s->peer);
    if (rc == MCP_OK) {
        s->peer->session = s;
        rc = enter(s, owner_of(c));
    }
    if (rc != MCP_OK) {
        mcp__http_peer_free(s->peer);
        mcp__release(http->allocator, s->sealed);
        mcp__release(http->allocator, s);
        return rc;
    }
    mcp__http_charge_like(http->budget, &s->charge, &c->charge, 0);
    mcp__http_session_charge(s);
    /* Without a GET stream, change notifications have no destination. The channel holds them back
     * and merges them. */
    mcp_channel_set_writable(s->peer->channel, false, http->now);
    s->busy = true;
    *ret = s;
    return MCP_OK;
}

static bool shares(const mcp_http *http)
{
    const mcp_http_options *o = &http->options;
    return http->fleet && o->sharing && o->sharing(o->user);
}

/* Returns whether a session may begin although this process ends: another instance will make it anew, or the process
 * that has taken over will tell the client to begin again. A session of HTTP+SSE would end with its stream. */
static bool outlives(const mcp_http *http, const origin *from)
{
    return from->session_id || (from->params && (http->succeeded || shares(http)));
}

static mcp__http_refusal begin(mcp_http_connection *c, const mcp_channel_options *options,
                               const origin *from, mcp__http_session **ret)
{
    if (c->http->draining && !outlives(c->http, from))
        return MCP__HTTP_DRAINING;
    mcp__http_refusal why = make_room(c);
    if (why)
        return why;
    switch (session_new(c, options, from, ret)) {
    case MCP_OK: return MCP__HTTP_FINE;
    case MCP_ENOMEM: return MCP__HTTP_NO_MEMORY;
    default: return MCP__HTTP_NO_RANDOM;
    }
}

mcp__http_refusal mcp__http_session_begin(mcp_http_connection *c,
                                          const mcp_channel_options *options,
                                          const mcp_json *params, mcp__http_session **ret)
{
    return begin(c, options, &(origin){.params = params}, ret);
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
    mcp__map_remove(&http->sessions, s->name);
    if (s->sealed && http->fleet)
        mcp__fleet_note_end(s);
    while (!mcp__list_empty(&s->getters))
        dismiss(mcp__container(s->getters.next, mcp_http_connection, in_getters));
    while (!mcp__list_empty(&s->streams)) {
        mcp__http_stream *stream = mcp__container(s->streams.next, mcp__http_stream, link);
        if (stream->connection)
            dismiss(stream->connection);
        mcp__http_stream_free(stream);
    }
    mcp__http_peer_free(s->peer);
    mcp__shares_remove(&http->session_shares, &s->owned);
    charge(s, 0);
    mcp__http_charge_end(http->budget, &s->charge);
    if (s->stored && http->event_store.forget)
        http->event_store.forget((mcp_str){s->id, 32}, http->event_store.user);
    mcp__release(http->allocator, s->sealed);
    mcp__release(http->allocator, s);
}

/* ---- sessions of other instances ------------------------------------------------------------- */

/* Makes a session anew from its id: the channel gets the initialize that the id contains. */
static mcp__http_refusal take_over(mcp_http_connection *c, const mcp__session_id *session_id,
                                   mcp_str id, mcp__http_session **ret)
{
    mcp_http *http = c->http;
    mcp__http_session *s = NULL;
    mcp__buf text;
    mcp__buf_init(&text, http->allocator, 0);
    mcp__buf_lit(&text, "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":");
    mcp__buf_str(&text, session_id->params);
    mcp__buf_lit(&text, "}");
    mcp__http_refusal why = text.failed ? MCP__HTTP_NO_MEMORY
                                        : begin(c, &mcp__http_session_channel,
                                                &(origin){.session_id = session_id, .id = id}, &s);
    if (!why) {
        /* Nothing waits for the answer: session_send() discards it. */
        mcp_channel *channel = s->peer->channel;
        mcp_channel_receive(channel, ++http->exchanges, mcp__buf_view(&text), http->now);
        mcp_channel_receive(channel, ++http->exchanges,
                            MCP_STR("{\"jsonrpc\":\"2.0\",\"method\":"
                                    "\"notifications/initialized\"}"),
                            http->now);
        s->revision = mcp__revision_find(mcp_str_from(mcp_channel_revision(channel)));
    }
    mcp__buf_free(&text);
    if (why)
        return why;
    if (!s->revision) { /* out of memory */
        mcp__http_session_free(s);
        return MCP__HTTP_NO_MEMORY;
    }
    if (s->peer->channel->role->resumed)
        s->peer->channel->role->resumed(s->peer->channel);
    mcp__fleet_forget(http->fleet, s->id);
    mcp__fleet_announce(s);
    http->metrics.sessions_taken++;
    mcp__http_session_use(s); /* as yet unused */
    *ret = s;
    return MCP__HTTP_FINE;
}

/* Returns whether the session can be made anew here. */
static bool may_take(const mcp_http *http, const mcp__known *known,
                     const mcp__session_id *session_id)
{
    return known && !known->keeps &&
           !mcp__map_get(&http->fleet->own, (mcp_str){session_id->unique, MCP__UNIQUE}) &&
           session_id->params.len && shares(http);
}

/* Finds the instance that has the session of a request. */
static mcp__http_refusal seek(mcp_http_connection *c, mcp_str id, mcp__http_session **ret)
{
    mcp_http *http = c->http;
    mcp__session_id session_id;
    mcp__forward_head head = mcp__forward_head_of(c);
    /* A request is forwarded once: whoever gets it must have the session. */
    if (!http->fleet || c->is_forwarded)
        return MCP__HTTP_NO_SESSION;
    int rc =
        mcp__session_id_open(http->server, http->allocator, mcp__http_binding(c), id, &session_id);
    if (rc != MCP_OK)
        return rc == MCP_ENOMEM ? MCP__HTTP_NO_MEMORY : MCP__HTTP_NO_SESSION;
    const mcp__known *known = mcp__fleet_known(http->fleet, session_id.unique);
    const char *instance = known ? known->instance : session_id.instance;
    mcp_str address = known ? (mcp_str){known->address, known->address_len} : session_id.address;
    if (strcmp(instance, http->fleet->instance) == 0)
        return MCP__HTTP_NO_SESSION; /* it has ended */
    if (!c->instance_gone)
        return mcp__relay_start(c, instance, address, &head);
    return may_take(http, known, &session_id) ? take_over(c, &session_id, id, ret)
                                              : MCP__HTTP_NO_SESSION;
}

mcp__http_refusal mcp__http_session_find(mcp_http_connection *c, mcp__http_session **ret)
{
    mcp_str id = mcp__http_header(&c->head, MCP__HTTP_SESSION);
    mcp__http_session *s = id.ptr ? mcp__map_get(&c->http->sessions, id) : NULL;
    *ret = NULL;
    if (!id.ptr)
        return MCP__HTTP_NO_SESSION;
    if (!s || s->lost)
        return seek(c, id, ret);
    if (!s->revision || s->duplex || s->dies_at <= c->http->now)
        return MCP__HTTP_NO_SESSION;
    /* The session of another caller, or of another view, is treated as missing. */
    if (!mcp__http_is_of(s->peer->channel, c))
        return MCP__HTTP_NO_SESSION;
    *ret = s;
    return MCP__HTTP_FINE;
}

void mcp__http_session_lose(mcp__http_session *s)
{
    s->lost = true;
    while (!mcp__list_empty(&s->getters)) /* their clients come back, and are forwarded */
        dismiss(mcp__container(s->getters.next, mcp_http_connection, in_getters));
    mcp__http_wake(s->http, &s->peer->timer);
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
    if (s->duplex || s->lost) {
        s->ended = s->duplex;
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
    if (s->lost && !s->attached && mcp_channel_in_flight(s->peer->channel) == 0) {
        mcp__http_session_free(s);
        return;
    }
    if (!s->busy && idle < (uint64_t)(INT64_MAX - s->idle_since))
        due = MCP__MIN(s->idle_since + (int64_t)idle, s->dies_at);
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
