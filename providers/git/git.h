/* git.h: a git repository as MCP resources with git:// URIs. This is the provider's only public
 * header.
 *
 * One call mounts one repository at "git://NAME/"; docs/git.md lists its URIs. The provider starts
 * no process, writes nothing, and ignores the repository's configuration.
 */
#ifndef MCP_GIT_H
#define MCP_GIT_H

#include <mcp/module.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A member that is zero has its default value. All strings are copied. */
typedef struct mcp_git_options {
    size_t size;
    const char *path; /* a folder that contains .git, or a bare repository; required */
    const char *name; /* used in URIs; default is the folder's name without .git */
    /* The folder that must contain everything that belongs to the repository, including what its
     * .git file, its worktree's commondir and its alternates refer to. The default is `path`. */
    const char *within;

    uint64_t max_read;   /* bytes of the largest read of a blob; default 10 MiB */
    uint64_t max_bytes;  /* bytes of the largest diff; default 1 MiB */
    uint64_t timeout_ms; /* time limit of a request in milliseconds; default 10,000 */

    const mcp_allocator
        *allocator; /* also called from the host's worker threads; libgit2 uses its own */
} mcp_git_options;

/* Checks that the repository exists and is within the allowed folder, then mounts it. Watching uses
 * the timers and descriptors of the server's host; slow work runs on its worker threads. Returns
 * MCP_OK, MCP_EINVAL (not a repository), MCP_ENOTFOUND, MCP_EACCESS (it refers to a place outside
 * of `within`), MCP_EEXIST (the name is taken), MCP_EUNSUPPORTED (SHA-256, reftable) or MCP_ENOMEM;
 * error->text has the details. */
int mcp_git_mount(mcp_server *server, const mcp_git_options *options, mcp_error *error);

/* The JSON Schema of the options except path and name, and a function that mounts a repository with
 * options in JSON. */
extern const char mcp_git_schema[];
int mcp_git_mount_json(mcp_server *server, const char *path, const mcp_json *options,
                       const char *name, const mcp_allocator *allocator, mcp_error *error);

/* Describes what such a mount offers without looking at the repository, for mcp_module.describe. */
int mcp_git_describe_json(const char *path, const mcp_json *options, const char *name,
                          const mcp_allocator *allocator, const mcp_description *to,
                          mcp_error *error);

/* Checks the source without reading files of the repository, for mcp_module.look. */
int mcp_git_look_json(const char *path, const mcp_json *options, const char *name,
                      const mcp_allocator *allocator, mcp_error *error);

#ifdef __cplusplus
}
#endif
#endif
