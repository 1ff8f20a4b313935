/* Differences of more files than a patch may have: they are named, and counted for each folder. */
#define _GNU_SOURCE
#include "repository.h"

#include "failalloc.h"

static peer p;

/* 5,004 files that change; of one the content stays, but not its mode. "big" has a folder with 5,001 of them. */
static const char script[] =
    "git init -q -b main r; cd r; "
    "make() { echo \"commit refs/heads/main\"; echo \"committer A <a@example.org> $1 +0000\"; "
    "echo 'data 1'; echo c; "
    "awk -v n=$2 -v m=$3 'BEGIN{for(i=0;i<5001;i++)printf \"M %s inline big/f%d/x%05d\\ndata "
    "2\\n%s\\n\\n\", "
    "i==7?m:644,i/2500,i,i==7?1:n; "
    "printf \"M 644 inline a/one\\ndata 2\\n%s\\n\\nM 644 inline README\\ndata 2\\n%s\\n\\n\", n, "
    "n; "
    "printf \"M 644 inline \\\"z \\\\\\\"q/one\\\"\\ndata 2\\n%s\\n\\n\", n}'; }; "
    "{ make 1700000000 1 644; make 1700000001 2 755; } | git fast-import --quiet";

static int setup(void **state)
{
    (void)state;
    make_top();
    sh(script);
    return 0;
}

static void open_repository(void)
{
    mcp_git_options o = {.timeout_ms = 60000};
    if (peer_open(&p, "r", &o, NULL, NULL) != MCP_OK)
        fail_msg("%s", p.error.text);
}

static const struct {
    const char *rest;
    const char *has[5];
} reads[] = {
    {"r/-/diff/HEAD~1/HEAD",
     {"\"text\":\"5004 files changed; their lines are not counted\\nThese are more than 5000 "
      "files. Of PATH "
      "(a file, a folder or a glob): git://r/-/diff/HEAD~1/HEAD?path=PATH\\n1 file in ./\\n1 file "
      "in "
      "a/\\n5001 files in big/\\n1 file in ",
      "?\\t?\\tREADME\\n?\\t?\\ta/one\\n?\\t?\\tbig/f0/x00000\\n", "\\n?\\t?\\tbig/f2/x05000\\n",
      "!@@", "!insertion"}},
    {"r/-/diff/HEAD~1/HEAD?path=big/",
     {"5001 files changed",
      "\\n2500 files in big/f0/\\n2500 files in big/f1/\\n1 file in big/f2/\\n?", "x05000\\n\"",
      "!@@", "!README"}},
    {"r/-/diff/HEAD~1/HEAD/big", {"\\n2500 files in big/f0/\\n", "!README"}},
    {"r/-/diff/HEAD~1/HEAD?path=x0*",
     {"5001 files changed", "\\n5001 files in big/\\n?", "!README"}},
    {"r/-/diff/HEAD~1/HEAD?path=big/f1",
     {"2500 files changed, 2500 insertions(+), 2500 deletions(-)\\n", "1\\t1\\tbig/f1/x02500\\n",
      "diff --git a/big/f1/x02500", "!files in"}},
    {"r/-/diff/HEAD~1/HEAD?path=big/f0/x00007",
     {"0\\t0\\tbig/f0/x00007\\n\\ndiff", "new mode 100755"}},
};

static void test_wide(void **state)
{
    (void)state;
    open_repository();
    for (size_t i = 0; i < sizeof(reads) / sizeof(*reads); i++)
        check_reply(reads[i].rest, read_uri(&p, reads[i].rest), reads[i].has);
    peer_close(&p);
}

/* What the caller may not see is not in the numbers. */
static bool may(const mcp_identity *identity, mcp_item item, mcp_str name, void *user)
{
    (void)identity, (void)item, (void)user;
    return !memmem(name.ptr, name.len, "f0", 2) || !memmem(name.ptr, name.len, "x", 1);
}

static void test_access(void **state)
{
    (void)state;
    open_repository();
    mcp_server_set_access(p.server, MCP_OPTIONS(mcp_access, .may = may));
    check_reply("hidden", read_uri(&p, "r/-/diff/HEAD~1/HEAD"),
                (const char *const[5]){"2504 files changed, 2504 insertions(+)", "!big/f0"});
    peer_close(&p);
}

static void test_no_memory(void **state)
{
    (void)state;
    for (size_t n = 1;; n += 1 + n / 4) {
        failalloc f = {.fail_at = n};
        mcp_allocator alloc = failalloc_allocator(&f);
        mcp_git_options o = {0};
        if (peer_open(&p, "r", &o, NULL, &alloc) == MCP_OK)
            read_uri(&p, "r/-/diff/HEAD~1/HEAD");
        peer_close(&p);
        assert_int_equal(f.live, 0);
        if (f.calls < n)
            break;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wide),
        cmocka_unit_test(test_access),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, setup, teardown_top);
}
