/* URIs and revisions of the git provider: their meaning, their canonical spelling, and the rejected
 * ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "expr.h"
#include "uri.h"

static const struct {
    const char *rest;
    repo_kind kind;
    const char *rev, *other, *path;
    const char *canonical; /* if NULL, `rest` itself */
} good[] = {
    {"", REPO_KIND_REPOSITORY, "", "", "", NULL},
    {"HEAD/", REPO_KIND_FILE, "HEAD", "", "", NULL},
    {"HEAD", REPO_KIND_FILE, "HEAD", "", "", "HEAD/"},
    {"HEAD/src", REPO_KIND_FILE, "HEAD", "", "src", NULL},
    {"HEAD/src/", REPO_KIND_FILE, "HEAD", "", "src", "HEAD/src"},
    {"feature%2fone/a/b%20c", REPO_KIND_FILE, "feature/one", "", "a/b c", "feature%2Fone/a/b%20c"},
    {"%2D/x", REPO_KIND_FILE, NULL, NULL, NULL, NULL}, /* "-" however it is spelled */
    {"HEAD/a%3Fb%23?length=3&offset=1", REPO_KIND_FILE, "HEAD", "", "a?b#", NULL},
    {"HEAD/-/commit/x", REPO_KIND_FILE, "HEAD", "", "-/commit/x", NULL},
    {"-/branches", REPO_KIND_BRANCHES, "", "", "", NULL},
    {"-/tags?after=x&limit=2", REPO_KIND_TAGS, "", "", "", NULL},
    {"-/tags?limit=2&after=x", REPO_KIND_TAGS, "", "", "", "-/tags?after=x&limit=2"},
    {"-/commit/v1", REPO_KIND_COMMIT, "v1", "", "", NULL},
    {"-/log/HEAD", REPO_KIND_LOG, "HEAD", "", "", NULL},
    {"-/log/HEAD/", REPO_KIND_LOG, "HEAD", "", "", "-/log/HEAD"},
    {"-/log/a%2Fb/x/y?limit=3", REPO_KIND_LOG, "a/b", "", "x/y", NULL},
    {"-/diff/v1/HEAD", REPO_KIND_DIFF, "v1", "HEAD", "", NULL},
    {"-/diff/v1/HEAD/src", REPO_KIND_DIFF, "v1", "HEAD", "src", NULL},
    {"-/diff/v1/HEAD?path=src%2F*.c", REPO_KIND_DIFF, "v1", "HEAD", "",
     "-/diff/v1/HEAD?path=src%2F%2A.c"},
    {"-/staged?path=", REPO_KIND_STAGED, "", "", "", NULL},
    {"-/diff/v1..main", REPO_KIND_DIFF, "v1", "main", "", "-/diff/v1/main"},
    {"-/diff/v1%2E.a%2Fb/src", REPO_KIND_DIFF, "v1", "a/b", "src", "-/diff/v1/a%2Fb/src"},
    {"-/diff/v1...main/src", REPO_KIND_DIFF, "v1...main", "", "src", NULL},
    {"-/log/v1..HEAD~2/src", REPO_KIND_LOG, "v1..HEAD~2", "", "src", NULL},
    {"HEAD~3%5e2/a", REPO_KIND_FILE, "HEAD~3^2", "", "a", "HEAD~3%5E2/a"},
    {"-/log/HEAD?until=2024-01-31T00:00:00%2B01:00&author=x", REPO_KIND_LOG, "HEAD", "", "",
     "-/log/HEAD?author=x&until=2024-01-31T00%3A00%3A00%2B01%3A00"},
    {"-/blame/HEAD/a?line=1&lines=9", REPO_KIND_BLAME, "HEAD", "", "a", NULL},
    {"?format=text", REPO_KIND_REPOSITORY, "", "", "", NULL},
    {"-/search/v1?text=a%20b&path=src&limit=3", REPO_KIND_SEARCH, "v1", "", "",
     "-/search/v1?limit=3&path=src&text=a%20b"},
    {"-/search/v1?regex=x&path=", REPO_KIND_SEARCH, "v1", "", "", "-/search/v1?path=&regex=x"},
    {"-/status", REPO_KIND_STATUS, "", "", "", NULL},
    {"-/staged", REPO_KIND_STAGED, "", "", "", NULL},
    {"-/unstaged/a/b/?format=text", REPO_KIND_UNSTAGED, "", "", "a/b",
     "-/unstaged/a/b?format=text"},
    {"HEAD/caf%C3%A9", REPO_KIND_FILE, "HEAD", "", "caf\xC3\xA9", NULL},
    {"HEAD/%FF", REPO_KIND_FILE, "HEAD", "", "\xFF", NULL},
};

static const char *const bad[] = {
    "/",
    "HEAD//a",
    "HEAD/a//b",
    "HEAD/.",
    "HEAD/../x",
    "HEAD/%2E%2E",
    "HEAD/a%2Fb",
    "HEAD/a%00",
    "HEAD%00/a",
    "HEAD/%zz",
    "HEAD/a#x",
    "HEAD/a?",
    "HEAD/a?x=1",
    "HEAD/a?offset",
    "HEAD/a?offset=",
    "HEAD/a?offset=1&offset=2",
    "HEAD/a?offset=1&",
    "HEAD/a?line=1",
    "?after=x",
    "?",
    "?format=",
    "-/search",
    "-/search/",
    "-/search/a/b?text=x",
    "-/search/a?text=",
    "-/status/a",
    "-/staged/../a",
    "-/unstaged/a%2F..%2Fb",
    "HEAD/a?text=x",
    "-/commit/HEAD?author=x",
    "-",
    "-/",
    "-/none",
    "-/commit",
    "-/commit/",
    "-/commit/a/b",
    "-/diff/a",
    "-/diff/a/",
    "-/blame/HEAD",
    "-/blame/HEAD/",
    "-/branches/x",
    "-//log",
    "-/log//x",
};

static void test_good(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
        mcp_str rest = mcp_str_from(good[i].rest);
        char room[256], made[512];
        repo_target t;
        int rc = repo_uri_parse(rest, room, &t);
        if (!good[i].rev) {
            assert_int_equal(rc, MCP_ENOTFOUND);
            continue;
        }
        if (rc != MCP_OK)
            fail_msg("%s: refused", good[i].rest);
        assert_int_equal(t.kind, good[i].kind);
        assert_string_equal(t.rev.ptr, good[i].rev);
        assert_string_equal(t.other.ptr, good[i].other);
        assert_string_equal(t.path.ptr, good[i].path);
        assert_true(repo_uri_put(made, &t) < repo_uri_room(&t));
        assert_string_equal(made, good[i].canonical ? good[i].canonical : good[i].rest);
    }
}

static void test_bad(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        char room[256];
        repo_target t;
        if (repo_uri_parse(mcp_str_from(bad[i]), room, &t) != MCP_ENOTFOUND)
            fail_msg("%s: taken", bad[i]);
    }
}

/* The sanitizer detects writes beyond the size that repo_uri_parse() requires. */
static void test_room(void **state)
{
    (void)state;
    char rest[2048] = "r";
    for (size_t i = 1; i < 1800; i += 2)
        memcpy(rest + i, i < 400 ? "/a" : i == 401 ? "?l" : "im", 2);
    for (size_t len = 0; len < 1800; len++) {
        char *room = malloc(len + REPO_URI_ROOM);
        repo_target t;
        assert_non_null(room);
        repo_uri_parse((mcp_str){rest, len}, room, &t);
        free(room);
    }
}

static void test_revisions(void **state)
{
    static const char *const fine[] = {"HEAD", "main", "feature/one", "refs/heads/x", "v1.0",
                                       "a-b",  "a@b",  "\xC3\xA9",    "deadbeef"};
    static const char *const refused[] = {"",       "-x",       "--upload-pack=x",
                                          "-",      "a..b",     "a b",
                                          "a~1",    "a^",       "a:b",
                                          "a?",     "a*",       "a[b",
                                          "a\\b",   "@",        "a@{1}",
                                          "/a",     "a/",       "a//b",
                                          ".a",     "a/.b",     "a.",
                                          "a.lock", "a.lock/b", "a\nb",
                                          "a\x7f",  "../a",     "refs/../../etc/passwd"};
    (void)state;
    for (size_t i = 0; i < sizeof(fine) / sizeof(*fine); i++)
        assert_null(repo_rev_refused(mcp_str_from(fine[i])));
    for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++)
        if (!repo_rev_refused(mcp_str_from(refused[i])))
            fail_msg("%s: taken", refused[i]);
    assert_true(repo_rev_is_id(MCP_STR("0123456789abcdef0123456789abcdef01234567")));
    assert_false(repo_rev_is_id(MCP_STR("0123456789ABCDEF0123456789abcdef01234567")));
    assert_false(repo_rev_is_id(MCP_STR("0123456789abcdef0123456789abcdef0123456")));
}

/* Revision expressions in complete URIs: where a range is allowed, and what its sides may be. */
static void test_expressions(void **state)
{
    static const char *const fine[] = {
        "HEAD~/a",        "HEAD~10000/a",  "HEAD^/a",          "HEAD^0/a",       "a%2Fb~2^2~/",
        "-/commit/v1~^2", "-/log/a..b",    "-/log/a~2...b^2",  "-/log/a..b/src", "-/diff/a..b",
        "-/diff/a...b/x", "-/diff/a~1/b^", "-/blame/HEAD~1/a",
    };
    static const char *const refused[] = {
        "HEAD~10001/a",
        "HEAD~9999~9/a",
        "HEAD~x/a",
        "HEAD^{tree}/a",
        "HEAD^-1/a",
        "~1/a",
        "-x~1/a",
        "HEAD@{1}~1/a",
        "a..b/x",
        "a...b/x",
        "-/commit/a..b",
        "-/blame/a..b/x",
        "-/log/a..b..c",
        "-/log/..b",
        "-/log/a..",
        "-/log/..",
        "-/log/-x..b",
        "-/log/a..-x",
        "-/log/a....b",
        "-/diff/a../b",
        "-/diff/a...-x",
        "-/diff/a...b...c",
        "-/diff/a/b..c",
        "-/diff/a..b/..c/.",
        "HEAD~99999999999999999999/a",
    };
    char room[256];
    repo_target t;
    (void)state;
    for (size_t i = 0; i < sizeof(fine) / sizeof(*fine); i++)
        if (repo_uri_parse(mcp_str_from(fine[i]), room, &t) != MCP_OK || repo_target_refused(&t))
            fail_msg("%s: refused", fine[i]);
    for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++)
        if (repo_uri_parse(mcp_str_from(refused[i]), room, &t) == MCP_OK &&
            !repo_target_refused(&t))
            fail_msg("%s: taken", refused[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),        cmocka_unit_test(test_bad),
        cmocka_unit_test(test_room),        cmocka_unit_test(test_revisions),
        cmocka_unit_test(test_expressions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
