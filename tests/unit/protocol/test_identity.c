/* Identities: their members, options that are refused, and comparisons of scopes. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <setjmp.h>
#include <cmocka.h>
#include <malloc.h>

#include "protocol/identity.h"

#include "support/failalloc.h"

static void test_members(void **state)
{
    mcp_identity *i = NULL;
    (void)state;
    assert_int_equal(
        mcp_identity_new(MCP_OPTIONS(mcp_identity_options, .principal = "p", .scopes = " a  b",
                                     .claims = "{\"sub\":\"s\"}", .issuer = "https://i",
                                     .token = "t", .expires_ms = 5),
                         &i, NULL),
        MCP_OK);
    assert_string_equal(mcp_identity_principal(i), "p");
    assert_string_equal(mcp_identity_scopes(i), " a  b");
    assert_string_equal(mcp_identity_issuer(i), "https://i");
    assert_string_equal(mcp_identity_token(i), "t");
    assert_int_equal(mcp_identity_expires_ms(i), 5);
    assert_true(
        mcp_str_eq(mcp_json_string(mcp_json_get(mcp_identity_claims(i), "sub")), MCP_STR("s")));
    assert_ptr_equal(mcp_identity_ref(i), i);
    mcp_identity_unref(i);
    assert_string_equal(mcp_identity_principal(i), "p");
    mcp_identity_unref(i);

    assert_int_equal(mcp_identity_new(MCP_OPTIONS(mcp_identity_options, .principal = ""), &i, NULL),
                     MCP_OK);
    assert_string_equal(mcp_identity_principal(i), "");
    assert_null(mcp_identity_scopes(i));
    assert_null(mcp_identity_claims(i));
    assert_null(mcp_identity_issuer(i));
    assert_null(mcp_identity_token(i));
    mcp_identity_unref(i);

    mcp_identity_unref(NULL);
    assert_null(mcp_identity_ref(NULL));
    assert_null(mcp_identity_principal(NULL));
    assert_null(mcp_identity_scopes(NULL));
    assert_null(mcp_identity_claims(NULL));
    assert_null(mcp_identity_issuer(NULL));
    assert_null(mcp_identity_token(NULL));
    assert_int_equal(mcp_identity_expires_ms(NULL), 0);
}

static void *measured_allocate(size_t size, void *user)
{
    void *p = malloc(size);
    *(size_t *)user += malloc_usable_size(p);
    return p;
}

static void measured_release(void *ptr, void *user)
{
    *(size_t *)user -= malloc_usable_size(ptr);
    free(ptr);
}

/* A cache of identities is limited by the memory that they report, so it must be all of it. */
static void test_memory(void **state)
{
    size_t live = 0;
    mcp_allocator a = {measured_allocate, NULL, measured_release, &live};
    mcp_identity *i = NULL;
    (void)state;
    assert_int_equal(
        mcp_identity_new(
            MCP_OPTIONS(mcp_identity_options, .principal = "https://as.example#user",
                        .scopes = "files:read files:write", .issuer = "https://as.example",
                        .token = "0123456789abcdef0123456789abcdef0123456789a",
                        .claims = "{\"sub\":\"user\",\"aud\":[\"https://mcp.example/mcp\"],"
                                  "\"exp\":1700000000,\"scope\":\"files:read files:write\"}",
                        .allocator = &a),
            &i, NULL),
        MCP_OK);
    assert_true(live <= mcp__identity_memory(i));
    assert_true(live + 128 > mcp__identity_memory(i));
    mcp_identity_unref(i);
    assert_int_equal(live, 0);
    assert_int_equal(mcp__identity_memory(NULL), 0);
}

static void test_refused(void **state)
{
    static char long_name[1025], long_text[(64 << 10) + 2];
    memset(long_name, 'a', sizeof(long_name) - 1);
    memset(long_text, ' ', sizeof(long_text) - 1);
    const struct {
        mcp_identity_options options;
        int rc;
    } table[] = {
        {{0}, MCP_EINVAL},
        {{.principal = long_name}, MCP_ELIMIT},
        {{.principal = "p", .issuer = long_name}, MCP_ELIMIT},
        {{.principal = "p", .token = long_name}, MCP_ELIMIT},
        {{.principal = "p", .scopes = long_text}, MCP_ELIMIT},
        {{.principal = "p", .claims = long_text}, MCP_ELIMIT},
        {{.principal = "p", .scopes = "a\"b"}, MCP_EINVAL},
        {{.principal = "p", .scopes = "a\\b"}, MCP_EINVAL},
        {{.principal = "p", .scopes = "a\r\nb"}, MCP_EINVAL},
        {{.principal = "p", .scopes = "\303\244"}, MCP_EINVAL},
        {{.principal = "p", .claims = "[]"}, MCP_EPROTOCOL},
        {{.principal = "p", .claims = "{"}, MCP_EPARSE},
        {{.principal = "p", .claims = "{\"a\":1,\"a\":2}"}, MCP_EPARSE},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        mcp_identity *identity = NULL;
        mcp_identity_options o = table[i].options;
        o.size = sizeof(o);
        assert_int_equal(mcp_identity_new(&o, &identity, NULL), table[i].rc);
        assert_null(identity);
    }
    assert_int_equal(
        mcp_identity_new(MCP_OPTIONS(mcp_identity_options, .principal = "p"), NULL, NULL),
        MCP_EINVAL);
}

static void test_scopes(void **state)
{
    static const struct {
        const char *granted, *wanted;
        bool has;
    } table[] = {
        {"a b", "a", true},
        {"a b", "b a", true},
        {"a b", " b  a ", true},
        {"a b", "a b c", false},
        {"a b", "A", false},
        {"ab", "a", false},
        {"a", "ab", false},
        {"", "a", false},
        {NULL, "a", false},
        {NULL, "", true},
        {NULL, NULL, true},
        {"a", "a offline_access", true},
        {"a", "offline_access", true},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        mcp_identity *identity = NULL;
        assert_int_equal(mcp_identity_new(MCP_OPTIONS(mcp_identity_options, .principal = "p",
                                                      .scopes = table[i].granted),
                                          &identity, NULL),
                         MCP_OK);
        assert_int_equal(mcp_identity_has_scopes(identity, table[i].wanted), table[i].has);
        mcp_identity_unref(identity);
    }
    assert_false(mcp_identity_has_scopes(NULL, "a"));
    assert_true(mcp_identity_has_scopes(NULL, ""));
}

static void test_no_memory(void **state)
{
    (void)state;
    for (size_t n = 1;; n++) {
        failalloc f = {.fail_at = n};
        mcp_allocator a = failalloc_allocator(&f);
        mcp_identity *i = NULL;
        int rc = mcp_identity_new(MCP_OPTIONS(mcp_identity_options, .principal = "p",
                                              .claims = "{\"a\":[1]}", .allocator = &a),
                                  &i, NULL);
        assert_int_equal(rc, f.calls < n ? MCP_OK : MCP_ENOMEM);
        mcp_identity_unref(i);
        assert_int_equal(f.live, 0);
        if (f.calls < n)
            break;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_members),   cmocka_unit_test(test_memory),
        cmocka_unit_test(test_refused),   cmocka_unit_test(test_scopes),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
