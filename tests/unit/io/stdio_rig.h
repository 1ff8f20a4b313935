/* stdio_rig.h: a server on a pair of pipes in a separate process, and its peer.
 *
 * The server has several tools: "big" answers with 20,000 bytes, "slow" answers after 50 ms, or
 * never, "busy" keeps a worker busy until the call is cancelled, or for ever. Shared memory counts
 * how often they ran.
 */
#ifndef MCP_TESTS_STDIO_RIG_H
#define MCP_TESTS_STDIO_RIG_H

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
    atomic_int slow_calls; /* of "busy": those that a worker has begun */
    atomic_bool endless;   /* "busy" does not end when it is cancelled */
} * shared;

static inline int big(mcp_request *req, const mcp_json *arguments, void *user)
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

static inline void answer_late(void *arg)
{
    delayed *d = arg;

    d->host->timer_stop(d->timer, d->host->user);
    mcp_reply_text(d->req, "late");
    mcp_reply_finish(d->req, MCP_OK);
    d->req = NULL;
}

/* `user` is the duration. */
static inline int slow(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)arguments;
    waiting.req = req;
    waiting.timer = waiting.host->timer_start(*(const uint64_t *)user, answer_late, &waiting,
                                              waiting.host->user);
    atomic_fetch_add(&shared->slow_calls, 1);
    return MCP_PENDING;
}

static inline void busy_work(void *user)
{
    atomic_fetch_add(&shared->slow_calls, 1);
    while (!mcp_request_cancelled(user) || atomic_load(&shared->endless))
        usleep(200);
}

static inline void busy_done(mcp_request *req, void *user)
{
    (void)user;
    mcp_reply_text(req, "busy no more");
    mcp_reply_finish(req, MCP_OK);
}

static inline int busy(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)arguments;
    (void)user;
    return mcp_request_work(req, busy_work, busy_done, req);
}

/* Prints to stdout, as a careless handler or library might. */
static inline int chatty(mcp_request *req, const mcp_json *arguments, void *user)
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

static inline int serve(const mcp_stdio_options *options)
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
static inline pid_t fork_server(int in, int out, int err, const mcp_stdio_options *options)
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

static inline void start(peer *p, const mcp_stdio_options *options)
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

static inline void say(const peer *p, const char *text, size_t len)
{
    while (len) {
        ssize_t n = write(p->to, text, len);
        assert_true(n > 0);
        text += n;
        len -= (size_t)n;
    }
}

static inline void say_str(const peer *p, const char *text)
{
    say(p, text, strlen(text));
}

/* Reads until the end of the stream, or until `lines` lines have arrived (0 means no limit). */
static inline size_t hear(int fd, char *to, size_t room, size_t lines)
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

static inline size_t count_lines(int fd)
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

static inline void close_input(peer *p)
{
    if (p->to >= 0)
        close(p->to);
    p->to = -1;
}

/* Waits for the server and returns its exit status, or 128 plus the signal. */
static inline int wait_end(peer *p)
{
    int status;

    assert_int_equal(waitpid(p->pid, &status, 0), p->pid);
    close_input(p);
    close(p->from);
    close(p->err);
    munmap(shared, sizeof(*shared));
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static inline int64_t now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Waits until the server has read all input. */
static inline void wait_until_read(const peer *p)
{
    int left = 1;

    while (left) {
        assert_int_equal(ioctl(p->to, FIONREAD, &left), 0);
        if (left)
            usleep(50);
    }
}

static inline void wait_for_slow_call(void)
{
    while (!atomic_load(&shared->slow_calls))
        usleep(200);
}

/* Sends lines to a server whose answers are not read, until it stops reading. Returns the number of
 * bytes. */
static inline size_t say_until_stuck(const peer *p, const char *line)
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

#endif
