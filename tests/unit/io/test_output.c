/* test_output.c: messages to a pipe that is slow, full or broken. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "io/stdio/stdio.h"
#include "support/failalloc.h"

enum { LIMIT = 4 * 1024 * 1024 };

typedef struct fixture {
    int ends[2];
    mcp__output o;
} fixture;

static void open_fixture(fixture *f, const mcp_allocator *allocator)
{
    assert_int_equal(pipe2(f->ends, O_CLOEXEC | O_NONBLOCK), 0);
    mcp__output_init(&f->o, allocator, f->ends[1], LIMIT);
}

static void close_fixture(fixture *f)
{
    mcp__output_free(&f->o);
    close(f->ends[0]);
    close(f->ends[1]);
}

static size_t drain(fixture *f, char *to, size_t room)
{
    size_t len = 0;
    ssize_t n;

    while (len < room && (n = read(f->ends[0], to + len, room - len)) > 0)
        len += (size_t)n;
    return len;
}

static void test_collects_a_turn(void **state)
{
    char got[100] = "";
    fixture f;

    (void)state;
    open_fixture(&f, &mcp__default_allocator);
    mcp__output_line(&f.o, MCP_STR("one"));
    mcp__output_line(&f.o, MCP_STR("two"));
    assert_int_equal(drain(&f, got, sizeof(got)), 0);
    mcp__output_flush(&f.o);
    assert_int_equal(drain(&f, got, sizeof(got)), 8);
    assert_memory_equal(got, "one\ntwo\n", 8);
    assert_int_equal(mcp__output_pending(&f.o), 0);
    close_fixture(&f);
}

/* Sizes around the pipe's capacity and the threshold of "large" messages, after queued output:
 * everything arrives in order, for any size of the reader's reads. */
static void test_short_writes(void **state)
{
    static const size_t sizes[] = {1, 4096, 65535, 65536, 65537, 300000, 1000000};
    char *sent = malloc(LIMIT), *got = malloc(LIMIT);

    (void)state;
    for (size_t i = 0; i < LIMIT; i++)
        sent[i] = (char)('a' + i % 23);
    for (size_t i = 0; i < MCP__COUNT(sizes); i++) {
        for (int before = 0; before < 2; before++) {
            size_t want = sizes[i] + 1 + (before ? 4 : 0), len = 0;
            fixture f;
            open_fixture(&f, &mcp__default_allocator);
            if (before)
                mcp__output_line(&f.o, MCP_STR("abc"));
            mcp__output_line(&f.o, (mcp_str){sent, sizes[i]});
            while (len < want) {
                mcp__output_flush(&f.o);
                assert_int_equal(f.o.blocked, mcp__output_pending(&f.o) > 0);
                size_t n = drain(&f, got + len, 5000);
                assert_true(n > 0);
                len += n;
            }
            assert_int_equal(drain(&f, got + len, 100), 0);
            assert_int_equal(len, want);
            assert_memory_equal(got, "abc\n", before ? 4 : 0);
            assert_memory_equal(got + (before ? 4 : 0), sent, sizes[i]);
            assert_int_equal(got[want - 1], '\n');
            close_fixture(&f);
        }
    }
    free(sent);
    free(got);
}

static void test_reader_gone(void **state)
{
    fixture f;

    (void)state;
    signal(SIGPIPE, SIG_IGN);
    open_fixture(&f, &mcp__default_allocator);
    close(f.ends[0]);
    f.ends[0] = -1;
    mcp__output_line(&f.o, MCP_STR("one"));
    mcp__output_flush(&f.o);
    assert_int_equal(f.o.failed, MCP_ECLOSED);
    mcp__output_line(&f.o, MCP_STR("two"));
    assert_int_equal(mcp__output_pending(&f.o), 0);
    close_fixture(&f);
}

static void test_limit(void **state)
{
    char *big = calloc(1, LIMIT);
    fixture f;

    (void)state;
    open_fixture(&f, &mcp__default_allocator);
    for (int i = 0; i < 8; i++)
        mcp__output_line(&f.o, (mcp_str){big, LIMIT / 4});
    assert_int_equal(f.o.failed, MCP_ELIMIT);
    close_fixture(&f);
    free(big);
}

/* The memory of the queue depends on the pending bytes, not on the total. */
static void test_memory_is_bounded(void **state)
{
    char *got = malloc(LIMIT), line[1000];
    fixture f;

    (void)state;
    memset(line, 'x', sizeof(line));
    open_fixture(&f, &mcp__default_allocator);
    for (int i = 0; i < 300; i++)
        mcp__output_line(&f.o, (mcp_str){line, sizeof(line)});
    for (int i = 0; i < 20000; i++) {
        mcp__output_line(&f.o, (mcp_str){line, sizeof(line)});
        mcp__output_flush(&f.o);
        drain(&f, got, 1001);
    }
    assert_true(f.o.cap <= 2 * 1024 * 1024);
    close_fixture(&f);
    free(got);
}

static void test_no_memory(void **state)
{
    char *big = calloc(1, 500000);

    (void)state;
    for (size_t n = 1;; n++) {
        failalloc fail = {.fail_at = n};
        mcp_allocator a = failalloc_allocator(&fail);
        fixture f;
        open_fixture(&f, &a);
        mcp__output_line(&f.o, MCP_STR("one"));
        mcp__output_line(&f.o, (mcp_str){big, 500000});
        mcp__output_line(&f.o, (mcp_str){big, 500000});
        assert_int_equal(f.o.failed, fail.calls >= n ? MCP_ENOMEM : MCP_OK);
        close_fixture(&f);
        assert_int_equal(fail.live, 0);
        if (fail.calls < n)
            break;
        assert_true(n < 20);
    }
    free(big);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_collects_a_turn),   cmocka_unit_test(test_short_writes),
        cmocka_unit_test(test_reader_gone),       cmocka_unit_test(test_limit),
        cmocka_unit_test(test_memory_is_bounded), cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
