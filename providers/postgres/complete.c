/* complete.c: names of schemas, tables, columns and functions, and beginnings of keys, from the live catalogue. */
#include "provider.h"

#include <stdio.h>

#define BEGINS(name) " AND pg_catalog.starts_with(" name ", $1::pg_catalog.text)"
#define SHOWN                                                        \
    "n.nspname <> 'information_schema' AND n.nspname !~ '^pg_' AND " \
    "pg_catalog.has_schema_privilege(n.oid, 'USAGE')"

static const struct {
    const char *name;
    int values; /* what is typed, the schema, the table */
    const char *sql;
} completions[] = {
    {"schema", 1,
     "SELECT n.nspname FROM pg_catalog.pg_namespace n WHERE " SHOWN BEGINS(
         "n.nspname") " ORDER BY 1 "
                      "LIMIT 101"},
    {"table", 2,
     "SELECT c.relname FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = "
     "c.relnamespace WHERE " SHOWN BEGINS(
         "c.relname") " AND n.nspname = $2::pg_catalog.name AND c.relkind IN ('r', 'v', 'm', 'f', "
                      "'p') AND "
                      "pg_catalog.has_any_column_privilege(c.oid, 'SELECT') ORDER BY 1 LIMIT 101"},
    {"function", 2,
     "SELECT name FROM (SELECT p.proname || '(' || pg_catalog.pg_get_function_identity_arguments("
     "p.oid) || ')' AS name FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = "
     "p.pronamespace WHERE " SHOWN
     " AND n.nspname = $2::pg_catalog.name) AS every WHERE true" BEGINS(
         "name") " ORDER BY 1 LIMIT 101"},
    {"column", 3,
     "SELECT a.attname FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_class c ON c.oid = "
     "a.attrelid "
     "JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE " SHOWN BEGINS(
         "a.attname") " AND n.nspname = $2::pg_catalog.name AND c.relname = $3::pg_catalog.name "
                      "AND a.attnum > 0 AND NOT "
                      "a.attisdropped AND pg_catalog.has_column_privilege(c.oid, a.attnum, "
                      "'SELECT') ORDER BY a.attnum "
                      "LIMIT 101"},
};

static int put_completion(postgres_op *op, const PGresult *r)
{
    postgres_job *j = op->user;
    if (!PQntuples(r))
        return MCP_OK;
    return mcp_reply_completion(j->req,
                                (mcp_str){PQgetvalue(r, 0, 0), (size_t)PQgetlength(r, 0, 0)});
}

/* A database that cannot be asked has nothing to offer; that is no error while somebody types. */
static void end_completion(postgres_job *j, int rc)
{
    postgres_job_finish(j, rc == MCP_ENOMEM || rc == MCP_ECANCELLED ? rc : MCP_OK);
}

/* Of a number's beginning: itself, then by decades; of a text: from the first one that is not before. The
 * index of the key leads to both. */
static void complete_key(postgres_job *j)
{
    const postgres_column *key =
        postgres_has_key(j->table) ? postgres_table_key(j->table, 0) : NULL;
    if (!key) {
        postgres_job_finish(j, MCP_OK);
        return;
    }
    postgres_sql_reset(&j->sql);
    postgres_put(&j->sql, "SELECT k FROM (SELECT DISTINCT ");
    postgres_put_name(&j->sql, key->name);
    postgres_put(&j->sql, " AS n, ");
    postgres_put_name(&j->sql, key->name);
    postgres_put(&j->sql, "::pg_catalog.text AS k FROM ");
    postgres_put_name(&j->sql, j->table->schema);
    postgres_put(&j->sql, ".");
    postgres_put_name(&j->sql, j->table->name);
    postgres_put(&j->sql, " WHERE pg_catalog.starts_with(");
    postgres_put_name(&j->sql, key->name);
    postgres_put(&j->sql, "::pg_catalog.text, $1::pg_catalog.text) ORDER BY n LIMIT 101) AS keys");
    j->op.value[0] = j->value.ptr;
    j->op.n_value = 1;
    j->op.statement = 0;
    j->op.slow = true;
    j->op.inert = false;
    postgres_job_run(j, NULL, put_completion, end_completion);
}

static void run_completion(postgres_job *j)
{
    if (mcp_str_eq(j->name, MCP_STR("key"))) {
        postgres_job_with_table(j, complete_key);
        return;
    }
    for (size_t i = 0; i < sizeof completions / sizeof *completions; i++) {
        if (!mcp_str_eq(j->name, mcp_str_from(completions[i].name)))
            continue;
        j->op.value[0] = j->value.ptr;
        j->op.value[1] = j->target.schema.ptr;
        j->op.value[2] = j->target.name.ptr;
        j->op.n_value = completions[i].values;
        postgres_job_look(j, completions[i].sql, put_completion, end_completion);
        return;
    }
    postgres_job_finish(j, MCP_OK);
}

static int complete_formats(mcp_request *req, mcp_str value)
{
    static const char *const formats[] = {"json", "text"};
    int rc = MCP_OK;
    for (size_t i = 0; rc == MCP_OK && i < 2; i++)
        if (value.len <= strlen(formats[i]) &&
            (!value.len || memcmp(formats[i], value.ptr, value.len) == 0))
            rc = mcp_reply_completion(req, mcp_str_from(formats[i]));
    return rc;
}

/* NULL: no memory, or a NUL in it, which nothing begins with. */
static const char *text_of(mcp_request *req, mcp_str text)
{
    return text.len && memchr(text.ptr, 0, text.len) ? NULL : mcp_request_strdup(req, text);
}

int postgres_complete(mcp_request *req, mcp_str name, mcp_str value, const mcp_json *context,
                      void *user)
{
    int rc;
    if (mcp_str_eq(name, MCP_STR("format")))
        return complete_formats(req, value);
    postgres_job *j = postgres_job_new(user, req, (mcp_str){"", 0}, &rc);
    if (!j)
        return rc;
    const char *texts[] = {text_of(req, value),
                           text_of(req, mcp_json_string(mcp_json_get(context, "schema"))),
                           text_of(req, mcp_json_string(mcp_json_get(context, "table")))};
    if (!texts[0] || !texts[1] || !texts[2])
        return MCP_OK;
    j->name = name;
    j->value = mcp_str_from(texts[0]);
    j->target.schema = mcp_str_from(texts[1]);
    j->target.name = mcp_str_from(texts[2]);
    return postgres_job_start(j, run_completion);
}
