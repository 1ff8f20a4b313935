/* Answers of databases as Markdown tables: what a cell may hold, every allocation failing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "failalloc.h"
#include "table_text.h"

static const struct {
    const char *json;
    bool row;
    const char *text;
} tables[] = {
    {"{\"columns\":[\"id\",\"a|b\"],\"rows\":[[1,\"x\"],[-2.5,null],[true,\"\"]]}", false,
     "| id | a\\|b |\n| --- | --- |\n| 1 | x |\n| -2.5 | NULL |\n| true |  |\n"},
    {"{\"columns\":[],\"rows\":[]}", false, "|\n|\n"},
    {"{\"columns\":[\"t\"],\"rows\":[[\"two\\r\\nlines | and \\\\\"]],\"truncated\":true}", false,
     "| t |\n| --- |\n| two<br>lines \\| and \\ |\n\nThere are more rows.\n"},
    {"{\"columns\":[\"t\"],\"rows\":[],\"truncated\":false,\"next\":\"sqlite://a/b/"
     "rows?offset=1\"}",
     false, "| t |\n| --- |\n\nNext page: sqlite://a/b/rows?offset=1\n"},
    {"{\"id\":7,\"note\":\"a\\nb\",\"photo\":{\"type\":\"blob\",\"size\":3},\"j\":[1,\"|\"]}", true,
     "| column | value |\n| --- | --- |\n| id | 7 |\n| note | a<br>b |\n"
     "| photo | {\"type\":\"blob\",\"size\":3} |\n| j | [1,\"\\|\"] |\n"},
    /* a row whose columns have the names of a page's members */
    {"{\"rows\":[1],\"columns\":[2]}", true,
     "| column | value |\n| --- | --- |\n| rows | [1] |\n| columns | [2] |\n"},
};

static void test_tables(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
        mcp_str json = mcp_str_from(tables[i].json);
        common_buffer out;
        common_buffer_init(&out, NULL);
        assert_int_equal(common_table_text(&out, json, tables[i].row, NULL), MCP_OK);
        assert_int_equal(common_buffer_append(&out, "", 1), MCP_OK);
        assert_string_equal(out.ptr, tables[i].text);
        common_buffer_free(&out);
    }
}

/* JSON that cannot be parsed again is an error. */
static void test_unreadable(void **state)
{
    common_buffer out;
    (void)state;
    common_buffer_init(&out, NULL);
    assert_int_equal(common_table_text(&out, MCP_STR("{\"a\":1,\"a\":2}"), true, NULL), MCP_EPARSE);
    assert_int_equal(common_table_text(&out, MCP_STR("{"), false, NULL), MCP_EPARSE);
    common_buffer_free(&out);
}

static void test_no_memory(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
        int rc = MCP_ENOMEM;
        for (size_t n = 1; rc != MCP_OK; n++) {
            failalloc memory = {.fail_at = n};
            mcp_allocator a = failalloc_allocator(&memory);
            common_buffer out;
            common_buffer_init(&out, &a);
            rc = common_table_text(&out, mcp_str_from(tables[i].json), tables[i].row, &a);
            assert_true(rc == MCP_OK || rc == MCP_ENOMEM);
            assert_in_range(n, 1, 1000);
            common_buffer_free(&out);
            assert_int_equal(memory.live, 0);
        }
    }
}

static void test_format(void **state)
{
    char why[300];
    bool text = true;
    (void)state;
    assert_true(common_table_format(NULL, &text, why) && !text);
    assert_true(common_table_format(&MCP_STR("json"), &text, why) && !text);
    assert_true(common_table_format(&MCP_STR("text"), &text, why) && text);
    assert_false(common_table_format(&MCP_STR("TEXT"), &text, why));
    assert_non_null(strstr(why, "json or text"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tables),
        cmocka_unit_test(test_unreadable),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_format),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
