/* A server that is short of memory for a long time: any allocation may fail, repeatedly, at any
 * point. No memory is leaked, every message is well-formed, and all requests succeed once memory is
 * available.
 *
 * (The transcripts make single allocations fail, each in turn.)
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include <mcp/mcp.h>
#include <mcp/sys/server.h>

#include "support/fixture.h"

typedef struct memory {
    uint64_t random;
    unsigned one_in; /* on average, one of this many allocations fails; 0 means that none fails */
    size_t live, failed;
} memory;

static bool fails(memory *m)
{
    m->random = m->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    bool now = m->one_in && (m->random >> 33) % m->one_in == 0;
    m->failed += now;
    return now;
}

static void *take(size_t size, void *user)
{
    memory *m = user;
    void *p = fails(m) ? NULL : malloc(size ? size : 1);
    m->live += p != NULL;
    return p;
}

static void *take_again(void *ptr, size_t size, void *user)
{
    memory *m = user;
    if (!ptr)
        return take(size, user);
    return fails(m) ? NULL : realloc(ptr, size ? size : 1);
}

static void give(void *ptr, void *user)
{
    memory *m = user;
    m->live -= ptr != NULL;
    free(ptr);
}

typedef struct heard {
    size_t messages, results;
} heard;

static void on_send(mcp_channel *channel, mcp_exchange exchange, mcp_str message, void *user)
{
    heard *h = user;
    mcp_json_doc *doc = NULL;
    (void)channel, (void)exchange;
    assert_int_equal(mcp_json_parse(message, NULL, NULL, &doc, NULL), MCP_OK);
    assert_null(memchr(message.ptr, '\n', message.len));
    const mcp_json *root = mcp_json_root(doc);
    h->messages++;
    h->results += mcp_json_get(root, "result") != NULL;
    mcp_json_free(doc);
}

#define MODERN                                                               \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"," \
    "\"io.modelcontextprotocol/clientCapabilities\":{}}"

static const char *const script[] = {
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"
    "\"2025-03-26\","
    "\"capabilities\":{},\"clientInfo\":{\"name\":\"x\",\"version\":\"1\"}}}",
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}",
    "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"resources/list\",\"params\":{" MODERN "}}",
    "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{\"name\":\"every\"," MODERN
    "}}",
    "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"tools/"
    "call\",\"params\":{\"name\":\"object\"," MODERN "}}",
    "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"tools/"
    "call\",\"params\":{\"name\":\"refuses\"," MODERN "}}",
    "{\"jsonrpc\":\"2.0\",\"id\":\"a long id that has to be kept somewhere else than in its "
    "request\","
    "\"method\":\"tools/call\",\"params\":{\"name\":\"pending\"," MODERN "}}",
    "{\"jsonrpc\":\"2.0\",\"id\":6,\"method\":\"subscriptions/"
    "listen\",\"params\":{\"notifications\":{"
    "\"toolsListChanged\":true,\"resourcesListChanged\":true,"
    "\"resourceSubscriptions\":[\"mem:a\",\"fixed:/text\"]}," MODERN "}}",
    "[{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":\"pending\"}},"
    "{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"ping\"},{}]",
    "{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"resources/"
    "subscribe\",\"params\":{\"uri\":\"mem:b\"}}",
    "{\"jsonrpc\":\"2.0\",\"id\":10,\"method\":\"resources/read\",\"params\":{\"uri\":\"fixed:/"
    "number/1\"}}",
    "{\"jsonrpc\":\"2.0\",\"id\":11,\"method\":\"completion/"
    "complete\",\"params\":{\"ref\":{\"type\":"
    "\"ref/resource\",\"uri\":\"fixed:/number/"
    "{n}\"},\"argument\":{\"name\":\"n\",\"value\":\"1\"}}}",
    "{\"jsonrpc\":\"2.0\",\"id\":12,\"method\":\"prompts/get\",\"params\":{\"name\":\"every\"}}",
    "{\"jsonrpc\":\"2.0\",\"id\":13,\"method\":",
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":7}}",
};

static void stir(fixture *f, mcp_channel *channel, int64_t now)
{
    mcp_server *server = fixture_server(f);
    mcp_server_resource_updated(server, "mem:a");
    mcp_server_resource_updated(server, "mem:b");
    if (fixture_add_tool(f, "more") == MCP_OK)
        assert_int_equal(mcp_server_remove_tool(server, "more"), MCP_OK);
    if (fixture_add_template(f, "more:{new}") == MCP_OK)
        assert_int_equal(mcp_server_remove_template(server, "more:{new}"), MCP_OK);
    mcp_channel_tick(channel, now);
    fixture_finish(f, 0);
    mcp_channel_tick(channel, now + 100);
}

static void run(uint64_t seed, unsigned one_in)
{
    memory m = {.random = seed};
    mcp_allocator allocator = {take, take_again, give, &m};
    heard h = {0};
    fixture *f = NULL;
    mcp_channel *channel = NULL;
    const fixture_options options = {.allocator = &allocator};
    const mcp_channel_options channel_options = {
        .size = sizeof(channel_options), .send = on_send, .user = &h, .shared_stream = true};
    assert_int_equal(fixture_new(&options, &f, NULL), MCP_OK);
    assert_int_equal(mcp_server_connect(fixture_server(f), &channel_options, &channel, NULL),
                     MCP_OK);

    m.one_in = one_in;
    int64_t now = 1000;
    for (size_t i = 0; i < 3 * sizeof(script) / sizeof(script[0]); i++, now += 200) {
        const char *line = script[i % (sizeof(script) / sizeof(script[0]))];
        int rc = mcp_channel_receive(channel, 0, mcp_str_from(line), now);
        assert_true(rc == MCP_OK || rc == MCP_ENOMEM);
        if (i % 4 == 3)
            stir(f, channel, now);
    }
    fixture_finish(f, 0);
    assert_true(m.failed > 0);

    m.one_in = 0;
    assert_int_equal(mcp_channel_in_flight(channel), 0);
    size_t before = h.results;
    assert_int_equal(mcp_channel_receive(channel, 0, mcp_str_from(script[3]), now), MCP_OK);
    assert_int_equal(h.results, before + 1);

    m.one_in = one_in;
    if (seed % 2)
        mcp_channel_close(channel, now);
    mcp_channel_free(channel);
    assert_int_equal(fixture_watched(f), 0);
    assert_int_equal(fixture_list_watched(f), 0);
    fixture_free(f);
    assert_int_equal(m.live, 0);
}

static void test_often(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 150; seed++)
        run(seed, 5);
}

static void test_now_and_then(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 150; seed++)
        run(seed, 25);
}

static void test_always(void **state)
{
    (void)state;
    run(1, 1);
    run(2, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_often),
        cmocka_unit_test(test_now_and_then),
        cmocka_unit_test(test_always),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
