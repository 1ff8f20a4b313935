/* The tool database_health: each figure against a database that was made so that it appears, and nothing
 * of what the caller's role or the rules hide. */
#define _GNU_SOURCE
#include "callers.h"

#include <mcp/access.h>

static peer p;

#define TOOLS              "tools/list"
#define HEALTH             "\"name\":\"database_health_shop\""
#define OF(argument)       HEALTH ",\"arguments\":{" argument "}"
#define TABLE(name)        "\"schema\":\"public\",\"table\":\"" name "\""
#define INDEX(table, name) "{" TABLE(table) ",\"index\":\"" name "\""

/* Rows, indexes and scans; the counters begin after the tables are filled. */
static const char worn[] =
    "CREATE TABLE worn(id integer PRIMARY KEY, note text, other text UNIQUE) WITH "
    "(autovacuum_enabled = false);"
    "INSERT INTO worn SELECT i, 'note ' || i, 'other ' || i FROM generate_series(1, 20000) i;"
    "CREATE INDEX worn_note ON worn(note); CREATE INDEX worn_again ON worn(note);"
    "CREATE INDEX worn_id ON worn(id); CREATE INDEX worn_broken ON worn(note, id);"
    "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'worn_broken'::regclass;"
    "CREATE INDEX worn_lower ON worn(lower(note));"
    "CREATE TABLE closed AS SELECT * FROM worn; CREATE INDEX closed_note ON closed(note);"
    "CREATE TABLE guarded AS SELECT * FROM worn; CREATE INDEX guarded_note ON guarded(note);"
    "ALTER TABLE guarded ENABLE ROW LEVEL SECURITY; CREATE POLICY one ON guarded USING (id = 1);"
    "CREATE TABLE partly AS SELECT id, note, note AS secret FROM worn;"
    "CREATE INDEX partly_id ON partly(id); CREATE INDEX partly_note ON partly(note); CREATE INDEX "
    "partly_secret ON partly(secret);"
    "CREATE INDEX partly_both ON partly(note, secret);"
    "CREATE INDEX partly_lower ON partly(lower(secret));"
    "CREATE INDEX partly_where ON partly(note) WHERE secret <> 'x';"
    "CREATE TABLE many(a integer, b integer);"
    "GRANT SELECT ON worn, guarded, many TO reader; GRANT SELECT (id, note) ON partly TO reader";

static const char used[] =
    "SET enable_seqscan = off; SELECT note FROM partly WHERE id = 5; DELETE FROM worn WHERE id > "
    "15000; DELETE FROM closed WHERE note > "
    "'note 5'; DELETE FROM guarded WHERE note > 'note 5'; RESET enable_seqscan; "
    "SET enable_indexonlyscan = off; SET enable_bitmapscan = off; SET enable_indexscan = off";

static void make_worn(void)
{
    char sql[100];
    run_sql(worn);
    for (int i = 0; i < 15; i++) {
        snprintf(sql, sizeof(sql), "CREATE INDEX many_%d ON many(%s)", i, i % 2 ? "a" : "b");
        run_sql(sql);
    }
    run_sql("SELECT pg_stat_reset()");
    PGconn *c = owner_connect();
    PQclear(PQexec(c, used));
    for (int i = 0; i < 10; i++) {
        PQclear(PQexec(c, "SELECT count(note) FROM worn"));
        PQclear(PQexec(c, "SELECT count(note) FROM closed"));
        PQclear(PQexec(c, "SELECT count(note) FROM guarded"));
    }
    PQfinish(c);
    run_sql("ANALYZE");
}

static void open_shop(mcp_postgres_options o)
{
    o.database_health = true;
    if (peer_open(&p, &o) != MCP_OK)
        fail_msg("%s", p.error.text);
}

/* ---- figures --------------------------------------------------------------------------------- */

static const exchange figures[] = {
    {TOOLS, "", {HEALTH, "\"readOnlyHint\":true"}},
    {CALL,
     HEALTH,
     {"\"sequential_scans\":[{" TABLE(
          "worn") ",\"scans\":10,\"rows_read\":150000,\"index_scans\":1,",
      "- public.worn: 10 sequential scans read 150000 rows, 15000 each; 1 index scans; "}},
    {CALL,
     HEALTH,
     {"\"dead_rows\":[{" TABLE("worn") ",\"dead\":5000,\"live\":15000,\"percent\":25}]",
      "- public.worn: about 25 % of its rows, 5000 beside 15000 live ones; last vacuum never\\n"}},
    {CALL,
     HEALTH,
     {INDEX("worn", "worn_note") ",\"bytes\":", INDEX("worn", "worn_lower") ",\"bytes\":",
      "- public.worn_note on public.worn: ", "!worn_other_key on", "!worn_pkey on"}},
    {CALL,
     HEALTH,
     {INDEX("worn", "worn_again") ",\"like\":\"worn_note\"",
      INDEX("worn", "worn_id") ",\"like\":\"worn_pkey\"",
      "- public.worn_again on public.worn is like worn_note, ", "!\"worn_note\",\"like\"",
      "!worn_pkey is like"}},
    {CALL,
     HEALTH,
     {"\"invalid_indexes\":[" INDEX("worn", "worn_broken"), "failed):\\n- public.worn_broken on "}},
    {CALL,
     HEALTH,
     {"\"counted\":{\"since\":\"20", "\"days\":0,\"standby\":false}", "Counted since 20",
      ", for 0 days, on this server alone.\\n"}},
    {CALL,
     HEALTH,
     {"\"cache\":{\"percent\":", "Cache: ", " blocks were found in memory.",
      "\"transaction_ids\":{\"age\":", "autovacuum freezes from 200000000 on."}},
    /* what the role may not read, and what policies hide */
    {CALL,
     HEALTH,
     {INDEX("partly", "partly_note"), "!closed", "!guarded", "!partly_secret", "!partly_both"}},
    {CALL, HEALTH, {"running_statements\":[]", "!partly_lower", "!partly_where", "!partly_id"}},
    /* one schema or table */
    {CALL,
     OF("\"table\":\"worn\""),
     {"\"tables\":[{" TABLE(
          "worn") ",\"policies_hide_rows\":false,\"rows\":15000,\"dead_rows\":5000",
      "public.worn: about 15000 rows and 5000 dead ones, ", "!partly", "!Cache",
      "!running_statements"}},
    {CALL,
     OF("\"table\":\"guarded\""),
     {"public.guarded: policies hide rows from this server's role, so there are no numbers",
      "\"policies_hide_rows\":true}]", "\"sequential_scans\":[]", "!guarded_note", "!5000"}},
    {CALL,
     OF("\"schema\":\"second one\""),
     {"\"unused_indexes\":[]", "used, and keep no constraint: none.", "!worn"}},
    {CALL,
     OF("\"table\":\"many\",\"schema\":\"public\""),
     {"\"truncated\":true", "public.many_4 on", "There is more than is shown", "!worn"}},
    {CALL, OF("\"table\":\"closed\""), {"isError", "There is no such table that can be read here"}},
    {CALL, OF("\"table\":\"absent\""), {"isError", "There is no such table that can be read here"}},
    {CALL, OF("\"schema\":\"pg_catalog\""), {"isError", "There is no such schema"}},
    {CALL, OF("\"schema\":\"' OR true --\""), {"isError", "There is no such schema"}},
    {CALL, OF("\"table\":\"a\\u0000b\""), {"isError", "A name contains NUL"}},
    {CALL, OF("\"other\":1"), {"isError"}},
};

static void test_figures(void **state)
{
    (void)state;
    open_shop((mcp_postgres_options){0});
    for (size_t i = 0; i < sizeof(figures) / sizeof(*figures); i++)
        check_exchange(&p, &figures[i]);
    peer_close(&p);
}

/* An answer of at most 100 tokens still has all its parts. */
static void test_small(void **state)
{
    static const exchange e = {
        CALL, HEALTH, {"\"truncated\":true", "\"running_statements\":[]", "There is more"}};
    (void)state;
    open_shop((mcp_postgres_options){.answer_tokens = 100});
    check_exchange(&p, &e);
    peer_close(&p);
}

static void test_without(void **state)
{
    static const exchange all[] = {{TOOLS, "", {"query_postgres_shop", "!database_health"}},
                                   {CALL, HEALTH, {"\"code\":-32602"}}};
    (void)state;
    assert_int_equal(peer_open(&p, &(mcp_postgres_options){0}), MCP_OK);
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
        check_exchange(&p, &all[i]);
    peer_close(&p);
}

/* ---- statements ------------------------------------------------------------------------------ */

static PGconn *run_as(const char *role, const char *sql)
{
    char text[160];
    snprintf(text, sizeof(text), "host=%s user=%s dbname=shop", top, role);
    PGconn *c = PQconnectdb(text);
    assert_int_equal(PQsendQuery(c, sql), 1);
    assert_int_equal(PQflush(c), 0);
    return c;
}

static bool may_see(const mcp_identity *identity, mcp_item item, mcp_str name, void *user)
{
    (void)identity, (void)item, (void)user;
    return !memmem(name.ptr, name.len, "/worn", 5) && !memmem(name.ptr, name.len, "query", 5);
}

static mcp_effect may_do(const mcp_identity *identity, mcp_operation operation, mcp_item item,
                         mcp_str name, unsigned flags, void *user)
{
    (void)identity, (void)user;
    return operation == MCP_OPERATION_CALL && item == MCP_ITEM_TOOL && flags == MCP_MAY_EXACT &&
                   mcp_str_eq(name, MCP_STR("database_health_shop"))
               ? MCP_EFFECT_ALLOW
               : MCP_EFFECT_DENY;
}

/* With rules the tool is there only if one names it, and no name of what they hide is in it. */
static void check_rules(void)
{
    static const exchange refused[] = {
        {TOOLS, "", {"\"tools\":[]"}},
        {CALL, HEALTH, {"isError", "no rule of this server's owner allows it to you by its name"}}};
    static const exchange named[] = {
        {TOOLS, "", {HEALTH}},
        {CALL, HEALTH, {INDEX("partly", "partly_note"), "!worn", "!closed", "!pg_sleep"}},
        {CALL, HEALTH, {" s, active, waits for Timeout PgSleep\\n", "!SELECT", "!partly_upper"}},
        {CALL, OF("\"table\":\"worn\""), {"isError", "There is no such table"}},
    };
    assert_int_equal(mcp_server_set_access(p.server, MCP_OPTIONS(mcp_access, .may = may_see)),
                     MCP_OK);
    for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++)
        check_exchange(&p, &refused[i]);
    assert_int_equal(
        mcp_server_set_access(p.server, MCP_OPTIONS(mcp_access, .may = may_see, .may_do = may_do)),
        MCP_OK);
    for (size_t i = 0; i < sizeof(named) / sizeof(*named); i++)
        check_exchange(&p, &named[i]);
}

static void test_statements(void **state)
{
    static const exchange all[] = {
        {CALL,
         HEALTH,
         {"\"state\":\"active\",\"waits_for\":\"Timeout PgSleep\",\"statement\":\"SELECT "
          "pg_sleep(?), ? FROM worn WHERE id = ? LIMIT ?\"}]",
          " s, active, waits for Timeout PgSleep: SELECT pg_sleep(?), ? FROM worn", "!geheim",
          "!4711", "!of_helper"}},
        {CALL, HEALTH, {"!note_of_index", INDEX("partly", "partly_upper")}},
    };
    (void)state;
    /* the database would show the statements of a role that this one is a member of */
    run_sql("CREATE ROLE helper LOGIN; GRANT helper TO reader");
    run_sql("CREATE INDEX partly_upper ON partly(upper(note)); GRANT SELECT ON partly TO reader");
    PGconn *own = run_as(
        "reader", "SELECT pg_sleep(600), 'geheim' FROM worn WHERE id = 4711 /* geheim */ LIMIT 1");
    PGconn *other = run_as("helper", "SELECT pg_sleep(600) AS of_helper");
    open_shop((mcp_postgres_options){0});
    ask_until(&p, CALL, HEALTH, "pg_sleep");
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
        check_exchange(&p, &all[i]);
    check_rules();
    peer_close(&p);
    run_sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%pg_sleep%' "
            "AND pid <> pg_backend_pid()");
    PQfinish(own);
    PQfinish(other);
    run_sql("DROP INDEX partly_upper; REVOKE SELECT ON partly FROM reader; GRANT SELECT (id, note) "
            "ON partly TO reader");
}

/* ---- roles of callers ------------------------------------------------------------------------ */

/* Each caller's role has its own tables. */
static void test_roles(void **state)
{
    static const char roles[] = "{\"claim\":\"team\",\"issuer\":\"" ISSUER
                                "\",\"roles\":{\"a\":\"reader\",\"b\":\"clerk\"}}";
    static const exchange reads = {CALL, HEALTH, {INDEX("worn", "worn_note")}};
    static const exchange less = {
        CALL, HEALTH, {INDEX("many", "many_0"), "!worn", "!partly", "!sale_status"}};
    static char gate[160];
    static peer a, b;
    (void)state;
    run_sql("CREATE ROLE gate LOGIN NOINHERIT; CREATE ROLE clerk; GRANT reader, clerk TO gate;"
            "GRANT SELECT ON many TO clerk");
    snprintf(gate, sizeof(gate), "host=%s user=gate dbname=shop" PATIENT, top);
    if (shop_open(&p, roles, NULL,
                  (mcp_postgres_options){.database_health = true, .conninfo = gate}) != MCP_OK)
        fail_msg("%s", p.error.text);
    caller_open(&a, &p, "{\"team\":\"a\"}");
    caller_open(&b, &p, "{\"team\":\"b\"}");
    check_exchange(&a, &reads);
    check_exchange(&b, &less);
    caller_close(&a);
    caller_close(&b);
    peer_close(&p);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_figures), cmocka_unit_test(test_small),
        cmocka_unit_test(test_without), cmocka_unit_test(test_statements),
        cmocka_unit_test(test_roles),
    };
    int rc = make_database();
    if (rc == 0) {
        make_worn();
        rc = cmocka_run_group_tests(tests, NULL, NULL);
    }
    server("remove");
    return rc;
}
