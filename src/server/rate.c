/* rate.c: how often a caller may call tools and ask for completions.
 *
 * A caller is a principal; without one, what the transport says of the peer (an address); without that
 * either, everybody together. A bucket is one point in time for each kind: when it would be full again
 * (the "generic cell rate algorithm"), so that nothing has to be refilled and a bucket whose points lie in the
 * past is as good as none. At most MAX_CALLERS are kept; who was not heard of longest goes first.
 */
#include <inttypes.h>
#include <stdio.h>

#include "server/server.h"

enum { MAX_CALLERS = 1024, US = 1000 * 1000 };

typedef struct bucket {
    mcp__link link; /* in server->callers.recent, the latest last */
    int64_t full[MCP__RATES];
    size_t len;
    char caller[]; /* 'p', 'a' or nothing, then the name */
} bucket;

static bucket *bucket_new(mcp_server *server, mcp_str caller)
{
    const mcp_allocator *a = &server->allocator;
    bucket *b = mcp__alloc(a, sizeof(*b) + caller.len);
    if (!b)
        return NULL;
    memset(b, 0, sizeof(*b));
    for (size_t i = 0; i < MCP__RATES; i++)
        b->full[i] = INT64_MIN;
    b->len = caller.len;
    memcpy(b->caller, caller.ptr, caller.len);
    if (mcp__map_add(&server->callers.by_name, (mcp_str){b->caller, b->len}, b) != MCP_OK) {
        mcp__release(a, b);
        return NULL;
    }
    mcp__list_append(&server->callers.recent, &b->link);
    return b;
}

static void bucket_free(mcp_server *server, bucket *b)
{
    mcp__map_remove(&server->callers.by_name, (mcp_str){b->caller, b->len});
    mcp__list_remove(&b->link);
    mcp__release(&server->allocator, b);
}

static bucket *find(mcp_server *server, mcp_str caller)
{
    mcp__callers *callers = &server->callers;
    bucket *b = mcp__map_get(&callers->by_name, caller);
    if (b) {
        mcp__list_remove(&b->link);
        mcp__list_append(&callers->recent, &b->link);
        return b;
    }
    if (callers->by_name.count >= MAX_CALLERS)
        bucket_free(server, mcp__container(callers->recent.next, bucket, link));
    return bucket_new(server, caller);
}

/* NULL: no memory. */
static bucket *bucket_of(const mcp_request *req)
{
    const mcp_channel_options *o = &req->in.channel->options;
    mcp__buf name = mcp__channel_take_buf(req->in.channel);
    if (o->principal)
        mcp__buf_char(&name, 'p');
    else if (o->caller)
        mcp__buf_char(&name, 'a');
    mcp__buf_str(&name, mcp_str_from(o->principal ? o->principal : o->caller));
    bucket *b =
        name.failed ? NULL : find(req->server, name.ptr ? mcp__buf_view(&name) : MCP_STR(""));
    mcp__channel_give_buf(req->in.channel, &name);
    return b;
}

/* Takes one; else how many microseconds it is too early. */
static int64_t take(int64_t *full, const mcp__rate_limit *limit, int64_t now)
{
    int64_t each = MCP__MAX(US / (int64_t)limit->per_second, 1);
    int64_t then = MCP__MAX(*full, now) + each;
    int64_t early = then - now - each * (int64_t)limit->burst;
    if (early > 0)
        return early;
    *full = then;
    return 0;
}

int mcp__rate_take(mcp_request *req, mcp__rate which)
{
    static const char *const names[] = {"tool calls", "completions"};
    const mcp__rate_limit *limit = &req->server->callers.limits[which];
    if (req->server->options.no_rate_limits)
        return MCP_OK;
    bucket *b = bucket_of(req);
    if (!b)
        return MCP_ENOMEM;
    int64_t now = MCP__MIN(MCP__MAX(req->in.channel->now, 0), INT64_MAX / 2000) * 1000;
    int64_t early = take(&b->full[which], limit, now);
    if (early == 0)
        return MCP_OK;
    char data[64];
    int64_t ms = (early + 999) / 1000;
    snprintf(data, sizeof(data), "{\"retryAfterMs\":%" PRId64 "}", ms);
    return mcp_reply_fail_data(req, MCP__INTERNAL_ERROR, data,
                               "Internal error: more than %" PRIu32
                               " %s a second of one caller: try again in "
                               "%" PRId64 " ms",
                               limit->per_second, names[which], ms);
}

static mcp__rate_limit limit_of(uint32_t per_second, uint32_t burst, mcp__rate_limit standard)
{
    return (mcp__rate_limit){per_second ? per_second : standard.per_second,
                             burst ? burst : standard.burst};
}

void mcp__rate_init(mcp_server *server, const mcp_server_options *o)
{
    mcp__callers *callers = &server->callers;
    callers->limits[MCP__RATE_CALLS] =
        limit_of(o->calls_per_second, o->calls_burst, (mcp__rate_limit){500, 2000});
    callers->limits[MCP__RATE_COMPLETIONS] =
        limit_of(o->completions_per_second, o->completions_burst, (mcp__rate_limit){200, 1000});
    mcp__list_init(&callers->recent);
    mcp__map_init(&callers->by_name, &server->allocator, (uintptr_t)server, (uintptr_t)callers);
}

void mcp__rate_free(mcp_server *server)
{
    mcp__callers *callers = &server->callers;
    while (!mcp__list_empty(&callers->recent))
        bucket_free(server, mcp__container(callers->recent.next, bucket, link));
    mcp__map_free(&callers->by_name);
}
