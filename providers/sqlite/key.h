/* key.h: keys of rows: how they are spelled in URIs, and how rows are found by them.
 *
 * A plain key is what the column's type makes of the text. In a column of texts it is that text. In
 * any other column, a number as SQLite would print it (5, 1.5e+20, 9e999) is that number, x'00ff' is
 * a BLOB, and everything else is a text. A value that would be read as another one has the name of
 * its type before it: $text:5 in a column of numbers, $blob:00ff in a column of texts. A row whose
 * primary key has a NULL is not the only one with this key, so its rowid is in its URI:
 * $rowid:3. Each row has exactly one URI, because access rules and notifications depend on it.
 *
 * 1 and 1.0 are one key to SQLite, and are spelled alike.
 */
#ifndef SQLITE_KEY_H
#define SQLITE_KEY_H

#include "catalog.h"
#include "uri.h"

/* Appends a value of the column (NULL: the rowid), without percent-encoding. Returns how it is
 * spelled. The value must not be NULL. */
sqlite_key_type sqlite_spell_key(sqlite3_str *to, const sqlite_column *column, sqlite3_stmt *stmt,
                                 int at);

/* Appends ", key, key", and the rowid, if the table has one and it is not the key. */
void sqlite_put_key_columns(sqlite3_str *sql, const sqlite_table *t);
/* Appends "/KEY/KEY" of the row; `first` is the index of the first of these columns. */
void sqlite_put_key(sqlite3_str *to, const sqlite_table *t, sqlite3_stmt *stmt, int first);
bool sqlite_key_has_null(const sqlite_table *t, sqlite3_stmt *stmt, int first);

/* Appends " WHERE" and the key, whose parameters are numbered from 1. It is the same for all plain
 * keys of a table. */
void sqlite_put_where_key(sqlite3_str *sql, const sqlite_table *t, const sqlite_target *target);
/* Binds the key. Its texts must live until the statement is reset. Returns SQLite's code. */
int sqlite_bind_key(sqlite3_stmt *stmt, const sqlite_table *t, const sqlite_target *target);
/* Steps to the row whose key is spelled as in the URI, and returns SQLite's code. "02" or, where case
 * is ignored, "ADA" also match rows, and in a damaged file several rows may match. */
int sqlite_step_to_key(sqlite3_stmt *stmt, const sqlite_table *t, const sqlite_target *target);

#endif
