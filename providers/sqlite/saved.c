/* saved.c: loads saved queries. If the database is available when the server starts, each query is
 * checked: it must be one read-only statement that uses exactly the declared parameters. */
#include "provider.h"

#include <stdio.h>

#include "guard.h"

_Static_assert((int)COMMON_QUERY_PARAMETERS <= (int)SQLITE_URI_PARAMS,
               "a URI has room for all parameters");

typedef struct check {
    const common_query *q;
    char why[256];
} check;

static int check_parameters(check *c, sqlite3_stmt *stmt)
{
    for (int i = 1; i <= sqlite3_bind_parameter_count(stmt); i++) {
        const char *name = sqlite3_bind_parameter_name(stmt, i);
        if (!name || *name != ':' || !common_query_parameter(c->q, mcp_str_from(name + 1)))
            snprintf(c->why, sizeof(c->why), "%.60s is not among its parameters, as :NAME",
                     name ? name : "?");
    }
    for (size_t i = 0; i < c->q->n_parameter; i++) {
        char name[80];
        snprintf(name, sizeof(name), ":%s", c->q->parameter[i].name);
        if (!sqlite3_bind_parameter_index(stmt, name))
            snprintf(c->why, sizeof(c->why), "the parameter %.60s is not used",
                     c->q->parameter[i].name);
    }
    return SQLITE_OK;
}

static int check_use(sqlite_conn *conn, void *user)
{
    check *c = user;
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite_guard_prepare(conn, mcp_str_from(c->q->sql), &stmt, c->why);
    if ((rc & 0xff) == SQLITE_ERROR) {
        snprintf(c->why, sizeof(c->why), "%s", sqlite3_errmsg(conn->db));
        rc = SQLITE_OK;
    }
    if (rc == SQLITE_OK && stmt)
        rc = check_parameters(c, stmt);
    sqlite3_finalize(stmt);
    return (rc & 0xff) == SQLITE_AUTH ? SQLITE_OK : rc;
}

/* Checks a query. A locked database does not prevent the server from starting. */
static int check_query(sqlite *s, const common_query *q, mcp_error *error)
{
    check c = {.q = q};
    sqlite_bounds bounds = {.timeout_ms = 200};
    sqlite_conn *conn = NULL;
    int code;
    char text[256];
    int rc = sqlite_use(&s->file, &conn, &bounds, check_use, &c, &code, text);
    sqlite_conn_free(conn);
    if (rc == MCP_OK && c.why[0])
        return common_query_refuse(error, q->name, "%.190s", c.why);
    return rc == MCP_ENOMEM ? rc : MCP_OK;
}

int sqlite_saved_check(sqlite *s, mcp_error *error)
{
    int rc = MCP_OK;
    for (size_t i = 0; rc == MCP_OK && i < s->base.queries.n; i++)
        rc = check_query(s, &s->base.queries.query[i], error);
    return rc;
}
