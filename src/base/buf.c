/* buf.c: a byte buffer that grows by doubling, up to a limit.
 *
 * A failure is sticky: callers need not check each append. One check of `failed` at the end reports
 * the first failure; the contents of the buffer are useless after it.
 */
#include <stdio.h>

#include "base/base.h"

enum { MIN_CAPACITY = 64 };

void mcp__buf_init(mcp__buf *b, const mcp_allocator *allocator, size_t limit)
{
    *b = (mcp__buf){
        .limit = limit ? limit : SIZE_MAX / 2,
        .allocator = mcp__allocator(allocator),
    };
}

void mcp__buf_free(mcp__buf *b)
{
    mcp__release(b->allocator, b->ptr);
    b->ptr = NULL;
    b->len = b->cap = 0;
}

void mcp__buf_wipe(mcp__buf *b)
{
    mcp__wipe(b->ptr, b->cap);
    mcp__buf_reset(b, 0);
}

void mcp__buf_reset(mcp__buf *b, size_t keep)
{
    if (b->cap > keep)
        mcp__buf_free(b);
    b->len = 0;
    b->failed = MCP_OK;
}

static char *fail(mcp__buf *b, int code)
{
    b->failed = code;
    return NULL;
}

MCP__NOINLINE char *mcp__buf_grow(mcp__buf *b, size_t n)
{
    if (b->failed)
        return NULL;
    if (n > b->limit || b->len > b->limit - n)
        return fail(b, MCP_ELIMIT);
    if (b->ptr && n <= b->cap - b->len)
        return b->ptr + b->len;
    size_t cap = b->cap <= b->limit / 2 ? b->cap * 2 : b->limit;
    cap = MCP__MAX(cap, b->len + n);
    cap = MCP__MAX(cap, MCP__MIN((size_t)MIN_CAPACITY, b->limit));
    char *ptr = b->ptr ? mcp__resize(b->allocator, b->ptr, cap) : mcp__alloc(b->allocator, cap);
    if (!ptr)
        return fail(b, MCP_ENOMEM);
    b->ptr = ptr;
    b->cap = cap;
    return ptr + b->len;
}

void mcp__buf_printf(mcp__buf *b, const char *format, ...)
{
    char short_text[256];
    va_list args, args_copy;
    va_start(args, format);
    va_copy(args_copy, args);
    int n = vsnprintf(short_text, sizeof(short_text), format, args);
    if (n < 0) {
        if (!b->failed)
            b->failed = MCP_EINVAL;
    } else if ((size_t)n < sizeof(short_text)) {
        mcp__buf_add(b, short_text, (size_t)n);
    } else {
        /* vsnprintf() also writes a NUL. */
        char *to = mcp__buf_reserve(b, (size_t)n + 1);
        if (to) {
            vsnprintf(to, (size_t)n + 1, format, args_copy);
            b->len += (size_t)n;
        }
    }
    va_end(args_copy);
    va_end(args);
}

void mcp__buf_consume(mcp__buf *b, size_t n)
{
    assert(n <= b->len);
    if (n == 0)
        return;
    b->len -= n;
    memmove(b->ptr, b->ptr + n, b->len);
}
