/* RFC 6570: parsing, expansion, order of specificity, limits, allocation failures. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <mcp/uri.h>

#include "support/failalloc.h"
#include "template_cases.h"
#include "uri/uri.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define MAX_VALUES   64
#define MAX_ITEMS    16

static mcp_uri_template *parse(const char *text)
{
    mcp_uri_template *t = NULL;
    mcp_error e = {0};
    int rc = mcp_uri_template_parse(mcp_str_from(text), NULL, &t, &e);
    if (rc != MCP_OK)
        fail_msg("%s: %s at %zu", text, e.text, e.offset);
    return t;
}

static mcp_json_doc *parse_json(const char *text)
{
    mcp_json_doc *doc = NULL;
    assert_int_equal(mcp_json_parse(mcp_str_from(text), NULL, NULL, &doc, NULL), MCP_OK);
    return doc;
}

/* The members of a JSON object as an array of values, for the function that expects one. */
typedef struct value_array {
    mcp_uri_value values[MAX_VALUES];
    mcp_uri_pair items[MAX_VALUES][MAX_ITEMS];
    char numbers[MAX_VALUES][32];
    size_t count;
} value_array;

static void add_member(value_array *a, mcp_str name, const mcp_json *member)
{
    mcp_uri_value *v = &a->values[a->count];
    *v = (mcp_uri_value){.name = name, .items = a->items[a->count]};
    switch (mcp_json_typeof(member)) {
    case MCP_JSON_NULL: v->type = MCP_URI_UNDEFINED; break;
    case MCP_JSON_STRING: v->string = mcp_json_string(member); break;
    case MCP_JSON_ARRAY: v->type = MCP_URI_LIST; break;
    case MCP_JSON_OBJECT: v->type = MCP_URI_MAP; break;
    default:
        snprintf(a->numbers[a->count], 32, "%g", mcp_json_number(member, 0));
        v->string = mcp_str_from(a->numbers[a->count]);
    }
    mcp_json_iter iter = {0};
    mcp_str key = {0};
    for (const mcp_json *m; (m = mcp_json_next(member, &iter, &key)) != NULL; v->count++) {
        a->items[a->count][v->count] = (mcp_uri_pair){key, mcp_json_string(m)};
    }
    a->count++;
}

static value_array *to_array(const mcp_json *object)
{
    value_array *a = calloc(1, sizeof(*a));
    mcp_json_iter iter = {0};
    mcp_str name;
    for (const mcp_json *m; (m = mcp_json_next(object, &iter, &name)) != NULL;)
        add_member(a, name, m);
    return a;
}

static void test_suite(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(template_sets); i++) {
        const template_set *set = &template_sets[i];
        mcp_json_doc *doc = parse_json(set->values);
        value_array *array = to_array(mcp_json_root(doc));
        for (size_t j = 0; j < set->count; j++) {
            mcp_uri_template *t = parse(set->cases[j].text);
            char *out = NULL;
            assert_int_equal(mcp_uri_template_expand_json(t, mcp_json_root(doc), NULL, &out, NULL),
                             MCP_OK);
            assert_string_equal(out, set->cases[j].expansion);
            free(out);
            assert_int_equal(
                mcp_uri_template_expand(t, array->values, array->count, NULL, &out, NULL), MCP_OK);
            assert_string_equal(out, set->cases[j].expansion);
            free(out);
            mcp_uri_template_free(t);
        }
        free(array);
        mcp_json_free(doc);
    }
}

static void test_suite_negative(void **state)
{
    (void)state;
    mcp_json_doc *doc = parse_json(negative_values);
    for (size_t i = 0; i < COUNT(negative_cases); i++) {
        mcp_uri_template *t = NULL;
        mcp_error e = {0};
        char *out = NULL;
        mcp_str text = mcp_str_from(negative_cases[i]);
        int rc = mcp_uri_template_parse(text, NULL, &t, &e);
        if (rc == MCP_OK) {
            rc = mcp_uri_template_expand_json(t, mcp_json_root(doc), NULL, &out, &e);
            assert_int_equal(rc, MCP_EINVAL);
        } else {
            assert_int_equal(rc, MCP_EPARSE);
        }
        assert_int_equal(e.code, rc);
        assert_null(out);
        mcp_uri_template_free(t);
    }
    mcp_json_free(doc);
}

static const struct malformed {
    const char *text;
    size_t offset;
} malformed[] = {
    {"{", 1},      {"{}", 1},     {"a{b", 3},        {"}", 0},         {"{a,}", 3},
    {"{,a}", 1},   {"{a,,b}", 3}, {"{a b}", 2},      {"{a*:3}", 3},    {"{a:3*}", 4},
    {"{a:}", 3},   {"{a:0}", 3},  {"{a:12345}", 8},  {"{a:-1}", 3},    {"{.a.}", 4},
    {"{a..b}", 3}, {"{%zz}", 1},  {"{a%2}", 2},      {"x y", 1},       {"a\"", 1},
    {"a<b", 1},    {"a>b", 1},    {"a\\b", 1},       {"a^b", 1},       {"a`b", 1},
    {"a|b", 1},    {"%", 0},      {"%4", 0},         {"%4g", 0},       {"a\x7f", 1},
    {"\xff", 0},   {"a\xc3", 1},  {"{\xc3\xa9}", 1}, {"a\nb", 1},      {"{{a}}", 1},
    {"{a{b}}", 2}, {"{=a}", 1},   {"{|a}", 1},       {"{@a}", 1},      {"{!a}", 1},
    {"{a-b}", 2},  {"{+}", 2},    {"{+ a}", 2},      {"{a:9999}}", 8},
};

static void test_malformed(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(malformed); i++) {
        mcp_uri_template *t = NULL;
        mcp_error e = {0};
        assert_int_equal(mcp_uri_template_parse(mcp_str_from(malformed[i].text), NULL, &t, &e),
                         MCP_EPARSE);
        assert_null(t);
        if (e.offset != malformed[i].offset)
            fail_msg("%s: offset %zu, not %zu", malformed[i].text, e.offset, malformed[i].offset);
        assert_int_equal(mcp_uri_template_parse(mcp_str_from(malformed[i].text), NULL, &t, NULL),
                         MCP_EPARSE);
    }
    mcp_uri_template *t = NULL;
    assert_int_equal(mcp_uri_template_parse((mcp_str){"a\0b", 3}, NULL, &t, NULL), MCP_EPARSE);
    assert_int_equal(mcp_uri_template_parse((mcp_str){"{a\0}", 4}, NULL, &t, NULL), MCP_EPARSE);
    assert_int_equal(mcp_uri_template_parse((mcp_str){"{\0}", 3}, NULL, &t, NULL), MCP_EPARSE);
}

static void test_accessors(void **state)
{
    (void)state;
    char text[] = "FILE:///caf\xc3\xa9%2d%c3/{+path,x}{?x,q%C3%A4,x.y*}";
    mcp_uri_template *t = parse(text);
    char copy[sizeof(text)];
    memcpy(copy, text, sizeof(text));
    memset(text, 'x', sizeof(text) - 1); /* it was copied */
    assert_string_equal(mcp_uri_template_text(t).ptr, copy);
    assert_true(mcp_str_eq(mcp_uri_template_text(t), mcp_str_from(copy)));
    static const char *const names[] = {"path", "x", "q%C3%A4", "x.y", ""};
    assert_int_equal(mcp_uri_template_variable_count(t), 4);
    for (size_t i = 0; i < COUNT(names); i++)
        assert_true(mcp_str_eq(mcp_uri_template_variable(t, i), mcp_str_from(names[i])));
    assert_true(mcp__uri_template_prefix_matches(t, MCP_STR("File:///caf%c3%a9-%C3/z")));
    assert_true(mcp__uri_template_prefix_matches(t, MCP_STR("file:///caf\xc3\xa9%2D%c3/")));
    assert_false(mcp__uri_template_prefix_matches(t, MCP_STR("file:///caf%c3%a9-%C3")));
    assert_false(mcp__uri_template_prefix_matches(t, MCP_STR("file:///caf%c3")));
    assert_false(mcp__uri_template_prefix_matches(t, MCP_STR("file:///caf%c")));
    assert_false(mcp__uri_template_prefix_matches(t, MCP_STR("file:///CAF%c3%a9-%C3/z")));
    assert_false(mcp__uri_template_prefix_matches(t, MCP_STR("")));
    mcp_uri_template_free(t);
    mcp_uri_template_free(NULL);

    t = parse("{a}b");
    assert_true(mcp__uri_template_prefix_matches(t, MCP_STR("")));
    mcp_uri_template_free(t);
    t = parse("");
    assert_int_equal(mcp_uri_template_variable_count(t), 0);
    assert_int_equal(mcp_uri_template_text(t).len, 0);
    mcp_uri_template_free(t);
}

/* Sorted from the most specific to the least; equal entries are marked. */
static const struct ranked {
    const char *text;
    bool same_as_before;
} ranking[] = {
    {"file:///{a}/literal/{b}", false},
    {"file:///{a}/l", false},
    {"file:///{a}/", false},
    {"file:///{+a}/", false},
    {"file:///{b*}/", true},
    {"file:///{a}{/b}", false}, /* one literal character less */
    {"file:///{a,b}", true},
    {"file:///{+a}{#b}", false},
    {"x:{a}", false},
    {"{a}", false},
};

static void test_compare(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(ranking); i++) {
        for (size_t j = 0; j < COUNT(ranking); j++) {
            size_t rank_i = i - ranking[i].same_as_before, rank_j = j - ranking[j].same_as_before;
            mcp_uri_template *a = parse(ranking[i].text), *b = parse(ranking[j].text);
            int wanted = (rank_i > rank_j) - (rank_i < rank_j);
            assert_int_equal(mcp_uri_template_compare(a, b), wanted);
            mcp_uri_template_free(a);
            mcp_uri_template_free(b);
        }
    }
}

static int parse_with(const char *text, mcp_uri_template_limits limits)
{
    mcp_uri_template *t = NULL;
    mcp_error e = {0};
    limits.size = sizeof(limits);
    int rc = mcp_uri_template_parse_limited(mcp_str_from(text), &limits, NULL, &t, &e);
    assert_int_equal(e.code, rc);
    mcp_uri_template_free(t);
    return rc;
}

static void test_limits(void **state)
{
    (void)state;
    char *text = malloc(8194);
    memset(text, 'x', 8193);
    text[8192] = '\0';
    assert_int_equal(parse_with(text, (mcp_uri_template_limits){0}), MCP_OK);
    text[8192] = 'x', text[8193] = '\0';
    assert_int_equal(parse_with(text, (mcp_uri_template_limits){0}), MCP_ELIMIT);
    assert_int_equal(parse_with(text, (mcp_uri_template_limits){.max_bytes = 8193}), MCP_OK);
    free(text);
    mcp_uri_template_limits two = {.max_expressions = 2};
    assert_int_equal(parse_with("{a}{b}", two), MCP_OK);
    assert_int_equal(parse_with("{a}{b}{c}", two), MCP_ELIMIT);
    two = (mcp_uri_template_limits){.max_variables = 2};
    assert_int_equal(parse_with("{a},,,{a}", two), MCP_OK);
    assert_int_equal(parse_with("{a,a}{a}", two), MCP_ELIMIT);
}

static void test_values(void **state)
{
    (void)state;
    mcp_uri_template *t = parse("x:{a}{?b,c*}{+a}{a:1}");
    const mcp_uri_pair strings[] = {
        {MCP_STR("a"), {"\xff/%2F", 5}}, {MCP_STR("a"), MCP_STR("second")}, {MCP_STR("b"), {0}}};
    char *out = NULL;
    assert_int_equal(mcp_uri_template_expand_strings(t, strings, 3, NULL, &out, NULL), MCP_OK);
    assert_string_equal(out, "x:%FF%2F%252F?b=%FF/%2F%FF");
    free(out);
    const mcp_uri_pair items[] = {{{0}, MCP_STR("1")}, {{0}, {0}}, {{0}, MCP_STR("3")}};
    const mcp_uri_value values[] = {
        {.name = MCP_STR("b"), .type = MCP_URI_UNDEFINED, .string = MCP_STR("no")},
        {.name = MCP_STR("c"), .type = MCP_URI_LIST, .items = items, .count = 3},
        {.name = MCP_STR("a"), .type = MCP_URI_LIST},
    };
    assert_int_equal(mcp_uri_template_expand(t, values, 3, NULL, &out, NULL), MCP_OK);
    assert_string_equal(out, "x:?c=1&c=&c=3");
    free(out);
    assert_int_equal(mcp_uri_template_expand(t, NULL, 0, NULL, &out, NULL), MCP_OK);
    assert_string_equal(out, "x:");
    free(out);
    mcp_uri_template_free(t);
}

/* A prefix never splits a character, nor a "%XX" that is passed through. */
static void test_prefix(void **state)
{
    (void)state;
    mcp_uri_template *t = parse("{a:2}_{+a:2}");
    static const char *const rows[][2] = {
        {"%2Fx", "%252_%2Fx"},
        {"%2x", "%252_%252"},
        {"\xc3\xa9\xc3\xa9z", "%C3%A9%C3%A9_%C3%A9%C3%A9"},
        {"a", "a_a"},
        {"", "_"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        mcp_uri_pair value = {MCP_STR("a"), mcp_str_from(rows[i][0])};
        char *out = NULL;
        assert_int_equal(mcp_uri_template_expand_strings(t, &value, 1, NULL, &out, NULL), MCP_OK);
        assert_string_equal(out, rows[i][1]);
        free(out);
    }
    mcp_uri_template_free(t);
}

static const struct json_row {
    const char *values;
    int code;
    const char *expansion;
} json_rows[] = {
    {"{\"a\":123456789012345678901234567890}", MCP_OK, "123456789012345678901234567890"},
    {"{\"a\":-9223372036854775808}", MCP_OK, "-9223372036854775808"},
    {"{\"a\":1.5}", MCP_OK, "1.5"},
    {"{\"a\":true}", MCP_OK, "true"},
    {"{\"a\":false}", MCP_OK, "false"},
    {"{\"a\":null}", MCP_OK, ""},
    {"{\"a\":[null,1,\"x\",null,true]}", MCP_OK, "1,x,true"},
    {"{\"a\":[null]}", MCP_OK, ""},
    {"{\"a\":{\"x\":null,\"y\":2}}", MCP_OK, "y,2"},
    {"{\"a\":[[1]]}", MCP_EINVAL, NULL},
    {"{\"a\":[{}]}", MCP_EINVAL, NULL},
    {"{\"a\":{\"x\":[]}}", MCP_EINVAL, NULL},
    {"{\"b\":[[1]]}", MCP_OK, ""},
    {"[]", MCP_EINVAL, NULL},
    {"\"a\"", MCP_EINVAL, NULL},
};

static void test_json(void **state)
{
    (void)state;
    mcp_uri_template *t = parse("{a}");
    for (size_t i = 0; i < COUNT(json_rows); i++) {
        mcp_json_doc *doc = parse_json(json_rows[i].values);
        char *out = NULL;
        mcp_error e = {0};
        int rc = mcp_uri_template_expand_json(t, mcp_json_root(doc), NULL, &out, &e);
        assert_int_equal(rc, json_rows[i].code);
        assert_int_equal(e.code, rc);
        if (rc == MCP_OK)
            assert_string_equal(out, json_rows[i].expansion);
        free(out);
        mcp_json_free(doc);
    }
    char *out = NULL;
    assert_int_equal(mcp_uri_template_expand_json(t, NULL, NULL, &out, NULL), MCP_OK);
    assert_string_equal(out, "");
    free(out);
    mcp_uri_template_free(t);
}

static void test_too_long(void **state)
{
    (void)state;
    mcp_uri_template *t = parse("{a}{a}");
    size_t len = MCP_URI_MAX_EXPANSION / 2;
    char *big = malloc(len + 1);
    memset(big, 'x', len + 1);
    mcp_uri_pair value = {MCP_STR("a"), {big, len}};
    char *out = NULL;
    mcp_error e = {0};
    assert_int_equal(mcp_uri_template_expand_strings(t, &value, 1, NULL, &out, &e), MCP_OK);
    assert_int_equal(strlen(out), MCP_URI_MAX_EXPANSION);
    free(out);
    value.value.len++;
    assert_int_equal(mcp_uri_template_expand_strings(t, &value, 1, NULL, &out, &e), MCP_ELIMIT);
    assert_int_equal(e.code, MCP_ELIMIT);
    free(big);
    mcp_uri_template_free(t);
}

static int parse_and_expand(const mcp_allocator *a, const mcp_json *values)
{
    mcp_uri_template *t = NULL;
    char *out = NULL;
    mcp_error e = {0};
    int rc = mcp_uri_template_parse(
        MCP_STR("File:///caf\xc3\xa9/{+path}.{x%2d}{?list*,map,n}{&q}{#f}"), a, &t, &e);
    if (rc == MCP_OK)
        rc = mcp_uri_template_expand_json(t, values, a, &out, &e);
    if (rc == MCP_OK)
        assert_string_equal(
            out, "File:///caf%C3%A9/a/b.?list=1&list=2&map=k,v&n=12345678901234567890123&q=x#f");
    else
        assert_int_equal(e.code, rc);
    mcp_uri_template_free(t);
    a->release(out, a->user);
    return rc;
}

static void test_no_memory(void **state)
{
    (void)state;
    mcp_json_doc *doc = parse_json("{\"path\":\"a/b\",\"list\":[1,2],\"map\":{\"k\":\"v\"},"
                                   "\"n\":12345678901234567890123,\"q\":\"x\",\"f\":\"f\"}");
    for (size_t n = 1;; n++) {
        failalloc f = {.fail_at = n};
        mcp_allocator a = failalloc_allocator(&f);
        int rc = parse_and_expand(&a, mcp_json_root(doc));
        assert_int_equal(f.live, 0);
        if (f.calls < n) {
            assert_int_equal(rc, MCP_OK);
            assert_true(n > 5);
            break;
        }
        assert_int_equal(rc, MCP_ENOMEM);
    }
    mcp_json_free(doc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_suite),     cmocka_unit_test(test_suite_negative),
        cmocka_unit_test(test_malformed), cmocka_unit_test(test_accessors),
        cmocka_unit_test(test_compare),   cmocka_unit_test(test_limits),
        cmocka_unit_test(test_values),    cmocka_unit_test(test_prefix),
        cmocka_unit_test(test_json),      cmocka_unit_test(test_too_long),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
