/* query.c: statements from clients: queries of the tool, and saved queries.
 *
 * They run only on workers, one at a time on a connection, under the guard (guard.h) and the limits
 * of a use (conn.h). A result that reaches the limits of rows or bytes is marked as truncated.
 */
#include "provider.h"

#include <stdio.h>

#include "guard.h"
#include "text.h"

enum {
    LONGEST_SQL = 64 << 10,
    LONGEST_BLOB = 4 << 10, /* bytes of the largest BLOB that is returned, in Base64 */
    LONGEST_TEXT = 64 << 10,
};

int sqlite_prepare_query(sqlite_conn *c, sqlite_job *j, mcp_str sql, sqlite3_stmt **ret)
{
    char why[256];
    if (sql.len > LONGEST_SQL || memchr(sql.ptr, 0, sql.len))
        return sqlite_job_fail(j, MCP_CODE_INVALID_PARAMS,
                               "The statement is longer than %d bytes, or contains NUL",
                               LONGEST_SQL);
    /* A call of printf() or replace() is one step, which cannot be interrupted, so its result must
     * be small. */
    sqlite3_limit(c->db, SQLITE_LIMIT_LENGTH, (int)j->s->max_bytes);
    int rc = sqlite_guard_prepare(c, sql, ret, why);
    if ((rc & 0xff) != SQLITE_AUTH && (rc & 0xff) != SQLITE_ERROR)
        return rc;
    if (j->saved)
        return sqlite_job_fail(j, MCP_CODE_INTERNAL, COMMON_QUERY_BROKEN, j->saved->name,
                               j->asking.needed             ? "SQLite refuses it"
                               : (rc & 0xff) == SQLITE_AUTH ? why
                                                            : sqlite3_errmsg(c->db));
    if ((rc & 0xff) == SQLITE_AUTH)
        return sqlite_job_fail(j, MCP_CODE_INVALID_PARAMS, "This is not run: %s", why);
    return sqlite_fail_statement(c, j, sql);
}

/* ---- results --------------------------------------------------------------------------------- */

/* Writes the beginning of a long text, and its full length. */
static void put_cut_text(mcp_json_writer *w, mcp_str text, size_t longest)
{
    size_t len = text.len < longest ? text.len : longest;
    while (len && len < text.len && ((unsigned char)text.ptr[len] & 0xc0) == 0x80)
        len--;
    mcp_json_begin_object(w);
    mcp_json_put_string(w, "type", "text");
    mcp_json_put_uint(w, "size", text.len);
    if (common_text_utf8((mcp_str){text.ptr, len}))
        mcp_json_put_str(w, "beginning", (mcp_str){text.ptr, len});
    mcp_json_end(w);
}

/* Returns how many bytes of a BLOB are returned: all or none. */
static size_t blob_shown(sqlite3_stmt *stmt, int i, size_t longest)
{
    size_t len = (size_t)sqlite3_column_bytes(stmt, i);
    return len <= LONGEST_BLOB && len <= longest ? len : 0;
}

static void put_blob(mcp_json_writer *w, sqlite3_stmt *stmt, int i, size_t longest)
{
    size_t len = (size_t)sqlite3_column_bytes(stmt, i);
    mcp_json_begin_object(w);
    mcp_json_put_string(w, "type", "blob");
    mcp_json_put_uint(w, "size", len);
    if (blob_shown(stmt, i, longest) == len)
        mcp_json_put_base64(w, "base64", sqlite3_column_blob(stmt, i), len);
    mcp_json_end(w);
}

static void put_value(mcp_json_writer *w, sqlite3_stmt *stmt, int i, size_t longest)
{
    size_t ignored = 0;
    if (sqlite_put_plain(w, stmt, i, longest, &ignored))
        return;
    size_t len = (size_t)sqlite3_column_bytes(stmt, i);
    if (sqlite3_column_type(stmt, i) == SQLITE_TEXT && len > longest)
        put_cut_text(w, sqlite_text(stmt, i), longest);
    else
        put_blob(w, stmt, i, longest);
}

static void put_names(mcp_json_writer *w, sqlite3_stmt *stmt)
{
    mcp_json_key(w, "columns");
    mcp_json_begin_array(w);
    for (int i = 0; i < sqlite3_column_count(stmt); i++) {
        mcp_str name = mcp_str_from(sqlite3_column_name(stmt, i));
        mcp_json_add_str(w, common_text_utf8(name) ? name : MCP_STR("?"));
    }
    mcp_json_end(w);
}

static void put_values(mcp_json_writer *w, sqlite3_stmt *stmt, size_t longest)
{
    mcp_json_begin_array(w);
    for (int i = 0; i < sqlite3_column_count(stmt); i++)
        put_value(w, stmt, i, longest);
    mcp_json_end(w);
}

/* Returns about how many bytes a row has when it is written. */
static size_t size_of(sqlite3_stmt *stmt, size_t longest)
{
    enum { NUMBER = 20, BASE64 = 2 /* of a byte */ };
    size_t size = 0;
    for (int i = 0; i < sqlite3_column_count(stmt); i++) {
        int type = sqlite3_column_type(stmt, i);
        if (type == SQLITE_TEXT)
            size += common_query_tool_size(sqlite_text(stmt, i), longest);
        else
            size += NUMBER + (type == SQLITE_BLOB ? BASE64 * blob_shown(stmt, i, longest) : 0);
    }
    return size;
}

/* Handles the end of a result. An error while the statement runs (a bad JSON path, an overflow) is
 * also an error of the statement. */
static int end_result(sqlite_conn *c, sqlite_job *j, int rc)
{
    if (rc == SQLITE_DONE || rc == SQLITE_ROW)
        return SQLITE_OK;
    if ((rc & 0xff) == SQLITE_ERROR || (rc & 0xff) == SQLITE_MISMATCH)
        return sqlite_job_fail(j, MCP_CODE_INVALID_PARAMS, "%.380s", sqlite3_errmsg(c->db));
    if ((rc & 0xff) == SQLITE_TOOBIG)
        return sqlite_job_fail(
            j, MCP_CODE_INTERNAL,
            "A value is larger than %zu bytes, which is too large for a query; read a "
            "large cell by its own URI",
            j->s->max_bytes);
    return rc;
}

/* Returns SQLITE_ROW if there may be more rows, otherwise SQLite's code. */
static int skip_rows(sqlite3_stmt *stmt, size_t n)
{
    int rc = SQLITE_ROW;
    while (n-- && rc == SQLITE_ROW)
        rc = sqlite3_step(stmt);
    return rc;
}

/* Writes the result of any statement whose parameters are bound. Returns SQLite's code. */
static int put_result(sqlite_conn *c, sqlite_job *j, sqlite3_stmt *stmt)
{
    mcp_json_writer *w = j->json;
    size_t size = 0, n = (size_t)sqlite3_column_count(stmt);
    size_t longest =
        j->as_tool ? common_query_tool_value(j->most, n, LONGEST_TEXT) : (size_t)LONGEST_TEXT;
    int rc = skip_rows(stmt, j->skip);
    j->found = true;
    mcp_json_begin_object(w);
    put_names(w, stmt);
    mcp_json_key(w, "rows");
    mcp_json_begin_array(w);
    while (rc == SQLITE_ROW && (rc = sqlite3_step(stmt)) == SQLITE_ROW && j->rows < j->limit) {
        size += size_of(stmt, longest);
        if (j->rows && size > j->most)
            break;
        put_values(w, stmt, longest);
        j->rows++;
    }
    mcp_json_end(w);
    j->more = rc == SQLITE_ROW;
    if (!j->as_tool) { /* otherwise common_query_tool_reply() does this */
        mcp_json_put_bool(w, "truncated", j->more);
        mcp_json_end(w);
    }
    return end_result(c, j, rc);
}

/* ---- tool ------------------------------------------------------------------------------------ */

static int bind_json(sqlite3_stmt *stmt, int at, const mcp_json *value)
{
    mcp_str text = mcp_json_string(value);
    switch (mcp_json_typeof(value)) {
    case MCP_JSON_NULL: return sqlite3_bind_null(stmt, at);
    case MCP_JSON_BOOL: return sqlite3_bind_int(stmt, at, mcp_json_bool(value, false));
    case MCP_JSON_INT:
        if (mcp_json_int(value, 0) == mcp_json_int(value, 1))
            return sqlite3_bind_int64(stmt, at, mcp_json_int(value, 0));
        return sqlite3_bind_double(stmt, at, mcp_json_number(value, 0)); /* beyond 63 bits */
    case MCP_JSON_REAL: return sqlite3_bind_double(stmt, at, mcp_json_number(value, 0));
    case MCP_JSON_STRING:
        return sqlite3_bind_text64(stmt, at, text.ptr, text.len, SQLITE_STATIC, SQLITE_UTF8);
    default: return SQLITE_MISMATCH;
    }
}

/* Returns the value for a parameter: by position in an array, or by name (without ":", "@" or "$")
 * in an object. */
static const mcp_json *argument_for(const mcp_json *arguments, sqlite3_stmt *stmt, int at)
{
    const char *name = sqlite3_bind_parameter_name(stmt, at);
    if (mcp_json_is(arguments, MCP_JSON_ARRAY))
        return mcp_json_at(arguments, (size_t)at - 1);
    return name ? mcp_json_get(arguments, name + 1) : NULL;
}

static int bind_arguments(sqlite_job *j, sqlite3_stmt *stmt, bool *ok)
{
    int rc = SQLITE_OK;
    *ok = true;
    for (int i = 1; rc == SQLITE_OK && i <= sqlite3_bind_parameter_count(stmt); i++) {
        const char *name = sqlite3_bind_parameter_name(stmt, i);
        const mcp_json *value = argument_for(j->arguments, stmt, i);
        rc = value ? bind_json(stmt, i, value) : SQLITE_MISMATCH;
        if (rc == SQLITE_MISMATCH) {
            *ok = false;
            return sqlite_job_fail(
                j, MCP_CODE_INVALID_PARAMS,
                "Parameter %d (%.100s) must be a string, a number, true, false or null", i,
                name ? name : "?");
        }
    }
    return rc;
}

int sqlite_run_sql(sqlite_conn *c, sqlite_job *j)
{
    bool ok = false;
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite_prepare_query(c, j, j->sql, &stmt);
    if (rc == SQLITE_OK && stmt)
        rc = bind_arguments(j, stmt, &ok);
    if (rc == SQLITE_OK && stmt && ok)
        rc = put_result(c, j, stmt);
    sqlite3_finalize(stmt);
    return rc;
}

/* ---- saved queries --------------------------------------------------------------------------- */

/* Binds the text as a value of the parameter's type. If it is invalid, makes the job fail
 * and returns false. */
static bool bind_typed(sqlite_job *j, sqlite3_stmt *stmt, int at, const common_parameter *p,
                       mcp_str text, int *rc)
{
    bool is_int, number;
    sqlite3_int64 i;
    double d;
    if (p->type == COMMON_PARAMETER_TEXT) {
        *rc = sqlite3_bind_text64(stmt, at, text.ptr, text.len, SQLITE_STATIC, SQLITE_UTF8);
        return true;
    }
    number = sqlite_number(text, &is_int, &i, &d);
    if (!number || (p->type == COMMON_PARAMETER_INTEGER && !is_int)) {
        sqlite_job_fail(j, MCP_CODE_INVALID_PARAMS, "%.100s must be %s", p->name,
                        p->type == COMMON_PARAMETER_INTEGER ? "an integer" : "a number");
        return false;
    }
    *rc = is_int ? sqlite3_bind_int64(stmt, at, i) : sqlite3_bind_double(stmt, at, d);
    return true;
}

static bool bind_saved(sqlite_job *j, sqlite3_stmt *stmt, const common_parameter *p, int *rc)
{
    char name[80];
    const mcp_str *given = sqlite_uri_param(&j->target, p->name);
    snprintf(name, sizeof(name), ":%s", p->name);
    int at = sqlite3_bind_parameter_index(stmt, name);
    mcp_str text = given ? *given : mcp_str_from(p->value);
    if (!given && !p->value) {
        *rc = sqlite3_bind_null(stmt, at);
        return true;
    }
    return bind_typed(j, stmt, at, p, text, rc);
}

int sqlite_run_saved(sqlite_conn *c, sqlite_job *j)
{
    sqlite3_stmt *stmt = NULL;
    char why[300];
    j->saved = common_queries_find(&j->s->base.queries, j->target.table);
    if (!j->saved)
        return SQLITE_OK;
    if (!common_query_takes(j->saved, j->target.param, j->target.n_param, &j->as_text, why))
        return sqlite_job_fail(j, MCP_CODE_INVALID_PARAMS, "%s", why);
    int rc = sqlite_prepare_query(c, j, mcp_str_from(j->saved->sql), &stmt);
    bool ok = stmt != NULL;
    for (size_t i = 0; ok && rc == SQLITE_OK && i < j->saved->n_parameter; i++)
        ok = bind_saved(j, stmt, &j->saved->parameter[i], &rc);
    if (ok && rc == SQLITE_OK)
        rc = put_result(c, j, stmt);
    sqlite3_finalize(stmt);
    return rc;
}
