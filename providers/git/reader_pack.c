/* reader_pack.c: implements reader_pack.h: follows a chain of deltas to its base and
 * applies the deltas. */
#define _GNU_SOURCE
#include "reader_pack.h"

#include "delta.h"
#include "store.h"

enum { ENTRY_HEAD = 10 + 20, OFS_DELTA = 6, REF_DELTA = 7 };

typedef struct entry {
    unsigned type; /* as stored in the pack */
    uint64_t size; /* of the inflated contents */
    uint64_t data; /* offset at which the deflated contents begin */
    uint64_t base; /* offset of a delta's base */
} entry;

/* A chain from an object down to its base, and its cost. */
typedef struct descent {
    repo_pack_files files;
    uint64_t at; /* offset of the base */
    size_t n;    /* number of deltas in r->chain; the first is the object itself */
    uint64_t work;
    entry end;      /* the base, whose stream has been opened */
    repo_text text; /* the cached base instead, if text.ptr is set */
} descent;

int repo_reading_alloc(repo_reader *r, repo_reading *ret, uint64_t len, git_object_t type)
{
    ret->ptr = git_odb_backend_data_alloc(&r->backend, (size_t)len + 1);
    if (!ret->ptr)
        return MCP_ENOMEM;
    ret->ptr[len] = 0;
    ret->len = (size_t)len;
    ret->type = type;
    return MCP_OK;
}

/* ---- cache of bases -------------------------------------------------------------------------- */

static repo_base *slot_of(repo_reader *r, const repo_pack *pack, uint64_t at)
{
    uint64_t hash = ((uint64_t)(uintptr_t)pack ^ at) * 0x9e3779b97f4a7c15ULL;
    return &r->base[hash >> 56];
}

static void forget(repo_reader *r, repo_base *b)
{
    r->bases_size -= b->text.len;
    common_release(&r->layout->alloc, b->text.ptr);
    *b = (repo_base){0};
}

void repo_bases_free(repo_reader *r)
{
    for (size_t i = 0; i < REPO_BASES; i++)
        forget(r, &r->base[i]);
}

/* Takes a base out of the cache. The caller may return it to the cache. */
static bool take_base(repo_reader *r, const repo_pack *pack, uint64_t at, repo_text *ret)
{
    repo_base *b = slot_of(r, pack, at);
    if (!b->text.ptr || b->pack != pack || b->at != at)
        return false;
    *ret = b->text;
    r->bases_size -= b->text.len;
    *b = (repo_base){0};
    return true;
}

static void keep_base(repo_reader *r, const repo_pack *pack, uint64_t at, repo_text *text)
{
    repo_base *b = slot_of(r, pack, at);
    if (!text->ptr || text->len > REPO_BASE_MAX) {
        common_release(&r->layout->alloc, text->ptr);
        return;
    }
    forget(r, b);
    while (r->bases_size + text->len > REPO_BASES_MAX)
        forget(r, &r->base[r->oldest++ % REPO_BASES]);
    *b = (repo_base){pack, at, *text};
    r->bases_size += text->len;
}

/* ---- entries --------------------------------------------------------------------------------- */

/* Reads the distance from an entry back to its base. */
static bool take_distance(mcp_str *rest, uint64_t *ret)
{
    unsigned char byte = 0x80;
    for (size_t n = 0; byte & 0x80; n++) {
        if (!rest->len || n == 8)
            return false;
        byte = (unsigned char)*rest->ptr++;
        rest->len--;
        *ret = n ? (*ret + 1) << 7 | (byte & 0x7f) : byte & 0x7f;
    }
    return true;
}

static bool take_kind(mcp_str *rest, entry *e)
{
    unsigned shift = 4;
    unsigned char byte = rest->len ? (unsigned char)*rest->ptr : 0x80;
    e->type = byte >> 4 & 7;
    e->size = byte & 15;
    while (byte & 0x80) {
        *rest = rest->len ? (mcp_str){rest->ptr + 1, rest->len - 1} : *rest;
        if (!rest->len || shift > 53)
            return false;
        byte = (unsigned char)*rest->ptr;
        e->size |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
    }
    *rest = (mcp_str){rest->ptr + 1, rest->len - 1};
    return true;
}

static int take_base_place(const repo_pack_files *f, uint64_t at, mcp_str *rest, entry *e)
{
    git_oid id;
    uint64_t distance;
    if (e->type == OFS_DELTA) {
        if (!take_distance(rest, &distance) || !distance || distance > at - REPO_PACK_HEAD)
            return MCP_EIO;
        e->base = at - distance;
    } else if (e->type == REF_DELTA) {
        if (rest->len < GIT_OID_RAWSZ)
            return MCP_EIO;
        memcpy(id.id, rest->ptr, GIT_OID_RAWSZ);
        *rest = (mcp_str){rest->ptr + GIT_OID_RAWSZ, rest->len - GIT_OID_RAWSZ};
        int rc = repo_pack_find(f, &id, &e->base);
        return rc == MCP_ENOTFOUND ? MCP_EIO : rc;
    }
    return MCP_OK;
}

/* Begins to read at an offset. Packs that stay open keep their descriptors. */
static int begin_at(repo_reader *r, const repo_pack_files *f, uint64_t at)
{
    uint64_t end = f->pack->pack_size - REPO_PACK_TAIL;
    return f->borrowed ? repo_inflate_begin_near(&r->inflate, f->data, at, end)
                       : repo_inflate_begin(&r->inflate, f->data, at, end);
}

/* Reads the header of the entry at `at`. Afterwards its stream can be read. */
static int enter(repo_reader *r, const repo_pack_files *f, uint64_t at, entry *e)
{
    int rc = begin_at(r, f, at);
    mcp_str raw = repo_inflate_raw(&r->inflate), rest = raw;
    if (rc != MCP_OK)
        return rc;
    if (!take_kind(&rest, e) || e->type == 0 || e->type == 5)
        return MCP_EIO;
    rc = take_base_place(f, at, &rest, e);
    repo_inflate_skip_raw(&r->inflate, raw.len - rest.len);
    e->data = repo_inflate_position(&r->inflate);
    return rc;
}

static int find(repo_reader *r, const git_oid *id, repo_pack_files *files, uint64_t *at)
{
    size_t n = repo_packs_count(r->layout);
    int worst = MCP_ENOTFOUND;
    if (r->use && r->use->near && n > REPO_PACKS_OPEN)
        return MCP_PENDING;          /* all packs may have to be opened */
    for (size_t k = 0; k < n; k++) { /* starting with the pack of the previous object */
        size_t i = (r->last + k) % n;
        int rc = repo_pack_open(r->layout, i, files);
        if (rc == MCP_OK) {
            rc = repo_pack_find(files, id, at);
            if (rc == MCP_OK) {
                r->last = i;
                return MCP_OK;
            }
            repo_pack_close(files);
        }
        if (rc != MCP_ENOTFOUND && rc != MCP_EIO)
            return rc;
        worst = rc == MCP_EIO ? MCP_EIO : worst; /* another pack may have an intact copy */
    }
    return worst;
}

/* ---- descending to the base ------------------------------------------------------------------ */

static int add_link(repo_reader *r, descent *d, const entry *e)
{
    const mcp_allocator *alloc = &r->layout->alloc;
    bool near = r->use && r->use->near;
    if (d->n == (near ? REPO_NEAR_CHAIN : REPO_CHAIN))
        return near ? MCP_PENDING : MCP_EIO;
    if (d->n == r->chain_cap) {
        size_t cap = r->chain_cap ? r->chain_cap * 2 : 64;
        repo_link *grown = r->chain ? alloc->resize(r->chain, cap * sizeof(*grown), alloc->user)
                                    : common_alloc(alloc, cap * sizeof(*grown));
        if (!grown)
            return MCP_ENOMEM;
        r->chain = grown;
        r->chain_cap = cap;
    }
    r->chain[d->n++] = (repo_link){d->at, e->data, e->size};
    return MCP_OK;
}

/* Adds a size to the work. Each size and the sum are limited. */
static int add_work(repo_reader *r, descent *d, uint64_t size)
{
    bool near = r->use && r->use->near;
    uint64_t most = near ? REPO_NEAR_WORK : REPO_WORK_MAX;
    if (size > REPO_OBJECT_MAX || size > REPO_WORK_MAX - d->work) {
        r->too_large = size > REPO_OBJECT_MAX ? size : d->work + size;
        return MCP_ELIMIT;
    }
    d->work += size;
    return d->work > most ? MCP_PENDING : MCP_OK;
}

/* Follows the chain to the base or to a cached result. With `measure`, sizes are added
 * to the work. */
static int descend(repo_reader *r, descent *d, bool measure)
{
    for (;;) {
        if (measure && take_base(r, d->files.pack, d->at, &d->text))
            return MCP_OK;
        int rc = enter(r, &d->files, d->at, &d->end);
        if (rc == MCP_OK && measure)
            rc = add_work(r, d, d->end.size);
        if (rc != MCP_OK || d->end.type < OFS_DELTA)
            return rc;
        rc = add_link(r, d, &d->end);
        if (rc == MCP_OK && r->use && d->n % 256 == 0)
            rc = repo_use_check(r->use);
        if (rc != MCP_OK)
            return rc;
        d->at = d->end.base;
    }
}

/* ---- applying the deltas --------------------------------------------------------------------- */

static int text_alloc(const repo_reader *r, repo_text *t, uint64_t len, git_object_t type)
{
    *t = (repo_text){common_alloc(&r->layout->alloc, (size_t)len + 1), (size_t)len, type};
    return t->ptr ? MCP_OK : MCP_ENOMEM;
}

static int read_delta(repo_reader *r, const descent *d, const repo_link *link, repo_text *ret)
{
    int rc = text_alloc(r, ret, link->size, GIT_OBJECT_ANY);
    if (rc == MCP_OK)
        rc = begin_at(r, &d->files, link->data);
    return rc == MCP_OK ? repo_inflate_exactly(&r->inflate, ret->ptr, ret->len, true) : rc;
}

/* Applies one delta of the chain. `last` is NULL unless this is the last one, whose result is
 * written to memory of libgit2. The base goes back to the cache. */
static int apply(repo_reader *r, descent *d, const repo_link *link, uint64_t base_at,
                 repo_reading *last)
{
    repo_text bytes, result = {0};
    repo_delta delta;
    git_object_t type = d->text.type;
    mcp_str base = {d->text.ptr, d->text.len};
    int rc = read_delta(r, d, link, &bytes);
    if (rc == MCP_OK &&
        (!repo_delta_begin((mcp_str){bytes.ptr, bytes.len}, &delta) || delta.base != base.len))
        rc = MCP_EIO;
    if (rc == MCP_OK)
        rc = add_work(r, d, delta.result);
    if (rc == MCP_OK && last)
        rc = repo_reader_allows(r, delta.result);
    if (rc == MCP_OK && !repo_delta_valid(&delta, base))
        rc = MCP_EIO;
    if (rc == MCP_OK)
        rc = last ? repo_reading_alloc(r, last, delta.result, type)
                  : text_alloc(r, &result, delta.result, type);
    if (rc == MCP_OK)
        repo_delta_apply(&delta, base, last ? last->ptr : result.ptr);
    common_release(&r->layout->alloc, bytes.ptr);
    keep_base(r, d->files.pack, base_at, &d->text);
    d->text = result;
    return rc;
}

static int ascend(repo_reader *r, descent *d, repo_reading *ret)
{
    uint64_t at = d->at;
    int rc = MCP_OK;
    if (!d->text.ptr) {
        rc = text_alloc(r, &d->text, d->end.size, (git_object_t)d->end.type);
        if (rc == MCP_OK)
            rc = repo_inflate_exactly(&r->inflate, d->text.ptr, d->text.len, true);
    }
    while (rc == MCP_OK && d->n) {
        repo_link link = r->chain[--d->n];
        rc = apply(r, d, &link, at, d->n ? NULL : ret);
        at = link.at;
    }
    return rc;
}

/* Reads an object that is not a delta directly into its final memory. */
static int read_plain(repo_reader *r, const descent *d, repo_reading *ret)
{
    int rc = repo_reader_allows(r, d->end.size);
    if (rc == MCP_OK)
        rc = repo_reading_alloc(r, ret, d->end.size, (git_object_t)d->end.type);
    return rc == MCP_OK ? repo_inflate_exactly(&r->inflate, ret->ptr, ret->len, true) : rc;
}

static int read_kept(repo_reader *r, descent *d, repo_reading *ret)
{
    int rc = repo_reader_allows(r, d->text.len);
    if (rc == MCP_OK)
        rc = repo_reading_alloc(r, ret, d->text.len, d->text.type);
    if (rc == MCP_OK)
        memcpy(ret->ptr, d->text.ptr, d->text.len);
    keep_base(r, d->files.pack, d->at, &d->text);
    d->text = (repo_text){0};
    return rc;
}

int repo_pack_read(repo_reader *r, const git_oid *id, repo_reading *ret)
{
    descent d = {.n = 0};
    int rc = find(r, id, &d.files, &d.at);
    if (rc != MCP_OK)
        return rc;
    rc = descend(r, &d, true);
    if (rc == MCP_OK && d.n)
        rc = ascend(r, &d, ret);
    else if (rc == MCP_OK)
        rc = d.text.ptr ? read_kept(r, &d, ret) : read_plain(r, &d, ret);
    common_release(&r->layout->alloc, d.text.ptr);
    repo_pack_close(&d.files);
    return rc;
}

/* Finds the size, which is in the first delta, and the type, which is that of the base. */
static int measure(repo_reader *r, descent *d, uint64_t *size, git_object_t *type)
{
    char head[REPO_DELTA_HEAD];
    repo_delta delta = {.result = 0};
    size_t got;
    int rc = enter(r, &d->files, d->at, &d->end);
    *size = d->end.size;
    if (rc == MCP_OK && d->end.type >= OFS_DELTA) {
        rc = repo_inflate_some(&r->inflate, head, sizeof(head), &got);
        if (rc == MCP_OK && !repo_delta_begin((mcp_str){head, got}, &delta))
            rc = MCP_EIO;
        *size = delta.result;
        if (rc == MCP_OK)
            rc = descend(r, d, false);
    }
    *type = (git_object_t)d->end.type;
    return rc;
}

int repo_pack_header(repo_reader *r, const git_oid *id, uint64_t *size, git_object_t *type)
{
    descent d = {.n = 0};
    int rc = find(r, id, &d.files, &d.at);
    if (rc != MCP_OK)
        return rc;
    rc = measure(r, &d, size, type);
    repo_pack_close(&d.files);
    return rc;
}
