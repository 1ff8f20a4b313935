/* task_elsewhere.c: requests about tasks that the store does not have at hand.
 *
 * Either the store answers later (mcp_task_store.fetch), and the request waits, or the id names another
 * instance. Requests about such a task are forwarded to it before they come here, so that instance was
 * not reached: it has ended, or it may have.
 *
 * A wait belongs to the store until it calls mcp_task_found(). The request may end earlier; wait->req is
 * then NULL.
 */
#include "server/core/seal.h"
#include "server/methods/methods.h"
#include "server/tasks/task.h"

struct mcp_task_wait {
    mcp__link link; /* in tasks->waits */
    mcp_server *server;
    mcp_request *req; /* NULL if it has ended */
};

/* ---- what is known --------------------------------------------------------------------------- */

int mcp__task_check_here(mcp_request *req)
{
    const mcp__task_found *found = mcp__task_found_of(req);
    return found && found->away
               ? mcp_reply_fail(
                     req, MCP__INTERNAL_ERROR,
                     "Internal error: the instance that runs the task cannot be reached; "
                     "it may have ended: try again later")
               : MCP_OK;
}

/* Copies a record to the arena of a request. */
static int keep(mcp_request *req, mcp_task *task)
{
    mcp_str *texts[] = {&task->id, &task->principal, &task->revision, &task->message,
                        &task->detail};
    for (size_t i = 0; i < MCP__COUNT(texts); i++) {
        if (!texts[i]->ptr)
            continue;
        texts[i]->ptr = mcp_request_strdup(req, *texts[i]);
        if (!texts[i]->ptr)
            return MCP_ENOMEM;
    }
    return MCP_OK;
}

/* Notes the outcome of a search, which mcp__task_find() then returns. */
static int note(mcp_request *req, int rc, const mcp_task *task, bool away)
{
    mcp__task_found *found = mcp_request_alloc(req, sizeof(*found));
    if (!found)
        return MCP_ENOMEM;
    *found = (mcp__task_found){.rc = rc, .away = away};
    if (task)
        found->task = *task;
    found->task.id = mcp_json_string(mcp_json_get(req->in.message.params, "taskId"));
    if (rc == MCP_OK && task && !mcp__task_is_seen(req, task, mcp__server_clock(req->server)))
        found->rc = MCP_ENOTFOUND;
    if (found->rc == MCP_OK && task)
        found->rc = keep(req, &found->task);
    mcp_request_set_data(req, found, NULL);
    if (found->rc == MCP_OK && !task)
        found->rc = mcp__task_check_here(req);
    return found->rc;
}

/* Makes the record of a task whose instance has ended. */
static void put_lost(const mcp_request *req, const mcp__task_id_parts *t, mcp_task *ret)
{
    *ret = (mcp_task){
        .size = sizeof(*ret),
        .principal = mcp__request_binding(req),
        .revision = t->revision,
        .status = MCP_TASK_FAILED,
        .is_error = true,
        .message = MCP_STR("The instance that ran the task has ended"),
        .created_ms = t->created_ms,
        .updated_ms = MCP__MAX(t->created_ms, mcp__server_clock(req->server)),
        .ttl_ms = t->ttl_ms,
        .detail =
            MCP_STR("{\"code\":-32603,\"message\":\"Internal error: the instance that ran the "
                    "task has ended\"}"),
    };
}

/* ---- waiting --------------------------------------------------------------------------------- */

static void wait_free(mcp_task_wait *w)
{
    w->server->tasks->n_waits--;
    mcp__list_remove(&w->link);
    mcp__release(&w->server->allocator, w);
}

static void on_cancel(mcp_request *req, void *user)
{
    mcp_task_wait *w = user;
    w->req = NULL;
    mcp_reply_finish(req, MCP_ECANCELLED);
}

/* Takes the request from a wait, which is freed. Returns NULL if it has ended. */
static mcp_request *take(mcp_task_wait *wait)
{
    mcp_request *req = wait->req;
    wait_free(wait);
    if (req)
        mcp_request_on_cancel(req, NULL, NULL);
    return req;
}

/* Runs the method again, with what is known now. */
static void run_again(mcp_request *req)
{
    mcp_reply_finish(req, mcp__task_found_of(req) ? req->method->run(req) : MCP_ENOMEM);
}

void mcp__task_wait_end(mcp_task_wait *wait, int rc, const mcp_task *task, bool away)
{
    mcp_request *req = take(wait);
    if (!req)
        return;
    note(req, rc < 0 ? rc : MCP_OK, task, away);
    run_again(req);
}

void mcp__task_wait_lost(mcp_task_wait *wait, const mcp__task_id_parts *parts)
{
    mcp_task lost;
    mcp_request *req = take(wait);
    if (!req)
        return;
    put_lost(req, parts, &lost);
    note(req, MCP_OK, &lost, false);
    run_again(req);
}

void mcp_task_found(mcp_task_wait *wait, int rc, const mcp_task *task)
{
    mcp_task copy = {.size = 0};
    if (rc >= 0)
        rc = MCP__TAKE(&copy, task, mcp_task, NULL);
    mcp__task_wait_end(wait, rc, &copy, false);
}

/* Makes a wait for a request. Returns NULL after setting *rc. */
static mcp_task_wait *wait_new(mcp_request *req, int *rc)
{
    struct mcp__tasks *t = req->server->tasks;
    mcp_task_wait *w = NULL;
    *rc = MCP_ENOMEM;
    if (t->n_waits >= t->settings.max_waiting)
        *rc = mcp_reply_fail(req, MCP__INTERNAL_ERROR,
                             "Internal error: too many requests wait for the store of tasks "
                             "(max_waiting): try again later");
    else
        w = mcp__zalloc(&req->server->allocator, sizeof(*w));
    if (!w)
        return NULL;
    w->server = req->server;
    w->req = req;
    mcp__list_append(&t->waits, &w->link);
    t->n_waits++;
    mcp_request_on_cancel(req, on_cancel, w);
    return w;
}

/* Begins a search, in the store or, with the parts of its id, in what the instances keep for each other. */
static int search(mcp_request *req, mcp_str id, const mcp__task_id_parts *parts)
{
    const mcp_task_store *store = &req->server->tasks->store;
    int rc;
    mcp_task_wait *w = wait_new(req, &rc);
    if (!w)
        return rc;
    rc = parts ? mcp__archive_find(req->server, w, parts) : store->fetch(id, w, store->user);
    if (rc != MCP_PENDING)
        (void)take(w);
    return rc;
}

/* Finds a task of another instance. */
static int find_at_instance(mcp_request *req, mcp_str id)
{
    static const mcp_str local = {"unix:", 5};
    mcp__task_id_parts t;
    mcp_task lost;
    int rc = mcp__task_read_id(req->server, mcp__request_binding(req), id, &t);
    if (rc != MCP_OK)
        return rc;
    if (mcp__task_is_here(req->server, &t))
        return MCP_ENOTFOUND; /* it has expired */
    if (req->server->archive) {
        rc = search(req, id, &t);
        return rc == MCP_ESTATE ? note(req, MCP_OK, NULL, true) : rc; /* the bus is down */
    }
    put_lost(req, &t, &lost);
    bool ended = mcp__str_starts(mcp_str_from(t.instance.address), local);
    return note(req, MCP_OK, ended ? &lost : NULL, !ended);
}

void mcp__task_waits_free(mcp_server *server)
{
    struct mcp__tasks *t = server->tasks;
    while (!mcp__list_empty(&t->waits))
        wait_free(mcp__container(t->waits.next, mcp_task_wait, link));
}

int mcp__task_find_elsewhere(mcp_request *req, mcp_str id, mcp_task *ret)
{
    int rc = MCP_ENOTFOUND;
    if (id.len > MCP_TASK_ID_BYTES)
        return rc;
    if (req->server->tasks->store.fetch)
        rc = search(req, id, NULL);
    else if (req->server->task_instance)
        rc = find_at_instance(req, id);
    if (rc == MCP_OK && mcp__task_found_of(req))
        *ret = mcp__task_found_of(req)->task;
    return rc;
}
