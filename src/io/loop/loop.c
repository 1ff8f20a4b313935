/* loop.c: the event loop, a thin layer over uv_loop_t, and its mcp_host: clock, timers and
 * descriptors. Worker threads are in workers.c.
 *
 * The memory of a libuv handle may be freed only in its close callback, one turn of the loop later.
 * The host's timers and polls are therefore allocated one by one and kept in a list.
 * mcp_loop_free() runs the loop until all of them are closed and all work has finished.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <mcp/sys/io.h>

#include "io/loop/pump.h"
#include "io/stdio/stdio.h"

/* A timer or a poll of the host. */
typedef struct host_handle {
    mcp__link link;
    mcp_loop *loop;
    void (*fn)(void *arg);
    void *arg;
    union {
        uv_handle_t handle;
        uv_timer_t timer;
        uv_poll_t poll;
    } uv;
} host_handle;

int mcp__uv_fail(mcp_error *error, int status, const char *what)
{
    return mcp__fail(error, status == UV_ENOMEM ? MCP_ENOMEM : MCP_EIO, 0, "%s: %s", what,
                     uv_strerror(status));
}

/* ---- the host ------------------------------------------------------------------------------------ */

static int64_t host_now(void *user)
{
    return mcp_loop_now(user);
}

static host_handle *host_handle_new(mcp_loop *loop, void (*fn)(void *arg), void *arg)
{
    host_handle *t = fn ? mcp__zalloc(&loop->allocator, sizeof(*t)) : NULL;

    if (!t)
        return NULL;
    t->loop = loop;
    t->fn = fn;
    t->arg = arg;
    mcp__list_append(&loop->host_handles, &t->link);
    return t;
}

static void host_handle_free(host_handle *t)
{
    mcp__list_remove(&t->link);
    mcp__release(&t->loop->allocator, t);
}

static void host_handle_closed(uv_handle_t *handle)
{
    host_handle_free(handle->data);
}

/* Closes a timer or poll. It stays in the list until libuv has closed it. */
static void host_handle_stop(host_handle *t)
{
    if (t && !uv_is_closing(&t->uv.handle))
        uv_close(&t->uv.handle, host_handle_closed);
}

static void timer_fired(uv_timer_t *timer)
{
    host_handle *t = timer->data;

    t->fn(t->arg);
}

static mcp_host_timer *host_timer_start(uint64_t ms, void (*fn)(void *arg), void *arg, void *user)
{
    mcp_loop *loop = user;
    host_handle *t = host_handle_new(loop, fn, arg);

    if (!t)
        return NULL;
    uv_timer_init(&loop->uv, &t->uv.timer);
    t->uv.handle.data = t;
    uv_update_time(&loop->uv);
    uv_timer_start(&t->uv.timer, timer_fired, ms, 0);
    return (mcp_host_timer *)(void *)t;
}

static void host_timer_stop(mcp_host_timer *timer, void *user)
{
    (void)user;
    host_handle_stop((host_handle *)(void *)timer);
}

/* Calls the callback even if polling failed: the read or write then returns the error. */
static void poll_ready(uv_poll_t *poll, int status, int events)
{
    host_handle *t = poll->data;

    (void)status;
    (void)events;
    t->fn(t->arg);
}

static mcp_host_poll *poll_start(mcp_loop *loop, int fd, int events, void (*fn)(void *arg),
                                 void *arg)
{
    host_handle *t = host_handle_new(loop, fn, arg);

    if (!t)
        return NULL;
    if (uv_poll_init(&loop->uv, &t->uv.poll, fd) < 0) {
        host_handle_free(t);
        return NULL;
    }
    t->uv.handle.data = t;
    if (uv_poll_start(&t->uv.poll, events, poll_ready) < 0) {
        host_handle_stop(t);
        return NULL;
    }
    return (mcp_host_poll *)(void *)t;
}

static mcp_host_poll *host_poll_start(int fd, void (*fn)(void *arg), void *arg, void *user)
{
    return poll_start(user, fd, UV_READABLE, fn, arg);
}

static mcp_host_poll *host_poll_start_write(int fd, void (*fn)(void *arg), void *arg, void *user)
{
    return poll_start(user, fd, UV_WRITABLE, fn, arg);
}

static void host_poll_stop(mcp_host_poll *poll, void *user)
{
    (void)user;
    host_handle_stop((host_handle *)(void *)poll);
}

static void host_log(const char *level, const char *line, void *user)
{
    mcp__log_line(user, level, line);
}

static const mcp_host host_functions = {
    .size = sizeof(mcp_host),
    .now = host_now,
    .timer_start = host_timer_start,
    .timer_stop = host_timer_stop,
    .poll_start = host_poll_start,
    .poll_stop = host_poll_stop,
    .work = mcp__host_work,
    .log = host_log,
    .work_long = mcp__host_work_long,
    .post = mcp__host_post,
    .poll_start_write = host_poll_start_write,
    .now_us = mcp__system_us,
};

const mcp_host *mcp_loop_host(mcp_loop *loop)
{
    return loop ? &loop->host : NULL;
}

mcp_loop *mcp_host_loop(const mcp_host *host)
{
    return host && host->now == host_now ? host->user : NULL;
}

/* ---- the loop ------------------------------------------------------------------------------------ */

/* Ends this turn. The function that runs the loop then checks `stop`. */
static void woken(uv_async_t *wakeup)
{
    uv_stop(wakeup->loop);
}

static void pause_over(uv_timer_t *pause)
{
    (void)pause;
}

/* ---- one turn -------------------------------------------------------------------------------- */

static void do_nothing(uv_idle_t *idle)
{
    (void)idle;
}

/* Called after the timers that are due and before waiting. While an idle handle is active, libuv
 * does not wait. */
static void before_waiting(uv_prepare_t *prepare)
{
    mcp_loop *loop = prepare->data;

    loop->parsed = false;
    if (uv_now(&loop->uv) >= loop->next_timer)
        uv_idle_start(&loop->no_waiting, do_nothing);
}

static void init_turns(mcp_loop *loop)
{
    uv_prepare_init(&loop->uv, &loop->before_waiting);
    uv_idle_init(&loop->uv, &loop->no_waiting);
    loop->before_waiting.data = loop;
    loop->next_timer = UINT64_MAX;
    uv_prepare_start(&loop->before_waiting, before_waiting);
    uv_unref((uv_handle_t *)&loop->before_waiting);
    uv_unref((uv_handle_t *)&loop->no_waiting);
}

bool mcp__loop_turn(mcp_loop *loop)
{
    int ms = uv_backend_timeout(&loop->uv); /* of the clock that uv_now() returns */

    loop->next_timer = ms < 0 ? UINT64_MAX : uv_now(&loop->uv) + (uint64_t)ms;
    bool more = uv_run(&loop->uv, UV_RUN_ONCE) != 0;
    uv_idle_stop(&loop->no_waiting);
    loop->next_timer = UINT64_MAX;
    return more;
}

static void close_any(uv_handle_t *handle, void *arg)
{
    (void)arg;
    if (!uv_is_closing(handle))
        uv_close(handle, NULL);
}

static void close_all(mcp_loop *loop)
{
    uv_walk(&loop->uv, close_any, NULL);
    while (uv_loop_close(&loop->uv) == UV_EBUSY)
        uv_run(&loop->uv, UV_RUN_ONCE);
}

/* Initializes both parts or, on failure, none. */
static int init_threads(mcp_loop *loop)
{
    int status = mcp__posts_init(loop);

    if (status < 0)
        return status;
    status = mcp__workers_init(loop);
    if (status < 0)
        mcp__posts_free(loop);
    return status;
}

static int loop_init(mcp_loop *loop, mcp_error *error)
{
    if (mcp__descriptor_fill_standard() < 0)
        return mcp__fail(error, MCP_EIO, 0, "/dev/null cannot be opened");
    int status = uv_loop_init(&loop->uv);
    if (status < 0)
        return mcp__uv_fail(error, status, "the event loop cannot be made");
    status = uv_async_init(&loop->uv, &loop->wakeup, woken);
    if (status == 0)
        status = init_threads(loop);
    if (status < 0) {
        close_all(loop);
        return mcp__uv_fail(error, status, "the event loop cannot be made");
    }
    uv_timer_init(&loop->uv, &loop->pause);
    init_turns(loop);
    /* Neither this handle nor the inactive timer keeps the loop running. */
    uv_unref((uv_handle_t *)&loop->wakeup);
    return MCP_OK;
}

int mcp_loop_new(const mcp_allocator *allocator, mcp_loop **ret, mcp_error *error)
{
    mcp__no_error(error);
    mcp__refer_to_version();
    allocator = mcp__allocator(allocator);
    if (!ret)
        return mcp__fail(error, MCP_EINVAL, 0, "ret is needed");
    mcp_loop *loop = mcp__zalloc(allocator, sizeof(*loop));
    if (!loop)
        return mcp__fail(error, MCP_ENOMEM, 0, "no memory for the event loop");
    loop->allocator = *allocator;
    loop->host = host_functions;
    loop->host.user = loop;
    mcp__list_init(&loop->host_handles);
    mcp__list_init(&loop->pumps);
    mcp__list_init(&loop->works);
    mcp_loop_set_log_level(loop, NULL);
    int rc = loop_init(loop, error);
    if (rc < 0) {
        mcp__release(allocator, loop);
        return rc;
    }
    *ret = loop;
    return MCP_OK;
}

static void stop_host_handles(mcp_loop *loop)
{
    for (mcp__link *at = loop->host_handles.next; at != &loop->host_handles; at = at->next)
        host_handle_stop(mcp__container(at, host_handle, link));
}

/* Work that the `done` functions queue meanwhile is cancelled too. */
int mcp_loop_drain(mcp_loop *loop, uint64_t ms)
{
    if (!loop || ms > INT32_MAX)
        return MCP_EINVAL;
    int64_t end = mcp_loop_now(loop) + (int64_t)ms;
    for (bool last = false;;) {
        mcp__workers_cancel(loop);
        bool posted = mcp__posts_run(loop);
        bool idle = !posted && mcp__list_empty(&loop->works);
        if (idle && (last || !loop->leaving))
            return MCP_OK;
        if (last)
            return MCP_ETIMEOUT;
        int64_t now = mcp_loop_now(loop);
        last = now >= end;
        uv_update_time(&loop->uv);
        if (!last)
            uv_timer_start(&loop->pause, pause_over, (uint64_t)(end - now), 0);
        if (last || posted)
            uv_run(&loop->uv, UV_RUN_NOWAIT);
        else
            mcp__loop_turn(loop);
        uv_timer_stop(&loop->pause);
    }
}

void mcp_loop_free(mcp_loop *loop)
{
    if (!loop)
        return;
    mcp_allocator allocator = loop->allocator;
    stop_host_handles(loop);
    mcp__posts_run(loop);
    while (!mcp__list_empty(&loop->works))
        mcp__loop_turn(loop);
    stop_host_handles(loop); /* those that the last work created */
    if (loop->services_stop)
        loop->services_stop(loop);
    if (loop->multi)
        loop->multi_stop(loop->multi);
    mcp__workers_free(loop);
    close_all(loop);
    mcp__posts_free(loop);
    if (loop->net)
        loop->net_free(loop->net);
    mcp__release(&allocator, loop);
}

bool mcp__loop_stopped(mcp_loop *loop)
{
    return atomic_load_explicit(&loop->stop, memory_order_relaxed) &&
           atomic_exchange(&loop->stop, false);
}

int mcp_loop_run(mcp_loop *loop)
{
    if (!loop)
        return MCP_EINVAL;
    bool more = true;
    while (more && !mcp__loop_stopped(loop)) {
        mcp__pumps_settle(loop);
        more = mcp__loop_turn(loop) || mcp__posts_run(loop);
    }
    return MCP_OK;
}

void mcp_loop_stop(mcp_loop *loop)
{
    int saved = errno;

    if (!loop)
        return;
    atomic_store(&loop->stop, true);
    uv_async_send(&loop->wakeup);
    errno = saved;
}

int mcp_loop_step(mcp_loop *loop, uint64_t ms)
{
    if (!loop)
        return MCP_EINVAL;
    if (mcp__loop_stopped(loop))
        return MCP_ECANCELLED;
    if (ms) {
        uv_update_time(&loop->uv);
        uv_timer_start(&loop->pause, pause_over, ms, 0);
    }
    if (!(ms ? mcp__loop_turn(loop) : uv_run(&loop->uv, UV_RUN_NOWAIT) != 0))
        mcp__posts_run(loop); /* without active handles, libuv does not check `wakeup` */
    uv_timer_stop(&loop->pause);
    return mcp__loop_stopped(loop) ? MCP_ECANCELLED : MCP_OK;
}

int64_t mcp_loop_now(const mcp_loop *loop)
{
    (void)loop; /* uv_now() would return the time at which the turn began */
    return (int64_t)(uv_hrtime() / 1000000);
}

void *mcp_loop_uv(mcp_loop *loop)
{
    return loop ? &loop->uv : NULL;
}
