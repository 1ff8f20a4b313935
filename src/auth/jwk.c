/* jwk.c: see jwk.h. Makes an EVP_PKEY directly from the numbers of a key, not from an encoded key.
 *
 * Public numbers must be in their canonical form (base64url without padding, with the exact length
 * or without leading zeros), so that a thumbprint can be computed from the text of the JWK.
 */
#include <stdio.h>

#include "auth/jwk.h"

enum {
    RSA_BYTES = MCP__JWK_MOST_BITS / 8,
    EXPONENT_BYTES = 4,
    LONGEST_TEXT = (RSA_BYTES * 4 + 2) / 3,
    UNCOMPRESSED = 4, /* the first byte of a point: both coordinates follow */
};

const mcp__jws_alg mcp__jws_algs[] = {
    {"RS256", MCP__JWK_RSA, "SHA256", false},   {"RS384", MCP__JWK_RSA, "SHA384", false},
    {"RS512", MCP__JWK_RSA, "SHA512", false},   {"PS256", MCP__JWK_RSA, "SHA256", true},
    {"PS384", MCP__JWK_RSA, "SHA384", true},    {"PS512", MCP__JWK_RSA, "SHA512", true},
    {"ES256", MCP__JWK_P256, "SHA256", false},  {"ES384", MCP__JWK_P384, "SHA384", false},
    {"ES512", MCP__JWK_P521, "SHA512", false},  {"EdDSA", MCP__JWK_ED25519, NULL, false},
    {"Ed25519", MCP__JWK_ED25519, NULL, false}, {NULL, MCP__JWK_RSA, NULL, false},
};

const struct mcp__jwk_number mcp__jwk_rsa[8] = {
    {"n", OSSL_PKEY_PARAM_RSA_N},          {"e", OSSL_PKEY_PARAM_RSA_E},
    {"d", OSSL_PKEY_PARAM_RSA_D},          {"p", OSSL_PKEY_PARAM_RSA_FACTOR1},
    {"q", OSSL_PKEY_PARAM_RSA_FACTOR2},    {"dp", OSSL_PKEY_PARAM_RSA_EXPONENT1},
    {"dq", OSSL_PKEY_PARAM_RSA_EXPONENT2}, {"qi", OSSL_PKEY_PARAM_RSA_COEFFICIENT1},
};

/* The elliptic curves. `size` is the size of a coordinate in bytes. */
static const struct curve {
    mcp__jwk_kind kind;
    const char *kty, *crv, *group;
    size_t size;
} curves[] = {
    {MCP__JWK_P256, "EC", "P-256", "P-256", 32},
    {MCP__JWK_P384, "EC", "P-384", "P-384", 48},
    {MCP__JWK_P521, "EC", "P-521", "P-521", 66},
    {MCP__JWK_ED25519, "OKP", "Ed25519", "ED25519", 32},
};

/* The decoded numbers of a key, from which OpenSSL makes the key. */
typedef struct numbers {
    const mcp__crypto *crypto;
    OSSL_PARAM params[9];
    size_t n;
    unsigned char bytes[8 * RSA_BYTES]; /* a private RSA key has 8 members */
    size_t used;
    mcp_error *error;
} numbers;

const mcp__jws_alg *mcp__jws_alg_find(mcp_str name)
{
    for (const mcp__jws_alg *alg = mcp__jws_algs; alg->name; alg++) {
        if (mcp_str_eq(name, mcp_str_from(alg->name)))
            return alg;
    }
    return NULL;
}

bool mcp__jwk_allows(const mcp__jwk *key, const mcp__jws_alg *alg)
{
    /* Ed25519 has two names. A key with either name allows both. */
    return key->kind == alg->kind && (!key->alg || key->alg == alg || !alg->digest);
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* Decodes a member. Returns its bytes, of which there may be at most `most`, or NULL. */
static unsigned char *decode(numbers *to, const mcp_json *jwk, const char *name, size_t most,
                             size_t *len)
{
    mcp_str text = mcp_json_string(mcp_json_get(jwk, name));
    unsigned char *bytes = to->bytes + to->used;
    *len =
        text.len && text.len <= (most * 4 + 2) / 3 ? mcp__base64url_decode(bytes, text) : SIZE_MAX;
    if (*len > most) {
        mcp__fail(to->error, MCP_EINVAL, 0,
                  "the key's member %s is missing, too long or not canonical base64url", name);
        return NULL;
    }
    to->used += *len;
    return bytes;
}

/* OpenSSL expects numbers in the byte order of the machine. */
static void to_native(unsigned char *bytes, size_t len)
{
    const unsigned one = 1;
    if (*(const unsigned char *)&one == 0)
        return;
    for (size_t i = 0; i < len / 2; i++) {
        unsigned char swapped = bytes[i];
        bytes[i] = bytes[len - 1 - i];
        bytes[len - 1 - i] = swapped;
    }
}

static void add_number(numbers *to, const char *param, unsigned char *bytes, size_t len)
{
    to_native(bytes, len);
    to->params[to->n++] = to->crypto->OSSL_PARAM_construct_BN(param, bytes, len);
}

static bool add_member(numbers *to, const mcp_json *jwk, const char *name, const char *param)
{
    size_t len;
    unsigned char *bytes = decode(to, jwk, name, RSA_BYTES, &len);
    if (bytes)
        add_number(to, param, bytes, len);
    return bytes != NULL;
}

/* Makes the EVP_PKEY. Returns MCP_OK, MCP_EINVAL or MCP_ENOMEM. */
static int make(numbers *from, const char *type, bool private, EVP_PKEY **ret)
{
    const mcp__crypto *c = from->crypto;
    int selection = private ? EVP_PKEY_KEYPAIR : EVP_PKEY_PUBLIC_KEY;
    EVP_PKEY *pkey = NULL;
    from->params[from->n] = c->OSSL_PARAM_construct_end();
    EVP_PKEY_CTX *ctx = c->EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
    if (!ctx)
        return mcp__fail(from->error, MCP_ENOMEM, 0, "no memory for a key");
    bool ok = c->EVP_PKEY_fromdata_init(ctx) == 1 &&
              c->EVP_PKEY_fromdata(ctx, &pkey, selection, from->params) == 1;
    c->EVP_PKEY_CTX_free(ctx);
    EVP_PKEY_CTX *check = ok && private ? c->EVP_PKEY_CTX_new_from_pkey(NULL, pkey, NULL) : NULL;
    if (ok && private)
        ok = check && c->EVP_PKEY_pairwise_check(check) == 1;
    c->EVP_PKEY_CTX_free(check);
    c->ERR_clear_error();
    if (ok) {
        *ret = pkey;
        return MCP_OK;
    }
    c->EVP_PKEY_free(pkey);
    return mcp__fail(from->error, MCP_EINVAL, 0, "the numbers do not form a valid key");
}

/* ---- kinds ----------------------------------------------------------------------------------- */

/* Returns the bit length of a big-endian number whose first byte is not 0. */
static size_t bits_of(const unsigned char *bytes, size_t len)
{
    size_t bits = 8 * len;
    for (unsigned top = bytes[0]; top < 128; top = top << 1 | 1)
        bits--;
    return bits;
}

static int read_rsa_public(numbers *to, const mcp_json *jwk, mcp__jwk *key)
{
    size_t n_len, e_len;
    unsigned char *n = decode(to, jwk, "n", RSA_BYTES, &n_len);
    unsigned char *e = n ? decode(to, jwk, "e", EXPONENT_BYTES, &e_len) : NULL;
    if (!e)
        return MCP_EINVAL;
    size_t bits = n[0] ? bits_of(n, n_len) : 0; /* at most 8 * RSA_BYTES */
    if (bits < MCP__JWK_LEAST_BITS || n[n_len - 1] % 2 == 0)
        return mcp__fail(to->error, MCP_EINVAL, 0,
                         "the modulus of an RSA key must be odd and have %d to %d bits",
                         MCP__JWK_LEAST_BITS, MCP__JWK_MOST_BITS);
    if (e[0] == 0 || e[e_len - 1] % 2 == 0 || (e_len == 1 && e[0] < 3))
        return mcp__fail(to->error, MCP_EINVAL, 0,
                         "the exponent of an RSA key must be odd, at least 3 and below 2^32");
    key->signature = n_len;
    add_number(to, OSSL_PKEY_PARAM_RSA_N, n, n_len);
    add_number(to, OSSL_PKEY_PARAM_RSA_E, e, e_len);
    return MCP_OK;
}

static int read_rsa(numbers *to, const mcp_json *jwk, mcp__jwk *key)
{
    int rc = read_rsa_public(to, jwk, key);
    for (size_t i = 2; i < MCP__COUNT(mcp__jwk_rsa) && key->can_sign && rc == MCP_OK; i++) {
        if (!add_member(to, jwk, mcp__jwk_rsa[i].name, mcp__jwk_rsa[i].param))
            rc = MCP_EINVAL;
    }
    return rc == MCP_OK ? make(to, "RSA", key->can_sign, &key->pkey) : rc;
}

static int wrong_length(numbers *to, const char *name)
{
    return mcp__fail(to->error, MCP_EINVAL, 0, "the key's member %s has the wrong length", name);
}

static int read_ec(numbers *to, const mcp_json *jwk, const struct curve *curve, mcp__jwk *key)
{
    static const char *const names[] = {"x", "y", "d"};
    char group[8];
    unsigned char *point = to->bytes;
    size_t n = key->can_sign ? 3 : 2, len;
    *point = UNCOMPRESSED;
    to->used = 1;
    for (size_t i = 0; i < n; i++) {
        unsigned char *bytes = decode(to, jwk, names[i], curve->size, &len);
        if (!bytes)
            return MCP_EINVAL;
        if (len != curve->size)
            return wrong_length(to, names[i]);
    }
    snprintf(group, sizeof(group), "%s", curve->group);
    to->params[to->n++] =
        to->crypto->OSSL_PARAM_construct_utf8_string(OSSL_PKEY_PARAM_GROUP_NAME, group, 0);
    to->params[to->n++] = to->crypto->OSSL_PARAM_construct_octet_string(OSSL_PKEY_PARAM_PUB_KEY,
                                                                        point, 1 + 2 * curve->size);
    if (key->can_sign)
        add_number(to, OSSL_PKEY_PARAM_PRIV_KEY, point + 1 + 2 * curve->size, curve->size);
    key->signature = 2 * curve->size;
    return make(to, "EC", key->can_sign, &key->pkey);
}

static int read_okp(numbers *to, const mcp_json *jwk, const struct curve *curve, mcp__jwk *key)
{
    const mcp__crypto *c = to->crypto;
    unsigned char derived[32] = {0};
    size_t len, n = sizeof(derived);
    unsigned char *x = decode(to, jwk, "x", curve->size, &len);
    if (!x || len != curve->size)
        return x ? wrong_length(to, "x") : MCP_EINVAL;
    key->signature = 2 * curve->size;
    if (!key->can_sign) {
        key->pkey = c->EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, x, len);
        return key->pkey ? MCP_OK : mcp__fail(to->error, MCP_ENOMEM, 0, "no memory for a key");
    }
    unsigned char *d = decode(to, jwk, "d", curve->size, &len);
    if (!d || len != curve->size)
        return d ? wrong_length(to, "d") : MCP_EINVAL;
    key->pkey = c->EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, d, len);
    if (!key->pkey || c->EVP_PKEY_get_raw_public_key(key->pkey, derived, &n) != 1)
        return mcp__fail(to->error, MCP_ENOMEM, 0, "no memory for a key");
    if (memcmp(derived, x, curve->size) != 0)
        return mcp__fail(to->error, MCP_EINVAL, 0, "the two parts of the key are not a pair");
    return MCP_OK;
}

/* ---- type and purpose of a key --------------------------------------------------------------- */

static bool has_private_part(const mcp_json *jwk)
{
    static const char *const names[] = {"d", "p", "q", "dp", "dq", "qi", "oth", "k"};
    for (size_t i = 0; i < MCP__COUNT(names); i++) {
        if (mcp_json_get(jwk, names[i]))
            return true;
    }
    return false;
}

static bool allows_operation(const mcp_json *ops, mcp_str wanted)
{
    mcp_json_iter iter = {0};
    for (const mcp_json *op; (op = mcp_json_next(ops, &iter, NULL));) {
        if (mcp_str_eq(mcp_json_string(op), wanted))
            return true;
    }
    return false;
}

/* Reads kty and crv. Sets *curve to the row of the curve, or to NULL for an RSA key. */
static int read_kind(const mcp_json *jwk, mcp__jwk *key, const struct curve **curve,
                     mcp_error *error)
{
    mcp_str kty = mcp_json_string(mcp_json_get(jwk, "kty"));
    mcp_str crv = mcp_json_string(mcp_json_get(jwk, "crv"));
    *curve = NULL;
    key->kind = MCP__JWK_RSA;
    if (mcp_str_eq(kty, MCP_STR("RSA")))
        return MCP_OK;
    for (size_t i = 0; i < MCP__COUNT(curves); i++) {
        if (mcp_str_eq(kty, mcp_str_from(curves[i].kty)) &&
            mcp_str_eq(crv, mcp_str_from(curves[i].crv))) {
            *curve = &curves[i];
            key->kind = curves[i].kind;
            return MCP_OK;
        }
    }
    return mcp__fail(error, MCP_EUNSUPPORTED, 0, "the type or curve of the key is not supported");
}

/* Reads use, key_ops and alg. */
static int read_purpose(const mcp_json *jwk, mcp__jwk_use use, mcp__jwk *key, mcp_error *error)
{
    const mcp_json *purpose = mcp_json_get(jwk, "use"), *ops = mcp_json_get(jwk, "key_ops");
    const mcp_json *alg = mcp_json_get(jwk, "alg");
    bool sign = use == MCP__JWK_SIGN;
    if ((purpose && !mcp_str_eq(mcp_json_string(purpose), MCP_STR("sig"))) ||
        (ops && !allows_operation(ops, sign ? MCP_STR("sign") : MCP_STR("verify"))))
        return mcp__fail(error, MCP_EUNSUPPORTED, 0, "the key is not for signatures");
    if (alg)
        key->alg = mcp__jws_alg_find(mcp_json_string(alg));
    if (alg && (!key->alg || key->alg->kind != key->kind))
        return mcp__fail(
            error, MCP_EUNSUPPORTED, 0,
            "the algorithm of the key is not supported, or is not for keys of its type");
    if (sign ? !mcp_json_get(jwk, "d") : has_private_part(jwk))
        return mcp__fail(error, MCP_EINVAL, 0,
                         sign ? "the key has no private part" : "the key has a private part");
    key->can_sign = sign;
    return MCP_OK;
}

/* Computes the thumbprint (RFC 7638). The members are canonical base64url, so they need no
 * escaping. */
static bool set_thumbprint(const mcp_json *jwk, const struct curve *curve, mcp__jwk *key)
{
    char text[LONGEST_TEXT + 64];
    mcp_str a = mcp_json_string(mcp_json_get(jwk, curve ? "x" : "e"));
    mcp_str b = mcp_json_string(mcp_json_get(jwk, curve ? "y" : "n"));
    int len;
    if (!curve)
        len = snprintf(text, sizeof(text), "{\"e\":\"%.*s\",\"kty\":\"RSA\",\"n\":\"%.*s\"}",
                       (int)a.len, a.ptr, (int)b.len, b.ptr);
    else if (curve->kind == MCP__JWK_ED25519)
        len = snprintf(text, sizeof(text), "{\"crv\":\"%s\",\"kty\":\"%s\",\"x\":\"%.*s\"}",
                       curve->crv, curve->kty, (int)a.len, a.ptr);
    else
        len = snprintf(text, sizeof(text),
                       "{\"crv\":\"%s\",\"kty\":\"%s\",\"x\":\"%.*s\",\"y\":\"%.*s\"}", curve->crv,
                       curve->kty, (int)a.len, a.ptr, (int)b.len, b.ptr);
    return len > 0 && (size_t)len < sizeof(text) &&
           mcp__sha256_text(key->crypto, (mcp_str){text, (size_t)len}, key->thumbprint);
}

static int fill(const mcp_json *jwk, mcp__jwk_use use, mcp__jwk *key, mcp_error *error)
{
    const struct curve *curve;
    numbers to = {.crypto = key->crypto, .error = error};
    int rc = read_kind(jwk, key, &curve, error);
    if (rc == MCP_OK)
        rc = read_purpose(jwk, use, key, error);
    if (rc == MCP_OK && !curve)
        rc = read_rsa(&to, jwk, key);
    else if (rc == MCP_OK)
        rc = (curve->kind == MCP__JWK_ED25519 ? read_okp : read_ec)(&to, jwk, curve, key);
    if (use == MCP__JWK_SIGN)
        key->crypto->OPENSSL_cleanse(to.bytes, sizeof(to.bytes));
    if (rc == MCP_OK && !set_thumbprint(jwk, curve, key))
        rc = mcp__fail(error, MCP_ENOMEM, 0, "no memory for a key");
    return rc;
}

int mcp__jwk_read(const mcp__crypto *crypto, const mcp_json *jwk, mcp__jwk_use use,
                  const mcp_allocator *allocator, mcp__jwk **ret, mcp_error *error)
{
    const mcp_allocator *a = mcp__allocator(allocator);
    const mcp_json *kid = mcp_json_get(jwk, "kid");
    mcp_str name = mcp_json_string(kid);
    mcp__no_error(error);
    if (!mcp_json_is(jwk, MCP_JSON_OBJECT) || (kid && !name.ptr))
        return mcp__fail(error, MCP_EINVAL, 0, "the key is not an object, or its kid not a string");
    mcp__jwk *key = mcp__zalloc(a, sizeof(*key) + name.len + 1);
    if (!key)
        return mcp__fail(error, MCP_ENOMEM, 0, "no memory for a key");
    key->crypto = crypto;
    key->allocator = *a;
    if (name.len)
        memcpy(key + 1, name.ptr, name.len);
    key->kid = (mcp_str){(const char *)(key + 1), name.len};
    int rc = fill(jwk, use, key, error);
    if (rc == MCP_OK)
        *ret = key;
    else
        mcp__jwk_free(key);
    return rc;
}

void mcp__jwk_free(mcp__jwk *key)
{
    if (!key)
        return;
    mcp_allocator a = key->allocator;
    key->crypto->EVP_PKEY_free(key->pkey);
    mcp__release(&a, key);
}
