/* progress.c: sends the progress and the log messages of a request (2026-07-28,
 * basic/patterns/progress and server/utilities/logging), and ends its event stream. The number of
 * these notifications is limited, so a handler may report as often as it likes.
 */
#include <math.h>
#include <mcp/sys/forward.h>
#include <stdio.h>

#include "protocol/pass.h"
#include "server/core/seal.h"
#include "server/tasks/task.h"

enum { MAX_PER_SECOND = 20 };

static int64_t now_of(const mcp_request *req)
{
    const mcp_host *host = &req->server->host;
    if (req->server->has_host && host->now)
        return host->now(host->user);
    const mcp_channel *channel = mcp__request_channel(req);
    return channel ? channel->now : mcp__server_clock(req->server);
}

/* Counts one more notification, and returns whether it may still be sent in this second. */
static bool take(const mcp_request *req, mcp__notice_rate *rate)
{
    int64_t now = now_of(req);
    if (rate->count == 0 || now - rate->since >= 1000)
        *rate = (mcp__notice_rate){.since = now};
    return rate->count++ < MAX_PER_SECOND;
}

void mcp__notice_send(const mcp_request *req, mcp__buf *b)
{
    mcp_channel *channel = mcp__request_channel(req);
    mcp__buf_char(b, '}');
    if (!b->failed) /* a task outlives the exchange of its request */
        mcp__channel_send(channel, req->task ? 0 : req->in.exchange, mcp__buf_view(b),
                          (mcp_output_info){0});
    mcp__channel_give_buf(channel, b);
}

/* Begins the params of a notification. A notification of a task names the task. */
static mcp__object begin_params(const mcp_request *req, mcp__buf *b)
{
    mcp__object o = mcp__object_begin(b, req->revision);
    if (req->task) {
        mcp__object_key(&o, "_meta");
        mcp__buf_lit(b, "{\"" MCP__META_RELATED_TASK "\":{\"taskId\":");
        mcp__json_put_str(b, mcp__task_id(req->task));
        mcp__buf_lit(b, "}}");
    }
    return o;
}

/* ---- progress -------------------------------------------------------------------------------- */

static bool progress_is_due(mcp_request *req, double progress, double total)
{
    if (!isfinite(progress) ||
        (req->notices.progress_begun && !(progress > req->notices.progress_last)))
        return false;
    bool last = total > 0 && progress >= total;
    if (!take(req, &req->notices.progress_rate) && !last)
        return false;
    req->notices.progress_begun = true;
    req->notices.progress_last = progress;
    return true;
}

/* Returns the progress token if a notification has to be sent now; otherwise NULL. If the request
 * has no token but is a task, stores the message in the task. */
static const mcp_json *progress_token(mcp_request *req, double progress, double total,
                                      const char *message)
{
    req->deadline.progressed = true;
    const mcp_json *token = mcp_json_get(mcp_request_meta(req), "progressToken");
    bool is_requested = mcp__is_id(token) && mcp__request_channel(req);
    if (req->cancelled || !(is_requested || req->task) || !progress_is_due(req, progress, total))
        return NULL;
    if (!is_requested)
        mcp_request_task_message(req, message);
    return is_requested ? token : NULL;
}

void mcp_request_progress(mcp_request *req, double progress, double total, const char *message)
{
    const mcp_json *token = progress_token(req, progress, total, message);
    if (!token)
        return;
    mcp__buf b = mcp__channel_take_buf(mcp__request_channel(req));
    mcp__put_notification_head(&b, MCP_STR("notifications/progress"));
    mcp__object o = begin_params(req, &b);
    mcp__object_key(&o, "progressToken");
    mcp__put_id(&b, token);
    mcp__object_key(&o, "progress");
    mcp__json_put_real(&b, progress);
    if (total > 0 && isfinite(total)) {
        mcp__object_key(&o, "total");
        mcp__json_put_real(&b, total);
    }
    if (req->revision->progress_message)
        mcp__object_str(&o, "message", message);
    mcp__object_end(&o);
    mcp__notice_send(req, &b);
}

/* Forwards the notification of another server. */
static void pass_progress(mcp_request *req, const mcp_json *token, const mcp_json *params,
                          mcp_str text)
{
    const mcp__pass pass = {.to = req->revision};
    mcp__buf b = mcp__channel_take_buf(mcp__request_channel(req));
    mcp__put_notification_head(&b, MCP_STR("notifications/progress"));
    mcp__buf_lit(&b, "{\"progressToken\":");
    mcp__put_id(&b, token);
    mcp__buf_char(&b, ',');
    mcp__pass_members(&pass, &b, MCP__PASS_PROGRESS, params, text);
    mcp__buf_char(&b, '}');
    mcp__notice_send(req, &b);
}

int mcp_request_progress_raw(mcp_request *req, mcp_str params)
{
    mcp_json_limits limits = {.size = sizeof(limits), .max_depth = MCP__JSON_DEEPEST};
    mcp_json_doc *doc = NULL;
    int rc = mcp_json_parse(params, &limits, &req->server->allocator, &doc, NULL);
    if (rc != MCP_OK)
        return rc;
    const mcp_json *root = mcp_json_root(doc);
    double progress = mcp_json_number(mcp_json_get(root, "progress"), NAN),
           total = mcp_json_number(mcp_json_get(root, "total"), 0);
    if (req->task) {
        mcp_str message = mcp_json_string(mcp_json_get(root, "message"));
        mcp_request_progress(req, progress, total, message.len ? message.ptr : NULL);
    } else {
        const mcp_json *token = progress_token(req, progress, total, NULL);
        if (token)
            pass_progress(req, token, root, params);
    }
    mcp_json_free(doc);
    return isfinite(progress) ? MCP_OK : MCP_EPROTOCOL;
}

/* ---- log messages ---------------------------------------------------------------------------- */

static const char *const level_names[] = {"debug", "info",     "notice", "warning",
                                          "error", "critical", "alert",  "emergency"};

int mcp__log_level(mcp_str name)
{
    for (size_t i = 0; i < MCP__COUNT(level_names); i++) {
        if (mcp_str_eq(name, mcp_str_from(level_names[i])))
            return (int)i;
    }
    return -1;
}

/* Returns the least severe level that the peer requested, or a level above all others if it
 * requested none. */
static int wanted_level(const mcp_request *req)
{
    if (!req->revision->modern) {
        return mcp__request_session(req)->log_level;
    }
    int wanted = mcp_request_log_level(req);
    return wanted < 0 ? (int)MCP__COUNT(level_names) : wanted;
}

int mcp_request_log_level(const mcp_request *req)
{
    const mcp__session *session = mcp__request_session(req);
    if (!req->revision->modern)
        return session && session->has_log_level ? session->log_level : MCP_ENOTFOUND;
    int level =
        mcp__log_level(mcp_json_string(mcp_json_get(mcp_request_meta(req), MCP__META_LOG_LEVEL)));
    return level < 0 ? MCP_ENOTFOUND : level;
}

bool mcp__log_is_wanted(const mcp_request *req, int level)
{
    return mcp__request_channel(req) && !mcp_request_cancelled(req) && level >= wanted_level(req);
}

static bool is_wanted(mcp_request *req, mcp_log_level level)
{
    return mcp__server_logs(req->server) && (size_t)level < MCP__COUNT(level_names) &&
           mcp__log_is_wanted(req, (int)level);
}

static void put_log_head(mcp_request *req, mcp__buf *b, mcp_log_level level, const char *logger)
{
    mcp__put_notification_head(b, MCP_STR("notifications/message"));
    mcp__object o = begin_params(req, b);
    mcp__object_str(&o, "level", level_names[level]);
    mcp__object_str(&o, "logger", logger);
    mcp__object_key(&o, "data");
}

void mcp_request_log(mcp_request *req, mcp_log_level level, const char *logger, mcp_str data)
{
    if (!is_wanted(req, level) || !take(req, &req->notices.log_rate))
        return;
    mcp__buf b = mcp__channel_take_buf(mcp__request_channel(req));
    put_log_head(req, &b, level, logger);
    if (mcp__json_put_checked(&b, data, MCP_JSON_NONE, NULL) != MCP_OK && !b.failed)
        b.failed = MCP_EINVAL;
    mcp__buf_char(&b, '}');
    mcp__notice_send(req, &b);
}

void mcp_request_logf(mcp_request *req, mcp_log_level level, const char *logger, const char *format,
                      ...)
{
    if (!is_wanted(req, level) || !take(req, &req->notices.log_rate))
        return;
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    size_t len = mcp__utf8_valid(text, strlen(text));
    mcp__buf b = mcp__channel_take_buf(mcp__request_channel(req));
    put_log_head(req, &b, level, logger);
    mcp__json_put_str(&b, (mcp_str){text, len});
    mcp__buf_char(&b, '}');
    mcp__notice_send(req, &b);
}

/* ---- the connection -------------------------------------------------------------------------- */

void mcp_request_end_stream(mcp_request *req)
{
    mcp_channel *channel = req->in.channel;
    if (channel && channel->options.end_stream && req->revision->primes && !req->cancelled)
        channel->options.end_stream(channel, req->in.exchange, channel->options.user);
}
