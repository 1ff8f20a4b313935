/* read_resource understands what people and models write instead of a URI: paths, absolute or
 * relative to a source, with a line after them, and URIs with a blank or a letter like ß. */
#define _GNU_SOURCE
#include "../files/tree.h"

#include <stdio.h>

#include <mcp/sys/server.h>

#include "bridge.h"
#include "failalloc.h"
#include "files.h"

enum { ROOTS = 5 };

typedef struct peer {
    tree t;
    char roots[ROOTS][100];
    size_t elsewhere; /* reads of the source that is another server */
    mcp_server *server;
    mcp_bridge *bridge;
    mcp_channel *channel;
    char reply[64 << 10];
} peer;

static void keep(mcp_channel *channel, mcp_exchange exchange, mcp_str message, void *user)
{
    peer *p = user;
    (void)channel, (void)exchange;
    assert_true(message.len < sizeof(p->reply));
    memcpy(p->reply, message.ptr, message.len);
    p->reply[message.len] = 0;
}

static size_t roots(void *user)
{
    (void)user;
    return ROOTS;
}

static const char *hidden = "";

static const char *root(const mcp_request *req, size_t index, void *user)
{
    (void)req;
    const char *uri = ((peer *)user)->roots[index];
    return *hidden && strstr(uri, hidden) ? NULL : uri;
}

static int read_echo(mcp_request *req, mcp_str uri, const mcp_uri_match *match, void *user)
{
    (void)match, (void)user;
    return mcp_reply_textf(req, "read %.*s", (int)uri.len, uri.ptr);
}

/* The repository of the first folder. */
static const char *folder(size_t index, void *user)
{
    return index == 4 ? ((peer *)user)->roots[1] : NULL;
}

static int read_at_head(mcp_request *req, mcp_str uri, const mcp_uri_match *match, void *user)
{
    (void)uri, (void)match, (void)user;
    return mcp_reply_text(req, "of app");
}

static const char *const at_head[] = {"git://app/-/log/HEAD", "git://app/HEAD/both.txt",
                                      "git://app/HEAD/gone.txt", "git://app/HEAD/src",
                                      "git://other/HEAD/both.txt"};

/* Another server is not asked for a path that may be in any source. */
static int read_far(mcp_request *req, mcp_str uri, const mcp_uri_match *match, void *user)
{
    (void)uri, (void)match;
    ((peer *)user)->elsewhere++;
    return mcp_reply_text(req, "far");
}

static void make_tree(peer *p)
{
    char text[2000], *to = text;
    for (int i = 1; i <= 100; i++)
        to += sprintf(to, "line %d\n", i);
    tree_make(&p->t);
    tree_file(&p->t, "app/src/dates.py", text);
    tree_file(&p->t, "app/app/inner.txt", "inner");
    tree_file(&p->t, "app/both.txt", "of app");
    tree_file(&p->t, "lib/both.txt", "of lib");
    tree_file(&p->t, "lib/a\xc3\x9f b.txt", "sharp");
    tree_file(&p->t, "lib/odd:7", "odd");
    snprintf(p->roots[0], 100, "mem://shop/");
    snprintf(p->roots[3], 100, "far:");
    snprintf(p->roots[4], 100, "git://app/");
    snprintf(p->roots[1], 100, "file://%s/app", p->t.path);
    snprintf(p->roots[2], 100, "file://%s/lib", p->t.path);
}

static int open_peer(peer *p, const mcp_allocator *alloc)
{
    static const mcp_resource_template rows = {.size = sizeof(rows),
                                               .uri_template = "mem://shop/customer{?text}",
                                               .name = "customer",
                                               .read = read_echo};
    const char *sources[] = {p->roots[1] + 7, p->roots[2] + 7};
    mcp_error error;
    assert_int_equal(mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "t", .version = "1"),
                                    &p->server, &error),
                     MCP_OK);
    assert_int_equal(mcp_server_add_template(p->server, &rows, NULL, NULL), MCP_OK);
    mcp_files *handle = NULL;
    search_source files;
    for (size_t i = 0; i < sizeof(at_head) / sizeof(*at_head); i++)
        assert_int_equal(
            mcp_server_add_resource(p->server,
                                    MCP_OPTIONS(mcp_resource, .uri = at_head[i], .name = at_head[i],
                                                .mime_type = "text/plain", .read = read_at_head),
                                    NULL, NULL),
            MCP_OK);
    static const mcp_resource_template far = {
        .size = sizeof(far), .uri_template = "far:{+any}", .name = "far", .read = read_far};
    assert_int_equal(mcp_server_add_template(p->server, &far, p, NULL), MCP_OK);
    assert_int_equal(
        mcp_files_mount(p->server,
                        MCP_OPTIONS(mcp_files_options, .sources = sources, .n_sources = 2,
                                    .max_read = 600, .handle = &handle),
                        &error),
        MCP_OK);
    int rc = mcp_bridge_new(p->server,
                            MCP_OPTIONS(mcp_bridge_options, .allocator = alloc, .roots = roots,
                                        .root = root, .folder = folder, .user = p),
                            &p->bridge, &error);
    if (rc == MCP_OK)
        files = mcp_files_search(handle);
    if (rc == MCP_OK)
        rc = mcp_bridge_add_tools(p->bridge, &files, 1, &error);
    if (rc == MCP_OK)
        rc =
            mcp_server_connect(p->server, MCP_OPTIONS(mcp_channel_options, .send = keep, .user = p),
                               &p->channel, &error);
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

/* "$T" is the folder of all. */
static void put(const peer *p, const char *from, char *to)
{
    for (; *from; from++) {
        if (strncmp(from, "$T", 2) == 0)
            to += sprintf(to, "%s", p->t.path), from++;
        else
            *to++ = *from;
    }
    *to = 0;
}

static void call(peer *p, const char *tool, const char *arguments)
{
    char message[2000], made[1000];
    put(p, arguments, made);
    int n =
        snprintf(message, sizeof(message),
                 "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"_meta\":"
                 "{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
                 "\"io.modelcontextprotocol/clientCapabilities\":{}},"
                 "\"name\":\"%s\",\"arguments\":{%s}}}",
                 tool, made);
    p->reply[0] = 0;
    mcp_channel_receive(p->channel, 0, (mcp_str){message, (size_t)n}, 0);
}

static void expect(const peer *p, const char *part)
{
    char wanted[1000];
    bool absent = *part == '!';
    put(p, part + absent, wanted);
    if ((strstr(p->reply, wanted) == NULL) != absent)
        fail_msg("%s\nin %s", wanted, p->reply);
}

#define READ(uri) "read_resource", "\"uri\":\"" uri "\""

static const struct {
    const char *tool, *arguments;
    const char *has[4];
} calls[] = {
    {"read_resource",
     "\"uri\":\"src/dates.py\",\"max_tokens\":100",
     {"Lines 1 to 51 of a file of 792 bytes. Go on", "file://$T/app/src/dates.py"}},
    {"read_resource", "\"uri\":\"./src/dates.py\",\"line\":99", {"\"line 99\\nline 100\\n\""}},
    {READ("app/src/dates.py:50"),
     {"\"line 30\\nline 31", "line 70\\n\"", "Lines 30 to 70 of file://$T/app/src/dates.py."}},
    {READ("src/dates.py:98:4"), {"\"line 78\\n", "Lines 78 to 100 of file"}},
    {READ("src/dates.py:500"), {"There is nothing from there on."}},
    {READ("file://$T/app/src/dates.py:98"), {"\"line 78\\n", "Lines 78 to 100 of file"}},
    {READ("$T/app/src/dates.py:3"), {"\"line 1\\n", "Lines 1 to 41 of file"}},
    {READ("app/inner.txt"), {"\"inner\""}},
    {READ("app/app/inner.txt"), {"\"inner\""}},
    {READ("odd:7"), {"\"odd\""}},
    {READ("both.txt"),
     {"\"isError\":true", "both.txt is in 2 sources.",
      "file://$T/app/both.txt or file://$T/lib/both.txt"}},
    {READ("app/both.txt"), {"\"of app\""}},
    {READ("lib/a\xc3\x9f b.txt"), {"\"sharp\""}},
    {READ("file://$T/lib/a\xc3\x9f b.txt"), {"\"sharp\""}},
    {READ("customer"), {"\"read mem://shop/customer\""}},
    {READ("shop/customer"), {"\"read mem://shop/customer\""}},
    {READ("mem://shop/customer?text=a \xe2\x98\x95"),
     {"read mem://shop/customer?text=a%20%E2%98%95"}},
    {READ("src/dates.pi"), {"no resource src/dates.pi", "mean file://$T/app/src/dates.py?"}},
    {READ("src"), {"file://$T/app/src/dates.py\\n"}},
    /* what is elsewhere and what is nowhere */
    {READ("/etc/passwd"), {"There is no resource /etc/passwd, or it is not served. Use list_"}},
    {READ("/etc/no"), {"There is no resource /etc/no, or it is not served. Use list_"}},
    {READ("../../etc/passwd"), {"There is no resource ../../etc/passwd, or it is not served."}},
    {READ(""), {"\"isError\":true"}},
    {READ(":5"), {"\"isError\":true"}},
    {"list_resources", "\"under\":\"$T/lib\"", {"$T/lib/both.txt", "!app"}},
    {"list_resources", "\"under\":\"file://$T/lib/a\xc3\x9f\"", {"/a%C3%9F%20b.txt", "!both"}},
    {"find_resources",
     "\"name\":\"both\",\"under\":\"src\"",
     {"\"isError\":true", "Give its URI: file://$T/app/src or file://$T/lib/src"}},
};

static void test_names(void **state)
{
    static peer p;
    (void)state;
    make_tree(&p);
    assert_int_equal(open_peer(&p, NULL), MCP_OK);
    for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
        call(&p, calls[i].tool, calls[i].arguments);
        for (size_t j = 0; j < 4 && calls[i].has[j]; j++)
            expect(&p, calls[i].has[j]);
    }
    assert_int_equal(p.elsewhere, 0);
    close_peer(&p);
    tree_remove(&p.t);
}

/* Files of a repository that its folder has are there once, for those who may see the folder. */
static const struct {
    const char *tool, *arguments;
    bool rules; /* the folder may not be seen */
    const char *has[6];
} twins[] = {
    {"list_resources",
     "",
     false,
     {"git://app/-/log/HEAD", "git://app/HEAD/gone.txt", "git://other/HEAD/both.txt",
      "!git://app/HEAD/both.txt", "!git://app/HEAD/src",
      "2 files at HEAD are in the folder, too."}},
    {"find_resources",
     "\"name\":\"both\"",
     false,
     {"$T/app/both.txt", "git://other/HEAD/both.txt", "!git://app", "1 file at HEAD is in"}},
    {"search_resources",
     "\"query\":\"of app\"",
     false,
     {"$T/app/both.txt", "git://app/HEAD/gone.txt\\n1: of app", "!git://app/HEAD/both.txt"}},
    {"list_resources",
     "\"under\":\"git://app/HEAD/\"",
     false,
     {"git://app/HEAD/both.txt", "git://app/HEAD/src", "!in the folder"}},
    {"find_resources", "\"name\":\"both\"", true, {"git://app/HEAD/both.txt", "!in the folder"}},
};

static bool may_not_see_app(const mcp_identity *identity, mcp_item item, mcp_str name, void *user)
{
    (void)user, (void)identity;
    return item != MCP_ITEM_RESOURCE || memmem(name.ptr, name.len, "file:", 5) == NULL;
}

static void test_twins(void **state)
{
    static peer p;
    (void)state;
    make_tree(&p);
    assert_int_equal(open_peer(&p, NULL), MCP_OK);
    for (size_t i = 0; i < sizeof(twins) / sizeof(*twins); i++) {
        mcp_server_set_access(
            p.server, twins[i].rules ? MCP_OPTIONS(mcp_access, .may = may_not_see_app) : NULL);
        call(&p, twins[i].tool, twins[i].arguments);
        for (size_t j = 0; j < 6 && twins[i].has[j]; j++)
            expect(&p, twins[i].has[j]);
    }
    close_peer(&p);
    tree_remove(&p.t);
}

static bool may_not_see_lib(const mcp_identity *identity, mcp_item item, mcp_str name, void *user)
{
    (void)user, (void)identity;
    return item != MCP_ITEM_RESOURCE || memmem(name.ptr, name.len, "/lib", 4) == NULL;
}

/* A path in two sources is in one for who may see only that. */
static void test_access(void **state)
{
    static peer p;
    (void)state;
    make_tree(&p);
    assert_int_equal(open_peer(&p, NULL), MCP_OK);
    mcp_server_set_access(p.server, MCP_OPTIONS(mcp_access, .may = may_not_see_lib));
    hidden = "/lib";
    call(&p, READ("both.txt"));
    expect(&p, "\"of app\"");
    expect(&p, "!/lib");
    call(&p, READ("lib/both.txt"));
    expect(&p, "There is no resource lib/both.txt, or it is not served.");
    hidden = "";
    call(&p, READ("both.txt"));
    expect(&p, "\"of app\"");
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
        int rc = open_peer(&p, &alloc);
        assert_true(rc == MCP_OK || rc == MCP_ENOMEM);
        if (rc == MCP_OK) {
            call(&p, READ("both.txt"));
            call(&p, READ("app/src/dates.py:50"));
            call(&p, "find_resources", "\"name\":\"both\"");
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
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_twins),
        cmocka_unit_test(test_access),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
