/* The function `look` of modules, which does not read the source. For mistakes of people it returns
 * the same code and the same text as mounting the source. All other faults are left to the
 * mount. */
#define _GNU_SOURCE
#include <peer.h>

#include <unistd.h>

#include <failalloc.h>
#include <git.h>
#include <git_environment.h>
#include <sqlite.h>
#include <sqlite3.h>

typedef struct kind {
    int (*mount)(mcp_server *server, const char *source, const mcp_json *options, const char *name,
                 const mcp_allocator *allocator, mcp_error *error);
    int (*look)(const char *source, const mcp_json *options, const char *name,
                const mcp_allocator *allocator, mcp_error *error);
} kind;

static const kind git = {mcp_git_mount_json, mcp_git_look_json};
static const kind sqlite = {mcp_sqlite_mount_json, mcp_sqlite_look_json};

static peer served;

static int mount(const kind *k, const char *source, const mcp_json *options, mcp_error *error)
{
    memset(&served, 0, sizeof(served));
    assert_int_equal(peer_serve(&served, NULL, NULL), MCP_OK);
    return k->mount(served.server, source, options, NULL, NULL, error);
}

static mcp_json_doc *parse(const char *text)
{
    mcp_json_doc *doc;
    assert_int_equal(mcp_json_parse(mcp_str_from(text), NULL, NULL, &doc, NULL), MCP_OK);
    return doc;
}

static void test_mistakes(void **state)
{
    static const struct {
        const kind *kind;
        const char *source, *options;
    } rows[] = {
        {&git, "none", "{}"},
        {&git, "none/r", "{}"},
        {&git, "file", "{}"},
        {&git, "fifo", "{}"},
        {&git, "folder", "{}"},
        {&git, "half", "{}"},
        {&git, "cycle", "{}"},
        {&git, "piped", "{}"},
        {&git, "linked", "{}"},
        {&git, "r", "{\"within\":\"none\"}"},
        {&git, "r", "{\"within\":\"folder\"}"},
        {&sqlite, "none.db", "{}"},
        {&sqlite, "file/x.db", "{}"},
        {&sqlite, "folder", "{}"},
        {&sqlite, "fifo", "{}"},
        {&sqlite, "to_fifo", "{}"},
        {&sqlite, "cycle", "{}"},
        {&sqlite, "/dev/null", "{}"},
        {&sqlite, "file", "{}"},
        {&sqlite, "short.db", "{}"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        mcp_error mounted = {0}, seen = {0};
        mcp_json_doc *doc = parse(rows[i].options);
        int rc = mount(rows[i].kind, rows[i].source, mcp_json_root(doc), &mounted);
        peer_close(&served);
        assert_true(rc < 0);
        int looked = rows[i].kind->look(rows[i].source, mcp_json_root(doc), NULL, NULL, &seen);
        if (looked != rc || strcmp(mounted.text, seen.text) != 0)
            fail_msg("%s: mounting: %d %s, looking: %d %s", rows[i].source, rc, mounted.text,
                     looked, seen.text);
        mcp_json_free(doc);
    }
}

/* Sources that work, and sources whose faults are found only by reading them. */
static void test_left_to_mount(void **state)
{
    static const struct {
        const kind *kind;
        const char *source;
        bool works;
    } rows[] = {
        {&git, "r", true},        {&git, "r/.git", true},      {&git, "to_r", true},
        {&git, "pointer", false}, {&git, "nowhere", false},    {&sqlite, "shop.db", true},
        {&sqlite, "to_db", true}, {&sqlite, "empty.db", true}, {&sqlite, "damaged.db", false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        mcp_error error = {0};
        if (rows[i].kind->look(rows[i].source, NULL, NULL, NULL, &error) != MCP_OK)
            fail_msg("%s: %s", rows[i].source, error.text);
        int rc = mount(rows[i].kind, rows[i].source, NULL, &error);
        peer_close(&served);
        if ((rc == MCP_OK) != rows[i].works)
            fail_msg("%s: %d %s", rows[i].source, rc, error.text);
    }
}

/* A process that closes a descriptor of a file loses all its locks on that file. So while a
 * database is mounted in this process, `look` opens no database. */
static void test_locks(void **state)
{
    (void)state;
    assert_int_equal(mount(&sqlite, "shop.db", NULL, NULL), MCP_OK);
    assert_int_equal(sqlite.look("file", NULL, NULL, NULL, NULL), MCP_OK);
    assert_int_equal(sqlite.look("none.db", NULL, NULL, NULL, NULL), MCP_ENOTFOUND);
    peer_close(&served);
    assert_int_equal(sqlite.look("file", NULL, NULL, NULL, NULL), MCP_EACCESS);
}

static void test_no_memory(void **state)
{
    static const struct {
        const kind *kind;
        const char *source;
    } rows[] = {{&git, "r"}, {&sqlite, "shop.db"}};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        for (size_t n = 1;; n++) {
            failalloc f = {.fail_at = n};
            mcp_allocator alloc = failalloc_allocator(&f);
            int rc = rows[i].kind->look(rows[i].source, NULL, NULL, &alloc, NULL);
            assert_int_equal(f.live, 0);
            if (f.calls < n) {
                assert_int_equal(rc, MCP_OK);
                break;
            }
            assert_int_equal(rc, MCP_ENOMEM);
        }
    }
}

static bool make_database(const char *path)
{
    sqlite3 *db;
    bool ok = sqlite3_open(path, &db) == SQLITE_OK &&
              sqlite3_exec(db, "CREATE TABLE t(x)", NULL, NULL, NULL) == SQLITE_OK;
    return sqlite3_close(db) == SQLITE_OK && ok;
}

static int make_sources(void **state)
{
    static char top[] = "/tmp/test_look_XXXXXX";
    use_git_environment();
    *state = top;
    return !mkdtemp(top) || chdir(top) != 0 || !make_database("shop.db") ||
           system("set -e; mkdir folder half piped linked pointer nowhere; echo text >file; "
                  "mkfifo fifo piped/.git; ln -s fifo to_fifo; ln -s cycle cycle; "
                  "git init -q r; ln -s r to_r; ln -s ../r/.git linked/.git; mkdir half/objects; "
                  "echo 'gitdir: ../r/.git' >pointer/.git; echo nonsense >nowhere/.git; "
                  "ln -s shop.db to_db; : >empty.db; "
                  "printf 'SQLite format 3' >short.db; cp shop.db damaged.db; "
                  "printf x | dd of=damaged.db bs=1 seek=100 conv=notrunc status=none");
}

static int remove_sources(void **state)
{
    char line[200];
    snprintf(line, sizeof(line), "cd / && rm -rf %s", (const char *)*state);
    return system(line);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_left_to_mount),
        cmocka_unit_test(test_locks),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, make_sources, remove_sources);
}
