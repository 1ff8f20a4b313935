/* watch_state.h: declarations shared by watch.c, watch_way.c, watch_scan.c and watch_roots.c; see
 * watch.h. */
#ifndef FILES_WATCH_STATE_H
#define FILES_WATCH_STATE_H

#include "dirs.h"
#include "fileuri.h"
#include "watch.h"

#define FILES_WATCH_BUFFER (16 << 10)

struct files_watch {
    files_watch_options o;
    mcp_host host;
    mcp_allocator alloc;
    files_dirs dirs;
    files_table subs;
    size_t polled_subs;
    int *above; /* for each root the watch of the folder that its folder is in; -1 if none */
    bool started, list_on, told;

    mcp_host_poll *poll;
    mcp_host_timer *poll_timer, *scan_timer;
    uint32_t jitter;

    files_dir *scan_first, *scan_last; /* queue of folders to scan, pinned */
    files_dir *scanning;               /* the folder whose entries scan_fd reads; pinned */
    int scan_fd;

    /* Aligned for the records that the kernel writes into them. */
    _Alignas(8) char events[FILES_WATCH_BUFFER];
    _Alignas(8) char entries[FILES_WATCH_BUFFER];
};

/* A subscribed path. */
typedef struct files_sub {
    files_node node;
    files_dir **way; /* pinned; the folders from the root down, as far as they exist */
    size_t n_way, way_room;
    bool polled;
    files_stamp stamp;
} files_sub;

/* watch.c */
/* Returns the root that contains the path, or NULL. Sets *target. */
const files_root *files_watch_root_of(const files_watch *w, const char *path, files_target *target);
/* Logs once that changes are detected late because folders are polled. */
void files_watch_tell_spent(files_watch *w);
int files_watch_open_dir(const char *path, int *ret_fd, void *watch);
bool files_watch_visible(const files_watch *w, const char *path, bool is_dir);
/* Writes dir + "/" + name to `to`. Returns the length, or 0 if it exceeds COMMON_PATH_MAX. */
size_t files_watch_join(const files_dir *dir, const char *name, size_t name_len, char *to);
/* Returns the length of the path of the parent folder; 1 for "/a". */
size_t files_watch_parent(const char *path, size_t len);
/* Called when the scan for folders has ended. */
void files_watch_scanned(files_watch *w);

/* watch_way.c */
/* Returns the length of the path at which the way begins: that of the root, or of the folder of a
 * single file. Returns 0 if the path is in no root. */
size_t files_sub_way_begin(const files_watch *w, const files_sub *s);
/* Gets the current stamp of the path. */
void files_sub_stamp(const files_watch *w, const char *path, files_stamp *ret);
/* Watches the folders on the way. Returns MCP_OK or MCP_ENOMEM. */
int files_sub_make_way(files_watch *w, files_sub *s);
/* Determines again how far the way exists, and reports a change of the path. */
void files_sub_look_again(files_watch *w, files_sub *s);
void files_sub_clear_way(files_watch *w, files_sub *s);

/* watch_roots.c: notices that the folder of a root is removed, moved or made again. */
/* Watches the folders that those of the roots are in. */
void files_watch_above(files_watch *w);
void files_watch_above_event(files_watch *w, const struct inotify_event *e);
/* Looks whether roots that are gone, or that nothing tells of, are there. */
void files_watch_look(files_watch *w);
bool files_watch_any_gone(const files_watch *w);

/* watch_scan.c: gradually finds the folders in the roots, for lists. */
void files_watch_scan_root(files_watch *w, size_t root);
void files_watch_scan_roots(files_watch *w);
/* Queues a folder to be scanned, even if it was scanned before. */
void files_watch_scan_add(files_watch *w, files_dir *dir);
/* Adds a folder that was found. Returns false if no more folders can be added. */
bool files_watch_found(files_watch *w, const char *path, size_t len);
void files_watch_scan_stop(files_watch *w);

#endif
