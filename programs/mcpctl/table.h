/* table.h: arranges cells in columns that fit a terminal. It does not depend on sessions or
 * settings. */
#ifndef MCPCTL_TABLE_H
#define MCPCTL_TABLE_H

#include <stdio.h>

#include <common/text.h>

enum { TABLE_COLUMNS = 64 };

typedef enum cell_kind { CELL_TEXT, CELL_NUMBER, CELL_NULL } cell_kind;

/* Presentation. */
typedef struct table_look {
    size_t width;                           /* columns of the terminal; 0: 80 */
    const char *head, *first, *dim, *plain; /* escape sequences; all may be NULL */
    bool last_is_wrapped;                   /* the last column is wrapped, and others are cut */
} table_look;

typedef struct table table;

/* A table with 1 to TABLE_COLUMNS columns; `headed`: the first row contains their names. NULL: no
 * memory. */
table *table_new(size_t columns, bool headed);
void table_free(table *t);
/* Adds a cell to the row, or begins the next row. The text is copied. */
void table_add(table *t, cell_kind kind, mcp_str text);
/* Writes the rows added since the last call; columns never get narrower. If the columns do not fit
 * the width, and there is a head, each cell is written on a line of its own with its name. False:
 * no memory, or not enough room; nothing was written. */
bool table_put(table *t, FILE *to, const table_look *look);

#endif
