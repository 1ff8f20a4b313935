/* prompts.h: a folder of Markdown files as MCP prompts. This is the provider's only public header.
 *
 * Each file that ends in .md is a prompt: a front matter with its name and arguments, then its
 * messages; docs/prompts.md describes the format. Files are read again when they change. If a file
 * becomes invalid, its last valid version stays in use, and the error is logged as FILE:LINE.
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
    bool no_watch;                  /* read the files only once and in mcp_prompts_reread() */
    uint64_t poll_ms;               /* polling interval in milliseconds, used without
                                     * inotify; default 2000 */
    const mcp_allocator *allocator; /* also called from the host's worker threads */
} mcp_prompts_options;

/* Reads the folder and registers its prompts. Watching and reading again use the server's host: its
 * timers, descriptors and workers. Without timers the folder is not watched. A resource in a prompt
 * is read from the server, as a client with the peer's principal would read it. An invalid file is
 * logged and does not make the call fail. Returns MCP_OK, MCP_EINVAL (no folder is named),
 * MCP_ENOTFOUND, MCP_EACCESS, MCP_EIO or MCP_ENOMEM; error->text has the details. */
int mcp_prompts_add(mcp_server *server, const mcp_prompts_options *options, mcp_prompts **ret,
                    mcp_error *error);

/* Reads the folder again, on a worker of the host if there is one, as after a change. This is
 * for programs that reload everything on request, especially with no_watch. Errors are logged
 * by the host. */
void mcp_prompts_reread(mcp_prompts *prompts);

/* Removes the prompts. Must be called before the server is freed, and when no work is in progress
 * (mcp_loop_drain()). NULL is allowed. */
void mcp_prompts_free(mcp_prompts *prompts);

#ifdef __cplusplus
}
#endif
#endif
