/* guard.c: see guard.h. */
#include "guard.h"

#include <stdio.h>

enum { MOST_CALLS = 1000 };

/* PRAGMAs that return information about the schema, and those that return a number but could also
 * set it; the latter are allowed without an argument only. */
static const struct {
    const char *name;
    bool argument;
} pragmas[] = {
    {"table_info", true},       {"table_xinfo", true},     {"table_list", true},
    {"index_list", true},       {"index_info", true},      {"index_xinfo", true},
    {"foreign_key_list", true}, {"collation_list", false}, {"function_list", false},
    {"module_list", false},     {"pragma_list", false},    {"user_version", false},
    {"application_id", false},  {"encoding", false},       {"page_size", false},
    {"page_count", false},      {"freelist_count", false}, {"schema_version", false},
    {"data_version", false},
};

/* Rejected functions. Most are disabled already; rejecting them here gives a clear message
 * early. json_patch() takes time proportional to the product of its arguments' sizes and cannot
 * be interrupted. */
static const char *const functions[] = {"load_extension", "fts3_tokenizer", "readfile",
                                        "writefile",      "edit",           "sqlite_log",
                                        "json_patch"};

static bool pragma_allowed(const char *name, const char *argument)
{
    for (size_t i = 0; name && i < sizeof(pragmas) / sizeof(*pragmas); i++)
        if (sqlite3_stricmp(name, pragmas[i].name) == 0)
            return pragmas[i].argument || !argument;
    return false;
}

static bool function_allowed(const char *name)
{
    for (size_t i = 0; name && i < sizeof(functions) / sizeof(*functions); i++)
        if (sqlite3_stricmp(name, functions[i]) == 0)
            return false;
    return true;
}

/* Counts function calls. The limits are not checked between two jumps, however many functions are
 * called there. JSON functions count more, because they read their arguments several times. */
static bool count_call(sqlite_conn *c, const char *name)
{
    c->calls += sqlite3_strnicmp(name ? name : "", "json", 4) == 0 ? 10 : 1;
    return c->calls <= MOST_CALLS;
}

/* Rejects tables in which one step may read the whole file. */
static bool table_allowed(const char *name)
{
    return !name ||
           (sqlite3_stricmp(name, "dbstat") != 0 && sqlite3_stricmp(name, "sqlite_dbpage") != 0);
}

static int authorize(void *user, int action, const char *first, const char *second, const char *db,
                     const char *within)
{
    sqlite_conn *c = user;
    (void)db, (void)within;
    if (action == SQLITE_FUNCTION && !count_call(c, second))
        return SQLITE_DENY;
    if (!c->guarded)
        return SQLITE_OK;
    switch (action) {
    case SQLITE_SELECT:
    case SQLITE_RECURSIVE: return SQLITE_OK;
    case SQLITE_READ: return table_allowed(first) ? SQLITE_OK : SQLITE_DENY;
    case SQLITE_FUNCTION: return function_allowed(second) ? SQLITE_OK : SQLITE_DENY;
    case SQLITE_PRAGMA: return pragma_allowed(first, second) ? SQLITE_OK : SQLITE_DENY;
    default: return SQLITE_DENY;
    }
}

/* Prepares a statement about a table and discards it. A missing module is ignored. */
static int warm(sqlite_conn *c, const char *format, const char *name)
{
    sqlite3_stmt *stmt = NULL;
    char *sql = sqlite3_mprintf(format, name);
    int rc = sql ? sqlite3_prepare_v2(c->db, sql, -1, &stmt, NULL) : SQLITE_NOMEM;
    sqlite3_finalize(stmt);
    sqlite3_free(sql);
    return rc == SQLITE_NOMEM ? rc : SQLITE_OK;
}

/* Uses all virtual tables and table-valued functions once. On their first use they
 * prepare statements of their own, including ones that write, which the guard would
 * mistake for the client's. */
static int warm_virtual_tables(sqlite_conn *c)
{
    static const char *const functions_of_tables[] = {"json_each", "json_tree"};
    sqlite3_stmt *tables = NULL;
    int rc = SQLITE_OK;
    for (size_t i = 0; rc == SQLITE_OK && i < sizeof(pragmas) / sizeof(*pragmas); i++)
        rc = warm(c, "SELECT 1 FROM pragma_%s", pragmas[i].name);
    for (size_t i = 0; rc == SQLITE_OK && i < 2; i++)
        rc = warm(c, "SELECT 1 FROM %s", functions_of_tables[i]);
    if (rc == SQLITE_OK)
        rc = sqlite3_prepare_v2(
            c->db,
            "SELECT name FROM main.sqlite_schema WHERE type = 'table' AND rootpage "
            "= 0 LIMIT 100",
            -1, &tables, NULL);
    while (rc == SQLITE_OK && (rc = sqlite3_step(tables)) == SQLITE_ROW)
        rc = warm(c, "SELECT 1 FROM main.\"%w\"", (const char *)sqlite3_column_text(tables, 0));
    sqlite3_finalize(tables);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

int sqlite_guard_install(sqlite_conn *c)
{
    return sqlite3_set_authorizer(c->db, authorize, c);
}

/* Warms the virtual tables, again if the schema has changed. */
static int ensure_warm(sqlite_conn *c)
{
    sqlite3_stmt *stmt = NULL;
    sqlite3_int64 version = 0;
    int rc = sqlite3_prepare_v2(c->db, "PRAGMA schema_version", -1, &stmt, NULL);
    if (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW)
        version = sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    if (rc != SQLITE_ROW || (c->warm && c->warm_version == version))
        return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
    rc = warm_virtual_tables(c);
    c->warm = rc == SQLITE_OK;
    c->warm_version = version;
    return rc;
}

static bool is_blank(const char *s)
{
    return s[strspn(s, " \t\r\n\f;")] == 0;
}

/* Returns whether another statement follows, ignoring comments. */
static bool has_more(sqlite_conn *c, const char *tail)
{
    sqlite3_stmt *next = NULL;
    if (is_blank(tail))
        return false;
    int rc = sqlite3_prepare_v2(c->db, tail, -1, &next, NULL);
    sqlite3_finalize(next);
    return rc != SQLITE_OK || next;
}

int sqlite_guard_prepare(sqlite_conn *c, mcp_str sql, sqlite3_stmt **ret, char why[256])
{
    const char *tail = "";
    sqlite3_stmt *stmt = NULL;
    int rc = ensure_warm(c);
    if (rc != SQLITE_OK)
        return rc;
    c->guarded = true;
    c->calls = 0;
    rc = sqlite3_prepare_v2(c->db, sql.ptr, (int)sql.len + 1, &stmt, &tail);
    const char *reason = NULL;
    if (rc == SQLITE_OK && !stmt)
        reason = "there is no statement";
    else if (rc == SQLITE_OK && has_more(c, tail))
        reason = "only one statement is allowed";
    else if (rc == SQLITE_OK && !sqlite3_stmt_readonly(stmt))
        reason = "only read-only statements are allowed";
    else if (rc != SQLITE_OK && c->calls > MOST_CALLS)
        reason = "it calls functions in more than 1000 places (those of JSON in more than 100)";
    else if ((rc & 0xff) == SQLITE_AUTH)
        reason = "only SELECT, EXPLAIN and PRAGMAs about the schema are allowed";
    if (reason) {
        snprintf(why, 256, "%s", reason);
        rc = SQLITE_AUTH;
    }
    if (rc == SQLITE_OK)
        *ret = stmt;
    else
        sqlite3_finalize(stmt);
    return rc;
}
