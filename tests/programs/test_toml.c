/* TOML is converted to JSON, and invalid TOML is rejected. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <common/toml.h>

static void values(void **state)
{
    static const struct {
        const char *toml, *json;
    } table[] = {
        {"", "{}"},
        {"# only\n\n  \t\r\n", "{}"},
        {"a = 1\nb=-2.5 # c\r\nc = true", "{\"a\":1,\"b\":-2.5,\"c\":true}"},
        {"a=1_000\nb=0xff\nc=2026-11-22T10:00:00Z\nd=inf\ne=07:32:00",
         "{\"a\":\"1_000\",\"b\":\"0xff\",\"c\":\"2026-11-22T10:00:00Z\",\"d\":\"inf\","
         "\"e\":\"07:32:00\"}"},
        {"a='C:\\x'\nb=\"\\t\\\"\\\\\\u00e9\\U0001F600\"",
         "{\"a\":\"C:\\\\x\",\"b\":\"\\t\\\"\\\\é😀\"}"},
        {"a=\"\"\"\nx\\\n  \t y\n\"\"\"\"\"\nb=''''''", "{\"a\":\"xy\\n\\\"\\\"\",\"b\":\"\"}"},
        {"a=[1,[ 'x', ],\n# c\n{b.c=1},\n]", "{\"a\":[1,[\"x\"],{\"b\":{\"c\":1}}]}"},
        {"[a.b]\nc=1\n[a.\"d e\".'f']\n[a]\ng=2",
         "{\"a\":{\"b\":{\"c\":1},\"d e\":{\"f\":{}},\"g\":2}}"},
        {"a.b=1\n a . c = 2", "{\"a\":{\"b\":1,\"c\":2}}"},
        {"a=2026-11-22 10:00:00 # c", "{\"a\":\"2026-11-22 10:00:00\"}"},
        {"[[x]]\na=1\n[[x]]\na=2\n[y]\nb=1", "{\"y\":{\"b\":1}}"},
        {"\"\"=1\n3.4=2", "{\"\":1,\"3\":{\"4\":2}}"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
        mcp_json_doc *doc = NULL;
        mcp_error error;
        mcp_str json;
        if (toml_parse(mcp_str_from(table[i].toml), &doc, &error) != MCP_OK)
            fail_msg("%s: %s at %zu", table[i].toml, error.text, error.offset);
        mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
        mcp_json_add_value(w, mcp_json_root(doc));
        assert_int_equal(mcp_json_writer_finish(w, &json), MCP_OK);
        if (!mcp_str_eq(json, mcp_str_from(table[i].json)))
            fail_msg("%s: %.*s", table[i].toml, (int)json.len, json.ptr);
        mcp_json_writer_free(w);
        mcp_json_free(doc);
    }
}

static void mistakes(void **state)
{
    static const struct {
        const char *toml;
        size_t offset;
    } table[] = {
        {"a", 1},           {"a=", 2},
        {"=1", 0},          {"a=1 b=2", 4},
        {"a=b", 3},         {"a=1\na=2", 5},
        {"a=1\n[a]", 7},    {"a={}\na.b=1", 7},
        {"[a", 2},          {"[[a]\n", 4},
        {"a='x\n'", 4},     {"a=\"\\q\"", 5},
        {"a=\"\\u12\"", 7}, {"a=\"\\ud800\"", 9},
        {"a=[1", 4},        {"a={b=1", 6},
        {"a='''x", 6},      {"a=\"\\U00110000\"", 13},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
        mcp_json_doc *doc = NULL;
        mcp_error error;
        int rc = toml_parse(mcp_str_from(table[i].toml), &doc, &error);
        if (rc != MCP_EPARSE || doc || error.offset != table[i].offset)
            fail_msg("%s: %d, %s at %zu", table[i].toml, rc, error.text, error.offset);
    }
}

static void limits(void **state)
{
    enum { MANY = 20000 };
    static char text[10 * MANY];
    static const char *const pieces[] = {"[", "{a=", "a.", "[a."};
    mcp_json_doc *doc = NULL;
    mcp_error error;
    (void)state;
    for (size_t k = 0; k < 8; k++) { /* as a value and as a key */
        char *end = text + sprintf(text, "%s", k < 4 ? "a=" : "");
        for (size_t i = 0; i < MANY; i++)
            end += sprintf(end, "%s", pieces[k % 4]);
        assert_true(toml_parse((mcp_str){text, (size_t)(end - text)}, &doc, &error) < 0);
        assert_null(doc);
    }
    char *at = text;
    for (size_t i = 0; i < MANY; i++)
        at += sprintf(at, "a%zu=1\n", i % 100000);
    assert_int_equal(toml_parse((mcp_str){text, (size_t)(at - text)}, &doc, &error), MCP_ELIMIT);
}

/* Truncated or damaged input gives an error or an object. */
static void every_cut(void **state)
{
    static const char text[] = "a.'b'=\"x\\u00e9\" # c\n[t.\"u\"]\nv=[1,{w='''y'''}]\n[[z]]\n";
    char copy[sizeof(text)];
    (void)state;
    for (size_t i = 0; i < sizeof(text); i++) {
        for (int byte = -1; byte < 256; byte++) {
            mcp_json_doc *doc = NULL;
            mcp_error error;
            memcpy(copy, text, sizeof(text));
            if (byte >= 0)
                copy[i] = (char)byte;
            size_t len = byte < 0 ? i : sizeof(text) - 1;
            char *exact = malloc(len + 1);
            assert_non_null(exact);
            memcpy(exact, copy, len);
            int rc = toml_parse((mcp_str){exact, len}, &doc, &error);
            assert_true((rc == MCP_OK) == (doc != NULL));
            assert_true(rc == MCP_OK || error.offset <= len);
            mcp_json_free(doc);
            free(exact);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values),
        cmocka_unit_test(mistakes),
        cmocka_unit_test(limits),
        cmocka_unit_test(every_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
