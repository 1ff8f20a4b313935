/* batch.h: the array of messages that revision 2025-03-26 allows, answered with one array. */
#ifndef MCP_SRC_BATCH_H
#define MCP_SRC_BATCH_H

#include "channel/channel.h"

/* What a batch needs until its last answer. The document is shared by its requests. */
struct mcp__batch {
    mcp_channel *channel;
    mcp_exchange exchange;
    mcp_json_doc *doc;
    size_t open;    /* requests without an answer, plus one while the batch is being read */
    size_t refs;    /* who still reads the document: those, and requests that are abandoned */
    size_t answers; /* collected in out */
    bool lost;      /* one could not be made: there is no memory */
    mcp__buf out;
};

mcp__batch *mcp__batch_new(mcp_channel *channel, mcp_exchange exchange, mcp_json_doc *doc);
/* Collects one answer; one that would make the array too long becomes a short error. */
void mcp__batch_add(mcp__batch *batch, mcp_str message, mcp_str id);
/* One request less that is to be answered; the last one sends the array. */
void mcp__batch_answered(mcp__batch *batch);
void mcp__batch_unref(mcp__batch *batch);

#endif
