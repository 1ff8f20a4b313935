/* left_out.h: sources that lists do without; see left_out.c. */
#ifndef MCP_SRC_LEFT_OUT_H
#define MCP_SRC_LEFT_OUT_H

#include "server/methods/methods.h"

/* Records that the list of a request is without a mount, for this reason. `late`: the provider did not
 * answer in time. */
void mcp__leave_out(mcp_request *req, mcp__mount *mount, mcp_str why, bool late);
/* Says that the page is without what has this prefix: the mount, or a part of it. */
void mcp__without(mcp_request *req, const mcp__mount *mount, mcp_str prefix);
/* Adds the entry for what resources/list is without. Its texts do not say what is wrong; its read
 * does. Returns what mcp_reply_resource() does. */
int mcp__put_placeholder(mcp_request *req, const char *uri, const char *name);
/* Adds what the page is without to the _meta of its result. */
void mcp__put_left_out(mcp_request *req);
/* Returns whether the list must not ask the mount, because it did not answer in time before. */
bool mcp__left_out_at_once(const mcp_request *req, const mcp__mount *mount);
/* Returns what is wrong with a mount that resources/list is without, if this is the URI of the entry
 * for it and its provider knows nothing of that entry: the prefix of another server is none of its
 * resources. Otherwise returns NULL. */
const char *mcp__left_out_why(const mcp_request *req, const mcp__mount *mount, mcp_str uri);
/* Returns what is wrong with the mount, if the request, which found nothing, has read the entry for a
 * mount that resources/list is without. Otherwise returns NULL. */
const char *mcp__left_out_unread(const mcp_request *req);
/* Records that the mount has answered, and announces it if lists were without it. */
void mcp__listed(mcp_request *req, mcp__mount *mount);
/* The request has been answered, while the mount still works on it. */
void mcp__left_out_running(mcp_request *req, mcp__mount *mount);
/* Its work has ended; called once if mcp__left_out_running() was called. */
void mcp__left_out_ended(mcp_request *req);
/* Returns whether a request of that kind is about another mount. */
bool mcp__left_out_skips(const mcp_request *req, const mcp__mount *mount);
/* Sets the part and the position for a request that this server sends to itself, to find out whether a
 * mount can be listed again. Returns false if it is another request. */
bool mcp__left_out_begins(mcp_request *req);
/* Stops asking; called before the host changes, and before the server is freed. */
void mcp__left_out_leave_host(mcp_server *server);

#endif
