/* jwk_put.c: writes private keys as JWKs (RFC 7518 section 6, RFC 8037); see prove.h. */
#include "auth/prove.h"

enum { NUMBER_BYTES = MCP__JWK_MOST_BITS / 8 };

/* The elliptic curves, by the names that OpenSSL has for them. */
static const struct curve {
    const char *group, *crv;
    int size; /* of a coordinate, in bytes */
} curves[] = {{"prime256v1", "P-256", 32}, {"secp384r1", "P-384", 48}, {"secp521r1", "P-521", 66}};

static void put_bytes(mcp__buf *to, const char *name, const unsigned char *bytes, size_t len)
{
    mcp__buf_printf(to, ",\"%s\":\"", name);
    char *text = mcp__buf_reserve(to, MCP__BASE64_SIZE(len));
    if (text)
        to->len += mcp__base64url_encode(text, bytes, len);
    mcp__buf_char(to, '"');
}

/* Appends a number with `size` bytes, or without leading zeros if `size` is 0. */
static int put_number(const mcp__crypto *c, EVP_PKEY *pkey, const char *name, const char *param,
                      int size, mcp__buf *to)
{
    unsigned char bytes[NUMBER_BYTES];
    BIGNUM *number = NULL;
    if (c->EVP_PKEY_get_bn_param(pkey, param, &number) != 1)
        return MCP_EIO;
    int len = size ? size : (c->BN_num_bits(number) + 7) / 8;
    bool ok = len <= NUMBER_BYTES && c->BN_bn2binpad(number, bytes, len) == len;
    if (ok)
        put_bytes(to, name, bytes, (size_t)len);
    c->BN_clear_free(number);
    c->OPENSSL_cleanse(bytes, sizeof(bytes));
    return ok ? to->failed : MCP_EUNSUPPORTED;
}

static int put_rsa(const mcp__crypto *c, EVP_PKEY *pkey, mcp__buf *to)
{
    int rc = MCP_OK;
    mcp__buf_lit(to, "{\"kty\":\"RSA\"");
    for (size_t i = 0; i < MCP__COUNT(mcp__jwk_rsa) && rc == MCP_OK; i++)
        rc = put_number(c, pkey, mcp__jwk_rsa[i].name, mcp__jwk_rsa[i].param, 0, to);
    return rc;
}

static int put_ec(const mcp__crypto *c, EVP_PKEY *pkey, mcp__buf *to)
{
    static const struct {
        const char *name, *param;
    } parts[] = {{"x", OSSL_PKEY_PARAM_EC_PUB_X},
                 {"y", OSSL_PKEY_PARAM_EC_PUB_Y},
                 {"d", OSSL_PKEY_PARAM_PRIV_KEY}};
    char group[32] = "";
    const struct curve *curve = NULL;
    if (c->EVP_PKEY_get_utf8_string_param(pkey, OSSL_PKEY_PARAM_GROUP_NAME, group, sizeof(group),
                                          NULL) != 1)
        return MCP_EUNSUPPORTED;
    for (size_t i = 0; i < MCP__COUNT(curves); i++) {
        if (strcmp(group, curves[i].group) == 0)
            curve = &curves[i];
    }
    if (!curve)
        return MCP_EUNSUPPORTED;
    int rc = MCP_OK;
    mcp__buf_printf(to, "{\"kty\":\"EC\",\"crv\":\"%s\"", curve->crv);
    for (size_t i = 0; i < MCP__COUNT(parts) && rc == MCP_OK; i++)
        rc = put_number(c, pkey, parts[i].name, parts[i].param, curve->size, to);
    return rc;
}

static int put_ed25519(const mcp__crypto *c, EVP_PKEY *pkey, mcp__buf *to)
{
    unsigned char x[32], d[32];
    size_t x_len = sizeof(x), d_len = sizeof(d);
    if (c->EVP_PKEY_get_raw_public_key(pkey, x, &x_len) != 1 ||
        c->EVP_PKEY_get_raw_private_key(pkey, d, &d_len) != 1)
        return MCP_EIO;
    mcp__buf_lit(to, "{\"kty\":\"OKP\",\"crv\":\"Ed25519\"");
    put_bytes(to, "x", x, x_len);
    put_bytes(to, "d", d, d_len);
    c->OPENSSL_cleanse(d, sizeof(d));
    return to->failed;
}

int mcp__jwk_put(const mcp__crypto *crypto, EVP_PKEY *pkey, mcp__buf *to)
{
    static const struct {
        const char *type;
        int (*put)(const mcp__crypto *c, EVP_PKEY *pkey, mcp__buf *to);
    } types[] = {{"RSA", put_rsa}, {"EC", put_ec}, {"ED25519", put_ed25519}};
    int rc = MCP_EUNSUPPORTED;
    for (size_t i = 0; i < MCP__COUNT(types); i++) {
        if (crypto->EVP_PKEY_is_a(pkey, types[i].type) == 1)
            rc = types[i].put(crypto, pkey, to);
    }
    crypto->ERR_clear_error();
    mcp__buf_char(to, '}');
    return rc == MCP_OK ? to->failed : rc;
}

int mcp__jwk_make(const mcp__crypto *crypto, mcp__buf *to)
{
    char group[] = "P-256";
    OSSL_PARAM params[2];
    EVP_PKEY *pkey = NULL;
    EVP_PKEY_CTX *ctx = crypto->EVP_PKEY_CTX_new_from_name(NULL, "EC", NULL);
    params[0] = crypto->OSSL_PARAM_construct_utf8_string(OSSL_PKEY_PARAM_GROUP_NAME, group, 0);
    params[1] = crypto->OSSL_PARAM_construct_end();
    bool ok = ctx && crypto->EVP_PKEY_keygen_init(ctx) == 1 &&
              crypto->EVP_PKEY_CTX_set_params(ctx, params) == 1 &&
              crypto->EVP_PKEY_generate(ctx, &pkey) == 1;
    int rc = ok ? mcp__jwk_put(crypto, pkey, to) : MCP_EIO;
    crypto->EVP_PKEY_free(pkey);
    crypto->EVP_PKEY_CTX_free(ctx);
    crypto->ERR_clear_error();
    return rc;
}
