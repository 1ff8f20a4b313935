/* The bus on Redis with a server that means ill: what it sends costs bounded memory and time, and does not
 * end the program; and the bus connects again to one that behaves.
 */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "server.h"

/* What the server does. `at` is the command that gets `bytes` instead of a good answer, NULL for the
 * first one of a connection without PING. They are repeated until they are `times`, or until nobody reads.
 */
typedef struct row {
    const char *at, *bytes;
    long times;
    const char *why; /* what the bus says then; NULL: it stays connected */
} row;

enum { FOREVER = 1 << 30 };

static const row rows[] = {
    {"INFO", "-ERR max number of clients reached\r\n", 1, "max number of clients"},
    {"INFO", "x", 1, "Protocol error"},
    {"INFO", "$3\r\nabc\r\n+OK\r\n", FOREVER, NULL},
    {"INFO", "+\x1b[31mred\x7f\r\n-ERR \x1b[31mred\r\n", 1, "ERR ?[31mred"},
    {"INFO", "$2000000000\r\n", 1, "does not answer"},
    {"INFO", "a", FOREVER, "Protocol error"},
    {"INFO", "+a", FOREVER, "too large"},
    {"INFO", "$200000000\r\naaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", FOREVER, "too large"},
    {"INFO", "*2147483647\r\n", 1, "too large"},
    {"INFO", "*-5\r\n", 1, ""},
    {"INFO", "*4000\r\n*4000\r\n", 1, "too large"},
    {"INFO", "*4000\r\n$1000\r\n", 1, "does not answer"},
    {"INFO", "*1\r\n", FOREVER, ""},
    {"INFO", "*99999999999999999999\r\n", 1, ""},
    {"INFO", "$-99\r\n", 1, ""},
    {"INFO", ":99999999999999999999999\r\n", 1, ""},
    {"XREVRANGE", "+OK\r\n", 1, "XREVRANGE"},
    {"XREVRANGE", "*2\r\n+a\r\n+b\r\n", 1, "XREVRANGE"},
    {"XREVRANGE", "*1\r\n*2\r\n$5\r\n1-1;x\r\n*0\r\n", 1, "XREVRANGE"},
    {"XREVRANGE",
     "*1\r\n*2\r\n$60\r\n123456789012345678901234567890123456789012345678901234567890\r\n*0\r\n", 1,
     "XREVRANGE"},
    {"XREVRANGE", "*1\r\n*2\r\n*0\r\n*0\r\n", 1, "XREVRANGE"},
    {"XREAD", "*-1\r\n", 1, "without waiting"},
    {"XREAD", "+OK\r\n", 1, "XREAD"},
    {"XREAD", "*0\r\n", 1, "XREAD"},
    {"XREAD", "*1\r\n+OK\r\n", 1, "XREAD"},
    {"XREAD", "*1\r\n*2\r\n$1\r\nk\r\n+OK\r\n", 1, "XREAD"},
    {"XREAD", "*1\r\n*2\r\n$1\r\nk\r\n*1\r\n*2\r\n$1\r\nx\r\n*0\r\n", 1, "XREAD"},
    {"XREAD", "*1\r\n*2\r\n$1\r\nk\r\n*1\r\n*3\r\n$1\r\n1\r\n*0\r\n*0\r\n", 1, "XREAD"},
    /* An entry without our field, or with an odd number of fields, is of another program. */
    {"XREAD", "*1\r\n*2\r\n$1\r\nk\r\n*1\r\n*2\r\n$3\r\n1-1\r\n*1\r\n$1\r\ne\r\n", 1, NULL},
    {"XREAD", "*1\r\n*2\r\n$1\r\nk\r\n*1\r\n*2\r\n$3\r\n1-1\r\n:7\r\n", 1, NULL},
    {"XREAD", "*1\r\n*2\r\n$1\r\nk\r\n*1\r\n*2\r\n$3\r\n1-1\r\n*2\r\n$1\r\ne\r\n$0\r\n\r\n", 1,
     NULL},
    {"XRANGE", ":1\r\n", 1, "XRANGE"},
    {"XRANGE", "*0\r\n*0\r\n*0\r\n*0\r\n", FOREVER, ""},
    {"PING", "+PONG\r\n+PONG\r\n+PONG\r\n", 1, "replies without a request"},
    {"PING", "$6\r\nsecret\r\n-ERR spontaneous\r\n", 1, "replies without a request"},
    {"PING", "-LOADING wait\r\n", 1, "LOADING"},
};

/* ---- the server -------------------------------------------------------------------------------- */

static void put(int fd, const char *bytes)
{
    size_t len = strlen(bytes);
    if (send(fd, bytes, len, MSG_NOSIGNAL) != (ssize_t)len)
        _exit(0);
}

static void flood(int fd, const row *r)
{
    static char many[1 << 16];
    size_t len = strlen(r->bytes), n = 0;
    for (long i = 0; i < r->times && n + len < sizeof(many); i++, n += len)
        memcpy(many + n, r->bytes, len);
    do {
        if (send(fd, many, n, MSG_NOSIGNAL) < 0)
            _exit(0);
    } while (r->times == FOREVER);
}

static void answer(int fd, const row *r, const char *command)
{
    if (r && strcmp(command, r->at) == 0)
        flood(fd, r);
    else if (strcmp(command, "INFO") == 0)
        put(fd, "$22\r\n# Server\r\nrun_id:abc\r\n\r\n");
    else if (strcmp(command, "PING") == 0)
        put(fd, "+PONG\r\n");
    else if (strcmp(command, "XREVRANGE") == 0)
        put(fd, "*0\r\n");
    else if (strcmp(command, "XRANGE") == 0)
        put(fd, "*0\r\n");
    else if (strcmp(command, "XREAD") == 0 && r && strcmp(r->at, "XRANGE") == 0)
        put(fd, "*1\r\n*2\r\n$1\r\nk\r\n*1\r\n*2\r\n$3\r\n1-1\r\n*0\r\n");
}

/* Answers the commands of one connection. Their arguments are not needed. */
static void serve(int fd, const row *r)
{
    static const char *const known[] = {"INFO", "PING", "XREVRANGE", "XREAD", "XRANGE"};
    char line[4096];
    FILE *in = fdopen(fd, "r");
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (in && fgets(line, sizeof(line), in)) {
        line[strcspn(line, "\r\n")] = 0;
        for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
            if (strcmp(line, known[i]) == 0)
                answer(fd, r, known[i]);
    }
    _exit(0);
}

static pid_t begin_server(const row *r)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    unlink(place);
    memcpy(at.sun_path, place, sizeof(place));
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(listen(listener, 16), 0);
    pid_t pid = fork();
    if (pid == 0) {
        setpgid(0, 0);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        signal(SIGCHLD, SIG_IGN);
        for (;;) {
            int fd = accept(listener, NULL, NULL);
            if (fd >= 0 && fork() == 0)
                serve(fd, r);
            close(fd);
        }
    }
    setpgid(pid, pid);
    close(listener);
    return pid;
}

static void end_server(pid_t pid)
{
    kill(-pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

/* ---- the test ---------------------------------------------------------------------------------- */

/* Returns a line of /proc/self/status in KiB. */
static long memory(const char *name)
{
    char line[200];
    long kib = 0;
    FILE *f = fopen("/proc/self/status", "re");
    while (f && fgets(line, sizeof(line), f))
        if (strncmp(line, name, strlen(name)) == 0)
            kib = strtol(line + strlen(name) + 1, NULL, 10);
    if (f)
        fclose(f);
    return kib;
}

static void test_rows(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const row *r = &rows[i];
        if (r->why && strcmp(r->why, "does not answer") == 0)
            continue; /* test_silence() */
        pid_t pid = begin_server(r);
        assert_int_equal(open_on(&a, place, NULL, NULL, mcp_loop_host(loop)), MCP_OK);
        if (r->why) {
            WAIT_FOR(a.why[0]);
            if (!strstr(a.why, r->why))
                fail_msg("row %zu: %s", i, a.why);
        }
        for (int j = 0; j < 10; j++)
            mcp_loop_step(loop, 10);
        close_bus(&a);
        end_server(pid);
    }
    assert_int_equal(a.n_received, 0);
}

/* Answers that do not end: their time is limited, and all of them wait at the same time. */
static void test_silence(void **state)
{
    static instance all[4];
    static char at[4][sizeof(place)];
    pid_t pids[4];
    size_t n = 0;
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        if (!rows[i].why || strcmp(rows[i].why, "does not answer") != 0)
            continue;
        assert_true(n < 4);
        snprintf(place, sizeof(place), "%s/silent%zu", top, n);
        memcpy(at[n], place, sizeof(place));
        pids[n] = begin_server(&rows[i]);
        assert_int_equal(open_on(&all[n], at[n], NULL, NULL, mcp_loop_host(loop)), MCP_OK);
        n++;
    }
    assert_true(n > 0);
    for (size_t i = 0; i < n; i++) {
        WAIT_FOR(all[i].why[0]);
        ASSERT_HAS(all[i].why, "does not answer");
    }
    for (size_t i = 0; i < n; i++) {
        close_bus(&all[i]);
        end_server(pids[i]);
    }
}

/* The bus goes on when the server behaves again. */
static void test_afterwards(void **state)
{
    (void)state;
    pid_t pid = begin_server(&rows[0]);
    assert_int_equal(open_on(&a, place, NULL, NULL, mcp_loop_host(loop)), MCP_OK);
    WAIT_FOR(a.why[0]);
    end_server(pid);
    pid = begin_server(NULL);
    WAIT_FOR(a.state == MCP_BUS_CONNECTED);
    close_bus(&a);
    end_server(pid);
}

static void test_memory(void **state)
{
    (void)state;
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    assert_in_range(memory("VmHWM:"), 1, 64 << 10);
#else
    (void)memory;
#endif
}

static int set_up(void **state)
{
    (void)state;
    strcpy(top, "/tmp/mcp-redis-XXXXXX");
    if (!mkdtemp(top) || mcp_loop_new(NULL, &loop, NULL) != MCP_OK)
        return 1;
    snprintf(place, sizeof(place), "%s/socket", top);
    return 0;
}

static int tear_down(void **state)
{
    char command[100];
    (void)state;
    mcp_loop_free(loop);
    snprintf(command, sizeof(command), "rm -rf %s", top);
    return system(command) != 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_silence),
        cmocka_unit_test(test_afterwards),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
