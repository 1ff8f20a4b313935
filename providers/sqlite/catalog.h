/* catalog.h: the catalogue of the database: tables and views, their columns and keys.
 *
 * A name from a client is looked up in the catalogue and replaced by the catalogue's own spelling;
 * no other text is used as an identifier in a statement. Names are compared byte for byte, so that
 * a table has exactly one URI.
 */
#ifndef SQLITE_CATALOG_H
#define SQLITE_CATALOG_H

#include "conn.h"

enum { SQLITE_MAX_KEY = 16 };

typedef enum sqlite_affinity {
    SQLITE_AFFINITY_NONE, /* compares values without conversion: text never equals a number */
    SQLITE_AFFINITY_TEXT,
    SQLITE_AFFINITY_NUMBER,
} sqlite_affinity;

typedef struct sqlite_column {
    char *name, *type, *value; /* value: the DEFAULT expression, or NULL */
    bool not_null;
    int key;    /* position in the primary key, from 1; 0 if not part of it */
    int hidden; /* as in PRAGMA table_xinfo: 1 for a hidden column of a virtual table, 2 and 3 for
                 * generated columns */
    sqlite_affinity affinity;
} sqlite_column;

typedef enum sqlite_table_kind {
    SQLITE_IS_TABLE,
    SQLITE_IS_VIEW,
    SQLITE_IS_VIRTUAL,
} sqlite_table_kind;

typedef struct sqlite_table {
    const mcp_allocator *alloc;
    char *name, *sql;
    sqlite_table_kind kind;
    sqlite_column *column;
    size_t n_column;
    /* Columns that identify a row: the primary key, otherwise the rowid, by the one of its three
     * names that no column has. */
    size_t key[SQLITE_MAX_KEY]; /* indices of columns */
    size_t n_key;
    const char *rowid; /* NULL if there is no usable rowid */
} sqlite_table;        /* a broken view has no columns */

/* Returns "table", "view" or "virtual table". */
const char *sqlite_table_kind_name(const sqlite_table *t);

/* Loads a table. *ret is NULL if it does not exist. Returns SQLite's code. */
int sqlite_table_load(sqlite_conn *conn, mcp_str name, const mcp_allocator *alloc,
                      sqlite_table **ret);
void sqlite_table_free(sqlite_table *t);

/* Returns whether a column is part of the row. Hidden columns of virtual tables are arguments. */
static inline bool sqlite_column_shown(const sqlite_column *c)
{
    return c->hidden != 1;
}

/* Returns whether rows have URIs, by the primary key or the rowid. */
bool sqlite_table_has_key(const sqlite_table *t);
/* Returns the number of parts of a key. */
size_t sqlite_table_key_count(const sqlite_table *t);
/* Returns the column of a part of the key, or NULL for the rowid. */
const sqlite_column *sqlite_table_key(const sqlite_table *t, size_t i);

/* Returns the column with this name, compared as in URIs, or NULL. */
const sqlite_column *sqlite_table_column(const sqlite_table *t, mcp_str name);

/* Returns whether `sql` creates an ordinary table, whatever type the schema claims. For a view,
 * SQLite would parse all views that it uses; for a virtual table, SQLite would run its module. */
bool sqlite_is_plain(const char *sql);

/* Returns why nothing can be read of a table, for example because the extension with its module is not
 * loaded. Returns NULL if it can be read. The text lives until the next call of SQLite. */
const char *sqlite_table_trouble(sqlite_conn *c, const char *name);
/* Prepares the query for lists, which omits SQLite's own tables and shadow tables. It returns at
 * most ?2 names after ?1 (with `from`, also ?1 itself) in byte order, as (name, type, beginning of
 * the statement). */
int sqlite_prepare_list(sqlite_conn *conn, bool from, sqlite3_stmt **ret);

/* Prepares a statement. Returns SQLite's code. */
int sqlite_prepare(sqlite_conn *conn, const char *sql, sqlite3_stmt **ret);
/* Prepares a statement whose text was built, and frees the text. Returns SQLite's code. */
int sqlite_prepare_str(sqlite_conn *conn, sqlite3_str *sql, sqlite3_stmt **ret);

mcp_str sqlite_text(sqlite3_stmt *stmt, int column);

#endif
