/* check.c: checks whether saved queries can be run before they are requested: when the database is
 * mounted or, if it was not reachable then, with the first connection.
 *
 * The database plans each query as it would be run, without running it. An invalid query is logged
 * and stays registered, because what it needs may be created later; a read of it reports the same
 * error.
 */
#include "provider.h"

#include <stdio.h>

static const char *const no_values[COMMON_QUERY_PARAMETERS];

static void tell(const postgres *s, const common_query *q, const char *state, const char *why)
{
    char line[600], other[80] = "";
    if (strcmp(state, "08P01") == 0)
        snprintf(other, sizeof(other), "its parameters do not match the statement: ");
    snprintf(line, sizeof(line), "postgres: %.80s: the saved query %.70s: %s%.300s", s->base.name,
             q->name, other, why);
    if (s->host.log)
        s->host.log("error", line, s->host.user);
}

/* Returns the statement to plan, with *n parameters. Returns NULL after logging an error, or if
 * there is no memory. */
static const char *plan_of(postgres *s, const common_query *q, int *n)
{
    postgres_sql *to = &s->check.sql;
    postgres_sql_reset(to);
    *n = 0;
    if (q->write) { /* planned as it is, which changes nothing */
        *n = (int)q->n_parameter;
        postgres_put(to, "EXPLAIN ");
        postgres_put(to, q->sql);
        return postgres_sql_text(to);
    }
    switch (postgres_beginning_of(q->sql)) {
    case POSTGRES_REFUSED: tell(s, q, "", POSTGRES_WHAT_IS_RUN); return NULL;
    case POSTGRES_STATEMENT:
        return "SELECT 1"; /* SHOW and EXPLAIN cannot be planned and are not checked further */
    case POSTGRES_QUERY:
        *n = (int)q->n_parameter;
        postgres_put(to, "EXPLAIN ");
        postgres_put_query(to, q->sql, s->max_bytes);
    }
    return postgres_sql_text(to);
}

/* Returns whether the error is caused by the query itself. Other errors are temporary: locks,
 * time-outs, and a lack of the server's resources. */
static bool is_verdict(const char *state)
{
    static const char *const moments[] = {"40", "53", "55", "57", "58"};
    for (size_t i = 0; i < sizeof(moments) / sizeof(*moments); i++)
        if (strncmp(state, moments[i], 2) == 0)
            return false;
    return *state != 0;
}

/* ---- at the start, on a connection of their own ---------------------------------------------- */

static bool run(postgres *s, PGconn *conn, int sent, char state[6], char why[300])
{
    PGresult *r = sent ? postgres_answer(conn, 2 * s->timeout_ms) : NULL;
    bool ok = PQresultStatus(r) == PGRES_COMMAND_OK || PQresultStatus(r) == PGRES_TUPLES_OK;
    const char *code = PQresultErrorField(r, PG_DIAG_SQLSTATE);
    const char *text = PQresultErrorField(r, PG_DIAG_MESSAGE_PRIMARY);
    if (!ok) {
        snprintf(state, 6, "%s", code ? code : "");
        postgres_why(text ? text : PQerrorMessage(conn), why);
    }
    PQclear(r);
    return ok;
}

/* Changes to a role of callers. The settings are empty, because there is no caller. */
static bool set_role(postgres *s, PGconn *conn, const char *role, char state[6], char why[300])
{
    char sql[2 * POSTGRES_ROLE_MAX + 40], settings[POSTGRES_SETTINGS_SQL];
    const char *values[2 * (POSTGRES_SETTINGS + 1)];
    const postgres_callers *all = &s->callers;
    char *quoted = PQescapeIdentifier(conn, role, strlen(role));
    if (!quoted)
        return false;
    snprintf(sql, sizeof(sql), "SET LOCAL ROLE %s", quoted);
    PQfreemem(quoted);
    for (size_t i = 0; i < all->n_setting; i++) {
        values[2 * i] = all->setting[i].name;
        values[2 * i + 1] = "";
    }
    int n = (int)all->n_setting;
    postgres_settings_sql(settings, n);
    return run(s, conn, PQsendQuery(conn, sql), state, why) &&
           run(s, conn, PQsendQueryParams(conn, settings, 2 * n, NULL, values, NULL, NULL, 0),
               state, why);
}

/* Plans the query, with the role if it is not NULL. */
static bool try_plan(postgres *s, PGconn *conn, const common_query *q, const char *role,
                     char state[6], char why[300])
{
    int n;
    const char *plan = plan_of(s, q, &n);
    bool ok =
        plan && run(s, conn, PQsendQuery(conn, "BEGIN READ ONLY"), state, why) &&
        (!role || set_role(s, conn, role, state, why)) &&
        run(s, conn, PQsendPrepare(conn, "", q->sql, 0, NULL), state, why) &&
        run(s, conn, PQsendQueryParams(conn, plan, n, NULL, no_values, NULL, NULL, 0), state, why);
    char ignored[6], words[300];
    if (plan)
        run(s, conn, PQsendQuery(conn, "ROLLBACK"), ignored, words);
    return ok || !plan;
}

/* Returns whether a role of callers can run the query. An error about a value (class 22) counts as
 * success, because an empty setting may have caused it. */
static bool try_roles(postgres *s, PGconn *conn, const common_query *q, char state[6],
                      char why[300])
{
    for (size_t i = 0; i < s->callers.n_role; i++)
        if (try_plan(s, conn, q, s->callers.role[i].name, state, why) ||
            strncmp(state, "22", 2) == 0)
            return true;
    return false;
}

/* Returns false if the check gave no result. */
static bool check_now(postgres *s, PGconn *conn, const common_query *q)
{
    char state[6] = "", why[300] = "";
    bool ok =
        s->callers.on ? try_roles(s, conn, q, state, why) : try_plan(s, conn, q, NULL, state, why);
    if (!ok && is_verdict(state))
        tell(s, q, state, why);
    return ok || is_verdict(state);
}

void postgres_check_now(postgres *s, PGconn *conn)
{
    bool ok = PQexitPipelineMode(conn) == 1;
    for (size_t i = 0; ok && i < postgres_n_saved(s); i++)
        ok = check_now(s, conn, postgres_saved_at(s, i));
    s->check.done = ok;
}

void postgres_check_plans(postgres *s, PGconn *conn, bool *valid)
{
    char state[6] = "", why[300] = "";
    for (size_t i = 0; i < postgres_n_saved(s); i++)
        valid[i] = valid[i] || try_plan(s, conn, postgres_saved_at(s, i), NULL, state, why) ||
                   strncmp(state, "22", 2) == 0;
}

/* ---- later, on a connection of the pool ------------------------------------------------------ */

static void check_next(postgres *s);

static void end_check(postgres_op *op, int rc)
{
    postgres *s = op->user;
    bool verdict = rc == MCP_EREMOTE && is_verdict(op->state);
    if (verdict)
        tell(s, postgres_saved_at(s, s->check.at), op->state, op->text);
    s->check.running = false;
    if (rc == MCP_OK || verdict) {
        s->check.at++;
        check_next(s);
    } else {
        s->check.done = rc == MCP_EACCESS; /* no statement from outside is run for this role */
    }
}

static void check_next(postgres *s)
{
    postgres_check *c = &s->check;
    for (; c->at < postgres_n_saved(s); c->at++) {
        const common_query *q = postgres_saved_at(s, c->at);
        int n;
        const char *plan = plan_of(s, q, &n);
        if (!plan)
            continue;
        c->op = (postgres_op){.sql = plan,
                              .n_value = n,
                              .outside = true,
                              .alone = q->sql,
                              .max_bytes = 1 << 20,
                              .timeout_ms = s->timeout_ms,
                              .end = end_check,
                              .user = s};
        c->running = true;
        postgres_pool_run(s->pool, &c->op);
        return;
    }
    c->done = true;
}

void postgres_check_later(void *user, bool again)
{
    postgres *s = user;
    (void)again;
    if (s->callers.on) /* the login role may have no rights */
        return;
    if (!s->check.done && !s->check.running)
        check_next(s);
}
