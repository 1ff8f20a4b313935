/* Compares the arguments of a tool with the headers that repeat them. */
#include "rig.h"

#define MISMATCH                                                                           \
    "HTTP/1.1 400 Bad Request\nContent-Type: application/json\n~\n\n{\"jsonrpc\":\"2.0\"," \
    "\"id\":1,\"error\":{\"code\":-32020,\"message\":\"Header mismatch: Mcp-Param-Value ~\"}}"

static int called(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)arguments, (void)user;
    return mcp_reply_text(req, "called");
}

static const struct {
    const char *header, *argument;
    bool agree;
} parameters_cases[] = {
    {"42", "42", true},
    {"42.0", "42", true},
    {"42", "42.0", true},
    {"4.2e1", "42", true},
    {"=?base64?NDI=?=", "42", true},
    {"43", "42", false},
    {"", "42", false},
    {"forty-two", "42", false},
    {"42 43", "42", false},
    {"9007199254740993", "9007199254740993", true},
    {"9007199254740992", "9007199254740993", false},
    {"9007199254740992.9", "9007199254740993", false},
    /* beyond 2^53 the original text is lost */
    {"9007199254740992", "9007199254740993.0", false},
    {"9007199254740993", "9007199254740993.0", false},
    {"18446744073709551615", "18446744073709551615", true},
    {"100000000000000000000", "100000000000000000000", true},
    {"100000000000000000001", "100000000000000000000", false},
    {"true", "true", true},
    {"1", "true", false},
    {"x", "\"x\"", true},
    {"X", "\"x\"", false},
    {"x\nMcp-Param-Value: x", "\"x\"", false},
    {"x\nmcp-param-VALUE: y", "\"x\"", false},
    {"1", "null", false},
    {NULL, "null", true},
    {NULL, "1", false},
};

/* Parameters that headers repeat: {header, argument, whether they agree}. */
static void test_parameters(void **state)
{
    (void)state;
    static const char schema[] = "{\"type\":\"object\",\"properties\":{\"v\":{\"type\":\"integer\","
                                 "\"x-mcp-header\":\"Value\"}}}";
    rig r;
    rig_begin(&r, NULL);
    assert_int_equal(mcp_server_add_tool(fixture_server(r.fixture),
                                         MCP_OPTIONS(mcp_tool, .name = "mirrored", .call = called,
                                                     .input_schema = schema),
                                         NULL, NULL),
                     MCP_OK);
    for (size_t i = 0; i < COUNT(parameters_cases); i++) {
        char request[1024];
        snprintf(request, sizeof(request),
                 "POST /mcp HTTP/1.1\n{{modern tools/call}}Mcp-Name: mirrored\n%s%s%s"
                 "Content-Length: {{len}}\n\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":"
                 "\"tools/call\",\"params\":{\"name\":\"mirrored\",\"arguments\":{\"v\":%s},"
                 "{{meta}} } }",
                 parameters_cases[i].header ? "Mcp-Param-Value: " : "",
                 parameters_cases[i].header ? parameters_cases[i].header : "",
                 parameters_cases[i].header ? "\n" : "", parameters_cases[i].argument);
        wire w;
        wire_open(&w, &r);
        wire_send(&w, request);
        bool refused = rig_matches(wire_text(&w), MISMATCH);
        if (refused == parameters_cases[i].agree || (!refused && !strstr(wire_text(&w), "200 OK")))
            fail_msg("%s for %s: %s", parameters_cases[i].header, parameters_cases[i].argument,
                     wire_text(&w));
        wire_end(&w);
    }
    rig_end(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parameters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
