/* mcp/access.h: access rules, which decide what each caller can see, and what it may change.
 *
 * The program provides a function that decides for each caller and each item. For a caller that is
 * denied an item, the item does not exist: it is not listed, read, called, completed, subscribed to
 * or announced, and a request for it gets the same error as one for an item that does not exist.
 * Only an item for which the caller's token lacks scopes may be listed, so that the client can ask
 * for them (mcp_access.scopes). While rules about what callers can see are set, no result is marked
 * as "public" for caches.
 *
 * Seeing and changing are separate questions. Without rules everybody sees everything and nobody
 * may change anything: what changes a thing needs a rule that names the operation.
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

/* What is done to an item. Reading and calling need that the caller sees the item, which is the
 * question of mcp_access.may; all others are questions of mcp_access.may_do. So are reading and calling
 * with MCP_MAY_EXACT. */
typedef enum mcp_operation {
    MCP_OPERATION_READ = 0,
    MCP_OPERATION_CALL,
    MCP_OPERATION_CREATE, /* what did not exist */
    MCP_OPERATION_CHANGE, /* the contents of what exists */
    MCP_OPERATION_MOVE,   /* asked about the old place; the new one is a question of its own */
    MCP_OPERATION_DELETE,
    MCP_OPERATION_COMMIT, /* to record changes as a revision that others get */
} mcp_operation;

/* What a rule says about an operation, from the least to the most. */
typedef enum mcp_effect {
    MCP_EFFECT_DENY = 0,
    MCP_EFFECT_ASK, /* only after the person at the client has consented to this one operation */
    MCP_EFFECT_ALLOW,
} mcp_effect;

/* A flag of mcp_access.may_do: a rule grants something only if it names this item itself, without a
 * wildcard; every rule may take away. For items that a general rule must not open, such as files
 * that make programs run, and tools that tell of more than one thing. */
#define MCP_MAY_EXACT 1U

typedef struct mcp_access {
    size_t size;
    /* Returns whether the caller may see and use the item. NULL: every caller may see everything,
     * which only makes sense together with `may_do`. `identity` is NULL if the caller is anonymous.
     * `name` is a URI, a URI template or a name, according to `item`. It is valid until the function
     * returns and is not NUL-terminated.
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
    /* Returns what the caller may do to an item that it sees. Called with every operation, with
     * reading and calling only if `flags` has MCP_MAY_EXACT, with `name` as for `may`, on the same
     * thread and under the same conditions. `flags` is 0 or MCP_MAY_EXACT; for a flag that it does not know, the function must
     * return MCP_EFFECT_DENY, and so it must for an operation that it does not know. NULL: all these
     * operations are denied. */
    mcp_effect (*may_do)(const mcp_identity *identity, mcp_operation operation, mcp_item item,
                         mcp_str name, unsigned flags, void *user);
} mcp_access;

/* Replaces the access rules. NULL removes them: every caller may see everything, which is the
 * default, and change nothing. The struct is copied. A subscriber gets no more notifications about
 * a resource that it may no longer see. Returns MCP_OK, or MCP_EINVAL if both `may` and `may_do`
 * are NULL. */
MCP_API int mcp_server_set_access(mcp_server *server, const mcp_access *access);

/* Returns whether the caller of this request may see the item. For handlers that show more than the
 * item they are called for, such as a search over resources. A URI may be passed in any
 * spelling. */
MCP_API bool mcp_request_may(const mcp_request *req, mcp_item item, mcp_str name);

/* Like mcp_request_may(), for n items at once: writes the results to allowed[0 … n-1]. Returns
 * MCP_OK, or MCP_ENOMEM, after which all of them are false. */
MCP_API int mcp_request_may_all(const mcp_request *req, mcp_item item, const mcp_str *names,
                                size_t n, bool *allowed);

/* Returns whether rules about what callers can see are set (mcp_access.may). If not,
 * mcp_request_may() always returns true and need not be called. */
MCP_API bool mcp_request_restricted(const mcp_request *req);

/* Returns what the caller of this request may do to the item. The question is asked where the effect
 * happens, on the server's thread, and again after every wait, since rules may have changed.
 *
 * What the caller may not see it may not change: the answer is MCP_EFFECT_DENY wherever
 * mcp_request_may() returns false. Otherwise reading and calling are MCP_EFFECT_ALLOW, unless `flags`
 * has MCP_MAY_EXACT and rules about what callers can see are set (mcp_request_restricted()). In this
 * case, and for the other operations, mcp_access.may_do answers, with a URI in its canonical spelling.
 * Without it, and for a URI without a canonical spelling, an unknown operation or a flag other than
 * MCP_MAY_EXACT, the answer is MCP_EFFECT_DENY. Other flags mean nothing to reading and calling.
 *
 * After MCP_EFFECT_ASK the handler asks the person, and refuses if that is not possible. It must
 * not take MCP_EFFECT_ASK as consent. */
MCP_API mcp_effect mcp_request_may_do(const mcp_request *req, mcp_operation operation,
                                      mcp_item item, mcp_str name, unsigned flags);

#ifdef __cplusplus
}
#endif
#endif
