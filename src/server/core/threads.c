/* threads.c: work on the host's worker threads, and calls from other threads.
 *
 * Functions that are posted to the host run on the server's thread. Other threads only use members
 * of a server or a request that never change.
 */
#include "server/core/trace.h"
#include "server/methods/methods.h"

/* ---- work on worker threads ----------------------------------------------------------------- */

typedef struct work {
    mcp_request *req;
    void (*work)(void *user);
    void (*done)(mcp_request *req, void *user);
    void *user;
    mcp_span *span;       /* NULL if not traced */
    int64_t began, ended; /* times of the host, in microseconds */
} work;

/* The clock of a host may be read on any thread. */
static int64_t now_of(const work *w)
{
    const mcp_host *host = &w->req->server->host;
    return host->now_us ? host->now_us(host->user) : 0;
}

static void work_run(void *arg)
{
    work *w = arg;
    w->began = w->span ? now_of(w) : 0;
    w->work(w->user);
    w->ended = w->span ? now_of(w) : 0;
}

static void work_done(void *arg)
{
    work *w = arg;
    mcp__trace_timed(w->req, w->span, w->began, w->ended);
    w->done(w->req, w->user);
}

int mcp_request_work(mcp_request *req, void (*fn)(void *user),
                     void (*done)(mcp_request *req, void *user), void *user)
{
    const mcp_server *server = req->server;
    if (!server->has_host || !server->host.work) {
        fn(user);
        done(req, user);
        return MCP_PENDING;
    }
    work *w = mcp_request_alloc(req, sizeof(*w));
    if (!w)
        return MCP_ENOMEM;
    *w = (work){.req = req, .work = fn, .done = done, .user = user};
    if (server->host.now_us)
        w->span = mcp_request_span_begin(req, MCP_SPAN_WORK, NULL);
    bool is_long = req->method->slow && server->host.work_long;
    int rc = (is_long ? server->host.work_long : server->host.work)(work_run, work_done, w,
                                                                    server->host.user);
    if (rc == MCP_ELIMIT)
        return mcp_reply_fail_data(req, MCP__INTERNAL_ERROR, "{\"retryAfterMs\":1000}",
                                   "Internal error: too much work is waiting: try again later");
    return rc < 0 ? rc : MCP_PENDING;
}

/* ---- calls from other threads --------------------------------------------------------------- */

typedef struct posted_call {
    mcp_allocator allocator; /* of the note, which may outlive the request */
    mcp_server *server;
    mcp_request *req;
    union {
        void (*server)(mcp_server *server, void *user);
        void (*request)(mcp_request *req, void *user);
    } fn;
    void *user;
} posted_call;

static void deliver(void *arg)
{
    posted_call n = *(posted_call *)arg;
    mcp__release(&n.allocator, arg);
    if (n.req)
        n.fn.request(n.req, n.user);
    else
        n.fn.server(n.server, n.user);
}

static int post(mcp_server *server, const posted_call *what)
{
    if (!server->has_host || !server->host.post)
        return MCP_EUNSUPPORTED;
    posted_call *n = mcp__alloc(&server->allocator, sizeof(*n));
    if (!n)
        return MCP_ENOMEM;
    *n = *what;
    int rc = server->host.post(deliver, n, server->host.user);
    if (rc < 0)
        mcp__release(&server->allocator, n);
    return rc < 0 ? rc : MCP_OK;
}

int mcp_server_post(mcp_server *server, void (*fn)(mcp_server *server, void *user), void *user)
{
    if (!server || !fn)
        return MCP_EINVAL;
    return post(server, &(posted_call){.allocator = server->allocator,
                                       .server = server,
                                       .fn.server = fn,
                                       .user = user});
}

int mcp_request_post(mcp_request *req, void (*fn)(mcp_request *req, void *user), void *user)
{
    if (!req || !fn)
        return MCP_EINVAL;
    return post(req->server, &(posted_call){.allocator = req->server->allocator,
                                            .req = req,
                                            .fn.request = fn,
                                            .user = user});
}
