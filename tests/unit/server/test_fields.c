/* Tables of fields in a server: invalid tables are rejected at registration, and a tool with valid
 * ones survives every allocation failure.
 */
#include "rig.h"

typedef struct pair {
    mcp_str word;
    int64_t number;
} pair;

static const mcp_field good[] = {
    MCP_STRING_FIELD(pair, word, .required = true, .max_length = 3),
    MCP_INT_FIELD(pair, number, .minimum = 1, .maximum = 9),
};
static const mcp_field bad[] = {MCP_INT_FIELD(pair, number, .minimum = 1)};

static int echo(mcp_request *req, const mcp_json *arguments, void *user)
{
    pair p = {.number = 7};
    (void)user;
    mcp_fields_read(good, 2, arguments, &p);
    return mcp_reply_fields(req, good, 2, &p);
}

static int ask(mcp_request *req, const mcp_json *arguments, void *user)
{
    mcp_elicited answer;
    (void)arguments, (void)user;
    return mcp_request_elicit(
        req, "it", MCP_OPTIONS(mcp_elicit, .message = "Which?", .fields = bad, .n_fields = 1),
        &answer);
}

static int add_echo(rig *r)
{
    return mcp_server_add_tool(r->server,
                               MCP_OPTIONS(mcp_tool, .name = "echo", .call = echo, .fields = good,
                                           .n_fields = 2, .result_fields = good,
                                           .n_result_fields = 2),
                               NULL, NULL);
}

static void call(rig *r, mcp_channel *channel, const char *name, const char *arguments)
{
    char message[512];
    snprintf(message, sizeof(message),
             "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"%s\","
             "\"arguments\":%s," RIG_META "}}",
             name, arguments);
    rig_say(r, channel, message);
}

static rig r;

static void test_refused(void **state)
{
    (void)state;
    mcp_channel *channel;
    mcp_error error;
    mcp_server_options o = {0};
    memset(&r, 0, sizeof(r));
    assert_int_equal(rig_open(&r, &o, rig_ok), MCP_OK);
    assert_int_equal(mcp_server_add_tool(r.server,
                                         MCP_OPTIONS(mcp_tool, .name = "a", .call = echo,
                                                     .fields = bad, .n_fields = 1),
                                         NULL, &error),
                     MCP_EINVAL);
    assert_has(error.text, "field \"number\" has a minimum above its maximum");
    assert_int_equal(mcp_server_add_tool(r.server,
                                         MCP_OPTIONS(mcp_tool, .name = "a", .call = echo,
                                                     .result_fields = bad, .n_result_fields = 1),
                                         NULL, &error),
                     MCP_EINVAL);
    assert_has(error.text, "field \"number\"");
    assert_int_equal(mcp_server_add_tool(
                         r.server, MCP_OPTIONS(mcp_tool, .name = "ask", .call = ask), NULL, NULL),
                     MCP_OK);
    assert_int_equal(rig_connect(&r, NULL, NULL, &channel), MCP_OK);
    call(&r, channel, "ask", "{}");
    assert_has(rig_sent(&r), "a form: field \\\"number\\\" has a minimum above its maximum");
    mcp_channel_free(channel);
    rig_close(&r);
}

static void test_no_memory(void **state)
{
    (void)state;
    for (size_t n = 1;; n++) {
        mcp_channel *channel = NULL;
        mcp_server_options o = {0};
        memset(&r, 0, sizeof(r));
        r.memory.fail_at = n;
        int rc = rig_open(&r, &o, rig_ok);
        if (rc == MCP_OK)
            rc = add_echo(&r);
        if (rc == MCP_OK)
            rc = rig_connect(&r, NULL, NULL, &channel);
        assert_true(rc == MCP_OK || rc == MCP_ENOMEM);
        if (rc == MCP_OK) {
            call(&r, channel, "echo", "{\"word\":\"a\"}");
            const char *sent = rig_sent(&r);
            if (*sent && !strstr(sent, "\"error\""))
                assert_has(sent, "\"structuredContent\":{\"word\":\"a\",\"number\":7}");
        }
        bool over = r.memory.calls < n;
        mcp_channel_free(channel);
        rig_close(&r);
        if (over)
            break;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
