/* jws.c: parses JWSs, and makes and verifies signatures; see jws.h. */
#include "auth/jws.h"

/* ---- reading --------------------------------------------------------------------------------- */

/* Splits the text at its first two dots. */
static bool split(mcp_str text, mcp_str parts[3])
{
    for (size_t i = 0; i < 2; i++) {
        const char *dot = text.len ? memchr(text.ptr, '.', text.len) : NULL;
        if (!dot)
            return false;
        parts[i] = (mcp_str){text.ptr, (size_t)(dot - text.ptr)};
        text = mcp__str_sub(text, parts[i].len + 1);
    }
    parts[2] = text; /* if it has a third dot, it is refused as base64url */
    return true;
}

/* Decodes a part into an empty buffer. */
static mcp__jws_fault decode(mcp__buf *to, mcp_str part)
{
    char *bytes = mcp__buf_reserve(to, part.len + 1);
    if (!bytes)
        return MCP__JWS_NO_MEMORY;
    size_t len = mcp__base64url_decode(bytes, part);
    if (len == SIZE_MAX)
        return MCP__JWS_FORM;
    to->len = len;
    return MCP__JWS_OK;
}

static mcp__jws_fault decode_signature(mcp__jws *jws, mcp_str part)
{
    if (part.len > (sizeof(jws->signature) * 4 + 2) / 3)
        return MCP__JWS_FORM;
    jws->signature_len = mcp__base64url_decode(jws->signature, part);
    return jws->signature_len == SIZE_MAX ? MCP__JWS_FORM : MCP__JWS_OK;
}

static int parse_object(mcp_str text, const mcp_allocator *allocator, mcp_json_doc **ret)
{
    mcp_json_limits limits = {.size = sizeof(limits), .max_depth = MCP__JWS_DEPTH};
    mcp_json_doc *doc;
    int rc = mcp_json_parse(text, &limits, allocator, &doc, NULL);
    if (rc != MCP_OK)
        return rc == MCP_ENOMEM ? rc : MCP_EPARSE;
    if (!mcp_json_is(mcp_json_root(doc), MCP_JSON_OBJECT)) {
        mcp_json_free(doc);
        return MCP_EPARSE;
    }
    *ret = doc;
    return MCP_OK;
}

static mcp__jws_fault parse_header(mcp__jws *jws, mcp_str part)
{
    mcp__buf text;
    mcp__buf_init(&text, jws->payload.allocator, 0);
    mcp__jws_fault fault = decode(&text, part);
    if (fault == MCP__JWS_OK) {
        int rc = parse_object(mcp__buf_view(&text), text.allocator, &jws->header);
        if (rc != MCP_OK)
            fault = rc == MCP_ENOMEM ? MCP__JWS_NO_MEMORY : MCP__JWS_HEADER;
    }
    mcp__buf_free(&text);
    return fault;
}

/* Gets an optional member. Returns false if it is not a string. */
static bool get_text(const mcp_json *header, const char *name, mcp_str *ret)
{
    const mcp_json *value = mcp_json_get(header, name);
    *ret = mcp_json_string(value);
    return !value || ret->ptr;
}

static mcp__jws_fault check_header(mcp__jws *jws, bool embedded)
{
    const mcp_json *header = mcp_json_root(jws->header);
    mcp_str alg;
    jws->jwk = mcp_json_get(header, "jwk");
    if (mcp_json_get(header, "crit"))
        return MCP__JWS_CRITICAL;
    if (mcp_json_get(header, "jku") || mcp_json_get(header, "x5u") || mcp_json_get(header, "x5c") ||
        (jws->jwk && !embedded))
        return MCP__JWS_KEY;
    if (!get_text(header, "alg", &alg) || !get_text(header, "kid", &jws->kid) ||
        !get_text(header, "typ", &jws->typ))
        return MCP__JWS_HEADER;
    jws->alg = mcp__jws_alg_find(alg);
    return jws->alg ? MCP__JWS_OK : MCP__JWS_ALGORITHM;
}

mcp__jws_fault mcp__jws_read(mcp__jws *jws, mcp_str text, bool embedded,
                             const mcp_allocator *allocator)
{
    mcp_str parts[3];
    memset(jws, 0, offsetof(mcp__jws, signature));
    jws->signature_len = 0;
    mcp__buf_init(&jws->payload, mcp__allocator(allocator), 0);
    if (!split(text, parts))
        return MCP__JWS_FORM;
    jws->signing_input = (mcp_str){text.ptr, parts[0].len + 1 + parts[1].len};
    mcp__jws_fault fault = parse_header(jws, parts[0]);
    if (fault == MCP__JWS_OK)
        fault = check_header(jws, embedded);
    if (fault == MCP__JWS_OK)
        fault = decode_signature(jws, parts[2]);
    if (fault == MCP__JWS_OK)
        fault = decode(&jws->payload, parts[1]);
    return fault;
}

void mcp__jws_clear(mcp__jws *jws)
{
    mcp_json_free(jws->header);
    jws->header = NULL;
    mcp__buf_free(&jws->payload);
}

int mcp__jws_claims(const mcp__jws *jws, mcp_json_doc **ret)
{
    return parse_object(mcp__buf_view(&jws->payload), jws->payload.allocator, ret);
}

bool mcp__jws_is_type(mcp_str typ, mcp_str type)
{
    const mcp_str prefix = MCP_STR("application/");
    if (typ.len > prefix.len && mcp__str_same((mcp_str){typ.ptr, prefix.len}, prefix))
        typ = mcp__str_sub(typ, prefix.len);
    return mcp__str_same(typ, type);
}

/* ---- verifying ------------------------------------------------------------------------------- */

/* Writes an integer of a signature in DER: without leading zero bytes, except one if the highest
 * bit of the first byte is set. Returns the number of bytes. */
static size_t put_integer(unsigned char *to, const unsigned char *bytes, size_t len)
{
    while (len > 1 && bytes[0] == 0)
        bytes++, len--;
    size_t pad = bytes[0] >> 7;
    to[0] = 0x02;
    to[1] = (unsigned char)(len + pad);
    to[2] = 0;
    memcpy(to + 2 + pad, bytes, len);
    return 2 + pad + len;
}

/* The largest signature has two integers of 66 bytes. */
#define DER_SIZE (3 + 2 * (3 + 66))

/* Converts r || s to the DER form that OpenSSL expects. Returns the number of bytes. */
static size_t to_der(unsigned char to[DER_SIZE], const unsigned char *signature, size_t len)
{
    unsigned char both[DER_SIZE];
    size_t n = put_integer(both, signature, len / 2);
    n += put_integer(both + n, signature + len / 2, len / 2);
    size_t head = n > 127 ? 3 : 2;
    to[0] = 0x30;
    to[1] = 0x81;
    to[head - 1] = (unsigned char)n;
    memcpy(to + head, both, n);
    return head + n;
}

/* Sets the padding of an RSA signature; the salt of PSS is as long as the digest. */
static bool set_padding(const mcp__crypto *c, EVP_PKEY_CTX *ctx, const mcp__jws_alg *alg)
{
    if (alg->kind != MCP__JWK_RSA)
        return true;
    if (!alg->pss)
        return c->EVP_PKEY_CTX_set_rsa_padding(ctx, RSA_PKCS1_PADDING) == 1;
    return c->EVP_PKEY_CTX_set_rsa_padding(ctx, RSA_PKCS1_PSS_PADDING) == 1 &&
           c->EVP_PKEY_CTX_set_rsa_pss_saltlen(ctx, RSA_PSS_SALTLEN_DIGEST) == 1;
}

static bool has_two_numbers(const mcp__jws_alg *alg)
{
    return alg->kind == MCP__JWK_P256 || alg->kind == MCP__JWK_P384 || alg->kind == MCP__JWK_P521;
}

bool mcp__jws_verify(const mcp__jws *jws, const mcp__jwk *key)
{
    const mcp__crypto *c = key->crypto;
    unsigned char der[DER_SIZE];
    const unsigned char *signature = jws->signature;
    size_t len = jws->signature_len;
    EVP_PKEY_CTX *padding = NULL;
    if (!mcp__jwk_allows(key, jws->alg) || len != key->signature)
        return false;
    if (has_two_numbers(jws->alg)) {
        len = to_der(der, signature, len);
        signature = der;
    }
    EVP_MD_CTX *ctx = c->EVP_MD_CTX_new();
    bool ok =
        ctx &&
        c->EVP_DigestVerifyInit_ex(ctx, &padding, jws->alg->digest, NULL, NULL, key->pkey, NULL) ==
            1 &&
        set_padding(c, padding, jws->alg) &&
        c->EVP_DigestVerify(ctx, signature, len, (const unsigned char *)jws->signing_input.ptr,
                            jws->signing_input.len) == 1;
    c->EVP_MD_CTX_free(ctx);
    if (!ok)
        c->ERR_clear_error(); /* TLS code examines the same error queue */
    return ok;
}

/* ---- signing --------------------------------------------------------------------------------- */

/* Reads an integer in DER into `size` bytes. Returns the position after it, or NULL. */
static const unsigned char *take_integer(const unsigned char *der, const unsigned char *end,
                                         unsigned char *to, size_t size)
{
    if (end - der < 2 || der[0] != 0x02 || end - der - 2 < der[1])
        return NULL;
    size_t len = der[1];
    for (der += 2; len > 1 && *der == 0; len--)
        der++;
    if (len > size)
        return NULL;
    memset(to, 0, size - len);
    memcpy(to + size - len, der, len);
    return der + len;
}

static bool from_der(const unsigned char *der, size_t len, unsigned char *to, size_t half)
{
    const unsigned char *end = der + len;
    der += len > 2 && der[1] == 0x81 ? 3 : 2;
    der = len > 3 ? take_integer(der, end, to, half) : NULL;
    return der && take_integer(der, end, to + half, half);
}

static bool sign(const mcp__jwk *key, const mcp__jws_alg *alg, mcp_str input,
                 unsigned char to[MCP__JWS_SIGNATURE])
{
    const mcp__crypto *c = key->crypto;
    unsigned char der[DER_SIZE];
    bool pair = has_two_numbers(alg);
    size_t len = pair ? sizeof(der) : MCP__JWS_SIGNATURE;
    EVP_PKEY_CTX *padding = NULL;
    EVP_MD_CTX *ctx = c->EVP_MD_CTX_new();
    bool ok =
        ctx &&
        c->EVP_DigestSignInit_ex(ctx, &padding, alg->digest, NULL, NULL, key->pkey, NULL) == 1 &&
        set_padding(c, padding, alg) &&
        c->EVP_DigestSign(ctx, pair ? der : to, &len, (const unsigned char *)input.ptr,
                          input.len) == 1 &&
        (!pair || from_der(der, len, to, key->signature / 2));
    c->EVP_MD_CTX_free(ctx);
    c->ERR_clear_error();
    return ok;
}

static void put_encoded(mcp__buf *to, const void *bytes, size_t len)
{
    char *out = mcp__buf_reserve(to, MCP__BASE64_SIZE(len));
    if (out)
        to->len += mcp__base64url_encode(out, bytes, len);
}

int mcp__jws_sign(const mcp__jwk *key, mcp_str header, mcp_str payload, mcp__buf *to)
{
    unsigned char signature[MCP__JWS_SIGNATURE];
    const mcp__jws_alg *alg = key->alg;
    size_t start = to->len;
    mcp__buf head;
    if (!key->can_sign)
        return MCP_EINVAL;
    for (const mcp__jws_alg *row = mcp__jws_algs; !alg; row++)
        alg = mcp__jwk_allows(key, row) ? row : NULL;
    mcp__buf_init(&head, to->allocator, 0);
    mcp__buf_printf(&head, "{\"alg\":\"%s\"%s%.*s}", alg->name, header.len ? "," : "",
                    (int)header.len, header.ptr);
    if (!head.failed)
        put_encoded(to, head.ptr, head.len);
    int rc = head.failed;
    mcp__buf_free(&head);
    mcp__buf_char(to, '.');
    put_encoded(to, payload.ptr, payload.len);
    if (rc != MCP_OK || to->failed)
        return rc != MCP_OK ? rc : to->failed;
    if (!sign(key, alg, (mcp_str){to->ptr + start, to->len - start}, signature))
        return MCP_EIO;
    mcp__buf_char(to, '.');
    put_encoded(to, signature, key->signature);
    return to->failed;
}
