/* build.c: replaces everything that the server offers, while requests may be in flight.
 *
 * The registry and the mounts are saved, and `build` fills an empty registry and an empty list of
 * mounts. Then either the old or the new contents are discarded. The last request of an old
 * provider usually ends within a call of this provider. The provider is therefore released from a
 * timer, shortly afterwards.
 */
#include "server/core/build.h"
#include "server/core/request.h"

/* Everything that a build replaces. */
typedef struct snapshot {
    mcp__registry registry[MCP__KINDS];
    mcp__entry **by_specificity;
    mcp__mount **mounts;
    size_t n_mounts;
    mcp__build *build;
} snapshot;

/* ---- deferred release ----------------------------------------------------------------------- */

static void run_release_hooks(mcp_server *server, mcp__release_hook **release_hooks)
{
    mcp__release_hook *c;
    while ((c = *release_hooks) != NULL) {
        *release_hooks = c->next;
        c->release(c->user);
        mcp__release(&server->allocator, c);
    }
}

int mcp_server_on_release(mcp_server *server, void (*release)(void *user), void *user)
{
    if (!release)
        return MCP_EINVAL;
    mcp__release_hook *c = mcp__alloc(&server->allocator, sizeof(*c));
    if (!c)
        return MCP_ENOMEM;
    mcp__release_hook **first =
        server->building ? &server->build->release_hooks : &server->release_hooks;
    *c = (mcp__release_hook){.next = *first, .release = release, .user = user};
    *first = c;
    return MCP_OK;
}

static mcp__build *build_new(mcp_server *server)
{
    mcp__build *b = mcp__zalloc(&server->allocator, sizeof(*b));
    if (!b)
        return NULL;
    b->server = server;
    b->refs = 1;
    mcp__list_init(&b->link);
    return b;
}

static void build_free(mcp__build *b)
{
    mcp_server *server = b->server;
    b->retired = false; /* requests of a server that is being freed must not start a timer */
    if (b->timer)
        server->host.timer_stop(b->timer, server->host.user);
    for (size_t i = 0; i < b->n_mounts; i++)
        mcp__mount_free(server, b->mounts[i]);
    mcp__release(&server->allocator, b->mounts);
    run_release_hooks(server, &b->release_hooks);
    mcp__list_remove(&b->link);
    mcp__release(&server->allocator, b);
}

static void on_timer(void *arg)
{
    build_free(arg);
}

/* Without timers, the release waits until the server is freed. */
void mcp__build_unused(mcp__build *b)
{
    const mcp_host *host = mcp_server_host(b->server);
    if (b->refs == 0 && b->retired && host && host->timer_start && host->timer_stop)
        b->timer = host->timer_start(0, on_timer, b, host->user);
}

void mcp__build_leave_host(mcp_server *server)
{
    for (mcp__link *l = server->retired.next; l != &server->retired; l = l->next) {
        mcp__build *b = mcp__container(l, mcp__build, link);
        if (b->timer)
            server->host.timer_stop(b->timer, server->host.user);
        b->timer = NULL;
    }
}

void mcp__build_enter_host(mcp_server *server)
{
    for (mcp__link *l = server->retired.next; l != &server->retired; l = l->next)
        mcp__build_unused(mcp__container(l, mcp__build, link));
}

void mcp__build_free_all(mcp_server *server)
{
    while (!mcp__list_empty(&server->retired))
        build_free(mcp__container(server->retired.next, mcp__build, link));
    if (server->build)
        build_free(server->build);
    server->build = NULL;
    run_release_hooks(server, &server->release_hooks);
}

/* ---- saving and restoring -------------------------------------------------------------------- */

static void save(mcp_server *server, snapshot *o)
{
    memcpy(o->registry, server->registry, sizeof(o->registry));
    o->by_specificity = server->by_specificity;
    o->mounts = server->mounts;
    o->n_mounts = server->n_mounts;
    o->build = server->build;
    for (size_t k = 0; k < MCP__KINDS; k++) {
        mcp__registry *r = &server->registry[k];
        uint64_t seed = (uintptr_t)server;
        *r = (mcp__registry){0};
        mcp__map_init(&r->by_key, &server->allocator, seed, k);
    }
    server->by_specificity = NULL;
    server->mounts = NULL;
    server->n_mounts = 0;
}

static void load_saved(mcp_server *server, const snapshot *o)
{
    memcpy(server->registry, o->registry, sizeof(o->registry));
    server->by_specificity = o->by_specificity;
    server->mounts = o->mounts;
    server->n_mounts = o->n_mounts;
    server->build = o->build;
}

/* Adds the entries and mounts that were registered outside of builds to the new registry. */
static int keep(mcp_server *server, const snapshot *o)
{
    int rc = MCP_OK;
    for (size_t k = 0; k < MCP__KINDS; k++) {
        for (size_t i = 0; rc == MCP_OK && i < o->registry[k].count; i++)
            if (!o->registry[k].items[i]->built)
                rc = mcp__registry_keep(server, o->registry[k].items[i]);
    }
    for (size_t i = 0; rc == MCP_OK && i < o->n_mounts; i++)
        if (!o->mounts[i]->built)
            rc = mcp__mount_keep(server, o->mounts[i]);
    return rc;
}

/* Discards a snapshot. The mounts that a build made are freed together with the build `last`, or at
 * once if `last` is NULL. */
static void discard(mcp_server *server, snapshot *o, mcp__build *last)
{
    size_t n = 0;
    for (size_t i = 0; i < o->n_mounts; i++) {
        if (o->mounts[i]->built && last)
            o->mounts[n++] = o->mounts[i];
        else if (o->mounts[i]->built)
            mcp__mount_free(server, o->mounts[i]);
    }
    if (last) {
        last->mounts = o->mounts;
        last->n_mounts = n;
    } else {
        mcp__release(&server->allocator, o->mounts);
    }
    for (size_t k = 0; k < MCP__KINDS; k++)
        mcp__registry_release(&server->allocator, &o->registry[k]);
    mcp__release(&server->allocator, o->by_specificity);
}

/* ---- the rebuild ----------------------------------------------------------------------------- */

static void watch_lists(mcp_server *server, const snapshot *before)
{
    for (size_t i = 0; i < server->n_mounts; i++)
        if (server->mounts[i]->built && mcp__mount_is_watched(server, server->mounts[i]))
            mcp__mount_watch_list(server, server->mounts[i]);
    for (size_t i = 0; i < before->n_mounts; i++) {
        const mcp__mount *m = before->mounts[i];
        if (m->built && mcp__mount_is_watched(server, m))
            mcp__mount_unwatch_list(server, m);
    }
}

/* Announces changes to all lists, also of empty ones, because their last entry may have been
 * removed. */
static void announce(mcp_server *server)
{
    for (int k = 0; k < MCP__KINDS; k++)
        mcp__hub_list_changed(server, (mcp__kind)k, NULL);
}

static void replace(mcp_server *server, snapshot *before)
{
    mcp__build *old = before->build;
    watch_lists(server, before);
    mcp__hub_rewatch(server);
    discard(server, before, old);
    if (old) {
        old->retired = true;
        mcp__list_append(&server->retired, &old->link);
        mcp__build_unref(old);
    }
    announce(server);
}

static void restore(mcp_server *server, const snapshot *before)
{
    snapshot next;
    mcp__build *b = server->build;
    save(server, &next);
    load_saved(server, before);
    discard(server, &next, NULL);
    build_free(b);
}

int mcp_server_rebuild(mcp_server *server,
                       int (*build)(mcp_server *server, void *user, mcp_error *error), void *user,
                       mcp_error *error)
{
    mcp__no_error(error);
    snapshot before;
    if (!server || !build)
        return mcp__fail(error, MCP_EINVAL, 0, "server and build are required");
    if (server->building)
        return mcp__fail(error, MCP_ESTATE, 0, "a build is in progress");
    mcp__build *next = build_new(server);
    if (!next)
        return mcp__fail(error, MCP_ENOMEM, 0, "out of memory");
    save(server, &before);
    server->build = next;
    int rc = keep(server, &before);
    if (rc != MCP_OK)
        mcp__fail(error, rc, 0, "out of memory");
    server->building = true;
    if (rc == MCP_OK)
        rc = build(server, user, error);
    server->building = false;
    if (rc < 0)
        restore(server, &before);
    else
        replace(server, &before);
    return rc;
}

/* ---- notifications of changes ---------------------------------------------------------------- */

void mcp_server_set_resource_hook(mcp_server *server,
                                  void (*change)(mcp_resource *resource, void *user), void *user)
{
    server->resource_hook = change;
    server->resource_hook_user = user;
}
