/* exchange.c: the message in a POST, its era, and its answer on the same connection.
 *
 * The body and its envelope are parsed here and passed to the channel, which does not parse them
 * again. The revision in _meta takes precedence over that of the header, and so does the revision
 * of a session. A request without a session goes to the connection's own channel (peer.c). The
 * answer is JSON, or an event stream if the server sends other messages before it.
 */
#include "http/server/http_session.h"

/* ---- reading the message --------------------------------------------------------------------- */

static void note_kind(mcp__http_message *m, mcp__message_kind kind)
{
    m->has_request |= kind == MCP__REQUEST;
    m->has_response |= kind == MCP__RESULT || kind == MCP__ERROR;
    m->has_invalid |= kind == MCP__INVALID;
}

/* Notes the kinds of message in a batch. The channel parses the envelopes of a batch itself. */
static void read_batch(mcp__http_message *m)
{
    mcp_json_iter it = {0};
    for (const mcp_json *e; (e = mcp_json_next(mcp_json_root(m->in.doc), &it, NULL)) != NULL;) {
        mcp__message element;
        mcp__message_read(e, &element);
        note_kind(m, element.kind);
        m->keeps |= mcp__method_is(element.method, MCP__OF_STATE);
    }
}

static void read_envelope(const mcp_http_connection *c, mcp__http_message *m)
{
    const mcp_json *root = mcp_json_root(m->in.doc);
    mcp_str named = mcp__http_header(&c->head, MCP__HTTP_REVISION);
    m->in.batch = mcp_json_is(root, MCP_JSON_ARRAY);
    if (m->in.batch) {
        read_batch(m);
    } else {
        mcp__message_read(root, &m->in.message);
        note_kind(m, m->in.message.kind);
    }
    m->method = mcp__method_find(m->in.message.method);
    m->keeps |= mcp__method_of(m->method)->traits & MCP__OF_STATE;
    m->in.modern = mcp__is_modern(&m->in.message, named);
}

/* ---- data for the log and for traces ------------------------------------------------------------- */

static void keep_traceparent(mcp_http_connection *c, const mcp__http_message *m)
{
    const mcp_json *meta = mcp_json_get(m->in.message.params, "_meta");
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

/* Copies the name of what the request is about, such as a tool. If memory runs out, the log omits
 * the name. */
static void keep_name(mcp_http_connection *c, const mcp__http_message *m)
{
    enum { MAX_NAME = 256 };
    static const char *const members[] = {"name", "uri", "taskId"};
    const mcp_json *params = m->in.message.params;
    const mcp_json *ref = mcp_json_get(params, "ref"); /* for completion/complete */
    mcp_str name = {0};
    for (size_t i = 0; i < MCP__COUNT(members) && !name.len; i++)
        name = mcp_json_string(mcp_json_get(ref ? ref : params, members[i]));
    name.len = MCP__MIN(name.len, (size_t)MAX_NAME);
    mcp__release(c->http->allocator, c->name);
    c->name = name.len ? mcp__strdup(c->http->allocator, name) : NULL;
}

/* ---- messages that cannot be parsed ---------------------------------------------------------- */

static void refuse_unparsed(mcp_http_connection *c, const mcp_error *error)
{
    mcp__buf id, why, body;
    mcp__buf_init(&id, c->http->allocator, 0);
    mcp__buf_init(&why, c->http->allocator, 0);
    mcp__buf_init(&body, c->http->allocator, 0);
    int code = mcp__explain_unparsed(mcp__http_body(c), error, &id, &why);
    mcp__put_error(&body, mcp__buf_view(&id), MCP__NO_ID_ABSENT, code, mcp__buf_view(&why),
                   (mcp_str){0});
    if (error->code == MCP_ENOMEM || why.failed || body.failed)
        mcp__http_refuse(c, MCP__HTTP_NO_MEMORY);
    else
        mcp__http_reply(c, 400, &(mcp_output_info){.code = code}, NULL, mcp__buf_view(&body));
    mcp__buf_free(&id);
    mcp__buf_free(&why);
    mcp__buf_free(&body);
}

bool mcp__http_read_message(mcp_http_connection *c, mcp__http_message *m)
{
    mcp_http *http = c->http;
    mcp_json_limits limits = {.size = sizeof(limits), .max_bytes = http->options.max_body};
    mcp_error error = {0};
    if (mcp_json_parse(mcp__http_body(c), &limits, http->allocator, &m->in.doc, &error) != MCP_OK) {
        refuse_unparsed(c, &error);
        return false;
    }
    if (!mcp__http_fits(http->budget, &c->charge, mcp__json_doc_memory(m->in.doc))) {
        mcp__http_refusal why = mcp__http_no_room(c, mcp__json_doc_memory(m->in.doc));
        mcp_json_free(m->in.doc);
        mcp__http_refuse(c, why);
        return false;
    }
    m->in.text = mcp__http_body(c);
    read_envelope(c, m);
    c->method = (uint8_t)m->method;
    if (http->options.log || mcp__http_header(&c->head, MCP__HTTP_TRACEPARENT).len)
        keep_traceparent(c, m);
    if (http->options.log)
        keep_name(c, m);
    return true;
}

/* ---- output ---------------------------------------------------------------------------------- */

int mcp__http_status_of(mcp_output_info info, bool modern)
{
    if (info.code == 0)
        return 200;
    if (info.scopes)
        return 403;
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

/* Handles an answer whose connection has ended. */
static void orphan_answered(mcp__http_peer *peer, mcp_output_info info)
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
        orphan_answered(peer, info);
        return;
    }
    if (c->phase == MCP__HTTP_WAITING && last) {
        mcp__http_reply(c, mcp__http_status_of(info, !peer->legacy), &info, NULL, message);
        return;
    }
    if (c->phase == MCP__HTTP_WAITING && mcp__http_may_stream(c))
        mcp__http_sse_begin(c);
    if (c->phase != MCP__HTTP_STREAMING)
        return; /* a notification needs a stream */
    if (!last && ((c->congested && !c->stream_only) || !mcp__http_has_room(c, message)))
        return; /* discarded: a later notification replaces it */
    mcp__buf instead;
    mcp__http_sse_message(c, mcp__http_fitting(c, message, &instead, &info.code));
    mcp__buf_free(&instead);
    if (last)
        mcp__http_sse_end(c, info.code);
    else
        mcp__http_flush(c);
}

/* Looks up a header of the request, for the modern channel of the connection. */
static bool header(mcp_channel *channel, mcp_exchange exchange, const char *name, mcp_str *value,
                   void *user)
{
    (void)channel;
    const mcp__http_peer *peer = user;
    const mcp_http_connection *c = peer->connection;
    return c && c->exchange == exchange && mcp__http_find(&c->head, name, value);
}

/* Finds this instance again, for the modern channel of the connection. */
static size_t wait_address(mcp_channel *channel, mcp_exchange exchange,
                           char to[MCP_WAIT_ADDRESS_ROOM], void *user)
{
    const mcp__http_peer *peer = user;
    mcp_http_connection *c = peer->connection;
    (void)channel;
    return c && c->exchange == exchange ? mcp__wait_address_put(c, to) : 0;
}

/* ---- to the channel -------------------------------------------------------------------------- */

static const mcp__http_answer accepted = {.status = 202};

/* Answers a message that produced no output. */
static void settle(mcp_http_connection *c, const mcp__http_message *m, int rc)
{
    if (rc != MCP_OK || (m->has_request && !mcp__http_exchange_alive(c))) {
        if (c->stream)
            mcp__http_stream_free(c->stream);
        mcp__http_refuse(c, MCP__HTTP_NO_MEMORY);
    } else if (!m->has_request && m->has_invalid) {
        mcp__http_refuse(c, MCP__HTTP_BAD_MESSAGE);
    } else if (!m->has_request) {
        mcp__http_respond(c, &accepted);
    }
}

int mcp__http_hand_over(mcp_http_connection *c, mcp__http_peer *peer, mcp__http_message *m)
{
    mcp_exchange exchange = c->exchange;
    peer->connection = c;
    mcp__channel_set_identity(peer->channel, mcp__http_identity(c));
    int rc = mcp__channel_receive_read(peer->channel, exchange, &m->in, c->http->now);
    if (peer->session) {
        peer->connection = NULL;
        mcp__http_session_charge(peer->session);
    }
    mcp__http_peer_arm(peer);
    if (c->exchange == exchange && c->phase == MCP__HTTP_WAITING)
        settle(c, m, rc);
    return rc;
}

/* Runs a request without a session. Takes ownership of the document. `legacy` is the revision, or
 * NULL if the request is modern. */
static void run_exchange(mcp_http_connection *c, mcp__http_message *m, const mcp__revision *legacy)
{
    static const mcp_channel_options modern_channel = {.size = sizeof(modern_channel),
                                                       .send = send,
                                                       .header = header,
                                                       .wait_address = wait_address};
    static const mcp_channel_options legacy_channel = {.size = sizeof(legacy_channel),
                                                       .send = send};
    mcp__http_peer *peer = c->peer;
    if (!peer || !mcp__http_peer_serves(peer, c, legacy))
        peer = mcp__http_peer_replace(c, legacy, legacy ? &legacy_channel : &modern_channel);
    if (!peer) {
        mcp_json_free(m->in.doc);
        mcp__http_refuse(c, MCP__HTTP_NO_MEMORY);
        return;
    }
    c->exchange = ++c->http->exchanges;
    c->message = mcp__json_doc_memory(m->in.doc);
    mcp__http_connection_charge(c);
    mcp__http_hand_over(c, peer, m);
    if (c->phase == MCP__HTTP_STREAMING && mcp_channel_in_flight(peer->channel) == 0) {
        c->stream_only = true;
        mcp__http_trim_stream(c);
        if (c->http->draining)
            mcp__http_end_stream(c); /* the client subscribes again, at another process */
    }
}

/* ---- eras ------------------------------------------------------------------------------------ */

/* Answers a message without passing it to a channel. The answer is the refusal, or 202 if there is
 * none. */
static void answer_without(mcp_http_connection *c, mcp__http_message *m, mcp__http_refusal why)
{
    mcp_json_free(m->in.doc);
    if (why)
        mcp__http_refuse(c, why);
    else
        mcp__http_respond(c, &accepted);
}

/* Handles a legacy message of a client without a session. */
static void handle_stateless(mcp_http_connection *c, mcp__http_message *m,
                             const mcp__revision *revision)
{
    bool in_session = mcp__method_of(m->method)->traits & MCP__OF_SESSION;
    if (in_session || (m->has_response && !m->has_request))
        answer_without(c, m, MCP__HTTP_NEEDS_SESSION);
    else if (m->has_request || m->has_invalid)
        run_exchange(c, m, revision);
    else
        answer_without(c, m, MCP__HTTP_FINE); /* a notification without a session has no effect */
}

/* Ends a request that was forwarded, or could not be. */
static bool forwarded(mcp_http_connection *c, mcp__http_message *m, mcp__http_refusal why)
{
    if (why)
        answer_without(c, m, why);
    else
        mcp_json_free(m->in.doc);
    return true;
}

/* Forwards a request about a task of another instance, or refuses it. Returns false if neither was
 * done. */
static bool forward_task(mcp_http_connection *c, mcp__http_message *m,
                         const mcp__http_session *session)
{
    mcp__http_refusal why;
    if (!c->http->fleet || m->in.batch || !mcp__http_task_forward(c, &m->in.message, session, &why))
        return false;
    return forwarded(c, m, why);
}

/* Does the same with a request that continues a call at another instance. */
static bool forward_call(mcp_http_connection *c, mcp__http_message *m)
{
    const mcp_json *state = mcp_json_get(m->in.message.params, "requestState");
    mcp__http_refusal why;
    if (!m->has_request || m->in.batch ||
        !mcp__wait_address_forward(c, mcp_json_string(state), &why))
        return false;
    return forwarded(c, m, why);
}

static void handle_modern(mcp_http_connection *c, mcp__http_message *m)
{
    bool listens = m->has_request && mcp__method_of(m->method)->traits & MCP__IS_STREAM;
    if (m->has_response && !m->in.batch)
        answer_without(c, m, MCP__HTTP_UNEXPECTED);
    else if (listens && !(c->head.accepts & MCP__HTTP_SSE))
        answer_without(c, m, MCP__HTTP_NEEDS_STREAM);
    else if (forward_task(c, m, NULL) || forward_call(c, m))
        return;
    else if (m->has_request || m->has_invalid || m->in.batch)
        run_exchange(c, m, NULL);
    else
        answer_without(c, m, MCP__HTTP_FINE); /* a notification has no effect here */
}

static void handle_in_session(mcp_http_connection *c, mcp__http_session *session,
                              mcp__http_message *m)
{
    bool cancels = m->method == MCP__METHOD_CANCELLED;
    mcp__http_legacy_post(c, session, m);
    if (cancels)
        mcp__http_stream_reap(session);
}

static void handle_legacy(mcp_http_connection *c, mcp__http_message *m)
{
    mcp_str named = mcp__http_header(&c->head, MCP__HTTP_REVISION);
    mcp_str id = mcp__http_header(&c->head, MCP__HTTP_SESSION);
    const mcp__revision *revision = mcp__revision_find(named.ptr ? named : MCP_STR("2025-03-26"));
    mcp__http_session *session = NULL;
    mcp__http_refusal why = MCP__HTTP_FINE;
    if (c->head.repeated)
        answer_without(c, m, MCP__HTTP_DUPLICATE);
    else if (m->has_request && m->method == MCP__METHOD_INITIALIZE)
        mcp__http_initialize(c, m);
    else if (id.ptr && (why = mcp__http_session_find(c, &session)) != MCP__HTTP_FINE)
        answer_without(c, m, why);
    else if (mcp__relay_of(c))
        mcp_json_free(m->in.doc);
    else if (!revision)
        answer_without(c, m, MCP__HTTP_BAD_REVISION);
    else if (forward_task(c, m, session))
        return;
    else if (session)
        handle_in_session(c, session, m);
    else
        handle_stateless(c, m, revision);
}

void mcp__http_post(mcp_http_connection *c)
{
    mcp__http_message m = {0};
    if (!mcp__http_read_message(c, &m))
        return;
    if (m.in.modern)
        handle_modern(c, &m);
    else
        handle_legacy(c, &m);
}
