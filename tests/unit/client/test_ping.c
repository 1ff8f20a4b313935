/* The client's pings: only to legacy servers, and only if enabled; and the effect of a missing
 * answer on the session. */
#include "fake_server.h"

#define LEGACY                                                                            \
    {"server/discover", ERROR("-32601", ",\"message\":\"unknown\"")},                     \
    {                                                                                     \
        "initialize",                                                                     \
            RESULT("{\"protocolVersion\":\"2025-11-25\"," SERVER ",\"capabilities\":{}}") \
    }
#define PINGED               \
    {                        \
        "ping", RESULT("{}") \
    }

static size_t pings_of(const fake *f)
{
    size_t n = 0;
    for (size_t i = 0; i < f->n_sent; i++)
        n += mcp_str_eq(fake_method(f->sent[i]), MCP_STR("ping"));
    return n;
}

static void run_for(fake *f, int64_t ms)
{
    f->until = f->now + ms + 1;
    fake_run(f);
    f->now = f->until - 1;
}

static size_t lost;
static char lost_why[256];

static void on_lost(mcp_client *client, const char *why, void *user)
{
    (void)client, (void)user;
    lost++;
    snprintf(lost_why, sizeof(lost_why), "%s", why);
}

static void open_pinging(fake *f, const fake_reply *replies, bool http)
{
    lost = 0;
    assert_int_equal(fake_open_as(f, replies,
                                  MCP_OPTIONS(mcp_client_options, .ping_ms = 1000,
                                              .ping_timeout_ms = 300, .lost = on_lost),
                                  http),
                     MCP_OK);
    f->until = f->now + 1;
    assert_int_equal(mcp_client_start(f->client, fake_done, f), MCP_OK);
    fake_run(f);
    assert_int_equal(f->rc, MCP_OK);
    fake_reset(f);
}

static void test_who_is_asked(void **state)
{
    (void)state;
    static const fake_reply modern[FAKE_REPLIES] = {
        {"server/discover", RESULT("{\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":{}}")},
        PINGED};
    static const fake_reply legacy[FAKE_REPLIES] = {LEGACY, PINGED};
    static const fake_reply refusing[FAKE_REPLIES] = {
        LEGACY, {"ping", ERROR("-32601", ",\"message\":\"unknown\"")}};
    fake f;
    open_pinging(&f, modern, false);
    run_for(&f, 3500);
    assert_int_equal(pings_of(&f), 0);
    fake_close(&f);
    open_pinging(&f, legacy, false);
    run_for(&f, 3500);
    assert_int_equal(pings_of(&f), 3);
    assert_contains(fake_last(&f), "\"method\":\"ping\"");
    fake_close(&f);
    open_pinging(&f, refusing, false); /* the server is alive */
    run_for(&f, 3500);
    assert_int_equal(pings_of(&f), 3);
    assert_int_equal(lost, 0);
    fake_close(&f);
    fake_ready(&f, legacy, MCP_OPTIONS(mcp_client_options, .name = "without"), false);
    run_for(&f, 1000000);
    assert_int_equal(pings_of(&f), 0);
    fake_close(&f);
}

static void on_state(mcp_client *client, mcp_subscription *subscription,
                     mcp_subscription_state state, const mcp_error *error, void *user)
{
    (void)client, (void)subscription, (void)error;
    *(mcp_subscription_state *)user = state;
}

static void on_changed(mcp_client *client, mcp_subscription *subscription, mcp_change change,
                       mcp_str uri, void *user)
{
    (void)client, (void)subscription, (void)change, (void)uri, (void)user;
}

static void test_lost(void **state)
{
    (void)state;
    static const fake_reply replies[FAKE_REPLIES] = {
        LEGACY, PINGED, {"ping", NULL}, {"tools/call", NULL}};
    mcp_subscription_state told = MCP_SUBSCRIPTION_REFUSED;
    mcp_subscription *s;
    fake f;
    open_pinging(&f, replies, false);
    mcp_client_subscribe(f.client,
                         MCP_OPTIONS(mcp_subscription_options, .tools = true, .state = on_state,
                                     .changed = on_changed, .user = &told),
                         &s);
    run_for(&f, 2299);
    mcp_client_call_tool(f.client, "t", NULL,
                         MCP_OPTIONS(mcp_call_options, .done = fake_done, .user = &f), NULL);
    run_for(&f, 0);
    assert_int_equal(lost, 0);
    assert_int_equal(pings_of(&f), 2);
    run_for(&f, 1);
    assert_int_equal(lost, 1);
    assert_string_equal(lost_why, "the server did not answer a ping within 0.300 s");
    assert_int_equal(f.done, 1);
    assert_int_equal(f.rc, MCP_ECLOSED);
    assert_string_equal(f.text, lost_why);
    assert_int_equal(told, MCP_SUBSCRIPTION_LOST);
    assert_int_equal(mcp_client_call(f.client, "tools/list", NULL, NULL, NULL), MCP_ESTATE);
    size_t before = f.n_sent;
    run_for(&f, 100000); /* quiet from now on, */
    assert_int_equal(f.n_sent, before);
    fake_reset(&f); /* until it is started again */
    assert_int_equal(mcp_client_start(f.client, fake_done, &f), MCP_OK);
    run_for(&f, 1);
    assert_int_equal(f.rc, MCP_OK);
    run_for(&f, 1000);
    assert_int_equal(pings_of(&f), 3);
    fake_close(&f);
}

/* A delay of the program itself does not count against the server. */
static void test_late(void **state)
{
    (void)state;
    static const fake_reply replies[FAKE_REPLIES] = {LEGACY, {"ping", NULL}, PINGED};
    fake f;
    open_pinging(&f, replies, false);
    run_for(&f, 1000);
    assert_int_equal(pings_of(&f), 1);
    f.now += 3600 * 1000;
    run_for(&f, 100);
    assert_int_equal(pings_of(&f), 2);
    assert_int_equal(lost, 0);
    run_for(&f, 1000);
    assert_int_equal(pings_of(&f), 3);
    fake_close(&f);
}

/* Over HTTP a ping may fail immediately, because the session ended or the server is temporarily
 * unreachable. */
static void test_exchanges(void **state)
{
    (void)state;
    static const fake_reply gone[FAKE_REPLIES] = {
        LEGACY,
        {"ping", "!404s"},
        {"initialize",
         RESULT("{\"protocolVersion\":\"2025-11-25\"," SERVER ",\"capabilities\":{}}")},
        PINGED};
    static const fake_reply away[FAKE_REPLIES] = {LEGACY, {"ping", "!000"}, PINGED};
    static const fake_reply silent[FAKE_REPLIES] = {LEGACY, {"ping", NULL}};
    static const fake_reply never[FAKE_REPLIES] = {LEGACY, {"ping", "!000"}};
    fake f;
    open_pinging(&f, gone, true);
    run_for(&f, 2500);
    assert_string_equal(f.methods, "ping initialize notifications/initialized ping ");
    assert_int_equal(lost, 0);
    fake_close(&f);
    open_pinging(&f, away, true);
    run_for(&f, 1400);
    assert_int_equal(pings_of(&f), 2);
    assert_int_equal(lost, 0);
    fake_close(&f);
    open_pinging(&f, never, true);
    run_for(&f, 1400);
    assert_int_equal(lost, 1);
    fake_close(&f);
    open_pinging(&f, silent, true);
    run_for(&f, 1400);
    assert_int_equal(lost, 1);
    assert_int_not_equal(strlen(f.abandoned), 0);
    fake_close(&f);
}

static void on_question(mcp_client *client, mcp_question *question, void *user)
{
    (void)client;
    *(mcp_question **)user = question;
}

/* A server that waits for the user's answer may delay everything else. */
static void test_open_question(void **state)
{
    (void)state;
    static const fake_reply replies[FAKE_REPLIES] = {LEGACY, {"ping", NULL}};
    mcp_question *q = NULL;
    fake f;
    lost = 0;
    assert_int_equal(
        fake_open(&f, replies,
                  MCP_OPTIONS(mcp_client_options, .ping_ms = 1000, .ping_timeout_ms = 300,
                              .lost = on_lost, .elicit_form = on_question, .user = &q)),
        MCP_OK);
    assert_int_equal(mcp_client_start(f.client, NULL, NULL), MCP_OK);
    run_for(&f, 1);
    fake_deliver(&f,
                 "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"elicitation/create\",\"params\":{"
                 "\"message\":\"m\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{}}}}",
                 "", 0);
    assert_non_null(q);
    run_for(&f, 10000);
    assert_int_equal(lost, 0);
    assert_int_equal(mcp_question_decline(q), MCP_OK);
    run_for(&f, 2000);
    assert_int_equal(lost, 1);
    fake_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_is_asked),  cmocka_unit_test(test_lost),
        cmocka_unit_test(test_late),          cmocka_unit_test(test_exchanges),
        cmocka_unit_test(test_open_question),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
