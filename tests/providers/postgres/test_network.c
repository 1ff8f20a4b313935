/* A network that stops forwarding, at every step of the protocol: the request ends with an error,
 * everything else continues, there is no storm of connections, and everything works again when the
 * network does. The database is mounted through that network ("shop") and directly ("near"). */
#define _GNU_SOURCE
#include "listening.h"

#include "proxy.h"

static peer p, near; /* two peers of the same server, each with its own replies */
static proxy net;

#define NEAR "\"uri\":\"postgres://near/public/customer/row/2\""
#define ROW  URI("public/customer/row/1")

static void open_both(const char *words, mcp_postgres_options o)
{
    char text[200];
    mcp_error error = {0};
    proxy_freeze(&net, false);
    snprintf(text, sizeof(text),
             "host=127.0.0.1 port=%u dbname=shop user=reader connect_timeout=2 %s", net.port,
             words);
    o.conninfo = text;
    o.name = "shop";
    if (peer_open(&p, &o) != MCP_OK)
        fail_msg("%s", p.error.text);
    if (mcp_postgres_mount(p.server,
                           MCP_OPTIONS(mcp_postgres_options, .conninfo = conninfo, .name = "near"),
                           &error) != MCP_OK)
        fail_msg("%s", error.text);
    near = (peer){.loop = loop, .server = p.server};
    assert_int_equal(peer_connect(&near), MCP_OK);
}

/* Repeats the request until the answer is as wanted, because the outage may still cause an error or
 * two, and a busy machine may need longer than the time limit. */
static void ask_until(const char *method, const char *params, const char *wanted)
{
    for (int i = 0; !strstr(ask_and_wait(&p, method, params), wanted); i++) {
        if (i == 300)
            fail_msg("%s", p.reply);
        mcp_loop_step(loop, 50);
    }
}

/* Requests through the proxy succeed again. */
static void works_again(void)
{
    ask_until(READ, ROW, "Ada");
    ask_until(CALL, SQL("SELECT 41 + 1"), "[[42]]");
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

static void test_phases(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(phases) / sizeof(*phases); i++) {
        const phase *ph = &phases[i];
        print_message("# %s\n", ph->name);
        open_both(ph->words, (mcp_postgres_options){.timeout_ms = 300});
        if (ph->begun)
            works_again();
        set_trap(ph);
        size_t before = p.replies;
        peer_send(&p, 7, ph->method, ph->params);
        near_works(); /* the direct path works during the outage */
        if (!run_until(&p, &p.replies, before + 1, 20000))
            fail_msg("%s: no answer", ph->name);
        if (!proxy_is_frozen(&net))
            fail_msg("%s: it was not met", ph->name);
        near_works();
        proxy_freeze(&net, false);
        works_again();
        close_both();
    }
}

/* The outage begins while the database is mounted, and ends later. */
static void test_mounting(void **state)
{
    static const char *const at[] = {"set_config", "BEGIN", "EXPLAIN", "ROLLBACK"};
    mcp_json_doc *doc = NULL;
    (void)state;
    mcp_json_parse(mcp_str_from("[{\"name\":\"q\",\"sql\":\"SELECT 1\"}]"), NULL, NULL, &doc, NULL);
    for (size_t i = 0; i < sizeof(at) / sizeof(*at); i++) {
        char text[160];
        mcp_postgres_options o = {
            .conninfo = text, .name = "shop", .timeout_ms = 300, .queries = mcp_json_root(doc)};
        snprintf(text, sizeof(text),
                 "host=127.0.0.1 port=%u dbname=shop user=reader connect_timeout=2 sslmode=disable",
                 net.port);
        proxy_freeze(&net, false);
        set_trap(&(phase){.on = at[i]});
        if (peer_open(&p, &o) != MCP_OK)
            fail_msg("%s: %s", at[i], p.error.text);
        assert_true(proxy_is_frozen(&net));
        proxy_freeze(&net, false);
        works_again();
        peer_close(&p);
    }
    mcp_json_free(doc);
}

/* Only one connection is cut off; the others continue to work. */
static void test_one_of_many(void **state)
{
    (void)state;
    open_both("sslmode=disable", (mcp_postgres_options){.timeout_ms = 60000});
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
    size_t before = p.replies;
    for (int i = 0; i < 2; i++)
        peer_send(&p, 10 + i, CALL, SQL("SELECT pg_sleep(0.5)"));
    peer_send(&p, 12, READ, URI("public/napping/rows"));
    peer_send(&p, 13, READ, ROW);
    assert_true(run_until(&p, &p.replies, before + 4, 20000));
}

/* After a time-out, idle connections are not tried before a new connection is opened. */
static void test_idle(void **state)
{
    (void)state;
    run_sql("CREATE VIEW napping AS SELECT pg_sleep(0.5)::text AS t");
    run_sql("GRANT SELECT ON napping TO reader");
    open_both("sslmode=disable", (mcp_postgres_options){.timeout_ms = 1500});
    works_again();
    open_all_connections();
    proxy_freeze(&net, true);
    assert_non_null(strstr(ask_and_wait(&p, READ, ROW), "too long"));
    size_t before = proxy_accepted(&net);
    assert_null(strstr(ask_and_wait(&p, READ, ROW), "Ada"));
    assert_int_equal(proxy_accepted(&net), before + 1);
    proxy_freeze(&net, false);
    works_again();
    close_both();
}

/* ---- longer outages -------------------------------------------------------------------------- */

/* Sends requests until the proxy has accepted this many connections. Returns the number of
 * requests. */
static size_t ask_until_accepted(size_t accepted)
{
    size_t asked = 0;
    for (int64_t until = now() + 60000; proxy_accepted(&net) < accepted && now() < until;) {
        size_t before = p.replies;
        peer_send(&p, 7, READ, ROW);
        near_works();
        if (!run_until(&p, &p.replies, before + 1, 20000))
            fail_msg("no answer");
        assert_null(strstr(p.reply, "Ada"));
        mcp_loop_step(loop, 5);
        asked++;
    }
    assert_true(proxy_accepted(&net) >= accepted);
    return asked;
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

/* During the outage, the provider reconnects with growing pauses, and not for each request. */
static void test_storm(void **state)
{
    (void)state;
    open_both("sslmode=disable", (mcp_postgres_options){.timeout_ms = 300});
    for (trouble what = 0; what < TROUBLES; what++) {
        works_again();
        size_t before = proxy_accepted(&net);
        begin_trouble(what);
        size_t asked = ask_until_accepted(before + (what == SLAMS ? 6 : 4));
        assert_true(what != SLAMS || asked > 20);
        proxy_freeze(&net, false);
    }
    works_again();
    close_both();
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
        char words[100];
        snprintf(words, sizeof(words), "%s connect_timeout=60", phases[i].words);
        open_both(words, (mcp_postgres_options){.timeout_ms = 60000});
        if (phases[i].begun)
            works_again();
        set_trap(&phases[i]);
        for (int k = 0; k < 8; k++)
            peer_send(&p, 70 + k, k % 2 ? phases[i].method : CALL,
                      k % 2 ? phases[i].params : SQL("SELECT 1"));
        peer_send(&p, 90, "subscriptions/listen",
                  "\"notifications\":{\"resourcesListChanged\":true}");
        for (int k = 0; k < 200 && !proxy_is_frozen(&net); k++)
            mcp_loop_step(loop, 10);
        mcp_loop_step(loop, 10);
        close_both();
        proxy_freeze(&net, false);
    }
}

/* ---- subscriptions --------------------------------------------------------------------------- */

static void settle(int64_t ms)
{
    size_t never = 0;
    run_until(&p, &never, 1, ms);
}

/* Missed changes are announced once, whether the connection survived or not. Later changes are
 * announced as before. */
static void test_subscriptions(void **state)
{
    (void)state;
    open_both("sslmode=disable", (mcp_postgres_options){.timeout_ms = 1500, .poll_ms = 100});
    peer_send(&p, 5, "subscriptions/listen",
              "\"notifications\":{\"resourceSubscriptions\":["
              "\"postgres://shop/public/sale/row/1\"]}");
    settle(500);
    for (int lost = 0; lost < 2; lost++) {
        size_t accepted = proxy_accepted(&net);
        p.updates = 0;
        proxy_freeze(&net, true);
        for (int i = 0; i < 1 + 2 * lost; i++)
            run_sql("UPDATE sale SET total = total + 1 WHERE id = 1");
        for (int i = 0; lost && i < 600 && proxy_accepted(&net) == accepted; i++)
            settle(50);
        assert_true(!lost || proxy_accepted(&net) > accepted);
        near_works();
        assert_int_equal(p.updates, 0);
        proxy_freeze(&net, false);
        assert_true(run_until(&p, &p.updates, 1, 20000));
        settle(500);
        /* On a busy machine, a statement may have met its time limit, and its connection was replaced
         * too. That may announce the change again. */
        size_t again = proxy_accepted(&net) - accepted - (size_t)lost;
        assert_in_range(p.updates, 1, 1 + again);
        size_t so_far = p.updates;
        run_sql("UPDATE sale SET total = 12 WHERE id = 1");
        assert_true(run_until(&p, &p.updates, so_far + 1, 20000));
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
