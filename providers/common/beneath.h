/* beneath.h: opens files beneath a directory descriptor, and no others.
 *
 * The kernel enforces this with openat2() and RESOLVE_BENEATH; it is not a comparison of strings.
 * Opening never follows a symbolic link: a path with a link is first resolved to its real path
 * (common_beneath_resolve(), still beneath), so that the caller can apply its exclusion rules to
 * that path too, and then opened there.
 *
 * If the kernel has no openat2 (or a sandbox hides it), each component is opened separately with
 * O_NOFOLLOW, and links are refused. That walk cannot detect that a folder in the path is moved out
 * of the root while it runs.
 */
#ifndef COMMON_BENEATH_H
#define COMMON_BENEATH_H

#include <mcp/base.h>

#include <sys/stat.h>

/* The longest path that a system call accepts, with its NUL. */
#define COMMON_PATH_MAX 4096

/* A positive result: the path contains a symbolic link. */
enum { COMMON_IS_LINK = 1 };

/* A borrowed descriptor of the directory (O_PATH is enough). */
typedef struct common_beneath {
    int fd;
    bool walk; /* resolve component by component, as without openat2 */
} common_beneath;

/* Whether `walk` is needed for this directory. */
bool common_beneath_needs_walk(int fd);

/* In all calls `rel` is a relative path without empty, "." and ".." components; "" is the directory
 * itself. Failures: MCP_ENOTFOUND, MCP_EACCESS (permissions, leaves the root, or is neither a
 * regular file nor a directory), MCP_EFILES (no descriptors), MCP_ENOMEM, MCP_EIO. */

/* Opens a regular file or a directory for reading; `st` tells which. FIFOs, sockets and devices are
 * refused and not opened. COMMON_IS_LINK. The descriptor is the caller's. */
int common_beneath_open(common_beneath at, const char *rel, int *ret_fd, struct stat *st);

/* Opens a directory for reading its entries. COMMON_IS_LINK. */
int common_beneath_open_dir(common_beneath at, const char *rel, int *ret_fd);

/* Follows the links on the way, all beneath the root: `real` gets the link-free relative path
 * (NUL-terminated), `st` what is there. Needs openat2 and /proc; MCP_EACCESS without them. */
int common_beneath_resolve(common_beneath at, const char *rel, char real[COMMON_PATH_MAX],
                           struct stat *st);

/* The MCP_E* code for the errno of a failed file operation. */
int common_code_of_errno(int error);

#endif
