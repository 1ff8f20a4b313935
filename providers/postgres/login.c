/* login.c: connections that log in as the roles of callers (the option own_login).
 *
 * Each role has a pool. They share a limit of connections, because there may be many roles. The
 * password or the certificate of a role is found as libpq does it: in a password file, by the user
 * name, or with "peer"; "logins" names other files for single roles. The configuration contains no
 * password: one in the source, in a service file or in PGPASSWORD would be tried for every role.
 */
#include "caller.h"

#include "mounting.h"
#include "sql.h"

static const char *const parameters[POSTGRES_LOGINS] = {"passfile", "sslcert", "sslkey"};

static int refuse(mcp_error *error, const char *why)
{
    return common_refuse(error, MCP_EINVAL, "run_as", why);
}

static void put_parameter(postgres_sql *to, const char *keyword, mcp_str value)
{
    postgres_putf(to, " %s='", keyword);
    for (size_t i = 0; i < value.len; i++) {
        postgres_put(to, value.ptr[i] == '\'' || value.ptr[i] == '\\' ? "\\" : "");
        postgres_put_str(to, (mcp_str){value.ptr + i, 1});
    }
    postgres_put(to, "'");
}

/* Puts the parameters of the source, without its role. */
static int put_source(postgres_sql *to, const char *conninfo, mcp_error *error)
{
    PQconninfoOption *all = PQconninfoParse(conninfo, NULL);
    int rc = all ? MCP_OK : MCP_EINVAL; /* was parsed before */
    for (const PQconninfoOption *o = all; rc == MCP_OK && o->keyword; o++) {
        if (!o->val || !*o->val || strcmp(o->keyword, "user") == 0)
            continue;
        if (strcmp(o->keyword, "password") == 0)
            rc = refuse(error, "with own_login the source must not contain a password, because it "
                               "would be used for all roles: use a password file");
        else
            put_parameter(to, o->keyword, mcp_str_from(o->val));
    }
    PQconninfoFree(all);
    return rc;
}

/* Later parameters replace earlier ones. */
static int put_login(postgres_sql *to, const mcp_json *login, mcp_error *error)
{
    for (size_t i = 0; i < POSTGRES_LOGINS; i++) {
        mcp_str value = mcp_json_string(mcp_json_get(login, parameters[i]));
        if (value.ptr && (!value.len || memchr(value.ptr, 0, value.len)))
            return refuse(error, "\"logins\" has an invalid file name");
        if (value.ptr)
            put_parameter(to, parameters[i], value);
    }
    return MCP_OK;
}

static const postgres_role *find(const postgres_callers *all, mcp_str name)
{
    for (size_t i = 0; i < all->n_role; i++)
        if (mcp_str_eq(mcp_str_from(all->role[i].name), name))
            return &all->role[i];
    return NULL;
}

static int check_logins(const postgres_callers *all, const mcp_json *logins, mcp_error *error)
{
    mcp_json_iter it = {0};
    mcp_str name;
    while (mcp_json_is(logins, MCP_JSON_OBJECT) && mcp_json_next(logins, &it, &name))
        if (!find(all, name))
            return refuse(error, "\"logins\" names a role that is not in \"roles\"");
    return MCP_OK;
}

int postgres_logins_load(postgres_callers *all, const mcp_allocator *alloc, const char *conninfo,
                         const mcp_json *from, mcp_error *error)
{
    const mcp_json *logins = mcp_json_get(from, "logins");
    postgres_sql text;
    int rc = check_logins(all, logins, error);
    postgres_sql_init(&text, alloc);
    for (size_t i = 0; rc == MCP_OK && i < all->n_role; i++) {
        postgres_role *role = &all->role[i];
        postgres_sql_reset(&text);
        rc = put_source(&text, conninfo, error);
        if (rc == MCP_OK)
            rc = put_login(&text, mcp_json_get(logins, role->name), error);
        put_parameter(&text, "user", mcp_str_from(role->name));
        put_parameter(&text, "password", MCP_STR("")); /* not that of a service or of PGPASSWORD */
        const char *made = postgres_sql_text(&text);
        role->conninfo = made ? common_copy(alloc, made, strlen(made)) : NULL;
        if (rc == MCP_OK && !role->conninfo)
            rc = MCP_ENOMEM;
    }
    postgres_sql_free(&text);
    return rc;
}

int postgres_logins_open(postgres_callers *all, const postgres_pool_options *options)
{
    int rc = MCP_OK;
    all->budget.max = options->max;
    for (size_t i = 0; rc == MCP_OK && i < all->n_role; i++) {
        postgres_role *role = &all->role[i];
        postgres_pool_options o = *options;
        const postgres_role *first = find(all, mcp_str_from(role->name));
        role->shares = first != role;
        role->pool = first->pool;
        o.conninfo = role->conninfo;
        o.budget = &all->budget;
        o.own = true;
        o.connected = NULL;
        if (!role->shares)
            rc = postgres_pool_new(&o, &role->pool);
    }
    return rc;
}

void postgres_logins_close(postgres_callers *all)
{
    for (size_t i = 0; i < all->n_role; i++) {
        if (!all->role[i].shares)
            postgres_pool_free(all->role[i].pool);
        all->role[i].pool = NULL;
    }
}

/* The casts of texts to bool fail; the text becomes the database's message. A connection pooler, a
 * map of the database server or ALTER ROLE … SET role may have changed the role. */
const char postgres_own_sql[] =
    "SELECT CASE WHEN session_user OPERATOR(pg_catalog.<>) $1::pg_catalog.name OR current_user "
    "OPERATOR(pg_catalog.<>) $1::pg_catalog.name THEN pg_catalog.concat('the session has the role "
    "', current_user, ' instead of ', $1::pg_catalog.text)::pg_catalog.bool END, (SELECT "
    "pg_catalog.concat(rolname, ' is a role without row-level security')::pg_catalog.bool FROM "
    "pg_catalog.pg_roles WHERE (rolsuper OR rolbypassrls OR rolreplication) AND "
    "pg_catalog.pg_has_role(session_user, oid, 'MEMBER') LIMIT 1)";
