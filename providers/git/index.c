/* index.c: see index.h. */
#define _GNU_SOURCE
#include "index.h"

#include <errno.h>
#include <unistd.h>

enum {
    HEAD = 12,
    FIXED = 62, /* bytes of an entry before its path */
    SUM = 20,
    MAX_INDEX = 64 << 20,
    ASSUME_VALID = 0x8000,
    EXTENDED = 0x4000,
    STAGE = 0x3000,
    SKIP_WORKTREE = 0x4000, /* a bit of the extended flags, as the next one */
    INTENT_TO_ADD = 0x2000,
};

static uint32_t number(const char *at)
{
    const unsigned char *p = (const unsigned char *)at;
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static int read_all(int fd, size_t size, common_buffer *to)
{
    int rc = common_buffer_reserve(to, size);
    while (rc == MCP_OK && to->len < size) {
        ssize_t n = read(fd, to->ptr + to->len, size - to->len);
        if (n > 0)
            to->len += (size_t)n;
        else if (n == 0 || errno != EINTR)
            rc = MCP_EIO;
    }
    return rc;
}

static int take_head(repo_index *x)
{
    if (x->bytes.len < HEAD + SUM || memcmp(x->bytes.ptr, "DIRC", 4) != 0)
        return MCP_EIO;
    x->version = number(x->bytes.ptr + 4);
    x->left = number(x->bytes.ptr + 8);
    x->at = HEAD;
    return x->version >= 2 && x->version <= 4 ? MCP_OK : MCP_EUNSUPPORTED;
}

int repo_index_open(const repo_layout *l, repo_index *x)
{
    struct stat st;
    int fd;
    memset(x, 0, sizeof(*x));
    common_buffer_init(&x->bytes, &l->alloc);
    int rc = repo_layout_open_in(l, l->git, "index", &fd, &st);
    if (rc != MCP_OK)
        return rc;
    x->written = st.st_mtim.tv_sec;
    rc = st.st_size > MAX_INDEX ? MCP_ELIMIT : MCP_OK;
    if (rc == MCP_OK)
        rc = read_all(fd, (size_t)st.st_size, &x->bytes);
    close(fd);
    return rc == MCP_OK ? take_head(x) : rc;
}

void repo_index_free(repo_index *x)
{
    common_buffer_free(&x->bytes);
}

/* Reads the length of the common prefix in version 4: the number of bytes to remove from the end of
 * the previous path. */
static bool take_common(repo_index *x, size_t end)
{
    size_t less = 0;
    unsigned char byte = 0x80;
    for (size_t n = 0; byte & 0x80; n++) {
        if (x->at == end || n == 4)
            return false;
        byte = (unsigned char)x->bytes.ptr[x->at++];
        less = n ? (less + 1) << 7 | (byte & 0x7f) : byte & 0x7f;
    }
    if (less > x->len)
        return false;
    x->len -= less;
    return true;
}

static bool take_path(repo_index *x, size_t begin, size_t end)
{
    if (x->version < 4)
        x->len = 0;
    else if (!take_common(x, end))
        return false;
    const char *from = x->bytes.ptr + x->at, *stop = memchr(from, 0, end - x->at);
    size_t more = stop ? (size_t)(stop - from) : 0;
    if (!stop || x->len + more > REPO_PATH_MAX)
        return false;
    memcpy(x->path + x->len, from, more);
    x->len += more;
    x->path[x->len] = 0;
    x->at += more + 1;
    if (x->version < 4) /* padded to a multiple of eight, with at least one NUL */
        x->at = begin + ((x->at - begin + 7) & ~(size_t)7);
    return x->at <= end;
}

/* Checks the extensions after the entries. An index is not supported if an extension refers to
 * entries in another file (split index) or replaces entries by directories (sparse index). */
static int check_extensions(const repo_index *x)
{
    size_t at = x->at, end = x->bytes.len - SUM;
    while (end - at >= 8) {
        size_t size = number(x->bytes.ptr + at + 4);
        if (memcmp(x->bytes.ptr + at, "link", 4) == 0 || memcmp(x->bytes.ptr + at, "sdir", 4) == 0)
            return MCP_EUNSUPPORTED;
        if (size > end - at - 8)
            return MCP_EIO;
        at += 8 + size;
    }
    return MCP_ENOTFOUND;
}

int repo_index_next(repo_index *x, repo_tracked *ret)
{
    size_t begin = x->at, end = x->bytes.len - SUM;
    if (!x->left)
        return check_extensions(x);
    if (end - begin < FIXED + 2)
        return MCP_EIO;
    const char *p = x->bytes.ptr + begin;
    unsigned flags = number(p + 58) & 0xffff, more = 0;
    x->at += FIXED;
    if (flags & EXTENDED) {
        more = number(p + 60) & 0xffff;
        x->at += 2;
        if (x->version < 3)
            return MCP_EIO;
    }
    *ret = (repo_tracked){.mode = number(p + 24),
                          .conflict = flags & STAGE,
                          .skipped = flags & ASSUME_VALID || more & SKIP_WORKTREE,
                          .intended = more & INTENT_TO_ADD,
                          .seconds = number(p + 8),
                          .nanoseconds = number(p + 12),
                          .size = number(p + 36)};
    memcpy(ret->id.id, p + 40, GIT_OID_RAWSZ);
    if (!take_path(x, begin, end))
        return MCP_EIO;
    x->left--;
    ret->path = (mcp_str){x->path, x->len};
    bool whole = x->len && ret->mode != REPO_MODE_TREE; /* otherwise the index is split or sparse */
    return whole ? MCP_OK : MCP_EUNSUPPORTED;
}
