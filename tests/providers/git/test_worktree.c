/* The working tree: the results are those of git status and git diff, and no file is opened outside
 * of it, in .git, or through a hostile index. */
#define _GNU_SOURCE
#include "repository.h"

static peer p;

static const char script[] =
    "git init -q -b main w; cd w; mkdir -p src/deep; seq 20 >a.txt; seq 20 >b.txt; echo c >c.txt; "
    "echo d >src/d; echo e >src/deep/e; echo f >f.sh; ln -s a.txt link; : >empty; echo same >same; "
    "echo x >'odd #é'; git add .; git commit -q -m one; "
    /* both staged and unstaged changes */
    "sed -i 's/^7$/seven/' a.txt; git add a.txt; sed -i 's/^9$/nine/' a.txt; "
    "echo more >>b.txt; " /* unstaged */
    "rm c.txt; git rm -q src/d; chmod +x f.sh; ln -sf b.txt link; echo new >new; git add new; "
    "echo untracked >untracked; touch same; echo y >>'odd #é'; git add 'odd #é'";

static int setup(void **state)
{
    (void)state;
    make_top();
    sh(script);
    return 0;
}

static void open_repository(const char *name)
{
    if (peer_open(&p, name, &(mcp_git_options){0}, NULL, NULL) != MCP_OK)
        fail_msg("%s", p.error.text);
}

static void reads(const char *rest, const char *const has[5])
{
    check_reply(rest, read_uri(&p, rest), has);
}
#define READS(rest, ...) reads(rest, (const char *const[5]){__VA_ARGS__})

static void test_status(void **state)
{
    (void)state;
    open_repository("w");
    READS("w/-/status?format=text", "head: main\\n", "modified  modified  a.txt\\n",
          "-  modified  b.txt\\n", "-  deleted  c.txt\\n", "!untracked");
    READS("w/-/status?format=text", "deleted  -  src/d\\n", "added  -  new\\n",
          "-  modified  f.sh\\n", "-  modified  link\\n", "!same");
    READS("w/-/status", "\\\"path\\\":\\\"a.txt\\\",\\\"staged\\\":\\\"modified\\\"", "!empty",
          "odd #", "!deep", "\\\"unstagedPatch\\\":\\\"git://w/-/unstaged\\\"");
    READS("w/-/status/a.txt", NOT_FOUND);
    peer_close(&p);
}

/* Compares the summary and the patch with git's output byte for byte. */
static void check_patch(const char *rest, const char *command)
{
    static char want[8192], got[32768];
    size_t len = 0;
    char text[512];
    snprintf(text, sizeof(text),
             "cd %s/w && d() { git -c core.quotePath=false diff --no-renames --abbrev=7 \"$@\"; }; "
             "d --shortstat %s | cut -c2- && d --numstat %s && echo && d %s",
             top, command, command, command);
    FILE *f = popen(text, "r");
    assert_non_null(f);
    len = fread(want, 1, sizeof(want) - 1, f);
    want[len] = 0;
    pclose(f);
    assert_true(len > 0);
    mcp_json_doc *doc = NULL;
    const char *reply = read_uri(&p, rest);
    assert_int_equal(mcp_json_parse(mcp_str_from(reply), NULL, NULL, &doc, NULL), MCP_OK);
    const mcp_json *contents = mcp_json_get(mcp_json_get(mcp_json_root(doc), "result"), "contents");
    mcp_str found = mcp_json_string(mcp_json_get(mcp_json_at(contents, 0), "text"));
    snprintf(got, sizeof(got), "%.*s", (int)found.len, found.ptr ? found.ptr : reply);
    mcp_json_free(doc);
    assert_string_equal(got, want);
}

static void test_differences(void **state)
{
    (void)state;
    open_repository("w");
    check_patch("w/-/unstaged", "");
    check_patch("w/-/staged", "--cached");
    check_patch("w/-/unstaged/a.txt", "-- a.txt");
    check_patch("w/-/staged/a.txt", "--cached -- a.txt");
    check_patch("w/-/staged/src", "--cached -- src");
    READS("w/-/unstaged/same", "\"text\":\"0 files changed\\n\"");
    READS("w/-/unstaged/untracked", "\"text\":\"0 files changed\\n\"", "!untracked\\n");
    check_patch("w/-/unstaged?path=a.txt", "-- a.txt");
    check_patch("w/-/staged?path=src%2F*", "--cached -- src");
    sh("cd w; git update-index --index-version 4");
    check_patch("w/-/unstaged", "");
    check_patch("w/-/staged", "--cached");
    sh("cd w; git update-index --index-version 2; git update-index --assume-unchanged b.txt");
    READS("w/-/unstaged", "!b/b.txt\\n", "a/a.txt");
    sh("cd w; git update-index --no-assume-unchanged b.txt");
    peer_close(&p);
}

/* Files that are to be added ("git add -N") are not staged, and are new in the working tree. */
static void test_intended(void **state)
{
    (void)state;
    sh("cd w; echo n >intended; : >void; echo gone >gone; git add -N intended void gone; rm gone");
    open_repository("w");
    READS("w/-/status", "\\\"staged\\\":null,\\\"unstaged\\\":\\\"added\\\"");
    READS("w/-/status?format=text", "-  added  intended\\n", "-  added  void\\n",
          "-  deleted  gone\\n");
    check_patch("w/-/unstaged", "");
    check_patch("w/-/staged", "--cached");
    peer_close(&p);
    sh("cd w; git rm -q --cached intended void gone; rm intended void");
}

/* No filter or attribute of the repository has an effect. */
static void test_nothing_is_run(void **state)
{
    (void)state;
    sh("cd w; echo '* filter=evil diff=evil' >.gitattributes; git config filter.evil.clean 'touch "
       "../made; cat'; git config diff.evil.textconv 'touch ../made; cat'; git config "
       "diff.external 'touch ../made'; git config core.fsmonitor 'touch ../made'; touch a.txt "
       "b.txt");
    open_repository("w");
    READS("w/-/status", "b.txt");
    READS("w/-/unstaged", "+more");
    peer_close(&p);
    sh("test ! -e made; cd w; rm .gitattributes; git config --unset core.fsmonitor; "
       "git config --unset diff.external");
}

/* A hostile index: no tracked path outside the working tree or in .git is read, and a damaged index
 * is reported. */
static void test_hostile_index(void **state)
{
    (void)state;
    sh("git init -q -b main h; cd h; mkdir dir; echo ok >ok; echo z >dir/z; git add .; git commit "
       "-q -m one; echo SECRET >../secret; mkdir ../elsewhere; echo SECRET >../elsewhere/z; "
       "echo '[x] y = SECRET' >>.git/config; "
       /* names of the same length, written into the index */
       "id=$(git rev-parse :ok); for n in aaaaaaaaaaa bbbbbbbbb AAAAAAAAAAA; do git update-index "
       "--add --cacheinfo 100644,$id,$n; done; "
       "sed -i 's/aaaaaaaaaaa/.git\\/config/; s/bbbbbbbbb/..\\/secret/; "
       "s/AAAAAAAAAAA/.GIT\\/config/' .git/index; rm -r dir; ln -s ../elsewhere dir");
    open_repository("h");
    READS("h/-/unstaged", "!SECRET");
    READS("h/-/status", "!SECRET", "!unreadable");
    READS("h/-/unstaged/dir/z", "!SECRET");
    sh("cd h; ln -sf ../../secret .git/index");
    READS("h/-/status", "-32603", "!SECRET");
    sh("cd h; rm .git/index; mkfifo .git/index");
    READS("h/-/status", "-32603");
    sh("cd h; rm .git/index");
    READS("h/-/status?format=text", "deleted  -  ok");
    peer_close(&p);
}

/* In each round a random byte of the index is changed, or the index is truncated. */
static void test_mutations(void **state)
{
    static unsigned char good[8192], bad[8192];
    char path[256];
    uint32_t seed = 3;
    (void)state;
    snprintf(path, sizeof(path), "%s/w/.git/index", top);
    open_repository("w");
    for (int version = 2; version <= 4; version += 2) {
        char command[128];
        snprintf(command, sizeof(command), "cd w; git update-index --index-version %d", version);
        sh(command);
        FILE *f = fopen(path, "rb");
        assert_non_null(f);
        size_t len = fread(good, 1, sizeof(good), f);
        fclose(f);
        for (size_t round = 0; round < 400; round++) {
            seed = seed * 1664525U + 1013904223U;
            memcpy(bad, good, len);
            bad[(seed >> 8) % len] = (unsigned char)(seed >> 3);
            f = fopen(path, "wb");
            assert_non_null(f);
            fwrite(bad, 1, round % 2 ? len : (seed >> 8) % len, f);
            fclose(f);
            READS("w/-/status", "\"id\":1");
            READS("w/-/unstaged", "\"id\":1");
            READS("w/-/staged", "\"id\":1");
        }
        f = fopen(path, "wb");
        assert_non_null(f);
        fwrite(good, 1, len, f);
        fclose(f);
    }
    peer_close(&p);
}

static void test_other_kinds(void **state)
{
    (void)state;
    sh("git clone -q --bare w bare.git; git init -q none; git -C w worktree add -q linked; "
       "echo more >>w/linked/c.txt; git clone -q w split; cd split; git update-index "
       "--split-index");
    p.page_size = 50;
    open_repository("bare.git");
    READS("bare/-/status", NOT_FOUND);
    check_reply("list", ask(&p, LIST, ""), (const char *const[5]){"bare/-/tags", "!status"});
    READS("bare/-/staged", NOT_FOUND);
    READS("bare/-/unstaged/a.txt", NOT_FOUND);
    check_reply("templates", ask(&p, "resources/templates/list", ""),
                (const char *const[5]){"bare/-/blame/", "bare/-/staged/", "bare/-/unstaged/"});
    peer_close(&p);
    p.page_size = 0;
    open_repository("none");
    READS("none/-/status", "\\\"files\\\":[]");
    READS("none/-/staged", "0 files changed");
    peer_close(&p);
    open_repository("split");
    READS("split/-/status", "-32603", "not supported");
    peer_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_status),        cmocka_unit_test(test_differences),
        cmocka_unit_test(test_intended),      cmocka_unit_test(test_nothing_is_run),
        cmocka_unit_test(test_hostile_index), cmocka_unit_test(test_mutations),
        cmocka_unit_test(test_other_kinds),
    };
    return cmocka_run_group_tests(tests, setup, teardown_top);
}
