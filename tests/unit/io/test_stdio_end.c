/* test_stdio_end.c: all ways in which a server on a pair of pipes may end. */
#define _GNU_SOURCE
#include "stdio_rig.h"

/* ---- the end --------------------------------------------------------------------------------- */

static void test_pending_answer_at_the_end(void **state)
{
    char got[1000];
    peer p;

    (void)state;
    start(&p, NULL);
    say_str(&p, HELLO TOOL("1", "slow"));
    close_input(&p);
    hear(p.from, got, sizeof(got), 0);
    assert_non_null(strstr(got, "\"late\""));
    assert_int_equal(wait_end(&p), 0);
}

static void test_drain_is_bounded(void **state)
{
    char got[1000];
    peer p;

    (void)state;
    start(&p, MCP_OPTIONS(mcp_stdio_options, .drain_ms = 30));
    say_str(&p, HELLO TOOL("1", "never"));
    int64_t before = now_ms();
    close_input(&p);
    hear(p.from, got, sizeof(got), 0);
    assert_null(strstr(got, "\"id\":1,"));
    assert_int_equal(wait_end(&p), 0);
    assert_true(now_ms() - before >= 25);
}

/* These wait for no answer: neither that of the tool nor the end of drain_ms comes in the time of a
 * test. */
static void test_signals(void **state)
{
    static const int numbers[] = {SIGTERM, SIGINT, SIGHUP};

    (void)state;
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        char got[1000];
        peer p;
        start(&p, MCP_OPTIONS(mcp_stdio_options, .drain_ms = 600000));
        say_str(&p, HELLO TOOL("1", "never"));
        hear(p.from, got, sizeof(got), 1);
        wait_for_slow_call();
        kill(p.pid, numbers[i]);
        hear(p.from, got, sizeof(got), 0);
        assert_int_equal(wait_end(&p), 0);
    }
}

/* After a signal, either the worker is done and the server may be freed, or the result says that it
 * is still running. */
static void test_signal_while_busy(void **state)
{
    static const struct {
        bool endless;
        uint64_t drain_ms;
        int status;
    } cases[] = {{false, 600000, 0}, {true, 30, -MCP_ETIMEOUT}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char got[1000];
        peer p;
        start(&p, MCP_OPTIONS(mcp_stdio_options, .drain_ms = cases[i].drain_ms));
        atomic_store(&shared->endless, cases[i].endless);
        say_str(&p, HELLO TOOL("1", "busy"));
        hear(p.from, got, sizeof(got), 1);
        wait_for_slow_call();
        kill(p.pid, SIGTERM);
        hear(p.from, got, sizeof(got), 0);
        assert_null(strstr(got, "busy no more"));
        assert_int_equal(wait_end(&p), cases[i].status);
    }
}

/* A signal ends the server even if the peer does not read its output. */
static void test_signal_while_stuck(void **state)
{
    char got[1000];
    peer p;

    (void)state;
    start(&p, MCP_OPTIONS(mcp_stdio_options, .max_output = 200000, .drain_ms = 600000));
    say_str(&p, HELLO);
    hear(p.from, got, sizeof(got), 1);
    say_until_stuck(&p, TOOL("1", "big"));
    int status;
    kill(p.pid, SIGTERM);
    assert_int_equal(waitpid(p.pid, &status, 0), p.pid);
    assert_int_equal(status, 0);
    close(p.to);
    close(p.from);
    close(p.err);
}

static void test_no_signals(void **state)
{
    char got[100];
    peer p;

    (void)state;
    start(&p, MCP_OPTIONS(mcp_stdio_options, .no_signals = true));
    say_str(&p, PING("1") "\n");
    hear(p.from, got, sizeof(got), 1);
    kill(p.pid, SIGTERM);
    assert_int_equal(wait_end(&p), 128 + SIGTERM);
}

/* The peer closes its reading end: a write fails... */
static void test_broken_pipe(void **state)
{
    peer p;

    (void)state;
    start(&p, NULL);
    close(p.from);
    p.from = -1;
    signal(SIGPIPE, SIG_IGN);
    (void)!write(p.to, PING("1") "\n", strlen(PING("1") "\n"));
    int status;
    assert_int_equal(waitpid(p.pid, &status, 0), p.pid);
    assert_int_equal(status, 0);
    close(p.to);
    close(p.err);
}

/* ...and the closed pipe is noticed even if there is nothing to write. */
static void test_reader_gone_while_idle(void **state)
{
    char got[100];
    peer p;

    (void)state;
    start(&p, NULL);
    say_str(&p, PING("1") "\n");
    hear(p.from, got, sizeof(got), 1);
    close(p.from);
    p.from = -1;
    int status;
    assert_int_equal(waitpid(p.pid, &status, 0), p.pid);
    assert_int_equal(status, 0);
    close(p.to);
    close(p.err);
}

/* A host that is killed while another process also holds its ends of the pipes: the test does,
 * because it created them. The server becomes a child of the test then. */
static pid_t fork_host(const int in[2], const int out[2], const mcp_stdio_options *options,
                       pid_t *ret_server)
{
    int tell[2];

    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    assert_int_equal(pipe2(tell, O_CLOEXEC), 0);
    fflush(NULL);
    pid_t host = fork();
    if (host == 0) {
        close(in[1]), close(out[0]);
        pid_t server = fork_server(in[0], out[1], -1, options);
        (void)!write(tell[1], &server, sizeof(server));
        for (;;)
            pause();
    }
    assert_int_equal(read(tell[0], ret_server, sizeof(*ret_server)), sizeof(*ret_server));
    close(tell[0]), close(tell[1]);
    return host;
}

static void test_parent_killed(void **state)
{
    static const struct {
        void (*on_hang_up)(int);
        bool no_signals, ends;
    } cases[] = {{SIG_DFL, false, true}, {SIG_IGN, false, false}, {SIG_DFL, true, false}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int in[2], out[2], status;
        char got[200];
        pid_t server;
        assert_int_equal(pipe2(in, O_CLOEXEC) | pipe2(out, O_CLOEXEC), 0);
        signal(SIGHUP, cases[i].on_hang_up); /* ignored: as nohup does */
        pid_t host = fork_host(
            in, out,
            MCP_OPTIONS(mcp_stdio_options, .drain_ms = 30, .no_signals = cases[i].no_signals),
            &server);
        signal(SIGHUP, SIG_DFL);
        close(in[0]), close(out[1]);
        peer p = {.pid = server, .to = in[1], .from = out[0], .err = -1};
        say_str(&p, PING("1") "\n");
        hear(p.from, got, sizeof(got), 1);
        kill(host, SIGKILL);
        assert_int_equal(waitpid(host, NULL, 0), host);
        if (!cases[i].ends) {
            usleep(50 * 1000);
            say_str(&p, PING("2") "\n");
            hear(p.from, got, sizeof(got), 1);
            assert_string_equal(got, PONG("2"));
            close_input(&p);
        }
        assert_int_equal(hear(p.from, got, sizeof(got), 0), 0);
        assert_int_equal(waitpid(server, &status, 0), server);
        assert_int_equal(status, 0);
        close_input(&p);
        close(p.from);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pending_answer_at_the_end),
        cmocka_unit_test(test_drain_is_bounded),
        cmocka_unit_test(test_signals),
        cmocka_unit_test(test_signal_while_stuck),
        cmocka_unit_test(test_signal_while_busy),
        cmocka_unit_test(test_no_signals),
        cmocka_unit_test(test_broken_pipe),
        cmocka_unit_test(test_reader_gone_while_idle),
        cmocka_unit_test(test_parent_killed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
