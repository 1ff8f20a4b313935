/* The tools over resources that answer later: the answer is forwarded, and a cancellation ends both
 * requests, as does closing the bridge or the channel. The sanitizers detect uses of freed memory.
 */
#define _GNU_SOURCE
#include <mcp/sys/server.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../files/fakehost.h"
#include "bridge.h"

typedef struct world {
    fakehost host;
    mcp_server *server;
    mcp_bridge *bridge;
    mcp_channel *channel;
    mcp_request *waiting; /* its handler has not answered yet */
    size_t cancelled, progress;
    char reply[16 << 10];
} world;

static void keep(mcp_channel *channel, mcp_exchange exchange, mcp_str message, void *user)
{
    world *w = user;
    (void)exchange;
    if (mcp_channel_output_info(channel)->kind == MCP_OUTPUT_NOTIFICATION) {
        w->progress += memmem(message.ptr, message.len, "half way", 8) != NULL;
        return;
    }
    assert_true(message.len < sizeof(w->reply));
    memcpy(w->reply, message.ptr, message.len);
    w->reply[message.len] = 0;
}

static void on_cancel(mcp_request *req, void *user)
{
    (void)req;
    ((world *)user)->cancelled++;
}

static int read_late(mcp_request *req, mcp_str uri, const mcp_uri_match *match, void *user)
{
    world *w = user;
    (void)uri, (void)match;
    w->waiting = req;
    mcp_request_on_cancel(req, on_cancel, w);
    return MCP_PENDING;
}

static int list_late(mcp_request *req, mcp_str cursor, size_t max, void *user)
{
    (void)cursor, (void)max;
    ((world *)user)->waiting = req;
    return MCP_PENDING;
}

static int read_none(mcp_request *req, mcp_str uri, void *user)
{
    (void)req, (void)uri, (void)user;
    return MCP_ENOTFOUND;
}

static void open_world(world *w)
{
    static const mcp_provider slow = {
        .size = sizeof(slow), .name = "slow", .list = list_late, .read = read_none};
    memset(w, 0, sizeof(*w));
    fakehost_init(&w->host);
    assert_int_equal(mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "t", .version = "1",
                                                .host = &w->host.host),
                                    &w->server, NULL),
                     MCP_OK);
    assert_int_equal(mcp_server_add_resource(w->server,
                                             MCP_OPTIONS(mcp_resource, .uri = "mem:late",
                                                         .name = "late", .read = read_late),
                                             w, NULL),
                     MCP_OK);
    assert_int_equal(mcp_server_mount(w->server, "slow:", &slow, w, NULL), MCP_OK);
    assert_int_equal(mcp_bridge_new(w->server,
                                    &(mcp_bridge_options){.size = sizeof(mcp_bridge_options)},
                                    &w->bridge, NULL),
                     MCP_OK);
    assert_int_equal(mcp_bridge_add_tools(w->bridge, NULL, 0, NULL), MCP_OK);
    assert_int_equal(mcp_server_connect(w->server,
                                        MCP_OPTIONS(mcp_channel_options, .send = keep, .user = w),
                                        &w->channel, NULL),
                     MCP_OK);
}

static void close_world(world *w)
{
    mcp_channel_free(w->channel);
    mcp_bridge_free(w->bridge);
    mcp_server_free(w->server);
    while (w->host.timers)
        fakehost_timer_stop(w->host.timers, &w->host);
}

static void call(world *w, const char *tool, const char *arguments)
{
    char text[1000];
    snprintf(text, sizeof(text),
             "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"_meta\":{"
             "\"progressToken\":1,\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
             "\"io.modelcontextprotocol/clientCapabilities\":{}},\"name\":\"%s\","
             "\"arguments\":{%s}}}",
             tool, arguments);
    w->reply[0] = 0;
    mcp_channel_receive(w->channel, 0, mcp_str_from(text), 0);
    assert_string_equal(w->reply, "");
    assert_non_null(w->waiting);
}

#define READ_LATE "read_resource", "\"uri\":\"mem:late\""

static void cancel(world *w)
{
    mcp_channel_receive(w->channel, 0,
                        MCP_STR("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
                                "\"params\":{\"requestId\":1}}"),
                        0);
}

static void test_answer(void **state)
{
    world w;
    (void)state;
    open_world(&w);
    call(&w, READ_LATE);
    mcp_request_progress(w.waiting, 1, 2, "half way");
    assert_int_equal(w.progress, 1);
    mcp_reply_text(w.waiting, "here it is");
    mcp_reply_finish(w.waiting, MCP_OK);
    assert_non_null(strstr(w.reply, "{\"type\":\"text\",\"text\":\"here it is\"}"));
    fakehost_run(&w.host, 5); /* the bridge releases its internal channel */
    call(&w, "search_resources", "\"query\":\"here\"");
    mcp_request *list = w.waiting;
    w.waiting = NULL;
    mcp_reply_finish(list, MCP_OK);
    assert_non_null(w.waiting); /* the listed resource is being read */
    mcp_reply_text(w.waiting, "nothing\nand here\n");
    mcp_reply_finish(w.waiting, MCP_OK);
    assert_non_null(strstr(w.reply, "\"matches\":[{\"line\":2,\"text\":\"and here\"}]"));
    close_world(&w);
}

static void test_cancel(void **state)
{
    world w;
    (void)state;
    open_world(&w);
    call(&w, READ_LATE);
    cancel(&w);
    assert_int_equal(w.cancelled, 1);
    assert_int_equal(mcp_channel_in_flight(w.channel), 0);
    fakehost_run(&w.host, 5);
    mcp_reply_finish(w.waiting, MCP_ECANCELLED); /* its handler finishes too late */
    w.waiting = NULL;
    call(&w, "list_resources", "");
    cancel(&w);
    assert_int_equal(mcp_channel_in_flight(w.channel), 0);
    mcp_reply_finish(w.waiting, MCP_OK);
    assert_string_equal(w.reply, "");
    close_world(&w);
}

/* The peer or the bridge is closed while a read is pending. */
static void test_end(void **state)
{
    world w;
    (void)state;
    for (int bridge = 0; bridge < 2; bridge++) {
        open_world(&w);
        call(&w, READ_LATE);
        if (bridge) {
            mcp_bridge_free(w.bridge);
            w.bridge = NULL;
            assert_non_null(strstr(w.reply, "\"error\":"));
        } else {
            mcp_channel_free(w.channel);
            w.channel = NULL;
            fakehost_run(&w.host, 5);
        }
        assert_int_equal(w.cancelled, 1);
        mcp_reply_finish(w.waiting, MCP_ECANCELLED);
        close_world(&w);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answer),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
