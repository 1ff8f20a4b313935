/* Keys and sets of keys: what is accepted, what is refused, and what is skipped. */
#include "rig.h"

static int read_key(const char *text, mcp__jwk_use use, const mcp_allocator *a, mcp_error *error)
{
    mcp_json_doc *doc = json(text);
    mcp__jwk *key = NULL;
    int rc = mcp__jwk_read(&crypto, mcp_json_root(doc), use, a, &key, error);
    mcp__jwk_free(key);
    mcp_json_free(doc);
    return rc;
}

#define EC_X "\"x\":\"l8tFrhx-34tV3hRICRDY9zCkDlpBhF42UQUfWVAWBFs\""
#define EC_Y "\"y\":\"9VE4jf_Ok_o64zbTTlcuNJajHmt6v9TDVrU0CdvGRDA\""
#define EC   "\"kty\":\"EC\",\"crv\":\"P-256\"," EC_X "," EC_Y
#define OKP  "\"kty\":\"OKP\",\"crv\":\"Ed25519\""
#define ED_X "\"x\":\"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo\""

static void test_keys(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int rc;
    } keys[] = {
        {"{" EC "}", MCP_OK},
        {"{" EC ",\"use\":\"sig\",\"alg\":\"ES256\",\"kid\":\"\"}", MCP_OK},
        {"{" EC ",\"key_ops\":[\"sign\",\"verify\"],\"x5c\":[\"a\"],\"x5t\":1}", MCP_OK},
        {"{" OKP "," ED_X "}", MCP_OK},
        {"[]", MCP_EINVAL},
        {"null", MCP_EINVAL},
        {"{}", MCP_EUNSUPPORTED},
        {"{" EC ",\"kid\":1}", MCP_EINVAL},
        {"{" EC ",\"use\":\"enc\"}", MCP_EUNSUPPORTED},
        {"{" EC ",\"use\":null}", MCP_EUNSUPPORTED},
        {"{" EC ",\"key_ops\":[]}", MCP_EUNSUPPORTED},
        {"{" EC ",\"key_ops\":[\"sign\"]}", MCP_EUNSUPPORTED},
        {"{" EC ",\"key_ops\":\"verify\"}", MCP_EUNSUPPORTED},
        {"{" EC ",\"alg\":\"ES384\"}", MCP_EUNSUPPORTED},
        {"{" EC ",\"alg\":\"RS256\"}", MCP_EUNSUPPORTED},
        {"{" EC ",\"alg\":\"HS256\"}", MCP_EUNSUPPORTED},
        {"{" EC ",\"alg\":\"none\"}", MCP_EUNSUPPORTED},
        {"{" EC ",\"alg\":1}", MCP_EUNSUPPORTED},
        {"{" EC ",\"d\":\"AA\"}", MCP_EINVAL},
        {"{" EC ",\"d\":null}", MCP_EINVAL},
        {"{" EC ",\"k\":\"AA\"}", MCP_EINVAL},
        {"{\"kty\":\"EC\",\"crv\":\"P-256\"," EC_X "}", MCP_EINVAL},
        {"{\"kty\":\"EC\",\"crv\":\"P-256\"," EC_X ",\"y\":\"AA\"}", MCP_EINVAL},
        {"{\"kty\":\"EC\",\"crv\":\"P-256\"," EC_X ",\"y\":1}", MCP_EINVAL},
        {"{\"kty\":\"EC\",\"crv\":\"P-256\"," EC_X ",\"y\":\"\"}", MCP_EINVAL},
        /* A point that is not on the curve, an encoding that is not canonical, padding. */
        {"{\"kty\":\"EC\",\"crv\":\"P-256\"," EC_Y
         ",\"x\":\"l8tFrhx-34tV3hRICRDY9zCkDlpBhF42UQUfWVAWBFc\"}",
         MCP_EINVAL},
        {"{\"kty\":\"EC\",\"crv\":\"P-256\"," EC_Y
         ",\"x\":\"l8tFrhx-34tV3hRICRDY9zCkDlpBhF42UQUfWVAWBFt\"}",
         MCP_EINVAL},
        {"{\"kty\":\"EC\",\"crv\":\"P-256\"," EC_Y
         ",\"x\":\"l8tFrhx-34tV3hRICRDY9zCkDlpBhF42UQUfWVAWBFs=\"}",
         MCP_EINVAL},
        {"{\"kty\":\"EC\",\"crv\":\"P-384\"," EC_X "," EC_Y "}", MCP_EINVAL},
        {"{\"kty\":\"EC\",\"crv\":\"secp256k1\"," EC_X "," EC_Y "}", MCP_EUNSUPPORTED},
        {"{\"kty\":\"ec\",\"crv\":\"P-256\"," EC_X "," EC_Y "}", MCP_EUNSUPPORTED},
        {"{\"kty\":\"OKP\",\"crv\":\"X25519\"," ED_X "}", MCP_EUNSUPPORTED},
        {"{\"kty\":\"OKP\",\"crv\":\"Ed448\"," ED_X "}", MCP_EUNSUPPORTED},
        {"{" OKP ",\"x\":\"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHUQ\"}", MCP_EINVAL},
        {"{" OKP "}", MCP_EINVAL},
        {"{\"kty\":\"oct\",\"k\":\"AAAA\",\"alg\":\"HS256\"}", MCP_EUNSUPPORTED},
    };
    for (size_t i = 0; i < MCP__COUNT(keys); i++) {
        mcp_error error;
        int rc = read_key(keys[i].text, MCP__JWK_VERIFY, NULL, &error);
        if (rc != keys[i].rc)
            fail_msg("%s: %s (%s)", keys[i].text, mcp_error_name(rc), error.text);
        assert_int_equal(error.text[0] != '\0', rc != MCP_OK);
    }
}

static void test_lengths(void **state)
{
    (void)state;
    static const struct {
        const char *text, *error;
    } keys[] = {
        {"{\"kty\":\"EC\",\"crv\":\"P-256\"," EC_X ",\"y\":\"AA\"}",
         "the key's member y has the wrong length"},
        {"{\"kty\":\"EC\",\"crv\":\"P-384\"," EC_X "," EC_Y "}",
         "the key's member x has the wrong length"},
        {"{" OKP ",\"x\":\"AA\"}", "the key's member x has the wrong length"},
        {"{" OKP ",\"x\":\"\"}",
         "the key's member x is missing, too long or not canonical base64url"},
    };
    for (size_t i = 0; i < MCP__COUNT(keys); i++) {
        mcp_error error;
        assert_int_equal(read_key(keys[i].text, MCP__JWK_VERIFY, NULL, &error), MCP_EINVAL);
        assert_string_equal(error.text, keys[i].error);
    }
}

/* Reads an RSA key whose modulus has `bits` bits. The last bit is `last`, and all others are 1. */
static int read_rsa(size_t bits, int last, size_t zeros, const char *e)
{
    unsigned char n[1100];
    char encoded[1500] = {0}, text[1700];
    size_t len = (bits + 7) / 8;
    memset(n, 0, zeros);
    memset(n + zeros, 0xFF, len);
    n[zeros] = (unsigned char)(0xFF >> (8 * len - bits));
    n[zeros + len - 1] = (unsigned char)(0xFE | last);
    mcp__base64url_encode(encoded, n, zeros + len);
    snprintf(text, sizeof(text), "{\"kty\":\"RSA\",\"n\":\"%s\",\"e\":\"%s\"}", encoded, e);
    return read_key(text, MCP__JWK_VERIFY, NULL, NULL);
}

static void test_rsa_bounds(void **state)
{
    (void)state;
    static const struct {
        const char *e;
        int rc;
    } exponents[] = {
        {"AQAB", MCP_OK},         {"Aw", MCP_OK},          {"_____w", MCP_OK},
        {"AQ", MCP_EINVAL},       {"AA", MCP_EINVAL},      {"AAEAAQ", MCP_EINVAL},
        {"BA", MCP_EINVAL},       {"AQAAAAE", MCP_EINVAL}, {"", MCP_EINVAL},
        {"AQABAQAB", MCP_EINVAL}, {"AQAB=", MCP_EINVAL},   {"AQAC", MCP_EINVAL},
    };
    for (size_t i = 0; i < MCP__COUNT(exponents); i++)
        assert_int_equal(read_rsa(2048, 1, 0, exponents[i].e), exponents[i].rc);
    assert_int_equal(read_rsa(8192, 1, 0, "AQAB"), MCP_OK);
    assert_int_equal(read_rsa(2049, 1, 0, "AQAB"), MCP_OK);
    assert_int_equal(read_rsa(2047, 1, 0, "AQAB"), MCP_EINVAL);
    assert_int_equal(read_rsa(1024, 1, 0, "AQAB"), MCP_EINVAL);
    assert_int_equal(read_rsa(8193, 1, 0, "AQAB"), MCP_EINVAL);
    assert_int_equal(read_rsa(2048, 0, 0, "AQAB"), MCP_EINVAL);
    assert_int_equal(read_rsa(2048, 1, 1, "AQAB"), MCP_EINVAL);
    assert_int_equal(read_rsa(8, 1, 0, "AQAB"), MCP_EINVAL);
}

static void test_private_keys(void **state)
{
    (void)state;
    static const char *const good[] = {key_rsa, key_p256, key_p384, key_p521, key_ed25519};
    char text[2048];
    for (size_t i = 0; i < MCP__COUNT(good); i++) {
        mcp_error error;
        char *part = public_part(good[i]);
        assert_int_equal(read_key(good[i], MCP__JWK_SIGN, NULL, NULL), MCP_OK);
        assert_int_equal(read_key(good[i], MCP__JWK_VERIFY, NULL, &error), MCP_EINVAL);
        assert_string_equal(error.text, "the key has a private part");
        assert_int_equal(read_key(part, MCP__JWK_SIGN, NULL, &error), MCP_EINVAL);
        assert_string_equal(error.text, "the key has no private part");
        /* The private part belongs to another key. */
        snprintf(text, sizeof(text), "%s", good[i]);
        char *d = strstr(text, "\"d\":\"") + 5;
        d[4] = d[4] == 'A' ? 'B' : 'A';
        assert_int_equal(read_key(text, MCP__JWK_SIGN, NULL, NULL), MCP_EINVAL);
        free(part);
    }
}

static mcp__jwk_set *read_set(const char *text, int rc, const char *why)
{
    mcp__jwk_set *set = NULL;
    mcp_error error;
    assert_int_equal(mcp__jwk_set_read(&crypto, mcp_str_from(text), NULL, &set, &error), rc);
    if (why)
        assert_string_equal(error.text, why);
    return set;
}

static void test_sets(void **state)
{
    (void)state;
    mcp__jwk_set *set = read_set("{\"keys\":[{\"kty\":\"oct\",\"k\":\"AA\"},{" EC
                                 ",\"kid\":\"a\"},1,{" EC ",\"use\":\"enc\"},{" EC
                                 ",\"kid\":\"b\"},{" OKP "," ED_X ",\"kid\":\"a\"}],\"more\":1}",
                                 MCP_OK, "");
    const mcp__jws_alg *es = mcp__jws_alg_find(MCP_STR("ES256"));
    size_t at = 0;
    assert_int_equal(set->n, 3);
    assert_int_equal(set->skipped, 3);
    assert_ptr_equal(mcp__jwk_set_next(set, MCP_STR("a"), es, &at), set->keys[0]);
    assert_null(mcp__jwk_set_next(set, MCP_STR("a"), es, &at));
    at = 0;
    assert_ptr_equal(mcp__jwk_set_next(set, MCP_STR(""), es, &at), set->keys[0]);
    assert_ptr_equal(mcp__jwk_set_next(set, MCP_STR(""), es, &at), set->keys[1]);
    assert_null(mcp__jwk_set_next(set, MCP_STR(""), es, &at));
    at = 0;
    assert_null(mcp__jwk_set_next(set, MCP_STR(""), mcp__jws_alg_find(MCP_STR("ES384")), &at));
    mcp__jwk_set_ref(set);
    mcp__jwk_set_unref(set);
    mcp__jwk_set_unref(set);
    read_set("{\"keys\":[]}", MCP_EINVAL, "the key set is empty");
    read_set("{\"keys\":[{\"kty\":\"oct\",\"k\":\"AA\"}]}", MCP_EINVAL,
             "the type or curve of the key is not supported");
    read_set("{\"keys\":{}}", MCP_EPARSE, "a key set must be an object with an array \"keys\"");
    read_set("[]", MCP_EPARSE, "a key set must be an object with an array \"keys\"");
    read_set("<html>", MCP_EPARSE, NULL);
    read_set("{\"keys\":[],\"keys\":[]}", MCP_EPARSE, NULL);
}

static void test_set_limits(void **state)
{
    (void)state;
    mcp__buf b;
    for (size_t n = 64; n <= 65; n++) {
        mcp__buf_init(&b, mcp__allocator(NULL), 0);
        mcp__buf_lit(&b, "{\"keys\":[");
        for (size_t i = 0; i < n; i++)
            mcp__buf_printf(&b, "%s{" EC "}", i ? "," : "");
        mcp__buf_add(&b, "]}", 3);
        mcp__jwk_set_unref(read_set(b.ptr, n == 64 ? MCP_OK : MCP_ELIMIT, NULL));
        mcp__buf_free(&b);
    }
    for (size_t extra = 0; extra <= 1; extra++) {
        mcp__buf_init(&b, mcp__allocator(NULL), 0);
        mcp__buf_lit(&b, "{\"keys\":[{" EC "}]}");
        while (b.len < MCP__JWK_SET_BYTES + extra)
            mcp__buf_char(&b, ' ');
        mcp__buf_add(&b, "", 1);
        mcp__jwk_set_unref(read_set(b.ptr, extra ? MCP_ELIMIT : MCP_OK, NULL));
        mcp__buf_free(&b);
    }
}

static void test_no_memory(void **state)
{
    (void)state;
    for (size_t n = 1;; n++) {
        failalloc f = {.fail_at = n};
        mcp_allocator a = failalloc_allocator(&f);
        mcp__jwk_set *set = NULL;
        int rc = mcp__jwk_set_read(
            &crypto, MCP_STR("{\"keys\":[{" EC "},{\"kty\":\"oct\"},{" OKP "," ED_X "}]}"), &a,
            &set, NULL);
        assert_true(rc == MCP_OK || rc == MCP_ENOMEM);
        mcp__jwk_set_unref(set);
        assert_int_equal(f.live, 0);
        if (f.calls < n) {
            assert_int_equal(rc, MCP_OK);
            break;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lengths),    cmocka_unit_test(test_keys),
        cmocka_unit_test(test_rsa_bounds), cmocka_unit_test(test_private_keys),
        cmocka_unit_test(test_sets),       cmocka_unit_test(test_set_limits),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, load_crypto, NULL);
}
