/* task_make.c: creates tasks from calls, at the request of the client or of the tool, and changes
 * them for their handlers.
 */
#include <mcp/input.h>
#include <mcp/sys/forward.h>

#include "server/core/seal.h"
#include "server/tasks/task.h"

enum {
    MIN_TTL_MS = 1000, /* a shorter time would not suffice to read the task */
    CALL_BYTES = 1024, /* counted besides the message, because a handler may outlive its task */
};

static const mcp_json *task_param(const mcp_request *req)
{
    return mcp_json_get(req->in.message.params, "task");
}

/* Returns whether the call can be a task, as far as its tool is concerned. */
static bool tool_takes_task(const mcp_request *req)
{
    const mcp__entry *tool = req->target.entry;
    return tool ? tool->task_support != MCP_TASK_FORBIDDEN : req->target.takes_task;
}

/* Returns whether the peer that made this call supports tasks. */
static bool can_have_task(const mcp_request *req)
{
    if (!req->server->tasks || !req->in.channel || !tool_takes_task(req))
        return false;
    switch (req->revision->tasks) {
    case MCP__TASKS_NONE: return false;
    case MCP__TASKS_ASKED: return task_param(req) != NULL;
    case MCP__TASKS_EXTENSION: return mcp_request_can(req, MCP__TASKS_CAPABILITY);
    }
    return false;
}

static mcp__task *task_new(mcp_request *req)
{
    mcp_server *server = req->server;
    mcp__task *task = mcp__zalloc(&server->allocator, sizeof(*task));
    if (!task)
        return NULL;
    mcp__list_init(&task->link);
    mcp__list_init(&task->waiters);
    mcp__list_init(&task->watches);
    mcp__list_init(&task->in_unkept);
    mcp__list_init(&task->answered);
    task->req = req;
    task->max_reply = req->in.channel->options.max_reply;
    if (req->revision->tasks == MCP__TASKS_ASKED)
        task->session = req->in.channel->state;
    mcp_str binding = mcp__request_binding(req);
    if (binding.ptr) {
        task->binding = mcp__strdup(&server->allocator, binding);
        if (!task->binding) {
            mcp__task_free(server, task);
            return NULL;
        }
    }
    return task;
}

static uint64_t clamp_ttl(const struct mcp__tasks *t, uint64_t ttl_ms)
{
    if (ttl_ms < MIN_TTL_MS)
        ttl_ms = MIN_TTL_MS;
    return MCP__MIN(ttl_ms, t->settings.max_ttl_ms);
}

/* Returns the ttl that a client of 2025-11-25 requested, or 0 if none. */
static uint64_t asked_ttl(const mcp_request *req)
{
    double ttl = mcp_json_number(mcp_json_get(task_param(req), "ttl"), 0);
    return ttl < 1 ? 0 : ttl < 9e15 ? (uint64_t)ttl : UINT64_MAX;
}

static int set_message(const mcp_server *server, mcp__task *task, const char *message)
{
    mcp_str text = mcp_str_from(message);
    if (mcp__utf8_valid(text.ptr, text.len) != text.len)
        return MCP_EINVAL;
    char *copy = mcp__strdup(&server->allocator, text);
    if (!copy)
        return MCP_ENOMEM;
    mcp__release(&server->allocator, task->message);
    task->message = copy;
    task->state.message = (mcp_str){copy, text.len};
    return MCP_OK;
}

static int describe(const mcp_request *req, mcp__task *task, const mcp_task_options *o)
{
    const struct mcp__tasks *t = req->server->tasks;
    uint64_t ttl = o->ttl_ms;
    if (!ttl && req->revision->tasks == MCP__TASKS_ASKED)
        ttl = asked_ttl(req);
    task->state.size = sizeof(task->state);
    task->state.principal = mcp_str_from(task->binding);
    task->state.revision = mcp_str_from(req->revision->name);
    task->state.created_ms = task->state.updated_ms = mcp__server_clock(req->server);
    task->state.ttl_ms = clamp_ttl(t, ttl ? ttl : t->settings.default_ttl_ms);
    task->state.poll_ms = o->poll_ms ? o->poll_ms : t->settings.poll_ms;
    task->state.message = task->state.detail = MCP_STR("");
    int rc = o->message ? set_message(req->server, task, o->message) : MCP_OK;
    return rc == MCP_OK ? mcp__task_set_id(req->server, task) : rc;
}

/* Writes the task's handle as the answer to the request. */
static void put_handle(const mcp_request *req, const mcp__task *task, mcp__buf *b)
{
    mcp__put_result_head(b, mcp__request_id(req));
    if (req->revision->tasks == MCP__TASKS_EXTENSION) {
        mcp__buf_lit(b, "{\"resultType\":\"task\"");
        mcp__put_task(b, req->revision, &task->state);
        mcp__buf_lit(b, ",\"_meta\":{\"" MCP__META_SERVER_INFO "\":");
        mcp__buf_str(b, req->server->info[mcp__revision_index(req->revision)]);
        mcp__buf_lit(b, "}}}");
    } else {
        mcp__buf_lit(b, "{\"task\":");
        mcp__put_task_object(b, req->revision, &task->state);
        mcp__buf_lit(b, "}}");
    }
}

/* Adds the task to the map and the store, then answers the request. This detaches the request from
 * its channel. */
static int start(mcp_request *req, mcp__task *task)
{
    mcp_server *server = req->server;
    struct mcp__tasks *t = server->tasks;
    mcp_channel *channel = req->in.channel;
    mcp__deadline_stop(req);
    mcp__buf b = mcp__channel_take_buf(channel);
    put_handle(req, task, &b);
    int rc = b.failed ? b.failed : mcp__task_charge(server, task, CALL_BYTES + req->in.bytes);
    if (rc == MCP_OK)
        rc = mcp__map_add(&t->by_id, task->state.id, task);
    if (rc == MCP_OK && (rc = t->store.add(&task->state, t->store.user)) != MCP_OK)
        mcp__map_remove(&t->by_id, task->state.id);
    if (rc == MCP_OK) {
        mcp__list_append(&t->live, &task->link);
        req->task = task;
        mcp__archive_changed(task, &task->state);
        mcp__tasks_due_at(server, mcp__task_end_ms(&task->state));
        mcp__incoming_answer(&req->in, mcp__buf_view(&b));
    }
    mcp__channel_give_buf(channel, &b);
    return rc;
}

static int make(mcp_request *req, const mcp_task_options *o)
{
    mcp__tasks_tick(req->server); /* may make room by removing expired tasks */
    mcp__task *task = task_new(req);
    int rc = task ? describe(req, task, o) : MCP_ENOMEM;
    if (rc == MCP_OK)
        rc = start(req, task);
    if (rc != MCP_OK && task)
        mcp__task_free(req->server, task);
    if (rc == MCP_ELIMIT)
        mcp_reply_fail(
            req, MCP__INTERNAL_ERROR,
            "Internal error: too many tasks (max_tasks, max_tasks_per_principal, max_bytes, "
            "max_running_bytes): try again later");
    return rc;
}

/* Handles a call that requests a task (2025-11-25). */
static int make_asked(mcp_request *req, const mcp_json *by_client)
{
    const mcp_json *ttl = mcp_json_get(by_client, "ttl");
    if (!mcp_json_is(by_client, MCP_JSON_OBJECT) || (ttl && !(mcp_json_number(ttl, -1) >= 0)))
        return mcp_reply_fail(req, MCP__INVALID_PARAMS,
                              "Invalid params: \"task\" must be an object, its \"ttl\" a number of "
                              "milliseconds");
    if (!tool_takes_task(req))
        return mcp_reply_fail(req, MCP__METHOD_NOT_FOUND,
                              "Method not found: tool %s cannot be called as a task",
                              req->target.entry->key.ptr);
    return make(req, MCP_OPTIONS(mcp_task_options, 0));
}

int mcp__task_begin(mcp_request *req)
{
    const mcp_json *by_client = task_param(req);
    const mcp__entry *tool = req->target.entry;
    mcp__tasks_form form = req->revision->tasks;
    if (form == MCP__TASKS_ASKED && req->server->tasks && by_client)
        return make_asked(req, by_client);
    if (tool->task_support != MCP_TASK_REQUIRED || can_have_task(req))
        return MCP_OK;
    if (form == MCP__TASKS_ASKED)
        return mcp_reply_fail(req, MCP__METHOD_NOT_FOUND,
                              "Method not found: tool %s can only be called as a task",
                              tool->key.ptr);
    if (form == MCP__TASKS_EXTENSION)
        return mcp_request_require(req, MCP__TASKS_CAPABILITY);
    return mcp_reply_fail(req, req->revision->missing_capability_code,
                          "Tool %s can only be called as a task, which revision %s does not have",
                          tool->key.ptr, req->revision->name);
}

static int change(mcp__task *task, const mcp_task_options *o)
{
    mcp_server *server = task->req->server;
    if (task->state.status != MCP_TASK_WORKING || !(o->message || o->ttl_ms || o->poll_ms))
        return MCP_OK;
    int rc = o->message ? set_message(server, task, o->message) : MCP_OK;
    if (rc != MCP_OK)
        return rc;
    if (o->ttl_ms)
        task->state.ttl_ms = clamp_ttl(server->tasks, o->ttl_ms);
    if (o->poll_ms)
        task->state.poll_ms = o->poll_ms;
    rc = mcp__task_changed(task, MCP_STR(""));
    mcp__tasks_due_at(server, mcp__task_end_ms(&task->state));
    return rc;
}

int mcp_request_task(mcp_request *req, const mcp_task_options *options)
{
    mcp_task_options o;
    if (MCP__TAKE_OPTIONAL(&o, options, mcp_task_options, NULL) != MCP_OK)
        return MCP_EINVAL;
    if (req->task)
        return change(req->task, &o);
    if (!tool_takes_task(req) || req->reply.begun || req->error.code)
        return MCP_ESTATE;
    return can_have_task(req) && !mcp_request_cancelled(req) ? make(req, &o) : MCP_OK;
}

int mcp_request_task_asked(mcp_request *req)
{
    const mcp_json *by_client = task_param(req);
    if (req->revision->tasks != MCP__TASKS_ASKED || !req->server->tasks || !by_client || req->task)
        return MCP_OK;
    if (req->target.entry || !req->target.takes_task || !req->in.channel)
        return MCP_ESTATE;
    return make_asked(req, by_client);
}

const char *mcp_request_task_id(const mcp_request *req)
{
    return req->task ? req->task->id : NULL;
}

int mcp_request_task_message(mcp_request *req, const char *message)
{
    bool is_new =
        req->task && message && !mcp_str_eq(req->task->state.message, mcp_str_from(message));
    return is_new ? change(req->task, MCP_OPTIONS(mcp_task_options, .message = message)) : MCP_OK;
}
