/* Hostile database contents and hostile statements: functions and operators that shadow
 * PostgreSQL's own, errors without messages, locks, names and values of every kind, and objects
 * that are dropped while they are read. */
#define _GNU_SOURCE
#include "database.h"

#include <pthread.h>
#include <stdatomic.h>

/* Objects of an attacker who may create them in `public`, the schema that is searched first for the
 * tests' role. */
static const char traps[] =
    /* Its arguments match better than those of the intended "=". It disables the session's
     * read-only default. */
    "CREATE FUNCTION trap_equal(varchar, varchar) RETURNS bool LANGUAGE plpgsql AS $$ BEGIN "
    "PERFORM set_config('default_transaction_read_only', 'off', false); PERFORM "
    "pg_advisory_lock(7); IF current_setting('transaction_read_only') = 'off' THEN INSERT INTO "
    "keyless VALUES (66, 'out'); "
    "END IF; RETURN true; END $$;"
    "CREATE OPERATOR = (LEFTARG = varchar, RIGHTARG = varchar, FUNCTION = trap_equal);"
    "CREATE FUNCTION trap_concat(name, name) RETURNS text LANGUAGE sql AS $$ SELECT 'TRAP' $$;"
    "CREATE OPERATOR || (LEFTARG = name, RIGHTARG = name, FUNCTION = trap_concat);"
    "CREATE FUNCTION trap_match(name, name) RETURNS bool LANGUAGE sql AS $$ SELECT true $$;"
    "CREATE OPERATOR !~ (LEFTARG = name, RIGHTARG = name, FUNCTION = trap_match);"
    "CREATE FUNCTION unnest(int2[]) RETURNS SETOF int2 LANGUAGE sql AS $$ SELECT 1::int2 $$;"
    "CREATE FUNCTION format_type(oid, int4) RETURNS text LANGUAGE sql AS $$ SELECT 'TRAP' $$;"
    "CREATE TABLE worded(k varchar(20) PRIMARY KEY, v text);"
    "INSERT INTO worded VALUES ('a', 'first'), ('b', 'second');"
    "CREATE VIEW locking AS SELECT pg_advisory_lock(8) IS NULL AS l;"
    /* It takes the names of the provider's prepared statements, which the session may have. */
    "CREATE FUNCTION prepares() RETURNS int LANGUAGE plpgsql AS $$ BEGIN FOR i IN 0..31 LOOP IF "
    "EXISTS (SELECT FROM pg_prepared_statements WHERE name = 'mcp' || i) THEN EXECUTE 'DEALLOCATE "
    "mcp' || i; END IF; EXECUTE 'PREPARE mcp' || i || ' AS SELECT 66 AS id'; END LOOP; RETURN 1; "
    "END $$;"
    "CREATE VIEW preparing AS SELECT prepares();"
    "CREATE FUNCTION speechless() RETURNS int LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION USING "
    "MESSAGE = ''; END $$;"
    "CREATE VIEW failing AS SELECT i, CASE WHEN i = 3 THEN speechless() END AS e FROM "
    "generate_series(1, 10) AS i;"
    "CREATE VIEW setting AS SELECT set_config('default_transaction_read_only', 'off', false) AS a, "
    "set_config('statement_timeout', '0', false) AS b, set_config('search_path', 'none', false) AS "
    "c;"
    "CREATE VIEW breaking AS SELECT breaks_out();";

static const char kinds[] =
    "CREATE DOMAIN picture AS bytea; CREATE DOMAIN portrait AS picture;"
    "CREATE TYPE pair AS (x integer, y text); CREATE TYPE mood AS ENUM ('so so', 'a/b');"
    "CREATE TABLE odd(id integer PRIMARY KEY, p portrait, m mood, c pair, j jsonb, l json, n "
    "numeric);"
    "INSERT INTO odd VALUES (1, '\\x8950', 'a/b', '(1,\"a b\")', '{\"n\": "
    "12345678901234567890.125}', "
    "E'{\"n\":\\n12345678901234567890.125}', 12345678901234567890.125);"
    "CREATE TABLE keys(k interval, d date, r int4range, u uuid, e mood, c pair, ch char(5), t "
    "text, "
    "b bytea, PRIMARY KEY (k, d, r, u, e, c, ch, t));"
    "INSERT INTO keys VALUES ('1 mon', '2026-01-01', '[1,2)', "
    "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', "
    "'so so', '(1,\"x y\")', 'ab', E'/?#%&= é''\"\\\\\\n\\t', '\\x01');"
    "CREATE TABLE moments(k timestamptz PRIMARY KEY, b bytea);"
    "INSERT INTO moments VALUES ('2026-01-02 03:04:05.678+00', '\\x01'), ('infinity', '\\x02'), "
    "('0044-03-15 BC', '\\x03');"
    "CREATE TABLE floats(k float8 PRIMARY KEY, b bytea);"
    "INSERT INTO floats VALUES ('NaN', '\\x01'), ('-Infinity', '\\x02'), (0.1, '\\x03'), (1e300, "
    "'\\x04');"
    "CREATE TABLE blobs(k bytea PRIMARY KEY, b bytea); INSERT INTO blobs VALUES ('\\x00ff', "
    "'\\x01'), "
    "('', '\\x02');"
    "CREATE TABLE lists(k integer[] PRIMARY KEY, b bytea); INSERT INTO lists VALUES ('{1,2}', "
    "'\\x01');"
    "CREATE TABLE parted(id integer, y integer, b bytea, PRIMARY KEY (id, y)) PARTITION BY RANGE "
    "(y);"
    "CREATE TABLE part_of_it PARTITION OF parted FOR VALUES FROM (0) TO (10);"
    "INSERT INTO parted VALUES (1, 1, '\\x01');"
    "CREATE TABLE parent(id integer PRIMARY KEY, t text); CREATE TABLE child() INHERITS (parent);"
    "INSERT INTO parent VALUES (1, 'parent'); INSERT INTO child VALUES (1, 'child');"
    "CREATE TABLE guarded(id integer PRIMARY KEY, who text); ALTER TABLE guarded ENABLE ROW LEVEL "
    "SECURITY; CREATE POLICY mine ON guarded USING (who = current_user);"
    "INSERT INTO guarded VALUES (1, 'reader'), (2, 'somebody');"
    "CREATE TABLE nothing();"
    "CREATE TABLE counted(id bigint PRIMARY KEY); INSERT INTO counted VALUES (0), (1), (2), (10), "
    "(12), "
    "(100), (-1), (-10), (-19), (9223372036854775807);";

static const char names[] =
    "CREATE TABLE \"two\nlines \x1b[2J\"(id integer PRIMARY KEY, \"a\nb\" text);"
    "INSERT INTO \"two\nlines \x1b[2J\" VALUES (1, 'x');"
    "COMMENT ON TABLE odd IS E'cleared \\x1b[2J';"
    "CREATE FUNCTION moody(m mood, VARIADIC n integer[]) RETURNS integer LANGUAGE sql AS 'SELECT "
    "1';";

static const char rights[] =
    "CREATE TABLE discreet(id integer PRIMARY KEY, secret text, open text);"
    "COMMENT ON COLUMN discreet.secret IS 'nobody shall know';"
    "CREATE TABLE keyhole(id integer PRIMARY KEY, open text);"
    "INSERT INTO discreet VALUES (1, 's', 'o'); INSERT INTO keyhole VALUES (1, 'o');"
    "GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader;"
    "REVOKE ALL ON hidden, discreet, keyhole FROM reader;"
    "GRANT SELECT (id, open) ON discreet TO reader; GRANT SELECT (open) ON keyhole TO reader;";

static const exchange trapped[] = {
    /* read twice, because effects of the first read would help the second */
    {READ, URI("public/worded/row/a"), {"first", "!second"}},
    {READ, URI("public/worded/row/a"), {"first", "!second"}},
    {READ, URI("public/worded/row/none"), {NOT_FOUND}},
    {READ, URI("public/worded/rows?k=a"), {"first", "!second"}},
    {READ, URI("public/worded/cell/v/b"), {"\"text\":\"second\""}},
    {CALL, SQL("SHOW default_transaction_read_only"), {"[[\"on\"]]"}},
    {CALL, SQL("SELECT count(*) FROM keyless WHERE x = 66"), {"[[0]]"}},
    {LIST, "", {"public/worded/rows\"", "$function/total%28", "!TRAP"}},
    {READ, URI("?format=text"), {"CREATE TABLE public.worded", "character varying(20)"}},
    {READ, URI("public"), {"worded", "!TRAP"}},
    {READ, URI("public/part"), {"\\\"key\\\":[\\\"b\\\",\\\"a\\\"]"}},
    {READ, URI("public/part/row/1/a%2Fb"), {"\\\"note\\\":\\\"n\\\""}},
    {READ, URI("public/locking/rows"), {"[[false]]"}},
    {READ, URI("public/customer/row/1"), {"Ada"}},
    {READ, URI("public/preparing/rows"), {"[[1]]"}},
    {READ, URI("public/preparing/rows"), {"[[1]]"}},
    {READ, URI("public/customer/row/1"), {"Ada"}},
    {READ, URI("public/setting/rows"), {"off"}},
    {READ, URI("public/breaking/rows"), {"-32603", "before any query"}},
    {CALL, SQL("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"), {"[[0]]"}},
    {CALL, SQL("SELECT count(*) FROM pg_prepared_statements WHERE from_sql"), {"[[0]]"}},
    {CALL, SQL("SHOW statement_timeout"), {"[[\"2min\"]]"}},
    {CALL, SQL("SHOW search_path"), {"public"}},
    /* an incomplete result is an error */
    {READ, URI("public/failing/rows"), {"-32603", "an error without a message", "!columns"}},
    {CALL, SQL("SELECT * FROM failing"), {"isError", "an error without a message"}},
    /* text in other encodings within a statement */
    {CALL,
     SQL("SELECT set_config('client_encoding', 'LATIN1', false), 'é', repeat('é', 70000)"),
     {"\"base64\":\"6Q==\"", "{\"type\":\"blob\",\"size\":70000}"}},
    {CALL, SQL("SELECT 'é'"), {"[[\"é\"]]"}},
    {CALL,
     SQL("SELECT repeat('é', 70000)"),
     {"\"type\":\"text\",\"size\":140000", "\"begins\":\"é"}},
    {CALL,
     SQL("SELECT 12345678901234567890.125 AS n, '{\\\"n\\\": 1e400}'::jsonb AS j"),
     {"[[12345678901234567890.125,{\"n\": 1000"}},
};

static const exchange kinds_of_values[] = {
    {READ,
     URI("public/odd/row/1"),
     {"\\\"j\\\":{\\\"n\\\": 12345678901234567890.125}",
      "\\\"l\\\":{\\\"n\\\": 12345678901234567890.125}", "\\\"n\\\":12345678901234567890.125",
      "\\\"size\\\":2"}},
    {READ, URI("public/odd/cell/p/1"), {"\"blob\":\"iVA=\""}},
    {READ, URI("public/odd/rows?m=a/b"), {"[[1,"}},
    {READ, URI("public/odd/rows?c=(1,%22a%20b%22)"), {"[[1,"}},
    {READ, URI("public/odd/rows?l=1"), {"-32602", "operator does not exist"}},
    {READ, URI("public/parent/row/1"), {"{\\\"id\\\":1,\\\"t\\\":\\\""}},
    /* other spellings of a row's URI are rejected */
    {READ, URI("public/customer/row/01"), {NOT_FOUND}},
    {READ, URI("public/customer/row/%201"), {NOT_FOUND}},
    {READ, URI("public/customer/cell/name/01"), {NOT_FOUND}},
    {READ, URI("public/customer/cell/name/1"), {"Ada"}},
    {READ, URI("public/moments/row/2026-01-02%2003:04:05.678"), {NOT_FOUND}},
    {READ, URI("public/guarded/row/1"), {"reader"}},
    {READ, URI("public/guarded/row/2"), {NOT_FOUND}},
    {READ, URI("public/guarded/rows"), {"[[1,\\\"reader\\\"]]"}},
    {READ, URI("public/discreet"), {"open", "!nobody shall know"}},
    {READ, URI("public/discreet/rows?secret=s"), {"-32602", "no column secret"}},
    {READ, URI("public/discreet/cell/secret/1"), {NOT_FOUND}},
    {READ, URI("public/keyhole"), {"open", "!row{", "!\\\"key\\\""}},
    {READ, URI("public/keyhole/rows"), {"[[\\\"o\\\"]]"}},
    {LIST, "", {"two%0Alines%20%1B%5B2J", "public/nothing\"", "!public/nothing/rows", "!hidden"}},
};

/* Statements that a hostile peer may try, in addition to those of test_provider.c. */
static const exchange attempts[] = {
    {CALL, SQL("SELECT $$a$$; SELECT 2"), {"isError", "multiple commands"}},
    {CALL, SQL("SELECT $a$; COMMIT; $a$"), {"; COMMIT; "}},
    {CALL, SQL("SELECT 1) AS x; COMMIT; SELECT * FROM (SELECT 1"), {"isError"}},
    {CALL, SQL("SELECT 1 /*"), {"isError", "unterminated"}},
    {CALL, SQL("SELECT 1 --"), {"[[1]]"}},
    {CALL, SQL("BEGIN"), {"isError", "This is not run"}},
    {CALL, SQL("DISCARD ALL"), {"isError", "This is not run"}},
    {CALL, SQL("DEALLOCATE ALL"), {"isError", "This is not run"}},
    {CALL, SQL("RESET ALL"), {"isError", "This is not run"}},
    {CALL, SQL("SET SESSION AUTHORIZATION postgres"), {"isError", "This is not run"}},
    {CALL, SQL("DECLARE c CURSOR WITH HOLD FOR SELECT 1"), {"isError", "This is not run"}},
    {CALL, SQL("LOCK TABLE keyless"), {"isError", "This is not run"}},
    {CALL, SQL("NOTIFY mcp_changes"), {"isError", "This is not run"}},
    {CALL, SQL("COPY keyless TO '/tmp/x'"), {"isError", "This is not run"}},
    {CALL, SQL("CREATE TEMP TABLE x(a integer)"), {"isError", "This is not run"}},
    {CALL,
     SQL("SELECT set_config('transaction_read_only', 'off', true)"),
     {"isError", "before any query"}},
    {CALL,
     SQL("SELECT set_config('session_authorization', 'postgres', false)"),
     {"isError", "denied"}},
    {CALL,
     SQL("SELECT set_config('statement_timeout', '0', false), pg_sleep(60)"),
     {"isError", LATE}},
    {CALL, SQL("EXPLAIN ANALYZE SELECT pg_sleep(60)"), {"isError", LATE}},
    {CALL, SQL("SELECT * FROM generate_series(1, 1000000000000)"), {"isError", LATE}},
    {CALL, SQL("SELECT length(repeat('x', 1000000000))"), {"isError", LATE}},
    {CALL, SQL("EXPLAIN ANALYZE INSERT INTO keyless VALUES (5, 'x')"), {"isError", "read-only"}},
    {CALL, SQL("EXPLAIN ANALYZE CREATE TABLE x AS SELECT 1"), {"isError"}},
    {CALL, SQL("EXPLAIN ANALYZE EXECUTE mcp1"), {"isError", "does not exist"}},
    {CALL, SQL("WITH x AS (SELECT 1) INSERT INTO keyless SELECT 1, 'x'"), {"isError"}},
    {CALL, SQL("SELECT query_to_xml('DELETE FROM keyless', true, true, '')"), {"isError"}},
    {CALL, SQL("SELECT lo_create(4711)"), {"\"content\""}}, /* rolled back; an error from 16 on */
    {CALL, SQL("SELECT count(*) FROM pg_largeobject_metadata"), {"[[0]]"}},
    {CALL, SQL("SELECT lo_export(4711, '/tmp/x')"), {"isError", "permission denied"}},
    {CALL, SQL("SELECT pg_reload_conf()"), {"isError", "permission denied"}},
    {CALL, SQL("SELECT pg_ls_dir('/')"), {"isError", "permission denied"}},
    {CALL, SQL("SELECT setval('sale_id_seq', 5)"), {"isError"}},
    {CALL, SQL("SELECT pg_create_physical_replication_slot('x')"), {"isError"}},
    {CALL, SQL("SELECT pg_cancel_backend(pg_backend_pid())"), {"isError"}},
    {CALL, SQL("SELECT pg_terminate_backend(pg_backend_pid())"), {"isError", "cannot be reached"}},
    {CALL, SQL("SELECT * FROM keyless ORDER BY x"), {"[[1,\"one\"],[2,\"two\"]]"}},
};

#define KEYS(of, value)                                                              \
    "\"ref\":{\"type\":\"ref/resource\",\"uri\":\"postgres://shop/{schema}/{table}/" \
    "row{/key*}{?format}\"},\"argument\":{\"name\":\"key\",\"value\":\"" value       \
    "\"},\"context\":{\"arguments\":{"                                               \
    "\"schema\":\"public\",\"table\":\"" of "\"}}"

/* Completion of the beginning of a key. */
static const exchange beginnings[] = {
    {COMPLETE, KEYS("counted", "1"), {"[\"1\",\"10\",\"12\",\"100\"]"}},
    {COMPLETE, KEYS("counted", "-1"), {"[\"-1\",\"-19\",\"-10\"]"}},
    {COMPLETE, KEYS("counted", "0"), {"[\"0\"]"}},
    {COMPLETE, KEYS("counted", "01"), {"[]"}},
    {COMPLETE, KEYS("counted", "9223372036854775807"), {"[\"9223372036854775807\"]"}},
    {COMPLETE, KEYS("counted", "922337203685477580"), {"[\"9223372036854775807\"]"}},
    {COMPLETE, KEYS("counted", "1; DROP TABLE counted"), {"[]"}},
    {COMPLETE, KEYS("part", "1"), {"[\"1\"]"}},
    {COMPLETE, KEYS("worded", "a"), {"[\"a\"]"}},
    {COMPLETE, KEYS("keyless", "1"), {"[]"}},
};

static peer p;

static void open_shop(mcp_postgres_options o)
{
    if (peer_open(&p, &o) != MCP_OK)
        fail_msg("%s", p.error.text);
}

static void check(const exchange *all, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        open_for(&p, &all[i], open_shop, (mcp_postgres_options){0});
        check_exchange(&p, &all[i]);
    }
    peer_close(&p);
}

/* On one connection, so that each exchange meets what those before it left there. */
static void test_traps(void **state)
{
    (void)state;
    open_shop((mcp_postgres_options){.connections = 1});
    for (size_t i = 0; i < sizeof(trapped) / sizeof(*trapped); i++)
        check_exchange(&p, &trapped[i]);
    peer_close(&p);
}

static void test_values(void **state)
{
    (void)state;
    check(kinds_of_values, sizeof(kinds_of_values) / sizeof(*kinds_of_values));
}

static void test_beginnings(void **state)
{
    (void)state;
    check(beginnings, sizeof(beginnings) / sizeof(*beginnings));
}

/* A role whose privileges allow lasting damage runs no code of other users. */
static void test_mighty_roles(void **state)
{
    static const char *const makes[] = {
        "CREATE ROLE mighty LOGIN REPLICATION",
        "CREATE ROLE mighty LOGIN IN ROLE pg_read_server_files",
        "CREATE ROLE mighty LOGIN IN ROLE pg_execute_server_program"};
    char text[160];
    (void)state;
    snprintf(text, sizeof(text), "host=%s user=mighty dbname=shop", top);
    for (size_t i = 0; i < sizeof(makes) / sizeof(*makes); i++) {
        run_sql(makes[i]);
        open_shop((mcp_postgres_options){.conninfo = text});
        check_exchange(&p, &(exchange){CALL, SQL("SELECT 1"), {"isError", "Queries are disabled"}});
        peer_close(&p);
        run_sql("DROP ROLE mighty");
    }
}

/* Passwords of which libpq would misparse a part and print it. */
static void test_torn_passwords(void **state)
{
    static const char *const sources[] = {
        "//reader:s3cret/x@localhost/shop", "//reader:12/s3cret@localhost/shop",
        "//reader:x@s3cret@localhost/shop", "postgresql://reader:s3cret/x@localhost/shop"};
    (void)state;
    for (size_t i = 0; i < sizeof(sources) / sizeof(*sources); i++) {
        mcp_postgres_options o = {.conninfo = sources[i]};
        memset(&p, 0, sizeof(p));
        assert_int_equal(peer_open(&p, &o), MCP_EINVAL);
        if (strstr(p.error.text, "s3cret"))
            fail_msg("%s", p.error.text);
        peer_close(&p);
    }
}

/* A database with the encoding LATIN1, and names that this encoding cannot represent. */
static void test_latin1(void **state)
{
    static const exchange latin1[] = {
        {READ, "\"uri\":\"postgres://latin/public/%C3%A9/rows\"", {"[[\\\"ß\\\",\\\"ö\\\"]]"}},
        {READ, "\"uri\":\"postgres://latin/public/%C3%A9/row/%C3%9F\"", {"\\\"ü\\\":\\\"ß\\\""}},
        {READ, "\"uri\":\"postgres://latin/public/%C3%A9/cell/v/%C3%9F\"", {"\"text\":\"ö\""}},
        {READ, "\"uri\":\"postgres://latin/public/%C3%A9/row/%E2%82%AC\"", {NOT_FOUND}},
        {READ, "\"uri\":\"postgres://latin/public/%E2%82%AC/rows\"", {NOT_FOUND}},
        {READ, "\"uri\":\"postgres://latin/public/%E2%82%AC\"", {NOT_FOUND}},
        {READ, "\"uri\":\"postgres://latin/%E2%82%AC\"", {NOT_FOUND}},
    };
    char text[160];
    (void)state;
    run_sql(
        "CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'");
    snprintf(text, sizeof(text), "host=%s user=postgres dbname=latin client_encoding=UTF8", top);
    PGconn *c = PQconnectdb(text);
    PQclear(PQexec(c,
                   "CREATE TABLE \"é\"(\"ü\" text PRIMARY KEY, v text); INSERT INTO \"é\" VALUES "
                   "('ß', 'ö'); GRANT SELECT ON \"é\" TO reader"));
    PQfinish(c);
    snprintf(text, sizeof(text), "host=%s user=reader dbname=latin", top);
    open_shop((mcp_postgres_options){.conninfo = text});
    for (size_t i = 0; i < sizeof(latin1) / sizeof(*latin1); i++)
        check_exchange(&p, &latin1[i]);
    peer_close(&p);
}

static void test_attempts(void **state)
{
    (void)state;
    check(attempts, sizeof(attempts) / sizeof(*attempts));
}

/* Returns the next `"uri":"..."` from `at` on, whether its quotes are escaped or not. */
static const char *next_uri(const char *at, char *to, size_t room)
{
    const char *from = strstr(at, "postgres://");
    size_t len = from ? strcspn(from, "\"\\") : 0;
    if (!from)
        return NULL;
    assert_true(len < room);
    snprintf(to, room, "\"uri\":\"%.*s\"", (int)len, from);
    return from + len;
}

/* Reads every URI of the list and every URI in the listed rows. */
static void test_uris(void **state)
{
    static char list[4 << 20], page[4 << 20];
    char uri[4096], inner[4096];
    size_t n = 0;
    (void)state;
    open_shop((mcp_postgres_options){0});
    strcpy(list, ask_and_wait(&p, LIST, ""));
    for (const char *at = list; (at = next_uri(at, uri, sizeof(uri))); n++) {
        if (strstr(uri, "public/failing/rows") || strstr(uri, "public/breaking/rows"))
            continue;
        strcpy(page, ask_and_wait(&p, READ, uri));
        if (strstr(page, "\"error\""))
            fail_msg("%s: %.500s", uri, page);
        for (const char *in = page;
             strstr(uri, "/rows\"") && (in = next_uri(in, inner, sizeof(inner)));) {
            const char *reply = ask_and_wait(&p, READ, inner);
            if (strstr(reply, "\"error\""))
                fail_msg("%s: %.500s", inner, reply);
        }
    }
    assert_true(n > 50);
    peer_close(&p);
}

static atomic_bool stop;

/* Creates and drops objects until `stop` is set. Statements may fail because of a deadlock with the
 * provider. */
static void *come_and_go(void *arg)
{
    while (!atomic_load(&stop)) {
        PQclear(PQexec(
            arg,
            "CREATE SCHEMA passing; GRANT USAGE ON SCHEMA passing TO reader;"
            "CREATE TABLE passing.t(id integer PRIMARY KEY, x text DEFAULT 'a' CHECK (x <> ''));"
            "CREATE VIEW passing.v AS SELECT id FROM passing.t;"
            "GRANT SELECT ON passing.t, passing.v TO reader"));
        PQclear(PQexec(arg, "DROP SCHEMA passing CASCADE"));
    }
    return NULL;
}

/* The object exists or not; the result is never another error. */
static void test_vanishing(void **state)
{
    static const exchange reads[] = {{LIST, "", {"\"resources\""}},
                                     {READ, URI(""), {"\"contents\""}},
                                     {READ, URI("?format=text"), {"\"contents\""}},
                                     {READ, URI("passing/v?format=text"), {"!-32603"}},
                                     {READ, URI("passing/t"), {"!-32603"}},
                                     {READ, URI("passing/t/rows"), {"!-32603"}},
                                     {READ, URI("passing/v/rows"), {"!-32603"}}};
    char text[160];
    pthread_t thread;
    (void)state;
    snprintf(text, sizeof(text), "host=%s user=postgres dbname=shop", top);
    PGconn *c = PQconnectdb(text);
    open_shop((mcp_postgres_options){0});
    atomic_store(&stop, false);
    assert_int_equal(pthread_create(&thread, NULL, come_and_go, c), 0);
    for (int round = 0; round < 60; round++)
        for (size_t i = 0; i < sizeof(reads) / sizeof(*reads); i++)
            check_exchange(&p, &reads[i]);
    atomic_store(&stop, true);
    pthread_join(thread, NULL);
    PQfinish(c);
    peer_close(&p);
}

/* What an object needs is gone from the catalogue, as while it is dropped: there is no such object. Every
 * other internal error is one of this server. */
static void test_gone(void **state)
{
    static const exchange reads[] = {
        {READ, URI("public/over_gone?format=text"), {NOT_FOUND}},
        {READ, URI("public/over_gone"), {NOT_FOUND}},
        {READ, URI("public/over_gone/rows"), {NOT_FOUND}},
        {READ, URI("public/damaged/rows"), {"-32603", "cannot be read now"}},
        {READ, URI("public/damaged?format=text"), {"CREATE VIEW"}},
        {CALL, SQL("SELECT * FROM over_gone"), {"isError", "could not open relation with OID"}},
    };
    (void)state;
    run_sql("CREATE TABLE gone(id integer); CREATE VIEW over_gone AS SELECT id FROM gone;"
            "CREATE FUNCTION damage() RETURNS integer LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION "
            "'invalid page in block 1' USING ERRCODE = 'XX000'; END $$;"
            "CREATE VIEW damaged AS SELECT damage();"
            "GRANT SELECT ON gone, over_gone, damaged TO reader;"
            "CREATE TABLE kept AS SELECT * FROM pg_class WHERE relname = 'gone';"
            "DELETE FROM pg_class WHERE relname = 'gone'");
    open_shop((mcp_postgres_options){0});
    for (size_t i = 0; i < sizeof(reads) / sizeof(*reads); i++)
        check_exchange(&p, &reads[i]);
    run_sql("INSERT INTO pg_class SELECT * FROM kept");
    check_exchange(&p,
                   &(exchange){READ, URI("public/over_gone?format=text"), {"FROM public.gone"}});
    peer_close(&p);
    run_sql("DROP VIEW over_gone, damaged; DROP FUNCTION damage; DROP TABLE gone, kept");
}

static void settle(void)
{
    await_told(&p);
    p.updates = p.changes = 0;
}

/* A change that affects nothing visible is not announced; one that does is. */
static void test_news(void **state)
{
    static const char *const silent[] = {"CREATE TEMP TABLE mine AS SELECT 1 AS a", "ANALYZE sale",
                                         "TRUNCATE nothing", "VACUUM FULL worded"};
    static const char *const loud[] = {
        "CREATE OR REPLACE VIEW open_sales AS SELECT id, status AS name FROM sale WHERE id > 1",
        "COMMENT ON SCHEMA public IS 'here it is'", "ALTER TABLE odd ALTER n SET DEFAULT 5",
        "GRANT SELECT ON hidden TO reader", "REVOKE SELECT ON hidden FROM reader"};
    char text[160];
    (void)state;
    open_shop((mcp_postgres_options){.poll_ms = 50});
    peer_send(&p, 5, "subscriptions/listen",
              "\"notifications\":{\"resourcesListChanged\":true,\"resourceSubscriptions\":["
              "\"postgres://shop/public/open_sales\"]}");
    settle();
    snprintf(text, sizeof(text), "host=%s user=postgres dbname=shop", top);
    /* this session keeps its temporary table open while the provider looks for changes */
    PGconn *c = PQconnectdb(text);
    for (size_t i = 0; i < sizeof(silent) / sizeof(*silent); i++) {
        PGresult *r = PQexec(c, silent[i]);
        if (PQresultStatus(r) != PGRES_COMMAND_OK)
            fail_msg("%s: %s", silent[i], PQerrorMessage(c));
        PQclear(r);
        await_told(&p);
        if (p.updates || p.changes)
            fail_msg("%s: told", silent[i]);
    }
    PQfinish(c);
    for (size_t i = 0; i < sizeof(loud) / sizeof(*loud); i++) {
        run_sql(loud[i]);
        await_told(&p);
        if (!p.updates || !p.changes)
            fail_msg("%s: not told", loud[i]);
        p.updates = p.changes = 0;
    }
    peer_close(&p);
}

static int setup(void **state)
{
    (void)state;
    run_sql(traps);
    run_sql(kinds);
    run_sql(names);
    run_sql(rights);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_traps),          cmocka_unit_test(test_values),
        cmocka_unit_test(test_attempts),       cmocka_unit_test(test_uris),
        cmocka_unit_test(test_vanishing),      cmocka_unit_test(test_news),
        cmocka_unit_test(test_beginnings),     cmocka_unit_test(test_mighty_roles),
        cmocka_unit_test(test_torn_passwords), cmocka_unit_test(test_latin1),
        cmocka_unit_test(test_gone),
    };
    int rc = make_database();
    if (rc == 0)
        rc = cmocka_run_group_tests(tests, setup, NULL);
    server("remove");
    return rc;
}
