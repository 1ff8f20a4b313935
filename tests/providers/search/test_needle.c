/* Search patterns: on which lines they match, which are rejected, and bounded time. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "failalloc.h"
#include "needle.h"

/* Returns the matches in brackets, separated by commas, with one for each matching line. */
static const char *find_all(const char *needle, bool regex, bool ignore_case, const char *text)
{
    static char found[1024];
    search_needle_options o = {mcp_str_from(needle), regex, ignore_case};
    search_needle *n = NULL;
    char why[200] = "";
    int rc = search_needle_new(&o, NULL, &n, why);
    size_t begin, end, from = 0, len = 0;
    if (rc != MCP_OK) {
        snprintf(found, sizeof(found), "%d %s", rc, why);
        return found;
    }
    *found = 0;
    /* A copy of the exact length, so that the sanitizer detects reads beyond its end. */
    mcp_str s = mcp_str_from(text);
    char *exact = malloc(s.len ? s.len : 1);
    memcpy(exact, text, s.len);
    s.ptr = exact;
    while ((rc = search_needle_find(n, s, from, NULL, NULL, &begin, &end)) == MCP_OK) {
        assert_true(from <= begin && begin <= end && end <= s.len);
        len += (size_t)snprintf(found + len, sizeof(found) - len, "%s%zu[%.*s]", len ? "," : "",
                                begin, (int)(end - begin), exact + begin);
        const char *lf = memchr(exact + begin, '\n', s.len - begin);
        from = lf ? (size_t)(lf - exact) + 1 : s.len;
    }
    free(exact);
    search_needle_free(n);
    if (rc != MCP_ENOTFOUND)
        snprintf(found, sizeof(found), "%d", rc);
    return found;
}

static const struct {
    const char *needle;
    bool regex, ignore_case;
    const char *text, *found;
} finds[] = {
    {"b", 0, 0, "abc\nb\n\nxb", "1[b],4[b],8[b]"},
    {"bb", 0, 0, "b\nb", ""},
    {"a.c", 0, 0, "abc a.c", "4[a.c]"},
    {"B", 0, 0, "b", ""},
    {"B", 0, 1, "b\nB", "0[b],2[B]"},
    {"(a|", 0, 1, "(A|", "0[(A|]"},
    {"\xc3\x89", 0, 1, "\xc3\xa9", "0[\xc3\xa9]"}, /* é */
    {"b", 0, 0, "", ""},
    {"a.c", 1, 0, "abc\naxc", "0[abc],4[axc]"},
    {"a.c", 1, 0, "a\nc", ""},
    {"a\\s+c", 1, 0, "a\nc\na  c", "4[a  c]"},
    {"[^x]+", 1, 0, "ab\ncd", "0[ab],3[cd]"},
    {"^b$", 1, 0, "ab\nb\nbc\n", "3[b]"},
    {"^$", 1, 0, "a\n\nb\n", "2[]"},
    {"b$", 1, 0, "b\r\nb", "0[b],3[b]"},
    {"\\Ab\\z", 1, 0, "a\nb\nc", "2[b]"},
    {"(?<=a)b", 1, 0, "ab\na\nb", "1[b]"},
    {"a", 1, 1, "A", "0[A]"},
    {"^.$", 1, 0, "\xc3\xa9", "0[\xc3\xa9]"}, /* one character */
    {"x*", 1, 0, "a\nb", "0[],2[]"},
    {"a\\Kb", 1, 0, "ab", "1[b]"},
    {"(*LIMIT_MATCH=4000000000)a", 1, 0, "a", "0[a]"},
    /* rejected patterns */
    {"", 0, 0, "a", "-2 the text to search for must have 1 to 1000 bytes"},
    {"a\nb", 0, 0, "a", "-2 a match cannot span lines: remove line ends and NUL"},
    {"a(", 1, 0, "a",
     "-2 the regular expression is invalid at byte 2: missing closing parenthesis"},
    {"\\C", 1, 0, "a",
     "-2 the regular expression is invalid at byte 2: using \\C is disabled by the application"},
    /* patterns that exceed the step limit */
    {"(a+)+$", 1, 0, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab", "-3"},
    {"(*LIMIT_MATCH=4000000000)(a+)+$", 1, 0, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab",
     "-3"},
};

static void test_finds(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(finds) / sizeof(*finds); i++) {
        const char *found =
            find_all(finds[i].needle, finds[i].regex, finds[i].ignore_case, finds[i].text);
        if (strcmp(found, finds[i].found) != 0)
            fail_msg("%s in %s: %s, not %s", finds[i].needle, finds[i].text, found, finds[i].found);
    }
}

static void test_limits(void **state)
{
    char text[SEARCH_NEEDLE_MAX + 2];
    (void)state;
    memset(text, 'a', sizeof(text));
    text[SEARCH_NEEDLE_MAX] = 0;
    assert_string_equal(find_all(text, true, false, "b"), "");
    text[SEARCH_NEEDLE_MAX] = 'a';
    text[SEARCH_NEEDLE_MAX + 1] = 0;
    assert_non_null(strstr(find_all(text, true, false, "b"), "1 to 1000 bytes"));
    memset(text, '(', 60);
    memset(text + 60, ')', 60);
    text[120] = 0;
    assert_non_null(strstr(find_all(text, true, false, "b"), "too deeply nested"));
}

static bool count_down(void *user)
{
    size_t *left = user;
    return (*left)-- == 0;
}

/* The callback that may stop the search is called regularly, even if no line matches. */
static void test_stop(void **state)
{
    search_needle_options o = {MCP_STR("x$"), true, false};
    search_needle *n;
    char why[200], text[2000];
    size_t begin, end, left = 3;
    (void)state;
    memset(text, '\n', sizeof(text));
    assert_int_equal(search_needle_new(&o, NULL, &n, why), MCP_OK);
    assert_int_equal(
        search_needle_find(n, (mcp_str){text, sizeof(text)}, 0, count_down, &left, &begin, &end),
        MCP_ECANCELLED);
    left = 1000;
    assert_int_equal(
        search_needle_find(n, (mcp_str){text, sizeof(text)}, 0, count_down, &left, &begin, &end),
        MCP_ENOTFOUND);
    search_needle_free(n);
}

/* The callback is also called within a long line. A match that begins late in the line is found,
 * with the text before it. */
static void test_long_line(void **state)
{
    static char text[50 * 1000];
    search_needle_options slow = {MCP_STR("a[^z]*[0-9]"), true, false};
    search_needle_options end_of_line = {MCP_STR("(?<=\xc3\xa9)b$"), true, false};
    search_needle *n;
    char why[200];
    size_t begin, end, left = 1;
    (void)state;
    memset(text, 'a', sizeof(text));
    assert_int_equal(search_needle_new(&slow, NULL, &n, why), MCP_OK);
    assert_int_equal(
        search_needle_find(n, (mcp_str){text, sizeof(text)}, 0, count_down, &left, &begin, &end),
        MCP_ECANCELLED);
    search_needle_free(n);
    assert_int_equal(search_needle_new(&end_of_line, NULL, &n, why), MCP_OK);
    for (size_t len = 250; len < 1030; len++) {
        memset(text, 'a', len);
        memcpy(text + len - 3,
               "\xc3\xa9"
               "b",
               3);
        assert_int_equal(search_needle_find(n, (mcp_str){text, len}, 0, NULL, NULL, &begin, &end),
                         MCP_OK);
        assert_int_equal(begin, len - 1);
    }
    search_needle_free(n);
}

static void test_no_memory(void **state)
{
    (void)state;
    for (int form = 0; form < 4; form++) {
        for (size_t i = 1;; i++) {
            failalloc f = {.fail_at = i};
            mcp_allocator a = failalloc_allocator(&f);
            search_needle_options o = {MCP_STR("a+b"), form & 1, form & 2};
            search_needle *n = NULL;
            char why[200];
            size_t begin, end;
            int rc = search_needle_new(&o, &a, &n, why);
            if (rc == MCP_OK)
                rc = search_needle_find(n, MCP_STR("aab a+b"), 0, NULL, NULL, &begin, &end);
            assert_int_equal(rc, f.calls < i ? MCP_OK : MCP_ENOMEM);
            search_needle_free(n);
            assert_int_equal(f.live, 0);
            if (f.calls < i)
                break;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_finds),     cmocka_unit_test(test_limits),
        cmocka_unit_test(test_stop),      cmocka_unit_test(test_long_line),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
