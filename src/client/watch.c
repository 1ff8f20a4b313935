/* watch.c: subscriptions to a legacy server: each resource is subscribed to once
 * (resources/subscribe). A server that declares listChanged announces changes to a list without a
 * request.
 *
 * If a subscription is no longer wanted while its request is in flight, it is ended only after the
 * answer, so that the two requests cannot overtake each other.
 */
#include "client/client.h"

typedef enum phase { ASKED, WATCHED, REFUSED } phase;

/* A resource to which the client is, or will be, subscribed. */
typedef struct watched {
    mcp_client *client;
    phase phase;
    bool wanted;
    bool orphan; /* its session was lost, and only its call refers to it */
    mcp_error error;
    mcp_str uri; /* allocated after the struct */
} watched;

/* ---- states --------------------------------------------------------------------------------- */

static const mcp_json *capability(const mcp_client *client, const char *of)
{
    return mcp_json_get(mcp_client_server_capabilities(client), of);
}

bool mcp__watch_honours(const mcp_client *client, mcp_change change, mcp_str uri)
{
    static const char *const lists[] = {[MCP_CHANGE_RESOURCES] = "resources",
                                        [MCP_CHANGE_PROMPTS] = "prompts",
                                        [MCP_CHANGE_TOOLS] = "tools"};
    if (change != MCP_CHANGE_RESOURCE)
        return mcp_json_bool(mcp_json_get(capability(client, lists[change]), "listChanged"), false);
    const watched *w = mcp__map_get(&client->subscriptions.watched, uri);
    return w && w->phase == WATCHED;
}

/* Returns whether all requests of the subscription have been answered. If any was refused, *why is
 * set to the error of one of them. */
static bool is_settled(const mcp_subscription *s, const mcp_error **why)
{
    for (size_t i = 0; i < s->n_uris; i++) {
        const watched *w =
            mcp__map_get(&s->client->subscriptions.watched, mcp_str_from(s->uris[i]));
        if (!w || w->phase == ASKED)
            return false;
        if (w->phase == REFUSED)
            *why = &w->error;
    }
    return true;
}

static void report_settled(mcp_client *client)
{
    mcp_error none;
    mcp__fail(&none, MCP_EUNSUPPORTED, 0, "%s",
              client->connection.no_stream
                  ? "the server has no stream for notifications (it rejects GET)"
                  : "the server does not report such changes");
    mcp__subscriptions_hold(client);
    for (mcp__link *l = client->subscriptions.list.next; l != &client->subscriptions.list;
         l = l->next) {
        mcp_subscription *s = mcp__subscription_of(l);
        const mcp_error *why = &none;
        if (s->ended || !is_settled(s, &why))
            continue;
        if (!client->connection.no_stream && mcp__subscription_is_served(s))
            mcp__subscription_report(s, MCP_SUBSCRIPTION_ACTIVE, NULL);
        else if (!s->reported || s->state != MCP_SUBSCRIPTION_REFUSED)
            mcp__subscription_report(s, MCP_SUBSCRIPTION_REFUSED, why);
    }
    mcp__subscriptions_release(client);
}

/* ---- one resource ---------------------------------------------------------------------------- */

static int send_request(mcp_client *client, const char *method, mcp_str uri, mcp_result_fn *fn,
                        void *user)
{
    mcp__call *call = NULL;
    mcp__buf b;
    mcp__buf_init(&b, client->allocator, 0);
    mcp__buf_lit(&b, "{\"uri\":");
    mcp__json_put_str(&b, uri);
    mcp__buf_char(&b, '}');
    int rc = b.failed;
    if (rc == MCP_OK)
        rc = mcp__call_new(client, mcp_str_from(method), mcp__buf_view(&b),
                           MCP_OPTIONS(mcp_call_options, .done = fn, .user = user), &call);
    mcp__buf_free(&b);
    return rc == MCP_OK ? mcp__call_begin(call, NULL) : rc;
}

/* Unsubscribes and frees a resource that no call refers to. */
static void unwatch(watched *w)
{
    mcp_client *client = w->client;
    if (w->phase == WATCHED && mcp__client_is_ready(client))
        (void)send_request(client, "resources/unsubscribe", w->uri, NULL, NULL);
    mcp__map_remove(&client->subscriptions.watched, w->uri);
    mcp__release(client->allocator, w);
}

static void refuse(watched *w, int rc, const char *why)
{
    w->phase = REFUSED;
    mcp__fail(&w->error, rc, 0, "%s", why);
}

static void on_subscribed(mcp_client *client, int rc, const mcp_json *result,
                          const mcp_error *error, void *user)
{
    watched *w = user;
    (void)result;
    if (w->orphan) {
        mcp__release(client->allocator, w);
        return;
    }
    w->phase = WATCHED;
    if (rc != MCP_OK)
        refuse(w, rc, error->text);
    if (!w->wanted)
        unwatch(w);
    report_settled(client);
}

static void subscribe(watched *w)
{
    const mcp_json *declared = mcp_json_get(capability(w->client, "resources"), "subscribe");
    if (!mcp_json_bool(declared, false)) {
        refuse(w, MCP_EUNSUPPORTED, "the server does not offer subscriptions to resources");
        return;
    }
    int rc = send_request(w->client, "resources/subscribe", w->uri, on_subscribed, w);
    if (rc != MCP_OK)
        refuse(w, rc, mcp_error_text(rc));
}

/* ---- all resources -------------------------------------------------------------------------- */

static int add(mcp_client *client, mcp_str uri)
{
    watched *w = mcp__map_get(&client->subscriptions.watched, uri);
    if (w) {
        w->wanted = true;
        return MCP_OK;
    }
    w = mcp__zalloc(client->allocator, sizeof(*w) + uri.len + 1);
    if (!w)
        return MCP_ENOMEM;
    w->client = client;
    w->wanted = true;
    w->uri = (mcp_str){(char *)(w + 1), uri.len};
    if (uri.len)
        memcpy(w + 1, uri.ptr, uri.len);
    int rc = mcp__map_add(&client->subscriptions.watched, w->uri, w);
    if (rc == MCP_OK)
        subscribe(w);
    else
        mcp__release(client->allocator, w);
    return rc;
}

static int add_all(mcp_client *client)
{
    int rc = MCP_OK;
    for (mcp__link *l = client->subscriptions.list.next; l != &client->subscriptions.list;
         l = l->next) {
        mcp_subscription *s = mcp__subscription_of(l);
        for (size_t i = 0; rc == MCP_OK && !s->ended && i < s->n_uris; i++)
            rc = add(client, mcp_str_from(s->uris[i]));
    }
    return rc;
}

void mcp__watch_resync(mcp_client *client)
{
    size_t at = 0;
    if (!client->subscriptions.resync)
        return;
    client->subscriptions.resync = false;
    for (watched *w; (w = mcp__map_next(&client->subscriptions.watched, &at)) != NULL;) {
        w->wanted = false;
        if (w->phase == REFUSED)
            unwatch(w); /* the server may accept it this time */
    }
    int rc = add_all(client);
    at = 0;
    for (watched *w;
         rc == MCP_OK && (w = mcp__map_next(&client->subscriptions.watched, &at)) != NULL;) {
        if (!w->wanted && w->phase != ASKED)
            unwatch(w);
    }
    if (rc == MCP_OK) {
        report_settled(client);
        return;
    }
    mcp_error error;
    mcp__fail(&error, rc, 0, "%s", mcp_error_text(rc));
    mcp__subscriptions_report(client, MCP_SUBSCRIPTION_REFUSED, &error);
}

void mcp__watch_forget(mcp_client *client)
{
    size_t at = 0;
    client->connection.no_stream = false;
    for (watched *w; (w = mcp__map_next(&client->subscriptions.watched, &at)) != NULL;) {
        mcp__map_remove(&client->subscriptions.watched, w->uri);
        if (w->phase == ASKED)
            w->orphan = true; /* its callback frees it */
        else
            mcp__release(client->allocator, w);
    }
    for (mcp__link *l = client->subscriptions.list.next; l != &client->subscriptions.list;
         l = l->next)
        mcp__subscription_of(l)->reported = false;
}
