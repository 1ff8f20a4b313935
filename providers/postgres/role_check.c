/* role_check.c: checks at the start and for --doctor that the roles of callers can be used, and
 * that row-level security applies to them.
 *
 * Roles can be changed later, so each request is checked too; see postgres_settings_sql(). */
#include "provider.h"

#include <stdio.h>

/* Parameters: a role, and whether its callers log in as it. These could change to each role that it is a
 * member of, even if it does not inherit its rights. Returns why row-level security does not apply, or
 * NULL; and a table whose policies do not apply because of its owner, or NULL. */
static const char role_sql[] =
    "SELECT CASE WHEN r.rolsuper THEN 'is a superuser' WHEN r.rolbypassrls THEN 'has BYPASSRLS' "
    "WHEN r.rolreplication THEN 'has REPLICATION' WHEN $2::pg_catalog.bool AND EXISTS (SELECT 1 "
    "FROM pg_catalog.pg_roles o WHERE (o.rolsuper OR o.rolbypassrls OR o.rolreplication) AND "
    "pg_catalog.pg_has_role(r.oid, o.oid, 'MEMBER')) THEN 'is a member of a superuser or of a role "
    "with BYPASSRLS or REPLICATION, which its callers could become' WHEN EXISTS (SELECT 1 FROM "
    "pg_catalog.pg_roles p "
    "WHERE p.rolname IN ('pg_read_server_files', 'pg_write_server_files', "
    "'pg_execute_server_program') AND pg_catalog.pg_has_role(r.oid, p.oid, 'MEMBER')) THEN 'may "
    "read or write files of the server, or run programs there' END, (SELECT "
    "pg_catalog.format('%I.%I', n.nspname, c.relname) FROM pg_catalog.pg_class c JOIN "
    "pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace WHERE "
    "c.relrowsecurity AND NOT c.relforcerowsecurity AND pg_catalog.pg_has_role(r.oid, c.relowner, "
    "CASE WHEN $2::pg_catalog.bool THEN 'MEMBER' ELSE 'USAGE' END) ORDER BY 1 LIMIT 1) FROM "
    "pg_catalog.pg_roles r WHERE r.rolname OPERATOR(pg_catalog.=) $1::pg_catalog.name";

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

/* Something that an administrator should know. With `strict` it is an error. */
static int tell(const postgres *s, const char *role, const char *why, bool strict, mcp_error *error)
{
    char line[500];
    if (strict)
        return refuse(s, role, why, error);
    snprintf(line, sizeof(line), "PostgreSQL database %.80s: the role %.70s %.280s", s->base.name,
             role, why);
    if (s->host.log)
        s->host.log("warning", line, s->host.user);
    return MCP_OK;
}

static int check_owned(const postgres *s, const char *role, const char *table, bool strict,
                       mcp_error *error)
{
    char why[300];
    snprintf(why, sizeof(why),
             "owns %.100s, so its policies do not apply to this role: ALTER TABLE %.100s FORCE ROW "
             "LEVEL SECURITY",
             table, table);
    return tell(s, role, why, strict, error);
}

static int check_rights(const postgres *s, PGconn *conn, const char *role, bool strict,
                        mcp_error *error)
{
    const char *const values[] = {role, s->callers.own_login ? "t" : "f"};
    PGresult *r =
        answer(s, conn, PQsendQueryParams(conn, role_sql, 2, NULL, values, NULL, NULL, 0));
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

/* A caller of an own login could change to a role that its role is a member of. */
static int check_reach(const postgres *s, PGconn *conn, const char *role, bool strict,
                       mcp_error *error)
{
    static const char sql[] =
        "SELECT o.rolname FROM pg_catalog.pg_roles r, pg_catalog.pg_roles o WHERE r.rolname "
        "OPERATOR(pg_catalog.=) $1::pg_catalog.name AND o.oid OPERATOR(pg_catalog.<>) r.oid AND "
        "o.rolname !~ '^pg_' AND pg_catalog.pg_has_role(r.oid, o.oid, 'MEMBER')";
    const char *const values[] = {role};
    PGresult *r = answer(s, conn, PQsendQueryParams(conn, sql, 1, NULL, values, NULL, NULL, 0));
    int rc = PQresultStatus(r) == PGRES_TUPLES_OK ? MCP_OK : broken(s, conn, r, error);
    for (int i = 0; rc == MCP_OK && i < PQntuples(r); i++) {
        char why[200];
        const char *other = PQgetvalue(r, i, 0);
        for (size_t k = 0; k < s->callers.n_role; k++)
            if (strcmp(s->callers.role[k].name, other) == 0) {
                snprintf(why, sizeof(why),
                         "is a member of %.70s, so its callers can read what that role can: REVOKE",
                         other);
                rc = tell(s, role, why, strict, error);
                break;
            }
    }
    PQclear(r);
    return rc;
}

/* A query of a caller can change the settings that such a policy uses. */
static int check_policies(const postgres *s, PGconn *conn, bool strict, mcp_error *error)
{
    static const char sql[] =
        "SELECT pg_catalog.format('%I.%I', schemaname, tablename) FROM pg_catalog.pg_policies "
        "WHERE pg_catalog.concat(qual, ' ', with_check) ~ 'current_setting' ORDER BY 1 LIMIT 1";
    PGresult *r = answer(s, conn, PQsendQueryParams(conn, sql, 0, NULL, NULL, NULL, NULL, 0));
    int rc = PQresultStatus(r) == PGRES_TUPLES_OK ? MCP_OK : broken(s, conn, r, error);
    if (rc == MCP_OK && PQntuples(r)) {
        char why[300];
        snprintf(why, sizeof(why),
                 "can change the settings that a policy of %.100s uses: with own_login policies "
                 "must use current_user",
                 PQgetvalue(r, 0, 0));
        rc = tell(s, "of a caller", why, strict, error);
    }
    PQclear(r);
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
    int rc = all->own_login ? check_policies(s, conn, strict, error)
                            : check_rights(s, conn, PQuser(conn), strict, error);
    for (size_t i = 0; rc == MCP_OK && i < all->n_role; i++) {
        if (is_repeated(all, i))
            continue;
        const char *role = all->role[i].name;
        rc = check_rights(s, conn, role, strict, error);
        if (rc == MCP_OK)
            rc = all->own_login ? check_reach(s, conn, role, strict, error)
                                : check_change(s, conn, role, error);
    }
    return rc;
}

/* ---- own logins ------------------------------------------------------------------------------ */

static int check_login(postgres *s, const postgres_role *role, uint64_t ms, bool *valid,
                       mcp_error *error)
{
    char text[300] = "";
    bool mighty;
    const char *const values[] = {role->name};
    PGconn *conn = postgres_connect(role->conninfo, ms, NULL, NULL, &mighty, text);
    if (!conn) {
        (void)refuse(s, role->name, text, error);
        return postgres_is_refusal(role->conninfo, text) ? MCP_EACCESS : MCP_EREMOTE;
    }
    PGresult *r = NULL;
    if (PQexitPipelineMode(conn) == 1)
        r = answer(s, conn,
                   PQsendQueryParams(conn, postgres_own_sql, 1, NULL, values, NULL, NULL, 0));
    int rc = MCP_OK;
    if (PQresultStatus(r) != PGRES_TUPLES_OK)
        rc = broken(s, conn, r, error);
    else
        postgres_check_plans(s, conn, valid);
    PQclear(r);
    PQfinish(conn);
    return rc;
}

int postgres_check_logins(postgres *s, uint64_t ms, mcp_error *error)
{
    const postgres_callers *all = &s->callers;
    size_t n = postgres_n_saved(s);
    char line[300];
    bool *valid = common_alloc(&s->base.alloc, n + 1);
    if (!valid)
        return MCP_ENOMEM;
    memset(valid, 0, n + 1);
    int rc = MCP_OK;
    for (size_t i = 0; rc == MCP_OK && i < all->n_role; i++)
        if (!is_repeated(all, i))
            rc = check_login(s, &all->role[i], ms, valid, error);
    for (size_t i = 0; rc == MCP_OK && i < n; i++) {
        snprintf(line, sizeof(line),
                 "postgres: %.80s: no role of run_as can run the saved query "
                 "%.70s",
                 s->base.name, postgres_saved_at(s, i)->name);
        if (!valid[i])
            s->host.log("error", line, s->host.user);
    }
    common_release(&s->base.alloc, valid);
    return rc;
}
