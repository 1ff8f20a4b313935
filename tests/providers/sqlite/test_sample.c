/* Three rows on the page of a table: only with the option, and only where rows may be read. */
#define _GNU_SOURCE
#include "database.h"

#include <mcp/access.h>
#include <mcp/io.h>

static peer p;

static void open_on_loop(mcp_sqlite_options o)
{
    memset(&p, 0, sizeof(p));
    assert_int_equal(mcp_loop_new(NULL, &p.loop, NULL), MCP_OK);
    assert_int_equal(peer_open(&p, &o, mcp_loop_host(p.loop), NULL), MCP_OK);
}

static bool may(const mcp_identity *identity, mcp_item item, mcp_str name, void *user)
{
    (void)identity, (void)item, (void)user;
    return !memmem(name.ptr, name.len, "/many/rows", 10);
}

static void check(const exchange *e)
{
    check_reply(e->params, ask_and_wait(&p, e->method, e->params), e->has);
}

static void test_pages(void **state)
{
    static const exchange pages[] = {
        {READ,
         URI("many"),
         {"\\\"sample\\\":{\\\"columns\\\":[\\\"id\\\",\\\"t\\\",\\\"b\\\"],\\\"rows\\\":[[1,"
          "\\\"one 1\\\",null],",
          "{\\\"type\\\":\\\"text\\\",\\\"size\\\":300,\\\"uri\\\":\\\"sqlite://shop/many/cell/t/"
          "2\\\"}",
          "[3,\\\"one 3\\\",null]]}}", "!one 4"}},
        {READ,
         URI("empty"),
         {"\\\"sample\\\":{\\\"columns\\\":[\\\"rowid\\\",\\\"x\\\"],\\\"rows\\\":[]}"}},
        {READ, URI("over_many"), {"\\\"resources\\\"", "!sample"}},
        {READ, URI("many?format=text"), {"CREATE TABLE", "!one 1"}},
    };
    static const exchange hidden = {READ, URI("many"), {"\\\"columns\\\"", "!sample", "!one 1"}};
    mcp_access access = {.size = sizeof(access), .may = may};
    (void)state;
    open_on_loop((mcp_sqlite_options){.sample_rows = true});
    for (size_t i = 0; i < sizeof(pages) / sizeof(*pages); i++)
        check(&pages[i]);
    assert_int_equal(mcp_server_set_access(p.server, &access), MCP_OK);
    check(&hidden);
    check(&pages[1]);
    peer_close(&p);
}

static void test_without(void **state)
{
    static const exchange e = {READ, URI("many"), {"\\\"columns\\\"", "!sample", "!one 1"}};
    (void)state;
    open_on_loop((mcp_sqlite_options){0});
    check(&e);
    peer_close(&p);
}

static int setup(void **state)
{
    (void)state;
    make_database("CREATE TABLE many(id INTEGER PRIMARY KEY, t TEXT, b BLOB);"
                  "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9) "
                  "INSERT INTO many SELECT i, CASE i WHEN 2 THEN printf('%.300c', 'x') ELSE 'one ' "
                  "|| i END, NULL FROM n; CREATE TABLE empty(x);"
                  "CREATE VIEW over_many AS SELECT id FROM many");
    return 0;
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pages),
        cmocka_unit_test(test_without),
    };
    return cmocka_run_group_tests(tests, setup, teardown_database);
}
