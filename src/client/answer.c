/* answer.c: handles the answer to a call. The answer is the outcome, or leads to the next page, to
 * questions or to another attempt.
 */
#include "client/client.h"

#include "protocol/shape.h"

/* ---- outcome -------------------------------------------------------------------------------- */

static int judge_result(const mcp__revision *r, const mcp_json *result, mcp_error *error)
{
    if (!mcp_json_is(result, MCP_JSON_OBJECT))
        return mcp__fail(error, MCP_EPROTOCOL, 0,
                         "the server answered with %s instead of an object",
                         mcp_json_type_name(mcp_json_typeof(result)));
    const mcp_json *type = mcp_json_get(result, "resultType");
    if (!type || mcp_json_is(type, MCP_JSON_NULL) || !r->result_type)
        return MCP_OK;
    mcp_str text = mcp_json_string(type);
    if (mcp_str_eq(text, MCP_STR("complete")))
        return MCP_OK;
    if (mcp_str_eq(text, MCP_STR("input_required")))
        return MCP_INPUT_REQUIRED;
    if (!mcp_json_is(type, MCP_JSON_STRING))
        return mcp__fail(error, MCP_EPROTOCOL, 0, "the answer's resultType is %s, not a string",
                         mcp_json_type_name(mcp_json_typeof(type)));
    return mcp__fail(error, MCP_EPROTOCOL, 0, "the answer is of the unknown resultType \"%.*s\"",
                     (int)MCP__MIN(text.len, (size_t)64), text.ptr);
}

int64_t mcp__error_code(const mcp_json *error)
{
    return mcp_json_int(mcp_json_get(error, "code"), 0);
}

static int judge_error(const mcp_json *e, mcp_error *error)
{
    mcp_str text = mcp_json_string(mcp_json_get(e, "message"));
    if (text.len)
        return mcp__fail(error, MCP_EREMOTE, 0, "%.*s",
                         (int)MCP__MIN(text.len, sizeof(error->text)), text.ptr);
    return mcp__fail(error, MCP_EREMOTE, 0, "error %lld without a message",
                     (long long)mcp__error_code(e));
}

int mcp__client_judge(const mcp_client *client, const mcp__revision *r, uint64_t ms, int rc,
                      const mcp_json *result, mcp_error *error)
{
    const char *why = client->failure.why ? client->failure.why : mcp_error_text(rc);
    switch (rc) {
    case MCP_OK: return judge_result(r, result, error);
    case MCP_EREMOTE: return judge_error(result, error);
    case MCP_ETIMEOUT:
        return mcp__fail(
            error, rc, 0, "no answer within %llu.%03u s%s%s", (unsigned long long)(ms / 1000),
            (unsigned)(ms % 1000),
            *client->connection.malformed.text ? "; a received message could not be read: " : "",
            client->connection.malformed.text);
    case MCP_EPROTOCOL: return mcp__fail(error, rc, 0, "the answer is malformed: %s", why);
    default: return mcp__fail(error, rc, 0, "%s", why);
    }
}

/* ---- next step ------------------------------------------------------------------------------ */

/* Passes a result on to the pages of a list, or reports it as the outcome. */
static void deliver(mcp__call *call, const mcp_json *result)
{
    if (call->pages && !call->cancelled) {
        mcp__channel_forget_text(call->client->channel);
        mcp__pages_take(call, result);
    } else {
        mcp__call_finish(call, MCP_OK, result, NULL);
    }
}

void mcp__call_succeeded(mcp__call *call, const mcp_json *result)
{
    if (mcp_str_eq(call->method, MCP_STR("tools/list")) &&
        (mcp__client_mirrors(call->client) || mcp__tasks_are_requested(call->client))) {
        mcp_json_doc *rest = NULL;
        int rc = mcp__tools_learn(call->client, result, &rest);
        if (rest)
            mcp__channel_forget_text(call->client->channel); /* it has the refused tools */
        if (rc != MCP_OK)
            mcp__call_fail(call, rc);
        else
            deliver(call, rest ? mcp_json_root(rest) : result);
        mcp_json_free(rest);
        return;
    }
    deliver(call, result);
}

/* Returns whether the call may have failed because the client does not know the tool's definition,
 * which says which headers the call needs and whether it must be a task. */
static bool lacks_definition(const mcp__call *call, int64_t code)
{
    if (call->relisted || !mcp_str_eq(call->method, MCP_STR("tools/call")))
        return false;
    if (code == MCP__METHOD_NOT_FOUND || code == MCP__INVALID_REQUEST)
        return mcp__tasks_are_requested(call->client) && !call->as_task;
    return code == MCP__HEADER_MISMATCH && mcp__client_mirrors(call->client);
}

/* Returns whether the server refused the call because the client did not declare tasks for it. */
static bool requires_tasks(const mcp__call *call, const mcp_json *object)
{
    const mcp_json *required = mcp_json_get(mcp_json_get(object, "data"), "requiredCapabilities");
    return call->client->options.tasks && call->client->revision->modern &&
           call->options.task_mode == MCP_CALL_TASK_LAST_RESORT &&
           mcp_json_get(mcp_json_get(required, "extensions"), MCP__EXTENSION_TASKS);
}

/* Retries a call that the server refused if another attempt may succeed. Returns true if the call
 * will be sent again. */
static bool retry(mcp__call *call, const mcp_json *object)
{
    mcp_client *client = call->client;
    int64_t code = mcp__error_code(object);
    if (call->cancelled || call->task)
        return false;
    if (lacks_definition(call, code))
        return mcp__tools_relist(call) == MCP_OK;
    if (code == MCP__MISSING_CAPABILITY && requires_tasks(call, object)) {
        call->options.task_mode = MCP_CALL_TASK_AUTO;
        mcp__call_again(call, 0);
        return true;
    }
    if (code == MCP__URL_REQUIRED && client->revision->url_required && !call->options.as_is)
        return mcp__round_begin_urls(call, object);
    return false;
}

/* Repeats the call in a new session if this answer shows that the old session has ended. Returns
 * true if the call will be sent again. */
static bool repeat_in_new_session(mcp__call *call)
{
    mcp_client *client = call->client;
    bool session_ended = mcp__end_lost_session(client->failure.end) && !client->revision->modern;
    if (!session_ended || call->renewed || call->cancelled)
        return false;
    call->renewed = true;
    mcp__call_again(call, 0);
    mcp__client_renew(client);
    return true;
}

static void on_failed(mcp__call *call, int rc, const mcp_json *result, mcp_error *error)
{
    mcp_client *client = call->client;
    if (rc == MCP_ETIMEOUT)
        mcp__client_give_up(client, call->id, "time-out");
    if (rc == MCP_EREMOTE && call->pages) {
        mcp__cache_drop(client, call->method); /* the cursor may belong to an older list */
        if (!call->cancelled && mcp__pages_restart(call, mcp__error_code(result)))
            return;
    }
    if (repeat_in_new_session(call) || (call->task && mcp__call_task_failed(call, rc)) ||
        (rc == MCP_EREMOTE && retry(call, result)) || mcp__call_repeat(call, error))
        return;
    mcp__call_finish(call, rc, rc == MCP_EREMOTE ? result : NULL, error);
}

static uint64_t time_allowed(const mcp__call *call)
{
    int64_t ms = mcp__client_now(call->client) - call->sent_at;
    return call->progressed ? (uint64_t)ms : call->options.timeout_ms;
}

/* Handles a result that has the shape of its method. `rc` is that of mcp__client_judge(). */
static void on_result(mcp__call *call, int rc, const mcp_json *result)
{
    mcp_error error = {0};
    if (rc == MCP_INPUT_REQUIRED && call->options.as_is && !call->task) {
        mcp__call_finish(call, rc, result, NULL);
        return;
    }
    if (rc == MCP_INPUT_REQUIRED && !call->cancelled) {
        rc = mcp__round_begin(call, result, &error);
        if (rc == MCP_OK)
            return;
    }
    if (rc != MCP_OK) {
        on_failed(call, rc, result, &error);
    } else if (call->task) {
        mcp__call_task_answered(call, result);
    } else {
        mcp__cache_put(call, result);
        mcp__call_succeeded(call, result);
    }
}

/* Begins to poll a task, or fails the call if the description of the task is malformed. */
static void on_task(mcp__call *call, const mcp_json *result)
{
    mcp_error error = {0};
    int rc =
        mcp__answer_check(call->client->revision, MCP__SHAPE_TASK, call->method, result, &error);
    if (rc == MCP_OK)
        mcp__call_task_begin(call, result);
    else
        mcp__call_finish(call, rc, NULL, &error);
}

void mcp__call_answered(mcp_channel *channel, int rc, const mcp_json *result, void *user)
{
    mcp__call *call = user;
    mcp_client *client = call->client;
    mcp_error error = {0};
    mcp__call_move(call, MCP__CALL_PARKED); /* until the next step of the call is known */
    call->due = INT64_MAX;
    if (rc == MCP_OK || rc == MCP_EREMOTE)
        call->repeats = 0;
    if (rc == MCP_OK && mcp__call_task_begins(call, result)) {
        on_task(call, result);
        return;
    }
    mcp_json_doc *rest = NULL;
    rc = mcp__client_judge(client, client->revision, time_allowed(call), rc, result, &error);
    int checked = rc >= MCP_OK ? mcp__page_check(call, result, &error) : rc;
    if (checked == MCP_OK)
        checked = mcp__call_check(call, rc == MCP_INPUT_REQUIRED, result, &rest, &error);
    if (rest)
        mcp__channel_forget_text(channel); /* it has the malformed entries */
    if (checked == MCP_OK)
        on_result(call, rc, rest ? mcp_json_root(rest) : result);
    else
        on_failed(call, checked, result, &error);
    mcp_json_free(rest);
}
