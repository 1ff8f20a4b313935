/* What another server learns of a trace, and the part of a traced request in which it is asked. */
#include "wires.h"

#define ID     "4bf92f3577b34da6a3ce929d0e0e4736"
#define THEIRS "00-" ID "-00f067aa0ba902b7-00"

static char got[1024], told[512]; /* of the other server: _meta; the last trace */
static wires w;

static int call(mcp_request *req, const mcp_json *arguments, void *user)
{
    static const char *const members[] = {"traceparent", "tracestate", "baggage"};
    (void)arguments, (void)user;
    got[0] = '\0';
    for (size_t i = 0; i < 3; i++) {
        mcp_str text = mcp_json_string(mcp_json_get(mcp_request_meta(req), members[i]));
        size_t len = strlen(got);
        if (text.ptr)
            snprintf(got + len, sizeof(got) - len, "%s=%.*s;", members[i], (int)text.len, text.ptr);
    }
    mcp_json_iter it = {0};
    const mcp_json *arg = mcp_json_next(arguments, &it, NULL);
    return arg ? mcp_reply_fail(req, MCP_CODE_INTERNAL, "no") : mcp_reply_text(req, "called");
}

static void ended(const mcp_trace *trace, void *user)
{
    static const char *const kinds[] = {"request", "source", "call", "work"};
    size_t len = 0;
    (void)user;
    for (const mcp_span *s = trace->spans; s; s = s->next)
        len += (size_t)snprintf(told + len, sizeof(told) - len, "%s%s%s%s;", kinds[s->kind],
                                s->name ? " " : "", s->name ? s->name : "",
                                s->failed ? " failed" : "");
}

static int list_nothing(mcp_request *req, mcp_str cursor, size_t max, void *user)
{
    (void)req, (void)cursor, (void)max, (void)user;
    return MCP_OK;
}

static void begin(double share)
{
    static const mcp_provider plain = {.size = sizeof(plain), .name = "rig", .list = list_nothing};
    mcp_server *other;
    told[0] = '\0';
    assert_int_equal(mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "rig", .version = "1"),
                                    &other, NULL),
                     MCP_OK);
    assert_int_equal(
        mcp_server_add_tool(other, MCP_OPTIONS(mcp_tool, .name = "t", .call = call), NULL, NULL),
        MCP_OK);
    w = (wires){.revision = "2026-07-28", .max_sessions = 4};
    assert_int_equal(wires_open(&w, other), MCP_OK);
    assert_int_equal(mcp_server_mount(w.front, "rig:", &plain, NULL, NULL), MCP_OK);
    assert_int_equal(mcp_server_set_trace(w.front, share, ended, NULL), MCP_OK);
    assert_int_equal(wires_peer(&w, w.front, "ann"), MCP_OK);
}

static void end(void)
{
    wires_close(&w);
    mcp_server_free(w.other);
}

/* Calls up_t with these members of _meta and these arguments. */
static const char *ask(const char *meta, const char *arguments)
{
    char message[2048], ours[] = WIRES_META;
    ours[strlen(ours) - 1] = '\0';
    snprintf(
        message, sizeof(message),
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"up_t\","
        "\"arguments\":{%s},%s%s%s}}}",
        arguments, ours, *meta ? "," : "", meta);
    return wires_say(&w, message);
}

#define STATE_512                                                                                \
    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789" \
    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789" \
    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789" \
    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789" \
    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789" \
    "01234567890123456789012345678901234567890123456789012345678901"

static void test_untraced(void **state)
{
    static const struct {
        const char *meta, *got;
    } rows[] = {
        {"", ""},
        {"\"traceparent\":\"" THEIRS "\"", "traceparent=" THEIRS ";"},
        {"\"traceparent\":\"" THEIRS "\",\"tracestate\":\"a=b\",\"baggage\":\"c=d\"",
         "traceparent=" THEIRS ";tracestate=a=b;"},
        {"\"tracestate\":\"a=b\",\"traceparent\":\"" THEIRS "\"",
         "traceparent=" THEIRS ";tracestate=a=b;"},
        {"\"traceparent\":\"" THEIRS "\",\"tracestate\":\"" STATE_512 "\"",
         "traceparent=" THEIRS ";tracestate=" STATE_512 ";"},
        {"\"traceparent\":\"" THEIRS "\",\"tracestate\":\"" STATE_512 "x\"",
         "traceparent=" THEIRS ";"},
        {"\"traceparent\":\"" THEIRS "\",\"tracestate\":7", "traceparent=" THEIRS ";"},
        {"\"traceparent\":\"no\",\"tracestate\":\"a=b\"", ""},
        {"\"traceparent\":\"00-" ID "-0000000000000000-01\",\"tracestate\":\"a=b\"", ""},
        {"\"tracestate\":\"a=b\",\"baggage\":\"c=d\"", ""},
    };
    (void)state;
    assert_int_equal(strlen(STATE_512), 512);
    begin(0);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        wires_has(ask(rows[i].meta, ""), "called");
        assert_string_equal(got, rows[i].got);
    }
    assert_string_equal(told, "");
    end();
}

static void test_traced(void **state)
{
    (void)state;
    begin(1);
    wires_has(ask("\"traceparent\":\"" THEIRS "\",\"tracestate\":\"a=b\"", ""), "called");
    assert_string_equal(told, "request;source mcp+up:;call up;");
    assert_memory_equal(got, "traceparent=00-" ID "-", 48);
    assert_memory_not_equal(got + 48, "00f067aa0ba902b7", 16);
    assert_string_equal(got + 64, "-01;tracestate=a=b;");
    /* a trace of our own has no state of theirs */
    wires_has(ask("\"tracestate\":\"a=b\"", ""), "called");
    assert_int_equal(strlen(got), strlen("traceparent=" THEIRS ";"));
    wires_has(ask("", "\"fail\":1"), "error");
    assert_string_equal(told, "request failed;source mcp+up: failed;call up failed;");
    wires_has(wires_ask(&w, "tools/list", ""), "up_t");
    assert_string_equal(told, "request;source mcp+up:;call up;");
    end();
}

/* The session ends while it is asked. */
static void test_lost(void **state)
{
    (void)state;
    begin(1);
    wires_has(ask("", ""), "called");
    w.open->hung = true;
    ask("", "");
    wires_cut(w.open);
    wires_run(&w);
    assert_string_equal(told, "request failed;source mcp+up: failed;call up failed;");
    end();
}

/* A list is without a server that is lost: the call has failed, and the request has not. */
static void test_left_out(void **state)
{
    (void)state;
    begin(1);
    wires_has(wires_ask(&w, "resources/list", ""), "\"resources\":");
    assert_string_equal(told,
                        "request;source mcp+up:;call up failed;source rig:;"); /* it has none */
    w.open->hung = true;
    wires_ask(&w, "resources/list", "");
    wires_cut(w.open);
    wires_run(&w);
    wires_has(w.reply, "\"resources\":");
    assert_string_equal(told, "request;source mcp+up:;call up failed;source rig:;");
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_untraced),
                                       cmocka_unit_test(test_traced), cmocka_unit_test(test_lost),
                                       cmocka_unit_test(test_left_out)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
