/* Access tokens: every combination of valid and invalid parts, with a model that predicts the first
 * fault; single claims, limits, several issuers. */
#include "rig.h"
#include "auth/token.h"

#define NOW 1700000000

static const mcp_str audiences[] = {{"https://mcp.example/mcp", 23}, {"a-guid", 6}};
static const mcp__token_rules plain_rules = {
    .issuer = {"https://as.example", 18},
    .audiences = audiences,
    .n_audiences = 2,
};

static mcp__jwk *own;      /* a signing key of the issuer */
static mcp__jwk *stranger; /* a signing key whose public part is not in the set */
static mcp__jwk_set *keys; /* the key set of the issuer */

static int set_up(void **state)
{
    if (load_crypto(state) != 0)
        return -1;
    char text[4096];
    char *ed = public_part(key_ed25519), *ec = public_part(key_p256), *rsa = public_part(key_rsa);
    snprintf(text, sizeof(text), "{\"keys\":[%s,%s,%s]}", rsa, ed, ec);
    free(ed);
    free(ec);
    free(rsa);
    own = key_for(key_ed25519, MCP__JWK_SIGN);
    stranger = key_for(rfc8037_key, MCP__JWK_SIGN);
    return mcp__jwk_set_read(&crypto, mcp_str_from(text), NULL, &keys, NULL);
}

static int tear_down(void **state)
{
    (void)state;
    mcp__jwk_free(own);
    mcp__jwk_free(stranger);
    mcp__jwk_set_unref(keys);
    return 0;
}

typedef struct outcome {
    mcp__refused why;
    int64_t expires;
    char scopes[64], jkt[64];
} outcome;

static outcome check_with(const char *text, const mcp__token_rules *rules, size_t n,
                          const mcp_allocator *a)
{
    mcp__token token;
    outcome o = {.why = mcp__token_read(&token, mcp_str_from(text), a)};
    const mcp__token_rules *its = NULL;
    if (o.why == MCP__ACCEPTED) {
        its = mcp__token_rules_for(&token, rules, n);
        o.why = its ? mcp__token_check(&token, its, keys, NOW) : MCP__REFUSED_ISSUER;
    }
    if (o.why == MCP__ACCEPTED) {
        const mcp__claims *c = &token.claims;
        o.expires = c->expires;
        snprintf(o.scopes, sizeof(o.scopes), "%.*s", (int)c->scopes.len, c->scopes.ptr);
        snprintf(o.jkt, sizeof(o.jkt), "%.*s", (int)c->jkt.len, c->jkt.ptr);
    }
    mcp__token_clear(&token);
    return o;
}

static outcome check(const char *text)
{
    return check_with(text, &plain_rules, 1, NULL);
}

/* ---- every combination ----------------------------------------------------------------------- */

/* A part of a token, and the reason why a token with this part is refused. If the text is NULL, the
 * part is left out. */
typedef struct part {
    const char *text;
    mcp__refused why;
} part;

#define JKT "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I"

static const part crits[] = {{NULL, 0}, {"\"crit\":[\"exp\"]", MCP__REFUSED_CRITICAL}};
static const part foreign_keys[] = {
    {NULL, 0},
    {"\"jku\":\"https://evil.example\"", MCP__REFUSED_FOREIGN_KEY},
    {"\"x5u\":\"https://evil.example\"", MCP__REFUSED_FOREIGN_KEY},
    {"\"x5c\":[\"AA\"]", MCP__REFUSED_FOREIGN_KEY},
    {"\"jwk\":{\"kty\":\"oct\",\"k\":\"AA\"}", MCP__REFUSED_FOREIGN_KEY},
};
static const part types[] = {
    {"\"typ\":\"at+jwt\"", 0},
    {"\"typ\":\"application/AT+JWT\"", 0},
    {"\"typ\":\"JWT\"", MCP__REFUSED_TYPE},
    {NULL, MCP__REFUSED_TYPE},
    {"\"typ\":\"dpop+jwt\"", MCP__REFUSED_TYPE},
    {"\"typ\":\"oauth-id-jag+jwt\"", MCP__REFUSED_TYPE},
    {"\"typ\":\"\"", MCP__REFUSED_TYPE},
};
static const part kids[] = {
    {"\"kid\":\"ed25519\"", 0},
    {NULL, 0},
    {"\"kid\":\"p256\"", MCP__REFUSED_KEY},
    {"\"kid\":\"new\"", MCP__REFUSED_KEY},
};
static const part signatures[] = {
    {"", 0},
    {"stranger", MCP__REFUSED_SIGNATURE},
    {"changed", MCP__REFUSED_SIGNATURE},
};
static const part issuers[] = {
    {"\"iss\":\"https://as.example\"", 0},
    {NULL, MCP__REFUSED_ISSUER},
    {"\"iss\":\"https://as.example/\"", MCP__REFUSED_ISSUER},
    {"\"iss\":\"HTTPS://as.example\"", MCP__REFUSED_ISSUER},
    {"\"iss\":[\"https://as.example\"]", MCP__REFUSED_ISSUER},
    {"\"iss\":\"https://as.example\\u0000\"", MCP__REFUSED_ISSUER},
};
static const part auds[] = {
    {"\"aud\":\"https://mcp.example/mcp\"", 0},
    {"\"aud\":[\"other\",\"a-guid\"]", 0},
    {NULL, MCP__REFUSED_AUDIENCE},
    {"\"aud\":\"https://mcp.example/mcp/\"", MCP__REFUSED_AUDIENCE},
    {"\"aud\":\"other\"", MCP__REFUSED_AUDIENCE},
    {"\"aud\":[]", MCP__REFUSED_AUDIENCE},
    {"\"aud\":[\"a-guid\",1]", MCP__REFUSED_AUDIENCE},
    {"\"aud\":{\"a-guid\":1}", MCP__REFUSED_AUDIENCE},
};
static const part exps[] = {
    {"\"exp\":1700000100", 0},
    {"\"exp\":1699999941", 0},
    {"\"exp\":1699999940", MCP__REFUSED_EXPIRED},
    {"\"exp\":0", MCP__REFUSED_EXPIRED},
    {NULL, MCP__REFUSED_NO_EXPIRY},
    {"\"exp\":\"1700000100\"", MCP__REFUSED_NO_EXPIRY},
    {"\"exp\":-1", MCP__REFUSED_NO_EXPIRY},
    {"\"exp\":1e300", MCP__REFUSED_NO_EXPIRY},
    {"\"exp\":99999999999999999999", MCP__REFUSED_NO_EXPIRY},
    {"\"exp\":1700000100.7", 0},
};
static const part nbfs[] = {
    {NULL, 0},
    {"\"nbf\":1700000060", 0},
    {"\"nbf\":1700000060.1", MCP__REFUSED_NOT_YET},
    {"\"nbf\":1700000061", MCP__REFUSED_NOT_YET},
    {"\"nbf\":\"1\"", MCP__REFUSED_NOT_YET},
};
static const part iats[] = {
    {NULL, 0},
    {"\"iat\":1", 0},
    {"\"iat\":1700000061", MCP__REFUSED_ISSUED},
    {"\"iat\":true", MCP__REFUSED_ISSUED},
};
static const part cnfs[] = {
    {NULL, 0},
    {"\"cnf\":{\"jkt\":\"" JKT "\"}", 0},
    {"\"cnf\":{\"kc-jkt-type\":\"DPoP\",\"jkt\":\"" JKT "\"}", 0}, /* as Keycloak writes it */
    {"\"cnf\":{}", MCP__REFUSED_BINDING},
    {"\"cnf\":{\"kc-jkt-type\":\"DPoP\"}", MCP__REFUSED_BINDING},
    {"\"cnf\":\"a\"", MCP__REFUSED_BINDING},
    {"\"cnf\":null", MCP__REFUSED_BINDING},
    {"\"cnf\":{\"jkt\":\"short\"}", MCP__REFUSED_BINDING},
    {"\"cnf\":{\"x5t#S256\":\"" JKT "\"}", MCP__REFUSED_BINDING},
    {"\"cnf\":{\"jkt\":\"" JKT "\",\"x5t#S256\":\"" JKT "\"}", MCP__REFUSED_BINDING},
    {"\"cnf\":{\"jkt\":\"" JKT "\",\"jwk\":{}}", MCP__REFUSED_BINDING},
    {"\"cnf\":{\"jkt\":\"" JKT "\",\"kid\":\"a\"}", MCP__REFUSED_BINDING},
};
static const part scopes[] = {
    {NULL, 0},
    {"\"scope\":\"read write\"", 0},
    {"\"scp\":[\"read\",\"write\"]", 0},
    {"\"scp\":\"read  write \"", 0},
    {"\"scope\":\"read write\",\"scp\":\"no\"", 0},
    {"\"scope\":[\"read\",\"write\"]", 0},
    {"\"scope\":\"\"", 0},
    {"\"scope\":1", MCP__REFUSED_SCOPES},
    {"\"scope\":null", MCP__REFUSED_SCOPES},
    {"\"scp\":[\"read write\"]", MCP__REFUSED_SCOPES},
    {"\"scp\":[1]", MCP__REFUSED_SCOPES},
    {"\"scope\":\"a\\nb\"", MCP__REFUSED_SCOPES},
    {"\"scope\":\"a\\\"b\"", MCP__REFUSED_SCOPES},
};

enum { CRIT, FOREIGN, TYPE, KID, SIGNATURE, ISS, AUD, EXP, NBF, IAT, CNF, SCOPE, PARTS };

/* The parts, in the order in which they are checked. */
static const struct {
    const part *parts;
    size_t n;
} dimensions[PARTS] = {
    {crits, MCP__COUNT(crits)},
    {foreign_keys, MCP__COUNT(foreign_keys)},
    {types, MCP__COUNT(types)},
    {kids, MCP__COUNT(kids)},
    {signatures, MCP__COUNT(signatures)},
    {issuers, MCP__COUNT(issuers)},
    {auds, MCP__COUNT(auds)},
    {exps, MCP__COUNT(exps)},
    {nbfs, MCP__COUNT(nbfs)},
    {iats, MCP__COUNT(iats)},
    {cnfs, MCP__COUNT(cnfs)},
    {scopes, MCP__COUNT(scopes)},
};

static void join(char *to, size_t room, const part *chosen[PARTS], size_t from, size_t until)
{
    to[0] = '\0';
    for (size_t i = from; i < until; i++) {
        if (chosen[i]->text && i != SIGNATURE)
            snprintf(to + strlen(to), room - strlen(to), "%s%s", to[0] ? "," : "", chosen[i]->text);
    }
}

static void check_combination(const part *chosen[PARTS])
{
    char header[512], claims[1024], payload[1100];
    mcp__refused expected = MCP__ACCEPTED;
    for (size_t i = PARTS; i-- > 0;) {
        if (chosen[i]->why)
            expected = chosen[i]->why;
    }
    join(header, sizeof(header), chosen, 0, SIGNATURE);
    join(claims, sizeof(claims), chosen, SIGNATURE, PARTS);
    snprintf(payload, sizeof(payload), "{%s}", claims);
    char *text = sign_text(chosen[SIGNATURE]->text[0] == 's' ? stranger : own, header, payload);
    if (chosen[SIGNATURE]->text[0] == 'c') {
        char *at = strrchr(text, '.') + 1;
        *at = *at == 'A' ? 'B' : 'A';
    }
    outcome o = check(text);
    if (o.why != expected)
        fail_msg("%s %s: %s, not %s", header, payload, mcp__refusal_text(o.why),
                 mcp__refusal_text(expected));
    if (o.why == MCP__ACCEPTED) {
        const char *scope = chosen[SCOPE]->text;
        assert_string_equal(o.scopes, scope && strstr(scope, "read") ? "read write" : "");
        assert_string_equal(o.jkt, chosen[CNF]->text ? JKT : "");
        assert_int_equal(o.expires, atoll(chosen[EXP]->text + 6));
    }
    free(text);
}

static void test_combinations(void **state)
{
    (void)state;
    const part *chosen[PARTS];
    uint32_t seed = 1;
    /* First each part alone, then random combinations, most of which have two or three faults. */
    for (size_t d = 0; d < PARTS; d++) {
        for (size_t v = 0; v < dimensions[d].n; v++) {
            for (size_t i = 0; i < PARTS; i++)
                chosen[i] = &dimensions[i].parts[i == d ? v : 0];
            check_combination(chosen);
        }
    }
    for (int n = 0; n < 4000; n++) {
        for (size_t i = 0; i < PARTS; i++) {
            bool any = next_random(&seed) % 4 == 0;
            chosen[i] = &dimensions[i].parts[any ? next_random(&seed) % dimensions[i].n : 0];
        }
        check_combination(chosen);
    }
}

/* ---- the rest -------------------------------------------------------------------------------- */

#define GOOD_CLAIMS "\"iss\":\"https://as.example\",\"aud\":\"a-guid\",\"exp\":1700000100"

static mcp__refused refused_for(const char *header, const char *payload,
                                const mcp__token_rules *rules)
{
    char *text = sign_text(own, header, payload);
    mcp__refused why = check_with(text, rules, 1, NULL).why;
    free(text);
    return why;
}

static void test_payloads(void **state)
{
    (void)state;
    static const part payloads[] = {
        {"{" GOOD_CLAIMS "}", 0},
        {"{" GOOD_CLAIMS ",\"sub\":\"\"}", 0},
        {"{" GOOD_CLAIMS ",\"sub\":1}", MCP__REFUSED_CLAIMS},
        {"{" GOOD_CLAIMS ",\"aud\":\"a-guid\"}", MCP__REFUSED_CLAIMS},
        {"{" GOOD_CLAIMS ",\"a\":{\"b\":1,\"b\":2}}", MCP__REFUSED_CLAIMS},
        {"[" GOOD_CLAIMS "]", MCP__REFUSED_CLAIMS},
        {"[]", MCP__REFUSED_CLAIMS},
        {"\"a\"", MCP__REFUSED_CLAIMS},
        {"", MCP__REFUSED_CLAIMS},
        {"{" GOOD_CLAIMS, MCP__REFUSED_CLAIMS},
        {"{" GOOD_CLAIMS ",\"a\":\"\xFF\"}", MCP__REFUSED_CLAIMS},
    };
    for (size_t i = 0; i < MCP__COUNT(payloads); i++)
        assert_int_equal(refused_for("\"typ\":\"at+jwt\"", payloads[i].text, &plain_rules),
                         payloads[i].why);
    /* Tokens that are not signed at all, and tokens signed with the public key as a secret. */
    char *none = assemble("{\"alg\":\"none\",\"typ\":\"at+jwt\"}", "{" GOOD_CLAIMS "}", "");
    char *hmac = assemble("{\"alg\":\"HS256\",\"typ\":\"at+jwt\"}", "{" GOOD_CLAIMS "}",
                          "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA");
    assert_int_equal(check(none).why, MCP__REFUSED_ALGORITHM);
    assert_int_equal(check(hmac).why, MCP__REFUSED_ALGORITHM);
    free(none);
    free(hmac);
    assert_int_equal(check("").why, MCP__REFUSED_FORM);
    assert_int_equal(check("opaque").why, MCP__REFUSED_FORM);
    assert_int_equal(check("a.b.c").why, MCP__REFUSED_FORM);
}

/* A token of exactly 8192 bytes is accepted, a longer one is not. */
static void test_size(void **state)
{
    (void)state;
    size_t largest = 0;
    for (size_t fill = 5900; fill < 6900; fill++) {
        char payload[7200], filling[7000];
        memset(filling, 'x', fill);
        filling[fill] = '\0';
        snprintf(payload, sizeof(payload), "{" GOOD_CLAIMS ",\"x\":\"%s\"}", filling);
        char *text = sign_text(own, "\"typ\":\"at+jwt\"", payload);
        size_t len = strlen(text);
        if (len >= 8180 && len <= 8200) {
            assert_int_equal(check(text).why, len <= 8192 ? MCP__ACCEPTED : MCP__REFUSED_SIZE);
            if (len <= 8192)
                largest = len;
        } else if (fill == 6899) {
            assert_int_equal(check(text).why, MCP__REFUSED_SIZE);
        }
        free(text);
    }
    assert_true(largest >= 8190);
}

static void test_other_types(void **state)
{
    (void)state;
    mcp__token_rules rules = plain_rules;
    rules.type = MCP_STR("JWT");
    rules.mark = MCP_STR("typ");
    rules.mark_value = MCP_STR("Bearer");
    static const struct {
        const char *header, *more;
        mcp__refused why;
    } cases[] = {
        {"\"typ\":\"at+jwt\"", "", 0},
        {"\"typ\":\"JWT\"", ",\"typ\":\"Bearer\"", 0},
        {"\"typ\":\"jwt\"", ",\"typ\":\"Bearer\"", 0},
        {"\"a\":1", ",\"typ\":\"Bearer\"", 0},
        {"\"typ\":\"JWT\"", ",\"typ\":\"ID\"", MCP__REFUSED_MARK},
        {"\"typ\":\"JWT\"", ",\"typ\":[\"Bearer\"]", MCP__REFUSED_MARK},
        {"\"typ\":\"JWT\"", "", MCP__REFUSED_MARK},
        {"\"a\":1", "", MCP__REFUSED_MARK},
        {"\"typ\":\"dpop+jwt\"", ",\"typ\":\"Bearer\"", MCP__REFUSED_TYPE},
        {"\"typ\":\"oauth-id-jag+jwt\"", ",\"typ\":\"Bearer\"", MCP__REFUSED_TYPE},
    };
    char payload[256];
    for (size_t i = 0; i < MCP__COUNT(cases); i++) {
        snprintf(payload, sizeof(payload), "{" GOOD_CLAIMS "%s}", cases[i].more);
        assert_int_equal(refused_for(cases[i].header, payload, &rules), cases[i].why);
    }
    rules.mark = MCP_STR("scp");
    rules.mark_value = MCP_STR("");
    assert_int_equal(refused_for("\"typ\":\"JWT\"", "{" GOOD_CLAIMS ",\"scp\":\"a\"}", &rules), 0);
    assert_int_equal(refused_for("\"typ\":\"JWT\"", "{" GOOD_CLAIMS ",\"scp\":null}", &rules),
                     MCP__REFUSED_MARK);
    assert_int_equal(refused_for("\"typ\":\"JWT\"", "{" GOOD_CLAIMS "}", &rules),
                     MCP__REFUSED_MARK);
}

static void test_rules(void **state)
{
    (void)state;
    mcp_str empty = MCP_STR("");
    mcp__token_rules rules[] = {plain_rules, plain_rules, plain_rules, plain_rules, plain_rules,
                                plain_rules, plain_rules, plain_rules, plain_rules, plain_rules};
    static const bool good[] = {true, false, false, false, false, false, false, true, true, false};
    rules[1].issuer = empty;
    rules[2].n_audiences = 0;
    rules[3].audiences = &empty;
    rules[3].n_audiences = 1;
    rules[4].type = MCP_STR("JWT");
    rules[5].type = MCP_STR("dpop+jwt");
    rules[5].mark = MCP_STR("scp");
    rules[6].type = MCP_STR("application/OAUTH-ID-JAG+JWT");
    rules[6].mark = MCP_STR("scp");
    rules[7].type = MCP_STR("JWT");
    rules[7].mark = MCP_STR("scp");
    rules[8].type = MCP_STR("JWT");
    rules[8].mark = MCP_STR("sub");
    rules[8].mark_value = MCP_STR("one user");
    rules[9].type = MCP_STR("JWT");
    rules[9].mark = MCP_STR("sub");
    for (size_t i = 0; i < MCP__COUNT(rules); i++) {
        mcp_error error;
        int rc = mcp__token_rules_check(&rules[i], &error);
        assert_int_equal(rc, good[i] ? MCP_OK : MCP_EINVAL);
        assert_int_equal(error.text[0] == '\0', good[i]);
    }
}

static void test_several_issuers(void **state)
{
    (void)state;
    mcp__token_rules rules[] = {plain_rules, plain_rules};
    rules[1].issuer = MCP_STR("https://other.example");
    rules[1].audiences = &audiences[0];
    rules[1].n_audiences = 1;
    static const struct {
        const char *iss, *aud;
        mcp__refused why;
    } cases[] = {
        {"https://as.example", "a-guid", 0},
        {"https://other.example", "https://mcp.example/mcp", 0},
        {"https://other.example", "a-guid", MCP__REFUSED_AUDIENCE},
        {"https://third.example", "a-guid", MCP__REFUSED_ISSUER},
    };
    for (size_t i = 0; i < MCP__COUNT(cases); i++) {
        char payload[256];
        snprintf(payload, sizeof(payload), "{\"iss\":\"%s\",\"aud\":\"%s\",\"exp\":1700000100}",
                 cases[i].iss, cases[i].aud);
        char *text = sign_text(own, "\"typ\":\"at+jwt\"", payload);
        assert_int_equal(check_with(text, rules, 2, NULL).why, cases[i].why);
        assert_int_equal(check_with(text, rules, 0, NULL).why, MCP__REFUSED_ISSUER);
        mcp__token token;
        assert_int_equal(mcp__token_read(&token, mcp_str_from(text), NULL), MCP__ACCEPTED);
        assert_ptr_equal(mcp__token_rules_for(&token, rules, 2), i == 3 ? NULL : &rules[i > 0]);
        assert_ptr_equal(mcp__token_rules_for(&token, rules, 1), &rules[0]);
        mcp__token_clear(&token);
        free(text);
    }
}

/* For a token that names no key, the first four keys are tried. */
static void test_tries(void **state)
{
    (void)state;
    char *mine = public_part(key_ed25519);
    mcp__jwk_set *old = keys;
    char *text = sign_text(own, "\"typ\":\"at+jwt\"", "{" GOOD_CLAIMS "}");
    for (size_t before = 0; before < 6; before++) {
        char set[2048] = "{\"keys\":[";
        for (size_t i = 0; i < before; i++)
            strcat(set, "{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":"
                        "\"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo\"},");
        strcat(strcat(set, mine), "]}");
        assert_int_equal(mcp__jwk_set_read(&crypto, mcp_str_from(set), NULL, &keys, NULL), MCP_OK);
        assert_int_equal(check(text).why, before < 4 ? MCP__ACCEPTED : MCP__REFUSED_SIGNATURE);
        mcp__jwk_set_unref(keys);
    }
    keys = old;
    free(text);
    free(mine);
}

static void test_no_memory(void **state)
{
    (void)state;
    char *text = sign_text(own, "\"typ\":\"at+jwt\"", "{" GOOD_CLAIMS ",\"scope\":\"read write\"}");
    for (size_t n = 1;; n++) {
        failalloc f = {.fail_at = n};
        mcp_allocator a = failalloc_allocator(&f);
        mcp__refused why = check_with(text, &plain_rules, 1, &a).why;
        assert_int_equal(f.live, 0);
        if (f.calls < n) {
            assert_int_equal(why, MCP__ACCEPTED);
            break;
        }
        assert_int_equal(why, MCP__REFUSED_NO_MEMORY);
    }
    free(text);
}

/* The texts of refusals contain no part of a token, and each reason has the right status. */
static void test_refusals(void **state)
{
    (void)state;
    for (mcp__refused why = 0; why < MCP__REFUSALS_COUNT; why++) {
        assert_true(strlen(mcp__refusal_text(why)) > 5);
        assert_null(strchr(mcp__refusal_text(why), '%'));
    }
    assert_int_equal(mcp__refusal_status(MCP__ACCEPTED), 200);
    assert_int_equal(mcp__refusal_status(MCP__REFUSED_EXPIRED), 401);
    assert_int_equal(mcp__refusal_status(MCP__REFUSED_NONCE), 401);
    assert_int_equal(mcp__refusal_status(MCP__REFUSED_NO_TOKEN), 401);
    assert_int_equal(mcp__refusal_status(MCP__REFUSED_SCOPE), 403);
    assert_int_equal(mcp__refusal_status(MCP__REFUSED_SCHEME), 400);
    assert_int_equal(mcp__refusal_status(MCP__REFUSED_AWAY), 503);
    assert_int_equal(mcp__refusal_status(MCP__REFUSED_NO_MEMORY), 500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_combinations), cmocka_unit_test(test_payloads),
        cmocka_unit_test(test_size),         cmocka_unit_test(test_other_types),
        cmocka_unit_test(test_rules),        cmocka_unit_test(test_several_issuers),
        cmocka_unit_test(test_tries),        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
