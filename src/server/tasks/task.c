/* task.c: finds, changes and ends tasks, which are calls that continue after their answer.
 *
 * A request that becomes a task is answered with the task's handle and detached from its channel.
 * Its handler continues to run, and need not know about the task. The result is written to the
 * store instead of being sent to the peer (reply.c checks req->task). tasks/get reads the store.
 * struct mcp__task is the state that this process needs while the handler runs.
 *
 * A cancelled task is final at once, although its handler may run for a long time. The task is then
 * in the list `ended` until the handler has finished.
 */
#include "server/core/seal.h"
#include "server/tasks/task.h"

/* ---- finding ------------------------------------------------------------------------------- */

int mcp__task_get(const struct mcp__tasks *t, mcp_str id, mcp_task *ret)
{
    *ret = (mcp_task){.size = sizeof(*ret)};
    return t->store.get(id, ret, t->store.user);
}

mcp__task *mcp__task_live(const mcp_server *server, mcp_str id)
{
    return mcp__map_get(&server->tasks->by_id, id);
}

static bool is_owner(const mcp_request *req, const mcp_task *task)
{
    return mcp__same_principal(mcp__request_binding(req), task->principal) &&
           mcp_str_eq(task->revision, mcp_str_from(req->revision->name));
}

bool mcp__task_is_seen(const mcp_request *req, const mcp_task *task, int64_t now)
{
    return is_owner(req, task) && mcp__task_end_ms(task) > now;
}

int mcp__task_look(const mcp_request *req, mcp_str id, mcp_task *ret)
{
    mcp_server *server = req->server;
    const struct mcp__tasks *t = server->tasks;
    if (id.len < MCP__TASK_ID || id.len > MCP_TASK_ID_BYTES)
        return MCP_ENOTFOUND;
    int rc = mcp__task_get(t, id, ret);
    if (rc == MCP_OK && !is_owner(req, ret))
        return MCP_ENOTFOUND;
    if (rc == MCP_OK && mcp__task_end_ms(ret) <= mcp__server_clock(server)) {
        mcp__task_expire(server, id);
        return MCP_ENOTFOUND;
    }
    return rc;
}

int mcp__task_find(mcp_request *req, mcp_task *ret)
{
    mcp_str id = mcp__param_string(req, "taskId");
    if (!id.ptr)
        return MCP_EINVAL;
    const mcp__task_found *found = mcp__task_found_of(req);
    int rc = found ? found->rc : mcp__task_look(req, id, ret);
    if (found)
        *ret = found->task;
    else if (rc == MCP_ENOTFOUND)
        rc = mcp__task_find_elsewhere(req, id, ret);
    if (rc == MCP_ENOTFOUND)
        return mcp_reply_fail(req, MCP__INVALID_PARAMS,
                              "Invalid params: there is no task %.*s, or it has expired",
                              mcp__shown(id), id.ptr);
    return rc;
}

/* ---- memory and names ---------------------------------------------------------------------- */

int mcp__task_charge(const mcp_server *server, mcp__task *task, size_t bytes)
{
    struct mcp__tasks *t = server->tasks;
    size_t limit = t->settings.max_running_bytes;
    if (bytes > limit - MCP__MIN(t->running_bytes, limit))
        return MCP_ELIMIT;
    t->running_bytes += bytes;
    task->bytes += bytes;
    return MCP_OK;
}

void mcp__task_free(mcp_server *server, mcp__task *task)
{
    server->tasks->running_bytes -= task->bytes;
    mcp__list_remove(&task->link);
    mcp__list_remove(&task->in_unkept);
    mcp__release(&server->allocator, task->message);
    mcp__release(&server->allocator, task->binding);
    mcp__release(&server->allocator, task);
}

mcp_str mcp__task_id(const mcp__task *task)
{
    return task->state.id;
}

mcp__session *mcp__task_session(const mcp__task *task)
{
    return task->session;
}

void mcp__task_take_buf(const mcp__task *task, mcp__buf *b)
{
    mcp__buf_init(b, &task->req->server->allocator, task->max_reply);
}

/* ---- changing and ending ------------------------------------------------------------------- */

int mcp__task_changed(mcp__task *task, mcp_str detail)
{
    const struct mcp__tasks *t = task->req->server->tasks;
    int64_t now = mcp__server_clock(task->req->server);
    mcp_task state = task->state;
    state.detail = detail;
    state.updated_ms = now > state.updated_ms ? now : state.updated_ms;
    int rc = t->store.update(&state, t->store.user);
    if (rc == MCP_OK) {
        task->state.updated_ms = state.updated_ms;
        mcp__archive_changed(task, &state);
        mcp__task_announce(task);
    }
    return rc;
}

/* Moves a task from the live tasks to `ended`. Its request is freed only when the handler
 * finishes. */
static void retire(mcp__task *task)
{
    struct mcp__tasks *t = task->req->server->tasks;
    mcp__map_remove(&t->by_id, task->state.id);
    mcp__list_remove(&task->link);
    mcp__list_append(&t->ended, &task->link);
}

/* Stores the end of a task. A result that cannot be stored is replaced with an error. If the error
 * cannot be stored either, the task is removed, because a task that never ends would be worse. */
static int keep_end(mcp__task *task, mcp_str detail)
{
    const struct mcp__tasks *t = task->req->server->tasks;
    int rc = mcp__task_changed(task, detail);
    if (rc == MCP_OK)
        return rc;
    bool large = rc == MCP_ELIMIT;
    task->state.status = MCP_TASK_FAILED;
    task->state.is_error = true;
    task->state.message = large ? MCP_STR("The result is too large to be stored (max_bytes)")
                                : MCP_STR("The result could not be stored");
    detail = large ? MCP_STR("{\"code\":-32603,\"message\":\"Internal error: the result is too "
                             "large to be stored (max_bytes)\"}")
                   : MCP_STR("{\"code\":-32603,\"message\":\"Internal error: the result could not "
                             "be stored\"}");
    rc = mcp__task_changed(task, detail);
    if (rc != MCP_OK)
        t->store.remove(task->state.id, t->store.user);
    return rc;
}

static void end(mcp__task *task, mcp_task_status status, mcp_str detail, bool is_error)
{
    const struct mcp__tasks *t = task->req->server->tasks;
    mcp_task record;
    assert(!mcp__task_is_final(task->state.status)); /* callers check this */
    task->state.status = status;
    task->state.is_error = is_error;
    int rc = keep_end(task, detail);
    if (rc != MCP_OK)
        mcp__task_unwatch_all(task);
    retire(task);
    while (mcp__task_first_waiter(task)) {
        if (rc == MCP_OK)
            rc = mcp__task_get(t, task->state.id, &record);
        mcp__task_serve_waiter(task, rc == MCP_OK ? &record : NULL);
    }
}

static void leave(mcp_request *req)
{
    mcp__request_clear(req);
    mcp__incoming_drop(&req->in);
}

/* Cancels the handler of a task. A parked request, which has no running handler, is freed. */
static void stop(mcp__task *task)
{
    mcp_request *req = task->req;
    if (mcp_request_cancelled(req))
        return;
    if (task->parked) {
        leave(req);
        return;
    }
    req->cancelled = true;
    mcp__request_stop(req);
}

void mcp__task_cancel(mcp__task *task, mcp_str message)
{
    task->state.message = message;
    mcp__task_withdraw(task);
    end(task, MCP_TASK_CANCELLED, MCP_STR(""), false);
    stop(task);
}

void mcp__task_expire(mcp_server *server, mcp_str id)
{
    const struct mcp__tasks *t = server->tasks;
    mcp__task *task = mcp__task_live(server, id);
    char copy[MCP_TASK_ID_BYTES];
    if (id.len <= sizeof(copy)) { /* id may point into the record that is removed */
        memcpy(copy, id.ptr, id.len);
        id.ptr = copy;
    }
    t->store.remove(id, t->store.user);
    if (!task)
        return;
    mcp__task_withdraw(task);
    task->state.status = MCP_TASK_CANCELLED;
    mcp__task_unwatch_all(task);
    retire(task);
    while (mcp__task_first_waiter(task))
        mcp__task_serve_waiter(task, NULL);
    stop(task);
}

/* ---- calls from reply.c -------------------------------------------------------------------- */

int mcp__task_add_meta(mcp_request *req)
{
    static const char head[] = "{\"taskId\":\"", tail[] = "\"}";
    char json[sizeof(head) + MCP_TASK_ID_BYTES + sizeof(tail)], *at = json;
    mcp_str id = req->task->state.id;
    if (req->revision->tasks != MCP__TASKS_ASKED)
        return MCP_OK;
    memcpy(at, head, sizeof(head) - 1), at += sizeof(head) - 1;
    memcpy(at, id.ptr, id.len), at += id.len;
    memcpy(at, tail, sizeof(tail) - 1), at += sizeof(tail) - 1;
    return mcp__reply_meta(req, MCP__META_RELATED_TASK, (mcp_str){json, (size_t)(at - json)});
}

void mcp__task_complete(mcp_request *req)
{
    mcp__task *task = req->task;
    bool failed = req->tool.is_error && req->revision->tasks == MCP__TASKS_ASKED;
    if (failed)
        task->state.message = MCP_STR("The tool reported an error");
    end(task, failed ? MCP_TASK_FAILED : MCP_TASK_COMPLETED, mcp__buf_view(&req->reply.out), false);
    leave(req);
}

void mcp__task_fail(mcp_request *req, int code, mcp_str message, mcp_str data)
{
    mcp__buf b;
    mcp__buf_init(&b, &req->server->allocator, 0);
    mcp__buf_lit(&b, "{\"code\":");
    mcp__json_put_int(&b, code);
    mcp__buf_lit(&b, ",\"message\":");
    mcp__json_put_str(&b, message);
    if (data.ptr) {
        mcp__buf_lit(&b, ",\"data\":");
        mcp__buf_str(&b, data);
    }
    mcp__buf_char(&b, '}');
    req->task->state.message = message;
    mcp_str detail =
        b.failed ? MCP_STR("{\"code\":-32603,\"message\":\"Internal error\"}") : mcp__buf_view(&b);
    end(req->task, MCP_TASK_FAILED, detail, true);
    mcp__buf_free(&b);
    leave(req);
}

void mcp__task_release(mcp__task *task)
{
    mcp__task_free(task->req->server, task);
}

/* ---- ends of sessions and servers ---------------------------------------------------------- */

static void forget(mcp__link *list, const mcp__session *session)
{
    for (mcp__link *l = list->next; l != list; l = l->next) {
        mcp__task *task = mcp__container(l, mcp__task, link);
        if (task->session == session)
            task->session = NULL;
    }
}

void mcp__tasks_forget(mcp_server *server, const mcp__session *session)
{
    if (!server->tasks)
        return;
    forget(&server->tasks->live, session);
    forget(&server->tasks->ended, session);
}

void mcp_server_cancel_tasks(mcp_server *server)
{
    struct mcp__tasks *t = server->tasks;
    while (t && !mcp__list_empty(&t->live))
        mcp__task_cancel(mcp__container(t->live.next, mcp__task, link),
                         MCP_STR("The server ended"));
}

void mcp__tasks_leave_host(mcp_server *server, bool cancel_all)
{
    if (cancel_all) /* handlers have timers of that host too */
        mcp_server_cancel_tasks(server);
    if (server->tasks)
        mcp__tasks_stop_timer(server);
}

void mcp__tasks_end(mcp_server *server)
{
    struct mcp__tasks *t = server->tasks;
    if (!t)
        return;
    mcp__tasks_stop_timer(server);
    mcp_server_cancel_tasks(server);
    /* Requests whose handlers have not finished. */
    while (!mcp__list_empty(&t->ended))
        leave(mcp__container(t->ended.next, mcp__task, link)->req);
}
