/* root.h: the folders and single files that the user serves, and the only access to the entries
 * below them. All access is confined to the root (beneath.h) and obeys the exclusion rules
 * (ignore.h).
 *
 * A root's path is its real path at the start, which is used in its URIs. A single file is
 * identified by its folder and its name, so that an editor may replace it; no other file of that
 * folder is served. Relative paths are "" for the root itself and, for example, "src/main.c" for an
 * entry below it.
 */
#ifndef FILES_ROOT_H
#define FILES_ROOT_H

#include "beneath.h"
#include "ignore.h"

#include <stdatomic.h>
#include <sys/types.h>

typedef struct files_root {
    common_beneath at;
    dev_t dev; /* of the folder that `at` is; only for files_root_renew() */
    ino_t ino;
    atomic_int gone; /* why the folder is no longer at its path, a code; MCP_OK while it is */
    int64_t looked;  /* when a request last called files_root_renew() */
    char *path;      /* absolute, without a slash at its end; "" is the top of the file system */
    size_t path_len;
    const char *only;     /* name of a single file in `at`, or NULL for a folder */
    files_ignore *ignore; /* NULL if the root is a single file */
    bool nested;          /* another root is below this one and owns its part */
} files_root;

typedef struct files_roots {
    mcp_allocator alloc;
    files_root *items;
    size_t count;
} files_roots;

/* Opens all roots; a root that is named twice is opened once. `options`, `alloc` and `error` may be
 * NULL. Returns MCP_OK, MCP_ENOTFOUND, MCP_EACCESS (also for other kinds of files), MCP_EINVAL (an
 * empty path), MCP_EFILES, MCP_EIO or MCP_ENOMEM, with the path in error->text. Close them with
 * files_roots_close(). */
int files_roots_open(const char *const *paths, size_t count, const files_ignore_options *options,
                     const mcp_allocator *alloc, files_roots *ret, mcp_error *error);
void files_roots_close(files_roots *roots);

/* Compares the folder that is open with the one at the path of the root. If it is another one, opens
 * that one instead, with the same checks as at the start; but a link on the path is not followed,
 * because the folder would then have another path, and other URIs. If there is none, the root has
 * no entries until a later call finds one. Returns whether anything has changed; without memory or
 * descriptors nothing does. Only on the server's thread; others may use the root meanwhile. */
bool files_root_renew(files_root *root);
/* Says why a root is gone. */
const char *files_root_why(const files_root *root);
/* Writes the path of the root's folder, which is "" for the top. Returns its length. */
size_t files_root_folder(const files_root *root, char folder[COMMON_PATH_MAX]);

/* Opens a regular file or a folder for reading, and gets its status. A link beneath the root is
 * followed if its target is served. Returns MCP_OK, MCP_ENOTFOUND (also for excluded entries), or
 * the errors of common_beneath_open(). */
int files_root_open(const files_root *root, const char *rel, int *ret_fd, struct stat *st);

/* Gets the status without keeping the file open. */
int files_root_stat(const files_root *root, const char *rel, struct stat *st);

/* Checks whether an entry could be served later at a path where files_root_stat() found nothing.
 * The existing ancestors must be beneath the root, and the rules must allow both a file and a
 * folder with this path, because the result must not reveal which of them exists. Returns MCP_OK,
 * MCP_ENOTFOUND or MCP_EACCESS (it could not be served), or MCP_ENOMEM. */
int files_root_awaits(const files_root *root, const char *rel);

/* Like files_root_stat(), but also writes the real path without links to `real`. It is meant for
 * paths whose last component is a link. */
int files_root_resolve(const files_root *root, const char *rel, char real[COMMON_PATH_MAX],
                       struct stat *st);

/* Returns whether `real`, to which the links in `rel` lead, is in the current version of a volume that
 * Kubernetes made, and has the same name there: "a/b" and "..VERSION/a/b". Such a folder is walked
 * under the link's name. It cannot form a loop, because the real path is as deep as the name. */
bool files_root_in_volume(const files_root *root, const char *rel, const char *real);

/* Opens a folder for reading its entries. One that is reached through a link is found only in a
 * volume. Returns MCP_OK, MCP_ENOTFOUND, or the errors of common_beneath_open(). */
int files_root_open_folder(const files_root *root, const char *rel, int *ret_fd);

/* Returns the index of the root that owns a path below roots[i]: i, or a root that is
 * nested in it. */
size_t files_roots_owner(const files_roots *roots, size_t i, const char *rel, size_t len);

#endif
