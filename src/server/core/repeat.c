/* repeat.c: a function that is called every so often until its request is done or cancelled: a timer of the host, and what
 * would be written around it in every handler that waits. */
#include "server/core/request.h"
#include "server/core/server.h"

typedef struct repeat {
    mcp_request *req;
    mcp_host host;
    mcp_host_timer *timer;
    uint64_t ms;
    int (*fn)(mcp_request *req, void *user);
    void *user;
} repeat;

/* The last thing that is done with it: its memory is the request's. */
static void end(repeat *r, int outcome)
{
    mcp_request *req = r->req;
    if (r->timer)
        r->host.timer_stop(r->timer, r->host.user);
    mcp_request_on_cancel(req, NULL, NULL);
    mcp_reply_finish(req, outcome);
}

static void on_cancel(mcp_request *req, void *user)
{
    (void)req;
    end(user, MCP_ECANCELLED);
}

static void on_timer(void *arg);

static bool arm(repeat *r)
{
    mcp_host_timer *before = r->timer;
    r->timer = r->host.timer_start(r->ms, on_timer, r, r->host.user);
    if (before)
        r->host.timer_stop(before, r->host.user);
    return r->timer != NULL;
}

static void on_timer(void *arg)
{
    repeat *r = arg;
    int outcome = r->fn(r->req, r->user);
    if (outcome == MCP_PENDING && !arm(r))
        outcome = MCP_ENOMEM;
    if (outcome != MCP_PENDING)
        end(r, outcome);
}

int mcp_request_repeat(mcp_request *req, uint64_t ms, int (*fn)(mcp_request *req, void *user),
                       void *user)
{
    const mcp_server *server = req->server;
    if (!fn || ms > INT32_MAX)
        return MCP_EINVAL;
    if (!server->has_host || !server->host.timer_start || !server->host.timer_stop)
        return MCP_EUNSUPPORTED;
    repeat *r = mcp_request_alloc(req, sizeof(*r));
    if (!r)
        return MCP_ENOMEM;
    *r = (repeat){.req = req, .host = server->host, .ms = ms, .fn = fn, .user = user};
    if (!arm(r))
        return MCP_ENOMEM;
    mcp_request_on_cancel(req, on_cancel, r);
    return MCP_PENDING;
}
