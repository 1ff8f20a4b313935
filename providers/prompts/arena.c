/* arena.c: see arena.h. */
#include "arena.h"

#include <stdalign.h>

#include "buffer.h"

enum { CHUNK = 4096 };

struct prompts_chunk {
    prompts_chunk *next;
    size_t used, size;
    alignas(max_align_t) char bytes[];
};

static prompts_chunk *add_chunk(prompts_arena *a, size_t size)
{
    if (size > SIZE_MAX / 2)
        return NULL;
    prompts_chunk *c = common_alloc(&a->alloc, sizeof(*c) + size);
    if (!c)
        return NULL;
    c->next = a->chunks;
    c->used = 0;
    c->size = size;
    a->chunks = c;
    return c;
}

void *prompts_arena_alloc(prompts_arena *a, size_t size)
{
    const size_t align = alignof(max_align_t);
    if (size > SIZE_MAX / 2)
        return NULL;
    size = (size + align - 1) / align * align;
    prompts_chunk *c = a->chunks;
    if (!c || c->size - c->used < size)
        c = add_chunk(a, size > CHUNK ? size : CHUNK);
    if (!c)
        return NULL;
    void *p = c->bytes + c->used;
    c->used += size;
    return size ? memset(p, 0, size) : p;
}

char *prompts_arena_copy(prompts_arena *a, mcp_str s)
{
    char *copy = prompts_arena_alloc(a, s.len + 1);
    if (copy && s.len)
        memcpy(copy, s.ptr, s.len);
    return copy;
}

bool prompts_arena_grow(prompts_arena *a, void **items, size_t count, size_t element)
{
    if (count & (count - 1))
        return true;
    size_t cap = count ? 2 * count : 1;
    if (cap > SIZE_MAX / 4 / element)
        return false;
    void *grown = prompts_arena_alloc(a, cap * element);
    if (!grown)
        return false;
    if (count)
        memcpy(grown, *items, count * element);
    *items = grown;
    return true;
}

void prompts_arena_free(prompts_arena *a)
{
    while (a->chunks) {
        prompts_chunk *c = a->chunks;
        a->chunks = c->next;
        common_release(&a->alloc, c);
    }
}
