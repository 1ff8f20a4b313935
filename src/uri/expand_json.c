/* expand_json.c: the members of a JSON object as the values of a template. A number is written as
 * the JSON writer writes it, so an integer of any size keeps its digits. */
#include "uri/uri.h"

static int no_memory(mcp_error *error)
{
    return mcp__fail(error, MCP_ENOMEM, 0, "out of memory");
}

static int number_text(const mcp_json *value, mcp__arena *arena, mcp_str *ret, mcp_error *error)
{
    mcp_json_writer *w = mcp_json_writer_new(arena->allocator, 0);
    if (!w)
        return no_memory(error);
    mcp_json_add_value(w, value);
    mcp_str text;
    int rc = mcp_json_writer_finish(w, &text);
    char *copy = rc == MCP_OK ? mcp__arena_strdup(arena, text) : NULL;
    if (copy)
        *ret = (mcp_str){copy, text.len};
    mcp_json_writer_free(w);
    return copy ? MCP_OK : no_memory(error);
}

/* Converts a string, number or boolean. */
static int scalar(const mcp_json *value, mcp_str name, mcp__arena *arena, mcp_str *ret,
                  mcp_error *error)
{
    switch (mcp_json_typeof(value)) {
    case MCP_JSON_STRING: *ret = mcp_json_string(value); return MCP_OK;
    case MCP_JSON_BOOL:
        *ret = mcp_json_bool(value, false) ? MCP_STR("true") : MCP_STR("false");
        return MCP_OK;
    case MCP_JSON_INT:
    case MCP_JSON_REAL:
    case MCP_JSON_BIGINT: return number_text(value, arena, ret, error);
    default:
        return mcp__fail(error, MCP_EINVAL, 0,
                         "\"%.*s\" contains an array or object inside of another",
                         (int)MCP__MIN(name.len, 100), name.ptr);
    }
}

/* Collects the elements of an array or object that are not null. */
static int elements(const mcp_json *container, mcp_str name, mcp__arena *arena, mcp_uri_value *ret,
                    mcp_error *error)
{
    size_t count = mcp_json_count(container);
    if (count == 0)
        return MCP_ENOTFOUND;
    if (count > MCP_URI_MAX_EXPANSION)
        return mcp__fail(error, MCP_ELIMIT, 0, "the expansion is longer than 1 MiB");
    mcp_uri_pair *items = mcp__arena_alloc(arena, count * sizeof(*items));
    if (!items)
        return no_memory(error);
    mcp_json_iter iter = {0};
    mcp_uri_pair item = {0};
    const mcp_json *element;
    while ((element = mcp_json_next(container, &iter, &item.name)) != NULL) {
        if (mcp_json_is(element, MCP_JSON_NULL))
            continue;
        int rc = scalar(element, name, arena, &item.value, error);
        if (rc != MCP_OK)
            return rc;
        items[ret->count++] = item;
    }
    ret->items = items;
    return MCP_OK;
}

static int lookup_json(const void *values, size_t count, mcp_str name, mcp__arena *arena,
                       mcp_uri_value *ret, mcp_error *error)
{
    (void)count;
    const mcp_json *value = mcp_json_get_str(values, name);
    switch (mcp_json_typeof(value)) {
    case MCP_JSON_NONE:
    case MCP_JSON_NULL: return MCP_ENOTFOUND;
    case MCP_JSON_ARRAY: ret->type = MCP_URI_LIST; return elements(value, name, arena, ret, error);
    case MCP_JSON_OBJECT: ret->type = MCP_URI_MAP; return elements(value, name, arena, ret, error);
    default: return scalar(value, name, arena, &ret->string, error);
    }
}

int mcp_uri_template_expand_json(const mcp_uri_template *t, const mcp_json *values,
                                 const mcp_allocator *allocator, char **ret, mcp_error *error)
{
    mcp__no_error(error);
    if (values && !mcp_json_is(values, MCP_JSON_OBJECT))
        return mcp__fail(error, MCP_EINVAL, 0, "the values of a template are a JSON object");
    return mcp__uri_expand(t, lookup_json, values, 0, allocator, ret, error);
}
