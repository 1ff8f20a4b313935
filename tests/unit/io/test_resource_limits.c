/* Limits of a resource server: invalid tokens of an address, tokens that are being checked, the
 * size of the cache; and options that are refused. */
#include "resource_rig.h"

static char *number_token(rig *g, const char *key, int number)
{
    char sub[32];
    snprintf(sub, sizeof(sub), "caller-%d", number);
    return make_token(g, key, AT_JWT("p256"), sub, "");
}

/* Makes a token whose signature is wrong: one of its characters is changed. */
static char *wrong_token(rig *g, int number)
{
    char *token = number_token(g, key_p256, number);
    char *at = token + strlen(token) - 20;
    *at = *at == 'A' ? 'B' : 'A';
    return token;
}

static int try_wrong(rig *g, int number)
{
    char *token = wrong_token(g, number);
    int status = status_of(g, token);
    free(token);
    return status;
}

static int try_good(rig *g, int number)
{
    char *token = number_token(g, key_p256, number);
    int status = status_of(g, token);
    free(token);
    return status;
}

/* ---- wrong tokens of an address -------------------------------------------------------------- */

static void test_throttling(void **state)
{
    (void)state;
    rig g;
    mcp_resource_server_usage usage = {.size = sizeof(usage)};
    rig_begin(&g);
    rig_serve(
        &g, MCP_OPTIONS(mcp_resource_server_options, .failures_burst = 5, .failures_per_minute = 6),
        NULL);
    char *known = number_token(&g, key_p256, 0);
    assert_int_equal(status_of(&g, known), 200);
    for (int i = 0; i < 5; i++)
        assert_int_equal(try_wrong(&g, i), 401);
    mcp_resource_server_get_usage(g.auth, &usage);
    uint64_t verified = usage.verified;
    char *next = number_token(&g, key_p256, 100);
    reply r = try_token(&g, next);
    assert_int_equal(r.status, 429);
    assert_non_null(strstr(r.head, "Retry-After: 10\r\n"));
    assert_null(strstr(r.head, "WWW-Authenticate"));
    assert_int_equal(try_wrong(&g, 6), 429);
    assert_int_equal(status_of(&g, known), 200); /* cached tokens do not count towards the limit */
    mcp_resource_server_get_usage(g.auth, &usage);
    assert_int_equal(usage.verified, verified);
    assert_int_equal(usage.throttled, 2);
    assert_int_equal(usage.refused, 5);
    /* Six of them in a minute. */
    g.shift_ms = 11000;
    assert_int_equal(status_of(&g, next), 200);
    assert_int_equal(try_wrong(&g, 7), 401);
    assert_int_equal(try_wrong(&g, 8), 429);
    g.shift_ms = 120000;
    for (int i = 0; i < 5; i++)
        assert_int_equal(try_wrong(&g, 10 + i), 401);
    assert_int_equal(try_wrong(&g, 20), 429);
    free(known);
    free(next);
    rig_end(&g);
}

/* A host with IPv6 has a whole /64 network, so all of it counts as one address. */
static void test_throttling_of_networks(void **state)
{
    (void)state;
    static const struct {
        const char *from;
        int status;
    } rows[] = {
        {"2001:db8:0:1::1", 401},     {"2001:db8:0:1::2", 401},  {"2001:db8:0:1:1:2:3:4", 401},
        {"2001:db8:0:1:ffff::", 429}, {"2001:db8:0:1::1", 429},  {"2001:db8:0:2::1", 401},
        {"192.0.2.1", 401},           {"::ffff:192.0.2.1", 401}, {"192.0.2.1", 401},
        {"::ffff:192.0.2.1", 429},    {"192.0.2.2", 401},
    };
    rig g;
    rig_begin(&g);
    g.proxied = true;
    rig_serve(
        &g, MCP_OPTIONS(mcp_resource_server_options, .failures_burst = 3, .failures_per_minute = 6),
        NULL);
    for (size_t i = 0; i < MCP__COUNT(rows); i++) {
        char header[80];
        reply r;
        char *token = wrong_token(&g, (int)i);
        snprintf(header, sizeof(header), "X-Forwarded-For: %s\r\n", rows[i].from);
        read_reply(&g, send_token(&g, "Bearer", token, header), &r);
        if (r.status != rows[i].status)
            fail_msg("%zu: %d", i, r.status);
        free(token);
    }
    rig_end(&g);
}

/* Clients on this machine may be a proxy for many others, so they have a limit only if it is
 * set. */
static void test_this_machine(void **state)
{
    (void)state;
    rig g;
    rig_begin(&g);
    rig_serve(&g, NULL, NULL);
    for (int i = 0; i < 70; i++)
        assert_int_equal(try_wrong(&g, i), 401);
    assert_int_equal(try_good(&g, 0), 200);
    rig_end(&g);
}

/* For some seconds, a token that was refused is refused again without a check. */
static void test_refusals_are_remembered(void **state)
{
    (void)state;
    rig g;
    mcp_resource_server_usage usage = {.size = sizeof(usage)};
    rig_begin(&g);
    rig_serve(&g, NULL, NULL);
    char *early = make_token(&g, key_p256, AT_JWT("p256"), "a", ",\"nbf\":99999999999");
    for (int i = 0; i < 3; i++)
        assert_int_equal(status_of(&g, early), 401);
    mcp_resource_server_get_usage(g.auth, &usage);
    assert_int_equal(usage.verified, 1);
    g.shift_ms = 11000;
    assert_int_equal(status_of(&g, early), 401);
    mcp_resource_server_get_usage(g.auth, &usage);
    assert_int_equal(usage.verified, 2);
    free(early);
    rig_end(&g);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static void test_pending_bytes(void **state)
{
    (void)state;
    enum { N = 12 };
    rig g;
    int fds[N], counts[2] = {0, 0};
    rig_begin(&g);
    rig_serve(&g, MCP_OPTIONS(mcp_resource_server_options, .max_pending_bytes = 10000), NULL);
    for (int i = 0; i < N; i++) {
        char *token = number_token(&g, key_p256, i);
        fds[i] = send_token(&g, "Bearer", token, NULL);
        free(token);
    }
    for (int i = 0; i < N; i++) {
        reply r;
        read_reply(&g, fds[i], &r);
        assert_true(r.status == 200 || r.status == 503);
        counts[r.status == 503]++;
    }
    assert_true(counts[0] >= 1);
    assert_true(counts[1] >= 1);
    assert_int_equal(try_good(&g, 100), 200);
    rig_end(&g);
}

static void test_token_bytes(void **state)
{
    (void)state;
    rig g;
    mcp_resource_server_usage usage = {.size = sizeof(usage)};
    rig_begin(&g);
    rig_serve(&g, MCP_OPTIONS(mcp_resource_server_options, .max_token_bytes = 20000), NULL);
    for (int i = 0; i < 40; i++)
        assert_int_equal(try_good(&g, i), 200);
    mcp_resource_server_get_usage(g.auth, &usage);
    assert_true(usage.token_bytes <= 20000);
    assert_in_range(usage.tokens, 2, 39);
    rig_end(&g);
}

/* ---- options --------------------------------------------------------------------------------- */

static const char *const audience[] = {"me"};

#define ISSUER(...)                                                                               \
    (const mcp_auth_issuer[])                                                                     \
    {                                                                                             \
        {                                                                                         \
            .size = sizeof(mcp_auth_issuer), .audiences = audience, .n_audiences = 1, __VA_ARGS__ \
        }                                                                                         \
    }
#define OPTIONS(n, list, ...)                                                             \
    {                                                                                     \
        .size = sizeof(mcp_resource_server_options), .issuers = (list), .n_issuers = (n), \
        __VA_ARGS__                                                                       \
    }

static void test_options(void **state)
{
    (void)state;
    const mcp_resource_server_options cases[] = {
        OPTIONS(0, NULL, .resource = RESOURCE),
        OPTIONS(1, ISSUER(.issuer = "https://a.example")),
        OPTIONS(1, ISSUER(.issuer = "https://a.example"), .resource = "/mcp"),
        OPTIONS(1, ISSUER(.issuer = "https://a.example"), .resource = "https://m.example/#a"),
        OPTIONS(1, ISSUER(.issuer = NULL), .resource = RESOURCE),
        OPTIONS(1, ISSUER(.issuer = "a.example"), .resource = RESOURCE),
        OPTIONS(1, ISSUER(.issuer = "http://a.example"), .resource = RESOURCE),
        OPTIONS(1, ISSUER(.issuer = "https://a.example?x"), .resource = RESOURCE),
        OPTIONS(1, ISSUER(.issuer = "https://a.example", .jwks_url = "http://a.example/k"),
                .resource = RESOURCE),
        OPTIONS(1, ISSUER(.issuer = "https://a.example", .jwks = "{}"), .resource = RESOURCE),
        OPTIONS(
            1, ISSUER(.issuer = "https://a.example", .jwks = "{}", .jwks_url = "https://a.example"),
            .resource = RESOURCE),
        OPTIONS(1,
                ISSUER(.issuer = "https://a.example", .introspection_url = "https://a.example/i"),
                .resource = RESOURCE),
        OPTIONS(1, ISSUER(.issuer = "https://a.example", .token_type = "JWT"),
                .resource = RESOURCE),
        OPTIONS(1, ISSUER(.issuer = "https://a.example", .principal = "sub"), .resource = RESOURCE),
        OPTIONS(1, ISSUER(.issuer = "https://a.example", .principal = "{sub"),
                .resource = RESOURCE),
        OPTIONS(1, ISSUER(.issuer = "https://a.example", .principal = "{a}{b}"),
                .resource = RESOURCE),
        OPTIONS(1, ISSUER(.issuer = "https://a.example", .principal = "{a}-{b}"),
                .resource = RESOURCE),
        OPTIONS(1, ISSUER(.issuer = "https://a.example", .principal = "{}"), .resource = RESOURCE),
        OPTIONS(1, ISSUER(.issuer = "https://a.example"), .resource = RESOURCE,
                .required_scopes = "a\"b"),
        OPTIONS(1, ISSUER(.issuer = "https://a.example"), .resource = RESOURCE,
                .dpop = (mcp_dpop_mode)7),
    };
    rig g;
    rig_begin(&g);
    for (size_t i = 0; i < MCP__COUNT(cases); i++) {
        mcp_resource_server_options o = cases[i];
        mcp_resource_server *server = NULL;
        mcp_error error = {0};
        o.host = &g.host;
        o.allocator = &g.allocator;
        if (mcp_resource_server_new(&o, &server, &error) != MCP_EINVAL || !error.text[0])
            fail_msg("%zu was accepted", i);
        assert_null(server);
    }
    script_free(&g.source, g.loop);
    mcp_loop_free(g.loop);
    assert_int_equal(g.live, 0);
}

static void test_forms_of_principals(void **state)
{
    (void)state;
    rig g;
    rig_begin(&g);
    static const char *const good[] = {"{sub}", "{a}/{b}", "x-{/a/b}", "{a};{b}#{c}"};
    for (size_t i = 0; i < MCP__COUNT(good); i++) {
        mcp_resource_server_options o =
            OPTIONS(1, ISSUER(.issuer = "https://a.example", .principal = good[i]),
                    .resource = RESOURCE, .host = &g.host, .allocator = &g.allocator);
        mcp_resource_server *server = NULL;
        assert_int_equal(mcp_resource_server_new(&o, &server, NULL), MCP_OK);
        mcp_resource_server_free(server);
    }
    script_free(&g.source, g.loop);
    mcp_loop_free(g.loop);
    assert_int_equal(g.live, 0);
}

/* ---- principals and groups ------------------------------------------------------------------- */

static void test_principals(void **state)
{
    (void)state;
    static const struct {
        const char *issuer, *value, *expected;
    } cases[] = {
        {"https://a.example", "alice", "https://a.example#alice"},
        {"https://a.example", "a/b;c#d%e f", "https://a.example#a%2Fb%3Bc%23d%25e%20f"},
        {"https://a.example", "\xC3\xA4\n", "https://a.example#%C3%A4%0A"},
        {"https://a.example#", "alice", NULL},
        {"https://a.example", "", NULL},
        {"", "alice", NULL},
    };
    char text[64];
    size_t len;
    for (size_t i = 0; i < MCP__COUNT(cases); i++) {
        int rc = mcp_auth_principal(cases[i].issuer, mcp_str_from(cases[i].value), text,
                                    sizeof(text), &len);
        assert_int_equal(rc, cases[i].expected ? MCP_OK : MCP_EINVAL);
        if (rc == MCP_OK)
            assert_string_equal(text, cases[i].expected);
        assert_true(rc != MCP_OK || len == strlen(text));
    }
    assert_int_equal(mcp_auth_principal("https://a", MCP_STR("b"), text, 11, NULL), MCP_ELIMIT);
    assert_int_equal(mcp_auth_principal("https://a", MCP_STR("b"), text, 12, NULL), MCP_OK);
}

static void test_groups(void **state)
{
    (void)state;
    static const struct {
        const char *issuer, *claims, *group;
        int expected;
    } cases[] = {
        {NULL, "{\"r\":{\"g/s\":[\"a\",\"b\"]}}", "b", MCP_OK},
        {NULL, "{\"r\":{\"g/s\":[\"a\",\"b\"]}}", "c", MCP_EACCESS},
        {NULL, "{\"r\":{\"g/s\":[]}}", "a", MCP_EACCESS},
        {NULL, "{\"r\":{\"g/s\":[\"a\",1]}}", "a", MCP_ENOTFOUND},
        {NULL, "{\"r\":{\"g/s\":\"a\"}}", "a", MCP_ENOTFOUND},
        {NULL, "{\"r\":{}}", "a", MCP_ENOTFOUND},
        {NULL, "{}", "a", MCP_ENOTFOUND},
        {"https://other.example", "{\"r\":{\"g/s\":[\"a\"]}}", "a", MCP_EACCESS},
    };
    rig g;
    rig_begin(&g);
    rig_serve(&g, NULL, &(mcp_auth_issuer){.groups = "/r/g~1s"});
    for (size_t i = 0; i < MCP__COUNT(cases); i++) {
        mcp_identity *who;
        const char *issuer = cases[i].issuer ? cases[i].issuer : g.issuer;
        assert_int_equal(mcp_identity_new(MCP_OPTIONS(mcp_identity_options, .principal = "p",
                                                      .issuer = issuer, .claims = cases[i].claims),
                                          &who, NULL),
                         MCP_OK);
        int rc = mcp_resource_server_has_group(g.auth, who, g.issuer, cases[i].group);
        if (rc != cases[i].expected)
            fail_msg("%zu: %d", i, rc);
        mcp_identity_unref(who);
    }
    assert_int_equal(mcp_resource_server_has_group(g.auth, NULL, g.issuer, "a"), MCP_EACCESS);
    rig_end(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_throttling),    cmocka_unit_test(test_throttling_of_networks),
        cmocka_unit_test(test_this_machine),  cmocka_unit_test(test_refusals_are_remembered),
        cmocka_unit_test(test_pending_bytes), cmocka_unit_test(test_token_bytes),
        cmocka_unit_test(test_options),       cmocka_unit_test(test_forms_of_principals),
        cmocka_unit_test(test_principals),    cmocka_unit_test(test_groups),
    };
    return cmocka_run_group_tests(tests, load_crypto, NULL);
}
