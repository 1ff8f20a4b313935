/* Cursors: encoding and decoding round-trip, and every other string is rejected. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "protocol/cursor.h"
#include "support/failalloc.h"

enum { LIST = 3 };

/* Returns the token without its quotes; the caller frees it. */
static mcp_str make(mcp__buf *b, uint64_t part, mcp_str position, const char *principal)
{
    const mcp__cursor cursor = {.list = LIST, .part = part, .position = position};
    mcp__buf_init(b, &mcp__default_allocator, 0);
    mcp__put_cursor(b, &cursor, mcp_str_from(principal));
    assert_int_equal(b->failed, MCP_OK);
    assert_true(b->len > 2 && b->ptr[0] == '"' && b->ptr[b->len - 1] == '"');
    return (mcp_str){b->ptr + 1, b->len - 2};
}

static bool take(mcp_str token, uint8_t list, const char *principal, mcp__cursor *ret)
{
    char *room = malloc(token.len + 1); /* of exactly this size, for the address sanitizer */
    bool ok = mcp__read_cursor(token, list, mcp_str_from(principal), room, ret);
    free(room);
    return ok;
}

static void test_round_trip(void **state)
{
    (void)state;
    char long_position[MCP__CURSOR_MAX_POSITION];
    for (size_t i = 0; i < sizeof(long_position); i++)
        long_position[i] = (char)(i * 7);
    const mcp_str positions[] = {
        MCP_STR(""),           MCP_STR("a"),      MCP_STR("ab"),
        MCP_STR("abc"),        {"\0\377\n\"", 4}, {long_position, sizeof(long_position)},
        {long_position, 4095},
    };
    const uint64_t parts[] = {0, 1, UINT64_MAX};
    for (size_t i = 0; i < MCP__COUNT(positions); i++) {
        for (size_t k = 0; k < MCP__COUNT(parts); k++) {
            mcp__buf b;
            mcp__cursor got;
            mcp_str token = make(&b, parts[k], positions[i], "me");
            char *room = malloc(token.len);
            assert_true(mcp__read_cursor(token, LIST, MCP_STR("me"), room, &got));
            assert_int_equal(got.list, LIST);
            assert_int_equal(got.part, parts[k]);
            assert_true(mcp_str_eq(got.position, positions[i]));
            free(room);
            mcp__buf_free(&b);
        }
    }
}

static void test_bound(void **state)
{
    (void)state;
    mcp__buf b;
    mcp__cursor got;
    mcp_str token = make(&b, 1, MCP_STR("here"), "me");
    assert_true(take(token, LIST, "me", &got));
    assert_false(take(token, LIST + 1, "me", &got));
    assert_false(take(token, 0, "me", &got));
    assert_false(take(token, LIST, "you", &got));
    assert_false(take(token, LIST, NULL, &got));
    assert_false(take(token, LIST, "", &got));
    mcp__buf_free(&b);
    /* anonymous is a principal too */
    token = make(&b, 1, MCP_STR("here"), NULL);
    assert_true(take(token, LIST, NULL, &got));
    assert_false(take(token, LIST, "me", &got));
    mcp__buf_free(&b);
}

static void test_every_corruption(void **state)
{
    (void)state;
    mcp__buf b;
    mcp__cursor got;
    mcp_str token = make(&b, 2, MCP_STR("a position of some length"), "me");
    char *copy = malloc(token.len + 1);
    for (size_t at = 0; at < token.len; at++) {
        for (int byte = 0; byte < 256; byte++) {
            memcpy(copy, token.ptr, token.len);
            if ((char)byte == copy[at])
                continue;
            copy[at] = (char)byte;
            if (take((mcp_str){copy, token.len}, LIST, "me", &got))
                fail_msg("byte %zu as %d is accepted", at, byte);
        }
    }
    /* truncated, and extended */
    for (size_t len = 0; len < token.len; len++)
        assert_false(take((mcp_str){token.ptr, len}, LIST, "me", &got));
    memcpy(copy, token.ptr, token.len);
    const char more[] = "A-_=9 ";
    for (size_t i = 0; i < sizeof(more); i++) {
        copy[token.len] = more[i];
        assert_false(take((mcp_str){copy, token.len + 1}, LIST, "me", &got));
    }
    free(copy);
    mcp__buf_free(&b);
}

static void test_nothing(void **state)
{
    (void)state;
    mcp__cursor got;
    static char big[70000];
    memset(big, 'A', sizeof(big));
    assert_false(take(MCP_STR(""), LIST, "me", &got));
    assert_false(take((mcp_str){NULL, 0}, LIST, "me", &got));
    assert_false(take(MCP_STR("!"), LIST, "me", &got));
    assert_false(take(MCP_STR("AQMAAAAA"), LIST, "me", &got));
    for (size_t len = 1; len <= sizeof(big); len = len * 3 / 2 + 1)
        assert_false(take((mcp_str){big, len}, LIST, "me", &got));
    assert_false(take((mcp_str){big, sizeof(big)}, LIST, "me", &got));
}

static void test_no_memory(void **state)
{
    (void)state;
    failalloc f = {.fail_at = 1};
    mcp_allocator a = failalloc_allocator(&f);
    mcp__buf b;
    mcp__buf_init(&b, &a, 0);
    const mcp__cursor cursor = {.list = LIST, .position = MCP_STR("x")};
    mcp__put_cursor(&b, &cursor, MCP_STR("me"));
    assert_int_equal(b.failed, MCP_ENOMEM);
    mcp__buf_free(&b);
    assert_int_equal(f.live, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),       cmocka_unit_test(test_bound),
        cmocka_unit_test(test_every_corruption), cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
