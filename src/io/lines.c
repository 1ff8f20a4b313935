/* lines.c: a stream of bytes cut into lines, which are handed out in place, without a copy.
 *
 * It reads nothing itself: the caller reads to where mcp__lines_room() says. A line that is too long is
 * thrown away while it streams in, but for its first 4 KiB, so memory is bounded by max_line. What may
 * surprise: when there is no memory for a line that would be allowed, it is treated like one that is
 * too long, because a peer who is told so can go on.
 */
#define _GNU_SOURCE
#include "io/io.h"

enum {
    CHUNK = 64 * 1024,       /* first size, and what an idle buffer shrinks to */
    MIN_ROOM = 16 * 1024,    /* less than this is not worth a read */
    KEEP_IDLE = 1024 * 1024, /* an empty buffer above this is given back */
    HEAD = 4096,             /* what is kept of a line that is too long */
};

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

/* Keeps the head at the buffer's start; the rest of the line goes over what follows. */
static void discard_rest(mcp__lines *l)
{
    size_t head = MCP__MIN(l->end - l->start, (size_t)HEAD);

    if (l->start)
        memmove(l->ptr, l->ptr + l->start, head);
    l->start = 0;
    l->end = l->scanned = head;
    l->discarding = true;
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
    if (l->start == l->end && !l->discarding) {
        l->start = l->end = l->scanned = 0;
        if (l->cap > KEEP_IDLE)
            mcp__lines_free(l);
    }
    if (l->cap - l->end < MIN_ROOM)
        to_front(l);
    if (l->cap - l->end < MIN_ROOM && !grow(l)) {
        if (l->cap < HEAD + MIN_ROOM)
            return NULL;
        discard_rest(l);
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

static mcp_str head_of(mcp_str line)
{
    return (mcp_str){line.ptr, MCP__MIN(line.len, (size_t)HEAD)};
}

/* The newline that ends the line whose rest is thrown away was found. */
static int take_discarded(mcp__lines *l, size_t head, size_t next, mcp_str *line)
{
    *line = without_cr((mcp_str){l->ptr, head});
    l->discarding = false;
    l->start = l->scanned = next;
    return MCP__LINE_OVERSIZED;
}

/* While discarding, `scanned` is the length of the head. */
static int next_discarding(mcp__lines *l, mcp_str *line)
{
    size_t head = l->scanned;
    const char *nl = l->end > head ? memchr(l->ptr + head, '\n', l->end - head) : NULL;

    if (nl)
        return take_discarded(l, head, (size_t)(nl - l->ptr) + 1, line);
    l->end = head;
    return MCP__LINE_NONE;
}

static int no_newline(mcp__lines *l)
{
    l->scanned = l->end;
    if (l->end - l->start - 1 > l->max_line) /* one may be a \r */
        discard_rest(l);
    return MCP__LINE_NONE;
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
        if (MCP__UNLIKELY(found.len > l->max_line)) {
            *line = head_of(found);
            return MCP__LINE_OVERSIZED;
        }
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
        return take_discarded(l, l->scanned, l->end, line);
    if (l->start == l->end)
        return MCP__LINE_NONE;
    *line = without_cr((mcp_str){l->ptr + l->start, l->end - l->start});
    l->start = l->scanned = l->end;
    if (line->len > l->max_line) {
        *line = head_of(*line);
        return MCP__LINE_OVERSIZED;
    }
    return line->len ? MCP__LINE_WHOLE : MCP__LINE_NONE;
}
