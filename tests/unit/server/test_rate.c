/* The rate limit of a caller: the burst, the refill over time, which peers count as one caller, and
 * that many callers use bounded memory.
 */
#include "rig.h"

static rig r;

static void begin(mcp_server_options *o)
{
    r = (rig){0};
    assert_int_equal(rig_open(&r, o, rig_ok), MCP_OK);
}

static mcp_channel *peer(const char *principal, const char *caller)
{
    mcp_channel *channel = NULL;
    assert_int_equal(rig_connect(&r, principal, caller, &channel), MCP_OK);
    return channel;
}

static int complete(mcp_channel *channel)
{
    return rig_say(&r, channel,
                   "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"completion/complete\",\"params\":{"
                   "\"ref\":{\"type\":\"ref/prompt\",\"name\":\"p\"},"
                   "\"argument\":{\"name\":\"a\",\"value\":\"\"}," RIG_META "}}");
}

/* Makes n calls and returns how many succeed. */
static int calls(mcp_channel *channel, int n)
{
    int good = 0;
    for (int i = 0; i < n; i++) {
        rig_call_tool(&r, channel, 1, "t");
        good += strstr(rig_sent(&r), "\"result\"") != NULL;
    }
    return good;
}

static int completions(mcp_channel *channel, int n)
{
    int good = 0;
    for (int i = 0; i < n; i++) {
        complete(channel);
        good += strstr(rig_sent(&r), "\"result\"") != NULL;
    }
    return good;
}

static void test_burst_and_refill(void **state)
{
    (void)state;
    begin(&(mcp_server_options){.calls_per_second = 4,
                                .calls_burst = 3,
                                .completions_per_second = 1,
                                .completions_burst = 2});
    mcp_channel *c = peer("p", NULL);
    assert_int_equal(calls(c, 10), 3);
    rig_call_tool(&r, c, 1, "t");
    assert_has(rig_sent(&r), "\"error\":{\"code\":-31429,\"message\":\"too many tool calls: one "
                             "caller may make 4 a second (calls_per_second); try again in 250 "
                             "ms\",\"data\":{\"retryAfterMs\":250}}");
    r.now += 100;
    rig_call_tool(&r, c, 1, "t");
    assert_has(rig_sent(&r), "{\"retryAfterMs\":150}");
    r.now += 150; /* rejected calls are not counted */
    assert_int_equal(calls(c, 10), 1);
    r.now += 500;
    assert_int_equal(calls(c, 10), 2);
    r.now += 1000000;
    assert_int_equal(calls(c, 10), 3);
    assert_int_equal(completions(c, 5), 2);
    complete(c);
    assert_has(rig_sent(&r), "too many completions: one caller may make 1 a second ("
                             "completions_per_second)");
    /* Nothing else is limited. */
    for (int i = 0; i < 20; i++) {
        rig_say(&r, c,
                "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{" RIG_META
                "}}");
        assert_has(rig_sent(&r), "\"result\"");
    }
    mcp_channel_free(c);
    rig_close(&r);
}

static void test_who_is_one_caller(void **state)
{
    static const struct {
        const char *principal, *caller;
        int left; /* how many of five calls succeed after the previous ones */
    } cases[] = {
        {"ann", NULL, 5}, {"bob", NULL, 5},      {"ann", "10.0.0.1", 0}, {NULL, NULL, 5},
        {NULL, NULL, 0},  {NULL, "10.0.0.1", 5}, {NULL, "10.0.0.2", 5},  {NULL, "10.0.0.1", 0},
        {NULL, "ann", 5}, {"10.0.0.1", NULL, 5}, {"", NULL, 5},          {NULL, "", 5},
        {"bob", "x", 0},  {"", "10.0.0.9", 0},
    };
    (void)state;
    begin(&(mcp_server_options){.calls_per_second = 1, .calls_burst = 5});
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        mcp_channel *c = peer(cases[i].principal, cases[i].caller);
        if (calls(c, 10) != cases[i].left)
            fail_msg("case %zu", i);
        mcp_channel_free(c);
    }
    rig_close(&r);
}

static void test_defaults(void **state)
{
    (void)state;
    begin(&(mcp_server_options){0});
    mcp_channel *c = peer(NULL, NULL);
    assert_int_equal(calls(c, 2100), 2000);
    assert_int_equal(completions(c, 1100), 1000);
    r.now += 1000;
    assert_int_equal(calls(c, 2100), 500);
    assert_int_equal(completions(c, 1100), 200);
    mcp_channel_free(c);
    rig_close(&r);
    begin(&(mcp_server_options){.no_rate_limits = true, .calls_burst = 1});
    c = peer(NULL, NULL);
    assert_int_equal(calls(c, 5000), 5000);
    mcp_channel_free(c);
    rig_close(&r);
}

static mcp_channel *local_peer(void)
{
    r.local = true;
    return peer("p", NULL);
}

/* Callers on the same machine only have limits that the program set. */
static void test_local(void **state)
{
    (void)state;
    begin(&(mcp_server_options){0});
    mcp_channel *c = local_peer();
    assert_int_equal(calls(c, 5000), 5000);
    assert_int_equal(completions(c, 2000), 2000);
    mcp_channel_free(c);
    rig_close(&r);
    begin(&(mcp_server_options){.calls_per_second = 3, .completions_burst = 2});
    c = local_peer();
    assert_int_equal(calls(c, 20), 12); /* four seconds' worth */
    assert_int_equal(completions(c, 20), 2);
    mcp_channel_free(c);
    rig_close(&r);
}

static const char *option_name(const char *member, void *user)
{
    (void)user;
    return strcmp(member, "calls_per_second") == 0 ? "--calls" : NULL;
}

static void test_names(void **state)
{
    (void)state;
    begin(&(mcp_server_options){
        .calls_burst = 1, .completions_burst = 1, .option_name = option_name});
    mcp_channel *c = peer(NULL, NULL);
    assert_int_equal(calls(c, 1), 1);
    rig_call_tool(&r, c, 1, "t");
    assert_has(rig_sent(&r), "500 a second (--calls); try again");
    assert_int_equal(completions(c, 1), 1);
    complete(c);
    assert_has(rig_sent(&r), "(completions_per_second); try again");
    mcp_channel_free(c);
    rig_close(&r);
}

/* Requests about tasks have a separate limit, whether the task exists or not. */
static void test_polls(void **state)
{
    static const char *const methods[] = {"tasks/get", "tasks/result", "tasks/list"};
    (void)state;
    begin(&(mcp_server_options){.polls_per_second = 1, .polls_burst = 3, .calls_burst = 1});
    assert_int_equal(mcp_server_set_tasks(
                         r.server, &(mcp_task_settings){.size = sizeof(mcp_task_settings)}, NULL),
                     MCP_OK);
    mcp_channel *c = peer("p", NULL);
    rig_say(
        &r, c,
        "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"
        "\"2025-11-25\",\"capabilities\":{},\"clientInfo\":{\"name\":\"c\",\"version\":\"1\"}}}");
    assert_has(rig_sent(&r), "\"result\"");
    rig_say(&r, c, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
    size_t limited = 0;
    for (int i = 0; i < 6; i++) {
        char message[256];
        snprintf(message, sizeof(message),
                 "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"%s\",\"params\":{\"taskId\":\"t\"}}",
                 i + 1, methods[i % 3]);
        rig_say(&r, c, message);
        limited += strstr(rig_sent(&r), "too many requests about tasks: one caller may make 1 a "
                                        "second (polls_per_second)") != NULL;
        assert_int_equal(limited, i < 3 ? 0 : i - 2);
    }
    mcp_channel_free(c);
    rig_close(&r);
}

/* Very high rates, and clocks at the ends of their range. */
static void test_extremes(void **state)
{
    (void)state;
    begin(&(mcp_server_options){.calls_per_second = UINT32_MAX, .calls_burst = UINT32_MAX});
    mcp_channel *c = peer("p", NULL);
    static const int64_t times[] = {INT64_MIN, -5, 0, INT64_MAX / 2, INT64_MAX};
    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
        r.now = times[i];
        assert_int_equal(calls(c, 10), 10);
    }
    mcp_channel_free(c);
    rig_close(&r);
}

static const mcp_rate *own;

static int take_own(rig *all, mcp_request *req)
{
    (void)all;
    return mcp_request_take(req, own);
}

/* A limit of the program's own: each caller has a bucket for each name, also a local one. */
static void test_own(void **state)
{
    (void)state;
    static const mcp_rate bad[] = {{.size = sizeof(bad[0]), .per_minute = 1},
                                   {.size = sizeof(bad[0]), .name = "n"}};
    r = (rig){0};
    assert_int_equal(rig_open(&r, &(mcp_server_options){.no_rate_limits = true}, take_own), MCP_OK);
    own = MCP_OPTIONS(mcp_rate, .name = "two", .per_minute = 2, .burst = 3);
    mcp_channel *ann = peer("ann", NULL), *bob = local_peer(), *nobody = peer(NULL, NULL);
    assert_int_equal(calls(ann, 10), 3);
    assert_int_equal(calls(bob, 10), 3);
    assert_int_equal(calls(nobody, 10), 3);
    rig_call_tool(&r, ann, 1, "t");
    assert_has(rig_sent(&r),
               "\"error\":{\"code\":-31429,\"message\":\"too many requests: one caller "
               "may make 2 a minute (two); try again in 30000 ms\",\"data\":{"
               "\"retryAfterMs\":30000}}");
    own = MCP_OPTIONS(mcp_rate, .name = "other", .per_minute = 5);
    assert_int_equal(calls(ann, 10), 5);
    own = MCP_OPTIONS(mcp_rate, .name = "two", .per_minute = 2, .burst = 3);
    r.now += 30000;
    assert_int_equal(calls(ann, 10), 1);
    own = MCP_OPTIONS(mcp_rate, .name = "fast", .per_minute = UINT32_MAX, .burst = UINT32_MAX);
    assert_int_equal(calls(ann, 100), 100);
    for (size_t i = 0; i < 2; i++) {
        own = &bad[i];
        assert_int_equal(calls(ann, 1), 0);
    }
    mcp_channel_free(ann);
    mcp_channel_free(bob);
    mcp_channel_free(nobody);
    rig_close(&r);
}

static void test_memory_is_bounded(void **state)
{
    (void)state;
    begin(&(mcp_server_options){.calls_per_second = 1, .calls_burst = 1});
    size_t live = 0;
    for (int i = 0; i < 5000; i++) {
        char name[32];
        snprintf(name, sizeof(name), "caller %d", i);
        mcp_channel *c = peer(name, NULL);
        assert_int_equal(calls(c, 2), 1);
        mcp_channel_free(c);
        if (i == 1100)
            live = r.memory.live;
    }
    assert_int_equal(r.memory.live, live);
    /* A caller seen recently is still known, one seen long ago is not. */
    mcp_channel *c = peer("caller 4999", NULL);
    assert_int_equal(calls(c, 1), 0);
    mcp_channel_free(c);
    c = peer("caller 3000", NULL);
    assert_int_equal(calls(c, 1), 1);
    mcp_channel_free(c);
    rig_close(&r);
}

static void test_no_memory(void **state)
{
    (void)state;
    for (size_t n = 1;; n++) {
        mcp_channel *c = NULL;
        r = (rig){.memory.fail_at = n};
        int rc =
            rig_open(&r, &(mcp_server_options){.calls_burst = 1, .calls_per_second = 1}, rig_ok);
        if (rc == MCP_OK)
            rc = rig_connect(&r, "p", NULL, &c);
        assert_true(rc == MCP_OK || rc == MCP_ENOMEM);
        int good = rc == MCP_OK ? calls(c, 2) : 0;
        assert_in_range(good, 0, 1);
        mcp_channel_free(c);
        rig_close(&r);
        if (r.memory.calls < n)
            break;
    }
}

/* All callers have one bucket for such a name, and another one of that name each. */
static void test_together(void **state)
{
    (void)state;
    r = (rig){0};
    assert_int_equal(rig_open(&r, &(mcp_server_options){0}, take_own), MCP_OK);
    own = MCP_OPTIONS(mcp_rate, .name = "n", .per_minute = 2, .burst = 5, .together = true);
    mcp_channel *ann = peer("ann", NULL), *bob = local_peer(), *nobody = peer(NULL, NULL);
    assert_int_equal(calls(ann, 3), 3);
    assert_int_equal(calls(bob, 10), 2);
    assert_int_equal(calls(nobody, 10), 0);
    rig_call_tool(&r, ann, 1, "t");
    assert_has(rig_sent(&r), "too many requests: all callers together may make 2 a minute (n)");
    own = MCP_OPTIONS(mcp_rate, .name = "n", .per_minute = 2, .burst = 5);
    assert_int_equal(calls(ann, 10), 5);
    assert_int_equal(calls(nobody, 10), 5);
    own = MCP_OPTIONS(mcp_rate, .name = "n", .per_minute = 2, .burst = 5, .together = true);
    assert_int_equal(calls(nobody, 1), 0);
    r.now += 30000;
    assert_int_equal(calls(bob, 10), 1);
    mcp_channel_free(ann);
    mcp_channel_free(bob);
    mcp_channel_free(nobody);
    rig_close(&r);
}

static char asked[400];

static int note_asked(mcp_request *req, mcp_item item, mcp_str name, void *user)
{
    size_t len = strlen(asked);
    snprintf(asked + len, sizeof(asked) - len, "%d %.*s;", (int)item, (int)name.len, name.ptr);
    return user ? mcp_request_take(req, user) : MCP_OK;
}

/* The function of the program is asked before calls and prompts, whether or not there is such a thing. */
static void test_hook(void **state)
{
    (void)state;
    static const char *const requests[] = {
        "tools/call\",\"params\":{\"name\":\"t\"", "tools/call\",\"params\":{\"name\":\"none\"",
        "tools/call\",\"params\":{\"x\":1",        "prompts/get\",\"params\":{\"name\":\"none\"",
        "tools/list\",\"params\":{\"x\":1",        "ping\",\"params\":{\"x\":1",
        "server/discover\",\"params\":{\"x\":1",
    };
    static mcp_rate none = {.size = sizeof(none), .name = "n", .per_minute = 1};
    mcp_channel *inner = NULL;
    char message[400];
    begin(&(mcp_server_options){0});
    mcp_channel *c = peer("p", NULL);
    assert_int_equal(mcp_server_connect(r.server,
                                        MCP_OPTIONS(mcp_channel_options, .send = rig_send,
                                                    .user = &r, .inner = true),
                                        &inner, NULL),
                     MCP_OK);
    for (int round = 0; round < 3; round++) {
        *asked = '\0';
        mcp_server_set_rates_hook(r.server, round < 2 ? note_asked : NULL,
                                  round == 1 ? &none : NULL);
        for (size_t i = 0; i < sizeof(requests) / sizeof(*requests); i++) {
            snprintf(message, sizeof(message),
                     "{\"jsonrpc\":\"2.0\",\"id\":%zu,\"method\":\"%s,\"_meta\":{"
                     "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
                     "\"io.modelcontextprotocol/clientCapabilities\":{}}}}",
                     i + 1, requests[i]);
            rig_say(&r, inner, message);
            rig_say(&r, c, message);
            /* the first takes the unit that there is */
            bool limited = strstr(rig_sent(&r), "-31429") != NULL;
            assert_int_equal(limited, round == 1 && (i == 1 || i == 3));
        }
        assert_string_equal(asked, round < 2 ? "3 t;3 none;2 none;" : "");
    }
    mcp_channel_free(inner);
    mcp_channel_free(c);
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_local),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_polls),
        cmocka_unit_test(test_burst_and_refill),
        cmocka_unit_test(test_who_is_one_caller),
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_extremes),
        cmocka_unit_test(test_own),
        cmocka_unit_test(test_together),
        cmocka_unit_test(test_hook),
        cmocka_unit_test(test_memory_is_bounded),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
