/* connection.c: moves bytes between an accepted socket and the endpoint, and closes the socket.
 *
 * Without TLS, the input of a group of connections that are ready is received before the endpoint gets
 * any of it. A group ends after 32 connections, when the buffer is nearly full, and before a connection
 * with TLS, one with other events, and a new one.
 *
 * Callbacks of the endpoint only set flags. mcp__connection_settle() reports pending bytes, shuts
 * down and closes before the loop blocks, so nothing is freed while the endpoint uses it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "io/http_server/net.h"

enum {
    READS = 4,              /* reads from a socket in one turn, so that others get a turn */
    LEAST_ROOM = 16 * 1024, /* room in the buffer for the input of another connection */
};

static int64_t now_of(const mcp__connection *c)
{
    return mcp__loop_now(c->net->loop);
}

void mcp__connection_mark(mcp__connection *c)
{
    mcp__net *net = c->net;

    if (c->is_dirty)
        return;
    c->is_dirty = true;
    c->next_dirty = NULL;
    *net->dirty_end = c;
    net->dirty_end = &c->next_dirty;
}

void mcp__connection_fail(mcp__connection *c)
{
    c->failed = true;
    mcp__connection_mark(c);
}

/* Called when the endpoint accepts input again. mcp__connection_settle() then resumes reading. */
static void on_resume(mcp_http_connection *http, void *user)
{
    (void)http;
    mcp__connection_mark(user);
}

static void on_close(mcp_http_connection *http, mcp_http_close how, void *user)
{
    mcp__connection *c = user;

    (void)http;
    c->closing |= how != MCP_HTTP_SHUTDOWN;
    c->shutting |= how == MCP_HTTP_SHUTDOWN;
    c->failed |= how == MCP_HTTP_ABORT;
    mcp__connection_mark(c);
}

/* ---- input ----------------------------------------------------------------------------------------- */

static bool may_read(const mcp__connection *c)
{
    return !c->eof && !c->closing && !c->failed && !c->paused;
}

static void hand_over(mcp__connection *c, mcp_str bytes)
{
    if (mcp_http_receive(c->http, bytes, now_of(c)) == MCP_PENDING)
        c->paused = true;
}

static void end_of_input(mcp__connection *c)
{
    c->eof = true;
    mcp_http_receive_end(c->http, now_of(c));
    mcp__connection_mark(c);
}

static void hand_over_decrypted(mcp__connection *c, mcp_str bytes)
{
    int n = mcp__tls_feed(c->tls, bytes);

    if (n < 0)
        mcp__connection_fail(c);
    while (!c->failed && !c->closing && !c->eof &&
           (n = mcp__tls_read(c->tls, c->net->plain, MCP__NET_BUFFER)) > 0)
        hand_over(c, (mcp_str){c->net->plain, (size_t)n});
    mcp__connection_send_encrypted(c); /* messages of the handshake, or an alert */
    if (mcp__tls_ready(c->tls))
        mcp_http_handshake_done(c->http, now_of(c));
    if (n == MCP_ECLOSED && !c->eof)
        end_of_input(c);
    else if (n < 0)
        mcp__connection_fail(c);
}

/* Returns the number of bytes received, 0 at the end of the input, or -1 if there is none now. */
static ssize_t receive(mcp__connection *c, char *to, size_t room)
{
    ssize_t n;

    do
        n = recv(c->socket.fd, to, room, 0);
    while (n < 0 && errno == EINTR);
    if (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK)
        mcp__connection_fail(c);
    return n;
}

/* Reads from the socket once. Returns whether more input may be available already. */
static bool read_some(mcp__connection *c)
{
    ssize_t n = receive(c, c->net->input, MCP__NET_BUFFER);

    if (n < 0)
        return false;
    mcp_str bytes = {c->net->input, (size_t)n};
    if (n == 0)
        end_of_input(c);
    else if (c->tls)
        hand_over_decrypted(c, bytes);
    else
        hand_over(c, bytes);
    return n == MCP__NET_BUFFER;
}

static void begin_turn(mcp__connection *c)
{
    c->net->corked = c;
}

static void end_turn(mcp__connection *c)
{
    c->net->corked = NULL;
    mcp__connection_hold(c);
    if (MCP__UNLIKELY(c->paused))
        mcp__connection_mark(c);
}

static void read_turn(mcp__connection *c)
{
    begin_turn(c);
    for (int i = 0; i < READS && may_read(c) && read_some(c); i++)
        ;
    end_turn(c);
}

void mcp__connections_take_received(mcp__net *net)
{
    for (size_t i = 0; i < net->n_received; i++) {
        mcp__received *r = &net->received[i];
        mcp__connection *c = r->connection;
        if (!c->http || !may_read(c)) /* it was closed in the turn of another one */
            continue;
        begin_turn(c);
        if (r->len)
            hand_over(c, (mcp_str){net->input + r->start, r->len});
        else
            end_of_input(c);
        end_turn(c);
    }
    net->n_received = net->input_len = 0;
}

/* Receives input once, for a turn that comes later. Returns whether more input may be available
 * already; its turn must then come at once. */
static bool read_ahead(mcp__connection *c)
{
    mcp__net *net = c->net;
    size_t room = MCP__NET_BUFFER - net->input_len;
    ssize_t n = receive(c, net->input + net->input_len, room);

    if (n < 0)
        return false;
    net->received[net->n_received++] = (mcp__received){c, net->input_len, (size_t)n};
    net->input_len += (size_t)n;
    if (net->n_received == MCP__RECEIVED || MCP__NET_BUFFER - net->input_len < LEAST_ROOM)
        mcp__connections_take_received(net);
    return (size_t)n == room;
}

static void on_ready(mcp__socket *socket, uint32_t events)
{
    mcp__connection *c = (mcp__connection *)(void *)socket;

    if (MCP__LIKELY(events == EPOLLIN && !c->tls) && may_read(c) && !read_ahead(c))
        return;
    mcp__connections_take_received(c->net); /* it needs the buffer, and comes before this one */
    if (events & EPOLLOUT)
        mcp__connection_flush(c);
    if (events & EPOLLIN && may_read(c))
        read_turn(c);
    /* These events mean that both directions are closed, or that the connection was reset. */
    if (MCP__UNLIKELY(events & (EPOLLHUP | EPOLLERR)))
        mcp__connection_fail(c);
}

/* ---- closing -------------------------------------------------------------------------------- */

/* Closes the socket. The memory is freed later, when no event can refer to it any more. */
static void retire(mcp__connection *c)
{
    mcp__net_close(c->net, &c->socket);
    mcp__connection_forget_output(c);
    mcp__tls_session_free(c->tls);
    c->tls = NULL;
    mcp__list_remove(&c->link);
    mcp__list_append(&c->net->dead, &c->link);
}

void mcp__connections_free_dead(mcp__net *net)
{
    while (!mcp__list_empty(&net->dead)) {
        mcp__connection *c = mcp__container(net->dead.next, mcp__connection, link);
        if (c->is_dirty)
            break; /* settle_all() needs it in the next turn */
        mcp__list_remove(&c->link);
        mcp__release(&net->loop->allocator, c);
    }
}

static void leave_endpoint(mcp__connection *c)
{
    if (!c->http)
        return;
    mcp_http_connection *http = c->http;
    c->http = NULL;
    if (--c->listener->n_connections == 0 && c->listener->socket.fd < 0)
        c->net->drained = true;
    mcp_http_connection_free(http, now_of(c));
}

void mcp__connection_drop(mcp__connection *c)
{
    if (c->is_held)
        mcp__connections_send_held(c->net);
    c->failed = true;
    leave_endpoint(c);
    retire(c);
}

/* Shuts down the output only. The peer may still be sending: closing the socket would then reset
 * the connection, and the peer could lose the answer. Further input goes to the endpoint, which
 * decides when to close. */
static void shut_output(mcp__connection *c)
{
    c->shutting = false;
    if (c->tls) {
        mcp__tls_shutdown(c->tls);
        mcp__connection_send_encrypted(c);
    }
    if (!c->failed && shutdown(c->socket.fd, SHUT_WR) < 0)
        c->failed = true;
}

static void finish(mcp__connection *c)
{
    if (c->tls && !c->failed) {
        mcp__tls_shutdown(c->tls);
        mcp__connection_send_encrypted(c);
    }
    mcp__connection_drop(c);
}

/* Reports the number of pending bytes to the endpoint, unless it is 0 and was 0 before. */
static void report_pending(mcp__connection *c)
{
    size_t pending = mcp__connection_pending(c);

    if (!pending && !c->report_due)
        return;
    c->report_due = pending > 0;
    mcp_http_set_pending(c->http, pending, now_of(c));
}

void mcp__connection_settle(mcp__connection *c)
{
    if (!c->http)
        return;
    if (!c->failed)
        report_pending(c);
    if (c->shutting && !c->failed && !mcp__connection_pending(c))
        shut_output(c);
    if (c->failed) {
        mcp__connection_drop(c);
        return;
    }
    if (c->closing && !mcp__connection_pending(c)) {
        finish(c);
        return;
    }
    c->paused = !mcp_http_wants_input(c->http);
    uint32_t events = (may_read(c) ? (uint32_t)EPOLLIN : 0) |
                      (mcp__connection_pending(c) ? (uint32_t)EPOLLOUT : 0);
    if (mcp__net_watch(c->net, &c->socket, events) < 0)
        mcp__connection_drop(c);
}

/* ---- opening -------------------------------------------------------------------------------- */

static int accept_connection(mcp__connection *c, const char *peer, const char *address,
                             bool no_files)
{
    mcp_listener *l = c->listener;

    if (l->tls && !(c->tls = mcp__tls_session_new(l->tls)))
        return MCP_ENOMEM;
    int rc = mcp_http_accept(
        l->http,
        MCP_OPTIONS(mcp_http_connection_options, .write = mcp__connection_write, .close = on_close,
                    .user = c, .peer = peer, .address = address, .trusted_host = l->path != NULL,
                    .handshake = c->tls != NULL, .resume = on_resume, .no_files = no_files),
        now_of(c), &c->http, NULL);
    return rc;
}

void mcp__connection_open(mcp_listener *l, int fd, const char *peer, const char *address,
                          bool no_files)
{
    mcp__net *net = l->net;
    mcp__connection *c = mcp__zalloc(&net->loop->allocator, sizeof(*c));
    mcp__socket socket = {.ready = on_ready, .fd = fd};

    if (!c) {
        mcp__net_close(net, &socket);
        return;
    }
    c->socket = socket;
    c->listener = l;
    c->net = net;
    mcp__list_append(&l->connections, &c->link);
    int rc = accept_connection(c, peer, address, no_files);
    l->n_connections += c->http != NULL;
    if (!c->http)
        retire(c);
    else if (rc == MCP_OK && mcp__net_watch(net, &c->socket, EPOLLIN) < 0)
        mcp__connection_fail(c);
    else if (rc < 0)
        mcp__connection_mark(c);
}
