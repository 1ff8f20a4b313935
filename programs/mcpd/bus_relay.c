/* bus_relay.c: the parent's side of a local bus: see bus_local.h.
 *
 * What cannot be sent to a process at once is not kept: it gets 'g' instead when it reads again. So the relay
 * needs no memory, and a process that hangs does not slow the others.
 */
#define _GNU_SOURCE
#include "bus_local.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

typedef struct member {
    bus_relay *relay;
    struct member *next;
    int fd, write_fd;
    mcp_host_poll *reading, *writing; /* writing: it has missed something */
} member;

struct bus_relay {
    const mcp_host *host;
    member *first;
};

/* Room for the longest message and one byte, so that a longer one is recognized. */
static char message[1 + MCP_BUS_ENTRY_BYTES + 1]; /* all calls are on one thread */

static void stop_poll(const member *m, mcp_host_poll **poll)
{
    if (*poll)
        m->relay->host->poll_stop(*poll, m->relay->host->user);
    *poll = NULL;
}

static void release(member *m)
{
    stop_poll(m, &m->reading);
    stop_poll(m, &m->writing);
    if (m->write_fd >= 0)
        close(m->write_fd);
    if (m->fd >= 0)
        close(m->fd);
    free(m);
}

static void forget(member *gone)
{
    member **at = &gone->relay->first;
    while (*at != gone)
        at = &(*at)->next;
    *at = gone->next;
    release(gone);
}

/* ---- sending --------------------------------------------------------------------------------- */

static void on_writable(void *arg)
{
    member *m = arg;
    ssize_t n = send(m->fd, "g", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n == 1 || (errno != EAGAIN && errno != EINTR && errno != ENOBUFS))
        stop_poll(m, &m->writing); /* the end of a process is noticed by reading */
}

/* Without memory for polling the next message is lost too, and tries again. */
static void miss(member *m)
{
    const mcp_host *h = m->relay->host;
    if (!m->writing)
        m->writing = h->poll_start_write(m->write_fd, on_writable, m, h->user);
}

static void pass_on(member *from, size_t len)
{
    for (member *m = from->relay->first; m; m = m->next) {
        if (m == from)
            continue;
        /* The order is kept: nothing follows what is missing before 'g' was sent. */
        if (m->writing || send(m->fd, message, len, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
            miss(m);
    }
}

static void on_readable(void *arg)
{
    enum { MOST = 32 };
    member *m = arg;
    for (int i = 0; i < MOST; i++) {
        ssize_t n = recv(m->fd, message, sizeof(message), MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (n <= 0) {
            forget(m);
            return;
        }
        if (message[0] == 'e' && (size_t)n < sizeof(message))
            pass_on(m, (size_t)n);
    }
}

/* ---- processes ------------------------------------------------------------------------------- */

bus_relay *bus_relay_new(const mcp_host *host)
{
    bus_relay *r = calloc(1, sizeof(*r));
    if (r)
        r->host = host;
    return r;
}

static member *make(bus_relay *r, int fd)
{
    member *m = calloc(1, sizeof(*m));
    if (!m)
        return NULL;
    *m = (member){.relay = r, .fd = fd, .write_fd = fcntl(fd, F_DUPFD_CLOEXEC, 0)};
    m->reading = r->host->poll_start(fd, on_readable, m, r->host->user);
    if (m->reading && m->write_fd >= 0)
        return m;
    m->fd = -1; /* the caller closes it */
    release(m);
    return NULL;
}

int bus_relay_add(bus_relay *r, int *ret)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return MCP_EIO;
    member *m = make(r, pair[0]);
    if (!m) {
        close(pair[0]);
        close(pair[1]);
        return MCP_ENOMEM;
    }
    m->next = r->first;
    r->first = m;
    *ret = pair[1];
    return MCP_OK;
}

size_t bus_relay_count(const bus_relay *r)
{
    size_t n = 0;
    for (const member *m = r->first; m; m = m->next)
        n++;
    return n;
}

void bus_relay_free(bus_relay *r)
{
    if (!r)
        return;
    for (member *m = r->first, *next; m; m = next) {
        next = m->next;
        release(m);
    }
    free(r);
}
