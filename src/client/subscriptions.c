/* subscriptions.c: the subscriptions of the program, and the delivery of changes to them.
 *
 * A subscription outlives every connection. At a tick, listen_request.c or watch.c determines what
 * to request from the server for all subscriptions together.
 */
#include "client/client.h"

/* ---- the sets -------------------------------------------------------------------------------- */

static void free_uris(const mcp_allocator *a, char **uris, size_t n)
{
    for (size_t i = 0; uris && i < n; i++)
        mcp__release(a, uris[i]);
    mcp__release(a, uris);
}

static int copy_uris(const mcp_allocator *a, const char *const *uris, size_t n, char ***ret)
{
    if (n && !uris)
        return MCP_EINVAL;
    for (size_t i = 0; i < n; i++) {
        if (!uris[i] || mcp__utf8_valid(uris[i], strlen(uris[i])) != strlen(uris[i]))
            return MCP_EINVAL;
    }
    if (n > SIZE_MAX / sizeof(char *) - 1)
        return MCP_ENOMEM;
    char **copy = mcp__zalloc(a, (n + 1) * sizeof(*copy));
    for (size_t i = 0; copy && i < n; i++) {
        copy[i] = mcp__strdup(a, mcp_str_from(uris[i]));
        if (!copy[i]) {
            free_uris(a, copy, n);
            copy = NULL;
        }
    }
    if (!copy)
        return MCP_ENOMEM;
    *ret = copy;
    return MCP_OK;
}

bool mcp__subscription_wants(const mcp_subscription *s, mcp_change change)
{
    switch (change) {
    case MCP_CHANGE_RESOURCES: return s->options.resources;
    case MCP_CHANGE_PROMPTS: return s->options.prompts;
    case MCP_CHANGE_TOOLS: return s->options.tools;
    default: return s->n_uris > 0;
    }
}

static bool has_exactly(const mcp_subscription *s, mcp_str uri)
{
    for (size_t i = 0; i < s->n_uris; i++) {
        if (mcp_str_eq(mcp_str_from(s->uris[i]), uri))
            return true;
    }
    return false;
}

/* Returns whether a URI of the subscription is an ancestor of `uri`. A server may report a change
 * of a part of a subscribed resource (2026-07-28, server/resources). */
static bool has_ancestor(const mcp_subscription *s, mcp_str uri)
{
    for (size_t i = 0; i < s->n_uris; i++) {
        mcp_str own = mcp_str_from(s->uris[i]);
        if (!own.len || own.len >= uri.len || !mcp__str_starts(uri, own))
            continue;
        if (own.ptr[own.len - 1] == '/' || memchr("/#?", uri.ptr[own.len], 3))
            return true;
    }
    return false;
}

/* ---- callbacks ------------------------------------------------------------------------------- */

static void subscription_free(mcp_subscription *s)
{
    const mcp_allocator *a = s->client->allocator;
    mcp__list_remove(&s->link);
    free_uris(a, s->uris, s->n_uris);
    mcp__release(a, s);
}

void mcp__subscriptions_hold(mcp_client *client)
{
    client->subscriptions.callbacks++;
}

void mcp__subscriptions_release(mcp_client *client)
{
    if (--client->subscriptions.callbacks)
        return;
    for (mcp__link *l = client->subscriptions.list.next; l != &client->subscriptions.list;) {
        mcp_subscription *s = mcp__subscription_of(l);
        l = l->next;
        if (s->ended)
            subscription_free(s);
    }
}

void mcp__subscription_report(mcp_subscription *s, mcp_subscription_state state,
                              const mcp_error *error)
{
    bool is_unchanged = s->reported && s->state == state;
    /* Each failed attempt is reported while there is a connection, even if the state is the
     * same. */
    if (s->ended || (is_unchanged && (state == MCP_SUBSCRIPTION_ACTIVE || !s->client->channel)))
        return;
    s->reported = true;
    s->state = state;
    if (s->options.state)
        s->options.state(s->client, s, state, error, s->options.user);
}

void mcp__subscriptions_report(mcp_client *client, mcp_subscription_state state,
                               const mcp_error *error)
{
    mcp__subscriptions_hold(client);
    for (mcp__link *l = client->subscriptions.list.next; l != &client->subscriptions.list;
         l = l->next)
        mcp__subscription_report(mcp__subscription_of(l), state, error);
    mcp__subscriptions_release(client);
}

static void report_change(mcp_client *client, mcp_change change, mcp_str uri,
                          bool (*matches)(const mcp_subscription *s, mcp_str uri))
{
    for (mcp__link *l = client->subscriptions.list.next; l != &client->subscriptions.list;
         l = l->next) {
        mcp_subscription *s = mcp__subscription_of(l);
        if (!s->ended && mcp__subscription_wants(s, change) && matches(s, uri))
            s->options.changed(client, s, change, uri, s->options.user);
    }
}

static bool has_any(const mcp_subscription *s, mcp_str uri)
{
    (void)s, (void)uri;
    return true;
}

static bool is_subscribed(const mcp_client *client, mcp_str uri)
{
    for (mcp__link *l = client->subscriptions.list.next; l != &client->subscriptions.list;
         l = l->next) {
        if (has_exactly(mcp__subscription_of(l), uri))
            return true;
    }
    return false;
}

void mcp__subscriptions_changed(mcp_client *client, mcp_change change, mcp_str uri)
{
    mcp__subscriptions_hold(client);
    if (change != MCP_CHANGE_RESOURCE)
        report_change(client, change, uri, has_any);
    else
        report_change(client, change, uri, is_subscribed(client, uri) ? has_exactly : has_ancestor);
    mcp__subscriptions_release(client);
}

void mcp__client_resync(mcp_client *client)
{
    if (client->revision->modern)
        mcp__listen_resync(client);
    else
        mcp__watch_resync(client);
}

/* ---- public calls ---------------------------------------------------------------------------- */

static void resync(mcp_client *client)
{
    client->subscriptions.resync = true;
    mcp__client_attend(client);
}

int mcp_client_subscribe(mcp_client *client, const mcp_subscription_options *options,
                         mcp_subscription **ret)
{
    if (!client || !options || !ret)
        return MCP_EINVAL;
    mcp_subscription *s = mcp__zalloc(client->allocator, sizeof(*s));
    if (!s)
        return MCP_ENOMEM;
    mcp__list_init(&s->link);
    s->client = client;
    int rc = MCP__TAKE(&s->options, options, mcp_subscription_options, NULL);
    if (!s->options.changed)
        rc = MCP_EINVAL;
    if (rc == MCP_OK)
        rc = copy_uris(client->allocator, s->options.uris, s->options.n_uris, &s->uris);
    if (rc != MCP_OK) {
        subscription_free(s);
        return rc;
    }
    s->n_uris = s->options.n_uris;
    s->options.uris = NULL;
    mcp__list_append(&client->subscriptions.list, &s->link);
    resync(client);
    *ret = s;
    return MCP_OK;
}

int mcp_subscription_set_uris(mcp_subscription *subscription, const char *const *uris, size_t n)
{
    char **copy = NULL;
    if (!subscription || subscription->ended)
        return MCP_EINVAL;
    mcp_client *client = subscription->client;
    int rc = copy_uris(client->allocator, uris, n, &copy);
    if (rc != MCP_OK)
        return rc;
    free_uris(client->allocator, subscription->uris, subscription->n_uris);
    subscription->uris = copy;
    subscription->n_uris = n;
    subscription->reported = false;
    resync(client);
    return MCP_OK;
}

static bool honours(const mcp_client *client, mcp_change change, mcp_str uri)
{
    if (!mcp__client_is_ready(client))
        return false;
    return client->revision->modern ? mcp__listen_honours(client, change, uri)
                                    : mcp__watch_honours(client, change, uri);
}

bool mcp_subscription_honours(const mcp_subscription *subscription, mcp_change change,
                              const char *uri)
{
    if (!subscription || !mcp__subscription_wants(subscription, change))
        return false;
    mcp_str u = mcp_str_from(uri);
    if (change == MCP_CHANGE_RESOURCE && !has_exactly(subscription, u))
        return false;
    return honours(subscription->client, change, u);
}

bool mcp__subscription_is_served(const mcp_subscription *s)
{
    for (int c = MCP_CHANGE_RESOURCES; c <= MCP_CHANGE_TOOLS; c++) {
        if (mcp__subscription_wants(s, (mcp_change)c) &&
            honours(s->client, (mcp_change)c, (mcp_str){0}))
            return true;
    }
    for (size_t i = 0; i < s->n_uris; i++) {
        if (honours(s->client, MCP_CHANGE_RESOURCE, mcp_str_from(s->uris[i])))
            return true;
    }
    return false;
}

void mcp_subscription_end(mcp_subscription *subscription)
{
    if (!subscription || subscription->ended)
        return;
    mcp_client *client = subscription->client;
    if (client->subscriptions.callbacks)
        subscription->ended = true;
    else
        subscription_free(subscription);
    resync(client);
}
