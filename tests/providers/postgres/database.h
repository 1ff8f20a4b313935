/* database.h: a PostgreSQL server of the test's own, and a server of MCP on a loop with one peer. */
#ifndef MCP_TESTS_POSTGRES_DATABASE_H
#define MCP_TESTS_POSTGRES_DATABASE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include <mcp/io.h>

#include "postgres.h"

#include <libpq-fe.h>

static char top[64], conninfo[160];
static mcp_loop *loop;

/* `server VERB DIR`; its exit status. */
static inline int server(const char *verb)
{
    char command[600];
    snprintf(command, sizeof command, "'%s/providers/postgres/server' %s %s", MCP_TEST_SOURCE_DIR,
             verb, top);
    int status = system(command);
    return status == -1 ? 1 : status >> 8;
}

/* 77: there is no PostgreSQL here. */
static inline int make_database(void)
{
    char command[600];
    strcpy(top, "/tmp/mcp-postgres-XXXXXX");
    if (!mkdtemp(top))
        return 1;
    int rc = server("make");
    if (rc == 0)
        rc = server("start");
    snprintf(command, sizeof command,
             "psql -q -v ON_ERROR_STOP=1 -h %s -U postgres -f '%s/providers/postgres/shop.sql' "
             "postgres >/dev/null",
             top, MCP_TEST_SOURCE_DIR);
    snprintf(conninfo, sizeof conninfo, "host=%s user=reader dbname=shop", top);
    return rc ? rc : system(command) >> 8;
}

/* Runs a statement as its owner, as another program would. */
static inline void run_sql(const char *sql)
{
    char text[160];
    snprintf(text, sizeof text, "host=%s user=postgres dbname=shop", top);
    PGconn *c = PQconnectdb(text);
    PGresult *r = PQexec(c, sql);
    if (PQresultStatus(r) != PGRES_COMMAND_OK && PQresultStatus(r) != PGRES_TUPLES_OK)
        fail_msg("%s: %s", sql, PQerrorMessage(c));
    PQclear(r);
    PQfinish(c);
}

static inline int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

typedef struct peer {
    mcp_server *server;
    mcp_channel *channel;
    char reply[4 << 20];
    size_t len, replies, updates, changes;
    mcp_error error;
} peer;

static inline void keep(mcp_channel *channel, mcp_exchange exchange, mcp_str message, void *user)
{
    peer *p = user;
    (void)channel, (void)exchange;
    assert_true(message.len < sizeof p->reply);
    if (memmem(message.ptr, message.len, "\"method\":\"notifications/", 24)) {
        p->updates += memmem(message.ptr, message.len, "resources/updated", 17) != NULL;
        p->changes += memmem(message.ptr, message.len, "list_changed", 12) != NULL;
        return;
    }
    p->replies++;
    memcpy(p->reply, message.ptr, message.len);
    p->reply[p->len = message.len] = 0;
}

static inline int peer_open(peer *p, mcp_postgres_options *o)
{
    memset(p, 0, sizeof *p);
    assert_int_equal(mcp_loop_new(NULL, &loop, NULL), MCP_OK);
    int rc = mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "t", .version = "1",
                                        .coalesce_ms = 1, .host = mcp_loop_host(loop)),
                            &p->server, &p->error);
    o->size = sizeof *o;
    if (!o->conninfo)
        o->conninfo = conninfo;
    if (rc == MCP_OK)
        rc = mcp_postgres_mount(p->server, o, &p->error);
    if (rc == MCP_OK)
        rc = mcp_server_connect(
            p->server,
            MCP_OPTIONS(mcp_channel_options, .send = keep, .user = p, .shared_stream = true),
            &p->channel, &p->error);
    return rc;
}

static inline void peer_close(peer *p)
{
    mcp_channel_free(p->channel);
    assert_int_equal(mcp_loop_drain(loop, 10000), MCP_OK);
    mcp_server_free(p->server);
    mcp_loop_free(loop);
}

/* Sends a modern request. */
static inline void ask(peer *p, int id, const char *method, const char *params)
{
    static char message[256 << 10];
    int n = snprintf(message, sizeof message,
                     "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"%s\",\"params\":{\"_meta\":{"
                     "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
                     "\"io.modelcontextprotocol/clientCapabilities\":{}}%s%s}}",
                     id, method, *params ? "," : "", params);
    assert_true(n > 0 && (size_t)n < sizeof message);
    mcp_channel_receive(p->channel, 0, (mcp_str){message, (size_t)n}, now());
}

/* Runs the loop until there are so many, or for this time. */
static inline bool run_until(peer *p, const size_t *what, size_t count, int64_t ms)
{
    for (int64_t until = now() + ms; *what < count && now() < until;) {
        mcp_loop_step(loop, 10);
        mcp_channel_tick(p->channel, now());
    }
    return *what >= count;
}

static inline const char *ask_and_wait(peer *p, const char *method, const char *params)
{
    size_t before = p->replies;
    ask(p, 1, method, params);
    if (!run_until(p, &p->replies, before + 1, 20000))
        fail_msg("no answer to %s", params);
    return p->reply;
}

typedef struct exchange {
    const char *method, *params;
    const char *has[5]; /* "!" before what must not be there */
} exchange;

static inline void check_exchange(peer *p, const exchange *e)
{
    const char *reply = ask_and_wait(p, e->method, e->params);
    for (size_t i = 0; i < 5 && e->has[i]; i++) {
        bool absent = e->has[i][0] == '!';
        if ((strstr(reply, e->has[i] + absent) != NULL) == absent)
            fail_msg("%s {%s}: %s%s\n%.2000s", e->method, e->params, absent ? "has " : "lacks ",
                     e->has[i] + absent, reply);
    }
}

#define READ      "resources/read"
#define LIST      "resources/list"
#define COMPLETE  "completion/complete"
#define URI(u)    "\"uri\":\"postgres://shop/" u "\""
#define CALL      "tools/call"
#define SQL(s)    "\"name\":\"query_shop\",\"arguments\":{\"sql\":\"" s "\"}"
#define NOT_FOUND "\"code\":-32602,\"message\":\"Resource not found"

#endif
