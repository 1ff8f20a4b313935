/* journal.h: the last lines of something that goes on: log messages, messages of the protocol. */
#ifndef BROWSE_JOURNAL_H
#define BROWSE_JOURNAL_H

#include "screen.h"

enum { JOURNAL_LINES = 500, JOURNAL_COLUMNS = 400 };

typedef struct journal {
    struct {
        char *text; /* NULL if the place was never used */
        size_t len;
        look look;
    } items[JOURNAL_LINES];
    size_t next;    /* where the next line goes */
    uint64_t count; /* of all lines so far */
} journal;

/* Adds one line: `before`, then as much of the text as is kept. */
void journal_add(journal *j, look l, const char *before, mcp_str text);
void journal_clear(journal *j);
/* Draws the last lines, below a title. */
void journal_draw(const journal *j, screen *s, area where, const char *title);

#endif
