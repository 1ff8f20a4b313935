/* Hexadecimal digits: every byte, there and back. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <setjmp.h>
#include <cmocka.h>

#include "base/base.h"

static void test_every_byte(void **state)
{
    (void)state;
    for (unsigned byte = 0; byte < 256; byte++) {
        unsigned char bytes[2] = {(unsigned char)byte, (unsigned char)~byte}, back[3] = {0, 0, '#'};
        char text[6] = "#####", expected[6];
        snprintf(expected, sizeof(expected), "%02x%02x#", bytes[0], bytes[1]);
        assert_ptr_equal(mcp__hex_encode(text, bytes, 2), text + 4);
        assert_string_equal(text, expected);
        mcp__hex_decode(back, text, 2);
        assert_memory_equal(back, bytes, 2);
        assert_int_equal(back[2], '#');
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_byte)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
