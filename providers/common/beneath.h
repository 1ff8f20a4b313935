/* beneath.h: opens files, confined to the tree beneath a directory descriptor.
 *
 * The kernel enforces this with openat2() and RESOLVE_BENEATH; no strings are compared. Opening
 * never follows a symbolic link. A path with a link is first resolved to its real path
 * (common_beneath_resolve(), also confined), so that the caller can apply its exclusion rules to
 * the real path too, and then opened there.
 *
 * If the kernel has no openat2() (or a sandbox hides it), each component is opened separately with
 * O_NOFOLLOW, and links are rejected. This walk does not detect that a folder in the path is moved
 * out of the root while it runs.
 */
#ifndef COMMON_BENEATH_H
#define COMMON_BENEATH_H

#include <mcp/base.h>

#include <sys/stat.h>

/* Size of the longest path that a system call accepts, including NUL. */
#define COMMON_PATH_MAX 4096

/* A positive return value, which means that the path contains a symbolic link. */
enum { COMMON_IS_LINK = 1 };

/* A borrowed descriptor of the directory (O_PATH is enough). */
typedef struct common_beneath {
    int fd;
    bool walk; /* open component by component, for want of openat2() */
} common_beneath;

/* Returns whether `walk` is needed for this directory. */
bool common_beneath_needs_walk(int fd);

/* In all functions `rel` is a relative path without empty, "." and ".." components; "" is the
 * directory itself. They return MCP_OK, MCP_ENOTFOUND, MCP_EACCESS (no permission, outside the
 * root, or neither a regular file nor a directory), MCP_EFILES (no descriptors left),
 * MCP_ENOMEM or MCP_EIO. */

/* Opens a regular file or a directory for reading and gets its status. FIFOs, sockets and devices
 * are rejected without being opened. The caller closes *ret_fd. May also return COMMON_IS_LINK. */
int common_beneath_open(common_beneath at, const char *rel, int *ret_fd, struct stat *st);

/* Opens a directory for reading its entries. May also return COMMON_IS_LINK. */
int common_beneath_open_dir(common_beneath at, const char *rel, int *ret_fd);

/* Follows the links in the path, all beneath the root. `real` gets the relative path without links
 * (NUL-terminated), `st` the status of the file. Returns MCP_EACCESS without openat2() or /proc. */
int common_beneath_resolve(common_beneath at, const char *rel, char real[COMMON_PATH_MAX],
                           struct stat *st);

/* Returns the MCP_E* code for the errno of a failed file operation. */
int common_code_of_errno(int error);

#endif
