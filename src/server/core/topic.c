/* topic.c: resources with subscribers, and the providers that watch them. See topic.h. */
#include "server/core/topic.h"
#include "server/share/watch.h"

/* What follows the NUL of a key. */
enum { NOBODY = 0, ANONYMOUS = 'a', NAMED = 'n', IDENTITY = 'i' };

static char mark_of(const mcp__topic *t)
{
    size_t len = strlen(t->key.ptr);
    return len < t->key.len ? t->key.ptr[len + 1] : NOBODY;
}

bool mcp__topic_has_identity(const mcp__topic *t)
{
    return mark_of(t) == IDENTITY;
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
    t->identity = mark_of(t) == IDENTITY ? mcp_identity_ref(identity) : NULL;
    if (mcp__map_add(&server->topics, t->key, t) != MCP_OK) {
        mcp_identity_unref(t->identity);
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
    if (!t->watched)
        return;
    switch (mark_of(t)) {
    case NOBODY:
        if (t->unwatch.alike)
            t->unwatch.alike(t->key.ptr, t->watch_user);
        break;
    case IDENTITY:
        if (t->unwatch.identity)
            t->unwatch.identity(t->key.ptr, t->identity, t->watch_user);
        break;
    default:
        if (t->unwatch.principal)
            t->unwatch.principal(t->key.ptr, principal_of(t), t->watch_user);
    }
}

void mcp__topic_free(mcp_server *server, mcp__topic *t)
{
    t->lent = false;
    if (mark_of(t) == NOBODY)
        mcp__watch_unwanted(server, MCP__WATCH_TOPIC, t->key);
    if (t->held)
        return;
    mcp__map_remove(&server->topics, t->key);
    unwatch(t);
    mcp_identity_unref(t->identity);
    mcp__release(&server->allocator, t);
}

void mcp__topic_put_key(mcp__buf *b, const char *canonical, const char *principal)
{
    mcp__buf_add(b, canonical, strlen(canonical) + 1);
    mcp__buf_char(b, principal ? NAMED : ANONYMOUS);
    mcp__buf_str(b, mcp_str_from(principal));
}

void mcp__topic_put_key_as(mcp__buf *b, const char *canonical, const mcp_identity *identity)
{
    mcp__buf_add(b, canonical, strlen(canonical) + 1);
    mcp__buf_char(b, IDENTITY);
    mcp__buf_add(b, (const char *)&identity, sizeof(identity));
}

/* Returns the kind of the topics that a provider watches: NOBODY, NAMED or IDENTITY. */
static char watched_by(const mcp__mount *mount)
{
    const mcp_provider *p = mount ? &mount->provider : NULL;
    return p && p->watch_as ? IDENTITY : p && p->watch_for ? NAMED : NOBODY;
}

static int watch(const mcp__mount *mount, mcp__topic *t)
{
    const mcp_provider *p = &mount->provider;
    int rc = p->watch_as    ? p->watch_as(t->key.ptr, t->identity, mount->user)
             : p->watch_for ? p->watch_for(t->key.ptr, principal_of(t), mount->user)
             : p->watch     ? p->watch(t->key.ptr, mount->user)
                            : MCP_EUNSUPPORTED;
    t->watch_user = mount->user;
    t->watched = rc == MCP_OK;
    if (p->watch_as)
        t->unwatch.identity = p->unwatch_as;
    else if (p->watch_for)
        t->unwatch.principal = p->unwatch_for;
    else
        t->unwatch.alike = p->unwatch;
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
    char canonical[MCP_URI_MAX_LENGTH + 1];
    const mcp__mount *mount;
    int rc = resolve(server, uri, canonical, sizeof(canonical), &mount);
    if (rc != MCP_OK)
        return rc;
    char by = watched_by(mount);
    if (by == NOBODY)
        return common_topic(server, canonical, mount, ret);
    mcp__buf key;
    mcp__buf_init(&key, &server->allocator, SIZE_MAX);
    if (by == IDENTITY)
        mcp__topic_put_key_as(&key, canonical, identity);
    else
        mcp__topic_put_key(&key, canonical, mcp_identity_principal(identity));
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
    char mark = mark_of(t) == ANONYMOUS ? NAMED : mark_of(t);
    mcp__topic before = *t;
    t->watched = false;
    if (!registered && m && mark == watched_by(m) && !t->lent)
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
    char canonical[MCP_URI_MAX_LENGTH + 1];
    const mcp__mount *mount;
    mcp__topic *t;
    int rc = resolve(server, key, canonical, sizeof(canonical), &mount);
    if (rc != MCP_OK)
        return rc;
    if (!mount || watched_by(mount) != NOBODY || !mcp_str_eq(key, mcp_str_from(canonical)))
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
