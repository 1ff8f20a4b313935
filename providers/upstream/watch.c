/* watch.c: reports changes at the other server. Each session has one subscription, to the lists and
 * to the URIs that its principal watches. */
#include <stdio.h>
#include <string.h>

#include "session.h"

enum { MOST_PAST = 1024 }; /* the most entries in upstream.past */

static const mcp_item changed_item[] = {[MCP_CHANGE_RESOURCES] = MCP_ITEM_RESOURCE,
                                        [MCP_CHANGE_PROMPTS] = MCP_ITEM_PROMPT,
                                        [MCP_CHANGE_TOOLS] = MCP_ITEM_TOOL};

/* Announces a change of the watched URI with this number. */
static void tell(const upstream_session *s, size_t i)
{
    const upstream *up = s->up;
    common_buffer b;
    common_buffer_init(&b, &up->alloc);
    if (!common_put(&b, up->prefix) || !common_put(&b, s->uris[i]) ||
        common_buffer_append(&b, "", 1) != MCP_OK)
        /* no memory */;
    else if (up->options.shared)
        mcp_server_resource_updated(up->server, b.ptr);
    else
        mcp_server_updated_as(up->server, b.ptr, s->watchers[i]);
    common_buffer_free(&b);
}

/* Returns whether `uri` is the watched URI or is below it. */
static bool concerns(const char *watched, mcp_str uri)
{
    size_t len = strlen(watched);
    if (uri.len < len || memcmp(uri.ptr, watched, len) != 0)
        return false;
    return uri.len == len || (len && watched[len - 1] == '/') || uri.ptr[len] == '/';
}

static void on_changed(mcp_client *client, mcp_subscription *subscription, mcp_change change,
                       mcp_str uri, void *user)
{
    upstream_session *s = user;
    (void)client, (void)subscription;
    if (change == MCP_CHANGE_TOOLS)
        s->knows_tools = false;
    if (change != MCP_CHANGE_RESOURCE) {
        upstream_list_changed(s, changed_item[change]);
        return;
    }
    for (size_t i = 0; i < s->n_uris; i++) {
        if (concerns(s->uris[i], uri))
            tell(s, i);
    }
}

void upstream_watch_announce(upstream_session *s)
{
    s->knows_tools = false;
    for (size_t i = 0; s->up->listening && i < 3; i++)
        upstream_list_changed(s, changed_item[MCP_CHANGE_RESOURCES + i]);
    for (size_t i = 0; i < s->n_uris; i++)
        tell(s, i);
}

/* After a reconnection, announces that everything may have changed, because changes during the
 * interruption were missed. */
static void on_state(mcp_client *client, mcp_subscription *subscription,
                     mcp_subscription_state state, const mcp_error *error, void *user)
{
    upstream_session *s = user;
    (void)client, (void)subscription, (void)error;
    if (state == MCP_SUBSCRIPTION_LOST)
        s->missed = true;
    if (state != MCP_SUBSCRIPTION_ACTIVE || !s->missed)
        return;
    s->missed = false;
    upstream_watch_announce(s);
}

static const char *const *uris_of(const upstream_session *s)
{
    return (const char *const *)s->uris;
}

void upstream_watch_begin(upstream_session *s)
{
    if (s->subscription || (!s->up->listening && !s->n_uris))
        return;
    mcp_client_subscribe(s->client,
                         MCP_OPTIONS(mcp_subscription_options, .uris = uris_of(s),
                                     .n_uris = s->n_uris, .resources = true, .prompts = true,
                                     .tools = true, .changed = on_changed, .state = on_state,
                                     .user = s),
                         &s->subscription);
}

void upstream_watch_free(upstream_session *s)
{
    mcp_service_done(s->service, &s->watching);
    mcp_subscription_end(s->subscription);
    s->subscription = NULL;
}

void upstream_watch_clear(upstream_session *s)
{
    for (size_t i = 0; i < s->n_uris; i++)
        common_release(&s->up->alloc, s->uris[i]);
    if (s->n_uris)
        mcp_subscription_set_uris(s->subscription, NULL, 0);
    s->n_uris = 0;
}

void upstream_watch_adopt(upstream_session *s)
{
    for (upstream_session *from = s->next; from; from = from->next) {
        if (!from->failed || !from->n_uris || !upstream_session_is_of(from, s->principal))
            continue;
        s->uris = from->uris;
        s->watchers = from->watchers;
        s->n_uris = from->n_uris;
        s->cap_uris = from->cap_uris;
        s->missed = true;
        from->uris = NULL;
        from->watchers = NULL;
        from->n_uris = from->cap_uris = 0;
        return; /* there is only one such session, because each new session adopts the URIs */
    }
}

/* ---- principals without a session ------------------------------------------------------------ */

static bool past_is_of(const upstream_past *p, const char *principal)
{
    return p->named == (principal != NULL) && (!principal || strcmp(p->principal, principal) == 0);
}

void upstream_past_add(const upstream_session *s)
{
    upstream *up = s->up;
    size_t len = s->principal ? strlen(s->principal) : 0;
    if (!up->listening || !s->subscription || up->forgot)
        return;
    for (const upstream_past *p = up->past; p; p = p->next) {
        if (past_is_of(p, s->principal))
            return;
    }
    upstream_past *p =
        up->n_past < MOST_PAST ? common_alloc(&up->alloc, sizeof(*p) + len + 1) : NULL;
    if (!p) {
        up->forgot = true;
        return;
    }
    *p = (upstream_past){.next = up->past, .named = s->principal != NULL};
    memcpy(p->principal, s->principal ? s->principal : "", len + 1);
    up->past = p;
    up->n_past++;
}

bool upstream_past_take(upstream *up, const char *principal)
{
    for (upstream_past **at = &up->past; *at; at = &(*at)->next) {
        upstream_past *p = *at;
        if (!past_is_of(p, principal))
            continue;
        *at = p->next;
        up->n_past--;
        common_release(&up->alloc, p);
        return true;
    }
    return up->forgot;
}

void upstream_past_clear(upstream *up)
{
    while (up->past) {
        upstream_past *p = up->past;
        up->past = p->next;
        common_release(&up->alloc, p);
    }
    up->n_past = 0;
    up->forgot = false;
}

/* ---- keeping the process running ------------------------------------------------------------- */

static void on_ready(int rc, const mcp_error *error, void *user)
{
    upstream_session *s = user;
    (void)error;
    s->watches = rc == MCP_OK;
}

void upstream_watch_keep(upstream_session *s)
{
    mcp_service_state state = {.size = sizeof(state)};
    mcp_error error;
    if (!s->service)
        return;
    mcp_service_get_state(s->service, &state);
    if (!s->n_uris || !state.up)
        mcp_service_done(s->service, &s->watching);
    if (!s->n_uris || (state.up && s->watches))
        return;
    s->watching.ready = on_ready;
    s->watching.user = s;
    s->watches = mcp_service_begin(s->service, &s->watching, &error) == MCP_OK;
}

/* ---- callbacks of the server's watches ------------------------------------------------------- */

static const char *there(const upstream *up, const char *canonical)
{
    return canonical + strlen(up->prefix);
}

static int add(upstream_session *s, const char *uri, mcp_identity *identity)
{
    const mcp_allocator *alloc = &s->up->alloc;
    if (s->n_uris == s->cap_uris) {
        size_t cap = s->cap_uris ? s->cap_uris * 2 : 8;
        char **uris = alloc->resize(s->uris, cap * sizeof(*uris), alloc->user);
        s->uris = uris ? uris : s->uris;
        mcp_identity **watchers = alloc->resize(s->watchers, cap * sizeof(*watchers), alloc->user);
        s->watchers = watchers ? watchers : s->watchers;
        if (!uris || !watchers)
            return MCP_ENOMEM;
        s->cap_uris = cap;
    }
    s->uris[s->n_uris] = common_copy(alloc, uri, strlen(uri));
    if (!s->uris[s->n_uris])
        return MCP_ENOMEM;
    s->watchers[s->n_uris++] = identity;
    return MCP_OK;
}

int upstream_watch(const char *canonical, mcp_identity *identity, void *user)
{
    upstream *up = user;
    upstream_session *s = NULL;
    mcp_error error = {0};
    if (!*there(up, canonical) ||
        !upstream_offers(up, MCP_ITEM_RESOURCE, mcp_str_from(there(up, canonical))))
        return MCP_ENOTFOUND;
    const upstream_wanted wanted = {.principal = mcp_identity_principal(identity)};
    int rc = upstream_session_get(up, &wanted, &s, &error);
    if (rc == MCP_OK)
        rc = add(s, there(up, canonical), identity);
    if (rc != MCP_OK)
        return rc;
    upstream_watch_begin(s);
    if (s->subscription)
        mcp_subscription_set_uris(s->subscription, uris_of(s), s->n_uris);
    upstream_watch_keep(s);
    return MCP_OK;
}

void upstream_unwatch(const char *canonical, mcp_identity *identity, void *user)
{
    upstream *up = user;
    for (upstream_session *s = up->sessions; s; s = s->next) {
        for (size_t i = 0; i < s->n_uris; i++) {
            if (s->watchers[i] != identity || strcmp(s->uris[i], there(up, canonical)) != 0)
                continue;
            common_release(&up->alloc, s->uris[i]);
            s->uris[i] = s->uris[--s->n_uris];
            s->watchers[i] = s->watchers[s->n_uris];
            mcp_subscription_set_uris(s->subscription, uris_of(s), s->n_uris);
            return;
        }
    }
}

int upstream_watch_shared(const char *canonical, void *user)
{
    return upstream_watch(canonical, NULL, user);
}

void upstream_unwatch_shared(const char *canonical, void *user)
{
    upstream_unwatch(canonical, NULL, user);
}

int upstream_watch_list(void *user)
{
    upstream *up = user;
    up->listening = true;
    for (upstream_session *s = up->sessions; s; s = s->next)
        upstream_watch_begin(s);
    return MCP_OK;
}

void upstream_unwatch_list(void *user)
{
    upstream *up = user;
    up->listening = false;
    upstream_past_clear(up);
}
