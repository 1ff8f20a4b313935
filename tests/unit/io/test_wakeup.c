/* test_wakeup.c: the loop runs a call from another thread even while that thread does not get on with posting it. On a
 * busy machine a worker loses its processor at the moment at which it has woken up the loop, since the loop's thread has the
 * better nice value. Here write() does not return to it before the loop has made the call.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include <mcp/io.h>

static atomic_bool holds; /* write() holds other threads than the main thread */
static atomic_int held;
static sem_t made;

/* Stands in for the function of the C library, also in shared libraries. */
__attribute__((visibility("default"))) ssize_t write(int fd, const void *bytes, size_t n)
{
    bool holds_this = atomic_load(&holds) && gettid() != getpid();

    if (holds_this)
        atomic_fetch_add(&held, 1);
    ssize_t rc = syscall(SYS_write, fd, bytes, n);
    if (holds_this)
        sem_wait(&made);
    return rc;
}

static pid_t worker;
static int workers, jobs;

static void work(void *arg)
{
    (void)arg;
    workers += worker != gettid();
    worker = gettid();
}

/* The second job finds the thread of the first one idle, though that has not got on. */
static void done(void *arg)
{
    const mcp_host *host = mcp_loop_host(arg);

    if (++jobs == 2) {
        mcp_loop_stop(arg);
        return;
    }
    assert_int_equal(host->work(work, done, arg, host->user), MCP_OK);
    atomic_store(&holds, false);
    sem_post(&made);
}

static void test_worker(void **state)
{
    mcp_loop *loop;

    (void)state;
    alarm(60); /* a loop that waits for the worker waits forever */
    assert_int_equal(mcp_loop_new(NULL, &loop, NULL), MCP_OK);
    const mcp_host *host = mcp_loop_host(loop);
    atomic_store(&holds, true);
    assert_int_equal(host->work(work, done, loop, host->user), MCP_OK);
    assert_int_equal(mcp_loop_run(loop), MCP_OK);
    assert_int_equal(atomic_load(&held), 1);
    assert_int_equal(workers, 1);
    mcp_loop_free(loop);
    alarm(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_worker)};

    sem_init(&made, 0, 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
