/* key.c: see key.h. */
#include "provider.h"

#include <stdlib.h>

/* ---- spelling -------------------------------------------------------------------------------- */

/* Returns whether a column of numbers may convert the text, as sqlite3AtoF() would read it. Such a
 * text is stored there only by a program that avoids SQLite. */
static bool looks_like_number(mcp_str text)
{
    static const char blank[] = " \t\n\v\f\r";
    bool is_int;
    sqlite3_int64 i;
    double d;
    while (text.len && memchr(blank, *text.ptr, sizeof(blank) - 1))
        text.ptr++, text.len--;
    while (text.len && memchr(blank, text.ptr[text.len - 1], sizeof(blank) - 1))
        text.len--;
    return text.len >= 64 ? memchr("+-.0123456789", *text.ptr, 13) != NULL
                          : sqlite_number(text, &is_int, &i, &d);
}

static bool is_spelled_number(mcp_str text)
{
    char spelled[40];
    bool is_int;
    sqlite3_int64 i;
    double d;
    if (!sqlite_number(text, &is_int, &i, &d))
        return false;
    if (is_int)
        sqlite3_snprintf(sizeof(spelled), spelled, "%lld", i);
    else
        sqlite_spell_real(d, spelled);
    return mcp_str_eq(mcp_str_from(spelled), text) || mcp_str_eq(text, MCP_STR("-0"));
}

static bool has_upper(mcp_str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] >= 'A' && text.ptr[i] <= 'F')
            return true;
    return false;
}

/* Returns the type of the value that a plain key means. */
static sqlite_key_type type_of_plain(const sqlite_column *c, mcp_str text)
{
    if (c && c->affinity == SQLITE_AFFINITY_TEXT)
        return SQLITE_KEY_TEXT;
    if (!c || c->affinity == SQLITE_AFFINITY_NUMBER ? looks_like_number(text)
                                                    : is_spelled_number(text))
        return SQLITE_KEY_REAL;
    return sqlite_is_blob_text(text) && !has_upper(text) ? SQLITE_KEY_BLOB : SQLITE_KEY_TEXT;
}

static void put_hex(sqlite3_str *to, sqlite3_stmt *stmt, int at)
{
    const unsigned char *bytes = sqlite3_column_blob(stmt, at);
    for (int i = 0, len = sqlite3_column_bytes(stmt, at); i < len; i++)
        sqlite3_str_appendf(to, "%02x", bytes[i]);
}

static sqlite_key_type spell_blob(sqlite3_str *to, bool texts, sqlite3_stmt *stmt, int at)
{
    if (!texts)
        sqlite3_str_appendall(to, "x'");
    put_hex(to, stmt, at);
    if (!texts)
        sqlite3_str_appendall(to, "'");
    return texts ? SQLITE_KEY_BLOB : SQLITE_KEY_PLAIN;
}

sqlite_key_type sqlite_spell_key(sqlite3_str *to, const sqlite_column *c, sqlite3_stmt *stmt,
                                 int at)
{
    bool texts = c && c->affinity == SQLITE_AFFINITY_TEXT;
    char real[40];
    mcp_str text;
    switch (sqlite3_column_type(stmt, at)) {
    case SQLITE_INTEGER:
        sqlite3_str_appendf(to, "%lld", sqlite3_column_int64(stmt, at));
        return texts ? SQLITE_KEY_INTEGER : SQLITE_KEY_PLAIN;
    case SQLITE_FLOAT:
        sqlite_spell_real(sqlite3_column_double(stmt, at), real);
        sqlite3_str_appendall(to, real);
        return texts ? SQLITE_KEY_REAL : SQLITE_KEY_PLAIN;
    case SQLITE_BLOB: return spell_blob(to, texts, stmt, at);
    default:
        text = sqlite_text(stmt, at);
        sqlite3_str_append(to, text.ptr, (int)text.len);
        return type_of_plain(c, text) == SQLITE_KEY_TEXT ? SQLITE_KEY_PLAIN : SQLITE_KEY_TEXT;
    }
}

/* ---- keys in results ------------------------------------------------------------------------- */

static bool has_rowid_beside(const sqlite_table *t)
{
    return t->n_key && t->rowid;
}

void sqlite_put_key_columns(sqlite3_str *sql, const sqlite_table *t)
{
    for (size_t i = 0; i < t->n_key; i++)
        sqlite3_str_appendf(sql, ", \"%w\"", sqlite_table_key(t, i)->name);
    if (t->rowid)
        sqlite3_str_appendf(sql, ", %s", t->rowid);
}

bool sqlite_key_has_null(const sqlite_table *t, sqlite3_stmt *stmt, int first)
{
    for (size_t i = 0; i < sqlite_table_key_count(t); i++)
        if (sqlite3_column_type(stmt, first + (int)i) == SQLITE_NULL)
            return true;
    return false;
}

static void put_part(sqlite3_str *to, const sqlite_column *c, sqlite3_stmt *stmt, int at,
                     bool rowid)
{
    sqlite3_str *text = sqlite3_str_new(NULL);
    sqlite_key_type type = sqlite_spell_key(text, c, stmt, at);
    const char *bytes = sqlite3_str_value(text);
    sqlite_uri_put_key(to, rowid ? SQLITE_KEY_ROWID : type,
                       (mcp_str){bytes ? bytes : "", (size_t)sqlite3_str_length(text)});
    sqlite3_free(sqlite3_str_finish(text));
}

void sqlite_put_key(sqlite3_str *to, const sqlite_table *t, sqlite3_stmt *stmt, int first)
{
    if (has_rowid_beside(t) && sqlite_key_has_null(t, stmt, first)) {
        put_part(to, NULL, stmt, first + (int)t->n_key, true);
        return;
    }
    for (size_t i = 0; i < sqlite_table_key_count(t); i++)
        put_part(to, sqlite_table_key(t, i), stmt, first + (int)i, false);
}

/* ---- finding rows ---------------------------------------------------------------------------- */

/* Returns whether the key is the rowid of a row that has a primary key too. */
static bool is_rowid(const sqlite_table *t, const sqlite_target *target)
{
    return has_rowid_beside(t) && target->n_key == 1 && target->key_type[0] == SQLITE_KEY_ROWID;
}

int sqlite_load_keyed(sqlite_conn *c, const sqlite_job *j, sqlite_table **ret)
{
    int rc = sqlite_table_load(c, j->target.table, &j->s->base.alloc, ret);
    if (rc == SQLITE_OK && *ret && sqlite_table_key_count(*ret) != j->target.n_key &&
        !is_rowid(*ret, &j->target)) {
        sqlite_table_free(*ret);
        *ret = NULL;
    }
    return rc;
}

/* Returns whether the column would convert the value before it compares: the "+" prevents that, and
 * the use of an index. */
static bool converts(const sqlite_column *c, sqlite_key_type type)
{
    return (c->affinity == SQLITE_AFFINITY_TEXT &&
            (type == SQLITE_KEY_INTEGER || type == SQLITE_KEY_REAL)) ||
           (c->affinity == SQLITE_AFFINITY_NUMBER && type == SQLITE_KEY_TEXT);
}

void sqlite_put_where_key(sqlite3_str *sql, const sqlite_table *t, const sqlite_target *target)
{
    for (size_t i = 0; i < target->n_key; i++) {
        const sqlite_column *c = is_rowid(t, target) ? NULL : sqlite_table_key(t, i);
        sqlite3_str_appendall(sql, i ? " AND " : " WHERE ");
        if (c)
            sqlite3_str_appendf(sql, "%s\"%w\" = ?%d", converts(c, target->key_type[i]) ? "+" : "",
                                c->name, (int)i + 1);
        else
            sqlite3_str_appendf(sql, "%s = ?%d", t->rowid, (int)i + 1);
    }
}

static int bind_number(sqlite3_stmt *stmt, int at, mcp_str text)
{
    bool is_int;
    sqlite3_int64 i;
    double d;
    if (!sqlite_number(text, &is_int, &i, &d))
        return SQLITE_OK; /* NULL, which equals nothing */
    if (is_int && !mcp_str_eq(text, MCP_STR("-0")))
        return sqlite3_bind_int64(stmt, at, i);
    return sqlite3_bind_double(stmt, at, is_int ? -0.0 : d);
}

static int bind_part(sqlite3_stmt *stmt, int at, const sqlite_column *c, sqlite_key_type type,
                     mcp_str text)
{
    bool plain = type == SQLITE_KEY_PLAIN;
    switch (plain ? type_of_plain(c, text) : type) {
    case SQLITE_KEY_TEXT:
        return sqlite3_bind_text64(stmt, at, text.ptr, text.len, SQLITE_STATIC, SQLITE_UTF8);
    case SQLITE_KEY_BLOB:
        if (plain)
            text = (mcp_str){text.ptr + 2, text.len - 3};
        return sqlite_is_hex(text) ? sqlite_bind_hex(stmt, at, text) : SQLITE_OK;
    default: return bind_number(stmt, at, text);
    }
}

int sqlite_bind_key(sqlite3_stmt *stmt, const sqlite_table *t, const sqlite_target *target)
{
    int rc = SQLITE_OK;
    for (size_t i = 0; rc == SQLITE_OK && i < target->n_key; i++)
        rc = bind_part(stmt, (int)i + 1, is_rowid(t, target) ? NULL : sqlite_table_key(t, i),
                       target->key_type[i], target->key[i]);
    return rc;
}

static bool is_part(sqlite3_stmt *stmt, const sqlite_column *c, int at, sqlite_key_type type,
                    mcp_str text)
{
    sqlite3_str *spelled = sqlite3_str_new(NULL);
    bool same = sqlite_spell_key(spelled, c, stmt, at) == type &&
                (size_t)sqlite3_str_length(spelled) == text.len &&
                (!text.len || memcmp(sqlite3_str_value(spelled), text.ptr, text.len) == 0);
    sqlite3_free(sqlite3_str_finish(spelled));
    return same;
}

static bool is_spelled_so(sqlite3_stmt *stmt, const sqlite_table *t, const sqlite_target *target)
{
    int count = (int)sqlite_table_key_count(t);
    int first = sqlite3_column_count(stmt) - count - has_rowid_beside(t);
    bool null = sqlite_key_has_null(t, stmt, first);
    if (null || is_rowid(t, target))
        return null && is_rowid(t, target) &&
               is_part(stmt, NULL, first + count, SQLITE_KEY_PLAIN, target->key[0]);
    for (int i = 0; i < count; i++)
        if (!is_part(stmt, sqlite_table_key(t, (size_t)i), first + i, target->key_type[i],
                     target->key[i]))
            return false;
    return true;
}

int sqlite_step_to_key(sqlite3_stmt *stmt, const sqlite_table *t, const sqlite_target *target)
{
    int rc;
    while ((rc = sqlite3_step(stmt)) == SQLITE_ROW && !is_spelled_so(stmt, t, target)) {
    }
    return rc;
}
