/* Rows and logs as they are displayed: columns, widths, JSON of other forms, and hostile JSON. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mcpctl/view.h>

/* Returns a string to be freed, or NULL if the JSON has none of the forms; then nothing was
 * written. */
static char *view_of(mcp_str json, size_t width)
{
    char *text = NULL;
    size_t len;
    FILE *f = open_memstream(&text, &len);
    assert_non_null(f);
    bool put = view_put(f, json, &(table_look){.width = width});
    fclose(f);
    if (put)
        return text;
    assert_int_equal(len, 0);
    free(text);
    return NULL;
}

static const struct {
    const char *json;
    size_t width;
    const char *shown; /* NULL if the JSON is displayed unchanged */
} forms_cases[] = {
    {"{\"columns\":[\"id\",\"name\"],\"rows\":[[1,\"one\"],[20,null],[-3.5,\"\"]]}", 40,
     "  id  name\n   1  one\n  20  NULL\n-3.5  \n"},
    /* numbers in a column of strings are aligned to the right, the column's name is not */
    {"{\"columns\":[\"any\"],\"rows\":[[1],[\"text\"],[null],[true]]}", 40,
     "any\n   1\ntext\nNULL\ntrue\n"},
    {"{\"columns\":[\"n\"],\"rows\":[[1],[null]],\"next\":\"db:t?o=2\",\"whole\":false}", 40,
     "   n\n   1\nNULL\nnext: db:t?o=2\nwhole: false\n"},
    {"{\"columns\":[\"a\",\"b\"],\"rows\":[]}", 40, "a  b\n"},
    {"{\"columns\":[\"b\"],\"rows\":[[{\"base64\":\"AAE=\"}],[[1,2]]]}", 40,
     "b\n{\"base64\":\"AAE=\"}\n[1,2]\n"},
    {"{\"columns\":[\"n\"],\"rows\":[[123456789012345678901234567890],[18446744073709551615]]}", 40,
     "                             n\n123456789012345678901234567890\n"
     "          18446744073709551615\n"},
    /* columns that are too wide for the terminal are truncated, the widest first */
    {"{\"columns\":[\"id\",\"text\"],\"rows\":[[1,\"one two three four five\"]]}", 20,
     "id  text\n 1  one two three f…\n"},
    {"{\"columns\":[\"t\",\"u\"],\"rows\":[[\"漢字漢字漢字漢字\",\"e\xcc\x81...........\"]]}", 20,
     "t          u\n漢字漢字…  e\xcc\x81.......…\n"},
    {" [{\"a\":1,\"b\":\"x\"},{\"b\":\"y\",\"c\":null}]\n", 40, "a  b  c\n1  x  \n   y  NULL\n"},
    /* with too many columns, each value has a separate line */
    {"{\"columns\":[\"first\",\"b\",\"c\"],\"rows\":[[\"one two three "
     "four\",2,\"cccccccccc\"],[null,2,3]]}",
     17,
     "first  one two\n       three four\nb      2\nc      cccccccccc\n\n"
     "first  NULL\nb      2\nc      3\n"},
    /* control and invisible characters of a server are escaped */
    {"{\"columns\":[\"a\\u001b[2J\"],\"rows\":[[\"x\\ny\\u202e\"]],\"n\\n\":\"\\u0007\"}", 40,
     "a\\x1b[2J\nx\\x0ay\\u202e\nn\\x0a: \\x07\n"},
    {"{\"commits\":[{\"id\":\"0123456789abcdef\",\"subject\":\"What was "
     "done\",\"author\":{\"name\":\"A B\","
     "\"email\":\"a@b\",\"time\":\"2026-07-28T10:00:00Z\"},\"uri\":\"git:x\"},"
     "{\"id\":\"fedcba9876543210\",\"subject\":\"Before\",\"decorations\":[\"main\",{\"name\":"
     "\"v1\\n\"}]}],"
     "\"next\":\"git:y\"}",
     60,
     "01234567  2026-07-28  A B  What was done\n"
     "fedcba98                   (main, v1\\x0a) Before\nnext: git:y\n"},
    {"{\"commits\":[{\"id\":\"01234567\",\"subject\":\"A long line of a "
     "commit\",\"author\":{\"name\":\"N\","
     "\"time\":\"2026\"}}]}",
     30, "01234567  2026  N  A long lin…\n"},
    /* JSON that is not, or not quite, of this form */
    {"", 40, NULL},
    {"{", 40, NULL},
    {"[]", 40, NULL},
    {"{}", 40, NULL},
    {"[1]", 40, NULL},
    {"[{}]", 40, NULL},
    {"[{\"a\":1},2]", 40, NULL},
    {"[{\"a\":[]}]", 40, NULL},
    {"[{\"a\":1,\"a\":2}]", 40, NULL},
    {"{\"a\":1}", 40, NULL},
    {"{\"columns\":[],\"rows\":[]}", 40, NULL},
    {"{\"columns\":[1],\"rows\":[[1]]}", 40, NULL},
    {"{\"columns\":[\"a\"],\"rows\":[[1,2]]}", 40, NULL},
    {"{\"columns\":[\"a\"],\"rows\":[1]}", 40, NULL},
    {"{\"columns\":[\"a\"],\"rows\":{}}", 40, NULL},
    {"{\"columns\":[\"a\"],\"rows\":[[1]],\"more\":[1]}", 40, NULL},
    {"{\"commits\":[]}", 40, NULL},
    {"{\"commits\":[{\"id\":\"xyz\",\"subject\":\"s\"}]}", 40, NULL},
    {"{\"commits\":[{\"id\":\"01234567\",\"subject\":1}]}", 40, NULL},
    {"{\"commits\":[{\"id\":\"01234567\",\"subject\":\"s\"}],\"x\":{}}", 40, NULL},
};

static void forms(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(forms_cases) / sizeof(*forms_cases); i++) {
        char *shown = view_of(mcp_str_from(forms_cases[i].json), forms_cases[i].width);
        bool same = shown ? forms_cases[i].shown && strcmp(shown, forms_cases[i].shown) == 0
                          : !forms_cases[i].shown;
        if (!same)
            fail_msg("%s is shown as\n%s", forms_cases[i].json, shown ? shown : "it came");
        free(shown);
    }
}

/* Returns `part` repeated `count` times between `before` and `after`. */
static char *repeated(const char *before, const char *part, size_t count, const char *after)
{
    char *text = NULL;
    size_t len;
    FILE *f = open_memstream(&text, &len);
    assert_non_null(f);
    fputs(before, f);
    for (size_t i = 0; i < count; i++)
        fprintf(f, "%s%s", i ? "," : "", part);
    fputs(after, f);
    fclose(f);
    return text;
}

/* JSON beyond the size limits is not formatted; JSON slightly below them is. */
static void limits(void **state)
{
    static const struct {
        const char *before, *part, *after;
        size_t count;
        bool shown;
    } cases[] = {
        {"{\"columns\":[\"a\"],\"rows\":[", "[1]", "]}", 200000, true},
        {"{\"columns\":[\"a\"],\"rows\":[", "[1]", "]}", 200001, false},
        {"{\"columns\":[\"a\",\"b\"],\"rows\":[", "[1,2]", "]}", 100001, false},
        {"{\"columns\":[", "\"a\"", "],\"rows\":[]}", 64, true},
        {"{\"columns\":[", "\"a\"", "],\"rows\":[]}", 65, false},
        {"[", "{\"a\":1}", "]", 200001, false},
        {"{\"commits\":[", "{\"id\":\"01234567\",\"subject\":\"\"}", "]}", 50001, false},
        {"", "[", "", 100000, false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char *json = repeated(cases[i].before, cases[i].part, cases[i].count, cases[i].after);
        char *shown = view_of(mcp_str_from(json), 80);
        if ((shown != NULL) != cases[i].shown)
            fail_msg("%zu times '%s': %s", cases[i].count, cases[i].part, shown ? "shown" : "not");
        free(shown);
        free(json);
    }
    for (size_t len = 1024; len <= 1025; len++) { /* the length of a column's name */
        char name[1026] = "", json[2200];
        memset(name, 'n', len);
        snprintf(json, sizeof(json), "[{\"%s\":1}]", name);
        char *objects = view_of(mcp_str_from(json), 80);
        snprintf(json, sizeof(json), "{\"columns\":[\"%s\"],\"rows\":[[1]]}", name);
        char *page = view_of(mcp_str_from(json), 80);
        assert_true((objects != NULL) == (len == 1024) && (page != NULL) == (len == 1024));
        free(objects);
        free(page);
    }
    for (size_t len = 4 << 20; len <= (4 << 20) + 1; len++) {
        static const char before[] = "[{\"a\":\"", after[] = "\"}]";
        char *json = malloc(len + 1);
        assert_non_null(json);
        memset(json, 'x', len + 1);
        memcpy(json, before, strlen(before));
        memcpy(json + len - strlen(after), after, strlen(after));
        char *shown = view_of((mcp_str){json, len}, 80);
        assert_int_equal(shown != NULL, len == 4 << 20);
        free(shown);
        free(json);
    }
}

/* No line of a table is wider than the terminal, and truncated JSON is never shown as a table. */
static void widths_and_cuts(void **state)
{
    static const char json[] = "[{\"name\":\"a long text with 漢字漢字漢字漢字 and "
                               "\\u001b[31m\",\"n\":12345678901234567890,"
                               "\"z\":null},{\"name\":\"short\",\"n\":1,\"other\":"
                               "\"é́ and so on and on\"}]";
    (void)state;
    for (size_t width = 13; width < 150; width++) {
        char *shown = view_of(mcp_str_from(json), width);
        assert_non_null(shown);
        for (char *line = shown; *line;) {
            size_t len = strcspn(line, "\n");
            if (text_width((mcp_str){line, len}) > width)
                fail_msg("wider than %zu:\n%s", width, shown);
            line += len + 1;
        }
        free(shown);
    }
    for (size_t len = 0; len < strlen(json); len++)
        assert_null(view_of((mcp_str){json, len}, 80));
}

/* Results that consist of several pages. */
static void pages(void **state)
{
    char *text = NULL;
    size_t len;
    FILE *f = open_memstream(&text, &len);
    table *t = table_new(2, true);
    table_look look = {.width = 30, .last_is_wrapped = true, .first = "<", .plain = ">"};
    (void)state;
    assert_true(f && t);
    table_add(t, CELL_TEXT, MCP_STR("NAME"));
    table_add(t, CELL_TEXT, MCP_STR("ABOUT"));
    table_add(t, CELL_TEXT, MCP_STR("one"));
    table_add(t, CELL_TEXT, MCP_STR("What it does, in many words\nand lines"));
    assert_true(table_put(t, f, &look));
    table_add(t, CELL_TEXT, MCP_STR("longer"));
    table_add(t, CELL_TEXT, MCP_STR("What"));
    assert_true(table_put(t, f, &look));
    table_free(t);
    fclose(f);
    assert_string_equal(text,
                        "NAME  ABOUT\n<one >  What it does, in many\n      words\n      and lines\n"
                        "<longer>  What\n");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forms),
        cmocka_unit_test(limits),
        cmocka_unit_test(widths_and_cuts),
        cmocka_unit_test(pages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
