/* forward_params.c: copies the params of a request for another server, without the members that belong
 * to a single hop. */
#include "forward.h"

#include <mcp/sys/channel.h>
#include <mcp/sys/json.h>
#include <mcp/sys/forward.h>
#include <string.h>

#include "buffer.h"

/* Returns whether a member of `_meta` is not forwarded, because it belongs to the connection with the
 * peer. */
static bool is_of_connection(mcp_str key)
{
    static const char prefix[] = "io.modelcontextprotocol/";
    return mcp_str_eq(key, MCP_STR("progressToken")) || mcp_str_eq(key, MCP_STR(MCP_META_CALLER)) ||
           (key.len >= sizeof(prefix) - 1 && memcmp(key.ptr, prefix, sizeof(prefix) - 1) == 0);
}

/* Returns whether a member of params is not forwarded. Tasks and answers to input requests are made
 * anew. The cursor is replaced by that of the other server. */
static bool leaves_out(mcp_str key)
{
    static const char *const names[] = {"task", "inputResponses", "requestState", "cursor"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (mcp_str_eq(key, mcp_str_from(names[i])))
            return true;
    }
    return false;
}

/* ---- text ------------------------------------------------------------------------------------ */

typedef struct output {
    common_buffer b;
    int rc;
    size_t from; /* where the members of the current object begin */
} output;

static void put(output *o, mcp_str text)
{
    if (o->rc == MCP_OK)
        o->rc = common_buffer_append(&o->b, text.ptr, text.len);
}

static bool is_plain(mcp_str s)
{
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.ptr[i];
        if (c < 0x20 || c >= 0x7f || c == '"' || c == '\\')
            return false;
    }
    return true;
}

static void put_string(output *o, mcp_str s)
{
    mcp_str made;
    if (is_plain(s)) {
        put(o, MCP_STR("\""));
        put(o, s);
        put(o, MCP_STR("\""));
        return;
    }
    mcp_json_writer *w = mcp_json_writer_new(&o->b.alloc, 0);
    mcp_json_add_str(w, s);
    int rc = mcp_json_writer_finish(w, &made);
    if (rc == MCP_OK)
        put(o, made);
    else if (o->rc == MCP_OK)
        o->rc = rc;
    mcp_json_writer_free(w);
}

/* Writes a key, which is JSON text with its quotes. */
static void put_key(output *o, mcp_str key)
{
    if (o->b.len > o->from)
        put(o, MCP_STR(","));
    put(o, key);
    put(o, MCP_STR(":"));
}

/* In valid JSON, line ends are only white space between tokens. */
static void join_lines(common_buffer *b)
{
    static const char ends[] = {'\n', '\r'};
    for (size_t e = 0; e < sizeof(ends); e++) {
        for (char *at = b->ptr; (at = memchr(at, ends[e], (size_t)(b->ptr + b->len - at))) != NULL;)
            *at = ' ';
    }
}

/* ---- members --------------------------------------------------------------------------------- */

/* Writes the other server's name or URI instead of ours. Returns false if `key` is neither of
 * them. */
static bool put_changed(output *o, const common_forward_change *c, mcp_str key)
{
    bool name = c->name.ptr && mcp_str_eq(key, MCP_STR("name"));
    bool uri = c->uri.ptr && mcp_str_eq(key, MCP_STR("uri"));
    if (!name && !uri)
        return false;
    put_key(o, name ? MCP_STR("\"name\"") : MCP_STR("\"uri\""));
    put_string(o, name ? c->name : c->uri);
    return true;
}

/* An object and its text, member by member. */
typedef struct members {
    const mcp_json *object;
    mcp_str text;
    mcp_json_iter it;
    mcp_json_text_iter texts;
    const mcp_json *value;
    mcp_str name, key, value_text; /* `key` is the text of `name` */
} members;

static members members_of(const mcp_json *object, mcp_str text)
{
    return (members){.object = object, .text = text, .texts = {.count = mcp_json_count(object)}};
}

static bool next(members *m)
{
    m->value = mcp_json_next(m->object, &m->it, &m->name);
    return m->value && mcp_json_text_next(m->text, &m->texts, &m->key, &m->value_text);
}

static void put_unchanged(output *o, const members *m)
{
    put_key(o, m->key);
    put(o, m->value_text);
}

/* Whether a member is about the trace, and not for the other server as it is. `traceparent` is that which it will get. */
static bool is_replaced(const members *m, mcp_str traceparent)
{
    enum { MOST = 512 };
    if (mcp_str_eq(m->name, MCP_STR("tracestate"))) {
        const mcp_json *theirs = mcp_json_get(m->object, "traceparent");
        mcp_str id = mcp_json_string(theirs), state = mcp_json_string(m->value);
        bool same = id.len == traceparent.len && id.len && memcmp(id.ptr, traceparent.ptr, 35) == 0;
        return !same || !state.ptr || state.len > MOST;
    }
    return mcp_str_eq(m->name, MCP_STR("traceparent")) || mcp_str_eq(m->name, MCP_STR("baggage"));
}

static void put_meta(output *o, members m, mcp_str more, mcp_str traceparent)
{
    o->from = o->b.len;
    while (next(&m)) {
        if (!is_of_connection(m.name) && !is_replaced(&m, traceparent))
            put_unchanged(o, &m);
    }
    if (traceparent.len) {
        put_key(o, MCP_STR("\"traceparent\""));
        put_string(o, traceparent);
    }
    if (more.len && o->b.len > o->from)
        put(o, MCP_STR(","));
    put(o, more);
}

static void put_ref(output *o, const common_forward_change *c, members m)
{
    size_t before = o->from;
    put_key(o, MCP_STR("\"ref\""));
    put(o, MCP_STR("{"));
    o->from = o->b.len;
    while (next(&m)) {
        if (!put_changed(o, c, m.name))
            put_unchanged(o, &m);
    }
    put(o, MCP_STR("}"));
    o->from = before;
}

/* Writes the members of params. *meta becomes those of _meta. */
static void put_params(output *o, const common_forward_change *c, members m, members *meta)
{
    while (next(&m)) {
        bool object = mcp_json_is(m.value, MCP_JSON_OBJECT);
        if (mcp_str_eq(m.name, MCP_STR("_meta"))) {
            *meta = members_of(m.value, m.value_text);
            o->rc = object ? o->rc : MCP_EINVAL;
        } else if (leaves_out(m.name)) {
            continue;
        } else if (c->ref && object && mcp_str_eq(m.name, MCP_STR("ref"))) {
            put_ref(o, c, members_of(m.value, m.value_text));
        } else if (c->ref || !put_changed(o, c, m.name)) {
            put_unchanged(o, &m);
        }
    }
    if (c->cursor.ptr) {
        put_key(o, MCP_STR("\"cursor\""));
        put_string(o, c->cursor);
    }
}

int common_forward_params(mcp_request *req, const common_forward_change *change,
                          const mcp_allocator *alloc, common_params *ret)
{
    const mcp_json *params = mcp_request_params(req);
    mcp_str text = mcp_request_params_text(req), name = change->name;
    members meta = {.object = NULL};
    output o = {.rc = MCP_OK};
    char trace[MCP_TRACEPARENT_ROOM];
    if (params && !text.ptr)
        return MCP_ENOMEM;
    if (!name.ptr)
        name = change->uri;
    if (change->ref)
        name = (mcp_str){NULL, 0};
    common_buffer_init(&o.b, alloc);
    o.rc = common_buffer_reserve(&o.b, text.len + change->cursor.len + change->meta.len +
                                           2 * name.len + 64 + sizeof(trace));
    put_params(&o, change, members_of(params, text), &meta);
    put(&o, (mcp_str){"", 1});
    size_t at = o.b.len;
    mcp_request_traceparent(req, change->span, trace);
    put_meta(&o, meta, change->meta, mcp_str_from(trace));
    put(&o, (mcp_str){"", 1});
    size_t end = o.b.len;
    if (o.rc == MCP_OK)
        join_lines(&o.b);
    put(&o, name);
    put(&o, (mcp_str){"", 1});
    if (o.rc == MCP_OK)
        *ret = (common_params){.members = o.b.ptr,
                               .meta = o.b.ptr + at,
                               .name = name.ptr ? o.b.ptr + end : NULL,
                               .len = end};
    else
        common_buffer_free(&o.b);
    return o.rc;
}
