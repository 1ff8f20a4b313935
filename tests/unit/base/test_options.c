/* Structs that begin with their size: from an older program, from a newer one, and from one that
 * did not set the size. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "base/base.h"

typedef struct ours {
    size_t size;
    size_t a, b;
} ours;

typedef struct newer {
    size_t size;
    size_t a, b, c;
} newer;

static void test_take(void **state)
{
    (void)state;
    ours to;
    mcp_error error;
    newer from = {sizeof(from), 1, 2, 3};
    memset(&to, 0xff, sizeof(to));
    assert_int_equal(MCP__TAKE(&to, &from, ours, &error), MCP_OK);
    assert_int_equal(to.size, sizeof(to));
    assert_int_equal(to.a, 1);
    assert_int_equal(to.b, 2);
    from.size = 2 * sizeof(size_t); /* an older program, whose struct has only a */
    memset(&to, 0xff, sizeof(to));
    assert_int_equal(MCP__TAKE(&to, &from, ours, &error), MCP_OK);
    assert_int_equal(to.size, sizeof(to));
    assert_int_equal(to.a, 1);
    assert_int_equal(to.b, 0);
}

/* Sizes of 0, less than the member itself, and values that an uninitialized struct may hold. */
static void test_no_size(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, sizeof(size_t) - 1, (size_t)1 << 17, SIZE_MAX};
    for (size_t i = 0; i < MCP__COUNT(sizes); i++) {
        ours to = {.a = 1};
        newer from = {.size = sizes[i], .a = 1};
        mcp_error error = {0};
        assert_int_equal(MCP__TAKE(&to, &from, ours, &error), MCP_EINVAL);
        assert_non_null(strstr(error.text, "\"size\" of a ours is not set"));
        assert_int_equal(to.a, 0);
        assert_int_equal(MCP__TAKE_OPTIONAL(&to, &from, ours, NULL), MCP_EINVAL);
        assert_int_equal(mcp__check_array(&from, 1, "ours", &error), MCP_EINVAL);
    }
}

static void test_null(void **state)
{
    (void)state;
    ours to = {.a = 1};
    mcp_error error = {0};
    assert_int_equal(MCP__TAKE(&to, NULL, ours, &error), MCP_EINVAL);
    assert_non_null(strstr(error.text, "a ours is required"));
    assert_int_equal(to.a, 0);
    assert_int_equal(MCP__TAKE_OPTIONAL(&to, NULL, ours, &error), MCP_OK);
    assert_int_equal(to.size, sizeof(to));
    assert_int_equal(mcp__check_array(NULL, 0, "ours", &error), MCP_OK);
    assert_int_equal(mcp__check_array(NULL, 1, "ours", &error), MCP_EINVAL);
}

static void test_array(void **state)
{
    (void)state;
    newer from[] = {{sizeof(newer), 1, 2, 3}, {sizeof(newer), 4, 5, 6}};
    ours to;
    mcp_error error = {0};
    assert_int_equal(mcp__check_array(from, 2, "ours", &error), MCP_OK);
    mcp__take_element(&to, sizeof(to), from, 1);
    assert_int_equal(to.size, sizeof(to));
    assert_int_equal(to.a, 4);
    assert_int_equal(to.b, 5);
    from[1].size = 0;
    assert_int_equal(mcp__check_array(from, 2, "ours", &error), MCP_EINVAL);
    assert_non_null(strstr(error.text, "element 1"));
}

typedef struct limits {
    uint64_t ms;
    size_t bytes;
    uint32_t burst, guard;
} limits;

static const mcp_default defaults[] = {
    MCP_DEFAULT(limits, ms, UINT64_C(1) << 40, .maximum = UINT64_C(1) << 41),
    MCP_DEFAULT(limits, bytes, 64, .maximum = 1024),
    MCP_DEFAULT(limits, burst, 60),
};

static void test_defaults(void **state)
{
    (void)state;
    limits none = {.guard = 7}, most = {UINT64_MAX, 1025, UINT32_MAX, 7}, given = {1, 1024, 2, 0};
    MCP_SET_DEFAULTS(&none, defaults);
    assert_int_equal(none.ms, UINT64_C(1) << 40);
    assert_int_equal(none.bytes, 64);
    assert_int_equal(none.burst, 60);
    assert_int_equal(none.guard, 7);
    MCP_SET_DEFAULTS(&most, defaults);
    assert_int_equal(most.ms, UINT64_C(1) << 41);
    assert_int_equal(most.bytes, 1024);
    assert_int_equal(most.burst, UINT32_MAX); /* no maximum */
    assert_int_equal(most.guard, 7);
    MCP_SET_DEFAULTS(&given, defaults);
    assert_int_equal(given.ms, 1);
    assert_int_equal(given.bytes, 1024);
    assert_int_equal(given.burst, 2);
    assert_int_equal(given.guard, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_take),  cmocka_unit_test(test_no_size),  cmocka_unit_test(test_null),
        cmocka_unit_test(test_array), cmocka_unit_test(test_defaults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
