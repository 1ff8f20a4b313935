/* inflate.c: see inflate.h. */
#define _GNU_SOURCE
#include "inflate.h"

#include "store.h"

#include <errno.h>
#include <unistd.h>

enum {
    SLICE = 1 << 20, /* bytes between two calls of repo_use_check() */
    LEAST = 64,      /* bytes of a block that are worth using: more than the header of an entry */
};

static void *allocate(void *user, uInt n, uInt size)
{
    const mcp_allocator *alloc = user;
    return size && n > UINT32_MAX / size ? Z_NULL : common_alloc(alloc, (size_t)n * size);
}

static void release(void *user, void *block)
{
    common_release(user, block);
}

void repo_inflate_init(repo_inflate *i, const mcp_allocator *alloc)
{
    memset(i, 0, sizeof(*i));
    i->alloc = *alloc;
}

void repo_inflate_free(repo_inflate *i)
{
    if (i->made)
        inflateEnd(&i->z);
    i->made = false;
}

static int fill(repo_inflate *i)
{
    uint64_t left = i->end > i->at ? i->end - i->at : 0;
    size_t want = left < REPO_INFLATE_BLOCK ? (size_t)left : REPO_INFLATE_BLOCK;
    ssize_t n;
    do
        n = want ? pread(i->fd, i->block, want, (off_t)i->at) : 0;
    while (n < 0 && errno == EINTR);
    if (n <= 0)
        return MCP_EIO;
    i->block_at = i->at;
    i->at += (uint64_t)n;
    i->block_end = i->at;
    i->z.next_in = i->block;
    i->z.avail_in = (uInt)n;
    return MCP_OK;
}

/* Uses the block from `at` on. */
static void enter_block(repo_inflate *i, uint64_t at)
{
    i->at = i->block_end;
    i->z.next_in = i->block + (at - i->block_at);
    i->z.avail_in = (uInt)(i->block_end - at);
}

static int begin(repo_inflate *i, int fd, uint64_t end)
{
    i->fd = fd;
    i->end = end;
    i->ended = false;
    if (i->made) {
        inflateReset(&i->z);
    } else {
        i->z = (z_stream){.zalloc = allocate, .zfree = release, .opaque = &i->alloc};
        if (inflateInit(&i->z) != Z_OK)
            return MCP_ENOMEM;
        i->made = true;
    }
    i->z.avail_in = 0;
    return MCP_OK;
}

int repo_inflate_begin(repo_inflate *i, int fd, uint64_t at, uint64_t end)
{
    int rc = begin(i, fd, end);
    i->at = at;
    if (rc == MCP_OK)
        rc = fill(i);
    i->block_at = i->block_end; /* another file may get the descriptor */
    return rc;
}

int repo_inflate_begin_near(repo_inflate *i, int fd, uint64_t at, uint64_t end)
{
    bool has = i->fd == fd && i->end == end && at >= i->block_at && at < i->block_end &&
               (i->block_end - at >= LEAST || i->block_end == end);
    int rc = begin(i, fd, end);
    if (rc == MCP_OK && !has) {
        i->block_at = i->block_end = 0;
        i->at = at - at % REPO_INFLATE_PAGE;
        rc = fill(i);
        has = rc == MCP_OK && at < i->block_end;
        rc = rc == MCP_OK && !has ? MCP_EIO : rc;
    }
    if (rc == MCP_OK)
        enter_block(i, at);
    return rc;
}

mcp_str repo_inflate_raw(const repo_inflate *i)
{
    return (mcp_str){(const char *)i->z.next_in, i->z.avail_in};
}

void repo_inflate_skip_raw(repo_inflate *i, size_t n)
{
    i->z.next_in += n;
    i->z.avail_in -= (uInt)n;
}

uint64_t repo_inflate_position(const repo_inflate *i)
{
    return i->at - i->z.avail_in;
}

static int step(repo_inflate *i)
{
    int rc = i->z.avail_in ? MCP_OK : fill(i);
    if (rc != MCP_OK)
        return rc;
    switch (inflate(&i->z, Z_NO_FLUSH)) {
    case Z_STREAM_END: i->ended = true; return MCP_OK;
    case Z_OK: return MCP_OK;
    case Z_BUF_ERROR: return i->z.avail_in ? MCP_EIO : MCP_OK; /* the next step reads more input */
    case Z_MEM_ERROR: return MCP_ENOMEM;
    default: return MCP_EIO;
    }
}

int repo_inflate_some(repo_inflate *i, void *to, size_t room, size_t *ret)
{
    size_t got = 0;
    int rc = MCP_OK;
    while (rc == MCP_OK && !i->ended && got < room) {
        size_t slice = room - got < SLICE ? room - got : SLICE;
        i->z.next_out = (unsigned char *)to + got;
        i->z.avail_out = (uInt)slice;
        while (rc == MCP_OK && !i->ended && i->z.avail_out)
            rc = step(i);
        got += slice - i->z.avail_out;
        if (rc == MCP_OK && !i->ended && got < room && i->use)
            rc = repo_use_check(i->use);
    }
    *ret = got;
    return rc;
}

int repo_inflate_exactly(repo_inflate *i, void *to, size_t size, bool whole)
{
    size_t got;
    char more;
    int rc = repo_inflate_some(i, to, size, &got);
    if (rc == MCP_OK && got < size)
        rc = MCP_EIO;
    if (rc == MCP_OK && whole)
        rc = repo_inflate_some(i, &more, 1, &got);
    return rc == MCP_OK && whole && got ? MCP_EIO : rc;
}
