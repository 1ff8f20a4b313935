/* value.c: see value.h. */
#include "value.h"

#include "text.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

void sqlite_make_words(char *bytes, size_t len)
{
    if (common_text_utf8((mcp_str){bytes, len}))
        return;
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)bytes[i] >= 0x80)
            bytes[i] = '?';
}

static void put_words(mcp_json_writer *w, mcp_str words,
                      void (*put)(mcp_json_writer *w, mcp_str words))
{
    char *copy = common_text_utf8(words) ? NULL : sqlite3_malloc64(words.len + 1);
    if (copy) {
        memcpy(copy, words.ptr, words.len);
        sqlite_make_words(copy, words.len);
        words.ptr = copy;
    }
    put(w, words); /* without memory for a copy, the writer rejects the text */
    sqlite3_free(copy);
}

void sqlite_put_words(mcp_json_writer *w, mcp_str words)
{
    put_words(w, words, mcp_json_add_str);
}

void sqlite_put_word_key(mcp_json_writer *w, const char *word)
{
    put_words(w, mcp_str_from(word), mcp_json_key_str);
}

void sqlite_spell_real(double value, char text[40])
{
    if (!isfinite(value)) {
        snprintf(text, 40, "%s", value > 0 ? "9e999" : "-9e999");
        return;
    }
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, 40, "%.*g", digits, value);
        if (!(strtod(text, NULL) < value) && !(strtod(text, NULL) > value))
            return;
    }
}

static void put_real(mcp_json_writer *w, double value)
{
    if (isfinite(value))
        mcp_json_add_real(w, value);
    else
        mcp_json_add_string(w, value > 0 ? "Inf" : "-Inf"); /* SQLite has no NaN */
}

bool sqlite_put_plain(mcp_json_writer *w, sqlite3_stmt *stmt, int column, size_t longest,
                      size_t *size)
{
    mcp_str text;
    *size += 24;
    switch (sqlite3_column_type(stmt, column)) {
    case SQLITE_NULL: mcp_json_add_null(w); return true;
    case SQLITE_INTEGER: mcp_json_add_int(w, sqlite3_column_int64(stmt, column)); return true;
    case SQLITE_FLOAT: put_real(w, sqlite3_column_double(stmt, column)); return true;
    case SQLITE_TEXT:
        text = sqlite_text(stmt, column);
        if (text.len > longest || !common_text_utf8(text))
            return false;
        mcp_json_add_str(w, text);
        *size += text.len;
        return true;
    default: return false;
    }
}

/* ---- parsing values -------------------------------------------------------------------------- */

bool sqlite_number(mcp_str text, bool *is_int, sqlite3_int64 *i, double *d)
{
    char copy[64], *end;
    if (!text.len || text.len >= sizeof(copy) || strspn(text.ptr, "+-.0123456789eE") < text.len)
        return false;
    memcpy(copy, text.ptr, text.len);
    copy[text.len] = 0;
    errno = 0;
    *i = strtoll(copy, &end, 10);
    *is_int = !*end && !errno;
    if (*is_int)
        return true;
    *d = strtod(copy, &end);
    return !*end;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool sqlite_is_hex(mcp_str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (hex_digit(text.ptr[i]) < 0)
            return false;
    return text.len % 2 == 0;
}

bool sqlite_is_blob_text(mcp_str text)
{
    return text.len >= 3 && text.ptr[0] == 'x' && text.ptr[1] == '\'' &&
           text.ptr[text.len - 1] == '\'' && sqlite_is_hex((mcp_str){text.ptr + 2, text.len - 3});
}

static unsigned char hex_byte(const char *digits)
{
    unsigned high = (unsigned)hex_digit(digits[0]), low = (unsigned)hex_digit(digits[1]);
    return (unsigned char)(high << 4 | low);
}

int sqlite_bind_hex(sqlite3_stmt *stmt, int at, mcp_str digits)
{
    size_t len = digits.len / 2;
    unsigned char *bytes = sqlite3_malloc64(len + 1);
    if (!bytes)
        return SQLITE_NOMEM;
    for (size_t i = 0; i < len; i++)
        bytes[i] = hex_byte(digits.ptr + 2 * i);
    return sqlite3_bind_blob64(stmt, at, bytes, len, sqlite3_free);
}

static bool is_pair(const sqlite_column *column, mcp_str text)
{
    return column && (column->affinity == SQLITE_AFFINITY_NONE || sqlite_is_blob_text(text));
}

void sqlite_put_equal(sqlite3_str *sql, const sqlite_table *t, const sqlite_column *column,
                      int first, mcp_str text)
{
    if (!column)
        sqlite3_str_appendf(sql, "%s = ?%d", t->rowid, first);
    else if (is_pair(column, text))
        sqlite3_str_appendf(sql, "\"%w\" IN (?%d, ?%d)", column->name, first, first + 1);
    else
        sqlite3_str_appendf(sql, "\"%w\" = ?%d", column->name, first);
}

int sqlite_bind_equal(sqlite3_stmt *stmt, const sqlite_column *column, int first, mcp_str text)
{
    bool is_int;
    sqlite3_int64 i;
    double d;
    int rc = sqlite3_bind_text64(stmt, first, text.ptr, text.len, SQLITE_STATIC, SQLITE_UTF8);
    if (rc != SQLITE_OK || !is_pair(column, text))
        return rc;
    if (sqlite_is_blob_text(text))
        return sqlite_bind_hex(stmt, first + 1, (mcp_str){text.ptr + 2, text.len - 3});
    if (!sqlite_number(text, &is_int, &i, &d)) /* not a number: binds the same text twice */
        return sqlite3_bind_text64(stmt, first + 1, text.ptr, text.len, SQLITE_STATIC, SQLITE_UTF8);
    return is_int ? sqlite3_bind_int64(stmt, first + 1, i)
                  : sqlite3_bind_double(stmt, first + 1, d);
}
