/* journal_each.c: shows the entries, newest first.
 *
 * What came later tells how an entry ended and whether it was taken back. So it is met before, and waits in a heap until
 * its entry is reached; places only become smaller. The heap has the ends of calls that ran at the same time, and the
 * undone entries that have not been reached. */
#define _GNU_SOURCE
#include "journal_open.h"

#include <errno.h>
#include <unistd.h>

typedef struct waiting {
    editing_spot spot; /* of the entry */
    uint64_t order;    /* later ones were written earlier */
    bool is_undo, happened;
    unsigned char len;
    char version[EDITING_VERSION_SIZE];
} waiting;

typedef struct visit {
    editing_journal *j;
    bool (*fn)(const editing_entry *entry, void *user);
    void *user;
    size_t damaged;
    bool stop;
    char *bytes; /* EDITING_HEAD_ROOM */
    waiting *items;
    size_t count, cap;
    uint64_t met;
} visit;

/* ---- the heap ------------------------------------------------------------------------------------------------ */

/* Returns whether `a` is reached before `b`. */
static bool is_before(const waiting *a, const waiting *b)
{
    int order = editing_spot_compare(a->spot, b->spot);
    return order ? order > 0 : a->order < b->order;
}

static void swap(waiting *a, waiting *b)
{
    waiting copy = *a;
    *a = *b;
    *b = copy;
}

static int push(visit *v, const waiting *item)
{
    if (v->count == v->cap) {
        size_t cap = v->cap ? 2 * v->cap : 32;
        waiting *items = v->j->alloc.resize(v->items, cap * sizeof(*items), v->j->alloc.user);
        if (!items)
            return MCP_ENOMEM;
        v->items = items;
        v->cap = cap;
    }
    size_t i = v->count++;
    v->items[i] = *item;
    v->items[i].order = v->met++;
    for (; i > 0 && is_before(&v->items[i], &v->items[(i - 1) / 2]); i = (i - 1) / 2)
        swap(&v->items[i], &v->items[(i - 1) / 2]);
    return MCP_OK;
}

static void pop(visit *v)
{
    v->items[0] = v->items[--v->count];
    for (size_t i = 0;;) {
        size_t child = 2 * i + 1;
        if (child + 1 < v->count && is_before(&v->items[child + 1], &v->items[child]))
            child++;
        if (child >= v->count || !is_before(&v->items[child], &v->items[i]))
            return;
        swap(&v->items[i], &v->items[child]);
        i = child;
    }
}

/* ---- records ------------------------------------------------------------------------------------------------- */

/* Keeps the end of an entry for later. */
static int take_end(visit *v, const editing_record *record)
{
    mcp_str version = record->entry.was;
    waiting item = {.happened = record->head.kind == EDITING_HAPPENED};
    if (!editing_spot_parse(record->entry.undoes, &item.spot) ||
        version.len >= sizeof(item.version))
        return MCP_OK;
    item.len = (unsigned char)version.len;
    memcpy(item.version, version.ptr, version.len);
    return push(v, &item);
}

/* The last end counts, which was met first. */
static void apply(const waiting *item, editing_entry *entry, char *version)
{
    if (item->is_undo) {
        entry->undone = true;
    } else if (!entry->ended) {
        entry->ended = true;
        entry->happened = item->happened;
        memcpy(version, item->version, item->len);
        entry->now = (mcp_str){version, item->len};
    }
}

static int show(visit *v, editing_entry *entry, editing_spot spot)
{
    char version[EDITING_VERSION_SIZE];
    waiting undo = {.is_undo = true};
    for (; v->count; pop(v)) {
        int order = editing_spot_compare(v->items[0].spot, spot);
        if (order < 0)
            break;
        if (order == 0)
            apply(&v->items[0], entry, version);
    }
    v->stop = !v->fn(entry, v->user);
    bool takes_back = entry->happened && !entry->undone;
    return takes_back && editing_spot_parse(entry->undoes, &undo.spot) ? push(v, &undo) : MCP_OK;
}

static int take(visit *v, editing_record *record, uint64_t number)
{
    switch (record->head.kind) {
    case EDITING_ENTRY: return show(v, &record->entry, (editing_spot){number, record->head.at});
    case EDITING_HAPPENED:
    case EDITING_FAILED: return take_end(v, record);
    }
    return MCP_OK;
}

/* ---- segments ------------------------------------------------------------------------------------------------ */

static int visit_records(visit *v, const editing_segment *segment, int fd)
{
    editing_record record;
    editing_walk walk = editing_journal_walk(segment, fd, v->bytes);
    int rc = MCP_OK;
    while (rc == MCP_OK && !v->stop) {
        rc = editing_walk_back(&walk, &record);
        v->damaged += walk.from < walk.gap;
        if (rc == MCP_OK)
            rc = take(v, &record, segment->number);
    }
    return rc == MCP_ENOTFOUND ? MCP_OK : rc;
}

/* One that is gone was removed by another process to make room. A link or a device in its place is damage. */
static int visit_segment(visit *v, const editing_segment *segment)
{
    int fd = editing_segment_open(v->j->folder, segment);
    if (fd < 0) {
        bool is_other = errno == ELOOP || errno == EINVAL || errno == EISDIR;
        v->damaged += is_other;
        return is_other || errno == ENOENT ? MCP_OK : MCP_EIO;
    }
    int rc = visit_records(v, segment, fd);
    close(fd);
    return rc;
}

/* Sets the size of the last segment to where its last whole record ends: another process may be going to cut off what is
 * behind it. */
static int settle_last(editing_journal *j)
{
    if (j->list.count == 0)
        return MCP_OK;
    editing_segment *last = &j->list.items[j->list.count - 1];
    int fd = editing_segment_open(j->folder, last);
    if (fd < 0)
        return MCP_OK; /* visit_segment() says what is to be said */
    int rc = editing_segment_end(fd, last->key, last->size, &last->size);
    close(fd);
    return rc;
}

/* Copies the list, with ends that stay what they are. */
static int snapshot(editing_journal *j, editing_segments *ret)
{
    int rc = editing_journal_lock(j, false);
    if (rc != MCP_OK)
        return rc;
    rc = settle_last(j);
    size_t size = j->list.count * sizeof(*j->list.items);
    if (rc == MCP_OK && size) {
        ret->items = common_alloc(&j->alloc, size);
        if (ret->items) {
            memcpy(ret->items, j->list.items, size);
            ret->count = j->list.count;
        } else
            rc = MCP_ENOMEM;
    }
    editing_journal_unlock(j);
    return rc;
}

int editing_journal_each(editing_journal *j, bool (*fn)(const editing_entry *entry, void *user),
                         void *user, size_t *damaged)
{
    editing_segments list = {0};
    visit v = {.j = j, .fn = fn, .user = user};
    int rc = snapshot(j, &list);
    if (rc == MCP_OK && list.count) {
        v.bytes = common_alloc(&j->alloc, EDITING_HEAD_ROOM);
        rc = v.bytes ? MCP_OK : MCP_ENOMEM;
    }
    for (size_t i = list.count; rc == MCP_OK && !v.stop && i-- > 0;)
        rc = visit_segment(&v, &list.items[i]);
    common_release(&j->alloc, v.bytes);
    common_release(&j->alloc, v.items);
    common_release(&j->alloc, list.items);
    if (damaged)
        *damaged = v.damaged;
    return rc;
}
