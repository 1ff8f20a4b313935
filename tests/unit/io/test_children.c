/* test_children.c: services: processes that are started when they are needed, end when idle, and
 * come back after they ended, whatever they do. Small shell scripts play the servers. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include <mcp/sys/children.h>

#include "support/failalloc.h"
#include "support/wait.h"

/* A legacy server that answers initialize and then nothing; FROM and TO are its redirections. */
#define ANSWER(from, to)                                                                 \
    "sed -u -n '1s/.*\"id\":\\([^,}]*\\).*/{\"jsonrpc\":\"2.0\",\"id\":\\1,\"result\":{" \
    "\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},"                            \
    "\"serverInfo\":{\"name\":\"s\",\"version\":\"1\"}}}/p' " from to

typedef struct fixture {
    mcp_loop *loop;
    mcp_client *client;
    mcp_service *service;
    int ends, last_status, ready, rc, called, call_rc;
    mcp_service_cause cause;
    uint64_t pause;
    char text[256], log[4096];
    int log_lines;
    int again; /* uses to begin when a call fails */
    mcp_service_use use, second;
} fixture;

static void on_end(const mcp_service_end *end, void *user)
{
    fixture *f = user;

    f->ends++;
    f->cause = end->cause;
    f->last_status = end->status;
    f->pause = end->pause_ms;
}

static void on_log(const char *level, const char *line, void *user)
{
    fixture *f = user;
    size_t n = strlen(f->log);

    (void)level;
    f->log_lines++;
    snprintf(f->log + n, sizeof(f->log) - n, "%s\n", line);
}

static void on_ready(int rc, const mcp_error *error, void *user)
{
    fixture *f = user;

    f->ready++;
    f->rc = rc;
    snprintf(f->text, sizeof(f->text), "%s", error ? error->text : "");
}

static void open_client(fixture *f, const mcp_allocator *allocator)
{
    *f = (fixture){.last_status = -1};
    assert_int_equal(mcp_loop_new(NULL, &f->loop, NULL), MCP_OK);
    assert_int_equal(mcp_client_new(MCP_OPTIONS(mcp_client_options, .name = "t", .version = "1",
                                                .revision = "2025-06-18"),
                                    &f->client, NULL),
                     MCP_OK);
    (void)allocator;
}

static mcp_service_options options_of(fixture *f, const char *const *argv)
{
    return (mcp_service_options){.size = sizeof(mcp_service_options),
                                 .name = "thing",
                                 .argv = argv,
                                 .client = f->client,
                                 .kill_ms = 100,
                                 .pause_ms = 20,
                                 .max_pause_ms = 5000,
                                 .start_ms = 5000,
                                 .on_end = on_end,
                                 .log = on_log,
                                 .user = f};
}

static void open_fixture(fixture *f, const char *script, uint64_t idle_ms)
{
    const char *const argv[] = {"sh", "-c", script, NULL};

    open_client(f, NULL);
    mcp_service_options o = options_of(f, argv);
    o.idle_ms = idle_ms;
    assert_int_equal(mcp_service_new(f->loop, &o, &f->service, NULL), MCP_OK);
    f->use = f->second = (mcp_service_use){.ready = on_ready, .user = f};
}

static void close_fixture(fixture *f)
{
    mcp_service_free(f->service);
    mcp_client_free(f->client);
    mcp_loop_free(f->loop);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child process is left */
}

static void wait_for(fixture *f, const int *what, int value)
{
    for (int64_t end = wait_end(); *what != value && wait_more(end);)
        mcp_loop_step(f->loop, 10);
    assert_int_equal(*what, value);
}

static mcp_service_state state_of(const fixture *f)
{
    mcp_service_state now = {.size = sizeof(now)};

    mcp_service_get_state(f->service, &now);
    return now;
}

static void begin(fixture *f)
{
    int before = f->ready;

    f->rc = MCP_OK;
    int rc = mcp_service_begin(f->service, &f->use, NULL);
    if (rc == MCP_PENDING)
        wait_for(f, &f->ready, before + 1);
    else
        assert_int_equal(rc, MCP_OK);
}

static int count_descriptors(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int n = 0;

    assert_non_null(dir);
    while (readdir(dir))
        n++;
    closedir(dir);
    return n;
}

static void wait_until_down(fixture *f)
{
    for (int64_t end = wait_end(); state_of(f).pid && wait_more(end);)
        mcp_loop_step(f->loop, 10);
    assert_int_equal(state_of(f).pid, 0);
}

static void test_starts_when_needed(void **state)
{
    fixture f;

    (void)state;
    open_fixture(&f, ANSWER("", ""), 30);
    mcp_loop_step(f.loop, 20);
    assert_int_equal(state_of(&f).starts, 0);
    begin(&f);
    assert_int_equal(f.rc, MCP_OK);
    mcp_service_state now = state_of(&f);
    assert_true(now.up && now.pid > 0 && now.memory > 0);
    assert_int_equal(now.uses, 1);
    /* A second use finds it running. */
    assert_int_equal(mcp_service_begin(f.service, &f.second, NULL), MCP_OK);
    for (int i = 0; i < 10; i++)
        mcp_loop_step(f.loop, 10);
    assert_int_equal(f.ends, 0); /* in use: not idle */
    mcp_service_done(f.service, &f.use);
    mcp_service_done(f.service, &f.second);
    mcp_service_done(f.service, &f.second); /* has no effect: this use has ended */
    wait_for(&f, &f.ends, 1);
    assert_int_equal(f.cause, MCP_SERVICE_IDLE);
    assert_int_equal(f.last_status, 0);
    begin(&f); /* starts a new process */
    assert_int_equal(f.rc, MCP_OK);
    now = state_of(&f);
    assert_int_equal(now.starts, 2);
    assert_int_equal(now.failures, 0);
    assert_int_equal(now.ends[MCP_SERVICE_IDLE], 1);
    assert_string_equal(mcp_service_cause_name(MCP_SERVICE_IDLE), "idle");
    assert_null(mcp_service_cause_name(6));
    close_fixture(&f);
}

static void on_call(mcp_client *client, int rc, const mcp_json *result, const mcp_error *error,
                    void *user)
{
    fixture *f = user;

    (void)client;
    (void)result;
    (void)error;
    f->called++;
    f->call_rc = rc;
    if (f->again)
        assert_int_equal(mcp_service_begin(f->service, &f->second, NULL), MCP_PENDING);
    f->again = 0;
}

/* A caller that repeats a failed call gets a new process, at once after the first failure. */
static void test_killed(void **state)
{
    fixture f;

    (void)state;
    open_fixture(&f, ANSWER("", ""), 0);
    begin(&f);
    long pid = state_of(&f).pid;
    assert_int_equal(mcp_client_call(f.client, "ping", "{}", on_call, &f) < 0, 0);
    f.again = 1;
    kill((pid_t)pid, SIGKILL);
    wait_for(&f, &f.called, 1);
    assert_int_equal(f.call_rc, MCP_ECLOSED);
    wait_for(&f, &f.ready, 2);
    assert_int_equal(f.rc, MCP_OK);
    assert_int_equal(f.ends, 1);
    assert_int_equal(f.cause, MCP_SERVICE_KILLED);
    assert_int_equal(f.last_status, 128 + SIGKILL);
    assert_int_equal(f.pause, 0);
    assert_true(state_of(&f).pid != pid);
    assert_non_null(strstr(f.log, "thing: the process was ended by signal 9"));
    close_fixture(&f);
}

/* Killed at any time after its start: each use gets one answer, and no descriptor is left. */
static void test_killed_at_any_time(void **state)
{
    fixture f;

    (void)state;
    open_fixture(&f, ANSWER("", ""), 0);
    begin(&f); /* what stays open for good is open now */
    mcp_service_done(f.service, &f.use);
    mcp_service_stop(f.service);
    wait_until_down(&f);
    for (int i = 0; i < 5; i++)
        mcp_loop_step(f.loop, 1);
    int before = count_descriptors();
    for (int i = 0; i < 20; i++) {
        mcp_service_state now;
        int ready = f.ready, steps = 0;
        int rc = mcp_service_begin(f.service, &f.use, NULL);
        while (rc == MCP_ECLOSED) { /* a pause */
            mcp_loop_step(f.loop, 10);
            rc = mcp_service_begin(f.service, &f.use, NULL);
        }
        assert_int_equal(rc, MCP_PENDING);
        while (!(now = state_of(&f)).pid || steps++ < i % 7)
            mcp_loop_step(f.loop, 1);
        kill(-(pid_t)now.pid, SIGKILL);
        wait_until_down(&f);
        assert_int_equal(f.ready, ready + 1);
        mcp_service_done(f.service, &f.use);
        mcp_service_stop(f.service);
        for (int k = 0; k < 5; k++)
            mcp_loop_step(f.loop, 1);
        assert_int_equal(count_descriptors(), before);
        /* So that the pauses of the test are short. */
        if (i % 3 == 2) {
            wait_until_down(&f);
            close_fixture(&f);
            open_fixture(&f, ANSWER("", ""), 0);
            begin(&f);
            mcp_service_done(f.service, &f.use);
            mcp_service_stop(f.service);
            wait_until_down(&f);
            for (int k = 0; k < 5; k++)
                mcp_loop_step(f.loop, 1);
            before = count_descriptors();
        }
    }
    close_fixture(&f);
}

static void test_pauses_grow(void **state)
{
    static const uint64_t pauses[] = {0, 20, 40, 80, 160, 320, 640, 1280};
    fixture f;

    (void)state;
    open_fixture(&f, "echo broken >&2; exit 3", 0);
    for (size_t i = 0; i < sizeof(pauses) / sizeof(pauses[0]); i++) {
        begin(&f);
        assert_int_equal(f.rc, MCP_ECLOSED);
        assert_string_equal(f.text, "thing: the process ended with exit status 3");
        wait_for(&f, &f.ends, (int)i + 1);
        assert_int_equal(f.pause, pauses[i]);
        assert_int_equal(f.cause, MCP_SERVICE_EXITED);
        mcp_loop_step(f.loop, 1);
    }
    mcp_error error;
    for (int i = 0; i < 5; i++)
        mcp_loop_step(f.loop, 1);
    assert_int_equal(mcp_service_begin(f.service, &f.use, &error), MCP_ECLOSED);
    assert_string_equal(error.text, "thing failed 8 times in a row; it is started again in 2 s");
    assert_int_equal(state_of(&f).uses, 0);
    assert_non_null(strstr(f.log, "thing: broken\n"));
    mcp_service_stop(f.service); /* ends the pause */
    assert_int_equal(state_of(&f).failures, 0);
    begin(&f);
    assert_string_equal(f.text, "thing: the process ended with exit status 3");
    assert_int_equal(state_of(&f).failures, 1);
    close_fixture(&f);
}

static void test_never_starts(void **state)
{
    static const char *const missing[] = {"/no/such/program", NULL};
    const char *const silent[] = {"sleep", "1000", NULL};
    fixture f;

    (void)state;
    open_client(&f, NULL);
    f.use = (mcp_service_use){.ready = on_ready, .user = &f};
    mcp_service_options o = options_of(&f, missing);
    assert_int_equal(mcp_service_new(f.loop, &o, &f.service, NULL), MCP_OK);
    begin(&f);
    assert_int_equal(f.rc, MCP_ENOTFOUND);
    assert_int_equal(f.last_status, -1);
    assert_int_equal(f.cause, MCP_SERVICE_REFUSED);
    close_fixture(&f);

    open_client(&f, NULL);
    f.use = (mcp_service_use){.ready = on_ready, .user = &f};
    o = options_of(&f, silent);
    o.start_ms = 50;
    assert_int_equal(mcp_service_new(f.loop, &o, &f.service, NULL), MCP_OK);
    begin(&f);
    assert_int_equal(f.rc, MCP_ECLOSED);
    assert_string_equal(f.text, "thing: it did not answer in time after its start");
    wait_for(&f, &f.ends, 1);
    assert_int_equal(f.cause, MCP_SERVICE_REFUSED);
    close_fixture(&f);
}

static void test_abort(void **state)
{
    fixture f;

    (void)state;
    open_fixture(&f, "trap '' TERM; " ANSWER("", ""), 0);
    begin(&f);
    assert_int_equal(mcp_client_call(f.client, "ping", "{}", on_call, &f) < 0, 0);
    mcp_service_abort(f.service, "a read took too long");
    mcp_service_abort(f.service, NULL); /* once is enough */
    wait_for(&f, &f.called, 1);
    assert_int_equal(f.call_rc, MCP_ECLOSED);
    assert_int_equal(f.cause, MCP_SERVICE_ABORTED);
    assert_int_equal(mcp_service_begin(f.service, &f.use, NULL), MCP_EINVAL); /* it is held */
    mcp_service_done(f.service, &f.use);
    begin(&f);
    assert_int_equal(f.rc, MCP_OK);
    close_fixture(&f);
}

/* A process that leaves the process group survives; the others of the group do not. */
static void test_forks_away(void **state)
{
    fixture f;
    char *at;

    (void)state;
    open_fixture(&f, "sleep 1000 & echo pid $! >&2; exec " ANSWER("", ""), 0);
    begin(&f);
    for (int64_t end = wait_end(); !strstr(f.log, "pid ") && wait_more(end);)
        mcp_loop_step(f.loop, 10);
    at = strstr(f.log, "pid ");
    assert_non_null(at);
    pid_t pid = (pid_t)strtol(at + 4, NULL, 10);
    kill((pid_t)state_of(&f).pid, SIGKILL);
    wait_for(&f, &f.ends, 1);
    char path[64], stat[256] = "";
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    for (int i = 0; i < 1000; i++) {
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
            break;
        ssize_t n = read(fd, stat, sizeof(stat) - 1);
        close(fd);
        if (n <= 0 || strstr(stat, ") Z"))
            break;
        assert_true(i < 999);
        usleep(2000);
    }
    close_fixture(&f);
}

static void test_stderr_flood(void **state)
{
    fixture f;

    (void)state;
    open_fixture(&f,
                 "i=0; while [ $i -lt 3000 ]; do printf 'line "
                 "\\033[31m\\302\\233\\342\\200\\256\\377\\n' >&2; i=$((i+1)); done; "
                 "head -c 100000 /dev/zero | tr '\\0' x >&2; echo >&2; " ANSWER("", ""),
                 0);
    begin(&f);
    for (int64_t end = wait_end(); state_of(&f).lines < 3001 && wait_more(end);)
        mcp_loop_step(f.loop, 10);
    mcp_service_state now = state_of(&f);
    assert_int_equal(now.lines, 3001);
    assert_true(now.lines_left_out > 2800 - 20 * 20);
    assert_true(f.log_lines < 300);
    assert_non_null(strstr(f.log, "thing: line \\x1b[31m\\u009b\\u202e\\xff\n"));
    close_fixture(&f);
}

static int make_fourth(void *user)
{
    int ends[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    *(int *)user = ends[0];
    return ends[1];
}

static void log_nothing(const char *level, const char *line, void *user)
{
    (void)level;
    (void)line;
    (void)user;
}

/* A process with its own pipes, a first line and a fourth descriptor. No other descriptor is open
 * in it, and its limits are set. */
static void test_own_pipes(void **state)
{
    const char *const argv[] = {"sh", "-c",
                                "read -r line <&3; { echo \"$line\"; ulimit -c; ulimit -n; "
                                "ulimit -d; ls /proc/self/fd | tr '\\n' ' '; } >&4; "
                                "exec " ANSWER("<&3", " >&5"),
                                NULL};
    int left = open("/dev/null", O_RDONLY); /* inherited unless it is closed */
    fixture f;
    int ours = -1;
    char said[512] = "";
    size_t len = 0;

    (void)state;
    open_client(&f, NULL);
    f.use = (mcp_service_use){.ready = on_ready, .user = &f};
    mcp_service_options o = options_of(&f, argv);
    o.own_pipes = o.low_priority = o.with_parent = true;
    o.first_line = "{\"hello\":1}";
    o.fourth = make_fourth;
    o.max_files = 64;
    o.max_data = 1024 * 1024 * 1024;
    o.on_end = NULL;
    o.log = log_nothing;
    o.user = &ours;
    assert_int_equal(mcp_service_new(f.loop, &o, &f.service, NULL), MCP_OK);
    begin(&f);
    assert_int_equal(f.rc, MCP_OK);
    for (ssize_t n; len < sizeof(said) - 1 && !strstr(said, "5 6") &&
                    (n = read(ours, said + len, sizeof(said) - 1 - len)) > 0;)
        len += (size_t)n;
    mcp_service_state now = {.size = sizeof(now)};
    mcp_service_get_state(f.service, &now);
    assert_int_equal(sched_getscheduler((pid_t)now.pid), SCHED_BATCH);
    int own = getpriority(PRIO_PROCESS, 0);
    assert_int_equal(getpriority(PRIO_PROCESS, (id_t)now.pid), own < 14 ? own + 5 : 19);
    /* 6 is the folder that ls reads. */
    assert_string_equal(said, "{\"hello\":1}\n0\n64\n1048576\n0 1 2 3 4 5 6 ");
    close(ours);
    close(left);
    close_fixture(&f);
}

static void test_options(void **state)
{
    const char *const argv[] = {"true", NULL};
    fixture f;

    (void)state;
    open_client(&f, NULL);
    const mcp_service_options good = options_of(&f, argv);
    mcp_service_options o = good;
    o.name = NULL;
    assert_int_equal(mcp_service_new(f.loop, &o, &f.service, NULL), MCP_EINVAL);
    o = good;
    o.argv = NULL;
    assert_int_equal(mcp_service_new(f.loop, &o, &f.service, NULL), MCP_EINVAL);
    o = good;
    o.first_line = "x";
    assert_int_equal(mcp_service_new(f.loop, &o, &f.service, NULL), MCP_EINVAL);
    o = good;
    o.pause_ms = o.max_pause_ms + 1;
    assert_int_equal(mcp_service_new(f.loop, &o, &f.service, NULL), MCP_EINVAL);
    assert_int_equal(mcp_service_new(NULL, &good, &f.service, NULL), MCP_EINVAL);
    assert_null(f.service);
    assert_int_equal(mcp_service_begin(NULL, &f.use, NULL), MCP_EINVAL);
    close_fixture(&f);
}

/* The loop ends while it runs, with and without mcp_service_free() before. */
static void test_loop_ends(void **state)
{
    for (int freed = 0; freed < 2; freed++) {
        fixture f;
        (void)state;
        open_fixture(&f, "trap '' TERM; " ANSWER("", "") "; sleep 1000", 0);
        begin(&f);
        if (freed)
            mcp_service_free(f.service);
        mcp_loop_free(f.loop);
        mcp_client_free(f.client);
        assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    }
}

static void test_no_memory(void **state)
{
    const char *const argv[] = {"sh", "-c", ANSWER("", ""), NULL};

    (void)state;
    for (size_t n = 1;; n++) {
        failalloc fail = {.fail_at = n};
        mcp_allocator a = failalloc_allocator(&fail);
        fixture f;
        open_client(&f, NULL);
        mcp_loop_free(f.loop);
        f.loop = NULL;
        f.use = (mcp_service_use){.ready = on_ready, .user = &f};
        int rc = mcp_loop_new(&a, &f.loop, NULL);
        if (rc == MCP_OK) {
            mcp_service_options o = options_of(&f, argv);
            o.start_ms = 300; /* an answer that was lost for want of memory */
            rc = mcp_service_new(f.loop, &o, &f.service, NULL);
        }
        if (rc == MCP_OK) {
            begin(&f);
            if (f.rc != MCP_OK)
                assert_int_equal(state_of(&f).uses, 0);
        } else {
            assert_int_equal(rc, MCP_ENOMEM);
        }
        close_fixture(&f);
        assert_int_equal(fail.live, 0);
        if (fail.calls < n)
            break;
    }
}

/* ---- floods ---------------------------------------------------------------------------------- */

static int n_notices, n_slowed;

static void on_notice(mcp_client *client, mcp_str method, const mcp_json *params, void *user)
{
    (void)client, (void)method, (void)params, (void)user;
    n_notices++;
}

static void on_slowed(void *user)
{
    (void)user;
    n_slowed++;
}

/* Of a process that sends without end, only so many messages are read in a second. It can be ended. */
static void test_flood(void **state)
{
    enum { LIMIT = 500, TURN = 256 };
    static const char *const argv[] = {
        "sh", "-c",
        "read -r line; echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocolVersion\":"
        "\"2025-06-18\",\"capabilities\":{},\"serverInfo\":{\"name\":\"s\",\"version\":\"1\"}}}'; "
        "exec yes '{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}'",
        NULL};
    fixture f = {.last_status = -1};

    (void)state;
    n_notices = n_slowed = 0;
    assert_int_equal(mcp_loop_new(NULL, &f.loop, NULL), MCP_OK);
    assert_int_equal(
        mcp_client_new(MCP_OPTIONS(mcp_client_options, .name = "t", .version = "1",
                                   .revision = "2025-06-18", .notification = on_notice),
                       &f.client, NULL),
        MCP_OK);
    mcp_service_options o = options_of(&f, argv);
    o.messages_per_second = LIMIT;
    o.slowed = on_slowed;
    o.start_ms = 600000;
    assert_int_equal(mcp_service_new(f.loop, &o, &f.service, NULL), MCP_OK);
    f.use = (mcp_service_use){.ready = on_ready, .user = &f};
    int64_t began = mcp_loop_now(f.loop);
    assert_int_equal(mcp_service_begin(f.service, &f.use, NULL), MCP_PENDING);
    for (int64_t end = wait_end(); n_notices < 3 * LIMIT && wait_more(end);)
        mcp_loop_step(f.loop, 10);
    int64_t ms = mcp_loop_now(f.loop) - began;
    assert_in_range(n_notices, 3 * LIMIT, LIMIT + (LIMIT * (ms + 20)) / 1000 + TURN);
    assert_true(n_slowed > 0);
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_starts_when_needed), cmocka_unit_test(test_killed),
        cmocka_unit_test(test_killed_at_any_time), cmocka_unit_test(test_pauses_grow),
        cmocka_unit_test(test_never_starts),       cmocka_unit_test(test_abort),
        cmocka_unit_test(test_forks_away),         cmocka_unit_test(test_stderr_flood),
        cmocka_unit_test(test_own_pipes),          cmocka_unit_test(test_options),
        cmocka_unit_test(test_loop_ends),          cmocka_unit_test(test_flood),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
