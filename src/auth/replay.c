/* replay.c: see replay.h. The id of a proof and a secret seed determine its row of the table. In a
 * full row, a new proof replaces the one that would expire first. */
#include "auth/replay.h"

enum {
    ROW = 8,
    ID = 16,
};

typedef struct slot {
    unsigned char id[ID];
    int64_t until; /* 0 if the slot is free */
} slot;

struct mcp__replay {
    mcp_allocator allocator;
    uint64_t seed;
    size_t rows;
    slot slots[];
};

int mcp__replay_new(size_t proofs, uint64_t seed, const mcp_allocator *allocator, mcp__replay **ret)
{
    const mcp_allocator *a = mcp__allocator(allocator);
    size_t rows = proofs / ROW + 1;
    if (rows > SIZE_MAX / (ROW * sizeof(slot)) / 2)
        return MCP_ELIMIT;
    mcp__replay *replay = mcp__zalloc(a, sizeof(*replay) + rows * ROW * sizeof(slot));
    if (!replay)
        return MCP_ENOMEM;
    replay->allocator = *a;
    replay->seed = seed;
    replay->rows = rows;
    *ret = replay;
    return MCP_OK;
}

void mcp__replay_free(mcp__replay *replay)
{
    if (!replay)
        return;
    mcp_allocator a = replay->allocator;
    mcp__release(&a, replay);
}

static slot *row_of(mcp__replay *replay, const unsigned char *id)
{
    uint64_t hash;
    memcpy(&hash, id, sizeof(hash));
    hash = (hash ^ replay->seed) * (replay->seed | 1);
    return &replay->slots[(size_t)((hash >> 24) % replay->rows) * ROW];
}

bool mcp__replay_used(mcp__replay *replay, const mcp__dpop_proof *proof, int64_t now)
{
    slot *row = row_of(replay, proof->id), *place = row;
    for (size_t i = 0; i < ROW; i++) {
        if (row[i].until >= now && memcmp(row[i].id, proof->id, ID) == 0)
            return true;
        if (row[i].until < place->until)
            place = &row[i];
    }
    memcpy(place->id, proof->id, ID);
    place->until = proof->issued + MCP__DPOP_WINDOW;
    return false;
}
