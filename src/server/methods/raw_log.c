/* raw_log.c: passes the log messages of another server on to the callers that they concern
 * (2026-07-28, server/utilities/logging).
 *
 * A modern peer gets log messages only with its requests. A legacy peer gets them at any time, if
 * possible with a request, because not every client over HTTP has a stream for other messages.
 */
#include "server/core/access.h"
#include "server/methods/raw.h"
#include "server/tasks/tasks.h"

/* One log message on its way. */
typedef struct message {
    const mcp_raw *raw;
    const mcp_json *value;
    int level;
    uint64_t number;
    bool modern_served; /* a modern request has got it */
    int rc;
} message;

/* ---- writing --------------------------------------------------------------------------------- */

static void put_meta(const message *m, const mcp__pass *pass, const mcp_request *task, mcp__buf *b)
{
    const mcp_json *meta = mcp_json_get(m->value, "_meta");
    bool has_meta = mcp_json_is(meta, MCP_JSON_OBJECT);
    if (!task && !has_meta)
        return;
    mcp__buf_lit(b, "\"_meta\":{");
    if (task) {
        mcp__buf_lit(b, "\"" MCP__META_RELATED_TASK "\":{\"taskId\":");
        mcp__json_put_str(b, mcp__task_id(task->task));
        mcp__buf_lit(b, "},");
    }
    size_t start = b->len;
    if (has_meta)
        mcp__pass_members(pass, b, MCP__PASS_NOTICE_META, meta,
                          mcp__json_text_get(m->raw->json, 0, MCP_STR("\"_meta\"")));
    if (task && b->len == start && !b->failed)
        b->len--; /* the comma */
    mcp__buf_lit(b, "},");
}

/* Writes the notification without its closing brace. `req` is NULL if it belongs to no request. */
static void put(const message *m, const mcp__revision *revision, const mcp_request *req,
                mcp__buf *b)
{
    const mcp__pass pass = {.to = revision, .asker = m->raw->asker};
    mcp__put_notification_head(b, MCP_STR("notifications/message"));
    mcp__buf_char(b, '{');
    put_meta(m, &pass, req && req->task ? req : NULL, b);
    if (m->raw->asker && !mcp_json_is(mcp_json_get(m->value, "logger"), MCP_JSON_STRING)) {
        mcp__buf_lit(b, "\"logger\":");
        mcp__json_put_str(b, mcp_str_from(m->raw->asker));
        mcp__buf_char(b, ',');
    }
    mcp__pass_members(&pass, b, MCP__PASS_LOG, m->value, m->raw->json);
    mcp__buf_char(b, '}');
}

/* ---- sending --------------------------------------------------------------------------------- */

/* In a legacy session over HTTP, `writable` says nothing about the streams of requests, whose
 * transport discards notifications that have to wait. */
static bool has_to_wait(const mcp_request *req, const mcp_channel *channel)
{
    return !channel->writable && (req->revision->modern || channel->options.shared_stream);
}

static void to_request(message *m, mcp_request *req)
{
    mcp_channel *channel = mcp__request_channel(req);
    if (has_to_wait(req, channel)) {
        m->rc = MCP_ELIMIT;
        return;
    }
    mcp__buf b = mcp__channel_take_buf(channel);
    put(m, req->revision, req, &b);
    if (b.failed && m->rc == MCP_OK)
        m->rc = b.failed;
    mcp__notice_send(req, &b);
}

static void to_requests(message *m, const mcp_raw_log *log)
{
    for (size_t i = 0; i < log->n_requests; i++) {
        mcp_request *req = log->requests[i];
        mcp__session *session = mcp__request_session(req);
        bool modern = req->revision->modern;
        if (!session || (modern ? m->modern_served : session->logged == m->number))
            continue;
        if (!modern)
            session->logged = m->number;
        if (!mcp__log_is_wanted(req, m->level))
            continue;
        m->modern_served = m->modern_served || modern;
        to_request(m, req);
    }
}

static void to_session(message *m, mcp__session *session)
{
    mcp_channel *channel = session->channel;
    if (!channel->writable) {
        m->rc = MCP_ELIMIT;
        return;
    }
    mcp__buf b = mcp__channel_take_buf(channel);
    put(m, session->revision, NULL, &b);
    mcp__buf_char(&b, '}');
    if (!b.failed)
        mcp__channel_send(channel, 0, mcp__buf_view(&b), (mcp_output_info){0});
    else if (m->rc == MCP_OK)
        m->rc = b.failed;
    mcp__channel_give_buf(channel, &b);
}

static bool is_of(const mcp__session *session, const char *principal)
{
    const char *other = session->channel->options.principal;
    return principal && other ? strcmp(principal, other) == 0 : principal == other;
}

/* Returns whether the caller of a session may know of the other server. */
static bool may_know(const mcp__session *session, const char *prefix)
{
    return !prefix ||
           mcp__may_read(session->server, session->channel->options.identity, mcp_str_from(prefix));
}

static void to_sessions(message *m, mcp_server *server, const mcp_raw_log *log)
{
    for (mcp__link *l = server->sessions.next; l != &server->sessions; l = l->next) {
        mcp__session *session = mcp__container(l, mcp__session, link);
        if (!session->initialized || session->channel->closed || session->logged == m->number ||
            !is_of(session, log->principal) || m->level < session->log_level ||
            !may_know(session, log->prefix))
            continue;
        to_session(m, session);
    }
}

int mcp_server_log_raw(mcp_server *server, const mcp_raw_log *log)
{
    mcp_raw_log l;
    mcp_raw raw;
    message m = {.raw = &raw};
    int rc = server ? MCP__TAKE(&l, log, mcp_raw_log, NULL) : MCP_EINVAL;
    if (rc == MCP_OK)
        rc = l.params ? MCP__TAKE(&raw, l.params, mcp_raw, NULL) : MCP_EINVAL;
    if (rc != MCP_OK || !raw.json.ptr)
        return MCP_EINVAL;
    mcp_json_doc *doc = NULL;
    if (!raw.value) {
        mcp_json_limits limits = {.size = sizeof(limits), .max_depth = MCP__JSON_DEEPEST};
        rc = mcp_json_parse(raw.json, &limits, &server->allocator, &doc, NULL);
    }
    m.value = raw.value ? raw.value : mcp_json_root(doc);
    m.level = mcp__log_level(mcp_json_string(mcp_json_get(m.value, "level")));
    m.number = ++server->forwarded_logs;
    m.rc = rc;
    if (rc == MCP_OK && (m.level < 0 || !mcp_json_get(m.value, "data")))
        m.rc = MCP_EPROTOCOL;
    if (m.rc == MCP_OK && mcp__server_logs(server)) {
        to_requests(&m, &l);
        if (l.sessions)
            to_sessions(&m, server, &l);
    }
    mcp_json_free(doc);
    return m.rc;
}

int mcp_server_log_level_for(const mcp_server *server, const char *principal)
{
    int lowest = MCP_ENOTFOUND;
    for (mcp__link *l = server->sessions.next; l != &server->sessions; l = l->next) {
        const mcp__session *session = mcp__container(l, mcp__session, link);
        if (session->has_log_level && !session->channel->closed && is_of(session, principal) &&
            (lowest < 0 || session->log_level < lowest))
            lowest = session->log_level;
    }
    return lowest;
}
