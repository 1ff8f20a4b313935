/* number.c: exact arithmetic on JSON numbers.
 *
 * A number has the value that is written: 0.1 is one tenth, not the nearest double. So the general
 * case works on decimals of any length (digits and an exponent). Integers of 64 bits and small
 * doubles have faster code. The parser keeps a real only as a double, without its text. If the
 * double is an integer of at most 64 bits, it has that value. Otherwise it has the value of the
 * shortest decimal that reads back as the same double. That is the number that was written, unless
 * it had more than 15 digits.
 */
#include <stdio.h>
#include <stdlib.h>

#include "schema/schema.h"

/* digits * 10^exponent. digits may contain one point, which does not affect the value because the
 * exponent accounts for it. `digits` begins and ends with a digit other than 0, and is empty for
 * zero. */
typedef struct decimal {
    bool negative;
    const char *digits;
    size_t size;  /* bytes of digits */
    size_t count; /* number of digits */
    int64_t exponent;
    char own[32];
} decimal;

/* The absolute value of an exponent is limited to this. Sums of a few exponents do not overflow. */
#define EXPONENT_MAX (INT64_C(1) << 40)

static const double TEN[] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                             1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};

/* ---- to decimals ----------------------------------------------------------------------------- */

static int64_t read_exponent(const char *s, const char *end)
{
    int64_t n = 0;
    bool negative = s < end && *s == '-';
    for (s += s < end && (*s == '-' || *s == '+'); s < end; s++)
        n = MCP__MIN(n * 10 + (*s - '0'), EXPONENT_MAX);
    return negative ? -n : n;
}

/* Moves the zeros at both ends of the mantissa, and its point, into the exponent. */
static void set_mantissa(decimal *d, const char *s, const char *end, int64_t exponent)
{
    const char *last = s, *p;
    size_t digits = 0, point = SIZE_MAX, to_last = 0;
    while (s < end && (*s == '0' || *s == '.')) {
        if (*s == '.')
            point = 0;
        else if (point != SIZE_MAX)
            exponent--;
        s++;
    }
    d->digits = s;
    for (p = s; p < end; p++) {
        if (!mcp__schema_digit(
                *p)) { /* a point, which may be another character in another locale */
            point = digits;
            continue;
        }
        digits++;
        if (*p != '0')
            last = p + 1, to_last = digits;
    }
    d->count = to_last;
    d->size = to_last ? (size_t)(last - s) : 0;
    size_t before_point = point == SIZE_MAX ? digits : point;
    d->exponent = exponent + (int64_t)before_point - (int64_t)to_last;
}

static void from_text(decimal *d, mcp_str s)
{
    const char *at = s.ptr, *end = s.ptr + s.len, *mantissa_end = at;
    d->negative = at < end && *at == '-';
    at += d->negative;
    while (mantissa_end < end && *mantissa_end != 'e' && *mantissa_end != 'E')
        mantissa_end++;
    int64_t exponent = mantissa_end < end ? read_exponent(mantissa_end + 1, end) : 0;
    set_mantissa(d, at, mantissa_end, exponent);
}

static void from_uint(decimal *d, uint64_t n, bool negative, int64_t exponent)
{
    char *at = d->own + sizeof(d->own), *end = at;
    do {
        *--at = (char)('0' + n % 10);
        n /= 10;
    } while (n);
    d->negative = negative;
    set_mantissa(d, at, end, exponent);
}

static bool same(double a, double b)
{
    return a <= b && a >= b;
}

/* Converts a double with few digits after the point: v * 10^k is an integer that converts back to
 * v. */
static bool from_short_double(decimal *d, double v)
{
    double magnitude = v < 0 ? -v : v;
    for (int k = 0; k < (int)MCP__COUNT(TEN) && magnitude * TEN[k] < 1e15; k++) {
        uint64_t n = (uint64_t)(magnitude * TEN[k] + 0.5);
        if (same((double)n / TEN[k], magnitude)) {
            from_uint(d, n, v < 0, -k);
            return true;
        }
    }
    return false;
}

static void from_double(decimal *d, double v)
{
    const double exact = 9007199254740992.0, most = 18446744073709551616.0; /* 2^53, 2^64 */
    double magnitude = v < 0 ? -v : v;
    if (magnitude >= exact && magnitude < most) {
        from_uint(d, (uint64_t)magnitude, v < 0, 0); /* an integer that is represented exactly */
        return;
    }
    if (from_short_double(d, v))
        return;
    for (int digits = 14; digits <= 16; digits++) {
        snprintf(d->own, sizeof(d->own), "%.*e", digits, v);
        if (digits == 16 || same(strtod(d->own, NULL), v))
            break;
    }
    from_text(d, mcp_str_from(d->own));
}

static void to_decimal(const mcp_json *number, decimal *d)
{
    uint64_t n;
    int64_t i;
    d->negative = false;
    d->size = d->count = 0;
    d->exponent = 0;
    switch (mcp_json_typeof(number)) {
    case MCP_JSON_INT:
        if (mcp__json_uint(number, &n)) {
            from_uint(d, n, false, 0);
        } else {
            i = mcp_json_int(number, 0);
            from_uint(d, (uint64_t) - (i + 1) + 1, true, 0);
        }
        break;
    case MCP_JSON_REAL: from_double(d, mcp_json_number(number, 0)); break;
    default: from_text(d, mcp__json_bigint_text(number)); break;
    }
}

/* ---- comparing ------------------------------------------------------------------------------- */

static char next_digit(const decimal *d, size_t *at)
{
    while (*at < d->size && !mcp__schema_digit(d->digits[*at]))
        ++*at;
    return *at < d->size ? d->digits[(*at)++] : '0';
}

static int compare_magnitudes(const decimal *a, const decimal *b)
{
    size_t i = 0, k = 0;
    if (a->count == 0 || b->count == 0)
        return (a->count > 0) - (b->count > 0);
    int64_t top_a = a->exponent + (int64_t)a->count, top_b = b->exponent + (int64_t)b->count;
    if (top_a != top_b)
        return top_a < top_b ? -1 : 1;
    while (i < a->size || k < b->size) {
        char x = next_digit(a, &i), y = next_digit(b, &k);
        if (x != y)
            return x < y ? -1 : 1;
    }
    return 0;
}

static int compare_decimals(const mcp_json *a, const mcp_json *b)
{
    decimal x, y;
    to_decimal(a, &x);
    to_decimal(b, &y);
    bool minus_x = x.negative && x.count, minus_y = y.negative && y.count;
    if (minus_x != minus_y)
        return minus_x ? -1 : 1;
    return minus_x ? compare_magnitudes(&y, &x) : compare_magnitudes(&x, &y);
}

static int compare_ints(const mcp_json *a, const mcp_json *b)
{
    uint64_t x = 0, y = 0;
    bool big_a = mcp__json_uint(a, &x), big_b = mcp__json_uint(b, &y);
    if (big_a != big_b)
        return big_a ? 1 : -1;
    if (big_a)
        return (x > y) - (x < y);
    int64_t i = mcp_json_int(a, 0), k = mcp_json_int(b, 0);
    return (i > k) - (i < k);
}

int mcp__schema_compare(const mcp_json *a, const mcp_json *b)
{
    const double exact = 9007199254740992.0; /* 2^53 */
    mcp_json_type x = mcp_json_typeof(a), y = mcp_json_typeof(b);
    if (x == MCP_JSON_INT && y == MCP_JSON_INT)
        return compare_ints(a, b);
    double v = mcp_json_number(a, 0), w = mcp_json_number(b, 0);
    bool doubles_do = x != MCP_JSON_BIGINT && y != MCP_JSON_BIGINT &&
                      ((x == MCP_JSON_REAL && y == MCP_JSON_REAL) ||
                       (v < exact && v > -exact && w < exact && w > -exact));
    return doubles_do ? (v > w) - (v < w) : compare_decimals(a, b);
}

bool mcp__schema_is_integral(const mcp_json *number)
{
    mcp_json_type type = mcp_json_typeof(number);
    double v = mcp_json_number(number, 0);
    decimal d;
    if (type == MCP_JSON_INT)
        return true;
    if (type == MCP_JSON_REAL)
        return v >= 9007199254740992.0 || v <= -9007199254740992.0 || same((double)(int64_t)v, v);
    if (type != MCP_JSON_BIGINT)
        return false;
    to_decimal(number, &d);
    return d.exponent >= 0 || d.count == 0;
}

bool mcp__schema_as_size(const mcp_json *number, size_t *ret)
{
    uint64_t n = 0;
    if (mcp__json_uint(number, &n)) {
        *ret = n > SIZE_MAX ? SIZE_MAX : (size_t)n;
        return true;
    }
    if (!mcp__schema_is_integral(number) || mcp_json_is(number, MCP_JSON_INT))
        return false;
    decimal d;
    to_decimal(number, &d);
    int64_t i = mcp_json_int(number, -1);
    *ret = i < 0 ? SIZE_MAX : (size_t)i;
    return !d.negative || d.count == 0;
}

/* ---- multiples ------------------------------------------------------------------------------- */

/* Returns (a + b) mod m for any a, b < m, without overflow. */
static uint64_t add_mod(uint64_t a, uint64_t b, uint64_t m)
{
    return a >= m - b ? a - (m - b) : a + b;
}

static uint64_t multiply_mod(uint64_t a, uint64_t b, uint64_t m)
{
    uint64_t sum = 0;
    for (; b; b >>= 1) {
        if (b & 1)
            sum = add_mod(sum, a, m);
        a = add_mod(a, a, m);
    }
    return sum;
}

static uint64_t power_mod(uint64_t base, uint64_t exponent, uint64_t m)
{
    uint64_t product = 1 % m;
    for (base %= m; exponent; exponent >>= 1) {
        if (exponent & 1)
            product = multiply_mod(product, base, m);
        base = multiply_mod(base, base, m);
    }
    return product;
}

static uint64_t digits_mod(const decimal *d, uint64_t m)
{
    uint64_t rest = 0;
    for (size_t at = 0, i = 0; i < d->count; i++) {
        uint64_t digit = (uint64_t)(next_digit(d, &at) - '0') % m;
        if (m <= UINT64_MAX / 10 - 1) {
            rest = (rest * 10 + digit) % m;
        } else {
            uint64_t twice = add_mod(rest, rest, m), four = add_mod(twice, twice, m);
            uint64_t five = add_mod(four, rest, m);
            rest = add_mod(add_mod(five, five, m), digit, m);
        }
    }
    return rest;
}

int mcp__schema_divisor(const mcp_json *number, divisor *ret)
{
    decimal d;
    uint64_t n = 0;
    to_decimal(number, &d);
    if (d.negative || d.count == 0)
        return MCP_EINVAL;
    if (d.count > 19)
        return MCP_EUNSUPPORTED;
    for (size_t at = 0, i = 0; i < d.count; i++)
        n = n * 10 + (uint64_t)(next_digit(&d, &at) - '0');
    *ret = (divisor){.mantissa = n, .exponent = d.exponent};
    uint64_t whole = n;
    int64_t zeros = d.exponent;
    for (; zeros > 0 && whole <= INT64_MAX / 10; zeros--)
        whole *= 10;
    ret->whole = zeros == 0 && whole <= INT64_MAX ? (int64_t)whole : 0;
    return MCP_OK;
}

bool mcp__schema_is_multiple(const mcp_json *number, const divisor *d)
{
    decimal v;
    int64_t i = mcp_json_is(number, MCP_JSON_INT) ? mcp_json_int(number, INT64_MIN) : INT64_MIN;
    if (d->whole && i != INT64_MIN)
        return i % d->whole == 0;
    to_decimal(number, &v);
    if (v.count == 0)
        return true;
    /* Neither mantissa ends with a 0, so the value cannot be a multiple if its power of 10 is
     * smaller. */
    int64_t exponent = v.exponent - d->exponent;
    if (exponent < 0)
        return false;
    uint64_t m = d->mantissa;
    return multiply_mod(digits_mod(&v, m), power_mod(10, (uint64_t)exponent, m), m) == 0;
}
