/* capacity.c: see capacity.h. */
#define _GNU_SOURCE
#include "capacity.h"

#include <sys/resource.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

enum {
    OTHER_FILES = 4096,   /* descriptors for files, watches and the processes of tools */
    MAPPED = 1 << 20,     /* larger blocks use mmap(), so that free() returns them to the system */
    KEPT = 4 << 20,       /* free memory at the top of a heap that is not returned */
    TRIM_DELAY_MS = 1000, /* time from the first release to malloc_trim() */
};

/* The first four are those of the libraries. */
static const mcp_default defaults[] = {
    MCP_DEFAULT(settings, max_connections, 20000),
    MCP_DEFAULT(settings, max_sessions, 10000),
    MCP_DEFAULT(settings, max_memory, 512 << 20),
    MCP_DEFAULT(settings, max_work_memory, 128 << 20),
    MCP_DEFAULT(settings, answer_tokens, 10000),
    MCP_DEFAULT(settings, decisions_ms, 2000),
    MCP_DEFAULT(settings, max_source_processes, 64),
    MCP_DEFAULT(settings, max_upstream_calls, 1024),
    MCP_DEFAULT(settings, max_upstream_sessions, 256),
    MCP_DEFAULT(settings, max_upstream_sessions_in_all, 1024),
    MCP_DEFAULT(settings, max_upstream_bytes, 64 << 20),
    MCP_DEFAULT(settings, drain_time, 10),
    MCP_DEFAULT(settings, workers, 1),
};

settings capacity_settings(const settings *s)
{
    settings all = *s;
    MCP_SET_DEFAULTS(&all, defaults);
    return all;
}

uint64_t capacity_files(const settings *s)
{
    return OTHER_FILES + s->http.count * capacity_settings(s).max_connections;
}

void capacity_raise_files(const settings *s)
{
    struct rlimit limit;
    rlim_t wanted = capacity_files(s);
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= wanted)
        return;
    limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
    /* On failure the old limit stays, and the listeners accept fewer connections. */
    setrlimit(RLIMIT_NOFILE, &limit);
}

void capacity_set_allocator(void)
{
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, MAPPED);
    mallopt(M_TRIM_THRESHOLD, KEPT);
#endif
}

static void trim(void *arg)
{
    trimming *t = arg;
    capacity_trim_stop(t);
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

void capacity_released(size_t bytes, void *user)
{
    trimming *t = user;
    (void)bytes;
    if (!t->timer && t->host)
        t->timer = t->host->timer_start(TRIM_DELAY_MS, trim, t, t->host->user);
}

void capacity_trim_stop(trimming *t)
{
    if (t->timer)
        t->host->timer_stop(t->timer, t->host->user);
    t->timer = NULL;
}
