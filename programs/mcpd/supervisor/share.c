/* share.c: see share.h. */
#define _GNU_SOURCE
#include "share.h"

#include <sched.h>

#include "capacity.h"
#include "start.h"

size_t share_workers(const settings *s)
{
    cpu_set_t set;
    size_t n = (size_t)s->workers;
    if (s->workers == OPTION_AUTO)
        n = sched_getaffinity(0, sizeof(set), &set) == 0 ? (size_t)CPU_COUNT(&set) : 1;
    return n < 1 ? 1 : n > START_WORKERS ? START_WORKERS : n;
}

static void divide(uint64_t *limit, uint64_t standard, size_t count)
{
    uint64_t all = *limit ? *limit : standard;
    if (all)
        *limit = (all + count - 1) / count;
}

void share_limits(settings *s, size_t count)
{
    if (count <= 1)
        return;
    divide(&s->max_connections, CAPACITY_CONNECTIONS, count);
    divide(&s->max_memory, CAPACITY_MEMORY, count);
    divide(&s->max_work_memory, CAPACITY_WORK_MEMORY, count);
    divide(&s->max_source_processes, CAPACITY_SOURCE_PROCESSES, count);
    divide(&s->max_share, 0, count);
    divide(&s->max_per_address, 0, count);
    divide(&s->max_per_principal, 0, count);
    divide(&s->max_sessions, 0, count);
    divide(&s->max_sessions_each, 0, count);
    divide(&s->max_upstream_calls, 0, count);
    divide(&s->max_upstream_sessions, 0, count);
    divide(&s->max_upstream_sessions_in_all, CAPACITY_UPSTREAM_SESSIONS_IN_ALL, count);
    divide(&s->max_upstream_bytes, 0, count);
    if (s->bus) /* else one worker watches for all */
        divide(&s->watch_budget, 0, count);
    if (s->share_limits)
        return;
    divide(&s->calls_per_second, 0, count);
    divide(&s->completions_per_second, 0, count);
    divide(&s->polls_per_second, 0, count);
}
