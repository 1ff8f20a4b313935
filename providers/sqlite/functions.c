/* functions.c: see functions.h. SQLite's lang_corefunc.html documents the functions. Their results
 * for invalid UTF-8 are undefined. */
#define _GNU_SOURCE
#include "functions.h"

#include <stdlib.h>

#include "pattern.h"

/* A value as text, or the bytes of a BLOB. */
typedef struct bytes {
    const char *ptr;
    size_t len;
} bytes;

static bytes text_of(sqlite3_value *value)
{
    const char *text = (const char *)sqlite3_value_text(value);
    return (bytes){text, text ? (size_t)sqlite3_value_bytes(value) : 0};
}

static bytes blob_of(sqlite3_value *value)
{
    const char *blob = sqlite3_value_blob(value);
    return (bytes){blob ? blob : "", (size_t)sqlite3_value_bytes(value)};
}

static bool any_null(int n, sqlite3_value **values)
{
    for (int i = 0; i < n; i++)
        if (sqlite3_value_type(values[i]) == SQLITE_NULL)
            return true;
    return false;
}

/* Returns the next occurrence, or NULL. */
static const char *find(bytes in, const char *from, bytes what)
{
    size_t left = in.len - (size_t)(from - in.ptr);
    /* Searching for one byte is common, and memmem() has a start-up cost for each call. */
    return what.len == 1 ? memchr(from, *what.ptr, left) : memmem(from, left, what.ptr, what.len);
}

static bool goes_on(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

/* ---- instr ----------------------------------------------------------------------------------- */

/* instr(): positions count from 1, in characters or, if both arguments are BLOBs, in bytes; 0
 * means not found. */
static void instr(sqlite3_context *to, int n, sqlite3_value **values)
{
    sqlite3_int64 at = 1;
    if (any_null(n, values))
        return;
    bool blobs = sqlite3_value_type(values[0]) == SQLITE_BLOB &&
                 sqlite3_value_type(values[1]) == SQLITE_BLOB;
    bytes in = blobs ? blob_of(values[0]) : text_of(values[0]);
    bytes what = blobs ? blob_of(values[1]) : text_of(values[1]);
    if (!in.ptr || !what.ptr) {
        sqlite3_result_error_nomem(to);
        return;
    }
    const char *found = find(in, in.ptr, what);
    for (const char *p = in.ptr; found && p < found; p++)
        at += blobs || !goes_on(*p);
    sqlite3_result_int64(to, found ? at : 0);
}

/* ---- replace --------------------------------------------------------------------------------- */

static size_t count(bytes in, bytes what)
{
    size_t n = 0;
    for (const char *p = in.ptr; (p = find(in, p, what)) != NULL; p += what.len)
        n++;
    return n;
}

static void put_replaced(sqlite3_context *to, bytes in, bytes what, bytes with, uint64_t size)
{
    char *made = sqlite3_malloc64(size + 1), *out = made;
    const char *rest = in.ptr;
    if (!made) {
        sqlite3_result_error_nomem(to);
        return;
    }
    for (const char *p; (p = find(in, rest, what)) != NULL; rest = p + what.len) {
        out = (char *)mempcpy(out, rest, (size_t)(p - rest));
        out = (char *)mempcpy(out, with.ptr, with.len);
    }
    memcpy(out, rest, in.len - (size_t)(rest - in.ptr));
    made[size] = 0;
    sqlite3_result_text64(to, made, size, sqlite3_free, SQLITE_UTF8);
}

static void replace(sqlite3_context *to, int n, sqlite3_value **values)
{
    if (any_null(2, values))
        return;
    bytes in = text_of(values[0]), what = text_of(values[1]), with = text_of(values[2]);
    bool same = what.ptr && !*what.ptr;
    if (same)
        sqlite3_result_value(to, values[0]);
    if (same || any_null(n, values))
        return;
    if (!in.ptr || !what.ptr || !with.ptr) {
        sqlite3_result_error_nomem(to);
        return;
    }
    size_t found = count(in, what);
    uint64_t size = in.len + found * (uint64_t)with.len - found * (uint64_t)what.len;
    uint64_t most = (uint64_t)sqlite3_limit(sqlite3_context_db_handle(to), SQLITE_LIMIT_LENGTH, -1);
    if (size > most)
        sqlite3_result_error_toobig(to);
    else
        put_replaced(to, in, what, with, size);
}

/* ---- trim ------------------------------------------------------------------------------------ */

enum { LEFT = 1, RIGHT = 2 };

/* The characters to be removed: a table of ASCII characters, and the others sorted. */
typedef struct set {
    bool byte[128];
    uint32_t *character;
    size_t n;
} set;

/* Returns the bytes of a character as a number. */
static uint32_t number_of(const char *p, size_t len)
{
    uint32_t number = 0;
    for (size_t i = 0; i < len && i < 4; i++)
        number = number << 8 | (unsigned char)p[i];
    return number;
}

static size_t length_at(bytes in, size_t at)
{
    size_t len = 1;
    while (at + len < in.len && (unsigned char)in.ptr[at] >= 0xc0 && goes_on(in.ptr[at + len]))
        len++;
    return len;
}

static int in_order(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static bool make_set(set *s, bytes of)
{
    memset(s, 0, sizeof(*s));
    for (size_t at = 0, len; at < of.len; at += len) {
        len = length_at(of, at);
        if ((unsigned char)of.ptr[at] < 128) {
            s->byte[(unsigned char)of.ptr[at]] = true;
            continue;
        }
        if (!s->character && !(s->character = sqlite3_malloc64((of.len - at) * sizeof(uint32_t))))
            return false;
        s->character[s->n++] = number_of(of.ptr + at, len);
    }
    if (s->n)
        qsort(s->character, s->n, sizeof(uint32_t), in_order);
    return true;
}

static bool has(const set *s, const char *p, size_t len)
{
    uint32_t number = number_of(p, len);
    if ((unsigned char)*p < 128)
        return s->byte[(unsigned char)*p];
    return s->n && bsearch(&number, s->character, s->n, sizeof(number), in_order);
}

static bytes trimmed(bytes in, const set *s, int sides)
{
    size_t from = 0, to = in.len, len;
    while (sides & LEFT && from < to && has(s, in.ptr + from, len = length_at(in, from)))
        from += len;
    while (sides & RIGHT && from < to) {
        size_t at = to - 1;
        while (at > from && goes_on(in.ptr[at]))
            at--;
        if (!has(s, in.ptr + at, to - at))
            break;
        to = at;
    }
    return (bytes){in.ptr + from, to - from};
}

static void trim_sides(sqlite3_context *to, int n, sqlite3_value **values, int sides)
{
    set s = {.n = 0};
    if (any_null(n, values))
        return;
    bytes in = text_of(values[0]), of = n > 1 ? text_of(values[1]) : (bytes){" ", 1};
    if (!in.ptr || !of.ptr || !make_set(&s, of)) {
        sqlite3_result_error_nomem(to);
        return;
    }
    bytes result = trimmed(in, &s, sides);
    sqlite3_result_text64(to, result.ptr, result.len, SQLITE_TRANSIENT, SQLITE_UTF8);
    sqlite3_free(s.character);
}

static void trim(sqlite3_context *to, int n, sqlite3_value **values)
{
    trim_sides(to, n, values, LEFT | RIGHT);
}

static void ltrim(sqlite3_context *to, int n, sqlite3_value **values)
{
    trim_sides(to, n, values, LEFT);
}

static void rtrim(sqlite3_context *to, int n, sqlite3_value **values)
{
    trim_sides(to, n, values, RIGHT);
}

/* ---- unhex ----------------------------------------------------------------------------------- */

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Decodes pairs of digits; characters of the set are allowed between pairs. Returns the number of
 * bytes, or -1 if the text is invalid. */
static sqlite3_int64 unhex_into(char *out, bytes in, const set *ignored)
{
    sqlite3_int64 n = 0;
    for (size_t at = 0; at < in.len;) {
        int high = hex_value(in.ptr[at]);
        if (high >= 0) {
            int low = at + 1 < in.len ? hex_value(in.ptr[at + 1]) : -1;
            if (low < 0)
                return -1;
            out[n++] = (char)(high << 4 | low);
            at += 2;
            continue;
        }
        size_t len = length_at(in, at);
        if (!has(ignored, in.ptr + at, len))
            return -1;
        at += len;
    }
    return n;
}

/* unhex(): NULL if the text is not hexadecimal. */
static void unhex(sqlite3_context *to, int n, sqlite3_value **values)
{
    set ignored = {.n = 0};
    if (any_null(n, values))
        return;
    bytes in = text_of(values[0]), of = n > 1 ? text_of(values[1]) : (bytes){"", 0};
    char *out = sqlite3_malloc64(in.len / 2 + 1);
    if (!in.ptr || !of.ptr || !out || !make_set(&ignored, of)) {
        sqlite3_free(out);
        sqlite3_result_error_nomem(to);
        return;
    }
    sqlite3_int64 made = unhex_into(out, in, &ignored);
    sqlite3_free(ignored.character);
    if (made < 0)
        sqlite3_free(out);
    else
        sqlite3_result_blob64(to, out, (sqlite3_uint64)made, sqlite3_free);
}

/* ---- like and glob --------------------------------------------------------------------------- */

static bool spend(void *user, size_t compared)
{
    return !user || sqlite_spend(user, compared);
}

/* Returns whether an argument is a BLOB and SQLite was built so that BLOBs match nothing. */
static bool is_blob_of_none(sqlite3_value **values)
{
    return (sqlite3_value_type(values[0]) == SQLITE_BLOB ||
            sqlite3_value_type(values[1]) == SQLITE_BLOB) &&
           sqlite3_compileoption_used("LIKE_DOESNT_MATCH_BLOBS");
}

static bool is_too_long(sqlite3_context *to, sqlite3_value *pattern)
{
    sqlite3 *db = sqlite3_context_db_handle(to);
    if (sqlite3_value_bytes(pattern) <= sqlite3_limit(db, SQLITE_LIMIT_LIKE_PATTERN_LENGTH, -1))
        return false;
    sqlite3_result_error(to, "LIKE or GLOB pattern too complex", -1);
    return true;
}

/* Sets the escape character, which loses any other meaning, even if it is "%" or "_". Returns false
 * if the result has been set to an error or NULL. */
static bool set_escape(sqlite3_context *to, sqlite3_value *value, sqlite_pattern *rules)
{
    const char *text = (const char *)sqlite3_value_text(value);
    if (!text)
        return false;
    rules->escape = sqlite_pattern_take(&text);
    if (!rules->escape || *text) {
        sqlite3_result_error(to, "ESCAPE expression must be a single character", -1);
        return false;
    }
    if (rules->escape == rules->any)
        rules->any = 0;
    if (rules->escape == rules->one)
        rules->one = 0;
    return true;
}

/* like() and glob(): `values` are the pattern, the text and, optionally, the escape character. */
static void match(sqlite3_context *to, int n, sqlite3_value **values, sqlite_pattern rules)
{
    if (is_blob_of_none(values)) {
        sqlite3_result_int(to, 0);
        return;
    }
    if (is_too_long(to, values[0]) || (n > 2 && !set_escape(to, values[2], &rules)))
        return;
    const char *text = (const char *)sqlite3_value_text(values[1]);
    const char *pattern = (const char *)sqlite3_value_text(values[0]);
    if (any_null(2, values))
        return;
    if (!text || !pattern) {
        sqlite3_result_error_nomem(to);
        return;
    }
    rules.spend = spend;
    rules.user = sqlite3_user_data(to);
    sqlite_matched matched = sqlite_pattern_match(&rules, pattern, text);
    if (matched == SQLITE_MATCHED_STOPPED)
        sqlite3_result_error_code(to, SQLITE_INTERRUPT);
    else
        sqlite3_result_int(to, matched == SQLITE_MATCHED);
}

static void glob(sqlite3_context *to, int n, sqlite3_value **values)
{
    match(to, n, values, (sqlite_pattern){.any = '*', .one = '?', .set = '['});
}

static void like(sqlite3_context *to, int n, sqlite3_value **values)
{
    match(to, n, values, (sqlite_pattern){.any = '%', .one = '_', .fold = true});
}

/* ---- rejected -------------------------------------------------------------------------------- */

static void refused(sqlite3_context *to, int n, sqlite3_value **values)
{
    (void)n, (void)values;
    sqlite3_result_error(to, "json_patch() is not available here", -1);
}

/* ---- installing ------------------------------------------------------------------------------ */

typedef struct function {
    const char *name;
    int n;
    void (*call)(sqlite3_context *to, int n, sqlite3_value **values);
} function;

static int install(sqlite3 *db, sqlite_conn *conn, const function *all, size_t n)
{
    enum { FLAGS = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS };
    int rc = SQLITE_OK;
    for (size_t i = 0; rc == SQLITE_OK && i < n; i++)
        rc = sqlite3_create_function_v2(db, all[i].name, all[i].n, FLAGS, conn, all[i].call, NULL,
                                        NULL, NULL);
    return rc;
}

int sqlite_functions_install(sqlite3 *db, sqlite_conn *conn)
{
    static const function functions[] = {
        {"instr", 2, instr}, {"replace", 3, replace}, {"trim", 1, trim},
        {"trim", 2, trim},   {"ltrim", 1, ltrim},     {"ltrim", 2, ltrim},
        {"rtrim", 1, rtrim}, {"rtrim", 2, rtrim},     {"like", 2, like},
        {"like", 3, like},   {"glob", 2, glob},       {"json_patch", 2, refused}};
    static const function of_3_41[] = {{"unhex", 1, unhex}, {"unhex", 2, unhex}};
    int rc = install(db, conn, functions, sizeof(functions) / sizeof(*functions));
    if (rc == SQLITE_OK && sqlite3_libversion_number() >= 3041000)
        rc = install(db, conn, of_3_41, sizeof(of_3_41) / sizeof(*of_3_41));
    return rc;
}
