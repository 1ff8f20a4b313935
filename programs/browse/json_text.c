/* json_text.c: JSON as lines, one for each value, with folds. */
#include "content.h"

#include <ctype.h>
#include <string.h>

enum { INDENT = 2, DEEPEST = 60 };

typedef struct place {
    unsigned depth, fold;
    bool has_key, is_last;
    mcp_str key;
} place;

static void put_value(lines *l, const mcp_json *value, place at);

/* Writes a value as JSON text, which is safe because it was parsed. */
static void put_scalar(lines *l, const mcp_json *value)
{
    mcp_str text;
    look k = mcp_json_is(value, MCP_JSON_STRING) ? LOOK_STRING : LOOK_NUMBER;
    mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
    mcp_json_add_value(w, value);
    if (mcp_json_writer_finish(w, &text) == MCP_OK)
        lines_put(l, k, text);
    mcp_json_writer_free(w);
}

/* A key is written without quotes if it cannot be taken for anything else. */
static void put_key(lines *l, mcp_str key)
{
    bool is_plain = key.len > 0;
    for (size_t i = 0; i < key.len; i++)
        is_plain = is_plain && (isalnum((unsigned char)key.ptr[i]) || strchr("_-.$", key.ptr[i])) &&
                   key.ptr[i];
    mcp_json_writer *w = is_plain ? NULL : mcp_json_writer_new(NULL, 0);
    mcp_str text = key;
    mcp_json_add_str(w, key);
    if (w && mcp_json_writer_finish(w, &text) != MCP_OK)
        text = key;
    lines_put(l, LOOK_NAME, text);
    mcp_json_writer_free(w);
}

static lines_line *begin(lines *l, const place *at)
{
    unsigned indent = at->depth * INDENT;
    lines_line *line = lines_begin(l, indent, indent + INDENT, at->depth);
    if (at->has_key) {
        put_key(l, at->key);
        lines_put(l, LOOK_DIM, MCP_STR(": "));
    }
    return line;
}

static void put_members(lines *l, const mcp_json *value, const place *at, bool is_object)
{
    mcp_json_iter it = {0};
    mcp_str key = {0};
    size_t left = mcp_json_count(value);
    for (const mcp_json *v; (v = mcp_json_next(value, &it, is_object ? &key : NULL)) != NULL;)
        put_value(l, v,
                  (place){.depth = at->depth + 1,
                          .fold = at->fold,
                          .has_key = is_object,
                          .is_last = --left == 0,
                          .key = key});
}

static void put_value(lines *l, const mcp_json *value, place at)
{
    bool is_object = mcp_json_is(value, MCP_JSON_OBJECT);
    bool is_container = is_object || mcp_json_is(value, MCP_JSON_ARRAY);
    bool has_members = is_container && mcp_json_count(value) && at.depth < DEEPEST;
    size_t line = l->count;
    begin(l, &at);
    if (!is_container)
        put_scalar(l, value);
    else
        lines_print(l, LOOK_DIM,
                    has_members ? "%s"
                    : is_object ? "%s}"
                                : "%s]",
                    is_object ? "{" : "[");
    lines_end(l);
    if (!has_members)
        return;
    if (line < l->count)
        l->items[line].is_folded = at.depth >= at.fold;
    put_members(l, value, &at, is_object);
    /* the closing bracket belongs to what is folded */
    lines_begin(l, at.depth * INDENT, 0, at.depth + 1);
    lines_put(l, LOOK_DIM, is_object ? MCP_STR("}") : MCP_STR("]"));
    lines_end(l);
}

void json_put_value(lines *l, const mcp_json *value, unsigned depth, unsigned fold)
{
    put_value(l, value, (place){.depth = depth, .fold = fold, .is_last = true});
}

bool json_put(lines *l, mcp_str text, unsigned fold)
{
    mcp_json_doc *doc = NULL;
    if (mcp_json_parse(text, NULL, NULL, &doc, NULL) != MCP_OK)
        return false;
    const mcp_json *root = mcp_json_root(doc);
    if (!rows_put(l, root))
        json_put_value(l, root, 0, fold);
    mcp_json_free(doc);
    return true;
}
