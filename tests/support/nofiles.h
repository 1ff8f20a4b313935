/* nofiles.h: temporarily limits the descriptors that the process can open. */
#ifndef MCP_TESTS_NOFILES_H
#define MCP_TESTS_NOFILES_H

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

static struct rlimit nofiles_before;

/* Limits the number of additional descriptors to `left`, if there are no gaps among the open ones.
 * If `left` is negative, no descriptor can be opened until more than -left have been closed. */
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
