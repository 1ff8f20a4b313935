/* Searches in files that are too large to be read whole: however many calls it takes and wherever the blocks
 * end, each line is found once. Lines that are not text are counted. */
#define _GNU_SOURCE
#include "../files/tree.h"

#include <stdio.h>

#include "bridge.h"
#include "failalloc.h"
#include "files.h"

#include <mcp/sys/server.h>

enum {
    BLOCK = 256 << 10, /* of the search */
    MAX_READ = 4000,
    LINES = 12000, /* several blocks */
};

typedef struct peer {
    tree t;
    mcp_host host;
    void (*work)(void *arg), (*done)(void *arg); /* queued work, if any */
    void *arg;
    size_t slices;
    mcp_server *server;
    mcp_bridge *bridge;
    mcp_channel *channel;
    mcp_json_doc *doc;
    const mcp_json *result; /* the structured content */
    const char *notes;
    char reply[1 << 20];
} peer;

static void keep(mcp_channel *channel, mcp_exchange exchange, mcp_str message, void *user)
{
    peer *p = user;
    (void)exchange;
    if (mcp_channel_output_info(channel)->kind == MCP_OUTPUT_NOTIFICATION)
        return;
    assert_true(message.len < sizeof(p->reply));
    memcpy(p->reply, message.ptr, message.len);
    p->reply[message.len] = 0;
    mcp_json_free(p->doc);
    p->doc = NULL;
    assert_int_equal(mcp_json_parse(message, NULL, NULL, &p->doc, NULL), MCP_OK);
    p->result = mcp_json_get(mcp_json_root(p->doc), "result");
    p->result = mcp_json_get(p->result, "structuredContent");
}

static int defer(void (*work)(void *arg), void (*done)(void *arg), void *arg, void *user)
{
    peer *p = user;
    assert_null(p->work);
    p->work = work;
    p->done = done;
    p->arg = arg;
    return MCP_OK;
}

static int64_t now(void *user)
{
    (void)user;
    return 1;
}

static int open_peer(peer *p, bool workers, const mcp_allocator *alloc)
{
    const char *sources[] = {p->t.path};
    mcp_files *handle = NULL;
    search_source files;
    mcp_error error;
    p->host = (mcp_host){.size = sizeof(p->host), .user = p, .now = now, .work = defer};
    assert_int_equal(mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "t", .version = "1",
                                                .host = workers ? &p->host : NULL),
                                    &p->server, &error),
                     MCP_OK);
    int rc =
        mcp_files_mount(p->server,
                        MCP_OPTIONS(mcp_files_options, .sources = sources, .n_sources = 1,
                                    .max_read = MAX_READ, .handle = &handle, .allocator = alloc),
                        &error);
    if (rc == MCP_OK)
        rc = mcp_bridge_new(p->server, MCP_OPTIONS(mcp_bridge_options, .allocator = alloc),
                            &p->bridge, &error);
    if (rc == MCP_OK) {
        files = mcp_files_search(handle);
        rc = mcp_bridge_add_tools(p->bridge, &files, 1, &error);
    }
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
    mcp_json_free(p->doc);
    p->channel = NULL;
    p->bridge = NULL;
    p->server = NULL;
    p->doc = NULL;
}

/* Searches below the path. */
static void search(peer *p, const char *path, const char *arguments, const char *cursor)
{
    char message[2000];
    int n =
        snprintf(message, sizeof(message),
                 "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"_meta\":{"
                 "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
                 "\"io.modelcontextprotocol/clientCapabilities\":{}},\"name\":\"search_resources\","
                 "\"arguments\":{\"under\":\"file://%s%s\",\"cursor\":\"%s\",%s}}}",
                 p->t.path, path, cursor, arguments);
    p->reply[0] = 0;
    p->result = NULL;
    mcp_channel_receive(p->channel, 0, (mcp_str){message, (size_t)n}, 0);
    while (p->work) {
        void (*work)(void *arg) = p->work, (*done)(void *arg) = p->done;
        p->work = NULL;
        p->slices++;
        work(p->arg);
        done(p->arg);
    }
}

/* Finds all lines by as many calls as it takes, and checks that they are those with these numbers, from
 * `first` on and `step` apart. */
static void expect_lines(peer *p, const char *path, const char *arguments, int64_t first,
                         int64_t step, int64_t last)
{
    char cursor[5000] = "";
    int64_t next = first;
    size_t calls = 0;
    do {
        search(p, path, arguments, cursor);
        mcp_json_iter files = {0};
        const mcp_json *all = mcp_json_get(p->result, "files");
        for (const mcp_json *f; (f = mcp_json_next(all, &files, NULL)) != NULL;) {
            mcp_json_iter matches = {0};
            const mcp_json *list = mcp_json_get(f, "matches");
            for (const mcp_json *m; (m = mcp_json_next(list, &matches, NULL)) != NULL;) {
                if (mcp_json_int(mcp_json_get(m, "line"), 0) != next)
                    fail_msg("%s: not line %lld: %.300s", path, (long long)next, p->reply);
                next += step;
            }
        }
        mcp_str at = mcp_json_string(mcp_json_get(p->result, "cursor"));
        assert_true(at.len < sizeof(cursor));
        memcpy(cursor, at.ptr ? at.ptr : "", at.len);
        cursor[at.len] = 0;
        assert_true(++calls < 2000);
    } while (*cursor);
    if (next != last + step)
        fail_msg("%s %s: line %lld is missing: %.500s", path, arguments, (long long)next, p->reply);
}

static void expect(const peer *p, const char *part)
{
    bool absent = *part == '!';
    if ((strstr(p->reply, part + absent) == NULL) != absent)
        fail_msg("%s\nin %.2000s", part, p->reply);
}

/* ---- files ----------------------------------------------------------------------------------- */

/* Lines of different lengths, each with its number; every tenth has "ten". */
static size_t make_lines(char *text)
{
    size_t len = 0;
    for (int i = 1; i <= LINES; i++)
        len +=
            (size_t)sprintf(text + len, "line %d%s %.*s\n", i, i % 10 ? "" : " ten", i % 97,
                            "....................................................................."
                            "..............................");
    return len;
}

static void make_tree(peer *p)
{
    enum { LONG = 3 * BLOCK + 100 };
    static char text[4 << 20];
    tree_make(&p->t);
    size_t len = make_lines(text);
    assert_true(len > 2 * BLOCK);
    tree_bytes(&p->t, "lines.log", text, len);
    memcpy(text + len / 2, "\xff\xfe", 2);
    memcpy(text + len - 3, "\0", 1);
    tree_bytes(&p->t, "odd.log", text, len);
    /* a long line between two others, with what is searched for at the border of two pieces, twice in
     * each of two others, and with characters that a border may be within */
    len = (size_t)sprintf(text, "\xef\xbb\xbf"
                                "begin needle\n");
    for (size_t i = 0; i < LONG / 2; i++)
        memcpy(text + len + 2 * i, "\xc3\xa4", 2);
    memcpy(text + len + BLOCK - 4, "-needle-", 8);
    memcpy(text + len + BLOCK + 1000, "a needle", 8);
    memcpy(text + len + 2 * BLOCK + 1000, "a needle", 8);
    len += LONG;
    len += (size_t)sprintf(text + len, "\nafter needle\nand needle");
    tree_bytes(&p->t, "long.log", text, len);
    memset(text, 0, MAX_READ + 1);
    memcpy(text, "needle", 6);
    tree_bytes(&p->t, "binary", text, MAX_READ + 1);
    for (size_t i = 0; i <= MAX_READ; i++)
        text[2 * i] = 'w', text[2 * i + 1] = 0;
    memcpy(text, "\xff\xfe", 2);
    tree_bytes(&p->t, "wide.txt", text, 2 * MAX_READ);
    tree_file(&p->t, "small.txt", "a needle\n");
}

static void check_searches(peer *p)
{
    /* all lines, in pages, by plain text and by a regular expression */
    expect_lines(p, "/lines.log", "\"query\":\"ten\",\"limit\":1000,\"per_file\":1000", 10, 10,
                 LINES);
    expect_lines(p, "/lines.log", "\"query\":\"ten\",\"limit\":37,\"per_file\":1000", 10, 10,
                 LINES);
    expect_lines(p, "/lines.log",
                 "\"query\":\" TEN\",\"ignore_case\":true,\"limit\":999,\"per_file\":999", 10, 10,
                 LINES);
    expect_lines(p, "/lines.log",
                 "\"query\":\"^line 11[0-9]{3} \",\"regex\":true,\"limit\":300,\"per_file\":1000",
                 11000, 1, 11999);
    expect_lines(p, "/lines.log",
                 "\"query\":\"ten\",\"limit\":1000,\"per_file\":1000,\"max_tokens\":2000", 10, 10,
                 LINES);
    expect_lines(p, "/lines.log", "\"query\":\"line 12000 \"", LINES, 1, LINES);
    search(p, "/lines.log", "\"query\":\"no such word\"", "");
    expect(p, "Nothing was found. 1 file searched.");
    /* a file has no more lines than are wanted of each */
    search(p, "", "\"query\":\"e\",\"per_file\":2,\"pattern\":\"*.{log,txt}\"", "");
    search(p, "/lines.log", "\"query\":\"ten\",\"per_file\":2", "");
    expect(p, "{\"line\":20,\"text\":\"line 20 ten ....................\"}],\"more\":true}");
    expect(p, "\"searched\":1");
    /* a long line has each of its matches once for all */
    expect_lines(p, "/long.log", "\"query\":\"needle\"", 1, 1, 4);
    expect_lines(p, "/long.log", "\"query\":\"needle\",\"limit\":1,\"per_file\":1", 1, 1, 4);
    expect_lines(p, "/long.log", "\"query\":\"needle-\"", 2, 1, 2);
    expect_lines(p, "/long.log", "\"query\":\"ne+dle\",\"regex\":true", 1, 1, 4);
    /* a mark at the beginning is not in the first line */
    expect_lines(p, "/long.log", "\"query\":\"^begin\",\"regex\":true", 1, 1, 1);
    /* lines and files that are not text are counted, and not searched */
    expect_lines(p, "/odd.log", "\"query\":\"line 11990 \"", 11990, 1, 11990);
    expect(p, "Lines that are not UTF-8 text were not searched: 2.");
    search(p, "/binary", "\"query\":\"needle\"", "");
    expect(p, "0 files searched, 1 binary");
    search(p, "/wide.txt", "\"query\":\"w\"", "");
    expect(p, "0 files searched, 1 large");
    /* how far it is */
    search(p, "/lines.log", "\"query\":\"ten\",\"limit\":1", "");
    expect(p, "0 files searched, and one up to byte ");
    expect(p, "search_resources again with cursor: 0:0.3.");
}

static void test_searches(void **state)
{
    static peer p;
    (void)state;
    make_tree(&p);
    for (int workers = 0; workers < 2; workers++) {
        assert_int_equal(open_peer(&p, workers != 0, NULL), MCP_OK);
        check_searches(&p);
        close_peer(&p);
    }
    tree_remove(&p.t);
}

static bool may_not_see_lines(const mcp_identity *identity, mcp_item item, mcp_str name, void *user)
{
    (void)user, (void)identity;
    return item != MCP_ITEM_RESOURCE || memmem(name.ptr, name.len, "lines", 5) == NULL;
}

/* A cursor leads into nothing that a read would not. */
static void test_cursors(void **state)
{
    static const struct {
        const char *cursor, *says;
    } rows[] = {
        {"0:0.3.12.1.lines.log", "\"line\":10,"},
        {"0:0.4.12.1.lines.log", "\"line\":10,"}, /* the rest of line 2 was shown */
        {"0:0.3.0.1.lines.log", "not valid for search_resources"},
        {"0:0.3.12.lines.log", "not valid for search_resources"},
        {"0:0.5.12.1.lines.log", "not valid for search_resources"},
        {"0:1.3.12.1.lines.log", "not valid for search_resources"},
        {"0:0.3.99999999999999999999.1.lines.log", "not valid for search_resources"},
        {"0:0.3.12.1.../lines.log", "not valid for search_resources"},
        {"0:0.3.12.1./lines.log", "not valid for search_resources"},
        {"0:0.3.12.1..hidden", "Nothing was found. 0 files searched"},
        {"0:0.3.12.1.none", "Nothing was found. 0 files searched"},
        {"0:0.3.1000000000000.1.lines.log", "Nothing was found. 1 file searched"},
    };
    static peer p;
    (void)state;
    make_tree(&p);
    tree_file(&p.t, ".hidden", "0123456789 ten ten ten\n");
    assert_int_equal(open_peer(&p, false, NULL), MCP_OK);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        search(&p, "/", "\"query\":\" ten\",\"pattern\":\"{lines.log,.hidden,none}\"",
               rows[i].cursor);
        expect(&p, rows[i].says);
        expect(&p, "!0123456789 ten");
    }
    mcp_server_set_access(p.server, MCP_OPTIONS(mcp_access, .may = may_not_see_lines));
    search(&p, "/", "\"query\":\" ten\",\"pattern\":\"lines.log\"", "0:0.3.12.1.lines.log");
    expect(&p, "Nothing was found. 0 files searched");
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
        if (open_peer(&p, false, &alloc) == MCP_OK)
            search(&p, "/long.log", "\"query\":\"needle\",\"limit\":2", "0:0.3.5.0.long.log");
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
        cmocka_unit_test(test_searches),
        cmocka_unit_test(test_cursors),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
