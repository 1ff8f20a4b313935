/* batch.h: a batch: an array of messages, which is answered with one array (2025-03-26 only). */
#ifndef MCP_SRC_BATCH_H
#define MCP_SRC_BATCH_H

#include "channel/channel.h"

#include <mcp/sys/channel.h>

/* The state of a batch until its last answer. Its requests share the document. */
struct mcp__batch {
    mcp_channel *channel;
    mcp_exchange exchange;
    mcp_json_doc *doc;
    size_t open;        /* requests without an answer, plus one while the batch is being read */
    size_t refs;        /* users of the document: those counted in `open`, and abandoned requests */
    size_t answers;     /* number of answers in `out` */
    bool is_incomplete; /* out of memory: an answer is missing */
    mcp__buf out;
};

mcp__batch *mcp__batch_new(mcp_channel *channel, mcp_exchange exchange, mcp_json_doc *doc);
/* Collects one answer. An answer that would make the array too long is replaced with a short
 * error. */
void mcp__batch_add(mcp__batch *batch, mcp_str message, mcp_str id);
/* Counts one request as answered. After the last one the array is sent. */
void mcp__batch_answered(mcp__batch *batch);
void mcp__batch_unref(mcp__batch *batch);

#endif
