/* Challenges, protected resource metadata, lists of scopes. */
#include "rig.h"
#include "auth/challenge.h"
#include "protocol/scope.h"

#define ALGS "algs=\"RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA Ed25519\""

static void test_challenges(void **state)
{
    (void)state;
    static const struct {
        mcp__auth_scheme scheme;
        mcp__refused why;
        const char *scopes, *url, *expected;
    } cases[] = {
        {MCP__SCHEME_BEARER, MCP__REFUSED_NO_TOKEN, "", "", "Bearer"},
        {MCP__SCHEME_BEARER, MCP__REFUSED_NO_TOKEN, "a b", "https://m.example/x",
         "Bearer scope=\"a b\", resource_metadata=\"https://m.example/x\""},
        {MCP__SCHEME_BEARER, MCP__REFUSED_EXPIRED, "", "https://m.example/x",
         "Bearer error=\"invalid_token\", error_description=\"the access token has expired\", "
         "resource_metadata=\"https://m.example/x\""},
        {MCP__SCHEME_BEARER, MCP__REFUSED_SCOPE, "files:read offline_access files:write", "",
         "Bearer error=\"insufficient_scope\", error_description=\"the access token lacks a "
         "scope\", scope=\"files:read files:write\""},
        {MCP__SCHEME_BEARER, MCP__REFUSED_NO_TOKEN, "offline_access", "", "Bearer"},
        {MCP__SCHEME_BEARER, MCP__REFUSED_NO_TOKEN, "a\"b c\\d e\nf g", "", "Bearer scope=\"g\""},
        {MCP__SCHEME_BEARER, MCP__REFUSED_NO_TOKEN, "", "a\"b\\c\r\nd\xC3\xA4",
         "Bearer resource_metadata=\"a\\\"b\\\\c??d??\""},
        {MCP__SCHEME_BEARER, MCP__REFUSED_NONCE, "", "", "Bearer"},
        {MCP__SCHEME_BEARER, MCP__REFUSED_PROOF_TIME, "", "", "Bearer"},
        {MCP__SCHEME_DPOP, MCP__REFUSED_NO_TOKEN, "", "", "DPoP " ALGS},
        {MCP__SCHEME_DPOP, MCP__REFUSED_NONCE, "a", "",
         "DPoP error=\"use_dpop_nonce\", error_description=\"the DPoP proof must contain "
         "the nonce of this response\", scope=\"a\", " ALGS},
    };
    for (size_t i = 0; i < MCP__COUNT(cases); i++) {
        mcp__challenge c = {cases[i].scheme, cases[i].why, mcp_str_from(cases[i].scopes),
                            mcp_str_from(cases[i].url)};
        mcp__buf b;
        mcp__buf_init(&b, mcp__allocator(NULL), 0);
        mcp__challenge_put(&b, &c);
        mcp__buf_add(&b, "", 1);
        assert_string_equal(b.ptr, cases[i].expected);
        mcp__buf_free(&b);
    }
}

/* With random strings, the result is one line of ASCII in which each quoted string is
 * terminated. */
static void test_hostile_texts(void **state)
{
    (void)state;
    uint32_t seed = 5;
    for (int n = 0; n < 3000; n++) {
        char texts[2][24];
        for (size_t i = 0; i < sizeof(texts); i++)
            (&texts[0][0])[i] = (char)next_random(&seed);
        mcp__challenge c = {n % 2 ? MCP__SCHEME_DPOP : MCP__SCHEME_BEARER,
                            (mcp__refused)(next_random(&seed) % MCP__REFUSALS_COUNT),
                            {texts[0], 24},
                            {texts[1], 24}};
        mcp__buf b;
        bool quoted = false;
        mcp__buf_init(&b, mcp__allocator(NULL), 0);
        mcp__challenge_put(&b, &c);
        for (size_t i = 0; i < b.len; i++) {
            assert_in_range(b.ptr[i], ' ', '~');
            if (quoted && b.ptr[i] == '\\')
                i++;
            else if (b.ptr[i] == '"')
                quoted = !quoted;
        }
        assert_false(quoted);
        mcp__buf_free(&b);
    }
}

static void test_metadata(void **state)
{
    (void)state;
    static const mcp_str issuers[] = {{"https://as.example", 18}, {"https://b.example/", 18}};
    mcp__resource full = {.url = MCP_STR("https://mcp.example/mcp"),
                          .issuers = issuers,
                          .n_issuers = 2,
                          .scopes = MCP_STR("read offline_access write"),
                          .name = MCP_STR("A \"name\""),
                          .documentation = MCP_STR("https://mcp.example/docs"),
                          .dpop = true};
    mcp__resource small = {.url = MCP_STR("https://mcp.example"),
                           .issuers = issuers,
                           .n_issuers = 1,
                           .scopes = MCP_STR("offline_access")};
    mcp__buf b;
    mcp__buf_init(&b, mcp__allocator(NULL), 0);
    assert_int_equal(mcp__resource_put(&b, &small), MCP_OK);
    mcp__buf_add(&b, "", 1);
    assert_string_equal(b.ptr,
                        "{\"resource\":\"https://mcp.example\",\"authorization_servers\":["
                        "\"https://as.example\"],\"bearer_methods_supported\":[\"header\"]}");
    mcp__buf_free(&b);
    mcp__buf_init(&b, mcp__allocator(NULL), 0);
    assert_int_equal(mcp__resource_put(&b, &full), MCP_OK);
    mcp__buf_add(&b, "", 1);
    assert_string_equal(
        b.ptr, "{\"resource\":\"https://mcp.example/mcp\",\"authorization_servers\":["
               "\"https://as.example\",\"https://b.example/\"],\"scopes_supported\":[\"read\","
               "\"write\"],\"bearer_methods_supported\":[\"header\"],\"resource_name\":\"A "
               "\\\"name\\\"\",\"resource_documentation\":\"https://mcp.example/docs\","
               "\"dpop_signing_alg_values_supported\":[\"RS256\",\"RS384\",\"RS512\",\"PS256\","
               "\"PS384\",\"PS512\",\"ES256\",\"ES384\",\"ES512\",\"EdDSA\",\"Ed25519\"],"
               "\"dpop_bound_access_tokens_required\":false}");
    mcp__buf_free(&b);
    for (size_t n = 1;; n++) {
        failalloc f = {.fail_at = n};
        mcp_allocator a = failalloc_allocator(&f);
        mcp__buf_init(&b, &a, 0);
        int rc = mcp__resource_put(&b, &full);
        mcp__buf_free(&b);
        assert_int_equal(f.live, 0);
        assert_int_equal(rc, f.calls < n ? MCP_OK : MCP_ENOMEM);
        if (f.calls < n)
            break;
    }
    small.n_issuers = 0;
    assert_int_equal(mcp__resource_put(&b, &small), MCP_EINVAL);
    full.url = MCP_STR("");
    assert_int_equal(mcp__resource_put(&b, &full), MCP_EINVAL);
}

#define WELL_KNOWN "/.well-known/oauth-protected-resource"

static void test_metadata_urls(void **state)
{
    (void)state;
    static const struct {
        const char *url, *expected;
    } cases[] = {
        {"https://a.example", "https://a.example" WELL_KNOWN},
        {"https://a.example/", "https://a.example" WELL_KNOWN},
        {"https://a.example/mcp", "https://a.example" WELL_KNOWN "/mcp"},
        {"https://a.example/mcp/", "https://a.example" WELL_KNOWN "/mcp/"},
        {"https://a.example:8443/a/b?k=v", "https://a.example:8443" WELL_KNOWN "/a/b?k=v"},
        {"https://a.example?k=v", "https://a.example" WELL_KNOWN "?k=v"},
        {"https://a.example/?k=/v", "https://a.example" WELL_KNOWN "?k=/v"},
        {"http://[::1]:80/mcp", "http://[::1]:80" WELL_KNOWN "/mcp"},
        {"https://a.example/mcp#x", NULL},
        {"https://u:p@a.example/mcp", NULL},
        {"ftp://a.example/", NULL},
        {"https:/a", NULL},
        {"mcp", NULL},
        {"", NULL},
    };
    for (size_t i = 0; i < MCP__COUNT(cases); i++) {
        mcp__buf b;
        mcp__buf_init(&b, mcp__allocator(NULL), 0);
        int rc = mcp__resource_metadata_url(&b, mcp_str_from(cases[i].url));
        assert_int_equal(rc, cases[i].expected ? MCP_OK : MCP_EINVAL);
        mcp__buf_add(&b, "", 1);
        assert_string_equal(b.ptr, cases[i].expected ? cases[i].expected : "");
        mcp__buf_free(&b);
    }
}

static void test_scopes(void **state)
{
    (void)state;
    static const mcp__scope_implies implies[] = {
        {{"admin", 5}, {"write", 5}},
        {{"write", 5}, {"read", 4}},
        {{"circle", 6}, {"round", 5}},
        {{"round", 5}, {"circle", 6}},
    };
    static const struct {
        const char *granted, *needed;
        bool covered;
    } cases[] = {
        {"", "", true},
        {"a", "", true},
        {"a b c", "c a", true},
        {"a", "b", false},
        {"ab", "a", false},
        {"a", "ab", false},
        {"", "a", false},
        {"admin", "read", true},
        {"admin", "read write", true},
        {"write", "read", true},
        {"read", "write", false},
        {"write", "admin", false},
        {"round", "circle", true},
        {"a", "circle", false},
        {" a  b ", " b ", true},
        {"Admin", "write", false},
    };
    for (size_t i = 0; i < MCP__COUNT(cases); i++) {
        bool covered = mcp__scopes_cover(mcp_str_from(cases[i].granted),
                                         mcp_str_from(cases[i].needed), implies, 4);
        if (covered != cases[i].covered)
            fail_msg("%s: %s", cases[i].granted, cases[i].needed);
    }
    assert_false(mcp__scopes_cover(MCP_STR("admin"), MCP_STR("read"), NULL, 0));
    assert_true(mcp__scope_valid(MCP_STR("!#[]~")));
    assert_false(mcp__scope_valid(MCP_STR("")));
    assert_false(mcp__scope_valid(MCP_STR("a b")));
    assert_false(mcp__scope_valid(MCP_STR("\x7F")));
    assert_false(mcp__scope_valid(MCP_STR("\xC3\xA4")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_challenges), cmocka_unit_test(test_hostile_texts),
        cmocka_unit_test(test_metadata),   cmocka_unit_test(test_metadata_urls),
        cmocka_unit_test(test_scopes),
    };
    return cmocka_run_group_tests(tests, load_crypto, NULL);
}
