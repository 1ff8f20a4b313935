/* view.c: shows rows of a database as a table, and the commits of a log as lines.
 *
 * In addition to the rows an object may have members with a single value ("next"), which follow on
 * separate lines: nothing is left out, except in a commit.
 */
#define _GNU_SOURCE
#include "view.h"

#include <stdlib.h>
#include <string.h>

#include <common/rows.h>

enum { LARGEST = 4 << 20 };

typedef struct view {
    rows rows;
    table *table;
    mcp_json_writer *w; /* for one cell */
} view;

static void add_value(void *user, const mcp_json *value)
{
    view *v = user;
    cell_kind kind = CELL_TEXT;
    switch (mcp_json_typeof(value)) {
    case MCP_JSON_NULL: kind = CELL_NULL; break;
    case MCP_JSON_INT:
    case MCP_JSON_REAL:
    case MCP_JSON_BIGINT: kind = CELL_NUMBER; break;
    default: break;
    }
    table_add(v->table, kind, rows_text(v->w, value));
}

static void add_rows(view *v)
{
    mcp_json_iter it = {0};
    for (size_t i = 0; i < v->rows.columns; i++)
        table_add(v->table, CELL_TEXT, v->rows.names[i]);
    for (const mcp_json *row; (row = rows_next(&v->rows, &it)) != NULL;)
        rows_cells(&v->rows, row, add_value, v);
}

/* Adds the subject of a commit after its decorations: "(main, v1) Fix the parser". */
static void add_subject(view *v, const rows_commit *commit)
{
    char *text = NULL;
    size_t len;
    mcp_json_iter it = {0};
    mcp_str name;
    const char *before = "(";
    FILE *f = mcp_json_count(commit->decorations) ? open_memstream(&text, &len) : NULL;
    for (; f && rows_decoration(commit, &it, &name); before = ", ") {
        fputs(before, f);
        text_put_raw(f, name);
    }
    if (f) {
        fputs(") ", f);
        text_put_raw(f, commit->subject);
        fclose(f);
    }
    table_add(v->table, CELL_TEXT, text ? (mcp_str){text, len} : commit->subject);
    free(text);
}

static void add_history(view *v)
{
    mcp_json_iter it = {0};
    for (const mcp_json *c; (c = rows_next(&v->rows, &it)) != NULL;) {
        rows_commit commit;
        rows_commit_get(c, &commit);
        table_add(v->table, CELL_TEXT, commit.id);
        table_add(v->table, CELL_TEXT, commit.day);
        table_add(v->table, CELL_TEXT, commit.author);
        add_subject(v, &commit);
    }
}

/* Writes the other members, such as "next: sqlite://shop/item/rows?offset=100". */
static void put_others(view *v, FILE *to, const table_look *look)
{
    mcp_json_iter it = {0};
    mcp_str key;
    for (const mcp_json *m; (m = rows_other(&v->rows, &it, &key)) != NULL;) {
        fputs(look->dim ? look->dim : "", to);
        text_put(to, key, TEXT_LINE);
        fputs(": ", to);
        text_put(to, rows_text(v->w, m), TEXT_LINE);
        fprintf(to, "%s\n", look->plain ? look->plain : "");
    }
}

bool view_put(FILE *to, mcp_str json, const table_look *look)
{
    mcp_json_doc *doc = NULL;
    if (json.len > LARGEST || mcp_json_parse(json, NULL, NULL, &doc, NULL) != MCP_OK)
        return false;
    view v = {.w = mcp_json_writer_new(NULL, 0)};
    if (v.w && rows_find(mcp_json_root(doc), &v.rows))
        v.table = v.rows.is_history ? table_new(4, false) : table_new(v.rows.columns, true);
    if (v.table)
        (v.rows.is_history ? add_history : add_rows)(&v);
    bool put = v.table && table_put(v.table, to, look);
    if (put)
        put_others(&v, to, look);
    table_free(v.table);
    mcp_json_writer_free(v.w);
    mcp_json_free(doc);
    return put;
}
