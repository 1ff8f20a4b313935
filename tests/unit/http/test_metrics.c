/* /metrics: the counters of tools and sources, in the format of Prometheus. */
#include "rig.h"

#define POST "POST /mcp HTTP/1.1\n{{std}}Content-Length: {{len}}\n\n"
#define CALL(method, params) \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"" method "\",\"params\":{ " params "} }"

static int64_t late_clock(void *user)
{
    return ((rig *)user)->now + 7;
}

static int read_nothing(mcp_request *req, mcp_str uri, void *user)
{
    (void)req, (void)uri, (void)user;
    return MCP_ENOTFOUND;
}

static void append(mcp_str piece, void *arg)
{
    strncat(arg, piece.ptr, piece.len);
}

/* Tools and sources have escaped names; names that a peer invented do not appear. */
static void test_metrics_by_name(void **state)
{
    (void)state;
    static const char *const params[] = {
        "\"name\":\"echo\"",         "\"name\":\"fails\"",       "\"name\":\"refuses\"",
        "\"name\":\"in\\\"vented\"", "\"name\":\"in\\nvented\"",
    };
    rig r;
    rig_begin(&r, &(mcp_http_options){.clock = late_clock});
    assert_int_equal(mcp_server_mount(fixture_server(r.fixture), "x:\"a\\b\nc",
                                      MCP_OPTIONS(mcp_provider, .name = "x", .read = read_nothing),
                                      NULL, NULL),
                     MCP_OK);
    wire w;
    wire_open(&w, &r);
    for (size_t i = 0; i < COUNT(params); i++) {
        char request[1024];
        snprintf(request, sizeof(request),
                 "POST /mcp HTTP/1.1\n{{std}}Content-Length: {{len}}\n\n"
                 "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{%s} }",
                 params[i]);
        wire_send(&w, request);
    }
    wire_send(&w, POST CALL("resources/read", "\"uri\":\"x:\\\"a\\\\b\\ncd\""));
    wire_send(&w, POST CALL("resources/read", "\"uri\":\"mem:a\""));
    char label[64] = "";
    mcp_metric_label(MCP_STR("y:\xC3\xA9\xFF\"\\\n\xE2\x82"), append, label);
    assert_string_equal(label, "y:\xC3\xA9\xEF\xBF\xBD\\\"\\\\\\n\xEF\xBF\xBD\xEF\xBF\xBD");
    w.len = 0;
    wire_send(&w, "GET /metrics HTTP/1.1\nHost: localhost\n\n");
    wire_expect(&w,
                "~mcp_tool_calls_total{tool=\"echo\",result=\"ok\"} 1\n"
                "mcp_tool_calls_total{tool=\"fails\",result=\"tool_error\"} 1\n"
                "mcp_tool_calls_total{tool=\"refuses\",result=\"error\"} 1\n"
                "mcp_tool_calls_total{tool=\"other\",result=\"error\"} 2\n"
                "# HELP ~\nmcp_tool_calls_in_flight{tool=\"echo\"} 0\n~"
                "mcp_tool_call_duration_seconds_bucket{tool=\"echo\",le=\"0.01\"} 1\n~"
                "mcp_tool_call_duration_seconds_bucket{tool=\"echo\",le=\"60\"} 1\n"
                "mcp_tool_call_duration_seconds_bucket{tool=\"echo\",le=\"+Inf\"} 1\n"
                "mcp_tool_call_duration_seconds_sum{tool=\"echo\"} 0\n"
                "mcp_tool_call_duration_seconds_count{tool=\"echo\"} 1\n~"
                "mcp_source_reads_total{source=\"mem:\",result=\"ok\"} 1\n"
                "mcp_source_reads_total{source=\"x:\\\"a\\\\b\\nc\",result=\"error\"} 1\n# HELP ~"
                "mcp_source_read_bytes_total{source=\"mem:\"} ~");
    assert_null(strstr(wire_text(&w), "vented"));
    wire_end(&w);
    rig_end(&r);
}

static void refuse_one(mcp_http_login *login, void *user)
{
    mcp_str token;
    char word[32];
    (void)user;
    bool has_token = mcp_http_login_header(login, "Authorization", &token);
    snprintf(word, sizeof(word), "%.*s", has_token ? (int)token.len : 0, token.ptr);
    if (!has_token)
        mcp_http_login_accept(login, NULL);
    else
        mcp_http_login_refuse(login, mcp_str_eq(token, MCP_STR("Bearer none"))
                                         ? NULL
                                         : MCP_OPTIONS(mcp_http_denial, .reason = word));
}

/* Refusals are counted by reason, those of logins by the words of the program, of which there is a limited
 * number. */
static void test_metrics_of_refusals(void **state)
{
    (void)state;
    rig r;
    wire w;
    rig_begin(&r, &(mcp_http_options){.authenticate = refuse_one});
    wire_open(&w, &r);
    wire_send(&w, "GET /nowhere HTTP/1.1\nHost: localhost\n\n");
    wire_send(&w, "GET /mcp HTTP/1.1\nHost: evil.example\n\n");
    wire_send(&w, "GET /mcp HTTP/1.1\nHost: localhost\nAuthorization: Bearer none\n\n");
    for (int i = 0; i < 50; i++) {
        char request[200];
        snprintf(request, sizeof(request),
                 "GET /mcp HTTP/1.1\nHost: localhost\nAuthorization: NEW_%02d\n\n", i);
        wire_send(&w, request);
        wire_send(&w, "GET /mcp HTTP/1.1\nHost: localhost\nAuthorization: NEW_07\n\n");
        w.len = 0;
    }
    wire_send(&w, "GET /metrics HTTP/1.1\nHost: localhost\n\n");
    wire_expect(&w, "~mcp_login_refusals_total{reason=\"unauthorized\"} 1\n"
                    "mcp_login_refusals_total{reason=\"new_00\"} 1\n"
                    "mcp_login_refusals_total{reason=\"new_07\"} 51\n~"
                    "mcp_login_refusals_total{reason=\"new_38\"} 1\n"
                    "mcp_login_refusals_total{reason=\"other\"} 11\n~"
                    "mcp_http_refusals_total{reason=\"bad_host\"} 1\n"
                    "mcp_http_refusals_total{reason=\"no_path\"} 1\n"
                    "mcp_http_refusals_total{reason=\"unauthorized\"} 101\n#~");
    wire_end(&w);
    rig_end(&r);
}

#define LISTEN                                                                             \
    "POST /mcp HTTP/1.1\n{{modern subscriptions/listen}}Content-Length: {{len}}\n\n" CALL( \
        "subscriptions/listen", "\"notifications\":{},{{meta}}")

static int64_t fine_clock(void *user)
{
    static int64_t at;
    (void)user;
    return at += 300;
}

/* A stream is in no duration; it is counted on its own, with its age. */
static void test_metrics_of_streams(void **state)
{
    (void)state;
    rig r;
    wire stream, w;
    rig_begin(&r, &(mcp_http_options){.clock_us = fine_clock});
    wire_open(&stream, &r);
    wire_open(&w, &r);
    wire_send(&stream, LISTEN);
    wire_send(&w, POST CALL("tools/list", ""));
    wire_end(&stream);
    wire_open(&stream, &r);
    wire_send(&stream, LISTEN);
    r.now += 9000;
    w.len = 0;
    wire_send(&w, "GET /metrics HTTP/1.1\nHost: localhost\n\n");
    wire_expect(&w, "~mcp_requests_total{method=\"subscriptions/listen\",result=\"ok\"} 1\n~"
                    "# TYPE mcp_method_duration_seconds histogram\n"
                    "mcp_method_duration_seconds_bucket{method=\"tools/list\",le=\"0.0005\"} 1\n~"
                    "mcp_method_duration_seconds_sum{method=\"tools/list\"} 0.0003\n"
                    "mcp_method_duration_seconds_count{method=\"tools/list\"} 1\n#~"
                    "mcp_request_duration_seconds_bucket{le=\"0.0005\"} 1\n~"
                    "mcp_streams 1\n~mcp_streams_total 2\n~mcp_stream_events_total 2\n~"
                    "mcp_stream_oldest_seconds 9\n~");
    wire_end(&stream);
    wire_end(&w);
    rig_end(&r);
}

static const char *option_name(const char *member, void *user)
{
    (void)user;
    return strcmp(member, "max_connections") == 0 ? "--most" : NULL;
}

/* Each limit has its value, its use, and the refusals that it caused. */
static void test_metrics_of_limits(void **state)
{
    (void)state;
    rig r;
    wire w[5];
    rig_begin(&r, &(mcp_http_options){.max_connections = 4,
                                      .max_per_address = 2,
                                      .max_memory = 1 << 20,
                                      .max_share = 1 << 18,
                                      .option_name = option_name});
    assert_int_equal(wire_open_from(&w[0], &r, "a"), MCP_OK);
    assert_int_equal(wire_open_from(&w[1], &r, "a"), MCP_OK);
    assert_int_equal(wire_open_from(&w[2], &r, "a"), MCP_ELIMIT);
    wire_end(&w[2]);
    assert_int_equal(wire_open_from(&w[2], &r, "b"), MCP_OK);
    assert_int_equal(wire_open_from(&w[3], &r, "c"), MCP_OK);
    assert_int_equal(wire_open_from(&w[4], &r, "d"), MCP_ELIMIT);
    wire_expect(&w[4], "HTTP/1.1 503 ~4 connections already (--most)~");
    wire_end(&w[4]);
    wire_end(&w[3]);
    wire_send(&w[2], "GET /metrics HTTP/1.1\nHost: localhost\n\n");
    wire_expect(&w[2], "~\nmcp_limit{limit=\"max_memory\"} 1048576\n"
                       "mcp_limit{limit=\"max_share\"} 262144\n"
                       "mcp_limit{limit=\"max_work_memory\"} 134217728\n"
                       "mcp_limit{limit=\"--most\"} 4\n"
                       "mcp_limit{limit=\"max_per_address\"} 2\n"
                       "mcp_limit{limit=\"max_per_principal\"} 5000\n"
                       "mcp_limit{limit=\"max_sessions\"} 10000\n~"
                       "mcp_limit_used{limit=\"--most\"} 3\n"
                       "mcp_limit_used{limit=\"max_per_address\"} 2\n"
                       "mcp_limit_used{limit=\"max_per_principal\"} 0\n"
                       "mcp_limit_used{limit=\"max_sessions\"} 0\n~"
                       "mcp_limit_refusals_total{limit=\"max_share\"} 0\n"
                       "mcp_limit_refusals_total{limit=\"max_work_memory\"} 0\n"
                       "mcp_limit_refusals_total{limit=\"--most\"} 1\n"
                       "mcp_limit_refusals_total{limit=\"max_per_address\"} 1\n"
                       "mcp_limit_refusals_total{limit=\"max_per_principal\"} 0\n"
                       "mcp_limit_refusals_total{limit=\"keep_files\"} 0\n~");
    for (size_t i = 0; i < 3; i++)
        wire_end(&w[i]);
    rig_end(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_metrics_by_name), cmocka_unit_test(test_metrics_of_refusals),
        cmocka_unit_test(test_metrics_of_streams), cmocka_unit_test(test_metrics_of_limits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
