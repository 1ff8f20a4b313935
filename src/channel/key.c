/* key.c: the table of requests in flight by exchange and id, which serves to refuse an id that is in
 * use.
 */
#include "channel/channel.h"

enum { MAX_ID = 4096 }; /* maximum length of an id as JSON text, which is stored and sent back */

/* Makes the key of a request with an id that is too long for the request struct. Returns MCP_ELIMIT
 * if it is longer than MAX_ID. */
static int make_long_key(mcp_channel *channel, mcp__incoming *in)
{
    mcp__buf key = mcp__channel_take_buf(channel);
    mcp__buf_add(&key, &in->exchange, sizeof(in->exchange));
    mcp__put_id(&key, in->message.id);
    int rc = key.failed;
    if (rc == MCP_OK && key.len > sizeof(in->exchange) + MAX_ID)
        rc = MCP_ELIMIT;
    if (rc == MCP_OK) {
        in->long_key = mcp__alloc(channel->allocator, key.len);
        rc = in->long_key ? MCP_OK : MCP_ENOMEM;
    }
    if (rc == MCP_OK) {
        memcpy(in->long_key, key.ptr, key.len);
        in->key = (mcp_str){in->long_key, key.len};
    }
    mcp__channel_give_buf(channel, &key);
    return rc;
}

static int make_key(mcp_channel *channel, mcp__incoming *in)
{
    /* This buffer is full before it would allocate. */
    mcp__buf key = {.ptr = in->short_key,
                    .cap = sizeof(in->short_key),
                    .limit = sizeof(in->short_key),
                    .allocator = channel->allocator};
    mcp__buf_add(&key, &in->exchange, sizeof(in->exchange));
    mcp__put_id(&key, in->message.id);
    if (key.failed)
        return make_long_key(channel, in);
    in->key = mcp__buf_view(&key);
    return MCP_OK;
}

/* Most requests are answered before their handler returns. These are never entered in the table by
 * key, which saves hashing their keys. A request that is still in flight when its handler has
 * returned is entered then, or earlier if another request arrives during the handler. */
void mcp__channel_enter_running(mcp_channel *channel)
{
    mcp__incoming *in = channel->running;
    channel->running = NULL;
    int rc = in ? mcp__map_add(&channel->in_flight_by_key, in->key, in) : MCP_OK;
    assert(rc == MCP_OK); /* mcp__incoming_take_key() has checked the key and made room */
    (void)rc;
}

void mcp__incoming_forget_key(mcp__incoming *in)
{
    mcp_channel *channel = in->channel;
    if (channel->running == in) {
        channel->running = NULL;
        return;
    }
    mcp__channel_enter_running(
        channel); /* before the table, which becomes smaller, loses the room for it */
    mcp__map_remove(&channel->in_flight_by_key, in->key);
}

void mcp__incoming_moved(mcp__incoming *from, mcp__incoming *to)
{
    mcp_channel *channel = to->channel;
    if (channel->running == from)
        channel->running = to;
    else
        mcp__map_replace(&channel->in_flight_by_key, to->key, to);
}

int mcp__incoming_take_key(mcp__incoming *in)
{
    mcp_channel *channel = in->channel;
    int rc = make_key(channel, in);
    mcp__channel_enter_running(channel);
    if (rc == MCP_OK)
        rc = mcp__map_reserve(&channel->in_flight_by_key);
    if (rc == MCP_OK && mcp__map_get(&channel->in_flight_by_key, in->key))
        rc = MCP_EEXIST;
    if (rc == MCP_OK)
        channel->running = in;
    return rc;
}
