/* sql.h: builds statements and URIs. After the first failure nothing is appended, and
 * postgres_sql_text() returns NULL. */
#ifndef POSTGRES_SQL_H
#define POSTGRES_SQL_H

#include "buffer.h"

typedef struct postgres_sql {
    common_buffer b;
    bool failed;
} postgres_sql;

void postgres_sql_init(postgres_sql *to, const mcp_allocator *alloc);
void postgres_sql_free(postgres_sql *to);
/* Empties it and clears a failure. */
void postgres_sql_reset(postgres_sql *to);

void postgres_put(postgres_sql *to, const char *text);
void postgres_put_str(postgres_sql *to, mcp_str text);
void postgres_putf(postgres_sql *to, const char *format, ...) MCP_PRINTF(2, 3);
/* Appends a name as one quoted identifier, whatever it contains. */
void postgres_put_name(postgres_sql *to, const char *name);

/* Returns the whole text, NUL-terminated, valid until the next change. Returns NULL if there
 * was no memory. */
const char *postgres_sql_text(postgres_sql *to);

#endif
