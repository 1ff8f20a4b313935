/* Hypothetical indexes: what they would change of a query's plan, that nothing but hypopg sees their texts,
 * and that no session keeps them, whatever happens. */
#define _GNU_SOURCE
#include "callers.h"

#include <mcp/access.h>

static peer p;

#define TOOLS      "tools/list"
#define HEALTH     "\"name\":\"database_health_shop\""
#define TRY(q, ix) HEALTH ",\"arguments\":{\"query\":\"" q "\",\"indexes\":[" ix "]}"
#define BY_NOTE    "SELECT * FROM large WHERE note = 'note 5'"
#define NOTE       "\"CREATE INDEX ON large (note)\""
#define ID         "\"CREATE INDEX ON large (id)\""
/* Of the session that runs all statements: its process, and how many indexes it has. */
#define PROCESS SQL("SELECT 'process ' || pg_backend_pid() AS p")
#define KEPT \
    SQL("SELECT 'kept ' || count(*) AS n FROM \\\"odd \\\"\\\" one\\\".hypopg_list_indexes")

/* One connection, so that what a trial leaves is seen. */
static void open_shop(mcp_postgres_options o)
{
    o.database_health = o.explain = true;
    o.connections = 1;
    if (peer_open(&p, &o) != MCP_OK)
        fail_msg("%s", p.error.text);
}

/* ---- answers --------------------------------------------------------------------------------- */

static const exchange answers[] = {
    {TOOLS, "", {"\"indexes\":{\"type\":\"array\"", "\"hypothetical_indexes\":{"}},
    {CALL,
     TRY(BY_NOTE, NOTE),
     {"With the index, the estimated cost falls from 359.00 to 8.05; CREATE INDEX ON large (note) "
      "is "
      "used.\\n",
      "{\"hypothetical_indexes\":{\"cost_without\":359,\"cost_with\":8.05,\"indexes\":[{\"index\":"
      "\"CREATE INDEX ON large (note)\",\"used\":true}]},\"truncated\":false}",
      "!<"}},
    {CALL,
     TRY("SELECT * FROM large a JOIN large b ON b.id = a.id + 1 WHERE a.note = 'note 5';",
         NOTE "," ID ",\"CREATE INDEX ON other (n)\""),
     {"With the indexes, the estimated cost falls from ",
      "; CREATE INDEX ON large (note) is used; CREATE INDEX ON large (id) is used; CREATE INDEX ON "
      "other (n) is not used.\\n",
      "(id)\",\"used\":true},{\"index\":\"CREATE INDEX ON other (n)\",\"used\":false}]"}},
    /* a part of a bitmap, and a line end */
    {CALL,
     TRY("SELECT * FROM large WHERE note = 'a' OR id = 3",
         NOTE ",\"CREATE INDEX\\nON large (id)\""),
     {"(note) is used; CREATE INDEX ON large (id) is used.\\n", "\"CREATE INDEX\\nON large"}},
    {CALL,
     TRY(BY_NOTE, ID),
     {"With the index, the estimated cost stays at 359.00; CREATE INDEX ON large (id) is not used.",
      "\"cost_without\":359,\"cost_with\":359,"}},
    /* the cost of all rows, though a cursor prefers the first ones */
    {CALL,
     TRY("SELECT m FROM other ORDER BY n", "\"CREATE INDEX ON other (n)\""),
     {"the estimated cost stays at ", "(n) is not used."}},
    {CALL, TRY("SELECT pg_sleep(1000), 1 / (id - id) FROM large", NOTE), {"stays at", "!isError"}},
};

/* ---- what is refused ------------------------------------------------------------------------- */

static const exchange refusals[] = {
    {CALL,
     TRY(BY_NOTE, NOTE ",\"CREATE INDEX ON large (nte)\""),
     {"isError",
      "The index 2, CREATE INDEX ON large (nte): ", "column \\\"nte\\\" does not exist"}},
    {CALL,
     TRY(BY_NOTE, NOTE ",\"CREATE INDEX ON absent (n)\""),
     {"isError", "The index 2, ", "\\\"absent\\\""}},
    {CALL,
     TRY(BY_NOTE, NOTE ",\"CREATE INDEX\""),
     {"isError", "The index 2, CREATE INDEX: ", "syntax error"}},
    {CALL,
     TRY(BY_NOTE, NOTE ",\"SELECT 1\""),
     {"isError", "The index 2, SELECT 1: this is not one CREATE INDEX"}},
    {CALL,
     TRY(BY_NOTE, NOTE ",\"DROP TABLE dropped\""),
     {"isError", "this is not one CREATE INDEX"}},
    {CALL,
     TRY(BY_NOTE, "\"CREATE INDEX ON large (id); CREATE INDEX ON large (note)\""),
     {"isError", "The index 1, ", "this is not one CREATE INDEX"}},
    {CALL,
     TRY(BY_NOTE, NOTE ",\"'); DROP TABLE dropped; --\""),
     {"isError", "unterminated quoted string"}},
    {CALL, TRY(BY_NOTE, NOTE ",\"a\\u0000b\""), {"isError", "without NUL"}},
    {CALL, TRY(BY_NOTE, "\"\""), {"isError", "Give a query of at most"}},
    {CALL, TRY(BY_NOTE, ""), {"isError"}},
    {CALL, TRY(BY_NOTE, NOTE "," NOTE "," NOTE "," NOTE "," NOTE), {"isError"}},
    {CALL,
     HEALTH ",\"arguments\":{\"query\":\"SELECT 1\"}",
     {"isError", "Give a query of at most"}},
    {CALL,
     HEALTH ",\"arguments\":{\"indexes\":[" NOTE "]}",
     {"isError", "Give a query of at most"}},
    {CALL,
     HEALTH ",\"arguments\":{\"query\":\"SELECT 1\",\"indexes\":[" NOTE "],\"table\":\"large\"}",
     {"isError", "neither schema nor table"}},
    /* as the tool refuses to explain */
    {CALL, TRY("SELECT * FROM dropped", NOTE), {"isError", "permission denied for table dropped"}},
    {CALL, TRY("DELETE FROM large", NOTE), {"isError", "This is not explained"}},
    {CALL, TRY("EXPLAIN ANALYZE SELECT 1", NOTE), {"isError", "This is not explained"}},
    {CALL, TRY("SELECT 1; SELECT 2", NOTE), {"isError", "multiple commands"}},
    {CALL,
     TRY("WITH d AS (DELETE FROM dropped RETURNING *) SELECT * FROM d", NOTE),
     {"isError", "data-modifying"}},
    {CALL,
     TRY("SELECT nmae FROM customer", NOTE),
     {"isError", "(line 1, column 8). Did you mean public.customer.name?"}},
};

static unsigned long process(void)
{
    const char *at = strstr(ask_and_wait(&p, CALL, PROCESS), "process ");
    assert_non_null(at);
    return strtoul(at + strlen("process "), NULL, 10);
}

/* Asks, and checks that the session is the same as before and has no indexes. */
static void check_kept(const exchange *e)
{
    static const exchange none = {CALL, KEPT, {"kept 0"}};
    unsigned long before = process();
    check_exchange(&p, e);
    assert_true(before > 0);
    assert_int_equal(process(), before);
    check_exchange(&p, &none);
}

static void test_answers(void **state)
{
    (void)state;
    open_shop((mcp_postgres_options){0});
    for (size_t i = 0; i < sizeof(answers) / sizeof(*answers); i++)
        check_kept(&answers[i]);
    for (size_t i = 0; i < sizeof(refusals) / sizeof(*refusals); i++)
        check_kept(&refusals[i]);
    assert_string_equal(sql_value("SELECT count(*) FROM dropped"), "1");
    peer_close(&p);
}

static void test_long(void **state)
{
    static const struct {
        int query, index; /* bytes of space in their texts */
        const char *has[5];
    } all[] = {{65400, 900, {"stays at"}},
               {65600, 900, {"isError", "a query of at most 65536 bytes"}},
               {65400, 1000, {"isError", "1 to 4 indexes of at most 1000"}}};
    static char text[70000];
    (void)state;
    open_shop((mcp_postgres_options){0});
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
        snprintf(text, sizeof(text), TRY("SELECT 1%*s", "\"CREATE INDEX%*s ON large (id)\""),
                 all[i].query, "", all[i].index, "");
        check_reply("long", ask_and_wait(&p, CALL, text), all[i].has);
    }
    peer_close(&p);
}

/* A query that a caller of the tool has run may have left indexes. */
static void test_left(void **state)
{
    static const exchange all[] = {
        {CALL,
         SQL("SELECT indexname FROM \\\"odd \\\"\\\" one\\\".hypopg_create_index('CREATE INDEX ON "
             "large "
             "(note)')"),
         {"large_note"}},
        {CALL, KEPT, {"kept 1"}},
        {CALL, TRY(BY_NOTE, ID), {"stays at 359.00; "}},
        {CALL, KEPT, {"kept 0"}},
    };
    (void)state;
    open_shop((mcp_postgres_options){0});
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
        check_exchange(&p, &all[i]);
    peer_close(&p);
}

#define CANCEL                                                                                  \
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":77," \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"}}}"

/* Sessions that are not known to be without indexes are closed: here the second plan waits at the barrier when
 * the limit ends it, and when its request is cancelled. */
static void test_ended(void **state)
{
    static const char waits[] = TRY("SELECT * FROM large WHERE note = waits()", NOTE);
    static const exchange late = {CALL, waits, {"isError", LATE}};
    static const exchange locked = {
        CALL, TRY(BY_NOTE, NOTE ",\"CREATE INDEX ON other (n)\""), {"isError", LATE, "!The index"}};
    static const exchange none = {CALL, KEPT, {"kept 0"}};
    (void)state;
    PGconn *barrier = barrier_close();
    open_for(&p, &late, open_shop, (mcp_postgres_options){0});
    check_exchange(&p, &late);
    check_exchange(&p, &none);
    PQclear(PQexec(barrier, "BEGIN; LOCK TABLE other"));
    check_exchange(&p, &locked);
    check_exchange(&p, &none);
    PQclear(PQexec(barrier, "ROLLBACK"));
    open_for(&p, &none, open_shop, (mcp_postgres_options){0});
    peer_send(&p, 77, CALL, waits);
    barrier_await(&p, "1");
    mcp_channel_receive(p.channel, 0, MCP_STR(CANCEL), now());
    check_exchange(&p, &none);
    barrier_await(&p, "0");
    PQfinish(barrier);
    peer_close(&p);
}

/* Without the right to use the extension's schema nothing is tried. */
static void test_denied(void **state)
{
    static const exchange denied = {
        CALL, TRY(BY_NOTE, NOTE), {"isError", "permission denied for schema odd"}};
    (void)state;
    run_sql("REVOKE USAGE ON SCHEMA \"odd \"\" one\" FROM reader");
    open_shop((mcp_postgres_options){0});
    check_exchange(&p, &denied);
    run_sql("GRANT USAGE ON SCHEMA \"odd \"\" one\" TO reader");
    check_exchange(&p, &answers[1]);
    peer_close(&p);
}

/* ---- where there is none --------------------------------------------------------------------- */

static bool may_see(const mcp_identity *identity, mcp_item item, mcp_str name, void *user)
{
    (void)identity, (void)item, (void)name, (void)user;
    return true;
}

static mcp_effect may_do(const mcp_identity *identity, mcp_operation operation, mcp_item item,
                         mcp_str name, unsigned flags, void *user)
{
    (void)identity, (void)operation, (void)item, (void)name, (void)flags, (void)user;
    return MCP_EFFECT_ALLOW;
}

/* A plan names what rules may hide. */
static void test_rules(void **state)
{
    static const exchange refused = {
        CALL,
        TRY(BY_NOTE, NOTE),
        {"isError", "Plans are not shown under access rules", "!359", "!8.05"}};
    (void)state;
    open_shop((mcp_postgres_options){0});
    assert_int_equal(
        mcp_server_set_access(p.server, MCP_OPTIONS(mcp_access, .may = may_see, .may_do = may_do)),
        MCP_OK);
    check_exchange(&p, &refused);
    peer_close(&p);
}

/* A role that may read the files of the server runs nothing from outside. */
static void test_mighty(void **state)
{
    static const exchange refused = {
        CALL, TRY(BY_NOTE, NOTE), {"isError", "Queries are disabled", "!359"}};
    static char mighty[160];
    (void)state;
    snprintf(mighty, sizeof(mighty), "host=%s user=postgres dbname=shop" PATIENT, top);
    open_shop((mcp_postgres_options){.conninfo = mighty});
    check_exchange(&p, &refused);
    peer_close(&p);
}

/* Only with both options, of which `explain` cannot be combined with roles of callers. */
static void test_options(void **state)
{
    static const exchange all[] = {
        {TOOLS, "", {HEALTH, "!hypothetical", "!new indexes", "!\"indexes\":{"}},
        {CALL, TRY(BY_NOTE, NOTE), {"isError", "!8.05"}}};
    (void)state;
    assert_int_equal(peer_open(&p, &(mcp_postgres_options){.database_health = true}), MCP_OK);
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
        check_exchange(&p, &all[i]);
    peer_close(&p);
}

static void test_without_extension(void **state)
{
    static const exchange e = {CALL,
                               TRY(BY_NOTE, NOTE),
                               {"isError",
                                "need the extension hypopg, which this database does not have",
                                "CREATE EXTENSION hypopg"}};
    (void)state;
    run_sql("DROP EXTENSION hypopg");
    open_shop((mcp_postgres_options){0});
    check_exchange(&p, &e);
    peer_close(&p);
}

static const char made[] =
    "CREATE TABLE large AS SELECT i AS id, 'note ' || i AS note FROM generate_series(1, 20000) i;"
    "CREATE TABLE other AS SELECT (i * 7919) % 20000 AS n, i % 10 AS m, repeat('x', 1000) AS wide "
    "FROM "
    "generate_series(1, 20000) i;"
    "CREATE TABLE dropped AS SELECT 1 AS id;"
    "CREATE FUNCTION waits() RETURNS text IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN IF EXISTS (SELECT "
    "1 FROM \"odd "
    "\"\" one\".hypopg_list_indexes) THEN PERFORM " BARRIER "; END IF; RETURN 'note 5'; END $$;"
    "GRANT SELECT ON large, other TO reader;"
    "CREATE SCHEMA \"odd \"\" one\"; GRANT USAGE ON SCHEMA \"odd \"\" one\" TO reader;"
    "CREATE EXTENSION hypopg SCHEMA \"odd \"\" one\";"
    "GRANT SELECT ON ALL TABLES IN SCHEMA \"odd \"\" one\" TO reader";

#define INSTALLED "SELECT count(*) FROM pg_available_extensions WHERE name = 'hypopg'"

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_long),
        cmocka_unit_test(test_left),
        cmocka_unit_test(test_ended),
        cmocka_unit_test(test_denied),
        cmocka_unit_test(test_rules),
        cmocka_unit_test(test_options),
        cmocka_unit_test(test_mighty),
        cmocka_unit_test(test_without_extension),
    };
    int rc = make_database();
    if (rc == 0 && strcmp(sql_value(INSTALLED), "1") != 0) {
        puts("skipped: hypopg is not installed (scripts/install-deps --tests)");
        rc = 77;
    }
    if (rc == 0) {
        run_sql(made);
        run_sql("ANALYZE");
        rc = cmocka_run_group_tests(tests, NULL, NULL);
    }
    server("remove");
    return rc;
}
