/* How a client detects era and revision: one line for each behaviour of a server. */
#include "fake_server.h"

#define DISCOVERED                                                                            \
    RESULT(                                                                                   \
        "{\"resultType\":\"complete\",\"supportedVersions\":[\"2099-01-01\",\"2026-07-28\"]," \
        "\"capabilities\":{\"resources\":{}},\"instructions\":\"be kind\",\"ttlMs\":1,"       \
        "\"cacheScope\":\"public\","                                                          \
        "\"_meta\":{\"io.modelcontextprotocol/serverInfo\":{\"name\":\"s\",\"version\":\"2\"}}}")
#define INITIALIZED(version)                                                           \
    RESULT("{\"protocolVersion\":\"" version "\",\"capabilities\":{\"resources\":{}}," \
           "\"serverInfo\":{\"name\":\"s\",\"version\":\"2\"},\"instructions\":\"be kind\"}")
#define UNSUPPORTED(list) \
    ERROR("-32022", ",\"message\":\"no\",\"data\":{\"supported\":" list ",\"requested\":\"x\"}")
#define LATE(answer) "@1" answer /* a late answer to the first request */
#define HANDSHAKE    "server/discover initialize notifications/initialized "

static const struct line {
    const char *name;
    const char *only;
    fake_reply replies[FAKE_REPLIES];
    int rc;
    const char *expected; /* the revision, or a part of the error's text */
    const char *methods;
} lines[] = {
    {"modern", NULL, {{"server/discover", DISCOVERED}}, MCP_OK, "2026-07-28", "server/discover "},
    {"modern, asked for",
     "2026-07-28",
     {{"server/discover", DISCOVERED}},
     MCP_OK,
     "2026-07-28",
     "server/discover "},
    {"refuses, then speaks what it supports",
     NULL,
     {{"server/discover", UNSUPPORTED("[\"2026-07-28\"]")}, {"server/discover", DISCOVERED}},
     MCP_OK,
     "2026-07-28",
     "server/discover server/discover "},
    {"refuses for ever",
     NULL,
     {{"server/discover", UNSUPPORTED("[\"2026-07-28\"]")}},
     MCP_EPROTOCOL,
     "rejects revision 2026-07-28",
     "server/discover server/discover "},
    {"refuses, nothing in common",
     NULL,
     {{"server/discover", UNSUPPORTED("[\"2031-01-01\",7]")}},
     MCP_EPROTOCOL,
     "2031-01-01",
     "server/discover "},
    {"refuses, an older one in common",
     NULL,
     {{"server/discover", UNSUPPORTED("[\"2031-01-01\",7,\"2025-11-25\"]")},
      {"initialize", INITIALIZED("2025-11-25")}},
     MCP_OK,
     "2025-11-25",
     "server/discover initialize notifications/initialized "},
    {"refuses without a list",
     NULL,
     {{"server/discover", ERROR("-32022", ",\"message\":\"no\"")}},
     MCP_EPROTOCOL,
     "it lists: none",
     "server/discover "},
    {"refuses with a list that is none",
     NULL,
     {{"server/discover", UNSUPPORTED("\"2026-07-28\"")}},
     MCP_EPROTOCOL,
     "it lists: none",
     "server/discover "},
    {"another modern error",
     NULL,
     {{"server/discover", ERROR("-32021", ",\"message\":\"want it\"")}},
     MCP_EREMOTE,
     "want it",
     "server/discover "},
    {"no common version",
     NULL,
     {{"server/discover", RESULT("{\"supportedVersions\":[\"2031-01-01\"]}")}},
     MCP_EPROTOCOL,
     "2031-01-01",
     "server/discover "},
    {"versions of a wrong type",
     NULL,
     {{"server/discover", RESULT("{\"capabilities\":{},\"supportedVersions\":{}}")}},
     MCP_EPROTOCOL,
     "/result/supportedVersions: expected array, got object",
     "server/discover "},
    {"capabilities of a wrong type",
     NULL,
     {{"server/discover", RESULT("{\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":[]}")}},
     MCP_EPROTOCOL,
     "/result/capabilities: expected object, got array",
     "server/discover "},
    {"unknown resultType",
     NULL,
     {{"server/discover",
       RESULT("{\"resultType\":\"odd\",\"supportedVersions\":[\"2026-07-28\"]}")}},
     MCP_EPROTOCOL,
     "resultType \"odd\"",
     "server/discover "},

    {"method unknown",
     NULL,
     {{"server/discover", ERROR("-32601", ",\"message\":\"?\"")},
      {"initialize", INITIALIZED("2025-11-25")}},
     MCP_OK,
     "2025-11-25",
     HANDSHAKE},
    {"any other error",
     NULL,
     {{"server/discover", ERROR("-1", "")}, {"initialize", INITIALIZED("2025-06-18")}},
     MCP_OK,
     "2025-06-18",
     HANDSHAKE},
    {"an error without an id",
     NULL,
     {{"server/discover",
       "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":\"what?\"}}"},
      {"initialize",
       "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32600,\"message\":\"and what?\"}}"}},
     MCP_EREMOTE,
     "and what?",
     "server/discover initialize "},
    {"silence", NULL, {{"initialize", INITIALIZED("2025-03-26")}}, MCP_OK, "2025-03-26", HANDSHAKE},
    {"an object, but no DiscoverResult",
     NULL,
     {{"server/discover", RESULT("{}")}, {"initialize", INITIALIZED("2024-11-05")}},
     MCP_OK,
     "2024-11-05",
     HANDSHAKE},
    {"an answer that is none",
     NULL,
     {{"server/discover", "{\"jsonrpc\":\"2.0\",\"id\":$}"},
      {"initialize", INITIALIZED("2025-11-25")}},
     MCP_OK,
     "2025-11-25",
     HANDSHAKE},
    {"legacy, asked for",
     "2025-06-18",
     {{"initialize", INITIALIZED("2025-06-18")}},
     MCP_OK,
     "2025-06-18",
     "initialize notifications/initialized "},
    {"legacy, asked for, another answered",
     "2025-06-18",
     {{"initialize", INITIALIZED("2024-11-05")}},
     MCP_EPROTOCOL,
     "2024-11-05 instead of the requested 2025-06-18",
     "initialize "},
    {"modern asked for, legacy server",
     "2026-07-28",
     {{"server/discover", ERROR("-32601", ",\"message\":\"unknown\"")}},
     MCP_EREMOTE,
     "unknown",
     "server/discover "},
    {"modern asked for, silence",
     "2026-07-28",
     {{NULL, NULL}},
     MCP_ETIMEOUT,
     "60.000 s",
     "server/discover "},
    {"unknown version",
     NULL,
     {{"server/discover", ERROR("-32601", "")}, {"initialize", INITIALIZED("1999-01-01")}},
     MCP_EPROTOCOL,
     "1999-01-01",
     "server/discover initialize "},
    {"modern version in initialize",
     NULL,
     {{"server/discover", ERROR("-32601", "")}, {"initialize", INITIALIZED("2026-07-28")}},
     MCP_EPROTOCOL,
     "does not support",
     "server/discover initialize "},
    {"version of a wrong type",
     NULL,
     {{"server/discover", ERROR("-32601", "")}, {"initialize", RESULT("{\"protocolVersion\":3}")}},
     MCP_EPROTOCOL,
     "is integer, not string",
     "server/discover initialize "},
    {"no version",
     NULL,
     {{"server/discover", ERROR("-32601", "")}, {"initialize", RESULT("{}")}},
     MCP_EPROTOCOL,
     "is nothing, not string",
     "server/discover initialize "},
    {"a result that is no object",
     NULL,
     {{"server/discover", ERROR("-32601", "")}, {"initialize", RESULT("[]")}},
     MCP_EPROTOCOL,
     "array instead of an object",
     "server/discover initialize "},
    {"initialize refused",
     NULL,
     {{"server/discover", ERROR("-32601", "")},
      {"initialize", ERROR("-32600", ",\"message\":\"go away\"")}},
     MCP_EREMOTE,
     "go away",
     "server/discover initialize "},
    {"a modern server that starts slowly answers both at last",
     NULL,
     {{"initialize", LATE(DISCOVERED) "\n" ERROR("-32601", ",\"message\":\"what?\"")}},
     MCP_OK,
     "2026-07-28",
     "server/discover initialize "},
    {"the same, of another version",
     NULL,
     {{"server/discover", NULL},
      {"server/discover", DISCOVERED},
      {"initialize", LATE(UNSUPPORTED("[\"2026-07-28\"]")) "\n" ERROR("-32601", "")}},
     MCP_OK,
     "2026-07-28",
     "server/discover initialize server/discover "},
    {"a modern server that says what it speaks when it refuses initialize",
     NULL,
     {{"server/discover", NULL},
      {"server/discover", DISCOVERED},
      {"initialize", UNSUPPORTED("[\"2026-07-28\"]")}},
     MCP_OK,
     "2026-07-28",
     "server/discover initialize server/discover "},
    {"a legacy server that adds what modern ones list",
     NULL,
     {{"server/discover", ERROR("-32601", "")},
      {"initialize",
       RESULT("{\"supportedVersions\":[\"2026-07-28\"],\"protocolVersion\":\"2025-11-25\","
              "\"capabilities\":{\"resources\":{}}," SERVER ","
              "\"instructions\":\"be kind\"}")}},
     MCP_OK,
     "2025-11-25",
     HANDSHAKE},
    {"a legacy server that starts slowly answers both at last",
     NULL,
     {{"initialize", LATE(ERROR("-32601", "")) "\n" INITIALIZED("2025-03-26")}},
     MCP_OK,
     "2025-03-26",
     HANDSHAKE},
    {"one that answers everything with an object",
     NULL,
     {{"initialize", LATE(RESULT("{}")) "\n" INITIALIZED("2025-03-26")}},
     MCP_OK,
     "2025-03-26",
     HANDSHAKE},
    {"silence for ever",
     NULL,
     {{NULL, NULL}},
     MCP_ETIMEOUT,
     "60.000 s",
     "server/discover initialize "},
};

static void check_line(const struct line *l)
{
    fake f;
    assert_int_equal(
        fake_open(&f, l->replies, MCP_OPTIONS(mcp_client_options, .revision = l->only)), MCP_OK);
    assert_int_equal(mcp_client_start(f.client, fake_done, &f), MCP_OK);
    assert_int_equal(mcp_client_start(f.client, fake_done, &f), MCP_ESTATE);
    assert_int_equal(f.n_sent, 0); /* nothing is sent from within the call */
    assert_int_equal(f.wakes, 1);
    fake_run(&f);
    assert_int_equal(f.done, 1);
    assert_int_equal(f.rc, l->rc);
    assert_string_equal(f.methods, l->methods);
    const char *revision = mcp_client_revision(f.client);
    if (l->rc == MCP_OK) {
        assert_non_null(revision);
        assert_string_equal(revision, l->expected);
        assert_int_equal(mcp_client_is_modern(f.client), strcmp(revision, "2026-07-28") == 0);
        assert_true(mcp_str_eq(mcp_client_instructions(f.client), MCP_STR("be kind")));
        const mcp_json *info = mcp_client_server_info(f.client);
        assert_true(mcp_str_eq(mcp_json_string(mcp_json_get(info, "name")), MCP_STR("s")));
        assert_non_null(mcp_json_get(mcp_client_server_capabilities(f.client), "resources"));
        assert_int_equal(mcp_client_start(f.client, fake_done, &f), MCP_ESTATE);
    } else {
        assert_null(revision);
        assert_contains(f.text, l->expected);
        assert_int_equal(mcp_client_call(f.client, "x", NULL, fake_done, &f), MCP_ESTATE);
    }
    fake_close(&f);
    assert_int_equal(f.done, 1);
}

static void test_eras(void **state)
{
    (void)state;
    for (size_t i = 0; i < MCP__COUNT(lines); i++) {
        print_message("# %s\n", lines[i].name);
        check_line(&lines[i]);
    }
}

static void test_texts(void **state)
{
    (void)state;
    static const fake_reply replies[FAKE_REPLIES] = {{"initialize", INITIALIZED("2025-06-18")}};
    fake f;
    fake_open(&f, replies, MCP_OPTIONS(mcp_client_options, .title = "T\"", .probe_ms = 50));
    mcp_client_start(f.client, fake_done, &f);
    int64_t before = f.now;
    fake_run(&f);
    assert_int_equal(f.now, before + 50);
    assert_string_equal(f.sent[0],
                        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server/discover\",\"params\":"
                        "{\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
                        "\"io.modelcontextprotocol/clientInfo\":{\"name\":\"tester\",\"version\":"
                        "\"1\",\"title\":\"T\\\"\"},"
                        "\"io.modelcontextprotocol/clientCapabilities\":{}}}}");
    assert_string_equal(f.sent[1],
                        "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"initialize\",\"params\":"
                        "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},"
                        "\"clientInfo\":{\"name\":\"tester\",\"version\":\"1\",\"title\":"
                        "\"T\\\"\"}}}");
    /* The late answer to the probe has no effect. */
    fake_deliver(&f, DISCOVERED, "1", 1);
    fake_run(&f);
    assert_int_equal(f.done, 1);
    assert_string_equal(mcp_client_revision(f.client), "2025-06-18");
    fake_close(&f);
}

/* The client information has only the members that the revision defines. */
static void test_info(void **state)
{
    (void)state;
    static const struct {
        const char *revision, *info;
    } cases[] = {
        {"2024-11-05", "\"clientInfo\":{\"name\":\"tester\",\"version\":\"1\"}}"},
        {"2025-03-26", "\"clientInfo\":{\"name\":\"tester\",\"version\":\"1\"}}"},
        {"2025-06-18", "\"clientInfo\":{\"name\":\"tester\",\"version\":\"1\",\"title\":\"T\"}}"},
        {"2025-11-25", "\"title\":\"T\",\"description\":\"D\"}}"},
    };
    for (size_t i = 0; i < MCP__COUNT(cases); i++) {
        fake f;
        fake_open(&f, NULL,
                  MCP_OPTIONS(mcp_client_options, .title = "T", .description = "D",
                              .revision = cases[i].revision));
        mcp_client_start(f.client, fake_done, &f);
        fake_run(&f);
        assert_contains(f.sent[0], cases[i].info);
        fake_close(&f);
    }
}

static void test_options(void **state)
{
    (void)state;
    mcp_client *client = NULL;
    mcp_error error = {0};
    assert_int_equal(mcp_client_new(MCP_OPTIONS(mcp_client_options, .name = "a"), &client, &error),
                     MCP_EINVAL);
    assert_int_equal(mcp_client_new(MCP_OPTIONS(mcp_client_options, .name = "a", .version = "1",
                                                .revision = "2025-06-19"),
                                    &client, &error),
                     MCP_EINVAL);
    assert_contains(error.text, "2026-07-28, 2025-11-25, 2025-06-18, 2025-03-26, 2024-11-05");
    assert_int_equal(mcp_client_new(MCP_OPTIONS(mcp_client_options, .name = "\xff", .version = "1"),
                                    &client, &error),
                     MCP_EINVAL);
    assert_null(client);
}

static void test_waiting_calls(void **state)
{
    (void)state;
    static const fake_reply replies[FAKE_REPLIES] = {
        {"server/discover", DISCOVERED}, {"a", RESULT("{\"a\":1}")}, {"b", RESULT("{\"b\":1}")}};
    fake f;
    fake_open(&f, replies, MCP_OPTIONS(mcp_client_options, .probe_ms = 5));
    assert_int_equal(mcp_client_call(f.client, "a", NULL, fake_done, &f), MCP_OK);
    assert_int_equal(mcp_client_call(f.client, "b", NULL, fake_done, &f), MCP_OK);
    fake_run(&f);
    assert_int_equal(f.done, 2); /* the first call has started the client */
    assert_string_equal(f.methods, "server/discover a b ");
    assert_string_equal(f.result, "{\"b\":1}");
    fake_close(&f);

    static const fake_reply failing[FAKE_REPLIES] = {{"server/discover", UNSUPPORTED("[]")}};
    fake_open(&f, failing, MCP_OPTIONS(mcp_client_options, .probe_ms = 5));
    assert_int_equal(mcp_client_call(f.client, "a", NULL, fake_done, &f), MCP_OK);
    assert_int_equal(mcp_client_start(f.client, fake_done, &f), MCP_OK);
    assert_int_equal(mcp_client_call(f.client, "b", NULL, fake_done, &f), MCP_OK);
    fake_run(&f);
    assert_int_equal(f.done, 3);
    assert_int_equal(f.rc, MCP_EPROTOCOL);
    f.replies = replies; /* it may be tried again */
    assert_int_equal(mcp_client_start(f.client, fake_done, &f), MCP_OK);
    fake_run(&f);
    assert_int_equal(f.done, 4);
    assert_int_equal(f.rc, MCP_OK);
    fake_close(&f);
}

/* Detecting the era takes no longer than the time-out of a call. */
static void test_short_time(void **state)
{
    (void)state;
    static const fake_reply silent[FAKE_REPLIES] = {{"server/discover", NULL}};
    fake f;
    fake_open_http(&f, silent, MCP_OPTIONS(mcp_client_options, .timeout_ms = 40));
    int64_t begin = f.now;
    assert_int_equal(mcp_client_start(f.client, fake_done, &f), MCP_OK);
    fake_run(&f);
    assert_int_equal(f.done, 1);
    assert_int_equal(f.rc, MCP_ETIMEOUT);
    assert_in_range(f.now - begin, 40, 200);
    fake_close(&f);
}

/* The whole start takes no longer than the time-out of one call. */
static void test_one_time(void **state)
{
    (void)state;
    static const fake_reply silent[FAKE_REPLIES] = {{"server/discover", NULL}};
    fake f;
    fake_open(&f, silent, MCP_OPTIONS(mcp_client_options, .timeout_ms = 5000, .probe_ms = 2000));
    int64_t begin = f.now;
    assert_int_equal(mcp_client_start(f.client, fake_done, &f), MCP_OK);
    fake_run(&f);
    assert_int_equal(f.rc, MCP_ETIMEOUT);
    assert_string_equal(f.methods, "server/discover initialize ");
    assert_int_equal(f.now - begin, 5000);
    fake_close(&f);
}

static void test_disconnected(void **state)
{
    (void)state;
    static const fake_reply replies[FAKE_REPLIES] = {{"server/discover", DISCOVERED}, {"a", NULL}};
    /* 0 steps: before anything was sent; 1: during the probe; many: while a call is in flight */
    for (int stage = 0; stage < 3; stage++) {
        fake f;
        fake_open(&f, replies, MCP_OPTIONS(mcp_client_options, .timeout_ms = 1));
        mcp_client_start(f.client, fake_done, &f);
        if (stage > 0)
            mcp_channel_tick(f.channel, f.now);
        if (stage > 1)
            fake_run(&f);
        size_t before = f.done;
        mcp_client_call(f.client, "a", NULL, fake_done, &f);
        if (stage > 1)
            mcp_channel_tick(f.channel, f.now);
        mcp_client_disconnected(f.client, "status 127");
        assert_int_equal(f.done, stage > 1 ? before + 1 : 2);
        assert_int_equal(f.rc, MCP_ECLOSED);
        assert_string_equal(f.text, "status 127");
        assert_int_equal(mcp_client_call(f.client, "a", NULL, fake_done, &f), MCP_ECLOSED);
        assert_int_equal(mcp_client_start(f.client, fake_done, &f), MCP_ECLOSED);

        /* The client can be connected and started again. */
        assert_int_equal(
            mcp_client_connect(f.client,
                               MCP_OPTIONS(mcp_channel_options, .send = fake_send, .user = &f),
                               &f.channel, NULL),
            MCP_OK);
        assert_int_equal(mcp_client_connect(f.client,
                                            MCP_OPTIONS(mcp_channel_options, .send = fake_send),
                                            &f.channel, NULL),
                         MCP_ESTATE);
        assert_int_equal(mcp_client_start(f.client, fake_done, &f), MCP_OK);
        fake_run(&f);
        assert_int_equal(f.rc, MCP_OK);
        fake_close(&f);
    }
}

static void test_no_memory(void **state)
{
    (void)state;
    static const fake_reply modern[FAKE_REPLIES] = {
        {"server/discover", UNSUPPORTED("[\"2026-07-28\"]")}, {"server/discover", DISCOVERED}};
    static const fake_reply legacy[FAKE_REPLIES] = {{"server/discover", ERROR("-32601", "")},
                                                    {"initialize", INITIALIZED("2025-11-25")}};
    const fake_reply *scripts[] = {modern, legacy};
    for (size_t s = 0; s < MCP__COUNT(scripts); s++) {
        bool ended = false;
        for (size_t n = 1; !ended; n++) {
            failalloc a = {.fail_at = n};
            mcp_allocator allocator = failalloc_allocator(&a);
            fake f;
            int rc =
                fake_open(&f, scripts[s],
                          MCP_OPTIONS(mcp_client_options, .title = "t", .allocator = &allocator));
            assert_true(rc == MCP_OK || rc == MCP_ENOMEM);
            if (rc == MCP_OK) {
                assert_int_equal(mcp_client_start(f.client, fake_done, &f), MCP_OK);
                fake_run(&f);
                assert_int_equal(f.done, 1);
                /* A message that cannot be stored for lack of memory is lost, and the call times
                 * out. */
                assert_true(f.rc == MCP_OK || f.rc == MCP_ENOMEM || f.rc == MCP_ETIMEOUT);
            }
            fake_close(&f);
            assert_int_equal(a.live, 0);
            ended = a.calls < n;
            if (ended)
                assert_int_equal(f.rc, MCP_OK);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_eras),          cmocka_unit_test(test_texts),
        cmocka_unit_test(test_info),          cmocka_unit_test(test_options),
        cmocka_unit_test(test_waiting_calls), cmocka_unit_test(test_short_time),
        cmocka_unit_test(test_one_time),      cmocka_unit_test(test_disconnected),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
