/* Compares the map with a plain array as a model, and SipHash with known values. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>

#include "base/base.h"
#include "support/failalloc.h"

/* The values come from another implementation (CPython's hash of bytes with key 0). The input is 00
 * 01 02 ... */
static void test_siphash(void **state)
{
    (void)state;
    static const struct {
        size_t len;
        uint64_t hash;
    } known[] = {
        {1, UINT64_C(0x68a914128e01e473)},  {3, UINT64_C(0x4d4c9a4a8ef6e0ad)},
        {7, UINT64_C(0x2f098ab0c751325a)},  {8, UINT64_C(0xead411e67ebe2eea)},
        {9, UINT64_C(0x75927f9d95124362)},  {15, UINT64_C(0xf30eb725bb91c9ea)},
        {16, UINT64_C(0x8972188433a5c5b7)}, {63, UINT64_C(0x385d3e39e5f37359)},
        {2, UINT64_C(0x010bac45c41e3669)},  {10, UINT64_C(0xaf9f77a65ab51a1d)},
        {12, UINT64_C(0xa6baf4fb0f9fe1c2)}, {14, UINT64_C(0x7f86049379fbfe67)},
        {23, UINT64_C(0x37332b1389daa4ff)},
    };
    unsigned char bytes[64];
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (unsigned char)i;
    const uint64_t zero[2] = {0, 0}, one[2] = {1, 0}, two[2] = {0, 1};
    for (size_t i = 0; i < MCP__COUNT(known); i++) {
        assert_true(mcp__siphash(bytes, known[i].len, zero) == known[i].hash);
        assert_true(mcp__siphash(bytes, known[i].len, one) != known[i].hash);
        assert_true(mcp__siphash(bytes, known[i].len, two) != known[i].hash);
    }
}

static void test_basic(void **state)
{
    (void)state;
    mcp__map m;
    mcp__map_init(&m, NULL, 1, 2);
    int a, b, c;
    assert_null(mcp__map_get(&m, MCP_STR("a")));
    assert_null(mcp__map_remove(&m, MCP_STR("a")));
    assert_int_equal(mcp__map_add(&m, MCP_STR("a"), &a), MCP_OK);
    assert_int_equal(mcp__map_add(&m, (mcp_str){"a\0", 2}, &b), MCP_OK);
    assert_int_equal(mcp__map_add(&m, (mcp_str){NULL, 0}, &c), MCP_OK);
    assert_int_equal(mcp__map_add(&m, MCP_STR("a"), &b), MCP_EEXIST);
    assert_ptr_equal(mcp__map_get(&m, MCP_STR("a")), &a);
    assert_ptr_equal(mcp__map_get(&m, (mcp_str){"a\0", 2}), &b);
    assert_ptr_equal(mcp__map_get(&m, MCP_STR("")), &c);
    assert_int_equal(m.count, 3);
    assert_ptr_equal(mcp__map_remove(&m, MCP_STR("a")), &a);
    assert_null(mcp__map_get(&m, MCP_STR("a")));
    assert_null(mcp__map_remove(&m, MCP_STR("a")));
    assert_int_equal(m.count, 2);
    mcp__map_free(&m);
    mcp__map_free(&m);
}

typedef struct item {
    char key[8];
    bool in;
    int seen;
} item;

enum { ITEMS = 2000 };
static item items[ITEMS];

static mcp_str key_of(size_t i)
{
    snprintf(items[i].key, sizeof(items[i].key), "%zu", i);
    return mcp_str_from(items[i].key);
}

static void compare_all(const mcp__map *m, size_t count)
{
    assert_int_equal(m->count, count);
    for (size_t i = 0; i < ITEMS; i++) {
        items[i].seen = 0;
        assert_ptr_equal(mcp__map_get(m, key_of(i)), items[i].in ? &items[i] : NULL);
    }
    size_t at = 0, visited = 0;
    for (item *it; (it = mcp__map_next(m, &at)); visited++) {
        assert_true(it->in);
        assert_int_equal(it->seen++, 0);
    }
    assert_int_equal(visited, count);
}

static void test_random_walk(void **state)
{
    (void)state;
    failalloc f = {0};
    mcp_allocator a = failalloc_allocator(&f);
    mcp__map m;
    mcp__map_init(&m, &a, 3, 4);
    memset(items, 0, sizeof(items));
    uint32_t random = 1;
    size_t count = 0;
    for (int step = 0; step < 60000; step++) {
        random = random * 1664525 + 1013904223;
        size_t i = (random >> 8) % ITEMS;
        /* Alternate between phases of mostly insertions and phases of mostly removals. */
        bool add = (random >> 24) % 4 != 0;
        if (step / 10000 % 2)
            add = !add;
        if (add) {
            assert_int_equal(mcp__map_add(&m, key_of(i), &items[i]),
                             items[i].in ? MCP_EEXIST : MCP_OK);
            count += !items[i].in;
            items[i].in = true;
        } else {
            assert_ptr_equal(mcp__map_remove(&m, key_of(i)), items[i].in ? &items[i] : NULL);
            count -= items[i].in;
            items[i].in = false;
        }
        if (step % 2500 == 0)
            compare_all(&m, count);
    }
    compare_all(&m, count);
    mcp__map_free(&m);
    assert_int_equal(f.live, 0);
}

/* In a queue every key is new: the table must neither grow nor fill up with tombstones. */
static void test_churn_stays_small(void **state)
{
    (void)state;
    mcp__map m;
    mcp__map_init(&m, NULL, 5, 6);
    static char keys[64][16];
    for (size_t i = 0; i < 100000; i++) {
        char *key = keys[i % 64];
        if (i >= 64)
            assert_ptr_equal(mcp__map_remove(&m, mcp_str_from(key)), key);
        snprintf(key, sizeof(keys[0]), "%zu", i);
        assert_int_equal(mcp__map_add(&m, mcp_str_from(key), key), MCP_OK);
        assert_true(m.cap <= 256);
        assert_true(m.used < m.cap);
    }
    mcp__map_free(&m);
}

/* Repeatedly inserting and removing one key beside others leaves no tombstones. */
static void test_coming_and_going(void **state)
{
    (void)state;
    failalloc f = {0};
    mcp_allocator a = failalloc_allocator(&f);
    mcp__map m;
    mcp__map_init(&m, &a, 13, 14);
    assert_int_equal(mcp__map_add(&m, key_of(0), &items[0]), MCP_OK);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(mcp__map_add(&m, key_of(1), &items[1]), MCP_OK);
        assert_ptr_equal(mcp__map_remove(&m, key_of(1)), &items[1]);
        assert_int_equal(m.used, 1);
    }
    assert_int_equal(f.calls, 2); /* for one entry, and for two */
    mcp__map_free(&m);
}

static void test_gives_memory_back(void **state)
{
    (void)state;
    failalloc f = {0};
    mcp_allocator a = failalloc_allocator(&f);
    mcp__map m;
    mcp__map_init(&m, &a, 7, 8);
    for (size_t i = 0; i < ITEMS; i++)
        assert_int_equal(mcp__map_add(&m, key_of(i), &items[i]), MCP_OK);
    assert_true(m.cap >= ITEMS);
    for (size_t i = 10; i < ITEMS; i++)
        assert_non_null(mcp__map_remove(&m, key_of(i)));
    f.fail_at = f.calls + 1; /* without memory for a smaller table, the large one remains in use */
    assert_int_equal(mcp__map_add(&m, key_of(10), &items[10]), MCP_OK);
    assert_true(m.cap >= ITEMS);
    assert_int_equal(mcp__map_add(&m, key_of(11), &items[11]), MCP_OK);
    assert_true(m.cap <= 64);
    for (size_t i = 0; i < 12; i++)
        assert_ptr_equal(mcp__map_get(&m, key_of(i)), &items[i]);
    for (size_t i = 0; i < 12; i++)
        assert_ptr_equal(mcp__map_remove(&m, key_of(i)), &items[i]);
    assert_int_equal(f.live, 0);
    mcp__map_free(&m);
}

static void test_remove_while_visiting(void **state)
{
    (void)state;
    mcp__map m;
    mcp__map_init(&m, NULL, 9, 10);
    for (size_t i = 0; i < ITEMS; i++) {
        items[i].seen = 0;
        assert_int_equal(mcp__map_add(&m, key_of(i), &items[i]), MCP_OK);
    }
    size_t at = 0, visited = 0;
    for (item *it; (it = mcp__map_next(&m, &at)); visited++) {
        assert_int_equal(it->seen++, 0);
        assert_ptr_equal(mcp__map_remove(&m, mcp_str_from(it->key)), it);
    }
    assert_int_equal(visited, ITEMS);
    assert_int_equal(m.count, 0);
    assert_null(m.slots);
    mcp__map_free(&m);
}

static void test_no_memory(void **state)
{
    (void)state;
    for (size_t n = 1;; n++) {
        failalloc f = {.fail_at = n};
        mcp_allocator a = failalloc_allocator(&f);
        mcp__map m;
        mcp__map_init(&m, &a, 11, 12);
        size_t count = 0;
        for (size_t i = 0; i < 100; i++) {
            int rc = mcp__map_add(&m, key_of(i), &items[i]);
            assert_true(rc == MCP_OK || rc == MCP_ENOMEM);
            count += rc == MCP_OK;
        }
        assert_int_equal(m.count, count);
        assert_int_equal(count, f.calls < n ? 100 : 99);
        mcp__map_free(&m);
        assert_int_equal(f.live, 0);
        if (f.calls < n)
            break;
    }
}

static void test_list(void **state)
{
    (void)state;
    struct node {
        int value;
        mcp__link link;
    } nodes[3] = {{.value = 1}, {.value = 2}, {.value = 3}};
    mcp__link head;
    mcp__list_init(&head);
    assert_true(mcp__list_empty(&head));
    for (int i = 0; i < 3; i++)
        mcp__list_append(&head, &nodes[i].link);
    mcp__list_remove(&nodes[1].link);
    mcp__list_remove(&nodes[1].link);
    assert_int_equal(mcp__container(head.next, struct node, link)->value, 1);
    assert_int_equal(mcp__container(head.next->next, struct node, link)->value, 3);
    assert_ptr_equal(head.next->next->next, &head);
    mcp__list_remove(&nodes[0].link);
    mcp__list_remove(&nodes[2].link);
    assert_true(mcp__list_empty(&head));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_siphash),
        cmocka_unit_test(test_basic),
        cmocka_unit_test(test_random_walk),
        cmocka_unit_test(test_churn_stays_small),
        cmocka_unit_test(test_coming_and_going),
        cmocka_unit_test(test_gives_memory_back),
        cmocka_unit_test(test_remove_while_visiting),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
