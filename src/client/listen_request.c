/* listen_request.c: sends one subscriptions/listen for all of the program's subscriptions to a
 * modern server (2026-07-28, basic/patterns/subscriptions).
 *
 * When the set of subscriptions changes, a new stream is opened. The old stream continues until the
 * new one is acknowledged, so that no notification is missed. Notifications of both streams are
 * delivered, so during this time a change may be reported twice.
 */
#include "client/client.h"

enum { LONGEST_ASKED_MS = 60 * 60 * 1000 }; /* longest Retry-After that is honoured */

static const char *const filters[] = {
    [MCP_CHANGE_RESOURCE] = "resourceSubscriptions",
    [MCP_CHANGE_RESOURCES] = "resourcesListChanged",
    [MCP_CHANGE_PROMPTS] = "promptsListChanged",
    [MCP_CHANGE_TOOLS] = "toolsListChanged",
};

/* ---- the filter ------------------------------------------------------------------------------ */

static bool is_wanted(const mcp_client *client, mcp_change change)
{
    for (mcp__link *l = client->subscriptions.list.next; l != &client->subscriptions.list;
         l = l->next) {
        const mcp_subscription *s = mcp__subscription_of(l);
        if (!s->ended && mcp__subscription_wants(s, change))
            return true;
    }
    return false;
}

/* Appends an array of all subscribed URIs without duplicates. */
static int put_uris(const mcp_client *client, mcp__buf *b)
{
    mcp__map seen;
    mcp__json_list array = mcp__json_begin_array(b);
    int rc = MCP_OK;
    mcp__map_init(&seen, client->allocator, (uintptr_t)client, 2);
    for (mcp__link *l = client->subscriptions.list.next; l != &client->subscriptions.list;
         l = l->next) {
        mcp_subscription *s = mcp__subscription_of(l);
        for (size_t i = 0; !s->ended && i < s->n_uris; i++) {
            mcp_str uri = mcp_str_from(s->uris[i]);
            int added = mcp__map_add(&seen, uri, s);
            if (added == MCP_ENOMEM)
                rc = added;
            if (added != MCP_OK)
                continue;
            mcp__json_next(&array);
            mcp__json_put_str(b, uri);
        }
    }
    mcp__map_free(&seen);
    mcp__json_end(&array);
    return rc;
}

/* Appends the filter. Returns false if it is empty. */
static bool put_filter(const mcp_client *client, mcp__buf *b, int *rc)
{
    mcp__json_list filter = mcp__json_begin_object(b);
    for (int c = MCP_CHANGE_RESOURCES; c <= MCP_CHANGE_TOOLS; c++) {
        if (!is_wanted(client, (mcp_change)c))
            continue;
        mcp__json_name(&filter, filters[c]);
        mcp__buf_lit(b, "true");
    }
    if (is_wanted(client, MCP_CHANGE_RESOURCE)) {
        mcp__json_name(&filter, filters[MCP_CHANGE_RESOURCE]);
        *rc = put_uris(client, b);
    }
    mcp__json_end(&filter);
    return filter.any;
}

/* ---- losing the stream ----------------------------------------------------------------------- */

/* Returns the delay before the next attempt, in milliseconds. The delay doubles with each failure
 * and varies by a quarter, so that the clients of a restarted server do not all reconnect at once.
 * It is not shorter than the server's Retry-After, up to LONGEST_ASKED_MS. */
static int64_t back_off(const mcp_client *client)
{
    uint64_t delay = client->options.retry_ms, limit = client->options.max_retry_ms;
    for (unsigned i = 1; i < client->listen.failures && delay < limit; i++)
        delay *= 2;
    delay = MCP__MIN(MCP__MIN(delay, limit), (uint64_t)INT32_MAX);
    const uint64_t seed[2] = {(uintptr_t)client, client->listen.failures};
    uint64_t retry_after = client->failure.end ? client->failure.end->retry_after_ms : 0;
    delay = MCP__MAX(delay, MCP__MIN(retry_after, (uint64_t)LONGEST_ASKED_MS) * 4 / 3);
    uint64_t jitter = mcp__siphash("retry", 5, seed) % 512;
    return (int64_t)(delay * 3 / 4 + delay * jitter / 1024 + 1);
}

static void drop_stream(mcp_client *client, mcp__stream **stream, bool notify)
{
    mcp__stream *s = *stream;
    *stream = NULL;
    if (!s)
        return;
    if (client->channel && mcp__channel_forget(client->channel, s->id) && notify)
        mcp__client_give_up(client, s->id, NULL);
    mcp__release(client->allocator, s);
}

static void forget_filter(mcp_client *client)
{
    mcp_json_free(client->listen.honoured);
    client->listen.honoured = NULL;
    client->listen.ack_by = client->listen.retry_at = INT64_MAX;
}

static void on_lost(mcp_client *client, const mcp_error *error)
{
    mcp__listen *listen = &client->listen;
    int64_t now = mcp__client_now(client);
    bool was_stable =
        listen->honoured && now - listen->since >= (int64_t)client->options.max_retry_ms;
    drop_stream(client, &listen->stream, true);
    drop_stream(client, &listen->replaced, true);
    forget_filter(client);
    listen->failures = was_stable ? 1 : listen->failures + 1;
    listen->retry_at = now + back_off(client);
    mcp__subscriptions_report(client, MCP_SUBSCRIPTION_LOST, error);
}

static void on_refused(mcp_client *client, const mcp_error *error)
{
    drop_stream(client, &client->listen.replaced, true);
    forget_filter(client);
    mcp__subscriptions_report(client, MCP_SUBSCRIPTION_REFUSED, error);
}

static void on_ended(mcp_channel *channel, int rc, const mcp_json *result, void *user)
{
    mcp__stream *s = user;
    mcp_client *client = s->client;
    mcp__listen *listen = &client->listen;
    mcp_error error = {0};
    (void)channel;
    bool is_current = s == listen->stream;
    *(is_current ? &listen->stream : &listen->replaced) = NULL;
    mcp__release(client->allocator, s);
    if (!is_current)
        return; /* a newer stream replaces it */
    int judged = mcp__client_judge(client, client->revision, 0, rc, result, &error);
    int64_t code = rc == MCP_EREMOTE ? mcp__error_code(result) : 0;
    if (judged >= MCP_OK)
        mcp__fail(&error, MCP_ECLOSED, 0, "the server ended the subscription");
    if (code == MCP__METHOD_NOT_FOUND || code == MCP__INVALID_PARAMS)
        on_refused(client, &error);
    else
        on_lost(client, &error);
}

/* ---- opening a stream ------------------------------------------------------------------------ */

static int send_listen(mcp_client *client, mcp__stream *s, bool *wanted)
{
    const mcp__sending sending = {.revision = client->revision,
                                  .method = MCP_STR("subscriptions/listen"),
                                  .long_lived = true,
                                  .timeout_ms = MCP_NO_TIMEOUT};
    int rc = MCP_OK;
    mcp__buf b = mcp__channel_take_buf(client->channel);
    mcp__buf_lit(&b, "{\"notifications\":");
    *wanted = put_filter(client, &b, &rc);
    mcp__buf_lit(&b, ",\"_meta\":{");
    mcp__client_put_meta(client, client->revision, &b);
    mcp__buf_lit(&b, "}}");
    if (rc == MCP_OK)
        rc = b.failed;
    if (rc == MCP_OK && *wanted)
        rc = mcp__client_send(client, &sending, mcp__buf_view(&b), on_ended, s, &s->id);
    mcp__channel_give_buf(client->channel, &b);
    return rc;
}

/* Keeps the current stream open until its replacement is acknowledged. */
static void retain_stream(mcp_client *client)
{
    mcp__listen *listen = &client->listen;
    if (listen->honoured && !listen->replaced) {
        listen->replaced = listen->stream;
        listen->stream = NULL;
    } else {
        drop_stream(client, &listen->stream, true); /* this stream was never acknowledged */
    }
}

/* Opens a stream for the current subscriptions. */
static void open_stream(mcp_client *client)
{
    mcp__listen *listen = &client->listen;
    bool wanted = false;
    listen->retry_at = INT64_MAX;
    retain_stream(client);
    mcp__stream *s = mcp__zalloc(client->allocator, sizeof(*s));
    int rc = s ? MCP_OK : MCP_ENOMEM;
    if (s)
        s->client = client;
    listen->stream = s;
    if (rc == MCP_OK)
        rc = send_listen(client, s, &wanted);
    if (rc == MCP_OK && wanted) {
        listen->ack_by = mcp__client_now(client) +
                         (int64_t)MCP__MIN(client->options.timeout_ms, (uint64_t)INT32_MAX);
        return;
    }
    mcp__release(client->allocator, s);
    listen->stream = NULL;
    if (rc == MCP_OK) {
        drop_stream(client, &listen->replaced, true);
        forget_filter(client);
    } else {
        mcp_error error;
        mcp__fail(&error, rc, 0, "%s", mcp_error_text(rc));
        on_lost(client, &error);
    }
}

void mcp__listen_resync(mcp_client *client)
{
    mcp__listen *listen = &client->listen;
    int64_t now = mcp__client_now(client);
    if (listen->ack_by <= now) {
        mcp_error error;
        mcp__fail(&error, MCP_ETIMEOUT, 0, "the server did not acknowledge the subscription");
        on_lost(client, &error);
    }
    if (!client->subscriptions.resync && listen->retry_at > now)
        return;
    client->subscriptions.resync = false;
    open_stream(client);
}

int64_t mcp__listen_due(const mcp_client *client)
{
    return MCP__MIN(client->listen.ack_by, client->listen.retry_at);
}

static bool is_stream(const mcp__stream *s, const mcp_json *id)
{
    return s && mcp_json_is(id, MCP_JSON_INT) && mcp_json_int(id, 0) == s->id;
}

static void report_acknowledged(mcp_client *client)
{
    mcp_error error;
    mcp__fail(&error, MCP_EUNSUPPORTED, 0, "the server does not report such changes");
    mcp__subscriptions_hold(client);
    for (mcp__link *l = client->subscriptions.list.next; l != &client->subscriptions.list;
         l = l->next) {
        mcp_subscription *s = mcp__subscription_of(l);
        if (mcp__subscription_is_served(s))
            mcp__subscription_report(s, MCP_SUBSCRIPTION_ACTIVE, NULL);
        else if (!s->reported || s->state != MCP_SUBSCRIPTION_REFUSED)
            mcp__subscription_report(s, MCP_SUBSCRIPTION_REFUSED, &error);
    }
    mcp__subscriptions_release(client);
}

void mcp__listen_acknowledged(mcp_client *client, const mcp_json *params)
{
    mcp__listen *listen = &client->listen;
    mcp_json_doc *filter = NULL;
    mcp_error error;
    const mcp_json *id = mcp_json_get(mcp_json_get(params, "_meta"), MCP__META_SUBSCRIPTION);
    if (!is_stream(listen->stream, id))
        return;
    int rc = mcp__client_copy(client, mcp_json_get(params, "notifications"), &filter);
    if (rc != MCP_OK) {
        mcp__fail(&error, rc, 0, "%s", mcp_error_text(rc));
        on_lost(client, &error);
        return;
    }
    drop_stream(client, &listen->replaced, true);
    forget_filter(client);
    listen->honoured = filter;
    listen->since = mcp__client_now(client);
    report_acknowledged(client);
}

void mcp__listen_cancelled(mcp_client *client, const mcp_json *params)
{
    mcp_error error;
    if (!is_stream(client->listen.stream, mcp_json_get(params, "requestId")))
        return;
    mcp__channel_forget(client->channel, client->listen.stream->id);
    mcp__release(client->allocator, client->listen.stream);
    client->listen.stream = NULL;
    mcp__fail(&error, MCP_ECLOSED, 0, "the server ended the subscription");
    on_lost(client, &error);
}

bool mcp__listen_honours(const mcp_client *client, mcp_change change, mcp_str uri)
{
    if (!client->listen.honoured)
        return false;
    const mcp_json *member = mcp_json_get(mcp_json_root(client->listen.honoured), filters[change]);
    if (change != MCP_CHANGE_RESOURCE)
        return mcp_json_bool(member, false);
    mcp_json_iter it = {0};
    for (const mcp_json *v;
         mcp_json_is(member, MCP_JSON_ARRAY) && (v = mcp_json_next(member, &it, NULL)) != NULL;) {
        if (mcp_json_is(v, MCP_JSON_STRING) && mcp_str_eq(mcp_json_string(v), uri))
            return true;
    }
    return false;
}

void mcp__listen_forget(mcp_client *client)
{
    drop_stream(client, &client->listen.stream, false);
    drop_stream(client, &client->listen.replaced, false);
    forget_filter(client);
    client->listen.failures = 0;
}
