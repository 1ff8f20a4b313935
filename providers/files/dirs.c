/* dirs.c: the set of watched folders; see dirs.h. */
#define _GNU_SOURCE
#include "dirs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "buffer.h"
#include "closing.h"

enum { DEFAULT_BUDGET = 8192, FIRST_BUCKETS = 64 };

/* Entries created and removed, for lists. IN_CLOSE_WRITE reports a rewritten .gitignore. */
static const uint32_t mask_listed = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO |
                                    IN_DELETE_SELF | IN_MOVE_SELF | IN_CLOSE_WRITE | IN_ONLYDIR |
                                    IN_MASK_ADD;
/* Changes to contents and attributes, which are watched in addition for subscriptions. */
static const uint32_t mask_pinned = IN_MODIFY | IN_ATTRIB;

/* ---- stamps and paths ------------------------------------------------------------------------ */

void files_stamp_of(const struct stat *st, files_stamp *ret)
{
    *ret = (files_stamp){.exists = true,
                         .dev = st->st_dev,
                         .ino = st->st_ino,
                         .mode = st->st_mode,
                         .len = st->st_size,
                         .mtime = st->st_mtim,
                         .ctime = st->st_ctim};
}

static bool same_time(struct timespec a, struct timespec b)
{
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

bool files_stamp_same(const files_stamp *a, const files_stamp *b)
{
    if (!a->exists || !b->exists)
        return a->exists == b->exists;
    return a->dev == b->dev && a->ino == b->ino && a->mode == b->mode && a->len == b->len &&
           same_time(a->mtime, b->mtime) && same_time(a->ctime, b->ctime);
}

bool files_path_below(const char *path, size_t len, const char *above, size_t above_len)
{
    if (len < above_len || memcmp(path, above, above_len) != 0)
        return false;
    return len == above_len || path[above_len] == '/' || (above_len == 1 && *above == '/');
}

/* ---- table by path --------------------------------------------------------------------------- */

static size_t hash_path(const char *path, size_t len)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < len; i++)
        h = (h ^ (unsigned char)path[i]) * 0x100000001b3u;
    return (size_t)(h ^ (h >> 29));
}

files_node *files_table_find(const files_table *t, const char *path, size_t len)
{
    if (!t->n_buckets)
        return NULL;
    size_t hash = hash_path(path, len);
    for (files_node *n = t->buckets[hash & (t->n_buckets - 1)]; n; n = n->next)
        if (n->hash == hash && n->len == len && memcmp(n->path, path, len) == 0)
            return n;
    return NULL;
}

static int table_grow(files_table *t, const mcp_allocator *alloc)
{
    size_t n = t->n_buckets ? t->n_buckets * 2 : FIRST_BUCKETS;
    files_node **buckets = common_alloc(alloc, n * sizeof(*buckets));
    if (!buckets)
        return MCP_ENOMEM;
    memset(buckets, 0, n * sizeof(*buckets));
    for (size_t i = 0; i < t->n_buckets; i++) {
        for (files_node *node = t->buckets[i], *next; node; node = next) {
            next = node->next;
            node->next = buckets[node->hash & (n - 1)];
            buckets[node->hash & (n - 1)] = node;
        }
    }
    common_release(alloc, t->buckets);
    t->buckets = buckets;
    t->n_buckets = n;
    return MCP_OK;
}

int files_table_add(files_table *t, files_node *node, const mcp_allocator *alloc)
{
    if (t->count >= t->n_buckets && table_grow(t, alloc) != MCP_OK && !t->n_buckets)
        return MCP_ENOMEM; /* too few buckets only make lookups slower */
    node->hash = hash_path(node->path, node->len);
    files_node **at = &t->buckets[node->hash & (t->n_buckets - 1)];
    node->next = *at;
    *at = node;
    t->count++;
    return MCP_OK;
}

void files_table_remove(files_table *t, files_node *node)
{
    files_node **at = &t->buckets[node->hash & (t->n_buckets - 1)];
    while (*at != node)
        at = &(*at)->next;
    *at = node->next;
    t->count--;
}

void files_table_free(files_table *t, const mcp_allocator *alloc)
{
    common_release(alloc, t->buckets);
    *t = (files_table){0};
}

/* ---- least recently used --------------------------------------------------------------------- */

static void list_remove(files_dir_list *list, files_dir *d)
{
    *(d->newer ? &d->newer->older : &list->newest) = d->older;
    *(d->older ? &d->older->newer : &list->oldest) = d->newer;
    d->newer = d->older = NULL;
    list->count--;
}

static void list_add(files_dir_list *list, files_dir *d)
{
    d->newer = NULL;
    d->older = list->newest;
    *(list->newest ? &list->newest->newer : &list->oldest) = d;
    list->newest = d;
    list->count++;
}

static files_dir_list *list_of(files_dirs *dirs, const files_dir *d)
{
    return d->wd >= 0 ? &dirs->watched : &dirs->polled;
}

static void touch(files_dirs *dirs, files_dir *d)
{
    list_remove(list_of(dirs, d), d);
    list_add(list_of(dirs, d), d);
}

static files_dir *oldest_unpinned(const files_dir_list *list)
{
    files_dir *d = list->oldest;
    while (d && d->pins)
        d = d->newer;
    return d;
}

/* Returns the stamp of a folder. It changes with the set of entries, which the mtime shows, and
 * with the .gitignore, which may be rewritten in place. */
static files_stamp dir_stamp(const files_dirs *dirs, int dir_fd, const struct stat *st)
{
    struct stat rules;
    files_stamp stamp = {
        .exists = true, .dev = st->st_dev, .ino = st->st_ino, .mtime = st->st_mtim};
    if (dirs->rules && fstatat(dir_fd, ".gitignore", &rules, AT_SYMLINK_NOFOLLOW) == 0)
        stamp.len = rules.st_size, stamp.ctime = rules.st_mtim;
    return stamp;
}

/* ---- watches --------------------------------------------------------------------------------- */

static files_dir **wd_bucket(const files_dirs *dirs, int wd)
{
    return &dirs->by_wd[(size_t)wd & (dirs->n_by_wd - 1)];
}

static int wd_grow(files_dirs *dirs)
{
    size_t n = dirs->n_by_wd ? dirs->n_by_wd * 2 : FIRST_BUCKETS;
    files_dir **old = dirs->by_wd, **buckets = common_alloc(&dirs->alloc, n * sizeof(files_dir *));
    if (!buckets)
        return MCP_ENOMEM;
    memset(buckets, 0, n * sizeof(*buckets));
    for (size_t i = 0; i < dirs->n_by_wd; i++) {
        for (files_dir *d = old[i], *next; d; d = next) {
            next = d->next_wd;
            d->next_wd = buckets[(size_t)d->wd & (n - 1)];
            buckets[(size_t)d->wd & (n - 1)] = d;
        }
    }
    common_release(&dirs->alloc, old);
    dirs->by_wd = buckets;
    dirs->n_by_wd = n;
    return MCP_OK;
}

/* Removes the watch of `d`. The kernel's watch is removed unless another path shares it. */
static void unwatch(files_dirs *dirs, files_dir *d)
{
    bool shared = false;
    for (files_dir **at = wd_bucket(dirs, d->wd); *at;) {
        if (*at == d) {
            *at = d->next_wd;
            continue;
        }
        shared |= (*at)->wd == d->wd;
        at = &(*at)->next_wd;
    }
    if (!shared)
        inotify_rm_watch(dirs->fd, d->wd);
    list_remove(&dirs->watched, d);
    d->wd = -1;
}

static int add_watch(files_dirs *dirs, int dir_fd, uint32_t mask)
{
    char proc[32];
    snprintf(proc, sizeof(proc), "/proc/self/fd/%d", dir_fd);
    return inotify_add_watch(dirs->fd, proc, mask);
}

/* Makes room for one more watch, if necessary by evicting the least recently used folder, which is
 * polled then. Returns false if there is no room. */
static bool make_room(files_dirs *dirs, files_dir_use use)
{
    if (dirs->watched.count < dirs->budget)
        return true;
    dirs->spent = true;
    files_dir *oldest = use == FILES_DIR_FOUND ? NULL : oldest_unpinned(&dirs->watched);
    int fd;
    struct stat st;
    if (!oldest)
        return false;
    if (dirs->open(oldest->node.path, &fd, dirs->user) == MCP_OK) {
        if (fstat(fd, &st) == 0)
            oldest->stamp = dir_stamp(dirs, fd, &st);
        close(fd);
    }
    unwatch(dirs, oldest);
    list_add(&dirs->polled, oldest);
    return true;
}

/* Adds a watch for `d`, which must not be in a list. Returns false if the folder has
 * to be polled. */
static bool watch(files_dirs *dirs, files_dir *d, int dir_fd, files_dir_use use)
{
    if (dirs->fd < 0 || !make_room(dirs, use))
        return false;
    if (dirs->watched.count >= dirs->n_by_wd && wd_grow(dirs) != MCP_OK && !dirs->n_by_wd)
        return false;
    int wd = add_watch(dirs, dir_fd, mask_listed | (use == FILES_DIR_PINNED ? mask_pinned : 0));
    if (wd < 0) {
        if (errno == ENOSPC || errno == ENOMEM) { /* other processes have used up the
                                                   * system's watches */
            dirs->spent = true;
            dirs->budget = dirs->watched.count ? dirs->watched.count : 1;
        }
        return false;
    }
    d->wd = wd;
    d->next_wd = *wd_bucket(dirs, wd);
    *wd_bucket(dirs, wd) = d;
    list_add(&dirs->watched, d);
    return true;
}

/* ---- adding and removing --------------------------------------------------------------------- */

static size_t system_limit(void)
{
    char text[32] = "";
    int fd = open("/proc/sys/fs/inotify/max_user_watches", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (fd >= 0)
        close(fd);
    size_t value = 0;
    for (ssize_t i = 0; i < n && text[i] >= '0' && text[i] <= '9' && value < SIZE_MAX / 16; i++)
        value = value * 10 + (size_t)(text[i] - '0');
    return value;
}

void files_dirs_init(files_dirs *dirs, const mcp_allocator *alloc, size_t budget,
                     files_open_dir_fn *open, void *user)
{
    *dirs = (files_dirs){.alloc = *alloc, .open = open, .user = user, .fd = -1, .budget = budget};
}

void files_dirs_limits(files_dirs *dirs)
{
    if (!dirs->budget) {
        size_t quarter = system_limit() / 4;
        dirs->budget = quarter && quarter < DEFAULT_BUDGET ? quarter : DEFAULT_BUDGET;
    }
    dirs->max_polled = dirs->budget < DEFAULT_BUDGET ? DEFAULT_BUDGET : dirs->budget;
}

bool files_dirs_open(files_dirs *dirs)
{
    files_dirs_limits(dirs);
    if (dirs->fd < 0)
        dirs->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    return dirs->fd >= 0;
}

static void dir_free(files_dirs *dirs, files_dir *d)
{
    common_release(&dirs->alloc, d);
}

void files_dirs_drop(files_dirs *dirs, files_dir *d)
{
    if (d->dead)
        return;
    if (d->wd >= 0)
        unwatch(dirs, d);
    else
        list_remove(&dirs->polled, d);
    files_table_remove(&dirs->by_path, &d->node);
    d->dead = true;
    if (!d->pins)
        dir_free(dirs, d);
}

void files_dirs_drop_below(files_dirs *dirs, const char *path, size_t len)
{
    files_dir_list *lists[] = {&dirs->watched, &dirs->polled};
    for (size_t i = 0; i < 2; i++) {
        for (files_dir *d = lists[i]->oldest, *next; d; d = next) {
            next = d->newer;
            if (files_path_below(d->node.path, d->node.len, path, len))
                files_dirs_drop(dirs, d);
        }
    }
}

void files_dirs_close(files_dirs *dirs, const mcp_host *host)
{
    files_dir_list *lists[] = {&dirs->watched, &dirs->polled};
    for (size_t i = 0; i < 2; i++)
        while (lists[i]->oldest)
            files_dirs_drop(dirs, lists[i]->oldest);
    common_close_inotify(dirs->fd, host);
    dirs->fd = -1;
    files_table_free(&dirs->by_path, &dirs->alloc);
    common_release(&dirs->alloc, dirs->by_wd);
    dirs->by_wd = NULL;
    dirs->n_by_wd = 0;
}

void files_dir_pin(files_dir *d)
{
    d->pins++;
}

void files_dir_unpin(files_dirs *dirs, files_dir *d)
{
    if (--d->pins == 0 && d->dead)
        dir_free(dirs, d);
}

files_dir *files_dirs_find(const files_dirs *dirs, const char *path, size_t len)
{
    return (files_dir *)files_table_find(&dirs->by_path, path, len);
}

static files_dir *dir_new(files_dirs *dirs, const char *path, size_t len)
{
    files_dir *d = common_alloc(&dirs->alloc, sizeof(*d) + len + 1);
    if (!d)
        return NULL;
    *d = (files_dir){.wd = -1, .node = {.len = len, .path = (char *)(d + 1)}};
    memcpy(d->node.path, path, len);
    d->node.path[len] = 0;
    return d;
}

/* Adds d, which must not be in a list, to the polled folders. */
static int poll_instead(files_dirs *dirs, files_dir *d, files_stamp stamp, files_dir_use use)
{
    if (dirs->polled.count >= dirs->max_polled) {
        files_dir *oldest = use == FILES_DIR_FOUND ? NULL : oldest_unpinned(&dirs->polled);
        if (!oldest)
            return MCP_ELIMIT;
        files_dirs_drop(dirs, oldest);
    }
    d->stamp = stamp;
    list_add(&dirs->polled, d);
    return MCP_OK;
}

/* Marks a folder in the set as used again, possibly for a use that needs more events. */
static void use_again(files_dirs *dirs, files_dir *d, files_dir_use use)
{
    int fd;
    bool more = use == FILES_DIR_PINNED && d->pins == 0;
    touch(dirs, d);
    if (d->wd >= 0 ? !more : use == FILES_DIR_FOUND)
        return;
    if (dirs->open(d->node.path, &fd, dirs->user) != MCP_OK)
        return;
    if (d->wd >= 0) {
        add_watch(dirs, fd, mask_listed | mask_pinned);
    } else {
        list_remove(&dirs->polled, d);
        if (!watch(dirs, d, fd, use))
            list_add(&dirs->polled, d);
    }
    close(fd);
}

static int add_new(files_dirs *dirs, const char *path, size_t len, files_dir_use use,
                   files_dir **ret)
{
    int fd;
    struct stat st;
    files_dir *d = dir_new(dirs, path, len);
    int rc = d ? dirs->open(d->node.path, &fd, dirs->user) : MCP_ENOMEM;
    if (rc != MCP_OK)
        return common_release(&dirs->alloc, d), rc;
    rc = fstat(fd, &st) != 0 ? MCP_EIO : files_table_add(&dirs->by_path, &d->node, &dirs->alloc);
    if (rc == MCP_OK && !watch(dirs, d, fd, use))
        if ((rc = poll_instead(dirs, d, dir_stamp(dirs, fd, &st), use)) != MCP_OK)
            files_table_remove(&dirs->by_path, &d->node);
    close(fd);
    if (rc != MCP_OK)
        return common_release(&dirs->alloc, d), rc;
    *ret = d;
    return MCP_OK;
}

int files_dirs_add(files_dirs *dirs, const char *path, size_t len, files_dir_use use,
                   files_dir **ret)
{
    files_dir *d = files_dirs_find(dirs, path, len);
    int rc = MCP_OK;
    if (d)
        use_again(dirs, d, use);
    else
        rc = add_new(dirs, path, len, use, &d);
    if (rc != MCP_OK)
        return rc;
    if (use == FILES_DIR_PINNED)
        d->pins++;
    *ret = d;
    return MCP_OK;
}

size_t files_dirs_of_watch(files_dirs *dirs, int wd, files_dir **ret, size_t max)
{
    size_t n = 0;
    if (!dirs->n_by_wd || wd < 0)
        return 0;
    for (files_dir *d = *wd_bucket(dirs, wd); d && n < max; d = d->next_wd)
        if (d->wd == wd)
            files_dir_pin(ret[n++] = d);
    return n;
}

/* ---- polling --------------------------------------------------------------------------------- */

files_dir *files_dirs_poll(files_dirs *dirs, files_dir_news *news)
{
    files_dir *d = dirs->polled.oldest;
    int fd;
    struct stat st;
    if (!d)
        return NULL;
    touch(dirs, d);
    files_dir_pin(d);
    *news = FILES_DIR_GONE;
    if (dirs->open(d->node.path, &fd, dirs->user) != MCP_OK)
        return d;
    if (fstat(fd, &st) == 0) {
        files_stamp now = dir_stamp(dirs, fd, &st);
        *news = files_stamp_same(&now, &d->stamp) ? FILES_DIR_SAME : FILES_DIR_CHANGED;
        d->stamp = now;
    }
    if (dirs->watched.count < dirs->budget) { /* a watch has become available */
        list_remove(&dirs->polled, d);
        if (!watch(dirs, d, fd, FILES_DIR_FOUND))
            list_add(&dirs->polled, d);
    }
    close(fd);
    return d;
}
