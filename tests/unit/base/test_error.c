/* Names and messages of errors, and mcp__fail(). */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>

#include "base/base.h"

static void test_names(void **state)
{
    (void)state;
    assert_string_equal(mcp_error_name(MCP_ENOMEM), "MCP_ENOMEM");
    assert_string_equal(mcp_error_text(MCP_ENOMEM), "out of memory");
    assert_string_equal(mcp_error_name(MCP_EPROTOCOL), "MCP_EPROTOCOL");
    assert_string_equal(mcp_error_name(MCP_EFILES), "MCP_EFILES");
    assert_string_equal(mcp_error_name(MCP_OK), "MCP_OK");
    for (int unknown = -17; unknown < 20; unknown += 33) {
        assert_string_equal(mcp_error_name(unknown), "MCP_E?");
        assert_string_equal(mcp_error_text(unknown), "unknown error");
    }
    assert_string_equal(mcp_error_name(INT32_MIN), "MCP_E?");
#define NAMED(name, number, text)                                 \
    assert_string_equal(mcp_error_name(-(number)), "MCP_" #name); \
    assert_string_equal(mcp_error_text(MCP_##name), text);
    MCP_ERROR_MAP(NAMED)
#undef NAMED
}

static void test_fail(void **state)
{
    (void)state;
    mcp_error error = {0};
    assert_int_equal(mcp__fail(&error, MCP_EPARSE, 7, "bad %s at %d", "thing", 7), MCP_EPARSE);
    assert_int_equal(error.code, MCP_EPARSE);
    assert_int_equal(error.offset, 7);
    assert_string_equal(error.text, "bad thing at 7");
    assert_int_equal(mcp__fail(NULL, MCP_EIO, 0, "%s", "nobody cares"), MCP_EIO);
    /* An error may quote the one it replaces. */
    mcp__fail(&error, MCP_EIO, 0, "reading: %s", error.text);
    assert_string_equal(error.text, "reading: bad thing at 7");
}

/* A message that is too long is truncated between two characters. */
static void test_fail_cut(void **state)
{
    (void)state;
    for (size_t ascii = 245; ascii < 262; ascii++) {
        char text[300];
        memset(text, 'x', sizeof(text));
        memcpy(text + ascii, "\xF0\x9F\x98\x80", 5);
        mcp_error error = {0};
        mcp__fail(&error, MCP_EIO, 0, "%s", text);
        size_t len = strlen(error.text);
        size_t expected = ascii + 4 <= 255 ? ascii + 4 : ascii < 255 ? ascii : 255;
        assert_int_equal(len, expected);
        assert_int_equal(mcp__utf8_valid(error.text, len), len);
    }
}

static void test_version(void **state)
{
    (void)state;
    char expected[32];
    snprintf(expected, sizeof(expected), "%d.%d.%d", MCP_VERSION_MAJOR, MCP_VERSION_MINOR,
             MCP_VERSION_PATCH);
    assert_string_equal(mcp_version(), expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_fail),
        cmocka_unit_test(test_fail_cut),
        cmocka_unit_test(test_version),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
