/* watch_state.h: what watch.c and watch_scan.c share; see watch.h for what it is about. */
#ifndef FILES_WATCH_STATE_H
#define FILES_WATCH_STATE_H

#include "dirs.h"
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

/* watch.c */
int files_watch_open_dir(const char *path, int *ret_fd, void *watch);
bool files_watch_visible(const files_watch *w, const char *path, bool is_dir);
/* dir + "/" + name; 0 when it is too long for COMMON_PATH_MAX. */
size_t files_watch_join(const files_dir *dir, const char *name, size_t name_len, char *to);
/* The length of the path of what holds this one; of "/a" it is 1. */
size_t files_watch_parent(const char *path, size_t len);
/* No more folders are looked for. */
void files_watch_scanned(files_watch *w);

/* watch_scan.c: finding the folders beneath the roots, little by little, for lists. */
void files_watch_scan_roots(files_watch *w);
/* A folder whose entries have to be looked at, maybe again. */
void files_watch_scan_add(files_watch *w, files_dir *dir);
/* A folder that was found or is new. False: there is no room for more. */
bool files_watch_found(files_watch *w, const char *path, size_t len);
void files_watch_scan_stop(files_watch *w);

#endif
