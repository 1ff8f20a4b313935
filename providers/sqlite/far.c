/* far.c: see far.h. */
#include "far.h"

#include "provider.h"

enum { LATE_MS = 100 }; /* interval of checks of the time limit */

static void on_time(void *user)
{
    sqlite_far *f = user;
    const mcp_host *host = mcp_server_host(f->s->base.server);
    sqlite_interrupt_late(&f->s->file, &f->running);
    f->timer = host->timer_start(LATE_MS, on_time, f, host->user);
}

/* Starts a timer for the time limit plus a margin. The work may start later, because it
 * may be queued. */
static void set_timer(sqlite_far *f)
{
    const mcp_host *host = mcp_server_host(f->s->base.server);
    if (host && host->timer_start)
        f->timer = host->timer_start(f->s->timeout_ms + LATE_MS, on_time, f, host->user);
}

static void work(void *user)
{
    sqlite_far *f = user;
    sqlite_bounds bounds = {.stop = &f->stop, .timeout_ms = f->s->timeout_ms};
    f->rc =
        sqlite_use_pooled(&f->s->file, &bounds, f->use, f->user, &f->running, &f->code, f->text);
}

static void leave(sqlite_far *f)
{
    const mcp_host *host = mcp_server_host(f->s->base.server);
    mcp_request_on_cancel(f->req, NULL, NULL);
    if (f->timer)
        host->timer_stop(f->timer, host->user);
    f->timer = NULL;
}

static void done(mcp_request *req, void *user)
{
    sqlite_far *f = user;
    leave(f);
    int rc = f->end(f->user);
    if (rc != MCP_PENDING) /* otherwise the job runs again */
        mcp_reply_finish(req, rc);
}

static void on_cancel(mcp_request *req, void *user)
{
    sqlite_far *f = user;
    (void)req;
    atomic_store_explicit(&f->stop, true, memory_order_relaxed);
    sqlite_interrupt(&f->s->file, &f->running);
}

static int run_far(sqlite_far *f)
{
    f->rc = MCP_ECANCELLED; /* in case the work never starts */
    f->text[0] = 0;
    mcp_request_on_cancel(f->req, on_cancel, f);
    set_timer(f);
    int rc = mcp_request_work_sized(f->req, f->bytes, work, done, f);
    if (rc != MCP_PENDING) {
        leave(f);
        f->drop(f->user);
    }
    return rc;
}

int sqlite_far_run(sqlite_far *f, bool far)
{
    static const sqlite_bounds near = {.near = true};
    if (!far)
        f->rc = sqlite_use(&f->s->file, &f->s->near, &near, f->use, f->user, &f->code, f->text);
    return far || f->rc == MCP_PENDING ? run_far(f) : f->end(f->user);
}
