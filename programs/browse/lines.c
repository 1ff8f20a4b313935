/* lines.c: a text for a pane: lines with looks, wrapped for a width, parts of which can be folded. */
#define _GNU_SOURCE
#include "lines.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { TAB = 4, MOST_BEHIND = 40, MARK_COLUMNS = 2 };

void lines_clear(lines *l)
{
    for (size_t i = 0; i < l->count; i++)
        picture_free(l->items[i].picture);
    free(l->text);
    free(l->runs);
    free(l->items);
    free(l->rows);
    *l = (lines){0};
}

/* Makes room for `need` elements. Returns false if out of memory. */
static bool grow(lines *l, void **items, size_t *room, size_t need, size_t size)
{
    if (need <= *room)
        return true;
    size_t more = need + need / 2 + 64;
    void *grown = realloc(*items, more * size);
    if (!grown) {
        l->has_failed = true;
        return false;
    }
    *items = grown;
    *room = more;
    return true;
}

#define GROW(l, items, room, need) grow(l, (void **)&(items), &(room), need, sizeof(*(items)))

lines_line *lines_begin(lines *l, unsigned indent, unsigned hang, unsigned depth)
{
    static lines_line none;
    if (l->is_open)
        lines_end(l);
    if (!GROW(l, l->items, l->room, l->count + 1))
        return &none;
    l->items[l->count] = (lines_line){
        .at = l->len, .run = l->n_runs, .indent = indent, .hang = hang, .depth = depth};
    l->is_open = true;
    l->has_folds = l->has_folds || depth > 0;
    return &l->items[l->count++];
}

void lines_end(lines *l)
{
    if (!l->is_open)
        lines_begin(l, 0, 0, 0);
    l->is_open = false;
    l->width = 0;
}

void lines_put(lines *l, look k, mcp_str text)
{
    if (!l->is_open)
        lines_begin(l, 0, 0, 0);
    if (!text.len || !GROW(l, l->text, l->text_room, l->len + text.len) ||
        !GROW(l, l->runs, l->runs_room, l->n_runs + 1))
        return;
    l->runs[l->n_runs++] = (lines_run){.at = l->len, .look = k};
    memcpy(l->text + l->len, text.ptr, text.len);
    l->len += text.len;
}

void lines_print(lines *l, look k, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    lines_put(l, k, mcp_str_from(text));
}

void lines_put_picture(lines *l, picture *p)
{
    size_t count = l->count;
    lines_line *line = lines_begin(l, 0, 0, 0);
    if (l->count == count) /* out of memory */
        picture_free(p);
    else
        line->picture = p;
    lines_end(l);
}

void lines_put_text(lines *l, look k, mcp_str text)
{
    while (text.len) {
        const char *newline = memchr(text.ptr, '\n', text.len);
        size_t len = newline ? (size_t)(newline - text.ptr) : text.len;
        size_t shown = len && newline && text.ptr[len - 1] == '\r' ? len - 1 : len;
        lines_put(l, k, (mcp_str){text.ptr, shown});
        lines_end(l);
        len += newline != NULL;
        text = (mcp_str){text.ptr + len, text.len - len};
    }
}

/* ---- layout ---------------------------------------------------------------------------------- */

static mcp_str line_text(const lines *l, size_t line)
{
    size_t at = l->items[line].at, end = line + 1 < l->count ? l->items[line + 1].at : l->len;
    return (mcp_str){l->text ? l->text + at : "", end - at};
}

static uint64_t hash_of(mcp_str text)
{
    uint64_t hash = 14695981039346656037u; /* FNV-1a */
    for (size_t i = 0; i < text.len; i++)
        hash = (hash ^ (unsigned char)text.ptr[i]) * 1099511628211u;
    return hash;
}

static int compare_hashes(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

void lines_compare(lines *l, const lines *before, size_t first)
{
    uint64_t *known = calloc(before->count + 1, sizeof(*known));
    if (!known)
        return;
    for (size_t i = 0; i < before->count; i++)
        known[i] = hash_of(line_text(before, i));
    qsort(known, before->count, sizeof(*known), compare_hashes);
    for (size_t i = first; i < l->count; i++) {
        uint64_t hash = hash_of(line_text(l, i));
        l->items[i].is_new = !bsearch(&hash, known, before->count, sizeof(*known), compare_hashes);
        l->has_new = l->has_new || l->items[i].is_new;
    }
    l->width = 0;
    free(known);
}

static size_t columns_of(const text_glyph *g, size_t column)
{
    return g->code == '\t' ? TAB - column % TAB : g->columns;
}

/* Returns how many bytes fit into a row: up to the last blank, or as many as possible. */
static size_t row_length(const screen *s, mcp_str text, size_t width)
{
    text_joining before = {0};
    size_t column = 0, blank = 0;
    mcp_str left = text;
    while (left.len) {
        mcp_str next = left;
        text_glyph g = screen_glyph(s, &next, TEXT_BLOCK, &before);
        size_t columns = columns_of(&g, column), at = (size_t)(left.ptr - text.ptr);
        if (column + columns > width)
            return blank && at - blank < MOST_BEHIND ? blank : at ? at : text.len - next.len;
        column += columns;
        if (*left.ptr == ' ' || *left.ptr == '\t')
            blank = text.len - next.len;
        left = next;
    }
    return text.len;
}

static void add_row(lines *l, size_t line, size_t at)
{
    if (GROW(l, l->rows, l->rows_room, l->n_rows + 1))
        l->rows[l->n_rows++] = (lines_row){line, at};
}

/* The size of a cell; terminals that do not tell it have about this one. */
static picture_cell cell_of(const screen *s)
{
    return s->cell_size.width && s->cell_size.height ? s->cell_size : (picture_cell){10, 20};
}

/* Returns whether a row is the first one of a picture, which is shown if all of its rows are. */
static bool draw_picture(const lines *l, screen *s, area a, size_t row, size_t at)
{
    const lines_row *r = &l->rows[at];
    picture *p = l->items[r->line].picture;
    size_t rows, columns;
    if (!p || r->at)
        return p != NULL;
    picture_fit(p, cell_of(s), PICTURE_ROWS, a.columns, &rows, &columns);
    if (row + rows <= a.rows && a.column + columns <= s->columns) {
        screen_add_picture(s, (screen_picture){p, p->id, a.row + row, a.column, rows, columns});
    } else {
        pen note = pen_at(s, a, row, LOOK_DIM);
        pen_print(&note, "[an image of %u x %u, which has no room here]", p->width, p->height);
    }
    return true;
}

static void add_rows(lines *l, const screen *s, size_t line)
{
    const lines_line *i = &l->items[line];
    size_t rows = 0, columns;
    if (i->picture) {
        picture_fit(i->picture, cell_of(s), PICTURE_ROWS, l->width, &rows, &columns);
        for (size_t row = 0; row < rows; row++)
            add_row(l, line, row);
        return;
    }
    mcp_str text = line_text(l, line);
    size_t at = 0, indent = i->indent;
    do {
        size_t room = l->width - (l->has_new && l->width > MARK_COLUMNS ? MARK_COLUMNS : 0);
        size_t width = room > indent + 8 ? room - indent : 8;
        add_row(l, line, at);
        at +=
            i->is_whole ? text.len : row_length(s, (mcp_str){text.ptr + at, text.len - at}, width);
        indent = i->hang;
    } while (at < text.len && !l->has_failed);
}

void lines_layout(lines *l, const screen *s, size_t width)
{
    unsigned hidden = UINT32_MAX; /* lines of this depth and deeper are hidden */
    if (l->width == width)
        return;
    l->width = width;
    l->n_rows = 0;
    for (size_t i = 0; i < l->count; i++) {
        if (l->items[i].depth >= hidden)
            continue;
        hidden = l->items[i].is_folded ? l->items[i].depth + 1 : UINT32_MAX;
        add_rows(l, s, i);
    }
}

bool lines_fold(lines *l, size_t row)
{
    if (row >= l->n_rows)
        return false;
    size_t line = l->rows[row].line;
    if (line + 1 >= l->count || l->items[line + 1].depth <= l->items[line].depth)
        return false;
    l->items[line].is_folded = !l->items[line].is_folded;
    l->width = 0;
    return true;
}

/* ---- drawing --------------------------------------------------------------------------------- */

static void put_hidden(const lines *l, pen *p, size_t line)
{
    size_t n = 0;
    while (line + 1 + n < l->count && l->items[line + 1 + n].depth > l->items[line].depth)
        n++;
    p->look = LOOK_DIM;
    pen_print(p, " … %zu line%s", n, n == 1 ? "" : "s");
}

static void draw_row(const lines *l, pen *p, size_t row)
{
    const lines_row *r = &l->rows[row];
    const lines_line *i = &l->items[r->line];
    bool is_last = row + 1 == l->n_rows || l->rows[row + 1].line != r->line;
    size_t from = i->at + r->at;
    size_t to = is_last ? i->at + line_text(l, r->line).len : i->at + l->rows[row + 1].at;
    size_t end_of_runs = r->line + 1 < l->count ? l->items[r->line + 1].run : l->n_runs;
    pen_to(p, r->at ? i->hang : i->indent);
    p->mode = TEXT_BLOCK;
    for (size_t k = i->run; k < end_of_runs && !p->is_cut; k++) {
        size_t begin = l->runs[k].at, end = k + 1 < l->n_runs ? l->runs[k + 1].at : l->len;
        begin = begin > from ? begin : from;
        end = end < to ? end : to;
        p->look = l->runs[k].look;
        if (begin < end)
            pen_put(p, (mcp_str){l->text + begin, end - begin});
    }
    if (is_last && i->is_folded)
        put_hidden(l, p, r->line);
}

void lines_draw(lines *l, screen *s, area a, size_t top, size_t at)
{
    lines_layout(l, s, a.columns);
    for (size_t row = 0; row < a.rows && top + row < l->n_rows; row++) {
        if (draw_picture(l, s, a, row, top + row))
            continue;
        pen p = pen_at(s, a, row, LOOK_WARN);
        size_t begin = p.begin;
        if (l->has_new) {
            if (l->items[l->rows[top + row].line].is_new)
                pen_symbol(&p, "▌", "+");
            pen_to(&p, MARK_COLUMNS);
            p.begin = p.column;
        }
        p.look = LOOK_PLAIN;
        draw_row(l, &p, top + row);
        p.begin = begin;
        if (top + row == at) {
            pen_fill(&p);
            pen_look(&p, LOOK_CURSOR);
        }
    }
}
