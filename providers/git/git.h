/* git.h: a git repository as MCP resources with git:// URIs. This is the provider's only public
 * header.
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

/* Zero selects the default of every member. Everything is copied. */
typedef struct mcp_git_options {
    size_t size;
    const char *path; /* a folder that contains .git, or a bare repository; required */
    const char *name; /* used in URIs; default: the folder's name, without .git */
    /* The folder that must contain everything that belongs to the repository: what its .git file,
     * its worktree's commondir and its alternates refer to. Default: `path`. */
    const char *within;

    uint64_t max_read;   /* largest read of a blob, in bytes; default 10 MiB */
    uint64_t max_bytes;  /* largest diff, in bytes; default 1 MiB */
    uint64_t timeout_ms; /* time limit of a request, in milliseconds; default 10,000 */

    const mcp_allocator
        *allocator; /* also called from the host's worker threads; libgit2 uses its own */
} mcp_git_options;

/* Checks that the repository exists and lies within the allowed folder, then mounts it. Watching
 * uses the timers and descriptors of the server's host; slow work runs on its worker threads.
 * Errors: MCP_EINVAL (not a repository), MCP_ENOTFOUND, MCP_EACCESS (it leads outside of `within`),
 * MCP_EEXIST (the name is taken), MCP_EUNSUPPORTED (SHA-256, reftable), MCP_ENOMEM; error->text has
 * the details. */
int mcp_git_mount(mcp_server *server, const mcp_git_options *options, mcp_error *error);

/* JSON Schema of the same options, without path and name, and a mount with options in JSON. */
extern const char mcp_git_schema[];
int mcp_git_mount_json(mcp_server *server, const char *path, const mcp_json *options,
                       const char *name, const mcp_allocator *allocator, mcp_error *error);

#ifdef __cplusplus
}
#endif
#endif
