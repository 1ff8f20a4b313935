/* Numbers by value: comparison, multiples, equality and hashes, in all notations. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "schema/schema.h"

static const mcp_json *parse(const char *text, mcp_json_doc **doc)
{
    if (mcp_json_parse(mcp_str_from(text), NULL, NULL, doc, NULL) != MCP_OK)
        fail_msg("%s", text);
    return mcp_json_root(*doc);
}

/* Each row is less than the next; the numbers in one row are equal. */
static const char *const ascending[][5] = {
    {"-1e400", "-10e399"},
    {"-123456789012345678901234567890"},
    {"-18446744073709551616"},
    {"-9223372036854775809"},
    {"-9223372036854775808", "-9.223372036854775808e18"},
    {"-9007199254740993"},
    {"-2.5", "-25e-1", "-0.25e1"},
    {"-2", "-2.0", "-0.2e1"},
    {"-1e-300"},
    {"0", "-0", "0.0", "-0.0", "0e5"},
    {"5e-324"},
    {"0.1", "1e-1", "0.1000"},
    {"0.3"},
    {"0.30000000000000004"},
    {"1", "1.0", "10e-1", "1e0", "0.0001e4"},
    {"9007199254740992", "9007199254740992.0"},
    {"9007199254740993"},
    {"9223372036854775807"},
    {"9223372036854775808", "9223372036854775808.0"},
    {"18446744073709551615"},
    {"18446744073709551616"},
    {"18446744073709551617"},
    {"1e300", "1.0e300"},
    {"1e400", "10e399", "0.1e401", "100.0e398"},
    {"1.5e400", "15e399"},
};

static void test_order(void **state)
{
    const size_t rows = sizeof(ascending) / sizeof(ascending[0]);
    (void)state;
    for (size_t i = 0; i < rows; i++) {
        for (size_t k = 0; k < rows; k++) {
            for (size_t x = 0; x < 5 && ascending[i][x]; x++) {
                for (size_t y = 0; y < 5 && ascending[k][y]; y++) {
                    mcp_json_doc *a, *b;
                    size_t steps = 1000;
                    const mcp_json *v = parse(ascending[i][x], &a), *w = parse(ascending[k][y], &b);
                    int order = mcp__schema_compare(v, w);
                    if ((order > 0) - (order < 0) != (i > k) - (i < k))
                        fail_msg("%s and %s: %d", ascending[i][x], ascending[k][y], order);
                    assert_int_equal(mcp__schema_equal(v, w, &steps), i == k);
                    if (i == k)
                        assert_true(mcp__schema_hash(v, &steps) == mcp__schema_hash(w, &steps));
                    mcp_json_free(a);
                    mcp_json_free(b);
                }
            }
        }
    }
}

static void test_multiples(void **state)
{
    static const struct {
        const char *number, *divisor;
        bool is;
    } rows[] = {
        {"7", "2", false},
        {"8", "2", true},
        {"-8", "2", true},
        {"0", "7", true},
        {"0.0", "0.01", true},
        {"4.5", "1.5", true},
        {"35", "1.5", false},
        {"0.3", "0.1", true},
        {"1.1", "0.1", true},
        {"19.99", "0.01", true},
        {"19.995", "0.01", false},
        {"8.61", "0.01", true},
        {"1234567.89", "0.01", true},
        {"0.0075", "0.0001", true},
        {"0.00751", "0.0001", false},
        {"1e308", "0.5", true},
        {"1e308", "0.123456789", false},
        {"1e400", "1e300", true},
        {"3e400", "7", false},
        {"7e400", "7", true},
        {"12345678910111213141516", "2", true},
        {"12345678910111213141517", "2", false},
        {"18446744073709551615", "5", true},
        {"18446744073709551614", "5", false},
        {"-9223372036854775808", "2", true},
        {"1000000000000000000000", "1e3", true},
        {"1e-10", "1e-10", true},
        {"1e-11", "1e-10", false},
        {"36893488147419103230", "18446744073709551615", false},
        {"18446744073709551614", "9223372036854775807", true},
        {"9999999999999999999999999999", "9999999999999999999", false},
        {"99999999999999999980000000000", "9999999999999999998", true},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        mcp_json_doc *a, *b;
        divisor d;
        const mcp_json *v = parse(rows[i].number, &a);
        int rc = mcp__schema_divisor(parse(rows[i].divisor, &b), &d);
        if (rc == MCP_OK && mcp__schema_is_multiple(v, &d) != rows[i].is)
            fail_msg("%s by %s", rows[i].number, rows[i].divisor);
        assert_int_equal(rc, strlen(rows[i].divisor) > 19 ? MCP_EUNSUPPORTED : MCP_OK);
        mcp_json_free(a);
        mcp_json_free(b);
    }
}

static void test_integral_and_size(void **state)
{
    static const struct {
        const char *text;
        bool integral, is_size;
        size_t size;
    } rows[] = {
        {"5", true, true, 5},
        {"5.0", true, true, 5},
        {"5e0", true, true, 5},
        {"-0", true, true, 0},
        {"-0.0", true, true, 0},
        {"-5", true, false, 0},
        {"-5.0", true, false, 0},
        {"5.5", false, false, 0},
        {"1e400", true, true, SIZE_MAX},
        {"-1e400", true, false, 0},
        {"18446744073709551616", true, true, SIZE_MAX},
        {"1e30", true, true, SIZE_MAX},
        {"\"5\"", false, false, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        mcp_json_doc *doc;
        const mcp_json *v = parse(rows[i].text, &doc);
        size_t size = 0;
        if (mcp__schema_is_integral(v) != rows[i].integral)
            fail_msg("%s", rows[i].text);
        if (mcp__schema_as_size(v, &size) != rows[i].is_size)
            fail_msg("%s", rows[i].text);
        if (rows[i].is_size)
            assert_true(size == rows[i].size);
        mcp_json_free(doc);
    }
}

static void test_equality(void **state)
{
    static const struct {
        const char *a, *b;
        bool same;
    } rows[] = {
        {"null", "null", true},
        {"null", "false", false},
        {"0", "false", false},
        {"1", "true", false},
        {"\"a\"", "\"\\u0061\"", true},
        {"\"1\"", "1", false},
        {"[]", "{}", false},
        {"[1,2]", "[2,1]", false},
        {"[1,[2,3]]", "[1.0,[2,3e0]]", true},
        {"[1]", "[1,1]", false},
        {"{\"a\":1,\"b\":[{}]}", "{\"b\":[{}],\"a\":1.0}", true},
        {"{\"a\":1,\"b\":2}", "{\"a\":1,\"c\":2}", false},
        {"{\"a\":1,\"b\":2,\"c\":3}", "{\"a\":1,\"c\":3,\"b\":2}", true},
        {"{\"a\":null}", "{}", false},
        {"{\"a\":null}", "{\"b\":null}", false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        mcp_json_doc *a, *b;
        size_t steps = 1000, none = 0;
        const mcp_json *v = parse(rows[i].a, &a), *w = parse(rows[i].b, &b);
        if (mcp__schema_equal(v, w, &steps) != rows[i].same ||
            mcp__schema_equal(w, v, &steps) != rows[i].same)
            fail_msg("%s and %s", rows[i].a, rows[i].b);
        assert_int_equal(mcp__schema_hash(v, &steps) == mcp__schema_hash(w, &steps), rows[i].same);
        assert_false(mcp__schema_equal(v, w, &none));
        mcp_json_free(a);
        mcp_json_free(b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_multiples),
        cmocka_unit_test(test_integral_and_size),
        cmocka_unit_test(test_equality),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
