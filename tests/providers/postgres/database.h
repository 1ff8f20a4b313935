/* database.h: a PostgreSQL server for the test, and an MCP server on a loop with one peer.
 *
 * On a busy machine everything may take long. So a limit that something healthy could meet decides
 * nothing (LONG_MS, PATIENT). What only a limit can end has a short one (open_for()), or it ends
 * when the test lets the time of the limit pass on the provider's clock (let_pass()). */
#ifndef MCP_TESTS_POSTGRES_DATABASE_H
#define MCP_TESTS_POSTGRES_DATABASE_H

#include "peer.h"
#include "polled.h"

#include <mcp/io.h>

#include "postgres.h"

#include <libpq-fe.h>

enum {
    LONG_MS = 120000, /* limit of a request, if options have none */
    SHORT_MS = 500,   /* limit of a request that nothing else ends */
    HANGS_MS = 60000, /* what is waited for, and takes longer, hangs */
};

#define PATIENT " connect_timeout=60" /* the limit of a log-in, in seconds */

static char top[64], conninfo[160];
static mcp_loop *loop;
static uint64_t limit_ms; /* of the requests to the latest server */

/* Runs `server VERB DIR` and returns its exit status. */
static inline int server(const char *verb)
{
    char command[600];
    snprintf(command, sizeof(command), "'%s/providers/postgres/server' %s %s", MCP_TEST_SOURCE_DIR,
             verb, top);
    int status = system(command);
    return status == -1 ? 1 : status >> 8;
}

/* Creates and starts the PostgreSQL server. Returns 77 if PostgreSQL is not installed. */
static inline int make_database(void)
{
    char command[600];
    strcpy(top, "/tmp/mcp-postgres-XXXXXX");
    if (!mkdtemp(top))
        return 1;
    int rc = server("make");
    if (rc == 0)
        rc = server("start");
    snprintf(command, sizeof(command),
             "psql -q -v ON_ERROR_STOP=1 -h %s -U postgres -f '%s/providers/postgres/shop.sql' "
             "postgres >/dev/null",
             top, MCP_TEST_SOURCE_DIR);
    snprintf(conninfo, sizeof(conninfo), "host=%s user=reader dbname=shop" PATIENT, top);
    return rc ? rc : system(command) >> 8;
}

static inline PGconn *owner_connect(void)
{
    char text[160];
    snprintf(text, sizeof(text), "host=%s user=postgres dbname=shop", top);
    return PQconnectdb(text);
}

/* Runs a statement as the database's owner, from another connection. Returns its first value. */
static inline const char *sql_value(const char *sql)
{
    static char value[200];
    PGconn *c = owner_connect();
    PGresult *r = PQexec(c, sql);
    if (PQresultStatus(r) != PGRES_COMMAND_OK && PQresultStatus(r) != PGRES_TUPLES_OK)
        fail_msg("%s: %.300s", PQerrorMessage(c), sql);
    snprintf(value, sizeof(value), "%s", PQntuples(r) && PQnfields(r) ? PQgetvalue(r, 0, 0) : "");
    PQclear(r);
    PQfinish(c);
    return value;
}

static inline void run_sql(const char *sql)
{
    (void)sql_value(sql);
}

/* ---- the provider's clock: the loop's, which a test can stop and advance -------------------- */

static int64_t clock_passed, clock_stopped_at; /* clock_stopped_at is 0 while it runs */

static inline int64_t clock_of_loop(void)
{
    const mcp_host *h = mcp_loop_host(loop);
    return h->now(h->user);
}

static inline int64_t clock_now(void *user)
{
    (void)user;
    return (clock_stopped_at ? clock_stopped_at : clock_of_loop()) + clock_passed;
}

static inline void clock_stop(void)
{
    clock_stopped_at = clock_of_loop();
}

static inline void let_pass(int64_t ms)
{
    clock_passed += ms;
}

/* ---- the server ------------------------------------------------------------------------------ */

static inline int peer_open(peer *p, mcp_postgres_options *o)
{
    memset(p, 0, sizeof(*p));
    assert_int_equal(mcp_loop_new(NULL, &loop, NULL), MCP_OK);
    p->loop = loop;
    mcp_host host = polled_host(loop);
    host.now = clock_now;
    clock_passed = clock_stopped_at = 0;
    int rc = peer_serve(p, &host, NULL);
    o->size = sizeof(*o);
    if (!o->conninfo)
        o->conninfo = conninfo;
    if (!o->timeout_ms)
        o->timeout_ms = LONG_MS;
    limit_ms = o->timeout_ms;
    if (rc == MCP_OK)
        rc = mcp_postgres_mount(p->server, o, &p->error);
    return rc == MCP_OK ? peer_connect(p) : rc;
}

typedef struct exchange {
    const char *method, *params;
    const char *has[5]; /* see check_reply() */
} exchange;

static inline void check_exchange(peer *p, const exchange *e)
{
    check_reply(e->params, ask_and_wait(p, e->method, e->params), e->has);
}

#define LATE "too long" /* what the answer says if the limit has ended a request */

/* Opens the server again if it has not the limit that this exchange needs. */
static inline void open_for(peer *p, const exchange *e, void (*open)(mcp_postgres_options o),
                            mcp_postgres_options o)
{
    o.timeout_ms = LONG_MS;
    for (size_t i = 0; i < sizeof(e->has) / sizeof(*e->has) && e->has[i]; i++)
        if (strstr(e->has[i], LATE))
            o.timeout_ms = SHORT_MS;
    if (p->server && limit_ms == o.timeout_ms)
        return;
    if (p->server)
        peer_close(p);
    open(o);
}

/* Repeats the request for at most `ms` until the answer is as wanted, because an outage may still
 * cause an error or two. Pauses between attempts to connect pass at once. Returns whether it was. */
static inline bool answers_within(peer *p, const char *method, const char *params,
                                  const char *wanted, int64_t ms)
{
    for (int64_t until = now() + ms; !strstr(ask_and_wait(p, method, params), wanted);) {
        if (now() >= until)
            return false;
        mcp_loop_step(loop, 50);
        let_pass(1000);
    }
    return true;
}

static inline void ask_until(peer *p, const char *method, const char *params, const char *wanted)
{
    if (!answers_within(p, method, params, wanted, HANGS_MS))
        fail_msg("%s: %.3000s", params, p->reply);
}

/* Runs the loop until the database has this value for its owner. */
static inline void await_sql(peer *p, const char *sql, const char *wanted)
{
    const char *found;
    for (int64_t until = now() + HANGS_MS; strcmp(found = sql_value(sql), wanted) != 0;) {
        if (now() >= until)
            fail_msg("%s: %s, not %s", sql, found, wanted);
        mcp_loop_step(loop, 10);
        mcp_channel_tick(p->channel, now());
    }
}

/* Runs the loop until what was changed before this call has been told. The connection for
 * subscribers looks for changes one time after the other: one look ends that may have begun before
 * the call, the next one sees what there is, and the one after it begins when that was told. */
static inline void await_told(peer *p)
{
    char sql[400];
    for (int looks = 0; looks < 3; looks++) {
        snprintf(sql, sizeof(sql),
                 "SELECT count(*) > 0 FROM pg_stat_activity WHERE usename = 'reader' AND state = "
                 "'idle' AND query = 'ROLLBACK' AND state_change > '%s'",
                 sql_value("SELECT clock_timestamp()"));
        await_sql(p, sql, "t");
    }
}

/* ---- a barrier: statements wait at it until PQfinish() of the owner's connection ------------- */

#define BARRIER "pg_advisory_xact_lock_shared(99)"

static inline PGconn *barrier_close(void)
{
    PGconn *c = owner_connect();
    PQclear(PQexec(c, "SELECT pg_advisory_lock(99)"));
    return c;
}

static inline void barrier_await(peer *p, const char *number)
{
    await_sql(p, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted",
              number);
}

#define COMPLETE "completion/complete"
#define URI(u)   "\"uri\":\"postgres://shop/" u "\""
#define SQL(s)   "\"name\":\"query_postgres_shop\",\"arguments\":{\"sql\":\"" s "\"}"
/* The same with more arguments, given as JSON. */
#define SQL_WITH(s, more) \
    "\"name\":\"query_postgres_shop\",\"arguments\":{\"sql\":\"" s "\"," more "}"

#endif
