/* embed.h: reads resources of the same server that prompts embed.
 *
 * Each is read through a channel of its own to the server, and so gives exactly what a client with
 * this principal would get from resources/read: registered resources, templates, providers and
 * access rules. They are read one after the other, with one limit for all of them.
 */
#ifndef PROMPTS_EMBED_H
#define PROMPTS_EMBED_H

#include <mcp/mcp.h>

/* Bytes of all messages and resources of a prompt. */
enum { PROMPTS_MAX_EMBEDDED = 16 << 20 };

/* Reads in flight for requests of one server. */
typedef struct prompts_embeds prompts_embeds;

/* MCP_ENOMEM. */
int prompts_embeds_new(mcp_server *server, const mcp_allocator *alloc, prompts_embeds **ret);
/* Ends waiting requests. NULL is allowed. */
void prompts_embeds_free(prompts_embeds *e);

/* Called once in every case, on the server's thread: with MCP_OK, results[i] is the result of
 * resources/read for uris[i]; else `why` says which could not be read. All is borrowed until it
 * returns; it ends with replying and, where `later`, mcp_reply_finish(). Returns what a handler
 * returns. */
typedef int prompts_embedded_fn(mcp_request *req, int rc, const mcp_json *const *results,
                                const char *why, void *user);

/* Reads all resources. Returns what a handler returns: MCP_PENDING, or what `done` returned if all
 * answers were available. `uris` must live as long as the request. */
int prompts_embed(prompts_embeds *e, mcp_request *req, const mcp_str *uris, size_t n,
                  prompts_embedded_fn *done, void *user);

#endif
