/* One call: its params and _meta on the wire, the outcome of each kind of answer, and requests of
 * the server. */
#include "fake_server.h"

#define MODERN                                                                                    \
    {                                                                                             \
        "server/discover", RESULT("{\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":{}}") \
    }
#define LEGACY(version)                                                                    \
    {"server/discover", ERROR("-32601", "")},                                              \
    {                                                                                      \
        "initialize",                                                                      \
            RESULT("{\"protocolVersion\":\"" version "\"," SERVER ",\"capabilities\":{}}") \
    }
#define META                                                                          \
    "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                     \
    "\"io.modelcontextprotocol/clientInfo\":{\"name\":\"tester\",\"version\":\"1\"}," \
    "\"io.modelcontextprotocol/clientCapabilities\":{}"

static void open_ready(fake *f, const fake_reply *replies, const mcp_client_options *options)
{
    assert_int_equal(fake_open(f, replies, options), MCP_OK);
    assert_int_equal(mcp_client_start(f->client, fake_done, f), MCP_OK);
    fake_run(f);
    assert_int_equal(f->rc, MCP_OK);
    f->done = 0;
    f->methods[0] = 0;
    f->result[0] = 0;
}

static const char *last_sent(const fake *f)
{
    return f->sent[f->n_sent - 1];
}

static void test_params(void **state)
{
    (void)state;
    static const struct {
        const char *params;
        int rc;
        const char *modern, *legacy;
    } lines[] = {
        {NULL, MCP_OK, "{\"_meta\":{" META "}}", "{}"},
        {"{}", MCP_OK, "{\"_meta\":{" META "}}", "{}"},
        {" { \"a\" : [1, 2.50,\n1.00000000000000000001] } ", MCP_OK,
         "{\"a\":[1, 2.50, 1.00000000000000000001],\"_meta\":{" META "}}",
         "{\"a\":[1, 2.50, 1.00000000000000000001]}"},
        {"{\"_meta\":{\"progressToken\":7},\"a\":1}", MCP_OK,
         "{\"a\":1,\"_meta\":{" META ",\"progressToken\":7}}",
         "{\"a\":1,\"_meta\":{\"progressToken\":7}}"},
        {"{\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"1\",\"x/y\":null}}", MCP_OK,
         "{\"_meta\":{" META ",\"x/y\":null}}", "{\"_meta\":{\"x/y\":null}}"},
        {"[]", MCP_EINVAL, NULL, NULL},
        {"{\"_meta\":1}", MCP_EINVAL, NULL, NULL},
        {"{\"a\":", MCP_EPARSE, NULL, NULL},
        {"{\"a\":1,\"a\":2}", MCP_EPARSE, NULL, NULL},
    };
    static const fake_reply modern[FAKE_REPLIES] = {MODERN, {"m", RESULT("{}")}};
    static const fake_reply legacy[FAKE_REPLIES] = {LEGACY("2025-06-18"), {"m", RESULT("{}")}};
    for (int era = 0; era < 2; era++) {
        fake f;
        open_ready(&f, era ? legacy : modern, MCP_OPTIONS(mcp_client_options, .title = NULL));
        for (size_t i = 0; i < MCP__COUNT(lines); i++) {
            f.done = 0;
            assert_int_equal(mcp_client_call(f.client, "m", lines[i].params, fake_done, &f),
                             lines[i].rc);
            fake_run(&f);
            assert_int_equal(f.done, lines[i].rc == MCP_OK);
            if (lines[i].rc != MCP_OK)
                continue;
            const char *params = strstr(last_sent(&f), "\"params\":");
            char expected[512];
            snprintf(expected, sizeof(expected), "\"params\":%s}",
                     era ? lines[i].legacy : lines[i].modern);
            assert_string_equal(params, expected);
        }
        assert_int_equal(mcp_client_call(f.client, NULL, NULL, fake_done, &f), MCP_EINVAL);
        assert_int_equal(mcp_client_call(f.client, "", NULL, fake_done, &f), MCP_EINVAL);
        fake_close(&f);
    }
}

/* Params in two parts are sent unchanged, after the members that the client adds to _meta. */
static void test_parts(void **state)
{
    static const struct {
        const char *members, *meta, *modern, *legacy;
    } lines[] = {
        {"", "", "{\"_meta\":{" META "}}", "{}"},
        {"\"a\":[1, 2.50],\"b\":{}", "", "{\"a\":[1, 2.50],\"b\":{},\"_meta\":{" META "}}",
         "{\"a\":[1, 2.50],\"b\":{}}"},
        {"", "\"x/y\":{\"z\":1}", "{\"_meta\":{" META ",\"x/y\":{\"z\":1}}}",
         "{\"_meta\":{\"x/y\":{\"z\":1}}}"},
        {"\"a\":1", "\"x\":2", "{\"a\":1,\"_meta\":{" META ",\"x\":2}}",
         "{\"a\":1,\"_meta\":{\"x\":2}}"},
    };
    static const fake_reply modern[FAKE_REPLIES] = {MODERN, {"m", RESULT("{}")}};
    static const fake_reply legacy[FAKE_REPLIES] = {LEGACY("2025-06-18"), {"m", RESULT("{}")}};
    (void)state;
    for (int era = 0; era < 2; era++) {
        fake f;
        open_ready(&f, era ? legacy : modern, MCP_OPTIONS(mcp_client_options, .title = NULL));
        for (size_t i = 0; i < MCP__COUNT(lines); i++) {
            char expected[512];
            f.done = 0;
            assert_int_equal(mcp_client_request(f.client, "m", lines[i].members,
                                                MCP_OPTIONS(mcp_call_options, .done = fake_done,
                                                            .user = &f, .meta = lines[i].meta),
                                                NULL),
                             MCP_OK);
            fake_run(&f);
            assert_int_equal(f.done, 1);
            snprintf(expected, sizeof(expected), "\"params\":%s}",
                     era ? lines[i].legacy : lines[i].modern);
            assert_string_equal(strstr(last_sent(&f), "\"params\":"), expected);
        }
        fake_close(&f);
    }
}

static const struct {
    const char *answer;
    int rc;
    const char *text; /* of the error; or the whole result */
    int legacy_rc;
} answers_cases[] = {
    {RESULT("{\"resultType\":\"complete\",\"x\":1}"), MCP_OK, NULL, MCP_OK},
    {RESULT("{\"x\":1}"), MCP_OK, NULL, MCP_OK},
    {RESULT("{\"resultType\":\"input_required\"}"), MCP_EPROTOCOL, "input_required", MCP_OK},
    {RESULT("{\"resultType\":\"odd\"}"), MCP_EPROTOCOL, "\"odd\"", MCP_OK},
    {RESULT("{\"resultType\":null}"), MCP_OK, NULL, MCP_OK},
    {RESULT("{\"_meta\":{\"a\":1},\"x\":null}"), MCP_OK, NULL, MCP_OK},
    {RESULT("7"), MCP_EPROTOCOL, "integer instead of an object", MCP_EPROTOCOL},
    {RESULT("null"), MCP_EPROTOCOL, "null instead of an object", MCP_EPROTOCOL},
    {ERROR("-32602", ",\"message\":\"no such thing\",\"data\":{\"uri\":\"u\"}"), MCP_EREMOTE,
     "no such thing", MCP_EREMOTE},
    {ERROR("-32602", ""), MCP_EREMOTE, "error -32602 without a message", MCP_EREMOTE},
    {ERROR("\"x\"", ",\"message\":{}"), MCP_EREMOTE, "without a message", MCP_EREMOTE},
    {"{\"jsonrpc\":\"2.0\",\"id\":$}", MCP_EPROTOCOL, "malformed", MCP_EPROTOCOL},
    {"{\"jsonrpc\":\"1.0\",\"id\":$,\"result\":{}}", MCP_EPROTOCOL, "malformed", MCP_EPROTOCOL},
    {"{\"jsonrpc\":\"2.0\",\"id\":$,\"error\":\"x\"}", MCP_EPROTOCOL, "must be an object",
     MCP_EPROTOCOL},
    {"{\"jsonrpc\":\"2.0\",\"id\":$,\"result\":{},\"error\":{}}", MCP_EPROTOCOL, "malformed",
     MCP_EPROTOCOL},
    /* not JSON: the id at the top level, found once, says which call ends */
    {RESULT("{\"x\":NaN}"), MCP_EPROTOCOL, "malformed: not a JSON message: invalid JSON at byte 3",
     MCP_EPROTOCOL},
    {RESULT("{\"x\":1},"), MCP_EPROTOCOL, "invalid JSON at byte", MCP_EPROTOCOL},
    {RESULT("{\"x\":\"a\tb\",\"id\":7}"), MCP_EPROTOCOL, "control character", MCP_EPROTOCOL},
    {"{\"result\":{\"text\":\"\\\"},\\\"id\\\":7}\",\"x\":01},\"jsonrpc\":\"2.0\",\"id\":$}",
     MCP_EPROTOCOL, "invalid JSON", MCP_EPROTOCOL},
    {"{\"jsonrpc\":\"2.0\",\"id\":$,\"result\":{\"x\":\"cut of", MCP_EPROTOCOL, "invalid JSON",
     MCP_EPROTOCOL},
    {"{\"jsonrpc\":\"2.0\",\"id\":$,\"result\":{},\"id\":$}", MCP_ETIMEOUT,
     "could not be read: ", MCP_ETIMEOUT},
    {"{\"jsonrpc\":\"2.0\",\"id\":$,\"method\":\"ping\",}", MCP_ETIMEOUT,
     "could not be read: ", MCP_ETIMEOUT},
    {"{\"result\":{\"id\":$,},\"x\":\"\\\"id\\\":$\"}", MCP_ETIMEOUT,
     "could not be read: ", MCP_ETIMEOUT},
    /* what is no character */
    {RESULT("{\"x\":\"caf\xe9 \\ud83d\"}"), MCP_OK, NULL, MCP_OK},
    /* an answer to an unknown request is ignored */
    {"{\"jsonrpc\":\"2.0\",\"id\":\"$\",\"result\":{}}", MCP_ETIMEOUT, "within 2.500 s",
     MCP_ETIMEOUT},
    {"{\"jsonrpc\":\"2.0\",\"id\":99,\"result\":{}}", MCP_ETIMEOUT, "within", MCP_ETIMEOUT},
    {"{\"jsonrpc\":\"2.0\",\"id\":-$}", MCP_ETIMEOUT, "within", MCP_ETIMEOUT},
    {"{\"jsonrpc\":\"2.0\",\"id\":1000000000000000000000$}", MCP_ETIMEOUT, "within", MCP_ETIMEOUT},
    {"Listening on port 8080", MCP_ETIMEOUT,
     "within 2.500 s; a received message could not be read: ", MCP_ETIMEOUT},
    {"{\"jsonrpc\":", MCP_ETIMEOUT, "could not be read: ", MCP_ETIMEOUT},
    {"", MCP_ETIMEOUT, "within", MCP_ETIMEOUT},
    {NULL, MCP_ETIMEOUT, "within", MCP_ETIMEOUT},
};

static void test_answers(void **state)
{
    (void)state;
    for (int era = 0; era < 2; era++) {
        for (size_t i = 0; i < MCP__COUNT(answers_cases); i++) {
            fake_reply modern[FAKE_REPLIES] = {MODERN, {"m", answers_cases[i].answer}};
            fake_reply legacy[FAKE_REPLIES] = {LEGACY("2025-11-25"),
                                               {"m", answers_cases[i].answer}};
            fake f;
            open_ready(&f, era ? legacy : modern,
                       MCP_OPTIONS(mcp_client_options, .timeout_ms = 2500));
            assert_int_equal(mcp_client_call(f.client, "m", NULL, fake_done, &f), MCP_OK);
            fake_run(&f);
            assert_int_equal(f.done, 1);
            assert_int_equal(f.rc, era ? answers_cases[i].legacy_rc : answers_cases[i].rc);
            if (f.rc != MCP_OK)
                assert_contains(f.text, answers_cases[i].text);
            /* Only the cancellation is sent; the client does not reply to an answer. */
            assert_string_equal(f.methods,
                                f.rc == MCP_ETIMEOUT ? "m notifications/cancelled " : "m ");
            if (f.rc == MCP_ETIMEOUT)
                assert_string_equal(last_sent(&f),
                                    era ? "{\"jsonrpc\":\"2.0\",\"method\":"
                                          "\"notifications/cancelled\",\"params\":"
                                          "{\"requestId\":3,\"reason\":\"time-out\"}}"
                                        : "{\"jsonrpc\":\"2.0\",\"method\":"
                                          "\"notifications/cancelled\",\"params\":"
                                          "{\"requestId\":2,\"reason\":\"time-out\"}}");
            fake_close(&f);
        }
    }
}

/* Invalid output before the request, such as a banner, does not change the error for a missing
 * answer. */
static void test_banner(void **state)
{
    (void)state;
    const fake_reply replies[FAKE_REPLIES] = {MODERN, {"m", NULL}};
    fake f;
    open_ready(&f, replies, MCP_OPTIONS(mcp_client_options, .timeout_ms = 2500));
    mcp_channel_receive(f.channel, 0, MCP_STR("Listening"), f.now);
    f.now += 10;
    assert_int_equal(mcp_client_call(f.client, "m", NULL, fake_done, &f), MCP_OK);
    fake_run(&f);
    assert_int_equal(f.rc, MCP_ETIMEOUT);
    assert_string_equal(f.text, "no answer within 2.500 s");
    fake_close(&f);
}

/* What is no character is U+FFFD in the value and in its text. */
static size_t n_unreadable;

static void on_unreadable(mcp_client *client, const char *why, void *user)
{
    (void)user, (void)client;
    assert_contains(why, "invalid JSON at byte ");
    n_unreadable++;
}

static void on_text(mcp_client *client, int rc, const mcp_json *result, const mcp_error *error,
                    void *user)
{
    fake *f = user;
    mcp_str text = mcp_client_result_text(client);
    fake_done(client, rc, result, error, user);
    snprintf(f->text, sizeof(f->text), "%.*s", (int)text.len, text.ptr);
}

static void test_no_characters(void **state)
{
    (void)state;
    static const fake_reply replies[FAKE_REPLIES] = {
        MODERN,
        {"m", RESULT("{\"a\":\"\xe9\xc3\",\"b\":\"\\uD83D\",\"c\":\"\\udc00x\\ud83d\\ude00\"}")},
    };
    fake f;
    n_unreadable = 0;
    open_ready(&f, replies, MCP_OPTIONS(mcp_client_options, .unreadable = on_unreadable));
    assert_int_equal(mcp_client_call(f.client, "m", NULL, on_text, &f), MCP_OK);
    fake_run(&f);
    assert_int_equal(f.rc, MCP_OK);
    assert_string_equal(
        f.text, "{\"a\":\"\uFFFD\uFFFD\",\"b\":\"\uFFFD\",\"c\":\"\uFFFDx\\ud83d\\ude00\"}");
    assert_int_equal(n_unreadable, 0);
    mcp_channel_receive(f.channel, 0, MCP_STR("a banner"), f.now);
    assert_int_equal(n_unreadable, 1);
    fake_close(&f);
}

static void test_limits(void **state)
{
    (void)state;
    static const fake_reply replies[FAKE_REPLIES] = {
        MODERN,
        {"deep", RESULT("[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[")},
        {"long",
         RESULT("{\"x\":\"0123456789012345678901234567890123456789012345678901234567890123"
                "4567890123456789012345678901234567890123456789012345678901234567890123\"}")},
    };
    fake f;
    open_ready(&f, replies, MCP_OPTIONS(mcp_client_options, .max_message = 150));
    assert_int_equal(mcp_client_call(f.client, "long", NULL, fake_done, &f), MCP_OK);
    fake_run(&f);
    assert_int_equal(f.rc, MCP_ELIMIT);
    assert_contains(f.text, "150 bytes (max_message)");
    assert_int_equal(mcp_client_call(f.client, "deep", NULL, fake_done, &f), MCP_OK);
    fake_run(&f);
    assert_int_equal(f.rc, MCP_ELIMIT);
    assert_int_equal(f.done, 2);
    assert_string_equal(f.methods, "long deep ");
    fake_close(&f);
}

/* A request of the server that is too long has a number of the server's own, so it ends no call. */
static void test_long_request(void **state)
{
    (void)state;
    static const fake_reply replies[FAKE_REPLIES] = {
        MODERN,
        {"slow",
         "{\"jsonrpc\":\"2.0\",\"id\":$,\"method\":\"ask\",\"params\":{\"x\":"
         "\"0123456789012345678901234567"
         "8901234567890123456789012345678901234567890123456789012345678901234567890123456789\"}}"},
    };
    fake f;
    open_ready(&f, replies,
               MCP_OPTIONS(mcp_client_options, .max_message = 150, .timeout_ms = 5000));
    assert_int_equal(mcp_client_call(f.client, "slow", NULL, fake_done, &f), MCP_OK);
    fake_run(&f); /* until nothing is due any more */
    assert_int_equal(f.rc, MCP_ETIMEOUT);
    assert_contains(f.text, "150 bytes (max_message)");
    fake_close(&f);
}

/* Requests of the server. */
static void on_misbehaved(mcp_client *client, const char *what, void *user)
{
    fake *f = user;
    assert_ptr_equal(client, f->client);
    f->pages++;
    snprintf(f->text, sizeof(f->text), "%s", what);
}

static void test_server_requests(void **state)
{
    (void)state;
    static const struct {
        const char *message, *answer;
    } lines[] = {
        {"{\"jsonrpc\":\"2.0\",\"id\":\"p\",\"method\":\"ping\"}",
         "{\"jsonrpc\":\"2.0\",\"id\":\"p\",\"result\":{}}"},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"roots/list\"}",
         "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32601,"},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"nobody/knows\",\"params\":{}}",
         "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32601,"},
        {"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/resources/list_changed\"}", NULL},
        {"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/nobody/knows\"}", NULL},
    };
    static const fake_reply scripts[2][FAKE_REPLIES] = {{MODERN}, {LEGACY("2025-11-25")}};
    for (int era = 0; era < 2; era++) {
        fake f;
        open_ready(&f, scripts[era], MCP_OPTIONS(mcp_client_options, .misbehaved = on_misbehaved));
        for (size_t i = 0; i < MCP__COUNT(lines); i++) {
            size_t before = f.n_sent;
            fake_deliver(&f, lines[i].message, "", 0);
            bool answered = era && lines[i].answer; /* a modern server gets no answer */
            assert_int_equal(f.n_sent, before + answered);
            if (answered)
                assert_memory_equal(last_sent(&f), lines[i].answer, strlen(lines[i].answer));
        }
        assert_int_equal(f.pages, era ? 0 : 1); /* reported once */
        if (!era)
            assert_contains(f.text, "the request ping, which revision 2026-07-28 forbids");
        fake_close(&f);
    }
}

static void test_batches(void **state)
{
    (void)state;
    static const char batch[] = "[{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"},"
                                "{\"jsonrpc\":\"2.0\",\"id\":$,\"result\":{\"x\":1}},"
                                "{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"ping\"}]";
    static const fake_reply old[FAKE_REPLIES] = {LEGACY("2025-03-26"), {"m", batch}};
    static const fake_reply modern[FAKE_REPLIES] = {MODERN, {"m", batch}};
    fake f;
    open_ready(&f, old, MCP_OPTIONS(mcp_client_options, .title = NULL));
    mcp_client_call(f.client, "m", NULL, fake_done, &f);
    fake_run(&f);
    assert_int_equal(f.rc, MCP_OK);
    assert_string_equal(f.result, "{\"x\":1}");
    assert_string_equal(last_sent(&f), "[{\"jsonrpc\":\"2.0\",\"id\":9,\"result\":{}}]");
    fake_close(&f);

    open_ready(&f, modern, MCP_OPTIONS(mcp_client_options, .timeout_ms = 5));
    mcp_client_call(f.client, "m", NULL, fake_done, &f);
    fake_run(&f);
    assert_int_equal(f.rc, MCP_ETIMEOUT);
    fake_close(&f);
}

/* A time-out counts from when the call is sent, not from earlier events. */
static void test_stale_time(void **state)
{
    (void)state;
    static const fake_reply replies[FAKE_REPLIES] = {MODERN, {"m", RESULT("{}")}};
    fake f;
    open_ready(&f, replies, MCP_OPTIONS(mcp_client_options, .timeout_ms = 100));
    f.now += 1000000;
    size_t wakes = f.wakes;
    mcp_client_call(f.client, "m", NULL, fake_done, &f);
    assert_int_equal(f.wakes, wakes + 1);
    fake_run(&f);
    assert_int_equal(f.rc, MCP_OK);
    fake_close(&f);
}

static void call_again(mcp_client *client, int rc, const mcp_json *result, const mcp_error *error,
                       void *user)
{
    fake *f = user;
    fake_done(client, rc, result, error, user);
    if (f->done < 3)
        assert_int_equal(mcp_client_call(client, "m", NULL, call_again, f), MCP_OK);
}

static void test_calls_from_callbacks(void **state)
{
    (void)state;
    static const fake_reply replies[FAKE_REPLIES] = {MODERN, {"m", RESULT("{}")}};
    fake f;
    open_ready(&f, replies, MCP_OPTIONS(mcp_client_options, .title = NULL));
    mcp_client_call(f.client, "m", NULL, call_again, &f);
    fake_run(&f);
    assert_int_equal(f.done, 3);
    assert_string_equal(f.methods, "m m m ");
    fake_close(&f);
}

static void test_base64(void **state)
{
    (void)state;
    char to[8];
    size_t n = 99;
    assert_int_equal(mcp_base64_decode(to, MCP_STR("AP8="), &n), MCP_OK);
    assert_int_equal(n, 2);
    assert_memory_equal(to, "\0\xff", 2);
    assert_int_equal(mcp_base64_decode(to, MCP_STR(""), &n), MCP_OK);
    assert_int_equal(n, 0);
    assert_int_equal(mcp_base64_decode(to, MCP_STR("AP8"), &n), MCP_EPARSE);
    assert_int_equal(mcp_base64_decode(to, MCP_STR("A-8="), &n), MCP_EPARSE);
    assert_int_equal(n, 0);
}

static void test_no_memory(void **state)
{
    (void)state;
    static const fake_reply replies[FAKE_REPLIES] = {
        MODERN, {"m", RESULT("{\"x\":1}")}, {"t", NULL}};
    bool ended = false;
    for (size_t n = 1; !ended; n++) {
        failalloc a = {.fail_at = n};
        mcp_allocator allocator = failalloc_allocator(&a);
        fake f;
        size_t calls = 0;
        int rc = fake_open(&f, replies, MCP_OPTIONS(mcp_client_options, .allocator = &allocator));
        if (rc == MCP_OK) {
            const char *params = "{\"a\":1,\"_meta\":{\"b\":2}}";
            calls += mcp_client_call(f.client, "m", params, fake_done, &f) == MCP_OK;
            calls += mcp_client_call(f.client, "t", params, fake_done, &f) == MCP_OK;
            fake_run(&f);
            assert_int_equal(f.done, calls);
        }
        fake_close(&f);
        assert_int_equal(a.live, 0);
        ended = a.calls < n;
        if (ended)
            assert_int_equal(calls, 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_params),
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_banner),
        cmocka_unit_test(test_no_characters),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_long_request),
        cmocka_unit_test(test_server_requests),
        cmocka_unit_test(test_batches),
        cmocka_unit_test(test_stale_time),
        cmocka_unit_test(test_calls_from_callbacks),
        cmocka_unit_test(test_base64),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
