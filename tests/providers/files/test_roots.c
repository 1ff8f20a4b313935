/* Folders that are removed, moved or replaced while they are served: what is said meanwhile, what may be
 * opened in their place, and that it is announced. The time is simulated (fakehost.h). */
#define _GNU_SOURCE
#include "tree.h"

#include <mcp/sys/server.h>

#include "failalloc.h"
#include "fakehost.h"
#include "files.h"
#include "root.h"
#include "support/wait.h"

static tree at;
static mcp_server *server;
static mcp_channel *channel;
static fakehost host;
static char reply[32 << 10], notices[8 << 10], log_text[4 << 10];

static void keep(mcp_channel *c, mcp_exchange exchange, mcp_str message, void *user)
{
    bool notice = memmem(message.ptr, message.len, "\"method\":\"notifications/", 24);
    char *to = notice ? notices + strlen(notices) : reply;
    size_t room = notice ? sizeof(notices) - strlen(notices) : sizeof(reply);
    (void)c, (void)exchange, (void)user;
    snprintf(to, room, "%.*s\n", (int)message.len, message.ptr);
}

static void on_log(const char *level, const char *line, void *user)
{
    size_t len = strlen(log_text);
    (void)user;
    snprintf(log_text + len, sizeof(log_text) - len, "%s: %s\n", level, line);
}

static const char *take(char *text)
{
    static char taken[8 << 10];
    snprintf(taken, sizeof(taken), "%s", text);
    *text = '\0';
    return taken;
}

/* Sends a modern request; "$T" in params is the folder. */
static const char *ask(const char *method, const char *params)
{
    static unsigned last_id;
    char message[4096], *to = message;
    to += sprintf(to,
                  "{\"jsonrpc\":\"2.0\",\"id\":%u,\"method\":\"%s\",\"params\":{\"_meta\":{"
                  "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
                  "\"io.modelcontextprotocol/clientCapabilities\":{}}%s",
                  ++last_id, method, *params ? "," : "");
    for (; *params; params++) {
        if (strncmp(params, "$T", 2) == 0)
            to += sprintf(to, "%s", at.path), params++;
        else
            *to++ = *params;
    }
    to += sprintf(to, "}}");
    reply[0] = '\0';
    mcp_channel_receive(channel, 0, (mcp_str){message, (size_t)(to - message)}, 0);
    return reply;
}

static void run(int64_t ms)
{
    for (int64_t end = fakehost_time + ms; fakehost_time < end;) {
        fakehost_run(&host, 1);
        mcp_channel_tick(channel, fakehost_time);
    }
}

static const char *path_of(const char *pattern)
{
    static char path[4][300];
    static unsigned turn;
    char *to = path[turn++ % 4];
    const char *mark = strstr(pattern, "$T");
    if (!mark)
        return pattern;
    snprintf(to, sizeof(path[0]), "%.*s%s%s", (int)(mark - pattern), pattern, at.path, mark + 2);
    return to;
}

static void has(const char *text, const char *part)
{
    if (!strstr(text, path_of(part)))
        fail_msg("\"%s\" is not in: %s", path_of(part), text);
}

static void has_not(const char *text, const char *part)
{
    if (strstr(text, path_of(part)))
        fail_msg("\"%s\" is in: %s", path_of(part), text);
}

static int setup(void **state)
{
    char good[100], ill[100];
    const char *sources[] = {ill, good};
    (void)state;
    tree_make(&at);
    tree_dirs(&at, "good", 4);
    tree_dirs(&at, "ill/d", 5);
    tree_file(&at, "good/a.txt", "good");
    tree_file(&at, "ill/b.txt", "first");
    snprintf(good, sizeof(good), "%s/good", at.path);
    snprintf(ill, sizeof(ill), "%s/ill", at.path);
    *reply = *notices = *log_text = '\0';
    fakehost_init(&host);
    host.host.log = on_log;
    mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "t", .version = "1", .coalesce_ms = 1,
                               .host = &host.host),
                   &server, NULL);
    assert_int_equal(
        mcp_files_mount(server, MCP_OPTIONS(mcp_files_options, .sources = sources, .n_sources = 2),
                        NULL),
        MCP_OK);
    return mcp_server_connect(server,
                              MCP_OPTIONS(mcp_channel_options, .send = keep, .shared_stream = true),
                              &channel, NULL);
}

static int teardown(void **state)
{
    (void)state;
    mcp_channel_free(channel);
    mcp_server_free(server);
    assert_null(host.timers);
    tree_remove(&at);
    return 0;
}

#define LIST   "resources/list", ""
#define READ   "resources/read", "\"uri\":\"file://$T/ill/b.txt\""
#define ROOT   "resources/read", "\"uri\":\"file://$T/ill\""
#define OTHERS "\"uri\":\"file://$T/good/a.txt\""
#define ENTRY                                                                                     \
    "{\"uri\":\"file://$T/ill\",\"name\":\"ill\",\"description\":\"This source cannot be listed " \
    "now. Reading this resource says why.\"}"

static void sh(const char *script)
{
    char command[600];
    snprintf(command, sizeof(command), "cd '%s' && %s", at.path, script);
    assert_int_equal(system(command), 0);
}

static void is_gone(const char *why)
{
    const char *list = ask(LIST);
    has(list, OTHERS);
    has(list, ENTRY);
    has(list, "\"libmcp/left-out\":[\"file://$T/ill\"]");
    has(list, "\"ttlMs\":0");
    has_not(list, "b.txt");
    has(ask(READ), "Resource not found");
    has(ask(ROOT), "\"code\":-32603");
    has(reply, "cannot be read now: ");
    has(reply, why);
    const char *said = take(log_text);
    has(said, "warning: file://$T/ill: lists of resources are without it: ");
    has(said, why);
    ask(LIST);
    ask(ROOT);
    assert_string_equal(log_text, ""); /* said once */
}

static void is_there(const char *content)
{
    const char *list = ask(LIST);
    has(list, OTHERS);
    has(list, "/ill/b.txt\"");
    has_not(list, "cannot be listed");
    has_not(list, "left-out");
    has_not(list, "\"ttlMs\":0");
    has(ask(READ), content);
}

static void comes_back(void)
{
    has(ask(READ), "second");
    is_there("second");
    has(take(log_text), "info: file://$T/ill: lists of resources have it again");
}

#define ABSENT "there is no folder at its path"
#define OTHER  "what is at its path may not be read, or a link leads to it"
#define AGAIN  "mkdir ill; echo second >ill/b.txt"

/* What happens to the folder, what is said then, and what brings it back. */
static const struct {
    const char *script, *why, *mend;
} cases[] = {
    {"rm -r ill", ABSENT, AGAIN},
    {"mv ill kept", ABSENT, "echo second >kept/b.txt; mv kept ill"},
    {"rm -r ill; echo x >ill", ABSENT, "rm ill;" AGAIN},
    {"rm -r ill; mkfifo ill", ABSENT, "rm ill;" AGAIN},
    {"rm -r ill; ln -s good ill", OTHER, "rm ill;" AGAIN},
    {"rm -r ill; ln -s /etc ill", OTHER, "rm ill;" AGAIN},
    {"rm -r ill; ln -s ill ill", OTHER, "rm ill;" AGAIN},
    {"mv ill kept; ln -s / ill; mkdir good/c", OTHER, "rm ill; " AGAIN},
};

static void test_cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        if (i)
            assert_int_equal(setup(NULL), MCP_OK);
        sh(cases[i].script);
        is_gone(cases[i].why);
        sh(cases[i].mend);
        comes_back();
        if (i + 1 < sizeof(cases) / sizeof(*cases))
            teardown(NULL);
    }
}

/* Another folder at the path is served, and nothing of the one that was there before. */
static void test_another(void **state)
{
    (void)state;
    is_there("first");
    sh("mv ill kept; mkdir ill; echo second >ill/b.txt; echo '*.txt' >kept/.gitignore");
    is_there("second");
    has(take(log_text), "info: file://$T/ill: another folder is at its path now");
    sh("mv ill kept2; mkdir ill; echo third >ill/b.txt; touch ill/c.txt; echo b.txt "
       ">ill/.gitignore");
    has(ask("resources/read", "\"uri\":\"file://$T/ill/c.txt\""), "\"text\":\"\"");
    has(ask(READ), "Resource not found"); /* the rules are those of the new folder */
    sh("mv ill kept3; mkdir ill; echo fourth >ill/c.txt");
    for (int64_t end = wait_end(); wait_more(end) && !strstr(reply, "fourth");)
        ask("resources/read", "\"uri\":\"file://$T/ill/c.txt\""); /* only some look at the path */
    has(reply, "fourth");
}

/* What was cached belongs to the folder that was there before. A file is cached when it was not changed
 * for a moment; a slow machine may have forgotten it, which fails nothing. */
static void test_cached(void **state)
{
    (void)state;
    nanosleep(&(struct timespec){.tv_nsec = 60 * 1000000}, NULL);
    has(ask(READ), "first");
    sh("mv ill kept; mkdir ill; echo second >ill/b.txt");
    ask(LIST);
    has(ask(READ), "second");
}

static int chmod_as(uid_t owner, const char *rel, mode_t mode)
{
    uid_t before = geteuid();
    int rc = seteuid(owner) | chmod(tree_at(&at, rel), mode);
    return rc | seteuid(before);
}

/* A folder whose rights do not suffice is not served, as at the start. */
static void test_no_rights(void **state)
{
    (void)state;
    uid_t before = geteuid();
    sh("chmod 755 .; mv ill kept; mkdir ill; echo second >ill/b.txt; chmod 311 ill");
    if (before == 0)
        assert_int_equal(seteuid(65534), 0); /* root may read everything */
    is_gone(OTHER);
    assert_int_equal(chmod_as(before, "ill", 0755), 0);
    comes_back();
    assert_int_equal(seteuid(before), 0);
    sh("mv ill kept2; mkdir ill; echo second >ill/b.txt; chmod 744 ill");
    if (before == 0)
        assert_int_equal(seteuid(65534), 0);
    else
        assert_int_equal(chmod_as(before, "ill", 0644), 0);
    is_gone(OTHER);
    assert_int_equal(chmod_as(before, "ill", 0755), 0);
    comes_back();
    assert_int_equal(seteuid(before), 0);
}

/* Each page says what it is without, and no page more than once. */
static void test_pages(void **state)
{
    char cursor[300], params[400];
    size_t entries = 0, pages = 0;
    (void)state;
    sh("rm -r ill");
    mcp_channel_free(channel);
    assert_int_equal(mcp_server_connect(server,
                                        MCP_OPTIONS(mcp_channel_options, .send = keep,
                                                    .page_size = 1, .shared_stream = true),
                                        &channel, NULL),
                     MCP_OK);
    *params = '\0';
    for (;; pages++) {
        const char *list = ask("resources/list", params);
        entries += strstr(list, "cannot be listed") != NULL;
        const char *next = strstr(list, "\"nextCursor\":");
        if (!next || pages == 9)
            break;
        snprintf(cursor, sizeof(cursor), "%.*s", (int)strcspn(next + 13, ",}"), next + 13);
        snprintf(params, sizeof(params), "\"cursor\":%s", cursor);
    }
    assert_int_equal(entries, 1);
    assert_int_equal(pages, 2); /* one more than the folder and its file */
    has(reply, OTHERS);
}

/* A list that was begun before the folder was removed says so, too. */
static void test_between_pages(void **state)
{
    char params[400];
    (void)state;
    mcp_channel_free(channel);
    assert_int_equal(mcp_server_connect(server,
                                        MCP_OPTIONS(mcp_channel_options, .send = keep,
                                                    .page_size = 2, .shared_stream = true),
                                        &channel, NULL),
                     MCP_OK);
    const char *next = strstr(ask(LIST), "\"nextCursor\":");
    has(reply, "/ill/b.txt");
    assert_non_null(next);
    snprintf(params, sizeof(params), "\"cursor\":%.*s", (int)strcspn(next + 13, ",}"), next + 13);
    sh("rm -r ill");
    has(ask("resources/list", params), ENTRY);
    has(reply, "\"libmcp/left-out\":[\"file://$T/ill\"]");
}

/* ---- what is announced ----------------------------------------------------------------------- */

#define LISTEN(lists)                                                            \
    "subscriptions/listen", "\"notifications\":{\"resourcesListChanged\":" lists \
                            ",\"resourceSubscriptions\":[\"file://$T/ill/b.txt\"]}"
#define CHANGED "notifications/resources/list_changed"
#define UPDATED "notifications/resources/updated"

static void is_announced(bool lists)
{
    const char *said = take(notices);
    has(said, UPDATED);
    (lists ? has : has_not)(said, CHANGED);
}

static void test_announced(void **state)
{
    static const char *const ways[][2] = {
        {"rm -r ill", AGAIN},
        {"mv ill kept", "mv kept ill"},
        {"mv ill kept", "mkdir ill; mv kept/b.txt ill"},
        {"rm -r ill; ln -s good ill", "rm ill; " AGAIN},
    };
    (void)state;
    for (size_t i = 0; i < 2 * sizeof(ways) / sizeof(*ways); i++) {
        bool lists = i % 2, deaf = i == 2 || i == 3; /* without inotify, in two of them */
        if (i)
            assert_int_equal(setup(NULL), MCP_OK);
        host.deaf = deaf;
        if (lists)
            ask(LISTEN("true"));
        else
            ask(LISTEN("false"));
        run(2500);
        take(notices);
        take(log_text);
        sh(ways[i / 2][0]);
        run(deaf ? 2500 : 5);
        is_announced(lists);
        has(take(log_text), "lists of resources are without it");
        run(10000);
        assert_string_equal(notices, "");
        sh(ways[i / 2][1]);
        run(deaf ? 2500 : 5);
        is_announced(lists);
        has(take(log_text), "lists of resources have it again");
        sh("echo changed >ill/b.txt; touch ill/new"); /* it is watched again */
        run(deaf ? 2500 : 5);
        is_announced(lists);
        has(ask(READ), "changed");
        if (i + 1 < 2 * sizeof(ways) / sizeof(*ways))
            teardown(NULL);
    }
}

/* When also the folder above it is gone, the path is polled. */
static void test_folder_above(void **state)
{
    char path[100];
    const char *sources[] = {path};
    (void)state;
    teardown(NULL);
    tree_make(&at);
    tree_dirs(&at, "x/y/ill", 7);
    tree_file(&at, "x/y/ill/b.txt", "first");
    snprintf(path, sizeof(path), "%s/x/y/ill", at.path);
    fakehost_init(&host);
    mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "t", .version = "1", .coalesce_ms = 1,
                               .host = &host.host),
                   &server, NULL);
    mcp_files_mount(server, MCP_OPTIONS(mcp_files_options, .sources = sources, .n_sources = 1),
                    NULL);
    mcp_server_connect(server,
                       MCP_OPTIONS(mcp_channel_options, .send = keep, .shared_stream = true),
                       &channel, NULL);
    ask("subscriptions/listen", "\"notifications\":{\"resourcesListChanged\":true}");
    run(100);
    take(notices);
    sh("rm -r x");
    run(5);
    has(take(notices), CHANGED);
    sh("mkdir -p x/y/ill; echo second >x/y/ill/b.txt");
    run(2500);
    has(take(notices), CHANGED);
    has(ask("resources/read", "\"uri\":\"file://$T/x/y/ill/b.txt\""), "second");
    sh("touch x/y/ill/new"); /* it is watched again */
    run(5);
    has(take(notices), CHANGED);
    sh("mv x away");
    has(ask(LIST), "cannot be listed"); /* no event says so */
    run(5);
    has(take(notices), CHANGED);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static void test_no_memory(void **state)
{
    failalloc memory = {0};
    mcp_allocator alloc = failalloc_allocator(&memory);
    const char *source = tree_at(&at, "ill");
    files_ignore_options options = {.fresh_ns = -1};
    files_roots roots;
    struct stat st;
    (void)state;
    sh("mkdir .git; echo '*.o' >.gitignore; touch ill/a.o");
    assert_int_equal(files_roots_open(&source, 1, &options, &alloc, &roots, NULL), MCP_OK);
    files_root *root = &roots.items[0];
    assert_int_equal(files_root_stat(root, "a.o", &st), MCP_ENOTFOUND);
    sh("mv ill kept; mkdir ill; touch ill/a.o ill/a.c; echo '*.c' >.gitignore");
    size_t failed = 0;
    for (size_t n = 1;; n++) {
        memory.calls = 0, memory.fail_at = n;
        if (files_root_renew(root))
            break;
        failed++;
        memory.fail_at = 0;
        assert_int_equal(root->gone, MCP_OK);
        assert_int_equal(files_root_stat(root, "b.txt", &st), MCP_OK); /* the one before */
    }
    memory.fail_at = 0;
    assert_true(failed > 0);
    assert_int_equal(files_root_stat(root, "b.txt", &st), MCP_ENOTFOUND);
    assert_int_equal(files_root_stat(root, "a.o", &st),
                     MCP_OK); /* the rules above were read again */
    assert_int_equal(files_root_stat(root, "a.c", &st), MCP_ENOTFOUND);
    assert_false(files_root_renew(root));
    files_roots_close(&roots);
    assert_int_equal(memory.live, 0);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_cases),     TEST(test_another),      TEST(test_cached),
        TEST(test_no_rights), TEST(test_pages),        TEST(test_between_pages),
        TEST(test_announced), TEST(test_folder_above), TEST(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
