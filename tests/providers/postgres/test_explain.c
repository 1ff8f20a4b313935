/* The plan of a query instead of its rows: only with the option, with the refusals of the tool, without
 * running anything, and with a sentence that says what is expensive. */
#define _GNU_SOURCE
#include "database.h"

#include <mcp/access.h>

static peer p;

#define PLAN(s)         SQL_WITH(s, "\"explain\":true")
#define PLAN_WITH(s, m) SQL_WITH(s, "\"explain\":true," m)

static const exchange exchanges[] = {
    {"tools/list", "", {"\"explain\":{\"type\":\"boolean\""}},
    {CALL,
     PLAN("SELECT * FROM large l WHERE note = 'x'"),
     {"{\"columns\":[\"plan\"],\"rows\":[[\"Seq Scan on public.large l  (cost=",
      "[\"  Filter: (l.note = 'x'::text)\"]],\"truncated\":false}",
      "\"text\":\"The most expensive part, with 100 % of the cost: it reads all rows of "
      "public.large "
      "l (about 20000); no index is used for (l.note = 'x'::text).\""}},
    {CALL,
     PLAN_WITH("SELECT * FROM large WHERE id = $1", "\"parameters\":[\"5\"]"),
     {"Index Scan using large_pkey on public.large, about 1 rows."}},
    {CALL,
     PLAN("SELECT count(*) FROM large a JOIN large b ON a.id % 7 = b.id % 5"),
     {"[\"        ->  ", "The most expensive part", "Join, about "}},
    /* a limit ends the scan before its end, unless everything has to be read first */
    {CALL,
     PLAN("SELECT * FROM large LIMIT 5"),
     {"[\"  ->  Seq Scan on public.large",
      "it reads rows until there are enough, of public.large"}},
    {CALL,
     PLAN("SELECT count(*) FROM large LIMIT 5"),
     {"it reads all rows of public.large (about 20000)."}},
    /* no number where policies hide rows, nor of what the role may not read */
    {CALL, PLAN("SELECT * FROM guarded"), {"it reads all rows of public.guarded;", "!(about"}},
    {CALL, PLAN("SELECT * FROM over_closed"), {"it reads all rows of public.closed.", "!(about"}},
    /* nothing is run */
    {CALL, PLAN("SELECT 1 / (id - id) FROM large"), {"Seq Scan", "!division"}},
    {CALL, PLAN("SELECT pg_sleep(100) FROM large"), {"Seq Scan"}},
    /* what the tool refuses */
    {CALL, PLAN("DELETE FROM large"), {"isError", "This is not explained"}},
    {CALL, PLAN("EXPLAIN ANALYZE SELECT 1"), {"isError", "This is not explained"}},
    {CALL, PLAN("SHOW work_mem"), {"isError", "This is not explained"}},
    {CALL, PLAN("SELECT 1; SELECT 2"), {"isError", "multiple commands"}},
    {CALL, PLAN("SELECT 1 INTO made"), {"isError", "!Result"}},
    {CALL,
     PLAN("WITH d AS (DELETE FROM keyless RETURNING *) SELECT * FROM d"),
     {"isError", "data-modifying"}},
    {CALL,
     PLAN("SELECT nmae FROM customer"),
     {"isError", "(line 1, column 8). Did you mean public.customer.name?"}},
    {CALL,
     PLAN_WITH("SELECT * FROM large a, large b, large c, large d WHERE a.id = b.id AND c.id = d.id",
               "\"max_tokens\":100"),
     {"The plan has more lines than fit.", "\"truncated\":false"}},
    {CALL, SQL_WITH("SELECT 7 AS x", "\"explain\":false"), {"\"rows\":[[7]]"}},
};

static bool may_all(const mcp_identity *identity, mcp_item item, mcp_str name, void *user)
{
    (void)identity, (void)item, (void)name, (void)user;
    return true;
}

static void test_plans(void **state)
{
    static const exchange refused = {
        CALL,
        PLAN("SELECT * FROM large"),
        {"isError", "Plans are not shown under access rules: run the query itself", "!Seq Scan"}};
    mcp_access access = {.size = sizeof(access), .may = may_all};
    (void)state;
    assert_int_equal(peer_open(&p, &(mcp_postgres_options){.explain = true}), MCP_OK);
    for (size_t i = 0; i < sizeof(exchanges) / sizeof(*exchanges); i++)
        check_exchange(&p, &exchanges[i]);
    assert_int_equal(mcp_server_set_access(p.server, &access), MCP_OK);
    check_exchange(&p, &refused);
    peer_close(&p);
}

/* Without the option there is no such argument. */
static void test_without(void **state)
{
    static const exchange all[] = {{"tools/list", "", {"query_postgres_shop", "!explain\\\":{"}},
                                   {"tools/list", "", {"!\"explain\""}},
                                   {CALL, PLAN("SELECT * FROM large"), {"isError", "explain"}}};
    (void)state;
    assert_int_equal(peer_open(&p, &(mcp_postgres_options){0}), MCP_OK);
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
        check_exchange(&p, &all[i]);
    peer_close(&p);
}

/* Planning may run functions, so there are no plans with roles of callers. */
static void test_roles(void **state)
{
    static const char text[] = "{\"claim\":\"team\",\"roles\":{\"a\":\"reader\"}}";
    mcp_json_doc *doc;
    (void)state;
    assert_int_equal(mcp_json_parse(mcp_str_from(text), NULL, NULL, &doc, NULL), MCP_OK);
    mcp_postgres_options o = {.explain = true, .run_as = mcp_json_root(doc)};
    assert_int_equal(peer_open(&p, &o), MCP_EINVAL);
    assert_non_null(strstr(p.error.text, "no plans with roles of callers"));
    mcp_json_free(doc);
    peer_close(&p);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plans),
        cmocka_unit_test(test_without),
        cmocka_unit_test(test_roles),
    };
    int rc = make_database();
    if (rc == 0) {
        run_sql("CREATE TABLE large AS SELECT i AS id, 'note ' || i AS note FROM "
                "generate_series(1, 20000) i; ALTER TABLE large ADD PRIMARY KEY (id);"
                "CREATE TABLE guarded AS SELECT * FROM large;"
                "ALTER TABLE guarded ENABLE ROW LEVEL SECURITY;"
                "CREATE POLICY one ON guarded USING (note <> 'x');"
                "CREATE TABLE closed AS SELECT * FROM large;"
                "CREATE VIEW over_closed AS SELECT * FROM closed;"
                "GRANT SELECT ON large, guarded, over_closed TO reader");
        run_sql("ANALYZE");
        rc = cmocka_run_group_tests(tests, NULL, NULL);
    }
    server("remove");
    return rc;
}
