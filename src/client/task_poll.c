/* task_poll.c: a tool call that becomes a task (2025-11-25, basic/utilities/tasks; the extension
 * io.modelcontextprotocol/tasks): the client polls the task until the task has ended. The result of
 * the task becomes the result of the call.
 *
 * The caller sees no difference, but after that the call sends other methods. Its method, name and
 * params are replaced when the task is created.
 */
#define _GNU_SOURCE /* memmem() */
#include "client/client.h"

enum {
    DEFAULT_POLL_MS = 1000,
    SHORTEST_POLL_MS = 20,
    LONGEST_POLL_MS = 60000,
    MAX_TASK_ID = 1024,
    MOST_FAILURES = 3, /* number of consecutive polls that may fail */
    CANCEL_MS = 2000,  /* time-out of tasks/cancel */
};

typedef enum task_step { TASK_POLL, TASK_UPDATE, TASK_RESULT, TASK_CANCEL } task_step;

struct mcp__call_task {
    char *id;
    task_step step;
    int64_t deadline; /* of the whole task */
    int64_t poll_ms;
    unsigned failures;
    bool ended;        /* cancelling would be pointless, or has been requested */
    mcp__buf answered; /* keys of answered questions, as JSON strings between newlines */
    int rc;            /* the outcome of the call, while the step is TASK_CANCEL */
    mcp_error error;
};

void mcp__call_task_free(mcp__call *call)
{
    mcp__call_task *task = call->task;
    if (!task)
        return;
    mcp__buf_free(&task->answered);
    mcp__release(call->client->allocator, task->id);
    mcp__release(call->client->allocator, task);
    call->task = NULL;
}

/* ---- calls that may become tasks ------------------------------------------------------------- */

static const mcp_json *tasks_capability(const mcp_client *client)
{
    return mcp_json_get(mcp_client_server_capabilities(client), "tasks");
}

bool mcp__tasks_are_requested(const mcp_client *client)
{
    const mcp_json *requests = mcp_json_get(tasks_capability(client), "requests");
    return client->options.tasks && client->revision->tasks == MCP__TASKS_ASKED &&
           mcp_json_get(mcp_json_get(requests, "tools"), "call");
}

bool mcp__call_task_is_wanted(const mcp__call *call)
{
    if (call->task || call->own_task || !mcp_str_eq(call->method, MCP_STR("tools/call")) ||
        !mcp__tasks_are_requested(call->client))
        return false;
    const mcp__tool *tool = mcp__tools_find(call->client, call->name);
    return tool && (tool->needs_task ||
                    (tool->takes_task && call->options.task_mode == MCP_CALL_TASK_PREFERRED));
}

bool mcp__call_task_begins(const mcp__call *call, const mcp_json *result)
{
    const mcp_client *client = call->client;
    if (!client->options.tasks || call->task || !mcp_str_eq(call->method, MCP_STR("tools/call")))
        return false;
    if (client->revision->tasks == MCP__TASKS_EXTENSION)
        return mcp_str_eq(mcp_json_string(mcp_json_get(result, "resultType")), MCP_STR("task"));
    return call->as_task && mcp_json_is(mcp_json_get(result, "task"), MCP_JSON_OBJECT);
}

/* ---- the next request ------------------------------------------------------------------------ */

static void send_step(mcp__call *call, task_step step, int64_t due)
{
    static const mcp_str methods[] = {[TASK_POLL] = MCP_STR("tasks/get"),
                                      [TASK_UPDATE] = MCP_STR("tasks/update"),
                                      [TASK_RESULT] = MCP_STR("tasks/result"),
                                      [TASK_CANCEL] = MCP_STR("tasks/cancel")};
    bool progressed = call->progressed;
    call->task->step = step;
    call->method = methods[step];
    if (step != TASK_UPDATE)
        mcp__buf_reset(&call->input, 0);
    mcp__call_again(call, due);
    call->progressed = progressed;
}

static int64_t deadline_from(const mcp__call *call)
{
    uint64_t limit = call->options.max_timeout_ms;
    return limit < INT64_MAX / 2 ? mcp__client_now(call->client) + (int64_t)limit : INT64_MAX;
}

static void poll_later(mcp__call *call)
{
    mcp__call_task *task = call->task;
    int64_t now = mcp__client_now(call->client);
    mcp_error error;
    if (now >= task->deadline && !call->client->calls.suspended) {
        mcp__fail(&error, MCP_ETIMEOUT, 0, "the task did not end within %llu s",
                  (unsigned long long)(call->options.max_timeout_ms / 1000));
        mcp__call_finish(call, MCP_ETIMEOUT, NULL, &error);
        return;
    }
    send_step(call, TASK_POLL, now + task->poll_ms);
}

/* ---- the task's state ------------------------------------------------------------------------ */

static void finish_with(mcp__call *call, int rc, const char *what, mcp_str why)
{
    mcp_error error;
    mcp__fail(&error, rc, 0, "%s%s%.*s", what, why.len ? ": " : "",
              (int)MCP__MIN(why.len, (size_t)160), why.ptr ? why.ptr : "");
    mcp__call_finish(call, rc, NULL, &error);
}

static void read_interval(mcp__call *call, const mcp_json *state)
{
    bool by_client = call->client->revision->tasks == MCP__TASKS_ASKED;
    const mcp_json *v = mcp_json_get(state, by_client ? "pollInterval" : "pollIntervalMs");
    double ms = mcp_json_number(v, (double)call->task->poll_ms);
    if (ms >= SHORTEST_POLL_MS && ms <= LONGEST_POLL_MS)
        call->task->poll_ms = (int64_t)ms;
    else
        call->task->poll_ms = ms > LONGEST_POLL_MS ? LONGEST_POLL_MS : SHORTEST_POLL_MS;
}

/* From now on, the text of the outcome is that within the state of the task. */
static void narrow_text(mcp__call *call)
{
    mcp_channel *channel = call->client->channel;
    mcp_str state = mcp__channel_text_of(channel, MCP_STR("\"result\""));
    mcp__channel_forget_text(channel);
    channel->text = state;
}

static void take_error(mcp__call *call, const mcp_json *object)
{
    mcp_error error;
    narrow_text(call);
    if (!mcp_json_is(object, MCP_JSON_OBJECT)) {
        finish_with(call, MCP_EPROTOCOL, "the task failed without an error", (mcp_str){0});
        return;
    }
    int rc =
        mcp__client_judge(call->client, call->client->revision, 0, MCP_EREMOTE, object, &error);
    mcp__call_finish(call, rc, object, &error);
}

static void take_result(mcp__call *call, const mcp_json *result)
{
    const mcp_str method = MCP_STR("tools/call");
    mcp_error error = {0};
    if (!mcp_json_is(result, MCP_JSON_OBJECT))
        finish_with(call, MCP_EPROTOCOL, "the task is completed without a result", (mcp_str){0});
    else if (mcp__answer_check(call->client->revision, method, method, result, &error) == MCP_OK)
        mcp__call_finish(call, MCP_OK, result, NULL);
    else
        mcp__call_finish(call, MCP_EPROTOCOL, NULL, &error);
}

/* The result is part of the state of the task. */
static void take_inner_result(mcp__call *call, const mcp_json *result)
{
    narrow_text(call);
    take_result(call, result);
}

static void take_questions(mcp__call *call, const mcp_json *requests)
{
    mcp_error error = {0};
    int rc = mcp__round_begin_task(call, requests, &error);
    if (rc == MCP_ENOTFOUND)
        poll_later(call); /* the server has not processed the answers yet */
    else if (rc != MCP_OK)
        mcp__call_finish(call, rc, NULL, &error);
}

/* Handles a final `status`. Returns false if it is not final. */
static bool take_end(mcp__call *call, mcp_str status, const mcp_json *state)
{
    bool completed = mcp_str_eq(status, MCP_STR("completed"));
    bool cancelled = mcp_str_eq(status, MCP_STR("cancelled"));
    if (!completed && !cancelled && !mcp_str_eq(status, MCP_STR("failed")))
        return false;
    call->task->ended = true;
    if (cancelled)
        finish_with(call, MCP_ECANCELLED, "the server cancelled the task",
                    mcp_json_string(mcp_json_get(state, "statusMessage")));
    else if (call->client->revision->tasks == MCP__TASKS_ASKED)
        send_step(call, TASK_RESULT, 0);
    else if (completed)
        take_inner_result(call, mcp_json_get(state, "result"));
    else
        take_error(call, mcp_json_get(state, "error"));
    return true;
}

static void take_state(mcp__call *call, const mcp_json *state)
{
    mcp_str status = mcp_json_string(mcp_json_get(state, "status"));
    read_interval(call, state);
    if (call->cancelled) {
        mcp__call_fail(call, MCP_ECANCELLED);
        return;
    }
    if (call->options.task)
        call->options.task(call->client, call->handle, state, call->options.user);
    if (take_end(call, status, state))
        return;
    if (mcp_str_eq(status, MCP_STR("working")))
        poll_later(call);
    else if (!mcp_str_eq(status, MCP_STR("input_required")))
        finish_with(call, MCP_EPROTOCOL, "the task has an unknown status", status);
    else if (call->client->revision->tasks == MCP__TASKS_ASKED)
        send_step(call, TASK_RESULT, 0); /* the questions arrive while tasks/result is in flight */
    else
        take_questions(call, mcp_json_get(state, "inputRequests"));
}

/* ---- beginning and end ----------------------------------------------------------------------- */

static int make(mcp__call *call, mcp_str id)
{
    const mcp_allocator *a = call->client->allocator;
    mcp__call_task *task = mcp__zalloc(a, sizeof(*task));
    char *copy = task ? mcp__strdup(a, id) : NULL;
    mcp__buf_reset(&call->params, 0);
    mcp__buf_lit(&call->params, "\"taskId\":");
    mcp__json_put_str(&call->params, id);
    if (!copy || call->params.failed) {
        mcp__release(a, copy);
        mcp__release(a, task);
        return MCP_ENOMEM;
    }
    call->members = call->params.len;
    call->no_store = true;
    call->name = (mcp_str){copy, id.len};
    task->id = copy;
    task->poll_ms = DEFAULT_POLL_MS;
    task->deadline = deadline_from(call);
    mcp__buf_init(&task->answered, a, 0);
    call->task = task;
    return MCP_OK;
}

void mcp__call_task_begin(mcp__call *call, const mcp_json *result)
{
    bool by_client = call->client->revision->tasks == MCP__TASKS_ASKED;
    const mcp_json *state = by_client ? mcp_json_get(result, "task") : result;
    mcp_str id = mcp_json_string(mcp_json_get(state, "taskId"));
    if (!id.len || id.len > MAX_TASK_ID || memchr(id.ptr, 0, id.len)) {
        finish_with(call, MCP_EPROTOCOL, "the server made a task whose taskId cannot be used",
                    (mcp_str){0});
        return;
    }
    int rc = make(call, id);
    if (rc != MCP_OK)
        mcp__call_fail(call, rc);
    else
        take_state(call, state);
}

static void end(mcp__call *call)
{
    mcp_error error = call->task->error;
    mcp__call_finish(call, call->task->rc, NULL, &error);
}

void mcp__call_task_answered(mcp__call *call, const mcp_json *result)
{
    mcp__call_task *task = call->task;
    task->failures = 0;
    switch (task->step) {
    case TASK_POLL: take_state(call, result); break;
    case TASK_UPDATE: poll_later(call); break;
    case TASK_RESULT:
        task->ended = true;
        take_result(call, result);
        break;
    case TASK_CANCEL: end(call); break;
    }
}

bool mcp__call_task_failed(mcp__call *call, int rc)
{
    mcp__call_task *task = call->task;
    bool lost = rc == MCP_ECLOSED || rc == MCP_EIO || rc == MCP_ETIMEOUT;
    if (task->step == TASK_CANCEL) {
        end(call);
        return true;
    }
    if (rc == MCP_EREMOTE)
        task->ended = true; /* the task is unknown to the server, or has failed */
    if (!lost || task->step == TASK_UPDATE || call->cancelled ||
        !mcp__client_is_ready(call->client) || call->client->channel->closed ||
        ++task->failures > MOST_FAILURES)
        return false;
    task->ended = false;
    poll_later(call);
    return true;
}

static bool may_cancel(const mcp__call *call)
{
    const mcp_client *client = call->client;
    if (!mcp__client_is_ready(client) || client->channel->closed || !client->channel->in_use)
        return false;
    return client->revision->tasks == MCP__TASKS_EXTENSION ||
           mcp_json_get(tasks_capability(client), "cancel");
}

bool mcp__call_task_end(mcp__call *call, int *rc, mcp_error *error)
{
    mcp__call_task *task = call->task;
    if (task->step == TASK_CANCEL) { /* the call does not wait for this answer */
        *rc = task->rc;
        *error = task->error;
        return false;
    }
    if (*rc == MCP_OK || *rc == MCP_ECLOSED || task->ended || !may_cancel(call))
        return false;
    task->ended = true;
    task->rc = *rc;
    task->error = *error;
    call->options.timeout_ms = MCP__MIN(call->options.timeout_ms, (uint64_t)CANCEL_MS);
    send_step(call, TASK_CANCEL, 0);
    return true;
}

/* ---- questions of the extension -------------------------------------------------------------- */

static void put_answered_key(mcp__buf *b, mcp_str key)
{
    mcp__json_put_str(b, key);
    mcp__buf_char(b, '\n');
}

bool mcp__call_task_has_answered(const mcp__call *call, mcp_str key)
{
    bool found = false;
    mcp__buf b;
    if (!call->task || !call->task->answered.len)
        return false;
    mcp__buf_init(&b, call->client->allocator, 0);
    mcp__buf_char(&b, '\n');
    put_answered_key(&b, key);
    if (!b.failed)
        found = memmem(call->task->answered.ptr, call->task->answered.len, b.ptr, b.len) != NULL;
    mcp__buf_free(&b);
    return found;
}

int mcp__call_task_note_answer(mcp__call *call, mcp_str key)
{
    mcp__buf *b = &call->task->answered;
    if (!b->len)
        mcp__buf_char(b, '\n');
    put_answered_key(b, key);
    return b->failed;
}

void mcp__call_task_update(mcp__call *call)
{
    call->task->deadline = deadline_from(call); /* the time that the user needed is not counted */
    send_step(call, TASK_UPDATE, 0);
}

/* ---- messages about the task ----------------------------------------------------------------- */

static mcp_call_id find_task(const mcp__link *list, mcp_str id)
{
    for (mcp__link *l = list->next; l != list; l = l->next) {
        const mcp__call *call = mcp__container(l, mcp__call, link);
        if (call->task && mcp_str_eq(id, mcp_str_from(call->task->id)))
            return call->handle;
    }
    return 0;
}

mcp_call_id mcp__call_of_task(const mcp_client *client, const mcp_json *params)
{
    const mcp_json *meta = mcp_json_get(params, "_meta");
    const mcp_json *related = mcp_json_get(meta, MCP__META_RELATED_TASK);
    mcp_str id = mcp_json_string(mcp_json_get(related, "taskId"));
    if (!id.len)
        return 0;
    mcp_call_id found = find_task(&client->calls.sent, id);
    if (!found)
        found = find_task(&client->calls.queue, id);
    return found ? found : find_task(&client->calls.parked, id);
}
