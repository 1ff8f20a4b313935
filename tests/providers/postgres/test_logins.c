/* Requests on connections that log in as the role of their caller (run_as with own_login). Callers
 * may write SQL then, and the attacks that leave the role of a mapping do not work. */
#define _GNU_SOURCE
#include "callers.h"
#include "listening.h"

static peer shop, ada, bob, none;

static const char setup[] =
    "CREATE ROLE gate LOGIN; CREATE ROLE ada LOGIN PASSWORD 'of ada'; CREATE ROLE \"Bob \"\"x'\\\" "
    "LOGIN PASSWORD 'of bob'; CREATE ROLE holder LOGIN; CREATE ROLE locked NOLOGIN;"
    "CREATE TABLE note(id integer PRIMARY KEY, owner text, body text);"
    "ALTER TABLE note ENABLE ROW LEVEL SECURITY;"
    "CREATE POLICY own ON note USING (owner = current_user);"
    "INSERT INTO note VALUES (1, 'ada', 'of ada'), (2, 'Bob \"x''\\', 'of bob'), "
    "(3, 'gate', 'of gate'), (4, 'holder', 'of holder');"
    "CREATE TABLE of_bob(id integer PRIMARY KEY, body text); INSERT INTO of_bob VALUES (1, 'b');"
    "CREATE VIEW found AS SELECT concat_ws(' ', current_user, session_user, 'left:' || "
    "coalesce(current_setting('app.left', true), ''), "
    "'claims:' || coalesce(current_setting('request.jwt.claims', true), ''), "
    "current_setting('default_transaction_read_only'), (SELECT count(*) FROM pg_locks WHERE "
    "locktype = 'advisory')) AS state;"
    "GRANT SELECT ON note, found TO ada, \"Bob \"\"x'\\\", holder;"
    "GRANT SELECT ON of_bob TO \"Bob \"\"x'\\\"";

#define ROLES "\"roles\":{\"a\":\"ada\",\"b\":\"Bob \\\"x'\\\\\"}"
static const char run_as[] =
    "{\"claim\":\"dbrole\",\"issuer\":\"" ISSUER "\"," ROLES ",\"own_login\":true}";
static const char queries[] =
    "[{\"name\":\"all\",\"sql\":\"SELECT body FROM note ORDER BY id\"},"
    "{\"name\":\"of_bob\",\"sql\":\"SELECT body, set_config('app.left', '', true) FROM of_bob\"}]";

static char gate[160];

static void open_shop(const char *how, mcp_postgres_options o)
{
    if (!o.conninfo)
        o.conninfo = gate;
    if (shop_open(&shop, how, queries, o) != MCP_OK)
        fail_msg("%s", shop.error.text);
    caller_open(&ada, &shop, "{\"dbrole\":\"a\"}");
    caller_open(&bob, &shop, "{\"dbrole\":\"b\"}");
}

static void close_shop(void)
{
    caller_close(&ada);
    caller_close(&bob);
    peer_close(&shop);
}

/* The number of sessions of the roles of callers. */
#define SESSIONS \
    "SELECT count(*) FROM pg_stat_activity WHERE usename NOT IN ('gate', 'postgres', 'reader')"

static const struct {
    peer *who;
    exchange what;
} exchanges[] = {
    {&ada, {READ, URI("public/note/rows"), {"of ada", "!bob", "!gate"}}},
    {&bob, {READ, URI("public/note/rows"), {"of bob", "!of ada", "!gate"}}},
    {&ada, {READ, URI("public/note/row/2"), {NOT_FOUND}}},
    {&bob, {READ, URI("public/note/cell/body/2"), {"of bob"}}},
    {&ada, {READ, URI("public/found/rows"), {"ada ada left: claims: on 0"}}},
    {&ada, {READ, URI("public/of_bob"), {NOT_FOUND}}},
    {&bob, {READ, URI("public/of_bob/rows"), {"[[1,"}}},
    {&ada, {LIST, "", {"public/note/rows\"", "!public/of_bob", "\"cacheScope\":\"private\""}}},
    {&bob, {LIST, "", {"public/note/rows\"", "public/of_bob\""}}},
    {&ada, {READ, URI("$query/all"), {"of ada", "!of bob"}}},
    {&bob, {READ, URI("$query/all"), {"of bob", "!of ada"}}},
    {&bob, {READ, URI("$query/of_bob"), {"[[\\\"b\\\""}}},
    /* the tool */
    {&ada, {"tools/list", "", {"query_postgres_shop"}}},
    {&ada, {CALL, SQL("SELECT session_user, current_user"), {"[[\"ada\",\"ada\"]]"}}},
    {&ada, {CALL, SQL("SELECT body FROM note"), {"of ada", "!of bob"}}},
    {&bob, {CALL, SQL("SELECT body FROM note"), {"of bob", "!of ada"}}},
    {&ada, {CALL, SQL("SELECT * FROM of_bob"), {"permission denied"}}},
};

static void test_callers(void **state)
{
    (void)state;
    open_shop(run_as, (mcp_postgres_options){0});
    for (size_t i = 0; i < sizeof(exchanges) / sizeof(*exchanges); i++)
        check_exchange(exchanges[i].who, &exchanges[i].what);
    close_shop();
}

/* A caller without a role gets nothing, by the tool either. */
static void test_refused(void **state)
{
    static const char *const claims[] = {"{}", "{\"dbrole\":\"ada\"}", "{\"dbrole\":\"gate\"}",
                                         "{\"dbrole\":[\"a\",\"b\"]}"};
    (void)state;
    open_shop(run_as, (mcp_postgres_options){0});
    for (size_t i = 0; i < sizeof(claims) / sizeof(*claims); i++) {
        caller_open(&none, &shop, claims[i]);
        check_exchange(&none, &(exchange){LIST, "", {"\"resources\":[]"}});
        check_exchange(&none, &(exchange){READ, URI("public/note/rows"), {NOT_FOUND}});
        check_exchange(&none,
                       &(exchange){CALL, SQL("SELECT body FROM note"), {"!\"rows\"", "!of "}});
        caller_close(&none);
    }
    close_shop();
}

/* What one SELECT can do to get the rows of another role under a mapping; see
 * test_attacks_on_plain_sql() in test_rows.c. */
static void test_attacks(void **state)
{
#define BOBS   "'Bob \\\"x''\\\\'"
#define CLAIMS "'{\\\"sub\\\":\\\"Bob\\\",\\\"role\\\":\\\"Bob\\\"}'"
#define CTE(call) \
    SQL("WITH x AS MATERIALIZED (SELECT " call ") SELECT body, current_user FROM x, note")
#define XML(call)                                                                               \
    SQL("SELECT (query_to_xml($$SELECT body FROM note$$, true, true, ''))::text, current_user " \
        "FROM (SELECT " call " OFFSET 0) AS x")
    static const struct {
        const char *sql, *has;
    } attacks[] = {
        {CTE("set_config('role', " BOBS ", true)"), "permission denied to set role"},
        {XML("set_config('role', " BOBS ", true)"), "permission denied to set role"},
        {CTE("set_config('role', " BOBS ", false)"), "permission denied to set role"},
        {CTE("set_config('role', 'gate', true)"), "permission denied to set role"},
        {CTE("set_config('role', 'none', true)"), "[\"of ada\",\"ada\"]"},
        {CTE("set_config('session_authorization', " BOBS ", true)"), "permission denied"},
        {XML("set_config('session_authorization', " BOBS ", true)"), "permission denied"},
        {CTE("set_config('request.jwt.claims', " CLAIMS ", true)"), "[\"of ada\",\"ada\"]"},
        {XML("set_config('request.jwt.claims', " CLAIMS ", true)"), "of ada"},
        {CTE("set_config('request.jwt.claims', " CLAIMS ", false)"), "[\"of ada\",\"ada\"]"},
        {CTE("set_config('row_security', 'off', true)"), "[\"of ada\",\"ada\"]"},
        {XML("set_config('row_security', 'off', true)"), "row-level security"},
        {SQL("SET ROLE gate"), "This is not run"},
        {SQL("SELECT 1; SET ROLE gate"), "\"isError\":true"},
        {SQL("SELECT pg_read_file('/etc/passwd')"), "permission denied"},
    };
    (void)state;
    open_shop(run_as, (mcp_postgres_options){.connections = 1});
    for (size_t i = 0; i < sizeof(attacks) / sizeof(*attacks); i++) {
        check_exchange(&ada, &(exchange){CALL, attacks[i].sql, {attacks[i].has, "!of bob"}});
        check_exchange(
            &ada,
            &(exchange){READ, URI("public/found/rows"), {"ada ada left: claims: on 0", "!Bob"}});
        check_exchange(&ada, &(exchange){READ, URI("$query/all"), {"of ada", "!of bob"}});
    }
    /* nothing remains for another caller with the same role */
    caller_open(&none, &shop, "{\"dbrole\":[\"a\"]}");
    check_exchange(&ada, &(exchange){CALL,
                                     SQL("SELECT set_config('app.left', 'over', false), "
                                         "set_config('default_transaction_read_only', 'off', "
                                         "false), pg_advisory_lock(7) IS NULL"),
                                     {"over"}});
    check_exchange(
        &none,
        &(exchange){CALL, SQL("SELECT state FROM found"), {"ada ada left: claims: on 0", "!over"}});
    caller_close(&none);
    close_shop();
}

static void test_bad_options(void **state)
{
    static const struct {
        const char *run_as, *conninfo, *says;
    } cases[] = {
        {"{" ROLES ",\"own_login\":true,\"claims\":\"request.jwt.claims\"}", NULL, "current_user"},
        {"{" ROLES ",\"own_login\":true,\"settings\":{\"app.t\":\"t\"}}", NULL, "current_user"},
        {"{" ROLES ",\"logins\":{\"ada\":{\"passfile\":\"p\"}}}", NULL, "own_login"},
        {"{" ROLES ",\"own_login\":true,\"logins\":{\"eve\":{\"passfile\":\"p\"}}}", NULL,
         "not in \"roles\""},
        {"{" ROLES ",\"own_login\":true,\"logins\":{\"ada\":{\"passfile\":\"\"}}}", NULL,
         "file name"},
        {"{" ROLES ",\"own_login\":true}", "dbname=shop password=s3cret", "must not contain"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        assert_int_equal(shop_open(&shop, cases[i].run_as, NULL,
                                   (mcp_postgres_options){
                                       .conninfo = cases[i].conninfo ? cases[i].conninfo : gate}),
                         MCP_EINVAL);
        if (!strstr(shop.error.text, cases[i].says) || strstr(shop.error.text, "s3cret"))
            fail_msg("case %zu: %s", i, shop.error.text);
        mcp_server_free(shop.server);
        mcp_loop_free(loop);
    }
}

/* Asks what --doctor says. */
static void check_doctor(const char *options, int expected, const char *says)
{
    mcp_json_doc *doc;
    mcp_error error = {0};
    assert_int_equal(mcp_json_parse(mcp_str_from(options), NULL, NULL, &doc, NULL), MCP_OK);
    int rc = mcp_postgres_check_json(gate, mcp_json_root(doc), NULL, NULL, &error);
    if (rc != expected || (says && !strstr(error.text, says)))
        fail_msg("%s: %d %s", options, rc, error.text);
    mcp_json_free(doc);
}

#define OWN(roles) "{\"run_as\":{\"roles\":{" roles "},\"own_login\":true}}"

/* Roles that cannot log in, or whose rights or session are not what they seem to be. Requests of
 * other roles are not affected. */
static void test_bad_roles(void **state)
{
    static const struct {
        const char *change, *back, *doctor, *tool_says;
    } cases[] = {
        {"ALTER ROLE ada NOLOGIN", "ALTER ROLE ada LOGIN", "not permitted to log in",
         "cannot be reached"},
        {"ALTER ROLE ada BYPASSRLS", "ALTER ROLE ada NOBYPASSRLS", "has BYPASSRLS",
         "\"isError\":true"},
        {"ALTER ROLE ada REPLICATION", "ALTER ROLE ada NOREPLICATION", "has REPLICATION",
         "\"isError\":true"},
        {"GRANT pg_read_server_files TO ada", "REVOKE pg_read_server_files FROM ada",
         "may read or write files", "Queries are disabled"},
        {"GRANT \"Bob \"\"x'\\\" TO ada; ALTER ROLE ada SET role = 'Bob \"x''\\'",
         "ALTER ROLE ada RESET role; REVOKE \"Bob \"\"x'\\\" FROM ada", "is a member of Bob",
         "\"isError\":true"},
        {"CREATE ROLE dba SUPERUSER NOLOGIN; GRANT dba TO ada; ALTER ROLE ada NOINHERIT",
         "ALTER ROLE ada INHERIT; DROP ROLE dba", "is a member of a superuser", "\"isError\":true"},
        {"CREATE ROLE sees_all BYPASSRLS; CREATE ROLE between; GRANT sees_all TO between; GRANT "
         "between TO ada",
         "DROP ROLE between, sees_all", "is a member of a superuser", "\"isError\":true"},
        {"CREATE ROLE landlord; GRANT landlord TO ada; ALTER ROLE ada NOINHERIT; ALTER TABLE note "
         "OWNER TO landlord",
         "ALTER TABLE note OWNER TO CURRENT_USER; ALTER ROLE ada INHERIT; DROP ROLE landlord",
         "owns public.note", NULL},
        {"CREATE POLICY tenant ON note USING (owner = current_setting('app.tenant', true))",
         "DROP POLICY tenant ON note", "a policy of public.note", NULL},
    };
    (void)state;
    check_doctor(OWN("\"a\":\"ada\",\"c\":\"ada\""), MCP_OK, NULL);
    check_doctor(OWN("\"a\":\"locked\""), MCP_EACCESS, "not permitted to log in");
    check_doctor(OWN("\"a\":\"nobody at all\""), MCP_EACCESS, "does not exist");
    check_doctor(
        "{\"run_as\":{\"roles\":{\"a\":\"ada\"},\"own_login\":true},\"queries\":[{\"name\":"
        "\"wrong\",\"sql\":\"SELECT nothing FROM note\"}]}",
        MCP_EINVAL, "no role of run_as can run the saved query wrong");
    open_shop(run_as, (mcp_postgres_options){0});
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        check_exchange(&ada, &(exchange){CALL, SQL("SELECT body FROM note"), {"of ada"}});
        run_sql(cases[i].change);
        check_doctor(OWN("\"a\":\"ada\",\"b\":\"Bob \\\"x'\\\\\""), MCP_EACCESS, cases[i].doctor);
        if (cases[i].tool_says) {
            run_sql("SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE usename = "
                    "'ada'");
            check_exchange(&ada, &(exchange){CALL,
                                             SQL("SELECT body FROM note"),
                                             {cases[i].tool_says, "!of ada", "!of bob"}});
            check_exchange(&bob, &(exchange){CALL, SQL("SELECT body FROM note"), {"of bob"}});
        }
        run_sql(cases[i].back);
        run_sql(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE usename = 'ada'");
        close_shop(); /* a role that was refused is tried again after a pause */
        open_shop(run_as, (mcp_postgres_options){0});
    }
    close_shop();
}

/* All roles together have at most the configured number of connections. Statements of one role
 * do not keep out another, however many wait. */
static void test_bound(void **state)
{
    enum { ROUNDS = 20 };
    static const char three[] =
        "{\"claim\":\"dbrole\",\"issuer\":\"" ISSUER "\",\"roles\":{\"a\":\"ada\","
        "\"b\":\"Bob \\\"x'\\\\\",\"h\":\"holder\"},\"own_login\":true}";
    (void)state;
    open_shop(three, (mcp_postgres_options){.connections = 1});
    caller_open(&none, &shop, "{\"dbrole\":\"h\"}");
    for (int i = 0; i < ROUNDS; i++) {
        check_exchange(&none, &(exchange){READ, URI("public/note/rows"), {"of holder", "!of a"}});
        check_exchange(&ada, &(exchange){READ, URI("public/note/rows"), {"of ada", "!of bob"}});
        check_exchange(&bob, &(exchange){READ, URI("public/note/rows"), {"of bob", "!of ada"}});
        await_sql(&shop, SESSIONS, "1"); /* others may be ending */
    }
    /* The connection is that of ada, who also has enough to do for it. */
    check_exchange(&ada, &(exchange){READ, URI("public/note/rows"), {"of ada"}});
    size_t before = ada.replies, bobs = bob.replies;
    for (int i = 0; i < 25; i++)
        peer_send(&ada, 10 + i, CALL, SQL("SELECT body, pg_sleep(0.03) FROM note"));
    peer_send(&bob, 20, CALL, SQL("SELECT body FROM note"));
    assert_true(run_until(&shop, &bob.replies, bobs + 1, HANGS_MS));
    assert_true(ada.replies < before + 10);
    assert_non_null(strstr(bob.reply, "of bob"));
    assert_true(run_until(&shop, &ada.replies, before + 25, HANGS_MS));
    assert_null(strstr(ada.reply, "of bob"));
    caller_close(&none);
    close_shop();
}

/* Passwords and certificates of each role. */
static void test_credentials(void **state)
{
    char how[900], tcp[300], path[100];
    (void)state;
    snprintf(path, sizeof(path), "%s/of-ada", top);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f, "*:*:*:ada:of ada\n*:*:*:gate:s3cret\n");
    assert_int_equal(fclose(f), 0);
    assert_int_equal(chmod(path, 0600), 0);
    snprintf(how, sizeof(how),
             "{\"claim\":\"dbrole\",\"issuer\":\"" ISSUER "\",\"roles\":{\"a\":\"ada\",\"b\":\"Bob "
             "\\\"x'\\\\\",\"h\":\"holder\"},\"own_login\":true,\"logins\":{\"ada\":{\"passfile\":"
             "\"%s\"},\"holder\":{\"sslcert\":\"%s/holder.crt\",\"sslkey\":\"%s/holder.key\"}}}",
             path, top, top);
    snprintf(tcp, sizeof(tcp), "host=127.0.0.1 port=%s user=gate dbname=shop sslmode=require",
             port);
    open_shop(how, (mcp_postgres_options){.conninfo = tcp});
    caller_open(&none, &shop, "{\"dbrole\":\"h\"}");
    check_exchange(&ada, &(exchange){CALL, SQL("SELECT body FROM note"), {"of ada", "!of bob"}});
    check_exchange(&none, &(exchange){CALL, SQL("SELECT body FROM note"), {"of holder", "!of a"}});
    /* its password is not in the general file, and another one is not tried */
    assert_int_equal(setenv("PGPASSWORD", "of bob", 1), 0);
    check_exchange(&bob, &(exchange){CALL, SQL("SELECT body FROM note"), {"cannot be reached"}});
    check_exchange(&bob, &(exchange){READ, URI("public/note/rows"), {"-32603", "!of "}});
    assert_int_equal(unsetenv("PGPASSWORD"), 0);
    caller_close(&none);
    close_shop();
}

/* Subscribers are told what their role sees, by statements on its connections. */
static void test_notices(void **state)
{
    static const char listen[] = "\"notifications\":{\"resourceSubscriptions\":["
                                 "\"postgres://shop/public/note/rows\"]}";
    (void)state;
    open_shop(run_as, (mcp_postgres_options){.poll_ms = 50});
    peer_send(&ada, 31, "subscriptions/listen", listen);
    peer_send(&bob, 32, "subscriptions/listen", listen);
    check_exchange(&ada, &(exchange){READ, URI("public/note/rows"), {"of ada"}});
    check_exchange(&bob, &(exchange){READ, URI("public/note/rows"), {"of bob"}});
    size_t before = bob.updates;
    while (ada.updates == 0) {
        run_sql("UPDATE note SET body = body || '.' WHERE owner = 'ada'; NOTIFY mcp_changes, "
                "'{\"schema\":\"public\",\"table\":\"note\"}'");
        (void)run_until(&ada, &ada.updates, 1, 1000);
    }
    assert_int_equal(bob.updates, before);
    run_sql("UPDATE note SET body = 'of ada' WHERE owner = 'ada'");
    close_shop();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_callers),   cmocka_unit_test(test_refused),
        cmocka_unit_test(test_attacks),   cmocka_unit_test(test_bad_options),
        cmocka_unit_test(test_bad_roles), cmocka_unit_test(test_bound),
        cmocka_unit_test(test_notices),   cmocka_unit_test(test_credentials),
    };
    int rc = make_listening_database();
    if (rc == 0) {
        run_sql(setup);
        run_sql("ALTER ROLE gate PASSWORD 's3cret'");
        snprintf(gate, sizeof(gate), "host=%s user=gate dbname=shop" PATIENT, top);
        rc = cmocka_run_group_tests(tests, NULL, NULL);
    }
    server("remove");
    return rc;
}
