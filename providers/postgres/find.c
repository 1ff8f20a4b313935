/* find.c: the columns of all tables with a name (common/naming.h), of those that the role and the rules
 * let the caller read. A type that belongs to a table is only named "record", as in the page of a
 * table.
 */
#include "describe.h"

#include <stdio.h>

#include "naming.h"

/* With access rules, the tables of some rows may be hidden. */
enum { MOST_LOOKED_AT = 2001 };

#define LIKE(name) \
    name "::pg_catalog.text COLLATE pg_catalog.\"C\" OPERATOR(pg_catalog.~~*) $1::pg_catalog.text"

static const char named_sql[] =
    "SELECT 't', n.nspname, c.relname, a.attname, CASE WHEN y.typtype = 'c' THEN 'record' ELSE"
    " pg_catalog.format_type(a.atttypid, a.atttypmod) END"
    " FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_class c ON c.oid = a.attrelid"
    " JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace"
    " JOIN pg_catalog.pg_type t ON t.oid = a.atttypid"
    " JOIN pg_catalog.pg_type y ON y.oid = CASE WHEN t.typcategory = 'A' AND t.typelem <> 0 THEN"
    " t.typelem ELSE t.oid END"
    " WHERE (" LIKE("a.attname") " OR (y.typtype IN ('e', 'd', 'r') AND " LIKE(
        "y.typname") " AND pg_catalog.has_schema_privilege(y.typnamespace, 'USAGE')))"
                     " AND a.attnum > 0 AND NOT a.attisdropped AND c.relkind IN ('r', 'v', 'm', "
                     "'f', 'p')"
                     " AND NOT c.relispartition AND n.nspname <> 'information_schema' AND "
                     "n.nspname !~ '^pg_'"
                     " AND pg_catalog.has_schema_privilege(n.oid, 'USAGE')"
                     " AND pg_catalog.has_column_privilege(c.oid, a.attnum, 'SELECT')"
                     " ORDER BY n.nspname, c.relname, a.attnum LIMIT $2::pg_catalog.int8";

static void put_name(postgres_job *j, const postgres_target *t)
{
    postgres_sql_reset(&j->text);
    postgres_put_str(&j->text, t->schema);
    postgres_put(&j->text, ".");
    postgres_put_str(&j->text, t->name);
    mcp_json_put_string(j->json, "name", postgres_sql_text(&j->text));
}

static int put_column(postgres_op *op, const PGresult *r)
{
    postgres_job *j = op->user;
    if (!PQntuples(r))
        return MCP_OK;
    postgres_target t = postgres_thing(r, 0);
    int rc = postgres_job_may(j, &t);
    if (rc != MCP_OK)
        return rc == MCP_ENOTFOUND ? MCP_OK : rc;
    if (j->rows == COMMON_NAMED_MOST) {
        j->more = true;
        return MCP_PENDING;
    }
    postgres_sql_reset(&j->text);
    postgres_uri_put(&j->text, j->s->base.prefix, &t);
    mcp_json_begin_object(j->json);
    mcp_json_put_string(j->json, "uri", postgres_sql_text(&j->text));
    put_name(j, &t);
    mcp_json_put_string(j->json, "column", PQgetvalue(r, 0, 3));
    mcp_json_put_string(j->json, "type", PQgetvalue(r, 0, 4));
    mcp_json_end(j->json);
    j->rows++;
    return MCP_OK;
}

static void end_named(postgres_job *j, int rc)
{
    if (postgres_job_torn(j, rc))
        return;
    mcp_json_end(j->json);
    if (j->more)
        mcp_json_put_bool(j->json, "more", true);
    mcp_json_end(j->json);
    if (rc != MCP_OK)
        postgres_job_broken(j, rc);
    else
        postgres_job_reply_json(j);
}

void postgres_run_named(postgres_job *j)
{
    static const char *const names[] = {"named", "format", NULL};
    mcp_str text = *postgres_uri_param(&j->target, "named");
    const char *pattern = postgres_pattern_of(j->req, text, false);
    if (!postgres_job_only(j, names) || !postgres_job_format(j))
        return;
    if (!text.len || text.len > COMMON_NAMED_MAX) {
        postgres_job_fail(j, MCP_CODE_INVALID_PARAMS, "%s", COMMON_NAMED_WRONG);
        return;
    }
    if (!pattern) {
        postgres_job_finish(j, MCP_ENOMEM);
        return;
    }
    j->as_text = j->more = false;
    mcp_json_begin_object(j->json);
    mcp_json_put_array(j->json, "named");
    snprintf(j->number, sizeof(j->number), "%d",
             mcp_request_restricted(j->req) ? MOST_LOOKED_AT : COMMON_NAMED_MOST + 1);
    j->op.value[0] = pattern;
    j->op.value[1] = j->number;
    j->op.n_value = 2;
    postgres_job_look(j, named_sql, put_column, end_named);
}
