/* relay.c: see relay.h.
 *
 * Entries of the bus that a worker cannot be sent at once are not kept: it gets 'g' when it reads again.
 * Messages about sessions are not lost: see roll.h. So a worker that hangs does not slow the others.
 */
#define _GNU_SOURCE
#include "relay.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "line.h"
#include "start.h"

struct relay {
    size_t workers;
    int fds[START_WORKERS];     /* -1 if it does not run */
    bool missed[START_WORKERS]; /* entries of the bus */
    roll *roll;
};

/* Room for the longest packet and one byte, so that a longer one is recognized. */
static char packet[LINE_PACKET + 1]; /* all calls are on one thread */

static bool send_to(const relay *r, size_t worker, const char *bytes, size_t len)
{
    return send(r->fds[worker], bytes, len, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)len;
}

/* Sends what waits, as far as there is room. */
static void pump(relay *r, size_t worker)
{
    size_t len;
    if (r->missed[worker] && send_to(r, worker, "g", 1))
        r->missed[worker] = false;
    while ((len = roll_next(r->roll, worker, packet)) != 0 && send_to(r, worker, packet, len))
        roll_sent(r->roll, worker);
}

static void pump_all(relay *r)
{
    for (size_t i = 0; i < r->workers; i++)
        if (r->fds[i] >= 0)
            pump(r, i);
}

/* ---- receiving -------------------------------------------------------------------------------- */

/* The order is kept: nothing follows what is missing before 'g' was sent. */
static void pass_on(relay *r, size_t from, size_t len)
{
    for (size_t i = 0; i < r->workers; i++)
        if (i != from && r->fds[i] >= 0 && (r->missed[i] || !send_to(r, i, packet, len)))
            r->missed[i] = true;
}

typedef struct saying {
    relay *relay;
    size_t worker;
} saying;

static void take_message(mcp_str message, void *arg)
{
    const saying *s = arg;
    roll_take(s->relay->roll, s->worker, message);
}

static void take(relay *r, size_t worker, size_t len)
{
    if (len > LINE_PACKET)
        return;
    switch (packet[0]) {
    case LINE_ENTRY: pass_on(r, worker, len); break;
    case LINE_TOLD:
        roll_read((mcp_str){packet + 1, len - 1}, take_message, &(saying){r, worker});
        break;
    case LINE_LOST: roll_lost(r->roll, worker); break;
    default: break;
    }
}

static void drop(relay *r, size_t worker)
{
    close(r->fds[worker]);
    r->fds[worker] = -1;
    roll_leave(r->roll, worker);
}

/* Reads at most so many packets. */
static void receive(relay *r, size_t worker, int most)
{
    for (int i = 0; i < most; i++) {
        ssize_t n = recv(r->fds[worker], packet, sizeof(packet), MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (n <= 0) {
            drop(r, worker);
            return;
        }
        take(r, worker, (size_t)n);
    }
}

void relay_poll(const relay *r, struct pollfd *fds)
{
    for (size_t i = 0; i < r->workers; i++) {
        bool waits = r->missed[i] || roll_has_next(r->roll, i);
        fds[i] =
            (struct pollfd){.fd = r->fds[i], .events = (short)(POLLIN | (waits ? POLLOUT : 0))};
    }
}

void relay_turn(relay *r, const struct pollfd *fds)
{
    enum { MOST = 32 }; /* so that others get their turn */
    bool any = false;
    for (size_t i = 0; i < r->workers; i++) {
        any = any || fds[i].revents;
        if (r->fds[i] >= 0 && fds[i].revents & (POLLIN | POLLHUP | POLLERR))
            receive(r, i, MOST);
    }
    if (any)
        pump_all(r);
}

/* ---- workers ---------------------------------------------------------------------------------- */

int relay_add(relay *r, size_t worker)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return -1;
    relay_end(r, worker);
    r->fds[worker] = pair[0];
    r->missed[worker] = false;
    roll_join(r->roll, worker);
    pump(r, worker);
    return pair[1];
}

void relay_end(relay *r, size_t worker)
{
    enum { ALL = 100000 }; /* more than the buffer of a socket has */
    if (r->fds[worker] >= 0)
        receive(r, worker, ALL);
    if (r->fds[worker] >= 0) /* a descriptor of its end is open elsewhere */
        drop(r, worker);
    pump_all(r);
}

relay *relay_new(size_t workers)
{
    relay *r = calloc(1, sizeof(*r));
    if (!r || !(r->roll = roll_new())) {
        free(r);
        return NULL;
    }
    r->workers = workers;
    for (size_t i = 0; i < START_WORKERS; i++)
        r->fds[i] = -1;
    return r;
}

void relay_free(relay *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < r->workers; i++)
        if (r->fds[i] >= 0)
            close(r->fds[i]);
    roll_free(r->roll);
    free(r);
}
