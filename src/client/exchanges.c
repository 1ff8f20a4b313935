/* exchanges.c: the interface to transports where each request is an exchange of its own, such as an
 * HTTP POST. These transports query the properties of the message that they send, and report
 * exchanges that ended without an answer.
 */
#include "client/client.h"

/* ---- the message being sent ------------------------------------------------------------------ */

static const mcp__revision *revision_of(const mcp_client *client)
{
    if (client->out.sending)
        return client->out.sending->revision;
    return client->state == MCP__CLIENT_READY ? client->revision : client->start.trying;
}

const mcp_client_output *mcp_client_sending(mcp_client *client)
{
    const mcp__sending *s = client->out.sending;
    const mcp__revision *r = revision_of(client);
    mcp_client_output *output = &client->out.output;
    *output = (mcp_client_output){
        .size = sizeof(*output), .kind = MCP_OUTPUT_RESPONSE, .modern = r && r->modern};
    if (client->channel)
        output->kind = client->channel->output.kind;
    if (!s)
        return output;
    output->handshake = s->handshake;
    output->long_lived = s->long_lived;
    output->once = s->once || mcp_str_eq(s->method, MCP_STR("tools/call"));
    output->method = s->method;
    output->timeout_ms = s->timeout_ms == MCP_NO_TIMEOUT ? 0 : s->timeout_ms;
    return output;
}

const char *mcp_client_version_header(const mcp_client *client)
{
    const mcp__revision *r = revision_of(client);
    return r && r->version_header ? r->name : NULL;
}

/* Appends the value of a header for an argument. Returns false if the argument has no such
 * value. */
static bool put_argument(mcp__buf *b, const mcp_json *value)
{
    switch (mcp_json_typeof(value)) {
    case MCP_JSON_STRING: mcp__mirror_put(b, mcp_json_string(value)); return true;
    case MCP_JSON_BOOL:
        mcp__buf_str(b, mcp_json_bool(value, false) ? MCP_STR("true") : MCP_STR("false"));
        return true;
    case MCP_JSON_INT: mcp__json_put_value(b, value); return true;
    case MCP_JSON_REAL:
        if ((double)mcp_json_int(value, 0) != mcp_json_number(value, 1))
            return false;
        mcp__json_put_int(b, mcp_json_int(value, 0));
        return true;
    default: return false; /* absent, null, or a type that the schema does not allow */
    }
}

/* Finds the header with this index among the headers of the parameters. Parameters without a value
 * are skipped. */
static bool find_parameter(const mcp__sending *s, const mcp_json *arguments, size_t index,
                           mcp_str *name, mcp__buf *b)
{
    for (size_t i = 0; i < s->mirror->count; i++) {
        const mcp__mirrored *m = &s->mirror->items[i];
        mcp__buf_reset(b, SIZE_MAX);
        if (put_argument(b, mcp__mirrored_value(m, arguments)) && index-- == 0) {
            *name = mcp_str_from(m->header);
            return true;
        }
    }
    return false;
}

static bool put_parameter(mcp_client *client, size_t index, mcp_str *name, mcp__buf *b)
{
    const mcp__sending *s = client->out.sending;
    mcp_json_limits limits = {.size = sizeof(limits), .max_depth = MCP__JSON_DEEPEST};
    mcp_json_doc *doc = NULL;
    if (!s->mirror || !s->mirror->count ||
        mcp_json_parse(s->params, &limits, client->allocator, &doc, NULL) != MCP_OK)
        return false;
    const mcp_json *arguments = mcp_json_get(mcp_json_root(doc), "arguments");
    bool found = find_parameter(s, arguments, index, name, b);
    mcp_json_free(doc);
    return found;
}

static bool put_header(mcp_client *client, size_t index, mcp_str *name, mcp__buf *b)
{
    const mcp__sending *s = client->out.sending;
    const char *version = s && s->handshake ? NULL : mcp_client_version_header(client);
    mcp__buf_reset(b, SIZE_MAX);
    if (version && index-- == 0) {
        *name = MCP_STR("MCP-Protocol-Version");
        mcp__buf_str(b, mcp_str_from(version));
        return true;
    }
    if (!s || !s->revision->modern)
        return false;
    if (index-- == 0) {
        *name = MCP_STR("Mcp-Method");
        mcp__mirror_put(b, s->method);
        return true;
    }
    if (s->name.ptr && mcp__mirror_name(s->method) && index-- == 0) {
        *name = MCP_STR("Mcp-Name");
        mcp__mirror_put(b, s->name);
        return true;
    }
    return put_parameter(client, index, name, b);
}

bool mcp_client_header(mcp_client *client, size_t index, mcp_str *name, mcp_str *value)
{
    mcp__buf *b = &client->out.header;
    if (!put_header(client, index, name, b))
        return false;
    mcp__buf_char(b, 0);
    /* If out of memory, the header is empty, so that the server rejects the message. */
    *value = b->failed ? MCP_STR("") : (mcp_str){b->ptr, b->len - 1};
    return true;
}

mcp_str mcp_client_result_text(const mcp_client *client)
{
    if (!client || !client->channel)
        return (mcp_str){NULL, 0};
    mcp_str text = mcp__channel_text_of(client->channel, MCP_STR("\"result\""));
    return text.ptr ? text : mcp__channel_text_of(client->channel, MCP_STR("\"error\""));
}

mcp_str mcp_client_progress_text(const mcp_client *client)
{
    if (!client || !client->channel)
        return (mcp_str){NULL, 0};
    return mcp__channel_text_of(client->channel, MCP_STR("\"params\""));
}

mcp_str mcp_client_notification_text(const mcp_client *client)
{
    return mcp_client_progress_text(client);
}

mcp_call_id mcp_client_notification_call(const mcp_client *client)
{
    if (!client || !client->channel)
        return 0;
    return client->connection.noted;
}

/* ---- exchanges that ended -------------------------------------------------------------------- */

bool mcp__end_is_foreign(const mcp_exchange_end *end)
{
    static const int excluded[] = {401, 403, 407, 408, 425, 429};
    if (!end)
        return false;
    for (size_t i = 0; i < MCP__COUNT(excluded); i++) {
        if (end->status == excluded[i])
            return false;
    }
    /* Some servers answer an unknown request with an internal error. */
    return (end->status >= 200 && end->status < 300) || (end->status >= 400 && end->status < 500) ||
           end->status == 500 || end->status == 501;
}

/* Returns whether the text contains this word, in lower case or capitalized. */
static bool has_word(mcp_str text, mcp_str word)
{
    for (size_t i = 0; i + word.len <= text.len; i++) {
        if ((text.ptr[i] | 0x20) == word.ptr[0] &&
            memcmp(text.ptr + i + 1, word.ptr + 1, word.len - 1) == 0)
            return true;
    }
    return false;
}

/* The specification requires 404 (2025-11-25, basic/transports, "Session Management"). Many servers
 * answer 400 with a body about the session, because the older examples of the official SDKs do. */
bool mcp__end_lost_session(const mcp_exchange_end *end)
{
    return end && end->session &&
           (end->status == 404 || (end->status == 400 && has_word(end->body, MCP_STR("session"))));
}

static int code_of(const mcp_exchange_end *end)
{
    if (end->status == 401 || end->status == 403)
        return MCP_EACCESS;
    return end->status >= 200 && end->status < 300 ? MCP_ECLOSED : MCP_EIO;
}

/* Returns the text of the first member that APIs use for it, or an empty string. */
static mcp_str reason_in_json(const mcp_json *root)
{
    static const char *const names[] = {"error_description", "message", "detail", "error"};
    for (size_t i = 0; i < MCP__COUNT(names); i++) {
        const mcp_json *value = mcp_json_get(root, names[i]);
        if (mcp_json_is(value, MCP_JSON_OBJECT))
            value = mcp_json_get(value, "message");
        if (mcp_json_string(value).len)
            return mcp_json_string(value);
    }
    return (mcp_str){NULL, 0};
}

/* Returns what the body of a refusal says in words, or an empty string: a member of a JSON object, or
 * a line of text. Pages say nothing that could be shown. */
static mcp_str reason_in(const mcp_exchange_end *end, const mcp_json_doc *doc)
{
    mcp_str body = end->body;
    if (end->status < 400 || end->status == 401)
        return (mcp_str){NULL, 0};
    if (doc)
        return reason_in_json(mcp_json_root(doc));
    const char *line = body.len ? memchr(body.ptr, '\n', body.len) : NULL;
    body.len = line ? (size_t)(line - body.ptr) : body.len;
    while (body.len && (unsigned char)body.ptr[body.len - 1] <= ' ')
        body.len--;
    bool shown =
        body.len && !strchr("<{[", body.ptr[0]) && mcp__utf8_valid(body.ptr, body.len) == body.len;
    return shown ? body : (mcp_str){NULL, 0};
}

/* `reason` may be empty. */
static const char *text_of(const mcp_exchange_end *end, mcp_str reason, mcp_error *buffer)
{
    enum { MOST_REASON = 120 };
    int code = code_of(end);
    if (end->text && *end->text)
        mcp__fail(buffer, code, 0, "%s", end->text);
    else if (end->status == 0)
        mcp__fail(buffer, code, 0, "the server cannot be reached");
    else if (code == MCP_ECLOSED)
        mcp__fail(buffer, code, 0, "the server ended its answer before it was complete");
    else
        mcp__fail(buffer, code, 0, "the server answered with HTTP status %d", end->status);
    if (reason.len > MOST_REASON)
        reason.len = mcp__utf8_cut(reason.ptr, MOST_REASON);
    if (reason.len)
        mcp__fail(buffer, code, 0, "%s: %.*s", buffer->text, (int)reason.len, reason.ptr);
    return buffer->text;
}

/* Returns the JSON-RPC error in a body, or NULL. */
static const mcp_json *error_in(mcp_client *client, const mcp_exchange_end *end, mcp_json_doc **doc)
{
    mcp__message message;
    if (!end->body.len || mcp_json_parse(end->body, NULL, client->allocator, doc, NULL) != MCP_OK)
        return NULL;
    mcp__message_read(mcp_json_root(*doc), &message);
    return message.kind == MCP__ERROR ? message.result : NULL;
}

/* Handles the end of a stream that belongs to no call. The server may have lost its session. */
static void stream_ended(mcp_client *client, const mcp_exchange_end *end, int64_t now)
{
    bool legacy = mcp__client_is_ready(client) && !client->revision->modern;
    bool session_lost = end->session && (end->status == 404 || end->status == 400);
    if (!legacy || (!session_lost && end->status < 400))
        return;
    client->channel->now = now;
    if (session_lost) {
        mcp__client_renew(client);
        return;
    }
    client->connection.no_stream = true;
    client->subscriptions.resync = true;
    mcp__client_attend(client);
}

void mcp_client_exchange_ended(mcp_client *client, mcp_exchange exchange,
                               const mcp_exchange_end *end, int64_t now)
{
    mcp_exchange_end e;
    mcp_error buffer;
    mcp_json_doc *doc = NULL;
    if (!client || !client->channel || exchange > INT64_MAX ||
        MCP__TAKE(&e, end, mcp_exchange_end, NULL) != MCP_OK)
        return;
    if (!exchange) {
        stream_ended(client, &e, now);
        return;
    }
    mcp_channel *channel = client->channel;
    const mcp_json *error = error_in(client, &e, &doc);
    if (error && client->options.trace) /* the body is a message, too */
        client->options.trace(client, false, exchange, e.body, client->options.user);
    /* These two outcomes take precedence over the body: the session has ended (2025-11-25), or
     * authorization is required. */
    bool has_no_answer = !error || (e.status == 404 && e.session) || code_of(&e) == MCP_EACCESS;
    channel->now = now;
    channel->in_use = true;
    client->failure.end = has_no_answer || mcp__end_lost_session(&e) ? &e : NULL;
    client->failure.status = e.status;
    client->failure.why = text_of(&e, reason_in(&e, doc), &buffer);
    mcp__channel_fail(channel, (int64_t)exchange, has_no_answer ? code_of(&e) : MCP_EREMOTE,
                      has_no_answer ? NULL : error);
    client->failure.why = NULL;
    client->failure.end = NULL;
    client->failure.status = 0;
    channel->in_use = false;
    mcp_json_free(doc);
}

bool mcp_client_awaits(const mcp_client *client, mcp_exchange exchange)
{
    return client && client->channel && client->connection.transport.exchanges && exchange &&
           exchange <= INT64_MAX && mcp__channel_awaits(client->channel, (int64_t)exchange);
}

int mcp_client_set_authorization(mcp_client *client, const char *who)
{
    char *copy = who ? mcp__strdup(client->allocator, mcp_str_from(who)) : NULL;
    if (who && !copy) {
        mcp__cache_free(client);
        return MCP_ENOMEM;
    }
    mcp__release(client->allocator, client->connection.principal);
    client->connection.principal = copy;
    return MCP_OK;
}
