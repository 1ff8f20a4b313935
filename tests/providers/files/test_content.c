/* test_content.c: whole files and parts of them, at every limit and across every block.
 *
 * Compiled with include/, providers/files and tests/support on the include path, linked to the
 * files provider and cmocka. */
#define _GNU_SOURCE
#include "content.h"
#include "failalloc.h"
#include "text.h"
#include "tree.h"

enum what { WHOLE, BYTES, LINES, TAIL };

static int read_part(int fd, enum what what, uint64_t a, uint64_t b, size_t limit,
                     common_buffer *out)
{
    const files_reader r = {.fd = fd, .limit = limit};
    struct stat st;
    uint64_t begin;
    assert_int_equal(fstat(fd, &st), 0);
    switch (what) {
    case WHOLE: return files_read_whole(&r, (uint64_t)st.st_size, out);
    case BYTES: return files_read_bytes(&r, a, b, out);
    case LINES: return files_read_lines(&r, a, b, out, &begin);
    case TAIL: return files_read_tail(&r, (uint64_t)st.st_size, a, out);
    }
    return MCP_EINVAL;
}

static const struct {
    const char *file;
    enum what what;
    uint64_t a, b;
    size_t limit;
    int code;
    const char *expected;
} cases[] = {
    {"", WHOLE, 0, 0, 10, MCP_OK, ""},
    {"abc", WHOLE, 0, 0, 3, MCP_OK, "abc"},
    {"abc", WHOLE, 0, 0, 2, MCP_ELIMIT, NULL},
    {"abc", WHOLE, 0, 0, 0, MCP_ELIMIT, NULL},
    {"", WHOLE, 0, 0, 0, MCP_OK, ""},
    {"abc", WHOLE, 0, 0, SIZE_MAX, MCP_OK, "abc"},
    {"abcdef", BYTES, 2, 3, 10, MCP_OK, "cde"},
    {"abcdef", BYTES, 2, 99, 10, MCP_OK, "cdef"},
    {"abcdef", BYTES, 6, 1, 10, MCP_OK, ""},
    {"abcdef", BYTES, 99, 1, 10, MCP_OK, ""},
    {"abcdef", BYTES, UINT64_MAX, UINT64_MAX, 10, MCP_OK, ""},
    {"abcdef", BYTES, 0, 0, 10, MCP_OK, ""},
    {"abcdef", BYTES, 0, UINT64_MAX, 6, MCP_OK, "abcdef"},
    {"abcdef", BYTES, 0, UINT64_MAX, 5, MCP_ELIMIT, NULL},
    {"abcdef", BYTES, 1, UINT64_MAX, 5, MCP_OK, "bcdef"},
    {"a\nb\nc\n", LINES, 1, 1, 10, MCP_OK, "a\n"},
    {"a\nb\nc\n", LINES, 2, 2, 10, MCP_OK, "b\nc\n"},
    {"a\nb\nc", LINES, 3, 9, 10, MCP_OK, "c"},
    {"a\nb\nc\n", LINES, 4, 1, 10, MCP_OK, ""},
    {"a\nb\nc\n", LINES, 0, 1, 10, MCP_OK, "a\n"},
    {"a\nb\nc\n", LINES, 1, 0, 10, MCP_OK, ""},
    {"a\nb\nc\n", LINES, 1, UINT64_MAX, 10, MCP_OK, "a\nb\nc\n"},
    {"a\nb\nc\n", LINES, UINT64_MAX, UINT64_MAX, 10, MCP_OK, ""},
    {"long line\nb\n", LINES, 1, 1, 5, MCP_ELIMIT, NULL},
    {"long line\nb\n", LINES, 2, 1, 5, MCP_OK, "b\n"},
    {"a\r\nb", LINES, 1, 1, 5, MCP_OK, "a\r\n"},
    {"a\nb\nc\n", TAIL, 1, 0, 10, MCP_OK, "c\n"},
    {"a\nb\nc\n", TAIL, 2, 0, 10, MCP_OK, "b\nc\n"},
    {"a\nb\nc", TAIL, 1, 0, 10, MCP_OK, "c"},
    {"a\nb\nc", TAIL, 2, 0, 10, MCP_OK, "b\nc"},
    {"a\nb\nc\n", TAIL, 3, 0, 10, MCP_OK, "a\nb\nc\n"},
    {"a\nb\nc\n", TAIL, UINT64_MAX, 0, 10, MCP_OK, "a\nb\nc\n"},
    {"a\nb\nc\n", TAIL, 0, 0, 10, MCP_OK, ""},
    {"\n\n\n", TAIL, 1, 0, 10, MCP_OK, "\n"},
    {"\n\n\n", TAIL, 2, 0, 10, MCP_OK, "\n\n"},
    {"", TAIL, 5, 0, 10, MCP_OK, ""},
    {"no end", TAIL, 1, 0, 5, MCP_ELIMIT, NULL},
    {"b\nno end", TAIL, 1, 0, 6, MCP_OK, "no end"},
};

static void test_table(void **state)
{
    tree t;
    (void)state;
    tree_make(&t);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        common_buffer out;
        tree_file(&t, "f", cases[i].file);
        int fd = open(tree_at(&t, "f"), O_RDONLY);
        common_buffer_init(&out, NULL);
        int rc = read_part(fd, cases[i].what, cases[i].a, cases[i].b, cases[i].limit, &out);
        if (rc != cases[i].code)
            fail_msg("case %zu: %d", i, rc);
        if (rc == MCP_OK &&
            !mcp_str_eq((mcp_str){out.ptr, out.len}, mcp_str_from(cases[i].expected)))
            fail_msg("case %zu: \"%.*s\"", i, (int)out.len, out.ptr);
        common_buffer_free(&out);
        close(fd);
    }
    tree_remove(&t);
}

/* Lines of all lengths in several blocks of 64 KiB. Each kind of request must give the result of a
 * simple search. */
static void test_blocks(void **state)
{
    size_t size = 300000, lines = 0;
    char *text = malloc(size);
    size_t *begins = malloc((size + 2) * sizeof(*begins));
    uint32_t seed = 3;
    tree t;
    (void)state;
    begins[lines++] = 0;
    for (size_t i = 0; i < size; i++) {
        bool end = tree_random(&seed) % 700 == 0 || i % 65536 == 65535 || i % 65536 == 0;
        text[i] = end ? '\n' : (char)('a' + i % 26);
        if (end)
            begins[lines++] = i + 1;
    }
    text[size - 1] = 'x';
    begins[lines] = size;
    tree_make(&t);
    tree_bytes(&t, "f", text, size);
    int fd = open(tree_at(&t, "f"), O_RDONLY);
    for (int i = 0; i < 300; i++) {
        size_t first = tree_random(&seed) % lines, count = 1 + tree_random(&seed) % 200;
        if (first + count > lines)
            count = lines - first;
        common_buffer out;
        common_buffer_init(&out, NULL);
        size_t len = begins[first + count] - begins[first];
        assert_int_equal(read_part(fd, LINES, first + 1, count, len, &out), MCP_OK);
        assert_int_equal(out.len, len);
        assert_memory_equal(out.ptr, text + begins[first], len);
        out.len = 0;
        assert_int_equal(read_part(fd, LINES, first + 1, count, len - 1, &out), MCP_ELIMIT);
        out.len = 0;
        len = size - begins[lines - count];
        assert_int_equal(read_part(fd, TAIL, count, 0, len, &out), MCP_OK);
        assert_int_equal(out.len, len);
        assert_memory_equal(out.ptr, text + size - len, len);
        out.len = 0;
        assert_int_equal(read_part(fd, TAIL, count, 0, len - 1, &out), MCP_ELIMIT);
        out.len = 0;
        assert_int_equal(read_part(fd, BYTES, begins[first], len, len, &out), MCP_OK);
        assert_memory_equal(out.ptr, text + begins[first], out.len);
        common_buffer_free(&out);
    }
    common_buffer out;
    common_buffer_init(&out, NULL);
    assert_int_equal(read_part(fd, WHOLE, 0, 0, size, &out), MCP_OK);
    assert_int_equal(out.len, size);
    assert_memory_equal(out.ptr, text, size);
    common_buffer_free(&out);
    close(fd);
    free(text);
    free(begins);
    tree_remove(&t);
}

/* A hole of 8 GiB before the last lines: memory use depends on the result, not on the file's size. */
static void test_huge(void **state)
{
    const uint64_t hole = (uint64_t)8 << 30;
    failalloc f = {0};
    mcp_allocator a = failalloc_allocator(&f);
    common_buffer out;
    tree t;
    (void)state;
    tree_make(&t);
    tree_file(&t, "f", "first\n");
    int fd = open(tree_at(&t, "f"), O_RDWR);
    if (ftruncate(fd, (off_t)hole) < 0) {
        close(fd);
        tree_remove(&t);
        skip();
    }
    assert_int_equal(pwrite(fd, "\nlast\n", 6, (off_t)hole), 6);
    common_buffer_init(&out, &a);
    assert_int_equal(read_part(fd, TAIL, 1, 0, 1000, &out), MCP_OK);
    assert_true(mcp_str_eq((mcp_str){out.ptr, out.len}, MCP_STR("last\n")));
    assert_true(out.cap <= 65536);
    out.len = 0;
    assert_int_equal(read_part(fd, TAIL, 2, 0, 1000000, &out), MCP_ELIMIT);
    out.len = 0;
    assert_int_equal(read_part(fd, BYTES, hole + 1, 4, 1000, &out), MCP_OK);
    assert_true(mcp_str_eq((mcp_str){out.ptr, out.len}, MCP_STR("last")));
    out.len = 0;
    assert_int_equal(read_part(fd, LINES, 1, 1, 1000, &out), MCP_OK);
    assert_true(mcp_str_eq((mcp_str){out.ptr, out.len}, MCP_STR("first\n")));
    out.len = 0;
    assert_int_equal(read_part(fd, WHOLE, 0, 0, 1000, &out), MCP_ELIMIT);
    common_buffer_free(&out);
    assert_int_equal(f.live, 0);
    close(fd);
    tree_remove(&t);
}

/* The size that is passed is what fstat() said earlier; the file has changed since. */
static void test_changed(void **state)
{
    tree t;
    (void)state;
    tree_make(&t);
    tree_file(&t, "f", "0123456789");
    int fd = open(tree_at(&t, "f"), O_RDONLY);
    const files_reader r = {.fd = fd, .limit = 10}, small = {.fd = fd, .limit = 5};
    for (uint64_t size = 0; size <= 10; size++) {
        common_buffer out;
        common_buffer_init(&out, NULL);
        assert_int_equal(files_read_whole(&r, size, &out), MCP_OK);
        assert_int_equal(out.len, 10);
        out.len = 0;
        assert_int_equal(files_read_whole(&small, size, &out), MCP_ELIMIT);
        common_buffer_free(&out);
    }
    common_buffer out;
    common_buffer_init(&out, NULL);
    const files_reader large = {.fd = fd, .limit = 100};
    assert_int_equal(files_read_whole(&large, 90, &out), MCP_OK);
    assert_int_equal(out.len, 10);
    out.len = 0;
    assert_int_equal(files_read_tail(&large, 90, 1, &out), MCP_OK);
    common_buffer_free(&out);
    close(fd);
    fd = open("/proc/self/status", O_RDONLY); /* its size is reported as 0 */
    if (fd >= 0) {
        const files_reader proc = {.fd = fd, .limit = 100000};
        common_buffer_init(&out, NULL);
        assert_int_equal(files_read_whole(&proc, 0, &out), MCP_OK);
        assert_true(out.len > 100);
        common_buffer_free(&out);
        close(fd);
    }
    tree_remove(&t);
}

/* Lines have their offset, also if they are too large; blocks before them are counted. */
static void test_begin(void **state)
{
    enum { LINES_BEFORE = 30000 };
    static char text[10 * LINES_BEFORE + 100];
    tree t;
    (void)state;
    tree_make(&t);
    size_t len = 0;
    for (int i = 0; i < LINES_BEFORE; i++)
        len += (size_t)sprintf(text + len, "%s\n", i % 3 ? "abc" : "longer one");
    sprintf(text + len, "the line\nafter it");
    tree_file(&t, "f", text);
    int fd = open(tree_at(&t, "f"), O_RDONLY);
    for (size_t limit = 8; limit <= 9; limit++) {
        const files_reader r = {.fd = fd, .limit = limit};
        uint64_t begin = 0;
        common_buffer out;
        common_buffer_init(&out, NULL);
        assert_int_equal(files_read_lines(&r, LINES_BEFORE + 1, 1, &out, &begin),
                         limit < 9 ? MCP_ELIMIT : MCP_OK);
        assert_int_equal(begin, len);
        out.len = 0;
        assert_int_equal(files_read_lines(&r, LINES_BEFORE + 2, 9, &out, &begin), MCP_OK);
        assert_int_equal(begin, len + 9);
        assert_int_equal(out.len, 8);
        out.len = 0;
        assert_int_equal(files_read_lines(&r, 0, 1, &out, &begin), MCP_ELIMIT);
        assert_int_equal(begin, 0);
        common_buffer_free(&out);
    }
    close(fd);
    tree_remove(&t);
}

/* The part of a text between two offsets. */
static void test_parts_of_text(void **state)
{
    static const char text[] = "a\xc3\xa4\xe2\x98\x95\xf0\x9f\x98\x80z";
    static const size_t starts[] = {0, 1, 3, 6, 10, 11};
    char feeds[400];
    (void)state;
    for (size_t from = 0; from < sizeof(text); from++)
        for (size_t to = from; to < sizeof(text); to++) {
            size_t first = 0, last = sizeof(starts) / sizeof(*starts) - 1;
            while (starts[first] < from)
                first++;
            while (starts[last] > to)
                last--;
            mcp_str whole = common_text_whole((mcp_str){text + from, to - from});
            size_t len = starts[last] > starts[first] ? starts[last] - starts[first] : 0;
            assert_int_equal(whole.len, len);
            assert_true(!len || whole.ptr == text + starts[first]);
        }
    memset(feeds, '\n', sizeof(feeds));
    for (size_t len = 0; len <= sizeof(feeds); len++)
        assert_int_equal(common_text_feeds((mcp_str){feeds, len}), len);
    memset(feeds, 'x', sizeof(feeds));
    assert_int_equal(common_text_feeds((mcp_str){feeds, sizeof(feeds)}), 0);
}

/* One byte that is not ASCII is found wherever it is. */
static void test_long_text(void **state)
{
    char text[200];
    (void)state;
    memset(text, 'x', sizeof(text));
    for (size_t i = 0; i + 1 < sizeof(text); i++) {
        text[i] = '\xc3';
        assert_false(common_text_utf8((mcp_str){text, sizeof(text)}));
        text[i + 1] = '\xa4';
        assert_true(common_text_utf8((mcp_str){text, sizeof(text)}));
        assert_false(common_text_utf8((mcp_str){text, i + 1}));
        text[i] = text[i + 1] = 'x';
    }
}

static bool stop(void *user)
{
    return ++*(int *)user > 1;
}

static void test_stop(void **state)
{
    int asked = 0;
    tree t;
    common_buffer out;
    (void)state;
    tree_make(&t);
    tree_file(&t, "f", "");
    int fd = open(tree_at(&t, "f"), O_RDWR);
    assert_int_equal(ftruncate(fd, 1 << 20), 0);
    const files_reader r = {.fd = fd, .limit = 10, .stop = stop, .user = &asked};
    common_buffer_init(&out, NULL);
    uint64_t begin;
    assert_int_equal(files_read_lines(&r, 2, 1, &out, &begin), MCP_ECANCELLED);
    assert_int_equal(asked, 2);
    const files_reader bad = {.fd = -1, .limit = 10};
    assert_int_equal(files_read_whole(&bad, 5, &out), MCP_EIO);
    assert_int_equal(files_read_lines(&bad, 1, 1, &out, &begin), MCP_EIO);
    assert_int_equal(files_read_tail(&bad, 5, 1, &out), MCP_EIO);
    common_buffer_free(&out);
    close(fd);
    tree_remove(&t);
}

static void test_no_memory(void **state)
{
    tree t;
    (void)state;
    tree_make(&t);
    tree_file(&t, "f", "a\nb\n");
    int fd = open(tree_at(&t, "f"), O_RDONLY);
    for (int what = WHOLE; what <= TAIL; what++) {
        for (size_t n = 1;; n++) {
            failalloc f = {.fail_at = n};
            mcp_allocator a = failalloc_allocator(&f);
            common_buffer out;
            common_buffer_init(&out, &a);
            int rc = read_part(fd, (enum what)what, 1, 2, 100, &out);
            common_buffer_free(&out);
            assert_int_equal(f.live, 0);
            assert_int_equal(rc, f.calls < n ? MCP_OK : MCP_ENOMEM);
            if (f.calls < n)
                break;
        }
    }
    close(fd);
    tree_remove(&t);
}

static const struct {
    const char *bytes;
    size_t len;
    bool utf8, text;
} texts[] = {
    {"", 0, true, true},
    {"plain", 5, true, true},
    {"a\0b", 3, true, false},
    {"01234567\0", 9, true, false},
    {"\xc3\xa9", 2, true, true},
    {"01234567\xc3\xa9", 10, true, true},
    {"0123456\xc3\xa9", 9, true, true},
    {"\xc3", 1, false, false},
    {"\xa9", 1, false, false},
    {"\xc0\xaf", 2, false, false},
    {"\xc1\xbf", 2, false, false},
    {"\xe0\x80\xaf", 3, false, false},
    {"\xe0\xa0\x80", 3, true, true},
    {"\xe2\x82", 2, false, false},
    {"\xed\x9f\xbf", 3, true, true},
    {"\xed\xa0\x80", 3, false, false},
    {"\xef\xbf\xbf", 3, true, true},
    {"\xf0\x80\x80\x80", 4, false, false},
    {"\xf0\x9f\x98\x80", 4, true, true},
    {"\xf4\x8f\xbf\xbf", 4, true, true},
    {"\xf4\x90\x80\x80", 4, false, false},
    {"\xf5\x80\x80\x80", 4, false, false},
    {"\xff", 1, false, false},
    {"\xe2\x82\x41", 3, false, false},
};

static void test_text(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        mcp_str s = {texts[i].bytes, texts[i].len};
        if (common_text_utf8(s) != texts[i].utf8 || common_text_check(s) != texts[i].text)
            fail_msg("case %zu", i);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),         cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_huge),          cmocka_unit_test(test_changed),
        cmocka_unit_test(test_stop),          cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_text),          cmocka_unit_test(test_begin),
        cmocka_unit_test(test_parts_of_text), cmocka_unit_test(test_long_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
