/* test_workers.c: worker threads and posts: how many jobs run concurrently, in what order, what is
 * rejected, and that every job is completed on the loop's thread.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
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
    assert_int_equal(mcp_loop_new(NULL, &loop, NULL), MCP_OK);
    host = mcp_loop_host(loop);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    mcp_loop_free(loop);
    return 0;
}

/* ---- jobs that block until they are released ------------------------------------------------- */

/* Waiting jobs block on a condition and use no CPU, because there are hundreds. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

typedef struct job {
    atomic_bool begun, released;
    bool done;
    pthread_t worker;
    int niceness; /* of the worker */
} job;

static void hold(void *arg)
{
    job *j = arg;

    j->worker = pthread_self();
    j->niceness = getpriority(PRIO_PROCESS, 0); /* on Linux that of the thread */
    atomic_store(&j->begun, true);
    pthread_mutex_lock(&lock);
    while (!atomic_load(&j->released))
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}

static void held(void *arg)
{
    ((job *)arg)->done = true;
}

static int add(job *j, bool is_long)
{
    int (*work)(void (*)(void *), void (*)(void *), void *, void *) =
        is_long ? host->work_long : host->work;

    return work(hold, held, j, host->user);
}

static void release(job *jobs, size_t n)
{
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < n; i++)
        atomic_store(&jobs[i].released, true);
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

/* Runs the loop until `wanted` jobs have begun, for at most ms. Returns how many have begun. */
static size_t begun(job *jobs, size_t n, size_t wanted, int64_t ms)
{
    int64_t end = mcp_loop_now(loop) + ms;
    size_t count;

    do {
        mcp_loop_step(loop, 2);
        count = 0;
        for (size_t i = 0; i < n; i++)
            count += atomic_load(&jobs[i].begun);
    } while (count < wanted && mcp_loop_now(loop) < end);
    return count;
}

static void until_done(const job *jobs, size_t n)
{
    int64_t end = mcp_loop_now(loop) + 20000;
    size_t i = 0;

    while (i < n && mcp_loop_now(loop) < end) {
        if (jobs[i].done)
            i++;
        else
            mcp_loop_step(loop, 20);
    }
    assert_int_equal(i, n);
}

/* ---- priority -------------------------------------------------------------------------------- */

/* The loop's thread runs first: its callers wait for short work. */
static void test_priority(void **state)
{
    static job work;
    int own = getpriority(PRIO_PROCESS, 0);

    (void)state;
    work = (job){0};
    assert_int_equal(add(&work, false), MCP_OK);
    assert_int_equal(begun(&work, 1, 1, 20000), 1);
    release(&work, 1);
    until_done(&work, 1);
    assert_int_equal(work.niceness, own < 14 ? own + 5 : 19);
    assert_int_equal(getpriority(PRIO_PROCESS, 0), own);
}

/* ---- how many at once ------------------------------------------------------------------------ */

/* Two hundred blocking jobs run concurrently; short jobs still run beside them. */
static void test_many_at_once(void **state)
{
    enum { N = 200, MORE = 300 };
    static job jobs[MORE];
    static job quick;

    (void)state;
    for (size_t i = 0; i < N; i++)
        assert_int_equal(add(&jobs[i], true), MCP_OK);
    assert_int_equal(begun(jobs, N, N, 20000), N);
    for (size_t i = N; i < MORE; i++)
        assert_int_equal(add(&jobs[i], true), MCP_OK);
    assert_int_equal(begun(jobs, MORE, 224, 20000), 224);
    assert_int_equal(begun(jobs, MORE, MORE, 50), 224);
    release(&quick, 1);
    assert_int_equal(add(&quick, false), MCP_OK);
    until_done(&quick, 1);
    release(jobs, MORE);
    until_done(jobs, MORE);
}

/* Hundreds of short jobs run on a few threads. */
static void test_few_threads_for_short_jobs(void **state)
{
    enum { N = 1000 };
    static job jobs[N];

    (void)state;
    release(jobs, N);
    for (size_t i = 0; i < N; i++)
        assert_int_equal(add(&jobs[i], false), MCP_OK);
    assert_in_range(loop->workers.threads, 1, 4);
    until_done(jobs, N);
    for (size_t i = 0; i < N; i++)
        assert_false(pthread_equal(jobs[i].worker, pthread_self()));
}

static void test_limits(void **state)
{
    static job jobs[10];
    size_t accepted = 0;

    (void)state;
    assert_int_equal(mcp_loop_set_workers(NULL, 1, 1), MCP_EINVAL);
    assert_int_equal(mcp_loop_set_workers(loop, 4097, 0), MCP_EINVAL);
    assert_int_equal(mcp_loop_set_workers(loop, 0, 0), MCP_OK);
    assert_int_equal(host->work(NULL, held, NULL, host->user), MCP_EINVAL);
    assert_int_equal(host->work_long(hold, NULL, NULL, host->user), MCP_EINVAL);
    assert_int_equal(mcp_loop_set_workers(loop, 2, 3), MCP_OK);
    assert_int_equal(add(&jobs[0], false), MCP_OK);
    assert_int_equal(add(&jobs[1], false), MCP_OK);
    assert_int_equal(begun(jobs, 2, 2, 5000), 2);
    for (accepted = 2; add(&jobs[accepted], accepted % 2) == MCP_OK;)
        accepted++;
    assert_int_equal(accepted, 5);
    assert_int_equal(add(&jobs[9], true), MCP_ELIMIT);
    assert_int_equal(begun(jobs, 10, 3, 50), 2);
    release(jobs, 10);
    until_done(jobs, accepted);
    assert_false(jobs[5].done || jobs[9].done || jobs[5].begun);
}

/* When a long job ends, the next long job gets its thread, even if short jobs are queued. */
static void test_long_ones_have_their_share(void **state)
{
    enum { LONG, SHORT, LONG_TOO, SHORT_TOO, N };
    static job jobs[N];

    (void)state;
    assert_int_equal(mcp_loop_set_workers(loop, 2, 0), MCP_OK);
    for (size_t i = LONG; i <= SHORT; i++) {
        assert_int_equal(add(&jobs[i], i == LONG), MCP_OK);
        assert_int_equal(begun(jobs, N, i + 1, 5000), i + 1);
    }
    for (size_t i = LONG_TOO; i < N; i++)
        assert_int_equal(add(&jobs[i], i == LONG_TOO), MCP_OK);
    assert_int_equal(begun(jobs, N, 3, 50), 2);
    release(&jobs[LONG], 1);
    assert_int_equal(begun(jobs, N, 3, 5000), 3);
    assert_true(jobs[LONG_TOO].begun);
    release(jobs, N);
    until_done(jobs, N);
}

static size_t threads_of_process(void)
{
    DIR *dir = opendir("/proc/self/task");
    size_t n = 0;

    while (readdir(dir))
        n++;
    closedir(dir);
    return n - 2;
}

static void test_idle_threads_end(void **state)
{
    enum { N = 30 };
    static job jobs[N];
    size_t before = threads_of_process();

    (void)state;
    loop->workers.idle_ms = 20;
    for (size_t i = 0; i < N; i++)
        assert_int_equal(add(&jobs[i], true), MCP_OK);
    assert_int_equal(begun(jobs, N, N, 20000), N);
    assert_int_equal(threads_of_process() - before, N);
    release(jobs, N);
    until_done(jobs, N);
    for (int64_t end = wait_end(); threads_of_process() > before && wait_more(end);)
        usleep(10000);
    assert_int_equal(threads_of_process(), before);
    /* and threads are created again */
    static job one = {.released = true};
    assert_int_equal(add(&one, true), MCP_OK);
    until_done(&one, 1);
}

static void ask_for_signals(void *arg)
{
    pthread_sigmask(SIG_BLOCK, NULL, arg);
}

static void nothing(void *arg)
{
    (void)arg;
}

static void test_signals_are_blocked(void **state)
{
    sigset_t theirs, ours;

    (void)state;
    assert_int_equal(host->work(ask_for_signals, nothing, &theirs, host->user), MCP_OK);
    assert_int_equal(mcp_loop_run(loop), MCP_OK);
    assert_true(sigismember(&theirs, SIGTERM) && sigismember(&theirs, SIGCHLD));
    assert_false(sigismember(&theirs, SIGSEGV));
    pthread_sigmask(SIG_BLOCK, NULL, &ours);
    assert_false(sigismember(&ours, SIGTERM));
}

/* `done` may queue more work. */
static int again;

static void once_more(void *arg)
{
    (void)arg;
    if (again++ < 50)
        assert_int_equal(host->work(nothing, once_more, NULL, host->user), MCP_OK);
}

static void test_work_from_done(void **state)
{
    (void)state;
    again = 0;
    once_more(NULL);
    assert_int_equal(mcp_loop_run(loop), MCP_OK);
    assert_int_equal(again, 51);
}

/* ---- posts ----------------------------------------------------------------------------------- */

enum { POSTERS = 8, POSTS = 2000 };

typedef struct poster {
    pthread_t thread;
    size_t seen;
    bool out_of_order;
} poster;

typedef struct message {
    poster *from;
    size_t number;
} message;

static void heard(void *arg)
{
    message *m = arg;

    m->from->out_of_order |= m->number != m->from->seen++;
    free(m);
}

static void *post_many(void *arg)
{
    for (size_t i = 0; i < POSTS; i++) {
        message *m = malloc(sizeof(*m));
        *m = (message){arg, i};
        if (host->post(heard, m, host->user) != MCP_OK)
            abort();
    }
    return NULL;
}

static void test_posts_from_many_threads(void **state)
{
    static poster posters[POSTERS];
    size_t seen = 0;

    (void)state;
    for (size_t i = 0; i < POSTERS; i++)
        assert_int_equal(pthread_create(&posters[i].thread, NULL, post_many, &posters[i]), 0);
    for (int64_t end = wait_end(); seen < (size_t)POSTERS * POSTS && wait_more(end);) {
        mcp_loop_step(loop, 1);
        seen = 0;
        for (size_t p = 0; p < POSTERS; p++)
            seen += posters[p].seen;
    }
    for (size_t i = 0; i < POSTERS; i++) {
        pthread_join(posters[i].thread, NULL);
        assert_int_equal(posters[i].seen, POSTS);
        assert_false(posters[i].out_of_order);
    }
}

static int posted;

static void post_again(void *arg)
{
    ++posted;
    if (arg)
        assert_int_equal(host->post(post_again, arg, host->user), MCP_OK);
}

/* A function that posts itself again starves neither other posts nor the end of the loop. */
static void test_endless_posts(void **state)
{
    (void)state;
    posted = 0;
    assert_int_equal(host->post(NULL, NULL, host->user), MCP_EINVAL);
    assert_int_equal(host->post(post_again, &posted, host->user), MCP_OK);
    assert_int_equal(posted, 0);
    assert_int_equal(mcp_loop_step(loop, 0), MCP_OK);
    assert_true(posted > 0);
    int before = posted;
    assert_int_equal(mcp_loop_step(loop, 1), MCP_OK);
    assert_true(posted > before);
    assert_int_equal(mcp_loop_drain(loop, 5), MCP_ETIMEOUT);
}

/* Queued posts do not keep a loop running, but they run before it ends. */
static void test_posts_at_the_end(void **state)
{
    mcp_loop *other;

    (void)state;
    posted = 0;
    assert_int_equal(host->post(post_again, NULL, host->user), MCP_OK);
    assert_int_equal(mcp_loop_run(loop), MCP_OK);
    assert_int_equal(posted, 1);
    assert_int_equal(host->post(post_again, NULL, host->user), MCP_OK);
    assert_int_equal(mcp_loop_drain(loop, 0), MCP_OK);
    assert_int_equal(posted, 2);
    assert_int_equal(mcp_loop_new(NULL, &other, NULL), MCP_OK);
    assert_int_equal(mcp_loop_host(other)->post(post_again, NULL, other), MCP_OK);
    mcp_loop_free(other);
    assert_int_equal(posted, 3);
}

static void test_no_memory(void **state)
{
    (void)state;
    for (size_t n = 1;; n++) {
        failalloc f = {.fail_at = n};
        mcp_allocator a = failalloc_allocator(&f);
        mcp_loop *l;
        posted = 0;
        if (mcp_loop_new(&a, &l, NULL) == MCP_OK) {
            const mcp_host *h = mcp_loop_host(l);
            job one = {.released = true}, two = {.released = true};
            int rcs[] = {h->post(post_again, NULL, h->user), h->work(hold, held, &one, h->user),
                         h->work_long(hold, held, &two, h->user)};
            for (size_t i = 0; i < 3; i++)
                assert_true(rcs[i] == MCP_OK || rcs[i] == MCP_ENOMEM);
            mcp_loop_free(l);
            assert_int_equal(posted, rcs[0] == MCP_OK);
            assert_int_equal(one.done, rcs[1] == MCP_OK);
            assert_int_equal(two.done, rcs[2] == MCP_OK);
        }
        assert_int_equal(f.live, 0);
        if (f.calls < n)
            break;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_priority, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_many_at_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_few_threads_for_short_jobs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_limits, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_long_ones_have_their_share, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_idle_threads_end, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_signals_are_blocked, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_work_from_done, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_posts_from_many_threads, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_endless_posts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_posts_at_the_end, set_up, tear_down),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
