/* Images: their sizes, the rows that they take, and what is written to the terminal. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "dice.h"
#include "lines.h"

#define PNG         "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x64\0\0\0\x32"
#define BYTES(text) ((mcp_str){text, sizeof(text) - 1})

static void sizes(void **state)
{
    (void)state;
    static const struct {
        mcp_str bytes;
        unsigned width, height; /* 0: no image */
    } rows[] = {
        {{PNG, sizeof(PNG) - 1}, 100, 50},
        {{PNG, 20}, 0, 0},
        {{"GIF89a\x0a\0\x14\0", 10}, 10, 20},
        {{"\xff\xd8\xff\xe0\0\x04xx\xff\xc0\0\x11\x08\0\x14\0\x0a\x03", 18}, 10, 20},
        {{"\xff\xd8\xff\xe0\xff\xff", 6}, 0, 0},
        {{"RIFF\0\0\0\0WEBPVP8X\0\0\0\0\0\0\0\0\x09\0\0\x13\0\0", 30}, 10, 20},
        {{"RIFF\0\0\0\0WEBPVP8 \0\0\0\0\0\0\0\x9d\x01\x2a\x0a\0\x14\0", 30}, 10, 20},
        {{"GIF89a\0\0\x14\0", 10}, 0, 0},
        {{"text", 4}, 0, 0},
        {{"", 0}, 0, 0},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        unsigned width = 7, height = 7;
        assert_int_equal(picture_size(rows[i].bytes, &width, &height), rows[i].width != 0);
        if (rows[i].width)
            assert_true(width == rows[i].width && height == rows[i].height);
    }
}

/* Headers of every kind with random rests, in blocks of their exact length. */
static void random_bytes(void **state)
{
    static const mcp_str heads[] = {
        {PNG, 16}, {"GIF8", 4}, {"\xff\xd8\xff", 3}, {"RIFF\0\0\0\0WEBPVP8", 15}, {"", 0}};
    (void)state;
    for (size_t n = 0; n < 200000; n++) {
        mcp_str head = heads[dice(5)];
        size_t len = dice(60);
        char *bytes = malloc(len + 1);
        unsigned width, height;
        for (size_t i = 0; i < len; i++)
            bytes[i] = i < head.len ? head.ptr[i] : (char)dice(256);
        char *exact = len ? malloc(len) : NULL;
        if (len)
            memcpy(exact, bytes, len);
        if (len && picture_size((mcp_str){exact, len}, &width, &height))
            assert_true(width && height && width <= 10000 && height <= 10000);
        free(exact);
        free(bytes);
    }
}

static picture *a_picture(void)
{
    char *bytes = malloc(sizeof(PNG));
    memcpy(bytes, PNG, sizeof(PNG));
    picture *p = picture_new(bytes, sizeof(PNG) - 1);
    assert_non_null(p);
    return p;
}

static void output(void **state)
{
    static const struct {
        picture_protocol way;
        const char *want;
    } rows[] = {
        {PICTURE_KITTY, "\0337\033[3;5H\033_Ga=T,f=100,q=2,C=1,c=10,r=3,m=0;"
                        "iVBORw0KGgoAAAANSUhEUgAAAGQAAAAy\033\\\0338"},
        {PICTURE_ITERM, "\0337\033[3;5H\033]1337;File=inline=1;size=24;width=10;height=3:"
                        "iVBORw0KGgoAAAANSUhEUgAAAGQAAAAy\a\0338"},
    };
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        char *text = NULL;
        size_t len, height, width;
        picture_way = rows[i].way;
        picture *p = a_picture();
        picture_fit(p, (picture_cell){10, 20}, 20, 50, &height, &width);
        FILE *f = open_memstream(&text, &len);
        picture_put(f, p, (picture_cell){10, 20}, 2, 4, height, width);
        fclose(f);
        assert_string_equal(text, rows[i].want);
        free(text);
        picture_free(p);
    }
}

/* Without a protocol, or with one for other formats, the bytes stay those of the caller. */
static void not_shown(void **state)
{
    char gif[] = "GIF89a\x0a\0\x14";
    (void)state;
    picture_way = PICTURE_NONE;
    assert_null(picture_new(gif, sizeof(gif)));
    picture_way = PICTURE_KITTY;
    assert_null(picture_new(gif, sizeof(gif)));
    assert_null(picture_new(gif, 5));
}

/* A picture is shown where all of its rows are on the screen; above and below it are the other lines. */
static void in_lines(void **state)
{
    (void)state;
    picture_way = PICTURE_ITERM;
    lines l = {0};
    screen s = {.utf8 = true};
    area where = {1, 2, 8, 30};
    assert_true(screen_resize(&s, 10, 40));
    lines_put_text(&l, LOOK_PLAIN, MCP_STR("above"));
    lines_put_picture(&l, a_picture());
    lines_put_text(&l, LOOK_PLAIN, MCP_STR("below"));
    lines_draw(&l, &s, where, 0, SIZE_MAX);
    assert_int_equal(l.n_rows, 5);
    assert_int_equal(s.n_pictures, 1);
    assert_int_equal(s.pictures[0].row, 2);
    assert_int_equal(s.pictures[0].column, 2);
    screen before = {0};
    screen_copy(&before, &s);
    assert_true(screen_equal(&before, &s));
    screen_clear(&s);
    lines_draw(&l, &s, (area){1, 2, 3, 30}, 0, SIZE_MAX);
    char *text = screen_text(&s);
    assert_int_equal(s.n_pictures, 0);
    assert_string_equal(text, "\n  above\n  [an image of 100 x 50, which …\n\n\n\n\n\n\n\n");
    assert_false(screen_equal(&before, &s));
    free(text);
    screen_free(&before);
    screen_free(&s);
    lines_clear(&l);
}

static void names(void **state)
{
    picture_protocol way;
    (void)state;
    unsetenv("TMUX");
    setenv("TERM", "xterm-kitty", 1);
    assert_true(picture_choose(NULL, &way) && way == PICTURE_KITTY);
    setenv("TMUX", "x", 1);
    assert_true(picture_choose("auto", &way) && way == PICTURE_NONE);
    assert_true(picture_choose("sixel", &way) && way == PICTURE_SIXEL);
    assert_false(picture_choose("png", &way));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes),     cmocka_unit_test(random_bytes), cmocka_unit_test(output),
        cmocka_unit_test(not_shown), cmocka_unit_test(in_lines),     cmocka_unit_test(names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
