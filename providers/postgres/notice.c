/* notice.c: who is subscribed with which role, and when digests are selected again. See notice.h. */
#define _GNU_SOURCE
#include "provider.h"

#include <stdio.h>

enum { ROUND_MS = 250 }; /* from one round of statements to the next */

/* ---- groups, views, viewers ------------------------------------------------------------------ */

static void *give(size_t size, void *user)
{
    return common_alloc(user, size);
}

static bool is_same(const postgres_as *a, const postgres_as *b)
{
    return a->size == b->size && memcmp(a->text, b->text, a->size) == 0;
}

/* Returns the group for `as`, which it takes over, or NULL if there is no memory or there are too
 * many groups. */
static postgres_group *group_of(postgres *s, postgres_as *as, postgres_role *role)
{
    postgres_notices *n = &s->notices;
    postgres_group *g = n->groups;
    while (g && !is_same(g->as, as))
        g = g->next;
    if (g || n->n_group == POSTGRES_GROUPS) {
        common_release(&s->base.alloc, as);
        return g;
    }
    g = common_alloc(&s->base.alloc, sizeof(*g));
    if (!g) {
        common_release(&s->base.alloc, as);
        return NULL;
    }
    *g = (postgres_group){.next = n->groups, .as = as, .role = role};
    n->groups = g;
    n->n_group++;
    return g;
}

static void drop_group(postgres *s, postgres_group *g)
{
    postgres_group **at = &s->notices.groups;
    if (g->n_view)
        return;
    while (*at != g)
        at = &(*at)->next;
    *at = g->next;
    s->notices.n_group--;
    common_release(&s->base.alloc, g->as);
    common_release(&s->base.alloc, g);
}

void postgres_group_release(postgres *s, postgres_group *g)
{
    g->n_view--;
    drop_group(s, g);
}

static bool is_of_catalog(postgres_kind kind)
{
    return kind != POSTGRES_KIND_ROWS && kind != POSTGRES_KIND_ROW && kind != POSTGRES_KIND_CELL &&
           kind != POSTGRES_KIND_QUERY;
}

/* Views with a URI are found through their viewers, so that this search is needed only for the first
 * subscription of an identity. */
static postgres_view *find_view(const postgres_notices *n, const postgres_group *g, const char *uri)
{
    postgres_view *v = n->views;
    while (v && (v->group != g || strcmp(v->uri, uri) != 0))
        v = v->next;
    return v;
}

static postgres_view *view_of(postgres *s, postgres_group *g, const char *uri, bool of_catalog)
{
    postgres_notices *n = &s->notices;
    postgres_view *v = find_view(n, g, uri);
    if (v || n->n_view == POSTGRES_VIEWS)
        return v;
    v = common_alloc(&s->base.alloc, sizeof(*v));
    if (!v)
        return NULL;
    *v = (postgres_view){.next = n->views, .group = g, .of_catalog = of_catalog};
    v->uri = common_copy(&s->base.alloc, uri, strlen(uri));
    if (!v->uri) {
        common_release(&s->base.alloc, v);
        return NULL;
    }
    n->views = v;
    n->n_view++;
    g->n_view++;
    return v;
}

static void unqueue(postgres_notices *n, postgres_view *v)
{
    postgres_view *before = NULL;
    if (!v->queued)
        return;
    for (postgres_view *q = n->first; q != v; q = q->next_queued)
        before = q;
    *(before ? &before->next_queued : &n->first) = v->next_queued;
    if (n->last == v)
        n->last = before;
    v->queued = false;
    n->n_queued--;
    n->n_round = n->n_round < n->n_queued ? n->n_round : n->n_queued;
}

static void drop_view(postgres *s, postgres_view *v)
{
    postgres_notices *n = &s->notices;
    postgres_view **at = &n->views;
    if (v->viewers)
        return;
    while (*at != v)
        at = &(*at)->next;
    *at = v->next;
    unqueue(n, v);
    if (n->check.view == v)
        n->check.view = NULL;
    n->n_view--;
    v->group->n_view--;
    common_release(&s->base.alloc, v->uri);
    common_release(&s->base.alloc, v);
}

static postgres_viewer **bucket_of(postgres_notices *n, const char *uri,
                                   const mcp_identity *identity)
{
    uint64_t hash = (uintptr_t)identity >> 4;
    for (; *uri; uri++)
        hash = (hash ^ (unsigned char)*uri) * 1099511628211u;
    return &n->bucket[(hash >> 20) % POSTGRES_BUCKETS];
}

static postgres_viewer *find_viewer(postgres_notices *n, const char *uri,
                                    const mcp_identity *identity)
{
    postgres_viewer *w = *bucket_of(n, uri, identity);
    while (w && (w->identity != identity || strcmp(w->view->uri, uri) != 0))
        w = w->next_bucket;
    return w;
}

static int add_viewer(postgres *s, postgres_view *v, mcp_identity *identity)
{
    postgres_viewer **bucket = bucket_of(&s->notices, v->uri, identity);
    postgres_viewer *w = common_alloc(&s->base.alloc, sizeof(*w));
    if (!w)
        return MCP_ENOMEM;
    *w = (postgres_viewer){.next = v->viewers,
                           .next_bucket = *bucket,
                           .view = v,
                           .identity = mcp_identity_ref(identity),
                           .n = 1};
    v->viewers = *bucket = w;
    s->notices.n_viewer++;
    return MCP_OK;
}

static void drop_viewer(postgres *s, postgres_viewer *w)
{
    postgres_view *v = w->view;
    postgres_viewer **at = &v->viewers, **in = bucket_of(&s->notices, v->uri, w->identity);
    while (*at != w)
        at = &(*at)->next;
    *at = w->next;
    while (*in != w)
        in = &(*in)->next_bucket;
    *in = w->next_bucket;
    s->notices.n_viewer--;
    mcp_identity_unref(w->identity);
    common_release(&s->base.alloc, w);
    postgres_group *g = v->group;
    drop_view(s, v);
    drop_group(s, g);
}

/* ---- rounds of statements -------------------------------------------------------------------- */

static int64_t now(const postgres *s)
{
    return s->host.now(s->host.user);
}

static void run_queue(postgres *s);

static void on_timer(void *user)
{
    postgres *s = user;
    postgres_notices *n = &s->notices;
    s->host.timer_stop(n->timer, s->host.user);
    n->timer = NULL;
    n->n_round = n->n_queued;
    n->not_before = now(s) + ROUND_MS;
    run_queue(s);
}

/* Changes that come in quick succession cost one round. */
static void wake(postgres *s)
{
    postgres_notices *n = &s->notices;
    int64_t wait = n->not_before - now(s);
    if (n->first && !n->check.running && !n->timer)
        n->timer = s->host.timer_start(wait > 0 ? (uint64_t)wait : 0, on_timer, s, s->host.user);
}

static void queue(postgres *s, postgres_view *v)
{
    postgres_notices *n = &s->notices;
    if (!v->queued) {
        v->queued = true;
        v->next_queued = NULL;
        *(n->last ? &n->last->next_queued : &n->first) = v;
        n->last = v;
        n->n_queued++;
    }
    wake(s);
}

/* One statement at a time, so that notices take at most one connection. */
static void run_queue(postgres *s)
{
    postgres_notices *n = &s->notices;
    postgres_view *v = n->first;
    if (!v || !n->n_round) {
        wake(s);
        return;
    }
    n->n_round--;
    unqueue(n, v);
    v->group->n_view++;
    postgres_check_view(s, v);
}

/* ---- telling --------------------------------------------------------------------------------- */

static void tell(const postgres *s, const postgres_view *v)
{
    for (const postgres_viewer *w = v->viewers; w; w = w->next) {
        if (*v->uri)
            mcp_server_updated_as(s->base.server, v->uri, w->identity);
        else
            mcp_server_list_changed_as(s->base.server, MCP_ITEM_RESOURCE, w->identity);
    }
}

/* A view whose earlier state is not known is announced only if the role sees something now:
 * otherwise the notice could say that something exists. */
static void take_digest(const postgres *s, postgres_view *v, const char *digest)
{
    bool nothing = strcmp(digest, POSTGRES_NOTHING) == 0;
    bool differs = v->known ? strcmp(v->digest, digest) != 0 : v->changed && !nothing;
    v->known = true;
    v->changed = false;
    snprintf(v->digest, sizeof(v->digest), "%s", digest);
    if (differs)
        tell(s, v);
}

void postgres_view_checked(postgres *s, postgres_view *v, const char *digest)
{
    postgres_notices *n = &s->notices;
    if (v && digest && v->of_catalog) {
        for (postgres_view *other = n->views; other; other = other->next) {
            if (other->group != v->group || !other->of_catalog)
                continue;
            unqueue(n, other);
            take_digest(s, other, digest);
        }
    } else if (v && digest) {
        take_digest(s, v, digest);
    }
    run_queue(s);
}

int postgres_view_target(const postgres *s, const char *uri, char *room, postgres_target *t)
{
    return postgres_uri_parse(mcp_str_from(*uri ? uri + strlen(s->base.prefix) : ""), room, t);
}

void postgres_notices_changed(postgres *s,
                              bool (*concerned)(const postgres_target *t, const void *change),
                              const void *change)
{
    char room[MCP_URI_MAX_LENGTH + POSTGRES_URI_ROOM];
    postgres_target t;
    for (postgres_view *v = s->notices.views; v; v = v->next) {
        if (postgres_view_target(s, v->uri, room, &t) != MCP_OK || !concerned(&t, change))
            continue;
        v->changed = true;
        queue(s, v);
    }
}

/* ---- subscribers ----------------------------------------------------------------------------- */

static int add(postgres *s, const char *uri, mcp_identity *identity, bool of_catalog)
{
    postgres_as *as;
    postgres_role *role;
    int rc =
        postgres_caller_of(&s->callers, &s->base.alloc, identity, give, &s->base.alloc, &as, &role);
    if (rc != MCP_OK)
        return rc;
    const postgres_notices *n = &s->notices;
    postgres_group *g = group_of(s, as, role);
    if (!g)
        return n->n_group == POSTGRES_GROUPS ? MCP_EUNSUPPORTED : MCP_ENOMEM;
    postgres_view *v = view_of(s, g, uri, of_catalog);
    rc = v                             ? add_viewer(s, v, identity)
         : n->n_view == POSTGRES_VIEWS ? MCP_EUNSUPPORTED
                                       : MCP_ENOMEM;
    if (rc == MCP_OK && !v->known)
        queue(s, v);
    if (rc != MCP_OK && v)
        drop_view(s, v);
    if (rc != MCP_OK)
        drop_group(s, g);
    return rc;
}

/* The source looks for changes as long as there are viewers. */
static int watch(postgres *s, const char *uri, mcp_identity *identity, bool of_catalog)
{
    postgres_viewer *w = find_viewer(&s->notices, uri, identity);
    if (w) {
        w->n++;
        return MCP_OK;
    }
    int rc = common_source_watch_list(s);
    if (rc == MCP_OK)
        rc = add(s, uri, identity, of_catalog);
    if (!s->notices.n_viewer)
        common_source_unwatch_list(s);
    return rc;
}

static void unwatch(postgres *s, const char *uri, const mcp_identity *identity)
{
    postgres_viewer *w = find_viewer(&s->notices, uri, identity);
    if (!w || --w->n)
        return;
    drop_viewer(s, w);
    if (!s->notices.n_viewer)
        common_source_unwatch_list(s);
}

int postgres_watch_as(const char *canonical, mcp_identity *identity, void *user)
{
    postgres *s = user;
    char room[MCP_URI_MAX_LENGTH + POSTGRES_URI_ROOM];
    postgres_target t;
    int rc = strlen(canonical) < MCP_URI_MAX_LENGTH ? postgres_view_target(s, canonical, room, &t)
                                                    : MCP_ENOTFOUND;
    if (rc != MCP_OK)
        return rc;
    if (t.kind == POSTGRES_KIND_QUERY) {
        const common_query *q = common_queries_find(&s->base.queries, t.name);
        if (!q || q->n_parameter || postgres_beginning_of(q->sql) != POSTGRES_QUERY)
            return MCP_EUNSUPPORTED;
    }
    return watch(s, canonical, identity, is_of_catalog(t.kind));
}

void postgres_unwatch_as(const char *canonical, mcp_identity *identity, void *user)
{
    unwatch(user, canonical, identity);
}

/* A caller without a role has an empty list, which does not change. */
int postgres_watch_list_as(mcp_identity *identity, void *user)
{
    int rc = watch(user, "", identity, true);
    return rc == MCP_ENOTFOUND ? MCP_OK : rc;
}

void postgres_unwatch_list_as(mcp_identity *identity, void *user)
{
    unwatch(user, "", identity);
}

void postgres_notices_stop(postgres *s)
{
    postgres_notices *n = &s->notices;
    if (n->timer)
        s->host.timer_stop(n->timer, s->host.user);
    n->timer = NULL;
    n->n_round = 0;
    postgres_check_stop(s);
}

void postgres_notices_free(postgres *s)
{
    postgres_notices *n = &s->notices;
    postgres_notices_stop(s);
    for (size_t i = 0; i < POSTGRES_BUCKETS; i++)
        while (n->bucket[i])
            drop_viewer(s, n->bucket[i]);
}
