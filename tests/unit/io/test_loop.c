/* test_loop.c: the loop and its host: timers, descriptors, workers, stop, log. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "io/loop/loop.h"
#include "support/failalloc.h"
#include "support/wait.h"

static mcp_loop *loop;
static const mcp_host *host;

static int set_up(void **state)
{
    (void)state;
    if (mcp_loop_new(NULL, &loop, NULL) < 0)
        return -1;
    host = mcp_loop_host(loop);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    mcp_loop_free(loop);
    return 0;
}

static void count(void *arg)
{
    ++*(int *)arg;
}

static void test_nothing_to_wait_for(void **state)
{
    (void)state;
    assert_int_equal(mcp_loop_run(loop), MCP_OK);
    assert_int_equal(mcp_loop_step(loop, 0), MCP_OK);
    assert_int_equal(mcp_loop_run(NULL), MCP_EINVAL);
}

static void test_timer(void **state)
{
    int fired = 0, never = 0;
    int64_t before = mcp_loop_now(loop);

    (void)state;
    mcp_host_timer *t = host->timer_start(20, count, &fired, host->user);
    mcp_host_timer *stopped = host->timer_start(1, count, &never, host->user);
    host->timer_stop(stopped, host->user);
    assert_int_equal(mcp_loop_run(loop), MCP_OK);
    assert_int_equal(fired, 1);
    assert_int_equal(never, 0);
    assert_true(mcp_loop_now(loop) - before >= 19);
    host->timer_stop(t, host->user); /* also after it fired */
    /* A timer that is never stopped is freed with the loop. */
    assert_non_null(host->timer_start(100000, count, &never, host->user));
}

static int pipe_ends[2];

static void read_one(void *arg)
{
    char c;

    assert_int_equal(read(pipe_ends[0], &c, 1), 1);
    ++*(int *)arg;
}

static void test_poll(void **state)
{
    int seen = 0;

    (void)state;
    assert_int_equal(pipe2(pipe_ends, O_CLOEXEC), 0);
    mcp_host_poll *p = host->poll_start(pipe_ends[0], read_one, &seen, host->user);
    assert_non_null(p);
    assert_int_equal(mcp_loop_step(loop, 1), MCP_OK);
    assert_int_equal(seen, 0);
    assert_int_equal(write(pipe_ends[1], "ab", 2), 2);
    for (int64_t end = wait_end(); seen < 2 && wait_more(end);)
        mcp_loop_step(loop, 10);
    assert_int_equal(seen, 2);
    host->poll_stop(p, host->user);
    assert_int_equal(write(pipe_ends[1], "c", 1), 1);
    mcp_loop_step(loop, 5);
    assert_int_equal(seen, 2);
    close(pipe_ends[0]);
    close(pipe_ends[1]);
    int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    assert_null(host->poll_start(file, read_one, &seen, host->user));
    close(file);
}

static void do_nothing(void *arg)
{
    (void)arg;
}

static void add_one(void *arg)
{
    ++*(int *)arg;
}

/* docs/embedding.md: a program that waits by itself, for the loop's descriptor. Timers, descriptors
 * and worker threads all wake it. */
static void test_foreign_poll(void **state)
{
    int fired = 0, seen = 0, worked = 0;
    uv_loop_t *uv = mcp_loop_uv(loop);

    (void)state;
    assert_int_equal(pipe2(pipe_ends, O_CLOEXEC), 0);
    mcp_host_poll *p = host->poll_start(pipe_ends[0], read_one, &seen, host->user);
    mcp_host_timer *t = host->timer_start(20, add_one, &fired, host->user);
    assert_int_equal(host->work(do_nothing, add_one, &worked, host->user), MCP_OK);
    assert_int_equal(write(pipe_ends[1], "a", 1), 1);
    while (!fired || !seen || !worked) {
        struct pollfd fds[] = {{.fd = uv_backend_fd(uv), .events = POLLIN}};
        assert_true(poll(fds, 1, uv_backend_timeout(uv)) >= 0);
        assert_int_equal(mcp_loop_step(loop, 0), MCP_OK);
    }
    assert_int_equal(fired + seen + worked, 3);
    host->timer_stop(t, host->user);
    host->poll_stop(p, host->user);
    close(pipe_ends[0]);
    close(pipe_ends[1]);
}

typedef struct job {
    pthread_t worker, finisher;
    int done;
} job;

static void do_work(void *arg)
{
    ((job *)arg)->worker = pthread_self();
}

static void finish_work(void *arg)
{
    job *j = arg;

    j->finisher = pthread_self();
    j->done++;
}

static void test_work(void **state)
{
    job j[10] = {0};

    (void)state;
    for (size_t i = 0; i < MCP__COUNT(j); i++)
        assert_int_equal(host->work(do_work, finish_work, &j[i], host->user), MCP_OK);
    assert_int_equal(mcp_loop_run(loop), MCP_OK);
    for (size_t i = 0; i < MCP__COUNT(j); i++) {
        assert_int_equal(j[i].done, 1);
        assert_false(pthread_equal(j[i].worker, pthread_self()));
        assert_true(pthread_equal(j[i].finisher, pthread_self()));
    }
}

static void test_free_waits_for_work(void **state)
{
    mcp_loop *other;
    job j = {0};

    (void)state;
    assert_int_equal(mcp_loop_new(NULL, &other, NULL), MCP_OK);
    const mcp_host *h = mcp_loop_host(other);
    assert_int_equal(h->work(do_work, finish_work, &j, h->user), MCP_OK);
    mcp_loop_free(other);
    assert_int_equal(j.done, 1);
    mcp_loop_free(NULL);
}

/* ---- work that does not end ------------------------------------------------------------------ */

typedef struct stuck {
    atomic_bool *released;
    atomic_bool begun;
    bool done;
} stuck;

static void be_stuck(void *arg)
{
    stuck *s = arg;

    atomic_store(&s->begun, true);
    while (!atomic_load(s->released))
        usleep(500);
}

static void stuck_done(void *arg)
{
    ((stuck *)arg)->done = true;
}

/* With more work than threads, a drain waits for running work and discards queued work. */
static void test_drain(void **state)
{
    enum { N = 200 };
    static stuck s[N];
    atomic_bool released = false;
    size_t begun = 0, done = 0;

    (void)state;
    assert_int_equal(mcp_loop_drain(NULL, 0), MCP_EINVAL);
    assert_int_equal(mcp_loop_drain(loop, 0), MCP_OK);
    for (size_t i = 0; i < N; i++) {
        s[i] = (stuck){.released = &released};
        assert_int_equal(host->work(be_stuck, stuck_done, &s[i], host->user), MCP_OK);
    }
    while (!atomic_load(&s[0].begun))
        usleep(500);
    int64_t before = mcp_loop_now(loop);
    assert_int_equal(mcp_loop_drain(loop, 20), MCP_ETIMEOUT);
    assert_in_range(mcp_loop_now(loop) - before, 19, 2000);
    for (size_t i = 0; i < N; i++) {
        begun += atomic_load(&s[i].begun);
        done += s[i].done;
        assert_true(atomic_load(&s[i].begun) != s[i].done);
    }
    assert_true(begun > 0 && done > 0);
    assert_int_equal(mcp_loop_drain(loop, 0), MCP_ETIMEOUT);
    atomic_store(&released, true);
    assert_int_equal(mcp_loop_drain(loop, 5000), MCP_OK);
    for (size_t i = 0; i < N; i++)
        assert_true(s[i].done);
}

static void stop_it(int number)
{
    (void)number;
    mcp_loop_stop(loop);
}

static void *stop_soon(void *arg)
{
    (void)arg;
    usleep(5000);
    mcp_loop_stop(loop);
    return NULL;
}

static void test_stop(void **state)
{
    int fired = 0;
    pthread_t thread;

    (void)state;
    assert_non_null(host->timer_start(60000, count, &fired, host->user));
    /* mcp_loop_stop() before the loop runs, in a signal handler, and from another thread. */
    mcp_loop_stop(loop);
    assert_int_equal(mcp_loop_run(loop), MCP_OK);
    signal(SIGALRM, stop_it);
    ualarm(5000, 0);
    assert_int_equal(mcp_loop_run(loop), MCP_OK);
    signal(SIGALRM, SIG_DFL);
    pthread_create(&thread, NULL, stop_soon, NULL);
    while (mcp_loop_step(loop, 60000) == MCP_OK)
        ;
    pthread_join(thread, NULL);
    assert_int_equal(mcp_loop_step(loop, 1), MCP_OK); /* a stop is effective once */
    assert_int_equal(fired, 0);
}

static void test_step_waits(void **state)
{
    int64_t before = mcp_loop_now(loop);
    int steps = 0;

    (void)state;
    /* Where libuv uses io_uring, a step may end early, because that interrupts its poll. The loop
     * must not spin. */
    for (; mcp_loop_now(loop) - before < 20; steps++)
        assert_int_equal(mcp_loop_step(loop, 20), MCP_OK);
    assert_in_range(steps, 1, 10);
}

/* A timer that is due before the step begins ends the step, as any other event does. */
static void test_step_late_timer(void **state)
{
    int fired = 0, never = 0;
    (void)state;
    mcp_loop_step(loop, 0);
    mcp_host_timer *t = host->timer_start(1, count, &fired, host->user),
                   *later = host->timer_start(40000, count, &never, host->user);
    usleep(20000);
    int64_t before = mcp_loop_now(loop);
    mcp_loop_step(loop, 40000);
    assert_int_equal(fired, 1);
    assert_true(mcp_loop_now(loop) - before < 20000);
    host->timer_stop(t, host->user);
    host->timer_stop(later, host->user);
}

static void test_no_memory(void **state)
{
    int fired = 0;

    (void)state;
    for (size_t n = 1;; n++) {
        failalloc f = {.fail_at = n};
        mcp_allocator a = failalloc_allocator(&f);
        mcp_error error;
        mcp_loop *l;
        int rc = mcp_loop_new(&a, &l, &error);
        if (rc == MCP_OK) {
            const mcp_host *h = mcp_loop_host(l);
            int ends[2];
            job j = {0};
            assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
            mcp_host_timer *t = h->timer_start(0, count, &fired, h->user);
            mcp_host_poll *p = h->poll_start(ends[0], count, &fired, h->user);
            rc = h->work(do_work, finish_work, &j, h->user);
            assert_int_equal(t && p && rc == MCP_OK, f.calls < n);
            mcp_loop_free(l);
            close(ends[0]);
            close(ends[1]);
            assert_int_equal(j.done, rc == MCP_OK);
        } else {
            assert_int_equal(rc, MCP_ENOMEM);
            assert_int_equal(error.code, MCP_ENOMEM);
        }
        assert_int_equal(f.live, 0);
        if (f.calls < n)
            break;
    }
}

/* ---- log ------------------------------------------------------------------------------------- */

static void test_escape(void **state)
{
    static const struct {
        mcp_str in;
        size_t room;
        const char *out;
    } escapes[] = {
        {{"plain", 5}, 100, "plain"},
        {{"caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", 14},
         100,
         "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"},
        {{"\x1b[2J\a\n\r\t\x7f", 9}, 100, "\\x1b[2J\\x07\\x0a\\x0d\\x09\\x7f"},
        {{"a\0b", 3}, 100, "a\\x00b"},
        {{"\xc2\x9b", 2}, 100, "\\u009b"}, /* CSI as one C1 character */
        {{"\xc2\xa0", 2}, 100, "\xc2\xa0"},
        {{"\xff\xc3", 2}, 100, "\\xff\\xc3"},
        {{"\xc0\x80", 2}, 100, "\\xc0\\x80"},
        {{"12345", 5}, 5, "1234"},
        {{"123\xc3\xa9", 5}, 5, "123"},
        {{"12\n", 3}, 5, "12"},
        {{"12", 2}, 1, ""},
    };
    char to[100];

    (void)state;
    for (size_t i = 0; i < MCP__COUNT(escapes); i++) {
        size_t n = mcp_text_escape(to, escapes[i].room, escapes[i].in);
        assert_string_equal(to, escapes[i].out);
        assert_int_equal(n, strlen(escapes[i].out));
    }
}

/* Runs fn with stderr on a pipe that nothing reads, and stores the contents of the pipe
 * afterwards. */
static size_t with_stderr(void (*fn)(void), char *to, size_t room)
{
    int ends[2], saved = dup(2);
    size_t len = 0;
    ssize_t n;

    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    dup2(ends[1], 2);
    fn();
    dup2(saved, 2);
    close(saved);
    close(ends[1]);
    while ((n = read(ends[0], to + len, room - 1 - len)) > 0)
        len += (size_t)n;
    close(ends[0]);
    to[len] = '\0';
    return len;
}

static void say_some(void)
{
    host->log("error", "before", host->user);
    assert_int_equal(mcp_loop_set_log_level(loop, "loud"), MCP_EINVAL);
    assert_int_equal(mcp_loop_set_log_level(loop, "warning"), MCP_OK);
    host->log("debug", "one", host->user);
    host->log("info", "two", host->user);
    host->log("warning", "three\nfour", host->user);
    host->log("error", "five", host->user);
    host->log("unknown", "six", host->user);
    assert_int_equal(mcp_loop_set_log_level(loop, NULL), MCP_OK);
    host->log("error", "seven", host->user);
}

static void test_log_level(void **state)
{
    char got[1000];

    (void)state;
    with_stderr(say_some, got, sizeof(got));
    assert_string_equal(got, "mcp: warning: three\\x0afour\nmcp: error: five\n");
}

static void say_much(void)
{
    static char line[10000];
    char drained[200000];

    memset(line, 'x', sizeof(line) - 1);
    mcp_loop_set_log_level(loop, "debug");
    for (int i = 0; i < 1000; i++)
        host->log("debug", line, host->user);
    /* Now the reader reads again. */
    int reader = open("/proc/self/fd/2", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    assert_true(reader >= 0);
    assert_true(read(reader, drained, sizeof(drained)) > 0);
    close(reader);
    host->log("debug", "after", host->user);
}

/* A full stderr does not block the loop; lost lines are counted in a later one. */
static void test_log_never_waits(void **state)
{
    char *got = malloc(200000);

    (void)state;
    with_stderr(say_much, got, 200000);
    assert_non_null(strstr(got, " lines of the log were lost\nmcp: debug: after\n"));
    assert_int_equal(strncmp(got, "mcp: warning: 9", 15), 0);
    free(got);
}

/* Closed standard descriptors do not become the loop's own. */
static void test_closed_descriptors(void **state)
{
    (void)state;
    pid_t pid = fork();
    if (pid == 0) {
        mcp_loop *l;
        close(0);
        close(2);
        if (mcp_loop_new(NULL, &l, NULL) < 0)
            _exit(1);
        char c;
        _exit(read(0, &c, 1) == 0 && write(2, "x", 1) == 1 ? 0 : 2);
    }
    int status;
    waitpid(pid, &status, 0);
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_nothing_to_wait_for, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_timer, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_foreign_poll, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_poll, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_work, set_up, tear_down),
        cmocka_unit_test(test_free_waits_for_work),
        cmocka_unit_test_setup_teardown(test_drain, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_stop, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_step_waits, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_step_late_timer, set_up, tear_down),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_escape),
        cmocka_unit_test_setup_teardown(test_log_level, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_log_never_waits, set_up, tear_down),
        cmocka_unit_test(test_closed_descriptors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
