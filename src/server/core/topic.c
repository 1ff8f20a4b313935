/* topic.c: resources with subscribers, and the providers that watch them. See topic.h. */
#include "server/core/topic.h"
#include "server/share/watch.h"
#include "uri/uri.h"

bool mcp__topic_has_identity(const mcp__topic *t)
{
    return strlen(t->key.ptr) < t->key.len;
}

static mcp__topic *topic_new(mcp_server *server, mcp_str key, mcp_identity *identity)
{
    mcp__topic *t = mcp__zalloc(&server->allocator, sizeof(*t) + key.len + 1);
    if (!t)
        return NULL;
    char *text = (char *)(t + 1);
    if (key.ptr)
        memcpy(text, key.ptr, key.len);
    t->key = (mcp_str){text, key.len};
    mcp__list_init(&t->subscriptions);
    t->identity = mcp__topic_has_identity(t) ? mcp_identity_ref(identity) : NULL;
    if (mcp__map_add(&server->topics, t->key, t) != MCP_OK) {
        mcp_identity_unref(t->identity);
        mcp__release(&server->allocator, t);
        return NULL;
    }
    return t;
}

static void unwatch(const mcp__topic *t)
{
    if (!t->watched)
        return;
    if (t->unwatch)
        t->unwatch(t->key.ptr, t->watch_user);
    if (t->unwatch_as)
        t->unwatch_as(t->key.ptr, t->identity, t->watch_user);
}

void mcp__topic_free(mcp_server *server, mcp__topic *t)
{
    t->lent = false;
    if (!mcp__topic_has_identity(t))
        mcp__watch_unwanted(server, MCP__WATCH_TOPIC, t->key);
    if (t->held)
        return;
    mcp__map_remove(&server->topics, t->key);
    unwatch(t);
    mcp_identity_unref(t->identity);
    mcp__release(&server->allocator, t);
}

void mcp__topic_put_key(mcp__buf *b, const char *canonical, const mcp_identity *identity)
{
    mcp__buf_add(b, canonical, strlen(canonical) + 1);
    mcp__buf_add(b, (const char *)&identity, sizeof(identity));
}

/* Returns whether the topics of a mount belong to one identity each. */
static bool has_identities(const mcp__mount *mount)
{
    return mount && mount->provider.watch_as;
}

static int watch(const mcp__mount *mount, mcp__topic *t)
{
    const mcp_provider *p = &mount->provider;
    int rc = p->watch_as ? p->watch_as(t->key.ptr, t->identity, mount->user)
             : p->watch  ? p->watch(t->key.ptr, mount->user)
                         : MCP_EUNSUPPORTED;
    t->watch_user = mount->user;
    t->watched = rc == MCP_OK;
    t->unwatch = p->watch_as ? NULL : p->unwatch;
    t->unwatch_as = p->watch_as ? p->unwatch_as : NULL;
    return rc;
}

mcp_str mcp__topic_uri(const mcp__topic *t)
{
    return mcp_str_from(t->key.ptr);
}

/* Spells a URI as the template that matches it does. */
static int spell_matched(const mcp_server *server, mcp_str uri, char *canonical, size_t room)
{
    mcp__entry *entry;
    mcp_uri_match *match = NULL;
    mcp_uri parsed;
    if (mcp_uri_parse(uri, &parsed, NULL) != MCP_OK)
        return MCP_ENOTFOUND;
    int rc = mcp__registry_match(server, uri, &entry, &match);
    if (rc == MCP_OK && !mcp__uri_match_spell(match, canonical, room))
        rc = MCP_ENOTFOUND;
    mcp_uri_match_free(match);
    return rc;
}

/* Finds the canonical spelling of the URI, and the mount that watches it. *mount is NULL if there
 * is none. */
static int resolve(const mcp_server *server, mcp_str uri, char *canonical, size_t room,
                   const mcp__mount **mount)
{
    *mount = NULL;
    if (uri.len >= room)
        return MCP_ENOTFOUND;
    if (mcp__registry_find(server, MCP__RESOURCES, uri)) {
        memcpy(canonical, uri.ptr, uri.len);
        canonical[uri.len] = 0;
        return MCP_OK;
    }
    const mcp__mount *m = mcp__mount_find(server, uri);
    if (!m || !m->provider.resolve)
        return spell_matched(server, uri, canonical, room);
    *mount = m;
    int rc = m->provider.resolve(uri, canonical, room, m->user);
    return rc == MCP_ELIMIT ? MCP_ENOTFOUND : rc;
}

int mcp__topic_spell(const mcp_server *server, mcp_str uri, char canonical[MCP__TOPIC_ROOM])
{
    const mcp__mount *mount;
    return resolve(server, uri, canonical, MCP__TOPIC_ROOM, &mount);
}

static int topic_with_key(mcp_server *server, mcp_str key, mcp_identity *identity,
                          const mcp__mount *mount, mcp__topic **ret)
{
    *ret = mcp__map_get(&server->topics, key);
    if (*ret)
        return MCP_OK;
    mcp__topic *t = topic_new(server, key, identity);
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

/* The topic of all callers. */
static int common_topic(mcp_server *server, const char *canonical, const mcp__mount *mount,
                        mcp__topic **ret)
{
    int rc = topic_with_key(server, mcp_str_from(canonical), NULL, mount, ret);
    if (rc == MCP_OK && mount)
        mcp__watch_wanted(server, MCP__WATCH_TOPIC, (*ret)->key);
    return rc;
}

int mcp__topic_of(mcp_server *server, mcp_str uri, mcp_identity *identity, mcp__topic **ret)
{
    char canonical[MCP__TOPIC_ROOM];
    const mcp__mount *mount;
    int rc = resolve(server, uri, canonical, sizeof(canonical), &mount);
    if (rc != MCP_OK)
        return rc;
    if (!has_identities(mount))
        return common_topic(server, canonical, mount, ret);
    mcp__buf key;
    mcp__buf_init(&key, &server->allocator, SIZE_MAX);
    mcp__topic_put_key(&key, canonical, identity);
    rc = key.failed;
    if (rc == MCP_OK)
        rc = topic_with_key(server, mcp__buf_view(&key), identity, mount, ret);
    mcp__buf_free(&key);
    return rc;
}

/* Watches a topic at the mount that has it now, and no longer where it was watched before. */
static void rewatch(mcp_server *server, mcp__topic *t)
{
    mcp_str uri = mcp_str_from(t->key.ptr);
    const mcp__mount *m = mcp__mount_find(server, uri);
    bool registered = mcp__registry_find(server, MCP__RESOURCES, uri) != NULL;
    mcp__topic before = *t;
    t->watched = false;
    if (!registered && m && mcp__topic_has_identity(t) == has_identities(m) && !t->lent)
        watch(m, t);
    unwatch(&before);
}

void mcp__hub_rewatch(mcp_server *server)
{
    size_t at = 0;
    mcp__topic *t;
    while ((t = mcp__map_next(&server->topics, &at)) != NULL)
        rewatch(server, t);
}

/* ---- topics that one instance watches for all (share/watch.h) ------------------------------------ */

void mcp__topic_lend(mcp_server *server, mcp_str key, bool lent)
{
    mcp__topic *t = mcp__map_get(&server->topics, key);
    if (!t || t->lent == lent)
        return;
    t->lent = lent;
    rewatch(server, t);
}

int mcp__topic_hold(mcp_server *server, mcp_str key)
{
    char canonical[MCP__TOPIC_ROOM];
    const mcp__mount *mount;
    mcp__topic *t;
    int rc = resolve(server, key, canonical, sizeof(canonical), &mount);
    if (rc != MCP_OK)
        return rc;
    if (!mount || has_identities(mount) || !mcp_str_eq(key, mcp_str_from(canonical)))
        return MCP_EUNSUPPORTED;
    rc = topic_with_key(server, key, NULL, mount, &t);
    if (rc == MCP_OK)
        t->held = true;
    return rc;
}

void mcp__topic_release(mcp_server *server, mcp_str key)
{
    mcp__topic *t = mcp__map_get(&server->topics, key);
    if (!t)
        return;
    t->held = false;
    if (mcp__list_empty(&t->subscriptions))
        mcp__topic_free(server, t);
}
