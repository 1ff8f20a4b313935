/* bus_local.c: a process's side; see bus_local.h. bus_relay.c is the parent's.
 *
 * Messages: 'e' and an entry, in both directions; 'g' from the relay: a message was lost. An entry counts as
 * published when the kernel has taken it. A process cannot miss what was published before it was started.
 */
#define _GNU_SOURCE
#include "bus_local.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

typedef struct local {
    const mcp_host *host;
    mcp_bus_events events;
    int fd, write_fd; /* a copy, because a descriptor is polled either for reading or for writing */
    mcp_host_poll *reading, *writing;
    mcp_host_timer *timer;
    bool connected;
    size_t len; /* of the message that is not sent yet; 0 if there is none */
    char message[1 + MCP_BUS_ENTRY_BYTES];
} local;

static void stop_poll(const local *l, mcp_host_poll **poll)
{
    if (*poll)
        l->host->poll_stop(*poll, l->host->user);
    *poll = NULL;
}

/* The relay has ended. Nothing brings it back: the parent starts this process again. */
static void disconnect(local *l, const char *why)
{
    stop_poll(l, &l->reading);
    stop_poll(l, &l->writing);
    l->connected = false;
    if (l->len)
        l->events.published(MCP_EREMOTE, why, l->events.user);
    l->len = 0;
    l->events.state(MCP_BUS_DOWN, why, l->events.user);
}

/* Takes a message. One that is too long was cut by the kernel. */
static void take(const local *l, const char *message, size_t len, bool cut)
{
    if (message[0] == 'e' && len > 1 && !cut)
        l->events.received((mcp_str){message + 1, len - 1}, l->events.user);
    else
        l->events.gap(l->events.user);
}

/* Takes at most some messages, so that others of the loop get their turn. */
static void on_readable(void *arg)
{
    enum { MOST = 32 };
    static char message[1 + MCP_BUS_ENTRY_BYTES]; /* all calls are on one thread */
    local *l = arg;
    for (int i = 0; i < MOST; i++) {
        ssize_t n = recv(l->fd, message, sizeof(message), MSG_DONTWAIT | MSG_TRUNC);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (n <= 0) {
            disconnect(l, "the parent process has ended");
            return;
        }
        take(l, message, (size_t)n, (size_t)n > sizeof(message));
    }
}

static void on_writable(void *arg)
{
    local *l = arg;
    ssize_t n = send(l->fd, l->message, l->len, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n < 0 && (errno == EAGAIN || errno == EINTR || errno == ENOBUFS))
        return;
    if (n < 0) {
        disconnect(l, "the parent process has ended");
        return;
    }
    stop_poll(l, &l->writing);
    l->len = 0;
    l->events.published(MCP_OK, NULL, l->events.user);
}

static void connected(void *arg)
{
    local *l = arg;
    l->host->timer_stop(l->timer, l->host->user);
    l->timer = NULL;
    l->connected = true;
    l->events.state(MCP_BUS_CONNECTED, "", l->events.user);
}

/* ---- the interface --------------------------------------------------------------------------- */

static int local_open(const mcp_bus_events *events, void *user, mcp_error *error)
{
    local *l = user;
    (void)error;
    l->events = *events;
    l->write_fd = fcntl(l->fd, F_DUPFD_CLOEXEC, 0);
    l->reading = l->host->poll_start(l->fd, on_readable, l, l->host->user);
    l->timer = l->host->timer_start(0, connected, l, l->host->user);
    return l->write_fd >= 0 && l->reading && l->timer ? MCP_OK : MCP_ENOMEM;
}

static int local_publish(mcp_str entry, void *user)
{
    local *l = user;
    if (!l->connected || l->len || !entry.len || entry.len > MCP_BUS_ENTRY_BYTES)
        return MCP_ESTATE;
    l->writing = l->host->poll_start_write(l->write_fd, on_writable, l, l->host->user);
    if (!l->writing)
        return MCP_ENOMEM;
    l->message[0] = 'e';
    memcpy(l->message + 1, entry.ptr, entry.len);
    l->len = 1 + entry.len;
    return MCP_OK;
}

static void local_close(void *user)
{
    local *l = user;
    stop_poll(l, &l->reading);
    stop_poll(l, &l->writing);
    if (l->timer)
        l->host->timer_stop(l->timer, l->host->user);
    if (l->write_fd >= 0)
        close(l->write_fd);
    close(l->fd);
    free(l);
}

int bus_local_make(int fd, const mcp_host *host, mcp_bus *ret)
{
    local *l = calloc(1, sizeof(*l));
    if (!l) {
        close(fd);
        return MCP_ENOMEM;
    }
    l->host = host;
    l->fd = fd;
    l->write_fd = -1;
    *ret = (mcp_bus){.size = sizeof(*ret),
                     .user = l,
                     .open = local_open,
                     .publish = local_publish,
                     .close = local_close};
    return MCP_OK;
}
