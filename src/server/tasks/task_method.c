/* task_method.c: tasks/get, tasks/update, tasks/cancel, tasks/result, tasks/list
 * (modelcontextprotocol/ext-tasks; 2025-11-25, basic/utilities/tasks).
 *
 * tasks/result is answered only when the task ends. Until then, its request is in the task's list
 * of waiters.
 */
#include "protocol/cursor.h"
#include "server/core/decide.h"
#include "server/core/seal.h"
#include "server/input/input.h"
#include "server/tasks/task.h"

/* Copies to the request's memory what the tail will write, because the store may remove the task
 * before the tail is written. */
static int keep_tail(mcp_request *req, const mcp_task *task)
{
    mcp__buf b;
    mcp__buf_init(&b, &req->server->allocator, req->in.channel->options.max_reply);
    mcp__put_task_detail(&b, req->revision, task);
    if (b.failed == MCP_OK)
        req->page.next = mcp__request_copy(req, mcp__buf_view(&b));
    int rc = b.failed ? b.failed : req->reply.failed;
    mcp__buf_free(&b);
    return rc;
}

void mcp__task_tail(mcp_request *req, mcp__buf *b)
{
    mcp__buf_str(b, req->page.next);
}

/* ---- get, update, cancel --------------------------------------------------------------------- */

/* Finds the task of a request, which the program lets go on. */
static int find_decided(mcp_request *req, mcp_operation operation, mcp_task *ret)
{
    int rc = mcp__task_find(req, ret);
    return rc == MCP_OK ? mcp__decide_other(req, operation) : rc;
}

/* Does the same. With the extension, every request must declare the capability. */
static int find_declared(mcp_request *req, mcp_operation operation, mcp_task *ret)
{
    int rc = req->revision->tasks == MCP__TASKS_EXTENSION
                 ? mcp_request_require(req, MCP__TASKS_CAPABILITY)
                 : MCP_OK;
    return rc == MCP_OK ? find_decided(req, operation, ret) : rc;
}

int mcp__run_task_get(mcp_request *req)
{
    mcp_task task;
    int rc = find_declared(req, MCP_OPERATION_READ, &task);
    return rc == MCP_OK ? keep_tail(req, &task) : rc;
}

int mcp__run_task_update(mcp_request *req)
{
    mcp_task task;
    int rc = find_declared(req, MCP_OPERATION_CALL, &task);
    if (rc != MCP_OK)
        return rc;
    const mcp_json *answers = mcp_json_get(req->in.message.params, "inputResponses");
    if (!mcp_json_is(answers, MCP_JSON_OBJECT))
        return mcp_reply_fail(req, MCP__INVALID_PARAMS,
                              "Invalid params: \"inputResponses\" must be an object");
    rc = mcp__task_check_here(req);
    if (rc != MCP_OK)
        return rc;
    mcp__task *live = mcp__task_live(req->server, task.id);
    rc = live && live->parked ? mcp__task_answer(live, answers, mcp__responses_text(req)) : MCP_OK;
    return rc == MCP_ELIMIT
               ? mcp_reply_fail(req, MCP__INTERNAL_ERROR,
                                "Internal error: the answers are too large (max_running_bytes)")
               : rc;
}

static int cancel(mcp_request *req, mcp_task *task)
{
    static const mcp_str why = {"Cancelled by the client", 23};
    const struct mcp__tasks *t = req->server->tasks;
    mcp__task *live = mcp__task_live(req->server, task->id);
    if (live) {
        mcp__task_cancel(live, why);
        return MCP_OK;
    }
    /* The task runs in another process, or ran before a restart. */
    task->status = MCP_TASK_CANCELLED;
    task->message = why;
    task->detail = MCP_STR("");
    task->updated_ms = MCP__MAX(mcp__server_clock(req->server), task->updated_ms);
    return t->store.update(task, t->store.user);
}

int mcp__run_task_cancel(mcp_request *req)
{
    mcp_task task;
    bool returns_task = req->revision->tasks == MCP__TASKS_ASKED;
    int rc = find_declared(req, MCP_OPERATION_CALL, &task);
    if (rc != MCP_OK)
        return rc;
    if (!mcp__task_is_final(task.status))
        rc = (rc = mcp__task_check_here(req)) == MCP_OK ? cancel(req, &task) : rc;
    else if (returns_task)
        rc = mcp_reply_fail(req, MCP__INVALID_PARAMS, "Invalid params: the task has ended already");
    if (rc != MCP_OK || !returns_task)
        return rc;
    rc = mcp__task_found_of(req) ? MCP_OK : mcp__task_find(req, &task);
    return rc == MCP_OK ? keep_tail(req, &task) : rc;
}

/* ---- result: waits for the task ------------------------------------------------------------- */

static int answer_error(mcp_request *req, mcp_str json)
{
    mcp_json_doc *doc = NULL;
    const mcp_json_limits limits = {.size = sizeof(limits), .max_depth = MCP__JSON_DEEPEST};
    int rc = mcp_json_parse(json, &limits, &req->server->allocator, &doc, NULL);
    if (rc != MCP_OK)
        return rc;
    const mcp_json *error = mcp_json_root(doc);
    mcp_str message = mcp_json_string(mcp_json_get(error, "message"));
    mcp_str data = mcp__json_text_get(json, 0, MCP_STR("\"data\""));
    int64_t code = mcp_json_int(mcp_json_get(error, "code"), MCP__INTERNAL_ERROR);
    rc = mcp_reply_fail(req, (int)code, "%.*s", (int)message.len, message.ptr);
    if (data.ptr)
        req->error.data = mcp__request_copy(req, data);
    mcp_json_free(doc);
    return rc;
}

/* Answers with the result that the call itself would have had. */
static int answer_result(mcp_request *req, const mcp_task *task)
{
    if (task->status == MCP_TASK_CANCELLED)
        return mcp_reply_fail(req, MCP__INVALID_PARAMS,
                              "Invalid params: the task was cancelled and has no result");
    if (task->is_error)
        return answer_error(req, task->detail);
    char *text = mcp_request_alloc(req, task->detail.len + 1);
    if (!text)
        return MCP_ENOMEM;
    if (task->detail.len < 3) /* {} */
        return MCP_OK;
    /* The members, each with a leading comma, without the object around them. */
    memcpy(text, task->detail.ptr, task->detail.len);
    text[0] = ',';
    req->page.next = (mcp_str){text, task->detail.len - 1};
    return MCP_OK;
}

mcp_request *mcp__task_first_waiter(const mcp__task *task)
{
    return mcp__list_empty(&task->waiters)
               ? NULL
               : mcp__container(task->waiters.next, mcp_request, waiter);
}

void mcp__task_serve_waiter(mcp__task *task, const mcp_task *record)
{
    mcp_request *req = mcp__task_first_waiter(task);
    mcp__list_remove(&req->waiter);
    int rc = record ? answer_result(req, record)
                    : mcp_reply_fail(req, MCP__INVALID_PARAMS,
                                     "Invalid params: the task is no longer stored");
    mcp_reply_finish(req, rc);
}

int mcp__run_task_result(mcp_request *req)
{
    mcp_task task;
    int rc = find_decided(req, MCP_OPERATION_READ, &task);
    if (rc != MCP_OK)
        return rc;
    if (mcp__task_is_final(task.status))
        return answer_result(req, &task);
    if ((rc = mcp__task_check_here(req)) != MCP_OK)
        return rc;
    mcp__task *live = mcp__task_live(req->server, task.id);
    if (!live)
        return mcp_reply_fail(req, MCP__INTERNAL_ERROR,
                              "Internal error: the task no longer runs on this server");
    mcp__list_append(&live->waiters, &req->waiter);
    mcp__task_ask(live); /* this may end the task */
    return MCP_PENDING;
}

/* ---- list ------------------------------------------------------------------------------------ */

enum { LIST = 100 }; /* marks cursors of this list; no other list has this number */

typedef struct page {
    mcp_request *req;
    mcp__buf b;
    int64_t now;
    uint64_t last;
} page;

static int add_to_page(const mcp_task *given, void *arg)
{
    page *p = arg;
    mcp_request *req = p->req;
    mcp_task record;
    const mcp_task *task = &record;
    int rc = MCP__TAKE(&record, given, mcp_task, NULL);
    if (rc != MCP_OK)
        return rc;
    if (!mcp__task_is_seen(req, task, p->now))
        return MCP_OK;
    if (req->reply.count == req->server->options.page_size) {
        req->page.has_next = true;
        return MCP_PENDING; /* the page is full */
    }
    mcp__buf_char(&p->b, req->reply.count++ ? ',' : '[');
    mcp__put_task_object(&p->b, req->revision, task);
    p->last = task->sequence;
    return p->b.failed;
}

static int read_cursor(mcp_request *req, uint64_t *after)
{
    const mcp_json *value = mcp_json_get(req->in.message.params, "cursor");
    mcp_str token = mcp_json_string(value);
    mcp__cursor cursor;
    *after = 0;
    if (!value)
        return MCP_OK;
    char *room = mcp_request_alloc(req, token.len + 1);
    if (!room)
        return MCP_ENOMEM;
    if (!token.ptr || !mcp__read_cursor(token, LIST, mcp__request_binding(req), room, &cursor) ||
        cursor.position.len != sizeof(*after))
        return mcp_reply_fail(
            req, MCP__INVALID_PARAMS,
            "Invalid params: \"cursor\" is not valid for this list: start again without it");
    memcpy(after, cursor.position.ptr, sizeof(*after));
    return MCP_OK;
}

static void put_page(page *p, uint64_t after)
{
    const struct mcp__tasks *t = p->req->server->tasks;
    int rc = t->store.list(after, add_to_page, p, t->store.user);
    if (p->req->reply.count == 0)
        mcp__buf_char(&p->b, '[');
    mcp__buf_char(&p->b, ']');
    if (p->req->page.has_next) {
        mcp__cursor cursor = {.list = LIST, .position = {(const char *)&p->last, sizeof(p->last)}};
        mcp__buf_lit(&p->b, ",\"nextCursor\":");
        mcp__put_cursor(&p->b, &cursor, mcp__request_binding(p->req));
    }
    if (rc < 0 && !p->b.failed)
        p->b.failed = rc;
}

int mcp__run_task_list(mcp_request *req)
{
    uint64_t after;
    if (!mcp__tasks_listed(req->in.channel))
        return mcp_reply_fail(req, MCP__METHOD_NOT_FOUND,
                              req->in.channel->options.principal
                                  ? "Method not found: tasks are not listed, because several "
                                    "instances have them"
                                  : "Method not found: tasks are not listed for anonymous peers");
    int rc = read_cursor(req, &after);
    if (rc == MCP_OK)
        rc = mcp__decide_other(req, MCP_OPERATION_READ);
    if (rc != MCP_OK)
        return rc;
    page p = {.req = req, .now = mcp__server_clock(req->server)};
    mcp__buf_init(&p.b, &req->server->allocator, req->in.channel->options.max_reply);
    put_page(&p, after);
    if (p.b.failed == MCP_OK)
        req->page.next = mcp__request_copy(req, mcp__buf_view(&p.b));
    rc = p.b.failed ? p.b.failed : req->reply.failed;
    mcp__buf_free(&p.b);
    return rc;
}

void mcp__task_list_tail(mcp_request *req, mcp__buf *b)
{
    mcp__buf_lit(b, ",\"tasks\":");
    mcp__buf_str(b, req->page.next);
}
