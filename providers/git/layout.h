/* layout.h: where the parts of a repository lie: found, looked at, and held open.
 *
 * A repository is several places: what .git names, its commondir, its objects, and the objects that
 * info/alternates names. Each is opened (O_PATH) before anything is read from it, and where the kernel says
 * that it lies is compared with what was configured. From then on the descriptors are what is used, by
 * libgit2 too (as /proc/self/fd/N), so that what is swapped afterwards leads nowhere. A layout whose
 * places changed is opened anew: see repo_layout_is_current().
 */
#ifndef REPO_LAYOUT_H
#define REPO_LAYOUT_H

#include "beneath.h"
#include "buffer.h"

#include <git2.h>
#include <pthread.h>

enum { REPO_ALTERNATES = 16, REPO_IDLE = 4, REPO_STAMPS = 5 };

typedef struct repo_stamp {
    unsigned long long device, inode;
    struct timespec changed;
} repo_stamp;

typedef struct repo_layout {
    mcp_allocator alloc;
    size_t uses;                /* counted on the server's thread alone */
    int root;                   /* what was configured */
    common_beneath git, common; /* the same descriptor, but for a linked worktree */
    int objects[REPO_ALTERNATES];
    size_t n_objects;
    repo_stamp stamp[REPO_STAMPS];
    pthread_mutex_t lock; /* of what follows: object databases that nobody uses now */
    git_odb *idle[REPO_IDLE];
    size_t n_idle;
} repo_layout;

/* `within` may be NULL: path. As mcp_git_mount(). One use is the caller's. */
int repo_layout_open(const char *path, const char *within, const mcp_allocator *alloc,
                     repo_layout **ret, mcp_error *error);
/* Gives a use back; NULL is allowed. */
void repo_layout_release(repo_layout *l);

/* Whether everything still lies where it was found, and no pack came or went. */
bool repo_layout_is_current(const repo_layout *l, const char *path);

/* An object database of these places for one thread; give it back. Any thread. NULL: no memory, or no
 * descriptors. */
git_odb *repo_layout_borrow(repo_layout *l);
void repo_layout_return(repo_layout *l, git_odb *odb);

/* Whether this object is no file: what a link would open has not been looked at, and a pipe would be waited for. */
bool repo_layout_refuses(const repo_layout *l, const git_oid *id);

/* Whether the history may end where no commit has no parents. */
bool repo_layout_is_shallow(const repo_layout *l);

/* The beginning of a small file, NUL-terminated. MCP_ENOTFOUND, MCP_EACCESS (a link, no file), MCP_EIO. */
int repo_read_small(common_beneath at, const char *rel, char *to, size_t room, size_t *ret_len);

#endif
