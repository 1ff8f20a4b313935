/* client.c: the life cycle of a client, and its role on the channel.
 *
 * A public call sends its request at once only if it is made from within a call of the channel.
 * Otherwise the request waits for the next tick, because the current time is not known before. A
 * time-out that starts at a stale time could expire at once.
 */
#include "client/client.h"

/* ---- the channel's role ---------------------------------------------------------------------- */

static mcp_client *client_of(const mcp_channel *channel)
{
    return channel->state;
}

/* Parses an id. The client's ids are integers of at most 18 digits. Returns false for any other
 * id. */
static bool read_id(mcp_str id, int64_t *ret)
{
    *ret = 0;
    for (size_t i = 0; i < id.len; i++) {
        if (i == 18 || id.ptr[i] < '0' || id.ptr[i] > '9')
            return false;
        *ret = *ret * 10 + (id.ptr[i] - '0');
    }
    return id.len != 0;
}

static void on_malformed(mcp_channel *channel, mcp_str id, int rc, mcp_str why)
{
    mcp_client *client = client_of(channel);
    int64_t number;
    if (!read_id(id, &number)) {
        mcp__fail(&client->connection.malformed, rc, 0, "%.*s",
                  (int)MCP__MIN(why.len, sizeof(client->connection.malformed.text)), why.ptr);
        if (client->options.unreadable)
            client->options.unreadable(client, client->connection.malformed.text,
                                       client->options.user);
        return;
    }
    mcp_error error; /* for a NUL-terminated copy */
    mcp__fail(&error, rc, 0, "%.*s", (int)MCP__MIN(why.len, sizeof(error.text)), why.ptr);
    client->failure.why = error.text;
    mcp__channel_fail(channel, number, rc, NULL);
    client->failure.why = NULL;
}

static void on_heard(mcp_channel *channel, mcp_exchange exchange, mcp_str message)
{
    mcp_client *client = client_of(channel);
    client->connection.heard = exchange;
    if (client->options.trace)
        client->options.trace(client, false, exchange, message, client->options.user);
}

/* Notifies the server of changed roots (2025-11-25, client/roots, "Root List Changes"). */
static void notify_roots(mcp_client *client)
{
    if (client->roots.changed && client->roots.declared && !client->revision->modern)
        (void)mcp__client_notify(client, MCP_STR("notifications/roots/list_changed"),
                                 MCP_STR("{}"));
    client->roots.changed = false;
}

static void on_tick(mcp_channel *channel, int64_t now)
{
    (void)now;
    mcp_client *client = client_of(channel);
    client->attention = false;
    mcp__client_sweep(client);
    mcp__client_answer(client);
    mcp__client_begin(client);
    mcp__client_start_tick(client);
    if (client->state == MCP__CLIENT_READY) {
        notify_roots(client);
        mcp__client_resync(client);
        mcp__ping_tick(client);
    }
    mcp__client_flush(client);
}

static bool wants_start(const mcp_client *client)
{
    return client->start.requested || !mcp__list_empty(&client->calls.queue) ||
           !mcp__list_empty(&client->subscriptions.list);
}

static int64_t on_deadline(const mcp_channel *channel)
{
    const mcp_client *client = client_of(channel);
    if (client->attention || (client->state == MCP__CLIENT_IDLE && wants_start(client)))
        return channel->now;
    if (client->state == MCP__CLIENT_STARTING)
        return client->start.fall_back_at;
    if (client->state != MCP__CLIENT_READY)
        return INT64_MAX;
    int64_t calls = mcp__client_calls_due(client), listen = mcp__listen_due(client);
    int64_t due = MCP__MIN(MCP__MIN(calls, listen), mcp__ping_due(client));
    return MCP__MAX(due, channel->now);
}

static void on_close(mcp_channel *channel)
{
    (void)channel;
}

static bool takes_batches(const mcp_channel *channel)
{
    const mcp_client *client = client_of(channel);
    const mcp__revision *r =
        client->state == MCP__CLIENT_READY ? client->revision : client->start.trying;
    return r && r->batches;
}

static mcp__no_id no_id(const mcp_channel *channel)
{
    (void)channel;
    return MCP__NO_ID_NULL;
}

static const mcp__role client_role = {
    .request_size = sizeof(mcp__question_request),
    .request = mcp__client_question_request,
    .cancel = mcp__client_question_cancelled,
    .notification = mcp__client_notified,
    .tick = on_tick,
    .deadline = on_deadline,
    .close = on_close,
    .release = on_close,
    .batches = takes_batches,
    .no_id = no_id,
    .malformed = on_malformed,
    .heard = on_heard,
};

void mcp__client_attend(mcp_client *client)
{
    client->attention = true;
    if (client->channel)
        mcp__channel_wake(client->channel);
}

int mcp__client_copy(const mcp_client *client, const mcp_json *value, mcp_json_doc **ret)
{
    mcp__buf b;
    mcp__buf_init(&b, client->allocator, 0);
    mcp__json_put_value(&b, value);
    int rc = b.failed;
    if (rc == MCP_OK) {
        mcp_json_limits limits = {
            .size = sizeof(limits), .max_bytes = b.len, .max_depth = MCP__JSON_DEEPEST};
        rc = mcp_json_parse(mcp__buf_view(&b), &limits, client->allocator, ret, NULL);
    }
    mcp__buf_free(&b);
    return rc;
}

/* ---- life cycle ------------------------------------------------------------------------------ */

static void init(mcp_client *client)
{
    mcp__link *const lists[] = {&client->calls.queue,    &client->calls.sent,
                                &client->calls.parked,   &client->calls.finished,
                                &client->questions.list, &client->subscriptions.list};
    mcp__buf *const bufs[] = {&client->self.info, &client->self.extensions,
                              &client->self.experimental, &client->out.header, &client->roots.json};
    for (size_t i = 0; i < MCP__COUNT(lists); i++)
        mcp__list_init(lists[i]);
    for (size_t i = 0; i < MCP__COUNT(bufs); i++)
        mcp__buf_init(bufs[i], client->allocator, 0);
    mcp__map_init(&client->learnt.tools, client->allocator, (uintptr_t)client, 0);
    mcp__map_init(&client->subscriptions.watched, client->allocator, (uintptr_t)client, 1);
    mcp__ping_end(client);
    client->listen.ack_by = client->listen.retry_at = client->start.fall_back_at = INT64_MAX;
}

int mcp_client_new(const mcp_client_options *options, mcp_client **ret, mcp_error *error)
{
    mcp__no_error(error);
    if (!ret)
        return mcp__fail(error, MCP_EINVAL, 0, "ret is required");
    mcp_client_options o;
    int rc = MCP__TAKE(&o, options, mcp_client_options, error);
    if (rc == MCP_OK)
        rc = mcp__check_array(o.icons, o.n_icons, "mcp_icon", error);
    if (rc != MCP_OK)
        return rc;
    const mcp_allocator *allocator = mcp__allocator(o.allocator);
    mcp_client *client = mcp__zalloc(allocator, sizeof(*client));
    if (!client)
        return mcp__fail(error, MCP_ENOMEM, 0, "no memory for a client");
    client->own_allocator = *allocator;
    client->allocator = &client->own_allocator;
    client->options = o;
    init(client);
    rc = mcp__client_read_options(client, error);
    mcp__cache_init(client, client->options.no_cache ? 0 : client->options.max_cache);
    client->questions.bucket.per_minute = client->options.questions_per_minute;
    if (rc != MCP_OK) {
        mcp_client_free(client);
        return rc;
    }
    *ret = client;
    return MCP_OK;
}

static void free_questions(mcp_client *client)
{
    while (!mcp__list_empty(&client->questions.list))
        mcp__question_free(mcp__container(client->questions.list.next, mcp_question, link));
}

void mcp_client_free(mcp_client *client)
{
    if (!client)
        return;
    while (!mcp__list_empty(&client->subscriptions.list))
        mcp_subscription_end(mcp__subscription_of(client->subscriptions.list.next));
    mcp_client_disconnected(client, "the client was freed");
    while (!mcp__list_empty(&client->calls.finished))
        mcp__call_free(mcp__container(client->calls.finished.next, mcp__call, link));
    free_questions(client);
    for (size_t i = 0; i < MCP__COUNT(client->questions.completing); i++)
        mcp__release(client->allocator, client->questions.completing[i]);
    mcp__cache_free(client);
    mcp__tools_free(client);
    mcp__map_free(&client->subscriptions.watched);
    mcp_json_free(client->about);
    mcp__release(client->allocator, client->connection.principal);
    mcp__buf_free(&client->self.info);
    mcp__buf_free(&client->self.extensions);
    mcp__buf_free(&client->self.experimental);
    mcp__buf_free(&client->out.header);
    mcp__buf_free(&client->roots.json);
    mcp_allocator allocator = client->own_allocator;
    mcp__release(&allocator, client);
}

/* ---- its connection -------------------------------------------------------------------------- */

static void send_and_trace(mcp_channel *channel, mcp_exchange exchange, mcp_str message, void *user)
{
    mcp_client *client = client_of(channel);
    client->options.trace(client, true, exchange, message, client->options.user);
    client->connection.send(channel, exchange, message, user);
}

int mcp_client_connect_transport(mcp_client *client, const mcp_channel_options *options,
                                 const mcp_transport_options *transport, mcp_channel **ret,
                                 mcp_error *error)
{
    mcp__no_error(error);
    mcp_channel_options o;
    mcp_transport_options t;
    if (!client || !ret)
        return mcp__fail(error, MCP_EINVAL, 0, "client and ret are required");
    int rc = MCP__TAKE(&o, options, mcp_channel_options, error);
    if (rc == MCP_OK)
        rc = MCP__TAKE_OPTIONAL(&t, transport, mcp_transport_options, error);
    if (rc != MCP_OK)
        return rc;
    if (client->channel)
        return mcp__fail(error, MCP_ESTATE, 0, "the client is connected already");
    if (!o.max_message)
        o.max_message = client->options.max_message;
    if (t.exchanges && !t.abandon)
        return mcp__fail(error, MCP_EINVAL, 0, "a transport with exchanges needs \"abandon\"");
    rc = mcp_client_set_authorization(client, o.principal);
    if (rc != MCP_OK)
        return mcp__fail(error, rc, 0, "no memory for a connection");
    rc = mcp__channel_new(&client_role, client, &o, client->allocator, &client->channel, error);
    if (rc != MCP_OK)
        return rc;
    client->channel->timed = true;
    client->channel->max_values = client->options.max_values;
    client->connection.transport = t;
    client->connection.send = o.send;
    if (client->options.trace)
        client->channel->options.send = send_and_trace;
    client->start.fell_back = client->start.handshake_only = false;
    if (client->state == MCP__CLIENT_LOST)
        client->state = MCP__CLIENT_IDLE;
    *ret = client->channel;
    return MCP_OK;
}

int mcp_client_connect(mcp_client *client, const mcp_channel_options *options, mcp_channel **ret,
                       mcp_error *error)
{
    return mcp_client_connect_transport(client, options, NULL, ret, error);
}

static void withdraw_questions(mcp_client *client)
{
    for (mcp__link *l = client->questions.list.next; l != &client->questions.list;) {
        mcp_question *q = mcp__container(l, mcp_question, link);
        l = l->next;
        mcp__question_withdraw(q);
    }
}

void mcp_client_disconnected(mcp_client *client, const char *why)
{
    mcp_channel *channel = client->channel;
    bool starting = client->state == MCP__CLIENT_STARTING;
    mcp__listen_forget(client);
    mcp__watch_forget(client);
    mcp__ping_end(client);
    client->failure.why = why ? why : mcp_error_text(MCP_ECLOSED);
    client->channel = NULL;
    client->state = MCP__CLIENT_LOST;
    client->start.probes = 0;
    client->connection.malformed = (mcp_error){0};
    mcp_channel_free(channel); /* fails all requests in flight, including those of a start */
    mcp_error error;
    mcp__fail(&error, MCP_ECLOSED, 0, "%s", client->failure.why);
    if (client->start.requested && !starting)
        mcp__client_start_failed(client, MCP_ECLOSED, NULL, &error);
    withdraw_questions(client);
    mcp__client_fail_waiting(client, MCP_ECLOSED, NULL, &error);
    mcp__subscriptions_report(client, MCP_SUBSCRIPTION_LOST, &error);
    client->failure.why = NULL;
}

/* ---- facts about the server ----------------------------------------------------------------- */

const char *mcp_client_revision(const mcp_client *client)
{
    return client->revision ? client->revision->name : NULL;
}

bool mcp_client_is_modern(const mcp_client *client)
{
    return client->revision && client->revision->modern;
}

static const mcp_json *about(const mcp_client *client)
{
    return client->about ? mcp_json_root(client->about) : NULL;
}

const mcp_json *mcp_client_server_info(const mcp_client *client)
{
    if (mcp_client_is_modern(client))
        return mcp_json_get(mcp_json_get(about(client), "_meta"), MCP__META_SERVER_INFO);
    return mcp_json_get(about(client), "serverInfo");
}

const mcp_json *mcp_client_server_capabilities(const mcp_client *client)
{
    return mcp_json_get(about(client), "capabilities");
}

mcp_str mcp_client_instructions(const mcp_client *client)
{
    return mcp_json_string(mcp_json_get(about(client), "instructions"));
}

/* ---- contents -------------------------------------------------------------------------------- */

int mcp_base64_decode(void *to, mcp_str text, size_t *ret)
{
    size_t n = mcp__base64_decode(to, text);
    if (n == SIZE_MAX)
        return MCP_EPARSE;
    *ret = n;
    return MCP_OK;
}
