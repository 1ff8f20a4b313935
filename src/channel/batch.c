/* batch.c: collects the answers to a batch (2025-03-26, basic, "Batching"). */
#include "channel/batch.h"

mcp__batch *mcp__batch_new(mcp_channel *channel, mcp_exchange exchange, mcp_json_doc *doc)
{
    mcp__batch *batch = mcp__zalloc(channel->allocator, sizeof(*batch));
    if (!batch)
        return NULL;
    batch->channel = channel;
    batch->exchange = exchange;
    batch->doc = doc;
    batch->open = batch->refs = 1;
    mcp__buf_init(&batch->out, channel->allocator, channel->options.max_reply);
    return batch;
}

static void append(mcp__batch *batch, mcp_str message)
{
    mcp__buf_char(&batch->out, batch->answers ? ',' : '[');
    mcp__buf_str(&batch->out, message);
}

void mcp__batch_add(mcp__batch *batch, mcp_str message, mcp_str id)
{
    size_t mark = batch->out.len;
    append(batch, message);
    if (batch->out.failed == MCP_ELIMIT) {
        batch->out.failed = MCP_OK;
        batch->out.len = mark;
        mcp__buf error = mcp__channel_take_buf(batch->channel);
        mcp__put_error(
            &error, id, MCP__NO_ID_NULL, MCP__INTERNAL_ERROR,
            MCP_STR("the answers of this batch are longer together than one message may be: "
                    "send the request alone"),
            (mcp_str){0});
        /* A short error is added even if it exceeds the limit. max_batch bounds the number of
         * answers, and so the excess. */
        batch->out.limit += error.len + 2;
        bool short_of_memory = error.failed != MCP_OK;
        if (!short_of_memory)
            append(batch, mcp__buf_view(&error));
        mcp__channel_give_buf(batch->channel, &error);
        if (short_of_memory) {
            batch->is_incomplete = true;
            return;
        }
    }
    batch->answers++;
}

void mcp__batch_answered(mcp__batch *batch)
{
    if (--batch->open)
        return;
    mcp_channel *channel = batch->channel;
    if (batch->answers && channel && !channel->closed) {
        batch->out.limit += 1;
        mcp__buf_char(&batch->out, ']');
        batch->is_incomplete |= batch->out.failed != MCP_OK;
        if (!batch->out.failed)
            mcp__channel_send(channel, batch->exchange, mcp__buf_view(&batch->out),
                              (mcp_output_info){.kind = MCP_OUTPUT_RESPONSE});
    }
    if (batch->is_incomplete && channel && !channel->closed)
        mcp__channel_refuse(channel, batch->exchange, MCP__INTERNAL_ERROR,
                            MCP_STR("out of memory: answers of this batch are missing"));
    mcp__buf_free(&batch->out);
}

void mcp__batch_unref(mcp__batch *batch)
{
    const mcp_allocator *allocator = batch->out.allocator;
    if (--batch->refs)
        return;
    mcp__buf_free(&batch->out);
    mcp_json_free(batch->doc);
    mcp__release(allocator, batch);
}
