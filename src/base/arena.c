/* arena.c: many small allocations that are freed together.
 *
 * Pieces are allocated from blocks that double in size. A large piece gets a block of its own,
 * which is linked after the current block, so that the rest of the current block is still used. A
 * piece is never freed alone.
 */
#include <stdalign.h>

#include "base/base.h"

enum {
    FIRST_BLOCK = 1024,
    LARGEST_BLOCK = 64 * 1024,
};

struct mcp__arena_block {
    alignas(max_align_t) mcp__arena_block *next;
    size_t size; /* of the whole block, including this header */
};

static size_t padding(const char *at)
{
    return (size_t)(-(uintptr_t)at & (alignof(max_align_t) - 1));
}

static void start(mcp__arena *a)
{
    a->blocks = NULL;
    a->at = a->end = NULL;
    if (a->first && a->first_size > padding(a->first)) {
        a->at = a->first + padding(a->first);
        a->end = a->first + a->first_size;
    }
}

void mcp__arena_init(mcp__arena *a, const mcp_allocator *allocator, void *first, size_t first_size)
{
    a->allocator = mcp__allocator(allocator);
    a->first = first;
    a->first_size = first_size;
    start(a);
}

void mcp__arena_reset(mcp__arena *a)
{
    mcp__arena_block *block = a->blocks;
    while (block) {
        mcp__arena_block *next = block->next;
        mcp__release(a->allocator, block);
        block = next;
    }
    start(a);
}

void mcp__arena_wipe(mcp__arena *a)
{
    for (mcp__arena_block *block = a->blocks; block; block = block->next)
        mcp__wipe(block + 1, block->size - sizeof(*block));
    mcp__arena_reset(a);
}

void mcp__arena_free(mcp__arena *a)
{
    mcp__arena_reset(a);
}

static void *large_piece(mcp__arena *a, size_t size)
{
    mcp__arena_block *block = mcp__alloc(a->allocator, sizeof(*block) + size);
    if (!block)
        return NULL;
    block->size = sizeof(*block) + size;
    if (a->blocks) {
        block->next = a->blocks->next;
        a->blocks->next = block;
    } else {
        block->next = NULL;
        a->blocks = block;
    }
    return block + 1;
}

static bool new_block(mcp__arena *a)
{
    size_t size = FIRST_BLOCK;
    if (a->blocks)
        size = MCP__MIN(MCP__MAX(a->blocks->size * 2, size), (size_t)LARGEST_BLOCK);
    mcp__arena_block *block = mcp__alloc(a->allocator, size);
    if (!block)
        return false;
    block->size = size;
    block->next = a->blocks;
    a->blocks = block;
    a->at = (char *)(block + 1);
    a->end = (char *)block + size;
    return true;
}

void *mcp__arena_alloc(mcp__arena *a, size_t size)
{
    const size_t align = alignof(max_align_t);
    if (size > SIZE_MAX / 2)
        return NULL;
    size = size ? (size + align - 1) / align * align : align;
    if (size > (size_t)(a->end - a->at)) {
        if (size > FIRST_BLOCK / 4)
            return large_piece(a, size);
        if (!new_block(a))
            return NULL;
    }
    void *piece = a->at;
    a->at += size;
    return piece;
}

char *mcp__arena_strdup(mcp__arena *a, mcp_str s)
{
    if (s.len == SIZE_MAX)
        return NULL;
    char *p = mcp__arena_alloc(a, s.len + 1);
    if (!p)
        return NULL;
    if (s.len)
        memcpy(p, s.ptr, s.len);
    p[s.len] = '\0';
    return p;
}
