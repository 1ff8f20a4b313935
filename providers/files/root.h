/* root.h: the folders and single files that the user chose to serve, and the only access to the
 * entries beneath them: contained (beneath.h) and not excluded (ignore.h).
 *
 * A root's path is its real path at the start; that path stands in its URIs. A single file is held
 * by its folder and its name, so that an editor may replace it; nothing else of that folder is
 * served. A relative path below is "" for the root itself, "src/main.c" for what lies beneath.
 */
#ifndef FILES_ROOT_H
#define FILES_ROOT_H

#include "beneath.h"
#include "ignore.h"

typedef struct files_root {
    common_beneath at;
    char *path; /* absolute, no slash at its end: "" is the top of the file system */
    size_t path_len;
    const char *only;     /* the name of a single file in `at`; NULL for a folder */
    files_ignore *ignore; /* NULL for a single file */
    bool nested;          /* another root lies below this one and takes precedence there */
} files_root;

typedef struct files_roots {
    mcp_allocator alloc;
    files_root *items;
    size_t count;
} files_roots;

/* Opens all; the same root named twice counts once. MCP_ENOTFOUND, MCP_EACCESS (also for what is
 * neither a regular file nor a folder), MCP_EINVAL (empty path), MCP_EFILES, MCP_EIO, MCP_ENOMEM,
 * with the path in error->text. options, alloc and error may be NULL. Close with
 * files_roots_close(). */
int files_roots_open(const char *const *paths, size_t count, const files_ignore_options *options,
                     const mcp_allocator *alloc, files_roots *ret, mcp_error *error);
void files_roots_close(files_roots *roots);

/* Opens a regular file or a folder for reading; S_ISDIR(st->st_mode) tells which. Links that stay
 * beneath the root are followed if what they lead to is itself served. MCP_ENOTFOUND (also for what
 * is left out), or as common_beneath_open(). */
int files_root_open(const files_root *root, const char *rel, int *ret_fd, struct stat *st);

/* The same without opening. */
int files_root_stat(const files_root *root, const char *rel, struct stat *st);

/* Where files_root_stat() found nothing: whether something could be served there later. Its folders
 * are beneath the root as far as there are any, and neither a file nor a folder of that name would
 * be left out: which of the two it is, if anything, must not show. MCP_OK; MCP_ENOTFOUND,
 * MCP_EACCESS: no; MCP_ENOMEM. */
int files_root_awaits(const files_root *root, const char *rel);

/* As files_root_stat(), and returns the real path in `real`, without links. For paths whose last
 * component is a link. */
int files_root_resolve(const files_root *root, const char *rel, char real[COMMON_PATH_MAX],
                       struct stat *st);

/* The index of the root that owns this path below roots[i]: another one if the path lies in a
 * nested root. */
size_t files_roots_owner(const files_roots *roots, size_t i, const char *rel, size_t len);

#endif
