/* The accessors: every type, chains over missing values, iteration, number conversions. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <mcp/yyjson.h>

#include "json/json.h"

static const char text[] =
    "{\"null\":null,\"yes\":true,\"no\":false,\"int\":-7,\"uint\":18446744073709551615,"
    "\"real\":1.5,\"whole\":3.0,\"big\":123456789012345678901234567890,\"huge\":-1e400,"
    "\"string\":\"a\\u0000\\u00e9\",\"empty\":\"\",\"array\":[1,[2,{\"x\":[]}],3],"
    "\"object\":{\"\":1,\"k\\u0000\":2,\"k\":3}}";

static mcp_json_doc *doc;
static const mcp_json *root;

static int setup(void **state)
{
    (void)state;
    int rc = mcp_json_parse(mcp_str_from(text), NULL, NULL, &doc, NULL);
    root = mcp_json_root(doc);
    return rc;
}

static int teardown(void **state)
{
    (void)state;
    mcp_json_free(doc);
    return 0;
}

static void test_types(void **state)
{
    (void)state;
    static const struct {
        const char *key;
        mcp_json_type type;
        const char *name;
    } types[] = {
        {"missing", MCP_JSON_NONE, "nothing"},  {"null", MCP_JSON_NULL, "null"},
        {"yes", MCP_JSON_BOOL, "boolean"},      {"no", MCP_JSON_BOOL, "boolean"},
        {"int", MCP_JSON_INT, "integer"},       {"uint", MCP_JSON_INT, "integer"},
        {"real", MCP_JSON_REAL, "number"},      {"whole", MCP_JSON_REAL, "number"},
        {"big", MCP_JSON_BIGINT, "big number"}, {"huge", MCP_JSON_BIGINT, "big number"},
        {"string", MCP_JSON_STRING, "string"},  {"array", MCP_JSON_ARRAY, "array"},
        {"object", MCP_JSON_OBJECT, "object"},
    };
    for (size_t i = 0; i < MCP__COUNT(types); i++) {
        const mcp_json *value = mcp_json_get(root, types[i].key);
        assert_int_equal(mcp_json_typeof(value), types[i].type);
        assert_true(mcp_json_is(value, types[i].type));
        assert_string_equal(mcp_json_type_name(types[i].type), types[i].name);
    }
    assert_string_equal(mcp_json_type_name((mcp_json_type)99), "unknown");
}

static void test_nothing(void **state)
{
    (void)state;
    mcp_json_iter iter = {0};
    assert_int_equal(mcp_json_typeof(NULL), MCP_JSON_NONE);
    assert_null(mcp_json_get(NULL, "a"));
    assert_null(mcp_json_get(root, NULL));
    assert_null(mcp_json_get(mcp_json_get(mcp_json_get(root, "int"), "a"), "b"));
    assert_null(mcp_json_get_str(NULL, MCP_STR("a")));
    assert_int_equal(mcp_json_count(NULL), 0);
    assert_null(mcp_json_at(NULL, 0));
    assert_null(mcp_json_next(NULL, &iter, NULL));
    assert_null(mcp_json_string(NULL).ptr);
    assert_int_equal(mcp_json_int(NULL, 5), 5);
    assert_true(mcp_json_number(NULL, 5) == 5);
    assert_true(mcp_json_bool(NULL, true));
    assert_null(mcp__json_bigint_text(NULL).ptr);
    assert_null(mcp_json_yyjson(NULL));
}

static void test_lookup(void **state)
{
    (void)state;
    const mcp_json *object = mcp_json_get(root, "object");
    assert_int_equal(mcp_json_int(mcp_json_get(object, ""), 0), 1);
    assert_int_equal(mcp_json_int(mcp_json_get_str(object, (mcp_str){NULL, 0}), 0), 1);
    assert_int_equal(mcp_json_int(mcp_json_get(object, "k"), 0), 3);
    assert_int_equal(mcp_json_int(mcp_json_get_str(object, (mcp_str){"k\0", 2}), 0), 2);
    assert_null(mcp_json_get(object, "K"));
    const mcp_json *array = mcp_json_get(root, "array");
    assert_null(mcp_json_get(array, "k"));
    assert_int_equal(mcp_json_count(array), 3);
    assert_int_equal(mcp_json_int(mcp_json_at(array, 2), 0), 3);
    assert_null(mcp_json_at(array, 3));
    assert_null(mcp_json_at(object, 0));
    assert_int_equal(mcp_json_count(object), 3);
    assert_int_equal(mcp_json_count(mcp_json_get(root, "string")), 0);
    assert_ptr_equal(mcp_json_yyjson(array), array);
    assert_int_equal(yyjson_arr_size(mcp_json_yyjson(array)), 3);
}

static void test_iteration(void **state)
{
    (void)state;
    static const mcp_str keys[] = {{"", 0}, {"k\0", 2}, {"k", 1}};
    mcp_json_iter iter = {0};
    mcp_str key;
    const mcp_json *object = mcp_json_get(root, "object");
    for (int i = 0; i < 3; i++) {
        assert_int_equal(mcp_json_int(mcp_json_next(object, &iter, &key), 0), i + 1);
        assert_true(mcp_str_eq(key, keys[i]));
    }
    assert_null(mcp_json_next(object, &iter, &key));
    assert_null(mcp_json_next(object, &iter, NULL));
    const mcp_json *array = mcp_json_get(root, "array");
    iter = (mcp_json_iter){0};
    key = MCP_STR("of something else");
    assert_int_equal(mcp_json_int(mcp_json_next(array, &iter, &key), 0), 1);
    assert_null(key.ptr);
    assert_int_equal(key.len, 0);
    assert_true(mcp_json_is(mcp_json_next(array, &iter, NULL), MCP_JSON_ARRAY));
    assert_int_equal(mcp_json_int(mcp_json_next(array, &iter, NULL), 0), 3);
    assert_null(mcp_json_next(array, &iter, NULL));
    iter = (mcp_json_iter){0};
    assert_null(mcp_json_next(mcp_json_get(root, "string"), &iter, &key));
}

static void test_values(void **state)
{
    (void)state;
    assert_true(
        mcp_str_eq(mcp_json_string(mcp_json_get(root, "string")), (mcp_str){"a\0\xC3\xA9", 4}));
    mcp_str empty = mcp_json_string(mcp_json_get(root, "empty"));
    assert_non_null(empty.ptr);
    assert_int_equal(empty.len, 0);
    assert_null(mcp_json_string(mcp_json_get(root, "int")).ptr);
    assert_null(mcp_json_string(mcp_json_get(root, "big")).ptr);
    assert_true(mcp_json_bool(mcp_json_get(root, "yes"), false));
    assert_false(mcp_json_bool(mcp_json_get(root, "no"), true));
    assert_true(mcp_json_bool(mcp_json_get(root, "null"), true));
    assert_true(mcp_str_eq(mcp__json_bigint_text(mcp_json_get(root, "big")),
                           MCP_STR("123456789012345678901234567890")));
    assert_true(mcp_str_eq(mcp__json_bigint_text(mcp_json_get(root, "huge")), MCP_STR("-1e400")));
    assert_null(mcp__json_bigint_text(mcp_json_get(root, "int")).ptr);
}

static void test_numbers(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t integer; /* 42, the fallback, if it has none */
        double number;
    } numbers[] = {
        {"0", 0, 0},
        {"-0", 0, 0},
        {"-9223372036854775808", INT64_MIN, -9223372036854775808.0},
        {"9223372036854775807", INT64_MAX, 9223372036854775807.0},
        {"9223372036854775808", 42, 9223372036854775808.0},
        {"-9223372036854775809", 42, -9223372036854775809.0},
        {"18446744073709551616", 42, 18446744073709551616.0},
        {"3.0", 3, 3},
        {"1e3", 1000, 1000},
        {"-2.5", 42, -2.5},
        {"9007199254740992.0", INT64_C(9007199254740992), 9007199254740992.0},
        {"9007199254740994.0", 42, 9007199254740994.0},
        {"1e300", 42, 1e300},
        {"1e400", 42, 42},
        {"\"1\"", 42, 42},
    };
    for (size_t i = 0; i < MCP__COUNT(numbers); i++) {
        mcp_json_doc *number = NULL;
        assert_int_equal(mcp_json_parse(mcp_str_from(numbers[i].text), NULL, NULL, &number, NULL),
                         MCP_OK);
        assert_true(mcp_json_int(mcp_json_root(number), 42) == numbers[i].integer);
        assert_true(mcp_json_number(mcp_json_root(number), 42) == numbers[i].number);
        mcp_json_free(number);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_types),  cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_lookup), cmocka_unit_test(test_iteration),
        cmocka_unit_test(test_values), cmocka_unit_test(test_numbers),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
