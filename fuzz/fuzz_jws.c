/* fuzz_jws.c: untrusted data that a resource server receives. The first byte selects the kind:
 *
 *   0 a token                         1 header members, a newline, and claims, which are signed
 *   2 a JWK set                       3 a DPoP proof: if it has a newline as in 1, it is signed
 *   4 an introspection answer         5 two URLs with a newline between
 *   6 an Authorization header, scopes and Cache-Control
 *
 * The signed forms reach code that runs only after a valid signature.
 */
#include <stdlib.h>

#include "auth/challenge.h"
#include "auth/introspect.h"
#include "auth/keyset.h"
#include "protocol/scope.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NOW 1700000000

/* The key of RFC 8037, appendix A. */
#define PUBLIC                                                                      \
    "\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlr" \
    "wIaaPcHURo\""

static mcp__crypto crypto;
static mcp__jwk *own;
static mcp__jwk_set *keys;
static const mcp_str audience = {"me", 2};
static const mcp__token_rules rules = {.issuer = {"https://as.example", 18},
                                       .audiences = &audience,
                                       .n_audiences = 1,
                                       .type = {"JWT", 3},
                                       .mark = {"scp", 3}};

static void require(bool ok)
{
    if (!ok)
        abort();
}

static void set_up(void)
{
    mcp_json_doc *doc;
    if (own)
        return;
    require(mcp__crypto_load(&crypto, NULL) == MCP_OK);
    mcp_str text =
        MCP_STR("{" PUBLIC ",\"d\":\"nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A\",\"kid\":\"a\"}");
    require(mcp_json_parse(text, NULL, NULL, &doc, NULL) == MCP_OK);
    require(mcp__jwk_read(&crypto, mcp_json_root(doc), MCP__JWK_SIGN, NULL, &own, NULL) == MCP_OK);
    mcp_json_free(doc);
    require(mcp__jwk_set_read(&crypto, MCP_STR("{\"keys\":[{" PUBLIC ",\"kid\":\"a\"}]}"), NULL,
                              &keys, NULL) == MCP_OK);
}

/* Splits the text at the first newline, which is in neither part. */
static bool split(mcp_str text, mcp_str *first, mcp_str *second)
{
    const char *newline = text.len ? memchr(text.ptr, '\n', text.len) : NULL;
    *first = (mcp_str){text.ptr, newline ? (size_t)(newline - text.ptr) : text.len};
    *second = newline ? mcp__str_sub(text, first->len + 1) : (mcp_str){NULL, 0};
    return newline != NULL;
}

/* Every accepted text is in canonical form: encoding its parts again yields the same text. */
static void check_parts(const mcp__jws *jws, mcp_str text)
{
    mcp__buf b;
    mcp__buf_init(&b, mcp__allocator(NULL), 0);
    const char *dot = memchr(text.ptr, '.', text.len);
    mcp__buf_add(&b, text.ptr, (size_t)(dot - text.ptr) + 1);
    char *to = mcp__buf_reserve(&b, MCP__BASE64_SIZE(jws->payload.len) + 1);
    require(to != NULL);
    b.len += mcp__base64url_encode(to, jws->payload.ptr, jws->payload.len);
    require(mcp_str_eq(mcp__buf_view(&b), jws->signing_input));
    mcp__buf_char(&b, '.');
    to = mcp__buf_reserve(&b, MCP__BASE64_SIZE(jws->signature_len) + 1);
    require(to != NULL);
    b.len += mcp__base64url_encode(to, jws->signature, jws->signature_len);
    require(mcp_str_eq(mcp__buf_view(&b), text));
    mcp__buf_free(&b);
}

static void run_token(mcp_str text, bool is_signed)
{
    mcp__token token;
    mcp__refused why = mcp__token_read(&token, text, NULL);
    if (why == MCP__ACCEPTED) {
        check_parts(&token.jws, text);
        why = mcp__token_check(&token, &rules, keys, NOW);
        require(is_signed || why != MCP__ACCEPTED);
    }
    if (why == MCP__ACCEPTED) {
        const mcp__claims *c = &token.claims;
        require(mcp_str_eq(c->issuer, rules.issuer) && c->expires > NOW - MCP__TOKEN_SKEW);
        mcp_str rest = mcp__buf_view(&c->scopes);
        for (mcp_str scope; mcp__scope_next(&rest, &scope);)
            require(mcp__scope_valid(scope));
    }
    mcp__token_clear(&token);
}

static void run_signed(mcp_str text)
{
    mcp_str header, claims;
    mcp__buf b;
    split(text, &header, &claims);
    if (header.len > 1000)
        return;
    mcp__buf_init(&b, mcp__allocator(NULL), 0);
    require(mcp__jws_sign(own, header, claims, &b) == MCP_OK);
    run_token(mcp__buf_view(&b), true);
    mcp__buf_free(&b);
}

static void run_set(mcp_str text)
{
    mcp__jwk_set *set;
    if (mcp__jwk_set_read(&crypto, text, NULL, &set, NULL) != MCP_OK)
        return;
    require(set->n > 0 && set->n + set->skipped <= MCP__JWK_SET_KEYS);
    for (size_t i = 0; i < set->n; i++)
        require(set->keys[i]->pkey && !set->keys[i]->can_sign);
    mcp__jwk_set_unref(set);
}

static void run_proof(mcp_str text)
{
    mcp_str header, claims;
    mcp__buf b;
    mcp__dpop_proof proof;
    mcp__dpop_request r = {.method = MCP_STR("POST"),
                           .url = MCP_STR("https://mcp.example/mcp"),
                           .token = MCP_STR("abc"),
                           .jkt = {own->thumbprint, MCP__SHA256_TEXT},
                           .now = NOW};
    mcp__buf_init(&b, mcp__allocator(NULL), 0);
    bool is_signed = split(text, &header, &claims) && header.len <= 1000;
    if (is_signed) {
        require(mcp__jws_sign(own, header, claims, &b) == MCP_OK);
        text = mcp__buf_view(&b);
    }
    mcp__refused why = mcp__dpop_check(&crypto, &r, &text, 1, NULL, &proof);
    require(why != MCP__ACCEPTED || (is_signed && proof.issued <= NOW + MCP__DPOP_WINDOW));
    mcp__buf_free(&b);
}

static void run_answer(mcp_str text)
{
    mcp__introspection answer;
    mcp__refused why = MCP__REFUSED_NONE;
    int rc = mcp__introspection_read(&answer, text, &rules, NOW, NULL, &why);
    require(rc != MCP_OK || why != MCP__ACCEPTED || answer.claims.expires > NOW - MCP__TOKEN_SKEW);
    mcp__introspection_clear(&answer);
}

static void run_urls(mcp_str text)
{
    mcp_str a, b;
    mcp__buf out;
    bool there = false, back = false;
    split(text, &a, &b);
    int rc = mcp__dpop_same_url(a, b, NULL, &there);
    require(mcp__dpop_same_url(b, a, NULL, &back) == rc && there == back);
    if (rc == MCP_OK)
        require(mcp__dpop_same_url(a, a, NULL, &there) == MCP_OK && there);
    mcp__buf_init(&out, mcp__allocator(NULL), 0);
    if (mcp__resource_metadata_url(&out, a) == MCP_OK)
        require(out.len <= a.len + 40);
    mcp__buf_free(&out);
}

static void run_header(mcp_str text)
{
    mcp__auth_scheme scheme = MCP__SCHEME_BEARER;
    mcp_str token = {NULL, 0};
    mcp__buf out;
    if (mcp__auth_header(text, &scheme, &token) == MCP__ACCEPTED)
        require(token.len > 0 && token.ptr + token.len == text.ptr + text.len);
    uint64_t lifetime = mcp__keyset_lifetime(text);
    require(lifetime >= MCP__KEYSET_LEAST_MS && lifetime <= MCP__KEYSET_MOST_MS);
    mcp__challenge c = {MCP__SCHEME_DPOP, MCP__REFUSED_SCOPE, text, text};
    mcp__buf_init(&out, mcp__allocator(NULL), 0);
    mcp__challenge_put(&out, &c);
    for (size_t i = 0; i < out.len; i++)
        require(out.ptr[i] >= ' ' && out.ptr[i] < 0x7F);
    mcp__buf_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    set_up();
    if (!size)
        return 0;
    mcp_str text = {(const char *)data + 1, size - 1};
    switch (data[0] % 8) {
    case 0: run_token(text, false); break;
    case 1: run_signed(text); break;
    case 2: run_set(text); break;
    case 3: run_proof(text); break;
    case 4: run_answer(text); break;
    case 5: run_urls(text); break;
    default: run_header(text); break;
    }
    return 0;
}
