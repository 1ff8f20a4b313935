/* Saved statements that change rows: who may run them, what they may be, and what is true after each
 * end of their transaction. Attackers: a caller who wants more than the statement (other rows, other
 * tables, another role), a rule that is taken back meanwhile, and a network that fails at COMMIT. */
#define _GNU_SOURCE
#include "callers.h"
#include "listening.h"

#include <mcp/access.h>

#include "dice.h"
#include "proxy.h"
#include "rounds.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define TOOLS        "tools/list"

static const char setup_sql[] =
    "CREATE TABLE ledger(id integer PRIMARY KEY, v integer CHECK (v >= 0), note text DEFAULT 'd');"
    "CREATE TABLE late(id integer PRIMARY KEY, ledger integer REFERENCES ledger(id) DEFERRABLE "
    "INITIALLY DEFERRED);"
    "CREATE TABLE trapped(id integer PRIMARY KEY, how text);"
    "CREATE TABLE kept(id integer PRIMARY KEY); INSERT INTO kept VALUES (1), (2);"
    "CREATE FUNCTION trap() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
    "IF NEW.how = 'raise' THEN RAISE EXCEPTION 'not on Sundays'; "
    "ELSIF NEW.how = 'commit' THEN COMMIT; "
    "ELSIF NEW.how = 'leave' THEN PERFORM set_config('default_transaction_read_only', 'off', "
    "false); PERFORM set_config('role', 'other', false); PERFORM pg_advisory_lock(7); "
    "ELSIF NEW.how = 'sleep' THEN PERFORM pg_sleep(60); "
    "ELSIF NEW.how = 'die' THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF; "
    "RETURN NEW; END $$;"
    "CREATE TRIGGER trap BEFORE INSERT ON trapped FOR EACH ROW EXECUTE FUNCTION trap();"
    "CREATE TABLE ruled(id integer); CREATE RULE away AS ON INSERT TO ruled DO INSTEAD DELETE FROM "
    "kept;"
    "CREATE SEQUENCE tried; GRANT USAGE, SELECT ON tried TO reader;"
    "CREATE ROLE other NOLOGIN; GRANT other TO reader;"
    "GRANT SELECT, INSERT, UPDATE, DELETE ON ledger, late, trapped, kept, ruled TO reader";

/* Before each test. */
static const char fresh_sql[] =
    "TRUNCATE ledger, late, trapped; INSERT INTO ledger SELECT i, 10 * i, 'n' || i FROM "
    "generate_series(1, 5) AS i";

#define PARAMETER(name)        "{\"name\":\"" name "\",\"required\":true}"
#define WRITE(name, sql, more) "{\"name\":\"" name "\",\"write\":true,\"sql\":\"" sql "\"" more "}"
#define ONE                    ",\"parameters\":[" PARAMETER("id") "]"
#define TWO                    ",\"parameters\":[" PARAMETER("id") "," PARAMETER("v") "]"

static const char
    statements[] =
        "[" WRITE("set", "UPDATE ledger SET v = $2 WHERE id = $1", TWO) "," WRITE("raise", "update ledger SET v = v + 1 WHERE id >= $1 RETURNING id, v", ",\"rows\":3" ONE) "," WRITE("add",
                                                                                                                                                                                      "/* a */ INSERT INTO ledger(id, v, note) VALUES ($1, $2, $3) RETURNING id, note",
                                                                                                                                                                                      ",\"title\":\"Add an entry\",\"parameters\":[" PARAMETER("id") "," PARAMETER("v") ","
                                                                                                                                                                                                                                                                        "{\"name\":\"note\"}]") "," WRITE("put",
                                                                                                                                                                                                                                                                                                          "INSERT INTO ledger VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET v = "
                                                                                                                                                                                                                                                                                                          "excluded.v",
                                                                                                                                                                                                                                                                                                          TWO) "," WRITE("remove", "DELETE FROM ledger WHERE id = $1", ONE) "," WRITE("wipe",
                                                                                                                                                                                                                                                                                                                                                                                      "DELETE FROM ledger",
                                                                                                                                                                                                                                                                                                                                                                                      "") "," WRITE("merge",
                                                                                                                                                                                                                                                                                                                                                                                                    "MERGE INTO ledger l USING (VALUES ($1::integer)) AS n(id) ON l.id = n.id WHEN "
                                                                                                                                                                                                                                                                                                                                                                                                    "MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT VALUES (n.id, 1, 'm')",
                                                                                                                                                                                                                                                                                                                                                                                                    ONE) "," WRITE("later", "INSERT INTO late VALUES (1, $1)", ONE) "," WRITE("trap",
                                                                                                                                                                                                                                                                                                                                                                                                                                                                              "INSERT INTO trapped VALUES ($1, $2)",
                                                                                                                                                                                                                                                                                                                                                                                                                                                                              ",\"parameters\":[" PARAMETER("id") "," PARAMETER(
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                  "how") "]") "," WRITE("both", "UPDATE ledger SET v = 0 WHERE id = 1; DELETE FROM kept", "") "," WRITE("away", "INSERT INTO ruled VALUES (1)", "") "," WRITE("deep",
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                              "INSERT INTO ledger WITH x AS (DELETE FROM kept RETURNING id) SELECT id + 50, 1, "
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                              "'x' FROM x",
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                              "") "," WRITE("try",
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                            "UPDATE ledger SET v = nextval('tried') WHERE id = 1",
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                            "") "," WRITE("large",
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                          "UPDATE ledger SET v = v WHERE id < 3 RETURNING id, repeat('x', 4000) || id", ",\"rows\":2") ","
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                       "{\"name\":\"all\",\"sql\":\"SELECT id, v FROM ledger ORDER BY id\"}]";

static peer p;
static PGconn *owner; /* looks at the tables from outside */

/* ---- rules ----------------------------------------------------------------------------------- */

static mcp_effect effect = MCP_EFFECT_ALLOW;
static size_t questions, deny_from; /* the number of the first question that is denied; 0: never */

static mcp_effect may_do(const mcp_identity *identity, mcp_operation operation, mcp_item item,
                         mcp_str name, unsigned flags, void *user)
{
    (void)identity, (void)user;
    questions++;
    if (deny_from && questions >= deny_from)
        return MCP_EFFECT_DENY;
    if (operation != MCP_OPERATION_COMMIT || item != MCP_ITEM_TOOL || flags)
        return MCP_EFFECT_DENY;
    return mcp_str_eq(name, MCP_STR("write_shop_wipe")) ? MCP_EFFECT_DENY : effect;
}

static bool may_see(const mcp_identity *identity, mcp_item item, mcp_str name, void *user)
{
    (void)identity, (void)user;
    return item != MCP_ITEM_TOOL || !mcp_str_eq(name, MCP_STR("write_shop_set"));
}

static void allow(void)
{
    effect = MCP_EFFECT_ALLOW;
    questions = deny_from = 0;
    assert_int_equal(mcp_server_set_access(p.server, MCP_OPTIONS(mcp_access, .may_do = may_do)),
                     MCP_OK);
}

static int open_with(const char *queries, mcp_postgres_options o)
{
    mcp_json_doc *doc = NULL;
    assert_int_equal(mcp_json_parse(mcp_str_from(queries), NULL, NULL, &doc, NULL), MCP_OK);
    o.queries = mcp_json_root(doc);
    int rc = peer_open(&p, &o);
    mcp_json_free(doc);
    return rc;
}

static void open_shop(mcp_postgres_options o)
{
    run_sql(fresh_sql);
    if (open_with(statements, o) != MCP_OK)
        fail_msg("%s", p.error.text);
    allow();
}

/* ---- what is in the tables ------------------------------------------------------------------- */

static const char *look(const char *sql)
{
    static char text[4000];
    PGresult *r = PQexec(owner, sql);
    if (PQresultStatus(r) != PGRES_TUPLES_OK)
        fail_msg("%s: %s", sql, PQerrorMessage(owner));
    snprintf(text, sizeof(text), "%s", PQgetisnull(r, 0, 0) ? "" : PQgetvalue(r, 0, 0));
    PQclear(r);
    return text;
}

#define LEDGER    "SELECT string_agg(id || ':' || v, ' ' ORDER BY id) FROM ledger"
#define UNTOUCHED "1:10 2:20 3:30 4:40 5:50"
#define OTHERS                                                                              \
    "SELECT concat((SELECT count(*) FROM late), ' ', (SELECT count(*) FROM trapped), ' ', " \
    "(SELECT string_agg(id::text, '') FROM kept), ' ', (SELECT count(*) FROM keyless))"

static void expect_ledger(const char *what, const char *expected)
{
    const char *found = look(LEDGER);
    if (strcmp(found, expected) != 0)
        fail_msg("%s: the table has %s, not %s", what, found, expected);
}

/* ---- calls ----------------------------------------------------------------------------------- */

#define TOOL(name, arguments) "\"name\":\"write_shop_" name "\",\"arguments\":{" arguments "}"
#define NOTHING               "Nothing was changed: "
#define OK(n)                 "\"structuredContent\":{\"changed\":" #n "}"

static const struct {
    exchange what;
    const char *ledger; /* afterwards; NULL: untouched */
} calls[] = {
    {{CALL, TOOL("set", "\"id\":\"2\",\"v\":\"21\""), {OK(1), "!isError\":true"}},
     "1:10 2:21 3:30 4:40 5:50"},
    {{CALL, TOOL("set", "\"id\":\"9\",\"v\":\"21\""), {OK(0)}}, NULL},
    {{CALL,
      TOOL("raise", "\"id\":\"3\""),
      {"\"columns\":[\"id\",\"v\"],\"rows\":[[3,31],[4,41],[5,51]],\"truncated\":false,"
       "\"changed\":3"}},
     "1:10 2:20 3:31 4:41 5:51"},
    {{CALL, TOOL("raise", "\"id\":\"9\""), {"\"rows\":[],\"truncated\":false,\"changed\":0"}},
     NULL},
    /* more than its bound */
    {{CALL,
      TOOL("raise", "\"id\":\"2\""),
      {"isError\":true", NOTHING "it would have been 4 rows, and at most 3 are allowed",
       "!columns"}},
     NULL},
    /* NULL, and a default of the table is not used */
    {{CALL, TOOL("add", "\"id\":\"6\",\"v\":\"1\""), {"[[6,null]]", "\"changed\":1"}},
     "1:10 2:20 3:30 4:40 5:50 6:1"},
    {{CALL,
      TOOL("add", "\"id\":\"6\",\"v\":\"1\",\"note\":\"'); DELETE FROM ledger; --\""),
      {"[[6,\"'); DELETE FROM ledger; --\"]]"}},
     "1:10 2:20 3:30 4:40 5:50 6:1"},
    {{CALL, TOOL("put", "\"id\":\"1\",\"v\":\"3\""), {OK(1)}}, "1:3 2:20 3:30 4:40 5:50"},
    {{CALL, TOOL("remove", "\"id\":\"5\""), {OK(1)}}, "1:10 2:20 3:30 4:40"},
    {{CALL, TOOL("merge", "\"id\":\"5\""), {OK(1)}}, "1:10 2:20 3:30 4:40"},
    {{CALL, TOOL("merge", "\"id\":\"6\""), {OK(1)}}, "1:10 2:20 3:30 4:40 5:50 6:1"},
    /* what the database refuses */
    {{CALL,
      TOOL("set", "\"id\":\"1\",\"v\":\"-1\""),
      {"isError\":true",
       NOTHING "a constraint of the database does not allow it: ", "ledger_v_check"}},
     NULL},
    {{CALL,
      TOOL("set", "\"id\":\"1\",\"v\":\"x\""),
      {"isError\":true", NOTHING "a parameter has a value that the statement does not accept"}},
     NULL},
    {{CALL, TOOL("set", "\"id\":\"1 OR true\",\"v\":\"1\""), {"isError\":true", NOTHING}}, NULL},
    {{CALL, TOOL("set", "\"id\":\"1\\u0000\",\"v\":\"1\""), {"isError\":true", "contains NUL"}},
     NULL},
    {{CALL, TOOL("set", "\"id\":\"1\""), {"isError\":true"}}, NULL},
    {{CALL, TOOL("set", "\"id\":1,\"v\":\"1\""), {"isError\":true"}}, NULL},
    {{CALL, TOOL("set", "\"id\":\"1\",\"v\":\"1\",\"sql\":\"x\""), {"isError\":true"}}, NULL},
    /* at COMMIT */
    {{CALL,
      TOOL("later", "\"id\":\"77\""),
      {"isError\":true", NOTHING "a constraint", "late_ledger_fkey"}},
     NULL},
    {{CALL,
      TOOL("trap", "\"id\":\"1\",\"how\":\"raise\""),
      {"isError\":true",
       NOTHING "a trigger or a function of the database refused it: not on Sundays"}},
     NULL},
    {{CALL, TOOL("trap", "\"id\":\"1\",\"how\":\"commit\""), {"isError\":true", NOTHING}}, NULL},
    {{CALL,
      TOOL("trap", "\"id\":\"1\",\"how\":\"sleep\""),
      {"isError\":true", NOTHING "it took too long"}},
     NULL},
    {{CALL,
      TOOL("trap", "\"id\":\"1\",\"how\":\"die\""),
      {"isError\":true", NOTHING "the database shop cannot be reached"}},
     NULL},
    /* what is not one statement of its kind */
    {{CALL, TOOL("both", ""), {"isError\":true", NOTHING "cannot insert multiple commands"}}, NULL},
    {{CALL, TOOL("deep", ""), {"isError\":true", NOTHING "WITH clause"}}, NULL},
    {{CALL, TOOL("all", ""), {"\"error\""}}, NULL},
    /* who may not */
    {{CALL, TOOL("wipe", ""), {"isError\":true", "no rule of this server's owner allows"}}, NULL},
    /* a saved statement that writes is nothing to read */
    {{READ, URI("$query/wipe"), {NOT_FOUND}}, NULL},
    {{READ, URI("$query/set?id=1&v=2"), {NOT_FOUND}}, NULL},
    {{READ, URI("$query/all"), {"[[1,10],[2,20]"}}, NULL},
    {{LIST, "", {"$query/all\"", "!$query/wipe"}}, NULL},
    {{"resources/templates/list", "", {"!query.set", "!query.wipe"}}, NULL},
};

static void test_calls(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(calls); i++) {
        open_for(&p, &calls[i].what, open_shop, (mcp_postgres_options){.connections = 2});
        run_sql(fresh_sql);
        check_exchange(&p, &calls[i].what);
        expect_ledger(calls[i].what.params, calls[i].ledger ? calls[i].ledger : UNTOUCHED);
        const char *others = look(OTHERS);
        if (strcmp(others, "0 0 12 2") != 0)
            fail_msg("%s: other tables: %s", calls[i].what.params, others);
    }
    peer_close(&p);
}

/* What a rule of the database makes of the statement has another command tag or number. */
static void test_ruled(void **state)
{
    (void)state;
    open_shop((mcp_postgres_options){0});
    const char *reply = ask_and_wait(&p, CALL, TOOL("away", ""));
    bool kept = strcmp(look("SELECT count(*) FROM kept"), "2") == 0;
    if (strstr(reply, "isError\":true") ? !kept : kept)
        fail_msg("%s", reply);
    run_sql("DELETE FROM kept; INSERT INTO kept VALUES (1), (2)");
    peer_close(&p);
}

/* ---- who may --------------------------------------------------------------------------------- */

static void test_rights(void **state)
{
    (void)state;
    open_shop((mcp_postgres_options){0});
    check_exchange(&p, &(exchange){TOOLS,
                                   "",
                                   {"\"write_shop_set\"", "!write_shop_wipe", "query_postgres_shop",
                                    "\"cacheScope\":\"private\""}});
    effect = MCP_EFFECT_DENY;
    check_exchange(&p, &(exchange){TOOLS, "", {"!write_shop", "query_postgres_shop"}});
    check_exchange(&p, &(exchange){CALL, TOOL("set", "\"id\":\"1\",\"v\":\"1\""), {"no rule"}});
    /* without rules */
    assert_int_equal(mcp_server_set_access(p.server, NULL), MCP_OK);
    check_exchange(&p, &(exchange){TOOLS, "", {"!write_shop", "query_postgres_shop"}});
    check_exchange(&p, &(exchange){CALL, TOOL("set", "\"id\":\"1\",\"v\":\"1\""), {"no rule"}});
    /* what may not be seen may not be run */
    effect = MCP_EFFECT_ALLOW;
    assert_int_equal(
        mcp_server_set_access(p.server, MCP_OPTIONS(mcp_access, .may = may_see, .may_do = may_do)),
        MCP_OK);
    check_exchange(&p, &(exchange){TOOLS, "", {"!write_shop_set", "write_shop_add"}});
    check_exchange(&p, &(exchange){CALL, TOOL("set", "\"id\":\"1\",\"v\":\"1\""), {"\"error\""}});
    /* and the database's words may be about something hidden */
    check_exchange(&p, &(exchange){CALL,
                                   TOOL("put", "\"id\":\"1\",\"v\":\"-1\""),
                                   {NOTHING "a constraint", "!ledger_v_check"}});
    check_exchange(&p, &(exchange){CALL, TOOL("both", ""), {NOTHING "the log", "!multiple"}});
    expect_ledger("without rights", UNTOUCHED);
    peer_close(&p);
}

static void add_count(const mcp_change_count *count, void *user)
{
    size_t len = strlen(user);
    snprintf((char *)user + len, 200 - len, "%s %s %u;", count->operation, count->result,
             (unsigned)count->count);
}

/* The rules change after the call was begun: the first question is that of the call, the second one
 * before the transaction, the third one before COMMIT. */
static void test_rights_taken_back(void **state)
{
    char counts[200] = "";
    (void)state;
    open_shop((mcp_postgres_options){.connections = 1});
    check_exchange(&p, &(exchange){READ, URI("$query/all"), {"[1,10]"}});
    for (size_t from = 1; from <= 4; from++) {
        run_sql(fresh_sql);
        run_sql("SELECT setval('tried', 1, false)");
        questions = 0;
        deny_from = from;
        check_exchange(&p,
                       &(exchange){CALL,
                                   TOOL("try", ""),
                                   {from == 1   ? "no rule of this server's owner"
                                    : from <= 3 ? NOTHING "the rules of this server have changed"
                                                : OK(1)}});
        /* no rollback undoes this: the statement was run only if it was allowed then */
        assert_string_equal(look("SELECT is_called FROM tried"), from <= 2 ? "f" : "t");
        expect_ledger("rights taken back", from <= 3 ? UNTOUCHED : "1:1 2:20 3:30 4:40 5:50");
    }
    mcp_server_change_counts(p.server, add_count, counts);
    assert_string_equal(counts, "commit ok 1;commit denied 3;");
    peer_close(&p);
}

/* A role that could do harm by a statement runs none. */
static void test_mighty_role(void **state)
{
    char text[160];
    (void)state;
    run_sql("CREATE ROLE mighty LOGIN IN ROLE pg_read_server_files; GRANT ALL ON ledger TO mighty");
    snprintf(text, sizeof(text), "host=%s user=mighty dbname=shop", top);
    open_shop((mcp_postgres_options){.conninfo = text});
    check_exchange(&p, &(exchange){CALL,
                                   TOOL("set", "\"id\":\"1\",\"v\":\"1\""),
                                   {"isError\":true", NOTHING "this server's database role"}});
    expect_ledger("a mighty role", UNTOUCHED);
    peer_close(&p);
}

/* ---- consent --------------------------------------------------------------------------------- */

/* Sends a call of a client that can ask a person. `more` are further params. */
static const char *call_asking(const char *params, const char *more)
{
    static char text[16384];
    size_t before = p.replies;
    snprintf(text, sizeof(text),
             "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{%s%s,\"_meta\":{"
             "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
             "\"io.modelcontextprotocol/clientCapabilities\":{\"elicitation\":{}}}}}",
             params, more);
    mcp_channel_receive(p.channel, 0, mcp_str_from(text), now());
    if (!run_until(&p, &p.replies, before + 1, 20000))
        fail_msg("no answer to %s", params);
    return p.reply;
}

/* Answers the question that was asked. */
static const char *decide(const char *params, const char *decision)
{
    char more[8192];
    mcp_json_doc *doc = NULL;
    mcp_str key;
    mcp_json_iter it = {0};
    assert_int_equal(mcp_json_parse(mcp_str_from(p.reply), NULL, NULL, &doc, NULL), MCP_OK);
    const mcp_json *result = mcp_json_get(mcp_json_root(doc), "result");
    if (!mcp_json_next(mcp_json_get(result, "inputRequests"), &it, &key))
        fail_msg("%s", p.reply);
    mcp_str sealed = mcp_json_string(mcp_json_get(result, "requestState"));
    snprintf(
        more, sizeof(more),
        ",\"inputResponses\":{\"%.*s\":{\"action\":\"accept\",\"content\":{\"decision\":\"%s\"}}"
        "},\"requestState\":\"%.*s\"",
        (int)key.len, key.ptr, decision, (int)sealed.len, sealed.ptr);
    mcp_json_free(doc);
    return call_asking(params, more);
}

static void test_consent(void **state)
{
    static const char call[] =
        TOOL("add", "\"id\":\"6\",\"v\":\"1\",\"note\":\"a\\nid = \\\"1\\\"\"");
    (void)state;
    open_shop((mcp_postgres_options){0});
    effect = MCP_EFFECT_ASK;
    /* a client that cannot ask */
    check_exchange(&p, &(exchange){TOOLS, "", {"\"write_shop_add\""}});
    check_exchange(&p,
                   &(exchange){CALL, call, {"isError\":true", "needs the consent of a person"}});
    /* the question */
    check_reply(call, call_asking(call, ""),
                (const char *const[5]){"\"commit write_shop_add\\n| INSERT of at most 1 row of the "
                                       "database shop: Add an entry\\n| id = \\\"6\\\"\\n| v = "
                                       "\\\"1\\\"\\n| note = \\\"a\\\\nid = ",
                                       NULL});
    expect_ledger("asked", UNTOUCHED);
    check_reply(call, decide(call, "do not"),
                (const char *const[5]){"isError\":true", "Nothing was done", NULL});
    expect_ledger("refused", UNTOUCHED);
    /* consent, once */
    call_asking(call, "");
    check_reply(call, decide(call, "do it"), (const char *const[5]){"\"changed\":1", NULL});
    expect_ledger("consented", "1:10 2:20 3:30 4:40 5:50 6:1");
    /* NULL is no text */
    call_asking(TOOL("add", "\"id\":\"7\",\"v\":\"1\""), "");
    check_reply("NULL", p.reply, (const char *const[5]){"note = NULL\"", NULL});
    /* a long value does not push another one out of the question */
    static char many[5000], more[5100];
    memset(many, 'x', sizeof(many) - 1);
    snprintf(more, sizeof(more), TOOL("add", "\"id\":\"%s\",\"v\":\"31\""), many);
    check_reply("long", call_asking(more, ""),
                (const char *const[5]){"xxx\\\" and 3999 more bytes\\n| v = \\\"31\\\"", NULL});
    call_asking(TOOL("add", "\"id\":\"7\",\"v\":\"1\""), "");
    /* consent is not needed any more, and is no right */
    effect = MCP_EFFECT_DENY;
    check_reply(call, decide(TOOL("add", "\"id\":\"7\",\"v\":\"1\""), "do it"),
                (const char *const[5]){"isError\":true", "no rule", NULL});
    expect_ledger("denied meanwhile", "1:10 2:20 3:30 4:40 5:50 6:1");
    peer_close(&p);
}

/* ---- what is refused at the start ------------------------------------------------------------ */

static const struct {
    const char *query, *why;
} refused[] = {
    {WRITE("x", "SELECT 1", ""), "begin with INSERT"},
    {WRITE("x", "WITH x AS (DELETE FROM kept RETURNING id) SELECT * FROM x", ""), "begin with"},
    {WRITE("x", "WITH x AS (SELECT 1) DELETE FROM kept", ""), "begin with"},
    {WRITE("x", "(INSERT INTO kept VALUES (3))", ""), "begin with"},
    {WRITE("x", "TRUNCATE kept", ""), "begin with"},
    {WRITE("x", "DROP TABLE kept", ""), "begin with"},
    {WRITE("x", "COPY kept FROM '/etc/passwd'", ""), "begin with"},
    {WRITE("x", "CALL commits()", ""), "begin with"},
    {WRITE("x", "DO $$ BEGIN DELETE FROM kept; END $$", ""), "begin with"},
    {WRITE("x", "SET role other", ""), "begin with"},
    {WRITE("x", "EXPLAIN ANALYZE DELETE FROM kept", ""), "begin with"},
    {WRITE("x", "-- DELETE\\rEXPLAIN ANALYZE DELETE FROM kept", ""), "begin with"},
    {WRITE("x", "-- \\rTRUNCATE kept\\nDELETE FROM kept", ""), "begin with"},
    {WRITE("x", "/* /* */ DELETE */ TRUNCATE kept", ""), "begin with"},
    {WRITE("x", "DELETES FROM kept", ""), "begin with"},
    {WRITE("x", "DELETE FROM kept\\u0000 WHERE id = 1", ""), "contains NUL"},
    {WRITE("x", "DELETE FROM kept", ",\"rows\":0"), "from 1 to"},
    {WRITE("x", "DELETE FROM kept", ",\"rows\":1000001"), "from 1 to"},
    {"{\"name\":\"x\",\"sql\":\"SELECT 1\",\"rows\":2}", "needs \\\"write\\\""},
    {WRITE("x", "DELETE FROM kept", "") ",{\"name\":\"x\",\"sql\":\"SELECT 1\"}", "used twice"},
    {"{\"name\":\"x\",\"sql\":\"SELECT 1\"}," WRITE("x", "DELETE FROM kept", ""), "used twice"},
    {WRITE("a b", "DELETE FROM kept", "") "," WRITE("a_b", "DELETE FROM kept", ""),
     "has the tool write_shop_a_b"},
    {WRITE("a2345678901234567890123456789012345678901234567890123456789", "DELETE FROM kept", ""),
     "longer than 64 bytes"},
};

static void test_refused_at_start(void **state)
{
    char queries[800];
    (void)state;
    for (size_t i = 0; i < COUNT(refused); i++) {
        snprintf(queries, sizeof(queries), "[%s]", refused[i].query);
        char why[100];
        snprintf(why, sizeof(why), "%s", refused[i].why);
        for (char *q; (q = strstr(why, "\\\"")) != NULL;)
            memmove(q, q + 1, strlen(q));
        if (open_with(queries, (mcp_postgres_options){0}) == MCP_OK)
            fail_msg("accepted: %s", refused[i].query);
        if (!strstr(p.error.text, why))
            fail_msg("%s: %s", refused[i].query, p.error.text);
        peer_close(&p);
    }
}

/* --doctor asks the database. */
static void test_checked(void **state)
{
    static const struct {
        const char *query, *why;
    } checked[] = {
        {WRITE("x", "DELETE FROM kept WHERE id = $1", ONE), NULL},
        {WRITE("x", "-- x\\n /* y */ delete FROM kept; ", ""), NULL},
        {WRITE("x", "MERGE INTO kept USING ledger ON false WHEN MATCHED THEN DELETE", ""), NULL},
        {WRITE("x", "UPDATE kept SET id = 1; DELETE FROM kept", ""), "multiple commands"},
        {WRITE("x", "INSERT INTO kept WITH x AS (DELETE FROM ledger RETURNING id) SELECT id FROM x",
               ""),
         "WITH clause"},
        {WRITE("x", "DELETE FROM nowhere", ""), "does not exist"},
        {WRITE("x", "DELETE FROM customer", ""), "permission denied"},
        {WRITE("x", "DELETE FROM kept WHERE id = $2", ONE), "parameter"},
    };
    char options[800];
    (void)state;
    for (size_t i = 0; i < COUNT(checked); i++) {
        mcp_json_doc *doc = NULL;
        mcp_error error = {0};
        snprintf(options, sizeof(options), "{\"queries\":[%s]}", checked[i].query);
        assert_int_equal(mcp_json_parse(mcp_str_from(options), NULL, NULL, &doc, NULL), MCP_OK);
        int rc = mcp_postgres_check_json(conninfo, mcp_json_root(doc), NULL, NULL, &error);
        if (checked[i].why ? rc == MCP_OK || !strstr(error.text, checked[i].why) : rc != MCP_OK)
            fail_msg("%s: %d %s", checked[i].query, rc, error.text);
        mcp_json_free(doc);
    }
    assert_string_equal(look("SELECT string_agg(id::text, '') FROM kept"), "12");
}

/* ---- annotations ----------------------------------------------------------------------------- */

static void test_annotations(void **state)
{
    static const struct {
        const char *tool;
        bool destructive;
    } tools[] = {{"set", true}, {"add", false}, {"put", true}, {"remove", true}, {"merge", true}};
    char name[40];
    (void)state;
    open_shop((mcp_postgres_options){0});
    ask_and_wait(&p, TOOLS, "");
    for (size_t i = 0; i < COUNT(tools); i++) {
        mcp_json_doc *doc = NULL;
        mcp_json_iter it = {0};
        const mcp_json *found = NULL;
        snprintf(name, sizeof(name), "write_shop_%s", tools[i].tool);
        assert_int_equal(mcp_json_parse(mcp_str_from(p.reply), NULL, NULL, &doc, NULL), MCP_OK);
        const mcp_json *all = mcp_json_get(mcp_json_get(mcp_json_root(doc), "result"), "tools");
        for (const mcp_json *t; (t = mcp_json_next(all, &it, NULL)) != NULL;)
            if (mcp_str_eq(mcp_json_string(mcp_json_get(t, "name")), mcp_str_from(name)))
                found = mcp_json_get(t, "annotations");
        assert_non_null(found);
        assert_false(mcp_json_bool(mcp_json_get(found, "readOnlyHint"), true));
        assert_false(mcp_json_bool(mcp_json_get(found, "idempotentHint"), true));
        assert_int_equal(
            mcp_json_bool(mcp_json_get(found, "destructiveHint"), !tools[i].destructive),
            tools[i].destructive);
        mcp_json_free(doc);
    }
    peer_close(&p);
}

/* ---- what a statement leaves ----------------------------------------------------------------- */

/* On one connection: nothing of the transaction that wrote is left for what comes after it. */
static void test_nothing_left(void **state)
{
    static const exchange after[] = {
        {CALL, TOOL("trap", "\"id\":\"1\",\"how\":\"leave\""), {OK(1)}},
        {CALL, SQL("SHOW default_transaction_read_only"), {"[[\"on\"]]"}},
        {CALL, SQL("SHOW transaction_read_only"), {"[[\"on\"]]"}},
        {CALL, SQL("SELECT current_user"), {"[[\"reader\"]]"}},
        {CALL, SQL("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"), {"[[0]]"}},
        {CALL, SQL("SELECT writes()"), {"isError\":true", "read-only"}},
        {CALL, SQL("INSERT INTO keyless VALUES (1, 'x')"), {"isError\":true"}},
        {CALL, SQL("SELECT breaks_out()"), {"isError\":true"}},
        {CALL,
         SQL("WITH x AS (DELETE FROM kept RETURNING id) SELECT * FROM x"),
         {"isError\":true"}},
        {READ, URI("public/breaking_out/rows"), {"-32603", "!written"}},
        {CALL, TOOL("raise", "\"id\":\"1\""), {NOTHING "it would have been 5 rows"}},
        {CALL, SQL("SELECT writes()"), {"isError\":true", "read-only"}},
        {CALL, SQL("SHOW default_transaction_read_only"), {"[[\"on\"]]"}},
    };
    (void)state;
    run_sql(
        "CREATE VIEW breaking_out AS SELECT breaks_out(); GRANT SELECT ON breaking_out TO reader");
    open_shop((mcp_postgres_options){.connections = 1});
    for (size_t i = 0; i < COUNT(after); i++)
        check_exchange(&p, &after[i]);
    assert_string_equal(look("SELECT count(*) FROM keyless"), "2");
    peer_close(&p);
    run_sql("DROP VIEW breaking_out");
}

/* Rows of RETURNING are left out if there are too many, and the change is made. */
static void test_bounded_answer(void **state)
{
    (void)state;
    open_shop((mcp_postgres_options){.max_bytes = 1024});
    check_exchange(&p, &(exchange){CALL,
                                   TOOL("large", ""),
                                   {"[1,\"xxx", "!xxx2\"", "\"truncated\":true,\"changed\":2"}});
    peer_close(&p);
    open_shop((mcp_postgres_options){.max_rows = 1});
    check_exchange(&p, &(exchange){CALL,
                                   TOOL("raise", "\"id\":\"4\""),
                                   {"[[4,41]]", "\"truncated\":true,\"changed\":2"}});
    expect_ledger("bounded", "1:10 2:20 3:30 4:41 5:51");
    peer_close(&p);
}

/* ---- the network ----------------------------------------------------------------------------- */

static proxy net;

static void open_far(void)
{
    char text[200];
    proxy_freeze(&net, false);
    snprintf(text, sizeof(text),
             "host=127.0.0.1 port=%u dbname=shop user=reader sslmode=disable" PATIENT, net.port);
    open_shop((mcp_postgres_options){.conninfo = text, .connections = 1});
    check_exchange(&p, &(exchange){READ, URI("$query/all"), {"[1,10]"}});
}

static void cut(const char *on, bool forward)
{
    proxy_hold(&net);
    net.cut_on = on;
    net.forward = forward;
    net.cuts = 0;
    proxy_go_on(&net);
}

#define UNKNOWN    "The outcome is unknown"
#define CALL_RAISE CALL, TOOL("raise", "\"id\":\"5\"")

static const struct {
    const char *what, *on;
    bool forward;
    const char *has, *ledger;
} cuts[] = {
    {"before BEGIN", "BEGIN READ WRITE", false, NOTHING, UNTOUCHED},
    {"after the statement", "update ledger", true, NOTHING, UNTOUCHED},
    {"COMMIT that did not arrive", "COMMIT", false, UNKNOWN, UNTOUCHED},
    {"COMMIT without its answer", "COMMIT", true, UNKNOWN, "1:10 2:20 3:30 4:40 5:51"},
    {"nothing", NULL, false, "\"changed\":1", "1:10 2:20 3:30 4:40 5:51"},
};

static void test_lost(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(cuts); i++) {
        open_far();
        cut(cuts[i].on, cuts[i].forward);
        check_reply(cuts[i].what, ask_and_wait(&p, CALL, TOOL("raise", "\"id\":\"5\"")),
                    (const char *const[5]){cuts[i].has, NULL});
        size_t made = proxy_cuts_made(&net);
        if (made != (cuts[i].on != NULL))
            fail_msg("%s: cut %zu times", cuts[i].what, made);
        /* the server has seen the end of the connection when this answers */
        for (int k = 0; strcmp(look("SELECT count(*) FROM pg_stat_activity WHERE usename = "
                                    "'reader' AND state <> 'idle'"),
                               "0") != 0;
             k++)
            assert_true(k < 10000);
        expect_ledger(cuts[i].what, cuts[i].ledger);
        check_exchange(&p, &(exchange){READ, URI("$query/all"), {"[1,10]"}});
        expect_ledger(cuts[i].what, cuts[i].ledger);
        peer_close(&p);
    }
}

/* A COMMIT that is not answered in time. */
static void test_late_commit(void **state)
{
    (void)state;
    open_far();
    proxy_hold(&net);
    net.freeze_on = "COMMIT";
    proxy_go_on(&net);
    size_t before = p.replies;
    peer_send(&p, 1, CALL_RAISE);
    while (!proxy_is_frozen(&net))
        mcp_loop_step(loop, 10);
    assert_int_equal(p.replies, before);
    let_pass(3 * LONG_MS); /* COMMIT has the limit of a request once more */
    assert_true(run_until(&p, &p.replies, before + 1, HANGS_MS));
    check_reply("COMMIT", p.reply,
                (const char *const[5]){"isError\":true", UNKNOWN, "Look whether"});
    proxy_freeze(&net, false);
    peer_close(&p);
}

/* A call that is cancelled before COMMIT changes nothing; after it, the connection is not closed. */
static void test_cancelled(void **state)
{
    (void)state;
    open_far();
    proxy_hold(&net);
    net.freeze_on = "update ledger";
    proxy_go_on(&net);
    peer_send(&p, 1, CALL, TOOL("raise", "\"id\":\"5\""));
    while (!proxy_is_frozen(&net))
        mcp_loop_step(loop, 10);
    mcp_channel_receive(p.channel, 0,
                        MCP_STR("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
                                "\"params\":{\"requestId\":1}}"),
                        now());
    proxy_freeze(&net, false);
    check_exchange(&p, &(exchange){READ, URI("$query/all"), {"[5,50]"}});
    proxy_hold(&net);
    net.freeze_on = "COMMIT";
    proxy_go_on(&net);
    size_t connections = proxy_accepted(&net);
    peer_send(&p, 2, CALL, TOOL("raise", "\"id\":\"5\""));
    while (!proxy_is_frozen(&net))
        mcp_loop_step(loop, 10);
    mcp_channel_receive(p.channel, 0,
                        MCP_STR("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
                                "\"params\":{\"requestId\":2}}"),
                        now());
    proxy_freeze(&net, false);
    check_exchange(&p, &(exchange){READ, URI("$query/all"), {"[5,51]"}});
    assert_int_equal(proxy_accepted(&net), connections);
    peer_close(&p);
}

/* ---- roles of callers ------------------------------------------------------------------------ */

#define ROLES \
    "\"claim\":\"dbrole\",\"issuer\":\"" ISSUER "\",\"roles\":{\"a\":\"ada\",\"b\":\"bob\"}"

static const char role_sql[] =
    "CREATE ROLE gate LOGIN PASSWORD 's3cret'; CREATE ROLE ada LOGIN PASSWORD 's3cret'; CREATE "
    "ROLE "
    "bob LOGIN PASSWORD 's3cret';"
    "CREATE TABLE mine(id integer PRIMARY KEY, who text DEFAULT current_user, n integer);"
    "ALTER TABLE mine ENABLE ROW LEVEL SECURITY; CREATE POLICY own ON mine USING (who = "
    "current_user); GRANT SELECT, INSERT, UPDATE ON mine TO ada, bob;"
    "INSERT INTO mine VALUES (1, 'ada', 0), (2, 'bob', 0)";

static const char own[] = "[" WRITE("count", "UPDATE mine SET n = n + 1", "") "]";

static void test_roles(void **state)
{
    static const char mapped[] = "{" ROLES "}", logins[] = "{" ROLES ",\"own_login\":true}";
    static peer ada, nobody;
    char text[160];
    (void)state;
    run_sql(role_sql);
    snprintf(text, sizeof(text), "host=%s user=gate dbname=shop" PATIENT, top);
    assert_int_equal(shop_open(&p, mapped, own, (mcp_postgres_options){.conninfo = text}),
                     MCP_EINVAL);
    if (!strstr(p.error.text, "\"write\" needs \"own_login\", because a trigger"))
        fail_msg("%s", p.error.text);
    peer_close(&p);
    if (shop_open(&p, logins, own, (mcp_postgres_options){.conninfo = text}) != MCP_OK)
        fail_msg("%s", p.error.text);
    allow();
    caller_open(&ada, &p, "{\"dbrole\":\"a\"}");
    caller_open(&nobody, &p, "{}");
    check_exchange(&ada, &(exchange){CALL, TOOL("count", ""), {OK(1)}});
    check_exchange(&nobody, &(exchange){CALL, TOOL("count", ""), {"!changed\":"}});
    assert_string_equal(look("SELECT string_agg(id || ':' || n, ' ' ORDER BY id) FROM mine"),
                        "1:1 2:0");
    caller_close(&nobody);
    caller_close(&ada);
    peer_close(&p);
}

/* ---- notices --------------------------------------------------------------------------------- */

/* Who is subscribed to rows is told, without a trigger in the database, and without the connection
 * that listens to it, which is ended first. It would be made again after poll_ms. */
static void test_told(void **state)
{
    (void)state;
    open_shop((mcp_postgres_options){.poll_ms = 3600000});
    peer_send(&p, 5, "subscriptions/listen",
              "\"notifications\":{\"resourceSubscriptions\":[\"postgres://shop/public/ledger/row/"
              "5\"]}");
    while (strcmp(look("SELECT count(*) FROM pg_stat_activity WHERE usename = 'reader' AND state = "
                       "'idle' AND query = 'ROLLBACK'"),
                  "1") != 0)
        mcp_loop_step(loop, 10);
    run_sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'reader'");
    check_exchange(&p, &(exchange){READ, URI("public/ledger/row/5"), {":50"}});
    p.updates = 0;
    check_exchange(&p, &(exchange){CALL, TOOL("raise", "\"id\":\"2\""), {NOTHING}});
    assert_int_equal(p.updates, 0);
    check_exchange(&p, &(exchange){CALL_RAISE, {"\"changed\":1"}});
    if (!run_until(&p, &p.updates, 1, 20000))
        fail_msg("not told");
    check_exchange(&p, &(exchange){READ, URI("public/ledger/row/5"), {":51"}});
    peer_close(&p);
}

/* Others who listen to the database are told by it. */
static void test_others_are_told(void **state)
{
    PGnotify *n = NULL;
    (void)state;
    open_shop((mcp_postgres_options){0});
    PQclear(PQexec(owner, "LISTEN mcp_changes"));
    check_exchange(&p, &(exchange){CALL, TOOL("raise", "\"id\":\"2\""), {NOTHING}});
    look("SELECT 1");
    assert_null(PQnotifies(owner));
    check_exchange(&p, &(exchange){CALL_RAISE, {"\"changed\":1"}});
    look("SELECT 1");
    n = PQnotifies(owner);
    assert_non_null(n);
    PQfreemem(n);
    PQclear(PQexec(owner, "UNLISTEN *"));
    peer_close(&p);
}

/* ---- generated ------------------------------------------------------------------------------- */

static const char *const hostile[] = {
    "1",
    "2",
    "5",
    "0",
    "-1",
    "77",
    "1; DELETE FROM ledger",
    "1 OR 1=1",
    "",
    "NULL",
    "'",
    "$1",
    "1)--",
    "x",
    "99999999999999999999",
    "1e1",
    " 1",
    "1\\n",
    "\\u0001",
    "\\u00e9",
    "1/**/",
    "3",
    "4",
};

static const char *const free_sql[] = {
    "DELETE FROM ledger",
    "UPDATE ledger SET v = 0",
    "WITH x AS (UPDATE ledger SET v = 0 RETURNING 1) SELECT * FROM x",
    "SELECT 1; DELETE FROM ledger",
    "EXPLAIN ANALYZE DELETE FROM ledger",
    "SELECT breaks_out()",
    "SELECT writes()",
    "SELECT set_config('transaction_read_only', 'off', false), writes()",
    "SELECT set_config('default_transaction_read_only', 'off', false)",
    "SELECT query_to_xml('DELETE FROM ledger', true, true, '')",
    "-- \\rDELETE FROM ledger\\nSELECT 1",
    "TABLE ledger; COMMIT",
    "SELECT 1) AS x; COMMIT; DELETE FROM ledger; SELECT * FROM (SELECT 1",
    "SELECT * FROM ledger FOR UPDATE",
};

static const char *value(void)
{
    return hostile[dice(COUNT(hostile))];
}

/* The number that a value is for PostgreSQL, from 1 to 5; otherwise 0. */
static unsigned row_of(const char *text)
{
    if (*text == ' ')
        text++;
    bool one = text[0] >= '1' && text[0] <= '5' && (!text[1] || strcmp(text + 1, "\\n") == 0);
    return one ? (unsigned)(text[0] - '0') : 0;
}

static void describe(char *to, size_t room, const int *v)
{
    size_t n = 0;
    for (unsigned i = 1; i <= 5; i++)
        n += (size_t)snprintf(to + n, room - n, "%s%u:%d", i > 1 ? " " : "", i, v[i]);
}

/* Whatever is sent, the table is what the named statement makes of it. */
static void test_generated(void **state)
{
    char params[600], expected[100];
    int v[6] = {0, 10, 20, 30, 40, 50};
    unsigned changed = 0;
    (void)state;
    open_shop((mcp_postgres_options){.connections = 2});
    for (unsigned i = 0; i < rounds(1500); i++) {
        const char *a = value(), *b = value(), *sql = free_sql[dice(COUNT(free_sql))];
        unsigned id = 0, n = 0;
        bool denied = dice(4) == 0;
        const char *method = CALL;
        effect = denied ? MCP_EFFECT_DENY : MCP_EFFECT_ALLOW;
        switch (dice(5)) {
        case 0: snprintf(params, sizeof(params), SQL("%s"), sql); break;
        case 1:
            method = READ;
            snprintf(params, sizeof(params), URI("$query/%s?id=%u"), dice(2) ? "set" : "all",
                     dice(9));
            break;
        case 2: snprintf(params, sizeof(params), TOOL("wipe", "")); break;
        case 3: snprintf(params, sizeof(params), TOOL("%s", ""), dice(2) ? "both" : "deep"); break;
        default:
            snprintf(params, sizeof(params), TOOL("set", "\"id\":\"%s\",\"v\":\"%s\""), a, b);
            id = denied ? 0 : row_of(a);
            n = strcmp(b, "0") == 0 ? 1 : strcmp(b, "77") == 0 ? 78 : row_of(b) ? row_of(b) + 1 : 0;
        }
        ask_and_wait(&p, method, params);
        if (id && n)
            v[id] = (int)n - 1, changed++;
        describe(expected, sizeof(expected), v);
        expect_ledger(params, expected);
        assert_string_equal(look(OTHERS), "0 0 12 2");
    }
    assert_true(changed > 20);
    peer_close(&p);
}

/* ---------------------------------------------------------------------------------------------- */

static int setup(void **state)
{
    char text[160];
    (void)state;
    run_sql(setup_sql);
    run_sql("INSERT INTO ledger VALUES (0, 0); DELETE FROM ledger");
    snprintf(text, sizeof(text), "host=%s user=postgres dbname=shop", top);
    owner = PQconnectdb(text);
    proxy_start(&net, (unsigned short)strtoul(port, NULL, 10));
    return PQstatus(owner) == CONNECTION_OK ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    PQfinish(owner);
    proxy_stop(&net);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_calls),
        cmocka_unit_test(test_ruled),
        cmocka_unit_test(test_rights),
        cmocka_unit_test(test_rights_taken_back),
        cmocka_unit_test(test_mighty_role),
        cmocka_unit_test(test_consent),
        cmocka_unit_test(test_refused_at_start),
        cmocka_unit_test(test_checked),
        cmocka_unit_test(test_annotations),
        cmocka_unit_test(test_nothing_left),
        cmocka_unit_test(test_bounded_answer),
        cmocka_unit_test(test_lost),
        cmocka_unit_test(test_late_commit),
        cmocka_unit_test(test_cancelled),
        cmocka_unit_test(test_roles),
        cmocka_unit_test(test_told),
        cmocka_unit_test(test_others_are_told),
        cmocka_unit_test(test_generated),
    };
    int rc = make_listening_database();
    if (rc == 0)
        rc = cmocka_run_group_tests(tests, setup, teardown);
    server("remove");
    return rc;
}
