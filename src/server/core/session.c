/* session.c: the server's side of a channel, and the handshakes of both eras. */
#include "server/core/method.h"
#include "server/core/session.h"
#include "server/input/input.h"
#include "server/methods/methods.h"
#include "server/tasks/tasks.h"

/* ---- life -------------------------------------------------------------------------------------------- */

int mcp_server_connect(mcp_server *server, const mcp_channel_options *options, mcp_channel **ret,
                       mcp_error *error)
{
    mcp__no_error(error);
    if (!server || !ret)
        return mcp__fail(error, MCP_EINVAL, 0, "a server and a place for the channel are needed");
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

/* ---- the channel's role ------------------------------------------------------------------------------------ */

static void role_request(mcp__incoming *in)
{
    mcp_request *req = mcp__container(in, mcp_request, in);
    const mcp__session *session = in->channel->state;
    req->server = session->server;
    mcp__arena_init(&req->arena, in->allocator, NULL, 0);
    mcp__buf_init(&req->out, in->allocator, 0);
    const mcp__revision *revision = mcp__era_find(req);
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
    mcp__input_send_held(session);
}

static void role_notification(mcp_channel *channel, const mcp__message *message)
{
    if (mcp_str_eq(message->method, MCP_STR("notifications/cancelled")))
        note_cancelled(channel, message->params);
    else if (mcp_str_eq(message->method, MCP_STR("notifications/initialized")))
        note_initialized(channel->state);
    /* Every other one is unknown or of no interest, and a notification is never answered. */
}

/* ---- a second initialize ---------------------------------------------------------------------------------------- */

/* The request belongs to the session that ends. */
static void end_request(mcp_request *req)
{
    static const mcp_str why = MCP_STR("Invalid request: a new session began on this stream "
                                       "(initialize) before this one was answered");
    if (req->cancelled)
        return;
    if (req->state == MCP__REQUEST_WAITING) {
        mcp__input_give_up(req, mcp_reply_fail(req, MCP__INVALID_REQUEST, "%s", why.ptr));
        return;
    }
    req->cancelled = true;
    mcp__incoming_abandon(&req->in, MCP__INVALID_REQUEST, why, (mcp_str){0});
    mcp__request_stop(req);
}

/* A host may keep the process and connect again, or several hosts may share it: what the stream's last `initialize`
 * began ends here. Its requests are answered now, because the new session may use their ids. Modern requests
 * belong to no session. */
static void forget_session(mcp_request *initialize)
{
    mcp_channel *channel = initialize->in.channel;
    mcp__session *session = channel->state;
    for (mcp__link *l = channel->in_flight.next; l != &channel->in_flight;) {
        mcp__incoming *in = mcp__container(l, mcp__incoming, link);
        mcp_request *req = mcp__container(in, mcp_request, in);
        l = l->next;
        if (req != initialize && req->revision && !req->revision->modern)
            end_request(req);
    }
    mcp__stream_clear(&session->legacy);
    mcp__stream_init(&session->legacy, session, NULL);
    mcp__tasks_forget(session->server, session);
    mcp__elicitations_free(session);
    mcp_json_free(session->initialize);
    session->initialize = NULL;
    session->initialized = false;
    session->log_level = MCP_LOG_INFO;
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

static void put_instructions(mcp_request *req, mcp__buf *b)
{
    const mcp_server *server = req->server;
    mcp_str text = mcp_str_from(server->make_instructions
                                    ? server->make_instructions(req, server->instructions_user)
                                    : server->instructions);
    if (!text.ptr || mcp__utf8_valid(text.ptr, text.len) != text.len)
        return;
    mcp__buf_lit(b, ",\"instructions\":");
    mcp__json_put_str(b, text);
}

static void initialize_tail(mcp_request *req, mcp__buf *b)
{
    mcp__buf_lit(b, ",\"protocolVersion\":");
    mcp__json_put_str(b, mcp_str_from(req->revision->name));
    mcp__buf_lit(b, ",\"capabilities\":");
    mcp__put_capabilities(b, req);
    mcp__buf_lit(b, ",\"serverInfo\":");
    mcp__buf_str(b, req->server->info[mcp__revision_index(req->revision)]);
    put_instructions(req, b);
}

static const mcp__method initialize_reply = {.name = "initialize", .tail = initialize_tail};

/* The params hold the client's capabilities. */
static int copy_params(const mcp_server *server, const mcp_json *params, mcp_json_doc **ret)
{
    mcp__buf text;
    mcp__buf_init(&text, &server->allocator, SIZE_MAX);
    mcp__json_put_value(&text, params);
    int rc = text.failed;
    if (rc == MCP_OK)
        rc = mcp_json_parse(mcp__buf_view(&text), NULL, &server->allocator, ret, NULL);
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
    if (!mcp_json_is(mcp_json_get(params, "capabilities"), MCP_JSON_OBJECT))
        return mcp_reply_fail(req, MCP__INVALID_PARAMS,
                              "Invalid params: \"capabilities\" must be an object");
    mcp_json_doc *copy = NULL;
    int rc = mcp__era_check_info(req, mcp_json_get(params, "clientInfo"), "\"clientInfo\"");
    if (rc == MCP_OK)
        rc = copy_params(session->server, params, &copy);
    if (rc != MCP_OK)
        return rc;
    if (session->revision)
        forget_session(req);
    session->initialize = copy;
    session->revision = req->revision = mcp__revision_negotiate(version);
    req->method = &initialize_reply;
    return MCP_OK;
}

static void discover_tail(mcp_request *req, mcp__buf *b)
{
    mcp__buf_lit(b, ",\"supportedVersions\":");
    mcp__put_modern_revisions(b);
    mcp__buf_lit(b, ",\"capabilities\":");
    mcp__put_capabilities(b, req);
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
