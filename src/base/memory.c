/* memory.c: the default allocator, and functions that work with any allocator. */
#define _GNU_SOURCE
#include <stdlib.h>

#include "base/base.h"

static void *default_allocate(size_t size, void *user)
{
    (void)user;
    return malloc(size);
}

static void *default_resize(void *ptr, size_t size, void *user)
{
    (void)user;
    return realloc(ptr, size);
}

static void default_release(void *ptr, void *user)
{
    (void)user;
    free(ptr);
}

const mcp_allocator mcp__default_allocator = {
    .allocate = default_allocate,
    .resize = default_resize,
    .release = default_release,
};

void *mcp__zalloc(const mcp_allocator *a, size_t size)
{
    void *p = mcp__alloc(a, size);
    if (p)
        memset(p, 0, size);
    return p;
}

char *mcp__strdup(const mcp_allocator *a, mcp_str s)
{
    if (s.len == SIZE_MAX)
        return NULL;
    char *p = mcp__alloc(a, s.len + 1);
    if (!p)
        return NULL;
    if (s.len)
        memcpy(p, s.ptr, s.len);
    p[s.len] = '\0';
    return p;
}

void mcp__wipe(void *bytes, size_t len)
{
    if (bytes && len)
        explicit_bzero(bytes, len);
}
