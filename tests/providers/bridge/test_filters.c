/* search_resources over resources that look through their contents themselves (a template with the
 * variable `contains`): they are asked once, what they find is believed, and what they cannot do is said
 * or done in the usual way. */
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
    const char *variables; /* of the template */
    int code;              /* the error of filtered reads, or 0 */
    const char *message;
    const char *answer; /* instead of rows */
    int rows;           /* that are found, 10 on each page */
    char uris[2000];    /* the URIs that were read */
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

static int number_after(mcp_str uri, const char *name)
{
    const char *at = memmem(uri.ptr, uri.len, name, strlen(name));
    return at ? atoi(at + strlen(name)) : 0;
}

/* A long value of the second row has what is found, so the row does not show it. */
static int reply_found(mcp_request *req, const world *w, mcp_str uri)
{
    char text[4000] = "{\"columns\":[\"a\"],\"rows\":[", next[200] = "";
    int from = number_after(uri, "&offset="), to = from + 10 < w->rows ? from + 10 : w->rows;
    size_t base = strcspn(uri.ptr, "&") < uri.len ? strcspn(uri.ptr, "&") : uri.len;
    for (int i = from; i < to; i++)
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s[\"%s %d;\"%s]",
                 i > from ? "," : "", i == 1 ? "row" : "a Thing", i,
                 i == 1 ? ",{\"type\":\"text\",\"size\":9,\"uri\":\"mem:long\"}" : "");
    if (to < w->rows)
        snprintf(next, sizeof(next), ",\"next\":\"%.*s&offset=%d\"", (int)base, uri.ptr, to);
    return mcp_reply_textf(req, "%s]%s}", text, next);
}

/* Without a filter there are two pages, on the second of which is one thing. */
static int read_rows(mcp_request *req, mcp_str uri, const mcp_uri_match *match, void *user)
{
    world *w = user;
    (void)match;
    snprintf(w->uris + strlen(w->uris), sizeof(w->uris) - strlen(w->uris), "%.*s ", (int)uri.len,
             uri.ptr);
    if (!memmem(uri.ptr, uri.len, "contains=", 9))
        return memmem(uri.ptr, uri.len, "offset=", 7)
                   ? mcp_reply_text(req, "{\"columns\":[\"a\"],\"rows\":[[\"a Thing\"]]}")
                   : mcp_reply_text(req, "{\"columns\":[\"a\"],\"rows\":[[\"x\"]],"
                                         "\"next\":\"mem:rows?offset=1\"}");
    if (w->code)
        return mcp_reply_fail(req, w->code, "%s", w->message);
    return w->answer ? mcp_reply_text(req, w->answer) : reply_found(req, w, uri);
}

static int open_world(world *w, const mcp_allocator *alloc)
{
    char uri[100];
    const mcp_resource rows = {.size = sizeof(rows),
                               .uri = "mem:rows",
                               .name = "rows",
                               .mime_type = "application/json",
                               .read = read_rows};
    snprintf(uri, sizeof(uri), "mem:rows{?%s}",
             w->variables ? w->variables : "contains,icontains,limit,offset");
    const mcp_resource_template tmpl = {
        .size = sizeof(tmpl), .uri_template = uri, .name = "some", .read = read_rows};
    assert_int_equal(
        mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "t", .version = "1", .page_size = 2),
                       &w->server, NULL),
        MCP_OK);
    for (int i = 0; i < 3; i++) { /* the template is not on the first page of the list */
        char other[40];
        snprintf(other, sizeof(other), "mem:other%d{?contain}", i);
        assert_int_equal(
            mcp_server_add_template(w->server,
                                    MCP_OPTIONS(mcp_resource_template, .uri_template = other,
                                                .name = other, .read = read_rows),
                                    w, NULL),
            MCP_OK);
    }
    assert_int_equal(mcp_server_add_resource(w->server, &rows, w, NULL), MCP_OK);
    assert_int_equal(mcp_server_add_template(w->server, &tmpl, w, NULL), MCP_OK);
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

static void call(world *w, const char *tool, const char *arguments)
{
    char text[600];
    snprintf(text, sizeof(text),
             "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"_meta\":{"
             "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
             "\"io.modelcontextprotocol/clientCapabilities\":{}},\"name\":\"%s\","
             "\"arguments\":{%s}}}",
             tool, arguments);
    w->reply[0] = w->uris[0] = 0;
    mcp_channel_receive(w->channel, 0, mcp_str_from(text), 0);
}

static void search(world *w, const char *arguments)
{
    call(w, "search_resources", arguments);
}

static void check(const world *w, const char *what, const char *const has[6])
{
    for (size_t i = 0; i < 6 && has[i]; i++) {
        bool absent = *has[i] == '!';
        if ((strstr(w->reply, has[i] + absent) != NULL) == absent)
            fail_msg("%s: \"%s\" in %s", what, has[i], w->reply);
    }
}

/* What is asked for, and what is made of the answer. */
static void test_cases(void **state)
{
    static const struct {
        world w;
        const char *arguments, *uris;
        const char *has[6];
    } cases[] = {
        /* each row is a line, also if it does not show what it has; no value was left out */
        {{.rows = 3},
         "\"query\":\"a Thing\"",
         "mem:rows?contains=a%20Thing ",
         {"{\"line\":1,\"text\":\"[\\\"a Thing 0;\\\"]\"}", "{\"line\":2,\"text\":\"[\\\"row 1;",
          "{\"line\":3,", "\"searched\":1,\"skipped\":{}", "!long value", "!more"}},
        {{.rows = 1},
         "\"query\":\"A&\xc3\xa9%\",\"ignore_case\":true",
         "mem:rows?icontains=A%26%C3%A9%25 ",
         {"a Thing 0;", "\"uri\":\"mem:rows?icontains=A%26%C3%A9%25\""}},
        {{.rows = 0}, "\"query\":\"x\"", "mem:rows?contains=x ", {"Nothing was found. 1 file"}},
        /* as many as are wanted, and no more pages than for these */
        {{.rows = 25},
         "\"query\":\"a\",\"per_file\":4",
         "mem:rows?contains=a ",
         {"{\"line\":4,", "!{\"line\":5,", "\"more\":true", "\\\"under\\\":\\\"mem:rows\\\"",
          "!partial"}},
        {{.rows = 25},
         "\"query\":\"a\",\"per_file\":10",
         "mem:rows?contains=a ",
         {"a Thing 9;", "!a Thing 10;", "\"more\":true", "!partial"}},
        {{.rows = 25},
         "\"query\":\"a\",\"per_file\":100",
         "mem:rows?contains=a mem:rows?contains=a&offset=10 mem:rows?contains=a&offset=20 ",
         {"a Thing 24;", "!more", "!partial"}},
        {{.rows = 25},
         "\"query\":\"a\",\"per_file\":12",
         "mem:rows?contains=a mem:rows?contains=a&offset=10 ",
         {"a Thing 11;", "!a Thing 12;", "\"more\":true", "!partial"}},
        {{.rows = 25},
         "\"query\":\"a\",\"limit\":2",
         "mem:rows?contains=a ",
         {"{\"line\":2,", "!{\"line\":3,", "\"more\":true", "!partial"}},
        /* expressions are not asked for, nor is what the template does not have */
        {{.rows = 3},
         "\"query\":\"a Th.ng\",\"regex\":true",
         "mem:rows mem:rows?offset=1 ",
         {"a Thing", "\"searched\":1"}},
        {{.rows = 3, .variables = "contains,offset"},
         "\"query\":\"a thing\",\"ignore_case\":true",
         "mem:rows mem:rows?offset=1 ",
         {"a Thing", "\"searched\":1"}},
        /* what it cannot do is done in the usual way */
        {{.rows = 3, .code = MCP_CODE_INVALID_PARAMS, .message = "no"},
         "\"query\":\"a Thing\"",
         "mem:rows?contains=a%20Thing mem:rows mem:rows?offset=1 ",
         {"a Thing", "\"searched\":1", "!unreadable"}},
        {{.rows = 3, .code = MCP_CODE_INTERNAL, .message = "Internal error: the reply is larger"},
         "\"query\":\"a Thing\"",
         "mem:rows?contains=a%20Thing mem:rows mem:rows?offset=1 ",
         {"a Thing", "\"searched\":1", "!large"}},
        {{.answer = "{\"columns\":[\"a Thing\"]}"},
         "\"query\":\"a Thing\"",
         "mem:rows?contains=a%20Thing mem:rows mem:rows?offset=1 ",
         {"[\\\"a Thing\\\"]", "\"searched\":1"}},
        {{.answer = "a Thing"},
         "\"query\":\"a Thing\"",
         "mem:rows?contains=a%20Thing mem:rows mem:rows?offset=1 ",
         {"[\\\"a Thing\\\"]", "\"searched\":1"}},
        /* but not what would take too long again; this is said */
        {{.code = MCP_CODE_INTERNAL, .message = "It took too long"},
         "\"query\":\"a Thing\"",
         "mem:rows?contains=a%20Thing ",
         {"\"Nothing so far. 0 files searched", "\"partial\":[\"mem:rows?contains=a%20Thing\"]",
          "the rest begins at: mem:rows?contains=a%20Thing. The reason: It took too long.",
          "!unreadable"}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        world w = cases[i].w;
        assert_int_equal(open_world(&w, NULL), MCP_OK);
        search(&w, cases[i].arguments);
        check(&w, cases[i].arguments, cases[i].has);
        if (strcmp(w.uris, cases[i].uris) != 0)
            fail_msg("%s: %s was read, not %s", cases[i].arguments, w.uris, cases[i].uris);
        close_world(&w);
    }
}

/* find_resources asks for names once, and says where more are. */
static int read_names(mcp_request *req, mcp_str uri, const mcp_uri_match *match, void *user)
{
    world *w = user;
    (void)match;
    snprintf(w->uris + strlen(w->uris), sizeof(w->uris) - strlen(w->uris), "%.*s ", (int)uri.len,
             uri.ptr);
    return w->code ? mcp_reply_fail(req, w->code, "%s", w->message)
                   : mcp_reply_text(req, w->answer);
}

static void test_names(void **state)
{
    static const char three[] =
        "{\"named\":[{\"uri\":\"mem:a/t\",\"name\":\"t\",\"column\":\"x_id\","
        "\"type\":\"text\"},{\"uri\":\"mem:a/u\",\"name\":\"u\",\"column\":"
        "\"y_id\"},{\"name\":\"v\"}]}";
    static const struct {
        world w;
        const char *arguments, *uris;
        const char *has[6];
    } cases[] = {
        {{.answer = three},
         "\"name\":\"_ID\"",
         "mem:a/?named=_id ",
         {"mem:a/t\\tt: column x_id text\\n", "mem:a/u\\tu: column y_id\\n", "!more columns"}},
        {{.answer = three},
         "\"name\":\"_id\",\"limit\":1",
         "mem:a/?named=_id ",
         {"x_id", "!y_id", "There are more columns", "read mem:a/?named=_id."}},
        {{.answer = three},
         "\"name\":\"_id\",\"under\":\"mem:a/u\"",
         "mem:a/?named=_id ",
         {"!x_id", "y_id"}},
        {{.answer = three}, "\"name\":\"_id\",\"under\":\"mem:b\"", "", {"!x_id"}},
        {{.answer = three}, "\"name\":\"*_id\"", "mem:a/?named=%2A_id ", {"x_id"}},
        {{.answer = three}, "\"name\":\"?_*\"", "mem:a/?named=%3F_%2A ", {"x_id"}},
        {{.answer = three}, "\"name\":\"*\"", "", {"!x_id"}},
        {{.answer = three}, "\"name\":\"[xy]_id\"", "", {"!x_id"}},
        {{.answer = three}, "\"name\":\"**/*_id\"", "", {"!x_id"}},
        {{.answer = "{\"named\":[{\"uri\":\"mem:a/s\",\"name\":\"s.kind\",\"type\":\"enum 'a', "
                    "'b'\"},{\"uri\":\"mem:a/s\",\"name\":\"s.none\"}]}"},
         "\"name\":\"_id\"",
         "mem:a/?named=_id ",
         {"mem:a/s\\ts.kind: enum 'a', 'b'\\n", "!s.none"}},
        {{.answer = three}, "\"name\":\"a/_id\"", "", {"!x_id"}},
        {{.answer = three}, "\"name\":\"_id\",\"kind\":\"file\"", "", {"!x_id"}},
        {{.answer = "{\"named\":[],\"more\":true}"},
         "\"name\":\"_id\"",
         "mem:a/?named=_id ",
         {"read mem:a/?named=_id."}},
        {{.answer = "none"}, "\"name\":\"_id\"", "mem:a/?named=_id ", {"Nothing was found"}},
        {{.code = MCP_CODE_INTERNAL, .message = "late"},
         "\"name\":\"_id\"",
         "mem:a/?named=_id ",
         {"could not be asked for; read mem:a/?named=_id."}},
    };
    static const mcp_resource root = {
        .size = sizeof(root), .uri = "mem:a/", .name = "a", .read = read_names};
    static const mcp_resource_template tmpl = {
        .size = sizeof(tmpl), .uri_template = "mem:a/{?named}", .name = "a", .read = read_names};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        world w = cases[i].w;
        assert_int_equal(open_world(&w, NULL), MCP_OK);
        assert_int_equal(mcp_server_add_resource(w.server, &root, &w, NULL), MCP_OK);
        assert_int_equal(mcp_server_add_template(w.server, &tmpl, &w, NULL), MCP_OK);
        call(&w, "find_resources", cases[i].arguments);
        check(&w, cases[i].arguments, cases[i].has);
        if (strcmp(w.uris, cases[i].uris) != 0)
            fail_msg("%s: %s was read, not %s", cases[i].arguments, w.uris, cases[i].uris);
        close_world(&w);
    }
}

static void test_memory(void **state)
{
    (void)state;
    for (size_t n = 1;; n++) {
        failalloc f = {.fail_at = n};
        mcp_allocator alloc = failalloc_allocator(&f);
        world w = {.rows = 12};
        int rc = open_world(&w, &alloc);
        assert_true(rc == MCP_OK || rc == MCP_ENOMEM);
        if (rc == MCP_OK) {
            static const char *const has[6] = {"\"id\":1"};
            search(&w, "\"query\":\"row\",\"limit\":11");
            check(&w, "memory", has);
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
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
