/* content.c: see content.h. */
#define _GNU_SOURCE
#include "content.h"

#include <errno.h>
#include <unistd.h>

#include "text.h"

#define BLOCK ((size_t)64 << 10)

enum {
    GUESS = 4096,           /* bytes from which the form of characters is guessed */
    MOST_UNKNOWN = 1 << 20, /* bytes read of a file that does not tell its size */
};

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

/* ---- lines ----------------------------------------------------------------------------------- */

/* How characters are stored: the bytes of a line feed are `width` bytes, of which the one at `at` is
 * not zero. */
typedef struct unit {
    size_t width, at;
} unit;

static const unit units[] = {{1, 0}, {2, 0}, {2, 1}, {4, 0}, {4, 3}};

static uint32_t char_at(const unsigned char *p, unit u)
{
    uint32_t c = 0;
    for (size_t i = 0; i < u.width; i++)
        c = c << 8 | p[u.at ? i : u.width - 1 - i];
    return c;
}

static bool is_text_char(uint32_t c)
{
    static const uint32_t blanks =
        1u << '\t' | 1u << '\n' | 1u << '\v' | 1u << '\f' | 1u << '\r' | 1u << 0x1b;
    return c < 0x20 ? blanks >> c & 1 : c <= 0x10ffff && (c & 0xfffe) != 0xfffe;
}

/* Returns the number of characters if the bytes are text in this form, otherwise 0. A byte order
 * mark and a half of the last character do not count. *feeds becomes the number of line feeds. */
static size_t count_chars(const unsigned char *bytes, size_t len, unit u, size_t *feeds)
{
    bool pair = false;
    size_t n = 0;
    *feeds = 0;
    for (size_t i = 0; i + u.width <= len; i += u.width) {
        uint32_t c = char_at(bytes + i, u);
        bool high = c >= 0xd800 && c < 0xdc00, low = c >= 0xdc00 && c < 0xe000;
        if (!is_text_char(c) || low != pair || ((high || low) && u.width == 4))
            return 0;
        pair = high;
        n++;
        *feeds += c == '\n';
    }
    return n;
}

static bool begins_with_mark(const unsigned char *bytes, size_t len, unit u)
{
    return len >= u.width && char_at(bytes, u) == 0xfeff;
}

/* Returns whether the bytes are UTF-8 with some NUL between: where UTF-16 has so little ASCII, it is
 * not UTF-8. */
static bool has_few_nuls(const unsigned char *bytes, size_t len)
{
    size_t n = 0;
    for (size_t i = 0; i < len; i++)
        n += bytes[i] == 0;
    for (int i = 0; i < 4 && len && bytes[len - 1] >= 0x80; i++)
        len--; /* the last character may be incomplete */
    return 4 * n < len && common_text_utf8((mcp_str){(const char *)bytes, len});
}

/* Guesses how the characters of a file are stored. Without a mark, it is the form in which the
 * beginning is text, and of two such the one with more line feeds. Text without NUL is UTF-8 or
 * another encoding whose units are bytes, and so is what is text in no form. */
static unit unit_of(const unsigned char *bytes, size_t len)
{
    size_t most = 0, feeds;
    unit best = units[0];
    for (size_t i = sizeof(units) / sizeof(*units) - 1; i > 0; i--)
        if (begins_with_mark(bytes, len, units[i]))
            return units[i];
    if (!memchr(bytes, 0, len) || has_few_nuls(bytes, len))
        return units[0];
    for (size_t i = sizeof(units) / sizeof(*units) - 1; i > 0; i--)
        if (count_chars(bytes, len, units[i], &feeds) && feeds + 1 > most) {
            most = feeds + 1;
            best = units[i];
        }
    return best;
}

static unit find_unit(const files_reader *r)
{
    unsigned char bytes[GUESS];
    ssize_t n = read_at(r->fd, bytes, sizeof(bytes), 0);
    return unit_of(bytes, n > 0 ? (size_t)n : 0);
}

static bool is_feed(const char *block, size_t at, unit u)
{
    for (size_t i = 0; i < u.width; i++)
        if (block[at + i] != (i == u.at ? '\n' : 0))
            return false;
    return true;
}

/* Which byte of its unit is at an offset? The widths are powers of two. */
static size_t part_of(size_t offset, unit u)
{
    return offset & (u.width - 1);
}

/* Finds the first line feed from `at` on. Returns the offset after it, or 0. */
static size_t next_feed(const char *block, size_t at, size_t len, unit u)
{
    for (const char *nl; at < len && (nl = memchr(block + at, '\n', len - at)) != NULL;) {
        size_t begin = (size_t)(nl - block);
        at = begin + 1;
        if (part_of(begin, u) != u.at)
            continue;
        begin -= u.at;
        if (begin + u.width <= len && is_feed(block, begin, u))
            return begin + u.width;
    }
    return 0;
}

/* Finds the last line feed that begins before `end`. Returns whether there is one, at *ret. */
static bool last_feed(const char *block, size_t end, unit u, size_t *ret)
{
    for (const char *nl; end && (nl = memrchr(block, '\n', end)) != NULL;) {
        end = (size_t)(nl - block);
        *ret = end - u.at;
        if (part_of(end, u) == u.at && is_feed(block, *ret, u))
            return true;
    }
    return false;
}

/* Returns the length of the block up to its n-th line end, or of the whole block if it has fewer.
 * *n is reduced by the number of line ends found. */
static size_t skip_lines(const char *block, size_t from, size_t len, uint64_t *n, unit u)
{
    size_t at = from;
    while (*n && at < len) {
        size_t next = next_feed(block, at, len, u);
        if (!next)
            return len - from;
        at = next;
        --*n;
    }
    return at - from;
}

/* Does the same from the beginning of the block. Most blocks before the lines that are wanted have too few,
 * which takes less time to find out than where each of their lines ends. */
static size_t skip_block(const char *block, size_t len, uint64_t *n, unit u)
{
    size_t feeds = u.width == 1 ? common_text_feeds((mcp_str){block, len}) : 0;
    if (u.width > 1 || feeds >= *n)
        return skip_lines(block, 0, len, n, u);
    *n -= feeds;
    return len;
}

int files_read_lines(const files_reader *r, uint64_t first, uint64_t count, common_buffer *out,
                     uint64_t *begin_at)
{
    uint64_t offset = 0, to_skip = first ? first - 1 : 0, left = count;
    size_t begin = out->len;
    char *block = common_alloc(&out->alloc, BLOCK);
    unit u = units[0];
    *begin_at = 0;
    int rc = block ? MCP_OK : MCP_ENOMEM;
    while (rc == MCP_OK && left && (rc = stopped(r)) == MCP_OK) {
        ssize_t got = read_at(r->fd, block, BLOCK, offset);
        if (got <= 0) {
            rc = got < 0 ? MCP_EIO : MCP_OK;
            break;
        }
        size_t n = (size_t)got;
        if (offset == 0)
            u = unit_of((const unsigned char *)block, n < GUESS ? n : GUESS);
        if (n > u.width)
            n -= part_of(n, u); /* the rest is read again, with the next block */
        bool skips = to_skip != 0;
        size_t from = skips ? skip_block(block, n, &to_skip, u) : 0;
        if (skips)
            *begin_at = offset + from;
        size_t len = skip_lines(block, from, n, &left, u);
        if (to_skip == 0 && len > r->limit - (out->len - begin))
            rc = MCP_ELIMIT;
        else if (to_skip == 0)
            rc = common_buffer_append(out, block + from, len);
        offset += n;
    }
    common_release(&out->alloc, block);
    return rc;
}

/* Finds where the last *count lines of `block` begin, of which `end` bytes are to be searched.
 * Returns whether they begin in it, at *ret; *count is reduced by the line ends found. */
static bool find_in_block(const char *block, size_t end, uint64_t *count, unit u, size_t *ret)
{
    size_t feed;
    while (last_feed(block, end, u, &feed)) {
        end = feed;
        if (--*count == 0) {
            *ret = feed + u.width;
            return true;
        }
    }
    return false;
}

/* Returns the number of bytes before the line feed at the end, which ends the last line. */
static size_t without_last_feed(const char *block, size_t len, unit u)
{
    return len >= u.width && len % u.width == 0 && is_feed(block, len - u.width, u) ? len - u.width
                                                                                    : len;
}

/* Finds where the last `count` lines before `size` begin. Reads backwards, no further
 * than the limit, in blocks that begin at multiples of their size. */
static int find_tail(const files_reader *r, uint64_t size, uint64_t count, unit u, char *block,
                     uint64_t *ret)
{
    *ret = 0;
    for (uint64_t at = size, len; at > 0; at -= len) {
        size_t found;
        len = at % BLOCK ? at % BLOCK : BLOCK;
        int rc = stopped(r);
        if (rc != MCP_OK)
            return rc;
        if (size - at > r->limit)
            return MCP_ELIMIT;
        ssize_t n = read_at(r->fd, block, len, at - len);
        if (n < 0)
            return MCP_EIO;
        size_t end = (size_t)n;
        if (at == size && end == len)
            end = without_last_feed(block, end, u);
        if (find_in_block(block, end, &count, u, &found)) {
            *ret = at - len + found;
            return MCP_OK;
        }
    }
    return MCP_OK;
}

/* Reads the last lines of a file that does not tell its size: it is read from its beginning. */
static int read_tail_of_all(const files_reader *r, uint64_t count, common_buffer *out)
{
    size_t before = out->len, begin = 0;
    files_reader all = *r;
    all.limit = r->limit < MOST_UNKNOWN ? MOST_UNKNOWN : r->limit;
    int rc = files_read_whole(&all, 0, out);
    if (rc != MCP_OK)
        return rc;
    char *text = out->ptr + before;
    size_t len = out->len - before;
    unit u = unit_of((const unsigned char *)text, len < GUESS ? len : GUESS);
    if (!find_in_block(text, without_last_feed(text, len, u), &count, u, &begin))
        begin = 0;
    memmove(text, text + begin, len - begin);
    out->len -= begin;
    return len - begin > r->limit ? MCP_ELIMIT : MCP_OK;
}

int files_read_tail(const files_reader *r, uint64_t size, uint64_t count, common_buffer *out)
{
    uint64_t begin = 0;
    if (count == 0)
        return MCP_OK;
    if (size == 0)
        return read_tail_of_all(r, count, out);
    if (size > INT64_MAX)
        return MCP_EINVAL;
    char *block = common_alloc(&out->alloc, BLOCK);
    if (!block)
        return MCP_ENOMEM;
    int rc = find_tail(r, size, count, find_unit(r), block, &begin);
    common_release(&out->alloc, block);
    if (rc != MCP_OK)
        return rc;
    return size - begin > r->limit ? MCP_ELIMIT : files_read_bytes(r, begin, size - begin, out);
}
