/* Differences of two texts: their form, their counts, and their limits. That patches made of them give
 * the new text is in test_text_generated.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "diff.h"
#include "patch.h"
#include "texts.h"

static const struct {
    const char *before, *after, *name, *diff;
    size_t plus, minus;
} cases[] = {
    {"a\n", "a\n", "f", "", 0, 0},
    {"a\n", "b\n", "", "@@ -1 +1 @@\n-a\n+b\n", 1, 1},
    {"", "a\nb\n", "d/f", "--- a/d/f\n+++ b/d/f\n@@ -0,0 +1,2 @@\n+a\n+b\n", 2, 0},
    {"a\n", "", "f\n", "@@ -1 +0,0 @@\n-a\n", 0, 1},
    {"a\n", "", "\xff", "@@ -1 +0,0 @@\n-a\n", 0, 1},
    {"1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nx\n6\n7\n8\n9\n", "",
     "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+x\n 6\n 7\n 8\n", 1, 1},
    /* Six lines between two changes join them, seven do not. */
    {"a\n1\n2\n3\n4\n5\n6\nb\n", "x\n1\n2\n3\n4\n5\n6\ny\n", "",
     "@@ -1,8 +1,8 @@\n-a\n+x\n 1\n 2\n 3\n 4\n 5\n 6\n-b\n+y\n", 2, 2},
    {"a\n1\n2\n3\n4\n5\n6\n7\nb\n", "x\n1\n2\n3\n4\n5\n6\n7\ny\n", "",
     "@@ -1,4 +1,4 @@\n-a\n+x\n 1\n 2\n 3\n@@ -6,4 +6,4 @@\n 5\n 6\n 7\n-b\n+y\n", 2, 2},
    {"a", "a\n", "", "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n", 1, 1},
    {"a\nb", "c\nb", "", "@@ -1,2 +1,2 @@\n-a\n+c\n b\n\\ No newline at end of file\n", 1, 1},
    /* The shortest. */
    {"a\nb\nc\na\nb\nb\na\n", "c\nb\na\nb\na\nc\n", "",
     "@@ -1,7 +1,6 @@\n-a\n-b\n c\n-a\n b\n+a\n b\n a\n+c\n", 2, 3},
    /* Line ends are shown only where they are not the same everywhere. */
    {"a\r\nb\r\n", "a\r\nc\r\n", "", "@@ -1,2 +1,2 @@\n a\n-b\n+c\n", 1, 1},
    {"a\rb\r", "a\rc\r", "", "@@ -1,2 +1,2 @@\n a\n-b\n+c\n", 1, 1},
    {"a\r\nb\n", "a\r\nc\n", "", "@@ -1,2 +1,2 @@\n a\r\n-b\n+c\n", 1, 1},
    {"a\r\nb\r\n", "a\nb\n", "", "@@ -1,2 +1,2 @@\n-a\r\n-b\r\n+a\n+b\n", 2, 2},
    {"a\rb\r", "a\nb\n", "", "@@ -1 +1,2 @@\n-a\rb\r\n\\ No newline at end of file\n+a\n+b\n", 2,
     1},
};

static void test_diffs(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        mcp_str before = exactly(mcp_str_from(cases[i].before));
        mcp_str after = exactly(mcp_str_from(cases[i].after));
        editing_counts counts;
        common_buffer to;
        common_buffer_init(&to, NULL);
        assert_int_equal(
            editing_diff(before, after, mcp_str_from(cases[i].name), ANY, &to, &counts), MCP_OK);
        if (!mcp_str_eq((mcp_str){to.ptr, to.len}, mcp_str_from(cases[i].diff)) ||
            counts.plus != cases[i].plus || counts.minus != cases[i].minus || counts.truncated)
            fail_msg("%zu: %s +%zu -%zu", i, show((mcp_str){to.ptr, to.len}), counts.plus,
                     counts.minus);
        common_buffer_free(&to);
        drop(before);
        drop(after);
    }
}

static void test_limit(void **state)
{
    mcp_str before = MCP_STR("a\n1\n2\n3\n4\n5\n6\n7\nb\n");
    mcp_str after = MCP_STR("x\n1\n2\n3\n4\n5\n6\n7\ny\n");
    static const struct {
        size_t most, len;
    } rows[] = {{0, 0}, {46, 0}, {47, 47}, {77, 47}, {78, 78}, {ANY, 78}};
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        editing_counts counts;
        common_buffer to;
        common_buffer_init(&to, NULL);
        assert_true(common_put(&to, "kept"));
        assert_int_equal(editing_diff(before, after, MCP_STR("f"), rows[i].most, &to, &counts),
                         MCP_OK);
        if (to.len != 4 + rows[i].len || counts.truncated != (rows[i].len < 78) ||
            counts.plus != 2 || counts.minus != 2 || memcmp(to.ptr, "kept", 4) != 0)
            fail_msg("%zu: %zu %d %s", i, to.len, counts.truncated,
                     show((mcp_str){to.ptr, to.len}));
        common_buffer_free(&to);
    }
}

/* Texts whose difference is too much work: it is bounded, and still right. */
static void test_hostile(void **state)
{
    enum { LINES = 100000 };
    common_buffer text[2], diff, changed;
    editing_counts counts;
    editing_text t;
    mcp_error error;
    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        uint64_t chance = 88172645463325252;
        for (int s = 0; s < 2; s++) {
            common_buffer_init(&text[s], NULL);
            for (int i = 0; i < LINES; i++) {
                char line[16];
                chance ^= chance << 13;
                chance ^= chance >> 7;
                chance ^= chance << 17;
                unsigned of = kind == 0 ? 2 : kind == 1 ? 1000 : 1u << 30;
                snprintf(line, sizeof(line), "%x\n", (unsigned)(chance >> 33) % of);
                assert_true(common_put(&text[s], line));
            }
        }
        mcp_str before = {text[0].ptr, text[0].len}, after = {text[1].ptr, text[1].len};
        common_buffer_init(&diff, NULL);
        assert_int_equal(editing_diff(before, after, MCP_STR("f"), ANY, &diff, &counts), MCP_OK);
        assert_int_equal(counts.plus, counts.minus);
        assert_int_equal(editing_text_open(before, MCP_STR(""), ANY, NULL, &t, &error), MCP_OK);
        editing_limits limits = {.edits = LINES};
        int rc = editing_patch(&t, (mcp_str){diff.ptr, diff.len}, MCP_STR("f"), &limits, &changed,
                               &error);
        if (rc != MCP_OK || !mcp_str_eq((mcp_str){changed.ptr, changed.len}, after))
            fail_msg("%d: %d %s", kind, rc, error.text);
        common_buffer_free(&changed);
        common_buffer_free(&diff);
        common_buffer_free(&text[0]);
        common_buffer_free(&text[1]);
    }
}

static void test_no_memory(void **state)
{
    (void)state;
    for (size_t n = 1;; n++) {
        failalloc f = {.fail_at = n};
        mcp_allocator a = failalloc_allocator(&f);
        editing_counts counts;
        common_buffer to;
        common_buffer_init(&to, &a);
        int rc = editing_diff(MCP_STR("a\nb\nc\n"), MCP_STR("x\nb\ny\nz"), MCP_STR("f"), ANY, &to,
                              &counts);
        assert_int_equal(rc, f.calls < n ? MCP_OK : MCP_ENOMEM);
        assert_true(rc == MCP_OK || to.len == 0);
        common_buffer_free(&to);
        assert_int_equal(f.live, 0);
        if (rc == MCP_OK)
            break;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_diffs),
        cmocka_unit_test(test_limit),
        cmocka_unit_test(test_hostile),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
