/* table.h: what the database's catalogue says about a table: the columns that may be read, and its
 * key.
 *
 * A name that came from a peer is looked up there and is then the catalogue's own; nothing else
 * reaches a statement as an identifier. What was looked up is kept for some seconds, or until a
 * statement that was made of it fails.
 */
#ifndef POSTGRES_TABLE_H
#define POSTGRES_TABLE_H

#include "pool.h"

enum { POSTGRES_TABLES = 64, POSTGRES_TABLE_MS = 5000 };

typedef struct postgres_column {
    char *name;
    char *type;   /* as SQL spells it */
    unsigned oid; /* of a domain what it is made of */
    char *equal;  /* the schema of the operator "=" for it, quoted */
    char *cast;   /* what it needs of the other side: "::TYPE" for a composite type, else "" */
    int key;      /* its place in the primary key, from 1; 0: none */
} postgres_column;

/* Of a type that is PostgreSQL's own: comparing and casting it runs nobody's function. */
enum { POSTGRES_FIRST_OF_USERS = 16384 }; /* oid */
static inline bool postgres_column_is_plain(const postgres_column *c)
{
    return c->oid < POSTGRES_FIRST_OF_USERS;
}

typedef struct postgres_table {
    char *schema, *name;
    char kind; /* pg_class.relkind */
    postgres_column *column;
    size_t n_column, n_key;
    /* Reading it runs nobody's function; nor does finding a row by its key, which is one at most. */
    bool inert;
    uint64_t number; /* its row's statement: see postgres_op.statement */
    char *row_sql;   /* made when it is wanted first */
    int64_t until;
    unsigned used; /* by how many it is held */
    bool kept;
} postgres_table;

typedef struct postgres_tables {
    mcp_allocator alloc;
    postgres_table *table[POSTGRES_TABLES];
    uint64_t numbers;
} postgres_tables;

/* Parameters: schema and table. A row for each column, for postgres_table_add(). */
extern const char postgres_table_sql[];

/* Which of the part i of a key (from 0) it is. */
const postgres_column *postgres_table_key(const postgres_table *t, size_t i);
const postgres_column *postgres_table_column(const postgres_table *t, mcp_str name);

postgres_table *postgres_table_new(const mcp_allocator *alloc, mcp_str schema, mcp_str name);
int postgres_table_add(const mcp_allocator *alloc, postgres_table *t, const PGresult *row);

/* The one that is kept, held; NULL: none. */
postgres_table *postgres_tables_find(postgres_tables *all, mcp_str schema, mcp_str name,
                                     int64_t now);
/* Keeps it; it stays held. */
void postgres_tables_keep(postgres_tables *all, postgres_table *t, int64_t now);
void postgres_tables_drop(postgres_tables *all, postgres_table *t);
void postgres_tables_clear(postgres_tables *all);
/* Not held any more. NULL is allowed. */
void postgres_table_release(const mcp_allocator *alloc, postgres_table *t);

#endif
