/* The columns of a database by their names (?named=): those of what the role may read, and nothing that
 * tells of others. */
#define _GNU_SOURCE
#include "database.h"

#include <mcp/access.h>

static peer p;

#define NAMED(text) "\"uri\":\"postgres://shop/?named=" text "\""
#define COLUMN(schema, table, column, type)                                                        \
    "{\\\"uri\\\":\\\"postgres://shop/" schema "/" table "\\\",\\\"name\\\":\\\"" schema "." table \
    "\\\",\\\"column\\\":\\\"" column "\\\",\\\"type\\\":\\\"" type "\\\"}"

#define TYPE(schema, name, about)                                                               \
    "{\\\"uri\\\":\\\"postgres://shop/" schema "\\\",\\\"name\\\":\\\"" schema "." name "\\\"," \
    "\\\"type\\\":\\\"" about "\\\"}"

static const exchange exchanges[] = {
    {READ,
     NAMED("customer_email"),
     {"{\\\"named\\\":[" COLUMN("crm", "mails", "customer_email", "text") "," COLUMN(
         "crm", "person", "Customer_Email", "character varying(99)") "]}"}},
    {READ, NAMED("customer_email&format=text"), {"{\\\"named\\\":[{"}},
    /* the name of a type, also of an array of it */
    {READ,
     NAMED("stAGE"),
     {COLUMN("crm", "person", "now", "crm.stage"), COLUMN("crm", "person", "was", "crm.stage[]")}},
    /* not what the role may not read: columns, tables, schemas */
    {READ, NAMED("secret"), {"{\\\"named\\\":[]}"}},
    /* the type of a table has no name here, and is not found by it */
    {READ, NAMED("whole"), {COLUMN("crm", "person", "whole", "record")}},
    {READ, NAMED("hidden"), {"{\\\"named\\\":[]}"}},
    /* partitions are not listed */
    {READ, NAMED("at_day"), {"{\\\"named\\\":[" COLUMN("crm", "visit", "at_day", "date") "]}"}},
    {READ, NAMED("%25"), {"{\\\"named\\\":[" COLUMN("crm", "person", "a%b", "integer") "]}"}},
    {READ, NAMED("_"), {COLUMN("crm", "mails", "customer_email", "text"), "!a%b"}},
    {READ, NAMED("n"), {"\\\"more\\\":true"}},
    /* a pattern is for the whole name */
    {READ,
     NAMED("customer*"),
     {COLUMN("crm", "mails", "customer_email", "text"), "Customer_Email"}},
    {READ, NAMED("*email"), {COLUMN("crm", "mails", "customer_email", "text")}},
    {READ, NAMED("c*r_?ma?l"), {COLUMN("crm", "mails", "customer_email", "text")}},
    {READ, NAMED("email*"), {"{\\\"named\\\":[]}"}},
    {READ, NAMED("a%25?"), {"{\\\"named\\\":[" COLUMN("crm", "person", "a%b", "integer") "]}"}},
    {READ, NAMED("?_b"), {"{\\\"named\\\":[]}"}},
    {READ, NAMED("sta?e"), {COLUMN("crm", "person", "now", "crm.stage"), "!unused"}},
    /* types that no column has */
    {READ,
     NAMED("unused"),
     {"{\\\"named\\\":[" TYPE("crm", "unused_enum", "enum 'a', 'b''c'") "," TYPE(
         "crm", "unused_pair",
         "composite type") "," TYPE("crm", "unused_range",
                                    "range type") "," TYPE("crm", "unused_text",
                                                           "domain of character varying(9)") "]}"}},
    {READ,
     NAMED("unused_t*"),
     {TYPE("crm", "unused_text", "domain of character varying(9)"), "!enum"}},
    /* not one that only a hidden column has, of a closed schema, or of a table */
    {READ, NAMED("hidden_type"), {"{\\\"named\\\":[]}"}},
    {READ, NAMED("closed_type"), {"{\\\"named\\\":[]}"}},
    {READ, NAMED("hidden_one"), {"{\\\"named\\\":[]}"}},
    {READ, NAMED(""), {"named must have 1 to 256 bytes"}},
    {READ, NAMED("a&limit=2"), {"\"code\":-32602"}},
};

static bool may(const mcp_identity *identity, mcp_item item, mcp_str name, void *user)
{
    (void)identity, (void)item, (void)user;
    return !memmem(name.ptr, name.len, "/crm/mails", 10);
}

/* With rules, what is hidden is left out, and does not count. */
static void check_rules(void)
{
    static const exchange all[] = {
        {READ, NAMED("customer_email"), {"crm.person", "!mails"}},
        {READ, NAMED("unused_*"), {TYPE("crm", "unused_enum", "enum"), "domain\\\"}", "!varying"}}};
    mcp_access access = {.size = sizeof(access), .may = may};
    assert_int_equal(mcp_server_set_access(p.server, &access), MCP_OK);
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
        check_exchange(&p, &all[i]);
}

static void test_cases(void **state)
{
    mcp_postgres_options o = {0};
    char sql[1600] = "CREATE TABLE crm.wide(x integer";
    (void)state;
    run_sql(
        "CREATE SCHEMA crm; GRANT USAGE ON SCHEMA crm TO reader; CREATE SCHEMA closed;"
        "CREATE TYPE crm.stage AS ENUM ('lead', 'won');"
        "CREATE TYPE crm.unused_enum AS ENUM ('a', 'b''c'); CREATE DOMAIN crm.unused_text AS "
        "varchar(9); CREATE TYPE crm.unused_pair AS (a integer, b text);"
        "CREATE TYPE crm.unused_taken AS ENUM ('x'); REVOKE USAGE ON TYPE crm.unused_taken FROM "
        "PUBLIC;"
        "CREATE TYPE crm.unused_range AS RANGE (subtype = float8);"
        "CREATE TYPE crm.hidden_type AS ENUM ('x'); CREATE TYPE closed.closed_type AS ENUM ('x');"
        "CREATE TABLE crm.fourth(a crm.hidden_type[]);"
        "CREATE TABLE crm.hidden_one(a integer);"
        "CREATE TABLE crm.person(id integer PRIMARY KEY, \"Customer_Email\" varchar(99),"
        " secret text, now crm.stage, was crm.stage[], whole crm.hidden_one, \"a%b\" integer);"
        "GRANT SELECT (id, \"Customer_Email\", now, was, whole, \"a%b\") ON crm.person TO reader;"
        "CREATE TABLE crm.other(secret text);"
        "CREATE TABLE closed.third(secret text); GRANT SELECT ON closed.third TO reader;"
        "CREATE VIEW crm.mails AS SELECT \"Customer_Email\"::text AS customer_email FROM "
        "crm.person;"
        "CREATE TABLE crm.visit(at_day date) PARTITION BY RANGE (at_day);"
        "CREATE TABLE crm.visit_1 PARTITION OF crm.visit DEFAULT;"
        "GRANT SELECT ON crm.mails, crm.visit, crm.visit_1 TO reader");
    for (int i = 0; i < 55; i++)
        snprintf(sql + strlen(sql), sizeof(sql) - strlen(sql), ", n%d integer", i);
    strcat(sql, "); GRANT SELECT ON crm.wide TO reader");
    run_sql(sql);
    assert_int_equal(peer_open(&p, &o), MCP_OK);
    for (size_t i = 0; i < sizeof(exchanges) / sizeof(*exchanges); i++)
        check_exchange(&p, &exchanges[i]);
    check_rules();
    peer_close(&p);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {cmocka_unit_test(test_cases)};
    int rc = make_database();
    if (rc == 0)
        rc = cmocka_run_group_tests(tests, NULL, NULL);
    server("remove");
    return rc;
}
