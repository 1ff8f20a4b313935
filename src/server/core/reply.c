/* reply.c: builds and sends the result of a request. Errors are in reply_error.c.
 *
 * A result is written directly into the message's buffer: first its head, then the method's array,
 * then the members that the revision requires. An error discards what was written. No tree is
 * built, and nothing is copied twice.
 */
#include "server/core/build.h"
#include "server/methods/methods.h"
#include "server/tasks/task.h"

/* Returns MCP_OK if more may be added to the reply, or a code that says why not. */
static int check_open(const mcp_request *req)
{
    if (req->reply.failed)
        return req->reply.failed;
    return req->error.code ? MCP_ESTATE : MCP_OK;
}

static int remember(mcp_request *req, int rc)
{
    if (rc < 0 && !req->reply.failed)
        req->reply.failed = rc;
    return req->reply.failed ? req->reply.failed : rc;
}

/* The reply is not UTF-8. Of its main text it is said where. */
static int remember_not_utf8(mcp_request *req, mcp_str text)
{
    size_t at = text.ptr ? mcp__utf8_valid(text.ptr, text.len) : text.len;
    if (at < text.len)
        mcp__reply_explain(req, MCP_EINVAL, "the text of the reply is not UTF-8 at byte %zu", at);
    else
        mcp__reply_explain(req, MCP_EINVAL, "a text of the reply is not UTF-8");
    return remember(req, MCP_EINVAL);
}

mcp__buf *mcp__reply_begin(mcp_request *req)
{
    mcp__buf *b = &req->reply.out;
    if (req->reply.begun)
        return b;
    req->reply.begun = true;
    if (req->task) {
        mcp__task_take_buf(req->task, b); /* the buffer of a task contains only the result */
    } else if (req->in.channel) {
        *b = mcp__channel_take_buf(req->in.channel);
        mcp__put_result_head(b, mcp__request_id(req));
    } else {
        /* The channel has been freed while the handler still runs. The handler's output is
         * discarded. */
        b->failed = MCP_ECLOSED;
        return b;
    }
    if (req->reply.raw) {
        mcp__buf_char(b, '{');
    } else if (req->method->array) {
        mcp__buf_str(b, req->method->head);
    }
    return b;
}

/* Returns the buffer for the next entry of the array, or NULL if the method has no array or the
 * reply has failed. */
static mcp__buf *next_entry(mcp_request *req)
{
    if (check_open(req) != MCP_OK)
        return NULL;
    if ((!req->in.channel && !req->task) || !req->method || !req->method->array) {
        remember(req, MCP_ESTATE);
        return NULL;
    }
    mcp__buf *b = mcp__reply_begin(req);
    if (req->reply.count++)
        mcp__buf_char(b, ',');
    return b;
}

/* ---- content --------------------------------------------------------------------------------- */

static mcp__form form_of(const mcp_request *req)
{
    return req->method ? req->method->form : MCP__FORM_NONE;
}

static int check_content(const mcp_request *req, const mcp_content *c)
{
    bool reading = form_of(req) == MCP__FORM_CONTENTS;
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
        c->uri = req->target.uri.ptr;
    if (!c->mime_type && req->target.entry)
        c->mime_type = req->target.entry->mime_type;
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
    int rc = check_open(req);
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
        return req->reply.failed;
    switch (req->method->form) {
    case MCP__FORM_CONTENTS: put_contents(req, b, &c); break;
    case MCP__FORM_MESSAGES: put_message(req, b, &c); break;
    case MCP__FORM_BLOCKS: mcp__put_content_block(b, req->revision, &c); break;
    case MCP__FORM_NONE:
    case MCP__FORM_ENTRIES:
    case MCP__FORM_VALUES: return remember(req, MCP_ESTATE);
    }
    if (b->failed == MCP_EINVAL)
        return remember_not_utf8(req, c.bytes ? (mcp_str){0} : c.text);
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
    bool reading = form_of(req) == MCP__FORM_CONTENTS;
    mcp_content c = {.size = sizeof(c),
                     .kind = reading ? MCP_CONTENT_TEXT : MCP_CONTENT_IMAGE,
                     .bytes = bytes ? bytes : "",
                     .bytes_len = len,
                     .mime_type = mime_type};
    if (!reading && mime_type && strncmp(mime_type, "audio/", 6) == 0)
        c.kind = MCP_CONTENT_AUDIO;
    return mcp_reply_content(req, &c);
}

int mcp_reply_textf(mcp_request *req, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    mcp_str text = mcp__request_format(req, format, args);
    va_end(args);
    return text.ptr ? mcp_reply_str(req, text, NULL) : req->reply.failed;
}

int mcp_reply_tool_error(mcp_request *req, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    mcp_str text = mcp__request_format(req, format, args);
    va_end(args);
    req->tool.is_error = true;
    return text.ptr ? mcp_reply_str(req, text, NULL) : req->reply.failed;
}

static void blank(char *text, size_t len, char c)
{
    char *end = text + len;
    while ((text = memchr(text, c, (size_t)(end - text))) != NULL)
        *text++ = ' ';
}

/* Copies JSON as it was written, so that numbers keep all their digits. Line ends, which a message
 * must not contain, are replaced by spaces. In JSON they are never part of a value. */
static mcp_str copy_in_one_line(mcp_request *req, mcp_str json)
{
    char *copy = mcp_request_strdup(req, json);
    if (!copy)
        return (mcp_str){0};
    blank(copy, json.len, '\n');
    blank(copy, json.len, '\r');
    return (mcp_str){copy, json.len};
}

int mcp_reply_structured(mcp_request *req, mcp_str json)
{
    if (check_open(req) != MCP_OK)
        return check_open(req);
    mcp_json_doc *doc = NULL;
    char small[1024]; /* most results fit, and are parsed without an allocation for their text */
    bool fits = json.len > 0 && json.len <= sizeof(small) - MCP__JSON_PADDING;
    if (fits)
        memcpy(small, json.ptr, json.len);
    const mcp_allocator *a = &req->server->allocator;
    mcp_error why = {0};
    int rc = fits ? mcp__json_parse_insitu(small, json.len, NULL, a, &doc, &why)
                  : mcp_json_parse(json, NULL, a, &doc, &why);
    if (rc == MCP_EPARSE)
        mcp__reply_explain(req, rc, "the structured content of the reply: %s", why.text);
    if (rc != MCP_OK)
        return remember(req, rc);
    req->tool.has_structured = true;
    rc = mcp__tool_check_output(req, mcp_json_root(doc));
    if (rc != MCP_OK) {
        mcp_json_free(doc);
        return rc;
    }
    bool object = mcp_json_is(mcp_json_root(doc), MCP_JSON_OBJECT);
    mcp_json_free(doc);
    req->tool.structured = copy_in_one_line(req, json);
    req->tool.as_text = !req->revision->structured || (!object && !req->revision->structured_any);
    return remember(req, req->tool.structured.ptr ? MCP_OK : MCP_ENOMEM);
}

int mcp_reply_fields(mcp_request *req, const mcp_field *fields, size_t n, const void *from)
{
    mcp_str json;
    mcp_json_writer *w = mcp_json_writer_new(&req->server->allocator, 0);
    mcp_fields_write(fields, n, from, w);
    int rc = mcp_json_writer_finish(w, &json);
    if (rc == MCP_EINVAL)
        mcp__reply_explain(req, rc, "a field of the reply is not UTF-8, or has too many elements");
    rc = rc == MCP_OK ? mcp_reply_structured(req, json) : remember(req, rc);
    mcp_json_writer_free(w);
    return rc;
}

int mcp_reply_description(mcp_request *req, const char *description)
{
    if (check_open(req) != MCP_OK)
        return check_open(req);
    req->reply.description = mcp__request_copy(req, mcp_str_from(description));
    return req->reply.failed;
}

struct mcp__member {
    mcp__member *next;
    mcp_str key;
};

/* Peers may reject a reply with a duplicate member. */
static bool has_member(const mcp__members *set, mcp_str key)
{
    const mcp__member *m = set->names;
    while (m && !mcp_str_eq(m->key, key))
        m = m->next;
    return m != NULL;
}

static int add_member(mcp_request *req, mcp__members *set, mcp_str key)
{
    mcp__member *m = mcp_request_alloc(req, sizeof(*m));
    if (!m)
        return remember(req, MCP_ENOMEM);
    *m = (mcp__member){.next = set->names, .key = mcp__request_copy(req, key)};
    set->names = m;
    return req->reply.failed;
}

/* Begins a member. The caller then appends its value. */
static int begin_member(mcp_request *req, mcp__members *set, mcp_str key)
{
    if (check_open(req) != MCP_OK)
        return check_open(req);
    if (has_member(set, key))
        return MCP_EEXIST;
    if (add_member(req, set, key) != MCP_OK)
        return req->reply.failed;
    if (!set->text.allocator)
        mcp__buf_init(&set->text, &req->server->allocator,
                      req->in.channel ? req->in.channel->options.max_reply : 0);
    mcp__buf_char(&set->text, ',');
    mcp__json_put_str(&set->text, key);
    mcp__buf_char(&set->text, ':');
    return MCP_OK;
}

static void add_text(mcp_request *req, mcp__members *set, mcp_str key, mcp_str json)
{
    if (begin_member(req, set, key) != MCP_OK)
        return;
    mcp__json_put_text(&set->text, json);
    remember(req, set->text.failed);
}

void mcp__reply_meta_text(mcp_request *req, mcp_str key, mcp_str json)
{
    add_text(req, &req->reply.meta, key, json);
}

void mcp__reply_extra_text(mcp_request *req, mcp_str key, mcp_str json)
{
    add_text(req, &req->reply.extra, key, json);
}

int mcp__reply_meta(mcp_request *req, const char *key, mcp_str json)
{
    mcp__members *set = &req->reply.meta;
    int rc = begin_member(req, set, mcp_str_from(key));
    if (rc != MCP_OK)
        return rc;
    mcp_error why = {0};
    rc = mcp__json_put_checked(&set->text, json, MCP_JSON_NONE, &why);
    if (rc == MCP_EPARSE)
        mcp__reply_explain(req, rc, "\"%s\" in the _meta of the reply: %s", key, why.text);
    return remember(req, rc == MCP_OK ? set->text.failed : rc);
}

int mcp_reply_meta(mcp_request *req, const char *key, mcp_str json)
{
    static const char *const reserved[] = {MCP__META_SERVER_INFO, MCP__META_SUBSCRIPTION,
                                           MCP__META_RELATED_TASK};
    for (size_t i = 0; i < MCP__COUNT(reserved); i++) {
        if (strcmp(key, reserved[i]) == 0)
            return MCP_EEXIST;
    }
    return mcp__reply_meta(req, key, json);
}

void mcp_reply_cache(mcp_request *req, uint64_t ttl_ms, bool is_public)
{
    req->reply.cache.set = true;
    req->reply.cache.ttl_ms = ttl_ms;
    req->reply.cache.is_public = is_public;
}

/* ---- finishing ------------------------------------------------------------------------------ */

void mcp_reply_finish(mcp_request *req, int outcome)
{
    if (req->state == MCP__REQUEST_RUNNING) {
        /* Called from within the handler, which still has to return MCP_PENDING. */
        req->finish.called = true;
        req->finish.outcome = outcome;
        return;
    }
    req->state = MCP__REQUEST_RUNNING;
    req->deadline.progressed = true;
    if (outcome <= MCP_OK && !req->cancelled && req->method->resume) {
        if (req->page.begun && req->build != req->server->build)
            mcp__end_list(req); /* its mounts are not in the current build */
        mcp__build_take(req);
        outcome = req->method->resume(req, outcome);
    }
    mcp__request_finish(req, outcome);
}

/* ---- results --------------------------------------------------------------------------------- */

/* Returns whether other clients may get a different answer. */
static bool is_for_client(const mcp_request *req)
{
    const mcp__registry *tools = &req->server->registry[MCP__TOOLS];
    const mcp__method *method = req->method;
    if (!method->is_list || (method->form == MCP__FORM_ENTRIES && method->lists != MCP__TOOLS))
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
    if (req->reply.cache.set) {
        ttl = req->reply.cache.ttl_ms;
        is_public = req->reply.cache.is_public;
    }
    if (req->page.incomplete)
        ttl = 0;
    mcp__buf_lit(b, ",\"ttlMs\":");
    mcp__json_put_uint(b, ttl);
    if (is_public && !req->server->access.may && !is_for_client(req))
        mcp__buf_lit(b, ",\"cacheScope\":\"public\"");
    else
        mcp__buf_lit(b, ",\"cacheScope\":\"private\"");
}

/* Whether the result names the server. A parent that forwards results would remove the name. */
static bool is_named(const mcp_request *req)
{
    const mcp_channel *channel = req->in.channel;
    return req->revision->result_type && !(channel && channel->options.trusted_parent);
}

static void put_meta(const mcp_request *req, mcp__buf *b)
{
    if (is_named(req)) {
        mcp__buf_lit(b, ",\"_meta\":{\"" MCP__META_SERVER_INFO "\":");
        mcp__buf_str(b, req->server->info[mcp__revision_index(req->revision)]);
        mcp__buf_str(b, mcp__buf_view(&req->reply.meta.text));
        mcp__buf_char(b, '}');
    } else if (req->reply.meta.text.len) {
        mcp__buf_lit(b, ",\"_meta\":{");
        mcp__buf_str(b, mcp__str_sub(mcp__buf_view(&req->reply.meta.text), 1));
        mcp__buf_char(b, '}');
    }
}

/* Repeats structured content as text for peers that do not know structuredContent (2026-07-28,
 * server/tools, "Structured Content"), unless the handler added content itself. */
static void add_structured_text(mcp_request *req)
{
    if (!req->tool.structured.ptr || req->reply.count)
        return;
    mcp_content text = {.size = sizeof(text), .text = req->tool.structured};
    req->reply.count++;
    mcp__put_content_block(mcp__reply_begin(req), req->revision, &text);
}

/* Completes the result. Every member is written with a leading comma. The comma directly after an
 * opening brace is then removed. */
static void close_result(mcp_request *req)
{
    mcp__buf *b = mcp__reply_begin(req);
    add_structured_text(req);
    size_t brace = SIZE_MAX;
    if (req->reply.raw) {
        brace = b->len && b->ptr[b->len - 1] == '{' ? b->len - 1 : SIZE_MAX;
    } else if (req->method->array) {
        mcp__buf_char(b, ']');
        mcp__buf_str(b, mcp__buf_view(&req->reply.extra.text));
    } else {
        brace = b->len;
        mcp__buf_char(b, '{');
    }
    if (req->method->tail && !req->reply.raw)
        req->method->tail(req, b);
    if (req->revision->caching && mcp__method_row_of(req->method)->traits & MCP__CACHEABLE)
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

void mcp__reply_send_early(mcp_request *req)
{
    close_result(req);
    const mcp__buf *out = &req->reply.out;
    req->cancelled = true;
    req->used.outcome = MCP__USED_OK;
    req->used.answer = out->len;
    if (out->failed || req->reply.failed)
        mcp__incoming_abandon(&req->in, MCP__INTERNAL_ERROR,
                              MCP_STR("Internal error: no answer in time"), (mcp_str){0});
    else
        mcp__incoming_answer_early(&req->in, mcp__buf_view(out), 0);
    mcp__request_stop(req);
}

void mcp__reply_send_result(mcp_request *req)
{
    int rc = req->task ? mcp__task_add_meta(req) : MCP_OK;
    close_result(req);
    if (rc == MCP_OK)
        rc = req->reply.out.failed;
    if (rc != MCP_OK) {
        mcp__reply_send_error(req, rc);
        return;
    }
    req->used.outcome = req->tool.is_error ? MCP__USED_TOOL_ERROR : MCP__USED_OK;
    req->used.answer = req->reply.out.len;
    if (req->task) {
        mcp__task_complete(req);
        return;
    }
    mcp__buf out = req->reply.out;
    mcp__buf_init(&req->reply.out, out.allocator, 0);
    mcp__request_send(req, &out);
}
