/* test_depends.c: the files on which the contents of a blob depend, which a request may ask for
 * (providers/common/depends.h). */
#define _GNU_SOURCE
#include "repository.h"

static peer p;

static void open_repository(const char *name)
{
    memset(&p, 0, sizeof(p));
    if (peer_open(&p, name, &(mcp_git_options){.max_read = 0}, NULL, NULL) != MCP_OK)
        fail_msg("%s", p.error.text);
}

/* Returns the names in the answer, or "" if it has none. */
static const char *names_of(const char *uri, const char *asks)
{
    static char names[2000];
    char text[1000];
    p.reply[0] = names[0] = 0;
    snprintf(text, sizeof(text),
             "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/read\",\"params\":{\"uri\":"
             "\"git://%s\",\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
             "\"io.modelcontextprotocol/clientCapabilities\":{}%s}}}",
             uri, asks);
    mcp_channel_receive(p.channel, 0, mcp_str_from(text), now());
    const char *at = strstr(p.reply, "\"libmcp/files\":[");
    if (at)
        snprintf(names, sizeof(names), "%.*s", (int)strcspn(at + 16, "]"), at + 16);
    return names;
}

#define ASKS    ",\"libmcp/files\":true"
#define OBJECTS "\"/.git/objects\",true,\"/.git/objects/pack\",true"
#define HEAD    "\"/.git/HEAD\",true"
#define MAIN    "\"/.git/refs/heads/main\",true"
#define NO(ref) "\"/.git/refs/" ref "\",false"
#define PACKED  "\"/.git/packed-refs\",true"

static void test_names(void **state)
{
    static const struct {
        const char *uri, *asks, *names;
    } rows[] = {
        {"r/HEAD/a.txt", ASKS, OBJECTS "," HEAD "," MAIN},
        {"r/HEAD/a.txt?length=2", ASKS, OBJECTS "," HEAD "," MAIN},
        {"r/HEAD/d/b.txt", ASKS, OBJECTS "," HEAD "," MAIN},
        {"r/HEAD~1/a.txt", ASKS, OBJECTS "," HEAD "," MAIN},
        {"r/main/a.txt", ASKS,
         OBJECTS "," NO("main") "," PACKED "," NO("tags/main") "," PACKED "," MAIN},
        {"r/t/a.txt", ASKS, OBJECTS "," NO("t") "," PACKED "," NO("tags/t") "," PACKED},
        {"r/HEAD/a.txt", "", ""},
        {"r/HEAD/a.txt", ",\"libmcp/files\":false", ""},
        {"r/HEAD/", ASKS, ""},         /* a folder */
        {"r/HEAD/none.txt", ASKS, ""}, /* not found */
        {"r/HEAD/a.txt?length=no", ASKS, ""},
    };
    char uri[200];
    (void)state;
    open_repository("r");
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        assert_string_equal(names_of(rows[i].uri, rows[i].asks), rows[i].names);
    snprintf(uri, sizeof(uri), "r/%s/a.txt", output_of("git -C r rev-parse HEAD"));
    assert_string_equal(names_of(uri, ASKS), OBJECTS);
    uri[2 + 10] = 0; /* another object may have the same first digits later */
    strcat(uri, "/a.txt");
    assert_string_equal(names_of(uri, ASKS), "");
    assert_non_null(strstr(p.reply, "two"));
    peer_close(&p);
}

/* A folder of its own for references or objects may be anywhere. */
static void test_layouts(void **state)
{
    static const struct {
        const char *name, *uri, *names;
    } rows[] = {
        {"bare.git", "bare/HEAD/a.txt",
         "\"/objects\",true,\"/objects/pack\",true,\"/HEAD\",true,\"/refs/heads/main\",false,"
         "\"/packed-refs\",true"},
        {"linked", "linked/HEAD/a.txt", ""},
        {"shared", "shared/HEAD/a.txt", ""},
        {"separate", "separate/HEAD/a.txt", ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        mcp_git_options o = {.within = top};
        memset(&p, 0, sizeof(p));
        if (peer_open(&p, rows[i].name, &o, NULL, NULL) != MCP_OK)
            fail_msg("%s", p.error.text);
        assert_string_equal(names_of(rows[i].uri, ASKS), rows[i].names);
        assert_non_null(strstr(p.reply, "two"));
        peer_close(&p);
    }
}

/* The names could reveal references that the caller may not see. */
static bool may(const mcp_identity *identity, mcp_item item, mcp_str name, void *user)
{
    (void)identity, (void)item, (void)name, (void)user;
    return true;
}

static void test_rules(void **state)
{
    (void)state;
    open_repository("r");
    mcp_server_set_access(p.server, MCP_OPTIONS(mcp_access, .may = may));
    assert_string_equal(names_of("r/HEAD/a.txt", ASKS), "");
    assert_non_null(strstr(p.reply, "two"));
    peer_close(&p);
}

static int setup(void **state)
{
    (void)state;
    make_top();
    sh("git init -q -b main r; cd r; echo one >a.txt; mkdir d; echo b >d/b.txt; git add .; "
       "git commit -q -m first; git tag t; echo two >a.txt; git commit -qam second; git tag u; "
       "git pack-refs --no-prune --all; git tag -d u >/dev/null; rm .git/refs/tags/t; cd ..; "
       "git clone -q --bare r bare.git; git -C bare.git pack-refs --all; "
       "git -C r worktree add -q --detach ../linked; "
       "git clone -q --shared r shared; git clone -q --separate-git-dir=apart r separate");
    return 0;
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_layouts),
        cmocka_unit_test(test_rules),
    };
    return cmocka_run_group_tests(tests, setup, teardown_top);
}
