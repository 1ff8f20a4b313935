/* Pages of a list are read to the end, for any behaviour of the server's cursors. */
#include "fake_server.h"

#define MODERN                                                                \
    {                                                                         \
        "server/discover", RESULT("{\"supportedVersions\":[\"2026-07-28\"]}") \
    }
#define PAGE(rest) RESULT("{\"resources\":[1]" rest "}")

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
     1,
     "\"nextCursor\" is integer",
     NULL},
    {"no array",
     "resources/list",
     {MODERN, {"resources/list", RESULT("{}")}},
     0,
     MCP_EPROTOCOL,
     0,
     "\"resources\" is nothing",
     NULL},
    {"an array of a wrong type",
     "resources/templates/list",
     {MODERN, {"resources/templates/list", RESULT("{\"resourceTemplates\":{}}")}},
     0,
     MCP_EPROTOCOL,
     0,
     "\"resourceTemplates\" is object",
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
     {MODERN, {"tools/list", RESULT("{\"tools\":[1,2,3]}")}},
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
          {"resources/list", RESULT("{\"resources\":[{\"uri\":\"a:old\"}],\"nextCursor\":\"1\"}")},
          {"resources/list", ERROR("-32602", ",\"message\":\"stale\"")},
          {"resources/list", RESULT("{\"resources\":[{\"uri\":\"a:1\"}],\"nextCursor\":\"1\"}")},
          {"resources/list", RESULT("{\"resources\":[{\"uri\":\"a:2\"}]}")}}},
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
            assert_string_equal(f.result, "{\"resources\":[{\"uri\":\"a:1\"},{\"uri\":\"a:2\"}]}");
        fake_close(&f);
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
          {"resources/list", RESULT("{\"resources\":[1,{\"a\":2}],\"nextCursor\":\"c\",\"x\":1}")},
          {"resources/list", RESULT("{\"resources\":[],\"nextCursor\":\"d\"}")},
          {"resources/list", RESULT("{\"ttlMs\":0,\"resources\":[\"3\"],\"y\":null}")}},
         "resources/list",
         0,
         MCP_OK,
         "{\"resources\":[1,{\"a\":2},\"3\"],\"ttlMs\":0,\"y\":null}"},
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
          {"tools/list", RESULT("{\"tools\":[\"0123456789\"],\"nextCursor\":\"c\"}")},
          {"tools/list", RESULT("{\"tools\":[\"0123456789\"]}")}},
         "tools/list",
         20,
         MCP_ELIMIT,
         "20 bytes (max_list)"},
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
    bool ended = false;
    for (size_t n = 1; !ended; n++) {
        failalloc a = {.fail_at = n};
        mcp_allocator allocator = failalloc_allocator(&a);
        fake f;
        int rc = fake_open(&f, lines[2].replies,
                           MCP_OPTIONS(mcp_client_options, .allocator = &allocator));
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
        cmocka_unit_test(test_cursor_refused), cmocka_unit_test(test_collected),
        cmocka_unit_test(test_handle),         cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
