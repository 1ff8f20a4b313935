/* capacity.c: see capacity.h. */
#define _GNU_SOURCE
#include "capacity.h"

#include <sys/resource.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

enum {
    DEFAULT_CONNECTIONS = 20000,
    OTHER_FILES = 4096, /* for files that are read, folders that are watched, and tools */
    MAPPED =
        1 << 20,     /* allocations from this size on are mappings, which are released when freed */
    KEPT = 4 << 20,  /* free memory that each heap may keep */
    QUIET_MS = 1000, /* time without releases before memory is returned to the system */
};

void capacity_raise_files(const settings *s)
{
    struct rlimit limit;
    rlim_t wanted = OTHER_FILES;
    if (s->http.count)
        wanted += s->http.count * (s->max_connections ? s->max_connections : DEFAULT_CONNECTIONS);
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= wanted)
        return;
    limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
    setrlimit(RLIMIT_NOFILE,
              &limit); /* on failure the old limit stays, which the listeners respect */
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
        t->timer = t->host->timer_start(QUIET_MS, trim, t, t->host->user);
}

void capacity_trim_stop(trimming *t)
{
    if (t->timer)
        t->host->timer_stop(t->timer, t->host->user);
    t->timer = NULL;
}
