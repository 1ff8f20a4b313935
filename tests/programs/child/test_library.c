/* test_library.c: a fault of a library affects only the process of its source. libgit2 never stops
 * reading a certain pack (fuzz/libraries). The process is killed after its time-out, and another
 * source answers in the meantime. */
#define _GNU_SOURCE
#include <mcp/sys/server.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>

#include <cmocka.h>

#include <isolated.h>

#include "../../../fuzz/git_seed.h"

enum { IDS = 10, WAIT_MS = 60000, TIMEOUT_MS = 2000, MOST = 4096 };

static mcp_loop *loop;
static mcp_server *server;
static mcp_channel *channel;
static char *answers[IDS], folder[] = "/tmp/mcp-library-XXXXXX";

static void on_send(mcp_channel *c, mcp_exchange exchange, mcp_str message, void *user)
{
    mcp_json_doc *doc = NULL;
    (void)c, (void)exchange, (void)user;
    assert_int_equal(mcp_json_parse(message, NULL, NULL, &doc, NULL), MCP_OK);
    int64_t id = mcp_json_int(mcp_json_get(mcp_json_root(doc), "id"), 0);
    mcp_json_free(doc);
    assert_true(id > 0 && id < IDS && !answers[id]);
    assert_true(asprintf(&answers[id], "%.*s", (int)message.len, message.ptr) > 0);
}

/* Makes the repository from an input that the fuzzer found. */
static void make_objects(void)
{
    static const char *const parts[] = {"objects", "objects/pack", "objects/aa"};
    unsigned char input[MOST];
    char path[PATH_MAX];
    FILE *f = fopen(LIBRARY_INPUT, "rb");
    assert_non_null(f);
    size_t n = fread(input, 1, sizeof(input), f);
    fclose(f);
    assert_true(n > 0);
    assert_non_null(mkdtemp(folder));
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s", folder, parts[i]);
        assert_int_equal(mkdir(path, 0700), 0);
    }
    seed_write(folder, input, n);
}

static void mount(const char *module, const char *file, const char *source)
{
    static const char *const argv[] = {MCPD, "--source-child", NULL};
    char line[1000];
    mcp_error error = {0};
    snprintf(line, sizeof(line),
             "{\"module\":\"%s\",\"file\":\"%s\",\"source\":\"%s\",\"read\":[\"%s\"],"
             "\"report\":true}",
             module, file, source, folder);
    if (mcp_isolated_mount(server,
                           MCP_OPTIONS(mcp_isolated_options, .name = module, .argv = argv,
                                       .line = line, .timeout_ms = TIMEOUT_MS),
                           &error) != MCP_OK)
        fail_msg("%s", error.text);
}

static void ask(int id, const char *uri)
{
    char text[500];
    snprintf(
        text, sizeof(text),
        "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"resources/read\",\"params\":{\"uri\":\"%s\","
        "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
        "\"io.modelcontextprotocol/clientCapabilities\":{}}}}",
        id, uri);
    assert_int_equal(mcp_channel_receive(channel, 0, mcp_str_from(text), mcp_loop_now(loop)),
                     MCP_OK);
}

static const char *wait_for(int id)
{
    int64_t end = mcp_loop_now(loop) + WAIT_MS;
    while (!answers[id] && mcp_loop_now(loop) < end) {
        mcp_loop_step(loop, 5);
        mcp_channel_tick(channel, mcp_loop_now(loop));
    }
    assert_non_null(answers[id]);
    return answers[id];
}

static void test_endless(void **state)
{
    char objects[PATH_MAX];
    (void)state;
    make_objects();
    assert_int_equal(mcp_loop_new(NULL, &loop, NULL), MCP_OK);
    assert_int_equal(mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "t", .version = "1",
                                                .host = mcp_loop_host(loop)),
                                    &server, NULL),
                     MCP_OK);
    snprintf(objects, sizeof(objects), "%s/objects", folder);
    mount("library", LIBRARY, objects);
    mount("mortal", MORTAL, "m");
    assert_int_equal(mcp_server_connect(server, MCP_OPTIONS(mcp_channel_options, .send = on_send),
                                        &channel, NULL),
                     MCP_OK);
    ask(1, "library://l/a");
    ask(2, "mortal://m/a");
    assert_non_null(strstr(wait_for(2), "alive"));
    wait_for(1);
    if (!strstr(answers[1], "\"read\"")) { /* a libgit2 without the fault reads the object */
        assert_non_null(strstr(answers[1], "it did not answer in time"));
        ask(3, "library://l/a");
        assert_non_null(strstr(wait_for(3), "it is refused for another"));
    }
    ask(4, "mortal://m/b");
    assert_non_null(strstr(wait_for(4), "alive"));
    mcp_channel_free(channel);
    mcp_server_free(server);
    mcp_loop_free(loop);
    for (size_t i = 0; i < IDS; i++)
        free(answers[i]);
}

static int remove_objects(void **state)
{
    char command[100];
    (void)state;
    snprintf(command, sizeof(command), "rm -rf %s", folder);
    return system(command) != 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_teardown(test_endless, remove_objects)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
