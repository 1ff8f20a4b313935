/* inflate.h: inflates a deflated stream in a file piece by piece, within limits set by the caller.
 *
 * The file is read with pread() in small blocks. The links of a chain of deltas are often close together in
 * their pack, so a block that has what comes next is not read again. If the file shrinks meanwhile, the stream ends;
 * with a memory mapping, this would kill the process. Every step makes progress or fails, so no
 * input can block a thread forever.
 */
#ifndef REPO_INFLATE_H
#define REPO_INFLATE_H

#include "buffer.h"

#include <zlib.h>

enum {
    REPO_INFLATE_PAGE = 4096,
    REPO_INFLATE_BLOCK = 2 * REPO_INFLATE_PAGE,
};

struct repo_use;

typedef struct repo_inflate {
    z_stream z;
    mcp_allocator alloc;
    bool made, ended;
    int fd;
    uint64_t at, end;             /* offset in the file of the next block; offset of the end
                                 * of the data */
    uint64_t block_at, block_end; /* offsets of the block; equal if it may not be used again */
    const struct repo_use *use;   /* checked regularly for cancellation and time-out; may be NULL */
    unsigned char block[REPO_INFLATE_BLOCK];
} repo_inflate;

/* Initializes the struct. Memory is allocated when the first stream begins;
 * repo_inflate_free() releases it. */
void repo_inflate_init(repo_inflate *i, const mcp_allocator *alloc);
void repo_inflate_free(repo_inflate *i);

/* Starts at offset `at` of a borrowed descriptor whose data ends at `end`, and reads the first
 * block. Returns MCP_OK, MCP_EIO or MCP_ENOMEM. */
int repo_inflate_begin(repo_inflate *i, int fd, uint64_t at, uint64_t end);
/* Does the same with the block that was read last, if it is from this file, which is not closed before the
 * struct is freed, and has what is at `at`. */
int repo_inflate_begin_near(repo_inflate *i, int fd, uint64_t at, uint64_t end);
/* Returns the bytes that were read but not inflated: after repo_inflate_begin(), the whole first
 * block. The caller may skip a header that precedes the stream. */
mcp_str repo_inflate_raw(const repo_inflate *i);
void repo_inflate_skip_raw(repo_inflate *i, size_t n);

/* Inflates up to `room` bytes; fewer only at the end of the stream. Returns MCP_OK, MCP_EIO
 * (damaged, or the file ends within the stream), MCP_ENOMEM, MCP_ECANCELLED or MCP_ETIMEOUT. */
int repo_inflate_some(repo_inflate *i, void *to, size_t room, size_t *ret);
/* Inflates exactly `size` bytes. With `whole`, the stream has to end after them. */
int repo_inflate_exactly(repo_inflate *i, void *to, size_t size, bool whole);
/* Returns the offset in the file at which the stream ended. */
uint64_t repo_inflate_position(const repo_inflate *i);

#endif
