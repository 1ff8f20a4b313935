/* life.c: creates, closes and frees channels, and handles their time-outs. */
#include "channel/batch.h"

static const mcp_default defaults[] = {
    MCP_DEFAULT(mcp_channel_options, max_message, 4 << 20),
    MCP_DEFAULT(mcp_channel_options, max_reply, 64 << 20),
    MCP_DEFAULT(mcp_channel_options, max_depth, 64),
    MCP_DEFAULT(mcp_channel_options, max_in_flight, 1024),
    MCP_DEFAULT(mcp_channel_options, max_in_flight_bytes, 64 << 20),
    MCP_DEFAULT(mcp_channel_options, max_subscriptions, 4096),
    MCP_DEFAULT(mcp_channel_options, max_batch, 256),
};

/* ---- creating and closing -------------------------------------------------------------------- */

static void free_names(mcp_channel *channel)
{
    mcp_identity_unref(channel->options.identity);
    mcp__release(channel->allocator, (void *)(uintptr_t)channel->options.caller);
}

static int copy_names(mcp_channel *channel)
{
    mcp_channel_options *o = &channel->options;
    const char *caller = o->caller;
    int rc = MCP_OK;
    mcp_identity_ref(o->identity);
    if (!o->identity && o->principal)
        rc = mcp_identity_new(MCP_OPTIONS(mcp_identity_options, .principal = o->principal,
                                          .allocator = channel->allocator),
                              &o->identity, NULL);
    o->principal = mcp_identity_principal(o->identity);
    if (caller)
        o->caller = mcp__strdup(channel->allocator, mcp_str_from(caller));
    return rc == MCP_OK && !caller != !o->caller ? MCP_ENOMEM : rc;
}

void mcp__channel_replace_identity(mcp_channel *channel, mcp_identity *identity)
{
    mcp_identity *before = channel->options.identity;
    channel->options.identity = mcp_identity_ref(identity);
    channel->options.principal = mcp_identity_principal(identity);
    mcp_identity_unref(before);
}

int mcp__channel_new(const mcp__role *role, void *state, const mcp_channel_options *options,
                     const mcp_allocator *allocator, mcp_channel **ret, mcp_error *error)
{
    mcp_channel_options given;
    int rc = MCP__TAKE(&given, options, mcp_channel_options, error);
    if (rc != MCP_OK)
        return rc;
    if (!given.send)
        return mcp__fail(error, MCP_EINVAL, 0, "a channel needs its \"send\" function");

    mcp_channel *channel = mcp__zalloc(allocator, sizeof(*channel));
    if (!channel)
        return mcp__fail(error, MCP_ENOMEM, 0, "no memory for a channel");
    channel->allocator = allocator;
    channel->role = role;
    channel->state = state;
    channel->options = given;
    MCP_SET_DEFAULTS(&channel->options, defaults);
    channel->writable = true;
    mcp__list_init(&channel->in_flight);
    mcp__list_init(&channel->outgoing);
    mcp__map_init(&channel->in_flight_by_key, channel->allocator, (uintptr_t)channel,
                  (uintptr_t)&given);
    channel->spare = &channel->own_spare;
    mcp__buf_init(channel->spare, channel->allocator, channel->options.max_reply);
    rc = copy_names(channel);
    if (rc != MCP_OK) {
        free_names(channel);
        mcp__release(allocator, channel);
        return mcp__fail(error, rc, 0, "a channel: %s", mcp_error_text(rc));
    }
    *ret = channel;
    return MCP_OK;
}

static void cancel_all(mcp_channel *channel)
{
    for (mcp__link *l = channel->in_flight.next; l != &channel->in_flight;) {
        mcp__incoming *in = mcp__container(l, mcp__incoming, link);
        l = l->next;
        channel->role->cancel(in);
    }
}

void mcp_channel_close(mcp_channel *channel, int64_t now)
{
    if (channel->closed)
        return;
    channel->now = now;
    channel->role->close(channel);
    channel->closed = true;
    cancel_all(channel);
    mcp__outgoing_fail_all(channel, MCP_ECLOSED);
}

void mcp_channel_free(mcp_channel *channel)
{
    if (!channel)
        return;
    if (!channel->closed) {
        channel->closed = true; /* stops all output */
        channel->role->close(channel);
        cancel_all(channel);
        mcp__outgoing_fail_all(channel, MCP_ECLOSED);
    }
    /* Requests whose handler has not called mcp_reply_finish() yet outlive the channel. */
    for (mcp__link *l = channel->in_flight.next; l != &channel->in_flight;) {
        mcp__incoming *in = mcp__container(l, mcp__incoming, link);
        l = l->next;
        mcp__list_remove(&in->link);
        in->channel = NULL;
        if (in->batch)
            in->batch->channel = NULL;
    }
    channel->role->release(channel);
    mcp__map_free(&channel->in_flight_by_key);
    mcp__buf_free(&channel->own_spare);
    free_names(channel);
    mcp__release(channel->allocator, channel);
}

size_t mcp_channel_max_message(const mcp_channel *channel)
{
    return channel->options.max_message;
}

size_t mcp_channel_in_flight(const mcp_channel *channel)
{
    return channel->n_in_flight - channel->n_abandoned;
}

const char *mcp_channel_revision(const mcp_channel *channel)
{
    return channel->role->revision ? channel->role->revision(channel) : NULL;
}

void mcp__channel_share_spare(mcp_channel *channel, mcp__buf *spare)
{
    if (!spare->allocator)
        mcp__buf_init(spare, channel->allocator, 0);
    channel->spare = spare;
}

/* ---- time ------------------------------------------------------------------------------------ */

void mcp_channel_tick(mcp_channel *channel, int64_t now)
{
    if (channel->closed)
        return;
    channel->now = now;
    channel->in_use = true;
    mcp__outgoing_tick(channel);
    channel->role->tick(channel, now);
    channel->in_use = false;
}

void mcp__channel_flush(mcp_channel *channel, int64_t now)
{
    if (channel->closed || channel->in_use || !channel->writable || !channel->role->flush)
        return;
    channel->now = now;
    channel->in_use = true;
    channel->role->flush(channel);
    channel->in_use = false;
}

void mcp_channel_set_writable(mcp_channel *channel, bool writable, int64_t now)
{
    bool resumed = writable && !channel->writable;
    channel->writable = writable;
    if (resumed)
        mcp_channel_tick(channel, now);
}
