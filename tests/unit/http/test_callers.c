/* Limits per caller over HTTP: the caller is the principal, or otherwise the address, regardless of
 * the connection and the session.
 */
#include "rig.h"

enum { BURST = 3 };

static rig r;

static void begin(void)
{
    r = (rig){.now = 1000};
    r.allocator = failalloc_allocator(&r.memory);
    const mcp_http_options o = {
        .size = sizeof(o), .random = rig_random, .user = &r, .allocator = &r.allocator};
    assert_int_equal(
        fixture_new(&(fixture_options){.allocator = &r.allocator, .calls_burst = BURST}, &r.fixture,
                    NULL),
        MCP_OK);
    assert_int_equal(mcp_http_new(fixture_server(r.fixture), &o, &r.http, NULL), MCP_OK);
}

/* Makes a modern call, or a legacy call without a session. */
static void call(wire *w, bool modern)
{
    char message[1000], body[500];
    snprintf(body, sizeof(body),
             "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/"
             "call\",\"params\":{\"name\":\"every\"%s}}",
             modern ? "," RIG_META : "");
    snprintf(message, sizeof(message),
             "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
             "Accept: application/json, text/event-stream\r\n%sContent-Length: %zu\r\n\r\n%s",
             modern ? "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\n"
                      "Mcp-Name: every\r\n"
                    : "MCP-Protocol-Version: 2025-06-18\r\n",
             strlen(body), body);
    wire_clear(w);
    wire_bytes(w, message, strlen(message));
}

static int calls(const char *address, int n, bool modern)
{
    wire w;
    int good = 0;
    assert_int_equal(wire_open_from(&w, &r, address), MCP_OK);
    for (int i = 0; i < n; i++) {
        call(&w, modern);
        assert_non_null(strstr(wire_text(&w), "HTTP/1.1 200 OK"));
        bool ok = strstr(wire_text(&w), "\"result\"") != NULL;
        assert_true(ok || strstr(wire_text(&w), "\"data\":{\"retryAfterMs\":1000}"));
        good += ok;
    }
    wire_end(&w);
    return good;
}

static int every(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)arguments, (void)user;
    return mcp_reply_text(req, "done");
}

/* A server with default limits. */
static void rig_server(mcp_server **server)
{
    static const mcp_tool tool = {.size = sizeof(tool), .name = "every", .call = every};
    r = (rig){.now = 1000};
    r.allocator = failalloc_allocator(&r.memory);
    assert_int_equal(mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "s", .version = "1",
                                                .allocator = &r.allocator),
                                    server, NULL),
                     MCP_OK);
    assert_int_equal(mcp_server_add_tool(*server, &tool, NULL, NULL), MCP_OK);
    assert_int_equal(mcp_http_new(*server,
                                  MCP_OPTIONS(mcp_http_options, .random = rig_random, .user = &r,
                                              .allocator = &r.allocator),
                                  &r.http, NULL),
                     MCP_OK);
}

static void test_addresses(void **state)
{
    (void)state;
    begin();
    assert_int_equal(calls("10.0.0.1", 2, true), 2);
    assert_int_equal(calls("10.0.0.1", 5, true), BURST - 2);
    assert_int_equal(calls("10.0.0.1", 5, false), 0);
    assert_int_equal(calls("10.0.0.2", 5, false), BURST);
    assert_int_equal(calls(NULL, 5, true), BURST);
    assert_int_equal(calls(NULL, 5, false), 0);
    r.now += 2000;
    assert_int_equal(calls("10.0.0.1", 5, true), 2);
    rig_end(&r);
}

/* Callers on the same machine share an address, so they have no default limits. */
static void test_loopback(void **state)
{
    static const struct {
        const char *address;
        bool trusted, limited;
    } cases[] = {{"127.0.0.1", false, false},  {"127.3.2.1", false, false}, {"::1", false, false},
                 {"unix", true, false},        {"10.0.0.1", false, true},   {"::10", false, true},
                 {"1270.example", false, true}};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        mcp_server *server;
        rig_server(&server);
        wire w = {.rig = &r};
        assert_int_equal(mcp_http_accept(r.http,
                                         MCP_OPTIONS(mcp_http_connection_options,
                                                     .write = wire_write, .close = wire_close,
                                                     .user = &w, .address = cases[i].address,
                                                     .trusted_host = cases[i].trusted),
                                         r.now, &w.c, NULL),
                         MCP_OK);
        int good = 0;
        for (int k = 0; k < 2100; k++) {
            call(&w, true);
            good += strstr(wire_text(&w), "\"result\"") != NULL;
        }
        assert_int_equal(good, cases[i].limited ? 2000 : 2100);
        wire_end(&w);
        mcp_http_free(r.http);
        mcp_server_free(server);
        assert_int_equal(r.memory.live, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_addresses),
                                       cmocka_unit_test(test_loopback)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
