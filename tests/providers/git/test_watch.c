/* Subscribers are notified if and only if the contents change, however they were changed. The test
 * uses a real loop, and git makes the changes. */
#define _GNU_SOURCE
#include "repository.h"

enum {
    PATIENCE_MS = 20000,
    QUIET_MS = 400 /* longer than a notification takes after a change by git */
};

static peer p;

static void begin(const char *subscriptions)
{
    char params[512];
    memset(&p, 0, sizeof(p));
    sh("rm -rf r away; git init -q -b main r; cd r; mkdir d; echo one >a.txt; echo x >d/x; git add "
       ".; "
       "git commit -q -m first; git branch feature/one");
    assert_int_equal(mcp_loop_new(NULL, &p.loop, NULL), MCP_OK);
    mcp_loop *loop = p.loop;
    if (peer_open(&p, "r", &(mcp_git_options){0}, mcp_loop_host(loop), NULL) != MCP_OK)
        fail_msg("%s", p.error.text);
    snprintf(params, sizeof(params),
             "\"notifications\":{\"resourcesListChanged\":true,\"resourceSubscriptions\":[%s]}",
             subscriptions);
    peer_send(&p, 1, "subscriptions/listen", params);
    size_t never = 0;
    run_until(&p, &never, 1, 100);
    p.updates = p.changes = 0;
}

/* Runs the script and checks which kinds of notifications follow: an update, a changed list, both
 * or none. */
static void after(const char *script, bool updated, bool changed)
{
    size_t never = 0;
    p.updates = p.changes = 0;
    sh(script);
    if (updated && !run_until(&p, &p.updates, 1, PATIENCE_MS))
        fail_msg("%s: no update", script);
    if (changed && !run_until(&p, &p.changes, 1, PATIENCE_MS))
        fail_msg("%s: no change of the list", script);
    if (!updated || !changed)
        run_until(&p, &never, 1, QUIET_MS);
    if ((!updated && p.updates) || (!changed && p.changes))
        fail_msg("%s: %zu updates, %zu changes", script, p.updates, p.changes);
}

static void test_file(void **state)
{
    (void)state;
    begin("\"git://r/HEAD/a.txt\"");
    after("cd r; echo two >a.txt; git commit -q -a -m second", true, true);
    after("cd r; echo y >d/x; git commit -q -a -m other", false, true);
    after("cd r; git commit -q --allow-empty -m nothing; git commit -q --amend --allow-empty -m "
          "again",
          false, false);
    after("cd r; git branch b; git tag t; git pack-refs --all; git gc -q", false, false);
    after("cd r; echo three >a.txt; git add a.txt", false, false); /* nothing is committed */
    after("cd r; git reset -q --hard HEAD~2", false, true);
    after("cd r; git checkout -q --detach HEAD~1", true, true);
    peer_close(&p);
}

/* A reference in a folder that is not watched, and the lists of references. */
static void test_references(void **state)
{
    (void)state;
    begin("\"git://r/feature%2Fone/a.txt\"");
    after("cd r; git checkout -q feature/one; git checkout -q main", false, false);
    after("cd r; git update-ref refs/heads/feature/one $(git commit-tree -m x $(git mktree "
          "</dev/null))",
          true, false);
    after("cd r; git update-ref -d refs/heads/feature/one", false,
          false); /* the file did not exist before the change either */
    after("cd r; git branch feature/one main", true, false);
    peer_close(&p);
    begin("\"git://r/-/branches\"");
    after("cd r; git branch feature/two", true, false);
    after("cd r; git pack-refs --all; git tag t", false, false);
    after("cd r; git branch -D -q feature/two", true, false);
    peer_close(&p);
    begin("\"git://r/-/tags\"");
    after("cd r; git branch feature/two", false, false);
    after("cd r; git tag t", true, false);
    peer_close(&p);
}

/* Many changes in a short time cause few notifications. */
static void test_burst(void **state)
{
    size_t never = 0;
    (void)state;
    begin("\"git://r/-/log/HEAD\"");
    after(
        "cd r; for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do echo $i >a.txt; git "
        "commit -q -a -m $i; done",
        true, true);
    run_until(&p, &never, 1, QUIET_MS);
    assert_in_range(p.updates, 1, 2); /* the loop did not run during the script */
    assert_in_range(p.changes, 1, 2);
    peer_close(&p);
}

/* A repository that is removed and replaced by another one is still watched. */
static void test_comes_back(void **state)
{
    (void)state;
    begin("\"git://r/HEAD/a.txt\"");
    after("mv r away", false, false);
    after("git clone -q away r", false, false); /* the clone has the same contents */
    after("cd r; echo two >a.txt; git commit -q -a -m second", true, true);
    after("rm -rf r; mv away r", true, true);
    after("cd r; echo three >a.txt; git commit -q -a -m third", true, true);
    peer_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_file),
        cmocka_unit_test(test_references),
        cmocka_unit_test(test_burst),
        cmocka_unit_test(test_comes_back),
    };
    return cmocka_run_group_tests(tests, setup_top, teardown_top);
}
