/* buffer.h: a growing run of bytes from the caller's allocator, and the allocator used when there is
 * none. Not a string builder: what is in it may be any bytes and is not NUL-terminated. */
#ifndef FILES_BUFFER_H
#define FILES_BUFFER_H

#include <mcp/base.h>

typedef struct files_buffer {
    char *ptr;
    size_t len;
    size_t cap;
    mcp_allocator alloc;
} files_buffer;

/* `given`, or malloc and its family when that is NULL. */
mcp_allocator files_allocator(const mcp_allocator *given);

void *files_alloc(const mcp_allocator *alloc, size_t size);
void files_release(const mcp_allocator *alloc, void *ptr);
/* A NUL-terminated copy, or NULL without memory. */
char *files_copy(const mcp_allocator *alloc, const char *ptr, size_t len);

void files_buffer_init(files_buffer *b, const mcp_allocator *alloc);
void files_buffer_free(files_buffer *b);

/* Makes room for `extra` more bytes. MCP_ENOMEM; the content is untouched by a failure. */
int files_buffer_reserve(files_buffer *b, size_t extra);
int files_buffer_append(files_buffer *b, const void *ptr, size_t len);

#endif
