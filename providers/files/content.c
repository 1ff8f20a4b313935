/* content.c: see content.h. */
#define _GNU_SOURCE
#include "content.h"

#include <errno.h>
#include <unistd.h>

#define BLOCK ((size_t)64 << 10)

/* Calls pread() and retries after EINTR. Returns -1 on failure. */
static ssize_t read_at(int fd, void *ptr, size_t len, uint64_t offset)
{
    if (offset > INT64_MAX)
        return 0;
    for (;;) {
        ssize_t n = pread(fd, ptr, len, (off_t)offset);
        if (n >= 0 || errno != EINTR)
            return n;
    }
}

static int stopped(const files_reader *r)
{
    return r->stop && r->stop(r->user) ? MCP_ECANCELLED : MCP_OK;
}

/* Appends up to `want` bytes at `offset` to `out`, block by block. *got is the number
 * of bytes read. */
static int read_up_to(const files_reader *r, uint64_t offset, size_t want, size_t first_block,
                      common_buffer *out, size_t *got)
{
    size_t done = 0;
    size_t room = first_block < want ? first_block : want;
    while (done < want) {
        int rc = common_buffer_reserve(out, room);
        if (rc == MCP_OK)
            rc = stopped(r);
        if (rc != MCP_OK)
            return rc;
        ssize_t n = read_at(r->fd, out->ptr + out->len, room, offset + done);
        if (n < 0)
            return MCP_EIO;
        if (n == 0)
            break;
        out->len += (size_t)n;
        done += (size_t)n;
        room = out->cap - out->len > BLOCK ? out->cap - out->len : BLOCK;
        room = room < want - done ? room : want - done;
    }
    *got = done;
    return MCP_OK;
}

int files_read_whole(const files_reader *r, uint64_t size, common_buffer *out)
{
    size_t got = 0;
    if (size > r->limit)
        return MCP_ELIMIT;
    size_t most = r->limit < SIZE_MAX ? r->limit + 1 : r->limit;
    size_t first = size ? (size_t)size + 1 : BLOCK;
    int rc = common_buffer_reserve(out, first < most ? first : most);
    if (rc != MCP_OK)
        return rc;
    /* Requests one byte more than expected. If exactly the expected size is returned, the end of
     * the file is known without a second call. */
    ssize_t n = read_at(r->fd, out->ptr + out->len, first < most ? first : most, 0);
    if (n < 0)
        return MCP_EIO;
    out->len += (size_t)n;
    if (n > 0 && (size == 0 || (uint64_t)n > size))
        rc = read_up_to(r, (uint64_t)n, most - (size_t)n, BLOCK, out, &got);
    else if ((uint64_t)n < size && n > 0)
        rc = read_up_to(r, (uint64_t)n, most - (size_t)n, (size_t)size - (size_t)n, out, &got);
    return rc == MCP_OK && (size_t)n + got > r->limit ? MCP_ELIMIT : rc;
}

int files_read_bytes(const files_reader *r, uint64_t offset, uint64_t length, common_buffer *out)
{
    size_t got = 0;
    bool over = length > r->limit;
    size_t most = r->limit < SIZE_MAX ? r->limit + 1 : r->limit;
    size_t want = over ? most : (size_t)length;
    if (offset > INT64_MAX)
        return MCP_OK;
    int rc = read_up_to(r, offset, want, BLOCK, out, &got);
    return rc == MCP_OK && got > r->limit ? MCP_ELIMIT : rc;
}

/* Returns the length of the block up to its n-th line end, or of the whole block if it has fewer.
 * *n is reduced by the number of line ends found. */
static size_t skip_lines(const char *block, size_t len, uint64_t *n)
{
    size_t at = 0;
    while (*n && at < len) {
        const char *nl = memchr(block + at, '\n', len - at);
        if (!nl)
            return len;
        at = (size_t)(nl - block) + 1;
        --*n;
    }
    return at;
}

int files_read_lines(const files_reader *r, uint64_t first, uint64_t count, common_buffer *out)
{
    uint64_t offset = 0, to_skip = first ? first - 1 : 0, left = count;
    size_t begin = out->len;
    char *block = common_alloc(&out->alloc, BLOCK);
    int rc = block ? MCP_OK : MCP_ENOMEM;
    while (rc == MCP_OK && left && (rc = stopped(r)) == MCP_OK) {
        ssize_t n = read_at(r->fd, block, BLOCK, offset);
        if (n <= 0) {
            rc = n < 0 ? MCP_EIO : MCP_OK;
            break;
        }
        size_t from = skip_lines(block, (size_t)n, &to_skip);
        size_t len = skip_lines(block + from, (size_t)n - from, &left);
        if (to_skip == 0 && len > r->limit - (out->len - begin))
            rc = MCP_ELIMIT;
        else if (to_skip == 0)
            rc = common_buffer_append(out, block + from, len);
        offset += (uint64_t)n;
    }
    common_release(&out->alloc, block);
    return rc;
}

/* Finds where the last `count` lines before `size` begin. Reads backwards, no further
 * than the limit. */
static int find_tail(const files_reader *r, uint64_t size, uint64_t count, char *block,
                     uint64_t *ret)
{
    uint64_t at = size;
    while (at > 0) {
        size_t len = at < BLOCK ? (size_t)at : BLOCK;
        int rc = stopped(r);
        if (rc != MCP_OK)
            return rc;
        if (size - at > r->limit)
            return MCP_ELIMIT;
        ssize_t n = read_at(r->fd, block, len, at - len);
        if (n < 0)
            return MCP_EIO;
        size_t end = (size_t)n;
        if (at == size && end == len && block[end - 1] == '\n')
            end--; /* the final newline ends the last line */
        const char *nl;
        while (end && (nl = memrchr(block, '\n', end)) != NULL) {
            end = (size_t)(nl - block);
            if (--count == 0) {
                *ret = at - len + end + 1;
                return MCP_OK;
            }
        }
        at -= len;
    }
    *ret = 0;
    return MCP_OK;
}

int files_read_tail(const files_reader *r, uint64_t size, uint64_t count, common_buffer *out)
{
    uint64_t begin = 0;
    if (count == 0 || size == 0)
        return MCP_OK;
    if (size > INT64_MAX)
        return MCP_EINVAL;
    char *block = common_alloc(&out->alloc, BLOCK);
    if (!block)
        return MCP_ENOMEM;
    int rc = find_tail(r, size, count, block, &begin);
    common_release(&out->alloc, block);
    if (rc != MCP_OK)
        return rc;
    return size - begin > r->limit ? MCP_ELIMIT : files_read_bytes(r, begin, size - begin, out);
}
