/* test_stdio.c: a server on a pair of pipes, in a process of its own: framing, back-pressure, and
 * every way to end.
 *
 * The server has several tools: "big" answers with 20,000 bytes, "slow" answers after 50 ms, or
 * never, "busy" keeps a worker busy for 300 ms. How often "big" ran is counted in memory that both
 * processes share.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include <mcp/io.h>

#define PING(id) "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"ping\"}"
#define PONG(id) "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"result\":{}}\n"
#define TOOL(id, name)                                                                          \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"tools/call\",\"params\":{\"name\":\"" name \
    "\"}}\n"
#define HELLO                                                                      \
    "{\"jsonrpc\":\"2.0\",\"id\":\"hello\",\"method\":\"initialize\",\"params\":{" \
    "\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},"                      \
    "\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}}\n"                        \
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n"

enum { BIG = 20000 };

/* ---- the server's process -------------------------------------------------------------------- */

static struct shared {
    atomic_int big_calls;
    atomic_int slow_calls;
} * shared;

static int big(mcp_request *req, const mcp_json *arguments, void *user)
{
    static char text[BIG + 1];

    (void)arguments;
    (void)user;
    atomic_fetch_add(&shared->big_calls, 1);
    memset(text, 'x', BIG);
    return mcp_reply_text(req, text);
}

typedef struct delayed {
    const mcp_host *host;
    mcp_host_timer *timer;
    mcp_request *req;
} delayed;

static delayed waiting;

static void answer_late(void *arg)
{
    delayed *d = arg;

    d->host->timer_stop(d->timer, d->host->user);
    mcp_reply_text(d->req, "late");
    mcp_reply_finish(d->req, MCP_OK);
    d->req = NULL;
}

/* user: how long it takes. */
static int slow(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)arguments;
    waiting.req = req;
    waiting.timer = waiting.host->timer_start(*(const uint64_t *)user, answer_late, &waiting,
                                              waiting.host->user);
    atomic_fetch_add(&shared->slow_calls, 1);
    return MCP_PENDING;
}

static void busy_work(void *user)
{
    (void)user;
    usleep(300 * 1000);
}

static void busy_done(mcp_request *req, void *user)
{
    (void)user;
    mcp_reply_text(req, "busy no more");
    mcp_reply_finish(req, MCP_OK);
}

static int busy(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)arguments;
    atomic_fetch_add(&shared->slow_calls, 1);
    return mcp_request_work(req, busy_work, busy_done, user);
}

/* What a careless handler or library does. */
static int chatty(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)arguments;
    (void)user;
    printf("stray\n");
    return mcp_reply_text(req, "ok");
}

static uint64_t slow_ms = 50, never_ms = 60000;

static const mcp_tool tools[] = {
    {.size = sizeof(mcp_tool), .name = "big", .call = big},
    {.size = sizeof(mcp_tool), .name = "slow", .call = slow},
    {.size = sizeof(mcp_tool), .name = "never", .call = slow},
    {.size = sizeof(mcp_tool), .name = "chatty", .call = chatty},
    {.size = sizeof(mcp_tool), .name = "busy", .call = busy},
};

static int serve(const mcp_stdio_options *options)
{
    uint64_t *const users[] = {NULL, &slow_ms, &never_ms, NULL, NULL};
    mcp_error error = {0};
    mcp_server *server;
    mcp_loop *loop;

    if (mcp_loop_new(NULL, &loop, &error) < 0 ||
        mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "test", .version = "1"), &server,
                       &error) < 0)
        return 100;
    waiting.host = mcp_loop_host(loop);
    for (size_t i = 0; i < sizeof(tools) / sizeof(tools[0]); i++) {
        if (mcp_server_add_tool(server, &tools[i], users[i], &error) < 0)
            return 101;
    }
    int rc = mcp_loop_serve_stdio(loop, server, options, &error);
    if (waiting.req)
        answer_late(&waiting);
    if (rc == MCP_ETIMEOUT)
        _exit(-rc);
    mcp_server_free(server);
    mcp_loop_free(loop);
    return -rc;
}

/* ---- the peer's side ------------------------------------------------------------------------- */

typedef struct peer {
    pid_t pid;
    int to, from, err; /* our ends */
} peer;

/* Runs serve() with these as its descriptors 0, 1 and 2. */
static pid_t fork_server(int in, int out, int err, const mcp_stdio_options *options)
{
    pid_t pid = fork();

    if (pid)
        return pid;
    dup2(in, 0);
    dup2(out, 1);
    if (err >= 0)
        dup2(err, 2);
    signal(SIGPIPE, SIG_DFL);
    exit(serve(options));
}

static void start(peer *p, const mcp_stdio_options *options)
{
    int in[2], out[2], err[2];

    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(shared != MAP_FAILED);
    assert_int_equal(pipe2(in, O_CLOEXEC) | pipe2(out, O_CLOEXEC) | pipe2(err, O_CLOEXEC), 0);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        close(in[1]);
        close(out[0]);
        close(err[0]);
        dup2(in[0], 0);
        dup2(out[1], 1);
        dup2(err[1], 2);
        close(in[0]);
        close(out[1]);
        close(err[1]);
        signal(SIGPIPE, SIG_DFL);
        exit(serve(options));
    }
    close(in[0]);
    close(out[1]);
    close(err[1]);
    *p = (peer){.pid = pid, .to = in[1], .from = out[0], .err = err[0]};
}

static void say(const peer *p, const char *text, size_t len)
{
    while (len) {
        ssize_t n = write(p->to, text, len);
        assert_true(n > 0);
        text += n;
        len -= (size_t)n;
    }
}

static void say_str(const peer *p, const char *text)
{
    say(p, text, strlen(text));
}

/* Everything until the end of the stream, or until `lines` lines came (0: no matter). */
static size_t hear(int fd, char *to, size_t room, size_t lines)
{
    size_t len = 0;

    while (len < room - 1) {
        struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
        assert_int_equal(poll(&poll_fd, 1, 20000), 1);
        ssize_t n = read(fd, to + len, lines ? 1 : room - 1 - len);
        assert_true(n >= 0);
        if (n == 0)
            break;
        len += (size_t)n;
        if (lines && to[len - 1] == '\n' && --lines == 0)
            break;
    }
    to[len] = '\0';
    return len;
}

static size_t count_lines(int fd)
{
    static char got[65536];
    size_t lines = 0;
    ssize_t n;

    while ((n = read(fd, got, sizeof(got))) > 0) {
        for (const char *at = got; (at = memchr(at, '\n', (size_t)(got + n - at))); at++)
            lines++;
    }
    return lines;
}

static void close_input(peer *p)
{
    if (p->to >= 0)
        close(p->to);
    p->to = -1;
}

/* Its exit status, or 128 + signal. */
static int wait_end(peer *p)
{
    int status;

    assert_int_equal(waitpid(p->pid, &status, 0), p->pid);
    close_input(p);
    close(p->from);
    close(p->err);
    munmap(shared, sizeof(*shared));
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int64_t now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Until the server has read all that was said. */
static void wait_until_read(const peer *p)
{
    int left = 1;

    while (left) {
        assert_int_equal(ioctl(p->to, FIONREAD, &left), 0);
        if (left)
            usleep(50);
    }
}

static void wait_for_slow_call(void)
{
    while (!atomic_load(&shared->slow_calls))
        usleep(200);
}

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

/* More than any buffer holds, while the answers are read, each in its place. */
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

/* Bytes that can be said to a server that does not get rid of its answers, until it has taken
 * nothing for a while. */
static size_t say_until_stuck(const peer *p, const char *line)
{
    size_t len = strlen(line), said = 0;
    int idle = 0;

    fcntl(p->to, F_SETFL, O_NONBLOCK);
    while (idle < 40 && said < 50 * 1024 * 1024) {
        ssize_t n = write(p->to, line, len); /* less than PIPE_BUF: all or nothing */
        if (n > 0) {
            said += (size_t)n;
            idle = 0;
        } else {
            usleep(5000);
            idle++;
        }
    }
    fcntl(p->to, F_SETFL, 0);
    return said;
}

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
    /* ...and so did answering: what waits fits the limit and one message. */
    int before = atomic_load(&shared->big_calls);
    assert_in_range(before, MAX_OUTPUT / (BIG + 200), (MAX_OUTPUT + PIPE) / BIG + 2);
    /* The reader comes back: everything is answered. */
    close_input(&p);
    assert_int_equal(count_lines(p.from), calls);
    assert_int_equal(wait_end(&p), 0);
}

/* Answers of which few may wait, in a pipe that takes them at once: what was read before goes on,
 * though nothing more comes and nothing is left to write. */
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
    alarm(10); /* it would be silent for ever */
    hear(p.from, got, sizeof(got), N);
    alarm(0);
    close_input(&p);
    assert_int_equal(wait_end(&p), 0);
}

/* A reader that does not come back cannot keep the server after the end of input. */
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
    assert_in_range(now_ms() - before, 25, 2000);
}

static void test_signals(void **state)
{
    static const int numbers[] = {SIGTERM, SIGINT, SIGHUP};

    (void)state;
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        char got[1000];
        peer p;
        start(&p, NULL);
        say_str(&p, HELLO TOOL("1", "never"));
        hear(p.from, got, sizeof(got), 1);
        wait_for_slow_call();
        int64_t before = now_ms();
        kill(p.pid, numbers[i]);
        hear(p.from, got, sizeof(got), 0);
        assert_int_equal(wait_end(&p), 0);
        assert_true(now_ms() - before < 1000);
    }
}

/* The server may be freed afterwards: the worker is done, or we are told that it is not. */
static void test_signal_while_busy(void **state)
{
    static const struct {
        uint64_t drain_ms;
        int status;
    } cases[] = {{5000, 0}, {30, -MCP_ETIMEOUT}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char got[1000];
        peer p;
        start(&p, MCP_OPTIONS(mcp_stdio_options, .drain_ms = cases[i].drain_ms));
        say_str(&p, HELLO TOOL("1", "busy"));
        hear(p.from, got, sizeof(got), 1);
        wait_for_slow_call();
        usleep(20 * 1000); /* until a thread has taken it */
        int64_t before = now_ms();
        kill(p.pid, SIGTERM);
        hear(p.from, got, sizeof(got), 0);
        assert_null(strstr(got, "busy no more"));
        assert_int_equal(wait_end(&p), cases[i].status);
        assert_true(now_ms() - before < 1500);
    }
}

/* Also with a reader that does not read. */
static void test_signal_while_stuck(void **state)
{
    char got[1000];
    peer p;

    (void)state;
    start(&p, MCP_OPTIONS(mcp_stdio_options, .max_output = 200000));
    say_str(&p, HELLO);
    hear(p.from, got, sizeof(got), 1);
    say_until_stuck(&p, TOOL("1", "big"));
    int64_t before = now_ms();
    int status;
    kill(p.pid, SIGTERM);
    assert_int_equal(waitpid(p.pid, &status, 0), p.pid);
    assert_true(now_ms() - before < 1000);
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

/* ...and it is noticed also while there is nothing to write. */
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

/* A host that is killed while another process has its ends of the pipes too: we have, because it
 * got them from here. The server becomes our child then. */
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

/* Input and output that are files, which cannot be polled. */
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

/* One socket for both directions, given by number; half closed by the peer, it still gets its
 * answer; and it does not stay non-blocking. */
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
        cmocka_unit_test(test_pending_answer_at_the_end),
        cmocka_unit_test(test_drain_is_bounded),
        cmocka_unit_test(test_signals),
        cmocka_unit_test(test_signal_while_stuck),
        cmocka_unit_test(test_signal_while_busy),
        cmocka_unit_test(test_no_signals),
        cmocka_unit_test(test_broken_pipe),
        cmocka_unit_test(test_reader_gone_while_idle),
        cmocka_unit_test(test_parent_killed),
        cmocka_unit_test(test_stray_print),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_dev_null),
        cmocka_unit_test(test_socket),
        cmocka_unit_test(test_bad_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
