/* call.c: one request of ours: made ready, queued until the start is through, sent, its answer judged.
 *
 * The surprising thing: params are taken apart when the call is made, so that a bad one is refused to
 * the caller, and put together when it is sent, because only then it is known what _meta has to hold.
 */
#include "client/client.h"

/* ---- answers ---------------------------------------------------------------------------------------- */

static int judge_result(const mcp__revision *r, const mcp_json *result, mcp_error *error)
{
    if (!mcp_json_is(result, MCP_JSON_OBJECT))
        return mcp__fail(error, MCP_EPROTOCOL, 0,
                         "the server answered with %s instead of an object",
                         mcp_json_type_name(mcp_json_typeof(result)));
    const mcp_json *type = mcp_json_get(result, "resultType");
    if (!type || !r->result_type)
        return MCP_OK;
    mcp_str text = mcp_json_string(type);
    if (mcp_str_eq(text, MCP_STR("complete")))
        return MCP_OK;
    if (mcp_str_eq(text, MCP_STR("input_required")))
        return mcp__fail(error, MCP_EUNSUPPORTED, 0,
                         "the server asks for input that this client does not give");
    if (!mcp_json_is(type, MCP_JSON_STRING))
        return mcp__fail(error, MCP_EPROTOCOL, 0, "the answer's resultType is %s, not a string",
                         mcp_json_type_name(mcp_json_typeof(type)));
    return mcp__fail(error, MCP_EPROTOCOL, 0, "the answer is of the unknown resultType \"%.*s\"",
                     (int)MCP__MIN(text.len, (size_t)64), text.ptr);
}

static int judge_error(const mcp_json *e, mcp_error *error)
{
    mcp_str text = mcp_json_string(mcp_json_get(e, "message"));
    if (text.len)
        return mcp__fail(error, MCP_EREMOTE, 0, "%.*s",
                         (int)MCP__MIN(text.len, sizeof(error->text)), text.ptr);
    return mcp__fail(error, MCP_EREMOTE, 0, "error %lld without a message",
                     (long long)mcp_json_int(mcp_json_get(e, "code"), 0));
}

int mcp__client_judge(const mcp_client *client, const mcp__revision *r, uint64_t ms, int rc,
                      const mcp_json *result, mcp_error *error)
{
    switch (rc) {
    case MCP_OK: return judge_result(r, result, error);
    case MCP_EREMOTE: return judge_error(result, error);
    case MCP_ETIMEOUT:
        return mcp__fail(error, rc, 0, "no answer within %llu.%03u s",
                         (unsigned long long)(ms / 1000), (unsigned)(ms % 1000));
    case MCP_EPROTOCOL:
        return mcp__fail(error, rc, 0, "the answer is malformed: %s",
                         client->why ? client->why : mcp_error_text(rc));
    default: return mcp__fail(error, rc, 0, "%s", client->why ? client->why : mcp_error_text(rc));
    }
}

static void cancel(mcp_channel *channel, int64_t id)
{
    mcp__buf b = mcp__channel_take_buf(channel);
    mcp__buf_lit(&b, "{\"requestId\":");
    mcp__json_put_int(&b, id);
    mcp__buf_lit(&b, ",\"reason\":\"time-out\"}");
    if (!b.failed)
        mcp__channel_notify(channel, 0, MCP_STR("notifications/cancelled"), mcp__buf_view(&b));
    mcp__channel_give_buf(channel, &b);
}

static void finish(mcp__call *call, int rc, const mcp_json *result, const mcp_error *error)
{
    mcp_client *client = call->client;
    mcp_result_fn *fn = call->fn;
    void *user = call->user;
    mcp__release(client->allocator, call);
    if (fn)
        fn(client, rc, result, rc == MCP_OK ? NULL : error, user);
}

static void on_answer(mcp_channel *channel, int rc, const mcp_json *result, void *user)
{
    mcp__call *call = user;
    mcp_client *client = call->client;
    mcp_error error = {0};
    rc = mcp__client_judge(client, client->revision, client->timeout_ms, rc, result, &error);
    if (rc == MCP_ETIMEOUT)
        cancel(channel, call->id);
    finish(call, rc, rc == MCP_OK || rc == MCP_EREMOTE ? result : NULL, &error);
}

/* ---- sending ---------------------------------------------------------------------------------------- */

void mcp__client_put_meta(const mcp_client *client, const mcp__revision *r, mcp__buf *b)
{
    mcp__buf_lit(b, "\"" MCP__META_REVISION "\":\"");
    mcp__buf_str(b, mcp_str_from(r->name));
    mcp__buf_lit(b, "\",\"" MCP__META_CLIENT_INFO "\":");
    mcp__buf_str(b, mcp__buf_view(&client->info));
    mcp__buf_lit(b, ",\"" MCP__META_CAPABILITIES "\":{}");
}

static void put_params(const mcp__call *call, mcp__buf *b)
{
    const mcp__revision *r = call->client->revision;
    mcp__buf_char(b, '{');
    mcp__buf_str(b, call->members);
    if (r->modern || call->meta.len) {
        if (call->members.len)
            mcp__buf_char(b, ',');
        mcp__buf_lit(b, "\"_meta\":{");
        if (r->modern)
            mcp__client_put_meta(call->client, r, b);
        if (r->modern && call->meta.len)
            mcp__buf_char(b, ',');
        mcp__buf_str(b, call->meta);
        mcp__buf_char(b, '}');
    }
    mcp__buf_char(b, '}');
}

static int send(mcp__call *call)
{
    mcp_client *client = call->client;
    mcp__buf b = mcp__channel_take_buf(client->channel);
    put_params(call, &b);
    int rc = b.failed;
    if (rc == MCP_OK)
        rc = mcp__channel_request(client->channel, 0, call->method, mcp__buf_view(&b),
                                  client->timeout_ms, on_answer, call, &call->id);
    mcp__channel_give_buf(client->channel, &b);
    return rc;
}

static mcp__call *take_first(mcp__link *queue)
{
    mcp__call *call = mcp__container(queue->next, mcp__call, link);
    mcp__list_remove(&call->link);
    return call;
}

void mcp__client_flush(mcp_client *client)
{
    while (client->state == MCP__CLIENT_READY && !mcp__list_empty(&client->queue)) {
        mcp__call *call = take_first(&client->queue);
        int rc = send(call);
        if (rc != MCP_OK) {
            mcp_error error;
            mcp__fail(&error, rc, 0, "%s", mcp_error_text(rc));
            finish(call, rc, NULL, &error);
        }
    }
}

void mcp__client_fail_queue(mcp_client *client, int rc, const mcp_json *result,
                            const mcp_error *error)
{
    /* Only what waits now: a callback may ask again. */
    mcp__link failing;
    mcp__list_init(&failing);
    while (!mcp__list_empty(&client->queue))
        mcp__list_append(&failing, &take_first(&client->queue)->link);
    while (!mcp__list_empty(&failing))
        finish(take_first(&failing), rc, result, error);
}

void mcp__client_wake(mcp_client *client)
{
    if (client->channel)
        mcp__channel_wake(client->channel);
}

/* ---- making a call ---------------------------------------------------------------------------------- */

static bool is_ours(mcp_str key)
{
    return mcp_str_eq(key, MCP_STR(MCP__META_REVISION)) ||
           mcp_str_eq(key, MCP_STR(MCP__META_CLIENT_INFO)) ||
           mcp_str_eq(key, MCP_STR(MCP__META_CAPABILITIES));
}

static bool is_meta(mcp_str key)
{
    return mcp_str_eq(key, MCP_STR("_meta"));
}

/* The members of an object, one after another, without those that are left out. */
static void put_members(mcp__buf *b, const mcp_json *object, bool (*left_out)(mcp_str key))
{
    size_t start = b->len;
    mcp_json_iter it = {0};
    mcp_str key;
    for (const mcp_json *v; (v = mcp_json_next(object, &it, &key)) != NULL;) {
        if (left_out(key))
            continue;
        if (b->len != start)
            mcp__buf_char(b, ',');
        mcp__json_put_str(b, key);
        mcp__buf_char(b, ':');
        mcp__json_put_value(b, v);
    }
}

static int take_apart(mcp_str params, const mcp_allocator *a, mcp__buf *b, size_t *members)
{
    mcp_json_doc *doc = NULL;
    *members = 0;
    if (params.len == 0)
        return MCP_OK;
    mcp_json_limits limits = {.size = sizeof(limits), .max_depth = MCP__JSON_DEEPEST};
    int rc = mcp_json_parse(params, &limits, a, &doc, NULL);
    if (rc != MCP_OK)
        return rc;
    const mcp_json *root = mcp_json_root(doc);
    const mcp_json *meta = mcp_json_get(root, "_meta");
    if (!mcp_json_is(root, MCP_JSON_OBJECT) || (meta && !mcp_json_is(meta, MCP_JSON_OBJECT))) {
        mcp_json_free(doc);
        return MCP_EINVAL;
    }
    put_members(b, root, is_meta);
    *members = b->len;
    put_members(b, meta, is_ours);
    mcp_json_free(doc);
    return b->failed;
}

/* The texts go behind the struct: the method, the members, the caller's _meta. */
static mcp__call *call_of(mcp_client *client, mcp_str method, const mcp__buf *b, size_t members)
{
    mcp__call *call = mcp__alloc(client->allocator, sizeof(*call) + method.len + b->len);
    if (!call)
        return NULL;
    char *at = (char *)(call + 1);
    *call = (mcp__call){.client = client,
                        .method = {at, method.len},
                        .members = {at + method.len, members},
                        .meta = {at + method.len + members, b->len - members}};
    mcp__list_init(&call->link);
    memcpy(at, method.ptr, method.len);
    if (b->ptr)
        memcpy(at + method.len, b->ptr, b->len);
    return call;
}

static int call_new(mcp_client *client, const char *method, const char *params, mcp__call **ret)
{
    mcp__buf b;
    size_t members;
    mcp__buf_init(&b, client->allocator, 0);
    int rc = take_apart(mcp_str_from(params), client->allocator, &b, &members);
    if (rc == MCP_OK) {
        *ret = call_of(client, mcp_str_from(method), &b, members);
        rc = *ret ? MCP_OK : MCP_ENOMEM;
    }
    mcp__buf_free(&b);
    return rc;
}

static bool can_send(const mcp_client *client)
{
    return client->state == MCP__CLIENT_READY && client->channel->in_use &&
           mcp__list_empty(&client->queue);
}

int mcp_client_call(mcp_client *client, const char *method, const char *params, mcp_result_fn *fn,
                    void *user)
{
    if (!client || !method || !*method)
        return MCP_EINVAL;
    if (client->state == MCP__CLIENT_LOST)
        return MCP_ECLOSED;
    if (client->state == MCP__CLIENT_FAILED)
        return MCP_ESTATE;
    mcp__call *call = NULL;
    int rc = call_new(client, method, params, &call);
    if (rc != MCP_OK)
        return rc;
    call->fn = fn;
    call->user = user;
    if (!can_send(client)) {
        mcp__list_append(&client->queue, &call->link);
        mcp__client_wake(client);
        return MCP_OK;
    }
    rc = send(call);
    if (rc != MCP_OK)
        mcp__release(client->allocator, call);
    return rc;
}
