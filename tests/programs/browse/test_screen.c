/* The grid of cells: what a server sends stays in its columns, and controls nothing. */
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "screen.h"

static screen grid(size_t rows, size_t columns)
{
    screen s = {0};
    assert_true(screen_resize(&s, rows, columns));
    s.utf8 = true;
    return s;
}

static void check(screen *s, const char *want)
{
    char *shown = screen_text(s);
    assert_string_equal(shown, want);
    free(shown);
    screen_free(s);
}

/* Draws one text into 10 columns, with a bar on either side. */
static void check_text(mcp_str text, const char *want)
{
    screen s = grid(1, 12);
    area a = {0, 0, 1, 12};
    pen p = pen_at(&s, a, 0, LOOK_PLAIN);
    pen_put(&p, MCP_STR("[          ]"));
    a = (area){0, 1, 1, 10};
    p = pen_at(&s, a, 0, LOOK_PLAIN);
    pen_put(&p, text);
    check(&s, want);
}

static void stays_in_its_columns(void **state)
{
    (void)state;
    static const struct {
        const char *text, *want;
    } rows[] = {
        {"plain", "[plain     ]\n"},
        {"0123456789", "[0123456789]\n"},
        {"0123456789a", "[012345678…]\n"},
        {"日本語日本", "[日本語日本]\n"},
        {"日本語日本語", "[日本語日 …]\n"},
        {"a日本語日本", "[a日本語日…]\n"},
        {"e\xcc\x81t\xc3\xa9", "[e\xcc\x81t\xc3\xa9       ]\n"},
        {"\x1b[2J\x1b]0;x", "[\\x1b[2J…  ]\n"},
        {"a\nb", "[a\\x0ab    ]\n"},
        {"\xe2\x80\xaexyz", "[\\u202exyz ]\n"},
        {"a\xe2\x80\x8b", "[a\\u200b   ]\n"},
        {"\xff", "[\\xff      ]\n"},
        {"\xf0\x9f\x98\x80!", "[\xf0\x9f\x98\x80!       ]\n"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        check_text(mcp_str_from(rows[i].text), rows[i].want);
}

static void long_texts_are_cut(void **state)
{
    (void)state;
    size_t len = 10 << 20;
    char *text = malloc(len);
    assert_non_null(text);
    memset(text, 'x', len);
    check_text((mcp_str){text, len}, "[xxxxxxxxx…]\n");
    for (size_t i = 0; i + 1 < len; i += 2)
        memcpy(text + i, "\xcc\x81", 2); /* only combining characters */
    check_text((mcp_str){text, len}, "[…         ]\n");
    free(text);
}

static void ascii(void **state)
{
    (void)state;
    screen s = grid(1, 14);
    s.utf8 = false;
    pen p = pen_at(&s, (area){0, 0, 1, 14}, 0, LOOK_PLAIN);
    pen_put(&p, MCP_STR("\xc3\xa9"));
    pen_symbol(&p, "│", "|");
    pen_put(&p, MCP_STR("too long to show"));
    check(&s, "\\u00e9|too lo~\n");
}

static void halves_of_wide_characters(void **state)
{
    (void)state;
    screen s = grid(1, 6);
    pen p = pen_at(&s, (area){0, 0, 1, 6}, 0, LOOK_PLAIN);
    pen_put(&p, MCP_STR("日本語"));
    p = pen_at(&s, (area){0, 1, 1, 1}, 0, LOOK_PLAIN);
    pen_put(&p, MCP_STR("x"));
    check(&s, " x本語\n");
}

static void outside(void **state)
{
    (void)state;
    screen s = grid(2, 4);
    pen p = pen_at(&s, (area){5, 0, 1, 4}, 0, LOOK_PLAIN);
    pen_put(&p, MCP_STR("no"));
    p = pen_at(&s, (area){0, 9, 1, 4}, 0, LOOK_PLAIN);
    pen_put(&p, MCP_STR("no"));
    p = pen_at(&s, (area){1, 2, 1, 40}, 0, LOOK_PLAIN);
    pen_put(&p, MCP_STR("yes"));
    check(&s, "\n  y…\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stays_in_its_columns),
        cmocka_unit_test(long_texts_are_cut),
        cmocka_unit_test(ascii),
        cmocka_unit_test(halves_of_wide_characters),
        cmocka_unit_test(outside),
    };
    setlocale(LC_ALL, "C.UTF-8");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
