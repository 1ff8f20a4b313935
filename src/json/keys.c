/* keys.c: rejects objects with duplicate keys. Parsers differ in which of the two members they use,
 * and attackers have used this to bypass checks.
 *
 * The keys are compared decoded, so "a" and "\u0061" are equal. If there are few members, all pairs
 * are compared. More members are sorted by hash, length and bytes, in place, by heap sort. Unlike a
 * hash table, this has no bad case that a hostile peer could cause: any 100,000 keys take
 * milliseconds.
 */
#include <yyjson.h>

#include "json/json.h"

enum {
    FEW_MEMBERS = 8,
    INLINE_ENTRIES = 64,
};

typedef struct key_entry {
    uint64_t hash;
    const yyjson_val *key;
} key_entry;

static mcp_str text_of(const yyjson_val *key)
{
    return (mcp_str){key->uni.str, unsafe_yyjson_get_len((void *)(uintptr_t)key)};
}

static const yyjson_val *next_key(const yyjson_val *key)
{
    return unsafe_yyjson_get_next((yyjson_val *)(uintptr_t)key + 1);
}

static int compare(const key_entry *a, const key_entry *b)
{
    if (a->hash != b->hash)
        return a->hash < b->hash ? -1 : 1;
    mcp_str x = text_of(a->key), y = text_of(b->key);
    if (x.len != y.len)
        return x.len < y.len ? -1 : 1;
    return memcmp(x.ptr, y.ptr, x.len);
}

static void sift_down(key_entry *entries, size_t root, size_t count)
{
    key_entry moved = entries[root];
    for (;;) {
        size_t child = 2 * root + 1;
        if (child >= count)
            break;
        if (child + 1 < count && compare(&entries[child], &entries[child + 1]) < 0)
            child++;
        if (compare(&moved, &entries[child]) >= 0)
            break;
        entries[root] = entries[child];
        root = child;
    }
    entries[root] = moved;
}

static void sort(key_entry *entries, size_t count)
{
    for (size_t i = count / 2; i-- > 0;)
        sift_down(entries, i, count);
    for (size_t last = count - 1; last > 0; last--) {
        key_entry top = entries[0];
        entries[0] = entries[last];
        entries[last] = top;
        sift_down(entries, 0, last);
    }
}

/* Returns one of 64 bits, which is the same for equal keys. The factor gives the usual keys of a
 * message different bits. */
static uint64_t bit_of(mcp_str key)
{
    unsigned first = key.len ? (unsigned char)key.ptr[0] : 0;
    return UINT64_C(1) << ((key.len * 5 + first) % 64);
}

/* Return a key that occurs twice, or NULL. */
static inline const yyjson_val *duplicate_of_few(const yyjson_val *object, size_t count)
{
    const yyjson_val *first = object + 1, *key = first;
    uint64_t seen = 0;
    for (size_t i = 0; i < count; i++, key = next_key(key)) {
        mcp_str text = text_of(key);
        uint64_t bit = bit_of(text);
        /* Most keys of an object have different bits, and are not compared. */
        for (const yyjson_val *k = first; (seen & bit) && k < key; k = next_key(k)) {
            if (mcp_str_eq(text_of(k), text))
                return key;
        }
        seen |= bit;
    }
    return NULL;
}

static const yyjson_val *duplicate_of_many(const yyjson_val *object, size_t count,
                                           key_entry *entries)
{
    static const uint64_t seed[2] = {0, 0}; /* the hash is used only for sorting */
    const yyjson_val *key = object + 1;
    for (size_t i = 0; i < count; i++, key = next_key(key)) {
        mcp_str text = text_of(key);
        entries[i] = (key_entry){mcp__siphash(text.ptr, text.len, seed), key};
    }
    sort(entries, count);
    for (size_t i = 1; i < count; i++) {
        if (compare(&entries[i - 1], &entries[i]) == 0)
            return MCP__MAX(entries[i - 1].key, entries[i].key);
    }
    return NULL;
}

/* For an object with more than FEW_MEMBERS. */
static MCP__NOINLINE int find_among_many(const yyjson_val *object, const mcp_allocator *a,
                                         const yyjson_val **ret)
{
    size_t count = unsafe_yyjson_get_len((void *)(uintptr_t)object);
    key_entry on_stack[INLINE_ENTRIES];
    key_entry *entries = on_stack;
    if (count > INLINE_ENTRIES) {
        if (count > SIZE_MAX / sizeof(*entries))
            return MCP_ENOMEM;
        entries = mcp__alloc(a, count * sizeof(*entries));
        if (!entries)
            return MCP_ENOMEM;
    }
    *ret = duplicate_of_many(object, count, entries);
    if (entries != on_stack)
        mcp__release(a, entries);
    return MCP_OK;
}

static inline int find_duplicate(const yyjson_val *object, const mcp_allocator *a,
                                 const yyjson_val **ret)
{
    size_t count = unsafe_yyjson_get_len((void *)(uintptr_t)object);
    if (count > FEW_MEMBERS)
        return find_among_many(object, a, ret);
    *ret = duplicate_of_few(object, count);
    return MCP_OK;
}

static int duplicate_error(const yyjson_val *key, const char *base, mcp_error *error)
{
    mcp_str text = text_of(key);
    int shown_len = (int)mcp__utf8_cut(text.ptr, MCP__MIN(text.len, (size_t)64));
    size_t offset = (size_t)(text.ptr - base);
    return mcp__fail(error, MCP_EPARSE, offset ? offset - 1 : 0,
                     "an object has the key \"%.*s\" twice", shown_len, text.ptr);
}

/* yyjson stores all values of a document in one array, so visiting them needs no recursion. */
int mcp__json_check_keys(const mcp_json *root, const char *base, const mcp_allocator *a,
                         mcp_error *error)
{
    const yyjson_val *value = (const yyjson_val *)root;
    if (!unsafe_yyjson_is_ctn((void *)(uintptr_t)value))
        return MCP_OK;
    const yyjson_val *end = unsafe_yyjson_get_next((yyjson_val *)(uintptr_t)value);
    for (; value < end; value++) {
        if (unsafe_yyjson_get_type((void *)(uintptr_t)value) != YYJSON_TYPE_OBJ)
            continue;
        const yyjson_val *duplicate = NULL;
        int rc = find_duplicate(value, a, &duplicate);
        if (rc)
            return mcp__fail(error, rc, 0, "out of memory for the keys of a JSON object");
        if (duplicate)
            return duplicate_error(duplicate, base, error);
    }
    return MCP_OK;
}
