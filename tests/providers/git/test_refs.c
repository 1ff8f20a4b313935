/* packed-refs with very many references, in any order, and with invalid lines: slow reads do not
 * run on the server's thread and have a time limit elsewhere, and subscribers are still notified of
 * changes.
 */
#define _GNU_SOURCE
#include "repository.h"

enum { PATIENCE_MS = 600000 }; /* what is waited for, and takes longer, hangs */

static peer p;

/* Creates a repository whose packed-refs file is the output of the shell commands `lines`. $ID is
 * the id of its only commit. The branch "far" exists only in that file. */
static void make(const char *lines)
{
    char script[2000];
    snprintf(script, sizeof(script),
             "rm -rf r; git init -q -b main r; cd r; echo one >a.txt; git add .; git commit -q -m "
             "first; ID=$(git rev-parse HEAD); { %s; } >.git/packed-refs",
             lines);
    sh(script);
}

static void begin(uint64_t timeout_ms)
{
    memset(&p, 0, sizeof(p));
    assert_int_equal(mcp_loop_new(NULL, &p.loop, NULL), MCP_OK);
    if (peer_open(&p, "r", &(mcp_git_options){.timeout_ms = timeout_ms}, mcp_loop_host(p.loop),
                  NULL) != MCP_OK)
        fail_msg("%s", p.error.text);
}

#define TAGS(order) "seq -f \"$ID refs/tags/t%07.0f\" " order
#define FAR         "echo $ID refs/heads/far"

static const struct {
    const char *lines;
    bool here; /* whether the server's thread answers */
} files[] = {
    {FAR "; " TAGS("100"), true},
    {TAGS("200000 -1 1") "; " FAR, false},
    {"echo '# pack-refs with: peeled fully-peeled sorted '; " FAR "; " TAGS("200000"), true},
    {"echo '# pack-refs with: peeled fully-peeled sorted '; yes '# nothing' | head -n 200000; " FAR,
     false},
    {"echo '# pack-refs with: peeled fully-peeled sorted '; yes '' | head -c 2000000; " FAR, false},
};

static void test_where(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
        make(files[i].lines);
        begin(PATIENCE_MS);
        size_t before = p.replies;
        p.reply[0] = 0;
        read_uri(&p, "r/far/a.txt");
        if ((p.replies > before) != files[i].here)
            fail_msg("%s: %s", files[i].lines, p.reply);
        assert_true(run_until(&p, &p.replies, before + 1, PATIENCE_MS));
        check_reply(files[i].lines, p.reply, (const char *const[5]){"one"});
        peer_close(&p);
    }
}

/* The read ends at the time limit of the request. */
static void test_how_long(void **state)
{
    (void)state;
    make(TAGS("400000 -1 1") "; " FAR);
    begin(1);
    size_t before = p.replies;
    read_uri(&p, "r/none/a.txt");
    assert_true(run_until(&p, &p.replies, before + 1, PATIENCE_MS));
    check_reply("none", p.reply, (const char *const[5]){"It took too long"});
    peer_close(&p);
}

static void listen(const char *uri)
{
    char params[200];
    size_t never = 0;
    snprintf(params, sizeof(params), "\"notifications\":{\"resourceSubscriptions\":[\"%s\"]}", uri);
    peer_send(&p, 7, "subscriptions/listen", params);
    run_until(&p, &never, 1, 100);
    p.updates = 0;
}

/* Reading either resource is too slow for the server's thread. */
static void test_watched(void **state)
{
    static const char *const uris[] = {"git://r/-/tags", "git://r/far/a.txt"};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        make(TAGS("200000 -1 1") "; " FAR);
        begin(PATIENCE_MS);
        listen(uris[i]);
        sh("cd r; echo two >a.txt; git commit -q -a -m second; ID=$(git rev-parse HEAD); grep -v "
           "far .git/packed-refs >new; echo $ID refs/tags/z >>new; echo $ID refs/heads/far >>new; "
           "mv new .git/packed-refs");
        if (!run_until(&p, &p.updates, 1, PATIENCE_MS))
            fail_msg("%s: no update", uris[i]);
        peer_close(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_where),
        cmocka_unit_test(test_how_long),
        cmocka_unit_test(test_watched),
    };
    return cmocka_run_group_tests(tests, setup_top, teardown_top);
}
