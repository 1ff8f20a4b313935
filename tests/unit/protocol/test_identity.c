/* Identities: their members, options that are refused, and comparisons of scopes. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <setjmp.h>
#include <cmocka.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

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
        {{.principal = "\1\2p"}, MCP_EINVAL},
        {{.principal = "p", .view = ""}, MCP_EINVAL},
        {{.principal = "p", .view = "."}, MCP_EINVAL},
        {{.principal = "p", .view = "-a"}, MCP_EINVAL},
        {{.principal = "p", .view = "a/b"}, MCP_EINVAL},
        {{.principal = "p", .view = "a b"}, MCP_EINVAL},
        {{.principal = "p", .view = "a\1"}, MCP_EINVAL},
        {{.principal = "p", .view = "\303\244"}, MCP_EINVAL},
        {{.principal = "p", .view = long_name}, MCP_EINVAL},
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

/* ---- views ----------------------------------------------------------------------------------- */

static mcp_identity *made(const char *principal, const char *view)
{
    mcp_identity *i = NULL;
    assert_int_equal(
        mcp_identity_new(MCP_OPTIONS(mcp_identity_options, .principal = principal, .view = view,
                                     .scopes = "s", .token = "t", .issuer = "i",
                                     .claims = "{\"a\":1}", .expires_ms = 7),
                         &i, NULL),
        MCP_OK);
    return i;
}

/* An identity in a view is the same caller, and the same object for each request. */
static void test_views(void **state)
{
    mcp_identity *i = made("p", NULL), *a, *again, *b;
    (void)state;
    assert_null(mcp_identity_view(i));
    assert_string_equal(mcp_identity_binding(i), "p");
    assert_int_equal(mcp__identity_in_view(i, MCP_STR("a"), &a), MCP_OK);
    assert_int_equal(mcp__identity_in_view(i, MCP_STR("b"), &b), MCP_OK);
    assert_int_equal(mcp__identity_in_view(i, MCP_STR("a"), &again), MCP_OK);
    assert_ptr_equal(a, again);
    assert_int_equal(mcp__identity_in_view(b, MCP_STR("a"), &again), MCP_OK);
    assert_ptr_equal(a, again);
    assert_int_equal(mcp__identity_in_view(i, MCP_STR("a/b"), &again), MCP_EINVAL);
    assert_string_equal(mcp_identity_view(a), "a");
    assert_string_equal(mcp_identity_principal(a), "p");
    assert_string_equal(mcp_identity_token(a), "t");
    assert_string_equal(mcp_identity_issuer(a), "i");
    assert_string_equal(mcp_identity_scopes(a), "s");
    assert_true(mcp_identity_has_scopes(a, "s"));
    assert_int_equal(mcp_identity_expires_ms(a), 7);
    assert_ptr_equal(mcp_identity_claims(a), mcp_identity_claims(i));
    assert_int_equal(mcp__identity_memory(a), mcp__identity_memory(i));
    /* it keeps what it shares */
    mcp_identity_ref(a);
    mcp_identity_unref(i);
    assert_string_equal(mcp_identity_principal(a), "p");
    assert_string_equal(mcp_identity_view(b), "b");
    mcp_identity_unref(b);
    assert_null(mcp_identity_view(NULL));
    assert_null(mcp_identity_binding(NULL));

    i = made(NULL, "a");
    assert_null(mcp_identity_principal(i));
    assert_string_equal(mcp_identity_view(i), "a");
    mcp_identity_unref(i);
}

/* No two callers, in whatever views, have the same binding. */
static void test_bindings(void **state)
{
    static const struct {
        const char *principal, *view;
    } table[] = {
        {"p", NULL},   {"p", "a"},   {"p", "b"},    {"q", "a"},      {"", NULL},
        {"", "a"},     {NULL, "a"},  {NULL, "b"},   {"a", NULL},     {"a", "a"},
        {"ap", NULL},  {"n", "a"},   {"", "an"},    {NULL, "an"},    {"\1a\1np", NULL},
        {"a\1p", "a"}, {"p", "a.a"}, {"a/p", NULL}, {"a\1np", NULL}, {"np", "a"},
        {"", "aa"},    {"a", "aa"},
    };
    enum { N = sizeof(table) / sizeof(table[0]) };
    mcp_identity *all[N];
    (void)state;
    for (size_t i = 0; i < N; i++)
        all[i] = made(table[i].principal, table[i].view);
    for (size_t i = 0; i < N; i++)
        for (size_t k = 0; k < N; k++)
            if (mcp__same_binding(mcp_identity_binding(all[i]), mcp_identity_binding(all[k])) !=
                (i == k))
                fail_msg("%zu and %zu", i, k);
    for (size_t i = 0; i < N; i++) {
        assert_false(mcp__same_binding(NULL, mcp_identity_binding(all[i])));
        mcp_identity_unref(all[i]);
    }
    assert_true(mcp__same_binding(NULL, NULL));
}

enum { THREADS = 8, VIEWS = 40 };

typedef struct racer {
    mcp_identity *of, *got[VIEWS];
    unsigned at;
} racer;

static void *race(void *arg)
{
    racer *r = arg;
    char name[8];
    for (unsigned i = 0; i < VIEWS; i++) {
        unsigned n = (i + r->at) % VIEWS;
        snprintf(name, sizeof(name), "v%u", n);
        assert_int_equal(mcp__identity_in_view(r->of, mcp_str_from(name), &r->got[n]), MCP_OK);
        mcp_identity_ref(r->got[n]);
    }
    return NULL;
}

/* Whoever comes first, all threads get the same identity for a view. */
static void test_threads(void **state)
{
    (void)state;
    for (int round = 0; round < 20; round++) {
        racer all[THREADS];
        pthread_t threads[THREADS];
        mcp_identity *i = made("p", NULL);
        for (unsigned k = 0; k < THREADS; k++) {
            all[k] = (racer){.of = i, .at = k % 3};
            assert_int_equal(pthread_create(&threads[k], NULL, race, &all[k]), 0);
        }
        for (size_t k = 0; k < THREADS; k++)
            pthread_join(threads[k], NULL);
        mcp_identity_unref(i);
        for (size_t k = 0; k < THREADS; k++)
            for (size_t n = 0; n < VIEWS; n++) {
                assert_ptr_equal(all[k].got[n], all[0].got[n]);
                assert_string_equal(mcp_identity_principal(all[k].got[n]), "p");
            }
        for (size_t k = 0; k < THREADS; k++)
            for (size_t n = 0; n < VIEWS; n++)
                mcp_identity_unref(all[k].got[n]);
    }
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
        int rc = mcp_identity_new(MCP_OPTIONS(mcp_identity_options, .principal = "p", .view = "v",
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
        cmocka_unit_test(test_members), cmocka_unit_test(test_memory),
        cmocka_unit_test(test_refused), cmocka_unit_test(test_scopes),
        cmocka_unit_test(test_views),   cmocka_unit_test(test_bindings),
        cmocka_unit_test(test_threads), cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
