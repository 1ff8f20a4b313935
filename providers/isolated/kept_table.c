/* kept_table.c: finds kept answers by the number of their request, and limits the room that they
 * take.
 *
 * A client chooses its requests, and could choose many with numbers that lead to one chain. A chain
 * therefore has a limited length.
 */
#include <stdalign.h>
#include <string.h>

#include "kept.h"

enum {
    CHAINS = 1024,
    LONGEST_CHAIN = 16,
    SETS = 512, /* of numbers of requests that arrived once */
    WAYS = 8,
};

struct isolated_kept {
    isolated_kept_entry *chains[CHAINS];
    isolated_kept_entry *newest, *oldest;
    size_t bytes;              /* of all entries */
    uint64_t seen[SETS][WAYS]; /* in each set, the last one first; 0 means none */
};

uint64_t isolated_kept_number(const isolated_params *p)
{
    uint64_t n = UINT64_C(14695981039346656037), word;
    size_t i = 0;
    for (; i + sizeof(word) <= p->len; i += sizeof(word)) {
        memcpy(&word, p->members + i, sizeof(word));
        n = (n ^ word) * UINT64_C(1099511628211);
        n ^= n >> 32;
    }
    for (; i < p->len; i++)
        n = (n ^ (unsigned char)p->members[i]) * UINT64_C(1099511628211);
    n ^= n >> 32;
    return n ? n : 1;
}

/* ---- counting memory ------------------------------------------------------------------------- */

/* In front of each allocation. */
typedef struct counted_block {
    alignas(max_align_t) size_t size; /* of both, as it was counted */
} counted_block;

size_t isolated_block(size_t size)
{
    enum { OWN = 8, UNIT = 16 }; /* of the GNU C library */
    return size ? (size + OWN + UNIT - 1) / UNIT * UNIT : 0;
}

static void *count_in(isolated *r, counted_block *block, size_t size)
{
    if (!block)
        return NULL;
    block->size = isolated_block(sizeof(*block) + size);
    r->counted += block->size;
    return block + 1;
}

void *isolated_count_allocate(size_t size, void *user)
{
    isolated *r = user;
    counted_block *block =
        size < SIZE_MAX / 2 ? common_alloc(&r->alloc, sizeof(*block) + size) : NULL;
    return count_in(r, block, size);
}

void *isolated_count_resize(void *ptr, size_t size, void *user)
{
    isolated *r = user;
    counted_block *old = ptr ? (counted_block *)ptr - 1 : NULL;
    size_t before = old ? old->size : 0;
    counted_block *block =
        size < SIZE_MAX / 2 ? r->alloc.resize(old, sizeof(*block) + size, r->alloc.user) : NULL;
    if (block)
        r->counted -= before;
    return count_in(r, block, size);
}

void isolated_count_release(void *ptr, void *user)
{
    isolated *r = user;
    if (!ptr)
        return;
    counted_block *block = (counted_block *)ptr - 1;
    r->counted -= block->size;
    common_release(&r->alloc, block);
}

/* ---- order of use ---------------------------------------------------------------------------- */

static void unlink_use(isolated_kept *k, isolated_kept_entry *e)
{
    *(e->newer ? &e->newer->older : &k->newest) = e->older;
    *(e->older ? &e->older->newer : &k->oldest) = e->newer;
}

static void link_use(isolated_kept *k, isolated_kept_entry *e)
{
    e->newer = NULL;
    e->older = k->newest;
    *(k->newest ? &k->newest->newer : &k->oldest) = e;
    k->newest = e;
}

/* ---- entries --------------------------------------------------------------------------------- */

static size_t bytes_of(const isolated_kept_entry *e)
{
    size_t bytes = isolated_block(sizeof(*e)) + isolated_files_bytes(&e->files);
    if (e->key)
        bytes += isolated_block(e->key_len + 1) + isolated_block(e->result.text.cap) +
                 e->result.doc_bytes;
    return bytes;
}

void isolated_kept_forget(const isolated *r, isolated_kept_entry *e)
{
    common_release(&r->alloc, e->key);
    e->key = NULL;
    isolated_result_free(&e->result);
}

static isolated_kept_entry **place_of(isolated_kept *k, const isolated_kept_entry *e)
{
    isolated_kept_entry **at = &k->chains[e->number % CHAINS];
    while (*at != e)
        at = &(*at)->next;
    return at;
}

static void drop(const isolated *r, isolated_kept_entry *e)
{
    isolated_kept *k = r->kept;
    *place_of(k, e) = e->next;
    unlink_use(k, e);
    k->bytes -= e->bytes;
    isolated_kept_forget(r, e);
    isolated_files_free(r, &e->files);
    common_release(&r->alloc, e);
}

void isolated_kept_count(isolated *r, isolated_kept_entry *e)
{
    isolated_kept *k = r->kept;
    size_t bytes = bytes_of(e);
    k->bytes += bytes - e->bytes;
    e->bytes = bytes;
    while (k->oldest != e && k->bytes > r->options.max_kept)
        drop(r, k->oldest);
}

isolated_kept_entry *isolated_kept_find(const isolated *r, uint64_t number)
{
    isolated_kept *k = r->kept;
    isolated_kept_entry *e = k ? k->chains[number % CHAINS] : NULL;
    while (e && e->number != number)
        e = e->next;
    if (e && e != k->newest) {
        unlink_use(k, e);
        link_use(k, e);
    }
    return e;
}

/* Returns whether the number is among those that were entered, and enters it. */
static bool was_seen(isolated_kept *k, uint64_t number)
{
    uint64_t *set = k->seen[number / CHAINS % SETS];
    size_t i = 0;
    while (i < WAYS - 1 && set[i] != number)
        i++;
    bool found = set[i] == number;
    memmove(set + 1, set, i * sizeof(*set));
    set[0] = number;
    return found;
}

/* Drops the entry of a full chain that was made first. */
static void make_room(const isolated *r, uint64_t number)
{
    isolated_kept_entry *e = r->kept->chains[number % CHAINS];
    size_t n = 0;
    for (; e && e->next; e = e->next)
        n++;
    if (e && n + 1 >= LONGEST_CHAIN)
        drop(r, e);
}

isolated_kept_entry *isolated_kept_enter(isolated *r, uint64_t number)
{
    if (!r->kept) {
        r->kept = common_alloc(&r->alloc, sizeof(*r->kept));
        if (!r->kept)
            return NULL;
        memset(r->kept, 0, sizeof(*r->kept));
    }
    isolated_kept *k = r->kept;
    if (!was_seen(k, number))
        return NULL;
    isolated_kept_entry *e = common_alloc(&r->alloc, sizeof(*e));
    if (!e)
        return NULL;
    make_room(r, number);
    *e = (isolated_kept_entry){.number = number, .next = k->chains[number % CHAINS]};
    k->chains[number % CHAINS] = e;
    link_use(k, e);
    isolated_kept_count(r, e);
    return e;
}

void isolated_kept_clear(isolated *r)
{
    while (r->kept && r->kept->newest)
        drop(r, r->kept->newest);
    common_release(&r->alloc, r->kept);
    r->kept = NULL;
}

size_t isolated_kept_bytes(const isolated *r)
{
    return r->kept ? r->kept->bytes + isolated_block(sizeof(*r->kept)) : 0;
}
