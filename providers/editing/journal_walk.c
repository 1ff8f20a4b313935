/* journal_walk.c: reads a segment from its end to its beginning, over damaged parts. */
#define _GNU_SOURCE
#include "journal_segment.h"

#include <errno.h>
#include <unistd.h>

int editing_read_at(int fd, void *to, size_t len, uint64_t at)
{
    size_t done = 0;
    while (done < len) {
        ssize_t n = pread(fd, (char *)to + done, len - done, (off_t)(at + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? MCP_EIO : MCP_EPARSE;
        done += (size_t)n;
    }
    return MCP_OK;
}

int editing_write_at(int fd, const void *from, size_t len, uint64_t at)
{
    size_t done = 0;
    while (done < len) {
        ssize_t n = pwrite(fd, (const char *)from + done, len - done, (off_t)(at + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n == 0)
            errno = ENOSPC;
        if (n <= 0)
            return MCP_EIO;
        done += (size_t)n;
    }
    return MCP_OK;
}

/* ---- one record ---------------------------------------------------------------------------------------------- */

int editing_walk_at(editing_walk *w, uint64_t at, editing_record *ret)
{
    editing_head head;
    editing_spot spot = {w->number, at};
    int rc = editing_read_at(w->fd, &head, sizeof(head), at);
    if (rc == MCP_OK && !editing_head_is_right(&head, w->key, spot))
        rc = MCP_EPARSE;
    if (rc != MCP_OK)
        return rc;
    size_t len = (size_t)(head.length - head.size - sizeof(editing_tail));
    memcpy(w->bytes, &head, sizeof(head));
    rc = editing_read_at(w->fd, w->bytes + sizeof(head), len - sizeof(head), at + sizeof(head));
    if (rc == MCP_OK && !editing_record_read(w->bytes, len, w->key, spot, ret))
        rc = MCP_EPARSE;
    return rc;
}

/* Returns whether these are the bytes of a tail that ends at `end`. */
static bool is_tail(const char *bytes, uint64_t key, uint64_t end, editing_tail *ret)
{
    memcpy(ret, bytes, sizeof(*ret));
    return ret->key == editing_tail_key(key) &&
           ret->length >= sizeof(editing_head) + sizeof(editing_tail) && ret->length <= end;
}

/* The record that ends there. */
static int record_before(editing_walk *w, uint64_t end, editing_record *ret)
{
    char bytes[sizeof(editing_tail)];
    editing_tail tail;
    if (end < sizeof(bytes))
        return MCP_EPARSE;
    int rc = editing_read_at(w->fd, bytes, sizeof(bytes), end - sizeof(bytes));
    if (rc == MCP_OK && !is_tail(bytes, w->key, end, &tail))
        rc = MCP_EPARSE;
    if (rc == MCP_OK)
        rc = editing_walk_at(w, end - tail.length, ret);
    return rc == MCP_OK && ret->end != end ? MCP_EPARSE : rc;
}

/* ---- over what is damaged ------------------------------------------------------------------------------------ */

/* Finds the last tail that ends at `end` or before; *ret is where it ends, or 0. */
static int last_tail(int fd, uint64_t key, uint64_t end, uint64_t *ret)
{
    char block[4096];
    editing_tail tail;
    *ret = 0;
    while (end >= sizeof(tail)) {
        uint64_t from = end > sizeof(block) ? end - sizeof(block) : 0;
        int rc = editing_read_at(fd, block, (size_t)(end - from), from);
        if (rc == MCP_EIO)
            return rc;
        for (size_t i = (size_t)(end - from) - sizeof(tail) + 1; rc == MCP_OK && i-- > 0;)
            if (is_tail(block + i, key, from + i + sizeof(tail), &tail)) {
                *ret = from + i + sizeof(tail);
                return MCP_OK;
            }
        if (from == 0)
            break;
        end = from + sizeof(tail) - 1;
    }
    return MCP_OK;
}

int editing_walk_back(editing_walk *w, editing_record *ret)
{
    w->gap = w->from = w->end;
    if (w->end == 0)
        return MCP_ENOTFOUND;
    int rc = record_before(w, w->end, ret);
    for (uint64_t at = w->end; rc == MCP_EPARSE && w->from > 0;) {
        rc = last_tail(w->fd, w->key, at - 1, &w->from);
        at = w->from;
        if (rc == MCP_OK)
            rc = at ? record_before(w, at, ret) : MCP_ENOTFOUND;
    }
    if (rc == MCP_EPARSE)
        rc = MCP_ENOTFOUND;
    w->end = rc == MCP_OK ? ret->head.at : 0;
    return rc;
}

int editing_segment_end(int fd, uint64_t key, uint64_t size, uint64_t *ret)
{
    return last_tail(fd, key, size, ret);
}
