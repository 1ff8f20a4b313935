/* A minimal user program: creates and frees a server. */
#include <mcp/mcp.h>

int main(void)
{
    mcp_server *server = NULL;
    mcp_error error;
    if (mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "outside", .version = "1"), &server,
                       &error) < 0)
        return 1;
    mcp_server_free(server);
    return strcmp(mcp_version(), MCP_VERSION_STRING) != 0;
}
