/* task_store.c: stores tasks in memory, in order of creation and within limits. The store is an
 * ordinary mcp_task_store and independent of running calls.
 *
 * The cost of a task includes at least SPARE bytes for its texts, so that the short error for a
 * result that could not be stored always fits.
 */
#include "server/tasks/task.h"

enum { SPARE = 1024 };

typedef struct record {
    mcp__link link; /* in memory->tasks */
    mcp_task task;
    char *texts;  /* message and detail */
    char fixed[]; /* id, principal, revision */
} record;

typedef struct memory {
    const mcp_allocator *allocator;
    size_t max_tasks, max_per_principal, max_bytes;
    mcp__link tasks;
    mcp__map by_id;
    uint64_t last_sequence;
    size_t bytes; /* the total cost of the tasks, at most max_bytes */
} memory;

static size_t fixed_size(const mcp_task *task)
{
    return task->id.len + task->principal.len + task->revision.len + 1;
}

static size_t text_size(const mcp_task *task)
{
    return task->message.len + task->detail.len;
}

static size_t cost(const mcp_task *task)
{
    size_t texts = text_size(task);
    return sizeof(record) + fixed_size(task) + (texts > SPARE ? texts : SPARE);
}

static mcp_str copy(char **at, mcp_str from)
{
    mcp_str to = {from.ptr ? *at : NULL, from.len};
    if (from.ptr)
        memcpy(*at, from.ptr, from.len);
    *at += from.len;
    return to;
}

/* Copies the texts that may change. Returns NULL if out of memory. */
static char *copy_texts(const memory *m, mcp_task *task)
{
    char *texts = mcp__alloc(m->allocator, text_size(task) + 1), *at = texts;
    if (!texts)
        return NULL;
    task->message = copy(&at, task->message);
    task->detail = copy(&at, task->detail);
    return texts;
}

static bool has_room(const memory *m, const mcp_task *task)
{
    if (m->by_id.count >= m->max_tasks || cost(task) > m->max_bytes - m->bytes)
        return false;
    size_t count = 0;
    for (mcp__link *l = m->tasks.next; l != &m->tasks; l = l->next)
        count +=
            mcp__same_principal(mcp__container(l, record, link)->task.principal, task->principal);
    return count < m->max_per_principal;
}

static void record_free(const memory *m, record *k)
{
    mcp__release(m->allocator, k->texts);
    mcp__release(m->allocator, k);
}

static int memory_add(const mcp_task *task, void *user)
{
    memory *m = user;
    if (!has_room(m, task))
        return MCP_ELIMIT;
    record *k = mcp__zalloc(m->allocator, sizeof(*k) + fixed_size(task));
    if (!k)
        return MCP_ENOMEM;
    char *at = k->fixed;
    k->task = *task;
    k->task.id = copy(&at, task->id);
    k->task.principal = copy(&at, task->principal);
    k->task.revision = copy(&at, task->revision);
    k->texts = copy_texts(m, &k->task);
    int rc = k->texts ? mcp__map_add(&m->by_id, k->task.id, k) : MCP_ENOMEM;
    if (rc != MCP_OK) {
        record_free(m, k);
        return rc;
    }
    k->task.sequence = ++m->last_sequence;
    mcp__list_append(&m->tasks, &k->link);
    m->bytes += cost(&k->task);
    return MCP_OK;
}

static int memory_update(const mcp_task *task, void *user)
{
    memory *m = user;
    record *k = mcp__map_get(&m->by_id, task->id);
    if (!k)
        return MCP_ENOTFOUND;
    mcp_task next = *task;
    next.sequence = k->task.sequence;
    next.id = k->task.id;
    next.principal = k->task.principal;
    next.revision = k->task.revision;
    next.created_ms = k->task.created_ms;
    size_t others = m->bytes - cost(&k->task);
    if (cost(&next) > m->max_bytes - others)
        return MCP_ELIMIT;
    char *texts = copy_texts(m, &next);
    if (!texts)
        return MCP_ENOMEM;
    mcp__release(m->allocator, k->texts);
    k->texts = texts;
    k->task = next;
    m->bytes = others + cost(&next);
    return MCP_OK;
}

static int memory_get(mcp_str id, mcp_task *ret, void *user)
{
    const memory *m = user;
    const record *k = mcp__map_get(&m->by_id, id);
    if (k)
        mcp_task_copy(ret, &k->task);
    return k ? MCP_OK : MCP_ENOTFOUND;
}

static int memory_list(uint64_t after, int (*each)(const mcp_task *task, void *arg), void *arg,
                       void *user)
{
    memory *m = user;
    int rc = MCP_OK;
    for (mcp__link *l = m->tasks.next; rc == MCP_OK && l != &m->tasks;) {
        const record *k = mcp__container(l, record, link);
        l = l->next;
        if (k->task.sequence > after)
            rc = each(&k->task, arg);
    }
    return rc;
}

static void memory_remove(mcp_str id, void *user)
{
    memory *m = user;
    record *k = mcp__map_remove(&m->by_id, id);
    if (!k)
        return;
    m->bytes -= cost(&k->task);
    mcp__list_remove(&k->link);
    record_free(m, k);
}

static void memory_release(void *user)
{
    memory *m = user;
    while (!mcp__list_empty(&m->tasks))
        memory_remove(mcp__container(m->tasks.next, record, link)->task.id, m);
    mcp__map_free(&m->by_id);
    mcp__release(m->allocator, m);
}

int mcp__task_memory_new(const mcp_allocator *allocator, const mcp_task_settings *settings,
                         mcp_task_store *ret)
{
    memory *m = mcp__zalloc(allocator, sizeof(*m));
    if (!m)
        return MCP_ENOMEM;
    m->allocator = allocator;
    m->max_tasks = settings->max_tasks;
    m->max_per_principal = settings->max_tasks_per_principal;
    m->max_bytes = settings->max_bytes;
    mcp__list_init(&m->tasks);
    /* Ids are random, so a peer cannot choose colliding ones. */
    mcp__map_init(&m->by_id, allocator, (uintptr_t)m, 0);
    *ret = (mcp_task_store){.size = sizeof(*ret),
                            .user = m,
                            .add = memory_add,
                            .update = memory_update,
                            .get = memory_get,
                            .list = memory_list,
                            .remove = memory_remove,
                            .release = memory_release};
    return MCP_OK;
}
