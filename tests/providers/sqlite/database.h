/* database.h: a database in a temporary folder, and a server of it with one peer: a request, its reply. */
#ifndef MCP_TESTS_SQLITE_DATABASE_H
#define MCP_TESTS_SQLITE_DATABASE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "sqlite.h"

#include <sqlite3.h>

static char top[64], path[96];

/* Runs statements on a connection of its own, as another program would. */
static inline void run_sql(const char *sql)
{
    sqlite3 *db;
    char *why = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    sqlite3_busy_timeout(db, 5000);
    if (sqlite3_exec(db, sql, NULL, NULL, &why) != SQLITE_OK)
        fail_msg("%s: %s", sql, why);
    sqlite3_close(db);
}

static inline void make_database(const char *sql)
{
    strcpy(top, "/tmp/mcp-sqlite-XXXXXX");
    assert_non_null(mkdtemp(top));
    snprintf(path, sizeof path, "%s/shop.db", top);
    run_sql(sql);
}

static inline void remove_database(void)
{
    static const char *const endings[] = {"", "-wal", "-shm", "-journal"};
    char name[128];
    for (size_t i = 0; i < 4; i++) {
        snprintf(name, sizeof name, "%s%s", path, endings[i]);
        unlink(name);
    }
    rmdir(top);
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
    size_t len, updates, changes;
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
    memcpy(p->reply, message.ptr, message.len);
    p->reply[p->len = message.len] = 0;
}

static inline int peer_open(peer *p, mcp_sqlite_options *o, const mcp_host *host,
                            const mcp_allocator *alloc)
{
    int rc = mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "t", .version = "1",
                                        .coalesce_ms = 1, .host = host, .allocator = alloc),
                            &p->server, &p->error);
    o->size = sizeof *o;
    if (!o->path)
        o->path = path;
    if (rc == MCP_OK)
        rc = mcp_sqlite_mount(p->server, o, &p->error);
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
    mcp_server_free(p->server);
    p->channel = NULL;
    p->server = NULL;
}

/* Sends a modern request and gives back the reply, "" while there is none. */
static inline const char *ask(peer *p, const char *method, const char *params)
{
    static char message[128 << 10];
    int n = snprintf(message, sizeof message,
                     "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":{\"_meta\":{"
                     "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
                     "\"io.modelcontextprotocol/clientCapabilities\":{}}%s%s}}",
                     method, *params ? "," : "", params);
    assert_true(n > 0 && (size_t)n < sizeof message);
    p->reply[0] = 0;
    mcp_channel_receive(p->channel, 0, (mcp_str){message, (size_t)n}, now());
    return p->reply;
}

typedef struct exchange {
    const char *method, *params;
    const char *has[5]; /* "!" before what must not be there */
} exchange;

static inline void check_exchange(peer *p, const exchange *e)
{
    const char *reply = ask(p, e->method, e->params);
    for (size_t i = 0; i < 5 && e->has[i]; i++) {
        bool absent = e->has[i][0] == '!';
        if ((strstr(reply, e->has[i] + absent) != NULL) == absent)
            fail_msg("%s {%s}: %s%s\n%.3000s", e->method, e->params, absent ? "has " : "lacks ",
                     e->has[i] + absent, reply);
    }
}

#define READ      "resources/read"
#define LIST      "resources/list"
#define URI(u)    "\"uri\":\"sqlite://shop/" u "\""
#define CALL      "tools/call"
#define SQL(s)    "\"name\":\"query\",\"arguments\":{\"sql\":\"" s "\"}"
#define NOT_FOUND "\"code\":-32602,\"message\":\"Resource not found"

#endif
