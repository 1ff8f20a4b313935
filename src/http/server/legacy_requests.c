/* legacy_requests.c: the requests of legacy clients: initialize, POST in a session, GET and DELETE
 * (2025-11-25, basic/transports, "Streamable HTTP").
 */
#include "http/server/http_session.h"

const mcp_channel_options mcp__http_session_channel = {.size = sizeof(mcp__http_session_channel),
                                                       .send = mcp__http_session_send,
                                                       .end_stream = mcp__http_session_end_stream};

void mcp__http_initialize(mcp_http_connection *c, mcp__http_message *m)
{
    mcp_http *http = c->http;
    mcp__http_session *s = NULL;
    mcp__http_refusal why =
        mcp__http_session_begin(c, &mcp__http_session_channel, m->in.message.params, &s);
    if (why) {
        mcp_json_free(m->in.doc);
        mcp__http_refuse(c, why);
        return;
    }
    mcp__http_legacy_post(c, s, m);
    if (!s->revision) {
        mcp__http_session_free(s); /* because initialize failed */
        return;
    }
    http->metrics.sessions_begun++;
    if (s->sealed)
        mcp__fleet_announce(s);
}

void mcp__http_legacy_post(mcp_http_connection *c, mcp__http_session *s, mcp__http_message *m)
{
    /* The others are told before the client is answered. */
    if (m->keeps && s->sealed)
        mcp__fleet_note_keeps(s);
    c->exchange = ++c->http->exchanges;
    mcp__http_session_attach(s, c);
    if (m->has_request && !mcp__http_stream_new(s, c)) {
        mcp_json_free(m->in.doc);
        mcp__http_refuse(c, MCP__HTTP_NO_MEMORY);
        return;
    }
    if (c->stream)
        mcp__http_charge_like(c->http->budget, &c->stream->charge, &c->charge,
                              mcp__json_doc_memory(m->in.doc));
    mcp__http_hand_over(c, s->peer, m);
}

/* Returns the session of a GET or DELETE, or NULL after refusing or forwarding the request. */
static mcp__http_session *session_of(mcp_http_connection *c)
{
    mcp_str named = mcp__http_header(&c->head, MCP__HTTP_REVISION);
    const mcp__revision *revision = mcp__revision_find(named);
    mcp__http_session *s = NULL;
    mcp__http_refusal why = MCP__HTTP_FINE;
    if (!mcp__http_header(&c->head, MCP__HTTP_SESSION).ptr || (revision && revision->modern))
        why = MCP__HTTP_POST_ONLY;
    else if (named.ptr && !revision)
        why = MCP__HTTP_BAD_REVISION;
    else
        why = mcp__http_session_find(c, &s);
    if (why)
        mcp__http_refuse(c, why);
    return s;
}

void mcp__http_get(mcp_http_connection *c)
{
    mcp__http_session *s = session_of(c);
    if (!s)
        return;
    if (!(c->head.accepts & MCP__HTTP_SSE))
        mcp__http_refuse(c, MCP__HTTP_NOT_ACCEPTABLE);
    else if (s->n_streams >= c->http->options.max_streams)
        mcp__http_refuse(c, MCP__HTTP_MANY_STREAMS);
    else
        mcp__http_stream_open(c, s, mcp__http_header(&c->head, MCP__HTTP_LAST_EVENT));
    if (c->http->draining && c->phase == MCP__HTTP_STREAMING)
        mcp__http_end_stream(c); /* the client opens it again, at another process */
}

void mcp__http_delete(mcp_http_connection *c)
{
    static const mcp__http_answer gone = {.status = 204};
    mcp__http_session *s = session_of(c);
    if (!s)
        return;
    mcp__http_session_free(s);
    mcp__http_respond(c, &gone);
}
