/* test_id_scan.c: the id of a message that arrives in pieces and is not kept. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "jsonrpc/envelope.h"
#include "support/dice.h"

static mcp_str scan(mcp__id_scan *s, mcp_str text, size_t cut)
{
    *s = (mcp__id_scan){0};
    mcp__id_scan_feed(s, (mcp_str){text.ptr, cut});
    mcp__id_scan_feed(s, mcp__str_sub(text, cut));
    return mcp__id_scan_end(s);
}

static const struct {
    const char *text, *found;
} cases[] = {
    {"", "{}"},
    {"{}", "{}"},
    {"{\"id\":5}", "{\"id\":5}"},
    {"{\"jsonrpc\":\"2.0\",\"result\":{\"id\":6,\"a\":[{\"id\":7}]},\"id\":5,\"x\":{\"id\":8}}",
     "{\"id\":5}"},
    {" { \"id\" : \"a \\\" b\" , \"x\":1}", "{\"id\":\"a \\\" b\"}"},
    {"{\"a\":\"\\\\\",\"id\":1}", "{\"id\":1}"},
    {"{\"a\":\"\\\\\\\",\\\"id\\\":1,\",\"id\":2}", "{\"id\":2}"},
    {"{\"a\":[\"id\",1],\"id\":2}", "{\"id\":2}"},
    {"{\"id\":5,\"method\":\"m\",\"params\":{}}", "{\"method\":0,\"id\":5}"},
    {"{\"method\":\"m\",\"params\":{\"id\":1}}", "{\"method\":0}"},
    {"{\"a\":{\"method\":1},\"id\":5}", "{\"id\":5}"},
    {"{\"id\":5,\"id\":5}", "{}"}, /* which of them is meant? */
    {"{\"id\":5,\"id\":6,\"id\":7}", "{}"},
    {"{\"id\":5", "{}"}, /* may go on: 51 */
    {"{\"id\":5,\"x\":\"", "{\"id\":5}"},
    {"{\"ids\":5,\"i\":6,\"\":7,\"idx\":8,\"a-long-name\":9}", "{}"},
    {"[{\"id\":5}]", "{}"},
    {"[\"id\":5]", "{}"},
    {"\"id\":5}", "{}"},
    {"{\"id\":5}{\"id\":6}", "{\"id\":5}"},
    {"{\"id\":[1,{\"a\":2}],\"x\":3}",
     "{\"id\":[1,{\"a\":2}]}"}, /* no id, which is for the reader to say */
};

static void test_cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < MCP__COUNT(cases); i++) {
        mcp_str text = mcp_str_from(cases[i].text);
        for (size_t cut = 0; cut <= text.len; cut++) {
            mcp__id_scan s;
            mcp_str found = scan(&s, text, cut);
            if (!mcp_str_eq(found, mcp_str_from(cases[i].found)))
                fail_msg("%s at %zu: %.*s", text.ptr, cut, (int)found.len, found.ptr);
        }
    }
}

/* A value is bounded, whatever it is. */
static void test_long_id(void **state)
{
    char text[600];
    mcp__id_scan s;
    (void)state;
    for (int len = 250; len < 500; len++) {
        snprintf(text, sizeof(text), "{\"id\":\"%0*d\",\"x\":1}", len, 7);
        mcp_str found = scan(&s, mcp_str_from(text), 20);
        assert_int_equal(found.len, len <= 254 ? (size_t)len + 9 : 2);
    }
}

/* ---- generated objects -------------------------------------------------------------------------- */

static void put_value(mcp__buf *to, int depth)
{
    static const char *const scalars[] = {
        "1",        "-2.5", "\"\"", "\"id\"",   "\"\\\"id\\\":9,\"",
        "\"\\\\\"", "null", "true", "\"}{][\"", "\"method\""};
    static const char *const names[] = {"id", "method", "a", "", "ids", "params", "i\\\\d"};
    unsigned kind = depth < 4 ? dice(4) : 3;
    size_t n = dice(4);
    if (kind >= 2) {
        mcp__buf_str(to, mcp_str_from(scalars[dice(MCP__COUNT(scalars))]));
        return;
    }
    mcp__buf_char(to, kind ? '{' : '[');
    for (size_t i = 0; i < n; i++) {
        mcp__buf_str(to, mcp_str_from(i ? ", " : ""));
        if (kind)
            mcp__buf_printf(to, "\"%s\" :", names[dice(MCP__COUNT(names))]);
        put_value(to, depth + 1);
    }
    mcp__buf_char(to, kind ? '}' : ']');
}

static bool is_scalar(const mcp_json *value)
{
    return mcp_json_is(value, MCP_JSON_INT) || mcp_json_is(value, MCP_JSON_STRING);
}

/* Writes what the scan has to find: what a parser finds in the whole text. */
static bool put_wanted(mcp__buf *to, const mcp_json *root)
{
    const mcp_json *id = mcp_json_get(root, "id");
    bool method = mcp_json_get(root, "method") != NULL;
    mcp__buf_str(to, mcp_str_from(method ? "{\"method\":0" : "{"));
    if (id) {
        mcp__buf_str(to, mcp_str_from(method ? ",\"id\":" : "\"id\":"));
        mcp__json_put_value(to, id);
    }
    mcp__buf_char(to, '}');
    return mcp_json_is(root, MCP_JSON_OBJECT) && (!id || is_scalar(id));
}

static void test_generated(void **state)
{
    (void)state;
    size_t n = 0;
    for (int round = 0; round < 20000; round++) {
        mcp__buf b, want;
        mcp__id_scan s;
        mcp_json_doc *doc = NULL;
        mcp__buf_init(&b, &mcp__default_allocator, 0);
        mcp__buf_init(&want, &mcp__default_allocator, 0);
        put_value(&b, 0);
        if (mcp_json_parse(mcp__buf_view(&b), NULL, NULL, &doc, NULL) == MCP_OK &&
            put_wanted(&want, mcp_json_root(doc))) {
            mcp_str found = scan(&s, mcp__buf_view(&b), dice((unsigned)b.len));
            if (!mcp_str_eq(found, mcp__buf_view(&want)))
                fail_msg("%.*s: %.*s", (int)b.len, b.ptr, (int)found.len, found.ptr);
            n += strstr(s.text, "\"id\"") != NULL;
        }
        mcp_json_free(doc);
        mcp__buf_free(&b);
        mcp__buf_free(&want);
    }
    assert_true(n > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_long_id),
        cmocka_unit_test(test_generated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
