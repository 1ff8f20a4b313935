/* view.c: shows rows of a database as a table, and the commits of a log as lines.
 *
 * All of the server's output is checked before anything is written, so that output that only
 * resembles one of the forms is written unchanged. In addition to the rows an object may have
 * members with a single value ("next"), which follow on separate lines: nothing is left out, except
 * in a commit.
 */
#define _GNU_SOURCE
#include "view.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include <mcp/json.h>

enum {
    LARGEST = 4 << 20,
    MOST_CELLS = 200000,
    LONGEST_NAME = 1024, /* longest column name; it may be written with each row */
    ID_SHOWN = 8,
};

typedef struct view {
    table *table;
    mcp_json_writer *w; /* for one cell */
} view;

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

/* Returns a value as text, which is valid until the next call. */
static mcp_str value_text(view *v, const mcp_json *value)
{
    mcp_str text = mcp_json_string(value);
    if (mcp_json_is(value, MCP_JSON_STRING) || !value)
        return text.ptr ? text : MCP_STR("");
    if (mcp_json_is(value, MCP_JSON_NULL))
        return MCP_STR("NULL");
    mcp_json_writer_reset(v->w);
    mcp_json_add_value(v->w, value);
    return mcp_json_writer_finish(v->w, &text) == MCP_OK ? text : MCP_STR("?");
}

static void add_value(view *v, const mcp_json *value)
{
    cell_kind kind = CELL_TEXT;
    switch (mcp_json_typeof(value)) {
    case MCP_JSON_NULL: kind = CELL_NULL; break;
    case MCP_JSON_INT:
    case MCP_JSON_REAL:
    case MCP_JSON_BIGINT: kind = CELL_NUMBER; break;
    default: break;
    }
    table_add(v->table, kind, value_text(v, value));
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Returns whether the value has the form {"columns": ["a", ...], "rows": [[1, ...], ...]}. */
static bool is_page(const mcp_json *root)
{
    const mcp_json *columns = mcp_json_get(root, "columns"), *rows = mcp_json_get(root, "rows");
    mcp_json_iter it = {0}, at = {0};
    size_t n = mcp_json_count(columns);
    if (!mcp_json_is(columns, MCP_JSON_ARRAY) || !mcp_json_is(rows, MCP_JSON_ARRAY) || !n ||
        n > TABLE_COLUMNS || mcp_json_count(rows) > MOST_CELLS / n)
        return false;
    for (const mcp_json *v; (v = mcp_json_next(columns, &at, NULL)) != NULL;)
        if (!mcp_json_is(v, MCP_JSON_STRING) || mcp_json_string(v).len > LONGEST_NAME)
            return false;
    for (const mcp_json *v; (v = mcp_json_next(rows, &it, NULL)) != NULL;)
        if (!mcp_json_is(v, MCP_JSON_ARRAY) || mcp_json_count(v) != n)
            return false;
    return is_flat(root, "columns", "rows");
}

static bool add_page(view *v, const mcp_json *root)
{
    const mcp_json *columns = mcp_json_get(root, "columns");
    mcp_json_iter it = {0}, at = {0};
    v->table = table_new(mcp_json_count(columns), true);
    if (!v->table)
        return false;
    for (const mcp_json *c; (c = mcp_json_next(columns, &at, NULL)) != NULL;)
        add_value(v, c);
    for (const mcp_json *row; (row = mcp_json_next(mcp_json_get(root, "rows"), &it, NULL));) {
        mcp_json_iter in = {0};
        for (const mcp_json *c; (c = mcp_json_next(row, &in, NULL)) != NULL;)
            add_value(v, c);
    }
    return true;
}

/* ---- objects --------------------------------------------------------------------------------- */

typedef struct keys {
    mcp_str key[TABLE_COLUMNS];
    size_t count;
} keys;

/* Adds the keys of an object. Returns false if there are too many. */
static bool add_keys(keys *k, const mcp_json *object)
{
    mcp_json_iter it = {0};
    mcp_str key;
    while (mcp_json_next(object, &it, &key)) {
        size_t i = 0;
        while (i < k->count && !mcp_str_eq(k->key[i], key))
            i++;
        if (i == TABLE_COLUMNS || key.len > LONGEST_NAME)
            return false;
        k->key[i] = key;
        k->count += i == k->count;
    }
    return true;
}

static bool add_objects(view *v, const mcp_json *root)
{
    mcp_json_iter it = {0}, again = {0};
    keys k = {.count = 0};
    for (const mcp_json *o; (o = mcp_json_next(root, &it, NULL)) != NULL;)
        if (!is_flat(o, "", "") || !add_keys(&k, o))
            return false;
    if (!k.count || mcp_json_count(root) > MOST_CELLS / k.count)
        return false;
    v->table = table_new(k.count, true);
    for (size_t i = 0; v->table && i < k.count; i++)
        table_add(v->table, CELL_TEXT, k.key[i]);
    for (const mcp_json *o; v->table && (o = mcp_json_next(root, &again, NULL)) != NULL;)
        for (size_t i = 0; i < k.count; i++)
            add_value(v, mcp_json_get_str(o, k.key[i]));
    return v->table != NULL;
}

/* ---- commits --------------------------------------------------------------------------------- */

static bool is_commit(const mcp_json *commit)
{
    mcp_str id = mcp_json_string(mcp_json_get(commit, "id"));
    if (id.len < ID_SHOWN || !mcp_json_is(mcp_json_get(commit, "subject"), MCP_JSON_STRING))
        return false;
    for (size_t i = 0; i < id.len; i++)
        if (!isxdigit((unsigned char)id.ptr[i]))
            return false;
    return true;
}

static bool is_log(const mcp_json *root)
{
    const mcp_json *commits = mcp_json_get(root, "commits");
    mcp_json_iter it = {0};
    size_t count = mcp_json_count(commits);
    if (!mcp_json_is(commits, MCP_JSON_ARRAY) || !count || count > MOST_CELLS / 4)
        return false;
    for (const mcp_json *c; (c = mcp_json_next(commits, &it, NULL)) != NULL;)
        if (!is_commit(c))
            return false;
    return is_flat(root, "commits", "");
}

/* Adds the subject of a commit after its decorations: "(main, v1) Fix the parser". */
static void add_subject(view *v, const mcp_json *commit)
{
    const mcp_json *decorations = mcp_json_get(commit, "decorations");
    mcp_str subject = mcp_json_string(mcp_json_get(commit, "subject"));
    char *text = NULL;
    size_t len;
    mcp_json_iter it = {0};
    const char *before = "(";
    FILE *f = mcp_json_count(decorations) ? open_memstream(&text, &len) : NULL;
    for (const mcp_json *d; f && (d = mcp_json_next(decorations, &it, NULL)); before = ", ") {
        const mcp_json *name = mcp_json_is(d, MCP_JSON_OBJECT) ? mcp_json_get(d, "name") : d;
        mcp_str shown = value_text(v, name);
        fputs(before, f);
        text_put_raw(f, shown);
    }
    if (f) {
        fputs(") ", f);
        text_put_raw(f, subject);
        fclose(f);
    }
    table_add(v->table, CELL_TEXT, text ? (mcp_str){text, len} : subject);
    free(text);
}

static bool add_log(view *v, const mcp_json *root)
{
    mcp_json_iter it = {0};
    v->table = table_new(4, false);
    for (const mcp_json *c;
         v->table && (c = mcp_json_next(mcp_json_get(root, "commits"), &it, NULL));) {
        const mcp_json *author = mcp_json_get(c, "author");
        mcp_str time = mcp_json_string(mcp_json_get(author, "time"));
        mcp_str id = mcp_json_string(mcp_json_get(c, "id"));
        size_t day = strlen("2026-07-28");
        table_add(v->table, CELL_TEXT, (mcp_str){id.ptr, ID_SHOWN});
        table_add(v->table, CELL_TEXT, (mcp_str){time.ptr, time.len < day ? time.len : day});
        table_add(v->table, CELL_TEXT, mcp_json_string(mcp_json_get(author, "name")));
        add_subject(v, c);
    }
    return v->table != NULL;
}

/* ---- choosing the form ----------------------------------------------------------------------- */

/* Writes the other members, such as "next: sqlite://shop/item/rows?offset=100". */
static void put_others(view *v, FILE *to, const mcp_json *root, const table_look *look)
{
    mcp_json_iter it = {0};
    mcp_str key;
    for (const mcp_json *m; (m = mcp_json_next(root, &it, &key)) != NULL;) {
        if (is_container(m) || mcp_json_is(root, MCP_JSON_ARRAY))
            continue;
        fputs(look->dim ? look->dim : "", to);
        text_put(to, key, TEXT_LINE);
        fputs(": ", to);
        text_put(to, value_text(v, m), TEXT_LINE);
        fprintf(to, "%s\n", look->plain ? look->plain : "");
    }
}

static bool add_all(view *v, const mcp_json *root)
{
    if (mcp_json_is(root, MCP_JSON_ARRAY))
        return add_objects(v, root);
    if (is_page(root))
        return add_page(v, root);
    return is_log(root) && add_log(v, root);
}

bool view_put(FILE *to, mcp_str json, const table_look *look)
{
    mcp_json_doc *doc = NULL;
    if (json.len > LARGEST || mcp_json_parse(json, NULL, NULL, &doc, NULL) != MCP_OK)
        return false;
    view v = {.w = mcp_json_writer_new(NULL, 0)};
    const mcp_json *root = mcp_json_root(doc);
    bool put = v.w && add_all(&v, root) && table_put(v.table, to, look);
    if (put)
        put_others(&v, to, root, look);
    table_free(v.table);
    mcp_json_writer_free(v.w);
    mcp_json_free(doc);
    return put;
}
