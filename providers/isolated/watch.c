/* watch.c: reports the changes that the process finds. One subscription covers all watched URIs and
 * the lists. While anything is watched, the process keeps running. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "provider.h"

enum { SOON_MS = 1, LOOK_MS = 1000 };

static void arm(isolated *r, uint64_t ms);

bool isolated_watches(const isolated *r)
{
    return r->n_uris || r->listening;
}

static const mcp_item changed_item[] = {[MCP_CHANGE_RESOURCES] = MCP_ITEM_RESOURCE,
                                        [MCP_CHANGE_PROMPTS] = MCP_ITEM_PROMPT,
                                        [MCP_CHANGE_TOOLS] = MCP_ITEM_TOOL};

/* Returns whether `uri` is below the watched URI. */
static bool is_below(const char *watched, mcp_str uri)
{
    size_t len = strlen(watched);
    return len && uri.len > len && memcmp(uri.ptr, watched, len) == 0 &&
           (watched[len - 1] == '/' || uri.ptr[len] == '/');
}

/* Normally the process reports URIs that are watched. If it reports another one, the watched
 * resources that contain it count as changed. */
static void report_updated(const isolated *r, mcp_str uri)
{
    for (size_t i = 0; i < r->n_uris; i++) {
        if (mcp_str_eq(uri, mcp_str_from(r->uris[i]))) {
            mcp_server_resource_updated(r->server, r->uris[i]);
            return;
        }
    }
    for (size_t i = 0; i < r->n_uris; i++) {
        if (is_below(r->uris[i], uri))
            mcp_server_resource_updated(r->server, r->uris[i]);
    }
}

static void on_changed(mcp_client *client, mcp_subscription *subscription, mcp_change change,
                       mcp_str uri, void *user)
{
    const isolated *r = user;
    (void)client, (void)subscription;
    if (change != MCP_CHANGE_RESOURCE) {
        mcp_server_list_changed(r->server, changed_item[change]);
        return;
    }
    report_updated(r, uri);
}

/* ---- changes before a process watches -------------------------------------------------------- */

static void mix(uint64_t *state, const void *data, size_t len)
{
    const unsigned char *p = data;
    for (size_t i = 0; i < len; i++)
        *state = (*state ^ p[i]) * 0x100000001b3; /* FNV-1a */
}

/* Adds the file at a path. Returns false if the file was written just now, because the next write
 * might then leave its modification time the same. */
static bool mix_file(uint64_t *state, const char *path)
{
    enum { JUST_NOW_MS = 20 };
    struct timespec now;
    struct stat st;
    if (stat(path, &st) != 0)
        memset(&st, 0, sizeof(st));
    mix(state, &st.st_ino, sizeof(st.st_ino));
    mix(state, &st.st_size, sizeof(st.st_size));
    mix(state, &st.st_mtim.tv_sec, sizeof(st.st_mtim.tv_sec));
    mix(state, &st.st_mtim.tv_nsec, sizeof(st.st_mtim.tv_nsec));
    clock_gettime(CLOCK_REALTIME, &now);
    return (now.tv_sec - st.st_mtim.tv_sec) * 1000 + (now.tv_nsec - st.st_mtim.tv_nsec) / 1000000 >=
           JUST_NOW_MS;
}

/* If the path is a folder, examines the files that change with the references of a git repository.
 * Each new reference also changes the modification time of its folder. */
static bool mix_files(uint64_t *state, const char *base)
{
    static const char *const places[] = {"",           "/HEAD", "/packed-refs", "/index",
                                         "/logs/HEAD", "/refs", "/refs/heads",  "/refs/tags"};
    static const char *const tops[] = {"", "/.git"};
    char path[ISOLATED_PATH_MAX];
    bool known = true;
    for (size_t k = 0; known && k < 2 * sizeof(places) / sizeof(*places); k++) {
        int n = snprintf(path, sizeof(path), "%s%s%s", base, tops[k % 2], places[k / 2]);
        known = n > 0 && (size_t)n < sizeof(path) && mix_file(state, path);
    }
    return known;
}

uint64_t isolated_files_state(const isolated *r)
{
    uint64_t state = 0xcbf29ce484222325;
    bool known = r->n_paths > 0;
    char path[ISOLATED_PATH_MAX];
    for (size_t i = 0; known && i < r->n_paths + r->n_beside; i++)
        known = !isolated_path(r, i, path) || mix_files(&state, path);
    return known ? state : 0;
}

static bool has_fresh(const isolated *r)
{
    bool any = r->fresh_lists;
    for (size_t i = 0; !any && i < r->n_uris; i++)
        any = r->fresh[i];
    return any;
}

/* A peer relies on a subscription as soon as the request is answered, but the process may start
 * later. Resources that may have changed in between are reported as changed. */
static void report_fresh(isolated *r, bool all)
{
    bool changed = all || (has_fresh(r) && (!r->state || r->state != isolated_files_state(r)));
    if (changed && r->listening && (all || r->fresh_lists))
        mcp_server_list_changed(r->server, MCP_ITEM_RESOURCE);
    for (size_t i = 0; i < r->n_uris; i++) {
        if (changed && (all || r->fresh[i]))
            mcp_server_resource_updated(r->server, r->uris[i]);
        r->fresh[i] = false;
    }
    r->fresh_lists = false;
}

/* Between the end of a process and the start of the next one, changes may be missed. So everything
 * is then reported as changed. */
static void on_state(mcp_client *client, mcp_subscription *subscription,
                     mcp_subscription_state state, const mcp_error *error, void *user)
{
    isolated *r = user;
    bool all = r->announces;
    (void)client, (void)subscription, (void)error;
    if (state != MCP_SUBSCRIPTION_ACTIVE || r->soon)
        return;
    r->announces = false;
    report_fresh(r, all);
}

/* ---- keeping the process running ---------------------------------------------------------- */

static void on_ready(int rc, const mcp_error *error, void *user)
{
    isolated *r = user;
    (void)error;
    if (rc != MCP_OK)
        arm(r, LOOK_MS);
}

void isolated_watch_keep(isolated *r)
{
    mcp_service_state state = {.size = sizeof(state)};
    mcp_error error;
    if (!r->link.service)
        return;
    mcp_service_get_state(r->link.service, &state);
    if (!isolated_watches(r) || !state.up)
        mcp_service_done(r->link.service, &r->watch);
    /* on_time() tries again. What is announced then includes the changes until then. */
    if (!isolated_watches(r) || r->watch.state || !isolated_may_watch(r))
        return;
    r->watch.ready = on_ready;
    r->watch.user = r;
    mcp_service_begin(r->link.service, &r->watch, &error);
}

static void subscribe(isolated *r)
{
    const char *const *uris = (const char *const *)r->uris;
    if (r->subscription)
        mcp_subscription_set_uris(r->subscription, uris, r->n_uris);
    else
        mcp_client_subscribe(r->link.client,
                             MCP_OPTIONS(mcp_subscription_options, .uris = uris,
                                         .n_uris = r->n_uris, .resources = true, .prompts = true,
                                         .tools = true, .changed = on_changed, .state = on_state,
                                         .user = r),
                             &r->subscription);
}

static void on_time(void *arg)
{
    isolated *r = arg;
    bool soon = r->soon;
    r->soon = false;
    if (soon && isolated_watches(r))
        subscribe(r);
    if (!isolated_watches(r)) {
        mcp_subscription_end(r->subscription);
        r->subscription = NULL;
    }
    isolated_link_refresh(r);
    isolated_watch_keep(r);
    arm(r, LOOK_MS);
}

static void stop(isolated *r)
{
    const mcp_host *host = mcp_server_host(r->server);
    if (r->timer)
        host->timer_stop(r->timer, host->user);
    r->timer = NULL;
}

static void arm(isolated *r, uint64_t ms)
{
    const mcp_host *host = mcp_server_host(r->server);
    stop(r);
    if (!r->closing && (r->soon || isolated_watches(r)))
        r->timer = host->timer_start(r->soon ? SOON_MS : ms, on_time, r, host->user);
}

/* Combines several changes into one update of the subscription. */
static void change(isolated *r)
{
    r->soon = true;
    arm(r, SOON_MS);
}

/* ---- callbacks of the hub ------------------------------------------------------------- */

int isolated_watch(const char *canonical, void *user)
{
    isolated *r = user;
    if (r->n_uris == r->cap_uris) {
        size_t cap = r->cap_uris ? r->cap_uris * 2 : 8;
        char **grown = r->alloc.resize(r->uris, cap * sizeof(*grown), r->alloc.user);
        if (!grown)
            return MCP_ENOMEM;
        r->uris = grown;
        bool *fresh = r->alloc.resize(r->fresh, cap * sizeof(*fresh), r->alloc.user);
        if (!fresh)
            return MCP_ENOMEM;
        r->fresh = fresh;
        r->cap_uris = cap;
    }
    r->uris[r->n_uris] = common_copy(&r->alloc, canonical, strlen(canonical));
    if (!r->uris[r->n_uris])
        return MCP_ENOMEM;
    if (!has_fresh(r))
        r->state = isolated_files_state(r);
    r->fresh[r->n_uris++] = true;
    change(r);
    return MCP_OK;
}

void isolated_unwatch(const char *canonical, void *user)
{
    isolated *r = user;
    for (size_t i = 0; i < r->n_uris; i++) {
        if (strcmp(r->uris[i], canonical) != 0)
            continue;
        common_release(&r->alloc, r->uris[i]);
        r->uris[i] = r->uris[--r->n_uris];
        r->fresh[i] = r->fresh[r->n_uris];
        change(r);
        return;
    }
}

int isolated_watch_list(void *user)
{
    isolated *r = user;
    if (!has_fresh(r))
        r->state = isolated_files_state(r);
    r->listening = r->fresh_lists = true;
    change(r);
    return MCP_OK;
}

void isolated_unwatch_list(void *user)
{
    isolated *r = user;
    r->listening = r->fresh_lists = false;
    change(r);
}

void isolated_watch_free(isolated *r)
{
    stop(r);
    mcp_service_done(r->link.service, &r->watch);
    mcp_subscription_end(r->subscription);
    r->subscription = NULL;
    while (r->n_uris)
        common_release(&r->alloc, r->uris[--r->n_uris]);
    common_release(&r->alloc, r->uris);
    common_release(&r->alloc, r->fresh);
    r->uris = NULL;
    r->fresh = NULL;
}
