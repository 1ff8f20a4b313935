/* A handler that finishes its request from within its cancel callback, for every cause of the
 * cancellation. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include <mcp/mcp.h>
#include <mcp/sys/server.h>

#include "support/failalloc.h"

typedef struct world {
    failalloc memory;
    mcp_allocator allocator;
    mcp_server *server;
    mcp_channel *channel;
    int stopped;
    bool finishes;
    mcp_request *held;
    char sent[1024];
} world;

static void on_send(mcp_channel *channel, mcp_exchange exchange, mcp_str message, void *user)
{
    world *w = user;
    (void)channel, (void)exchange;
    snprintf(w->sent, sizeof(w->sent), "%.*s", (int)message.len, message.ptr);
}

static void stop(mcp_request *req, void *user)
{
    world *w = user;
    assert_true(mcp_request_cancelled(req));
    w->stopped++;
    if (w->finishes)
        mcp_reply_finish(req, MCP_ECANCELLED);
    else
        w->held = req;
}

static int call(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)arguments;
    mcp_request_on_cancel(req, stop, user);
    return MCP_PENDING;
}

static void open_world(world *w, bool finishes)
{
    *w = (world){.finishes = finishes};
    w->allocator = failalloc_allocator(&w->memory);
    assert_int_equal(
        mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "t", .version = "1",
                                   .handler_timeout_ms = 100, .allocator = &w->allocator),
                       &w->server, NULL),
        MCP_OK);
    assert_int_equal(mcp_server_add_tool(
                         w->server, MCP_OPTIONS(mcp_tool, .name = "wait", .call = call), w, NULL),
                     MCP_OK);
    assert_int_equal(
        mcp_server_connect(w->server, MCP_OPTIONS(mcp_channel_options, .send = on_send, .user = w),
                           &w->channel, NULL),
        MCP_OK);
    for (int id = 1; id <= 3; id++) {
        char text[512];
        snprintf(text, sizeof(text),
                 "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/"
                 "call\",\"params\":{\"name\":\"wait\","
                 "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
                 "\"io.modelcontextprotocol/clientCapabilities\":{}}}}",
                 id);
        assert_int_equal(mcp_channel_receive(w->channel, (mcp_exchange)id, mcp_str_from(text), 1),
                         MCP_OK);
    }
    assert_int_equal(mcp_channel_in_flight(w->channel), 3);
}

static void cancel(world *w)
{
    mcp_channel_receive(w->channel, 2,
                        MCP_STR("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
                                "\"params\":{\"requestId\":2}}"),
                        1);
}
static void leave(world *w)
{
    mcp_channel_exchange_gone(w->channel, 2, 1);
}
static void wait_long(world *w)
{
    mcp_channel_tick(w->channel, 1);
    mcp_channel_tick(w->channel, 200);
}
static void close_channel(world *w)
{
    mcp_channel_close(w->channel, 1);
}
static void free_channel(world *w)
{
    mcp_channel_free(w->channel);
    w->channel = NULL;
}

static void test_every_way(void **state)
{
    (void)state;
    static const struct {
        void (*stop)(world *w);
        int stopped;
        const char *sent;
    } ways[] = {
        {cancel, 1, ""},        {leave, 1, ""},        {wait_long, 3, "timeoutMs"},
        {close_channel, 3, ""}, {free_channel, 3, ""},
    };
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        world w;
        open_world(&w, true);
        ways[i].stop(&w);
        assert_int_equal(w.stopped, ways[i].stopped);
        assert_non_null(strstr(w.sent, ways[i].sent));
        assert_int_equal(*w.sent != 0, *ways[i].sent != 0);
        if (w.channel)
            assert_int_equal(mcp_channel_in_flight(w.channel), 3 - w.stopped);
        mcp_channel_free(w.channel);
        assert_int_equal(w.stopped, 3);
        mcp_server_free(w.server);
        assert_int_equal(w.memory.live, 0);
    }
}

/* A handler that takes longer finishes later, once. */
static void test_later(void **state)
{
    (void)state;
    world w;
    open_world(&w, false);
    cancel(&w);
    assert_int_equal(w.stopped, 1);
    assert_int_equal(mcp_channel_in_flight(w.channel), 3);
    mcp_reply_finish(w.held, MCP_OK);
    assert_int_equal(mcp_channel_in_flight(w.channel), 2);
    assert_string_equal(w.sent, "");
    w.finishes = true;
    mcp_channel_free(w.channel);
    mcp_server_free(w.server);
    assert_int_equal(w.memory.live, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_way),
        cmocka_unit_test(test_later),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
