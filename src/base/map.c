/* map.c: byte-string keys to pointers: open addressing, linear probing, SipHash-1-3 under a seed.
 *
 * A removed entry leaves a tombstone only if the next slot is not empty. A large table is freed when
 * the last entry is removed, and shrinks when an entry is added while at most 1/16 of the slots
 * hold entries. Removing an entry never allocates.
 */
#include "base/base.h"

/* Two hash values mark slots without an entry; hash_of() never returns them. */
enum {
    EMPTY = 0,
    TOMBSTONE = 1,
    FIRST_HASH = 2,
    MIN_SLOTS = 2,
    KEPT_SLOTS = 8, /* a table of at most this size stays allocated when it becomes empty */
};

/* ---- SipHash-1-3 (Aumasson, Bernstein) ------------------------------------------------------- */

static inline uint64_t rotl(uint64_t x, int bits)
{
    return x << bits | x >> (64 - bits);
}

static inline void sip_round(uint64_t v[4])
{
    v[0] += v[1];
    v[2] += v[3];
    v[1] = rotl(v[1], 13) ^ v[0];
    v[3] = rotl(v[3], 16) ^ v[2];
    v[0] = rotl(v[0], 32);
    v[2] += v[1];
    v[0] += v[3];
    v[1] = rotl(v[1], 17) ^ v[2];
    v[3] = rotl(v[3], 21) ^ v[0];
    v[2] = rotl(v[2], 32);
}

/* Compilers make one load of this. */
static inline uint64_t load_little(const unsigned char *p)
{
    return (uint64_t)p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 | (uint64_t)p[3] << 24 |
           (uint64_t)p[4] << 32 | (uint64_t)p[5] << 40 | (uint64_t)p[6] << 48 |
           (uint64_t)p[7] << 56;
}

/* Returns the last bytes of a text that fill no word, of which there are `n`. p is their address. */
static inline uint64_t load_rest(const unsigned char *p, size_t n, bool follows_word)
{
    if (follows_word && n)
        return load_little(p + n - 8) >> (64 - 8 * n);
    uint64_t word = 0;
    for (size_t i = 0; i < n; i++)
        word |= (uint64_t)p[i] << (8 * i);
    return word;
}

uint64_t mcp__siphash(const void *bytes, size_t len, const uint64_t seed[2])
{
    const unsigned char *p = bytes;
    uint64_t v[4] = {
        seed[0] ^ UINT64_C(0x736f6d6570736575),
        seed[1] ^ UINT64_C(0x646f72616e646f6d),
        seed[0] ^ UINT64_C(0x6c7967656e657261),
        seed[1] ^ UINT64_C(0x7465646279746573),
    };
    uint64_t last = (uint64_t)len << 56;
    bool has_words = len >= 8;
    for (; len >= 8; p += 8, len -= 8) {
        uint64_t word = load_little(p);
        v[3] ^= word;
        sip_round(v);
        v[0] ^= word;
    }
    last |= load_rest(p, len, has_words);
    v[3] ^= last;
    sip_round(v);
    v[0] ^= last;
    v[2] ^= 0xff;
    for (int i = 0; i < 3; i++)
        sip_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/* ---- the table ------------------------------------------------------------------------------- */

void mcp__map_init(mcp__map *m, const mcp_allocator *allocator, uint64_t seed0, uint64_t seed1)
{
    *m = (mcp__map){.seed = {seed0, seed1}, .allocator = mcp__allocator(allocator)};
}

void mcp__map_free(mcp__map *m)
{
    mcp__release(m->allocator, m->slots);
    m->slots = NULL;
    m->cap = m->count = m->used = 0;
}

static uint64_t hash_of(const mcp__map *m, mcp_str key)
{
    uint64_t hash = mcp__siphash(key.ptr, key.len, m->seed);
    return hash < FIRST_HASH ? hash + FIRST_HASH : hash;
}

/* Returns the slot of the key, or NULL. The table always has an empty slot, which ends the
 * search. */
static mcp__map_slot *find(const mcp__map *m, mcp_str key, uint64_t hash)
{
    if (m->count == 0)
        return NULL;
    size_t mask = m->cap - 1;
    for (size_t i = (size_t)hash & mask;; i = (i + 1) & mask) {
        mcp__map_slot *slot = &m->slots[i];
        if (slot->hash == hash && mcp_str_eq(slot->key, key))
            return slot;
        if (slot->hash == EMPTY)
            return NULL;
    }
}

static void place(mcp__map *m, mcp__map_slot entry)
{
    size_t mask = m->cap - 1;
    size_t i = (size_t)entry.hash & mask;
    while (m->slots[i].hash >= FIRST_HASH)
        i = (i + 1) & mask;
    if (m->slots[i].hash == EMPTY)
        m->used++;
    m->slots[i] = entry;
    m->count++;
}

static int rehash(mcp__map *m)
{
    size_t cap = MIN_SLOTS;
    while (cap / 2 < m->count + 1) {
        if (cap > SIZE_MAX / 2 / sizeof(mcp__map_slot))
            return MCP_ENOMEM;
        cap *= 2;
    }
    mcp__map_slot *old = m->slots;
    size_t old_cap = m->cap;
    mcp__map_slot *slots = mcp__zalloc(m->allocator, cap * sizeof(*slots));
    if (!slots)
        return MCP_ENOMEM;
    m->slots = slots;
    m->cap = cap;
    m->count = m->used = 0;
    for (size_t i = 0; i < old_cap; i++) {
        if (old[i].hash >= FIRST_HASH)
            place(m, old[i]);
    }
    mcp__release(m->allocator, old);
    return MCP_OK;
}

/* Keeps at most 3/4 of the slots in use, tombstones included, and at least one empty. */
int mcp__map_reserve(mcp__map *m)
{
    if (m->used + 1 + MCP__MAX(m->cap / 4, (size_t)1) > m->cap)
        return rehash(m);
    /* Shrinking may fail: if there is no memory for a smaller table, the old table stays. */
    if (m->cap > 8 * KEPT_SLOTS && m->count < m->cap / 16)
        (void)rehash(m);
    return MCP_OK;
}

void *mcp__map_get(const mcp__map *m, mcp_str key)
{
    if (m->count == 0)
        return NULL;
    const mcp__map_slot *slot = find(m, key, hash_of(m, key));
    return slot ? slot->value : NULL;
}

int mcp__map_add(mcp__map *m, mcp_str key, void *value)
{
    assert(value);
    uint64_t hash = hash_of(m, key);
    if (find(m, key, hash))
        return MCP_EEXIST;
    int rc = mcp__map_reserve(m);
    if (rc)
        return rc;
    place(m, (mcp__map_slot){.hash = hash, .key = key, .value = value});
    return MCP_OK;
}

void mcp__map_replace(mcp__map *m, mcp_str key, void *value)
{
    mcp__map_slot *slot = find(m, key, hash_of(m, key));
    assert(slot && value);
    slot->key = key;
    slot->value = value;
}

/* Removes the entry of a slot. If the next slot is empty, no search has to pass this one, so it
 * becomes empty, and so do the tombstones directly before it. */
static void vacate(mcp__map *m, size_t i)
{
    size_t mask = m->cap - 1;
    m->slots[i] = (mcp__map_slot){.hash = TOMBSTONE};
    if (m->slots[(i + 1) & mask].hash != EMPTY)
        return;
    for (; m->slots[i].hash == TOMBSTONE; i = (i - 1) & mask) {
        m->slots[i].hash = EMPTY;
        m->used--;
    }
}

void *mcp__map_remove(mcp__map *m, mcp_str key)
{
    if (m->count == 0)
        return NULL;
    mcp__map_slot *slot = find(m, key, hash_of(m, key));
    if (!slot)
        return NULL;
    void *value = slot->value;
    vacate(m, (size_t)(slot - m->slots));
    /* A small table stays allocated: a map that is often empty then needs no allocation. */
    if (--m->count == 0 && m->cap > KEPT_SLOTS)
        mcp__map_free(m);
    return value;
}

void *mcp__map_next(const mcp__map *m, size_t *at)
{
    while (*at < m->cap) {
        const mcp__map_slot *slot = &m->slots[(*at)++];
        if (slot->hash >= FIRST_HASH)
            return slot->value;
    }
    return NULL;
}
