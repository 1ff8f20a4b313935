/* sql.h: texts put together: statements and URIs. The first failure stays; postgres_sql_text()
 * tells it. */
#ifndef POSTGRES_SQL_H
#define POSTGRES_SQL_H

#include "buffer.h"

typedef struct postgres_sql {
    common_buffer b;
    bool failed;
} postgres_sql;

void postgres_sql_init(postgres_sql *to, const mcp_allocator *alloc);
void postgres_sql_free(postgres_sql *to);
/* Empties it and forgets a failure. */
void postgres_sql_reset(postgres_sql *to);

void postgres_put(postgres_sql *to, const char *text);
void postgres_put_str(postgres_sql *to, mcp_str text);
void postgres_putf(postgres_sql *to, const char *format, ...) MCP_PRINTF(2, 3);
/* "name", with its quotes doubled: whatever it is, it is one identifier. */
void postgres_put_name(postgres_sql *to, const char *name);

/* The whole, NUL-terminated, until something is put; NULL: no memory. */
const char *postgres_sql_text(postgres_sql *to);

#endif
