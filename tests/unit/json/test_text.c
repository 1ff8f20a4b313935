/* The parts of a JSON text, unchanged. */
#include <mcp/sys/json.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json/json.h"

static const struct {
    const char *text, *parts;
} cases[] = {
    {"{}", ""},
    {" [ ] ", ""},
    {"[ 1 , [ ] \n]\n ", "=1|=[ ]|"},
    {"{\"a\":\"}\" }", "\"a\"=\"}\"|"},
    {"{\"a\":1,\"b\":[1,{\"c\":\"]\"}],\"d\":\"\\\"}\"}",
     "\"a\"=1|\"b\"=[1,{\"c\":\"]\"}]|\"d\"=\"\\\"}\"|"},
    {" { \"a\" :\n1.10000000000000000000001 , \"\\u0062\" : null } ",
     "\"a\"=1.10000000000000000000001|\"\\u0062\"=null|"},
    {"[1e400,-0.0,true,[],\"\"]", "=1e400|=-0.0|=true|=[]|=\"\"|"},
    {"12", ""},
    {"\"{\"", ""},
    {"", ""},
    /* invalid JSON: nothing beyond the end is read */
    {"{\"a\"", ""},
    {"{\"a\":", ""},
    {"[1,", "=1|"},
    {"[[[[", "=[[[|"},
    {"[\"", "=\"|"},
    {"{:}", ""},
};

/* In the second round, the iterator gets the number of members. */
static void check_parts(int round)
{
    for (size_t i = 0; i < MCP__COUNT(cases); i++) {
        char parts[256] = "";
        size_t len = strlen(cases[i].text);
        char *exact = malloc(len + 1); /* so that the address sanitizer detects reads beyond it */
        memcpy(exact, cases[i].text, len);
        char *text = realloc(exact, len ? len : 1);
        mcp_json_doc *doc = NULL;
        (void)mcp_json_parse((mcp_str){text, len}, NULL, NULL, &doc, NULL);
        mcp_json_text_iter it = {.count = round ? mcp_json_count(mcp_json_root(doc)) : 0};
        mcp_str key, value;
        while (mcp_json_text_next((mcp_str){text, len}, &it, &key, &value))
            snprintf(parts + strlen(parts), sizeof(parts) - strlen(parts), "%.*s=%.*s|",
                     (int)key.len, key.ptr ? key.ptr : "", (int)value.len, value.ptr);
        assert_string_equal(parts, cases[i].parts);
        mcp_json_free(doc);
        free(text);
    }
}

static void test_parts(void **state)
{
    (void)state;
    check_parts(0);
    check_parts(1);
}

/* Strings of every length with a quote or a backslash at every position, next to characters that
 * look like the end of a string or of a container. */
static void test_lengths(void **state)
{
    static const char *const ends[] = {"", "\\\"", "\\\\", "\\\\\\\"", "}]", "\xfb\xdb\xa2\xdc"};

    (void)state;
    for (size_t n = 0; n < 200; n++) {
        for (size_t at = 0; at <= n && at < 80; at++) {
            char string[512], text[2000], expected[2000];
            const char *end = ends[(n + at) % MCP__COUNT(ends)];
            snprintf(
                string, sizeof(string), "\"%.*s%s%.*s\"", (int)at,
                "{{{[[[]]]}}},,,:::"
                "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
                end, (int)(n - at),
                "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
                "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
                "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb");
            snprintf(text, sizeof(text), "[%s,{\"a\":[%s],%s:{}},12]", string, string, string);
            snprintf(expected, sizeof(expected), "%s|{\"a\":[%s],%s:{}}|12|", string, string,
                     string);
            char parts[2000] = "";
            size_t len = strlen(text);
            char *exact = malloc(len);
            memcpy(exact, text, len);
            mcp_json_text_iter it = {.count = n % 2 ? 3 : 0};
            mcp_str value;
            while (mcp_json_text_next((mcp_str){exact, len}, &it, NULL, &value))
                snprintf(parts + strlen(parts), sizeof(parts) - strlen(parts), "%.*s|",
                         (int)value.len, value.ptr);
            assert_string_equal(parts, expected);
            free(exact);
        }
    }
}

static void test_find(void **state)
{
    (void)state;
    mcp_str text = MCP_STR("{\"id\":1,\"result\" : {\"id\":[7, 8.50]},\"x\":\"result\"}");
    mcp_str result = mcp__json_text_get(text, 3, MCP_STR("\"result\""));
    assert_true(mcp_str_eq(result, MCP_STR("{\"id\":[7, 8.50]}")));
    mcp_str array = mcp__json_text_get(result, 1, MCP_STR("\"id\""));
    assert_true(mcp_str_eq(mcp__json_text_at(array, 1), MCP_STR("8.50")));
    assert_null(mcp__json_text_at(array, 2).ptr);
    assert_null(mcp__json_text_get(text, 3, MCP_STR("\"y\"")).ptr);
}

static void test_one_line(void **state)
{
    (void)state;
    mcp_str text;
    mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
    mcp_json_begin_array(w);
    mcp_json_add_text(w, MCP_STR("{\n\"a\\n\":\r\n1.0}"));
    mcp_json_add_text(w, MCP_STR("2"));
    mcp_json_end(w);
    assert_int_equal(mcp_json_writer_finish(w, &text), MCP_OK);
    assert_true(mcp_str_eq(text, MCP_STR("[{ \"a\\n\":  1.0},2]")));
    mcp_json_writer_reset(w);
    mcp_json_add_text(w, MCP_STR(""));
    assert_int_equal(mcp_json_writer_finish(w, &text), MCP_EINVAL);
    mcp_json_writer_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_find),
        cmocka_unit_test(test_one_line),
    };
    return cmocka_run_group_tests_name("json: texts", tests, NULL, NULL);
}
