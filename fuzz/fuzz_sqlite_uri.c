/* fuzz_sqlite_uri.c: a URI of the SQLite provider from a peer is parsed, built again, and read from
 * a small database. Each URI has one canonical spelling with the same meaning, and every read is
 * answered.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <sqlite.h>
#include <uri.h>

#include "asking.h"

static char path[] = "/tmp/mcp-fuzz-XXXXXX";

static void make_database(void)
{
    sqlite3 *db;
    int fd = mkstemp(path);
    if (fd < 0 || close(fd) != 0 || sqlite3_open(path, &db) != SQLITE_OK ||
        sqlite3_exec(db,
                     "CREATE TABLE IF NOT EXISTS t(id INTEGER PRIMARY KEY, a TEXT, b BLOB);"
                     "INSERT OR IGNORE INTO t VALUES (1, 'x', x'00ff'), (2, NULL, 3.5);"
                     "CREATE TABLE IF NOT EXISTS w(a, b, c, PRIMARY KEY(a, b)) WITHOUT ROWID;"
                     "INSERT OR IGNORE INTO w VALUES ('a/b', x'01', 1);"
                     "CREATE VIEW IF NOT EXISTS v AS SELECT a, count(*) AS n FROM t GROUP BY a;",
                     NULL, NULL, NULL) != SQLITE_OK)
        abort();
    sqlite3_close(db);
}

static int mount(mcp_server *s, mcp_error *error)
{
    return mcp_sqlite_mount(s, MCP_OPTIONS(mcp_sqlite_options, .path = path, .name = "d"), error);
}

static void end(void)
{
    close_server();
    unlink(path);
}

static bool same(const sqlite_target *a, const sqlite_target *b)
{
    bool ok = a->kind == b->kind && mcp_str_eq(a->table, b->table) &&
              mcp_str_eq(a->column, b->column) && a->n_key == b->n_key && a->n_param == b->n_param;
    for (size_t i = 0; ok && i < a->n_key; i++)
        ok = mcp_str_eq(a->key[i], b->key[i]) && a->key_type[i] == b->key_type[i];
    for (size_t i = 0; ok && i < a->n_param; i++)
        ok = mcp_str_eq(a->param[i].name, b->param[i].name) &&
             mcp_str_eq(a->param[i].value, b->param[i].value);
    return ok;
}

static void check_round_trip(mcp_str rest)
{
    sqlite_target t, again;
    char *room = malloc(rest.len + SQLITE_URI_ROOM);
    if (room && sqlite_uri_parse(rest, room, &t) == MCP_OK) {
        sqlite3_str *to = sqlite3_str_new(NULL);
        sqlite_uri_put(to, "", &t);
        char *text = sqlite3_str_finish(to);
        mcp_str made = mcp_str_from(text ? text : "");
        char *other = malloc(made.len + SQLITE_URI_ROOM);
        if (other && (sqlite_uri_parse(made, other, &again) != MCP_OK || !same(&t, &again)))
            abort();
        free(other);
        sqlite3_free(text);
    }
    free(room);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    mcp_str rest = {(const char *)data, size};
    if (size > LONGEST_REST)
        return 0;
    if (!server) {
        make_database();
        open_server(mount, end);
    }
    check_round_trip(rest);
    if (size)
        check_answer("sqlite://d/", rest);
    return 0;
}
