/* batch.c: see batch.h. */
#include "batch.h"

#include "buffer.h"

int files_name_compare(const char *a, size_t a_len, const char *b, size_t b_len)
{
    int order = memcmp(a, b, a_len < b_len ? a_len : b_len);
    return order ? order : (a_len > b_len) - (a_len < b_len);
}

void files_batch_init(files_batch *b, const mcp_allocator *alloc, size_t limit)
{
    *b = (files_batch){.alloc = *alloc, .limit = limit < UINT32_MAX ? limit : UINT32_MAX};
}

void files_batch_free(files_batch *b)
{
    if (b->slots)
        common_release(&b->alloc, b->slots);
    if (b->order)
        common_release(&b->alloc, b->order);
    if (b->names)
        common_release(&b->alloc, b->names);
    b->slots = NULL;
    b->order = NULL;
    b->names = NULL;
    b->names_len = b->names_cap = 0;
    b->count = b->cap = 0;
}

static int compare(const files_batch *b, size_t i, size_t j)
{
    const files_slot *x = &b->slots[b->order[i]], *y = &b->slots[b->order[j]];
    return files_name_compare(b->names + x->at, x->len, b->names + y->at, y->len);
}

/* Returns whether slot i belongs above slot j in the heap. While names are added the largest is on
 * top; while they are taken, the smallest. */
static bool above(const files_batch *b, size_t i, size_t j)
{
    int order = compare(b, i, j);
    return b->sealed ? order < 0 : order > 0;
}

static void sift_down(files_batch *b, size_t i)
{
    for (;;) {
        size_t top = i, child = 2 * i + 1;
        if (child < b->count && above(b, child, top))
            top = child;
        if (child + 1 < b->count && above(b, child + 1, top))
            top = child + 1;
        if (top == i)
            return;
        uint32_t slot = b->order[i];
        b->order[i] = b->order[top];
        b->order[top] = slot;
        i = top;
    }
}

static void make_heap(files_batch *b)
{
    for (size_t i = b->count / 2; i-- > 0;)
        sift_down(b, i);
}

bool files_batch_wants(files_batch *b, const char *name, size_t len)
{
    if (b->count < b->limit)
        return true;
    b->more = true;
    if (b->limit == 0)
        return false;
    const files_slot *largest = &b->slots[b->order[0]];
    return files_name_compare(name, len, b->names + largest->at, largest->len) < 0;
}

static int grow(files_batch *b)
{
    size_t cap = b->cap ? 2 * b->cap : 32;
    if (cap > b->limit)
        cap = b->limit;
    files_slot *slots = b->slots ? b->alloc.resize(b->slots, cap * sizeof(*slots), b->alloc.user)
                                 : common_alloc(&b->alloc, cap * sizeof(*slots));
    if (!slots)
        return MCP_ENOMEM;
    b->slots = slots;
    uint32_t *order = b->order ? b->alloc.resize(b->order, cap * sizeof(*order), b->alloc.user)
                               : common_alloc(&b->alloc, cap * sizeof(*order));
    if (!order)
        return MCP_ENOMEM;
    b->order = order;
    b->cap = cap;
    return MCP_OK;
}

/* Makes room for a name of this length and its NUL. Because the room is doubled, a slot moves at
 * most four times, and the names need less than 512 bytes per slot. */
static int make_room(files_batch *b, files_slot *slot, size_t len)
{
    size_t room = 16;
    if (slot->room > len)
        return MCP_OK;
    while (room <= len)
        room *= 2;
    if (room > b->names_cap - b->names_len) {
        size_t cap = b->names_cap ? 2 * b->names_cap : 1024;
        if (cap > UINT32_MAX)
            return MCP_ENOMEM;
        char *names =
            b->names ? b->alloc.resize(b->names, cap, b->alloc.user) : common_alloc(&b->alloc, cap);
        if (!names)
            return MCP_ENOMEM;
        b->names = names;
        b->names_cap = cap;
    }
    slot->at = (uint32_t)b->names_len;
    slot->room = (unsigned short)room;
    b->names_len += room;
    return MCP_OK;
}

int files_batch_add(files_batch *b, const char *name, size_t len, unsigned char type)
{
    bool full = b->count == b->limit;
    if (!full && b->count == b->cap) {
        int grown = grow(b);
        if (grown != MCP_OK)
            return grown;
    }
    uint32_t number = full ? b->order[0] : (uint32_t)b->count;
    files_slot *slot = &b->slots[number];
    if (!full)
        *slot = (files_slot){0};
    int rc = make_room(b, slot, len);
    if (rc != MCP_OK)
        return rc;
    slot->type = type;
    slot->len = (unsigned char)len;
    memcpy(b->names + slot->at, name, len);
    b->names[slot->at + len] = '\0';
    if (full) {
        sift_down(b, 0);
        return MCP_OK;
    }
    b->order[b->count++] = number;
    if (b->count == b->limit)
        make_heap(b); /* if all names fit, adding needs no heap */
    return MCP_OK;
}

const files_slot *files_batch_take(files_batch *b)
{
    if (!b->sealed) {
        b->sealed = true;
        make_heap(b);
    }
    if (b->count == 0)
        return NULL;
    files_slot *slot = &b->slots[b->order[0]];
    b->order[0] = b->order[--b->count];
    sift_down(b, 0);
    slot->name = b->names + slot->at;
    return slot;
}
