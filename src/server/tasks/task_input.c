/* task_input.c: input requests that a task sends to its client.
 *
 * When the handler returns MCP_INPUT_REQUIRED, the request is suspended until the answers arrive;
 * meanwhile only the task refers to it. With the tasks extension, tasks/get returns the questions
 * and tasks/update delivers the answers. In 2025-11-25 the server sends the questions as requests
 * while a tasks/result is pending. After the last answer the handler runs again.
 *
 * If an answer is invalid, the handler asks again with the same key. A task must not send a key
 * twice, so the repeated question is sent with another key.
 */
#include <mcp/sys/json.h>
#include <stdio.h>

#include "server/input/input.h"
#include "server/tasks/task.h"

enum { NAME_ROOM = MCP__MAX_KEY + 16 };

/* The key with which an answered question was sent; allocated from the request. */
typedef struct answered {
    mcp__link link; /* in task->answered */
    mcp_str name;
} answered;

/* ---- keys that are sent ---------------------------------------------------------------------- */

static bool is_used(const mcp__task *task, mcp_str name)
{
    for (mcp__link *l = task->answered.next; l != &task->answered; l = l->next) {
        if (mcp_str_eq(mcp__container(l, answered, link)->name, name))
            return true;
    }
    return false;
}

static mcp_str name_of(const mcp__task *task, const mcp__question *q, char buffer[NAME_ROOM])
{
    mcp_str name = q->key;
    for (unsigned n = 2; is_used(task, name); n++) {
        int len = snprintf(buffer, NAME_ROOM, "%.*s~%u", (int)q->key.len, q->key.ptr, n);
        name = (mcp_str){buffer, (size_t)len};
    }
    return name;
}

static mcp__question *question_named(const mcp__task *task, mcp_str name)
{
    mcp__link *questions = &task->req->input->questions;
    for (mcp__link *l = questions->next; l != questions; l = l->next) {
        char buffer[NAME_ROOM];
        mcp__question *q = mcp__container(l, mcp__question, link);
        if (mcp_str_eq(name_of(task, q, buffer), name))
            return q;
    }
    return NULL;
}

static void put_questions(const mcp__task *task, mcp__buf *b)
{
    mcp__link *questions = &task->req->input->questions;
    mcp__json_list members = mcp__json_begin_object(b);
    for (mcp__link *l = questions->next; l != questions; l = l->next) {
        char buffer[NAME_ROOM];
        const mcp__question *q = mcp__container(l, mcp__question, link);
        mcp__put_question(&members, name_of(task, q, buffer), q);
    }
    mcp__json_end(&members);
}

/* ---- parking and continuing ----------------------------------------------------------------- */

static int show_questions(mcp__task *task)
{
    mcp__buf b;
    mcp__buf_init(&b, &task->req->server->allocator, 0);
    put_questions(task, &b);
    int rc = b.failed ? b.failed : mcp__task_changed(task, mcp__buf_view(&b));
    mcp__buf_free(&b);
    return rc;
}

static void resume(mcp__task *task)
{
    task->parked = false;
    task->state.status = MCP_TASK_WORKING;
}

static void give_up(mcp__task *task, int rc)
{
    mcp__task_withdraw(task);
    resume(task);
    task->req->state = MCP__REQUEST_RUNNING;
    mcp__request_finish(task->req, rc);
}

void mcp__task_park(mcp_request *req)
{
    mcp__task *task = req->task;
    req->state = MCP__REQUEST_WAITING;
    req->input->responses = NULL; /* those of the call have been read */
    task->parked = true;
    task->state.status = MCP_TASK_INPUT_REQUIRED;
    int rc = show_questions(task);
    if (rc != MCP_OK)
        give_up(task, rc);
    else
        mcp__task_ask(task);
}

static void run_again(mcp__task *task)
{
    resume(task);
    int rc = mcp__task_changed(task, MCP_STR(""));
    if (rc == MCP_OK)
        mcp__input_rerun(task->req);
    else
        give_up(task, rc);
}

/* Counts the memory of an answer, which is kept while the task runs. */
static int charge(mcp__task *task, const mcp_json *value)
{
    mcp__buf b;
    mcp__buf_init(&b, &task->req->server->allocator, 0);
    mcp__json_put_value(&b, value);
    int rc = b.failed ? b.failed : mcp__task_charge(task->req->server, task, b.len);
    mcp__buf_free(&b);
    return rc;
}

/* Stores an answer and removes its question. */
static int give(mcp__task *task, mcp__question *q, const mcp_json *value, mcp_str text,
                bool refused)
{
    mcp_request *req = task->req;
    char buffer[NAME_ROOM];
    answered *a = mcp_request_alloc(req, sizeof(*a));
    char *name = mcp_request_strdup(req, name_of(task, q, buffer));
    int rc = a && name ? charge(task, value) : MCP_ENOMEM;
    if (rc == MCP_OK)
        rc = mcp__input_give(req, q->key, value, text, refused);
    if (rc != MCP_OK)
        return rc;
    a->name = mcp_str_from(name);
    mcp__list_append(&task->answered, &a->link);
    return MCP_OK;
}

/* ---- the extension: tasks/update ------------------------------------------------------------- */

int mcp__task_answer(mcp__task *task, const mcp_json *answers, mcp_str text)
{
    mcp_json_iter it = {0};
    mcp_json_text_iter at = {0};
    mcp_str name;
    bool any = false;
    int rc = MCP_OK;
    for (const mcp_json *v; rc == MCP_OK && (v = mcp_json_next(answers, &it, &name)) != NULL;) {
        mcp__question *q = question_named(task, name);
        mcp_str answer = {0};
        (void)mcp_json_text_next(text, &at, NULL, &answer);
        rc = q ? give(task, q, v, answer, false) : MCP_OK;
        any |= q != NULL;
    }
    if (any && task->req->input->n_questions) {
        int shown = show_questions(task);
        rc = rc == MCP_OK ? shown : rc;
    } else if (any) {
        run_again(task);
    }
    return rc;
}

/* ---- 2025-11-25: requests of the server ------------------------------------------------------ */

/* Writes the members of an object, except one. */
static void put_members(mcp__json_list *to, mcp_str object, mcp_str except)
{
    mcp_json_text_iter it = {0};
    mcp_str key, value;
    while (mcp_json_text_next(object, &it, &key, &value)) {
        if (mcp_str_eq(key, except))
            continue;
        mcp__json_next(to);
        mcp__buf_str(to->buf, key);
        mcp__buf_char(to->buf, ':');
        mcp__buf_str(to->buf, value);
    }
}

/* Writes the params, with the task's id in their _meta. */
static int put_related(const mcp__task *task, const mcp__question *q, mcp__buf *b)
{
    static const mcp_str meta_key = {"\"_meta\"", 7},
                         related = {"\"" MCP__META_RELATED_TASK "\"",
                                    sizeof(MCP__META_RELATED_TASK) + 1};
    mcp_str meta = mcp__json_text_get(q->params, 0, meta_key);
    mcp__json_list params = mcp__json_begin_object(b);
    mcp__json_name(&params, "_meta");
    mcp__json_list members = mcp__json_begin_object(b);
    mcp__json_name(&members, MCP__META_RELATED_TASK);
    mcp__buf_lit(b, "{\"taskId\":");
    mcp__json_put_str(b, task->state.id);
    mcp__buf_char(b, '}');
    if (meta.ptr && meta.ptr[0] == '{')
        put_members(&members, meta, related);
    mcp__json_end(&members);
    put_members(&params, q->params, meta_key);
    mcp__json_end(&params);
    return b->failed;
}

static int no_answer(mcp_request *req, const mcp__question *q)
{
    return mcp_reply_fail(req, MCP__INTERNAL_ERROR, "The client did not answer %.*s within %llu ms",
                          (int)q->method.len, q->method.ptr,
                          (unsigned long long)req->server->options.input_timeout_ms);
}

static void take_answer(mcp_channel *channel, int rc, const mcp_json *result, void *user)
{
    mcp__question *q = user;
    mcp_request *req = q->req;
    mcp__task *task = req->task;
    if (rc == MCP_ETIMEOUT)
        mcp__input_notify_abandoned(channel, task->question_exchange, q->id);
    q->id = 0;
    if (--req->input->n_sent == 0)
        task->question_channel = NULL;
    if (rc == MCP_ECLOSED)
        return; /* sent again with the next tasks/result */
    if (rc == MCP_OK || rc == MCP_EREMOTE)
        rc = give(task, q, result, mcp__input_text(channel, rc == MCP_EREMOTE), rc == MCP_EREMOTE);
    else if (rc == MCP_ETIMEOUT)
        rc = no_answer(req, q);
    if (rc == MCP_ELIMIT)
        rc = mcp_reply_fail(
            req, MCP__INTERNAL_ERROR,
            "Internal error: the client's answers are too large (max_running_bytes)");
    if (rc != MCP_OK)
        give_up(task, rc);
    else if (req->input->n_questions == 0)
        run_again(task);
}

static int send_question(mcp__task *task, mcp__question *q, const mcp_request *waiting)
{
    mcp_request *req = task->req;
    mcp__buf params;
    mcp__buf_init(&params, &req->server->allocator, 0);
    int rc = put_related(task, q, &params);
    if (rc == MCP_OK)
        rc = mcp__channel_request(waiting->in.channel, waiting->in.exchange, q->method,
                                  mcp__buf_view(&params), req->server->options.input_timeout_ms,
                                  take_answer, q, &q->id);
    mcp__buf_free(&params);
    if (rc == MCP_OK) {
        req->input->n_sent++;
        task->question_channel = waiting->in.channel;
        task->question_exchange = waiting->in.exchange;
    }
    return rc;
}

/* Returns a tasks/result whose client can answer. Without a session, as over HTTP and from another
 * instance, an answer would not come to the channel of the request. */
static const mcp_request *answerable(const mcp__task *task)
{
    for (mcp__link *l = task->waiters.next; l != &task->waiters; l = l->next) {
        const mcp_request *req = mcp__container(l, mcp_request, waiter);
        const mcp__session *session = req->in.channel->state;
        if (session->initialize)
            return req;
    }
    return NULL;
}

void mcp__task_ask(mcp__task *task)
{
    const mcp_request *waiting = answerable(task);
    if (!task->parked || task->req->revision->tasks != MCP__TASKS_ASKED || !waiting ||
        task->question_channel)
        return;
    mcp__link *questions = &task->req->input->questions;
    for (mcp__link *l = questions->next; l != questions; l = l->next) {
        int rc = send_question(task, mcp__container(l, mcp__question, link), waiting);
        if (rc == MCP_ECLOSED)
            return;
        if (rc != MCP_OK) {
            give_up(task, rc);
            return;
        }
    }
}

void mcp__task_withdraw_one(mcp__task *task, mcp__question *q)
{
    struct mcp__input *input = task->req->input;
    mcp__list_remove(&q->link);
    input->n_questions--;
    if (q->id) {
        if (task->question_channel && mcp__channel_forget(task->question_channel, q->id))
            mcp__input_notify_abandoned(task->question_channel, task->question_exchange, q->id);
        q->id = 0;
        if (--input->n_sent == 0)
            task->question_channel = NULL;
    }
    if (!task->parked)
        return;
    int rc = input->n_questions ? show_questions(task) : MCP_OK;
    if (rc != MCP_OK)
        give_up(task, rc);
    else if (input->n_questions == 0)
        run_again(task);
}

void mcp__task_withdraw(mcp__task *task)
{
    struct mcp__input *input = task->req->input;
    mcp_channel *channel = task->question_channel;
    task->question_channel = NULL;
    if (!channel || !input)
        return;
    for (mcp__link *l = input->questions.next; l != &input->questions; l = l->next) {
        mcp__question *q = mcp__container(l, mcp__question, link);
        if (q->id && mcp__channel_forget(channel, q->id))
            mcp__input_notify_abandoned(channel, task->question_exchange, q->id);
        q->id = 0;
    }
    input->n_sent = 0;
}
