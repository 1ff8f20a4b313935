/* journal_purge.c: forgets old contents.
 *
 * They are overwritten, on the disk, and only then marked. If the process is killed in between, they can neither be read
 * nor count as forgotten, and the next call does the rest. */
#define _GNU_SOURCE
#include "journal_open.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

typedef struct purging {
    editing_journal *j;
    mcp_str path; /* without a slash at the end */
    int fd;
    size_t forgotten;
} purging;

static bool is_of_path(const purging *p, const editing_record *record)
{
    mcp_str path = record->entry.path;
    return record->head.kind == EDITING_ENTRY && path.len >= p->path.len &&
           memcmp(path.ptr, p->path.ptr, p->path.len) == 0 &&
           (path.len == p->path.len || path.ptr[p->path.len] == '/');
}

static bool is_to_forget(const purging *p, const editing_record *record)
{
    return record->head.size > 0 && !record->entry.purged && is_of_path(p, record);
}

static int overwrite(const purging *p, uint64_t from, uint64_t to)
{
    memset(p->j->block, 0, EDITING_BLOCK);
    while (from < to) {
        size_t len = to - from < EDITING_BLOCK ? (size_t)(to - from) : EDITING_BLOCK;
        int rc = editing_write_at(p->fd, p->j->block, len, from);
        if (rc != MCP_OK)
            return rc;
        from += len;
    }
    return MCP_OK;
}

static int overwrite_contents(purging *p, const editing_record *record)
{
    return overwrite(p, record->contents, record->contents + record->head.size);
}

static int mark(purging *p, const editing_record *record)
{
    bool freed = fallocate(p->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                           (off_t)record->contents, (off_t)record->head.size) == 0;
    uint64_t how = freed ? EDITING_MARK_FREED : EDITING_MARK_PURGED;
    p->forgotten++;
    return editing_write_at(p->fd, &how, sizeof(how),
                            record->head.at + offsetof(editing_head, mark));
}

/* Does one step for all entries of a segment, and waits for the disk. The first step overwrites damaged parts too. */
static int each_entry(purging *p, const editing_segment *segment, bool damaged,
                      int (*step)(purging *p, const editing_record *record))
{
    editing_record record;
    editing_walk walk = editing_journal_walk(segment, p->fd, p->j->head);
    size_t done = 0;
    int rc = MCP_OK;
    while (rc == MCP_OK) {
        int found = editing_walk_back(&walk, &record);
        if (found == MCP_EIO)
            return found;
        if (damaged && walk.from < walk.gap) {
            done++;
            rc = overwrite(p, walk.from, walk.gap);
        }
        if (found == MCP_ENOTFOUND)
            break;
        if (rc == MCP_OK && is_to_forget(p, &record)) {
            done++;
            rc = step(p, &record);
        }
    }
    return rc == MCP_OK && done && fdatasync(p->fd) < 0 ? MCP_EIO : rc;
}

static int purge_segment(purging *p, const editing_segment *segment)
{
    p->fd = editing_segment_open(p->j->folder, segment);
    if (p->fd < 0)
        return MCP_EIO;
    int rc = each_entry(p, segment, true, overwrite_contents);
    if (rc == MCP_OK)
        rc = each_entry(p, segment, false, mark);
    int error = errno;
    close(p->fd);
    errno = error;
    return rc;
}

int editing_journal_purge(editing_journal *j, mcp_str path, size_t *ret)
{
    purging p = {.j = j, .path = path};
    if (path.len == 0)
        return MCP_EINVAL;
    while (p.path.len && p.path.ptr[p.path.len - 1] == '/')
        p.path.len--;
    int rc = editing_journal_lock(j, true);
    if (rc != MCP_OK)
        return rc;
    for (size_t i = 0; rc == MCP_OK && i < j->list.count; i++)
        rc = purge_segment(&p, &j->list.items[i]);
    editing_journal_unlock(j);
    if (rc == MCP_OK)
        *ret = p.forgotten;
    return rc;
}
