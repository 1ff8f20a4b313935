/* Unusual repositories that are valid for git: with missing objects (shallow and partial clones),
 * in old formats, or made to cause much work. */
#define _GNU_SOURCE
#include "repository.h"
#include "support/nofiles.h"

static peer p;

static const char script[] =
    "git init -q -b main r; cd r; git config uploadpack.allowFilter true; "
    "for i in 1 2 3; do echo $i >a.txt; git add a.txt; git commit -q -m c$i; done; git tag v1 "
    "HEAD~2; cd ..; "
    "git clone -q --bare --depth 1 file://$PWD/r shallow.git; "
    "git clone -q --bare --filter=tree:0 file://$PWD/r treeless.git; "
    "git clone -q --bare --no-hardlinks r cut.git; "
    "rm -f cut.git/objects/$(git -C r rev-parse HEAD~1 | sed 's/^../&\\//')";

static int setup(void **state)
{
    (void)state;
    make_top();
    sh(script);
    return 0;
}

static void open_repository(const char *name, uint64_t timeout_ms)
{
    mcp_git_options o = {.timeout_ms = timeout_ms};
    if (peer_open(&p, name, &o, NULL, NULL) != MCP_OK)
        fail_msg("%s: %s", name, p.error.text);
}

static void reads(const char *rest, const char *const has[5])
{
    check_reply(rest, read_uri(&p, rest), has);
}
#define READS(rest, ...) reads(rest, (const char *const[5]){__VA_ARGS__})

#define DAMAGED "-32603", "damaged or missing"

/* Reads a.txt through the full id of the last commit. */
static void read_at_head(const char *name, const char *kind, const char *const has[5])
{
    char rest[160];
    snprintf(rest, sizeof(rest), "%s/-/%s/%.40s/a.txt", name, kind,
             output_of("git -C r rev-parse HEAD"));
    reads(rest, has);
}

/* A missing object is distinguished from one that never existed. */
static void test_missing(void **state)
{
    (void)state;
    open_repository("treeless.git", 0);
    READS("treeless/-/log/HEAD", "c3", "c2", "c1", "!next");
    READS("treeless/-/log/HEAD?files=1", "c3", "c1",
          "\\\"files\\\":[],\\\"filesTruncated\\\":true");
    READS("treeless/-/commit/HEAD", "c3", "\\\"files\\\":[],\\\"filesTruncated\\\":true");
    READS("treeless/HEAD/a.txt", DAMAGED);
    READS("treeless/-/log/HEAD/a.txt", DAMAGED);
    READS("treeless/-/diff/v1/HEAD", DAMAGED);
    READS("treeless/-/diff/v1/HEAD/a.txt", DAMAGED);
    READS("treeless/-/blame/HEAD/a.txt", DAMAGED);
    peer_close(&p);
    open_repository("cut.git", 0);
    READS("cut/-/log/HEAD", DAMAGED);
    READS("cut/-/blame/HEAD/a.txt", DAMAGED);
    READS("cut/-/log/v1", "c1", "!next");
    peer_close(&p);
    /* The history ends here until more of it is fetched. */
    open_repository("shallow.git", 0);
    read_at_head("shallow", "log", (const char *const[5]){"c3", "!c2", "!next", "\"ttlMs\":1000,"});
    read_at_head("shallow", "blame", (const char *const[5]){"c3", "\"ttlMs\":1000,"});
    peer_close(&p);
    open_repository("r", 0);
    read_at_head("r", "log", (const char *const[5]){"c3", "c1", "\"ttlMs\":2592000000,"});
    peer_close(&p);
}

/* Trees with file modes that git wrote in 2005; git displays the modes of today. */
static void test_old_modes(void **state)
{
    static const char *const entries[][2] = {{"100664 a.txt", "HEAD:a.txt"},
                                             {"40755 folder", "HEAD^{tree}"}};
    char path[96], command[256];
    (void)state;
    snprintf(path, sizeof(path), "%s/tree", top);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    for (size_t i = 0; i < 2; i++) {
        unsigned byte;
        snprintf(command, sizeof(command), "git -C r rev-parse '%s'", entries[i][1]);
        const char *hex = output_of(command);
        fwrite(entries[i][0], 1, strlen(entries[i][0]) + 1, f);
        for (size_t n = 0; n < 20 && sscanf(hex + 2 * n, "%2x", &byte) == 1; n++)
            fputc((int)byte, f);
    }
    assert_int_equal(fclose(f), 0);
    sh("cd r; git update-ref refs/heads/old $(git commit-tree -m old $(git hash-object -w "
       "--literally -t tree ../tree))");
    open_repository("r", 0);
    READS("r/old/", "\\\"100644\\\"", "!100664", "\\\"040000\\\"");
    READS("r/old/folder/a.txt", "\"text\":\"3\\n\"");
    READS("r/-/diff/main/old", "new file mode 100644", "!old mode");
    peer_close(&p);
}

static void test_many_parents(void **state)
{
    (void)state;
    sh("cd r; for i in $(seq 70); do echo -p $(git commit-tree -m p$i.p HEAD^{tree}); done "
       ">../parents; "
       "git update-ref refs/heads/many $(git commit-tree -m many $(cat ../parents) HEAD^{tree})");
    open_repository("r", 0);
    READS("r/-/log/many?limit=1000", "p1.p", "p64.p", "p65.p", "p70.p", "!next");
    /* a.txt is unchanged since the first parent, so the others are not followed */
    READS("r/-/log/many/a.txt?limit=1000", "p1.p", "!p70.p");
    READS("r/-/blame/many/a.txt", "p1.p");
    peer_close(&p);
}

/* Thirty levels of ten folders each and no file: 10^30 folders. */
static void test_nothing_but_folders(void **state)
{
    (void)state;
    sh("cd r; id=$(git mktree </dev/null); for i in $(seq 30); do id=$(for n in 0 1 2 3 4 5 6 7 8 "
       "9; do printf '040000 tree %s\\t%s\\n' $id $n; done | git mktree); done; "
       "git update-ref refs/heads/busy $(git commit-tree -m busy $id); "
       "git update-ref refs/heads/none $(git commit-tree -m none $(git mktree </dev/null))");
    open_repository("r", 100);
    READS("r/-/diff/none/busy", "-32603", "took too long");
    peer_close(&p);
}

/* A tree of the maximum depth of a path is listed. */
static void test_deep(void **state)
{
    char rest[2048] = "r/HEAD/";
    (void)state;
    sh("git init -q -b main deep; cd deep; id=$(echo x | git hash-object -w --stdin); "
       "id=$(printf '100644 blob %s\\tf\\n' $id | git mktree); "
       "for i in $(seq 300); do id=$(printf '040000 tree %s\\td\\n' $id | git mktree); done; "
       "git update-ref refs/heads/main $(git commit-tree -m deep $id)");
    p.page_size = 1000;
    open_repository("deep", 0);
    const char *reply = ask(&p, "resources/list", "");
    size_t n = 0;
    for (const char *at = reply; (at = strstr(at, "\"uri\":\"git://")); n++) {
        at += 13;
        snprintf(rest, sizeof(rest), "%.*s", (int)strcspn(at, "\""), at);
    }
    assert_int_equal(n, 5 + 256);
    READS(rest, "\\\"folder\\\"");
    READS("deep/-/log/main/d", "deep");
    peer_close(&p);
    p.page_size = 0;
}

/* Text by the author of a commit, of any length and encoding. */
static void test_long_texts(void **state)
{
    (void)state;
    sh("cd r; { for i in $(seq 3000); do printf 'wort\\344rter '; done; echo; echo; "
       "for i in $(seq 3000); do printf 'wort\\344rter '; done; echo last.; } >../message; "
       "git update-ref refs/heads/long $(git -c i18n.commitEncoding=ISO-8859-1 commit-tree -F "
       "../message HEAD^{tree})");
    open_repository("r", 0);
    READS("r/-/commit/long", "wort\xC3\xA4rter", "last.");
    check_reply("log", read_uri(&p, "r/-/log/long"), (const char *const[5]){"wort\xC3\xA4rter"});
    assert_true(p.len < 3000);
    peer_close(&p);
}

/* A comparison cannot be interrupted, so one that may take minutes is not started. */
static void test_many_lines(void **state)
{
    (void)state;
    sh("git init -q -b main lines; cd lines; seq 250000 >f; git add f; git commit -q -m one; git "
       "tag one; "
       "sed -i 1s/1/x/ f; git commit -q -a -m two; git tag two");
    open_repository("lines", 0);
    READS("lines/-/blame/two/f?line=2&lines=1", "\\\"two\\\"", "!one");
    READS("lines/-/diff/one/two", "# The difference is too long", "!@@");
    peer_close(&p);
}

/* Reads with growing time limits until one is enough for a first result. A slow machine may need
 * more than the shortest one to find the commit. */
static void reads_in_time(const char *rest, const char *const has[5])
{
    bool late = true;
    for (uint64_t ms = 1; late; ms *= 2) {
        assert_true(ms < 100000);
        open_repository("long", ms);
        const char *reply = read_uri(&p, rest);
        late = strstr(reply, "It took too long") != NULL;
        if (!late)
            check_reply(rest, reply, has);
        peer_close(&p);
    }
}

/* When the time limit is reached, the results so far are returned. */
static void test_no_time(void **state)
{
    (void)state;
    sh("git init -q -b main long; cd long; seq 2000 | awk 'BEGIN { print \"blob\\nmark :1\\ndata "
       "2\\nx\" } { print \"commit refs/heads/main\\ncommitter A <a@example.org> \" 1700000000 + "
       "$1 \" +0000\\ndata 0\\nM 100644 :1 f\\nM 100644 inline g\\ndata 5\"; printf \"%04d\\n\", "
       "$1 }' | git fast-import --quiet");
    reads_in_time("long/-/blame/HEAD/f", (const char *const[5]){"\\\"orOlder\\\":true"});
    reads_in_time("long/-/log/HEAD/f",
                  (const char *const[5]){"\\\"commits\\\":[]", "\\\"next\\\"", "&offset="});
    open_repository("long", 0);
    READS("long/-/blame/HEAD/f", "!orOlder");
    READS("long/-/log/HEAD/f", "\\\"subject\\\"", "!next");
    peer_close(&p);
}

/* Only two settings of the configuration make a repository unsupported; the same words elsewhere in
 * the file do not matter. */
static void test_words_in_the_configuration(void **state)
{
    (void)state;
    sh("git clone -q --bare r words.git; printf '[extensions]\\n\\tobjectformat = sha1\\n[branch "
       "\"sha256\"]\\n"
       "\\tremote = reftable\\n\\trefstorage-of = x\\n' >>words.git/config");
    open_repository("words.git", 0);
    READS("words/HEAD/a.txt", "\"text\":\"3\\n\"");
    peer_close(&p);
    sh("git init -q --bare --object-format=sha256 other.git");
    assert_int_equal(peer_open(&p, "other.git", &(mcp_git_options){0}, NULL, NULL),
                     MCP_EUNSUPPORTED);
    peer_close(&p);
}

/* A file that cannot be opened for lack of descriptors does not count as missing, at any step. */
/* ISO 8601 has no year with five digits. */
static void test_far_future(void **state)
{
    (void)state;
    sh("git init -q -b main far; cd far; GIT_AUTHOR_DATE='@253402300799 +0000' git commit -q "
       "--allow-empty -m last; GIT_AUTHOR_DATE='@253402300799 +0100' git commit -q --allow-empty "
       "-m "
       "beyond");
    if (peer_open(&p, "far", &(mcp_git_options){0}, NULL, NULL) != MCP_OK)
        fail_msg("%s", p.error.text);
    READS("far/-/commit/HEAD~1", "\\\"time\\\":\\\"9999-12-31T23:59:59Z\\\"");
    READS("far/-/commit/HEAD", "\\\"time\\\":null");
    peer_close(&p);
}

/* Parts of .git that are links are followed within the allowed folder, as by contrib/git-new-workdir
 * and old versions of git; others are refused at the start, by their name. */
static void test_links(void **state)
{
    static const struct {
        const char *script, *has; /* of the log */
        const char *refused;      /* the name in the error without `within` */
    } cases[] = {
        {"mv w/.git/packed-refs kept; ln -s ../../kept w/.git/packed-refs", "linked",
         "packed-refs"},
        {"mv w/.git/refs kept; ln -s ../../kept w/.git/refs", "linked", "refs"},
        {"mv w/.git/HEAD kept; ln -s ../../kept w/.git/HEAD", "linked", "HEAD"},
        {"mv w/.git/objects kept; ln -s ../../kept w/.git/objects", "linked", "objects"},
        {"mv w/.git/index kept; ln -s ../../kept w/.git/index", "linked", NULL},
        {"rm w/.git/HEAD; ln -s refs/heads/main w/.git/HEAD", "linked", NULL},
        {"ln -s refs/heads/main w/.git/refs/heads/other; echo ref: refs/heads/other >w/.git/HEAD",
         "linked", NULL},
        {"rm w/.git/HEAD; ln -s refs/../../../x w/.git/HEAD; cp -r w x", NULL, NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char text[600], within[100];
        snprintf(
            text, sizeof(text),
            "rm -rf l; mkdir l; cd l; git init -q -b main w; cd w; git commit -q --allow-empty "
            "-m linked; git pack-refs --all; cd ..; %s",
            cases[i].script);
        sh(text);
        if (cases[i].refused) {
            assert_int_equal(peer_open(&p, "l/w", &(mcp_git_options){0}, NULL, NULL), MCP_EACCESS);
            if (!strstr(p.error.text, cases[i].refused) || !strstr(p.error.text, "within="))
                fail_msg("%s: %s", cases[i].script, p.error.text);
            peer_close(&p);
        }
        snprintf(within, sizeof(within), "%s/l", top);
        int rc = peer_open(&p, "l/w", &(mcp_git_options){.within = within}, NULL, NULL);
        const char *reply = rc == MCP_OK ? read_uri(&p, "w/-/log/HEAD") : "";
        if ((strstr(reply, "linked") != NULL) != (cases[i].has != NULL))
            fail_msg("%s: %s%s", cases[i].script, p.error.text, reply);
        peer_close(&p);
    }
    sh("rm -rf l");
}

static void test_no_descriptors(void **state)
{
    static const struct {
        const char *method, *params;
    } rows[] = {
        {READ, "\"uri\":\"git://files/HEAD/a.txt\""},
        {READ, "\"uri\":\"git://files/packed/a.txt\""},
        {READ, "\"uri\":\"git://files/loose/a.txt\""},
        {READ, "\"uri\":\"git://files/-/branches\""},
        {READ, "\"uri\":\"git://files/-/log/HEAD\""},
        {READ, "\"uri\":\"git://files/-/status\""},
        {LIST, ""},
    };
    char id[128];
    (void)state;
    sh("git clone -q r files; cd files; git branch packed; git pack-refs --all; git gc -q; "
       "echo 9 >a.txt; git commit -q -a -m c9; git branch loose");
    p.page_size = 50; /* more than the number of entries in each list */
    snprintf(id, sizeof(id), "\"uri\":\"git://files/%.10s/a.txt\"",
             output_of("git -C files rev-parse HEAD"));
    for (size_t i = 0; i <= sizeof(rows) / sizeof(*rows); i++) {
        const char *method = i ? rows[i - 1].method : READ, *params = i ? rows[i - 1].params : id;
        int left = 0;
        for (; left < 12; left++) {
            open_repository("files", 0);
            nofiles_begin(left);
            ask(&p, method, params);
            nofiles_end();
            if (strstr(p.reply, "\"result\""))
                break;
            if (!strstr(p.reply, NOFILES))
                fail_msg("%s with %d: %.1000s", params, left, p.reply);
            peer_close(&p);
        }
        if (!left || left == 12)
            fail_msg("%s with %d: %.1000s", params, left, p.reply);
        char *enough = strdup(p.reply);
        assert_non_null(enough);
        ask(&p, method, params);
        assert_string_equal(p.reply, enough); /* the same reply as without a limit on descriptors */
        free(enough);
        peer_close(&p);
    }
    p.page_size = 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_missing),
        cmocka_unit_test(test_old_modes),
        cmocka_unit_test(test_many_parents),
        cmocka_unit_test(test_nothing_but_folders),
        cmocka_unit_test(test_deep),
        cmocka_unit_test(test_long_texts),
        cmocka_unit_test(test_many_lines),
        cmocka_unit_test(test_no_time),
        cmocka_unit_test(test_words_in_the_configuration),
        cmocka_unit_test(test_no_descriptors),
        cmocka_unit_test(test_links),
        cmocka_unit_test(test_far_future),
    };
    return cmocka_run_group_tests(tests, setup, teardown_top);
}
