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
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_metrics_by_name),
                                       cmocka_unit_test(test_metrics_of_limits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
