/* The sizes of the list pages of a search: small ones as long as entries of them are read, a large one after
 * a page without any such entry. */
#include <mcp/sys/server.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../files/fakehost.h"
#include "bridge.h"

enum { ENTRIES = 1000 };

static fakehost host;
static mcp_server *server;
static mcp_bridge *bridge;
static mcp_channel *channel;
static char reply[64 << 10], sizes[400];
static size_t n_read;

static void keep(mcp_channel *c, mcp_exchange exchange, mcp_str message, void *user)
{
    (void)c, (void)exchange, (void)user;
    snprintf(reply, sizeof(reply), "%.*s", (int)message.len, message.ptr);
}

/* Lists many:0000 to many:0999, and notes how many were asked for. */
static int list(mcp_request *req, mcp_str cursor, size_t max, void *user)
{
    char uri[40], next[40];
    snprintf(next, sizeof(next), "%.*s", (int)cursor.len, cursor.len ? cursor.ptr : "");
    size_t at = strtoul(next, NULL, 10);
    size_t end = max < ENTRIES - at ? at + max : ENTRIES;
    (void)user;
    snprintf(sizes + strlen(sizes), sizeof(sizes) - strlen(sizes), "%zu ", max);
    for (; at < end; at++) {
        snprintf(uri, sizeof(uri), "many:%04zu", at);
        int rc = mcp_reply_resource(req, MCP_OPTIONS(mcp_resource, .uri = uri, .name = uri + 5));
        if (rc != MCP_OK)
            return rc;
    }
    snprintf(next, sizeof(next), "%zu", end);
    return end < ENTRIES ? mcp_reply_next(req, mcp_str_from(next)) : MCP_OK;
}

static int read_one(mcp_request *req, mcp_str uri, void *user)
{
    (void)uri, (void)user;
    n_read++;
    return mcp_reply_text(req, "nothing");
}

static void search(const char *under)
{
    char text[500];
    sizes[0] = 0;
    n_read = 0;
    snprintf(text, sizeof(text),
             "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"_meta\":{"
             "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
             "\"io.modelcontextprotocol/clientCapabilities\":{}},\"name\":\"search_resources\","
             "\"arguments\":{\"query\":\"x\",\"under\":\"%s\"}}}",
             under);
    reply[0] = 0;
    assert_int_equal(mcp_channel_receive(channel, 0, mcp_str_from(text), 1), MCP_OK);
    for (int i = 0; !reply[0] && i < 10000; i++)
        fakehost_run(&host, 5);
}

static void test_sizes(void **state)
{
    static const struct {
        const char *under, *sizes;
        size_t n_read;
    } cases[] = {
        {"many:09", "50 1000 ", 100},
        {"many:00", "50 50 50 1000 ", 100},
        {"many:none", "50 1000 ", 0},
        {"many:", "50 50 50 50 50 50 50 50 50 50 50 50 50 50 50 50 50 50 50 50 ", ENTRIES},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        search(cases[i].under);
        if (strcmp(sizes, cases[i].sizes) != 0 || n_read != cases[i].n_read)
            fail_msg("%s: pages of %s, %zu read: %.300s", cases[i].under, sizes, n_read, reply);
    }
}

static int setup(void **state)
{
    static const mcp_provider many = {
        .size = sizeof(many), .name = "many", .list = list, .read = read_one};
    (void)state;
    fakehost_init(&host);
    int rc = mcp_server_new(
        MCP_OPTIONS(mcp_server_options, .name = "t", .version = "1", .host = &host.host), &server,
        NULL);
    if (rc == MCP_OK)
        rc = mcp_server_mount(server, "many:", &many, NULL, NULL);
    if (rc == MCP_OK)
        rc = mcp_bridge_new(server, &(mcp_bridge_options){.size = sizeof(mcp_bridge_options)},
                            &bridge, NULL);
    if (rc == MCP_OK)
        rc = mcp_bridge_add_tools(bridge, NULL, 0, NULL);
    if (rc == MCP_OK)
        rc = mcp_server_connect(server, MCP_OPTIONS(mcp_channel_options, .send = keep), &channel,
                                NULL);
    return rc;
}

static int teardown(void **state)
{
    (void)state;
    mcp_channel_free(channel);
    mcp_bridge_free(bridge);
    mcp_server_free(server);
    while (host.timers)
        fakehost_timer_stop(host.timers, &host);
    return 0;
}

int main(void)
{
    static const struct CMUnitTest tests[] = {cmocka_unit_test(test_sizes)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
