/* inflate.h: a deflated stream in a file, inflated piece by piece within limits that the caller
 * sets.
 *
 * The file is read with pread() in small blocks: one that shrinks meanwhile ends the stream, and
 * cannot kill the process as a mapping would. Every step makes progress or fails, so that no input
 * keeps a thread.
 */
#ifndef REPO_INFLATE_H
#define REPO_INFLATE_H

#include "buffer.h"

#include <zlib.h>

enum { REPO_INFLATE_BLOCK = 4096 };

struct repo_use;

typedef struct repo_inflate {
    z_stream z;
    mcp_allocator alloc;
    bool made, ended;
    int fd;
    uint64_t at, end;           /* offsets in the file: the next block, and the end of the data */
    const struct repo_use *use; /* checked now and then for whether to continue; may be NULL */
    unsigned char block[REPO_INFLATE_BLOCK];
} repo_inflate;

/* Memory is allocated when the first stream begins; repo_inflate_free() releases it. */
void repo_inflate_init(repo_inflate *i, const mcp_allocator *alloc);
void repo_inflate_free(repo_inflate *i);

/* Starts at offset `at` of a borrowed descriptor whose data ends at `end`, and reads the first
 * block. MCP_OK, MCP_EIO, MCP_ENOMEM. */
int repo_inflate_begin(repo_inflate *i, int fd, uint64_t at, uint64_t end);
/* The bytes that were read but not inflated: after repo_inflate_begin(), the whole first block. The
 * caller may remove a header before the stream. */
mcp_str repo_inflate_raw(const repo_inflate *i);
void repo_inflate_skip_raw(repo_inflate *i, size_t n);

/* Writes at most `room` bytes; fewer only at the end of the stream. MCP_OK; MCP_EIO (damaged, or
 * the file ends within the stream), MCP_ENOMEM, MCP_ECANCELLED, MCP_ETIMEOUT. */
int repo_inflate_some(repo_inflate *i, void *to, size_t room, size_t *ret);
/* Exactly `size` bytes, and with `whole` no more than these: the stream has to end behind them. */
int repo_inflate_exactly(repo_inflate *i, void *to, size_t size, bool whole);
/* Where the stream ended. */
uint64_t repo_inflate_position(const repo_inflate *i);

#endif
