/* UTF-8 validation against a table of known cases, and against a slow decoder for every short
 * sequence. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "base/base.h"

typedef struct utf8_case {
    const char *text;
    size_t valid; /* valid bytes at the beginning */
} utf8_case;

static const utf8_case cases[] = {
    {"", 0},
    {"plain", 5},
    {"\xC3\xA9t\xC3\xA9", 5},
    {"\x7F", 1},
    {"\xC2\x80", 2},
    {"\xDF\xBF", 2},
    {"\xE0\xA0\x80", 3},
    {"\xED\x9F\xBF", 3},
    {"\xEE\x80\x80", 3},
    {"\xEF\xBF\xBF", 3},
    {"\xF0\x90\x80\x80", 4},
    {"\xF4\x8F\xBF\xBF", 4},
    {"\xC0\x80", 0},         /* overlong NUL */
    {"\xC1\xBF", 0},         /* overlong */
    {"\xE0\x9F\xBF", 0},     /* overlong */
    {"\xE0\x80\xAF", 0},     /* overlong '/' */
    {"\xF0\x8F\xBF\xBF", 0}, /* overlong */
    {"\xED\xA0\x80", 0},     /* surrogate D800 */
    {"\xED\xBF\xBF", 0},     /* surrogate DFFF */
    {"\xF4\x90\x80\x80", 0}, /* U+110000 */
    {"\xF5\x80\x80\x80", 0},
    {"\xFF", 0},
    {"\xFE", 0},
    {"\x80", 0},
    {"ab\xBF", 2},
    {"ab\xC3", 2}, /* truncated */
    {"ab\xE2\x82", 2},
    {"ab\xF0\x9F\x98", 2},
    {"ab\xF0\x9F\x98"
     "c",
     2},
    {"12345678\xC3\xA9"
     "1234567\xC3",
     17},
    {"1234567\xC3\xA9"
     "12345678\xA9",
     17},
};

static void test_table(void **state)
{
    (void)state;
    for (size_t i = 0; i < MCP__COUNT(cases); i++)
        assert_int_equal(mcp__utf8_valid(cases[i].text, strlen(cases[i].text)), cases[i].valid);
    assert_int_equal(mcp__utf8_valid("a\0b", 3), 3);
    assert_int_equal(mcp__utf8_valid(NULL, 0), 0);
}

/* Follows the definition: decodes, and checks that the result is a scalar value in its shortest
 * encoding. */
static size_t slow_size(const unsigned char *p, size_t len)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t size = p[0] < 0x80       ? 1
                  : p[0] >> 5 == 6  ? 2
                  : p[0] >> 4 == 14 ? 3
                  : p[0] >> 3 == 30 ? 4
                                    : 0;
    if (size == 0 || size > len)
        return 0;
    uint32_t value = size == 1 ? p[0] : p[0] & (0x7Fu >> size);
    for (size_t i = 1; i < size; i++) {
        if (p[i] >> 6 != 2)
            return 0;
        value = value << 6 | (p[i] & 0x3Fu);
    }
    bool scalar = value <= 0x10FFFF && (value < 0xD800 || value > 0xDFFF);
    return scalar && value >= least[size] ? size : 0;
}

static void test_every_short_sequence(void **state)
{
    (void)state;
    static const unsigned char edge[] = {0x00, 0x41, 0x7F, 0x80, 0x8F, 0x90,
                                         0x9F, 0xA0, 0xBF, 0xC0, 0xFF};
    unsigned wrong = 0;
    for (unsigned first = 0; first < 256; first++) {
        for (unsigned second = 0; second < 256; second++) {
            for (size_t k = 0; k < MCP__COUNT(edge) * MCP__COUNT(edge); k++) {
                const unsigned char bytes[4] = {(unsigned char)first, (unsigned char)second,
                                                edge[k / MCP__COUNT(edge)],
                                                edge[k % MCP__COUNT(edge)]};
                for (size_t len = 1; len <= 4; len++)
                    wrong += mcp__utf8_size((const char *)bytes, len) != slow_size(bytes, len);
            }
        }
    }
    assert_int_equal(wrong, 0);
}

/* One invalid byte is found at every position, inside and outside of the fast path. */
static void test_positions(void **state)
{
    (void)state;
    char text[100];
    for (size_t len = 1; len < sizeof(text); len++) {
        for (size_t bad = 0; bad < len; bad++) {
            memset(text, 'x', sizeof(text));
            text[bad] = (char)0xA9;
            assert_int_equal(mcp__utf8_valid(text, len), bad);
            if (bad == 0)
                continue;
            text[bad - 1] = (char)0xC3;
            assert_int_equal(mcp__utf8_valid(text, len), len);
        }
    }
}

static void test_cut(void **state)
{
    (void)state;
    const char text[] = "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80z";
    static const size_t cuts[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11};
    for (size_t len = 0; len < MCP__COUNT(cuts); len++)
        assert_int_equal(mcp__utf8_cut(text, len), cuts[len]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_every_short_sequence),
        cmocka_unit_test(test_positions),
        cmocka_unit_test(test_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
