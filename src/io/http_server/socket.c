/* socket.c: moves bytes between an accepted socket and the endpoint, and closes the socket.
 *
 * Without TLS, the input of a group of connections that are ready is received before the endpoint gets
 * any of it. A group ends after 32 connections, when the buffer is nearly full, and before a connection
 * with TLS, one with other events, and a new one.
 *
 * Output that the endpoint writes while it handles input is collected and sent with one call. Without
 * TLS it is held until other connections that are ready have had their turn: sends in a row cost less
 * than sends between which requests are handled, because a peer on this machine is woken up once.
 * Other output is sent immediately. Only bytes that the socket does not take are buffered, and the
 * buffer is freed when it is empty.
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
    READS = 4,                     /* reads from a socket in one turn, so that others get a turn */
    LEAST_ROOM = 16 * 1024,        /* room in the buffer for the input of another connection */
    OUT_FIRST = 4 * 1024,          /* first size of the output buffer */
    LARGE = 64 * 1024,             /* from this size on, a message does not double the buffer */
    LARGE_WRITE = 16 * 1024,       /* after writes of this size, the pending bytes are reported */
    OUT_LIMIT = 256 * 1024 * 1024, /* maximum of pending bytes; the endpoint stops much earlier */
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

/* ---- output ---------------------------------------------------------------------------------- */

/* Returns how many bytes the socket has not taken. */
static size_t unsent(const mcp__connection *c)
{
    return c->end - c->start;
}

static void forget_output(mcp__connection *c)
{
    mcp__release(&c->net->loop->allocator, c->out);
    c->out = NULL;
    c->cap = c->start = c->end = 0;
}

static bool make_room(mcp__connection *c, size_t n)
{
    size_t pending = unsent(c);
    size_t cap = c->cap ? c->cap : OUT_FIRST;

    if (n > OUT_LIMIT || pending > OUT_LIMIT - n)
        return false;
    if (c->start) {
        memmove(c->out, c->out + c->start, pending);
        c->start = 0;
        c->end = pending;
    }
    while (cap < pending + n)
        cap = n < LARGE ? cap * 2 : pending + n;
    char *out = cap == c->cap ? c->out : mcp__resize(&c->net->loop->allocator, c->out, cap);
    if (!out)
        return false;
    c->out = out;
    c->cap = cap;
    return true;
}

static void keep(mcp__connection *c, mcp_str bytes)
{
    if (c->cap - c->end < bytes.len && !make_room(c, bytes.len)) {
        mcp__connection_fail(c);
        return;
    }
    memcpy(c->out + c->end, bytes.ptr, bytes.len);
    c->end += bytes.len;
    mcp__connection_mark(c);
}

/* Returns how many bytes the socket took. It is 0 if the socket would block or has failed. */
static size_t try_send(mcp__connection *c, mcp_str bytes)
{
    ssize_t n;

    do
        n = send(c->socket.fd, bytes.ptr, bytes.len, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    if (n >= 0)
        return (size_t)n;
    if (errno != EAGAIN && errno != EWOULDBLOCK && errno != ENOBUFS)
        mcp__connection_fail(c);
    return 0;
}

static void send_raw(mcp__connection *c, mcp_str bytes)
{
    size_t done = 0;

    if (c->failed || !bytes.len)
        return;
    if (!unsent(c))
        done = try_send(c, bytes);
    if (MCP__UNLIKELY(done < bytes.len) && !c->failed)
        keep(c, mcp__str_sub(bytes, done));
}

static void send_encrypted(mcp__connection *c)
{
    send_raw(c, mcp__tls_output(c->tls));
    mcp__tls_taken(c->tls);
}

static void send_plain(mcp__connection *c, mcp_str bytes)
{
    if (!c->tls) {
        send_raw(c, bytes);
        return;
    }
    /* The bytes are encrypted in pieces, because OpenSSL does not shrink its output buffer until
     * the connection is closed. */
    do {
        mcp_str piece = {bytes.ptr, MCP__MIN(bytes.len, (size_t)MCP__NET_BUFFER)};
        if (!c->failed && mcp__tls_write(c->tls, piece) < 0)
            mcp__connection_fail(c);
        send_encrypted(c);
        bytes = mcp__str_sub(bytes, piece.len);
    } while (bytes.len && !c->failed);
}

void mcp__connections_send_held(mcp__net *net)
{
    for (size_t i = 0; i < net->n_held; i++) {
        mcp__held *h = &net->held[i];
        h->connection->is_held = false;
        send_raw(h->connection, (mcp_str){net->output + h->start, h->end - h->start});
    }
    net->n_held = 0;
    if (net->output_start == net->output_len)
        net->output_start = net->output_len = 0;
}

/* Sends what was collected for the corked connection, and makes the buffer empty. */
static void send_collected(mcp__connection *c)
{
    mcp__net *net = c->net;
    mcp_str bytes = {net->output + net->output_start, net->output_len - net->output_start};

    mcp__connections_send_held(net);
    net->output_start = net->output_len = 0;
    if (bytes.len)
        send_plain(c, bytes);
}

static void hold(mcp__connection *c)
{
    mcp__net *net = c->net;

    if (net->output_start == net->output_len)
        return;
    if (c->tls) {
        send_collected(c);
        return;
    }
    c->is_held = true;
    net->held[net->n_held++] =
        (mcp__held){.connection = c, .start = net->output_start, .end = net->output_len};
    net->output_start = net->output_len;
    if (net->n_held == MCP__HELD)
        mcp__connections_send_held(net);
}

static void on_write(mcp_http_connection *http, mcp_str bytes, void *user)
{
    mcp__connection *c = user;
    mcp__net *net = c->net;

    (void)http;
    c->report_due |= bytes.len >= LARGE_WRITE;
    if (c->paused || c->report_due)
        mcp__connection_mark(c);
    if (net->corked != c) {
        if (MCP__UNLIKELY(c->is_held))
            mcp__connections_send_held(net);
        send_plain(c, bytes);
        return;
    }
    if (bytes.len > MCP__NET_BUFFER - net->output_len)
        send_collected(c);
    if (bytes.len > MCP__NET_BUFFER / 2) {
        send_collected(c);
        send_plain(c, bytes);
        return;
    }
    memcpy(net->output + net->output_len, bytes.ptr, bytes.len);
    net->output_len += bytes.len;
}

/* Shrinks a large output buffer after most of it has been sent. */
static void shrink(mcp__connection *c)
{
    size_t pending = unsent(c);

    if (c->cap < 4 * (size_t)LARGE || pending > c->cap / 4)
        return;
    memmove(c->out, c->out + c->start, pending);
    c->start = 0;
    c->end = pending;
    char *out = mcp__resize(&c->net->loop->allocator, c->out, pending);
    if (!out)
        return;
    c->out = out;
    c->cap = pending;
}

static void flush(mcp__connection *c)
{
    while (unsent(c) && !c->failed) {
        size_t n = try_send(c, (mcp_str){c->out + c->start, unsent(c)});
        c->start += n;
        if (!n)
            break;
    }
    if (!unsent(c))
        forget_output(c);
    else
        shrink(c);
    mcp__connection_mark(c);
}

/* ---- input ----------------------------------------------------------------------------------- */

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
    send_encrypted(c); /* messages of the handshake, or an alert */
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
    hold(c);
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
        flush(c);
    if (events & EPOLLIN && may_read(c))
        read_turn(c);
    /* These events mean that both directions are closed, or that the connection was reset. */
    if (MCP__UNLIKELY(events & (EPOLLHUP | EPOLLERR)))
        mcp__connection_fail(c);
}

/* ---- closing --------------------------------------------------------------------------------- */

/* Closes the socket. The memory is freed later, when no event can refer to it any more. */
static void retire(mcp__connection *c)
{
    mcp__net_close(c->net, &c->socket);
    forget_output(c);
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
        send_encrypted(c);
    }
    if (!c->failed && shutdown(c->socket.fd, SHUT_WR) < 0)
        c->failed = true;
}

static void finish(mcp__connection *c)
{
    if (c->tls && !c->failed) {
        mcp__tls_shutdown(c->tls);
        send_encrypted(c);
    }
    mcp__connection_drop(c);
}

/* Reports the number of pending bytes to the endpoint, unless it is 0 and was 0 before. */
static void report_pending(mcp__connection *c)
{
    size_t pending = unsent(c);

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
    if (c->shutting && !c->failed && !unsent(c))
        shut_output(c);
    if (c->failed) {
        mcp__connection_drop(c);
        return;
    }
    if (c->closing && !unsent(c)) {
        finish(c);
        return;
    }
    c->paused = !mcp_http_wants_input(c->http);
    uint32_t events = (may_read(c) ? (uint32_t)EPOLLIN : 0) | (unsent(c) ? (uint32_t)EPOLLOUT : 0);
    if (mcp__net_watch(c->net, &c->socket, events) < 0)
        mcp__connection_drop(c);
}

/* ---- opening --------------------------------------------------------------------------------- */

static int accept_connection(mcp__connection *c, const char *peer, const char *address,
                             bool no_files)
{
    mcp_listener *l = c->listener;

    if (l->tls && !(c->tls = mcp__tls_session_new(l->tls)))
        return MCP_ENOMEM;
    int rc = mcp_http_accept(
        l->http,
        MCP_OPTIONS(mcp_http_connection_options, .write = on_write, .close = on_close, .user = c,
                    .peer = peer, .address = address, .trusted_host = l->path != NULL,
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
