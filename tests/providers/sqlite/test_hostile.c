/* Files that are made to keep a server busy: work that is, or may be, slow runs on workers within
 * the time limit, and other requests are answered meanwhile. */
#define _GNU_SOURCE
#include "database.h"

#include <mcp/io.h>

#include "support/nofiles.h"

static peer p;

static void begin(mcp_sqlite_options o)
{
    memset(&p, 0, sizeof(p));
    assert_int_equal(mcp_loop_new(NULL, &p.loop, NULL), MCP_OK);
    if (peer_open(&p, &o, mcp_loop_host(p.loop), NULL) != MCP_OK)
        fail_msg("%s", p.error.text);
}

/* Returns whether the request was answered synchronously, without a worker. */
static bool answered_here(const char *method, const char *params)
{
    size_t before = p.replies;
    int64_t from = now();
    p.len = 0;
    ask(&p, method, params);
    assert_in_range(now() - from, 0, 1000);
    return p.replies > before;
}

static void wait_for_it(const char *params, const char *has)
{
    assert_true(run_until(&p, &p.len, 1, 20000));
    if (!strstr(p.reply, has))
        fail_msg("%.100s lacks %s: %.1000s", params, has, p.reply);
}

static void check_here(const char *method, const char *params, const char *has)
{
    if (!answered_here(method, params))
        fail_msg("%s went to a worker", params);
    wait_for_it(params, has);
}

static void check_far(const char *method, const char *params, const char *has)
{
    if (answered_here(method, params))
        fail_msg("%s was answered on the server's thread: %.300s", params, p.reply);
    wait_for_it(params, has);
}

/* ---- slow computations ----------------------------------------------------------------------- */

enum { COLUMNS = 60, LONG = 200000, PATTERN = 900 };

/* Creates generated columns, each of which matches a pattern in quadratic time. */
static void make_slow(void)
{
    static char sql[100 * COLUMNS];
    int at = sprintf(sql,
                     "CREATE TABLE slow(id INTEGER PRIMARY KEY, a, b);"
                     "INSERT INTO slow VALUES (1, printf('%%.*c', %d, 'a'), '*' || "
                     "printf('%%.*c', %d, 'a') || 'b'), (2, 'a', 'a');"
                     "CREATE VIEW seen AS SELECT a GLOB b AS g FROM slow;",
                     LONG, PATTERN);
    for (int i = 0; i < COLUMNS; i++)
        at += sprintf(sql + at, "ALTER TABLE slow ADD COLUMN g%d AS (a GLOB b);", i);
    run_sql(sql);
}

/* Other requests are answered while it runs, and it ends at its time limit, whatever SQLite does
 * then. */
static void test_slow_columns(void **state)
{
    static const char *const asked[] = {URI("slow/row/1"), URI("slow/rows"), URI("slow/cell/g3/1"),
                                        URI("slow/rows?g1=1"), URI("seen/rows")};
    (void)state;
    make_slow();
    begin((mcp_sqlite_options){.timeout_ms = 150});
    for (size_t i = 0; i < sizeof(asked) / sizeof(*asked); i++) {
        int64_t from = now();
        assert_false(answered_here(READ, asked[i]));
        peer_send(&p, 2, READ, URI("item/row/1"));
        assert_non_null(strstr(p.reply, "Ada"));
        p.len = 0;
        wait_for_it(asked[i], "took too long");
        assert_in_range(now() - from, 100, 3000);
    }
    check_far(READ, URI("slow/row/2"), "\\\"g59\\\":1");
    peer_close(&p);
}

/* The call of a function is a single step of SQLite's virtual machine. */
static void test_slow_calls(void **state)
{
    static const char *const asked[] = {
        SQL("SELECT a GLOB b FROM slow"),
        SQL("SELECT replace(a, 'a', 'x') LIKE '%' || replace(substr(b, 2), 'a', 'X') FROM slow "
            "WHERE id = 1"),
        SQL("SELECT count(*) FROM slow AS x, slow AS y WHERE x.a GLOB y.b"),
        SQL("SELECT sum(a GLOB b) OVER () FROM slow")};
    (void)state;
    make_slow();
    begin((mcp_sqlite_options){.timeout_ms = 100});
    for (size_t i = 0; i < sizeof(asked) / sizeof(*asked); i++) {
        int64_t from = now();
        assert_false(answered_here(CALL, asked[i]));
        wait_for_it(asked[i], "took too long");
        assert_in_range(now() - from, 50, 2000);
    }
    peer_close(&p);
}

/* The limits are checked at jumps only: statements without jumps have a limit of their own. */
static void test_straight(void **state)
{
    static char sql[40000];
    int at = sprintf(sql, "\"name\":\"query_sqlite_shop\",\"arguments\":{\"sql\":\"SELECT 0");
    (void)state;
    for (int i = 0; i < 1001; i++)
        at += sprintf(sql + at, i % 40 ? "+abs(id)" : ",abs(id)");
    sprintf(sql + at, " FROM item\"}");
    begin((mcp_sqlite_options){0});
    check_far(CALL, sql, "in more than 1000 places");
    check_far(CALL, SQL("SELECT * FROM dbstat WHERE aggregate = 1"), "isError");
    peer_close(&p);
}

/* A single step that does not check the limits, as when SQLite counts the rows of a table. It ends
 * when it is interrupted. */
static void spin(sqlite3_context *to, int n, sqlite3_value **values)
{
    sqlite3 *db = sqlite3_context_db_handle(to);
    (void)n, (void)values;
    sqlite3_progress_handler(db, 0, NULL, NULL);
    sqlite3_result_error_code(
        to, sqlite3_exec(db,
                         "WITH RECURSIVE n AS (SELECT 1 UNION ALL SELECT 1 FROM n) SELECT "
                         "count(*) FROM n",
                         NULL, NULL, NULL));
}

static int add_spin(sqlite3 *db, char **why, const void *api)
{
    (void)why, (void)api;
    return sqlite3_create_function_v2(db, "spin", 0, SQLITE_UTF8, NULL, spin, NULL, NULL, NULL);
}

static void test_late(void **state)
{
    (void)state;
    sqlite3_auto_extension((void (*)(void))add_spin);
    begin((mcp_sqlite_options){.timeout_ms = 100});
    int64_t from = now();
    check_far(CALL, SQL("SELECT spin()"), "took too long");
    assert_in_range(now() - from, 100, 5000);
    peer_close(&p);
    sqlite3_cancel_auto_extension((void (*)(void))add_spin);
}

/* ---- misleading schemas ---------------------------------------------------------------------- */

/* Computed values, and tables whose code is not SQLite's own, are not read on the server's thread,
 * whatever the schema calls them. The ordinary tables of the same file are. */
static void test_kinds(void **state)
{
    (void)state;
    run_sql(
        "CREATE TABLE made(id INTEGER PRIMARY KEY, a, v AS (a + 1), s AS (a + 2) STORED);"
        "INSERT INTO made(id, a) VALUES (1, 1);"
        "CREATE TABLE kept(id INTEGER PRIMARY KEY, a, s AS (a + 2) STORED);"
        "INSERT INTO kept(id, a) VALUES (1, 1);"
        "CREATE VIRTUAL TABLE docs USING fts5(body); INSERT INTO docs VALUES ('word');"
        "CREATE VIRTUAL TABLE box USING rtree(id, x1, x2); INSERT INTO box VALUES (1, 1, 2);"
        "CREATE VIEW short AS SELECT name FROM item;"
        "CREATE INDEX by_length ON item(length(name)) WHERE upper(name) > 'A';"
        "PRAGMA writable_schema = 1;"
        "UPDATE sqlite_schema SET sql = replace(sql, 'CREATE VIRTUAL TABLE', 'CREATE/**/VIRTUAL "
        "TABLE'), rootpage = 2 WHERE name = 'docs'");
    begin((mcp_sqlite_options){0});
    check_far(READ, URI("made/row/1"), "\\\"v\\\":2,\\\"s\\\":3");
    check_far(READ, URI("made"), "virtual");
    check_far(READ, URI("docs/row/1"), "word");
    check_far(READ, URI("docs"), "body");
    check_far(READ, URI("box/row/1"), "\\\"id\\\":1");
    check_far(READ, URI("short"), "view");
    check_far(READ, URI(""), "docs");
    check_far(LIST, "", "docs");
    check_here(READ, URI("kept/row/1"), "\\\"s\\\":3");
    check_here(READ, URI("item/row/1"), "Ada");
    check_here(READ, URI("item"), "by_length");
    peer_close(&p);
}

/* ---- large schemas and logs ------------------------------------------------------------------ */

static void test_large(void **state)
{
    static char sql[10000];
    int at = sprintf(sql, "CREATE TABLE wide(id INTEGER PRIMARY KEY");
    (void)state;
    for (int i = 0; i < 60; i++)
        at += sprintf(sql + at, ", c%d", i);
    at += sprintf(sql + at, "); INSERT INTO wide VALUES (1");
    for (int i = 0; i < 60; i++)
        at += sprintf(sql + at, ", zeroblob(30000)");
    sprintf(sql + at, "); CREATE TABLE blob(id INTEGER PRIMARY KEY, b BLOB);"
                      "INSERT INTO blob VALUES (1, zeroblob(5000000)), (2, x'00ff')");
    run_sql(sql);
    begin((mcp_sqlite_options){0});
    check_far(READ, URI("wide/row/1"), "30000");
    check_far(READ, URI("blob/cell/b/1?offset=4999998&length=10"), "\"blob\":\"AAA=\"");
    check_far(READ, URI("blob/cell/b/1?offset=0&length=300000"), "\"blob\":");
    check_here(READ, URI("blob/cell/b/1?offset=0&length=3"), "\"blob\":\"AAAA\"");
    check_here(READ, URI("blob/cell/b/2"), "\"blob\":\"AP8=\"");
    peer_close(&p);
}

/* A schema that is slow to parse is parsed on a worker for every request. The tables are served,
 * and subscribers are notified of changes. */
static void check_schema(void)
{
    begin((mcp_sqlite_options){0});
    check_far(READ, URI("item/row/1"), "Ada");
    check_far(READ, URI("item/row/1"), "Ada");
    check_far(LIST, "", "shop/item/rows");
    peer_send(&p, 2, "subscriptions/listen",
              "\"notifications\":{\"resourceSubscriptions\":[\"sqlite://shop/item/row/1\"]}");
    p.updates = 0;
    run_sql("UPDATE item SET name = 'Eva'");
    assert_true(run_until(&p, &p.updates, 1, 5000));
    check_far(READ, URI("item/row/1"), "Eva");
    peer_close(&p);
}

static void test_long_statement(void **state)
{
    static char sql[60000];
    int at = sprintf(sql, "CREATE TABLE zz(a /* ");
    (void)state;
    memset(sql + at, 'x', 40000);
    strcpy(sql + at + 40000, " */)");
    run_sql(sql);
    check_schema();
}

static void test_many_tables(void **state)
{
    static char sql[400000];
    int at = sprintf(sql, "BEGIN;");
    (void)state;
    for (int i = 0; i < 3000; i++)
        at += sprintf(sql + at, "CREATE TABLE z%d(a, b, c, UNIQUE(a, b));", i);
    strcpy(sql + at, "COMMIT");
    run_sql(sql);
    begin((mcp_sqlite_options){.timeout_ms = 1}); /* too short to parse the schema */
    check_far(READ, URI("item/row/1"), "took too long");
    peer_close(&p);
    check_schema();
}

/* The first connection that reads a write-ahead log reads all of it. */
static void test_long_log(void **state)
{
    char name[128];
    (void)state;
    run_sql("PRAGMA journal_mode = WAL");
    begin((mcp_sqlite_options){0});
    check_here(READ, URI("item/row/1"), "Ada");
    snprintf(name, sizeof(name), "%s-wal", path);
    fclose(fopen(name, "w"));
    assert_int_equal(truncate(name, 64 << 20), 0);
    check_far(READ, URI("item/row/1"), "Ada");
    assert_int_equal(truncate(name, 0), 0);
    check_here(READ, URI("item/row/1"), "Ada");
    peer_close(&p);
}

static void rename_over(void)
{
    char command[500];
    snprintf(command, sizeof(command), "cp %s %s.new && mv %s.new %s", path, path, path, path);
    assert_int_equal(system(command), 0);
}

/* A file that cannot be opened for lack of descriptors does not count as missing. */
static void test_no_descriptors(void **state)
{
    (void)state;
    static const char *const modes[] = {"PRAGMA journal_mode=DELETE", "PRAGMA journal_mode=WAL"};
    for (size_t i = 0; i < 2; i++) {
        int left = -3; /* negative, because the mounted connection is closed first */
        run_sql(modes[i]);
        for (bool read = false; !read && left < 8; left++) {
            memset(&p, 0, sizeof(p));
            assert_int_equal(peer_open(&p, &(mcp_sqlite_options){0}, NULL, NULL), MCP_OK);
            rename_over(); /* the open connection now refers to another file */
            nofiles_begin(left);
            ask(&p, READ, URI("item/row/1"));
            nofiles_end();
            read = strstr(p.reply, "Ada") != NULL;
            if (!read && !strstr(p.reply, NOFILES))
                fail_msg("with %d: %.1000s", left, p.reply);
            peer_close(&p);
        }
        assert_in_range(left + 3, 2, 10);
    }
}

static int setup(void **state)
{
    (void)state;
    make_database("CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT); INSERT INTO item VALUES "
                  "(1, 'Ada')");
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_slow_columns, setup, teardown_database),
        cmocka_unit_test_setup_teardown(test_slow_calls, setup, teardown_database),
        cmocka_unit_test_setup_teardown(test_straight, setup, teardown_database),
        cmocka_unit_test_setup_teardown(test_late, setup, teardown_database),
        cmocka_unit_test_setup_teardown(test_kinds, setup, teardown_database),
        cmocka_unit_test_setup_teardown(test_large, setup, teardown_database),
        cmocka_unit_test_setup_teardown(test_long_statement, setup, teardown_database),
        cmocka_unit_test_setup_teardown(test_many_tables, setup, teardown_database),
        cmocka_unit_test_setup_teardown(test_long_log, setup, teardown_database),
        cmocka_unit_test_setup_teardown(test_no_descriptors, setup, teardown_database),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
