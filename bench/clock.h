/* clock.h: clock and median for programs that measure within one process. */
#ifndef BENCH_CLOCK_H
#define BENCH_CLOCK_H

#include <stdlib.h>
#include <time.h>

/* Returns the time of `clock`, CLOCK_MONOTONIC or CLOCK_PROCESS_CPUTIME_ID, in nanoseconds. */
static inline double clock_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static inline double now_us(void)
{
    return clock_ns(CLOCK_MONOTONIC) / 1e3;
}

static inline int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sorts the array and returns its median. */
static inline double median(double *times, size_t n)
{
    qsort(times, n, sizeof(*times), by_value);
    return times[n / 2];
}

#endif
