/* journal.c: the last lines of something that goes on. */
#include "journal.h"

#include <stdlib.h>
#include <string.h>

void journal_add(journal *j, look l, const char *before, mcp_str text)
{
    size_t head = strlen(before), len = text.len < JOURNAL_COLUMNS ? text.len : JOURNAL_COLUMNS;
    char *line = malloc(head + len + 1);
    if (!line)
        return;
    memcpy(line, before, head);
    if (len)
        memcpy(line + head, text.ptr, len);
    free(j->items[j->next].text);
    j->items[j->next].text = line;
    j->items[j->next].len = head + len;
    j->items[j->next].look = l;
    j->next = (j->next + 1) % JOURNAL_LINES;
    j->count++;
}

void journal_clear(journal *j)
{
    for (size_t i = 0; i < JOURNAL_LINES; i++)
        free(j->items[i].text);
    *j = (journal){0};
}

void journal_draw(const journal *j, screen *s, area where, const char *title)
{
    pen p = pen_at(s, where, 0, LOOK_BAR);
    pen_print(&p, " %s  %llu ", title, (unsigned long long)j->count);
    pen_fill(&p);
    size_t kept = j->count < JOURNAL_LINES ? (size_t)j->count : JOURNAL_LINES;
    size_t rows = where.rows ? where.rows - 1 : 0;
    rows = rows < kept ? rows : kept;
    for (size_t row = 0; row < rows; row++) {
        size_t at = (j->next + JOURNAL_LINES - rows + row) % JOURNAL_LINES;
        p = pen_at(s, where, row + 1, j->items[at].look);
        pen_print(&p, " ");
        pen_put(&p, (mcp_str){j->items[at].text, j->items[at].len});
    }
}
