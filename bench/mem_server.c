/* mem_server: one resource of 1 KiB in memory, mem://one, over stdio.
 *
 * The same server as peers/ts-server.mjs, on libmcp: what a request costs when the resource costs
 * nothing.
 */
#include <stdio.h>
#include <string.h>

#include <mcp/io.h>
#include <mcp/mcp.h>

enum { TEXT_SIZE = 1024 };

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
    int rc = mcp_server_new(
        MCP_OPTIONS(mcp_server_options, .name = "mem-server", .version = "1.0.0"), &server, &err);
    if (rc == MCP_OK) {
        rc = mcp_server_add_resource(server, &one, NULL, &err);
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
