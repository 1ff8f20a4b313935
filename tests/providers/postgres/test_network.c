/* A network that stops forwarding, at every step of the protocol: the request ends with an error,
 * everything else continues, there is no storm of connections, and everything works again when the
 * network does. The database is mounted through that network ("shop") and directly ("near"). Where
 * a request meets its time limit, the test lets it pass when the network has stopped. */
#define _GNU_SOURCE
#include "listening.h"

#include "proxy.h"

static peer p, near; /* two peers of the same server, each with its own replies */
static proxy net;

#define NEAR "\"uri\":\"postgres://near/public/customer/row/2\""
#define ROW  URI("public/customer/row/1")
#define FAR  "host=127.0.0.1 port=%u dbname=shop user=reader "

/* For limits that a test cannot let pass. On a busy machine, a short one may also end what is
 * healthy; `test` returns false then, and a longer one is tried. */
#define SHORT_OR_LONGER(test, ...) assert_true(test(__VA_ARGS__, 2) || test(__VA_ARGS__, 20))
enum { AGAIN_MS = 20000 }; /* how long something healthy is repeated with one limit */

static void open_both(const char *words, mcp_postgres_options o)
{
    char text[200];
    mcp_error error = {0};
    proxy_freeze(&net, false);
    snprintf(text, sizeof(text), FAR "connect_timeout=60 %s", net.port, words);
    o.conninfo = text;
    o.name = "shop";
    if (peer_open(&p, &o) != MCP_OK)
        fail_msg("%s", p.error.text);
    if (mcp_postgres_mount(p.server,
                           MCP_OPTIONS(mcp_postgres_options, .conninfo = conninfo, .name = "near",
                                       .timeout_ms = LONG_MS),
                           &error) != MCP_OK)
        fail_msg("%s", error.text);
    near = (peer){.loop = loop, .server = p.server};
    assert_int_equal(peer_connect(&near), MCP_OK);
}

/* Requests through the proxy succeed again. */
static bool works_within(int64_t ms)
{
    return answers_within(&p, READ, ROW, "Ada", ms) &&
           answers_within(&p, CALL, SQL("SELECT 41 + 1"), "[[42]]", ms);
}

static void works_again(void)
{
    if (!works_within(HANGS_MS))
        fail_msg("%.3000s", p.reply);
}

static void near_works(void)
{
    check_exchange(&near, &(exchange){READ, NEAR, {"Grace"}});
}

static void close_both(void)
{
    mcp_channel_free(near.channel);
    peer_close(&p);
}

/* ---- data that is not forwarded -------------------------------------------------------------- */

typedef struct phase {
    const char *name, *words;
    const char *on; /* freeze_on and freeze_after of the proxy */
    size_t after;
    bool begun; /* whether a connection is open and its table is cached */
    const char *method, *params;
} phase;

static const phase phases[] = {
    {"connecting", "sslmode=disable", NULL, 0, false, READ, ROW},
    {"the TLS handshake's begin", "sslmode=require", NULL, 1, false, READ, ROW},
    {"the TLS handshake", "sslmode=require", NULL, 100, false, READ, ROW},
    {"the log-in", "sslmode=disable", NULL, 24, false, READ, ROW},
    {"the log-in through TLS", "sslmode=require", NULL, 2000, false, READ, ROW},
    {"setting up", "sslmode=disable", "set_config", 0, false, READ, ROW},
    {"looking up a table", "sslmode=disable", "pg_attribute", 0, false, READ, ROW},
    {"a statement", "sslmode=disable", "mcp", 0, true, READ, ROW},
    {"a row", "sslmode=disable", NULL, 100, true, READ, ROW},
    {"a page", "sslmode=disable", "OFFSET", 0, true, READ, URI("public/sale/rows")},
    {"a query", "sslmode=disable", "DECLARE", 0, true, CALL, SQL("SELECT 1")},
    {"a large value", "sslmode=disable", NULL, 50000, true, READ,
     URI("public/kinds/cell/long/9007199254740993")},
    {"a large value through TLS", "sslmode=require", NULL, 50000, true, READ,
     URI("public/kinds/cell/long/9007199254740993")},
    {"what comes after a query", "sslmode=disable", NULL, 400, true, CALL, SQL("SELECT 1")},
};

static void set_trap(const phase *ph)
{
    proxy_hold(&net);
    net.freeze_on = ph->on;
    net.freeze_after = ph->after;
    if (!ph->on && !ph->after)
        proxy_freeze_all(&net, true);
    proxy_go_on(&net);
}

static void await_trap(const char *name)
{
    for (int64_t until = now() + HANGS_MS; !proxy_is_frozen(&net); mcp_loop_step(loop, 10))
        if (now() >= until)
            fail_msg("%s: it was not met", name);
}

/* Everything that runs or waits meets its time limit. */
static void let_limit_pass(void)
{
    let_pass(2 * LONG_MS);
}

static void test_phases(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(phases) / sizeof(*phases); i++) {
        const phase *ph = &phases[i];
        print_message("# %s\n", ph->name);
        open_both(ph->words, (mcp_postgres_options){0});
        if (ph->begun)
            works_again();
        set_trap(ph);
        size_t before = p.replies;
        peer_send(&p, 7, ph->method, ph->params);
        await_trap(ph->name);
        near_works(); /* the direct path works during the outage */
        let_limit_pass();
        if (!run_until(&p, &p.replies, before + 1, HANGS_MS))
            fail_msg("%s: no answer", ph->name);
        if (strstr(p.reply, "cannot be reached")) /* the end of the log-in was waited for */
            fail_msg("%s: %s", ph->name, p.reply);
        near_works();
        proxy_freeze(&net, false);
        works_again();
        close_both();
    }
}

/* Mounts while the network stops at `at`. Only limits end this: of the log-in in seconds, and of
 * each statement. Returns false if one was met without trouble. */
static bool mount_at(const char *at, const mcp_json *queries, int limit_s)
{
    char text[160];
    mcp_postgres_options o = {.conninfo = text,
                              .name = "shop",
                              .timeout_ms = (uint64_t)limit_s * 250,
                              .queries = queries};
    snprintf(text, sizeof(text), FAR "connect_timeout=%d sslmode=disable", net.port, limit_s);
    proxy_freeze(&net, false);
    set_trap(&(phase){.on = at});
    if (peer_open(&p, &o) != MCP_OK)
        fail_msg("%s: %s", at, p.error.text);
    bool met = proxy_is_frozen(&net);
    proxy_freeze(&net, false);
    met = met && works_within(AGAIN_MS);
    peer_close(&p);
    return met;
}

/* The outage begins while the database is mounted, and ends later. */
static void test_mounting(void **state)
{
    static const char *const at[] = {"set_config", "BEGIN", "EXPLAIN", "ROLLBACK"};
    mcp_json_doc *doc = NULL;
    (void)state;
    mcp_json_parse(mcp_str_from("[{\"name\":\"q\",\"sql\":\"SELECT 1\"}]"), NULL, NULL, &doc, NULL);
    for (size_t i = 0; i < sizeof(at) / sizeof(*at); i++)
        SHORT_OR_LONGER(mount_at, at[i], mcp_json_root(doc));
    mcp_json_free(doc);
}

/* Only one connection is cut off; the others continue to work. */
static void test_one_of_many(void **state)
{
    (void)state;
    open_both("sslmode=disable", (mcp_postgres_options){0});
    works_again();
    proxy_hold(&net);
    net.freeze_on = "pg_sleep";
    net.only_one = true;
    proxy_go_on(&net);
    peer_send(&p, 7, CALL, SQL("SELECT pg_sleep(0)"));
    for (int i = 0; i < 20; i++)
        works_again();
    near_works();
    close_both();
}

/* Opens the maximum number of connections by using all of them at the same time. */
static void open_all_connections(void)
{
    PGconn *barrier = barrier_close();
    size_t before = p.replies;
    for (int i = 0; i < 2; i++)
        peer_send(&p, 10 + i, CALL, SQL("SELECT " BARRIER));
    peer_send(&p, 12, READ, URI("public/waiting/rows"));
    barrier_await(&p, "3");
    peer_send(&p, 13, READ, ROW);
    assert_true(run_until(&p, &p.replies, before + 1, HANGS_MS));
    PQfinish(barrier);
    assert_true(run_until(&p, &p.replies, before + 4, HANGS_MS));
}

static void await_accepted(size_t accepted)
{
    for (int64_t until = now() + HANGS_MS; proxy_accepted(&net) < accepted;) {
        assert_true(now() < until);
        mcp_loop_step(loop, 10);
    }
}

/* After a time-out, idle connections are not tried before a new connection is opened. */
static void test_idle(void **state)
{
    (void)state;
    run_sql("CREATE VIEW waiting AS SELECT " BARRIER " IS NULL AS w");
    run_sql("GRANT SELECT ON waiting TO reader");
    open_both("sslmode=disable", (mcp_postgres_options){0});
    works_again();
    open_all_connections();
    proxy_freeze(&net, true);
    size_t before = proxy_accepted(&net);
    for (size_t i = 0; i < 2; i++) {
        size_t replies = p.replies;
        peer_send(&p, 7, READ, ROW);
        await_accepted(before + i);
        let_limit_pass();
        assert_true(run_until(&p, &p.replies, replies + 1, HANGS_MS));
        assert_non_null(strstr(p.reply, LATE));
        assert_int_equal(proxy_accepted(&net), before + i);
    }
    proxy_freeze(&net, false);
    works_again();
    close_both();
}

/* ---- longer outages -------------------------------------------------------------------------- */

static void ask_in_vain(void)
{
    size_t before = p.replies;
    peer_send(&p, 7, READ, ROW);
    near_works();
    if (!run_until(&p, &p.replies, before + 1, HANGS_MS))
        fail_msg("no answer");
    assert_null(strstr(p.reply, "Ada"));
}

/* Sends requests while time passes on the provider's clock, until there is an attempt to connect.
 * Returns how much has passed. */
static int64_t pause_before_attempt(void)
{
    size_t before = proxy_accepted(&net);
    for (int64_t pause = 0; pause < 60000; pause += 50) {
        for (int i = 0; i < 3; i++)
            ask_in_vain();
        if (proxy_accepted(&net) > before) {
            assert_int_equal(proxy_accepted(&net), before + 1);
            return pause;
        }
        let_pass(50);
    }
    fail_msg("no attempt to connect");
    return 0;
}

typedef enum trouble { SWALLOWS, SLAMS, SWALLOWS_AT_SET_UP, TROUBLES } trouble;

/* All existing connections are closed, and new ones fail. */
static void begin_trouble(trouble what)
{
    proxy_freeze(&net, what == SWALLOWS);
    proxy_hold(&net);
    net.cut = true;
    net.slam = what == SLAMS;
    net.each = what == SWALLOWS_AT_SET_UP;
    net.freeze_on = net.each ? "set_config" : NULL;
    proxy_go_on(&net);
}

static void check_pauses(trouble what)
{
    int64_t last = pause_before_attempt();
    for (int i = 0; i < (what == SLAMS ? 5 : 2); i++) {
        int64_t pause = pause_before_attempt();
        if (pause <= last)
            fail_msg("trouble %d: a pause of %d ms after one of %d ms", (int)what, (int)pause,
                     (int)last);
        last = pause;
    }
}

/* Returns false if the limit of the log-in, in seconds, was met without trouble. */
static bool storm(trouble what, int limit_s)
{
    char words[60];
    snprintf(words, sizeof(words), "sslmode=disable connect_timeout=%d", limit_s);
    open_both(words, (mcp_postgres_options){0});
    clock_stop();
    bool works = works_within(AGAIN_MS);
    if (works) {
        begin_trouble(what);
        check_pauses(what);
        proxy_freeze(&net, false);
        works = works_within(AGAIN_MS);
    }
    close_both();
    return works;
}

/* During the outage, the provider reconnects with growing pauses, and not for each request. The
 * limit of the log-in ends each attempt. */
static void test_storm(void **state)
{
    (void)state;
    for (trouble what = 0; what < TROUBLES; what++)
        SHORT_OR_LONGER(storm, what);
}

/* A cancelled request frees its connection slot, so the next one does not wait for the time-out. */
static void test_cancel(void **state)
{
    char cancel[120];
    (void)state;
    open_both("sslmode=disable", (mcp_postgres_options){.timeout_ms = 3600000, .connections = 2});
    works_again();
    proxy_freeze(&net, true);
    for (int i = 0; i < 6; i++)
        peer_send(&p, 70 + i, i % 2 ? READ : CALL, i % 2 ? ROW : SQL("SELECT 1"));
    for (int i = 0; i < 10; i++)
        mcp_loop_step(loop, 10);
    for (int i = 0; i < 6; i++) {
        int n = snprintf(cancel, sizeof(cancel),
                         "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
                         "\"requestId\":%d}}",
                         70 + i);
        mcp_channel_receive(p.channel, 0, (mcp_str){cancel, (size_t)n}, now());
    }
    proxy_freeze(&net, false);
    works_again();
    close_both();
}

/* Closing works in every phase, and does not wait for the time-out. */
static void test_close(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(phases) / sizeof(*phases); i++) {
        open_both(phases[i].words, (mcp_postgres_options){0});
        if (phases[i].begun)
            works_again();
        set_trap(&phases[i]);
        for (int k = 0; k < 8; k++)
            peer_send(&p, 70 + k, k % 2 ? phases[i].method : CALL,
                      k % 2 ? phases[i].params : SQL("SELECT 1"));
        peer_send(&p, 90, "subscriptions/listen",
                  "\"notifications\":{\"resourcesListChanged\":true}");
        await_trap(phases[i].name);
        mcp_loop_step(loop, 10);
        close_both();
        proxy_freeze(&net, false);
    }
}

/* ---- subscriptions --------------------------------------------------------------------------- */

/* Lets a look for changes, which is held by the network, meet its limit until there is an attempt
 * to connect again. */
static void lose_watch(void)
{
    size_t before = proxy_accepted(&net), never = 0;
    for (int64_t until = now() + HANGS_MS; proxy_accepted(&net) == before;) {
        assert_true(now() < until);
        let_pass(1000);
        run_until(&p, &never, 1, 50);
    }
}

/* Missed changes are announced once, whether the connection survived or not. Later changes are
 * announced as before. The provider's clock stands: only a look that is held meets its limit. */
static void test_subscriptions(void **state)
{
    (void)state;
    open_both("sslmode=disable", (mcp_postgres_options){.poll_ms = 100});
    clock_stop();
    peer_send(&p, 5, "subscriptions/listen",
              "\"notifications\":{\"resourceSubscriptions\":["
              "\"postgres://shop/public/sale/row/1\"]}");
    await_told(&p);
    size_t accepted = proxy_accepted(&net);
    for (size_t lost = 0; lost < 2; lost++) {
        p.updates = 0;
        proxy_freeze(&net, true);
        for (size_t i = 0; i < 1 + 2 * lost; i++)
            run_sql("UPDATE sale SET total = total + 1 WHERE id = 1");
        if (lost)
            lose_watch();
        near_works();
        assert_int_equal(p.updates, 0);
        proxy_freeze(&net, false);
        assert_true(run_until(&p, &p.updates, 1, HANGS_MS));
        await_told(&p);
        assert_int_equal(p.updates, 1);
        run_sql("UPDATE sale SET total = 12 WHERE id = 1");
        assert_true(run_until(&p, &p.updates, 2, HANGS_MS));
        await_told(&p);
        assert_int_equal(p.updates, 2);
        assert_int_equal(proxy_accepted(&net), accepted + lost);
    }
    close_both();
}

static int setup(void **state)
{
    (void)state;
    proxy_start(&net, (unsigned short)atoi(port));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    proxy_stop(&net);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_phases),      cmocka_unit_test(test_mounting),
        cmocka_unit_test(test_one_of_many), cmocka_unit_test(test_idle),
        cmocka_unit_test(test_storm),       cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_close),       cmocka_unit_test(test_subscriptions),
    };
    int rc = make_listening_database();
    if (rc == 0)
        rc = cmocka_run_group_tests(tests, setup, teardown);
    server("remove");
    return rc;
}
