/* reply_error.c: error replies, which a handler sets, or which are made from the code that the
 * handler returned. */
#include <stdio.h>

#include "protocol/scope.h"
#include "server/methods/left_out.h"
#include "server/tasks/tasks.h"

/* Copies JSON data without its line ends. Returns an empty string if the data is not valid JSON. */
static mcp_str copy_data(mcp_request *req, const char *data)
{
    mcp__buf b;
    mcp__buf_init(&b, &req->server->allocator, SIZE_MAX);
    mcp_str copy = {0};
    if (mcp__json_put_checked(&b, mcp_str_from(data), MCP_JSON_NONE, NULL) == MCP_OK)
        copy = mcp__request_copy(req, mcp__buf_view(&b));
    mcp__buf_free(&b);
    return copy;
}

static int fail(mcp_request *req, int code, const char *data, const char *format, va_list args)
{
    if (!req->error.code) {
        int before = req->reply.failed;
        mcp_str text = mcp__request_format(req, format, args);
        mcp_str copy = data ? copy_data(req, data) : (mcp_str){0};
        req->reply.failed = before; /* the error is sent even if there is no memory for its text */
        req->error.code = code ? code : MCP__INTERNAL_ERROR;
        req->error.sends_zero = !code;
        req->error.message = text;
        req->error.data = copy;
    }
    return MCP_EREMOTE;
}

int mcp_reply_fail(mcp_request *req, int code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int rc = fail(req, code, NULL, format, args);
    va_end(args);
    return rc;
}

int mcp_reply_fail_data(mcp_request *req, int code, const char *data, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int rc = fail(req, code, data, format, args);
    va_end(args);
    return rc;
}

int mcp_request_need_scopes(mcp_request *req, const char *scopes)
{
    if (!mcp__scopes_valid(mcp_str_from(scopes)))
        return MCP_EINVAL;
    if (mcp_identity_has_scopes(mcp_request_identity(req), scopes))
        return MCP_OK;
    mcp_str text = mcp__request_copy(req, mcp_str_from(scopes));
    if (!text.ptr)
        return MCP_ENOMEM;
    if (!req->error.code)
        req->in.scopes = text.ptr;
    return mcp_reply_fail(req, MCP__INVALID_REQUEST,
                          "Insufficient scope: this needs \"%.*s\", of which the caller's token "
                          "lacks at least one",
                          (int)text.len, text.ptr);
}

int mcp__reply_explain(mcp_request *req, int rc, const char *format, ...)
{
    va_list args;
    if (req->error.why_code)
        return rc;
    int before = req->reply.failed;
    va_start(args, format);
    req->error.why = mcp__request_format(req, format, args);
    va_end(args);
    req->reply.failed = before; /* without memory for it, there is no reason */
    req->error.why_code = req->error.why.ptr ? rc : MCP_OK;
    return rc;
}

/* Returns the text for a code that has no meaning of its own, with the reason if one is known. */
static mcp_str text_of(mcp_request *req, int rc)
{
    if (rc != req->error.why_code)
        return rc == MCP_ELIMIT ? MCP_STR("Internal error: the reply is larger than max_reply")
                                : mcp_str_from(mcp_error_text(rc));
    static const char head[] = "Internal error: ";
    size_t len = sizeof(head) - 1;
    char *text = mcp_request_alloc(req, len + req->error.why.len + 1);
    if (!text)
        return mcp_str_from(mcp_error_text(rc));
    memcpy(text, head, len);
    memcpy(text + len, req->error.why.ptr, req->error.why.len);
    return (mcp_str){text, len + req->error.why.len};
}

/* ---- errors from codes ---------------------------------------------------------------------- */

/* Returns {"uri":…}, the data that the specification shows for an unknown resource. */
static mcp_str uri_data(mcp_request *req)
{
    mcp__buf b;
    mcp__buf_init(&b, &req->server->allocator, SIZE_MAX);
    mcp__buf_lit(&b, "{\"uri\":");
    mcp__json_put_str(&b, req->target.uri);
    mcp__buf_char(&b, '}');
    mcp_str data = b.failed ? (mcp_str){0} : mcp__request_copy(req, mcp__buf_view(&b));
    mcp__buf_free(&b);
    return data;
}

/* Logs at most one line per interval, because every request may fail when no descriptor is free. */
static void log_no_files(mcp_server *server)
{
    enum { INTERVAL_MS = 10000 };
    char line[160];
    const mcp_host *host = &server->host;
    server->no_files++;
    if (!server->has_host || !host->log || !host->now)
        return;
    int64_t now = host->now(host->user);
    if (server->files_logged && now - server->files_logged < INTERVAL_MS)
        return;
    snprintf(line, sizeof(line),
             "no file descriptor is left: %zu answers failed; raise the limit of open files "
             "(ulimit -n, LimitNOFILE=)",
             server->no_files);
    server->files_logged = now ? now : 1;
    server->no_files = 0;
    host->log("error", line, host->user);
}

/* Sets an error for the code that a handler returned, unless the handler set one itself. */
static void set_error(mcp_request *req, int rc)
{
    req->used.outcome = MCP__USED_ERROR;
    if (req->error.code)
        return;
    if (rc == MCP_EFILES) {
        log_no_files(req->server);
        req->error.code = MCP__INTERNAL_ERROR;
        req->error.message = MCP_STR("The server has no file descriptor left (its limit of open "
                                     "files): try again later");
        req->error.data = MCP_STR("{\"retryAfterMs\":1000}");
        return;
    }
    /* A resource that the caller must not read looks like one that does not exist. The entry for a
     * source that cannot be listed exists, also if its source is gone. */
    const char *why = rc == MCP_ENOTFOUND && req->target.uri.ptr ? mcp__left_out_unread(req) : NULL;
    if (why) {
        req->error.code = MCP__INTERNAL_ERROR;
        req->error.message = mcp_str_from(why);
    } else if ((rc == MCP_ENOTFOUND || rc == MCP_EACCESS) && req->target.uri.ptr) {
        req->used.outcome = MCP__USED_NOT_FOUND;
        req->error.data = uri_data(req);
        req->error.code = req->revision->not_found;
        req->error.message = MCP_STR("Resource not found");
    } else if (rc == MCP_ENOTFOUND) {
        req->error.code = MCP__INVALID_PARAMS;
        req->error.message = MCP_STR("Not found");
    } else if (rc == MCP_EREMOTE && req->error.refusal.ptr) {
        req->error.code = MCP__INTERNAL_ERROR;
        req->error.message = req->error.refusal;
    } else {
        req->error.code = MCP__INTERNAL_ERROR;
        req->error.message = text_of(req, rc);
    }
}

static void send_error(mcp_request *req)
{
    mcp_str message = req->error.message.ptr ? req->error.message : MCP_STR("Internal error");
    size_t valid = mcp__utf8_valid(message.ptr, message.len);
    mcp__incoming *in = &req->in;
    int code = req->error.code, sent = req->error.sends_zero ? 0 : code;
    if (req->task) {
        mcp__task_fail(req, sent, (mcp_str){message.ptr, valid}, req->error.data);
        return;
    }
    mcp__buf b = mcp__channel_take_buf(in->channel);
    mcp__put_error(&b, mcp__incoming_id(in), MCP__NO_ID_NULL, sent, (mcp_str){message.ptr, valid},
                   req->error.data);
    size_t length = b.len;
    if (in->scopes) { /* the string is in the arena, which is freed before the message is sent */
        mcp__buf_add(&b, in->scopes, strlen(in->scopes) + 1);
        in->scopes = b.failed ? NULL : b.ptr + length;
    }
    mcp_channel *channel = in->channel;
    req->used.answer = b.failed ? 0 : length;
    mcp__request_clear(req);
    if (b.failed)
        mcp__incoming_drop(in);
    else
        mcp__incoming_reply(in, (mcp_str){b.ptr, length}, code);
    mcp__channel_give_buf(channel, &b);
}

void mcp__reply_send_error(mcp_request *req, int rc)
{
    set_error(req, rc);
    send_error(req);
}
