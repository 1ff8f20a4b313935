/* watch_scan.c: finds the folders beneath the roots, so that lists can be watched.
 *
 * The scan is breadth-first, because users look mostly at folders near the root. It runs in slices
 * of a few milliseconds, between which requests are answered, because a root may be the whole file
 * system. It ends when no more folders can be added.
 */
#define _GNU_SOURCE
#include "watch_state.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

enum {
    SLICE_NS = 5 * 1000 * 1000,
    SLICE_PAUSE_MS = 2,
};

static void scan_slice(void *arg);

static void scan_later(files_watch *w)
{
    if (w->scan_timer)
        w->host.timer_stop(w->scan_timer, w->host.user);
    w->scan_timer = w->host.timer_start(SLICE_PAUSE_MS, scan_slice, w, w->host.user);
}

void files_watch_scan_add(files_watch *w, files_dir *d)
{
    if (d->queued)
        return;
    d->queued = true;
    d->next_scan = NULL;
    files_dir_pin(d);
    if (w->scan_last)
        w->scan_last->next_scan = d;
    else
        w->scan_first = d;
    w->scan_last = d;
    if (!w->scan_timer)
        scan_later(w);
}

static files_dir *scan_pop(files_watch *w)
{
    files_dir *d = w->scan_first;
    if (!d)
        return NULL;
    w->scan_first = d->next_scan;
    if (!w->scan_first)
        w->scan_last = NULL;
    d->queued = false;
    return d;
}

static void scan_leave(files_watch *w)
{
    if (!w->scanning)
        return;
    close(w->scan_fd);
    files_dir_unpin(&w->dirs, w->scanning);
    w->scanning = NULL;
}

void files_watch_scan_stop(files_watch *w)
{
    scan_leave(w);
    for (files_dir *d; (d = scan_pop(w)) != NULL;)
        files_dir_unpin(&w->dirs, d);
    if (w->scan_timer)
        w->host.timer_stop(w->scan_timer, w->host.user);
    w->scan_timer = NULL;
}

/* Returns whether the file system has no ordinary files. Such file systems have many folders and
 * send no events. */
static bool is_pseudo(int fd)
{
    struct statfs st;
    return fstatfs(fd, &st) == 0 && (st.f_type == PROC_SUPER_MAGIC || st.f_type == SYSFS_MAGIC ||
                                     st.f_type == CGROUP2_SUPER_MAGIC);
}

/* Opens the next folder in the queue. Returns false if the queue is empty. */
static bool scan_enter(files_watch *w)
{
    for (files_dir *d; (d = scan_pop(w)) != NULL;) {
        /* Opened for reading, because its entries are needed. */
        if (!d->dead && files_watch_open_dir(d->node.path, &w->scan_fd, w) == MCP_OK) {
            w->scanning = d;
            if (!is_pseudo(w->scan_fd))
                return true;
            scan_leave(w);
            continue;
        }
        files_dir_unpin(&w->dirs, d);
    }
    return false;
}

/* Adds a folder that was found. Returns false if no more folders can be added. */
bool files_watch_found(files_watch *w, const char *path, size_t len)
{
    files_dir *d = files_dirs_find(&w->dirs, path, len);
    bool known = d != NULL;
    int rc = known ? MCP_OK : files_dirs_add(&w->dirs, path, len, FILES_DIR_FOUND, &d);
    if (rc == MCP_OK && (!known || !d->queued))
        files_watch_scan_add(w, d);
    return rc != MCP_ELIMIT && rc != MCP_EFILES && rc != MCP_ENOMEM;
}

typedef struct linux_dirent { /* the record that getdents64() writes */
    uint64_t ino;
    int64_t off;
    unsigned short reclen;
    unsigned char type;
    char name[];
} linux_dirent;

static bool is_folder(int dir_fd, const linux_dirent *e)
{
    struct stat st;
    if (e->type != DT_UNKNOWN)
        return e->type == DT_DIR;
    return fstatat(dir_fd, e->name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

/* Processes one buffer of entries. Returns 1 if there may be more, 0 at the end, or -1 if no more
 * folders can be added. */
static int scan_some(files_watch *w)
{
    char path[COMMON_PATH_MAX];
    long n = syscall(SYS_getdents64, w->scan_fd, w->entries, sizeof(w->entries));
    for (long at = 0; at < n;) {
        const linux_dirent *e = (const void *)(w->entries + at);
        size_t name_len = strlen(e->name);
        at += e->reclen;
        if (strcmp(e->name, ".") == 0 || strcmp(e->name, "..") == 0 || !is_folder(w->scan_fd, e))
            continue;
        size_t len = files_watch_join(w->scanning, e->name, name_len, path);
        if (len && files_watch_visible(w, path, true) && !files_watch_found(w, path, len))
            return -1;
    }
    return n > 0;
}

static int64_t nanoseconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void scan_end(files_watch *w)
{
    files_watch_scan_stop(w);
    files_watch_scanned(w);
}

static void scan_slice(void *arg)
{
    files_watch *w = arg;
    int64_t end = nanoseconds() + SLICE_NS;
    int more = 1;
    do {
        if (!w->scanning && !scan_enter(w))
            return scan_end(w);
        more = scan_some(w);
        if (more < 0) {
            w->dirs.spent = true;
            return scan_end(w);
        }
        if (more == 0)
            scan_leave(w);
    } while (nanoseconds() < end);
    scan_later(w);
}

void files_watch_scan_root(files_watch *w, size_t index)
{
    const files_root *root = &w->o.roots->items[index];
    size_t len = root->only ? files_watch_parent(root->path, root->path_len) : root->path_len;
    files_dir *d;
    int rc = files_dirs_add(&w->dirs, len ? root->path : "/", len ? len : 1, FILES_DIR_LISTED, &d);
    if (rc == MCP_OK && !root->only)
        files_watch_scan_add(w, d);
}

void files_watch_scan_roots(files_watch *w)
{
    for (size_t i = 0; i < w->o.roots->count; i++)
        files_watch_scan_root(w, i);
}
