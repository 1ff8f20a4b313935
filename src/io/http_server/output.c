/* output.c: sends what the endpoint writes.
 *
 * Output that the endpoint writes while it handles input is collected and sent with one call. Without
 * TLS it is held until other connections that are ready have had their turn: sends in a row cost less
 * than sends between which requests are handled, because a peer on this machine is woken up once.
 * Other output is sent immediately. Only bytes that the socket does not take are buffered, and the
 * buffer is freed when it is empty.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sys/socket.h>

#include "io/http_server/net.h"

enum {
    OUT_FIRST = 4 * 1024,          /* first size of the output buffer */
    LARGE = 64 * 1024,             /* from this size on, a message does not double the buffer */
    LARGE_WRITE = 16 * 1024,       /* after writes of this size, the pending bytes are reported */
    OUT_LIMIT = 256 * 1024 * 1024, /* maximum of pending bytes; the endpoint stops much earlier */
};

void mcp__connection_forget_output(mcp__connection *c)
{
    mcp__release(&c->net->loop->allocator, c->out);
    c->out = NULL;
    c->cap = c->start = c->end = 0;
}

static bool make_room(mcp__connection *c, size_t n)
{
    size_t pending = mcp__connection_pending(c);
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
    if (!mcp__connection_pending(c))
        done = try_send(c, bytes);
    if (MCP__UNLIKELY(done < bytes.len) && !c->failed)
        keep(c, mcp__str_sub(bytes, done));
}

void mcp__connection_send_encrypted(mcp__connection *c)
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
        mcp__connection_send_encrypted(c);
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

void mcp__connection_hold(mcp__connection *c)
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

void mcp__connection_write(mcp_http_connection *http, mcp_str bytes, void *user)
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
    size_t pending = mcp__connection_pending(c);

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

void mcp__connection_flush(mcp__connection *c)
{
    while (mcp__connection_pending(c) && !c->failed) {
        size_t n = try_send(c, (mcp_str){c->out + c->start, mcp__connection_pending(c)});
        c->start += n;
        if (!n)
            break;
    }
    if (!mcp__connection_pending(c))
        mcp__connection_forget_output(c);
    else
        shrink(c);
    mcp__connection_mark(c);
}
