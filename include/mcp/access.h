/* mcp/access.h: who may see what.
 *
 * One function of the program decides for each principal and each thing. What it does not allow is not there
 * for that principal: not listed, read, called, got, completed, subscribed to or announced, and asking for it gets the
 * same error as what does not exist. Nothing is then cached as "public".
 */
#ifndef MCP_ACCESS_H
#define MCP_ACCESS_H

#include <mcp/base.h>
#include <mcp/request.h>
#include <mcp/server.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum mcp_item {
    MCP_ITEM_RESOURCE = 0, /* by URI */
    MCP_ITEM_TEMPLATE,     /* by URI template */
    MCP_ITEM_PROMPT,       /* by name */
    MCP_ITEM_TOOL,         /* by name */
} mcp_item;

typedef struct mcp_access {
    size_t size;
    /* Whether the principal (NULL: nobody in particular) may see the item. A URI comes in one spelling without
     * parameters, so that neither other words for it nor a part of it open anything: a registered resource's as it was
     * registered, in normal form (no octet percent-encoded that need not be, upper case digits); below a mount what
     * mcp_provider.resolve makes of it without its query; of a template the values of the path put back into the
     * template, with nothing encoded that need not be, and without {?...}, {&...} and {;...}. What resolve refuses is
     * not there, and `may` is not asked. The same answer for the same question
     * until mcp_server_set_access() is called again. Called very often: it should be quick. Required. */
    bool (*may)(const char *principal, mcp_item item, mcp_str name, void *user);
    void *user;
    /* Called when the server does not need `user` any more. May be NULL. */
    void (*release)(void *user);
} mcp_access;

/* Replaces what was set before; NULL: everybody may see everything, as at first. The struct is copied. Who
 * subscribed to what he may not see any more is told nothing. MCP_EINVAL (no `may`). */
MCP_API int mcp_server_set_access(mcp_server *server, const mcp_access *access);

/* For handlers that show more than what they are called by (a search over resources): whether who asks may see this
 * too. A URI may be spelled in any way. */
MCP_API bool mcp_request_may(const mcp_request *req, mcp_item item, mcp_str name);

/* Whether there are access rules at all. Where there are none, mcp_request_may() says yes to everything and need not be
 * called. */
MCP_API bool mcp_request_restricted(const mcp_request *req);

#ifdef __cplusplus
}
#endif
#endif
