/* server.c: the server for the official conformance suite.
 *
 *     conformance-server PORT      http://127.0.0.1:PORT/mcp, both eras; 0 is a port that is free
 *     conformance-server --stdio   for other clients than the suite's, which is for HTTP
 *
 * Prints the URL on stdout once it listens. SIGTERM and SIGINT end it.
 */
#include <stdio.h>
#include <stdlib.h>

#include "fixture.h"

static int offer(mcp_server *server, mcp_error *error)
{
    int rc = fixture_add_tools(server, error);
    if (rc == MCP_OK)
        rc = fixture_add_resources(server, error);
    if (rc == MCP_OK)
        rc = fixture_add_prompts(server, error);
    if (rc == MCP_OK)
        rc = fixture_add_asks(server, error);
    if (rc == MCP_OK)
        rc = fixture_add_task_tools(server, error);
    return rc;
}

static int serve(mcp_loop *loop, mcp_server *server, const char *port, mcp_error *error)
{
    char address[64];
    if (strcmp(port, "--stdio") == 0)
        return mcp_loop_serve_stdio(loop, server, NULL, error);
    snprintf(address, sizeof(address), "127.0.0.1:%s", port);
    mcp_listener *listener = NULL;
    int rc = mcp_loop_listen(loop, server, MCP_OPTIONS(mcp_listen_options, .address = address),
                             &listener, error);
    if (rc == MCP_OK) {
        printf("http://%s/mcp\n", mcp_listener_address(listener));
        fflush(stdout);
        rc = mcp_loop_serve_http(loop, NULL, error);
    }
    mcp_listener_close(listener);
    return rc;
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fputs("usage: conformance-server PORT | --stdio\n", stderr);
        return 2;
    }
    mcp_loop *loop = NULL;
    mcp_server *server = NULL;
    mcp_error error = {0};
    int rc = mcp_loop_new(NULL, &loop, &error);
    if (rc == MCP_OK) {
        mcp_loop_set_log_level(loop, "warning");
        rc = mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "libmcp-conformance",
                                        .version = mcp_version(), .logging = true,
                                        .host = mcp_loop_host(loop)),
                            &server, &error);
    }
    if (rc == MCP_OK)
        rc = offer(server, &error);
    if (rc == MCP_OK)
        rc = serve(loop, server, argv[1], &error);
    if (rc != MCP_OK)
        fprintf(stderr, "conformance-server: %s\n", error.text);
    mcp_server_free(server);
    mcp_loop_free(loop);
    return rc == MCP_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
