/* mortal.c: a module with a resource mortal://NAME/WHAT for each way in which its process can
 * end. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <mcp/mcp.h>
#include <mcp/module.h>
#include <mcp/sys/forward.h>

static void hang(unsigned seconds)
{
    struct timespec t = {.tv_sec = seconds};
    nanosleep(&t, NULL);
}

static void slow(void *arg)
{
    (void)arg;
    hang(1);
}

static void very_slow(void *arg)
{
    (void)arg;
    hang(6);
}

static void after(mcp_request *req, void *arg)
{
    (void)arg;
    mcp_reply_finish(req, mcp_reply_text(req, "slow"));
}

static bool has(mcp_str uri, const char *what)
{
    return memmem(uri.ptr, uri.len, what, strlen(what)) != NULL;
}

static int answer(mcp_request *req, mcp_str uri)
{
    if (has(uri, "/die"))
        raise(SIGSEGV);
    if (has(uri, "/exit"))
        _exit(3);
    if (has(uri, "/hang"))
        hang(60);
    if (has(uri, "/long"))
        return mcp_request_work(req, very_slow, after, NULL);
    if (has(uri, "/slow"))
        return mcp_request_work(req, slow, after, NULL);
    if (has(uri, "/who")) {
        const char *principal = mcp_request_principal(req);
        const mcp_json *info = mcp_request_client_info(req);
        return mcp_reply_textf(
            req, "%d %s %.*s %s %d %d", (int)getpid(), principal ? principal : "-",
            (int)mcp_json_string(mcp_json_get(info, "name")).len,
            mcp_json_string(mcp_json_get(info, "name")).ptr, mcp_request_revision(req),
            mcp_request_restricted(req),
            mcp_request_may(req, MCP_ITEM_RESOURCE, MCP_STR("mortal://m/secret")));
    }
    if (has(uri, "/none"))
        return MCP_ENOTFOUND;
    if (has(uri, "/forged")) {
        const mcp_raw forged = {
            .size = sizeof(forged),
            .json = MCP_STR("{\"contents\":[{\"uri\":\"git://other/a\",\"text\":\"forged\"}]}")};
        return mcp_reply_raw(req, &forged);
    }
    if (has(uri, "/bytes"))
        return mcp_reply_bytes(req, "\0\1\377", 3, "application/octet-stream");
    return mcp_reply_text(req, "alive");
}

static int read_one(mcp_request *req, mcp_str uri, void *user)
{
    (void)user;
    return answer(req, uri);
}

static int read_template(mcp_request *req, mcp_str uri, const mcp_uri_match *match, void *user)
{
    (void)match, (void)user;
    return answer(req, uri);
}

static int complete(mcp_request *req, mcp_str name, mcp_str value, const mcp_json *context,
                    void *user)
{
    (void)name, (void)context, (void)user;
    if (has(value, "die"))
        raise(SIGSEGV);
    return mcp_reply_completion(req, MCP_STR("alive"));
}

static mcp_server *the_server;
static bool forges; /* the list has a URI of another source */

static int list(mcp_request *req, mcp_str cursor, size_t max, void *user)
{
    static const char *const names[] = {"a", "b", "c", "d", "secret"};
    size_t i = cursor.len ? (size_t)(cursor.ptr[0] - '0') : 0;
    int rc = MCP_OK;
    (void)user;
    for (; rc == MCP_OK && max && i < 5; i++, max--) {
        char uri[64];
        snprintf(uri, sizeof(uri), "%s://m/%s", forges && i == 1 ? "git" : "mortal", names[i]);
        rc = mcp_reply_resource(req, MCP_OPTIONS(mcp_resource, .uri = uri, .name = names[i]));
    }
    char next = (char)('0' + i);
    return rc == MCP_OK && i < 5 ? mcp_reply_next(req, (mcp_str){&next, 1}) : rc;
}

static int resolve(mcp_str uri, char *canonical, size_t room, void *user)
{
    (void)user;
    if (has(uri, "/none"))
        return MCP_ENOTFOUND;
    int n = snprintf(canonical, room, "%.*s", (int)uri.len, uri.ptr);
    return n > 0 && (size_t)n < room ? MCP_OK : MCP_ELIMIT;
}

static int watch(const char *canonical, void *user)
{
    (void)canonical, (void)user;
    return MCP_OK;
}

static void unwatch(const char *canonical, void *user)
{
    (void)canonical, (void)user;
}

static int call(mcp_request *req, const mcp_json *arguments, void *user)
{
    mcp_str what = mcp_json_string(mcp_json_get(arguments, "what"));
    (void)user;
    if (mcp_str_eq(what, MCP_STR("change"))) {
        mcp_server_resource_updated(the_server, "mortal://m/a");
        mcp_server_resources_changed(the_server);
    }
    mcp_request_progress(req, 1, 2, "half");
    return what.len ? answer(req, what) : mcp_reply_text(req, "called");
}

static int get(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)user;
    if (mcp_json_get(arguments, "die"))
        raise(SIGSEGV);
    return mcp_reply_text(req, "prompted");
}

/* Returns whether the file at the path contains "good", or is a folder. */
static bool is_good(const char *path)
{
    char text[5] = "";
    struct stat st;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return true;
    FILE *f = fopen(path, "re");
    bool good = f && fgets(text, sizeof(text), f) && strcmp(text, "good") == 0;
    if (f)
        fclose(f);
    return good;
}

static int mount(mcp_server *server, const char *source, const mcp_json *options, const char *name,
                 mcp_error *error)
{
    static const mcp_prompt_argument arguments[] = {
        {.size = sizeof(mcp_prompt_argument), .name = "die"}};
    const mcp_provider provider = {.size = sizeof(provider),
                                   .name = "mortal",
                                   .list = list,
                                   .read = read_one,
                                   .resolve = resolve,
                                   .watch = watch,
                                   .unwatch = unwatch};
    (void)options, (void)name;
    the_server = server;
    forges = strcmp(source, "forge") == 0;
    if (strcmp(source, "refuse") == 0 || (source[0] == '/' && !is_good(source))) {
        snprintf(error->text, sizeof(error->text), "it does not want to");
        return error->code = MCP_EACCESS;
    }
    int rc =
        mcp_server_mount(server, strcmp(source, "other") == 0 ? "mortal://other/" : "mortal://m/",
                         &provider, NULL, error);
    if (rc == MCP_OK && strcmp(source, "greedy") == 0)
        rc = mcp_server_add_tool(server, MCP_OPTIONS(mcp_tool, .name = "extra", .call = call), NULL,
                                 error);
    if (rc == MCP_OK)
        rc = mcp_server_add_template(server,
                                     MCP_OPTIONS(mcp_resource_template,
                                                 .uri_template = "mortal://m/t/{what}", .name = "t",
                                                 .read = read_template, .complete = complete),
                                     NULL, error);
    if (rc == MCP_OK)
        rc = mcp_server_add_prompt(server,
                                   MCP_OPTIONS(mcp_prompt, .name = "p", .arguments = arguments,
                                               .n_arguments = 1, .get = get),
                                   NULL, error);
    return rc == MCP_OK
               ? mcp_server_add_tool(
                     server,
                     MCP_OPTIONS(mcp_tool, .name = "mortal", .read_only = MCP_HINT_YES,
                                 .input_schema = "{\"type\":\"object\",\"properties\":{\"what\":{"
                                                 "\"type\":\"string\"}}}",
                                 .call = call),
                     NULL, error)
               : rc;
}

MCP_MODULE(mortal, .mount = mount);
