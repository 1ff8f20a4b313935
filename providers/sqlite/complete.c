/* complete.c: completes names of tables and columns, and keys.
 *
 * Keys are searched in their order, so that their index can be used: numbers by decades (4, 40 to
 * 49, 400 to 499, ...), texts from the first one that is not before the prefix.
 */
#include "provider.h"

#include "replies.h"

#include <stdio.h>

#include "text.h"

/* With access rules, more values are collected than returned, because some may be hidden. */
enum { MOST = 100, MOST_HIDDEN = 2000, LOOKED_AT_BESIDE = 400 };

typedef struct completion {
    sqlite *s;
    mcp_request *req;
    mcp_str name, value, table; /* values of the request */
    sqlite3_str *values;        /* each followed by NUL */
    size_t count, most;
    sqlite_far far;
} completion;

/* Adds a value that has the prefix. Returns false if there are enough values. */
static bool keep(completion *c, mcp_str value)
{
    if (value.len < c->value.len ||
        (c->value.len && memcmp(value.ptr, c->value.ptr, c->value.len) != 0))
        return true;
    if (memchr(value.ptr, 0, value.len) || !common_text_utf8(value))
        return true; /* cannot be sent: contains NUL or is not UTF-8 */
    sqlite3_str_append(c->values, value.ptr, (int)value.len);
    sqlite3_str_appendchar(c->values, 1, 0);
    return ++c->count <= c->most;
}

static int complete_tables(sqlite_conn *conn, completion *c)
{
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite_prepare_list(conn, true, &stmt);
    if (rc == SQLITE_OK)
        rc = sqlite3_bind_text64(stmt, 1, c->value.len ? c->value.ptr : "", c->value.len,
                                 SQLITE_STATIC, SQLITE_UTF8);
    if (rc == SQLITE_OK)
        rc = sqlite3_bind_int64(stmt, 2, (sqlite3_int64)c->most + 1);
    while (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW)
        rc = keep(c, sqlite_text(stmt, 0)) ? SQLITE_OK : SQLITE_DONE;
    sqlite3_finalize(stmt);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* ---- keys ------------------------------------------------------------------------------------ */

/* Prepares "SELECT key FROM table WHERE key ... ORDER BY key". */
static int prepare_keys(sqlite_conn *conn, const completion *c, const sqlite_table *t,
                        const char *where, sqlite3_stmt **ret)
{
    const sqlite_column *key = sqlite_table_key(t, 0);
    char *name = key ? sqlite3_mprintf("\"%w\"", key->name) : sqlite3_mprintf("%s", t->rowid);
    if (!name)
        return SQLITE_NOMEM;
    sqlite3_str *sql = sqlite3_str_new(conn->db);
    sqlite3_str_appendf(sql, "SELECT DISTINCT %s FROM main.\"%w\" WHERE %s ", name, t->name, name);
    sqlite3_str_appendf(sql, where, name);
    sqlite3_str_appendf(sql, " ORDER BY %s LIMIT %d", name, (int)c->most + LOOKED_AT_BESIDE);
    sqlite3_free(name);
    return sqlite_prepare_str(conn, sql, ret);
}

/* Keeps the plain keys. The variable of a template cannot have another one, because expanding it
 * encodes the "$". */
static int keep_keys(sqlite_conn *conn, completion *c, const sqlite_table *t, sqlite3_stmt *stmt)
{
    const sqlite_column *key = sqlite_table_key(t, 0);
    int rc = SQLITE_OK;
    bool more = true;
    while (more && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        sqlite3_str *text = sqlite3_str_new(conn->db);
        if (sqlite_spell_key(text, key, stmt, 0) == SQLITE_KEY_PLAIN && sqlite3_str_value(text))
            more = keep(c, (mcp_str){sqlite3_str_value(text), (size_t)sqlite3_str_length(text)});
        sqlite3_free(sqlite3_str_finish(text));
    }
    return rc == SQLITE_DONE || rc == SQLITE_ROW ? SQLITE_OK : rc;
}

static int complete_range(sqlite_conn *conn, completion *c, const sqlite_table *t,
                          sqlite3_int64 low, sqlite3_int64 high)
{
    sqlite3_stmt *stmt = NULL;
    int rc = prepare_keys(conn, c, t, "BETWEEN ?1 AND ?2", &stmt);
    if (rc == SQLITE_OK)
        rc = sqlite3_bind_int64(stmt, 1, low);
    if (rc == SQLITE_OK)
        rc = sqlite3_bind_int64(stmt, 2, high);
    if (rc == SQLITE_OK)
        rc = keep_keys(conn, c, t, stmt);
    sqlite3_finalize(stmt);
    return rc;
}

static int complete_numbers(sqlite_conn *conn, completion *c, const sqlite_table *t,
                            sqlite3_int64 n)
{
    sqlite3_int64 low = n, high = n, most = INT64_MAX / 10 - 1;
    int rc = SQLITE_OK;
    while (rc == SQLITE_OK && c->count <= c->most) {
        rc = complete_range(conn, c, t, low < high ? low : high, low < high ? high : low);
        if (n == 0 || high > most || high < -most)
            break;
        low = low * 10;
        high = high * 10 + (n < 0 ? -9 : 9);
    }
    return rc;
}

static int complete_texts(sqlite_conn *conn, completion *c, const sqlite_table *t)
{
    sqlite3_stmt *stmt = NULL;
    int rc = prepare_keys(conn, c, t, c->value.len ? ">= ?1" : "IS NOT NULL", &stmt);
    if (rc == SQLITE_OK && c->value.len)
        rc = sqlite3_bind_text64(stmt, 1, c->value.ptr, c->value.len, SQLITE_STATIC, SQLITE_UTF8);
    if (rc == SQLITE_OK)
        rc = keep_keys(conn, c, t, stmt);
    sqlite3_finalize(stmt);
    return rc;
}

static int complete_keys(sqlite_conn *conn, completion *c, const sqlite_table *t)
{
    bool is_int;
    sqlite3_int64 n;
    double d;
    const sqlite_column *key = sqlite_table_has_key(t) ? sqlite_table_key(t, 0) : NULL;
    if (!sqlite_table_has_key(t))
        return SQLITE_OK;
    bool numbers = !key || key->affinity == SQLITE_AFFINITY_NUMBER;
    if (numbers && mcp_str_eq(c->value, MCP_STR("-")))
        return complete_range(conn, c, t, INT64_MIN, -1);
    if (numbers && c->value.len && sqlite_number(c->value, &is_int, &n, &d) && is_int)
        return complete_numbers(conn, c, t, n);
    return complete_texts(conn, c, t);
}

static int complete_use(sqlite_conn *conn, void *user)
{
    completion *c = user;
    sqlite_table *t = NULL;
    sqlite3_str_reset(c->values);
    c->count = 0;
    if (mcp_str_eq(c->name, MCP_STR("table")))
        return complete_tables(conn, c);
    int rc = sqlite_table_load(conn, c->table, &c->s->base.alloc, &t);
    if (rc == SQLITE_OK && t && mcp_str_eq(c->name, MCP_STR("key")))
        rc = complete_keys(conn, c, t);
    else if (rc == SQLITE_OK && t)
        for (size_t i = 0; i < t->n_column; i++)
            keep(c, mcp_str_from(t->column[i].name));
    sqlite_table_free(t);
    return rc;
}

/* ---- request --------------------------------------------------------------------------------- */

/* Adds a value if the caller may read its target: a table, the column's table, or a row whose key
 * begins with the value. */
static int put(const completion *c, const char *value)
{
    bool key = mcp_str_eq(c->name, MCP_STR("key"));
    sqlite_target t = {.kind = key ? SQLITE_KIND_ROW : SQLITE_KIND_TABLE, .n_key = key};
    t.key[0] = mcp_str_from(value);
    t.table = mcp_str_eq(c->name, MCP_STR("table")) ? mcp_str_from(value) : c->table;
    sqlite3_str *uri = sqlite3_str_new(NULL);
    sqlite_uri_put(uri, c->s->base.prefix, &t);
    char *text = sqlite3_str_finish(uri);
    int rc = text ? mcp_reply_completion_for(c->req, mcp_str_from(value), mcp_str_from(text))
                  : MCP_ENOMEM;
    sqlite3_free(text);
    return rc;
}

static void drop(void *user)
{
    completion *c = user;
    sqlite3_free(sqlite3_str_finish(c->values));
}

/* Replies with the completions. If the database cannot be queried there are none, because an error
 * while the user types would not help. */
static int end(void *user)
{
    completion *c = user;
    int rc = c->far.rc == MCP_ENOMEM || c->far.rc == MCP_ECANCELLED ? c->far.rc : MCP_OK;
    const char *p = sqlite3_str_value(c->values), *end = p + sqlite3_str_length(c->values);
    while (rc == MCP_OK && p && p < end) {
        rc = put(c, p);
        p += strlen(p) + 1;
    }
    drop(c);
    return rc;
}

int sqlite_complete(mcp_request *req, mcp_str name, mcp_str value, const mcp_json *context,
                    void *user)
{
    sqlite *s = user;
    bool table = mcp_str_eq(name, MCP_STR("table"));
    if (mcp_str_eq(name, MCP_STR("format")))
        return common_reply_formats(req, value);
    if (!table && !mcp_str_eq(name, MCP_STR("key")) && !mcp_str_eq(name, MCP_STR("column")))
        return MCP_OK;
    completion *c = mcp_request_alloc(req, sizeof(*c));
    if (!c)
        return MCP_ENOMEM;
    memset(c, 0, sizeof(*c));
    c->s = s;
    c->req = req;
    c->name = name;
    c->most = mcp_request_restricted(req) ? MOST_HIDDEN : MOST;
    c->value = value;
    c->table = mcp_json_string(mcp_json_get(context, "table"));
    if (!table && !c->table.len)
        return MCP_OK;
    c->values = sqlite3_str_new(NULL);
    c->far =
        (sqlite_far){.s = s, .req = req, .use = complete_use, .end = end, .drop = drop, .user = c};
    return sqlite_far_run(&c->far, false);
}
