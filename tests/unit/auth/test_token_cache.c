/* The cache of checked tokens, compared with a plain array. */
#include "rig.h"
#include "auth/token_cache.h"

#define NOW 1700000000

static const unsigned char mac_key[MCP__SHA256] = "a key";
static size_t released;

static void release(void *value, void *user)
{
    (void)user;
    released++;
    free(value);
}

static mcp__token_cache *make_cache(size_t max_bytes, const mcp_allocator *a)
{
    mcp__token_cache_options o = {
        .crypto = &crypto, .key = mac_key, .max_bytes = max_bytes, .release = release};
    mcp__token_cache *cache = NULL;
    int rc = mcp__token_cache_new(&o, a, &cache);
    assert_int_equal(rc, cache ? MCP_OK : MCP_ENOMEM);
    released = 0;
    return cache;
}

static mcp__token_id id_of(mcp__token_cache *cache, int token)
{
    char text[64];
    mcp__token_id id;
    snprintf(text, sizeof(text), "token %d", token);
    assert_true(mcp__token_cache_id(cache, 0, mcp_str_from(text), &id));
    return id;
}

static int put(mcp__token_cache *cache, int token, size_t bytes, int64_t expires, int64_t now)
{
    mcp__token_id id = id_of(cache, token);
    int *value = malloc(sizeof(int));
    *value = token;
    int rc = mcp__token_cache_put(cache, &id, value, bytes, expires, MCP__TOKEN_CACHE_S, now);
    if (rc != MCP_OK)
        free(value);
    return rc;
}

static bool has(mcp__token_cache *cache, int token, int64_t now)
{
    mcp__token_id id = id_of(cache, token);
    int *value = mcp__token_cache_get(cache, &id, now);
    if (value)
        assert_int_equal(*value, token);
    return value != NULL;
}

/* The id is the HMAC of the number of the resource and the token, and does not depend on ids that were computed
 * before. */
static void test_ids(void **state)
{
    (void)state;
    mcp__token_cache *cache = make_cache(0, NULL);
    unsigned char mac[MCP__SHA256];
    for (int i = 0; i < 100; i++) {
        char text[64];
        uint64_t resource = (uint64_t)i % 3 << 40;
        memcpy(text, &resource, sizeof(resource));
        int len = snprintf(text + sizeof(resource), sizeof(text) - sizeof(resource), "token %d", i);
        mcp__token_id id;
        mcp_str token = {text + sizeof(resource), (size_t)len};
        assert_true(mcp__token_cache_id(cache, resource, token, &id));
        assert_true(
            mcp__hmac(&crypto, mac_key, (mcp_str){text, sizeof(resource) + token.len}, mac));
        assert_memory_equal(id.mac, mac, MCP__SHA256);
    }
    mcp__token_cache_free(cache);
}

static void test_times(void **state)
{
    (void)state;
    mcp__token_cache *cache = make_cache(0, NULL);
    assert_int_equal(put(cache, 1, 10, NOW + 1000, NOW), MCP_OK);
    assert_int_equal(put(cache, 2, 10, NOW + 10, NOW), MCP_OK);
    assert_int_equal(put(cache, 3, 10, NOW, NOW), MCP_ELIMIT);
    assert_int_equal(put(cache, 4, 10, INT64_MAX, NOW), MCP_OK);
    assert_true(has(cache, 1, NOW + 299) && has(cache, 2, NOW + 9) && has(cache, 4, NOW + 299));
    assert_false(has(cache, 2, NOW + 10) || has(cache, 3, NOW) || has(cache, 1, NOW + 300) ||
                 has(cache, 4, NOW + 300) || has(cache, 5, NOW));
    assert_int_equal(mcp__token_cache_count(cache), 0);
    assert_int_equal(released, 3);
    /* The value is replaced, and no entry is added. */
    put(cache, 1, 10, NOW + 5, NOW);
    put(cache, 1, 10, NOW + 50, NOW);
    assert_int_equal(mcp__token_cache_count(cache), 1);
    assert_true(has(cache, 1, NOW + 20));
    mcp__token_cache_free(cache);
    assert_int_equal(released, 5);
}

/* Only the least recently used entries are evicted. */
static void test_bound(void **state)
{
    (void)state;
    enum { TOKENS = 100 };
    int64_t used[TOKENS] = {0};
    uint32_t seed = 11;
    size_t limit = 12000;
    mcp__token_cache *cache = make_cache(limit, NULL);
    for (int64_t step = 1; step < 5000; step++) {
        int token = (int)(next_random(&seed) % TOKENS);
        bool known = has(cache, token, NOW);
        assert_int_equal(known, used[token] > 0);
        size_t before = mcp__token_cache_count(cache);
        if (!known)
            assert_int_equal(put(cache, token, 200, NOW + 100, NOW), MCP_OK);
        used[token] = step;
        for (size_t gone = before + !known - mcp__token_cache_count(cache); gone; gone--) {
            int oldest = -1;
            for (int i = 0; i < TOKENS; i++) {
                if (used[i] && (oldest < 0 || used[i] < used[oldest]))
                    oldest = i;
            }
            used[oldest] = 0;
        }
        assert_true(mcp__token_cache_bytes(cache) <= limit);
    }
    assert_in_range(mcp__token_cache_count(cache), 25, 50);
    assert_int_equal(put(cache, 1, limit, NOW + 1, NOW), MCP_ELIMIT);
    assert_int_equal(put(cache, 1, SIZE_MAX, NOW + 1, NOW), MCP_ELIMIT);
    mcp__token_cache_clear(cache);
    assert_int_equal(mcp__token_cache_count(cache), 0);
    mcp__token_cache_free(cache);
}

/* An entry is found again until any entry is removed, in this cache only, and counts as used. */
static void test_again(void **state)
{
    (void)state;
    mcp__token_cache *cache = make_cache(2000, NULL), *other = make_cache(2000, NULL);
    mcp__token_id id = id_of(cache, 1);
    uint64_t generation;
    assert_null(mcp__token_cache_entry(cache, &id, &generation));
    assert_null(mcp__token_cache_again(cache, NULL, generation, NOW));
    put(cache, 1, 300, NOW + 100, NOW);
    put(cache, 2, 300, NOW + 10, NOW);
    void *entry = mcp__token_cache_entry(cache, &id, &generation);
    int *value = mcp__token_cache_again(cache, entry, generation, NOW + 99);
    assert_int_equal(*value, 1);
    assert_null(mcp__token_cache_again(other, entry, generation, NOW));
    put(cache, 3, 700, NOW + 100, NOW); /* evicts the second */
    assert_int_equal(mcp__token_cache_count(cache), 2);
    assert_true(has(cache, 1, NOW));
    assert_null(mcp__token_cache_again(cache, entry, generation, NOW));
    entry = mcp__token_cache_entry(cache, &id, &generation);
    assert_null(mcp__token_cache_again(cache, entry, generation, NOW + 100));
    assert_int_equal(mcp__token_cache_count(cache), 1);
    assert_null(mcp__token_cache_again(cache, entry, generation, NOW));
    put(cache, 1, 100, NOW + 100, NOW);
    entry = mcp__token_cache_entry(cache, &id, &generation);
    put(cache, 1, 100, NOW + 100, NOW); /* replaces it */
    assert_null(mcp__token_cache_again(cache, entry, generation, NOW));
    entry = mcp__token_cache_entry(cache, &id, &generation);
    mcp__token_cache_clear(cache);
    assert_null(mcp__token_cache_again(cache, entry, generation, NOW));
    mcp__token_cache_free(cache);
    mcp__token_cache_free(other);
}

/* The size of the table counts towards the limit, and the table grows only if there is room. */
static void test_table(void **state)
{
    (void)state;
    for (size_t limit = 8000; limit < 20000; limit += 50) {
        mcp__token_cache *cache = make_cache(limit, NULL);
        for (int token = 0; token < 200; token++) {
            assert_int_equal(put(cache, token, 0, NOW + 100, NOW), MCP_OK);
            assert_true(mcp__token_cache_bytes(cache) <= limit);
        }
        assert_true(has(cache, 199, NOW) && !has(cache, 0, NOW));
        mcp__token_cache_free(cache);
        assert_int_equal(released, 200);
    }
}

/* An allocator that counts the bytes that are allocated. */
static size_t allocated;

static void *count_allocate(size_t size, void *user)
{
    (void)user;
    size_t *p = malloc(size + 16);
    if (p) {
        *p = size + 16;
        allocated += *p;
    }
    return p ? (char *)p + 16 : NULL;
}

static void count_release(void *ptr, void *user)
{
    (void)user;
    if (!ptr)
        return;
    size_t *p = (size_t *)((char *)ptr - 16);
    allocated -= *p;
    free(p);
}

static void release_counted(void *value, void *user)
{
    count_release(value, user);
}

static void test_hundred_thousand(void **state)
{
    (void)state;
    mcp_allocator a = {count_allocate, NULL, count_release, NULL};
    mcp__token_cache_options o = {.crypto = &crypto, .key = mac_key, .release = release_counted};
    mcp__token_cache *cache;
    size_t most = 0;
    assert_int_equal(mcp__token_cache_new(&o, &a, &cache), MCP_OK);
    for (int i = 0; i < 100000; i++) {
        mcp__token_id id = id_of(cache, i);
        size_t bytes = 100 + (size_t)i % 400;
        void *value = count_allocate(bytes, NULL);
        assert_int_equal(mcp__token_cache_put(cache, &id, value, bytes, NOW + 100, 300, NOW),
                         MCP_OK);
        most = MCP__MAX(most, allocated);
    }
    assert_true(most <= MCP__TOKEN_CACHE_BYTES + (1 << 20));
    assert_true(mcp__token_cache_count(cache) > 25000);
    mcp__token_cache_free(cache);
    assert_int_equal(allocated, 0);
}

static void test_no_memory(void **state)
{
    (void)state;
    for (size_t n = 1;; n++) {
        failalloc f = {.fail_at = n};
        mcp_allocator a = failalloc_allocator(&f);
        mcp__token_cache *cache = make_cache(0, &a);
        size_t added = 0;
        for (int i = 0; cache && i < 200; i++) {
            int rc = put(cache, i, 1, NOW + 10, NOW);
            assert_true(rc == MCP_OK || rc == MCP_ENOMEM);
            assert_int_equal(has(cache, i, NOW), rc == MCP_OK);
            added += rc == MCP_OK;
        }
        assert_true(!cache || mcp__token_cache_count(cache) == added);
        mcp__token_cache_free(cache);
        assert_int_equal(released, added);
        assert_int_equal(f.live, 0);
        if (f.calls < n) {
            assert_int_equal(added, 200);
            break;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ids),       cmocka_unit_test(test_times),
        cmocka_unit_test(test_bound),     cmocka_unit_test(test_again),
        cmocka_unit_test(test_table),     cmocka_unit_test(test_hundred_thousand),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, load_crypto, NULL);
}
