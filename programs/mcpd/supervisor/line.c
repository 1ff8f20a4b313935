/* line.c: see line.h. An entry of the bus counts as published when the kernel has taken it. */
#define _GNU_SOURCE
#include "line.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct worker_line {
    const mcp_host *host;
    line_events events;
    int fd, write_fd; /* a copy, because a descriptor is polled either for reading or for writing */
    mcp_host_poll *reading, *writing;
    bool ended, complete, lost; /* lost: messages did not fit in `told` */
    /* The bus. */
    bool open, connected;
    mcp_bus_events bus;
    mcp_host_timer *timer;
    size_t entry_len, told_len; /* of what was not sent yet; 0 if there is nothing */
    char entry[LINE_PACKET], told[ROLL_PACKET];
};

static void stop_poll(const worker_line *l, mcp_host_poll **poll)
{
    if (*poll)
        l->host->poll_stop(*poll, l->host->user);
    *poll = NULL;
}

static void stop_timer(worker_line *l)
{
    if (l->timer)
        l->host->timer_stop(l->timer, l->host->user);
    l->timer = NULL;
}

/* The supervisor has ended. Nothing brings it back. */
static void disconnect(worker_line *l)
{
    static const char why[] = "the supervisor has ended";
    stop_poll(l, &l->reading);
    stop_poll(l, &l->writing);
    stop_timer(l);
    bool under_way = l->entry_len > 0;
    l->ended = true;
    l->complete = l->connected = false;
    l->entry_len = l->told_len = 0;
    if (under_way && l->open)
        l->bus.published(MCP_EREMOTE, why, l->bus.user);
    if (l->open)
        l->bus.state(MCP_BUS_DOWN, why, l->bus.user);
}

/* ---- receiving -------------------------------------------------------------------------------- */

static void take_message(mcp_str message, void *arg)
{
    const worker_line *l = arg;
    l->events.told(message, l->events.user);
}

/* Takes a packet. One that is too long was cut by the kernel. */
static void take(worker_line *l, mcp_str packet, bool cut)
{
    mcp_str rest = {packet.ptr + 1, packet.len - 1};
    switch (cut ? LINE_GAP : packet.ptr[0]) {
    case LINE_ENTRY:
        if (l->open && rest.len)
            l->bus.received(rest, l->bus.user);
        break;
    case LINE_GAP:
        if (l->open)
            l->bus.gap(l->bus.user);
        break;
    case ROLL_TOLD: roll_read(rest, take_message, l); break;
    case ROLL_FORGET:
        l->complete = false;
        l->events.forget(l->events.user);
        break;
    case ROLL_COMPLETE: l->complete = true; break;
    case LINE_ROLE:
        if (rest.len == 2)
            l->events.role(rest.ptr[0], rest.ptr[1], l->events.user);
        break;
    case LINE_ASK:
        if (rest.len)
            l->events.watching((unsigned char)rest.ptr[0], (mcp_str){rest.ptr + 1, rest.len - 1},
                               l->events.user);
        break;
    case LINE_ANSWER: l->events.watching(0, rest, l->events.user); break;
    default: break;
    }
}

/* Takes at most some packets, so that others of the loop get their turn. */
static void on_readable(void *arg)
{
    enum { MOST = 32 };
    static char packet[LINE_PACKET]; /* all calls are on one thread */
    worker_line *l = arg;
    for (int i = 0; i < MOST && !l->ended; i++) {
        ssize_t n = recv(l->fd, packet, sizeof(packet), MSG_DONTWAIT | MSG_TRUNC);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (n <= 0) {
            disconnect(l);
            return;
        }
        bool cut = (size_t)n > sizeof(packet);
        take(l, (mcp_str){packet, cut ? sizeof(packet) : (size_t)n}, cut);
    }
}

/* Before a worker serves, it waits until it knows what the others know. */
static void catch_up(worker_line *l)
{
    enum { PATIENCE_MS = 2000 };
    struct pollfd readable = {.fd = l->fd, .events = POLLIN};
    int64_t end = l->host->now(l->host->user) + PATIENCE_MS, left = PATIENCE_MS;
    while (!l->complete && !l->ended && left > 0) {
        if (poll(&readable, 1, (int)left) > 0)
            on_readable(l);
        left = end - l->host->now(l->host->user);
    }
}

int line_begin(worker_line *l)
{
    if (!l->reading && !l->ended)
        l->reading = l->host->poll_start(l->fd, on_readable, l, l->host->user);
    if (l->reading)
        catch_up(l);
    return l->reading || l->ended ? MCP_OK : MCP_ENOMEM;
}

bool line_is_complete(const worker_line *l)
{
    return l->complete;
}

/* ---- sending ---------------------------------------------------------------------------------- */

/* Returns 1 if the packet was sent, 0 if there is no room, and -1 if the supervisor has ended. */
static int send_packet(const worker_line *l, const char *packet, size_t len)
{
    if (send(l->fd, packet, len, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
        return 1;
    return errno == EAGAIN || errno == EINTR || errno == ENOBUFS ? 0 : -1;
}

/* Sends what waits about sessions. Returns as send_packet(). */
static int send_told(worker_line *l)
{
    static const char lost = LINE_LOST;
    int sent = l->lost ? send_packet(l, &lost, 1) : 1;
    if (sent > 0)
        l->lost = false;
    if (sent > 0 && l->told_len)
        sent = send_packet(l, l->told, l->told_len);
    if (sent > 0)
        l->told_len = 0;
    return sent;
}

static void on_writable(void *arg)
{
    worker_line *l = arg;
    int sent = send_told(l);
    bool under_way = l->entry_len > 0;
    if (sent > 0 && under_way)
        sent = send_packet(l, l->entry, l->entry_len);
    if (sent < 0)
        disconnect(l);
    if (sent <= 0)
        return;
    stop_poll(l, &l->writing);
    l->entry_len = 0;
    if (under_way && l->open)
        l->bus.published(MCP_OK, NULL, l->bus.user);
}

/* Without memory for polling, the next message tries again. */
static bool write_later(worker_line *l)
{
    if (!l->writing)
        l->writing = l->host->poll_start_write(l->write_fd, on_writable, l, l->host->user);
    return l->writing != NULL;
}

static void keep(worker_line *l, mcp_str message)
{
    if (!l->told_len)
        l->told[l->told_len++] = LINE_TOLD;
    if (roll_put(l->told, &l->told_len, message))
        return;
    l->lost = true;
    l->told_len = 0;
}

/* Sends at once, because this process may be killed. */
void line_tell(worker_line *l, mcp_str message)
{
    if (l->ended)
        return;
    keep(l, message);
    if (send_told(l) == 0)
        (void)write_later(l);
}

static bool send_framed(const worker_line *l, const char *head, size_t n, mcp_str message)
{
    static char packet[LINE_PACKET]; /* all calls are on one thread */
    if (l->ended || message.len > sizeof(packet) - n)
        return false;
    memcpy(packet, head, n);
    memcpy(packet + n, message.ptr, message.len);
    return send_packet(l, packet, n + message.len) > 0;
}

bool line_ask(const worker_line *l, mcp_str message)
{
    static const char head = LINE_ASK;
    return send_framed(l, &head, 1, message);
}

bool line_answer(const worker_line *l, size_t to, mcp_str message)
{
    const char head[2] = {LINE_ANSWER, (char)(unsigned char)to};
    return send_framed(l, head, 2, message);
}

/* ---- the bus ---------------------------------------------------------------------------------- */

static void connected(void *arg)
{
    worker_line *l = arg;
    stop_timer(l);
    l->connected = true;
    l->bus.state(MCP_BUS_CONNECTED, "", l->bus.user);
}

static int bus_open(const mcp_bus_events *events, void *user, mcp_error *error)
{
    worker_line *l = user;
    (void)error;
    l->bus = *events;
    l->timer = l->host->timer_start(0, connected, l, l->host->user);
    l->open = l->timer != NULL;
    return l->open ? MCP_OK : MCP_ENOMEM;
}

static int bus_publish(mcp_str entry, void *user)
{
    worker_line *l = user;
    if (!l->connected || l->entry_len || !entry.len || entry.len > MCP_BUS_ENTRY_BYTES)
        return MCP_ESTATE;
    if (!write_later(l))
        return MCP_ENOMEM;
    l->entry[0] = LINE_ENTRY;
    memcpy(l->entry + 1, entry.ptr, entry.len);
    l->entry_len = 1 + entry.len;
    return MCP_OK;
}

static void bus_close(void *user)
{
    worker_line *l = user;
    stop_timer(l);
    l->open = l->connected = false;
    l->entry_len = 0;
}

void line_bus(worker_line *l, mcp_bus *ret)
{
    *ret = (mcp_bus){.size = sizeof(*ret),
                     .user = l,
                     .open = bus_open,
                     .publish = bus_publish,
                     .close = bus_close};
}

/* ---- begin and end ---------------------------------------------------------------------------- */

int line_new(int fd, const mcp_host *host, const line_events *events, worker_line **ret)
{
    worker_line *l = calloc(1, sizeof(*l));
    int write_fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (!l || write_fd < 0) {
        free(l);
        if (write_fd >= 0)
            close(write_fd);
        close(fd);
        return MCP_ENOMEM;
    }
    l->host = host;
    l->events = *events;
    l->fd = fd;
    l->write_fd = write_fd;
    *ret = l;
    return MCP_OK;
}

void line_free(worker_line *l)
{
    if (!l)
        return;
    stop_poll(l, &l->reading);
    stop_poll(l, &l->writing);
    stop_timer(l);
    close(l->write_fd);
    close(l->fd);
    free(l);
}
