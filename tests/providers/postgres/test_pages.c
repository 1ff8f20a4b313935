/* The page of a table, as a model gets it: what its types are, what refers to it, its partitions, the
 * policies that hide rows, its size; and never what the caller's role may not read, or a rule hides. */
#define _GNU_SOURCE
#include "callers.h"

static peer p;

static const char setup[] =
    "CREATE SCHEMA sales; CREATE SCHEMA staff;"
    "CREATE TYPE sales.stage AS ENUM ('lead', 'won'); CREATE TYPE staff.grade AS ENUM ('chief');"
    "DO $$ BEGIN EXECUTE 'CREATE TYPE sales.code AS ENUM (' || (SELECT string_agg(format('%L', 'c' "
    "|| "
    "i), ', ' ORDER BY i) FROM generate_series(1, 120) i) || ')'; END $$;"
    "CREATE FUNCTION sales.is_fine(text) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT true';"
    "CREATE DOMAIN sales.mail AS varchar(80) NOT NULL CHECK (VALUE ~ '@');"
    "CREATE DOMAIN sales.fine AS sales.mail CHECK (sales.is_fine(VALUE));"
    "CREATE DOMAIN sales.stages AS sales.stage[];"
    "CREATE TABLE sales.client(id integer PRIMARY KEY, mail sales.fine, stages sales.stages, code "
    "sales.code, grade staff.grade, pin integer UNIQUE);"
    "CREATE DOMAIN sales.someone AS sales.client;"
    "CREATE TABLE sales.deal(id integer PRIMARY KEY, client integer REFERENCES sales.client, "
    "who sales.someone);"
    "CREATE TABLE sales.part(id integer PRIMARY KEY, client integer REFERENCES sales.client, pin "
    "integer REFERENCES sales.client(pin));"
    "CREATE TABLE sales.secret(id integer PRIMARY KEY, client integer REFERENCES sales.client);"
    "CREATE TABLE staff.bonus(id integer PRIMARY KEY, client integer REFERENCES sales.client);"
    "CREATE TABLE sales.log(id integer, at date, client integer REFERENCES sales.client, boss "
    "integer REFERENCES staff.bonus, PRIMARY KEY (id, at)) PARTITION BY RANGE (at);"
    "CREATE TABLE sales.log_24 PARTITION OF sales.log FOR VALUES FROM ('2024-01-01') TO "
    "('2025-01-01');"
    "CREATE TABLE sales.log_25 PARTITION OF sales.log FOR VALUES FROM ('2025-01-01') TO "
    "('2026-01-01');"
    "CREATE TABLE sales.many(id integer, PRIMARY KEY (id)) PARTITION BY RANGE (id);"
    "DO $$ BEGIN FOR i IN 1..25 LOOP EXECUTE format('CREATE TABLE sales.many_%s PARTITION OF "
    "sales.many FOR VALUES FROM (%s) TO (%s)', i, i, i + 1); EXECUTE format('GRANT SELECT ON "
    "sales.many_%s TO reader', i); END LOOP; END $$;"
    "CREATE TABLE sales.note(id integer PRIMARY KEY, owner text);"
    "ALTER TABLE sales.note ENABLE ROW LEVEL SECURITY;"
    "CREATE POLICY \"own ones\" ON sales.note USING (owner = current_user);"
    "CREATE POLICY of_boss ON sales.note TO postgres USING (owner = 'boss');"
    "CREATE POLICY by_client ON sales.note AS RESTRICTIVE FOR SELECT USING (EXISTS (SELECT 1 FROM "
    "sales.secret));"
    "CREATE TABLE sales.stock(id integer, code text); CREATE UNIQUE INDEX stock_code ON "
    "sales.stock(code); CREATE TABLE sales.shelf(stock text REFERENCES sales.stock(code));"
    "CREATE TABLE sales.entry(id integer, at date, FOREIGN KEY (id, at) REFERENCES sales.log);"
    "CREATE ROLE of_stock; GRANT of_stock TO reader; GRANT SELECT ON sales.stock, sales.shelf, "
    "sales.entry TO of_stock;"
    "INSERT INTO sales.client VALUES (1, 'a@b', NULL, NULL, NULL, 1), (2, 'c@d', NULL, NULL, NULL, "
    "2);"
    "INSERT INTO sales.note VALUES (1, 'reader'), (2, 'x'); INSERT INTO sales.deal VALUES (1, 1);"
    "GRANT USAGE ON SCHEMA sales TO reader;"
    "GRANT SELECT (id, mail, stages, code, grade) ON sales.client TO reader;"
    "GRANT SELECT ON sales.deal, sales.log, sales.log_24, sales.many, sales.note, sales.secret TO "
    "reader; GRANT SELECT (id, client) ON sales.part TO reader;"
    "REVOKE SELECT ON sales.secret FROM reader; GRANT SELECT ON staff.bonus TO reader;"
    "CREATE ROLE seller NOLOGIN; GRANT reader TO seller; CREATE ROLE gate LOGIN; GRANT seller TO "
    "gate;"
    "ANALYZE";

static const exchange pages[] = {
    /* enums and domains, with those below them; not those of a schema that the role may not use */
    {READ,
     URI("sales/client"),
     {"{\\\"name\\\":\\\"sales.stage\\\",\\\"values\\\":[\\\"lead\\\",\\\"won\\\"]}",
      "{\\\"name\\\":\\\"sales.mail\\\",\\\"base\\\":\\\"character "
      "varying(80)\\\",\\\"notNull\\\":true,\\\"checks\\\":[\\\"CHECK (((VALUE)::text ~ "
      "'@'::text))\\\"]}",
      "{\\\"name\\\":\\\"sales.fine\\\",\\\"base\\\":\\\"sales.mail\\\",\\\"checks\\\":[\\\"CHECK "
      "(sales.is_fine(",
      "\\\"c100\\\"],\\\"moreValues\\\":20}", "!chief"}},
    {READ,
     URI("sales/client?format=text"),
     {"\\n-- sales.stage is one of 'lead', 'won'\\n", "'c100' and 20 more\\n",
      "\\n-- sales.mail is character varying(80) NOT NULL CHECK (", "!c101", "!chief"}},
    {READ, URI("sales?format=text"), {"\\n-- sales.stage is one of 'lead', 'won'\\n", "!chief"}},
    /* a domain over a row type would name the table */
    {READ, URI("sales/deal?format=text"), {"CREATE TABLE", "!someone is"}},
    /* what refers to it, if the role may read the columns */
    {READ,
     URI("sales/client"),
     {"\\\"referencedBy\\\":[{\\\"schema\\\" : \\\"sales\\\", \\\"table\\\" : \\\"deal\\\", "
      "\\\"columns\\\" : [\\\"client\\\"], \\\"references\\\" : [\\\"id\\\"]},{",
      "\\\"table\\\" : \\\"log\\\"", "\\\"table\\\" : \\\"part\\\"", "!secret", "!bonus"}},
    {READ,
     URI("sales/client?format=text"),
     {"\\n-- referenced by sales.deal(client), sales.log(client), sales.part(client)\\n", "!pin",
      "!secret", "!bonus"}},
    /* its own foreign keys and constraints likewise */
    {READ, URI("sales/log"), {"sales.client(id)", "!bonus", "!staff", "!boss_fkey"}},
    {READ, URI("sales/part"), {"client_fkey", "!pin"}},
    /* an index that a foreign key needs is none of a constraint */
    {READ,
     URI("sales/stock?format=text"),
     {"CREATE UNIQUE INDEX stock_code ON", "-- referenced by sales.shelf(stock)"}},
    /* a partitioned table */
    {READ, URI("sales/log?format=text"), {"-- referenced by sales.entry(id, at)"}},
    /* partitions */
    {READ,
     URI("sales/log"),
     {"\\\"partitions\\\":{\\\"count\\\" : 1, \\\"first\\\" : [{\\\"schema\\\" : \\\"sales\\\", "
      "\\\"table\\\" : \\\"log_24\\\", \\\"bounds\\\" : \\\"FOR VALUES FROM ('2024-01-01') TO",
      "!log_25"}},
    {READ,
     URI("sales/log?format=text"),
     {"\\n-- partition sales.log_24 FOR VALUES FROM ('2024-01-01')", "!log_25"}},
    {READ, URI("sales/many"), {"{\\\"count\\\" : 25, ", "many_1\\\"", "!many_7\\\""}},
    {READ, URI("sales/many?format=text"), {"\\n-- and 5 more partitions\\n", "!many_7 "}},
    /* policies */
    {READ,
     URI("sales/note"),
     {"\\\"rowSecurity\\\":\\\"you see rows by policy by_client, \\\\\\\"own ones\\\\\\\"\\\"",
      "CREATE POLICY of_boss"}},
    {READ,
     URI("sales/note?format=text"),
     {"\\n-- you see rows by policy by_client, \\\"own ones\\\"\\n"}},
    /* the size, if all rows are the caller's */
    {READ, URI("sales/client"), {"\\\"estimate\\\":{\\\"rows\\\":2,\\\"bytes\\\":8192}"}},
    {READ, URI("sales/client?format=text"), {"\\n-- about 2 rows, 8192 bytes\\n"}},
    {READ, URI("sales/note"), {"rowSecurity", "!estimate"}},
    {READ, URI("sales/note?format=text"), {"you see rows", "!about 2"}},
};

static void check_all(const exchange *those, size_t n, peer *by)
{
    for (size_t i = 0; i < n; i++)
        check_exchange(by, &those[i]);
}

static void test_pages(void **state)
{
    (void)state;
    assert_int_equal(peer_open(&p, &(mcp_postgres_options){0}), MCP_OK);
    check_all(pages, sizeof(pages) / sizeof(*pages), &p);
    peer_close(&p);
}

/* Denies the deals, one partition, and everything of "secret". */
static bool may(const mcp_identity *identity, mcp_item item, mcp_str name, void *user)
{
    (void)identity, (void)item, (void)user;
    return !memmem(name.ptr, name.len, "deal", 4) && !memmem(name.ptr, name.len, "log_24", 6) &&
           !memmem(name.ptr, name.len, "secret", 6);
}

static void test_under_rules(void **state)
{
    static const exchange ruled[] = {
        {READ,
         URI("sales/client"),
         {"\\\"table\\\" : \\\"log\\\"", "\\\"lead\\\"", "!deal", "!is_fine", "!estimate"}},
        {READ,
         URI("sales/client?format=text"),
         {"\\n-- referenced by sales.log(client), sales.part(client)\\n", "!deal", "!is_fine",
          "!about 2", "VALUE)::text ~ '@'"}},
        {READ, URI("sales/log"), {"PARTITION BY", "!log_24", "!partitions"}},
        {READ, URI("sales/log?format=text"), {"PARTITION BY", "!log_24"}},
        {READ,
         URI("sales/note"),
         {"you see rows by policy \\\\\\\"own ones\\\\\\\"\\\"", "!CREATE POLICY", "!by_client",
          "!of_boss", "!current_user"}},
        {READ, URI("sales?format=text"), {"-- you see rows by", "!CREATE POLICY", "!is_fine(("}},
    };
    (void)state;
    assert_int_equal(peer_open(&p, &(mcp_postgres_options){0}), MCP_OK);
    mcp_access access = {.size = sizeof(access), .may = may};
    assert_int_equal(mcp_server_set_access(p.server, &access), MCP_OK);
    check_all(ruled, sizeof(ruled) / sizeof(*ruled), &p);
    peer_close(&p);
}

static void test_with_roles(void **state)
{
    static const exchange of_seller[] = {
        {READ,
         URI("sales/note"),
         {"you see rows by policy by_client, \\\\\\\"own ones\\\\\\\"\\\"", "!CREATE POLICY",
          "!current_user", "!of_boss"}},
        {READ, URI("sales/client"), {"\\\"estimate\\\"", "\\\"deal\\\"", "!is_fine", "!secret"}},
    };
    char gate[160];
    peer seller;
    (void)state;
    snprintf(gate, sizeof(gate), "host=%s user=gate dbname=shop" PATIENT, top);
    assert_int_equal(
        shop_open(&p, "{\"claim\":\"role\",\"issuer\":\"" ISSUER "\",\"roles\":{\"s\":\"seller\"}}",
                  NULL, (mcp_postgres_options){.conninfo = gate}),
        MCP_OK);
    caller_open(&seller, &p, "{\"role\":\"s\"}");
    check_all(of_seller, sizeof(of_seller) / sizeof(*of_seller), &seller);
    caller_close(&seller);
    peer_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pages),
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
