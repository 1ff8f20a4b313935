/* task_setup.c: enables tasks on a server: settings, the store, capabilities. */
#include "server/tasks/task.h"

/* The limit avoids an overflow when a time to live is added to a time. */
#define LONGEST_TTL_MS ((uint64_t)INT64_MAX / 4)

static const mcp_default defaults[] = {
    MCP_DEFAULT(mcp_task_settings, default_ttl_ms, 3600 * 1000),
    MCP_DEFAULT(mcp_task_settings, max_ttl_ms, 24 * 3600 * 1000, .maximum = LONGEST_TTL_MS),
    MCP_DEFAULT(mcp_task_settings, poll_ms, 1000),
    MCP_DEFAULT(mcp_task_settings, max_tasks, 10000),
    MCP_DEFAULT(mcp_task_settings, max_tasks_per_principal, 1000),
    MCP_DEFAULT(mcp_task_settings, max_bytes, 64 << 20),
    MCP_DEFAULT(mcp_task_settings, max_running_bytes, 64 << 20),
    MCP_DEFAULT(mcp_task_settings, max_waiting, 1000),
};

static void release_store(struct mcp__tasks *t)
{
    if (t->store.release)
        t->store.release(t->store.user);
    t->store = (mcp_task_store){0};
}

static struct mcp__tasks *tasks_new(mcp_server *server)
{
    struct mcp__tasks *t = mcp__zalloc(&server->allocator, sizeof(*t));
    if (!t)
        return NULL;
    mcp__list_init(&t->live);
    mcp__list_init(&t->ended);
    mcp__list_init(&t->waits);
    /* Ids are random, so a peer cannot choose colliding ones. */
    mcp__map_init(&t->by_id, &server->allocator, (uintptr_t)t, 0);
    t->due = INT64_MAX;
    for (mcp__link *l = server->sessions.next; l != &server->sessions; l = l->next)
        mcp__container(l, mcp__session, link)->channel->timed = true;
    return t;
}

/* Uses the given store, or creates one in memory. */
static int open_store(mcp_server *server, const mcp_task_settings *s, mcp_task_store *store,
                      mcp_error *error)
{
    if (!s->store) {
        int rc = mcp__task_memory_new(&server->allocator, s, store);
        return rc == MCP_OK ? rc : mcp__fail(error, rc, 0, "no memory for tasks");
    }
    int rc = MCP__TAKE(store, s->store, mcp_task_store, error);
    if (rc != MCP_OK)
        return rc;
    if (store->add && store->update && store->get && store->list && store->remove)
        return MCP_OK;
    return mcp__fail(error, MCP_EINVAL, 0,
                     "a store of tasks needs \"add\", \"update\", \"get\", \"list\", \"remove\"");
}

int mcp_server_set_tasks(mcp_server *server, const mcp_task_settings *settings, mcp_error *error)
{
    mcp__no_error(error);
    mcp_task_settings s;
    mcp_task_store store = {0};
    int rc = mcp__need_server(server, error);
    if (rc == MCP_OK)
        rc = MCP__TAKE(&s, settings, mcp_task_settings, error);
    if (rc != MCP_OK)
        return rc;
    struct mcp__tasks *t = server->tasks;
    MCP_SET_DEFAULTS(&s, defaults);
    if (t && (!mcp__list_empty(&t->live) || !mcp__list_empty(&t->ended) ||
              !mcp__list_empty(&t->waits) || t->due != INT64_MAX))
        return mcp__fail(error, MCP_ESTATE, 0, "there are tasks already");
    rc = open_store(server, &s, &store, error);
    if (rc != MCP_OK)
        return rc;
    if (!t && !(t = server->tasks = tasks_new(server))) {
        if (!s.store)
            store.release(store.user);
        return mcp__fail(error, MCP_ENOMEM, 0, "no memory for tasks");
    }
    release_store(t);
    t->in_memory = !s.store;
    s.store = NULL;
    t->settings = s;
    t->store = store;
    return MCP_OK;
}

int mcp__tasks_need(mcp_server *server)
{
    return server->tasks ? MCP_OK
                         : mcp_server_set_tasks(server, MCP_OPTIONS(mcp_task_settings, 0), NULL);
}

void mcp__tasks_free(mcp_server *server)
{
    struct mcp__tasks *t = server->tasks;
    if (!t)
        return;
    mcp__tasks_end(server);
    release_store(t);
    mcp__task_waits_free(server);
    mcp__map_free(&t->by_id);
    mcp__release(&server->allocator, t);
    server->tasks = NULL;
}

/* ---- capabilities ---------------------------------------------------------------------------- */

/* A list must have every task that the caller can get (2025-11-25, basic/utilities/tasks, "Task Listing"), and those of
 * other instances are not in the memory of this one. */
bool mcp__tasks_listed(const mcp_channel *channel)
{
    const mcp__session *session = channel->state;
    const mcp_server *server = session->server;
    if (server->task_instance && server->tasks && server->tasks->in_memory)
        return false;
    return channel->options.principal || channel->options.shared_stream;
}

void mcp__task_capabilities(mcp__object *o, const mcp_channel *channel)
{
    const mcp__session *session = channel->state;
    mcp__tasks_form form = o->revision->tasks;
    if (!session->server->tasks || form == MCP__TASKS_NONE)
        return;
    if (form == MCP__TASKS_EXTENSION) {
        mcp__object_key(o, "extensions");
        mcp__buf_lit(o->buf, "{\"" MCP__EXTENSION_TASKS "\":{}}");
        return;
    }
    mcp__object_key(o, "tasks");
    mcp__buf_lit(o->buf, "{\"cancel\":{},\"requests\":{\"tools\":{\"call\":{}}}");
    if (mcp__tasks_listed(channel))
        mcp__buf_lit(o->buf, ",\"list\":{}");
    mcp__buf_char(o->buf, '}');
}
