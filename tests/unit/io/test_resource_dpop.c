/* Tokens that are bound to a key of the client (RFC 9449), over real HTTP: the checks of section
 * 4.3, nonces, and requests that are refused without a proof. */
#include "resource_rig.h"

#include "auth/resource/resource.h"

#define URL "https://mcp.example/metrics"

/* A proof that a client makes. Members that are NULL or 0 get the right value. */
typedef struct proof {
    const char *key, *type, *method, *url, *jti, *ath, *more;
    int64_t ahead; /* seconds by which `iat` is in the future */
    bool no_ath;
} proof;

static char *make_proof(rig *g, const char *token, const proof *p)
{
    static int number;
    char header[1024], payload[1024], hash[MCP__SHA256_TEXT + 1], jti[32];
    const char *key = p->key ? p->key : key_ed25519;
    char *part = public_part(key);
    mcp__jwk *signer = key_for(key, MCP__JWK_SIGN);
    assert_true(mcp__sha256_text(&crypto, mcp_str_from(token), hash));
    hash[MCP__SHA256_TEXT] = '\0';
    snprintf(jti, sizeof(jti), "proof-%d", ++number);
    snprintf(header, sizeof(header), "\"typ\":\"%s\",\"jwk\":%s", p->type ? p->type : "dpop+jwt",
             part);
    snprintf(payload, sizeof(payload),
             "{\"htm\":\"%s\",\"htu\":\"%s\",\"jti\":\"%s\",\"iat\":%lld,\"%s\":\"%s\"%s}",
             p->method ? p->method : "GET", p->url ? p->url : URL, p->jti ? p->jti : jti,
             (long long)(rig_wall(g) / 1000 + p->ahead), p->no_ath ? "no" : "ath",
             p->ath ? p->ath : hash, p->more ? p->more : "");
    char *text = sign_text(signer, header, payload);
    mcp__jwk_free(signer);
    free(part);
    return text;
}

/* Makes a token that is bound to a key. */
static char *bound_token(rig *g, const char *key)
{
    char more[128];
    mcp__jwk *client = key_for(key, MCP__JWK_SIGN);
    snprintf(more, sizeof(more), ",\"cnf\":{\"jkt\":\"%.*s\"}", MCP__SHA256_TEXT,
             client->thumbprint);
    mcp__jwk_free(client);
    return make_token(g, key_p256, AT_JWT("p256"), "alice", more);
}

/* Sends a token with this proof. */
static reply send_with(rig *g, const char *scheme, const char *token, const char *text)
{
    char header[12000];
    reply r;
    snprintf(header, sizeof(header), "DPoP: %s\r\n", text);
    read_reply(g, send_token(g, scheme, token, text ? header : NULL), &r);
    return r;
}

static reply prove(rig *g, const char *token, const proof *p)
{
    char *text = make_proof(g, token, p);
    reply r = send_with(g, "DPoP", token, text);
    free(text);
    return r;
}

static void expect(const reply *r, int status, const char *text)
{
    if (r->status != status || !strstr(r->head, text))
        fail_msg("%d, no \"%s\" in:\n%s", r->status, text, r->head);
}

/* ---- proofs ---------------------------------------------------------------------------------- */

static void test_good_proofs(void **state)
{
    (void)state;
    rig g;
    mcp_resource_server_usage usage = {.size = sizeof(usage)};
    rig_begin(&g);
    rig_serve(&g, NULL, NULL);
    char *token = bound_token(&g, key_ed25519);
    for (int i = 0; i < 3; i++)
        assert_int_equal(prove(&g, token, &(proof){0}).status, 200);
    assert_non_null(strstr(g.principal, "#alice"));
    mcp_resource_server_get_usage(g.auth, &usage);
    assert_int_equal(usage.verified, 4); /* the token once, each proof */
    assert_int_equal(prove(&g, token, &(proof){.ahead = 290}).status, 200);
    assert_int_equal(prove(&g, token, &(proof){.ahead = -290}).status, 200);
    assert_int_equal(
        prove(&g, token, &(proof){.url = "HTTPS://mcp.example:443/./metrics?x#y"}).status, 200);
    char *other = bound_token(&g, key_p384);
    assert_int_equal(prove(&g, other, &(proof){.key = key_p384}).status, 200);
    free(token);
    free(other);
    rig_end(&g);
}

static void test_bad_proofs(void **state)
{
    (void)state;
    static const proof cases[] = {
        {.method = "POST"},
        {.url = "https://mcp.example/mcp"},
        {.url = "https://other.example/metrics"},
        {.url = "http://mcp.example/metrics"},
        {.url = "/metrics"},
        {.jti = ""},
        {.type = "jwt"},
        {.type = "at+jwt"},
        {.ahead = 303},
        {.ahead = -303},
        {.ath = "fUHyO2r2Z3DZ53EsNrWBb0xWXoaNy59IiKCAqksmQEo"},
        {.ath = ""},
        {.no_ath = true},
        {.more = ",\"jti\":\"twice\""},
    };
    rig g;
    rig_begin(&g);
    rig_serve(&g, NULL, NULL);
    char *token = bound_token(&g, key_ed25519);
    for (size_t i = 0; i < MCP__COUNT(cases); i++) {
        reply r = prove(&g, token, &cases[i]);
        if (r.status != 401 || !strstr(r.head, "DPoP error=\"invalid_dpop_proof\""))
            fail_msg("%zu: %d\n%s", i, r.status, r.head);
    }
    free(token);
    rig_end(&g);
}

static void test_stolen_tokens(void **state)
{
    (void)state;
    rig g;
    rig_begin(&g);
    rig_serve(&g, NULL, NULL);
    char *token = bound_token(&g, key_ed25519), *plain = good_token(&g, "alice");
    /* The proof of another client that has the token. */
    reply r = prove(&g, token, &(proof){.key = key_p384});
    expect(&r, 401,
           "DPoP error=\"invalid_token\", error_description=\"the access token is bound to "
           "another key");
    /* No proof, several proofs, a text that is not a proof, a proof that is too long. */
    char *good = make_proof(&g, token, &(proof){0}), two[4096], longer[9001];
    r = send_with(&g, "DPoP", token, NULL);
    expect(&r, 401, "must have exactly one DPoP proof");
    snprintf(two, sizeof(two), "%s\r\nDPoP: %s", good, good);
    r = send_with(&g, "DPoP", token, two);
    expect(&r, 401, "must have exactly one DPoP proof");
    r = send_with(&g, "DPoP", token, "abc");
    expect(&r, 401, "not a well-formed JWT");
    memset(longer, 'a', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    r = send_with(&g, "DPoP", token, longer);
    expect(&r, 401, "longer than 8192 bytes");
    /* A proof is used twice, the second time with another spelling of the scheme. */
    r = send_with(&g, "dpop", token, good);
    assert_int_equal(r.status, 200);
    r = send_with(&g, "DPoP", token, good);
    expect(&r, 401, "the DPoP proof was used before");
    /* A bound token is refused without a proof, and an unbound token with a proof. */
    r = try_token(&g, token);
    expect(&r, 401,
           "WWW-Authenticate: Bearer error=\"invalid_token\", error_description=\"the access "
           "token is bound to a key: it needs the DPoP scheme\"");
    expect(&r, 401, "WWW-Authenticate: DPoP error=\"invalid_token\"");
    r = prove(&g, plain, &(proof){0});
    expect(&r, 401, "the access token is not bound to a key");
    free(good);
    free(token);
    free(plain);
    rig_end(&g);
}

static void test_modes(void **state)
{
    (void)state;
    for (int mode = MCP_DPOP_ALLOWED; mode <= MCP_DPOP_OFF; mode++) {
        rig g;
        rig_begin(&g);
        rig_serve(&g, MCP_OPTIONS(mcp_resource_server_options, .dpop = (mcp_dpop_mode)mode), NULL);
        char *bound = bound_token(&g, key_ed25519), *plain = good_token(&g, "alice");
        reply r = request(&g, "GET", "/metrics", NULL);
        assert_int_equal(strstr(r.head, "WWW-Authenticate: Bearer") != NULL,
                         mode != MCP_DPOP_REQUIRED);
        assert_int_equal(strstr(r.head, "WWW-Authenticate: DPoP") != NULL, mode != MCP_DPOP_OFF);
        assert_int_equal(status_of(&g, plain), mode == MCP_DPOP_REQUIRED ? 401 : 200);
        assert_int_equal(status_of(&g, bound), 401);
        assert_int_equal(prove(&g, bound, &(proof){0}).status, mode == MCP_DPOP_OFF ? 401 : 200);
        const char *metadata = g.auth->document.text;
        assert_int_equal(strstr(metadata, "dpop_signing_alg") != NULL, mode != MCP_DPOP_OFF);
        assert_int_equal(strstr(metadata, "required\":true") != NULL, mode == MCP_DPOP_REQUIRED);
        free(bound);
        free(plain);
        rig_end(&g);
    }
}

/* ---- nonces ---------------------------------------------------------------------------------- */

static void get_nonce(const reply *r, char more[128])
{
    const char *at = strstr(r->head, "DPoP-Nonce: ");
    assert_non_null(at);
    snprintf(more, 128, ",\"nonce\":\"%.*s\"", (int)strcspn(at + 12, "\r"), at + 12);
}

static void test_nonces(void **state)
{
    (void)state;
    static const unsigned char first[32] = {1}, second[32] = {2};
    rig g;
    char nonce[128], next[128];
    rig_begin(&g);
    rig_serve(&g, MCP_OPTIONS(mcp_resource_server_options, .dpop_nonce = true, .nonce_key = first),
              NULL);
    char *token = bound_token(&g, key_ed25519);
    reply r = prove(&g, token, &(proof){0});
    expect(&r, 401, "DPoP error=\"use_dpop_nonce\"");
    get_nonce(&r, nonce);
    r = prove(&g, token, &(proof){.more = nonce});
    assert_int_equal(r.status, 200);
    get_nonce(&r, next); /* successful answers have a nonce too */
    assert_int_equal(prove(&g, token, &(proof){.more = next}).status, 200);
    assert_int_equal(prove(&g, token, &(proof){.more = ",\"nonce\":\"abc\""}).status, 401);
    /* A nonce expires, whatever the time of the proof is. */
    g.shift_ms = 302 * 1000;
    r = prove(&g, token, &(proof){.more = nonce});
    expect(&r, 401, "use_dpop_nonce");
    get_nonce(&r, nonce);
    /* Clients without DPoP get no nonce. */
    char *plain = good_token(&g, "alice");
    r = try_token(&g, plain);
    assert_int_equal(r.status, 200);
    assert_null(strstr(r.head, "DPoP-Nonce"));
    free(plain);
    free(token);
    rig_end(&g);
    /* Another instance, after the key was replaced; and one that has another key. */
    for (int known = 1; known >= 0; known--) {
        rig_begin(&g);
        g.shift_ms = 302 * 1000;
        rig_serve(&g,
                  MCP_OPTIONS(mcp_resource_server_options, .dpop_nonce = true, .nonce_key = second,
                              .nonce_key_before = known ? first : NULL),
                  NULL);
        token = bound_token(&g, key_ed25519);
        assert_int_equal(prove(&g, token, &(proof){.more = nonce}).status, known ? 200 : 401);
        free(token);
        rig_end(&g);
    }
}

/* The server is freed while proofs are being checked. */
static void test_freed_meanwhile(void **state)
{
    (void)state;
    enum { N = 20 };
    rig g;
    int fds[N];
    rig_begin(&g);
    rig_serve(&g, NULL, NULL);
    char *token = bound_token(&g, key_ed25519);
    for (int i = 0; i < N; i++) {
        char *text = make_proof(&g, token, &(proof){0}), header[4096];
        snprintf(header, sizeof(header), "DPoP: %s\r\n", text);
        fds[i] = send_token(&g, "DPoP", token, header);
        free(text);
    }
    mcp_resource_server_usage usage = {.size = sizeof(usage)};
    for (int64_t end = wait_end(); !usage.verified && wait_more(end);) {
        mcp_loop_step(g.loop, 5);
        mcp_resource_server_get_usage(g.auth, &usage);
    }
    rig_end(&g);
    for (int i = 0; i < N; i++)
        close(fds[i]);
    free(token);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good_proofs),   cmocka_unit_test(test_bad_proofs),
        cmocka_unit_test(test_stolen_tokens), cmocka_unit_test(test_modes),
        cmocka_unit_test(test_nonces),        cmocka_unit_test(test_freed_meanwhile),
    };
    return cmocka_run_group_tests(tests, load_crypto, NULL);
}
