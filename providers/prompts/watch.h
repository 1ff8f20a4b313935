/* watch.h: reports that something in a folder may have changed. The caller reads the folder again
 * to find out what.
 *
 * It uses inotify through the host, or polls if inotify is not available or the folder does not
 * exist. A burst of changes is reported once. All functions run on the server's thread.
 */
#ifndef PROMPTS_WATCH_H
#define PROMPTS_WATCH_H

#include <mcp/provider.h>

typedef struct prompts_watch prompts_watch;

/* `changed` is called some time after a change, never from within these functions. `path` is
 * borrowed. Returns MCP_OK, MCP_EUNSUPPORTED if the host has no timers, or MCP_ENOMEM. */
int prompts_watch_new(const char *path, const mcp_host *host, uint64_t poll_ms,
                      const mcp_allocator *alloc, void (*changed)(void *user), void *user,
                      prompts_watch **ret);
/* Calls `changed` again after poll_ms; for use after reading has failed. NULL is allowed. */
void prompts_watch_again(prompts_watch *w);
/* NULL is allowed. */
void prompts_watch_free(prompts_watch *w);

#endif
