/* The default allocator and the helpers on any allocator. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "base/base.h"
#include "support/failalloc.h"

static void test_default(void **state)
{
    (void)state;
    const mcp_allocator *a = mcp__allocator(NULL);
    char *p = mcp__alloc(a, 10);
    assert_non_null(p);
    memcpy(p, "012345678", 10);
    p = mcp__resize(a, p, 10000);
    assert_non_null(p);
    assert_string_equal(p, "012345678");
    mcp__release(a, p);
    mcp__release(a, NULL);
    a->release(NULL, a->user);
    mcp_allocator other = {0};
    assert_ptr_equal(mcp__allocator(&other), &other);
}

static void test_helpers(void **state)
{
    (void)state;
    failalloc f = {0};
    mcp_allocator a = failalloc_allocator(&f);
    unsigned char *zeros = mcp__zalloc(&a, 100);
    for (int i = 0; i < 100; i++)
        assert_int_equal(zeros[i], 0);
    char *copy = mcp__strdup(&a, (mcp_str){"a\0bc", 3});
    assert_memory_equal(copy, "a\0b\0", 4);
    char *none = mcp__strdup(&a, (mcp_str){NULL, 0});
    assert_string_equal(none, "");
    assert_int_equal(f.live, 3);
    mcp__release(&a, zeros);
    mcp__release(&a, copy);
    mcp__release(&a, none);
    assert_int_equal(f.live, 0);
    assert_null(mcp__strdup(&a, (mcp_str){"", SIZE_MAX}));
    f.fail_at = f.calls + 1;
    assert_null(mcp__strdup(&a, MCP_STR("x")));
    f.fail_at = f.calls + 1;
    assert_null(mcp__zalloc(&a, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_default),
        cmocka_unit_test(test_helpers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
