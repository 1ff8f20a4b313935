/* shares.c: see shares.h. Owners that could lose an entry are in the list of their rank, which is
 * the number of their entries. */
#include "base/shares.h"

void mcp__shares_init(mcp__shares *s, const mcp_allocator *allocator, uint64_t seed0,
                      uint64_t seed1)
{
    *s = (mcp__shares){.allocator = mcp__allocator(allocator)};
    mcp__map_init(&s->owners, allocator, seed0, seed1);
}

void mcp__shares_free(mcp__shares *s)
{
    assert(s->count == 0);
    mcp__map_free(&s->owners);
    mcp__release(s->allocator, s->ranks);
}

/* ---- ranks ----------------------------------------------------------------------------------- */

static int reserve_rank(mcp__shares *s, size_t rank)
{
    if (rank < s->n_ranks)
        return MCP_OK;
    size_t n = MCP__MAX(2 * s->n_ranks, (size_t)8);
    mcp__link **ranks = mcp__resize(s->allocator, s->ranks, n * sizeof(mcp__link *));
    if (!ranks)
        return MCP_ENOMEM;
    memset(ranks + s->n_ranks, 0, (n - s->n_ranks) * sizeof(mcp__link *));
    s->ranks = ranks;
    s->n_ranks = n;
    return MCP_OK;
}

/* Takes the owner out of its rank, if it is in one. */
static void leave_rank(mcp__shares *s, mcp__owner *owner)
{
    mcp__link *next = owner->rank.next, **first = &s->ranks[owner->count];
    mcp__list_remove(&owner->rank);
    if (*first == &owner->rank)
        *first = next == &owner->rank ? NULL : next;
}

/* Makes the owner the last of its rank, if it has an entry that may go. */
static void enter_rank(mcp__shares *s, mcp__owner *owner)
{
    mcp__link **first = &s->ranks[owner->count];
    if (mcp__list_empty(&owner->idle))
        return;
    if (*first)
        mcp__list_append(*first, &owner->rank);
    else
        *first = &owner->rank;
    s->top = MCP__MAX(s->top, owner->count);
}

/* Returns the first owner of the highest rank, or NULL. */
static mcp__owner *richest(mcp__shares *s)
{
    while (s->top && !s->ranks[s->top])
        s->top--;
    return s->top ? mcp__container(s->ranks[s->top], mcp__owner, rank) : NULL;
}

/* ---- entries --------------------------------------------------------------------------------- */

size_t mcp__shares_of(const mcp__shares *s, mcp_str name)
{
    const mcp__owner *owner = mcp__map_get(&s->owners, name);
    return owner ? owner->count : 0;
}

size_t mcp__shares_largest(const mcp__shares *s)
{
    size_t most = 0, at = 0;
    for (const mcp__owner *o; (o = mcp__map_next(&s->owners, &at)) != NULL;)
        most = MCP__MAX(most, o->count);
    return most;
}

mcp__owned *mcp__shares_loser(mcp__shares *s, mcp_str name, bool own)
{
    mcp__owner *loser = mcp__map_get(&s->owners, name), *first = own ? NULL : richest(s);
    if (first && (!loser || first->count > loser->count + 1))
        loser = first;
    return loser && !mcp__list_empty(&loser->idle)
               ? mcp__container(loser->idle.next, mcp__owned, link)
               : NULL;
}

static mcp__owner *owner_new(mcp__shares *s, mcp_str name)
{
    mcp__owner *owner = mcp__zalloc(s->allocator, sizeof(*owner) + name.len);
    if (!owner)
        return NULL;
    mcp__list_init(&owner->rank);
    mcp__list_init(&owner->idle);
    owner->len = name.len;
    if (name.len)
        memcpy(owner->name, name.ptr, name.len);
    if (mcp__map_add(&s->owners, (mcp_str){owner->name, owner->len}, owner) == MCP_OK)
        return owner;
    mcp__release(s->allocator, owner);
    return NULL;
}

int mcp__shares_add(mcp__shares *s, mcp__owned *entry, mcp_str name)
{
    mcp__owner *owner = mcp__map_get(&s->owners, name);
    if (reserve_rank(s, owner ? owner->count + 1 : 1) != MCP_OK)
        return MCP_ENOMEM;
    if (!owner)
        owner = owner_new(s, name);
    if (!owner)
        return MCP_ENOMEM;
    leave_rank(s, owner);
    owner->count++;
    enter_rank(s, owner);
    mcp__list_init(&entry->link);
    entry->owner = owner;
    s->count++;
    return MCP_OK;
}

void mcp__shares_remove(mcp__shares *s, mcp__owned *entry)
{
    mcp__owner *owner = entry->owner;
    leave_rank(s, owner);
    mcp__list_remove(&entry->link);
    entry->owner = NULL;
    owner->count--;
    s->count--;
    enter_rank(s, owner);
    if (owner->count)
        return;
    mcp__map_remove(&s->owners, (mcp_str){owner->name, owner->len});
    mcp__release(s->allocator, owner);
}

void mcp__shares_hold(mcp__shares *s, mcp__owned *entry)
{
    mcp__owner *owner = entry->owner;
    mcp__list_remove(&entry->link);
    if (mcp__list_empty(&owner->idle))
        leave_rank(s, owner);
}

void mcp__shares_release(mcp__shares *s, mcp__owned *entry)
{
    mcp__owner *owner = entry->owner;
    leave_rank(s, owner);
    mcp__list_append(&owner->idle, &entry->link);
    enter_rank(s, owner);
}
