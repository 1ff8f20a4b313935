/* registry.c: finds, stores and releases the registered entries, in order of registration, and the
 * mounted providers. register.c creates entries.
 */
#include "protocol/mirror.h"
#include "server/core/hub.h"
#include "server/core/registry.h"
#include "server/core/server.h"
#include "server/tasks/task.h"
#include "uri/uri.h"

static void entry_free(mcp__entry *e)
{
    const mcp_allocator *a = e->allocator;
    for (size_t i = 0; i < MCP__REVISIONS; i++) {
        if (e->rendered[i].ptr && (i == 0 || e->rendered[i].ptr != e->rendered[i - 1].ptr))
            mcp__release(a, (void *)(uintptr_t)e->rendered[i].ptr);
    }
    for (size_t i = 0; i < e->n_arguments && e->arguments; i++)
        mcp__release(a, e->arguments[i]);
    mcp__release(a, e->arguments);
    mcp__release(a, e->required);
    if (e->mirror)
        mcp__mirror_free(a, e->mirror);
    mcp__release(a, e->mirror);
    mcp__meter_give(e->meter);
    mcp_schema_free(e->input);
    mcp_schema_free(e->output);
    mcp__release(a, (void *)(uintptr_t)e->key.ptr);
    mcp__release(a, e->mime_type);
    mcp__release(a, e->text);
    mcp_uri_template_free(e->tmpl);
    mcp__release(a, e);
}

void mcp__entry_unref(mcp__entry *entry)
{
    if (--entry->refs == 0)
        entry_free(entry);
}

mcp__entry *mcp__registry_find(const mcp_server *server, mcp__kind kind, mcp_str key)
{
    return mcp__map_get(&server->registry[kind].by_key, key);
}

size_t mcp__registry_after(const mcp__registry *registry, uint64_t sequence)
{
    size_t low = 0, high = registry->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (registry->items[middle]->sequence <= sequence)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int mcp__registry_match(const mcp_server *server, mcp_str uri, mcp__entry **entry,
                        mcp_uri_match **match)
{
    for (size_t i = 0; i < server->registry[MCP__TEMPLATES].count; i++) {
        mcp__entry *e = server->by_specificity[i];
        if (!mcp__uri_template_prefix_matches(e->tmpl, uri))
            continue;
        int rc = mcp_uri_template_match(e->tmpl, uri, &server->allocator, match);
        if (rc != MCP_ENOTFOUND) {
            *entry = e;
            return rc;
        }
    }
    return MCP_ENOTFOUND;
}

void mcp__registry_release(const mcp_allocator *allocator, mcp__registry *registry)
{
    for (size_t i = 0; i < registry->count; i++)
        mcp__entry_unref(registry->items[i]);
    mcp__release(allocator, registry->items);
    mcp__map_free(&registry->by_key);
}

void mcp__registry_free(mcp_server *server)
{
    for (size_t k = 0; k < MCP__KINDS; k++)
        mcp__registry_release(&server->allocator, &server->registry[k]);
    mcp__release(&server->allocator, server->by_specificity);
}

/* ---- adding ---------------------------------------------------------------------------------- */

static int grow(mcp_server *server, mcp__registry *r)
{
    if (r->count < r->cap)
        return MCP_OK;
    size_t cap = r->cap ? r->cap * 2 : 8;
    mcp__entry **items = mcp__resize(&server->allocator, r->items, cap * sizeof(*items));
    if (!items)
        return MCP_ENOMEM;
    r->items = items;
    r->cap = cap;
    return MCP_OK;
}

static int insert_template(mcp_server *server, mcp__entry *e)
{
    size_t n = server->registry[MCP__TEMPLATES].count;
    mcp__entry **sorted =
        mcp__resize(&server->allocator, server->by_specificity, (n + 1) * sizeof(*sorted));
    if (!sorted)
        return MCP_ENOMEM;
    server->by_specificity = sorted;
    size_t at = n;
    while (at > 0 && mcp_uri_template_compare(e->tmpl, sorted[at - 1]->tmpl) < 0) {
        sorted[at] = sorted[at - 1];
        at--;
    }
    sorted[at] = e;
    return MCP_OK;
}

int mcp__registry_place(mcp_server *server, mcp__entry *e)
{
    mcp__registry *r = &server->registry[e->kind];
    int rc = grow(server, r);
    if (rc == MCP_OK)
        rc = mcp__map_add(&r->by_key, e->key, e);
    if (rc == MCP_OK && e->kind == MCP__TEMPLATES) {
        rc = insert_template(server, e);
        if (rc != MCP_OK)
            mcp__map_remove(&r->by_key, e->key);
    }
    if (rc == MCP_OK)
        r->items[r->count++] = e;
    return rc;
}

int mcp__registry_keep(mcp_server *server, mcp__entry *entry)
{
    int rc = mcp__registry_place(server, entry);
    if (rc == MCP_OK)
        mcp__entry_ref(entry);
    return rc;
}

int mcp__registry_remove(mcp_server *server, mcp__kind kind, const char *key)
{
    if (!server || !key)
        return MCP_EINVAL;
    mcp__registry *r = &server->registry[kind];
    mcp__entry *e = mcp__map_remove(&r->by_key, mcp_str_from(key));
    if (!e)
        return MCP_ENOTFOUND;
    size_t at = mcp__registry_after(r, e->sequence) - 1;
    memmove(&r->items[at], &r->items[at + 1], (r->count - at - 1) * sizeof(*r->items));
    if (kind == MCP__TEMPLATES) {
        size_t i = 0;
        while (server->by_specificity[i] != e)
            i++;
        memmove(&server->by_specificity[i], &server->by_specificity[i + 1],
                (r->count - i - 1) * sizeof(*r->items));
    }
    r->count--;
    mcp__hub_list_changed(server, kind, e);
    mcp__entry_unref(e);
    return MCP_OK;
}

/* ---- what the server offers ----------------------------------------------------------------- */

bool mcp__server_registers(const mcp_server *server, mcp__kind kind)
{
    const mcp_server_options *o = &server->options;
    switch (kind) {
    case MCP__RESOURCES:
    case MCP__TEMPLATES:
        return o->declare_resources || server->registry[MCP__RESOURCES].count ||
               server->registry[MCP__TEMPLATES].count;
    case MCP__PROMPTS: return o->declare_prompts || server->registry[MCP__PROMPTS].count;
    case MCP__TOOLS: return o->declare_tools || server->registry[MCP__TOOLS].count;
    case MCP__KINDS: break;
    }
    return false;
}

bool mcp__server_offers(const mcp_server *server, mcp__kind kind)
{
    bool resources = kind == MCP__RESOURCES || kind == MCP__TEMPLATES;
    for (size_t i = 0; i < server->n_mounts; i++) {
        if (resources || mcp__mount_has(server->mounts[i], kind))
            return true;
    }
    return mcp__server_registers(server, kind);
}

static bool completes(const mcp__registry *registry)
{
    for (size_t i = 0; i < registry->count; i++) {
        if (registry->items[i]->complete)
            return true;
    }
    return false;
}

bool mcp__server_completes(const mcp_server *server)
{
    for (size_t i = 0; i < server->n_mounts; i++) {
        if (server->mounts[i]->provider.complete)
            return true;
    }
    return completes(&server->registry[MCP__TEMPLATES]) ||
           completes(&server->registry[MCP__PROMPTS]);
}

bool mcp__server_logs(const mcp_server *server)
{
    for (size_t i = 0; i < server->n_mounts; i++) {
        if (server->mounts[i]->provider.logs)
            return true;
    }
    return server->options.logging;
}

/* ---- mounts ---------------------------------------------------------------------------------- */

/* Returns the length of a prefix that a URI begins with, plus 1, or 0. */
static size_t match(mcp_str uri, const char *prefix)
{
    size_t len = strlen(prefix), scheme = *prefix ? strcspn(prefix, ":") + 1 : 0;
    bool same = uri.len >= len &&
                mcp__str_same((mcp_str){uri.ptr, scheme}, (mcp_str){prefix, scheme}) &&
                memcmp(uri.ptr + scheme, prefix + scheme, len - scheme) == 0;
    return same ? len + 1 : 0;
}

mcp__mount *mcp__mount_find(const mcp_server *server, mcp_str uri)
{
    mcp__mount *best = NULL;
    size_t longest = 0;
    for (size_t i = 0; i < server->n_mounts; i++) {
        mcp__mount *m = server->mounts[i];
        size_t first = match(uri, m->prefix), second = m->alias ? match(uri, m->alias) : 0;
        size_t len = MCP__MAX(first, second);
        if (len > longest) {
            best = m;
            longest = len;
        }
    }
    return best;
}

static const mcp_item item_of[MCP__KINDS] = {MCP_ITEM_RESOURCE, MCP_ITEM_TEMPLATE, MCP_ITEM_PROMPT,
                                             MCP_ITEM_TOOL};

bool mcp__mount_has(const mcp__mount *mount, mcp__kind kind)
{
    return mount->provider.items & 1u << item_of[kind];
}

bool mcp__mount_declares(const mcp__mount *mount, mcp__kind kind, const mcp_request *req)
{
    const mcp_provider *p = &mount->provider;
    if (kind != MCP__RESOURCES && !mcp__mount_has(mount, kind))
        return false;
    return !p->declares || p->declares(req, item_of[kind], mount->user);
}

mcp__mount *mcp__mount_named(const mcp_server *server, mcp__kind kind, mcp_str name)
{
    mcp__mount *best = NULL;
    for (size_t i = 0; i < server->n_mounts; i++) {
        mcp__mount *m = server->mounts[i];
        size_t len = strlen(m->names);
        if (mcp__mount_has(m, kind) && name.len >= len && memcmp(name.ptr, m->names, len) == 0 &&
            (!best || len > strlen(best->names)))
            best = m;
    }
    return best;
}

const char *mcp_server_mount_prefix(const mcp_server *server, size_t index)
{
    return index < server->n_mounts ? server->mounts[index]->prefix : NULL;
}

static int check_mount(const mcp_server *server, const char *prefix, const mcp_provider *provider,
                       mcp_error *error)
{
    const char *colon = prefix ? strchr(prefix, ':') : NULL;
    if (!prefix || (*prefix && (!colon || colon == prefix)))
        return mcp__fail(error, MCP_EINVAL, 0, "a mount needs a prefix that begins with a scheme");
    if (!provider->name)
        return mcp__fail(error, MCP_EINVAL, 0, "a provider needs a \"name\"");
    if (server->n_mounts && (!*prefix || !*server->mounts[0]->prefix))
        return mcp__fail(error, MCP_EEXIST, 0,
                         "%s has all URIs and names, so that nothing else can be mounted",
                         *prefix ? server->mounts[0]->provider.name : provider->name);
    for (size_t i = 0; i < server->n_mounts; i++) {
        if (strcmp(server->mounts[i]->prefix, prefix) == 0)
            return mcp__fail(error, MCP_EEXIST, 0, "a provider is mounted at %s already", prefix);
    }
    return MCP_OK;
}

/* Frees the mount, but does not release its provider. */
static void drop_mount(mcp_server *server, mcp__mount *mount)
{
    mcp__meter_give(mount->meter);
    mcp_identity_unref(mount->left_out.caller);
    mcp__release(&server->allocator, mount->left_out.position);
    mcp__release(&server->allocator, mount->left_out.why);
    mcp__release(&server->allocator, mount->prefix);
    mcp__release(&server->allocator, mount->alias);
    mcp__release(&server->allocator, mount->names);
    mcp__release(&server->allocator, mount);
}

void mcp__mount_free(mcp_server *server, mcp__mount *mount)
{
    if (mount->provider.release)
        mount->provider.release(mount->user);
    drop_mount(server, mount);
}

int mcp__mount_keep(mcp_server *server, mcp__mount *mount)
{
    mcp__mount **grown =
        mcp__resize(&server->allocator, server->mounts, (server->n_mounts + 1) * sizeof(*grown));
    if (!grown)
        return MCP_ENOMEM;
    server->mounts = grown;
    server->mounts[server->n_mounts++] = mount;
    return MCP_OK;
}

static int add_mount(mcp_server *server, const char *prefix, const mcp_provider *provider,
                     void *user)
{
    const mcp_allocator *a = &server->allocator;
    mcp__mount *m = mcp__zalloc(a, sizeof(*m));
    if (!m)
        return MCP_ENOMEM;
    m->prefix = mcp__strdup(a, mcp_str_from(prefix));
    m->alias = provider->alias ? mcp__strdup(a, mcp_str_from(provider->alias)) : NULL;
    m->names = mcp__strdup(a, mcp_str_from(provider->names));
    m->meter =
        mcp__meter_take(server, MCP_USAGE_SOURCE, mcp_str_from(*prefix ? prefix : provider->name));
    if (!m->prefix || (provider->alias && !m->alias) || !m->names || !m->meter) {
        drop_mount(server, m);
        return MCP_ENOMEM;
    }
    m->provider = *provider;
    m->provider.names = m->names;
    m->provider.alias = m->alias;
    m->user = user;
    m->built = server->building;
    int rc = mcp__mount_keep(server, m);
    if (rc != MCP_OK)
        drop_mount(server, m);
    return rc;
}

int mcp_server_mount(mcp_server *server, const char *prefix, const mcp_provider *provider,
                     void *user, mcp_error *error)
{
    mcp__no_error(error);
    mcp_provider p;
    int rc = MCP__TAKE(&p, provider, mcp_provider, error);
    if (rc == MCP_OK)
        rc = mcp__need_server(server, error);
    if (rc == MCP_OK)
        rc = check_mount(server, prefix, &p, error);
    if (rc == MCP_OK && p.tasks)
        rc = mcp__tasks_need(server);
    if (rc == MCP_OK && (rc = add_mount(server, prefix, &p, user)) != MCP_OK)
        mcp__fail(error, rc, 0, "no memory to mount %s", prefix);
    if (rc != MCP_OK) {
        if (p.release)
            p.release(user);
        return rc;
    }
    const mcp__mount *mount = server->mounts[server->n_mounts - 1];
    if (!server->building && mcp__mount_is_watched(server, mount))
        mcp__mount_watch_list(server, mount);
    for (int k = 0; k < MCP__KINDS; k++) {
        if (k == MCP__RESOURCES || mcp__mount_has(mount, (mcp__kind)k))
            mcp__hub_list_changed(server, (mcp__kind)k, NULL);
    }
    return MCP_OK;
}
