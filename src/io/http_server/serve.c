/* serve.c: runs a loop with listeners until it is stopped, then lets requests in progress finish.
 *
 * SIGTERM, SIGINT or mcp_loop_stop() begins to drain, after delay_ms in which everything is served as
 * before. The delay or the draining ends when its time is over, or when one of these three events occurs
 * again. SIGHUP is not handled here. On stdio it means that the terminal hung up, but a daemon has no
 * terminal.
 */
#define _GNU_SOURCE
#include <signal.h>

#include "io/http_server/net.h"

enum { DRAIN_MS = 10000, ERROR_MS = 500 };

static const mcp_default defaults[] = {
    MCP_DEFAULT(mcp_serve_options, drain_ms, DRAIN_MS),
};

static const int end_signals[] = {SIGTERM, SIGINT};

typedef struct serving {
    mcp_loop *loop;
    uv_signal_t signals[MCP__COUNT(end_signals)];
    uv_timer_t timer;
    size_t handles;
    int stop_requests; /* number of requests to stop */
    bool timed_out;
} serving;

static void on_signal(uv_signal_t *signal, int number)
{
    serving *s = signal->data;

    (void)number;
    s->stop_requests++;
}

static void on_timer(uv_timer_t *timer)
{
    serving *s = timer->data;

    s->timed_out = true;
}

static void open_handles(serving *s, bool no_signals)
{
    uv_timer_init(&s->loop->uv, &s->timer);
    s->timer.data = s;
    s->handles = 1;
    for (size_t i = 0; i < MCP__COUNT(end_signals) && !no_signals; i++) {
        struct sigaction before;
        if (sigaction(end_signals[i], NULL, &before) < 0 || before.sa_handler == SIG_IGN ||
            uv_signal_init(&s->loop->uv, &s->signals[i]) < 0)
            continue;
        s->signals[i].data = s;
        s->handles++;
        uv_signal_start(&s->signals[i], on_signal, end_signals[i]);
    }
}

static void handle_closed(uv_handle_t *handle)
{
    serving *s = handle->data;

    s->handles--;
}

static void close_handles(serving *s)
{
    uv_close((uv_handle_t *)&s->timer, handle_closed);
    for (size_t i = 0; i < MCP__COUNT(end_signals); i++) {
        if (s->signals[i].data)
            uv_close((uv_handle_t *)&s->signals[i], handle_closed);
    }
    while (s->handles)
        uv_run(&s->loop->uv, UV_RUN_NOWAIT);
}

static void one_turn(serving *s)
{
    mcp__loop_turn(s->loop);
    if (mcp__loop_stopped(s->loop))
        s->stop_requests++;
}

static bool has_connections(const mcp__net *net)
{
    for (mcp__link *at = net->listeners.next; at != &net->listeners; at = at->next) {
        if (mcp_listener_connections(mcp__container(at, mcp_listener, link)) > 0)
            return true;
    }
    return false;
}

/* Serves on for a time, in which load balancers learn that they must send requests elsewhere. */
static void serve_on(serving *s, uint64_t ms, uint64_t linger_ms)
{
    mcp__net *net = s->loop->net;
    bool retires = false; /* or all were handed over to another process */

    for (mcp__link *at = net->listeners.next; at != &net->listeners; at = at->next) {
        mcp_listener *l = mcp__container(at, mcp_listener, link);
        if (l->handed_over)
            continue;
        mcp_http_retire(l->http);
        mcp__listener_linger(l, linger_ms);
        retires = true;
    }
    if (!ms || !retires)
        return;
    uv_update_time(&s->loop->uv);
    uv_timer_start(&s->timer, on_timer, ms, 0);
    while (s->stop_requests < 2 && !s->timed_out)
        one_turn(s);
    uv_timer_stop(&s->timer);
    s->timed_out = false;
    if (s->stop_requests > 1)
        s->stop_requests--; /* that one ended the delay */
}

static void drain(serving *s, uint64_t ms)
{
    mcp__net *net = s->loop->net;

    for (mcp__link *at = net->listeners.next; at != &net->listeners; at = at->next)
        mcp_listener_drain(mcp__container(at, mcp_listener, link));
    uv_update_time(&s->loop->uv);
    uv_timer_start(&s->timer, on_timer, ms, 0);
    while (s->stop_requests < 2 && !s->timed_out && has_connections(net))
        one_turn(s);
}

/* Answers all remaining requests with an error, and gives peers a short time to read it. Returns
 * the number of these requests. */
static size_t cut(serving *s)
{
    mcp__net *net = s->loop->net;
    size_t requests = 0;

    for (mcp__link *at = net->listeners.next; at != &net->listeners; at = at->next)
        requests += mcp_listener_cut(mcp__container(at, mcp_listener, link));
    if (!requests)
        return 0;
    s->timed_out = false;
    uv_update_time(&s->loop->uv);
    uv_timer_start(&s->timer, on_timer, ERROR_MS, 0);
    while (!s->timed_out && has_connections(net))
        one_turn(s);
    return requests;
}

int mcp_loop_serve_http(mcp_loop *loop, const mcp_serve_options *options, mcp_error *error)
{
    mcp__no_error(error);
    mcp_serve_options o;
    serving s = {.loop = loop};

    if (!loop)
        return mcp__fail(error, MCP_EINVAL, 0, "a loop is needed");
    if (!loop->net || mcp__list_empty(&loop->net->listeners))
        return mcp__fail(error, MCP_ESTATE, 0, "nothing listens on this loop");
    int rc = MCP__TAKE_OPTIONAL(&o, options, mcp_serve_options, error);
    if (rc != MCP_OK)
        return rc;
    MCP_SET_DEFAULTS(&o, defaults);
    open_handles(&s, o.no_signals);
    s.stop_requests = o.drain_now || mcp__loop_stopped(loop);
    while (!s.stop_requests)
        one_turn(&s);
    if (o.draining)
        o.draining(o.user);
    serve_on(&s, o.delay_ms, o.linger_ms);
    drain(&s, o.drain_ms);
    size_t requests = cut(&s);
    close_handles(&s);
    if (requests)
        return mcp__fail(error, MCP_ECANCELLED, 0,
                         "%zu requests were not answered in time, and got an error", requests);
    return MCP_OK;
}

int mcp_serve_http(mcp_server *server, const char *address, const mcp_http_options *options,
                   mcp_error *error)
{
    mcp__no_error(error);
    mcp_loop *loop = NULL;
    mcp_listener *listener = NULL;
    int rc = mcp_loop_new(NULL, &loop, error);

    if (rc < 0)
        return rc;
    rc = mcp_loop_listen(loop, server,
                         MCP_OPTIONS(mcp_listen_options, .address = address, .http = options),
                         &listener, error);
    if (rc == MCP_OK)
        rc = mcp_loop_serve_http(loop, NULL, error);
    mcp_listener_close(listener);
    if (mcp_loop_drain(loop, DRAIN_MS) == MCP_ETIMEOUT) /* running work uses the loop */
        return mcp__fail(error, MCP_ETIMEOUT, 0, "work on a worker thread does not end");
    mcp_loop_free(loop);
    return rc;
}
