/* arena.h: memory that is released as a whole. Allocations are zeroed and aligned for any type. */
#ifndef PROMPTS_ARENA_H
#define PROMPTS_ARENA_H

#include <mcp/base.h>

typedef struct prompts_chunk prompts_chunk;

typedef struct prompts_arena {
    mcp_allocator alloc;
    prompts_chunk *chunks; /* the newest first */
} prompts_arena;

/* Returns NULL if memory is exhausted. */
void *prompts_arena_alloc(prompts_arena *a, size_t size);
/* Returns a NUL-terminated copy, or NULL if memory is exhausted. */
char *prompts_arena_copy(prompts_arena *a, mcp_str s);
void prompts_arena_free(prompts_arena *a);

/* Makes room for one more element. *items is moved when it is full; its capacity is 0 or a power of
 * two. Returns false if memory is exhausted. */
bool prompts_arena_grow(prompts_arena *a, void **items, size_t count, size_t element);

#endif
