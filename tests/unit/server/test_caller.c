/* A trusted parent process names the caller of a request: the revision of the answer, the
 * principal, whether there are rules. Nothing else may. Also access rules that are evaluated in
 * batches.
 */
#include "rig.h"

#define CALLER(members)                                                      \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"," \
    "\"io.modelcontextprotocol/clientCapabilities\":{},\"libmcp/caller\":" members "}"

static size_t batches, singles, tokens;

static int tell(rig *r, mcp_request *req)
{
    static const mcp_str names[] = {
        {"a:1", 3}, {"no uri", 6}, {"a:secret", 8}, {"a:%32", 5}, {"", 0}};
    bool may[5] = {false, true, true, false, true};
    (void)r;
    const char *who = mcp_request_principal(req);
    const mcp_json *info = mcp_request_client_info(req);
    const char *token = mcp_identity_token(mcp_request_identity(req));
    assert_true(!token || strcmp(token, "17") == 0);
    tokens += token != NULL;
    int rc = mcp_request_may_all(req, MCP_ITEM_RESOURCE, names, 5, may);
    return mcp_reply_textf(req, "%s %s %.*s %d %d%d%d%d%d %d", mcp_request_revision(req),
                           who ? who : "-", info ? 4 : 1, info ? "info" : "-",
                           mcp_request_restricted(req), may[0], may[1], may[2], may[3], may[4], rc);
}

static bool is_allowed(mcp_str name)
{
    return !mcp_str_eq(name, MCP_STR("a:secret"));
}

static bool may(const mcp_identity *identity, mcp_item item, mcp_str name, void *user)
{
    (void)identity, (void)item, (void)user;
    singles++;
    return is_allowed(name);
}

static bool last; /* whether the identity of the last batch had a token */

static void may_all(const mcp_identity *identity, mcp_item item, const mcp_str *names, size_t n,
                    bool *allowed, void *user)
{
    (void)item, (void)user;
    last = mcp_identity_token(identity) != NULL;
    batches++;
    for (size_t i = 0; i < n; i++)
        allowed[i] = is_allowed(names[i]);
}

static const char *ask(bool trusted, bool batch, size_t fail_at, const char *params)
{
    static rig r;
    char message[512];
    mcp_channel *channel;
    r = (rig){0};
    assert_int_equal(rig_open(&r, &(mcp_server_options){0}, tell), MCP_OK);
    mcp_server_set_access(r.server,
                          MCP_OPTIONS(mcp_access, .may = may, .may_all = batch ? may_all : NULL));
    assert_int_equal(
        mcp_server_connect(r.server,
                           MCP_OPTIONS(mcp_channel_options, .send = rig_send, .user = &r,
                                       .principal = "parent", .trusted_parent = trusted),
                           &channel, NULL),
        MCP_OK);
    snprintf(message, sizeof(message),
             "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"t\","
             "%s}}",
             params);
    r.memory.fail_at = fail_at ? r.memory.calls + fail_at : 0;
    rig_say(&r, channel, message);
    mcp_channel_free(channel);
    rig_close(&r);
    return rig_sent(&r);
}

static void test_caller(void **state)
{
    (void)state;
    static const char all[] = CALLER("{\"revision\":\"2024-11-05\",\"principal\":\"ann\","
                                     "\"clientInfo\":{\"name\":\"c\",\"version\":\"1\"},"
                                     "\"restricted\":false}");
    const char *s = ask(true, true, 0, all);
    assert_has(s, "2024-11-05 ann info 0 11111 0");
    assert_null(strstr(s, "resultType"));
    assert_has(ask(false, true, 0, all), "2026-07-28 parent - 1 11011 0");
    /* The token is that of the identity which the rules get. Without trust there is none. */
    tokens = 0;
    static const char token[] = CALLER("{\"principal\":\"ann\",\"token\":\"17\"}");
    assert_has(ask(true, true, 0, token), "2026-07-28 ann - 1 11011 0");
    assert_true(tokens == 1 && last);
    assert_has(ask(false, true, 0, token), "2026-07-28 parent - 1 11011 0");
    assert_true(tokens == 1 && !last);
    for (size_t at = 1; at < 30; at++) /* without memory nobody becomes anonymous */
        assert_null(strstr(ask(true, true, at, token), "2026-07-28 - "));
    assert_has(ask(true, true, 0, CALLER("{}")), "2026-07-28 - - 1 11011 0");
    assert_has(ask(true, true, 0, CALLER("7")), "2026-07-28 parent - 1");
    assert_has(ask(true, true, 0, CALLER("{\"revision\":\"x\",\"principal\":7,\"restricted\":7}")),
               "2026-07-28 - - 1");
    assert_has(ask(true, true, 0, RIG_META), "2026-07-28 parent - 1");
    /* A parent that forwards the result would remove this. */
    assert_null(strstr(ask(true, true, 0, RIG_META), "serverInfo"));
    assert_has(ask(false, true, 0, RIG_META), "serverInfo");
}

static void test_batches(void **state)
{
    (void)state;
    batches = singles = 0;
    assert_has(ask(false, true, 0, RIG_META), "11011");
    assert_int_equal(batches, 1);
    size_t before = singles;
    assert_has(ask(false, false, 0, RIG_META), "11011");
    assert_true(singles >= before + 3);
    assert_int_equal(batches, 1);
    /* Without memory nothing is allowed. */
    for (size_t at = 1; at < 40; at++) {
        const char *s = ask(false, true, at, RIG_META);
        const char *text = strstr(s, "2026-07-28 parent");
        if (text && !strstr(text, "11011 0"))
            assert_has(text, "00000 -1");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_caller),
        cmocka_unit_test(test_batches),
    };
    return cmocka_run_group_tests_name("server: caller", tests, NULL, NULL);
}
