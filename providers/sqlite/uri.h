/* uri.h: parses and builds sqlite:// URIs.
 *
 *     sqlite://NAME/                                the database
 *     sqlite://NAME/TABLE                           a table or view
 *     sqlite://NAME/TABLE/rows?COLUMN=VALUE&limit=N&offset=N
 *     sqlite://NAME/TABLE/row/KEY[/KEY...]          one row by its key
 *     sqlite://NAME/TABLE/cell/COLUMN/KEY[/KEY...]  one cell
 *     sqlite://NAME/$query/QUERY?PARAMETER=VALUE    a saved query
 *
 * KEY is a text whose meaning depends on the column's type, or names the type of the value: $text:5
 * (key.h).
 *
 * Each piece is one segment, in which all characters except unreserved ones are percent-encoded, so
 * any name is preserved. "$query" is not a table, because a table of that name is written %24query,
 * and "$text:5" is not a plain key, which would be written %24text%3A5.
 * The parser does not check whether a table exists.
 */
#ifndef SQLITE_URI_H
#define SQLITE_URI_H

#include <mcp/uri.h>
#include <sqlite3.h>

enum { SQLITE_URI_KEYS = 16, SQLITE_URI_PARAMS = 32 };

typedef enum sqlite_kind {
    SQLITE_KIND_DATABASE,
    SQLITE_KIND_TABLE,
    SQLITE_KIND_ROWS,
    SQLITE_KIND_ROW,
    SQLITE_KIND_CELL,
    SQLITE_KIND_QUERY,
} sqlite_kind;

typedef enum sqlite_key_type {
    SQLITE_KEY_PLAIN, /* what the column's type makes of the text */
    SQLITE_KEY_INTEGER,
    SQLITE_KEY_REAL,
    SQLITE_KEY_TEXT,
    SQLITE_KEY_BLOB,  /* in hexadecimal */
    SQLITE_KEY_ROWID, /* of a row whose primary key has a NULL */
    SQLITE_KEY_TYPES,
} sqlite_key_type;

/* All strings are decoded and NUL-terminated, and may contain other NULs. */
typedef struct sqlite_target {
    sqlite_kind kind;
    mcp_str table; /* for a saved query, its name */
    mcp_str column;
    mcp_str key[SQLITE_URI_KEYS];
    sqlite_key_type key_type[SQLITE_URI_KEYS];
    size_t n_key;
    mcp_uri_pair param[SQLITE_URI_PARAMS];
    size_t n_param;
} sqlite_target;

/* Parses the part after "sqlite://NAME/". `room` has at least rest.len + SQLITE_URI_ROOM bytes, in
 * which the strings are stored. Returns MCP_OK, or MCP_ENOTFOUND if it is not a valid URI of this
 * provider (a bad "%", too many keys or parameters, a fragment). */
enum { SQLITE_URI_ROOM = SQLITE_URI_KEYS + 2 * SQLITE_URI_PARAMS + 8 };
int sqlite_uri_parse(mcp_str rest, char *room, sqlite_target *ret);

/* Appends the canonical URI after a prefix. Errors are recorded in `to`. */
void sqlite_uri_put(sqlite3_str *to, const char *prefix, const sqlite_target *target);

/* Appends one piece, encoded. */
void sqlite_uri_put_text(sqlite3_str *to, mcp_str text);
/* Appends one part of a key, and the "/" before it. */
void sqlite_uri_put_key(sqlite3_str *to, sqlite_key_type type, mcp_str text);

/* Returns the value of a parameter, or NULL if it is absent. */
const mcp_str *sqlite_uri_param(const sqlite_target *target, const char *name);

#endif
