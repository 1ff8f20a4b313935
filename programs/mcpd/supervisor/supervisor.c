/* supervisor.c: see supervisor.h.
 *
 * One thread, one poll(). Everything that happens is a signal, a byte of a worker, or a time. At the
 * start the first worker runs alone until it serves, so that a mistake in the configuration is
 * reported once.
 */
#define _GNU_SOURCE
#include "supervisor.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <common/options.h>
#include <common/text.h>

#include "log.h"
#include "board.h"
#include "capacity.h"
#include "life.h"
#include "notify.h"
#include "share.h"
#include "succeed.h"
#include "worker.h"

enum {
    AGAIN_MS = 100,    /* after a worker could not be started */
    STEADY_MS = 10000, /* a worker that served for this long did not fail */
    MORE_MS = 10000,   /* time to end after draining */
};

#define NEVER INT64_MAX

typedef enum phase {
    STARTING, /* the first worker does not serve yet */
    SERVING,
    RETIRING, /* a signal will end us; workers still serve (--drain-delay) */
    LEAVING,  /* a successor serves; workers drain */
    ENDING,   /* a signal ended us; workers drain */
} phase;

typedef struct supervisor {
    start *start;
    const settings *now;
    worker workers[START_WORKERS];
    size_t count;
    worker_needs needs;
    board *board;
    int signals;
    phase phase;
    bool announced, succeed; /* all workers served once; a successor is wanted */
    successor successor;
    bool reload_again;            /* SIGHUP came during a reload */
    bool reloading, reload_tried; /* a reload began; one worker has accepted it */
    int64_t retired_at;           /* when RETIRING ends */
    int64_t deadline;             /* when workers that have not ended are killed */
    int64_t watch_at; /* when the service manager and the workers are sent the next watchdog */
    int status;
} supervisor;

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void report(const char *level, const char *format, ...) MCP_PRINTF(2, 3);
static void report(const char *level, const char *format, ...)
{
    char line[400];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    log_line(level, line, NULL);
}

/* ---- workers --------------------------------------------------------------------------------- */

static size_t number_of(const supervisor *s, const worker *w)
{
    return (size_t)(w - s->workers) + 1;
}

static void try_start(supervisor *s, worker *w)
{
    w->due = NEVER;
    w->since = now_ms();
    if (worker_start(w, number_of(s, w), &s->needs))
        return;
    report("error", "worker %zu cannot be started: %s", number_of(s, w), strerror(errno));
    w->failures++;
    w->due = now_ms() + (worker_pause(w) ? worker_pause(w) : AGAIN_MS);
}

/* Workers that end are started again. */
static bool serves(const supervisor *s)
{
    return s->phase == SERVING || s->phase == RETIRING;
}

static bool all_ready(const supervisor *s)
{
    for (size_t i = 0; i < s->count; i++)
        if (!s->workers[i].ready)
            return false;
    return true;
}

static void on_ready(supervisor *s, worker *w)
{
    w->ready = w->started = true;
    board_begins(s->board, number_of(s, w));
    if (s->phase == STARTING) {
        s->phase = SERVING;
        for (size_t i = 0; i < s->count; i++)
            if (!s->workers[i].pid)
                try_start(s, &s->workers[i]);
    }
    if (s->phase == RETIRING)
        worker_tell(w, LIFE_RETIRE);
    if (s->announced || !all_ready(s))
        return;
    s->announced = true;
    notify_send("READY=1\nSTATUS=%zu workers serve", s->count);
    succeed_ready(s->start);
}

/* ---- reloads --------------------------------------------------------------------------------- */

/* One worker reloads first; the others follow only if it accepts the configuration. */
static void begin_reload(supervisor *s)
{
    s->reload_again = s->reloading;
    if (s->reloading || s->phase != SERVING)
        return;
    for (size_t i = 0; i < s->count; i++) {
        worker *w = &s->workers[i];
        if (!w->ready)
            continue;
        notify_reloading();
        s->reloading = w->reloading = true;
        s->reload_tried = false;
        worker_tell(w, LIFE_RELOAD);
        return;
    }
}

static void check_reload(supervisor *s)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->workers[i].reloading)
            return;
    if (!s->reloading)
        return;
    s->reloading = false;
    notify_send("READY=1");
    if (s->reload_again)
        begin_reload(s);
}

static void on_reloaded(supervisor *s, worker *w, bool accepted)
{
    w->reloading = false;
    if (accepted && !s->reload_tried) {
        s->reload_tried = true;
        for (size_t i = 0; i < s->count; i++) {
            worker *other = &s->workers[i];
            if (other == w || !other->ready)
                continue;
            other->reloading = true;
            worker_tell(other, LIFE_RELOAD);
        }
    } else if (!accepted && s->reload_tried) {
        report("error", "worker %zu refused what another worker accepted, and is started again",
               number_of(s, w));
        (void)kill(w->pid, SIGTERM);
    }
    check_reload(s);
}

/* ---- the end --------------------------------------------------------------------------------- */

static int64_t drain_ms(const supervisor *s)
{
    return (int64_t)capacity_settings(s->now).drain_time * 1000;
}

static void signal_all(const supervisor *s, int number)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->workers[i].pid)
            (void)kill(s->workers[i].pid, number);
}

/* The sockets stay open, and the files of Unix sockets exist, until the workers drain. */
static void retire(supervisor *s)
{
    s->phase = RETIRING;
    s->retired_at = now_ms() + (int64_t)s->now->drain_delay * 1000;
    succeed_stop(&s->successor);
    notify_send("STOPPING=1");
    for (size_t i = 0; i < s->count; i++)
        worker_tell(&s->workers[i], LIFE_RETIRE);
}

static void end(supervisor *s, int status)
{
    s->status = status > s->status ? status : s->status;
    if (s->phase != ENDING) {
        bool left = s->phase == LEAVING;
        s->phase = ENDING;
        s->retired_at = NEVER;
        s->deadline = now_ms() + drain_ms(s) + MORE_MS;
        if (!left) {
            succeed_stop(&s->successor);
            notify_send("STOPPING=1");
            sockets_close(&s->needs.sockets, true);
        }
    }
    signal_all(s, SIGTERM);
}

static void leave(supervisor *s)
{
    s->phase = LEAVING;
    s->deadline = now_ms() + drain_ms(s) + LIFE_LINGER_MS + MORE_MS;
    sockets_close(&s->needs.sockets, false);
    for (size_t i = 0; i < s->count; i++) {
        worker_tell(&s->workers[i], LIFE_LEAVE);
        if (s->workers[i].pid && !s->workers[i].ready)
            (void)kill(s->workers[i].pid, SIGTERM);
    }
}

static void forget(supervisor *s, worker *w)
{
    if (w->ready)
        board_ended(s->board, number_of(s, w));
    relay_end(s->needs.relay, number_of(s, w) - 1);
    if (w->control >= 0)
        close(w->control);
    w->control = -1;
    w->pid = 0;
    w->ready = false;
    if (w->reloading) {
        w->reloading = false;
        check_reload(s);
    }
}

static void on_end(supervisor *s, worker *w, int status)
{
    bool killed = WIFSIGNALED(status), never = !w->started;
    if (now_ms() - w->since >= STEADY_MS)
        w->failures = 0;
    pid_t pid = w->pid;
    forget(s, w);
    if (s->phase >= LEAVING) {
        if (!killed && WEXITSTATUS(status) != 0)
            s->status = 1;
        return;
    }
    if (s->phase == STARTING || (never && !s->announced)) { /* the worker has said why */
        end(s, 1);
        return;
    }
    w->failures++;
    w->due = now_ms() + worker_pause(w);
    report("error", "worker %zu (process %ld) %s %d; it is started again%s", number_of(s, w),
           (long)pid, killed ? "was killed by signal" : "ended with status",
           killed ? WTERMSIG(status) : WEXITSTATUS(status),
           worker_pause(w) ? " after a pause" : "");
}

static void reap(supervisor *s)
{
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
        if (pid == s->successor.pid)
            s->successor.pid = 0;
        for (size_t i = 0; i < s->count; i++)
            if (s->workers[i].pid == pid)
                on_end(s, &s->workers[i], status);
    }
}

static bool any_runs(const supervisor *s)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->workers[i].pid)
            return true;
    return false;
}

/* ---- events ---------------------------------------------------------------------------------- */

static void on_signal(supervisor *s, uint32_t number)
{
    switch (number) {
    case SIGCHLD: reap(s); break;
    case SIGHUP: begin_reload(s); break;
    case SIGUSR2: s->succeed = true; break;
    default:
        if (s->phase == SERVING && s->now->drain_delay)
            retire(s);
        else
            end(s, 0);
    }
}

static void on_word(supervisor *s, worker *w)
{
    char word;
    ssize_t len = recv(w->control, &word, 1, MSG_DONTWAIT);
    if (len == 0) { /* SIGCHLD follows */
        close(w->control);
        w->control = -1;
    }
    if (len != 1)
        return;
    switch (word) {
    case LIFE_READY: on_ready(s, w); break;
    case LIFE_LOADED: on_reloaded(s, w, true); break;
    case LIFE_REFUSED: on_reloaded(s, w, false); break;
    case LIFE_WATCH: w->watched = true; break;
    default: break;
    }
}

/* The service manager hears of us as long as our loop runs. A worker whose loop does not run is
 * killed, so that it is started again. */
static void watch(supervisor *s)
{
    int64_t every = (int64_t)notify_watchdog_ms();
    notify_send("WATCHDOG=1");
    for (size_t i = 0; i < s->count; i++) {
        worker *w = &s->workers[i];
        if (!w->ready)
            continue;
        if (!w->watched) {
            report("error", "worker %zu (process %ld) does not answer", number_of(s, w),
                   (long)w->pid);
            (void)kill(w->pid, SIGABRT);
        }
        w->watched = false;
        worker_tell(w, LIFE_WATCH);
    }
    s->watch_at = now_ms() + every;
}

static void on_time(supervisor *s)
{
    int64_t now = now_ms();
    for (size_t i = 0; i < s->count && serves(s); i++)
        if (!s->workers[i].pid && now >= s->workers[i].due)
            try_start(s, &s->workers[i]);
    if (s->succeed && s->announced && s->phase == SERVING) {
        s->succeed = false;
        (void)succeed_begin(&s->successor, s->start, s->needs.sockets.fds, s->needs.sockets.count);
    }
    if (now >= s->retired_at)
        end(s, 0);
    if (now >= s->deadline) {
        s->deadline = NEVER;
        s->status = 1;
        report("error", "workers that do not end are killed");
        signal_all(s, SIGKILL);
    }
    if (now >= s->watch_at)
        watch(s);
}

static int wait_ms(const supervisor *s)
{
    int64_t due = s->deadline < s->watch_at ? s->deadline : s->watch_at;
    if (s->retired_at < due)
        due = s->retired_at;
    for (size_t i = 0; i < s->count && serves(s); i++)
        if (!s->workers[i].pid && s->workers[i].due < due)
            due = s->workers[i].due;
    int64_t left = due == NEVER ? -1 : due - now_ms();
    return due == NEVER ? -1 : left < 0 ? 0 : left > 60000 ? 60000 : (int)left;
}

static void one_turn(supervisor *s)
{
    struct pollfd fds[2 * START_WORKERS + 2];
    struct signalfd_siginfo info;
    nfds_t n = 0;
    fds[n++] = (struct pollfd){.fd = s->signals, .events = POLLIN};
    fds[n++] = (struct pollfd){.fd = s->successor.control, .events = POLLIN};
    for (size_t i = 0; i < s->count; i++) /* negative descriptors are ignored */
        fds[n++] = (struct pollfd){.fd = s->workers[i].control, .events = POLLIN};
    relay_poll(s->needs.relay, fds + n);
    if (poll(fds, n + s->count, wait_ms(s)) < 0)
        return;
    relay_turn(s->needs.relay, fds + n);
    for (size_t i = 0; i < s->count; i++)
        if (fds[2 + i].revents & POLLIN)
            on_word(s, &s->workers[i]);
    if (s->successor.control >= 0 && fds[1].revents && succeed_hear(&s->successor) > 0 &&
        s->phase == SERVING)
        leave(s);
    while (read(s->signals, &info, sizeof(info)) == (ssize_t)sizeof(info))
        on_signal(s, info.ssi_signo);
    on_time(s);
}

/* ---- beginning and end ----------------------------------------------------------------------- */

static bool open_signals(supervisor *s)
{
    static const int numbers[] = {SIGHUP, SIGTERM, SIGINT, SIGUSR2, SIGCHLD};
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
        struct sigaction before;
        if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaddset(&set, numbers[i]);
    }
    signal(SIGCHLD, SIG_DFL);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, NULL);
    s->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return s->signals >= 0;
}

static bool prepare(supervisor *s)
{
    s->board = board_new(s->count, s->now->http.count, &s->needs.board);
    const settings usual = capacity_settings(&(settings){.workers = 0});
    uint64_t sessions = s->now->max_sessions; /* of all workers, if it is given */
    s->needs.relay =
        relay_new(s->count, sessions > usual.max_sessions ? sessions : usual.max_sessions);
    bool ok = s->board && s->needs.relay && open_signals(s);
    for (size_t i = 0; ok && i < s->count; i++)
        ok = (s->needs.doorbells[i] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) >= 0;
    if (!ok)
        say("the workers cannot be started: %s", strerror(errno));
    else if (!(ok = folder_make(s->needs.folder)))
        say("the folder for the sockets of the workers cannot be made: %s; TMPDIR says where",
            strerror(errno));
    return ok && sockets_open(&s->needs.sockets, s->start, &s->now->http);
}

int supervise(start *at, const settings *now)
{
    supervisor *s = calloc(1, sizeof(*s));
    if (!s)
        return say("out of memory"), 1;
    *s = (supervisor){.start = at,
                      .now = now,
                      .count = share_workers(now),
                      .signals = -1,
                      .successor = {.control = -1},
                      .retired_at = NEVER,
                      .deadline = NEVER,
                      .watch_at = notify_watchdog_ms() ? now_ms() : NEVER};
    for (size_t i = 0; i < START_WORKERS; i++)
        s->workers[i] = (worker){.control = -1, .due = NEVER};
    s->needs.start = at;
    s->needs.count = s->count;
    s->status = prepare(s) ? 0 : 1;
    if (s->status == 0) {
        try_start(s, &s->workers[0]);
        while (s->phase < LEAVING || any_runs(s))
            one_turn(s);
    }
    int status = s->status;
    sockets_close(&s->needs.sockets, s->phase != LEAVING);
    folder_remove(s->needs.folder, s->count);
    relay_free(s->needs.relay);
    board_free(s->board);
    free(s);
    return status;
}
