/* session.c: the server's side of a channel: which era a request belongs to, the handshakes of both.
 *
 * A modern request says everything about itself in its _meta; a legacy one is understood by what
 * `initialize` agreed on. One channel serves both at once.
 */
#include "server/input.h"
#include "server/mirror.h"
#include "server/server.h"

/* ---- life -------------------------------------------------------------------------------------------- */

int mcp_server_connect(mcp_server *server, const mcp_channel_options *options, mcp_channel **ret,
                       mcp_error *error)
{
    mcp__session *session = mcp__zalloc(&server->allocator, sizeof(*session));
    if (!session)
        return mcp__fail(error, MCP_ENOMEM, 0, "no memory for a channel");
    session->server = server;
    session->due = INT64_MAX;
    session->log_level = MCP_LOG_INFO;
    mcp__list_init(&session->streams);
    mcp__list_init(&session->dirty);
    mcp__list_init(&session->dirty_tasks);
    mcp__list_init(&session->elicitations);
    mcp__stream_init(&session->legacy, session, NULL);
    int rc = mcp__channel_new(&mcp__server_role, session, options, &server->allocator,
                              &session->channel, error);
    if (rc != MCP_OK) {
        mcp__release(&server->allocator, session);
        return rc;
    }
    mcp__list_append(&server->sessions, &session->link);
    *ret = session->channel;
    return MCP_OK;
}

static void role_release(mcp_channel *channel)
{
    mcp__session *session = channel->state;
    mcp__stream_clear(&session->legacy);
    mcp__deadline_stop_all(session);
    mcp__tasks_forget(session->server, session);
    mcp__list_remove(&session->link);
    mcp__elicitations_free(session);
    mcp_json_free(session->initialize);
    mcp__release(channel->allocator, session);
}

static void role_close(mcp_channel *channel)
{
    mcp__session *session = channel->state;
    mcp__stream_clear(&session->legacy);
    for (mcp__link *l = session->streams.next; l != &session->streams;) {
        mcp__stream *stream = mcp__container(l, mcp__stream, link);
        l = l->next;
        if (stream->listen)
            mcp__listen_close(stream->listen);
    }
}

/* ---- which era ------------------------------------------------------------------------------------------ */

/* Checks a modern request's _meta; the row, or NULL after the error was set. */
static const mcp__revision *modern_revision(mcp_request *req, const mcp_json *meta)
{
    const mcp_json *version = mcp_json_get(meta, MCP__META_REVISION);
    req->revision = mcp__revision_newest(true);
    if (mcp__mirror_check_revision(req) != MCP_OK)
        return NULL;
    if (!mcp_json_is(version, MCP_JSON_STRING)) {
        mcp_reply_fail(req, MCP__INVALID_PARAMS,
                       "Invalid params: _meta \"" MCP__META_REVISION "\" must be a string");
        return NULL;
    }
    mcp_str name = mcp_json_string(version);
    const mcp__revision *r = mcp__revision_find(name);
    if (!r || !r->modern) {
        mcp__buf data;
        mcp__buf_init(&data, &req->server->allocator, SIZE_MAX);
        mcp__buf_lit(&data, "{\"supported\":");
        mcp__put_modern_revisions(&data);
        mcp__buf_lit(&data, ",\"requested\":");
        mcp__json_put_str(&data, name);
        mcp__buf_add(&data, "}", 2);
        mcp_reply_fail_data(req, MCP__UNSUPPORTED_REVISION, data.failed ? NULL : data.ptr,
                            "Unsupported protocol version");
        mcp__buf_free(&data);
        return NULL;
    }
    if (!mcp_json_is(mcp_json_get(meta, MCP__META_CAPABILITIES), MCP_JSON_OBJECT)) {
        mcp_reply_fail(req, MCP__INVALID_PARAMS,
                       "Invalid params: _meta \"" MCP__META_CAPABILITIES
                       "\" must be an object; every request of %s carries it",
                       r->name);
        return NULL;
    }
    const mcp_json *info = mcp_json_get(meta, MCP__META_CLIENT_INFO);
    if (info && !mcp_json_is(info, MCP_JSON_OBJECT)) {
        mcp_reply_fail(req, MCP__INVALID_PARAMS,
                       "Invalid params: _meta \"" MCP__META_CLIENT_INFO "\" must be an object");
        return NULL;
    }
    const mcp_json *level = mcp_json_get(meta, MCP__META_LOG_LEVEL);
    if (level && mcp__log_level(mcp_json_string(level)) < 0) {
        mcp_reply_fail(req, MCP__INVALID_PARAMS,
                       "Invalid params: _meta \"" MCP__META_LOG_LEVEL "\" is no log level");
        return NULL;
    }
    return mcp__mirror_check_method(req) == MCP_OK ? r : NULL;
}

/* What a peer may ask that has neither said its revision nor begun a session. */
static const mcp__revision *early_revision(mcp_request *req)
{
    mcp_str method = req->in.message.method;
    req->revision = mcp__revision_newest(false);
    if (mcp_str_eq(method, MCP_STR("initialize")) || mcp_str_eq(method, MCP_STR("ping")))
        return req->revision;
    mcp__buf served;
    mcp__buf_init(&served, &req->server->allocator, SIZE_MAX);
    for (size_t i = 0; i < mcp__revision_count; i++)
        mcp__buf_printf(&served, "%s%s", i ? ", " : "", mcp__revisions[i].name);
    mcp_reply_fail(req, MCP__INVALID_PARAMS,
                   "Invalid params: the request has no _meta with \"" MCP__META_REVISION
                   "\" and \"" MCP__META_CAPABILITIES
                   "\", and initialize was not received; served are %.*s",
                   served.failed ? 0 : (int)served.len, served.ptr);
    mcp__buf_free(&served);
    return NULL;
}

/* Whether the transport's own metadata says that the request is a modern one. */
static bool says_modern(mcp_request *req)
{
    mcp_channel *channel = req->in.channel;
    mcp_str value;
    if (!channel->options.header ||
        !channel->options.header(channel, req->in.exchange, "MCP-Protocol-Version", &value,
                                 channel->options.user))
        return false;
    const mcp__revision *r = mcp__revision_find(value);
    return r && r->modern;
}

static const mcp__revision *revision_of(mcp_request *req, const mcp__session *session)
{
    const mcp_json *params = req->in.message.params;
    const mcp_json *meta = mcp_json_get(params, "_meta");
    if (mcp_json_get(meta, MCP__META_REVISION) == NULL && !says_modern(req)) {
        req->revision = session->revision;
        if (meta && !mcp_json_is(meta, MCP_JSON_OBJECT)) {
            req->revision = session->revision ? session->revision : mcp__revision_newest(true);
            mcp_reply_fail(req, MCP__INVALID_PARAMS, "Invalid params: \"_meta\" must be an object");
            return NULL;
        }
        return session->revision ? session->revision : early_revision(req);
    }
    if (req->in.batch) {
        req->revision = mcp__revision_newest(true);
        mcp_reply_fail(req, MCP__INVALID_REQUEST, "Invalid request: %s has no batches",
                       req->revision->name);
        return NULL;
    }
    return modern_revision(req, meta);
}

/* ---- the channel's role ------------------------------------------------------------------------------------ */

static void role_request(mcp__incoming *in)
{
    mcp_request *req = mcp__container(in, mcp_request, in);
    mcp__session *session = in->channel->state;
    req->server = session->server;
    mcp__arena_init(&req->arena, in->allocator, NULL, 0);
    mcp__buf_init(&req->out, in->allocator, 0);
    const mcp__revision *revision = revision_of(req, session);
    if (!revision) {
        req->in.malformed = true;
        mcp__request_finish(req, MCP_EINVAL);
        return;
    }
    req->revision = revision;
    mcp__dispatch(req);
}

static void role_cancel(mcp__incoming *in)
{
    mcp_request *req = mcp__container(in, mcp_request, in);
    if (req->state == MCP__REQUEST_LISTENING) {
        mcp__listen_end(req);
        return;
    }
    if (req->cancelled)
        return;
    req->cancelled = true;
    if (req->state == MCP__REQUEST_WAITING) {
        mcp__input_abandon(req);
        mcp__request_finish(req, MCP_ECANCELLED); /* no handler has it now */
    } else {
        mcp__request_stop(req);
    }
}

static void note_cancelled(mcp_channel *channel, const mcp_json *params)
{
    const mcp_json *id = mcp_json_get(params, "requestId");
    mcp__incoming *in = mcp__is_id(id) ? mcp__channel_find(channel, id) : NULL;
    if (in && !mcp_str_eq(in->message.method, MCP_STR("initialize")))
        role_cancel(in);
}

static void note_initialized(mcp__session *session)
{
    if (!session->revision || session->initialized)
        return;
    session->initialized = true;
    mcp__stream_set_lists(&session->legacy, mcp__hub_lists(session->server));
}

static void role_notification(mcp_channel *channel, const mcp__message *message)
{
    if (mcp_str_eq(message->method, MCP_STR("notifications/cancelled")))
        note_cancelled(channel, message->params);
    else if (mcp_str_eq(message->method, MCP_STR("notifications/initialized")))
        note_initialized(channel->state);
    /* Every other one is unknown or of no interest, and a notification is never answered. */
}

static void role_tick(mcp_channel *channel, int64_t now)
{
    mcp__session *session = channel->state;
    mcp__tasks_tick(session->server);
    mcp__hub_tick(session, now);
    mcp__deadline_tick(session, now);
}

static int64_t role_deadline(const mcp_channel *channel)
{
    int64_t hub = mcp__hub_deadline(channel->state);
    int64_t handlers = mcp__deadline_next(channel->state);
    int64_t tasks = mcp__tasks_deadline(channel);
    return MCP__MIN(MCP__MIN(hub, handlers), tasks);
}

static bool role_batches(const mcp_channel *channel)
{
    const mcp__session *session = channel->state;
    return session->revision && session->revision->batches;
}

static mcp__no_id role_no_id(const mcp_channel *channel)
{
    const mcp__session *session = channel->state;
    return session->revision ? session->revision->no_id : MCP__NO_ID_ABSENT;
}

static const char *role_revision(const mcp_channel *channel)
{
    const mcp__session *session = channel->state;
    return session->revision ? session->revision->name : NULL;
}

static bool role_assume(mcp_channel *channel, mcp_str revision)
{
    mcp__session *session = channel->state;
    const mcp__revision *r = mcp__revision_find(revision);
    if (!r || r->modern)
        return false;
    session->revision = r;
    return true;
}

const mcp__role mcp__server_role = {
    .request_size = sizeof(mcp_request),
    .request = role_request,
    .cancel = role_cancel,
    .notification = role_notification,
    .tick = role_tick,
    .deadline = role_deadline,
    .close = role_close,
    .release = role_release,
    .batches = role_batches,
    .revision = role_revision,
    .assume = role_assume,
    .no_id = role_no_id,
};

/* ---- initialize, discover, ping ------------------------------------------------------------------------------- */

static void put_instructions(const mcp_request *req, mcp__buf *b)
{
    if (!req->server->instructions)
        return;
    mcp__buf_lit(b, ",\"instructions\":");
    mcp__json_put_str(b, mcp_str_from(req->server->instructions));
}

static void initialize_tail(mcp_request *req, mcp__buf *b)
{
    mcp__buf_lit(b, ",\"protocolVersion\":");
    mcp__json_put_str(b, mcp_str_from(req->revision->name));
    mcp__buf_lit(b, ",\"capabilities\":");
    mcp__put_capabilities(b, req->in.channel, req->revision);
    mcp__buf_lit(b, ",\"serverInfo\":");
    mcp__buf_str(b, req->server->info[mcp__revision_index(req->revision)]);
    put_instructions(req, b);
}

static const mcp__method initialize_reply = {.name = "initialize", .tail = initialize_tail};

/* Keeps a copy of the params, which hold the client's capabilities. */
static int keep_params(mcp__session *session, const mcp_json *params)
{
    mcp__buf text;
    mcp__buf_init(&text, &session->server->allocator, SIZE_MAX);
    mcp__json_put_value(&text, params);
    int rc = text.failed;
    if (rc == MCP_OK)
        rc = mcp_json_parse(mcp__buf_view(&text), NULL, &session->server->allocator,
                            &session->initialize, NULL);
    mcp__buf_free(&text);
    return rc;
}

int mcp__run_initialize(mcp_request *req)
{
    mcp__session *session = req->in.channel->state;
    const mcp_json *params = req->in.message.params;
    mcp_str version = mcp__param_string(req, "protocolVersion");
    if (!version.ptr)
        return MCP_EINVAL;
    const char *objects[] = {"capabilities", "clientInfo"};
    for (size_t i = 0; i < MCP__COUNT(objects); i++) {
        if (!mcp_json_is(mcp_json_get(params, objects[i]), MCP_JSON_OBJECT))
            return mcp_reply_fail(req, MCP__INVALID_PARAMS,
                                  "Invalid params: \"%s\" must be an object", objects[i]);
    }
    if (session->revision)
        return mcp_reply_fail(req, MCP__INVALID_REQUEST,
                              "Invalid request: this session was initialized already");
    int rc = keep_params(session, params);
    if (rc != MCP_OK)
        return rc;
    session->revision = req->revision = mcp__revision_negotiate(version);
    req->method = &initialize_reply;
    return MCP_OK;
}

static void discover_tail(mcp_request *req, mcp__buf *b)
{
    mcp__buf_lit(b, ",\"supportedVersions\":");
    mcp__put_modern_revisions(b);
    mcp__buf_lit(b, ",\"capabilities\":");
    mcp__put_capabilities(b, req->in.channel, req->revision);
    put_instructions(req, b);
}

static const mcp__method discover_reply = {
    .name = "server/discover", .cacheable = true, .is_list = true, .tail = discover_tail};

int mcp__run_discover(mcp_request *req)
{
    req->method = &discover_reply;
    return MCP_OK;
}

int mcp__run_ping(mcp_request *req)
{
    (void)req;
    return MCP_OK;
}

/* ---- subscriptions ------------------------------------------------------------------------------------------------ */

int mcp__run_subscribe(mcp_request *req)
{
    mcp__session *session = req->in.channel->state;
    mcp_str uri = mcp__param_string(req, "uri");
    if (!uri.ptr)
        return MCP_EINVAL;
    req->uri = uri;
    int rc = mcp__stream_subscribe(&session->legacy, uri);
    if (rc == MCP_ELIMIT)
        return mcp_reply_fail(
            req, MCP__INVALID_PARAMS,
            "Invalid params: more subscriptions than max_subscriptions (%zu) allows",
            req->in.channel->options.max_subscriptions);
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

int mcp__run_listen(mcp_request *req)
{
    return mcp__listen_open(req);
}
