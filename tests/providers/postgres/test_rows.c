/* Requests that run as the database role of their caller (the option run_as): row-level security
 * decides what each caller gets, and nothing of one caller remains for the next. Also the attacks
 * because of which callers cannot write SQL then. */
#define _GNU_SOURCE
#include "callers.h"

#include "bridge.h"

static peer shop, ada, bob, none;
static mcp_postgres_options options;

/* The login role may read nothing itself. */
static const char setup[] =
    "CREATE ROLE gate LOGIN NOINHERIT; CREATE ROLE ada LOGIN; CREATE ROLE \"Bob \"\"x\"\"\" LOGIN;"
    "GRANT ada, \"Bob \"\"x\"\"\" TO gate;"
    "CREATE TABLE note(id integer PRIMARY KEY, owner text, tenant text, body text);"
    "ALTER TABLE note ENABLE ROW LEVEL SECURITY;"
    "CREATE POLICY own ON note USING (owner = current_user);"
    "CREATE POLICY tenant ON note USING (tenant = current_setting('app.tenant', true));"
    "INSERT INTO note VALUES (1, 'ada', '', 'of ada'), (2, 'Bob \"x\"', '', 'of bob'), "
    "(3, 'gate', '', 'of gate'), (4, '', 't4', 'of tenant 4'), (5, '', 'x', 'of nobody');"
    "CREATE TABLE claimed(id integer PRIMARY KEY, owner text, body text);"
    "ALTER TABLE claimed ENABLE ROW LEVEL SECURITY;"
    "CREATE POLICY own ON claimed USING (owner = "
    "nullif(current_setting('request.jwt.claims', true), '')::json ->> 'sub');"
    "INSERT INTO claimed VALUES (1, 'bob', 'claimed by bob');"
    "GRANT SELECT ON claimed TO ada, \"Bob \"\"x\"\"\";"
    "CREATE TABLE plain(id integer PRIMARY KEY, body text, secret text);"
    "INSERT INTO plain VALUES (1, 'plain text', 'for bob alone');"
    "CREATE TABLE of_bob(id integer PRIMARY KEY, body text); INSERT INTO of_bob VALUES (1, 'b');"
    "GRANT SELECT ON note TO ada, \"Bob \"\"x\"\"\";"
    "GRANT SELECT (id, body) ON plain TO ada; GRANT SELECT ON plain TO \"Bob \"\"x\"\"\";"
    "GRANT SELECT ON of_bob TO \"Bob \"\"x\"\"\";"
    "CREATE VIEW who AS SELECT current_user::text AS role, current_setting('app.tenant', true) AS "
    "tenant, current_setting('request.jwt.claims', true) AS claims;"
    "GRANT SELECT ON who TO ada, \"Bob \"\"x\"\"\"";

static const char run_as[] =
    "{\"claim\":\"dbrole\",\"issuer\":\"" ISSUER
    "\",\"roles\":{\"a\":\"ada\",\"b\":\"Bob \\\"x\\\"\"},\"claims\":\"request.jwt.claims\","
    "\"settings\":{\"app.tenant\":\"tenant\"}}";
static const char queries[] =
    "[{\"name\":\"all\",\"sql\":\"SELECT body FROM note ORDER BY id\"},"
    "{\"name\":\"count\",\"sql\":\"SELECT count(*) FROM note WHERE id > $1\","
    "\"parameters\":[{\"name\":\"from\",\"default\":0}]}]";

static char gate[160];

static void open_callers(void)
{
    options.conninfo = gate;
    if (shop_open(&shop, run_as, queries, options) != MCP_OK)
        fail_msg("%s", shop.error.text);
    caller_open(&ada, &shop, "{\"dbrole\":\"a\",\"tenant\":\"t4\"}");
    caller_open(&bob, &shop, "{\"dbrole\":[\"other\",\"b\"],\"tenant\":7}");
}

static void close_callers(void)
{
    caller_close(&ada);
    caller_close(&bob);
    peer_close(&shop);
}

#define KEYS(v)                                                                                   \
    "\"ref\":{\"type\":\"ref/"                                                                    \
    "resource\",\"uri\":\"postgres://shop/{schema}/{table}/row{/key*}{?format}\"},"               \
    "\"argument\":{\"name\":\"key\",\"value\":\"" v "\"},\"context\":{\"arguments\":{\"schema\":" \
    "\"public\",\"table\":\"note\"}}"

static const struct {
    peer *who;
    exchange what;
} exchanges[] = {
    {&ada, {READ, URI("public/note/rows"), {"of ada", "of tenant 4", "!bob", "!gate", "!nobody"}}},
    {&bob, {READ, URI("public/note/rows"), {"of bob", "!of ada", "!tenant 4", "!gate"}}},
    {&ada, {READ, URI("public/note/row/1"), {"of ada"}}},
    {&ada, {READ, URI("public/note/row/2"), {NOT_FOUND}}},
    {&ada, {READ, URI("public/note/row/4"), {"of tenant 4"}}},
    {&bob, {READ, URI("public/note/row/1"), {NOT_FOUND}}},
    {&bob, {READ, URI("public/note/row/2"), {"of bob"}}},
    {&bob, {READ, URI("public/note/row/4"), {NOT_FOUND}}},
    {&bob, {READ, URI("public/note/cell/body/2"), {"of bob"}}},
    {&ada, {READ, URI("public/note/cell/body/2"), {NOT_FOUND}}},
    {&ada, {READ, URI("$query/all"), {"of ada", "of tenant 4", "!of bob"}}},
    {&bob, {READ, URI("$query/all"), {"of bob", "!of ada"}}},
    {&ada, {READ, URI("$query/count"), {"[[2]]"}}},
    {&bob, {READ, URI("$query/count?from=1"), {"[[1]]"}}},
    {&ada, {COMPLETE, KEYS(""), {"[\"1\",\"4\"]"}}},
    {&bob, {COMPLETE, KEYS(""), {"[\"2\"]"}}},
    /* the role and its settings */
    {&ada, {READ, URI("public/who/rows"), {"[[\\\"ada\\\",\\\"t4\\\"", "tenant", "dbrole"}}},
    {&bob, {READ, URI("public/who/rows"), {"Bob", "\\\"7\\\",", "!t4", "other"}}},
    /* what is known about tables differs between roles */
    {&bob, {READ, URI("public/plain/rows"), {"plain text", "for bob alone"}}},
    {&ada, {READ, URI("public/plain/rows"), {"plain text", "!secret", "!for bob"}}},
    {&ada, {READ, URI("public/plain/row/1"), {"plain text", "!secret", "!for bob"}}},
    {&bob, {READ, URI("public/plain/row/1"), {"for bob alone"}}},
    {&ada, {READ, URI("public/of_bob/rows"), {NOT_FOUND}}},
    {&bob, {READ, URI("public/of_bob/rows"), {"[[1,"}}},
    {&ada, {READ, URI("public/of_bob"), {NOT_FOUND}}},
    {&ada,
     {LIST, "", {"public/note/rows\"", "!of_bob", "\"cacheScope\":\"private\"", "ttlMs\":0"}}},
    {&bob, {LIST, "", {"public/note/rows\"", "public/of_bob\""}}},
    {&ada, {READ, URI(""), {"plain", "!of_bob", "!secret"}}},
    /* no SQL of callers */
    {&ada, {CALL, SQL("SELECT 1"), {"-32601"}}},
    {&ada, {"tools/list", "", {"-32601"}}},
};

static void test_callers(void **state)
{
    (void)state;
    open_callers();
    for (size_t i = 0; i < sizeof(exchanges) / sizeof(*exchanges); i++)
        check_exchange(exchanges[i].who, &exchanges[i].what);
    close_callers();
}

/* Callers whose claim is missing or not in the map, or of another issuer, see an empty source. */
static void test_refused(void **state)
{
    static const struct {
        const char *principal, *issuer, *claims;
    } callers[] = {
        {NULL, NULL, NULL},
        {"ada", NULL, NULL},
        {"a", ISSUER, NULL},
        {"p", ISSUER, "{}"},
        {"p", ISSUER, "{\"dbrole\":null,\"tenant\":\"t\"}"},
        {"p", ISSUER, "{\"dbrole\":\"\",\"tenant\":\"t\"}"},
        {"p", ISSUER, "{\"dbrole\":\"ada\",\"tenant\":\"t\"}"}, /* a role, but not in the map */
        {"p", ISSUER, "{\"dbrole\":\"gate\",\"tenant\":\"t\"}"},
        {"p", ISSUER, "{\"dbrole\":\"A\",\"tenant\":\"t\"}"},
        {"p", ISSUER, "{\"dbrole\":\"a\\u0000\",\"tenant\":\"t\"}"},
        {"p", ISSUER, "{\"dbrole\":[],\"tenant\":\"t\"}"},
        {"p", ISSUER, "{\"dbrole\":[\"a\",\"b\"],\"tenant\":\"t\"}"},
        {"p", ISSUER, "{\"dbrole\":[[\"a\"]],\"tenant\":\"t\"}"},
        {"p", ISSUER, "{\"dbrole\":{\"a\":\"a\"},\"tenant\":\"t\"}"},
        {"p", ISSUER, "{\"other\":\"a\"}"},
        {"p", ISSUER, "{\"dbrole\":\"a\",\"tenant\":\"t4\\u0000\"}"},
        {"p", ISSUER, "{\"dbrole\":\"a\"}"}, /* without a value for a setting */
        {"p", ISSUER, "{\"dbrole\":\"a\",\"tenant\":null}"},
        {"p", "https://other.example.org/", "{\"dbrole\":\"a\",\"tenant\":\"t\"}"},
        {"p", NULL, "{\"dbrole\":\"a\",\"tenant\":\"t\"}"},
    };
    (void)state;
    open_callers();
    for (size_t i = 0; i < sizeof(callers) / sizeof(*callers); i++) {
        caller_as(&none, &shop,
                  (mcp_identity_options){.principal = callers[i].principal,
                                         .issuer = callers[i].issuer,
                                         .claims = callers[i].claims});
        check_exchange(&none,
                       &(exchange){LIST, "", {"\"resources\":[]", "!postgres:", "\"ttlMs\":0"}});
        check_exchange(&none, &(exchange){READ, URI(""), {NOT_FOUND}});
        check_exchange(&none, &(exchange){READ, URI("public/note/rows"), {NOT_FOUND}});
        check_exchange(&none, &(exchange){READ, URI("$query/all"), {NOT_FOUND}});
        check_exchange(&none, &(exchange){COMPLETE, KEYS(""), {"\"values\":[]"}});
        caller_close(&none);
    }
    close_callers();
}

/* Tools that read resources read them for the caller of the tool. */
static void test_tools(void **state)
{
    static const exchange reads = {
        CALL,
        "\"name\":\"read_resource\",\"arguments\":{\"uri\":\"postgres://shop/public/note/rows\"}",
        {"of ada", "!of bob"}};
    mcp_bridge *bridge = NULL;
    (void)state;
    open_callers();
    assert_int_equal(
        mcp_bridge_new(shop.server, MCP_OPTIONS(mcp_bridge_options, .user = NULL), &bridge, NULL),
        MCP_OK);
    assert_int_equal(mcp_bridge_add_tools(bridge, NULL, 0, NULL), MCP_OK);
    check_exchange(&ada, &reads);
    check_exchange(&bob, &(exchange){CALL, reads.params, {"of bob", "!of ada"}});
    caller_as(&none, &shop, (mcp_identity_options){.principal = "p", .issuer = ISSUER});
    check_exchange(&none,
                   &(exchange){CALL, reads.params, {"There is no resource", "!of ada", "!of bob"}});
    caller_close(&none);
    mcp_bridge_free(bridge);
    close_callers();
}

/* ---- why callers cannot write SQL ------------------------------------------------------------ */

/* Runs a statement as a caller would if there were a tool: in the read-only transaction, after the
 * change to the role. Returns the text of the first value. */
static void as_ada(const char *sql, char got[300])
{
    static const char *const before[] = {"BEGIN READ ONLY", "SET LOCAL ROLE ada",
                                         "SELECT set_config('app.tenant', 't4', true)"};
    PGconn *c = PQconnectdb(gate);
    for (size_t i = 0; i < 3; i++)
        PQclear(PQexec(c, before[i]));
    PGresult *r = PQexecParams(c, sql, 0, NULL, NULL, NULL, NULL, 0);
    if (PQresultStatus(r) != PGRES_TUPLES_OK)
        fail_msg("%s: %s", sql, PQerrorMessage(c));
    got[0] = 0;
    for (int i = 0; i < PQntuples(r); i++)
        snprintf(got + strlen(got), 300 - strlen(got), "%s;", PQgetvalue(r, i, 0));
    PQclear(r);
    PQfinish(c);
}

/* One SELECT can leave the role and the settings of the transaction, so the role cannot contain SQL
 * of its caller. No function of PostgreSQL prevents this for a login role with several roles. */
static void test_attacks_on_plain_sql(void **state)
{
    static const struct {
        const char *sql, *has;
    } attacks[] = {
        {"WITH x AS MATERIALIZED (SELECT set_config('role', 'Bob \"x\"', true)) "
         "SELECT body FROM x, note",
         "of bob"},
        {"SELECT (query_to_xml($$SELECT body FROM note$$, true, true, ''))::text FROM (SELECT "
         "set_config('role', 'Bob \"x\"', true) OFFSET 0) AS x",
         "of bob"},
        {"WITH x AS MATERIALIZED (SELECT set_config('app.tenant', 'x', true)) "
         "SELECT body FROM x, note",
         "of nobody"},
        {"SELECT (query_to_xml($$SELECT body FROM note$$, true, true, ''))::text FROM (SELECT "
         "set_config('app.tenant', 'x', true) OFFSET 0) AS x",
         "of nobody"},
        {"WITH x AS MATERIALIZED (SELECT set_config('request.jwt.claims', '{\"sub\":\"bob\"}', "
         "true)) SELECT body FROM x, claimed",
         "claimed by bob"},
        {"SELECT (query_to_xml($$SELECT body FROM claimed$$, true, true, ''))::text FROM (SELECT "
         "set_config('request.jwt.claims', '{\"sub\":\"bob\"}', true) OFFSET 0) AS x",
         "claimed by bob"},
        /* the login role itself */
        {"WITH x AS MATERIALIZED (SELECT set_config('role', 'none', true)) "
         "SELECT current_user FROM x",
         "gate"},
    };
    char got[300];
    (void)state;
    as_ada("SELECT body FROM note ORDER BY id", got);
    assert_string_equal(got, "of ada;of tenant 4;");
    for (size_t i = 0; i < sizeof(attacks) / sizeof(*attacks); i++) {
        as_ada(attacks[i].sql, got);
        if (!strstr(got, attacks[i].has))
            fail_msg("%s: %s", attacks[i].sql, got);
    }
}

/* Options that are refused. */
static void test_bad_options(void **state)
{
#define ROLES "\"roles\":{\"a\":\"ada\"}"
    static const struct {
        const char *run_as, *queries, *tool, *says;
    } cases[] = {
        {"{" ROLES "}", NULL, "query", "tool"},
        {"{" ROLES "}", "[{\"name\":\"q\",\"sql\":\"SELECT Set_Config($1, $2, true)\"}]", NULL,
         "set_config"},
        {"{" ROLES "}", "[{\"name\":\"q\",\"sql\":\"SELECT query_to_xml($1, true, true, '')\"}]",
         NULL, "query_to_xml"},
        {"{" ROLES "}", "[{\"name\":\"q\",\"sql\":\"SELECT * FROM dblink_get_result($1)\"}]", NULL,
         "dblink"},
        {"{\"roles\":{\"a\":\"none\"}}", NULL, NULL, "none"},
        {"{\"roles\":{\"a\":\"\"}}", NULL, NULL, "1 to 63"},
        {"{\"roles\":{\"a\":\"0123456789012345678901234567890123456789012345678901234567890123\"}}",
         NULL, NULL, "1 to 63"},
        {"{\"roles\":{\"a\":\"ada\\u0000\"}}", NULL, NULL, "NUL"},
        {"{\"roles\":{\"a\":7}}", NULL, NULL, "1 to 63"},
        {"{\"roles\":{}}", NULL, NULL, "1 to 1000"},
        {"{\"issuer\":\"i\"," ROLES "}", NULL, NULL, "claim"},
        {"{" ROLES ",\"claims\":\"role\"}", NULL, NULL, "dot"},
        {"{" ROLES ",\"settings\":{\"search_path\":\"c\"}}", NULL, NULL, "dot"},
        {"{" ROLES ",\"settings\":{\"a.b; c\":\"c\"}}", NULL, NULL, "dot"},
        {"{" ROLES ",\"settings\":{\"a.\":\"c\"}}", NULL, NULL, "dot"},
        {"{" ROLES ",\"settings\":{\"a.b\":\"\"}}", NULL, NULL, "claim"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        assert_int_equal(shop_open(&shop, cases[i].run_as, cases[i].queries,
                                   (mcp_postgres_options){.conninfo = gate, .tool = cases[i].tool}),
                         MCP_EINVAL);
        if (!strstr(shop.error.text, cases[i].says))
            fail_msg("case %zu: %s", i, shop.error.text);
        mcp_server_free(shop.server);
        mcp_loop_free(loop);
    }
}

/* ---- the roles ------------------------------------------------------------------------------- */

/* Roles that cannot be used, or to which policies do not apply, are found at the start, and by
 * --doctor. */
static void test_bad_roles(void **state)
{
    static const struct {
        const char *login, *role, *says;
        bool only_doctor; /* only a warning at the start */
    } cases[] = {
        {"gate", "nobody at all", "does not exist", false},
        {"gate", "reader", "cannot be used by gate", false},
        {"gate", "mighty", "is a superuser", false},
        {"gate", "bypasses", "has BYPASSRLS", false},
        {"gate", "copies", "has REPLICATION", false},
        {"porter", "ada", "the role porter may read or write files of the server", false},
        {"gate", "owner", "FORCE ROW LEVEL SECURITY", true},
        {"postgres", "ada", "is a superuser", false},
        {"bypasses", "ada", "has BYPASSRLS", false},
        {"owner", "ada", "owns public.owned", true},
    };
    char roles[100], login[100];
    (void)state;
    run_sql("CREATE ROLE mighty SUPERUSER; CREATE ROLE bypasses LOGIN BYPASSRLS; CREATE ROLE "
            "copies REPLICATION; CREATE ROLE porter LOGIN NOINHERIT; CREATE ROLE owner LOGIN;"
            "GRANT pg_read_server_files TO porter;"
            "GRANT mighty, bypasses, copies, owner TO gate; GRANT ada TO bypasses, owner, porter;"
            "CREATE TABLE owned(id integer PRIMARY KEY); ALTER TABLE owned OWNER TO owner;"
            "ALTER TABLE owned ENABLE ROW LEVEL SECURITY");
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        mcp_error error = {0};
        mcp_json_doc *doc;
        snprintf(login, sizeof(login), "host=%s user=%s dbname=shop", top, cases[i].login);
        snprintf(roles, sizeof(roles), "{\"roles\":{\"a\":\"%s\"}}", cases[i].role);
        assert_int_equal(shop_open(&shop, roles, NULL, (mcp_postgres_options){.conninfo = login}),
                         cases[i].only_doctor ? MCP_OK : MCP_EACCESS);
        if (!cases[i].only_doctor && !strstr(shop.error.text, cases[i].says))
            fail_msg("case %zu: %s", i, shop.error.text);
        peer_close(&shop);
        snprintf(roles, sizeof(roles), "{\"run_as\":{\"roles\":{\"a\":\"%s\"}}}", cases[i].role);
        assert_int_equal(mcp_json_parse(mcp_str_from(roles), NULL, NULL, &doc, NULL), MCP_OK);
        assert_int_equal(mcp_postgres_check_json(login, mcp_json_root(doc), NULL, NULL, &error),
                         MCP_EACCESS);
        if (!strstr(error.text, cases[i].says))
            fail_msg("case %zu: %s", i, error.text);
        mcp_json_free(doc);
    }
    run_sql("REVOKE mighty, bypasses, copies, owner FROM gate");
}

/* A role that changes while it is served: requests fail, and nothing is read with another role. */
static void test_changed_roles(void **state)
{
    static const char *const changes[][2] = {
        {"REVOKE ada FROM gate", "GRANT ada TO gate"},
        {"ALTER ROLE ada BYPASSRLS", "ALTER ROLE ada NOBYPASSRLS"},
        {"ALTER ROLE ada RENAME TO eve", "ALTER ROLE eve RENAME TO ada"},
    };
    (void)state;
    open_callers();
    for (size_t i = 0; i < 3; i++) {
        check_exchange(&ada, &(exchange){READ, URI("public/note/rows"), {"of ada"}});
        run_sql(changes[i][0]);
        check_exchange(&ada,
                       &(exchange){READ, URI("public/note/rows"), {"-32603", "!of ada", "!gate"}});
        check_exchange(&ada, &(exchange){READ, URI("public/note/row/1"), {"-32603", "!of ada"}});
        check_exchange(&ada, &(exchange){READ, URI("$query/all"), {"-32603", "!of ada", "!gate"}});
        check_exchange(&ada, &(exchange){READ, URI(""), {"-32603", "!note"}});
        check_exchange(&ada, &(exchange){COMPLETE, KEYS(""), {"\"values\":[]"}});
        check_exchange(&bob, &(exchange){READ, URI("public/note/rows"), {"of bob"}});
        run_sql(changes[i][1]);
    }
    close_callers();
}

/* The login role gets a dangerous attribute while it is served: no request is run any more. When it
 * loses the attribute, everything works again, although the connections are from the time between. */
static void test_changed_login(void **state)
{
    static const char *const attributes[] = {"SUPERUSER", "BYPASSRLS", "REPLICATION"};
    char sql[80];
    (void)state;
    open_callers();
    check_exchange(&ada, &(exchange){READ, URI("public/note/rows"), {"of ada"}});
    for (size_t i = 0; i < 3; i++) {
        snprintf(sql, sizeof(sql), "ALTER ROLE gate %s", attributes[i]);
        run_sql(sql);
        run_sql(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE usename = 'gate'");
        check_exchange(&ada, &(exchange){READ, URI("public/note/rows"), {"\"error\"", "!of ada"}});
        check_exchange(&bob, &(exchange){READ, URI("$query/all"), {"\"error\"", "!of bob"}});
        check_exchange(&ada, &(exchange){LIST, "", {"cannot be listed", "!note"}});
        snprintf(sql, sizeof(sql), "ALTER ROLE gate NO%s", attributes[i]);
        run_sql(sql);
        check_exchange(&ada, &(exchange){READ, URI("public/note/rows"), {"of ada", "!of bob"}});
    }
    close_callers();
}

/* ---- one caller after the other on a connection ---------------------------------------------- */

/* Views that leave something in the session: a role, settings, a lock, a prepared statement. */
static const char leavers[] =
    "CREATE FUNCTION leave_prepared() RETURNS int LANGUAGE plpgsql AS $$ BEGIN EXECUTE 'PREPARE "
    "left_over AS SELECT body FROM public.note'; RETURN 1; END $$;"
    "CREATE VIEW leave(a, b, c, d, e, f, g, h) AS SELECT set_config('role', 'Bob \"x\"', false), "
    "set_config('app.tenant', 'x', false), set_config('app.left', 'over', false), "
    "set_config('search_path', 'nowhere', false), set_config('statement_timeout', '0', false), "
    "set_config('default_transaction_read_only', 'off', false), "
    "pg_advisory_lock(77) IS NULL, leave_prepared();"
    "CREATE VIEW found AS SELECT concat_ws(' ', current_user, session_user, "
    "current_setting('app.tenant', true), 'left:' || coalesce(current_setting('app.left', true), "
    "''), current_setting('search_path'), current_setting('statement_timeout'), "
    "current_setting('default_transaction_read_only'), (SELECT count(*) FROM pg_locks WHERE "
    "locktype = 'advisory'), (SELECT count(*) FROM pg_prepared_statements WHERE name LIKE "
    "'left%'), (SELECT count(*) FROM pg_class WHERE relpersistence = 't')) AS state;"
    "CREATE VIEW slow AS SELECT body, pg_sleep(3600) IS NULL AS s FROM note;"
    "GRANT SELECT ON leave, found, slow TO ada, \"Bob \"\"x\"\"\"";

static void check_nothing_left(void)
{
    check_exchange(&ada, &(exchange){READ,
                                     URI("public/found/rows"),
                                     {"ada gate t4 left: ", "public 2min on 0 0 0"}});
    check_exchange(&ada,
                   &(exchange){READ, URI("$query/all"), {"of ada", "of tenant 4", "!of bob"}});
    check_exchange(&ada, &(exchange){READ, URI("public/note/row/2"), {NOT_FOUND}});
}

static void begin_slow(void)
{
    peer_send(&bob, 1, READ, URI("public/slow/rows"));
    await_sql(&bob, "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'", "1");
}

/* A request does not see what the previous caller's request left in the session. There is only one
 * connection. */
static void test_nothing_is_left(void **state)
{
    static const char cancel[] = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
                                 "\"params\":{\"requestId\":1}}";
    (void)state;
    run_sql(leavers);
    options = (mcp_postgres_options){.connections = 1};
    open_callers();
    check_nothing_left();
    for (int i = 0; i < 2; i++) {
        check_exchange(&bob, &(exchange){READ, URI("public/leave/rows"), {"nowhere"}});
        check_nothing_left();
        check_exchange(&ada, &(exchange){READ, URI("public/leave/rows"), {"nowhere"}});
        check_nothing_left();
    }
    check_exchange(&bob, &(exchange){READ, URI("public/leave/rows?no=1"), {"-32602"}});
    check_nothing_left();
    /* a request that the server ends, as by its time limit, and one that its client cancels */
    size_t before = bob.replies;
    begin_slow();
    run_sql("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'PgSleep'");
    assert_true(run_until(&bob, &bob.replies, before + 1, HANGS_MS));
    check_reply("slow", bob.reply, (const char *const[5]){"-32603", LATE, "!of bob"});
    check_nothing_left();
    begin_slow();
    mcp_channel_receive(bob.channel, 0, mcp_str_from(cancel), now());
    check_nothing_left();
    /* a request whose client leaves */
    begin_slow();
    caller_close(&bob);
    check_nothing_left();
    close_callers();
    options = (mcp_postgres_options){0};
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_callers),         cmocka_unit_test(test_refused),
        cmocka_unit_test(test_tools),           cmocka_unit_test(test_attacks_on_plain_sql),
        cmocka_unit_test(test_bad_options),     cmocka_unit_test(test_bad_roles),
        cmocka_unit_test(test_changed_roles),   cmocka_unit_test(test_changed_login),
        cmocka_unit_test(test_nothing_is_left),
    };
    int rc = make_database();
    if (rc == 0) {
        run_sql(setup);
        snprintf(gate, sizeof(gate), "host=%s user=gate dbname=shop" PATIENT, top);
        rc = cmocka_run_group_tests(tests, NULL, NULL);
    }
    server("remove");
    return rc;
}
