/* A module's description agrees with what the module mounts. It depends on the options alone, and
 * making it opens nothing.
 *
 * A server that is built from a description must answer like one that has mounted the source:
 * its capabilities, templates, tools and prompts are compared as text. */
#define _GNU_SOURCE
#include <peer.h>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <failalloc.h>
#include <git.h>
#include <git_environment.h>
#include <sqlite3.h>
#include <sqlite.h>
#ifdef MCP_TEST_POSTGRES
#include <postgres.h>
#endif

typedef struct kind {
    const char *name;
    int (*mount)(mcp_server *server, const char *source, const mcp_json *options, const char *name,
                 const mcp_allocator *allocator, mcp_error *error);
    int (*describe)(const char *source, const mcp_json *options, const char *name,
                    const mcp_allocator *allocator, const mcp_description *to, mcp_error *error);
    const char *const *sources;
    const char *const *options;
    bool in_process;
} kind;

static const char *const databases[] = {"shop.db", "./odd name%.sqlite3", "link.db", "folder/../x",
                                        NULL};
static const char *const repositories[] = {"r", "r/.git", "./r/", "bare.git", "link", NULL};
#define ONE_QUERY "{\"name\":\"one\",\"sql\":\"SELECT 1\"}"
#define QUERY_OF(by) \
    "{\"name\":\"of\",\"title\":\"T\",\"description\":\"D\",\"sql\":\"SELECT " by "\","
#define PARAMETERS                                                                           \
    "\"parameters\":[{\"name\":\"x\",\"description\":\"an x\",\"required\":true,\"values\":" \
    "[\"a\",\"b\"]}]}"
#define FORMAT_PARAMETER "\"parameters\":[{\"name\":\"format\",\"default\":2}]}"
#define OPTIONS_OF(x, format)                                                                  \
    "{}", "{\"tool\":\"\"}", "{\"tool\":\"ask\",\"max_rows\":5}", "{\"tool\":\"not a name\"}", \
        "{\"queries\":[" ONE_QUERY "]}", "{\"queries\":[" ONE_QUERY "," ONE_QUERY "]}",        \
        "{\"queries\":[" QUERY_OF(x) PARAMETERS "," ONE_QUERY "],\"tool\":\"\"}",              \
        "{\"queries\":[" QUERY_OF(format) FORMAT_PARAMETER "]}", NULL
static const char *const database_options[] = {OPTIONS_OF(":x", ":format")};
static const char *const repository_options[] = {"{}", "{\"within\":\".\"}",
                                                 "{\"max_read\":2048,\"timeout_ms\":5}", NULL};
#ifdef MCP_TEST_POSTGRES
static const char *const connections[] = {"host=/nowhere dbname=shop", "//127.0.0.1:1/shop?user=x",
                                          "host=/nowhere dbname='odd /%'", NULL};
static const char *const postgres_options[] = {OPTIONS_OF("$1", "$1")};
#endif

static const kind kinds[] = {
    {"sqlite", mcp_sqlite_mount_json, mcp_sqlite_describe_json, databases, database_options, false},
    {"git", mcp_git_mount_json, mcp_git_describe_json, repositories, repository_options, false},
#ifdef MCP_TEST_POSTGRES
    {"postgres", mcp_postgres_mount_json, mcp_postgres_describe_json, connections, postgres_options,
     true},
#endif
};
static const char *const names[] = {NULL, "x", "odd name/%", "\303\274", "", NULL};
enum { KINDS = sizeof(kinds) / sizeof(*kinds), NAMES = sizeof(names) / sizeof(*names) };

static mcp_json_doc *parse(const char *text)
{
    mcp_json_doc *doc;
    assert_int_equal(mcp_json_parse(mcp_str_from(text), NULL, NULL, &doc, NULL), MCP_OK);
    return doc;
}

/* ---- a server that is built from a description ----------------------------------------------- */

typedef struct described {
    mcp_server *server;
    size_t sources, n_paths;
    bool in_process, after;
    char paths[8][64];
} described;

static int on_list(mcp_request *req, mcp_str cursor, size_t max, void *user)
{
    (void)req, (void)cursor, (void)max, (void)user;
    return MCP_OK;
}

static int on_watch(const char *canonical, void *user)
{
    (void)canonical, (void)user;
    return MCP_OK;
}

static int on_watch_list(void *user)
{
    (void)user;
    return MCP_OK;
}

static int on_read(mcp_request *req, mcp_str uri, const mcp_uri_match *match, void *user)
{
    (void)req, (void)uri, (void)match, (void)user;
    return MCP_ENOTFOUND;
}

static int on_complete(mcp_request *req, mcp_str name, mcp_str value, const mcp_json *context,
                       void *user)
{
    (void)req, (void)name, (void)value, (void)context, (void)user;
    return MCP_OK;
}

static int on_call(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)req, (void)arguments, (void)user;
    return MCP_ENOTFOUND;
}

static int take_source(const mcp_source *source, mcp_error *error, void *user)
{
    described *d = user;
    assert_false(d->after);
    d->sources++;
    d->in_process = source->in_process;
    return mcp_server_mount(d->server, source->prefix,
                            MCP_OPTIONS(mcp_provider, .name = "described",
                                        .list = source->lists ? on_list : NULL,
                                        .watch = source->subscribe ? on_watch : NULL,
                                        .watch_list = source->list_changed ? on_watch_list : NULL,
                                        .items = source->items, .names = source->names),
                            NULL, error);
}

static int take_path(const mcp_source_path *path, mcp_error *error, void *user)
{
    described *d = user;
    (void)error;
    d->after = true;
    assert_true(d->n_paths < sizeof(d->paths) / sizeof(*d->paths) && path->path && *path->path);
    snprintf(d->paths[d->n_paths++], sizeof(*d->paths), "%s%s%s", path->write ? "w:" : "",
             path->replaced ? "r:" : "", path->path);
    return MCP_OK;
}

static int take_template(const mcp_resource_template *tmpl, mcp_error *error, void *user)
{
    described *d = user;
    mcp_resource_template t = *tmpl;
    d->after = true;
    t.read = on_read;
    t.complete = t.complete ? on_complete : NULL;
    return mcp_server_add_template(d->server, &t, NULL, error);
}

static int take_resource(const mcp_resource *resource, mcp_error *error, void *user)
{
    (void)resource, (void)error, (void)user;
    fail_msg("none of these modules has resources of its own");
    return MCP_OK;
}

static int take_tool(const mcp_tool *tool, mcp_error *error, void *user)
{
    described *d = user;
    mcp_tool t = *tool;
    d->after = true;
    t.call = on_call;
    return mcp_server_add_tool(d->server, &t, NULL, error);
}

static int take_prompt(const mcp_prompt *prompt, mcp_error *error, void *user)
{
    (void)prompt, (void)error, (void)user;
    fail_msg("none of these modules has prompts");
    return MCP_OK;
}

static mcp_description into(described *d)
{
    return (mcp_description){.size = sizeof(mcp_description),
                             .user = d,
                             .source = take_source,
                             .add_path = take_path,
                             .add_template = take_template,
                             .add_resource = take_resource,
                             .add_tool = take_tool,
                             .add_prompt = take_prompt};
}

static int describe(const kind *k, const char *source, const mcp_json *options, const char *name,
                    const mcp_allocator *alloc, described *d, mcp_error *error)
{
    mcp_description to = into(d);
    return k->describe(source, options, name, alloc, &to, error);
}

/* ---- comparison with the mounted module ------------------------------------------------------ */

static peer mounted, told;

static void start(peer *p)
{
    assert_int_equal(mcp_loop_new(NULL, &p->loop, &p->error), MCP_OK);
    mcp_host host = *mcp_loop_host(p->loop);
    host.log = NULL;
    assert_int_equal(peer_serve(p, &host, NULL), MCP_OK);
}

static void compare_answers(const char *what)
{
    static const char *const methods[] = {"server/discover", "resources/templates/list",
                                          "tools/list", "prompts/list"};
    assert_string_equal(mcp_server_mount_prefix(mounted.server, 0),
                        mcp_server_mount_prefix(told.server, 0));
    assert_int_equal(peer_connect(&mounted), MCP_OK);
    assert_int_equal(peer_connect(&told), MCP_OK);
    for (size_t i = 0; i < sizeof(methods) / sizeof(*methods); i++)
        if (strcmp(ask(&mounted, methods[i], ""), ask(&told, methods[i], "")) != 0)
            fail_msg("%s: %s\nmounted:   %.2000s\ndescribed: %.2000s", what, methods[i],
                     mounted.reply, told.reply);
}

static void compare(const kind *k, const char *source, const char *text, const char *name)
{
    char what[400];
    mcp_json_doc *doc = parse(text);
    described d = {0};
    mcp_error e1 = {0}, e2 = {0};
    snprintf(what, sizeof(what), "%s:%s %s %s", k->name, source, text, name ? name : "(no name)");
    start(&mounted);
    start(&told);
    d.server = told.server;
    int rc = k->mount(mounted.server, source, mcp_json_root(doc), name, NULL, &e1);
    int as_told = describe(k, source, mcp_json_root(doc), name, NULL, &d, &e2);
    if (rc != as_told || strcmp(e1.text, e2.text) != 0)
        fail_msg("%s: mounted %d %s, described %d %s", what, rc, e1.text, as_told, e2.text);
    if (rc == MCP_OK) {
        assert_int_equal(d.sources, 1);
        assert_int_equal(d.in_process, k->in_process);
        compare_answers(what);
    }
    mcp_json_free(doc);
    peer_close(&mounted);
    peer_close(&told);
}

static void test_equal(void **state)
{
    (void)state;
    for (size_t i = 0; i < KINDS; i++)
        for (const char *const *source = kinds[i].sources; *source; source++)
            for (const char *const *options = kinds[i].options; *options; options++)
                for (size_t n = 0; n < NAMES; n++)
                    compare(&kinds[i], *source, *options, names[n]);
}

/* Two sources with the same name, or with the same tool name, give the same error when they are
 * described as when they are mounted. */
static void test_taken(void **state)
{
    (void)state;
    for (size_t i = 0; i < KINDS; i++) {
        const kind *k = &kinds[i];
        for (size_t same = 0; same < 2; same++) {
            described d = {0};
            mcp_json_doc *doc = parse(i == 1 ? "{}" : "{\"tool\":\"ask\"}");
            const char *second = same ? "x" : "y";
            mcp_error e1 = {0}, e2 = {0};
            start(&mounted);
            start(&told);
            d.server = told.server;
            const mcp_json *options = mcp_json_root(doc);
            assert_int_equal(k->mount(mounted.server, *k->sources, options, "x", NULL, &e1),
                             MCP_OK);
            assert_int_equal(describe(k, *k->sources, options, "x", NULL, &d, &e2), MCP_OK);
            d.after = false;
            int rc = k->mount(mounted.server, *k->sources, options, second, NULL, &e1);
            assert_int_equal(describe(k, *k->sources, options, second, NULL, &d, &e2), rc);
            assert_int_equal(rc, same || i != 1 ? MCP_EEXIST : MCP_OK);
            assert_string_equal(e1.text, e2.text);
            mcp_json_free(doc);
            peer_close(&mounted);
            peer_close(&told);
        }
    }
}

/* ---- nothing is opened ----------------------------------------------------------------------- */

static void test_paths(void **state)
{
    (void)state;
    char here[256], beside[300];
    described d = {0};
    mcp_json_doc *doc = parse("{\"within\":\"/all\"}");
    start(&told);
    d.server = told.server;
    assert_int_equal(describe(&kinds[0], "link.db", NULL, NULL, NULL, &d, NULL), MCP_OK);
    assert_int_equal(d.n_paths, 4);
    assert_string_equal(d.paths[0], "r:link.db");
    assert_non_null(getcwd(here, sizeof(here)));
    snprintf(beside, sizeof(beside), "r:%s/folder/target.db-wal", here);
    assert_string_equal(d.paths[1], beside);
    snprintf(beside, sizeof(beside), "w:r:%s/folder/target.db-shm", here);
    assert_string_equal(d.paths[2], beside);
    snprintf(beside, sizeof(beside), "r:%s/folder/target.db-journal", here);
    assert_string_equal(d.paths[3], beside);
    d.n_paths = d.after = 0;
    assert_int_equal(describe(&kinds[0], "none.db", NULL, NULL, NULL, &d, NULL), MCP_OK);
    assert_string_equal(d.paths[1], "r:none.db-wal");
    d.n_paths = d.after = 0;
    assert_int_equal(describe(&kinds[1], "/r", mcp_json_root(doc), NULL, NULL, &d, NULL), MCP_OK);
    assert_int_equal(d.n_paths, 2);
    assert_string_equal(d.paths[0], "/r");
    assert_string_equal(d.paths[1], "/all");
    mcp_json_free(doc);
    peer_close(&told);
}

/* From here on, opening a file or a socket or starting a process kills this process. */
static void forbid_opening(void)
{
    static const int forbidden[] = {
#ifdef SYS_open
        SYS_open,   SYS_fork,    SYS_vfork,
#endif
        SYS_openat, SYS_openat2, SYS_socket, SYS_connect, SYS_clone, SYS_execve};
    enum { N = sizeof(forbidden) / sizeof(*forbidden) };
    struct sock_filter code[2 * N + 2];
    size_t n = 0;
    code[n++] =
        (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (size_t i = 0; i < N; i++) {
        code[n++] =
            (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)forbidden[i], 0, 1);
        code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    }
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {.len = (unsigned short)n, .filter = code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        _exit(77);
}

/* Describes all sources, or, if `really`, opens a file, in a child process. Returns its exit
 * status. */
static int opens(bool really)
{
    int status;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        peer_serve(&told, NULL, NULL);
        forbid_opening();
        if (really)
            _exit(fopen("shop.db", "re") != NULL);
        for (size_t i = 0; i < KINDS; i++)
            for (const char *const *source = kinds[i].sources; *source; source++)
                for (size_t k = 0; k < 2; k++) {
                    described d = {.server = told.server};
                    char name[40];
                    snprintf(name, sizeof(name), "%zu%zu%zu", i,
                             (size_t)(source - kinds[i].sources), k);
                    if (describe(&kinds[i], k ? *source : "dbname=none", NULL, name, NULL, &d,
                                 NULL) != MCP_OK)
                        _exit(1);
                }
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void test_opens_nothing(void **state)
{
    (void)state;
    int status = opens(true);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        skip();
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS);
    status = opens(false);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* ---- without memory -------------------------------------------------------------------------- */

static void test_no_memory(void **state)
{
    (void)state;
    for (size_t i = 0; i < KINDS; i++)
        for (const char *const *options = kinds[i].options; *options; options++) {
            mcp_json_doc *doc = parse(*options);
            for (size_t n = 1;; n++) {
                failalloc f = {.fail_at = n};
                mcp_allocator alloc = failalloc_allocator(&f);
                described d = {0};
                mcp_error error = {0};
                start(&told);
                d.server = told.server;
                int rc = describe(&kinds[i], *kinds[i].sources, mcp_json_root(doc), NULL, &alloc,
                                  &d, &error);
                peer_close(&told);
                assert_int_equal(f.live, 0);
                if (f.calls < n)
                    break;
                assert_int_equal(rc, MCP_ENOMEM);
            }
            mcp_json_free(doc);
        }
}

/* If a function of the loader fails, the description fails with the same code. `left` is the number
 * of calls that succeed before. */
static size_t left;

static int refuse_source(const mcp_source *source, mcp_error *error, void *user)
{
    return left-- ? take_source(source, error, user) : MCP_EPROTOCOL;
}

static int refuse_path(const mcp_source_path *path, mcp_error *error, void *user)
{
    return left-- ? take_path(path, error, user) : MCP_EPROTOCOL;
}

static int refuse_template(const mcp_resource_template *tmpl, mcp_error *error, void *user)
{
    return left-- ? take_template(tmpl, error, user) : MCP_EPROTOCOL;
}

static int refuse_tool(const mcp_tool *tool, mcp_error *error, void *user)
{
    return left-- ? take_tool(tool, error, user) : MCP_EPROTOCOL;
}

static void test_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < KINDS; i++) {
        const char *const *last = kinds[i].options;
        while (last[1])
            last++;
        mcp_json_doc *doc = parse(*last);
        size_t n = 0;
        for (int rc = MCP_EPROTOCOL; rc != MCP_OK; n++) {
            described d = {0};
            mcp_description to = into(&d);
            to.source = refuse_source;
            to.add_path = refuse_path;
            to.add_template = refuse_template;
            to.add_tool = refuse_tool;
            start(&told);
            d.server = told.server;
            left = n;
            rc = kinds[i].describe(*kinds[i].sources, mcp_json_root(doc), NULL, NULL, &to, NULL);
            peer_close(&told);
            assert_true(rc == MCP_OK || rc == MCP_EPROTOCOL);
            assert_true(rc == MCP_OK || left == (size_t)-1);
        }
        assert_true(n > 8);
        mcp_json_free(doc);
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
    static char top[] = "/tmp/test_describe_XXXXXX";
    use_git_environment();
    *state = top;
    return !mkdtemp(top) || chdir(top) != 0 || !make_database("shop.db") ||
           system(
               "mkdir folder && cp shop.db x && "
               "cp shop.db 'odd name%.sqlite3' && cp shop.db folder/target.db && "
               "ln -s folder/target.db link.db && git init -q r && git clone -q --bare r bare.git "
               "2>err && ln -s r link");
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
        cmocka_unit_test(test_equal),     cmocka_unit_test(test_taken),
        cmocka_unit_test(test_paths),     cmocka_unit_test(test_opens_nothing),
        cmocka_unit_test(test_no_memory), cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, make_sources, remove_sources);
}
