/* tail.h: the last lines of something that goes on: log messages, messages of the protocol. */
#ifndef BROWSE_TAIL_H
#define BROWSE_TAIL_H

#include "screen.h"

enum { TAIL_LINES = 500, TAIL_COLUMNS = 400 };

typedef struct tail {
    struct {
        char *text; /* NULL if the place was never used */
        size_t len;
        look look;
    } items[TAIL_LINES];
    size_t next;    /* where the next line goes */
    uint64_t count; /* of all lines so far */
} tail;

/* Adds one line: `before`, then as much of the text as is kept. */
void tail_add(tail *t, look l, const char *before, mcp_str text);
void tail_clear(tail *t);
/* Draws the last lines, below a title. */
void tail_draw(const tail *t, screen *s, area where, const char *title);

#endif
