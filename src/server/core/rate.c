/* rate.c: rate limits: how often a caller may call tools, request completions and poll tasks.
 *
 * A caller is identified by its principal, or by its address if it has no principal. All callers
 * with neither share one bucket. A bucket stores one point in time for each kind of request: when
 * the bucket would be full again (the "generic cell rate algorithm"). A bucket is therefore never
 * refilled, and a bucket whose points lie in the past is equal to a new one. At most MAX_CALLERS
 * buckets are kept; the least recently used one is evicted. The limits of mcp_request_take() have
 * buckets of their own, one for each caller and name, of which only the first point is used.
 */
#include <inttypes.h>
#include <stdio.h>

#include "server/core/rate.h"
#include "server/core/request.h"

enum { MAX_CALLERS = 1024, MAX_NAMED = 4096, US = 1000 * 1000, LONGEST_NAME = 128 };

typedef struct bucket {
    mcp__link link; /* in mcp__buckets.recent, most recent last */
    int64_t full[MCP__RATES];
    size_t len;
    /* 'p' and the principal, 'a' and the address, or empty; in `named` NUL and the name follow */
    char caller[];
} bucket;

static bucket *bucket_new(mcp_server *server, mcp__buckets *all, mcp_str caller)
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
    if (mcp__map_add(&all->by_name, (mcp_str){b->caller, b->len}, b) != MCP_OK) {
        mcp__release(a, b);
        return NULL;
    }
    mcp__list_append(&all->recent, &b->link);
    return b;
}

static void bucket_free(mcp_server *server, mcp__buckets *all, bucket *b)
{
    mcp__map_remove(&all->by_name, (mcp_str){b->caller, b->len});
    mcp__list_remove(&b->link);
    mcp__release(&server->allocator, b);
}

static bucket *find(mcp_server *server, mcp__buckets *all, mcp_str caller)
{
    bucket *b = mcp__map_get(&all->by_name, caller);
    if (b) {
        mcp__list_remove(&b->link);
        mcp__list_append(&all->recent, &b->link);
        return b;
    }
    if (all->by_name.count >= all->most)
        bucket_free(server, all, mcp__container(all->recent.next, bucket, link));
    return bucket_new(server, all, caller);
}

/* Returns the bucket of the caller or, with a name, the one of the caller and this name. Returns NULL if
 * out of memory. */
static bucket *bucket_of(const mcp_request *req, const char *own)
{
    mcp__callers *callers = &req->server->callers;
    const mcp_channel_options *o = &req->in.channel->options;
    mcp__buf name = mcp__channel_take_buf(req->in.channel);
    if (o->principal)
        mcp__buf_char(&name, 'p');
    else if (o->caller)
        mcp__buf_char(&name, 'a');
    mcp__buf_str(&name, mcp_str_from(o->principal ? o->principal : o->caller));
    if (own) {
        mcp__buf_char(&name, 0);
        mcp__buf_str(&name, mcp_str_from(own));
    }
    bucket *b = name.failed ? NULL
                            : find(req->server, own ? &callers->named : &callers->buckets,
                                   name.ptr ? mcp__buf_view(&name) : MCP_STR(""));
    mcp__channel_give_buf(req->in.channel, &name);
    return b;
}

/* Takes one unit and returns 0, or returns the number of microseconds until one is available. A unit
 * is added every `each` microseconds. */
static int64_t take(int64_t *full, int64_t each, uint32_t burst, int64_t now)
{
    int64_t full_at = MCP__MAX(*full, now) + each;
    int64_t wait = full_at - now - each * (int64_t)burst;
    if (wait > 0)
        return wait;
    *full = full_at;
    return 0;
}

/* What each limit applies to, in the order of mcp__rate. */
static const struct {
    const char *what, *option;
    mcp__rate_limit standard;
} kinds[MCP__RATES] = {
    {"tool calls", "calls_per_second", {.per_second = 500, .burst = 2000}},
    {"completions", "completions_per_second", {.per_second = 200, .burst = 1000}},
    {"requests about tasks", "polls_per_second", {.per_second = 500, .burst = 2000}},
};

static int refuse(mcp_request *req, mcp__rate which, int64_t ms)
{
    const mcp_server_options *o = &req->server->options;
    const char *option = kinds[which].option;
    const char *name = o->option_name ? o->option_name(option, o->user) : NULL;
    char data[64];
    snprintf(data, sizeof(data), "{\"retryAfterMs\":%" PRId64 "}", ms);
    return mcp_reply_fail_data(
        req, MCP__INTERNAL_ERROR, data,
        "too many %s: one caller may make %" PRIu32 " a second (%s); try again in %" PRId64 " ms",
        kinds[which].what, req->server->callers.limits[which].per_second, name ? name : option, ms);
}

/* Returns the time in microseconds. */
static int64_t now_of(const mcp_request *req)
{
    return MCP__MIN(MCP__MAX(req->in.channel->now, 0), INT64_MAX / 2000) * 1000;
}

int mcp__rate_take(mcp_request *req, mcp__rate which)
{
    const mcp__rate_limit *limit = &req->server->callers.limits[which];
    if (req->server->options.no_rate_limits ||
        (req->in.channel->options.local && !limit->for_local))
        return MCP_OK;
    bucket *b = bucket_of(req, NULL);
    if (!b)
        return MCP_ENOMEM;
    int64_t wait = take(&b->full[which], MCP__MAX(US / (int64_t)limit->per_second, 1), limit->burst,
                        now_of(req));
    return wait ? refuse(req, which, (wait + 999) / 1000) : MCP_OK;
}

int mcp_request_take(mcp_request *req, const mcp_rate *given)
{
    mcp_rate rate;
    int rc = MCP__TAKE(&rate, given, mcp_rate, NULL);
    if (rc == MCP_OK && (!rate.name || strlen(rate.name) > LONGEST_NAME || !rate.per_minute))
        rc = MCP_EINVAL;
    if (rc != MCP_OK || !req->in.channel)
        return rc;
    bucket *b = bucket_of(req, rate.name);
    if (!b)
        return MCP_ENOMEM;
    int64_t wait = take(&b->full[0], MCP__MAX((int64_t)60 * US / (int64_t)rate.per_minute, 1),
                        rate.burst ? rate.burst : rate.per_minute, now_of(req));
    int64_t ms = (wait + 999) / 1000;
    if (!wait)
        return MCP_OK;
    char data[64];
    snprintf(data, sizeof(data), "{\"retryAfterMs\":%" PRId64 "}", ms);
    return mcp_reply_fail_data(req, MCP__INTERNAL_ERROR, data,
                               "too many requests: one caller may make %" PRIu32
                               " a minute (%s); try again in %" PRId64 " ms",
                               rate.per_minute, rate.name, ms);
}

static void set_limit(mcp__callers *callers, mcp__rate which, uint32_t per_second, uint32_t burst)
{
    mcp__rate_limit limit = kinds[which].standard;
    if (per_second)
        limit =
            (mcp__rate_limit){per_second, (uint32_t)MCP__MIN(UINT32_MAX, 4ull * per_second), true};
    if (burst) {
        limit.burst = burst;
        limit.for_local = true;
    }
    callers->limits[which] = limit;
}

static void buckets_init(mcp_server *server, mcp__buckets *all, size_t most)
{
    all->most = most;
    mcp__list_init(&all->recent);
    mcp__map_init(&all->by_name, &server->allocator, (uintptr_t)server, (uintptr_t)all);
}

static void buckets_free(mcp_server *server, mcp__buckets *all)
{
    while (!mcp__list_empty(&all->recent))
        bucket_free(server, all, mcp__container(all->recent.next, bucket, link));
    mcp__map_free(&all->by_name);
}

void mcp__rate_init(mcp_server *server, const mcp_server_options *o)
{
    mcp__callers *callers = &server->callers;
    set_limit(callers, MCP__RATE_CALLS, o->calls_per_second, o->calls_burst);
    set_limit(callers, MCP__RATE_COMPLETIONS, o->completions_per_second, o->completions_burst);
    set_limit(callers, MCP__RATE_POLLS, o->polls_per_second, o->polls_burst);
    buckets_init(server, &callers->buckets, MAX_CALLERS);
    buckets_init(server, &callers->named, MAX_NAMED);
}

void mcp__rate_free(mcp_server *server)
{
    buckets_free(server, &server->callers.buckets);
    buckets_free(server, &server->callers.named);
}
