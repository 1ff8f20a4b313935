/* The stateless writer: escapes, UTF-8, numbers, unchanged values. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <float.h>
#include <math.h>
#include <stdio.h>

#include "json/json.h"
#include "support/failalloc.h"

static void expect(mcp__buf *b, const char *text)
{
    assert_int_equal(b->failed, MCP_OK);
    mcp__buf_char(b, '\0');
    assert_string_equal(b->ptr, text);
    mcp__buf_reset(b, SIZE_MAX);
}

static void test_strings(void **state)
{
    (void)state;
    static const struct {
        mcp_str s;
        const char *text;
    } strings[] = {
        {{NULL, 0}, "\"\""},
        {{"plain", 5}, "\"plain\""},
        {{"\"\\/", 3}, "\"\\\"\\\\/\""},
        {{"\b\t\n\f\r", 5}, "\"\\b\\t\\n\\f\\r\""},
        {{"\0\x01\x1f\x7f", 4}, "\"\\u0000\\u0001\\u001f\x7f\""},
        {{"\xC3\xA9\xE2\x80\xA8\xF0\x9F\x98\x80", 9}, "\"\xC3\xA9\xE2\x80\xA8\xF0\x9F\x98\x80\""},
        {{"0123456789abcdef0123456789abcdef0123456789\n0123", 47},
         "\"0123456789abcdef0123456789abcdef0123456789\\n0123\""},
    };
    mcp__buf b;
    mcp__buf_init(&b, NULL, 0);
    for (size_t i = 0; i < MCP__COUNT(strings); i++) {
        mcp__json_put_str(&b, strings[i].s);
        expect(&b, strings[i].text);
    }
    mcp__buf_free(&b);
}

/* Every byte at every offset is written, then read back. The lengths are around those of the
 * vectors and words in which the bytes are examined. */
static void test_every_byte_everywhere(void **state)
{
    (void)state;
    static const size_t lengths[] = {1, 7, 8, 9, 15, 16, 17, 31, 45, 63, 64, 65, 79, 133};
    char s[133];
    mcp__buf b;
    mcp__buf_init(&b, NULL, 0);
    for (size_t i = 0; i < MCP__COUNT(lengths) * 256; i++) {
        size_t len = lengths[i / 256];
        unsigned c = i % 256;
        for (size_t at = 0; at < len; at++) {
            memset(s, 'x', len);
            s[at] = (char)c;
            mcp__buf_reset(&b, SIZE_MAX);
            mcp__json_put_str(&b, (mcp_str){s, len});
            if (c >= 0x80) {
                assert_int_equal(b.failed, MCP_EINVAL);
                continue;
            }
            mcp_json_doc *doc = NULL;
            assert_int_equal(mcp_json_parse(mcp__buf_view(&b), NULL, NULL, &doc, NULL), MCP_OK);
            assert_true(mcp_str_eq(mcp_json_string(mcp_json_root(doc)), (mcp_str){s, len}));
            mcp_json_free(doc);
        }
    }
    mcp__buf_free(&b);
}

/* A limit is exact, wherever in a string it is reached. */
static void test_limits(void **state)
{
    (void)state;
    static const char *const strings[] = {
        "",
        "plain",
        "\"",
        "\n\x01\n",
        "{\"a\":\"b\"}",
        "a\xc3\xa4\"\xe2\x82\xac",
        "forty bytes before an escape, and some \"after, which are again more than\tthirty-two",
        "\x01\x02\x03\x04\x05\x06\x07\x0b\x0e\x0f\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a\x1b"};
    for (size_t i = 0; i < MCP__COUNT(strings); i++) {
        mcp__buf b;
        mcp__buf_init(&b, NULL, 0);
        mcp__json_put_str(&b, mcp_str_from(strings[i]));
        size_t size = b.len;
        mcp__buf_free(&b);
        for (size_t limit = 1; limit <= size; limit++) {
            mcp__buf_init(&b, NULL, limit);
            mcp__json_put_str(&b, mcp_str_from(strings[i]));
            assert_int_equal(b.failed, limit < size ? MCP_ELIMIT : MCP_OK);
            mcp__buf_free(&b);
        }
    }
}

static void test_not_utf8(void **state)
{
    (void)state;
    static const char *const bad[] = {"\x80",
                                      "a\xC3",
                                      "\xED\xA0\x80",
                                      "\xC0\x80",
                                      "\xF4\x90\x80\x80",
                                      "0123456789abcdef\xFF",
                                      "\xC3\xA9\xE2\x82"};
    for (size_t i = 0; i < MCP__COUNT(bad); i++) {
        mcp__buf b;
        mcp__buf_init(&b, NULL, 0);
        mcp__json_put_str(&b, mcp_str_from(bad[i]));
        assert_int_equal(b.failed, MCP_EINVAL);
        mcp__buf_free(&b);
    }
}

static void test_integers(void **state)
{
    (void)state;
    mcp__buf b;
    mcp__buf_init(&b, NULL, 0);
    mcp__json_put_int(&b, 0), expect(&b, "0");
    mcp__json_put_int(&b, -10), expect(&b, "-10");
    mcp__json_put_int(&b, INT64_MIN), expect(&b, "-9223372036854775808");
    mcp__json_put_int(&b, INT64_MAX), expect(&b, "9223372036854775807");
    mcp__json_put_uint(&b, UINT64_MAX), expect(&b, "18446744073709551615");
    mcp__buf_free(&b);
}

static void test_reals(void **state)
{
    (void)state;
    static const struct {
        double value;
        const char *text;
    } reals[] = {
        {0.0, "0"},
        {1.0, "1"},
        {-3.0, "-3"},
        {22.5, "22.5"},
        {0.1, "0.1"},
        {1e15, "1000000000000000"},
        {9007199254740992.0, "9007199254740992"},
        {-0.0, "-0.0"},
        {1.0 / 3, "0.3333333333333333"},
        {HUGE_VAL, "null"},
        {-HUGE_VAL, "null"},
    };
    mcp__buf b;
    mcp__buf_init(&b, NULL, 0);
    for (size_t i = 0; i < MCP__COUNT(reals); i++) {
        mcp__json_put_real(&b, reals[i].value);
        expect(&b, reals[i].text);
    }
    mcp__json_put_real(&b, nan("")), expect(&b, "null");
    static const double round_trips[] = {DBL_MAX, -DBL_MAX,           DBL_MIN,        5e-324,
                                         1e23,    9007199254740994.0, 123456.789e-200};
    for (size_t i = 0; i < MCP__COUNT(round_trips); i++) {
        mcp_json_doc *doc = NULL;
        mcp__json_put_real(&b, round_trips[i]);
        assert_int_equal(mcp_json_parse(mcp__buf_view(&b), NULL, NULL, &doc, NULL), MCP_OK);
        assert_true(mcp_json_number(mcp_json_root(doc), 0) == round_trips[i]);
        mcp_json_free(doc);
        mcp__buf_reset(&b, SIZE_MAX);
    }
    mcp__buf_free(&b);
}

static void test_base64(void **state)
{
    (void)state;
    mcp__buf b;
    mcp__buf_init(&b, NULL, 0);
    mcp__json_put_base64(&b, NULL, 0), expect(&b, "\"\"");
    mcp__json_put_base64(&b, "\xFB", 1), expect(&b, "\"+w==\"");
    mcp__json_put_base64(&b, "foobar", 6), expect(&b, "\"Zm9vYmFy\"");
    mcp__json_put_base64(&b, "", SIZE_MAX);
    assert_int_equal(b.failed, MCP_ELIMIT);
    mcp__buf_free(&b);
}

static void test_values(void **state)
{
    (void)state;
    static const char *const same[] = {
        "null",
        "true",
        "false",
        "[]",
        "{}",
        "[[],{},[{}]]",
        "{\"a\":[1,-2,0.5],\"\":{\"b\":null}}",
        "123456789012345678901234567890",
        "-18446744073709551616",
        "18446744073709551615",
        "[1e400,99999999999999999999]",
        "\"\\u0000\\\"\\n\xC3\xA9\"",
        "{\"\\t\":\"\\t\"}",
    };
    mcp__buf b;
    mcp__buf_init(&b, NULL, 0);
    for (size_t i = 0; i < MCP__COUNT(same); i++) {
        assert_int_equal(mcp__json_put_checked(&b, mcp_str_from(same[i]), MCP_JSON_NONE, NULL),
                         MCP_OK);
        expect(&b, same[i]);
    }
    mcp__json_put_value(&b, NULL), expect(&b, "null");
    assert_int_equal(
        mcp__json_put_checked(&b, MCP_STR(" { \"a\" :\n[ 1.0 , 2 ] } "), MCP_JSON_OBJECT, NULL),
        MCP_OK);
    expect(&b, "{\"a\":[1,2]}");
    mcp__buf_free(&b);
}

static void test_checked(void **state)
{
    (void)state;
    mcp__buf b;
    mcp_error error = {0};
    mcp__buf_init(&b, NULL, 10);
    mcp__buf_lit(&b, "x");
    assert_int_equal(mcp__json_put_checked(&b, MCP_STR("[1]"), MCP_JSON_OBJECT, &error),
                     MCP_EPARSE);
    assert_non_null(strstr(error.text, "object"));
    assert_non_null(strstr(error.text, "array"));
    assert_int_equal(mcp__json_put_checked(&b, MCP_STR("{"), MCP_JSON_OBJECT, &error), MCP_EPARSE);
    assert_int_equal(b.failed, MCP_OK);
    assert_int_equal(b.len, 1);
    assert_int_equal(mcp__json_put_checked(&b, MCP_STR("[1,2,3,4,5]"), MCP_JSON_ARRAY, &error),
                     MCP_ELIMIT);
    assert_int_equal(error.code, MCP_ELIMIT);
    mcp__buf_free(&b);
}

static void test_no_memory(void **state)
{
    (void)state;
    char object[4000];
    size_t len = 0;
    for (int i = 0; i < 100; i++)
        len += (size_t)sprintf(object + len, "%c\"%d\":[\"\\n\",0.25]", i ? ',' : '{', i);
    object[len++] = '}';
    for (size_t n = 1;; n++) {
        failalloc f = {.fail_at = n};
        mcp_allocator a = failalloc_allocator(&f);
        mcp__buf b;
        mcp__buf_init(&b, &a, 0);
        int rc = mcp__json_put_checked(&b, (mcp_str){object, len}, MCP_JSON_OBJECT, NULL);
        assert_int_equal(rc, f.calls < n ? MCP_OK : MCP_ENOMEM);
        mcp__buf_free(&b);
        assert_int_equal(f.live, 0);
        if (f.calls < n) {
            assert_true(n > 5);
            break;
        }
    }
    mcp__buf b;
    mcp__buf_init(&b, NULL, 3);
    mcp__json_put_str(&b, MCP_STR("xy"));
    assert_int_equal(b.failed, MCP_ELIMIT);
    mcp__buf_free(&b);
    mcp__buf_init(&b, NULL, 4);
    mcp__json_put_str(&b, MCP_STR("xy")); /* exactly the limit */
    assert_int_equal(b.failed, MCP_OK);
    mcp__buf_free(&b);
}

static void test_lists(void **state)
{
    (void)state;
    mcp__buf b;
    mcp__buf_init(&b, NULL, 0);
    mcp__json_list array = mcp__json_begin_array(&b);
    mcp__json_end(&array);
    assert_false(array.any);
    expect(&b, "[]");

    mcp__json_list object = mcp__json_begin_object(&b);
    mcp__json_name(&object, "empty");
    mcp__json_list inner = mcp__json_begin_object(&b);
    mcp__json_end(&inner);
    mcp__json_key(&object, MCP_STR("a \"b\""));
    array = mcp__json_begin_array(&b);
    for (int i = 0; i < 3; i++) {
        mcp__json_next(&array);
        mcp__json_put_int(&b, i);
    }
    mcp__json_end(&array);
    mcp__json_next(&object);
    mcp__buf_lit(&b, "\"c\":1,\"d\":2");
    mcp__json_end(&object);
    assert_true(object.any);
    expect(&b, "{\"empty\":{},\"a \\\"b\\\"\":[0,1,2],\"c\":1,\"d\":2}");
    mcp__buf_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_strings),   cmocka_unit_test(test_every_byte_everywhere),
        cmocka_unit_test(test_limits),    cmocka_unit_test(test_not_utf8),
        cmocka_unit_test(test_integers),  cmocka_unit_test(test_reals),
        cmocka_unit_test(test_base64),    cmocka_unit_test(test_values),
        cmocka_unit_test(test_checked),   cmocka_unit_test(test_lists),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
