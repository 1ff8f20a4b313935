/* subscribe.c: subscriptions/listen, a request that stays open as a stream of notifications
 * (2026-07-28, basic/patterns/subscriptions), and resources/subscribe of legacy revisions. hub.c
 * has the streams.
 */
#include "server/core/access.h"
#include "server/core/audit.h"
#include "server/core/build.h"
#include "server/core/decide.h"
#include "server/methods/methods.h"
#include "server/tasks/tasks.h"

static const struct {
    const char *name;
    mcp__kind kind;
} list_filters[] = {
    {"resourcesListChanged", MCP__RESOURCES},
    {"promptsListChanged", MCP__PROMPTS},
    {"toolsListChanged", MCP__TOOLS},
};

static int bad_filter(mcp_request *req, const char *name, const char *kind)
{
    return mcp_reply_fail(req, MCP__INVALID_PARAMS,
                          "Invalid params: \"notifications.%s\" must be %s", name, kind);
}

/* Reads the requested lists. Returns false after setting an error. */
static bool read_lists(mcp_request *req, const mcp_json *filter, unsigned *lists)
{
    for (size_t i = 0; i < MCP__COUNT(list_filters); i++) {
        const mcp_json *wanted = mcp_json_get(filter, list_filters[i].name);
        if (wanted && !mcp_json_is(wanted, MCP_JSON_BOOL)) {
            bad_filter(req, list_filters[i].name, "a boolean");
            return false;
        }
        if (mcp_json_bool(wanted, false))
            *lists |= 1u << list_filters[i].kind;
    }
    return true;
}

static bool check_uris(mcp_request *req, const mcp_json *uris)
{
    if (uris && !mcp_json_is(uris, MCP_JSON_ARRAY)) {
        bad_filter(req, "resourceSubscriptions", "an array of strings");
        return false;
    }
    mcp_json_iter it = {0};
    for (const mcp_json *u; (u = mcp_json_next(uris, &it, NULL)) != NULL;) {
        if (!mcp_json_is(u, MCP_JSON_STRING)) {
            bad_filter(req, "resourceSubscriptions", "an array of strings");
            return false;
        }
    }
    return true;
}

static void put_lists(mcp__object *honoured, unsigned lists)
{
    for (size_t i = 0; i < MCP__COUNT(list_filters); i++) {
        if (!(lists & 1u << list_filters[i].kind))
            continue;
        mcp__object_key(honoured, list_filters[i].name);
        mcp__buf_lit(honoured->buf, "true");
    }
}

/* Subscribes to those URIs that can be watched, and names them in the acknowledgement. */
static int subscribe_all(mcp_request *req, const mcp_json *uris, mcp__object *honoured)
{
    if (!uris || req->server->options.no_subscribe ||
        !mcp__server_offers(req->server, MCP__RESOURCES))
        return MCP_OK;
    mcp__object_key(honoured, "resourceSubscriptions");
    mcp__json_list accepted = mcp__json_begin_array(honoured->buf);
    mcp_json_iter it = {0};
    for (const mcp_json *u; (u = mcp_json_next(uris, &it, NULL)) != NULL;) {
        mcp_str uri = mcp_json_string(u);
        int rc = mcp__stream_subscribe(req->stream, uri);
        if (rc == MCP_ENOMEM || rc == MCP_ELIMIT)
            return rc;
        if (rc != MCP_OK)
            continue;
        mcp__json_next(&accepted);
        mcp__json_put_str(honoured->buf, uri);
    }
    mcp__json_end(&accepted);
    return MCP_OK;
}

static int acknowledge(mcp_request *req, const mcp_json *filter, unsigned lists, mcp__buf *b)
{
    mcp__put_notification_head(b, MCP_STR("notifications/subscriptions/acknowledged"));
    mcp__buf_lit(b, "{\"_meta\":{\"" MCP__META_SUBSCRIPTION "\":");
    mcp__buf_str(b, mcp__request_id(req));
    mcp__buf_lit(b, "},\"notifications\":");
    mcp__object honoured = mcp__object_begin(b, req->revision);
    put_lists(&honoured, lists);
    int rc = subscribe_all(req, mcp_json_get(filter, "resourceSubscriptions"), &honoured);
    if (rc == MCP_OK)
        rc = mcp__task_listen(req, filter, &honoured);
    mcp__object_end(&honoured);
    mcp__buf_lit(b, "}}");
    return rc == MCP_OK ? b->failed : rc;
}

static void stream_free(mcp_request *req)
{
    if (!req->stream)
        return;
    req->stream->session->n_listens--;
    mcp__stream_clear(req->stream);
    mcp__list_remove(&req->stream->link);
    mcp__release(req->in.allocator, req->stream);
    req->stream = NULL;
}

static int too_many(mcp_request *req)
{
    return mcp_reply_fail(req, MCP__INVALID_PARAMS,
                          "Invalid params: more subscriptions than max_subscriptions (%zu) allows",
                          req->in.channel->options.max_subscriptions);
}

int mcp__run_listen(mcp_request *req)
{
    mcp__session *session = req->in.channel->state;
    const mcp_json *filter = mcp_json_get(req->in.message.params, "notifications");
    const mcp_json *uris = mcp_json_get(filter, "resourceSubscriptions");
    unsigned lists = 0;
    if (!mcp_json_is(filter, MCP_JSON_OBJECT))
        return mcp_reply_fail(req, MCP__INVALID_PARAMS,
                              "Invalid params: \"notifications\" must be an object");
    if (!read_lists(req, filter, &lists) || !check_uris(req, uris))
        return MCP_EINVAL;
    int rc = mcp__task_listen_check(req, filter);
    if (rc != MCP_OK)
        return rc;
    /* An open stream costs memory even if it subscribes to nothing. */
    if (session->n_listens >= req->in.channel->options.max_subscriptions)
        return too_many(req);
    rc = mcp__decide_all(req, uris);
    if (rc != MCP_OK)
        return rc;
    req->stream = mcp__zalloc(req->in.allocator, sizeof(*req->stream));
    if (!req->stream)
        return MCP_ENOMEM;
    mcp__stream_init(req->stream, session, req);
    mcp__stream_adopt(req->stream);
    mcp__list_append(&session->streams, &req->stream->link);
    session->n_listens++;
    lists &= mcp__hub_lists(req->server);

    mcp__buf b = mcp__channel_take_buf(req->in.channel);
    rc = acknowledge(req, filter, lists, &b);
    if (rc == MCP_OK) {
        mcp__channel_send(req->in.channel, req->in.exchange, mcp__buf_view(&b),
                          (mcp_output_info){0});
        mcp__stream_set_lists(req->stream, lists);
        if (req->server->audit.ended)
            mcp__audit_end(req); /* while the message exists */
        req->caller = NULL;      /* it points into the message, which is freed soon */
        mcp__incoming_set_long_lived(&req->in);
    } else {
        stream_free(req);
    }
    mcp__channel_give_buf(req->in.channel, &b);
    if (rc == MCP_ELIMIT)
        return too_many(req);
    return rc == MCP_OK ? MCP_PENDING : rc;
}

/* What is kept of the struct of an open subscription. */
enum { KEPT = offsetof(mcp_request, finish) };

void mcp__listen_shrink(mcp_request *req)
{
    mcp__stream *stream = req->stream;
    mcp__arena_free(&req->arena);
    mcp__channel_give_buf(req->in.channel, &req->reply.out);
    mcp__arena_init(&req->arena, req->in.allocator, NULL, 0);
    mcp__buf_init(&req->reply.out, req->in.allocator, 0);
    mcp__incoming *in = mcp__incoming_shrink(&req->in, KEPT);
    stream->listen = mcp__container(in, mcp_request, in);
}

/* Returns the subscription with all members, or NULL if out of memory. */
static mcp_request *grow(mcp_request *req)
{
    mcp__incoming *in = mcp__incoming_grow(&req->in, KEPT);
    if (!in)
        return NULL;
    req = mcp__container(in, mcp_request, in);
    req->stream->listen = req;
    req->used.recorded = true; /* when it began */
    mcp__arena_init(&req->arena, in->allocator, NULL, 0);
    mcp__buf_init(&req->reply.out, in->allocator, 0);
    return req;
}

void mcp__listen_end(mcp_request *req)
{
    stream_free(req);
    if (req->in.shrunk) {
        mcp__build_give(req);
        mcp_identity_unref(req->identity);
    } else {
        mcp__request_clear(req);
    }
    mcp__incoming_drop(&req->in);
}

void mcp__listen_close(mcp_request *req)
{
    mcp_request *whole = req->in.shrunk ? grow(req) : req;
    if (!whole) {
        mcp__listen_end(req); /* without its last message */
        return;
    }
    req = whole;
    mcp_channel *channel = req->in.channel;
    mcp_exchange exchange = req->in.exchange;
    mcp__buf b = mcp__channel_take_buf(channel);
    mcp__put_notification_head(&b, MCP_STR("notifications/cancelled"));
    mcp__buf_lit(&b, "{\"requestId\":");
    mcp__buf_str(&b, mcp__request_id(req));
    mcp__buf_lit(&b, ",\"reason\":\"the server ends the subscription\"}}");

    stream_free(req);
    mcp__reply_meta(req, MCP__META_SUBSCRIPTION, mcp__request_id(req));
    mcp__request_finish(req, MCP_OK);
    if (channel->options.shared_stream && !channel->closed && !b.failed)
        mcp__channel_send(channel, exchange, mcp__buf_view(&b), (mcp_output_info){0});
    mcp__channel_give_buf(channel, &b);
}

/* ---- legacy: the session's stream of notifications ------------------------------------------- */

int mcp__run_subscribe(mcp_request *req)
{
    mcp__session *session = req->in.channel->state;
    mcp_str uri = mcp__param_string(req, "uri");
    if (!uri.ptr)
        return MCP_EINVAL;
    req->target.uri = uri;
    if (!mcp__may_read(req->server, mcp_request_identity(req), uri))
        return mcp__access_refuse(req, MCP_ITEM_RESOURCE, uri);
    int rc = mcp__decide(req, MCP_OPERATION_READ, MCP_ITEM_RESOURCE, uri);
    if (rc == MCP_ENOTFOUND)
        return mcp__access_refuse(req, MCP_ITEM_RESOURCE, uri);
    if (rc != MCP_OK)
        return rc;
    mcp__stream_adopt(&session->legacy);
    rc = mcp__stream_subscribe(&session->legacy, uri);
    if (rc == MCP_ELIMIT)
        return mcp_reply_fail(
            req, MCP__INVALID_PARAMS,
            "Invalid params: more subscriptions than max_subscriptions (%zu) allows",
            req->in.channel->options.max_subscriptions);
    if (rc == MCP_ENOTFOUND)
        return mcp__access_refuse(req, MCP_ITEM_RESOURCE, uri);
    if (rc == MCP_EUNSUPPORTED)
        return mcp_reply_fail(req, MCP__INVALID_PARAMS,
                              "Invalid params: this resource cannot be watched");
    return rc;
}

int mcp__run_unsubscribe(mcp_request *req)
{
    mcp__session *session = req->in.channel->state;
    mcp_str uri = mcp__param_string(req, "uri");
    if (!uri.ptr)
        return MCP_EINVAL;
    mcp__stream_unsubscribe(&session->legacy, uri);
    return MCP_OK;
}
