/* Parsing: accepted and rejected texts, positions of errors, limits, duplicate keys. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <malloc.h>
#include <stdio.h>

#include "json/json.h"
#include "support/failalloc.h"

/* Parses in both ways, which must agree, and returns the code and the error of the first. */
static int parse_both(mcp_str text, const mcp_json_limits *limits, mcp_error *error)
{
    mcp_json_doc *doc = NULL, *doc2 = NULL;
    mcp_error error2 = {0};
    char *copy = malloc(text.len + MCP__JSON_PADDING);
    if (text.len)
        memcpy(copy, text.ptr, text.len);
    memset(copy + text.len, 'x', MCP__JSON_PADDING);
    int rc = mcp_json_parse(text, limits, NULL, &doc, error);
    int rc2 = mcp__json_parse_insitu(copy, text.len, limits, NULL, &doc2, &error2);
    assert_int_equal(rc, rc2);
    if (rc) {
        assert_null(doc);
        assert_null(doc2);
        assert_int_equal(error->code, rc);
        assert_string_equal(error->text, error2.text);
        assert_int_equal(error->offset, error2.offset);
    } else {
        mcp__buf a, b;
        mcp__buf_init(&a, NULL, 0);
        mcp__buf_init(&b, NULL, 0);
        mcp__json_put_value(&a, mcp_json_root(doc));
        mcp__json_put_value(&b, mcp_json_root(doc2));
        assert_true(mcp_str_eq(mcp__buf_view(&a), mcp__buf_view(&b)));
        mcp__buf_free(&a);
        mcp__buf_free(&b);
    }
    mcp_json_free(doc);
    mcp_json_free(doc2);
    free(copy);
    return rc;
}

static const struct {
    const char *text;
    int rc;
    size_t offset;
} cases[] = {
    {"null", MCP_OK, 0},
    {" [1, 2.5e3, \"x\"] \r\n\t", MCP_OK, 0},
    {"{}", MCP_OK, 0},
    {"0", MCP_OK, 0},
    {"-0", MCP_OK, 0},
    {"1e999", MCP_OK, 0}, /* kept as text */
    {"\"\\ud83d\\ude00\\u0000\"", MCP_OK, 0},
    {"\"\xF0\x9F\x98\x80\x7F\"", MCP_OK, 0},
    {"", MCP_EPARSE, 0},
    {" ", MCP_EPARSE, 0},
    {"\xEF\xBB\xBF{}", MCP_EPARSE, 0},
    {"[1,]", MCP_EPARSE, 2},
    {"{\"a\":1,}", MCP_EPARSE, 6},
    {"[1 2]", MCP_EPARSE, 3},
    {"[1] x", MCP_EPARSE, 4},
    {"{} {}", MCP_EPARSE, 3},
    {"tru", MCP_EPARSE, 3},
    {"NaN", MCP_EPARSE, 0},
    {"[Infinity]", MCP_EPARSE, 1},
    {"/* c */ 1", MCP_EPARSE, 0},
    {"[01]", MCP_EPARSE, 1},
    {"[+1]", MCP_EPARSE, 1},
    {"[.5]", MCP_EPARSE, 1},
    {"{'a':1}", MCP_EPARSE, 1},
    {"{a:1}", MCP_EPARSE, 1},
    {"{1:1}", MCP_EPARSE, 1},
    {"\"\\ud800\"", MCP_EPARSE, 7},
    {"\"\\udc00\"", MCP_EPARSE, 1},
    {"\"\\x41\"", MCP_EPARSE, 2},
    {"\"a\nb\"", MCP_EPARSE, 2},
    {"\"ab\xC3\"", MCP_EPARSE, 3},
    {"\"\xED\xA0\x80\"", MCP_EPARSE, 1},
    {"\"\xC0\x80\"", MCP_EPARSE, 1},
    {"\x01", MCP_EPARSE, 0},
    {"{\"a\":1,\"a\":2}", MCP_EPARSE, 7},
    {"{\"a\":1,\"\\u0061\":2}", MCP_EPARSE, 7},
    {"[{\"b\":{\"\":1,\"\":1}}]", MCP_EPARSE, 12},
    {"{\"a\":{\"a\":{\"a\":1}},\"A\":1,\"a\\u0000\":1}", MCP_OK, 0},
    {"[{\"a\":1},{\"a\":1}]", MCP_OK, 0},
};

static void test_cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < MCP__COUNT(cases); i++) {
        mcp_error error = {0};
        int rc = parse_both(mcp_str_from(cases[i].text), NULL, &error);
        if (rc != cases[i].rc || error.offset != cases[i].offset)
            fail_msg("%s: %s at %zu (%s)", cases[i].text, mcp_error_name(rc), error.offset,
                     error.text);
    }
    mcp_error error = {0};
    assert_int_equal(parse_both((mcp_str){"1\0", 2}, NULL, &error), MCP_EPARSE);
}

static void test_arguments(void **state)
{
    (void)state;
    mcp_json_doc *doc = NULL;
    assert_int_equal(mcp_json_parse((mcp_str){NULL, 3}, NULL, NULL, &doc, NULL), MCP_EINVAL);
    assert_int_equal(mcp_json_parse(MCP_STR("1"), NULL, NULL, NULL, NULL), MCP_EINVAL);
    assert_int_equal(mcp_json_parse(MCP_STR("["), NULL, NULL, &doc, NULL), MCP_EPARSE);
    assert_null(doc);
    assert_null(mcp_json_root(NULL));
    mcp_json_free(NULL);
}

/* Writes n nested arrays, objects or both alternately, with brackets in strings, which do not
 * count. */
static size_t nested(char *to, size_t depth, int kind)
{
    size_t len = 0;
    for (size_t i = 0; i < depth; i++) {
        bool object = kind == 1 || (kind == 2 && i % 2);
        len += (size_t)sprintf(to + len, "%s", object ? "{\"[[\\\\\\\"{{\\\\\":" : "[");
    }
    len += (size_t)sprintf(to + len, "\"[[[[\"");
    for (size_t i = depth; i-- > 0;)
        to[len++] = kind == 1 || (kind == 2 && i % 2) ? '}' : ']';
    return len;
}

static void test_depth(void **state)
{
    (void)state;
    static char text[64 * 1024];
    static const size_t settings[] = {0, 1, 2, 63, 200, 1024, 2000, SIZE_MAX};
    for (size_t i = 0; i < MCP__COUNT(settings); i++) {
        mcp_json_limits limits = {.size = sizeof(limits), .max_depth = settings[i]};
        size_t most = settings[i] == 0 ? 64 : MCP__MIN(settings[i], (size_t)MCP__JSON_DEEPEST);
        for (int kind = 0; kind < 3; kind++) {
            mcp_error error = {0};
            size_t len = nested(text, most, kind);
            assert_int_equal(parse_both((mcp_str){text, len}, &limits, &error), MCP_OK);
            len = nested(text, most + 1, kind);
            assert_int_equal(parse_both((mcp_str){text, len}, &limits, &error), MCP_ELIMIT);
            assert_true(text[error.offset] == '[' || text[error.offset] == '{');
            assert_non_null(strstr(error.text, "limit"));
        }
    }
    /* Many elements do not count as depth. */
    size_t len = 0;
    text[len++] = '[';
    for (int i = 0; i < 1000; i++)
        len += (size_t)sprintf(text + len, "[[{}]],");
    len += (size_t)sprintf(text + len, "\"[\"]");
    mcp_error error = {0};
    assert_int_equal(parse_both((mcp_str){text, len}, NULL, &error), MCP_OK);
    /* Invalid JSON, beyond which the scan must not read: unterminated strings, only closing
     * brackets. */
    memset(text, ']', 200);
    assert_int_equal(parse_both((mcp_str){text, 200}, NULL, &error), MCP_EPARSE);
    memset(text, '[', 64);
    text[60] = '"';
    memset(text + 64, '[', 100);
    assert_int_equal(parse_both((mcp_str){text, 164}, NULL, &error), MCP_EPARSE);
    text[163] = '\\';
    assert_int_equal(parse_both((mcp_str){text, 164}, NULL, &error), MCP_EPARSE);
}

static void test_bytes(void **state)
{
    (void)state;
    mcp_json_limits limits = {.size = sizeof(limits), .max_bytes = 5};
    mcp_error error = {0};
    assert_int_equal(parse_both(MCP_STR("[1,2]"), &limits, &error), MCP_OK);
    assert_int_equal(parse_both(MCP_STR("[1,2] "), &limits, &error), MCP_ELIMIT);
    assert_non_null(strstr(error.text, "5"));
    limits.size = sizeof(size_t); /* an older caller without max_bytes */
    assert_int_equal(parse_both(MCP_STR("[1,2] "), &limits, &error), MCP_OK);
}

static void test_values(void **state)
{
    static const struct {
        const char *text;
        size_t values;
    } rows[] = {{"[0,0,0,0]", 5},         {"[[0],[0]]", 5},
                {"{\"a\":1,\"b\":2}", 5}, {"[\",,,,[[[[\",\"{:\"]", 3},
                {"[[[[[]]]]]", 6},        {"[0,\"\\\",,\"]", 3},
                {" [ 0 , 0 , 0 ] ", 4}};
    mcp_error error = {0};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        mcp_json_limits limits = {.size = sizeof(limits), .max_values = rows[i].values};
        mcp_str text = {rows[i].text, strlen(rows[i].text)};
        assert_int_equal(parse_both(text, &limits, &error), MCP_OK);
        limits.max_values--;
        assert_int_equal(parse_both(text, &limits, &error), MCP_ELIMIT);
        assert_non_null(strstr(error.text, "more values than the limit"));
    }
}

/* Writes n members with distinct keys, then the key of member `same` again, unless that is n. */
static mcp_str object_of(char *to, size_t n, size_t same, size_t *at)
{
    size_t len = 0;
    to[len++] = '{';
    for (size_t i = 0; i < n; i++)
        len += (size_t)sprintf(to + len, "%s\"key%zu\":[{}]", i ? "," : "", i);
    if (same < n) {
        *at = len + 1;
        len += (size_t)sprintf(to + len, ",\"key\\u%04zx%zu\":0", (size_t)'0' + same / 10 % 10,
                               same % 10);
        if (same < 10) {
            len = *at - 1;
            len += (size_t)sprintf(to + len, ",\"key%zu\":0", same);
        }
    }
    to[len++] = '}';
    return (mcp_str){to, len};
}

static void test_duplicates(void **state)
{
    (void)state;
    static char text[8192];
    for (size_t n = 1; n <= 100; n += n < 20 ? 1 : 15) {
        size_t at = 0;
        mcp_error error = {0};
        assert_int_equal(parse_both(object_of(text, n, n, &at), NULL, &error), MCP_OK);
        for (size_t same = 0; same < n; same++) {
            assert_int_equal(parse_both(object_of(text, n, same, &at), NULL, &error), MCP_EPARSE);
            assert_int_equal(error.offset, at);
            assert_non_null(strstr(error.text, "\"key"));
        }
    }
}

/* 100,000 sorted keys, for which a quadratic check would take a minute. */
static void test_many_keys(void **state)
{
    (void)state;
    enum { KEYS = 100000 };
    char *text = malloc(KEYS * 16);
    size_t len = 0;
    for (size_t i = 0; i < KEYS; i++)
        len += (size_t)sprintf(text + len, "%c\"%zu\":%d", i ? ',' : '{', i, 1);
    text[len++] = '}';
    mcp_json_doc *doc = NULL;
    assert_int_equal(mcp_json_parse((mcp_str){text, len}, NULL, NULL, &doc, NULL), MCP_OK);
    assert_int_equal(mcp_json_count(mcp_json_root(doc)), KEYS);
    mcp_json_free(doc);
    free(text);
}

/* The allocator struct may be freed before the document. */
static void test_allocator_is_copied(void **state)
{
    (void)state;
    failalloc f = {0};
    mcp_json_doc *doc = NULL;
    mcp_allocator a = failalloc_allocator(&f);
    assert_int_equal(mcp_json_parse(MCP_STR("[\"x\"]"), NULL, &a, &doc, NULL), MCP_OK);
    memset(&a, 0, sizeof(a));
    assert_true(f.live > 0);
    mcp_json_free(doc);
    assert_int_equal(f.live, 0);
}

static void test_one_allocation(void **state)
{
    (void)state;
    failalloc f = {0};
    mcp_allocator a = failalloc_allocator(&f);
    char text[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/"
                  "read\",\"params\":{\"uri\":\"x\"}}\0\0\0";
    mcp_json_doc *doc = NULL;
    assert_int_equal(mcp__json_parse_insitu(text, sizeof(text) - 4, NULL, &a, &doc, NULL), MCP_OK);
    assert_int_equal(f.calls, 1);
    mcp_json_free(doc);
    assert_int_equal(f.live, 0);
}

static void *measured_allocate(size_t size, void *user)
{
    void *p = malloc(size);
    *(size_t *)user += malloc_usable_size(p);
    return p;
}

static void measured_release(void *ptr, void *user)
{
    *(size_t *)user -= malloc_usable_size(ptr);
    free(ptr);
}

static void *measured_resize(void *ptr, size_t size, void *user)
{
    *(size_t *)user -= malloc_usable_size(ptr);
    ptr = realloc(ptr, size);
    *(size_t *)user += malloc_usable_size(ptr);
    return ptr;
}

/* A document that is kept has the same values, in the memory that is reported. */
static void test_shrink(void **state)
{
    static const char *const texts[] = {
        "{\"iss\":\"https://as.example\",\"aud\":[\"a\",\"b\"],\"exp\":1700000000,\"more\":"
        "\"\\u00e9xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
        "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
        "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\""
        "}",
        "[[],{},[{\"a\":[1,[2,[3]]]}],1e999,null]", "7", "\"text\""};
    (void)state;
    for (size_t i = 0; i < MCP__COUNT(texts); i++) {
        size_t live = 0;
        mcp_allocator a = {measured_allocate, measured_resize, measured_release, &live};
        mcp_json_doc *doc = NULL;
        mcp__buf before, after;
        mcp__buf_init(&before, NULL, 0);
        mcp__buf_init(&after, NULL, 0);
        assert_int_equal(mcp_json_parse(mcp_str_from(texts[i]), NULL, &a, &doc, NULL), MCP_OK);
        mcp__json_put_value(&before, mcp_json_root(doc));
        size_t parsed = live;
        assert_int_equal(mcp__json_shrink(&doc), MCP_OK);
        assert_true(live <= mcp__json_doc_allocated(doc));
        assert_true(live + 64 > mcp__json_doc_allocated(doc));
        assert_true(i > 0 || live + 600 < parsed); /* the text and few values remain */
        mcp__json_put_value(&after, mcp_json_root(doc));
        assert_true(mcp_str_eq(mcp__buf_view(&before), mcp__buf_view(&after)));
        mcp__buf_free(&before);
        mcp__buf_free(&after);
        mcp_json_free(doc);
        assert_int_equal(live, 0);
    }
    mcp_json_doc *none = NULL;
    assert_int_equal(mcp__json_shrink(&none), MCP_OK);
    assert_int_equal(mcp__json_doc_allocated(none), 0);
}

/* Without memory for the copy the document stays as it is. */
static void test_shrink_no_memory(void **state)
{
    (void)state;
    failalloc f = {0};
    mcp_allocator a = failalloc_allocator(&f);
    mcp_json_doc *doc = NULL;
    assert_int_equal(mcp_json_parse(MCP_STR("[1,2]"), NULL, &a, &doc, NULL), MCP_OK);
    f.fail_at = f.calls + 1;
    assert_int_equal(mcp__json_shrink(&doc), MCP_ENOMEM);
    assert_int_equal(mcp_json_count(mcp_json_root(doc)), 2);
    mcp_json_free(doc);
    assert_int_equal(f.live, 0);
}

static void test_no_memory(void **state)
{
    (void)state;
    static char text[16384];
    size_t at = 0;
    mcp_str object = object_of(text, 500, 500, &at);
    for (size_t n = 1;; n++) {
        failalloc f = {.fail_at = n};
        mcp_allocator a = failalloc_allocator(&f);
        mcp_json_doc *doc = NULL;
        mcp_error error = {0};
        int rc = mcp_json_parse(object, NULL, &a, &doc, &error);
        assert_int_equal(rc, f.calls < n ? MCP_OK : MCP_ENOMEM);
        assert_int_equal(error.code, rc);
        mcp_json_free(doc);
        assert_int_equal(f.live, 0);
        if (f.calls < n) {
            assert_true(n > 3); /* the allocations of text, values and keys each failed */
            break;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_duplicates),
        cmocka_unit_test(test_many_keys),
        cmocka_unit_test(test_allocator_is_copied),
        cmocka_unit_test(test_one_allocation),
        cmocka_unit_test(test_shrink),
        cmocka_unit_test(test_shrink_no_memory),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
