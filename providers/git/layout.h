/* layout.h: finds the parts of a repository, checks them and keeps them open.
 *
 * A repository consists of several places: the folder that .git names, its commondir, its objects,
 * and the objects that info/alternates names. Each is opened (O_PATH) before anything is read from
 * it, and the path that the kernel reports for it is compared with the configured folder. From then
 * on only the descriptors are used, so that replacing a folder later has no effect. When a place
 * has changed, the layout is opened again: see repo_layout_is_current().
 */
#ifndef REPO_LAYOUT_H
#define REPO_LAYOUT_H

#include "beneath.h"
#include "buffer.h"
#include "pack.h"

#include <git2.h>
#include <pthread.h>

enum { REPO_ALTERNATES = 16, REPO_IDLE = 4, REPO_STAMPS = 5 };

typedef struct repo_stamp {
    unsigned long long device, inode;
    struct timespec changed;
} repo_stamp;

struct repo_reader;

/* An object database and its reader, which is NULL for a database made by a test. */
typedef struct repo_odb {
    git_odb *odb;
    struct repo_reader *reader;
} repo_odb;

typedef struct repo_layout {
    mcp_allocator alloc;
    size_t uses;                /* reference count; accessed on the server's thread only */
    int root;                   /* the configured folder */
    common_beneath git, common; /* equal descriptors except in a linked worktree */
    int objects[REPO_ALTERNATES];
    size_t n_objects;
    repo_stamp stamp[REPO_STAMPS];
    char *within;         /* real path of the folder that must contain everything */
    pthread_mutex_t lock; /* protects the members below */
    repo_packs packs;
    repo_odb idle[REPO_IDLE]; /* currently unused */
    size_t n_idle;
} repo_layout;

/* Opens a layout, with one reference. `within` may be NULL, which means `path`. If `ret` is NULL,
 * reads no file and checks only names and types of files: `path` must be within the allowed folder,
 * and must be a folder that contains .git, or a bare repository. Returns the errors of
 * mcp_git_mount(). */
int repo_layout_open(const char *path, const char *within, const mcp_allocator *alloc,
                     repo_layout **ret, mcp_error *error);
/* Releases a reference. NULL is allowed. */
void repo_layout_release(repo_layout *l);

/* Returns whether all places are unchanged and no pack was added or removed. */
bool repo_layout_is_current(const repo_layout *l, const char *path);

/* Borrows an object database for one thread, which must return it. odb is NULL if memory is
 * exhausted. Both functions may be called on any thread. */
repo_odb repo_layout_borrow(repo_layout *l);
void repo_layout_return(repo_layout *l, repo_odb odb);

/* Opens a file of an objects folder for reading. Links are followed as long as they stay within the
 * allowed folder. Returns MCP_OK, MCP_ENOTFOUND, MCP_EACCESS if the file is outside or is not a
 * regular file (opening a pipe would block), MCP_EIO, MCP_EFILES or MCP_ENOMEM. */
int repo_layout_open_file(const repo_layout *l, size_t place, const char *name, int *ret_fd,
                          struct stat *st);
bool repo_layout_is_within(const repo_layout *l, int fd);

/* Returns whether the configured folder has a working tree. */
bool repo_layout_has_worktree(const repo_layout *l);

/* Returns whether the clone is shallow, so that parents of its oldest commits may be missing. */
bool repo_layout_is_shallow(const repo_layout *l);

/* The same for a file, and for a folder, of the repository's own folders. */
int repo_layout_open_in(const repo_layout *l, common_beneath at, const char *name, int *ret_fd,
                        struct stat *st);
int repo_layout_open_dir(const repo_layout *l, common_beneath at, const char *name, int *ret_fd);

/* Reads the beginning of a small file, NUL-terminated. Links are followed in the same way; if `l` is
 * NULL, the result for one is COMMON_IS_LINK. Returns MCP_OK, MCP_ENOTFOUND or the other errors of
 * repo_layout_open_in(). */
int repo_read_small(const repo_layout *l, common_beneath at, const char *rel, char *to, size_t room,
                    size_t *ret_len);

#endif
