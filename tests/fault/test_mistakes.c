/* Wrong use of the functions returns MCP_EINVAL with a message that names the mistake: NULL for a
 * required argument, or a struct whose size is not set. A successful call sets the error to
 * success. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <mcp/mcp.h>
#include <mcp/sys/server.h>

static int read_none(mcp_request *req, mcp_str uri, const mcp_uri_match *match, void *user)
{
    (void)req, (void)uri, (void)match, (void)user;
    return MCP_ENOTFOUND;
}

static int answer_none(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)req, (void)arguments, (void)user;
    return MCP_OK;
}

static void send_none(mcp_channel *channel, mcp_exchange exchange, mcp_str message, void *user)
{
    (void)channel, (void)exchange, (void)message, (void)user;
}

static mcp_server *new_server(void)
{
    mcp_server *server = NULL;
    mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "s", .version = "1"), &server, NULL);
    assert_non_null(server);
    return server;
}

/* Expects MCP_EINVAL and the text. */
#define REFUSED(call, said)                             \
    do {                                                \
        mcp_error error;                                \
        memset(&error, 0xff, sizeof(error));            \
        assert_int_equal((call), MCP_EINVAL);           \
        assert_int_equal(error.code, MCP_EINVAL);       \
        if (!strstr(error.text, (said)))                \
            fail_msg("%s, not %s", error.text, (said)); \
    } while (0)
#define REQUIRED " is required, and NULL was given"

static int build_nothing(mcp_server *server, void *user, mcp_error *error)
{
    (void)server, (void)user, (void)error;
    return MCP_OK;
}

static void test_null(void **state)
{
    (void)state;
    mcp_server *s = new_server(), *none = NULL;
    mcp_client *client = NULL;
    mcp_channel *channel = NULL;
    const mcp_server_options *options =
        MCP_OPTIONS(mcp_server_options, .name = "s", .version = "1");
    const mcp_tool *tool = MCP_OPTIONS(mcp_tool, .name = "t", .call = answer_none);
    REFUSED(mcp_server_new(NULL, &none, &error), "a mcp_server_options" REQUIRED);
    REFUSED(mcp_server_new(options, NULL, &error), "ret is required");
    REFUSED(mcp_server_add_resource(s, NULL, NULL, &error), "a mcp_resource" REQUIRED);
    REFUSED(mcp_server_add_template(s, NULL, NULL, &error), "a mcp_resource_template" REQUIRED);
    REFUSED(mcp_server_add_prompt(s, NULL, NULL, &error), "a mcp_prompt" REQUIRED);
    REFUSED(mcp_server_add_tool(s, NULL, NULL, &error), "a mcp_tool" REQUIRED);
    REFUSED(mcp_server_add_tool(NULL, tool, NULL, &error), "a server" REQUIRED);
    REFUSED(mcp_server_mount(s, "x:", NULL, NULL, &error), "a mcp_provider" REQUIRED);
    REFUSED(mcp_server_connect(s, NULL, &channel, &error), "a mcp_channel_options" REQUIRED);
    REFUSED(mcp_server_connect(NULL, NULL, &channel, &error), "server and ret");
    REFUSED(mcp_server_rebuild(NULL, build_nothing, NULL, &error), "server and build");
    REFUSED(mcp_server_set_tasks(s, NULL, &error), "a mcp_task_settings" REQUIRED);
    REFUSED(mcp_server_set_seal(s, NULL, &error), "a mcp_seal_options" REQUIRED);
    REFUSED(mcp_client_new(NULL, &client, &error), "a mcp_client_options" REQUIRED);
    assert_int_equal(mcp_server_remove_tool(NULL, "t"), MCP_EINVAL);
    assert_int_equal(mcp_server_remove_tool(s, NULL), MCP_EINVAL);
    assert_int_equal(mcp_server_set_access(NULL, NULL), MCP_EINVAL);
    mcp_server_free(s);
}

static void test_no_size(void **state)
{
    (void)state;
    mcp_server *s = new_server(), *none = NULL;
    mcp_client *client = NULL;
    mcp_channel *channel = NULL;
    mcp_schema *schema = NULL;
    static const mcp_icon icon = {.src = "data:,"};
    static const mcp_prompt_argument arguments[] = {
        {.size = sizeof(mcp_prompt_argument), .name = "a"}, {.name = "b"}};
    REFUSED(mcp_server_new(&(mcp_server_options){.name = "s", .version = "1"}, &none, &error),
            "\"size\" of a mcp_server_options is not set");
    REFUSED(mcp_server_add_resource(
                s, &(mcp_resource){.uri = "m:a", .name = "a", .read = read_none}, NULL, &error),
            "\"size\" of a mcp_resource is not set");
    REFUSED(mcp_server_add_template(
                s,
                &(mcp_resource_template){.uri_template = "m:{a}", .name = "a", .read = read_none},
                NULL, &error),
            "\"size\" of a mcp_resource_template is not set");
    REFUSED(mcp_server_add_prompt(s, &(mcp_prompt){.name = "p", .get = answer_none}, NULL, &error),
            "\"size\" of a mcp_prompt is not set");
    REFUSED(mcp_server_add_tool(s, &(mcp_tool){.name = "t", .call = answer_none}, NULL, &error),
            "\"size\" of a mcp_tool is not set");
    REFUSED(mcp_server_add_tool(s,
                                MCP_OPTIONS(mcp_tool, .name = "t", .call = answer_none,
                                            .icons = &icon, .n_icons = 1),
                                NULL, &error),
            "\"size\" of a mcp_icon is not set");
    REFUSED(
        mcp_server_add_tool(
            s, MCP_OPTIONS(mcp_tool, .name = "t", .call = answer_none, .n_icons = 1), NULL, &error),
        "an array of mcp_icon" REQUIRED);
    REFUSED(mcp_server_add_prompt(s,
                                  MCP_OPTIONS(mcp_prompt, .name = "p", .get = answer_none,
                                              .arguments = arguments, .n_arguments = 2),
                                  NULL, &error),
            "every element of an array: element 1");
    REFUSED(mcp_server_connect(s, &(mcp_channel_options){.send = send_none}, &channel, &error),
            "\"size\" of a mcp_channel_options is not set");
    REFUSED(mcp_client_new(&(mcp_client_options){.name = "c", .version = "1"}, &client, &error),
            "\"size\" of a mcp_client_options is not set");
    REFUSED(mcp_schema_compile_text(NULL, MCP_STR("{}"), &(mcp_schema_options){0}, &schema, &error),
            "\"size\" of a mcp_schema_options is not set");
    mcp_server_free(s);
}

/* error.text is always initialized, so printing it never shows what was on the stack. */
static void test_success(void **state)
{
    (void)state;
    mcp_server *s = NULL;
    mcp_error error;
#define SUCCEEDS(call)                       \
    do {                                     \
        memset(&error, 0xff, sizeof(error)); \
        assert_int_equal((call), MCP_OK);    \
        assert_int_equal(error.code, 0);     \
        assert_int_equal(error.offset, 0);   \
        assert_string_equal(error.text, ""); \
    } while (0)
    mcp_schema *schema = NULL;
    mcp_json_doc *doc = NULL;
    mcp_uri uri;
    mcp_client *client = NULL;
    SUCCEEDS(
        mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "s", .version = "1"), &s, &error));
    SUCCEEDS(mcp_server_add_tool(s, MCP_OPTIONS(mcp_tool, .name = "t", .call = answer_none), NULL,
                                 &error));
    SUCCEEDS(mcp_server_add_prompt(s, MCP_OPTIONS(mcp_prompt, .name = "p", .get = answer_none),
                                   NULL, &error));
    SUCCEEDS(mcp_server_rebuild(s, build_nothing, NULL, &error));
    SUCCEEDS(mcp_json_parse(MCP_STR("{}"), NULL, NULL, &doc, &error));
    SUCCEEDS(mcp_schema_compile_text(NULL, MCP_STR("true"), NULL, &schema, &error));
    SUCCEEDS(mcp_schema_validate(schema, mcp_json_root(doc), &error));
    SUCCEEDS(mcp_uri_parse(MCP_STR("x:y"), &uri, &error));
    SUCCEEDS(mcp_client_new(MCP_OPTIONS(mcp_client_options, .name = "c", .version = "1"), &client,
                            &error));
    mcp_client_free(client);
    mcp_schema_free(schema);
    mcp_json_free(doc);
    mcp_server_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_null),
        cmocka_unit_test(test_no_size),
        cmocka_unit_test(test_success),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
