/* task_time.c: removes expired tasks. The store is searched when its first task expires, from a
 * timer of the host or at a tick of a channel.
 */
#include "server/core/seal.h"
#include "server/tasks/task.h"

enum { MIN_INTERVAL_MS = 1000 }; /* shortest interval between searches of the store */

static void on_timer(void *arg);

void mcp__tasks_stop_timer(mcp_server *server)
{
    struct mcp__tasks *t = server->tasks;
    if (t->timer)
        server->host.timer_stop(t->timer, server->host.user);
    t->timer = NULL;
}

void mcp__tasks_due_at(mcp_server *server, int64_t end)
{
    struct mcp__tasks *t = server->tasks;
    if (end >= t->due)
        return;
    t->due = end;
    if (!server->has_host || !server->host.timer_start || !server->host.timer_stop)
        return;
    mcp__tasks_stop_timer(server);
    int64_t ms = end - mcp__server_clock(server);
    if (ms < MIN_INTERVAL_MS)
        ms = MIN_INTERVAL_MS;
    t->timer = server->host.timer_start((uint64_t)ms, on_timer, server, server->host.user);
}

typedef struct sweep {
    mcp_server *server;
    int64_t now, next;
} sweep;

static int sweep_one(const mcp_task *given, void *arg)
{
    sweep *s = arg;
    mcp_task task;
    int rc = MCP__TAKE(&task, given, mcp_task, NULL);
    if (rc != MCP_OK)
        return rc;
    int64_t end = mcp__task_end_ms(&task);
    if (end <= s->now)
        mcp__task_expire(s->server, task.id);
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
    mcp__tasks_stop_timer(server);
    t->due = INT64_MAX;
    t->store.list(0, sweep_one, &s, t->store.user);
    mcp__tasks_due_at(server, s.next);
}

static void on_timer(void *arg)
{
    mcp_server *server = arg;
    struct mcp__tasks *t = server->tasks;
    int64_t due = t->due;
    mcp__tasks_tick(server);
    if (t->due != due)
        return;
    mcp__tasks_stop_timer(server); /* the calendar clock was set back */
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

void mcp__tasks_enter_host(mcp_server *server)
{
    struct mcp__tasks *t = server->tasks;
    if (!t || t->due == INT64_MAX)
        return;
    int64_t due = t->due;
    t->due = INT64_MAX;
    mcp__tasks_due_at(server, due);
}
