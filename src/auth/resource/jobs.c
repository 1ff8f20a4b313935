/* jobs.c: runs jobs on worker threads, within limits for all and for each client address.
 *
 * Verifying an invalid signature takes as long as verifying a valid one. So only a few jobs of an
 * address run at once, the addresses take turns, and an address that has sent too many invalid
 * tokens has to wait.
 */
#include "auth/resource/resource.h"

/* ---- addresses ------------------------------------------------------------------------------- */

static void address_free(mcp_resource_server *rs, mcp__rs_address *a)
{
    mcp__map_remove(&rs->addresses, (mcp_str){a->text, a->len});
    mcp__list_remove(&a->lru);
    mcp__list_remove(&a->ready);
    mcp__release(rs->allocator, a);
}

/* Frees the least recently used address. Returns false if all are in use. */
static bool make_room(mcp_resource_server *rs)
{
    for (mcp__link *l = rs->addresses_used.next; l != &rs->addresses_used; l = l->next) {
        mcp__rs_address *a = mcp__container(l, mcp__rs_address, lru);
        if (a->refs)
            continue;
        address_free(rs, a);
        return true;
    }
    return false;
}

static mcp__rs_address *address_new(mcp_resource_server *rs, mcp_str text)
{
    if (rs->addresses.count >= MCP__RS_ADDRESSES && !make_room(rs))
        return NULL;
    mcp__rs_address *a = mcp__zalloc(rs->allocator, sizeof(*a) + text.len + 1);
    if (!a)
        return NULL;
    if (text.len)
        memcpy(a->text, text.ptr, text.len);
    a->len = text.len;
    a->since = mcp__rs_now(rs);
    mcp__list_init(&a->lru);
    mcp__list_init(&a->ready);
    mcp__list_init(&a->queue);
    if (mcp__map_add(&rs->addresses, (mcp_str){a->text, a->len}, a) == MCP_OK)
        return a;
    mcp__release(rs->allocator, a);
    return NULL;
}

/* Reduces the number of failures according to the time that has passed. */
static void decay(const mcp_resource_server *rs, mcp__rs_address *a)
{
    int64_t now = mcp__rs_now(rs);
    uint64_t passed = now > a->since ? (uint64_t)(now - a->since) : 0;
    uint64_t gone = MCP__MIN(passed, UINT64_C(3600000)) * rs->options.failures_per_minute / 60;
    if (!gone)
        return;
    a->failures -= MCP__MIN(gone, a->failures);
    a->since = now;
}

mcp__rs_address *mcp__rs_address_get(mcp_resource_server *rs, mcp_str text)
{
    mcp__rs_address *a = mcp__map_get(&rs->addresses, text);
    if (!a)
        a = address_new(rs, text);
    if (!a)
        return NULL;
    a->refs++;
    decay(rs, a);
    mcp__list_remove(&a->lru);
    mcp__list_append(&rs->addresses_used, &a->lru);
    return a;
}

void mcp__rs_address_unref(mcp_resource_server *rs, mcp__rs_address *a)
{
    if (a && --a->refs == 0 && !a->failures)
        address_free(rs, a);
}

/* Returns whether the address belongs to this machine, or is unknown, as for a Unix socket. */
static bool is_local(const mcp__rs_address *a)
{
    mcp_str text = {a->text, a->len};
    return !a->len || mcp__str_starts(text, MCP_STR("127.")) || mcp_str_eq(text, MCP_STR("::1"));
}

bool mcp__rs_address_is_blocked(mcp_resource_server *rs, mcp__rs_address *a, unsigned *retry_s)
{
    const mcp_resource_server_options *o = &rs->options;
    uint64_t most = (uint64_t)o->failures_burst * 1000;
    decay(rs, a);
    if (o->failures_burst == UINT32_MAX || a->failures + 1000 <= most ||
        (rs->spares_local && is_local(a)))
        return false;
    uint64_t above = a->failures + 1000 - most;
    uint64_t per_s = MCP__MAX((uint64_t)o->failures_per_minute * 1000 / 60, 1);
    *retry_s = (unsigned)MCP__MIN((above + per_s - 1) / per_s, 3600);
    return true;
}

void mcp__rs_address_failed(mcp_resource_server *rs, mcp__rs_address *a)
{
    decay(rs, a);
    /* Jobs that ran at the same time may exceed the limit a little. */
    if (a->failures < (uint64_t)rs->options.failures_burst * 1000)
        a->failures += 1000;
}

void mcp__rs_addresses_free(mcp_resource_server *rs)
{
    while (!mcp__list_empty(&rs->addresses_used))
        address_free(rs, mcp__container(rs->addresses_used.next, mcp__rs_address, lru));
    mcp__map_free(&rs->addresses);
}

/* ---- jobs ------------------------------------------------------------------------------------ */

/* Adds an address to the end of the ring of addresses with a job that may run, or removes it. */
static void arrange(mcp_resource_server *rs, mcp__rs_address *a)
{
    mcp__list_remove(&a->ready);
    if (!mcp__list_empty(&a->queue) && a->running < rs->options.max_verifying_per_address)
        mcp__list_append(&rs->ready, &a->ready);
}

static void pump(mcp_resource_server *rs);

static void on_worker(void *arg)
{
    mcp__rs_job *job = arg;
    job->run(job);
    job->ran = true;
}

static void on_done(void *arg)
{
    mcp__rs_job *job = arg;
    mcp_resource_server *rs = job->rs;
    job->running = false;
    if (job->address) {
        rs->running--;
        job->address->running--;
        arrange(rs, job->address);
    }
    job->done(job, job->ran);
    rs->jobs--;
    if (rs->freed && !rs->jobs)
        mcp__rs_release(rs);
    else if (!rs->freed)
        pump(rs);
}

static void begin(mcp__rs_job *job)
{
    mcp_resource_server *rs = job->rs;
    const mcp_auth_host *host = &rs->host;
    job->running = true;
    job->ran = false;
    rs->jobs++;
    if (!host->work) {
        on_worker(job);
        on_done(job);
    } else if (host->work(on_worker, on_done, job, host->user) != MCP_OK) {
        on_done(job);
    }
}

/* Begins jobs until a limit is reached. The addresses take turns. */
static void pump(mcp_resource_server *rs)
{
    while (rs->running < rs->options.max_verifying && !mcp__list_empty(&rs->ready)) {
        mcp__rs_address *a = mcp__container(rs->ready.next, mcp__rs_address, ready);
        mcp__rs_job *job = mcp__container(a->queue.next, mcp__rs_job, link);
        mcp__list_remove(&job->link);
        rs->running++;
        a->running++;
        arrange(rs, a);
        begin(job);
    }
}

void mcp__rs_job_start(mcp__rs_job *job)
{
    mcp_resource_server *rs = job->rs;
    if (!job->address) {
        begin(job);
        return;
    }
    mcp__list_append(&job->address->queue, &job->link);
    arrange(rs, job->address);
    pump(rs);
}

bool mcp__rs_job_stop(mcp__rs_job *job)
{
    if (job->running)
        return false;
    mcp__list_remove(&job->link);
    if (job->address)
        arrange(job->rs, job->address);
    return true;
}
