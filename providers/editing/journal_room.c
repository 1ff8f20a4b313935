/* journal_room.c: what the journal takes, and which segments may be removed. */
#define _GNU_SOURCE
#include "journal_open.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- facts about a segment ----------------------------------------------------------------------------------- */

static void note(editing_segment *segment, const editing_record *record)
{
    const editing_head *head = &record->head;
    if (head->kind != EDITING_ENTRY)
        return;
    if (!segment->has_entries || head->time > segment->youngest)
        segment->youngest = head->time;
    segment->has_entries = true;
    if (head->mark == EDITING_MARK_FREED)
        segment->freed += head->size;
}

static int look(editing_journal *j, editing_segment *segment, int fd)
{
    editing_record record;
    editing_walk walk = editing_journal_walk(segment, fd, j->head);
    segment->freed = 0;
    segment->has_entries = false;
    int rc;
    while ((rc = editing_walk_back(&walk, &record)) == MCP_OK)
        note(segment, &record);
    return rc == MCP_ENOTFOUND ? MCP_OK : rc;
}

static uint64_t changed_at(const struct stat *st)
{
    return (uint64_t)st->st_mtim.tv_sec * 1000000000u + (uint64_t)st->st_mtim.tv_nsec;
}

/* Finds out what is in a segment, unless it has not changed since the last time. One that cannot be read is never
 * removed. */
static void learn(editing_journal *j, editing_segment *segment)
{
    struct stat st;
    int fd = editing_segment_open(j->folder, segment);
    if (fd >= 0 && fstat(fd, &st) == 0) {
        if (segment->known && segment->inode == st.st_ino && segment->facts_size == segment->size &&
            segment->changed == changed_at(&st)) {
            close(fd);
            return;
        }
        segment->inode = st.st_ino;
        segment->facts_size = segment->size;
        segment->changed = changed_at(&st);
        segment->known = look(j, segment, fd) == MCP_OK;
    } else
        segment->known = false;
    if (!segment->known)
        segment->freed = 0;
    if (fd >= 0)
        close(fd);
}

/* An entry whose time is yet to come is young, too: a clock that went back must not make the journal forget. */
static bool is_young(const editing_segment *segment, int64_t now)
{
    if (!segment->known)
        return true;
    if (!segment->has_entries)
        return false;
    return segment->youngest > now ||
           (uint64_t)now - (uint64_t)segment->youngest < EDITING_JOURNAL_KEEP_S;
}

/* ---- room ---------------------------------------------------------------------------------------------------- */

static uint64_t taken(const editing_segments *list)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < list->count; i++)
        sum += list->items[i].size;
    return sum;
}

/* Removes the oldest segments. */
static int drop(editing_journal *j, size_t count)
{
    editing_segments *list = &j->list;
    for (size_t i = 0; i < count; i++) {
        if (editing_segment_remove(j->folder, &list->items[0]) != MCP_OK)
            return MCP_EIO;
        memmove(list->items, list->items + 1, --list->count * sizeof(list->items[0]));
    }
    return MCP_OK;
}

/* The oldest are removed first and none is passed over: an entry is never there without those that came after it, which
 * tell how it ended and whether it was taken back. */
int editing_journal_room(editing_journal *j, uint64_t bytes, int64_t now)
{
    editing_segments *list = &j->list;
    uint64_t sum = taken(list);
    if (sum + bytes <= j->most)
        return MCP_OK;
    for (size_t i = 0; i < list->count; i++) {
        learn(j, &list->items[i]);
        sum -= list->items[i].freed;
    }
    if (sum + bytes <= j->most)
        return MCP_OK;
    for (size_t i = 0; i + 1 < list->count && !is_young(&list->items[i], now); i++) {
        sum -= list->items[i].size - list->items[i].freed;
        if (sum + bytes <= j->most)
            return drop(j, i + 1);
    }
    return MCP_ELIMIT;
}
