/* value.h: values of SQLite as JSON and as pieces of a URI, and pieces of a URI as values.
 *
 * In JSON an integer is exact, a real that is no number is a string ("Inf"), text that is not UTF-8
 * is as binary as a BLOB. In a key a BLOB is x'00ff', as SQL spells it.
 */
#ifndef SQLITE_VALUE_H
#define SQLITE_VALUE_H

#include "catalog.h"

#include <mcp/json.h>

/* Adds a name or a statement of the schema. If it is not UTF-8, which JSON requires, bytes beyond
 * ASCII become "?". */
void sqlite_put_words(mcp_json_writer *w, mcp_str words);
void sqlite_put_word_key(mcp_json_writer *w, const char *word);
/* The same in place. */
void sqlite_make_words(char *bytes, size_t len);

/* Appends a value as text for a key; not encoded yet. */
void sqlite_put_key_text(sqlite3_str *to, sqlite3_stmt *stmt, int column);

/* Whether the value's canonical key text is `text`. */
bool sqlite_is_key_text(sqlite3_stmt *stmt, int column, mcp_str text);

/* Writes NULL, numbers and UTF-8 text up to `longest` bytes. False, with nothing written, for other
 * values. *size grows by about the bytes written. */
bool sqlite_put_plain(mcp_json_writer *w, sqlite3_stmt *stmt, int column, size_t longest,
                      size_t *size);

/* Appends `"column" = ?N` (column NULL: the rowid), or two comparisons if the text may stand for
 * two values: a BLOB and a text, or a number in a column without affinity. Uses SQLITE_EQUAL_PARAMS
 * parameters from `first` on. */
enum { SQLITE_EQUAL_PARAMS = 2 };
void sqlite_put_equal(sqlite3_str *sql, const sqlite_table *t, const sqlite_column *column,
                      int first, mcp_str text);
/* Binds them; `text` must live until the statement is reset. Returns SQLite's code. */
int sqlite_bind_equal(sqlite3_stmt *stmt, const sqlite_column *column, int first, mcp_str text);
/* Whether the text looks like a BLOB, which needs a statement of its own. */
bool sqlite_is_blob_text(mcp_str text);

/* Whether the whole text is a number as SQLite writes it; *is_int tells which kind. */
bool sqlite_number(mcp_str text, bool *is_int, sqlite3_int64 *i, double *d);

#endif
