/* value.c: see value.h. */
#include "value.h"

#include "text.h"

#include <ctype.h>

static size_t digits(mcp_str s, size_t *i)
{
    size_t from = *i;
    while (*i < s.len && isdigit((unsigned char)s.ptr[*i]))
        (*i)++;
    return *i - from;
}

/* Returns whether the text is a number in JSON: "1.50" and "1e+20" are, "NaN" is not. */
static bool is_number(mcp_str s)
{
    size_t i = s.len && s.ptr[0] == '-';
    bool zero = i < s.len && s.ptr[i] == '0';
    size_t n = digits(s, &i);
    if (n == 0 || (zero && n > 1))
        return false;
    if (i < s.len && s.ptr[i] == '.' && (i++, digits(s, &i) == 0))
        return false;
    if (i < s.len && (s.ptr[i] == 'e' || s.ptr[i] == 'E')) {
        i++;
        i += i < s.len && (s.ptr[i] == '+' || s.ptr[i] == '-');
        if (digits(s, &i) == 0)
            return false;
    }
    return i == s.len;
}

/* Writes a JSON value. PostgreSQL accepts some JSON that our parser does not (a key twice, deep
 * nesting); this is written as a string. Otherwise it is copied, because parsed numbers would lose
 * digits. Line breaks, which are never inside of a string, become spaces. */
static void put_json(mcp_json_writer *w, char *bytes, mcp_str text)
{
    mcp_json_doc *doc = NULL;
    if (mcp_json_parse(text, NULL, NULL, &doc, NULL) == MCP_OK) {
        for (size_t i = 0; i < text.len; i++)
            if (bytes[i] == '\n' || bytes[i] == '\r')
                bytes[i] = ' ';
        mcp_json_add_raw(w, text);
    } else {
        mcp_json_add_str(w, text);
    }
    mcp_json_free(doc);
}

static void put_text(mcp_json_writer *w, unsigned type, char *bytes, mcp_str text)
{
    switch (type) {
    case POSTGRES_BOOL: mcp_json_add_bool(w, text.len && *text.ptr == 't'); return;
    case POSTGRES_INT2:
    case POSTGRES_INT4:
    case POSTGRES_INT8:
    case POSTGRES_OID:
    case POSTGRES_FLOAT4:
    case POSTGRES_FLOAT8:
    case POSTGRES_NUMERIC:
        if (is_number(text))
            mcp_json_add_raw(w, text);
        else
            mcp_json_add_str(w, text);
        return;
    case POSTGRES_JSON:
    case POSTGRES_JSONB: put_json(w, bytes, text); return;
    default: mcp_json_add_str(w, text);
    }
}

bool postgres_put_value(mcp_json_writer *w, const PGresult *r, int column, size_t longest,
                        size_t *size)
{
    mcp_str text = {PQgetvalue(r, 0, column), (size_t)PQgetlength(r, 0, column)};
    unsigned type = PQftype(r, column);
    *size += 16;
    if (PQgetisnull(r, 0, column)) {
        mcp_json_add_null(w);
        return true;
    }
    if (type == POSTGRES_BYTEA || text.len > longest || !common_text_utf8(text))
        return false;
    put_text(w, type, PQgetvalue(r, 0, column), text);
    *size += text.len;
    return true;
}

static unsigned hex(char c)
{
    return (unsigned)(isdigit((unsigned char)c) ? c - '0' : (c | 0x20) - 'a' + 10) & 15;
}

size_t postgres_bytes(mcp_str text, unsigned char *to, size_t most)
{
    size_t n = text.len >= 2 ? (text.len - 2) / 2 : 0;
    for (size_t i = 0; to && i < n && i < most; i++)
        to[i] = (unsigned char)(hex(text.ptr[2 + 2 * i]) << 4 | hex(text.ptr[3 + 2 * i]));
    return n;
}
