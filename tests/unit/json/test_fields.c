/* Tables of fields: their schema, a struct from JSON and JSON from a struct. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "json/json.h"

typedef struct trip {
    mcp_str to;
    int64_t days;
    double weight;
    bool back;
} trip;

static const mcp_field fields[] = {
    MCP_STRING_FIELD(trip, to, .description = "Where \"to\"", .one_of = "sea|hills",
                     .required = true),
    MCP_INT_FIELD(trip, days, .title = "Days", .minimum = 1, .maximum = 30),
    MCP_NUMBER_FIELD(trip, weight, .minimum = 0.5, .maximum = 1.5),
    MCP_BOOL_FIELD(trip, back, .required = true),
};

static void expect(mcp_json_writer *w, const char *wanted)
{
    mcp_str text;
    assert_int_equal(mcp_json_writer_finish(w, &text), MCP_OK);
    assert_int_equal(text.len, strlen(wanted));
    assert_memory_equal(text.ptr, wanted, text.len);
    mcp_json_writer_free(w);
}

static void test_schema(void **state)
{
    (void)state;
    mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
    mcp_fields_schema(fields, 4, w);
    expect(w, "{\"type\":\"object\",\"properties\":{"
              "\"to\":{\"type\":\"string\",\"description\":\"Where "
              "\\\"to\\\"\",\"enum\":[\"sea\",\"hills\"]},"
              "\"days\":{\"type\":\"integer\",\"title\":\"Days\",\"minimum\":1,\"maximum\":30},"
              "\"weight\":{\"type\":\"number\",\"minimum\":0.5,\"maximum\":1.5},"
              "\"back\":{\"type\":\"boolean\"}},\"required\":[\"to\",\"back\"],"
              "\"additionalProperties\":false}");
    w = mcp_json_writer_new(NULL, 0);
    mcp__fields_schema(
        &(mcp_field){.size = sizeof(mcp_field), .name = "a", .max_length = 3, .one_of = ""}, 1,
        false, w);
    expect(w, "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\",\"enum\":[\"\"],"
              "\"maxLength\":3}},\"required\":[]}");
}

static void read_text(const char *json, trip *t)
{
    static mcp_json_doc *doc; /* its strings are borrowed */
    mcp_json_free(doc);
    doc = NULL;
    assert_int_equal(mcp_json_parse(mcp_str_from(json), NULL, NULL, &doc, NULL), MCP_OK);
    mcp_fields_read(fields, 4, mcp_json_root(doc), t);
    if (strcmp(json, "{}") == 0) {
        mcp_json_free(doc);
        doc = NULL;
    }
}

static void test_read(void **state)
{
    (void)state;
    trip t = {.days = 7, .weight = 2};
    read_text("{\"to\":\"sea\",\"days\":9007199254740993,\"weight\":1,\"back\":true}", &t);
    assert_true(mcp_str_eq(t.to, MCP_STR("sea")));
    assert_int_equal(t.days, 9007199254740993);
    assert_true(t.weight == 1);
    assert_true(t.back);
    /* What is missing or of another type stays. */
    t = (trip){.days = 7, .weight = 2, .back = true};
    read_text("{\"to\":5,\"days\":\"x\",\"weight\":null,\"back\":1}", &t);
    assert_null(t.to.ptr);
    assert_int_equal(t.days, 7);
    assert_true(t.weight == 2 && t.back);
    read_text("{}", &t);
    mcp_fields_read(fields, 4, NULL, &t);
    assert_int_equal(t.days, 7);
}

static void test_write(void **state)
{
    (void)state;
    const trip t = {MCP_STR("a\"b"), -1, 0.25, true}, empty = {.days = 0};
    mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
    mcp_fields_write(fields, 4, &t, w);
    expect(w, "{\"to\":\"a\\\"b\",\"days\":-1,\"weight\":0.25,\"back\":true}");
    w = mcp_json_writer_new(NULL, 0);
    mcp_fields_write(fields, 4, &empty, w);
    expect(w, "{\"days\":0,\"weight\":0,\"back\":false}");
    mcp_fields_write(fields, 4, &t, NULL); /* a writer without memory */
    mcp_fields_schema(fields, 4, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_schema),
        cmocka_unit_test(test_read),
        cmocka_unit_test(test_write),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
