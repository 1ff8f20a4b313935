/* task.c: tasks, calls that continue after their answer: creation, changes, end.
 *
 * A request that becomes a task is answered with the task's handle and detached from its channel;
 * its handler does not notice. Its result goes to the store instead of the peer (reply.c checks
 * req->task). tasks/get reads the store; struct mcp__task is what this process needs while the
 * handler runs.
 *
 * What may surprise: a cancelled task is final at once, while its handler may run on for long. Its
 * request is then in `over` until the handler has finished.
 */
#include "server/core/seal.h"
#include "server/tasks/task.h"

enum {
    MIN_TTL_MS = 1000,    /* a shorter life would leave no time to read the task */
    LOOK_AGAIN_MS = 1000, /* shortest interval between searches of the store */
    CALL_BYTES =
        1024, /* counted for a call besides its message, because its handler may outlive its task */
};

/* ---- time ---------------------------------------------------------------------------------------------- */

static int64_t end_of(const mcp_task *task)
{
    return task->created_ms + (int64_t)MCP__MIN(task->ttl_ms, (uint64_t)INT64_MAX / 4);
}

static void on_timer(void *arg);

static void stop_timer(mcp_server *server)
{
    struct mcp__tasks *t = server->tasks;
    if (t->timer)
        server->host.timer_stop(t->timer, server->host.user);
    t->timer = NULL;
}

/* Schedules a search for expired tasks at `end`. Without timers, or memory for one, the channels'
 * ticks do it. */
static void due_at(mcp_server *server, int64_t end)
{
    struct mcp__tasks *t = server->tasks;
    if (end >= t->due)
        return;
    t->due = end;
    if (!server->has_host || !server->host.timer_start || !server->host.timer_stop)
        return;
    stop_timer(server);
    int64_t ms = end - mcp__server_clock(server);
    if (ms < LOOK_AGAIN_MS)
        ms = LOOK_AGAIN_MS;
    t->timer = server->host.timer_start((uint64_t)ms, on_timer, server, server->host.user);
}

typedef struct sweep {
    mcp_server *server;
    int64_t now, next;
} sweep;

static void expire(mcp_server *server, mcp_str id);

int mcp__task_get(const struct mcp__tasks *t, mcp_str id, mcp_task *ret)
{
    *ret = (mcp_task){.size = sizeof(*ret)};
    return t->store.get(id, ret, t->store.user);
}

static int sweep_one(const mcp_task *given, void *arg)
{
    sweep *s = arg;
    mcp_task task;
    int rc = MCP__TAKE(&task, given, mcp_task, NULL);
    if (rc != MCP_OK)
        return rc;
    int64_t end = end_of(&task);
    if (end <= s->now)
        expire(s->server, task.id);
    else
        s->next = MCP__MIN(s->next, end);
    return MCP_OK;
}

void mcp__tasks_tick(mcp_server *server)
{
    struct mcp__tasks *t = server->tasks;
    if (!t || t->due == INT64_MAX)
        return;
    sweep s = {server, mcp__server_clock(server), INT64_MAX};
    if (s.now < t->due)
        return;
    stop_timer(server);
    t->due = INT64_MAX;
    t->store.list(0, sweep_one, &s, t->store.user);
    due_at(server, s.next);
}

static void on_timer(void *arg)
{
    mcp_server *server = arg;
    struct mcp__tasks *t = server->tasks;
    int64_t due = t->due;
    mcp__tasks_tick(server);
    if (t->due != due)
        return;
    stop_timer(server); /* the calendar clock was set back */
    mcp__tasks_enter_host(server);
}

int64_t mcp__tasks_deadline(const mcp_channel *channel)
{
    const mcp__session *session = channel->state;
    const struct mcp__tasks *t = session->server->tasks;
    if (t->due == INT64_MAX || t->timer)
        return INT64_MAX;
    int64_t left = t->due - mcp__server_clock(session->server);
    return channel->now + (left > 0 ? left : 0);
}

/* ---- finding ------------------------------------------------------------------------------------------------ */

mcp__task *mcp__task_live(const mcp_server *server, mcp_str id)
{
    return mcp__map_get(&server->tasks->by_id, id);
}

static bool is_owner(const mcp_request *req, const mcp_task *task)
{
    return mcp__same_principal(mcp__request_principal_str(req), task->principal) &&
           mcp_str_eq(task->revision, mcp_str_from(req->revision->name));
}

bool mcp__task_is_seen(const mcp_request *req, const mcp_task *task, int64_t now)
{
    return is_owner(req, task) && end_of(task) > now;
}

int mcp__task_look(const mcp_request *req, mcp_str id, mcp_task *ret)
{
    mcp_server *server = req->server;
    const struct mcp__tasks *t = server->tasks;
    if (id.len != MCP__TASK_ID)
        return MCP_ENOTFOUND;
    int rc = mcp__task_get(t, id, ret);
    if (rc == MCP_OK && !is_owner(req, ret))
        return MCP_ENOTFOUND;
    if (rc == MCP_OK && end_of(ret) <= mcp__server_clock(server)) {
        expire(server, id);
        return MCP_ENOTFOUND;
    }
    return rc;
}

int mcp__task_find(mcp_request *req, mcp_task *ret)
{
    mcp_str id = mcp__param_string(req, "taskId");
    if (!id.ptr)
        return MCP_EINVAL;
    int rc = mcp__task_look(req, id, ret);
    if (rc == MCP_ENOTFOUND)
        return mcp_reply_fail(req, MCP__INVALID_PARAMS,
                              "Invalid params: there is no task %.*s, or its time is over",
                              mcp__shown(id), id.ptr);
    return rc;
}

/* ---- creating ------------------------------------------------------------------------------- */

static const mcp_json *asked_for(const mcp_request *req)
{
    return mcp_json_get(req->in.message.params, "task");
}

/* Whether the peer that made this call supports tasks. */
static bool can_have_task(const mcp_request *req)
{
    if (!req->server->tasks || !req->in.channel || !req->target.entry ||
        req->target.entry->task_support == MCP_TASK_FORBIDDEN)
        return false;
    switch (req->revision->tasks) {
    case MCP__TASKS_NONE: return false;
    case MCP__TASKS_ASKED: return asked_for(req) != NULL;
    case MCP__TASKS_EXTENSION: return mcp_request_can(req, MCP__TASKS_CAPABILITY);
    }
    return false;
}

int mcp__task_charge(const mcp_server *server, mcp__task *task, size_t bytes)
{
    struct mcp__tasks *t = server->tasks;
    size_t most = t->settings.max_running_bytes;
    if (bytes > most - MCP__MIN(t->running_bytes, most))
        return MCP_ELIMIT;
    t->running_bytes += bytes;
    task->bytes += bytes;
    return MCP_OK;
}

static void task_free(mcp_server *server, mcp__task *task)
{
    server->tasks->running_bytes -= task->bytes;
    mcp__list_remove(&task->link);
    mcp__release(&server->allocator, task->message);
    mcp__release(&server->allocator, task->principal);
    mcp__release(&server->allocator, task);
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
    mcp__list_init(&task->answered);
    task->req = req;
    task->max_reply = req->in.channel->options.max_reply;
    if (req->revision->tasks == MCP__TASKS_ASKED)
        task->session = req->in.channel->state;
    mcp_str principal = mcp__request_principal_str(req);
    if (principal.ptr) {
        task->principal = mcp__strdup(&server->allocator, principal);
        if (!task->principal) {
            task_free(server, task);
            return NULL;
        }
    }
    return task;
}

static int set_id(const mcp_server *server, mcp__task *task)
{
    unsigned char bytes[16];
    char text[MCP__BASE64_SIZE(sizeof(bytes))];
    int rc = mcp__server_random(server, bytes, sizeof(bytes));
    if (rc != MCP_OK)
        return rc;
    size_t len = mcp__base64url_encode(text, bytes, sizeof(bytes));
    assert(len == MCP__TASK_ID);
    memcpy(task->id, text, len);
    task->state.id = (mcp_str){task->id, len};
    return MCP_OK;
}

static uint64_t clamp_ttl(const struct mcp__tasks *t, uint64_t ttl_ms)
{
    if (ttl_ms < MIN_TTL_MS)
        ttl_ms = MIN_TTL_MS;
    return MCP__MIN(ttl_ms, t->settings.max_ttl_ms);
}

/* Returns the ttl that a client of 2025-11-25 requested; 0: none. */
static uint64_t asked_ttl(const mcp_request *req)
{
    double ttl = mcp_json_number(mcp_json_get(asked_for(req), "ttl"), 0);
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
    task->state.principal = mcp_str_from(task->principal);
    task->state.revision = mcp_str_from(req->revision->name);
    task->state.created_ms = task->state.updated_ms = mcp__server_clock(req->server);
    task->state.ttl_ms = clamp_ttl(t, ttl ? ttl : t->settings.default_ttl_ms);
    task->state.poll_ms = o->poll_ms ? o->poll_ms : t->settings.poll_ms;
    task->state.message = task->state.detail = MCP_STR("");
    int rc = o->message ? set_message(req->server, task, o->message) : MCP_OK;
    return rc == MCP_OK ? set_id(req->server, task) : rc;
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

/* Enters the task into the tables and the store, then answers the request, which is thereby
 * detached from its channel. */
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
        due_at(server, end_of(&task->state));
        mcp__incoming_answer(&req->in, mcp__buf_view(&b));
    }
    mcp__channel_give_buf(channel, &b);
    return rc;
}

static int make(mcp_request *req, const mcp_task_options *o)
{
    mcp__tasks_tick(req->server); /* expired tasks make room */
    mcp__task *task = task_new(req);
    int rc = task ? describe(req, task, o) : MCP_ENOMEM;
    if (rc == MCP_OK)
        rc = start(req, task);
    if (rc != MCP_OK && task)
        task_free(req->server, task);
    if (rc == MCP_ELIMIT)
        mcp_reply_fail(
            req, MCP__INTERNAL_ERROR,
            "Internal error: too many tasks (max_tasks, max_tasks_per_principal, max_bytes, "
            "max_running_bytes): try again later");
    return rc;
}

/* Handles a call of a client of 2025-11-25 that asks for a task. */
static int make_asked(mcp_request *req, const mcp_json *asked)
{
    const mcp_json *ttl = mcp_json_get(asked, "ttl");
    if (!mcp_json_is(asked, MCP_JSON_OBJECT) || (ttl && !(mcp_json_number(ttl, -1) >= 0)))
        return mcp_reply_fail(req, MCP__INVALID_PARAMS,
                              "Invalid params: \"task\" must be an object, its \"ttl\" a number of "
                              "milliseconds");
    if (req->target.entry->task_support == MCP_TASK_FORBIDDEN)
        return mcp_reply_fail(req, MCP__METHOD_NOT_FOUND,
                              "Method not found: tool %s cannot be called as a task",
                              req->target.entry->key.ptr);
    return make(req, MCP_OPTIONS(mcp_task_options, 0));
}

int mcp__task_begin(mcp_request *req)
{
    const mcp_json *asked = asked_for(req);
    const mcp__entry *tool = req->target.entry;
    mcp__tasks_form form = req->revision->tasks;
    if (form == MCP__TASKS_ASKED && req->server->tasks && asked)
        return make_asked(req, asked);
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
    due_at(server, end_of(&task->state));
    return rc;
}

int mcp_request_task(mcp_request *req, const mcp_task_options *options)
{
    mcp_task_options o;
    if (MCP__TAKE_OPTIONAL(&o, options, mcp_task_options, NULL) != MCP_OK)
        return MCP_EINVAL;
    if (req->task)
        return change(req->task, &o);
    if (!req->target.entry || req->target.entry->task_support == MCP_TASK_FORBIDDEN ||
        req->reply.begun || req->error.code)
        return MCP_ESTATE;
    return can_have_task(req) && !mcp_request_cancelled(req) ? make(req, &o) : MCP_OK;
}

const char *mcp_request_task_id(const mcp_request *req)
{
    return req->task ? req->task->id : NULL;
}

int mcp_request_task_message(mcp_request *req, const char *message)
{
    return req->task && message
               ? change(req->task, MCP_OPTIONS(mcp_task_options, .message = message))
               : MCP_OK;
}

const char *mcp__task_principal(const mcp__task *task)
{
    return task->principal;
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

/* ---- changing and ending -------------------------------------------------------------------- */

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
        mcp__task_announce(task);
    }
    return rc;
}

/* Removes a task from the live ones. Its request belongs to its handler until that finishes. */
static void retire(mcp__task *task)
{
    struct mcp__tasks *t = task->req->server->tasks;
    mcp__map_remove(&t->by_id, task->state.id);
    mcp__list_remove(&task->link);
    mcp__list_append(&t->over, &task->link);
}

/* Stores the end of a task. A result that cannot be stored is replaced with an error. If that
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
    task->state.message = large ? MCP_STR("The result is larger than what may be kept (max_bytes)")
                                : MCP_STR("The result could not be kept");
    detail = large ? MCP_STR("{\"code\":-32603,\"message\":\"Internal error: the result is larger "
                             "than what may be kept (max_bytes)\"}")
                   : MCP_STR("{\"code\":-32603,\"message\":\"Internal error: the result could not "
                             "be kept\"}");
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

static void expire(mcp_server *server, mcp_str id)
{
    const struct mcp__tasks *t = server->tasks;
    mcp__task *task = mcp__task_live(server, id);
    char copy[MCP__TASK_ID];
    if (id.len == sizeof(copy)) { /* id may point into the record that is removed */
        memcpy(copy, id.ptr, sizeof(copy));
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

/* ---- calls from reply.c --------------------------------------------------------------------- */

int mcp__task_add_meta(mcp_request *req)
{
    static const char head[] = "{\"taskId\":\"", tail[] = "\"}";
    char json[sizeof(head) + MCP__TASK_ID + sizeof(tail)], *at = json;
    if (req->revision->tasks != MCP__TASKS_ASKED)
        return MCP_OK;
    memcpy(at, head, sizeof(head) - 1), at += sizeof(head) - 1;
    memcpy(at, req->task->id, MCP__TASK_ID), at += MCP__TASK_ID;
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
    task_free(task->req->server, task);
}

/* ---- ends of sessions and servers ----------------------------------------------------------- */

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
    forget(&server->tasks->over, session);
}

void mcp_server_cancel_tasks(mcp_server *server)
{
    struct mcp__tasks *t = server->tasks;
    while (t && !mcp__list_empty(&t->live))
        mcp__task_cancel(mcp__container(t->live.next, mcp__task, link),
                         MCP_STR("The server ended"));
}

void mcp__tasks_leave_host(mcp_server *server, bool for_good)
{
    if (for_good) /* handlers have timers of that host too */
        mcp_server_cancel_tasks(server);
    if (server->tasks)
        stop_timer(server);
}

void mcp__tasks_enter_host(mcp_server *server)
{
    struct mcp__tasks *t = server->tasks;
    if (!t || t->due == INT64_MAX)
        return;
    int64_t due = t->due;
    t->due = INT64_MAX;
    due_at(server, due);
}

void mcp__tasks_end(mcp_server *server)
{
    struct mcp__tasks *t = server->tasks;
    if (!t)
        return;
    stop_timer(server);
    mcp_server_cancel_tasks(server);
    /* Requests whose handlers have not finished. */
    while (!mcp__list_empty(&t->over))
        leave(mcp__container(t->over.next, mcp__task, link)->req);
}
