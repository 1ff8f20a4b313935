/* list.c: resources/list: the database; each schema with its tables and views, each with its rows,
 * and with its functions; then the saved queries.
 *
 * A position is the kind and the names of the last entry, in the database's order (the collation
 * "C" compares bytes). So objects that are created or dropped between two pages neither repeat nor
 * hide others.
 */
#include "provider.h"

#include <stdio.h>
#include <stdlib.h>

/* The kinds in a schema are sorted by their letter: the schema itself, tables with their
 * rows, functions. */
static const char list_sql[] =
    "SELECT kind, schema, name, CASE kind WHEN 'a' THEN pg_catalog.obj_description(id, "
    "'pg_namespace') WHEN 't' THEN pg_catalog.obj_description(id, 'pg_class') WHEN 'x' THEN "
    "pg_catalog.obj_description(id, 'pg_proc') END FROM ("
    "SELECT kind, id, schema, name FROM ("
    "SELECT 'a' AS kind, n.oid AS space, n.oid AS id, n.nspname::pg_catalog.text COLLATE \"C\" AS "
    "schema, '' COLLATE \"C\" AS name FROM pg_catalog.pg_namespace n"
    " UNION ALL SELECT k, n.oid, c.oid, n.nspname::pg_catalog.text COLLATE \"C\", "
    "c.relname::pg_catalog.text COLLATE \"C\""
    " FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace,"
    " (VALUES ('t'), ('u')) AS v(k) WHERE c.relkind IN ('r', 'v', 'm', 'f', 'p')"
    " AND NOT c.relispartition AND pg_catalog.has_any_column_privilege(c.oid, 'SELECT')"
    " AND (k = 't' OR EXISTS (SELECT 1 FROM pg_catalog.pg_attribute a WHERE a.attrelid = c.oid AND "
    "a.attnum > 0 AND NOT a.attisdropped))"
    " UNION ALL SELECT 'x', n.oid, p.oid, n.nspname::pg_catalog.text COLLATE \"C\", (p.proname || "
    "'(' || pg_catalog.pg_get_function_identity_arguments(p.oid) || ')') COLLATE \"C\""
    " FROM pg_catalog.pg_proc p"
    " JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace WHERE NOT EXISTS (SELECT 1 FROM"
    " pg_catalog.pg_depend d WHERE d.objid = p.oid AND d.classid = "
    "'pg_catalog.pg_proc'::pg_catalog.regclass"
    " AND d.deptype = 'e')"
    ") AS every WHERE schema <> 'information_schema' AND schema !~ '^pg_'"
    " AND pg_catalog.has_schema_privilege(space, 'USAGE')"
    " AND (schema, CASE kind WHEN 'u' THEN 't' ELSE kind END, name, kind) >"
    " ($1::pg_catalog.text COLLATE \"C\", CASE $2::pg_catalog.text WHEN 'u' THEN 't' ELSE $2 END,"
    " $3::pg_catalog.text COLLATE \"C\", $2)"
    " ORDER BY schema, CASE kind WHEN 'u' THEN 't' ELSE kind END, name, kind LIMIT "
    "$4::pg_catalog.int8) AS page"
    " ORDER BY schema, CASE kind WHEN 'u' THEN 't' ELSE kind END, name, kind";

enum { AT_QUERY = 'Q' };

/* ---- positions: the kind, the schema, NUL and the name; or Q and a number -------------------- */

static int next_at(postgres_job *j, char kind, mcp_str schema, mcp_str name)
{
    postgres_sql_reset(&j->text);
    postgres_put_str(&j->text, (mcp_str){&kind, 1});
    postgres_put_str(&j->text, schema);
    postgres_put_str(&j->text, (mcp_str){"", 1});
    postgres_put_str(&j->text, name);
    return j->text.failed ? MCP_ENOMEM
                          : mcp_reply_next(j->req, (mcp_str){j->text.b.ptr, j->text.b.len});
}

static int next_query(postgres_job *j, size_t i)
{
    char number[24];
    snprintf(number, sizeof(number), "%zu", i);
    return next_at(j, AT_QUERY, mcp_str_from(number), (mcp_str){"", 0});
}

/* ---- entries --------------------------------------------------------------------------------- */

static int reply_database(postgres_job *j)
{
    char title[160];
    snprintf(title, sizeof(title), "Schemas of %.100s", j->s->base.name);
    return mcp_reply_resource(
        j->req, MCP_OPTIONS(mcp_resource, .uri = j->s->base.prefix, .name = j->s->base.name,
                            .title = title, .mime_type = "application/json",
                            .annotations = MCP_OPTIONS(mcp_annotations, .has_priority = true,
                                                       .priority = 0.9)));
}

static mcp_str cell(const PGresult *r, int at)
{
    return (mcp_str){PQgetvalue(r, 0, at), (size_t)PQgetlength(r, 0, at)};
}

static int put_entry(postgres_op *op, const PGresult *r)
{
    static const postgres_kind kinds[] = {['a'] = POSTGRES_KIND_SCHEMA,
                                          ['t'] = POSTGRES_KIND_TABLE,
                                          ['u'] = POSTGRES_KIND_ROWS,
                                          ['x'] = POSTGRES_KIND_FUNCTION};
    postgres_job *j = op->user;
    if (!PQntuples(r))
        return MCP_OK;
    char kind = *PQgetvalue(r, 0, 0);
    postgres_target t = {
        .kind = kinds[(unsigned char)kind & 127], .schema = cell(r, 1), .name = cell(r, 2)};
    if (j->rows == j->max) {
        j->more = true;
        return MCP_OK; /* only shows that there is another page */
    }
    postgres_sql_reset(&j->text);
    postgres_sql_reset(&j->sql);
    postgres_uri_put(&j->text, j->s->base.prefix, &t);
    postgres_put_str(&j->sql, t.schema);
    postgres_put(&j->sql, kind == 'a' ? "" : ".");
    postgres_put_str(&j->sql, t.name);
    postgres_put(&j->sql, kind == 'u' ? "/rows" : "");
    const char *uri = postgres_sql_text(&j->text), *name = postgres_sql_text(&j->sql);
    if (!uri || !name)
        return MCP_ENOMEM;
    int rc = mcp_reply_resource(
        j->req, MCP_OPTIONS(mcp_resource, .uri = uri, .name = name,
                            .description = PQgetisnull(r, 0, 3) ? NULL : PQgetvalue(r, 0, 3),
                            .mime_type = "application/json"));
    j->rows++;
    if (j->rows == j->max) { /* may be the last of the page */
        char *kept = mcp_request_strdup(j->req, t.schema);
        char *kept_name = mcp_request_strdup(j->req, t.name);
        if (!kept || !kept_name)
            return MCP_ENOMEM;
        j->name = mcp_str_from(kept);
        j->value = mcp_str_from(kept_name);
        j->offset = (unsigned char)kind;
    }
    return rc == MCP_EINVAL ? MCP_OK : rc; /* not UTF-8, so it cannot be in JSON */
}

static int reply_queries(postgres_job *j, size_t from)
{
    int rc = MCP_OK;
    for (size_t i = from; rc == MCP_OK && i < j->s->base.queries.n; i++) {
        if (j->rows == j->max)
            return next_query(j, i);
        rc = common_query_reply(j->req, &j->s->base.queries.query[i]);
        j->rows++;
    }
    return rc;
}

static void end_list(postgres_job *j, int rc)
{
    if (rc != MCP_OK)
        postgres_job_broken(j, rc);
    else if (j->more)
        postgres_job_finish(j, next_at(j, (char)j->offset, j->name, j->value));
    else
        postgres_job_finish(j, reply_queries(j, 0));
}

/* ---- lists ----------------------------------------------------------------------------------- */

static void run_list(postgres_job *j)
{
    if (j->offset == AT_QUERY) {
        postgres_job_finish(j, reply_queries(j, (size_t)strtoull(j->name.ptr, NULL, 10)));
        return;
    }
    if (!j->name.ptr) {
        int rc = reply_database(j);
        j->rows++;
        if (rc != MCP_OK) {
            postgres_job_finish(j, rc);
            return;
        }
        j->name = j->value = (mcp_str){"", 0};
    }
    char kind[2] = {j->offset ? (char)j->offset : ' ', 0}, number[24];
    snprintf(number, sizeof(number), "%zu", j->max - j->rows + 1);
    const char *const values[] = {j->name.ptr, mcp_request_strdup(j->req, mcp_str_from(kind)),
                                  j->value.ptr, mcp_request_strdup(j->req, mcp_str_from(number))};
    for (int i = 0; i < 4; i++)
        j->op.value[i] = values[i];
    j->op.n_value = 4;
    if (!values[1] || !values[3])
        postgres_job_finish(j, MCP_ENOMEM);
    else
        postgres_job_look(j, list_sql, put_entry, end_list);
}

static int read_position(postgres_job *j, mcp_str cursor)
{
    const char *end = cursor.len ? memchr(cursor.ptr, 0, cursor.len) : NULL;
    if (!cursor.len)
        return MCP_OK;
    if (!end || !strchr("atuxQ", *cursor.ptr))
        return MCP_EINVAL;
    size_t len = (size_t)(end - cursor.ptr);
    char *name = mcp_request_strdup(j->req, (mcp_str){cursor.ptr + 1, len - 1});
    char *value = mcp_request_strdup(j->req, (mcp_str){end + 1, cursor.len - len - 1});
    if (!name || !value)
        return MCP_ENOMEM;
    j->offset = (unsigned char)*cursor.ptr;
    j->name = mcp_str_from(name);
    j->value = mcp_str_from(value);
    return MCP_OK;
}

int postgres_list(mcp_request *req, mcp_str cursor, size_t max, void *user)
{
    int rc;
    postgres_job *j = postgres_job_new(user, req, (mcp_str){"", 0}, &rc);
    if (!j) /* a caller without a role has an empty list */
        return rc == MCP_ENOTFOUND ? MCP_OK : rc;
    j->max = max;
    rc = read_position(j, cursor);
    return rc == MCP_OK ? postgres_job_start(j, run_list) : rc;
}
