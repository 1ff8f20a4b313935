/* Compares numbers in headers and messages: they are equal if and only if all their digits are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "protocol/mirror.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static bool same(const char *a, const char *b)
{
    bool one = mcp__mirror_same_number(mcp_str_from(a), mcp_str_from(b));
    assert_int_equal(one, mcp__mirror_same_number(mcp_str_from(b), mcp_str_from(a)));
    return one;
}

static void test_numbers(void **state)
{
    (void)state;
    static const struct {
        const char *a, *b;
        bool same;
    } rows[] = {
        {"42", "42", true},
        {"42.0", "42", true},
        {"1e3", "1000", true},
        {"1E+3", "1000.000", true},
        {"12e-1", "1.2", true},
        {"0.012e3", "12", true},
        {"100", "10", false},
        {"1", "-1", false},
        {"0", "-0", true},
        {"0e7", "0.00", true},
        {"9007199254740993", "9007199254740992", false},
        {"9007199254740993", "9007199254740993.0", true},
        {"9007199254740993", "9007199254740992.99999999999999999999", false},
        {"18446744073709551616", "18446744073709551617", false},
        {"1e999999999999999", "10e999999999999998", true},
        {"1e999999999999999", "1e999999999999998", false},
        {"0.10", "0.1", true},
        {"1.01", "10.1", false},
        {"101", "1.01", false},
        /* what is not a number of JSON */
        {"", "", false},
        {"-", "-", false},
        {"+1", "1", false},
        {"01", "1", false},
        {"1.", "1", false},
        {".5", "0.5", false},
        {"1e", "1", false},
        {"1e+", "1", false},
        {"1e0x", "1", false},
        {"1 ", "1", false},
        {"0x1", "1", false},
        {"NaN", "NaN", false},
        {"1e9999999999999999", "1e9999999999999999", false},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        if (same(rows[i].a, rows[i].b) != rows[i].same)
            fail_msg("%s and %s", rows[i].a, rows[i].b);
    }
}

/* ---- against a slow and obvious model: all digits written out -------------------------------- */

enum { BEFORE = 40, AFTER = 40 };

/* A number is an array of digits around the decimal point. */
typedef struct model {
    bool negative;
    char digits[BEFORE + AFTER + 1]; /* NUL-terminated */
} model;

static unsigned long long seed = 1;

static unsigned below(unsigned n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(seed >> 33) % n;
}

static bool is_zero(const model *m)
{
    return strspn(m->digits, "0") >= BEFORE + AFTER;
}

/* Writes the number in a random notation: with additional zeros, and with a moved point and an
 * exponent. */
static void write_model(const model *m, char *to, size_t room)
{
    char plain[2 * (BEFORE + AFTER)] = {0};
    int shift = (int)below(21) - 10, point = BEFORE + shift;
    int from = 0, end = BEFORE + AFTER;
    while (from < point - 1 && m->digits[from] == '0')
        from++;
    while (end > point && m->digits[end - 1] == '0')
        end--;
    end += (int)below(3);
    int n = 0;
    for (int i = from; i < end || i < point; i++) {
        if (i == point)
            plain[n++] = '.';
        plain[n++] = i < BEFORE + AFTER ? m->digits[i] : '0';
    }
    if (shift || below(2))
        snprintf(to, room, "%s%s%c%d", m->negative ? "-" : "", plain, below(2) ? 'e' : 'E', -shift);
    else
        snprintf(to, room, "%s%s", m->negative ? "-" : "", plain);
}

static void make_model(model *m)
{
    *m = (model){0};
    memset(m->digits, '0', BEFORE + AFTER);
    m->negative = below(2);
    unsigned at = 12 + below(50), n = 1 + below(6);
    for (unsigned i = 0; i < n && at + i < 68; i++)
        m->digits[at + i] = (char)('0' + below(3));
}

static void test_generated(void **state)
{
    (void)state;
    size_t equal = 0;
    for (size_t i = 0; i < 20000; i++) {
        model a, b;
        make_model(&a);
        b = a;
        if (below(2))
            make_model(&b);
        if (below(4) == 0)
            b.digits[12 + below(56)] = (char)('0' + below(10));
        bool expected = memcmp(a.digits, b.digits, sizeof(a.digits)) == 0 &&
                        (a.negative == b.negative || is_zero(&a));
        char x[128], y[128];
        write_model(&a, x, sizeof(x));
        write_model(&b, y, sizeof(y));
        if (same(x, y) != expected)
            fail_msg("%s and %s are%s the same", x, y, expected ? "" : " not");
        equal += expected;
    }
    assert_true(equal > 1000 && equal < 19000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_generated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
