/* session.c: one connection, from the words of its source to a session that is set up. Blocks: for workers,
 * and for the start. */
#include "pool.h"

#include <stdio.h>

void postgres_why(const char *message, char text[300])
{
    size_t n = 0;
    for (; *message && n < 299; message++)
        if ((unsigned char)*message >= ' ')
            text[n++] = *message;
        else if (n && text[n - 1] != ' ')
            text[n++] = ' ';
    while (n && text[n - 1] == ' ')
        n--;
    text[n] = 0;
}

/* Beside the transaction that is around every statement: what somebody forgets is read-only too, and ends
 * by itself, also when nobody is left to cancel it. */
void postgres_session_sql(char sql[400], uint64_t timeout_ms)
{
    snprintf(sql, 400,
             "SELECT pg_catalog.set_config('default_transaction_read_only', 'on', false),"
             " pg_catalog.set_config('statement_timeout', '%llu', false),"
             " pg_catalog.set_config('lock_timeout', '%llu', false),"
             " pg_catalog.set_config('idle_in_transaction_session_timeout', '%llu', false),"
             " pg_catalog.set_config('bytea_output', 'hex', false),"
             " pg_catalog.set_config('DateStyle', 'ISO', false)",
             (unsigned long long)timeout_ms, (unsigned long long)timeout_ms,
             (unsigned long long)timeout_ms * 2);
}

/* What a query of such a role could do beside reading tables: read and write files of the server's, run
 * programs there. */
static const char mighty_sql[] =
    "SELECT rolsuper OR EXISTS (SELECT 1 FROM pg_catalog.pg_roles p WHERE p.rolname IN "
    "('pg_read_server_files', 'pg_write_server_files', 'pg_execute_server_program') AND "
    "pg_catalog.pg_has_role(p.oid, 'MEMBER')) FROM pg_catalog.pg_roles WHERE rolname = "
    "session_user";

static bool run(PGconn *conn, const char *sql, bool *truth)
{
    PGresult *r = PQexec(conn, sql);
    bool ok = PQresultStatus(r) == PGRES_TUPLES_OK || PQresultStatus(r) == PGRES_COMMAND_OK;
    if (ok && truth)
        *truth = PQntuples(r) != 1 || *PQgetvalue(r, 0, 0) != 'f';
    PQclear(r);
    return ok;
}

static bool set_up(PGconn *conn, uint64_t timeout_ms, const char *after, bool *mighty)
{
    char sql[400];
    postgres_session_sql(sql, timeout_ms);
    return run(conn, sql, NULL) && run(conn, mighty_sql, mighty) &&
           (!after || run(conn, after, NULL)) && PQsetnonblocking(conn, 1) == 0 &&
           PQenterPipelineMode(conn) == 1;
}

static void quiet(void *user, const PGresult *notice)
{
    (void)user, (void)notice;
}

PGconn *postgres_connect(const char *conninfo, uint64_t timeout_ms, const char *after, bool *mighty,
                         char text[300])
{
    /* Defaults stand before the source's own words, what must be so behind them. */
    static const char *const keywords[] = {"connect_timeout",           "tcp_user_timeout",
                                           "fallback_application_name", "dbname",
                                           "client_encoding",           NULL};
    const char *values[] = {"5", "10000", "mcp", conninfo, "UTF8", NULL};
    PGconn *conn = PQconnectdbParams(keywords, values, 1);
    if (!conn || PQstatus(conn) != CONNECTION_OK) {
        postgres_why(conn ? PQerrorMessage(conn) : "out of memory", text);
        PQfinish(conn);
        return NULL;
    }
    PQsetNoticeReceiver(conn, quiet, NULL); /* libpq's own prints to stderr */
    if (set_up(conn, timeout_ms, after, mighty))
        return conn;
    postgres_why(PQerrorMessage(conn), text);
    PQfinish(conn);
    return NULL;
}
