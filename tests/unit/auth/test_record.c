/* The stored record of an OAuth client: reading, changes, unknown members, bounds. */
#include "rig.h"
#include "auth/record.h"

/* Applies a change to a text. Returns the new text, which the caller frees. */
static char *apply(const char *text, const mcp__record_change *change)
{
    mcp__record record;
    mcp__buf b;
    mcp__buf_init(&b, mcp__allocator(NULL), 0);
    assert_int_equal(mcp__record_read(&record, mcp_str_from(text), NULL, NULL), MCP__OAUTH_OK);
    assert_int_equal(mcp__record_put(&b, &record, change, NULL), MCP__OAUTH_OK);
    mcp__record_clear(&record);
    mcp__buf_add(&b, "", 1);
    assert_int_equal(b.failed, MCP_OK);
    return b.ptr;
}

/* Applies a change to *text, and compares the result. */
static void step(char **text, const mcp__record_change *change, const char *expected)
{
    char *next = apply(*text, change);
    if (strcmp(next, expected) != 0)
        fail_msg("%s", next);
    free(*text);
    *text = next;
}

static const mcp__record_client client = {.issuer = {"https://a", 9},
                                          .id = {"id", 2},
                                          .secret = {"s", 1},
                                          .method = {"client_secret_basic", 19},
                                          .redirect_uri = {"http://127.0.0.1:1/cb", 21},
                                          .token_endpoint = {"https://a/t", 11},
                                          .secret_expires = 5};
static const mcp__record_grant grant = {.issuer = {"https://a", 9},
                                        .resource = {"https://m", 9},
                                        .client_id = {"id", 2},
                                        .client_secret = {"gs", 2},
                                        .client_key = {"gk", 2},
                                        .redirect_uri = {"http://127.0.0.1:2/cb", 21},
                                        .access_token = {"at", 2},
                                        .refresh_token = {"rt", 2},
                                        .scope = {"x", 1},
                                        .requested = {"x y", 3},
                                        .dpop = true,
                                        .dpop_key = {"{\"k\":\"v\"}", 9},
                                        .expires = 1700000000,
                                        .token_endpoint = {"https://a/t", 11}};

#define CLIENT                                                                               \
    "{\"issuer\":\"https://a\",\"client_id\":\"id\",\"client_secret\":\"s\",\"method\":"     \
    "\"client_secret_basic\",\"redirect_uri\":\"http://127.0.0.1:1/cb\",\"token_endpoint\":" \
    "\"https://a/t\",\"secret_expires\":5}"
#define GRANT                                                                                    \
    "{\"issuer\":\"https://a\",\"resource\":\"https://m\",\"client_id\":\"id\","                 \
    "\"client_secret\":\"gs\",\"client_key\":\"gk\",\"redirect_uri\":\"http://127.0.0.1:2/cb\"," \
    "\"access_token\":\"at\",\"refresh_token\":\"rt\",\"scope\":\"x\",\"asked\":\"x y\","        \
    "\"dpop\":true,\"dpop_key\":\"{\\\"k\\\":\\\"v\\\"}\",\"expires\":1700000000,"               \
    "\"token_endpoint\":\"https://a/t\"}"

static void test_changes(void **state)
{
    (void)state;
    char *text = copy_text("");
    mcp__record_grant other = {.issuer = MCP_STR("https://a"),
                               .resource = MCP_STR("https://n"),
                               .client_id = MCP_STR("id"),
                               .access_token = MCP_STR("bt")};
    mcp__record_client second = {.issuer = MCP_STR("https://b"), .id = MCP_STR("id")};
    step(&text, &(mcp__record_change){0}, "{\"version\":1,\"clients\":[],\"grants\":[]}");
    step(&text, &(mcp__record_change){.client = &client, .grant = &grant},
         "{\"version\":1,\"clients\":[" CLIENT "],\"grants\":[" GRANT "]}");
    step(&text, &(mcp__record_change){.client = &second, .grant = &other},
         "{\"version\":1,\"clients\":[{\"issuer\":\"https://b\",\"client_id\":\"id\"}," CLIENT
         "],\"grants\":[{\"issuer\":\"https://a\",\"resource\":\"https://n\",\"client_id\":\"id\","
         "\"access_token\":\"bt\"}," GRANT "]}");
    mcp__record record;
    assert_int_equal(mcp__record_read(&record, mcp_str_from(text), NULL, NULL), MCP__OAUTH_OK);
    const mcp__record_client *c = mcp__record_find_client(&record, MCP_STR("https://a"));
    assert_non_null(c);
    assert_true(mcp_str_eq(c->secret, client.secret) && c->secret_expires == 5);
    assert_true(mcp_str_eq(c->token_endpoint, client.token_endpoint));
    assert_null(mcp__record_find_client(&record, MCP_STR("https://a/")));
    const mcp__record_grant *g =
        mcp__record_find_grant(&record, MCP_STR("https://a"), MCP_STR("https://m"), MCP_STR("id"));
    assert_non_null(g);
    assert_true(g->dpop && g->expires == 1700000000 && mcp_str_eq(g->dpop_key, grant.dpop_key));
    assert_null(
        mcp__record_find_grant(&record, MCP_STR("https://b"), MCP_STR("https://m"), MCP_STR("id")));
    assert_null(mcp__record_find_grant(&record, MCP_STR("https://a"), MCP_STR("https://m"),
                                       MCP_STR("id2")));
    assert_null(mcp__record_find_grant(&record, MCP_STR("https://a"), MCP_STR("https://m/"),
                                       MCP_STR("id")));
    mcp__record_clear(&record);
    other.access_token = MCP_STR("ct");
    other.expires = 0;
    step(&text, &(mcp__record_change){.grant = &other, .forget_client = &client},
         "{\"version\":1,\"clients\":[{\"issuer\":\"https://b\",\"client_id\":\"id\"}],\"grants\":["
         "{\"issuer\":\"https://a\",\"resource\":\"https://n\",\"client_id\":\"id\","
         "\"access_token\":\"ct\"}," GRANT "]}");
    second.id = MCP_STR("not this one");
    step(&text, &(mcp__record_change){.forget_grant = &other, .forget_client = &second},
         "{\"version\":1,\"clients\":[{\"issuer\":\"https://"
         "b\",\"client_id\":\"id\"}],\"grants\":[" GRANT "]}");
    free(text);
}

/* Pins outlive a logout, one for each client. */
static void test_pins(void **state)
{
    (void)state;
    mcp__record record;
    mcp__record_pin pin = {.client_id = MCP_STR("id"),
                           .issuer = MCP_STR("https://a"),
                           .token_endpoint = MCP_STR("https://a/t")};
    char *text = copy_text("{\"version\":1,\"clients\":[],\"grants\":[" GRANT "],\"later\":1}");
    step(&text, &(mcp__record_change){.pin = &pin},
         "{\"version\":1,\"clients\":[],\"grants\":[" GRANT "],\"pins\":[{\"client_id\":\"id\","
         "\"issuer\":\"https://a\",\"token_endpoint\":\"https://a/t\"}],\"later\":1}");
    pin.client_id = MCP_STR("");
    step(&text, &(mcp__record_change){.pin = &pin, .logout = true},
         "{\"version\":1,\"clients\":[],\"grants\":[],\"pins\":[{\"issuer\":\"https://a\","
         "\"token_endpoint\":\"https://a/t\"},{\"client_id\":\"id\",\"issuer\":\"https://a\","
         "\"token_endpoint\":\"https://a/t\"}]}");
    assert_int_equal(mcp__record_read(&record, mcp_str_from(text), NULL, NULL), MCP__OAUTH_OK);
    const mcp__record_pin *found = mcp__record_find_pin(&record, MCP_STR("id"));
    assert_true(found && mcp_str_eq(found->token_endpoint, MCP_STR("https://a/t")));
    assert_null(mcp__record_find_pin(&record, MCP_STR("other")));
    mcp__record_clear(&record);
    free(text);
}

static void test_unknown_members(void **state)
{
    (void)state;
    char *text =
        copy_text("{\"later\":{\"a\":[1.50,18446744073709551616]},\"version\":1,\"grants\":[{"
                  "\"issuer\":\"https://a\",\"resource\":\"https://m\",\"client_id\":\"id\","
                  "\"new\":[null],\"access_token\":\"old\"},{\"issuer\":\"https://c\","
                  "\"odd\":\"\\u00e4\"}]}");
    mcp__record_grant g = {.issuer = MCP_STR("https://a"),
                           .resource = MCP_STR("https://m"),
                           .client_id = MCP_STR("id"),
                           .access_token = MCP_STR("at")};
    step(&text, &(mcp__record_change){.grant = &g},
         "{\"version\":1,\"clients\":[],\"grants\":[{\"issuer\":\"https://a\",\"resource\":"
         "\"https://m\",\"client_id\":\"id\",\"access_token\":\"at\",\"new\":[null]},{\"issuer\":"
         "\"https://c\",\"odd\":\"\xC3\xA4\"}],\"later\":{\"a\":[1.5,18446744073709551616]}}");
    free(text);
}

static void test_faults(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        mcp__oauth_fault fault;
    } cases[] = {
        {"{\"version\":1}", MCP__OAUTH_OK},
        {"x", MCP__OAUTH_RECORD_FORM},
        {"[]", MCP__OAUTH_RECORD_FORM},
        {"{}", MCP__OAUTH_RECORD_FORM},
        {"{\"version\":\"1\"}", MCP__OAUTH_RECORD_FORM},
        {"{\"version\":0}", MCP__OAUTH_RECORD_FORM},
        {"{\"version\":2,\"clients\":7}", MCP__OAUTH_RECORD_VERSION},
        {"{\"version\":1,\"clients\":{}}", MCP__OAUTH_RECORD_FORM},
        {"{\"version\":1,\"clients\":[1]}", MCP__OAUTH_RECORD_FORM},
        {"{\"version\":1,\"clients\":[{}]}", MCP__OAUTH_RECORD_FORM},
        {"{\"version\":1,\"clients\":[{\"issuer\":\"a\"}]}", MCP__OAUTH_RECORD_FORM},
        {"{\"version\":1,\"clients\":[" CLIENT ",{\"client_id\":\"a\"}]}", MCP__OAUTH_RECORD_FORM},
        {"{\"version\":1,\"grants\":[{\"issuer\":\"a\",\"expires\":-1}]}", MCP__OAUTH_RECORD_FORM},
        {"{\"version\":1,\"grants\":[{\"issuer\":\"a\",\"access_token\":5}]}",
         MCP__OAUTH_RECORD_FORM},
        {"{\"version\":1,\"grants\":[{\"issuer\":\"a\",\"dpop\":1}]}", MCP__OAUTH_RECORD_FORM},
        {"{\"version\":1,\"grants\":[{\"issuer\":\"a\",\"expires\":\"1\"}]}",
         MCP__OAUTH_RECORD_FORM},
        {"{\"version\":1,\"grants\":[{\"issuer\":\"a\",\"expires\":9007199254741}]}",
         MCP__OAUTH_RECORD_FORM},
        {"{\"version\":1,\"version\":1}", MCP__OAUTH_RECORD_FORM},
    };
    for (size_t i = 0; i < MCP__COUNT(cases); i++) {
        mcp__record record;
        mcp_error error;
        mcp__oauth_fault fault =
            mcp__record_read(&record, mcp_str_from(cases[i].text), NULL, &error);
        if (fault != cases[i].fault)
            fail_msg("%s: %d %s", cases[i].text, fault, error.text);
        if (fault != MCP__OAUTH_OK)
            assert_int_equal(record.n_clients + record.n_grants, 0);
        mcp__record_clear(&record);
    }
    mcp__record record;
    char *big = calloc(1, MCP__RECORD_BYTES + 1);
    mcp_str text = {big, MCP__RECORD_BYTES + 1};
    assert_int_equal(mcp__record_read(&record, text, NULL, NULL), MCP__OAUTH_RECORD_SIZE);
    assert_int_equal(mcp__record_read(&record, MCP_STR(""), NULL, NULL), MCP__OAUTH_OK);
    /* strings that cannot be written */
    memset(big, 'a', MCP__RECORD_BYTES);
    mcp__record_grant g = grant;
    mcp__record_change change = {.grant = &g};
    mcp__buf b;
    mcp__buf_init(&b, mcp__allocator(NULL), 0);
    g.access_token = (mcp_str){big, MCP__RECORD_BYTES};
    assert_int_equal(mcp__record_put(&b, &record, &change, NULL), MCP__OAUTH_RECORD_SIZE);
    g.access_token = MCP_STR("\xFF");
    assert_int_equal(mcp__record_put(&b, &record, &change, NULL), MCP__OAUTH_RECORD_FORM);
    assert_int_equal(b.len, 0);
    mcp__buf_free(&b);
    free(big);
}

/* The oldest entries are dropped. */
static void test_bounds(void **state)
{
    (void)state;
    char *text = copy_text(""), name[32];
    for (int i = 0; i < MCP__RECORD_ENTRIES + 2; i++) {
        mcp__record_client c = client;
        mcp__record_grant g = grant;
        snprintf(name, sizeof(name), "https://%d", i);
        c.issuer = g.issuer = mcp_str_from(name);
        char *next = apply(text, &(mcp__record_change){.client = &c, .grant = &g});
        free(text);
        text = next;
    }
    mcp__record record;
    assert_int_equal(mcp__record_read(&record, mcp_str_from(text), NULL, NULL), MCP__OAUTH_OK);
    assert_int_equal(record.n_clients, MCP__RECORD_ENTRIES);
    assert_int_equal(record.n_grants, MCP__RECORD_ENTRIES);
    assert_true(mcp_str_eq(record.clients[0].issuer, mcp_str_from(name)));
    assert_null(mcp__record_find_client(&record, MCP_STR("https://1")));
    assert_non_null(mcp__record_find_client(&record, MCP_STR("https://2")));
    mcp__record_clear(&record);
    free(text);
}

static void test_memory(void **state)
{
    (void)state;
    static const char text[] =
        "{\"version\":1,\"clients\":[" CLIENT "],\"grants\":[" GRANT "],\"x\":1}";
    mcp__record_client c = client;
    c.id = MCP_STR("new");
    for (size_t n = 1;; n++) {
        failalloc f = {.fail_at = n};
        mcp_allocator a = failalloc_allocator(&f);
        mcp__record record;
        mcp__buf b;
        mcp__buf_init(&b, &a, 0);
        mcp__oauth_fault fault = mcp__record_read(&record, mcp_str_from(text), &a, NULL);
        if (fault == MCP__OAUTH_OK)
            fault = mcp__record_put(&b, &record, &(mcp__record_change){.client = &c}, NULL);
        mcp__record_clear(&record);
        mcp__buf_free(&b);
        assert_int_equal(f.live, 0);
        assert_int_equal(fault, f.calls < n ? MCP__OAUTH_OK : MCP__OAUTH_NO_MEMORY);
        if (f.calls < n)
            break;
    }
}

/* ---- generated changes ----------------------------------------------------------------------- */

/* The model of a record: for each of nine keys a number that identifies its token, or 0; the
 * numbers grow, and the largest is the newest entry. */
static void test_generated(void **state)
{
    (void)state;
    uint32_t seed = 5;
    int model[9] = {0};
    char *text = copy_text("");
    for (int round = 1; round < 3000; round++) {
        static const mcp_str issuers[] = {{"https://a", 9}, {"https://a/", 10}, {"https://b", 9}};
        static const mcp_str resources[] = {{"https://m", 9}, {"https://m/", 10}, {"", 0}};
        char token[16];
        size_t which = next_random(&seed) % 9;
        bool gone = next_random(&seed) % 3 == 0;
        mcp__record_grant g = {.issuer = issuers[which / 3],
                               .resource = resources[which % 3],
                               .client_id = MCP_STR("id"),
                               .expires = round};
        snprintf(token, sizeof(token), "t%d", round);
        g.access_token = mcp_str_from(token);
        mcp__record_change change = {.grant = gone ? NULL : &g, .forget_grant = gone ? &g : NULL};
        char *next = apply(text, &change);
        free(text);
        text = next;
        model[which] = gone ? 0 : round;
        mcp__record record;
        assert_int_equal(mcp__record_read(&record, mcp_str_from(text), NULL, NULL), MCP__OAUTH_OK);
        size_t n = 0;
        for (size_t i = 0; i < 9; i++) {
            const mcp__record_grant *found =
                mcp__record_find_grant(&record, issuers[i / 3], resources[i % 3], MCP_STR("id"));
            assert_int_equal(found ? found->expires : 0, model[i]);
            n += found != NULL;
        }
        assert_int_equal(n, record.n_grants);
        for (size_t i = 1; i < n; i++)
            assert_true(record.grants[i - 1].expires > record.grants[i].expires);
        mcp__record_clear(&record);
    }
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_changes),         cmocka_unit_test(test_pins),
        cmocka_unit_test(test_unknown_members), cmocka_unit_test(test_faults),
        cmocka_unit_test(test_bounds),          cmocka_unit_test(test_memory),
        cmocka_unit_test(test_generated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
