/* test_filter.c: programs that mcpctl runs with an input: their output, and what they do wrong. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <common/filter.h>

enum { LONG_MS = 120000, LARGE = 4 << 20 };

static char *out;

/* What the programs say on standard error must not come between the lines of this one. */
static int run_with(const char *script, const char *input, bool partly, int ms)
{
    char quiet[200];
    snprintf(quiet, sizeof quiet, "exec 2>/dev/null; %s", script);
    const char *const argv[] = {"sh", "-c", quiet, NULL};
    free(out);
    return filter_run(
        &(filter_call){.argv = argv, .input = mcp_str_from(input), .partly = partly, .ms = ms},
        &out);
}

static int run(const char *script, const char *input, int ms)
{
    return run_with(script, input, false, ms);
}

static void test_output(void **state)
{
    static const char *const none[] = {"/no/such/program", NULL};
    static const char *const errors[] = {"sh", "-c", "echo a; echo b >&2; exit 1", NULL};
    (void)state;
    assert_int_equal(run("cat; exit 3", "hello", LONG_MS), 3);
    assert_string_equal(out, "hello");
    assert_int_equal(run("echo a; exit 1", NULL, LONG_MS), 1);
    assert_string_equal(out, "a\n");
    free(out);
    assert_int_equal(
        filter_run(&(filter_call){.argv = errors, .ms = LONG_MS, .errors = true}, &out), 1);
    assert_string_equal(out, "a\nb\n");
    free(out);
    assert_int_equal(filter_run(&(filter_call){.argv = none, .ms = LONG_MS}, &out),
                     FILTER_NO_PROGRAM);
    assert_null(out);
    assert_int_equal(run("kill -9 $$", NULL, LONG_MS), -1);
    assert_null(out);
    assert_int_equal(run("head -c 3000000 /dev/zero", NULL, LONG_MS), -1);
    assert_null(out);
}

/* A program that nobody reads any more ends at once. */
static void test_signals(void **state)
{
    (void)state;
    assert_int_equal(run("kill -PIPE $$; echo ignored", NULL, LONG_MS), -1);
    assert_null(out);
}

/* More than a pipe holds is written piece by piece, and all of it has to be read. */
static void test_input(void **state)
{
    char *large = malloc(LARGE + 1);
    (void)state;
    assert_non_null(large);
    memset(large, 'a', LARGE);
    large[LARGE] = '\0';
    assert_int_equal(run("sleep 0.1; wc -c", large, LONG_MS), 0);
    assert_int_equal(atoi(out), LARGE);
    assert_int_equal(run("head -c 10", large, LONG_MS), -1);
    assert_null(out);
    assert_int_equal(run("exec <&-; sleep 0.1; echo", large, LONG_MS), -1);
    assert_null(out);
    /* unless the program need not read it */
    assert_int_equal(run_with("sleep 0.1; wc -c", large, true, LONG_MS), 0);
    assert_int_equal(atoi(out), LARGE);
    assert_int_equal(run_with("head -c 2", large, true, LONG_MS), 0);
    assert_string_equal(out, "aa");
    assert_int_equal(run_with("exec <&-; sleep 0.1; echo b", large, true, LONG_MS), 0);
    assert_string_equal(out, "b\n");
    assert_int_equal(run_with("exec >&-; exit 4", large, true, LONG_MS), 4);
    free(large);
}

/* The time is for all; it does not begin again with each piece of output, and a program that ignores
 * signals is killed. */
static void test_too_slow(void **state)
{
    static const char *const scripts[] = {
        "exec sleep 1000",
        "trap '' TERM; exec sleep 1000",
        "while :; do echo x; sleep 0.01; done",
        "exec >&-; exec sleep 1000",
    };
    (void)state;
    for (size_t i = 0; i < sizeof(scripts) / sizeof(*scripts); i++) {
        assert_int_equal(run(scripts[i], NULL, 300), -1);
        assert_null(out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_output),
        cmocka_unit_test(test_signals),
        cmocka_unit_test(test_input),
        cmocka_unit_test(test_too_slow),
    };
    signal(SIGPIPE, SIG_IGN);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    free(out);
    return failed;
}
