/* session.c: opens one connection from its connection string and sets up the session. It blocks, so
 * it is called on workers and at the start.
 *
 * Every wait has a time limit. libpq's own limit covers only the log-in, not the set-up after it. A
 * connection to one host is made step by step, so that it can be given up at any time. With several
 * hosts only libpq can do it, because only libpq knows which host is next.
 */
#define _GNU_SOURCE
#include "pool.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
    CONNECT_S = 5,
    MOST_CONNECT_S = 60,
    LOOK_MS = 100, /* interval of checking *given_up */
};

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

/* ---- waiting --------------------------------------------------------------------------------- */

typedef struct patience {
    int seconds; /* time limit of the log-in, and again of the set-up */
    int64_t until;
    const atomic_bool *given_up;
    bool stopped; /* the wait ended before its time-out, because *given_up was set */
} patience;

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Returns false after a time-out, or when *given_up is set. */
static bool wait_for(PGconn *conn, short events, patience *p)
{
    for (;;) {
        int64_t left = p->until - now_ms();
        struct pollfd fd = {.fd = PQsocket(conn), .events = events};
        p->stopped = p->given_up && atomic_load(p->given_up);
        if (left <= 0 || fd.fd < 0 || p->stopped)
            return false;
        int n = poll(&fd, 1, left < LOOK_MS ? (int)left : LOOK_MS);
        if (n > 0)
            return true;
        if (n < 0 && errno != EINTR)
            return false;
    }
}

/* Data that TLS has already decrypted does not make the descriptor readable. Each call of libpq
 * reads at least half of a TLS record, so it is called several times. */
bool postgres_consume(PGconn *conn)
{
    int times = PQsslInUse(conn) || PQgssEncInUse(conn) ? 3 : 1;
    while (times-- > 0)
        if (!PQconsumeInput(conn))
            return false;
    return PQstatus(conn) == CONNECTION_OK;
}

/* Waits until PQgetResult() would not block. */
static bool await_result(PGconn *conn, patience *p)
{
    for (;;) {
        int unsent = PQflush(conn);
        if (unsent < 0)
            return false;
        if (!unsent && !PQisBusy(conn))
            return true;
        if (!wait_for(conn, unsent ? POLLIN | POLLOUT : POLLIN, p) || !postgres_consume(conn))
            return false;
    }
}

PGresult *postgres_answer(PGconn *conn, uint64_t ms)
{
    patience p = {.until = now_ms() + (int64_t)ms};
    PGresult *last = NULL;
    while (await_result(conn, &p)) {
        PGresult *r = PQgetResult(conn);
        if (!r)
            return last;
        PQclear(last);
        last = r;
    }
    PQclear(last);
    return NULL;
}

/* ---- setting up ------------------------------------------------------------------------------ */

/* A second safeguard in addition to the transaction around each statement: the session itself is
 * read-only. And statements end even if the client is gone: servers on Linux, from version 14 on,
 * check the connection; others end a statement at its time limit. */
void postgres_session_sql(char sql[POSTGRES_SESSION_SQL], uint64_t timeout_ms)
{
    /* What a value's text depends on, and what a text is read as. A role or a database may have
     * other settings, but a row has only one URI, and no digit may be lost. Not here: lc_monetary,
     * without which an amount of money means nothing, and search_path, which statements need. */
    static const char *const fixed[][2] = {
        {"default_transaction_read_only", "on"},
        {"bytea_output", "hex"},
        {"DateStyle", "ISO"},
        {"IntervalStyle", "postgres"},
        {"TimeZone", "UTC"},
        {"extra_float_digits", "3"}, /* before version 12 only 3 shows all */
        {"array_nulls", "on"},
        {"quote_all_identifiers", "off"},
        {"standard_conforming_strings", "on"},
    };
    int n = snprintf(sql, POSTGRES_SESSION_SQL,
                     "SELECT pg_catalog.set_config('statement_timeout', '%llu', false),"
                     " pg_catalog.set_config('lock_timeout', '%llu', false),"
                     " pg_catalog.set_config('idle_in_transaction_session_timeout', '%llu', false)",
                     (unsigned long long)timeout_ms, (unsigned long long)timeout_ms,
                     (unsigned long long)timeout_ms * 2);
    for (size_t i = 0; i < sizeof(fixed) / sizeof(*fixed); i++)
        n += snprintf(sql + n, POSTGRES_SESSION_SQL - (size_t)n,
                      ", pg_catalog.set_config('%s', '%s', false)", fixed[i][0], fixed[i][1]);
    snprintf(sql + n, POSTGRES_SESSION_SQL - (size_t)n,
             ", CASE WHEN pg_catalog.version() LIKE '%%linux%%' AND pg_catalog.current_setting("
             "'client_connection_check_interval', true) IS NOT NULL THEN pg_catalog.set_config("
             "'client_connection_check_interval', '200', false) END");
}

/* Privileges with which a query could do more than read tables: read and write files of the server,
 * run programs there, and create and drop replication slots. A rollback undoes none of this. */
static const char mighty_sql[] =
    "SELECT rolsuper OR rolreplication OR EXISTS (SELECT 1 FROM pg_catalog.pg_roles p WHERE "
    "p.rolname IN ('pg_read_server_files', 'pg_write_server_files', 'pg_execute_server_program') "
    "AND pg_catalog.pg_has_role(p.oid, 'MEMBER')) FROM pg_catalog.pg_roles WHERE rolname = "
    "session_user";

/* Sends all statements in one message. The second result tells whether the role has
 * such privileges. What the session has learned for it is forgotten (POSTGRES_FORGET_ROLES). */
static bool set_up(PGconn *conn, const char *sql, patience *p, bool *mighty)
{
    bool ok = PQsetnonblocking(conn, 1) == 0 && PQsendQuery(conn, sql);
    *mighty = true;
    for (int i = 0; ok; i++) {
        if (!await_result(conn, p))
            return false;
        PGresult *r = PQgetResult(conn);
        if (!r)
            break;
        if (i == 1)
            *mighty = PQntuples(r) != 1 || *PQgetvalue(r, 0, 0) != 'f';
        ok = PQresultStatus(r) == PGRES_TUPLES_OK || PQresultStatus(r) == PGRES_COMMAND_OK;
        PQclear(r);
    }
    return ok && PQenterPipelineMode(conn) == 1;
}

static void quiet(void *user, const PGresult *notice)
{
    (void)user, (void)notice;
}

/* ---- connecting ------------------------------------------------------------------------------ */

/* Reads libpq's effective options: the time limit, and whether there are several
 * hosts (the result). */
static bool look_at_options(PGconn *conn, int *seconds)
{
    PQconninfoOption *all = PQconninfo(conn);
    bool several = false;
    for (const PQconninfoOption *o = all; o && o->keyword; o++) {
        if (o->val && strcmp(o->keyword, "connect_timeout") == 0)
            *seconds = (int)strtol(o->val, NULL, 10);
        if (o->val && strncmp(o->keyword, "host", 4) == 0 && strchr(o->val, ','))
            several = true;
    }
    if (*seconds < 1 || *seconds > MOST_CONNECT_S) /* the connection string may also
                                                    * request no limit */
        *seconds = MOST_CONNECT_S;
    PQconninfoFree(all);
    return several;
}

/* Returns false after a time-out, or when *given_up is set. */
static bool step_by_step(PGconn *conn, patience *p)
{
    PostgresPollingStatusType status = PGRES_POLLING_WRITING;
    while (status == PGRES_POLLING_WRITING || status == PGRES_POLLING_READING) {
        if (PQstatus(conn) == CONNECTION_BAD)
            return true;
        if (!wait_for(conn, status == PGRES_POLLING_READING ? POLLIN : POLLOUT, p))
            return false;
        status = PQconnectPoll(conn);
    }
    return true;
}

/* Returns NULL if there is no memory. Sets *late if it timed out or was given up. */
static PGconn *dial(const char *conninfo, patience *p, bool *late)
{
    /* The later value of a keyword wins: defaults are before conninfo, required values after it. */
    static const char *const keywords[] = {"connect_timeout",  "tcp_user_timeout",
                                           "keepalives_idle",  "keepalives_interval",
                                           "keepalives_count", "fallback_application_name",
                                           "dbname",           "client_encoding",
                                           "connect_timeout",  NULL};
    char limit[16];
    const char *values[] = {"5", "10000", "30", "10", "3", "mcp", conninfo, "UTF8", NULL, NULL};
    PGconn *conn = PQconnectStartParams(keywords, values, 1);
    *late = false;
    if (!conn || PQstatus(conn) == CONNECTION_BAD)
        return conn;
    if (!look_at_options(conn, &p->seconds)) {
        p->until = now_ms() + p->seconds * 1000;
        *late = !step_by_step(conn, p);
        return conn;
    }
    PQfinish(conn);
    snprintf(limit, sizeof(limit), "%d", p->seconds);
    values[sizeof(keywords) / sizeof(*keywords) - 2] = limit;
    return PQconnectdbParams(keywords, values, 1);
}

PGconn *postgres_connect(const char *conninfo, uint64_t timeout_ms, const char *after,
                         const atomic_bool *given_up, bool *mighty, char text[300])
{
    char session[POSTGRES_SESSION_SQL], sql[POSTGRES_SESSION_SQL + sizeof(mighty_sql) + 600];
    bool late;
    patience p = {.seconds = CONNECT_S, .given_up = given_up};
    PGconn *conn = dial(conninfo, &p, &late);
    postgres_session_sql(session, timeout_ms);
    snprintf(sql, sizeof(sql), "%s;%s;SELECT " POSTGRES_FORGET_ROLES ";%.200s", session, mighty_sql,
             after ? after : "");
    if (conn && !late && PQstatus(conn) == CONNECTION_OK) {
        PQsetNoticeReceiver(conn, quiet, NULL); /* libpq's default prints to stderr */
        p.until = now_ms() + p.seconds * 1000;
        if (set_up(conn, sql, &p, mighty))
            return conn;
    }
    postgres_why(conn ? PQerrorMessage(conn) : "out of memory", text);
    if (!text[0] || late)
        snprintf(text, 300, "%s", p.stopped ? "" : POSTGRES_NO_ANSWER);
    PQfinish(conn);
    return NULL;
}

/* A certificate that is not trusted now will not be trusted later. The words are from messages of
 * libpq and OpenSSL. */
bool postgres_is_refusal(const char *conninfo, const char *text)
{
    static const char *const words[] = {"certificate", "private key", "does not support SSL"};
    static const char *const keywords[] = {"dbname", "connect_timeout", NULL};
    const char *values[] = {conninfo, "2", NULL};
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
        if (strstr(text, words[i]))
            return true;
    return strcmp(text, POSTGRES_NO_ANSWER) != 0 && PQpingParams(keywords, values, 1) == PQPING_OK;
}
