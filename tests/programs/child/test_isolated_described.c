/* test_isolated_described.c: a source in a separate process that is mounted from its
 * description. */
#define _GNU_SOURCE
#include "isolated_fixture.h"

/* Lists that do not depend on the contents of the source need no process. */
static void test_described_lists(void **state)
{
    fixture f;
    (void)state;
    open_fixture(&f, false, 0);
    has(ask(&f, 1, "resources/templates/list", ""), "mortal://m/t/{what}");
    has(ask(&f, 2, "prompts/list", ""), "\"die\"");
    has(ask(&f, 3, "tools/list", ""), "\"readOnlyHint\":true");
    look(&f);
    assert_int_equal(f.starts, 0);
    close_fixture(&f);
}

static void test_described_greedy(void **state)
{
    fixture f;
    (void)state;
    assert_int_equal(open_source(&f, "greedy", false, 0, NULL), MCP_OK);
    connect_as(&f, NULL);
    has(ask(&f, 1, "tools/call", "\"name\":\"extra\""), "\"error\"");
    has(ask(&f, 2, "tools/call", "\"name\":\"mortal\",\"arguments\":{}"), "called");
    has(ask(&f, 3, "tools/call", "\"name\":\"extra\""), "\"error\"");
    assert_null(strstr(ask(&f, 4, "tools/list", ""), "extra"));
    close_fixture(&f);
}

static void test_described_wrongly(void **state)
{
    fixture f;
    (void)state;
    assert_int_equal(open_source(&f, "other", false, 0, NULL), MCP_OK);
    connect_as(&f, NULL);
    has(ask_uri(&f, 1, "mortal://m/a"), "mounts something else than its module describes");
    has(ask_uri(&f, 2, "mortal://other/a"), "Resource not found");
    has(logged, "mounts something else than its module describes");
    close_fixture(&f);
}

/* If a source cannot be mounted, every request fails with the reason, which is logged once. */
static void test_described_refused(void **state)
{
    fixture f;
    (void)state;
    assert_int_equal(open_source(&f, "refuse", false, 0, NULL), MCP_OK);
    connect_as(&f, NULL);
    for (int i = 0; i < 5; i++)
        has(ask_uri(&f, i, "mortal://m/a"), "mortal: it does not want to");
    has(ask(&f, 6, "resources/list", ""),
        "\"resources\":[{\"uri\":\"mortal://m/\",\"name\":\"m\",\"description\":");
    has(ask(&f, 7, "tools/call", "\"name\":\"mortal\",\"arguments\":{}"), "it does not want to");
    has(logged, "error: mortal:m: mortal: it does not want to\n");
    const char *once = strstr(logged, "it does not want to");
    assert_null(strstr(once + 1, "error: "));
    look(&f);
    assert_true(f.failed);
    close_fixture(&f);
}

static void write_file(const char *path, const char *text)
{
    FILE *to = fopen(path, "we");
    assert_non_null(to);
    fputs(text, to);
    fclose(to);
}

/* After a source is repaired, it is used at once, no matter how often it failed before. */
static void test_described_repaired(void **state)
{
    char path[] = "/tmp/test_isolated_XXXXXX";
    int fd = mkstemp(path);
    fixture f;
    (void)state;
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(open_source(&f, path, false, 0, NULL), MCP_OK);
    connect_as(&f, NULL);
    usleep(50000); /* a file counts as unknown just after it was written */
    int id = 0;
    while (!strstr(ask_uri(&f, id++, "mortal://m/a"), "it is started again in")) {
        has(f.text[id - 1], "it does not want to");
        assert_true(id < IDS);
    }
    has(f.text[id - 1], "it does not want to");
    write_file(path, "good");
    has(ask_uri(&f, id, "mortal://m/a"), "alive");
    look(&f);
    assert_false(f.failed);
    close_fixture(&f);
    unlink(path);
}

/* With rules, only what the module can spell is watched, by its canonical spelling. */
static void test_described_spelling(void **state)
{
    fixture f;
    (void)state;
    for (int rules = 0; rules < 2; rules++) {
        for (int with = 0; with < 2; with++) {
            spells = with;
            open_fixture(&f, rules, 0);
            say(&f, 1, "subscriptions/listen",
                "\"notifications\":{\"resourceSubscriptions\":[\"mortal://m/A\","
                "\"mortal://m/SECRET\"]}");
            hear(&f, "acknowledged");
            has(f.notices, !rules ? "[\"mortal://m/A\",\"mortal://m/SECRET\"]"
                           : with ? "[\"mortal://m/A\"]"
                                  : "\"resourceSubscriptions\":[]");
            if (with)
                hear(&f, "\"uri\":\"mortal://m/A\""); /* as soon as the process watches it */
            close_fixture(&f);
        }
    }
    spells = false;
}

static int describe_other(const mcp_description *to, void *user, mcp_error *error)
{
    (void)user;
    return to->source(MCP_OPTIONS(mcp_source, .prefix = "mortal://other/", .lists = true), error,
                      to->user);
}

/* A request that was cancelled before its process started leaves no room for another process. */
static void test_described_limit(void **state)
{
    static const char *const argv[] = {MCPD, "--source-child", NULL};
    fixture f;
    (void)state;
    open_fixture(&f, false, 0);
    f.group.max = 1;
    assert_int_equal(
        mcp_isolated_mount(f.server,
                           MCP_OPTIONS(mcp_isolated_options, .name = "mortal:other", .argv = argv,
                                       .line = "{\"module\":\"mortal\",\"file\":\"" MORTAL
                                               "\",\"source\":\"other\",\"report\":true}",
                                       .describe = describe_other, .group = &f.group),
                           NULL),
        MCP_OK);
    say(&f, 1, "resources/read", "\"uri\":\"mortal://m/a\"");
    cancel(&f, 1);
    say(&f, 2, "resources/read", "\"uri\":\"mortal://other/slow\"");
    has(ask_uri(&f, 3, "mortal://m/a"), "all processes of sources are busy");
    has(answer(&f, 2), "slow");
    assert_int_equal(f.answers[1], 0);
    close_fixture(&f);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_described_lists),   cmocka_unit_test(test_described_spelling),
        cmocka_unit_test(test_described_greedy),  cmocka_unit_test(test_described_wrongly),
        cmocka_unit_test(test_described_refused), cmocka_unit_test(test_described_repaired),
        cmocka_unit_test(test_described_limit),
    };
    described = true;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
