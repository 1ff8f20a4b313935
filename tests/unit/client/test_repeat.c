/* Event streams of a modern server that are interrupted before the answer: which requests are
 * repeated, how often and when, and which never are. */
#include "fake_server.h"

#define MODERN                                                                                    \
    {                                                                                             \
        "server/discover", RESULT("{\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":{}}") \
    }
#define BROKEN "!200b"
#define TOOL(name, annotations)                                                                  \
    "{\"name\":\"" name "\",\"inputSchema\":{\"type\":\"object\"},\"annotations\":{" annotations \
    "}}"
#define TOOLS                                                                                 \
    RESULT("{\"tools\":[" TOOL("reads", "\"readOnlyHint\":true") "," TOOL(                    \
        "sets",                                                                               \
        "\"idempotentHint"                                                                    \
        "\":true") "," TOOL("adds", "\"destructiveHint\":false") "," TOOL("says",             \
                                                                          "\"readOnlyHint\":" \
                                                                          "\"true\"") "]}")

/* The result of every method. */
#define AGAIN                                                                                 \
    "{\"contents\":[],\"resources\":[],\"resourceTemplates\":[],\"prompts\":[],\"tools\":[]," \
    "\"messages\":[],\"content\":[],\"completion\":{\"values\":[]}}"

static const mcp_client_options plain = {.size = sizeof(plain)};

static size_t count_of(const fake *f, const char *method)
{
    size_t n = 0;
    for (size_t i = 0; i < f->n_sent; i++)
        n += mcp_str_eq(fake_method(f->sent[i]), mcp_str_from(method));
    return n;
}

static void call(fake *f, const char *method, const char *params)
{
    assert_int_equal(mcp_client_call(f->client, method, params, fake_done, f), MCP_OK);
    fake_run(f);
    assert_int_equal(f->done, 1);
}

static void test_what_is_repeated(void **state)
{
    (void)state;
    static const struct {
        const char *method, *params;
        bool repeated;
    } lines[] = {
        {"resources/read", "{\"uri\":\"mem:a\"}", true},
        {"resources/list", NULL, true},
        {"resources/templates/list", NULL, true},
        {"prompts/list", NULL, true},
        {"tools/list", NULL, true},
        {"prompts/get", "{\"name\":\"p\"}", true},
        {"completion/complete", "{}", true},
        {"tools/call", "{\"name\":\"reads\"}", true},
        {"tools/call", "{\"name\":\"sets\"}", true},
        {"tools/call", "{\"name\":\"adds\"}", false},
        {"tools/call", "{\"name\":\"says\"}", false},
        {"tools/call", "{\"name\":\"unlisted\"}", false},
        {"com.example/do", NULL, false},
    };
    for (size_t i = 0; i < MCP__COUNT(lines); i++) {
        const fake_reply replies[FAKE_REPLIES] = {MODERN,
                                                  {"tools/list", TOOLS},
                                                  {lines[i].method, BROKEN},
                                                  {lines[i].method, RESULT(AGAIN)}};
        fake f;
        fake_ready(&f, replies, MCP_OPTIONS(mcp_client_options, .no_cache = true), true);
        call(&f, "tools/list", NULL);
        fake_reset(&f);
        size_t before = f.n_sent;
        call(&f, lines[i].method, lines[i].params);
        if (lines[i].repeated) {
            assert_int_equal(f.rc, MCP_OK);
            assert_string_equal(f.result, AGAIN);
            assert_int_equal(f.n_sent, before + 2);
            assert_int_not_equal(f.exchange[before], f.exchange[before + 1]);
        } else {
            assert_int_equal(f.rc, MCP_ECLOSED);
            assert_int_equal(f.n_sent, before + 1);
            assert_contains(f.text, lines[i].method);
            assert_contains(f.text, "was not repeated, because it may have had an effect");
        }
        fake_close(&f);
    }
}

static void test_once(void **state)
{
    (void)state;
    for (int once = 0; once < 2; once++) {
        static const fake_reply replies[FAKE_REPLIES] = {
            MODERN,
            {"tools/list", TOOLS},
            {"tools/call", BROKEN},
            {"tools/call", RESULT("{\"content\":[]}")},
            {"prompts/get", BROKEN},
            {"prompts/get", RESULT("{\"messages\":[]}")},
        };
        fake f;
        fake_ready(&f, replies, &plain, true);
        call(&f, "tools/list", NULL);
        fake_reset(&f);
        mcp_call_options o = {.size = sizeof(o), .done = fake_done, .user = &f, .once = once != 0};
        assert_int_equal(mcp_client_call_tool(f.client, "reads", NULL, &o, NULL), MCP_OK);
        fake_run(&f);
        assert_int_equal(f.rc, once ? MCP_ECLOSED : MCP_OK);
        assert_int_equal(mcp_client_get_prompt(f.client, "p", NULL, &o, NULL), MCP_OK);
        fake_run(&f);
        assert_int_equal(f.rc, once ? MCP_ECLOSED : MCP_OK);
        assert_int_equal(f.done, 2);
        assert_int_equal(count_of(&f, "tools/call"), once ? 1 : 2);
        assert_int_equal(count_of(&f, "prompts/get"), once ? 1 : 2);
        fake_close(&f);
    }
}

/* A request is repeated a few times with growing pauses, then it fails. A message in between resets
 * the count. */
static void test_how_often(void **state)
{
    (void)state;
    static const fake_reply replies[FAKE_REPLIES] = {MODERN, {"resources/read", BROKEN}};
    fake f;
    fake_ready(&f, replies, &plain, true);
    int64_t before = f.now;
    call(&f, "resources/read", "{\"uri\":\"mem:a\",\"name\":\"n\"}");
    assert_int_equal(f.rc, MCP_ECLOSED);
    assert_contains(f.text, "resources/read was repeated without success");
    assert_int_equal(count_of(&f, "resources/read"), 4);
    assert_int_equal(f.now - before, 250 + 500 + 1000);
    fake_close(&f);

    static const fake_reply pages[FAKE_REPLIES] = {
        MODERN,
        {"resources/list", BROKEN},
        {"resources/list", BROKEN},
        {"resources/list",
         RESULT("{\"resources\":[{\"uri\":\"mem:a\",\"name\":\"n\"}],\"nextCursor\":\"2\"}")},
        {"resources/list", BROKEN},
        {"resources/list", BROKEN},
        {"resources/list", RESULT("{\"resources\":[{\"uri\":\"mem:b\",\"name\":\"n\"}]}")}};
    fake_ready(&f, pages, &plain, true);
    mcp_client_list(f.client, "resources/list", NULL, fake_done, &f);
    fake_run(&f);
    assert_int_equal(f.rc, MCP_OK);
    assert_string_equal(
        f.result,
        "{\"resources\":[{\"uri\":\"mem:a\",\"name\":\"n\"},{\"uri\":\"mem:b\",\"name\":\"n\"}]}");
    assert_contains(f.sent[f.n_sent - 1], "\"cursor\":\"2\"");
    assert_int_equal(count_of(&f, "resources/list"), 6);
    fake_close(&f);
}

/* All attempts share the time-out of the first. */
static void test_deadline(void **state)
{
    (void)state;
    static const fake_reply broken[FAKE_REPLIES] = {MODERN, {"prompts/list", BROKEN}};
    static const fake_reply silent[FAKE_REPLIES] = {
        MODERN, {"prompts/list", BROKEN}, {"prompts/list", NULL}};
    fake f;
    fake_ready(&f, broken, MCP_OPTIONS(mcp_client_options, .timeout_ms = 700), true);
    call(&f, "prompts/list", NULL);
    assert_int_equal(f.rc, MCP_ECLOSED);
    assert_contains(f.text, "was not repeated, because its time-out has expired");
    assert_int_equal(count_of(&f, "prompts/list"), 2);
    fake_close(&f);

    fake_ready(&f, silent, MCP_OPTIONS(mcp_client_options, .timeout_ms = 700), true);
    int64_t before = f.now;
    call(&f, "prompts/list", NULL);
    assert_int_equal(f.rc, MCP_ETIMEOUT);
    assert_int_equal(f.now - before, 700);
    fake_close(&f);
}

static void test_cancelled_between_tries(void **state)
{
    (void)state;
    static const fake_reply replies[FAKE_REPLIES] = {MODERN, {"prompts/list", BROKEN}};
    mcp_call_id id;
    fake f;
    fake_ready(&f, replies, &plain, true);
    f.until = f.now + 100;
    mcp_client_request(f.client, "prompts/list", NULL,
                       MCP_OPTIONS(mcp_call_options, .done = fake_done, .user = &f), &id);
    fake_run(&f);
    assert_int_equal(f.done, 0);
    assert_int_equal(mcp_client_cancel(f.client, id, NULL), MCP_OK);
    f.until = 0;
    fake_run(&f);
    assert_int_equal(f.done, 1);
    assert_int_equal(f.rc, MCP_ECANCELLED);
    assert_int_equal(count_of(&f, "prompts/list"), 1);
    fake_close(&f);
}

/* Requests are repeated only for interrupted streams of modern servers; the transport resumes
 * legacy streams. */
static void test_what_is_no_reason(void **state)
{
    (void)state;
    static const fake_reply modern[FAKE_REPLIES] = {
        MODERN, {"prompts/list", "!200"}, {"prompts/get", "!502"}, {"resources/list", "!000"}};
    static const fake_reply legacy[FAKE_REPLIES] = {
        {"server/discover", "!400"},
        {"initialize",
         RESULT("{\"protocolVersion\":\"2025-11-25\"," SERVER ",\"capabilities\":{}}")},
        {"prompts/list", BROKEN}};
    static const char *const methods[] = {"prompts/list", "prompts/get", "resources/list"};
    fake f;
    fake_ready(&f, modern, &plain, true);
    for (size_t i = 0; i < MCP__COUNT(methods); i++) {
        call(&f, methods[i], NULL);
        assert_int_not_equal(f.rc, MCP_OK);
        assert_int_equal(count_of(&f, methods[i]), 1);
        fake_reset(&f);
    }
    fake_close(&f);
    fake_ready(&f, legacy, &plain, true);
    call(&f, "prompts/list", NULL);
    assert_int_equal(f.rc, MCP_ECLOSED);
    assert_null(strstr(f.text, "repeated"));
    assert_int_equal(count_of(&f, "prompts/list"), 1);
    fake_close(&f);
}

/* The very first request is repeated once, because an interrupted stream does not reveal the era. */
static void test_discovery(void **state)
{
    (void)state;
    static const fake_reply once[FAKE_REPLIES] = {{"server/discover", BROKEN}, MODERN};
    static const fake_reply always[FAKE_REPLIES] = {
        {"server/discover", BROKEN},
        {"initialize",
         RESULT("{\"protocolVersion\":\"2025-11-25\"," SERVER ",\"capabilities\":{}}")}};
    fake f;
    fake_ready(&f, once, &plain, true);
    assert_true(mcp_client_is_modern(f.client));
    assert_int_equal(count_of(&f, "server/discover"), 2);
    fake_close(&f);
    fake_ready(&f, always, &plain, true);
    assert_false(mcp_client_is_modern(f.client));
    assert_int_equal(count_of(&f, "server/discover"), 2);
    fake_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_repeated),
        cmocka_unit_test(test_once),
        cmocka_unit_test(test_how_often),
        cmocka_unit_test(test_deadline),
        cmocka_unit_test(test_cancelled_between_tries),
        cmocka_unit_test(test_what_is_no_reason),
        cmocka_unit_test(test_discovery),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
