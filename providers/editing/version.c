/* version.c: see version.h. */
#define _GNU_SOURCE
#include "version.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

/* ---- the hash: one lane of XXH64's round over words of eight bytes ------------------------------------------- */

enum { CHUNK = 4096 }; /* a multiple of eight */

static const uint64_t odd_1 = 0x9e3779b185ebca87, odd_2 = 0xc2b2ae3d27d4eb4f;

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash += word * odd_2;
    hash = (hash << 31) | (hash >> 33);
    return hash * odd_1;
}

/* All pieces but the last have a multiple of eight bytes. */
static uint64_t add(uint64_t hash, mcp_str piece)
{
    size_t i = 0;
    uint64_t word;
    for (; piece.len - i >= sizeof(word); i += sizeof(word)) {
        memcpy(&word, piece.ptr + i, sizeof(word));
        hash = mix(hash, word);
    }
    word = 0;
    if (piece.len > i)
        memcpy(&word, piece.ptr + i, piece.len - i);
    return piece.len > i ? mix(hash, word) : hash;
}

/* The size takes part, because the last word is filled up with zeros. */
static uint64_t finish(uint64_t hash, size_t size)
{
    hash = mix(hash, size);
    hash ^= hash >> 33;
    hash *= odd_2;
    return hash ^ (hash >> 29);
}

uint64_t editing_hash(mcp_str bytes)
{
    return finish(add(odd_1, bytes), bytes.len);
}

/* Returns the number of bytes, which is less than `cap` only at the end of the file, or -1. */
static ssize_t read_full(int fd, char *to, size_t cap, off_t from)
{
    size_t len = 0;
    while (len < cap) {
        ssize_t n = pread(fd, to + len, cap - len, from + (off_t)len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        if (n == 0)
            break;
        len += (size_t)n;
    }
    return (ssize_t)len;
}

int editing_hash_file(int fd, size_t size, uint64_t *ret)
{
    char chunk[CHUNK];
    uint64_t hash = odd_1;
    size_t at = 0;
    for (;;) {
        ssize_t n = read_full(fd, chunk, sizeof(chunk), (off_t)at);
        if (n < 0)
            return MCP_EIO;
        hash = add(hash, (mcp_str){chunk, (size_t)n});
        at += (size_t)n;
        if ((size_t)n < sizeof(chunk) || at > size)
            break;
    }
    if (at != size)
        return MCP_ESTATE;
    *ret = finish(hash, size);
    return MCP_OK;
}

/* ---- the text ------------------------------------------------------------------------------------------------ */

void editing_version_with(const struct stat *st, const uint64_t *hash, editing_version *ret)
{
    uint64_t ctime = (uint64_t)st->st_ctim.tv_sec * 1000000000u + (uint64_t)st->st_ctim.tv_nsec;
    int len = snprintf(ret->text, sizeof(ret->text), "%" PRIx64 "-%" PRIx64 "-%" PRIx64,
                       (uint64_t)st->st_ino, ctime, (uint64_t)st->st_size);
    if (hash)
        snprintf(ret->text + len, sizeof(ret->text) - (size_t)len, "-%016" PRIx64, *hash);
}

void editing_version_make(const struct stat *st, const mcp_str *bytes, editing_version *ret)
{
    uint64_t hash = 0;
    bool hashed = bytes && bytes->len <= EDITING_HASHED_MAX;
    if (hashed)
        hash = editing_hash(*bytes);
    editing_version_with(st, hashed ? &hash : NULL, ret);
}

int editing_version_of(int fd, const struct stat *st, editing_version *ret)
{
    uint64_t hash = 0;
    bool hashed = st->st_size <= EDITING_HASHED_MAX;
    int rc = hashed ? editing_hash_file(fd, (size_t)st->st_size, &hash) : MCP_OK;
    if (rc == MCP_OK)
        editing_version_with(st, hashed ? &hash : NULL, ret);
    return rc;
}

/* Returns the part of a version after the time, or NULL if it has no hash. */
static const char *size_and_hash(const char *version)
{
    const char *time = strchr(version, '-');
    const char *size = time ? strchr(time + 1, '-') : NULL;
    return size && strchr(size + 1, '-') ? size : NULL;
}

bool editing_version_same_contents(mcp_str given, const editing_version *now)
{
    char text[EDITING_VERSION_SIZE];
    if (given.len >= sizeof(text))
        return false;
    memcpy(text, given.ptr, given.len);
    text[given.len] = '\0';
    const char *a = size_and_hash(text), *b = size_and_hash(now->text);
    size_t inode = strcspn(text, "-") + 1;
    return a && b && strncmp(text, now->text, inode) == 0 && strcmp(a, b) == 0;
}

bool editing_version_matches(mcp_str given, const editing_version *now)
{
    size_t whole = strlen(now->text);
    size_t parts = 0;
    size_t len = 0;
    for (; len < whole && parts < 3; len++)
        parts += now->text[len] == '-';
    len -= parts == 3; /* without the hash */
    return (given.len == whole || given.len == len) && memcmp(given.ptr, now->text, given.len) == 0;
}
