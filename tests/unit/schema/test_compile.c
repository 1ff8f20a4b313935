/* Valid and invalid schemas, with the position of the error; documents by URI; dialects. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <mcp/schema.h>

static const char old_draft[] = "http://json-schema.org/draft-07/schema#";

typedef struct refusal {
    const char *schema;
    int code;
    const char *text;
} refusal;

#define D7 "{\"$schema\":\"http://json-schema.org/draft-07/schema#\","

static const refusal refusals[] = {
    {"", MCP_EPARSE, "no text"},
    {"{", MCP_EPARSE, "invalid JSON"},
    {"5", MCP_EINVAL, "a schema is an object or a boolean, not integer"},
    {"{\"type\":\"strnig\"}", MCP_EINVAL, "#/type: a type is one of"},
    {"{\"type\":[]}", MCP_EINVAL, "#/type: the list of types is empty"},
    {"{\"type\":{}}", MCP_EINVAL, "#/type: "},
    {"{\"properties\":{\"a b\":{\"type\":5}}}", MCP_EINVAL, "#/properties/a b/type: "},
    {"{\"properties\":{\"a\":5}}", MCP_EINVAL,
     "#/properties: a schema is an object or a boolean, not integer"},
    {"{\"properties\":[]}", MCP_EINVAL, "#/properties: an object of schemas is needed"},
    {"{\"items\":[{}]}", MCP_EINVAL,
     "#/items: one schema is needed; a list of them is prefixItems"},
    {"{\"prefixItems\":{}}", MCP_EINVAL, "#/prefixItems: an array of schemas is needed"},
    {"{\"allOf\":[]}", MCP_EINVAL, "#/allOf: at least one schema is needed"},
    {"{\"anyOf\":[{},{\"not\":1}]}", MCP_EINVAL, "#/anyOf/1/not: a schema is"},
    {"{\"enum\":1}", MCP_EINVAL, "#/enum: an array is needed"},
    {"{\"required\":[1]}", MCP_EINVAL, "#/required: an array of strings is needed"},
    {"{\"required\":true}", MCP_EINVAL, "#/required: an array of strings is needed"},
    {"{\"minimum\":\"1\"}", MCP_EINVAL, "#/minimum: a number is needed"},
    {"{\"exclusiveMinimum\":true}", MCP_EINVAL, "#/exclusiveMinimum: a number is needed"},
    {"{\"multipleOf\":0}", MCP_EINVAL, "#/multipleOf: a number above 0 is needed"},
    {"{\"multipleOf\":-1}", MCP_EINVAL, "#/multipleOf: a number above 0 is needed"},
    {"{\"multipleOf\":123456789012345678901}", MCP_EUNSUPPORTED,
     "#/multipleOf: more than 19 digits"},
    {"{\"minLength\":-1}", MCP_EINVAL, "#/minLength: a non-negative integer is needed"},
    {"{\"maxItems\":1.5}", MCP_EINVAL, "#/maxItems: a non-negative integer is needed"},
    {"{\"contains\":true,\"minContains\":\"\"}", MCP_EINVAL,
     "#/minContains: a non-negative integer"},
    {"{\"uniqueItems\":1}", MCP_EINVAL, "#/uniqueItems: true or false is needed"},
    {"{\"pattern\":1}", MCP_EINVAL, "#/pattern: a string is needed"},
    {"{\"pattern\":\"(\"}", MCP_EINVAL,
     "#/pattern: the pattern ( is invalid: missing closing parenthesis"},
    {"{\"pattern\":\"(*LIMIT_MATCH=1)a\"}", MCP_EINVAL,
     "#/pattern: the pattern has nothing to repeat"},
    {"{\"pattern\":\"(?C1)a\"}", MCP_EINVAL, "#/pattern: the pattern has a callout"},
    {"{\"pattern\":\"\\\\Qa\"}", MCP_EINVAL, "#/pattern: the pattern has the unknown escape \\Q"},
    {"{\"patternProperties\":{\"[\":true}}", MCP_EINVAL,
     "#/patternProperties: the pattern [ is invalid"},
    {"{\"format\":1}", MCP_EINVAL, "#/format: a string is needed"},
    {"{\"dependentRequired\":{\"a\":1}}", MCP_EINVAL,
     "#/dependentRequired: each member is an array"},
    {"{\"dependentRequired\":1}", MCP_EINVAL, "#/dependentRequired: an object is needed"},
    {"{\"dependencies\":{\"a\":[1]}}", MCP_EINVAL, "#/dependencies: each member is an array"},
    {"{\"$ref\":1}", MCP_EINVAL, "#/$ref: a string is needed"},
    {"{\"$dynamicRef\":1}", MCP_EINVAL, "#/$dynamicRef: a string is needed"},
    {"{\"$ref\":\"#/$defs/a\"}", MCP_ENOTFOUND, "#/$ref: the target \"#/$defs/a\" does not exist"},
    {"{\"$ref\":\"#a\"}", MCP_ENOTFOUND, "#/$ref: the target \"#a\" does not exist"},
    {"{\"$ref\":\"#/%zz\"}", MCP_ENOTFOUND, "#/$ref: the target \"#/%zz\" does not exist"},
    {"{\"$ref\":\"#/allOf/1\",\"allOf\":[true]}", MCP_ENOTFOUND, "does not exist"},
    {"{\"$ref\":\"#/const\",\"const\":5}", MCP_EINVAL, "a schema is an object or a boolean"},
    {"{\"$ref\":\"https://example.com/x\"}", MCP_ENOTFOUND,
     "does not exist; documents are not fetched but must be registered"},
    {"{\"$defs\":{\"unused\":{\"$ref\":\"x\"}}}", MCP_ENOTFOUND,
     "#/$defs/unused/$ref: the target \"x\" does not exist"},
    {"{\"$id\":1}", MCP_EINVAL, "#/$id: a string is needed"},
    {"{\"$id\":\"a#b\"}", MCP_EINVAL, "#/$id: a fragment is not allowed; use $anchor"},
    {"{\"$anchor\":\"#b\"}", MCP_EINVAL, "#/$anchor: an anchor is a plain name"},
    {"{\"$anchor\":\"b\",\"not\":{\"$anchor\":\"b\"}}", MCP_EEXIST,
     "#/not/$anchor: the anchor \"b\" is defined twice"},
    {"{\"$defs\":{\"a\":{\"$id\":\"u:x\"},\"b\":{\"$id\":\"u:x\"}}}", MCP_EEXIST,
     "the URI \"u:x\" is defined twice"},
    {"{\"$schema\":5}", MCP_EINVAL, "#/$schema: a string is needed"},
    {"{\"$schema\":\"https://json-schema.org/draft/2019-09/schema\"}", MCP_EUNSUPPORTED,
     "the dialect \"https://json-schema.org/draft/2019-09/schema\" is not known"},
    {"{\"$defs\":{\"a\":{\"$id\":\"u:x\",\"$schema\":\"u:y\"}}}", MCP_EUNSUPPORTED,
     "the dialect \"u:y\" is not known"},
    {D7 "\"items\":[5]}", MCP_EINVAL, "#/items: a schema is an object or a boolean"},
    {D7 "\"definitions\":{\"a\":{\"not\":5}}}", MCP_EINVAL, "#/definitions/a/not: a schema is"},
};

static void test_refusals(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
        mcp_schema *schema = NULL;
        mcp_error error = {0};
        int rc =
            mcp_schema_compile_text(NULL, mcp_str_from(refusals[i].schema), NULL, &schema, &error);
        if (rc != refusals[i].code || !strstr(error.text, refusals[i].text))
            fail_msg("%s: %d %s", refusals[i].schema, rc, error.text);
        assert_null(schema);
        assert_int_equal(error.code, rc);
        assert_int_equal(
            mcp_schema_compile_text(NULL, mcp_str_from(refusals[i].schema), NULL, &schema, NULL),
            rc);
    }
}

static void test_wrong_arguments(void **state)
{
    mcp_schema *schema = NULL;
    mcp_schema_set *set = NULL;
    mcp_error error;
    (void)state;
    assert_int_equal(mcp_schema_compile_text(NULL, MCP_STR("{}"), NULL, NULL, NULL), MCP_EINVAL);
    assert_int_equal(mcp_schema_compile(NULL, NULL, NULL, &schema, &error), MCP_EINVAL);
    assert_int_equal(mcp_schema_validate(NULL, NULL, &error), MCP_EINVAL);
    assert_int_equal(mcp_schema_set_new(NULL, NULL), MCP_EINVAL);
    assert_int_equal(mcp_schema_set_add(NULL, MCP_STR("u:x"), MCP_STR("{}"), NULL), MCP_EINVAL);
    assert_int_equal(mcp_schema_set_new(NULL, &set), MCP_OK);
    assert_int_equal(mcp_schema_set_add(set, MCP_STR(""), MCP_STR("{}"), NULL), MCP_EINVAL);
    assert_int_equal(mcp_schema_set_add(set, MCP_STR("u:x#a"), MCP_STR("{}"), NULL), MCP_EINVAL);
    assert_int_equal(mcp_schema_set_add(set, MCP_STR("u:x"), MCP_STR("{"), NULL), MCP_EPARSE);
    assert_int_equal(mcp_schema_set_add(set, MCP_STR("u:x#"), MCP_STR("{}"), NULL), MCP_OK);
    assert_int_equal(mcp_schema_set_add(set, MCP_STR("u:x"), MCP_STR("{}"), NULL), MCP_EEXIST);
    mcp_schema_set_free(set);
    mcp_schema_set_free(NULL);
    mcp_schema_free(NULL);
}

/* ---- whether a value conforms ---------------------------------------------------------------- */

static int run(const mcp_schema_set *set, const char *text, const mcp_schema_options *options,
               const char *value)
{
    mcp_schema *schema = NULL;
    mcp_json_doc *doc = NULL;
    mcp_error error = {0};
    int rc = mcp_schema_compile_text(set, mcp_str_from(text), options, &schema, &error);
    if (rc)
        fail_msg("%s: %s", text, error.text);
    assert_int_equal(mcp_json_parse(mcp_str_from(value), NULL, NULL, &doc, NULL), MCP_OK);
    rc = mcp_schema_validate(schema, mcp_json_root(doc), &error);
    mcp_json_free(doc);
    mcp_schema_free(schema);
    return rc;
}

/* The same schema means different things in the two drafts. */
static void test_drafts(void **state)
{
    const mcp_schema_options old = {.size = sizeof(old), .dialect = MCP_SCHEMA_DRAFT_07};
    const char *sibling =
        "{\"$ref\":\"#/definitions/a\",\"type\":\"null\",\"definitions\":{\"a\":true}}";
    char text[400];
    (void)state;
    assert_int_equal(run(NULL, sibling, NULL, "1"), MCP_EINVAL);
    assert_int_equal(run(NULL, sibling, &old, "1"), MCP_OK);
    /* $schema takes precedence over the option */
    snprintf(text, sizeof(text), "{\"$schema\":\"%s\",%s", old_draft, sibling + 1);
    assert_int_equal(run(NULL, text, NULL, "1"), MCP_OK);
    assert_int_equal(
        run(NULL, "{\"items\":[{\"type\":\"null\"}],\"additionalItems\":false}", &old, "[null,1]"),
        MCP_EINVAL);
    assert_int_equal(run(NULL, "{\"dependentRequired\":{\"a\":[\"b\"]}}", &old, "{\"a\":1}"),
                     MCP_OK);
    assert_int_equal(run(NULL, "{\"minContains\":0,\"contains\":false}", &old, "[]"), MCP_EINVAL);
    assert_int_equal(run(NULL, "{\"minContains\":0,\"contains\":false}", NULL, "[]"), MCP_OK);
    /* a resource inside a document of another draft */
    assert_int_equal(
        run(NULL,
            "{\"$defs\":{\"o\":{\"$id\":\"u:o\",\"$schema\":"
            "\"http://json-schema.org/draft-07/schema#\",\"items\":[false]}},\"$ref\":\"u:o\"}",
            NULL, "[1]"),
        MCP_EINVAL);
}

static void test_metaschemas(void **state)
{
    static const char *const uris[] = {"http://json-schema.org/draft-07/schema#",
                                       "https://json-schema.org/draft/2020-12/schema"};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        char text[200];
        snprintf(text, sizeof(text), "{\"$ref\":\"%s\"}", uris[i]);
        assert_int_equal(run(NULL, text, NULL, "{\"properties\":{\"a\":{\"type\":\"string\"}}}"),
                         MCP_OK);
        assert_int_equal(run(NULL, text, NULL, "{\"properties\":{\"a\":{\"type\":\"strnig\"}}}"),
                         MCP_EINVAL);
        assert_int_equal(run(NULL, text, NULL, "{\"required\":[\"a\",\"a\"]}"), MCP_EINVAL);
        assert_int_equal(run(NULL, text, NULL, "{\"allOf\":[{\"minLength\":-1}]}"), MCP_EINVAL);
        snprintf(text, sizeof(text), "{\"$schema\":\"%s\",\"$ref\":\"%s\"}", uris[i], uris[i]);
        assert_int_equal(run(NULL, text, NULL, text), MCP_OK);
    }
}

static void test_set(void **state)
{
    mcp_schema_set *set = NULL;
    (void)state;
    assert_int_equal(mcp_schema_set_new(NULL, &set), MCP_OK);
    assert_int_equal(
        mcp_schema_set_add(
            set, MCP_STR("https://example.com/dir/a.json"),
            MCP_STR("{\"$id\":\"urn:other\",\"$ref\":\"https://example.com/dir/b.json#/x/y\"}"),
            NULL),
        MCP_OK);
    assert_int_equal(mcp_schema_set_add(set, MCP_STR("https://example.com/dir/b.json"),
                                        MCP_STR("{\"x\":{\"y\":{\"$ref\":\"sub/c.json\"}}}"), NULL),
                     MCP_OK);
    assert_int_equal(
        mcp_schema_set_add(
            set, MCP_STR("https://example.com/dir/sub/c.json"),
            MCP_STR("{\"type\":\"null\",\"$defs\":{\"z\":{\"$id\":\"urn:deep\",\"const\":1}}}"),
            NULL),
        MCP_OK);
    assert_int_equal(run(set, "{\"$ref\":\"https://example.com/dir/a.json\"}", NULL, "null"),
                     MCP_OK);
    assert_int_equal(run(set, "{\"$ref\":\"https://example.com/dir/a.json\"}", NULL, "1"),
                     MCP_EINVAL);
    assert_int_equal(run(set, "{\"$ref\":\"urn:other\"}", NULL, "1"), MCP_EINVAL);
    assert_int_equal(run(set, "{\"$ref\":\"urn:deep\"}", NULL, "1"), MCP_OK);
    assert_int_equal(run(set, "{\"$ref\":\"urn:deep\"}", NULL, "2"), MCP_EINVAL);
    mcp_schema_options options = {.size = sizeof(options),
                                  .base_uri = "https://example.com/dir/x/y?q#f"};
    assert_int_equal(run(set, "{\"$ref\":\"../a.json\"}", &options, "1"), MCP_EINVAL);
    assert_int_equal(run(set, "{\"$ref\":\"/./dir/x/../sub/c.json\"}", &options, "1"), MCP_EINVAL);
    assert_int_equal(run(set, "{\"$ref\":\"//example.com/dir/sub/c.json\"}", &options, "1"),
                     MCP_EINVAL);
    /* an anchor in a document, by the document's URI and by its own $id */
    assert_int_equal(mcp_schema_set_add(set, MCP_STR("u:here"),
                                        MCP_STR("{\"$id\":\"u:own\",\"not\":{\"$anchor\":\"z\"}}"),
                                        NULL),
                     MCP_OK);
    assert_int_equal(run(set, "{\"$ref\":\"u:here#z\"}", NULL, "1"), MCP_OK);
    assert_int_equal(run(set, "{\"$ref\":\"u:own#z\"}", NULL, "1"), MCP_OK);
    /* the schema's own resources take precedence */
    assert_int_equal(
        run(set, "{\"$ref\":\"urn:deep\",\"$defs\":{\"m\":{\"$id\":\"urn:deep\"}}}", NULL, "2"),
        MCP_OK);
    mcp_schema_set_free(set);
}

/* An invalid document in the set affects only schemas that refer to it. */
static void test_bad_document(void **state)
{
    mcp_schema_set *set = NULL;
    mcp_schema *schema = NULL;
    mcp_error error = {0};
    (void)state;
    assert_int_equal(mcp_schema_set_new(NULL, &set), MCP_OK);
    assert_int_equal(mcp_schema_set_add(set, MCP_STR("u:a"),
                                        MCP_STR("{\"$defs\":{\"bad\":{\"type\":1},\"good\":true}}"),
                                        NULL),
                     MCP_OK);
    assert_int_equal(run(set, "{}", NULL, "1"), MCP_OK);
    assert_int_equal(run(set, "{\"$ref\":\"u:a#/$defs/good\"}", NULL, "1"), MCP_OK);
    assert_int_equal(mcp_schema_compile_text(set, MCP_STR("{\"$ref\":\"u:a#/$defs/bad\"}"), NULL,
                                             &schema, &error),
                     MCP_EINVAL);
    assert_non_null(strstr(error.text, "u:a#/$defs/bad/type"));
    mcp_schema_set_free(set);
}

#define VOCAB "https://json-schema.org/draft/2020-12/vocab/"

static void test_vocabularies(void **state)
{
    mcp_schema_set *set = NULL;
    mcp_schema *schema = NULL;
    mcp_error error = {0};
    (void)state;
    assert_int_equal(mcp_schema_set_new(NULL, &set), MCP_OK);
    assert_int_equal(mcp_schema_set_add(set, MCP_STR("u:unknown"),
                                        MCP_STR("{\"$vocabulary\":{\"u:mine\":true}}"), NULL),
                     MCP_OK);
    assert_int_equal(mcp_schema_set_add(set, MCP_STR("u:optional"),
                                        MCP_STR("{\"$vocabulary\":{\"u:mine\":false,\"" VOCAB
                                                "validation\":true}}"),
                                        NULL),
                     MCP_OK);
    assert_int_equal(mcp_schema_set_add(set, MCP_STR("u:derived"),
                                        MCP_STR("{\"$schema\":\"u:optional\"}"), NULL),
                     MCP_OK);
    assert_int_equal(
        mcp_schema_set_add(set, MCP_STR("u:itself"), MCP_STR("{\"$schema\":\"u:itself\"}"), NULL),
        MCP_OK);
    assert_int_equal(
        mcp_schema_set_add(set, MCP_STR("u:formats"),
                           MCP_STR("{\"$vocabulary\":{\"" VOCAB "format-assertion\":true}}"), NULL),
        MCP_OK);
    assert_int_equal(
        mcp_schema_compile_text(set, MCP_STR("{\"$schema\":\"u:unknown\"}"), NULL, &schema, &error),
        MCP_EUNSUPPORTED);
    assert_non_null(strstr(error.text, "the vocabulary \"u:mine\" is required and not known"));
    assert_int_equal(
        mcp_schema_compile_text(set, MCP_STR("{\"$schema\":\"u:itself\"}"), NULL, &schema, &error),
        MCP_EUNSUPPORTED);
    /* without applicators `not` has no effect */
    assert_int_equal(
        run(set, "{\"$schema\":\"u:optional\",\"type\":\"null\",\"not\":true}", NULL, "null"),
        MCP_OK);
    assert_int_equal(
        run(set, "{\"$schema\":\"u:derived\",\"type\":\"null\",\"not\":true}", NULL, "1"),
        MCP_EINVAL);
    assert_int_equal(run(set, "{\"$schema\":\"u:formats\",\"format\":\"ipv4\"}", NULL, "\"x\""),
                     MCP_EINVAL);
    assert_int_equal(run(set, "{\"format\":\"ipv4\"}", NULL, "\"x\""), MCP_OK);
    mcp_schema_set_free(set);
}

/* From a parsed value, including its numbers; the value may be freed afterwards. */
static void test_from_value(void **state)
{
    mcp_json_doc *doc = NULL;
    mcp_schema *schema = NULL;
    mcp_schema_options small = {.size = sizeof(small), .max_bytes = 10};
    mcp_error error = {0};
    (void)state;
    assert_int_equal(
        mcp_json_parse(
            MCP_STR("[{\"enum\":[123456789012345678901,0.1]},123456789012345678901,0.2]"), NULL,
            NULL, &doc, NULL),
        MCP_OK);
    const mcp_json *all = mcp_json_root(doc);
    assert_int_equal(mcp_schema_compile(NULL, mcp_json_at(all, 0), &small, &schema, &error),
                     MCP_ELIMIT);
    assert_int_equal(mcp_schema_compile(NULL, mcp_json_at(all, 0), NULL, &schema, &error), MCP_OK);
    assert_int_equal(mcp_schema_validate(schema, mcp_json_at(all, 1), NULL), MCP_OK);
    assert_int_equal(mcp_schema_validate(schema, mcp_json_at(all, 2), NULL), MCP_EINVAL);
    mcp_json_free(doc);
    assert_int_equal(mcp_json_parse(MCP_STR("0.1"), NULL, NULL, &doc, NULL), MCP_OK);
    assert_int_equal(mcp_schema_validate(schema, mcp_json_root(doc), NULL), MCP_OK);
    mcp_json_free(doc);
    mcp_schema_free(schema);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refusals),     cmocka_unit_test(test_wrong_arguments),
        cmocka_unit_test(test_drafts),       cmocka_unit_test(test_metaschemas),
        cmocka_unit_test(test_set),          cmocka_unit_test(test_bad_document),
        cmocka_unit_test(test_vocabularies), cmocka_unit_test(test_from_value),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
