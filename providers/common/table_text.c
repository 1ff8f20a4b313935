/* table_text.c: see table_text.h. */
#include "table_text.h"

#include <stdio.h>
#include <string.h>

typedef struct table {
    common_buffer *to;
    const mcp_allocator *alloc;
    bool ok;
} table;

static void put(table *t, const char *text, size_t len)
{
    t->ok = t->ok && common_buffer_append(t->to, text, len) == MCP_OK;
}

static void put_words(table *t, const char *words)
{
    put(t, words, strlen(words));
}

static void put_text(table *t, mcp_str text)
{
    size_t from = 0;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (c != '|' && c != '\n' && c != '\r')
            continue;
        put(t, text.ptr + from, i - from);
        put_words(t, c == '|' ? "\\|" : c == '\n' ? "<br>" : "");
        from = i + 1;
    }
    put(t, text.ptr + from, text.len - from);
}

static void put_json(table *t, const mcp_json *value)
{
    mcp_str text;
    mcp_json_writer *w = mcp_json_writer_new(t->alloc, 0);
    mcp_json_add_value(w, value);
    if (mcp_json_writer_finish(w, &text) == MCP_OK)
        put_text(t, text);
    else
        t->ok = false;
    mcp_json_writer_free(w);
}

static void put_cell(table *t, const mcp_json *value)
{
    put_words(t, " ");
    if (mcp_json_is(value, MCP_JSON_NULL))
        put_words(t, "NULL");
    else if (mcp_json_is(value, MCP_JSON_STRING))
        put_text(t, mcp_json_string(value));
    else
        put_json(t, value);
    put_words(t, " |");
}

static void put_row(table *t, const mcp_json *row)
{
    mcp_json_iter iter = {.index = 0};
    put_words(t, "|");
    for (const mcp_json *cell; (cell = mcp_json_next(row, &iter, NULL)) != NULL;)
        put_cell(t, cell);
    put_words(t, "\n");
}

static void put_rows(table *t, const mcp_json *answer)
{
    const mcp_json *columns = mcp_json_get(answer, "columns"), *rows = mcp_json_get(answer, "rows");
    mcp_str next = mcp_json_string(mcp_json_get(answer, "next"));
    mcp_json_iter iter = {.index = 0};
    put_row(t, columns);
    put_words(t, "|");
    for (size_t i = 0; i < mcp_json_count(columns); i++)
        put_words(t, " --- |");
    put_words(t, "\n");
    for (const mcp_json *row; (row = mcp_json_next(rows, &iter, NULL)) != NULL;)
        put_row(t, row);
    if (next.len) {
        put_words(t, "\nNext page: ");
        put(t, next.ptr, next.len);
        put_words(t, "\n");
    }
    if (mcp_json_bool(mcp_json_get(answer, "truncated"), false))
        put_words(t, "\nThere are more rows.\n");
}

static void put_members(table *t, const mcp_json *row)
{
    mcp_str key;
    mcp_json_iter iter = {.index = 0};
    put_words(t, "| column | value |\n| --- | --- |\n");
    for (const mcp_json *cell; (cell = mcp_json_next(row, &iter, &key)) != NULL;) {
        put_words(t, "| ");
        put_text(t, key);
        put_words(t, " |");
        put_cell(t, cell);
        put_words(t, "\n");
    }
}

int common_table_text(common_buffer *to, mcp_str json, bool row, const mcp_allocator *alloc)
{
    mcp_json_limits limits = {.size = sizeof(limits), .max_depth = 1024};
    mcp_json_doc *doc;
    table t = {.to = to, .alloc = alloc, .ok = true};
    int rc = mcp_json_parse(json, &limits, alloc, &doc, NULL);
    if (rc != MCP_OK)
        return rc == MCP_ENOMEM ? rc : MCP_EPARSE;
    (row ? put_members : put_rows)(&t, mcp_json_root(doc));
    mcp_json_free(doc);
    return t.ok ? MCP_OK : MCP_ENOMEM;
}

bool common_table_format(const mcp_str *value, bool *text, char why[300])
{
    *text = value && mcp_str_eq(*value, MCP_STR("text"));
    if (!value || *text || mcp_str_eq(*value, MCP_STR("json")))
        return true;
    snprintf(why, 300, "format must be json or text");
    return false;
}
