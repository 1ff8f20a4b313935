/* prompts.h: a folder of Markdown files as MCP prompts. This is the provider's only public header.
 *
 * Each file that ends in .md is a prompt: a front matter with its name and arguments, then its
 * messages; docs/prompts.md has the format. Files are read again when they change. An invalid file
 * keeps its last valid version, and the host's log has the error as FILE:LINE.
 */
#ifndef MCP_PROMPTS_H
#define MCP_PROMPTS_H

#include <mcp/mcp.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mcp_prompts mcp_prompts;

typedef struct mcp_prompts_options {
    size_t size;
    const char *folder;             /* required; copied */
    bool no_watch;                  /* read the files once, and when mcp_prompts_reread() is
                                     * called */
    uint64_t poll_ms;               /* polling interval without inotify, in milliseconds; default
                                     * 2000 */
    const mcp_allocator *allocator; /* also called from the host's worker threads */
} mcp_prompts_options;

/* Reads the folder and registers what is in it. Watching and reading again use the server's host:
 * its timers, descriptors and workers; without timers nothing is watched. A resource in a prompt is
 * read from the server, as a client with the peer's principal would get it. MCP_EINVAL (no folder
 * is named), MCP_ENOTFOUND, MCP_EACCESS, MCP_EIO (error->text names it and says why), MCP_ENOMEM. A
 * file that is wrong is no failure. */
int mcp_prompts_add(mcp_server *server, const mcp_prompts_options *options, mcp_prompts **ret,
                    mcp_error *error);

/* Reads the folder again (on a worker of the host, if it has any), as when a file changed: for
 * programs that reload everything on request, especially with no_watch. Errors are logged by the
 * host. */
void mcp_prompts_reread(mcp_prompts *prompts);

/* Removes the prompts. Must be called before the server is freed, and when no work is in progress
 * any more (mcp_loop_drain()). NULL is allowed. */
void mcp_prompts_free(mcp_prompts *prompts);

#ifdef __cplusplus
}
#endif
#endif
