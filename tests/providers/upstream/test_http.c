/* Another server over HTTP: parameters of tools in headers, the end of sessions, and a restart of
 * the endpoint. */
#define _GNU_SOURCE
#include "callers.h"

#include <mcp/sys/forward.h>
#include <unistd.h>

#include "upstream.h"

#define META                                                  \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":" \
    "\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":{}}"

typedef struct world {
    callers c;
    mcp_server *other, *front;
    mcp_listener *listener;
    char folder[64], address[96];
    size_t mismatches, deletes, initializes;
    mcp_host host; /* that of the loop, with a log of its own */
} world;

static void on_request(const mcp_http_record *record, void *user)
{
    world *w = user;
    w->mismatches += record->code == -32020;
    w->deletes += mcp_str_eq(record->http_method, MCP_STR("DELETE")) && record->status / 100 == 2;
    w->initializes += mcp_str_eq(record->method, MCP_STR("initialize"));
}

static char warning[400];

static void on_log(const char *level, const char *line, void *user)
{
    (void)user;
    if (strcmp(level, "warning") == 0)
        snprintf(warning, sizeof(warning), "%s", line);
}

static void listen_again(world *w)
{
    const mcp_http_options http = {.size = sizeof(http), .log = on_request, .user = w};
    mcp_error error = {0};
    mcp_listener_close(w->listener);
    if (mcp_loop_listen(w->c.loop, w->other,
                        MCP_OPTIONS(mcp_listen_options, .address = w->address, .http = &http),
                        &w->listener, &error) != MCP_OK)
        fail_msg("%s", error.text);
}

/* ---- the other server ------------------------------------------------------------------------ */

static int call(mcp_request *req, const mcp_json *arguments, void *user)
{
    mcp_str region = mcp_json_string(mcp_json_get(arguments, "region"));
    (void)user;
    mcp_request_logf(req, MCP_LOG_ERROR, "where", "in %.*s", (int)region.len, region.ptr);
    return mcp_reply_textf(req, "in %.*s", (int)region.len, region.ptr);
}

/* A tool whose x-mcp-header is invalid. */
static int list_items(mcp_request *req, mcp_item item, mcp_str cursor, size_t max, void *user)
{
    static const char page[] =
        "{\"tools\":[{\"name\":\"bad\",\"inputSchema\":{\"type\":\"object\",\"properties\":{"
        "\"a\":{\"type\":\"number\",\"x-mcp-header\":\"A\"}}}}]}";
    const mcp_raw raw = {.size = sizeof(raw), .json = {page, sizeof(page) - 1}};
    (void)cursor, (void)max, (void)user;
    return item == MCP_ITEM_TOOL ? mcp_reply_raw_page(req, &raw) : MCP_OK;
}

static int resolve(mcp_str uri, char *canonical, size_t room, void *user)
{
    (void)user;
    snprintf(canonical, room, "%.*s", (int)uri.len, uri.ptr);
    return MCP_OK;
}

static size_t watched;

static int watch(const char *canonical, void *user)
{
    (void)canonical, (void)user;
    watched++;
    return MCP_OK;
}

static void unwatch(const char *canonical, void *user)
{
    (void)canonical, (void)user;
    watched--;
}

static mcp_server *other_new(const mcp_host *host)
{
    static const mcp_provider provider = {.size = sizeof(provider),
                                          .name = "m",
                                          .items = 1u << MCP_ITEM_TOOL,
                                          .list_items = list_items,
                                          .resolve = resolve,
                                          .watch = watch,
                                          .unwatch = unwatch};
    static const char schema[] = "{\"type\":\"object\",\"properties\":{"
                                 "\"region\":{\"type\":\"string\",\"x-mcp-header\":\"Region\"}}}";
    mcp_server *s;
    watched = 0;
    assert_int_equal(mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "rig", .version = "1",
                                                .coalesce_ms = 1, .host = host, .logging = true),
                                    &s, NULL),
                     MCP_OK);
    mcp_server_add_tool(
        s, MCP_OPTIONS(mcp_tool, .name = "where", .input_schema = schema, .call = call), NULL,
        NULL);
    assert_int_equal(mcp_server_mount(s, "m:", &provider, NULL, NULL), MCP_OK);
    return s;
}

static void open_world(world *w, const char *revision, uint64_t idle_ms)
{
    mcp_error error = {0};
    *w = (world){.mismatches = 0};
    snprintf(w->folder, sizeof(w->folder), "/tmp/mcp-upstream-XXXXXX");
    assert_non_null(mkdtemp(w->folder));
    snprintf(w->address, sizeof(w->address), "unix:%s/socket", w->folder);
    assert_int_equal(mcp_loop_new(NULL, &w->c.loop, NULL), MCP_OK);
    w->host = *mcp_loop_host(w->c.loop);
    w->host.log = on_log;
    warning[0] = 0;
    w->other = other_new(&w->host);
    listen_again(w);
    assert_int_equal(mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "rig", .version = "1",
                                                .host = &w->host, .coalesce_ms = 1),
                                    &w->front, NULL),
                     MCP_OK);
    if (mcp_upstream_mount(w->front,
                           MCP_OPTIONS(mcp_upstream_options, .name = "up", .url = w->address,
                                       .revision = revision, .idle_ms = idle_ms),
                           &error) != MCP_OK)
        fail_msg("%s", error.text);
}

static void close_world(world *w)
{
    callers_leave(&w->c);
    mcp_server_free(w->front);
    assert_int_equal(mcp_loop_drain(w->c.loop, 60000), MCP_OK);
    mcp_listener_close(w->listener);
    assert_int_equal(mcp_loop_drain(w->c.loop, 60000), MCP_OK);
    mcp_server_free(w->other);
    mcp_loop_free(w->c.loop);
    rmdir(w->folder);
}

static const char *ask(world *w, const char *method, const char *params)
{
    char message[512];
    snprintf(message, sizeof(message),
             "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"%s\",\"params\":{%s}}", method, params);
    const char *got = callers_say(&w->c, false, message, 1);
    while (!strstr(got, "\"id\":2"))
        got = callers_say(&w->c, false, NULL, 1);
    return got;
}

static void expect(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("no %s in %s", part, text);
}

/* ---- tests ----------------------------------------------------------------------------------- */

#define WHERE "\"name\":\"up_where\",\"arguments\":{\"region\":\" \303\244\"},"

/* A tool that was not listed before is called without headers. The call is rejected, the tools are
 * listed, and the call is repeated with headers (2026-07-28, basic/transports/streamable-http,
 * "Client Behavior"). */
static void test_headers(void **state)
{
    (void)state;
    static world w;
    open_world(&w, NULL, 0);
    callers_connect(&w.c, false, w.front, "2026-07-28");
    for (int i = 0; i < 2; i++) {
        expect(ask(&w, "tools/call", WHERE META), "\"text\":\"in  \303\244\"");
        assert_int_equal(w.mismatches, 1);
    }
    close_world(&w);
}

/* A tool whose definition violates the constraints is left out, and the reason is logged. */
static void test_invalid_headers(void **state)
{
    (void)state;
    static world w;
    open_world(&w, NULL, 0);
    callers_connect(&w.c, false, w.front, "2026-07-28");
    const char *tools = ask(&w, "tools/list", META);
    expect(tools, "\"name\":\"up_where\"");
    assert_null(strstr(tools, "bad"));
    expect(warning, "mcp:up: the tool \"bad\" is left out: x-mcp-header \"A\" ");
    close_world(&w);
}

static void wait_for(world *w, const size_t *what, size_t value)
{
    for (int64_t end = wait_end(); *what != value && wait_more(end);)
        callers_step(&w->c, 5);
    assert_int_equal(*what, value);
}

/* DELETE is sent for a legacy session that was idle for too long, and when the server is freed. */
static void test_session_end(void **state)
{
    (void)state;
    static world w;
    open_world(&w, "2025-06-18", 100);
    callers_connect(&w.c, false, w.front, "2025-06-18");
    expect(ask(&w, "tools/call", "\"name\":\"up_where\""), "\"text\":\"in ");
    assert_int_equal(w.initializes, 1);
    wait_for(&w, &w.deletes, 1);
    expect(ask(&w, "tools/call", "\"name\":\"up_where\""), "\"text\":\"in ");
    assert_int_equal(w.initializes, 2);
    callers_leave(&w.c);
    mcp_server_free(w.front);
    w.front = NULL;
    wait_for(&w, &w.deletes, 2);
    close_world(&w);
}

/* Waits until the caller has received all of these notifications. */
static void wait_for_notices(world *w)
{
    static const char *const parts[] = {
        "notifications/resources/list_changed", "notifications/prompts/list_changed",
        "notifications/tools/list_changed", "\"uri\":\"mcp+up:m:/a\""};
    unsigned got = 0;
    for (int64_t end = wait_end(); got != 15 && wait_more(end);) {
        const char *lines = callers_say(&w->c, false, NULL, 1);
        for (unsigned i = 0; i < 4; i++)
            got |= strstr(lines, parts[i]) ? 1u << i : 0;
    }
    assert_int_equal(got, 15);
}

/* Resources stay watched when the endpoint is restarted, and the callers are notified that
 * everything may have changed. If the session ends before its stream for notifications is open
 * (`early`), a ping finds this out. */
static void test_restart(void **state)
{
    static const char *const revisions[] = {"2026-07-28", "2025-11-25", "2025-03-26"};
    (void)state;
    for (size_t i = 0; i < 6; i++) {
        static world w;
        bool early = i % 2;
        open_world(&w, revisions[i / 2], 400);
        callers_connect(&w.c, false, w.front, "2025-06-18");
        expect(ask(&w, "resources/subscribe", "\"uri\":\"mcp+up:m:/a\""), "\"result\":{}");
        wait_for(&w, &watched, 1);
        for (int64_t end = wait_end(); !early && !w.c.at[0].lines && wait_more(end);) {
            mcp_server_resource_updated(w.other, "m:/a"); /* until the stream is open */
            callers_step(&w.c, 5);
        }
        callers_say(&w.c, false, NULL, 0);
        listen_again(&w);
        wait_for_notices(&w);
        wait_for(&w, &watched, 1);
        close_world(&w);
    }
}

/* Over HTTP each log message arrives on the stream of its call, and reaches only the caller of that
 * call. Anonymous callers get the messages of their calls, too. */
static void test_logs(void **state)
{
    static const char *const revisions[] = {"2026-07-28", "2025-11-25"};
    static const char *const principals[] = {"ann", NULL};
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        static world w;
        open_world(&w, revisions[i / 2], 0);
        for (int k = 0; k < 2; k++) {
            callers_connect_as(&w.c, k, w.front, "2026-07-28", principals[i % 2]);
            char message[600];
            snprintf(message, sizeof(message),
                     "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{"
                     "\"name\":\"up_where\",\"arguments\":{\"region\":\"%d\"},\"_meta\":{"
                     "\"io.modelcontextprotocol/logLevel\":\"debug\","
                     "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
                     "\"io.modelcontextprotocol/clientCapabilities\":{}}}}",
                     k);
            mcp_channel_receive(w.c.at[k].channel, 0, mcp_str_from(message),
                                mcp_loop_now(w.c.loop));
        }
        for (int k = 0; k < 2; k++) {
            char own[80];
            const char *got = callers_say(&w.c, k, NULL, 2);
            snprintf(own, sizeof(own), "\"logger\":\"up/where\",\"data\":\"in %d\"", k);
            expect(got, own);
            assert_null(strstr(got, k ? "\"data\":\"in 0\"" : "\"data\":\"in 1\""));
            expect(got, "\"result\"");
        }
        close_world(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_headers),     cmocka_unit_test(test_invalid_headers),
        cmocka_unit_test(test_session_end), cmocka_unit_test(test_restart),
        cmocka_unit_test(test_logs),
    };
    return cmocka_run_group_tests_name("upstream: HTTP", tests, NULL, NULL);
}
