/* table.h: cells in columns that fit a terminal. It knows no session and no settings. */
#ifndef MCPCTL_TABLE_H
#define MCPCTL_TABLE_H

#include <stdio.h>

#include <common/text.h>

enum { TABLE_COLUMNS = 64 };

typedef enum cell_kind { CELL_TEXT, CELL_NUMBER, CELL_NULL } cell_kind;

/* How it is shown. */
typedef struct table_look {
    size_t width;                           /* columns of the terminal; 0: 80 */
    const char *head, *first, *dim, *plain; /* escape sequences; all may be NULL */
    bool last_is_wrapped; /* the last column goes on in the next line, where others are cut */
} table_look;

typedef struct table table;

/* 1 to TABLE_COLUMNS columns; `headed`: the first row has their names. NULL: no memory. */
table *table_new(size_t columns, bool headed);
void table_free(table *t);
/* The next cell of the row, or the first one of the next. A copy is made. */
void table_add(table *t, cell_kind kind, mcp_str text);
/* Writes the rows that were added since the last time; columns do not get narrower. Where there are
 * too many for the width, each row of a table that is headed is written in lines of its own, a name
 * and a value each. False: there was no memory, or no room; nothing is written. */
bool table_put(table *t, FILE *to, const table_look *look);

#endif
