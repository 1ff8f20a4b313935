/* explain.c: the plan of a query instead of its rows, and a sentence that says which tables are read
 * without an index. The query is not run. SQLite's plans have no costs.
 */
#include "provider.h"

#include <stdio.h>

enum { DEEPEST = 40, NAMED = 3 };

typedef struct plan {
    sqlite3_int64 id[DEEPEST]; /* of the lines above the current one */
    unsigned depth;
    size_t size;
    sqlite3_str *scanned; /* the tables that are read without an index */
    unsigned scans;
    bool sorts;
} plan;

/* Notes "SCAN sale" (before 3.36 "SCAN TABLE sale"), but no scans of an index or of a constant row. */
static void look_at(plan *p, const char *detail)
{
    static const char scan[] = "SCAN ", table[] = "TABLE ";
    p->sorts = p->sorts || strstr(detail, "USE TEMP B-TREE FOR ORDER BY");
    if (strncmp(detail, scan, sizeof(scan) - 1) != 0 || strstr(detail, "USING") ||
        strstr(detail, "VIRTUAL TABLE") || strstr(detail, "CONSTANT ROW") || detail[5] == '(')
        return;
    detail += sizeof(scan) - 1;
    if (strncmp(detail, table, sizeof(table) - 1) == 0)
        detail += sizeof(table) - 1;
    if (p->scans++ < NAMED)
        sqlite3_str_appendf(p->scanned, "%s%s", p->scans > 1 ? ", " : "", detail);
}

static void put_line(sqlite_job *j, plan *p, sqlite3_stmt *stmt)
{
    char line[600];
    const char *detail = (const char *)sqlite3_column_text(stmt, 3);
    sqlite3_int64 parent = sqlite3_column_int64(stmt, 1);
    while (p->depth && p->id[p->depth - 1] != parent)
        p->depth--;
    sqlite3_snprintf(sizeof(line), line, "%*s%s", 2 * (int)p->depth, "", detail ? detail : "");
    sqlite_make_words(line, strlen(line));
    if (p->depth < DEEPEST)
        p->id[p->depth++] = sqlite3_column_int64(stmt, 0);
    look_at(p, detail ? detail : "");
    size_t size = common_query_tool_size(mcp_str_from(line), sizeof(line)) + 2;
    j->more = j->more || (j->rows && p->size + size > j->most);
    if (j->more)
        return;
    mcp_json_begin_array(j->json);
    mcp_json_add_string(j->json, line);
    mcp_json_end(j->json);
    p->size += size;
    j->rows++;
}

static void put_sentence(sqlite_job *j, const plan *p)
{
    const char *names = sqlite3_str_value(p->scanned);
    if (p->scans)
        snprintf(j->message, sizeof(j->message),
                 "It goes through the rows of %.200s%s one by one: no index is used for %s.%s",
                 names ? names : "?", p->scans > NAMED ? " and others" : "",
                 p->scans > 1 ? "these" : "it", p->sorts ? " It sorts the result." : "");
    else
        snprintf(j->message, sizeof(j->message), "Each table is read by a key or an index.%s",
                 p->sorts ? " It sorts the result." : "");
    sqlite_make_words(j->message, strlen(j->message));
    if (j->more)
        strncat(j->message, " The plan has more lines than fit.",
                sizeof(j->message) - strlen(j->message) - 1);
}

static int put_plan(sqlite_job *j, sqlite3_stmt *stmt)
{
    int rc;
    plan p = {.scanned = sqlite3_str_new(NULL)};
    j->found = j->explained = true;
    mcp_json_begin_object(j->json);
    mcp_json_put_array(j->json, "columns");
    mcp_json_add_string(j->json, "plan");
    mcp_json_end(j->json);
    mcp_json_put_array(j->json, "rows");
    while ((rc = sqlite3_step(stmt)) == SQLITE_ROW)
        put_line(j, &p, stmt);
    mcp_json_end(j->json);
    put_sentence(j, &p);
    sqlite3_free(sqlite3_str_finish(p.scanned));
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* The statement is prepared by itself first, so that its errors are those of the tool. */
int sqlite_run_explain(sqlite_conn *c, sqlite_job *j)
{
    static const char explain[] = "EXPLAIN QUERY PLAN ";
    sqlite3_stmt *stmt = NULL;
    if (j->asking.needed)
        return sqlite_job_fail(j, MCP_CODE_INVALID_PARAMS,
                               "Plans are not shown under access rules: run the query without "
                               "explain");
    int rc = sqlite_prepare_query(c, j, j->sql, &stmt);
    bool ok = rc == SQLITE_OK && stmt, plain = ok && !sqlite3_stmt_isexplain(stmt);
    sqlite3_finalize(stmt);
    if (!ok)
        return rc;
    if (!plain)
        return sqlite_job_fail(j, MCP_CODE_INVALID_PARAMS,
                               "This is not explained: it is EXPLAIN already");
    size_t len = sizeof(explain) - 1 + j->sql.len;
    char *sql = sqlite3_mprintf("%s%s", explain, j->sql.ptr);
    if (!sql)
        return SQLITE_NOMEM;
    stmt = NULL;
    rc = sqlite_prepare_query(c, j, (mcp_str){sql, len}, &stmt);
    if (rc == SQLITE_OK && stmt)
        rc = put_plan(j, stmt);
    sqlite3_finalize(stmt);
    sqlite3_free(sql);
    return rc;
}
