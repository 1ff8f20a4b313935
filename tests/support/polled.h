/* polled.h: the host of a loop that fails the test if a poll is stopped after its descriptor was
 * closed. Another thread may have opened the same number by then. */
#ifndef MCP_TESTS_POLLED_H
#define MCP_TESTS_POLLED_H

#include <mcp/io.h>

#include <sys/stat.h>

enum { POLLED_MAX = 64 };

typedef struct polled {
    mcp_host_poll *poll;
    int fd;
    dev_t dev;
    ino_t ino;
} polled;

static polled polled_fds[POLLED_MAX];
static mcp_host_poll *(*polled_start)(int fd, void (*fn)(void *arg), void *arg, void *user);
static void (*polled_stop)(mcp_host_poll *poll, void *user);

static inline mcp_host_poll *polled_on_start(int fd, void (*fn)(void *arg), void *arg, void *user)
{
    struct stat st;
    mcp_host_poll *poll = polled_start(fd, fn, arg, user);
    size_t i = 0;
    while (poll && i < POLLED_MAX && polled_fds[i].poll)
        i++;
    assert_true(i < POLLED_MAX);
    assert_int_equal(fstat(fd, &st), 0);
    if (poll)
        polled_fds[i] = (polled){poll, fd, st.st_dev, st.st_ino};
    return poll;
}

static inline void polled_on_stop(mcp_host_poll *poll, void *user)
{
    struct stat st;
    for (size_t i = 0; poll && i < POLLED_MAX; i++) {
        polled *p = &polled_fds[i];
        if (p->poll != poll)
            continue;
        if (fstat(p->fd, &st) != 0 || st.st_dev != p->dev || st.st_ino != p->ino)
            fail_msg("descriptor %d was closed before its poll was stopped", p->fd);
        p->poll = NULL;
    }
    polled_stop(poll, user);
}

/* A server copies it. */
static inline mcp_host polled_host(mcp_loop *loop)
{
    mcp_host host = *mcp_loop_host(loop);
    polled_start = host.poll_start;
    polled_stop = host.poll_stop;
    host.poll_start = polled_on_start;
    host.poll_stop = polled_on_stop;
    return host;
}

#endif
