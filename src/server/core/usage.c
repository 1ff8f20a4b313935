/* usage.c: counts calls of each tool and reads of each mount, with their outcomes
 * (mcp_server_usage()).
 *
 * The counters of one tool or mount form a meter. Tools and mounts have a pointer to their meter,
 * so a request needs no lookup. The meter is looked up by its name at registration. A tool that is
 * registered again therefore continues its counts; mcp_server_rebuild() registers all tools again.
 * When the last reference to a meter is released, its counts are added to the meter "other", so
 * that sums never decrease. A tool with the name "other" shares that meter.
 *
 * The tools of a mounted provider are not registered. A call of one has a meter of its own if the
 * provider has listed the tool, or after it has succeeded once: other names may have been made up by
 * clients. Such meters belong to the meter of the mount, so they are kept while something is mounted at
 * this prefix.
 *
 * A meter that is used first after MCP_USAGE_NAMES others is reported as "other".
 */
#include "server/core/access.h"
#include "server/core/request.h"
#include "server/core/usage.h"

enum {
    MOST_LISTED = 4096, /* tools of one provider that are known from its lists */
    LONGEST_TOOL = 256, /* bytes of the name of a tool with a meter of its own */
};

static const uint64_t bounds_us[MCP_USAGE_BUCKETS] = {
    500,    1000,   2500,    5000,    10000,   25000,    50000,    100000,
    250000, 500000, 1000000, 2500000, 5000000, 10000000, 30000000, 60000000};

const uint64_t *mcp_usage_bounds(void)
{
    return bounds_us;
}

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
        mcp__list_init(&m->other.tools);
    }
}

void mcp__usage_free(mcp_server *server)
{
    for (size_t k = 0; k < MCP_USAGE_KINDS; k++)
        mcp__map_free(&server->meters[k].by_name);
}

/* Returns a meter that is in the list of all, and not in the map, or NULL. Both texts are copied. */
static mcp__meter *meter_new(mcp_server *server, mcp_usage_kind kind, mcp_str name, mcp_str source)
{
    mcp__meter *meter = mcp__zalloc(&server->allocator, sizeof(*meter) + name.len + source.len);
    if (!meter)
        return NULL;
    char *copy = (char *)(meter + 1);
    memcpy(copy, name.ptr, name.len);
    if (source.len)
        memcpy(copy + name.len, source.ptr, source.len);
    meter->server = server;
    meter->refs = 1;
    meter->usage = usage_of(kind, (mcp_str){copy, name.len});
    if (source.len)
        meter->usage.source = (mcp_str){copy + name.len, source.len};
    mcp__list_init(&meter->tools);
    mcp__list_append(&server->meters[kind].all, &meter->link);
    return meter;
}

static void meter_free(mcp__meter *meter)
{
    mcp__list_remove(&meter->link);
    mcp__release(&meter->server->allocator, meter->listed.hashes);
    mcp__release(&meter->server->allocator, meter);
}

static mcp__meter *take(mcp_server *server, mcp_usage_kind kind, mcp_str name, mcp_str source)
{
    mcp__meters *m = &server->meters[kind];
    mcp__meter *meter =
        mcp_str_eq(name, m->other.usage.name) ? &m->other : mcp__map_get(&m->by_name, name);
    if (meter) {
        meter->refs++;
        return meter;
    }
    meter = meter_new(server, kind, name, source);
    if (meter && mcp__map_add(&m->by_name, meter->usage.name, meter) != MCP_OK) {
        meter_free(meter);
        meter = NULL;
    }
    return meter;
}

mcp__meter *mcp__meter_take(mcp_server *server, mcp_usage_kind kind, mcp_str name)
{
    return take(server, kind, name, (mcp_str){0});
}

static void give_tools(mcp__meter *source)
{
    while (!mcp__list_empty(&source->tools)) {
        mcp__meter *tool = mcp__container(source->tools.next, mcp__meter, of_source);
        mcp__list_remove(&tool->of_source);
        mcp__meter_give(tool);
    }
    mcp__meter_give(source->unnamed_tools);
    source->unnamed_tools = NULL;
}

void mcp__meter_give(mcp__meter *meter)
{
    if (!meter || --meter->refs)
        return;
    mcp__meters *m = &meter->server->meters[meter->usage.kind];
    give_tools(meter);
    add_up(&m->other.usage, &meter->usage);
    m->n_shown -= meter->shown;
    if (!meter->unnamed)
        mcp__map_remove(&m->by_name, meter->usage.name);
    meter_free(meter);
}

/* Called with the first use of a meter. */
static void claim(mcp__meter *meter)
{
    mcp__meters *m = &meter->server->meters[meter->usage.kind];
    if (meter->shown || meter == &m->other || m->n_shown >= MCP_USAGE_NAMES)
        return;
    meter->shown = true;
    m->n_shown++;
}

void mcp__meter_left_out(mcp__meter *source)
{
    claim(source);
    source->usage.left_out++;
}

/* ---- tools of mounted providers -------------------------------------------------------------- */

static uint64_t hash_of(const mcp__meter *source, mcp_str tool)
{
    const uint64_t seed[2] = {(uintptr_t)source->server, (uintptr_t)source};
    return mcp__siphash(tool.ptr, tool.len, seed) | 1;
}

/* Returns the place of the hash, or an empty one. */
static uint64_t *place(const mcp__listed_tools *l, uint64_t hash)
{
    size_t at = (size_t)(hash >> 1) & (l->room - 1);
    while (l->hashes[at] && l->hashes[at] != hash)
        at = (at + 1) & (l->room - 1);
    return &l->hashes[at];
}

static bool is_listed(const mcp__meter *source, mcp_str tool)
{
    return source->listed.room && *place(&source->listed, hash_of(source, tool));
}

static bool grow_listed(mcp__meter *source)
{
    const mcp__listed_tools *old = &source->listed;
    mcp__listed_tools l = {.count = old->count, .room = old->room ? old->room * 2 : 32};
    l.hashes = mcp__zalloc(&source->server->allocator, l.room * sizeof(*l.hashes));
    if (!l.hashes)
        return false;
    for (size_t i = 0; i < old->room; i++)
        if (old->hashes[i])
            *place(&l, old->hashes[i]) = old->hashes[i];
    mcp__release(&source->server->allocator, old->hashes);
    source->listed = l;
    return true;
}

/* Without memory, the tool is counted as "other". */
void mcp__meter_listed(mcp__meter *source, mcp_str tool)
{
    mcp__listed_tools *l = &source->listed;
    if (l->count >= MOST_LISTED || (l->count * 2 >= l->room && !grow_listed(source)))
        return;
    uint64_t hash = hash_of(source, tool), *at = place(l, hash);
    l->count += !*at;
    *at = hash;
}

/* Returns the meter of the calls of all tools of a source that have none of their own. */
static mcp__meter *unnamed_of(mcp__meter *source)
{
    mcp__meters *m = &source->server->meters[MCP_USAGE_TOOL];
    if (!source->unnamed_tools) {
        source->unnamed_tools =
            meter_new(source->server, MCP_USAGE_TOOL, m->other.usage.name, source->usage.name);
        if (source->unnamed_tools)
            source->unnamed_tools->unnamed = true;
    }
    return source->unnamed_tools ? source->unnamed_tools : &m->other;
}

/* Takes the meter of a listed tool, which the meter of the source holds from now on. */
static mcp__meter *tool_of(mcp__meter *source, mcp_str tool)
{
    mcp__meters *m = &source->server->meters[MCP_USAGE_TOOL];
    bool has_name = tool.len <= LONGEST_TOOL && m->n_shown < MCP_USAGE_NAMES &&
                    !mcp_str_eq(tool, m->other.usage.name) && is_listed(source, tool);
    mcp__meter *meter =
        has_name ? take(source->server, MCP_USAGE_TOOL, tool, source->usage.name) : NULL;
    if (meter)
        mcp__list_append(&source->tools, &meter->of_source);
    return meter;
}

static mcp__meter *meter_of(mcp__meter *source, mcp_str tool)
{
    mcp__meter *meter = mcp__map_get(&source->server->meters[MCP_USAGE_TOOL].by_name, tool);
    if (!meter)
        meter = tool_of(source, tool);
    return meter ? meter : unnamed_of(source);
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

int64_t mcp__usage_now(const mcp_request *req)
{
    return end_of(req);
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
    claim(meter);
    meter->refs++;
    meter->usage.in_flight++;
    if (used->meter) {
        used->meter->usage.in_flight--;
        mcp__meter_give(used->meter);
    }
    used->meter = meter;
    used->bytes = 0; /* the handler may run again */
}

void mcp__usage_begin_mounted(mcp_request *req, mcp__meter *source, mcp_str tool)
{
    source->refs++;
    mcp__meter_give(req->used.source);
    req->used.source = source;
    mcp__usage_begin(req, meter_of(source, tool));
}

/* A tool that has succeeded exists, so its name was not made up. */
static void name_tool(mcp_request *req)
{
    mcp__used *used = &req->used;
    mcp_str tool = mcp_json_string(mcp_json_get(req->in.message.params, "name"));
    if (used->outcome != MCP__USED_OK || !used->meter->unnamed || !tool.ptr)
        return;
    mcp__meter_listed(used->source, tool);
    mcp__usage_begin(req, meter_of(used->source, tool));
}

void mcp__usage_begin_other(mcp_request *req, mcp_usage_kind kind)
{
    mcp__usage_begin(req, &req->server->meters[kind].other);
}

void mcp__usage_end(mcp_request *req)
{
    mcp__used *used = &req->used;
    if (used->source)
        name_tool(req);
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
    mcp__meter_give(used->source);
    used->meter = used->source = NULL;
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

static bool may_see_source(const mcp_server *server, const mcp_identity *identity, mcp_str name)
{
    return is_scheme(name) || mcp__may_read(server, identity, name);
}

/* Who gets the reports. */
typedef struct viewer {
    const mcp_identity *identity;
    bool is_program; /* nothing is hidden */
} viewer;

/* Returns whether the name of a meter may be shown. */
static bool may_see(const mcp_server *server, const viewer *to, const mcp__meter *meter)
{
    const mcp_usage *usage = &meter->usage;
    if (!server->access.may || to->is_program)
        return true;
    if (meter->unnamed)
        return may_see_source(server, to->identity, usage->source);
    return usage->kind == MCP_USAGE_TOOL
               ? server->access.may(to->identity, MCP_ITEM_TOOL, usage->name, server->access.user)
               : may_see_source(server, to->identity, usage->name);
}

/* Returns the usage without the name of its source, if the viewer may not see that. */
static mcp_usage shown_of(const mcp_server *server, const viewer *to, const mcp_usage *usage)
{
    mcp_usage shown = *usage;
    if (usage->source.ptr && server->access.may && !to->is_program &&
        !may_see_source(server, to->identity, usage->source))
        shown.source = (mcp_str){0};
    return shown;
}

static void report(const mcp_server *server, const viewer *to, mcp_usage_kind kind,
                   void (*each)(const mcp_usage *usage, void *user), void *user)
{
    if ((unsigned)kind >= MCP_USAGE_KINDS)
        return;
    const mcp__meters *m = &server->meters[kind];
    mcp_usage other = m->other.usage;
    for (mcp__link *l = m->all.next; l != &m->all; l = l->next) {
        mcp__meter *meter = mcp__container(l, mcp__meter, link);
        if (is_unused(&meter->usage))
            continue;
        const mcp_usage usage = shown_of(server, to, &meter->usage);
        if (meter->shown && may_see(server, to, meter))
            each(&usage, user);
        else
            add_up(&other, &meter->usage);
    }
    if (!is_unused(&other))
        each(&other, user);
}

void mcp_server_usage_all(const mcp_server *server, mcp_usage_kind kind,
                          void (*each)(const mcp_usage *usage, void *user), void *user)
{
    report(server, &(viewer){.is_program = true}, kind, each, user);
}

void mcp_server_usage(const mcp_server *server, const mcp_identity *identity, mcp_usage_kind kind,
                      void (*each)(const mcp_usage *usage, void *user), void *user)
{
    report(server, &(viewer){.identity = identity}, kind, each, user);
}
