/* What can be registered, what is rejected and why; also with every allocation failing. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <mcp/mcp.h>

#include "support/failalloc.h"
#include "support/fixture.h"
#include "rig.h"

static int read_none(mcp_request *req, mcp_str uri, const mcp_uri_match *match, void *user)
{
    (void)req, (void)uri, (void)match, (void)user;
    return MCP_ENOTFOUND;
}

static int call_none(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)req, (void)arguments, (void)user;
    return MCP_OK;
}

static mcp_server *new_server(const mcp_allocator *allocator)
{
    mcp_server *server = NULL;
    const mcp_server_options options = {
        .size = sizeof(options), .name = "s", .version = "1", .allocator = allocator};
    assert_int_equal(mcp_server_new(&options, &server, NULL), MCP_OK);
    return server;
}

static void test_server_options(void **state)
{
    (void)state;
    static const mcp_server_options wrong[] = {
        {.size = sizeof(mcp_server_options), .version = "1"},
        {.size = sizeof(mcp_server_options), .name = "", .version = "1"},
        {.size = sizeof(mcp_server_options), .name = "s"},
        {.size = sizeof(mcp_server_options), .name = "\xff", .version = "1"},
        {.size = sizeof(mcp_server_options), .name = "s", .version = "\xc0\x80"},
        {.size = sizeof(mcp_server_options), .name = "s", .version = "1", .title = "\xed\xa0\x80"},
        {.size = sizeof(mcp_server_options), .name = "s", .version = "1", .instructions = "\x80"},
        /* from an older header: members beyond its size are ignored */
        {.size = offsetof(mcp_server_options, version), .name = "s", .version = "1"},
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        mcp_server *server = NULL;
        mcp_error error = {0};
        assert_int_equal(mcp_server_new(&wrong[i], &server, &error), MCP_EINVAL);
        assert_int_equal(error.code, MCP_EINVAL);
        assert_true(*error.text);
        assert_null(server);
    }
    mcp_server_free(NULL);
}

/* Invalid instructions leave the old ones unchanged. */
static void test_instructions(void **state)
{
    static const char ask[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server/discover\","
                              "\"params\":{" RIG_META "}}";
    static rig r;
    mcp_channel *channel;
    (void)state;
    assert_int_equal(rig_open(&r, &(mcp_server_options){.instructions = "begin"}, rig_ok), MCP_OK);
    assert_int_equal(rig_connect(&r, NULL, NULL, &channel), MCP_OK);
    rig_say(&r, channel, ask);
    assert_non_null(strstr(rig_sent(&r), "\"instructions\":\"begin\""));
    assert_int_equal(mcp_server_set_instructions(r.server, "go on"), MCP_OK);
    assert_int_equal(mcp_server_set_instructions(r.server, "\x80"), MCP_EINVAL);
    r.memory.fail_at = r.memory.calls + 1;
    assert_int_equal(mcp_server_set_instructions(r.server, "never"), MCP_ENOMEM);
    rig_say(&r, channel, ask);
    assert_non_null(strstr(rig_sent(&r), "\"instructions\":\"go on\""));
    assert_int_equal(mcp_server_set_instructions(r.server, NULL), MCP_OK);
    rig_say(&r, channel, ask);
    assert_null(strstr(rig_sent(&r), "instructions"));
    mcp_channel_free(channel);
    rig_close(&r);
}

static void test_resources(void **state)
{
    (void)state;
    mcp_server *server = new_server(NULL);
    const struct {
        mcp_resource r;
        int rc;
    } cases[] = {
        {{.size = sizeof(mcp_resource), .uri = "a:1", .name = "n", .text = "t"}, MCP_OK},
        {{.size = sizeof(mcp_resource), .uri = "a:1", .name = "other", .text = "t"}, MCP_EEXIST},
        {{.size = sizeof(mcp_resource), .uri = "A:1", .name = "n", .read = read_none}, MCP_OK},
        {{.size = sizeof(mcp_resource), .name = "n", .text = "t"}, MCP_EINVAL},
        {{.size = sizeof(mcp_resource), .uri = "a:2", .text = "t"}, MCP_EINVAL},
        {{.size = sizeof(mcp_resource), .uri = "a:2", .name = "n"}, MCP_EINVAL},
        {{.size = sizeof(mcp_resource), .uri = "no/scheme", .name = "n", .text = "t"}, MCP_EINVAL},
        {{.size = sizeof(mcp_resource), .uri = "a:b c", .name = "n", .text = "t"}, MCP_EINVAL},
        {{.size = sizeof(mcp_resource), .uri = "a:2", .name = "\xff", .text = "t"}, MCP_EINVAL},
        {{.size = sizeof(mcp_resource), .uri = "a:2", .name = "n", .text = "\xff"}, MCP_EINVAL},
        {{.size = sizeof(mcp_resource), .uri = "a:2", .name = "n", .text = "t", .title = "\xff"},
         MCP_EINVAL},
        {{.size = sizeof(mcp_resource),
          .uri = "a:2",
          .name = "n",
          .text = "t",
          .mime_type = "\xff"},
         MCP_EINVAL},
        {{.size = sizeof(mcp_resource), .uri = "a:2", .name = "n", .text = "t", .meta = "[]"},
         MCP_EINVAL},
        {{.size = sizeof(mcp_resource), .uri = "a:2", .name = "n", .text = "t", .meta = "{"},
         MCP_EINVAL},
        {{.size = sizeof(mcp_resource), .uri = "a:2", .name = "n", .text = "t", .meta = "{}"},
         MCP_OK},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        mcp_error error = {0};
        int rc = mcp_server_add_resource(server, &cases[i].r, NULL, &error);
        if (rc != cases[i].rc)
            fail_msg("case %zu: %s", i, mcp_error_name(rc));
        assert_int_equal(error.code, rc);
    }
    assert_int_equal(mcp_server_remove_resource(server, "a:3"), MCP_ENOTFOUND);
    assert_int_equal(mcp_server_remove_resource(server, "a:1"), MCP_OK);
    assert_int_equal(mcp_server_remove_resource(server, "a:1"), MCP_ENOTFOUND);
    assert_int_equal(mcp_server_add_resource(server, &cases[0].r, NULL, NULL), MCP_OK);
    mcp_server_free(server);
}

static void test_templates(void **state)
{
    (void)state;
    mcp_server *server = new_server(NULL);
    static const struct {
        const char *text, *name;
        int rc;
    } cases[] = {
        {"a:{x}", "n", MCP_OK},    {"a:{x}", "n", MCP_EEXIST},  {"a:{y}", "n", MCP_OK},
        {"a:{x", "n", MCP_EINVAL}, {"a:{}", "n", MCP_EINVAL},   {"a:{x}{y}", "n", MCP_EUNSUPPORTED},
        {NULL, "n", MCP_EINVAL},   {"b:{x}", NULL, MCP_EINVAL}, {"b:{x}", "\xff", MCP_EINVAL},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        mcp_error error = {0};
        int rc = mcp_server_add_template(server,
                                         MCP_OPTIONS(mcp_resource_template,
                                                     .uri_template = cases[i].text,
                                                     .name = cases[i].name, .read = read_none),
                                         NULL, &error);
        if (rc != cases[i].rc)
            fail_msg("case %zu: %s: %s", i, mcp_error_name(rc), error.text);
        assert_int_equal(error.code, rc);
    }
    assert_int_equal(mcp_server_add_template(
                         server,
                         MCP_OPTIONS(mcp_resource_template, .uri_template = "c:{x}", .name = "n"),
                         NULL, NULL),
                     MCP_EINVAL);
    assert_int_equal(mcp_server_remove_template(server, "a:{x}"), MCP_OK);
    assert_int_equal(mcp_server_remove_template(server, "a:{x}"), MCP_ENOTFOUND);
    assert_int_equal(mcp_server_remove_template(server, "a:{y}"), MCP_OK);
    mcp_server_free(server);
}

static void test_tools(void **state)
{
    (void)state;
    char long_name[130];
    memset(long_name, 'n', 129);
    long_name[129] = 0;
    mcp_server *server = new_server(NULL);
    const struct {
        const char *name, *input, *output;
        int rc;
    } cases[] = {
        {"a", NULL, NULL, MCP_OK},
        {"a", NULL, NULL, MCP_EEXIST},
        {"A-b_c.9", "{\"type\":\"object\"}", "{\"type\":\"array\"}", MCP_OK},
        {NULL, NULL, NULL, MCP_EINVAL},
        {"", NULL, NULL, MCP_EINVAL},
        {"a b", NULL, NULL, MCP_EINVAL},
        {"a/b", NULL, NULL, MCP_EINVAL},
        {"\xc3\xa9", NULL, NULL, MCP_EINVAL},
        {long_name, NULL, NULL, MCP_EINVAL},
        {long_name + 1, NULL, NULL, MCP_OK},
        {"b", "{}", NULL, MCP_EINVAL},
        {"b", "{\"type\":\"array\"}", NULL, MCP_EINVAL},
        {"b", "[]", NULL, MCP_EINVAL},
        {"b", "", NULL, MCP_EINVAL},
        {"b", "{\"type\":\"object\"", NULL, MCP_EINVAL},
        {"b", NULL, "7", MCP_EINVAL},
        {"b", NULL, "{", MCP_EINVAL},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        mcp_error error = {0};
        int rc = mcp_server_add_tool(
            server,
            MCP_OPTIONS(mcp_tool, .name = cases[i].name, .input_schema = cases[i].input,
                        .output_schema = cases[i].output, .call = call_none),
            NULL, &error);
        if (rc != cases[i].rc)
            fail_msg("case %zu: %s: %s", i, mcp_error_name(rc), error.text);
        assert_int_equal(error.code, rc);
    }
    assert_int_equal(mcp_server_add_tool(server, MCP_OPTIONS(mcp_tool, .name = "c"), NULL, NULL),
                     MCP_EINVAL);
    assert_int_equal(mcp_server_remove_tool(server, "a"), MCP_OK);
    assert_int_equal(mcp_server_remove_tool(server, "a"), MCP_ENOTFOUND);
    mcp_server_free(server);
}

static void test_prompts(void **state)
{
    (void)state;
    mcp_server *server = new_server(NULL);
    const mcp_prompt_argument good = {.size = sizeof(good), .name = "x"},
                              nameless = {.size = sizeof(good)},
                              broken = {.size = sizeof(good), .name = "\xff"};
    const struct {
        mcp_prompt p;
        int rc;
    } cases[] = {
        {{.size = sizeof(mcp_prompt), .name = "a", .get = call_none}, MCP_OK},
        {{.size = sizeof(mcp_prompt), .name = "a", .get = call_none}, MCP_EEXIST},
        {{.size = sizeof(mcp_prompt), .get = call_none}, MCP_EINVAL},
        {{.size = sizeof(mcp_prompt), .name = "b"}, MCP_EINVAL},
        {{.size = sizeof(mcp_prompt), .name = "\xff", .get = call_none}, MCP_EINVAL},
        {{.size = sizeof(mcp_prompt),
          .name = "b",
          .get = call_none,
          .arguments = &nameless,
          .n_arguments = 1},
         MCP_EINVAL},
        {{.size = sizeof(mcp_prompt),
          .name = "b",
          .get = call_none,
          .arguments = &broken,
          .n_arguments = 1},
         MCP_EINVAL},
        {{.size = sizeof(mcp_prompt),
          .name = "b",
          .get = call_none,
          .arguments = &good,
          .n_arguments = 1},
         MCP_OK},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int rc = mcp_server_add_prompt(server, &cases[i].p, NULL, NULL);
        if (rc != cases[i].rc)
            fail_msg("case %zu: %s", i, mcp_error_name(rc));
    }
    assert_int_equal(mcp_server_remove_prompt(server, "b"), MCP_OK);
    assert_int_equal(mcp_server_remove_prompt(server, "b"), MCP_ENOTFOUND);
    mcp_server_free(server);
}

/* ---- mounting -------------------------------------------------------------------------------- */

static void count(void *user)
{
    ++*(int *)user;
}

static int read_mounted(mcp_request *req, mcp_str uri, void *user)
{
    (void)req, (void)uri, (void)user;
    return MCP_ENOTFOUND;
}

static void test_mount(void **state)
{
    (void)state;
    mcp_server *server = new_server(NULL);
    const mcp_provider p = {.size = sizeof(p), .name = "p", .read = read_mounted, .release = count};
    mcp_provider nameless = p;
    nameless.name = NULL;
    int kept = 0, refused = 0;
    assert_int_equal(mcp_server_mount(server, "a:", &p, &kept, NULL), MCP_OK);
    assert_int_equal(mcp_server_mount(server, "a:b/", &p, &kept, NULL), MCP_OK);
    assert_int_equal(mcp_server_mount(server, "a:", &p, &refused, NULL), MCP_EEXIST);
    assert_int_equal(mcp_server_mount(server, ":", &p, &refused, NULL), MCP_EINVAL);
    assert_int_equal(mcp_server_mount(server, "a", &p, &refused, NULL), MCP_EINVAL);
    assert_int_equal(mcp_server_mount(server, NULL, &p, &refused, NULL), MCP_EINVAL);
    assert_int_equal(mcp_server_mount(server, "c:", &nameless, &refused, NULL), MCP_EINVAL);
    assert_int_equal(refused, 5);
    assert_int_equal(kept, 0);
    mcp_server_free(server);
    assert_int_equal(kept, 2);
}

/* The whole fixture, with every allocation failing. */
static void test_no_memory(void **state)
{
    (void)state;
    size_t n = 1;
    for (bool reached = true; reached; n++) {
        failalloc f = {.fail_at = n};
        mcp_allocator a = failalloc_allocator(&f);
        const fixture_options options = {.allocator = &a};
        fixture *fx = NULL;
        mcp_error error = {0};
        int rc = fixture_new(&options, &fx, &error);
        reached = f.calls >= n;
        assert_int_equal(rc, reached ? MCP_ENOMEM : MCP_OK);
        assert_int_equal(error.code, rc);
        fixture_free(fx);
        assert_int_equal(f.live, 0);
    }
    assert_true(n > 100);
}

/* An item whose registration failed for lack of memory can be registered afterwards. */
static void test_no_memory_leaves_no_trace(void **state)
{
    (void)state;
    for (size_t n = 1;; n++) {
        failalloc f = {0};
        mcp_allocator a = failalloc_allocator(&f);
        mcp_server *server = new_server(&a);
        const mcp_resource_template t = {
            .size = sizeof(t), .uri_template = "a:{x}", .name = "n", .read = read_none};
        const mcp_tool tool = {.size = sizeof(tool), .name = "t", .call = call_none};
        f.fail_at = f.calls + n;
        int one = mcp_server_add_template(server, &t, NULL, NULL);
        int two = mcp_server_add_tool(server, &tool, NULL, NULL);
        bool reached = f.calls >= f.fail_at;
        f.fail_at = 0;
        assert_true((one == MCP_ENOMEM) + (two == MCP_ENOMEM) == reached);
        assert_int_equal(mcp_server_add_template(server, &t, NULL, NULL),
                         one == MCP_OK ? MCP_EEXIST : MCP_OK);
        assert_int_equal(mcp_server_add_tool(server, &tool, NULL, NULL),
                         two == MCP_OK ? MCP_EEXIST : MCP_OK);
        mcp_server_free(server);
        assert_int_equal(f.live, 0);
        if (!reached)
            break;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_server_options),
        cmocka_unit_test(test_instructions),
        cmocka_unit_test(test_resources),
        cmocka_unit_test(test_templates),
        cmocka_unit_test(test_tools),
        cmocka_unit_test(test_prompts),
        cmocka_unit_test(test_mount),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_no_memory_leaves_no_trace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
