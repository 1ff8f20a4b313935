/* incoming.c: requests in flight that need more than a result: those that end with an error, those
 * that are abandoned before their handler has finished, and long-lived ones.
 */
#include "channel/batch.h"

void mcp__incoming_error(mcp__incoming *in, int code, mcp_str message, mcp_str data)
{
    mcp_channel *channel = in->channel;
    mcp__buf b = mcp__channel_take_buf(channel);
    mcp__put_error(&b, mcp__incoming_id(in), MCP__NO_ID_NULL, code, message, data);
    if (b.failed)
        mcp__incoming_drop(in);
    else
        mcp__incoming_reply(in, mcp__buf_view(&b), code);
    mcp__channel_give_buf(channel, &b);
}

void mcp__incoming_abandon(mcp__incoming *in, int code, mcp_str message, mcp_str data)
{
    mcp_channel *channel = in->channel;
    mcp__buf b = mcp__channel_take_buf(channel);
    mcp__put_error(&b, mcp__incoming_id(in), MCP__NO_ID_NULL, code, message, data);
    mcp__incoming_answer_early(in, b.failed ? (mcp_str){0} : mcp__buf_view(&b), code);
    mcp__channel_give_buf(channel, &b);
}

void mcp__incoming_answer_early(mcp__incoming *in, mcp_str message, int code)
{
    mcp_channel *channel = in->channel;
    mcp__incoming_forget_key(in);
    in->abandoned = true;
    channel->n_abandoned++;
    if (message.ptr && in->batch)
        mcp__batch_add(in->batch, message, mcp__incoming_id(in));
    else if (message.ptr)
        mcp__channel_send(channel, in->exchange, message,
                          (mcp_output_info){.kind = MCP_OUTPUT_RESPONSE, .code = code});
    if (in->batch)
        mcp__batch_answered(in->batch);
}

void mcp__incoming_set_long_lived(mcp__incoming *in)
{
    if (!in->long_lived)
        in->channel->n_in_flight--;
    in->long_lived = true;
    if (!in->batch) {
        in->message = (mcp__message){.kind = MCP__REQUEST};
        mcp_json_free(in->doc);
        in->doc = NULL;
        in->channel->bytes_in_flight -= in->bytes;
        in->bytes = 0;
    }
}

/* Moves the first `size` bytes of a request to another block, and frees its block. */
static mcp__incoming *move(mcp__incoming *in, mcp__incoming *to, size_t size)
{
    if (!to)
        return NULL;
    memcpy(to, in, size);
    if (!to->long_key)
        to->key.ptr = to->short_key;
    to->link.prev->next = to->link.next->prev = &to->link;
    mcp__incoming_moved(in, to);
    mcp__release(in->allocator, in);
    return to;
}

mcp__incoming *mcp__incoming_shrink(mcp__incoming *in, size_t size)
{
    assert(in->long_lived && size >= sizeof(*in));
    mcp__incoming *small = in->batch ? NULL : move(in, mcp__alloc(in->allocator, size), size);
    if (!small)
        return in;
    small->shrunk = true;
    return small;
}

mcp__incoming *mcp__incoming_grow(mcp__incoming *in, size_t size)
{
    mcp__incoming *whole =
        move(in, mcp__zalloc(in->allocator, in->channel->role->request_size), size);
    if (whole)
        whole->shrunk = false;
    return whole;
}

mcp__incoming *mcp__channel_find(mcp_channel *channel, const mcp_json *id)
{
    mcp__buf text = mcp__channel_take_buf(channel);
    mcp__put_id(&text, id);
    mcp__incoming *found = NULL;
    for (mcp__link *l = channel->in_flight.next; l != &channel->in_flight && !found; l = l->next) {
        mcp__incoming *in = mcp__container(l, mcp__incoming, link);
        if (!text.failed && !in->abandoned &&
            mcp_str_eq(mcp__incoming_id(in), mcp__buf_view(&text)))
            found = in;
    }
    mcp__channel_give_buf(channel, &text);
    return found;
}

void mcp_channel_exchange_gone(mcp_channel *channel, mcp_exchange exchange, int64_t now)
{
    channel->now = now;
    for (mcp__link *l = channel->in_flight.next; l != &channel->in_flight;) {
        mcp__incoming *in = mcp__container(l, mcp__incoming, link);
        l = l->next;
        if (in->exchange == exchange)
            channel->role->cancel(in);
    }
}
