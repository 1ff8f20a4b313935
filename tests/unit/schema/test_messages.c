/* The messages for values that do not conform: the path, what was expected, and the keyword. Every
 * keyword has at least one row, because a model corrects its call by these messages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <mcp/schema.h>

typedef struct row {
    const char *schema;
    const char *value;
    const char *text; /* NULL if the value conforms */
} row;

static const row rows[] = {
    {"{\"type\":\"object\"}", "[]", "(root): expected object, got array (type)"},
    {"{\"type\":\"integer\"}", "1.5", "(root): expected integer, got number (type)"},
    {"{\"type\":\"integer\"}", "1.0", NULL},
    {"{\"type\":\"integer\"}", "123456789012345678901234567890", NULL},
    {"{\"type\":\"integer\"}", "1e400", NULL},
    {"{\"type\":\"string\"}", "5", "(root): expected string, got integer (type)"},
    {"{\"type\":[\"string\",\"null\",\"integer\"]}", "true",
     "(root): expected string, integer or null, got boolean (type)"},
    {"{\"type\":[\"number\",\"null\"]}", "\"\"",
     "(root): expected number or null, got string (type)"},
    {"{\"const\":{\"a\":1}}", "{\"a\":2}", "(root): expected {\"a\":1} (const)"},
    {"{\"const\":{\"a\":1,\"b\":[1.0]}}", "{\"b\":[1],\"a\":1.0}", NULL},
    {"{\"const\":{\"a\":1,\"b\":2}}", "{\"b\":2,\"c\":1}",
     "(root): expected {\"a\":1,\"b\":2} (const)"},
    {"{\"const\":12345678901234567890123}", "12345678901234567890123", NULL},
    {"{\"const\":12345678901234567890123}", "12345678901234567890124",
     "(root): expected 12345678901234567890123 (const)"},
    {"{\"enum\":[\"a\",1,null]}", "\"b\"", "(root): expected one of \"a\", 1, null (enum)"},
    {"{\"enum\":[\"a\"]}", "\"b\"", "(root): expected \"a\" (enum)"},
    {"{\"minimum\":1}", "0", "(root): expected at least 1, got 0 (minimum)"},
    {"{\"exclusiveMinimum\":1}", "1", "(root): expected more than 1, got 1 (exclusiveMinimum)"},
    {"{\"maximum\":1}", "1.5", "(root): expected at most 1, got 1.5 (maximum)"},
    {"{\"exclusiveMaximum\":1}", "1.0", "(root): expected less than 1, got 1 (exclusiveMaximum)"},
    {"{\"multipleOf\":0.01}", "19.995",
     "(root): expected a multiple of 0.01, got 19.995 (multipleOf)"},
    {"{\"multipleOf\":0.01}", "19.99", NULL},
    {"{\"minLength\":3}", "\"\\u00e9\\u00e9\"",
     "(root): expected at least 3 characters, got 2 (minLength)"},
    {"{\"maxLength\":1}", "\"ab\"", "(root): expected at most 1 character, got 2 (maxLength)"},
    {"{\"maxLength\":2}", "\"\\ud83d\\ude00\\ud83d\\ude00\"", NULL},
    {"{\"pattern\":\"^[0-9]{5}$\"}", "\"1234\\n\"",
     "(root): expected a string that matches ^[0-9]{5}$ (pattern)"},
    {"{\"minItems\":2}", "[1]", "(root): expected at least 2 items, got 1 (minItems)"},
    {"{\"maxItems\":0}", "[1]", "(root): expected at most 0 items, got 1 (maxItems)"},
    {"{\"uniqueItems\":true}", "[1,\"1\",1.0]",
     "(root): expected all items to differ, but items 0 and 2 are equal (uniqueItems)"},
    {"{\"uniqueItems\":true}", "[1,2,3,4,5,6,7,8,9,{\"a\":1,\"b\":2},{\"b\":2.0,\"a\":1}]",
     "(root): expected all items to differ, but items 9 and 10 are equal (uniqueItems)"},
    {"{\"items\":{\"type\":\"string\"}}", "[\"a\",1]", "/1: expected string, got integer (type)"},
    {"{\"prefixItems\":[{\"type\":\"string\"}],\"items\":false}", "[\"a\",1,2]",
     "(root): expected at most 1 items, got 3 (items)"},
    {"{\"contains\":{\"const\":1}}", "[2]",
     "(root): expected an item that matches {\"const\":1} (contains)"},
    {"{\"contains\":{\"const\":1},\"minContains\":2}", "[1]",
     "(root): expected more items that match {\"const\":1} (minContains)"},
    {"{\"contains\":true,\"maxContains\":1}", "[1,2]",
     "(root): expected at most 1 items that match `contains`, got 2 (maxContains)"},
    {"{\"prefixItems\":[true],\"unevaluatedItems\":false}", "[1,2]",
     "/1: nothing is allowed here (unevaluatedItems)"},
    {"{\"minProperties\":1}", "{}",
     "(root): expected at least 1 properties, got 0 (minProperties)"},
    {"{\"maxProperties\":1}", "{\"a\":1,\"b\":1}",
     "(root): expected at most 1 properties, got 2 (maxProperties)"},
    {"{\"required\":[\"a\",\"b\"]}", "{\"b\":1}", "(root): missing property \"a\" (required)"},
    {"{\"properties\":{\"a\":{\"required\":[\"b\"]}}}", "{\"a\":{}}",
     "/a: missing property \"b\" (required)"},
    {"{\"properties\":{\"a/b~\":{\"type\":\"null\"}}}", "{\"a/b~\":0}",
     "/a~1b~0: expected null, got integer (type)"},
    {"{\"properties\":{\"a\":false}}", "{\"a\":0}", "/a: nothing is allowed here (properties)"},
    {"{\"properties\":{\"name\":true,\"age\":true},\"additionalProperties\":false}", "{\"nmae\":1}",
     "/nmae: unknown property \"nmae\"; known are \"name\", \"age\" (additionalProperties)"},
    {"{\"additionalProperties\":{\"type\":\"string\"}}", "{\"x\":1}",
     "/x: expected string, got integer (type)"},
    {"{\"patternProperties\":{\"^x\":{\"type\":\"string\"}}}", "{\"xy\":1,\"y\":1}",
     "/xy: expected string, got integer (type)"},
    {"{\"propertyNames\":{\"maxLength\":1}}", "{\"ab\":1}",
     "/ab: of the property's name: expected at most 1 character, got 2 (maxLength)"},
    {"{\"properties\":{\"a\":true},\"unevaluatedProperties\":false}", "{\"a\":1,\"b\":1}",
     "/b: unknown property \"b\" (unevaluatedProperties)"},
    {"{\"dependentRequired\":{\"a\":[\"b\"]}}", "{\"a\":1}",
     "(root): missing property \"b\", needed beside \"a\" (dependentRequired)"},
    {"{\"dependentSchemas\":{\"a\":{\"maxProperties\":1}}}", "{\"a\":1,\"b\":1}",
     "(root): expected at most 1 properties, got 2 (maxProperties)"},
    {"{\"dependencies\":{\"a\":[\"b\"]}}", "{\"a\":1}",
     "(root): missing property \"b\", needed beside \"a\" (dependencies)"},
    {"{\"allOf\":[true,{\"type\":\"null\"}]}", "1", "(root): expected null, got integer (type)"},
    {"{\"not\":{\"type\":\"integer\"}}", "1",
     "(root): expected not to match {\"type\":\"integer\"} (not)"},
    {"{\"oneOf\":[true,{\"minimum\":0},{\"type\":\"null\"}]}", "1",
     "(root): expected exactly one alternative to match, but number 1 and number 2 of 3 do "
     "(oneOf)"},
    {"{\"anyOf\":[{\"type\":\"string\"},{\"type\":\"null\"}]}", "1",
     "(root): none of the 2 alternatives matches; nearest: expected string, got integer (type) "
     "(anyOf)"},
    {"{\"if\":{\"type\":\"integer\"},\"then\":{\"minimum\":5},\"else\":{\"type\":\"null\"}}", "1",
     "(root): expected at least 5, got 1 (minimum)"},
    {"{\"if\":{\"type\":\"integer\"},\"then\":{\"minimum\":5},\"else\":false}", "\"\"",
     "(root): nothing is allowed here (else)"},
    {"{\"$ref\":\"#/$defs/a\",\"$defs\":{\"a\":{\"type\":\"null\"}}}", "1",
     "(root): expected null, got integer (type)"},
    {"false", "1", "(root): nothing is allowed here (false)"},
    {"true", "1", NULL},
    {"{}", "1", NULL},
    /* the best branch is reported: the one of the right type, and the one that matched deepest */
    {"{\"oneOf\":[{\"properties\":{\"k\":{\"const\":\"a\"},\"v\":{\"type\":\"string\"}}},"
     "{\"properties\":{\"k\":{\"const\":\"b\"},\"v\":{\"type\":\"integer\"}}}]}",
     "{\"k\":\"b\",\"v\":true}",
     "(root): none of the 2 alternatives matches; nearest: /v: expected integer, got boolean "
     "(type) (oneOf)"},
    {"{\"properties\":{\"p\":{\"anyOf\":[{\"type\":\"string\"},"
     "{\"type\":\"array\",\"items\":{\"type\":\"string\"}}]}}}",
     "{\"p\":[\"a\",1]}",
     "/p: none of the 2 alternatives matches; nearest: /1: expected string, got integer (type) "
     "(anyOf)"},
    {"{\"anyOf\":[{\"type\":\"null\"}]}", "1", "(root): expected null, got integer (type) (anyOf)"},
    /* control characters of a value are escaped */
    {"{\"additionalProperties\":false}", "{\"\\u001b[31m\\u0085\":1}",
     "/?[31m??: unknown property \"?[31m??\" (additionalProperties)"},
};

static void test_messages(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        mcp_schema *schema = NULL;
        mcp_json_doc *doc = NULL;
        mcp_error error = {0};
        if (mcp_schema_compile_text(NULL, mcp_str_from(rows[i].schema), NULL, &schema, &error))
            fail_msg("%s: %s", rows[i].schema, error.text);
        assert_int_equal(mcp_json_parse(mcp_str_from(rows[i].value), NULL, NULL, &doc, NULL),
                         MCP_OK);
        int rc = mcp_schema_validate(schema, mcp_json_root(doc), &error);
        if (rc != (rows[i].text ? MCP_EINVAL : MCP_OK))
            fail_msg("%s with %s: %d %s", rows[i].schema, rows[i].value, rc, error.text);
        if (rows[i].text)
            assert_string_equal(error.text, rows[i].text);
        assert_int_equal(mcp_schema_validate(schema, mcp_json_root(doc), NULL), rc);
        mcp_json_free(doc);
        mcp_schema_free(schema);
    }
}

/* ---- all reasons ----------------------------------------------------------------------------- */

typedef struct collected {
    size_t count;
    char text[1024];
} collected;

static void collect(const mcp_schema_issue *issue, void *user)
{
    collected *c = user;
    size_t at = strlen(c->text);
    c->count++;
    snprintf(c->text + at, sizeof(c->text) - at, "%.*s|%.*s|%.*s|%.*s\n", (int)issue->path.len,
             issue->path.ptr, (int)issue->keyword.len, issue->keyword.ptr, (int)issue->expected.len,
             issue->expected.ptr, (int)issue->schema_at.len, issue->schema_at.ptr);
}

static int validate_all(const char *text, const char *value, size_t max, collected *c,
                        mcp_error *error)
{
    mcp_schema *schema = NULL;
    mcp_json_doc *doc = NULL;
    assert_int_equal(mcp_schema_compile_text(NULL, mcp_str_from(text), NULL, &schema, error),
                     MCP_OK);
    assert_int_equal(mcp_json_parse(mcp_str_from(value), NULL, NULL, &doc, NULL), MCP_OK);
    int rc = mcp_schema_validate_all(schema, mcp_json_root(doc), max, collect, c, error);
    mcp_json_free(doc);
    mcp_schema_free(schema);
    return rc;
}

static const char *const everything =
    "{\"$id\":\"https://example.com/s\",\"required\":[\"x\",\"y\"],\"properties\":{\"a\":{\"type\":"
    "\"string\",\"enum\":[\"p\"]},\"b\":{\"items\":{\"minimum\":3}},"
    "\"c\":{\"oneOf\":[{\"type\":\"null\"},{\"type\":\"array\"}]}},\"additionalProperties\":false}";

static void test_all_reasons(void **state)
{
    collected c = {0};
    mcp_error error = {0};
    (void)state;
    assert_int_equal(
        validate_all(everything, "{\"a\":1,\"b\":[2,3,1],\"c\":1,\"d\":1}", 0, &c, &error),
        MCP_EINVAL);
    assert_string_equal(error.text, "/a: expected string, got integer (type)");
    assert_string_equal(
        c.text,
        "/a|type|expected string, got integer|https://example.com/s#/properties/a/type\n"
        "/a|enum|expected \"p\"|https://example.com/s#/properties/a/enum\n"
        "/b/0|minimum|expected at least 3, got "
        "2|https://example.com/s#/properties/b/items/minimum\n"
        "/b/2|minimum|expected at least 3, got "
        "1|https://example.com/s#/properties/b/items/minimum\n"
        "/c|oneOf|none of the 2 alternatives matches; nearest: expected null, got integer (type)|"
        "https://example.com/s#/properties/c/oneOf\n"
        "/d|additionalProperties|unknown property \"d\"; known are \"a\", \"b\", \"c\"|"
        "https://example.com/s#/additionalProperties\n"
        "|required|missing property \"x\"|https://example.com/s#/required\n"
        "|required|missing property \"y\"|https://example.com/s#/required\n");
}

static void test_only_so_many(void **state)
{
    collected c = {0};
    mcp_error error = {0};
    (void)state;
    assert_int_equal(
        validate_all(everything, "{\"a\":1,\"b\":[2,3,1],\"c\":1,\"d\":1}", 3, &c, &error),
        MCP_EINVAL);
    assert_int_equal(c.count, 3);
    memset(&c, 0, sizeof(c));
    assert_int_equal(validate_all(everything, "{\"x\":1}", 0, &c, NULL), MCP_EINVAL);
    assert_int_equal(c.count, 2);
    memset(&c, 0, sizeof(c));
    assert_int_equal(validate_all("{\"not\":{\"not\":{\"type\":\"null\"}}}", "null", 0, &c, NULL),
                     MCP_OK);
    assert_int_equal(c.count, 0);
}

/* A path that is too long is truncated at its beginning, because its end is more useful. */
static void test_long_path(void **state)
{
    char value[2000] = "",
         schema[] = "{\"$defs\":{\"n\":{\"additionalProperties\":{\"$ref\":\"#/$defs/n\"},"
                    "\"type\":\"object\"}},\"$ref\":\"#/$defs/n\"}";
    collected c = {0};
    mcp_error error = {0};
    (void)state;
    for (int i = 0; i < 20; i++)
        strcat(value, "{\"a rather long name\":");
    strcat(value, "5");
    for (int i = 0; i < 20; i++)
        strcat(value, "}");
    assert_int_equal(validate_all(schema, value, 0, &c, &error), MCP_EINVAL);
    assert_non_null(strstr(error.text, ".../a rather long name/a rather long name"));
    assert_non_null(strstr(error.text, "name: expected object, got integer (type)"));
    assert_true(strncmp(c.text, "/a rather long name/", 20) == 0);
    assert_true(strlen(c.text) > 20 * 19);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_messages),
        cmocka_unit_test(test_all_reasons),
        cmocka_unit_test(test_only_so_many),
        cmocka_unit_test(test_long_path),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
