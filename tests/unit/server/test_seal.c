/* Sealed texts: who can open them, until when, and what a changed one is worth; with every allocation
 * failing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <mcp/input.h>
#include <mcp/server.h>
#include <mcp/sys/server.h>

#include "failalloc.h"

static const char key1[] = "0123456789abcdef0123456789abcdef",
                  key2[] = "another key of 32 bytes, at least";
static int64_t wall;

static int64_t clock_of(void *user)
{
    (void)user;
    return wall;
}

static int server_new(const char *name, const char *key, const mcp_allocator *a, mcp_server **ret)
{
    int rc = mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = name, .version = "1",
                                        .clock = clock_of, .allocator = a),
                            ret, NULL);
    if (rc == MCP_OK && key)
        rc = mcp_server_set_seal(*ret, MCP_OPTIONS(mcp_seal_options, .key = key, .key_len = 32),
                                 NULL);
    return rc;
}

static int unseal(mcp_server *s, const char *purpose, const char *sealed, size_t n,
                  mcp_str expected)
{
    char text[200];
    size_t len = 0;
    int rc = mcp_server_unseal(s, mcp_str_from(purpose), (mcp_str){sealed, n}, text, sizeof(text),
                               &len, NULL);
    if (rc == MCP_OK)
        assert_true(mcp_str_eq((mcp_str){text, len}, expected));
    return rc;
}

static void test_seal(void **state)
{
    (void)state;
    mcp_server *a, *b, *other_name, *other_key;
    char sealed[300], text[300];
    size_t n = 0, len = 0;
    uint64_t left = 0;
    mcp_str hello = MCP_STR("hello");
    wall = 1000;
    assert_int_equal(server_new("one", key1, NULL, &a), MCP_OK);
    assert_int_equal(server_new("one", key1, NULL, &b), MCP_OK);
    assert_int_equal(server_new("two", key1, NULL, &other_name), MCP_OK);
    assert_int_equal(server_new("one", key2, NULL, &other_key), MCP_OK);
    assert_int_equal(mcp_server_seal(a, MCP_STR("p"), hello, 5000, sealed, sizeof(sealed), &n),
                     MCP_OK);
    for (size_t i = 0; i < n; i++)
        assert_true(memchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_",
                           sealed[i], 64));
    assert_int_equal(unseal(a, "p", sealed, n, hello), MCP_OK);
    assert_int_equal(unseal(b, "p", sealed, n, hello), MCP_OK);
    assert_int_equal(unseal(b, "q", sealed, n, hello), MCP_EINVAL);
    assert_int_equal(unseal(b, "", sealed, n, hello), MCP_EINVAL);
    assert_int_equal(unseal(other_name, "p", sealed, n, hello), MCP_EINVAL);
    assert_int_equal(unseal(other_key, "p", sealed, n, hello), MCP_EINVAL);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(unseal(b, "p", sealed, i, hello), MCP_EINVAL);
        char c = sealed[i];
        sealed[i] = c == 'x' ? 'y' : 'x';
        assert_int_equal(unseal(b, "p", sealed, n, hello), MCP_EINVAL);
        sealed[i] = c;
    }
    wall = 5999;
    assert_int_equal(
        mcp_server_unseal(b, MCP_STR("p"), (mcp_str){sealed, n}, text, sizeof(text), &len, &left),
        MCP_OK);
    assert_int_equal(left, 1);
    wall = 6000;
    assert_int_equal(unseal(b, "p", sealed, n, hello), MCP_ETIMEOUT);
    /* room, and wrong calls */
    wall = 1000;
    assert_int_equal(mcp_server_unseal(b, MCP_STR("p"), (mcp_str){sealed, n}, text, 4, &len, NULL),
                     MCP_ELIMIT);
    assert_int_equal(mcp_server_seal(a, MCP_STR("p"), hello, 5000, sealed, n - 1, &len),
                     MCP_ELIMIT);
    assert_int_equal(mcp_server_seal(NULL, MCP_STR("p"), hello, 1, sealed, n, &len), MCP_EINVAL);
    assert_int_equal(mcp_server_seal(a, MCP_STR("p"), hello, 1, NULL, n, &len), MCP_EINVAL);
    assert_int_equal(mcp_server_unseal(a, MCP_STR("p"), hello, text, 1, NULL, NULL), MCP_EINVAL);
    assert_int_equal(
        mcp_server_seal(a, MCP_STR(""), (mcp_str){0}, UINT64_MAX, sealed, sizeof(sealed), &n),
        MCP_OK);
    assert_int_equal(unseal(b, "", sealed, n, (mcp_str){"", 0}), MCP_OK);
    mcp_server_free(a);
    mcp_server_free(b);
    mcp_server_free(other_name);
    mcp_server_free(other_key);
}

/* A key that is used later is the same key. */
static void test_later(void **state)
{
    (void)state;
    mcp_server *a, *b;
    char sealed[300];
    size_t n = 0;
    wall = 1000;
    assert_int_equal(server_new("one", key1, NULL, &a), MCP_OK);
    assert_int_equal(server_new("one", NULL, NULL, &b), MCP_OK);
    assert_int_equal(
        mcp_server_set_seal(
            b, MCP_OPTIONS(mcp_seal_options, .key = key1, .key_len = 32, .load_later = 1), NULL),
        MCP_OK);
    assert_int_equal(
        mcp_server_seal(a, MCP_STR("p"), MCP_STR("hello"), 5000, sealed, sizeof(sealed), &n),
        MCP_OK);
    assert_int_equal(unseal(b, "p", sealed, n, MCP_STR("hello")), MCP_OK);
    assert_int_equal(
        mcp_server_set_seal(
            b, MCP_OPTIONS(mcp_seal_options, .key = key2, .key_len = 32, .load_later = 1), NULL),
        MCP_OK);
    assert_int_equal(unseal(b, "p", sealed, n, MCP_STR("hello")), MCP_EINVAL);
    assert_int_equal(
        mcp_server_set_seal(
            b, MCP_OPTIONS(mcp_seal_options, .key = key2, .key_len = 33, .load_later = 1), NULL),
        MCP_EINVAL);
    mcp_server_free(a);
    mcp_server_free(b);
}

static void test_memory(void **state)
{
    (void)state;
    for (size_t fail_at = 1;; fail_at++) {
        failalloc f = {.fail_at = fail_at};
        mcp_allocator memory = failalloc_allocator(&f);
        mcp_server *s = NULL;
        char sealed[300];
        size_t n = 0;
        int rc = server_new("one", key1, &memory, &s);
        if (rc == MCP_OK)
            rc = mcp_server_seal(s, MCP_STR("p"), MCP_STR("x"), 1000, sealed, sizeof(sealed), &n);
        if (rc == MCP_OK)
            rc = unseal(s, "p", sealed, n, MCP_STR("x"));
        mcp_server_free(s);
        assert_int_equal(f.live, 0);
        if (f.calls < fail_at) {
            assert_int_equal(rc, MCP_OK);
            break;
        }
        assert_int_equal(rc, MCP_ENOMEM);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_seal), cmocka_unit_test(test_later),
                                       cmocka_unit_test(test_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
