/* git_seed.h: makes a repository's objects from the bytes of a fuzzer, as git would write them
 * except where the bytes request otherwise: streams are deflated, deltas have valid instructions,
 * indexes are sorted, and checksums are correct. A parser that verifies checksums therefore still
 * reads the contents.
 *
 *   a byte of flags (below); then objects until a kind of zero:
 *     kind 1-4: commit, tree, blob, tag: a length, then that many bytes
 *     kind 6, 7: a delta: the index of its base, a number of instructions, then three bytes for each
 *     kind 8: a loose object: a length, then that many bytes, which are written after a valid header
 *   then changes: a file (pack, index, multi-pack index), an offset of two bytes, the new byte.
 *     Checksums are computed after the changes.
 */
#ifndef MCP_FUZZ_GIT_SEED_H
#define MCP_FUZZ_GIT_SEED_H

#include "../tests/providers/git/craft.h"
#include "sha1.h"

enum {
    SEED_MULTI = 1,    /* write a multi-pack index */
    SEED_NO_INDEX = 2, /* write no pack index */
    SEED_LARGE = 4,    /* offsets are in the table of 64-bit offsets */
    SEED_LIES = 8,     /* each delta has a byte that makes its sizes wrong */
    SEED_WRONG_SUM = 16,
    SEED_OBJECTS = 16,
    SEED_TEXT = 255,
    SEED_NAMES = 8 + 1024, /* where the names of the index begin */
};

typedef struct seed {
    const unsigned char *at, *end;
    unsigned flags;
    craft_pack pack;
    size_t size[SEED_OBJECTS]; /* the size of each object when it is read */
    craft_bytes index, multi;
} seed;

static inline unsigned seed_byte(seed *s)
{
    return s->at < s->end ? *s->at++ : 0;
}

static inline git_oid seed_id(size_t i)
{
    return (git_oid){{0xbb, (unsigned char)i}};
}

static const git_oid seed_loose_id = {{0xaa, 1}};

static inline size_t seed_text(seed *s, unsigned char text[SEED_TEXT])
{
    size_t len = seed_byte(s), there = (size_t)(s->end - s->at);
    if (len > there)
        len = there;
    memcpy(text, s->at, len);
    s->at += len;
    return len;
}

static inline void seed_object(seed *s, unsigned kind)
{
    unsigned char text[SEED_TEXT];
    size_t len = seed_text(s, text);
    git_oid id = seed_id(s->pack.n);
    s->size[s->pack.n] = len;
    craft_entry(&s->pack, &id, kind, len, 0, NULL);
    craft_deflate(&s->pack.bytes, text, len, 0);
}

/* Appends instructions that are valid for the base, except wild ones. Returns the size of the
 * object that they produce. */
static inline size_t seed_instructions(seed *s, craft_bytes *to, size_t base)
{
    size_t made = 0;
    for (unsigned n = seed_byte(s); n; n--) {
        unsigned what = seed_byte(s), offset = seed_byte(s), size = seed_byte(s);
        if (what & 1 || !base) {
            size_t len = 1 + size % 127;
            craft_put(to, (unsigned char[]){(unsigned char)len}, 1);
            for (size_t i = 0; i < len; i++)
                craft_put(to, (unsigned char[]){(unsigned char)(what + i)}, 1);
            made += len;
        } else {
            bool wild = what & 2;
            uint32_t from = wild ? offset << (what & 28) : (uint32_t)(offset % base);
            uint32_t len = wild ? size << (what >> 5) : 1 + size % (uint32_t)(base - from);
            craft_copy(to, from, len);
            made += len;
        }
    }
    return made;
}

static inline void seed_delta(seed *s, unsigned kind)
{
    unsigned which = seed_byte(s), lie = s->flags & SEED_LIES ? seed_byte(s) : 0;
    craft_bytes code = {0}, all = {0};
    size_t n = s->pack.n, to = n ? which % n : 0;
    size_t base = n ? s->size[to] : 0;
    git_oid id = seed_id(n), base_id = seed_id(which % SEED_OBJECTS);
    uint64_t distance = n ? s->pack.bytes.len - s->pack.at[to] : which;
    if (kind == CRAFT_REF)
        base = which % SEED_OBJECTS < n ? s->size[which % SEED_OBJECTS] : which;
    size_t made = seed_instructions(s, &code, base);
    craft_size(&all, base + (lie & 15));
    craft_size(&all, made + (lie >> 4));
    craft_put(&all, code.ptr, code.len);
    s->size[n] = made;
    craft_entry(&s->pack, &id, kind, all.len, distance, &base_id);
    craft_deflate(&s->pack.bytes, all.ptr, all.len, 0);
    craft_free(&code);
    craft_free(&all);
}

static inline void seed_loose(seed *s, const char *folder)
{
    unsigned char text[SEED_TEXT];
    size_t len = seed_text(s, text);
    craft_bytes raw = {0}, file = {0};
    char head[32];
    int n = snprintf(head, sizeof(head), "blob %zu", len);
    craft_put(&raw, head, (size_t)n + 1);
    craft_put(&raw, text, len);
    craft_deflate(&file, raw.ptr, raw.len, 0);
    craft_loose(folder, &seed_loose_id, file.ptr, file.len);
    craft_free(&raw);
    craft_free(&file);
}

static inline void seed_objects(seed *s, const char *folder)
{
    craft_pack_begin(&s->pack);
    for (unsigned kind; s->pack.n < SEED_OBJECTS && (kind = seed_byte(s) % 9) != 0;) {
        if (kind == CRAFT_OFS || kind == CRAFT_REF)
            seed_delta(s, kind);
        else if (kind == 8)
            seed_loose(s, folder);
        else
            seed_object(s, kind);
    }
    s->pack.bytes.ptr[11] = (unsigned char)s->pack.n;
}

/* ---- indexes ------------------------------------------------------------------------------------------------- */

static inline void seed_chunk(craft_bytes *to, const char id[4], uint32_t at)
{
    craft_put(to, id, 4);
    craft_u32(to, 0);
    craft_u32(to, at);
}

/* With SEED_LARGE, the n-th offset is in the n-th entry of the table of 64-bit offsets. */
static inline void seed_offsets(const seed *s, craft_bytes *to, bool multi)
{
    for (size_t i = 0; i < s->pack.n; i++) {
        if (multi)
            craft_u32(to, 0); /* the number of the pack */
        craft_u32(to, s->flags & SEED_LARGE ? (uint32_t)(0x80000000 | i) : (uint32_t)s->pack.at[i]);
    }
}

static inline void seed_large_offsets(const seed *s, craft_bytes *to)
{
    for (size_t i = 0; s->flags & SEED_LARGE && i < s->pack.n; i++) {
        craft_u32(to, 0);
        craft_u32(to, (uint32_t)s->pack.at[i]);
    }
}

static inline void seed_names(const seed *s, craft_bytes *to)
{
    for (unsigned byte = 0; byte < 256; byte++)
        craft_u32(to, byte >= 0xbb ? (uint32_t)s->pack.n : 0);
    for (size_t i = 0; i < s->pack.n; i++)
        craft_put(to, s->pack.id[i].id, GIT_OID_RAWSZ);
}

static inline void seed_indexes(seed *s)
{
    uint32_t n = (uint32_t)s->pack.n, names = 8 + 6 * 12 + 4;
    craft_bytes *x = &s->index, *m = &s->multi;
    x->len = m->len = 0;
    craft_put(x, "\377tOc\0\0\0\2", 8);
    seed_names(s, x);
    for (uint32_t i = 0; i < n; i++)
        craft_u32(x, 0);
    seed_offsets(s, x, false);
    seed_large_offsets(s, x);

    craft_put(m, "MIDX\1\1\5\0\0\0\0\1", 12);
    seed_chunk(m, "PNAM", names);
    seed_chunk(m, "OIDF", names + 12);
    seed_chunk(m, "OIDL", names + 12 + 1024);
    seed_chunk(m, "OOFF", names + 12 + 1024 + 20 * n);
    seed_chunk(m, "LOFF", names + 12 + 1024 + 28 * n);
    seed_chunk(m, "\0\0\0", names + 12 + 1024 + 28 * n + (s->flags & SEED_LARGE ? 8 * n : 0));
    craft_put(m, "pack-1.idx\0", 12);
    seed_names(s, m);
    seed_offsets(s, m, true);
    seed_large_offsets(s, m);
}

/* ---- the files ----------------------------------------------------------------------------------------------- */

static inline void seed_changes(seed *s)
{
    craft_bytes *const files[] = {&s->pack.bytes, &s->index, &s->multi};
    while (s->end - s->at >= 4) {
        craft_bytes *b = files[seed_byte(s) % 3];
        size_t at = seed_byte(s) << 8;
        at |= seed_byte(s);
        b->ptr[at % b->len] = (unsigned char)seed_byte(s);
    }
}

static inline void seed_sum(seed *s, craft_bytes *b)
{
    unsigned char sum[SHA1_SIZE];
    sha1(b->ptr, b->len, sum);
    sum[0] ^= s->flags & SEED_WRONG_SUM ? 1 : 0;
    craft_put(b, sum, sizeof(sum));
}

static inline void seed_file(const char *folder, const char *name, const craft_bytes *b,
                             bool wanted)
{
    char path[PATH_MAX + 64];
    snprintf(path, sizeof(path), "%s/objects/pack/%s", folder, name);
    if (wanted)
        craft_file(path, b->ptr, b->len);
    else
        (void)remove(path);
}

/* Writes the files below `folder`, replacing those of the previous seed. Returns whether the names in
 * the index are as git writes them. Where one occurs twice, it depends on the search which is found. */
static inline bool seed_write(const char *folder, const uint8_t *data, size_t size)
{
    static seed s;
    unsigned char before[SHA1_SIZE], after[SHA1_SIZE];
    s.at = data;
    s.end = size ? data + size : data;
    s.flags = seed_byte(&s);
    seed_objects(&s, folder);
    seed_indexes(&s);
    size_t names = SEED_NAMES + s.pack.n * GIT_OID_RAWSZ;
    sha1(s.index.ptr, names, before);
    seed_changes(&s);
    sha1(s.index.ptr, names, after);
    seed_sum(&s, &s.pack.bytes);
    craft_put(&s.index, s.pack.bytes.ptr + s.pack.bytes.len - SHA1_SIZE, SHA1_SIZE);
    seed_sum(&s, &s.index);
    seed_sum(&s, &s.multi);
    seed_file(folder, "pack-1.pack", &s.pack.bytes, true);
    seed_file(folder, "pack-1.idx", &s.index, !(s.flags & SEED_NO_INDEX));
    seed_file(folder, "multi-pack-index", &s.multi, s.flags & SEED_MULTI);
    return memcmp(before, after, SHA1_SIZE) == 0;
}

#endif
