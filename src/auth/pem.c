/* pem.c: private keys in PEM (RFC 7468, with the older forms of OpenSSL); see prove.h. A key in PEM
 * becomes a JWK first, so that the same checks apply to both. */
#include "auth/prove.h"

static const mcp_str dashes = {"-----", 5};

/* Returns the position of `what` in the text, or text.len. */
static size_t find(mcp_str text, mcp_str what)
{
    size_t i = 0;
    while (i < text.len && !mcp__str_starts(mcp__str_sub(text, i), what))
        i++;
    return i;
}

/* Finds the first block whose label ends with "PRIVATE KEY", and sets *label and *body. */
static bool find_block(mcp_str text, mcp_str *label, mcp_str *body)
{
    const mcp_str begin = MCP_STR("-----BEGIN "), kind = MCP_STR("PRIVATE KEY");
    for (;;) {
        size_t at = find(text, begin);
        if (at == text.len)
            return false;
        text = mcp__str_sub(text, at + begin.len);
        size_t len = find(text, dashes);
        *label = (mcp_str){text.ptr, len};
        text = mcp__str_sub(text, MCP__MIN(len + dashes.len, text.len));
        if (len >= kind.len && mcp_str_eq(mcp__str_sub(*label, len - kind.len), kind))
            break;
    }
    *body = (mcp_str){text.ptr, find(text, dashes)};
    return body->len < text.len;
}

/* Decodes Base64 with white space, by way of base64url. Returns MCP_OK, MCP_EPARSE or
 * MCP_ENOMEM. */
static int decode(mcp__buf *to, mcp_str body)
{
    char *text = mcp__buf_reserve(to, body.len + 1);
    size_t len = 0;
    if (!text)
        return to->failed;
    for (size_t i = 0; i < body.len; i++) {
        char c = body.ptr[i];
        if (c == ' ' || c == '\t' || c == '\r' || c == '\n')
            continue;
        if (c == '-' || c == '_')
            return MCP_EPARSE;
        text[len++] = (char)(c == '+' ? '-' : c == '/' ? '_' : c);
    }
    while (len && text[len - 1] == '=')
        len--;
    to->len = mcp__base64url_decode(text, (mcp_str){text, len});
    if (to->len != SIZE_MAX)
        return MCP_OK;
    to->len = 0;
    return MCP_EPARSE;
}

/* Converts a decoded key to a JWK. */
static int put_der(const mcp__crypto *crypto, const mcp__buf *der, mcp__buf *jwk)
{
    const unsigned char *at = (const unsigned char *)der->ptr;
    EVP_PKEY *pkey = crypto->d2i_AutoPrivateKey(NULL, &at, (long)der->len);
    int rc = pkey ? mcp__jwk_put(crypto, pkey, jwk) : MCP_EPARSE;
    crypto->EVP_PKEY_free(pkey);
    crypto->ERR_clear_error();
    return rc;
}

/* Appends the key in a PEM text as a JWK. */
static int put_pem(const mcp__crypto *crypto, mcp_str text, mcp__buf *jwk, mcp_error *error)
{
    mcp_str label, body;
    mcp__buf der;
    if (!find_block(text, &label, &body))
        return mcp__fail(error, MCP_EPARSE, 0, "there is no private key in the PEM text");
    if (mcp__str_starts(label, MCP_STR("ENCRYPTED")) ||
        (body.len && memchr(body.ptr, ':', body.len)))
        return mcp__fail(error, MCP_EUNSUPPORTED, 0,
                         "the private key is encrypted; decrypt it (openssl pkey)");
    mcp__buf_init(&der, jwk->allocator, 0);
    int rc = decode(&der, body);
    if (rc == MCP_OK)
        rc = put_der(crypto, &der, jwk);
    mcp__buf_wipe(&der);
    return rc == MCP_OK
               ? rc
               : mcp__fail(error, rc, 0, "the private key in the PEM text cannot be used: %s",
                           mcp_error_text(rc));
}

static int read_jwk(const mcp__crypto *crypto, mcp_str text, const mcp_allocator *allocator,
                    mcp__jwk **ret, mcp_error *error)
{
    mcp_json_limits limits = {.size = sizeof(limits), .max_depth = MCP__JWS_DEPTH};
    mcp_json_doc *doc;
    int rc = mcp_json_parse(text, &limits, allocator, &doc, NULL);
    if (rc != MCP_OK)
        return mcp__fail(error, rc, 0, "the private key is neither PEM nor a JWK");
    rc = mcp__jwk_read(crypto, mcp_json_root(doc), MCP__JWK_SIGN, allocator, ret, error);
    mcp_json_free(doc);
    return rc;
}

int mcp__signing_key_read(const mcp__crypto *crypto, mcp_str text, const mcp_allocator *allocator,
                          mcp__jwk **ret, mcp_error *error)
{
    const mcp_allocator *a = mcp__allocator(allocator);
    mcp__buf jwk;
    mcp__no_error(error);
    if (text.len > MCP__PEM_BYTES)
        return mcp__fail(error, MCP_ELIMIT, 0, "the private key is longer than %d bytes",
                         MCP__PEM_BYTES);
    if (find(text, dashes) == text.len)
        return read_jwk(crypto, text, a, ret, error);
    mcp__buf_init(&jwk, a, 0);
    int rc = put_pem(crypto, text, &jwk, error);
    if (rc == MCP_OK)
        rc = read_jwk(crypto, mcp__buf_view(&jwk), a, ret, error);
    mcp__buf_wipe(&jwk);
    return rc;
}
