/* Errors of the query tool's statements: SQLite's message, the place in the caller's text, and the
 * names that were perhaps meant, of those that the caller may see. */
#define _GNU_SOURCE
#include "database.h"

#include <mcp/io.h>

static peer p;

static int setup(void **state)
{
    (void)state;
    make_database("CREATE TABLE client(id INTEGER PRIMARY KEY, name TEXT, secret_name TEXT);"
                  "CREATE TABLE secret_clients(id INTEGER PRIMARY KEY, names TEXT);"
                  "CREATE VIEW revenue AS SELECT name, id AS total FROM client;"
                  "CREATE VIEW broken AS SELECT * FROM nowhere;");
    return 0;
}

static void open_on_loop(void)
{
    mcp_sqlite_options o = {0};
    memset(&p, 0, sizeof(p));
    assert_int_equal(mcp_loop_new(NULL, &p.loop, NULL), MCP_OK);
    assert_int_equal(peer_open(&p, &o, mcp_loop_host(p.loop), NULL), MCP_OK);
}

typedef struct row {
    const char *params;
    const char *has[5]; /* see check_reply() */
} row;

static void check_rows(const row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++)
        check_reply(rows[i].params, ask_and_wait(&p, CALL, rows[i].params), rows[i].has);
}

static void test_errors(void **state)
{
    static const row rows[] = {
        {SQL("SELECT sum(total) FROM revenues"),
         {"isError", "\"no such table: revenues", ". Did you mean revenue?\""}},
        {SQL("SELECT * FROM main.clients"), {"Did you mean client, or secret_clients?\""}},
        {SQL("SELECT * FROM nothing_like_it"), {"isError", "!mean"}},
        /* columns, of the tables in the statement, of which one cannot be read */
        {SQL("SELECT 'é',\\n c.nmae FROM client c, broken"), {"no such table: main.nowhere"}},
        {SQL("SELECT 'é',\\n c.nmae /* broken */ FROM client c"),
         {"\"no such column: c.nmae", "(line 2, column 2). Did you mean client.name?\""}},
        {SQL("SELECT tottal FROM revenue"), {"(line 1, column 8). Did you mean revenue.total?\""}},
        {SQL("SELECT 'é' FORM client"), {"syntax error", "(line 1, column 17)\""}},
    };
    (void)state;
    open_on_loop();
    check_rows(rows, sizeof(rows) / sizeof(*rows));
    peer_close(&p);
}

static bool may(const mcp_identity *identity, mcp_item item, mcp_str name, void *user)
{
    (void)identity, (void)user;
    return item != MCP_ITEM_RESOURCE ||
           (!memmem(name.ptr, name.len, "secret", 6) && !memmem(name.ptr, name.len, "revenue", 7));
}

static void test_under_rules(void **state)
{
    static const row rows[] = {
        {SQL("SELECT sum(total) FROM revenues"), {"no such table: revenues", "!mean"}},
        {SQL("SELECT tottal FROM revenue"), {"no such column: tottal", "!mean"}},
        {SQL("SELECT * FROM clients"), {"Did you mean client?\""}},
    };
    (void)state;
    open_on_loop();
    mcp_access access = {.size = sizeof(access), .may = may};
    assert_int_equal(mcp_server_set_access(p.server, &access), MCP_OK);
    check_rows(rows, sizeof(rows) / sizeof(*rows));
    peer_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_under_rules),
    };
    return cmocka_run_group_tests(tests, setup, teardown_database);
}
