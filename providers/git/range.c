/* range.c: see range.h. Commits are visited newest first and painted with the sides that reach
 * them; the paint is passed on to their parents. The walk ends when no queued commit can
 * change the result. */
#include "range.h"

enum { FROM = 1, TO = 2, BOTH = FROM | TO, STALE = 4, MAX_PAINTED = 20000, SLOP = 1000 };

/* Which commits are settled, meaning that they need no further examination. */
typedef enum wanted {
    WANT_TO,     /* those reachable from `from` */
    WANT_PARTED, /* those reachable from both sides */
    WANT_BASE,   /* those reachable from a common ancestor that was already found */
} wanted;

typedef struct spot {
    git_oid id;
    int64_t time;
    unsigned paint; /* 0 if the slot is free */
    bool waits;
} spot;

typedef struct painting {
    repo_use *u;
    mcp_allocator alloc;
    spot *table; /* open addressing */
    size_t n, cap;
    size_t *heap, n_heap; /* indices into the table, newest commit first; as large as the table */
    size_t open;          /* number of queued commits that are not settled */
    size_t painted;
    int64_t oldest; /* the oldest time of an unsettled commit */
    wanted want;
} painting;

static bool is_settled(const painting *p, const spot *s)
{
    switch (p->want) {
    case WANT_TO: return s->paint & FROM;
    case WANT_PARTED: return s->paint == BOTH;
    default: return s->paint & STALE;
    }
}

static size_t slot_of(const spot *table, size_t cap, const git_oid *id)
{
    size_t at;
    memcpy(&at, id->id, sizeof(at));
    for (at &= cap - 1; table[at].paint; at = (at + 1) & (cap - 1))
        if (git_oid_equal(&table[at].id, id))
            break;
    return at;
}

/* ---- heap ------------------------------------------------------------------------------------ */

static void sink(painting *p, size_t i)
{
    size_t child, moved = p->heap[i];
    while ((child = 2 * i + 1) < p->n_heap) {
        if (child + 1 < p->n_heap &&
            p->table[p->heap[child + 1]].time > p->table[p->heap[child]].time)
            child++;
        if (p->table[p->heap[child]].time <= p->table[moved].time)
            break;
        p->heap[i] = p->heap[child];
        i = child;
    }
    p->heap[i] = moved;
}

static void wait_in_heap(painting *p, size_t slot)
{
    size_t i = p->n_heap++;
    for (; i && p->table[p->heap[(i - 1) / 2]].time < p->table[slot].time; i = (i - 1) / 2)
        p->heap[i] = p->heap[(i - 1) / 2];
    p->heap[i] = slot;
}

static spot *pop(painting *p)
{
    spot *s = &p->table[p->heap[0]];
    p->heap[0] = p->heap[--p->n_heap];
    if (p->n_heap)
        sink(p, 0);
    s->waits = false;
    p->open -= !is_settled(p, s);
    return s;
}

/* ---- table ----------------------------------------------------------------------------------- */

static int grow(painting *p)
{
    painting grown = *p;
    grown.cap = p->cap ? p->cap * 2 : 256;
    grown.table = common_alloc(&p->alloc, grown.cap * sizeof(*grown.table));
    grown.heap = common_alloc(&p->alloc, grown.cap * sizeof(*grown.heap));
    if (!grown.table || !grown.heap) {
        common_release(&p->alloc, grown.table);
        common_release(&p->alloc, grown.heap);
        return MCP_ENOMEM;
    }
    memset(grown.table, 0, grown.cap * sizeof(*grown.table));
    grown.n_heap = 0;
    for (size_t i = 0; i < p->cap; i++) {
        if (!p->table[i].paint)
            continue;
        size_t slot = slot_of(grown.table, grown.cap, &p->table[i].id);
        grown.table[slot] = p->table[i];
        if (p->table[i].waits)
            wait_in_heap(&grown, slot);
    }
    common_release(&p->alloc, p->table);
    common_release(&p->alloc, p->heap);
    *p = grown;
    return MCP_OK;
}

static int read_time(const painting *p, const git_oid *id, int64_t *ret)
{
    repo_commit c;
    int rc = repo_commit_read(p->u, id, &c);
    if (rc != MCP_OK)
        return rc;
    *ret = c.committer.time;
    repo_commit_free(&c);
    return MCP_OK;
}

static int paint(painting *p, const git_oid *id, unsigned color)
{
    int64_t time = 0;
    int rc = p->n >= p->cap / 2 ? grow(p) : MCP_OK;
    if (rc != MCP_OK)
        return rc;
    size_t slot = slot_of(p->table, p->cap, id);
    spot *s = &p->table[slot];
    if (!s->paint) {
        if ((rc = read_time(p, id, &time)) != MCP_OK)
            return rc;
        *s = (spot){.id = *id, .time = time};
        p->n++;
    } else if ((s->paint | color) == s->paint) {
        return MCP_OK;
    }
    bool was_open = s->waits && !is_settled(p, s);
    s->paint |= color;
    p->open -= was_open;
    p->open += !is_settled(p, s);
    if (!s->waits)
        wait_in_heap(p, slot);
    s->waits = true;
    return MCP_OK;
}

static int hand_on(painting *p, const git_oid *id, unsigned color)
{
    repo_commit c;
    int rc = repo_commit_read(p->u, id, &c);
    if (rc != MCP_OK)
        return rc;
    for (size_t i = 0; rc == MCP_OK && i < c.n_parents; i++) {
        git_oid parent = repo_commit_parent(&c, i);
        rc = paint(p, &parent, color);
        if (rc == MCP_ENOTFOUND && repo_layout_is_shallow(p->u->layout))
            rc = MCP_OK; /* the history of a shallow clone ends here */
    }
    repo_commit_free(&c);
    return rc;
}

static int begin(painting *p, repo_use *u, const git_oid *from, const git_oid *to)
{
    p->u = u;
    p->alloc = u->layout->alloc;
    int rc = paint(p, from, FROM);
    return rc == MCP_OK ? paint(p, to, TO) : rc;
}

static void end(const painting *p)
{
    common_release(&p->alloc, p->table);
    common_release(&p->alloc, p->heap);
}

static int count(painting *p)
{
    if (++p->painted > MAX_PAINTED) {
        p->u->too_large = 0;
        return MCP_ELIMIT;
    }
    return p->painted % 64 ? MCP_OK : repo_use_check(p->u);
}

/* Returns whether to continue the walk. It continues while a queued commit may change the result,
 * and then past the oldest unsettled commit for some more commits, because clocks may have been
 * wrong. */
static bool goes_on(const painting *p, size_t *more)
{
    if (!p->n_heap)
        return false;
    if (p->open)
        return true;
    if (p->painted >= MAX_PAINTED)
        return false;
    if (p->table[p->heap[0]].time < p->oldest)
        --*more;
    return *more;
}

static int paint_all(painting *p)
{
    int rc = MCP_OK;
    size_t more = SLOP;
    p->oldest = INT64_MAX;
    while (rc == MCP_OK && goes_on(p, &more)) {
        const spot *s = pop(p);
        git_oid id = s->id;
        unsigned color = s->paint;
        if (!is_settled(p, s) && s->time < p->oldest)
            p->oldest = s->time;
        if (p->want == WANT_BASE && color == BOTH)
            color |= STALE;
        rc = count(p);
        if (rc == MCP_OK)
            rc = hand_on(p, &id, color);
    }
    return rc;
}

int repo_range_ends(repo_use *u, const git_oid *from, const git_oid *to, bool parted,
                    common_buffer *ret)
{
    painting p = {.want = parted ? WANT_PARTED : WANT_TO};
    int rc = begin(&p, u, from, to);
    rc = rc == MCP_OK ? paint_all(&p) : rc;
    for (size_t i = 0; rc == MCP_OK && i < p.cap; i++)
        if (p.table[i].paint && is_settled(&p, &p.table[i]))
            rc = common_buffer_append(ret, p.table[i].id.id, GIT_OID_RAWSZ);
    end(&p);
    return rc == MCP_ENOTFOUND ? MCP_EIO : rc;
}

/* Chooses the newest common ancestor that is not reachable from another one. */
static int choose_base(const painting *p, git_oid *ret)
{
    const spot *best = NULL;
    for (size_t i = 0; i < p->cap; i++)
        if (p->table[i].paint == BOTH && (!best || p->table[i].time > best->time))
            best = &p->table[i];
    if (!best)
        return MCP_ENOTFOUND;
    *ret = best->id;
    return MCP_OK;
}

int repo_range_base(repo_use *u, const git_oid *a, const git_oid *b, git_oid *ret)
{
    painting p = {.want = WANT_BASE};
    int rc = begin(&p, u, a, b);
    rc = rc == MCP_OK ? paint_all(&p) : rc;
    if (rc == MCP_OK)
        rc = choose_base(&p, ret);
    else if (rc == MCP_ENOTFOUND)
        rc = MCP_EIO;
    end(&p);
    return rc;
}
