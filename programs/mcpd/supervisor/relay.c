/* relay.c: see relay.h.
 *
 * Entries of the bus that a worker cannot be sent at once are not kept: it gets 'g' when it reads again.
 * Messages about sessions are not lost: see roll.h. So a worker that hangs does not slow the others.
 *
 * The first worker watches for all, until it ends; then the first one that runs. If the worker that watches
 * cannot be sent what another asks, it is told to forget that one when it reads again, and the other
 * to ask anew.
 */
#define _GNU_SOURCE
#include "relay.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "line.h"
#include "start.h"

/* What a worker has to be told about who watches. */
typedef enum role { KNOWN, CHANGED, MISSED } role;

struct relay {
    size_t workers;
    int fds[START_WORKERS];     /* -1 if it does not run */
    bool missed[START_WORKERS]; /* entries of the bus */
    size_t watcher;             /* the worker that watches; START_WORKERS if none runs */
    role role[START_WORKERS];
    bool unheard
        [START_WORKERS]; /* the one that watches does not know what this one asked, or that it ended */
    roll *roll;
};

/* Room for the longest packet and one byte, so that a longer one is recognized. */
static char packet[LINE_PACKET + 1]; /* all calls are on one thread */

static bool send_to(const relay *r, size_t worker, const char *bytes, size_t len)
{
    return send(r->fds[worker], bytes, len, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)len;
}

/* ---- who watches ------------------------------------------------------------------------------ */

static void say_role(relay *r, size_t worker)
{
    const char text[] = {LINE_ROLE, worker == r->watcher, r->role[worker] == MISSED};
    if (r->role[worker] != KNOWN && send_to(r, worker, text, sizeof(text)))
        r->role[worker] = KNOWN;
}

/* Tells the worker that watches, which reads again, what it did not hear. */
static void say_left(relay *r)
{
    char text[2 + sizeof(MCP_WATCH_LEFT) - 1] = {LINE_ASK};
    memcpy(text + 2, MCP_WATCH_LEFT, sizeof(MCP_WATCH_LEFT) - 1);
    for (size_t i = 0; i < r->workers; i++) {
        text[1] = (char)(unsigned char)i;
        if (!r->unheard[i] || !send_to(r, r->watcher, text, sizeof(text)))
            continue;
        r->unheard[i] = false;
        if (r->role[i] == KNOWN)
            r->role[i] = CHANGED;
    }
}

static bool has_unheard(const relay *r)
{
    for (size_t i = 0; i < r->workers; i++)
        if (r->unheard[i])
            return true;
    return false;
}

/* Chooses the worker that watches. */
static void choose(relay *r, bool missed)
{
    size_t first = 0;
    while (first < r->workers && r->fds[first] < 0)
        first++;
    r->watcher = first < r->workers ? first : START_WORKERS;
    for (size_t i = 0; i < r->workers; i++) {
        r->role[i] = missed || r->role[i] == MISSED ? MISSED : CHANGED;
        r->unheard[i] = false;
    }
}

static void pass_ask(relay *r, size_t from, size_t len)
{
    static char framed[LINE_PACKET + 1];
    if (r->watcher >= r->workers || from == r->watcher || r->unheard[from] || len >= LINE_PACKET)
        return;
    framed[0] = LINE_ASK;
    framed[1] = (char)(unsigned char)from;
    memcpy(framed + 2, packet + 1, len - 1);
    r->unheard[from] = !send_to(r, r->watcher, framed, len + 1);
}

/* An answer that cannot be sent is not needed: see mcp_watch_options. */
static void pass_answer(const relay *r, size_t from, size_t len)
{
    size_t to = len > 1 ? (unsigned char)packet[1] : r->workers;
    if (from != r->watcher || to >= r->workers || r->fds[to] < 0)
        return;
    packet[1] = LINE_ANSWER;
    (void)send_to(r, to, packet + 1, len - 1);
}

/* ---- sending ----------------------------------------------------------------------------------- */

/* Sends what waits, as far as there is room. */
static void pump(relay *r, size_t worker)
{
    size_t len;
    if (worker == r->watcher && has_unheard(r))
        say_left(r);
    say_role(r, worker);
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
    case LINE_ASK: pass_ask(r, worker, len); break;
    case LINE_ANSWER: pass_answer(r, worker, len); break;
    default: break;
    }
}

static void drop(relay *r, size_t worker)
{
    close(r->fds[worker]);
    r->fds[worker] = -1;
    roll_leave(r->roll, worker);
    if (worker == r->watcher)
        choose(r, true);
    else
        r->unheard[worker] = true;
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
        bool waits = r->missed[i] || r->role[i] != KNOWN || roll_has_next(r->roll, i) ||
                     (i == r->watcher && has_unheard(r));
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
    r->role[worker] = CHANGED;
    if (r->watcher >= r->workers)
        choose(r, false);
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

relay *relay_new(size_t workers, size_t sessions)
{
    relay *r = calloc(1, sizeof(*r));
    if (!r || !(r->roll = roll_new(workers * sessions))) {
        free(r);
        return NULL;
    }
    r->workers = workers;
    r->watcher = START_WORKERS;
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
