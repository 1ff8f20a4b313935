/* screen.h: a grid of cells that the panes are drawn into. It knows no terminal: tty.c shows it, and
 * tests compare it as text.
 *
 * Text is drawn with a pen, which writes a part of one row. All text that is not the program's own
 * goes through pen_put(), which shows control characters, characters that change the order of a
 * text and invisible ones as escapes (common/text.h). So whatever a server sends stays within the
 * columns of its pen.
 */
#ifndef BROWSE_SCREEN_H
#define BROWSE_SCREEN_H

#include <wchar.h>

#include <common/text.h>

#include "picture.h"

/* How a cell looks. tty.c has the colours. */
typedef enum look {
    LOOK_PLAIN,
    LOOK_DIM,
    LOOK_BOLD,
    LOOK_HEADING,
    LOOK_NAME,   /* folders, keys of objects */
    LOOK_NUMBER, /* numbers, constants */
    LOOK_STRING,
    LOOK_GOOD, /* added lines */
    LOOK_BAD,  /* errors, removed lines */
    LOOK_WARN,
    LOOK_MATCH,       /* letters that the search found */
    LOOK_BAR,         /* the bars at the top and the bottom */
    LOOK_CURSOR,      /* the selected row of the pane with the focus */
    LOOK_CURSOR_AWAY, /* the selected row of another pane */
    LOOKS,
} look;

enum { CELL_CHARACTERS = 4 }; /* a character and three that combine with it */

typedef struct cell {
    wchar_t text[CELL_CHARACTERS]; /* ends with 0 unless it is full */
    unsigned char columns;         /* 1 or 2; 0 for the right half of a wide character */
    unsigned char look;
} cell;

enum { SCREEN_PICTURES = 8 };

/* An image over cells, which are blank. The picture may be gone when the screen is compared with the next
 * one, so its number counts. */
typedef struct screen_picture {
    picture *picture;
    unsigned long id;
    size_t row, column, rows, columns;
} screen_picture;

typedef struct screen {
    size_t rows, columns;
    cell *cells;     /* row after row */
    bool utf8;       /* whether the terminal shows characters beyond ASCII */
    bool has_cursor; /* whether the terminal's cursor is shown, at: */
    size_t cursor_row, cursor_column;
    picture_cell cell_size; /* {0}: unknown */
    screen_picture pictures[SCREEN_PICTURES];
    size_t n_pictures;
} screen;

/* Changes the size; all cells become blank. Returns false if out of memory; the screen then has no
 * cells. Zero-initialize a screen before the first call. */
bool screen_resize(screen *s, size_t rows, size_t columns);
void screen_clear(screen *s);
void screen_free(screen *s);
/* Returns the rows as lines without trailing spaces. The caller frees the text. */
char *screen_text(const screen *s);
bool screen_equal(const screen *a, const screen *b);
bool screen_equal_pictures(const screen *a, const screen *b);
/* Shows a picture, if there is room for one more. */
void screen_add_picture(screen *s, screen_picture one);
/* Copies the cells. Returns false if out of memory. */
bool screen_copy(screen *to, const screen *from);

/* A rectangle of the screen. */
typedef struct area {
    size_t row, column, rows, columns;
} area;

typedef struct pen {
    screen *screen;
    size_t row, column, begin, end; /* `column` moves from `begin` to `end` */
    look look;
    text_mode mode;
    text_joining before;
    bool is_cut; /* text was left out at the end */
} pen;

/* Returns a pen for a row of an area, counted from its first. Outside of the area or the screen it
 * writes nothing. */
pen pen_at(screen *s, area a, size_t row, look l);
/* Writes text, as far as there is room. When there is none, the last column becomes "…". */
void pen_put(pen *p, mcp_str text);
void pen_print(pen *p, const char *format, ...) MCP_PRINTF(2, 3);
/* Writes text in another look. */
void pen_put_as(pen *p, look l, mcp_str text);
/* Moves to a column of the pen, counted from its first, and writes spaces up to there. */
void pen_to(pen *p, size_t column);
/* Fills the rest with spaces. */
void pen_fill(pen *p);
/* Returns the number of columns that are left. */
size_t pen_room(const pen *p);
/* Changes the look of the whole row of a pen. */
void pen_look(const pen *p, look l);

/* Writes one of the program's own symbols, or its form in ASCII. */
void pen_symbol(pen *p, const char *utf8, const char *ascii);
/* Draws a vertical line on the left of the area, which becomes narrower by one column. */
void screen_divide(screen *s, area *a);

/* One character as it will be shown on this screen, and its columns. Takes it from *text, which
 * must not be empty. All text is measured and drawn with this function. */
text_glyph screen_glyph(const screen *s, mcp_str *text, text_mode mode, text_joining *before);

#endif
