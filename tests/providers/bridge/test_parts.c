/* search_resources over resources that name the part after them, as rows of tables and logs do: the
 * parts are searched in turn, and the answer says where a search ended and what it left out. */
#define _GNU_SOURCE
#include <mcp/sys/server.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bridge.h"
#include "failalloc.h"

typedef struct world {
    mcp_server *server;
    mcp_bridge *bridge;
    mcp_channel *channel;
    size_t parts;     /* number of the last part; the one after it does not exist */
    size_t missing;   /* a part that cannot be read, or 0 */
    const char *next; /* what all parts name as the next one, or NULL */
    size_t reads;
    char reply[64 << 10];
} world;

static void keep(mcp_channel *channel, mcp_exchange exchange, mcp_str message, void *user)
{
    world *w = user;
    (void)exchange;
    if (mcp_channel_output_info(channel)->kind == MCP_OUTPUT_NOTIFICATION)
        return;
    assert_true(message.len < sizeof(w->reply));
    memcpy(w->reply, message.ptr, message.len);
    w->reply[message.len] = 0;
}

/* The first part has the number 0 and no query. Its second value is too long for a row. */
static int read_rows(mcp_request *req, mcp_str uri, const mcp_uri_match *match, void *user)
{
    world *w = user;
    char next[64] = "";
    const char *query = memmem(uri.ptr, uri.len, "?n=", 3);
    size_t n = query ? (size_t)atoi(query + 3) : 0;
    (void)match;
    w->reads++;
    if (w->missing && n == w->missing)
        return MCP_ENOTFOUND;
    if (w->next)
        snprintf(next, sizeof(next), ",\"next\":\"%s\"", w->next);
    else if (n < w->parts)
        snprintf(next, sizeof(next), ",\"next\":\"mem:rows?n=%zu\"", n + 1);
    return mcp_reply_textf(req, "{\"columns\":[\"a\"],\"rows\":[[\"row %zu;\"]%s]%s}", n,
                           n ? "" : ",[{\"type\":\"text\",\"size\":9,\"uri\":\"mem:long\"}]", next);
}

/* A page of rows, and what is said about a table. */
static const char *const objects[] = {
    "{\"columns\":[\"thing\"],\"rows\":[[\"thing 1\"],[\"no\"],[\"thing 2\"]]}",
    "{\"name\":\"things\",\"key\":[\"id\"],\"columns\":[{\"name\":\"id\"},"
    "{\"name\":\"margin\",\"comment\":\"of a thing\"}],\"next\":\"mem:thing\"}"};

static int read_object(mcp_request *req, mcp_str uri, const mcp_uri_match *match, void *user)
{
    (void)match, (void)user;
    return mcp_reply_text(req, objects[uri.ptr[uri.len - 1] - '0']);
}

static int open_world(world *w, const mcp_allocator *alloc)
{
    static const mcp_resource rows = {.size = sizeof(rows),
                                      .uri = "mem:rows",
                                      .name = "rows",
                                      .mime_type = "application/json",
                                      .read = read_rows};
    static const mcp_resource_template parts = {
        .size = sizeof(parts), .uri_template = "mem:rows{?n}", .name = "parts", .read = read_rows};
    assert_int_equal(mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "t", .version = "1"),
                                    &w->server, NULL),
                     MCP_OK);
    assert_int_equal(mcp_server_add_resource(w->server, &rows, w, NULL), MCP_OK);
    assert_int_equal(mcp_server_add_template(w->server, &parts, w, NULL), MCP_OK);
    int rc = mcp_bridge_new(w->server, MCP_OPTIONS(mcp_bridge_options, .allocator = alloc),
                            &w->bridge, NULL);
    if (rc == MCP_OK)
        rc = mcp_bridge_add_tools(w->bridge, NULL, 0, NULL);
    if (rc == MCP_OK)
        assert_int_equal(
            mcp_server_connect(w->server, MCP_OPTIONS(mcp_channel_options, .send = keep, .user = w),
                               &w->channel, NULL),
            MCP_OK);
    return rc;
}

static void close_world(world *w)
{
    mcp_channel_free(w->channel);
    mcp_bridge_free(w->bridge);
    mcp_server_free(w->server);
    *w = (world){0};
}

static void search(world *w, const char *arguments)
{
    char text[600];
    snprintf(text, sizeof(text),
             "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"_meta\":{"
             "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
             "\"io.modelcontextprotocol/clientCapabilities\":{}},\"name\":\"search_resources\","
             "\"arguments\":{%s}}}",
             arguments);
    w->reply[0] = 0;
    w->reads = 0;
    mcp_channel_receive(w->channel, 0, mcp_str_from(text), 0);
}

static void assert_says(const world *w, const char *text)
{
    if (!strstr(w->reply, text))
        fail_msg("\"%s\" is not in %s", text, w->reply);
}

static void assert_silent(const world *w, const char *text)
{
    if (strstr(w->reply, text))
        fail_msg("\"%s\" is in %s", text, w->reply);
}

static void test_all_parts(void **state)
{
    world w = {.parts = 250};
    (void)state;
    assert_int_equal(open_world(&w, NULL), MCP_OK);
    search(&w, "\"query\":\"row 250;\"");
    assert_int_equal(w.reads, 251);
    assert_says(&w, "\"uri\":\"mem:rows?n=250\",\"matches\":[{\"line\":1");
    assert_says(&w, "\"searched\":1,");
    assert_silent(&w, "partial");
    assert_silent(&w, "rest begins");
    /* A value that the row does not have is counted, in words too. */
    assert_says(&w, "\"skipped\":{\"values\":1}");
    assert_says(&w, "1 long value of a row was not searched");
    close_world(&w);
}

/* The answer names the place where it stopped: at its limit, at a part that cannot be read, or
 * where a resource has too many of them. */
static void test_ends(void **state)
{
    static const struct {
        size_t parts, missing;
        const char *arguments, *end;
    } cases[] = {
        {250, 0, "\"query\":\"row\",\"limit\":3", "mem:rows?n=3"},
        {250, 70, "\"query\":\"nowhere\"", "mem:rows?n=70"},
        {20000, 0, "\"query\":\"nowhere\"", "mem:rows?n=10000"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        world w = {.parts = cases[i].parts, .missing = cases[i].missing};
        char json[80], words[80];
        snprintf(json, sizeof(json), "\"partial\":[\"%s\"]", cases[i].end);
        snprintf(words, sizeof(words), "the rest begins at: %s.", cases[i].end);
        assert_int_equal(open_world(&w, NULL), MCP_OK);
        search(&w, cases[i].arguments);
        assert_says(&w, json);
        assert_says(&w, words);
        assert_says(&w, "\"searched\":1,");
        close_world(&w);
    }
}

/* Only the same resource with other parameters is a part: a text cannot send the search elsewhere,
 * or in a circle of one. */
static void test_no_parts(void **state)
{
    static const char *const nexts[] = {"mem:row",  "mem:rows",      "mem:rows2?n=1",
                                        "mem:ROWS", "file:///a?n=1", ""};
    (void)state;
    for (size_t i = 0; i < sizeof(nexts) / sizeof(*nexts); i++) {
        world w = {.next = nexts[i]};
        assert_int_equal(open_world(&w, NULL), MCP_OK);
        search(&w, "\"query\":\"row\"");
        assert_int_equal(w.reads, 1);
        assert_silent(&w, "partial");
        close_world(&w);
    }
    world w = {.next = "mem:rows?n=7"};
    assert_int_equal(open_world(&w, NULL), MCP_OK);
    search(&w, "\"query\":\"row\"");
    assert_int_equal(w.reads, 2);
    close_world(&w);
}

static void add_objects(world *w)
{
    static const char *const uris[] = {"mem:object0", "mem:object1", "mem:part?n=1"};
    for (size_t i = 0; i < sizeof(uris) / sizeof(*uris); i++)
        assert_int_equal(mcp_server_add_resource(w->server,
                                                 MCP_OPTIONS(mcp_resource, .uri = uris[i],
                                                             .name = "object", .read = read_object),
                                                 NULL, NULL),
                         MCP_OK);
}

/* Each row that matches is found, and shown by itself; so is each column of a table. */
static void test_objects(void **state)
{
    world w = {0};
    (void)state;
    assert_int_equal(open_world(&w, NULL), MCP_OK);
    add_objects(&w);
    search(&w, "\"query\":\"thing\"");
    assert_says(&w,
                "{\"uri\":\"mem:object0\",\"matches\":[{\"line\":1,\"text\":\"[\\\"thing 1\\\"]\"},"
                "{\"line\":3,\"text\":\"[\\\"thing 2\\\"]\"}]}");
    assert_says(
        &w, "{\"uri\":\"mem:object1\",\"matches\":[{\"line\":1,\"text\":\"name: \\\"things\\\"\"},"
            "{\"line\":4,\"text\":\"{\\\"name\\\":\\\"margin\\\","
            "\\\"comment\\\":\\\"of a thing\\\"}\"}]}");
    search(&w, "\"query\":\"^\\\\[\\\"thing\",\"regex\":true,\"per_file\":1");
    assert_says(&w, "{\"line\":1,\"text\":\"[\\\"thing 1\\\"]\"}],\"more\":true}");
    close_world(&w);
    w = (world){.parts = 30};
    assert_int_equal(open_world(&w, NULL), MCP_OK);
    add_objects(&w);
    search(&w, "\"query\":\"e\",\"per_file\":1,\"under\":\"mem:part\"");
    assert_says(&w, "\\\"under\\\":\\\"mem:part\\\""); /* all of it, not only this part */
    close_world(&w);
}

static void test_memory(void **state)
{
    (void)state;
    for (size_t n = 1;; n++) {
        failalloc f = {.fail_at = n};
        mcp_allocator alloc = failalloc_allocator(&f);
        world w = {.parts = 6};
        int rc = open_world(&w, &alloc);
        assert_true(rc == MCP_OK || rc == MCP_ENOMEM);
        if (rc == MCP_OK) {
            search(&w, "\"query\":\"row\",\"limit\":4");
            assert_says(&w, "\"id\":1");
        }
        close_world(&w);
        assert_int_equal(f.live, 0);
        if (f.calls < n)
            break;
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_parts), cmocka_unit_test(test_ends),
        cmocka_unit_test(test_no_parts),  cmocka_unit_test(test_objects),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
