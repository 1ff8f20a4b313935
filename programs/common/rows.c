/* rows.c: recognizes JSON that is a table or a history. */
#include "rows.h"

#include <ctype.h>
#include <string.h>

enum { LONGEST_NAME = 1024 }; /* longest name of a column; it may be shown with each row */

static bool is_container(const mcp_json *value)
{
    return mcp_json_is(value, MCP_JSON_OBJECT) || mcp_json_is(value, MCP_JSON_ARRAY);
}

/* Returns whether all members except these two are single values. */
static bool is_flat(const mcp_json *object, const char *but, const char *and_but)
{
    mcp_json_iter it = {0};
    mcp_str key;
    if (!mcp_json_is(object, MCP_JSON_OBJECT))
        return false;
    for (const mcp_json *v; (v = mcp_json_next(object, &it, &key)) != NULL;)
        if (is_container(v) && !mcp_str_eq(key, mcp_str_from(but)) &&
            !mcp_str_eq(key, mcp_str_from(and_but)))
            return false;
    return true;
}

/* ---- tables ---------------------------------------------------------------------------------- */

static bool find_page(const mcp_json *root, rows *r)
{
    const mcp_json *columns = mcp_json_get(root, "columns");
    mcp_json_iter it = {0}, at = {0};
    size_t n = mcp_json_count(columns);
    r->list = mcp_json_get(root, "rows");
    if (!mcp_json_is(columns, MCP_JSON_ARRAY) || !mcp_json_is(r->list, MCP_JSON_ARRAY) || !n ||
        n > ROWS_COLUMNS || mcp_json_count(r->list) > ROWS_CELLS / n)
        return false;
    for (const mcp_json *v; (v = mcp_json_next(columns, &at, NULL)) != NULL;) {
        mcp_str name = mcp_json_string(v);
        if (!mcp_json_is(v, MCP_JSON_STRING) || name.len > LONGEST_NAME)
            return false;
        r->names[r->columns++] = name;
    }
    for (const mcp_json *v; (v = mcp_json_next(r->list, &it, NULL)) != NULL;)
        if (!mcp_json_is(v, MCP_JSON_ARRAY) || mcp_json_count(v) != n)
            return false;
    return is_flat(root, "columns", "rows");
}

/* Adds the keys of an object as columns. Returns false if there are too many. */
static bool add_keys(rows *r, const mcp_json *object)
{
    mcp_json_iter it = {0};
    mcp_str key;
    while (mcp_json_next(object, &it, &key)) {
        size_t i = 0;
        while (i < r->columns && !mcp_str_eq(r->names[i], key))
            i++;
        if (i == ROWS_COLUMNS || key.len > LONGEST_NAME)
            return false;
        r->names[i] = key;
        r->columns += i == r->columns;
    }
    return true;
}

static bool find_objects(const mcp_json *root, rows *r)
{
    mcp_json_iter it = {0};
    r->list = root;
    for (const mcp_json *o; (o = mcp_json_next(root, &it, NULL)) != NULL;)
        if (!is_flat(o, "", "") || !add_keys(r, o))
            return false;
    return r->columns && mcp_json_count(root) <= ROWS_CELLS / r->columns;
}

void rows_cells(const rows *r, const mcp_json *row, void (*cell)(void *user, const mcp_json *value),
                void *user)
{
    mcp_json_iter it = {0};
    bool is_object = mcp_json_is(row, MCP_JSON_OBJECT);
    for (size_t i = 0; i < r->columns; i++)
        cell(user, is_object ? mcp_json_get_str(row, r->names[i]) : mcp_json_next(row, &it, NULL));
}

mcp_str rows_text(mcp_json_writer *w, const mcp_json *value)
{
    mcp_str text = mcp_json_string(value);
    if (mcp_json_is(value, MCP_JSON_STRING) || !value)
        return text.ptr ? text : MCP_STR("");
    if (mcp_json_is(value, MCP_JSON_NULL))
        return MCP_STR("NULL");
    mcp_json_writer_reset(w);
    mcp_json_add_value(w, value);
    return mcp_json_writer_finish(w, &text) == MCP_OK ? text : MCP_STR("?");
}

/* ---- histories ------------------------------------------------------------------------------- */

static bool is_commit(const mcp_json *commit)
{
    mcp_str id = mcp_json_string(mcp_json_get(commit, "id"));
    if (id.len < ROWS_ID || !mcp_json_is(mcp_json_get(commit, "subject"), MCP_JSON_STRING))
        return false;
    for (size_t i = 0; i < id.len; i++)
        if (!isxdigit((unsigned char)id.ptr[i]))
            return false;
    return true;
}

static bool find_history(const mcp_json *root, rows *r)
{
    mcp_json_iter it = {0};
    r->list = mcp_json_get(root, "commits");
    size_t count = mcp_json_count(r->list);
    if (!mcp_json_is(r->list, MCP_JSON_ARRAY) || !count || count > ROWS_CELLS / 4)
        return false;
    for (const mcp_json *c; (c = mcp_json_next(r->list, &it, NULL)) != NULL;)
        if (!is_commit(c))
            return false;
    r->is_history = true;
    return is_flat(root, "commits", "");
}

void rows_commit_get(const mcp_json *commit, rows_commit *ret)
{
    const mcp_json *author = mcp_json_get(commit, "author");
    mcp_str id = mcp_json_string(mcp_json_get(commit, "id"));
    mcp_str time = mcp_json_string(mcp_json_get(author, "time"));
    size_t day = strlen("2026-07-28");
    *ret = (rows_commit){.id = {id.ptr, ROWS_ID},
                         .day = {time.ptr, time.len < day ? time.len : day},
                         .author = mcp_json_string(mcp_json_get(author, "name")),
                         .subject = mcp_json_string(mcp_json_get(commit, "subject")),
                         .decorations = mcp_json_get(commit, "decorations")};
}

bool rows_decoration(const rows_commit *commit, mcp_json_iter *it, mcp_str *name)
{
    const mcp_json *d = mcp_json_next(commit->decorations, it, NULL);
    *name = mcp_json_string(mcp_json_is(d, MCP_JSON_OBJECT) ? mcp_json_get(d, "name") : d);
    return d != NULL;
}

/* ---- both ------------------------------------------------------------------------------------ */

bool rows_find(const mcp_json *root, rows *ret)
{
    static bool (*const forms[])(const mcp_json *root, rows *r) = {find_page, find_history};
    size_t n = sizeof(forms) / sizeof(*forms);
    if (mcp_json_is(root, MCP_JSON_ARRAY)) {
        *ret = (rows){.root = root};
        return find_objects(root, ret);
    }
    for (size_t i = 0; i < n; i++) {
        *ret = (rows){.root = root};
        if (forms[i](root, ret))
            return true;
    }
    return false;
}

const mcp_json *rows_next(const rows *r, mcp_json_iter *it)
{
    return mcp_json_next(r->list, it, NULL);
}

const mcp_json *rows_other(const rows *r, mcp_json_iter *it, mcp_str *key)
{
    const mcp_json *m;
    if (!mcp_json_is(r->root, MCP_JSON_OBJECT))
        return NULL;
    while ((m = mcp_json_next(r->root, it, key)) != NULL && is_container(m)) {
    }
    return m;
}
