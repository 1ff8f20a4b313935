/* interval.c: processes a request in steps at a fixed interval, with the host's timers.
 *
 * A step runs like a handler: while the step is on the stack, the request counts as running, so
 * that nothing frees it. If the request is finished or cancelled during the step, this takes effect
 * after the step.
 */
#include "server/core/request.h"

typedef struct mcp__repeat {
    mcp_request *req;
    int (*step)(mcp_request *req, void *user);
    void *user;
    uint64_t ms;
    mcp_host_timer *timer; /* NULL if not running */
} mcp__repeat;

bool mcp__repeat_stop(mcp_request *req)
{
    mcp__repeat *r = req->repeat;
    if (!r || !r->step)
        return false;
    const mcp_host *host = &req->server->host;
    if (r->timer)
        host->timer_stop(r->timer, host->user);
    r->timer = NULL;
    r->step = NULL;
    return true;
}

static void on_time(void *arg);

static int start(mcp__repeat *r)
{
    const mcp_host *host = &r->req->server->host;
    r->timer = host->timer_start(r->ms, on_time, r, host->user);
    return r->timer ? MCP_OK : MCP_ENOMEM;
}

/* The step may have called mcp_request_repeat() itself, which started a new timer, or may have
 * finished the request. */
static void on_time(void *arg)
{
    mcp__repeat *r = arg;
    mcp_request *req = r->req;
    const mcp_host *host = &req->server->host;
    mcp__request_state state = req->state;
    host->timer_stop(r->timer, host->user);
    r->timer = NULL;
    req->state = MCP__REQUEST_RUNNING;
    int rc = r->step(req, r->user);
    req->state = state;
    if (rc == MCP_PENDING && !req->finish.called && !r->timer)
        rc = start(r) == MCP_OK ? MCP_PENDING : MCP_ENOMEM;
    if (rc == MCP_PENDING && req->finish.called)
        rc = req->finish.outcome;
    req->finish.called = false;
    if (rc != MCP_PENDING)
        mcp_reply_finish(req, rc);
}

int mcp_request_repeat(mcp_request *req, uint64_t ms, int (*step)(mcp_request *req, void *user),
                       void *user)
{
    if (!req || !step || ms > INT32_MAX)
        return MCP_EINVAL;
    const mcp_server *server = req->server;
    if (!server->has_host || !server->host.timer_start || !server->host.timer_stop)
        return MCP_EUNSUPPORTED;
    mcp__repeat_stop(req);
    if (!req->repeat)
        req->repeat = mcp_request_alloc(req, sizeof(*req->repeat));
    if (!req->repeat)
        return MCP_ENOMEM;
    *req->repeat = (mcp__repeat){.req = req, .step = step, .user = user, .ms = ms};
    int rc = start(req->repeat);
    return rc == MCP_OK ? MCP_PENDING : rc;
}
