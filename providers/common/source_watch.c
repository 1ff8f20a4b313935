/* source_watch.c: the subscribers of a source. It looks for changes at intervals and soon after
 * an inotify event. */
#define _GNU_SOURCE
#include "source_watch.h"

#include "closing.h"

#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

/* ---- looking for changes --------------------------------------------------------------------- */

static void on_timer(void *user)
{
    common_source *s = user;
    s->soon = false;
    uint64_t ms = s->kind->look(s);
    if (ms)
        (void)common_source_look_in(s, ms);
}

int common_source_look_in(common_source *s, uint64_t ms)
{
    if (s->timer)
        s->host->timer_stop(s->timer, s->host->user);
    s->timer = s->host->timer_start(ms, on_timer, s, s->host->user);
    return s->timer ? MCP_OK : MCP_ENOMEM;
}

static bool is_ours(const common_source *s, const char *events, ssize_t len)
{
    if (!s->kind->concerns)
        return len > 0;
    for (ssize_t at = 0; at < len;) {
        const struct inotify_event *e = (const void *)(events + at);
        if (s->kind->concerns(s, e))
            return true;
        at += (ssize_t)(sizeof(*e) + e->len);
    }
    return false;
}

static void on_event(void *user)
{
    common_source *s = user;
    union {
        struct inotify_event event; /* for alignment */
        char bytes[4096];
    } buffer;
    bool ours = false;
    ssize_t len;
    while ((len = read(s->fd, &buffer, sizeof(buffer))) > 0)
        ours = is_ours(s, buffer.bytes, len) || ours;
    if (ours && !s->soon) {
        s->soon = true;
        (void)common_source_look_in(s, s->soon_ms);
    }
}

bool common_source_events(common_source *s)
{
    s->fd = s->host->poll_start ? inotify_init1(IN_CLOEXEC | IN_NONBLOCK) : -1;
    return s->fd >= 0;
}

void common_source_poll(common_source *s)
{
    s->poll = s->host->poll_start(s->fd, on_event, s, s->host->user);
}

void common_source_list_changed(common_source *s)
{
    if (s->watched.list)
        mcp_server_resources_changed(s->server);
}

/* ---- subscribers ----------------------------------------------------------------------------- */

void common_source_stop_watching(common_source *s, const mcp_host *host)
{
    if (!s->watching)
        return;
    s->watching = s->soon = false;
    if (s->timer)
        s->host->timer_stop(s->timer, s->host->user);
    if (s->poll)
        s->host->poll_stop(s->poll, s->host->user);
    common_close_inotify(s->fd, host);
    s->timer = NULL;
    s->poll = NULL;
    s->fd = -1;
    if (s->kind->end)
        s->kind->end(s);
    common_watched_clear(&s->watched, &s->alloc);
}

static int start(common_source *s)
{
    if (s->watching)
        return MCP_OK;
    s->host = mcp_server_host(s->server);
    if (!s->host || !s->host->timer_start)
        return MCP_EUNSUPPORTED;
    s->watching = true;
    int rc = s->kind->begin(s);
    if (rc != MCP_OK)
        common_source_stop_watching(s, NULL);
    return rc;
}

static void stop_unused(common_source *s)
{
    if (!common_watched_any(&s->watched))
        common_source_stop_watching(s, s->host);
}

static int add(common_source *s, const char *canonical)
{
    size_t size = s->kind->own_size;
    void *own = size ? common_alloc(&s->alloc, size) : NULL;
    if (size && !own)
        return MCP_ENOMEM;
    if (size)
        memset(own, 0, size);
    int rc = common_watched_add(&s->watched, &s->alloc, canonical, own);
    if (rc == MCP_OK && s->kind->mark)
        s->kind->mark(s, &s->watched.item[s->watched.n - 1]);
    return rc;
}

int common_source_watch(const char *canonical, void *source)
{
    common_source *s = source;
    int rc = start(s);
    if (rc == MCP_OK)
        rc = add(s, canonical);
    stop_unused(s);
    return rc;
}

void common_source_unwatch(const char *canonical, void *source)
{
    common_source *s = source;
    common_watched_remove(&s->watched, &s->alloc, canonical);
    stop_unused(s);
}

int common_source_watch_list(void *source)
{
    common_source *s = source;
    int rc = start(s);
    if (rc != MCP_OK)
        return rc;
    s->watched.list = true;
    if (s->kind->mark_list)
        s->kind->mark_list(s);
    return MCP_OK;
}

void common_source_unwatch_list(void *source)
{
    common_source *s = source;
    s->watched.list = false;
    stop_unused(s);
}
