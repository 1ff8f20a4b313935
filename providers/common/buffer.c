/* buffer.c: see buffer.h. */
#include "buffer.h"

#include <stdlib.h>

static void *plain_allocate(size_t size, void *user)
{
    (void)user;
    return malloc(size);
}

static void *plain_resize(void *ptr, size_t size, void *user)
{
    (void)user;
    return realloc(ptr, size);
}

static void plain_release(void *ptr, void *user)
{
    (void)user;
    free(ptr);
}

mcp_allocator files_allocator(const mcp_allocator *given)
{
    const mcp_allocator plain = {plain_allocate, plain_resize, plain_release, NULL};
    return given ? *given : plain;
}

void *files_alloc(const mcp_allocator *alloc, size_t size)
{
    return alloc->allocate(size, alloc->user);
}

void files_release(const mcp_allocator *alloc, void *ptr)
{
    if (ptr)
        alloc->release(ptr, alloc->user);
}

char *files_copy(const mcp_allocator *alloc, const char *ptr, size_t len)
{
    char *copy = files_alloc(alloc, len + 1);
    if (!copy)
        return NULL;
    if (len)
        memcpy(copy, ptr, len);
    copy[len] = '\0';
    return copy;
}

void files_buffer_init(files_buffer *b, const mcp_allocator *alloc)
{
    *b = (files_buffer){.alloc = files_allocator(alloc)};
}

void files_buffer_free(files_buffer *b)
{
    files_release(&b->alloc, b->ptr);
    b->ptr = NULL;
    b->len = b->cap = 0;
}

int files_buffer_reserve(files_buffer *b, size_t extra)
{
    if (extra <= b->cap - b->len)
        return MCP_OK;
    if (extra > SIZE_MAX / 2 - b->len)
        return MCP_ENOMEM;
    size_t cap = b->len + extra;
    if (cap < b->cap + b->cap / 2)
        cap = b->cap + b->cap / 2;
    char *ptr = b->ptr ? b->alloc.resize(b->ptr, cap, b->alloc.user)
                       : b->alloc.allocate(cap, b->alloc.user);
    if (!ptr)
        return MCP_ENOMEM;
    b->ptr = ptr;
    b->cap = cap;
    return MCP_OK;
}

int files_buffer_append(files_buffer *b, const void *ptr, size_t len)
{
    int rc = files_buffer_reserve(b, len);
    if (rc == MCP_OK && len) {
        memcpy(b->ptr + b->len, ptr, len);
        b->len += len;
    }
    return rc;
}
