/* database.h: a database in a temporary folder, and a server for it with one peer. */
#ifndef MCP_TESTS_SQLITE_DATABASE_H
#define MCP_TESTS_SQLITE_DATABASE_H

#include "peer.h"

#include "sqlite.h"

#include <sqlite3.h>

static char top[64], path[96];

/* Runs statements on a separate connection, as another program would. */
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
    snprintf(path, sizeof(path), "%s/shop.db", top);
    run_sql(sql);
}

static inline void remove_database(void)
{
    static const char *const endings[] = {"", "-wal", "-shm", "-journal"};
    char name[128];
    for (size_t i = 0; i < 4; i++) {
        snprintf(name, sizeof(name), "%s%s", path, endings[i]);
        unlink(name);
    }
    rmdir(top);
}

/* A teardown function for cmocka. */
static inline int teardown_database(void **state)
{
    (void)state;
    remove_database();
    return 0;
}

static inline int peer_open(peer *p, mcp_sqlite_options *o, const mcp_host *host,
                            const mcp_allocator *alloc)
{
    int rc = peer_serve(p, host, alloc);
    o->size = sizeof(*o);
    if (!o->path)
        o->path = path;
    if (rc == MCP_OK)
        rc = mcp_sqlite_mount(p->server, o, &p->error);
    return rc == MCP_OK ? peer_connect(p) : rc;
}

typedef struct exchange {
    const char *method, *params;
    const char *has[5]; /* see check_reply() */
} exchange;

static inline void check_exchange(peer *p, const exchange *e)
{
    check_reply(e->params, ask(p, e->method, e->params), e->has);
}

#define URI(u) "\"uri\":\"sqlite://shop/" u "\""
#define SQL(s) "\"name\":\"query_sqlite_shop\",\"arguments\":{\"sql\":\"" s "\"}"
/* The same with more arguments, given as JSON. */
#define SQL_WITH(s, more) \
    "\"name\":\"query_sqlite_shop\",\"arguments\":{\"sql\":\"" s "\"," more "}"

#endif
