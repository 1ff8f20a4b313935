/* Tables of fields: their schema, reading a struct from JSON and writing it as JSON. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>

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
    static mcp_json_doc *doc; /* the strings of the struct are borrowed from it */
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
    /* Members that are missing or of another type keep their values. */
    t = (trip){.days = 7, .weight = 2, .back = true};
    read_text("{\"to\":5,\"days\":\"x\",\"weight\":null,\"back\":1}", &t);
    assert_null(t.to.ptr);
    assert_int_equal(t.days, 7);
    assert_true(t.weight == 2 && t.back);
    read_text("{}", &t);
    mcp_fields_read(fields, 4, NULL, &t);
    assert_int_equal(t.days, 7);
}

/* Every value that conforms to the schema is read. The limits of an integer are those of int64_t,
 * in any notation. */
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
        {"{\"days\":9223372036854775808}", 7}, /* a value that does not conform changes nothing */
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
        {"\"first\" occurs twice", {.size = sizeof(mcp_field), .name = "first", .offset = 8}},
        WRONG("\"f\" is the same member", .offset = 0),
        WRONG("\"f\" has an unknown type", .offset = 8, .type = (mcp_field_type)9),
        WRONG("\"f\" has an offset", .offset = 12, .type = MCP_FIELD_INT),
        WRONG("\"f\" has a text that is not UTF-8", .offset = 8, .title = "\xff"),
        WRONG("\"f\" has one_of", .offset = 8, .type = MCP_FIELD_INT, .one_of = "1|2"),
        WRONG("\"f\" has one_of or max_length", .offset = 8, .type = MCP_FIELD_BOOL,
              .max_length = 1),
        WRONG("but is not a number", .offset = 8, .maximum = 1),
        WRONG("out of range", .offset = 8, .type = MCP_FIELD_INT, .maximum = 1e19),
        WRONG("above its maximum", .offset = 8, .type = MCP_FIELD_NUMBER, .minimum = 2,
              .maximum = 1),
        WRONG("out of range", .offset = 16, .type = MCP_FIELD_NUMBER, .minimum = MCP_NO_MAXIMUM),
        WRONG("out of range", .offset = 16, .type = MCP_FIELD_NUMBER, .maximum = MCP_NO_MINIMUM),
        WRONG("out of range", .offset = 16, .type = MCP_FIELD_NUMBER, .maximum = NAN),
        WRONG("\"f\" is an integer, but", .offset = 16, .type = MCP_FIELD_INT, .maximum = 0.5),
        WRONG("\"f\" is an integer, but", .offset = 16, .type = MCP_FIELD_INT, .minimum = -0.5,
              .maximum = MCP_NO_MAXIMUM),
        WRONG("\"f\" has no array", .offset = 16, .type = MCP_FIELD_STRINGS),
        WRONG("\"f\" has no array", .offset = 16, .type = MCP_FIELD_STRINGS, .max_items = SIZE_MAX),
        WRONG("\"f\" has min_items above", .offset = 16, .type = MCP_FIELD_STRINGS, .max_items = 1,
              .min_items = 2),
        WRONG("\"f\" has a count_offset that is not aligned", .offset = 16,
              .type = MCP_FIELD_STRINGS, .max_items = 1, .count_offset = 33),
        WRONG("\"f\" has its count inside", .offset = 16, .type = MCP_FIELD_STRINGS, .max_items = 2,
              .count_offset = 40),
        WRONG("\"f\" is the same member", .offset = 16, .type = MCP_FIELD_STRINGS, .max_items = 2,
              .count_offset = 8),
        WRONG("\"f\" has max_items, min_items", .offset = 16, .max_items = 1),
    };
    (void)state;
    assert_int_equal(mcp__fields_check(fields, 4, false, NULL), MCP_OK);
    for (size_t i = 0; i < MCP__COUNT(rows); i++) {
        const mcp_field table[] = {{.size = sizeof(mcp_field), .name = "first"}, rows[i].field};
        mcp_error why = {0};
        assert_int_equal(mcp__fields_check(table, 2, false, &why), MCP_EINVAL);
        if (!strstr(why.text, rows[i].why))
            fail_msg("\"%s\" is not in: %s", rows[i].why, why.text);
    }
}

/* The order of the members of a struct may differ from the order of the table. */
static void test_overlap(void **state)
{
    const struct {
        size_t offset, items, count_offset;
        bool fits;
    } rows[] = {{16, 2, 8, true},   {16, 2, 48, true}, {16, 2, 0, false}, {0, 2, 24, false},
                {16, 3, 48, false}, {0, 1, 56, false}, {0, 1, 16, true}};
    (void)state;
    for (size_t i = 0; i < MCP__COUNT(rows); i++) {
        const mcp_field table[] = {
            {.size = sizeof(mcp_field), .name = "n", .type = MCP_FIELD_INT, .offset = 0},
            {.size = sizeof(mcp_field), .name = "s", .offset = 56},
            {.size = sizeof(mcp_field),
             .name = "list",
             .type = MCP_FIELD_STRINGS,
             .offset = rows[i].offset,
             .max_items = rows[i].items,
             .count_offset = rows[i].count_offset}};
        bool first = rows[i].offset == 0; /* then it overlaps "n" */
        assert_int_equal(mcp__fields_check(table + first, 3 - first, false, NULL),
                         rows[i].fits ? MCP_OK : MCP_EINVAL);
    }
}

typedef struct list {
    mcp_str words[2];
    size_t n_words;
    int64_t low, high, any;
    double positive;
} list;

static const mcp_field list_fields[] = {
    MCP_STRINGS_FIELD(list, words, n_words, .one_of = "a|b", .max_length = 3, .min_items = 1),
    MCP_INT_FIELD(list, low, .minimum = 1, .maximum = MCP_NO_MAXIMUM),
    MCP_INT_FIELD(list, high, .minimum = MCP_NO_MINIMUM, .maximum = -1),
    MCP_INT_FIELD(list, any, .minimum = MCP_NO_MINIMUM, .maximum = MCP_NO_MAXIMUM),
    MCP_NUMBER_FIELD(list, positive, .minimum = 0, .maximum = MCP_NO_MAXIMUM),
};

static void test_lists_and_open_ranges(void **state)
{
    (void)state;
    assert_int_equal(mcp__fields_check(list_fields, 5, false, NULL), MCP_OK);
    mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
    mcp__fields_schema(list_fields, 5, false, w);
    expect(w, "{\"type\":\"object\",\"properties\":{\"words\":{\"type\":\"array\",\"items\":{"
              "\"type\":\"string\",\"enum\":[\"a\",\"b\"],\"maxLength\":3},\"minItems\":1,"
              "\"maxItems\":2},"
              "\"low\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":9223372036854775807},"
              "\"high\":{\"type\":\"integer\",\"minimum\":-9223372036854775808,\"maximum\":-1},"
              "\"any\":{\"type\":\"integer\",\"minimum\":-9223372036854775808,"
              "\"maximum\":9223372036854775807},"
              "\"positive\":{\"type\":\"number\",\"minimum\":0}},\"required\":[]}");
    /* A list with more elements than its capacity is not written, and the writer reports an error. */
    list l = {.words = {MCP_STR("a"), MCP_STR("b")}, .n_words = 3};
    w = mcp_json_writer_new(NULL, 0);
    mcp_fields_write(list_fields, 5, &l, w);
    mcp_str text;
    assert_int_equal(mcp_json_writer_finish(w, &text), MCP_EINVAL);
    mcp_json_writer_free(w);
    mcp_fields_write(list_fields, 5, &l, NULL);
    l.n_words = 2;
    w = mcp_json_writer_new(NULL, 0);
    mcp_fields_write(list_fields, 1, &l, w);
    expect(w, "{\"words\":[\"a\",\"b\"]}");
}

/* In a form, only choices can be arrays. */
static void test_forms(void **state)
{
    const mcp_field free_words[] = {MCP_STRINGS_FIELD(list, words, n_words, .required = true)};
    mcp_error why = {0};
    (void)state;
    assert_int_equal(mcp__fields_check(free_words, 1, false, NULL), MCP_OK);
    assert_int_equal(mcp__fields_check(list_fields, 5, true, NULL), MCP_OK);
    assert_int_equal(mcp__fields_check(free_words, 1, true, &why), MCP_EINVAL);
    assert_string_equal(why.text,
                        "field \"words\" is an array without one_of, which a form cannot have");
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
        cmocka_unit_test(test_integers),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_write),
        cmocka_unit_test(test_overlap),
        cmocka_unit_test(test_lists_and_open_ranges),
        cmocka_unit_test(test_forms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
