/* walk.c: see walk.h. */
#include "walk.h"

void repo_walk_init(repo_walk *w, const mcp_allocator *alloc)
{
    *w = (repo_walk){.alloc = *alloc};
}

void repo_walk_free(repo_walk *w)
{
    common_release(&w->alloc, w->heap);
    common_release(&w->alloc, w->seen);
    *w = (repo_walk){.alloc = w->alloc};
}

/* ---- set of visited commits ------------------------------------------------------------------ */

static bool is_free(const git_oid *id)
{
    static const git_oid zero;
    return memcmp(id->id, zero.id, GIT_OID_RAWSZ) == 0;
}

static size_t slot_of(const git_oid *table, size_t cap, const git_oid *id)
{
    size_t at;
    memcpy(&at, id->id, sizeof(at));
    for (at &= cap - 1; !is_free(&table[at]); at = (at + 1) & (cap - 1))
        if (memcmp(table[at].id, id->id, GIT_OID_RAWSZ) == 0)
            break;
    return at;
}

bool repo_walk_seen(const repo_walk *w, const git_oid *id)
{
    return w->seen_cap && !is_free(&w->seen[slot_of(w->seen, w->seen_cap, id)]);
}

static int grow_seen(repo_walk *w)
{
    size_t cap = w->seen_cap ? w->seen_cap * 2 : 256;
    git_oid *table = common_alloc(&w->alloc, cap * sizeof(*table));
    if (!table)
        return MCP_ENOMEM;
    memset(table, 0, cap * sizeof(*table));
    for (size_t i = 0; i < w->seen_cap; i++)
        if (!is_free(&w->seen[i]))
            table[slot_of(table, cap, &w->seen[i])] = w->seen[i];
    common_release(&w->alloc, w->seen);
    w->seen = table;
    w->seen_cap = cap;
    return MCP_OK;
}

/* ---- heap ------------------------------------------------------------------------------------ */

static bool before(const repo_step *a, const repo_step *b)
{
    return a->time != b->time ? a->time > b->time : a->order < b->order;
}

static int grow_heap(repo_walk *w)
{
    size_t cap = w->cap ? w->cap * 2 : 64;
    repo_step *heap = w->heap ? w->alloc.resize(w->heap, cap * sizeof(*heap), w->alloc.user)
                              : common_alloc(&w->alloc, cap * sizeof(*heap));
    if (!heap)
        return MCP_ENOMEM;
    w->heap = heap;
    w->cap = cap;
    return MCP_OK;
}

int repo_walk_mark(repo_walk *w, const git_oid *id)
{
    int rc = w->n_seen >= w->seen_cap / 2 ? grow_seen(w) : MCP_OK;
    if (rc != MCP_OK || repo_walk_seen(w, id))
        return rc;
    w->seen[slot_of(w->seen, w->seen_cap, id)] = *id;
    w->n_seen++;
    return MCP_OK;
}

int repo_walk_push(repo_walk *w, const repo_step *step)
{
    if (repo_walk_seen(w, &step->id))
        return MCP_OK;
    int rc = w->n == w->cap ? grow_heap(w) : MCP_OK;
    if (rc == MCP_OK)
        rc = repo_walk_mark(w, &step->id);
    if (rc != MCP_OK)
        return rc;
    repo_step s = *step;
    s.order = w->pushed++;
    size_t i = w->n++;
    for (; i && before(&s, &w->heap[(i - 1) / 2]); i = (i - 1) / 2)
        w->heap[i] = w->heap[(i - 1) / 2];
    w->heap[i] = s;
    return MCP_OK;
}

bool repo_walk_pop(repo_walk *w, repo_step *ret)
{
    if (!w->n)
        return false;
    *ret = w->heap[0];
    repo_step last = w->heap[--w->n];
    size_t i = 0, child;
    while ((child = 2 * i + 1) < w->n) {
        if (child + 1 < w->n && before(&w->heap[child + 1], &w->heap[child]))
            child++;
        if (!before(&w->heap[child], &last))
            break;
        w->heap[i] = w->heap[child];
        i = child;
    }
    w->heap[i] = last;
    return true;
}
