/* question_request.c: handles the requests of a legacy server: answers ping and passes input requests to the
 * program. A modern server must not send requests, so its requests are not answered (2026-07-28,
 * basic/transports/stdio, "Sending Messages").
 */
#include "client/client.h"

#include <mcp/sys/json.h>

static void reply_result(mcp__incoming *in, mcp_str result)
{
    mcp_channel *channel = in->channel;
    mcp__buf b = mcp__channel_take_buf(channel);
    mcp__put_result_head(&b, mcp__incoming_id(in));
    mcp__buf_str(&b, result);
    mcp__buf_char(&b, '}');
    if (b.failed)
        mcp__incoming_drop(in);
    else
        mcp__incoming_reply(in, mcp__buf_view(&b), 0);
    mcp__channel_give_buf(channel, &b);
}

/* ---- time that a user needs ----------------------------------------------------------------- */

static void set_timeouts(mcp_client *client, bool run)
{
    for (mcp__link *l = client->calls.sent.next; l != &client->calls.sent; l = l->next) {
        const mcp__call *call = mcp__container(l, mcp__call, link);
        uint64_t ms = call->options.timeout_ms;
        int64_t at = INT64_MAX;
        if (run && ms < (uint64_t)(INT64_MAX - mcp__client_now(client)))
            at = mcp__client_now(client) + (int64_t)ms;
        mcp__channel_set_timeout(client->channel, call->id, at);
    }
}

/* Suspends the time-outs of all calls while a user answers, because a server does not say to which
 * call its question belongs. */
static void suspend_timeouts(mcp_client *client)
{
    client->calls.suspended = true;
    set_timeouts(client, false);
}

static void resume_timeouts(mcp_client *client)
{
    for (mcp__link *l = client->questions.list.next; l != &client->questions.list; l = l->next) {
        const mcp_question *q = mcp__container(l, mcp_question, link);
        if (q->request)
            return;
    }
    if (client->calls.suspended && client->channel)
        set_timeouts(client, true);
    client->calls.suspended = false;
}

static mcp_call_id call_of_exchange(const mcp_client *client, mcp_exchange exchange)
{
    for (mcp__link *l = client->calls.sent.next; exchange && l != &client->calls.sent;
         l = l->next) {
        const mcp__call *call = mcp__container(l, mcp__call, link);
        if (client->connection.transport.exchanges && (mcp_exchange)call->id == exchange)
            return call->handle;
    }
    return 0;
}

mcp_call_id mcp__call_of_message(const mcp_client *client, mcp_exchange exchange,
                                 const mcp_json *params)
{
    mcp_call_id call = call_of_exchange(client, exchange);
    return call ? call : mcp__call_of_task(client, params);
}

/* ---- requests -------------------------------------------------------------------------------- */

/* Answers a request for which mcp__question_new() failed. */
static void refuse(mcp__incoming *in, int rc, uint64_t retry_ms, const mcp_error *error)
{
    mcp__buf data;
    mcp__buf_init(&data, in->allocator, 0);
    int code = MCP__INTERNAL_ERROR;
    if (rc == MCP_ENOTFOUND)
        code = MCP__METHOD_NOT_FOUND;
    else if (rc == MCP_EPROTOCOL || rc == MCP_EUNSUPPORTED)
        code = MCP__INVALID_PARAMS;
    else if (rc == MCP_ELIMIT)
        mcp__buf_printf(&data, "{\"retryAfterMs\":%llu}", (unsigned long long)retry_ms);
    mcp__incoming_error(in, code, mcp_str_from(error->text),
                        data.failed ? (mcp_str){0} : mcp__buf_view(&data));
    mcp__buf_free(&data);
}

/* Reports the first forbidden request of a connection. Without this report, the program would only
 * see calls that time out. */
static void report_misbehaviour(mcp_client *client, mcp_str method)
{
    mcp_error what;
    if (client->connection.misbehaved || !client->options.misbehaved)
        return;
    client->connection.misbehaved = true;
    mcp__fail(&what, MCP_EPROTOCOL, 0,
              "the server sent the request %.*s, which revision %s forbids; the request is not "
              "answered",
              (int)MCP__MIN(method.len, (size_t)64), method.ptr, client->revision->name);
    client->options.misbehaved(client, what.text, client->options.user);
}

void mcp__client_question_request(mcp__incoming *in)
{
    mcp__question_request *request = (mcp__question_request *)in;
    mcp_client *client = in->channel->state;
    mcp_error error = {0};
    uint64_t retry_ms = 0;
    if (client->state == MCP__CLIENT_READY && client->revision->modern) {
        report_misbehaviour(client, in->message.method);
        mcp__incoming_drop(in);
        return;
    }
    if (mcp_str_eq(in->message.method, MCP_STR("ping"))) {
        reply_result(in, MCP_STR("{}"));
        return;
    }
    const mcp__asking asking = {.method = in->message.method,
                                .params = in->message.params,
                                .text = mcp__channel_text_of(in->channel, MCP_STR("\"params\""))};
    int rc = mcp__question_new(client, &asking, &request->question, &retry_ms, &error);
    if (rc != MCP_OK) {
        refuse(in, rc, retry_ms, &error);
        return;
    }
    request->question->request = request;
    request->question->handle = mcp__call_of_message(client, in->exchange, in->message.params);
    suspend_timeouts(client);
    mcp__question_ask(request->question);
}

void mcp__client_question_cancelled(mcp__incoming *in)
{
    mcp__question_request *request = (mcp__question_request *)in;
    mcp_client *client = in->channel->state;
    if (request->question)
        mcp__question_withdraw(request->question);
    mcp__incoming_drop(in);
    resume_timeouts(client);
}

/* Copies the members of a JSON text, except that with this quoted key, whose text is returned. */
static mcp_str put_members(mcp__json_list *to, mcp_str object, mcp_str except)
{
    mcp_json_text_iter it = {0};
    mcp_str key, value, found = {NULL, 0};
    while (mcp_json_text_next(object, &it, &key, &value)) {
        if (mcp_str_eq(key, except)) {
            found = value;
            continue;
        }
        mcp__json_next(to);
        mcp__buf_str(to->buf, key);
        mcp__buf_char(to->buf, ':');
        mcp__buf_str(to->buf, value);
    }
    return found;
}

/* The answer to a question that belongs to a task names the task (2025-11-25, basic/utilities/tasks,
 * "Associating Task-Related Messages"). Writes the answer with that name. */
static int put_related(const mcp_question *q, const mcp_json *task, mcp__buf *to)
{
    mcp__json_list result = mcp__json_begin_object(to);
    mcp_str meta = put_members(&result, mcp__buf_view(&q->answer), MCP_STR("\"_meta\""));
    mcp__json_name(&result, "_meta");
    mcp__json_list members = mcp__json_begin_object(to);
    put_members(&members, meta, MCP_STR("\"" MCP__META_RELATED_TASK "\""));
    mcp__json_name(&members, MCP__META_RELATED_TASK);
    mcp__json_put_value(to, task);
    mcp__json_end(&members);
    mcp__json_end(&result);
    return to->failed;
}

static void reply_answer(mcp__incoming *in, const mcp_question *q)
{
    const mcp__revision *r = q->client->revision;
    const mcp_json *meta = mcp_json_get(mcp_json_root(q->doc), "_meta");
    const mcp_json *task = mcp_json_get(meta, MCP__META_RELATED_TASK);
    bool is_related = r && r->tasks == MCP__TASKS_ASKED && mcp_json_is(task, MCP_JSON_OBJECT);
    mcp__buf b;
    mcp__buf_init(&b, in->allocator, 0);
    if (!is_related)
        reply_result(in, mcp__buf_view(&q->answer));
    else if (put_related(q, task, &b) == MCP_OK)
        reply_result(in, mcp__buf_view(&b));
    else
        mcp__incoming_drop(in);
    mcp__buf_free(&b);
}

/* Sends the answer to a question. */
static void reply(mcp_question *q)
{
    mcp__incoming *in = &q->request->in;
    mcp_str text = mcp__buf_view(&q->answer);
    if (q->accepted && q->kind == MCP_QUESTION_URL)
        mcp__client_expect(q->client, mcp_question_elicitation_id(q));
    q->request->question = NULL;
    q->request = NULL;
    if (q->failed)
        mcp__incoming_error(in, q->code, text, mcp__buf_view(&q->data));
    else
        reply_answer(in, q);
}

void mcp__client_answer(mcp_client *client)
{
    for (mcp__link *l = client->questions.list.next; l != &client->questions.list;) {
        mcp_question *q = mcp__container(l, mcp_question, link);
        l = l->next;
        if (!q->answered || q->call)
            continue;
        if (q->request)
            reply(q);
        mcp__question_free(q);
    }
    resume_timeouts(client);
    mcp__rounds_end(client);
}
