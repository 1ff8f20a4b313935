/* watch.h: detects changes to subscribed files, and entries that appear or disappear.
 *
 * This module handles paths beneath the roots and the host's timers and descriptors; the provider
 * handles URIs and subscribers. Paths are absolute: a root's path and a relative path. "/" is the
 * top of the file system.
 *
 * Changes to excluded entries (hidden, ignored) are not reported. All functions run on the server's
 * thread.
 */
#ifndef FILES_WATCH_H
#define FILES_WATCH_H

#include "root.h"

#include <mcp/provider.h>

typedef struct files_watch files_watch;

typedef struct files_watch_options {
    const files_roots *roots; /* borrowed; the host is copied */
    const mcp_host *host;
    const mcp_allocator *alloc; /* NULL means malloc() */
    size_t budget;              /* 0 means 8192, or a quarter of the system's limit if
                                 * that is less */
    bool rules;                 /* .gitignore files are in use, so a changed one
                                 * changes the lists */
    uint64_t poll_ms;           /* polling interval; 0 means 2000 */
    /* A subscribed path changed. Called at most once per change; changes are not coalesced over
     * time. Must not call functions of files_watch. */
    void (*updated)(const char *path, void *user);
    /* The lists changed. If only the entry of one file changed, `path` is that file,
     * otherwise NULL. */
    void (*list_changed)(const char *path, void *user);
    /* The folder of a root may have been removed, or be there again. Whoever opens another one calls
     * files_watch_renewed(). May be NULL. */
    void (*look)(size_t root, void *user);
    void *user;
} files_watch_options;

/* Creates a watcher, which opens nothing yet. Returns MCP_OK, MCP_EUNSUPPORTED if the host has no
 * timers, or MCP_ENOMEM. */
int files_watch_new(const files_watch_options *options, files_watch **ret);
void files_watch_free(files_watch *w);

/* Subscribes to a path in a root. The path need not exist. For a file, its changed contents,
 * creation and removal are reported; for a folder, changes to its set of entries. Does nothing if
 * the path is already subscribed. Returns MCP_OK, MCP_ENOTFOUND if the path is in no root, or
 * MCP_ENOMEM. */
int files_watch_add(files_watch *w, const char *path);
void files_watch_remove(files_watch *w, const char *path);

/* Starts reporting changes to the set of served entries. Folders are found gradually, from the
 * roots downwards. Returns MCP_OK. */
int files_watch_list_start(files_watch *w);
void files_watch_list_stop(files_watch *w);
/* Prefers a folder for watching, because it was just listed. */
void files_watch_listed(files_watch *w, const char *path);

/* Another folder is open as the root now, or none: reports this, and watches the new one. */
void files_watch_renewed(files_watch *w, size_t root);

/* Current figures, for tests and the log. */
typedef struct files_watch_counts {
    size_t watched, budget, polled, subscriptions;
    bool scanning;
} files_watch_counts;
files_watch_counts files_watch_count(const files_watch *w);

#endif
