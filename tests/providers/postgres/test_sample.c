/* Three rows on the page of a table: only with the option, and only where rows may be read. */
#define _GNU_SOURCE
#include "database.h"

#include <mcp/access.h>

static peer p;

#define PAGE(table) "\"uri\":\"postgres://shop/public/" table "\""

static const exchange pages[] = {
    {READ,
     PAGE("many"),
     {"\\\"sample\\\":{\\\"columns\\\":[\\\"id\\\",\\\"t\\\",\\\"b\\\"],\\\"rows\\\":[[1,\\\"one "
      "1\\\",null],",
      "{\\\"type\\\":\\\"text\\\",\\\"size\\\":300,\\\"uri\\\":\\\"postgres://shop/public/many/"
      "cell/t/2\\\"}",
      "[3,\\\"one 3\\\",null]]}}", "!one 4", "!secret"}},
    {READ, PAGE("empty"), {"\\\"resources\\\"", "!sample"}},
    {READ, PAGE("over_many"), {"\\\"resources\\\"", "!sample"}}, /* a view */
    {READ, PAGE("parts"), {"\\\"rows\\\":[[7]]"}},
    {READ, PAGE("mine"), {"\\\"rows\\\":[[2,\\\"shown\\\"]]", "!hidden row"}}, /* by a policy */
    {READ, PAGE("many?format=text"), {"CREATE TABLE", "!one 1"}},
};

static bool may(const mcp_identity *identity, mcp_item item, mcp_str name, void *user)
{
    (void)identity, (void)item, (void)user;
    return !memmem(name.ptr, name.len, "/many/rows", 10);
}

static void test_pages(void **state)
{
    static const exchange hidden = {READ, PAGE("many"), {"\\\"columns\\\"", "!sample", "!one 1"}};
    static const exchange shown = {READ, PAGE("parts"), {"\\\"rows\\\":[[7]]"}};
    mcp_access access = {.size = sizeof(access), .may = may};
    (void)state;
    assert_int_equal(peer_open(&p, &(mcp_postgres_options){.sample_rows = true}), MCP_OK);
    for (size_t i = 0; i < sizeof(pages) / sizeof(*pages); i++)
        check_exchange(&p, &pages[i]);
    assert_int_equal(mcp_server_set_access(p.server, &access), MCP_OK);
    check_exchange(&p, &hidden);
    check_exchange(&p, &shown);
    peer_close(&p);
}

static void test_without(void **state)
{
    static const exchange e = {READ, PAGE("many"), {"\\\"columns\\\"", "!sample", "!one 1"}};
    (void)state;
    assert_int_equal(peer_open(&p, &(mcp_postgres_options){0}), MCP_OK);
    check_exchange(&p, &e);
    peer_close(&p);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pages),
        cmocka_unit_test(test_without),
    };
    int rc = make_database();
    if (rc == 0) {
        run_sql("CREATE TABLE many(id integer PRIMARY KEY, t text, b bytea, secret text);"
                "INSERT INTO many SELECT i, CASE i WHEN 2 THEN repeat('x', 300) ELSE 'one ' || i "
                "END, NULL, 'secret' FROM generate_series(1, 9) i;"
                "GRANT SELECT (id, t, b) ON many TO reader; CREATE TABLE empty(x integer);"
                "CREATE VIEW over_many AS SELECT id FROM many;"
                "CREATE TABLE parts(x integer) PARTITION BY RANGE (x);"
                "CREATE TABLE parts_1 PARTITION OF parts DEFAULT; INSERT INTO parts VALUES (7);"
                "CREATE TABLE mine(id integer, t text); INSERT INTO mine VALUES (1, 'hidden row'), "
                "(2, 'shown'); ALTER TABLE mine ENABLE ROW LEVEL SECURITY;"
                "CREATE POLICY one ON mine USING (id = 2);"
                "GRANT SELECT ON empty, over_many, parts, mine TO reader");
        rc = cmocka_run_group_tests(tests, NULL, NULL);
    }
    server("remove");
    return rc;
}
