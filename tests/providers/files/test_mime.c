/* test_mime.c: MIME types by file name, from a database made by the test, from the built-in table,
 * and with neither.
 *
 * Compiled with include/, providers/files and tests/support on the include path, linked to the
 * files provider and cmocka. */
#define _GNU_SOURCE
#include "failalloc.h"
#include "mime.h"
#include "tree.h"

static const char system_globs[] = "# comment\n"
                                   "80:text/html:*.html\n"
                                   "60:application/x-sharedlib:*.so.[0-9]*\n"
                                   "50:application/gzip:*.gz\n"
                                   "50:application/x-compressed-tar:*.tar.gz\n"
                                   "50:text/x-c++src:*.C:cs\n"
                                   "50:text/x-c++src:*.C\n"
                                   "50:text/x-csrc:*.c:cs\n"
                                   "50:text/x-csrc:*.c\n"
                                   "50:text/x-makefile:makefile\n"
                                   "50:application/x-core:core:cs\n"
                                   "50:application/x-core:core\n"
                                   "50:text/plain:*.txt\n"
                                   "50:application/x-trash:*~\n"
                                   "50:first/one:*.two\n"
                                   "50:second/one:*.two\n"
                                   "50:text/qt:*.ts\n"
                                   "50:video/mp2t:*.ts\n"
                                   "50:text/rust:*.rs\n"
                                   "50:old/type:*.old\n"
                                   "50:old/type:*.older\n"
                                   "50:shared/system:*.shared\n"
                                   "10:text/x-readme:readme*\n"
                                   "10:low/weight:*.long.ext\n"
                                   "50:high/weight:*.ext\n"
                                   "nonsense\n"
                                   "50:no-glob\n"
                                   "50:last/line:*.last";

static const char home_globs[] = "0:old/type:__NOGLOBS__\n"
                                 "50:old/type:*.newer\n"
                                 "50:shared/home:*.shared\n";

static const struct {
    const char *name, *type;
} cases[] = {
    {"a.html", "text/html"},
    {"a.HTML", "text/html"},
    {"a.gz", "application/gzip"},
    {"a.tar.gz", "application/x-compressed-tar"},
    {"a.Tar.GZ", "application/x-compressed-tar"},
    {"x.c", "text/x-csrc"},
    {"x.C", "text/x-c++src"},
    {"Makefile", "text/x-makefile"},
    {"makefile", "text/x-makefile"},
    {"makefile2", NULL},
    {"core", "application/x-core"},
    {"Core", NULL},
    {"a.txt", "text/plain"},
    {".txt", "text/plain"},
    {"a.txt~", "application/x-trash"},
    {"libx.so.6", "application/x-sharedlib"},
    {"libx.so.", NULL},
    {"README.txt", "text/plain"},
    {"README", "text/x-readme"},
    {"x.two", "first/one"},
    {"x.ts", "text/x-typescript"}, /* ambiguous in the database, so the table decides */
    {"x.rs", "text/x-rust"},       /* as hosts know it */
    {"x.old", NULL},
    {"x.older", NULL},
    {"x.newer", "old/type"},
    {"x.shared", "shared/home"},
    {"a.long.ext", "high/weight"},
    {"x.last", "last/line"},
    {"a.", NULL},
    {"a", NULL},
    {"", NULL},
    {"txt", NULL},
};

static void assert_type(files_mime *mime, const char *name, const char *expected)
{
    const char *type = files_mime_of_name(mime, mcp_str_from(name));
    if ((type == NULL) != (expected == NULL) || (type && strcmp(type, expected) != 0))
        fail_msg("%s: %s", name, type ? type : "none");
}

static void make(tree *t)
{
    tree_make(t);
    tree_file(t, "system/mime/globs2", system_globs);
    tree_file(t, "home/mime/globs2", home_globs);
}

static void test_database(void **state)
{
    tree t;
    files_mime *mime;
    char dirs[300];
    (void)state;
    make(&t);
    snprintf(dirs, sizeof(dirs), "/nowhere::%s/system:/nowhere", t.path);
    assert_int_equal(files_mime_new(tree_at(&t, "home"), dirs, NULL, &mime), MCP_OK);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_type(mime, cases[i].name, cases[i].type);
    files_mime_free(mime);
    tree_remove(&t);
}

static void test_table(void **state)
{
    static const struct {
        const char *name, *type;
    } known[] = {
        {"a.md", "text/markdown"},
        {"a.rs", "text/x-rust"},
        {"a.AVIF", "image/avif"},
        {"a.zst", "application/zstd"},
        {"a.c", "text/x-csrc"},
        {"a.cc", "text/x-c++src"},
        {"a.json", "application/json"},
        {"a.tar.gz", "application/gzip"},
        {"md", NULL},
        {"a.", NULL},
        {"a.jso", NULL},
        {"a.jsonn", NULL},
    };
    files_mime *mime;
    (void)state;
    assert_int_equal(files_mime_new(NULL, "/nowhere", NULL, &mime), MCP_OK);
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        assert_type(mime, known[i].name, known[i].type);
    files_mime_free(mime);
    assert_string_equal(files_mime_of_content(true), "text/plain");
    assert_string_equal(files_mime_of_content(false), "application/octet-stream");
}

static void test_long_name(void **state)
{
    char name[300];
    files_mime *mime;
    (void)state;
    memset(name, '.', sizeof(name));
    memcpy(name + 251, ".md", 3);
    assert_int_equal(files_mime_new(NULL, "/nowhere", NULL, &mime), MCP_OK);
    assert_string_equal(files_mime_of_name(mime, (mcp_str){name, 254}), "text/markdown");
    assert_null(files_mime_of_name(mime, (mcp_str){name, 300}));
    files_mime_free(mime);
}

static void test_no_memory(void **state)
{
    tree t;
    (void)state;
    make(&t);
    for (size_t n = 1;; n++) {
        failalloc f = {.fail_at = n};
        mcp_allocator a = failalloc_allocator(&f);
        files_mime *mime;
        int rc = files_mime_new(NULL, tree_at(&t, "system"), &a, &mime);
        if (rc == MCP_OK) {
            /* "html" is in the database and in the table. A type that only the database has may be
             * missing if an allocation failed. */
            assert_type(mime, "a.html", "text/html");
            const char *type = files_mime_of_name(mime, MCP_STR("x.last"));
            assert_true(type != NULL || f.calls >= n);
            files_mime_free(mime);
        }
        assert_true(rc == MCP_OK || rc == MCP_ENOMEM);
        assert_int_equal(f.live, 0);
        if (f.calls < n)
            break;
    }
    tree_remove(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_database),
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_long_name),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
