/* nofiles.h: a process that can open no more files for a while. */
#ifndef MCP_TESTS_NOFILES_H
#define MCP_TESTS_NOFILES_H

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

static struct rlimit nofiles_before;

/* Only `left` descriptors more can be had, if there are no gaps among those that are open; less
 * than 0: also when so many are closed. */
static inline void nofiles_begin(int left)
{
    int next = open("/dev/null", O_RDONLY | O_CLOEXEC);
    close(next);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &nofiles_before), 0);
    struct rlimit few = {(rlim_t)(next + left), nofiles_before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
}

static inline void nofiles_end(void)
{
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &nofiles_before), 0);
}

#define NOFILES "no file descriptor left"

#endif
