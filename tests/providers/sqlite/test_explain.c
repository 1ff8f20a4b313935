/* The plan of a query instead of its rows: only with the option, with the refusals of the tool, and with a
 * sentence about what is read without an index. */
#define _GNU_SOURCE
#include "database.h"

#include <mcp/access.h>
#include <mcp/io.h>

static peer p;

#define LONG    "an_alias_that_is_rather_longer_than_the_others_"
#define PLAN(s) SQL_WITH(s, "\"explain\":true")

static void open_on_loop(mcp_sqlite_options o)
{
    memset(&p, 0, sizeof(p));
    assert_int_equal(mcp_loop_new(NULL, &p.loop, NULL), MCP_OK);
    assert_int_equal(peer_open(&p, &o, mcp_loop_host(p.loop), NULL), MCP_OK);
}

static bool may_all(const mcp_identity *identity, mcp_item item, mcp_str name, void *user)
{
    (void)identity, (void)item, (void)name, (void)user;
    return true;
}

static void test_plans(void **state)
{
    static const exchange exchanges[] = {
        {"tools/list", "", {"\"explain\":{\"type\":\"boolean\""}},
        {CALL,
         PLAN("SELECT * FROM sale WHERE note = ?1"),
         {"{\"columns\":[\"plan\"],\"rows\":[[\"SCAN ", "]],\"truncated\":false}",
          "\"text\":\"It goes through the rows of sale one by one: no index is used for it.\""}},
        {CALL,
         PLAN("SELECT * FROM sale WHERE id = 5"),
         {"[[\"SEARCH ", "\"text\":\"Each table is read by a key or an index.\""}},
        {CALL,
         PLAN("SELECT * FROM sale JOIN other ON other.x = sale.id ORDER BY note"),
         {"It goes through the rows of other one by one: no index is used for it. It sorts the "
          "result."}},
        {CALL,
         PLAN("SELECT 1 UNION ALL SELECT id FROM sale"),
         {"[\"  ", "the rows of sale one by one", "!CONSTANT ROW one"}},
        {CALL, PLAN("SELECT note FROM sale ORDER BY id LIMIT 5"), {"the rows of sale one by one"}},
        {CALL, PLAN("DELETE FROM sale"), {"isError", "This is not run"}},
        {CALL, PLAN("SELECT 1; SELECT 2"), {"isError"}},
        {CALL, PLAN("EXPLAIN SELECT 1"), {"isError", "it is EXPLAIN already"}},
        {CALL,
         PLAN("SELECT nmae FROM sale"),
         {"isError", "no such column: nmae (line 1, column 8)"}},
        {CALL, SQL_WITH("SELECT 7 AS x", "\"explain\":false"), {"\"rows\":[[7]]"}},
        {CALL,
         SQL_WITH("SELECT * FROM sale " LONG "a, sale " LONG "b, sale " LONG "c, sale " LONG
                  "d, sale " LONG "e",
                  "\"explain\":true,\"max_tokens\":100"),
         {"_c and others", "The plan has more lines than fit."}},
    };
    static const exchange refused = {
        CALL, PLAN("SELECT * FROM sale"), {"isError", "Plans are not shown under access rules"}};
    mcp_access access = {.size = sizeof(access), .may = may_all};
    (void)state;
    open_on_loop((mcp_sqlite_options){.explain = true});
    for (size_t i = 0; i < sizeof(exchanges) / sizeof(*exchanges); i++)
        check_reply(exchanges[i].params, ask_and_wait(&p, exchanges[i].method, exchanges[i].params),
                    exchanges[i].has);
    assert_int_equal(mcp_server_set_access(p.server, &access), MCP_OK);
    check_reply(refused.params, ask_and_wait(&p, CALL, refused.params), refused.has);
    peer_close(&p);
}

static void test_without(void **state)
{
    static const char *const no[5] = {"query_sqlite_shop", "!\"explain\""};
    static const char *const refused[5] = {"isError", "explain"};
    (void)state;
    open_on_loop((mcp_sqlite_options){0});
    check_reply("list", ask_and_wait(&p, "tools/list", ""), no);
    check_reply("call", ask_and_wait(&p, CALL, PLAN("SELECT 1")), refused);
    peer_close(&p);
}

static int setup(void **state)
{
    (void)state;
    make_database("CREATE TABLE sale(id INTEGER PRIMARY KEY, note TEXT); CREATE TABLE other(x)");
    return 0;
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plans),
        cmocka_unit_test(test_without),
    };
    return cmocka_run_group_tests(tests, setup, teardown_database);
}
