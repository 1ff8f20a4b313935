/* The Mcp-Param- headers of callers: they are compared with the arguments of a call before it is
 * forwarded, whatever the revision of the other server, and whether the tools were listed or not. */
#include "wires.h"

static const char *const revisions[] = {"2025-06-18", "2026-07-28"};

/* The headers of the peer's next message. */
static const char *method, *name, *region;

static bool header(mcp_channel *channel, mcp_exchange exchange, const char *which, mcp_str *value,
                   void *user)
{
    const char *found = strcmp(which, "MCP-Protocol-Version") == 0 ? "2026-07-28"
                        : strcmp(which, "Mcp-Method") == 0         ? method
                        : strcmp(which, "Mcp-Name") == 0           ? name
                        : strcmp(which, "Mcp-Param-Region") == 0   ? region
                                                                   : NULL;
    (void)channel, (void)exchange, (void)user;
    *value = mcp_str_from(found);
    return found != NULL;
}

static size_t runs;

static int call(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)arguments, (void)user;
    runs++;
    return mcp_reply_text(req, "called");
}

static void add_tool(mcp_server *server, const char *tool, const char *schema)
{
    assert_int_equal(mcp_server_add_tool(
                         server,
                         MCP_OPTIONS(mcp_tool, .name = tool, .input_schema = schema, .call = call),
                         NULL, NULL),
                     MCP_OK);
}

#define SCHEMA(header)                                                                  \
    "{\"type\":\"object\",\"properties\":{\"at\":{\"type\":\"object\",\"properties\":{" \
    "\"region\":{\"type\":\"string\"" header "}}}}}"

static mcp_server *other_new(void)
{
    mcp_server *s;
    assert_int_equal(
        mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "rig", .version = "1"), &s, NULL),
        MCP_OK);
    add_tool(s, "where", SCHEMA(",\"x-mcp-header\":\"Region\""));
    add_tool(s, "plain", SCHEMA(""));
    /* its name has to be changed, so it is looked up */
    add_tool(s, "far.away", SCHEMA(",\"x-mcp-header\":\"Region\""));
    return s;
}

static int open_all(wires *w, const char *revision)
{
    *w = (wires){.revision = revision, .header = header, .max_sessions = 4};
    runs = 0;
    return wires_open(w, other_new());
}

static void close_all(wires *w)
{
    wires_close(w);
    mcp_server_free(w->other);
}

static const char *list(wires *w)
{
    method = "tools/list";
    name = region = NULL;
    return wires_ask(w, method, "");
}

static const char *call_tool(wires *w, const char *tool, const char *in, const char *said)
{
    char params[300];
    snprintf(params, sizeof(params), "\"name\":\"%s\",\"arguments\":{\"at\":{%s%s%s}}", tool,
             in ? "\"region\":\"" : "", in ? in : "", in ? "\"" : "");
    method = "tools/call";
    name = tool;
    region = said;
    return wires_ask(w, method, params);
}

static void check(wires *w, const char *tool, const char *in, const char *said, bool good)
{
    size_t before = runs;
    wires_has(call_tool(w, tool, in, said), good ? "\"text\":\"called\"" : "\"code\":-32020");
    assert_int_equal(runs - before, good);
}

static void check_all(wires *w, const char *tool)
{
    check(w, tool, "eu", NULL, false);
    check(w, tool, "eu", "us", false);
    check(w, tool, "eu", "eu\nus", false);
    check(w, tool, "eu", "=?base64?ZXU=?=", true);
    check(w, tool, "eu", "eu", true);
    check(w, tool, NULL, NULL, true);
    check(w, tool, NULL, "eu", false);
}

static void test_listed(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        static wires w;
        assert_int_equal(open_all(&w, revisions[i]), MCP_OK);
        assert_int_equal(wires_peer(&w, w.front, "ann"), MCP_OK);
        wires_has(list(&w), "\"name\":\"up_where\"");
        check_all(&w, "up_where");
        check(&w, "up_plain", "eu", NULL, true);
        check(&w, "up_plain", "eu", "us", true);
        close_all(&w);
    }
}

/* The tools are read before the first call. */
static void test_unlisted(void **state)
{
    static const char *const tools[] = {"up_where", "up_far_away"};
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        static wires w;
        char tool[80];
        assert_int_equal(open_all(&w, revisions[i / 2]), MCP_OK);
        assert_int_equal(wires_peer(&w, w.front, "bob"), MCP_OK);
        const char *at = strstr(list(&w), tools[i % 2]);
        assert_non_null(at);
        snprintf(tool, sizeof(tool), "%.*s", (int)strcspn(at, "\""), at);
        assert_int_equal(wires_peer(&w, w.front, "ann"), MCP_OK);
        check_all(&w, tool);
        check(&w, "up_plain", "eu", NULL, true);
        close_all(&w);
    }
}

/* A caller without headers is not affected, and causes no list. */
static void test_without(void **state)
{
    (void)state;
    static wires w;
    assert_int_equal(open_all(&w, NULL), MCP_OK);
    w.header = NULL;
    assert_int_equal(wires_peer(&w, w.front, "ann"), MCP_OK);
    check(&w, "up_where", "eu", NULL, true);
    wires_has(w.sent, "tools/call");
    close_all(&w);
}

/* With each allocation failing, no wrong call reaches the tool. */
static void test_out_of_memory(void **state)
{
    (void)state;
    for (size_t n = 1;; n++) {
        static wires w;
        int rc = open_all(&w, "2026-07-28");
        if (rc == MCP_OK)
            rc = wires_peer(&w, w.front, "ann");
        assert_int_equal(rc, MCP_OK);
        size_t before = w.memory.calls;
        w.memory.fail_at = before + n;
        (void)call_tool(&w, "up_where", "eu", "eu");
        size_t calls = w.memory.calls;
        w.memory.fail_at = 0;
        close_all(&w);
        if (calls < before + n)
            break;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_listed),
        cmocka_unit_test(test_unlisted),
        cmocka_unit_test(test_without),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests_name("upstream: headers of callers", tests, NULL, NULL);
}
