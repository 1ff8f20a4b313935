/* test_lines.c: streams split into lines: every split, limits, allocation failures. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "io/stdio/stdio.h"
#include "support/failalloc.h"

/* Records the output as "line|", or "<what is known|" for an oversized line. */
static void collect(int kind, mcp_str line, char *seen)
{
    strcat(seen, kind == MCP__LINE_OVERSIZED ? "<" : "");
    strncat(seen, line.ptr, MCP__MIN(line.len, (size_t)20));
    strcat(seen, "|");
}

static bool feed(mcp__lines *l, mcp_str bytes, char *seen)
{
    mcp_str line;
    int kind;

    while (bytes.len) {
        size_t room;
        char *to = mcp__lines_room(l, &room);
        if (!to)
            return false;
        size_t n = MCP__MIN(room, bytes.len);
        memcpy(to, bytes.ptr, n);
        mcp__lines_added(l, n);
        bytes = mcp__str_sub(bytes, n);
        while ((kind = mcp__lines_next(l, &line)) != MCP__LINE_NONE)
            collect(kind, line, seen);
    }
    return true;
}

static void end(mcp__lines *l, char *seen)
{
    mcp_str line;
    int kind = mcp__lines_rest(l, &line);

    if (kind != MCP__LINE_NONE)
        collect(kind, line, seen);
    assert_int_equal(mcp__lines_rest(l, &line), MCP__LINE_NONE);
}

static const struct {
    const char *in, *out;
} cases[] = {
    {"", ""},
    {"\n", ""},
    {"\r\n\n\r\n", ""},
    {"one\n", "one|"},
    {"one\ntwo\n", "one|two|"},
    {"one\r\ntwo\r\n\r\nthree\n", "one|two|three|"},
    {"one", "one|"},
    {"one\r", "one|"},
    {"\r", ""},
    {"a\rb\n", "a\rb|"},
    {"12345678\n", "12345678|"},
    {"12345678\r\n", "12345678|"},
    {"12345678", "12345678|"},
    {"12345678\r", "12345678|"},
    {"123456789\nok\n", "<{}|ok|"},
    {"ok\n123456789\r\nok\n", "ok|<{}|ok|"},
    {"123456789", "<{}|"},
    {"{\"id\":5}\r\nok\n", "{\"id\":5}|ok|"},
    {"{\"a\":{},\"id\":5,\"b\":{}}\nok\n", "<{\"id\":5}|ok|"},
};

static void test_every_split(void **state)
{
    (void)state;
    for (size_t i = 0; i < MCP__COUNT(cases); i++) {
        mcp_str in = mcp_str_from(cases[i].in);
        for (size_t at = 0; at <= in.len; at++) {
            char seen[200] = "";
            mcp__lines l;
            mcp__lines_init(&l, &mcp__default_allocator, 8);
            assert_true(feed(&l, (mcp_str){in.ptr, at}, seen));
            assert_true(feed(&l, mcp__str_sub(in, at), seen));
            end(&l, seen);
            assert_string_equal(seen, cases[i].out);
            mcp__lines_free(&l);
        }
    }
}

/* A line without end does not grow the buffer, and the next line is whole. */
static void test_oversized_streams_by(void **state)
{
    enum { MAX = 100000, PIECE = 60000 };
    char seen[200] = "", *piece = malloc(PIECE);
    mcp__lines l;

    (void)state;
    memset(piece, 'x', PIECE);
    mcp__lines_init(&l, &mcp__default_allocator, MAX);
    assert_true(feed(&l, MCP_STR("{\"id\":7,\"a\":\""), seen));
    for (int i = 0; i < 100; i++)
        assert_true(feed(&l, (mcp_str){piece, PIECE}, seen));
    assert_true(l.cap <= 4 * MAX);
    assert_string_equal(seen, "");
    assert_true(feed(&l, MCP_STR("\nnext\n"), seen));
    assert_string_equal(seen, "<{\"id\":7}|next|");
    mcp__lines_free(&l);
    free(piece);
}

/* The id of an oversized line is found wherever it is, however the line is split. */
static void test_id_is_found(void **state)
{
    enum { LEN = 30000, MAX = 10 };
    static char text[2 * LEN + 100];

    (void)state;
    for (int place = 0; place < 3; place++) {
        int before = place == 0 ? 0 : LEN, after = place == 2 ? 0 : LEN;
        int len = snprintf(text, sizeof(text),
                           "{\"a\":[\"%0*d\"],\"id\": 42 ,\"b\":{\"%0*d\":{\"id\":6}}}\r\n", before,
                           1, after, 1);
        for (size_t piece = 1; piece < 9000; piece = piece * 5 / 3 + 1) {
            char seen[200] = "";
            mcp__lines l;
            mcp__lines_init(&l, &mcp__default_allocator, MAX);
            for (size_t at = 0; at < (size_t)len; at += piece)
                assert_true(
                    feed(&l, (mcp_str){text + at, MCP__MIN(piece, (size_t)len - at)}, seen));
            assert_string_equal(seen, "<{\"id\":42}|");
            mcp__lines_free(&l);
        }
    }
}

/* After a large message the memory is given back. */
static void test_shrinks(void **state)
{
    enum { LEN = 3 * 1024 * 1024 };
    char seen[200] = "", *big = malloc(LEN);
    mcp__lines l;
    size_t room;

    (void)state;
    memset(big, 'x', LEN);
    big[LEN - 1] = '\n';
    mcp__lines_init(&l, &mcp__default_allocator, LEN);
    assert_true(feed(&l, (mcp_str){big, LEN}, seen));
    assert_string_equal(seen, "xxxxxxxxxxxxxxxxxxxx|");
    assert_true(l.cap >= LEN);
    assert_non_null(mcp__lines_room(&l, &room));
    assert_int_equal(l.cap, 64 * 1024);
    mcp__lines_free(&l);
    free(big);
}

/* A line for which there is no memory is handled like an oversized line, and no other line is lost.
 * If there is no memory at all, an error is returned. */
static void test_no_memory(void **state)
{
    enum { LEN = 500000 };
    char *big = malloc(LEN);
    size_t refused = 0, n;

    (void)state;
    memset(big, 'x', LEN);
    big[LEN - 1] = '\n';
    for (n = 1;; n++) {
        char seen[200] = "";
        failalloc f = {.fail_at = n};
        mcp_allocator a = failalloc_allocator(&f);
        mcp__lines l;
        mcp__lines_init(&l, &a, LEN);
        bool ok = feed(&l, (mcp_str){big, LEN}, seen) && feed(&l, MCP_STR("next\n"), seen);
        assert_int_equal(ok, n != 1);
        if (ok) {
            refused += seen[0] == '<';
            assert_string_equal(strchr(seen, '|'), "|next|");
        }
        mcp__lines_free(&l);
        assert_int_equal(f.live, 0);
        if (f.calls < n)
            break;
    }
    assert_true(refused >= 3);
    free(big);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_split), cmocka_unit_test(test_oversized_streams_by),
        cmocka_unit_test(test_id_is_found), cmocka_unit_test(test_shrinks),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
