/* watch.h: detects changes of subscribed files, and entries that appear or disappear.
 *
 * It handles paths beneath the roots and the host's timers and descriptors; the provider handles
 * URIs and subscribers. Paths are absolute, made of a root and a relative path: "/" is the top.
 *
 * Changes to excluded entries (hidden, ignored) are not reported. Everything happens on the
 * server's thread.
 */
#ifndef FILES_WATCH_H
#define FILES_WATCH_H

#include "root.h"

#include <mcp/provider.h>

typedef struct files_watch files_watch;

typedef struct files_watch_options {
    const files_roots *roots; /* borrowed, as the host is copied */
    const mcp_host *host;
    const mcp_allocator *alloc; /* NULL: malloc */
    size_t budget;              /* 0: 8192, or a quarter of the system's limit when that is less */
    bool rules;                 /* .gitignore files count: a changed one changes the lists */
    uint64_t poll_ms;           /* 0: 2000 */
    /* A subscribed path changed. Called at most once per change, not coalesced in time. Must not
     * call back into files_watch. */
    void (*updated)(const char *path, void *user);
    /* The lists changed. If only the entry of one file did, `path` is that file; otherwise NULL. */
    void (*list_changed)(const char *path, void *user);
    void *user;
} files_watch_options;

/* MCP_EUNSUPPORTED: the host has no timers; MCP_ENOMEM. Nothing is opened yet. */
int files_watch_new(const files_watch_options *options, files_watch **ret);
void files_watch_free(files_watch *w);

/* Subscribes to a path in a root; it need not exist. For a file, its contents, creation and removal
 * are reported; for a folder, changes of its set of entries. Idempotent. MCP_ENOTFOUND: in no root;
 * MCP_ENOMEM. */
int files_watch_add(files_watch *w, const char *path);
void files_watch_remove(files_watch *w, const char *path);

/* Reports changes of the set of served entries from now on. Folders are found gradually, from the
 * roots down. MCP_ENOMEM. */
int files_watch_list_start(files_watch *w);
void files_watch_list_stop(files_watch *w);
/* A folder was just listed, so it is preferred for watching. */
void files_watch_listed(files_watch *w, const char *path);

/* For tests and the log. */
typedef struct files_watch_counts {
    size_t watched, budget, polled, subscriptions;
    bool scanning;
} files_watch_counts;
files_watch_counts files_watch_count(const files_watch *w);

#endif
