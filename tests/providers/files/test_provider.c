/* The files provider from a peer's point of view: requests, and what the replies must contain.
 * There is no host, so requests are answered synchronously; tests/programs/mcpd.bats tests workers
 * and watches. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <ftw.h>
#include <mcp/sys/server.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "bridge.h"
#include "failalloc.h"
#include "fakehost.h"
#include "file_parts.h"
#include "files.h"
#include "support/wait.h"

static char top[64];

static void put(const char *path, const char *bytes, size_t len)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, len), (ssize_t)len);
    close(fd);
}

static int setup(void **state)
{
    (void)state;
    strcpy(top, "/tmp/mcp-files-XXXXXX");
    if (!mkdtemp(top) || chdir(top) != 0)
        return -1;
    put("README.md", "# read me\n", 10);
    put("lines", "one\ntwo\nthree\nfour\n", 19);
    put("bytes.bin", "\0\1\2\377", 4);
    put("odd %41?#é.txt", "odd", 3);
    put("bad\377name", "x", 1);
    put(".hidden", "x", 1);
    put(".gitignore", "*.o\n", 4);
    put("a.o", "x", 1);
    put("text.bin", "plain", 5); /* the contents do not match the type of the name */
    put("bytes.txt", "a\303", 2);
    put("nul.txt", "a\0b", 3);
    put("empty.bin", "", 0);
    put("u16.rc", "\xff\xfe\xe4\0\n\0\x0a\x4e\n\0b\0",
        12); /* ä, a character with the byte of a line feed, b */
    put("u16be.txt", "\xfe\xff\0a\0\n\x30\x42", 8);
    put("u16.bad",
        "\xff\xfe\0\xd8"
        "a\0",
        6);
    put("u16.nul",
        "\xff\xfe"
        "a\0\0\0",
        6);
    put("u16.half",
        "\xff\xfe"
        "a\0b",
        5);
    put("u32.txt", "\xff\xfe\0\0\n\0\0\0\x0a\xf4\1\0", 12);
    put("u16.none", "a\0b\0", 4);
    struct timespec then[2] = {{0, 0}, {951782400, 0}}; /* 2000-02-29 */
    return mkdir("d", 0755) || mkdir("d/e", 0755) || mkfifo("d/fifo", 0644) ||
                   symlink("/etc/passwd", "out") || symlink("lines", "in") ||
                   utimensat(AT_FDCWD, "lines", then, 0)
               ? -1
               : 0;
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

static int teardown(void **state)
{
    (void)state;
    return chdir("/") == 0 ? nftw(top, remove_entry, 16, FTW_DEPTH | FTW_PHYS) : -1;
}

/* ---- a server and its peer ------------------------------------------------------------------- */

typedef struct peer {
    mcp_server *server;
    mcp_channel *channel;
    mcp_bridge *bridge;
    bool tools; /* also adds the tools of the bridge */
    char reply[64 << 10];
    fakehost host;
} peer;

static void keep(mcp_channel *channel, mcp_exchange exchange, mcp_str message, void *user)
{
    peer *p = user;
    (void)channel, (void)exchange;
    size_t len = message.len < sizeof(p->reply) ? message.len : sizeof(p->reply) - 1;
    memcpy(p->reply, message.ptr, len);
    p->reply[len] = 0;
}

static int add_tools(peer *p, mcp_files *handle, const mcp_allocator *alloc)
{
    search_source files = mcp_files_search(handle);
    int rc = mcp_bridge_new(p->server, MCP_OPTIONS(mcp_bridge_options, .allocator = alloc),
                            &p->bridge, NULL);
    return rc == MCP_OK ? mcp_bridge_add_tools(p->bridge, &files, 1, NULL) : rc;
}

static int peer_open(peer *p, mcp_files_options *o, const mcp_host *host)
{
    const char *source = top;
    mcp_files *handle = NULL;
    mcp_error error;
    o->size = sizeof(*o);
    if (!o->sources)
        o->sources = &source, o->n_sources = 1;
    assert_int_equal(mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "t", .version = "1",
                                                .coalesce_ms = 1, .host = host),
                                    &p->server, &error),
                     MCP_OK);
    o->handle = &handle;
    int rc = mcp_files_mount(p->server, o, &error);
    if (rc == MCP_OK && p->tools)
        rc = add_tools(p, handle, o->allocator);
    if (o->sources == &source)
        o->sources = NULL;
    if (rc != MCP_OK)
        return rc;
    return mcp_server_connect(
        p->server, MCP_OPTIONS(mcp_channel_options, .send = keep, .user = p, .shared_stream = true),
        &p->channel, &error);
}

static void peer_close(peer *p)
{
    mcp_channel_free(p->channel);
    mcp_bridge_free(p->bridge);
    mcp_server_free(p->server);
    *p = (peer){0};
}

/* Sends a modern request; "$T" in params is the folder. */
static const char *ask(peer *p, const char *method, const char *params)
{
    char message[4096], *to = message;
    to += sprintf(to,
                  "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":{\"_meta\":{"
                  "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
                  "\"io.modelcontextprotocol/clientCapabilities\":{}}%s",
                  method, *params ? "," : "");
    for (; *params; params++) {
        if (strncmp(params, "$T", 2) == 0)
            to += sprintf(to, "%s", top), params++;
        else
            *to++ = *params;
    }
    to += sprintf(to, "}}");
    p->reply[0] = 0;
    mcp_channel_receive(p->channel, 0, (mcp_str){message, (size_t)(to - message)}, 0);
    return p->reply;
}

/* ---- requests and replies -------------------------------------------------------------------- */

#define READ     "resources/read"
#define URI(u)   "\"uri\":\"file://$T" u "\""
#define TOOL(a)  "\"name\":\"read_resource\",\"arguments\":{" a "}"
#define REF      "\"ref\":{\"type\":\"ref/resource\",\"uri\":\"file://{+path}\"}"
#define NOTFOUND "\"code\":-32602,\"message\":\"Resource not found"

static const struct exchange {
    const char *method, *params;
    /* strings that the reply must contain, or must lack if they begin with "!" */
    const char *has[4];
} exchanges[] = {
    {"resources/list",
     "",
     {"\"uri\":\"file:///tmp/", "\"lastModified\":\"2000-02-29T00:00:00Z\"", "!nextCursor",
      "!fifo"}},
    {"resources/list", "", {"README.md\",\"mimeType\":\"text/markdown\"", "\"priority\":0.9"}},
    {"resources/list",
     "",
     {"bad%FFname\",\"name\":\"bad\xef\xbf\xbdname\"", "odd%20%2541%3F%23%C3%A9"}},
    {"resources/list", "", {"!hidden", "!a.o", "!/out", "/in\""}},
    {"resources/list", "\"cursor\":\"x\"", {"-32602"}},
    {READ, URI("/lines"), {"\"text\":\"one\\ntwo", "text/plain"}},
    {READ, URI("/bytes.bin"), {"\"blob\":\"AAEC/w==\"", "application/octet-stream"}},
    {READ, URI("/text.bin"), {"\"mimeType\":\"", "\"text\":\"plain\"", "!blob"}},
    {READ, URI("/bytes.txt"), {"\"mimeType\":\"", "\"blob\":\"YcM=\"", "!\"text\""}},
    {READ, URI("/nul.txt"), {"\"mimeType\":\"", "\"blob\":\"YQBi\"", "!\"text\""}},
    {READ, URI("/empty.bin"), {"\"mimeType\":\"", "\"text\":\"\"", "!blob"}},
    {READ, URI("/bytes.txt?length=1"), {"\"mimeType\":\"", "\"text\":\"a\"", "!blob"}},
    {READ, URI("/bytes.txt?offset=1"), {"\"mimeType\":\"", "\"blob\":\"ww==\"", "!\"text\""}},
    /* UTF-16 with a mark is text, but not its bytes */
    {READ,
     URI("/u16.rc"),
     {"\"text\":\"\xef\xbb\xbf\xc3\xa4\\n\xe4\xb8\x8a\\nb\"", ";charset=utf-16le\"", "!blob"}},
    {READ, URI("/u16.rc?line=2&lines=1"), {"\"text\":\"\xe4\xb8\x8a\\n\"", ";charset=utf-16le\""}},
    {READ, URI("/u16.rc?tail=1"), {"\"text\":\"b\"", ";charset=utf-16le\""}},
    {READ, URI("/u16.rc?offset=0"), {"\"blob\":\"//7kAAoACk4KAGIA\"", "!charset"}},
    {READ, URI("/u16be.txt"), {"a\\n\xe3\x81\x82\"", "\"text/plain;charset=utf-16be\""}},
    {READ, URI("/u16.bad"), {"\"blob\":\"//4A2GEA\"", "!charset"}},
    {READ, URI("/u16.nul"), {"\"blob\":\"//5hAAAA\"", "!charset"}},
    {READ, URI("/u16.half"), {"\"blob\":\"//5hAGI=\"", "!charset"}},
    {READ, URI("/u32.txt?tail=1"), {"\"blob\":\"CvQBAA==\"", "!charset"}},
    {READ, URI("/u16.none"), {"\"blob\":\"YQBiAA==\"", "!charset"}},
    {READ, URI("/odd%20%2541%3F%23%C3%A9.txt"), {"\"text\":\"odd\""}},
    {READ, URI("/bad%FFname"), {"\"text\":\"x\""}},
    {READ, URI("/in"), {"\"text\":\"one"}},
    {READ, "\"uri\":\"file://localhost$T/lines\"", {"\"text\":\"one"}},
    {READ, "\"uri\":\"FILE:$T/lines\"", {"\"text\":\"one"}},
    {READ, URI(""), {"inode/directory", "folder\\t-\\tfile://", "file\\t19\\tfile://", "!hidden"}},
    {READ, URI("/d/"), {"/d/e\\n", "!fifo"}},
    /* parts */
    {READ, URI("/lines?offset=4&length=3"), {"\"text\":\"two\""}},
    {READ, URI("/lines?length=3"), {"\"text\":\"one\""}},
    {READ, URI("/lines?offset=14"), {"\"text\":\"four\\n\""}},
    {READ, URI("/lines?offset=99"), {"\"text\":\"\""}},
    {READ, URI("/lines?lines=1&line=2"), {"\"text\":\"two\\n\""}},
    {READ, URI("/lines?line=4"), {"\"text\":\"four\\n\""}},
    {READ, URI("/lines?tail=2"), {"\"text\":\"three\\nfour\\n\""}},
    {READ, URI("?depth=2"), {"/d/e\\n"}},
    {READ, URI("?limit=1"), {"There are more entries"}},
    {READ, URI("/lines?tail=0"), {"-32602", "tail must be a whole number from 1"}},
    {READ, URI("/lines?tail=x"), {"-32602", "tail must be"}},
    {READ, URI("/lines?offset=-1"), {"-32602", "offset must be a whole number from 0"}},
    {READ, URI("/lines?length=99999999999999999999"), {"-32602", "length must be"}},
    {READ, URI("?depth=65"), {"-32602", "from 1 to 64"}},
    {READ, URI("/lines?depth=1"), {"-32602", "not a folder"}},
    {READ, URI("?tail=1"), {"-32602", "is a folder"}},
    {READ, URI("/lines?offset=1&tail=1"), {"-32602"}},
    {READ, URI("/lines?nonsense=1"), {"-32602"}},
    /* what is not served */
    {READ, URI("/none"), {NOTFOUND, "/none\"}"}},
    {READ, URI("/.hidden"), {NOTFOUND}},
    {READ, URI("/a.o"), {NOTFOUND}},
    {READ, URI("/out"), {NOTFOUND}},
    {READ, URI("/d/fifo"), {NOTFOUND}},
    {READ, URI("/lines/"), {NOTFOUND}},
    {READ, URI("/d/../lines"), {NOTFOUND}},
    {READ, URI("/d/%2e%2e/lines"), {NOTFOUND}},
    {READ, URI("/d%2flines"), {NOTFOUND}},
    {READ, URI("/lines%00"), {"-32602"}},
    {READ, "\"uri\":\"file:///etc/passwd\"", {NOTFOUND}},
    {READ, "\"uri\":\"file://$T-evil/x\"", {NOTFOUND}},
    {READ, "\"uri\":\"file://elsewhere$T/lines\"", {NOTFOUND}},
    /* completion */
    {"completion/complete",
     REF ",\"argument\":{\"name\":\"path\",\"value\":\"/tmp/mcp-files-\"}",
     {"\"total\":1,"}},
    {"completion/complete",
     REF ",\"argument\":{\"name\":\"path\",\"value\":\"$T/l\"}",
     {"/lines\"]", "\"total\":1,"}},
    {"completion/complete",
     REF ",\"argument\":{\"name\":\"path\",\"value\":\"$T/od\"}",
     {"/odd %2541%3F%23é.txt\"]"}},
    {"completion/complete",
     REF ",\"argument\":{\"name\":\"path\",\"value\":\"$T/odd%20%2541\"}",
     {"/odd %2541%3F%23é.txt\"]"}},
    {"completion/complete",
     REF ",\"argument\":{\"name\":\"path\",\"value\":\"/etc/pass\"}",
     {"\"values\":[]", "\"hasMore\":false"}},
    {"resources/templates/list",
     "",
     {"file://{+path}\"", "{?offset,length}", "{?line,lines}", "{?depth,limit}"}},
    /* tools */
    {"tools/call",
     TOOL("\"uri\":\"file://$T/lines\",\"line\":2,\"lines\":1"),
     {"\"text\":\"two\\n\""}},
    {"tools/call", TOOL("\"uri\":\"file://$T/bytes.bin\""), {"\"type\":\"resource\"", "AAEC/w=="}},
    {"tools/call", TOOL("\"uri\":\"file://$T/none\""), {"\"isError\":true", "list_resources"}},
    {"tools/call",
     TOOL("\"uri\":\"file://$T/lines\",\"depth\":1"),
     {"\"isError\":true", "not a folder"}},
    {"tools/call", TOOL("\"uri\":\"file://$T/lines\",\"tail\":1.5"), {"\"isError\":true", "/tail"}},
    {"tools/call",
     TOOL("\"uri\":\"file://$T/lines?tail=1\""),
     {"\"text\":\"four\\n\"", "!isError"}},
    {"tools/call", TOOL("\"uri\":\"file://$T/lines?line=2\",\"lines\":1"), {"\"text\":\"two\\n\""}},
    {"tools/call",
     TOOL("\"uri\":\"file://$T/lines?line=2\",\"tail\":1"),
     {"\"isError\":true", "!two"}},
    {"tools/call", TOOL(""), {"\"isError\":true", "missing property"}},
    {"tools/call",
     "\"name\":\"list_resources\",\"arguments\":{\"pattern\":\"*.md\"}",
     {"README.md\\n", "!lines"}},
    {"tools/call",
     "\"name\":\"list_resources\",\"arguments\":{\"limit\":1}",
     {"cursor: 1:", "template\\t-\\tfile://{+path}\\t"}},
    {"tools/call",
     "\"name\":\"list_resources\",\"arguments\":{\"pattern\":\"*.md\",\"cursor\":\"0:0.1.\"}",
     {"README.md\\n", "!cursor"}},
    {"tools/call",
     "\"name\":\"list_resources\",\"arguments\":{\"pattern\":\"*\",\"cursor\":\"0:0.1../..\"}",
     {"\"isError\":true", "cursor"}},
    {"tools/call",
     "\"name\":\"list_resources\",\"arguments\":{\"cursor\":\"0:0.1.\"}",
     {"\"isError\":true", "cursor"}},
    {"tools/call",
     "\"name\":\"list_resources\",\"arguments\":{\"cursor\":\"zzz\"}",
     {"\"isError\":true", "cursor"}},
};

static void check_exchange(peer *p, const struct exchange *e)
{
    const char *reply = ask(p, e->method, e->params);
    for (size_t i = 0; i < 4 && e->has[i]; i++) {
        bool absent = e->has[i][0] == '!';
        if ((strstr(reply, e->has[i] + absent) != NULL) == absent)
            fail_msg("%s {%s}: %s%s\n%s", e->method, e->params, absent ? "has " : "lacks ",
                     e->has[i] + absent, reply);
    }
}

static void test_exchanges(void **state)
{
    peer p = {.tools = true};
    mcp_files_options o = {0};
    (void)state;
    assert_int_equal(peer_open(&p, &o, NULL), MCP_OK);
    for (size_t i = 0; i < sizeof(exchanges) / sizeof(*exchanges); i++)
        check_exchange(&p, &exchanges[i]);
    peer_close(&p);
}

/* Each parameter of the table reads something else than the whole file or folder. */
static void test_parameters(void **state)
{
    peer p = {0};
    mcp_files_options o = {0};
    char whole[2][sizeof(p.reply)];
    (void)state;
    assert_int_equal(peer_open(&p, &o, NULL), MCP_OK);
    strcpy(whole[0], ask(&p, READ, URI("/lines")));
    strcpy(whole[1], ask(&p, READ, URI("")));
#define PART(kind, name, title, about, parameters) parameters
#define OF_FILE(kind, member, name, value, bounds, about) \
    {"\"uri\":\"file://$T/lines?" name "=2\"", whole[0]},
#define OF_FOLDER(kind, member, name, value, bounds, about) \
    {"\"uri\":\"file://$T?" name "=2\"", whole[1]},
    const struct {
        const char *params, *whole;
    } reads[] = {COMMON_FILE_PARTS(PART, OF_FILE, OF_FILE)
                     COMMON_FOLDER_PARTS(PART, OF_FOLDER, OF_FOLDER)};
    for (size_t i = 0; i < sizeof(reads) / sizeof(*reads); i++) {
        const char *reply = ask(&p, READ, reads[i].params), *text = strstr(reply, "\"text\"");
        if (!text || strcmp(text, strstr(reads[i].whole, "\"text\"")) == 0)
            fail_msg("{%s} is the same, or nothing: %s", reads[i].params, reply);
    }
    peer_close(&p);
}

static void test_too_large(void **state)
{
    peer p = {0};
    mcp_files_options o = {.max_read = 10};
    (void)state;
    assert_int_equal(peer_open(&p, &o, NULL), MCP_OK);
    static const struct exchange large[] = {
        {READ,
         URI("/lines"),
         {"-32603", "\"size\":19,\"limit\":10",
          "\"uriTemplate\":\"file://{+path}{?offset,length}\"", "/lines\""}},
        {READ, URI("/README.md"), {"\"text\":\"# read me\\n\""}},
        {READ, URI("/lines?offset=4"), {"-32603"}},
        {READ, URI("/lines?offset=9"), {"\"text\":\"hree\\nfour\\n\""}},
        {READ, URI("/lines?length=11"), {"-32602", "from 1 to 10"}},
        {READ, URI("/lines?line=1"), {"-32603"}},
        {READ, URI("/lines?tail=4"), {"-32603"}},
        {READ, URI("/lines?tail=1"), {"\"text\":\"four\\n\""}},
        {READ, URI(""), {"-32603"}},
    };
    for (size_t i = 0; i < sizeof(large) / sizeof(*large); i++)
        check_exchange(&p, &large[i]);
    peer_close(&p);
}

static void test_sources(void **state)
{
    static const struct {
        const char *source;
        int rc;
    } cases[] = {{"none", MCP_ENOTFOUND}, {"d/fifo", MCP_EACCESS}, {"", MCP_EINVAL},
                 {"d/../d", MCP_OK},      {"in", MCP_OK},          {"/", MCP_OK}};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        peer p = {0};
        mcp_files_options o = {.sources = &cases[i].source, .n_sources = 1};
        assert_int_equal(peer_open(&p, &o, NULL), cases[i].rc);
        peer_close(&p);
    }
    peer p = {0};
    const char *two[] = {"d", "lines"};
    mcp_files_options o = {.sources = two, .n_sources = 2};
    assert_int_equal(peer_open(&p, &o, NULL), MCP_OK);
    check_exchange(
        &p, &(struct exchange){"resources/list",
                               "",
                               {"\"title\":\"d/e\"", "\"title\":\"lines\"", "!README", "!\"in\""}});
    peer_close(&p);
}

/* Notifications pass through the hub and use the subscriber's spelling of the URI. */
static void test_subscription(void **state)
{
    peer p = {0};
    mcp_files_options o = {0};
    (void)state;
    fakehost_init(&p.host);
    assert_int_equal(peer_open(&p, &o, &p.host.host), MCP_OK);
    ask(&p, "subscriptions/listen",
        "\"notifications\":{\"resourceSubscriptions\":[\"file://$T/%6Cines\",\"file:///etc/"
        "passwd\"]}");
    assert_non_null(strstr(p.reply, "%6Cines"));
    assert_null(strstr(p.reply, "passwd"));
    put("lines", "changed", 7);
    p.reply[0] = 0;
    for (int64_t end = wait_end(); !p.reply[0] && wait_more(end);) {
        fakehost_run(&p.host, 2);
        mcp_channel_tick(p.channel, fakehost_now(NULL));
    }
    assert_non_null(strstr(p.reply, "notifications/resources/updated"));
    assert_non_null(strstr(p.reply, "/%6Cines\""));
    mcp_channel_free(p.channel);
    p.channel = NULL;
    assert_null(p.host.poll); /* nothing is polled after the last subscription has ended */
    assert_null(p.host.timers);
    peer_close(&p);
}

/* Subscriptions reveal nothing about files outside or excluded files. */
static void test_subscribable(void **state)
{
    static const struct {
        const char *path;
        bool yes;
    } cases[] = {
        {"lines", true},         {"later", true},
        {"later/deeper", true},  {"in", true},
        {"out", false},          {"slash/etc/passwd", false},
        {"slash/etc/no", false}, {"slash/no", false},
        {"slash", false},        {"target", false},
        {"target/", false},      {"target/x", false},
        {"d/target", false},     {".later", false},
        {".hidden", false},      {"to-target/no", false},
    };
    peer p = {0};
    mcp_files_options o = {0};
    (void)state;
    assert_int_equal(symlink("/", "slash") | symlink("target", "to-target"), 0);
    put(".gitignore", "*.o\ntarget/\n", 12);
    assert_int_equal(mkdir("target", 0755), 0);
    fakehost_init(&p.host);
    assert_int_equal(peer_open(&p, &o, &p.host.host), MCP_OK);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char params[200];
        snprintf(params, sizeof(params),
                 "\"notifications\":{\"resourceSubscriptions\":[\"file://$T/%s\"]}", cases[i].path);
        if ((strstr(ask(&p, "subscriptions/listen", params), "file:///") != NULL) != cases[i].yes)
            fail_msg("%s: %s", cases[i].path, p.reply);
        mcp_channel_free(p.channel);
        assert_int_equal(mcp_server_connect(p.server,
                                            MCP_OPTIONS(mcp_channel_options, .send = keep,
                                                        .user = &p, .shared_stream = true),
                                            &p.channel, NULL),
                         MCP_OK);
    }
    peer_close(&p);
    put(".gitignore", "*.o\n", 4);
    assert_int_equal(unlink("slash") | unlink("to-target") | rmdir("target"), 0);
}

/* ---- large folders --------------------------------------------------------------------------- */

/* Enough long names that the folder counts as large on file systems whose folder sizes grow with
 * the number of entries. */
enum { MANY = 2500 };

static void make_many(void)
{
    char name[260];
    assert_int_equal(mkdir("many", 0755), 0);
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof(name), "many/%04d%0240d", i, 0);
        put(name, "", 0);
    }
}

static void remove_many(void)
{
    assert_int_equal(nftw("many", remove_entry, 16, FTW_DEPTH | FTW_PHYS), 0);
}

/* A host with one worker, whose work runs only when the test runs it. */
typedef struct deferred {
    mcp_host host;
    void (*work)(void *arg), (*done)(void *arg);
    void *arg;
} deferred;

static int defer(void (*work)(void *arg), void (*done)(void *arg), void *arg, void *user)
{
    deferred *d = user;
    d->work = work, d->done = done, d->arg = arg;
    return MCP_OK;
}

static int64_t never(void *user)
{
    (void)user;
    return 0;
}

typedef struct counted {
    peer peer;
    deferred worker;
    failalloc memory;
    mcp_allocator alloc;
    char source[100];
    const char *sources[1];
    mcp_files_options options;
} counted;

/* Opens a peer for many/ and counts the provider's allocations, some for each folder that is read. */
static void counted_open(counted *c)
{
    *c = (counted){.worker = {.host = {sizeof(mcp_host), .now = never, .work = defer}}};
    c->worker.host.user = &c->worker;
    c->alloc = failalloc_allocator(&c->memory);
    snprintf(c->source, sizeof(c->source), "%s/many", top);
    c->sources[0] = c->source;
    c->peer.tools = true;
    c->options = (mcp_files_options){.allocator = &c->alloc, .sources = c->sources, .n_sources = 1};
    assert_int_equal(peer_open(&c->peer, &c->options, &c->worker.host), MCP_OK);
}

/* Returns the largest number of allocations that a slice of this request made on the worker. A slow
 * machine needs several slices, and each reads the folder from its position on. The request may be
 * cancelled before it begins. */
static size_t work_for(const char *method, const char *params, bool cancel)
{
    static const char cancelled[] = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
                                    "\"params\":{\"requestId\":1}}";
    static counted c;
    counted_open(&c);
    assert_string_equal(ask(&c.peer, method, params), "");
    assert_non_null(c.worker.work);
    if (cancel)
        mcp_channel_receive(c.peer.channel, 0, mcp_str_from(cancelled), 0);
    size_t most = 0;
    while (c.worker.work) {
        void (*work)(void *arg) = c.worker.work;
        size_t before = c.memory.calls;
        c.worker.work = NULL;
        work(c.worker.arg);
        c.worker.done(c.worker.arg);
        if (most < c.memory.calls - before)
            most = c.memory.calls - before;
    }
    assert_int_equal(strlen(c.peer.reply) > 0, !cancel);
    peer_close(&c.peer);
    assert_int_equal(c.memory.live, 0);
    return most;
}

#define MATCH(pattern, limit) \
    "\"name\":\"list_resources\",\"arguments\":{\"pattern\":\"" pattern "\",\"limit\":" limit "}"

/* A folder is not read once per entry, whatever the limit, and nothing is read for a cancelled
 * request. */
static void test_work(void **state)
{
    struct stat st;
    (void)state;
    make_many();
    size_t one = work_for("tools/call", MATCH("nothing", "1"), false);
    assert_true(work_for("tools/call", MATCH("nothing", "1000"), false) < 2 * one);
    assert_true(work_for("tools/call", MATCH("nothing", "1"), true) < one / 2);
    if (stat("many", &st) == 0 && st.st_size > 512 << 10)
        assert_true(work_for("resources/list", "", true) <
                    work_for("resources/list", "", false) / 2);
    else
        print_message("# folders do not tell their size here: resources/list not tried\n");
    if (st.st_size > 512 << 10) /* a completion finds names in such a folder too */
        work_for("completion/complete",
                 REF ",\"argument\":{\"name\":\"path\",\"value\":\"$T/many/00\"}", false);
    remove_many();
}

/* Pages of matches: each page but the last is full, and only the last one has no cursor. */
static void test_matched_pages(void **state)
{
    peer p = {.tools = true};
    mcp_files_options o = {0};
    char params[500], cursor[200] = "", uri[200];
    (void)state;
    assert_int_equal(peer_open(&p, &o, NULL), MCP_OK);
    put("d/e/one.m", "", 0);
    put("d/two.m", "", 0);
    for (int i = 0; i < 2; i++) {
        snprintf(params, sizeof(params),
                 "\"name\":\"list_resources\",\"arguments\":{\"pattern\":\"*.m\",\"limit\":1,"
                 "\"cursor\":\"%s\"}",
                 cursor);
        ask(&p, "tools/call", params);
        snprintf(uri, sizeof(uri), "%s/%s", top, i ? "d/two.m" : "d/e/one.m");
        assert_non_null(strstr(p.reply, uri));
        const char *more = strstr(p.reply, "cursor: ");
        assert_int_equal(more == NULL, i);
        if (more)
            snprintf(cursor, sizeof(cursor), "%.*s", (int)strcspn(more + 8, "\\"), more + 8);
    }
    assert_int_equal(unlink("d/e/one.m") | unlink("d/two.m"), 0);
    for (int len = 256; len <= 257; len++) {
        snprintf(params, sizeof(params),
                 "\"name\":\"list_resources\",\"arguments\":{\"pattern\":\"%0*d\"}", len, 0);
        assert_int_equal(strstr(ask(&p, "tools/call", params), "isError\":true") != NULL,
                         len > 256);
    }
    peer_close(&p);
}

static void test_no_memory(void **state)
{
    (void)state;
    for (size_t n = 1;; n++) {
        failalloc f = {.fail_at = n};
        mcp_allocator alloc = failalloc_allocator(&f);
        mcp_files_options o = {.allocator = &alloc};
        peer p = {.tools = true};
        int rc = peer_open(&p, &o, NULL);
        assert_true(rc == MCP_OK || rc == MCP_ENOMEM);
        for (size_t i = 0; rc == MCP_OK && i < sizeof(exchanges) / sizeof(*exchanges); i++)
            assert_non_null(strstr(ask(&p, exchanges[i].method, exchanges[i].params), "\"id\":1"));
        peer_close(&p);
        assert_int_equal(f.live, 0);
        if (f.calls < n)
            break;
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exchanges),     cmocka_unit_test(test_parameters),
        cmocka_unit_test(test_too_large),     cmocka_unit_test(test_sources),
        cmocka_unit_test(test_subscription),  cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_subscribable),  cmocka_unit_test(test_work),
        cmocka_unit_test(test_matched_pages),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
