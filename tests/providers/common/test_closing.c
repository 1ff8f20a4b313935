/* Inotify descriptors are closed by workers. The server's thread closes one only if there are no
 * workers, if they refuse the job, or if too many descriptors are waiting. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <fcntl.h>
#include <sys/inotify.h>

#include <cmocka.h>

#include "closing.h"

enum { MANY = 20, WAITING = 8 };

static struct {
    void (*work)(void *arg), (*done)(void *arg);
    void *arg;
} jobs[MANY];
static size_t n_jobs;
static int answer;

static int add_job(void (*work)(void *arg), void (*done)(void *arg), void *arg, void *user)
{
    assert_ptr_equal(user, &answer);
    if (answer != MCP_OK)
        return answer;
    assert_true(n_jobs < MANY);
    jobs[n_jobs].work = work;
    jobs[n_jobs].done = done;
    jobs[n_jobs++].arg = arg;
    return MCP_OK;
}

static const mcp_host workers = {.size = sizeof(mcp_host), .work = add_job, .user = &answer};
static const mcp_host no_workers = {.size = sizeof(mcp_host)};

static int begin(void **state)
{
    (void)state;
    n_jobs = 0;
    answer = MCP_OK;
    return 0;
}

static int opened(void)
{
    int fd = inotify_init1(IN_CLOEXEC);
    assert_true(fd >= 0);
    return fd;
}

static bool is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

static void test_worker_closes(void **state)
{
    (void)state;
    int fd = opened();
    common_close_inotify(fd, &workers);
    assert_int_equal(n_jobs, 1);
    assert_true(is_open(fd));
    jobs[0].work(jobs[0].arg);
    assert_false(is_open(fd));
    int other = opened(); /* probably gets the same number, which must not be closed twice */
    jobs[0].done(jobs[0].arg);
    assert_true(is_open(other));
    common_close_inotify(other, NULL);
}

/* A host that ends may skip the work and call only `done`. */
static void test_work_is_skipped(void **state)
{
    (void)state;
    int fd = opened();
    common_close_inotify(fd, &workers);
    jobs[0].done(jobs[0].arg);
    assert_false(is_open(fd));
}

static void test_at_once(void **state)
{
    const mcp_host *const hosts[] = {NULL, &no_workers, &workers};
    (void)state;
    answer = MCP_ELIMIT;
    for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
        int fd = opened();
        common_close_inotify(fd, hosts[i]);
        assert_false(is_open(fd));
        common_close_inotify(-1, hosts[i]);
    }
}

static void test_few_wait(void **state)
{
    (void)state;
    for (int round = 0; round < 2; round++) {
        n_jobs = 0;
        for (int i = 0; i < MANY; i++) {
            int fd = opened();
            common_close_inotify(fd, &workers);
            assert_int_equal(is_open(fd), i < WAITING);
        }
        assert_int_equal(n_jobs, WAITING);
        for (size_t i = 0; i < n_jobs; i++) {
            jobs[i].work(jobs[i].arg);
            jobs[i].done(jobs[i].arg);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_worker_closes, begin),
        cmocka_unit_test_setup(test_work_is_skipped, begin),
        cmocka_unit_test_setup(test_at_once, begin),
        cmocka_unit_test_setup(test_few_wait, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
