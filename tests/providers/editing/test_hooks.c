/* test_hooks.c: the folders that core.hooksPath names, in the spellings of git's configuration. */
#define _GNU_SOURCE
#include "hooks.h"

#include <errno.h>
#include <sys/resource.h>

#include "providers/files/tree.h"

static tree t;

static int begin(void **state)
{
    (void)state;
    tree_make(&t);
    tree_dirs(&t, "home/work/.git", strlen("home/work/.git"));
    tree_dirs(&t, "home/work/tools/hooks", strlen("home/work/tools/hooks"));
    tree_dirs(&t, "home/work/src", strlen("home/work/src"));
    return 0;
}

static int end(void **state)
{
    (void)state;
    tree_remove(&t);
    return 0;
}

static void put(const char *rel, const char *text)
{
    FILE *f = fopen(tree_at(&t, rel), "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    fclose(f);
}

static bool in_hooks(const char *rel)
{
    bool ret;
    assert_int_equal(editing_in_hooks(tree_at(&t, rel), &ret), 0);
    return ret;
}

static bool config_seals(const char *config)
{
    put("home/work/.git/config", config);
    bool one = in_hooks("home/work/tools/hooks/pre-commit"),
         other = in_hooks("home/work/tools/HOOKS/x/y");
    assert_int_equal(one, other);
    assert_false(in_hooks("home/work/src/pre-commit"));
    assert_false(in_hooks("home/work/tools/hooks-not"));
    return one;
}

static void test_spellings(void **state)
{
    static const char *const seal[] = {
        "[core]\n\thooksPath = tools/hooks\n",
        "[CORE]\nHOOKSPATH=./tools/hooks/ # hooks\n",
        "[core] hooksPath = tools/hooks",
        "[core]\r\n  hooksPath = \"tools/hooks\"\r\n",
        "\xef\xbb\xbf[core]\nhooksPath = tools/\\\nhooks\n",
        "[core]\n[user]\nname = \"a [core]\"\n[ core ]\nhooksPath = \"tools\"/hooks ; x\n",
        "[core]\nhooksPath = tools/hooks\nhooksPath = src2\n",
        "[core]\nhooksPath = ~/work/tools/hooks\n",
        "[core]\nhooksPath = src/../tools/hooks\n",
        "[core]\nhooksPath = link\n",
        "[core\n[core]\nhooksPath = tools/hooks\n",
    };
    static const char *const open[] = {
        "",
        "[core]\nhooksPath = other\n",
        "[core]\n# hooksPath = tools/hooks\n",
        "[core \"x\"]\nhooksPath = tools/hooks\n[core.x]\nhooksPath = tools/hooks\n",
        "[user]\nhooksPath = tools/hooks\n",
        "[core]\nhooksPath\nhooksPath =\n",
        "hooksPath = tools/hooks\n[",
        "[core]\nhooksPath = ~\n",
    };
    (void)state;
    assert_int_equal(symlink("tools/hooks", tree_at(&t, "home/work/link")), 0);
    for (size_t i = 0; i < sizeof(seal) / sizeof(*seal); i++)
        if (!config_seals(seal[i]))
            fail_msg("not sealed: %s", seal[i]);
    for (size_t i = 0; i < sizeof(open) / sizeof(*open); i++)
        if (config_seals(open[i]))
            fail_msg("sealed: %s", open[i]);
    char absolute[256];
    snprintf(absolute, sizeof(absolute), "[core]\nhooksPath = %s/home/work/tools/hooks\n", t.path);
    assert_true(config_seals(absolute));
}

static void test_where(void **state)
{
    char text[256];
    (void)state;
    put("home/work/.git/config", "");
    put("home/work/.git/config.worktree", "[core]\nhooksPath = tools/hooks\n");
    assert_true(in_hooks("home/work/tools/hooks/a"));

    /* a worktree beside it, whose repository is elsewhere */
    assert_int_equal(unlink(tree_at(&t, "home/work/.git/config.worktree")), 0);
    put("home/work/.git/config", "[core]\nhooksPath = tools/hooks\n");
    tree_dirs(&t, "home/work/.git/worktrees/b", strlen("home/work/.git/worktrees/b"));
    tree_dirs(&t, "home/b/tools/hooks", strlen("home/b/tools/hooks"));
    put("home/work/.git/worktrees/b/commondir", "../..\n");
    snprintf(text, sizeof(text), "gitdir: %s/home/work/.git/worktrees/b\n", t.path);
    put("home/b/.git", text);
    assert_true(in_hooks("home/b/tools/hooks/a"));
    assert_false(in_hooks("home/b/a"));

    /* one in another one */
    tree_dirs(&t, "home/work/src/sub/.git", strlen("home/work/src/sub/.git"));
    put("home/work/src/sub/.git/config", "[core]\nhooksPath = ../../src\n");
    assert_true(in_hooks("home/work/src/sub/a"));
    assert_false(in_hooks("home/work/a"));
}

/* What is no file is not waited for, and what comes after the limit is not read. */
static void test_strange(void **state)
{
    (void)state;
    assert_int_equal(mkfifo(tree_at(&t, "home/work/.git/config"), 0600), 0);
    assert_false(in_hooks("home/work/tools/hooks/a"));
    assert_int_equal(unlink(tree_at(&t, "home/work/.git/config")), 0);
    FILE *f = fopen(tree_at(&t, "home/work/.git/config"), "w");
    assert_non_null(f);
    for (size_t i = 0; i < EDITING_HOOKS_BYTES; i += 1024)
        fprintf(f, "#%1022s\n", "");
    fputs("[core]\nhooksPath = tools/hooks\n", f);
    fclose(f);
    assert_false(in_hooks("home/work/tools/hooks/a"));
    bool ret;
    assert_int_equal(editing_in_hooks("/", &ret), 0);
    assert_false(ret);
    assert_int_equal(editing_in_hooks("no path", &ret), 0);
    assert_true(ret);
}

/* What cannot be looked at is not "no folder of hooks". */
static void test_fails(void **state)
{
    struct rlimit limit, none;
    bool ret;
    (void)state;
    put("home/work/.git/config", "[core]\nhooksPath = tools/hooks\n");
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    none = limit;
    none.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    int error = editing_in_hooks(tree_at(&t, "home/work/tools/hooks/a"), &ret);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_int_equal(error, EMFILE);
    assert_true(in_hooks("home/work/tools/hooks/a"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_spellings, begin, end),
        cmocka_unit_test_setup_teardown(test_where, begin, end),
        cmocka_unit_test_setup_teardown(test_strange, begin, end),
        cmocka_unit_test_setup_teardown(test_fails, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
