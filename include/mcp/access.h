/* mcp/access.h: access rules, or who may see what.
 *
 * A function of the program decides for each principal and each item. An item that it denies does
 * not exist for that principal: it is not listed, read, called, completed, subscribed to or
 * announced, and a request for it gets the same error as one for an item that does not exist. With
 * access rules set, no result is cached as "public".
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
    /* Returns whether the principal (NULL: anonymous) may see the item. Required.
     *
     * A URI is passed in one canonical spelling without parameters, so that no other spelling of it
     * gives access:
     * - a registered resource: the registered URI in normal form (percent-encoded only where
     *   necessary, with upper-case digits);
     * - below a mount: what mcp_provider.resolve returns for the URI without its query;
     * - a template: the template with the values of the path put back, percent-encoded only where
     *   necessary, and without {?...}, {&...} and {;...}.
     *
     * A URI that resolve refuses does not exist, and `may` is not called for it. The function is
     * called very often, so it should be fast. It must give the same answer to the same question
     * until mcp_server_set_access() is called again. */
    bool (*may)(const char *principal, mcp_item item, mcp_str name, void *user);
    void *user;
    /* Called when the server no longer needs `user`. May be NULL. */
    void (*release)(void *user);
} mcp_access;

/* Replaces the access rules. NULL removes them: everybody may see everything, which is the default.
 * The struct is copied. A subscriber gets no more notifications about a resource that it may no
 * longer see. MCP_EINVAL (no `may`). */
MCP_API int mcp_server_set_access(mcp_server *server, const mcp_access *access);

/* Returns whether the caller of this request may see the item. For handlers that show more than the
 * item they are called for, such as a search over resources. A URI may be passed in any
 * spelling. */
MCP_API bool mcp_request_may(const mcp_request *req, mcp_item item, mcp_str name);

/* Returns whether access rules are set. If not, mcp_request_may() always returns true and need not
 * be called. */
MCP_API bool mcp_request_restricted(const mcp_request *req);

#ifdef __cplusplus
}
#endif
#endif
