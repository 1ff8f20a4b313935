/* meant.c: the error of a caller's own statement: SQLite's message, where in the statement it is, and
 * which names were perhaps meant. The names are those that the caller's list has.
 */
#include "provider.h"

#include <stdio.h>
#include <string.h>

/* ---- places and names ------------------------------------------------------------------------ */

/* Writes the place of the error in the statement, or "" if SQLite does not know it. */
static void put_place(char to[40], sqlite3 *db, mcp_str sql)
{
    unsigned line = 1, column = 1;
    int offset = -1;
#if SQLITE_VERSION_NUMBER >= 3038000
    offset = sqlite3_error_offset(db);
#else
    (void)db;
#endif
    *to = 0;
    if (offset < 0 || (size_t)offset > sql.len)
        return;
    for (const char *p = sql.ptr; p < sql.ptr + offset; p++) {
        column = *p == '\n' ? 1 : column + (((unsigned char)*p & 0xc0) != 0x80);
        line += *p == '\n';
    }
    snprintf(to, 40, " (line %u, column %u)", line, column);
}

/* Returns the unknown name in a message of SQLite, without what precedes a dot, or an empty string. */
static mcp_str unknown_in(const char *message, const char *what)
{
    size_t len = strlen(what);
    if (strncmp(message, what, len) != 0)
        return (mcp_str){"", 0};
    const char *name = message + len, *dot = strrchr(name, '.');
    name = dot ? dot + 1 : name;
    name += *name == '"';
    return (mcp_str){name, strcspn(name, "\"")};
}

/* Returns whether the statement contains the name, in any case. */
static bool mentions(mcp_str sql, mcp_str name)
{
    for (size_t i = 0; i + name.len <= sql.len; i++)
        if (sqlite3_strnicmp(sql.ptr + i, name.ptr, (int)name.len) == 0)
            return true;
    return false;
}

/* ---- candidates ------------------------------------------------------------------------------ */

static void try_name(common_near *near, mcp_str table, mcp_str name)
{
    char *text =
        table.len ? sqlite3_mprintf("%.*s.%.*s", (int)table.len, table.ptr, (int)name.len, name.ptr)
                  : sqlite3_mprintf("%.*s", (int)name.len, name.ptr);
    if (text)
        common_near_try(near, name, mcp_str_from(text));
    sqlite3_free(text);
}

/* The columns of a view that is broken are nothing to propose. */
static void try_columns(sqlite_conn *c, common_near *near, mcp_str table)
{
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite_prepare(c, "SELECT name FROM pragma_table_xinfo(?1, 'main') WHERE hidden <> 1",
                            &stmt);
    if (rc == SQLITE_OK)
        rc = sqlite3_bind_text64(stmt, 1, table.ptr, table.len, SQLITE_STATIC, SQLITE_UTF8);
    while (rc == SQLITE_OK && sqlite3_step(stmt) == SQLITE_ROW)
        try_name(near, table, sqlite_text(stmt, 0));
    sqlite3_finalize(stmt);
}

/* Goes through the tables and views of the list that the caller may read: their names or, with
 * `columns`, those of the columns of each that the statement mentions. */
static int try_all(sqlite_conn *c, sqlite_job *j, mcp_str sql, bool columns, common_near *near)
{
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite_prepare_list(c, false, &stmt);
    if (rc == SQLITE_OK)
        rc = sqlite3_bind_text(stmt, 1, "", 0, SQLITE_STATIC);
    if (rc == SQLITE_OK)
        rc = sqlite3_bind_int64(stmt, 2, -1);
    while (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        mcp_str name = sqlite_text(stmt, 0);
        rc = SQLITE_OK;
        if ((columns && !mentions(sql, name)) || !sqlite_job_may(j, name))
            continue;
        if (columns)
            try_columns(c, near, name);
        else
            try_name(near, (mcp_str){"", 0}, name);
    }
    sqlite3_finalize(stmt);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* ---- the error ------------------------------------------------------------------------------- */

int sqlite_fail_statement(sqlite_conn *c, sqlite_job *j, mcp_str sql)
{
    char message[300], place[40], words[COMMON_NEAR_WORDS];
    common_near near = {.n = 0};
    snprintf(message, sizeof(message), "%s", sqlite3_errmsg(c->db));
    put_place(place, c->db, sql);
    c->guarded = false; /* the next statements are this provider's */
    near.name = unknown_in(message, "no such table: ");
    bool columns = !near.name.len;
    if (columns)
        near.name = unknown_in(message, "no such column: ");
    int rc = near.name.len ? try_all(c, j, sql, columns, &near) : SQLITE_OK;
    if (rc != SQLITE_OK)
        return rc;
    return sqlite_job_fail(j, MCP_CODE_INVALID_PARAMS, "%s%s%s%s", message, place,
                           near.n ? "." : "", common_near_words(&near, words));
}
