/* writer.c: the public writer, which adds commas, colons and a check of the nesting to write.c.
 *
 * Every call treats a NULL writer as one that has already failed, so that a program that is out of
 * memory needs no check before mcp_json_writer_finish().
 */
#include "json/json.h"

enum { DEFAULT_LIMIT = 64 * 1024 * 1024 };

struct mcp_json_writer {
    mcp__buf buf; /* `buf.failed` is also the failure of the writer */
    mcp_allocator allocator;
    size_t depth;
    bool empty; /* the innermost container has no element yet */
    bool keyed; /* a key was written, but not its value */
    bool done;  /* the one value of the text is complete or in progress */
    /* one bit per level: 1 for an object, 0 for an array */
    unsigned char objects[MCP__JSON_DEEPEST / 8];
};

static bool usable(const mcp_json_writer *w)
{
    return w && !w->buf.failed;
}

static bool in_object(const mcp_json_writer *w)
{
    size_t level = w->depth - 1;
    return w->depth && (w->objects[level / 8] >> (level % 8) & 1);
}

/* Writes the comma before the next element or key. */
static void separate(mcp_json_writer *w)
{
    if (!w->empty)
        mcp__buf_char(&w->buf, ',');
    w->empty = false;
}

/* Returns whether a value is allowed here. If it is, writes the comma before it, if any. */
static bool place_value(mcp_json_writer *w)
{
    if (!usable(w))
        return false;
    if (w->depth == 0 ? w->done : in_object(w) && !w->keyed) {
        w->buf.failed = MCP_ESTATE;
        return false;
    }
    if (w->depth && !in_object(w))
        separate(w);
    w->keyed = false;
    w->done = true;
    return true;
}

mcp_json_writer *mcp_json_writer_new(const mcp_allocator *allocator, size_t limit)
{
    const mcp_allocator *a = mcp__allocator(allocator);
    mcp_json_writer *w = mcp__zalloc(a, sizeof(*w));
    if (!w)
        return NULL;
    w->allocator = *a;
    mcp__buf_init(&w->buf, &w->allocator, limit ? limit : DEFAULT_LIMIT);
    return w;
}

void mcp_json_writer_free(mcp_json_writer *w)
{
    if (!w)
        return;
    mcp__buf_free(&w->buf);
    mcp_allocator a = w->allocator;
    mcp__release(&a, w);
}

void mcp__json_writer_fail(mcp_json_writer *w, int code)
{
    if (usable(w))
        w->buf.failed = code;
}

void mcp_json_writer_reset(mcp_json_writer *w)
{
    if (!w)
        return;
    mcp__buf_reset(&w->buf, SIZE_MAX);
    w->depth = 0;
    w->empty = w->keyed = w->done = false;
}

static void begin(mcp_json_writer *w, bool object)
{
    if (!place_value(w))
        return;
    if (w->depth == MCP__JSON_DEEPEST) {
        w->buf.failed = MCP_ELIMIT;
        return;
    }
    unsigned char *bits = &w->objects[w->depth / 8];
    unsigned bit = 1u << (w->depth % 8);
    *bits = (unsigned char)(object ? *bits | bit : *bits & ~bit);
    w->depth++;
    w->empty = true;
    mcp__buf_char(&w->buf, object ? '{' : '[');
}

void mcp_json_begin_object(mcp_json_writer *w)
{
    begin(w, true);
}

void mcp_json_begin_array(mcp_json_writer *w)
{
    begin(w, false);
}

void mcp_json_end(mcp_json_writer *w)
{
    if (!usable(w))
        return;
    if (w->depth == 0 || w->keyed) {
        w->buf.failed = MCP_ESTATE;
        return;
    }
    mcp__buf_char(&w->buf, in_object(w) ? '}' : ']');
    w->depth--;
    w->empty = false;
}

void mcp_json_key_str(mcp_json_writer *w, mcp_str key)
{
    if (!usable(w))
        return;
    if (!in_object(w) || w->keyed) {
        w->buf.failed = MCP_ESTATE;
        return;
    }
    separate(w);
    mcp__json_put_str(&w->buf, key);
    mcp__buf_char(&w->buf, ':');
    w->keyed = true;
}

void mcp_json_key(mcp_json_writer *w, const char *key)
{
    mcp_json_key_str(w, mcp_str_from(key));
}

void mcp_json_add_null(mcp_json_writer *w)
{
    if (place_value(w))
        mcp__buf_lit(&w->buf, "null");
}

void mcp_json_add_bool(mcp_json_writer *w, bool value)
{
    if (place_value(w))
        mcp__buf_str(&w->buf, value ? MCP_STR("true") : MCP_STR("false"));
}

void mcp_json_add_int(mcp_json_writer *w, int64_t value)
{
    if (place_value(w))
        mcp__json_put_int(&w->buf, value);
}

void mcp_json_add_uint(mcp_json_writer *w, uint64_t value)
{
    if (place_value(w))
        mcp__json_put_uint(&w->buf, value);
}

void mcp_json_add_real(mcp_json_writer *w, double value)
{
    if (place_value(w))
        mcp__json_put_real(&w->buf, value);
}

void mcp_json_add_str(mcp_json_writer *w, mcp_str value)
{
    if (place_value(w))
        mcp__json_put_str(&w->buf, value);
}

void mcp_json_add_string(mcp_json_writer *w, const char *value)
{
    mcp_json_add_str(w, mcp_str_from(value));
}

void mcp_json_add_base64(mcp_json_writer *w, const void *bytes, size_t len)
{
    if (place_value(w))
        mcp__json_put_base64(&w->buf, bytes, len);
}

void mcp_json_add_value(mcp_json_writer *w, const mcp_json *value)
{
    if (place_value(w))
        mcp__json_put_value(&w->buf, value);
}

void mcp_json_add_raw(mcp_json_writer *w, mcp_str json)
{
    if (!place_value(w))
        return;
    /* The caller guarantees valid JSON, but a line end would break the framing of the whole
     * stream. */
    if (json.len == 0 || memchr(json.ptr, '\n', json.len) || memchr(json.ptr, '\r', json.len))
        w->buf.failed = MCP_EINVAL;
    else
        mcp__buf_str(&w->buf, json);
}

mcp__buf *mcp__json_writer_place(mcp_json_writer *w)
{
    return place_value(w) ? &w->buf : NULL;
}

int mcp_json_writer_finish(mcp_json_writer *w, mcp_str *ret)
{
    if (!w)
        return MCP_ENOMEM;
    if (!w->buf.failed && (w->depth || !w->done))
        w->buf.failed = MCP_ESTATE;
    if (w->buf.failed)
        return w->buf.failed;
    *ret = mcp__buf_view(&w->buf);
    return MCP_OK;
}
