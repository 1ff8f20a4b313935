/* table_text.c: tables with aligned columns: comma-separated values, rows of databases; histories. */
#define _GNU_SOURCE
#include "content.h"

#include <stdlib.h>
#include <string.h>

#include <common/rows.h>

enum { MOST_COLUMNS = 64, MOST_CELLS = 60000, WIDEST = 40 };

typedef struct grid_cell {
    size_t at, len;
} grid_cell;

struct grid {
    size_t columns, count, room;
    grid_cell *cells;
    char *text;
    size_t len, text_room;
    size_t widths[MOST_COLUMNS];
    bool is_number[MOST_COLUMNS], is_full;
};

grid *grid_new(size_t columns)
{
    grid *g = columns && columns <= MOST_COLUMNS ? calloc(1, sizeof(*g)) : NULL;
    if (g)
        g->columns = columns;
    for (size_t i = 0; g && i < columns; i++)
        g->is_number[i] = true;
    return g;
}

void grid_free(grid *g)
{
    if (g) {
        free(g->cells);
        free(g->text);
    }
    free(g);
}

static bool is_number(mcp_str s)
{
    bool digits = false;
    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];
        if (c >= '0' && c <= '9')
            digits = true;
        else if (!strchr("+-.,eE%", c) || !c)
            return false;
    }
    return digits;
}

static bool make_room(grid *g, size_t len)
{
    if (g->count == g->room) {
        size_t room = g->room * 2 + 256;
        grid_cell *grown = realloc(g->cells, room * sizeof(*grown));
        if (!grown)
            return false;
        g->cells = grown;
        g->room = room;
    }
    if (g->len + len > g->text_room) {
        size_t room = (g->len + len) * 2 + 1024;
        char *grown = realloc(g->text, room);
        if (!grown)
            return false;
        g->text = grown;
        g->text_room = room;
    }
    return true;
}

void grid_add(grid *g, mcp_str text)
{
    enum { LONGEST = WIDEST * 8 };
    size_t column = g->count % g->columns;
    while (text.len && (text.ptr[0] == ' ' || text.ptr[0] == '\t'))
        text.ptr++, text.len--;
    text.len = text.len > LONGEST ? LONGEST : text.len;
    if (g->is_full || g->count >= MOST_CELLS || !make_room(g, text.len)) {
        g->is_full = true;
        return;
    }
    size_t width = text_width(text);
    width = width < WIDEST ? width : WIDEST;
    if (width > g->widths[column])
        g->widths[column] = width;
    if (g->count >= g->columns && text.len && !is_number(text))
        g->is_number[column] = false;
    if (text.len)
        memcpy(g->text + g->len, text.ptr, text.len);
    g->cells[g->count++] = (grid_cell){g->len, text.len};
    g->len += text.len;
}

void grid_end_row(grid *g)
{
    while (g->count % g->columns && !g->is_full)
        grid_add(g, (mcp_str){0});
}

/* Returns the beginning of a cell that fits into a column. */
static mcp_str fitting(mcp_str text, size_t most, size_t *width)
{
    mcp_str left = text;
    text_joining before = {0};
    *width = 0;
    while (left.len) {
        mcp_str next = left;
        text_glyph glyph = text_next(&next, TEXT_LINE, &before);
        if (*width + glyph.columns > most)
            break;
        *width += glyph.columns;
        left = next;
    }
    return (mcp_str){text.ptr, text.len - left.len};
}

static void put_row(const grid *g, lines *l, size_t row, unsigned indent)
{
    lines_begin(l, indent, indent, 0)->is_whole = true;
    for (size_t i = 0; i < g->columns && row * g->columns + i < g->count; i++) {
        const grid_cell *c = &g->cells[row * g->columns + i];
        size_t width;
        mcp_str text = fitting((mcp_str){g->text + c->at, c->len}, WIDEST, &width);
        bool is_last = i + 1 == g->columns, is_cut = text.len < c->len;
        int pad = (int)(g->widths[i] - (width < g->widths[i] ? width : g->widths[i]));
        look k = !row ? LOOK_HEADING : g->is_number[i] ? LOOK_NUMBER : LOOK_PLAIN;
        if (g->is_number[i] && row)
            lines_print(l, LOOK_PLAIN, "%*s", pad, "");
        lines_put(l, k, text);
        if (is_cut)
            lines_put(l, LOOK_DIM, MCP_STR("…"));
        if (!(g->is_number[i] && row) && !is_last)
            lines_print(l, LOOK_PLAIN, "%*s", pad, "");
        if (!is_last)
            lines_put(l, LOOK_DIM, is_cut ? MCP_STR("│ ") : MCP_STR(" │ "));
    }
    lines_end(l);
}

void grid_put(const grid *g, lines *l, unsigned indent)
{
    for (size_t row = 0; row * g->columns < g->count; row++)
        put_row(g, l, row, indent);
    if (g->is_full) {
        lines_print(l, LOOK_WARN, "only the beginning is shown");
        lines_end(l);
    }
}

/* ---- comma-separated values ------------------------------------------------------------------ */

/* Takes a field from *text. *ends_row is set if it is the last one of its row. The field's quotes
 * are removed in `to`, which has room for the text. */
static mcp_str take_field(mcp_str *text, char separator, char *to, bool *ends_row)
{
    size_t i = 0, n = 0;
    bool quoted = text->len && text->ptr[0] == '"';
    for (i = quoted; i < text->len; i++) {
        char c = text->ptr[i];
        if (quoted && c == '"') {
            if (i + 1 < text->len && text->ptr[i + 1] == '"')
                i++;
            else {
                quoted = false;
                continue;
            }
        } else if (!quoted && (c == separator || c == '\n')) {
            break;
        } else if (!quoted && c == '\r') {
            continue;
        }
        to[n++] = c == '\n' ? ' ' : c;
    }
    *ends_row = i >= text->len || text->ptr[i] == '\n';
    size_t used = i < text->len ? i + 1 : i;
    *text = (mcp_str){text->ptr + used, text->len - used};
    return (mcp_str){to, n};
}

bool csv_put(lines *l, mcp_str text, char separator)
{
    char *field = malloc(text.len + 1);
    mcp_str first = text;
    size_t columns = 0;
    bool ends = !field || !text.len;
    while (!ends) {
        take_field(&first, separator, field, &ends);
        columns++;
    }
    grid *g = columns > 1 ? grid_new(columns) : NULL;
    while (g && text.len && !g->is_full) {
        size_t n = 0;
        for (ends = false; !ends; n++) {
            mcp_str value = take_field(&text, separator, field, &ends);
            if (n < columns)
                grid_add(g, value);
        }
        grid_end_row(g);
    }
    if (g)
        grid_put(g, l, 0);
    grid_free(g);
    free(field);
    return g != NULL;
}

/* ---- rows ------------------------------------------------------------------------------------ */

typedef struct adding {
    grid *grid;
    mcp_json_writer *w; /* for one cell */
} adding;

static void add_value(void *user, const mcp_json *value)
{
    adding *a = user;
    grid_add(a->grid, rows_text(a->w, value));
}

static void put_table(lines *l, const rows *r, mcp_json_writer *w)
{
    mcp_json_iter it = {0};
    adding a = {grid_new(r->columns), w};
    for (size_t i = 0; a.grid && i < r->columns; i++)
        grid_add(a.grid, r->names[i]);
    for (const mcp_json *row; a.grid && !a.grid->is_full && (row = rows_next(r, &it)) != NULL;)
        rows_cells(r, row, add_value, &a);
    if (a.grid)
        grid_put(a.grid, l, 0);
    grid_free(a.grid);
}

/* "(main, v1) " */
static void put_decorations(lines *l, const rows_commit *commit)
{
    mcp_json_iter it = {0};
    mcp_str name;
    const char *before = "(";
    for (; rows_decoration(commit, &it, &name); before = ", ") {
        lines_put(l, LOOK_DIM, mcp_str_from(before));
        lines_put(l, LOOK_WARN, name);
    }
    if (mcp_json_count(commit->decorations))
        lines_put(l, LOOK_DIM, MCP_STR(") "));
}

static void put_history(lines *l, const rows *r)
{
    mcp_json_iter it = {0};
    for (const mcp_json *c; (c = rows_next(r, &it)) != NULL;) {
        rows_commit commit;
        rows_commit_get(c, &commit);
        lines_begin(l, 0, ROWS_ID + 1, 0);
        lines_put(l, LOOK_NUMBER, commit.id);
        lines_put(l, LOOK_DIM, MCP_STR(" "));
        lines_put(l, LOOK_DIM, commit.day);
        lines_put(l, LOOK_DIM, MCP_STR(" "));
        lines_put(l, LOOK_NAME, commit.author);
        lines_put(l, LOOK_DIM, MCP_STR(" "));
        put_decorations(l, &commit);
        lines_put(l, LOOK_PLAIN, commit.subject);
        lines_end(l);
    }
}

static void put_others(lines *l, const rows *r, mcp_json_writer *w)
{
    mcp_json_iter it = {0};
    mcp_str key;
    for (const mcp_json *m; (m = rows_other(r, &it, &key)) != NULL;) {
        lines_put(l, LOOK_NAME, key);
        lines_put(l, LOOK_DIM, MCP_STR(": "));
        lines_put(l, LOOK_PLAIN, rows_text(w, m));
        lines_end(l);
    }
}

bool rows_put(lines *l, const mcp_json *root)
{
    rows r;
    mcp_json_writer *w = rows_find(root, &r) ? mcp_json_writer_new(NULL, 0) : NULL;
    if (!w)
        return false;
    if (r.is_history)
        put_history(l, &r);
    else
        put_table(l, &r, w);
    put_others(l, &r, w);
    mcp_json_writer_free(w);
    return true;
}
