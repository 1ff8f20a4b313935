/* client.c: the life of a client, and its role on the channel: what it does with a server's messages
 * that are no answers.
 *
 * The surprising thing: nothing is sent from within a public call unless the channel is being called
 * just then. What a program asks for in between waits for the next tick, because only then is the time
 * known, and a time-out that is counted from a stale time would strike at once.
 */
#include "client/client.h"

enum {
    DEFAULT_PROBE_MS = 3000,
    DEFAULT_TIMEOUT_MS = 60000,
    DEFAULT_MAX_PAGES = 10000,
    DEFAULT_MAX_MESSAGE = 64 << 20,
};

/* ---- the channel's role --------------------------------------------------------------------------- */

static mcp_client *client_of(const mcp_channel *channel)
{
    return channel->state;
}

/* A request of a server. Modern servers must not send any, and must not be answered (2026-07-28,
 * basic/transports/stdio, "Sending Messages"). */
static void on_request(mcp__incoming *in)
{
    const mcp_client *client = client_of(in->channel);
    if (client->state == MCP__CLIENT_READY && client->revision->modern) {
        mcp__incoming_drop(in);
        return;
    }
    if (!mcp_str_eq(in->message.method, MCP_STR("ping"))) {
        mcp__incoming_error(in, MCP__METHOD_NOT_FOUND, MCP_STR("this client has no such method"),
                            (mcp_str){0});
        return;
    }
    mcp_channel *channel = in->channel;
    mcp__buf b = mcp__channel_take_buf(channel);
    mcp__put_result_head(&b, mcp__incoming_id(in));
    mcp__buf_lit(&b, "{}}");
    if (b.failed)
        mcp__incoming_drop(in);
    else
        mcp__incoming_reply(in, mcp__buf_view(&b), 0);
    mcp__channel_give_buf(channel, &b);
}

static void on_notification(mcp_channel *channel, const mcp__message *message)
{
    (void)channel;
    (void)message;
}

/* Nothing that we answer takes time, so there is nothing to stop. */
static void on_cancel(mcp__incoming *in)
{
    mcp__incoming_drop(in);
}

/* Our ids are integers of our own, so what is no short run of digits is none of them. */
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
    if (!read_id(id, &number))
        return;
    mcp_error error; /* keeps a copy that ends with NUL */
    mcp__fail(&error, rc, 0, "%.*s", (int)MCP__MIN(why.len, sizeof(error.text)), why.ptr);
    client->why = error.text;
    mcp__channel_fail(channel, number, rc);
    client->why = NULL;
}

static void on_tick(mcp_channel *channel, int64_t now)
{
    (void)now;
    mcp_client *client = client_of(channel);
    mcp__client_begin(client);
    mcp__client_flush(client);
}

static bool has_work(const mcp_client *client)
{
    if (client->state == MCP__CLIENT_IDLE)
        return client->wanted || !mcp__list_empty(&client->queue);
    return client->state == MCP__CLIENT_READY && !mcp__list_empty(&client->queue);
}

static int64_t on_deadline(const mcp_channel *channel)
{
    return has_work(client_of(channel)) ? channel->now : INT64_MAX;
}

static void on_close(mcp_channel *channel)
{
    (void)channel;
}

static bool takes_batches(const mcp_channel *channel)
{
    const mcp_client *client = client_of(channel);
    const mcp__revision *r = client->state == MCP__CLIENT_READY ? client->revision : client->trying;
    return r && r->batches;
}

static mcp__no_id no_id(const mcp_channel *channel)
{
    (void)channel;
    return MCP__NO_ID_NULL;
}

static const mcp__role client_role = {
    .request_size = sizeof(mcp__incoming),
    .request = on_request,
    .cancel = on_cancel,
    .notification = on_notification,
    .tick = on_tick,
    .deadline = on_deadline,
    .close = on_close,
    .release = on_close,
    .batches = takes_batches,
    .no_id = no_id,
    .malformed = on_malformed,
};

/* ---- life ------------------------------------------------------------------------------------------ */

static int find_revision(const char *name, const mcp__revision **ret, mcp_error *error)
{
    *ret = NULL;
    if (!name)
        return MCP_OK;
    *ret = mcp__revision_find(mcp_str_from(name));
    if (*ret)
        return MCP_OK;
    char known[128] = "";
    for (size_t i = 0, at = 0; i < mcp__revision_count; i++) {
        mcp_str r = mcp_str_from(mcp__revisions[i].name);
        if (at + r.len + 3 > sizeof(known))
            break;
        if (at)
            memcpy(known + at, ", ", 2), at += 2;
        memcpy(known + at, r.ptr, r.len + 1), at += r.len;
    }
    return mcp__fail(error, MCP_EINVAL, 0, "\"%.32s\" is not a revision that we speak: %s", name,
                     known);
}

static int put_info(mcp_client *client, const mcp_client_options *o, mcp_error *error)
{
    mcp__buf *b = &client->info;
    mcp__buf_lit(b, "{\"name\":");
    mcp__json_put_str(b, mcp_str_from(o->name));
    mcp__buf_lit(b, ",\"version\":");
    mcp__json_put_str(b, mcp_str_from(o->version));
    if (o->title) {
        mcp__buf_lit(b, ",\"title\":");
        mcp__json_put_str(b, mcp_str_from(o->title));
    }
    mcp__buf_char(b, '}');
    if (b->failed == MCP_EINVAL)
        return mcp__fail(error, MCP_EINVAL, 0, "name, version and title must be UTF-8");
    return b->failed ? mcp__fail(error, b->failed, 0, "no memory for a client") : MCP_OK;
}

int mcp_client_new(const mcp_client_options *options, mcp_client **ret, mcp_error *error)
{
    mcp_client_options o;
    if (!options || !ret)
        return mcp__fail(error, MCP_EINVAL, 0, "options and ret are required");
    mcp__copy_options(&o, sizeof(o), options);
    if (!o.name || !o.version)
        return mcp__fail(error, MCP_EINVAL, 0, "a client needs a name and a version");
    const mcp__revision *only;
    int rc = find_revision(o.revision, &only, error);
    if (rc != MCP_OK)
        return rc;

    const mcp_allocator *allocator = mcp__allocator(o.allocator);
    mcp_client *client = mcp__zalloc(allocator, sizeof(*client));
    if (!client)
        return mcp__fail(error, MCP_ENOMEM, 0, "no memory for a client");
    client->own_allocator = *allocator;
    client->allocator = &client->own_allocator;
    client->only = only;
    client->probe_ms = o.probe_ms ? o.probe_ms : DEFAULT_PROBE_MS;
    client->timeout_ms = o.timeout_ms ? o.timeout_ms : DEFAULT_TIMEOUT_MS;
    client->max_pages = o.max_pages ? o.max_pages : DEFAULT_MAX_PAGES;
    client->max_message = o.max_message ? o.max_message : DEFAULT_MAX_MESSAGE;
    mcp__list_init(&client->queue);
    mcp__buf_init(&client->info, client->allocator, 0);
    rc = put_info(client, &o, error);
    if (rc != MCP_OK) {
        mcp_client_free(client);
        return rc;
    }
    *ret = client;
    return MCP_OK;
}

void mcp_client_free(mcp_client *client)
{
    if (!client)
        return;
    mcp_client_disconnected(client, "the client is at its end");
    mcp_json_free(client->about);
    mcp__buf_free(&client->info);
    mcp_allocator allocator = client->own_allocator;
    mcp__release(&allocator, client);
}

int mcp_client_connect(mcp_client *client, const mcp_channel_options *options, mcp_channel **ret,
                       mcp_error *error)
{
    if (!client || !options || !ret)
        return mcp__fail(error, MCP_EINVAL, 0, "client, options and ret are required");
    if (client->channel)
        return mcp__fail(error, MCP_ESTATE, 0, "the client is connected already");
    mcp_channel_options o;
    mcp__copy_options(&o, sizeof(o), options);
    o.size = sizeof(o);
    if (!o.max_message)
        o.max_message = client->max_message;
    int rc = mcp__channel_new(&client_role, client, &o, client->allocator, &client->channel, error);
    if (rc != MCP_OK)
        return rc;
    if (client->state == MCP__CLIENT_LOST)
        client->state = MCP__CLIENT_IDLE;
    *ret = client->channel;
    return MCP_OK;
}

void mcp_client_disconnected(mcp_client *client, const char *why)
{
    mcp_channel *channel = client->channel;
    bool starting = client->state == MCP__CLIENT_STARTING;
    client->why = why ? why : mcp_error_text(MCP_ECLOSED);
    client->channel = NULL;
    client->state = MCP__CLIENT_LOST;
    client->probes = 0;
    mcp_channel_free(channel); /* fails what is out, the start's request too */
    mcp_error error;
    mcp__fail(&error, MCP_ECLOSED, 0, "%s", client->why);
    if (client->wanted && !starting)
        mcp__client_start_failed(client, MCP_ECLOSED, NULL, &error);
    mcp__client_fail_queue(client, MCP_ECLOSED, NULL, &error);
    client->why = NULL;
}

/* ---- what was found out ------------------------------------------------------------------------------ */

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

/* ---- contents ----------------------------------------------------------------------------------------- */

int mcp_base64_decode(void *to, mcp_str text, size_t *ret)
{
    size_t n = mcp__base64_decode(to, text);
    if (n == SIZE_MAX)
        return MCP_EPARSE;
    *ret = n;
    return MCP_OK;
}
