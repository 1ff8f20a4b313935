/* The token of the last request on a connection is recognized without a hash, but only while its
 * result is in the cache, and never if requests need a proof. */
#include "resource_play.h"

static mcp__rs_recent kept;

static mcp_resource_server *begin(const mcp_allocator *a)
{
    mcp_resource_server *rs = NULL;
    char *key = public_part(key_p256);
    snprintf(jwks, sizeof(jwks), "{\"keys\":[%s]}", key);
    free(key);
    later_s = 0;
    recent = &kept;
    recent_allocator = a ? a : &mcp__default_allocator;
    assert_true(make_server(a, &host, &rs) == MCP_OK || a);
    return rs;
}

static void end(mcp_resource_server *rs)
{
    mcp__rs_recent_clear(&kept, recent_allocator);
    mcp_resource_server_free(rs);
    recent = NULL;
}

static mcp_identity *recall(mcp_resource_server *rs, const char *header)
{
    return mcp__rs_recall(rs, &kept, NULL, mcp_str_from(header));
}

/* Has a token accepted twice, so that the second request finds it in the cache. */
static void accept_twice(mcp_resource_server *rs, const char *header)
{
    for (int i = 0; i < 2; i++)
        assert_int_equal(ask(rs, header, NULL).status, 0);
}

static uint64_t times_known(const mcp_resource_server *rs)
{
    mcp_resource_server_usage usage = {.size = sizeof(usage)};
    mcp_resource_server_get_usage(rs, &usage);
    return usage.known;
}

static void test_recall(void **state)
{
    (void)state;
    mcp_resource_server *rs = begin(NULL);
    char *header = make_token("", "Bearer"),
         *other = header_of("Bearer", header + strlen("Bearer "));
    assert_null(recall(rs, header));
    assert_null(recall(rs, ""));
    assert_null(mcp__rs_recall(rs, NULL, NULL, mcp_str_from(header)));
    assert_int_equal(ask(rs, header, NULL).status, 0);
    assert_null(recall(rs, header)); /* this request waited for the check of the token */
    assert_int_equal(ask(rs, header, NULL).status, 0);
    uint64_t before = times_known(rs);
    mcp_identity *identity = recall(rs, header);
    assert_non_null(identity);
    assert_string_equal(mcp_identity_principal(identity), "https://as.example#alice");
    assert_int_equal(times_known(rs), before + 1);
    /* Another header: of the same length with any one byte changed, shorter, longer, none. */
    for (size_t i = 0; i < strlen(header); i++) {
        other[i] ^= 1;
        assert_null(recall(rs, other));
        other[i] ^= 1;
    }
    assert_ptr_equal(recall(rs, other), identity);
    assert_null(mcp__rs_recall(rs, &kept, NULL, (mcp_str){header, strlen(header) - 1}));
    assert_null(mcp__rs_recall(rs, &kept, NULL, (mcp_str){header, strlen(header) + 1}));
    assert_null(mcp__rs_recall(rs, &kept, NULL, (mcp_str){0}));
    assert_int_equal(times_known(rs), before + 2);
    free(header);
    free(other);
    end(rs);
}

/* Another caller on the same connection replaces the first one. */
static void test_replaced(void **state)
{
    (void)state;
    mcp_resource_server *rs = begin(NULL);
    char *one = make_token("", "Bearer"), *two = make_token(",\"n\":1", "Bearer");
    accept_twice(rs, one);
    accept_twice(rs, two);
    assert_null(recall(rs, one));
    assert_non_null(recall(rs, two));
    accept_twice(rs, one);
    assert_non_null(recall(rs, one));
    assert_null(recall(rs, two));
    /* A refused request changes nothing. */
    assert_int_equal(ask(rs, "Bearer a", NULL).status, 0); /* the opaque token of another caller */
    assert_int_equal(ask(rs, "Basic a", NULL).status, 401);
    assert_non_null(recall(rs, one));
    free(one);
    free(two);
    end(rs);
}

/* The token ends at the same second as without this module. */
static void test_expiry(void **state)
{
    (void)state;
    mcp_resource_server *rs = begin(NULL);
    char *header = make_token("", "Bearer");
    accept_twice(rs, header);
    later_s = 60 + MCP__TOKEN_SKEW - 1;
    assert_non_null(recall(rs, header));
    later_s++;
    assert_null(recall(rs, header));
    later_s--;
    assert_null(recall(rs, header)); /* the result was removed */
    later_s++;
    assert_int_equal(ask(rs, header, NULL).status, 401);
    free(header);
    end(rs);
}

/* A token that lives longer is checked again when its result is too old. */
static void test_age(void **state)
{
    (void)state;
    mcp_resource_server *rs = begin(NULL);
    accept_twice(rs, "Bearer opaque");
    later_s = MCP__TOKEN_CACHE_ANSWER_S - 1;
    assert_non_null(recall(rs, "Bearer opaque"));
    later_s++;
    assert_null(recall(rs, "Bearer opaque"));
    end(rs);
}

/* Whatever is removed from the cache, the token is looked up again. */
static void test_forgotten(void **state)
{
    (void)state;
    mcp_resource_server *rs = begin(NULL);
    char *header = make_token("", "Bearer");
    accept_twice(rs, header);
    mcp_resource_server_forget(rs);
    assert_null(recall(rs, header));
    /* The keys are replaced: the signature is checked with the new ones. */
    char *key = public_part(key_p384);
    snprintf(jwks, sizeof(jwks), "{\"keys\":[%s]}", key);
    free(key);
    accept_twice(rs, header); /* the old keys are still fresh */
    assert_non_null(recall(rs, header));
    mcp_resource_server_forget(rs);
    assert_null(recall(rs, header));
    free(header);
    end(rs);
}

/* The removal of another token only costs a lookup. A second server may have the first one's
 * place in memory. */
static void test_other_removed(void **state)
{
    (void)state;
    mcp_resource_server *rs = begin(NULL);
    accept_twice(rs, "Bearer opaque");
    char *header = make_token("", "Bearer");
    accept_twice(rs, header);
    later_s = MCP__TOKEN_CACHE_ANSWER_S;
    assert_non_null(recall(rs, header));
    later_s = 0;
    mcp__token_id id;
    assert_true(mcp__token_cache_id(rs->known, 0, MCP_STR("opaque"), &id));
    assert_null(mcp__token_cache_get(rs->known, &id, NOW + MCP__TOKEN_CACHE_ANSWER_S));
    assert_null(recall(rs, header));
    assert_int_equal(ask(rs, header, NULL).status, 0);
    assert_non_null(recall(rs, header));
    for (int i = 0; i < 4; i++) {
        mcp_resource_server_free(rs);
        assert_int_equal(make_server(NULL, &host, &rs), MCP_OK);
        assert_null(recall(rs, header));
        if (i % 2)
            accept_twice(rs, header);
    }
    free(header);
    end(rs);
}

/* A bound token needs a proof each time, and a header that is too long is not kept. */
static void test_never_kept(void **state)
{
    (void)state;
    mcp_resource_server *rs = begin(NULL);
    mcp__jwk *client = key_for(key_ed25519, MCP__JWK_SIGN);
    char cnf[128], opaque[MCP__RS_RECENT + 2] = "Bearer ";
    snprintf(cnf, sizeof(cnf), ",\"cnf\":{\"jkt\":\"%.*s\"}", MCP__SHA256_TEXT, client->thumbprint);
    char *bound = make_token(cnf, "DPoP"), *proof = make_proof(bound);
    char *bearer = header_of("Bearer", bound + strlen("DPoP "));
    assert_int_equal(ask(rs, bound, proof).status, 0);
    assert_int_equal(ask(rs, bound, proof).status, 401); /* the proof was used */
    assert_int_equal(ask(rs, bearer, NULL).status, 401);
    assert_null(kept.header.ptr);
    assert_true(!recall(rs, bound) && !recall(rs, bearer));
    memset(opaque + 7, 'a', MCP__RS_RECENT - 7 + 1);
    accept_twice(rs, opaque);
    assert_null(kept.header.ptr);
    opaque[MCP__RS_RECENT] = '\0';
    accept_twice(rs, opaque);
    assert_int_equal(kept.header.len, MCP__RS_RECENT);
    assert_non_null(recall(rs, opaque));
    mcp__jwk_free(client);
    free(bound);
    free(proof);
    free(bearer);
    end(rs);
}

static void test_no_memory(void **state)
{
    (void)state;
    char *one = make_token("", "Bearer"), *two = make_token(",\"n\":10", "Bearer");
    size_t good = 0;
    for (size_t n = 1;; n++) {
        failalloc f = {.fail_at = n};
        mcp_allocator a = failalloc_allocator(&f);
        mcp_resource_server *rs = begin(&a);
        good = 0;
        for (int i = 0; rs && i < 3; i++)
            good += ask(rs, one, NULL).status == 0;
        if (rs && recall(rs, one))
            assert_true(good);
        for (int i = 0; rs && i < 3; i++)
            good += ask(rs, two, NULL).status == 0;
        assert_null(rs ? recall(rs, one) : NULL);
        if (good == 6)
            assert_true(recall(rs, two) || f.calls >= n);
        end(rs);
        assert_int_equal(f.live, 0);
        if (f.calls < n)
            break;
    }
    assert_int_equal(good, 6);
    free(one);
    free(two);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recall),     cmocka_unit_test(test_replaced),
        cmocka_unit_test(test_expiry),     cmocka_unit_test(test_age),
        cmocka_unit_test(test_forgotten),  cmocka_unit_test(test_other_removed),
        cmocka_unit_test(test_never_kept), cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, load_crypto, NULL);
}
