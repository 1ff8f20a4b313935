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
    size_t width;                           /* columns of the terminal; 0 means 80 */
    const char *head, *first, *dim, *plain; /* escape sequences; all may be NULL */
    bool last_is_wrapped; /* the last column is wrapped, and the others are truncated */
} table_look;

typedef struct table table;

/* Returns a table with 1 to TABLE_COLUMNS columns, or NULL if out of memory. `headed` says that the
 * first row contains the names of the columns. */
table *table_new(size_t columns, bool headed);
void table_free(table *t);
/* Adds a cell to the current row, or to the next one if the row is complete. The text is copied. */
void table_add(table *t, cell_kind kind, mcp_str text);
/* Writes the rows added since the last call. Columns never get narrower. If the columns do not fit
 * the width, and the table is headed, each cell is written on a separate line with the name of its
 * column. Returns false without writing anything if out of memory, or if there is not enough
 * room. */
bool table_put(table *t, FILE *to, const table_look *look);

#endif
