/* embed.h: reads resources of the same server that prompts embed.
 *
 * Each resource is read through its own channel to the server. So the result is exactly what a
 * client with this principal would get from resources/read, including registered resources,
 * templates, providers and access rules. Resources are read one after the other, and one size limit
 * applies to all of them together.
 */
#ifndef PROMPTS_EMBED_H
#define PROMPTS_EMBED_H

#include <mcp/mcp.h>

/* Limit of all messages and resources of a prompt, in bytes. */
enum { PROMPTS_MAX_EMBEDDED = 16 << 20 };

/* Owns the reads in flight for requests of one server. */
typedef struct prompts_embeds prompts_embeds;

/* Returns MCP_OK or MCP_ENOMEM. */
int prompts_embeds_new(mcp_server *server, const mcp_allocator *alloc, prompts_embeds **ret);
/* Ends waiting requests with an error. NULL is allowed. */
void prompts_embeds_free(prompts_embeds *e);

/* Called exactly once, on the server's thread. If `rc` is MCP_OK, results[i] is the result of
 * resources/read for uris[i]; otherwise `why` names the resource that failed. All pointers are
 * borrowed until the callback returns. The callback replies and returns what a handler returns; if
 * prompts_embed() has already returned MCP_PENDING, the value is passed to mcp_reply_finish(). */
typedef int prompts_embedded_fn(mcp_request *req, int rc, const mcp_json *const *results,
                                const char *why, void *user);

/* Reads all resources. `uris` must live as long as the request. Returns MCP_PENDING, or what `done`
 * returned if all answers were available immediately. */
int prompts_embed(prompts_embeds *e, mcp_request *req, const mcp_str *uris, size_t n,
                  prompts_embedded_fn *done, void *user);

#endif
