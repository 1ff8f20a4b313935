/* tail.c: the last lines of something that goes on. */
#include "tail.h"

#include <stdlib.h>
#include <string.h>

void tail_add(tail *t, look l, const char *before, mcp_str text)
{
    size_t head = strlen(before), len = text.len < TAIL_COLUMNS ? text.len : TAIL_COLUMNS;
    char *line = malloc(head + len + 1);
    if (!line)
        return;
    memcpy(line, before, head);
    if (len)
        memcpy(line + head, text.ptr, len);
    free(t->items[t->next].text);
    t->items[t->next].text = line;
    t->items[t->next].len = head + len;
    t->items[t->next].look = l;
    t->next = (t->next + 1) % TAIL_LINES;
    t->count++;
}

void tail_clear(tail *t)
{
    for (size_t i = 0; i < TAIL_LINES; i++)
        free(t->items[i].text);
    *t = (tail){0};
}

void tail_draw(const tail *t, screen *s, area where, const char *title)
{
    pen p = pen_at(s, where, 0, LOOK_BAR);
    pen_print(&p, " %s  %llu ", title, (unsigned long long)t->count);
    pen_fill(&p);
    size_t kept = t->count < TAIL_LINES ? (size_t)t->count : TAIL_LINES;
    size_t rows = where.rows ? where.rows - 1 : 0;
    rows = rows < kept ? rows : kept;
    for (size_t row = 0; row < rows; row++) {
        size_t at = (t->next + TAIL_LINES - rows + row) % TAIL_LINES;
        p = pen_at(s, where, row + 1, t->items[at].look);
        pen_print(&p, " ");
        pen_put(&p, (mcp_str){t->items[at].text, t->items[at].len});
    }
}
