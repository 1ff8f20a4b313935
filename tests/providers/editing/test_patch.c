/* Patches of one file: what fits, what is written, what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "patch.h"
#include "texts.h"

static const char *const five = "1\n2\n3\n4\n5\n";

static const struct {
    const char *file, *patch, *result; /* the text, or that of the refusal */
    int code;
} cases[] = {
#define FIVE "1\n2\n3\n4\n5\n"
    {FIVE, "@@ -2,2 +2,2 @@\n 2\n-3\n+x\n", "1\n2\nx\n4\n5\n", 0},
    {FIVE, "--- a/dir/f.c\n+++ b/dir/f.c\n@@ -2,2 +2,2 @@ main()\n 2\n-3\n+x\n", "1\n2\nx\n4\n5\n",
     0},
    {FIVE,
     "diff --git a/dir/f.c b/dir/f.c\nindex 1234..5678 100644\n--- a/dir/f.c\n+++ b/dir/f.c\n"
     "@@ -1 +1 @@\n-1\n+x\n@@ -5 +5 @@\n-5\n+y",
     "x\n2\n3\n4\ny\n", 0},
    {FIVE, "--- f.c\t2026-01-01 00:00:00\n+++ f.c\t2026-01-02\n@@ -1,1 +0,0 @@\n-1\n",
     "2\n3\n4\n5\n", 0},
    {FIVE, "--- top/dir/f.c\n+++ top/dir/f.c\n@@ -1,1 +0,0 @@\n-1\n\n\n", "2\n3\n4\n5\n", 0},
    {FIVE, "Index: dir/f.c\n=========\n@@ -0,0 +1,2 @@\n+x\n+y\n", "x\ny\n1\n2\n3\n4\n5\n", 0},
    {FIVE, "@@ -5,0 +6 @@\n+x\n", "1\n2\n3\n4\n5\nx\n", 0},
    {FIVE, "@@ -1,1 +1,2 @@\n 1\n+x\n@@ -4,2 +5,1 @@\n 4\n-5\n", "1\nx\n2\n3\n4\n", 0},
    {"", "@@ -0,0 +1 @@\n+x\n", "x\n", 0},
    {"", "@@ -0,0 +1 @@\n+x\n\\ No newline at end of file\n", "x", 0},
    {"x\n", "@@ -1 +0,0 @@\n-x\n", "", 0},
    {"a\n\nb\n", "@@ -1,3 +1,3 @@\n a\n\n-b\n+c\n", "a\n\nc\n", 0},
    {"a\n-- b\n", "@@ -1,2 +1,1 @@\n a\n--- b\n", "a\n", 0},
    /* The last line end. */
    {"a\nb", "@@ -2 +2 @@\n-b\n\\ No newline at end of file\n+b\n", "a\nb\n", 0},
    {"a\nb\n", "@@ -2 +2 @@\n-b\n+b\n\\ No newline at end of file\n", "a\nb", 0},
    {"a\nb", "@@ -1,2 +1,2 @@\n-a\n+x\n b\n\\ No newline at end of file", "x\nb", 0},
    {"a\nb", "@@ -1 +1 @@\n-a\n+x\n", "x\nb", 0},
    /* Line ends: without CR, those of the file. */
    {"a\r\nb\nc\r\n", "@@ -1,3 +1,4 @@\n a\n-b\n+x\n+y\n c\n", "a\r\nx\ny\nc\r\n", 0},
    {"a\r\nb\nc\r\n", "@@ -1,2 +1,2 @@\n-a\n-b\n+x\n+y\n", "x\r\ny\nc\r\n", 0},
    {"a\r\nb\n", "@@ -1,1 +1,2 @@\n a\n+x\n", "a\r\nx\nb\n", 0},
    {"a\r\nb\r\n", "@@ -2 +2,2 @@\n b\n+x\n", "a\r\nb\r\nx\r\n", 0},
    {"a\rb\rc\r", "@@ -2 +2,2 @@\n-b\n+x\n+y\n", "a\rx\ry\rc\r", 0},
    {"a\r\nb\r\nc\n", "@@ -1,3 +1,3 @@\n-a\n+x\n-b\n+y\n-c\n+z\n", "x\r\ny\r\nz\n", 0},
    /* With CR, as they are written. */
    {"a\r\nb\r\n", "@@ -1,2 +1,2 @@\n-a\r\n+a\n b\r\n", "a\nb\r\n", 0},
    {"a\nb\r\n", "@@ -1,2 +1,2 @@\n-a\n+a\r\n b\r\n", "a\r\nb\r\n", 0},
    {"a\r\n\r\nb\r\n", "--- f.c\r\n+++ f.c\r\n@@ -1,3 +1,3 @@\r\n a\r\n\r\n-b\r\n+c\r\n",
     "a\r\n\r\nc\r\n", 0},
    {"a\rb", "@@ -1 +1 @@\n-a\rb\n\\ No newline at end of file\n+a\n", "a\n", 0},
    {"a\nb\n", "@@ -1,2 +1,2 @@\n a\r\n-b\r\n+c\r\n",
     "line 2 of the patch does not fit line 1 of the text: its line end is another one",
     MCP_ENOTFOUND},
    /* Where it does not fit. */
    {FIVE, "@@ -1,2 +1,2 @@\n 2\n-3\n+x\n",
     "line 2 of the patch does not fit line 1 of the text; hunk 1 would fit at line 2, and its "
     "first line says 1",
     MCP_ENOTFOUND},
    {"a\r\nb\r\nc\r\n", "@@ -1 +1 @@\n-c\n+x\n",
     "line 2 of the patch does not fit line 1 of the text; hunk 1 would fit at line 3, and its "
     "first line says 1",
     MCP_ENOTFOUND},
    {"a\nb\nb\n", "@@ -1 +1 @@\n-b\n+x\n",
     "line 2 of the patch does not fit line 1 of the text: it differs", MCP_ENOTFOUND},
    {"ab\ncab\n", "@@ -2 +2 @@\n-ab\n+x\n",
     "line 2 of the patch does not fit line 2 of the text; hunk 1 would fit at line 1, and its "
     "first line says 2",
     MCP_ENOTFOUND},
    {FIVE, "@@ -5,2 +5,2 @@\n 5\n-6\n+x\n",
     "line 3 of the patch does not fit line 6 of the text: the text ends before it", MCP_ENOTFOUND},
    {FIVE, "@@ -7 +7 @@\n-5\n+x\n", "line 1 of the patch: the text has only 5 lines",
     MCP_ENOTFOUND},
    {FIVE, "@@ -999999999999999999 +999999999999999999 @@\n-5\n+x\n",
     "line 1 of the patch: the text has only 5 lines", MCP_ENOTFOUND},
    {"a", "@@ -1 +1 @@\n-a\n+b\n",
     "line 2 of the patch does not fit line 1 of the text: there is no line end, so \"\\ No "
     "newline at end of file\" is missing",
     MCP_ENOTFOUND},
    {"a\n", "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n",
     "line 3 of the patch does not fit line 1 of the text: there is a line end", MCP_ENOTFOUND},
    {"a", "@@ -1,0 +2 @@\n+b\n", "line 2 of the patch: it comes after a line without a line end",
     MCP_ENOTFOUND},
    {FIVE, "@@ -1 +1 @@\n-1\n+x\n\\ No newline at end of file\n",
     "line 4 of the patch: it comes after a line without a line end", MCP_ENOTFOUND},
    /* What is not a patch. */
    {FIVE, "", "line 0 of the patch: there is no hunk", MCP_EINVAL},
    {FIVE, "--- f.c\n+++ f.c\n", "line 2 of the patch: there is no hunk", MCP_EINVAL},
    {FIVE, "@@ -1 +1 @@\n 1\n", "line 2 of the patch: the patch changes nothing", MCP_EINVAL},
    {FIVE, "@@ -1,0 +1,0 @@\n", "line 1 of the patch: the hunk is empty", MCP_EINVAL},
    {FIVE, "hello\n", "line 1 of the patch: this is not a line of a unified diff", MCP_EINVAL},
    {FIVE, "@@ 1 @@\n", "line 1 of the patch: this should be @@ -LINE,COUNT +LINE,COUNT @@",
     MCP_EINVAL},
    {FIVE, "@@ -0,1 +0,1 @@\n-1\n+x\n",
     "line 1 of the patch: this should be @@ -LINE,COUNT +LINE,COUNT @@", MCP_EINVAL},
    {FIVE, "@@ -1111111111111111111 +1 @@\n-1\n+x\n",
     "line 1 of the patch: this should be @@ -LINE,COUNT +LINE,COUNT @@", MCP_EINVAL},
    {FIVE, "@@ -1,2 +1,2 @@\n 1\n-2\n", "line 3 of the patch: the patch ends inside of a hunk",
     MCP_EINVAL},
    {FIVE, "@@ -1,2 +1,2 @@\n 1\n-2\n-3\n+x\n",
     "line 4 of the patch: the hunk has other numbers of lines than its first line says",
     MCP_EINVAL},
    {FIVE, "@@ -1,3 +1,3 @@\n 1\n-2\n+x\n@@ -5 +5 @@\n-5\n+x\n",
     "line 5 of the patch: the hunk has fewer lines than its first line says", MCP_EINVAL},
    {FIVE, "@@ -1,1 +1,1 @@\n-1\n+x\n 2\n",
     "line 4 of the patch: the hunk has more lines than its first line says", MCP_EINVAL},
    {FIVE, "@@ -4 +4 @@\n-4\n+x\n@@ -1 +1 @@\n-1\n+y\n",
     "line 4 of the patch: this hunk overlaps the one before it, or is out of order", MCP_EINVAL},
    {FIVE, "@@ -1,2 +1,1 @@\n 1\n-2\n@@ -2,2 +1,2 @@\n 2\n-3\n+x\n",
     "line 4 of the patch: this hunk overlaps the one before it, or is out of order", MCP_EINVAL},
    {FIVE, "@@ -1,2 +2,2 @@\n 1\n-2\n+x\n",
     "line 1 of the patch: with the hunks before it, the line behind + must be 0 more than the "
     "one behind -",
     MCP_EINVAL},
    {FIVE, "@@ -1 +1,2 @@\n 1\n+x\n@@ -5 +5 @@\n-5\n+y\n",
     "line 4 of the patch: with the hunks before it, the line behind + must be 1 more than the "
     "one behind -",
     MCP_EINVAL},
    /* What is not done. */
    {FIVE, "--- a/g.c\n+++ b/g.c\n@@ -1 +1 @@\n-1\n+x\n",
     "line 1 of the patch: it is for the file a/g.c, not for dir/f.c", MCP_EINVAL},
    {FIVE, "--- a/f.c\n+++ b/xf.c\n@@ -1 +1 @@\n-1\n+x\n",
     "line 2 of the patch: it is for the file b/xf.c, not for dir/f.c", MCP_EINVAL},
    {FIVE, "--- r/f.c\n+++ r/f.c\n@@ -1 +1 @@\n-1\n+x\n",
     "line 1 of the patch: it is for the file r/f.c, not for dir/f.c", MCP_EINVAL},
    {FIVE, "diff --git a/f.c b/g.c\n",
     "line 1 of the patch: it is for the file b/g.c, not for dir/f.c", MCP_EINVAL},
    {FIVE, "diff --git a/f.c b/other\n",
     "line 1 of the patch: it is for the file a/f.c b/other, not for dir/f.c", MCP_EINVAL},
    {FIVE, "--- /dev/null\n+++ b/f.c\n", "line 1 of the patch: it makes or deletes a file",
     MCP_EUNSUPPORTED},
    {FIVE, "@@ -1 +1 @@\n-1\n+x\n--- a/f.c\n+++ b/f.c\n",
     "line 4 of the patch: a second file begins here, and a patch is for one file", MCP_EINVAL},
    {FIVE, "old mode 100644\n",
     "line 1 of the patch: a change of the mode is not done by a patch here", MCP_EUNSUPPORTED},
    {FIVE, "new file mode 100755\n", "line 1 of the patch: a new file is not done by a patch here",
     MCP_EUNSUPPORTED},
    {FIVE, "deleted file mode 100755\n",
     "line 1 of the patch: the deletion of a file is not done by a patch here", MCP_EUNSUPPORTED},
    {FIVE, "rename from f.c\n", "line 1 of the patch: a renaming is not done by a patch here",
     MCP_EUNSUPPORTED},
    {FIVE, "@@ -1 +1 @@\n-1\n+x\nGIT binary patch\n",
     "line 4 of the patch: a binary part is not done by a patch here", MCP_EUNSUPPORTED},
    {FIVE, "@@ -1 +1 @@\n-1\n+\xff\n", "the patch is not UTF-8 or has NUL", MCP_EINVAL},
};

static int run(const char *file, mcp_str patch, const editing_limits *limits,
               common_buffer *changed, mcp_error *error)
{
    editing_text t;
    assert_int_equal(editing_text_open(mcp_str_from(file), MCP_STR(""), ANY, NULL, &t, error),
                     MCP_OK);
    int rc = editing_patch(&t, patch, MCP_STR("dir/f.c"), limits, changed, error);
    editing_text_close(&t);
    assert_int_equal(rc, error->code);
    return rc;
}

static void test_patches(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        mcp_str patch = exactly(mcp_str_from(cases[i].patch));
        common_buffer changed;
        mcp_error error = {0};
        int rc = run(cases[i].file, patch, NULL, &changed, &error);
        mcp_str got = rc ? mcp_str_from(error.text) : (mcp_str){changed.ptr, changed.len};
        if (rc != cases[i].code || !mcp_str_eq(got, mcp_str_from(cases[i].result)))
            fail_msg("%zu %s: %d %s, not %s", i, show(patch), rc, show(got), cases[i].result);
        common_buffer_free(&changed);
        drop(patch);
    }
}

static void test_limits(void **state)
{
    mcp_str patch = MCP_STR("@@ -1 +1 @@\n-1\n+xxx\n@@ -5 +5 @@\n-5\n+y\n");
    static const struct {
        editing_limits limits;
        int code;
    } rows[] = {
        {{.edits = 2, .bytes = 38, .text = 12}, MCP_OK},
        {{.edits = 1}, MCP_ELIMIT},
        {{.bytes = 37}, MCP_ELIMIT},
        {{.text = 11}, MCP_ELIMIT},
    };
    common_buffer changed;
    mcp_error error = {0};
    (void)state;
    assert_int_equal(patch.len, 38);
    for (size_t i = 0; i < COUNT(rows); i++) {
        int rc = run(five, patch, &rows[i].limits, &changed, &error);
        if (rc != rows[i].code)
            fail_msg("%zu: %d %s", i, rc, error.text);
        common_buffer_free(&changed);
    }
}

/* Patches that could take quadratic time: many equal lines, and insertions before one long line. */
static void test_hostile(void **state)
{
    enum { LINES = 200000, HUNKS = 1000 };
    common_buffer text, patch, changed;
    mcp_error error = {0};
    char head[64];
    (void)state;
    common_buffer_init(&text, NULL);
    common_buffer_init(&patch, NULL);
    assert_true(common_put(&patch, "@@ -1,100001 +1,100001 @@\n"));
    for (size_t i = 0; i < LINES; i++)
        assert_true(common_put(&text, "}\n") && (i >= LINES / 2 || common_put(&patch, " }\n")));
    assert_true(common_put(&patch, "-x\n+y\n"));
    assert_int_equal(common_buffer_append(&text, "", 1), MCP_OK);
    assert_int_equal(run(text.ptr, (mcp_str){patch.ptr, patch.len}, NULL, &changed, &error),
                     MCP_ENOTFOUND);
    common_buffer_free(&changed);
    memset(text.ptr, 'a', text.len - 1);
    memcpy(text.ptr, "\r\n", 2);
    patch.len = 0;
    for (int i = 0; i < HUNKS; i++) {
        snprintf(head, sizeof(head), "@@ -1,0 +%d @@\n+x\n", i + 2);
        assert_true(common_put(&patch, head));
    }
    assert_int_equal(run(text.ptr, (mcp_str){patch.ptr, patch.len}, NULL, &changed, &error),
                     MCP_OK);
    assert_int_equal(changed.len, text.len - 1 + 3 * HUNKS);
    common_buffer_free(&changed);
    common_buffer_free(&patch);
    common_buffer_free(&text);
}

static void test_no_memory(void **state)
{
    static const mcp_str patches[] = {
        BYTES("@@ -1,2 +1,3 @@\n a\n-b\n+ccccccccccccccccccccc\n+ddddddddddddddddddd\n"),
        BYTES("@@ -2 +2 @@\n-a\n+b\n"),
    };
    (void)state;
    for (size_t i = 0; i < COUNT(patches); i++)
        for (size_t n = 1;; n++) {
            failalloc f = {.fail_at = n};
            mcp_allocator a = failalloc_allocator(&f);
            editing_text t;
            common_buffer changed;
            mcp_error error = {0};
            assert_int_equal(
                editing_text_open(MCP_STR("a\r\nb\n"), MCP_STR(""), ANY, &a, &t, &error), MCP_OK);
            int rc = editing_patch(&t, patches[i], MCP_STR("f"), NULL, &changed, &error);
            assert_int_equal(rc, error.code);
            common_buffer_free(&changed);
            editing_text_close(&t);
            assert_int_equal(f.live, 0);
            /* Without memory for it, a refusal does not say where the hunk would fit. */
            assert_true(rc == MCP_ENOMEM || rc == (i == 0 ? MCP_OK : MCP_ENOTFOUND));
            if (f.calls < n)
                break;
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_patches),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_hostile),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
