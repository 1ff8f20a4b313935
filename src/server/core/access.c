/* access.c: access rules. The program's function is called wherever an item would become visible,
 * and another one of it wherever an item would be changed.
 *
 * Rules are written for names, so a URI is first converted to one canonical spelling without
 * parameters. Otherwise "file:///a/%62" or "file:///a/b?line=1" would bypass a rule. The provider
 * or template that serves the URI determines the spelling; it is found in the same order as in
 * read.c. A URI without a canonical spelling is treated as missing. No other form of the URI is
 * tried.
 */
#include "server/core/access.h"
#include "server/core/request.h"
#include "uri/uri.h"

int mcp_server_set_access(mcp_server *server, const mcp_access *access)
{
    mcp_access next;
    int rc = MCP__TAKE_OPTIONAL(&next, access, mcp_access, NULL);
    if (rc != MCP_OK || !server || (access && !next.may && !next.may_do))
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

static bool ask(const mcp_server *server, const mcp_identity *identity, mcp_item item, mcp_str name)
{
    return server->access.may(identity, item, name, server->access.user);
}

static const mcp_item items[MCP__KINDS] = {[MCP__RESOURCES] = MCP_ITEM_RESOURCE,
                                           [MCP__TEMPLATES] = MCP_ITEM_TEMPLATE,
                                           [MCP__PROMPTS] = MCP_ITEM_PROMPT,
                                           [MCP__TOOLS] = MCP_ITEM_TOOL};

bool mcp__may_see(const mcp_server *server, const mcp_identity *identity, const mcp__entry *entry)
{
    if (!server->access.may)
        return true;
    if (entry->kind == MCP__RESOURCES)
        return mcp__may_read(server, identity, entry->key);
    return ask(server, identity, items[entry->kind], entry->key);
}

/* Writes the normal form, NUL-terminated. Returns false if there is none, or if it does not fit. */
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

/* Appends the query that is part of the canonical spelling of the URI, if there is one. Returns false
 * if it does not fit. */
static bool add_query(const mcp__mount *mount, mcp_str uri, char *to, size_t room)
{
    char whole[MCP__CANONICAL_ROOM];
    int rc = mount->provider.resolve(uri, whole, sizeof(whole), mount->user);
    const char *query = rc == MCP_OK ? strchr(whole, '?') : NULL;
    size_t len = strlen(to), more = query ? strlen(query) : 0;
    if (len + more >= room)
        return false;
    memcpy(to + len, query ? query : "", more + 1);
    return true;
}

/* The query is removed before the provider sees the URI, so that a decision cannot depend on the
 * query, unless the rules can tell it from the rest. */
static bool spell_mounted(const mcp__mount *mount, bool queries, mcp_str uri, char *to, size_t room)
{
    const char *query = uri.len ? memchr(uri.ptr, '?', uri.len) : NULL;
    mcp_str path = {uri.ptr, query ? (size_t)(query - uri.ptr) : uri.len};
    if (!mount->provider.resolve)
        return normalize(path, to, room);
    return mount->provider.resolve(path, to, room, mount->user) == MCP_OK &&
           (!query || !queries || add_query(mount, uri, to, room));
}

static bool spell_matched(const mcp_server *server, mcp_str uri, char *to, size_t room)
{
    mcp__entry *entry;
    mcp_uri_match *match = NULL;
    int rc = mcp__registry_match(server, uri, &entry, &match);
    if (rc == MCP_ENOTFOUND)
        return normalize(uri, to, room);
    bool fits = rc == MCP_OK && mcp__uri_match_spell(match, to, room);
    mcp_uri_match_free(match);
    return fits;
}

static bool spell_any(const mcp_server *server, bool queries, mcp_str uri, char *to, size_t room)
{
    if (uri.len > MCP_URI_MAX_LENGTH)
        return false;
    if (mcp__registry_find(server, MCP__RESOURCES, uri))
        return normalize(uri, to, room);
    const mcp__mount *mount = mcp__mount_find(server, uri);
    return mount ? spell_mounted(mount, queries, uri, to, room)
                 : spell_matched(server, uri, to, room);
}

/* Writes the canonical spelling of the resource to which the URI refers. Returns false if there is
 * none. */
static bool spell(const mcp_server *server, mcp_str uri, char *to, size_t room)
{
    return spell_any(server, server->access.queries, uri, to, room);
}

bool mcp__access_spell(const mcp_server *server, mcp_str uri, char *to, size_t room)
{
    return spell_any(server, true, uri, to, room);
}

bool mcp__access_read(const mcp_server *server, const mcp_identity *identity, mcp_str uri)
{
    char canonical[MCP__CANONICAL_ROOM];
    return spell(server, uri, canonical, sizeof(canonical)) &&
           ask(server, identity, MCP_ITEM_RESOURCE, mcp_str_from(canonical));
}

/* ---- missing scopes -------------------------------------------------------------------------- */

/* Returns the scopes with which the caller would be allowed the item, or NULL. */
static const char *scopes_of(const mcp_server *server, const mcp_identity *identity, mcp_item item,
                             mcp_str name)
{
    char canonical[MCP__CANONICAL_ROOM];
    const mcp_access *access = &server->access;
    if (!access->scopes)
        return NULL;
    if (item == MCP_ITEM_RESOURCE) {
        if (!spell(server, name, canonical, sizeof(canonical)))
            return NULL;
        name = mcp_str_from(canonical);
    }
    return access->scopes(identity, item, name, access->user);
}

bool mcp__may_list(const mcp_server *server, const mcp_identity *identity, const mcp__entry *entry)
{
    return mcp__may_see(server, identity, entry) ||
           scopes_of(server, identity, items[entry->kind], entry->key);
}

bool mcp__access_list(const mcp_request *req, mcp_item item, mcp_str name)
{
    return mcp_request_may(req, item, name) ||
           scopes_of(req->server, mcp_request_identity(req), item, name);
}

int mcp__access_refuse(mcp_request *req, mcp_item item, mcp_str name)
{
    const char *scopes = scopes_of(req->server, mcp_request_identity(req), item, name);
    req->used.denied = !mcp_request_may(req, item, name);
    int rc = scopes ? mcp_request_need_scopes(req, scopes) : MCP_ENOTFOUND;
    return rc == MCP_OK || rc == MCP_EINVAL ? MCP_ENOTFOUND : rc;
}

/* ---- for handlers ---------------------------------------------------------------------------- */

bool mcp_request_may(const mcp_request *req, mcp_item item, mcp_str name)
{
    const mcp_server *server = req->server;
    if (!mcp_request_restricted(req))
        return true;
    if (item == MCP_ITEM_RESOURCE)
        return mcp__may_read(server, mcp_request_identity(req), name);
    return ask(server, mcp_request_identity(req), item, name);
}

/* Asks the program about an item that the caller sees. An answer that is no effect is a refusal. */
static mcp_effect ask_to_do(const mcp_request *req, mcp_operation operation, mcp_item item,
                            mcp_str name, unsigned flags)
{
    char canonical[MCP__CANONICAL_ROOM];
    const mcp_access *access = &req->server->access;
    if (item == MCP_ITEM_RESOURCE) {
        if (!spell(req->server, name, canonical, sizeof(canonical)))
            return MCP_EFFECT_DENY;
        name = mcp_str_from(canonical);
    }
    mcp_effect effect =
        access->may_do(mcp_request_identity(req), operation, item, name, flags, access->user);
    return effect == MCP_EFFECT_ALLOW || effect == MCP_EFFECT_ASK ? effect : MCP_EFFECT_DENY;
}

mcp_effect mcp_request_may_do(const mcp_request *req, mcp_operation operation, mcp_item item,
                              mcp_str name, unsigned flags)
{
    if (!mcp_request_may(req, item, name))
        return MCP_EFFECT_DENY;
    bool seeing = operation == MCP_OPERATION_READ || operation == MCP_OPERATION_CALL;
    if (seeing && (!(flags & MCP_MAY_EXACT) || !mcp_request_restricted(req)))
        return MCP_EFFECT_ALLOW;
    if (!req->server->access.may_do || (unsigned)operation > MCP_OPERATION_COMMIT ||
        (flags & ~MCP_MAY_EXACT))
        return MCP_EFFECT_DENY;
    return ask_to_do(req, operation, item, name, flags);
}

/* Decides about names in their canonical spelling. */
static void ask_all(const mcp_request *req, mcp_item item, const mcp_str *names, size_t n,
                    bool *allowed)
{
    const mcp_access *access = &req->server->access;
    const mcp_identity *identity = mcp_request_identity(req);
    if (access->may_all) {
        access->may_all(identity, item, names, n, allowed, access->user);
        return;
    }
    for (size_t i = 0; i < n; i++)
        allowed[i] = access->may(identity, item, names[i], access->user);
}

/* Appends the canonical spellings to `text`, each with a NUL. at[i] is set to the offset of the
 * i-th one, or to SIZE_MAX if the name has no canonical spelling. */
static int spell_all(const mcp_server *server, const mcp_str *names, size_t n, mcp__buf *text,
                     size_t *at)
{
    char canonical[MCP__CANONICAL_ROOM];
    for (size_t i = 0; i < n; i++) {
        at[i] = SIZE_MAX;
        if (!spell(server, names[i], canonical, sizeof(canonical)))
            continue;
        at[i] = text->len;
        mcp__buf_add(text, canonical, strlen(canonical) + 1);
    }
    return text->failed;
}

static int may_read_all(const mcp_request *req, const mcp_str *names, size_t n, bool *allowed)
{
    const mcp_allocator *a = &req->server->allocator;
    size_t *at = mcp__alloc(a, n * sizeof(*at)), count = 0;
    mcp_str *canonical = mcp__alloc(a, n * sizeof(*canonical));
    bool *answers = mcp__zalloc(a, n * sizeof(*answers));
    mcp__buf text;
    mcp__buf_init(&text, a, SIZE_MAX);
    int rc = at && canonical && answers ? spell_all(req->server, names, n, &text, at) : MCP_ENOMEM;
    for (size_t i = 0; rc == MCP_OK && i < n; i++) {
        if (at[i] != SIZE_MAX)
            canonical[count++] = mcp_str_from(text.ptr + at[i]);
    }
    if (rc == MCP_OK && count)
        ask_all(req, MCP_ITEM_RESOURCE, canonical, count, answers);
    count = 0;
    for (size_t i = 0; rc == MCP_OK && i < n; i++)
        allowed[i] = at[i] != SIZE_MAX && answers[count++];
    mcp__buf_free(&text);
    mcp__release(a, answers);
    mcp__release(a, canonical);
    mcp__release(a, at);
    return rc;
}

int mcp_request_may_all(const mcp_request *req, mcp_item item, const mcp_str *names, size_t n,
                        bool *allowed)
{
    bool restricted = mcp_request_restricted(req);
    for (size_t i = 0; i < n; i++)
        allowed[i] = !restricted;
    if (!restricted || !n)
        return MCP_OK;
    if (item == MCP_ITEM_RESOURCE)
        return may_read_all(req, names, n, allowed);
    ask_all(req, item, names, n, allowed);
    return MCP_OK;
}

/* ---- completion ------------------------------------------------------------------------------ */

/* Expands the template with the variables known so far and the proposed value. */
static char *expand(const mcp_request *req, const mcp_uri_template *tmpl, mcp_str value)
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
    if (mcp_uri_template_expand_strings(tmpl, pairs, n, allocator, &uri, NULL) != MCP_OK)
        uri = NULL;
    mcp__release(allocator, pairs);
    return uri;
}

bool mcp__may_complete(const mcp_request *req, const mcp_uri_template *tmpl, mcp_str value,
                       mcp_str uri)
{
    char canonical[MCP__CANONICAL_ROOM];
    const mcp_server *server = req->server;
    if (!server->access.may || !tmpl)
        return true;
    char *expanded = expand(req, tmpl, value);
    bool has_spelling =
        expanded && spell(server, mcp_str_from(expanded), canonical, sizeof(canonical));
    mcp__release(&server->allocator, expanded);
    if (expanded && !has_spelling && uri.ptr)
        has_spelling = spell(server, uri, canonical, sizeof(canonical));
    return has_spelling &&
           ask(server, mcp_request_identity(req), MCP_ITEM_RESOURCE, mcp_str_from(canonical));
}
