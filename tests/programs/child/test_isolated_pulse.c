/* test_isolated_pulse.c: when a process is asked whether it still answers, with a simulated clock. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include <pulse.h>

enum { AT = 1000000, STEP = ISOLATED_LOOK_MS };

typedef struct course {
    isolated_pulse pulse;
    int64_t now;
} course;

/* Looks every STEP for `ms`, and writes what is found: A (alive), P (a ping), H (hung). */
static const char *look_for(course *c, int64_t ms, bool waits)
{
    static char found[64];
    size_t n = 0;
    for (int64_t end = c->now + ms; c->now < end && n < sizeof(found) - 1;) {
        c->now += STEP;
        found[n++] = "APH"[isolated_pulse_look(&c->pulse, waits, c->now)];
    }
    found[n] = '\0';
    return found;
}

static course begin(void)
{
    course c = {.now = AT};
    isolated_pulse_send(&c.pulse, c.now);
    return c;
}

/* A process that was stopped, or whose loop does not go on, is found within five seconds. */
static void test_hung(void **state)
{
    course c = begin();
    (void)state;
    assert_string_equal(look_for(&c, 5000, true), "APAAAAAAAH");
}

/* A request that is sent later changes nothing. */
static void test_more_requests(void **state)
{
    course c = begin();
    (void)state;
    for (int i = 0; i < 9; i++) {
        assert_null(strchr(look_for(&c, STEP, true), 'H'));
        isolated_pulse_send(&c.pulse, c.now);
    }
    assert_string_equal(look_for(&c, STEP, true), "H");
}

/* A process that works for hours answers each ping. */
static void test_long_work(void **state)
{
    course c = begin();
    (void)state;
    for (int i = 0; i < 3600; i++) {
        const char *found = look_for(&c, STEP, true);
        assert_null(strchr(found, 'H'));
        if (*found == 'P') {
            assert_string_equal(look_for(&c, 3000, true), "AAAAAA"); /* it is slow, too */
            isolated_pulse_hear(&c.pulse, c.now);
        }
    }
}

/* What it sends by itself, such as progress, spares the pings. */
static void test_talks(void **state)
{
    course c = begin();
    (void)state;
    for (int i = 0; i < 100; i++) {
        assert_string_equal(look_for(&c, STEP, true), "A");
        isolated_pulse_hear(&c.pulse, c.now);
    }
}

/* Nothing is asked while nothing waits; a ping that is in flight decides without the request. */
static void test_no_requests(void **state)
{
    course c = begin();
    (void)state;
    isolated_pulse_hear(&c.pulse, c.now);
    assert_string_equal(look_for(&c, 2000, false), "AAAA");
    assert_int_equal(c.pulse.looked, 0); /* it need not be called any more */
    c.now += 1000000;
    isolated_pulse_send(&c.pulse, c.now);
    assert_string_equal(look_for(&c, 1000, true), "AP");
    assert_string_equal(look_for(&c, 4000, false), "AAAAAAAH");
}

/* If this program was stopped itself, or had no CPU, the process has its time again. */
static void test_late_here(void **state)
{
    course c = begin();
    (void)state;
    assert_string_equal(look_for(&c, 1000, true), "AP");
    c.now += 60000;
    assert_string_equal(look_for(&c, 4500, true), "AAAAAAAAH");
    c = begin();
    c.now += 60000;
    assert_string_equal(look_for(&c, 1000, true), "PA");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hung),        cmocka_unit_test(test_more_requests),
        cmocka_unit_test(test_long_work),   cmocka_unit_test(test_talks),
        cmocka_unit_test(test_no_requests), cmocka_unit_test(test_late_here),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
