/* What a client signs, and its keys: JWKs and PEM, proofs of possession, assertions. The proofs are
 * checked with the functions of the resource server. */
#include "rig.h"
#include "auth/dpop.h"
#include "auth/prove.h"
#include "pem_keys.h"

#define NOW 1700000000

static const unsigned char random_id[MCP__RANDOM_ID] = {0xFF, 0xFE, 1, 2, 3};

/* ---- keys ------------------------------------------------------------------------------------ */

/* A key that was made signs, and two keys are different. */
static void test_make(void **state)
{
    (void)state;
    char *texts[2];
    for (size_t i = 0; i < 2; i++) {
        mcp__buf b;
        mcp__buf_init(&b, mcp__allocator(NULL), 0);
        assert_int_equal(mcp__jwk_make(&crypto, &b), MCP_OK);
        mcp__buf_add(&b, "", 1);
        texts[i] = b.ptr;
        mcp__jwk *key = key_for(texts[i], MCP__JWK_SIGN), *public = public_key(texts[i]);
        assert_int_equal(key->kind, MCP__JWK_P256);
        char *text = sign_text(key, "", "{}");
        mcp__jws jws;
        assert_int_equal(mcp__jws_read(&jws, mcp_str_from(text), false, NULL), MCP__JWS_OK);
        assert_true(mcp__jws_verify(&jws, public));
        mcp__jws_clear(&jws);
        free(text);
        mcp__jwk_free(key);
        mcp__jwk_free(public);
    }
    assert_string_not_equal(texts[0], texts[1]);
    free(texts[0]);
    free(texts[1]);
}

/* Numbers with leading zeros keep their length: over many keys some coordinate has one. */
static void test_make_many(void **state)
{
    (void)state;
    for (int i = 0; i < 600; i++) {
        mcp__buf b;
        mcp__buf_init(&b, mcp__allocator(NULL), 0);
        assert_int_equal(mcp__jwk_make(&crypto, &b), MCP_OK);
        mcp__buf_add(&b, "", 1);
        mcp__jwk_free(key_for(b.ptr, MCP__JWK_SIGN));
        mcp__buf_free(&b);
    }
}

/* Writing a key that was read gives the same members. */
static void test_put(void **state)
{
    (void)state;
    static const char *const texts[] = {key_p256, key_p384, key_p521, key_ed25519, key_rsa};
    static const char *const members[] = {"kty", "crv", "x", "y",  "n",  "e",
                                          "d",   "p",   "q", "dp", "dq", "qi"};
    for (size_t i = 0; i < MCP__COUNT(texts); i++) {
        mcp__jwk *key = key_for(texts[i], MCP__JWK_SIGN);
        mcp__buf b;
        mcp__buf_init(&b, mcp__allocator(NULL), 0);
        assert_int_equal(mcp__jwk_put(&crypto, key->pkey, &b), MCP_OK);
        mcp__buf_add(&b, "", 1);
        mcp_json_doc *one = json(texts[i]), *two = json(b.ptr);
        for (size_t k = 0; k < MCP__COUNT(members); k++)
            assert_true(mcp_str_eq(mcp_json_string(mcp_json_get(mcp_json_root(one), members[k])),
                                   mcp_json_string(mcp_json_get(mcp_json_root(two), members[k]))));
        mcp_json_free(one);
        mcp_json_free(two);
        mcp__buf_free(&b);
        mcp__jwk_free(key);
    }
}

/* Signs with a key that was read, and verifies with another implementation's public key. */
static void check_pair(const mcp__jwk *key, const char *public_jwk)
{
    mcp__jwk *public = key_for(public_jwk, MCP__JWK_VERIFY);
    char *text = sign_text(key, "", "{\"a\":1}");
    mcp__jws jws;
    assert_int_equal(mcp__jws_read(&jws, mcp_str_from(text), false, NULL), MCP__JWS_OK);
    assert_true(mcp__jws_verify(&jws, public));
    mcp__jws_clear(&jws);
    free(text);
    mcp__jwk_free(public);
}

static void test_pem(void **state)
{
    (void)state;
    for (size_t i = 0; i < MCP__COUNT(pem_keys); i++) {
        mcp__jwk *key;
        mcp_error error;
        int rc = mcp__signing_key_read(&crypto, mcp_str_from(pem_keys[i].pem), NULL, &key, &error);
        if (rc != MCP_OK)
            fail_msg("%s: %s", pem_keys[i].name, error.text);
        check_pair(key, pem_keys[i].jwk);
        mcp__jwk_free(key);
        /* with CR LF, and text around it */
        size_t len = strlen(pem_keys[i].pem), n = 0;
        char *text = malloc(2 * len + 100);
        n += (size_t)sprintf(text, "Bag Attributes\r\n-----BEGIN CERTIFICATE-----\r\nAA==\r\n"
                                   "-----END CERTIFICATE-----\r\n");
        for (size_t k = 0; k < len; k++) {
            if (pem_keys[i].pem[k] == '\n')
                text[n++] = '\r';
            text[n++] = pem_keys[i].pem[k];
        }
        rc = mcp__signing_key_read(&crypto, (mcp_str){text, n}, NULL, &key, &error);
        assert_int_equal(rc, MCP_OK);
        mcp__jwk_free(key);
        free(text);
    }
    mcp__jwk *key;
    assert_int_equal(mcp__signing_key_read(&crypto, mcp_str_from(key_p256), NULL, &key, NULL),
                     MCP_OK);
    mcp__jwk_free(key);
}

static void test_pem_faults(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int rc;
        const char *why;
    } cases[] = {
        {"", MCP_EPARSE, "neither PEM nor a JWK"},
        {"secret", MCP_EPARSE, "neither PEM nor a JWK"},
        {"[]", MCP_EINVAL, ""},
        {"{\"kty\":\"oct\",\"k\":\"AA\"}", MCP_EUNSUPPORTED, ""},
        {"-----", MCP_EPARSE, "no private key"},
        {"-----BEGIN PRIVATE KEY-----", MCP_EPARSE, "no private key"},
        {"-----BEGIN PRIVATE KEY-----\nAA==\n", MCP_EPARSE, "no private key"},
        {"-----BEGIN PUBLIC KEY-----\nAA==\n-----END PUBLIC KEY-----", MCP_EPARSE,
         "no private key"},
        {"-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----", MCP_EPARSE, "cannot be used"},
        {"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----", MCP_EPARSE,
         "cannot be used"},
        {"-----BEGIN PRIVATE KEY-----\nA-_A\n-----END PRIVATE KEY-----", MCP_EPARSE,
         "cannot be used"},
        {"-----BEGIN PRIVATE KEY-----\n!\n-----END PRIVATE KEY-----", MCP_EPARSE, "cannot be used"},
        {"-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----",
         MCP_EUNSUPPORTED, "is encrypted"},
        {"-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nAAAA\n"
         "-----END RSA PRIVATE KEY-----",
         MCP_EUNSUPPORTED, "is encrypted"},
        {pem_small_rsa, MCP_EINVAL, "2048"},
        {pem_secp256k1, MCP_EUNSUPPORTED, "not supported"},
        {pem_x25519, MCP_EUNSUPPORTED, "not supported"},
    };
    for (size_t i = 0; i < MCP__COUNT(cases); i++) {
        mcp__jwk *key = NULL;
        mcp_error error;
        int rc = mcp__signing_key_read(&crypto, mcp_str_from(cases[i].text), NULL, &key, &error);
        if (rc != cases[i].rc || !strstr(error.text, cases[i].why))
            fail_msg("%s: %d %s", cases[i].text, rc, error.text);
        assert_null(key);
    }
    char *big = calloc(1, MCP__PEM_BYTES + 1);
    assert_int_equal(
        mcp__signing_key_read(&crypto, (mcp_str){big, MCP__PEM_BYTES + 1}, NULL, NULL, NULL),
        MCP_ELIMIT);
    free(big);
}

/* ---- proofs ---------------------------------------------------------------------------------- */

static mcp__prover prover_for(const char *jwk)
{
    mcp__prover p;
    assert_int_equal(mcp__prover_read(&p, &crypto, mcp_str_from(jwk), NULL, NULL), MCP_OK);
    return p;
}

/* The claims of a signed text, as JSON text that the caller frees. */
static char *claims_of(mcp_str text, char **header)
{
    mcp__jws jws;
    assert_int_equal(mcp__jws_read(&jws, text, true, NULL), MCP__JWS_OK);
    mcp__buf_add(&jws.payload, "", 1);
    char *ret = copy_text(jws.payload.ptr);
    const char *dot = memchr(text.ptr, '.', text.len);
    *header = calloc(1, text.len);
    mcp__base64url_decode(*header, (mcp_str){text.ptr, (size_t)(dot - text.ptr)});
    mcp__jws_clear(&jws);
    return ret;
}

static void test_proof(void **state)
{
    (void)state;
    static const unsigned char nonce_keys[1][MCP__SHA256] = {"a key"};
    char nonce[MCP__NONCE_BYTES];
    assert_true(mcp__nonce_make(&crypto, nonce_keys[0], NOW, nonce));
    mcp__prover p = prover_for(key_p256);
    mcp__proof proof = {.method = MCP_STR("POST"),
                        .url = MCP_STR("https://mcp.example/mcp?a=b#c"),
                        .token = MCP_STR("a.token"),
                        .nonce = mcp_str_from(nonce),
                        .now = NOW,
                        .random = random_id};
    mcp__dpop_request request = {.method = MCP_STR("POST"),
                                 .url = MCP_STR("https://mcp.example/mcp"),
                                 .token = MCP_STR("a.token"),
                                 .jkt = {p.key->thumbprint, MCP__SHA256_TEXT},
                                 .now = NOW,
                                 .nonce_keys = nonce_keys,
                                 .n_nonce_keys = 1};
    mcp__dpop_proof checked;
    mcp__buf b;
    mcp__buf_init(&b, mcp__allocator(NULL), 0);
    assert_int_equal(mcp__proof_put(&b, &p, &proof), MCP_OK);
    mcp_str text = mcp__buf_view(&b);
    assert_int_equal(mcp__dpop_check(&crypto, &request, &text, 1, NULL, &checked), MCP__ACCEPTED);
    mcp__buf_free(&b);
    /* at a token endpoint: no ath, no nonce */
    mcp__buf_init(&b, mcp__allocator(NULL), 0);
    proof.token = proof.nonce = (mcp_str){NULL, 0};
    assert_int_equal(mcp__proof_put(&b, &p, &proof), MCP_OK);
    char *header, *claims = claims_of(mcp__buf_view(&b), &header);
    assert_string_equal(claims, "{\"jti\":\"__4BAgMAAAAAAAAAAAAAAA\",\"htm\":\"POST\",\"htu\":"
                                "\"https://mcp.example/mcp\",\"iat\":1700000000}");
    assert_null(strstr(header, "\"d\""));
    assert_non_null(strstr(header, "\"typ\":\"dpop+jwt\""));
    free(claims);
    free(header);
    mcp__buf_free(&b);
    proof.nonce = MCP_STR("\xFF");
    mcp__buf_init(&b, mcp__allocator(NULL), 0);
    assert_int_equal(mcp__proof_put(&b, &p, &proof), MCP_EINVAL);
    mcp__buf_free(&b);
    mcp__prover_clear(&p);
}

static void test_prover_faults(void **state)
{
    (void)state;
    static const struct {
        const char *jwk;
        int rc;
    } cases[] = {
        {"", MCP_EPARSE},
        {"{}", MCP_EUNSUPPORTED},
        {key_ed25519, MCP_EUNSUPPORTED},
        {rfc7515_a3_key, MCP_EINVAL}, /* a public key */
    };
    for (size_t i = 0; i < MCP__COUNT(cases); i++) {
        mcp__prover p;
        assert_int_equal(mcp__prover_read(&p, &crypto, mcp_str_from(cases[i].jwk), NULL, NULL),
                         cases[i].rc);
        mcp__prover_clear(&p);
    }
}

/* ---- assertions ------------------------------------------------------------------------------ */

static void test_assertion(void **state)
{
    (void)state;
    static const char with_kid[] =
        "{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"11qYAYKxCrfVS_"
        "7TyWQHOg7hcvPapiMlrwIaaPcHURo\","
        "\"d\":\"nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A\",\"kid\":\"a\\\"b\"}";
    mcp__jwk *keys[] = {key_for(key_p256, MCP__JWK_SIGN), key_for(with_kid, MCP__JWK_SIGN)};
    for (size_t i = 0; i < 2; i++) {
        mcp__buf b;
        mcp__buf_init(&b, mcp__allocator(NULL), 0);
        assert_int_equal(mcp__assertion_put(&b, keys[i], MCP_STR("my \"id\""),
                                            MCP_STR("https://as.example"), NOW, random_id),
                         MCP_OK);
        char *header, *claims = claims_of(mcp__buf_view(&b), &header);
        assert_string_equal(claims, "{\"iss\":\"my \\\"id\\\"\",\"sub\":\"my \\\"id\\\"\",\"aud\":"
                                    "\"https://as.example\",\"jti\":\"__4BAgMAAAAAAAAAAAAAAA\","
                                    "\"iat\":1700000000,\"exp\":1700000300}");
        assert_string_equal(header, i ? "{\"alg\":\"EdDSA\",\"typ\":\"JWT\",\"kid\":\"a\\\"b\"}"
                                      : "{\"alg\":\"ES256\",\"typ\":\"JWT\",\"kid\":\"p256\"}");
        free(claims);
        free(header);
        mcp__buf_free(&b);
        mcp__jwk_free(keys[i]);
    }
}

/* ---- memory ---------------------------------------------------------------------------------- */

static int sign_both(const mcp__prover *p, const mcp_allocator *a)
{
    mcp__proof proof = {.method = MCP_STR("GET"),
                        .url = MCP_STR("https://a"),
                        .token = MCP_STR("t"),
                        .nonce = MCP_STR("n"),
                        .random = random_id};
    mcp__buf b;
    mcp__buf_init(&b, a, 0);
    int rc = mcp__proof_put(&b, p, &proof);
    if (rc == MCP_OK)
        rc = mcp__assertion_put(&b, p->key, MCP_STR("id"), MCP_STR("https://a"), NOW, random_id);
    mcp__buf_free(&b);
    return rc;
}

static void test_memory(void **state)
{
    (void)state;
    mcp__prover p = prover_for(key_p256);
    for (size_t n = 1;; n++) {
        failalloc f = {.fail_at = n};
        mcp_allocator a = failalloc_allocator(&f);
        mcp__prover read;
        mcp__jwk *key = NULL;
        mcp__buf b;
        mcp__buf_init(&b, &a, 0);
        int rcs[] = {
            sign_both(&p, &a),
            mcp__prover_read(&read, &crypto, mcp_str_from(key_p256), &a, NULL),
            mcp__signing_key_read(&crypto, mcp_str_from(pem_keys[0].pem), &a, &key, NULL),
            mcp__jwk_make(&crypto, &b),
        };
        mcp__prover_clear(&read);
        mcp__jwk_free(key);
        mcp__buf_free(&b);
        size_t failed = 0;
        for (size_t i = 0; i < MCP__COUNT(rcs); i++) {
            assert_true(rcs[i] == MCP_OK || rcs[i] == MCP_ENOMEM);
            failed += rcs[i] != MCP_OK;
        }
        assert_int_equal(f.live, 0);
        assert_int_equal(failed, f.calls >= n);
        if (f.calls < n)
            break;
    }
    mcp__prover_clear(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_make),          cmocka_unit_test(test_make_many),
        cmocka_unit_test(test_put),           cmocka_unit_test(test_pem),
        cmocka_unit_test(test_pem_faults),    cmocka_unit_test(test_proof),
        cmocka_unit_test(test_prover_faults), cmocka_unit_test(test_assertion),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, load_crypto, NULL);
}
