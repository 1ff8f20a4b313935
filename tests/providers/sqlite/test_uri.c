/* sqlite:// URIs: they are parsed and formatted again, which must give the canonical URI. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "uri.h"
#include "value.h"

/* Writes a target as one line: kind, table, column, keys, parameters. */
static void show(const sqlite_target *t, char to[500])
{
    static const char *const kinds[] = {"database", "table", "rows", "row", "cell", "query"};
    static const char *const types[] = {"", "integer ", "real ", "text ", "blob ", "rowid "};
    int n = sprintf(to, "%s %.*s %.*s", kinds[t->kind], (int)t->table.len, t->table.ptr,
                    (int)t->column.len, t->column.ptr);
    for (size_t i = 0; i < t->n_key; i++)
        n += sprintf(to + n, "|%s%.*s", types[t->key_type[i]], (int)t->key[i].len, t->key[i].ptr);
    for (size_t i = 0; i < t->n_param; i++)
        n += sprintf(to + n, "&%.*s=%.*s", (int)t->param[i].name.len, t->param[i].name.ptr,
                     (int)t->param[i].value.len, t->param[i].value.ptr);
}

static const struct {
    const char *rest, *shown; /* if `shown` is NULL, the URI is invalid */
    const char *canonical;    /* if NULL, `rest` itself */
} cases[] = {
    {"", "database  ", NULL},
    {"?format=text", "database  &format=text", NULL},
    {"t", "table t ", NULL},
    {"odd%20name%2f%25", "table odd name/% ", "odd%20name%2F%25"},
    {"a+b!(c)*", "table a+b!(c)* ", "a%2Bb%21%28c%29%2A"},
    {"%C3%A9", "table é ", NULL},
    {"%24query", "table $query ", NULL},
    {"t/rows", "rows t ", NULL},
    {"t/rows?a=1&b=&c", "rows t &a=1&b=&c=", "t/rows?a=1&b=&c="},
    {"t/rows?a=%26%3d&%22limit%22=1", "rows t &a=&=&\"limit\"=1", "t/rows?a=%26%3D&%22limit%22=1"},
    {"t/rows?a=b=c", "rows t &a=b=c", "t/rows?a=b%3Dc"},
    {"t/row/1", "row t |1", NULL},
    {"t/row/", "row t |", NULL},
    {"t/row/a%2Fb//c", "row t |a/b||c", NULL},
    {"t/row/$text:5/$integer:5/$real:1.5", "row t |text 5|integer 5|real 1.5", NULL},
    {"t/cell/c/$blob:00ff/$text:", "cell t c|blob 00ff|text ", NULL},
    {"t/row/$rowid:-3", "row t |rowid -3", NULL},
    {"t/row/$text:a:%24", "row t |text a:$", "t/row/$text:a%3A%24"},
    {"t/row/%24text:5", "row t |$text:5", "t/row/%24text%3A5"},
    {"t/row/$text%3A5", "row t |$text:5", "t/row/%24text%3A5"},
    {"t/row/$other:5", "row t |$other:5", "t/row/%24other%3A5"},
    {"t/row/$", "row t |$", "t/row/%24"},
    {"t/cell/c/1?offset=1", "cell t c|1&offset=1", NULL},
    {"t/cell//1", "cell t |1", NULL},
    {"$query/q%20r?a=1", "query q r &a=1", NULL},
    {"t/", NULL, NULL},
    {"t/row", NULL, NULL},
    {"t/other", NULL, NULL},
    {"t/rows/", NULL, NULL},
    {"t/rows?", NULL, NULL},
    {"t/rows?a=1&", NULL, NULL},
    {"t/rows?=1", NULL, NULL},
    {"t/rows#f", NULL, NULL},
    {"t/cell/c", NULL, NULL},
    {"/t", NULL, NULL},
    {"#f", NULL, NULL},
    {"?", NULL, NULL},
    {"$query", NULL, NULL},
    {"$query/", NULL, NULL},
    {"$query/a/b", NULL, NULL},
    {"$", NULL, NULL},
    {"%", NULL, NULL},
    {"%2", NULL, NULL},
    {"t/row/%zz", NULL, NULL},
    {"t/rows?a=%", NULL, NULL},
    {"t/row/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16",
     "row t |1|2|3|4|5|6|7|8|9|10|11|12|13|14|15|16", NULL},
    {"t/row/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17", NULL, NULL},
};

static void test_cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        sqlite_target t;
        char shown[500];
        mcp_str rest = mcp_str_from(cases[i].rest);
        char *room = malloc(rest.len + SQLITE_URI_ROOM);
        int rc = sqlite_uri_parse(rest, room, &t);
        if (rc != (cases[i].shown ? MCP_OK : MCP_ENOTFOUND))
            fail_msg("%s: %d", cases[i].rest, rc);
        if (rc == MCP_OK) {
            sqlite3_str *made = sqlite3_str_new(NULL);
            show(&t, shown);
            assert_string_equal(shown, cases[i].shown);
            sqlite_uri_put(made, "", &t);
            char *text = sqlite3_str_finish(made);
            assert_string_equal(text ? text : "",
                                cases[i].canonical ? cases[i].canonical : cases[i].rest);
            sqlite3_free(text);
        }
        free(room);
    }
}

static void test_every_byte(void **state)
{
    (void)state;
    for (int c = 0; c < 256; c++) {
        char byte = (char)c, room[SQLITE_URI_ROOM + 8];
        sqlite_target t,
            made = {.kind = SQLITE_KIND_ROW, .table = {&byte, 1}, .key = {{&byte, 1}}, .n_key = 1};
        sqlite3_str *to = sqlite3_str_new(NULL);
        sqlite_uri_put(to, "", &made);
        char *text = sqlite3_str_finish(to);
        assert_int_equal(sqlite_uri_parse(mcp_str_from(text), room, &t), MCP_OK);
        assert_true(mcp_str_eq(t.table, made.table) && mcp_str_eq(t.key[0], made.key[0]));
        sqlite3_free(text);
    }
}

static void test_many_parameters(void **state)
{
    char text[400] = "t/rows?", room[400 + SQLITE_URI_ROOM];
    sqlite_target t;
    (void)state;
    for (size_t i = 1; i <= SQLITE_URI_PARAMS + 1; i++) {
        sprintf(text + strlen(text), "%sp%zu=1", i > 1 ? "&" : "", i);
        assert_int_equal(sqlite_uri_parse(mcp_str_from(text), room, &t),
                         i <= SQLITE_URI_PARAMS ? MCP_OK : MCP_ENOTFOUND);
    }
    strcpy(text, "t/rows?a=1&b=2");
    sqlite_uri_parse(mcp_str_from(text), room, &t);
    assert_true(mcp_str_eq(*sqlite_uri_param(&t, "b"), MCP_STR("2")));
    assert_null(sqlite_uri_param(&t, "c"));
}

static void test_numbers(void **state)
{
    static const struct {
        const char *text;
        bool number, is_int;
    } numbers[] = {{"5", true, true},
                   {"-5", true, true},
                   {"+5", true, true},
                   {"9223372036854775807", true, true},
                   {"9223372036854775808", true, false},
                   {"1e3", true, false},
                   {"0.5", true, false},
                   {"", false, false},
                   {"x", false, false},
                   {"5x", false, false},
                   {"0x10", false, false},
                   {" 5", false, false},
                   {"nan", false, false},
                   {"1e", false, false},
                   {"-", false, false}};
    (void)state;
    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
        bool is_int = false;
        sqlite3_int64 n;
        double d;
        if (sqlite_number(mcp_str_from(numbers[i].text), &is_int, &n, &d) != numbers[i].number)
            fail_msg("%s", numbers[i].text);
        if (numbers[i].number)
            assert_int_equal(is_int, numbers[i].is_int);
    }
    assert_true(sqlite_is_blob_text(MCP_STR("x''")) && sqlite_is_blob_text(MCP_STR("x'0aF9'")));
    assert_false(sqlite_is_blob_text(MCP_STR("x'0'")) || sqlite_is_blob_text(MCP_STR("x'0g'")) ||
                 sqlite_is_blob_text(MCP_STR("x'")) || sqlite_is_blob_text(MCP_STR("y'00'")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases), cmocka_unit_test(test_every_byte),
        cmocka_unit_test(test_many_parameters), cmocka_unit_test(test_numbers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
