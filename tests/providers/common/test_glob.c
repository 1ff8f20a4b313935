/* test_glob.c: one pattern and one path, and patterns for which a naive matcher would take
 * exponential time. */
#define _GNU_SOURCE
#include "glob.h"
#include "../files/tree.h"

#include <time.h>

static const struct {
    const char *pattern, *path;
    bool match;
} cases[] = {
    {"a", "a", true},
    {"a", "b", false},
    {"", "", true},
    {"", "a", false},
    {"a", "", false},
    {"?", "a", true},
    {"?", "", false},
    {"?", "/", false},
    {"*", "", true},
    {"*", "abc", true},
    {"*", "a/b", false},
    {"*.c", "x.c", true},
    {"*.c", ".c", true},
    {"*.c", "x.cc", false},
    {"a*b*c", "aXbYc", true},
    {"a*b*c", "aXcYb", false},
    {"a*bc", "abcbc", true},
    {"***", "abc", true},
    {"a**b", "axxb", true},
    {"a**b", "ax/xb", false},
    {"a/*/c", "a/b/c", true},
    {"a/*/c", "a/b/b/c", false},
    {"**/c", "c", true},
    {"**/c", "a/c", true},
    {"**/c", "a/b/c", true},
    {"**/c", "a/b/xc", false},
    {"a/**", "a/b", true},
    {"a/**", "a/b/c", true},
    {"a/**", "b/a", false},
    {"a/**/d", "a/d", true},
    {"a/**/d", "a/b/c/d", true},
    {"a/**/d", "a/b/cd", false},
    {"**/a/**/b", "x/a/y/z/b", true},
    {"**/a/**/b", "x/a/y/z/c", false},
    {"**/*a*/b", "x/bab/b", true},
    {"**/*.c", "a/b.h/c.c", true},
    {"a/**/*/d", "a/d", false},
    {"a/**/*/d", "a/b/d", true},
    {"[abc]", "b", true},
    {"[abc]", "d", false},
    {"[a-c]", "b", true},
    {"[!a-c]", "b", false},
    {"[!a-c]", "z", true},
    {"[^a-c]", "z", true},
    {"[]]", "]", true},
    {"[!]]", "a", true},
    {"[!]]", "]", false},
    {"[]-a]", "^", true},
    {"[a-]", "-", true},
    {"[-a]", "-", true},
    {"[\\]]", "]", true},
    {"[\\a-c]", "b", true},
    {"[[:digit:]]", "5", true},
    {"[[:digit:]]", "x", false},
    {"[[:nothing:]]", "x", false},
    {"[![:space:]]", "x", true},
    {"[[:alpha:]_0-9]", "7", true},
    {"[[:a]", ":", true},
    {"[[:a[:digit:]]", "5", false},
    {"[[:[:digit:]", "[", false},
    {"[[:", ":", false},
    {"[[:]", "[", true},
    {"[[:]]", ":]", true},
    {"*[a", "xxa", false},
    {"**/[a", "b/a", false},
    {"[a", "a", false},
    {"[", "[", false},
    {"[!/]", "/", false},
    {"a[/]b", "a/b", false},
    {"\\*", "*", true},
    {"\\*", "a", false},
    {"a\\", "a", false},
    {"a\\", "a\\", false},
    {"\\a", "a", true},
    {"??", "\xc3\xa9", true},
    {"?", "\xc3\xa9", false},
    {"*[0-9].log", "a12.log", true},
};

static void test_table(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        bool match = common_glob_match(mcp_str_from(cases[i].pattern), mcp_str_from(cases[i].path));
        if (match != cases[i].match)
            fail_msg("\"%s\" against \"%s\": %d", cases[i].pattern, cases[i].path, match);
    }
}

static void test_hostile(void **state)
{
    char pattern[2001], path[4001];
    (void)state;
    for (size_t i = 0; i < 2000; i += 2)
        memcpy(pattern + i, "a*", 2);
    strcpy(pattern + 1998, "*b");
    memset(path, 'a', 4000);
    path[4000] = '\0';
    assert_false(common_glob_match(mcp_str_from(pattern), mcp_str_from(path)));
    for (size_t i = 0; i + 5 <= 2000; i += 5)
        memcpy(pattern + i, "**/a/", 5);
    pattern[1999] = 'b';
    for (size_t i = 1; i < 4000; i += 2)
        path[i] = '/';
    assert_false(common_glob_match(mcp_str_from(pattern), mcp_str_from(path)));
}

/* Unclosed brackets in patterns of half a megabyte: the pattern is read once, not once for each
 * bracket (10^11 steps) and not once for each byte of the path (minutes in total). */
static void test_brackets(void **state)
{
    static const char *const pieces[] = {"[[:alpha:", "[[:", "a", "[:a"};
    enum { LEN = 500000 };
    char *pattern = malloc(LEN + 2);
    char path[4000];
    (void)state;
    memset(path, 'a', sizeof(path));
    for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
        size_t len = 2, piece = strlen(pieces[i]);
        memcpy(pattern, "*[", 2);
        for (; len + piece < LEN; len += piece)
            memcpy(pattern + len, pieces[i], piece);
        clock_t begin = clock();
        for (int round = 0; round < 5; round++)
            assert_false(common_glob_match((mcp_str){pattern, len}, (mcp_str){path, sizeof(path)}));
        assert_true(clock() - begin < 2 * CLOCKS_PER_SEC);
    }
    free(pattern);
}

static void test_literal(void **state)
{
    (void)state;
    assert_int_equal(common_glob_literal(MCP_STR("abc")), 3);
    assert_int_equal(common_glob_literal(MCP_STR("a/b*c")), 3);
    assert_int_equal(common_glob_literal(MCP_STR("\\a")), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_hostile),
        cmocka_unit_test(test_brackets),
        cmocka_unit_test(test_literal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
