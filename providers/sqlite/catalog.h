/* catalog.h: the catalogue of the database: tables and views, their columns and keys.
 *
 * A name from a peer is looked up here and replaced by the catalogue's own; no other text reaches a
 * statement as an identifier. Names are compared byte for byte, so that a table has one URI.
 */
#ifndef SQLITE_CATALOG_H
#define SQLITE_CATALOG_H

#include "conn.h"

enum { SQLITE_MAX_KEY = 16 };

typedef enum sqlite_affinity {
    SQLITE_AFFINITY_NONE, /* compares as it is: text never equals a number */
    SQLITE_AFFINITY_TEXT,
    SQLITE_AFFINITY_NUMBER,
} sqlite_affinity;

typedef struct sqlite_column {
    char *name, *type, *value; /* value: its DEFAULT, or NULL */
    bool not_null;
    int key;    /* its place in the primary key, from 1; 0: none */
    int hidden; /* as PRAGMA table_xinfo: 1 of a virtual table, 2 and 3 generated */
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
    /* What names a row: the primary key, else the rowid, whose name (there are three) no column
     * has. */
    size_t key[SQLITE_MAX_KEY]; /* columns */
    size_t n_key;
    const char *rowid; /* NULL: none */
} sqlite_table;        /* a view that does not work has no columns */

/* "table", "view", "virtual table". */
const char *sqlite_table_kind_name(const sqlite_table *t);

/* SQLITE_OK, and NULL when there is none; SQLite's code. */
int sqlite_table_load(sqlite_conn *conn, mcp_str name, const mcp_allocator *alloc,
                      sqlite_table **ret);
void sqlite_table_free(sqlite_table *t);

/* Whether a column belongs to a row: a virtual table has hidden ones that are arguments. */
static inline bool sqlite_column_shown(const sqlite_column *c)
{
    return c->hidden != 1;
}

/* Whether rows can be named: by the primary key or the rowid. */
bool sqlite_table_has_key(const sqlite_table *t);
/* The number of parts that a key has. */
size_t sqlite_table_key_count(const sqlite_table *t);
/* The column of a part of the key; NULL: the rowid. */
const sqlite_column *sqlite_table_key(const sqlite_table *t, size_t i);

/* The column of a name as URIs have it; NULL: none. */
const sqlite_column *sqlite_table_column(const sqlite_table *t, mcp_str name);

/* Whether that is the schema's statement of an ordinary table, whatever else the schema says that
 * it is: of a view, which SQLite takes apart with all views in it, or of a virtual table, whose
 * module runs, it is not. */
bool sqlite_is_plain(const char *sql);

/* What is listed: neither what is SQLite's own nor the tables in which virtual ones keep theirs.
 * The names after ?1 in byte order (with `from`: and ?1 itself), ?2 of them, as (name, type, the
 * statement's beginning). */
int sqlite_prepare_list(sqlite_conn *conn, bool from, sqlite3_stmt **ret);

/* Prepares; SQLite's code. A statement that is NULL is one that did not get that far. */
int sqlite_prepare(sqlite_conn *conn, const char *sql, sqlite3_stmt **ret);
/* The same with a text that was built, which is freed. */
int sqlite_prepare_str(sqlite_conn *conn, sqlite3_str *sql, sqlite3_stmt **ret);

mcp_str sqlite_text(sqlite3_stmt *stmt, int column);

#endif
