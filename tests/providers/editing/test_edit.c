/* Edits by exact texts: what matches, how often, which line ends are written, what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "texts.h"

/* Up to three edits of a file; the result, or the text of the refusal behind a code. */
static const struct {
    const char *file;
    editing_edit edits[3];
    const char *result;
    int code;
} cases[] = {
#define EDIT(before, after, count)             \
    {                                          \
        MCP_STR(before), MCP_STR(after), count \
    }
    {"abc", {EDIT("b", "x", 0)}, "axc", 0},
    {"abc", {EDIT("b", "", 1)}, "ac", 0},
    {"abc", {EDIT("abc", "", 1)}, "", 0},
    {"a\na\nb\n", {EDIT("a", "xyz", 2)}, "xyz\nxyz\nb\n", 0},
    {"one two", {EDIT("one", "two", 1), EDIT("two two", "three", 1)}, "three", 0},
    {"\xef\xbb\xbf"
     "a",
     {EDIT("a", "b", 1), EDIT("b", "cc", 1)},
     "\xef\xbb\xbf"
     "cc",
     0},
    /* Any line end matches, and stays. */
    {"a\r\nb\r\n", {EDIT("a\nb", "x\ny", 1)}, "x\r\ny\r\n", 0},
    {"a\r\nb\nc\r\n", {EDIT("a\nb\nc\n", "a\nB\nc\n", 1)}, "a\r\nB\nc\r\n", 0},
    {"a\r\nb\nc\r\n", {EDIT("a\nb\nc", "A\nB\nC", 1)}, "A\r\nB\nC\r\n", 0},
    {"a\r\nb\nc\r\n", {EDIT("b\n", "b\nx\n", 1)}, "a\r\nb\nx\r\nc\r\n", 0},
    {"a\r\nb\n", {EDIT("a", "a\nx\ny", 1)}, "a\r\nx\r\ny\r\nb\n", 0},
    {"a\nb\r\nc", {EDIT("c", "c\nd", 1)}, "a\nb\r\nc\r\nd", 0},
    {"a\r\nb\n", {EDIT("b", "b\nx", 1)}, "a\r\nb\nx\n", 0},
    {"a\rb\r", {EDIT("a\nb", "a\nx\nb", 1)}, "a\rx\rb\r", 0},
    {"a\nb", {EDIT("b", "b\n", 1)}, "a\nb\n", 0},
    {"a\r\nb\r\n", {EDIT("a\n", "", 1)}, "b\r\n", 0},
    {"a\r\nb\r\n", {EDIT("\n", "", 2)}, "ab", 0},
    {"a\r\n\r\nb", {EDIT("\n\n", "\n", 1)}, "a\r\nb", 0},
    /* A string with CR is meant as it is written. */
    {"a\r\nb\r\n", {EDIT("a\r\nb", "x\r\ny", 1)}, "x\r\ny\r\n", 0},
    {"a\r\nb\nc", {EDIT("b\nc", "b\r\nc", 1)}, "a\r\nb\r\nc", 0},
    {"a\nb", {EDIT("a", "a\r\nx", 1)}, "a\r\nx\nb", 0},
    {"a\r\nb\r\n", {EDIT("a\r\nb", "x\ny", 1)}, "x\r\ny\r\n", 0},
    {"a\rb\nc\n", {EDIT("a\rb", "x", 1)}, "x\nc\n", 0},
    {"a\rb\nc\n", {EDIT("b\nc", "b\nx\nc", 1)}, "a\rb\nx\nc\n", 0},
    {"a\nb", {EDIT("a", "a\r\nx", 1), EDIT("a\nx", "y", 1)}, "y\nb", 0},
    /* Refusals. */
    {"abc",
     {EDIT("x", "y", 1)},
     "edit 1: its text does not occur (it begins with x)",
     MCP_ENOTFOUND},
    {"", {EDIT("x", "y", 1)}, "edit 1: its text does not occur (it begins with x)", MCP_ENOTFOUND},
    {"abc",
     {EDIT("b", "x", 1), EDIT("b", "y", 1)},
     "edit 2: its text does not occur after the edits before it (it begins with b)",
     MCP_ENOTFOUND},
    {"a\na\n",
     {EDIT("a", "x", 1)},
     "edit 1: its text must occur 1 time, but occurs 2 times at lines 1, 2",
     MCP_ENOTFOUND},
    {"a\na a\n",
     {EDIT("a", "x", 2)},
     "edit 1: its text must occur 2 times, but occurs 3 times at lines 1, 2",
     MCP_ENOTFOUND},
    {"b\na\n",
     {EDIT("a", "x", 2)},
     "edit 1: its text must occur 2 times, but occurs 1 time at line 2",
     MCP_ENOTFOUND},
    {"a\na\na\na\na\na\na\n",
     {EDIT("a\n", "x", 6)},
     "edit 1: its text must occur 6 times, but occurs 7 times at lines 1, 2, 3, 4, 5 and more",
     MCP_ENOTFOUND},
    {"}\n}\n}\n",
     {EDIT("}\n}\n", "}\n", 1)},
     "edit 1: its text must occur 1 time, but occurs 2 times at lines 1, 2 in overlapping places",
     MCP_ENOTFOUND},
    {"aaa",
     {EDIT("aa", "x", 2)},
     "edit 1: its text must occur 2 times, but occurs 2 times at line 1 in overlapping places",
     MCP_ENOTFOUND},
    {"a\nb",
     {EDIT("a\r\nb", "x", 1)},
     "edit 1: its text does not occur; it has CR, so its line ends must be exactly the file's, "
     "while \\n without CR means any (it begins with a\\x0d)",
     MCP_ENOTFOUND},
    /* Half of a line end is none. */
    {"a\r\nb",
     {EDIT("a\r", "x", 1)},
     "edit 1: its text does not occur; it has CR, so its line ends must be exactly the file's, "
     "while \\n without CR means any (it begins with a\\x0d)",
     MCP_ENOTFOUND},
    {"abc", {EDIT("", "y", 1)}, "edit 1: the text to replace is empty", MCP_EINVAL},
    {"abc", {EDIT("b", "b", 1)}, "edit 1: it changes nothing: both texts are equal", MCP_EINVAL},
    {"abc", {EDIT("\xff", "b", 1)}, "edit 1: its text is not UTF-8 or has NUL", MCP_EINVAL},
    {"abc", {EDIT("b", "b\0", 1)}, "edit 1: its text is not UTF-8 or has NUL", MCP_EINVAL},
    {"abc", {EDIT("b", "x", 100001)}, "edit 1: its text cannot be expected so often", MCP_ELIMIT},
};

static int run(const char *file, const editing_edit *edits, size_t n, const editing_limits *limits,
               common_buffer *changed, mcp_error *error)
{
    editing_text t;
    assert_int_equal(editing_text_open(mcp_str_from(file), MCP_STR(""), ANY, NULL, &t, error),
                     MCP_OK);
    int rc = editing_edit_all(&t, edits, n, limits, changed, error);
    editing_text_close(&t);
    assert_int_equal(rc, error->code);
    return rc;
}

static void test_edits(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        editing_edit edits[3];
        common_buffer changed;
        mcp_error error = {0};
        size_t n = 0;
        for (; n < 3 && cases[i].edits[n].before.ptr; n++)
            edits[n] = (editing_edit){exactly(cases[i].edits[n].before),
                                      exactly(cases[i].edits[n].after), cases[i].edits[n].count};
        int rc = run(cases[i].file, edits, n, NULL, &changed, &error);
        mcp_str got = rc ? mcp_str_from(error.text) : (mcp_str){changed.ptr, changed.len};
        if (rc != cases[i].code || !mcp_str_eq(got, mcp_str_from(cases[i].result)))
            fail_msg("%zu: %d %s, not %s", i, rc, show(got), cases[i].result);
        common_buffer_free(&changed);
        for (size_t k = 0; k < n; k++) {
            drop(edits[k].before);
            drop(edits[k].after);
        }
    }
}

static void test_limits(void **state)
{
    static const editing_edit two[] = {EDIT("a", "bbbb", 1), EDIT("c", "d", 1)};
    static const struct {
        editing_limits limits;
        int code;
        size_t offset;
    } rows[] = {
        {{.edits = 2, .bytes = 7, .text = 6, .work = 9}, MCP_OK, 0},
        {{.edits = 1}, MCP_ELIMIT, 0},
        {{.bytes = 6}, MCP_ELIMIT, 1},
        {{.bytes = 4}, MCP_ELIMIT, 0},
        {{.text = 5}, MCP_ELIMIT, 0},
        {{.work = 8}, MCP_ELIMIT, 1},
    };
    common_buffer changed;
    mcp_error error = {0};
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        int rc = run("abc", two, 2, &rows[i].limits, &changed, &error);
        if (rc != rows[i].code || error.offset != rows[i].offset)
            fail_msg("%zu: %d %zu %s", i, rc, error.offset, error.text);
        common_buffer_free(&changed);
    }
    assert_int_equal(run("abc", two, 0, NULL, &changed, &error), MCP_EINVAL);
    common_buffer_free(&changed);
}

/* Texts for which a search could take quadratic time: each would take hours. */
static void test_hostile(void **state)
{
    enum { N = 1 << 20 };
    char *text = malloc(N + 1), *needle = malloc(N / 2 + 1);
    static const char *const units[] = {"a", "\n\r", "ab", "\r\n", "aab"};
    (void)state;
    assert_true(text && needle);
    for (size_t u = 0; u < COUNT(units); u++) {
        size_t len = strlen(units[u]);
        for (size_t i = 0; i < N; i++)
            text[i] = units[u][i % len];
        memcpy(needle, text, N / 2);
        text[N] = needle[N / 2] = 0;
        for (int last = 0; last < 2; last++) {
            common_buffer changed;
            mcp_error error = {0};
            if (last)
                needle[N / 2 - 1] = 'x';
            editing_edit edit = {{needle, N / 2}, MCP_STR("y"), 1};
            assert_int_equal(run(text, &edit, 1, NULL, &changed, &error), MCP_ENOTFOUND);
            common_buffer_free(&changed);
        }
    }
    /* Many new line ends in one long line without any. */
    memset(text, 'b', N);
    memcpy(text, "\r\n", 2);
    for (size_t i = 10; i < N; i += 11)
        text[i] = 'a';
    common_buffer changed;
    mcp_error error = {0};
    editing_edit edit = {MCP_STR("a"), MCP_STR("\n"), (N - 10 + 10) / 11};
    assert_int_equal(run(text, &edit, 1, NULL, &changed, &error), MCP_OK);
    common_buffer_free(&changed);
    free(needle);
    free(text);
}

static void test_no_memory(void **state)
{
    static const editing_edit edits[] = {EDIT("a\nb", "x\ny\nz", 1),
                                         EDIT("c", "d\n\n\n\n\n\n\n", 2), EDIT("x\r\n", "", 1)};
    (void)state;
    for (size_t n = 1;; n++) {
        failalloc f = {.fail_at = n};
        mcp_allocator a = failalloc_allocator(&f);
        editing_text t;
        common_buffer changed;
        mcp_error error = {0};
        assert_int_equal(editing_text_open(MCP_STR("a\r\nb\ncc"), MCP_STR(""), ANY, &a, &t, &error),
                         MCP_OK);
        int rc = editing_edit_all(&t, edits, COUNT(edits), NULL, &changed, &error);
        assert_int_equal(rc, f.calls < n ? MCP_OK : MCP_ENOMEM);
        assert_int_equal(rc, error.code);
        common_buffer_free(&changed);
        editing_text_close(&t);
        assert_int_equal(f.live, 0);
        if (rc == MCP_OK)
            break;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_edits),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_hostile),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
