/* A resource server over real HTTP: requests that are accepted or refused, the answers to them, the
 * sources of its keys, and the metadata that it serves. */
#include "resource_rig.h"
#include "auth/token.h"
#include "auth/token_cache.h"

static void expect_header(const reply *r, const char *text)
{
    if (!strstr(r->head, text))
        fail_msg("no \"%s\" in:\n%s", text, r->head);
}

/* ---- from the first request to the last ------------------------------------------------------ */

static void test_end_to_end(void **state)
{
    (void)state;
    rig g;
    char expected[256];
    mcp_resource_server_usage usage = {.size = sizeof(usage)};
    rig_begin(&g);
    rig_serve(&g, MCP_OPTIONS(mcp_resource_server_options, .scopes_supported = "files:read"), NULL);
    assert_int_equal(g.n_metadata + g.n_keys, 0); /* nothing is fetched before a token arrives */
    reply r = request(&g, "GET", "/metrics", NULL);
    assert_int_equal(r.status, 401);
    assert_int_equal(g.n_metadata + g.n_keys, 0);
    expect_header(&r, "WWW-Authenticate: Bearer resource_metadata=\"https://mcp.example"
                      "/.well-known/oauth-protected-resource/mcp\"\r\n");
    char *token = good_token(&g, "alice/1");
    assert_int_equal(status_of(&g, token), 200);
    snprintf(expected, sizeof(expected), "%s#alice%%2F1", g.issuer);
    assert_string_equal(g.principal, expected);
    assert_int_equal(g.n_metadata, 1);
    assert_int_equal(g.n_keys, 1);
    for (int i = 0; i < 3; i++)
        assert_int_equal(status_of(&g, token), 200);
    mcp_resource_server_get_usage(g.auth, &usage);
    assert_int_equal(usage.verified, 1);
    assert_int_equal(usage.known, 3);
    assert_int_equal(usage.fetches, 2);
    assert_int_equal(usage.tokens, 1);
    assert_int_equal(usage.pending, 0);
    mcp_resource_server_forget(g.auth);
    assert_int_equal(status_of(&g, token), 200);
    mcp_resource_server_get_usage(g.auth, &usage);
    assert_int_equal(usage.verified, 2);
    /* A token is not cached after its expiry. */
    g.shift_ms = 3600 * 1000 + 61 * 1000;
    r = try_token(&g, token);
    assert_int_equal(r.status, 401);
    expect_header(&r, "Bearer error=\"invalid_token\", error_description=\"the access token has "
                      "expired\", resource_metadata=");
    free(token);
    rig_end(&g);
}

/* Sends a request on a connection that stays open. Returns the status of the answer. */
static int next_on(rig *g, int fd, const char *token)
{
    char text[8192];
    size_t len = 0;
    const char *body = NULL, *length;
    int status = 0, n = snprintf(text, sizeof(text),
                                 "GET /metrics HTTP/1.1\r\nHost: localhost\r\n"
                                 "Authorization: Bearer %s\r\n\r\n",
                                 token);
    static char in[32768];
    g->principal[0] = '\0';
    assert_int_equal(send(fd, text, (size_t)n, MSG_NOSIGNAL), n);
    for (int64_t until = wait_end(); wait_more(until);) {
        mcp_loop_step(g->loop, 5);
        ssize_t more = recv(fd, in + len, sizeof(in) - 1 - len, MSG_DONTWAIT);
        len += more > 0 ? (size_t)more : 0;
        in[len] = '\0';
        body = strstr(in, "\r\n\r\n");
        length = body ? strstr(in, "Content-Length: ") : NULL;
        if (length && len == (size_t)(body + 4 - in) + strtoul(length + 16, NULL, 10))
            break;
    }
    assert_int_equal(sscanf(in, "HTTP/1.1 %d", &status), 1);
    return status;
}

/* All requests of a connection have the caller of their own token, for as long as it is valid. */
static void test_one_connection(void **state)
{
    (void)state;
    rig g;
    mcp_resource_server_usage usage = {.size = sizeof(usage)};
    rig_begin(&g);
    rig_serve(&g, NULL, NULL);
    char *alice = good_token(&g, "alice"), *carol = good_token(&g, "carol");
    assert_int_equal(strlen(alice), strlen(carol));
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)g.port)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&to, sizeof(to)), 0);
    for (int i = 0; i < 9; i++) {
        const char *token = i < 4 || i % 2 ? alice : carol;
        assert_int_equal(next_on(&g, fd, token), 200);
        assert_non_null(strstr(g.principal, token == alice ? "#alice" : "#carol"));
    }
    mcp_resource_server_get_usage(g.auth, &usage);
    assert_int_equal(usage.verified, 2);
    assert_int_equal(usage.known, 7);
    mcp_resource_server_forget(g.auth);
    for (int i = 0; i < 3; i++)
        assert_int_equal(next_on(&g, fd, alice), 200);
    mcp_resource_server_get_usage(g.auth, &usage);
    assert_int_equal(usage.verified, 3);
    /* The result of the check is used for 300 seconds. */
    g.shift_ms = MCP__TOKEN_CACHE_S * 1000;
    for (int i = 0; i < 3; i++)
        assert_int_equal(next_on(&g, fd, alice), 200);
    mcp_resource_server_get_usage(g.auth, &usage);
    assert_int_equal(usage.verified, 4);
    /* Just before the end of the token, after another check, and at its end. */
    g.shift_ms = (3600 + MCP__TOKEN_SKEW - 1) * 1000 - g.wall % 1000;
    for (int i = 0; i < 3; i++)
        assert_int_equal(next_on(&g, fd, alice), 200);
    g.shift_ms += 1000;
    assert_int_equal(next_on(&g, fd, alice), 401);
    assert_string_equal(g.principal, "");
    close(fd);
    free(alice);
    free(carol);
    rig_end(&g);
}

/* Many requests arrive before the keys are known. There is one fetch for all of them, and one check
 * for all requests with the same token. */
static void test_single_flight(void **state)
{
    (void)state;
    enum { N = 24, TOKENS = 4 };
    rig g;
    int fds[N];
    char *tokens[TOKENS], sub[16];
    mcp_resource_server_usage usage = {.size = sizeof(usage)};
    rig_begin(&g);
    rig_serve(&g, NULL, NULL);
    for (int i = 0; i < TOKENS; i++) {
        snprintf(sub, sizeof(sub), "s%d", i);
        tokens[i] = good_token(&g, sub);
    }
    for (int i = 0; i < N; i++)
        fds[i] = send_token(&g, "Bearer", tokens[i % TOKENS], NULL);
    for (int i = 0; i < N; i++) {
        reply r;
        read_reply(&g, fds[i], &r);
        assert_int_equal(r.status, 200);
    }
    mcp_resource_server_get_usage(g.auth, &usage);
    assert_int_equal(usage.verified, TOKENS);
    assert_int_equal(g.n_metadata, 1);
    assert_int_equal(g.n_keys, 1);
    for (int i = 0; i < TOKENS; i++)
        free(tokens[i]);
    rig_end(&g);
}

/* ---- tokens that are wrong ------------------------------------------------------------------- */

static void test_wrong_tokens(void **state)
{
    (void)state;
    static const struct {
        const char *key, *header, *more, *text;
    } cases[] = {
        {key_p384, AT_JWT("p256"), "", "does not have"},
        {key_ed25519, AT_JWT("p256"), "", "does not have"},
        {key_p256, AT_JWT("other"), "", "does not have"},
        {key_p256, "\"typ\":\"JWT\",\"kid\":\"p256\"", "", "not of a type"},
        {key_p256, "\"kid\":\"p256\"", "", "not of a type"},
        {key_p256, AT_JWT("p256") ",\"crit\":[\"x\"]", "", "critical"},
        {key_p256, AT_JWT("p256") ",\"jku\":\"https://a.example\"", "", "key of its own"},
        {key_p256, AT_JWT("p256"), ",\"nbf\":99999999999", "not valid yet"},
        {key_p256, AT_JWT("p256"), ",\"cnf\":{\"x5t#S256\":\"a\"}", "bound"},
        {key_p256, AT_JWT("p256"), ",\"scope\":1", "scopes"},
        {key_p256, AT_JWT("p256"), ",\"sub\":\"twice\"", "not a valid JSON object"},
    };
    rig g;
    rig_begin(&g);
    rig_serve(&g, NULL, NULL);
    for (size_t i = 0; i < MCP__COUNT(cases); i++) {
        char *token = make_token(&g, cases[i].key, cases[i].header, "alice", cases[i].more);
        reply r = try_token(&g, token);
        if (r.status != 401 || !strstr(r.head, cases[i].text) ||
            !strstr(r.head, "error=\"invalid_token\""))
            fail_msg("%zu: %d\n%s", i, r.status, r.head);
        free(token);
    }
    /* Headers without a token, and texts that are not tokens. */
    static const struct {
        const char *headers;
        int status;
        const char *text;
    } others[] = {
        {"Authorization: Basic YTpi\r\n", 401, "WWW-Authenticate: Bearer resource_metadata"},
        {"Authorization: Bearer\r\n", 400, "invalid_request"},
        {"Authorization: Bearer a b\r\n", 400, "invalid_request"},
        {"Authorization: Bearer a\r\nAuthorization: Bearer b\r\n", 400, ""},
        {"Authorization: Bearer abc\r\n", 401, "not a JWS"},
        {"Authorization: Bearer a.b.c\r\n", 401, "invalid_token"},
    };
    for (size_t i = 0; i < MCP__COUNT(others); i++) {
        reply r = request(&g, "GET", "/metrics", others[i].headers);
        if (r.status != others[i].status || !strstr(r.head, others[i].text))
            fail_msg("%s: %d\n%s", others[i].headers, r.status, r.head);
    }
    rig_end(&g);
}

/* A token of 9 KiB is refused because of the limit of 8 KiB, even if it is valid. */
static void test_long_token(void **state)
{
    (void)state;
    rig g;
    char pad[8000];
    rig_begin(&g);
    rig_serve(&g, NULL, NULL);
    for (int longer = 0; longer < 2; longer++) {
        size_t n = longer ? 6750 : 5700; /* in base64url: 9,000 and 7,600 bytes, with the rest */
        snprintf(pad, sizeof(pad), ",\"pad\":\"%0*d\"", (int)n, 0);
        char *token = make_token(&g, key_p256, AT_JWT("p256"), "alice", pad);
        assert_true((strlen(token) > 8192) == (longer == 1));
        reply r = try_token(&g, token);
        assert_int_equal(r.status, longer ? 401 : 200);
        if (longer)
            expect_header(&r, "longer than 8192 bytes");
        free(token);
    }
    rig_end(&g);
}

/* ---- scopes ---------------------------------------------------------------------------------- */

static void test_scopes(void **state)
{
    (void)state;
    static const mcp_auth_scope implies[] = {
        {sizeof(*implies), "root", "admin other"},
        {sizeof(*implies), "admin", "mcp:read mcp:write"},
    };
    static const struct {
        const char *more;
        int status;
    } cases[] = {
        {"", 403},
        {",\"scope\":\"mcp:read\"", 403},
        {",\"scope\":\"mcp:write mcp:read\"", 200},
        {",\"scp\":[\"mcp:write\",\"mcp:read\"]", 200},
        {",\"scope\":\"admin\"", 200},
        {",\"scope\":\"root\"", 200},
        {",\"scope\":\"other mcp:read\"", 403},
    };
    rig g;
    rig_begin(&g);
    rig_serve(&g,
              MCP_OPTIONS(mcp_resource_server_options,
                          .required_scopes = "mcp:read offline_access mcp:write", .scopes = implies,
                          .n_scopes = 2, .dpop = MCP_DPOP_OFF),
              NULL);
    reply r = request(&g, "GET", "/metrics", NULL);
    expect_header(&r, "WWW-Authenticate: Bearer scope=\"mcp:read mcp:write\", resource_metadata=");
    assert_null(strstr(r.head, "DPoP "));
    for (size_t i = 0; i < MCP__COUNT(cases); i++) {
        char *token = make_token(&g, key_p256, AT_JWT("p256"), "alice", cases[i].more);
        for (int again = 0; again < 2; again++) {
            r = try_token(&g, token);
            assert_int_equal(r.status, cases[i].status);
            if (r.status == 403)
                expect_header(&r, "error=\"insufficient_scope\", error_description=\"the access "
                                  "token lacks a scope\", scope=\"mcp:read mcp:write\", "
                                  "resource_metadata=");
        }
        free(token);
    }
    rig_end(&g);
}

/* ---- metadata -------------------------------------------------------------------------------- */

static void test_metadata(void **state)
{
    (void)state;
    static const char *const paths[] = {"/.well-known/oauth-protected-resource/mcp",
                                        "/.well-known/oauth-protected-resource"};
    rig g;
    rig_begin(&g);
    rig_serve(&g,
              MCP_OPTIONS(mcp_resource_server_options, .required_scopes = "a offline_access",
                          .name = "A name", .dpop = MCP_DPOP_OFF),
              NULL);
    for (size_t i = 0; i < MCP__COUNT(paths); i++) {
        char expected[512];
        snprintf(expected, sizeof(expected),
                 "{\"resource\":\"" RESOURCE "\",\"authorization_servers\":[\"%s\"],"
                 "\"scopes_supported\":[\"a\"],\"bearer_methods_supported\":[\"header\"],"
                 "\"resource_name\":\"A name\"}",
                 g.issuer);
        /* The Host and the Origin of the request have no effect. */
        reply r = request(&g, "GET", paths[i],
                          "Origin: https://any.example\r\nX-Forwarded-Host: evil.example\r\n");
        assert_int_equal(r.status, 200);
        assert_string_equal(r.body, expected);
        expect_header(&r, "Content-Type: application/json\r\n");
        expect_header(&r, "Access-Control-Allow-Origin: *\r\n");
        r = request(&g, "OPTIONS", paths[i],
                    "Origin: https://any.example\r\nAccess-Control-Request-Method: GET\r\n"
                    "Access-Control-Request-Headers: mcp-protocol-version\r\n");
        assert_int_equal(r.status, 204);
        expect_header(&r, "Access-Control-Allow-Headers: mcp-protocol-version\r\n");
        assert_int_equal(request(&g, "HEAD", paths[i], NULL).status, 200);
        assert_int_equal(request(&g, "POST", paths[i], NULL).status, 405);
    }
    assert_int_equal(request(&g, "GET", "/.well-known/oauth-protected-resource/", NULL).status,
                     404);
    assert_int_equal(request(&g, "GET", "/.well-known/oauth-protected-resource/m", NULL).status,
                     404);
    rig_end(&g);
}

/* ---- where keys come from -------------------------------------------------------------------- */

static void test_discovery(void **state)
{
    (void)state;
    static const struct {
        const char *path, *metadata_at;
        int metadata, status;
    } cases[] = {
        {"", "/.well-known/oauth-authorization-server", 1, 200},
        {"", "/.well-known/openid-configuration", 2, 200},
        {"", NULL, 2, 503},
        {"/a/b", "/.well-known/oauth-authorization-server/a/b", 1, 200},
        {"/a/b", "/.well-known/openid-configuration/a/b", 2, 200},
        {"/a/b", "/a/b/.well-known/openid-configuration", 3, 200},
        {"/a/", "/a/.well-known/openid-configuration", 3, 200},
        {"/a/b", NULL, 3, 503},
        {"/a/b", "/.well-known/openid-configuration", 3, 503},
    };
    for (size_t i = 0; i < MCP__COUNT(cases); i++) {
        rig g;
        rig_begin(&g);
        strcat(g.issuer, cases[i].path);
        strcat(g.metadata_issuer, cases[i].path);
        g.metadata_at = cases[i].metadata_at;
        rig_serve(&g, NULL, NULL);
        char *token = good_token(&g, "alice");
        reply r = try_token(&g, token);
        if (r.status != cases[i].status || g.n_metadata != cases[i].metadata)
            fail_msg("%zu: %d, %d requests\n%s", i, r.status, g.n_metadata, g.log);
        if (r.status == 503)
            expect_header(&r, "Retry-After: 1\r\n");
        free(token);
        rig_end(&g);
    }
}

/* Metadata of another issuer is not used, not even if only a slash differs. */
static void test_foreign_metadata(void **state)
{
    (void)state;
    rig g;
    rig_begin(&g);
    strcat(g.metadata_issuer, "/");
    rig_serve(&g, NULL, NULL);
    char *token = good_token(&g, "alice");
    assert_int_equal(status_of(&g, token), 503);
    assert_non_null(strstr(g.log, "another issuer"));
    assert_int_equal(g.n_keys, 0);
    /* Later the issuer in the metadata is right. */
    snprintf(g.metadata_issuer, sizeof(g.metadata_issuer), "%s", g.issuer);
    assert_int_equal(status_of(&g, token), 503);
    assert_int_equal(g.n_metadata, 1); /* there is a pause after a failure */
    g.shift_ms = 1000;
    assert_int_equal(status_of(&g, token), 200);
    assert_non_null(strstr(g.log, "info: the keys of http://127.0.0.1:"));
    free(token);
    rig_end(&g);
}

/* Keys that are part of the configuration, and several issuers. */
static void test_several_issuers(void **state)
{
    (void)state;
    static const char *const audience[] = {"me"};
    rig g;
    char jwks[8192];
    rig_begin(&g);
    set_keys(&g, key_ed25519, NULL);
    snprintf(jwks, sizeof(jwks), "%s", g.jwks);
    set_keys(&g, key_p256, NULL);
    const mcp_auth_issuer issuers[] = {
        {.size = sizeof(*issuers),
         .issuer = "https://other.example",
         .audiences = audience,
         .n_audiences = 1,
         .jwks = jwks,
         .principal = "{tid}/{sub}",
         .groups = "/a~1b/groups"},
        {.size = sizeof(*issuers), .issuer = g.issuer, .audiences = audience, .n_audiences = 1},
    };
    rig_serve(&g, MCP_OPTIONS(mcp_resource_server_options, .issuers = issuers, .n_issuers = 2),
              NULL);
    char own[128];
    snprintf(own, sizeof(own), "%s", g.issuer);
    char *first = good_token(&g, "alice");
    assert_int_equal(status_of(&g, first), 200);
    snprintf(g.issuer, sizeof(g.issuer), "https://other.example");
    char *second = make_token(&g, key_ed25519, "\"typ\":\"at+jwt\"", "bob", ",\"tid\":\"t/1\"");
    assert_int_equal(status_of(&g, second), 200);
    assert_string_equal(g.principal, "https://other.example#t%2F1/bob");
    /* A token that is signed with the key of another issuer is refused. */
    char *third = good_token(&g, "alice");
    assert_int_equal(status_of(&g, third), 401);
    char *fourth = make_token(&g, key_ed25519, "\"typ\":\"at+jwt\"", "bob", "");
    assert_int_equal(status_of(&g, fourth), 401); /* no claim "tid" */
    snprintf(g.issuer, sizeof(g.issuer), "https://unknown.example");
    char *fifth = good_token(&g, "alice");
    assert_int_equal(status_of(&g, fifth), 401);
    free(first);
    free(second);
    free(third);
    free(fourth);
    free(fifth);
    rig_end(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_end_to_end),       cmocka_unit_test(test_single_flight),
        cmocka_unit_test(test_one_connection),   cmocka_unit_test(test_wrong_tokens),
        cmocka_unit_test(test_long_token),       cmocka_unit_test(test_scopes),
        cmocka_unit_test(test_metadata),         cmocka_unit_test(test_discovery),
        cmocka_unit_test(test_foreign_metadata), cmocka_unit_test(test_several_issuers),
    };
    return cmocka_run_group_tests(tests, load_crypto, NULL);
}
