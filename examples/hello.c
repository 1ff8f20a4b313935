/* hello.c: a complete MCP server: one resource, one template, one tool, over stdio.
 *
 *     cc hello.c $(pkg-config --cflags --libs mcp-io) -o hello
 *     mcpctl ls -- ./hello
 */
#include <mcp/io.h>
#include <stdio.h>

static int read_greeting(mcp_request *req, mcp_str uri, const mcp_uri_match *match, void *user)
{
    mcp_str name;
    (void)uri, (void)user;
    mcp_uri_match_get(match, "name", &name);
    return mcp_reply_textf(req, "Hello, %.*s!", (int)name.len, name.ptr);
}

static int greet(mcp_request *req, const mcp_json *arguments, void *user)
{
    mcp_str name = mcp_json_string(mcp_json_get(arguments, "name"));
    (void)user;
    if (!name.len)
        return mcp_reply_tool_error(req, "Say whom to greet: {\"name\": \"Ada\"}");
    return mcp_reply_textf(req, "Hello, %.*s!", (int)name.len, name.ptr);
}

int main(void)
{
    mcp_server *server = NULL;
    mcp_error error = {0};
    int rc = mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "hello", .version = "1.0"),
                            &server, &error);
    if (rc == MCP_OK)
        rc =
            mcp_server_add_resource(server,
                                    MCP_OPTIONS(mcp_resource, .uri = "hello:world", .name = "world",
                                                .mime_type = "text/plain", .text = "Hello, world!"),
                                    NULL, &error);
    if (rc == MCP_OK)
        rc = mcp_server_add_template(
            server,
            MCP_OPTIONS(mcp_resource_template, .uri_template = "hello:name/{name}",
                        .name = "greeting", .mime_type = "text/plain", .read = read_greeting),
            NULL, &error);
    if (rc == MCP_OK)
        rc = mcp_server_add_tool(server,
                                 MCP_OPTIONS(mcp_tool, .name = "greet", .description = "Say hello",
                                             .input_schema =
                                                 "{\"type\":\"object\",\"required\":[\"name\"],"
                                                 "\"properties\":{\"name\":{\"type\":\"string\"}}}",
                                             .read_only = MCP_HINT_YES, .call = greet),
                                 NULL, &error);
    if (rc == MCP_OK)
        rc = mcp_serve_stdio(server, &error);
    if (rc != MCP_OK)
        fprintf(stderr, "hello: %s\n", error.text);
    mcp_server_free(server);
    return rc == MCP_OK ? 0 : 1;
}
