/* duplex.c: HTTP+SSE, the transport of 2024-11-05 (basic/transports, "HTTP with SSE"), if the
 * option sse_path enables it.
 *
 * A GET opens the only stream of a session. The first event on that stream tells the client where
 * to POST messages. All messages of the server go on the stream, and the session ends with it. The
 * channel uses exchange 0 for everything, as with stdio.
 */
#include "http/server/http_session.h"

static const mcp_str parameter = {"sessionId=", 10};

/* ---- the stream ------------------------------------------------------------------------------ */

static mcp_http_connection *stream_of(const mcp__http_session *s)
{
    return mcp__list_empty(&s->getters)
               ? NULL
               : mcp__container(s->getters.prev, mcp_http_connection, in_getters);
}

static void send(mcp_channel *channel, mcp_exchange exchange, mcp_str message, void *user)
{
    const mcp__http_peer *peer = user;
    mcp__http_session *s = peer->session;
    mcp_http_connection *c = s ? stream_of(s) : NULL;
    mcp_output_info info = *mcp_channel_output_info(channel);
    (void)exchange;
    if (!c)
        return; /* the session is ending */
    mcp__http_touch(s->http);
    if (info.kind == MCP_OUTPUT_NOTIFICATION && (c->congested || !mcp__http_has_room(c, message)))
        return; /* discarded: a later notification replaces it */
    mcp__buf instead;
    mcp__http_sse_typed(c, MCP_STR("message"), mcp__http_fitting(c, message, &instead, &info.code));
    mcp__buf_free(&instead);
    mcp__http_flush(c);
    if (s->http->draining)
        mcp__http_wake(s->http, &s->peer->timer);
}

static void put_endpoint(mcp_http_connection *c, const mcp__http_session *s)
{
    mcp__buf where;
    mcp__buf_init(&where, c->http->allocator, 0);
    mcp__buf_printf(&where, "%s?%s%s", c->http->options.sse_path, parameter.ptr, s->id);
    if (where.failed)
        mcp__http_close(c, MCP_HTTP_ABORT);
    else
        mcp__http_sse_typed(c, MCP_STR("endpoint"), mcp__buf_view(&where));
    mcp__buf_free(&where);
}

void mcp__http_duplex_open(mcp_http_connection *c)
{
    static const mcp_channel_options options = {
        .size = sizeof(options), .send = send, .shared_stream = true};
    mcp_http *http = c->http;
    mcp__http_session *s = NULL;
    mcp__http_refusal why = MCP__HTTP_FINE;
    if (!(c->head.accepts & MCP__HTTP_SSE))
        why = MCP__HTTP_NOT_ACCEPTABLE;
    else
        why = mcp__http_session_begin(c, &options, NULL, &s);
    if (why) {
        mcp__http_refuse(c, why);
        return;
    }
    s->duplex = true;
    http->metrics.sessions_begun++;
    http->metrics.duplex_begun++;
    mcp__http_session_attach(s, c);
    c->counted = true;
    s->n_streams++;
    mcp__http_sse_begin(c);
    mcp__list_append(&s->getters, &c->in_getters);
    put_endpoint(c, s);
    mcp__http_flush(c);
    if (c->phase != MCP__HTTP_STREAMING)
        return;
    mcp__http_trim_stream(c);
    mcp__http_session_writable(s);
}

bool mcp__http_duplex_due(mcp__http_session *s)
{
    mcp_http_connection *c = stream_of(s);
    if (c && s->http->draining && mcp_channel_in_flight(s->peer->channel) == 0)
        mcp__http_sse_end(c, 0); /* the end of the stream announces the shutdown */
    bool ended = s->ended;
    if (ended)
        mcp__http_session_free(s);
    return ended;
}

size_t mcp__http_duplex_cut(mcp_http_connection *c)
{
    size_t cut = 0;
    int code = 0;
    if (!c->session || !c->session->duplex || c->phase != MCP__HTTP_STREAMING)
        return 0;
    const mcp_channel *channel = c->session->peer->channel;
    for (const mcp__incoming *in = NULL; (in = mcp__channel_next_request(channel, in)) != NULL;) {
        mcp__buf error;
        if (in->abandoned)
            continue; /* it has been answered already */
        code = mcp__http_put_cut(c->http, mcp__incoming_id(in), &error);
        if (!error.failed)
            mcp__http_sse_typed(c, MCP_STR("message"), mcp__buf_view(&error));
        mcp__buf_free(&error);
        cut++;
    }
    if (cut)
        mcp__http_sse_end(c, code);
    return cut;
}

/* ---- messages -------------------------------------------------------------------------------- */

/* Returns the session id in the query of the target, or an empty string. */
static mcp_str session_id(const mcp_http_connection *c)
{
    const mcp__http_head *head = &c->head;
    mcp_str target = mcp__http_text(head, head->target);
    mcp_str query = mcp__str_sub(target, head->path.at + head->path.len - head->target.at);
    while (query.len) {
        query = mcp__str_sub(query, 1); /* skip '?' or '&' */
        size_t end = 0;
        while (end < query.len && query.ptr[end] != '&')
            end++;
        if (mcp__str_starts((mcp_str){query.ptr, end}, parameter))
            return mcp__str_sub((mcp_str){query.ptr, end}, parameter.len);
        query = mcp__str_sub(query, end);
    }
    return (mcp_str){0};
}

static mcp__http_refusal find(const mcp_http_connection *c, mcp__http_session **ret)
{
    mcp_str id = session_id(c);
    mcp__http_session *s = id.len ? mcp__map_get(&c->http->sessions, id) : NULL;
    if (!id.len)
        return MCP__HTTP_GET_FIRST;
    /* The session of another caller is treated as missing. */
    if (!s || !s->duplex || !stream_of(s) || !mcp__http_is_of(s->peer->channel, c))
        return MCP__HTTP_NO_STREAM;
    *ret = s;
    return stream_of(s)->congested ? MCP__HTTP_UNREAD : MCP__HTTP_FINE;
}

void mcp__http_duplex_post(mcp_http_connection *c)
{
    static const mcp__http_answer accepted = {.status = 202};
    mcp__http_session *s = NULL;
    mcp__http_message m = {0};
    mcp__http_refusal why = find(c, &s);
    if (!why && !mcp__http_read_message(c, &m))
        return;
    if (!why && m.in.modern)
        why = MCP__HTTP_NOT_MODERN;
    else if (!why && m.has_invalid && !m.in.batch)
        why = MCP__HTTP_BAD_MESSAGE;
    if (why) {
        mcp_json_free(m.in.doc);
        mcp__http_refuse(c, why);
        return;
    }
    mcp__channel_set_identity(s->peer->channel, mcp__http_identity(c));
    int rc = mcp__channel_receive_read(s->peer->channel, 0, &m.in, c->http->now);
    mcp__http_peer_arm(s->peer);
    if (!s->revision) {
        s->revision = mcp__revision_find(mcp_str_from(mcp_channel_revision(s->peer->channel)));
        mcp__http_session_use(s);
    }
    if (rc != MCP_OK)
        mcp__http_refuse(c, MCP__HTTP_NO_MEMORY);
    else
        mcp__http_respond(c, &accepted);
}
