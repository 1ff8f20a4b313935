/* test_complete.c: paths complete segment by segment, in order, with a total that is right.
 *
 * Compiled with include/, providers/files and tests/support on the include path, linked to the
 * files provider and cmocka. */
#define _GNU_SOURCE
#include "complete.h"
#include "failalloc.h"
#include "tree.h"

typedef struct values {
    char text[4000];
} values;

static int collect(mcp_str value, void *user)
{
    values *v = user;
    strncat(v->text, value.ptr, value.len);
    strcat(v->text, " ");
    return MCP_OK;
}

static const struct {
    const char *value;
    size_t max, total;
    const char *expected;
} cases[] = {
    {"", 0, 6, "a.txt ab link.c src/ to-src/ vol/"},
    {"", 2, 6, "a.txt ab"},
    {"a", 0, 2, "a.txt ab"},
    {"src", 0, 1, "src/"},
    {"src/", 0, 3, "src/main.c src/main.h src/sub/"},
    {"src/ma", 0, 2, "src/main.c src/main.h"},
    {"src/ma", 1, 2, "src/main.c"},
    {"src/sub/d", 0, 1, "src/sub/deep"},
    {"src/x", 0, 0, ""},
    {"nowhere/", 0, 0, ""},
    {"a.txt/", 0, 0, ""},
    {"ignored/", 0, 0, ""},
    {".", 0, 0, ""},
    {"../", 0, 0, ""},
    {"/", 0, 0, ""},
    {"src//", 0, 0, ""},
    {"src/../", 0, 0, ""},
    {"out/", 0, 0, ""},
    {"l", 0, 1, "link.c"},
    {"vol/", 0, 2, "vol/k/ vol/key"},
    {"vol/k/", 0, 2, "vol/k/m/ vol/k/x"},
    {"vol/k/m/", 0, 1, "vol/k/m/y"},
};

static void make(tree *t)
{
    tree_make(t);
    tree_file(t, "a.txt", "");
    tree_file(t, "ab", "");
    tree_file(t, "bad\xff", "");
    tree_file(t, "src/main.c", "");
    tree_file(t, "src/main.h", "");
    tree_file(t, "src/sub/deep", "");
    tree_file(t, ".hidden", "");
    tree_file(t, ".gitignore", "ignored\n");
    tree_file(t, "ignored/x", "");
    tree_link(t, "link.c", "src/main.c");
    tree_link(t, "out", "/etc");
    tree_link(t, "dangling", "nothing");
    assert_int_equal(mkdir(tree_at(t, "to-src"), 0777), 0);
    tree_file(t, "vol/..v1/key", ""); /* a volume of Kubernetes */
    tree_file(t, "vol/..v1/k/x", "");
    tree_file(t, "vol/..v1/k/m/y", "");
    tree_link(t, "vol/..data", "..v1");
    tree_link(t, "vol/key", "..data/key");
    tree_link(t, "vol/k", "..data/k");
    tree_link(t, "vol/other", "..data/k");
}

static void assert_values(values *v, const char *expected)
{
    size_t len = strlen(v->text);
    if (len)
        v->text[len - 1] = '\0';
    assert_string_equal(v->text, expected);
}

static void test_table(void **state)
{
    tree t;
    files_roots roots;
    (void)state;
    make(&t);
    const char *path = t.path;
    assert_int_equal(files_roots_open(&path, 1, NULL, NULL, &roots, NULL), MCP_OK);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        values v = {""};
        size_t total = 99;
        const files_complete_options o = {.max = cases[i].max};
        assert_int_equal(
            files_complete(&roots, 0, mcp_str_from(cases[i].value), &o, collect, &v, &total),
            MCP_OK);
        assert_values(&v, cases[i].expected);
        if (cases[i].max == 0 || cases[i].max > 2)
            assert_int_equal(total, cases[i].total);
        else
            assert_true(total >= cases[i].total);
    }
    files_roots_close(&roots);
    tree_remove(&t);
}

static bool yes(const struct stat *st)
{
    return S_ISDIR(st->st_mode);
}

static void test_many(void **state)
{
    tree t;
    files_roots roots;
    values v = {""};
    size_t total;
    static const struct {
        size_t max, count;
    } limits[] = {{1, 1}, {10, 140}, {100, 5}, {149, 1}, {150, 1}};
    (void)state;
    tree_make(&t);
    for (int i = 0; i < 150; i++) {
        char name[16];
        /* the names are created in no particular order */
        snprintf(name, sizeof(name), "f%03d", (i * 7 + 75) % 150);
        tree_file(&t, name, "");
    }
    const char *path = t.path;
    assert_int_equal(files_roots_open(&path, 1, NULL, NULL, &roots, NULL), MCP_OK);
    assert_int_equal(files_complete(&roots, 0, MCP_STR("f"), NULL, collect, &v, &total), MCP_OK);
    assert_int_equal(total, 150);
    assert_int_equal(strlen(v.text), 500);
    assert_memory_equal(v.text, "f000 f001 ", 10);
    assert_memory_equal(v.text + 495, "f099 ", 5);
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        const files_complete_options o = {.max = limits[i].max, .count = limits[i].count};
        v.text[0] = '\0';
        total = 0;
        assert_int_equal(files_complete(&roots, 0, MCP_STR("f"), &o, collect, &v, &total), MCP_OK);
        assert_int_equal(strlen(v.text), 5 * limits[i].max);
        size_t least = limits[i].max + limits[i].count;
        if (total > 150 || total < (least < 150 ? least : 150))
            fail_msg("at most %zu, %zu counted: %zu", limits[i].max, limits[i].count, total);
        if (i == 0) /* counting stops early */
            assert_true(total < 150);
    }
    const files_complete_options refuse = {.too_large = yes};
    v.text[0] = '\0';
    assert_int_equal(files_complete(&roots, 0, MCP_STR("f"), &refuse, collect, &v, &total),
                     FILES_IS_LARGE);
    assert_string_equal(v.text, "");
    files_roots_close(&roots);
    tree_remove(&t);
}

static void test_absolute(void **state)
{
    tree t;
    files_roots roots;
    char one[100], two[100], expected[400];
    size_t total;
    (void)state;
    make(&t);
    snprintf(one, sizeof(one), "%s/src", t.path);
    snprintf(two, sizeof(two), "%s/a.txt", t.path);
    const char *paths[] = {one, two};
    assert_int_equal(files_roots_open(paths, 2, NULL, NULL, &roots, NULL), MCP_OK);
    const char *ways[] = {"", "/", "/tmp/mcp-f", t.path};
    for (int i = 0; i < 4; i++) {
        values v = {""};
        assert_int_equal(
            files_complete_absolute(&roots, mcp_str_from(ways[i]), NULL, collect, &v, &total),
            MCP_OK);
        snprintf(expected, sizeof(expected), "%s/ %s", one, two);
        assert_values(&v, expected);
        assert_int_equal(total, 2);
    }
    values v = {""};
    char value[200];
    snprintf(value, sizeof(value), "%s/ma", one);
    assert_int_equal(
        files_complete_absolute(&roots, mcp_str_from(value), NULL, collect, &v, &total), MCP_OK);
    snprintf(expected, sizeof(expected), "%s/main.c %s/main.h", one, one);
    assert_values(&v, expected);
    v.text[0] = '\0';
    assert_int_equal(files_complete_absolute(&roots, MCP_STR("/etc/"), NULL, collect, &v, &total),
                     MCP_OK);
    assert_int_equal(total, 0);
    snprintf(value, sizeof(value), "%s_evil/", one);
    assert_int_equal(
        files_complete_absolute(&roots, mcp_str_from(value), NULL, collect, &v, &total), MCP_OK);
    assert_int_equal(total, 0);
    files_roots_close(&roots);
    /* The top of the file system. */
    const char *top = "/";
    assert_int_equal(files_roots_open(&top, 1, NULL, NULL, &roots, NULL), MCP_OK);
    assert_int_equal(files_complete_absolute(&roots, MCP_STR("/us"), NULL, collect, &v, &total),
                     MCP_OK);
    assert_values(&v, "/usr/");
    files_roots_close(&roots);
    tree_remove(&t);
}

static void test_no_memory(void **state)
{
    tree t;
    (void)state;
    make(&t);
    const char *path = t.path;
    for (size_t n = 1;; n++) {
        failalloc f = {.fail_at = n};
        mcp_allocator a = failalloc_allocator(&f);
        files_roots roots;
        values v = {""};
        size_t total;
        int rc = files_roots_open(&path, 1, NULL, &a, &roots, NULL);
        if (rc == MCP_OK) {
            const files_complete_options o = {.alloc = &a};
            rc = files_complete(&roots, 0, MCP_STR("src/"), &o, collect, &v, &total);
            files_roots_close(&roots);
        }
        assert_int_equal(f.live, 0);
        assert_int_equal(rc, f.calls < n ? MCP_OK : MCP_ENOMEM);
        if (f.calls < n)
            break;
    }
    tree_remove(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_absolute),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
