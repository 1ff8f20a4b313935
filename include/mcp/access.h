/* mcp/access.h: access rules, which decide what each caller can see.
 *
 * The program provides a function that decides for each caller and each item. For a caller that is
 * denied an item, the item does not exist: it is not listed, read, called, completed, subscribed to
 * or announced, and a request for it gets the same error as one for an item that does not exist.
 * Only an item for which the caller's token lacks scopes may be listed, so that the client can ask
 * for them (mcp_access.scopes). While access rules are set, no result is marked as "public" for
 * caches.
 */
#ifndef MCP_ACCESS_H
#define MCP_ACCESS_H

#include <mcp/base.h>
#include <mcp/identity.h>
#include <mcp/request.h>
#include <mcp/server.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mcp_access {
    size_t size;
    /* Returns whether the caller may see and use the item. Required. `identity` is NULL if the
     * caller is anonymous. `name` is a URI, a URI template or a name, according to `item`. It is
     * valid until the function returns and is not NUL-terminated.
     *
     * A URI is passed in one canonical spelling without parameters, so that no other spelling of it
     * gives access:
     * - for a registered resource: the registered URI in normal form (percent-encoded only where
     *   necessary, with upper-case digits);
     * - for a URI below a mount: what mcp_provider.resolve returns for the URI without its query
     *   (see also `queries`);
     * - for a template: the template expanded again with the values of its path variables, which
     *   are percent-encoded only where necessary, and without {?...}, {&...} and {;...}.
     *
     * A URI that `resolve` rejects does not exist, and `may` is not called for it. The function is
     * called on the server's thread, several times per request, so it must be fast and must not
     * block. It must return the same result for the same arguments until mcp_server_set_access() is
     * called again. For notifications, the identity is that of the last request of the session. */
    bool (*may)(const mcp_identity *identity, mcp_item item, mcp_str name, void *user);
    void *user;
    /* Called when the server no longer needs `user`. May be NULL. */
    void (*release)(void *user);
    /* Decides about n names at once, for rules that are expensive to query, such as those of
     * another process: sets allowed[i] to what `may` would return for names[i]. Called by
     * mcp_request_may_all(). If this is NULL, `may` is called for each name. */
    void (*may_all)(const mcp_identity *identity, mcp_item item, const mcp_str *names, size_t n,
                    bool *allowed, void *user);
    /* For an item that `may` denies: returns all scopes that its use needs, separated by spaces, if
     * the caller would be allowed to use it with them, or NULL if the item does not exist for the
     * caller. The text is read before the next call. With scopes, the item is listed, and a request
     * that names it ends as after mcp_request_need_scopes(). Results that show more than the item
     * that was requested do not contain it (mcp_request_may()), and it is not announced. May be
     * NULL. */
    const char *(*scopes)(const mcp_identity *identity, mcp_item item, mcp_str name, void *user);
    /* Whether the URI of a resource below a mount is passed with its query, if that is part of what
     * mcp_provider.resolve returns, as for resources of another server. Anybody can add a query to
     * a URI, and whoever serves it may ignore it. So the functions must not allow anything because
     * of what follows the first "?". They may deny something because of it. */
    bool queries;
    bool reserved[7];
} mcp_access;

/* Replaces the access rules. NULL removes them: every caller may see everything, which is the
 * default. The struct is copied. A subscriber gets no more notifications about a resource that it
 * may no longer see. Returns MCP_OK, or MCP_EINVAL if `may` is NULL. */
MCP_API int mcp_server_set_access(mcp_server *server, const mcp_access *access);

/* Returns whether the caller of this request may see the item. For handlers that show more than the
 * item they are called for, such as a search over resources. A URI may be passed in any
 * spelling. */
MCP_API bool mcp_request_may(const mcp_request *req, mcp_item item, mcp_str name);

/* Like mcp_request_may(), for n items at once: writes the results to allowed[0 … n-1]. Returns
 * MCP_OK, or MCP_ENOMEM, after which all of them are false. */
MCP_API int mcp_request_may_all(const mcp_request *req, mcp_item item, const mcp_str *names,
                                size_t n, bool *allowed);

/* Returns whether access rules are set. If not, mcp_request_may() always returns true and need not
 * be called. */
MCP_API bool mcp_request_restricted(const mcp_request *req);

#ifdef __cplusplus
}
#endif
#endif
