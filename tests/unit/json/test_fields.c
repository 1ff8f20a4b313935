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

/* All that conforms to the schema is read: an integer has the bounds of int64_t, however it is written. */
static void test_integers(void **state)
{
    static const struct {
        const char *json;
        int64_t days;
    } rows[] = {
        {"{\"days\":-9223372036854775808}", INT64_MIN},
        {"{\"days\":9223372036854775807}", INT64_MAX},
        {"{\"days\":1e17}", 100000000000000000},
        {"{\"days\":-9.223372036854775808e18}", INT64_MIN},
        {"{\"days\":3.0}", 3},
        {"{\"days\":9223372036854775808}", 7}, /* what does not conform changes nothing */
        {"{\"days\":1e19}", 7},
        {"{\"days\":0.5}", 7},
    };
    (void)state;
    for (size_t i = 0; i < MCP__COUNT(rows); i++) {
        trip t = {.days = 7};
        read_text(rows[i].json, &t);
        assert_int_equal(t.days, rows[i].days);
    }
    trip t;
    read_text("{}", &t);
    mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
    mcp__fields_schema(&(mcp_field){.size = sizeof(mcp_field), .name = "a", .type = MCP_FIELD_INT},
                       1, false, w);
    expect(w, "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\",\"minimum\":"
              "-9223372036854775808,\"maximum\":9223372036854775807}},\"required\":[]}");
}

#define WRONG(text, ...)                                        \
    {                                                           \
        text,                                                   \
        {                                                       \
            .size = sizeof(mcp_field), .name = "f", __VA_ARGS__ \
        }                                                       \
    }

static void test_refused(void **state)
{
    static const struct {
        const char *why;
        mcp_field field;
    } rows[] = {
        {"field 1 has no name", {.size = sizeof(mcp_field), .offset = 8}},
        {"field 1 has no name", {.size = sizeof(mcp_field), .offset = 8, .name = "\xff"}},
        {"\"size\"", {.name = "f"}},
        {"\"first\" is there twice", {.size = sizeof(mcp_field), .name = "first", .offset = 8}},
        WRONG("\"f\" is the same member", .offset = 0),
        WRONG("\"f\" has an unknown type", .offset = 8, .type = (mcp_field_type)9),
        WRONG("\"f\" has an offset", .offset = 12, .type = MCP_FIELD_INT),
        WRONG("\"f\" has a text that is not UTF-8", .offset = 8, .title = "\xff"),
        WRONG("\"f\" has one_of", .offset = 8, .type = MCP_FIELD_INT, .one_of = "1|2"),
        WRONG("\"f\" has one_of or max_length", .offset = 8, .type = MCP_FIELD_BOOL,
              .max_length = 1),
        WRONG("but is not a number", .offset = 8, .maximum = 1),
        WRONG("out of range", .offset = 8, .type = MCP_FIELD_INT, .maximum = 1e19),
        WRONG("above its maximum", .offset = 8, .type = MCP_FIELD_NUMBER, .minimum = 1),
    };
    (void)state;
    assert_int_equal(mcp__fields_check(fields, 4, NULL), MCP_OK);
    for (size_t i = 0; i < MCP__COUNT(rows); i++) {
        const mcp_field table[] = {{.size = sizeof(mcp_field), .name = "first"}, rows[i].field};
        mcp_error why = {0};
        assert_int_equal(mcp__fields_check(table, 2, &why), MCP_EINVAL);
        if (!strstr(why.text, rows[i].why))
            fail_msg("\"%s\" is not in: %s", rows[i].why, why.text);
    }
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
        cmocka_unit_test(test_schema),   cmocka_unit_test(test_read),
        cmocka_unit_test(test_integers), cmocka_unit_test(test_refused),
        cmocka_unit_test(test_write),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
