/* net.c: the sockets of a loop, in an epoll set that libuv watches as a single descriptor, and the
 * clocks.
 *
 * A connection has no libuv handle. It costs only its own struct, which is freed in the turn in
 * which it is closed. In return, each turn with input needs one more call of epoll_wait(). Work
 * that callbacks leave for later (a tick, a close, reports to the endpoint) is done by turn(),
 * before the loop blocks. The buffers are shared by all connections, so an idle connection has
 * none.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "io/http_server/net.h"

enum {
    BATCH = 256, /* ready sockets that one call of epoll_wait() returns */
    ROUNDS = 8,  /* calls of epoll_wait() in one turn, so that timers get a turn */
};

/* ---- turns --------------------------------------------------------------------------------------- */

/* Only wakes up the loop. turn() then does the work that is due. */
static void on_timer(uv_timer_t *timer)
{
    mcp__net *net = timer->data;

    net->armed = INT64_MAX;
}

static void arm(mcp__net *net, int64_t due)
{
    int64_t now = mcp__loop_now(net->loop);

    if (due == net->armed)
        return;
    net->armed = due;
    if (due == INT64_MAX)
        uv_timer_stop(&net->timer);
    else
        uv_timer_start(&net->timer, on_timer, due > now ? (uint64_t)(due - now) : 0, 0);
}

static void settle_all(mcp__net *net)
{
    mcp__connection *c;

    while ((c = net->dirty)) {
        net->dirty = c->next_dirty;
        if (!net->dirty)
            net->dirty_end = &net->dirty;
        c->is_dirty = false;
        mcp__connection_settle(c);
    }
}

static void take_events(mcp__net *net)
{
    struct epoll_event ready[BATCH];
    int n = BATCH;

    for (int round = 0; round < ROUNDS && n == BATCH; round++) {
        n = epoll_wait(net->epoll, ready, BATCH, 0);
        for (int i = 0; i < n; i++) {
            mcp__socket *socket = ready[i].data.ptr;
            if (socket->fd >= 0) /* the callback of an earlier one may have closed it */
                socket->ready(socket, ready[i].events);
        }
        mcp__connections_take_received(net);
        mcp__connections_send_held(net);
    }
}

static void on_ready(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    take_events(poll->data);
}

static void turn(uv_prepare_t *prepare)
{
    mcp__net *net = prepare->data;
    int64_t due = INT64_MAX, at;

    settle_all(net);
    if (net->lingers) /* requests that have arrived come before the timers that close idle connections */
        take_events(net);
    int64_t now = mcp__loop_now(net->loop);
    for (mcp__link *link = net->listeners.next; link != &net->listeners; link = link->next) {
        at = mcp__listener_turn(mcp__container(link, mcp_listener, link), now);
        due = MCP__MIN(due, at);
    }
    settle_all(net);
    net->shedding = false;
    mcp__connections_free_dead(net);
    if (net->drained)
        due = now;
    net->drained = false;
    arm(net, due);
}

/* ---- the epoll set -------------------------------------------------------------------------- */

int mcp__net_watch(mcp__net *net, mcp__socket *socket, uint32_t events)
{
    struct epoll_event wanted = {.events = events, .data.ptr = socket};
    int op = socket->watched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;

    if (socket->watched && socket->events == events)
        return MCP_OK;
    if (epoll_ctl(net->epoll, op, socket->fd, &wanted) < 0)
        return errno == ENOMEM || errno == ENOSPC ? MCP_ENOMEM : MCP_EIO;
    socket->events = events;
    socket->watched = true;
    return MCP_OK;
}

void mcp__net_close(mcp__net *net, mcp__socket *socket)
{
    struct epoll_event none = {0};

    if (socket->watched)
        epoll_ctl(net->epoll, EPOLL_CTL_DEL, socket->fd, &none);
    if (socket->fd >= 0)
        close(socket->fd);
    socket->fd = -1;
    socket->watched = false;
}

void mcp__net_add(mcp__net *net, mcp__link *listener)
{
    mcp__list_append(&net->listeners, listener);
    uv_ref((uv_handle_t *)&net->poll);
}

void mcp__net_remove(mcp__net *net, mcp__link *listener)
{
    mcp__list_remove(listener);
    if (mcp__list_empty(&net->listeners))
        uv_unref((uv_handle_t *)&net->poll);
}

/* ---- the clocks ------------------------------------------------------------------------------------ */

static const char days[7][4] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
static const char months[12][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                   "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

mcp_str mcp__date_text(mcp__date *date, int64_t second)
{
    time_t at = (time_t)second;
    struct tm t;

    if (date->len && date->second == second)
        return (mcp_str){date->text, date->len};
    if (!gmtime_r(&at, &t))
        t = (struct tm){.tm_mday = 1, .tm_year = 70, .tm_wday = 4};
    int len = snprintf(date->text, sizeof(date->text), "%s, %02d %s %04d %02d:%02d:%02d GMT",
                       days[t.tm_wday], t.tm_mday, months[t.tm_mon], 1900 + t.tm_year, t.tm_hour,
                       t.tm_min, t.tm_sec);
    date->second = second;
    date->len = len > 0 ? (size_t)len : 0;
    return (mcp_str){date->text, date->len};
}

mcp_str mcp__net_date(void *user)
{
    mcp__net *net = user;
    struct timespec now = {0};

    clock_gettime(CLOCK_REALTIME, &now);
    return mcp__date_text(&net->date, (int64_t)now.tv_sec);
}

int64_t mcp__net_clock(void *user)
{
    const mcp__net *net = user;

    return mcp_loop_now(net->loop);
}

/* ---- beginning and end ----------------------------------------------------------------------------- */

static void net_free(mcp__net *net)
{
    const mcp_allocator *allocator = &net->loop->allocator;

    settle_all(net);
    mcp__connections_free_dead(net);
    if (net->epoll >= 0)
        close(net->epoll);
    if (net->reserve >= 0)
        close(net->reserve);
    mcp__release(allocator, net->input);
    mcp__release(allocator, net->output);
    mcp__release(allocator, net->plain);
    mcp__release(allocator, net);
}

static int open_handles(mcp__net *net, mcp_error *error)
{
    uv_loop_t *uv = &net->loop->uv;
    int status = uv_poll_init(uv, &net->poll, net->epoll);

    if (status < 0)
        return mcp__uv_fail(error, status, "the sockets cannot be watched");
    uv_prepare_init(uv, &net->prepare);
    uv_timer_init(uv, &net->timer);
    net->poll.data = net->prepare.data = net->timer.data = net;
    uv_poll_start(&net->poll, UV_READABLE, on_ready);
    uv_prepare_start(&net->prepare, turn);
    uv_unref((uv_handle_t *)&net->poll);
    uv_unref((uv_handle_t *)&net->prepare);
    uv_unref((uv_handle_t *)&net->timer);
    return MCP_OK;
}

static int net_open(mcp__net *net, mcp_error *error)
{
    net->input = mcp__alloc(&net->loop->allocator, MCP__NET_BUFFER);
    net->output = mcp__alloc(&net->loop->allocator, MCP__NET_BUFFER);
    if (!net->input || !net->output)
        return mcp__fail(error, MCP_ENOMEM, 0, "no memory for sockets");
    net->epoll = epoll_create1(EPOLL_CLOEXEC);
    net->reserve = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (net->epoll < 0 || net->reserve < 0)
        return mcp__fail(error, MCP_EIO, 0, "no descriptor for sockets: %s", strerror(errno));
    return open_handles(net, error);
}

int mcp__net_get(mcp_loop *loop, mcp__net **ret, mcp_error *error)
{
    mcp__net *net = loop->net;

    if (!net) {
        net = mcp__zalloc(&loop->allocator, sizeof(*net));
        if (!net)
            return mcp__fail(error, MCP_ENOMEM, 0, "no memory for sockets");
        net->loop = loop;
        net->epoll = net->reserve = -1;
        net->armed = INT64_MAX;
        net->dirty_end = &net->dirty;
        mcp__list_init(&net->listeners);
        mcp__list_init(&net->dead);
        int rc = net_open(net, error);
        if (rc < 0) {
            net_free(net);
            return rc;
        }
        loop->net = net;
        loop->net_free = net_free;
    }
    *ret = net;
    return MCP_OK;
}
