/* login.c: lists the resources of a server that requires a login (OAuth). The login is stored in
 * login.json, so the next start needs no person: ./login https://mcp.example.com/mcp */
#include <mcp/io.h>
#include <stdio.h>

/* Nothing listens at the redirect URI: the browser shows an error page, whose address is copied. */
static int visit(mcp_oauth_client *oauth, const mcp_oauth_visit *page, void *error)
{
    char line[4096];
    printf("Open %s\nThen paste the address of the page at which the browser ends:\n", page->url);
    if (fflush(stdout) != 0 || !fgets(line, sizeof(line), stdin))
        return MCP_EACCESS;
    return mcp_oauth_client_redirected(oauth, (mcp_str){line, strcspn(line, "\r\n")}, error);
}

int main(int argc, char **argv)
{
    mcp_loop *loop = NULL;
    mcp_client *client = NULL;
    mcp_http_client *http = NULL;
    mcp_oauth_client *oauth = NULL;
    mcp_oauth_file_store *store = NULL;
    mcp_auth_host host = {.size = sizeof(host)};
    mcp_json_doc *result = NULL;
    mcp_error error = {.text = "usage: login URL"}, typing;
    mcp_call_id call = 0;
    bool ok = argc == 2 && !mcp_loop_new(NULL, &loop, &error);
    if (ok)
        mcp_loop_auth_host(loop, &host);
    ok = ok && !mcp_oauth_file_store_new(
                   loop, MCP_OPTIONS(mcp_oauth_file_options, .path = "login.json"), &store, &error);
    ok = ok &&
         !mcp_oauth_client_new(
             MCP_OPTIONS(mcp_oauth_client_options, .server = argv[1], .client_name = "login",
                         .redirect_uri = "http://127.0.0.1:8123/callback", .visit = visit,
                         .user = &typing, .store = mcp_oauth_file_store_get(store), .host = &host),
             &oauth, &error);
    mcp_http_client_options to = {.size = sizeof(to), .url = argv[1], .oauth = oauth};
    mcp_client_options options = {
        .size = sizeof(options), .name = "login", .version = "1.0", .timeout_ms = MCP_NO_TIMEOUT};
    ok = ok && !mcp_client_new(&options, &client, &error) &&
         !mcp_http_client_connect(loop, client, &to, &http, &error) &&
         !mcp_client_list_all(client, "resources/list", NULL, NULL, &call) &&
         !mcp_client_wait(client, call, &result, &error);
    const mcp_json *list = mcp_json_get(mcp_json_root(result), "resources");
    for (size_t i = 0; i < mcp_json_count(list); i++) {
        mcp_str uri = mcp_json_string(mcp_json_get(mcp_json_at(list, i), "uri"));
        printf("%.*s\n", (int)uri.len, uri.ptr ? uri.ptr : "");
    }
    if (!ok)
        fprintf(stderr, "login: %s\n", error.text);
    mcp_json_free(result);
    mcp_http_client_close(http);
    mcp_client_free(client);
    mcp_oauth_client_free(oauth);
    mcp_oauth_file_store_free(store);
    mcp_loop_free(loop);
    return ok ? 0 : 1;
}
