/* lock.c: the lock of one record. A client holds it while it renews a token, which may take as long
 * as an authorization server takes to answer. Others try again after pauses that grow, with a timer
 * of the loop, because a wait for a lock of another process would block the loop.
 */
#define _GNU_SOURCE
#include <unistd.h>

#include "io/oauth_store/store.h"

enum { PAUSE_MS = 5, MAX_PAUSE_MS = 100 };

struct mcp__record_lock {
    mcp_loop *loop;
    const mcp__records *records;
    int64_t byte, until;
    uint64_t pause;
    int fd; /* -1 while the file is not open */
    mcp_host_timer *timer;
    mcp__record_locked_fn *done;
    void *arg;
};

/* Returns the byte of a key (FNV-1a). Two keys with the same byte only wait for each other. */
static int64_t byte_of(const char *key)
{
    uint64_t hash = 0xcbf29ce484222325;

    for (; *key; key++)
        hash = (hash ^ (unsigned char)*key) * 0x100000001b3;
    return (int64_t)(hash >> 2) + 1; /* byte 0 is that of the file */
}

static void close_file(mcp__record_lock *lock)
{
    if (lock->fd >= 0)
        close(lock->fd);
    lock->fd = -1;
}

static int attempt(mcp__record_lock *lock, mcp_error *error)
{
    int rc = lock->fd >= 0 ? MCP_OK : mcp__records_open_lock(lock->records, &lock->fd, error);

    if (rc == MCP_OK)
        rc = mcp__records_try(lock->records, lock->fd, lock->byte, error);
    if (rc != MCP_OK && rc != MCP_PENDING)
        close_file(lock);
    return rc == MCP_ESTATE ? MCP_PENDING : rc;
}

static void on_timer(void *arg);

static int wait_again(mcp__record_lock *lock, mcp_error *error)
{
    const mcp_host *host = &lock->loop->host;

    if (lock->timer)
        host->timer_stop(lock->timer, host->user);
    lock->timer = NULL;
    if (host->now(host->user) >= lock->until)
        return mcp__fail(error, MCP_ETIMEOUT, 0,
                         "another process has been renewing this login for too long");
    lock->timer = host->timer_start(lock->pause, on_timer, lock, host->user);
    lock->pause = MCP__MIN(lock->pause * 2, MAX_PAUSE_MS);
    return lock->timer ? MCP_PENDING : mcp__fail(error, MCP_ENOMEM, 0, "out of memory");
}

static void on_timer(void *arg)
{
    mcp__record_lock *lock = arg;
    mcp_error error = {0};
    int rc = attempt(lock, &error);

    if (rc == MCP_PENDING)
        rc = wait_again(lock, &error);
    if (rc != MCP_PENDING)
        lock->done(rc, rc == MCP_OK ? NULL : &error, lock->arg);
}

int mcp__record_lock_new(mcp_loop *loop, const mcp__records *r, const char *key, uint64_t wait_ms,
                         mcp__record_locked_fn *done, void *arg, mcp__record_lock **ret,
                         mcp_error *error)
{
    mcp__record_lock *lock = mcp__zalloc(r->allocator, sizeof(*lock));

    if (!lock)
        return mcp__fail(error, MCP_ENOMEM, 0, "out of memory");
    *lock = (mcp__record_lock){.loop = loop,
                               .records = r,
                               .byte = byte_of(key),
                               .until = loop->host.now(loop->host.user) + (int64_t)wait_ms,
                               .pause = PAUSE_MS,
                               .fd = -1,
                               .done = done,
                               .arg = arg};
    int rc = attempt(lock, error);
    if (rc == MCP_PENDING)
        rc = wait_again(lock, error);
    if (rc == MCP_OK || rc == MCP_PENDING)
        *ret = lock;
    else
        mcp__record_lock_free(lock);
    return rc;
}

void mcp__record_lock_free(mcp__record_lock *lock)
{
    if (!lock)
        return;
    if (lock->timer)
        lock->loop->host.timer_stop(lock->timer, lock->loop->host.user);
    close_file(lock);
    mcp__release(lock->records->allocator, lock);
}
