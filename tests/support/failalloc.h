/* failalloc.h: an allocator that counts its calls and fails at a chosen one.
 *
 *     for (size_t n = 1;; n++) {
 *         failalloc f = {.fail_at = n};
 *         mcp_allocator a = failalloc_allocator(&f);
 *         ... run; MCP_ENOMEM or success; free everything ...
 *         assert_int_equal(f.live, 0);
 *         if (f.calls < n)
 *             break;
 *     }
 */
#ifndef MCP_TESTS_FAILALLOC_H
#define MCP_TESTS_FAILALLOC_H

#include <stdlib.h>

#include <mcp/base.h>

typedef struct failalloc {
    size_t calls;   /* number of allocations and resizes */
    size_t fail_at; /* number of the call that fails, counted from 1; 0 means that none fails */
    size_t live;    /* blocks that are not released */
} failalloc;

static void *failalloc_allocate(size_t size, void *user)
{
    failalloc *f = user;
    if (++f->calls == f->fail_at)
        return NULL;
    void *p = malloc(size ? size : 1);
    if (p)
        f->live++;
    return p;
}

static void *failalloc_resize(void *ptr, size_t size, void *user)
{
    failalloc *f = user;
    if (!ptr)
        return failalloc_allocate(size, user);
    if (++f->calls == f->fail_at)
        return NULL;
    return realloc(ptr, size ? size : 1);
}

static void failalloc_release(void *ptr, void *user)
{
    failalloc *f = user;
    if (ptr)
        f->live--;
    free(ptr);
}

static inline mcp_allocator failalloc_allocator(failalloc *f)
{
    mcp_allocator a = {failalloc_allocate, failalloc_resize, failalloc_release, f};
    return a;
}

#endif
