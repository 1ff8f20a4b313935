/* task_archive.c: what the instances of a server keep of their tasks for each other, as values of the bus
 * (mcp_bus.keep).
 *
 * A task runs at one instance, which answers requests about it from its own store. Here is a copy of its
 * last state, for the time when that instance no longer answers, and a sign of life of each
 * instance: whoever finds a task that has not ended, but no sign of life, knows that it never will.
 *
 * Copies are written later than the store: a change of a running task soon, the end of a task at once. If
 * a value could not be kept, all tasks are kept once more, in pieces, when the bus can take them.
 */
#include <stdio.h>

#include "server/core/seal.h"
#include "server/share/share.h"
#include "server/tasks/task.h"

enum {
    LIFE_MS = 15000, /* how long a sign of life counts */
    BEAT_MS = 5000,
    SOON_MS = 50,
    AGAIN_MS = 50,               /* between two pieces of what is kept again */
    LATER_MS = 2000,             /* after a value was refused */
    CLOCKS_MS = 5 * 60 * 1000,   /* how much the calendar clocks may differ */
    NAME = 1 + MCP__TASK_ID + 1, /* a letter, and what identifies a task or an instance */
};

/* A search for a task: first a sign of life of its instance is fetched, then its state. */
typedef struct question {
    mcp__link link;
    mcp_task_wait *wait;
    mcp__task_id_parts parts;
    uint64_t number; /* of the second fetch; that of the first one is less by 1 */
    bool ended;      /* the instance gives no sign of life */
} question;

struct mcp__archive {
    mcp_server *server;
    const mcp_bus *bus;
    mcp__link questions, unkept; /* question, mcp__task */
    uint64_t number;             /* of the last fetch */
    mcp_host_timer *timer;
    int64_t due;     /* when the timer ends, in the host's time */
    int64_t beat_at; /* when the next sign of life is due */
    size_t keeping;  /* values whose outcome is not known yet */
    bool behind;     /* tasks have to be kept again, those after `walked` */
    uint64_t walked; /* a sequence */
    int64_t walk_at; /* not before this time */
    bool told;       /* the log says that values are refused */
};

/* ---- time ------------------------------------------------------------------------------------ */

static int64_t now_of(const struct mcp__archive *a)
{
    return a->server->host.now(a->server->host.user);
}

static void stop_timer(struct mcp__archive *a)
{
    if (a->timer)
        a->server->host.timer_stop(a->timer, a->server->host.user);
    a->timer = NULL;
}

static void on_due(void *arg);

/* Without memory for a timer, the next change or the next state of the bus tries again. */
static void arm(struct mcp__archive *a, int64_t at)
{
    int64_t now = now_of(a);
    if (a->timer && a->due <= at)
        return;
    stop_timer(a);
    a->due = at;
    a->timer = a->server->host.timer_start(at > now ? (uint64_t)(at - now) : 0, on_due, a,
                                           a->server->host.user);
}

/* When the bus is connected again, all tasks are kept again. */
static bool is_connected(const struct mcp__archive *a)
{
    return a->server->share && a->server->share->usage.state == MCP_BUS_CONNECTED;
}

/* The tasks after `walked` must be kept again. A newer task does not restart a walk that is under way,
 * because the walk would never reach the end. */
static void fall_behind(struct mcp__archive *a, uint64_t walked, int64_t pause)
{
    a->walked = a->behind ? MCP__MIN(a->walked, walked) : walked;
    a->behind = true;
    a->walk_at = MCP__MAX(a->walk_at, now_of(a) + pause);
    if (is_connected(a))
        arm(a, a->walk_at);
}

/* ---- values ---------------------------------------------------------------------------------- */

static mcp_str name_of(char to[NAME], char kind, const char *what)
{
    int len = snprintf(to, NAME, "%c%s", kind, what);
    return (mcp_str){to, (size_t)len};
}

/* Seals a value for its name, and keeps it. */
static int keep(struct mcp__archive *a, mcp_str name, mcp_str plain, uint64_t ttl_ms)
{
    mcp__buf purpose, value;
    size_t len = 0, room = MCP__BASE64_SIZE(plain.len + 64);
    if (room > MCP_BUS_VALUE_BYTES)
        return MCP_EINVAL;
    mcp__buf_init(&purpose, &a->server->allocator, 0);
    mcp__buf_init(&value, &a->server->allocator, 0);
    mcp__buf_lit(&purpose, "kept ");
    mcp__buf_str(&purpose, name);
    char *to = mcp__buf_reserve(&value, room);
    int rc = to ? purpose.failed : MCP_ENOMEM;
    if (rc == MCP_OK)
        rc = mcp_server_seal(a->server, mcp__buf_view(&purpose), plain, ttl_ms + CLOCKS_MS, to,
                             room, &len);
    if (rc == MCP_OK)
        rc = a->bus->keep(name, (mcp_str){to, len}, ttl_ms, a->bus->user);
    a->keeping += rc == MCP_OK;
    mcp__buf_free(&purpose);
    mcp__buf_free(&value);
    return rc;
}

/* Opens a value. */
static int unseal(const struct mcp__archive *a, mcp_str name, mcp_str value, mcp__buf *plain)
{
    mcp__buf purpose;
    size_t len = 0;
    mcp__buf_init(&purpose, &a->server->allocator, 0);
    mcp__buf_lit(&purpose, "kept ");
    mcp__buf_str(&purpose, name);
    char *to = mcp__buf_reserve(plain, value.len + 1);
    int rc = to ? purpose.failed : MCP_ENOMEM;
    if (rc == MCP_OK)
        rc =
            mcp_server_unseal(a->server, mcp__buf_view(&purpose), value, to, value.len, &len, NULL);
    plain->len = len;
    mcp__buf_free(&purpose);
    return rc;
}

/* ---- keeping --------------------------------------------------------------------------------- */

static int keep_record(struct mcp__archive *a, const mcp__task_id_parts *t, const mcp_task *task,
                       uint64_t left)
{
    char name[NAME];
    mcp__buf plain;
    mcp__buf_init(&plain, &a->server->allocator, 0);
    mcp__task_record_put(&plain, task);
    int rc = plain.failed;
    if (rc == MCP_OK)
        rc = keep(a, name_of(name, 't', t->unique), mcp__buf_view(&plain), left);
    mcp__buf_free(&plain);
    return rc;
}

/* What is kept of a task whose result is too large. */
static mcp_task shortened(const mcp_task *task)
{
    mcp_task s = *task;
    s.detail = MCP_STR("");
    if (!mcp__task_is_final(task->status))
        return s;
    s.status = MCP_TASK_FAILED;
    s.is_error = true;
    s.message =
        MCP_STR("The instance that ran the task has ended, and the result was too large to be "
                "kept by others");
    s.detail =
        MCP_STR("{\"code\":-32603,\"message\":\"Internal error: the instance that ran the task "
                "has ended, and the result was too large to be kept by others\"}");
    return s;
}

/* Keeps the state of a task that runs or ran here. Returns false if it has to be kept later. */
static bool keep_task(struct mcp__archive *a, const mcp_task *task)
{
    mcp__task_id_parts t;
    int64_t left = mcp__task_end_ms(task) - mcp__server_clock(a->server);
    if (!is_connected(a))
        return false;
    int rc = mcp__task_read_id(a->server, task->principal, task->id, &t);
    if (rc != MCP_OK || left <= 0 || !mcp__task_is_here(a->server, &t))
        return rc != MCP_ENOMEM;
    rc = keep_record(a, &t, task, (uint64_t)left);
    if (rc == MCP_EINVAL) {
        mcp_task s = shortened(task);
        rc = keep_record(a, &t, &s, (uint64_t)left);
    }
    return rc == MCP_OK;
}

static void keep_now(struct mcp__archive *a, const mcp_task *task)
{
    mcp_task record;
    if (keep_task(a, task))
        return;
    int rc = mcp__task_get(a->server->tasks, task->id, &record);
    fall_behind(a, rc == MCP_OK && record.sequence ? record.sequence - 1 : 0, AGAIN_MS);
}

void mcp__archive_changed(mcp__task *task, const mcp_task *state)
{
    mcp_server *server = task->req->server;
    struct mcp__archive *a = server->archive;
    if (!a || !server->tasks->in_memory)
        return;
    if (mcp__task_is_final(state->status)) {
        mcp__list_remove(&task->in_unkept);
        keep_now(a, state);
        return;
    }
    if (mcp__list_empty(&task->in_unkept))
        mcp__list_append(&a->unkept, &task->in_unkept);
    arm(a, now_of(a) + SOON_MS);
}

static void keep_changed(struct mcp__archive *a)
{
    while (!mcp__list_empty(&a->unkept)) {
        mcp__task *task = mcp__container(a->unkept.next, mcp__task, in_unkept);
        mcp_task record;
        mcp__list_remove(&task->in_unkept);
        if (mcp__task_get(a->server->tasks, task->state.id, &record) == MCP_OK)
            keep_now(a, &record);
    }
}

static int walk_one(const mcp_task *task, void *arg)
{
    struct mcp__archive *a = arg;
    if (!keep_task(a, task))
        return MCP_PENDING;
    a->walked = task->sequence;
    return MCP_OK;
}

/* Keeps as many tasks again as the bus can take. */
static void walk(struct mcp__archive *a)
{
    const struct mcp__tasks *t = a->server->tasks;
    a->behind = t && t->in_memory && t->store.list(a->walked, walk_one, a, t->store.user) != MCP_OK;
    if (!a->behind || !is_connected(a))
        return;
    a->walk_at = now_of(a) + AGAIN_MS;
    arm(a, a->walk_at);
}

/* ---- signs of life --------------------------------------------------------------------------- */

/* If it is not kept, the next one follows soon enough. */
static void beat(struct mcp__archive *a)
{
    char name[NAME];
    a->beat_at = now_of(a) + BEAT_MS;
    if (a->server->tasks && a->server->task_instance)
        (void)keep(a, name_of(name, 'i', a->server->task_instance->instance), MCP_STR("lives"),
                   LIFE_MS);
    arm(a, a->beat_at);
}

static void on_due(void *arg)
{
    struct mcp__archive *a = arg;
    stop_timer(a);
    if (!mcp__list_empty(&a->unkept))
        keep_changed(a);
    if (a->behind && now_of(a) >= a->walk_at)
        walk(a);
    if (now_of(a) >= a->beat_at)
        beat(a);
    arm(a, a->beat_at);
    if (a->behind && is_connected(a))
        arm(a, a->walk_at);
}

void mcp__archive_connected(mcp_server *server)
{
    struct mcp__archive *a = server->archive;
    if (!a)
        return;
    a->beat_at = now_of(a);
    a->walk_at = 0;
    fall_behind(a, 0, 0);
}

void mcp__archive_stored(mcp_server *server, int rc, const char *why)
{
    struct mcp__archive *a = server->archive;
    if (!a)
        return;
    a->keeping--;
    if (rc == MCP_OK) {
        a->told = false;
        return;
    }
    if (!a->told)
        mcp__server_log(server, "warning",
                        "the bus: the state of a task could not be kept: %s; it is kept again",
                        why && *why ? why : mcp_error_text(rc));
    a->told = true;
    fall_behind(a, 0, LATER_MS);
}

size_t mcp__archive_pending(const mcp_server *server)
{
    const struct mcp__archive *a = server->archive;
    return a ? a->keeping + a->behind + !mcp__list_empty(&a->unkept) : 0;
}

/* ---- searching ------------------------------------------------------------------------------- */

static void question_free(struct mcp__archive *a, question *q)
{
    mcp__list_remove(&q->link);
    mcp__release(&a->server->allocator, q);
}

/* Takes the wait out of a question, which is freed. */
static mcp_task_wait *answer(struct mcp__archive *a, question *q)
{
    mcp_task_wait *wait = q->wait;
    question_free(a, q);
    return wait;
}

static int fetch(struct mcp__archive *a, char kind, const char *what)
{
    char name[NAME];
    return a->bus->fetch(name_of(name, kind, what), ++a->number, a->bus->user);
}

/* Without a connection it is not known whether the task still runs. */
int mcp__archive_find(mcp_server *server, mcp_task_wait *wait, const mcp__task_id_parts *parts)
{
    struct mcp__archive *a = server->archive;
    question *q = mcp__zalloc(&server->allocator, sizeof(*q));
    if (!q)
        return MCP_ENOMEM;
    q->wait = wait;
    q->parts = *parts;
    q->parts.revision.ptr = q->parts.text + (parts->revision.ptr - parts->text);
    mcp__list_append(&a->questions, &q->link);
    int rc = fetch(a, 'i', q->parts.instance.instance);
    if (rc == MCP_OK)
        rc = fetch(a, 't', q->parts.unique);
    q->number = a->number;
    if (rc == MCP_OK)
        return MCP_PENDING;
    question_free(a, q);
    return rc;
}

/* A value that cannot be opened is not one of these instances. */
static void take_life(const struct mcp__archive *a, question *q, int rc, mcp_str value)
{
    char name[NAME];
    mcp__buf plain;
    mcp__buf_init(&plain, &a->server->allocator, 0);
    if (rc == MCP_OK)
        rc = unseal(a, name_of(name, 'i', q->parts.instance.instance), value, &plain);
    q->ended = rc == MCP_ENOTFOUND || rc == MCP_EINVAL || rc == MCP_ETIMEOUT;
    mcp__buf_free(&plain);
}

/* Answers with what is known. */
static void conclude(struct mcp__archive *a, question *q, int rc, const mcp_task *task)
{
    bool ended = q->ended, known = rc == MCP_OK;
    if (rc == MCP_ENOMEM)
        mcp__task_wait_end(answer(a, q), rc, NULL, false);
    else if (known && mcp__task_is_final(task->status))
        mcp__task_wait_end(answer(a, q), MCP_OK, task, false);
    else if (ended && (known || rc == MCP_ENOTFOUND)) {
        mcp__task_id_parts parts = q->parts;
        parts.revision.ptr = parts.text + (q->parts.revision.ptr - q->parts.text);
        mcp__task_wait_lost(answer(a, q), &parts);
    } else {
        mcp__task_wait_end(answer(a, q), MCP_OK, known ? task : NULL, true);
    }
}

static void take_state(struct mcp__archive *a, question *q, int rc, mcp_str value)
{
    char name[NAME];
    mcp_task task = {.size = sizeof(task)};
    mcp__buf plain;
    mcp__buf_init(&plain, &a->server->allocator, 0);
    if (rc == MCP_OK)
        rc = unseal(a, name_of(name, 't', q->parts.unique), value, &plain);
    if (rc == MCP_OK)
        rc = mcp__task_record_read(mcp__buf_view(&plain), &a->server->allocator, &task);
    if (rc == MCP_EINVAL || rc == MCP_ETIMEOUT)
        rc = MCP_ENOTFOUND;
    conclude(a, q, rc, &task);
    mcp__buf_free(&plain);
}

void mcp__archive_fetched(mcp_server *server, uint64_t number, int rc, mcp_str value)
{
    struct mcp__archive *a = server->archive;
    for (mcp__link *l = a ? a->questions.next : NULL; a && l != &a->questions; l = l->next) {
        question *q = mcp__container(l, question, link);
        if (number == q->number - 1)
            take_life(a, q, rc, value);
        else if (number == q->number)
            take_state(a, q, rc, value);
        else
            continue;
        return;
    }
}

/* ---- begin and end --------------------------------------------------------------------------- */

int mcp__archive_new(mcp_server *server, const mcp_bus *bus)
{
    if (!bus->keep || !bus->fetch)
        return MCP_OK;
    struct mcp__archive *a = mcp__zalloc(&server->allocator, sizeof(*a));
    if (!a)
        return MCP_ENOMEM;
    a->server = server;
    a->bus = bus;
    mcp__list_init(&a->questions);
    mcp__list_init(&a->unkept);
    server->archive = a;
    return MCP_OK;
}

/* The bus is closed. */
void mcp__archive_free(mcp_server *server)
{
    struct mcp__archive *a = server->archive;
    if (!a)
        return;
    stop_timer(a);
    while (!mcp__list_empty(&a->unkept))
        mcp__list_remove(a->unkept.next);
    while (!mcp__list_empty(&a->questions))
        mcp__task_wait_end(answer(a, mcp__container(a->questions.next, question, link)),
                           MCP_ECLOSED, NULL, false);
    server->archive = NULL;
    mcp__release(&server->allocator, a);
}
