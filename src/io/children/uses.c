/* uses.c: counts the uses of a service, which keep its process running, and reports its state. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "io/children/service.h"

enum {
    ENDED = 0, /* not begun, or ended */
    WAITING,
    HELD,

    MOST_WAIT_MS = 1000, /* a use waits if the pause is at most this long, and fails otherwise */
};

static const char *const cause_names[] = {
    [MCP_SERVICE_IDLE] = "idle",       [MCP_SERVICE_STOPPED] = "stopped",
    [MCP_SERVICE_EXITED] = "exited",   [MCP_SERVICE_KILLED] = "killed",
    [MCP_SERVICE_REFUSED] = "refused", [MCP_SERVICE_ABORTED] = "aborted",
};

const char *mcp_service_cause_name(size_t cause)
{
    return cause < MCP__COUNT(cause_names) ? cause_names[cause] : NULL;
}

/* The members prev and next of a use have the layout of mcp__link. */
static mcp__link *link_of(mcp_service_use *use)
{
    return (mcp__link *)(void *)&use->prev;
}

static mcp_service_use *use_of(mcp__link *link)
{
    return (mcp_service_use *)(void *)((char *)link - offsetof(mcp_service_use, prev));
}

static int refuse(mcp_service *s, int64_t wait, mcp_error *error)
{
    return mcp__fail(error, MCP_ECLOSED, 0,
                     "%s failed %" PRIu64 " times in a row; it is started again in %" PRId64 " s",
                     s->options.name, s->failures, (wait + 999) / 1000);
}

int mcp_service_begin(mcp_service *s, mcp_service_use *use, mcp_error *error)
{
    mcp__no_error(error);
    if (!s || s->freed || !use || !use->ready || use->state != ENDED)
        return mcp__fail(error, MCP_EINVAL, 0, "a service and a use that is not held are needed");
    if (s->phase == MCP__SERVICE_UP) {
        use->state = HELD;
        s->uses++;
        return MCP_OK;
    }
    bool over = s->phase == MCP__SERVICE_DOWN || s->phase == MCP__SERVICE_ENDED;
    int64_t wait = over ? s->not_before - mcp_loop_now(s->loop) : 0;
    if (wait > MOST_WAIT_MS)
        return refuse(s, wait, error);
    use->state = WAITING;
    s->uses++;
    mcp__list_append(&s->waiting, link_of(use));
    mcp__service_attend(s);
    return MCP_PENDING;
}

void mcp_service_done(mcp_service *s, mcp_service_use *use)
{
    if (!s || !use || use->state == ENDED)
        return;
    if (use->state == WAITING)
        mcp__list_remove(link_of(use));
    use->state = ENDED;
    s->uses--;
    if (!s->uses)
        mcp__service_attend(s);
}

/* Uses that begin during this call are not notified. */
void mcp__service_tell(mcp_service *s, int rc, const mcp_error *error)
{
    mcp__link now;

    mcp__list_init(&now);
    while (!mcp__list_empty(&s->waiting)) {
        mcp__link *link = s->waiting.next;
        mcp__list_remove(link);
        mcp__list_append(&now, link);
    }
    while (!mcp__list_empty(&now)) {
        mcp_service_use *use = use_of(now.next);
        mcp__list_remove(link_of(use));
        use->state = rc == MCP_OK ? HELD : ENDED;
        s->uses -= rc != MCP_OK;
        if (use->ready)
            use->ready(rc, error, use->user);
    }
}

/* Returns the size of the resident memory that a process does not share, in bytes, or 0 if it is
 * unknown. It is read from /proc/PID/statm, which is cheap and can be read even if the process is
 * not dumpable. */
static uint64_t memory_of(pid_t pid)
{
    char path[40], text[120];
    unsigned long long resident = 0, shared = 0;

    snprintf(path, sizeof(path), "/proc/%d/statm", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    ssize_t n = read(fd, text, sizeof(text) - 1);
    close(fd);
    if (n <= 0)
        return 0;
    text[n] = '\0';
    char *at = text;
    (void)strtoull(at, &at, 10);
    resident = strtoull(at, &at, 10);
    shared = strtoull(at, &at, 10);
    return resident > shared ? (resident - shared) * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

void mcp_service_get_state(const mcp_service *s, mcp_service_state *ret)
{
    bool running = s->child && mcp__child_is_running(s->child);
    mcp_service_state now = {.size = sizeof(now),
                             .name = s->options.name,
                             .pid = running ? (long)s->child->pid : 0,
                             .up = s->phase == MCP__SERVICE_UP,
                             .starts = s->starts,
                             .failures = s->failures,
                             .memory = running ? memory_of(s->child->pid) : 0,
                             .lines = s->lines.seen,
                             .lines_left_out = s->lines.left_out,
                             .uses = s->uses};
    size_t size = MCP__MIN(ret->size, sizeof(now));

    memcpy(now.ends, s->ends, sizeof(now.ends));
    memcpy(ret, &now, size);
    ret->size = size;
}
