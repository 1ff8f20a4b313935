/* The tools that change files without memory: each allocation of the provider fails in turn. A file is then the old or
 * the new one, nothing is left beside it, and what was answered as done is in the journal. */
#define _GNU_SOURCE
#include "tree.h"

#include <dirent.h>

#include <mcp/sys/server.h>

#include "failalloc.h"
#include "fakehost.h"
#include "files.h"

static tree at;
static fakehost host;
static char reply[64 << 10];

static void keep(mcp_channel *c, mcp_exchange exchange, mcp_str message, void *user)
{
    (void)c, (void)exchange, (void)user;
    snprintf(reply, sizeof(reply), "%.*s", (int)message.len, message.ptr);
}

static mcp_effect allow(const mcp_identity *identity, mcp_operation operation, mcp_item item,
                        mcp_str name, unsigned flags, void *user)
{
    (void)identity, (void)operation, (void)item, (void)name, (void)user;
    return flags ? MCP_EFFECT_DENY : MCP_EFFECT_ALLOW;
}

static void ask(mcp_channel *channel, const char *method, const char *params)
{
    static unsigned last_id;
    char message[4096];
    int n = snprintf(message, sizeof(message),
                     "{\"jsonrpc\":\"2.0\",\"id\":%u,\"method\":\"%s\",\"params\":{\"_meta\":{"
                     "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
                     "\"io.modelcontextprotocol/clientCapabilities\":{}},%s}}",
                     ++last_id, method, params);
    reply[0] = '\0';
    mcp_channel_receive(channel, 0, (mcp_str){message, (size_t)n}, 0);
}

/* Starts a server on the folder "files". Returns false without memory. */
static bool start(const mcp_allocator *alloc, mcp_server **server, mcp_channel **channel)
{
    char files[100], journal[100];
    const char *sources[] = {files};
    mcp_files *handle;
    snprintf(files, sizeof(files), "%s/files", at.path);
    snprintf(journal, sizeof(journal), "%s/journal", at.path);
    assert_int_equal(mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "t", .version = "1",
                                                .host = &host.host),
                                    server, NULL),
                     MCP_OK);
    int rc = mcp_files_mount(*server,
                             MCP_OPTIONS(mcp_files_options, .sources = sources, .n_sources = 1,
                                         .no_watch = true, .allocator = alloc, .handle = &handle),
                             NULL);
    if (rc == MCP_OK)
        rc =
            mcp_files_add_changes(handle, MCP_OPTIONS(mcp_files_changes, .journal = journal), NULL);
    assert_true(rc == MCP_OK || rc == MCP_ENOMEM);
    assert_int_equal(mcp_server_set_access(*server, MCP_OPTIONS(mcp_access, .may_do = allow)),
                     MCP_OK);
    assert_int_equal(
        mcp_server_connect(*server,
                           MCP_OPTIONS(mcp_channel_options, .send = keep, .principal = "ann"),
                           channel, NULL),
        MCP_OK);
    return rc == MCP_OK;
}

static const char *contents(const char *name)
{
    static char text[200];
    char path[200];
    snprintf(path, sizeof(path), "%s/files/%s", at.path, name);
    FILE *f = fopen(path, "r");
    size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;
    text[n] = '\0';
    if (f)
        fclose(f);
    return f ? text : "(none)";
}

static size_t count_files(void)
{
    char path[100];
    size_t n = 0;
    snprintf(path, sizeof(path), "%s/files", at.path);
    DIR *d = opendir(path);
    assert_non_null(d);
    for (const struct dirent *e; (e = readdir(d)) != NULL;)
        n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    closedir(d);
    return n;
}

static const struct step {
    const char *params;
    const char *name, *before, *after; /* a file that it changes */
    size_t files_before, files_after;
} steps[] = {
    {"\"name\":\"write_file\",\"arguments\":{\"uri\":\"b.txt\",\"text\":\"b\\n\"}", "b.txt",
     "(none)", "b\n", 1, 2},
    {"\"name\":\"edit_file\",\"arguments\":{\"uri\":\"a.txt\",\"edits\":[{\"old\":\"one\",\"new\":"
     "\"1\"}]}",
     "a.txt", "one\r\ntwo\r\n", "1\r\ntwo\r\n", 1, 1},
    {"\"name\":\"edit_file\",\"arguments\":{\"uri\":\"a.txt\",\"patch\":\"@@ -1,2 +1,2 @@\\n "
     "one\\n-two\\n+2\\n\"}",
     "a.txt", "one\r\ntwo\r\n", "one\r\n2\r\n", 1, 1},
    {"\"name\":\"edit_file\",\"arguments\":{\"uri\":\"a.txt\",\"dry_run\":true,\"edits\":[{\"old\":"
     "\"one\",\"new\":\"1\"}]}",
     "a.txt", "one\r\ntwo\r\n", "one\r\ntwo\r\n", 1, 1},
    {"\"name\":\"move_file\",\"arguments\":{\"uri\":\"a.txt\",\"to\":\"c.txt\"}", "c.txt", "(none)",
     "one\r\ntwo\r\n", 1, 1},
    {"\"name\":\"delete_file\",\"arguments\":{\"uri\":\"a.txt\"}", "a.txt", "one\r\ntwo\r\n",
     "(none)", 1, 0},
};

static void begin(void)
{
    tree_make(&at);
    tree_dir(&at, "files");
    tree_file(&at, "files/a.txt", "one\r\ntwo\r\n");
}

static bool is_done(void)
{
    return strstr(reply, "\"result\"") && !strstr(reply, "\"isError\":true");
}

/* One call while allocation `n` fails. Returns whether it was never reached. */
static bool try_step(const struct step *s, size_t n)
{
    failalloc memory = {0};
    mcp_allocator alloc = failalloc_allocator(&memory);
    mcp_server *server;
    mcp_channel *channel;
    begin();
    assert_true(start(&alloc, &server, &channel));
    memory.calls = 0;
    memory.fail_at = n;
    ask(channel, "tools/call", s->params);
    bool reached = memory.calls >= n;
    memory.fail_at = 0;
    if (is_done())
        assert_string_equal(contents(s->name), s->after);
    else if (strcmp(contents(s->name), s->after) != 0) /* the answer itself may lack memory */
        assert_string_equal(contents(s->name), s->before);
    bool changed = strcmp(contents(s->name), s->after) == 0;
    assert_int_equal(count_files(), changed ? s->files_after : s->files_before);
    if (strcmp(s->before, s->after) != 0) {
        ask(channel, "libmcp/changes/list", "\"limit\":5");
        assert_int_equal(
            strstr(reply, "\"state\":\"done\"") || strstr(reply, "\"state\":\"unknown\""), changed);
    }
    mcp_channel_free(channel);
    mcp_server_free(server);
    assert_int_equal(memory.live, 0);
    tree_remove(&at);
    return !reached;
}

static void test_calls(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
        size_t n = 1;
        while (!try_step(&steps[i], n))
            n++;
        assert_true(n > 3);
    }
}

static void test_start(void **state)
{
    (void)state;
    for (size_t n = 1;; n++) {
        failalloc memory = {.fail_at = n};
        mcp_allocator alloc = failalloc_allocator(&memory);
        mcp_server *server;
        mcp_channel *channel;
        begin();
        bool started = start(&alloc, &server, &channel);
        mcp_channel_free(channel);
        mcp_server_free(server);
        assert_int_equal(memory.live, 0);
        tree_remove(&at);
        if (started && memory.calls < n)
            break;
    }
}

/* Taking back likewise. */
static void test_undo(void **state)
{
    (void)state;
    bool more = true;
    for (size_t n = 1; more; n++) {
        failalloc memory = {0};
        mcp_allocator alloc = failalloc_allocator(&memory);
        mcp_server *server;
        mcp_channel *channel;
        char params[200], *id;
        begin();
        assert_true(start(&alloc, &server, &channel));
        ask(channel, "tools/call", steps[1].params);
        assert_true(is_done());
        id = strstr(reply, "\"undo\":\"");
        assert_non_null(id);
        snprintf(params, sizeof(params), "\"id\":\"%.*s\"", (int)strcspn(id + 8, "\""), id + 8);
        memory.calls = 0;
        memory.fail_at = n;
        ask(channel, "libmcp/changes/undo", params);
        more = memory.calls >= n;
        memory.fail_at = 0;
        bool back = strcmp(contents("a.txt"), steps[1].before) == 0;
        if (!back)
            assert_string_equal(contents("a.txt"), steps[1].after);
        assert_true(back || !is_done());
        assert_true(more || back);
        assert_int_equal(count_files(), 1);
        mcp_channel_free(channel);
        mcp_server_free(server);
        assert_int_equal(memory.live, 0);
        tree_remove(&at);
    }
}

static void take_back(mcp_channel *channel, const char *id)
{
    char params[200];
    snprintf(params, sizeof(params), "\"id\":\"%s\"", id);
    ask(channel, "libmcp/changes/undo", params);
}

/* A later change that failed and was undone leaves the file as it was, but with another time of its inode. */
static void test_undo_later(void **state)
{
    mcp_server *server;
    mcp_channel *channel;
    char id[64], path[200];
    (void)state;
    begin();
    assert_true(start(NULL, &server, &channel));
    ask(channel, "tools/call", steps[1].params);
    assert_true(is_done());
    const char *undo = strstr(reply, "\"undo\":\"");
    assert_non_null(undo);
    snprintf(id, sizeof(id), "%.*s", (int)strcspn(undo + 8, "\""), undo + 8);
    snprintf(path, sizeof(path), "%s/files/a.txt", at.path);
    assert_int_equal(chmod(path, 0600), 0);
    tree_file(&at, "files/a.txt", "other contents");
    take_back(channel, id);
    assert_non_null(strstr(reply, "undo the later change first"));
    tree_file(&at, "files/a.txt", steps[1].after);
    take_back(channel, id);
    assert_string_equal(contents("a.txt"), steps[1].before);
    mcp_channel_free(channel);
    mcp_server_free(server);
    tree_remove(&at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_start), cmocka_unit_test(test_calls),
                                       cmocka_unit_test(test_undo),
                                       cmocka_unit_test(test_undo_later)};
    fakehost_init(&host);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
