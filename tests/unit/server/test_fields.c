/* Tables of fields in a server: invalid tables are rejected at registration, and a tool with valid
 * ones survives every allocation failure.
 */
#include "rig.h"

typedef struct pair {
    mcp_str word;
    int64_t number;
} pair;

typedef struct flag {
    bool set;
} flag;

static const mcp_field good[] = {
    MCP_STRING_FIELD(pair, word, .required = true, .max_length = 3),
    MCP_INT_FIELD(pair, number, .minimum = 1, .maximum = 9),
};
static const mcp_field bad[] = {MCP_INT_FIELD(pair, number, .minimum = 5, .maximum = 3)};

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

static int many(mcp_request *req, const mcp_json *arguments, void *user)
{
    static const mcp_field none[] = {MCP_BOOL_FIELD(flag, set, .required = true)};
    static const char *const forms[] = {
        "{\"type\":\"object\",}",
        "{\"type\":\"string\"}",
        "{\"type\":\"object\"}",
        "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"},\"b\":{}}}",
    };
    mcp_elicited answer;
    int64_t n = mcp_json_int(mcp_json_get(arguments, "n"), 0);
    (void)user;
    switch (n) {
    case 0: return mcp_reply_str(req, MCP_STR("twelve bytes\xff"), NULL);
    case 1:
        return mcp_reply_content(
            req, MCP_OPTIONS(mcp_content, .kind = MCP_CONTENT_LINK, .uri = "a:b", .name = "\xff"));
    case 2: return mcp_reply_structured(req, MCP_STR("{\"a\":1,}"));
    case 3: return mcp_reply_meta(req, "k", MCP_STR("[1 2]"));
    case 4: return mcp_reply_fields(req, good, 2, &(pair){.word = MCP_STR("\xff")});
    case 9:
        return mcp_request_elicit(
            req, "it", MCP_OPTIONS(mcp_elicit, .message = "Which?", .fields = none), &answer);
    default:
        return mcp_request_elicit(
            req, "it", MCP_OPTIONS(mcp_elicit, .message = "Which?", .schema = forms[n - 5]),
            &answer);
    }
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

/* A mistake in a handler is said with its place, not only with the name of its code. */
static void test_explained(void **state)
{
    static const char *const texts[] = {
        "Internal error: the text of the reply is not UTF-8 at byte 12",
        "Internal error: a text of the reply is not UTF-8",
        "Internal error: the structured content of the reply: invalid JSON at byte 6: ",
        "Internal error: \\\"k\\\" in the _meta of the reply: invalid JSON at byte 3: ",
        "Internal error: a field of the reply is not UTF-8, or has too many elements",
        "is malformed: the schema of a form: invalid JSON at byte 16: ",
        "is malformed: the schema of a form: \\\"type\\\" must be \\\"object\\\"",
        "is malformed: the schema of a form: \\\"properties\\\" must be an object",
        "is malformed: the schema of a form: /properties/b must be a string, number, integer, ",
        "Internal error: a form has fields, but n_fields is 0",
    };
    mcp_channel *channel;
    mcp_server_options o = {0};
    (void)state;
    memset(&r, 0, sizeof(r));
    assert_int_equal(rig_open(&r, &o, rig_ok), MCP_OK);
    assert_int_equal(mcp_server_add_tool(
                         r.server, MCP_OPTIONS(mcp_tool, .name = "many", .call = many), NULL, NULL),
                     MCP_OK);
    assert_int_equal(rig_connect(&r, NULL, NULL, &channel), MCP_OK);
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        char message[400];
        snprintf(message, sizeof(message),
                 "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{"
                 "\"name\":\"many\",\"arguments\":{\"n\":%zu},\"_meta\":{"
                 "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
                 "\"io.modelcontextprotocol/clientCapabilities\":{\"elicitation\":{}}}}}",
                 i);
        rig_say(&r, channel, message);
        assert_has(rig_sent(&r), texts[i]);
    }
    mcp_channel_free(channel);
    rig_close(&r);
}

/* A schema that is not JSON is not called one of a wrong type. */
static void test_schemas(void **state)
{
    static const struct {
        mcp_tool tool;
        const char *text;
        size_t offset;
    } cases[] = {
        {{.input_schema = "{\"type\":\"object\",\"properties\":{\"a\":{},}}"},
         "tool a: inputSchema: invalid JSON at byte 37: ",
         37},
        {{.input_schema = "{\"type\":\"string\"}"},
         "tool a: the input schema must be a JSON object with \"type\":\"object\"",
         0},
        {{.output_schema = "{\"type\":\"object\",}"},
         "tool a: outputSchema: invalid JSON at byte 16: ",
         16},
        {{.fields = good}, "has a table of fields, but the number of its elements is 0", 0},
        {{.result_fields = good}, "has a table of fields, but the number of its elements is 0", 0},
    };
    mcp_server_options o = {0};
    (void)state;
    memset(&r, 0, sizeof(r));
    assert_int_equal(rig_open(&r, &o, rig_ok), MCP_OK);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        mcp_error error = {0};
        mcp_tool tool = cases[i].tool;
        tool.size = sizeof(tool);
        tool.name = "a";
        tool.call = echo;
        assert_int_equal(mcp_server_add_tool(r.server, &tool, NULL, &error), MCP_EINVAL);
        assert_has(error.text, cases[i].text);
        assert_int_equal(error.offset, cases[i].offset);
    }
    rig_close(&r);
}

/* One end of a range, alone. */
static void test_one_end(void **state)
{
    static const mcp_field fields[] = {
        MCP_INT_FIELD(pair, number, .minimum = 1),
        MCP_STRING_FIELD(pair, word, .required = true),
    };
    static const mcp_field below[] = {MCP_INT_FIELD(pair, number, .maximum = -1)};
    static const mcp_field both[] = {MCP_INT_FIELD(pair, number, .minimum = -5)};
    const struct {
        const mcp_field *fields;
        size_t n;
        const char *text;
    } cases[] = {
        {fields, 2,
         "\"number\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":9223372036854775807}"},
        {below, 1,
         "\"number\":{\"type\":\"integer\",\"minimum\":-9223372036854775808,\"maximum\":-1}"},
        {both, 1, "\"number\":{\"type\":\"integer\",\"minimum\":-5,\"maximum\":0}"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        mcp_server_options o = {0};
        mcp_channel *channel;
        memset(&r, 0, sizeof(r));
        assert_int_equal(rig_open(&r, &o, rig_ok), MCP_OK);
        assert_int_equal(
            mcp_server_add_tool(r.server,
                                MCP_OPTIONS(mcp_tool, .name = "a", .call = echo,
                                            .fields = cases[i].fields, .n_fields = cases[i].n),
                                NULL, NULL),
            MCP_OK);
        assert_int_equal(rig_connect(&r, NULL, NULL, &channel), MCP_OK);
        rig_say(&r, channel,
                "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{" RIG_META
                "}}");
        assert_has(rig_sent(&r), cases[i].text);
        mcp_channel_free(channel);
        rig_close(&r);
    }
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
        cmocka_unit_test(test_refused),   cmocka_unit_test(test_explained),
        cmocka_unit_test(test_schemas),   cmocka_unit_test(test_one_end),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
