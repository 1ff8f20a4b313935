/* value.h: converts values of PostgreSQL, which arrive as text, to JSON.
 *
 * Numbers stay exact. "NaN" and "Infinity" become strings, and json values are copied. Arrays and
 * all other types become strings with PostgreSQL's text.
 */
#ifndef POSTGRES_VALUE_H
#define POSTGRES_VALUE_H

#include <libpq-fe.h>
#include <mcp/json.h>

/* pg_type.oid of the types with special handling. These numbers never change. */
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
    POSTGRES_DATE = 1082,
    POSTGRES_TIME = 1083,
    POSTGRES_TIMESTAMP = 1114,
    POSTGRES_TIMESTAMPTZ = 1184,
    POSTGRES_TIMETZ = 1266,
    POSTGRES_NUMERIC = 1700,
    POSTGRES_UUID = 2950,
    POSTGRES_JSONB = 3802,
};

/* Writes the value of the result's first row, and adds its approximate size to *size. Returns false
 * if it is bytea, longer than `longest`, or not UTF-8; then nothing was written. */
bool postgres_put_value(mcp_json_writer *w, const PGresult *r, int column, size_t longest,
                        size_t *size);

/* Decodes the text of a bytea. Returns its number of bytes, and writes the first `most` of them to
 * `to` if that is not NULL. */
size_t postgres_bytes(mcp_str text, unsigned char *to, size_t most);

#endif
