/* The columns of a database by their names (?named=). */
#define _GNU_SOURCE
#include "database.h"

static peer p;

#define NAMED(text) "\"uri\":\"sqlite://shop/?named=" text "\""
#define COLUMN(table, column, type)                                                \
    "{\\\"uri\\\":\\\"sqlite://shop/" table "\\\",\\\"name\\\":\\\"" table "\\\"," \
    "\\\"column\\\":\\\"" column "\\\",\\\"type\\\":\\\"" type "\\\"}"

static void test_cases(void **state)
{
    static const exchange exchanges[] = {
        {READ,
         NAMED("customer_email"),
         {"{\\\"named\\\":[" COLUMN("sale", "Customer_Email", "TEXT") "]}"}},
        {READ,
         NAMED("MAIL"),
         {"{\\\"named\\\":[" COLUMN("mails", "mail", "TEXT") "," COLUMN("sale", "Customer_Email",
                                                                        "TEXT") "]}"}},
        {READ, NAMED("mail&format=text"), {"{\\\"named\\\":["}},
        {READ,
         NAMED("100%25_"),
         {"{\\\"uri\\\":\\\"sqlite://shop/odd%20name\\\",\\\"name\\\":\\\"odd "
          "name\\\",\\\"column\\\":\\\"100%_\\\"}]",
          "!more"}},
        {READ, NAMED("%25"), {"100%_", "!sale"}},
        {READ, NAMED("n49"), {COLUMN("wide", "n49", "INT"), "!more"}},
        {READ, NAMED("n"), {COLUMN("wide", "n0", "INT"), "\\\"more\\\":true", "!n50"}},
        /* a pattern is for the whole name */
        {READ, NAMED("CUST*mail"), {COLUMN("sale", "Customer_Email", "TEXT"), "!mails"}},
        {READ, NAMED("?a?l"), {COLUMN("mails", "mail", "TEXT"), "!Customer"}},
        {READ, NAMED("*"), {"\\\"more\\\":true"}},
        {READ, NAMED("mail*s"), {"{\\\"named\\\":[]}"}},
        {READ, NAMED("?mail"), {"{\\\"named\\\":[]}"}},
        {READ, NAMED("%C3%BCb?rl*g*"), {"\\\"column\\\":\\\"überläng€\\\""}},
        {READ, NAMED("nowhere"), {"{\\\"named\\\":[]}"}},
        {READ, NAMED(""), {"named must have 1 to 256 bytes"}},
        {READ, NAMED("a&limit=2"), {"\"code\":-32602"}},
    };
    mcp_sqlite_options o = {0};
    (void)state;
    memset(&p, 0, sizeof(p));
    assert_int_equal(peer_open(&p, &o, NULL, NULL), MCP_OK);
    for (size_t i = 0; i < sizeof(exchanges) / sizeof(*exchanges); i++)
        check_exchange(&p, &exchanges[i]);
    peer_close(&p);
}

static int setup(void **state)
{
    char sql[2000] = "CREATE TABLE sale(id INTEGER PRIMARY KEY, Customer_Email TEXT);"
                     "CREATE VIEW mails AS SELECT Customer_Email AS mail FROM sale;"
                     "CREATE VIEW broken AS SELECT mail FROM none;"
                     "CREATE TABLE \"odd name\"(\"100%_\"); CREATE TABLE far(\"überläng€\");"
                     "CREATE TABLE wide(x";
    (void)state;
    for (int i = 0; i < 55; i++)
        snprintf(sql + strlen(sql), sizeof(sql) - strlen(sql), ", n%d INT", i);
    strcat(sql, ")");
    make_database(sql);
    return 0;
}

int main(void)
{
    static const struct CMUnitTest tests[] = {cmocka_unit_test(test_cases)};
    return cmocka_run_group_tests(tests, setup, teardown_database);
}
