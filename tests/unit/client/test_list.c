/* Pages of a list are read to the end, for any behaviour of the server's cursors. */
#include "fake_server.h"

#define MODERN                                                                                    \
    {                                                                                             \
        "server/discover", RESULT("{\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":{}}") \
    }
#define ENTRY(uri) "{\"uri\":\"" uri "\",\"name\":\"n\"}"
#define TOOL       "{\"name\":\"t\",\"inputSchema\":{\"type\":\"object\"}}"
#define PAGE(rest) RESULT("{\"resources\":[" ENTRY("a:1") "]" rest "}")

static bool count_page(mcp_client *client, const mcp_json *result, void *user)
{
    fake *f = user;
    assert_ptr_equal(client, f->client);
    assert_non_null(result);
    return ++f->pages != f->stop_at_page;
}

static const struct line {
    const char *name, *method;
    fake_reply replies[FAKE_REPLIES];
    size_t stop_at_page;
    int rc;
    size_t pages;
    const char *text;   /* of the error */
    const char *cursor; /* that the last request carries */
} lines[] = {
    {"one page",
     "resources/list",
     {MODERN, {"resources/list", PAGE("")}},
     0,
     MCP_OK,
     1,
     NULL,
     NULL},
    {"null is no cursor",
     "resources/list",
     {MODERN, {"resources/list", PAGE(",\"nextCursor\":null")}},
     0,
     MCP_OK,
     1,
     NULL,
     NULL},
    {"two pages",
     "resources/list",
     {MODERN,
      {"resources/list", PAGE(",\"nextCursor\":\"a\\u0000\\\"b\"")},
      {"resources/list", PAGE("")}},
     0,
     MCP_OK,
     2,
     NULL,
     "\"cursor\":\"a\\u0000\\\"b\""},
    {"an empty cursor is one",
     "resources/list",
     {MODERN, {"resources/list", PAGE(",\"nextCursor\":\"\"")}, {"resources/list", PAGE("")}},
     0,
     MCP_OK,
     2,
     NULL,
     "\"cursor\":\"\""},
    {"a cursor that never changes",
     "resources/list",
     {MODERN, {"resources/list", PAGE(",\"nextCursor\":\"a\"")}},
     0,
     MCP_EPROTOCOL,
     2,
     "gave a cursor a second time",
     NULL},
    {"a circle",
     "resources/list",
     {MODERN,
      {"resources/list", PAGE(",\"nextCursor\":\"a\"")},
      {"resources/list", PAGE(",\"nextCursor\":\"b\"")},
      {"resources/list", PAGE(",\"nextCursor\":\"a\"")}},
     0,
     MCP_EPROTOCOL,
     3,
     "after page 3",
     NULL},
    {"too many pages",
     "resources/list",
     {MODERN,
      {"resources/list", PAGE(",\"nextCursor\":\"a\"")},
      {"resources/list", PAGE(",\"nextCursor\":\"b\"")},
      {"resources/list", PAGE(",\"nextCursor\":\"c\"")},
      {"resources/list", PAGE(",\"nextCursor\":\"d\"")},
      {"resources/list", PAGE("")}},
     0,
     MCP_ELIMIT,
     4,
     "more than 4 pages (max_pages)",
     NULL},
    {"a cursor of a wrong type",
     "resources/list",
     {MODERN, {"resources/list", PAGE(",\"nextCursor\":7")}},
     0,
     MCP_EPROTOCOL,
     0,
     "/result/nextCursor: expected string, got integer",
     NULL},
    {"no array",
     "resources/list",
     {MODERN, {"resources/list", RESULT("{}")}},
     0,
     MCP_EPROTOCOL,
     0,
     "/result/resources: expected array, got nothing",
     NULL},
    {"an array of a wrong type",
     "resources/templates/list",
     {MODERN, {"resources/templates/list", RESULT("{\"resourceTemplates\":{}}")}},
     0,
     MCP_EPROTOCOL,
     0,
     "/result/resourceTemplates: expected array, got object",
     NULL},
    {"a method that we do not know",
     "x/list",
     {MODERN, {"x/list", RESULT("{}")}},
     0,
     MCP_OK,
     1,
     NULL,
     NULL},
    {"an error on the second page",
     "resources/list",
     {MODERN,
      {"resources/list", PAGE(",\"nextCursor\":\"a\"")},
      {"resources/list", ERROR("-32602", ",\"message\":\"stale\"")}},
     0,
     MCP_EREMOTE,
     1,
     "stale",
     NULL},
    {"as many entries as allowed",
     "tools/list",
     {MODERN, {"tools/list", RESULT("{\"tools\":[" TOOL "," TOOL "," TOOL "]}")}},
     0,
     MCP_OK,
     1,
     NULL,
     NULL},
    {"an entry too many",
     "tools/list",
     {MODERN, {"tools/list", RESULT("{\"tools\":[1,2,3,4]}")}},
     0,
     MCP_ELIMIT,
     0,
     "a page of tools/list has more than 3 entries (max_entries)",
     NULL},
    {"stopped",
     "resources/list",
     {MODERN, {"resources/list", PAGE(",\"nextCursor\":\"a\"")}, {"resources/list", PAGE("")}},
     1,
     MCP_ECANCELLED,
     1,
     "stopped",
     NULL},
};

static void test_pages(void **state)
{
    (void)state;
    for (size_t i = 0; i < MCP__COUNT(lines); i++) {
        const struct line *l = &lines[i];
        print_message("# %s\n", l->name);
        fake f;
        fake_open(&f, l->replies,
                  MCP_OPTIONS(mcp_client_options, .max_pages = 4, .max_entries = 3));
        f.stop_at_page = l->stop_at_page;
        assert_int_equal(mcp_client_list(f.client, l->method, count_page, fake_done, &f), MCP_OK);
        fake_run(&f);
        assert_int_equal(f.done, 1);
        assert_int_equal(f.rc, l->rc);
        assert_int_equal(f.pages, l->pages);
        if (l->text)
            assert_contains(f.text, l->text);
        if (l->cursor)
            assert_contains(f.sent[f.n_sent - 1], l->cursor);
        fake_close(&f);
    }
}

/* If the server rejects a cursor that it returned, the list has changed; it is read again, once. */
static void test_cursor_refused(void **state)
{
    (void)state;
    static const struct {
        const char *code;
        int rc;
        fake_reply replies[FAKE_REPLIES];
    } cases[] = {
        {"-32602",
         MCP_OK,
         {MODERN,
          {"resources/list", RESULT("{\"resources\":[" ENTRY("a:old") "],\"nextCursor\":\"1\"}")},
          {"resources/list", ERROR("-32602", ",\"message\":\"stale\"")},
          {"resources/list", RESULT("{\"resources\":[" ENTRY("a:1") "],\"nextCursor\":\"1\"}")},
          {"resources/list", RESULT("{\"resources\":[" ENTRY("a:2") "]}")}}},
        {"-32602 again",
         MCP_EREMOTE,
         {MODERN,
          {"resources/list", RESULT("{\"resources\":[],\"nextCursor\":\"1\"}")},
          {"resources/list", ERROR("-32602", ",\"message\":\"stale\"")},
          {"resources/list", RESULT("{\"resources\":[],\"nextCursor\":\"1\"}")},
          {"resources/list", ERROR("-32602", ",\"message\":\"stale\"")},
          {"resources/list", RESULT("{\"resources\":[]}")}}},
        {"-32603",
         MCP_EREMOTE,
         {MODERN,
          {"resources/list", RESULT("{\"resources\":[],\"nextCursor\":\"1\"}")},
          {"resources/list", ERROR("-32603", ",\"message\":\"broken\"")},
          {"resources/list", RESULT("{\"resources\":[]}")}}},
    };
    for (size_t i = 0; i < MCP__COUNT(cases); i++) {
        fake f;
        print_message("# %s\n", cases[i].code);
        fake_open(&f, cases[i].replies, MCP_OPTIONS(mcp_client_options, .max_pages = 4));
        assert_int_equal(mcp_client_list(f.client, "resources/list", NULL, fake_done, &f), MCP_OK);
        fake_run(&f);
        assert_int_equal(f.done, 1);
        assert_int_equal(f.rc, cases[i].rc);
        if (f.rc == MCP_OK)
            assert_string_equal(f.result, "{\"resources\":[" ENTRY("a:1") "," ENTRY("a:2") "]}");
        fake_close(&f);
    }
}

typedef struct witness {
    fake fake; /* must be first, because fake_done() expects a fake */
    size_t told;
    char what[256];
} witness;

static void on_misbehaved(mcp_client *client, const char *what, void *user)
{
    witness *w = user;
    (void)client;
    w->told++;
    snprintf(w->what, sizeof(w->what), "%s", what);
}

/* A malformed entry is left out and reported; a malformed page is an error. */
static void test_malformed(void **state)
{
    (void)state;
    static const struct {
        const char *method, *answer, *result, *what, *error;
    } cases[] = {
        {"tools/list", RESULT("{\"tools\":[" TOOL ",7,{\"name\":\"x\"}," TOOL "],\"x\":1}"),
         "{\"tools\":[" TOOL "," TOOL "],\"x\":1}",
         "2 of 4 entries of tools/list are malformed and left out: /result/tools/1: expected "
         "object, got integer",
         NULL},
        {"prompts/list", RESULT("{\"prompts\":[{\"name\":\"p\",\"title\":null},{\"name\":null}]}"),
         "{\"prompts\":[{\"name\":\"p\",\"title\":null}]}",
         "1 of 2 entries of prompts/list are malformed and left out: /result/prompts/1/name: "
         "expected string, got null",
         NULL},
        {"resources/list", RESULT("{\"resources\":[{}]}"), "{\"resources\":[]}",
         "1 of 1 entries of resources/list are malformed and left out: /result/resources/0/name: "
         "expected string, got nothing",
         NULL},
        {"resources/templates/list",
         RESULT(
             "{\"resourceTemplates\":[{\"name\":\"t\",\"uriTemplate\":\"a:{b}\",\"size\":\"\"}]}"),
         "{\"resourceTemplates\":[{\"name\":\"t\",\"uriTemplate\":\"a:{b}\",\"size\":\"\"}]}", "",
         NULL},
        {"prompts/list", RESULT("{\"prompts\":[{}],\"nextCursor\":5}"), NULL, "",
         "the answer to prompts/list is malformed: /result/nextCursor: expected string, got "
         "integer"},
    };
    for (size_t i = 0; i < MCP__COUNT(cases); i++) {
        for (int all = 0; all < 2; all++) {
            const fake_reply replies[FAKE_REPLIES] = {MODERN, {cases[i].method, cases[i].answer}};
            witness w = {.told = 0};
            fake_ready(&w.fake, replies,
                       MCP_OPTIONS(mcp_client_options, .misbehaved = on_misbehaved, .user = &w),
                       false);
            if (all)
                mcp_client_list(w.fake.client, cases[i].method, NULL, fake_done, &w.fake);
            else
                mcp_client_call(w.fake.client, cases[i].method, NULL, fake_done, &w.fake);
            fake_run(&w.fake);
            assert_int_equal(w.fake.done, 1);
            assert_int_equal(w.fake.rc, cases[i].error ? MCP_EPROTOCOL : MCP_OK);
            assert_string_equal(w.what, cases[i].what);
            assert_int_equal(w.told, *cases[i].what ? 1 : 0);
            if (cases[i].error)
                assert_string_equal(w.fake.text, cases[i].error);
            else if (!all)
                assert_string_equal(w.fake.result, cases[i].result);
            fake_close(&w.fake);
        }
    }
}

static void test_end_in_the_middle(void **state)
{
    (void)state;
    static const fake_reply replies[FAKE_REPLIES] = {
        MODERN, {"resources/list", PAGE(",\"nextCursor\":\"a\"")}, {"resources/list", NULL}};
    fake f;
    fake_open(&f, replies, MCP_OPTIONS(mcp_client_options, .timeout_ms = 10));
    assert_int_equal(mcp_client_list(f.client, "resources/list", count_page, fake_done, &f),
                     MCP_OK);
    fake_run(&f);
    assert_int_equal(f.rc, MCP_ETIMEOUT);
    assert_int_equal(f.pages, 1);
    assert_int_equal(mcp_client_list(f.client, "resources/list", count_page, fake_done, &f),
                     MCP_OK);
    mcp_client_disconnected(f.client, NULL);
    assert_int_equal(f.rc, MCP_ECLOSED);
    assert_int_equal(f.done, 2);
    assert_int_equal(mcp_client_list(f.client, "resources/list", count_page, fake_done, &f),
                     MCP_ECLOSED);
    assert_int_equal(mcp_client_list(f.client, NULL, count_page, fake_done, &f), MCP_EINVAL);
    fake_close(&f);
}

/* Without a function for pages, the result is one object with the entries of all pages. */
static void test_collected(void **state)
{
    (void)state;
    static const struct {
        fake_reply replies[FAKE_REPLIES];
        const char *method;
        size_t max_list;
        int rc;
        const char *expected; /* the result, or a part of the error's text */
    } collected[] = {
        {{MODERN,
          {"resources/list", RESULT("{\"resources\":[" ENTRY("a:1") "," ENTRY(
                                 "a:2") "],\"nextCursor\":\"c\",\"x\":1}")},
          {"resources/list", RESULT("{\"resources\":[],\"nextCursor\":\"d\"}")},
          {"resources/list", RESULT("{\"ttlMs\":0,\"resources\":[" ENTRY("a:3") "],\"y\":null}")}},
         "resources/list",
         0,
         MCP_OK,
         "{\"resources\":[" ENTRY("a:1") "," ENTRY("a:2") "," ENTRY(
             "a:3") "],\"ttlMs\":0,\"y\":null}"},
        {{MODERN,
          {"x/list", RESULT("{\"n\":1,\"things\":[1],\"nextCursor\":\"c\"}")},
          {"x/list", RESULT("{\"things\":[2]}")}},
         "x/list",
         0,
         MCP_OK,
         "{\"things\":[1,2]}"},
        {{MODERN,
          {"x/list", RESULT("{\"things\":[1],\"nextCursor\":\"c\"}")},
          {"x/list", RESULT("{\"other\":[2]}")}},
         "x/list",
         0,
         MCP_EPROTOCOL,
         "\"things\" is nothing, not array"},
        {{MODERN, {"x/list", RESULT("{\"n\":1}")}}, "x/list", 0, MCP_EPROTOCOL, "x/list"},
        {{MODERN,
          {"tools/list", RESULT("{\"tools\":[" TOOL "],\"nextCursor\":\"c\"}")},
          {"tools/list", RESULT("{\"tools\":[" TOOL "]}")}},
         "tools/list",
         60,
         MCP_ELIMIT,
         "60 bytes (max_list)"},
    };
    for (size_t i = 0; i < MCP__COUNT(collected); i++) {
        fake f;
        fake_ready(&f, collected[i].replies,
                   MCP_OPTIONS(mcp_client_options, .max_list = collected[i].max_list), false);
        mcp_client_list(f.client, collected[i].method, NULL, fake_done, &f);
        fake_run(&f);
        assert_int_equal(f.done, 1);
        assert_int_equal(f.rc, collected[i].rc);
        if (f.rc == MCP_OK)
            assert_string_equal(f.result, collected[i].expected);
        else
            assert_contains(f.text, collected[i].expected);
        fake_close(&f);
    }
}

/* A list has one call id for all pages, and the time-out applies to each page separately. */
static void test_handle(void **state)
{
    (void)state;
    static const fake_reply replies[FAKE_REPLIES] = {
        MODERN,
        {"resources/list", PAGE(",\"nextCursor\":\"a\"")},
        {"resources/list", PAGE(",\"nextCursor\":\"b\"")},
        {"resources/list", NULL}};
    fake f;
    mcp_call_id call = 0;
    fake_ready(&f, replies, MCP_OPTIONS(mcp_client_options, .timeout_ms = 1000), false);
    const mcp_call_options o = {.size = sizeof(o), .done = fake_done, .user = &f};
    mcp_client_list_all(f.client, "resources/list", count_page, &o, &call);
    for (size_t page = 1; page <= 2; page++) {
        f.now += 900;
        while (f.pages < page)
            assert_true(fake_step(&f));
        assert_int_equal(f.done, 0);
    }
    f.until = f.now + 900;
    fake_run(&f);
    assert_int_equal(f.done, 0);
    assert_int_equal(mcp_client_cancel(f.client, call, NULL), MCP_OK);
    fake_run(&f);
    assert_int_equal(f.rc, MCP_ECANCELLED);
    assert_string_equal(f.methods,
                        "resources/list resources/list resources/list notifications/cancelled ");
    fake_close(&f);
}

static void test_no_memory(void **state)
{
    (void)state;
    static const fake_reply replies[FAKE_REPLIES] = {
        MODERN,
        {"resources/list", RESULT("{\"resources\":[7," ENTRY("a:1") "],\"nextCursor\":\"b\"}")},
        {"resources/list", PAGE("")}};
    bool ended = false;
    for (size_t n = 1; !ended; n++) {
        failalloc a = {.fail_at = n};
        mcp_allocator allocator = failalloc_allocator(&a);
        fake f;
        int rc = fake_open(&f, replies, MCP_OPTIONS(mcp_client_options, .allocator = &allocator));
        if (rc == MCP_OK)
            rc = mcp_client_list(f.client, "resources/list", count_page, fake_done, &f);
        if (rc == MCP_OK) {
            fake_run(&f);
            assert_int_equal(f.done, 1);
        }
        fake_close(&f);
        assert_int_equal(a.live, 0);
        ended = a.calls < n;
        if (ended)
            assert_int_equal(f.rc, MCP_OK);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pages),          cmocka_unit_test(test_end_in_the_middle),
        cmocka_unit_test(test_cursor_refused), cmocka_unit_test(test_malformed),
        cmocka_unit_test(test_collected),      cmocka_unit_test(test_handle),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
