/* test_fileuri.c: URIs are converted to paths and back, and invalid ones are rejected.
 *
 * Compiled with include/, providers/files and tests/support on the include path, linked to the
 * files provider and cmocka. */
#define _GNU_SOURCE
#include "failalloc.h"
#include "fileuri.h"
#include "tree.h"

/* Roots without descriptors, because nothing is opened here. */
static char slash_path[] = "", a_path[] = "/a", ab_path[] = "/a/b", evil_path[] = "/allow",
            one_path[] = "/f/one.txt", odd_path[] = "/o d/\xc3\xa9";
static files_root items[] = {
    {.path = a_path, .path_len = 2, .nested = true},
    {.path = ab_path, .path_len = 4},
    {.path = evil_path, .path_len = 6},
    {.path = one_path, .path_len = 10, .only = one_path + 3},
    {.path = odd_path, .path_len = 7},
};
static files_root top_item[] = {{.path = slash_path}};
static const files_roots roots = {.items = items, .count = 5};
static const files_roots top = {.items = top_item, .count = 1};

static const struct {
    const char *uri;
    int code;
    size_t root;
    const char *rel;
    const char *canonical; /* if NULL, the URI itself */
} cases[] = {
    {"file:///a/x", MCP_OK, 0, "x", NULL},
    {"file:///a", MCP_OK, 0, "", NULL},
    {"file:///a/", MCP_OK, 0, "", "file:///a"},
    {"file:///a/x/", MCP_OK, 0, "x", "file:///a/x"},
    {"file:///a/b", MCP_OK, 1, "", NULL},
    {"file:///a/b/c", MCP_OK, 1, "c", NULL},
    {"file:///a/bc", MCP_OK, 0, "bc", NULL},
    {"FILE:///a/x", MCP_OK, 0, "x", "file:///a/x"},
    {"file://localhost/a/x", MCP_OK, 0, "x", "file:///a/x"},
    {"file://LocalHost/a/x", MCP_OK, 0, "x", "file:///a/x"},
    {"file:/a/x", MCP_OK, 0, "x", "file:///a/x"},
    {"file:///%61/%78", MCP_OK, 0, "x", "file:///a/x"},
    {"file:///a/%c3%A9", MCP_OK, 0, "\xc3\xa9", "file:///a/%C3%A9"},
    {"file:///a/%FF%fe", MCP_OK, 0, "\xff\xfe", "file:///a/%FF%FE"},
    /* an overlong encoding of a slash is two ordinary bytes */
    {"file:///a/%c0%af", MCP_OK, 0, "\xc0\xaf", "file:///a/%C0%AF"},
    {"file:///a/%2541", MCP_OK, 0, "%41", NULL},
    {"file:///a/%252e%252e/x", MCP_OK, 0, "%2e%2e/x", NULL},
    {"file:///a/%252f", MCP_OK, 0, "%2f", NULL},
    {"file:///a/a:b@c!$&'()*+,;=-._~", MCP_OK, 0, "a:b@c!$&'()*+,;=-._~", NULL},
    {"file:///a/...", MCP_OK, 0, "...", NULL},
    {"file:///f/one.txt", MCP_OK, 3, "", NULL},
    {"file:///o%20d/%C3%A9/x", MCP_OK, 4, "x", NULL},
    {"file:///f/one.txt/", MCP_ENOTFOUND, 0, NULL, NULL},
    {"file:///f/one.txt/x", MCP_ENOTFOUND, 0, NULL, NULL},
    {"file:///f/two.txt", MCP_ENOTFOUND, 0, NULL, NULL},
    {"file:///f", MCP_ENOTFOUND, 0, NULL, NULL},
    {"file:///allow_evil/x", MCP_ENOTFOUND, 0, NULL, NULL},
    {"file:///", MCP_ENOTFOUND, 0, NULL, NULL},
    {"file:///b", MCP_ENOTFOUND, 0, NULL, NULL},
    {"file:///a/../b", MCP_EPARSE, 0, NULL, NULL},
    {"file:///a/..", MCP_EPARSE, 0, NULL, NULL},
    {"file:///a/%2e%2e/b", MCP_EPARSE, 0, NULL, NULL},
    {"file:///a/.%2E/b", MCP_EPARSE, 0, NULL, NULL},
    {"file:///a/./b", MCP_EPARSE, 0, NULL, NULL},
    {"file:///a/%2e", MCP_EPARSE, 0, NULL, NULL},
    {"file:///a/x%2fy", MCP_EPARSE, 0, NULL, NULL},
    {"file:///a/..%2fy", MCP_EPARSE, 0, NULL, NULL},
    {"file:///a/x%00", MCP_EPARSE, 0, NULL, NULL},
    {"file:///a//x", MCP_EPARSE, 0, NULL, NULL},
    {"file:///a/x//", MCP_EPARSE, 0, NULL, NULL},
    {"file:////a/x", MCP_EPARSE, 0, NULL, NULL},
    {"file:////", MCP_EPARSE, 0, NULL, NULL},
    {"file:///a/%", MCP_EPARSE, 0, NULL, NULL},
    {"file:///a/%4", MCP_EPARSE, 0, NULL, NULL},
    {"file:///a/%4g", MCP_EPARSE, 0, NULL, NULL},
    {"file:///a/ x", MCP_EPARSE, 0, NULL, NULL},
    {"file:///a/\xc3\xa9", MCP_EPARSE, 0, NULL, NULL},
    {"file:///a/x\\y", MCP_EPARSE, 0, NULL, NULL},
    {"file:a/x", MCP_EPARSE, 0, NULL, NULL},
    {"file:", MCP_EPARSE, 0, NULL, NULL},
    {"file://", MCP_EPARSE, 0, NULL, NULL},
    {"", MCP_EPARSE, 0, NULL, NULL},
    {"/a/x", MCP_EPARSE, 0, NULL, NULL},
    {"file:///a/x?y", MCP_EUNSUPPORTED, 0, NULL, NULL},
    {"file:///a/x#y", MCP_EUNSUPPORTED, 0, NULL, NULL},
    {"file://host/a/x", MCP_EUNSUPPORTED, 0, NULL, NULL},
    {"file://localhost:80/a/x", MCP_EUNSUPPORTED, 0, NULL, NULL},
    {"file://localhostx/a/x", MCP_EUNSUPPORTED, 0, NULL, NULL},
    {"file://me@localhost/a/x", MCP_EUNSUPPORTED, 0, NULL, NULL},
    {"http://localhost/a/x", MCP_EUNSUPPORTED, 0, NULL, NULL},
    {"files:///a/x", MCP_EUNSUPPORTED, 0, NULL, NULL},
};

static void test_parse(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        files_target target;
        common_buffer out;
        mcp_str uri = mcp_str_from(cases[i].uri);
        int rc = files_uri_parse(&roots, uri, &target);
        if (rc != cases[i].code)
            fail_msg("%s: %d", cases[i].uri, rc);
        if (rc != MCP_OK)
            continue;
        assert_int_equal(target.root, cases[i].root);
        assert_string_equal(target.rel, cases[i].rel);
        assert_int_equal(target.rel_len, strlen(cases[i].rel));
        common_buffer_init(&out, NULL);
        assert_int_equal(files_uri_canonical(&roots, uri, &out), MCP_OK);
        assert_int_equal(common_buffer_append(&out, "", 1), MCP_OK);
        assert_string_equal(out.ptr, cases[i].canonical ? cases[i].canonical : cases[i].uri);
        common_buffer_free(&out);
    }
}

static void test_slash(void **state)
{
    files_target target;
    (void)state;
    assert_int_equal(files_uri_parse(&roots, MCP_STR("file:///a/x/"), &target), MCP_OK);
    assert_true(target.slash);
    assert_int_equal(files_uri_parse(&roots, MCP_STR("file:///a/x"), &target), MCP_OK);
    assert_false(target.slash);
}

static void test_top(void **state)
{
    files_target target;
    common_buffer out;
    (void)state;
    assert_int_equal(files_uri_parse(&top, MCP_STR("file:///"), &target), MCP_OK);
    assert_string_equal(target.rel, "");
    assert_int_equal(files_uri_parse(&top, MCP_STR("file:///etc/x"), &target), MCP_OK);
    assert_string_equal(target.rel, "etc/x");
    common_buffer_init(&out, NULL);
    assert_int_equal(files_uri_canonical(&top, MCP_STR("file:///"), &out), MCP_OK);
    assert_int_equal(files_uri_canonical(&top, MCP_STR("file:/etc/x/"), &out), MCP_OK);
    assert_true(mcp_str_eq((mcp_str){out.ptr, out.len}, MCP_STR("file:///file:///etc/x")));
    common_buffer_free(&out);
}

/* NUL bytes, and bytes beyond the end: a URI has a length and no terminator. */
static void test_bytes(void **state)
{
    files_target target;
    char long_uri[3 * COMMON_PATH_MAX];
    (void)state;
    assert_int_equal(files_uri_parse(&roots, (mcp_str){"file:///a/x\0y", 13}, &target), MCP_EPARSE);
    assert_int_equal(files_uri_parse(&roots, (mcp_str){"file:///a/%41", 12}, &target), MCP_EPARSE);
    memset(long_uri, 'x', sizeof(long_uri));
    memcpy(long_uri, "file:///a/", 10);
    size_t most = 7 + COMMON_PATH_MAX - 1;
    assert_int_equal(files_uri_parse(&roots, (mcp_str){long_uri, most}, &target), MCP_OK);
    assert_int_equal(files_uri_parse(&roots, (mcp_str){long_uri, most + 1}, &target), MCP_ELIMIT);
    assert_int_equal(files_uri_parse(&roots, (mcp_str){NULL, 0}, &target), MCP_EPARSE);
    assert_int_equal(files_path_parse(&roots, MCP_STR("/a/%41"), &target), MCP_OK);
    assert_string_equal(target.rel, "%41");
    assert_int_equal(files_path_parse(&roots, MCP_STR("a/x"), &target), MCP_EPARSE);
    assert_int_equal(files_path_parse(&roots, MCP_STR("/a/../x"), &target), MCP_EPARSE);
}

/* Every byte that a name may contain survives the round trip. */
static void test_round_trip(void **state)
{
    (void)state;
    for (int c = 1; c < 256; c++) {
        char rel[4] = {'x', (char)c, 'y', 0};
        common_buffer out;
        files_target target;
        if (c == '/')
            continue;
        common_buffer_init(&out, NULL);
        assert_int_equal(files_uri_write(&items[4], (mcp_str){rel, 3}, &out), MCP_OK);
        assert_int_equal(files_uri_parse(&roots, (mcp_str){out.ptr, out.len}, &target), MCP_OK);
        assert_int_equal(target.root, 4);
        assert_string_equal(target.rel, rel);
        common_buffer_free(&out);
    }
}

static void test_rel_valid(void **state)
{
    static const struct {
        const char *rel;
        bool valid;
    } rels[] = {
        {"", true},      {"a", true},     {"a/b", true},    {"..a", true}, {"a/...", true},
        {"/a", false},   {"a/", false},   {"a//b", false},  {".", false},  {"..", false},
        {"a/..", false}, {"../a", false}, {"a/./b", false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rels) / sizeof(rels[0]); i++)
        assert_int_equal(files_rel_valid(mcp_str_from(rels[i].rel)), rels[i].valid);
    assert_false(files_rel_valid((mcp_str){"a\0b", 3}));
}

static void test_no_memory(void **state)
{
    failalloc f = {.fail_at = 1};
    mcp_allocator a = failalloc_allocator(&f);
    common_buffer out;
    (void)state;
    common_buffer_init(&out, &a);
    assert_int_equal(files_uri_canonical(&roots, MCP_STR("file:///a/x"), &out), MCP_ENOMEM);
    assert_int_equal(out.len, 0);
    common_buffer_free(&out);
    assert_int_equal(f.live, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse),      cmocka_unit_test(test_slash),
        cmocka_unit_test(test_top),        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_round_trip), cmocka_unit_test(test_rel_valid),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
