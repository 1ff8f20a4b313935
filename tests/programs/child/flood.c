/* flood.c: a module whose process floods its server with unsolicited data. Reading flood://f/WHAT
 * makes the process send this kind of data endlessly, on descriptor 5 or 4. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <mcp/mcp.h>
#include <mcp/module.h>
#include <mcp/sys/forward.h>

enum { QUESTIONS = 4, PEER = 5, MESSAGES = 1000 };

static bool has(mcp_str uri, const char *what)
{
    return memmem(uri.ptr, uri.len, what, strlen(what)) != NULL;
}

static void put(int fd, const char *text, size_t len)
{
    while (len) {
        ssize_t n = write(fd, text, len);
        if (n < 0 && errno == EAGAIN) {
            poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, -1);
            continue;
        }
        if (n <= 0)
            _exit(1);
        text += n;
        len -= (size_t)n;
    }
}

/* Sends a text again and again, many times with each write(). */
static void repeat(int fd, const char *text)
{
    size_t len = strlen(text);
    char *many = malloc(len * MESSAGES);
    if (!many)
        _exit(1);
    for (size_t i = 0; i < MESSAGES; i++)
        memcpy(many + i * len, text, len);
    for (;;)
        put(fd, many, len * MESSAGES);
}

/* Reports progress of the request endlessly. */
static void report(mcp_request *req)
{
    int64_t token = mcp_json_int(mcp_json_get(mcp_request_meta(req), "progressToken"), 0);
    char text[200];
    for (long i = 1;; i++) {
        int n = snprintf(text, sizeof(text),
                         "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{"
                         "\"progressToken\":%lld,\"progress\":%ld}}\n",
                         (long long)token, i);
        put(PEER, text, (size_t)n);
    }
}

/* A page with more entries than were requested. None of them may be shown. */
static int page(mcp_request *req)
{
    static const char entry[] = "{\"uri\":\"other://x\",\"name\":\"x\"},";
    enum { ENTRIES = 100000 };
    char *text = malloc(sizeof(entry) * ENTRIES + 100), *at = text;
    if (!text)
        return MCP_ENOMEM;
    at = stpcpy(at, "{\"resources\":[");
    for (size_t i = 0; i < ENTRIES; i++)
        at = stpcpy(at, entry);
    strcpy(at - 1, "]}");
    int rc = mcp_reply_raw_page(req, MCP_OPTIONS(mcp_raw, .json = mcp_str_from(text)));
    free(text);
    return rc;
}

/* A result with ten million values, which fills the memory of its reader. */
static int values(mcp_request *req)
{
    static const char head[] =
        "{\"contents\":[{\"uri\":\"flood://f/values\",\"text\":\"\",\"_meta\":{"
        "\"x\":[0";
    enum { VALUES = 10000000 };
    char *text = malloc(sizeof(head) + 2 * VALUES + 10), *at = text;
    if (!text)
        return MCP_ENOMEM;
    at = stpcpy(at, head);
    for (size_t i = 0; i < VALUES; i++)
        at = stpcpy(at, ",0");
    strcpy(at, "]}}]}");
    int rc = mcp_reply_raw(req, MCP_OPTIONS(mcp_raw, .json = mcp_str_from(text)));
    free(text);
    return rc;
}

static const struct {
    const char *what;
    int fd;
    const char *text;
} floods[] = {
    {"/notices", PEER,
     "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/resources/list_changed\",\"params\":{}}\n"},
    {"/updates", PEER,
     "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/resources/updated\",\"params\":{\"uri\":"
     "\"flood://f/a\"}}\n"},
    {"/answers", PEER, "{\"jsonrpc\":\"2.0\",\"id\":123456,\"result\":{}}\n"},
    {"/requests", PEER, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"roots/list\"}\n"},
    {"/junk", PEER, "{}\n"},
    {"/noise", PEER, "x\n"},
    {"/batches", PEER, "[{},{},{}]\n"},
    {"/questions", QUESTIONS, "{\"item\":0,\"names\":[\"flood://f/a\"]}\n"},
    {"/nonsense", QUESTIONS, "{}\n"},
    {"/logs", QUESTIONS, "{\"log\":\"debug\",\"text\":\"x\"}\n"},
    {"/letters", QUESTIONS, "x"},
    {"/line", PEER, "0123456789abcdef0123456789abcdef"},
};

static int read_one(mcp_request *req, mcp_str uri, void *user)
{
    (void)user;
    for (size_t i = 0; i < sizeof(floods) / sizeof(floods[0]); i++) {
        if (has(uri, floods[i].what))
            repeat(floods[i].fd, floods[i].text);
    }
    if (has(uri, "/progress"))
        report(req);
    if (has(uri, "/values"))
        return values(req);
    return mcp_reply_text(req, "good");
}

static bool many; /* resources/list returns a page that is too long */

static int list(mcp_request *req, mcp_str cursor, size_t max, void *user)
{
    (void)cursor, (void)max, (void)user;
    return many ? page(req) : MCP_OK;
}

static int mount(mcp_server *server, const char *source, const mcp_json *options, const char *name,
                 mcp_error *error)
{
    const mcp_provider provider = {
        .size = sizeof(provider), .name = "flood", .list = list, .read = read_one};
    (void)options, (void)name;
    many = strcmp(source, "entries") == 0;
    return mcp_server_mount(server, "flood://f/", &provider, NULL, error);
}

MCP_MODULE(flood, .mount = mount);
