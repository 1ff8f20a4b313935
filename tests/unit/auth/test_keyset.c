/* Tests when the keys of an issuer are fetched, and the answers of an introspection endpoint. */
#include "rig.h"
#include "auth/introspect.h"
#include "auth/keyset.h"

static char set_a[2048], set_ab[4096]; /* sets with the key "p256", and with "p384" too */
static const mcp__jws_alg *es256, *es384;
static const mcp_allocator *memory;

static int set_up(void **state)
{
    if (load_crypto(state) != 0)
        return -1;
    char *a = public_part(key_p256), *b = public_part(key_p384);
    snprintf(set_a, sizeof(set_a), "{\"keys\":[%s]}", a);
    snprintf(set_ab, sizeof(set_ab), "{\"keys\":[%s,%s]}", a, b);
    free(a);
    free(b);
    es256 = mcp__jws_alg_find(MCP_STR("ES256"));
    es384 = mcp__jws_alg_find(MCP_STR("ES384"));
    return 0;
}

static mcp__keyset_answer ask_known(mcp__keyset *k, uint64_t now)
{
    return mcp__keyset_ask(k, MCP_STR("p256"), es256, k->begun, now);
}

static mcp__keyset_answer ask_new(mcp__keyset *k, uint64_t now)
{
    return mcp__keyset_ask(k, MCP_STR("p384"), es384, k->begun, now);
}

static bool body(mcp__keyset *k, const char *text, const char *cache_control, uint64_t now)
{
    mcp__jwk_set *set;
    mcp_error error;
    if (mcp__jwk_set_read(&crypto, mcp_str_from(text), memory, &set, &error) != MCP_OK) {
        mcp__keyset_on_failure(k, error.text, now);
        return false;
    }
    mcp__keyset_on_set(k, set, mcp_str_from(cache_control), now);
    return true;
}

#define READY  MCP__KEYSET_READY
#define WAIT   MCP__KEYSET_WAIT
#define AWAY   MCP__KEYSET_AWAY
#define MINUTE (60 * (uint64_t)1000)
#define HOUR   (60 * MINUTE)

static void test_lazy(void **state)
{
    (void)state;
    mcp__keyset k;
    mcp__keyset_init(&k);
    assert_false(mcp__keyset_wants_fetch(&k));
    assert_int_equal(ask_known(&k, 0), WAIT);
    assert_true(mcp__keyset_wants_fetch(&k));
    /* All tokens wait for one fetch. */
    assert_int_equal(ask_known(&k, 10), WAIT);
    assert_int_equal(ask_new(&k, 10), WAIT);
    assert_false(mcp__keyset_wants_fetch(&k));
    assert_true(body(&k, set_a, "max-age=600", 100));
    assert_int_equal(ask_known(&k, 100), READY);
    assert_non_null(k.set);
    mcp__keyset_clear(&k);
}

static void test_nothing_cached(void **state)
{
    (void)state;
    mcp__keyset k;
    uint64_t now = 0, pauses[] = {1000, 2000, 4000, 8000, 16000, 30000, 30000};
    mcp__keyset_init(&k);
    for (size_t i = 0; i < MCP__COUNT(pauses); i++) {
        assert_int_equal(ask_known(&k, now), WAIT);
        assert_true(mcp__keyset_wants_fetch(&k));
        mcp__keyset_on_failure(&k, "the host is away", now);
        assert_string_equal(k.error.text, "the host is away");
        assert_int_equal(ask_known(&k, now), AWAY);
        assert_int_equal(ask_known(&k, now + pauses[i] - 1), AWAY);
        assert_int_equal(mcp__keyset_retry_after(&k, now), pauses[i] / 1000);
        assert_int_equal(mcp__keyset_retry_after(&k, now + pauses[i] - 1), 1);
        assert_false(mcp__keyset_wants_fetch(&k));
        now += pauses[i];
    }
    /* A body that is not a key set counts as a failure. */
    static const char *const wrong[] = {"", "<html>", "{}", "{\"keys\":[]}", "[1]"};
    for (size_t i = 0; i < MCP__COUNT(wrong); i++) {
        assert_int_equal(ask_known(&k, now), WAIT);
        assert_true(mcp__keyset_wants_fetch(&k));
        assert_false(body(&k, wrong[i], "", now));
        assert_true(k.error.text[0]);
        assert_int_equal(ask_known(&k, now), AWAY);
        now += 30000;
    }
    assert_int_equal(ask_known(&k, now), WAIT);
    assert_true(mcp__keyset_wants_fetch(&k));
    assert_true(body(&k, set_a, "", now));
    assert_int_equal(ask_known(&k, now), READY);
    assert_int_equal(ask_new(&k, now), WAIT); /* the failures have no effect any more */
    mcp__keyset_clear(&k);
}

static void test_refresh(void **state)
{
    (void)state;
    mcp__keyset k;
    mcp__keyset_init(&k);
    ask_known(&k, 0);
    mcp__keyset_wants_fetch(&k);
    body(&k, set_a, "max-age=3600", 0);
    assert_int_equal(ask_known(&k, HOUR - 1), READY);
    assert_false(mcp__keyset_wants_fetch(&k));
    /* No longer fresh: the old set is used while a new one is fetched. */
    assert_int_equal(ask_known(&k, HOUR), READY);
    assert_true(mcp__keyset_wants_fetch(&k));
    assert_int_equal(ask_known(&k, HOUR + 1), READY);
    assert_false(mcp__keyset_wants_fetch(&k));
    /* The fetch hangs. After five minutes, tokens wait for its end. */
    assert_int_equal(ask_known(&k, HOUR + 5 * MINUTE), WAIT);
    /* The fetch fails. The old set stays in use. */
    mcp__keyset_on_failure(&k, "time-out", HOUR + 6 * MINUTE);
    assert_int_equal(ask_known(&k, HOUR + 6 * MINUTE), READY);
    assert_false(mcp__keyset_wants_fetch(&k));
    assert_int_equal(ask_known(&k, HOUR + 7 * MINUTE), WAIT);
    assert_true(mcp__keyset_wants_fetch(&k));
    assert_false(body(&k, "<html>", "", HOUR + 7 * MINUTE));
    assert_int_equal(ask_known(&k, HOUR + 7 * MINUTE), READY);
    /* Until the next fetch has ended, a new key may exist. */
    assert_int_equal(ask_new(&k, HOUR + 7 * MINUTE), AWAY);
    assert_int_equal(ask_known(&k, HOUR + 7 * MINUTE + 2000), WAIT);
    assert_true(mcp__keyset_wants_fetch(&k));
    assert_int_equal(ask_new(&k, HOUR + 7 * MINUTE + 2000), WAIT);
    assert_false(mcp__keyset_wants_fetch(&k));
    mcp__keyset_clear(&k);
}

/* A token whose key is not in the set requests a new set. The token is refused if the fetch of the
 * set began after the token had arrived. */
static void test_unknown_key(void **state)
{
    (void)state;
    mcp__keyset k;
    mcp__keyset_init(&k);
    assert_int_equal(ask_new(&k, 0), WAIT);
    assert_true(mcp__keyset_wants_fetch(&k));
    assert_int_equal(mcp__keyset_ask(&k, MCP_STR("p384"), es384, 0, 10), WAIT);
    assert_true(body(&k, set_a, "", 20));
    assert_int_equal(mcp__keyset_ask(&k, MCP_STR("p384"), es384, 0, 20), READY);
    /* This token arrived during the fetch, so the set may be older than its key. */
    assert_int_equal(mcp__keyset_ask(&k, MCP_STR("p384"), es384, 1, 20), WAIT);
    assert_int_equal(ask_known(&k, 30), READY);
    assert_true(mcp__keyset_wants_fetch(&k));
    assert_true(body(&k, set_ab, "", 40));
    assert_int_equal(mcp__keyset_ask(&k, MCP_STR("p384"), es384, 1, 40), READY);
    assert_int_equal(k.set->n, 2);
    /* A key with the right name for another algorithm does not count. */
    assert_int_equal(mcp__keyset_ask(&k, MCP_STR("p384"), es256, 2, 50), WAIT);
    assert_true(mcp__keyset_wants_fetch(&k));
    mcp__keyset_on_failure(&k, "away", 60);
    assert_int_equal(mcp__keyset_ask(&k, MCP_STR("p384"), es256, 2, 60), AWAY);
    assert_int_equal(mcp__keyset_retry_after(&k, 60), 1);
    assert_int_equal(ask_new(&k, 60), READY);
    mcp__keyset_clear(&k);
}

/* Invented key names use up the fetches for unknown keys, but not those for known keys. Later
 * tokens with unknown keys are not refused; they get the time after which to try again. */
static void test_invented_keys(void **state)
{
    (void)state;
    mcp__keyset k;
    uint64_t now = HOUR;
    mcp__keyset_init(&k);
    ask_known(&k, now);
    mcp__keyset_wants_fetch(&k);
    body(&k, set_a, "", now);
    for (int i = 0; i < MCP__KEYSET_UNKNOWN_BURST; i++) {
        uint64_t arrived = k.begun;
        assert_int_equal(mcp__keyset_ask(&k, MCP_STR("x"), es256, arrived, now), WAIT);
        assert_true(mcp__keyset_wants_fetch(&k));
        body(&k, set_a, "", now);
        assert_int_equal(mcp__keyset_ask(&k, MCP_STR("x"), es256, arrived, now), READY);
    }
    assert_int_equal(ask_new(&k, now), AWAY);
    assert_int_equal(mcp__keyset_retry_after(&k, now), 30);
    assert_int_equal(ask_known(&k, now), READY);
    assert_int_equal(ask_new(&k, now + 29999), AWAY);
    assert_int_equal(mcp__keyset_retry_after(&k, now + 29999), 1);
    assert_false(mcp__keyset_wants_fetch(&k));
    uint64_t arrived = k.begun;
    assert_int_equal(ask_new(&k, now + 30000), WAIT);
    assert_true(mcp__keyset_wants_fetch(&k));
    body(&k, set_ab, "", now + 30001);
    assert_int_equal(mcp__keyset_ask(&k, MCP_STR("p384"), es384, arrived, now + 30001), READY);
    mcp__keyset_clear(&k);
}

/* The keys have no names and are replaced. A token that was signed with none of them requests a new
 * set. */
static void test_keys_without_names(void **state)
{
    (void)state;
    mcp__keyset k;
    mcp__keyset_init(&k);
    assert_int_equal(mcp__keyset_ask(&k, MCP_STR(""), es256, 0, 0), WAIT);
    assert_true(mcp__keyset_wants_fetch(&k));
    body(&k, set_a, "", 0);
    assert_int_equal(mcp__keyset_ask(&k, MCP_STR(""), es256, 0, 100), READY);
    assert_false(mcp__keyset_wants_fetch(&k));
    assert_int_equal(mcp__keyset_ask_again(&k, 0, 100), READY); /* the set is new */
    assert_int_equal(mcp__keyset_ask_again(&k, 1, 100), WAIT);
    assert_true(mcp__keyset_wants_fetch(&k));
    body(&k, set_ab, "", 200);
    assert_int_equal(mcp__keyset_ask_again(&k, 1, 200), READY);
    mcp__keyset_clear(&k);
}

/* Random events. These rules always hold: There is one fetch at a time. Without a set, the answer
 * is WAIT or AWAY. For a key of the set it is never AWAY. It is WAIT only while a fetch is wanted
 * or in flight. While the set is fresh, there is at most one burst of fetches in 30 seconds. */
static void test_random_events(void **state)
{
    (void)state;
    mcp__keyset k;
    uint32_t seed = 17, starts = 0;
    uint64_t now = 0, last_starts[MCP__KEYSET_UNKNOWN_BURST] = {0};
    bool flight = false;
    mcp__keyset_init(&k);
    for (int n = 0; n < 20000; n++) {
        now += next_random(&seed) % (n % 100 == 0 ? 2 * HOUR : 4000);
        bool known = next_random(&seed) % 3 != 0;
        bool has_key = k.set && (known || k.set->n == 2);
        bool was_fresh = k.set && now < k.fresh_until, paused = k.pause && now < k.retry_at;
        mcp__keyset_answer answer = known ? ask_known(&k, now) : ask_new(&k, now);
        assert_true(k.set || answer != READY);
        assert_false(has_key && answer == AWAY);
        assert_false(has_key && was_fresh && answer != READY);
        bool start = mcp__keyset_wants_fetch(&k);
        assert_false(start && (flight || paused));
        if (start && was_fresh && !k.pause) {
            uint64_t *before = &last_starts[starts++ % MCP__KEYSET_UNKNOWN_BURST];
            assert_true(starts <= MCP__KEYSET_UNKNOWN_BURST || now - *before >= 30000);
            *before = now;
        }
        flight = flight || start;
        assert_true(answer != WAIT || flight);
        if (flight && next_random(&seed) % 4 == 0) {
            flight = false;
            uint32_t what = next_random(&seed) % 4;
            if (what == 0)
                mcp__keyset_on_failure(&k, "away", now);
            else
                body(&k, what == 1 ? "junk" : what == 2 ? set_a : set_ab, "", now);
        }
    }
    mcp__keyset_clear(&k);
}

static void test_lifetime(void **state)
{
    (void)state;
    static const struct {
        const char *value;
        uint64_t minutes;
    } cases[] = {
        {"", 60},
        {"public", 60},
        {"max-age=600", 10},
        {"public, Max-Age=1200, must-revalidate", 20},
        {"max-age=\"600\"", 10},
        {"max-age=1", 5},
        {"max-age=0", 5},
        {"max-age=", 5},
        {"max-age=x", 5},
        {"max-age=-1", 5},
        {"max-age=604800", 24 * 60},
        {"max-age=99999999999999999999999999", 24 * 60},
        {"no-store", 5},
        {"no-cache, max-age=600", 5},
        {"max-age=600, no-store", 5},
        {"s-maxage=600", 60},
        {",,  ,\tmax-age=600 ,", 10},
        {"xmax-age=600", 60},
    };
    for (size_t i = 0; i < MCP__COUNT(cases); i++)
        assert_int_equal(mcp__keyset_lifetime(mcp_str_from(cases[i].value)),
                         cases[i].minutes * MINUTE);
}

static void test_no_memory(void **state)
{
    (void)state;
    for (size_t n = 1;; n++) {
        failalloc f = {.fail_at = n};
        mcp_allocator a = failalloc_allocator(&f);
        mcp__keyset k;
        mcp__keyset_init(&k);
        memory = &a;
        ask_known(&k, 0);
        mcp__keyset_wants_fetch(&k);
        bool good = body(&k, set_ab, "", 0);
        assert_int_equal(ask_known(&k, 0), good ? READY : AWAY);
        mcp__keyset_clear(&k);
        memory = NULL;
        assert_int_equal(f.live, 0);
        if (f.calls < n) {
            assert_true(good);
            break;
        }
        assert_false(good);
    }
}

/* ---- introspection --------------------------------------------------------------------------- */

#define NOW    1700000000
#define ACTIVE "{\"active\":true,\"aud\":\"me\""

static const mcp_str me = {"me", 2};
static const mcp__token_rules rules = {
    .issuer = {"https://as.example", 18}, .audiences = &me, .n_audiences = 1};

static void test_answers(void **state)
{
    (void)state;
    static const struct {
        const char *body;
        int rc;
        mcp__refused why;
    } cases[] = {
        {ACTIVE "}", MCP_OK, 0},
        {ACTIVE ",\"iss\":\"https://as.example\",\"exp\":1700000001}", MCP_OK, 0},
        {"{\"active\":false}", MCP_OK, MCP__REFUSED_INACTIVE},
        {"{\"active\":false,\"aud\":\"me\"}", MCP_OK, MCP__REFUSED_INACTIVE},
        {"{\"active\":true}", MCP_OK, MCP__REFUSED_AUDIENCE},
        {"{\"active\":true,\"aud\":\"you\"}", MCP_OK, MCP__REFUSED_AUDIENCE},
        {ACTIVE ",\"iss\":\"https://other.example\"}", MCP_OK, MCP__REFUSED_ISSUER},
        {ACTIVE ",\"iss\":1}", MCP_OK, MCP__REFUSED_ISSUER},
        {ACTIVE ",\"exp\":1699999940}", MCP_OK, MCP__REFUSED_EXPIRED},
        {ACTIVE ",\"exp\":\"never\"}", MCP_OK, MCP__REFUSED_NO_EXPIRY},
        {ACTIVE ",\"nbf\":1700000100}", MCP_OK, MCP__REFUSED_NOT_YET},
        {ACTIVE ",\"cnf\":{\"x5t#S256\":\"a\"}}", MCP_OK, MCP__REFUSED_BINDING},
        {ACTIVE ",\"scope\":{}}", MCP_OK, MCP__REFUSED_SCOPES},
        {"{}", MCP_EPARSE, 0},
        {"{\"active\":\"true\"}", MCP_EPARSE, 0},
        {"{\"active\":1}", MCP_EPARSE, 0},
        {"{\"active\":false,\"active\":true,\"aud\":\"me\"}", MCP_EPARSE, 0},
        {"[true]", MCP_EPARSE, 0},
        {"true", MCP_EPARSE, 0},
        {"Forbidden", MCP_EPARSE, 0},
        {"", MCP_EPARSE, 0},
    };
    for (size_t i = 0; i < MCP__COUNT(cases); i++) {
        mcp__introspection answer;
        mcp__refused why = MCP__ACCEPTED;
        int rc =
            mcp__introspection_read(&answer, mcp_str_from(cases[i].body), &rules, NOW, NULL, &why);
        if (rc != cases[i].rc || (rc == MCP_OK && why != cases[i].why))
            fail_msg("%s: %d, %s", cases[i].body, rc, mcp__refusal_text(why));
        mcp__introspection_clear(&answer);
    }
}

static void test_answer_limits(void **state)
{
    (void)state;
    char *text = malloc(MCP__INTROSPECT_BYTES + 2);
    const char *good = ACTIVE ",\"scope\":\"a b\",\"sub\":\"s\",\"cnf\":{\"jkt\":"
                              "\"0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I\"}}";
    mcp__introspection answer;
    mcp__refused why;
    memset(text, ' ', MCP__INTROSPECT_BYTES + 1);
    memcpy(text, good, strlen(good));
    for (size_t extra = 0; extra < 2; extra++) {
        mcp_str body_text = {text, MCP__INTROSPECT_BYTES + extra};
        int rc = mcp__introspection_read(&answer, body_text, &rules, NOW, NULL, &why);
        assert_int_equal(rc, extra ? MCP_ELIMIT : MCP_OK);
        mcp__introspection_clear(&answer);
    }
    free(text);
    for (size_t n = 1;; n++) {
        failalloc f = {.fail_at = n};
        mcp_allocator a = failalloc_allocator(&f);
        int rc = mcp__introspection_read(&answer, mcp_str_from(good), &rules, NOW, &a, &why);
        bool ok = rc == MCP_OK;
        if (ok) {
            assert_int_equal(why, MCP__ACCEPTED);
            assert_true(mcp_str_eq(mcp__buf_view(&answer.claims.scopes), MCP_STR("a b")));
            assert_true(mcp_str_eq(answer.claims.subject, MCP_STR("s")));
            assert_int_equal(answer.claims.jkt.len, 43);
            assert_true(answer.claims.expires == INT64_MAX);
        }
        mcp__introspection_clear(&answer);
        assert_int_equal(f.live, 0);
        assert_int_equal(rc, f.calls < n ? MCP_OK : MCP_ENOMEM);
        if (f.calls < n)
            break;
    }
}

static void test_question(void **state)
{
    (void)state;
    mcp__buf b;
    mcp__buf_init(&b, mcp__allocator(NULL), 0);
    mcp__introspect_put(&b, MCP_STR("aZ09-._~+/=&%\xC3"));
    mcp__buf_add(&b, "", 1);
    assert_string_equal(b.ptr, "token=aZ09-._%7E%2B%2F%3D%26%25%C3&token_type_hint=access_token");
    mcp__buf_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keys_without_names), cmocka_unit_test(test_lazy),
        cmocka_unit_test(test_nothing_cached),     cmocka_unit_test(test_refresh),
        cmocka_unit_test(test_unknown_key),        cmocka_unit_test(test_invented_keys),
        cmocka_unit_test(test_random_events),      cmocka_unit_test(test_lifetime),
        cmocka_unit_test(test_no_memory),          cmocka_unit_test(test_answers),
        cmocka_unit_test(test_answer_limits),      cmocka_unit_test(test_question),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
