/* database.h: a PostgreSQL server for the test, and an MCP server on a loop with one peer. */
#ifndef MCP_TESTS_POSTGRES_DATABASE_H
#define MCP_TESTS_POSTGRES_DATABASE_H

#include "peer.h"
#include "polled.h"

#include <mcp/io.h>

#include "postgres.h"

#include <libpq-fe.h>

static char top[64], conninfo[160];
static mcp_loop *loop;

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
    snprintf(conninfo, sizeof(conninfo), "host=%s user=reader dbname=shop", top);
    return rc ? rc : system(command) >> 8;
}

/* Runs a statement as the database's owner, from another connection. */
static inline void run_sql(const char *sql)
{
    char text[160];
    snprintf(text, sizeof(text), "host=%s user=postgres dbname=shop", top);
    PGconn *c = PQconnectdb(text);
    PGresult *r = PQexec(c, sql);
    if (PQresultStatus(r) != PGRES_COMMAND_OK && PQresultStatus(r) != PGRES_TUPLES_OK)
        fail_msg("%s: %.300s", PQerrorMessage(c), sql);
    PQclear(r);
    PQfinish(c);
}

static inline int peer_open(peer *p, mcp_postgres_options *o)
{
    memset(p, 0, sizeof(*p));
    assert_int_equal(mcp_loop_new(NULL, &loop, NULL), MCP_OK);
    p->loop = loop;
    mcp_host host = polled_host(loop);
    int rc = peer_serve(p, &host, NULL);
    o->size = sizeof(*o);
    if (!o->conninfo)
        o->conninfo = conninfo;
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

#define COMPLETE "completion/complete"
#define URI(u)   "\"uri\":\"postgres://shop/" u "\""
#define SQL(s)   "\"name\":\"query_postgres_shop\",\"arguments\":{\"sql\":\"" s "\"}"
/* The same with more arguments, given as JSON. */
#define SQL_WITH(s, more) \
    "\"name\":\"query_postgres_shop\",\"arguments\":{\"sql\":\"" s "\"," more "}"

#endif
