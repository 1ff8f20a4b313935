/* life.c: see life.h.
 *
 * A worker whose supervisor is killed drains, because its control socket ends. SIGUSR1, which the
 * system sends then, limits the time in which it has to end, even if its loop hangs.
 */
#define _GNU_SOURCE
#include "life.h"

#include <errno.h>
#include <mcp/sys/http.h>
#include <mcp/sys/io.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "capacity.h"
#include "folder.h"
#include "log.h"
#include "notify.h"
#include "succeed.h"

enum { MORE_S = 10 };

struct life {
    life_context c;
    const mcp_host *host;
    int signals;
    successor successor;
    mcp_host_poll *on_signal, *on_control, *on_successor, *on_doorbell;
    mcp_host_timer *watchdog;
    uint64_t watchdog_ms;
    bool leaving;  /* others have taken over */
    bool orphaned; /* the supervisor was killed */
    bool ready;
};

/* ---- handing over ---------------------------------------------------------------------------- */

static void leave(life *l)
{
    l->leaving = true;
    for (size_t i = 0; i < l->c.at->count; i++)
        mcp_listener_hand_over(l->c.at->items[i], LIFE_LINGER_MS);
    if (l->c.at->instance)
        mcp_listener_hand_over(l->c.at->instance, LIFE_LINGER_MS);
    mcp_loop_stop(l->c.loop);
}

static void on_successor(void *arg)
{
    life *l = arg;
    int heard = succeed_hear(&l->successor);
    if (!heard)
        return;
    l->host->poll_stop(l->on_successor, l->host->user);
    l->on_successor = NULL;
    if (heard > 0)
        leave(l);
}

static void succeed(life *l)
{
    int sockets[START_SOCKETS];
    size_t n = 0;
    for (size_t i = 0; i < l->c.at->count && n < START_SOCKETS; i++)
        if (mcp_listener_socket(l->c.at->items[i]) >= 0)
            sockets[n++] = mcp_listener_socket(l->c.at->items[i]);
    if (l->c.at->instance && n < START_SOCKETS)
        sockets[n++] = mcp_listener_socket(l->c.at->instance);
    if (l->leaving || l->on_successor || !n || l->c.now->stdio)
        return;
    if (!succeed_begin(&l->successor, l->c.start, sockets, n))
        return;
    l->on_successor = l->host->poll_start(l->successor.control, on_successor, l, l->host->user);
    if (!l->on_successor)
        succeed_stop(&l->successor);
}

static void on_signal(void *arg)
{
    life *l = arg;
    struct signalfd_siginfo info;
    bool any = false;
    while (read(l->signals, &info, sizeof(info)) == (ssize_t)sizeof(info))
        any = true;
    if (any && l->ready)
        succeed(l);
}

static int watch_signal(life *l)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    l->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (l->signals >= 0)
        l->on_signal = l->host->poll_start(l->signals, on_signal, l, l->host->user);
    return l->on_signal ? MCP_OK : MCP_EIO;
}

/* ---- a worker -------------------------------------------------------------------------------- */

static volatile sig_atomic_t most_s;

static void on_orphaned(int number)
{
    (void)number;
    alarm((unsigned)most_s);
}

static void answer(const life *l, char word)
{
    (void)send(l->c.start->control, &word, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void retire(const life *l)
{
    for (size_t i = 0; i < l->c.at->count; i++)
        mcp_http_retire(mcp_listener_http(l->c.at->items[i]));
}

static void obey(life *l, char word)
{
    switch (word) {
    case LIFE_RELOAD: answer(l, reload_again(l->c.reload) ? LIFE_LOADED : LIFE_REFUSED); break;
    case LIFE_LEAVE: leave(l); break;
    case LIFE_RETIRE: retire(l); break;
    case LIFE_WATCH: answer(l, LIFE_WATCH); break;
    default: break;
    }
}

static void on_control(void *arg)
{
    life *l = arg;
    char word;
    ssize_t n = recv(l->c.start->control, &word, 1, MSG_DONTWAIT);
    if (n == 1) {
        obey(l, word);
    } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) { /* the supervisor was killed */
        l->host->poll_stop(l->on_control, l->host->user);
        l->on_control = NULL;
        log_line("error", "the supervisor ended; this worker ends too", NULL);
        l->orphaned = true;
        on_orphaned(0);
        mcp_loop_stop(l->c.loop);
    }
}

static void on_doorbell(void *arg)
{
    life *l = arg;
    board_publish(l->c.board, l->c.at);
}

static int serve_supervisor(life *l)
{
    struct sigaction orphaned = {.sa_handler = on_orphaned, .sa_flags = SA_RESTART};
    most_s = (sig_atomic_t)(capacity_settings(l->c.now).drain_time + MORE_S);
    sigaction(SIGUSR1, &orphaned, NULL);
    l->on_control = l->host->poll_start(l->c.start->control, on_control, l, l->host->user);
    l->on_doorbell = l->host->poll_start(board_doorbell(l->c.board), on_doorbell, l, l->host->user);
    return l->on_control && l->on_doorbell ? MCP_OK : MCP_EIO;
}

/* ---- the service manager --------------------------------------------------------------------- */

static void watch(void *arg)
{
    life *l = arg;
    if (l->watchdog)
        l->host->timer_stop(l->watchdog, l->host->user);
    notify_send("WATCHDOG=1");
    l->watchdog = l->host->timer_start(l->watchdog_ms, watch, l, l->host->user);
}

void life_ready(life *l)
{
    l->ready = true;
    notify_send("READY=1");
    succeed_ready(l->c.start);
    if (l->watchdog_ms && !l->watchdog)
        watch(l);
}

void life_draining(void *life_)
{
    const life *l = life_;
    if (!l->leaving)
        notify_send("STOPPING=1");
}

/* ---- beginning and end ----------------------------------------------------------------------- */

int life_start(const life_context *context, life **ret)
{
    life *l = calloc(1, sizeof(*l));
    if (!l)
        return MCP_ENOMEM;
    l->c = *context;
    l->host = mcp_loop_host(l->c.loop);
    l->signals = -1;
    l->successor.control = -1;
    l->watchdog_ms = notify_watchdog_ms();
    int rc = l->c.start->role == START_WORKER ? serve_supervisor(l) : watch_signal(l);
    if (rc == MCP_OK)
        *ret = l;
    else
        life_stop(l);
    return rc;
}

void life_stop(life *l)
{
    if (!l)
        return;
    mcp_host_poll *polls[] = {l->on_signal, l->on_control, l->on_successor, l->on_doorbell};
    for (size_t i = 0; i < sizeof(polls) / sizeof(*polls); i++)
        if (polls[i])
            l->host->poll_stop(polls[i], l->host->user);
    if (l->watchdog)
        l->host->timer_stop(l->watchdog, l->host->user);
    if (l->signals >= 0)
        close(l->signals);
    succeed_stop(&l->successor);
    if (l->orphaned)
        folder_leave(l->c.start->instance);
    free(l);
}
