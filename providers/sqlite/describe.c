/* describe.c: describes the database and its tables as JSON and as text.
 *
 * The text is the DDL as stored in the database, which models read best. The JSON has the
 * information that they would have to derive from the DDL, and the URIs for further reads.
 */
#include "named.h"

#include <stdio.h>

/* Reads ?format=, which is text or json (the default). If it is invalid, makes the job fail
 * and returns false. */
static bool wants_text(sqlite_job *j, bool *ret)
{
    const mcp_str *format = sqlite_uri_param(&j->target, "format");
    *ret = format && mcp_str_eq(*format, MCP_STR("text"));
    if (j->target.n_param == (format != NULL) &&
        (!format || *ret || mcp_str_eq(*format, MCP_STR("json"))))
        return true;
    sqlite_job_fail(j, MCP_CODE_INVALID_PARAMS,
                    "format must be json or text; no other parameter is supported here");
    return false;
}

/* ---- text ------------------------------------------------------------------------------------ */

/* Writes a statement. If it mentions a hidden table, only the name of the table or view that it
 * creates is written, if any. */
static void put_statement(sqlite3_str *out, sqlite_job *j, const sqlite_names *names,
                          sqlite3_stmt *stmt)
{
    const char *between = sqlite3_str_length(out) ? "\n" : "";
    mcp_str table = sqlite_text(stmt, 1);
    if (!sqlite_names_hidden(names, j, sqlite_text(stmt, 0), table))
        sqlite3_str_appendf(out, "%s%s;\n", between, sqlite3_column_text(stmt, 0));
    else if (sqlite3_column_int(stmt, 3))
        sqlite3_str_appendf(out, "%s-- %s \"%w\"\n", between, sqlite_text(stmt, 2).ptr, table.ptr);
}

/* Writes all statements, each followed by ";" and separated by empty lines. A row has the
 * statement, the table that it belongs to, the type of what it creates, and whether that is
 * the table itself. */
static int put_all(sqlite_job *j, const sqlite_names *names, sqlite3_stmt *stmt)
{
    int rc;
    size_t size = 0;
    sqlite3_str *out = sqlite3_str_new(sqlite3_db_handle(stmt));
    while ((rc = sqlite3_step(stmt)) == SQLITE_ROW && size <= j->s->max_read) {
        j->found = true;
        if (j->target.table.len || sqlite_job_may(j, sqlite_text(stmt, 1)))
            put_statement(out, j, names, stmt);
        size = (size_t)sqlite3_str_length(out);
    }
    j->is_text = true;
    j->mime = "text/plain";
    j->len = size;
    int failed = sqlite3_str_errcode(out);
    j->bytes = sqlite3_str_finish(out);
    if (j->bytes)
        sqlite_make_words(j->bytes, size);
    if (rc == SQLITE_ROW) {
        j->too_large = true;
        return SQLITE_OK;
    }
    if (!j->bytes && !failed) /* there are no statements */
        failed = (j->bytes = sqlite3_mprintf("")) ? SQLITE_OK : SQLITE_NOMEM;
    return failed ? failed : rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int put_statements(sqlite_conn *c, sqlite_job *j, sqlite3_stmt *stmt)
{
    sqlite_names names;
    int rc = sqlite_names_load(&names, c, j);
    if (rc == SQLITE_OK)
        rc = put_all(j, &names, stmt);
    sqlite_names_free(&names);
    return rc;
}

static int run_text(sqlite_conn *c, sqlite_job *j, const char *sql)
{
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite_prepare(c, sql, &stmt);
    if (rc == SQLITE_OK && sqlite3_bind_parameter_count(stmt))
        rc = sqlite3_bind_text64(stmt, 1, j->target.table.ptr, j->target.table.len, SQLITE_STATIC,
                                 SQLITE_UTF8);
    if (rc == SQLITE_OK)
        rc = put_statements(c, j, stmt);
    sqlite3_finalize(stmt);
    return rc;
}

/* ---- tables ---------------------------------------------------------------------------------- */

static void put_text(mcp_json_writer *w, const char *key, const char *value)
{
    if (value)
        mcp_json_key(w, key), sqlite_put_words(w, mcp_str_from(value));
}

static void put_true(mcp_json_writer *w, const char *key, bool value)
{
    if (value)
        mcp_json_put_bool(w, key, true);
}

static void put_column(mcp_json_writer *w, const sqlite_column *c)
{
    mcp_json_begin_object(w);
    put_text(w, "name", c->name);
    put_text(w, "type", c->type && *c->type ? c->type : NULL);
    if (c->key)
        mcp_json_put_int(w, "primaryKey", c->key);
    put_true(w, "notNull", c->not_null);
    put_text(w, "default", c->value);
    put_text(w, "generated", c->hidden == 2 ? "virtual" : c->hidden == 3 ? "stored" : NULL);
    put_true(w, "hidden", c->hidden == 1);
    mcp_json_end(w);
}

/* Runs `sql` with the name as its parameter and calls `put` for each row. */
static int each(sqlite_conn *c, mcp_json_writer *w, const char *sql, const char *name,
                int (*put)(sqlite_conn *c, mcp_json_writer *w, sqlite3_stmt *row))
{
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite_prepare(c, sql, &stmt);
    if (rc == SQLITE_OK)
        rc = sqlite3_bind_text(stmt, 1, name, -1, SQLITE_STATIC);
    mcp_json_begin_array(w);
    while (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW)
        rc = put(c, w, stmt);
    mcp_json_end(w);
    sqlite3_finalize(stmt);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int put_index_column(sqlite_conn *c, mcp_json_writer *w, sqlite3_stmt *row)
{
    (void)c;
    if (sqlite3_column_type(row, 0) == SQLITE_NULL)
        mcp_json_add_null(w); /* an index on an expression */
    else
        sqlite_put_words(w, sqlite_text(row, 0));
    return SQLITE_OK;
}

static int put_index(sqlite_conn *c, mcp_json_writer *w, sqlite3_stmt *row)
{
    mcp_json_begin_object(w);
    mcp_json_key(w, "name"), sqlite_put_words(w, sqlite_text(row, 0));
    put_true(w, "unique", sqlite3_column_int(row, 1) != 0);
    put_true(w, "primaryKey", *sqlite_text(row, 2).ptr == 'p');
    put_true(w, "partial", sqlite3_column_int(row, 3) != 0);
    mcp_json_key(w, "columns");
    int rc = each(c, w, "SELECT name FROM pragma_index_info(?1, 'main')", sqlite_text(row, 0).ptr,
                  put_index_column);
    mcp_json_end(w);
    return rc;
}

/* Writes the columns of a foreign key, which are separated by a unit separator in `list`. */
static void put_list(mcp_json_writer *w, const char *key, mcp_str list)
{
    mcp_json_key(w, key);
    mcp_json_begin_array(w);
    for (size_t from = 0, i = 0; list.len && i <= list.len; i++) {
        if (i < list.len && list.ptr[i] != '\x1f')
            continue;
        sqlite_put_words(w, (mcp_str){list.ptr + from, i - from});
        from = i + 1;
    }
    mcp_json_end(w);
}

static void put_foreign_key(mcp_json_writer *w, sqlite3_stmt *row)
{
    mcp_json_begin_object(w);
    put_list(w, "columns", sqlite_text(row, 0));
    mcp_json_key(w, "references");
    mcp_json_begin_object(w);
    mcp_json_key(w, "table"), sqlite_put_words(w, sqlite_text(row, 1));
    if (sqlite3_column_type(row, 2) != SQLITE_NULL) /* NULL means the primary key */
        put_list(w, "columns", sqlite_text(row, 2));
    mcp_json_end(w);
    mcp_json_key(w, "onUpdate"), sqlite_put_words(w, sqlite_text(row, 3));
    mcp_json_key(w, "onDelete"), sqlite_put_words(w, sqlite_text(row, 4));
    mcp_json_end(w);
}

static int put_uri(const sqlite_conn *c, const sqlite_job *j, const char *key, const char *format,
                   const char *rest)
{
    sqlite3_str *uri = sqlite3_str_new(c->db);
    sqlite3_str_appendall(uri, j->s->base.prefix);
    sqlite_uri_put_text(uri, j->target.table);
    sqlite3_str_appendf(uri, format, rest);
    char *text = sqlite3_str_finish(uri);
    if (!text)
        return SQLITE_NOMEM;
    put_text(j->json, key, text);
    sqlite3_free(text);
    return SQLITE_OK;
}

/* Adds URIs and templates for further reads. Names of template variables consist of letters, digits
 * and "_", so columns are not variables. */
static int put_resources(const sqlite_conn *c, const sqlite_job *j, const sqlite_table *t)
{
    mcp_json_writer *w = j->json;
    mcp_json_key(w, "resources");
    mcp_json_begin_object(w);
    int rc = put_uri(c, j, "text", "%s", "?format=text");
    if (rc == SQLITE_OK)
        rc = put_uri(c, j, "rows", "%s", "/rows{?contains,icontains,limit,offset,format}");
    if (rc == SQLITE_OK)
        rc = put_uri(c, j, "rowsWhere", "%s", "/rows?COLUMN=VALUE");
    if (rc == SQLITE_OK && sqlite_table_has_key(t))
        rc = put_uri(c, j, "row", "/row%s", "{/key*}{?format}");
    if (rc == SQLITE_OK && sqlite_table_has_key(t))
        rc = put_uri(c, j, "cell", "/cell%s", "/{column}{/key*}{?offset,length}");
    mcp_json_end(w);
    return rc;
}

static void put_key(mcp_json_writer *w, const sqlite_table *t)
{
    if (!sqlite_table_has_key(t))
        return;
    mcp_json_key(w, "key");
    mcp_json_begin_array(w);
    for (size_t i = 0; i < sqlite_table_key_count(t); i++) {
        const sqlite_column *c = sqlite_table_key(t, i);
        sqlite_put_words(w, mcp_str_from(c ? c->name : t->rowid));
    }
    mcp_json_end(w);
}

static const char index_sql[] =
    "SELECT name, \"unique\", origin, partial FROM pragma_index_list(?1, 'main') ORDER BY seq";
static const char foreign_key_sql[] = "SELECT group_concat(\"from\", char(31)), \"table\", "
                                      "group_concat(\"to\", char(31)), on_update, "
                                      "on_delete FROM (SELECT * FROM pragma_foreign_key_list(?1, "
                                      "'main') ORDER BY id, seq) GROUP BY id";

/* Writes the foreign keys, except those that refer to a hidden table. */
static int put_foreign_keys(sqlite_conn *c, sqlite_job *j, const sqlite_table *t,
                            const sqlite_names *names)
{
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite_prepare(c, foreign_key_sql, &stmt);
    if (rc == SQLITE_OK)
        rc = sqlite3_bind_text(stmt, 1, t->name, -1, SQLITE_STATIC);
    mcp_json_begin_array(j->json);
    while (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        rc = SQLITE_OK;
        if (sqlite_names_may(names, j, sqlite_text(stmt, 1)))
            put_foreign_key(j->json, stmt);
    }
    mcp_json_end(j->json);
    sqlite3_finalize(stmt);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int put_table(sqlite_conn *c, sqlite_job *j, const sqlite_table *t,
                     const sqlite_names *names)
{
    mcp_json_writer *w = j->json;
    mcp_json_begin_object(w);
    put_text(w, "database", j->s->base.name);
    put_text(w, "name", t->name);
    put_text(w, "type", sqlite_table_kind_name(t));
    mcp_json_key(w, "columns");
    mcp_json_begin_array(w);
    for (size_t i = 0; i < t->n_column; i++)
        put_column(w, &t->column[i]);
    mcp_json_end(w);
    put_key(w, t);
    mcp_json_key(w, "indexes");
    int rc = each(c, w, index_sql, t->name, put_index);
    mcp_json_key(w, "foreignKeys");
    if (rc == SQLITE_OK)
        rc = put_foreign_keys(c, j, t, names);
    mcp_str sql = mcp_str_from(t->sql ? t->sql : "");
    if (!sqlite_names_hidden(names, j, sql, mcp_str_from(t->name)))
        put_text(w, "sql", t->sql);
    if (rc == SQLITE_OK)
        rc = put_resources(c, j, t);
    if (rc == SQLITE_OK)
        rc = sqlite_put_sample(c, j, t);
    mcp_json_end(w);
    return rc;
}

static int run_table_json(sqlite_conn *c, sqlite_job *j)
{
    sqlite_table *t = NULL;
    sqlite_names names = {0};
    int rc = sqlite3_exec(c->db, "BEGIN", NULL, NULL, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite_table_load(c, j->target.table, &j->s->base.alloc, &t);
    if (rc == SQLITE_OK && t) {
        j->found = true;
        rc = sqlite_names_load(&names, c, j);
    }
    if (rc == SQLITE_OK && t)
        rc = put_table(c, j, t, &names);
    if (t)
        sqlite_names_free(&names);
    sqlite_table_free(t);
    return rc;
}

int sqlite_run_table(sqlite_conn *c, sqlite_job *j)
{
    bool text;
    if (!wants_text(j, &text))
        return SQLITE_OK;
    if (!text)
        return run_table_json(c, j);
    return run_text(
        c, j,
        "SELECT sql, tbl_name, type, name = tbl_name FROM main.sqlite_schema WHERE tbl_name = ?1 "
        "AND sql IS NOT NULL AND substr(tbl_name, 1, 7) <> 'sqlite_' ORDER BY name <> tbl_name, "
        "type, name");
}

/* ---- database -------------------------------------------------------------------------------- */

static int put_short_column(sqlite_conn *c, mcp_json_writer *w, sqlite3_stmt *row)
{
    (void)c;
    mcp_json_begin_object(w);
    mcp_json_key(w, "name"), sqlite_put_words(w, sqlite_text(row, 0));
    if (sqlite_text(row, 1).len)
        mcp_json_key(w, "type"), sqlite_put_words(w, sqlite_text(row, 1));
    if (sqlite3_column_int(row, 2))
        mcp_json_put_int(w, "primaryKey", sqlite3_column_int(row, 2));
    mcp_json_end(w);
    return SQLITE_OK;
}

static int put_short_table(sqlite_conn *c, sqlite_job *j, sqlite3_stmt *row)
{
    mcp_json_writer *w = j->json;
    mcp_str name = sqlite_text(row, 0);
    mcp_json_begin_object(w);
    mcp_json_key(w, "name"), sqlite_put_words(w, name);
    mcp_json_key(w, "type"), sqlite_put_words(w, sqlite_text(row, 1));
    sqlite3_str *uri = sqlite3_str_new(c->db);
    sqlite3_str_appendall(uri, j->s->base.prefix);
    sqlite_uri_put_text(uri, name);
    char *text = sqlite3_str_finish(uri);
    put_text(w, "uri", text);
    sqlite3_free(text);
    mcp_json_key(w, "columns");
    int rc = sqlite_is_plain(sqlite_text(row, 2).ptr) ? SQLITE_OK : sqlite_not_here(c);
    if (rc == SQLITE_OK)
        rc = each(c, w,
                  "SELECT name, type, pk FROM pragma_table_xinfo(?1, 'main') WHERE hidden <> 1",
                  name.ptr, put_short_column);
    /* A broken view; a table of an extension that is not loaded. The others can be described. */
    bool broken = !sqlite_is_plain(sqlite_text(row, 2).ptr) && (rc & 0xff) == SQLITE_ERROR;
    const char *why = broken ? sqlite_table_trouble(c, name.ptr) : NULL;
    if (why)
        put_text(w, "error", why);
    mcp_json_end(w);
    if (broken)
        rc = SQLITE_OK;
    return text ? rc : SQLITE_NOMEM;
}

static int run_database_json(sqlite_conn *c, sqlite_job *j)
{
    sqlite3_stmt *stmt = NULL;
    mcp_json_writer *w = j->json;
    int rc = sqlite3_exec(c->db, "BEGIN", NULL, NULL, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite_prepare_list(c, false, &stmt);
    if (rc == SQLITE_OK)
        rc = sqlite3_bind_text(stmt, 1, "", 0, SQLITE_STATIC);
    if (rc == SQLITE_OK)
        rc = sqlite3_bind_int64(stmt, 2, -1);
    mcp_json_begin_object(w);
    put_text(w, "database", j->s->base.name);
    mcp_json_key(w, "tables");
    mcp_json_begin_array(w);
    while (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW)
        if (sqlite_job_may(j, sqlite_text(stmt, 0)))
            rc = put_short_table(c, j, stmt);
        else
            rc = SQLITE_OK;
    mcp_json_end(w);
    mcp_json_end(w);
    sqlite3_finalize(stmt);
    j->found = true;
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

int sqlite_run_database(sqlite_conn *c, sqlite_job *j)
{
    bool text;
    j->found = true;
    if (sqlite_uri_param(&j->target, "named"))
        return sqlite_run_named(c, j);
    if (!wants_text(j, &text))
        return SQLITE_OK;
    if (!text)
        return run_database_json(c, j);
    return run_text(c, j,
                    "SELECT sql, tbl_name, type, name = tbl_name FROM main.sqlite_schema WHERE sql "
                    "IS NOT NULL AND substr(tbl_name, 1, 7) <> 'sqlite_' ORDER BY tbl_name, name "
                    "<> tbl_name, type, name");
}
