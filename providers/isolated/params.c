/* params.c: makes the params of a request for the process. The members are copied as text, and
 * `_meta` gets a new member that describes the caller (mcp_channel_options.trusted_parent).
 *
 * Most clients send the same `_meta` with each request. The last one, and the `_meta` that was made
 * from it, are therefore cached.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "passing.h"
#include "provider.h"

enum { MOST_KEPT = 4096 }; /* the longest `_meta` that is cached, in bytes */

/* ---- text ------------------------------------------------------------------------------------ */

/* Appends the text from `key` to the end of `value`, with spaces instead of line ends, which in
 * valid JSON occur only between tokens. `from` is the offset of the first member in the buffer. */
static int put_member(common_buffer *b, size_t from, mcp_str key, mcp_str value)
{
    static const char ends[] = {'\n', '\r'};
    size_t len = (size_t)(value.ptr - key.ptr) + value.len;
    int rc = b->len > from ? common_buffer_append(b, ",", 1) : MCP_OK;
    size_t start = b->len;
    if (rc == MCP_OK)
        rc = common_buffer_append(b, key.ptr, len);
    for (size_t e = 0; rc == MCP_OK && e < sizeof(ends); e++) {
        char *at = b->ptr + start, *end = b->ptr + b->len;
        while ((at = memchr(at, ends[e], (size_t)(end - at))) != NULL)
            *at = ' ';
    }
    return rc;
}

/* Appends the members of an object, whose text is `text`, except those for which left_out() returns
 * true. The member `_meta` is not appended; *meta becomes its text. */
static int put_members(common_buffer *b, const mcp_json *object, mcp_str text,
                       bool (*left_out)(mcp_str key), mcp_str *meta)
{
    mcp_json_iter it = {0};
    mcp_json_text_iter texts = {.count = mcp_json_count(object)};
    mcp_str key, quoted, value;
    size_t from = b->len;
    int rc = MCP_OK;
    if (!mcp_json_is(object, MCP_JSON_OBJECT))
        return MCP_OK;
    while (rc == MCP_OK && mcp_json_next(object, &it, &key) &&
           mcp_json_text_next(text, &texts, &quoted, &value)) {
        if (mcp_str_eq(key, MCP_STR("_meta")))
            *meta = value;
        else if (!left_out(key))
            rc = put_member(b, from, quoted, value);
    }
    return rc;
}

/* ---- the caller ------------------------------------------------------------------------------ */

static int put_caller(common_buffer *b, const isolated_call *call, size_t page_size)
{
    char number[24];
    mcp_request *req = call->req;
    const mcp_json *info = mcp_request_client_info(req);
    const char *principal = mcp_request_principal(req);
    mcp_str made;
    mcp_json_writer *w = mcp_json_writer_new(&b->alloc, 0);
    mcp_json_begin_object(w);
    mcp_json_key(w, MCP_META_CALLER);
    mcp_json_begin_object(w);
    mcp_json_key(w, "revision"), mcp_json_add_string(w, mcp_request_revision(req));
    mcp_json_key(w, "restricted"), mcp_json_add_bool(w, mcp_request_restricted(req));
    if (principal)
        mcp_json_key(w, "principal"), mcp_json_add_string(w, principal);
    if (call->caller) {
        snprintf(number, sizeof(number), "%" PRIu64, call->caller->number);
        mcp_json_key(w, "token"), mcp_json_add_string(w, number);
    }
    if (info)
        mcp_json_key(w, "clientInfo"), mcp_json_add_value(w, info);
    if (page_size)
        mcp_json_key(w, "pageSize"), mcp_json_add_uint(w, page_size);
    mcp_json_end(w);
    mcp_json_end(w);
    int rc = mcp_json_writer_finish(w, &made);
    if (rc == MCP_OK)
        rc = common_buffer_append(b, made.ptr + 1, made.len - 2); /* without the braces */
    mcp_json_writer_free(w);
    return rc;
}

static int put_meta(common_buffer *b, const isolated_call *call, mcp_str text, size_t page_size)
{
    const mcp_json *meta = mcp_json_get(mcp_request_params(call->req), "_meta");
    mcp_str inner;
    size_t from = b->len;
    int rc = put_members(b, meta, text, common_passing_is_of_hop, &inner);
    if (rc == MCP_OK && b->len > from)
        rc = common_buffer_append(b, ",", 1);
    return rc == MCP_OK ? put_caller(b, call, page_size) : rc;
}

/* ---- the cache ------------------------------------------------------------------------------- */

static bool same(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

/* Returns whether everything that describes the caller is in `_meta` or is compared by is_kept().
 * This is not so in a legacy session, whose client is described by `initialize`. */
static bool may_keep(mcp_request *req, mcp_str text, size_t page_size)
{
    const mcp_json *meta = mcp_json_get(mcp_request_params(req), "_meta");
    const mcp_json *own = mcp_json_get(meta, "io.modelcontextprotocol/clientInfo");
    bool changes = page_size || mcp_json_get(meta, "progressToken");
    return text.len && text.len <= MOST_KEPT && !changes && mcp_request_client_info(req) == own;
}

static bool is_kept(const isolated_meta *k, const isolated_call *call, mcp_str text)
{
    const mcp_request *req = call->req;
    return k->of && text.len == k->of_len && memcmp(text.ptr, k->of, text.len) == 0 &&
           same(k->revision, mcp_request_revision(req)) &&
           same(k->principal, mcp_request_principal(req)) && k->caller == call->caller &&
           k->restricted == mcp_request_restricted(req);
}

void isolated_meta_free(isolated *r)
{
    isolated_meta *k = &r->meta;
    common_release(&r->alloc, k->of);
    common_release(&r->alloc, k->made);
    common_release(&r->alloc, k->revision);
    common_release(&r->alloc, k->principal);
    isolated_caller_give(r, k->caller);
    *k = (isolated_meta){.of = NULL};
}

static char *copy(const isolated *r, const char *text)
{
    return common_copy(&r->alloc, text, strlen(text));
}

/* Replaces the contents of the cache. If out of memory, the cache is empty afterwards. */
static void keep(const isolated_call *call, mcp_str text, mcp_str made)
{
    isolated *r = call->owner;
    const mcp_request *req = call->req;
    const char *principal = mcp_request_principal(req);
    isolated_meta *k = &r->meta;
    isolated_meta_free(r);
    k->of_len = text.len;
    k->made_len = made.len;
    k->restricted = mcp_request_restricted(req);
    k->caller = call->caller;
    if (k->caller)
        k->caller->uses++;
    k->of = common_copy(&r->alloc, text.ptr, text.len);
    k->made = common_copy(&r->alloc, made.ptr, made.len);
    k->revision = copy(r, mcp_request_revision(req));
    k->principal = principal ? copy(r, principal) : NULL;
    if (!k->of || !k->made || !k->revision || (principal && !k->principal))
        isolated_meta_free(r);
}

/* ---- both parts ------------------------------------------------------------------------------ */

static int put_cursor(common_buffer *b, mcp_str cursor)
{
    mcp_str made;
    if (!cursor.ptr)
        return MCP_OK;
    mcp_json_writer *w = mcp_json_writer_new(&b->alloc, 0);
    mcp_json_add_str(w, cursor);
    int rc = mcp_json_writer_finish(w, &made);
    if (rc == MCP_OK && !common_put(b, b->len ? ",\"cursor\":" : "\"cursor\":"))
        rc = MCP_ENOMEM;
    if (rc == MCP_OK)
        rc = common_buffer_append(b, made.ptr, made.len);
    mcp_json_writer_free(w);
    return rc;
}

static int put_caller_meta(common_buffer *b, const isolated_call *call, mcp_str text,
                           size_t page_size)
{
    const isolated_meta *kept = &call->owner->meta;
    size_t from = b->len;
    bool may = may_keep(call->req, text, page_size);
    if (may && is_kept(kept, call, text))
        return common_buffer_append(b, kept->made, kept->made_len);
    int rc = put_meta(b, call, text, page_size);
    if (rc == MCP_OK && may)
        keep(call, text, (mcp_str){b->ptr + from, b->len - from});
    return rc;
}

int isolated_params_make(const isolated_call *call, mcp_str cursor, size_t page_size,
                         isolated_params *ret)
{
    mcp_request *req = call->req;
    const mcp_json *params = mcp_request_params(req);
    mcp_str text = mcp_request_params_text(req), meta = {NULL, 0};
    common_buffer b;
    if (params && !text.ptr)
        return MCP_ENOMEM;
    enum { ROOM = 256 }; /* enough in most cases for the members that are added */
    common_buffer_init(&b, &call->owner->alloc);
    int rc = common_buffer_reserve(&b, text.len + ROOM);
    if (rc == MCP_OK)
        rc = put_members(&b, params, text, common_passing_leaves_out, &meta);
    if (rc == MCP_OK)
        rc = put_cursor(&b, cursor);
    if (rc == MCP_OK)
        rc = common_buffer_append(&b, "", 1);
    size_t at = b.len;
    if (rc == MCP_OK)
        rc = put_caller_meta(&b, call, meta, page_size);
    if (rc == MCP_OK)
        rc = common_buffer_append(&b, "", 1);
    if (rc == MCP_OK)
        *ret = (isolated_params){.members = b.ptr, .meta = b.ptr + at};
    else
        common_buffer_free(&b);
    return rc;
}
