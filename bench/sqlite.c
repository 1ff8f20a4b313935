/* sqlite DATABASE: compares the cost of reading a row, and of listing the tables, with SQLite's own
 * calls.
 *
 * Measures two things alternately in one process: the bare statement, prepared once and stepped,
 * whose result is not used; and a whole request, from the text of the message to the text of the
 * answer. The database has a table `row` (id, name, amount, note) of ROWS rows and 999 further
 * tables, which are created if the file is missing.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <mcp/mcp.h>
#include <mcp/sys/server.h>
#include <sqlite.h>
#include <sqlite3.h>

#include "clock.h"

enum { ROUNDS = 9, ROWS = 10000, TABLES = 1000, LISTS = 100 };

static void die(const char *why)
{
    fprintf(stderr, "sqlite: %s\n", why);
    exit(1);
}

static void run(sqlite3 *db, const char *sql)
{
    char *why = NULL;
    if (sqlite3_exec(db, sql, NULL, NULL, &why) != SQLITE_OK)
        die(why);
}

static void make(const char *path)
{
    sqlite3 *db;
    char sql[300];
    if (access(path, F_OK) == 0)
        return;
    if (sqlite3_open(path, &db) != SQLITE_OK)
        die(path);
    run(db, "BEGIN; CREATE TABLE row(id INTEGER PRIMARY KEY, name TEXT, amount REAL, note TEXT)");
    snprintf(
        sql, sizeof(sql),
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) INSERT INTO "
        "row SELECT i, 'name ' || i, i / 7.0, 'a note of some length, as notes are: ' || i FROM n",
        ROWS);
    run(db, sql);
    for (int i = 1; i < TABLES; i++) {
        snprintf(sql, sizeof(sql),
                 "CREATE TABLE table_%d(id INTEGER PRIMARY KEY, name TEXT, other INTEGER)", i);
        run(db, sql);
    }
    run(db, "COMMIT");
    sqlite3_close(db);
}

/* ---- the bare calls ---------------------------------------------------------------------------------- */

static sqlite3_stmt *prepare(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *stmt;
    if (sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, &stmt, NULL) != SQLITE_OK)
        die(sqlite3_errmsg(db));
    return stmt;
}

static double bare_row(sqlite3_stmt *stmt)
{
    double begin = now_us();
    for (int i = 1; i <= ROWS; i++) {
        sqlite3_bind_int(stmt, 1, i);
        if (sqlite3_step(stmt) != SQLITE_ROW)
            die("a row is missing");
        sqlite3_reset(stmt);
    }
    return (now_us() - begin) / ROWS;
}

static double bare_row_prepared_anew(sqlite3 *db)
{
    double begin = now_us();
    for (int i = 1; i <= ROWS; i++) {
        sqlite3_stmt *stmt = prepare(db, "SELECT id, name, amount, note FROM row WHERE id = ?1");
        sqlite3_bind_int(stmt, 1, i);
        if (sqlite3_step(stmt) != SQLITE_ROW)
            die("a row is missing");
        sqlite3_finalize(stmt);
    }
    return (now_us() - begin) / ROWS;
}

static double bare_list(sqlite3_stmt *stmt)
{
    double begin = now_us();
    for (int i = 0; i < LISTS; i++) {
        while (sqlite3_step(stmt) == SQLITE_ROW)
            ;
        sqlite3_reset(stmt);
    }
    return (now_us() - begin) / LISTS;
}

/* ---- the requests --------------------------------------------------------------------------------------- */

typedef struct peer {
    mcp_server *server;
    mcp_channel *channel;
    size_t bytes;
} peer;

static void on_message(mcp_channel *channel, mcp_exchange exchange, mcp_str message, void *user)
{
    (void)channel, (void)exchange;
    ((peer *)user)->bytes = message.len;
}

static void open_peer(peer *p, const char *path)
{
    mcp_error error = {0};
    int rc = mcp_server_new(
        MCP_OPTIONS(mcp_server_options, .name = "b", .version = "1", .page_size = 10 * TABLES),
        &p->server, &error);
    if (rc == MCP_OK)
        rc = mcp_sqlite_mount(p->server, MCP_OPTIONS(mcp_sqlite_options, .path = path, .name = "b"),
                              &error);
    if (rc == MCP_OK)
        rc = mcp_server_connect(p->server,
                                MCP_OPTIONS(mcp_channel_options, .send = on_message, .user = p),
                                &p->channel, &error);
    if (rc != MCP_OK)
        die(error.text);
}

#define META                                                                 \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"," \
    "\"io.modelcontextprotocol/clientCapabilities\":{}}"

static double ask(peer *p, const char *method, const char *uri, int count)
{
    char text[600];
    double begin = now_us();
    for (int i = 1; i <= count; i++) {
        int n = uri ? snprintf(text, sizeof(text),
                               "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"%s\",\"params\":{" META
                               ",\"uri\":\"%s%d\"}}",
                               i, method, uri, i)
                    : snprintf(text, sizeof(text),
                               "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"%s\",\"params\":{" META
                               "}}",
                               i, method);
        p->bytes = 0;
        mcp_channel_receive(p->channel, 0, (mcp_str){text, (size_t)n}, 0);
        if (p->bytes < 200)
            die("no answer");
    }
    return (now_us() - begin) / count;
}

int main(int argc, char **argv)
{
    double t[5][ROUNDS];
    sqlite3 *db;
    peer p;
    if (argc != 2) {
        fprintf(stderr, "usage: sqlite DATABASE\n");
        return 2;
    }
    make(argv[1]);
    if (sqlite3_open_v2(argv[1], &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL) !=
        SQLITE_OK)
        die(argv[1]);
    sqlite3_stmt *row = prepare(db, "SELECT id, name, amount, note FROM row WHERE id = ?1");
    sqlite3_stmt *list = prepare(db, "SELECT name, type FROM sqlite_schema WHERE type IN ('table', "
                                     "'view') AND substr(name, 1, 7) <> 'sqlite_' ORDER BY name");
    open_peer(&p, argv[1]);
    for (int i = 0; i < ROUNDS; i++) {
        t[0][i] = bare_row(row);
        t[1][i] = bare_row_prepared_anew(db);
        t[2][i] = ask(&p, "resources/read", "sqlite://b/row/row/", ROWS);
        t[3][i] = bare_list(list);
        t[4][i] = ask(&p, "resources/list", NULL, LISTS);
    }
    printf("row_bare_us=%.2f row_prepare_us=%.2f row_us=%.2f list_bare_us=%.0f list_us=%.0f\n",
           median(t[0], ROUNDS), median(t[1], ROUNDS), median(t[2], ROUNDS), median(t[3], ROUNDS),
           median(t[4], ROUNDS));
    mcp_channel_free(p.channel);
    mcp_server_free(p.server);
    sqlite3_finalize(row);
    sqlite3_finalize(list);
    sqlite3_close(db);
    return 0;
}
