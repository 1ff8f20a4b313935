/* table.c: arranges cells in columns. A column is as wide as its widest cell. If the columns do not
 * fit, the widest ones are narrowed, and truncated cells end with "…". Numbers are aligned to the
 * right, and so is the heading of a column that contains only numbers.
 */
#include "table.h"

#include <stdlib.h>
#include <string.h>

enum {
    GAP = 2,
    NARROWEST = 7,    /* minimum width of a column */
    LAST_WANTS = 30,  /* preferred width of a wrapped last column */
    WIDEST_NAME = 24, /* widest column of names, if each cell has a line of its own */
    VALUE_WANTS = 10,
};

typedef struct cell {
    size_t at, len; /* the text of the cell in the table's buffer */
    size_t width;
    cell_kind kind;
} cell;

struct table {
    size_t columns;
    bool headed, head_is_put, failed;
    cell *cells;
    size_t count, room;
    char *bytes;
    size_t used, bytes_room;
    size_t width[TABLE_COLUMNS]; /* width of the widest cell so far */
    bool has_text[TABLE_COLUMNS], has_number[TABLE_COLUMNS];
};

table *table_new(size_t columns, bool headed)
{
    table *t = columns && columns <= TABLE_COLUMNS ? calloc(1, sizeof(*t)) : NULL;
    if (t) {
        t->columns = columns;
        t->headed = headed;
    }
    return t;
}

void table_free(table *t)
{
    if (t) {
        free(t->cells);
        free(t->bytes);
    }
    free(t);
}

/* Makes room for one more cell and `len` bytes. */
static bool grow(table *t, size_t len)
{
    if (t->count == t->room) {
        size_t room = t->room ? t->room * 2 : 64;
        cell *grown = realloc(t->cells, room * sizeof(*grown));
        if (!grown)
            return false;
        t->cells = grown;
        t->room = room;
    }
    if (!t->bytes || t->bytes_room - t->used < len) {
        size_t room = (t->used + len) * 2 + 64;
        char *grown = realloc(t->bytes, room);
        if (!grown)
            return false;
        t->bytes = grown;
        t->bytes_room = room;
    }
    return true;
}

static mcp_str text_of(const table *t, const cell *c)
{
    return (mcp_str){t->bytes + c->at, c->len};
}

void table_add(table *t, cell_kind kind, mcp_str text)
{
    size_t column = t->count % t->columns, width = text_width(text);
    bool head = t->headed && !t->head_is_put && t->count < t->columns;
    t->failed = t->failed || !grow(t, text.len);
    if (t->failed)
        return;
    if (text.len)
        memcpy(t->bytes + t->used, text.ptr, text.len);
    t->cells[t->count++] = (cell){t->used, text.len, width, kind};
    t->used += text.len;
    t->width[column] = t->width[column] > width ? t->width[column] : width;
    t->has_number[column] = t->has_number[column] || kind == CELL_NUMBER;
    t->has_text[column] = t->has_text[column] || (kind == CELL_TEXT && !head && text.len);
}

/* ---- columns --------------------------------------------------------------------------------- */

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Computes the widths. Returns false if the columns do not fit. */
static bool fit(const table *t, const table_look *look, size_t width, size_t to[])
{
    size_t last = t->columns - 1, cap = width + 1, sum;
    memcpy(to, t->width, t->columns * sizeof(*to));
    if (look->last_is_wrapped)
        to[last] = least(to[last], LAST_WANTS);
    do {
        sum = last * GAP;
        cap--;
        for (size_t i = 0; i < t->columns; i++)
            sum += least(to[i], cap);
    } while (sum > width && cap > NARROWEST);
    for (size_t i = 0; i < t->columns; i++)
        to[i] = least(to[i], cap);
    if (look->last_is_wrapped && sum <= width)
        to[last] += width - sum;
    return sum <= width;
}

static const char *escape_of(const char *sequence)
{
    return sequence ? sequence : "";
}

static void put_cell(const table *t, FILE *to, const cell *c, size_t width, bool right, bool last)
{
    mcp_str text = text_of(t, c);
    size_t own = c->width;
    if (right && own < width)
        fprintf(to, "%*s", (int)(width - own), "");
    if (right || last)
        width = least(own, width);
    if (width)
        text_put_cell(to, text, width);
}

static void put_row(const table *t, FILE *to, const table_look *look, const cell *row,
                    const size_t widths[], bool head)
{
    size_t column = 0;
    for (size_t i = 0; i < t->columns; i++, column += GAP) {
        bool last = i + 1 == t->columns;
        bool numbers = t->has_number[i] && !t->has_text[i];
        const char *style = head                       ? look->head
                            : row[i].kind == CELL_NULL ? look->dim
                            : i == 0                   ? look->first
                                                       : NULL;
        fprintf(to, "%*s%s", i ? GAP : 0, "", escape_of(style));
        if (last && look->last_is_wrapped && !head)
            text_put_wrapped(
                to, text_of(t, &row[i]), TEXT_BLOCK,
                (text_lines){.width = column + widths[i], .indent = column, .column = column});
        else
            put_cell(t, to, &row[i], widths[i], numbers || row[i].kind == CELL_NUMBER, last);
        fputs(style ? escape_of(look->plain) : "", to);
        column += widths[i];
    }
    fputc('\n', to);
}

/* ---- one line for each cell ------------------------------------------------------------------ */

/* Returns the width of the column of names. */
static size_t name_width(const table *t, size_t width)
{
    size_t names = 1;
    for (size_t i = 0; i < t->columns; i++)
        names = t->cells[i].width > names ? t->cells[i].width : names;
    names = least(names, WIDEST_NAME);
    return least(names, width > GAP + VALUE_WANTS ? width - GAP - VALUE_WANTS : 1);
}

static void put_record(const table *t, FILE *to, const table_look *look, size_t width, size_t names,
                       const cell *row)
{
    for (size_t i = 0; i < t->columns; i++) {
        fputs(escape_of(look->head), to);
        text_put_cell(to, text_of(t, &t->cells[i]), names);
        fprintf(to, "%s%*s", escape_of(look->plain), GAP, "");
        text_put_wrapped(
            to, text_of(t, &row[i]), TEXT_LINE,
            (text_lines){.width = width, .indent = names + GAP, .column = names + GAP});
        fputc('\n', to);
    }
}

bool table_put(table *t, FILE *to, const table_look *look)
{
    size_t widths[TABLE_COLUMNS], width = look->width ? look->width : 80;
    bool fits = fit(t, look, width, widths);
    bool head = t->headed && !t->head_is_put;
    if (t->failed || (!fits && !head))
        return false;
    size_t names = fits ? 0 : name_width(t, width);
    for (size_t i = 0; i + t->columns <= t->count; i += t->columns) {
        if (fits) {
            put_row(t, to, look, t->cells + i, widths, head && i == 0);
        } else if (i) {
            fputs(i > t->columns ? "\n" : "", to);
            put_record(t, to, look, width, names, t->cells + i);
        }
    }
    t->head_is_put = fits;
    t->count = fits ? 0 : t->columns;
    t->used = fits ? 0 : t->used;
    return true;
}
