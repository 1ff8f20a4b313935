/* craft.h: writes repositories byte by byte in ways that git never would: loose objects and packs
 * with inconsistent parts. It is used by tests and by the fuzz targets of packs; any failure ends
 * the program. */
#ifndef MCP_TESTS_GIT_CRAFT_H
#define MCP_TESTS_GIT_CRAFT_H

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <git2.h>
#include <zlib.h>

typedef struct craft_bytes {
    unsigned char *ptr;
    size_t len, cap;
} craft_bytes;

static inline void craft_need(bool ok)
{
    if (!ok)
        abort();
}

static inline void craft_put(craft_bytes *b, const void *bytes, size_t len)
{
    if (b->cap - b->len < len) {
        b->cap = (b->len + len) * 2;
        b->ptr = realloc(b->ptr, b->cap);
        craft_need(b->ptr != NULL);
    }
    if (len)
        memcpy(b->ptr + b->len, bytes, len);
    b->len += len;
}

static inline void craft_free(craft_bytes *b)
{
    free(b->ptr);
    *b = (craft_bytes){0};
}

static inline void craft_u32(craft_bytes *b, uint32_t n)
{
    craft_put(b,
              (unsigned char[]){(unsigned char)(n >> 24), (unsigned char)(n >> 16),
                                (unsigned char)(n >> 8), (unsigned char)n},
              4);
}

static inline void craft_file(const char *path, const void *bytes, size_t len)
{
    (void)remove(path);
    FILE *f = fopen(path, "wb");
    craft_need(f && fwrite(bytes, 1, len, f) == len && fclose(f) == 0);
}

/* ---- compressed data ------------------------------------------------------------------------- */

/* Appends `text`, followed by `zeros` zero bytes, deflated. */
static inline void craft_deflate(craft_bytes *to, const void *text, size_t len, uint64_t zeros)
{
    static unsigned char nothing[1 << 16];
    unsigned char out[1 << 14];
    z_stream z = {0};
    craft_need(deflateInit(&z, 6) == Z_OK);
    z.next_in = (unsigned char *)(uintptr_t)text;
    z.avail_in = (uInt)len;
    for (int rc = Z_OK; rc != Z_STREAM_END;) {
        if (!z.avail_in && zeros) {
            z.next_in = nothing;
            z.avail_in = zeros < sizeof(nothing) ? (uInt)zeros : sizeof(nothing);
            zeros -= z.avail_in;
        }
        z.next_out = out;
        z.avail_out = sizeof(out);
        rc = deflate(&z, zeros || z.avail_in ? Z_NO_FLUSH : Z_FINISH);
        craft_need(rc == Z_OK || rc == Z_STREAM_END || rc == Z_BUF_ERROR);
        craft_put(to, out, sizeof(out) - z.avail_out);
    }
    deflateEnd(&z);
}

/* ---- loose objects --------------------------------------------------------------------------- */

/* Writes the file of a loose object, which need not match its name. `git` is the repository's
 * folder that contains "objects". */
static inline void craft_loose(const char *git, const git_oid *id, const void *file, size_t len)
{
    char hex[GIT_OID_HEXSZ + 1], path[PATH_MAX + 64];
    git_oid_tostr(hex, sizeof(hex), id);
    snprintf(path, sizeof(path), "%s/objects/%.2s", git, hex);
    (void)mkdir(path, 0700);
    snprintf(path, sizeof(path), "%s/objects/%.2s/%s", git, hex, hex + 2);
    craft_file(path, file, len);
}

/* Writes a valid loose object. */
static inline git_oid craft_object(const char *git, git_object_t type, const void *text, size_t len)
{
    git_oid id;
    craft_bytes raw = {0}, file = {0};
    char head[64];
    int n = snprintf(head, sizeof(head), "%s %zu", git_object_type2string(type), len);
    craft_put(&raw, head, (size_t)n + 1);
    craft_put(&raw, text, len);
    craft_need(git_odb_hash(&id, text, len, type) == 0);
    craft_deflate(&file, raw.ptr, raw.len, 0);
    craft_loose(git, &id, file.ptr, file.len);
    craft_free(&raw);
    craft_free(&file);
    return id;
}

/* Writes a commit whose tree contains one file, "f", with the id `file`. The branch main points to
 * the commit. */
static inline void craft_commit(const char *git, const git_oid *file)
{
    char hex[GIT_OID_HEXSZ + 1], text[256], path[512];
    unsigned char tree[9 + GIT_OID_RAWSZ];
    memcpy(tree, "100644 f", 9);
    memcpy(tree + 9, file->id, GIT_OID_RAWSZ);
    git_oid id = craft_object(git, GIT_OBJECT_TREE, tree, sizeof(tree));
    int n = snprintf(text, sizeof(text),
                     "tree %s\nauthor A <a@example.org> 1 +0000\ncommitter A <a@example.org> 1 "
                     "+0000\n\nm\n",
                     git_oid_tostr(hex, sizeof(hex), &id));
    id = craft_object(git, GIT_OBJECT_COMMIT, text, (size_t)n);
    snprintf(path, sizeof(path), "%s/refs/heads/main", git);
    n = snprintf(text, sizeof(text), "%s\n", git_oid_tostr(hex, sizeof(hex), &id));
    craft_file(path, text, (size_t)n);
}

/* ---- packs ----------------------------------------------------------------------------------- */

enum { CRAFT_OFS = 6, CRAFT_REF = 7, CRAFT_ENTRIES = 6000 };

typedef struct craft_pack {
    craft_bytes bytes;
    git_oid id[CRAFT_ENTRIES]; /* the caller must add entries in the order of their ids */
    uint64_t at[CRAFT_ENTRIES];
    size_t n;
} craft_pack;

static inline void craft_pack_begin(craft_pack *p)
{
    p->n = p->bytes.len = 0;
    craft_put(&p->bytes, "PACK\0\0\0\2\0\0\0\0", 12);
}

/* Writes the header of an entry with this type and size; the caller appends the deflated stream.
 * `distance` is for an OFS_DELTA, `base` for a REF_DELTA. */
static inline void craft_entry(craft_pack *p, const git_oid *id, unsigned type, uint64_t size,
                               uint64_t distance, const git_oid *base)
{
    unsigned char head[32];
    size_t n = 0, at = sizeof(head);
    p->id[p->n] = *id;
    p->at[p->n++] = p->bytes.len;
    head[n] = (unsigned char)(type << 4 | (size & 15));
    for (size >>= 4; size; size >>= 7) {
        head[n++] |= 0x80;
        head[n] = (unsigned char)(size & 0x7f);
    }
    craft_put(&p->bytes, head, n + 1);
    if (type == CRAFT_REF) {
        craft_need(base != NULL);
        craft_put(&p->bytes, base->id, GIT_OID_RAWSZ);
    }
    if (type != CRAFT_OFS)
        return;
    head[--at] = (unsigned char)(distance & 0x7f);
    while (distance >>= 7)
        head[--at] = (unsigned char)(0x80 | (--distance & 0x7f));
    craft_put(&p->bytes, head + at, sizeof(head) - at);
}

static inline int craft_by_id(const void *a, const void *b)
{
    return memcmp(a, b, GIT_OID_RAWSZ);
}

typedef struct craft_row {
    git_oid id;
    uint64_t at;
} craft_row;

/* Returns the pack's index in format version 2. */
static inline craft_bytes craft_index(const craft_pack *p)
{
    static craft_row row[CRAFT_ENTRIES];
    craft_bytes x = {0};
    for (size_t i = 0; i < p->n; i++)
        row[i] = (craft_row){p->id[i], p->at[i]};
    qsort(row, p->n, sizeof(*row), craft_by_id);
    craft_put(&x, "\377tOc\0\0\0\2", 8);
    for (uint32_t byte = 0, n = 0; byte < 256; byte++) {
        while (n < p->n && row[n].id.id[0] <= byte)
            n++;
        craft_u32(&x, n);
    }
    for (size_t i = 0; i < p->n; i++)
        craft_put(&x, row[i].id.id, GIT_OID_RAWSZ);
    for (size_t i = 0; i < p->n; i++)
        craft_u32(&x, 0);
    for (size_t i = 0; i < p->n; i++)
        craft_u32(&x, (uint32_t)row[i].at);
    craft_put(&x, (char[40]){0}, 40);
    return x;
}

/* Writes both files. Their checksums are zero, because the reader does not rely on them. */
static inline void craft_pack_end(craft_pack *p, const char *git)
{
    char path[PATH_MAX + 64];
    craft_bytes x = craft_index(p);
    craft_put(&p->bytes, (char[20]){0}, 20);
    snprintf(path, sizeof(path), "%s/objects/pack/pack-1.pack", git);
    craft_file(path, p->bytes.ptr, p->bytes.len);
    snprintf(path, sizeof(path), "%s/objects/pack/pack-1.idx", git);
    craft_file(path, x.ptr, x.len);
    craft_free(&x);
}

/* Appends a size as in the header of a delta. */
static inline void craft_size(craft_bytes *b, uint64_t n)
{
    for (; n >= 0x80; n >>= 7)
        craft_put(b, (unsigned char[]){(unsigned char)(n | 0x80)}, 1);
    craft_put(b, (unsigned char[]){(unsigned char)n}, 1);
}

/* Copies `size` bytes from `offset` of the base. */
static inline void craft_copy(craft_bytes *b, uint32_t offset, uint32_t size)
{
    unsigned char code[8] = {0x80 | 15 | 7 << 4};
    for (unsigned i = 0; i < 4; i++)
        code[1 + i] = (unsigned char)(offset >> 8 * i);
    for (unsigned i = 0; i < 3; i++)
        code[5 + i] = (unsigned char)(size >> 8 * i);
    craft_put(b, code, sizeof(code));
}

#endif
