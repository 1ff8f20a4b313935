/* rate.c: rate limits: how often a caller may call tools, request completions and poll tasks.
 *
 * A caller is identified by its principal, or by its address if it has no principal. All callers
 * with neither share one bucket. A bucket stores one point in time for each kind of request: when
 * the bucket would be full again (the "generic cell rate algorithm"). A bucket is therefore never
 * refilled, and a bucket whose points lie in the past is equal to a new one. At most MAX_CALLERS
 * buckets are kept; the least recently used one is evicted. The limits of mcp_request_take() have
 * buckets of their own, one for each caller and name, of which only the first point is used.
 *
 * Instances that share limits tell each other, a little later, how far each request has moved a point, and move
 * their own as far. No request waits for that. What was taken at several instances at the same time
 * leaves a bucket in debt, so that the rate is right over time; but at most by its size, so that what
 * is heard late does no harm.
 */
#include <inttypes.h>
#include <stdio.h>

#include "server/core/rate.h"
#include "server/core/request.h"
#include "server/methods/methods.h"
#include "server/share/share.h"

enum { MAX_CALLERS = 1024, MAX_NAMED = 4096, US = 1000 * 1000, LONGEST_NAME = 128 };

typedef struct bucket {
    mcp__link link; /* in mcp__buckets.recent, most recent last */
    int64_t full[MCP__RATES];
    mcp__link untold; /* in mcp__callers.untold */
    int64_t taken
        [MCP__RATES]; /* microseconds by which the points moved, of which others were not told */
    int64_t most[MCP__RATES]; /* the size of the bucket, in microseconds */
    size_t len;
    /* 'p' and the principal, 'a' and the address, or empty; in `named` also 't' for all, and NUL and the
     * name follow */
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
    mcp__list_init(&b->untold);
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
    mcp__list_remove(&b->untold);
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

/* Returns the bucket of the caller or, with a name, the one of the caller or of all and this name. Returns NULL if
 * out of memory. */
static bucket *bucket_of(const mcp_request *req, const char *own, bool together)
{
    mcp__callers *callers = &req->server->callers;
    const mcp_channel_options *o = &req->in.channel->options;
    mcp__buf name = mcp__channel_take_buf(req->in.channel);
    const char *caller = o->principal ? o->principal : o->caller;
    if (together)
        mcp__buf_char(&name, 't');
    else if (caller)
        mcp__buf_char(&name, o->principal ? 'p' : 'a');
    if (!together)
        mcp__buf_str(&name, mcp_str_from(caller));
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

/* ---- limits that instances share ------------------------------------------------------------- */

/* The text of an item: '0' and the mcp__rate, or NAMED; the time that was taken and the size of the
 * bucket, 8 bytes each; the key of the bucket. */
enum { ITEM_HEAD = 1 + 8 + 8, NAMED = '0' + MCP__RATES, LONGEST_KEY = 1024 };
#define LONGEST_US (INT64_C(1) << 42) /* about 50 days */

static void note(mcp_server *server, bucket *b, size_t which, int64_t each, int64_t most)
{
    if (!mcp__share_limits(server) || b->len > LONGEST_KEY)
        return;
    b->taken[which] = MCP__MIN(b->taken[which] + each, LONGEST_US);
    b->most[which] = MCP__MIN(most, LONGEST_US);
    if (mcp__list_empty(&b->untold))
        mcp__list_append(&server->callers.untold, &b->untold);
    mcp__share_soon(server);
}

static void put_us(char to[8], int64_t us)
{
    for (size_t i = 0; i < 8; i++)
        to[i] = (char)(unsigned char)((uint64_t)us >> (56 - 8 * i));
}

static int64_t get_us(const char *from)
{
    uint64_t us = 0;
    for (size_t i = 0; i < 8; i++)
        us = us << 8 | (unsigned char)from[i];
    return us > (uint64_t)LONGEST_US ? -1 : (int64_t)us;
}

static void tell(bucket *b, mcp__buf *entry)
{
    char text[ITEM_HEAD + LONGEST_KEY];
    bool named = b->len && memchr(b->caller, 0, b->len);
    for (size_t i = 0; i < MCP__RATES; i++) {
        if (!b->taken[i])
            continue;
        text[0] = named ? NAMED : (char)('0' + i);
        put_us(text + 1, b->taken[i]);
        put_us(text + 9, b->most[i]);
        memcpy(text + ITEM_HEAD, b->caller, b->len);
        mcp__entry_put_item(entry, MCP__MARK_TAKEN, (mcp_str){text, ITEM_HEAD + b->len});
    }
    memset(b->taken, 0, sizeof(b->taken));
    mcp__list_remove(&b->untold);
}

void mcp__rate_tell(mcp_server *server, mcp__buf *entry, size_t limit)
{
    mcp__link *untold = &server->callers.untold;
    while (!mcp__list_empty(untold)) {
        bucket *b = mcp__container(untold->next, bucket, untold);
        if (entry->len + MCP__RATES * (MCP__ENTRY_ITEM + ITEM_HEAD + b->len) > limit)
            break;
        tell(b, entry);
    }
}

bool mcp__rate_has_untold(const mcp_server *server)
{
    return !mcp__list_empty(&server->callers.untold);
}

void mcp__rate_forget(mcp_server *server)
{
    mcp__link *untold = &server->callers.untold;
    while (!mcp__list_empty(untold)) {
        bucket *b = mcp__container(untold->next, bucket, untold);
        memset(b->taken, 0, sizeof(b->taken));
        mcp__list_remove(&b->untold);
    }
}

void mcp__rate_told(mcp_server *server, mcp_str text)
{
    mcp__callers *callers = &server->callers;
    if (!mcp__share_limits(server) || text.len < ITEM_HEAD || text.len > ITEM_HEAD + LONGEST_KEY)
        return;
    bool named = text.ptr[0] == NAMED;
    int64_t taken = get_us(text.ptr + 1), most = get_us(text.ptr + 9);
    if (text.ptr[0] < '0' || text.ptr[0] > NAMED || taken < 0 || most < 0)
        return;
    bucket *b =
        find(server, named ? &callers->named : &callers->buckets, mcp__str_sub(text, ITEM_HEAD));
    if (!b)
        return;
    int64_t *full = &b->full[named ? 0 : text.ptr[0] - '0'];
    int64_t now = server->host.now(server->host.user) * 1000, from = MCP__MAX(*full, now);
    *full = MCP__MAX(from, MCP__MIN(from + taken, now + 2 * most));
}

/* ---- taking ---------------------------------------------------------------------------------- */

/* Takes one unit and returns 0, or returns the number of microseconds until one is available. A unit
 * is added every `each` microseconds. */
static int64_t take(mcp_server *server, bucket *b, size_t which, int64_t each, uint32_t burst,
                    int64_t now)
{
    int64_t full_at = MCP__MAX(b->full[which], now) + each, most = each * (int64_t)burst;
    int64_t wait = full_at - now - most;
    if (wait > 0)
        return wait;
    b->full[which] = full_at;
    note(server, b, which, each, most);
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

static const char one_caller[] = "one caller";

/* Makes the reply an error that says when to try again. `which` may be MCP__RATES. */
static int refuse(mcp_request *req, size_t which, int64_t ms, const char *what, const char *who,
                  uint32_t number, const char *span, const char *name)
{
    char data[64];
    snprintf(data, sizeof(data), "{\"retryAfterMs\":%" PRId64 "}", ms);
    req->server->callers.refused[which]++;
    req->used.limited = true;
    req->in.retry_after_s = (int)MCP__MIN((ms + 999) / 1000, INT32_MAX);
    return mcp_reply_fail_data(req, MCP_CODE_RATE, data,
                               "too many %s: %s may make %" PRIu32
                               " a %s (%s); try again in %" PRId64 " ms",
                               what, who, number, span, name, ms);
}

static int refuse_kind(mcp_request *req, mcp__rate which, int64_t ms)
{
    const mcp_server_options *o = &req->server->options;
    const char *option = kinds[which].option;
    const char *name = o->option_name ? o->option_name(option, o->user) : NULL;
    return refuse(req, which, ms, kinds[which].what, one_caller,
                  req->server->callers.limits[which].per_second, "second", name ? name : option);
}

const char *mcp_server_rate_refusals(const mcp_server *server, size_t i, uint64_t *count)
{
    if (i > MCP__RATES)
        return NULL;
    *count = server->callers.refused[i];
    return i < MCP__RATES ? kinds[i].option : "rates";
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
    bucket *b = bucket_of(req, NULL, false);
    if (!b)
        return MCP_ENOMEM;
    int64_t wait = take(req->server, b, which, MCP__MAX(US / (int64_t)limit->per_second, 1),
                        limit->burst, now_of(req));
    return wait ? refuse_kind(req, which, (wait + 999) / 1000) : MCP_OK;
}

int mcp_request_take(mcp_request *req, const mcp_rate *given)
{
    mcp_rate rate;
    int rc = MCP__TAKE(&rate, given, mcp_rate, NULL);
    if (rc == MCP_OK && (!rate.name || strlen(rate.name) > LONGEST_NAME || !rate.per_minute))
        rc = MCP_EINVAL;
    if (rc != MCP_OK || !req->in.channel)
        return rc;
    bucket *b = bucket_of(req, rate.name, rate.together);
    if (!b)
        return MCP_ENOMEM;
    int64_t wait = take(req->server, b, 0, MCP__MAX((int64_t)60 * US / (int64_t)rate.per_minute, 1),
                        rate.burst ? rate.burst : rate.per_minute, now_of(req));
    int64_t ms = (wait + 999) / 1000;
    if (!wait)
        return MCP_OK;
    return refuse(req, MCP__RATES, ms, "requests",
                  rate.together ? "all callers together" : one_caller, rate.per_minute, "minute",
                  rate.name);
}

void mcp_server_set_rates_hook(mcp_server *server,
                               int (*hook)(mcp_request *req, mcp_item item, mcp_str name,
                                           void *user),
                               void *user)
{
    server->rates_hook = hook;
    server->rates_hook_user = user;
}

int mcp__rate_ask(mcp_request *req)
{
    static const struct {
        mcp__method_id method;
        mcp_item item;
        const char *param;
    } counted[] = {
        {MCP__METHOD_CALL, MCP_ITEM_TOOL, "name"},
        {MCP__METHOD_GET_PROMPT, MCP_ITEM_PROMPT, "name"},
        {MCP__METHOD_READ, MCP_ITEM_RESOURCE, "uri"},
    };
    mcp_server *server = req->server;
    for (size_t i = 0; i < MCP__COUNT(counted) && !req->in.channel->options.inner; i++) {
        if (req->method != &mcp__methods[counted[i].method])
            continue;
        mcp_str name = mcp__param_string(req, counted[i].param);
        return name.ptr ? server->rates_hook(req, counted[i].item, name, server->rates_hook_user)
                        : MCP_OK;
    }
    return MCP_OK;
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
    mcp__list_init(&callers->untold);
    buckets_init(server, &callers->buckets, MAX_CALLERS);
    buckets_init(server, &callers->named, MAX_NAMED);
}

void mcp__rate_free(mcp_server *server)
{
    buckets_free(server, &server->callers.buckets);
    buckets_free(server, &server->callers.named);
}
