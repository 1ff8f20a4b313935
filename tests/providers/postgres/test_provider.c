/* The PostgreSQL provider with a real server, from a peer's point of view: requests, and what the
 * replies must contain; attacks; a server that stops, restarts and hangs. */
#define _GNU_SOURCE
#include "database.h"

#include <signal.h>

static const exchange exchanges[] = {
    {LIST,
     "",
     {"\"uri\":\"postgres://shop/\",\"name\":\"shop\"", "postgres://shop/public/customer/rows\"",
      "\"description\":\"who buys\"", "!hidden", "!pg_catalog"}},
    {LIST,
     "",
     {"postgres://shop/public/odd%20name%2F%25%C3%A9%3F%23%22q\"",
      "postgres://shop/second%20one/sale\"",
      "$function/total%28customer%20integer%2C%20status%20text%29", "postgres://shop/$query/top\"",
      "!nextCursor"}},
    {LIST, "\"cursor\":\"x\"", {"-32602"}},
    /* requests for missing items: the error names the item and similar ones */
    {READ,
     URI("public/sale/row/1?x=1"),
     {"-32602", "the parameter x is not supported here, only format",
      "\"data\":{\"uri\":\"postgres://shop/public/sale/row/1?x=1\"}"}},
    {READ,
     URI("public/sale/cell/id/1?offset=0&x=1"),
     {"the parameter x is not supported here, only offset and "
      "length\",\"data\":{\"uri\":\"postgres:"}},
    {READ, URI("public/sale?x=1"), {"format must be", "\"data\":{\"uri\":\"postgres://shop/"}},
    {READ, URI("public/sale/rows?id=x"), {"-32602", "cannot be compared", "read sale for"}},
    /* the schema */
    {READ, URI(""), {"who buys", "postgres://shop/second%20one", "!hidden", "!pg_catalog"}},
    {READ,
     URI("?format=text"),
     {"CREATE TABLE public.customer", "CREATE VIEW", "FUNCTION public.total", "text/plain",
      "!hidden"}},
    {READ, URI("?format=xml"), {"-32602", "json or text"}},
    {READ, URI("public"), {"open_sales", "!second one"}},
    {READ, URI("none"), {NOT_FOUND}},
    {READ, URI("pg_catalog"), {NOT_FOUND}},
    {READ, URI("pg_catalog/pg_class"), {NOT_FOUND}},
    {READ, URI("pg_catalog/pg_authid/rows"), {NOT_FOUND}},
    {READ, URI("information_schema/tables/rows"), {NOT_FOUND}},
    {READ,
     URI("public/sale"),
     {"\\\"key\\\":[\\\"id\\\"]", "sale_status", "\\\"table\\\" : \\\"customer\\\"", "CHECK",
      "public/sale/row{/key*}{?format}"}},
    {READ, URI("public/customer"), {"as it is spoken", "who buys"}},
    {READ, URI("public/part"), {"\\\"key\\\":[\\\"b\\\",\\\"a\\\"]"}},
    {READ,
     URI("public/customer?format=text"),
     {"COMMENT ON COLUMN public.customer.name", "CONSTRAINT"}},
    {READ, URI("public/open_sales"), {"\\\"type\\\":\\\"view\\\"", "!row{"}},
    {READ, URI("public/hidden"), {NOT_FOUND}},
    {READ, URI("public/hidden/rows"), {NOT_FOUND}},
    {READ, URI("public/hidden/row/1"), {NOT_FOUND}},
    {READ, URI("public/CUSTOMER"), {NOT_FOUND}},
    {READ,
     URI("public/$function/total(customer%20integer,%20status%20text)"),
     {"numeric", "stable", "SELECT sum"}},
    {READ, URI("public/$function/total"), {NOT_FOUND}},
    {READ, URI("public/$function/writes()?format=text"), {"CREATE OR REPLACE FUNCTION"}},
    /* rows by key */
    {READ,
     URI("public/customer/row/1"),
     {"\\\"name\\\":\\\"Ada\\\"",
      "\\\"size\\\":8,\\\"uri\\\":\\\"postgres://shop/public/customer/cell/photo/1\\\"",
      "\\\"a\\\": [1, 2.50]"}},
    {READ,
     URI("public/customer/row/1?format=text"),
     {"\"mimeType\":\"text/markdown\"", "| name | Ada |\\n", "| photo | {\\\"type\\\":\\\"blob\\\"",
      "| more | {\\\"a\\\":"}},
    {READ, URI("public/customer/row/1?format=xml"), {"-32602", "format must be json or text"}},
    {READ, URI("public/customer/row/99?format=text"), {NOT_FOUND}},
    {READ,
     URI("public/sale/rows?format=text&limit=1"),
     {"text/markdown", "| id | customer | status | total |\\n| --- | --- | --- | --- |\\n| 1 |",
      "Next page: postgres://shop/public/sale/rows?format=text&limit=1&offset=1"}},
    {READ, URI("$query/top?format=text"), {"text/markdown", "| --- | --- |\\n"}},
    {READ, "\"uri\":\"POSTGRES://shop/public/customer/row/1\"", {"Ada"}},
    {READ, URI("public/part/row/1/a%2Fb"), {"\\\"note\\\":\\\"n\\\""}},
    {READ, URI("public/part/row/2/"), {"\\\"note\\\":null"}},
    {READ, URI("public/part/row/3/h%C3%A9llo%20%25"), {"\\\"note\\\":\\\"x\\\""}},
    {READ, URI("public/odd%20name%2F%25%C3%A9%3F%23%22q/row/1"), {"\\\"a \\\\\\\"b\\\":\\\"v\\\""}},
    {READ, URI("public/%24query/row/a'b%5Cc"), {"a'b"}},
    {READ, URI("public/%24query/row/.."), {"\\\"x\\\":\\\"..\\\""}},
    {READ, URI("second%20one/sale"), {"\\\"schema\\\":\\\"second one\\\""}},
    {READ, URI("public/customer/row/99"), {NOT_FOUND}},
    {READ, URI("public/customer/row/Ada"), {NOT_FOUND}},
    {READ, URI("public/customer/row/1%20OR%201=1"), {NOT_FOUND}},
    {READ, URI("public/customer/row/1/2"), {NOT_FOUND}},
    {READ, URI("public/customer/row/99999999999999999999"), {NOT_FOUND}},
    {READ, URI("public/keyless/row/1"), {NOT_FOUND}},
    {READ, URI("public/customer%22%3B%20DROP%20TABLE%20keyless/rows"), {NOT_FOUND}},
    {READ, URI("public/customer%00/rows"), {"-32602"}},
    /* values */
    {READ,
     URI("public/kinds/row/2"),
     {"\\\"b\\\":false", "1e-07", "\\\"n\\\":\\\"NaN\\\"", "\\\"j\\\":[true]"}},
    {READ,
     URI("public/kinds/row/9007199254740993"),
     {"\\\"id\\\":9007199254740993", "\\\"f\\\":\\\"Infinity\\\"", "\\\"n\\\":1.5",
      "\\\"size\\\":300000", "{1,2}"}},
    {READ, URI("public/customer/cell/photo/1"), {"iVBORw0KGgo=", "image/png"}},
    {READ, URI("public/customer/cell/photo/1?offset=1&length=3"), {"UE5H"}},
    {READ, URI("public/customer/cell/photo/20"), {"\"blob\":\"\""}},
    {READ, URI("public/customer/cell/photo/2"), {"\"text\":\"null\"", "application/json"}},
    {READ, URI("public/kinds/cell/long/9007199254740993?offset=299999"), {"\"text\":\"x\""}},
    {READ, URI("public/kinds/cell/none/2"), {NOT_FOUND}},
    {READ, URI("public/customer/cell/name/1?other=1"), {"-32602"}},
    /* pages */
    {READ,
     URI("public/sale/rows"),
     {"[1,1,\\\"open\\\",9.5],[2,1,\\\"paid\\\",20],[3,2,\\\"open\\\",7]", "!next"}},
    {READ,
     URI("public/sale/rows?limit=2"),
     {"\\\"next\\\":\\\"postgres://shop/public/sale/rows?limit=2&offset=2\\\""}},
    {READ, URI("public/sale/rows?limit=2&offset=2"), {"[[3,2,", "!next"}},
    {READ,
     URI("public/sale/rows?status=open&limit=1"),
     {"[[1,1,", "rows?status=open&limit=1&offset=1"}},
    {READ, URI("public/sale/rows?colour=red"), {"-32602", "sale has no column colour"}},
    {READ, URI("public/sale/rows?id=x"), {"-32602", "invalid input syntax"}},
    {READ, URI("public/sale/rows?limit=0"), {"-32602", "limit must be"}},
    {READ, URI("public/kinds/rows?j=1"), {"-32602"}},
    {READ, URI("public/open_sales/rows?name=Grace"), {"\\\"rows\\\":[[3,\\\"Grace\\\"]]"}},
    {READ,
     URI("public/odd%20name%2F%25%C3%A9%3F%23%22q/rows?%22limit%22=4"),
     {"[[1,4,\\\"v\\\"]]"}},
    /* saved queries */
    {READ, URI("$query/top"), {"[[1,9.5],[3,7]]"}},
    {READ, URI("$query/top?status=paid"), {"[[2,20]]"}},
    {READ, URI("$query/top?status='%20OR%201=1"), {"\\\"rows\\\":[]"}},
    {READ, URI("$query/top?other=1"), {"-32602", "no parameter other"}},
    {READ, URI("$query/none"), {NOT_FOUND}},
    /* completion */
    {COMPLETE,
     "\"ref\":{\"type\":\"ref/resource\",\"uri\":\"postgres://shop/"
     "{schema}{?format}\"},\"argument\":{\"name\":\"schema\",\"value\":\"s\"}",
     {"[\"second one\"]"}},
    {COMPLETE,
     "\"ref\":{\"type\":\"ref/resource\",\"uri\":\"postgres://shop/{schema}/"
     "{table}{?format}\"},\"argument\":{\"name\":\"table\",\"value\":\"k\"},\"context\":{"
     "\"arguments\":{\"schema\":\"public\"}}",
     {"[\"keyless\",\"kinds\"]"}},
    {COMPLETE,
     "\"ref\":{\"type\":\"ref/resource\",\"uri\":\"postgres://shop/{schema}/{table}/row{/"
     "key*}{?format}\"},\"argument\":{\"name\":\"key\",\"value\":\"2\"},\"context\":{\"arguments\":"
     "{"
     "\"schema\":\"public\",\"table\":\"customer\"}}",
     {"[\"2\",\"20\"]"}},
    {COMPLETE,
     "\"ref\":{\"type\":\"ref/resource\",\"uri\":\"postgres://shop/{schema}/{table}/cell/{column}{/"
     "key*}{?offset,length}\"},\"argument\":{\"name\":\"column\",\"value\":\"\"},\"context\":{"
     "\"arguments\":{\"schema\":\"public\",\"table\":\"customer\"}}",
     {"[\"id\",\"name\",\"photo\",\"more\"]"}},
    {COMPLETE,
     "\"ref\":{\"type\":\"ref/resource\",\"uri\":\"postgres://shop/{schema}/"
     "{table}{?format}\"},\"argument\":{\"name\":\"table\",\"value\":\"hid\"},\"context\":{"
     "\"arguments\":{\"schema\":\"public\"}}",
     {"\"values\":[]"}},
};

/* Statements that the tool runs, and hostile ones that it rejects. */
static const exchange attacks[] = {
    {CALL,
     SQL("SELECT 1 AS one, 'x' AS two"),
     {"\"columns\":[\"one\",\"two\"],\"rows\":[[1,\"x\"]],\"truncated\":false"}},
    {CALL,
     SQL_WITH("SELECT $1::int + 1, $2::text", "\"parameters\":[\"41\",\"é\"]"),
     {"[[42,\"é\"]]"}},
    {CALL,
     SQL_WITH("SELECT $1::int + 1, $2::text IS NULL", "\"parameters_json\":\"[41, null]\""),
     {"[[42,true]]"}},
    {CALL,
     SQL_WITH("SELECT $1::int", "\"parameters\":[\"1\",\"2\"]"),
     {"isError", "supplies 2 parameters"}},
    {CALL,
     SQL_WITH("SELECT $1", "\"parameters_json\":\"{\\\"a\\\":1}\""),
     {"isError", "text of an array"}},
    {CALL, SQL_WITH("TABLE sale ORDER BY id;", "\"limit\":2"), {"\"truncated\":true", "[2,1,"}},
    {CALL, SQL("/* a /* b */ c */ -- x\\n (VALUES (2)) -- y"), {"[[2]]"}},
    {CALL, SQL("SHOW transaction_read_only"), {"[[\"on\"]]"}},
    {CALL, SQL("EXPLAIN SELECT 1"), {"QUERY PLAN"}},
    {CALL, SQL("SELECT 1 WHERE false"), {"\"rows\":[]", "?column?"}},
    {CALL, SQL("SELECT 1; DELETE FROM keyless"), {"isError", "multiple commands"}},
    {CALL, SQL("SELECT 1; COMMIT"), {"isError", "multiple commands"}},
    {CALL, SQL("COMMIT"), {"isError", "This is not run"}},
    {CALL, SQL("ROLLBACK"), {"isError", "This is not run"}},
    {CALL, SQL("SET TRANSACTION READ WRITE"), {"isError", "This is not run"}},
    {CALL, SQL("SET ROLE postgres"), {"isError", "This is not run"}},
    {CALL, SQL("DO 'BEGIN DELETE FROM keyless; END'"), {"isError", "This is not run"}},
    {CALL, SQL("CALL commits()"), {"isError", "This is not run"}},
    {CALL, SQL("COPY keyless TO PROGRAM 'id'"), {"isError", "This is not run"}},
    {CALL, SQL("LISTEN mcp_changes"), {"isError", "This is not run"}},
    {CALL, SQL("PREPARE x AS DELETE FROM keyless"), {"isError", "This is not run"}},
    {CALL, SQL("DELETE FROM keyless"), {"isError", "This is not run"}},
    {CALL, SQL(""), {"isError", "This is not run"}},
    {CALL, SQL("-- SELECT 1"), {"isError", "This is not run"}},
    {CALL, SQL("/* SELECT"), {"isError", "This is not run"}},
    {CALL,
     SQL("WITH x AS (DELETE FROM keyless RETURNING *) SELECT * FROM x"),
     {"isError", "data-modifying"}},
    {CALL, SQL("SELECT * INTO y FROM keyless"), {"isError"}},
    {CALL, SQL("SELECT * FROM keyless FOR UPDATE"), {"isError", "read-only"}},
    {CALL, SQL("SELECT writes()"), {"isError", "read-only"}},
    {CALL, SQL("SELECT breaks_out()"), {"isError", "before any query"}},
    {CALL, SQL("EXPLAIN ANALYZE DELETE FROM keyless"), {"isError", "read-only"}},
    {CALL,
     SQL("SELECT set_config('transaction_read_only', 'off', false)"),
     {"isError", "before any query"}},
    {CALL, SQL("SELECT set_config('default_transaction_read_only', 'off', false)"), {"\"off\""}},
    {CALL, SQL("SHOW default_transaction_read_only"), {"\"on\""}},
    {CALL, SQL("SELECT set_config('role', 'postgres', false)"), {"isError", "permission denied"}},
    {CALL, SQL("SELECT nextval('sale_id_seq')"), {"isError"}},
    {CALL, SQL("SELECT pg_read_file('/etc/passwd')"), {"isError", "permission denied"}},
    {CALL, SQL("SELECT lo_import('/etc/passwd')"), {"isError", "permission denied"}},
    {CALL, SQL("SELECT * FROM hidden"), {"isError", "permission denied"}},
    {CALL, SQL("SELECT pg_notify('mcp_changes', 'x')"), {"\"truncated\":false"}},
    {CALL, SQL("SELECT repeat('x', 5000000)"), {"isError", "too large"}},
    {CALL,
     SQL("SELECT repeat('x', 5000000)) AS mcp_row UNION ALL SELECT * FROM (SELECT 'x'"),
     {"isError", "syntax error"}},
    {CALL,
     SQL("SELECT repeat('x', 100000) FROM generate_series(1, 1000)"),
     {"\"truncated\":true", "\"size\":100000"}},
    {CALL, SQL("SELECT pg_sleep(60)"), {"isError", LATE}},
    {CALL,
     SQL("WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r) SELECT max(i) FROM r"),
     {"isError", LATE}},
    {CALL, SQL("SELECT * FROM keyless ORDER BY x"), {"[[1,\"one\"],[2,\"two\"]]"}},
    {CALL, SQL("SELECT \\u0000"), {"isError"}},
};

static const char queries[] =
    "[{\"name\":\"top\",\"sql\":\"SELECT id, total FROM sale WHERE status = $1 ORDER BY total "
    "DESC\","
    "\"parameters\":[{\"name\":\"status\",\"values\":[\"open\",\"paid\"],\"default\":\"open\"}]}]";

#define SESSIONS "SELECT count(*) FROM pg_stat_activity WHERE usename = 'reader'"

static peer p;

static void open_shop(mcp_postgres_options o)
{
    mcp_json_doc *doc = NULL;
    assert_int_equal(mcp_json_parse(mcp_str_from(queries), NULL, NULL, &doc, NULL), MCP_OK);
    o.queries = mcp_json_root(doc);
    if (peer_open(&p, &o) != MCP_OK)
        fail_msg("%s", p.error.text);
    mcp_json_free(doc);
}

static void test_exchanges(void **state)
{
    (void)state;
    open_shop((mcp_postgres_options){0});
    for (size_t i = 0; i < sizeof(exchanges) / sizeof(*exchanges); i++)
        check_exchange(&p, &exchanges[i]);
    peer_close(&p);
}

/* Denies the row and everything of "secret". */
static bool may(const mcp_identity *identity, mcp_item item, mcp_str name, void *user)
{
    (void)identity, (void)item, (void)user;
    return !mcp_str_eq(name, MCP_STR("postgres://shop/public/flags/row/t")) &&
           !memmem(name.ptr, name.len, "secret", 6);
}

/* Keys are found as a row shows them, if the row's own URI may be read. */
static void test_keys_as_shown(void **state)
{
    static const exchange shown[] = {
        {READ, URI("public/flags/row/true"), {"\\\"n\\\":1"}},
        {READ, URI("public/flags/row/t"), {"\\\"n\\\":1"}},
        {READ, URI("public/flags/cell/n/false"), {"\"text\":\"2\""}},
        {READ, URI("public/flags/row/yes"), {NOT_FOUND}},
        {READ, URI("public/flags/row/TRUE"), {NOT_FOUND}},
        {READ, URI("public/amounts/row/1.50"), {"{\\\"k\\\":1.50}"}},
        {READ, URI("public/amounts/row/1.5"), {"{\\\"k\\\":1.50}"}},
        {READ, URI("public/amounts/row/100"), {"{\\\"k\\\":100}"}},
        {READ, URI("public/amounts/row/100.0"), {"{\\\"k\\\":100}"}},
        {READ, URI("public/amounts/row/1"), {NOT_FOUND}},
        {READ, URI("public/amounts/row/01.5"), {NOT_FOUND}},
        {READ, URI("public/amounts/row/1e2"), {NOT_FOUND}},
    };
    static const exchange denied[] = {
        {READ, URI("public/flags/row/true"), {NOT_FOUND}},
        {READ, URI("public/flags/cell/n/true"), {"\"text\":\"1\""}}, /* another URI */
        {READ, URI("public/flags/row/false"), {"\\\"n\\\":2"}},
    };
    (void)state;
    run_sql(
        "CREATE TABLE flags(b boolean PRIMARY KEY, n integer); INSERT INTO flags VALUES (true, "
        "1), (false, 2); CREATE TABLE amounts(k numeric PRIMARY KEY); INSERT INTO amounts VALUES "
        "(1.50), (100); GRANT SELECT ON flags, amounts TO reader");
    open_shop((mcp_postgres_options){0});
    for (size_t i = 0; i < sizeof(shown) / sizeof(*shown); i++)
        check_exchange(&p, &shown[i]);
    mcp_access access = {.size = sizeof(access), .may = may};
    assert_int_equal(mcp_server_set_access(p.server, &access), MCP_OK);
    for (size_t i = 0; i < sizeof(denied) / sizeof(*denied); i++)
        check_exchange(&p, &denied[i]);
    peer_close(&p);
    run_sql("DROP TABLE flags, amounts");
}

/* The SQL of a table is all of it, except for what names a table that the caller may not read. */
static void test_ddl(void **state)
{
    static const exchange whole[] = {
        {READ, URI("public/parted?format=text"), {"\\n) PARTITION BY RANGE (at);\\n"}},
        {READ,
         URI("public/parted_24?format=text"),
         {"ALTER TABLE ONLY public.parted ATTACH PARTITION public.parted_24 FOR VALUES FROM "
          "('2024-01-01') TO ('2025-01-01');\\n"}},
        {READ, URI("public/quick?format=text"), {"CREATE UNLOGGED TABLE public.quick (\\n"}},
        {READ,
         URI("public/child?format=text"),
         {"\\n) INHERITS (public.secret, public.quick);\\n"}},
        {READ,
         URI("public/guarded?format=text"),
         {"ALTER TABLE public.guarded ENABLE ROW LEVEL SECURITY;\\nALTER TABLE public.guarded "
          "FORCE "
          "ROW LEVEL SECURITY;\\n",
          "CREATE POLICY p ON public.guarded AS RESTRICTIVE FOR SELECT TO reader, postgres USING "
          "((id "
          "> 0));\\n",
          "CREATE POLICY q ON public.guarded AS PERMISSIVE FOR ALL TO PUBLIC USING ((EXISTS ( "
          "SELECT",
          "CREATE TRIGGER g BEFORE INSERT ON public.guarded FOR EACH ROW EXECUTE FUNCTION "}},
        {READ, URI("public/sale?format=text"), {"CREATE TRIGGER mcp_notify AFTER"}},
    };
    static const exchange hidden[] = {
        {READ, URI("public/child?format=text"), {"CREATE TABLE public.child (", "!secret"}},
        {READ,
         URI("public/guarded?format=text"),
         {"-- you see rows by policy p\\n", "!POLICY", "!secret", "!id > 0", "!policy q"}},
        {READ, URI("public/parted_24?format=text"), {"ATTACH PARTITION"}},
    };
    (void)state;
    run_sql(
        "CREATE TABLE parted(id integer, at date, PRIMARY KEY(id, at)) PARTITION BY RANGE(at);"
        "CREATE TABLE parted_24 PARTITION OF parted FOR VALUES FROM ('2024-01-01') TO "
        "('2025-01-01'); CREATE UNLOGGED TABLE quick(id integer); CREATE TABLE secret(s integer);"
        "CREATE TABLE child(c integer) INHERITS (secret, quick);"
        "CREATE TABLE guarded(id integer); ALTER TABLE guarded ENABLE ROW LEVEL SECURITY; ALTER "
        "TABLE guarded FORCE ROW LEVEL SECURITY; CREATE POLICY p ON guarded AS RESTRICTIVE FOR "
        "SELECT TO reader, postgres USING (id > 0); CREATE POLICY q ON guarded USING (EXISTS "
        "(SELECT 1 FROM secret)); CREATE TRIGGER g BEFORE INSERT ON guarded FOR EACH ROW EXECUTE "
        "FUNCTION mcp_notify();"
        "GRANT SELECT ON parted, parted_24, quick, secret, child, guarded TO reader");
    open_shop((mcp_postgres_options){0});
    for (size_t i = 0; i < sizeof(whole) / sizeof(*whole); i++)
        check_exchange(&p, &whole[i]);
    mcp_access access = {.size = sizeof(access), .may = may};
    assert_int_equal(mcp_server_set_access(p.server, &access), MCP_OK);
    for (size_t i = 0; i < sizeof(hidden) / sizeof(*hidden); i++)
        check_exchange(&p, &hidden[i]);
    peer_close(&p);
    run_sql("DROP TABLE parted, child, quick, secret, guarded CASCADE");
}

static void test_attacks(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(attacks) / sizeof(*attacks); i++) {
        open_for(&p, &attacks[i], open_shop, (mcp_postgres_options){0});
        check_exchange(&p, &attacks[i]);
    }
    peer_close(&p);
}

/* The session keeps no lock of a statement. It is released soon after the answer. */
static void test_lock_is_released(void **state)
{
    (void)state;
    open_shop((mcp_postgres_options){0});
    check_exchange(&p,
                   &(exchange){CALL, SQL("SELECT pg_advisory_lock(7)"), {"\"truncated\":false"}});
    await_sql(&p, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'", "0");
    await_sql(&p, SESSIONS, "1");
    peer_close(&p);
}

/* A role that may read the server's files runs no statements of peers. */
static void test_superuser(void **state)
{
    char text[160];
    (void)state;
    snprintf(text, sizeof(text), "host=%s user=postgres dbname=shop", top);
    open_shop((mcp_postgres_options){.conninfo = text});
    check_exchange(&p, &(exchange){CALL, SQL("SELECT 1"), {"isError", "superuser"}});
    check_exchange(&p, &(exchange){READ, URI("public/hidden/row/1"), {"\\\"x\\\":1"}});
    peer_close(&p);
    open_shop((mcp_postgres_options){.conninfo = text, .superuser = true});
    check_exchange(&p, &(exchange){CALL, SQL("SELECT 1"), {"[[1]]"}});
    check_exchange(&p, &(exchange){CALL, SQL("SELECT writes()"), {"isError", "read-only"}});
    peer_close(&p);
}

/* With more slow queries than may run at once, a row is still returned before one of them ends. */
static void test_slow_queries(void **state)
{
    PGconn *barrier = barrier_close();
    (void)state;
    open_shop((mcp_postgres_options){0});
    for (int i = 0; i < 8; i++)
        peer_send(&p, 10 + i, CALL, SQL("SELECT 'at the end', " BARRIER));
    barrier_await(&p, "2");
    check_exchange(&p, &(exchange){READ, URI("public/customer/row/1"), {"Ada"}});
    assert_int_equal(p.replies, 1);
    PQfinish(barrier);
    for (size_t i = 1; i < 9; i++) {
        assert_true(run_until(&p, &p.replies, i + 1, HANGS_MS));
        check_reply("a slow query", p.reply, (const char *const[5]){"[[\"at the end\""});
    }
    peer_close(&p);
}

static void test_cancel(void **state)
{
    static const char cancel[] = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
                                 "\"params\":{\"requestId\":77}}";
    static const char sleeping[] =
        "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND wait_event = 'PgSleep'";
    (void)state;
    open_shop((mcp_postgres_options){.timeout_ms = 3600000});
    peer_send(&p, 77, CALL, SQL("SELECT pg_sleep(3600), 'to be cancelled'"));
    await_sql(&p, sleeping, "1");
    mcp_channel_receive(p.channel, 0, mcp_str_from(cancel), now());
    await_sql(&p, sleeping, "0"); /* PostgreSQL checks for the cancellation at intervals */
    peer_close(&p);
}

/* A table is replaced by another one: the cached description must not be used. */
static void test_changed_tables(void **state)
{
    (void)state;
    open_shop((mcp_postgres_options){0});
    run_sql("CREATE TABLE moving(id integer PRIMARY KEY, a text)");
    run_sql("INSERT INTO moving VALUES (1, 'first')");
    run_sql("GRANT SELECT ON moving TO reader");
    check_exchange(&p, &(exchange){READ, URI("public/moving/row/1"), {"first"}});
    run_sql("ALTER TABLE moving DROP COLUMN a");
    check_exchange(&p, &(exchange){READ, URI("public/moving/row/1"), {"{\\\"id\\\":1}"}});
    run_sql("ALTER TABLE moving ALTER COLUMN id TYPE text");
    check_exchange(&p, &(exchange){READ, URI("public/moving/row/1"), {"\\\"id\\\":\\\"1\\\""}});
    run_sql("REVOKE SELECT ON moving FROM reader");
    check_exchange(&p, &(exchange){READ, URI("public/moving/row/1"), {NOT_FOUND}});
    run_sql("DROP TABLE moving");
    check_exchange(&p, &(exchange){READ, URI("public/moving/row/1"), {NOT_FOUND}});
    peer_close(&p);
}

/* PostgreSQL is stopped, started, restarted and killed: requests fail during the outage and succeed
 * afterwards. */
static void test_restarts(void **state)
{
    (void)state;
    open_shop((mcp_postgres_options){0});
    check_exchange(&p, &(exchange){READ, URI("public/customer/row/1"), {"Ada"}});
    assert_int_equal(server("stop"), 0);
    check_exchange(
        &p, &(exchange){READ, URI("public/customer/row/1"), {"-32603", "cannot be reached now"}});
    check_exchange(&p, &(exchange){CALL, SQL("SELECT 1"), {"isError", "cannot be reached now"}});
    check_exchange(&p, &(exchange){LIST,
                                   "",
                                   {"\"postgres://shop/\"", "cannot be listed now", "ttlMs\":0,",
                                    "!nextCursor", "!error"}});
    assert_int_equal(server("start"), 0);
    ask_until(&p, READ, URI("public/customer/row/1"), "Ada");
    size_t before = p.replies;
    for (int i = 0; i < 50; i++)
        peer_send(&p, 100 + i, READ, URI("public/sale/rows"));
    assert_int_equal(server("kill"), 0);
    assert_int_equal(server("start"), 0);
    assert_true(run_until(&p, &p.replies, before + 50, HANGS_MS));
    ask_until(&p, READ, URI("public/customer/row/1"), "Ada");
    peer_close(&p);
}

static void test_subscriptions(void **state)
{
    (void)state;
    open_shop((mcp_postgres_options){.poll_ms = 100});
    peer_send(&p, 5, "subscriptions/listen",
              "\"notifications\":{\"resourcesListChanged\":true,\"resourceSubscriptions\":["
              "\"postgres://shop/public/sale/row/1\",\"postgres://shop/public/customer/row/1\"]}");
    await_told(&p);
    p.updates = p.changes = 0;
    run_sql("UPDATE sale SET total = 10 WHERE id = 1");
    await_told(&p);
    assert_int_equal(p.updates, 1); /* no update for the customer */
    assert_int_equal(p.changes, 0);
    run_sql("CREATE TABLE more(x integer)");
    await_told(&p);
    assert_int_equal(p.changes, 1);
    p.updates = 0;
    assert_int_equal(server("stop"), 0);
    assert_int_equal(server("start"), 0);
    /* data may have changed during the outage */
    assert_true(run_until(&p, &p.updates, 2, HANGS_MS));
    await_told(&p);
    p.updates = 0;
    run_sql("UPDATE sale SET total = 9.5 WHERE id = 1");
    await_told(&p);
    assert_int_equal(p.updates, 1);
    run_sql("DROP TABLE more");
    peer_close(&p);
}

/* A subscriber that arrives while the database is away is notified when it is back. */
static void test_subscribed_while_away(void **state)
{
    (void)state;
    assert_int_equal(server("stop"), 0);
    open_shop((mcp_postgres_options){.poll_ms = 100});
    peer_send(&p, 5, "subscriptions/listen",
              "\"notifications\":{\"resourcesListChanged\":true,\"resourceSubscriptions\":["
              "\"postgres://shop/public/sale/row/1\"]}");
    for (int i = 0; i < 20; i++)
        mcp_loop_step(loop, 10);
    assert_int_equal(p.updates + p.changes, 0);
    assert_int_equal(server("start"), 0);
    assert_true(run_until(&p, &p.updates, 1, HANGS_MS));
    assert_true(run_until(&p, &p.changes, 1, HANGS_MS));
    peer_close(&p);
}

static void test_refused(void **state)
{
    static const struct {
        const char *conninfo, *says;
    } cases[] = {{"host=%s user=nobody_there dbname=shop", "nobody_there"},
                 {"host=%s user=reader dbname=none", "none"},
                 {"host=%s password=s3cret user", "is invalid"},
                 {"//reader:s3cret@%s:x:y/shop", "is invalid"}};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char text[200];
        mcp_postgres_options o = {.conninfo = text};
        snprintf(text, sizeof(text), cases[i].conninfo, i < 3 ? top : "[::1");
        assert_true(peer_open(&p, &o) < 0);
        if (!strstr(p.error.text, cases[i].says) || strstr(p.error.text, "s3cret"))
            fail_msg("%s: %s", text, p.error.text);
        mcp_server_free(p.server);
        mcp_loop_free(loop);
    }
}

static size_t resident_kib(void)
{
    size_t pages = 0, ignored;
    FILE *f = fopen("/proc/self/statm", "r");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%zu %zu", &ignored, &pages), 2);
    fclose(f);
    return pages * 4;
}

/* Reads 10,000 different rows: the memory does not grow after the first two thousand. */
static void test_memory(void **state)
{
    char uri[120];
    size_t first = 0;
    (void)state;
    run_sql("CREATE TABLE many AS SELECT i AS id, repeat(i::text, 100) AS t FROM "
            "generate_series(1, 10000) i");
    run_sql("ALTER TABLE many ADD PRIMARY KEY (id)");
    run_sql("GRANT SELECT ON many TO reader");
    open_shop((mcp_postgres_options){0});
    for (int i = 1; i <= 10000; i++) {
        snprintf(uri, sizeof(uri), URI("public/many/row/%d"), i);
        assert_null(strstr(ask_and_wait(&p, READ, uri), "\"error\""));
        if (i == 2000)
            first = resident_kib();
    }
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    assert_true(resident_kib() < first + 1024);
#else
    (void)first; /* sanitizers keep freed memory for a while */
#endif
    peer_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exchanges),     cmocka_unit_test(test_attacks),
        cmocka_unit_test(test_keys_as_shown), cmocka_unit_test(test_ddl),
        cmocka_unit_test(test_superuser),     cmocka_unit_test(test_slow_queries),
        cmocka_unit_test(test_cancel),        cmocka_unit_test(test_changed_tables),
        cmocka_unit_test(test_refused),       cmocka_unit_test(test_memory),
        cmocka_unit_test(test_subscriptions), cmocka_unit_test(test_subscribed_while_away),
        cmocka_unit_test(test_restarts),      cmocka_unit_test(test_lock_is_released),
    };
    int rc = make_database();
    if (rc == 0)
        rc = cmocka_run_group_tests(tests, NULL, NULL);
    server("remove");
    return rc;
}
