/* find.c: the columns of all tables with a name (common/naming.h), and the types, of those that the role
 * and the rules let the caller read. A type that belongs to a table is only named "record", as in the page of a
 * table.
 */
#include "describe.h"

#include <stdio.h>

#include "naming.h"

/* With access rules, the tables of some rows may be hidden. */
enum { MOST_LOOKED_AT = 2001 };

/* clang-format off */
#define LIKE(name)                                                                               \
    name "::pg_catalog.text COLLATE pg_catalog.\"C\" OPERATOR(pg_catalog.~~*) $1::pg_catalog.text"
#define OWN       "n.nspname <> 'information_schema' AND n.nspname !~ '^pg_'"
#define RELATIONS "('r', 'v', 'm', 'f', 'p')"
#define EXTENSION                                                                                \
    "EXISTS (SELECT 1 FROM pg_catalog.pg_depend d WHERE d.objid = t.oid AND d.classid = "        \
    "'pg_catalog.pg_type'::pg_catalog.regclass AND d.deptype = 'e')"
/* What a type is: only its kind, if there are rules. */
#define ABOUT                                                                                    \
    "CASE t.typtype WHEN 'e' THEN 'enum' || CASE WHEN $3::pg_catalog.bool THEN '' ELSE coalesce(" \
    "(SELECT ' ' || pg_catalog.string_agg(pg_catalog.quote_literal(e.enumlabel), ', ' ORDER BY "  \
    "e.enumsortorder) FROM (SELECT * FROM pg_catalog.pg_enum l WHERE l.enumtypid = t.oid ORDER "  \
    "BY l.enumsortorder LIMIT 20) AS e), '') END"                                                \
    " WHEN 'd' THEN 'domain' || CASE WHEN $3 THEN '' ELSE ' of ' || pg_catalog.format_type("     \
    "t.typbasetype, t.typtypmod) END WHEN 'c' THEN 'composite type' ELSE 'range type' END"

#define COLUMNS                                                                                  \
    "SELECT 't' AS kind, n.nspname AS schema, c.relname AS name, a.attname AS found, "           \
    "CASE WHEN y.typtype = 'c' THEN 'record' ELSE"                                               \
    " pg_catalog.format_type(a.atttypid, a.atttypmod) END AS about, a.attnum AS place"           \
    " FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_class c ON c.oid = a.attrelid"           \
    " JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace"                                  \
    " JOIN pg_catalog.pg_type t ON t.oid = a.atttypid"                                           \
    " JOIN pg_catalog.pg_type y ON y.oid = CASE WHEN t.typcategory = 'A' AND t.typelem <> 0 THEN" \
    " t.typelem ELSE t.oid END"                                                                  \
    " WHERE (" LIKE("a.attname") " OR (y.typtype IN ('e', 'd', 'r') AND " LIKE("y.typname")      \
    " AND pg_catalog.has_schema_privilege(y.typnamespace, 'USAGE')))"                            \
    " AND a.attnum > 0 AND NOT a.attisdropped AND c.relkind IN " RELATIONS                       \
    " AND NOT c.relispartition AND " OWN " AND pg_catalog.has_schema_privilege(n.oid, 'USAGE')"  \
    " AND pg_catalog.has_column_privilege(c.oid, a.attnum, 'SELECT')"
/* A type that a column has is found by this column, or it is hidden with it. */
#define TYPES                                                                                    \
    "SELECT 'a', n.nspname, t.typname, NULL, " ABOUT ", 0"                                       \
    " FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace"        \
    " LEFT JOIN pg_catalog.pg_class o ON o.oid = t.typrelid"                                     \
    " WHERE " LIKE("t.typname") " AND (t.typtype IN ('e', 'd', 'r') OR t.typtype = 'c' AND "     \
    "o.relkind = 'c') AND " OWN " AND pg_catalog.has_schema_privilege(n.oid, 'USAGE')"           \
    " AND pg_catalog.has_type_privilege(t.oid, 'USAGE') AND NOT " EXTENSION                      \
    " AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_class c ON "    \
    "c.oid = a.attrelid WHERE a.atttypid IN (t.oid, t.typarray) AND a.attnum > 0 AND NOT "       \
    "a.attisdropped AND c.relkind IN " RELATIONS ")"

/* Columns of tables, and types that no column has: the kind and names of what has a page, the name of the
 * column, what it is. Parameters: the pattern, the number of rows, whether there are rules. */
static const char named_sql[] =
    "SELECT kind, schema, name, found, about FROM (" COLUMNS " UNION ALL " TYPES ") AS every"
    " ORDER BY schema, kind DESC, name, place LIMIT $2::pg_catalog.int8";
/* clang-format on */

/* The pattern of ILIKE for a part of a name, or for "*" and "?" in the place of the whole name. */
static const char *pattern_of(mcp_request *req, mcp_str text)
{
    if (!common_named_is_pattern(text))
        return postgres_pattern_of(req, text, false);
    char *made = mcp_request_alloc(req, 2 * text.len + 1), *to = made;
    for (size_t i = 0; made && i < text.len; i++) {
        char c = text.ptr[i];
        if (strchr("\\%_", c))
            *to++ = '\\';
        *to++ = c;
        if (c == '*' || c == '?')
            to[-1] = c == '*' ? '%' : '_';
    }
    if (made)
        *to = 0;
    return made;
}

static void put_name(postgres_job *j, const PGresult *r)
{
    postgres_sql_reset(&j->text);
    postgres_put(&j->text, PQgetvalue(r, 0, 1));
    postgres_put(&j->text, ".");
    postgres_put(&j->text, PQgetvalue(r, 0, 2));
    mcp_json_put_string(j->json, "name", postgres_sql_text(&j->text));
}

static int put_found(postgres_op *op, const PGresult *r)
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
    put_name(j, r);
    if (!PQgetisnull(r, 0, 3))
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
    const char *pattern = pattern_of(j->req, text);
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
    bool restricted = mcp_request_restricted(j->req);
    snprintf(j->number, sizeof(j->number), "%d",
             restricted ? MOST_LOOKED_AT : COMMON_NAMED_MOST + 1);
    j->op.value[0] = pattern;
    j->op.value[1] = j->number;
    j->op.value[2] = restricted ? "t" : "f";
    j->op.n_value = 3;
    postgres_job_look(j, named_sql, put_found, end_named);
}
