/* share.c: see share.h. */
#define _GNU_SOURCE
#include "share.h"

#include <sched.h>

#include "capacity.h"
#include "start.h"

size_t share_workers(const settings *s)
{
    cpu_set_t set;
    size_t n = (size_t)capacity_settings(s).workers;
    if (s->workers == OPTION_AUTO)
        n = sched_getaffinity(0, sizeof(set), &set) == 0 ? (size_t)CPU_COUNT(&set) : 1;
    return n > START_WORKERS ? START_WORKERS : n;
}

/* Sets the limit of a worker. `all` is that of all workers, 0 if there is none. */
static void divide(uint64_t *limit, uint64_t all, size_t count)
{
    if (all)
        *limit = (all + count - 1) / count;
}

void share_limits(settings *s, size_t count)
{
    if (count <= 1)
        return;
    const settings all = capacity_settings(s);
    divide(&s->max_connections, all.max_connections, count);
    divide(&s->max_memory, all.max_memory, count);
    divide(&s->max_work_memory, all.max_work_memory, count);
    divide(&s->max_source_processes, all.max_source_processes, count);
    divide(&s->max_share, s->max_share, count);
    divide(&s->max_per_address, s->max_per_address, count);
    divide(&s->max_per_principal, s->max_per_principal, count);
    divide(&s->max_sessions, s->max_sessions, count);
    divide(&s->max_sessions_each, s->max_sessions_each, count);
    divide(&s->max_upstream_calls, s->max_upstream_calls, count);
    divide(&s->max_upstream_sessions, s->max_upstream_sessions, count);
    divide(&s->max_upstream_sessions_in_all, all.max_upstream_sessions_in_all, count);
    divide(&s->max_upstream_bytes, s->max_upstream_bytes, count);
    if (s->bus) /* else one worker watches for all */
        divide(&s->watch_budget, s->watch_budget, count);
    if (s->share_limits)
        return;
    divide(&s->calls_per_second, s->calls_per_second, count);
    divide(&s->completions_per_second, s->completions_per_second, count);
    divide(&s->polls_per_second, s->polls_per_second, count);
}
