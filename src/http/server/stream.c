/* stream.c: event streams of a session: sends messages on them, and resumes them.
 *
 * Messages that belong to a request go on the stream of that request. All others go on stream 0,
 * which GET opens. The id of an event is "stream-event". Events are kept in the event store, so a
 * stream outlives its connection: a client that reconnects with Last-Event-ID gets first the events
 * that it missed, then new ones.
 */
#include "http/server/http_session.h"

enum { REAPED_AT_ONCE = 64 };

mcp__http_stream *mcp__http_stream_new(mcp__http_session *s, mcp_http_connection *c)
{
    mcp__http_stream *stream = mcp__zalloc(s->http->allocator, sizeof(*stream));
    if (!stream)
        return NULL;
    stream->session = s;
    stream->number = ++s->next_stream;
    stream->exchange = c->exchange;
    stream->connection = c;
    c->stream = stream;
    mcp__list_append(&s->streams, &stream->link);
    return stream;
}

void mcp__http_stream_free(mcp__http_stream *stream)
{
    if (stream->connection)
        stream->connection->stream = NULL;
    mcp__list_remove(&stream->link);
    mcp__http_charge_end(stream->session->http->budget, &stream->charge);
    mcp__release(stream->session->http->allocator, stream);
}

static mcp__http_stream *find_exchange(const mcp__http_session *s, mcp_exchange exchange)
{
    /* The search begins with the newest stream, because most requests are answered immediately. */
    for (mcp__link *l = s->streams.prev; l != &s->streams; l = l->prev) {
        mcp__http_stream *stream = mcp__container(l, mcp__http_stream, link);
        if (stream->exchange == exchange)
            return stream;
    }
    return NULL;
}

static mcp__http_stream *find_number(mcp__http_session *s, uint64_t number)
{
    if (number == 0)
        return &s->general;
    for (mcp__link *l = s->streams.next; l != &s->streams; l = l->next) {
        mcp__http_stream *stream = mcp__container(l, mcp__http_stream, link);
        if (stream->number == number)
            return stream;
    }
    return NULL;
}

void mcp__http_stream_reap(mcp__http_session *s)
{
    size_t looked_at = 0;
    for (mcp__link *l = s->streams.next; l != &s->streams && looked_at < REAPED_AT_ONCE;
         looked_at++) {
        mcp__http_stream *stream = mcp__container(l, mcp__http_stream, link);
        l = l->next;
        if (mcp__channel_request_of(s->peer->channel, stream->exchange))
            continue;
        if (stream->connection)
            mcp__http_end_silently(stream->connection);
        else
            mcp__http_stream_free(stream);
    }
}

/* ---- opening --------------------------------------------------------------------------------- */

static void open_events(mcp_http_connection *c)
{
    c->counted = true;
    c->session->n_streams++;
    mcp__http_sse_begin(c);
}

/* Sends an event without a message, which tells the client the id to resume from and the delay
 * before it reconnects. Older revisions do not allow such an event. */
static void prime(mcp_http_connection *c, uint64_t stream, uint64_t event)
{
    if (c->session->revision && c->session->revision->primes)
        mcp__http_sse_event(c, stream, event, c->http->options.retry_ms, (mcp_str){0});
}

void mcp__http_stream_begin(mcp__http_stream *stream)
{
    mcp_http_connection *c = stream->connection;
    if (!c || c->phase != MCP__HTTP_WAITING || !mcp__http_may_stream(c))
        return;
    open_events(c);
    prime(c, stream->number, stream->events);
}

/* ---- sending --------------------------------------------------------------------------------- */

/* Stores the next event of a stream, and writes it to the connection c unless that is NULL. */
static void emit(mcp__http_stream *stream, mcp_http_connection *c, mcp_str message, int *code)
{
    mcp__http_session *s = stream->session;
    const mcp_event_store *store = &s->http->event_store;
    stream->events++;
    if (!s->stored && s->http->store)
        mcp__http_store_begin(s->http->store, (mcp_str){s->id, 32}, &s->charge);
    /* An event that cannot be stored cannot be replayed, but is still sent. */
    store->append((mcp_str){s->id, 32}, stream->number, stream->events, message, store->user);
    s->stored = true;
    if (!c)
        return;
    mcp__buf instead;
    mcp__http_sse_event(c, stream->number, stream->events, 0,
                        mcp__http_fitting(c, message, &instead, code));
    mcp__buf_free(&instead);
}

static void send_general(mcp__http_session *s, mcp_str message)
{
    mcp_http_connection *c = NULL;
    if (!mcp__list_empty(&s->getters))
        c = mcp__container(s->getters.prev, mcp_http_connection, in_getters);
    int code = 0;
    emit(&s->general, c, message, &code);
    if (!c)
        return;
    s->last_written = s->general.events;
    mcp__http_flush(c);
}

/* Answers with a complete message, without an event stream. */
static void send_alone(mcp_http_connection *c, mcp_output_info info, mcp_str message)
{
    mcp__http_session *s = c->session;
    const char *id = NULL;
    if (!s->revision && info.code == 0) {
        s->revision = mcp__revision_find(mcp_str_from(mcp_channel_revision(s->peer->channel)));
        id = s->name.ptr;
    }
    mcp__http_reply(c, mcp__http_status_of(info, false), &info, id, message);
}

void mcp__http_session_send(mcp_channel *channel, mcp_exchange exchange, mcp_str message,
                            void *user)
{
    const mcp__http_peer *peer = user;
    mcp__http_session *s = peer->session;
    mcp_output_info info = *mcp_channel_output_info(channel);
    if (!s)
        return; /* the session is ending */
    mcp__http_touch(s->http);
    mcp__http_stream *stream = exchange ? find_exchange(s, exchange) : &s->general;
    bool last = info.kind == MCP_OUTPUT_RESPONSE;
    if (!stream) {
        /* This answers a batch without requests, or an invalid envelope. */
        if (peer->connection && peer->connection->exchange == exchange)
            send_alone(peer->connection, info, message);
        return;
    }
    mcp_http_connection *c = stream->connection;
    if (c && c->phase == MCP__HTTP_WAITING && last) {
        mcp__http_stream_free(stream);
        send_alone(c, info, message);
        return;
    }
    mcp__http_stream_begin(stream);
    bool streams = c && c->phase == MCP__HTTP_STREAMING;
    if (stream == &s->general || (c && !streams && info.kind == MCP_OUTPUT_REQUEST)) {
        send_general(s, message);
        return;
    }
    if (!last &&
        ((c && !streams) || (streams && (c->congested || !mcp__http_has_room(c, message)))))
        return; /* discarded: a later notification replaces it */
    emit(stream, c, message, &info.code);
    if (last)
        mcp__http_stream_free(stream);
    if (c && last)
        mcp__http_sse_end(c, info.code);
    else if (c)
        mcp__http_flush(c);
}

void mcp__http_session_end_stream(mcp_channel *channel, mcp_exchange exchange, void *user)
{
    mcp__http_peer *peer = user;
    mcp__http_session *s = peer->session;
    mcp__http_stream *stream = s && exchange ? find_exchange(s, exchange) : NULL;
    (void)channel;
    if (!stream || !stream->connection)
        return;
    mcp__http_stream_begin(stream);
    mcp_http_connection *c = stream->connection;
    if (c->phase != MCP__HTTP_STREAMING)
        return; /* the client accepts only JSON */
    mcp__http_session_detach(c);
    mcp__http_sse_end(c, 0);
}

/* ---- resuming -------------------------------------------------------------------------------- */

static bool read_number(mcp_str *s, uint64_t *ret)
{
    uint64_t value = 0;
    size_t i = 0;
    for (; i < s->len && i < 19 && s->ptr[i] >= '0' && s->ptr[i] <= '9'; i++)
        value = value * 10 + (uint64_t)(s->ptr[i] - '0');
    *s = mcp__str_sub(*s, i);
    *ret = value;
    return i > 0;
}

static bool read_event_id(mcp_str id, uint64_t *stream, uint64_t *event)
{
    if (!read_number(&id, stream) || !id.len || id.ptr[0] != '-')
        return false;
    id = mcp__str_sub(id, 1);
    return read_number(&id, event) && id.len == 0;
}

typedef struct replay {
    mcp_http_connection *c;
    uint64_t stream;
    uint64_t last;
} replay;

static int replay_one(uint64_t event, mcp_str message, void *arg)
{
    replay *r = arg;
    if (r->c->phase == MCP__HTTP_WAITING)
        open_events(r->c);
    mcp__http_sse_event(r->c, r->stream, event, 0, message);
    r->last = event;
    return r->c->http->out.failed;
}

/* Writes the stored events that follow `event`. Writes the head of the answer before the first of
 * them, if that has not been done. */
static int replay_after(replay *r, uint64_t event)
{
    const mcp_event_store *store = &r->c->http->event_store;
    r->last = event;
    return store->replay((mcp_str){r->c->session->id, 32}, r->stream, event, replay_one, r,
                         store->user);
}

/* Opens stream 0, beginning after the event `from`. */
static void open_general(mcp_http_connection *c, uint64_t from)
{
    mcp__http_session *s = c->session;
    open_events(c);
    prime(c, 0, from);
    replay r = {.c = c};
    replay_after(&r, from);
    s->last_written = s->general.events;
    mcp__list_append(&s->getters, &c->in_getters);
    mcp__http_flush(c);
    mcp__http_trim_stream(c);
    mcp__http_session_writable(s);
}

/* Moves a stream whose request is still in progress to another connection. */
static void take_over(mcp__http_stream *stream, mcp_http_connection *c, uint64_t event)
{
    mcp_http_connection *before = stream->connection;
    if (before) {
        mcp__http_session_detach(before);
        if (before->phase == MCP__HTTP_STREAMING)
            mcp__http_sse_end(before, 0);
        else
            mcp__http_close(before, MCP_HTTP_CLOSE);
    }
    stream->connection = c;
    c->stream = stream;
    c->exchange = stream->exchange;
    open_events(c);
    replay r = {.c = c, .stream = stream->number};
    replay_after(&r, event);
    mcp__http_flush(c);
}

/* Replays the rest of a stream whose request has been answered, and ends the stream. */
static void replay_rest(mcp_http_connection *c, uint64_t stream, uint64_t event)
{
    replay r = {.c = c, .stream = stream};
    int rc = replay_after(&r, event);
    if (rc != MCP_OK && c->phase == MCP__HTTP_WAITING) {
        mcp__http_refuse(c, MCP__HTTP_BAD_EVENT);
        return;
    }
    if (c->phase == MCP__HTTP_WAITING)
        open_events(c);
    mcp__http_sse_end(c, 0);
}

void mcp__http_stream_open(mcp_http_connection *c, mcp__http_session *s, mcp_str last_event)
{
    uint64_t number = 0, event = s->last_written;
    if (last_event.len && !read_event_id(last_event, &number, &event)) {
        mcp__http_refuse(c, MCP__HTTP_BAD_EVENT);
        return;
    }
    if (!mcp__http_fits(c->http->budget, &c->charge, c->http->options.replay_bytes)) {
        mcp__http_refuse(c, mcp__http_no_room(c, c->http->options.replay_bytes));
        return;
    }
    mcp__http_session_attach(s, c);
    mcp__http_stream *stream = find_number(s, number);
    if (number == 0)
        open_general(c, MCP__MIN(event, s->general.events));
    else if (stream)
        take_over(stream, c, event);
    else
        replay_rest(c, number, event);
}
