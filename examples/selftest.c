/* selftest.c: tests a handler by passing it a message and checking the answer, without a process or
 * a transport.
 *
 *     ./selftest && echo passed
 *
 * A channel is a peer without a transport: its output is passed to a function. Revision 2026-07-28
 * has no handshake, so one message is a complete test.
 */
#include <mcp/mcp.h>
#include <mcp/sys/server.h>
#include <stdio.h>

#define META                                                                        \
    "\"_meta\":{"                                                                   \
    "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                   \
    "\"io.modelcontextprotocol/clientInfo\":{\"name\":\"test\",\"version\":\"1\"}," \
    "\"io.modelcontextprotocol/clientCapabilities\":{}}"

#define CALL(arguments)                                                    \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{" \
    "\"name\":\"add\",\"arguments\":" arguments "," META "}}"

/* ---- the handler under test ------------------------------------------------------------------ */

static int add(mcp_request *req, const mcp_json *arguments, void *user)
{
    double a = mcp_json_number(mcp_json_get(arguments, "a"), 0);
    double b = mcp_json_number(mcp_json_get(arguments, "b"), 0);
    (void)user;
    return mcp_reply_textf(req, "%g", a + b);
}

static const mcp_tool add_tool = {
    .size = sizeof(mcp_tool),
    .name = "add",
    .input_schema = "{\"type\":\"object\",\"required\":[\"a\",\"b\"],\"properties\":{"
                    "\"a\":{\"type\":\"number\"},\"b\":{\"type\":\"number\"}}}",
    .call = add,
};

/* ---- the test -------------------------------------------------------------------------------- */

static const struct {
    const char *message, *text;
    bool is_error;
} cases[] = {
    {CALL("{\"a\":2,\"b\":3}"), "5", false},
    {CALL("{\"a\":-1,\"b\":0.5}"), "-0.5", false},
    {CALL("{\"a\":2}"), "Invalid arguments for tool add: (root): missing property \"b\" (required)",
     true},
};
enum { CASES = sizeof(cases) / sizeof(cases[0]) };

/* Checks an answer; counts the case as passed if it is correct. */
static void look(mcp_channel *channel, mcp_exchange exchange, mcp_str message, void *user)
{
    size_t *passed = user;
    mcp_json_doc *doc = NULL;
    (void)channel, (void)exchange;
    if (mcp_json_parse(message, NULL, NULL, &doc, NULL) != MCP_OK)
        return;
    const mcp_json *result = mcp_json_get(mcp_json_root(doc), "result");
    const mcp_json *content = mcp_json_at(mcp_json_get(result, "content"), 0);
    mcp_str text = mcp_json_string(mcp_json_get(content, "text"));
    if (mcp_str_eq(text, mcp_str_from(cases[*passed].text)) &&
        mcp_json_bool(mcp_json_get(result, "isError"), false) == cases[*passed].is_error)
        ++*passed;
    mcp_json_free(doc);
}

int main(void)
{
    mcp_server *server = NULL;
    mcp_channel *channel = NULL;
    size_t passed = 0;
    int rc = mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "test", .version = "1"),
                            &server, NULL);
    if (rc == MCP_OK)
        rc = mcp_server_add_tool(server, &add_tool, NULL, NULL);
    if (rc == MCP_OK)
        rc = mcp_server_connect(server,
                                MCP_OPTIONS(mcp_channel_options, .send = look, .user = &passed),
                                &channel, NULL);
    for (size_t i = 0; rc == MCP_OK && i < CASES && i == passed; i++)
        rc = mcp_channel_receive(channel, 0, mcp_str_from(cases[i].message), 0);
    if (rc != MCP_OK || passed < CASES)
        fprintf(stderr, "selftest: case %zu failed\n", passed + 1);
    mcp_channel_free(channel);
    mcp_server_free(server);
    return passed == CASES ? 0 : 1;
}
