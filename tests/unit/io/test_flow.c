/* The limit on the rate of messages, with a time that the test sets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "io/loop/flow.h"

static int told;

static void slowed(void *user)
{
    (void)user;
    told++;
}

static void test_no_limit(void **state)
{
    (void)state;
    mcp__flow flow = {.slowed = slowed};
    told = 0;
    for (int i = 0; i < 1000; i++)
        assert_int_equal(mcp__flow_take(&flow, 5, 1 << 20, 1000), 0);
    assert_int_equal(told, 0);
}

/* The messages of one second arrive at once, whether they are many or long. */
static void test_burst(void **state)
{
    (void)state;
    mcp__flow many = {.per_second = 1000}, one = many;
    assert_int_equal(mcp__flow_take(&many, 100, 0, 1000), 0);
    assert_int_equal(mcp__flow_take(&many, 100, 0, 100), 100);
    assert_int_equal(mcp__flow_take(&one, 100, 999 * MCP__FLOW_COST, 1), 0);
    assert_int_equal(mcp__flow_take(&one, 100, 1, 0), 20); /* the shortest pause */
}

/* Over a long time, the rate is the limit, however much arrives after each pause. */
static void test_rate(void **state)
{
    (void)state;
    static const size_t parts[] = {1, 7, 100, 5000};
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
        mcp__flow flow = {.per_second = 1000};
        int64_t now = 1000000;
        size_t messages = 0;
        while (now < 1000000 + 100000) {
            now += (int64_t)mcp__flow_take(&flow, now, 0, parts[i]);
            messages += parts[i];
        }
        assert_in_range(messages, 99000, 101000 + parts[i]);
    }
}

/* A pause of the server does not earn more than one second. */
static void test_pause(void **state)
{
    (void)state;
    mcp__flow flow = {.per_second = 1000};
    assert_int_equal(mcp__flow_take(&flow, 0, 0, 2000), 1000);
    assert_int_equal(mcp__flow_take(&flow, 1000, 0, 500), 500);
    assert_int_equal(mcp__flow_take(&flow, INT64_C(1) << 40, 0, 1500), 500);
}

static void test_told(void **state)
{
    (void)state;
    mcp__flow flow = {.per_second = 10, .slowed = slowed};
    told = 0;
    for (int64_t now = 0; now < 25000; now += 10)
        mcp__flow_take(&flow, now, 0, 5);
    assert_int_equal(told, 3); /* in 25 seconds */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_limit), cmocka_unit_test(test_burst), cmocka_unit_test(test_rate),
        cmocka_unit_test(test_pause),    cmocka_unit_test(test_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
