/* lines.c: splits input into lines, and writes lines to a non-blocking descriptor.
 *
 * Input: lines are returned in place, without a copy. The caller reads into the buffer that
 * mcp__lines_room() returns. Of a line that is too long, only the id is kept as it arrives
 * (jsonrpc/id_scan.c). The memory is thus bounded by max_line. If there is no memory for a line of
 * an allowed length, the line is treated as too long: the peer gets an error and can continue.
 *
 * Output: the messages of one turn are collected and written together. A message of 64 KiB or more
 * is written immediately, together with the pending bytes. Only the part that the descriptor does
 * not take is copied.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sys/uio.h>
#include <unistd.h>

#include "io/stdio/stdio.h"

enum {
    CHUNK = 64 * 1024,     /* initial size of a buffer, and the size that idle input shrinks to */
    MIN_ROOM = 16 * 1024,  /* least room for a read */
    IN_KEPT = 1024 * 1024, /* an empty input buffer larger than this is freed */
    OUT_KEPT = 256 * 1024, /* an empty output buffer larger than this is freed */
    LARGE = 64 * 1024,     /* messages of this size are written immediately */
};

/* ---- input ---------------------------------------------------------------------------------- */

void mcp__lines_init(mcp__lines *l, const mcp_allocator *allocator, size_t max_line)
{
    *l = (mcp__lines){.allocator = allocator, .max_line = max_line};
}

void mcp__lines_free(mcp__lines *l)
{
    mcp__release(l->allocator, l->ptr);
    l->ptr = NULL;
    l->cap = l->start = l->end = l->scanned = 0;
}

/* Discards what has arrived of an oversized line. */
static void discard(mcp__lines *l, size_t end)
{
    mcp__id_scan_feed(&l->scan, (mcp_str){l->ptr + l->start, end - l->start});
    l->start = l->scanned = end;
}

static void begin_discarding(mcp__lines *l)
{
    l->scan = (mcp__id_scan){0};
    l->discarding = true;
    discard(l, l->end);
}

static void to_front(mcp__lines *l)
{
    if (!l->start)
        return;
    memmove(l->ptr, l->ptr + l->start, l->end - l->start);
    l->end -= l->start;
    l->scanned -= l->start;
    l->start = 0;
}

static bool grow(mcp__lines *l)
{
    size_t cap = l->cap ? l->cap * 2 : CHUNK;
    char *ptr = cap > l->cap ? mcp__resize(l->allocator, l->ptr, cap) : NULL;

    if (!ptr)
        return false;
    l->ptr = ptr;
    l->cap = cap;
    return true;
}

char *mcp__lines_room(mcp__lines *l, size_t *room)
{
    if (l->start == l->end) {
        l->start = l->end = l->scanned = 0;
        if (l->cap > IN_KEPT)
            mcp__lines_free(l);
    }
    if (l->cap - l->end < MIN_ROOM)
        to_front(l);
    if (l->cap - l->end < MIN_ROOM && !grow(l)) {
        if (l->cap < MIN_ROOM)
            return NULL;
        begin_discarding(l);
        l->start = l->end = l->scanned = 0;
    }
    *room = MCP__MIN(l->cap - l->end, (size_t)CHUNK);
    return l->ptr + l->end;
}

void mcp__lines_added(mcp__lines *l, size_t n)
{
    assert(n <= l->cap - l->end);
    l->end += n;
}

static mcp_str without_cr(mcp_str line)
{
    if (line.len && line.ptr[line.len - 1] == '\r')
        line.len--;
    return line;
}

/* Returns what is known of an oversized line, which ends at `end`. */
static int oversized(mcp__lines *l, size_t end, size_t next, mcp_str *line)
{
    discard(l, end);
    *line = mcp__id_scan_end(&l->scan);
    l->discarding = false;
    l->start = l->scanned = next;
    return MCP__LINE_OVERSIZED;
}

static int next_discarding(mcp__lines *l, mcp_str *line)
{
    const char *nl = l->end > l->start ? memchr(l->ptr + l->start, '\n', l->end - l->start) : NULL;
    size_t at = nl ? (size_t)(nl - l->ptr) : l->end;

    if (nl)
        return oversized(l, at, at + 1, line);
    discard(l, at);
    return MCP__LINE_NONE;
}

static int no_newline(mcp__lines *l)
{
    l->scanned = l->end;
    if (l->end - l->start - 1 > l->max_line) /* one byte may be a carriage return */
        begin_discarding(l);
    return MCP__LINE_NONE;
}

/* Returns a complete line that is too long. */
static int whole_oversized(mcp__lines *l, mcp_str found, mcp_str *line)
{
    l->scan = (mcp__id_scan){0};
    mcp__id_scan_feed(&l->scan, found);
    *line = mcp__id_scan_end(&l->scan);
    return MCP__LINE_OVERSIZED;
}

int mcp__lines_next(mcp__lines *l, mcp_str *line)
{
    if (MCP__UNLIKELY(l->discarding))
        return next_discarding(l, line);
    while (l->scanned < l->end) {
        const char *nl = memchr(l->ptr + l->scanned, '\n', l->end - l->scanned);
        if (!nl)
            return no_newline(l);
        mcp_str found = {l->ptr + l->start, (size_t)(nl - l->ptr) - l->start};
        l->start = l->scanned = (size_t)(nl - l->ptr) + 1;
        found = without_cr(found);
        if (MCP__UNLIKELY(found.len > l->max_line))
            return whole_oversized(l, found, line);
        if (found.len) {
            *line = found;
            return MCP__LINE_WHOLE;
        }
    }
    return MCP__LINE_NONE;
}

int mcp__lines_rest(mcp__lines *l, mcp_str *line)
{
    if (l->discarding)
        return oversized(l, l->end, l->end, line);
    if (l->start == l->end)
        return MCP__LINE_NONE;
    *line = without_cr((mcp_str){l->ptr + l->start, l->end - l->start});
    l->start = l->scanned = l->end;
    if (line->len > l->max_line)
        return whole_oversized(l, *line, line);
    return line->len ? MCP__LINE_WHOLE : MCP__LINE_NONE;
}

/* ---- output --------------------------------------------------------------------------------- */

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
    o->start = o->end = 0; /* the pending bytes can never be sent */
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

/* Returns the number of bytes written. It is 0 if writing failed, or would block. */
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
    if (o->cap > OUT_KEPT)
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
    size_t cap = o->cap ? o->cap : CHUNK;

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

/* Writes the pending bytes, the message and a newline with one system call. Returns how many bytes
 * of the message and the newline were written. */
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
