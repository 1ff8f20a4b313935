/* The cache of results: what is cached for which principal, for how long, and what invalidates it. */
#include "fake_server.h"

#define MODERN                                                                                    \
    {                                                                                             \
        "server/discover", RESULT("{\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":{}}") \
    }
#define LEGACY                                                                            \
    {"server/discover", ERROR("-32601", "")},                                             \
    {                                                                                     \
        "initialize",                                                                     \
            RESULT("{\"protocolVersion\":\"2025-11-25\"," SERVER ",\"capabilities\":{}}") \
    }
#define KEEP(ttl, scope) \
    "\"resultType\":\"complete\",\"ttlMs\":" ttl ",\"cacheScope\":\"" scope "\""
#define TOOL(name) "{\"name\":\"" name "\",\"inputSchema\":{\"type\":\"object\"}}"
#define READ(n)                                                  \
    RESULT("{\"contents\":[{\"uri\":\"mem:" n "\",\"text\":\"" n \
           "\"}]," KEEP("1000", "private") "}")
#define NOTICE(method, params) \
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/" method "\",\"params\":" params "}"

static const mcp_client_options plain = {.size = sizeof(plain)};

static void read_uri(fake *f, const char *uri, bool no_cache)
{
    f->done = 0;
    mcp_client_read(
        f->client, uri,
        MCP_OPTIONS(mcp_call_options, .done = fake_done, .user = f, .no_cache = no_cache), NULL);
    f->until = f->now;
    assert_int_equal(f->done, 0); /* not called from within the function */
    fake_run(f);
    assert_int_equal(f->done, 1);
}

static const struct {
    const char *method, *result, *notice;
    int64_t passes;
    bool asks;
} freshness_cases[] = {
    {"tools/list", "{\"tools\":[]," KEEP("1000", "private") "}", NULL, 999, false},
    {"tools/list", "{\"tools\":[]," KEEP("1000", "private") "}", NULL, 1000, true},
    {"prompts/list", "{\"prompts\":[]," KEEP("1000", "public") "}", NULL, 1, false},
    {"resources/list", "{\"resources\":[]," KEEP("1", "private") "}", NULL, 0, false},
    {"resources/templates/list", "{\"resourceTemplates\":[]," KEEP("9", "private") "}", NULL, 1,
     false},
    {"resources/list", "{\"resources\":[]," KEEP("0", "private") "}", NULL, 0, true},
    {"resources/list", "{\"resources\":[]," KEEP("-5", "private") "}", NULL, 0, true},
    {"resources/list", "{\"resources\":[]}", NULL, 0, true},
    {"resources/list", "{\"resources\":[]," KEEP("99999999999999", "private") "}", NULL, 86399999,
     false},
    {"resources/list", "{\"resources\":[]," KEEP("99999999999999", "private") "}", NULL, 86400000,
     true},
    {"completion/complete", "{\"completion\":{\"values\":[]}," KEEP("1000", "private") "}", NULL, 0,
     true},
    {"tools/call", "{\"content\":[]," KEEP("1000", "private") "}", NULL, 0, true},
    {"tools/list", "{\"tools\":[]," KEEP("1000", "private") "}", NOTICE("tools/list_changed", "{}"),
     0, true},
    {"tools/list", "{\"tools\":[]," KEEP("1000", "private") "}",
     NOTICE("prompts/list_changed", "{}"), 0, false},
    {"prompts/list", "{\"prompts\":[]," KEEP("1000", "private") "}",
     NOTICE("prompts/list_changed", "{}"), 0, true},
    {"resources/list", "{\"resources\":[]," KEEP("1000", "private") "}",
     NOTICE("resources/list_changed", "{}"), 0, true},
    {"resources/templates/list", "{\"resourceTemplates\":[]," KEEP("1000", "private") "}",
     NOTICE("resources/list_changed", "{}"), 0, true},
    {"resources/list", "{\"resources\":[]," KEEP("1000", "private") "}",
     NOTICE("resources/updated", "{\"uri\":\"a:1\"}"), 0, false},
};

/* An event between two calls, and whether the second call sends a request. */
static void test_freshness(void **state)
{
    (void)state;
    for (size_t i = 0; i < MCP__COUNT(freshness_cases); i++) {
        char answer[512];
        snprintf(answer, sizeof(answer), "{\"jsonrpc\":\"2.0\",\"id\":$,\"result\":%s}",
                 freshness_cases[i].result);
        fake_reply replies[FAKE_REPLIES] = {MODERN, {freshness_cases[i].method, answer}};
        fake f;
        fake_ready(&f, replies, &plain, false);
        f.until = f.now;
        mcp_client_call(f.client, freshness_cases[i].method, "{\"x\":1}", fake_done, &f);
        fake_run(&f);
        assert_int_equal(f.rc, MCP_OK);
        assert_string_equal(f.result, freshness_cases[i].result);
        if (freshness_cases[i].notice)
            fake_deliver(&f, freshness_cases[i].notice, "", 0);
        f.until = f.now += freshness_cases[i].passes;
        size_t before = f.n_sent;
        mcp_client_call(f.client, freshness_cases[i].method, "{ \"x\" : 1 }", fake_done, &f);
        fake_run(&f);
        assert_int_equal(f.done, 2);
        assert_string_equal(f.result, freshness_cases[i].result);
        assert_int_equal(f.n_sent - before, freshness_cases[i].asks);
        mcp_client_call(f.client, freshness_cases[i].method, "{\"x\":2}", fake_done,
                        &f); /* another key */
        before = f.n_sent;
        fake_run(&f);
        assert_int_equal(f.n_sent - before, 1);
        fake_close(&f);
    }
}

static void test_reads(void **state)
{
    (void)state;
    static const fake_reply replies[FAKE_REPLIES] = {MODERN,
                                                     {"resources/read", READ("1")},
                                                     {"resources/read", READ("2")},
                                                     {"resources/read", READ("3")},
                                                     {"resources/read", READ("4")},
                                                     {"resources/read", READ("5")}};
    fake f;
    fake_ready(&f, replies, &plain, false);
    read_uri(&f, "a:1", false);
    assert_contains(f.result, "\"text\":\"1\"");
    read_uri(&f, "a:1", false);
    assert_contains(f.result, "\"text\":\"1\"");
    read_uri(&f, "a:1", true); /* sends a request, and caches the result */
    assert_contains(f.result, "\"text\":\"2\"");
    read_uri(&f, "a:1", false);
    assert_contains(f.result, "\"text\":\"2\"");
    fake_deliver(&f, NOTICE("resources/updated", "{\"uri\":\"a:2\"}"), "", 0);
    read_uri(&f, "a:1", false);
    assert_contains(f.result, "\"text\":\"2\"");
    fake_deliver(&f, NOTICE("resources/updated", "{\"uri\":\"a:1\"}"), "", 0);
    read_uri(&f, "a:1", false);
    assert_contains(f.result, "\"text\":\"3\"");

    /* Another principal reads the resource, then the first one again. */
    assert_int_equal(mcp_client_set_authorization(f.client, "bob"), MCP_OK);
    read_uri(&f, "a:1", false);
    assert_contains(f.result, "\"text\":\"4\"");
    assert_int_equal(mcp_client_set_authorization(f.client, NULL), MCP_OK);
    read_uri(&f, "a:1", false);
    assert_contains(f.result, "\"text\":\"3\"");
    assert_int_equal(mcp_client_set_authorization(f.client, "bob"), MCP_OK);
    read_uri(&f, "a:1", false);
    assert_contains(f.result, "\"text\":\"4\"");
    fake_close(&f);
}

/* A public result may be used for every principal. */
static void test_public(void **state)
{
    (void)state;
    static const fake_reply replies[FAKE_REPLIES] = {
        MODERN, {"resources/read", RESULT("{\"contents\":[]," KEEP("1000", "public") "}")}};
    fake f;
    fake_ready(&f, replies, &plain, false);
    read_uri(&f, "a:1", false);
    mcp_client_set_authorization(f.client, "bob");
    read_uri(&f, "a:1", false);
    assert_string_equal(f.methods, "resources/read ");
    fake_close(&f);
}

/* Results that are not cached: after a notification of a change that precedes the answer, after
 * input rounds, from a legacy server, with no_cache, and of a request with a requestState. */
static void test_not_kept(void **state)
{
    (void)state;
    static const struct {
        fake_reply replies[FAKE_REPLIES];
        bool no_cache;
        const char *params;
        size_t asks;
    } lines[] = {
        {{MODERN, {"resources/read", NOTICE("tools/list_changed", "{}") "\n" READ("1")}},
         .asks = 2},
        {{MODERN,
          {"resources/read", RESULT("{\"resultType\":\"input_required\",\"requestState\":\"s\"}")},
          {"resources/read", READ("1")}},
         .asks = 3},
        {{LEGACY, {"resources/read", READ("1")}}, .asks = 2},
        {{MODERN, {"resources/read", READ("1")}}, .no_cache = true, .asks = 2},
        {{MODERN, {"resources/read", READ("1")}},
         .params = "{\"uri\":\"a:1\",\"requestState\":\"s\"}",
         .asks = 2},
        {{MODERN, {"resources/read", READ("1")}}, .asks = 1},
    };
    for (size_t i = 0; i < MCP__COUNT(lines); i++) {
        fake f;
        fake_ready(&f, lines[i].replies,
                   MCP_OPTIONS(mcp_client_options, .no_cache = lines[i].no_cache), false);
        size_t before = f.n_sent;
        const char *params = lines[i].params ? lines[i].params : "{\"uri\":\"a:1\"}";
        for (int twice = 0; twice < 2; twice++) {
            mcp_client_call(f.client, "resources/read", params, fake_done, &f);
            fake_run(&f);
            assert_int_equal(f.rc, MCP_OK);
        }
        assert_int_equal(f.n_sent - before, lines[i].asks);
        fake_close(&f);
    }
}

/* The cache has a limit in bytes; the least recently used entry is evicted. */
static void test_bound(void **state)
{
    (void)state;
    static const fake_reply replies[FAKE_REPLIES] = {
        MODERN,
        {"resources/read", READ("1")},
        {"resources/read",
         RESULT("{\"contents\":[{\"text\":\""
                "0123456789012345678901234567890123456789012345678901234567890123456789"
                "0123456789012345678901234567890123456789012345678901234567890123456789"
                "0123456789012345678901234567890123456789012345678901234567890123456789"
                "0123456789012345678901234567890123456789012345678901234567890123456789"
                "\"}]," KEEP("1000", "private") "}")},
        {"resources/read", READ("3")}};
    fake f;
    fake_ready(&f, replies, MCP_OPTIONS(mcp_client_options, .max_cache = 1000), false);
    read_uri(&f, "a:1", false);
    read_uri(&f, "a:2", false); /* more than a quarter of the cache: never cached */
    read_uri(&f, "a:1", false);
    assert_string_equal(f.methods, "resources/read resources/read ");
    read_uri(&f, "a:3", false);
    read_uri(&f, "a:1", false); /* used */
    fake_reset(&f);
    read_uri(&f, "a:4", false);
    read_uri(&f, "a:5", false);
    read_uri(&f, "a:1", false);
    char before[sizeof(f.methods)];
    memcpy(before, f.methods, sizeof(before));
    read_uri(&f, "a:3", false); /* was evicted */
    assert_true(strlen(f.methods) > strlen(before));
    fake_close(&f);
}

/* A list is cached page by page. If the server rejects a cursor, all pages are discarded and read
 * again. */
static void test_pages(void **state)
{
    (void)state;
    static const fake_reply replies[FAKE_REPLIES] = {
        MODERN,
        {"tools/list",
         RESULT("{\"tools\":[" TOOL("a") "],\"nextCursor\":\"c\"," KEEP("1000", "private") "}")},
        {"tools/list", ERROR("-32602", ",\"message\":\"stale\"")},
        {"tools/list", RESULT("{\"tools\":[" TOOL("b") "]," KEEP("1000", "private") "}")},
    };
    fake f;
    fake_ready(&f, replies, &plain, false);
    mcp_client_list(f.client, "tools/list", NULL, fake_done, &f);
    fake_run(&f);
    assert_int_equal(f.rc, MCP_OK);
    assert_contains(f.result, "{\"tools\":[" TOOL("b") "],");
    mcp_client_list(f.client, "tools/list", NULL, fake_done, &f);
    fake_run(&f);
    assert_string_equal(f.methods, "tools/list tools/list tools/list ");
    fake_close(&f);
}

static void test_no_memory(void **state)
{
    (void)state;
    static const fake_reply replies[FAKE_REPLIES] = {MODERN, {"resources/read", READ("1")}};
    bool ended = false;
    for (size_t n = 1; !ended; n++) {
        failalloc a = {.fail_at = n};
        mcp_allocator allocator = failalloc_allocator(&a);
        fake f;
        size_t made = 0;
        int rc = fake_open(&f, replies, MCP_OPTIONS(mcp_client_options, .allocator = &allocator));
        if (rc == MCP_OK) {
            for (int i = 0; i < 3; i++) {
                made +=
                    mcp_client_read(f.client, "a:1",
                                    MCP_OPTIONS(mcp_call_options, .done = fake_done, .user = &f),
                                    NULL) == MCP_OK;
                fake_run(&f);
                (void)mcp_client_set_authorization(f.client, i ? NULL : "me");
            }
            assert_int_equal(f.done, made);
        }
        fake_close(&f);
        assert_int_equal(a.live, 0);
        ended = a.calls < n;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_freshness), cmocka_unit_test(test_reads),
        cmocka_unit_test(test_public),    cmocka_unit_test(test_not_kept),
        cmocka_unit_test(test_bound),     cmocka_unit_test(test_pages),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
