/* Another server as a provider: forwarded messages, sessions of each principal, names, changes, a
 * server that disconnects and reconnects, cancellation, every allocation failing.
 */
#include "wires.h"

static mcp_request *kept;
static size_t cancelled, watched;

static int call(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)user;
    mcp_request_progress(req, 1, 2, "half");
    mcp_str who = mcp_json_string(mcp_json_get(arguments, "a"));
    const char *principal = mcp_request_principal(req);
    return mcp_reply_textf(req, "%s:%.*s", principal ? principal : "-", (int)who.len,
                           who.ptr ? who.ptr : "");
}

static void gone(mcp_request *req, void *user)
{
    (void)user;
    cancelled++;
    kept = NULL;
    mcp_reply_finish(req, MCP_ECANCELLED);
}

static int wait_for(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)arguments, (void)user;
    kept = req;
    mcp_request_on_cancel(req, gone, NULL);
    return MCP_PENDING;
}

static int get(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)arguments, (void)user;
    return mcp_reply_text(req, "prompted");
}

static int complete(mcp_request *req, mcp_str name, mcp_str value, const mcp_json *context,
                    void *user)
{
    (void)name, (void)value, (void)context, (void)user;
    return mcp_reply_completion(req, MCP_STR("completed"));
}

static int read_one(mcp_request *req, mcp_str uri, const mcp_uri_match *match, void *user)
{
    (void)match, (void)user;
    return mcp_reply_textf(req, "<%.*s>", (int)uri.len, uri.ptr);
}

static int resolve(mcp_str uri, char *canonical, size_t room, void *user)
{
    (void)user;
    snprintf(canonical, room, "%.*s", (int)uri.len, uri.ptr);
    return MCP_OK;
}

static int watch(const char *canonical, void *user)
{
    (void)canonical, (void)user;
    watched++;
    return MCP_OK;
}

static void unwatch(const char *canonical, void *user)
{
    (void)canonical, (void)user;
    watched--;
}

#define LONG_NAME "a.name.with.what.a.host-does.not.take.and.that.is.also.much.too.long.for.it"

static mcp_server *other_new(void)
{
    static const mcp_prompt_argument argument = {.size = sizeof(argument), .name = "a"};
    static const mcp_provider provider = {.size = sizeof(provider),
                                          .name = "m",
                                          .resolve = resolve,
                                          .watch = watch,
                                          .unwatch = unwatch};
    mcp_server *s;
    assert_int_equal(mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "rig", .version = "1",
                                                .coalesce_ms = 1),
                                    &s, NULL),
                     MCP_OK);
    mcp_server_add_tool(s, MCP_OPTIONS(mcp_tool, .name = "t", .call = call), NULL, NULL);
    mcp_server_add_tool(s, MCP_OPTIONS(mcp_tool, .name = "w", .call = wait_for), NULL, NULL);
    mcp_server_add_tool(s, MCP_OPTIONS(mcp_tool, .name = LONG_NAME, .call = call), NULL, NULL);
    mcp_server_add_prompt(s,
                          MCP_OPTIONS(mcp_prompt, .name = "p", .arguments = &argument,
                                      .n_arguments = 1, .get = get, .complete = complete),
                          NULL, NULL);
    mcp_server_add_resource(
        s, MCP_OPTIONS(mcp_resource, .uri = "x:/r", .name = "r", .read = read_one), NULL, NULL);
    mcp_server_add_template(s,
                            MCP_OPTIONS(mcp_resource_template, .uri_template = "x:/{n}",
                                        .name = "n", .read = read_one, .complete = complete),
                            NULL, NULL);
    mcp_server_mount(s, "m:", &provider, NULL, NULL);
    return s;
}

static void open_all(wires *w)
{
    *w = (wires){0};
    assert_int_equal(wires_open(w, other_new()), MCP_OK);
    assert_int_equal(wires_peer(w, w->front, "ann"), MCP_OK);
}

static void close_all(wires *w)
{
    wires_close(w);
    mcp_server_free(w->other);
}

static void test_passes(void **state)
{
    (void)state;
    static wires w;
    open_all(&w);
    wires_has(wires_ask(&w, "server/discover", ""), "\"tools\":{");
    assert_int_equal(w.connects, 0);
    wires_has(wires_ask(&w, "resources/list", ""), "\"uri\":\"mcp+up:x:/r\"");
    wires_has(wires_ask(&w, "resources/templates/list", ""), "\"uriTemplate\":\"mcp+up:x:/{n}\"");
    wires_has(wires_ask(&w, "tools/list", ""), "\"name\":\"up_t\"");
    wires_has(wires_ask(&w, "prompts/list", ""), "\"name\":\"up_p\"");
    wires_has(wires_ask(&w, "resources/read", "\"uri\":\"mcp+up:x:/r\""), "\"text\":\"<x:/r>\"");
    wires_has(wires_ask(&w, "resources/read", "\"uri\":\"mcp+up:y:/r\""),
              "\"data\":{\"uri\":\"mcp+up:y:/r\"}");
    wires_has(wires_ask(&w, "resources/read", "\"uri\":\"mcp+up:\""), "not found");
    wires_has(wires_ask(&w, "tools/call", "\"name\":\"up_t\",\"arguments\":{\"a\":\"b\"}"),
              "\"text\":\"ann:b\"");
    wires_has(wires_ask(&w, "tools/call", "\"name\":\"up_none\""), "Unknown tool: none");
    wires_has(wires_ask(&w, "tools/call", "\"name\":\"t\""), "Unknown tool: t");
    wires_has(wires_ask(&w, "prompts/get", "\"name\":\"up_p\""), "prompted");
    wires_has(wires_ask(&w, "completion/complete",
                        "\"ref\":{\"type\":\"ref/prompt\",\"name\":\"up_p\"},"
                        "\"argument\":{\"name\":\"a\",\"value\":\"\"}"),
              "completed");
    wires_has(wires_ask(&w, "completion/complete",
                        "\"ref\":{\"type\":\"ref/resource\",\"uri\":\"mcp+up:x:/{n}\"},"
                        "\"argument\":{\"name\":\"n\",\"value\":\"\"}"),
              "completed");
    assert_int_equal(w.connects, 1);
    close_all(&w);
}

static void test_names(void **state)
{
    (void)state;
    static wires w;
    char name[80], params[128];
    open_all(&w);
    const char *list = wires_ask(&w, "tools/list", ""), *at = strstr(list, "\"up_a_name_");
    wires_has(list, "up_a_name");
    assert_non_null(at);
    snprintf(name, sizeof(name), "%.*s", (int)strcspn(at + 1, "\""), at + 1);
    assert_int_equal(strlen(name), 64);
    snprintf(params, sizeof(params), "\"name\":\"%s\"", name);
    wires_has(wires_ask(&w, "tools/call", params), "\"text\":\"ann:\"");
    wires_close(&w);
    mcp_server *other = w.other;
    /* A tool name from before a restart is still recognized, because the list is read first. */
    w = (wires){0};
    assert_int_equal(wires_open(&w, other), MCP_OK);
    assert_int_equal(wires_peer(&w, w.front, "ann"), MCP_OK);
    wires_has(wires_ask(&w, "tools/call", params), "\"text\":\"ann:\"");
    wires_has(wires_ask(&w, "tools/call", "\"name\":\"up_a_0000000000000000\""),
              "Unknown tool: up_a_0000000000000000");
    close_all(&w);
}

static int read_any(mcp_request *req, mcp_str uri, void *user)
{
    (void)uri, (void)user;
    return mcp_reply_text(req, "any");
}

/* One server alone may keep its names and URIs, but nothing may be mounted beside it. */
static void test_transparent(void **state)
{
    (void)state;
    static wires w;
    static const mcp_provider any = {.size = sizeof(any), .name = "any", .read = read_any};
    mcp_error error;
    w = (wires){.transparent = true};
    assert_int_equal(wires_open(&w, other_new()), MCP_OK);
    assert_int_equal(wires_peer(&w, w.front, "ann"), MCP_OK);
    wires_has(wires_ask(&w, "resources/list", ""), "\"uri\":\"x:/r\"");
    wires_has(wires_ask(&w, "resources/templates/list", ""), "\"uriTemplate\":\"x:/{n}\"");
    wires_has(wires_ask(&w, "tools/list", ""), "\"name\":\"" LONG_NAME "\"");
    wires_has(w.reply, "\"name\":\"t\"");
    wires_has(wires_ask(&w, "prompts/list", ""), "\"name\":\"p\"");
    wires_has(wires_ask(&w, "resources/read", "\"uri\":\"x:/r\""), "\"text\":\"<x:/r>\"");
    wires_has(wires_ask(&w, "resources/read", "\"uri\":\"y:/r\""), "\"data\":{\"uri\":\"y:/r\"}");
    wires_has(wires_ask(&w, "tools/call", "\"name\":\"" LONG_NAME "\""), "\"text\":\"ann:\"");
    wires_has(wires_ask(&w, "tools/call", "\"name\":\"none\""), "Unknown tool: none");
    wires_has(wires_ask(&w, "prompts/get", "\"name\":\"p\""), "prompted");
    wires_has(wires_ask(&w, "completion/complete",
                        "\"ref\":{\"type\":\"ref/resource\",\"uri\":\"x:/{n}\"},"
                        "\"argument\":{\"name\":\"n\",\"value\":\"\"}"),
              "completed");
    assert_int_equal(mcp_server_mount(w.front, "any:", &any, NULL, &error), MCP_EEXIST);
    assert_string_equal(error.text,
                        "up has all URIs and names, so that nothing else can be mounted");
    close_all(&w);
    w = (wires){0};
    mcp_server *other = other_new();
    assert_int_equal(wires_open(&w, other), MCP_OK);
    w.transparent = true;
    assert_int_equal(wires_mount(w.front, &w, &error), MCP_EEXIST);
    wires_close(&w);
    mcp_server_free(other);
}

/* A tool whose name had to be changed is hidden by its original name, whether or not the changed name
 * was listed before. */
static void test_hidden(void **state)
{
    (void)state;
    static wires w;
    static const char *const hidden[] = {LONG_NAME, NULL};
    char params[128];
    open_all(&w);
    const char *at = strstr(wires_ask(&w, "tools/list", ""), "\"up_a_name_");
    assert_non_null(at);
    snprintf(params, sizeof(params), "\"name\":\"%.*s\"", (int)strcspn(at + 1, "\""), at + 1);
    assert_int_equal(strspn(at + 1 + 48, "0123456789abcdef"), 16);
    close_all(&w);
    for (int listed = 0; listed < 2; listed++) {
        w = (wires){.hide_tools = hidden};
        assert_int_equal(wires_open(&w, other_new()), MCP_OK);
        assert_int_equal(wires_peer(&w, w.front, "ann"), MCP_OK);
        if (listed)
            assert_null(strstr(wires_ask(&w, "tools/list", ""), "up_a_name_"));
        wires_has(wires_ask(&w, "tools/call", params), "Unknown tool");
        wires_has(wires_ask(&w, "tools/call", "\"name\":\"up_t\""), "ann:");
        close_all(&w);
    }
}

/* The requests in flight are limited, for each caller and in all. */
static void test_calls(void **state)
{
    (void)state;
    static wires w;
    w = (wires){.max_calls = 2, .max_calls_in_all = 3, .max_sessions = 8};
    assert_int_equal(wires_open(&w, other_new()), MCP_OK);
    assert_int_equal(wires_peer(&w, w.front, "ann"), MCP_OK);
    for (int i = 0; i < 2; i++) {
        char message[256];
        snprintf(message, sizeof(message),
                 "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\",\"params\":{\"name\":"
                 "\"up_w\"," WIRES_META "}}",
                 10 + i);
        assert_string_equal(wires_say(&w, message), "");
    }
    wires_has(wires_ask(&w, "tools/call", "\"name\":\"up_t\""),
              "The server up does not answer: too many requests are in flight (max_calls)");
    mcp_channel *ann = w.peer;
    w.peer = NULL;
    assert_int_equal(wires_peer(&w, w.front, "bob"), MCP_OK);
    wires_has(wires_ask(&w, "tools/call", "\"name\":\"up_t\""), "bob:");
    assert_string_equal(wires_ask(&w, "tools/call", "\"name\":\"up_w\""), "");
    mcp_channel *bob = w.peer;
    w.peer = NULL;
    assert_int_equal(wires_peer(&w, w.front, "cyd"), MCP_OK);
    wires_has(wires_ask(&w, "tools/call", "\"name\":\"up_t\""), "(max_calls_in_all)");
    mcp_channel_free(bob); /* cancels the call */
    wires_run(&w);
    wires_has(wires_ask(&w, "tools/call", "\"name\":\"up_t\""), "cyd:");
    mcp_channel_free(ann);
    close_all(&w);
}

static void test_sessions(void **state)
{
    (void)state;
    static wires w;
    static const char *const who[] = {"ann", "bob", "ann", NULL};
    open_all(&w);
    for (size_t i = 0; i < 4; i++) {
        char text[32];
        assert_int_equal(wires_peer(&w, w.front, who[i]), MCP_OK);
        snprintf(text, sizeof(text), "\"text\":\"%s:", who[i] ? who[i] : "-");
        wires_has(wires_ask(&w, "tools/call", "\"name\":\"up_t\""), text);
    }
    assert_int_equal(w.connects, 3); /* the third session replaced an idle one */
    wires_timers(&w, false);
    assert_non_null(w.open->next);
    assert_null(w.open->next->next);
    w.now += 2000;
    wires_timers(&w, false);
    assert_null(w.open);
    wires_has(wires_ask(&w, "tools/call", "\"name\":\"up_t\""), "\"text\":\"-:");
    close_all(&w);
}

static void test_limit(void **state)
{
    (void)state;
    static wires w;
    static const char *const who[] = {"a", "b", "c"};
    mcp_channel *busy[2];
    open_all(&w);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(wires_peer(&w, w.front, who[i]), MCP_OK);
        const char *reply = wires_ask(&w, "tools/call", "\"name\":\"up_w\"");
        if (i == 2)
            wires_has(reply, "max_sessions");
        else
            busy[i] = w.peer, w.peer = NULL;
    }
    mcp_channel_free(busy[0]);
    mcp_channel_free(busy[1]);
    wires_run(&w);
    assert_true(cancelled >= 1);
    close_all(&w);
}

static void test_down(void **state)
{
    (void)state;
    static wires w;
    open_all(&w);
    w.down = true;
    mcp_server_add_resource(w.front,
                            MCP_OPTIONS(mcp_resource, .uri = "own:1", .name = "o", .text = "here"),
                            NULL, NULL);
    wires_has(wires_ask(&w, "resources/read", "\"uri\":\"mcp+up:x:/r\""),
              "The server up does not answer");
    wires_has(wires_ask(&w, "resources/list", ""), "own:1");
    wires_has(wires_ask(&w, "resources/read", "\"uri\":\"own:1\""), "here");
    w.down = false;
    wires_has(wires_ask(&w, "resources/read", "\"uri\":\"mcp+up:x:/r\""), "<x:/r>");
    wires_cut(w.open);
    wires_has(wires_ask(&w, "resources/read", "\"uri\":\"mcp+up:x:/r\""), "<x:/r>");
    /* the connection is lost during a call */
    mcp_channel_receive(w.peer, 0,
                        MCP_STR("{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\""
                                ":{\"name\":\"up_w\"," WIRES_META "}}"),
                        w.now);
    wires_run(&w);
    wires_cut(w.open);
    wires_run(&w);
    wires_has(w.reply, "The server up does not answer: the wire was cut");
    close_all(&w);
}

static void test_cancel(void **state)
{
    (void)state;
    static wires w;
    open_all(&w);
    cancelled = 0;
    assert_string_equal(wires_ask(&w, "tools/call", "\"name\":\"up_w\""), "");
    wires_say(&w, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
                  "\"requestId\":1}}");
    assert_int_equal(cancelled, 1);
    wires_has(wires_ask(&w, "tools/call", "\"name\":\"up_t\""), "ann:");
    close_all(&w);
}

static void test_progress(void **state)
{
    (void)state;
    static wires w;
    open_all(&w);
    wires_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":"
                  "\"up_t\",\"_meta\":{\"progressToken\":\"tok\","
                  "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
                  "\"io.modelcontextprotocol/clientCapabilities\":{}}}}");
    assert_int_equal(w.notices, 1);
    wires_has(w.notice, "\"progressToken\":\"tok\",\"progress\":1,\"total\":2,"
                        "\"message\":\"half\"");
    close_all(&w);
}

static void greet(wires *w)
{
    wires_say(w, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{"
                 "\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},"
                 "\"clientInfo\":{\"name\":\"c\",\"version\":\"1\"}}}");
    wires_say(w, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
}

static void test_changes(void **state)
{
    (void)state;
    static wires w;
    open_all(&w);
    greet(&w);
    wires_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\"}");
    assert_int_equal(w.notices, 0);
    mcp_server_add_tool(w.other, MCP_OPTIONS(mcp_tool, .name = "new", .call = call), NULL, NULL);
    wires_run(&w);
    wires_has(w.notice, "notifications/tools/list_changed");
    wires_has(wires_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"resources/subscribe\","
                            "\"params\":{\"uri\":\"mcp+up:m:/ab\"}}"),
              "\"result\":{}");
    assert_int_equal(watched, 1);
    w.notices = 0;
    mcp_server_resource_updated(w.other, "m:/ab");
    wires_run(&w);
    assert_int_equal(w.notices, 1);
    wires_has(w.notice, "\"uri\":\"mcp+up:m:/ab\"");
    /* a session with subscriptions does not count as idle */
    w.now += 5000;
    wires_timers(&w, false);
    assert_non_null(w.open);
    wires_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"resources/unsubscribe\","
                  "\"params\":{\"uri\":\"mcp+up:m:/ab\"}}");
    assert_int_equal(watched, 0);
    w.now += 5000;
    wires_timers(&w, false);
    assert_null(w.open);
    close_all(&w);
}

static bool use_all(wires *w)
{
    static const struct {
        const char *method, *params;
    } asks[] = {
        {"tools/list", ""},
        {"resources/list", ""},
        {"resources/read", "\"uri\":\"mcp+up:x:/r\""},
        {"tools/call", "\"name\":\"up_t\""},
        {"tools/call", "\"name\":\"up_a_0000000000000000\""},
        {"subscriptions/listen", "\"notifications\":{\"toolsListChanged\":true,"
                                 "\"resourceSubscriptions\":[\"mcp+up:m:/a\"]}"},
    };
    if (wires_open(w, w->other) != MCP_OK || wires_peer(w, w->front, "ann") != MCP_OK)
        return false;
    for (size_t i = 0; i < sizeof(asks) / sizeof(asks[0]); i++)
        wires_ask(w, asks[i].method, asks[i].params);
    return true;
}

static void test_no_memory(void **state)
{
    (void)state;
    static wires w;
    mcp_server *other = other_new();
    for (size_t at = 1; at < 3000; at++) {
        w = (wires){.memory = {.fail_at = at}, .other = other};
        bool opened = use_all(&w);
        bool through = w.memory.calls < at;
        wires_close(&w);
        if (opened && through) {
            mcp_server_free(other);
            return;
        }
    }
    fail();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_passes),      cmocka_unit_test(test_names),
        cmocka_unit_test(test_transparent), cmocka_unit_test(test_sessions),
        cmocka_unit_test(test_hidden),      cmocka_unit_test(test_calls),
        cmocka_unit_test(test_limit),       cmocka_unit_test(test_down),
        cmocka_unit_test(test_cancel),      cmocka_unit_test(test_progress),
        cmocka_unit_test(test_changes),     cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests_name("upstream", tests, NULL, NULL);
}
