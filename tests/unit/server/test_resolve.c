/* Which item answers for a URI that several match: the exact resource, then the most specific
 * template, then the provider, independent of the order of registration. Every listed template can
 * be read and completed.
 */
#include "rig.h"

static int read_by(mcp_request *req, mcp_str uri, const mcp_uri_match *match, void *user)
{
    (void)uri, (void)match;
    return mcp_reply_text(req, user);
}

static int read_mounted(mcp_request *req, mcp_str uri, void *user)
{
    (void)uri, (void)user;
    return mcp_reply_text(req, "<the provider>");
}

static int complete_by(mcp_request *req, mcp_str name, mcp_str value, const mcp_json *context,
                       void *user)
{
    (void)name, (void)value, (void)context;
    return mcp_reply_completion(req, mcp_str_from(user));
}

/* Sorted from the least to the most specific. */
static const struct {
    const char *text, *variable, *says;
} templates[] = {
    {"{+all}", "all", "<{+all}>"},
    {"x:/{+path}", "path", "<x:/{+path}>"},
    {"x:/{+path}.txt", "path", "<x:/{+path}.txt>"},
    {"x:/a/{name}{?n}", "n", "<x:/a/{name}{?n}>"},
    {"x:/a/{name}", "name", "<x:/a/{name}>"},
    {"x:/a/{name}.txt", "name", "<x:/a/{name}.txt>"},
};

static const struct {
    const char *uri, *says;
} reads[] = {
    {"x:/a/1", "<exactly>"},
    {"x:/a/2", "<x:/a/{name}>"},
    {"x:/a/2?n=1", "<x:/a/{name}{?n}>"},
    {"x:/a/2.txt", "<x:/a/{name}.txt>"},
    {"x:/b/2.txt", "<x:/{+path}.txt>"},
    {"x:/a/b/c", "<x:/{+path}>"},
    {"y:z", "<{+all}>"},
};

static const char *say(rig *r, mcp_channel *channel, const char *method, const char *params)
{
    char message[512];
    snprintf(message, sizeof(message),
             "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":{%s," RIG_META "}}",
             method, params);
    rig_say(r, channel, message);
    return rig_sent(r);
}

static const char *read_uri(rig *r, mcp_channel *channel, const char *uri)
{
    char params[128];
    snprintf(params, sizeof(params), "\"uri\":\"%s\"", uri);
    return say(r, channel, "resources/read", params);
}

static void add_template(rig *r, size_t i)
{
    assert_int_equal(mcp_server_add_template(
                         r->server,
                         MCP_OPTIONS(mcp_resource_template, .uri_template = templates[i].text,
                                     .name = "t", .read = read_by, .complete = complete_by),
                         (void *)(uintptr_t)templates[i].says, NULL),
                     MCP_OK);
}

static void add_exact(rig *r)
{
    assert_int_equal(mcp_server_add_resource(
                         r->server,
                         MCP_OPTIONS(mcp_resource, .uri = "x:/a/1", .name = "r", .read = read_by),
                         (void *)(uintptr_t) "<exactly>", NULL),
                     MCP_OK);
}

static void open_rig(rig *r, mcp_channel **channel)
{
    static const mcp_provider provider = {
        .size = sizeof(provider), .name = "x", .read = read_mounted};
    *r = (rig){0};
    assert_int_equal(rig_open(r, &(mcp_server_options){0}, rig_ok), MCP_OK);
    assert_int_equal(mcp_server_mount(r->server, "x:", &provider, NULL, NULL), MCP_OK);
    assert_int_equal(rig_connect(r, NULL, NULL, channel), MCP_OK);
}

static void test_order(void **state)
{
    (void)state;
    const size_t n = sizeof(templates) / sizeof(templates[0]);
    for (size_t first = 0; first < 2 * n; first++) { /* rotated, and backwards */
        static rig r;
        mcp_channel *channel;
        open_rig(&r, &channel);
        if (first % 2)
            add_exact(&r);
        for (size_t i = 0; i < n; i++)
            add_template(&r, first < n ? (first + i) % n : (first + n - i) % n);
        if (first % 2 == 0)
            add_exact(&r);
        for (size_t i = 0; i < sizeof(reads) / sizeof(reads[0]); i++)
            assert_has(read_uri(&r, channel, reads[i].uri), reads[i].says);
        /* After a removal the next item answers. */
        mcp_server_remove_resource(r.server, "x:/a/1");
        assert_has(read_uri(&r, channel, "x:/a/1"), "<x:/a/{name}>");
        for (size_t i = 0; i < n; i++)
            mcp_server_remove_template(r.server, templates[i].text);
        assert_has(read_uri(&r, channel, "x:/a/1"), "<the provider>");
        assert_has(read_uri(&r, channel, "y:z"), "not found");
        mcp_channel_free(channel);
        rig_close(&r);
    }
}

static void test_listed_is_completed(void **state)
{
    (void)state;
    static rig r;
    mcp_channel *channel;
    open_rig(&r, &channel);
    const size_t n = sizeof(templates) / sizeof(templates[0]);
    for (size_t i = 0; i < n; i++)
        add_template(&r, i);
    for (size_t i = 0; i < n; i++) {
        char text[256];
        snprintf(text, sizeof(text), "\"uriTemplate\":\"%s\"", templates[i].text);
        assert_has(say(&r, channel, "resources/templates/list", "\"x\":1"), text);
        snprintf(text, sizeof(text),
                 "\"ref\":{\"type\":\"ref/resource\",\"uri\":\"%s\"},"
                 "\"argument\":{\"name\":\"%s\",\"value\":\"\"}",
                 templates[i].text, templates[i].variable);
        assert_has(say(&r, channel, "completion/complete", text), templates[i].says);
    }
    mcp_channel_free(channel);
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_listed_is_completed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
