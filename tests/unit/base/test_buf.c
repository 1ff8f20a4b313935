/* The bounded buffer: growth, limit, sticky failure. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "base/base.h"
#include "support/failalloc.h"

static void test_append(void **state)
{
    (void)state;
    mcp__buf b;
    mcp__buf_init(&b, NULL, 0);
    mcp__buf_add(&b, NULL, 0); /* appends nothing to an empty buffer */
    mcp__buf_lit(&b, "one");
    mcp__buf_char(&b, ' ');
    mcp__buf_str(&b, MCP_STR("two"));
    mcp__buf_printf(&b, " %d", 3);
    assert_int_equal(b.failed, MCP_OK);
    assert_true(mcp_str_eq(mcp__buf_view(&b), MCP_STR("one two 3")));
    mcp__buf_consume(&b, 4);
    assert_true(mcp_str_eq(mcp__buf_view(&b), MCP_STR("two 3")));
    mcp__buf_consume(&b, 0);
    mcp__buf_consume(&b, 5);
    assert_int_equal(b.len, 0);
    mcp__buf_free(&b);
    mcp__buf_free(&b);
}

static void test_growth_is_geometric(void **state)
{
    (void)state;
    failalloc f = {0};
    mcp_allocator a = failalloc_allocator(&f);
    mcp__buf b;
    mcp__buf_init(&b, &a, 0);
    for (int i = 0; i < 1000000; i++)
        mcp__buf_char(&b, (char)i);
    assert_int_equal(b.len, 1000000);
    for (int i = 0; i < 1000000; i += 997)
        assert_int_equal(b.ptr[i], (char)i);
    assert_in_range(f.calls, 2, 20);
    mcp__buf_free(&b);
    assert_int_equal(f.live, 0);
}

static void test_limit(void **state)
{
    (void)state;
    for (size_t limit = 1; limit < 200; limit++) {
        mcp__buf b;
        mcp__buf_init(&b, NULL, limit);
        for (size_t i = 0; i < limit; i++)
            mcp__buf_char(&b, 'x');
        assert_int_equal(b.failed, MCP_OK);
        assert_int_equal(b.len, limit);
        mcp__buf_add(&b, "", 0);
        assert_int_equal(b.failed, MCP_OK);
        mcp__buf_char(&b, 'y');
        assert_int_equal(b.failed, MCP_ELIMIT);
        assert_int_equal(b.len, limit);
        mcp__buf_free(&b);
    }
}

static void test_sizes_do_not_overflow(void **state)
{
    (void)state;
    mcp__buf b;
    mcp__buf_init(&b, NULL, 0);
    mcp__buf_lit(&b, "abc");
    assert_null(mcp__buf_reserve(&b, SIZE_MAX));
    assert_int_equal(b.failed, MCP_ELIMIT);
    mcp__buf_reset(&b, SIZE_MAX);
    mcp__buf_lit(&b, "abc");
    assert_null(mcp__buf_reserve(&b, SIZE_MAX - 2));
    assert_int_equal(b.failed, MCP_ELIMIT);
    mcp__buf_free(&b);
}

static void test_failure_sticks(void **state)
{
    (void)state;
    mcp__buf b;
    mcp__buf_init(&b, NULL, 4);
    mcp__buf_lit(&b, "12345");
    mcp__buf_lit(&b, "1");
    mcp__buf_printf(&b, "%s", "2");
    assert_int_equal(b.failed, MCP_ELIMIT);
    assert_int_equal(b.len, 0);
    assert_null(mcp__buf_reserve(&b, 1));
    mcp__buf_reset(&b, SIZE_MAX);
    mcp__buf_lit(&b, "1234");
    assert_int_equal(b.failed, MCP_OK);
    assert_int_equal(b.len, 4);
    mcp__buf_free(&b);
}

static void test_reset_gives_memory_back(void **state)
{
    (void)state;
    failalloc f = {0};
    mcp_allocator a = failalloc_allocator(&f);
    mcp__buf b;
    mcp__buf_init(&b, &a, 0);
    assert_non_null(mcp__buf_reserve(&b, 1000));
    mcp__buf_reset(&b, 4096);
    assert_int_equal(f.live, 1);
    mcp__buf_reset(&b, 100);
    assert_int_equal(f.live, 0);
    mcp__buf_lit(&b, "again");
    assert_int_equal(b.len, 5);
    mcp__buf_free(&b);
    assert_int_equal(f.live, 0);
}

static void test_long_printf(void **state)
{
    (void)state;
    for (int width = 250; width < 262; width++) {
        mcp__buf b;
        mcp__buf_init(&b, NULL, 0);
        mcp__buf_printf(&b, "%*d", width, 7);
        assert_int_equal(b.len, width);
        assert_int_equal(b.ptr[width - 1], '7');
        mcp__buf_free(&b);
    }
}

static void test_no_memory(void **state)
{
    (void)state;
    for (size_t n = 1;; n++) {
        failalloc f = {.fail_at = n};
        mcp_allocator a = failalloc_allocator(&f);
        mcp__buf b;
        mcp__buf_init(&b, &a, 0);
        for (int i = 0; i < 100; i++)
            mcp__buf_printf(&b, "%300d", i);
        assert_int_equal(b.failed, f.calls < n ? MCP_OK : MCP_ENOMEM);
        assert_true(b.failed || b.len == 30000);
        mcp__buf_free(&b);
        assert_int_equal(f.live, 0);
        if (f.calls < n)
            break;
    }
}

/* Notes whether memory that is released has the secret. */
static void check_release(void *ptr, void *user)
{
    *(bool *)user |= memmem(ptr, 64, "SECRET", 6) != NULL;
    free(ptr);
}

static void *check_allocate(size_t size, void *user)
{
    (void)user;
    return calloc(1, size < 64 ? 64 : size);
}

static void test_wipe(void **state)
{
    bool seen = false;
    mcp_allocator a = {.allocate = check_allocate, .release = check_release, .user = &seen};
    mcp__buf b;
    mcp__arena arena;
    (void)state;
    mcp__buf_init(&b, &a, 0);
    mcp__buf_wipe(&b);
    mcp__buf_lit(&b, "the SECRET");
    mcp__buf_wipe(&b);
    assert_null(b.ptr);
    mcp__arena_init(&arena, &a, NULL, 0);
    assert_non_null(mcp__arena_strdup(&arena, MCP_STR("the SECRET")));
    mcp__arena_wipe(&arena);
    assert_false(seen);
    mcp__buf_lit(&b, "the SECRET");
    mcp__buf_free(&b);
    assert_true(seen);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_append),         cmocka_unit_test(test_growth_is_geometric),
        cmocka_unit_test(test_limit),          cmocka_unit_test(test_sizes_do_not_overflow),
        cmocka_unit_test(test_failure_sticks), cmocka_unit_test(test_reset_gives_memory_back),
        cmocka_unit_test(test_long_printf),    cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_wipe),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
