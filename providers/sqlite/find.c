/* find.c: the columns of all tables with a name (common/naming.h), of tables that the caller may read. */
#include "provider.h"

#include "naming.h"
#include "search.h"

static void put_column(sqlite_job *j, mcp_str table, const char *uri, sqlite3_stmt *column)
{
    mcp_json_writer *w = j->json;
    mcp_json_begin_object(w);
    mcp_json_put_string(w, "uri", uri);
    mcp_json_key(w, "name"), sqlite_put_words(w, table);
    mcp_json_key(w, "column"), sqlite_put_words(w, sqlite_text(column, 0));
    if (sqlite_text(column, 1).len)
        mcp_json_key(w, "type"), sqlite_put_words(w, sqlite_text(column, 1));
    mcp_json_end(w);
}

static bool is_named(mcp_str column, mcp_str part)
{
    return common_named_is_pattern(part) ? common_named_fits(column, part)
                                         : search_contains(column, part);
}

/* Adds the columns of a table. Returns SQLite's code. */
static int find_in(sqlite_conn *c, sqlite_job *j, mcp_str table, mcp_str part)
{
    sqlite3_stmt *stmt = NULL;
    sqlite3_str *made = sqlite3_str_new(NULL);
    sqlite3_str_appendall(made, j->s->base.prefix);
    sqlite_uri_put_text(made, table);
    char *uri = sqlite3_str_finish(made);
    int rc = uri ? sqlite_prepare(c,
                                  "SELECT name, type FROM pragma_table_xinfo(?1, 'main') WHERE "
                                  "hidden <> 1",
                                  &stmt)
                 : SQLITE_NOMEM;
    if (rc == SQLITE_OK)
        rc = sqlite3_bind_text64(stmt, 1, table.ptr, table.len, SQLITE_STATIC, SQLITE_UTF8);
    while (rc == SQLITE_OK && !j->more && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        rc = SQLITE_OK;
        if (!is_named(sqlite_text(stmt, 0), part))
            continue;
        j->more = j->rows == COMMON_NAMED_MOST;
        if (!j->more)
            put_column(j, table, uri, stmt), j->rows++;
    }
    sqlite3_finalize(stmt);
    sqlite3_free(uri);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* A broken view, or a table of an extension that is not loaded, has no columns. */
static int find_in_listed(sqlite_conn *c, sqlite_job *j, sqlite3_stmt *row, mcp_str part)
{
    bool plain = sqlite_is_plain(sqlite_text(row, 2).ptr);
    int rc = plain ? SQLITE_OK : sqlite_not_here(c);
    if (rc == SQLITE_OK && sqlite_job_may(j, sqlite_text(row, 0)))
        rc = find_in(c, j, sqlite_text(row, 0), part);
    return !plain && (rc & 0xff) == SQLITE_ERROR ? SQLITE_OK : rc;
}

static int find_in_all(sqlite_conn *c, sqlite_job *j, mcp_str part)
{
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_exec(c->db, "BEGIN", NULL, NULL, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite_prepare_list(c, false, &stmt);
    if (rc == SQLITE_OK)
        rc = sqlite3_bind_text(stmt, 1, "", 0, SQLITE_STATIC);
    if (rc == SQLITE_OK)
        rc = sqlite3_bind_int64(stmt, 2, -1);
    mcp_json_begin_object(j->json);
    mcp_json_put_array(j->json, "named");
    while (rc == SQLITE_OK && !j->more && (rc = sqlite3_step(stmt)) == SQLITE_ROW)
        rc = find_in_listed(c, j, stmt, part);
    mcp_json_end(j->json);
    if (j->more)
        mcp_json_put_bool(j->json, "more", true);
    mcp_json_end(j->json);
    sqlite3_finalize(stmt);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

int sqlite_run_named(sqlite_conn *c, sqlite_job *j)
{
    static const char *const names[] = {"named", "format", NULL};
    mcp_str text = *sqlite_uri_param(&j->target, "named");
    char part[COMMON_NAMED_MAX];
    if (!sqlite_job_only(j, names) || !sqlite_job_format(j))
        return SQLITE_OK;
    if (!text.len || text.len > sizeof(part))
        return sqlite_job_fail(j, MCP_CODE_INVALID_PARAMS, "%s", COMMON_NAMED_WRONG);
    for (size_t i = 0; i < text.len; i++)
        part[i] =
            text.ptr[i] >= 'A' && text.ptr[i] <= 'Z' ? (char)(text.ptr[i] | 0x20) : text.ptr[i];
    j->as_text = false;
    return find_in_all(c, j, (mcp_str){part, text.len});
}
