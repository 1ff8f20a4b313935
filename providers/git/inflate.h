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
    uint64_t at, end;           /* in the file: the next block, and where everything ends */
    const struct repo_use *use; /* asked now and then whether to go on; may be NULL */
    unsigned char block[REPO_INFLATE_BLOCK];
} repo_inflate;

/* Memory is taken when the first stream begins; repo_inflate_free() gives it back. */
void repo_inflate_init(repo_inflate *i, const mcp_allocator *alloc);
void repo_inflate_free(repo_inflate *i);

/* Goes to `at` of a borrowed file that ends at `end` and reads its first block. MCP_OK, MCP_EIO,
 * MCP_ENOMEM. */
int repo_inflate_begin(repo_inflate *i, int fd, uint64_t at, uint64_t end);
/* What was read of the file and not inflated: the whole first block after repo_inflate_begin().
 * What stands before the stream is taken off. */
mcp_str repo_inflate_raw(const repo_inflate *i);
void repo_inflate_skip_raw(repo_inflate *i, size_t n);

/* At most `room` bytes; fewer only where the stream ends. MCP_OK; MCP_EIO: it is damaged, or the
 * file ends within it; MCP_ENOMEM, MCP_ECANCELLED, MCP_ETIMEOUT. */
int repo_inflate_some(repo_inflate *i, void *to, size_t room, size_t *ret);
/* Exactly `size` bytes, and with `whole` no more than these: the stream has to end behind them. */
int repo_inflate_exactly(repo_inflate *i, void *to, size_t size, bool whole);
/* Where the stream ended. */
uint64_t repo_inflate_position(const repo_inflate *i);

#endif
