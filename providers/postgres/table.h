/* table.h: a table according to the database's catalogue: the columns that the role may read, and
 * its key.
 *
 * A name from a peer is looked up in the catalogue, and only the catalogue's own names are used as
 * identifiers in statements. Tables are cached for some seconds, or until a statement for them
 * fails.
 */
#ifndef POSTGRES_TABLE_H
#define POSTGRES_TABLE_H

#include "pool.h"

enum { POSTGRES_TABLES = 64, POSTGRES_TABLE_MS = 5000 };

typedef struct postgres_column {
    char *name;
    char *type;   /* as in SQL */
    unsigned oid; /* for a domain, of its base type */
    char *equal;  /* the quoted schema of the type's operator "=" */
    char *cast;   /* cast for the other operand: "::TYPE" for a composite type, otherwise "" */
    int key;      /* position in the primary key, from 1; 0 if it is not part of it */
} postgres_column;

/* Whether the type is one of PostgreSQL's own, so that comparing and casting it runs no
 * user-defined function. */
enum { POSTGRES_FIRST_OF_USERS = 16384 }; /* OIDs below this are PostgreSQL's own */
static inline bool postgres_column_is_plain(const postgres_column *c)
{
    return c->oid < POSTGRES_FIRST_OF_USERS;
}

typedef struct postgres_table {
    char *schema, *name;
    char kind; /* pg_class.relkind */
    postgres_column *column;
    size_t n_column, n_key;
    /* Reading it runs no user-defined function; nor does finding a row by its key, which returns at
     * most one row. */
    bool inert;
    uint64_t number; /* identifies the statement for a row; see postgres_op.statement */
    char *row_sql;   /* the statement for a row; built when it is first needed */
    int64_t until;
    unsigned used; /* number of users */
    bool cached;
} postgres_table;

typedef struct postgres_tables {
    mcp_allocator alloc;
    postgres_table *table[POSTGRES_TABLES];
    uint64_t numbers;
} postgres_tables;

/* Parameters: schema and table. Returns a row for each column, for postgres_table_add(). */
extern const char postgres_table_sql[];

/* Returns the column of part i (from 0) of the key. */
const postgres_column *postgres_table_key(const postgres_table *t, size_t i);
const postgres_column *postgres_table_column(const postgres_table *t, mcp_str name);

postgres_table *postgres_table_new(const mcp_allocator *alloc, mcp_str schema, mcp_str name);
int postgres_table_add(const mcp_allocator *alloc, postgres_table *t, const PGresult *row);

/* Returns a cached table, to be released by the caller, or NULL if there is none. */
postgres_table *postgres_tables_find(postgres_tables *all, mcp_str schema, mcp_str name,
                                     int64_t now);
/* Adds the table to the cache. The caller must still release it. */
void postgres_tables_keep(postgres_tables *all, postgres_table *t, int64_t now);
void postgres_tables_drop(postgres_tables *all, postgres_table *t);
void postgres_tables_clear(postgres_tables *all);
/* Releases the caller's use of the table. NULL is allowed. */
void postgres_table_release(const mcp_allocator *alloc, postgres_table *t);

#endif
