/* watch.c: interprets the events of watched folders for subscriptions and lists; see watch.h.
 *
 * watch_way.c chooses the folders to watch for a subscription, watch_scan.c those for lists, and
 * watch_roots.c notices that a root is gone.
 *
 * What inotify cannot report is polled every two seconds: folders beyond the budget, and files that
 * are reached through a symbolic link, because the change happens in a folder that is not on the
 * path.
 */
#define _GNU_SOURCE
#include "watch.h"

#include "buffer.h"
#include "watch_state.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

enum {
    POLL_AT_ONCE = 4096, /* folders polled in one round */
    MAX_ALIASES = 8,     /* limit of paths to one folder */
};

static const mcp_default defaults[] = {
    MCP_DEFAULT(files_watch_options, poll_ms, 2000),
};

static const uint32_t structure = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO;
static const uint32_t appeared = IN_CREATE | IN_MOVED_TO;
static const uint32_t self_gone = IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED | IN_UNMOUNT;

/* ---- paths and the roots --------------------------------------------------------------------- */

const files_root *files_watch_root_of(const files_watch *w, const char *path, files_target *target)
{
    int rc = files_path_parse(w->o.roots, mcp_str_from(path), target);
    return rc == MCP_OK ? &w->o.roots->items[target->root] : NULL;
}

size_t files_watch_parent(const char *path, size_t len)
{
    while (len > 0 && path[len - 1] != '/')
        len--;
    return len > 1 ? len - 1 : len;
}

/* Returns the root of a single file in this folder, which is watched but not served, or NULL. */
static const files_root *single_file_in(const files_watch *w, const char *path)
{
    size_t len = strlen(path);
    for (size_t i = 0; i < w->o.roots->count; i++) {
        const files_root *root = &w->o.roots->items[i];
        if (root->only && files_watch_parent(root->path, root->path_len) == len &&
            memcmp(root->path, path, len) == 0)
            return root;
    }
    return NULL;
}

int files_watch_open_dir(const char *path, int *ret_fd, void *user)
{
    files_watch *w = user;
    files_target target;
    struct stat st;
    const files_root *root = single_file_in(w, path);
    if (root)
        return common_beneath_open_dir(root->at, "", ret_fd);
    root = files_watch_root_of(w, path, &target);
    if (!root || root->only)
        return MCP_ENOTFOUND;
    int rc = files_root_open(root, target.rel, ret_fd, &st);
    if (rc == MCP_OK && !S_ISDIR(st.st_mode)) {
        close(*ret_fd);
        rc = MCP_ENOTFOUND;
    }
    return rc;
}

bool files_watch_visible(const files_watch *w, const char *path, bool is_dir)
{
    files_target target;
    bool ret = true;
    const files_root *root = files_watch_root_of(w, path, &target);
    if (!root)
        return false;
    if (root->ignore &&
        files_ignore_visible(root->ignore, target.rel, target.rel_len, is_dir, &ret) != MCP_OK)
        return true; /* too many reports are better than too few */
    return ret;
}

/* See watch_state.h. */
size_t files_watch_join(const files_dir *dir, const char *name, size_t name_len, char *to)
{
    size_t len = dir->node.len;
    if (len + 1 + name_len >= COMMON_PATH_MAX)
        return 0;
    memcpy(to, dir->node.path, len);
    if (len > 1)
        to[len++] = '/';
    memcpy(to + len, name, name_len);
    to[len + name_len] = 0;
    return len + name_len;
}

/* ---- reports --------------------------------------------------------------------------------- */

static void tell_updated(files_watch *w, const files_sub *s)
{
    w->o.updated(s->node.path, w->o.user);
}

static void tell_list(files_watch *w, const char *path)
{
    if (w->list_on)
        w->o.list_changed(path, w->o.user);
}

void files_watch_tell_spent(files_watch *w)
{
    char line[200];
    if (w->told || !w->started || (w->dirs.fd >= 0 && !w->dirs.spent))
        return;
    w->told = true;
    if (!w->host.log)
        return;
    if (w->dirs.fd < 0)
        snprintf(line, sizeof(line), "inotify is not available; polling for changes every %llu ms",
                 (unsigned long long)w->o.poll_ms);
    else
        snprintf(line, sizeof(line),
                 "%zu folders are watched; the others are polled every %llu ms, at most %zu of "
                 "them (see --watch-budget)",
                 w->dirs.watched.count, (unsigned long long)w->o.poll_ms, w->dirs.max_polled);
    w->host.log("warning", line, w->host.user);
}

/* ---- subscriptions --------------------------------------------------------------------------- */

typedef void sub_fn(files_watch *w, files_sub *s, void *arg);

static void each_sub(files_watch *w, sub_fn *fn, void *arg)
{
    for (size_t i = 0; i < w->subs.n_buckets; i++) {
        for (files_node *n = w->subs.buckets[i], *next; n; n = next) {
            next = n->next;
            fn(w, (files_sub *)n, arg);
        }
    }
}

static void look_again_below(files_watch *w, files_sub *s, void *arg)
{
    const mcp_str *path = arg;
    if (files_path_below(s->node.path, s->node.len, path->ptr, path->len))
        files_sub_look_again(w, s);
}

static void sub_free(files_watch *w, files_sub *s, void *arg)
{
    (void)arg;
    files_sub_clear_way(w, s);
    common_release(&w->alloc, s);
}

static files_sub *find_sub(const files_watch *w, const char *path, size_t len)
{
    return (files_sub *)files_table_find(&w->subs, path, len);
}

/* ---- events ---------------------------------------------------------------------------------- */

typedef struct event {
    files_dir *dir;
    uint32_t mask;
    const char *path;
    size_t len, name; /* length of the path; offset of the name */
    bool is_dir, served;
    bool
        is_version; /* a volume of Kubernetes gets another version, so all below its folder may differ */
} event;

/* Handles an event that says that the folder itself was deleted, moved away or unmounted. */
static void on_gone(files_watch *w, files_dir *d)
{
    mcp_str path = {d->node.path, d->node.len};
    files_dir_pin(d);
    files_dirs_drop_below(&w->dirs, path.ptr, path.len);
    each_sub(w, look_again_below, &path);
    tell_list(w, NULL);
    files_dir_unpin(&w->dirs, d);
}

static void event_for_subs(files_watch *w, const event *e)
{
    files_sub *exact = find_sub(w, e->path, e->len);
    bool changed = (e->mask & structure) != 0;
    if (exact && (changed || !e->is_dir)) {
        files_sub_stamp(w, exact->node.path, &exact->stamp);
        tell_updated(w, exact);
    }
    if (changed && e->dir->pins) {
        mcp_str path = {e->path, e->is_version ? e->dir->node.len : e->len};
        each_sub(w, look_again_below, &path);
    }
    files_sub *folder = find_sub(w, e->dir->node.path, e->dir->node.len);
    if (folder && changed && e->served) {
        files_sub_stamp(w, folder->node.path, &folder->stamp);
        tell_updated(w, folder);
    }
}

static void event_for_lists(files_watch *w, const event *e)
{
    if (e->mask & structure && e->served) {
        if (e->is_dir && e->mask & appeared && w->list_on && !files_watch_found(w, e->path, e->len))
            w->dirs.spent = true;
        tell_list(w, e->is_dir ? NULL : e->path); /* a folder may bring more entries */
    } else if (e->is_version || (w->o.rules && strcmp(e->path + e->name, ".gitignore") == 0)) {
        tell_list(w, NULL); /* the set of entries may have changed */
    }
}

static void on_entry(files_watch *w, files_dir *d, uint32_t mask, const char *name)
{
    char path[COMMON_PATH_MAX];
    size_t name_len = strlen(name), len = files_watch_join(d, name, name_len, path);
    event e = {.dir = d, .mask = mask, .path = path, .len = len, .name = len - name_len};
    if (!len)
        return;
    e.is_dir = (mask & IN_ISDIR) != 0;
    e.is_version = mask & appeared && strcmp(name, "..data") == 0;
    e.served = (mask & structure) && files_watch_visible(w, path, e.is_dir);
    if (e.is_dir && mask & IN_MOVED_FROM)
        files_dirs_drop_below(&w->dirs, path, len);
    event_for_subs(w, &e);
    event_for_lists(w, &e);
    files_watch_tell_spent(w);
}

static void sub_overflowed(files_watch *w, files_sub *s, void *arg)
{
    (void)arg;
    files_stamp before = s->stamp;
    files_sub_look_again(w, s);
    if (files_stamp_same(&before, &s->stamp)) /* otherwise files_sub_look_again() has
                                               * reported the change */
        tell_updated(w, s);
}

/* Reports everything as changed, because events were lost. */
static void on_overflow(files_watch *w)
{
    each_sub(w, sub_overflowed, NULL);
    files_watch_look(w);
    if (!w->list_on)
        return;
    files_watch_scan_stop(w);
    files_watch_scan_roots(w);
    tell_list(w, NULL);
}

static void on_event(files_watch *w, const struct inotify_event *e)
{
    files_dir *dirs[MAX_ALIASES];
    if (e->mask & IN_Q_OVERFLOW)
        return on_overflow(w);
    size_t n = files_dirs_of_watch(&w->dirs, e->wd, dirs, MAX_ALIASES);
    for (size_t i = 0; i < n; i++) {
        if (!dirs[i]->dead && e->mask & self_gone)
            on_gone(w, dirs[i]);
        else if (!dirs[i]->dead && e->len)
            on_entry(w, dirs[i], e->mask, e->name);
        files_dir_unpin(&w->dirs, dirs[i]);
    }
    files_watch_above_event(w, e);
}

static void poll_later(files_watch *w);

static void on_readable(void *arg)
{
    files_watch *w = arg;
    ssize_t n = w->dirs.fd < 0 ? -1 : read(w->dirs.fd, w->events, sizeof(w->events));
    for (ssize_t at = 0; at < n;) {
        const struct inotify_event *e = (const void *)(w->events + at);
        at += (ssize_t)(sizeof(*e) + e->len);
        on_event(w, e);
    }
    poll_later(w);
}

/* ---- polling --------------------------------------------------------------------------------- */

static void poll_sub(files_watch *w, files_sub *s, void *arg)
{
    (void)arg;
    if (s->polled)
        files_sub_look_again(w, s);
}

static void poll_dir(files_watch *w, files_dir *d, files_dir_news news)
{
    if (news == FILES_DIR_SAME || d->dead)
        return;
    tell_list(w, NULL);
    if (news == FILES_DIR_CHANGED && w->list_on)
        files_watch_scan_add(w, d);
    else if (news == FILES_DIR_GONE)
        files_dirs_drop(&w->dirs, d);
}

static void on_poll(void *arg);

/* Starts the timer if folders or subscriptions are polled. */
static void poll_later(files_watch *w)
{
    if (w->poll_timer || !w->started ||
        (!w->dirs.polled.count && !w->polled_subs && !files_watch_any_gone(w)))
        return;
    /* Varies the interval by a tenth, so that many servers do not poll at the same moment. */
    w->jitter = w->jitter * 1664525u + 1013904223u;
    uint64_t tenth = w->o.poll_ms / 10, spread = tenth ? (w->jitter >> 8) % (2 * tenth) : 0;
    if (w->poll_timer)
        w->host.timer_stop(w->poll_timer, w->host.user);
    w->poll_timer = w->host.timer_start(w->o.poll_ms - tenth + spread, on_poll, w, w->host.user);
}

static void on_poll(void *arg)
{
    files_watch *w = arg;
    w->host.timer_stop(w->poll_timer, w->host.user);
    w->poll_timer = NULL;
    files_watch_look(w);
    size_t n = w->dirs.polled.count < POLL_AT_ONCE ? w->dirs.polled.count : POLL_AT_ONCE;
    for (; n; n--) {
        files_dir_news news;
        files_dir *d = files_dirs_poll(&w->dirs, &news);
        if (!d)
            break;
        poll_dir(w, d, news);
        files_dir_unpin(&w->dirs, d);
    }
    each_sub(w, poll_sub, NULL);
    poll_later(w);
}

void files_watch_renewed(files_watch *w, size_t root)
{
    char folder[COMMON_PATH_MAX];
    mcp_str path = {folder, files_root_folder(&w->o.roots->items[root], folder)};
    if (!w->started)
        return;
    files_dirs_drop_below(&w->dirs, path.ptr, path.len);
    files_watch_above(w);
    each_sub(w, look_again_below, &path);
    if (w->list_on)
        files_watch_scan_root(w, root);
    tell_list(w, NULL);
    poll_later(w);
}

void files_watch_scanned(files_watch *w)
{
    files_watch_tell_spent(w);
    poll_later(w);
}

/* ---- creating and freeing -------------------------------------------------------------------- */

int files_watch_new(const files_watch_options *options, files_watch **ret)
{
    mcp_allocator alloc = common_allocator(options->alloc);
    const mcp_host *host = options->host;
    if (!host || !host->timer_start || !host->timer_stop)
        return MCP_EUNSUPPORTED;
    files_watch *w = common_alloc(&alloc, sizeof(*w));
    if (!w)
        return MCP_ENOMEM;
    memset(w, 0, offsetof(files_watch, events));
    w->o = *options;
    MCP_SET_DEFAULTS(&w->o, defaults);
    w->host = *host;
    w->alloc = alloc;
    w->jitter = (uint32_t)getpid() * 2654435761u;
    w->above = common_alloc(&alloc, options->roots->count * sizeof(*w->above));
    if (!w->above) {
        common_release(&alloc, w);
        return MCP_ENOMEM;
    }
    files_dirs_init(&w->dirs, &w->alloc, options->budget, files_watch_open_dir, w);
    w->dirs.rules = options->rules;
    *ret = w;
    return MCP_OK;
}

/* Starts watching for the first subscriber. */
static void begin(files_watch *w)
{
    if (w->started)
        return;
    w->started = true;
    if (w->host.poll_start && w->host.poll_stop && files_dirs_open(&w->dirs))
        w->poll = w->host.poll_start(w->dirs.fd, on_readable, w, w->host.user);
    if (!w->poll) {
        files_dirs_close(&w->dirs, NULL);
        files_dirs_limits(&w->dirs);
    }
    files_watch_above(w);
    files_watch_tell_spent(w);
}

static void end(files_watch *w, const mcp_host *host)
{
    w->started = false;
    files_watch_scan_stop(w);
    if (w->poll)
        w->host.poll_stop(w->poll, w->host.user);
    if (w->poll_timer)
        w->host.timer_stop(w->poll_timer, w->host.user);
    w->poll = NULL;
    w->poll_timer = NULL;
    files_dirs_close(&w->dirs, host);
}

/* Stops watching after the last subscriber has been removed. */
static void end_if_idle(files_watch *w)
{
    if (!w->list_on && !w->subs.count)
        end(w, &w->host);
}

void files_watch_free(files_watch *w)
{
    if (!w)
        return;
    each_sub(w, sub_free, NULL);
    files_table_free(&w->subs, &w->alloc);
    end(w, NULL);
    mcp_allocator alloc = w->alloc;
    common_release(&alloc, w->above);
    common_release(&alloc, w);
}

int files_watch_add(files_watch *w, const char *path)
{
    size_t len = strlen(path);
    if (find_sub(w, path, len))
        return MCP_OK;
    files_sub *s = common_alloc(&w->alloc, sizeof(*s) + len + 1);
    if (!s)
        return MCP_ENOMEM;
    *s = (files_sub){.node = {.len = len, .path = (char *)(s + 1)}};
    memcpy(s->node.path, path, len + 1);
    int rc =
        files_sub_way_begin(w, s) ? files_table_add(&w->subs, &s->node, &w->alloc) : MCP_ENOTFOUND;
    if (rc != MCP_OK)
        return common_release(&w->alloc, s), rc;
    begin(w);
    files_sub_stamp(w, path, &s->stamp);
    rc = files_sub_make_way(w, s);
    if (rc != MCP_OK)
        files_watch_remove(w, path);
    files_watch_tell_spent(w);
    poll_later(w);
    return rc;
}

void files_watch_remove(files_watch *w, const char *path)
{
    files_sub *s = find_sub(w, path, strlen(path));
    if (!s)
        return;
    files_table_remove(&w->subs, &s->node);
    sub_free(w, s, NULL);
    end_if_idle(w);
}

int files_watch_list_start(files_watch *w)
{
    w->list_on = true;
    begin(w);
    files_watch_scan_roots(w);
    poll_later(w);
    return MCP_OK;
}

void files_watch_list_stop(files_watch *w)
{
    w->list_on = false;
    files_watch_scan_stop(w);
    end_if_idle(w);
}

void files_watch_listed(files_watch *w, const char *path)
{
    files_dir *d;
    if (!w->list_on)
        return;
    files_dirs_add(&w->dirs, path, strlen(path), FILES_DIR_LISTED, &d);
    files_watch_tell_spent(w);
    poll_later(w);
}

files_watch_counts files_watch_count(const files_watch *w)
{
    return (files_watch_counts){.watched = w->dirs.watched.count,
                                .budget = w->dirs.budget,
                                .polled = w->dirs.polled.count,
                                .subscriptions = w->subs.count,
                                .scanning = w->scan_first || w->scanning};
}
