/* The header WWW-Authenticate as a client reads it: the examples of the RFCs, each rule of the
 * grammar, bounds, and generated challenges. */
#include "rig.h"
#include "auth/challenge.h"
#include "auth/www.h"

/* Writes the challenges in one form, "scheme token68 name=<value> ...;". */
static char *show(const mcp__www *www)
{
    mcp__buf b;
    mcp__buf_init(&b, mcp__allocator(NULL), 0);
    for (size_t i = 0; i < www->n; i++) {
        const mcp__www_challenge *c = &www->challenges[i];
        mcp__buf_str(&b, c->scheme);
        if (c->token68.len)
            mcp__buf_printf(&b, " %.*s", (int)c->token68.len, c->token68.ptr);
        for (size_t k = c->first; k < c->first + c->n; k++) {
            mcp__buf_char(&b, ' ');
            mcp__buf_str(&b, www->params[k].name);
            mcp__buf_lit(&b, "=<");
            mcp__buf_str(&b, www->params[k].value);
            mcp__buf_char(&b, '>');
        }
        mcp__buf_char(&b, ';');
    }
    mcp__buf_add(&b, "", 1);
    assert_int_equal(b.failed, MCP_OK);
    return b.ptr;
}

static void expect(mcp_str value, int code, const char *shown)
{
    mcp__www www;
    int rc = mcp__www_read(&www, value, NULL);
    char *text = show(&www);
    if (rc != code || strcmp(text, shown) != 0)
        fail_msg("%.*s: %d, %s", (int)value.len, value.ptr, rc, text);
    free(text);
    mcp__www_clear(&www);
}

static const struct {
    const char *value;
    int rc;
    const char *shown;
} forms[] = {
    /* RFC 6750 section 3, RFC 9449 sections 7.1 and 9, RFC 9728 section 5.1, RFC 9110 11.6.1 */
    {"Bearer realm=\"example\"", MCP_OK, "Bearer realm=<example>;"},
    {"Bearer realm=\"example\", error=\"invalid_token\", error_description=\"The access token "
     "expired\"",
     MCP_OK,
     "Bearer realm=<example> error=<invalid_token> error_description=<The access token "
     "expired>;"},
    {"DPoP algs=\"ES256 PS256\"", MCP_OK, "DPoP algs=<ES256 PS256>;"},
    {"Bearer, DPoP algs=\"ES256 PS256\"", MCP_OK, "Bearer;DPoP algs=<ES256 PS256>;"},
    {"DPoP error=\"use_dpop_nonce\", error_description=\"Resource server requires nonce in "
     "DPoP proof\"",
     MCP_OK,
     "DPoP error=<use_dpop_nonce> error_description=<Resource server requires nonce in DPoP "
     "proof>;"},
    {"Bearer resource_metadata=\"https://resource.example.com/.well-known/"
     "oauth-protected-resource\"",
     MCP_OK,
     "Bearer resource_metadata=<https://resource.example.com/.well-known/"
     "oauth-protected-resource>;"},
    {"Basic realm=\"simple\", Newauth realm=\"apps\", type=1, title=\"Login to \\\"apps\\\"\"",
     MCP_OK, "Basic realm=<simple>;Newauth realm=<apps> type=<1> title=<Login to \"apps\">;"},
    /* empty values and list elements */
    {"", MCP_OK, ""},
    {" \t, ,", MCP_OK, ""},
    {"Bearer", MCP_OK, "Bearer;"},
    {"Bearer ", MCP_OK, "Bearer;"},
    {",, Bearer ,, ,a=b ,, c=d,,", MCP_OK, "Bearer a=<b> c=<d>;"},
    {"Bearer a=b,Basic", MCP_OK, "Bearer a=<b>;Basic;"},
    {"Negotiate,Bearer a=b", MCP_OK, "Negotiate;Bearer a=<b>;"},
    {"Negotiate , Bearer a=b", MCP_OK, "Negotiate;Bearer a=<b>;"},
    {"Bearer a=\"\"", MCP_OK, "Bearer a=<>;"},
    /* token68 */
    {"Negotiate oYGz==", MCP_OK, "Negotiate oYGz==;"},
    {"Negotiate a-._~+/9, Bearer x=y", MCP_OK, "Negotiate a-._~+/9;Bearer x=<y>;"},
    {"Negotiate abc , Bearer", MCP_OK, "Negotiate abc;Bearer;"},
    {"A b=, C", MCP_OK, "A b=;C;"},
    {"A b c", MCP_EPARSE, ""},
    {"A b= c", MCP_OK, "A b=<c>;"},
    /* white space, escapes, values without quotes */
    {"Bearer\ta =\t\"b\"\t,c= d", MCP_OK, "Bearer a=<b> c=<d>;"},
    {"Bearer a=\"\\\\ \\\" \\x, y=z\"", MCP_OK, "Bearer a=<\\ \" x, y=z>;"},
    {"Bearer resource_metadata=https://a.example/x?y=z, scope=a", MCP_OK,
     "Bearer resource_metadata=<https://a.example/x?y=z> scope=<a>;"},
    /* malformed: what comes before is kept */
    {"Bearer a=b, A=\"c\"", MCP_EPARSE, ""},
    {"Basic x=y, Bearer a=b, a=c", MCP_EPARSE, "Basic x=<y>;"},
    {"Basic, Bearer a=\"b", MCP_EPARSE, "Basic;"},
    {"Basic, Bearer a=\"b\\", MCP_EPARSE, "Basic;"},
    {"Bearer a=\"b\"c", MCP_EPARSE, ""},
    {"Bearer a=b c=d", MCP_EPARSE, ""},
    {"Bearer a=, b=c,", MCP_EPARSE, "Bearer a=;"},
    {"Bearer =b", MCP_EPARSE, ""},
    {"Bearer=a", MCP_EPARSE, ""},
    {"a=b", MCP_EPARSE, ""},
    {"\"Bearer\"", MCP_EPARSE, ""},
    {"Bearer a=\"\r\n\"", MCP_EPARSE, ""},
    {"Bearer a=b\n", MCP_EPARSE, ""},
    {"B\xC3\xA4r", MCP_EPARSE, ""},
};

static void test_forms(void **state)
{
    (void)state;
    for (size_t i = 0; i < MCP__COUNT(forms); i++)
        expect(mcp_str_from(forms[i].value), forms[i].rc, forms[i].shown);
    expect((mcp_str){"Bearer a=\"\0\"", 12}, MCP_EPARSE, "");
    expect((mcp_str){"Bearer a=\"\xC3\xA4\"", 13}, MCP_OK, "Bearer a=<\xC3\xA4>;");
}

static void test_bounds(void **state)
{
    (void)state;
    mcp__buf b;
    mcp__www www;
    mcp__buf_init(&b, mcp__allocator(NULL), 0);
    for (int i = 0; i < MCP__WWW_CHALLENGES; i++)
        mcp__buf_printf(&b, "%sA", i ? "," : "");
    assert_int_equal(mcp__www_read(&www, mcp__buf_view(&b), NULL), MCP_OK);
    mcp__www_clear(&www);
    mcp__buf_lit(&b, ",B");
    assert_int_equal(mcp__www_read(&www, mcp__buf_view(&b), NULL), MCP_ELIMIT);
    assert_int_equal(www.n, MCP__WWW_CHALLENGES);
    mcp__www_clear(&www);
    mcp__buf_reset(&b, SIZE_MAX);
    mcp__buf_lit(&b, "Basic,A x=y");
    for (int i = 1; i < MCP__WWW_PARAMS; i++)
        mcp__buf_printf(&b, ",p%d=v", i);
    assert_int_equal(mcp__www_read(&www, mcp__buf_view(&b), NULL), MCP_OK);
    assert_int_equal(www.n_params, MCP__WWW_PARAMS);
    mcp__www_clear(&www);
    mcp__buf_lit(&b, ",q=v");
    assert_int_equal(mcp__www_read(&www, mcp__buf_view(&b), NULL), MCP_ELIMIT);
    assert_int_equal(www.n, 1);
    mcp__www_clear(&www);
    mcp__buf_free(&b);
    char *big = malloc(MCP__WWW_BYTES + 1);
    memset(big, 'a', MCP__WWW_BYTES + 1);
    assert_int_equal(mcp__www_read(&www, (mcp_str){big, MCP__WWW_BYTES}, NULL), MCP_OK);
    mcp__www_clear(&www);
    assert_int_equal(mcp__www_read(&www, (mcp_str){big, MCP__WWW_BYTES + 1}, NULL), MCP_ELIMIT);
    mcp__www_clear(&www);
    free(big);
    failalloc f = {.fail_at = 1};
    mcp_allocator a = failalloc_allocator(&f);
    assert_int_equal(mcp__www_read(&www, MCP_STR("Bearer"), &a), MCP_ENOMEM);
    mcp__www_clear(&www);
}

static void test_wants(void **state)
{
    (void)state;
    static const struct {
        const char *value;
        bool dpop;
        const char *shown; /* schemes, error, scope, metadata, algs */
    } cases[] = {
        {"Bearer", false, "b||||"},
        {"bearer ERROR=invalid_token, Scope=\"a b\", RESOURCE_metadata=\"https://x\"", false,
         "b|invalid_token|a b|https://x|"},
        {"dpop algs=ES256", false, "d||||ES256"},
        {"Bearer scope=a, resource_metadata=\"u\", DPoP algs=\"ES256\", error=use_dpop_nonce, "
         "scope=b",
         false, "bd|use_dpop_nonce|a|u|ES256"},
        {"Bearer scope=a, resource_metadata=\"u\", DPoP algs=\"ES256\", scope=b", true,
         "bd||b|u|ES256"},
        {"Basic realm=x, scope=y", false, "||||"},
        {"Bearer scope=\"a \\\\\"", false, "b||||"},
        {"Bearer scope=\"a\", Bearer scope=\"b\"", false, "b||a||"},
        {"", false, "||||"},
    };
    for (size_t i = 0; i < MCP__COUNT(cases); i++) {
        mcp__www www;
        mcp__www_wants wants;
        char shown[128];
        assert_int_equal(mcp__www_read(&www, mcp_str_from(cases[i].value), NULL), MCP_OK);
        mcp__www_asked(&www, cases[i].dpop, &wants);
        snprintf(shown, sizeof(shown), "%s%s|%.*s|%.*s|%.*s|%.*s", wants.bearer ? "b" : "",
                 wants.dpop ? "d" : "", (int)wants.error.len, wants.error.ptr, (int)wants.scope.len,
                 wants.scope.ptr, (int)wants.metadata_url.len, wants.metadata_url.ptr,
                 (int)wants.algs.len, wants.algs.ptr);
        assert_string_equal(shown, cases[i].shown);
        mcp__www_clear(&www);
    }
}

/* ---- generated values ------------------------------------------------------------------------ */

static void put_spaces(mcp__buf *b, uint32_t *seed, size_t least)
{
    for (size_t n = least + next_random(seed) % 3; n; n--)
        mcp__buf_char(b, next_random(seed) % 2 ? ' ' : '\t');
}

static void put_commas(mcp__buf *b, uint32_t *seed)
{
    do {
        put_spaces(b, seed, 0);
        mcp__buf_char(b, ',');
        put_spaces(b, seed, 0);
    } while (next_random(seed) % 4 == 0);
}

static void put_value(mcp__buf *value, mcp__buf *model, uint32_t *seed)
{
    bool quoted = next_random(seed) % 2;
    size_t n = next_random(seed) % 6 + !quoted;
    if (quoted)
        mcp__buf_char(value, '"');
    for (; n; n--) {
        char c = quoted ? "a, =\\\"\t\xC3"[next_random(seed) % 8] : "aZ9_-~"[next_random(seed) % 6];
        if (c == '"' || c == '\\' || (quoted && next_random(seed) % 4 == 0))
            mcp__buf_char(value, '\\');
        mcp__buf_char(value, c);
        mcp__buf_char(model, c);
    }
    if (quoted)
        mcp__buf_char(value, '"');
}

/* Appends a challenge to both, in which parameters have the names a, b, c. */
static void put_challenge(mcp__buf *value, mcp__buf *model, uint32_t *seed)
{
    static const char *const schemes[] = {"Bearer", "DPoP", "x", "a"};
    const char *scheme = schemes[next_random(seed) % 4];
    size_t n = next_random(seed) % 4;
    mcp__buf_printf(value, "%s", scheme);
    mcp__buf_printf(model, "%s", scheme);
    if (n == 0 && next_random(seed) % 2) {
        put_spaces(value, seed, 1);
        mcp__buf_lit(value, "ab+/==");
        mcp__buf_lit(model, " ab+/==");
    }
    for (size_t i = 0; i < n; i++) {
        if (i)
            put_commas(value, seed);
        else
            put_spaces(value, seed, 1);
        mcp__buf_char(value, (char)('a' + i));
        put_spaces(value, seed, 0);
        mcp__buf_char(value, '=');
        put_spaces(value, seed, 0);
        mcp__buf_printf(model, " %c=<", (char)('a' + i));
        put_value(value, model, seed);
        mcp__buf_char(model, '>');
    }
    mcp__buf_char(model, ';');
}

/* Values are generated together with what they mean. */
static void test_generated(void **state)
{
    (void)state;
    uint32_t seed = 11;
    for (int round = 0; round < 20000; round++) {
        mcp__buf value, model;
        mcp__buf_init(&value, mcp__allocator(NULL), 0);
        mcp__buf_init(&model, mcp__allocator(NULL), 0);
        if (next_random(&seed) % 4 == 0)
            put_commas(&value, &seed);
        for (size_t n = next_random(&seed) % 4; n; n--) {
            put_challenge(&value, &model, &seed);
            if (n > 1 || next_random(&seed) % 4 == 0)
                put_commas(&value, &seed);
        }
        mcp__buf_add(&model, "", 1);
        expect(mcp__buf_view(&value), MCP_OK, model.ptr);
        mcp__buf_free(&value);
        mcp__buf_free(&model);
    }
}

/* What a resource server of this library sends is read again. */
static void test_round_trip(void **state)
{
    (void)state;
    for (int why = 0; why < MCP__REFUSALS_COUNT; why++) {
        mcp__challenge sent = {MCP__SCHEME_DPOP, (mcp__refused)why, MCP_STR("a b"),
                               MCP_STR("https://a.example/\"\\")};
        mcp__buf b;
        mcp__www www;
        mcp__www_wants wants;
        mcp__buf_init(&b, mcp__allocator(NULL), 0);
        mcp__challenge_put(&b, &sent);
        assert_int_equal(mcp__www_read(&www, mcp__buf_view(&b), NULL), MCP_OK);
        mcp__www_asked(&www, true, &wants);
        assert_true(wants.dpop && !wants.bearer);
        assert_true(mcp_str_eq(wants.error, mcp_str_from(mcp__refusal_code((mcp__refused)why))));
        assert_true(mcp_str_eq(wants.scope, sent.scopes));
        assert_true(mcp_str_eq(wants.metadata_url, sent.metadata_url));
        mcp__www_clear(&www);
        mcp__buf_free(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms),      cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_wants),      cmocka_unit_test(test_generated),
        cmocka_unit_test(test_round_trip),
    };
    return cmocka_run_group_tests(tests, load_crypto, NULL);
}
