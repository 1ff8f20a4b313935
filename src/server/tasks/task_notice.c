/* task_notice.c: sends notifications about the state of tasks.
 *
 * A modern peer subscribes to tasks with subscriptions/listen. A change marks the watch, and the
 * hub sends a notification at its next interval, as for resources. A new watch is marked at once if
 * the task's status is not "working". Otherwise the peer would not be notified of a task that ended
 * before the subscription arrived. In 2025-11-25, the session that created a task is notified at
 * once.
 */
#include "server/tasks/task.h"

/* ---- watches --------------------------------------------------------------------------------- */

static void watch_free(mcp__task_watch *w)
{
    mcp__session *session = w->stream->session;
    session->n_subscriptions--;
    mcp__list_remove(&w->in_stream);
    mcp__list_remove(&w->in_task);
    mcp__list_remove(&w->in_dirty);
    mcp__release(&session->server->allocator, w);
}

static void mark(mcp__task_watch *w)
{
    mcp__session *session = w->stream->session;
    if (mcp__list_empty(&w->in_dirty))
        mcp__list_append(&session->dirty_tasks, &w->in_dirty);
    mcp__hub_arm(session);
}

void mcp__task_unwatch_all(mcp__task *task)
{
    while (!mcp__list_empty(&task->watches))
        watch_free(mcp__container(task->watches.next, mcp__task_watch, in_task));
}

void mcp__task_stream_clear(mcp__stream *stream)
{
    while (!mcp__list_empty(&stream->tasks))
        watch_free(mcp__container(stream->tasks.next, mcp__task_watch, in_stream));
}

static bool is_watched(const mcp__stream *stream, mcp_str id)
{
    for (mcp__link *l = stream->tasks.next; l != &stream->tasks; l = l->next) {
        if (mcp_str_eq(mcp__container(l, mcp__task_watch, in_stream)->id, id))
            return true;
    }
    return false;
}

static int watch(mcp__stream *stream, const mcp_task *task)
{
    mcp__session *session = stream->session;
    if (session->n_subscriptions >= session->channel->options.max_subscriptions)
        return MCP_ELIMIT;
    mcp__task_watch *w = mcp__zalloc(&session->server->allocator, sizeof(*w) + task->id.len);
    if (!w)
        return MCP_ENOMEM;
    w->stream = stream;
    memcpy(w->text, task->id.ptr, task->id.len);
    w->id = (mcp_str){w->text, task->id.len};
    mcp__list_init(&w->in_task);
    mcp__list_init(&w->in_dirty);
    mcp__list_append(&stream->tasks, &w->in_stream);
    session->n_subscriptions++;
    mcp__task *live = mcp__task_live(session->server, task->id);
    if (live)
        mcp__list_append(&live->watches, &w->in_task);
    if (task->status != MCP_TASK_WORKING)
        mark(w);
    return MCP_OK;
}

/* ---- subscriptions/listen -------------------------------------------------------------------- */

static const mcp_json *wanted(const mcp_request *req, const mcp_json *filter)
{
    return req->server->tasks ? mcp_json_get(filter, "taskIds") : NULL;
}

int mcp__task_listen_check(mcp_request *req, const mcp_json *filter)
{
    const mcp_json *ids = wanted(req, filter);
    size_t max = req->in.channel->options.max_subscriptions, strings = 0;
    mcp_json_iter it = {0};
    if (!ids)
        return MCP_OK;
    for (const mcp_json *id; (id = mcp_json_next(ids, &it, NULL)) != NULL;)
        strings += mcp_json_is(id, MCP_JSON_STRING);
    if (!mcp_json_is(ids, MCP_JSON_ARRAY) || strings != mcp_json_count(ids))
        return mcp_reply_fail(
            req, MCP__INVALID_PARAMS,
            "Invalid params: \"notifications.taskIds\" must be an array of strings");
    if (strings > max)
        return mcp_reply_fail(
            req, MCP__INVALID_PARAMS,
            "Invalid params: more subscriptions than max_subscriptions (%zu) allows", max);
    return mcp_request_require(req, MCP__TASKS_CAPABILITY);
}

int mcp__task_listen(mcp_request *req, const mcp_json *filter, mcp__object *honoured)
{
    const mcp_json *ids = wanted(req, filter);
    mcp_json_iter it = {0};
    if (!ids)
        return MCP_OK;
    mcp__object_key(honoured, "taskIds");
    mcp__json_list accepted = mcp__json_begin_array(honoured->buf);
    for (const mcp_json *v; (v = mcp_json_next(ids, &it, NULL)) != NULL;) {
        mcp_task task;
        mcp_str id = mcp_json_string(v);
        int rc = mcp__task_look(req, id, &task);
        if (rc == MCP_OK && is_watched(req->stream, id))
            continue;
        if (rc == MCP_OK)
            rc = watch(req->stream, &task);
        if (rc == MCP_ENOMEM || rc == MCP_ELIMIT)
            return rc;
        if (rc != MCP_OK)
            continue;
        mcp__json_next(&accepted);
        mcp__json_put_str(honoured->buf, id);
    }
    mcp__json_end(&accepted);
    return MCP_OK;
}

/* ---- sending notifications ------------------------------------------------------------------- */

/* Returns false if out of memory. */
static bool send_state(const mcp__task_watch *w, const mcp_task *task)
{
    const mcp__stream *stream = w->stream;
    mcp_channel *channel = stream->session->channel;
    mcp__buf b = mcp__channel_take_buf(channel);
    mcp__put_notification_head(&b, MCP_STR("notifications/tasks"));
    mcp__buf_lit(&b, "{\"_meta\":{\"" MCP__META_SUBSCRIPTION "\":");
    mcp__buf_str(&b, mcp__request_id(stream->listen));
    mcp__buf_char(&b, '}');
    mcp__put_task_detail(&b, stream->listen->revision, task);
    mcp__buf_lit(&b, "}}");
    /* A notification that is too large for a message is not sent. The peer can still use
     * tasks/get. */
    bool done = b.failed != MCP_ENOMEM;
    if (!b.failed)
        mcp__channel_send(channel, stream->listen->in.exchange, mcp__buf_view(&b),
                          (mcp_output_info){0});
    mcp__channel_give_buf(channel, &b);
    return done;
}

bool mcp__task_send_notifications(mcp__session *session)
{
    const struct mcp__tasks *t = session->server->tasks;
    while (!mcp__list_empty(&session->dirty_tasks)) {
        mcp__task_watch *w = mcp__container(session->dirty_tasks.next, mcp__task_watch, in_dirty);
        mcp_task task;
        int rc = mcp__task_get(t, w->id, &task);
        if (!session->channel->writable || (rc == MCP_OK && !send_state(w, &task)))
            return false;
        if (rc != MCP_OK || mcp__task_is_final(task.status))
            watch_free(w);
        else
            mcp__list_remove(&w->in_dirty);
    }
    return true;
}

static void notify_session(const mcp__task *task)
{
    mcp_channel *channel = mcp__request_channel(task->req);
    mcp__buf b;
    if (!channel || !channel->writable)
        return; /* these notifications are optional */
    mcp__buf_init(&b, channel->allocator, 0);
    mcp__put_task_object(&b, task->req->revision, &task->state);
    if (!b.failed)
        mcp__channel_notify(channel, 0, MCP_STR("notifications/tasks/status"), mcp__buf_view(&b));
    mcp__buf_free(&b);
}

void mcp__task_announce(mcp__task *task)
{
    bool final = mcp__task_is_final(task->state.status);
    for (mcp__link *l = task->watches.next; l != &task->watches;) {
        mcp__task_watch *w = mcp__container(l, mcp__task_watch, in_task);
        l = l->next;
        mark(w);
        if (final)
            mcp__list_remove(&w->in_task);
    }
    notify_session(task);
}
