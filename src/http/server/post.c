/* post.c: the message in a POST, and which era it is in.
 *
 * The body is parsed here, once; the channel gets the document. What
 * _meta says comes before what headers say, a session's revision before the header's.
 */
#include "http/server/session.h"

static void look_at(const mcp_json *root, mcp__http_message *m)
{
    mcp__message message;
    mcp__message_read(root, &message);
    switch (message.kind) {
    case MCP__REQUEST: m->has_request = true; break;
    case MCP__RESULT:
    case MCP__ERROR: m->response = true; break;
    case MCP__INVALID: m->invalid = true; break;
    case MCP__NOTIFICATION: break;
    }
    if (m->batch)
        return;
    m->method = message.method;
    const mcp_json *meta = mcp_json_get(message.params, "_meta");
    m->modern = mcp_json_get(meta, MCP__META_REVISION) != NULL;
    m->initialize = m->has_request && mcp_str_eq(m->method, MCP_STR("initialize"));
    m->listen = m->has_request && mcp_str_eq(m->method, MCP_STR("subscriptions/listen"));
}

static void look_at_all(mcp__http_message *m)
{
    const mcp_json *root = mcp_json_root(m->doc);
    m->batch = mcp_json_is(root, MCP_JSON_ARRAY);
    if (!m->batch) {
        look_at(root, m);
        return;
    }
    mcp_json_iter it = {0};
    for (const mcp_json *e; (e = mcp_json_next(root, &it, NULL)) != NULL;)
        look_at(e, m);
}

/* ---- what cannot be read ------------------------------------------------------------------------------ */

static void refuse_text(mcp_http_connection *c, const mcp_error *error)
{
    if (error->code == MCP_ENOMEM) {
        mcp__http_refuse(c, MCP__HTTP_NO_MEMORY);
        return;
    }
    bool limit = error->code == MCP_ELIMIT;
    int code = limit ? MCP__INVALID_REQUEST : MCP__PARSE_ERROR;
    mcp__buf id, why, body;
    mcp__buf_init(&id, c->http->allocator, 0);
    mcp__buf_init(&why, c->http->allocator, 0);
    mcp__buf_init(&body, c->http->allocator, 0);
    if (limit)
        mcp__scan_id(mcp__http_body(c), c->http->allocator, &id);
    mcp__buf_printf(&why, limit ? "%s" : "not a JSON message: %s", error->text);
    mcp__put_error(&body, id.failed ? (mcp_str){0} : mcp__buf_view(&id), MCP__NO_ID_ABSENT, code,
                   why.failed ? MCP_STR("not a JSON message") : mcp__buf_view(&why), (mcp_str){0});
    if (body.failed)
        mcp__http_refuse(c, MCP__HTTP_NO_MEMORY);
    else
        mcp__http_reply(c, 400, code, mcp__buf_view(&body));
    mcp__buf_free(&id);
    mcp__buf_free(&why);
    mcp__buf_free(&body);
}

/* ---- without a session ------------------------------------------------------------------------------------ */

static bool needs_session(mcp_str method)
{
    static const mcp_str methods[] = {
        {"resources/subscribe", 19}, {"resources/unsubscribe", 21}, {"logging/setLevel", 16}};
    for (size_t i = 0; i < MCP__COUNT(methods); i++) {
        if (mcp_str_eq(method, methods[i]))
            return true;
    }
    return false;
}

static void accepted(mcp_http_connection *c)
{
    static const mcp__http_answer a = {.status = 202};
    mcp__http_respond(c, &a);
}

/* A legacy message of a client that has no session. */
static void stateless(mcp_http_connection *c, mcp__http_message *m, const mcp__revision *revision)
{
    mcp__http_refusal why = MCP__HTTP_FINE;
    if (needs_session(m->method) || (m->response && !m->has_request))
        why = MCP__HTTP_NEEDS_SESSION;
    if (!why && (m->has_request || m->invalid)) {
        mcp__http_exchange(c, m, revision);
        return;
    }
    mcp_json_free(m->doc);
    if (why)
        mcp__http_refuse(c, why);
    else
        accepted(c); /* a notification: there is nothing that it could change */
}

static void modern(mcp_http_connection *c, mcp__http_message *m)
{
    mcp__http_refusal why = MCP__HTTP_FINE;
    if (m->response && !m->batch)
        why = MCP__HTTP_UNEXPECTED;
    else if (m->listen && !(c->head.accepts & MCP__HTTP_SSE))
        why = MCP__HTTP_NEEDS_STREAM;
    if (!why && (m->has_request || m->invalid || m->batch)) {
        mcp__http_exchange(c, m, NULL);
        return;
    }
    mcp_json_free(m->doc);
    if (why)
        mcp__http_refuse(c, why);
    else
        accepted(c); /* this revision has no notification for servers over HTTP */
}

/* ---- which era ------------------------------------------------------------------------------------------------ */

static void legacy(mcp_http_connection *c, mcp__http_message *m)
{
    mcp_str named = mcp__http_header(&c->head, MCP__HTTP_REVISION);
    mcp_str id = mcp__http_header(&c->head, MCP__HTTP_SESSION);
    const mcp__revision *revision = mcp__revision_find(named.ptr ? named : MCP_STR("2025-03-26"));
    mcp__http_refusal why = MCP__HTTP_FINE;
    mcp__http_session *session = NULL;
    if (c->head.repeated) {
        mcp_json_free(m->doc);
        mcp__http_refuse(c, MCP__HTTP_DUPLICATE);
        return;
    }
    if (m->initialize) {
        mcp__http_initialize(c, m);
        return;
    }
    if (id.ptr && !(session = mcp__http_session_find(c)))
        why = MCP__HTTP_NO_SESSION;
    else if (!revision)
        why = MCP__HTTP_BAD_REVISION;
    if (why) {
        mcp_json_free(m->doc);
        mcp__http_refuse(c, why);
    } else if (session) {
        mcp__http_legacy_post(c, session, m);
    } else {
        stateless(c, m, revision);
    }
}

static void keep_traceparent(mcp_http_connection *c, const mcp__http_message *m)
{
    const mcp_json *meta = mcp_json_get(mcp_json_get(mcp_json_root(m->doc), "params"), "_meta");
    mcp_str trace = mcp_json_string(mcp_json_get(meta, "traceparent"));
    if (!trace.len)
        trace = mcp__http_header(&c->head, MCP__HTTP_TRACEPARENT);
    bool plain = trace.len > 0 && trace.len < sizeof(c->traceparent);
    for (size_t i = 0; i < trace.len && plain; i++) {
        char ch = trace.ptr[i];
        plain = (ch >= '0' && ch <= '9') || (ch >= 'a' && ch <= 'f') || ch == '-';
    }
    if (!plain)
        return;
    memcpy(c->traceparent, trace.ptr, trace.len);
    c->traceparent[trace.len] = 0;
}

/* Without memory the log has no name. */
static void keep_name(mcp_http_connection *c, const mcp__http_message *m)
{
    enum { MAX_NAME = 256 };
    static const char *const members[] = {"name", "uri", "taskId"};
    const mcp_json *params = mcp_json_get(mcp_json_root(m->doc), "params");
    const mcp_json *ref = mcp_json_get(params, "ref"); /* of completion/complete */
    mcp_str name = {0};
    for (size_t i = 0; i < MCP__COUNT(members) && !name.len; i++)
        name = mcp_json_string(mcp_json_get(ref ? ref : params, members[i]));
    name.len = MCP__MIN(name.len, (size_t)MAX_NAME);
    mcp__release(c->http->allocator, c->name);
    c->name = name.len ? mcp__strdup(c->http->allocator, name) : NULL;
}

bool mcp__http_read_message(mcp_http_connection *c, mcp__http_message *m)
{
    mcp_http *http = c->http;
    mcp_json_limits limits = {.size = sizeof(limits), .max_bytes = http->options.max_body};
    mcp_error error = {0};
    if (mcp_json_parse(mcp__http_body(c), &limits, http->allocator, &m->doc, &error) != MCP_OK) {
        refuse_text(c, &error);
        return false;
    }
    if (!mcp__http_fits(http->budget, &c->charge, mcp__json_doc_memory(m->doc))) {
        mcp__http_refusal why = mcp__http_no_room(c, mcp__json_doc_memory(m->doc));
        mcp_json_free(m->doc);
        mcp__http_refuse(c, why);
        return false;
    }
    look_at_all(m);
    c->metric = (uint8_t)mcp__http_metric_of(m->method);
    if (http->options.log) {
        keep_traceparent(c, m);
        keep_name(c, m);
    }
    return true;
}

void mcp__http_post(mcp_http_connection *c)
{
    mcp__http_message m = {0};
    if (!mcp__http_read_message(c, &m))
        return;
    const mcp__revision *named = mcp__revision_find(mcp__http_header(&c->head, MCP__HTTP_REVISION));
    if (m.modern || (named && named->modern))
        modern(c, &m);
    else
        legacy(c, &m);
}
