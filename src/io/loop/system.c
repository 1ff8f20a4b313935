/* system.c: the clocks and the random bytes of the system, as functions for endpoints and
 * resource servers. */
#define _GNU_SOURCE
#include <errno.h>
#include <sys/random.h>
#include <time.h>

#include "io/loop/loop.h"

int mcp__system_random(void *bytes, size_t len, void *user)
{
    char *at = bytes;

    (void)user;
    while (len) {
        ssize_t n = getrandom(at, len, 0);
        if (n < 0 && errno != EINTR)
            return MCP_EIO;
        if (n > 0) {
            at += n;
            len -= (size_t)n;
        }
    }
    return MCP_OK;
}

int64_t mcp__system_wall(void *user)
{
    struct timespec now = {0};

    (void)user;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int64_t mcp__system_us(void *user)
{
    struct timespec now = {0};

    (void)user;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}
