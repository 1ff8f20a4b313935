/* mem_server: one resource of 1 KiB in memory, mem://one, and the tool "weather", over stdio.
 *
 * This is peers/ts-server.mjs, written with libmcp. It shows what a request costs when the resource
 * costs nothing, and what a call costs when the server only validates the arguments and the result.
 */
#include <stdio.h>
#include <string.h>

#include <mcp/io.h>
#include <mcp/mcp.h>

enum { TEXT_SIZE = 1024 };

static const char input_schema[] =
    "{\"type\":\"object\",\"required\":[\"name\",\"units\",\"address\"],"
    "\"additionalProperties\":false,"
    "\"properties\":{\"name\":{\"type\":\"string\",\"maxLength\":100},"
    "\"units\":{\"enum\":[\"metric\",\"imperial\"]},"
    "\"days\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":14},"
    "\"verbose\":{\"type\":\"boolean\"},"
    "\"address\":{\"type\":\"object\",\"required\":[\"city\"],\"additionalProperties\":false,"
    "\"properties\":{\"city\":{\"type\":\"string\",\"minLength\":1},"
    "\"zip\":{\"type\":\"string\",\"maxLength\":10},"
    "\"floor\":{\"type\":\"integer\",\"minimum\":0,\"maximum\":200}}}}}";

static const char output_schema[] =
    "{\"type\":\"object\",\"required\":[\"celsius\",\"sky\"],\"additionalProperties\":false,"
    "\"properties\":{\"celsius\":{\"type\":\"number\",\"minimum\":-100,\"maximum\":100},"
    "\"sky\":{\"enum\":[\"clear\",\"clouds\",\"rain\"]}}}";

static int weather(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)arguments, (void)user;
    return mcp_reply_structured(req, MCP_STR("{\"celsius\":21.5,\"sky\":\"clear\"}"));
}

static const mcp_tool weather_tool = {
    .size = sizeof(mcp_tool),
    .name = "weather",
    .input_schema = input_schema,
    .output_schema = output_schema,
    .call = weather,
};

int main(void)
{
    char text[TEXT_SIZE + 1];
    memset(text, 'x', TEXT_SIZE);
    text[TEXT_SIZE] = '\0';
    const mcp_resource one = {
        .size = sizeof(mcp_resource),
        .uri = "mem://one",
        .name = "one",
        .mime_type = "text/plain",
        .text = text,
    };

    mcp_error err = {0};
    mcp_server *server = NULL;
    int rc = mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "mem-server",
                                        .version = "1.0.0", .no_rate_limits = true),
                            &server, &err);
    if (rc == MCP_OK) {
        rc = mcp_server_add_resource(server, &one, NULL, &err);
    }
    if (rc == MCP_OK) {
        rc = mcp_server_add_tool(server, &weather_tool, NULL, &err);
    }
    if (rc == MCP_OK) {
        rc = mcp_serve_stdio(server, &err);
    }
    mcp_server_free(server);
    if (rc != MCP_OK) {
        fprintf(stderr, "mem_server: %s\n", err.text);
        return 1;
    }
    return 0;
}
