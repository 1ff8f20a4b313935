/* output.c: bytes on their way to a descriptor that may take only some of them, or none for now.
 *
 * Messages of one turn are collected and written together. What may surprise: a message of 64 KiB or
 * more is not collected but written from where it lies, behind what waits; only what the descriptor
 * does not take is copied.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sys/uio.h>
#include <unistd.h>

#include "io/stdio/stdio.h"

enum {
    FIRST = 64 * 1024,
    LARGE = 64 * 1024,
    KEEP_IDLE = 256 * 1024, /* an empty buffer above this is given back */
};

void mcp__output_init(mcp__output *o, const mcp_allocator *allocator, int fd, size_t limit)
{
    *o = (mcp__output){.allocator = allocator, .fd = fd, .limit = limit};
}

void mcp__output_free(mcp__output *o)
{
    mcp__release(o->allocator, o->ptr);
    o->ptr = NULL;
    o->cap = o->start = o->end = 0;
}

static void fail(mcp__output *o, int code, int sys)
{
    if (o->failed)
        return;
    o->failed = code;
    o->sys = sys;
    o->start = o->end = 0; /* nobody gets it any more */
}

static void write_failed(mcp__output *o, int sys)
{
    if (sys == EAGAIN || sys == EWOULDBLOCK)
        o->blocked = true;
    else if (sys == EPIPE || sys == ECONNRESET)
        fail(o, MCP_ECLOSED, sys);
    else
        fail(o, MCP_EIO, sys);
}

/* How much was written; 0 also when nothing could be. */
static size_t write_parts(mcp__output *o, const struct iovec *parts, int n)
{
    ssize_t written;

    do
        written = n == 1 ? write(o->fd, parts->iov_base, parts->iov_len) : writev(o->fd, parts, n);
    while (written < 0 && errno == EINTR);
    if (written < 0) {
        write_failed(o, errno);
        return 0;
    }
    return (size_t)written;
}

static void consumed(mcp__output *o, size_t n)
{
    o->start += n;
    if (o->start < o->end)
        return;
    o->start = o->end = 0;
    if (o->cap > KEEP_IDLE)
        mcp__output_free(o);
}

void mcp__output_flush(mcp__output *o)
{
    o->blocked = false;
    while (!o->failed && !o->blocked && o->start < o->end) {
        struct iovec part = {o->ptr + o->start, o->end - o->start};
        consumed(o, write_parts(o, &part, 1));
    }
}

static bool make_room(mcp__output *o, size_t n)
{
    size_t pending = mcp__output_pending(o);
    size_t cap = o->cap ? o->cap : FIRST;

    if (n > o->limit || pending > o->limit - n) {
        fail(o, MCP_ELIMIT, 0);
        return false;
    }
    if (o->start && o->cap - pending >= n && o->start >= pending) {
        memcpy(o->ptr, o->ptr + o->start, pending);
        o->start = 0;
        o->end = pending;
        return true;
    }
    while (cap - o->end < n)
        cap *= 2;
    char *ptr = mcp__resize(o->allocator, o->ptr, cap);
    if (!ptr) {
        fail(o, MCP_ENOMEM, 0);
        return false;
    }
    o->ptr = ptr;
    o->cap = cap;
    return true;
}

static void append(mcp__output *o, const char *bytes, size_t n)
{
    if (!n || o->failed || (o->cap - o->end < n && !make_room(o, n)))
        return;
    memcpy(o->ptr + o->end, bytes, n);
    o->end += n;
}

/* What waits, the message and its newline in one call; returns how much of message and newline the
 * descriptor took. */
static size_t write_large(mcp__output *o, mcp_str message)
{
    size_t pending = mcp__output_pending(o);
    union {
        const char *in;
        char *out;
    } bytes = {message.ptr};
    char newline[1] = {'\n'};
    struct iovec parts[] = {
        {pending ? o->ptr + o->start : newline, pending}, {bytes.out, message.len}, {newline, 1}};
    size_t written = write_parts(o, parts, 3);

    if (o->failed)
        return 0;
    consumed(o, MCP__MIN(written, pending));
    return written > pending ? written - pending : 0;
}

void mcp__output_line(mcp__output *o, mcp_str message)
{
    size_t done = 0;

    if (o->failed)
        return;
    if (message.len >= LARGE && !o->blocked)
        done = write_large(o, message);
    if (done > message.len)
        return;
    append(o, message.ptr + done, message.len - done);
    append(o, "\n", 1);
}
