/* watch_state.h: what watch.c, watch_way.c and watch_scan.c share; see watch.h for what it is about. */
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
    bool started, list_on, told;

    mcp_host_poll *poll;
    mcp_host_timer *poll_timer, *scan_timer;
    uint32_t jitter;

    files_dir *scan_first, *scan_last; /* waiting, pinned */
    files_dir *scanning;               /* pinned; its entries come from: */
    int scan_fd;

    /* Aligned for the structs that the kernel writes into them. */
    _Alignas(8) char events[FILES_WATCH_BUFFER];
    _Alignas(8) char entries[FILES_WATCH_BUFFER];
};

/* A subscribed path. */
typedef struct files_sub {
    files_node node;
    files_dir **way; /* pinned: the folders from the root down, as far as they exist */
    size_t n_way, way_room;
    bool polled;
    files_stamp stamp;
} files_sub;

/* watch.c */
/* The root that serves the path, or NULL. */
const files_root *files_watch_root_of(const files_watch *w, const char *path, files_target *target);
/* Logs once that changes are noticed late for lack of watches. */
void files_watch_tell_spent(files_watch *w);
int files_watch_open_dir(const char *path, int *ret_fd, void *watch);
bool files_watch_visible(const files_watch *w, const char *path, bool is_dir);
/* dir + "/" + name; 0 when it is too long for COMMON_PATH_MAX. */
size_t files_watch_join(const files_dir *dir, const char *name, size_t name_len, char *to);
/* The length of the path of the parent folder; 1 for "/a". */
size_t files_watch_parent(const char *path, size_t len);
/* Ends the search for folders. */
void files_watch_scanned(files_watch *w);

/* watch_way.c */
/* The length of the path where the way begins: the root's, or of the folder of a single file. 0: in
 * no root. */
size_t files_sub_way_begin(const files_watch *w, const files_sub *s);
/* Gets the current state of the path. */
void files_sub_stamp(const files_watch *w, const char *path, files_stamp *ret);
/* MCP_OK, MCP_ENOMEM. */
int files_sub_make_way(files_watch *w, files_sub *s);
/* Updates how far the way exists, and reports a change of its end. */
void files_sub_look_again(files_watch *w, files_sub *s);
void files_sub_clear_way(files_watch *w, files_sub *s);

/* watch_scan.c: gradually finds the folders in the roots, for lists. */
void files_watch_scan_roots(files_watch *w);
/* Queues a folder to be scanned, possibly again. */
void files_watch_scan_add(files_watch *w, files_dir *dir);
/* Adds a folder. False: there is no room for more folders. */
bool files_watch_found(files_watch *w, const char *path, size_t len);
void files_watch_scan_stop(files_watch *w);

#endif
