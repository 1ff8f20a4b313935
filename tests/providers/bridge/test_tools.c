/* The four tools over files from a peer's point of view: text, structured content, access rules. A
 * long search runs in slices, reports progress, and ends when it is cancelled. */
#define _GNU_SOURCE
#include "../files/tree.h"

#include "bridge.h"
#include "failalloc.h"
#include "files.h"

#include <mcp/sys/server.h>

typedef struct job {
    void (*work)(void *arg), (*done)(void *arg);
    void *arg;
} job;

typedef struct peer {
    tree t;
    char second[80]; /* the folder of the second source */
    mcp_host host;
    job job; /* queued work, if any */
    mcp_server *server;
    mcp_bridge *bridge;
    mcp_channel *channel;
    size_t notices;
    char reply[256 << 10];
} peer;

static void keep(mcp_channel *channel, mcp_exchange exchange, mcp_str message, void *user)
{
    peer *p = user;
    (void)exchange;
    if (mcp_channel_output_info(channel)->kind == MCP_OUTPUT_NOTIFICATION) {
        p->notices++;
        return;
    }
    assert_true(message.len < sizeof(p->reply));
    memcpy(p->reply, message.ptr, message.len);
    p->reply[message.len] = 0;
}

static int defer(void (*work)(void *arg), void (*done)(void *arg), void *arg, void *user)
{
    peer *p = user;
    assert_null(p->job.work);
    p->job = (job){work, done, arg};
    return MCP_OK;
}

static int64_t now(void *user)
{
    (void)user;
    return 1;
}

static void make_tree(peer *p)
{
    char large[5000];
    tree_make(&p->t);
    tree_file(&p->t, "a/README.md", "# Read me\nneedle one\nnothing\nand a NEEDLE two\r\nneedle\n");
    tree_file(&p->t, "a/src/main.c", "int main(void)\n{\n    return needle;\n}\n");
    tree_file(&p->t, "a/src/sub/deep.c", "x\ny needle z");
    tree_bytes(&p->t, "a/binary", "needle\0needle", 13);
    tree_file(&p->t, "a/invalid.txt", "needle \xff");
    memset(large, 'a', sizeof(large));
    memcpy(large, "needle", 6);
    tree_bytes(&p->t, "a/large.txt", large, sizeof(large));
    tree_file(&p->t, "a/.hidden", "needle");
    tree_file(&p->t, "a/.gitignore", "*.o\n");
    tree_file(&p->t, "a/ignored.o", "needle");
    tree_file(&p->t, "a/secret.txt", "needle");
    tree_file(&p->t, "b/other.md",
              "\xef\xbb\xbf"
              "another needle\n");
    tree_link(&p->t, "a/out.md", "../b/other.md");
    snprintf(p->second, sizeof(p->second), "%s/b", p->t.path);
}

static int open_peer(peer *p, bool workers, const mcp_allocator *alloc)
{
    char first[80];
    const char *sources[] = {first, p->second}, *exclude[] = {"secret*"};
    mcp_files *handle = NULL;
    search_source files;
    mcp_error error;
    snprintf(first, sizeof(first), "%s/a", p->t.path);
    p->host = (mcp_host){.size = sizeof(p->host), .user = p, .now = now, .work = defer};
    assert_int_equal(mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "t", .version = "1",
                                                .host = workers ? &p->host : NULL),
                                    &p->server, &error),
                     MCP_OK);
    int rc = mcp_files_mount(p->server,
                             MCP_OPTIONS(mcp_files_options, .sources = sources, .n_sources = 2,
                                         .exclude = exclude, .n_exclude = 1, .max_read = 4000,
                                         .handle = &handle, .allocator = alloc),
                             &error);
    if (rc == MCP_OK)
        rc = mcp_bridge_new(p->server, MCP_OPTIONS(mcp_bridge_options, .allocator = alloc),
                            &p->bridge, &error);
    if (rc == MCP_OK)
        files = mcp_files_search(handle);
    if (rc == MCP_OK)
        rc = mcp_bridge_add_tools(p->bridge, &files, 1, &error);
    if (rc == MCP_OK)
        assert_int_equal(
            mcp_server_connect(p->server, MCP_OPTIONS(mcp_channel_options, .send = keep, .user = p),
                               &p->channel, &error),
            MCP_OK);
    return rc;
}

static void close_peer(peer *p)
{
    mcp_channel_free(p->channel);
    mcp_bridge_free(p->bridge);
    mcp_server_free(p->server);
    p->channel = NULL;
    p->bridge = NULL;
    p->server = NULL;
}

static const char *client = ""; /* clientInfo of the calls, with its comma */

/* "$T" in the arguments is the tree. */
static const char *call(peer *p, const char *tool, const char *arguments)
{
    char message[4096], *to = message;
    to +=
        sprintf(to,
                "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"_meta\":{"
                "\"progressToken\":7,%s\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
                "\"io.modelcontextprotocol/clientCapabilities\":{}},\"name\":\"%s\","
                "\"arguments\":{",
                client, tool);
    for (; *arguments; arguments++) {
        if (strncmp(arguments, "$T", 2) == 0)
            to += sprintf(to, "%s", p->t.path), arguments++;
        else
            *to++ = *arguments;
    }
    to += sprintf(to, "}}}");
    p->reply[0] = 0;
    mcp_channel_receive(p->channel, 0, (mcp_str){message, (size_t)(to - message)}, 0);
    return p->reply;
}

static void expect(peer *p, const char *part)
{
    char text[2000], *to = text;
    bool absent = *part == '!';
    for (const char *from = part + absent; *from; from++) {
        if (strncmp(from, "$T", 2) == 0)
            to += sprintf(to, "%s", p->t.path), from++;
        else
            *to++ = *from;
    }
    *to = 0;
    if ((strstr(p->reply, text) == NULL) != absent)
        fail_msg("%s\nin %s", text, p->reply);
}

#define FIND(a)     "find_resources", a
#define SEARCH(a)   "search_resources", a
#define ENTRY(path) "\"uri\":\"file://$T/" path "\""
#define LINE(n, t)  "{\"line\":" n ",\"text\":\"" t "\"}"
#define IS_ERROR    "\"isError\":true"

typedef struct tool_call {
    const char *tool, *arguments;
    /* strings that the reply must contain, or must lack if they begin with "!" */
    const char *has[6];
} tool_call;

static const tool_call calls[] = {
    /* structured content beside the text */
    {"list_resources",
     "",
     {"{\"kind\":\"folder\"," ENTRY("a") "}",
      "{\"kind\":\"file\"," ENTRY("a/binary") ",\"size\":13}", ENTRY("b/other.md"),
      "file\\t13\\tfile://$T/a/binary\\n", "!cursor", "!hidden"}},
    {"list_resources",
     "\"limit\":1",
     {"\"structuredContent\":{\"entries\":[{\"kind\":\"folder\"," ENTRY("a") "}],\"templates\":[",
      "{\"uriTemplate\":\"file://{+path}{?tail}\",\"name\":\"tail\",", "}],\"cursor\":\"1:"}},
    {"list_resources",
     "\"templates\":true,\"limit\":2",
     {"\"entries\":[],\"templates\":[{", "\"cursor\":\"t:", "{?offset,length}", "!{?tail}"}},
    {"list_resources",
     "\"under\":\"file://$T/a/src/\"",
     {"\"entries\":[{\"kind\":\"file\"," ENTRY("a/src/main.c"), ENTRY("a/src/sub/deep.c"),
      "!README"}},
    {FIND("\"name\":\"m\",\"under\":\"file://$T/a/src/\""), {ENTRY("a/src/main.c"), "!README"}},
    {SEARCH("\"query\":\"needle\",\"under\":\"file://$T/b\""),
     {ENTRY("b/other.md"), "!README", "\"searched\":1"}},
    {"list_resources", "\"under\":\"other:\"", {"Nothing was found", "!file:"}},
    {"list_resources", "\"pattern\":\"*.none\"", {"Nothing was found", "{\"entries\":[]}"}},
    /* missing resources, and similar ones */
    {"read_resource",
     "\"uri\":\"file://$T/a/readme.md\"",
     {IS_ERROR, "There is no resource file://$T/a/readme.md",
      "Did you mean file://$T/a/README.md?"}},
    {"read_resource",
     "\"uri\":\"file://$T/a/src/mian.c\",\"tail\":3",
     {IS_ERROR, "Did you mean file://$T/a/src/main.c?"}},
    {"read_resource",
     "\"uri\":\"file://$T/a/nowhere/deep.c\"",
     {IS_ERROR, "Did you mean file://$T/a/src/sub/deep.c?"}},
    {"read_resource",
     "\"uri\":\"file://$T/b/nowhere/oter.md\"",
     {IS_ERROR, "Did you mean file://$T/b/other.md?"}},
    {"read_resource", "\"uri\":\"file://$T/nowhere/deep.c\"", {IS_ERROR, "!Did you"}},
    {"read_resource", "\"uri\":\"file:///etc/main.c\"", {IS_ERROR, "!Did you"}},
    {"read_resource", "\"uri\":\"file://$T/a/src/mainwd\"", {IS_ERROR, "!Did you"}},
    {"read_resource", "\"uri\":\"file://$T/a/secret.text\"", {IS_ERROR, "!Did you", "!secret.txt"}},
    {"read_resource", "\"uri\":\"other:thing\"", {IS_ERROR, "no resource other:thing", "!Did you"}},
    /* by name */
    {FIND("\"name\":\"readme\""),
     {"\"entries\":[{\"kind\":\"file\"," ENTRY("a/README.md"), "!main.c"}},
    {FIND("\"name\":\"SRC\""), {"[{\"kind\":\"folder\"," ENTRY("a/src") "}]"}},
    {FIND("\"name\":\"src/\""), {ENTRY("a/src/main.c"), ENTRY("a/src/sub/deep.c"), "!README"}},
    {FIND("\"name\":\"src/**/*.c\""), {ENTRY("a/src/main.c"), ENTRY("a/src/sub/deep.c")}},
    {FIND("\"name\":\"*.md\""), {ENTRY("a/README.md"), ENTRY("b/other.md"), "!out.md"}},
    {FIND("\"name\":\"sub\",\"kind\":\"file\""), {"Nothing was found"}},
    {FIND("\"name\":\"e\",\"kind\":\"folder\""), {"!README"}},
    {FIND("\"name\":\"secret\""), {"Nothing was found"}},
    {FIND("\"name\":\"m\",\"limit\":1"), {"find_resources again with cursor: 0:0.1.README.md\\n"}},
    {FIND("\"name\":\"m\",\"limit\":1,\"cursor\":\"0:0.1.README.md\""),
     {ENTRY("a/src/main.c"), "!README"}},
    {FIND("\"name\":\"m\",\"cursor\":\"0:1.1.../x\""), {IS_ERROR, "not valid for find_resources"}},
    {FIND(""), {IS_ERROR, "name"}},
    {FIND("\"name\":\"\""), {IS_ERROR}},
    {FIND("\"name\":\"m\",\"limit\":1001"), {IS_ERROR}},
    /* by content */
    {SEARCH("\"query\":\"needle\""),
     {"{" ENTRY("a/README.md") ",\"matches\":[" LINE("2", "needle one") "," LINE("5",
                                                                                 "needle") "]}",
      "{" ENTRY("a/src/sub/deep.c") ",\"matches\":[" LINE("2", "y needle z") "]}",
      ENTRY("b/other.md"), "\"searched\":5,\"skipped\":{\"binary\":2}", "!secret", "!ignored"}},
    {SEARCH("\"query\":\"needle\""),
     {"file://$T/a/README.md\\n2: needle one\\n5: needle\\nfile://",
      "5 files searched, 2 binary.\\n", "!hidden", "!out.md",
      "{\"type\":\"resource_link\"," ENTRY("a/src/main.c"), "!cursor"}},
    {SEARCH("\"query\":\"needle\",\"ignore_case\":true,\"pattern\":\"README.md\""),
     {LINE("2", "needle one") "," LINE("4", "and a NEEDLE two") "," LINE("5", "needle"),
      "\"searched\":1"}},
    {SEARCH("\"query\":\"^another\",\"regex\":true"), {LINE("1", "another needle")}},
    {SEARCH("\"query\":\"^needle$\",\"regex\":true"), {LINE("5", "needle") "]}]", "!main.c"}},
    {SEARCH("\"query\":\"^needle$\""), {"Nothing was found. 5 files searched"}},
    {SEARCH("\"query\":\"needle\",\"per_file\":1,\"pattern\":\"*.md\""),
     {LINE("2", "needle one") "],\"more\":true}", "(and more in this file)", "other.md",
      "go on with search_resources {\\\"query\\\":\\\"needle\\\",\\\"under\\\":"
      "\\\"file://$T/a/README.md\\\",\\\"per_file\\\":1000,\\\"limit\\\":1000}"}},
    /* a limit of the whole answer */
    {SEARCH("\"query\":\"needle\",\"max_tokens\":100"),
     {ENTRY("a/README.md"), "search_resources again with cursor: 0:", "!other.md"}},
    {"list_resources",
     "\"max_tokens\":100,\"under\":\"file://$T/a\"",
     {"list_resources again with cursor: 0:", "!b/other.md"}},
    {"list_resources", "\"max_tokens\":100", {"again with cursor: 1:", "more templates"}},
    {"list_resources", "\"max_tokens\":1", {"again with cursor: 1:", "more templates"}},
    {"list_resources", "\"max_tokens\":-5", {"!again with cursor"}},
    {SEARCH("\"query\":\"needle\",\"limit\":1,\"pattern\":\"*.md\""),
     {"\"more\":true", "search_resources again with cursor: 0:0.1.README.md\\n", "!other.md",
      "\"cursor\":\"0:0.1.README.md\""}},
    {SEARCH("\"query\":\"needle\",\"limit\":2,\"pattern\":\"/src/**\""),
     {ENTRY("a/src/main.c"), ENTRY("a/src/sub/deep.c"), "!README"}},
    {SEARCH("\"query\":\"needle\",\"cursor\":\"0:0.2.src\""), {ENTRY("b/other.md"), "!main.c"}},
    {SEARCH("\"query\":\"(a\",\"regex\":true"),
     {IS_ERROR, "query: the regular expression is invalid"}},
    {SEARCH("\"query\":\"a\\nb\""), {IS_ERROR, "query: a match cannot span lines"}},
    {SEARCH("\"query\":\"x\",\"cursor\":\"zzz\""), {IS_ERROR, "not valid for search_resources"}},
    {SEARCH("\"query\":\"x\",\"cursor\":\"0:0.1.../x\""),
     {IS_ERROR, "not valid for search_resources"}},
    {SEARCH("\"query\":\"\""), {IS_ERROR}},
    {SEARCH(""), {IS_ERROR}},
};

static void check_calls(peer *p, const tool_call *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        call(p, rows[i].tool, rows[i].arguments);
        for (size_t j = 0; j < 6 && rows[i].has[j]; j++)
            expect(p, rows[i].has[j]);
    }
}

static void all_calls(peer *p)
{
    check_calls(p, calls, sizeof(calls) / sizeof(*calls));
}

/* ---- texts that are not UTF-8 ----------------------------------------------------------------- */

#define READ(path, more) "read_resource", "\"uri\":\"file://$T/" path "\"" more

static const tool_call charset_calls[] = {
    {SEARCH("\"query\":\"needle\""),
     {"{" ENTRY("a/wide.txt") ",\"matches\":[" LINE("2", "needle\xc3\xa4"),
      "\"searched\":3,\"skipped\":{\"binary\":4}"}},
    {READ("a/wide.txt", ""), {"\"text\":\"\xef\xbb\xbfx\\nneedle\xc3\xa4\\n", "!blob"}},
    {READ("a/wide.txt", ",\"line\":2"), {"\"text\":\"needle\xc3\xa4\\n", "!blob"}},
    {READ("a/latin.txt", ""), {"\"blob\":\"eApHcvbfZQoAAA", "!charset"}},
    {READ("a/latin.txt", ",\"charset\":\"ISO-8859-1\""), {IS_ERROR, "it has NUL"}},
    {READ("a/gross.txt", ""), {"\"blob\":\"eApHcvbfZQo=\"", "\\\"charset\\\":\\\"ISO-8859-1\\\""}},
    {READ("a/gross.txt", ",\"charset\":\"latin1\""),
     {"\"text\":\"x\\nGr\xc3\xb6\xc3\x9f"
      "e\\n\"",
      "!blob"}},
    {READ("a/gross.txt", ",\"line\":2,\"charset\":\"latin1\""),
     {"\"text\":\"Gr\xc3\xb6\xc3\x9f"
      "e\\n\""}},
    {READ("a/gross.txt", ",\"charset\":\"ISO-2022-JP\""),
     {IS_ERROR, "cannot be read with this charset: "}},
    {READ("a/gross.txt", ",\"charset\":\"no such\""),
     {IS_ERROR, "cannot be read with this charset: "}},
    {READ("a/plain16.txt", ""), {"\"blob\":", "\\\"charset\\\":\\\"UTF-16LE\\\""}},
    {READ("a/plain16.txt", ",\"charset\":\"UTF-16LE\""), {"\"text\":\"wide\\n\""}},
    {READ("b/utf8.md", ",\"charset\":\"latin1\""), {"\"text\":\"\xc3\xa4\\n\""}},
    /* how to go on */
    {READ("a/rows.txt", ",\"charset\":\"latin1\",\"max_tokens\":100"),
     {"\"text\":\"\xc3\xb6 1\\n", "\\\"charset\\\":\\\"latin1\\\"}", "\"libmcp/next\"", "!offset"}},
    {READ("a/long16.txt", ",\"max_tokens\":100"),
     {"Only its first 400 bytes", "set max_tokens", "!libmcp/next"}},
};

static void make_charsets(peer *p)
{
    char rows[1000], wide[1002] = "\xff\xfe";
    size_t len = 0;
    tree_make(&p->t);
    tree_bytes(&p->t, "a/wide.txt", "\xff\xfex\0\n\0n\0e\0e\0d\0l\0e\0\xe4\0\n\0", 22);
    tree_bytes(&p->t, "a/latin.txt",
               "x\nGr\xf6\xdf"
               "e\n\0\0",
               10);
    tree_file(&p->t, "a/gross.txt",
              "x\nGr\xf6\xdf"
              "e\n");
    tree_bytes(&p->t, "a/plain16.txt", "w\0i\0d\0e\0\n\0", 10);
    for (int i = 1; i <= 150; i++)
        len += (size_t)sprintf(rows + len, "\xf6 %d\n", i);
    tree_file(&p->t, "a/rows.txt", rows);
    for (size_t i = 2; i < sizeof(wide); i++)
        wide[i] = i % 2 ? '\0' : 'w';
    tree_bytes(&p->t, "a/long16.txt", wide, sizeof(wide));
    tree_file(&p->t, "b/utf8.md", "\xc3\xa4\n");
    snprintf(p->second, sizeof(p->second), "%s/b", p->t.path);
}

static void test_charsets(void **state)
{
    static peer p;
    (void)state;
    make_charsets(&p);
    assert_int_equal(open_peer(&p, false, NULL), MCP_OK);
    check_calls(&p, charset_calls, sizeof(charset_calls) / sizeof(*charset_calls));
    close_peer(&p);
    tree_remove(&p.t);
}

static void test_calls(void **state)
{
    static peer p;
    (void)state;
    make_tree(&p);
    assert_int_equal(open_peer(&p, false, NULL), MCP_OK);
    all_calls(&p);
    close_peer(&p);
    tree_remove(&p.t);
}

/* ---- size ------------------------------------------------------------------------------------- */

/* Returns the text after `key` in the reply, up to the next quotation mark. */
static bool get(const peer *p, const char *key, char *to, size_t room)
{
    const char *at = strstr(p->reply, key);
    if (!at)
        return false;
    at += strlen(key);
    snprintf(to, room, "%.*s", (int)strcspn(at, "\""), at);
    return true;
}

/* Each answer keeps to the limit, and all answers together have every entry once. */
static void test_pages(void **state)
{
    enum { FILES = 150, TOKENS = 500, ROOM = 4 * TOKENS };
    static peer p;
    char name[32], arguments[200], cursor[100] = "";
    static const char *const tools[] = {"find_resources", "search_resources", "list_resources"};
    static const char *const what[] = {"\"name\":\"many\"", "\"query\":\"needle\"",
                                       "\"pattern\":\"many*\""};
    (void)state;
    make_tree(&p);
    for (int i = 0; i < FILES; i++) {
        snprintf(name, sizeof(name), "b/many%03d", i);
        tree_file(&p.t, name, "a needle");
    }
    assert_int_equal(open_peer(&p, false, NULL), MCP_OK);
    for (size_t i = 0; i < 3; i++) {
        size_t found = 0, pages = 0;
        do {
            snprintf(arguments, sizeof(arguments),
                     "%s,\"under\":\"file://$T/b/many\",\"max_tokens\":%d,\"cursor\":\"%s\"",
                     what[i], TOKENS, cursor);
            call(&p, tools[i], arguments);
            for (const char *at = p.reply; (at = strstr(at, "\"kind\":\"file\"")) != NULL; at++)
                found++;
            for (const char *at = p.reply; (at = strstr(at, "\"matches\":")) != NULL; at++)
                found++;
            assert_true(strlen(p.reply) < ROOM + 700); /* one entry more, and the notes */
            pages++;
        } while (get(&p, "\"cursor\":\"", cursor, sizeof(cursor)));
        assert_int_equal(found, FILES);
        assert_true(pages > 5);
        cursor[0] = 0;
    }
    mcp_bridge_limit(p.bridge, TOKENS);
    call(&p, FIND("\"name\":\"many\""));
    assert_true(strlen(p.reply) < ROOM + 700);
    call(&p, FIND("\"name\":\"many\",\"max_tokens\":10000"));
    assert_true(strlen(p.reply) > 2 * ROOM);
    close_peer(&p);
    tree_remove(&p.t);
}

/* A client that shows only the structured content gets nothing twice, and the notes with it. */
static void test_structured(void **state)
{
    static const struct {
        const char *tool, *arguments;
        const char *has[3];
    } cases[] = {
        {SEARCH("\"query\":\"needle\",\"limit\":1,\"pattern\":\"*.md\""),
         {"\"note\":\"1 file searched", "!resource_link", "!\\n2: needle"}},
        {FIND("\"name\":\"main\""),
         {"[{\"type\":\"text\",\"text\":\"See the structured content.\"}]", "!\"note\"",
          "!file\\t"}},
    };
    static peer p;
    (void)state;
    make_tree(&p);
    assert_int_equal(open_peer(&p, false, NULL), MCP_OK);
    client = "\"io.modelcontextprotocol/clientInfo\":{\"name\":\"claude-code\","
             "\"version\":\"2\"},";
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        call(&p, cases[i].tool, cases[i].arguments);
        for (size_t j = 0; j < 3; j++)
            expect(&p, cases[i].has[j]);
    }
    client = "";
    close_peer(&p);
    tree_remove(&p.t);
}

/* ---- access rules ---------------------------------------------------------------------------- */

static bool may_not_see_src(const mcp_identity *identity, mcp_item item, mcp_str name, void *user)
{
    (void)user, (void)identity;
    return item != MCP_ITEM_RESOURCE || memmem(name.ptr, name.len, "/src", 4) == NULL;
}

static bool may_not_see_a(const mcp_identity *identity, mcp_item item, mcp_str name, void *user)
{
    (void)user, (void)identity;
    return item != MCP_ITEM_RESOURCE || memmem(name.ptr, name.len, "/a", 2) == NULL;
}

static const struct {
    bool (*may)(const mcp_identity *identity, mcp_item item, mcp_str name, void *user);
    const char *tool, *arguments;
    const char *has[4];
} restricted[] = {
    {may_not_see_src, "list_resources", "", {"/a/README.md", "/b/other.md", "!src"}},
    {may_not_see_src, FIND("\"name\":\"c\""), {"Nothing was found", "!src"}},
    {may_not_see_src, FIND("\"name\":\"m\",\"limit\":1"), {"cursor: 0:0.1.README.md", "!src"}},
    {may_not_see_src,
     FIND("\"name\":\"o\",\"limit\":1,\"cursor\":\"0:0.1.README.md\""),
     {"/b/other.md", "!src", "!cursor"}},
    {may_not_see_src,
     SEARCH("\"query\":\"needle\""),
     {"/a/README.md", "/b/other.md", "\"searched\":3", "!src"}},
    {may_not_see_src,
     "read_resource",
     "\"uri\":\"file://$T/a/s%72c/main.c\"",
     {IS_ERROR, "There is no resource", "!needle"}},
    {may_not_see_src, "read_resource", "\"uri\":\"file://$T/a\"", {"/a/README.md\\n", "!src"}},
    {may_not_see_src, "read_resource", "\"uri\":\"file://$T/a/sr\"", {IS_ERROR, "!Did you"}},
    {may_not_see_src,
     "read_resource",
     "\"uri\":\"file://$T/a/src/mian.c\"",
     {IS_ERROR, "!Did you", "!main.c"}},
    {may_not_see_a, SEARCH("\"query\":\"needle\",\"limit\":1"), {"/b/other.md", "!/a", "!cursor"}},
    {may_not_see_a, "list_resources", "\"limit\":1", {"cursor: 1:", "!/a", "file://$T/b\\n"}},
    {may_not_see_a,
     "list_resources",
     "\"limit\":1,\"pattern\":\"*\"",
     {"cursor: 0:1.1.\\n", "!/a", "file://$T/b\\n"}},
};

static void test_access(void **state)
{
    static peer p;
    (void)state;
    make_tree(&p);
    assert_int_equal(open_peer(&p, false, NULL), MCP_OK);
    for (size_t i = 0; i < sizeof(restricted) / sizeof(*restricted); i++) {
        mcp_server_set_access(p.server, MCP_OPTIONS(mcp_access, .may = restricted[i].may));
        call(&p, restricted[i].tool, restricted[i].arguments);
        for (size_t j = 0; j < 4 && restricted[i].has[j]; j++)
            expect(&p, restricted[i].has[j]);
    }
    close_peer(&p);
    tree_remove(&p.t);
}

/* ---- long lines, long searches --------------------------------------------------------------- */

/* A line that is too long to be shown whole is reduced to the text around the match. */
static void test_long_lines(void **state)
{
    static peer p;
    char text[3000];
    (void)state;
    make_tree(&p);
    memset(text, 'x', sizeof(text));
    memcpy(text + 1500, "needle", 6);
    for (size_t i = 1; i < 1400; i += 2) /* é has two bytes, which must not be separated */
        memcpy(text + i, "\xc3\xa9", 2);
    tree_bytes(&p.t, "b/long.txt", text, sizeof(text));
    assert_int_equal(open_peer(&p, false, NULL), MCP_OK);
    call(&p, SEARCH("\"query\":\"needle\",\"pattern\":\"long.txt\""));
    expect(&p, "\"text\":\"\xe2\x80\xa6xx");
    expect(&p, "xneedlex");
    expect(&p, "xx\xe2\x80\xa6\"}");
    assert_true(strlen(p.reply) < 1500);
    call(&p, SEARCH("\"query\":\"^x\",\"regex\":true,\"pattern\":\"long.txt\""));
    expect(&p, "\"text\":\"x\xc3\xa9\xc3\xa9");
    close_peer(&p);
    tree_remove(&p.t);
}

/* The clock of searches goes on by a tenth of a millisecond each time it is asked, so that the machine's
 * speed decides neither where a slice ends nor whether a search takes too long. */
int64_t __wrap_search_now(void);
int64_t __wrap_search_now(void)
{
    static int64_t now = 1;
    return now += 100000;
}

/* Runs one slice of the work. */
static void work_once(peer *p)
{
    job j = p->job;
    p->job = (job){0};
    assert_non_null(j.work);
    j.work(j.arg);
    j.done(j.arg);
}

enum { SLOW_FILES = 150 };

/* Creates files on each of which the regular expression exhausts its step limit. */
static void make_slow(peer *p)
{
    char name[32];
    make_tree(p);
    for (int i = 0; i < SLOW_FILES; i++) {
        snprintf(name, sizeof(name), "b/slow%03d", i);
        tree_file(&p->t, name, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab");
    }
}

#define SLOW SEARCH("\"query\":\"^(a+)+$\",\"regex\":true,\"pattern\":\"slow*\"")

static void test_slices(void **state)
{
    static peer p;
    size_t slices = 0;
    (void)state;
    make_slow(&p);
    assert_int_equal(open_peer(&p, true, NULL), MCP_OK);
    assert_string_equal(call(&p, SLOW), "");
    for (; p.job.work; slices++)
        work_once(&p);
    assert_true(slices > 1);
    assert_in_range(p.notices, 1, slices - 1);
    expect(&p, "\"searched\":0,\"skipped\":{\"slow\":150}");
    close_peer(&p);
    tree_remove(&p.t);
}

static void test_cancel(void **state)
{
    static const char cancelled[] = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
                                    "\"params\":{\"requestId\":1}}";
    static peer p;
    (void)state;
    make_slow(&p);
    assert_int_equal(open_peer(&p, true, NULL), MCP_OK);
    call(&p, SLOW);
    work_once(&p);
    assert_non_null(p.job.work);
    mcp_channel_receive(p.channel, 0, mcp_str_from(cancelled), 0);
    work_once(&p);
    assert_null(p.job.work);
    assert_string_equal(p.reply, "");
    /* The search also ends when the channel is closed. */
    call(&p, SLOW);
    work_once(&p);
    mcp_channel_free(p.channel);
    p.channel = NULL;
    while (p.job.work)
        work_once(&p);
    close_peer(&p);
    tree_remove(&p.t);
}

static void test_no_memory(void **state)
{
    static peer p;
    (void)state;
    make_tree(&p);
    for (size_t n = 1;; n++) {
        failalloc f = {.fail_at = n};
        mcp_allocator alloc = failalloc_allocator(&f);
        int rc = open_peer(&p, false, &alloc);
        assert_true(rc == MCP_OK || rc == MCP_ENOMEM);
        if (rc == MCP_OK) {
            call(&p, SEARCH("\"query\":\"n(e+)dle\",\"regex\":true,\"per_file\":1"));
            assert_non_null(strstr(p.reply, "\"id\":1"));
            call(&p, FIND("\"name\":\"m\",\"limit\":2"));
            assert_non_null(strstr(p.reply, "\"id\":1"));
            call(&p, "list_resources", "\"limit\":3");
            assert_non_null(strstr(p.reply, "\"id\":1"));
            call(&p, "read_resource", "\"uri\":\"file://$T/a/binary\"");
            assert_non_null(strstr(p.reply, "\"id\":1"));
            call(&p, "read_resource", "\"uri\":\"file://$T/a/readme.md\"");
            assert_non_null(strstr(p.reply, "\"id\":1"));
        }
        close_peer(&p);
        assert_int_equal(f.live, 0);
        if (f.calls < n)
            break;
    }
    tree_remove(&p.t);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_calls),      cmocka_unit_test(test_pages),
        cmocka_unit_test(test_structured), cmocka_unit_test(test_access),
        cmocka_unit_test(test_long_lines), cmocka_unit_test(test_slices),
        cmocka_unit_test(test_cancel),     cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_charsets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
