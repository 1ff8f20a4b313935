/* Log messages of another server reach the callers that they concern, at the level that each caller
 * has set, for each pair of revisions. */
#include "asking.h"

static char log_room[1 << 18];

static const char *const revisions[] = {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25",
                                        "2026-07-28"};
enum { REVISIONS = sizeof(revisions) / sizeof(revisions[0]), MODERN = REVISIONS - 1 };

#define DATA        "{\"big\":123456789012345678901234567890}"
#define LEVEL(name) "\"io.modelcontextprotocol/logLevel\":\"" name "\","

/* Logs a message of each level, with and without a logger. */
static int call(mcp_request *req, const mcp_json *arguments, void *user)
{
    int64_t n = mcp_json_int(mcp_json_get(arguments, "n"), 0);
    (void)user;
    if (mcp_json_get(arguments, "hold"))
        return asking_hold(req);
    for (int64_t i = 0; i < n; i++)
        mcp_request_log(req, MCP_LOG_ERROR, "many", MCP_STR("1"));
    if (!n) {
        mcp_request_log(req, MCP_LOG_DEBUG, "db", MCP_STR(DATA));
        mcp_request_log(req, MCP_LOG_INFO, NULL, MCP_STR("\"info\""));
        mcp_request_log(req, MCP_LOG_ERROR, "db", MCP_STR("\"error\""));
    }
    return mcp_reply_text(req, "done");
}

static mcp_server *logging_server(void)
{
    mcp_server *server = NULL;
    assert_int_equal(mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "l", .version = "1",
                                                .no_rate_limits = true, .logging = true),
                                    &server, NULL),
                     MCP_OK);
    assert_int_equal(
        mcp_server_add_tool(server,
                            MCP_OPTIONS(mcp_tool, .name = "log",
                                        .input_schema = "{\"type\":\"object\"}", .call = call),
                            NULL, NULL),
        MCP_OK);
    return server;
}

static void open_all(wires *w, const char *between)
{
    *w = (wires){
        .revision = between, .log = log_room, .log_room = sizeof(log_room), .max_sessions = 8};
    assert_int_equal(wires_open(w, logging_server()), MCP_OK);
}

static void close_all(wires *w)
{
    for (size_t i = 0; i < WIRE_PEERS; i++)
        mcp_channel_free(w->peers[i]);
    wires_close(w);
    mcp_server_free(w->other);
}

static void clear(wires *w)
{
    w->log_len = 0;
    w->log[0] = 0;
}

/* Calls the tool with these arguments. `meta` is empty or a member with a comma, for a modern
 * caller. Returns everything that the caller received. */
static const char *call_log(wires *w, bool modern, const char *arguments, const char *meta)
{
    char message[600];
    clear(w);
    snprintf(
        message, sizeof(message),
        "{\"jsonrpc\":\"2.0\",\"id\":%zu,\"method\":\"tools/call\",\"params\":{\"name\":\"up_log\","
        "\"arguments\":%s%s%s%s}}",
        ++w->id, arguments, modern ? ",\"_meta\":{" : "", meta,
        modern ? "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
                 "\"io.modelcontextprotocol/clientCapabilities\":{}}"
               : "");
    wires_has(wires_say(w, message), "\"id\"");
    return w->log;
}

static void set_level(wires *w, const char *level)
{
    char params[60];
    snprintf(params, sizeof(params), "\"level\":\"%s\"", level);
    wires_has(asking_say_legacy(w, "logging/setLevel", params), "\"result\"");
}

static size_t count_of(const char *text, const char *part)
{
    size_t n = 0;
    for (; (text = strstr(text, part)) != NULL; text++)
        n++;
    return n;
}

#define NOTICE "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{"

/* ---- levels ---------------------------------------------------------------------------------- */

static void test_pairs(void **state)
{
    (void)state;
    static wires w;
    for (size_t between = 0; between < REVISIONS; between++) {
        for (size_t from = 0; from < REVISIONS; from++) {
            bool modern = from == MODERN;
            open_all(&w, revisions[between]);
            asking_connect(&w, revisions[from], "ann", "{}");
            const char *got = call_log(&w, modern, "{}", "");
            /* a modern server logs only for callers that have set a level */
            assert_int_equal(count_of(got, "notifications/message"),
                             modern || between == MODERN ? 0 : 2);
            if (!modern)
                set_level(&w, "debug");
            got = call_log(&w, modern, "{}", modern ? LEVEL("debug") : "");
            assert_int_equal(count_of(got, "notifications/message"), 3);
            wires_has(got, NOTICE "\"level\":\"debug\",\"logger\":\"up/db\",\"data\":" DATA "}}");
            wires_has(got, NOTICE "\"logger\":\"up\",\"level\":\"info\",\"data\":\"info\"}}");
            if (!modern)
                set_level(&w, "error");
            got = call_log(&w, modern, "{}", modern ? LEVEL("error") : "");
            assert_int_equal(count_of(got, "notifications/message"), 1);
            wires_has(got, "\"data\":\"error\"");
            got = call_log(&w, modern, "{}", modern ? LEVEL("loud") : "");
            assert_int_equal(count_of(got, "notifications/message"), modern ? 0 : 1);
            if (modern)
                wires_has(got, "-32602");
            close_all(&w);
        }
    }
}

/* The level is set before the first call of a session. */
static void test_first_call(void **state)
{
    (void)state;
    static wires w;
    for (size_t between = 0; between < REVISIONS; between++) {
        open_all(&w, revisions[between]);
        asking_connect(&w, "2026-07-28", "ann", "");
        const char *got = call_log(&w, true, "{}", LEVEL("debug"));
        assert_int_equal(count_of(got, "notifications/message"), 3);
        close_all(&w);
        open_all(&w, revisions[between]);
        asking_connect(&w, "2025-11-25", "ann", "{}");
        set_level(&w, "debug");
        got = call_log(&w, false, "{}", "");
        assert_int_equal(count_of(got, "notifications/message"), 3);
        close_all(&w);
    }
}

static void test_capability(void **state)
{
    (void)state;
    static wires w;
    open_all(&w, NULL);
    asking_connect(&w, "2026-07-28", "ann", "");
    wires_has(wires_ask(&w, "server/discover", ""), "\"logging\":{}");
    close_all(&w);
}

/* Unknown members stay, and those of the hop do not. Messages that are no log messages are left
 * out. */
static void test_text(void **state)
{
    (void)state;
    static wires w;
    open_all(&w, "2025-11-25");
    asking_connect(&w, "2025-11-25", "ann", "{}");
    call_log(&w, false, "{}", "");
    clear(&w);
    wires_inject(&w, NOTICE "\"x\":[1.0, 2],\"data\":\"\\u0061\",\"logger\":\"a\\\"b\","
                            "\"level\":\"alert\",\"_meta\":{\"a/b\":-0.0,"
                            "\"io.modelcontextprotocol/subscriptionId\":1,\"progressToken\":2}}}");
    assert_string_equal(w.log,
                        NOTICE "\"_meta\":{\"a/b\":-0.0},\"x\":[1.0, 2],\"data\":\"\\u0061\","
                               "\"logger\":\"up/a\\\"b\",\"level\":\"alert\"}}\n");
    clear(&w);
    wires_inject(&w, NOTICE "\"data\":1,\"level\":\"trace\"}}");
    wires_inject(&w, NOTICE "\"level\":\"alert\"}}");
    wires_inject(&w, NOTICE "\"data\":1}}");
    wires_inject(&w, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}");
    assert_null(strstr(w.log, "\"data\":1"));
    close_all(&w);
}

/* ---- callers that share a session ------------------------------------------------------------ */

/* Every session of the principal gets a message once, at its own level, and nobody else gets it. */
static void test_callers(void **state)
{
    (void)state;
    static wires w;
    static const char *const principals[] = {"ann", "ann", "bob", NULL};
    static const char *const levels[] = {"error", "debug", "debug", "debug"};
    open_all(&w, "2025-11-25");
    for (size_t i = 0; i < 4; i++) {
        asking_connect(&w, "2025-11-25", principals[i], "{}");
        set_level(&w, levels[i]);
        w.peers[i] = w.peer;
        w.peer = NULL;
    }
    w.peer = w.peers[0];
    call_log(&w, false, "{}", "");
    clear(&w);
    wires_timers(&w, false); /* which sets the level that both callers need */
    wires_run(&w);
    wires_has(w.sent, "\"method\":\"logging/setLevel\",\"params\":{\"level\":\"debug\"}");
    wires_inject(&w, NOTICE "\"level\":\"error\",\"data\":1}}");
    assert_int_equal(count_of(w.log, "\"data\":1"), 2);
    clear(&w);
    wires_inject(&w, NOTICE "\"level\":\"info\",\"data\":2}}");
    assert_int_equal(count_of(w.log, "\"data\":2"), 1);
    /* the session of the other caller ends, and the level is raised again */
    mcp_channel_free(w.peers[1]);
    w.peers[1] = NULL;
    wires_timers(&w, false);
    wires_run(&w);
    wires_has(w.sent, "\"params\":{\"level\":\"error\"}");
    w.peer = NULL;
    close_all(&w);
}

/* A message that may belong to several requests reaches one modern request, and each legacy session
 * once. */
static void test_in_flight(void **state)
{
    (void)state;
    static wires w;
    open_all(&w, "2025-11-25");
    asking_connect(&w, "2026-07-28", "ann", "{}");
    for (int i = 0; i < 3; i++) {
        char message[400];
        snprintf(message, sizeof(message),
                 "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\",\"params\":{"
                 "\"name\":\"up_log\",\"arguments\":{\"hold\":1},\"_meta\":{%s"
                 "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
                 "\"io.modelcontextprotocol/clientCapabilities\":{}}}}",
                 i + 1, i ? LEVEL("info") : "");
        wires_say(&w, message);
    }
    w.peers[0] = w.peer;
    w.peer = NULL;
    asking_connect(&w, "2025-06-18", "ann", "{}");
    clear(&w);
    wires_inject(&w, NOTICE "\"level\":\"info\",\"data\":1}}");
    assert_int_equal(count_of(w.log, "\"data\":1"), 2);
    asking_release();
    wires_run(&w);
    clear(&w);
    wires_inject(&w, NOTICE "\"level\":\"info\",\"data\":1}}");
    assert_int_equal(count_of(w.log, "\"data\":1"), 1); /* a modern caller gets nothing now */
    close_all(&w);
}

/* On stdio nobody knows whose call a message belongs to, and anonymous callers may be different
 * people. */
static void test_anonymous(void **state)
{
    (void)state;
    static wires w;
    for (size_t between = 0; between < REVISIONS; between++) {
        open_all(&w, revisions[between]);
        asking_connect(&w, "2026-07-28", NULL, "{}");
        assert_null(strstr(call_log(&w, true, "{}", LEVEL("debug")), "notifications/message"));
        asking_connect(&w, "2025-11-25", NULL, "{}");
        set_level(&w, "debug");
        assert_null(strstr(call_log(&w, false, "{}", ""), "notifications/message"));
        close_all(&w);
    }
}

/* ---- floods ---------------------------------------------------------------------------------- */

static void test_flood(void **state)
{
    (void)state;
    static wires w;
    static char large[80 << 10];
    open_all(&w, "2025-11-25");
    asking_connect(&w, "2025-11-25", "ann", "{}");
    call_log(&w, false, "{}", "");
    wires_run(&w);
    w.now += 2000;
    clear(&w);
    for (int i = 0; i < 300; i++)
        wires_put(w.open, false, MCP_STR(NOTICE "\"level\":\"error\",\"data\":1}}"));
    snprintf(large, sizeof(large), NOTICE "\"level\":\"error\",\"data\":\"%*s\"}}", 70 << 10, "");
    wires_put(w.open, false, mcp_str_from(large));
    wires_run(&w);
    assert_int_equal(count_of(w.log, "\"data\":1}"), 100);
    assert_int_equal(count_of(w.log, "\n"), 100);
    w.now += 1000;
    clear(&w);
    wires_inject(&w, NOTICE "\"level\":\"error\",\"data\":2}}");
    wires_has(w.log, NOTICE "\"logger\":\"up\",\"level\":\"error\",\"data\":\"201 log messages of "
                            "this server were left out: ");
    wires_has(w.log, "\"data\":2}");
    close_all(&w);
}

/* A caller is told before the answer of its call. */
static void test_told(void **state)
{
    (void)state;
    static wires w;
    open_all(&w, "2025-11-25");
    asking_connect(&w, "2026-07-28", "ann", "{}");
    call_log(&w, true, "{}", "");
    asking_say(&w, "tools/list", "\"a\":1", "{}");
    for (int i = 0; i < 300; i++)
        wires_put(w.open, false, MCP_STR(NOTICE "\"level\":\"error\",\"data\":1}}"));
    const char *got = call_log(&w, true, "{}", LEVEL("error"));
    wires_has(got, "log messages of this server were left out");
    assert_true(strstr(got, "were left out") < strstr(got, "\"result\""));
    close_all(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pairs),      cmocka_unit_test(test_first_call),
        cmocka_unit_test(test_capability), cmocka_unit_test(test_text),
        cmocka_unit_test(test_callers),    cmocka_unit_test(test_in_flight),
        cmocka_unit_test(test_anonymous),  cmocka_unit_test(test_flood),
        cmocka_unit_test(test_told),
    };
    return cmocka_run_group_tests_name("upstream: logs", tests, NULL, NULL);
}
