/* topic.c: resources with subscribers, and the providers that watch them. See topic.h. */
#include "server/core/topic.h"

enum { ANONYMOUS = 'a', NAMED = 'n' };

static mcp__topic *topic_new(mcp_server *server, mcp_str key)
{
    mcp__topic *t = mcp__zalloc(&server->allocator, sizeof(*t) + key.len + 1);
    if (!t)
        return NULL;
    char *text = (char *)(t + 1);
    if (key.ptr)
        memcpy(text, key.ptr, key.len);
    t->key = (mcp_str){text, key.len};
    mcp__list_init(&t->subscriptions);
    if (mcp__map_add(&server->topics, t->key, t) != MCP_OK) {
        mcp__release(&server->allocator, t);
        return NULL;
    }
    return t;
}

static const char *principal_of(const mcp__topic *t)
{
    const char *mark = t->key.ptr + strlen(t->key.ptr) + 1;
    return mark < t->key.ptr + t->key.len && *mark == NAMED ? mark + 1 : NULL;
}

static void unwatch(const mcp__topic *t)
{
    if (t->unwatch)
        t->unwatch(t->key.ptr, t->watch_user);
    if (t->unwatch_for)
        t->unwatch_for(t->key.ptr, principal_of(t), t->watch_user);
}

void mcp__topic_free(mcp_server *server, mcp__topic *t)
{
    mcp__map_remove(&server->topics, t->key);
    unwatch(t);
    mcp__release(&server->allocator, t);
}

void mcp__topic_put_key(mcp__buf *b, const char *canonical, const char *principal)
{
    mcp__buf_add(b, canonical, strlen(canonical) + 1);
    mcp__buf_char(b, principal ? NAMED : ANONYMOUS);
    mcp__buf_str(b, mcp_str_from(principal));
}

static int watch(const mcp__mount *mount, mcp__topic *t)
{
    const mcp_provider *p = &mount->provider;
    int rc = p->watch_for ? p->watch_for(t->key.ptr, principal_of(t), mount->user)
             : p->watch   ? p->watch(t->key.ptr, mount->user)
                          : MCP_EUNSUPPORTED;
    t->watch_user = mount->user;
    t->unwatch = rc == MCP_OK && !p->watch_for ? p->unwatch : NULL;
    t->unwatch_for = rc == MCP_OK && p->watch_for ? p->unwatch_for : NULL;
    return rc;
}

/* Finds the canonical spelling of the URI, and the mount that watches it. *mount is NULL if there
 * is none. */
static int resolve(mcp_server *server, mcp_str uri, char *canonical, size_t room,
                   const mcp__mount **mount)
{
    *mount = NULL;
    if (uri.len >= room)
        return MCP_ENOTFOUND;
    mcp_uri parsed;
    mcp__mount *m = mcp__mount_find(server, uri);
    bool registered = mcp__registry_find(server, MCP__RESOURCES, uri) != NULL;
    if (!registered && m && m->provider.resolve) {
        *mount = m;
        return m->provider.resolve(uri, canonical, room, m->user);
    }
    if (!registered) {
        mcp__entry *entry;
        mcp_uri_match *match = NULL;
        if (mcp_uri_parse(uri, &parsed, NULL) != MCP_OK)
            return MCP_ENOTFOUND;
        int rc = mcp__registry_match(server, uri, &entry, &match);
        mcp_uri_match_free(match);
        if (rc != MCP_OK)
            return rc;
    }
    memcpy(canonical, uri.ptr, uri.len);
    canonical[uri.len] = 0;
    return MCP_OK;
}

static int topic_with_key(mcp_server *server, mcp_str key, const mcp__mount *mount,
                          mcp__topic **ret)
{
    *ret = mcp__map_get(&server->topics, key);
    if (*ret)
        return MCP_OK;
    mcp__topic *t = topic_new(server, key);
    if (!t)
        return MCP_ENOMEM;
    int rc = mount ? watch(mount, t) : MCP_OK;
    if (rc != MCP_OK) {
        mcp__topic_free(server, t);
        return rc;
    }
    *ret = t;
    return MCP_OK;
}

int mcp__topic_of(mcp_server *server, mcp_str uri, const char *principal, mcp__topic **ret)
{
    char canonical[MCP_URI_MAX_LENGTH + 1];
    const mcp__mount *mount;
    int rc = resolve(server, uri, canonical, sizeof(canonical), &mount);
    if (rc != MCP_OK)
        return rc;
    if (!mount || !mount->provider.watch_for)
        return topic_with_key(server, mcp_str_from(canonical), mount, ret);
    mcp__buf key;
    mcp__buf_init(&key, &server->allocator, SIZE_MAX);
    mcp__topic_put_key(&key, canonical, principal);
    rc = key.failed;
    if (rc == MCP_OK)
        rc = topic_with_key(server, mcp__buf_view(&key), mount, ret);
    mcp__buf_free(&key);
    return rc;
}

void mcp__hub_rewatch(mcp_server *server)
{
    size_t at = 0;
    mcp__topic *t;
    while ((t = mcp__map_next(&server->topics, &at)) != NULL) {
        mcp_str uri = mcp_str_from(t->key.ptr);
        const mcp__mount *m = mcp__mount_find(server, uri);
        bool registered = mcp__registry_find(server, MCP__RESOURCES, uri) != NULL;
        bool is_private = uri.len < t->key.len;
        mcp__topic before = *t;
        t->unwatch = NULL;
        t->unwatch_for = NULL;
        if (!registered && m && is_private == (m->provider.watch_for != NULL))
            watch(m, t);
        unwatch(&before);
    }
}
