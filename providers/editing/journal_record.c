/* journal_record.c: see journal_record.h. */
#include "journal_record.h"

#include <inttypes.h>
#include <stdio.h>

_Static_assert(sizeof(editing_head) == 9 * 8 + 3 * 4 + EDITING_TEXTS * 4, "no padding");

/* ---- ids ----------------------------------------------------------------------------------------------------- */

void editing_spot_name(editing_spot spot, char id[EDITING_ENTRY_ID_SIZE])
{
    snprintf(id, EDITING_ENTRY_ID_SIZE, "%010" PRIx64 "-%010" PRIx64, spot.number, spot.at);
}

enum { DIGITS = 10 };

static bool read_digits(const char *from, uint64_t *ret)
{
    static const char digits[] = "0123456789abcdef";
    *ret = 0;
    for (int i = 0; i < DIGITS; i++) {
        const char *digit = memchr(digits, from[i], 16);
        if (!digit)
            return false;
        *ret = *ret * 16 + (uint64_t)(digit - digits);
    }
    return true;
}

bool editing_spot_parse(mcp_str id, editing_spot *ret)
{
    return id.len == 2 * DIGITS + 1 && id.ptr[DIGITS] == '-' && read_digits(id.ptr, &ret->number) &&
           read_digits(id.ptr + DIGITS + 1, &ret->at);
}

int editing_spot_compare(editing_spot a, editing_spot b)
{
    if (a.number != b.number)
        return a.number < b.number ? -1 : 1;
    return a.at < b.at ? -1 : a.at > b.at;
}

/* ---- records ------------------------------------------------------------------------------------------------- */

uint64_t editing_tail_key(uint64_t key)
{
    return ~key;
}

static void texts_of(const editing_entry *entry, mcp_str texts[EDITING_TEXTS])
{
    texts[WHO] = entry->who;
    texts[CALL] = entry->call;
    texts[OPERATION] = entry->operation;
    texts[PATH] = entry->path;
    texts[TO] = entry->to;
    texts[UNDOES] = entry->undoes;
    texts[WAS] = entry->was;
}

size_t editing_texts_size(const editing_entry *entry)
{
    mcp_str texts[EDITING_TEXTS];
    size_t sum = 0;
    texts_of(entry, texts);
    for (int i = 0; i < EDITING_TEXTS; i++) {
        if (texts[i].len > EDITING_TEXTS_MAX - sum)
            return SIZE_MAX;
        sum += texts[i].len;
    }
    return sum;
}

/* Of a head that is in front of its texts. */
static uint64_t hash_of(const char *bytes, size_t len)
{
    editing_head head;
    memcpy(&head, bytes, sizeof(head));
    head.hash = 0;
    head.mark = 0;
    uint64_t hashes[2] = {
        editing_hash((mcp_str){(const char *)&head, sizeof(head)}),
        editing_hash((mcp_str){bytes + sizeof(head), len - sizeof(head)}),
    };
    return editing_hash((mcp_str){(const char *)hashes, sizeof(hashes)});
}

size_t editing_record_write(const editing_head *head, const editing_entry *entry, char *to)
{
    mcp_str texts[EDITING_TEXTS];
    editing_head h = *head;
    size_t len = sizeof(h);
    texts_of(entry, texts);
    for (int i = 0; i < EDITING_TEXTS; i++) {
        h.texts[i] = (uint32_t)texts[i].len;
        if (texts[i].len)
            memcpy(to + len, texts[i].ptr, texts[i].len);
        len += texts[i].len;
    }
    h.length = len + h.size + sizeof(editing_tail);
    h.time = entry->time;
    h.was_ino = entry->was_ino;
    h.fresh_ino = entry->fresh_ino;
    h.mode = entry->mode;
    h.hash = h.mark = 0;
    memcpy(to, &h, sizeof(h));
    h.hash = hash_of(to, len);
    memcpy(to, &h, sizeof(h));
    return len;
}

/* Returns the size of the texts, or SIZE_MAX. */
static size_t texts_size(const editing_head *head)
{
    size_t sum = 0;
    for (int i = 0; i < EDITING_TEXTS; i++) {
        if (head->texts[i] > EDITING_TEXTS_MAX - sum)
            return SIZE_MAX;
        sum += head->texts[i];
    }
    return sum;
}

bool editing_head_is_right(const editing_head *head, uint64_t key, editing_spot spot)
{
    size_t texts = texts_size(head);
    return head->key == key && head->at == spot.at && texts != SIZE_MAX &&
           head->size < EDITING_SPOT_MAX &&
           head->length == sizeof(*head) + texts + head->size + sizeof(editing_tail);
}

static void take_texts(const editing_head *head, const char *from, editing_entry *to)
{
    mcp_str texts[EDITING_TEXTS];
    for (int i = 0; i < EDITING_TEXTS; i++) {
        texts[i] = (mcp_str){from, head->texts[i]};
        from += head->texts[i];
    }
    to->who = texts[WHO];
    to->call = texts[CALL];
    to->operation = texts[OPERATION];
    to->path = texts[PATH];
    to->to = texts[TO];
    to->undoes = texts[UNDOES];
    to->was = texts[WAS];
}

bool editing_record_read(const char *bytes, size_t len, uint64_t key, editing_spot spot,
                         editing_record *ret)
{
    editing_head *head = &ret->head;
    if (len < sizeof(*head))
        return false;
    memcpy(head, bytes, sizeof(*head));
    if (!editing_head_is_right(head, key, spot))
        return false;
    size_t used = sizeof(*head) + texts_size(head);
    if (used > len || hash_of(bytes, used) != head->hash)
        return false;
    bool purged = head->mark == EDITING_MARK_PURGED || head->mark == EDITING_MARK_FREED;
    ret->entry = (editing_entry){.time = head->time,
                                 .was_ino = head->was_ino,
                                 .fresh_ino = head->fresh_ino,
                                 .mode = head->mode,
                                 .size = head->size,
                                 .purged = purged};
    editing_spot_name(spot, ret->entry.id);
    take_texts(head, bytes + sizeof(*head), &ret->entry);
    ret->contents = spot.at + used;
    ret->end = spot.at + head->length;
    return true;
}

uint64_t editing_sum_begin(const editing_head *head)
{
    return head->key + head->at;
}

uint64_t editing_sum(uint64_t sum, mcp_str block)
{
    uint64_t hashes[2] = {sum, editing_hash(block)};
    return editing_hash((mcp_str){(const char *)hashes, sizeof(hashes)});
}
