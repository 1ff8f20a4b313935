/* prove.c: proofs of possession that a client makes (RFC 9449 section 4.2), and its assertions (RFC
 * 7523 section 3); see prove.h. */
#include "auth/prove.h"

/* ---- keys ------------------------------------------------------------------------------------ */

/* The members are canonical base64url, so they need no escaping. */
static void put_header(mcp__buf *to, const mcp_json *jwk)
{
    mcp_str x = mcp_json_string(mcp_json_get(jwk, "x"));
    mcp_str y = mcp_json_string(mcp_json_get(jwk, "y"));
    mcp__buf_printf(to,
                    "\"typ\":\"dpop+jwt\",\"jwk\":{\"kty\":\"EC\",\"crv\":\"P-256\","
                    "\"x\":\"%.*s\",\"y\":\"%.*s\"}",
                    (int)x.len, x.ptr, (int)y.len, y.ptr);
}

int mcp__prover_read(mcp__prover *ret, const mcp__crypto *crypto, mcp_str jwk,
                     const mcp_allocator *allocator, mcp_error *error)
{
    const mcp_allocator *a = mcp__allocator(allocator);
    mcp_json_doc *doc = NULL;
    ret->key = NULL;
    mcp__buf_init(&ret->header, a, 0);
    int rc = mcp_json_parse(jwk, NULL, a, &doc, error);
    if (rc != MCP_OK)
        return rc;
    const mcp_json *root = mcp_json_root(doc);
    rc = mcp__jwk_read(crypto, root, MCP__JWK_SIGN, a, &ret->key, error);
    if (rc == MCP_OK && ret->key->kind != MCP__JWK_P256)
        rc = mcp__fail(error, MCP_EUNSUPPORTED, 0, "a key for DPoP must be for ES256");
    if (rc == MCP_OK) {
        put_header(&ret->header, root);
        if (ret->header.failed)
            rc = mcp__fail(error, ret->header.failed, 0, "no memory for a key");
    }
    mcp_json_free(doc);
    return rc;
}

void mcp__prover_clear(mcp__prover *prover)
{
    mcp__jwk_free(prover->key);
    prover->key = NULL;
    mcp__buf_free(&prover->header);
}

/* ---- claims ---------------------------------------------------------------------------------- */

static void add_text(mcp_json_writer *w, const char *name, mcp_str value)
{
    mcp_json_key(w, name);
    mcp_json_add_str(w, value);
}

static void add_id(mcp_json_writer *w, const unsigned char *random)
{
    char text[MCP__BASE64_SIZE(MCP__RANDOM_ID)];
    add_text(w, "jti", (mcp_str){text, mcp__base64url_encode(text, random, MCP__RANDOM_ID)});
}

static void add_time(mcp_json_writer *w, const char *name, int64_t seconds)
{
    mcp_json_key(w, name);
    mcp_json_add_int(w, seconds);
}

/* Signs what the writer has, and frees it. */
static int sign(mcp_json_writer *w, const mcp__jwk *key, mcp_str header, mcp__buf *to)
{
    mcp_str payload;
    int rc = mcp_json_writer_finish(w, &payload);
    if (rc == MCP_OK)
        rc = mcp__jws_sign(key, header, payload, to);
    mcp_json_writer_free(w);
    return rc;
}

int mcp__proof_put(mcp__buf *to, const mcp__prover *prover, const mcp__proof *proof)
{
    char hash[MCP__SHA256_TEXT];
    size_t len = 0;
    if (proof->token.len && !mcp__sha256_text(prover->key->crypto, proof->token, hash))
        return MCP_EIO;
    while (len < proof->url.len && proof->url.ptr[len] != '?' && proof->url.ptr[len] != '#')
        len++;
    mcp_json_writer *w = mcp_json_writer_new(to->allocator, 0);
    mcp_json_begin_object(w);
    add_id(w, proof->random);
    add_text(w, "htm", proof->method);
    add_text(w, "htu", (mcp_str){proof->url.ptr, len});
    add_time(w, "iat", proof->now);
    if (proof->token.len)
        add_text(w, "ath", (mcp_str){hash, sizeof(hash)});
    if (proof->nonce.len)
        add_text(w, "nonce", proof->nonce);
    mcp_json_end(w);
    return sign(w, prover->key, mcp__buf_view(&prover->header), to);
}

/* Appends the header of an assertion, apart from `alg`. */
static int put_assertion_header(mcp__buf *to, const mcp__jwk *key)
{
    mcp_json_writer *w = mcp_json_writer_new(to->allocator, 0);
    mcp_str text;
    mcp_json_begin_object(w);
    add_text(w, "typ", MCP_STR("JWT"));
    if (key->kid.len)
        add_text(w, "kid", key->kid);
    mcp_json_end(w);
    int rc = mcp_json_writer_finish(w, &text);
    if (rc == MCP_OK) /* without the braces */
        mcp__buf_add(to, text.ptr + 1, text.len - 2);
    mcp_json_writer_free(w);
    return rc == MCP_OK ? to->failed : rc;
}

int mcp__assertion_put(mcp__buf *to, const mcp__jwk *key, mcp_str client_id, mcp_str audience,
                       int64_t now, const unsigned char *random)
{
    mcp__buf header;
    mcp__buf_init(&header, to->allocator, 0);
    int rc = put_assertion_header(&header, key);
    if (rc == MCP_OK) {
        mcp_json_writer *w = mcp_json_writer_new(to->allocator, 0);
        mcp_json_begin_object(w);
        add_text(w, "iss", client_id);
        add_text(w, "sub", client_id);
        add_text(w, "aud", audience);
        add_id(w, random);
        add_time(w, "iat", now);
        add_time(w, "exp", now + MCP__ASSERTION_SECONDS);
        mcp_json_end(w);
        rc = sign(w, key, mcp__buf_view(&header), to);
    }
    mcp__buf_free(&header);
    return rc;
}
