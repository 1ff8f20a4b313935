/* tasks.c: calls that are tasks here, at the other server, or both.
 *
 * The client polls a task of the other server, so that a call always has one outcome. The caller's
 * task is one of this server: its id, its owner and its lifetime are those of mcp/task.h, and its
 * handler is the forwarded call. A caller therefore never sees the ids of the other server, and any
 * kind of caller can use any kind of server:
 *
 *   - a caller of 2025-11-25 that requests a task gets one for every tool. If the tool supports tasks,
 *     the call is a task at the other server, too
 *   - a caller that declares the extension of 2026-07-28 gets a task when the other server makes one
 *   - another caller of 2026-07-28 gets error -32021 if the other server is of that revision and
 *     requires a task
 *   - any other caller waits for the result. The other server learns that tasks are supported only
 *     if the call is not possible otherwise
 */
#include <math.h>

#include "session.h"

#define EXTENSION "extensions.io.modelcontextprotocol/tasks"

static uint64_t number_of(const mcp_json *state, const char *legacy, const char *modern)
{
    const mcp_json *v = mcp_json_get(state, legacy);
    double ms = mcp_json_number(v ? v : mcp_json_get(state, modern), 0);
    return ms >= 1 && ms < 9e15 ? (uint64_t)ms : 0;
}

/* Makes the caller's request a task if the caller supports that. */
static int become_task(upstream_ask *a, const mcp_json *state, const char *message)
{
    return mcp_request_task(
        a->f.req, MCP_OPTIONS(mcp_task_options, .ttl_ms = number_of(state, "ttl", "ttlMs"),
                              .poll_ms = number_of(state, "pollInterval", "pollIntervalMs"),
                              .message = message));
}

/* Called for each state of the task at the other server. */
static void on_task(mcp_client *client, mcp_call_id call, const mcp_json *state, void *user)
{
    upstream_ask *a = user;
    mcp_request *req = a->f.req;
    (void)client, (void)call;
    bool first = !a->is_task;
    a->is_task = true;
    upstream_time_begin(a);
    if (!req)
        return;
    mcp_str message = mcp_json_string(mcp_json_get(state, "statusMessage"));
    const char *text = message.len ? message.ptr : NULL;
    mcp_request_progress(req, NAN, 0, NULL); /* the task lives */
    int rc = first && !mcp_request_task_id(req) ? become_task(a, state, text)
                                                : mcp_request_task_message(req, text);
    if (rc == MCP_OK || !first)
        return;
    common_forward_detach(&a->f);
    upstream_ask_cancel(a, "the caller cannot have a task");
    mcp_reply_finish(req, rc);
}

/* Returns the lifetime that the caller requested for its task. */
static uint64_t ttl_of(const mcp_request *req)
{
    return number_of(mcp_json_get(mcp_request_params(req), "task"), "ttl", "ttl");
}

void upstream_task_options(const upstream_ask *a, mcp_call_options *o)
{
    bool is_task = mcp_request_task_id(a->f.req) != NULL;
    o->task = on_task;
    o->task_mode = is_task                                ? MCP_CALL_TASK_PREFERRED
                   : mcp_request_can(a->f.req, EXTENSION) ? MCP_CALL_TASK_AUTO
                   : mcp_request_is_modern(a->f.req)      ? MCP_CALL_TASK_UNDECLARED
                                                          : MCP_CALL_TASK_LAST_RESORT;
    o->task_ttl_ms = is_task ? ttl_of(a->f.req) : 0;
}
