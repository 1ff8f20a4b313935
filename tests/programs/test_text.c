/* Strings from a server on a terminal: control characters and invisible characters are escaped. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <common/text.h>

enum { LAST = 0x10ffff };

/* Encodes a code point as UTF-8. Returns 0 if it has no encoding. */
static size_t encode(unsigned code, char to[4])
{
    unsigned char *p = (unsigned char *)to;
    if (code >= 0xd800 && code <= 0xdfff)
        return 0;
    if (code < 0x80)
        return p[0] = (unsigned char)code, 1;
    size_t more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    static const unsigned char leads[] = {0, 0xc0, 0xe0, 0xf0};
    p[0] = (unsigned char)(leads[more] | code >> 6 * more);
    for (size_t i = 1; i <= more; i++)
        p[i] = (unsigned char)(0x80 | (code >> 6 * (more - i) & 0x3f));
    return more + 1;
}

/* Sets of code points according to another Unicode library. */
typedef struct judge {
    pcre2_code *code;
    pcre2_match_data *data;
} judge;

static judge judge_new(const char *pattern)
{
    int error;
    size_t at;
    judge j = {.code = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED,
                                     PCRE2_UTF | PCRE2_DOTALL, &error, &at, NULL)};
    assert_non_null(j.code);
    j.data = pcre2_match_data_create_from_pattern(j.code, NULL);
    assert_non_null(j.data);
    return j;
}

static bool judge_is(const judge *j, const char *text, size_t len)
{
    return pcre2_match(j->code, (PCRE2_SPTR)text, len, 0, 0, j->data, NULL) > 0;
}

static void judge_free(judge *j)
{
    pcre2_match_data_free(j->data);
    pcre2_code_free(j->code);
}

/* An in-memory file that is rewritten repeatedly. */
typedef struct sink {
    FILE *f;
    char *text;
    size_t len;
} sink;

static void sink_open(sink *s)
{
    *s = (sink){0};
    s->f = open_memstream(&s->text, &s->len);
    assert_non_null(s->f);
}

static const char *shown(sink *s, mcp_str text, text_mode mode)
{
    rewind(s->f);
    text_put(s->f, text, mode);
    fputc(0, s->f);
    fflush(s->f);
    return s->text;
}

static void sink_close(sink *s)
{
    fclose(s->f);
    free(s->text);
}

/* Each code point alone is escaped if Unicode classifies it as control, format, line or paragraph
 * separator, or default ignorable. Otherwise it is unchanged. */
static void every_code_point(void **state)
{
    judge hidden = judge_new("^[\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}\\p{Default_Ignorable_Code_Point}]$");
    judge unknown = judge_new("^\\p{Cn}$");
    sink s;
    (void)state;
    sink_open(&s);
    size_t count = 0;
    for (unsigned code = 0; code <= LAST; code++) {
        char text[4], wanted[16] = "", json[32];
        size_t len = encode(code, text);
        if (!len)
            continue;
        bool is_hidden = judge_is(&hidden, text, len);
        /* assigned in a newer version of Unicode */
        if (!is_hidden && !text_is_safe((mcp_str){text, len}))
            is_hidden = judge_is(&unknown, text, len);
        count += is_hidden;
        if (is_hidden)
            snprintf(wanted, sizeof(wanted),
                     code < 0x80      ? "\\x%02x"
                     : code < 0x10000 ? "\\u%04x"
                                      : "\\U%08x",
                     code);
        else
            memcpy(wanted, text, len);
        if (strcmp(shown(&s, (mcp_str){text, len}, TEXT_LINE), wanted) != 0)
            fail_msg("U+%04X is shown as '%s'", code, s.text);
        assert_true(text_is_safe((mcp_str){text, len}) == !is_hidden);
        assert_true(!is_hidden || text_width((mcp_str){text, len}) == strlen(wanted));
        if (is_hidden && code >= 0x80) { /* JSON does not contain C0 controls */
            rewind(s.f);
            text_put_json(s.f, (mcp_str){text, len});
            fputc(0, s.f), fflush(s.f);
            snprintf(json, sizeof(json), code < 0x10000 ? "\\u%04x" : "\\u%04x\\u%04x",
                     code < 0x10000 ? code : 0xd7c0 + (code >> 10), 0xdc00 + (code & 0x3ff));
            assert_string_equal(s.text, json);
        }
    }
    assert_true(count > 4000); /* checks that the pattern matches enough code points */
    sink_close(&s);
    judge_free(&unknown);
    judge_free(&hidden);
}

/* In a text of several lines, every such code point is escaped too, except newline and tab,
 * whatever surrounds it. */
static void every_code_point_in_a_text(void **state)
{
    static const char *const before[] = {"", "a", "\xc3\xa9", "\xe2\x9d\xa4", "1"};
    judge hidden =
        judge_new("[^\\P{Cc}\\n\\t]|[\\p{Cf}\\p{Zl}\\p{Zp}\\p{Default_Ignorable_Code_Point}]");
    sink s;
    (void)state;
    sink_open(&s);
    for (unsigned code = 0; code <= LAST; code++) {
        char text[16];
        if (text_is_safe((mcp_str){text, encode(code, text)}))
            continue;
        for (size_t i = 0; i < sizeof(before) / sizeof(*before); i++) {
            size_t n = strlen(before[i]), len;
            memcpy(text, before[i], n);
            if (!(len = encode(code, text + n)))
                continue;
            memcpy(text + n + len, text + n, len); /* twice, with other text after it */
            text[n + 2 * len] = 'z';
            shown(&s, (mcp_str){text, n + 2 * len + 1}, TEXT_BLOCK);
            if (judge_is(&hidden, s.text, strlen(s.text)))
                fail_msg("U+%04X passes behind '%s'", code, before[i]);
        }
    }
    sink_close(&s);
    judge_free(&hidden);
}

static void texts(void **state)
{
    static const struct {
        const char *text, *line, *block;
    } table[] = {
        {"a\nb\tc\r\nd\re", "a\\x0ab\\x09c\\x0d\\x0ad\\x0de", "a\nb\tc\r\nd\\x0de"},
        {"\xff\xc3(", "\\xff\\xc3(", "\\xff\\xc3("},
        {"\xed\xa0\x80\xf4\x90\x80\x80\xc0\x80", "\\xed\\xa0\\x80\\xf4\\x90\\x80\\x80\\xc0\\x80",
         "\\xed\\xa0\\x80\\xf4\\x90\\x80\\x80\\xc0\\x80"},
        /* emoji sequences: the invisible characters that join them are omitted */
        {"\xe2\x9d\xa4\xef\xb8\x8f!", "\xe2\x9d\xa4\\ufe0f!", "\xe2\x9d\xa4!"},
        {"1\xef\xb8\x8f", "1\\ufe0f", "1"},
        {"\xe2\x9d\xa4\xef\xb8\x8f\xe2\x80\x8d\xf0\x9f\x94\xa5",
         "\xe2\x9d\xa4\\ufe0f\\u200d\xf0\x9f\x94\xa5", "\xe2\x9d\xa4\xf0\x9f\x94\xa5"},
        {"\xd9\x85\xdb\x8c\xe2\x80\x8c\xd8\xb4", "\xd9\x85\xdb\x8c\\u200c\xd8\xb4",
         "\xd9\x85\xdb\x8c\xd8\xb4"},
        /* the same characters are escaped where they join nothing */
        {"a\xe2\x80\x8d"
         "b",
         "a\\u200db", "a\\u200db"},
        {"\xe2\x9d\xa4\xef\xb8\x8f\xef\xb8\x8f\xef\xb8\x8f", "\xe2\x9d\xa4\\ufe0f\\ufe0f\\ufe0f",
         "\xe2\x9d\xa4\\ufe0f"},
        {"\xe2\x80\x8dx", "\\u200dx", "\\u200dx"},
    };
    sink s;
    (void)state;
    sink_open(&s);
    for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
        mcp_str text = mcp_str_from(table[i].text);
        assert_string_equal(shown(&s, text, TEXT_LINE), table[i].line);
        assert_string_equal(shown(&s, text, TEXT_BLOCK), table[i].block);
    }
    sink_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_code_point),
        cmocka_unit_test(every_code_point_in_a_text),
        cmocka_unit_test(texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
