/* budget.c: limits the memory that clients occupy with incoming bodies, requests in progress,
 * unread answers and events stored for replay. There is one limit for all endpoints that use the
 * budget, and a smaller one for each caller, its share. A caller is a principal or, for anonymous
 * requests, an address.
 *
 * Both limits have three thresholds. Above one half, no more of a large body is read. Above three
 * quarters, requests wait. Anything that would exceed the limit is refused. Incoming data therefore
 * leaves room for answers. Waiting requests check the memory again every POLL_MS. They are in no
 * list, so an endpoint or a connection may end at any time.
 */
#include "http/server/connection.h"

enum {
    POLL_MS = 50,
    SMALL = 16 << 10,   /* a body up to this size is read unless the limit is reached */
    PRESSURE_MS = 5000, /* how long time-outs stay shorter after memory was nearly spent */
};

static const mcp_default defaults[] = {
    MCP_DEFAULT(mcp_http_budget_options, max_memory, 512 << 20),
    MCP_DEFAULT(mcp_http_budget_options, hold_ms, 5000),
};

/* ---- life -------------------------------------------------------------------------------------------- */

int mcp_http_budget_new(const mcp_http_budget_options *options, mcp_http_budget **ret,
                        mcp_error *error)
{
    mcp__no_error(error);
    mcp_http_budget_options o;
    if (!ret)
        return mcp__fail(error, MCP_EINVAL, 0, "a budget needs \"ret\"");
    int rc = MCP__TAKE_OPTIONAL(&o, options, mcp_http_budget_options, error);
    if (rc != MCP_OK)
        return rc;
    const mcp_allocator *a = mcp__allocator(o.allocator);
    mcp_http_budget *budget = mcp__zalloc(a, sizeof(*budget));
    if (!budget)
        return mcp__fail(error, MCP_ENOMEM, 0, "no memory for a budget");
    budget->allocator = *a;
    MCP_SET_DEFAULTS(&o, defaults);
    budget->max_memory = o.max_memory;
    budget->max_share = o.max_share ? o.max_share : budget->max_memory / 4;
    budget->max_share = MCP__MIN(budget->max_share, budget->max_memory);
    budget->hold_ms = o.hold_ms;
    budget->released = o.released;
    budget->user = o.user;
    budget->pressure_until = INT64_MIN;
    mcp__list_init(&budget->endpoints);
    /* A random seed is not needed, because peers cannot choose their addresses and principals
     * freely. */
    mcp__map_init(&budget->shares, &budget->allocator, (uint64_t)(uintptr_t)budget, 0);
    *ret = budget;
    return MCP_OK;
}

void mcp_http_budget_free(mcp_http_budget *budget)
{
    if (!budget)
        return;
    mcp_allocator a = budget->allocator;
    mcp__map_free(&budget->shares);
    mcp__release(&a, budget);
}

size_t mcp_http_budget_used(const mcp_http_budget *budget)
{
    return budget->used;
}

/* ---- shares -------------------------------------------------------------------------------------------- */

static void leave(mcp_http_budget *budget, mcp__http_share *share)
{
    if (!share || --share->count)
        return;
    mcp__map_remove(&budget->shares, (mcp_str){share->text, share->len});
    mcp__release(&budget->allocator, share);
}

static mcp__http_share *share_of(mcp_http_budget *budget, char kind, mcp_str name)
{
    char key[272];
    if (name.len + 1 > sizeof(key))
        return NULL;
    key[0] = kind;
    memcpy(key + 1, name.ptr, name.len);
    mcp_str whole = {key, name.len + 1};
    mcp__http_share *share = mcp__map_get(&budget->shares, whole);
    if (share)
        return share;
    share = mcp__zalloc(&budget->allocator, sizeof(*share) + whole.len);
    if (!share)
        return NULL;
    share->len = whole.len;
    memcpy(share->text, whole.ptr, whole.len);
    if (mcp__map_add(&budget->shares, (mcp_str){share->text, share->len}, share) == MCP_OK)
        return share;
    mcp__release(&budget->allocator, share);
    return NULL;
}

int mcp__http_charge_to(mcp_http_budget *budget, mcp__http_charge *charge, const char *principal,
                        const char *address)
{
    mcp__http_share *share = NULL, *before = charge->share;
    if (principal || address) {
        share =
            share_of(budget, principal ? 'p' : 'a', mcp_str_from(principal ? principal : address));
        if (!share)
            return MCP_ENOMEM;
        share->count++;
        share->used += charge->bytes;
    }
    if (before) {
        before->used -= charge->bytes;
        before->reader = NULL;
    }
    charge->share = share;
    leave(budget, before);
    return MCP_OK;
}

void mcp__http_charge_like(mcp_http_budget *budget, mcp__http_charge *charge,
                           const mcp__http_charge *other, size_t bytes)
{
    charge->share = other->share;
    if (charge->share)
        charge->share->count++;
    mcp__http_charge_set(budget, charge, bytes);
}

/* ---- bytes --------------------------------------------------------------------------------------------- */

void mcp__http_note_release(mcp_http_budget *budget)
{
    size_t released = budget->peak - budget->used;
    if (budget->used > budget->peak / 2)
        return;
    budget->peak = budget->used;
    if (budget->released)
        budget->released(released, budget->user);
}

void mcp__http_charge_end(mcp_http_budget *budget, mcp__http_charge *charge)
{
    mcp__http_charge_set(budget, charge, 0);
    leave(budget, charge->share);
    charge->share = NULL;
}

/* ---- limits ----------------------------------------------------------------------------------------------- */

/* Returns whether to continue reading the body of c. One body of each caller is read until the
 * share is spent, so that at least this one can complete. Otherwise many partial bodies could block
 * each other. */
static bool may_read_on(mcp_http_connection *c)
{
    mcp__http_share *share = c->charge.share;
    if (!share || (share->reader && share->reader != c) || mcp__http_spent(c, 4, 0) ||
        c->http->budget->used >= c->http->budget->max_memory / 4 * 3)
        return false;
    share->reader = c;
    return true;
}

bool mcp__http_starves(mcp_http_connection *c)
{
    if (c->body.cap + c->input.cap <= SMALL)
        return mcp__http_spent(c, 4, 0);
    return mcp__http_spent(c, 2, 0) && !may_read_on(c);
}

mcp__http_refusal mcp__http_no_room(mcp_http_connection *c, size_t bytes)
{
    mcp_http_budget *b = c->http->budget;
    size_t share = c->charge.share ? c->charge.share->used : c->charge.bytes;
    double whole = ((double)b->used + (double)bytes) / (double)b->max_memory;
    double own = ((double)share + (double)bytes) / (double)b->max_share;
    mcp__http_refusal why = own >= whole ? MCP__HTTP_NO_SHARE : MCP__HTTP_NO_ROOM;
    b->refused++;
    b->share_refused += why == MCP__HTTP_NO_SHARE;
    mcp__http_complain_of(c->http, &b->complaint, why);
    return why;
}

bool mcp__http_pressed(const mcp_http *http)
{
    return http->now < http->budget->pressure_until;
}

/* Sets the timers of all connections again, because their time-outs have become shorter. This
 * happens at most once in PRESSURE_MS. */
void mcp__http_press(mcp_http *http)
{
    mcp_http_budget *b = http->budget;
    if (http->now < b->pressure_until)
        return;
    b->pressure_until = http->now + PRESSURE_MS;
    for (mcp__link *e = b->endpoints.next; e != &b->endpoints; e = e->next) {
        mcp_http *other = mcp__container(e, mcp_http, in_budget);
        other->now = http->now;
        for (mcp__link *l = other->connections.next; l != &other->connections; l = l->next)
            mcp__http_connection_arm(mcp__container(l, mcp_http_connection, link));
        mcp__http_call_wake(other);
    }
}

int64_t mcp__http_next_check(const mcp_http *http)
{
    return http->now + POLL_MS;
}
