/* journal.c: appends entries and their ends, and reads old contents. */
#define _GNU_SOURCE
#include "journal_open.h"
#include "words.h"

#include <errno.h>
#include <inttypes.h>
#include <unistd.h>

enum {
    SHARES = 32, /* of the limit; a segment has one */
    SHARE_LEAST = 4096,
};

/* ---- where the next record goes ------------------------------------------------------------------------------ */

typedef struct appending {
    int fd; /* of the last segment, or -1 */
    editing_segment *segment;
} appending;

/* Opens the last segment, and cuts off what a killed process left. */
static int open_last(editing_journal *j, appending *to)
{
    uint64_t end = 0;
    to->segment = &j->list.items[j->list.count - 1];
    to->fd = editing_segment_open(j->folder, to->segment);
    if (to->fd < 0)
        return MCP_EIO;
    int rc = editing_segment_end(to->fd, to->segment->key, to->segment->size, &end);
    if (rc == MCP_OK && end < to->segment->size && ftruncate(to->fd, (off_t)end) < 0)
        rc = MCP_EIO;
    if (rc == MCP_OK)
        to->segment->size = end;
    return rc;
}

static int make_next(editing_journal *j, int64_t now, appending *to)
{
    if (to->fd >= 0)
        close(to->fd);
    to->fd = -1;
    return editing_segment_make(&j->list, j->folder, now, &j->alloc, &to->fd);
}

/* A share is at most half of the limit, so that the last segment is never in the way. */
static bool has_its_share(const editing_journal *j, const appending *to, uint64_t bytes)
{
    uint64_t share = j->most / SHARES > SHARE_LEAST ? j->most / SHARES : SHARE_LEAST;
    if (share > j->most / 2)
        share = j->most / 2;
    return to->segment->size > 0 && to->segment->size + bytes > share;
}

/* For a record of so many bytes, 0 if it is written whatever the limit is. The next segment is made before old ones are
 * removed, so that its number follows theirs. Returns MCP_OK, MCP_ELIMIT, MCP_ENOMEM or MCP_EIO with errno. */
static int find_place(editing_journal *j, uint64_t bytes, int64_t now, appending *to)
{
    *to = (appending){.fd = -1};
    int rc = j->list.count ? open_last(j, to) : make_next(j, now, to);
    if (rc == MCP_OK && j->list.count > 0 && bytes > 0) {
        to->segment = &j->list.items[j->list.count - 1];
        if (has_its_share(j, to, bytes))
            rc = make_next(j, now, to);
    }
    if (rc == MCP_OK && bytes > 0)
        rc = editing_journal_room(j, bytes, now);
    if (rc == MCP_OK)
        to->segment = &j->list.items[j->list.count - 1];
    return rc;
}

/* ---- writing ------------------------------------------------------------------------------------------------- */

typedef struct writing {
    int fd;
    uint64_t at; /* of the next byte */
    uint64_t sum;
} writing;

static int put(writing *w, const void *bytes, size_t len)
{
    int rc = editing_write_at(w->fd, bytes, len, w->at);
    w->at += len;
    return rc;
}

/* Copies the old contents. Returns MCP_OK, MCP_ESTATE (there are less) or MCP_EIO with errno. */
static int put_contents(editing_journal *j, writing *w, int old, uint64_t size)
{
    for (uint64_t done = 0; done < size;) {
        size_t len = size - done < EDITING_BLOCK ? (size_t)(size - done) : EDITING_BLOCK;
        int rc = editing_read_at(old, j->block, len, done);
        if (rc != MCP_OK)
            return rc == MCP_EPARSE ? MCP_ESTATE : rc;
        w->sum = editing_sum(w->sum, (mcp_str){j->block, len});
        rc = put(w, j->block, len);
        if (rc != MCP_OK)
            return rc;
        done += len;
    }
    return MCP_OK;
}

static int put_record(editing_journal *j, writing *w, const editing_head *head,
                      const editing_entry *entry, int old)
{
    size_t len = editing_record_write(head, entry, j->head);
    w->sum = editing_sum_begin(head);
    int rc = put(w, j->head, len);
    if (rc == MCP_OK)
        rc = put_contents(j, w, old, head->size);
    editing_tail tail = {editing_tail_key(head->key), len + head->size + sizeof(tail), w->sum};
    return rc == MCP_OK ? put(w, &tail, sizeof(tail)) : rc;
}

/* Appends a record. After a failure the segment is as before; if it cannot be made shorter either, the next one that
 * writes does it. */
static int append(editing_journal *j, const appending *to, editing_head *head,
                  const editing_entry *entry, int old)
{
    writing w = {.fd = to->fd, .at = to->segment->size};
    head->key = to->segment->key;
    head->at = to->segment->size;
    int rc = put_record(j, &w, head, entry, old);
    if (rc == MCP_OK && head->kind == EDITING_ENTRY && fdatasync(to->fd) < 0)
        rc = MCP_EIO;
    if (rc != MCP_OK) {
        int error = errno;
        if (ftruncate(to->fd, (off_t)to->segment->size) < 0)
            error = error ? error : errno;
        errno = error;
    }
    return rc;
}

static void finish(editing_journal *j, const appending *to)
{
    int error = errno;
    if (to->fd >= 0)
        close(to->fd);
    editing_journal_unlock(j);
    errno = error;
}

/* ---- entries ------------------------------------------------------------------------------------------------- */

static int explain(const editing_journal *j, int rc, mcp_error *err)
{
    int error = errno;
    switch (rc) {
    case MCP_OK:
        if (err)
            *err = (mcp_error){0};
        return rc;
    case MCP_ELIMIT:
        return editing_refuse(err, rc, "the journal of changes",
                              "it is full (%" PRIu64
                              " bytes), and changes younger than a day never "
                              "give way; `mcpctl undo --purge PATH` forgets old contents, or use a "
                              "larger --journal-size",
                              j->most);
    case MCP_ESTATE:
        return editing_refuse(err, rc, "the journal of changes",
                              "the file became shorter while its old contents were copied; try "
                              "again");
    case MCP_ENOMEM: error = ENOMEM;
    }
    return editing_journal_failed(err, "writing to it", error);
}

static int too_large(const editing_journal *j, uint64_t bytes, mcp_error *err)
{
    return editing_refuse(err, MCP_ELIMIT, "the journal of changes",
                          "the old contents need %" PRIu64 " bytes, but it may have only %" PRIu64
                          "; use a larger --journal-size",
                          bytes, j->most);
}

static int begin_locked(editing_journal *j, editing_entry *entry, editing_head *head, int old,
                        uint64_t bytes)
{
    appending to;
    int rc = find_place(j, bytes, entry->time, &to);
    if (rc == MCP_OK)
        rc = append(j, &to, head, entry, old);
    if (rc == MCP_OK)
        editing_spot_name((editing_spot){to.segment->number, head->at}, entry->id);
    finish(j, &to);
    return rc;
}

int editing_journal_begin(editing_journal *j, editing_entry *entry, int old, int64_t now,
                          mcp_error *err)
{
    size_t texts = editing_texts_size(entry);
    editing_head head = {
        .kind = EDITING_ENTRY, .kept = old >= 0, .size = old >= 0 ? entry->size : 0};
    if (texts == SIZE_MAX)
        return editing_refuse(err, MCP_ELIMIT, "the journal of changes",
                              "the texts of an entry are too long (%d bytes at most); use shorter "
                              "names",
                              (int)EDITING_TEXTS_MAX);
    uint64_t bytes = sizeof(head) + texts + sizeof(editing_tail);
    if (head.size > j->most || bytes > j->most - head.size)
        return too_large(j, head.size < EDITING_SPOT_MAX ? bytes + head.size : head.size, err);
    entry->time = now;
    int rc = editing_journal_lock(j, true);
    if (rc == MCP_OK)
        rc = begin_locked(j, entry, &head, old, bytes + head.size);
    return explain(j, rc, err);
}

/* What the system says, as a code. */
static int code_of(int rc)
{
    return rc == MCP_EIO ? editing_journal_failed(NULL, "", errno) : rc;
}

int editing_journal_end(editing_journal *j, const char *id, bool happened, mcp_str version)
{
    editing_spot spot;
    appending to;
    editing_entry end = {.undoes = mcp_str_from(id), .was = version};
    editing_head head = {.kind = happened ? EDITING_HAPPENED : EDITING_FAILED};
    if (!editing_spot_parse(end.undoes, &spot) || version.len >= EDITING_VERSION_SIZE)
        return MCP_EINVAL;
    int rc = editing_journal_lock(j, true);
    if (rc != MCP_OK)
        return code_of(rc);
    rc = find_place(j, 0, (int64_t)spot.number, &to);
    if (rc == MCP_OK)
        rc = append(j, &to, &head, &end, -1);
    finish(j, &to);
    return code_of(rc);
}

/* ---- old contents -------------------------------------------------------------------------------------------- */

/* Appends contents, if they have the sum of the tail. */
static int read_contents(editing_journal *j, int fd, const editing_record *record,
                         common_buffer *to)
{
    editing_tail tail;
    uint64_t sum = editing_sum_begin(&record->head);
    uint64_t size = record->head.size;
    int rc = editing_read_at(fd, &tail, sizeof(tail), record->end - sizeof(tail));
    if (rc == MCP_OK &&
        (tail.key != editing_tail_key(record->head.key) || tail.length != record->head.length))
        rc = MCP_EPARSE;
    if (rc == MCP_OK && size > 0)
        rc = common_buffer_reserve(to, (size_t)size);
    for (uint64_t done = 0; rc == MCP_OK && done < size;) {
        size_t len = size - done < EDITING_BLOCK ? (size_t)(size - done) : EDITING_BLOCK;
        rc = editing_read_at(fd, j->block, len, record->contents + done);
        if (rc == MCP_OK)
            rc = common_buffer_append(to, j->block, len);
        sum = editing_sum(sum, (mcp_str){j->block, len});
        done += len;
    }
    return rc == MCP_OK && sum != tail.sum ? MCP_EPARSE : rc;
}

static int read_old(editing_journal *j, editing_spot spot, common_buffer *to)
{
    editing_record record;
    const editing_segment *segment = editing_segments_find(&j->list, spot.number);
    int fd = segment ? editing_segment_open(j->folder, segment) : -1;
    if (fd < 0)
        return !segment || errno == ENOENT ? MCP_ENOTFOUND : MCP_EIO;
    editing_walk walk = editing_journal_walk(segment, fd, j->head);
    int rc = editing_walk_at(&walk, spot.at, &record);
    if (rc == MCP_EPARSE)
        rc = MCP_ENOTFOUND;
    if (rc == MCP_OK &&
        (record.head.kind != EDITING_ENTRY || !record.head.kept || record.entry.purged))
        rc = MCP_ENOTFOUND;
    if (rc == MCP_OK)
        rc = read_contents(j, fd, &record, to);
    close(fd);
    return rc;
}

int editing_journal_old(editing_journal *j, const char *id, common_buffer *to)
{
    editing_spot spot;
    size_t len = to->len;
    if (!editing_spot_parse(mcp_str_from(id), &spot))
        return MCP_ENOTFOUND;
    int rc = editing_journal_lock(j, false);
    if (rc != MCP_OK)
        return rc;
    rc = read_old(j, spot, to);
    if (rc != MCP_OK)
        to->len = len;
    editing_journal_unlock(j);
    return rc == MCP_EPARSE ? MCP_EIO : rc;
}
