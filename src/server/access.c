/* access.c: who may see what: the program's one function, asked wherever something would show.
 *
 * What may surprise: a URI is brought into one spelling first, because the rules are written about names; a rule that
 * "file:///a/%62" walks around would be none.
 */
#include "server/access.h"

#include "uri/uri.h"

int mcp_server_set_access(mcp_server *server, const mcp_access *access)
{
    mcp_access next = {.size = sizeof(next)};
    if (access)
        mcp__copy_options(&next, sizeof(next), access);
    if (access && !next.may)
        return MCP_EINVAL;
    mcp__access_free(server);
    server->access = next;
    return MCP_OK;
}

void mcp__access_free(mcp_server *server)
{
    if (server->access.release)
        server->access.release(server->access.user);
    server->access = (mcp_access){.size = sizeof(mcp_access)};
}

static bool ask(const mcp_server *server, const char *principal, mcp_item item, mcp_str name)
{
    return server->access.may(server->access.user, principal, item, name);
}

bool mcp__may_see(const mcp_server *server, const char *principal, const mcp__entry *entry)
{
    static const mcp_item items[MCP__KINDS] = {[MCP__RESOURCES] = MCP_ITEM_RESOURCE,
                                               [MCP__TEMPLATES] = MCP_ITEM_TEMPLATE,
                                               [MCP__PROMPTS] = MCP_ITEM_PROMPT,
                                               [MCP__TOOLS] = MCP_ITEM_TOOL};
    if (!server->access.may)
        return true;
    if (entry->kind == MCP__RESOURCES)
        return mcp__may_read(server, principal, entry->key);
    return ask(server, principal, items[entry->kind], entry->key);
}

/* NUL-terminated in normal form; false: it does not fit. */
static bool normalize(mcp_str uri, char *to, size_t room)
{
    size_t at = 0, len = 0;
    bool scheme = true;
    while (at < uri.len && len + 4 < room) {
        size_t n = mcp__uri_normal(uri, &at, to + len);
        if (n == 0)
            return false;
        if (scheme)
            to[len] = mcp__lower(to[len]);
        scheme = scheme && to[len] != ':';
        len += n;
    }
    to[len] = '\0';
    return at >= uri.len;
}

bool mcp__may_read(const mcp_server *server, const char *principal, mcp_str uri)
{
    char spelled[MCP_URI_MAX_LENGTH + 4];
    if (!server->access.may)
        return true;
    const mcp__mount *mount = mcp__mount_find(server, uri);
    bool resolved = mount && mount->provider.resolve && uri.len <= MCP_URI_MAX_LENGTH &&
                    mount->provider.resolve(uri, spelled, sizeof(spelled), mount->user) == MCP_OK;
    if (!resolved && !normalize(uri, spelled, sizeof(spelled)))
        return false;
    return ask(server, principal, MCP_ITEM_RESOURCE, mcp_str_from(spelled));
}

bool mcp_request_may(const mcp_request *req, mcp_item item, mcp_str name)
{
    const mcp_server *server = req->server;
    if (!server->access.may)
        return true;
    if (item == MCP_ITEM_RESOURCE)
        return mcp__may_read(server, mcp_request_principal(req), name);
    return ask(server, mcp_request_principal(req), item, name);
}

/* ---- completion -------------------------------------------------------------------------------------------- */

/* The template with what is known so far and the proposed value. */
static char *expand(const mcp_request *req, mcp_str value)
{
    const mcp_json *params = req->in.message.params;
    const mcp_json *known = mcp_json_get(mcp_json_get(params, "context"), "arguments");
    mcp_str name = mcp_json_string(mcp_json_get(mcp_json_get(params, "argument"), "name"));
    const mcp_allocator *allocator = &req->server->allocator;
    size_t n = 0, room = mcp_json_count(known) + 1;
    mcp_uri_pair *pairs = mcp__alloc(allocator, room * sizeof(*pairs));
    char *uri = NULL;
    mcp_json_iter it = {0};
    mcp_str key;
    if (!pairs)
        return NULL;
    pairs[n++] = (mcp_uri_pair){.name = name, .value = value};
    for (const mcp_json *v; (v = mcp_json_next(known, &it, &key)) != NULL;) {
        if (mcp_json_is(v, MCP_JSON_STRING))
            pairs[n++] = (mcp_uri_pair){.name = key, .value = mcp_json_string(v)};
    }
    if (mcp_uri_template_expand_strings(req->entry->tmpl, pairs, n, allocator, &uri, NULL) !=
        MCP_OK)
        uri = NULL;
    mcp__release(allocator, pairs);
    return uri;
}

bool mcp__may_complete(const mcp_request *req, mcp_str value)
{
    if (!req->server->access.may || !req->entry || req->entry->kind != MCP__TEMPLATES)
        return true;
    char *uri = expand(req, value);
    bool may = uri && mcp__may_read(req->server, mcp_request_principal(req), mcp_str_from(uri));
    mcp__release(&req->server->allocator, uri);
    return may;
}
