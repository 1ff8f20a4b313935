/* git.h: a git repository as MCP resources with git:// URIs. The provider's only header for
 * programs; everything else in this folder is its own business.
 *
 * One call mounts one repository at "git://NAME/"; docs/git.md lists its URIs. The provider starts
 * no process, writes nothing, and ignores the repository's configuration.
 */
#ifndef MCP_GIT_H
#define MCP_GIT_H

#include <mcp/mcp.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Zero is the default everywhere. Everything is copied. */
typedef struct mcp_git_options {
    size_t size;
    const char *path; /* a folder with .git in it, or a bare repository; required */
    const char *name; /* in URIs; default: the folder's name, without .git */
    /* Where everything that belongs to the repository has to lie: what its .git file, its
     * worktree's commondir and its alternates name. Default: `path`. */
    const char *within;

    uint64_t max_read;   /* bytes of a blob that one read returns; 10 MiB */
    uint64_t max_bytes;  /* of a diff; 1 MiB */
    uint64_t timeout_ms; /* how long one request may take; 10,000 */

    const mcp_allocator
        *allocator; /* also called from the host's worker threads. libgit2 has its own */
} mcp_git_options;

/* Checks that the repository is there and lies where it may, then mounts it. Watching uses the
 * server's host (timers and descriptors), whatever may take long its workers. MCP_EINVAL (no
 * repository), MCP_ENOTFOUND, MCP_EACCESS (it leads elsewhere), MCP_EEXIST (the name is taken),
 * MCP_EUNSUPPORTED (SHA-256, reftable), MCP_ENOMEM; error->text says which and why. */
int mcp_git_mount(mcp_server *server, const mcp_git_options *options, mcp_error *error);

/* JSON Schema of the same options as JSON, without path and name; and a mount with them. */
extern const char mcp_git_schema[];
int mcp_git_mount_json(mcp_server *server, const char *path, const mcp_json *options,
                       const char *name, const mcp_allocator *allocator, mcp_error *error);

#ifdef __cplusplus
}
#endif
#endif
