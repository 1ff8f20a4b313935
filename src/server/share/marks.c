/* marks.c: the marks that wait to be sent. Their number and bytes are limited; beyond, or without
 * memory, one flag replaces all of them. No change is therefore forgotten. */
#include "server/share/share.h"

enum { MARK_BYTES = 16384 }; /* so that each mark fits in an entry */

typedef struct mark {
    mcp__link link;
    size_t len; /* the kind and the text follow the struct */
} mark;

static mcp_str key_of(const mark *m)
{
    return (mcp_str){(const char *)(m + 1), m->len};
}

void mcp__marks_init(mcp__marks *m, const mcp_allocator *allocator, size_t max_marks,
                     size_t max_bytes)
{
    *m = (mcp__marks){.allocator = allocator, .max_marks = max_marks, .max_bytes = max_bytes};
    mcp__list_init(&m->order);
    uint64_t seed = (uintptr_t)m;
    mcp__map_init(&m->by_key, allocator, seed, ~seed);
}

static void drop(mcp__marks *m, mark *item)
{
    mcp__map_remove(&m->by_key, key_of(item));
    mcp__list_remove(&item->link);
    m->bytes -= item->len;
    mcp__release(m->allocator, item);
}

void mcp__marks_clear(mcp__marks *m)
{
    while (!mcp__list_empty(&m->order))
        drop(m, mcp__container(m->order.next, mark, link));
    mcp__map_free(&m->by_key);
}

bool mcp__marks_any(const mcp__marks *m)
{
    return m->everything || !mcp__list_empty(&m->order);
}

size_t mcp__marks_count(const mcp__marks *m)
{
    return m->by_key.count + m->everything;
}

static int overflow(mcp__marks *m, int rc)
{
    m->overflows += !m->everything;
    m->everything = true;
    while (!mcp__list_empty(&m->order))
        drop(m, mcp__container(m->order.next, mark, link));
    return rc;
}

int mcp__marks_set(mcp__marks *m, char kind, mcp_str a, mcp_str b)
{
    if (m->everything && kind != MCP__MARK_MESSAGE)
        return MCP_OK; /* the flag includes it */
    size_t len = 1 + a.len + b.len;
    if (len > MARK_BYTES || len > m->max_bytes - m->bytes || m->by_key.count >= m->max_marks)
        return overflow(m, MCP_ELIMIT);
    mark *item = mcp__alloc(m->allocator, sizeof(*item) + len);
    if (!item)
        return overflow(m, MCP_ENOMEM);
    char *text = (char *)(item + 1);
    *item = (mark){.len = len};
    text[0] = kind;
    if (a.len)
        memcpy(text + 1, a.ptr, a.len);
    if (b.len)
        memcpy(text + 1 + a.len, b.ptr, b.len);
    int rc = mcp__map_add(&m->by_key, key_of(item), item);
    if (rc != MCP_OK) {
        mcp__release(m->allocator, item);
        return rc == MCP_EEXIST ? MCP_OK : overflow(m, rc);
    }
    mcp__list_append(&m->order, &item->link);
    m->bytes += len;
    return MCP_OK;
}

void mcp__marks_take(mcp__marks *m, mcp__buf *entry, size_t limit)
{
    if (m->everything)
        mcp__entry_put_item(entry, MCP__MARK_EVERYTHING, (mcp_str){"", 0});
    m->everything = false;
    while (!mcp__list_empty(&m->order)) {
        mark *item = mcp__container(m->order.next, mark, link);
        mcp_str key = key_of(item);
        if (entry->len + MCP__ENTRY_ITEM + key.len > limit)
            break;
        mcp__entry_put_item(entry, key.ptr[0], mcp__str_sub(key, 1));
        drop(m, item);
    }
}
