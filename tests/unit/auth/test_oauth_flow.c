/* The authorization code flow of a client: faults and their texts, PKCE, the URL to open, and the
 * URL that comes back. */
#include "rig.h"
#include "auth/authorize.h"

/* ---- faults ---------------------------------------------------------------------------------- */

/* Whatever a peer sends, the constant texts of a fault are complete and the rest is printable. */
static void test_fault_texts(void **state)
{
    (void)state;
    char big[300];
    for (size_t i = 0; i < sizeof(big); i++)
        big[i] = (char)i;
    for (int i = 1; i < MCP__OAUTH_FAULTS_COUNT; i++) {
        mcp__oauth_fault fault = (mcp__oauth_fault)i;
        for (int k = 0; k < 4; k++) {
            mcp_error error;
            mcp_str what = {big, k & 1 ? sizeof(big) : 0}, where = {big, k & 2 ? sizeof(big) : 0};
            assert_int_equal(mcp__oauth_fail(&error, fault, what, where), fault);
            assert_int_equal(error.code, mcp__oauth_fault_code(fault));
            assert_true(error.code < 0);
            assert_ptr_equal(strstr(error.text, mcp__oauth_fault_text(fault)), error.text);
            const char *mend = mcp__oauth_fault_mend(fault);
            size_t len = strlen(error.text);
            assert_string_equal(error.text + len - strlen(mend), mend);
            for (size_t n = 0; n < len; n++)
                assert_in_range(error.text[n], ' ', '~');
            if (k == 0)
                assert_int_equal(len, strlen(mcp__oauth_fault_text(fault)) +
                                          (*mend ? 2 + strlen(mend) : 0));
        }
        assert_int_equal(mcp__oauth_is_error(fault), i >= MCP__OAUTH_INVALID_REQUEST);
    }
    assert_int_equal(mcp__oauth_fault_find(MCP_STR("invalid_grant")), MCP__OAUTH_INVALID_GRANT);
    assert_int_equal(mcp__oauth_fault_find(MCP_STR("Invalid_grant")), MCP__OAUTH_OTHER_ERROR);
    assert_int_equal(mcp__oauth_fault_find(MCP_STR("")), MCP__OAUTH_OTHER_ERROR);
    assert_int_equal(mcp__oauth_fail(NULL, MCP__OAUTH_KEY, MCP_STR("a"), MCP_STR("b")),
                     MCP__OAUTH_KEY);
}

/* ---- PKCE ------------------------------------------------------------------------------------ */

/* RFC 7636 appendix B */
static void test_pkce(void **state)
{
    (void)state;
    static const unsigned char octets[MCP__RANDOM] = {
        116, 24,  223, 180, 151, 153, 224, 37,  79, 250, 96, 125, 216, 173, 187, 186,
        22,  212, 37,  77,  105, 214, 191, 240, 91, 88,  5,  88,  83,  132, 141, 121};
    mcp__pkce pkce;
    char text[MCP__RANDOM_TEXT];
    assert_true(mcp__pkce_make(&crypto, octets, &pkce));
    assert_string_equal(pkce.verifier, "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk");
    assert_string_equal(pkce.challenge, "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
    mcp__random_text(octets, text);
    assert_string_equal(text, pkce.verifier);
}

/* ---- the URL to open ------------------------------------------------------------------------- */

static void test_authorize(void **state)
{
    (void)state;
    static const struct {
        const char *endpoint, *scope, *resource, *jkt, *expected;
    } cases[] = {
        {"https://as.example/authorize", "", "", "",
         "https://as.example/authorize?response_type=code&client_id=s6BhdRkqt3&redirect_uri="
         "http%3A%2F%2F127.0.0.1%3A1%2Fcallback&state=xyz&code_challenge=abc&"
         "code_challenge_method=S256"},
        {"https://as.example/a?p=%20q", "a b+c", "https://mcp.example.com/~x/", "k",
         "https://as.example/a?p=%20q&response_type=code&client_id=s6BhdRkqt3&redirect_uri="
         "http%3A%2F%2F127.0.0.1%3A1%2Fcallback&scope=a%20b%2Bc&state=xyz&code_challenge=abc&"
         "code_challenge_method=S256&resource=https%3A%2F%2Fmcp.example.com%2F%7Ex%2F&dpop_jkt=k"},
        {"https://as.example/?", "a offline_access", "", "",
         "https://as.example/?response_type=code&client_id=s6BhdRkqt3&redirect_uri="
         "http%3A%2F%2F127.0.0.1%3A1%2Fcallback&scope=a%20offline_access&state=xyz&"
         "code_challenge=abc&code_challenge_method=S256&prompt=consent"},
        {"https://as.example?x&", "offline_access2", "", "",
         "https://as.example?x&response_type=code&client_id=s6BhdRkqt3&redirect_uri="
         "http%3A%2F%2F127.0.0.1%3A1%2Fcallback&scope=offline_access2&state=xyz&"
         "code_challenge=abc&code_challenge_method=S256"},
    };
    for (size_t i = 0; i < MCP__COUNT(cases); i++) {
        mcp__authorize request = {.endpoint = mcp_str_from(cases[i].endpoint),
                                  .client_id = MCP_STR("s6BhdRkqt3"),
                                  .redirect_uri = MCP_STR("http://127.0.0.1:1/callback"),
                                  .state = MCP_STR("xyz"),
                                  .challenge = MCP_STR("abc"),
                                  .scope = mcp_str_from(cases[i].scope),
                                  .resource = mcp_str_from(cases[i].resource),
                                  .dpop_jkt = mcp_str_from(cases[i].jkt)};
        for (size_t n = 0;; n++) {
            failalloc f = {.fail_at = n};
            mcp_allocator a = failalloc_allocator(&f);
            mcp__buf b;
            mcp__buf_init(&b, &a, 0);
            int rc = mcp__authorize_put(&b, &request);
            assert_int_equal(rc, n && f.calls >= n ? MCP_ENOMEM : MCP_OK);
            if (n == 0) {
                mcp__buf_add(&b, "", 1);
                assert_string_equal(b.ptr, cases[i].expected);
            }
            mcp__buf_free(&b);
            assert_int_equal(f.live, 0);
            if (f.calls < n)
                break;
        }
    }
}

/* ---- the URL that comes back ----------------------------------------------------------------- */

#define CB     "https://client.example/cb"
#define ISSUER "https://honest.as.example"
#define ISS    "&iss=https%3A%2F%2Fhonest.as.example"

static mcp__redirect_rules rules_for(bool names_itself)
{
    mcp__redirect_rules r = {.redirect_uri = MCP_STR(CB),
                             .state = MCP_STR("s-1"),
                             .issuer = MCP_STR(ISSUER),
                             .names_itself = names_itself};
    return r;
}

static const struct {
    const char *url;
    mcp__oauth_fault with, without; /* names_itself */
    const char *code, *text;
} redirects[] = {
    /* RFC 9207 section 2, with another state */
    {CB "?code=x1848ZT64p4IirMPT0R-X3141MFPTuBX-VFL_cvaplMH58&state=s-1" ISS, MCP__OAUTH_OK,
     MCP__OAUTH_OK, "x1848ZT64p4IirMPT0R-X3141MFPTuBX-VFL_cvaplMH58", ""},
    {CB "?error=access_denied&state=s-1" ISS, MCP__OAUTH_ACCESS_DENIED, MCP__OAUTH_ACCESS_DENIED,
     "", "access was denied: access_denied (" ISSUER ")"},
    {CB "?error=access_denied&state=s-1&error_description=No+%22way%22%0A" ISS,
     MCP__OAUTH_ACCESS_DENIED, MCP__OAUTH_ACCESS_DENIED, "", "access_denied, No \"way\"? ("},
    {CB "?error=odd&state=s-1&code=c" ISS, MCP__OAUTH_OTHER_ERROR, MCP__OAUTH_OTHER_ERROR, "",
     "with an error: odd ("},
    {CB "?code=a+b%2Bc&state=s%2D1" ISS, MCP__OAUTH_OK, MCP__OAUTH_OK, "a b+c", ""},
    {CB "?code=c&state=s-1" ISS "#_=_", MCP__OAUTH_OK, MCP__OAUTH_OK, "c", ""},
    {CB "?&&code=c&&state=s-1&x=y&x=z&session_state" ISS "&", MCP__OAUTH_OK, MCP__OAUTH_OK, "c",
     ""},
    /* the issuer */
    {CB "?code=c&state=s-1", MCP__OAUTH_REDIRECT_NO_ISSUER, MCP__OAUTH_OK, "c", ""},
    {CB "?error=SECRET&state=s-1", MCP__OAUTH_REDIRECT_NO_ISSUER, MCP__OAUTH_OTHER_ERROR, "", ""},
    {CB "?code=c&state=s-1" ISS "%2F", MCP__OAUTH_REDIRECT_ISSUER, MCP__OAUTH_REDIRECT_ISSUER, "",
     "byte for byte"},
    {CB "?code=c&state=s-1&iss=https%3A%2F%2Fhonest.as.example%3A443", MCP__OAUTH_REDIRECT_ISSUER,
     MCP__OAUTH_REDIRECT_ISSUER, "", ""},
    {CB "?code=c&state=s-1&iss=https%3A%2F%2FHonest.as.example", MCP__OAUTH_REDIRECT_ISSUER,
     MCP__OAUTH_REDIRECT_ISSUER, "", ""},
    {CB "?code=c&state=s-1&iss=", MCP__OAUTH_REDIRECT_ISSUER, MCP__OAUTH_REDIRECT_ISSUER, "", ""},
    {CB "?error=SECRET&error_description=SECRET&state=s-1&iss=https://evil",
     MCP__OAUTH_REDIRECT_ISSUER, MCP__OAUTH_REDIRECT_ISSUER, "", ""},
    /* the state */
    {CB "?code=c" ISS, MCP__OAUTH_REDIRECT_STATE, MCP__OAUTH_REDIRECT_STATE, "", ""},
    {CB "?code=c&state=" ISS, MCP__OAUTH_REDIRECT_STATE, MCP__OAUTH_REDIRECT_STATE, "", ""},
    {CB "?code=c&state=s-1%00" ISS, MCP__OAUTH_REDIRECT_STATE, MCP__OAUTH_REDIRECT_STATE, "", ""},
    {CB "?error=SECRET&state=S-1" ISS, MCP__OAUTH_REDIRECT_STATE, MCP__OAUTH_REDIRECT_STATE, "",
     ""},
    /* the rest */
    {CB "?state=s-1" ISS, MCP__OAUTH_REDIRECT_NO_CODE, MCP__OAUTH_REDIRECT_NO_CODE, "", ""},
    {CB "?code&state=s-1" ISS, MCP__OAUTH_REDIRECT_NO_CODE, MCP__OAUTH_REDIRECT_NO_CODE, "", ""},
    {CB "?code=c&code=c&state=s-1" ISS, MCP__OAUTH_REDIRECT_TWICE, MCP__OAUTH_REDIRECT_TWICE, "",
     "twice: code ("},
    {CB "?code=c&state=s-1" ISS "&iss=", MCP__OAUTH_REDIRECT_TWICE, MCP__OAUTH_REDIRECT_TWICE, "",
     ""},
    {CB "?code=c&state=s-1&st%61te=s-1" ISS, MCP__OAUTH_REDIRECT_TWICE, MCP__OAUTH_REDIRECT_TWICE,
     "", ""},
    {CB "?code=%zz&state=s-1" ISS, MCP__OAUTH_REDIRECT_FORM, MCP__OAUTH_REDIRECT_FORM, "", ""},
    {CB "?code=c&x=%", MCP__OAUTH_REDIRECT_FORM, MCP__OAUTH_REDIRECT_FORM, "", ""},
    {CB, MCP__OAUTH_REDIRECT_STATE, MCP__OAUTH_REDIRECT_STATE, "", ""},
    {CB "?code=c&code=d&iss=x&error=SECRET&state=other", MCP__OAUTH_REDIRECT_STATE,
     MCP__OAUTH_REDIRECT_STATE, "", ""},
    {CB "?state=other&state=s-1&code=c" ISS, MCP__OAUTH_REDIRECT_STATE, MCP__OAUTH_REDIRECT_STATE,
     "", ""},
    {CB "/?code=c&state=s-1" ISS, MCP__OAUTH_REDIRECT_ELSEWHERE, MCP__OAUTH_REDIRECT_ELSEWHERE, "",
     "redirect URI"},
    {"http://client.example/cb?code=c&state=s-1" ISS, MCP__OAUTH_REDIRECT_ELSEWHERE,
     MCP__OAUTH_REDIRECT_ELSEWHERE, "", ""},
    {"https://client.example/CB?code=c", MCP__OAUTH_REDIRECT_ELSEWHERE,
     MCP__OAUTH_REDIRECT_ELSEWHERE, "", ""},
    {"code=c&state=s-1", MCP__OAUTH_REDIRECT_FORM, MCP__OAUTH_REDIRECT_FORM, "", ""},
    {"?code=c&state=s-1", MCP__OAUTH_REDIRECT_FORM, MCP__OAUTH_REDIRECT_FORM, "", ""},
    {"", MCP__OAUTH_REDIRECT_FORM, MCP__OAUTH_REDIRECT_FORM, "", ""},
};

static void test_redirects(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2 * MCP__COUNT(redirects); i++) {
        mcp__redirect_rules rules = rules_for(i % 2 == 0);
        mcp__redirect r;
        mcp_error error;
        mcp__oauth_fault expected = i % 2 ? redirects[i / 2].without : redirects[i / 2].with;
        mcp__oauth_fault fault =
            mcp__redirect_read(&r, mcp_str_from(redirects[i / 2].url), &rules, NULL, &error);
        const char *code = fault == MCP__OAUTH_OK ? redirects[i / 2].code : "";
        if (fault != expected || !mcp_str_eq(r.code, mcp_str_from(code)) ||
            (expected == redirects[i / 2].with && !strstr(error.text, redirects[i / 2].text)))
            fail_msg("%s: %d %s", redirects[i / 2].url, fault, error.text);
        /* nothing of a redirect whose issuer or state is wrong */
        if (fault != MCP__OAUTH_OK && !mcp__oauth_is_error(fault)) {
            assert_null(r.error.ptr);
            assert_null(r.description.ptr);
            assert_null(strstr(error.text, "SECRET"));
        }
        mcp__redirect_clear(&r);
    }
}

static void test_redirect_rules(void **state)
{
    (void)state;
    mcp__redirect r;
    mcp__redirect_rules rules = rules_for(false);
    mcp_str url = MCP_STR(CB "?x=y&code=c&state=s-1");
    /* a redirect URI with a query; no state was sent */
    rules.redirect_uri = MCP_STR(CB "?x=y");
    assert_int_equal(mcp__redirect_read(&r, url, &rules, NULL, NULL), MCP__OAUTH_OK);
    mcp__redirect_clear(&r);
    rules.state = MCP_STR("");
    assert_int_equal(mcp__redirect_read(&r, MCP_STR(CB "?code=c&state="), &rules, NULL, NULL),
                     MCP__OAUTH_REDIRECT_STATE);
    mcp__redirect_clear(&r);
    assert_int_equal(
        mcp__redirect_read(&r, (mcp_str){CB "\0?code=c", sizeof(CB) + 7}, &rules, NULL, NULL),
        MCP__OAUTH_REDIRECT_FORM);
    mcp__redirect_clear(&r);
    for (size_t n = 1;; n++) {
        failalloc f = {.fail_at = n};
        mcp_allocator a = failalloc_allocator(&f);
        rules = rules_for(false);
        mcp__oauth_fault fault = mcp__redirect_read(&r, url, &rules, &a, NULL);
        mcp__redirect_clear(&r);
        assert_int_equal(f.live, 0);
        assert_int_equal(fault, f.calls < n ? MCP__OAUTH_OK : MCP__OAUTH_NO_MEMORY);
        if (f.calls < n)
            break;
    }
    char *big = malloc(MCP__REDIRECT_BYTES + 1);
    memset(big, 'a', MCP__REDIRECT_BYTES + 1);
    memcpy(big, url.ptr, url.len);
    big[url.len] = '&';
    url = (mcp_str){big, MCP__REDIRECT_BYTES};
    assert_int_equal(mcp__redirect_read(&r, url, &rules, NULL, NULL), MCP__OAUTH_OK);
    mcp__redirect_clear(&r);
    url.len++;
    assert_int_equal(mcp__redirect_read(&r, url, &rules, NULL, NULL), MCP__OAUTH_REDIRECT_FORM);
    mcp__redirect_clear(&r);
    free(big);
}

/* ---- generated redirects --------------------------------------------------------------------- */

/* A slow model of a redirect: the values of the five parameters, by their index. */
typedef struct model {
    char values[5][16];
    size_t lens[5], counts[5];
} model;

static const char *const names[5] = {"code", "state", "iss", "error", "error_description"};

/* Appends a character in one of its spellings. */
static void put_char(mcp__buf *b, uint32_t *seed, char c)
{
    bool plain = c >= '-' && c != '+' && c != '=' && c != '?';
    if (c == ' ' && next_random(seed) % 2)
        mcp__buf_char(b, '+');
    else if (plain && next_random(seed) % 4)
        mcp__buf_char(b, c);
    else
        mcp__buf_printf(b, next_random(seed) % 2 ? "%%%02X" : "%%%02x", (unsigned char)c);
}

static void put_param(mcp__buf *b, model *m, uint32_t *seed)
{
    static const char *const values[] = {"c", "s-1", ISSUER, "", "a b&=+%#\xC3\xA4"};
    size_t which = next_random(seed) % 6;
    const char *name = which < 5 ? names[which] : "other";
    const char *value = values[which < 3 && next_random(seed) % 8 ? which : next_random(seed) % 5];
    for (size_t i = 0; name[i]; i++)
        put_char(b, seed, name[i]);
    mcp__buf_char(b, '=');
    for (size_t i = 0; value[i]; i++)
        put_char(b, seed, value[i]);
    if (which < 5 && m->counts[which]++ == 0)
        m->lens[which] = (size_t)snprintf(m->values[which], sizeof(m->values[0]), "%.15s", value);
}

static mcp__oauth_fault judge(const model *m, bool names_itself)
{
    if (m->counts[1] == 0 || strcmp(m->values[1], "s-1") != 0)
        return MCP__OAUTH_REDIRECT_STATE;
    for (size_t i = 0; i < 5; i++) {
        if (m->counts[i] > 1)
            return MCP__OAUTH_REDIRECT_TWICE;
    }
    if (m->counts[2] == 0 && names_itself)
        return MCP__OAUTH_REDIRECT_NO_ISSUER;
    if (m->counts[2] && strncmp(m->values[2], ISSUER, 15) != 0)
        return MCP__OAUTH_REDIRECT_ISSUER;
    if (m->counts[3])
        return MCP__OAUTH_OTHER_ERROR;
    return m->counts[0] && m->lens[0] ? MCP__OAUTH_OK : MCP__OAUTH_REDIRECT_NO_CODE;
}

static void test_generated(void **state)
{
    (void)state;
    uint32_t seed = 21;
    size_t seen[MCP__OAUTH_FAULTS_COUNT] = {0};
    for (int round = 0; round < 30000; round++) {
        model m = {.counts = {0}};
        mcp__redirect r;
        mcp__redirect_rules rules = rules_for(next_random(&seed) % 2);
        mcp__buf b;
        mcp__buf_init(&b, mcp__allocator(NULL), 0);
        mcp__buf_lit(&b, CB "?");
        for (size_t n = next_random(&seed) % 6; n; n--) {
            put_param(&b, &m, &seed);
            mcp__buf_char(&b, '&');
        }
        mcp__oauth_fault fault = mcp__redirect_read(&r, mcp__buf_view(&b), &rules, NULL, NULL);
        seen[fault]++;
        if (fault != judge(&m, rules.names_itself))
            fail_msg("%.*s: %d", (int)b.len, b.ptr, fault);
        if (fault == MCP__OAUTH_OK)
            assert_int_equal(memcmp(r.code.ptr, m.values[0], MCP__MIN(r.code.len, 15)), 0);
        mcp__redirect_clear(&r);
        mcp__buf_free(&b);
    }
    assert_true(seen[MCP__OAUTH_OK] > 100 && seen[MCP__OAUTH_OTHER_ERROR] > 100);
    assert_true(seen[MCP__OAUTH_REDIRECT_TWICE] > 100 && seen[MCP__OAUTH_REDIRECT_ISSUER] > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fault_texts),    cmocka_unit_test(test_pkce),
        cmocka_unit_test(test_authorize),      cmocka_unit_test(test_redirects),
        cmocka_unit_test(test_redirect_rules), cmocka_unit_test(test_generated),
    };
    return cmocka_run_group_tests(tests, load_crypto, NULL);
}
