/* Proofs of possession: the examples of RFC 9449, each kind of fault, URLs, nonces, replay. */
#include "rig.h"
#include "auth/dpop.h"
#include "auth/replay.h"

#define NOW   1700000000
#define URL   "https://mcp.example/mcp"
#define TOKEN "abc.def.ghi"

static mcp__jwk *own, *other;
static char *own_part, *other_part;
static char hash[MCP__SHA256_TEXT + 1], nonce[MCP__NONCE_BYTES], old_nonce[MCP__NONCE_BYTES];
static const unsigned char nonce_keys[2][MCP__SHA256] = {"one key of nonces", "the one before"};

static int set_up(void **state)
{
    if (load_crypto(state) != 0)
        return -1;
    own = key_for(key_p256, MCP__JWK_SIGN);
    other = key_for(key_ed25519, MCP__JWK_SIGN);
    own_part = public_part(key_p256);
    other_part = public_part(key_ed25519);
    bool ok = mcp__sha256_text(&crypto, MCP_STR(TOKEN), hash) &&
              mcp__nonce_make(&crypto, nonce_keys[0], NOW - 100, nonce) &&
              mcp__nonce_make(&crypto, nonce_keys[1], NOW - 301, old_nonce);
    return ok ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    mcp__jwk_free(own);
    mcp__jwk_free(other);
    free(own_part);
    free(other_part);
    return 0;
}

static mcp__dpop_request request_for(mcp_str jkt)
{
    mcp__dpop_request r = {.method = MCP_STR("POST"),
                           .url = MCP_STR(URL),
                           .token = MCP_STR(TOKEN),
                           .jkt = jkt,
                           .now = NOW};
    return r;
}

static mcp_str own_jkt(void)
{
    return (mcp_str){own->thumbprint, sizeof(own->thumbprint)};
}

static mcp__refused check(const char *proof, const mcp__dpop_request *request)
{
    mcp_str text = mcp_str_from(proof);
    mcp__dpop_proof ret;
    return mcp__dpop_check(&crypto, request, &text, 1, NULL, &ret);
}

static void test_examples(void **state)
{
    (void)state;
    mcp__dpop_request r = {.method = MCP_STR("GET"),
                           .url = MCP_STR("https://resource.example.org/protectedresource"),
                           .token = mcp_str_from(rfc9449_token),
                           .jkt = mcp_str_from(rfc9449_jkt),
                           .now = 1562262618};
    assert_int_equal(check(rfc9449_proof, &r), MCP__ACCEPTED);
    r.now = 1562262618 + 300;
    assert_int_equal(check(rfc9449_proof, &r), MCP__ACCEPTED);
    r.now = 1562262618 + 301;
    assert_int_equal(check(rfc9449_proof, &r), MCP__REFUSED_PROOF_TIME);
    r.now = 1562262618;
    r.token = MCP_STR("Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxV");
    assert_int_equal(check(rfc9449_proof, &r), MCP__REFUSED_PROOF_TOKEN);
    r.token = mcp_str_from(rfc9449_token);
    r.jkt = own_jkt();
    assert_int_equal(check(rfc9449_proof, &r), MCP__REFUSED_OTHER_KEY);
    r.jkt = MCP_STR("");
    assert_int_equal(check(rfc9449_proof, &r), MCP__REFUSED_UNBOUND);
    /* The proof for the token endpoint has no hash of a token. */
    r.jkt = mcp_str_from(rfc9449_jkt);
    r.method = MCP_STR("POST");
    r.url = MCP_STR("https://server.example.com/token");
    assert_int_equal(check(rfc9449_token_proof, &r), MCP__REFUSED_PROOF_TOKEN);
}

/* ---- every combination ----------------------------------------------------------------------- */

typedef struct part {
    const char *text; /* "%s" is replaced at run time */
    mcp__refused why;
} part;

static const part extras[] = {
    {"", 0},
    {",\"kid\":\"a\"", 0},
    {",\"crit\":[\"a\"]", MCP__REFUSED_PROOF_FORM},
    {",\"jku\":\"https://evil.example\"", MCP__REFUSED_PROOF_FORM},
    {",\"alg\":\"ES256\"", MCP__REFUSED_PROOF_FORM},
};
static const part types[] = {
    {"\"typ\":\"dpop+jwt\"", 0},
    {"\"typ\":\"application/dpop+jwt\"", 0},
    {"\"typ\":\"JWT\"", MCP__REFUSED_PROOF_TYPE},
    {"\"typ\":\"at+jwt\"", MCP__REFUSED_PROOF_TYPE},
    {"\"cty\":\"dpop+jwt\"", MCP__REFUSED_PROOF_TYPE},
};
enum { OWN, OTHER, PRIVATE, SECRET, NONE, MISMATCH };
static const part proof_keys[] = {
    {"own", 0},
    {"other", MCP__REFUSED_OTHER_KEY},
    {"private", MCP__REFUSED_PROOF_KEY},
    {"secret", MCP__REFUSED_PROOF_KEY},
    {"none", MCP__REFUSED_PROOF_KEY},
    {"mismatch", MCP__REFUSED_PROOF_ALGORITHM},
};
static const part jtis[] = {
    {"\"jti\":\"a\"", 0},
    {"\"a\":1", MCP__REFUSED_PROOF_CLAIMS},
    {"\"jti\":\"\"", MCP__REFUSED_PROOF_CLAIMS},
    {"\"jti\":1", MCP__REFUSED_PROOF_CLAIMS},
};
static const part methods[] = {
    {",\"htm\":\"POST\"", 0},
    {"", MCP__REFUSED_PROOF_CLAIMS},
    {",\"htm\":[\"POST\"]", MCP__REFUSED_PROOF_CLAIMS},
    {",\"htm\":\"post\"", MCP__REFUSED_PROOF_METHOD},
    {",\"htm\":\"GET\"", MCP__REFUSED_PROOF_METHOD},
};
static const part urls[] = {
    {",\"htu\":\"" URL "\"", 0},
    {",\"htu\":\"HTTPS://MCP.example:443/%%6dcp?a=b#c\"", 0},
    {"", MCP__REFUSED_PROOF_CLAIMS},
    {",\"htu\":1", MCP__REFUSED_PROOF_CLAIMS},
    {",\"htu\":\"" URL "/\"", MCP__REFUSED_PROOF_URL},
    {",\"htu\":\"http://mcp.example/mcp\"", MCP__REFUSED_PROOF_URL},
    {",\"htu\":\"https://mcp.example.evil/mcp\"", MCP__REFUSED_PROOF_URL},
    {",\"htu\":\"/mcp\"", MCP__REFUSED_PROOF_URL},
};
static const part times[] = {
    {",\"iat\":1700000000", 0},
    {",\"iat\":1699999700", 0},
    {",\"iat\":1700000300", 0},
    {"", MCP__REFUSED_PROOF_CLAIMS},
    {",\"iat\":\"1700000000\"", MCP__REFUSED_PROOF_CLAIMS},
    {",\"iat\":-1", MCP__REFUSED_PROOF_CLAIMS},
    {",\"iat\":1e30", MCP__REFUSED_PROOF_CLAIMS},
    {",\"iat\":1699999699", MCP__REFUSED_PROOF_TIME},
    {",\"iat\":1700000301", MCP__REFUSED_PROOF_TIME},
    {",\"iat\":9007199254740992", MCP__REFUSED_PROOF_TIME},
};
static const part hashes[] = {
    {",\"ath\":\"%s\"", 0},
    {"", MCP__REFUSED_PROOF_TOKEN},
    {",\"ath\":\"%sA\"", MCP__REFUSED_PROOF_TOKEN},
    {",\"ath\":[\"%s\"]", MCP__REFUSED_PROOF_TOKEN},
    {",\"ath\":\"\"", MCP__REFUSED_PROOF_TOKEN},
};
static const part nonces[] = {
    {",\"nonce\":\"%s\"", 0},
    {"", MCP__REFUSED_NONCE},
    {",\"nonce\":1", MCP__REFUSED_NONCE},
    {",\"nonce\":\"%sA\"", MCP__REFUSED_NONCE},
    {",\"nonce\":\"a\"", MCP__REFUSED_NONCE},
};
static const part signatures[] = {{"", 0}, {"changed", MCP__REFUSED_PROOF_SIGNATURE}};

enum { EXTRA, TYPE, KEY, JTI, METHOD, HTU, IAT, ATH, NONCE, SIGNATURE, PARTS };

static const struct {
    const part *parts;
    size_t n;
} dimensions[PARTS] = {
    {extras, MCP__COUNT(extras)},         {types, MCP__COUNT(types)},
    {proof_keys, MCP__COUNT(proof_keys)}, {jtis, MCP__COUNT(jtis)},
    {methods, MCP__COUNT(methods)},       {urls, MCP__COUNT(urls)},
    {times, MCP__COUNT(times)},           {hashes, MCP__COUNT(hashes)},
    {nonces, MCP__COUNT(nonces)},         {signatures, MCP__COUNT(signatures)},
};

/* The first of these that a part gives is the answer. */
static const mcp__refused order[] = {
    MCP__REFUSED_PROOF_FORM,      MCP__REFUSED_PROOF_TYPE,   MCP__REFUSED_PROOF_KEY,
    MCP__REFUSED_PROOF_ALGORITHM, MCP__REFUSED_PROOF_CLAIMS, MCP__REFUSED_PROOF_METHOD,
    MCP__REFUSED_PROOF_URL,       MCP__REFUSED_PROOF_TOKEN,  MCP__REFUSED_OTHER_KEY,
    MCP__REFUSED_PROOF_SIGNATURE, MCP__REFUSED_NONCE,        MCP__REFUSED_PROOF_TIME,
};

static mcp__refused expected(const size_t chosen[PARTS])
{
    for (size_t k = 0; k < MCP__COUNT(order); k++) {
        for (size_t i = 0; i < PARTS; i++) {
            if (dimensions[i].parts[chosen[i]].why == order[k])
                return order[k];
        }
    }
    return MCP__ACCEPTED;
}

static const char *jwk_text(size_t which)
{
    static const char *const texts[] = {
        [PRIVATE] = key_p256, [SECRET] = "{\"kty\":\"oct\",\"k\":\"AAAA\"}"};
    if (which == OWN)
        return own_part;
    return which == OTHER || which == MISMATCH ? other_part : texts[which];
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
static void add(char *to, size_t room, const char *format, const char *value)
{
    snprintf(to + strlen(to), room - strlen(to), format, value);
}
#pragma GCC diagnostic pop

static char *make_proof(const size_t chosen[PARTS])
{
    char header[1024] = "", payload[1024] = "{";
    add(header, sizeof(header), types[chosen[TYPE]].text, "");
    add(header, sizeof(header), extras[chosen[EXTRA]].text, "");
    if (chosen[KEY] != NONE)
        add(header, sizeof(header), ",\"jwk\":%s", jwk_text(chosen[KEY]));
    for (size_t i = JTI; i <= NONCE; i++)
        add(payload, sizeof(payload), dimensions[i].parts[chosen[i]].text,
            i == NONCE ? nonce : hash);
    strcat(payload, "}");
    char *text = sign_text(chosen[KEY] == OTHER ? other : own, header, payload);
    if (chosen[SIGNATURE]) {
        char *at = strrchr(text, '.') + 1;
        *at = *at == 'A' ? 'B' : 'A';
    }
    return text;
}

static void check_combination(const size_t chosen[PARTS])
{
    mcp__dpop_request r = request_for(own_jkt());
    r.nonce_keys = nonce_keys;
    r.n_nonce_keys = 2;
    char *text = make_proof(chosen);
    mcp__refused why = check(text, &r);
    if (why != expected(chosen))
        fail_msg("%s: %s, not %s", text, mcp__refusal_text(why),
                 mcp__refusal_text(expected(chosen)));
    free(text);
}

static void test_combinations(void **state)
{
    (void)state;
    uint32_t seed = 7;
    size_t chosen[PARTS];
    for (size_t d = 0; d < PARTS; d++) {
        for (size_t v = 0; v < dimensions[d].n; v++) {
            memset(chosen, 0, sizeof(chosen));
            chosen[d] = v;
            check_combination(chosen);
        }
    }
    for (int n = 0; n < 3000; n++) {
        for (size_t i = 0; i < PARTS; i++)
            chosen[i] = next_random(&seed) % 4 ? 0 : next_random(&seed) % dimensions[i].n;
        check_combination(chosen);
    }
}

/* Makes a proof with a jti of `len` bytes, all of them `fill`, signed with `key`. */
static mcp__refused check_jti(const mcp__jwk *key, const char *jwk, char fill, size_t len,
                              mcp__dpop_proof *p)
{
    char header[512], payload[1024], jti[512];
    mcp__dpop_request r = request_for((mcp_str){key->thumbprint, MCP__SHA256_TEXT});
    memset(jti, fill, len);
    jti[len] = '\0';
    snprintf(header, sizeof(header), "\"typ\":\"dpop+jwt\",\"jwk\":%s", jwk);
    snprintf(payload, sizeof(payload),
             "{\"jti\":\"%s\",\"htm\":\"POST\",\"htu\":\"" URL
             "\",\"iat\":1700000000,\"ath\":\"%s\"}",
             jti, hash);
    char *text = sign_text(key, header, payload);
    mcp_str proof = mcp_str_from(text);
    mcp__refused why = mcp__dpop_check(&crypto, &r, &proof, 1, NULL, p);
    free(text);
    return why;
}

/* A proof is identified by its key together with its jti. */
static void test_ids(void **state)
{
    (void)state;
    mcp__dpop_proof a, same, changed, longer, of_other;
    assert_int_equal(check_jti(own, own_part, 'j', 255, &a), MCP__ACCEPTED);
    assert_int_equal(check_jti(own, own_part, 'j', 255, &same), MCP__ACCEPTED);
    assert_int_equal(check_jti(own, own_part, 'j', 256, &longer), MCP__ACCEPTED);
    assert_int_equal(check_jti(other, other_part, 'j', 255, &of_other), MCP__ACCEPTED);
    assert_int_equal(check_jti(own, own_part, 'k', 255, &changed), MCP__ACCEPTED);
    assert_memory_equal(a.id, same.id, sizeof(a.id));
    assert_memory_not_equal(a.id, changed.id, sizeof(a.id));
    assert_memory_not_equal(a.id, longer.id, sizeof(a.id));
    assert_memory_not_equal(a.id, of_other.id, sizeof(a.id));
    assert_int_equal(check_jti(own, own_part, 'j', 257, &a), MCP__REFUSED_PROOF_CLAIMS);
}

static void test_count_and_size(void **state)
{
    (void)state;
    size_t chosen[PARTS] = {0};
    char *good = make_proof(chosen);
    mcp_str two[] = {mcp_str_from(good), mcp_str_from(good)};
    mcp__dpop_request r = request_for(own_jkt());
    mcp__dpop_proof proof;
    char *joined = malloc(2 * two[0].len + 10000);
    assert_int_equal(mcp__dpop_check(&crypto, &r, two, 0, NULL, &proof), MCP__REFUSED_PROOF_COUNT);
    assert_int_equal(mcp__dpop_check(&crypto, &r, two, 1, NULL, &proof), MCP__ACCEPTED);
    assert_int_equal(proof.issued, NOW);
    assert_int_equal(mcp__dpop_check(&crypto, &r, two, 2, NULL, &proof), MCP__REFUSED_PROOF_COUNT);
    snprintf(joined, 2 * two[0].len + 3, "%s, %s", good, good);
    assert_int_equal(check(joined, &r), MCP__REFUSED_PROOF_FORM);
    memset(joined, 'a', 8193);
    joined[8193] = '\0';
    assert_int_equal(check(joined, &r), MCP__REFUSED_PROOF_SIZE);
    joined[8192] = '\0';
    assert_int_equal(check(joined, &r), MCP__REFUSED_PROOF_FORM);
    assert_int_equal(check("", &r), MCP__REFUSED_PROOF_FORM);
    char *none = assemble("{\"typ\":\"dpop+jwt\",\"alg\":\"none\"}", "{}", "");
    assert_int_equal(check(none, &r), MCP__REFUSED_PROOF_ALGORITHM);
    free(none);
    free(joined);
    free(good);
}

static void test_no_memory(void **state)
{
    (void)state;
    size_t chosen[PARTS] = {0};
    char *good = make_proof(chosen);
    mcp_str text = mcp_str_from(good);
    mcp__dpop_request r = request_for(own_jkt());
    for (size_t n = 1;; n++) {
        failalloc f = {.fail_at = n};
        mcp_allocator a = failalloc_allocator(&f);
        mcp__dpop_proof proof;
        mcp__refused why = mcp__dpop_check(&crypto, &r, &text, 1, &a, &proof);
        assert_int_equal(f.live, 0);
        if (f.calls < n) {
            assert_int_equal(why, MCP__ACCEPTED);
            break;
        }
        assert_int_equal(why, MCP__REFUSED_NO_MEMORY);
    }
    free(good);
}

/* ---- the Authorization header ---------------------------------------------------------------- */

static void test_header(void **state)
{
    (void)state;
    static const struct {
        const char *value;
        mcp__refused why;
        mcp__auth_scheme scheme;
        const char *token;
    } cases[] = {
        {"Bearer abc", 0, MCP__SCHEME_BEARER, "abc"},
        {"bEARER   a.b-c_d~e+f/g==", 0, MCP__SCHEME_BEARER, "a.b-c_d~e+f/g=="},
        {"DPoP abc", 0, MCP__SCHEME_DPOP, "abc"},
        {"dpop abc", 0, MCP__SCHEME_DPOP, "abc"},
        {"", MCP__REFUSED_NO_TOKEN, 0, NULL},
        {"Basic abc", MCP__REFUSED_NO_TOKEN, 0, NULL},
        {"Bearerabc", MCP__REFUSED_NO_TOKEN, 0, NULL},
        {"Bearer", MCP__REFUSED_SCHEME, 0, NULL},
        {"Bearer ", MCP__REFUSED_SCHEME, 0, NULL},
        {"Bearer =", MCP__REFUSED_SCHEME, 0, NULL},
        {"Bearer a b", MCP__REFUSED_SCHEME, 0, NULL},
        {"Bearer a,b", MCP__REFUSED_SCHEME, 0, NULL},
        {"Bearer a=b", MCP__REFUSED_SCHEME, 0, NULL},
        {"Bearer \"a\"", MCP__REFUSED_SCHEME, 0, NULL},
        {"Bearer \xC3\xA4", MCP__REFUSED_SCHEME, 0, NULL},
        {"Bearer\tabc", MCP__REFUSED_NO_TOKEN, 0, NULL},
    };
    for (size_t i = 0; i < MCP__COUNT(cases); i++) {
        mcp__auth_scheme scheme = MCP__SCHEME_BEARER;
        mcp_str token;
        assert_int_equal(mcp__auth_header(mcp_str_from(cases[i].value), &scheme, &token),
                         cases[i].why);
        if (cases[i].token) {
            assert_int_equal(scheme, cases[i].scheme);
            assert_true(mcp_str_eq(token, mcp_str_from(cases[i].token)));
        }
    }
    mcp_str zero = {"Bearer a\0b", 10}, token;
    mcp__auth_scheme scheme;
    assert_int_equal(mcp__auth_header(zero, &scheme, &token), MCP__REFUSED_SCHEME);
    mcp__claims bound = {.jkt = own_jkt()}, unbound = {.jkt = {NULL, 0}};
    assert_int_equal(mcp__auth_check_scheme(MCP__SCHEME_BEARER, &unbound), MCP__ACCEPTED);
    assert_int_equal(mcp__auth_check_scheme(MCP__SCHEME_DPOP, &bound), MCP__ACCEPTED);
    assert_int_equal(mcp__auth_check_scheme(MCP__SCHEME_BEARER, &bound), MCP__REFUSED_BOUND);
    assert_int_equal(mcp__auth_check_scheme(MCP__SCHEME_DPOP, &unbound), MCP__REFUSED_UNBOUND);
}

/* ---- URLs ------------------------------------------------------------------------------------ */

static void test_urls(void **state)
{
    (void)state;
    static const struct {
        const char *a, *b;
        int same; /* -1 if one of the URLs is refused */
    } cases[] = {
        {"https://a.example", "https://a.example/", 1},
        {"https://a.example:/x", "https://a.example:443/x", 1},
        {"http://a.example:80", "http://A.Example", 1},
        {"http://a.example:443/", "https://a.example/", 0},
        {"https://a.example/x?y#z", "https://a.example/x", 1},
        {"https://a.example?y", "https://a.example/", 1},
        {"https://a.example/%7eb", "https://a.example/~b", 1},
        {"https://a.example/%2f", "https://a.example/%2F", 1},
        {"https://a.example/%2F", "https://a.example//", 0},
        {"https://a.example/b/../c/./d", "https://a.example/c/d", 1},
        {"https://a.example/%2e%2E/c", "https://a.example/c", 1},
        {"https://a.example/b/..", "https://a.example/", 1},
        {"https://a.example/b/.", "https://a.example/b/", 1},
        {"https://a.example/../../b", "https://a.example/b", 1},
        {"https://a.example/b", "https://a.example/B", 0},
        {"https://a.example/b", "https://a.example/b/", 0},
        {"https://a.example/b//c", "https://a.example/b/c", 0},
        {"https://[::1]:443/x", "https://[::1]/x", 1},
        {"https://[::A]/x", "https://[::a]/x", 1},
        {"https://a.example/x", "https://u@a.example/x", -1},
        {"https://a.example/x", "ftp://a.example/x", -1},
        {"https://a.example/x", "https:///x", -1},
        {"https://a.example/x", "/x", -1},
        {"https://a.example/x", "", -1},
        {"https://a.example/x", "https://a.example/%", -1},
        {"https://a.example/x", "https://a.example:99999/x", -1},
        {"https://a.example/x", "https://a.example/\xC3\xA4", -1},
    };
    for (size_t i = 0; i < MCP__COUNT(cases); i++) {
        bool same = false;
        int rc =
            mcp__dpop_same_url(mcp_str_from(cases[i].a), mcp_str_from(cases[i].b), NULL, &same);
        if (rc != (cases[i].same < 0 ? MCP_EPARSE : MCP_OK) || same != (cases[i].same == 1))
            fail_msg("%s %s: %d %d", cases[i].a, cases[i].b, rc, same);
    }
}

/* URLs remain equal after changes without a meaning, and not after a segment was added. */
static void test_url_spellings(void **state)
{
    (void)state;
    static const char *const segments[] = {"a", "mcp", "x-y", "~u", "0"};
    uint32_t seed = 3;
    for (int n = 0; n < 2000; n++) {
        char plain[512] = "https://host.example", other_one[512];
        bool port = next_random(&seed) % 2, same = false;
        snprintf(other_one, sizeof(other_one), "%s://%s%s",
                 next_random(&seed) % 2 ? "HTTPS" : "https",
                 next_random(&seed) % 2 ? "Host.EXAMPLE" : "h%6Fst.example", port ? ":443" : "");
        for (uint32_t i = 0, count = 1 + next_random(&seed) % 4; i < count; i++) {
            const char *segment = segments[next_random(&seed) % 5];
            static const char *const before[] = {"", "/.", "/q/..", "/%2E", "/q/r/../%2e%2e"};
            strcat(strcat(plain, "/"), segment);
            strcat(strcat(other_one, before[next_random(&seed) % 5]), "/");
            for (const char *c = segment; *c; c++)
                snprintf(other_one + strlen(other_one), 8, next_random(&seed) % 3 ? "%c" : "%%%02x",
                         *c);
        }
        if (next_random(&seed) % 2)
            strcat(other_one, "?query=/../x#fragment");
        assert_int_equal(
            mcp__dpop_same_url(mcp_str_from(plain), mcp_str_from(other_one), NULL, &same), MCP_OK);
        if (!same)
            fail_msg("%s %s", plain, other_one);
        strcat(plain, "/z");
        assert_int_equal(
            mcp__dpop_same_url(mcp_str_from(plain), mcp_str_from(other_one), NULL, &same), MCP_OK);
        assert_false(same);
    }
}

/* ---- nonces and replay ----------------------------------------------------------------------- */

static bool fresh(const char *text, int64_t now)
{
    return mcp__nonce_check(&crypto, nonce_keys, 2, mcp_str_from(text), now);
}

static void test_nonces(void **state)
{
    (void)state;
    char text[MCP__NONCE_BYTES + 2];
    assert_true(fresh(nonce, NOW));
    assert_true(fresh(nonce, NOW + 200));
    assert_false(fresh(nonce, NOW + 201));
    assert_true(fresh(nonce, NOW - 160));
    assert_false(fresh(nonce, NOW - 161));
    assert_false(fresh(old_nonce, NOW));
    assert_true(fresh(old_nonce, NOW - 1)); /* made with the second key */
    assert_false(mcp__nonce_check(&crypto, nonce_keys, 1, mcp_str_from(old_nonce), NOW - 1));
    assert_false(mcp__nonce_check(&crypto, nonce_keys, 0, mcp_str_from(nonce), NOW));
    for (size_t i = 0; i < strlen(nonce); i++) {
        strcpy(text, nonce);
        text[i] = text[i] == 'A' ? 'B' : 'A';
        assert_false(fresh(text, NOW));
        text[i] = '\0';
        assert_false(fresh(text, NOW));
    }
    strcat(strcpy(text, nonce), "A");
    assert_false(fresh(text, NOW));
}

static void test_replay(void **state)
{
    (void)state;
    mcp__replay *table;
    mcp__dpop_proof proof = {.issued = NOW};
    assert_int_equal(mcp__replay_new(1000, 12345, NULL, &table), MCP_OK);
    assert_false(mcp__replay_used(table, &proof, NOW));
    assert_true(mcp__replay_used(table, &proof, NOW));
    assert_true(mcp__replay_used(table, &proof, NOW + 300));
    assert_false(mcp__replay_used(table, &proof, NOW + 301));
    /* A quarter of the capacity is recorded completely; beyond it the oldest are evicted. */
    for (int round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < 250; i++) {
            char text[16];
            snprintf(text, sizeof(text), "%u", i);
            assert_true(mcp__sha256(&crypto, mcp_str_from(text), proof.id));
            proof.issued = NOW + 1000;
            assert_int_equal(mcp__replay_used(table, &proof, NOW + 1000), round == 1);
        }
    }
    size_t forgotten = 0;
    for (int round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < 10000; i++) {
            char text[16];
            snprintf(text, sizeof(text), "more %u", i);
            assert_true(mcp__sha256(&crypto, mcp_str_from(text), proof.id));
            proof.issued = NOW + 1000 + i / 100;
            forgotten += round == 1 && !mcp__replay_used(table, &proof, NOW + 1100);
            if (round == 0)
                mcp__replay_used(table, &proof, NOW + 1100);
        }
    }
    assert_true(forgotten > 5000);
    mcp__replay_free(table);
    assert_int_equal(mcp__replay_new(SIZE_MAX, 1, NULL, &table), MCP_ELIMIT);
    failalloc f = {.fail_at = 1};
    mcp_allocator a = failalloc_allocator(&f);
    assert_int_equal(mcp__replay_new(10, 1, &a, &table), MCP_ENOMEM);
}

/* The seed determines which proofs share a row, so an attacker cannot choose proofs that evict a
 * certain other one. */
static void test_replay_seed(void **state)
{
    (void)state;
    static const uint64_t seeds[] = {0x9E3779B97F4A7C15, 0xD1B54A32D192ED03};
    mcp__replay *tables[2];
    size_t differences = 0;
    for (size_t t = 0; t < 2; t++)
        assert_int_equal(mcp__replay_new(500, seeds[t], NULL, &tables[t]), MCP_OK);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 600; i++) {
            char text[16];
            mcp__dpop_proof proof = {.issued = NOW + i};
            snprintf(text, sizeof(text), "%d", i);
            assert_true(mcp__sha256(&crypto, mcp_str_from(text), proof.id));
            bool first = mcp__replay_used(tables[0], &proof, NOW);
            differences += first != mcp__replay_used(tables[1], &proof, NOW);
        }
    }
    assert_true(differences > 0);
    mcp__replay_free(tables[0]);
    mcp__replay_free(tables[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ids),          cmocka_unit_test(test_examples),
        cmocka_unit_test(test_combinations), cmocka_unit_test(test_count_and_size),
        cmocka_unit_test(test_no_memory),    cmocka_unit_test(test_header),
        cmocka_unit_test(test_urls),         cmocka_unit_test(test_url_spellings),
        cmocka_unit_test(test_nonces),       cmocka_unit_test(test_replay),
        cmocka_unit_test(test_replay_seed),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
