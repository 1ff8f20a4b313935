/* A form: the schema's defaults for missing values, and whether the result conforms to the schema. */
#include "fake_server.h"

#include "client/client.h"

#define FIELDS                                                                               \
    "{\"type\":\"object\",\"properties\":{"                                                  \
    "\"name\":{\"type\":\"string\",\"default\":\"John Doe\"},"                               \
    "\"age\":{\"type\":\"integer\",\"default\":30},"                                         \
    "\"score\":{\"type\":\"number\",\"default\":95.5},"                                      \
    "\"status\":{\"type\":\"string\",\"enum\":[\"active\",\"off\"],\"default\":\"active\"}," \
    "\"verified\":{\"type\":\"boolean\",\"default\":true}}}"

static const struct {
    const char *schema, *content, *expected; /* expected is NULL if content does not conform */
} lines[] = {
    {FIELDS, "{}",
     "{\"name\":\"John Doe\",\"age\":30,\"score\":95.5,\"status\":\"active\",\"verified\":true}"},
    {FIELDS, "{\"age\":1,\"verified\":false}",
     "{\"age\":1,\"verified\":false,\"name\":\"John Doe\",\"score\":95.5,\"status\":\"active\"}"},
    {FIELDS, "{\"status\":\"on\"}", NULL},
    {FIELDS, "{\"age\":1.5}", NULL},
    {FIELDS, "{\"age\":null}", NULL},
    {FIELDS, "{\"more\":1}",
     "{\"more\":1,\"name\":\"John Doe\",\"age\":30,\"score\":95.5,\"status\":\"active\","
     "\"verified\":true}"},
    {"{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"}},\"required\":[\"a\"]}",
     "{}", NULL},
    {"{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\",\"default\":\"\"}},"
     "\"required\":[\"a\"]}",
     "{}", "{\"a\":\"\"}"},
    {"{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"array\",\"items\":{\"anyOf\":[{"
     "\"const\":\"x\",\"title\":\"X\"}]},\"default\":[\"x\"]}}}",
     "{}", "{\"a\":[\"x\"]}"},
    {"{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\",\"oneOf\":[{\"const\":\"x\"}]"
     "}}}",
     "{\"a\":\"y\"}", NULL},
    {"{\"type\":\"object\",\"properties\":{\"m\":{\"type\":\"string\",\"format\":\"email\"}}}",
     "{\"m\":\"nobody\"}", NULL},
    /* null stands for a missing value, because an answer cannot contain null */
    {"{\"properties\":{\"a\":{\"default\":null},\"b\":{\"default\":1}}}", "{}", "{\"b\":1}"},
    /* a schema that cannot be compiled validates nothing, but its visible defaults are used */
    {"{}", "{\"a\":1}", "{\"a\":1}"},
    {"{\"properties\":7}", "{}", "{}"},
    {"{\"properties\":{\"a\":7,\"b\":{\"default\":1}}}", "{}", "{\"b\":1}"},
    {"{\"type\":\"strange\"}", "{}", "{}"},
    {"{\"$schema\":\"http://a.example/dialect\",\"type\":\"string\"}", "{}", "{}"},
    {"{}", "[]", NULL},
    {"{}", "7", NULL},
};

static void fill(size_t i, const mcp_allocator *a, mcp_json_doc *schema, mcp_json_doc *content)
{
    mcp_error error = {0};
    mcp__buf b;
    mcp__buf_init(&b, a, 0);
    int rc = mcp__form_fill(mcp_json_root(schema), mcp_json_root(content), a, &b, &error);
    if (a == &mcp__default_allocator || rc != MCP_ENOMEM) {
        assert_int_equal(rc, lines[i].expected ? MCP_OK : MCP_EINVAL);
        if (lines[i].expected)
            assert_true(mcp_str_eq(mcp__buf_view(&b), mcp_str_from(lines[i].expected)));
        else
            assert_true(error.text[0] != 0);
    }
    mcp__buf_free(&b);
}

static void test_fill(void **state)
{
    (void)state;
    for (size_t i = 0; i < MCP__COUNT(lines); i++) {
        mcp_json_doc *schema = NULL, *content = NULL;
        mcp_json_parse(mcp_str_from(lines[i].schema), NULL, NULL, &schema, NULL);
        mcp_json_parse(mcp_str_from(lines[i].content), NULL, NULL, &content, NULL);
        fill(i, &mcp__default_allocator, schema, content);
        for (size_t n = 1;; n++) {
            failalloc f = {.fail_at = n};
            mcp_allocator a = failalloc_allocator(&f);
            fill(i, &a, schema, content);
            assert_int_equal(f.live, 0);
            if (f.calls < n)
                break;
        }
        mcp_json_free(schema);
        mcp_json_free(content);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_fill)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
