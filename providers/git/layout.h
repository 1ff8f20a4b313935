/* layout.h: finds the parts of a repository, checks them and keeps them open.
 *
 * A repository is several places: what .git names, its commondir, its objects, and the objects that
 * info/alternates names. Each is opened (O_PATH) before anything is read from it, and the location
 * that the kernel reports for it is compared with the configured folder. From then on only the
 * descriptors are used, so that swapping a folder afterwards has no effect. A layout whose places
 * changed is opened again: see repo_layout_is_current().
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

/* An object database, and what reads for it; NULL where a test has a database of its own. */
typedef struct repo_odb {
    git_odb *odb;
    struct repo_reader *reader;
} repo_odb;

typedef struct repo_layout {
    mcp_allocator alloc;
    size_t uses;                /* counted on the server's thread alone */
    int root;                   /* what was configured */
    common_beneath git, common; /* the same descriptor, except in a linked worktree */
    int objects[REPO_ALTERNATES];
    size_t n_objects;
    repo_stamp stamp[REPO_STAMPS];
    char *within;         /* the folder that must contain everything, as the kernel spells it */
    pthread_mutex_t lock; /* of what follows */
    repo_packs packs;
    repo_odb idle[REPO_IDLE]; /* currently unused */
    size_t n_idle;
} repo_layout;

/* `within` may be NULL, which means `path`. Errors as mcp_git_mount(). The caller holds one
 * reference. */
int repo_layout_open(const char *path, const char *within, const mcp_allocator *alloc,
                     repo_layout **ret, mcp_error *error);
/* Drops a reference; NULL is allowed. */
void repo_layout_release(repo_layout *l);

/* Whether everything still lies where it was found and no pack was added or removed. */
bool repo_layout_is_current(const repo_layout *l, const char *path);

/* Borrows an object database for one thread; it must be returned. May be called from any thread.
 * odb is NULL if there is no memory. */
repo_odb repo_layout_borrow(repo_layout *l);
void repo_layout_return(repo_layout *l, repo_odb odb);

/* Opens a file of an objects folder for reading. Links are followed as long as they stay within the
 * allowed folder. MCP_ENOTFOUND; MCP_EACCESS: it leads elsewhere or is not a regular file (opening
 * a pipe would block); MCP_EIO, MCP_ELIMIT, MCP_ENOMEM. */
int repo_layout_open_file(const repo_layout *l, size_t place, const char *name, int *ret_fd,
                          struct stat *st);
bool repo_layout_is_within(const repo_layout *l, int fd);

/* Whether there is a working tree at the configured path. */
bool repo_layout_has_worktree(const repo_layout *l);

/* Whether the clone is shallow: the history may end at commits that have parents. */
bool repo_layout_is_shallow(const repo_layout *l);

/* Reads the beginning of a small file, NUL-terminated. MCP_ENOTFOUND, MCP_EACCESS (a link, or not a
 * regular file), MCP_EIO. */
int repo_read_small(common_beneath at, const char *rel, char *to, size_t room, size_t *ret_len);

#endif
