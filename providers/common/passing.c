/* passing.c: copies the params of a request for another server, without the members that belong to
 * a single hop. */
#include "passing.h"

#include <string.h>

#include "buffer.h"
#include "depends.h"

bool common_passing_is_of_hop(mcp_str key)
{
    static const char prefix[] = "io.modelcontextprotocol/";
    return mcp_str_eq(key, MCP_STR("progressToken")) || mcp_str_eq(key, MCP_STR(MCP_META_CALLER)) ||
           mcp_str_eq(key, MCP_STR(COMMON_META_FILES)) ||
           (key.len >= sizeof(prefix) - 1 && memcmp(key.ptr, prefix, sizeof(prefix) - 1) == 0);
}

static void put_meta(mcp_json_writer *w, const mcp_json *meta, mcp_str text)
{
    mcp_json_iter it = {0};
    mcp_json_text_iter texts = {0};
    mcp_str key, value;
    mcp_json_begin_object(w);
    while (mcp_json_next(meta, &it, &key) && mcp_json_text_next(text, &texts, NULL, &value)) {
        if (common_passing_is_of_hop(key))
            continue;
        mcp_json_key_str(w, key);
        mcp_json_add_text(w, value);
    }
    mcp_json_end(w);
}

/* Writes the other server's name or URI instead of ours. Returns false if `key` is neither of
 * them. */
static bool put_changed(mcp_json_writer *w, const common_passing *c, mcp_str key)
{
    mcp_str value = {NULL, 0};
    if (mcp_str_eq(key, MCP_STR("name")))
        value = c->name;
    else if (mcp_str_eq(key, MCP_STR("uri")))
        value = c->uri;
    if (!value.ptr)
        return false;
    mcp_json_key_str(w, key);
    mcp_json_add_str(w, value);
    return true;
}

static void put_ref(mcp_json_writer *w, const common_passing *c, const mcp_json *ref, mcp_str text)
{
    mcp_json_iter it = {0};
    mcp_json_text_iter texts = {0};
    mcp_str key, value;
    mcp_json_begin_object(w);
    while (mcp_json_next(ref, &it, &key) && mcp_json_text_next(text, &texts, NULL, &value)) {
        if (put_changed(w, c, key))
            continue;
        mcp_json_key_str(w, key);
        mcp_json_add_text(w, value);
    }
    mcp_json_end(w);
}

bool common_passing_leaves_out(mcp_str key)
{
    static const char *const names[] = {"task", "inputResponses", "requestState", "cursor"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (mcp_str_eq(key, mcp_str_from(names[i])))
            return true;
    }
    return false;
}

static void put_member(mcp_json_writer *w, const common_passing *c, mcp_str key,
                       const mcp_json *value, mcp_str text)
{
    bool object = mcp_json_is(value, MCP_JSON_OBJECT);
    if (common_passing_leaves_out(key) || (!c->ref && put_changed(w, c, key)))
        return;
    mcp_json_key_str(w, key);
    if (object && mcp_str_eq(key, MCP_STR("_meta")))
        put_meta(w, value, text);
    else if (object && c->ref && mcp_str_eq(key, MCP_STR("ref")))
        put_ref(w, c, value, text);
    else
        mcp_json_add_text(w, text);
}

int common_passing_params(mcp_request *req, const common_passing *change,
                          const mcp_allocator *alloc, char **ret)
{
    mcp_str text = mcp_request_params_text(req), made;
    const mcp_json *params = mcp_request_params(req), *v;
    mcp_json_iter it = {0};
    mcp_json_text_iter texts = {0};
    mcp_str key, value;
    if (params && !text.ptr)
        return MCP_ENOMEM;
    mcp_json_writer *w = mcp_json_writer_new(alloc, 0);
    mcp_json_begin_object(w);
    while ((v = mcp_json_next(params, &it, &key)) != NULL &&
           mcp_json_text_next(text, &texts, NULL, &value))
        put_member(w, change, key, v, value);
    if (change->cursor.ptr) {
        mcp_json_key(w, "cursor");
        mcp_json_add_str(w, change->cursor);
    }
    mcp_json_end(w);
    int rc = mcp_json_writer_finish(w, &made);
    if (rc == MCP_OK) {
        *ret = common_copy(alloc, made.ptr, made.len);
        rc = *ret ? MCP_OK : MCP_ENOMEM;
    }
    mcp_json_writer_free(w);
    return rc;
}
