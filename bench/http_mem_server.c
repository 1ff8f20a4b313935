/* http_mem_server: one resource of 1 KiB in memory, mem://one, and ten tools, over HTTP.
 *
 *   http_mem_server PORT|unix:PATH
 *
 * This is peers/ts-http-server.mjs, written with libmcp. It shows what a request costs when the
 * resource costs nothing. The tool "touch" announces a change of the resource.
 */
#include <stdio.h>
#include <string.h>

#include <mcp/io.h>
#include <mcp/mcp.h>

enum { TEXT_SIZE = 1024, TOOLS = 10 };

static int touch(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)arguments;
    mcp_server_resource_updated(user, "mem://one");
    return mcp_reply_text(req, "touched");
}

static int add_tools(mcp_server *server, mcp_error *err)
{
    int rc = MCP_OK;
    for (int i = 0; i < TOOLS && rc == MCP_OK; i++) {
        char name[16] = "touch";
        if (i > 0) {
            snprintf(name, sizeof(name), "tool%d", i);
        }
        const mcp_tool tool = {
            .size = sizeof(mcp_tool),
            .name = name,
            .description = "Announces that the resource changed",
            .call = touch,
        };
        rc = mcp_server_add_tool(server, &tool, server, err);
    }
    return rc;
}

int main(int argc, char **argv)
{
    char text[TEXT_SIZE + 1], address[128];
    const char *at = argc > 1 ? argv[1] : "8642";
    memset(text, 'x', TEXT_SIZE);
    text[TEXT_SIZE] = '\0';
    snprintf(address, sizeof(address), "%s%s", strchr(at, ':') ? "" : "127.0.0.1:", at);
    const mcp_resource one = {
        .size = sizeof(mcp_resource),
        .uri = "mem://one",
        .name = "one",
        .mime_type = "text/plain",
        .text = text,
    };

    mcp_error err = {0};
    mcp_server *server = NULL;
    int rc =
        mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "http-mem-server",
                                   .version = "1.0.0", .coalesce_ms = 10, .no_rate_limits = true),
                       &server, &err);
    if (rc == MCP_OK) {
        rc = mcp_server_add_resource(server, &one, NULL, &err);
    }
    if (rc == MCP_OK) {
        rc = add_tools(server, &err);
    }
    if (rc == MCP_OK) {
        rc = mcp_serve_http(server, address, NULL, &err);
    }
    mcp_server_free(server);
    if (rc != MCP_OK) {
        fprintf(stderr, "http_mem_server: %s\n", err.text);
        return 1;
    }
    return 0;
}
