/* Discovery: URLs of metadata, resources and servers, and both kinds of metadata with each
 * check. */
#include "rig.h"
#include "auth/discover.h"

#define PRM   "/.well-known/oauth-protected-resource"
#define OAUTH "/.well-known/oauth-authorization-server"
#define OIDC  "/.well-known/openid-configuration"

typedef int put_url(mcp__buf *to, mcp_str url, size_t i);

/* Compares all steps with the expected URLs, which are separated by blanks. "" means that the URL
 * is refused. */
static void expect_urls(put_url *put, const char *from, const char *expected)
{
    mcp__buf b;
    int rc = MCP_OK;
    mcp__buf_init(&b, mcp__allocator(NULL), 0);
    for (size_t i = 0; rc == MCP_OK; i++) {
        mcp__buf url;
        mcp__buf_init(&url, mcp__allocator(NULL), 0);
        rc = put(&url, mcp_str_from(from), i);
        if (rc == MCP_OK)
            mcp__buf_printf(&b, "%s%.*s", i ? " " : "", (int)url.len, url.ptr);
        mcp__buf_free(&url);
    }
    assert_int_equal(rc, *expected ? MCP_ENOTFOUND : MCP_EINVAL);
    mcp__buf_add(&b, "", 1);
    assert_string_equal(b.ptr, expected);
    mcp__buf_free(&b);
}

static void test_urls(void **state)
{
    (void)state;
    static const struct {
        const char *from, *expected;
    } resources[] =
        {
            {"https://example.com/public/mcp",
             "https://example.com" PRM "/public/mcp https://example.com" PRM},
            {"https://example.com", "https://example.com" PRM},
            {"https://example.com/", "https://example.com" PRM},
            {"https://example.com/mcp/", "https://example.com" PRM "/mcp/ https://example.com" PRM},
            {"HTTPS://Example.com:443/A%2f?k=v",
             "HTTPS://Example.com:443" PRM "/A%2f?k=v HTTPS://Example.com:443" PRM},
            {"https://example.com?k=v", "https://example.com" PRM "?k=v https://example.com" PRM},
            {"http://[::1]:8080/mcp", "http://[::1]:8080" PRM "/mcp http://[::1]:8080" PRM},
            {"https://u@example.com/mcp", ""},
            {"https://example.com/#x", ""},
            {"ws://example.com/", ""},
            {"", ""},
        },
      issuers[] = {
          /* RFC 8414 sections 3.1 and 5; 2026-07-28, authorization-server-discovery */
          {"https://auth.example.com/tenant1",
           "https://auth.example.com" OAUTH "/tenant1 https://auth.example.com" OIDC
           "/tenant1 https://auth.example.com/tenant1" OIDC},
          {"https://auth.example.com",
           "https://auth.example.com" OAUTH " https://auth.example.com" OIDC},
          {"https://auth.example.com/",
           "https://auth.example.com" OAUTH " https://auth.example.com" OIDC},
          {"https://example.com/issuer1/",
           "https://example.com" OAUTH "/issuer1 https://example.com" OIDC
           "/issuer1 https://example.com/issuer1" OIDC},
          {"https://a/b//", "https://a" OAUTH "/b/ https://a" OIDC "/b/ https://a/b/" OIDC},
          {"https://a/b?c", ""},
          {"https://a/b#c", ""},
          {"https://u@a/b", ""},
          {"a", ""},
      };
    for (size_t i = 0; i < MCP__COUNT(resources); i++)
        expect_urls(mcp__resource_url, resources[i].from, resources[i].expected);
    for (size_t i = 0; i < MCP__COUNT(issuers); i++)
        expect_urls(mcp__issuer_url, issuers[i].from, issuers[i].expected);
}

static void test_secure(void **state)
{
    (void)state;
    static const struct {
        const char *url;
        bool always, loopback;
    } cases[] = {
        {"https://a.example", true, true},
        {"HTTPS://a.example/x?y", true, true},
        {"http://a.example", false, false},
        {"http://localhost:1/x", false, true},
        {"http://127.0.0.1", false, true},
        {"http://[::1]:3", false, true},
        {"http://10.0.0.1", false, false},
        {"http://localhost.evil.example", false, false},
        {"https://u:p@a.example", false, false},
        {"https://a.example/#f", false, false},
        {"javascript:alert(1)", false, false},
        {"file:///etc/passwd", false, false},
        {"--help", false, false},
        {"", false, false},
        {"https://", false, false},
        {"https:a", false, false},
        {"https://a.example/\n", false, false},
        {"https://a.example/ b", false, false},
    };
    for (size_t i = 0; i < MCP__COUNT(cases); i++) {
        mcp_str url = mcp_str_from(cases[i].url);
        if (mcp__oauth_url(url, false) != cases[i].always ||
            mcp__oauth_url(url, true) != cases[i].loopback)
            fail_msg("%s", cases[i].url);
    }
}

static void test_covers(void **state)
{
    (void)state;
    static const struct {
        const char *resource, *server;
        bool covers;
    } cases[] = {
        {"https://a/mcp", "https://a/mcp", true},
        {"https://a", "https://a/mcp", true},
        {"https://a/", "https://a/mcp", true},
        {"https://a", "https://a", true},
        {"https://a/", "https://a", true},
        {"https://a", "https://a/", true},
        {"https://a/mcp/", "https://a/mcp", true},
        {"https://a/mcp", "https://a/mcp/", true},
        {"https://a/x", "https://a/x/mcp", true},
        {"HTTPS://A:443/x", "https://a/x/mcp", true},
        {"https://a/mcp", "https://a/mcp?k=v", true},
        {"https://a/mcp?k=v", "https://a/mcp?k=v", true},
        {"https://a/mcp?k=v", "https://a/mcp?k=w", false},
        {"https://a/mcp?k=v", "https://a/mcp", false},
        {"https://a?k=v", "https://a/mcp?k=v", false},
        {"https://a/mc", "https://a/mcp", false},
        {"https://a/mcp", "https://a", false},
        {"https://a/mcp", "https://a/other", false},
        {"https://a/MCP", "https://a/mcp", false},
        {"https://evil.example.com/mcp", "https://a/mcp", false},
        {"http://a/mcp", "https://a/mcp", false},
        {"https://a:8443/mcp", "https://a/mcp", false},
        {"https://a/x", "https://a/x/../y", false},
        {"https://a/x", "https://a/x/%2E%2e/y", false},
        {"https://a/x/.", "https://a/x/./y", false},
        {"https://a/x#f", "https://a/x", false},
        {"https://u@a/x", "https://a/x", false},
        {"", "https://a", false},
        {"a", "a", false},
    };
    for (size_t i = 0; i < MCP__COUNT(cases); i++) {
        if (mcp__resource_covers(mcp_str_from(cases[i].resource), mcp_str_from(cases[i].server)) !=
            cases[i].covers)
            fail_msg("%s, %s", cases[i].resource, cases[i].server);
    }
}

/* Where the metadata of a resource above the server may be (RFC 9728 section 3.3). */
static void test_place(void **state)
{
    (void)state;
    static const struct {
        const char *resource, *server, *url;
        mcp__oauth_fault fault;
    } cases[] = {
        {"https://a/t", "https://a/t", "https://b/x", MCP__OAUTH_OK},
        {"https://a/t/", "https://a/t", "https://a/x", MCP__OAUTH_OK},
        {"https://a/t", "https://a/t?k=v", "https://a" PRM "/t?k=v", MCP__OAUTH_OK},
        {"https://a", "https://a/t", "https://a" PRM, MCP__OAUTH_OK},
        {"https://a/", "https://a/t", "https://A:443" PRM "/", MCP__OAUTH_OK},
        {"https://a/t", "https://a/t/mcp", "https://a" PRM "/t", MCP__OAUTH_OK},
        {"https://a", "https://a/t", "https://a" PRM "/t", MCP__OAUTH_RESOURCE_PLACE},
        {"https://a", "https://a/t", "https://a/t" PRM, MCP__OAUTH_RESOURCE_PLACE},
        {"https://a", "https://a/t", "https://b" PRM, MCP__OAUTH_RESOURCE_PLACE},
        {"https://a", "https://a/t", "https://b/x", MCP__OAUTH_RESOURCE_PLACE},
        {"https://a/u", "https://a/t", "https://a" PRM "/u", MCP__OAUTH_RESOURCE_OTHER},
    };
    for (size_t i = 0; i < MCP__COUNT(cases); i++) {
        char body[256];
        mcp__protected p;
        snprintf(body, sizeof(body),
                 "{\"resource\":\"%s\",\"authorization_servers\":[\"https://id\"]}",
                 cases[i].resource);
        mcp__oauth_fault fault =
            mcp__protected_read(&p, mcp_str_from(body), mcp_str_from(cases[i].server),
                                mcp_str_from(cases[i].url), false, NULL, NULL);
        if (fault != cases[i].fault)
            fail_msg("%s, %s, %s: %d", cases[i].resource, cases[i].server, cases[i].url, fault);
        mcp__protected_clear(&p);
    }
}

/* A slow model of a URL: its parts as numbers, and its segments one by one. */
typedef struct place {
    unsigned scheme, host, port, query; /* port 0: none; query 0: none */
    size_t n;                           /* number of segments */
    unsigned segments[4];               /* 0 is the empty one */
} place;

static place place_make(uint32_t *seed)
{
    place p = {next_random(seed) % 8 == 0,
               next_random(seed) % 8 == 0,
               next_random(seed) % 3,
               next_random(seed) % 6 == 0,
               0,
               {0}};
    for (size_t n = next_random(seed) % 4; p.n < n;)
        p.segments[p.n++] = next_random(seed) % 12 % 5;
    return p;
}

static void place_write(const place *p, char to[100])
{
    static const char *const segments[] = {"", "a", "ab", "%61", ".."};
    static const char *const ports[2][3] = {{"", ":443", ":8443"}, {"", ":80", ":8443"}};
    int len = sprintf(to, "%s://%s%s", p->scheme ? "http" : "https", p->host ? "B" : "A",
                      ports[p->scheme][p->port]);
    for (size_t i = 0; i < p->n; i++)
        len += sprintf(to + len, "/%s", segments[p->segments[i]]);
    sprintf(to + len, "%s", p->query ? "?q" : "");
}

static bool place_covers(const place *a, const place *b)
{
    bool same = a->n == b->n && a->query == b->query && a->port == b->port;
    bool path = a->n <= b->n, dots = false;
    size_t n = a->n;
    for (size_t i = 0; i < a->n || i < b->n; i++)
        dots |= (i < a->n && a->segments[i] == 4) || (i < b->n && b->segments[i] == 4);
    for (size_t i = 0; same && i < n; i++)
        same = a->segments[i] == b->segments[i];
    if (a->scheme != b->scheme || a->host != b->host || (a->port > 1) != (b->port > 1))
        return false;
    if (same)
        return true;
    if (a->query) {
        for (size_t i = 0; i < n && path; i++)
            path = a->segments[i] == b->segments[i];
        return !dots && b->query && a->n == b->n && path;
    }
    while (n && a->segments[n - 1] == 0) /* slashes at the end */
        n--;
    path = n <= b->n;
    for (size_t i = 0; i < n && path; i++)
        path = a->segments[i] == b->segments[i];
    return !dots && path;
}

static void test_covers_generated(void **state)
{
    (void)state;
    uint32_t seed = 3;
    size_t yes = 0;
    for (int round = 0; round < 50000; round++) {
        place a = place_make(&seed), b = next_random(&seed) % 2 ? a : place_make(&seed);
        char one[100], two[100];
        if (b.n < 4 && next_random(&seed) % 2)
            b.segments[b.n++] = next_random(&seed) % 5;
        place_write(&a, one);
        place_write(&b, two);
        bool covers = mcp__resource_covers(mcp_str_from(one), mcp_str_from(two));
        if (covers != place_covers(&a, &b))
            fail_msg("%s, %s: %d", one, two, covers);
        yes += covers;
    }
    assert_in_range(yes, 5000, 45000);
}

/* ---- protected resources --------------------------------------------------------------------- */

#define SERVER "https://mcp.example/mcp"
#define WHERE  "https://mcp.example" PRM "/mcp"

static mcp__oauth_fault read_resource(mcp__protected *p, const char *body, mcp_error *error)
{
    return mcp__protected_read(p, mcp_str_from(body), MCP_STR(SERVER), MCP_STR(WHERE), false, NULL,
                               error);
}

static void test_resource_faults(void **state)
{
    (void)state;
    static const struct {
        const char *body;
        mcp__oauth_fault fault;
        const char *text;
    } cases[] = {
        {"Forbidden", MCP__OAUTH_RESOURCE_JSON, "JSON object (" WHERE ")"},
        {"", MCP__OAUTH_RESOURCE_JSON, ""},
        {"[]", MCP__OAUTH_RESOURCE_JSON, ""},
        {"{\"resource\":\"a\",\"resource\":\"b\"}", MCP__OAUTH_RESOURCE_JSON, ""},
        {"{}", MCP__OAUTH_RESOURCE_FORM, "malformed: resource ("},
        {"{\"resource\":5}", MCP__OAUTH_RESOURCE_FORM, ": resource ("},
        {"{\"resource\":\"https://evil.example.com/mcp\",\"authorization_servers\":[\"https://a\"]"
         "}",
         MCP__OAUTH_RESOURCE_OTHER, "another resource: https://evil.example.com/mcp (" WHERE "); "},
        {"{\"resource\":\"https://mcp.example\",\"authorization_servers\":[\"https://a\"]}",
         MCP__OAUTH_RESOURCE_PLACE, "well-known URL: https://mcp.example (" WHERE ")"},
        {"{\"resource\":\"" SERVER "\"}", MCP__OAUTH_RESOURCE_SERVERS, "the option issuer"},
        {"{\"resource\":\"" SERVER "\",\"authorization_servers\":[]}", MCP__OAUTH_RESOURCE_SERVERS,
         ""},
        {"{\"resource\":\"" SERVER "\",\"authorization_servers\":\"https://a\"}",
         MCP__OAUTH_RESOURCE_FORM, "authorization_servers"},
        {"{\"resource\":\"" SERVER "\",\"authorization_servers\":[\"http://a\"]}",
         MCP__OAUTH_ISSUER_URL, "http://a"},
        {"{\"resource\":\"" SERVER "\",\"authorization_servers\":[7]}", MCP__OAUTH_ISSUER_URL, ""},
        {"{\"resource\":\"" SERVER "\",\"authorization_servers\":[\"https://a\"],"
         "\"scopes_supported\":\"a\"}",
         MCP__OAUTH_RESOURCE_FORM, "scopes_supported"},
    };
    for (size_t i = 0; i < MCP__COUNT(cases); i++) {
        mcp__protected p;
        mcp_error error;
        mcp__oauth_fault fault = read_resource(&p, cases[i].body, &error);
        if (fault != cases[i].fault || !strstr(error.text, cases[i].text))
            fail_msg("%s: %d %s", cases[i].body, fault, error.text);
        assert_int_equal(error.code, mcp__oauth_fault_code(fault));
        mcp__protected_clear(&p);
    }
}

static void test_resource(void **state)
{
    (void)state;
    mcp__protected p;
    mcp_error error;
    mcp_str issuer;
    static const char above[] =
        "{\"resource\":\"https://mcp.example\",\"authorization_servers\":"
        "[\"http://bad\",\"https://a/\",\"https://b\"],\"scopes_supported\":[\"r\","
        "\"a b\",4,\"w\"],\"dpop_bound_access_tokens_required\":true,"
        "\"dpop_signing_alg_values_supported\":[\"ES256\"],\"other\":{}}";
    assert_int_equal(mcp__protected_read(&p, mcp_str_from(above), MCP_STR(SERVER),
                                         MCP_STR("https://mcp.example" PRM), false, NULL, &error),
                     MCP__OAUTH_OK);
    assert_true(mcp_str_eq(p.resource, MCP_STR("https://mcp.example")));
    assert_int_equal(p.n_issuers, 2);
    assert_true(p.has_scopes && mcp_str_eq(mcp__buf_view(&p.scopes), MCP_STR("r w")));
    assert_true(p.dpop_required && mcp__json_lists(p.dpop_algs, MCP_STR("ES256")));
    static const struct {
        const char *configured, *known, *chosen;
    } cases[] = {
        {"", "", "https://a/"},
        {"", "https://b", "https://b"},
        {"", "https://old", "https://a/"},
        {"https://b", "https://a/", "https://b"},
        {"https://a", "", NULL},
        {"https://c", "https://b", NULL},
    };
    for (size_t i = 0; i < MCP__COUNT(cases); i++) {
        mcp__oauth_fault fault = mcp__protected_choose(
            &p, mcp_str_from(cases[i].configured), mcp_str_from(cases[i].known), &issuer, &error);
        assert_int_equal(fault, cases[i].chosen ? MCP__OAUTH_OK : MCP__OAUTH_ISSUER_UNLISTED);
        if (cases[i].chosen)
            assert_true(mcp_str_eq(issuer, mcp_str_from(cases[i].chosen)));
        else
            assert_non_null(strstr(error.text, "the option issuer"));
    }
    mcp__protected_clear(&p);
    assert_int_equal(read_resource(&p,
                                   "{\"resource\":\"" SERVER
                                   "\",\"authorization_servers\":[\"https://a\"],"
                                   "\"scopes_supported\":null}",
                                   &error),
                     MCP__OAUTH_OK);
    assert_false(p.has_scopes || p.dpop_required || p.dpop_algs);
    mcp__protected_clear(&p);
}

/* ---- authorization servers ------------------------------------------------------------------- */

#define HEAD  "{\"issuer\":\"https://as.example\""
#define TOKEN ",\"token_endpoint\":\"https://as.example/t\""

static mcp__oauth_fault read_issuer(mcp__issuer *issuer, const char *body, const char *trusted,
                                    mcp_error *error)
{
    mcp__issuer_rules rules = {.issuer = MCP_STR("https://as.example"),
                               .trusted = mcp_str_from(trusted),
                               .url = MCP_STR("https://as.example" OAUTH)};
    return mcp__issuer_read(issuer, mcp_str_from(body), &rules, NULL, error);
}

static void test_issuer_faults(void **state)
{
    (void)state;
    static const struct {
        const char *body, *trusted;
        mcp__oauth_fault fault;
        const char *text;
    } cases[] = {
        {"<html>", NULL, MCP__OAUTH_METADATA_JSON, "https://as.example"},
        {"null", NULL, MCP__OAUTH_METADATA_JSON, ""},
        {"{}", NULL, MCP__OAUTH_METADATA_FORM, ": issuer ("},
        {"{\"issuer\":\"https://as.example/\"" TOKEN "}", NULL, MCP__OAUTH_METADATA_ISSUER,
         ": https://as.example/ (https://as.example" OAUTH "); the option trusted-issuer"},
        {"{\"issuer\":\"https://AS.example\"" TOKEN "}", NULL, MCP__OAUTH_METADATA_ISSUER, ""},
        {"{\"issuer\":\"https://honest.example\"" TOKEN "}", "https://as.example",
         MCP__OAUTH_METADATA_ISSUER, ""},
        {"{\"issuer\":\"https://as.example/\"" TOKEN "}", "https://as.example/", MCP__OAUTH_OK, ""},
        {HEAD TOKEN "}", "https://as.example/", MCP__OAUTH_OK, ""},
        {HEAD "}", NULL, MCP__OAUTH_METADATA_FORM, "token_endpoint"},
        {HEAD ",\"token_endpoint\":null}", NULL, MCP__OAUTH_METADATA_FORM, "token_endpoint"},
        {HEAD ",\"token_endpoint\":\"\"}", NULL, MCP__OAUTH_METADATA_FORM, "token_endpoint"},
        {HEAD TOKEN ",\"registration_endpoint\":\"\"}", NULL, MCP__OAUTH_OK, ""},
        {HEAD ",\"token_endpoint\":[]}", NULL, MCP__OAUTH_METADATA_FORM, "token_endpoint"},
        {HEAD ",\"token_endpoint\":\"http://as.example/t\"}", NULL, MCP__OAUTH_METADATA_URL,
         "not an https URL: token_endpoint http://as.example/t ("},
        {HEAD ",\"token_endpoint\":\"http://127.0.0.1/t\"}", NULL, MCP__OAUTH_METADATA_URL, ""},
        {HEAD TOKEN ",\"authorization_endpoint\":\"javascript:alert(1)\"}", NULL,
         MCP__OAUTH_METADATA_URL, "javascript:"},
        {HEAD TOKEN ",\"authorization_endpoint\":\"https://x/#a\"}", NULL, MCP__OAUTH_METADATA_URL,
         ""},
        {HEAD TOKEN ",\"registration_endpoint\":\"ftp://x\"}", NULL, MCP__OAUTH_METADATA_URL, ""},
        {HEAD TOKEN ",\"device_authorization_endpoint\":\"http://x\"}", NULL,
         MCP__OAUTH_METADATA_URL, ""},
        {HEAD TOKEN ",\"revocation_endpoint\":\"http://x\"}", NULL, MCP__OAUTH_METADATA_URL, ""},
        {HEAD TOKEN ",\"code_challenge_methods_supported\":\"S256\"}", NULL,
         MCP__OAUTH_METADATA_FORM, "code_challenge_methods_supported"},
    };
    for (size_t i = 0; i < MCP__COUNT(cases); i++) {
        mcp__issuer issuer;
        mcp_error error;
        mcp__oauth_fault fault = read_issuer(&issuer, cases[i].body, cases[i].trusted, &error);
        if (fault != cases[i].fault || !strstr(error.text, cases[i].text))
            fail_msg("%s: %d %s", cases[i].body, fault, error.text);
        mcp__issuer_clear(&issuer);
    }
}

static void test_supports(void **state)
{
    (void)state;
#define AUTHORIZE TOKEN ",\"authorization_endpoint\":\"https://as.example/a\""
#define PKCE      ",\"code_challenge_methods_supported\":"
    static const struct {
        const char *members;
        mcp__oauth_fault code, assumed, device, credentials;
    } cases[] = {
        {AUTHORIZE PKCE "[\"plain\",\"S256\"]", MCP__OAUTH_OK, MCP__OAUTH_OK,
         MCP__OAUTH_METADATA_DEVICE, MCP__OAUTH_OK},
        {AUTHORIZE, MCP__OAUTH_METADATA_PKCE, MCP__OAUTH_OK, MCP__OAUTH_METADATA_DEVICE,
         MCP__OAUTH_OK},
        {AUTHORIZE PKCE "[]", MCP__OAUTH_METADATA_PKCE, MCP__OAUTH_OK, MCP__OAUTH_METADATA_DEVICE,
         MCP__OAUTH_OK},
        {AUTHORIZE PKCE "[\"plain\"]", MCP__OAUTH_METADATA_S256, MCP__OAUTH_METADATA_S256,
         MCP__OAUTH_METADATA_DEVICE, MCP__OAUTH_OK},
        {AUTHORIZE PKCE "[\"S256\"],\"response_types_supported\":[\"id_token\"]",
         MCP__OAUTH_METADATA_CODE, MCP__OAUTH_METADATA_CODE, MCP__OAUTH_METADATA_DEVICE,
         MCP__OAUTH_OK},
        {TOKEN ",\"device_authorization_endpoint\":\"https://as.example/d\","
               "\"grant_types_supported\":[\"client_credentials\"]",
         MCP__OAUTH_METADATA_CODE, MCP__OAUTH_METADATA_CODE, MCP__OAUTH_OK, MCP__OAUTH_OK},
        {AUTHORIZE PKCE "[\"S256\"],\"grant_types_supported\":[\"authorization_code\"]",
         MCP__OAUTH_OK, MCP__OAUTH_OK, MCP__OAUTH_METADATA_DEVICE, MCP__OAUTH_METADATA_GRANT},
        {AUTHORIZE PKCE "[\"S256\"],\"grant_types_supported\":[\"implicit\"]",
         MCP__OAUTH_METADATA_CODE, MCP__OAUTH_METADATA_CODE, MCP__OAUTH_METADATA_DEVICE,
         MCP__OAUTH_METADATA_GRANT},
    };
    for (size_t i = 0; i < MCP__COUNT(cases); i++) {
        mcp__issuer issuer;
        mcp_error error;
        char body[512];
        snprintf(body, sizeof(body), HEAD "%s}", cases[i].members);
        assert_int_equal(read_issuer(&issuer, body, NULL, NULL), MCP__OAUTH_OK);
        assert_int_equal(mcp__issuer_check_code(&issuer, false, &error), cases[i].code);
        if (cases[i].code == MCP__OAUTH_METADATA_PKCE)
            assert_non_null(strstr(error.text, "the option assume-pkce"));
        assert_int_equal(mcp__issuer_check_code(&issuer, true, &error), cases[i].assumed);
        assert_int_equal(mcp__issuer_check_device(&issuer, &error), cases[i].device);
        assert_int_equal(mcp__issuer_check_grant(&issuer, MCP_STR("client_credentials"), &error),
                         cases[i].credentials);
        mcp__issuer_clear(&issuer);
    }
}

/* RFC 8414 section 3.2, with the members of RFCs 8628, 9207 and 9449. */
static const char example[] =
    "{\"issuer\":\"https://server.example.com\",\"authorization_endpoint\":"
    "\"https://server.example.com/authorize\",\"token_endpoint\":\"https://server.example.com/"
    "token\",\"token_endpoint_auth_methods_supported\":[\"client_secret_basic\","
    "\"private_key_jwt\"],\"token_endpoint_auth_signing_alg_values_supported\":[\"RS256\","
    "\"ES256\"],\"userinfo_endpoint\":\"https://server.example.com/userinfo\",\"jwks_uri\":"
    "\"https://server.example.com/jwks.json\",\"registration_endpoint\":"
    "\"https://server.example.com/register\",\"scopes_supported\":[\"openid\",\"profile\","
    "\"email\",\"address\",\"phone\",\"offline_access\"],\"response_types_supported\":[\"code\","
    "\"code token\"],\"service_documentation\":\"http://server.example.com/doc\","
    "\"ui_locales_supported\":[\"en-US\",\"en-GB\"],\"device_authorization_endpoint\":"
    "\"https://server.example.com/device_authorization\",\"revocation_endpoint\":"
    "\"https://server.example.com/revoke\",\"authorization_response_iss_parameter_supported\":"
    "true,\"client_id_metadata_document_supported\":true,\"dpop_signing_alg_values_supported\":"
    "[\"PS256\",\"ES256\"],\"authorization_grant_profiles_supported\":[\"x\"]}";

static void test_issuer(void **state)
{
    (void)state;
    mcp__issuer i;
    mcp__issuer_rules rules = {.issuer = MCP_STR("https://server.example.com")};
    assert_int_equal(mcp__issuer_read(&i, mcp_str_from(example), &rules, NULL, NULL),
                     MCP__OAUTH_OK);
    assert_true(mcp_str_eq(i.authorization, MCP_STR("https://server.example.com/authorize")));
    assert_true(mcp_str_eq(i.token, MCP_STR("https://server.example.com/token")));
    assert_true(mcp_str_eq(i.registration, MCP_STR("https://server.example.com/register")));
    assert_true(mcp_str_eq(i.device, MCP_STR("https://server.example.com/device_authorization")));
    assert_true(mcp_str_eq(i.revocation, MCP_STR("https://server.example.com/revoke")));
    assert_true(i.names_itself && i.reads_documents);
    assert_true(mcp__json_lists(i.scopes, MCP_STR("offline_access")));
    assert_true(mcp__json_lists(i.methods, MCP_STR("private_key_jwt")));
    assert_true(mcp__json_lists(i.method_algs, MCP_STR("ES256")));
    assert_true(mcp__json_lists(i.responses, MCP_STR("code")));
    assert_true(mcp__json_lists(i.dpop_algs, MCP_STR("ES256")));
    assert_true(mcp__json_lists(i.profiles, MCP_STR("x")));
    assert_null(i.grants);
    mcp__issuer_clear(&i);
    assert_int_equal(mcp__issuer_legacy(&i, MCP_STR("http://[::1]:9/mcp?k=v"), true, NULL, NULL),
                     MCP__OAUTH_OK);
    assert_true(mcp_str_eq(i.issuer, MCP_STR("http://[::1]:9")));
    assert_true(mcp_str_eq(i.authorization, MCP_STR("http://[::1]:9/authorize")));
    assert_true(mcp_str_eq(i.token, MCP_STR("http://[::1]:9/token")));
    assert_true(mcp_str_eq(i.registration, MCP_STR("http://[::1]:9/register")));
    assert_int_equal(mcp__issuer_check_code(&i, true, NULL), MCP__OAUTH_OK);
    mcp__issuer_clear(&i);
    assert_int_equal(mcp__issuer_legacy(&i, MCP_STR("http://a/mcp"), true, NULL, NULL),
                     MCP__OAUTH_ISSUER_URL);
    mcp__issuer_clear(&i);
}

static void test_memory_and_size(void **state)
{
    (void)state;
    static const char resource[] = "{\"resource\":\"https://a\",\"authorization_servers\":"
                                   "[\"https://b\"],\"scopes_supported\":[\"a\",\"b\"]}";
    mcp__issuer_rules rules = {.issuer = MCP_STR("https://server.example.com")};
    mcp__issuer issuer;
    mcp__protected p;
    for (size_t n = 1;; n++) {
        failalloc f = {.fail_at = n};
        mcp_allocator a = failalloc_allocator(&f);
        mcp__oauth_fault faults[3];
        faults[0] = mcp__issuer_read(&issuer, mcp_str_from(example), &rules, &a, NULL);
        mcp__issuer_clear(&issuer);
        faults[1] = mcp__protected_read(&p, mcp_str_from(resource), MCP_STR("https://a/b"),
                                        MCP_STR("https://a" PRM), false, &a, NULL);
        mcp__protected_clear(&p);
        faults[2] = mcp__issuer_legacy(&issuer, MCP_STR("https://a"), false, &a, NULL);
        mcp__issuer_clear(&issuer);
        size_t failed = 0;
        for (size_t i = 0; i < 3; i++) {
            assert_true(faults[i] == MCP__OAUTH_OK || faults[i] == MCP__OAUTH_NO_MEMORY);
            failed += faults[i] != MCP__OAUTH_OK;
        }
        assert_int_equal(f.live, 0);
        assert_int_equal(failed, f.calls >= n);
        if (f.calls < n)
            break;
    }
    char *big = malloc(MCP__DISCOVER_BYTES + 1);
    memset(big, ' ', MCP__DISCOVER_BYTES + 1);
    mcp_str body = {big, MCP__DISCOVER_BYTES + 1};
    assert_int_equal(mcp__issuer_read(&issuer, body, &rules, NULL, NULL), MCP__OAUTH_METADATA_SIZE);
    assert_int_equal(
        mcp__protected_read(&p, body, MCP_STR("https://a"), MCP_STR(""), false, NULL, NULL),
        MCP__OAUTH_RESOURCE_SIZE);
    mcp__protected_clear(&p);
    free(big);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_urls),
        cmocka_unit_test(test_secure),
        cmocka_unit_test(test_covers),
        cmocka_unit_test(test_covers_generated),
        cmocka_unit_test(test_place),
        cmocka_unit_test(test_resource_faults),
        cmocka_unit_test(test_resource),
        cmocka_unit_test(test_issuer_faults),
        cmocka_unit_test(test_supports),
        cmocka_unit_test(test_issuer),
        cmocka_unit_test(test_memory_and_size),
    };
    return cmocka_run_group_tests(tests, load_crypto, NULL);
}
