/* mcp__json_repair(): what is replaced, and that every repaired text is UTF-8 without halves of pairs. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <string.h>

#include "json/json.h"
#include "support/dice.h"

#define R "\xEF\xBF\xBD"

static const struct {
    const char *text, *repaired;
    size_t n;
} cases[] = {
    {"", "", 0},
    {"{\"a\":\"b\\n\\\\\\u00e9\"}", "{\"a\":\"b\\n\\\\\\u00e9\"}", 0},
    {"\"\xc3\xa9\"", "\"\xc3\xa9\"", 0},
    {"\"\xe9\"", "\"" R "\"", 1},
    {"\"\xed\xa0\xbd\"", "\"" R R R "\"", 3},
    {"\"\\ud83d\\ude00\"", "\"\\ud83d\\ude00\"", 0},
    {"\"\\ud83d\"", "\"" R "\"", 1},
    {"\"\\uDE00\\uD83D\"", "\"" R R "\"", 2},
    {"\"\\ud83dx\\ud83d\\n\"", "\"" R "x" R "\\n\"", 2},
    {"\"\\\\ud83d\"", "\"\\\\ud83d\"", 0}, /* a backslash, and a word */
    {"\"\\ud83d\\ud83d\\ude00\"", "\"" R "\\ud83d\\ude00\"", 1},
    {"\"\\ud8", "\"\\ud8", 0},
    {"\\", "\\", 0},
};

static void test_cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < MCP__COUNT(cases); i++) {
        mcp__buf b;
        mcp__buf_init(&b, &mcp__default_allocator, 0);
        assert_int_equal(mcp__json_repair(mcp_str_from(cases[i].text), &b), cases[i].n);
        if (!mcp_str_eq(mcp__buf_view(&b), mcp_str_from(cases[i].repaired)))
            fail_msg("%s: %.*s", cases[i].text, (int)b.len, b.ptr);
        mcp__buf_free(&b);
    }
}

/* Whatever is in the string, the repaired text can be parsed, and a second repair changes nothing. */
static void test_random(void **state)
{
    static const char *const pieces[] = {"a",       "\xe9",    "\xf0\x9f", "\x98\x80", "\\n",
                                         "\\ud83d", "\\ude00", "\\u0041",  "\\\\",     "\xc3\xa9"};
    (void)state;
    for (int round = 0; round < 2000; round++) {
        char text[200] = "\"";
        for (unsigned n = dice(12); n; n--)
            strcat(text, pieces[dice(MCP__COUNT(pieces))]);
        strcat(text, "\"");
        mcp__buf b, again;
        mcp_json_doc *doc = NULL;
        mcp__buf_init(&b, &mcp__default_allocator, 0);
        mcp__buf_init(&again, &mcp__default_allocator, 0);
        size_t n = mcp__json_repair(mcp_str_from(text), &b);
        assert_int_equal(mcp_json_parse(mcp__buf_view(&b), NULL, NULL, &doc, NULL), MCP_OK);
        mcp_json_free(doc);
        assert_int_equal(n != 0,
                         mcp_json_parse(mcp_str_from(text), NULL, NULL, &doc, NULL) != MCP_OK);
        if (!n)
            mcp_json_free(doc);
        assert_int_equal(mcp__json_repair(mcp__buf_view(&b), &again), 0);
        mcp__buf_free(&b);
        mcp__buf_free(&again);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cases), cmocka_unit_test(test_random)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
