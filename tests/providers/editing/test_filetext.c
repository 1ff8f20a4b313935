/* Texts of files: their charsets, marks and line ends, and back to bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "rewrite.h"
#include "texts.h"

/* Reads the bytes, and writes them back as they are. */
static const struct {
    mcp_str bytes;
    const char *charset, *found, *text; /* `charset` NULL: none is named */
} opens[] = {
    {BYTES(""), NULL, "UTF-8", ""},
    {BYTES("a\nb"), NULL, "UTF-8", "a\nb"},
    {BYTES("\xc3\xa9\r\n"), NULL, "UTF-8", "\xc3\xa9\r\n"},
    {BYTES("\xef\xbb\xbf"), NULL, "UTF-8", ""},
    {BYTES("\xef\xbb\xbf"
           "a"),
     NULL, "UTF-8", "a"},
    {BYTES("\xef\xbb\xbf"
           "a"),
     "utf8", "UTF-8", "a"},
    {BYTES("\xff\xfe"), NULL, "UTF-16LE", ""},
    {BYTES("\xff\xfe"
           "a\0\xac\x20"),
     NULL, "UTF-16LE", "a\xe2\x82\xac"},
    {BYTES("\xff\xfe"
           "a\0"),
     "UTF-16", "UTF-16LE", "a"},
    {BYTES("\xfe\xff\0a\xd8\x3d\xde\x00"), NULL, "UTF-16BE", "a\xf0\x9f\x98\x80"},
    {BYTES("a\0b\0\n\0"), NULL, "UTF-16LE", "ab\n"},
    {BYTES("\0a\0b\0\r\0\n"), NULL, "UTF-16BE", "ab\r\n"},
    {BYTES("\0a\0b"), "utf-16", "UTF-16BE", "ab"},
    {BYTES("\x2d\x4e\x87\x65"), "UTF-16LE", "UTF-16LE", "\xe4\xb8\xad\xe6\x96\x87"},
    {BYTES("caf\xe9\n"), "latin1", "ISO-8859-1", "caf\xc3\xa9\n"},
    {BYTES("\x80"), "Windows-1252", "CP1252", "\xe2\x82\xac"},
    {BYTES("\x83\x5c\n"), "shift_jis", "SHIFT_JIS", "\xe3\x82\xbd\n"},
    {BYTES("\xb0\xa1"), "EUC-KR", "EUC-KR", "\xea\xb0\x80"},
    {BYTES("\x94\x39\xfc\x36"), "gb18030", "GB18030", "\xf0\x9f\x98\x80"},
    {BYTES("plain"), "US-ASCII", "US-ASCII", "plain"},
};

static void test_open(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(opens); i++) {
        mcp_str bytes = exactly(opens[i].bytes), back;
        editing_text t;
        mcp_error error = {.code = 1};
        common_buffer changed, room;
        int rc = editing_text_open(bytes, mcp_str_from(opens[i].charset), ANY, NULL, &t, &error);
        if (rc != MCP_OK || strcmp(editing_text_charset(&t), opens[i].found) != 0 ||
            !mcp_str_eq(t.text, mcp_str_from(opens[i].text)))
            fail_msg("%zu %s: %d %s", i, opens[i].text, rc, error.text);
        assert_int_equal(error.code, MCP_OK);
        assert_int_equal(editing_changed_begin(&t, 0, &changed), MCP_OK);
        assert_int_equal(common_buffer_append(&changed, t.text.ptr, t.text.len), MCP_OK);
        assert_int_equal(editing_changed_bytes(&t, &changed, ANY, &room, &back, &error), MCP_OK);
        if (!mcp_str_eq(back, bytes))
            fail_msg("%zu %s: not the same bytes", i, opens[i].text);
        common_buffer_free(&room);
        common_buffer_free(&changed);
        editing_text_close(&t);
        drop(bytes);
    }
}

static const struct {
    mcp_str bytes;
    const char *charset;
    int code;
    const char *text;
} refusals[] = {
    {BYTES("ab\0c"), NULL, MCP_EPARSE, "the file is not a text: byte 2 is NUL"},
    {BYTES("a\xff"), NULL, MCP_EPARSE,
     "the file is not UTF-8 (byte 1); if it is a text, name its charset"},
    {BYTES("\xc3\xa9\xc3"), NULL, MCP_EPARSE,
     "the file is not UTF-8 (byte 2); if it is a text, name its charset"},
    {BYTES("\xef\xbb\xbf\xff"), NULL, MCP_EPARSE, "the file is not a text in UTF-8: byte 3"},
    {BYTES("\xff\xfe\0\0"
           "a\0\0\0"),
     NULL, MCP_EUNSUPPORTED, "a text in UTF-32 cannot be edited"},
    {BYTES("\xff\xfe"
           "a\0\0"),
     NULL, MCP_EPARSE, "the file is not a text in UTF-16LE: byte 4"},
    {BYTES("\xff\xfe\0\xd8"
           "a\0"),
     NULL, MCP_EPARSE, "the file is not a text in UTF-16LE: byte 2"},
    {BYTES("\xff\xfe"
           "a\0\0\0b\0"),
     NULL, MCP_EPARSE, "the file is not a text in UTF-16LE: it has NUL"},
    /* Chinese without a mark, and two bytes of anything. */
    {BYTES("\x2d\x4e\x87\x65"), "UTF-16", MCP_EPARSE,
     "the file has no mark: name its charset UTF-16LE or UTF-16BE"},
    {BYTES("\x01\0\x02\0"), NULL, MCP_EPARSE, "the file is not a text: byte 1 is NUL"},
    {BYTES("a"), "ISO-2022-JP", MCP_EUNSUPPORTED,
     "a text in ISO-2022-JP cannot be written back exactly"},
    {BYTES("a"), "UTF-7", MCP_EUNSUPPORTED, "a text in UTF-7 cannot be written back exactly"},
    {BYTES("a"), "cp1258", MCP_EUNSUPPORTED, "a text in cp1258 cannot be written back exactly"},
    {BYTES("a"), "EBCDIC-US", MCP_EUNSUPPORTED,
     "a text in EBCDIC-US cannot be written back exactly"},
    {BYTES("a"), "klingon", MCP_EINVAL, "no charset klingon is known here"},
    {BYTES("a"), "UTF-8//IGNORE", MCP_EINVAL, "this is not the name of a charset"},
    {BYTES("\xff\xfe"
           "a\0"),
     "UTF-8", MCP_EINVAL, "the file begins with the mark of UTF-16LE, not UTF-8"},
    {BYTES("\xef\xbb\xbf"), "UTF-16", MCP_EINVAL,
     "the file begins with the mark of UTF-8, not UTF-16"},
    {BYTES("a\x81"), "CP1252", MCP_EPARSE, "the file is not a text in CP1252: byte 1"},
    {BYTES("\x83"), "SHIFT_JIS", MCP_EPARSE, "the file is not a text in SHIFT_JIS: byte 0"},
    /* A character that has two forms. */
    {BYTES("\xfa\x54"), "CP932", MCP_EUNSUPPORTED,
     "this file in CP932 cannot be written back exactly"},
    {BYTES("a\0"), "ISO-8859-1", MCP_EPARSE, "the file is not a text in ISO-8859-1: it has NUL"},
};

static void test_refusals(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(refusals); i++) {
        mcp_str bytes = exactly(refusals[i].bytes);
        editing_text t;
        mcp_error error = {0};
        int rc = editing_text_open(bytes, mcp_str_from(refusals[i].charset), ANY, NULL, &t, &error);
        if (rc != refusals[i].code || error.code != rc || strcmp(error.text, refusals[i].text) != 0)
            fail_msg("%zu: %d %s, not %s", i, rc, error.text, refusals[i].text);
        drop(bytes);
    }
}

static void test_sizes(void **state)
{
    editing_text t;
    (void)state;
    assert_int_equal(editing_text_open(MCP_STR("abc"), MCP_STR(""), 3, NULL, &t, NULL), MCP_OK);
    assert_int_equal(editing_text_open(MCP_STR("abc"), MCP_STR(""), 2, NULL, &t, NULL), MCP_ELIMIT);
    assert_int_equal(editing_text_open(MCP_STR("\xe9\xe9"), MCP_STR("latin1"), 3, NULL, &t, NULL),
                     MCP_ELIMIT);
    assert_int_equal(editing_text_open(MCP_STR("\xff\xfe\xac\x20"), MCP_STR(""), 2, NULL, &t, NULL),
                     MCP_ELIMIT);
    editing_text_close(NULL);
    t = (editing_text){0};
    editing_text_close(&t);
}

/* A whole new text over a file; `charset` NULL and `file` NULL: a new file. */
static const struct {
    const char *file, *charset, *text;
    mcp_str bytes;
} replacements[] = {
    {NULL, NULL, "a\nb\n", BYTES("a\nb\n")},
    {NULL, NULL, "a\r\nb", BYTES("a\r\nb")},
    {NULL, NULL,
     "\xef\xbb\xbf"
     "a",
     BYTES("\xef\xbb\xbf"
           "a")},
    {NULL, "UTF-16", "a",
     BYTES("\xff\xfe"
           "a\0")},
    {NULL, "UTF-16",
     "\xef\xbb\xbf"
     "a",
     BYTES("\xff\xfe"
           "a\0")},
    {NULL, "UTF-16BE", "a", BYTES("\0a")},
    {NULL, "latin1", "\xc3\xa9", BYTES("\xe9")},
    {"a\nb\n", NULL, "c\nd", BYTES("c\nd")},
    {"a\nb\n", NULL, "c\r\nd", BYTES("c\r\nd")},
    {"a\nb\n", NULL,
     "\xef\xbb\xbf"
     "c",
     BYTES("c")},
    {"\xef\xbb\xbf"
     "a",
     NULL, "b\n",
     BYTES("\xef\xbb\xbf"
           "b\n")},
    {"\xef\xbb\xbf"
     "a",
     NULL,
     "\xef\xbb\xbf"
     "b",
     BYTES("\xef\xbb\xbf"
           "b")},
    {"a\r\nb\r\n", NULL, "c\nd\ne\n", BYTES("c\r\nd\r\ne\r\n")},
    {"a\r\nb\r\n", NULL, "c\r\nd\n", BYTES("c\r\nd\n")}, /* says which it means */
    {"a\rb\r", NULL, "b\nc\n", BYTES("b\rc\r")},
    /* Unchanged lines keep theirs, others have a neighbour's. */
    {"a\r\nb\nc\r\nd\n", NULL, "b\nc\n", BYTES("b\nc\r\n")},
    {"a\r\nb\nc\r\nd\n", NULL, "a\nx\nb\nc\nd\n", BYTES("a\r\nx\nb\nc\r\nd\n")},
    {"a\r\nb\nc\r\nd\n", NULL, "a\nx\ny\nz\nd\n", BYTES("a\r\nx\ny\r\nz\r\nd\n")},
    {"a\nb\r\nc", NULL, "a\nb\nc\n", BYTES("a\nb\r\nc\r\n")},
    {"a\nb\r\nc", NULL, "a\nb", BYTES("a\nb")},
    {"a\r\n", NULL, "", BYTES("")},
};

static void test_replace(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(replacements); i++) {
        editing_text t;
        mcp_error error = {0};
        common_buffer changed, room;
        mcp_str name = mcp_str_from(replacements[i].charset), bytes, text;
        int rc = replacements[i].file ? editing_text_open(mcp_str_from(replacements[i].file), name,
                                                          ANY, NULL, &t, &error)
                                      : editing_text_new(name, NULL, &t, &error);
        assert_int_equal(rc, MCP_OK);
        text = exactly(mcp_str_from(replacements[i].text));
        rc = editing_rewrite(&t, text, ANY, &changed, &error);
        assert_int_equal(rc, MCP_OK);
        assert_int_equal(editing_changed_bytes(&t, &changed, ANY, &room, &bytes, &error), MCP_OK);
        if (!mcp_str_eq(bytes, replacements[i].bytes))
            fail_msg("%zu: %s, not %s", i, show(bytes), show(replacements[i].bytes));
        common_buffer_free(&room);
        common_buffer_free(&changed);
        editing_text_close(&t);
        drop(text);
    }
}

/* What cannot be written. */
static void test_bytes_refused(void **state)
{
    editing_text t;
    mcp_error error = {0};
    common_buffer changed, room;
    mcp_str bytes;
    (void)state;
    assert_int_equal(editing_text_new(MCP_STR("latin1"), NULL, &t, &error), MCP_OK);
    assert_int_equal(editing_rewrite(&t, MCP_STR("a\nb\xe2\x82\xac"), ANY, &changed, &error),
                     MCP_OK);
    assert_int_equal(editing_changed_bytes(&t, &changed, ANY, &room, &bytes, &error),
                     MCP_EUNSUPPORTED);
    assert_string_equal(error.text, "the file is in ISO-8859-1, which cannot have U+20AC (line 2)");
    common_buffer_free(&room);
    common_buffer_free(&changed);
    assert_int_equal(editing_rewrite(&t, MCP_STR("\xff"), ANY, &changed, &error), MCP_EINVAL);
    assert_int_equal(editing_rewrite(&t, MCP_STR("a\0b"), ANY, &changed, &error), MCP_EINVAL);
    assert_int_equal(editing_rewrite(&t, MCP_STR("abc"), 2, &changed, &error), MCP_ELIMIT);
    assert_int_equal(editing_rewrite(&t, MCP_STR("abc"), 3, &changed, &error), MCP_OK);
    assert_int_equal(editing_changed_bytes(&t, &changed, 2, &room, &bytes, &error), MCP_ELIMIT);
    common_buffer_free(&room);
    common_buffer_free(&changed);
    editing_text_close(&t);
    assert_int_equal(editing_text_new(MCP_STR("UTF-8"), NULL, &t, &error), MCP_OK);
    assert_int_equal(editing_rewrite(&t, MCP_STR("abc"), 3, &changed, &error), MCP_OK);
    assert_int_equal(editing_changed_bytes(&t, &changed, 2, &room, &bytes, &error), MCP_ELIMIT);
    common_buffer_free(&room);
    common_buffer_free(&changed);
    assert_int_equal(editing_text_new(MCP_STR("UTF-7"), NULL, &t, &error), MCP_EUNSUPPORTED);
}

static void test_no_memory(void **state)
{
    static const char *const charsets[] = {"", "latin1", "UTF-16"};
    (void)state;
    for (size_t c = 0; c < COUNT(charsets); c++)
        for (size_t n = 1;; n++) {
            failalloc f = {.fail_at = n};
            mcp_allocator a = failalloc_allocator(&f);
            editing_text t = {0};
            common_buffer changed = {0}, room = {0};
            mcp_str bytes, file = c == 2 ? MCP_STR("\xff\xfe"
                                                   "a\0\r\0\n\0b\0\n\0")
                                         : MCP_STR("a\r\nb\n");
            mcp_error error = {0};
            common_buffer_init(&changed, &a);
            common_buffer_init(&room, &a);
            int rc = editing_text_open(file, mcp_str_from(charsets[c]), ANY, &a, &t, &error);
            if (rc == MCP_OK)
                rc = editing_rewrite(&t, MCP_STR("b\na\nc\n"), ANY, &changed, &error);
            if (rc == MCP_OK)
                rc = editing_changed_bytes(&t, &changed, ANY, &room, &bytes, &error);
            assert_int_equal(rc, f.calls < n ? MCP_OK : MCP_ENOMEM);
            assert_int_equal(error.code, rc);
            common_buffer_free(&changed);
            common_buffer_free(&room);
            editing_text_close(&t);
            assert_int_equal(f.live, 0);
            if (rc == MCP_OK)
                break;
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_open),          cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_sizes),         cmocka_unit_test(test_replace),
        cmocka_unit_test(test_bytes_refused), cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
