/* uri.h: parses and builds postgres:// URIs.
 *
 *     postgres://NAME/                                     the database
 *     postgres://NAME/SCHEMA                               a schema
 *     postgres://NAME/SCHEMA/TABLE                         a table or view
 *     postgres://NAME/SCHEMA/TABLE/rows?COLUMN=VALUE&limit=N&offset=N
 *     postgres://NAME/SCHEMA/TABLE/row/KEY[/KEY...]          one row by its key
 *     postgres://NAME/SCHEMA/TABLE/cell/COLUMN/KEY[/KEY...]  one value
 *     postgres://NAME/SCHEMA/$function/SIGNATURE           a function: "total(integer, text)"
 *     postgres://NAME/$query/QUERY?PARAMETER=VALUE         a saved query
 *
 * Each part is one segment, in which all but unreserved characters are percent-encoded, so any name
 * can be used. A schema or table whose name begins with "$" is spelled with %24. Whether the
 * objects exist is not checked here.
 */
#ifndef POSTGRES_URI_H
#define POSTGRES_URI_H

#include <mcp/uri.h>

#include "sql.h"

enum { POSTGRES_URI_KEYS = 32, POSTGRES_URI_PARAMS = 32 };

typedef enum postgres_kind {
    POSTGRES_KIND_DATABASE,
    POSTGRES_KIND_SCHEMA,
    POSTGRES_KIND_TABLE,
    POSTGRES_KIND_ROWS,
    POSTGRES_KIND_ROW,
    POSTGRES_KIND_CELL,
    POSTGRES_KIND_FUNCTION,
    POSTGRES_KIND_QUERY,
} postgres_kind;

/* All strings are decoded and NUL-terminated. They contain no other NUL, because strings in
 * PostgreSQL never do. */
typedef struct postgres_target {
    postgres_kind kind;
    mcp_str schema;
    mcp_str name; /* of the table, the function or the saved query */
    mcp_str column;
    mcp_str key[POSTGRES_URI_KEYS];
    size_t n_key;
    mcp_uri_pair param[POSTGRES_URI_PARAMS];
    size_t n_param;
} postgres_target;

/* Parses what follows "postgres://NAME/". `room` holds the strings; it has at least rest.len +
 * POSTGRES_URI_ROOM bytes. Returns MCP_OK, or MCP_ENOTFOUND if no resource has such a URI (a bad
 * "%", NUL, too many keys or parameters, a fragment). */
enum { POSTGRES_URI_ROOM = POSTGRES_URI_KEYS + 2 * POSTGRES_URI_PARAMS + 8 };
int postgres_uri_parse(mcp_str rest, char *room, postgres_target *ret);

/* Appends the canonical URI of the target, after a prefix. */
void postgres_uri_put(postgres_sql *to, const char *prefix, const postgres_target *target);

/* Returns the value of a parameter, or NULL if there is none. */
const mcp_str *postgres_uri_param(const postgres_target *target, const char *name);

#endif
