/* value.h: converts values of SQLite to JSON, and texts of a URI to values. Keys are in key.h.
 *
 * In JSON, integers are exact, a real that is not finite is a string ("Inf"), and text that is not
 * UTF-8 is treated as a BLOB.
 */
#ifndef SQLITE_VALUE_H
#define SQLITE_VALUE_H

#include "catalog.h"

#include <mcp/json.h>

/* Adds a name or a statement of the schema. If it is not UTF-8, which JSON requires, bytes beyond
 * ASCII become "?". */
void sqlite_put_words(mcp_json_writer *w, mcp_str words);
void sqlite_put_word_key(mcp_json_writer *w, const char *word);
/* Does the same replacement in place. */
void sqlite_make_words(char *bytes, size_t len);

/* Writes the shortest decimal number that is read back as the same value. */
void sqlite_spell_real(double value, char text[40]);

/* Writes NULL, numbers and UTF-8 text of up to `longest` bytes. For other values it writes nothing
 * and returns false. *size grows by about the number of bytes written. */
bool sqlite_put_plain(mcp_json_writer *w, sqlite3_stmt *stmt, int column, size_t longest,
                      size_t *size);

/* Appends `"column" = ?N` for the parameter of a page; `column` is NULL for the rowid. If the text
 * may mean two values (a BLOB or a text, or a number in a column without affinity), appends a
 * comparison with both, because a parameter selects all rows that look so. Uses
 * SQLITE_EQUAL_PARAMS parameters from `first` on. */
enum { SQLITE_EQUAL_PARAMS = 2 };
void sqlite_put_equal(sqlite3_str *sql, const sqlite_table *t, const sqlite_column *column,
                      int first, mcp_str text);
/* Binds these parameters. `text` must live until the statement is reset. Returns SQLite's code. */
int sqlite_bind_equal(sqlite3_stmt *stmt, const sqlite_column *column, int first, mcp_str text);
/* Returns whether the text has the form x'00ff'. */
bool sqlite_is_blob_text(mcp_str text);
/* Returns whether the text is pairs of hexadecimal digits. */
bool sqlite_is_hex(mcp_str text);
/* Binds a BLOB that is written so. Returns SQLite's code. */
int sqlite_bind_hex(sqlite3_stmt *stmt, int at, mcp_str digits);

/* Returns whether the whole text is a number in SQLite's syntax. *is_int becomes whether the result
 * is *i, otherwise it is *d. */
bool sqlite_number(mcp_str text, bool *is_int, sqlite3_int64 *i, double *d);

#endif
