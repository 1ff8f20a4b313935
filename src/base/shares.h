/* shares.h: whose entry goes when a table is full (shares.c).
 *
 * Entries belong to owners, for example sessions to callers. An entry that is in use cannot go; of the
 * others, an owner loses the one that has been unused longest. An owner that has reached its share
 * loses one of its own. If the table is full, the owner with most entries loses one, but only to an
 * owner that will still have fewer; any other loses one of its own. So an owner can lose entries to
 * others only while it has more than they get. The exception is an owner without any entry, which gets
 * a first one: if nobody has more than one, whoever has used the own one longest ago loses it.
 *
 * No function but mcp__shares_largest() looks at all entries or all owners. */
#ifndef MCP_SRC_BASE_SHARES_H
#define MCP_SRC_BASE_SHARES_H

#include "base/base.h"

typedef struct mcp__owner {
    mcp__link rank; /* with the other owners of as many entries, last moved last */
    mcp__link idle; /* of mcp__owned, the one to go first */
    size_t count;   /* of all its entries */
    size_t len;
    char name[];
} mcp__owner;

/* Part of an entry. */
typedef struct mcp__owned {
    mcp__link link; /* in owner->idle, or in no list while it is in use */
    mcp__owner *owner;
} mcp__owned;

typedef struct mcp__shares {
    const mcp_allocator *allocator;
    mcp__map owners;   /* mcp__owner, by name */
    mcp__link **ranks; /* by number of entries: the first owner with an idle entry, or NULL */
    size_t n_ranks;
    size_t top; /* no rank above has an owner */
    size_t count;
} mcp__shares;

MCP__SHARED void mcp__shares_init(mcp__shares *s, const mcp_allocator *allocator, uint64_t seed0,
                                  uint64_t seed1);
/* All entries have been removed. */
MCP__SHARED void mcp__shares_free(mcp__shares *s);

/* Returns the entry that goes so that this owner gets one more: with `own`, one of its own, because it
 * has its share; otherwise by the rules above, because the table is full. Returns NULL if none may go. */
MCP__SHARED mcp__owned *mcp__shares_loser(mcp__shares *s, mcp_str owner, bool own);
/* Adds an entry, which is in use. Returns MCP_OK or MCP_ENOMEM. */
MCP__SHARED int mcp__shares_add(mcp__shares *s, mcp__owned *entry, mcp_str owner);
MCP__SHARED void mcp__shares_remove(mcp__shares *s, mcp__owned *entry);
/* The entry is in use from now on, or not any more. It must have been the opposite. */
MCP__SHARED void mcp__shares_hold(mcp__shares *s, mcp__owned *entry);
MCP__SHARED void mcp__shares_release(mcp__shares *s, mcp__owned *entry);
/* Returns how many entries the owner has. */
MCP__SHARED size_t mcp__shares_of(const mcp__shares *s, mcp_str owner);
/* Returns how many the owner with most entries has. */
MCP__SHARED size_t mcp__shares_largest(const mcp__shares *s);

#endif
