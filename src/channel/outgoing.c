/* outgoing.c: outgoing requests in flight.
 *
 * Their ids are integers. An answer whose id matches no request is dropped and counted.
 */
#include "channel/channel.h"

typedef struct outgoing {
    mcp__link link;
    int64_t id;
    int64_t deadline;
    mcp__answer_fn *fn;
    void *user;
} outgoing;

static outgoing *find(const mcp_channel *channel, int64_t id)
{
    for (mcp__link *l = channel->outgoing.next; l != &channel->outgoing; l = l->next) {
        outgoing *o = mcp__container(l, outgoing, link);
        if (o->id == id)
            return o;
    }
    return NULL;
}

static bool has_one(const mcp_channel *channel)
{
    return !mcp__list_empty(&channel->outgoing) && channel->outgoing.next == channel->outgoing.prev;
}

static void finish(mcp_channel *channel, outgoing *o, int rc, const mcp_json *result)
{
    mcp__list_remove(&o->link);
    mcp__answer_fn *fn = o->fn;
    void *user = o->user;
    mcp__release(channel->allocator, o);
    fn(channel, rc, result, user);
}

int mcp__channel_request(mcp_channel *channel, mcp_exchange exchange, mcp_str method,
                         mcp_str params, uint64_t timeout_ms, mcp__answer_fn *fn, void *user,
                         int64_t *ret_id)
{
    if (channel->closed)
        return MCP_ECLOSED;
    outgoing *o = mcp__zalloc(channel->allocator, sizeof(*o));
    if (!o)
        return MCP_ENOMEM;
    o->id = ++channel->next_id;
    o->fn = fn;
    o->user = user;
    o->deadline = INT64_MAX;
    if (timeout_ms && timeout_ms < (uint64_t)(INT64_MAX - channel->now))
        o->deadline = channel->now + (int64_t)timeout_ms;

    mcp__buf b = mcp__channel_take_buf(channel);
    mcp__put_request_head(&b, o->id, method);
    mcp__buf_str(&b, params);
    mcp__buf_char(&b, '}');
    int rc = b.failed;
    if (rc == MCP_OK) {
        mcp__list_append(&channel->outgoing, &o->link);
        if (ret_id)
            *ret_id = o->id;
        mcp__channel_send(channel, exchange, mcp__buf_view(&b),
                          (mcp_output_info){.kind = MCP_OUTPUT_REQUEST});
        mcp__channel_wake(channel);
    } else {
        mcp__release(channel->allocator, o);
    }
    mcp__channel_give_buf(channel, &b);
    return rc;
}

int mcp__channel_notify(mcp_channel *channel, mcp_exchange exchange, mcp_str method, mcp_str params)
{
    if (channel->closed)
        return MCP_ECLOSED;
    mcp__buf b = mcp__channel_take_buf(channel);
    mcp__put_notification_head(&b, method);
    mcp__buf_str(&b, params);
    mcp__buf_char(&b, '}');
    int rc = b.failed;
    if (rc == MCP_OK)
        mcp__channel_send(channel, exchange, mcp__buf_view(&b), (mcp_output_info){0});
    mcp__channel_give_buf(channel, &b);
    return rc;
}

bool mcp__channel_forget(mcp_channel *channel, int64_t id)
{
    outgoing *o = find(channel, id);
    if (!o)
        return false;
    mcp__list_remove(&o->link);
    mcp__release(channel->allocator, o);
    return true;
}

bool mcp__channel_awaits(const mcp_channel *channel, int64_t id)
{
    return find(channel, id) != NULL;
}

bool mcp__channel_fail(mcp_channel *channel, int64_t id, int rc, const mcp_json *result)
{
    outgoing *o = find(channel, id);
    if (!o)
        return false;
    finish(channel, o, rc, result);
    return true;
}

bool mcp__channel_set_timeout(mcp_channel *channel, int64_t id, int64_t at)
{
    outgoing *o = find(channel, id);
    if (!o)
        return false;
    o->deadline = at;
    return true;
}

void mcp__outgoing_answer(mcp_channel *channel, const mcp__message *message)
{
    outgoing *o = NULL;
    if (mcp_json_is(message->id, MCP_JSON_INT))
        o = find(channel, mcp_json_int(message->id, 0));
    else if (!message->id && has_one(channel))
        o = mcp__container(channel->outgoing.next, outgoing,
                           link); /* the peer could not read the id of the request */
    if (o)
        finish(channel, o, message->kind == MCP__RESULT ? MCP_OK : MCP_EREMOTE, message->result);
    else
        channel->stray_answers++;
}

void mcp__outgoing_tick(mcp_channel *channel)
{
    /* A callback may add or remove other requests, so the search begins again after each callback.
     * Time-outs are rare. */
    for (mcp__link *l = channel->outgoing.next; l != &channel->outgoing;) {
        outgoing *o = mcp__container(l, outgoing, link);
        l = l->next;
        if (o->deadline <= channel->now) {
            finish(channel, o, MCP_ETIMEOUT, NULL);
            l = channel->outgoing.next;
        }
    }
}

int64_t mcp__outgoing_deadline(const mcp_channel *channel)
{
    int64_t earliest = INT64_MAX;
    for (mcp__link *l = channel->outgoing.next; l != &channel->outgoing; l = l->next) {
        const outgoing *o = mcp__container(l, outgoing, link);
        earliest = MCP__MIN(earliest, o->deadline);
    }
    return earliest;
}

void mcp__outgoing_fail_all(mcp_channel *channel, int rc)
{
    while (!mcp__list_empty(&channel->outgoing))
        finish(channel, mcp__container(channel->outgoing.next, outgoing, link), rc, NULL);
}
