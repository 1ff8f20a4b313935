/* Tools that are listed only for some clients (mcp_tool.offered), and lists for a program that
 * examines its own server (mcp_channel_options.page_size, list_mount). */
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

typedef struct peer {
    mcp_channel *channel;
    char sent[16 << 10];
    const char *without; /* a mount that the lists omit */
} peer;

static void keep(mcp_channel *channel, mcp_exchange exchange, mcp_str message, void *user)
{
    peer *p = user;
    (void)channel, (void)exchange;
    assert_true(message.len < sizeof(p->sent));
    memcpy(p->sent, message.ptr, message.len);
    p->sent[message.len] = '\0';
}

static int call(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)arguments, (void)user;
    return mcp_reply_text(req, "called");
}

/* Offers the tool to the client whose name is the tool's `user`. */
static bool offered(const mcp_request *req, void *user)
{
    mcp_str name = mcp_json_string(mcp_json_get(mcp_request_client_info(req), "name"));
    return mcp_str_eq(name, mcp_str_from(user));
}

static mcp_server *make(bool plain, const mcp_allocator *allocator)
{
    static char simple[] = "simple";
    mcp_server *server = NULL;
    int rc = mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "t", .version = "1",
                                        .cache_public = true, .allocator = allocator),
                            &server, NULL);
    if (rc == MCP_OK)
        rc = mcp_server_add_tool(
            server, MCP_OPTIONS(mcp_tool, .name = "for_simple", .call = call, .offered = offered),
            simple, NULL);
    if (rc == MCP_OK && plain)
        rc = mcp_server_add_tool(server, MCP_OPTIONS(mcp_tool, .name = "for_all", .call = call),
                                 NULL, NULL);
    if (rc == MCP_OK)
        return server;
    mcp_server_free(server);
    return NULL;
}

static void open_peer(mcp_server *server, peer *p, mcp_channel_options options)
{
    options.size = sizeof(options);
    options.send = keep;
    options.user = p;
    assert_int_equal(mcp_server_connect(server, &options, &p->channel, NULL), MCP_OK);
}

static void modern(peer *p, const char *method, const char *members, const char *client)
{
    char text[1000];
    int n = snprintf(text, sizeof(text),
                     "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":{%s\"_meta\":{"
                     "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
                     "\"io.modelcontextprotocol/clientCapabilities\":{}%s%s%s}}}",
                     method, members,
                     client ? ",\"io.modelcontextprotocol/clientInfo\":{\"name\":\"" : "",
                     client ? client : "", client ? "\",\"version\":\"1\"}" : "");
    mcp_channel_receive(p->channel, 0, (mcp_str){text, (size_t)n}, 0);
}

static void legacy(peer *p, const char *client)
{
    char text[1000];
    snprintf(text, sizeof(text),
             "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{"
             "\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},\"clientInfo\":{"
             "\"name\":\"%s\",\"version\":\"1\"}}}",
             client);
    mcp_channel_receive(p->channel, 0, mcp_str_from(text), 0);
}

#define HAS(p, text)   assert_non_null(strstr((p).sent, text))
#define LACKS(p, text) assert_null(strstr((p).sent, text))

/* One channel carries the requests of several clients, as a connection behind a gateway does. */
static void test_modern(void **state)
{
    mcp_server *server = make(true, NULL);
    peer p = {0};
    (void)state;
    open_peer(server, &p, (mcp_channel_options){0});
    modern(&p, "tools/list", "", "simple");
    HAS(p, "for_simple"), HAS(p, "for_all"), HAS(p, "\"cacheScope\":\"private\"");
    modern(&p, "tools/list", "", "rich");
    LACKS(p, "for_simple"), HAS(p, "for_all"), HAS(p, "\"cacheScope\":\"private\"");
    modern(&p, "tools/list", "", NULL);
    LACKS(p, "for_simple"), HAS(p, "for_all");
    modern(&p, "server/discover", "", "rich");
    HAS(p, "\"tools\":{"), HAS(p, "\"cacheScope\":\"private\"");
    modern(&p, "tools/call", "\"name\":\"for_simple\",", "rich"); /* calling is still allowed */
    HAS(p, "called");
    mcp_channel_free(p.channel);
    mcp_server_free(server);
}

static void test_capability(void **state)
{
    mcp_server *server = make(false, NULL);
    peer p = {0};
    (void)state;
    open_peer(server, &p, (mcp_channel_options){0});
    modern(&p, "server/discover", "", "rich");
    LACKS(p, "\"tools\":{");
    modern(&p, "server/discover", "", "simple");
    HAS(p, "\"tools\":{");
    mcp_channel_free(p.channel);
    mcp_server_free(server);
}

/* Concurrent sessions, each with its own client. */
static void test_legacy(void **state)
{
    static const char list[] = "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\"}";
    mcp_server *server = make(false, NULL);
    peer rich = {0}, simple = {0};
    (void)state;
    open_peer(server, &rich, (mcp_channel_options){0});
    open_peer(server, &simple, (mcp_channel_options){0});
    legacy(&simple, "simple");
    HAS(simple, "\"tools\":{");
    legacy(&rich, "rich");
    LACKS(rich, "\"tools\":{");
    mcp_channel_receive(simple.channel, 0, mcp_str_from(list), 0);
    HAS(simple, "for_simple");
    mcp_channel_receive(rich.channel, 0, mcp_str_from(list), 0);
    HAS(rich, "\"tools\":[]");
    mcp_channel_free(rich.channel);
    mcp_channel_free(simple.channel);
    mcp_server_free(server);
}

/* ---- lists for the program itself ------------------------------------------------------------ */

/* Entries "NAME:1" to "NAME:5"; `user` is the name, the cursor the last digit. */
static int list(mcp_request *req, mcp_str cursor, size_t max, void *user)
{
    char uri[32], at = cursor.len ? (char)(*cursor.ptr + 1) : '1';
    for (; at <= '5' && max; at++, max--) {
        snprintf(uri, sizeof(uri), "%s:%c", (const char *)user, at);
        int rc = mcp_reply_resource(req, MCP_OPTIONS(mcp_resource, .uri = uri, .name = uri));
        if (rc != MCP_OK)
            return rc;
    }
    at--;
    return at < '5' ? mcp_reply_next(req, (mcp_str){&at, 1}) : MCP_OK;
}

static int read_none(mcp_request *req, mcp_str uri, void *user)
{
    (void)req, (void)uri, (void)user;
    return MCP_ENOTFOUND;
}

static bool list_mount(const char *prefix, void *user)
{
    return strcmp(prefix, ((peer *)user)->without) != 0;
}

static void test_lists(void **state)
{
    static char one[] = "one", two[] = "two";
    static const mcp_provider provider = {
        .size = sizeof(provider), .name = "t", .list = list, .read = read_none};
    mcp_server *server = make(false, NULL);
    peer all = {0}, some = {.without = "one:"}, few = {.without = "two:"};
    (void)state;
    assert_int_equal(mcp_server_mount(server, "one:", &provider, one, NULL), MCP_OK);
    assert_int_equal(mcp_server_mount(server, "two:", &provider, two, NULL), MCP_OK);
    open_peer(server, &all, (mcp_channel_options){.page_size = 100000});
    open_peer(server, &some, (mcp_channel_options){.list_mount = list_mount});
    open_peer(server, &few, (mcp_channel_options){.list_mount = list_mount, .page_size = 5});
    modern(&all, "resources/list", "", NULL);
    HAS(all, "one:5"), HAS(all, "two:5");
    modern(&some, "resources/list", "", NULL);
    LACKS(some, "one:"), HAS(some, "two:1"), HAS(some, "two:5"), LACKS(some, "nextCursor");
    modern(&few, "resources/list", "", NULL);
    HAS(few, "one:5"), LACKS(few, "two:"), LACKS(few, "nextCursor");
    mcp_channel_free(few.channel);
    open_peer(server, &few, (mcp_channel_options){.page_size = 4});
    modern(&few, "resources/list", "", NULL);
    HAS(few, "one:4"), LACKS(few, "one:5"), HAS(few, "nextCursor");
    mcp_channel_free(all.channel);
    mcp_channel_free(some.channel);
    mcp_channel_free(few.channel);
    mcp_server_free(server);
}

static void test_no_memory(void **state)
{
    (void)state;
    for (size_t n = 1;; n++) {
        failalloc f = {.fail_at = n};
        mcp_allocator allocator = failalloc_allocator(&f);
        mcp_server *server = make(true, &allocator);
        mcp_server_free(server);
        assert_int_equal(f.live, 0);
        if (f.calls < n)
            break;
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_modern),    cmocka_unit_test(test_capability),
        cmocka_unit_test(test_legacy),    cmocka_unit_test(test_lists),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
