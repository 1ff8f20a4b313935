/* value.h: values of PostgreSQL, which come as its text, as JSON.
 *
 * Numbers stay exact; those that are none ("NaN", "Infinity") are strings, json is itself, arrays
 * and all other types are PostgreSQL's text.
 */
#ifndef POSTGRES_VALUE_H
#define POSTGRES_VALUE_H

#include <libpq-fe.h>
#include <mcp/json.h>

/* pg_type.oid of the types with special handling; they never change. */
enum {
    POSTGRES_BOOL = 16,
    POSTGRES_BYTEA = 17,
    POSTGRES_INT8 = 20,
    POSTGRES_INT2 = 21,
    POSTGRES_INT4 = 23,
    POSTGRES_OID = 26,
    POSTGRES_JSON = 114,
    POSTGRES_FLOAT4 = 700,
    POSTGRES_FLOAT8 = 701,
    POSTGRES_NUMERIC = 1700,
    POSTGRES_JSONB = 3802,
};

/* Writes the value of the result's first row. False: it is bytea, longer than `longest`, or no
 * UTF-8, and nothing was written. *size grows by about what was. */
bool postgres_put_value(mcp_json_writer *w, const PGresult *r, int column, size_t longest,
                        size_t *size);

/* The bytes that a bytea's text stands for: how many there are, and, where `to` is not NULL, the
 * first `most`. */
size_t postgres_bytes(mcp_str text, unsigned char *to, size_t most);

#endif
