/* usage.c: counts calls of each tool and reads of each mount, with their outcomes
 * (mcp_server_usage()).
 *
 * The counters of one tool or mount form a meter. Tools and mounts have a pointer to their meter,
 * so a request needs no lookup. The meter is looked up by its name at registration. A tool that is
 * registered again therefore continues its counts; mcp_server_rebuild() registers all tools again.
 * When the last reference to a meter is released, its counts are added to the meter "other", so
 * that sums never decrease. A tool with the name "other" shares that meter.
 */
#include "server/core/access.h"
#include "server/core/request.h"
#include "server/core/usage.h"

static const uint64_t bounds_us[MCP_USAGE_BUCKETS] = {
    500,    1000,   2500,    5000,    10000,   25000,    50000,    100000,
    250000, 500000, 1000000, 2500000, 5000000, 10000000, 30000000, 60000000};

static const size_t outcomes[] = {
    [MCP__USED_GONE] = offsetof(mcp_usage, gone),
    [MCP__USED_OK] = offsetof(mcp_usage, ok),
    [MCP__USED_TOOL_ERROR] = offsetof(mcp_usage, tool_errors),
    [MCP__USED_NOT_FOUND] = offsetof(mcp_usage, not_found),
    [MCP__USED_ERROR] = offsetof(mcp_usage, errors),
    [MCP__USED_INPUT] = offsetof(mcp_usage, questions),
};

static uint64_t *outcome_of(mcp_usage *usage, size_t i)
{
    return (uint64_t *)(void *)((char *)usage + outcomes[i]);
}

static void add_up(mcp_usage *to, mcp_usage *from)
{
    for (size_t i = 0; i < MCP__COUNT(outcomes); i++)
        *outcome_of(to, i) += *outcome_of(from, i);
    for (size_t i = 0; i <= MCP_USAGE_BUCKETS; i++)
        to->buckets[i] += from->buckets[i];
    to->in_flight += from->in_flight;
    to->bytes += from->bytes;
    to->left_out += from->left_out;
    to->duration_us += from->duration_us;
}

/* ---- meters ---------------------------------------------------------------------------------- */

static mcp_usage usage_of(mcp_usage_kind kind, mcp_str name)
{
    return (mcp_usage){
        .size = sizeof(mcp_usage), .kind = kind, .name = name, .bounds_us = bounds_us};
}

void mcp__usage_init(mcp_server *server)
{
    for (size_t k = 0; k < MCP_USAGE_KINDS; k++) {
        mcp__meters *m = &server->meters[k];
        mcp__map_init(&m->by_name, &server->allocator, (uintptr_t)server, k);
        mcp__list_init(&m->all);
        m->other = (mcp__meter){.server = server, .refs = 1};
        m->other.usage = usage_of((mcp_usage_kind)k, MCP_STR("other"));
    }
}

void mcp__usage_free(mcp_server *server)
{
    for (size_t k = 0; k < MCP_USAGE_KINDS; k++)
        mcp__map_free(&server->meters[k].by_name);
}

mcp__meter *mcp__meter_take(mcp_server *server, mcp_usage_kind kind, mcp_str name)
{
    mcp__meters *m = &server->meters[kind];
    mcp__meter *meter =
        mcp_str_eq(name, m->other.usage.name) ? &m->other : mcp__map_get(&m->by_name, name);
    if (meter) {
        meter->refs++;
        return meter;
    }
    meter = mcp__zalloc(&server->allocator, sizeof(*meter) + name.len);
    if (!meter)
        return NULL;
    char *copy = (char *)(meter + 1);
    memcpy(copy, name.ptr, name.len);
    meter->server = server;
    meter->refs = 1;
    meter->usage = usage_of(kind, (mcp_str){copy, name.len});
    if (mcp__map_add(&m->by_name, meter->usage.name, meter) != MCP_OK) {
        mcp__release(&server->allocator, meter);
        return NULL;
    }
    mcp__list_append(&m->all, &meter->link);
    return meter;
}

void mcp__meter_give(mcp__meter *meter)
{
    if (!meter || --meter->refs)
        return;
    mcp_server *server = meter->server;
    mcp__meters *m = &server->meters[meter->usage.kind];
    add_up(&m->other.usage, &meter->usage);
    mcp__map_remove(&m->by_name, meter->usage.name);
    mcp__list_remove(&meter->link);
    mcp__release(&server->allocator, meter);
}

/* ---- requests -------------------------------------------------------------------------------- */

static int64_t to_us(int64_t ms)
{
    return ms < INT64_MAX / 1000 ? ms * 1000 : INT64_MAX;
}

/* Returns the time of the channel's last call, or 0 if unknown. */
static int64_t channel_time(const mcp_request *req)
{
    return req->in.channel ? to_us(MCP__MAX(req->in.channel->now, 0)) : 0;
}

/* Returns the host's time, which advances while a handler runs. If the host has no clock, returns
 * the time of the channel's last call. */
static int64_t end_of(const mcp_request *req)
{
    mcp_server *server = req->server;
    const mcp_host *host = &server->host;
    if (server->has_host && host->now_us)
        return host->now_us(host->user);
    if (!server->has_host || !host->now)
        return channel_time(req);
    return server->usage_clock = to_us(host->now(host->user));
}

/* Without a clock of microseconds, returns the time at which the message was received, so that the
 * clock is read only once per request. For the later messages of a batch, the end of the previous
 * request is more accurate. */
int64_t mcp__usage_start(const mcp_request *req)
{
    const mcp_host *host = &req->server->host;
    if (req->server->has_host && host->now_us)
        return host->now_us(host->user);
    return MCP__MAX(channel_time(req), req->server->usage_clock);
}

uint64_t mcp__usage_elapsed(const mcp_request *req)
{
    int64_t elapsed = end_of(req) - req->used.since;
    return elapsed > 0 ? (uint64_t)elapsed : 0;
}

void mcp__usage_begin(mcp_request *req, mcp__meter *meter)
{
    mcp__used *used = &req->used;
    if (!used->meter)
        used->since = mcp__usage_start(req);
    meter->refs++;
    meter->usage.in_flight++;
    if (used->meter) {
        used->meter->usage.in_flight--;
        mcp__meter_give(used->meter);
    }
    used->meter = meter;
    used->bytes = 0; /* the handler may run again */
}

void mcp__usage_begin_other(mcp_request *req, mcp_usage_kind kind)
{
    mcp__usage_begin(req, &req->server->meters[kind].other);
}

void mcp__usage_end(mcp_request *req)
{
    mcp__used *used = &req->used;
    mcp_usage *usage = &used->meter->usage;
    uint64_t us = mcp__usage_elapsed(req);
    size_t bucket = 0;
    while (bucket < MCP_USAGE_BUCKETS && us > bounds_us[bucket])
        bucket++;
    usage->buckets[bucket]++;
    usage->duration_us += us;
    usage->in_flight--;
    (*outcome_of(usage, used->outcome))++;
    if (used->outcome == MCP__USED_OK)
        usage->bytes += used->bytes;
    mcp__meter_give(used->meter);
    used->meter = NULL;
}

/* ---- reporting ------------------------------------------------------------------------------ */

static bool is_unused(mcp_usage *usage)
{
    uint64_t n = usage->in_flight + usage->left_out;
    for (size_t i = 0; i < MCP__COUNT(outcomes); i++)
        n += *outcome_of(usage, i);
    return n == 0;
}

/* Whether a prefix is a scheme that reveals no name which a rule could hide: "file:", but not
 * "mcp+NAME:". */
static bool is_scheme(mcp_str prefix)
{
    return prefix.len && prefix.ptr[prefix.len - 1] == ':' && !memchr(prefix.ptr, '+', prefix.len);
}

/* Returns whether the caller may see the name of a meter. */
static bool may_see(const mcp_server *server, const mcp_identity *identity, const mcp_usage *usage)
{
    if (!server->access.may)
        return true;
    if (usage->kind == MCP_USAGE_TOOL)
        return server->access.may(identity, MCP_ITEM_TOOL, usage->name, server->access.user);
    return is_scheme(usage->name) || mcp__may_read(server, identity, usage->name);
}

void mcp_server_usage_all(const mcp_server *server, mcp_usage_kind kind,
                          void (*each)(const mcp_usage *usage, void *user), void *user)
{
    if ((unsigned)kind >= MCP_USAGE_KINDS)
        return;
    const mcp__meters *m = &server->meters[kind];
    mcp_usage other = m->other.usage;
    for (mcp__link *l = m->all.next; l != &m->all; l = l->next) {
        mcp_usage *usage = &mcp__container(l, mcp__meter, link)->usage;
        if (!is_unused(usage))
            each(usage, user);
    }
    if (!is_unused(&other))
        each(&other, user);
}

void mcp_server_usage(const mcp_server *server, const mcp_identity *identity, mcp_usage_kind kind,
                      void (*each)(const mcp_usage *usage, void *user), void *user)
{
    if ((unsigned)kind >= MCP_USAGE_KINDS)
        return;
    const mcp__meters *m = &server->meters[kind];
    mcp_usage other = m->other.usage;
    for (mcp__link *l = m->all.next; l != &m->all; l = l->next) {
        mcp_usage *usage = &mcp__container(l, mcp__meter, link)->usage;
        if (is_unused(usage))
            continue;
        if (may_see(server, identity, usage))
            each(usage, user);
        else
            add_up(&other, usage);
    }
    if (!is_unused(&other))
        each(&other, user);
}
