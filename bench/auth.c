/* auth: measures the check of a new access token of 1 KiB, compared with OpenSSL's verification of
 * its signature alone, and the check of a token that is in the cache.
 *
 *   auth                         prints for each algorithm the medians of CPU time in µs:
 *                                bare=… check=… above=…
 *   auth --write FOLDER ISSUER   writes a token of this issuer (RS256, valid for a day) to
 *                                FOLDER/token, and its keys to FOLDER/jwks.json
 *   auth --write-many N FOLDER ISSUER
 *                                writes N different tokens (ES256), one per line, to
 *                                FOLDER/tokens, and their keys to FOLDER/jwks.json
 *
 * The turns are short and alternate, so that other load affects both measurements. `above` is the
 * median of the differences between the two.
 *
 * The goal is that a check costs at most 10 µs more than the verification of the signature.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "auth/token.h"
#include "auth/token_cache.h"
#include "clock.h"

enum { ROUNDS = 201, EACH = 20, NOW = 1700000000 };

static mcp__crypto crypto;

static double cpu_us(void)
{
    return clock_ns(CLOCK_PROCESS_CPUTIME_ID) / 1e3;
}

/* The measured objects. */
typedef struct bench_token {
    mcp__jwk *signer;
    mcp__jwk_set *keys;
    mcp__buf text;
} bench_token;

static const char *issuer = "https://as.example";
static long long issued = NOW;
static const mcp_str audience = {"https://mcp.example/mcp", 23};
static const mcp__token_rules rules = {
    .issuer = {"https://as.example", 18}, .audiences = &audience, .n_audiences = 1};

static void require(bool ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "auth: %s failed\n", what);
    exit(1);
}

/* Makes a signing key, and a set with its public part. */
static void make_keys(bench_token *t, const char *private_jwk, const char *public_set)
{
    mcp_json_doc *doc;
    require(mcp_json_parse(mcp_str_from(private_jwk), NULL, NULL, &doc, NULL) == MCP_OK, "JSON");
    require(mcp__jwk_read(&crypto, mcp_json_root(doc), MCP__JWK_SIGN, NULL, &t->signer, NULL) ==
                MCP_OK,
            "a key");
    mcp_json_free(doc);
    require(mcp__jwk_set_read(&crypto, mcp_str_from(public_set), NULL, &t->keys, NULL) == MCP_OK,
            "a key set");
}

/* Signs claims with `fill` more bytes. Tokens of different numbers have the same length, but
 * differ in `sub` and `jti`. */
static void sign_token(bench_token *t, unsigned number, size_t fill)
{
    char claims[2048], filling[1024] = "";
    memset(filling, 'x', fill);
    snprintf(claims, sizeof(claims),
             "{\"iss\":\"%s\",\"sub\":\"user%06u\",\"client_id\":\"client\","
             "\"aud\":[\"https://mcp.example/mcp\",\"account\"],\"exp\":%lld,"
             "\"iat\":%lld,\"jti\":\"%08x\",\"scope\":\"files:read files:write\","
             "\"groups\":[\"a\",\"b\",\"c\"],\"more\":\"%s\"}",
             issuer, number, issued + 86400, issued, number, filling);
    mcp__buf_init(&t->text, mcp__allocator(NULL), 0);
    require(mcp__jws_sign(t->signer, MCP_STR("\"typ\":\"at+jwt\",\"kid\":\"k\""),
                          mcp_str_from(claims), &t->text) == MCP_OK,
            "signing");
}

/* Makes a token of 1 KiB. Returns its `fill`. */
static size_t make_token(bench_token *t)
{
    for (size_t fill = 0;; fill++) {
        sign_token(t, 0, fill);
        if (t->text.len >= 1024)
            return fill;
        mcp__buf_free(&t->text);
    }
}

static void write_file(const char *folder, const char *name, mcp_str text)
{
    char path[4096];
    require(snprintf(path, sizeof(path), "%s/%s", folder, name) < (int)sizeof(path), "a path");
    FILE *f = fopen(path, "w");
    require(f && fwrite(text.ptr, 1, text.len, f) == text.len && fclose(f) == 0, path);
}

static double measure_bare(const bench_token *t)
{
    mcp__jws jws;
    const mcp__jwk *key = t->keys->keys[0];
    require(mcp__jws_read(&jws, mcp__buf_view(&t->text), false, NULL) == MCP__JWS_OK, "reading");
    double start = cpu_us();
    for (int i = 0; i < EACH; i++)
        require(mcp__jws_verify(&jws, key), "verification");
    double us = (cpu_us() - start) / EACH;
    mcp__jws_clear(&jws);
    return us;
}

static double measure_check(const bench_token *t)
{
    double start = cpu_us();
    for (int i = 0; i < EACH; i++) {
        mcp__token token;
        mcp__refused why = mcp__token_read(&token, mcp__buf_view(&t->text), NULL);
        if (why == MCP__ACCEPTED)
            why = mcp__token_check(&token, &rules, t->keys, NOW);
        require(why == MCP__ACCEPTED, mcp__refusal_text(why));
        mcp__token_clear(&token);
    }
    return (cpu_us() - start) / EACH;
}

static void measure(const char *name, const char *private_jwk, const char *public_set)
{
    bench_token t;
    double bare[ROUNDS], check[ROUNDS], above[ROUNDS];
    make_keys(&t, private_jwk, public_set);
    make_token(&t);
    for (int i = 0; i < ROUNDS; i++) {
        bare[i] = measure_bare(&t);
        check[i] = measure_check(&t);
        above[i] = check[i] - bare[i];
    }
    printf("name=%s bytes=%zu bare=%.1f check=%.1f above=%.1f\n", name, t.text.len,
           median(bare, ROUNDS), median(check, ROUNDS), median(above, ROUNDS));
    mcp__buf_free(&t.text);
    mcp__jwk_free(t.signer);
    mcp__jwk_set_unref(t.keys);
}

static void release(void *value, void *user)
{
    (void)value;
    (void)user;
}

static void measure_cache(void)
{
    static const unsigned char key[MCP__SHA256] = "a key";
    mcp__token_cache_options o = {.crypto = &crypto, .key = key, .release = release};
    mcp__token_cache *cache;
    mcp__token_id id;
    char text[1024];
    double us[ROUNDS];
    memset(text, 'x', sizeof(text));
    require(mcp__token_cache_new(&o, NULL, &cache) == MCP_OK, "a cache");
    require(mcp__token_cache_id(cache, 0, (mcp_str){text, sizeof(text)}, &id), "an id");
    require(mcp__token_cache_put(cache, &id, text, 1000, NOW + 100, 300, NOW) == MCP_OK, "put");
    for (int i = 0; i < ROUNDS; i++) {
        double start = cpu_us();
        for (int k = 0; k < EACH; k++) {
            require(mcp__token_cache_id(cache, 0, (mcp_str){text, sizeof(text)}, &id), "an id");
            require(mcp__token_cache_get(cache, &id, NOW) == text, "get");
        }
        us[i] = (cpu_us() - start) / EACH;
    }
    printf("name=cached bytes=%zu us=%.2f\n", sizeof(text), median(us, ROUNDS));
    mcp__token_cache_free(cache);
}

#define RSA_PUBLIC                                                                     \
    "\"kid\":\"k\",\"e\":\"AQAB\",\"kty\":\"RSA\",\"n\":\"ibMInyHDZN5-btRp48xBenVcO-F" \
    "TIybdu1zjBxxAGb2TWWlHsrlVKrIOQ_jeOBIG_-Mvh0wERSU-7OxRhPmhE0KKwIsbeNp7NxSKni_k-o1" \
    "cVbOg0Ko0KccOC_mo30RsASPltlIikw6hGGIXSX1I5UGCCrZ3Vc5PRwitj4BsvvSKk5sdqbqyEWXzb5x" \
    "nhQaXq3FMpmsyghXyAe0Y2pssVjXgyQrlSJua3y2NBMbsQkCMBJ9jJMPSt_luyb7RjZ6ENA6T-zdMHhI" \
    "kMDKrsEgLOitdjA3cggJu6Rxw26gg0gqIP0I7vIjC45izJc5uh36-67eb7gpG_0vlAajKGa_ZPQ\""
#define RSA_PRIVATE                                                                    \
    "\"d\":\"QlyqxIpwkS3bcA1l5Pec_OgPpfovZ4sFJJWdAmG-kMk4-MfQ2pUQMw3x6xdG_W3OusbiMonT" \
    "qwFKxMMVfIkT9GTG2wmPmVxuMnrvXVJGv-udut3hnH7SuempXuMY3FUs2hXTUN1ftVDBGa-4el3rYjWC" \
    "dyg99fgCZAEOKFEj15jtJcQfB1X1x428MXqoljPJnj_JMKwsABI99dyb8F-8vStJNuvhIWaXjuwdSB2T" \
    "pedK-SfysPfzG_JfBi3Dhq7cvgwkNoh2vFoueVoMv-WlSk1X05M2UpWU4naa9u-jnzFEWKuLrTi4_ULh" \
    "act4GvxhNYO6xL8rWCubCRkibOge3w\",\"dp\":\"pFUyZ0AZd-qhRGSawTOsVvYvO_xfIqnglS5Q_s" \
    "Him80wQoq2S2pHJ4dbATR4nGCE8bWbji2cww6xcAZD3R1GHSULfJsgUvUL3Ld1kuYretqFmt9AC45ofN" \
    "ZcWqpoGW6IgKaJKhJx5a-pxFPzppNDhhqRnY_ubyaw0Nwpiw9nTJc\",\"dq\":\"n8K-mogOLuXcjhg" \
    "iSkrj9ULQ3vSwO6_1UkNEMKEBGodgr5ZEZhdSBV80ThD466zIGUBNFJAurJJFzJRpPAbcbFFfAQ6i797" \
    "1VKALkp2Sx4YsDX_kyXorCD3Gwt0ZNeU9QKyuULD4DuRH_WPDTyK735L-XuIgjJxDgoLX9Cf6TAU\","  \
    "\"p\":\"wAjeMQuHcC1SyOrpdEloJUuyWxmJCAZVEmd9qAipLJKwtxMnD3aPgxqgzCEceULIURR_HaJy" \
    "a8A-ODnlzh0Jb-PGZsffYZzJRe6efJrheL1q16EkMBFmlAbaORR8MdJVtiYDf9KN18rdZS8Akq9f823p" \
    "Rxex9VU8XZkrStLe7dM\",\"q\":\"t5DmXCV9LBVqWBSKNnBJrfet7VX_-9X1b4kJbw2kng9UCsRehh" \
    "tzV3_JoFEI-GwqXDCuTxs44yUXqnI5iojJFlUhO5onJg9NIgk185mDTcR3VO0YykoBGx8d8HzvU4BMAN" \
    "7T0KMNT71RV-M05LYzMbcxDAD3h46ueqpCQoPt4q8\",\"qi\":\"vfbM479zUbVOiKr8lwLpAR-Vx3l" \
    "4vvU4rUj8NKrlm7Uhrb25uzTIWNynCK4ac6f9lh3MlMDC4HVSDy4RCsWB2eYn5WyDGuxQwcEwKJDBJy-" \
    "2MqWbkltQQM80iwCo0wSreJ_JTbxV4tFdAdb71oKXxOveMTR2qE1XiP3tjYqN7IU\""

#define P256_PUBLIC                                                                    \
    "\"kid\":\"k\",\"crv\":\"P-256\",\"kty\":\"EC\",\"x\":\"zdTxsADAiSs8khTi93Aq7yDOE" \
    "NSTXvwOR_A1949Cqp0\",\"y\":\"M601Lq9CuPJnIQfPP0Khu3wjvp1AbDceLczf5zebTqA\""
#define P256_PRIVATE "\"d\":\"0OYmhdzJ7FQ0Q0x35tlnkqrvcVgMNvMmO6EsbgUPOOE\""

#define ED25519_PUBLIC                                                                 \
    "\"kid\":\"k\",\"crv\":\"Ed25519\",\"kty\":\"OKP\",\"x\":\"MT0tOiSa0bNLQJyqmU1FRs" \
    "OUxwQQyaNo32o8BU02xnk\""
#define ED25519_PRIVATE "\"d\":\"GYPR70-PzgPzp-lXBAkB0oJBwlNOlmazH74YLDGh76Y\""

#define RSA_SET    "{\"keys\":[{" RSA_PUBLIC "}]}"
#define RSA_SIGNER "{" RSA_PUBLIC "," RSA_PRIVATE "}"

static void write_token(const char *folder, const char *of)
{
    bench_token t;
    issuer = of;
    issued = (long long)time(NULL);
    make_keys(&t, RSA_SIGNER, RSA_SET);
    make_token(&t);
    write_file(folder, "token", mcp__buf_view(&t.text));
    write_file(folder, "jwks.json", MCP_STR(RSA_SET));
    mcp__buf_free(&t.text);
    mcp__jwk_free(t.signer);
    mcp__jwk_set_unref(t.keys);
}

static void write_tokens(const char *n, const char *folder, const char *of)
{
    static const char set[] = "{\"keys\":[{" P256_PUBLIC "}]}";
    char path[4096];
    bench_token t;
    issuer = of;
    issued = (long long)time(NULL);
    make_keys(&t, "{" P256_PUBLIC "," P256_PRIVATE "}", set);
    size_t fill = make_token(&t);
    mcp__buf_free(&t.text);
    require(snprintf(path, sizeof(path), "%s/tokens", folder) < (int)sizeof(path), "a path");
    FILE *f = fopen(path, "w");
    require(f, path);
    for (unsigned i = 0; i < strtoul(n, NULL, 10); i++) {
        sign_token(&t, i, fill);
        require(fprintf(f, "%.*s\n", (int)t.text.len, t.text.ptr) > 0, path);
        mcp__buf_free(&t.text);
    }
    require(fclose(f) == 0, path);
    write_file(folder, "jwks.json", mcp_str_from(set));
    mcp__jwk_free(t.signer);
    mcp__jwk_set_unref(t.keys);
}

int main(int argc, char **argv)
{
    require(mcp__crypto_load(&crypto, NULL) == MCP_OK, "loading OpenSSL");
    if (argc == 4 && strcmp(argv[1], "--write") == 0) {
        write_token(argv[2], argv[3]);
        return 0;
    }
    if (argc == 5 && strcmp(argv[1], "--write-many") == 0) {
        write_tokens(argv[2], argv[3], argv[4]);
        return 0;
    }
    measure("RS256", RSA_SIGNER, RSA_SET);
    measure("ES256", "{" P256_PUBLIC "," P256_PRIVATE "}", "{\"keys\":[{" P256_PUBLIC "}]}");
    measure("EdDSA", "{" ED25519_PUBLIC "," ED25519_PRIVATE "}",
            "{\"keys\":[{" ED25519_PUBLIC "}]}");
    measure_cache();
    return 0;
}
