/* role_check.c: checks at the start and for --doctor that the roles of callers can be used, and
 * that row-level security applies to them.
 *
 * Roles can be changed later, so each request is checked too; see postgres_settings_sql(). */
#include "provider.h"

#include <stdio.h>

/* Parameter: a role. Returns why row-level security does not apply to it, or NULL; and a table
 * whose policies do not apply to it because it owns the table, or NULL. */
static const char role_sql[] =
    "SELECT CASE WHEN r.rolsuper THEN 'is a superuser' WHEN r.rolbypassrls THEN 'has BYPASSRLS' "
    "WHEN r.rolreplication THEN 'has REPLICATION' WHEN EXISTS (SELECT 1 FROM pg_catalog.pg_roles p "
    "WHERE p.rolname IN ('pg_read_server_files', 'pg_write_server_files', "
    "'pg_execute_server_program') AND pg_catalog.pg_has_role(r.oid, p.oid, 'MEMBER')) THEN 'may "
    "read or write files of the server, or run programs there' END, (SELECT "
    "pg_catalog.format('%I.%I', n.nspname, c.relname) FROM pg_catalog.pg_class c JOIN "
    "pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace WHERE "
    "c.relrowsecurity AND NOT c.relforcerowsecurity AND pg_catalog.pg_has_role(r.oid, c.relowner, "
    "'USAGE') ORDER BY 1 LIMIT 1) FROM pg_catalog.pg_roles r WHERE r.rolname "
    "OPERATOR(pg_catalog.=) $1::pg_catalog.name";

static PGresult *answer(const postgres *s, PGconn *conn, int sent)
{
    return sent ? postgres_answer(conn, 2 * s->timeout_ms) : NULL;
}

static int refuse(const postgres *s, const char *role, const char *why, mcp_error *error)
{
    char text[450];
    snprintf(text, sizeof(text), "run_as: the role %.70s %.300s", role, why);
    return common_refuse(error, MCP_EACCESS, s->base.name, text);
}

static int broken(const postgres *s, PGconn *conn, const PGresult *r, mcp_error *error)
{
    char text[300];
    postgres_why(r ? PQresultErrorMessage(r) : PQerrorMessage(conn), text);
    return common_refuse(error, MCP_EREMOTE, s->base.name, *text ? text : POSTGRES_NO_ANSWER);
}

static int check_owned(const postgres *s, const char *role, const char *table, bool strict,
                       mcp_error *error)
{
    char why[300], line[500];
    snprintf(why, sizeof(why),
             "owns %.100s, so its policies do not apply to this role: ALTER TABLE %.100s FORCE ROW "
             "LEVEL SECURITY",
             table, table);
    if (strict)
        return refuse(s, role, why, error);
    snprintf(line, sizeof(line), "PostgreSQL database %.80s: the role %.70s %.280s", s->base.name,
             role, why);
    if (s->host.log)
        s->host.log("warning", line, s->host.user);
    return MCP_OK;
}

static int check_rights(const postgres *s, PGconn *conn, const char *role, bool strict,
                        mcp_error *error)
{
    const char *const values[] = {role};
    PGresult *r =
        answer(s, conn, PQsendQueryParams(conn, role_sql, 1, NULL, values, NULL, NULL, 0));
    int rc = MCP_OK;
    if (PQresultStatus(r) != PGRES_TUPLES_OK)
        rc = broken(s, conn, r, error);
    else if (!PQntuples(r))
        rc = refuse(s, role, "does not exist", error);
    else if (!PQgetisnull(r, 0, 0))
        rc = refuse(s, role, PQgetvalue(r, 0, 0), error);
    else if (!PQgetisnull(r, 0, 1))
        rc = check_owned(s, role, PQgetvalue(r, 0, 1), strict, error);
    PQclear(r);
    return rc;
}

/* Checks whether the login role can change to the role, by trying it, because the required
 * privileges differ between versions of PostgreSQL. */
static int check_change(const postgres *s, PGconn *conn, const char *role, mcp_error *error)
{
    char sql[2 * POSTGRES_ROLE_MAX + 80], why[300], text[300];
    char *quoted = PQescapeIdentifier(conn, role, strlen(role));
    if (!quoted)
        return MCP_ENOMEM;
    snprintf(sql, sizeof(sql), "BEGIN READ ONLY; SET LOCAL ROLE %s; ROLLBACK", quoted);
    PQfreemem(quoted);
    PGresult *r = answer(s, conn, PQsendQuery(conn, sql));
    int rc = MCP_OK;
    if (!r) {
        rc = broken(s, conn, r, error);
    } else if (PQresultStatus(r) != PGRES_COMMAND_OK) {
        postgres_why(PQresultErrorField(r, PG_DIAG_MESSAGE_PRIMARY), text);
        snprintf(why, sizeof(why), "cannot be used by %.70s (GRANT … TO …): %.120s", PQuser(conn),
                 text);
        rc = refuse(s, role, why, error);
    }
    PQclear(r);
    PQclear(answer(s, conn, PQsendQuery(conn, "ROLLBACK")));
    return rc;
}

static bool is_repeated(const postgres_callers *all, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (strcmp(all->role[i].name, all->role[at].name) == 0)
            return true;
    return false;
}

int postgres_check_roles(postgres *s, PGconn *conn, bool strict, mcp_error *error)
{
    const postgres_callers *all = &s->callers;
    if (!all->on)
        return MCP_OK;
    if (PQexitPipelineMode(conn) != 1)
        return broken(s, conn, NULL, error);
    int rc = check_rights(s, conn, PQuser(conn), strict, error);
    for (size_t i = 0; rc == MCP_OK && i < all->n_role; i++) {
        if (is_repeated(all, i))
            continue;
        rc = check_rights(s, conn, all->role[i].name, strict, error);
        if (rc == MCP_OK)
            rc = check_change(s, conn, all->role[i].name, error);
    }
    return rc;
}
