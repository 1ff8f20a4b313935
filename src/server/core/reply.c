/* reply.c: the reply as it is being written, and its end.
 *
 * A result is written straight into the message's buffer: head, the method's one array, then what the
 * revision wants behind it. An error throws away what was written. So a handler pays for no tree in
 * between, and nothing is copied twice.
 */
#include "server/core/method.h"
#include "server/input/input.h"
#include "server/methods/methods.h"
#include "server/tasks/task.h"

#include <stdio.h>

/* Why nothing may be added any more; MCP_OK: go on. */
static int closed(const mcp_request *req)
{
    if (req->failed)
        return req->failed;
    return req->error_code ? MCP_ESTATE : MCP_OK;
}

static int remember(mcp_request *req, int rc)
{
    if (rc < 0 && !req->failed)
        req->failed = rc;
    return req->failed ? req->failed : rc;
}

mcp__buf *mcp__reply_begin(mcp_request *req)
{
    mcp__buf *b = &req->out;
    if (req->begun)
        return b;
    req->begun = true;
    if (req->task) {
        mcp__task_take_buf(req->task, b); /* the result alone */
    } else if (req->in.channel) {
        *b = mcp__channel_take_buf(req->in.channel);
        mcp__put_result_head(b, mcp__request_id(req));
    } else {
        /* The channel is gone, its handler still adds: what it says goes nowhere. */
        b->failed = MCP_ECLOSED;
        return b;
    }
    if (req->method->array) {
        mcp__buf_str(b, mcp_str_from(req->method->within ? req->method->within : "{"));
        mcp__buf_char(b, '"');
        mcp__buf_str(b, mcp_str_from(req->method->array));
        mcp__buf_lit(b, "\":[");
    }
    return b;
}

/* Where the next entry of the array goes; NULL: this method has none, or the reply failed. */
static mcp__buf *next_entry(mcp_request *req)
{
    if (closed(req) != MCP_OK)
        return NULL;
    if ((!req->in.channel && !req->task) || !req->method || !req->method->array) {
        remember(req, MCP_ESTATE);
        return NULL;
    }
    mcp__buf *b = mcp__reply_begin(req);
    if (req->count++)
        mcp__buf_char(b, ',');
    return b;
}

/* ---- content ---------------------------------------------------------------------------------------------- */

static int check_content(const mcp_request *req, const mcp_content *c)
{
    bool reading = req->method && req->method->run == mcp__run_read;
    switch (c->kind) {
    case MCP_CONTENT_TEXT: return c->bytes && !reading ? MCP_EINVAL : MCP_OK;
    case MCP_CONTENT_IMAGE:
    case MCP_CONTENT_AUDIO: return c->bytes ? MCP_OK : MCP_EINVAL;
    case MCP_CONTENT_LINK: return c->uri && c->name && !reading ? MCP_OK : MCP_EINVAL;
    case MCP_CONTENT_RESOURCE: return c->uri ? MCP_OK : MCP_EINVAL;
    }
    return MCP_EINVAL;
}

static void put_contents(mcp_request *req, mcp__buf *b, mcp_content *c)
{
    if (!c->uri)
        c->uri = req->uri.ptr;
    if (!c->mime_type && req->entry)
        c->mime_type = req->entry->mime_type;
    req->used.bytes += c->bytes ? c->bytes_len : c->text.len;
    mcp__put_resource_contents(b, req->revision, c);
}

static void put_message(const mcp_request *req, mcp__buf *b, const mcp_content *c)
{
    if (c->role == MCP_ROLE_ASSISTANT)
        mcp__buf_lit(b, "{\"role\":\"assistant\",\"content\":");
    else
        mcp__buf_lit(b, "{\"role\":\"user\",\"content\":");
    mcp__put_content_block(b, req->revision, c);
    mcp__buf_char(b, '}');
}

int mcp_reply_content(mcp_request *req, const mcp_content *content)
{
    mcp_content c;
    int rc = closed(req);
    if (rc == MCP_OK)
        rc = MCP__TAKE(&c, content, mcp_content, NULL);
    if (rc == MCP_OK)
        rc = check_content(req, &c);
    if (rc != MCP_OK)
        return remember(req, rc);
    if (req->cancelled)
        return MCP_OK;
    mcp__buf *b = next_entry(req);
    if (!b)
        return req->failed;
    if (req->method->run == mcp__run_read)
        put_contents(req, b, &c);
    else if (req->method->run == mcp__run_prompt)
        put_message(req, b, &c);
    else if (req->method->run == mcp__run_tool)
        mcp__put_content_block(b, req->revision, &c);
    else
        return remember(req, MCP_ESTATE);
    return remember(req, b->failed);
}

int mcp_reply_str(mcp_request *req, mcp_str text, const char *mime_type)
{
    return mcp_reply_content(req, MCP_OPTIONS(mcp_content, .text = text, .mime_type = mime_type));
}

int mcp_reply_text(mcp_request *req, const char *text)
{
    return mcp_reply_str(req, mcp_str_from(text), NULL);
}

int mcp_reply_bytes(mcp_request *req, const void *bytes, size_t len, const char *mime_type)
{
    bool reading = req->method && req->method->run == mcp__run_read;
    mcp_content c = {.size = sizeof(c),
                     .kind = reading ? MCP_CONTENT_TEXT : MCP_CONTENT_IMAGE,
                     .bytes = bytes ? bytes : "",
                     .bytes_len = len,
                     .mime_type = mime_type};
    if (!reading && mime_type && strncmp(mime_type, "audio/", 6) == 0)
        c.kind = MCP_CONTENT_AUDIO;
    return mcp_reply_content(req, &c);
}

static mcp_str format_text(mcp_request *req, const char *format, va_list args)
{
    char small[512];
    va_list again;
    va_copy(again, args);
    int len = vsnprintf(small, sizeof(small), format, args);
    mcp_str text = {0};
    if (len >= 0 && (size_t)len < sizeof(small)) {
        text = mcp__request_copy(req, (mcp_str){small, (size_t)len});
    } else if (len >= 0) {
        char *to = mcp_request_alloc(req, (size_t)len + 1);
        if (to) {
            vsnprintf(to, (size_t)len + 1, format, again);
            text = (mcp_str){to, (size_t)len};
        }
    }
    va_end(again);
    if (!text.ptr)
        remember(req, MCP_ENOMEM);
    return text;
}

int mcp_reply_textf(mcp_request *req, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    mcp_str text = format_text(req, format, args);
    va_end(args);
    return text.ptr ? mcp_reply_str(req, text, NULL) : req->failed;
}

int mcp_reply_tool_error(mcp_request *req, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    mcp_str text = format_text(req, format, args);
    va_end(args);
    req->is_error = true;
    return text.ptr ? mcp_reply_str(req, text, NULL) : req->failed;
}

/* JSON as it was written, so that numbers keep all their digits; but no message has a line's end in it, and in JSON
 * none is part of a value. */
static mcp_str copy_in_one_line(mcp_request *req, mcp_str json)
{
    char *copy = mcp_request_strdup(req, json);
    for (size_t i = 0; copy && i < json.len; i++)
        if (copy[i] == '\n' || copy[i] == '\r')
            copy[i] = ' ';
    return (mcp_str){copy, copy ? json.len : 0};
}

int mcp_reply_structured(mcp_request *req, mcp_str json)
{
    if (closed(req) != MCP_OK)
        return closed(req);
    mcp_json_doc *doc = NULL;
    int rc = mcp_json_parse(json, NULL, &req->server->allocator, &doc, NULL);
    if (rc != MCP_OK)
        return remember(req, rc);
    req->has_structured = true;
    rc = mcp__tool_check_output(req, mcp_json_root(doc));
    if (rc != MCP_OK) {
        mcp_json_free(doc);
        return rc;
    }
    bool object = mcp_json_is(mcp_json_root(doc), MCP_JSON_OBJECT);
    mcp_json_free(doc);
    req->structured = copy_in_one_line(req, json);
    req->structured_as_text =
        !req->revision->structured || (!object && !req->revision->structured_any);
    return remember(req, req->structured.ptr ? MCP_OK : MCP_ENOMEM);
}

int mcp_reply_description(mcp_request *req, const char *description)
{
    if (closed(req) != MCP_OK)
        return closed(req);
    req->description = mcp__request_copy(req, mcp_str_from(description));
    return req->failed;
}

struct mcp__member {
    mcp__member *next;
    mcp_str key;
};

/* A second member of the same name would make the reply one that peers refuse. */
static bool has_member(const mcp_request *req, mcp_str key)
{
    const mcp__member *m = req->members;
    while (m && !mcp_str_eq(m->key, key))
        m = m->next;
    return m != NULL;
}

static int add_member(mcp_request *req, mcp_str key)
{
    mcp__member *m = mcp_request_alloc(req, sizeof(*m));
    if (!m)
        return remember(req, MCP_ENOMEM);
    *m = (mcp__member){.next = req->members, .key = mcp__request_copy(req, key)};
    req->members = m;
    return req->failed;
}

int mcp__reply_meta(mcp_request *req, const char *key, mcp_str json)
{
    if (closed(req) != MCP_OK)
        return closed(req);
    if (has_member(req, mcp_str_from(key)))
        return MCP_EEXIST;
    if (add_member(req, mcp_str_from(key)) != MCP_OK)
        return req->failed;
    if (!req->meta.allocator)
        mcp__buf_init(&req->meta, &req->server->allocator,
                      req->in.channel ? req->in.channel->options.max_reply : 0);
    mcp__buf_char(&req->meta, ',');
    mcp__json_put_str(&req->meta, mcp_str_from(key));
    mcp__buf_char(&req->meta, ':');
    int rc = mcp__json_put_checked(&req->meta, json, MCP_JSON_NONE, NULL);
    return remember(req, rc == MCP_OK ? req->meta.failed : rc);
}

int mcp_reply_meta(mcp_request *req, const char *key, mcp_str json)
{
    static const char *const ours[] = {MCP__META_SERVER_INFO, MCP__META_SUBSCRIPTION,
                                       MCP__META_RELATED_TASK};
    for (size_t i = 0; i < MCP__COUNT(ours); i++) {
        if (strcmp(key, ours[i]) == 0)
            return MCP_EEXIST;
    }
    return mcp__reply_meta(req, key, json);
}

void mcp_reply_cache(mcp_request *req, uint64_t ttl_ms, bool is_public)
{
    req->has_cache = true;
    req->ttl_ms = ttl_ms;
    req->cache_public = is_public;
}

/* ---- errors --------------------------------------------------------------------------------------------------- */

/* On one line, whatever the caller's JSON looks like; nothing when it is none. */
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
    if (!req->error_code) {
        int before = req->failed;
        mcp_str text = format_text(req, format, args);
        mcp_str copy = data ? copy_data(req, data) : (mcp_str){0};
        req->failed = before; /* without memory for its text the error is still an error */
        req->error_code = code;
        req->error_message = text;
        req->error_data = copy;
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

/* {"uri":…}, as the specification shows it for an unknown resource. */
static mcp_str uri_data(mcp_request *req)
{
    mcp__buf b;
    mcp__buf_init(&b, &req->server->allocator, SIZE_MAX);
    mcp__buf_lit(&b, "{\"uri\":");
    mcp__json_put_str(&b, req->uri);
    mcp__buf_char(&b, '}');
    mcp_str data = b.failed ? (mcp_str){0} : mcp__request_copy(req, mcp__buf_view(&b));
    mcp__buf_free(&b);
    return data;
}

/* One line for each interval: with every descriptor in use each request may fail. */
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

/* Makes an error of what a handler returned, when it did not say one itself. */
static void set_error(mcp_request *req, int rc)
{
    req->used.outcome = MCP__USED_ERROR;
    if (req->error_code)
        return;
    if (rc == MCP_EFILES) {
        log_no_files(req->server);
        req->error_code = MCP__INTERNAL_ERROR;
        req->error_message = MCP_STR("The server has no file descriptor left (its limit of open "
                                     "files): try again later");
        req->error_data = MCP_STR("{\"retryAfterMs\":1000}");
        return;
    }
    /* What must not be read looks like what is not there. */
    if ((rc == MCP_ENOTFOUND || rc == MCP_EACCESS) && req->uri.ptr) {
        req->used.outcome = MCP__USED_NOT_FOUND;
        req->error_data = uri_data(req);
        req->error_code = req->revision->not_found;
        req->error_message = MCP_STR("Resource not found");
    } else if (rc == MCP_ENOTFOUND) {
        req->error_code = MCP__INVALID_PARAMS;
        req->error_message = MCP_STR("Not found");
    } else if (rc == MCP_EREMOTE && req->refusal.ptr) {
        req->error_code = MCP__INTERNAL_ERROR;
        req->error_message = req->refusal;
    } else {
        req->error_code = MCP__INTERNAL_ERROR;
        req->error_message = rc == MCP_ELIMIT
                                 ? MCP_STR("Internal error: the reply is larger than max_reply")
                                 : mcp_str_from(mcp_error_text(rc));
    }
}

static void send_error(mcp_request *req)
{
    mcp_str message = req->error_message.ptr ? req->error_message : MCP_STR("Internal error");
    size_t valid = mcp__utf8_valid(message.ptr, message.len);
    mcp__incoming *in = &req->in;
    int code = req->error_code;
    if (req->task) {
        mcp__task_fail(req, code, (mcp_str){message.ptr, valid}, req->error_data);
        return;
    }
    mcp__buf b = mcp__channel_take_buf(in->channel);
    mcp__put_error(&b, mcp__incoming_id(in), MCP__NO_ID_NULL, code, (mcp_str){message.ptr, valid},
                   req->error_data);
    mcp_channel *channel = in->channel;
    mcp__request_clear(req);
    if (b.failed)
        mcp__incoming_drop(in);
    else
        mcp__incoming_reply(in, mcp__buf_view(&b), code);
    mcp__channel_give_buf(channel, &b);
}

/* ---- results ---------------------------------------------------------------------------------------------------- */

/* Whether another client would get another answer. */
static bool is_for_client(const mcp_request *req)
{
    const mcp__registry *tools = &req->server->registry[MCP__TOOLS];
    if (!req->method->is_list || (req->method->array && strcmp(req->method->array, "tools") != 0))
        return false;
    for (size_t i = 0; i < tools->count; i++) {
        if (tools->items[i]->offered)
            return true;
    }
    return false;
}

static void put_caching(const mcp_request *req, mcp__buf *b)
{
    const mcp_server_options *o = &req->server->options;
    uint64_t ttl = req->method->is_list ? o->list_ttl_ms : o->read_ttl_ms;
    bool is_public = o->cache_public;
    if (req->has_cache) {
        ttl = req->ttl_ms;
        is_public = req->cache_public;
    }
    mcp__buf_lit(b, ",\"ttlMs\":");
    mcp__json_put_uint(b, ttl);
    if (is_public && !req->server->access.may && !is_for_client(req))
        mcp__buf_lit(b, ",\"cacheScope\":\"public\"");
    else
        mcp__buf_lit(b, ",\"cacheScope\":\"private\"");
}

static void put_meta(const mcp_request *req, mcp__buf *b)
{
    if (req->revision->result_type) {
        mcp__buf_lit(b, ",\"_meta\":{\"" MCP__META_SERVER_INFO "\":");
        mcp__buf_str(b, req->server->info[mcp__revision_index(req->revision)]);
        mcp__buf_str(b, mcp__buf_view(&req->meta));
        mcp__buf_char(b, '}');
    } else if (req->meta.len) {
        mcp__buf_lit(b, ",\"_meta\":{");
        mcp__buf_str(b, mcp__str_sub(mcp__buf_view(&req->meta), 1));
        mcp__buf_char(b, '}');
    }
}

/* A peer that knows no structuredContent yet reads the same as text (2026-07-28, server/tools, "Structured
 * Content"), unless the handler said something itself. */
static void add_structured_text(mcp_request *req)
{
    if (!req->structured.ptr || req->count)
        return;
    mcp_content text = {.size = sizeof(text), .text = req->structured};
    req->count++;
    mcp__put_content_block(mcp__reply_begin(req), req->revision, &text);
}

/* Every member is written with a comma before it; the one behind an opening brace is taken out. */
static void close_result(mcp_request *req)
{
    mcp__buf *b = mcp__reply_begin(req);
    add_structured_text(req);
    size_t brace = SIZE_MAX;
    if (req->method->array) {
        mcp__buf_char(b, ']');
    } else {
        brace = b->len;
        mcp__buf_char(b, '{');
    }
    if (req->method->tail)
        req->method->tail(req, b);
    if (req->revision->caching && req->method->cacheable)
        put_caching(req, b);
    if (req->revision->result_type)
        mcp__buf_lit(b, ",\"resultType\":\"complete\"");
    put_meta(req, b);
    if (brace != SIZE_MAX && !b->failed && b->len > brace + 1) {
        memmove(b->ptr + brace + 1, b->ptr + brace + 2, b->len - brace - 2);
        b->len--;
    }
    mcp__buf_str(b, req->task ? MCP_STR("}") : MCP_STR("}}"));
}

void mcp__request_send(mcp_request *req, mcp__buf *message)
{
    mcp__incoming *in = &req->in;
    mcp_channel *channel = in->channel;
    mcp__buf out = *message;
    int rc = out.failed;
    mcp__request_clear(req);
    if (rc == MCP_OK)
        mcp__incoming_reply(in, mcp__buf_view(&out), 0);
    else
        mcp__incoming_error(in, MCP__INTERNAL_ERROR, mcp_str_from(mcp_error_text(rc)),
                            (mcp_str){0});
    mcp__channel_give_buf(channel, &out);
}

static void send_result(mcp_request *req)
{
    int rc = req->task ? mcp__task_add_meta(req) : MCP_OK;
    close_result(req);
    if (rc == MCP_OK)
        rc = req->out.failed;
    if (rc != MCP_OK) {
        set_error(req, rc);
        send_error(req);
        return;
    }
    req->used.outcome = req->is_error ? MCP__USED_TOOL_ERROR : MCP__USED_OK;
    if (req->task) {
        mcp__task_complete(req);
        return;
    }
    mcp__buf out = req->out;
    mcp__buf_init(&req->out, out.allocator, 0);
    mcp__request_send(req, &out);
}

static void drop(mcp_request *req)
{
    mcp__request_clear(req);
    mcp__incoming_drop(&req->in);
}

void mcp__request_finish(mcp_request *req, int outcome)
{
    if (outcome == MCP_PENDING && req->finished) {
        req->finished = false;
        outcome = req->outcome;
    }
    if (outcome == MCP_PENDING) {
        req->state = req->stream        ? MCP__REQUEST_LISTENING
                     : req->waiter.prev ? MCP__REQUEST_WAITING
                                        : MCP__REQUEST_PENDING;
        if (req->stream)
            mcp__listen_shrink(req);
        else if (!req->waiter.prev)
            mcp__deadline_start(req);
        return;
    }
    bool gone = !req->task && (!req->in.channel || req->in.channel->closed);
    if (req->cancelled || gone) {
        drop(req);
        return;
    }
    if (outcome == MCP_INPUT_REQUIRED && !req->error_code && !req->failed) {
        mcp__hold_end(req);
        mcp__input_deliver(req);
        return;
    }
    if (outcome >= 0 && req->failed)
        outcome = req->failed;
    if (outcome >= 0 && !req->error_code && req->method->check)
        outcome = req->method->check(req);
    if (outcome < 0 || req->error_code) {
        set_error(req, outcome);
        send_error(req);
    } else {
        send_result(req);
    }
}
