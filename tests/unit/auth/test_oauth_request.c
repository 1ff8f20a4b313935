/* What an OAuth client sends to an authorization server, and the answers: forms, authentication,
 * registration, tokens, the device flow. */
#include "rig.h"
#include <mcp/uri.h>
#include "auth/registration_request.h"
#include "auth/token_answer.h"

#define URL "https://as.example/token"

#define A      "{\"access_token\":\"a.b\""
#define T      A ",\"token_type\":\"Bearer\""
#define SECRET "\"access_token\":\"SECRET\""
#define D      "{\"device_code\":\"d\",\"user_code\":\"u\""

static void init(mcp__buf *b)
{
    mcp__buf_init(b, mcp__allocator(NULL), 0);
}

/* Compares the contents of a buffer, and frees it. */
static void expect(mcp__buf *b, const char *expected)
{
    mcp__buf_add(b, "", 1);
    assert_int_equal(b->failed, MCP_OK);
    assert_string_equal(b->ptr, expected);
    mcp__buf_free(b);
}

/* ---- forms ----------------------------------------------------------------------------------- */

static void test_forms(void **state)
{
    (void)state;
    const mcp_str none = {NULL, 0}, resource = MCP_STR("https://m.example/mcp");
    mcp__buf b;
    init(&b);
    mcp__form_code(&b, MCP_STR("a+/="), MCP_STR("http://127.0.0.1:1/cb"), MCP_STR("v"), resource);
    expect(&b,
           "grant_type=authorization_code&resource=https%3A%2F%2Fm.example%2Fmcp&code=a%2B%2F%3D"
           "&redirect_uri=http%3A%2F%2F127.0.0.1%3A1%2Fcb&code_verifier=v");
    init(&b);
    mcp__form_code(&b, MCP_STR("a"), MCP_STR("u"), MCP_STR("v"), none);
    expect(&b, "grant_type=authorization_code&code=a&redirect_uri=u&code_verifier=v");
    init(&b);
    mcp__form_refresh(&b, MCP_STR("r t"), MCP_STR("a b"), resource);
    expect(&b, "grant_type=refresh_token&scope=a%20b&resource=https%3A%2F%2Fm.example%2Fmcp&"
               "refresh_token=r%20t");
    init(&b);
    mcp__form_credentials(&b, none, resource);
    expect(&b, "grant_type=client_credentials&resource=https%3A%2F%2Fm.example%2Fmcp");
    init(&b);
    mcp__form_assertion(&b, MCP_STR("a.b.c"), none, none);
    expect(&b, "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=a.b.c");
    init(&b); /* RFC 8628 sections 3.1 and 3.4 */
    mcp__form_device(&b, MCP_STR("s"), none);
    mcp__form_add(&b, "client_id", MCP_STR("1406020730"));
    expect(&b, "scope=s&client_id=1406020730");
    init(&b);
    mcp__form_device_token(&b, MCP_STR("GmRhmhcxhwAzkoEqiMEg_DnyEysNkuNhszIySk9eS"), none);
    mcp__form_add(&b, "client_id", MCP_STR("1406020730"));
    expect(&b, "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Adevice_code&device_code="
               "GmRhmhcxhwAzkoEqiMEg_DnyEysNkuNhszIySk9eS&client_id=1406020730");
    init(&b);
    mcp__form_exchange(&b, MCP_STR("i.d.t"), MCP_STR("https://as"), MCP_STR("s"),
                       MCP_STR("https://m"));
    expect(&b, "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Atoken-exchange&scope=s&"
               "resource=https%3A%2F%2Fm&requested_token_type=urn%3Aietf%3Aparams%3Aoauth%3A"
               "token-type%3Aid-jag&audience=https%3A%2F%2Fas&subject_token=i.d.t&"
               "subject_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Aid_token");
    init(&b); /* RFC 7009 section 2.1 */
    mcp__form_revoke(&b, MCP_STR("45ghiukldjahdnhzdauz"), MCP_STR("refresh_token"));
    expect(&b, "token=45ghiukldjahdnhzdauz&token_type_hint=refresh_token");
}

/* Any bytes are read again as they were: a form has each of them encoded, and only "&" and "="
 * between them. */
static void test_forms_generated(void **state)
{
    (void)state;
    uint32_t seed = 9;
    for (int round = 0; round < 3000; round++) {
        char values[3][20], decoded[64];
        size_t lens[3], at = 0;
        mcp__buf b;
        init(&b);
        for (size_t i = 0; i < 3; i++) {
            lens[i] = 1 + next_random(&seed) % 20;
            for (size_t k = 0; k < lens[i]; k++)
                values[i][k] = (char)next_random(&seed);
            mcp__form_add(&b, "n", (mcp_str){values[i], lens[i]});
        }
        assert_int_equal(b.failed, MCP_OK);
        for (size_t i = 0; i < 3; i++) {
            size_t start = at + (i ? 3 : 2), end = start, len = 0;
            assert_memory_equal(b.ptr + at, i ? "&n=" : "n=", i ? 3 : 2);
            while (end < b.len && b.ptr[end] != '&')
                end++;
            assert_int_equal(mcp_uri_decode((mcp_str){b.ptr + start, end - start}, decoded,
                                            sizeof(decoded), &len),
                             MCP_OK);
            assert_int_equal(len, lens[i]);
            assert_memory_equal(decoded, values[i], len);
            at = end;
        }
        assert_int_equal(at, b.len);
        mcp__buf_free(&b);
    }
}

/* ---- authentication -------------------------------------------------------------------------- */

static void test_choice(void **state)
{
    (void)state;
    static const struct {
        const char *list, *registered;
        bool secret, key;
        mcp__oauth_fault fault;
        mcp__auth_method method;
    } cases[] = {
        {NULL, "", false, false, MCP__OAUTH_OK, MCP__METHOD_NONE},
        {NULL, "", true, false, MCP__OAUTH_OK, MCP__METHOD_BASIC},
        {NULL, "", true, true, MCP__OAUTH_OK, MCP__METHOD_KEY},
        {"[\"client_secret_post\",\"client_secret_basic\"]", "", true, false, MCP__OAUTH_OK,
         MCP__METHOD_BASIC},
        {"[\"client_secret_post\"]", "", true, false, MCP__OAUTH_OK, MCP__METHOD_POST},
        {"[\"client_secret_post\",\"private_key_jwt\"]", "", true, true, MCP__OAUTH_OK,
         MCP__METHOD_KEY},
        {"[\"client_secret_post\"]", "", true, true, MCP__OAUTH_OK, MCP__METHOD_POST},
        {"[\"client_secret_post\"]", "", false, true, MCP__OAUTH_METHOD_UNKNOWN, 0},
        {"[\"none\"]", "", true, false, MCP__OAUTH_OK, MCP__METHOD_NONE},
        {"[\"client_secret_basic\"]", "", false, false, MCP__OAUTH_OK, MCP__METHOD_NONE},
        {"[\"none\"]", "client_secret_post", true, false, MCP__OAUTH_OK, MCP__METHOD_POST},
        {"[\"client_secret_basic\"]", "none", true, false, MCP__OAUTH_OK, MCP__METHOD_NONE},
        {NULL, "client_secret_basic", false, false, MCP__OAUTH_METHOD_SECRET, 0},
        {NULL, "client_secret_post", false, true, MCP__OAUTH_METHOD_SECRET, 0},
        {NULL, "private_key_jwt", true, false, MCP__OAUTH_METHOD_KEY, 0},
        {NULL, "private_key_jwt", false, true, MCP__OAUTH_OK, MCP__METHOD_KEY},
        {NULL, "client_secret_jwt", true, true, MCP__OAUTH_METHOD_UNKNOWN, 0},
    };
    for (size_t i = 0; i < MCP__COUNT(cases); i++) {
        mcp_json_doc *doc = cases[i].list ? json(cases[i].list) : NULL;
        mcp__auth_method method = MCP__METHOD_NONE;
        mcp_error error;
        mcp__oauth_fault fault =
            mcp__auth_method_choose(mcp_json_root(doc), mcp_str_from(cases[i].registered),
                                    cases[i].secret, cases[i].key, &method, &error);
        if (fault != cases[i].fault || (fault == MCP__OAUTH_OK && method != cases[i].method))
            fail_msg("%zu: %d %d %s", i, fault, method, error.text);
        mcp_json_free(doc);
    }
}

static void test_authentication(void **state)
{
    (void)state;
    static const struct {
        mcp__oauth_client_id client;
        const char *form, *authorization;
    } cases[] = {
        /* RFC 6749 sections 2.3.1 and 4.1.3 */
        {{.id = {"s6BhdRkqt3", 10}, .method = MCP__METHOD_BASIC, .secret = {"gX1fBat3bV", 10}},
         "x=y",
         "Basic czZCaGRSa3F0MzpnWDFmQmF0M2JW"},
        {{.id = {"s6BhdRkqt3", 10},
          .method = MCP__METHOD_POST,
          .secret = {"7Fjfp0ZBr1KtDRbnfVdmIw", 22}},
         "x=y&client_id=s6BhdRkqt3&client_secret=7Fjfp0ZBr1KtDRbnfVdmIw",
         ""},
        /* "a%3Ab%20c:p%25%2B%C3%A9": a colon in the id does not end it */
        {{.id = {"a:b c", 5}, .method = MCP__METHOD_BASIC, .secret = {"p%+\xC3\xA9", 5}},
         "x=y",
         "Basic YSUzQWIlMjBjOnAlMjUlMkIlQzMlQTk="},
        {{.id = {"https://c.example/d", 19}, .method = MCP__METHOD_NONE},
         "x=y&client_id=https%3A%2F%2Fc.example%2Fd",
         ""},
        {{.method = MCP__METHOD_NONE}, "x=y", ""},
    };
    for (size_t i = 0; i < MCP__COUNT(cases); i++) {
        mcp__buf form, authorization;
        init(&form);
        init(&authorization);
        mcp__form_add(&form, "x", MCP_STR("y"));
        assert_int_equal(mcp__client_auth_put(&form, &authorization, &cases[i].client), MCP_OK);
        expect(&form, cases[i].form);
        expect(&authorization, cases[i].authorization);
    }
}

/* Runs one request with each allocation failing. */
static void test_authentication_memory(void **state)
{
    (void)state;
    mcp__jwk *key = key_for(key_p256, MCP__JWK_SIGN);
    unsigned char random[MCP__RANDOM_ID] = {1};
    for (int method = MCP__METHOD_NONE; method <= MCP__METHOD_KEY; method++) {
        mcp__oauth_client_id client = {.id = MCP_STR("id"),
                                       .method = (mcp__auth_method)method,
                                       .secret = MCP_STR("secret"),
                                       .key = key,
                                       .audience = MCP_STR("https://as.example"),
                                       .now = 1,
                                       .random = random};
        for (size_t n = 1;; n++) {
            failalloc f = {.fail_at = n};
            mcp_allocator a = failalloc_allocator(&f);
            mcp__buf form, authorization;
            mcp__buf_init(&form, &a, 0);
            mcp__buf_init(&authorization, &a, 0);
            int rc = mcp__client_auth_put(&form, &authorization, &client);
            assert_int_equal(rc, f.calls < n ? MCP_OK : MCP_ENOMEM);
            mcp__buf_free(&form);
            mcp__buf_free(&authorization);
            assert_int_equal(f.live, 0);
            if (f.calls < n)
                break;
        }
    }
    mcp__jwk_free(key);
}

/* ---- registration ---------------------------------------------------------------------------- */

static void test_registration(void **state)
{
    (void)state;
    mcp__registration full = {.name = MCP_STR("A \"client\""),
                              .uri = MCP_STR("https://c.example"),
                              .redirect_uri = MCP_STR("http://127.0.0.1:1/cb"),
                              .scope = MCP_STR("a b"),
                              .method = MCP__METHOD_BASIC,
                              .device = true,
                              .software_id = MCP_STR("id"),
                              .software_version = MCP_STR("1")};
    mcp__registration device = {.device = true};
    mcp__buf b;
    init(&b);
    assert_int_equal(mcp__registration_put(&b, &full), MCP_OK);
    expect(&b, "{\"client_name\":\"A \\\"client\\\"\",\"client_uri\":\"https://c.example\","
               "\"redirect_uris\":[\"http://127.0.0.1:1/cb\"],\"grant_types\":"
               "[\"authorization_code\",\"refresh_token\","
               "\"urn:ietf:params:oauth:grant-type:device_code\"],\"response_types\":[\"code\"],"
               "\"token_endpoint_auth_method\":\"client_secret_basic\",\"application_type\":"
               "\"native\",\"scope\":\"a b\",\"software_id\":\"id\",\"software_version\":\"1\"}");
    init(&b);
    assert_int_equal(mcp__registration_put(&b, &device), MCP_OK);
    expect(&b,
           "{\"grant_types\":[\"refresh_token\",\"urn:ietf:params:oauth:grant-type:device_code\""
           "],\"response_types\":[],\"token_endpoint_auth_method\":\"none\","
           "\"application_type\":\"native\"}");
    for (size_t n = 1;; n++) {
        failalloc f = {.fail_at = n};
        mcp_allocator a = failalloc_allocator(&f);
        mcp__buf_init(&b, &a, 0);
        int rc = mcp__registration_put(&b, &full);
        assert_int_equal(rc, f.calls < n ? MCP_OK : MCP_ENOMEM);
        mcp__buf_free(&b);
        assert_int_equal(f.live, 0);
        if (f.calls < n)
            break;
    }
    static const struct {
        const char *list;
        mcp__auth_method method;
    } methods[] = {
        {"[\"client_secret_basic\",\"none\"]", MCP__METHOD_NONE},
        {"[\"client_secret_post\",\"client_secret_basic\"]", MCP__METHOD_POST},
        {"[\"client_secret_basic\"]", MCP__METHOD_BASIC},
        {"[\"tls_client_auth\"]", MCP__METHOD_NONE},
    };
    assert_int_equal(mcp__registration_method(NULL), MCP__METHOD_NONE);
    for (size_t i = 0; i < MCP__COUNT(methods); i++) {
        mcp_json_doc *doc = json(methods[i].list);
        assert_int_equal(mcp__registration_method(mcp_json_root(doc)), methods[i].method);
        mcp_json_free(doc);
    }
}

static const struct {
    int status;
    const char *body;
    mcp__oauth_fault fault;
    const char *id, *secret, *method, *text;
    int64_t expires;
} registrations[] = {
    /* RFC 7591 section 3.2.1 */
    {201,
     "{\"client_id\":\"s6BhdRkqt3\",\"client_secret\":\"cf136dc3c1fc93f31185e5885805d\","
     "\"client_id_issued_at\":2893256800,\"client_secret_expires_at\":2893276800,"
     "\"redirect_uris\":[\"https://client.example.org/callback\"],"
     "\"token_endpoint_auth_method\":\"client_secret_basic\"}",
     MCP__OAUTH_OK, "s6BhdRkqt3", "cf136dc3c1fc93f31185e5885805d", "client_secret_basic", "",
     2893276800},
    {200, "{\"client_id\":\"a\",\"client_secret\":null,\"client_secret_expires_at\":-5}",
     MCP__OAUTH_OK, "a", "", "", "", 0},
    {201, "{}", MCP__OAUTH_REGISTER_FORM, "", "", "", "client_id (" URL "); register", 0},
    {201, "{\"client_id\":\"\"}", MCP__OAUTH_REGISTER_FORM, "", "", "", "client_id", 0},
    {201, "{\"client_id\":7}", MCP__OAUTH_REGISTER_FORM, "", "", "", "client_id", 0},
    {201, "{\"client_id\":\"a\",\"client_secret\":\"\\n\"}", MCP__OAUTH_REGISTER_FORM, "", "", "",
     "client_secret", 0},
    {201, "[]", MCP__OAUTH_ANSWER_JSON, "", "", "", "", 0},
    /* section 3.2.2 */
    {400,
     "{\"error\":\"invalid_redirect_uri\",\"error_description\":\"The redirection URI "
     "http://sketchy.example.com is not allowed by this server.\"}",
     MCP__OAUTH_INVALID_REDIRECT, "", "", "", "the option callback-url sets it", 0},
    {400, "{\"error\":\"invalid_client_metadata\"}", MCP__OAUTH_INVALID_METADATA, "", "", "", "",
     0},
    {403, "Forbidden", MCP__OAUTH_REGISTER_REFUSED, "", "", "",
     "HTTP 403 Forbidden (" URL "); register a client by hand and set client-id", 0},
    {401, "{\"error\":\"access_denied\"}", MCP__OAUTH_REGISTER_REFUSED, "", "", "",
     "HTTP 401 access_denied (" URL ")", 0},
    {403,
     "{\"error\":\"insufficient_scope\",\"error_description\":\"Policy 'Trusted Hosts' rejected "
     "it\"}",
     MCP__OAUTH_REGISTER_REFUSED, "", "", "",
     "HTTP 403 insufficient_scope, Policy 'Trusted Hosts' rejected it (" URL ")", 0},
    {500, "{\"x\":1}", MCP__OAUTH_REGISTER_REFUSED, "", "", "", "HTTP 500 (" URL ")", 0},
};

static void test_registered(void **state)
{
    (void)state;
    for (size_t i = 0; i < MCP__COUNT(registrations); i++) {
        mcp__registered r;
        mcp_error error;
        mcp__oauth_fault fault =
            mcp__registered_read(&r, registrations[i].status, mcp_str_from(registrations[i].body),
                                 MCP_STR(URL), NULL, &error);
        if (fault != registrations[i].fault || !strstr(error.text, registrations[i].text))
            fail_msg("%s: %d %s", registrations[i].body, fault, error.text);
        if (fault == MCP__OAUTH_OK) {
            assert_true(mcp_str_eq(r.id, mcp_str_from(registrations[i].id)));
            assert_true(mcp_str_eq(r.secret, mcp_str_from(registrations[i].secret)));
            assert_true(mcp_str_eq(r.method, mcp_str_from(registrations[i].method)));
            assert_int_equal(r.secret_expires, registrations[i].expires);
        }
        mcp__registered_clear(&r);
    }
}

/* ---- tokens ---------------------------------------------------------------------------------- */

static const struct {
    int status;
    const char *body;
    mcp__oauth_fault fault;
    const char *text;
} errors[] = {
    {400, "{\"error\":\"invalid_grant\",\"error_description\":\"The code\\nis old\"}",
     MCP__OAUTH_INVALID_GRANT, "invalid_grant, The code?is old (" URL ")"},
    {401, "{\"error\":\"invalid_client\"}", MCP__OAUTH_INVALID_CLIENT, "client-secret"},
    {400, "{\"error\":\"invalid_target\"}", MCP__OAUTH_INVALID_TARGET,
     "the option omit-resource leaves it out"},
    {400, "{\"error\":\"use_dpop_nonce\"}", MCP__OAUTH_USE_NONCE, ""},
    {400, "{\"error\":\"authorization_pending\"}", MCP__OAUTH_PENDING, ""},
    {400, "{\"error\":\"slow_down\"}", MCP__OAUTH_SLOW_DOWN, ""},
    {400, "{\"error\":\"expired_token\"}", MCP__OAUTH_EXPIRED, ""},
    {400, "{\"error\":\"brand_new\"}", MCP__OAUTH_OTHER_ERROR, ": brand_new ("},
    {400, "{\"error\":{\"message\":\"nested\"}}", MCP__OAUTH_ANSWER_STATUS, "HTTP 400 ("},
    /* some servers answer with 200 */
    {200, "{\"error\":\"invalid_grant\"}", MCP__OAUTH_INVALID_GRANT, ""},
    {200, "{\"error\":null}", MCP__OAUTH_ANSWER_STATUS, ""},
    /* no JSON */
    {403, "Forbidden", MCP__OAUTH_ANSWER_STATUS, "with an error: HTTP 403 Forbidden (" URL ")"},
    {502, "<html>\n\x1B[31mBad\xFF", MCP__OAUTH_ANSWER_STATUS, "HTTP 502 ("},
    {500, "", MCP__OAUTH_ANSWER_STATUS, "HTTP 500 ("},
    {503, "\"busy\"", MCP__OAUTH_ANSWER_STATUS, "HTTP 503 ("},
    {202, "token", MCP__OAUTH_ANSWER_STATUS, "HTTP 202 ("},
    {400, "code=abc", MCP__OAUTH_ANSWER_STATUS, "HTTP 400 ("},
    {400, "no eyJhbGciOiJIUzI1NiJ9abc", MCP__OAUTH_ANSWER_STATUS, "HTTP 400 ("},
    {200, "access_token=SECRET&token_type", MCP__OAUTH_ANSWER_JSON, ""},
    {200, "access_token=SECRET%", MCP__OAUTH_ANSWER_JSON, ""},
    {200, "access_token=SECRET&access_token=SECRET", MCP__OAUTH_ANSWER_JSON, ""},
    {200, "access_token=%FFSECRET", MCP__OAUTH_ANSWER_JSON, ""},
    {200, "access_token=SECRET&\nx=y", MCP__OAUTH_ANSWER_JSON, ""},
    {400, "error=invalid_grant&error_description=The+code+is+old%21", MCP__OAUTH_INVALID_GRANT,
     "invalid_grant, The code is old! (" URL ")"},
    {200, "error=invalid_grant", MCP__OAUTH_INVALID_GRANT, ""},
    {200, "[\"SECRET\"]", MCP__OAUTH_ANSWER_JSON, ""},
    {200, "", MCP__OAUTH_ANSWER_JSON, ""},
    {204, "", MCP__OAUTH_ANSWER_STATUS, "HTTP 204"},
};

static void test_errors(void **state)
{
    (void)state;
    for (size_t i = 0; i < MCP__COUNT(errors); i++) {
        mcp__token_answer t;
        mcp_error error;
        mcp__oauth_fault fault =
            mcp__token_answer_read(&t, errors[i].status, mcp_str_from(errors[i].body), MCP_STR(URL),
                                   MCP__WANT_BEARER, NULL, &error);
        if (fault != errors[i].fault || !strstr(error.text, errors[i].text) ||
            strstr(error.text, "SECRET"))
            fail_msg("%s: %d %s", errors[i].body, fault, error.text);
        mcp__token_answer_clear(&t);
    }
}

static const struct {
    const char *body;
    mcp__token_want want;
    mcp__oauth_fault fault;
    const char *shown; /* access, refresh, scope, dpop, lifetime; or the text */
} tokens[] = {
    /* RFC 6749 section 5.1, RFC 9449 section 5 */
    {"{\"access_token\":\"2YotnFZFEjr1zCsicMWpAA\",\"token_type\":\"example\",\"expires_in\":"
     "3600,\"refresh_token\":\"tGzv3JOkF0XG5Qx2TlKWIA\",\"example_parameter\":"
     "\"example_value\"}",
     MCP__WANT_BEARER, MCP__OAUTH_TOKEN_TYPE, ": example instead of Bearer ("},
    {"{\"access_token\":\"Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU\",\"token_type\":\"DPoP\","
     "\"expires_in\":2677,\"refresh_token\":\"Q..Zkm29lexi8VnWg2zPW1x-tgGad0Ibc3s3EwM_Ni4-g\"}",
     MCP__WANT_EITHER, MCP__OAUTH_OK,
     "Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU "
     "Q..Zkm29lexi8VnWg2zPW1x-tgGad0Ibc3s3EwM_Ni4-g - dpop 2677"},
    {T "}", MCP__WANT_BEARER, MCP__OAUTH_OK, "a.b  -  -1"},
    {T ",\"scope\":\"x y\",\"expires_in\":\"60\"}", MCP__WANT_BEARER, MCP__OAUTH_OK,
     "a.b  x y  60"},
    {T ",\"scope\":\"\",\"expires_in\":1e30}", MCP__WANT_EITHER, MCP__OAUTH_OK, "a.b    316224000"},
    {T ",\"expires_in\":\"99999999999999999999999\",\"refresh_token\":null,\"scope\":null}",
     MCP__WANT_BEARER, MCP__OAUTH_OK, "a.b  -  316224000"},
    {T ",\"expires_in\":0.5}", MCP__WANT_BEARER, MCP__OAUTH_OK, "a.b  -  0"},
    {A ",\"token_type\":\"bearer\"}", MCP__WANT_BEARER, MCP__OAUTH_OK, "a.b  -  -1"},
    {A ",\"token_type\":\"dpop\"}", MCP__WANT_DPOP, MCP__OAUTH_OK, "a.b  - dpop -1"},
    {A ",\"token_type\":\"DPoP\"}", MCP__WANT_BEARER, MCP__OAUTH_TOKEN_TYPE,
     ": DPoP instead of Bearer ("},
    {T "}", MCP__WANT_DPOP, MCP__OAUTH_TOKEN_TYPE, ": Bearer instead of DPoP ("},
    {A ",\"token_type\":\"mac\"}", MCP__WANT_EITHER, MCP__OAUTH_TOKEN_TYPE,
     ": mac instead of DPoP or Bearer ("},
    {A "}", MCP__WANT_BEARER, MCP__OAUTH_OK, "a.b  -  -1"},
    /* a form */
    {"access_token=a.b%2B&scope=x+y&expires_in=60&token_type=bearer&refresh_token=",
     MCP__WANT_BEARER, MCP__OAUTH_OK, "a.b+  x y  60"},
    {"access_token=&token_type=bearer", MCP__WANT_BEARER, MCP__OAUTH_ANSWER_FORM, "access_token"},
    {"access_token=a.b&token_type=mac", MCP__WANT_EITHER, MCP__OAUTH_TOKEN_TYPE,
     ": mac instead of"},
    {A "}", MCP__WANT_EITHER, MCP__OAUTH_OK, "a.b  -  -1"},
    {A "}", MCP__WANT_DPOP, MCP__OAUTH_ANSWER_FORM, "token_type"},
    {A ",\"token_type\":\"\"}", MCP__WANT_BEARER, MCP__OAUTH_ANSWER_FORM, "token_type"},
    {T ",\"scope\":[\"x\",\"y\"]}", MCP__WANT_BEARER, MCP__OAUTH_OK, "a.b  x y  -1"},
    {T ",\"scope\":[]}", MCP__WANT_BEARER, MCP__OAUTH_OK, "a.b    -1"},
    {T ",\"scope\":[\"x\",5]}", MCP__WANT_BEARER, MCP__OAUTH_ANSWER_FORM, "scope"},
    {T ",\"scope\":[\"x y\"]}", MCP__WANT_BEARER, MCP__OAUTH_ANSWER_FORM, "scope"},
    {T ",\"scope\":[\"\\\"\"]}", MCP__WANT_BEARER, MCP__OAUTH_ANSWER_FORM, "scope"},
    {A ",\"token_type\":\"N_A\",\"issued_token_type\":\"urn:ietf:params:oauth:token-type:id-jag"
       "\"}",
     MCP__WANT_ID_JAG, MCP__OAUTH_OK, "a.b  -  -1"},
    {T "}", MCP__WANT_ID_JAG, MCP__OAUTH_TOKEN_TYPE, ""},
    {T ",\"issued_token_type\":\"urn:ietf:params:oauth:token-type:access_token\"}",
     MCP__WANT_ID_JAG, MCP__OAUTH_TOKEN_TYPE, "access_token"},
    /* malformed members; the text has no token */
    {"{\"token_type\":\"Bearer\"}", MCP__WANT_BEARER, MCP__OAUTH_ANSWER_FORM, "access_token"},
    {"{\"access_token\":\"\",\"token_type\":\"Bearer\"}", MCP__WANT_BEARER, MCP__OAUTH_ANSWER_FORM,
     "access_token"},
    {"{\"access_token\":\"SECRET b\",\"token_type\":\"Bearer\"}", MCP__WANT_BEARER,
     MCP__OAUTH_ANSWER_FORM, "access_token"},
    {"{\"access_token\":\"SECRET\\r\\nX: y\",\"token_type\":\"Bearer\"}", MCP__WANT_BEARER,
     MCP__OAUTH_ANSWER_FORM, "access_token"},
    {"{\"access_token\":\"SECRET\\u00e4\",\"token_type\":\"Bearer\"}", MCP__WANT_BEARER,
     MCP__OAUTH_ANSWER_FORM, "access_token"},
    {"{\"access_token\":[\"SECRET\"],\"token_type\":\"Bearer\"}", MCP__WANT_BEARER,
     MCP__OAUTH_ANSWER_FORM, "access_token"},
    {"{" SECRET ",\"token_type\":\"Bearer\",\"refresh_token\":5}", MCP__WANT_BEARER,
     MCP__OAUTH_ANSWER_FORM, "refresh_token"},
    {"{" SECRET ",\"token_type\":\"Bearer\",\"scope\":\"a\\\\\"}", MCP__WANT_BEARER,
     MCP__OAUTH_ANSWER_FORM, "scope"},
    {"{" SECRET ",\"token_type\":\"Bearer\",\"expires_in\":-1}", MCP__WANT_BEARER,
     MCP__OAUTH_ANSWER_FORM, "expires_in"},
    {"{" SECRET ",\"token_type\":\"Bearer\",\"expires_in\":\"1h\"}", MCP__WANT_BEARER,
     MCP__OAUTH_ANSWER_FORM, "expires_in"},
    {"{" SECRET ",\"token_type\":\"Bearer\",\"expires_in\":true}", MCP__WANT_BEARER,
     MCP__OAUTH_ANSWER_FORM, "expires_in"},
    {"{" SECRET "," SECRET ",\"token_type\":\"Bearer\"}", MCP__WANT_BEARER, MCP__OAUTH_ANSWER_JSON,
     ""},
};

static void test_tokens(void **state)
{
    (void)state;
    for (size_t i = 0; i < MCP__COUNT(tokens); i++) {
        mcp__token_answer t;
        mcp_error error;
        char shown[200] = "";
        mcp__oauth_fault fault = mcp__token_answer_read(&t, 200, mcp_str_from(tokens[i].body),
                                                        MCP_STR(URL), tokens[i].want, NULL, &error);
        if (fault == MCP__OAUTH_OK)
            snprintf(shown, sizeof(shown), "%.*s %.*s %.*s %s %lld", (int)t.access_token.len,
                     t.access_token.ptr, (int)t.refresh_token.len, t.refresh_token.ptr,
                     t.has_scope ? (int)t.scope.len : 1, t.has_scope ? t.scope.ptr : "-",
                     t.dpop ? "dpop" : "", (long long)t.expires_in);
        if (fault != tokens[i].fault || strstr(error.text, "SECRET") ||
            (fault == MCP__OAUTH_OK ? strcmp(shown, tokens[i].shown) != 0
                                    : !strstr(error.text, tokens[i].shown)))
            fail_msg("%s: %d %s %s", tokens[i].body, fault, shown, error.text);
        mcp__token_answer_clear(&t);
    }
}

/* ---- the device flow ------------------------------------------------------------------------- */

static const struct {
    const char *body;
    mcp__oauth_fault fault;
    const char *shown;
} devices[] = {
    /* RFC 8628 section 3.2 */
    {"{\"device_code\":\"GmRhmhcxhwAzkoEqiMEg_DnyEysNkuNhszIySk9eS\",\"user_code\":"
     "\"WDJB-MJHT\",\"verification_uri\":\"https://example.com/device\","
     "\"verification_uri_complete\":\"https://example.com/device?user_code=WDJB-MJHT\","
     "\"expires_in\":1800,\"interval\":5}",
     MCP__OAUTH_OK,
     "WDJB-MJHT https://example.com/device https://example.com/device?user_code=WDJB-MJHT 1800 "
     "5"},
    {D ",\"verification_url\":\"https://a/#/d\"}", MCP__OAUTH_OK, "u https://a/#/d  1800 5"},
    {D ",\"verification_uri\":\"http://[::1]/\",\"expires_in\":99999,\"interval\":0}",
     MCP__OAUTH_OK, "u http://[::1]/  1800 1"},
    {D "}", MCP__OAUTH_ANSWER_FORM, "verification_ur"},
    {"{\"device_code\":\"d\",\"verification_uri\":\"https://a\"}", MCP__OAUTH_ANSWER_FORM,
     "user_code"},
    {"{\"user_code\":\"d\",\"verification_uri\":\"https://a\"}", MCP__OAUTH_ANSWER_FORM,
     "device_code"},
    {"{\"device_code\":\"d\",\"user_code\":\"\\u001b[2J\",\"verification_uri\":\"https://a\"}",
     MCP__OAUTH_ANSWER_FORM, "user_code"},
    {D ",\"verification_uri\":\"http://a\"}", MCP__OAUTH_METADATA_URL,
     "verification_uri http://a ("},
    {D ",\"verification_uri\":\"-x\"}", MCP__OAUTH_METADATA_URL, ""},
    {D ",\"verification_uri\":\"https://a\",\"verification_uri_complete\":\"file:///x\"}",
     MCP__OAUTH_METADATA_URL, "verification_uri_complete file:"},
    {D ",\"verification_uri\":\"https://a\",\"expires_in\":0}", MCP__OAUTH_ANSWER_FORM,
     "expires_in"},
    {D ",\"verification_uri\":\"https://a\",\"interval\":-1}", MCP__OAUTH_ANSWER_FORM, "interval"},
    {"{\"error\":\"unauthorized_client\"}", MCP__OAUTH_UNAUTHORIZED_CLIENT, ""},
};

static void test_device(void **state)
{
    (void)state;
    for (size_t i = 0; i < MCP__COUNT(devices); i++) {
        mcp__device_answer d;
        mcp_error error;
        char shown[200] = "";
        mcp__oauth_fault fault = mcp__device_answer_read(&d, 200, mcp_str_from(devices[i].body),
                                                         MCP_STR(URL), true, NULL, &error);
        if (fault == MCP__OAUTH_OK)
            snprintf(shown, sizeof(shown), "%.*s %.*s %.*s %lld %lld", (int)d.user_code.len,
                     d.user_code.ptr, (int)d.url.len, d.url.ptr, (int)d.complete_url.len,
                     d.complete_url.ptr, (long long)d.expires_in, (long long)d.interval);
        if (fault != devices[i].fault ||
            (fault == MCP__OAUTH_OK ? strcmp(shown, devices[i].shown) != 0
                                    : !strstr(error.text, devices[i].shown)))
            fail_msg("%s: %d %s %s", devices[i].body, fault, shown, error.text);
        mcp__device_answer_clear(&d);
    }
}

static void test_answers_memory_and_size(void **state)
{
    (void)state;
    mcp__token_answer t, of_form;
    mcp__device_answer d;
    mcp__registered r;
    for (size_t n = 1;; n++) {
        failalloc f = {.fail_at = n};
        mcp_allocator a = failalloc_allocator(&f);
        mcp__oauth_fault faults[] = {
            mcp__token_answer_read(&t, 200, MCP_STR(T "}"), MCP_STR(URL), MCP__WANT_BEARER, &a,
                                   NULL),
            mcp__token_answer_read(&of_form, 200, MCP_STR("access_token=a"), MCP_STR(URL),
                                   MCP__WANT_BEARER, &a, NULL),
            mcp__device_answer_read(&d, 200, MCP_STR(D ",\"verification_uri\":\"https://a\"}"),
                                    MCP_STR(URL), false, &a, NULL),
            mcp__registered_read(&r, 201, MCP_STR("{\"client_id\":\"a\"}"), MCP_STR(URL), &a, NULL),
        };
        mcp__token_answer_clear(&t);
        mcp__token_answer_clear(&of_form);
        mcp__device_answer_clear(&d);
        mcp__registered_clear(&r);
        size_t failed = 0;
        for (size_t i = 0; i < MCP__COUNT(faults); i++) {
            assert_true(faults[i] == MCP__OAUTH_OK || faults[i] == MCP__OAUTH_NO_MEMORY);
            failed += faults[i] != MCP__OAUTH_OK;
        }
        assert_int_equal(f.live, 0);
        assert_int_equal(failed, f.calls >= n);
        if (f.calls < n)
            break;
    }
    char *big = malloc(MCP__ANSWER_BYTES + 1);
    memset(big, 'x', MCP__ANSWER_BYTES + 1);
    mcp_str body = {big, MCP__ANSWER_BYTES + 1};
    assert_int_equal(
        mcp__token_answer_read(&t, 500, body, MCP_STR(URL), MCP__WANT_BEARER, NULL, NULL),
        MCP__OAUTH_ANSWER_SIZE);
    for (size_t extra = 0; extra < 2; extra++) { /* the longest token, and one that is longer */
        static const char head[] = "{\"token_type\":\"Bearer\",\"access_token\":\"";
        size_t end = strlen(head) + MCP__ANSWER_TOKEN + extra;
        memset(big, 'x', MCP__ANSWER_BYTES);
        memcpy(big, head, strlen(head));
        memcpy(big + end, "\"}", 2);
        body.len = end + 2;
        mcp__oauth_fault fault =
            mcp__token_answer_read(&t, 200, body, MCP_STR(URL), MCP__WANT_BEARER, NULL, NULL);
        assert_int_equal(fault, extra ? MCP__OAUTH_ANSWER_FORM : MCP__OAUTH_OK);
        mcp__token_answer_clear(&t);
    }
    free(big);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_forms_generated),
        cmocka_unit_test(test_choice),
        cmocka_unit_test(test_authentication),
        cmocka_unit_test(test_authentication_memory),
        cmocka_unit_test(test_registration),
        cmocka_unit_test(test_registered),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_tokens),
        cmocka_unit_test(test_device),
        cmocka_unit_test(test_answers_memory_and_size),
    };
    return cmocka_run_group_tests(tests, load_crypto, NULL);
}
