/* wait.h: waits of tests. They are bounded by time and never by a number of steps, because a loop
 * may report one event in each step, so the number of steps cannot be known.
 *
 *     for (int64_t end = wait_end(); !done && wait_more(end);)
 *         mcp_loop_step(loop, 10);
 *     assert_true(done);
 */
#ifndef TESTS_WAIT_H
#define TESTS_WAIT_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

static inline int64_t wait_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Returns the time, in milliseconds, at which a wait that starts now has failed. */
static inline int64_t wait_end(void)
{
    return wait_now() + 60000;
}

static inline bool wait_more(int64_t end)
{
    return wait_now() < end;
}

#endif
