/* The git provider from a peer's point of view: requests, and what the replies must contain. There
 * is no host, so requests are answered synchronously. */
#define _GNU_SOURCE
#include "filter.h"
#include "repository.h"

static peer p;

static const char script[] =
    "git init -q -b main r; cd r; mkdir -p src/deep src.d; printf 'one\\ntwo\\nthree\\n' >a.txt; "
    "echo 'int x;' >src/x.c; echo y >src/deep/y; echo z >src.d/z; echo w >src0; "
    "ln -s /etc/passwd link; printf 'a\\0b' >bin; echo e >'\xC3\xA9 #?%.txt'; "
    "printf x >\"$(printf 'bad\\377')\"; git add .; "
    "git update-index --add --cacheinfo 160000,0123456789012345678901234567890123456789,sub; "
    "git commit -q -m 'first' -m 'its body'; git tag light; git tag -a -m 'the tag' v1; "
    "git branch feature/one; git branch packed; git pack-refs --all; git branch feature/two; "
    "printf 'one\\n2\\nthree\\nfour\\n' >a.txt; "
    "git add a.txt; GIT_COMMITTER_DATE='1700000100 +0000' git commit -q -m second; "
    "git checkout -q feature/one; echo new >new; git add new; "
    "GIT_COMMITTER_DATE='1700000200 +0000' git commit -q -m third; git checkout -q main; "
    "GIT_COMMITTER_DATE='1700000300 +0000' git merge -q --no-ff -m merged feature/one; cd ..; "
    "git clone -q --bare r bare.git; git init -q empty; "
    "git -C r worktree add -q ../wt feature/two; git clone -q -s r shared";

static int setup(void **state)
{
    (void)state;
    make_top();
    sh(script);
    return 0;
}

typedef struct reading {
    const char *rest;
    const char *has[5]; /* see check_reply() */
} reading;

static void check_reads(const char *repository, const char *within, const reading *e, size_t n)
{
    char folder[128];
    mcp_git_options o = {0};
    snprintf(folder, sizeof(folder), "%s%s", top, within ? within : "");
    o.within = within ? folder : NULL;
    if (peer_open(&p, repository, &o, NULL, NULL) != MCP_OK)
        fail_msg("%s", p.error.text);
    for (size_t i = 0; i < n; i++)
        check_reply(e[i].rest, read_uri(&p, e[i].rest), e[i].has);
    peer_close(&p);
}

static const reading files[] = {
    {"r/HEAD/a.txt",
     {"\"text\":\"one\\n2\\nthree\\nfour\\n\"", "text/plain", "\"ttlMs\":1000,", "!public"}},
    {"r/main/a.txt", {"one\\n2"}},
    {"r/refs%2Fheads%2Fmain/a.txt", {"one\\n2"}},
    {"r/heads%2Fmain/a.txt", {"one\\n2"}},
    {"r/feature%2Fone/new", {"new\\n"}},
    {"r/feature/one/new", {NOT_FOUND}},
    {"r/packed/a.txt", {"one\\ntwo"}},
    {"r/v1/a.txt", {"one\\ntwo"}},
    {"r/light/a.txt?offset=4&length=3", {"\"text\":\"two\""}},
    {"r/light/a.txt?offset=400", {"\"text\":\"\""}},
    {"r/light/a.txt?length=0", {"-32602", "length must be"}},
    {"r/light/a.txt?x=1",
     {"-32602", "not supported here: ?x=1", "\"data\":{\"uri\":\"git://r/light/a.txt?x=1\"}"}},
    {"r/-/x?x=1", {NOT_FOUND}},
    {"r/HEAD/link", {"\"text\":\"/etc/passwd\"", "inode/symlink"}},
    {"r/HEAD/link/x", {NOT_FOUND}},
    {"r/HEAD/bin", {"\"blob\":\"YQBi\"", "octet-stream"}},
    {"r/HEAD/src/x.c", {"text/x-csrc"}},
    {"r/HEAD/sub", {"submodule", "0123456789012345678901234567890123456789"}},
    {"r/HEAD/sub/x", {NOT_FOUND}},
    {"r/HEAD/%C3%A9%20%23%3F%25.txt", {"\"text\":\"e\\n\""}},
    {"r/HEAD/bad%FF", {"\"text\":\"x\""}},
    {"r/HEAD/none", {NOT_FOUND}},
    {"r/HEAD/a.txt/x", {NOT_FOUND}},
    {"r/none/a.txt", {NOT_FOUND}},
    {"r/0123456789abcdef0123456789abcdef01234567/a.txt", {NOT_FOUND}},
    {"other/HEAD/a.txt", {NOT_FOUND}},
    /* folders */
    {"r/", {"\\\"branch\\\":\\\"main\\\"", "git://r/-/log/HEAD", "git://r/HEAD/"}},
    {"r/HEAD/src",
     {"\\\"type\\\":\\\"folder\\\"", "git://r/HEAD/src/deep", "git://r/HEAD/src/x.c", "!next"}},
    {"r/HEAD/src/", {"git://r/HEAD/src/deep"}},
    {"r/HEAD/?limit=3", {"a.txt", "!src", "\\\"next\\\":\\\"git://r/HEAD/?after=bin&limit=3\\\""}},
    {"r/HEAD/?limit=3&after=src.d%2F", {"\\\"src\\\"", "src0", "!\\\"src.d\\\"", "after=sub&"}},
};

static void test_files(void **state)
{
    (void)state;
    check_reads("r", NULL, files, sizeof(files) / sizeof(*files));
}

/* An object that is named by a full id never changes, so its contents may be cached by anybody. */
static void test_fixed(void **state)
{
    char rest[256];
    static const char *const has[5] = {"\"ttlMs\":2592000000", "\"cacheScope\":\"public\"",
                                       "one\\n2"};
    (void)state;
    assert_int_equal(peer_open(&p, "r", &(mcp_git_options){0}, NULL, NULL), MCP_OK);
    snprintf(rest, sizeof(rest), "r/%s/a.txt", output_of("git -C r rev-parse HEAD"));
    check_reply(rest, read_uri(&p, rest), has);
    snprintf(rest, sizeof(rest), "r/%s", output_of("git -C r rev-parse HEAD:a.txt"));
    check_reply(rest, read_uri(&p, rest), has);
    snprintf(rest, sizeof(rest), "r/%s/a.txt", output_of("git -C r rev-parse --short=10 HEAD"));
    check_reply(rest, read_uri(&p, rest), (const char *const[5]){"one\\n2", "\"ttlMs\":1000,"});
    peer_close(&p);
}

static void test_kinds(void **state)
{
    static const reading bare[] = {{"bare/main/a.txt", {"one\\n2"}}, {"bare/HEAD/", {"a.txt"}}};
    static const reading wt[] = {
        {"wt/HEAD/a.txt", {"one\\ntwo"}}, {"wt/main/a.txt", {"one\\n2"}}, {"wt/", {"feature/two"}}};
    static const reading shared[] = {{"shared/HEAD/a.txt", {"one\\n2"}}};
    static const reading empty[] = {{"empty/HEAD/a", {NOT_FOUND}},
                                    {"empty/", {"\\\"commit\\\":null"}}};
    (void)state;
    check_reads("bare.git", NULL, bare, 2);
    check_reads("wt", "", wt, 3);
    check_reads("shared", "", shared, 1);
    check_reads("empty", NULL, empty, 2);
    check_reads("r/.git", NULL, (const reading[]){{"r/HEAD/a.txt", {"one\\n2"}}}, 1);
}

/* Pages of five entries, each of which can be read. The entries are in byte order, with a folder
 * before its contents. */
static void test_list(void **state)
{
    static const char *const expected[] = {"r/",
                                           "r/-/log/HEAD",
                                           "r/-/branches",
                                           "r/-/tags",
                                           "r/-/status",
                                           "r/HEAD/a.txt",
                                           "r/HEAD/bad%FF",
                                           "r/HEAD/bin",
                                           "r/HEAD/link",
                                           "r/HEAD/new",
                                           "r/HEAD/src.d",
                                           "r/HEAD/src.d/z",
                                           "r/HEAD/src",
                                           "r/HEAD/src/deep",
                                           "r/HEAD/src/deep/y",
                                           "r/HEAD/src/x.c",
                                           "r/HEAD/src0",
                                           "r/HEAD/sub",
                                           "r/HEAD/%C3%A9%20%23%3F%25.txt"};
    char cursor[2048] = "";
    size_t n = 0, pages = 0;
    (void)state;
    assert_int_equal(peer_open(&p, "r", &(mcp_git_options){0}, NULL, NULL), MCP_OK);
    do {
        static char page[64 << 10];
        const char *reply = ask(&p, "resources/list", cursor);
        assert_true(strlen(reply) < sizeof(page));
        strcpy(page, reply);
        for (const char *at = page; (at = strstr(at, "\"uri\":\"git://"));) {
            char rest[256];
            at += 13;
            snprintf(rest, sizeof(rest), "%.*s", (int)strcspn(at, "\""), at);
            assert_true(n < sizeof(expected) / sizeof(*expected));
            assert_string_equal(rest, expected[n++]);
            check_reply(rest, read_uri(&p, rest), (const char *const[5]){"contents"});
        }
        const char *next = strstr(page, "\"nextCursor\":\"");
        cursor[0] = 0;
        if (next)
            snprintf(cursor, sizeof(cursor), "\"cursor\":\"%.*s\"", (int)strcspn(next + 14, "\""),
                     next + 14);
        pages++;
    } while (*cursor);
    assert_int_equal(n, sizeof(expected) / sizeof(*expected));
    assert_int_equal(pages, 4);
    check_reply("cursor", ask(&p, "resources/list", "\"cursor\":\"x\""),
                (const char *const[5]){"-32602"});
    peer_close(&p);
}

static void test_too_large(void **state)
{
    (void)state;
    mcp_git_options o = {.max_read = 8};
    assert_int_equal(peer_open(&p, "r", &o, NULL, NULL), MCP_OK);
    check_reply(
        "large", read_uri(&p, "r/HEAD/a.txt"),
        (const char *const[5]){"-32603", "\"size\":17", "\"limit\":8", "{?offset,length,format}"});
    check_reply("part", read_uri(&p, "r/HEAD/a.txt?offset=4"),
                (const char *const[5]){"2\\nthree\\n"});
    peer_close(&p);
}

static const reading history[] = {
    {"r/-/log/HEAD", {"\\\"subject\\\":\\\"merged\\\"", "third", "second", "first", "!next"}},
    {"r/-/log/HEAD/a.txt", {"second", "first", "!third", "!merged"}},
    {"r/-/log/HEAD/new", {"third", "!first", "!merged"}},
    {"r/-/log/HEAD/src?limit=1", {"first", "!second"}},
    {"r/-/log/HEAD/none", {"\\\"commits\\\":[]"}},
    {"r/-/log/HEAD?limit=1", {"merged", "!third", "?from=", ".", "&limit=1"}},
    {"r/-/log/HEAD?offset=3", {"first", "!second", "!next"}},
    {"r/-/log/HEAD?from=x", {"-32602", "not a position"}},
    {"r/-/log/HEAD?limit=1001", {"-32602", "limit must be"}},
    {"r/-/log/none", {NOT_FOUND}},
    {"r/-/commit/v1",
     {"\\\"name\\\":\\\"Ada\\\"", "2023-11-14T23:13:20+01:00", "first\\\\n\\\\nits body", "Bob",
      "\\\"parents\\\":[]"}},
    {"r/-/commit/HEAD", {"git://r/-/diff/"}},
    {"r/-/commit/HEAD~1",
     {"\\\"files\\\":[{\\\"added\\\":2,\\\"removed\\\":1,\\\"path\\\":\\\"a.txt\\\"}]}\"",
      "!filesTruncated"}},
    {"r/-/commit/v1", {"{\\\"path\\\":\\\"bin\\\"}", "\\\"added\\\":1,\\\"removed\\\":0,"}},
    {"r/-/commit/HEAD?format=text", {"files:\\n1  0  new\\n\""}},
    {"r/-/log/HEAD", {"!files"}},
    {"r/-/log/HEAD?files=2",
     {"\\\"files\\\":[\\\"new\\\"]", "\\\"files\\\":[\\\"a.txt\\\"]",
      "\\\"files\\\":[\\\"a.txt\\\",\\\"bad\xC3\xBF\\\"],\\\"filesTruncated\\\":true"}},
    {"r/-/log/v1?files=1&format=text", {"first\\n    a.txt\\n    ...\\n\""}},
    {"r/-/log/v1/src?files=9",
     {"\\\"files\\\":[\\\"src/deep/y\\\",\\\"src/x.c\\\"]}", "!filesTruncated"}},
    {"r/-/log/HEAD?files=1001", {"-32602", "files must be a whole number from 0 to 1000"}},
    {"r/-/log/HEAD?files=1&limit=1", {"&limit=1", "?files=1&from="}},
    {"r/-/log/HEAD?author=ADA&text=SEC", {"second", "!third", "!first", "!committer"}},
    {"r/-/log/HEAD?author=ada%20%3C&text=body", {"first", "!second"}},
    {"r/-/log/HEAD?author=bob", {"\\\"commits\\\":[]", "!next"}},
    {"r/-/log/HEAD?until=2023-11-14T22%3A15%3A00Z",
     {"second", "first", "\\\"committer\\\"", "!third"}},
    {"r/-/log/HEAD?since=2023-11-14T22%3A15%3A00Z&format=text",
     {"third", "2023-11-14T22:18:20Z", "!first", "!next"}},
    {"r/-/log/HEAD?since=2023-11-15", {"\\\"commits\\\":[]", "!next"}},
    {"r/-/log/HEAD?until=yesterday", {"-32602", "until must be a date like"}},
    {"r/-/log/HEAD?author=", {"-32602", "not supported here"}},
    {"r/-/commit/none", {NOT_FOUND}},
    {"r/-/branches",
     {"\\\"name\\\":\\\"feature/one\\\"", "git://r/feature%2Ftwo/", "packed", "!light"}},
    {"r/-/branches?limit=1", {"feature/one", "!two", "after=heads%2Ffeature%2Fone&limit=1"}},
    {"r/-/branches?after=heads%2Fmain", {"packed", "!feature"}},
    {"r/-/tags", {"light", "v1", "git://r/-/commit/", "!main"}},
    {"r/-/diff/v1/HEAD",
     {"diff --git a/a.txt b/a.txt\\nindex ", "-two\\n+2\\n three\\n+four\\n",
      "new file mode 100644\\n", "--- /dev/null\\n+++ b/new\\n@@ -0,0 +1 @@\\n+new",
      "text/x-diff"}},
    {"r/-/diff/v1/HEAD/new", {"+new", "!a.txt"}},
    {"r/-/diff/HEAD/v1/new", {"deleted file mode 100644", "-new"}},
    {"r/-/diff/v1/light", {"\"text\":\"0 files changed\\n\""}},
    {"r/-/diff/v1/HEAD",
     {"\"text\":\"2 files changed, 3 insertions(+), 1 deletion(-)\\n2\\t1\\ta.txt\\n1\\t0\\tnew\\n"
      "\\ndiff --git a/a.txt"}},
    {"r/-/diff/v1/HEAD?path=n*",
     {"\"text\":\"1 file changed, 1 insertion(+)\\n1\\t0\\tnew\\n\\ndiff", "!a.txt"}},
    {"r/-/diff/v1/HEAD?path=a.txt/", {"2\\t1\\ta.txt", "!new file"}},
    {"r/-/diff/v1/HEAD?path=none", {"0 files changed"}},
    {"r/-/diff/v1/light/none", {NOT_FOUND}},
    {"r/-/diff/v1/none", {NOT_FOUND}},
    {"r/-/diff/v1/-x", {"-32602", "refused"}},
    {"r/-/blame/HEAD/a.txt",
     {"\\\"lines\\\":4", "{\\\"line\\\":1,\\\"lines\\\":1", "{\\\"line\\\":2,\\\"lines\\\":1",
      "{\\\"line\\\":3,\\\"lines\\\":1", "{\\\"line\\\":4,\\\"lines\\\":1"}},
    {"r/-/blame/HEAD/a.txt?line=2&lines=1",
     {"second", "!first", "\\\"next\\\":\\\"git://r/-/blame/HEAD/a.txt?line=3&lines=1"}},
    {"r/-/blame/HEAD/a.txt?line=2&lines=1",
     {"\\\"subject\\\":\\\"second\\\"", "\\\"text\\\":[\\\"2\\\"]}"}},
    {"r/-/blame/v1/a.txt",
     {"\\\"lines\\\":3,", "\\\"text\\\":[\\\"one\\\",\\\"two\\\",\\\"three\\\"]}"}},
    {"r/-/blame/HEAD/a.txt?line=2&lines=1&format=text", {"  Ada  second\\n    2\\nnext: "}},
    {"r/-/blame/HEAD/a.txt?line=9", {"\\\"ranges\\\":[]", "!next"}},
    {"r/-/blame/HEAD/src", {NOT_FOUND}},
    {"r/-/blame/HEAD/none", {NOT_FOUND}},
    {"r/-/blame/HEAD/a.txt?line=0", {"-32602", "line must be"}},
};

static void test_history(void **state)
{
    (void)state;
    check_reads("r", NULL, history, sizeof(history) / sizeof(*history));
}

static void test_dates(void **state)
{
    static const struct {
        const char *text;
        bool end;
        int64_t time; /* -1 if it is refused */
    } dates[] = {
        {"1970-01-02", false, 86400},
        {"1970-01-02", true, 2 * 86400 - 1},
        {"2024-02-29T12:00:00", true, 1709208000},
        {"2024-02-29T12:00:00Z", false, 1709208000},
        {"2024-02-29T12:00:00+01:30", false, 1709208000 - 5400},
        {"2024-02-29T12:00:00-01:30", false, 1709208000 + 5400},
        {"2023-02-29", false, -1},
        {"2024-13-01", false, -1},
        {"2024-1-1", false, -1},
        {"2024-01-01T", false, -1},
        {"2024-01-01T24:00:00", false, -1},
        {"2024-01-01T00:00", false, -1},
        {"2024-01-01 00:00:00", false, -1},
        {"2024-01-01T00:00:00+1:00", false, -1},
        {"2024-01-01T00:00:00+01:00x", false, -1},
        {"20240101", false, -1},
        {"", false, -1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(dates) / sizeof(*dates); i++) {
        int64_t time = -1;
        bool ok = repo_date(mcp_str_from(dates[i].text), dates[i].end, &time);
        if (ok != (dates[i].time >= 0) || (ok && time != dates[i].time))
            fail_msg("%s: %d, %lld", dates[i].text, ok, (long long)time);
    }
}

/* All pages of the log together are the history, with each commit once. */
static void test_log_pages(void **state)
{
    char rest[4096] = "r/-/log/HEAD?limit=1", subjects[256] = "";
    (void)state;
    assert_int_equal(peer_open(&p, "r", &(mcp_git_options){0}, NULL, NULL), MCP_OK);
    for (size_t pages = 0; *rest; pages++) {
        const char *reply = read_uri(&p, rest), *subject = strstr(reply, "subject"), *next;
        assert_true(pages < 4);
        assert_non_null(subject);
        strncat(subjects, subject + 12, strcspn(subject + 12, "\\"));
        strcat(subjects, " ");
        next = strstr(reply, "\\\"next\\\":\\\"git://");
        if (next)
            snprintf(rest, sizeof(rest), "%.*s", (int)strcspn(next + 17, "\\"), next + 17);
        else
            *rest = 0;
    }
    assert_string_equal(subjects, "merged third second first ");
    peer_close(&p);
}

#define COMPLETE(t, n, v)                                                                       \
    "\"ref\":{\"type\":\"ref/resource\",\"uri\":\"git://r/" t "\"},\"argument\":{\"name\":\"" n \
    "\",\"value\":\"" v "\"}"
#define FILE_AT "{rev}/{+path}{?offset,length,format}"

static void test_completion(void **state)
{
    static const reading cases[] = {
        {COMPLETE(FILE_AT, "rev", "fe"), {"[\"feature/one\",\"feature/two\"]"}},
        {COMPLETE(FILE_AT, "rev", ""),
         {"[\"HEAD\",\"feature/one\"", "\"packed\",\"light\",\"v1\"]"}},
        {COMPLETE(FILE_AT, "rev", "zz"), {"\"values\":[]"}},
        {COMPLETE(FILE_AT, "path", "s"), {"[\"src.d/\",\"src/\",\"src0\",\"sub\"]"}},
        {COMPLETE(FILE_AT, "path", "src/"), {"[\"src/deep/\",\"src/x.c\"]"}},
        {COMPLETE(FILE_AT, "path", "n") ",\"context\":{\"arguments\":{\"rev\":\"v1\"}}",
         {"\"values\":[]"}},
        {COMPLETE(FILE_AT, "path", "n") ",\"context\":{\"arguments\":{\"rev\":\"--x\"}}",
         {"\"values\":[]"}},
        {COMPLETE("-/diff/{from}/{to}/{+path}", "to", "v"), {"[\"v1\"]"}},
    };
    (void)state;
    assert_int_equal(peer_open(&p, "r", &(mcp_git_options){0}, NULL, NULL), MCP_OK);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        check_reply(cases[i].rest, ask(&p, "completion/complete", cases[i].rest), cases[i].has);
    peer_close(&p);
}

/* A patch that is too long lists the files that it omits. */
static void test_long_diff(void **state)
{
    mcp_git_options o = {.max_bytes = 60};
    (void)state;
    assert_int_equal(peer_open(&p, "r", &o, NULL, NULL), MCP_OK);
    check_reply("diff", read_uri(&p, "r/-/diff/v1/HEAD?path="),
                (const char *const[5]){"2\\t1\\ta.txt\\n1\\t0\\tnew\\n\\ndiff --git a/a.txt",
                                       "git://r/-/diff/v1/HEAD/new", "diff --git a/new b/new"});
    /* If no part was asked for, there is only the summary, which says how to ask. */
    check_reply(
        "diff", read_uri(&p, "r/-/diff/v1/HEAD"),
        (const char *const[5]){"2 files changed, 3 insertions(+), 1 deletion(-)\\nThe patch is ",
                               "longer than 60 bytes", "git://r/-/diff/v1/HEAD?path=PATH\\n",
                               "1\\t0\\tnew\\n\"", "!diff --git"});
    peer_close(&p);
}

/* A patch is text, also of a file that is not UTF-8, or that has a NUL where git does not look for
 * it. */
static void test_text_patches(void **state)
{
    (void)state;
    sh("git init -q -b main odd; cd odd; printf 'caf\\351\\nplain\\n' >latin; yes | head -c 8192 "
       ">late; "
       "git add .; git commit -q -m one; printf 'th\\351\\nplain \\303\\251\\n' >latin; "
       "printf 'a\\0b\\n' >>late; git commit -q -a -m two");
    assert_int_equal(peer_open(&p, "odd", &(mcp_git_options){0}, NULL, NULL), MCP_OK);
    check_reply("latin", read_uri(&p, "odd/-/diff/HEAD~1/HEAD/latin"),
                (const char *const[5]){"\"text\":\"", "-caf\xC3\xA9\\n-plain\\n",
                                       "+th\xC3\xA9\\n+plain \xC3\xA9\\n", "!blob"});
    check_reply("blame", read_uri(&p, "odd/-/blame/HEAD/latin"),
                (const char *const[5]){"\\\"text\\\":[\\\"th\xC3\xA9\\\",\\\"plain \xC3\xA9\\\"]"});
    check_reply("late", read_uri(&p, "odd/-/diff/HEAD~1/HEAD/late"),
                (const char *const[5]){"\"text\":\"",
                                       "+a\xE2\x90\x80"
                                       "b\\n",
                                       "!blob"});
    peer_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files),        cmocka_unit_test(test_fixed),
        cmocka_unit_test(test_kinds),        cmocka_unit_test(test_list),
        cmocka_unit_test(test_too_large),    cmocka_unit_test(test_history),
        cmocka_unit_test(test_dates),        cmocka_unit_test(test_log_pages),
        cmocka_unit_test(test_completion),   cmocka_unit_test(test_long_diff),
        cmocka_unit_test(test_text_patches),
    };
    return cmocka_run_group_tests(tests, setup, teardown_top);
}
