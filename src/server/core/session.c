/* session.c: the server's side of a channel: its life cycle, its role, and a second initialize. */
#include "server/core/session.h"
#include "server/core/audit.h"
#include "server/input/input.h"
#include "server/methods/methods.h"
#include "server/tasks/tasks.h"

/* ---- life cycle ------------------------------------------------------------------------------ */

int mcp_server_connect(mcp_server *server, const mcp_channel_options *options, mcp_channel **ret,
                       mcp_error *error)
{
    mcp__no_error(error);
    if (!server || !ret)
        return mcp__fail(error, MCP_EINVAL, 0, "server and ret are required");
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
    session->channel->timed = server->tasks != NULL;
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

/* ---- the channel's role ---------------------------------------------------------------------- */

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
        mcp__request_finish(req, MCP_ECANCELLED); /* no handler is running */
    } else {
        mcp__request_stop(req);
    }
}

static void note_cancelled(mcp_channel *channel, const mcp_json *params)
{
    const mcp_json *id = mcp_json_get(params, "requestId");
    mcp__incoming *in = mcp__is_id(id) ? mcp__channel_find(channel, id) : NULL;
    if (!in || mcp_str_eq(in->message.method, MCP_STR("initialize")))
        return;
    mcp_request *req = mcp__container(in, mcp_request, in);
    if (req->server->audit.ended)
        mcp_request_note_reason(req, mcp_json_string(mcp_json_get(params, "reason")));
    role_cancel(in);
}

static void note_initialized(mcp__session *session)
{
    if (!session->revision || session->initialized)
        return;
    session->initialized = true;
    mcp__stream_adopt(&session->legacy);
    mcp__stream_set_lists(&session->legacy, mcp__hub_lists(session->server));
    mcp__input_send_held(session);
}

static void role_notification(mcp_channel *channel, const mcp__message *message)
{
    if (mcp_str_eq(message->method, MCP_STR("notifications/cancelled")))
        note_cancelled(channel, message->params);
    else if (mcp_str_eq(message->method, MCP_STR("notifications/initialized")))
        note_initialized(channel->state);
    /* All other notifications are ignored; a notification is never answered. */
}

/* ---- a second initialize --------------------------------------------------------------------- */

/* Ends a request of the session that is being replaced. */
static void end_request(mcp_request *req)
{
    static const mcp_str why = MCP_STR("Invalid request: a new session began on this stream "
                                       "(initialize) before this request was answered");
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

/* A host may keep the process and connect again, or several hosts may share it. A new `initialize`
 * therefore ends everything that the previous one began. Requests of the old session are answered
 * now, because the new session may reuse their ids. Modern requests belong to no session. */
void mcp__session_forget(mcp_request *initialize)
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
    session->has_log_level = false;
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
    const mcp__session *session = channel->state;
    int64_t hub = channel->writable ? session->due : INT64_MAX;
    int64_t handlers = session->deadlines ? session->deadlines->deadline.due : INT64_MAX;
    int64_t tasks = session->server->tasks ? mcp__tasks_deadline(channel) : INT64_MAX;
    return MCP__MIN(MCP__MIN(hub, handlers), tasks);
}

static void role_flush(mcp_channel *channel)
{
    mcp__hub_flush(channel->state);
}

static bool role_keeps(const mcp_channel *channel)
{
    const mcp__session *session = channel->state;
    return session->has_log_level || !mcp__list_empty(&session->legacy.subscriptions);
}

static void role_resumed(mcp_channel *channel)
{
    mcp__hub_all_lists(channel->state);
}

static size_t role_memory(const mcp_channel *channel)
{
    const mcp__session *session = channel->state;
    return mcp__json_doc_allocated(session->initialize);
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
    .request = mcp__request_receive,
    .cancel = role_cancel,
    .notification = role_notification,
    .tick = role_tick,
    .deadline = role_deadline,
    .close = role_close,
    .flush = role_flush,
    .keeps = role_keeps,
    .resumed = role_resumed,
    .memory = role_memory,
    .release = role_release,
    .batches = role_batches,
    .revision = role_revision,
    .assume = role_assume,
    .no_id = role_no_id,
};
