/* test_stdio.c: a server on a pair of descriptors: framing, back-pressure, and kinds of
 * descriptors. */
#define _GNU_SOURCE
#include "stdio_rig.h"

/* ---- framing --------------------------------------------------------------------------------- */

static void test_conversations(void **state)
{
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"", ""},
        {PING("1") "\n", PONG("1")},
        {PING("1") "\n" PING("\"b\"") "\n", PONG("1") PONG("\"b\"")},
        {PING("1") "\r\n\r\n\n" PING("2") "\r\n", PONG("1") PONG("2")},
        {PING("1") "\n" PING("2"), PONG("1") PONG("2")},
        {PING("1"), PONG("1")},
        {"\n\n", ""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char got[500];
        peer p;
        start(&p, NULL);
        say_str(&p, cases[i].in);
        close_input(&p);
        hear(p.from, got, sizeof(got), 0);
        assert_string_equal(got, cases[i].out);
        assert_int_equal(wait_end(&p), 0);
    }
}

static void test_every_split(void **state)
{
    static const char in[] = PING("1") "\r\n\n" PING("22");
    peer p;

    (void)state;
    start(&p, NULL);
    for (size_t at = 0; at < sizeof(in); at++) {
        char got[200];
        say(&p, in, at);
        wait_until_read(&p);
        say(&p, in + at, sizeof(in) - 1 - at);
        say(&p, "\n", 1);
        hear(p.from, got, sizeof(got), 2);
        assert_string_equal(got, PONG("1") PONG("22"));
    }
    close_input(&p);
    assert_int_equal(wait_end(&p), 0);
}

static void test_oversized(void **state)
{
    enum { MAX = 10000 };
    char got[1000], *x = malloc(500000);
    peer p;

    (void)state;
    memset(x, 'x', 500000);
    start(&p, MCP_OPTIONS(mcp_stdio_options, .max_message = MAX));
    say_str(&p,
            "{\"jsonrpc\":\"2.0\",\"id\":\"long one\",\"method\":\"ping\",\"params\":{\"x\":\"");
    say(&p, x, 500000);
    say_str(&p, "\"}}\n{\"jsonrpc\":\"2.0\",\"method\":\"ping\",\"params\":{\"x\":\"");
    say(&p, x, 500000);
    say_str(&p, "\"},\"id\":\"at the end\"}\n" PING("2") "\n");
    hear(p.from, got, sizeof(got), 3);
    assert_non_null(strstr(got, "\"id\":\"long one\""));
    assert_non_null(strstr(got, "\"id\":\"at the end\""));
    assert_non_null(strstr(got, "-32600"));
    assert_non_null(strstr(got, "\n" PONG("2")));
    close_input(&p);
    assert_int_equal(wait_end(&p), 0);
    free(x);
}

/* More pings than any buffer holds, while the answers are read, in order. */
static void test_many_pings(void **state)
{
    enum { N = 100000 };
    char *in = malloc(N * 60), *out = malloc(N * 60), *want = malloc(N * 60);
    size_t in_len = 0, want_len = 0;
    peer p;

    (void)state;
    for (int i = 0; i < N; i++) {
        in_len += (size_t)sprintf(in + in_len, PING("%d") "\n", i);
        want_len += (size_t)sprintf(want + want_len, PONG("%d"), i);
    }
    start(&p, NULL);
    pid_t writer = fork();
    if (writer == 0) {
        say(&p, in, in_len);
        _exit(0);
    }
    close_input(&p);
    assert_int_equal(hear(p.from, out, N * 60, 0), want_len);
    assert_memory_equal(out, want, want_len);
    assert_int_equal(wait_end(&p), 0);
    waitpid(writer, NULL, 0);
    free(in);
    free(out);
    free(want);
}

/* ---- back-pressure --------------------------------------------------------------------------- */

static void test_reader_stops(void **state)
{
    enum { MAX_OUTPUT = 1000000, PIPE = 64 * 1024 };
    static char got[1000];
    static const char call[] = TOOL("1", "big");
    peer p;

    (void)state;
    start(&p, MCP_OPTIONS(mcp_stdio_options, .max_output = MAX_OUTPUT));
    say_str(&p, HELLO);
    hear(p.from, got, sizeof(got), 1);
    size_t calls = say_until_stuck(&p, call) / strlen(call);
    /* Reading stopped... */
    assert_true(calls * strlen(call) < 1024 * 1024);
    /* ...and so did answering: the pending output is at most the limit plus one message. */
    int before = atomic_load(&shared->big_calls);
    assert_in_range(before, MAX_OUTPUT / (BIG + 200), (MAX_OUTPUT + PIPE) / BIG + 2);
    /* The reader continues: everything is answered. */
    close_input(&p);
    assert_int_equal(count_lines(p.from), calls);
    assert_int_equal(wait_end(&p), 0);
}

/* With a low output limit and a pipe that is drained at once, input that is already buffered is
 * processed, even if no more input arrives and nothing is left to write. */
static void test_congested_in_passing(void **state)
{
    enum { N = 100 };
    char got[4000];
    peer p;

    (void)state;
    start(&p, MCP_OPTIONS(mcp_stdio_options, .max_output = 100));
    char pings[N * sizeof(PING("1"))] = "";
    for (size_t i = 0; i < N; i++)
        memcpy(pings + i * sizeof(PING("1")), PING("1") "\n", sizeof(PING("1")));
    say(&p, pings, sizeof(pings));
    alarm(10); /* otherwise it would block forever */
    hear(p.from, got, sizeof(got), N);
    alarm(0);
    close_input(&p);
    assert_int_equal(wait_end(&p), 0);
}

/* A reader that never continues cannot keep the server running after the end of input. */
static void test_reader_never_returns(void **state)
{
    static char got[1000];
    peer p;

    (void)state;
    start(&p, MCP_OPTIONS(mcp_stdio_options, .max_output = 300000, .drain_ms = 50));
    say_str(&p, HELLO);
    hear(p.from, got, sizeof(got), 1);
    say_until_stuck(&p, TOOL("1", "big"));
    int64_t before = now_ms();
    int status;
    close_input(&p);
    assert_int_equal(waitpid(p.pid, &status, 0), p.pid);
    assert_true(now_ms() - before < 2000);
    assert_int_equal(status, 0);
    close(p.from);
    close(p.err);
}

/* ---- descriptors ----------------------------------------------------------------------------- */

static void test_stray_print(void **state)
{
    char got[1000], said[1000];
    peer p;

    (void)state;
    start(&p, NULL);
    say_str(&p, HELLO TOOL("1", "chatty"));
    close_input(&p);
    hear(p.from, got, sizeof(got), 0);
    hear(p.err, said, sizeof(said), 0);
    assert_null(strstr(got, "stray"));
    assert_non_null(strstr(got, "\"ok\""));
    assert_string_equal(said, "stray\n");
    assert_int_equal(wait_end(&p), 0);
}

/* Input and output are files, which cannot be polled. */
static void test_files(void **state)
{
    char in_name[] = "/tmp/mcp-test-XXXXXX", out_name[] = "/tmp/mcp-test-XXXXXX", got[200];
    int in = mkstemp(in_name), out = mkstemp(out_name), status;

    (void)state;
    assert_true(in >= 0 && out >= 0);
    assert_true(write(in, PING("1") "\n" PING("2"), strlen(PING("1") "\n" PING("2"))) > 0);
    lseek(in, 0, SEEK_SET);
    fflush(NULL);
    pid_t pid = fork_server(in, out, -1, NULL);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    lseek(out, 0, SEEK_SET);
    hear(out, got, sizeof(got), 0);
    assert_string_equal(got, PONG("1") PONG("2"));
    close(in);
    close(out);
    unlink(in_name);
    unlink(out_name);
}

static void test_dev_null(void **state)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC), status;

    (void)state;
    fflush(NULL);
    pid_t pid = fork_server(null, null, -1, NULL);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    close(null);
}

/* One socket for both directions, given by number. After the peer half-closes it, the peer still
 * gets its answer. The socket does not stay non-blocking. */
static void test_socket(void **state)
{
    int ends[2], status;
    char got[200];

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        exit(serve(MCP_OPTIONS(mcp_stdio_options, .input = ends[1], .output = ends[1])));
    }
    assert_int_equal(write(ends[0], PING("1"), strlen(PING("1"))), (ssize_t)strlen(PING("1")));
    shutdown(ends[0], SHUT_WR);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(fcntl(ends[1], F_GETFL) & O_NONBLOCK, 0);
    close(ends[1]);
    hear(ends[0], got, sizeof(got), 0);
    assert_string_equal(got, PONG("1"));
    close(ends[0]);
}

static void test_bad_options(void **state)
{
    mcp_server *server;
    mcp_loop *loop;
    mcp_error error;

    (void)state;
    assert_int_equal(mcp_loop_new(NULL, &loop, NULL), MCP_OK);
    assert_int_equal(
        mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "t", .version = "1"), &server, NULL),
        MCP_OK);
    assert_int_equal(mcp_loop_serve_stdio(loop, NULL, NULL, &error), MCP_EINVAL);
    assert_int_equal(
        mcp_loop_serve_stdio(loop, server, MCP_OPTIONS(mcp_stdio_options, .input = -1), &error),
        MCP_EINVAL);
    assert_int_equal(
        mcp_loop_serve_stdio(loop, server,
                             MCP_OPTIONS(mcp_stdio_options, .input = 9999, .output = 9999), &error),
        MCP_EIO);
    assert_int_equal(error.code, MCP_EIO);
    mcp_server_free(server);
    mcp_loop_free(loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_conversations),
        cmocka_unit_test(test_every_split),
        cmocka_unit_test(test_oversized),
        cmocka_unit_test(test_many_pings),
        cmocka_unit_test(test_reader_stops),
        cmocka_unit_test(test_congested_in_passing),
        cmocka_unit_test(test_reader_never_returns),
        cmocka_unit_test(test_stray_print),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_dev_null),
        cmocka_unit_test(test_socket),
        cmocka_unit_test(test_bad_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
