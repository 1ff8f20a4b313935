/* A provider that forwards another server: its lists and calls, results as raw JSON in the form of
 * each revision, entries that access rules hide, allocation failures.
 */
#include "rig.h"

#include <mcp/sys/forward.h>

static const char *const page =
    "{\"tools\":[{\"name\":\"a\",\"title\":\"A\",\"inputSchema\":{\"type\":\"object\",\"x\":\n"
    "0.1000000000000000000000001},\"outputSchema\":{\"type\":\"array\"},\"annotations\":{},"
    "\"execution\":{},\"later\":{\"y\":[1e400]},"
    "\"_meta\":{\"ui\":{\"resourceUri\":\"ui://a\"},\"k\":1}},"
    "{\"name\":\"hidden\",\"inputSchema\":{}},7,{\"noname\":1}],\"prompts\":[{\"name\":\"q\","
    "\"arguments\":[{\"name\":\"z\",\"title\":\"Z\"}]}],"
    "\"resourceTemplates\":[{\"name\":\"t\",\"uriTemplate\":\"f:/{x}\"}],"
    "\"resources\":[{\"uri\":\"f:/"
    "a\",\"name\":\"r\",\"icons\":[],\"size\":12345678901234567890123},"
    "{\"uri\":\"f:/secret\",\"name\":\"s\"}],\"ttlMs\":7,\"cacheScope\":\"public\","
    "\"of page\":[2.50],\"_meta\":{\"io.modelcontextprotocol/serverInfo\":{\"name\":\"them\"},"
    "\"page\":1.0},\"resultType\":\"complete\"}";

static const char *const result =
    "{\"contents\":[{\"uri\":\"f:/a\",\"text\":\"x\",\"_meta\":{\"n\":1.50}},"
    "{\"uri\":\"f:/secret\",\"text\":\"s\"},{\"uri\":\"f:/b\",\"blob\":\"AAAAAAA=\"}],"
    "\"content\":[{\"type\":\"audio\",\"data\":\"AAAA\",\"mimeType\":\"audio/x\"},"
    "{\"type\":\"resource_link\",\"uri\":\"f:/a\",\"name\":\"l\"},"
    "{\"type\":\"resource\",\"resource\":{\"uri\":\"f:/secret\",\"text\":\"s\"}}],"
    "\"structuredContent\":[1.000000000000000000001],"
    "\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"m\"}}],"
    "\"completion\":{\"values\":[\"a\",\"secret\"],\"total\":2,\"hasMore\":false},"
    "\"other\":{\"deep\":[0.10]},\"resultType\":\"complete\",\"ttlMs\":9,"
    "\"_meta\":{\"io.modelcontextprotocol/serverInfo\":{\"name\":\"them\"},\"trace\":2.50}}";

static int name_of(mcp_item item, mcp_str name, char to[MCP_NAME_ROOM], void *user)
{
    (void)item, (void)user;
    snprintf(to, MCP_NAME_ROOM, "n_%.*s", (int)name.len, name.ptr);
    return mcp_str_eq(name, MCP_STR("nameless")) ? MCP_ENOTFOUND : MCP_OK;
}

static mcp_raw raw_of(const char *text)
{
    return (mcp_raw){
        .size = sizeof(mcp_raw), .json = mcp_str_from(text), .uri_prefix = "up:", .name = name_of};
}

static char asked[1024];

/* The second value is not larger than the first, so it is not sent. */
static const char *const progress[] = {
    "{\"progressToken\":9,\"progress\":0.1000000000000000000001,\"total\":1e999,\n\"message\":"
    "\"m\","
    "\"x\":[1.0],\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":1,\"k\":2.50}}",
    "{\"progressToken\":9,\"progress\":0.1000000000000000000002}",
};
static int progress_rc[2];

static int list(mcp_request *req, mcp_str cursor, size_t max, void *user)
{
    (void)max, (void)user;
    mcp_raw raw = raw_of(page);
    if (cursor.len)
        return mcp_str_eq(cursor, MCP_STR("more")) ? MCP_OK : MCP_EINVAL;

    int rc = mcp_reply_raw_page(req, &raw);
    return rc == MCP_OK ? mcp_reply_next(req, MCP_STR("more")) : rc;
}

static int list_items(mcp_request *req, mcp_item item, mcp_str cursor, size_t max, void *user)
{
    (void)item;
    return list(req, cursor, max, user);
}

static int answer(mcp_request *req)
{
    mcp_str params = mcp_request_params_text(req);
    mcp_raw raw = raw_of(result);
    snprintf(asked, sizeof(asked), "%.*s", (int)params.len, params.ptr ? params.ptr : "");
    return mcp_reply_raw(req, &raw);
}

/* Errors of the other server, and the code that the caller gets. */
static const struct {
    const char *tool, *error, *sent;
} codes[] = {
    {"n_zero", "{\"code\":0,\"message\":\"no\"}", "\"error\":{\"code\":0,\"message\":\"no\"}"},
    {"n_zero_real", "{\"code\":0.0,\"message\":\"no\"}",
     "\"error\":{\"code\":0,\"message\":\"no\"}"},
    {"n_zero_data", "{\"code\":0,\"message\":\"no\",\"data\":[1.0]}",
     "\"error\":{\"code\":0,\"message\":\"no\",\"data\":[1.0]}"},
    {"n_least", "{\"code\":-2147483648,\"message\":\"no\"}", "\"code\":-2147483648,"},
    {"n_large", "{\"code\":99999999999,\"message\":\"no\"}", "\"code\":-32603,"},
    {"n_string", "{\"code\":\"0\",\"message\":\"no\"}", "\"code\":-32603,"},
    {"n_no_code", "{\"message\":\"no\"}", "\"code\":-32603,"},
};

static int run(mcp_request *req, mcp_item item, mcp_str name, void *user)
{
    (void)item, (void)user;
    if (mcp_str_eq(name, MCP_STR("n_none")))
        return MCP_ENOTFOUND;
    if (mcp_str_eq(name, MCP_STR("n_error"))) {
        mcp_raw raw = raw_of("{\"code\":-32002,\"message\":\"gone\",\"data\":{\"uri\":\"f:/x\","
                             "\"n\":1.0000000000000000000001}}");
        return mcp_reply_raw_error(req, &raw);
    }
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        if (mcp_str_eq(name, mcp_str_from(codes[i].tool))) {
            mcp_raw raw = raw_of(codes[i].error);
            return mcp_reply_raw_error(req, &raw);
        }
    }
    if (mcp_str_eq(name, MCP_STR("n_bad"))) {
        mcp_raw raw = raw_of("{\"a\":1,\"a\":2}");
        return mcp_reply_raw(req, &raw);
    }
    if (mcp_str_eq(name, MCP_STR("n_progress"))) {
        for (size_t i = 0; i < sizeof(progress) / sizeof(progress[0]); i++)
            mcp_request_progress_raw(req, mcp_str_from(progress[i]));
        progress_rc[0] = mcp_request_progress_raw(req, MCP_STR("{\"progress\":\"3\"}"));
        progress_rc[1] = mcp_request_progress_raw(req, MCP_STR("{\"progress\":3"));
    }
    return answer(req);
}

static int read_any(mcp_request *req, mcp_str uri, void *user)
{
    (void)uri, (void)user;
    return answer(req);
}

static int complete(mcp_request *req, mcp_item item, mcp_str name, void *user)
{
    (void)item, (void)name, (void)user;
    return answer(req);
}

static int other(mcp_request *req, void *user)
{
    (void)user;
    return strcmp(mcp_request_method(req), "x/y") == 0 ? answer(req) : MCP_ENOTFOUND;
}

static int open_all(rig *r, mcp_channel **channel)
{
    static const mcp_provider provider = {
        .size = sizeof(provider),
        .name = "up",
        .items = 1u << MCP_ITEM_TOOL | 1u << MCP_ITEM_PROMPT | 1u << MCP_ITEM_TEMPLATE,
        .names = "n_",
        .opaque = true,
        .list = list,
        .list_items = list_items,
        .read = read_any,
        .run = run,
        .complete = complete,
        .other = other,
    };
    int rc = rig_open(r, &(mcp_server_options){0}, rig_ok);
    if (rc == MCP_OK)
        rc = mcp_server_mount(r->server, "up:", &provider, NULL, NULL);
    return rc == MCP_OK ? rig_connect(r, "p", NULL, channel) : rc;
}

static const char *modern(rig *r, mcp_channel *channel, const char *method, const char *params)
{
    char message[1024];
    snprintf(message, sizeof(message),
             "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":{%s%s" RIG_META "}}",
             method, params, *params ? "," : "");
    rig_say(r, channel, message);
    return rig_sent(r);
}

static const char *legacy(rig *r, mcp_channel *channel, const char *method, const char *params)
{
    char message[1024];
    snprintf(message, sizeof(message),
             "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":{%s}}", method, params);
    rig_say(r, channel, message);
    return rig_sent(r);
}

static void greet(rig *r, mcp_channel *channel, const char *revision)
{
    char params[256];
    snprintf(params, sizeof(params),
             "\"protocolVersion\":\"%s\",\"capabilities\":{},"
             "\"clientInfo\":{\"name\":\"c\",\"version\":\"1\"}",
             revision);
    legacy(r, channel, "initialize", params);
    rig_say(r, channel, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
}

static void assert_lacks(const char *text, const char *part)
{
    if (strstr(text, part))
        fail_msg("%s\nhas %s", text, part);
}

static void test_modern(void **state)
{
    (void)state;
    static rig r;
    mcp_channel *c;
    r = (rig){0};
    assert_int_equal(open_all(&r, &c), MCP_OK);
    const char *s = modern(&r, c, "tools/list", "");
    assert_has(s, "\"name\":\"n_a\"");
    assert_has(s, "\"x\": 0.1000000000000000000000001");
    assert_has(s, "\"later\":{\"y\":[1e400]}");
    assert_has(s, "{\"ui\":{\"resourceUri\":\"up:ui://a\"},\"k\":1}");
    assert_has(s, "\"outputSchema\":{\"type\":\"array\"}");
    assert_has(s, "\"ttlMs\":7");
    assert_has(s, "\"nextCursor\":");
    assert_has(s, "],\"of page\":[2.50],");
    assert_has(s, ",\"page\":1.0}");
    assert_lacks(s, "them");
    assert_lacks(s, "execution");
    assert_lacks(s, "noname");
    assert_has(modern(&r, c, "prompts/list", ""), "\"name\":\"n_q\",\"arguments\":[{\"name\":\"z\","
                                                  "\"title\":\"Z\"}]");
    assert_has(modern(&r, c, "resources/templates/list", ""), "\"uriTemplate\":\"up:f:/{x}\"");
    s = modern(&r, c, "resources/list", "");
    assert_has(s, "\"uri\":\"up:f:/a\",\"name\":\"r\",\"icons\":[],"
                  "\"size\":12345678901234567890123");
    s = modern(&r, c, "resources/read", "\"uri\":\"up:f:/%zz <a>\",\"n\":0.10");
    assert_has(s, "\"uri\":\"up:f:/a\",\"text\":\"x\",\"_meta\":{\"n\":1.50}");
    assert_has(s, "\"other\":{\"deep\":[0.10]}");
    assert_has(s, "\"ttlMs\":9");
    assert_has(s, "\"trace\":2.50");
    assert_lacks(s, "them");
    assert_has(asked, "\"uri\":\"up:f:/%zz <a>\",\"n\":0.10");
    s = modern(&r, c, "tools/call", "\"name\":\"n_a\"");
    assert_has(s, "{\"type\":\"audio\",\"data\":\"AAAA\"");
    assert_has(s, "\"structuredContent\":[1.000000000000000000001]");
    assert_has(s, "\"uri\":\"up:f:/secret\"");
    assert_has(modern(&r, c, "prompts/get", "\"name\":\"n_q\""), "\"messages\":[{\"role\"");
    assert_has(modern(&r, c, "x/y", ""), "\"deep\":[0.10]");
    assert_has(modern(&r, c, "x/z", ""), "-32601");
    assert_has(modern(&r, c, "tools/call", "\"name\":\"n_none\""), "Unknown tool: n_none");
    assert_has(modern(&r, c, "tools/call", "\"name\":\"m\""), "Unknown tool: m");
    assert_has(modern(&r, c, "tools/call", "\"name\":\"n_bad\""), "-32603");
    s = modern(&r, c, "tools/call", "\"name\":\"n_error\"");
    assert_has(s, "\"code\":-32602,\"message\":\"gone\",\"data\":{\"uri\":\"up:f:/x\","
                  "\"n\":1.0000000000000000000001}");
    s = modern(&r, c, "completion/complete",
               "\"ref\":{\"type\":\"ref/resource\",\"uri\":\"up:f:/{x}\"},"
               "\"argument\":{\"name\":\"x\",\"value\":\"\"}");
    assert_has(s, "{\"values\":[\"a\",\"secret\"],\"total\":2");
    mcp_channel_free(c);
    rig_close(&r);
}

static void test_codes(void **state)
{
    static rig r;
    mcp_channel *c;
    (void)state;
    r = (rig){0};
    assert_int_equal(open_all(&r, &c), MCP_OK);
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        char params[60];
        snprintf(params, sizeof(params), "\"name\":\"%s\"", codes[i].tool);
        assert_has(modern(&r, c, "tools/call", params), codes[i].sent);
    }
    mcp_channel_free(c);
    rig_close(&r);
}

static void test_legacy(void **state)
{
    (void)state;
    static rig r;
    mcp_channel *c;
    r = (rig){0};
    assert_int_equal(open_all(&r, &c), MCP_OK);
    greet(&r, c, "2024-11-05");
    const char *s = legacy(&r, c, "tools/list", "");
    assert_has(s, "\"name\":\"n_a\",\"inputSchema\"");
    assert_lacks(s, "annotations");
    assert_lacks(s, "outputSchema");
    assert_lacks(s, "ttlMs");
    s = legacy(&r, c, "tools/call", "\"name\":\"n_a\"");
    assert_has(s, "{\"type\":\"text\",\"text\":\"[audio, audio/x, 3 bytes]\"}");
    assert_has(s, "[resource link] up:f:/a");
    assert_lacks(s, "structuredContent");
    assert_lacks(s, "resultType");
    assert_has(legacy(&r, c, "tools/call", "\"name\":\"n_error\""), "\"code\":-32002");
    greet(&r, c, "2025-06-18");
    s = legacy(&r, c, "tools/call", "\"name\":\"n_a\"");
    assert_has(s, "\"type\":\"resource_link\"");
    assert_lacks(s, "structuredContent"); /* only newer revisions allow an array */
    s = legacy(&r, c, "tools/list", "");
    assert_has(s, "\"title\":\"A\"");
    assert_lacks(s, "outputSchema");
    mcp_channel_free(c);
    rig_close(&r);
}

static bool may(const mcp_identity *identity, mcp_item item, mcp_str name, void *user)
{
    (void)identity, (void)item, (void)user;
    for (size_t i = 0; i + 6 <= name.len; i++) {
        if (memcmp(name.ptr + i, "secret", 6) == 0 || memcmp(name.ptr + i, "hidden", 6) == 0)
            return false;
    }
    return true;
}

static void test_access(void **state)
{
    (void)state;
    static rig r;
    mcp_channel *c;
    r = (rig){0};
    assert_int_equal(open_all(&r, &c), MCP_OK);
    mcp_server_set_access(r.server, MCP_OPTIONS(mcp_access, .may = may));
    assert_lacks(modern(&r, c, "resources/list", ""), "secret");
    assert_lacks(modern(&r, c, "tools/list", ""), "hidden");
    assert_lacks(modern(&r, c, "resources/read", "\"uri\":\"up:f:/a\""), "up:f:/secret");
    const char *s = modern(&r, c, "tools/call", "\"name\":\"n_a\"");
    assert_lacks(s, "\"type\":\"resource\"");
    assert_has(s, "resource_link");
    assert_has(modern(&r, c, "tools/call", "\"name\":\"n_hidden\""), "Unknown tool: n_hidden");
    assert_has(modern(&r, c, "resources/read", "\"uri\":\"up:f:/%73ecret\""), "not found");
    s = modern(&r, c, "completion/complete",
               "\"ref\":{\"type\":\"ref/resource\",\"uri\":\"up:f:/{x}\"},"
               "\"argument\":{\"name\":\"x\",\"value\":\"\"}");
    assert_has(s, "{\"values\":[\"a\"],\"hasMore\"");
    mcp_channel_free(c);
    rig_close(&r);
}

static void ask_progress(rig *r, mcp_channel *c, const char *revision)
{
    static const char meta[] = "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
                               "\"io.modelcontextprotocol/clientCapabilities\":{},";
    char message[512];
    snprintf(message, sizeof(message),
             "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":"
             "\"n_progress\",\"_meta\":{%s\"progressToken\":\"t\"}}}",
             revision ? "" : meta);
    rig_say(r, c, message);
}

static bool ask_all(rig *r)
{
    static const struct {
        const char *method, *params;
    } asks[] = {
        {"tools/list", ""},
        {"resources/list", ""},
        {"resources/read", "\"uri\":\"up:f:/a\""},
        {"tools/call", "\"name\":\"n_a\""},
        {"tools/call", "\"name\":\"n_error\""},
        {"completion/complete", "\"ref\":{\"type\":\"ref/resource\",\"uri\":\"up:f:/{x}\"},"
                                "\"argument\":{\"name\":\"x\",\"value\":\"\"}"},
    };
    mcp_channel *c = NULL;
    if (open_all(r, &c) != MCP_OK)
        return false;
    mcp_server_set_access(r->server, MCP_OPTIONS(mcp_access, .may = may));
    for (size_t i = 0; i < sizeof(asks) / sizeof(asks[0]); i++)
        modern(r, c, asks[i].method, asks[i].params);
    ask_progress(r, c, NULL);
    mcp_channel_free(c);
    return true;
}

static void keep_bytes(const mcp_usage *usage, void *user)
{
    *(uint64_t *)user += usage->bytes;
}

/* The bytes of contents are counted as for a handler's reply, before they are encoded as Base64. */
static void test_bytes(void **state)
{
    uint64_t bytes = 0;
    static rig r;
    mcp_channel *c;
    (void)state;
    r = (rig){0};
    assert_int_equal(open_all(&r, &c), MCP_OK);
    modern(&r, c, "tools/call", "\"name\":\"n_a\"");
    modern(&r, c, "resources/read", "\"uri\":\"up:f:/a\"");
    mcp_server_usage(r.server, NULL, MCP_USAGE_SOURCE, keep_bytes, &bytes);
    assert_int_equal(bytes, 2 + 5);
    mcp_channel_free(c);
    rig_close(&r);
}

static void test_no_memory(void **state)
{
    (void)state;
    static rig r;
    for (size_t after = 1; after < 2000; after++) {
        r = (rig){.memory = {.fail_at = after}};
        bool opened = ask_all(&r);
        bool through = r.memory.calls < after;
        mcp_server_free(r.server);
        assert_int_equal(r.memory.live, 0);
        if (opened && through)
            return;
    }
    fail();
}

/* The members of the other server's progress are preserved, except those of its connection. */
static void test_progress(void **state)
{
    static const struct {
        const char *revision, *params;
    } cases[] = {
        {NULL, "{\"progressToken\":\"t\",\"progress\":0.1000000000000000000001,\"total\":1e999,"
               "\"message\":\"m\",\"x\":[1.0],\"_meta\":{\"k\":2.50}}"},
        {"2024-11-05",
         "{\"progressToken\":\"t\",\"progress\":0.1000000000000000000001,\"total\":1e999,"
         "\"x\":[1.0],\"_meta\":{\"k\":2.50}}"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        static rig r;
        char notice[512];
        mcp_channel *c;
        r = (rig){0};
        assert_int_equal(open_all(&r, &c), MCP_OK);
        if (cases[i].revision)
            greet(&r, c, cases[i].revision);
        ask_progress(&r, c, cases[i].revision);
        snprintf(notice, sizeof(notice),
                 "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":%s}\n",
                 cases[i].params);
        const char *at = strstr(rig_sent(&r), "{\"jsonrpc\":\"2.0\",\"method\"");
        assert_non_null(at);
        assert_int_equal(strncmp(at, notice, strlen(notice)), 0);
        assert_null(strstr(at + 1, "notifications/progress\",\"params\":{\"progressToken\":\"t\","
                                   "\"progress\":0.1000000000000000000002"));
        assert_int_equal(progress_rc[0], MCP_EPROTOCOL);
        assert_int_equal(progress_rc[1], MCP_EPARSE);
        mcp_channel_free(c);
        mcp_server_free(r.server);
        assert_int_equal(r.memory.live, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_modern),    cmocka_unit_test(test_codes),
        cmocka_unit_test(test_legacy),    cmocka_unit_test(test_access),
        cmocka_unit_test(test_progress),  cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests_name("server: raw", tests, NULL, NULL);
}
