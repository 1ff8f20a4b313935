/* client.c: a complete MCP client that uses blocking calls. It starts a server, lists its
 * resources, reads the first one and calls a tool.
 *
 *     cc client.c $(pkg-config --cflags --libs mcp-io) -o client
 *     ./client ./hello                                      list, and read the first resource
 *     ./client ./hello -- greet '{"name":"Ada"}'            also call a tool
 *
 * Everything that a server sends is untrusted text: a program for a terminal should remove control
 * characters before it prints it.
 */
#include <mcp/io.h>
#include <stdio.h>

static void print(mcp_str text)
{
    printf("%.*s\n", (int)text.len, text.ptr ? text.ptr : "");
}

/* Waits for a call and returns its result, or reports the failure and returns NULL. */
static mcp_json_doc *outcome(mcp_client *client, int rc, mcp_call_id call)
{
    mcp_error error = {0};
    mcp_json_doc *result = NULL;
    if (rc == MCP_OK)
        rc = mcp_client_wait(client, call, &result, &error);
    if (rc == MCP_OK)
        return result;
    fprintf(stderr, "client: %s\n", error.text[0] ? error.text : mcp_error_text(rc));
    mcp_json_free(result); /* a server's error object */
    return NULL;
}

static bool list_resources(mcp_client *client, char *first, size_t room)
{
    mcp_call_id call = 0;
    int rc = mcp_client_list_all(client, "resources/list", NULL, NULL, &call);
    mcp_json_doc *result = outcome(client, rc, call);
    const mcp_json *list = mcp_json_get(result ? mcp_json_root(result) : NULL, "resources");
    mcp_json_iter it = {0};
    for (const mcp_json *r; (r = mcp_json_next(list, &it, NULL)) != NULL;) {
        mcp_str uri = mcp_json_string(mcp_json_get(r, "uri"));
        if (!*first && uri.len < room)
            snprintf(first, room, "%.*s", (int)uri.len, uri.ptr);
        print(uri);
    }
    bool ok = result != NULL;
    mcp_json_free(result);
    return ok;
}

static bool read_resource(mcp_client *client, const char *uri)
{
    mcp_call_id call = 0;
    int rc = mcp_client_read(client, uri, NULL, &call);
    mcp_json_doc *result = outcome(client, rc, call);
    const mcp_json *contents = mcp_json_get(result ? mcp_json_root(result) : NULL, "contents");
    print(mcp_json_string(mcp_json_get(mcp_json_at(contents, 0), "text")));
    bool ok = result != NULL;
    mcp_json_free(result);
    return ok;
}

static bool call_tool(mcp_client *client, const char *name, const char *arguments)
{
    mcp_call_id call = 0;
    int rc = mcp_client_call_tool(client, name, arguments, NULL, &call);
    mcp_json_doc *result = outcome(client, rc, call);
    const mcp_json *root = result ? mcp_json_root(result) : NULL;
    bool ok = result && !mcp_json_bool(mcp_json_get(root, "isError"), false);
    print(mcp_json_string(mcp_json_get(mcp_json_at(mcp_json_get(root, "content"), 0), "text")));
    mcp_json_free(result);
    return ok;
}

/* Splits "client SERVER [ARGUMENT...] [-- TOOL [JSON]]": ends the server's command at "--" and
 * returns the arguments after it. */
static char **split(char **argv)
{
    while (*argv && strcmp(*argv, "--") != 0)
        argv++;
    if (!*argv)
        return argv;
    *argv = NULL;
    return argv + 1;
}

int main(int argc, char **argv)
{
    char first[1024] = "";
    mcp_loop *loop = NULL;
    mcp_client *client = NULL;
    mcp_child *child = NULL;
    mcp_error error = {0};
    if (argc < 2) {
        fprintf(stderr, "usage: client SERVER [ARGUMENT...] [-- TOOL [JSON]]\n");
        return 2;
    }
    char **tool = split(argv + 1);
    int rc = mcp_loop_new(NULL, &loop, &error);
    if (rc == MCP_OK)
        rc = mcp_client_new(MCP_OPTIONS(mcp_client_options, .name = "client", .version = "1.0"),
                            &client, &error);
    if (rc == MCP_OK)
        rc = mcp_child_spawn(
            loop, client, MCP_OPTIONS(mcp_child_options, .argv = (const char *const *)(argv + 1)),
            &child, &error);
    if (rc == MCP_OK)
        rc = mcp_client_wait(client, 0, NULL, &error); /* the revision is negotiated */
    if (rc != MCP_OK)
        fprintf(stderr, "client: %s\n", error.text);
    bool ok = rc == MCP_OK && list_resources(client, first, sizeof(first));
    if (ok && *first)
        ok = read_resource(client, first);
    if (ok && *tool)
        ok = call_tool(client, tool[0], tool[1]);
    mcp_child_close(child);
    mcp_client_free(client);
    mcp_loop_free(loop);
    return ok ? 0 : 1;
}
