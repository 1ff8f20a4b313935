/* Random text in UTF-8, UTF-16 and UTF-32, with and without a byte order mark, and ranges of its
 * lines and bytes. The model encodes each line by itself, and knows where each begins. What is shown
 * as the text of UTF-16 is in UTF-16 what was stored. */
#define _GNU_SOURCE
#include <utf16.h>

#include "content.h"
#include "dice.h"
#include "rounds.h"
#include "shown.h"
#include "tree.h"

enum { FILES = 150, RANGES = 12, MAX_LINES = 2000, MAX_BYTES = 4 << 20 };

static unsigned char bytes[MAX_BYTES];
static size_t begins[MAX_LINES + 1], n_lines, len, n_read, n_shown;

static void put_unit(uint32_t c, size_t width, bool big)
{
    for (size_t i = 0; i < width; i++)
        bytes[len++] = (unsigned char)(c >> 8 * (big ? width - 1 - i : i));
}

static void put_char(uint32_t c, size_t width, bool big)
{
    if (width == 1) {
        if (c >= 0x10000)
            put_unit(0xf0 | c >> 18, 1, big), put_unit(0x80 | (c >> 12 & 63), 1, big);
        else if (c >= 0x800)
            put_unit(0xe0 | c >> 12, 1, big);
        else if (c >= 0x80)
            put_unit(0xc0 | c >> 6, 1, big);
        if (c >= 0x800)
            put_unit(0x80 | (c >> 6 & 63), 1, big);
        put_unit(c < 0x80 ? c : 0x80 | (c & 63), 1, big);
    } else if (width == 2 && c >= 0x10000) {
        put_unit(0xd800 + ((c - 0x10000) >> 10), 2, big);
        put_unit(0xdc00 + ((c - 0x10000) & 0x3ff), 2, big);
    } else {
        put_unit(c, width, big);
    }
}

/* Characters whose bytes look like line feeds or NUL in another form are frequent. */
static uint32_t any_char(void)
{
    static const uint32_t odd[] = {0x0a0a, 0x4e0a,       0x0a4e,  0x4e00,  0x010a,
                                   0x0a01, 0x0a00 + 0x5, 0x1f40a, 0x1010a, 0x20ac,
                                   0xe4,   0x3042,       0x0d,    0x2028,  0x85};
    switch (dice(4)) {
    case 0: return odd[dice(15)];
    case 1: return 0x4e00 + dice(0x5000);
    default: return 0x20 + dice(0x5f);
    }
}

static void make(size_t width, bool big, bool mark)
{
    size_t longest = dice(4) ? 60 : 3000;
    n_lines = len = 0;
    begins[0] = 0;
    if (mark)
        put_char(0xfeff, width, big);
    size_t lines = dice(3) ? dice(12) : dice(MAX_LINES);
    while (n_lines < lines && len + 4 * longest + 8 < MAX_BYTES) {
        begins[n_lines] = n_lines ? len : 0; /* the mark is part of the first line */
        n_lines++;
        /* without a mark, the form is guessed: the first line has ASCII, and ends soon */
        size_t n = n_lines == 1 ? 1 + dice(40) : dice((unsigned)longest);
        for (size_t i = 0; i < n; i++)
            put_char(n_lines == 1 ? 'a' + dice(26) : any_char(), width, big);
        if (n_lines < lines || dice(3))
            put_char('\n', width, big);
        else if (n == 0)
            n_lines--; /* nothing after the last line end is no line */
    }
    n_lines += n_lines == 0 && mark; /* a mark alone is a line */
    begins[n_lines] = len;
}

static bool is_utf16, is_big; /* with a mark */

/* The lines of UTF-16 as text are the same characters. */
static void check_shown(int fd, mcp_str stored)
{
    common_buffer text, back;
    const char *charset = files_shown_charset_of(fd);
    assert_int_equal(charset != NULL, is_utf16);
    if (!charset)
        return;
    common_buffer_init(&text, NULL);
    common_buffer_init(&back, NULL);
    assert_int_equal(files_shown_decode(stored, charset, &text), MCP_OK);
    assert_int_equal(editing_utf16_encode((mcp_str){text.ptr ? text.ptr : "", text.len}, is_big,
                                          SIZE_MAX, &back),
                     MCP_OK);
    assert_int_equal(back.len, stored.len);
    assert_true(!stored.len || memcmp(back.ptr, stored.ptr, stored.len) == 0);
    n_shown++;
    common_buffer_free(&text);
    common_buffer_free(&back);
}

static void check(const char *what, int fd, uint64_t a, uint64_t b, size_t from, size_t to)
{
    const files_reader r = {.fd = fd, .limit = SIZE_MAX};
    uint64_t begin = 0;
    common_buffer out;
    common_buffer_init(&out, NULL);
    int rc = *what == 'l'   ? files_read_lines(&r, a, b, &out, &begin)
             : *what == 't' ? files_read_tail(&r, len, a, &out)
             : *what == 'u' ? files_read_tail(&r, 0, a, &out) /* the size is not known */
                            : files_read_bytes(&r, a, b, &out);
    assert_int_equal(rc, MCP_OK);
    if (out.len != to - from || (out.len && memcmp(out.ptr, bytes + from, out.len) != 0))
        fail_msg("%s %llu, %llu of %zu lines and %zu bytes: %zu bytes, not those from %zu to %zu",
                 what, (unsigned long long)a, (unsigned long long)b, n_lines, len, out.len, from,
                 to);
    if (*what == 'l')
        assert_true(begin == from || from == to);
    if (*what != 'b')
        check_shown(fd, (mcp_str){out.ptr ? out.ptr : "", out.len});
    common_buffer_free(&out);
    n_read++;
}

static void check_ranges(int fd)
{
    for (unsigned i = 0; i < RANGES; i++) {
        size_t a = dice((unsigned)n_lines + 2), b = 1 + dice((unsigned)n_lines + 2);
        size_t first = a < n_lines ? a : n_lines, end = first + b < n_lines ? first + b : n_lines;
        check("lines", fd, a + 1, b, begins[first], begins[end]);
        check("tail", fd, b, 0, begins[b < n_lines ? n_lines - b : 0], len);
        if (len < 1 << 20)
            check("unknown tail", fd, b, 0, begins[b < n_lines ? n_lines - b : 0], len);
        size_t at = dice((unsigned)len + 1), n = 1 + dice((unsigned)len + 1);
        check("bytes", fd, at, n, at, at + n < len ? at + n : len);
    }
}

static void test_forms(void **state)
{
    static const size_t widths[] = {1, 2, 4};
    tree t;
    (void)state;
    tree_make(&t);
    for (unsigned i = 0; i < rounds(FILES); i++) {
        size_t width = widths[dice(3)];
        bool mark = dice(2);
        is_big = dice(2);
        is_utf16 = width == 2 && mark;
        make(width, is_big, mark);
        int fd = open(tree_at(&t, "f"), O_RDWR | O_CREAT | O_TRUNC, 0600);
        assert_true(fd >= 0 && write(fd, bytes, len) == (ssize_t)len);
        check_ranges(fd);
        close(fd);
    }
    tree_remove(&t);
    print_message("# %zu parts, %zu of them lines of UTF-16\n", n_read, n_shown);
    assert_true(n_shown > FILES / 10);
}

/* What is not text in such a form has lines of bytes. */
static void test_bytes(void **state)
{
    static const struct {
        const char *text;
        size_t len, second;
    } cases[] = {
        {"ab\n\0cd\n", 7, 3},
        {"\xe4\xf6\n\xfc\n", 5, 3},
        {"names\nand\0more and more\n", 24, 6},
    };
    tree t;
    (void)state;
    tree_make(&t);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        int fd = open(tree_at(&t, "f"), O_RDWR | O_CREAT | O_TRUNC, 0600);
        len = cases[i].len;
        is_utf16 = false;
        memcpy(bytes, cases[i].text, len);
        assert_true(write(fd, bytes, len) == (ssize_t)len);
        check("lines", fd, 1, 1, 0, cases[i].second);
        check("lines", fd, 2, 99, cases[i].second, len);
        close(fd);
    }
    tree_remove(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_forms), cmocka_unit_test(test_bytes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
