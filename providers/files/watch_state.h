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

/* One path that is subscribed to. */
typedef struct files_sub {
    files_node node;
    files_dir **way; /* pinned: from the root's folder down, as far as it exists */
    size_t n_way, way_room;
    bool polled;
    files_stamp stamp;
} files_sub;

/* watch.c */
/* The root that serves the path, or NULL. */
const files_root *files_watch_root_of(const files_watch *w, const char *path, files_target *target);
/* Once: the operator should know that changes are noticed late. */
void files_watch_tell_spent(files_watch *w);
int files_watch_open_dir(const char *path, int *ret_fd, void *watch);
bool files_watch_visible(const files_watch *w, const char *path, bool is_dir);
/* dir + "/" + name; 0 when it is too long for COMMON_PATH_MAX. */
size_t files_watch_join(const files_dir *dir, const char *name, size_t name_len, char *to);
/* The length of the path of what holds this one; of "/a" it is 1. */
size_t files_watch_parent(const char *path, size_t len);
/* No more folders are looked for. */
void files_watch_scanned(files_watch *w);

/* watch_way.c */
/* Where the way begins: the root's path, or the folder of a single file. 0: beneath no root. */
size_t files_sub_way_begin(const files_watch *w, const files_sub *s);
/* What is at the path now. */
void files_sub_stamp(const files_watch *w, const char *path, files_stamp *ret);
/* MCP_OK, MCP_ENOMEM. */
int files_sub_make_way(files_watch *w, files_sub *s);
/* Looks again how far the way goes; says so when what is at its end is not what it was. */
void files_sub_look_again(files_watch *w, files_sub *s);
void files_sub_clear_way(files_watch *w, files_sub *s);

/* watch_scan.c: finding the folders beneath the roots, little by little, for lists. */
void files_watch_scan_roots(files_watch *w);
/* A folder whose entries have to be looked at, maybe again. */
void files_watch_scan_add(files_watch *w, files_dir *dir);
/* A folder that was found or is new. False: there is no room for more. */
bool files_watch_found(files_watch *w, const char *path, size_t len);
void files_watch_scan_stop(files_watch *w);

#endif
