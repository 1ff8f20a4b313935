/* screen.c: a grid of cells, and pens that write text into it. */
#define _GNU_SOURCE
#include "screen.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { TAB = 4, BYTES_PER_COLUMN = 16 };

/* ---- the grid -------------------------------------------------------------------------------- */

bool screen_resize(screen *s, size_t rows, size_t columns)
{
    if (s->cells && s->rows == rows && s->columns == columns) {
        screen_clear(s);
        return true;
    }
    free(s->cells);
    s->cells = calloc(rows * columns + 1, sizeof(*s->cells));
    s->rows = s->cells ? rows : 0;
    s->columns = s->cells ? columns : 0;
    screen_clear(s);
    return s->cells != NULL;
}

void screen_clear(screen *s)
{
    for (size_t i = 0; i < s->rows * s->columns; i++)
        s->cells[i] = (cell){.text = {L' '}, .columns = 1};
    s->has_cursor = false;
    s->n_pictures = 0;
}

void screen_free(screen *s)
{
    free(s->cells);
    *s = (screen){0};
}

void screen_add_picture(screen *s, screen_picture one)
{
    if (s->n_pictures < SCREEN_PICTURES)
        s->pictures[s->n_pictures++] = one;
}

bool screen_equal_pictures(const screen *a, const screen *b)
{
    for (size_t i = 0; i < a->n_pictures && a->n_pictures == b->n_pictures; i++) {
        const screen_picture *x = &a->pictures[i], *y = &b->pictures[i];
        if (x->id != y->id || x->row != y->row || x->column != y->column || x->rows != y->rows ||
            x->columns != y->columns)
            return false;
    }
    return a->n_pictures == b->n_pictures;
}

bool screen_equal(const screen *a, const screen *b)
{
    return a->rows == b->rows && a->columns == b->columns && a->has_cursor == b->has_cursor &&
           (!a->has_cursor ||
            (a->cursor_row == b->cursor_row && a->cursor_column == b->cursor_column)) &&
           a->cells && b->cells && screen_equal_pictures(a, b) &&
           memcmp(a->cells, b->cells, a->rows * a->columns * sizeof(*a->cells)) == 0;
}

bool screen_copy(screen *to, const screen *from)
{
    if (!screen_resize(to, from->rows, from->columns))
        return false;
    memcpy(to->cells, from->cells, from->rows * from->columns * sizeof(*from->cells));
    to->utf8 = from->utf8;
    to->has_cursor = from->has_cursor;
    to->cursor_row = from->cursor_row;
    to->cursor_column = from->cursor_column;
    memcpy(to->pictures, from->pictures, sizeof(to->pictures));
    to->n_pictures = from->n_pictures;
    return true;
}

static bool is_blank(const cell *c)
{
    return c->columns && c->text[0] == L' ' && !c->text[1];
}

static void put_code(FILE *to, unsigned long code)
{
    static const struct {
        unsigned long below;
        unsigned char lead;
        int more;
    } forms[] = {{0x80, 0, 0}, {0x800, 0xc0, 1}, {0x10000, 0xe0, 2}, {0x110000, 0xf0, 3}};
    for (size_t i = 0; i < 4; i++) {
        if (code >= forms[i].below)
            continue;
        fputc((int)(forms[i].lead | (code >> (6 * forms[i].more))), to);
        for (int k = forms[i].more - 1; k >= 0; k--)
            fputc((int)(0x80 | ((code >> (6 * k)) & 0x3f)), to);
        return;
    }
}

char *screen_text(const screen *s)
{
    char *text = NULL;
    size_t len;
    FILE *f = open_memstream(&text, &len);
    for (size_t row = 0; f && row < s->rows; row++) {
        const cell *cells = s->cells + row * s->columns;
        size_t end = s->columns;
        while (end && is_blank(&cells[end - 1]))
            end--;
        for (size_t i = 0; i < end; i++)
            for (size_t k = 0; cells[i].columns && k < CELL_CHARACTERS && cells[i].text[k]; k++)
                put_code(f, (unsigned long)cells[i].text[k]);
        fputc('\n', f);
    }
    if (f)
        fclose(f);
    return text;
}

/* ---- pens ------------------------------------------------------------------------------------ */

text_glyph screen_glyph(const screen *s, mcp_str *text, text_mode mode, text_joining *before)
{
    text_glyph g = text_next(text, mode, before);
    if (!g.code || g.code < 0x80)
        return g;
    /* The C library decides, because term.c and the terminal agree with it more often. A character
     * that it does not know is shown as an escape. */
    int columns = s->utf8 ? wcwidth((wchar_t)g.code) : -1;
    if (columns < 0) {
        g.columns = g.len = (size_t)snprintf(g.bytes, sizeof(g.bytes),
                                             g.code > 0xffff ? "\\U%08x" : "\\u%04x", g.code);
        g.code = 0;
        return g;
    }
    g.columns = (size_t)columns;
    return g;
}

pen pen_at(screen *s, area a, size_t row, look l)
{
    pen p = {.screen = s, .row = a.row + row, .look = l};
    bool inside = row < a.rows && p.row < s->rows && a.column < s->columns;
    size_t room = inside ? s->columns - a.column : 0;
    p.begin = p.column = inside ? a.column : 0;
    p.end = p.begin + (a.columns < room ? a.columns : room);
    return p;
}

size_t pen_room(const pen *p)
{
    return p->end - p->column;
}

static cell *cell_at(const pen *p, size_t column)
{
    return &p->screen->cells[p->row * p->screen->columns + column];
}

/* If a cell is half of a wide character, the other half becomes a space. */
static void split_wide(const pen *p, size_t column)
{
    cell *c = cell_at(p, column);
    if (c->columns == 2 && column + 1 < p->screen->columns)
        *cell_at(p, column + 1) = (cell){.text = {L' '}, .columns = 1, .look = c->look};
    if (c->columns == 0 && column)
        *cell_at(p, column - 1) = (cell){.text = {L' '}, .columns = 1, .look = c->look};
}

static void put_cell(pen *p, wchar_t code, size_t columns)
{
    for (size_t i = 0; i < columns; i++)
        split_wide(p, p->column + i);
    *cell_at(p, p->column) =
        (cell){.text = {code}, .columns = (unsigned char)columns, .look = (unsigned char)p->look};
    if (columns == 2)
        *cell_at(p, p->column + 1) = (cell){.look = (unsigned char)p->look};
    p->column += columns;
}

/* Adds a combining character to the last cell. More than three are left out. */
static void combine(pen *p, wchar_t code)
{
    size_t at = p->column;
    if (at == p->begin)
        return;
    at -= cell_at(p, at - 1)->columns == 0 ? 2 : 1;
    cell *c = cell_at(p, at);
    for (size_t i = 1; i < CELL_CHARACTERS; i++) {
        if (!c->text[i]) {
            c->text[i] = code;
            return;
        }
    }
}

static void cut(pen *p)
{
    if (p->is_cut || p->end == p->begin)
        return;
    p->is_cut = true;
    p->column = p->column < p->end ? p->column : p->end - 1;
    put_cell(p, p->screen->utf8 ? L'…' : L'~', 1);
    pen_fill(p);
}

static bool put_glyph(pen *p, const text_glyph *g)
{
    if (!g->columns) {
        if (g->code)
            combine(p, (wchar_t)g->code);
        return true;
    }
    if (g->columns > pen_room(p)) {
        cut(p);
        return false;
    }
    if (g->code) {
        put_cell(p, (wchar_t)g->code, g->columns);
        return true;
    }
    look l = p->look; /* an escape */
    p->look = l == LOOK_PLAIN ? LOOK_DIM : l;
    for (size_t i = 0; i < g->len; i++)
        put_cell(p, (wchar_t)g->bytes[i], 1);
    p->look = l;
    return true;
}

static void put_tab(pen *p)
{
    size_t next = p->begin + ((p->column - p->begin) / TAB + 1) * TAB;
    while (p->column < next && p->column < p->end)
        put_cell(p, L' ', 1);
}

void pen_put(pen *p, mcp_str text)
{
    /* a text of combining characters has no end in columns */
    size_t most = (pen_room(p) + 1) * BYTES_PER_COLUMN;
    bool is_long = text.len > most;
    text.len = is_long ? most : text.len;
    while (text.len && !p->is_cut) {
        text_glyph g = screen_glyph(p->screen, &text, p->mode, &p->before);
        if (p->mode == TEXT_BLOCK && g.code == '\t')
            put_tab(p);
        else if (g.code == '\n' || g.code == '\r')
            continue;
        else if (!put_glyph(p, &g))
            return;
    }
    if (is_long && !p->is_cut)
        cut(p);
}

void pen_put_as(pen *p, look l, mcp_str text)
{
    look before = p->look;
    p->look = l;
    pen_put(p, text);
    p->look = before;
}

void pen_print(pen *p, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    pen_put(p, mcp_str_from(text));
}

void pen_symbol(pen *p, const char *utf8, const char *ascii)
{
    pen_put(p, mcp_str_from(p->screen->utf8 ? utf8 : ascii));
}

void pen_to(pen *p, size_t column)
{
    while (p->column < p->begin + column && p->column < p->end)
        put_cell(p, L' ', 1);
}

void pen_fill(pen *p)
{
    pen_to(p, p->end - p->begin);
}

void pen_look(const pen *p, look l)
{
    for (size_t i = p->begin; i < p->end; i++)
        cell_at(p, i)->look = (unsigned char)l;
}

void screen_divide(screen *s, area *a)
{
    for (size_t row = 0; row < a->rows && a->columns; row++) {
        pen p = pen_at(s, (area){a->row, a->column, a->rows, 1}, row, LOOK_DIM);
        pen_symbol(&p, "│", "|");
    }
    if (a->columns)
        a->column++, a->columns--;
}
