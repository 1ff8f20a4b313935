/* test_oauth_race.c: processes that share a login renew its token at the same time. The
 * authorization server rotates refresh tokens, and revokes everything if one is used twice, as
 * RFC 9700 (section 4.14.2) asks of it.
 *
 * A process locks the record, reads it, and renews the token only if nobody has done that meanwhile.
 * In each round all processes find that their token has expired. `test_fault_oauth_race 1000` runs
 * 1,000 rounds instead of 100. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "io/oauth_store/store.h"
#include "support/wait.h"

enum { PROCESSES = 10 };

static int rounds = 100;
static char folder[64], path[128];

static int make(void **state)
{
    (void)state;
    snprintf(folder, sizeof(folder), "/tmp/oauth-race-XXXXXX");
    snprintf(path, sizeof(path), "%s/auth.json", mkdtemp(folder));
    return 0;
}

static int clean(void **state)
{
    char command[128];
    (void)state;
    snprintf(command, sizeof(command), "rm -rf %s", folder);
    return system(command);
}

/* ---- a process ------------------------------------------------------------------------------- */

typedef struct process {
    mcp_loop *loop;
    mcp__records records;
    int server; /* a socket */
    bool done;
    int rc;
    char record[256];
} process;

static void on_locked(int rc, const mcp_error *error, void *arg)
{
    process *p = arg;
    (void)error;
    p->rc = rc;
    p->done = true;
}

static void take(void *arg, mcp_str key, mcp_str record)
{
    process *p = arg;
    (void)key;
    snprintf(p->record, sizeof(p->record), "%.*s", (int)record.len, record.ptr);
}

/* Sends a line to the server, and replaces it with the answer. */
static bool ask(const process *p, char line[64])
{
    if (write(p->server, line, 64) != 64)
        return false;
    return read(p->server, line, 64) == 64;
}

/* Returns a lock, or NULL. */
static mcp__record_lock *lock(process *p)
{
    mcp__record_lock *lock = NULL;
    p->done = false;
    int rc = mcp__record_lock_new(p->loop, &p->records, "k", 300000, on_locked, p, &lock, NULL);
    for (int64_t end = wait_now() + 300000; rc == MCP_PENDING && !p->done && wait_more(end);)
        mcp_loop_step(p->loop, 100);
    return rc == MCP_OK || (p->done && p->rc == MCP_OK) ? lock : NULL;
}

/* Gets a token that is newer than the one of this round. */
static bool renew(process *p, int round)
{
    char line[64] = "";
    int number = 0;
    unsigned refresh = 0;
    mcp__record_lock *held = lock(p);
    bool ok = held && mcp__records_load(&p->records, "k", take, p, NULL) == MCP_OK &&
              sscanf(p->record, "{\"n\":%d,\"r\":\"%u\"}", &number, &refresh) == 2;
    if (ok && number <= round) {
        snprintf(line, sizeof(line), "renew %u", refresh);
        ok = ask(p, line) && sscanf(line, "%d %u", &number, &refresh) == 2;
        snprintf(p->record, sizeof(p->record), "{\"n\":%d,\"r\":\"%u\"}", number, refresh);
        ok = ok && mcp__records_save(&p->records, "k", mcp_str_from(p->record), NULL) == MCP_OK;
    }
    mcp__record_lock_free(held);
    return ok && number == round + 1;
}

static int run_process(int server)
{
    process p = {.server = server};
    bool ok = mcp_loop_new(NULL, &p.loop, NULL) == MCP_OK &&
              mcp__records_init(&p.records, mcp__allocator(NULL), path, NULL) == MCP_OK;
    for (int round = 0; ok && round < rounds; round++) {
        char line[64] = "wait";
        ok = ask(&p, line) && renew(&p, round);
    }
    mcp__records_free(&p.records);
    mcp_loop_free(p.loop);
    return ok ? 0 : 1;
}

/* ---- the authorization server ---------------------------------------------------------------- */

typedef struct token_server {
    int sockets[PROCESSES];
    bool waiting[PROCESSES], open[PROCESSES];
    int number;       /* renewals */
    unsigned current; /* the refresh token */
    bool reused;
} token_server;

static void answer(token_server *s, int i, char line[64])
{
    unsigned token = 0;
    if (sscanf(line, "renew %u", &token) != 1) {
        s->waiting[i] = true;
        return;
    }
    s->reused = s->reused || token != s->current;
    s->current = s->current * 1103515245u + 12345u;
    memset(line, 0, 64);
    snprintf(line, 64, s->reused ? "revoked" : "%d %u", ++s->number, s->current);
    assert_int_equal(write(s->sockets[i], line, 64), 64);
}

/* Lets all processes go on when all of them wait. */
static void start_round(token_server *s)
{
    char line[64] = "go";
    for (int i = 0; i < PROCESSES; i++)
        if (s->open[i] && !s->waiting[i])
            return;
    for (int i = 0; i < PROCESSES; i++) {
        if (s->waiting[i])
            (void)!write(s->sockets[i], line, 64);
        s->waiting[i] = false;
    }
}

static void serve(token_server *s)
{
    for (int left = PROCESSES; left;) {
        struct pollfd p[PROCESSES];
        for (int i = 0; i < PROCESSES; i++)
            p[i] = (struct pollfd){.fd = s->open[i] ? s->sockets[i] : -1, .events = POLLIN};
        assert_true(poll(p, PROCESSES, 300000) > 0);
        for (int i = 0; i < PROCESSES; i++) {
            char line[64] = "";
            if (!p[i].revents)
                continue;
            if (read(s->sockets[i], line, 64) == 64) {
                answer(s, i, line);
            } else {
                s->open[i] = false;
                left--;
            }
        }
        start_round(s);
    }
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void test_race(void **state)
{
    token_server s = {.current = 1};
    mcp__records r;
    process last = {0};
    char expected[256];
    pid_t pids[PROCESSES];
    (void)state;
    assert_int_equal(mcp__records_init(&r, mcp__allocator(NULL), path, NULL), MCP_OK);
    assert_int_equal(mcp__records_save(&r, "k", MCP_STR("{\"n\":0,\"r\":\"1\"}"), NULL), MCP_OK);
    for (int i = 0; i < PROCESSES; i++) {
        int pair[2];
        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
        fflush(NULL);
        pids[i] = fork();
        if (pids[i] == 0) {
            for (int k = 0; k < i; k++)
                close(s.sockets[k]);
            close(pair[0]);
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            _exit(run_process(pair[1]));
        }
        close(pair[1]);
        s.sockets[i] = pair[0];
        s.open[i] = true;
    }
    serve(&s);
    for (int i = 0; i < PROCESSES; i++) {
        int status;
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_int_equal(status, 0);
        close(s.sockets[i]);
    }
    assert_false(s.reused);
    assert_int_equal(s.number, rounds);
    assert_int_equal(mcp__records_load(&r, "k", take, &last, NULL), MCP_OK);
    snprintf(expected, sizeof(expected), "{\"n\":%d,\"r\":\"%u\"}", rounds, s.current);
    assert_string_equal(last.record, expected);
    mcp__records_free(&r);
}

/* A process that is killed leaves no lock. */
static void test_killed(void **state)
{
    int ready[2], status;
    char c;
    process p = {0};
    (void)state;
    assert_int_equal(mcp_loop_new(NULL, &p.loop, NULL), MCP_OK);
    assert_int_equal(mcp__records_init(&p.records, mcp__allocator(NULL), path, NULL), MCP_OK);
    assert_int_equal(pipe(ready), 0);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (!lock(&p) || write(ready[1], "", 1) != 1)
            _exit(1);
        pause();
        _exit(0);
    }
    assert_int_equal(read(ready[0], &c, 1), 1);
    mcp__record_lock *held = NULL;
    assert_int_equal(
        mcp__record_lock_new(p.loop, &p.records, "k", 300000, on_locked, &p, &held, NULL),
        MCP_PENDING);
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    for (int64_t end = wait_end(); !p.done && wait_more(end);)
        mcp_loop_step(p.loop, 100);
    assert_true(p.done && p.rc == MCP_OK);
    mcp__record_lock_free(held);
    close(ready[0]), close(ready[1]);
    mcp__records_free(&p.records);
    mcp_loop_free(p.loop);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_race, make, clean),
        cmocka_unit_test_setup_teardown(test_killed, make, clean),
    };
    if (argc > 1)
        rounds = atoi(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
