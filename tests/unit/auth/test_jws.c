/* Signed texts: the examples of the RFCs, texts of another implementation, and each kind of
 * fault. */
#include "rig.h"

/* Reads and verifies in one step. */
static bool verifies(const char *text, const mcp__jwk *key)
{
    mcp__jws jws;
    bool ok = mcp__jws_read(&jws, mcp_str_from(text), false, NULL) == MCP__JWS_OK &&
              mcp__jws_verify(&jws, key);
    mcp__jws_clear(&jws);
    return ok;
}

static mcp__jws_fault fault_of(const char *text)
{
    mcp__jws jws;
    mcp__jws_fault fault = mcp__jws_read(&jws, mcp_str_from(text), false, NULL);
    mcp__jws_clear(&jws);
    return fault;
}

static void test_examples(void **state)
{
    (void)state;
    static const struct {
        const char *key, *text;
        mcp__jwk_use use;
    } examples[] = {
        {rfc7515_a2_key, rfc7515_a2, MCP__JWK_VERIFY},
        {rfc7515_a3_key, rfc7515_a3, MCP__JWK_VERIFY},
        {rfc7515_a4_key, rfc7515_a4, MCP__JWK_VERIFY},
        {rfc7520_rsa_key, rfc7520_4_1, MCP__JWK_VERIFY},
        {rfc7520_rsa_key, rfc7520_4_2, MCP__JWK_VERIFY},
        {rfc7520_ec_key, rfc7520_4_3, MCP__JWK_VERIFY},
        {rfc8037_key, rfc8037_a4, MCP__JWK_SIGN},
    };
    for (size_t i = 0; i < MCP__COUNT(examples); i++) {
        mcp__jwk *key = key_for(examples[i].key, examples[i].use);
        assert_true(verifies(examples[i].text, key));
        for (size_t k = 0; k < MCP__COUNT(examples); k++) {
            if (strcmp(examples[k].key, examples[i].key) != 0)
                assert_false(verifies(examples[k].text, key));
        }
        mcp__jwk_free(key);
    }
    assert_int_equal(fault_of(rfc7515_a1), MCP__JWS_ALGORITHM);
    assert_int_equal(fault_of(rfc7515_a5), MCP__JWS_ALGORITHM);
    assert_int_equal(fault_of(rfc7520_4_4), MCP__JWS_ALGORITHM);
}

static void test_payload(void **state)
{
    (void)state;
    mcp__jws jws;
    mcp_json_doc *claims = NULL;
    assert_int_equal(mcp__jws_read(&jws, mcp_str_from(rfc7515_a2), false, NULL), MCP__JWS_OK);
    assert_int_equal(mcp__jws_claims(&jws, &claims), MCP_OK);
    assert_int_equal(mcp_json_int(mcp_json_get(mcp_json_root(claims), "exp"), 0), 1300819380);
    mcp_json_free(claims);
    mcp__jws_clear(&jws);
    assert_int_equal(mcp__jws_read(&jws, mcp_str_from(rfc7515_a4), false, NULL), MCP__JWS_OK);
    assert_int_equal(mcp__jws_claims(&jws, &claims), MCP_EPARSE); /* it is "Payload" */
    mcp__jws_clear(&jws);
}

static void test_thumbprints(void **state)
{
    (void)state;
    mcp__jwk *rsa = key_for(rfc7638_key, MCP__JWK_VERIFY);
    mcp__jwk *ed = key_for(rfc8037_key, MCP__JWK_SIGN);
    assert_memory_equal(rsa->thumbprint, "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs", 43);
    assert_memory_equal(ed->thumbprint, "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k", 43);
    mcp__jwk_free(rsa);
    mcp__jwk_free(ed);
}

static void test_foreign_tokens(void **state)
{
    (void)state;
    for (size_t i = 0; i < MCP__COUNT(foreign); i++) {
        mcp__jwk *key = public_key(foreign[i].key);
        assert_true(verifies(foreign[i].token, key));
        for (size_t k = 0; k < MCP__COUNT(foreign); k++) {
            if (strcmp(foreign[k].key, foreign[i].key) != 0)
                assert_false(verifies(foreign[k].token, key));
        }
        mcp__jwk_free(key);
    }
}

/* A token is refused if any bit of it is inverted, or any character is removed or doubled. */
static void test_changed(void **state)
{
    (void)state;
    static const char *const others = "A_-.=+ \n/9";
    char text[2048];
    for (size_t i = 0; i < MCP__COUNT(foreign); i += 3) {
        mcp__jwk *key = public_key(foreign[i].key);
        size_t len = strlen(foreign[i].token);
        for (size_t at = 0; at < len; at++) {
            char old = foreign[i].token[at];
            for (const char *c = others; *c; c++) {
                memcpy(text, foreign[i].token, len + 1);
                text[at] = *c;
                assert_int_equal(verifies(text, key), old == *c);
            }
            memcpy(text, foreign[i].token, at);
            memcpy(text + at, foreign[i].token + at + 1, len - at);
            assert_false(verifies(text, key));
            memcpy(text + at + 1, foreign[i].token + at, len - at + 1);
            assert_false(verifies(text, key));
        }
        mcp__jwk_free(key);
    }
}

static void test_parts(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "",
        ".",
        "..",
        "...",
        "a.b",
        "e30",
        "e30.e30",
        "e30.e30.AA.AA",
        "e30=.e30.AA",
        "e30.e30.A",
        "ey.e30.AA",
    };
    for (size_t i = 0; i < MCP__COUNT(wrong); i++)
        assert_int_not_equal(fault_of(wrong[i]), MCP__JWS_OK);
    char *five = assemble("{\"alg\":\"ES256\"}", "{}", "AA.AA.AA");
    assert_int_equal(fault_of(five), MCP__JWS_FORM);
    free(five);
    /* A signature that is longer than the limit, and one that is exactly as long. */
    char *signature = malloc(1400);
    memset(signature, 'A', 1367);
    signature[1367] = '\0';
    char *text = assemble("{\"alg\":\"ES256\"}", "{}", signature);
    assert_int_equal(fault_of(text), MCP__JWS_FORM);
    free(text);
    signature[1366] = '\0';
    text = assemble("{\"alg\":\"ES256\"}", "{}", signature);
    assert_int_equal(fault_of(text), MCP__JWS_OK);
    free(text);
    free(signature);
}

static void test_headers(void **state)
{
    (void)state;
    static const struct {
        const char *header;
        mcp__jws_fault fault;
    } headers[] = {
        {"{\"alg\":\"ES256\"}", MCP__JWS_OK},
        {" {\"alg\" : \"ES256\" , \"x5t\":\"a\",\"cty\":\"b\", \"zip\":1}\n", MCP__JWS_OK},
        {"", MCP__JWS_HEADER},
        {"{}", MCP__JWS_ALGORITHM},
        {"[]", MCP__JWS_HEADER},
        {"\"alg\"", MCP__JWS_HEADER},
        {"{\"alg\":\"ES256\"", MCP__JWS_HEADER},
        {"{\"alg\":\"ES256\"}x", MCP__JWS_HEADER},
        {"{\"alg\":\"ES256\",\"alg\":\"ES256\"}", MCP__JWS_HEADER},
        {"{\"alg\":\"ES256\",\"\\u0061lg\":\"ES256\"}", MCP__JWS_HEADER},
        {"{\"alg\":\"ES256\",\"a\":{\"b\":1,\"b\":1}}", MCP__JWS_HEADER},
        {"{\"alg\":1}", MCP__JWS_HEADER},
        {"{\"alg\":null}", MCP__JWS_HEADER},
        {"{\"alg\":[\"ES256\"]}", MCP__JWS_HEADER},
        {"{\"alg\":\"ES256\",\"kid\":1}", MCP__JWS_HEADER},
        {"{\"alg\":\"ES256\",\"typ\":[]}", MCP__JWS_HEADER},
        {"{\"alg\":\"none\"}", MCP__JWS_ALGORITHM},
        {"{\"alg\":\"None\"}", MCP__JWS_ALGORITHM},
        {"{\"alg\":\"\"}", MCP__JWS_ALGORITHM},
        {"{\"alg\":\"es256\"}", MCP__JWS_ALGORITHM},
        {"{\"alg\":\"ES256\\u0000\"}", MCP__JWS_ALGORITHM},
        {"{\"alg\":\"HS256\"}", MCP__JWS_ALGORITHM},
        {"{\"alg\":\"HS384\"}", MCP__JWS_ALGORITHM},
        {"{\"alg\":\"HS512\"}", MCP__JWS_ALGORITHM},
        {"{\"alg\":\"ES256K\"}", MCP__JWS_ALGORITHM},
        {"{\"alg\":\"Ed448\"}", MCP__JWS_ALGORITHM},
        {"{\"alg\":\"RSA-OAEP\"}", MCP__JWS_ALGORITHM},
        {"{\"alg\":\"ES256\",\"crit\":[]}", MCP__JWS_CRITICAL},
        {"{\"alg\":\"ES256\",\"crit\":[\"b64\"],\"b64\":false}", MCP__JWS_CRITICAL},
        {"{\"alg\":\"ES256\",\"crit\":null}", MCP__JWS_CRITICAL},
        {"{\"alg\":\"ES256\",\"jku\":\"https://a.example\"}", MCP__JWS_KEY},
        {"{\"alg\":\"ES256\",\"x5u\":\"https://a.example\"}", MCP__JWS_KEY},
        {"{\"alg\":\"ES256\",\"x5c\":[]}", MCP__JWS_KEY},
        {"{\"alg\":\"ES256\",\"jwk\":{}}", MCP__JWS_KEY},
        {"{\"alg\":\"ES256\",\"jwk\":null}", MCP__JWS_KEY},
    };
    for (size_t i = 0; i < MCP__COUNT(headers); i++) {
        char *text = assemble(headers[i].header, "{}", "");
        if (fault_of(text) != headers[i].fault)
            fail_msg("%s: %d", headers[i].header, fault_of(text));
        free(text);
    }
    char deep[256] = "{\"alg\":\"ES256\",\"a\":";
    for (size_t i = 0; i < 40; i++)
        strcat(deep, "[");
    for (size_t i = 0; i < 40; i++)
        strcat(deep, "]");
    char *text = assemble(strcat(deep, "}"), "{}", "");
    assert_int_equal(fault_of(text), MCP__JWS_HEADER);
    free(text);
}

/* The key determines the algorithm. If it has an "alg", a token that names another algorithm for
 * the same type of key is refused. */
static void test_key_decides(void **state)
{
    (void)state;
    char *part = public_part(key_rsa);
    char text[1024];
    for (size_t i = 0; i < 6; i++) {
        snprintf(text, sizeof(text), "{\"alg\":\"%s\",%s", foreign[i].alg, part + 1);
        mcp__jwk *key = key_for(text, MCP__JWK_VERIFY);
        for (size_t k = 0; k < 6; k++)
            assert_int_equal(verifies(foreign[k].token, key), i == k);
        mcp__jwk_free(key);
    }
    free(part);
}

static void test_both_names(void **state)
{
    (void)state;
    static const char *const names[] = {"EdDSA", "Ed25519"};
    char text[512];
    for (size_t i = 0; i < 4; i++) {
        snprintf(text, sizeof(text), "{\"alg\":\"%s\",%s", names[i / 2], key_ed25519 + 1);
        mcp__jwk *key = key_for(text, MCP__JWK_SIGN);
        char *token = sign_text(key, "\"kid\":\"k\"", "{}");
        mcp__jwk_free(key);
        char *part = public_part(key_ed25519);
        snprintf(text, sizeof(text), "{\"alg\":\"%s\",%s", names[i % 2], part + 1);
        key = key_for(text, MCP__JWK_VERIFY);
        assert_true(verifies(token, key));
        mcp__jwk_free(key);
        free(token);
        free(part);
    }
}

static void test_sign(void **state)
{
    (void)state;
    static const char *const keys[] = {key_rsa, key_p256, key_p384, key_p521, key_ed25519};
    char payload[64];
    for (size_t i = 0; i < MCP__COUNT(keys); i++) {
        mcp__jwk *own = key_for(keys[i], MCP__JWK_SIGN), *other = public_key(keys[i]);
        assert_memory_equal(own->thumbprint, other->thumbprint, 43);
        /* Often enough that some r or s has leading zeros. */
        for (int n = 0; n < (i == 1 ? 600 : 20); n++) {
            snprintf(payload, sizeof(payload), "{\"n\":%d}", n);
            char *text = sign_text(own, "\"typ\":\"a\"", payload);
            assert_true(verifies(text, other));
            free(text);
        }
        mcp__buf b;
        mcp__buf_init(&b, mcp__allocator(NULL), 0);
        assert_int_equal(mcp__jws_sign(other, MCP_STR(""), MCP_STR("{}"), &b), MCP_EINVAL);
        mcp__jwk_free(own);
        mcp__jwk_free(other);
    }
}

/* Signatures of the wrong length or form. */
static void test_signatures(void **state)
{
    (void)state;
    mcp__jwk *own = key_for(key_p256, MCP__JWK_SIGN), *other = public_key(key_p256);
    char *good = sign_text(own, "", "{}");
    char *dot = strrchr(good, '.') + 1;
    unsigned char raw[80] = {0};
    char encoded[160] = {0}, text[512];
    assert_int_equal(mcp__base64url_decode(raw, mcp_str_from(dot)), 64);
    for (size_t len = 0; len <= 72; len++) {
        memset(encoded, 0, sizeof(encoded));
        mcp__base64url_encode(encoded, raw, len);
        snprintf(text, sizeof(text), "%.*s%s", (int)(dot - good), good, encoded);
        assert_int_equal(verifies(text, other), len == 64);
    }
    static const unsigned char fills[] = {0x00, 0x01, 0x7F, 0x80, 0xFF};
    for (size_t i = 0; i < MCP__COUNT(fills); i++) {
        for (size_t half = 0; half < 2; half++) {
            unsigned char changed[64];
            memcpy(changed, raw, 64);
            memset(changed + 32 * half, fills[i], 32);
            memset(encoded, 0, sizeof(encoded));
            mcp__base64url_encode(encoded, changed, 64);
            snprintf(text, sizeof(text), "%.*s%s", (int)(dot - good), good, encoded);
            assert_false(verifies(text, other));
        }
    }
    free(good);
    mcp__jwk_free(own);
    mcp__jwk_free(other);
}

/* The salt of PSS is as long as the digest (RFC 7518 section 3.5). */
static void test_salts(void **state)
{
    (void)state;
    mcp__jwk *key = public_key(key_rsa);
    for (size_t i = 0; i < MCP__COUNT(other_salts); i++)
        assert_false(verifies(other_salts[i], key));
    mcp__jwk_free(key);
}

static void test_no_memory(void **state)
{
    (void)state;
    mcp__jwk *own = key_for(key_ed25519, MCP__JWK_SIGN);
    for (size_t n = 1;; n++) {
        failalloc f = {.fail_at = n};
        mcp_allocator a = failalloc_allocator(&f);
        mcp__jws jws;
        mcp_json_doc *claims = NULL;
        mcp__buf b;
        mcp__jws_fault fault = mcp__jws_read(&jws, mcp_str_from(rfc7515_a2), false, &a);
        int rc = fault == MCP__JWS_OK ? mcp__jws_claims(&jws, &claims) : MCP_ENOMEM;
        assert_true(fault == MCP__JWS_OK || fault == MCP__JWS_NO_MEMORY);
        assert_true(rc == MCP_OK || rc == MCP_ENOMEM);
        mcp_json_free(claims);
        mcp__jws_clear(&jws);
        mcp__buf_init(&b, &a, 0);
        int signed_rc = mcp__jws_sign(own, MCP_STR("\"a\":1"), MCP_STR("{\"b\":2}"), &b);
        assert_true(signed_rc == MCP_OK || signed_rc == MCP_ENOMEM);
        mcp__buf_free(&b);
        assert_int_equal(f.live, 0);
        if (f.calls < n) {
            assert_int_equal(rc, MCP_OK);
            assert_int_equal(signed_rc, MCP_OK);
            break;
        }
    }
    mcp__jwk_free(own);
}

static void test_types(void **state)
{
    (void)state;
    static const struct {
        const char *typ;
        bool same;
    } types[] = {
        {"at+jwt", true},
        {"AT+JWT", true},
        {"application/at+jwt", true},
        {"Application/At+Jwt", true},
        {"", false},
        {"jwt", false},
        {"at+jwt ", false},
        {"application/", false},
        {"application/application/at+jwt", false},
        {"text/at+jwt", false},
    };
    for (size_t i = 0; i < MCP__COUNT(types); i++)
        assert_int_equal(mcp__jws_is_type(mcp_str_from(types[i].typ), MCP_STR("at+jwt")),
                         types[i].same);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_examples),    cmocka_unit_test(test_payload),
        cmocka_unit_test(test_thumbprints), cmocka_unit_test(test_foreign_tokens),
        cmocka_unit_test(test_changed),     cmocka_unit_test(test_parts),
        cmocka_unit_test(test_headers),     cmocka_unit_test(test_key_decides),
        cmocka_unit_test(test_both_names),  cmocka_unit_test(test_sign),
        cmocka_unit_test(test_signatures),  cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_types),       cmocka_unit_test(test_salts),
    };
    return cmocka_run_group_tests(tests, load_crypto, NULL);
}
