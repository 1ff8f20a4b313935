/* dirs.h: the set of watched folders, which are watched with inotify or polled.
 *
 * This module handles paths, descriptors and the budget of watches; watch.c interprets the changes.
 * A folder is watched through a descriptor that was opened beneath its root, never by its path, so
 * that the folder cannot be replaced by another in between. When the budget is used up, the least
 * recently used folder is polled instead. Pinned folders are not evicted.
 */
#ifndef FILES_DIRS_H
#define FILES_DIRS_H

#include <mcp/base.h>
#include <mcp/provider.h>

#include <sys/inotify.h>
#include <sys/stat.h>
#include <time.h>

/* State that is compared between two polls to detect a change. */
typedef struct files_stamp {
    bool exists;
    dev_t dev;
    ino_t ino;
    mode_t mode;
    off_t len;
    struct timespec mtime, ctime;
} files_stamp;

void files_stamp_of(const struct stat *st, files_stamp *ret);
bool files_stamp_same(const files_stamp *a, const files_stamp *b);

/* An entry of a hash table by path. It must be the first member of the entry's struct. */
typedef struct files_node {
    struct files_node *next;
    size_t hash, len;
    char *path;
} files_node;

typedef struct files_table {
    files_node **buckets;
    size_t n_buckets, count;
} files_table;

files_node *files_table_find(const files_table *t, const char *path, size_t len);
int files_table_add(files_table *t, files_node *node, const mcp_allocator *alloc);
void files_table_remove(files_table *t, files_node *node);
void files_table_free(files_table *t, const mcp_allocator *alloc);

typedef struct files_dir {
    files_node node;
    struct files_dir *next_wd;       /* in the bucket of its watch descriptor */
    struct files_dir *newer, *older; /* in the order of last use */
    struct files_dir *next_scan;     /* in the queue of watch.c for scanning */
    int wd;                          /* -1 if polled */
    unsigned pins;                   /* reference count; a pinned folder is never evicted */
    bool dead;                       /* removed from all tables; freed when the last
                                      * pin is released */
    bool queued;
    files_stamp stamp; /* if polled, the state at the last poll */
} files_dir;

typedef struct files_dir_list {
    files_dir *newest, *oldest;
    size_t count;
} files_dir_list;

/* Opens a folder beneath its root. Returns MCP_OK with a descriptor, or an error. */
typedef int files_open_dir_fn(const char *path, int *ret_fd, void *user);

typedef struct files_dirs {
    mcp_allocator alloc;
    files_open_dir_fn *open;
    void *user;
    int fd; /* inotify descriptor; -1 if inotify is not available */
    size_t budget, max_polled;
    bool rules; /* a rewritten .gitignore counts as a change of its folder */
    bool spent; /* a folder is polled or ignored for lack of watches */
    files_table by_path;
    files_dir **by_wd;
    size_t n_by_wd;
    files_dir_list watched, polled;
} files_dirs;

/* Why a folder is added: found by a scan, listed by a client, or needed by a subscription. FOUND
 * folders use only free watches; the others evict the least recently used folder. */
typedef enum files_dir_use { FILES_DIR_FOUND, FILES_DIR_LISTED, FILES_DIR_PINNED } files_dir_use;

/* Initializes the set. A budget of 0 means 8192, or a quarter of the system's limit if
 * that is less. */
void files_dirs_init(files_dirs *dirs, const mcp_allocator *alloc, size_t budget,
                     files_open_dir_fn *open, void *user);
/* Opens the inotify descriptor. Returns false if everything has to be polled. */
bool files_dirs_open(files_dirs *dirs);
/* Sets the limits that depend on the system, if they are not set yet. */
void files_dirs_limits(files_dirs *dirs);
/* Releases all folders, even pinned ones, and closes the descriptor on a worker thread of the host.
 * If host is NULL, closes it at once. The set can be used again. */
void files_dirs_close(files_dirs *dirs, const mcp_host *host);

files_dir *files_dirs_find(const files_dirs *dirs, const char *path, size_t len);

/* Adds a folder, or marks it as used. Afterwards it is watched or polled. A PINNED folder gets a
 * pin, which files_dir_unpin() releases. Returns MCP_OK, MCP_ENOMEM, MCP_ELIMIT if there is no
 * room, or the errors of `open` (MCP_ENOTFOUND, MCP_EACCESS, …). */
int files_dirs_add(files_dirs *dirs, const char *path, size_t len, files_dir_use use,
                   files_dir **ret);
void files_dir_pin(files_dir *dir);
void files_dir_unpin(files_dirs *dirs, files_dir *dir);

/* Removes a folder that no longer exists at its path. */
void files_dirs_drop(files_dirs *dirs, files_dir *dir);
/* Removes all folders at or below a path. */
void files_dirs_drop_below(files_dirs *dirs, const char *path, size_t len);

/* Gets at most `max` folders that share a watch (links may lead to the same folder), and pins each.
 * Returns their number. */
size_t files_dirs_of_watch(files_dirs *dirs, int wd, files_dir **ret, size_t max);

typedef enum files_dir_news { FILES_DIR_SAME, FILES_DIR_CHANGED, FILES_DIR_GONE } files_dir_news;

/* Polls the folder whose last poll is the oldest. Returns the folder with a pin, or NULL if no
 * folder is polled. */
files_dir *files_dirs_poll(files_dirs *dirs, files_dir_news *news);

/* Returns whether `path` equals `above` or is below it. */
bool files_path_below(const char *path, size_t len, const char *above, size_t above_len);

#endif
