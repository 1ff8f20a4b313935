/* pump.c: connects a loop with the channel of a client.
 *
 * Requests for a tick or for settle() only set marks. An idle handle does the work once before the
 * loop blocks, however often it was requested. A prepare handle would not do: a request that
 * arrives while prepare handles run would wait until the loop has blocked. While an idle handle is
 * active, the loop does not block, so each request would cost one more turn of the loop. Functions
 * that run the loop therefore call mcp__pumps_settle() before each turn.
 */
#define _GNU_SOURCE
#include <signal.h>

#include "io/loop/pump.h"

static void handle_closed(uv_handle_t *handle)
{
    mcp__pump *d = handle->data;

    if (--d->handles == 0 && d->closed)
        d->closed(d->arg); /* this may free d */
}

void mcp__pump_init(mcp__pump *d, mcp_loop *loop, mcp_client *client, void (*settle)(void *arg),
                    void *arg)
{
    *d = (mcp__pump){.loop = loop, .client = client, .settle = settle, .arg = arg};
    uv_idle_init(&loop->uv, &d->idle);
    uv_timer_init(&loop->uv, &d->deadline);
    mcp__list_init(&d->link);
    d->idle.data = d->deadline.data = d;
    d->handles = 2;
}

static bool is_open(const mcp__pump *d)
{
    return d->handles == 2 && !uv_is_closing((const uv_handle_t *)&d->idle);
}

static void on_deadline(uv_timer_t *timer)
{
    mcp__pump *d = timer->data;

    d->woken = true;
    mcp__pump_turn(d);
}

static void arm(mcp__pump *d)
{
    int64_t due = mcp_channel_deadline(d->channel);
    int64_t now = mcp__loop_now(d->loop);

    if (due == INT64_MAX)
        uv_timer_stop(&d->deadline);
    else
        uv_timer_start(&d->deadline, on_deadline, due > now ? (uint64_t)(due - now) : 0, 0);
}

void mcp__pump_turn(mcp__pump *d)
{
    if (!d->channel)
        return;
    if (d->woken) {
        d->woken = false;
        mcp_channel_tick(d->channel, mcp__loop_now(d->loop));
    }
    if (d->channel && is_open(d))
        arm(d);
}

static void rest(mcp__pump *d)
{
    uv_idle_stop(&d->idle);
    mcp__list_remove(&d->link);
}

static void settle(mcp__pump *d)
{
    rest(d);
    d->settling = true;
    mcp__pump_turn(d);
    d->settling = false;
    d->settle(d->arg);
}

static void before_waiting(uv_idle_t *idle)
{
    settle(idle->data);
}

static void attend(mcp__pump *d)
{
    if (!is_open(d) || uv_is_active((const uv_handle_t *)&d->idle))
        return;
    uv_idle_start(&d->idle, before_waiting);
    mcp__list_append(&d->loop->pumps, &d->link);
}

void mcp__pump_note(mcp__pump *d)
{
    if (!d->settling)
        attend(d);
}

void mcp__pump_wake(mcp__pump *d)
{
    d->woken = true;
    attend(d);
}

/* A pump that has more to do afterwards waits for the next turn. */
void mcp__pumps_settle(mcp_loop *loop)
{
    mcp__link now;

    if (mcp__list_empty(&loop->pumps))
        return;
    mcp__list_append(&loop->pumps, &now); /* `now` takes the place of the head */
    mcp__list_remove(&loop->pumps);
    uv_update_time(&loop->uv);
    while (!mcp__list_empty(&now))
        settle(mcp__container(now.next, mcp__pump, link));
}

int mcp__pump_connect(mcp__pump *d, const mcp_channel_options *options,
                      const mcp_transport_options *transport, mcp_error *error)
{
    int rc = mcp_client_connect_transport(d->client, options, transport, &d->channel, error);

    if (rc == MCP_OK)
        mcp__pump_wake(d);
    return rc;
}

void mcp__pump_end(mcp__pump *d, const char *why)
{
    if (!d->channel)
        return;
    d->channel = NULL;
    uv_timer_stop(&d->deadline);
    mcp_client_disconnected(d->client, why);
}

static void close_handle(uv_handle_t *handle)
{
    if (!uv_is_closing(handle))
        uv_close(handle, handle_closed);
}

void mcp__pump_close(mcp__pump *d)
{
    if (!d->handles)
        return;
    rest(d);
    close_handle((uv_handle_t *)&d->idle);
    close_handle((uv_handle_t *)&d->deadline);
}

int mcp__pump_step(mcp__pump *d, uint64_t ms)
{
    return mcp_loop_step(d->loop, ms);
}

void mcp__ignore_sigpipe(void)
{
    struct sigaction now, ignore = {.sa_handler = SIG_IGN};

    if (sigaction(SIGPIPE, NULL, &now) == 0 && now.sa_handler == SIG_DFL)
        sigaction(SIGPIPE, &ignore, NULL);
}
