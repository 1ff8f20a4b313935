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

mcp_allocator common_allocator(const mcp_allocator *given)
{
    const mcp_allocator plain = {plain_allocate, plain_resize, plain_release, NULL};
    return given ? *given : plain;
}

void *common_alloc(const mcp_allocator *alloc, size_t size)
{
    return alloc->allocate(size, alloc->user);
}

void common_release(const mcp_allocator *alloc, void *ptr)
{
    if (ptr)
        alloc->release(ptr, alloc->user);
}

char *common_copy(const mcp_allocator *alloc, const char *ptr, size_t len)
{
    char *copy = common_alloc(alloc, len + 1);
    if (!copy)
        return NULL;
    if (len)
        memcpy(copy, ptr, len);
    copy[len] = '\0';
    return copy;
}

bool common_own_text(const mcp_allocator *alloc, const char **text)
{
    const char *given = *text;
    *text = given ? common_copy(alloc, given, strlen(given)) : NULL;
    return !given || *text;
}

size_t common_count_texts(const char *const *texts)
{
    size_t n = 0;
    while (texts && texts[n])
        n++;
    return n;
}

bool common_own_texts(const mcp_allocator *alloc, const char *const **texts)
{
    const char *const *given = *texts;
    size_t n = common_count_texts(given);
    const char **made = given ? common_alloc(alloc, (n + 1) * sizeof(*made)) : NULL;
    bool all = made || !given;
    *texts = made;
    if (!made)
        return all;
    for (size_t i = 0; i <= n; i++) {
        made[i] = all ? given[i] : NULL;
        all = common_own_text(alloc, &made[i]) && all;
    }
    return all;
}

void common_free_texts(const mcp_allocator *alloc, const char *const *texts)
{
    for (size_t i = 0; texts && texts[i]; i++)
        common_release(alloc, (void *)(uintptr_t)texts[i]);
    common_release(alloc, (void *)(uintptr_t)texts);
}

void common_buffer_init(common_buffer *b, const mcp_allocator *alloc)
{
    *b = (common_buffer){.alloc = common_allocator(alloc)};
}

void common_buffer_free(common_buffer *b)
{
    common_release(&b->alloc, b->ptr);
    b->ptr = NULL;
    b->len = b->cap = 0;
}

int common_buffer_reserve(common_buffer *b, size_t extra)
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

int common_buffer_append(common_buffer *b, const void *ptr, size_t len)
{
    int rc = common_buffer_reserve(b, len);
    if (rc == MCP_OK && len) {
        memcpy(b->ptr + b->len, ptr, len);
        b->len += len;
    }
    return rc;
}

bool common_put(common_buffer *b, const char *text)
{
    return common_buffer_append(b, text, strlen(text)) == MCP_OK;
}
