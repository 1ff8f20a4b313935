/* closing.c: see closing.h. */
#include "closing.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>

/* A descriptor that a worker has to close. fd is -1 after that. */
typedef struct closing {
    atomic_bool used;
    int fd;
} closing;

static closing slots[8];

static void close_it(void *arg)
{
    closing *c = arg;
    close(c->fd);
    c->fd = -1;
}

static void on_closed(void *arg)
{
    closing *c = arg;
    if (c->fd >= 0) /* the worker did not run */
        close(c->fd);
    atomic_store(&c->used, false);
}

static closing *find_slot(void)
{
    for (size_t i = 0; i < sizeof(slots) / sizeof(slots[0]); i++)
        if (!atomic_exchange(&slots[i].used, true))
            return &slots[i];
    return NULL;
}

void common_close_inotify(int fd, const mcp_host *host)
{
    closing *later = fd >= 0 && host && host->work ? find_slot() : NULL;
    if (later) {
        later->fd = fd;
        if (host->work(close_it, on_closed, later, host->user) >= 0)
            return;
        atomic_store(&later->used, false);
    }
    if (fd >= 0)
        close(fd);
}
