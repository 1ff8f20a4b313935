/* fuzz_sqlite_uri.c: a URI of the SQLite provider, from a peer: taken apart, put together, and asked of a
 * small database. What is one has one canonical spelling, which means the same; whatever is asked is answered.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <sqlite.h>
#include <uri.h>

static mcp_server *server;
static mcp_channel *channel;
static size_t answers;
static char path[] = "/tmp/mcp-fuzz-XXXXXX";

static void on_message(mcp_channel *c, mcp_exchange exchange, mcp_str message, void *user)
{
    (void)c, (void)exchange, (void)message, (void)user;
    answers++;
}

static void make_database(void)
{
    sqlite3 *db;
    if (sqlite3_open(path, &db) != SQLITE_OK ||
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

static void close_server(void)
{
    mcp_channel_free(channel);
    mcp_server_free(server);
    unlink(path);
}

static void open_server(void)
{
    mcp_error error;
    int fd = mkstemp(path);
    if (fd < 0 || close(fd) != 0 || atexit(close_server) != 0)
        abort();
    make_database();
    if (mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "f", .version = "1"), &server,
                       &error) ||
        mcp_sqlite_mount(server, MCP_OPTIONS(mcp_sqlite_options, .path = path, .name = "d"),
                         &error) ||
        mcp_server_connect(server, MCP_OPTIONS(mcp_channel_options, .send = on_message), &channel,
                           &error))
        abort();
}

static bool same(const sqlite_target *a, const sqlite_target *b)
{
    bool ok = a->kind == b->kind && mcp_str_eq(a->table, b->table) &&
              mcp_str_eq(a->column, b->column) && a->n_key == b->n_key && a->n_param == b->n_param;
    for (size_t i = 0; ok && i < a->n_key; i++)
        ok = mcp_str_eq(a->key[i], b->key[i]);
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

static void check_answer(mcp_str rest)
{
    mcp_str text;
    mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
    char uri[4096];
    memcpy(uri, "sqlite://d/", 11);
    memcpy(uri + 11, rest.ptr, rest.len);
    mcp_json_begin_object(w);
    mcp_json_key(w, "jsonrpc"), mcp_json_add_string(w, "2.0");
    mcp_json_key(w, "id"), mcp_json_add_int(w, 1);
    mcp_json_key(w, "method"), mcp_json_add_string(w, "resources/read");
    mcp_json_key(w, "params");
    mcp_json_begin_object(w);
    mcp_json_key(w, "_meta");
    mcp_json_add_raw(w, MCP_STR("{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
                                "\"io.modelcontextprotocol/clientCapabilities\":{}}"));
    mcp_json_key(w, "uri"), mcp_json_add_str(w, (mcp_str){uri, 11 + rest.len});
    mcp_json_end(w);
    mcp_json_end(w);
    answers = 0;
    if (mcp_json_writer_finish(w, &text) == MCP_OK) {
        mcp_channel_receive(channel, 0, text, 0);
        if (answers != 1)
            abort();
    }
    mcp_json_writer_free(w);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    mcp_str rest = {(const char *)data, size};
    if (size > 4000)
        return 0;
    if (!server)
        open_server();
    check_round_trip(rest);
    if (size)
        check_answer(rest);
    return 0;
}
