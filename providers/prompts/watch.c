/* watch.c: see watch.h. */
#define _GNU_SOURCE
#include "watch.h"

#include <errno.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "buffer.h"

enum { SETTLE_MS = 50 }; /* wait until an editor has finished saving */

static const uint32_t of_entries =
    IN_CLOSE_WRITE | IN_MOVED_FROM | IN_MOVED_TO | IN_CREATE | IN_DELETE | IN_ATTRIB | IN_ONLYDIR;
static const uint32_t of_folder = IN_DELETE_SELF | IN_MOVE_SELF;

struct prompts_watch {
    const char *path;
    mcp_host host;
    mcp_allocator alloc;
    uint64_t poll_ms;
    void (*changed)(void *user);
    void *user;
    int fd; /* inotify descriptor, or -1 while the folder is polled */
    mcp_host_poll *poll;
    mcp_host_timer *timer; /* for the next report or poll */
    bool soon;             /* the timer is for a report */
};

static void stop_timer(prompts_watch *w)
{
    if (w->timer)
        w->host.timer_stop(w->timer, w->host.user);
    w->timer = NULL;
    w->soon = false;
}

static void on_timer(void *arg);

static void start_timer(prompts_watch *w, uint64_t ms, bool soon)
{
    stop_timer(w);
    w->soon = soon;
    w->timer = w->host.timer_start(ms, on_timer, w, w->host.user);
}

static void end(prompts_watch *w)
{
    if (w->poll)
        w->host.poll_stop(w->poll, w->host.user);
    if (w->fd >= 0)
        close(w->fd);
    w->poll = NULL;
    w->fd = -1;
}

static void on_readable(void *arg);

/* Starts watching with inotify. Returns false if the folder has to be polled. */
static bool begin(prompts_watch *w)
{
    if (!w->host.poll_start || !w->host.poll_stop)
        return false;
    w->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (w->fd >= 0 && inotify_add_watch(w->fd, w->path, of_entries | of_folder) >= 0)
        w->poll = w->host.poll_start(w->fd, on_readable, w, w->host.user);
    if (!w->poll)
        end(w);
    return w->poll != NULL;
}

/* Reports a change or polls. Each poll tries to watch again, because another folder may have
 * replaced the old one. */
static void on_timer(void *arg)
{
    prompts_watch *w = arg;
    stop_timer(w);
    if (w->fd < 0 && !begin(w))
        start_timer(w, w->poll_ms, false);
    w->changed(w->user);
}

/* Returns whether prompts may have changed. *gone is set if the folder itself was moved,
 * deleted or unmounted. */
static bool concerns(const struct inotify_event *e, bool *gone)
{
    *gone = (e->mask & (of_folder | IN_IGNORED | IN_UNMOUNT)) != 0;
    if (*gone || e->mask & IN_Q_OVERFLOW || !e->len)
        return true;
    size_t len = strlen(e->name);
    if (strcmp(e->name, "..data") == 0) /* a volume of Kubernetes: all prompts lead through it */
        return true;
    return len > 3 && strcmp(e->name + len - 3, ".md") == 0;
}

static void on_readable(void *arg)
{
    prompts_watch *w = arg;
    _Alignas(struct inotify_event) char events[4096];
    bool any = false, gone = false;
    ssize_t n = read(w->fd, events, sizeof(events));
    for (ssize_t at = 0; at < n;) {
        const struct inotify_event *e = (const void *)(events + at);
        bool its_end;
        at += (ssize_t)(sizeof(*e) + e->len);
        any = concerns(e, &its_end) || any;
        gone = gone || its_end;
    }
    if (gone || (n < 0 && errno != EAGAIN && errno != EINTR))
        end(w), any = true;
    if (any && !w->soon)
        start_timer(w, SETTLE_MS, true);
}

int prompts_watch_new(const char *path, const mcp_host *host, uint64_t poll_ms,
                      const mcp_allocator *alloc, void (*changed)(void *user), void *user,
                      prompts_watch **ret)
{
    if (!host || !host->timer_start || !host->timer_stop)
        return MCP_EUNSUPPORTED;
    mcp_allocator a = common_allocator(alloc);
    prompts_watch *w = common_alloc(&a, sizeof(*w));
    if (!w)
        return MCP_ENOMEM;
    *w = (prompts_watch){.path = path,
                         .host = *host,
                         .alloc = a,
                         .poll_ms = poll_ms,
                         .changed = changed,
                         .user = user,
                         .fd = -1};
    if (!begin(w))
        start_timer(w, w->poll_ms, false);
    *ret = w;
    return MCP_OK;
}

void prompts_watch_again(prompts_watch *w)
{
    if (w && !w->timer)
        start_timer(w, w->poll_ms, false);
}

void prompts_watch_free(prompts_watch *w)
{
    if (!w)
        return;
    stop_timer(w);
    end(w);
    mcp_allocator a = w->alloc;
    common_release(&a, w);
}
