/* test_child.c: servers as child processes: start, exit and termination. The servers are small
 * shell scripts. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include <mcp/io.h>
#include <mcp/sys/channel.h>

#include "support/failalloc.h"
#include "support/wait.h"

/* A legacy server that answers initialize and nothing else. */
#define ANSWER                                                                          \
    "sed -u -n 's/.*\"id\":\\([^,}]*\\).*/{\"jsonrpc\":\"2.0\",\"id\":\\1,\"result\":{" \
    "\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},"                           \
    "\"serverInfo\":{\"name\":\"s\",\"version\":\"1\"}}}/p'"

typedef struct fixture {
    mcp_loop *loop;
    mcp_client *client;
    mcp_child *child;
    int results, rc;
    char text[256];
    int exits, status;
    size_t stderr_bytes;
    char order[8];
} fixture;

static void on_result(mcp_client *client, int rc, const mcp_json *result, const mcp_error *error,
                      void *user)
{
    fixture *f = user;

    (void)client;
    (void)result;
    f->results++;
    f->rc = rc;
    snprintf(f->text, sizeof(f->text), "%s", error ? error->text : "");
}

static void on_exit_status(int status, void *user)
{
    fixture *f = user;

    f->exits++;
    f->status = status;
}

static void on_stderr(mcp_str bytes, void *user)
{
    ((fixture *)user)->stderr_bytes += bytes.len;
}

static void open_fixture(fixture *f)
{
    *f = (fixture){.status = -1};
    assert_int_equal(mcp_loop_new(NULL, &f->loop, NULL), MCP_OK);
    assert_int_equal(mcp_client_new(MCP_OPTIONS(mcp_client_options, .name = "t", .version = "1",
                                                .revision = "2025-06-18"),
                                    &f->client, NULL),
                     MCP_OK);
}

static int spawn(fixture *f, const char *const *argv, mcp_error *error)
{
    return mcp_child_spawn(f->loop, f->client,
                           MCP_OPTIONS(mcp_child_options, .argv = argv, .on_exit = on_exit_status,
                                       .on_stderr = on_stderr, .user = f, .kill_ms = 50),
                           &f->child, error);
}

/* Starts `sh -c script` and the client. */
static void open_script(fixture *f, const char *script)
{
    const char *const argv[] = {"sh", "-c", script, NULL};
    mcp_error error = {0};

    open_fixture(f);
    assert_int_equal(spawn(f, argv, &error), MCP_OK);
    assert_int_equal(mcp_client_start(f->client, on_result, f), MCP_OK);
}

static void wait_for(fixture *f, const int *what)
{
    for (int64_t end = wait_end(); !*what && wait_more(end);)
        mcp_loop_step(f->loop, 10);
    assert_int_equal(*what, 1);
}

static int close_fixture(fixture *f)
{
    int status = mcp_child_close(f->child);

    mcp_client_free(f->client);
    mcp_loop_free(f->loop);
    return status;
}

static void test_talks(void **state)
{
    fixture f;

    (void)state;
    open_script(&f, ANSWER);
    wait_for(&f, &f.results);
    assert_int_equal(f.rc, MCP_OK);
    assert_int_equal(f.exits, 0);
    assert_int_equal(close_fixture(&f), 0); /* it ends by itself when its stdin is closed */
    assert_int_equal(f.exits, 1);
}

/* A server whose answer has half a MiB. A short message follows at once. */
#define LONG_ANSWER                                                                    \
    "x=x; for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19; do x=$x$x; done; " \
    "sed -u -n 's/.*\"id\":\\([^,}]*\\).*/\\1/p' | while read -r id; do "              \
    "echo '{\"jsonrpc\":\"2.0\",\"id\":'$id',\"result\":{\"protocolVersion\":"         \
    "\"2025-06-18\",\"capabilities\":{},\"instructions\":\"'$x'\",\"serverInfo\":{"    \
    "\"name\":\"s\",\"version\":\"1\"}}}'; "                                           \
    "echo '{\"jsonrpc\":\"2.0\",\"method\":\"notifications/next\"}'; done"

/* Notes the order of the messages: "l" for a long one, "s" for a short one. */
static void on_trace(mcp_client *client, bool sent, mcp_exchange exchange, mcp_str message,
                     void *user)
{
    fixture *f = user;
    size_t n = strlen(f->order);

    (void)client;
    (void)exchange;
    if (!sent && n < sizeof(f->order) - 1)
        f->order[n] = message.len > 1 << 19 ? 'l' : 's';
}

static void open_long(fixture *f, const char *script)
{
    const char *const argv[] = {"sh", "-c", script, NULL};
    mcp_error error = {0};

    *f = (fixture){.status = -1};
    assert_int_equal(mcp_loop_new(NULL, &f->loop, NULL), MCP_OK);
    assert_int_equal(
        mcp_client_new(MCP_OPTIONS(mcp_client_options, .name = "t", .version = "1",
                                   .revision = "2025-06-18", .trace = on_trace, .user = f),
                       &f->client, NULL),
        MCP_OK);
    assert_int_equal(spawn(f, argv, &error), MCP_OK);
    assert_int_equal(mcp_client_start(f->client, on_result, f), MCP_OK);
}

/* A long message is parsed on another thread. The messages keep their order. */
static void test_long(void **state)
{
    fixture f;

    (void)state;
    open_long(&f, LONG_ANSWER);
    wait_for(&f, &f.results);
    assert_int_equal(f.rc, MCP_OK);
    assert_int_equal(mcp_client_instructions(f.client).len, 1 << 19);
    for (int64_t end = wait_end(); !strchr(f.order, 's') && wait_more(end);)
        mcp_loop_step(f.loop, 10);
    assert_string_equal(f.order, "ls");
    close_fixture(&f);
}

/* The process ends, or is ended, while its message is parsed. */
static void test_long_at_the_end(void **state)
{
    fixture f;

    (void)state;
    open_long(&f, "read -r line; echo \"$line\" | { " LONG_ANSWER "; }; exit 3");
    wait_for(&f, &f.results);
    assert_int_equal(f.rc, MCP_OK);
    wait_for(&f, &f.exits);
    assert_string_equal(f.order, "ls");
    assert_int_equal(close_fixture(&f), 3);
    for (int steps = 0; steps < 40; steps++) {
        open_long(&f, LONG_ANSWER);
        for (int i = 0; i < steps; i++)
            mcp_loop_step(f.loop, 1);
        close_fixture(&f);
        assert_int_equal(f.results, 1); /* the answer, or that the connection is closed */
    }
}

static void test_exit_status(void **state)
{
    static const struct {
        const char *script;
        int status;
        const char *text;
    } cases[] = {
        {"exit 0", 0, "exit status 0"},
        {"exit 3", 3, "exit status 3"},
        {"echo no; exit 3", 3, "exit status 3"},
        {"echo first >&2; echo 'the reason' >&2; exit 1", 1, "the reason"},
        {"printf 'no newline\\033[2J' >&2; exit 1", 1, "no newline\\x1b[2J"},
        {"kill -9 $$", 128 + SIGKILL, "signal 9"},
        {"kill -15 $$", 128 + SIGTERM, "signal 15"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        fixture f;
        open_script(&f, cases[i].script);
        wait_for(&f, &f.exits);
        assert_int_equal(f.status, cases[i].status);
        wait_for(&f, &f.results);
        assert_int_equal(f.rc, MCP_ECLOSED);
        if (!strstr(f.text, cases[i].text))
            fail_msg("\"%s\" is not in \"%s\"", cases[i].text, f.text);
        assert_int_equal(close_fixture(&f), cases[i].status);
        assert_int_equal(f.exits, 1);
        assert_int_equal(f.results, 1);
    }
}

/* An answer that is written just before the exit is still received. */
static void test_answer_before_exit(void **state)
{
    fixture f;

    (void)state;
    open_script(&f, "head -n 1 | " ANSWER "; exit 5");
    wait_for(&f, &f.results);
    assert_int_equal(f.rc, MCP_OK);
    wait_for(&f, &f.exits);
    assert_int_equal(close_fixture(&f), 5);
}

static void test_closes_its_output(void **state)
{
    fixture f;

    (void)state;
    open_script(&f, "exec >&-; cat; exit 4");
    wait_for(&f, &f.exits);
    assert_int_equal(f.status, 4);
    assert_int_equal(close_fixture(&f), 4);
}

/* A server that ignores SIGTERM and the end of its stdin is killed. */
static void test_killed_at_last(void **state)
{
    fixture f;

    (void)state;
    open_script(&f, "trap '' TERM; echo ready >&2; while :; do sleep 1; done");
    while (f.stderr_bytes == 0)
        mcp_loop_step(f.loop, 10);
    int64_t before = mcp_loop_now(f.loop);
    assert_int_equal(close_fixture(&f), 128 + SIGKILL);
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    int64_t took = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000 - before;
    assert_in_range(took, 95, 5000);
}

static void test_terminated(void **state)
{
    fixture f;

    (void)state;
    open_script(&f, "trap 'exit 9' TERM; echo ready >&2; while :; do sleep 0.01; done");
    while (f.stderr_bytes == 0)
        mcp_loop_step(f.loop, 10);
    assert_int_equal(close_fixture(&f), 9);
}

static bool is_alive(pid_t pid)
{
    char path[64], text[256] = "";

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool any = read(fd, text, sizeof(text) - 1) > 0;
    close(fd);
    const char *state = strrchr(text, ')');
    return any && state && state[2] != 'Z';
}

static pid_t grandchild_of(fixture *f)
{
    while (!memchr(mcp_child_stderr(f->child).ptr, '\n', mcp_child_stderr(f->child).len))
        mcp_loop_step(f->loop, 10);
    return (pid_t)strtol(mcp_child_stderr(f->child).ptr, NULL, 10);
}

static void expect_dead(pid_t pid)
{
    assert_true(pid > 1);
    for (int64_t end = wait_end(); is_alive(pid) && wait_more(end);)
        usleep(2000);
    assert_false(is_alive(pid));
}

static void test_group_dies_too(void **state)
{
    static const char *const scripts[] = {
        "sleep 1000 & echo $! >&2; wait",                           /* terminated */
        "sleep 1000 & echo $! >&2; cat",                            /* ends by itself */
        "trap '' TERM; (sleep 1000) & echo $! >&2; wait; sleep 10", /* killed */
    };

    (void)state;
    for (size_t i = 0; i < sizeof(scripts) / sizeof(scripts[0]); i++) {
        fixture f;
        open_script(&f, scripts[i]);
        pid_t pid = grandchild_of(&f);
        assert_true(is_alive(pid));
        close_fixture(&f);
        expect_dead(pid);
    }
}

/* Ten megabytes on stderr before the answer, which nothing reads, do not block the server. */
static void test_stderr_flood(void **state)
{
    fixture f;

    (void)state;
    open_script(&f, "head -c 10000000 /dev/zero | tr '\\0' x >&2; echo end >&2; " ANSWER);
    wait_for(&f, &f.results);
    assert_int_equal(f.rc, MCP_OK);
    for (int64_t end = wait_end(); f.stderr_bytes < 10000004 && wait_more(end);)
        mcp_loop_step(f.loop, 10);
    assert_int_equal(f.stderr_bytes, 10000004);
    mcp_str last = mcp_child_stderr(f.child);
    assert_int_equal(last.len, 4096);
    assert_memory_equal(last.ptr + 4096 - 8, "xxxxend\n", 8);
    close_fixture(&f);
}

/* A server that reads nothing does not block the client and can be closed. */
static void test_does_not_read(void **state)
{
    fixture f;

    (void)state;
    open_script(&f, "sleep 1000");
    char *params = malloc(300000);
    memset(params, 'x', 300000);
    memcpy(params, "{\"x\":\"", 6);
    memcpy(params + 299997, "\"}", 3);
    for (int i = 0; i < 10; i++) {
        mcp_client_call(f.client, "ping", params, on_result, &f);
        mcp_loop_step(f.loop, 1);
    }
    assert_int_equal(close_fixture(&f), 128 + SIGTERM);
    free(params);
}

static void test_cannot_start(void **state)
{
    static const struct {
        const char *program;
        int rc;
    } cases[] = {
        {"mcp-no-such-program", MCP_ENOTFOUND},
        {"/no/such/program", MCP_ENOTFOUND},
        {"/dev/null", MCP_EACCESS},
        {"", MCP_EINVAL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *const argv[] = {cases[i].program, NULL};
        mcp_error error = {0};
        fixture f;
        open_fixture(&f);
        assert_int_equal(spawn(&f, argv, &error), cases[i].rc);
        assert_int_equal(error.code, cases[i].rc);
        if (cases[i].program[0])
            assert_non_null(strstr(error.text, cases[i].program));
        assert_null(f.child);
        close_fixture(&f);
        assert_int_equal(f.exits, 0);
    }
}

static void test_connected_already(void **state)
{
    const char *const argv[] = {"cat", NULL};
    mcp_error error = {0};
    mcp_child *first;
    fixture f;

    (void)state;
    open_fixture(&f);
    assert_int_equal(spawn(&f, argv, &error), MCP_OK);
    first = f.child;
    assert_int_equal(spawn(&f, argv, &error), MCP_ESTATE);
    assert_ptr_equal(f.child, first);
    close_fixture(&f);
    assert_int_equal(f.exits, 1);
}

static void test_surroundings(void **state)
{
    const char *const argv[] = {"sh", "-c", "echo $MARK:$(pwd) >&2", NULL};
    const char *const env[] = {"MARK=m", "PATH=/usr/bin:/bin", NULL};
    fixture f;

    (void)state;
    open_fixture(&f);
    assert_int_equal(
        mcp_child_spawn(f.loop, f.client,
                        MCP_OPTIONS(mcp_child_options, .argv = argv, .env = env, .cwd = "/usr",
                                    .on_exit = on_exit_status, .user = &f),
                        &f.child, NULL),
        MCP_OK);
    wait_for(&f, &f.exits);
    mcp_str said = mcp_child_stderr(f.child);
    assert_true(mcp_str_eq(said, MCP_STR("m:/usr\n")));
    close_fixture(&f);
}

/* The second child does not inherit the pipes of the first, so the first gets the end of its input. */
static void test_two_children(void **state)
{
    fixture first, second;

    (void)state;
    open_script(&first, "cat >/dev/null; exit 7");
    open_script(&second, "exec sleep 1000");
    assert_int_equal(close_fixture(&first), 7);
    assert_int_equal(close_fixture(&second), 128 + SIGTERM);
}

static void test_no_memory(void **state)
{
    const char *const argv[] = {"true", NULL};

    (void)state;
    for (size_t n = 1;; n++) {
        failalloc fail = {.fail_at = n};
        mcp_allocator a = failalloc_allocator(&fail);
        fixture f;
        open_fixture(&f);
        mcp_loop_free(f.loop);
        int rc = mcp_loop_new(&a, &f.loop, NULL);
        if (rc == MCP_OK)
            rc = spawn(&f, argv, NULL);
        else
            f.loop = NULL;
        if (rc == MCP_OK)
            wait_for(&f, &f.exits);
        else
            assert_int_equal(rc, MCP_ENOMEM);
        close_fixture(&f);
        assert_int_equal(fail.live, 0);
        if (fail.calls < n)
            break;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_talks),
        cmocka_unit_test(test_long),
        cmocka_unit_test(test_long_at_the_end),
        cmocka_unit_test(test_exit_status),
        cmocka_unit_test(test_answer_before_exit),
        cmocka_unit_test(test_closes_its_output),
        cmocka_unit_test(test_killed_at_last),
        cmocka_unit_test(test_terminated),
        cmocka_unit_test(test_group_dies_too),
        cmocka_unit_test(test_stderr_flood),
        cmocka_unit_test(test_does_not_read),
        cmocka_unit_test(test_cannot_start),
        cmocka_unit_test(test_connected_already),
        cmocka_unit_test(test_surroundings),
        cmocka_unit_test(test_two_children),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
