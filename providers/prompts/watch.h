/* watch.h: reports that something in one folder may have changed; the caller reads the folder again
 * to find out what.
 *
 * It uses inotify through the host, or polls if that is not possible or the folder does not exist.
 * A burst of changes is reported once. Everything happens on the server's thread.
 */
#ifndef PROMPTS_WATCH_H
#define PROMPTS_WATCH_H

#include <mcp/provider.h>

typedef struct prompts_watch prompts_watch;

/* `changed` is called some time after a change, never from within a call here. path and host are
 * borrowed. MCP_EUNSUPPORTED: the host has no timers; MCP_ENOMEM. */
int prompts_watch_new(const char *path, const mcp_host *host, uint64_t poll_ms,
                      const mcp_allocator *alloc, void (*changed)(void *user), void *user,
                      prompts_watch **ret);
/* Calls `changed` again after poll_ms, because reading failed. NULL is allowed. */
void prompts_watch_again(prompts_watch *w);
/* NULL is fine. */
void prompts_watch_free(prompts_watch *w);

#endif
