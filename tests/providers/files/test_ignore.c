/* test_ignore.c: which files are excluded; the results are compared with git's, if git is
 * installed.
 *
 * Compiled with include/, providers/files and tests/support on the include path, linked to the
 * files provider and cmocka. */
#define _GNU_SOURCE
#include "failalloc.h"
#include "ignore.h"
#include "root.h"
#include "rules.h"
#include "tree.h"

/* ---- one file of rules ----------------------------------------------------------------------- */

static const struct {
    const char *rules, *path;
    bool is_dir;
    int said;
} rule_cases[] = {
    {"a", "a", false, 1},
    {"a", "x/a", false, 1},
    {"b\r\na\r", "a", false, 1}, /* as git, which reads a line end after the last line */
    {"a\r ", "a", false, 0},
    {"/a", "x/a", false, 0},
    {"/a", "a", false, 1},
    {"x/a", "x/a", false, 1},
    {"x/a", "y/x/a", false, 0},
    {"a/", "a", false, 0},
    {"a/", "a", true, 1},
    {"a\n!a", "a", false, -1},
    {"!a\na", "a", false, 1},
    {"# a\n\\#b", "#b", false, 1},
    {"# a", "# a", false, 0},
    {"\\!a", "!a", false, 1},
    {"a   ", "a", false, 1},
    {"a\\ ", "a ", false, 1},
    {"a\\  ", "a ", false, 1},
    {"a\\", "a\\", false, 0},
    {"a\r\nb", "a", false, 1},
    {"a\tb", "a\tb", false, 1},
    {"\xef\xbb\xbf"
     "a",
     "a", false, 1},
    {"*.o\n!keep.o", "x/keep.o", false, -1},
    {"*.o\n!keep.o", "x/other.o", false, 1},
    {"/", "a", true, 0},
    {"!", "a", true, 0},
    {"//", "a", true, 0},
    {"**/b", "a/b", false, 1},
    {"a/**", "a", true, 0},
    {"doc/*.txt", "doc/a.txt", false, 1},
    {"doc/*.txt", "doc/x/a.txt", false, 0},
    {"foo**/bar", "foo/x/bar", false, 1}, /* as git behaves, although its manual says otherwise */
};

static void test_rules(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rule_cases) / sizeof(rule_cases[0]); i++) {
        files_rules *rules;
        mcp_str path = mcp_str_from(rule_cases[i].path);
        const char *slash = strrchr(path.ptr, '/');
        size_t name = slash ? (size_t)(slash - path.ptr) + 1 : 0;
        assert_int_equal(files_rules_parse(mcp_str_from(rule_cases[i].rules), NULL, &rules), 0);
        int said = files_rules_match(rules, path, name, rule_cases[i].is_dir);
        if (said != rule_cases[i].said)
            fail_msg("\"%s\" says %d to %s", rule_cases[i].rules, said, path.ptr);
        files_rules_free(rules);
    }
}

static void test_rule_limits(void **state)
{
    (void)state;
    size_t len = FILES_RULES_MAX_BYTES + 100;
    char *text = malloc(len);
    files_rules *rules;
    memset(text, '\n', len);
    memcpy(text, "first\n", 6);
    /* the limit falls after "cut", which must not become a rule */
    memcpy(text + FILES_RULES_MAX_BYTES - 3, "cuts", 4);
    assert_int_equal(files_rules_parse((mcp_str){text, len}, NULL, &rules), MCP_OK);
    assert_int_equal(files_rules_match(rules, MCP_STR("first"), 0, false), 1);
    assert_int_equal(files_rules_match(rules, MCP_STR("cut"), 0, false), 0);
    assert_int_equal(files_rules_match(rules, MCP_STR("cuts"), 0, false), 0);
    files_rules_free(rules);
    for (size_t i = 0; i < FILES_RULES_MAX; i++)
        memcpy(text + 2 * i, "a\n", 2);
    memcpy(text + 2 * FILES_RULES_MAX, "b\n", 3);
    assert_int_equal(files_rules_parse((mcp_str){text, 2 * FILES_RULES_MAX + 2}, NULL, &rules), 0);
    assert_int_equal(files_rules_match(rules, MCP_STR("a"), 0, false), 1);
    assert_int_equal(files_rules_match(rules, MCP_STR("b"), 0, false), 0);
    files_rules_free(rules);
    free(text);
}

/* ---- a tree ---------------------------------------------------------------------------------- */

static bool visible(const files_root *root, const char *rel, bool is_dir)
{
    bool ret = false;
    assert_int_equal(files_ignore_visible(root->ignore, rel, strlen(rel), is_dir, &ret), MCP_OK);
    return ret;
}

static files_roots open_one(const char *path, const files_ignore_options *options)
{
    files_roots roots;
    mcp_error error;
    assert_int_equal(files_roots_open(&path, 1, options, NULL, &roots, &error), MCP_OK);
    return roots;
}

static void test_switches(void **state)
{
    static const struct {
        const char *rel;
        bool dir, plain, hidden, no_ignore, both;
    } cases[] = {
        {"a.c", false, true, true, true, true},
        {"a.o", false, false, false, true, true},
        {".env", false, false, true, false, true},
        {".cache/x", false, false, true, false, true},
        {"build", true, false, false, true, true},
        {"build/deep/x.c", false, false, false, true, true},
        {"sub/a.o", false, true, true, true, true}, /* re-included by sub/.gitignore */
        {"sub/b.o", false, false, false, true, true},
        {"sub/local", false, false, false, true, true},
        {"local", false, true, true, true, true},
        {".git", true, false, false, false, true},
        {".git/config", false, false, false, false, true},
        {"sub/.git", false, false, false, false, true},
        {"private", false, false, false, true, true}, /* excluded by .git/info/exclude */
        {"", true, true, true, true, true},
    };
    tree t;
    (void)state;
    tree_make(&t);
    tree_file(&t, ".gitignore", "*.o\nbuild/\n!build/deep/x.c\n");
    tree_file(&t, "sub/.gitignore", "!a.o\nlocal\n");
    tree_file(&t, ".git/info/exclude", "private\n");
    for (int mode = 0; mode < 4; mode++) {
        const files_ignore_options options = {.hidden = mode & 1, .no_ignore = mode & 2};
        files_roots roots = open_one(t.path, &options);
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
            bool expected[] = {cases[i].plain, cases[i].hidden, cases[i].no_ignore, cases[i].both};
            if (visible(&roots.items[0], cases[i].rel, cases[i].dir) != expected[mode])
                fail_msg("%s in mode %d", cases[i].rel, mode);
        }
        files_roots_close(&roots);
    }
    tree_remove(&t);
}

static void test_globs(void **state)
{
    static const char *const include[] = {"*.c", "docs/", "/lib/*.h"};
    static const char *const exclude[] = {"secret*", "#x", "vendor/"};
    static const struct {
        const char *rel;
        bool dir, expected;
    } cases[] = {
        {"a.c", false, true},          {"a.h", false, false},
        {"lib/a.h", false, true},      {"x/lib/a.h", false, false},
        {"docs/a/b.md", false, true},  {"docs", false, false},
        {"docs", true, true},          {"x", true, true},
        {"secret.c", false, false},    {"secrets", true, false},
        {"secrets/a.c", false, false}, {"#x", true, false},
        {"vendor/a.c", false, false},
    };
    const files_ignore_options options = {
        .include = include, .include_count = 3, .exclude = exclude, .exclude_count = 3};
    tree t;
    (void)state;
    tree_make(&t);
    files_roots roots = open_one(t.path, &options);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (visible(&roots.items[0], cases[i].rel, cases[i].dir) != cases[i].expected)
            fail_msg("%s", cases[i].rel);
    }
    files_roots_close(&roots);
    tree_remove(&t);
}

/* The root lies three folders below the top of the repository. */
static void test_above(void **state)
{
    tree t;
    (void)state;
    tree_make(&t);
    tree_file(&t, ".gitignore", "*.top\n/a/b/c/anchored\n/c\nback\n");
    tree_file(&t, "a/.gitignore", "mid/\nb/c/x/y\n!back\n");
    tree_file(&t, "a/b/.gitignore", "/c/near\n");
    tree_file(&t, "a/b/c/.gitignore", "own\n");
    tree_file(&t, ".git/info/exclude", "a/b/c/info\n");
    files_roots roots = open_one(tree_at(&t, "a/b/c"), NULL);
    const files_root *root = &roots.items[0];
    assert_false(visible(root, "x.top", false));
    assert_false(visible(root, "anchored", false));
    assert_false(visible(root, "deep/x.top", false));
    assert_true(visible(root, "c", false));
    assert_false(visible(root, "mid", true));
    assert_true(visible(root, "mid", false));
    assert_false(visible(root, "x/y", false));
    assert_false(visible(root, "near", false));
    assert_false(visible(root, "own", false));
    assert_false(visible(root, "info", false));
    assert_true(visible(root, "back", false));
    assert_true(visible(root, "other", false));
    files_roots_close(&roots);
    /* Without a repository, the rules in parent folders of the root do not apply. */
    assert_int_equal(rename(tree_at(&t, ".git"), tree_at(&t, "git")), 0);
    roots = open_one(tree_at(&t, "a/b/c"), NULL);
    assert_true(visible(&roots.items[0], "x.top", false));
    assert_false(visible(&roots.items[0], "own", false));
    files_roots_close(&roots);
    tree_remove(&t);
}

/* What is above the repository does not concern it, whether its top is served or a folder below. */
static void test_above_the_top(void **state)
{
    static const char *const served[] = {"over/repo", "over/repo/a", "over/repo/a/b"};
    tree t;
    (void)state;
    tree_make(&t);
    tree_file(&t, ".gitignore", "*.far\n");
    tree_file(&t, "over/.gitignore", "*.over\n/repo/a/b/named\nnamed\n");
    tree_file(&t, "over/repo/.gitignore", "*.top\n");
    tree_file(&t, "over/repo/.git/info/exclude", "*.info\n");
    tree_file(&t, "over/repo/a/b/named", "");
    for (size_t i = 0; i < sizeof(served) / sizeof(*served); i++) {
        files_roots roots = open_one(tree_at(&t, served[i]), NULL);
        assert_false(visible(&roots.items[0], "x.top", false));
        assert_false(visible(&roots.items[0], "x.info", false));
        assert_true(visible(&roots.items[0], "x.over", false));
        assert_true(visible(&roots.items[0], "x.far", false));
        assert_true(visible(&roots.items[0], "named", false));
        files_roots_close(&roots);
    }
    tree_remove(&t);
}

static void test_change(void **state)
{
    const files_ignore_options options = {.fresh_ns = -1};
    const files_ignore_options trusting = {.fresh_ns = (int64_t)1 << 60};
    tree t;
    (void)state;
    tree_make(&t);
    tree_file(&t, "a/b/c", "");
    files_roots roots = open_one(t.path, &options);
    files_roots slow = open_one(t.path, &trusting);
    assert_true(visible(&roots.items[0], "a/b/c", false));
    assert_true(visible(&slow.items[0], "a/b/c", false));
    tree_file(&t, "a/.gitignore", "c\n");
    assert_false(visible(&roots.items[0], "a/b/c", false));
    tree_file(&t, "a/.gitignore", "d\n"); /* same size, same instant */
    assert_true(visible(&roots.items[0], "a/b/c", false));
    tree_file(&t, ".gitignore", "/a\n");
    assert_false(visible(&roots.items[0], "a/b/c", false));
    assert_false(visible(&roots.items[0], "a", true));
    assert_true(visible(&slow.items[0], "a/b/c", false));
    files_ignore_recheck(slow.items[0].ignore);
    assert_false(visible(&slow.items[0], "a/b/c", false));
    unlink(tree_at(&t, ".gitignore"));
    assert_true(visible(&roots.items[0], "a/b/c", false));
    /* Neither a link nor a FIFO is read for rules. */
    unlink(tree_at(&t, "a/.gitignore"));
    tree_file(&t, "rules", "c\n");
    tree_link(&t, "a/.gitignore", "../rules");
    assert_int_equal(mkfifo(tree_at(&t, "a/b/.gitignore"), 0666), 0);
    assert_true(visible(&roots.items[0], "a/b/c", false));
    files_roots_close(&roots);
    files_roots_close(&slow);
    tree_remove(&t);
}

static void test_cache_bound(void **state)
{
    const files_ignore_options options = {.max_folders = 8};
    char rel[64];
    tree t;
    (void)state;
    tree_make(&t);
    tree_file(&t, "d1/e/.gitignore", "x\n");
    files_roots roots = open_one(t.path, &options);
    files_ignore *ig = roots.items[0].ignore;
    for (int i = 0; i < 100; i++) {
        snprintf(rel, sizeof(rel), "d%d/e/x", i % 50);
        assert_int_equal(visible(&roots.items[0], rel, false), i % 50 != 1);
        assert_true(files_ignore_cached(ig) <= 8);
    }
    /* A chain of folders that is longer than the cache still works, and is freed afterwards. */
    assert_true(visible(&roots.items[0], "a/b/c/d/e/f/g/h/i/j/k/l/m", false));
    assert_false(visible(&roots.items[0], "d1/e/x", false));
    assert_true(files_ignore_cached(ig) <= 8);
    files_ignore_dir *held;
    assert_int_equal(files_ignore_enter(ig, "d1/e", 4, &held), MCP_OK);
    for (int i = 10; i < 30; i++) {
        snprintf(rel, sizeof(rel), "d%d/e/x", i);
        visible(&roots.items[0], rel, false);
    }
    assert_false(files_ignore_entry(ig, held, "d1/e/x", 6, 5, false));
    assert_true(files_ignore_entry(ig, held, "d1/e/y", 6, 5, false));
    files_ignore_leave(ig, held);
    files_roots_close(&roots);
    tree_remove(&t);
}

/* ---- comparison with git --------------------------------------------------------------------- */

enum { MAX_PATHS = 400 };

static const char *const names[] = {"a",  "b",   "ab",  "abc", "a.o", "b.o", "a b", "#x",
                                    "!y", "foo", "bar", "x-1", "x-2", "[z]", "q ",  "foo.txt"};
static const char *const patterns[] = {
    "a",      "b/",     "/ab",    "a/b",   "*.o",       "!a.o",   "foo",         "foo/**",
    "**/bar", "a/**/b", "\\#x",   "\\!y",  "x-[12]",    "x-[!1]", "[[:alpha:]]", "*b",
    "!ab*",   "/*",     "!/foo",  "!/a/",  "a*c",       "?",      "foo*/bar",    "q\\ ",
    "q ",     "*/a",    "**",     "!**/",  "foo**/ab",  "a/*",    "!a/b",        "\\[z\\]",
    "[]z[]*", "*.t?t",  "ab/",    "!foo/", "**/foo/**", "a**b",   "bar/*/a",     "/bar/**/*.o",
    "a\\b",   "x-[1-",  "[a-c]*",
};

static const char *pick(const char *const *list, size_t count, uint32_t *seed)
{
    return list[tree_random(seed) % count];
}

static void write_rules(const tree *t, const char *folder, uint32_t *seed)
{
    static const char *const ends[] = {"\n", "\n", "\n", "\r\n", "\r\r\n", "\n\n"};
    char path[300], text[600] = "";
    size_t count = 1 + tree_random(seed) % 5;
    if (tree_random(seed) % 8 == 0)
        strcpy(text, "\xef\xbb\xbf");
    for (size_t i = 0; i < count; i++) {
        strcat(text, pick(patterns, sizeof(patterns) / sizeof(patterns[0]), seed));
        if (i + 1 < count || tree_random(seed) % 2)
            strcat(text, ends[tree_random(seed) % 6]);
        else
            strcat(text, tree_random(seed) % 2 ? "\r" : "");
    }
    snprintf(path, sizeof(path), "%s%s.gitignore", folder, *folder ? "/" : "");
    tree_file(t, path, text);
}

static size_t build_random(const tree *t, uint32_t *seed, char paths[][300], bool *dirs)
{
    size_t count = 0, n = sizeof(names) / sizeof(names[0]);
    for (int i = 0; i < 60; i++) {
        char path[300] = "";
        int depth = 1 + (int)(tree_random(seed) % 4);
        for (int d = 0; d < depth && count < MAX_PATHS; d++) {
            struct stat st;
            if (d)
                strcat(path, "/");
            strcat(path, pick(names, n, seed));
            if (lstat(tree_at(t, path), &st) == 0) {
                if (!S_ISDIR(st.st_mode))
                    break;
                continue;
            }
            dirs[count] = d + 1 < depth;
            strcpy(paths[count++], path);
            if (d + 1 < depth) {
                tree_dir(t, path);
                if (tree_random(seed) % 4 == 0)
                    write_rules(t, path, seed);
            } else {
                tree_file(t, path, "");
            }
        }
    }
    return count;
}

/* Obtains git's result for each path. */
static void ask_git(const tree *t, char paths[][300], size_t count, bool *ignored)
{
    char command[512], line[300];
    FILE *in = fopen(tree_at(t, ".git/ask"), "w");
    assert_non_null(in);
    for (size_t i = 0; i < count; i++)
        fwrite(paths[i], 1, strlen(paths[i]) + 1, in);
    fclose(in);
    snprintf(command, sizeof(command),
             "cd '%s' && GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 git "
             "-c core.excludesFile=/dev/null check-ignore --stdin -z < .git/ask",
             t->path);
    FILE *out = popen(command, "r");
    assert_non_null(out);
    memset(ignored, 0, count);
    for (size_t i = 0, len = 0;; len = 0) {
        int c;
        while ((c = getc(out)) > 0 && len + 1 < sizeof(line))
            line[len++] = (char)c;
        line[len] = '\0';
        if (c < 0)
            break;
        while (i < count && strcmp(paths[i], line) != 0)
            i++;
        assert_true(i < count);
        ignored[i] = true;
    }
    int status = pclose(out);
    assert_true(status == 0 || status == 256);
    unlink(tree_at(t, ".git/ask"));
}

static void test_beside_git(void **state)
{
    static char paths[MAX_PATHS][300];
    static bool dirs[MAX_PATHS], ignored[MAX_PATHS];
    const files_ignore_options options = {.hidden = true};
    uint32_t seed = 20260728;
    size_t hits = 0;
    (void)state;
    if (system("git --version >/dev/null 2>&1") != 0)
        skip();
    for (int round = 0; round < 12; round++) {
        char command[200];
        tree t;
        tree_make(&t);
        snprintf(command, sizeof(command), "git init -q '%s' >/dev/null 2>&1", t.path);
        assert_int_equal(system(command), 0);
        write_rules(&t, "", &seed);
        tree_file(&t, ".git/info/exclude",
                  pick(patterns, sizeof(patterns) / sizeof(patterns[0]), &seed));
        size_t count = build_random(&t, &seed, paths, dirs);
        ask_git(&t, paths, count, ignored);
        files_roots roots = open_one(t.path, &options);
        for (size_t i = 0; i < count; i++) {
            hits += ignored[i];
            if (visible(&roots.items[0], paths[i], dirs[i]) == ignored[i])
                fail_msg("round %d: git says %d to %s in %s", round, ignored[i], paths[i], t.path);
        }
        files_roots_close(&roots);
        tree_remove(&t);
    }
    assert_true(hits > 50);
}

/* ---- without memory -------------------------------------------------------------------------- */

static void test_no_memory(void **state)
{
    static const char *const globs[] = {"*.c", "*.h"};
    tree t;
    (void)state;
    tree_make(&t);
    tree_file(&t, ".git/info/exclude", "x\n");
    tree_file(&t, ".gitignore", "y\n");
    tree_file(&t, "root/sub/.gitignore", "z.c\n");
    char path[100];
    snprintf(path, sizeof(path), "%s/root", t.path);
    for (size_t n = 1;; n++) {
        failalloc f = {.fail_at = n};
        mcp_allocator a = failalloc_allocator(&f);
        const files_ignore_options options = {
            .include = globs, .include_count = 2, .exclude = globs, .exclude_count = 1};
        files_roots roots;
        bool seen = true;
        const char *paths[] = {path};
        int rc = files_roots_open(paths, 1, &options, &a, &roots, NULL);
        if (rc == MCP_OK) {
            rc = files_ignore_visible(roots.items[0].ignore, "sub/z.c", 7, false, &seen);
            if (rc == MCP_OK)
                assert_false(seen);
            /* A failed allocation is not cached as a result. */
            assert_int_equal(
                files_ignore_visible(roots.items[0].ignore, "sub/z.c", 7, false, &seen), MCP_OK);
            assert_false(seen);
            files_roots_close(&roots);
        }
        assert_true(rc == MCP_OK || rc == MCP_ENOMEM);
        assert_int_equal(f.live, 0);
        if (f.calls < n)
            break;
        assert_true(rc == MCP_ENOMEM);
    }
    tree_remove(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rules),      cmocka_unit_test(test_rule_limits),
        cmocka_unit_test(test_switches),   cmocka_unit_test(test_globs),
        cmocka_unit_test(test_above),      cmocka_unit_test(test_above_the_top),
        cmocka_unit_test(test_change),     cmocka_unit_test(test_cache_bound),
        cmocka_unit_test(test_beside_git), cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
