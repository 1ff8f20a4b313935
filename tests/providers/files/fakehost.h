/* fakehost.h: an mcp_host over poll() for tests of watches: timers, one descriptor, a log. The time is
 * simulated: it goes on only in fakehost_run(), when nothing is left to do. What the kernel says of a
 * change is there when the call that made it returns. */
#ifndef MCP_TESTS_FAKEHOST_H
#define MCP_TESTS_FAKEHOST_H

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include <mcp/provider.h>

struct mcp_host_timer {
    struct mcp_host_timer *next;
    int64_t due; /* INT64_MAX if the timer has fired */
    void (*fn)(void *arg);
    void *arg;
};

struct mcp_host_poll {
    int fd;
    void (*fn)(void *arg);
    void *arg;
};

typedef struct fakehost {
    mcp_host host;
    mcp_host_timer *timers;
    mcp_host_poll *poll;
    size_t warnings;
    bool deaf; /* polling a descriptor fails */
} fakehost;

static int64_t fakehost_time = 1000000;

static int64_t fakehost_now(void *user)
{
    (void)user;
    return fakehost_time;
}

static mcp_host_timer *fakehost_timer_start(uint64_t ms, void (*fn)(void *arg), void *arg,
                                            void *user)
{
    fakehost *h = user;
    mcp_host_timer *t = malloc(sizeof(*t));
    *t = (mcp_host_timer){h->timers, fakehost_now(h) + (int64_t)ms, fn, arg};
    h->timers = t;
    return t;
}

static void fakehost_timer_stop(mcp_host_timer *timer, void *user)
{
    fakehost *h = user;
    mcp_host_timer **at = &h->timers;
    while (*at != timer)
        at = &(*at)->next; /* a crash here means that a timer was stopped twice */
    *at = timer->next;
    free(timer);
}

static mcp_host_poll *fakehost_poll_start(int fd, void (*fn)(void *arg), void *arg, void *user)
{
    fakehost *h = user;
    if (h->deaf)
        return NULL;
    h->poll = malloc(sizeof(*h->poll));
    *h->poll = (mcp_host_poll){fd, fn, arg};
    return h->poll;
}

static void fakehost_poll_stop(mcp_host_poll *poll, void *user)
{
    ((fakehost *)user)->poll = NULL;
    free(poll);
}

static void fakehost_log(const char *level, const char *line, void *user)
{
    (void)line;
    ((fakehost *)user)->warnings += strcmp(level, "warning") == 0;
}

static inline void fakehost_init(fakehost *h)
{
    *h = (fakehost){.host = {.size = sizeof(mcp_host),
                             .now = fakehost_now,
                             .timer_start = fakehost_timer_start,
                             .timer_stop = fakehost_timer_stop,
                             .poll_start = fakehost_poll_start,
                             .poll_stop = fakehost_poll_stop,
                             .log = fakehost_log}};
    h->host.user = h;
}

static mcp_host_timer *fakehost_first(fakehost *h)
{
    mcp_host_timer *first = NULL;
    for (mcp_host_timer *t = h->timers; t; t = t->next)
        if (t->due != INT64_MAX && (!first || t->due < first->due))
            first = t;
    return first;
}

/* Runs the descriptor's callback and the timers that are due within `ms` milliseconds. */
static inline void fakehost_run(fakehost *h, int64_t ms)
{
    int64_t end = fakehost_time + ms;
    for (;;) {
        mcp_host_timer *t = fakehost_first(h);
        struct pollfd p = {.fd = h->poll ? h->poll->fd : -1, .events = POLLIN};
        if (poll(&p, 1, 0) > 0) {
            h->poll->fn(h->poll->arg);
        } else if (t && t->due <= end) {
            fakehost_time = t->due > fakehost_time ? t->due : fakehost_time;
            t->due = INT64_MAX;
            t->fn(t->arg);
        } else {
            fakehost_time = end;
            return;
        }
    }
}

#endif
