/* The arena: alignment, blocks, and the first block, which the caller provides. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "base/base.h"
#include "support/failalloc.h"

static void test_pieces(void **state)
{
    (void)state;
    failalloc f = {0};
    mcp_allocator a = failalloc_allocator(&f);
    mcp__arena arena;
    mcp__arena_init(&arena, &a, NULL, 0);
    enum { PIECES = 300 };
    unsigned char *pieces[PIECES];
    for (size_t i = 0; i < PIECES; i++) {
        pieces[i] = mcp__arena_alloc(&arena, i * 7 % 900);
        assert_non_null(pieces[i]);
        assert_int_equal((uintptr_t)pieces[i] % _Alignof(max_align_t), 0);
        memset(pieces[i], (int)i, i * 7 % 900);
    }
    for (size_t i = 0; i < PIECES; i++) {
        for (size_t k = 0; k < i * 7 % 900; k++)
            assert_int_equal(pieces[i][k], (unsigned char)i);
    }
    assert_int_equal(f.live, f.calls);
    mcp__arena_reset(&arena);
    assert_int_equal(f.live, 0);
    assert_string_equal(mcp__arena_strdup(&arena, (mcp_str){"hello", 4}), "hell");
    assert_string_equal(mcp__arena_strdup(&arena, (mcp_str){NULL, 0}), "");
    mcp__arena_free(&arena);
    assert_int_equal(f.live, 0);
}

static void test_few_blocks(void **state)
{
    (void)state;
    failalloc f = {0};
    mcp_allocator a = failalloc_allocator(&f);
    mcp__arena arena;
    mcp__arena_init(&arena, &a, NULL, 0);
    for (int i = 0; i < 10000; i++)
        assert_non_null(mcp__arena_alloc(&arena, 24));
    assert_in_range(f.calls, 2, 14); /* 320 KB in blocks that double to 64 KiB */
    mcp__arena_free(&arena);
}

/* After a large allocation the rest of the current block is still used. */
static void test_large_piece(void **state)
{
    (void)state;
    failalloc f = {0};
    mcp_allocator a = failalloc_allocator(&f);
    mcp__arena arena;
    mcp__arena_init(&arena, &a, NULL, 0);
    char *before = mcp__arena_alloc(&arena, 16);
    char *large = mcp__arena_alloc(&arena, 1000000);
    memset(large, 1, 1000000);
    char *after = mcp__arena_alloc(&arena, 16);
    assert_ptr_equal(after, before + 16);
    mcp__arena_free(&arena);
    assert_int_equal(f.live, 0);
}

static void test_first_memory(void **state)
{
    (void)state;
    failalloc f = {0};
    mcp_allocator a = failalloc_allocator(&f);
    char room[256];
    mcp__arena arena;
    mcp__arena_init(&arena, &a, room + 1, sizeof(room) - 1); /* not aligned */
    char *p = mcp__arena_alloc(&arena, 100);
    assert_in_range((uintptr_t)p, (uintptr_t)room, (uintptr_t)room + 32);
    assert_int_equal((uintptr_t)p % _Alignof(max_align_t), 0);
    assert_int_equal(f.calls, 0);
    assert_non_null(mcp__arena_alloc(&arena, 200));
    assert_int_equal(f.calls, 1);
    mcp__arena_reset(&arena);
    assert_ptr_equal(mcp__arena_alloc(&arena, 100), p);
    mcp__arena_free(&arena);
    assert_int_equal(f.live, 0);
    mcp__arena_init(&arena, &a, room + 1, 3); /* too small to be used */
    assert_non_null(mcp__arena_alloc(&arena, 1));
    mcp__arena_free(&arena);
    assert_int_equal(f.live, 0);
}

static void test_no_memory(void **state)
{
    (void)state;
    for (size_t n = 1;; n++) {
        failalloc f = {.fail_at = n};
        mcp_allocator a = failalloc_allocator(&f);
        mcp__arena arena;
        mcp__arena_init(&arena, &a, NULL, 0);
        size_t refused = 0;
        for (size_t i = 0; i < 100; i++)
            refused += mcp__arena_alloc(&arena, i * 10) == NULL;
        refused += mcp__arena_strdup(&arena, MCP_STR("x")) == NULL;
        /* the arena is still usable after a failure */
        assert_int_equal(refused, f.calls < n ? 0 : 1);
        assert_null(mcp__arena_alloc(&arena, SIZE_MAX));
        assert_null(mcp__arena_strdup(&arena, (mcp_str){"", SIZE_MAX}));
        mcp__arena_free(&arena);
        assert_int_equal(f.live, 0);
        if (f.calls < n)
            break;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pieces),      cmocka_unit_test(test_few_blocks),
        cmocka_unit_test(test_large_piece), cmocka_unit_test(test_first_memory),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
