/* buffer.h: a growing byte buffer from the caller's allocator, the default allocator, and copies of
 * strings. A buffer may contain any bytes and is not NUL-terminated. */
#ifndef COMMON_BUFFER_H
#define COMMON_BUFFER_H

#include <mcp/base.h>

typedef struct common_buffer {
    char *ptr;
    size_t len;
    size_t cap;
    mcp_allocator alloc;
} common_buffer;

/* Returns `given`, or malloc() and its family if that is NULL. */
mcp_allocator common_allocator(const mcp_allocator *given);

void *common_alloc(const mcp_allocator *alloc, size_t size);
void common_release(const mcp_allocator *alloc, void *ptr);
/* Returns a NUL-terminated copy, or NULL if memory is exhausted. */
char *common_copy(const mcp_allocator *alloc, const char *ptr, size_t len);

/* Replaces a string, which may be NULL, by a copy. If memory is exhausted, it is NULL afterwards, and
 * false is returned. */
bool common_own_text(const mcp_allocator *alloc, const char **text);
/* The same for an array of strings that ends with NULL. After a failure, it has no strings that are not
 * copies. */
bool common_own_texts(const mcp_allocator *alloc, const char *const **texts);
void common_free_texts(const mcp_allocator *alloc, const char *const *texts);
size_t common_count_texts(const char *const *texts);

void common_buffer_init(common_buffer *b, const mcp_allocator *alloc);
void common_buffer_free(common_buffer *b);

/* Makes room for `extra` more bytes. Returns MCP_OK, or MCP_ENOMEM with the contents unchanged. */
int common_buffer_reserve(common_buffer *b, size_t extra);
int common_buffer_append(common_buffer *b, const void *ptr, size_t len);
/* Appends a string without its NUL. Returns false if memory is exhausted. */
bool common_put(common_buffer *b, const char *text);

#endif
