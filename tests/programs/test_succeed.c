/* A successor that cannot be started: the caller learns it, nothing is left, and the next attempt is a new
 * one. tests/programs/service.bats has the successors that start. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "supervisor/succeed.h"

static char program[] = "/bin/false";
static char *argv[] = {program, NULL}, *env[] = {NULL};

static size_t descriptors(void)
{
    size_t n = 0;
    DIR *d = opendir("/proc/self/fd");
    assert_non_null(d);
    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

static void is_refused(const start *s, const int *sockets, size_t n, rlim_t most)
{
    successor to = {.control = -1};
    struct rlimit before, now;
    size_t open = descriptors();
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    now = (struct rlimit){most ? most : before.rlim_cur, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &now), 0);
    bool began = succeed_begin(&to, s, sockets, n);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_false(began);
    assert_int_equal(to.control, -1);
    assert_int_equal(to.pid, 0);
    assert_int_equal(descriptors(), open);
    assert_true(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
    succeed_stop(&to);
}

static void test_refused(void **state)
{
    const start s = {.control = -1, .argv = argv, .env = env, .program = program};
    int sockets[START_SOCKETS + 1];
    (void)state;
    for (size_t i = 0; i < START_SOCKETS + 1; i++)
        sockets[i] = STDIN_FILENO;
    is_refused(&s, sockets, START_SOCKETS + 1, 0); /* more than a successor can take */
    is_refused(&s, sockets, 1, 3);                 /* no descriptor is left */
}

/* A successor that ends at once is reaped, and the next one can be started. */
static void test_ends(void **state)
{
    const start s = {.control = -1, .argv = argv, .env = env, .program = program};
    successor to = {.control = -1};
    int sockets[] = {STDIN_FILENO}, heard;
    (void)state;
    for (int i = 0; i < 2; i++) {
        size_t open = descriptors();
        assert_true(succeed_begin(&to, &s, sockets, 1));
        assert_true(to.pid > 0 && to.control >= 0);
        assert_true(succeed_begin(&to, &s, sockets, 1)); /* it starts already */
        while ((heard = succeed_hear(&to)) == 0)
            usleep(1000);
        assert_int_equal(heard, -1);
        assert_int_equal(to.control, -1);
        assert_int_equal(to.pid, 0);
        assert_int_equal(descriptors(), open);
        assert_true(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_refused), cmocka_unit_test(test_ends)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
