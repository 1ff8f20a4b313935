/* Wrapping text to the width of a terminal: where the lines end, and that nothing is lost. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <common/text.h>

/* Returns a string to be freed. */
static char *wrapped(mcp_str s, text_mode mode, text_lines form, size_t *end)
{
    char *text = NULL;
    size_t len, column;
    FILE *f = open_memstream(&text, &len);
    assert_non_null(f);
    column = text_put_wrapped(f, s, mode, form);
    fclose(f);
    if (end)
        *end = column;
    return text;
}

static void lines(void **state)
{
    static const struct {
        const char *text;
        text_lines form;
        const char *block;
    } table[] = {
        {"one two three", {0}, "one two three"},
        {"one two\nthree", {.indent = 2, .column = 2}, "one two\n  three"},
        {"one two three four", {.width = 14}, "one two three\nfour"},
        {"one two three four", {.width = 13}, "one two three\nfour"},
        {"one two three four", {.width = 12}, "one two\nthree four"},
        {"one two three four", {.width = 14, .indent = 2}, "one two three\n  four"},
        {"one two three four", {.width = 14, .indent = 2, .column = 6}, "one two\n  three four"},
        {"one two", {.width = 14, .indent = 2, .column = 13}, "\n  one two"},
        {"a   b\n\n  c", {.width = 20}, "a   b\n\n  c"},
        {"end   \nof a line   ", {.width = 20}, "end\nof a line"},
        {"end\r\nof", {.width = 20}, "end\nof"},
        {"end\rof", {.width = 20}, "end\\x0dof"},
        /* continuation lines keep the indentation */
        {"  one two three four\nfive six seven",
         {.width = 12},
         "  one two\n  three four\nfive six\nseven"},
        {"\tone two", {.width = 30}, "\tone two"},
        {"\tone two three", {.width = 18}, "\tone two\n        three"},
        {"                 one", {.width = 12}, "one"},
        /* a word that is longer than a line is split */
        {"a bcdefghijklmnopqrs t", {.width = 10}, "a\nbcdefghijk\nlmnopqrs t"},
        {"https://example.com/a", {.width = 12, .indent = 2}, "https://ex\n  ample.com/\n  a"},
        /* there is no room, so the terminal wraps the line */
        {"one two", {.width = 12, .indent = 6}, "one two"},
        /* wide characters take two columns; a line ends between them */
        {"漢字漢字漢字", {.width = 10}, "漢字漢字漢\n字"},
        {"ab 漢字漢字", {.width = 10}, "ab 漢字漢\n字"},
        {"ab漢字漢字cd", {.width = 10}, "ab漢字漢字\ncd"},
        {"abc漢字漢字", {.width = 10}, "abc漢字漢\n字"},
        /* combining and omitted characters take no column */
        {"e\xcc\x81"
         "e\xcc\x81"
         "e\xcc\x81 abcdef",
         {.width = 10},
         "e\xcc\x81"
         "e\xcc\x81"
         "e\xcc\x81 abcdef"},
        {"❤\xef\xb8\x8f 2345678", {.width = 10}, "❤ 2345678"},
        /* an escape counts with its displayed width and is not split */
        {"ab \x1b[1m cde", {.width = 10}, "ab \\x1b[1m\ncde"},
        {"abcdefgh\xe2\x80\xae", {.width = 10}, "abcdefgh\n\\u202e"},
        {"\xff\xff\xff", {.width = 10}, "\\xff\\xff\n\\xff"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
        char *text = wrapped(mcp_str_from(table[i].text), TEXT_BLOCK, table[i].form, NULL);
        if (strcmp(text, table[i].block) != 0)
            fail_msg("%zu: '%s' was wrapped to '%s'", i, table[i].text, text);
        free(text);
    }
}

static void one_line(void **state)
{
    size_t end;
    char *text = wrapped(MCP_STR("a\nb\tc def ghij"), TEXT_LINE, (text_lines){.width = 12}, &end);
    (void)state;
    assert_string_equal(text, "a\\x0ab\\x09c\ndef ghij");
    assert_int_equal(end, 8);
    free(text);
}

/* Removes the white space from a text. */
static void squeeze(char *text)
{
    char *to = text;
    for (const char *p = text; *p; p++)
        if (!strchr(" \t\r\n", *p))
            *to++ = *p;
    *to = 0;
}

/* Returns the column after a line that begins in `column`. */
static size_t column_behind(mcp_str line, size_t column)
{
    const char *tab;
    for (; (tab = memchr(line.ptr, '\t', line.len)) != NULL;) {
        mcp_str before = {line.ptr, (size_t)(tab - line.ptr)};
        column = ((column + text_width(before)) / 8 + 1) * 8;
        line = (mcp_str){tab + 1, line.len - before.len - 1};
    }
    return column + text_width(line);
}

static void make_text(unsigned *seed, char to[400])
{
    static const char *const parts[] = {
        "a",  "bc",           "word",        " ",    "  ",       "\t",           "\n",   "\r\n",
        "\r", "字",           "e\xcc\x81",   "\xff", "\xe2\x80", "\xe2\x80\xae", "\x1b", "❤",
        "👩",  "\xe2\x80\x8d", "\xef\xb8\x8f"};
    size_t at = 0;
    for (int n = 0; n < 60; n++) {
        *seed = *seed * 1103515245 + 12345;
        at += (size_t)snprintf(to + at, 400 - at, "%s",
                               parts[(*seed >> 16) % (sizeof(parts) / sizeof(*parts))]);
    }
}

/* For generated texts, no line is too wide, and only white space is lost or added. */
static void anything(void **state)
{
    unsigned seed = 1;
    (void)state;
    for (int round = 0; round < 20000; round++) {
        char text[400], *plain = NULL;
        size_t len;
        make_text(&seed, text);
        text_lines form = {.width = 10 + (seed >> 16) % 30, .indent = (seed >> 24) % 12};
        form.column = form.indent;
        char *shown = wrapped(mcp_str_from(text), TEXT_BLOCK, form, NULL), *line = shown;
        while (form.width >= form.indent + 10) {
            mcp_str all = {line, strcspn(line, "\n")};
            if (column_behind(all, line == shown ? form.indent : 0) > form.width)
                fail_msg("more than %zu columns: '%s'", form.width, shown);
            if (!line[all.len])
                break;
            line += all.len + 1;
        }
        FILE *f = open_memstream(&plain, &len);
        text_put(f, mcp_str_from(text), TEXT_BLOCK);
        fclose(f);
        squeeze(plain), squeeze(shown);
        assert_string_equal(shown, plain);
        free(plain);
        free(shown);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines),
        cmocka_unit_test(one_line),
        cmocka_unit_test(anything),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
