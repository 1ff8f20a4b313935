/* lines.h: a text for a pane: lines with looks, wrapped for a width, parts of which can be folded.
 *
 * A line has a depth. Folding a line hides the lines that follow it and are deeper. The text is kept
 * as it was received; it is made safe when it is drawn (screen.h).
 */
#ifndef BROWSE_LINES_H
#define BROWSE_LINES_H

#include "screen.h"

typedef struct lines_run {
    size_t at; /* where in the text the look begins */
    look look;
} lines_run;

typedef struct lines_line {
    size_t at, run;        /* where in the text, and in the runs, the line begins */
    unsigned indent, hang; /* columns before the first row of the line, and before its others */
    unsigned depth;
    bool is_folded, is_whole; /* is_whole: not wrapped, but cut */
    bool is_new;              /* marked by lines_compare() */
    picture *picture;         /* shown in place of a text; owned */
} lines_line;

typedef struct lines_row {
    size_t line, at;
} lines_row;

typedef struct lines {
    char *text;
    size_t len, text_room;
    lines_run *runs;
    size_t n_runs, runs_room;
    lines_line *items;
    size_t count, room;
    bool is_open;    /* the last line has not ended */
    bool has_failed; /* out of memory, so something is missing */
    lines_row *rows; /* the layout */
    size_t n_rows, rows_room, width;
    bool has_folds; /* some line is deeper than another */
    bool has_new;   /* there is a column for marks on the left */
} lines;

void lines_clear(lines *l);
/* Adds text to the last line, or begins a line. The text must have no newlines. */
void lines_put(lines *l, look k, mcp_str text);
void lines_print(lines *l, look k, const char *format, ...) MCP_PRINTF(3, 4);
/* Begins a line. `hang` are the columns before the rows after its first. */
lines_line *lines_begin(lines *l, unsigned indent, unsigned hang, unsigned depth);
void lines_end(lines *l);
/* Adds a picture, which becomes that of the lines. It takes as many rows as it needs, up to PICTURE_ROWS. */
enum { PICTURE_ROWS = 20 };
void lines_put_picture(lines *l, picture *p);
/* Adds a text of several lines. */
void lines_put_text(lines *l, look k, mcp_str text);

/* Marks the lines from `first` on whose text is not in `before`. Does nothing if out of memory. */
void lines_compare(lines *l, const lines *before, size_t first);

/* Makes the rows for a width. Does nothing if they exist. */
void lines_layout(lines *l, const screen *s, size_t width);
/* Folds or unfolds the line of a row. Returns false if nothing is below it. */
bool lines_fold(lines *l, size_t row);
/* Draws the rows from `top` on. `at` is the row of the cursor, or SIZE_MAX. */
void lines_draw(lines *l, screen *s, area a, size_t top, size_t at);

#endif
