/* rig.h: keys and signed texts for the tests of src/auth. */
#ifndef MCP_TESTS_AUTH_RIG_H
#define MCP_TESTS_AUTH_RIG_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "auth/jws.h"
#include "support/failalloc.h"
#include "vectors.h"

static mcp__crypto crypto;

static inline int load_crypto(void **state)
{
    mcp_error error;
    (void)state;
    if (mcp__crypto_load(&crypto, &error) == MCP_OK)
        return 0;
    print_message("%s\n", error.text);
    return -1;
}

static inline mcp_json_doc *json(const char *text)
{
    mcp_json_doc *doc = NULL;
    assert_int_equal(mcp_json_parse(mcp_str_from(text), NULL, NULL, &doc, NULL), MCP_OK);
    return doc;
}

static inline mcp__jwk *key_for(const char *text, mcp__jwk_use use)
{
    mcp_json_doc *doc = json(text);
    mcp__jwk *key = NULL;
    mcp_error error;
    int rc = mcp__jwk_read(&crypto, mcp_json_root(doc), use, NULL, &key, &error);
    if (rc != MCP_OK)
        print_message("%s\n", error.text);
    assert_int_equal(rc, MCP_OK);
    mcp_json_free(doc);
    return key;
}

/* The public part of a signing key, as JSON. */
static inline char *public_part(const char *text)
{
    static const char *const names[] = {"kty", "crv", "x", "y", "n", "e", "kid"};
    mcp_json_doc *doc = json(text);
    mcp__buf b;
    mcp__buf_init(&b, mcp__allocator(NULL), 0);
    mcp__buf_char(&b, '{');
    for (size_t i = 0; i < MCP__COUNT(names); i++) {
        mcp_str value = mcp_json_string(mcp_json_get(mcp_json_root(doc), names[i]));
        if (value.ptr)
            mcp__buf_printf(&b, "%s\"%s\":\"%.*s\"", b.len > 1 ? "," : "", names[i], (int)value.len,
                            value.ptr);
    }
    mcp__buf_add(&b, "}", 2);
    assert_int_equal(b.failed, MCP_OK);
    mcp_json_free(doc);
    return b.ptr;
}

static inline mcp__jwk *public_key(const char *text)
{
    char *part = public_part(text);
    mcp__jwk *key = key_for(part, MCP__JWK_VERIFY);
    free(part);
    return key;
}

/* Returns a signed text, which the caller frees. */
static inline char *sign_text(const mcp__jwk *key, const char *header, const char *payload)
{
    mcp__buf b;
    mcp__buf_init(&b, mcp__allocator(NULL), 0);
    assert_int_equal(mcp__jws_sign(key, mcp_str_from(header), mcp_str_from(payload), &b), MCP_OK);
    mcp__buf_add(&b, "", 1);
    assert_int_equal(b.failed, MCP_OK);
    return b.ptr;
}

/* Returns header "." payload "." signature. The signature is not encoded. */
static inline char *assemble(const char *header, const char *payload, const char *signature)
{
    size_t n = strlen(header), m = strlen(payload), s = strlen(signature);
    char *text = malloc(MCP__BASE64_SIZE(n) + MCP__BASE64_SIZE(m) + s + 3);
    assert_non_null(text);
    size_t len = mcp__base64url_encode(text, header, n);
    text[len++] = '.';
    len += mcp__base64url_encode(text + len, payload, m);
    text[len++] = '.';
    memcpy(text + len, signature, s + 1);
    return text;
}

/* A copy of a text, which the caller frees. */
static inline char *copy_text(const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = malloc(size);
    assert_non_null(copy);
    memcpy(copy, text, size);
    return copy;
}

/* A deterministic random generator, so that failures can be repeated. */
static inline uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

#endif
