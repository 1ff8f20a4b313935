/* value.h: values of SQLite as JSON and as pieces of a URI, and pieces of a URI as values.
 *
 * In JSON an integer is exact, a real that is no number is a string ("Inf"), text that is not UTF-8
 * is as binary as a BLOB. In a key a BLOB is x'00ff', as SQL spells it.
 */
#ifndef SQLITE_VALUE_H
#define SQLITE_VALUE_H

#include "catalog.h"

#include <mcp/json.h>

/* A name, or a statement of the schema, as JSON. Where it is no UTF-8, which JSON cannot have, its
 * bytes beyond ASCII stand as "?". */
void sqlite_put_words(mcp_json_writer *w, mcp_str words);
void sqlite_put_word_key(mcp_json_writer *w, const char *word);
/* The same in place. */
void sqlite_make_words(char *bytes, size_t len);

/* Appends a value as text for a key; not encoded yet. */
void sqlite_put_key_text(sqlite3_str *to, sqlite3_stmt *stmt, int column);

/* Whether that is the text: a key has one spelling. */
bool sqlite_is_key_text(sqlite3_stmt *stmt, int column, mcp_str text);

/* NULL, numbers and text that is UTF-8, up to `longest` bytes; false: it is none of these and
 * nothing was written. *size grows by about what was. */
bool sqlite_put_plain(mcp_json_writer *w, sqlite3_stmt *stmt, int column, size_t longest,
                      size_t *size);

/* Appends `"column" = ?N` (column NULL: the rowid), or a pair where the text may mean two values: a
 * BLOB beside a text, or a number in a column that does not convert text by itself. Takes
 * SQLITE_EQUAL_PARAMS parameters from `first` on. */
enum { SQLITE_EQUAL_PARAMS = 2 };
void sqlite_put_equal(sqlite3_str *sql, const sqlite_table *t, const sqlite_column *column,
                      int first, mcp_str text);
/* Binds them; `text` lives until the statement is reset. SQLite's code. */
int sqlite_bind_equal(sqlite3_stmt *stmt, const sqlite_column *column, int first, mcp_str text);
/* Whether the text looks like a BLOB, so that a statement made for other texts does not do. */
bool sqlite_is_blob_text(mcp_str text);

/* Whether the whole text is a number as SQLite writes one: *is_int tells which. */
bool sqlite_number(mcp_str text, bool *is_int, sqlite3_int64 *i, double *d);

#endif
