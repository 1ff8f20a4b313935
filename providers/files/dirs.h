/* dirs.h: the set of watched folders, by inotify or by polling.
 *
 * Handles paths, descriptors and the budget; watch.c interprets the changes. A folder is watched
 * through a descriptor that was opened beneath its root, never by its path, so that it cannot be
 * swapped for something else in between. When the budget is used up, the least recently used folder
 * is polled instead; pinned folders stay.
 */
#ifndef FILES_DIRS_H
#define FILES_DIRS_H

#include <mcp/base.h>

#include <sys/inotify.h>
#include <sys/stat.h>
#include <time.h>

/* State that is compared to detect a change between two polls. */
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

/* An entry with a path in a hash table; must be the first member. */
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
    struct files_dir *next_wd;       /* in the bucket of its watch */
    struct files_dir *newer, *older; /* in the order of use */
    struct files_dir *next_scan;     /* watch.c: waiting to be scanned */
    int wd;                          /* -1: polled */
    unsigned pins;                   /* number of holders; a pinned folder is preferably watched */
    bool dead;                       /* removed from all tables; freed with the last pin */
    bool queued;
    files_stamp stamp; /* if polled: the state when it was last polled */
} files_dir;

typedef struct files_dir_list {
    files_dir *newest, *oldest;
    size_t count;
} files_dir_list;

/* Opens a folder beneath its root; MCP_OK and a descriptor, or MCP_E*. */
typedef int files_open_dir_fn(const char *path, int *ret_fd, void *user);

typedef struct files_dirs {
    mcp_allocator alloc;
    files_open_dir_fn *open;
    void *user;
    int fd; /* inotify; -1: not available */
    size_t budget, max_polled;
    bool rules; /* a rewritten .gitignore counts as a change of its folder */
    bool spent; /* a folder is polled or left out for lack of watches */
    files_table by_path;
    files_dir **by_wd;
    size_t n_by_wd;
    files_dir_list watched, polled;
} files_dirs;

/* Why a folder is added. FOUND folders only use free watches; others evict the oldest. */
typedef enum files_dir_use { FILES_DIR_FOUND, FILES_DIR_LISTED, FILES_DIR_PINNED } files_dir_use;

/* budget 0: 8192, or a quarter of the system's limit when that is less. */
void files_dirs_init(files_dirs *dirs, const mcp_allocator *alloc, size_t budget,
                     files_open_dir_fn *open, void *user);
/* Makes the inotify descriptor; false: everything is polled. */
bool files_dirs_open(files_dirs *dirs);
/* Sets the limits that depend on the system, when they are not set yet. */
void files_dirs_limits(files_dirs *dirs);
/* Releases everything, even pinned folders, and the descriptor; may be used again. */
void files_dirs_close(files_dirs *dirs);

files_dir *files_dirs_find(const files_dirs *dirs, const char *path, size_t len);

/* Adds a folder or marks it as used; it is then watched or polled. Errors of `open` (MCP_ENOTFOUND,
 * MCP_EACCESS, …); MCP_ELIMIT: no room for a FOUND folder; MCP_ENOMEM. A PINNED folder gets a pin,
 * to be released by files_dir_unpin(). */
int files_dirs_add(files_dirs *dirs, const char *path, size_t len, files_dir_use use,
                   files_dir **ret);
void files_dir_pin(files_dir *dir);
void files_dir_unpin(files_dirs *dirs, files_dir *dir);

/* Removes a folder that its path no longer leads to. */
void files_dirs_drop(files_dirs *dirs, files_dir *dir);
/* The same for a path and everything below it. */
void files_dirs_drop_below(files_dirs *dirs, const char *path, size_t len);

/* Gets at most `max` folders that share a watch (links may lead to the same folder), each
 * pinned. */
size_t files_dirs_of_watch(files_dirs *dirs, int wd, files_dir **ret, size_t max);

typedef enum files_dir_news { FILES_DIR_SAME, FILES_DIR_CHANGED, FILES_DIR_GONE } files_dir_news;

/* Polls the folder that was polled the longest time ago. Returns it pinned; NULL: none is
 * polled. */
files_dir *files_dirs_poll(files_dirs *dirs, files_dir_news *news);

/* Whether path is `above` or lies below it. */
bool files_path_below(const char *path, size_t len, const char *above, size_t above_len);

#endif
