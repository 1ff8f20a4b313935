/* Errors of the query tool's statements: the database's message, the place in the caller's text, the
 * names that were perhaps meant, the database's hint. With rules and with roles of callers: nothing of
 * what the caller may not see. */
#define _GNU_SOURCE
#include "callers.h"

static peer p;

static const char setup[] =
    "CREATE SCHEMA sales; CREATE SCHEMA staff;"
    "CREATE TABLE sales.client(id integer PRIMARY KEY, name text, iban text);"
    "CREATE TABLE sales.\"Odd Deal\"(id integer PRIMARY KEY, \"Total \"\"net\" integer);"
    "CREATE TABLE sales.contract(id integer PRIMARY KEY, amount integer);"
    "CREATE TABLE sales.secret_clients(id integer PRIMARY KEY, amounts integer);"
    "CREATE TABLE staff.clients(id integer PRIMARY KEY);"
    "CREATE TABLE sales.log(id integer) PARTITION BY RANGE (id);"
    "CREATE TABLE sales.log_1 PARTITION OF sales.log FOR VALUES FROM (1) TO (2);"
    "GRANT SELECT ON staff.clients TO reader; GRANT USAGE ON SCHEMA sales TO reader;"
    "GRANT SELECT ON sales.\"Odd Deal\", sales.contract, sales.log, sales.log_1, "
    "sales.secret_clients TO reader; GRANT SELECT (id, name) ON sales.client TO reader;"
    "CREATE ROLE seller LOGIN; GRANT USAGE ON SCHEMA sales TO seller; GRANT SELECT ON "
    "sales.contract TO seller;"
    "CREATE FUNCTION raises() RETURNS integer LANGUAGE plpgsql AS $$ BEGIN RAISE 'no luck' USING "
    "HINT = 'look at sales.secret_clients'; END $$;"
    "CREATE ROLE gate LOGIN";

static const exchange errors[] = {
    {CALL,
     SQL("SELECT count(*) FROM clients"),
     {"isError",
      "\"relation \\\"clients\\\" does not exist (line 1, column 22). Did you mean "
      "sales.client",
      "!staff"}},
    /* the place counts lines and characters of the caller's text */
    {CALL,
     SQL("SELECT 'é',\\n  *\\nFROM /* é */ sals.contrakt"),
     {"isError", "(line 3, column 14). Did you mean sales.contract?\""}},
    {CALL, SQL("SELECT 1 +"), {"isError", "syntax error at end of input (line 1, column 11)\""}},
    {CALL,
     SQL("EXPLAIN SELECT * FROM sales.contracts"),
     {"isError", "(line 1, column 23). Did you mean sales.contract?\""}},
    /* names that have to be quoted */
    {CALL, SQL("TABLE odd_deal"), {"isError", "Did you mean sales.\\\"Odd Deal\\\"?"}},
    {CALL,
     SQL("SELECT d . \\\"total \\\"\\\"nett\\\" FROM sales.\\\"Odd Deal\\\" d"),
     {"isError", "Did you mean sales.\\\"Odd Deal\\\".\\\"Total \\\"\\\"net\\\"?"}},
    /* columns, of the tables in the statement */
    {CALL,
     SQL("SELECT c.Amuont FROM sales.contract c"),
     {"isError", "(line 1, column 8). Did you mean sales.contract.amount?\"", "!secret"}},
    {CALL, SQL("SELECT ibam FROM sales.client"), {"isError", "column 8)\"", "!iban"}},
    /* no similar name: the database's hint, if it has one */
    {CALL, SQL("SELECT * FROM nothing_like_it"), {"isError", "(line 1, column 15)\""}},
    {CALL, SQL("TABLE logs_1"), {"isError", "(line 1, column 7)\""}},
    {CALL, SQL("TABLE \\\"\\\""), {"isError", "zero-length"}},
    {CALL,
     SQL("SELECT x.contract FROM sales.contract c"),
     {"isError", "missing FROM-clause entry for table \\\"x\\\" (line 1, column 8)\""}},
    {CALL,
     SQL("SELECT nofun(1)"),
     {"isError", "(line 1, column 8). No function matches the given name and argument types."}},
    {CALL, SQL("SELECT raises()"), {"isError", "\"no luck. look at sales.secret_clients\""}},
    /* a place in what the provider makes of it is none */
    {CALL, SQL("SELECT * INTO y FROM sales.contract"), {"isError", "not allowed here\""}},
    {CALL, SQL("SELECT 1 / 0"), {"isError", "\"division by zero\""}},
    {CALL, SQL("SELECT pg_sleep(60)"), {"isError", LATE, "timeout_ms of the source (500)"}},
};

static void open_shop(mcp_postgres_options o)
{
    if (peer_open(&p, &o) != MCP_OK)
        fail_msg("%s", p.error.text);
}

static void test_errors(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++) {
        open_for(&p, &errors[i], open_shop, (mcp_postgres_options){0});
        check_exchange(&p, &errors[i]);
    }
    peer_close(&p);
}

/* Denies everything of "secret" and the clients. */
static bool may(const mcp_identity *identity, mcp_item item, mcp_str name, void *user)
{
    (void)identity, (void)user;
    return item != MCP_ITEM_RESOURCE ||
           (!memmem(name.ptr, name.len, "secret", 6) && !memmem(name.ptr, name.len, "client", 6));
}

static void test_under_rules(void **state)
{
    static const exchange ruled[] = {
        {CALL, SQL("TABLE clients"), {"isError", "(line 1, column 7)\"", "!mean", "!sales"}},
        {CALL, SQL("TABLE contracts"), {"Did you mean sales.contract?\""}},
        {CALL, SQL("SELECT nam FROM sales.client"), {"column 8)\"", "!client.name"}},
        {CALL, SQL("SELECT raises()"), {"\"no luck\""}},
    };
    (void)state;
    open_shop((mcp_postgres_options){0});
    mcp_access access = {.size = sizeof(access), .may = may};
    assert_int_equal(mcp_server_set_access(p.server, &access), MCP_OK);
    for (size_t i = 0; i < sizeof(ruled) / sizeof(*ruled); i++)
        check_exchange(&p, &ruled[i]);
    peer_close(&p);
}

static void test_with_roles(void **state)
{
    static const exchange of_seller[] = {
        {CALL, SQL("TABLE clients"), {"isError", "(line 1, column 7)\"", "!mean", "!sales"}},
        {CALL, SQL("TABLE contracts"), {"Did you mean sales.contract?\""}},
        {CALL, SQL("SELECT nofun(1)"), {"(line 1, column 8)\""}},
        {CALL, SQL("SELECT raises()"), {"\"no luck\""}},
    };
    char gate[160];
    peer seller;
    (void)state;
    snprintf(gate, sizeof(gate), "host=%s user=gate dbname=shop" PATIENT, top);
    assert_int_equal(shop_open(&p,
                               "{\"claim\":\"role\",\"issuer\":\"" ISSUER
                               "\",\"roles\":{\"s\":\"seller\"},\"own_login\":true}",
                               NULL, (mcp_postgres_options){.conninfo = gate}),
                     MCP_OK);
    caller_open(&seller, &p, "{\"role\":\"s\"}");
    for (size_t i = 0; i < sizeof(of_seller) / sizeof(*of_seller); i++)
        check_exchange(&seller, &of_seller[i]);
    caller_close(&seller);
    peer_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_under_rules),
        cmocka_unit_test(test_with_roles),
    };
    int rc = make_database();
    if (rc == 0)
        run_sql(setup);
    if (rc == 0)
        rc = cmocka_run_group_tests(tests, NULL, NULL);
    server("remove");
    return rc;
}
