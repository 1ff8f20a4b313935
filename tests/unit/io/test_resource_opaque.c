/* Opaque tokens: requests to the introspection endpoint of an issuer, and the effect of its
 * answers. */
#include "resource_rig.h"

#define ACTIVE "{\"active\":true,\"aud\":\"me\",\"sub\":\"alice\""

static mcp_auth_issuer opaque_issuer(const rig *g)
{
    static char url[128];
    snprintf(url, sizeof(url), "http://127.0.0.1:%d/introspect", g->source.port);
    return (mcp_auth_issuer){
        .introspection_url = url, .client_id = "me:1", .client_secret = "s /e"};
}

static void begin(rig *g, const mcp_resource_server_options *options)
{
    rig_begin(g);
    mcp_auth_issuer issuer = opaque_issuer(g);
    rig_serve(g, options, &issuer);
}

static void test_question(void **state)
{
    (void)state;
    rig g;
    char expected[256];
    begin(&g, NULL);
    g.answer = ACTIVE ",\"scope\":\"a b\"}";
    assert_int_equal(status_of(&g, "opaque+1/="), 200);
    snprintf(expected, sizeof(expected), "%s#alice", g.issuer);
    assert_string_equal(g.principal, expected);
    assert_string_equal(g.asked, "token=opaque%2B1%2F%3D&token_type_hint=access_token");
    assert_string_equal(g.credentials, "Basic bWUlM0ExOnMlMjAlMkZl"); /* me%3A1:s%20%2Fe */
    assert_int_equal(g.n_metadata + g.n_keys, 0);
    /* The answer is cached for a minute. */
    g.shift_ms = 58000;
    assert_int_equal(status_of(&g, "opaque+1/="), 200);
    assert_int_equal(g.n_asked, 1);
    g.answer = "{\"active\":false}";
    g.shift_ms = 61000;
    reply r = try_token(&g, "opaque+1/=");
    assert_int_equal(r.status, 401);
    assert_non_null(strstr(r.head, "the access token is not active"));
    assert_int_equal(g.n_asked, 2);
    rig_end(&g);
}

/* The issuer is not asked about a token that is longer than 8 KiB. */
static void test_size(void **state)
{
    (void)state;
    static char token[(9 << 10) + 1];
    rig g;
    begin(&g, NULL);
    g.answer = ACTIVE "}";
    memset(token, 'x', sizeof(token) - 1);
    reply r = try_token(&g, token);
    assert_int_equal(r.status, 401);
    assert_non_null(strstr(r.head, "longer than 8192 bytes"));
    token[8193] = '\0';
    assert_int_equal(status_of(&g, token), 401);
    assert_int_equal(g.n_asked, 0);
    token[8192] = '\0';
    assert_int_equal(status_of(&g, token), 200);
    assert_int_equal(g.n_asked, 1);
    rig_end(&g);
}

static void test_answers(void **state)
{
    (void)state;
    static const struct {
        const char *status, *answer;
        int expected;
    } cases[] = {
        {NULL, ACTIVE "}", 200},
        {NULL, ACTIVE ",\"exp\":99999999999}", 200},
        {NULL, ACTIVE ",\"iss\":\"https://other.example\"}", 401},
        {NULL, ACTIVE ",\"exp\":1}", 401},
        {NULL, "{\"active\":true,\"aud\":\"you\",\"sub\":\"alice\"}", 401},
        {NULL, "{\"active\":true,\"aud\":\"me\"}", 401}, /* without a principal */
        {NULL, "{\"active\":true,\"sub\":\"alice\"}", 401},
        {NULL, "Forbidden", 503},
        {NULL, "{}", 503},
        {NULL, "{\"active\":\"true\",\"aud\":\"me\",\"sub\":\"alice\"}", 503},
        {"401 Unauthorized", "", 503},
        {"500 Internal Server Error", ACTIVE "}", 503},
        {"302 Found", ACTIVE "}", 503},
        {NULL, ACTIVE "}", 200}, /* a valid answer is accepted again */
    };
    rig g;
    char token[32];
    begin(&g, NULL);
    for (size_t i = 0; i < MCP__COUNT(cases); i++) {
        g.key_status = cases[i].status;
        g.answer = cases[i].answer;
        g.shift_ms += 1000; /* the pause after a failure */
        snprintf(token, sizeof(token), "token-%zu", i);
        reply r = try_token(&g, token);
        if (r.status != cases[i].expected)
            fail_msg("%zu: %d\n%s", i, r.status, r.head);
        assert_true(r.status != 503 || strstr(r.head, "Retry-After: 1\r\n"));
    }
    assert_non_null(strstr(g.log, "does not answer: it is no answer of RFC 7662"));
    assert_non_null(strstr(g.log, "answers again"));
    assert_null(strstr(g.log, "token-"));
    assert_null(strstr(g.log, "alice"));
    rig_end(&g);
}

/* After a failure, no request is sent for a second. */
static void test_pause(void **state)
{
    (void)state;
    rig g;
    begin(&g, NULL);
    g.answer = "";
    assert_int_equal(status_of(&g, "a"), 503);
    assert_int_equal(status_of(&g, "b"), 503);
    assert_int_equal(g.n_asked, 1);
    g.answer = ACTIVE "}";
    g.shift_ms = 1000;
    assert_int_equal(status_of(&g, "b"), 200);
    assert_int_equal(g.n_asked, 2);
    rig_end(&g);
}

/* All tokens of the issuer are introspected, even JWTs, but not the tokens of other issuers. */
static void test_jwts(void **state)
{
    (void)state;
    static const char *const audience[] = {"me"};
    rig g;
    rig_begin(&g);
    mcp_auth_issuer issuers[2] = {opaque_issuer(&g), {0}};
    for (size_t i = 0; i < 2; i++) {
        issuers[i].size = sizeof(issuers[i]);
        issuers[i].audiences = audience;
        issuers[i].n_audiences = 1;
    }
    issuers[0].issuer = "https://opaque.example";
    issuers[0].allow_private = true;
    issuers[1].issuer = g.issuer;
    rig_serve(&g, MCP_OPTIONS(mcp_resource_server_options, .issuers = issuers, .n_issuers = 2),
              NULL);
    g.answer = ACTIVE "}";
    char *jwt = good_token(&g, "bob");
    assert_int_equal(status_of(&g, jwt), 200);
    assert_int_equal(g.n_asked, 0);
    assert_int_equal(status_of(&g, "opaque"), 200);
    assert_string_equal(g.principal, "https://opaque.example#alice");
    assert_int_equal(g.n_asked, 1);
    snprintf(g.issuer, sizeof(g.issuer), "https://opaque.example");
    char *asked = good_token(&g, "bob");
    assert_int_equal(status_of(&g, asked), 200);
    assert_string_equal(g.principal, "https://opaque.example#alice");
    assert_int_equal(g.n_asked, 2);
    free(jwt);
    free(asked);
    rig_end(&g);
}

/* Only a few requests are in flight at once. The others wait for their turn. */
static void test_turns(void **state)
{
    (void)state;
    enum { N = 7, MOST = 2 };
    rig g;
    int fds[N];
    char token[32];
    mcp_resource_server_usage usage = {.size = sizeof(usage)};
    begin(&g, MCP_OPTIONS(mcp_resource_server_options, .max_introspecting = MOST));
    g.hangs = true;
    g.answer = ACTIVE "}";
    for (int i = 0; i < N; i++) {
        snprintf(token, sizeof(token), "token-%d", i);
        fds[i] = send_token(&g, "Bearer", token, NULL);
    }
    int64_t end = wait_end();
    while ((usage.pending < N || g.n_asked < MOST) && wait_more(end)) {
        mcp_loop_step(g.loop, 5);
        mcp_resource_server_get_usage(g.auth, &usage);
    }
    assert_int_equal(g.n_asked, MOST);
    assert_int_equal(usage.introspected, MOST);
    close(fds[0]); /* the tokens of closed connections are no longer introspected */
    close(fds[N - 1]);
    while (usage.pending > N - 2 && wait_more(end)) {
        mcp_loop_step(g.loop, 5);
        mcp_resource_server_get_usage(g.auth, &usage);
    }
    g.hangs = false;
    for (int i = 0; i < g.source.n_connections; i++) {
        if (!g.source.connections[i]->closed)
            script_json(g.source.connections[i], g.answer);
    }
    for (int i = 1; i < N - 1; i++) {
        reply r;
        read_reply(&g, fds[i], &r);
        assert_int_equal(r.status, 200);
    }
    mcp_resource_server_get_usage(g.auth, &usage);
    assert_int_equal(usage.pending, 0);
    rig_end(&g);
}

/* If an introspection request hangs, the answer is 503. The server can be freed in the meantime. */
static void test_hanging(void **state)
{
    (void)state;
    rig g;
    begin(&g, NULL);
    g.hangs = true;
    g.timeout_ms = 200;
    assert_int_equal(status_of(&g, "a"), 503);
    rig_end(&g);
    begin(&g, NULL);
    g.hangs = true;
    int fd = send_token(&g, "Bearer", "a", NULL);
    for (int64_t end = wait_end(); !g.n_asked && wait_more(end);)
        mcp_loop_step(g.loop, 5);
    assert_int_equal(g.n_asked, 1);
    rig_end(&g);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_question), cmocka_unit_test(test_answers),
        cmocka_unit_test(test_pause),    cmocka_unit_test(test_jwts),
        cmocka_unit_test(test_size),     cmocka_unit_test(test_turns),
        cmocka_unit_test(test_hanging),
    };
    return cmocka_run_group_tests(tests, load_crypto, NULL);
}
