/* mcp_request_turn(): which requests may share what was found out, with a host of the test. */
#include "rig.h"

static rig r;
static mcp_channel *inner; /* another client, which a tool's handler has */
static uint64_t host_number, seen;

static uint64_t host_turn(void *user)
{
    (void)user;
    return host_number;
}

static int read_it(mcp_request *req, mcp_str uri, const mcp_uri_match *match, void *user)
{
    (void)uri, (void)match, (void)user;
    seen = mcp_request_turn(req);
    return mcp_reply_text(req, "x");
}

static void send_read(mcp_channel *channel)
{
    static const char text[] =
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/read\",\"params\":{\"uri\":\"a:b\","
        "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
        "\"io.modelcontextprotocol/clientCapabilities\":{}}}}";
    mcp_channel_receive(channel, 0, (mcp_str){text, sizeof(text) - 1}, 0);
}

static uint64_t turn_of_read(mcp_channel *channel)
{
    seen = UINT64_MAX;
    send_read(channel);
    return seen;
}

static int call_tool(rig *of, mcp_request *req)
{
    (void)of;
    assert_int_equal(mcp_request_turn(req), 0);
    assert_int_equal(turn_of_read(inner), 0);
    return mcp_reply_text(req, "called");
}

static void test_turns(void **state)
{
    static mcp_host host = {.size = sizeof(host), .turn = host_turn};
    static const mcp_resource resource = {
        .size = sizeof(resource), .uri = "a:b", .name = "b", .read = read_it};
    mcp_channel *channel;
    (void)state;
    for (int with_host = 0; with_host < 2; with_host++) {
        r = (rig){0};
        host_number = 0;
        assert_int_equal(
            rig_open(&r, &(mcp_server_options){.host = with_host ? &host : NULL}, call_tool),
            MCP_OK);
        assert_int_equal(mcp_server_add_resource(r.server, &resource, NULL, NULL), MCP_OK);
        assert_int_equal(rig_connect(&r, NULL, NULL, &channel), MCP_OK);
        assert_int_equal(rig_connect(&r, NULL, NULL, &inner), MCP_OK);
        assert_int_equal(turn_of_read(channel), 0); /* not in a turn */
        host_number = 1;
        uint64_t first = turn_of_read(channel);
        assert_int_equal(first != 0, with_host);
        assert_int_equal(turn_of_read(inner), first);
        rig_call_tool(&r, channel, 2, "t");
        uint64_t second = turn_of_read(channel);
        assert_int_equal(second > first, with_host); /* the tool may have changed something */
        host_number = 2;
        uint64_t third = turn_of_read(channel);
        assert_int_equal(third > second, with_host);
        mcp_channel_free(channel);
        mcp_channel_free(inner);
        rig_close(&r);
    }
    assert_int_equal(mcp_request_turn(NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_turns)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
