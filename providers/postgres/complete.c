/* complete.c: completes names of schemas, tables, columns and functions, and keys, from the current
 * catalogue. */
#include "provider.h"

#include "replies.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* One more than is shown. With access rules, which may hide some, more are examined. */
enum { MOST_SHOWN = 101, MOST_LOOKED_AT = 2001 };

#define BEGINS(name) " AND pg_catalog.starts_with(" name ", $1::pg_catalog.text)"
#define SHOWN                                                        \
    "n.nspname <> 'information_schema' AND n.nspname !~ '^pg_' AND " \
    "pg_catalog.has_schema_privilege(n.oid, 'USAGE')"

static const struct {
    const char *name;
    int values; /* index of the typed value, before the schema and the table */
    const char *sql;
} completions[] = {
    {"schema", 1,
     "SELECT n.nspname FROM pg_catalog.pg_namespace n WHERE " SHOWN BEGINS(
         "n.nspname") " ORDER BY 1"},
    {"table", 2,
     "SELECT c.relname FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = "
     "c.relnamespace WHERE " SHOWN BEGINS(
         "c.relname") " AND n.nspname = $2::pg_catalog.name AND c.relkind IN ('r', 'v', 'm', 'f', "
                      "'p') AND pg_catalog.has_any_column_privilege(c.oid, 'SELECT') ORDER BY 1"},
    {"function", 2,
     "SELECT name FROM (SELECT p.proname || '(' || pg_catalog.pg_get_function_identity_arguments("
     "p.oid) || ')' AS name FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = "
     "p.pronamespace WHERE " SHOWN
     " AND n.nspname = $2::pg_catalog.name) AS every WHERE true" BEGINS("name") " ORDER BY 1"},
    {"column", 3,
     "SELECT a.attname FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_class c ON c.oid = "
     "a.attrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE " SHOWN BEGINS(
         "a.attname") " AND n.nspname = $2::pg_catalog.name AND c.relname = $3::pg_catalog.name "
                      "AND a.attnum > 0 AND NOT a.attisdropped AND "
                      "pg_catalog.has_column_privilege(c.oid, a.attnum, "
                      "'SELECT') ORDER BY a.attnum"},
};

/* Returns the target of a value: a schema, a table, a function, a column's table, or a row, whose
 * URI begins with this value as the first part of its key. */
static postgres_target target_of(const postgres_job *j, mcp_str value)
{
    postgres_target t = {
        .kind = POSTGRES_KIND_TABLE, .schema = j->target.schema, .name = j->target.name};
    if (mcp_str_eq(j->name, MCP_STR("schema"))) {
        t.kind = POSTGRES_KIND_SCHEMA;
        t.schema = value;
        t.name = (mcp_str){"", 0};
    } else if (mcp_str_eq(j->name, MCP_STR("key"))) {
        t.kind = POSTGRES_KIND_ROW;
        t.key[t.n_key++] = value;
    } else if (!mcp_str_eq(j->name, MCP_STR("column"))) {
        t.kind =
            mcp_str_eq(j->name, MCP_STR("table")) ? POSTGRES_KIND_TABLE : POSTGRES_KIND_FUNCTION;
        t.name = value;
    }
    return t;
}

static int put_completion(postgres_op *op, const PGresult *r)
{
    postgres_job *j = op->user;
    if (!PQntuples(r))
        return MCP_OK;
    mcp_str value = {PQgetvalue(r, 0, 0), (size_t)PQgetlength(r, 0, 0)};
    postgres_target t = target_of(j, value);
    postgres_sql uri;
    postgres_sql_init(&uri, &j->s->base.alloc);
    postgres_uri_put(&uri, j->s->base.prefix, &t);
    const char *text = postgres_sql_text(&uri);
    int rc = text ? mcp_reply_completion_for(j->req, value, mcp_str_from(text)) : MCP_ENOMEM;
    postgres_sql_free(&uri);
    return rc;
}

/* Replies with the completions. If the database cannot be queried there are none, because an error
 * while the user types would not help. */
static void end_completion(postgres_job *j, int rc)
{
    postgres_job_finish(j, rc == MCP_ENOMEM || rc == MCP_ECANCELLED ? rc : MCP_OK);
}

/* Appends " FROM schema.table WHERE ". */
static void put_from(postgres_sql *sql, const postgres_table *t)
{
    postgres_put(sql, " FROM ");
    postgres_put_name(sql, t->schema);
    postgres_put(sql, ".");
    postgres_put_name(sql, t->name);
    postgres_put(sql, " WHERE ");
}

/* Adds a query for the keys that begin with the typed digits: the number itself, then ranges (40 to
 * 49, 400 to 499, ...). Each part uses the key's index. */
static void put_decades(postgres_job *j, const postgres_column *key, int64_t n)
{
    postgres_sql *sql = &j->sql;
    const postgres_table *t = j->table;
    int64_t low = n, high = n, most = INT64_MAX / 10 - 1;
    for (bool first = true;; first = false) {
        postgres_put(sql, first ? "SELECT n::pg_catalog.text FROM (" : " UNION ALL ");
        postgres_put(sql, "(SELECT DISTINCT ");
        postgres_put_name(sql, key->name);
        postgres_put(sql, " AS n");
        put_from(sql, t);
        postgres_put_name(sql, key->name);
        postgres_putf(sql, " OPERATOR(pg_catalog.>=) %" PRId64 " AND ", low < high ? low : high);
        postgres_put_name(sql, key->name);
        postgres_putf(sql, " OPERATOR(pg_catalog.<=) %" PRId64 " ORDER BY n LIMIT %zu)",
                      low < high ? high : low, j->max);
        if (n == 0 || high > most || high < -most)
            break;
        low *= 10;
        high = high * 10 + (n < 0 ? -9 : 9);
    }
    postgres_putf(sql, ") AS keys LIMIT %zu", j->max);
}

/* Reads the keys in their order until there are enough. If few match, all keys are read. */
static void put_any(postgres_job *j, const postgres_column *key)
{
    postgres_sql *sql = &j->sql;
    const postgres_table *t = j->table;
    postgres_put(sql, "SELECT k FROM (SELECT DISTINCT ");
    postgres_put_name(sql, key->name);
    postgres_put(sql, " AS n, ");
    postgres_put_name(sql, key->name);
    postgres_put(sql, "::pg_catalog.text AS k");
    put_from(sql, t);
    postgres_put(sql, "pg_catalog.starts_with(");
    postgres_put_name(sql, key->name);
    postgres_putf(sql, "::pg_catalog.text, $1::pg_catalog.text) ORDER BY n LIMIT %zu) AS keys",
                  j->max);
}

/* Returns whether the text is an integer in the database's notation. */
static bool is_whole_number(mcp_str text, int64_t *ret)
{
    char spelled[24];
    if (!text.len || text.len > 17)
        return false;
    *ret = strtoll(text.ptr, NULL, 10);
    snprintf(spelled, sizeof(spelled), "%" PRId64, *ret);
    return mcp_str_eq(mcp_str_from(spelled), text);
}

static void complete_key(postgres_job *j)
{
    const postgres_column *key =
        postgres_has_key(j->table) ? postgres_table_key(j->table, 0) : NULL;
    int64_t n;
    if (!key) {
        postgres_job_finish(j, MCP_OK);
        return;
    }
    bool number =
        key->oid == POSTGRES_INT2 || key->oid == POSTGRES_INT4 || key->oid == POSTGRES_INT8;
    bool decades = number && is_whole_number(j->value, &n);
    postgres_sql_reset(&j->sql);
    if (decades)
        put_decades(j, key, n);
    else
        put_any(j, key);
    j->op.value[0] = j->value.ptr;
    j->op.n_value = decades ? 0 : 1;
    j->op.statement = 0;
    j->op.slow = true;
    j->op.inert = j->table->inert;
    postgres_job_run(j, NULL, put_completion, end_completion);
}

static void run_completion(postgres_job *j)
{
    if (mcp_str_eq(j->name, MCP_STR("key"))) {
        postgres_job_with_table(j, complete_key);
        return;
    }
    for (size_t i = 0; i < sizeof(completions) / sizeof(*completions); i++) {
        if (!mcp_str_eq(j->name, mcp_str_from(completions[i].name)))
            continue;
        j->op.value[0] = j->value.ptr;
        j->op.value[1] = j->target.schema.ptr;
        j->op.value[2] = j->target.name.ptr;
        j->op.n_value = completions[i].values;
        postgres_sql_reset(&j->sql);
        postgres_put(&j->sql, completions[i].sql);
        postgres_putf(&j->sql, " LIMIT %zu", j->max);
        postgres_job_look(j, NULL, put_completion, end_completion);
        return;
    }
    postgres_job_finish(j, MCP_OK);
}

/* Returns NULL if there is no memory, or if the text contains NUL and therefore has
 * no completions. */
static const char *text_of(mcp_request *req, mcp_str text)
{
    return text.len && memchr(text.ptr, 0, text.len) ? NULL : mcp_request_strdup(req, text);
}

int postgres_complete(mcp_request *req, mcp_str name, mcp_str value, const mcp_json *context,
                      void *user)
{
    int rc;
    if (mcp_str_eq(name, MCP_STR("format")))
        return common_reply_formats(req, value);
    postgres_job *j = postgres_job_new(user, req, (mcp_str){"", 0}, &rc);
    if (!j) /* a caller without a role has no completions */
        return rc == MCP_ENOTFOUND ? MCP_OK : rc;
    const char *texts[] = {text_of(req, value),
                           text_of(req, mcp_json_string(mcp_json_get(context, "schema"))),
                           text_of(req, mcp_json_string(mcp_json_get(context, "table")))};
    if (!texts[0] || !texts[1] || !texts[2])
        return MCP_OK;
    j->name = name;
    j->max = mcp_request_restricted(req) ? MOST_LOOKED_AT : MOST_SHOWN;
    j->value = mcp_str_from(texts[0]);
    j->target.schema = mcp_str_from(texts[1]);
    j->target.name = mcp_str_from(texts[2]);
    return postgres_job_start(j, run_completion);
}
